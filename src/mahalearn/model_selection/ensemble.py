"""A classifier that searches the families of the library and combines them, or takes the best."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_is_fitted,
)

from .._array_api import refuse_tensors
from .._sparse import as_matrix, as_rows, is_sparse
from .._typing import CV, ArrayLike, ClassWeight, Kernel, Objects, RandomState, Scoring, Spectrum
from .._validation import (
    check_choice,
    check_classes,
    check_count,
    check_labels,
    check_objects,
    check_positive,
    check_sample_weight,
    comes_in_parts,
    is_dask_collection,
    is_whole,
    is_word,
    refuse_dask,
    refuse_dask_query,
    refuse_objects,
    take,
    validate_rows,
)
from ..classifiers.explanation import by_class, column_contributions, two_best
from ..classifiers.members import member_scores
from ..formulas.offsets import winners
from ..formulas.spectrum import SPECTRA
from ..formulas.stacking import calibrated_log_proba, held_out_log_loss, stack
from ..kernels.protocol import KERNEL_NAMES, check_kernel_list, takes_sparse, takes_vectors
from ..measures.table import GROUPS, MEASURES
from ..table_encoder import TableEncoder
from ..training.sources import check_batches
from .evaluation import copy_columns, grouped
from .explain import fit_explanation, kernel_member, typicality
from .families import FAMILIES, list_members
from .member_data import (
    BatchData,
    DaskBatches,
    EncodedBatches,
    ManyObjects,
    MatrixData,
    ObjectData,
    VectorData,
)
from .race import BEHIND, EXACT_OBJECTS, Rules, enough_folds, fitted_at_landmarks, race
from .search import BestEstimatorMixin
from .splits import choose, fold_metrics, make_splits
from .weighing import (
    calibrate_members,
    held_out_rows,
    mean_proba,
    object_weights,
    weigh_members,
)

COMBINE, EFFORTS = ("stack", "best"), ("fast", "best")
# λ of the penalty λK‖w − 1/K‖² on the weights of K members, in objects: the larger, the more equal
# the weights. Set on development splits (docs/benchmarks_tables.md, docs/benchmarks_series.md).
PENALTY = 1.0
# The leaderboard's values for a member without scores.
EMPTY_ROW: dict[str, Any] = {
    "params": None,
    "mean_score": np.nan,
    "std_score": np.nan,
    "fold_scores": None,
    "log_loss": np.nan,
    "weight": 0.0,
    "loss_without": np.nan,
    "tied": False,
    "chosen": False,
}


def _has_distances(chooser):
    if "members_" in vars(chooser):
        if len(chooser.members_) > 1:
            raise AttributeError(
                "An ensemble has no single distance to a class: use explain, the members_, or "
                "combine='best'."
            )
        last = chooser._last_steps()[chooser.best_family_]
        if not hasattr(last, "mahalanobis"):
            raise AttributeError(
                f"The chosen {type(last).__name__} has no distances to the classes; the families "
                "'gaussian', 'kqd' and 'dissimilarity_space' have them."
            )
    return True


class MahalanobisClassifierCV(BestEstimatorMixin, BaseEstimator):
    """The classifiers of the library, combined (or the best of them chosen) by cross-validation.

    All families are searched on the same splits. A first round on a part of the objects decides
    which candidates are compared on all objects. Each family keeps the candidate with the smallest
    log loss plus three times the error on held-out objects, and its probabilities are calibrated on
    the held-out scores. The ensemble predicts softmax(Σ w_k log p_k); its weights w minimise the
    log loss on held-out objects. For kernels by name tables
    are encoded first by :class:`mahalearn.TableEncoder`, once and without labels: numbers are
    standardised, categories become columns of zeros and ones, missing cells are filled.

    With ``combine="best"`` one model is kept: the simplest of the families that are statistically
    tied with the best.

    Read more in the :doc:`user guide </chooser>`.

    Parameters
    ----------
    families : "auto" or sequence of str, default="auto"
        Families to combine or compare. "auto": all that suit the input, without "learned_metric",
        and "boosting" for ensembles of 1,000 rows or more.

        - "gaussian": normal densities, covariance and shrinkage searched; for tables.
        - "mahalanobis_svm": SVM with the Mahalanobis kernel; for tables.
        - "learned_metric": ridge regression with a learned metric; for tables.
        - "svm": SVM, one class against the rest.
        - "kqd": kernel quadratic discriminants RC+ and FK+.
        - "dissimilarity_space": Fisher's or the quadratic discriminant on RC+ distances.
        - "kernel_fisher", "kernel_pca", "kernel_ridge", "neighbors": the kernel classifiers.
        - "boosting": scikit-learn's gradient boosting with small trees; for tables.
    kernel : "auto", "precomputed", str, measure or callable, default="auto"
        The kernel.

        - "auto": RBF, its width searched.
        - "precomputed": X is the square kernel matrix (:class:`mahalearn.ProximityKernel` makes it
          from dissimilarities).
        - any other kernel of the library, such as ``MeasureKernel("edit")`` for strings.
    kernels : sequence of kernels, default=None
        Several kernels in place of `kernel`. Of kernels by name each family has a member for each;
        of kernels on objects each family takes its best. None with ``kernel="auto"``: "rbf" and
        "laplacian", of which ``combine="best"`` uses the first.
    combine : {"stack", "best"}, default="stack"
        Result of the search.

        - "stack": the weighted ensemble above.
        - "best": one model.
    effort : {"fast", "best"}, default="fast"
        Thoroughness of the search.

        - "fast": every kernel, with every second value of the regularisation, is tried on a part of
          the objects (at least 400) and two splits; the two best kernels of each member, with the
          neighbouring values, are compared on all objects and splits.
        - "best": every candidate is compared on all objects and splits; several times as long.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues, as in the plain estimators. With "krein" the SVM and
        ridge regression flip them.
    scoring : str or callable, default=None
        What ``leaderboard_`` and ``best_score_`` report, and what ``combine="best"`` maximises:
        accuracy if None; "balanced_accuracy" or any other scikit-learn scorer. Probabilities are
        calibrated before they are scored. An ensemble minimises the log loss, with
        "balanced_accuracy" that of balanced classes (`class_weight`).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the calibration and in the weights of an ensemble: its
        probabilities are then those of classes of these sizes.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, drawn twice up to 300 objects; or splits as in scikit-learn. If
        most objects are in classes of fewer objects than folds, there are fewer folds and more
        repetitions. With members at landmarks only as many folds are used as hold out 3,000
        objects.
    time_budget : float, default=None
        Approximate seconds for the searches. Members that would take too long are left out, with a
        note in ``leaderboard_`` and a warning. The cheapest of three families always remain.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; an int makes results reproducible.
    n_jobs : int, default=None
        Number of processes of each search.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    leaderboard_ : list of dict
        A row for each family and kernel, best mean score first: "member" (its name), "family",
        "kernel" (None for those without a kernel by name), "params", "mean_score", "std_score" and
        "fold_scores" (of the folds, the same for all), "log_loss" on held-out objects after
        calibration, "weight" in the ensemble, "loss_without" (by how much the ensemble's log loss
        grows without it), "n_candidates", "n_finalists" (of these compared on all objects
        and splits), "seconds", "tied" (equal to the best but for chance), "chosen", and "note",
        which says why a family failed or was left out (its score is NaN).
    members_ : dict of str to estimator
        The fitted members; for vectors pipelines that standardise first.
    weights_ : dict of str to float
        Their weights.
    calibrations_ : dict of str to Calibration, or None
        Maps of their scores to probabilities: a temperature, a scale and a bias for each class.
        None with ``combine="best"``, which has ``temperature_``.
    oof_proba_ : ndarray of shape (n_samples, n_classes)
        Held-out probabilities of the training objects: models, calibration and weights are fitted
        without them. NaN for objects that no split holds out.
    best_family_ : str
        The chosen family; of an ensemble the member with the largest weight.
    best_estimator_ : estimator
        The chosen estimator fitted on all objects; for vectors a pipeline that standardises first.
    best_params_ : dict
        Its chosen parameters.
    best_score_ : float
        Mean score over the folds of the ensemble (weights and calibration from the other folds), or
        of the chosen family. It is slightly optimistic, because candidates are chosen on the same
        folds.
    candidates_ : dict of str to estimator
        The best of each family, not fitted.
    temperature_ : float
        Divisor of the scores of ``best_estimator_`` before the softmax.
    n_splits_ : int
        Number of train/test splits.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    TableEncoder : Numbers from a table with categories and gaps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import MahalanobisClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> families = ("gaussian", "kernel_fisher")
    >>> model = MahalanobisClassifierCV(families, random_state=0).fit(X, y)
    >>> sorted(model.members_)
    ['gaussian', 'kernel_fisher', 'kernel_fisher/laplacian']
    >>> print(f"{model.best_score_:.2f}")
    0.96
    >>> MahalanobisClassifierCV(families, combine="best", random_state=0).fit(X, y).best_family_
    'gaussian'
    """

    def __init__(
        self,
        families: str | Sequence[str] = "auto",
        *,
        kernel: Kernel = "auto",
        kernels: Sequence[Kernel] | None = None,
        combine: Literal["stack", "best"] = "stack",
        effort: Literal["fast", "best"] = "fast",
        spectrum: Spectrum = "krein",
        scoring: Scoring | None = None,
        class_weight: ClassWeight | None = None,
        cv: CV = 5,
        time_budget: float | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.families = families
        self.kernel = kernel
        self.kernels = kernels
        self.combine = combine
        self.effort = effort
        self.spectrum = spectrum
        self.scoring = scoring
        self.class_weight = class_weight
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        tags.input_tags.allow_nan = tags.input_tags.string = self._by_name()
        tags.input_tags.categorical = self._by_name()
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    def _is(self, name):
        return self.kernels is None and is_word(self.kernel, name)

    def _kernels(self):
        """The kernels to compare, as users name them."""
        if self.kernels is not None:
            kernels = check_kernel_list(self.kernels)
            if any(is_word(k, "auto") or is_word(k, "precomputed") for k in kernels):
                raise ValueError(
                    "kernels cannot hold 'auto' or 'precomputed'; use names such as 'rbf', or "
                    "PrecomputedKernel(K) objects on row numbers."
                )
            return kernels
        if self._is("auto"):
            return ["rbf", "laplacian"][: 1 if self.combine == "best" else 2]
        return [self.kernel]

    def _by_name(self):
        """All kernels are those of scikit-learn, by name: vectors are then standardised.

        Other kernels see the objects as they are.
        """
        return all(isinstance(k, str) and k in KERNEL_NAMES for k in self._kernels())

    def _takes_sparse(self):
        return self._by_name() and all(map(takes_sparse, self._kernels()))

    def fit(
        self,
        X: Objects,
        y: Objects | None = None,
        sample_weight: ArrayLike | None = None,
        groups: Objects | None = None,
    ) -> Self:
        """Search the families, then fit the members (or the chosen one) on all objects.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or sequence of objects
            Training objects: a data frame (pandas, polars, pyarrow) with numbers, categories,
            booleans, dates and missing cells, or an array, which may hold NaN; what a kernel on
            objects takes; or their square kernel matrix (``kernel="precomputed"``). For kernels by
            name also a dask array or dataframe, or, without y, an iterable of batches (X, y) that
            can be read several times, such as :class:`mahalearn.datasets.ParquetBatches`: members
            are then fitted at landmarks, and scores are those of a sample.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the objects, for an ensemble: in its calibration, in its weights and in the
            families "gaussian", "mahalanobis_svm" and "boosting". The other families ignore them,
            with a warning.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.

        Returns
        -------
        self : MahalanobisClassifierCV
            The fitted classifier.
        """
        self._check_options()
        if self._by_name() and comes_in_parts(X, y):
            data = self._check_batches(X, y, sample_weight, groups)
        else:
            refuse_dask(self, X, y)
            data = self._check_data(X, y)
        kernels = self._kernels() if self._by_name() else [None]
        stacked = self.combine == "stack"
        members = list_members(self._wanted(), kernels, data.views, len(data.y), stacked)
        weights = self._check_weights(data, sample_weight, members)
        with warnings.catch_warnings():
            # It has just been said, and every search would say it again.
            warnings.filterwarnings("ignore", message="The precomputed kernel looks like")
            # 1. The splits, the same for all members.
            splits, scored = self._make_splits(data, groups)
            rows = held_out_rows(scored, data.codes, weights)
            # 2. The best candidate of each member.
            candidates = self._search(members, data, splits, rows)
            if self.combine == "best":
                weights_ = self._choose(candidates, rows, scored)
            else:
                # 3. Their probabilities of the held-out objects, calibrated on these.
                calibrated = calibrate_members({n: b.held_out for n, b in candidates.items()}, rows)
                # 4. Their weights.
                weights_ = self._weigh(calibrated, rows)
            self._describe(candidates, data, weights_)
            # 5. The members fitted on all objects.
            self._fit_members(candidates, data)
        return self

    def _wanted(self):
        """The families that the user names; None for all that suit the input."""
        names = [self.families] if isinstance(self.families, str) else list(self.families)
        if names == ["auto"]:
            return None
        possible = [n for n, f in FAMILIES.items() if self._by_name() or not f.needs_vectors]
        if not names:
            raise ValueError(f"families is empty; choose from {', '.join(FAMILIES)}.")
        wanted = {check_choice(name, "families", FAMILIES) for name in names}
        if unfit := sorted(wanted - set(possible)):
            raise ValueError(
                f"The families {unfit} need vectors and a kernel by name; got "
                f"kernel={self.kernel!r}. Choose from {possible}."
            )
        return wanted

    def _check_options(self):
        check_choice(self.combine, "combine", COMBINE)
        check_choice(self.effort, "effort", EFFORTS)
        check_choice(self.spectrum, "spectrum", SPECTRA)
        if self.time_budget is not None:
            check_positive(self.time_budget, "time_budget")
        for kernel in (self.kernel, *(() if self.kernels is None else self._kernels())):
            if isinstance(kernel, str):
                choices = ("auto", "precomputed", *KERNEL_NAMES, *MEASURES, *GROUPS)
                check_choice(kernel, "kernel", choices)
        if isinstance(self.scoring, str):
            get_scorer(self.scoring)
        self._wanted()

    def _check_data(self, X, y):
        """The training objects as members take them; sets classes_."""
        by_name = self._by_name()
        if by_name or all(takes_vectors(kernel) for kernel in self._kernels()):
            refuse_objects(X)
        if not by_name and all(takes_vectors(kernel) for kernel in self._kernels()):
            X, y = validate_rows(self, X, y, dtype=np.float64)
        else:
            X = X if by_name else check_objects(X, self, reset=True)
            y = check_labels(self, X, y)
        self.classes_, codes = check_classes(y)
        if by_name:
            return VectorData(self._fit_encoder(X), y, codes)
        if self._is("precomputed"):
            return MatrixData(X, y, codes)
        many = self.effort == "fast" and len(y) > EXACT_OBJECTS
        return (ManyObjects if many else ObjectData)(X, y, codes, self._kernels())

    def _fit_encoder(self, X):
        """Vectors of a table; sets the encoder and the names of the columns."""
        refuse_tensors(self, X)
        if issparse(X):
            X = validate_rows(self, X, dtype=np.float64, accept_sparse=self._takes_sparse())
            X = as_matrix(X)
        self._encoder = TableEncoder()
        vectors = as_rows(self._encoder.fit_transform(X))
        self._take_columns()
        return vectors

    def _take_columns(self):
        """Take number and names of the columns from the encoder; those of an earlier fit go."""
        vars(self).pop("feature_names_in_", None)
        copy_columns(self._encoder, self)

    def _check_batches(self, X, y, sample_weight, groups):
        """The same for rows that are not in memory."""
        if not is_whole(self.cv) or self.cv < 2 or groups is not None or sample_weight is not None:
            raise ValueError(
                "Batches and dask collections are divided into folds at random: cv must be a "
                "number, and neither groups nor sample_weight are taken."
            )
        name = type(self).__name__
        batches = DaskBatches(X, y) if is_dask_collection(X) else check_batches(X, name)
        self._encoder = TableEncoder()
        data = BatchData(EncodedBatches(batches, self._encoder), int(self.cv))
        self._take_columns()
        self.classes_, _ = check_classes(data.y)
        return data

    def _check_weights(self, data, sample_weight, members):
        """Weights of the objects with mean 1; those that members get become the data's."""
        class_weight, one, y = self.class_weight, self.combine == "best", data.y
        if one and (sample_weight is not None or class_weight is not None):
            raise ValueError(
                "Weights act in the calibration and in the weights of an ensemble: sample_weight "
                "and class_weight need combine='stack'."
            )
        if class_weight is None and self.scoring == "balanced_accuracy":
            class_weight = "balanced"
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(y))
            # Some members would not have the class, and others would.
            for name in self.classes_:
                if not sample_weight[y == name].any():
                    raise ValueError(
                        f"Every object of class {str(name)!r} has the weight 0; leave them out."
                    )
            ignoring = sorted({m.family for m in members if not FAMILIES[m.family].weighted})
            if ignoring and np.ptp(sample_weight) > 0:
                zero = "; also objects of weight 0 train them" if not sample_weight.all() else ""
                warnings.warn(
                    f"The families {', '.join(ignoring)} ignore sample_weight{zero}; the "
                    "calibration and the weights of the ensemble do not.",
                    UserWarning,
                    stacklevel=3,
                )
            # Scale-free, as the calibration is; equal weights are none.
            sample_weight = sample_weight / sample_weight[sample_weight > 0].mean()
            if np.ptp(sample_weight) == 0:
                sample_weight = None
        data.weights = sample_weight
        return np.ones(len(y)) if one else object_weights(y, sample_weight, class_weight)

    def _make_splits(self, data, groups):
        splits = data.splits
        if splits is None:
            counts = np.bincount(data.codes)
            splits = make_splits(self.cv, data.X, data.y, counts, self.random_state, groups)
        scored = splits
        if is_whole(self.cv) and fitted_at_landmarks(data, self.effort) and data.splits is None:
            scored = enough_folds(splits)
        self.n_splits_ = len(scored)
        return splits, scored

    def _search(self, members, data, splits, rows):
        """{member: Best}; fills leaderboard_."""
        scoring = self.scoring if self.combine == "best" else "ensemble"
        show, n_folds = bool(self.verbose), self.n_splits_
        rules = Rules(scoring, self.effort, self.time_budget, self.n_jobs, show, n_folds)
        # The data are checked: LIBSVM's estimators would check them in each of many fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            results = race(members, data, splits, self.spectrum, rules)
        best, self.leaderboard_ = {}, []
        for member in members:
            result = results[member.name]
            row = {"member": member.name, "family": member.family, "kernel": member.kernel}
            row |= EMPTY_ROW | {
                "n_candidates": result.n_candidates,
                "n_finalists": result.n_finalists,
                "seconds": result.seconds,
                "note": result.note,
            }
            if result.best is not None:
                try:
                    row |= self._scores_of(result.best, rows)
                    best[member.name] = result.best
                except ValueError as error:
                    row["note"] = f"failed: {error}"
            self.leaderboard_.append(row)
        noted = [row for row in self.leaderboard_ if row["note"] not in ("", BEHIND)]
        notes = [
            f"{', '.join(row['member'] for row in rows)} ({rows[0]['note']})"
            for rows in grouped(noted, lambda row: row["note"])
        ]
        if not best:
            raise ValueError(f"No family could be fitted: {'; '.join(notes)}")
        if notes:
            warnings.warn(
                f"Not every family was compared in full: {'; '.join(notes)}.",
                UserWarning,
                stacklevel=3,
            )
        return best

    def _fit_members(self, candidates, data):
        """Fit the members and what explains their decisions."""
        estimators = {name: candidates[name].estimator for name in self.weights_}
        self._explanation = fit_explanation(estimators, self.weights_, data)
        fitted = data.fit(estimators)
        if self._by_name():
            fitted = {name: make_pipeline(self._encoder, model) for name, model in fitted.items()}
        self.members_, self.best_estimator_ = fitted, fitted[self.best_family_]

    def _scores_of(self, best, rows):
        """A candidate's row of the leaderboard."""
        scores = self._metrics(best.held_out, rows) if self.combine != "best" else best.fold_scores
        if not np.isfinite(scores).all():
            raise ValueError("the score is not defined on every fold")
        log_p = log_softmax(best.held_out / best.temperature, axis=1)
        return {
            "params": best.params,
            "mean_score": float(scores.mean()),
            "std_score": float(scores.std()),
            "fold_scores": scores,
            "log_loss": held_out_log_loss(log_p, rows.truth, rows.weights),
        }

    def _metrics(self, scores, rows):
        truth = self.classes_[rows.truth]
        return fold_metrics(scores, truth, rows.starts, self.classes_, self.scoring)

    def _choose(self, candidates, rows, splits):
        """The family of combine="best"; its weight is 1."""
        test_ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
        index, tied = choose([best.fold_scores for best in candidates.values()], test_ratio)
        names = list(candidates)
        name, self.calibrations_ = names[index], None
        best = candidates[name]
        self.best_score_ = float(best.fold_scores.mean())
        self.oof_proba_ = mean_proba(log_softmax(best.held_out / best.temperature, axis=1), rows)
        equal = {name for name, ties in zip(names, tied, strict=True) if ties}
        for row in self.leaderboard_:
            row["tied"] = row["member"] in equal
        return {name: 1.0}

    def _weigh(self, calibrated, rows):
        """The weights of the members of an ensemble, those of weight 0 left out."""
        ensemble = weigh_members(calibrated, rows, PENALTY)
        weights = {name: w for name, w in ensemble.weights.items() if w > 0} or ensemble.weights
        self.calibrations_ = {name: calibrated[name].calibration for name in weights}
        self.best_score_ = float(self._metrics(ensemble.log_proba, rows).mean())
        self.oof_proba_ = mean_proba(ensemble.log_proba, rows)
        for row in self.leaderboard_:
            if row["member"] in ensemble.losses:
                row["log_loss"] = ensemble.losses[row["member"]]
                row["loss_without"] = ensemble.lost[row["member"]]
        return weights

    def _describe(self, candidates, data, weights):
        """Set the attributes that describe the members and the best of them."""
        self.weights_ = weights
        self.best_family_ = max(weights, key=lambda name: weights[name])
        best = candidates[self.best_family_]
        self.temperature_ = best.temperature
        # For the user's input instead of what the searches were given.
        models = {name: data.estimator(b.estimator) for name, b in candidates.items()}
        if self._by_name():
            models = {name: make_pipeline(TableEncoder(), m) for name, m in models.items()}
        self.candidates_ = models
        self.best_params_ = self._named(best.params, self.best_family_)
        for row in self.leaderboard_:
            if row["params"] is not None:
                row["params"] = self._named(row["params"], row["member"])
            row["weight"] = weights.get(row["member"], 0.0)
            row["chosen"] = row["member"] in weights
        self.leaderboard_.sort(key=lambda row: -np.nan_to_num(row["mean_score"], nan=-np.inf))

    def _named(self, params, member):
        """Parameters of a member with the kernel as the user knows it, not as a matrix."""
        if self._by_name() or "kernel" not in params:
            return params
        return {**params, "kernel": self.candidates_[member].kernel}

    # None with combine="best".
    calibrations_: dict[str, Any] | None = None

    def _log_proba(self, X):
        """Log-probabilities of the ensemble."""
        scores = member_scores(self._last_steps(), self._queries(X))
        return stack(self._member_log_proba(scores), self._weights_of(scores))

    def _member_log_proba(self, scores):
        """Logarithms (K, n, c) of the members' probabilities from {member: scores}."""
        tables = np.array(list(scores.values()))
        if self.calibrations_ is None:
            return log_softmax(tables / self.temperature_, axis=2)
        return calibrated_log_proba([self.calibrations_[name] for name in scores], tables)

    def _weights_of(self, names):
        return np.array([self.weights_[name] for name in names])

    def _last_steps(self):
        """The members behind the encoder."""
        by_name = self._by_name()
        return {name: member[-1] if by_name else member for name, member in self.members_.items()}

    def _queries(self, X):
        """Checked objects as the members behind the encoder take them."""
        check_is_fitted(self)
        if not self._by_name():
            return self.best_estimator_.checked_queries(X)
        refuse_dask_query(X)
        refuse_tensors(self, X)
        return as_rows(self._encoder.transform(X))

    def predict(self, X: Objects) -> np.ndarray:
        """Predict the class of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        check_is_fitted(self)
        if self.calibrations_ is None:
            return super().predict(X)
        return self.classes_[winners(self._log_proba(X))]

    def decision_function(self, X: Objects) -> np.ndarray:
        """Scores of the classes: of an ensemble the logarithms of its probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second's score minus the first's.
        """
        check_is_fitted(self)
        if self.calibrations_ is None:
            return super().decision_function(X)
        scores = self._log_proba(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _tempered(self, X):
        check_is_fitted(self)
        return super()._tempered(X) if self.calibrations_ is None else self._log_proba(X)

    def explain(self, X: Objects, n_neighbors: int = 5) -> list[dict[str, Any]]:
        """Explain the predictions of objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
            Objects, or their kernel values against the training objects (``"precomputed"``).
        n_neighbors : int, default=5
            Number of nearest training objects to tell.

        Returns
        -------
        explanations : list of dict
            For each object: "label"; "second", the second best class; "proba", {class:
            probability}; "votes", {member: the class that it would predict}. The margin is the
            difference of the logarithms of the two largest probabilities, and what follows adds up
            to it: "members", {member: its part of the margin}; "contributions" and "baseline", for
            tables, {column: the integral of the margin's gradient on the line from the mean
            training row (for sparse rows from 0)} and the margin there; members whose scores jump
            (pairs of machines, neighbours, trees) have no gradient and are in the baseline.
            "distances", {class:
            squared Mahalanobis distance}, and "typicality", {class: share of its training objects
            that are at least as far from it}, by the member "distance_member" (the one of the
            largest weight that has distances; training objects by models that have not seen them);
            "neighbors", the positions and squared kernel distances of the nearest training
            objects. Values that no member provides are None.
        """
        check_count(n_neighbors, "n_neighbors")
        Z, members, facts = self._queries(X), self._last_steps(), self._explanation
        scores, classes = member_scores(members, Z), self.classes_.tolist()
        log_p, parts = self.predict_log_proba(X), self._member_log_proba(scores)
        weights = self._weights_of(scores)
        near, neighbors = kernel_member(members, self.weights_), None
        best, second = two_best(log_p)
        d2 = shares = None
        if facts.member is not None:
            d2 = members[facts.member].mahalanobis(as_matrix(Z))
            shares = typicality(facts.distances, d2)
        out = []
        for i, (a, b) in enumerate(zip(best, second, strict=True)):
            x = take(Z, slice(i, i + 1))
            if near is not None:
                neighbors = near.neighbors_of(x, n_neighbors, a, b)
            margins = (weights * (parts[:, i, a] - parts[:, i, b])).tolist()
            margins = dict(zip(scores, margins, strict=True))
            contributions, baseline = self._contributions(x, a, b, margins)
            votes = {name: classes[winners(table[i : i + 1])[0]] for name, table in scores.items()}
            out.append(
                {
                    "label": classes[a],
                    "second": classes[b],
                    "proba": by_class(classes, np.exp(log_p), i),
                    "votes": votes,
                    "members": margins,
                    "contributions": contributions,
                    "baseline": baseline,
                    "distance_member": facts.member,
                    "distances": by_class(classes, d2, i),
                    "typicality": by_class(classes, shares, i),
                    "neighbors": neighbors,
                }
            )
        return out

    def _contributions(self, x, a, b, margins):
        """{column: contribution} and baseline of the margin between two classes at one row.

        margins: those of the members at the row.
        """
        members = {n: m for n, m in self._last_steps().items() if m.smooth_scores}
        if not self._by_name() or not members:
            return None, None
        weights = self._weights_of(members)

        def margin(rows):
            log_p = self._member_log_proba(member_scores(members, rows))
            return weights @ (log_p[..., a] - log_p[..., b])

        facts = self._explanation
        columns, values, baseline = column_contributions(margin, x, facts.center, facts.spread)
        baseline += sum(value for name, value in margins.items() if name not in members)
        sources = self._encoder.source_columns_[columns]
        names = OneToOneFeatureMixin.get_feature_names_out(self)
        shown = np.unique(sources) if is_sparse(x) else np.arange(len(names))
        totals = np.bincount(sources, values, len(names))[shown].tolist()
        return dict(zip(names[shown], totals, strict=True)), baseline

    @available_if(_has_distances)
    def mahalanobis(self, X: Objects) -> np.ndarray:
        """Squared Mahalanobis distances to the classes, where the chosen estimator has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances; those of kernels may be negative, as in the plain estimators.
        """
        check_is_fitted(self)
        X = self._queries(X) if self._by_name() else X
        return self._last_steps()[self.best_family_].mahalanobis(X)
