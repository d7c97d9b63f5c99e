"""The search over kernels and other parameters by exact cross-validation."""

import numbers
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_is_fitted,
)

from .._base import ScoreClassifierMixin, class_scores
from .._progress import with_bar
from .._typing import CV, ArrayLike, Objects, Scoring
from .._validation import (
    check_classes,
    check_labels,
    check_objects,
    comes_in_parts,
    is_real,
    is_whole,
    is_word,
    refuse_dask,
    refuse_dask_labels,
    refuse_objects,
    validate_rows,
)
from ..formulas.calibration import fit_temperature
from ..formulas.offsets import settled, settling_step
from ..kernels.protocol import is_precomputed, takes_sparse, takes_vectors
from ..training.landmark import FLOATS
from .evaluation import (
    SearchData,
    Trial,
    copy_columns,
    frozen,
    on_kernel,
    resolve_candidates,
    resolve_spreads,
    score_candidates,
    steps_of,
    with_params,
)
from .grid import default_candidates, second_stage
from .splits import (
    check_splits,
    fold_metrics,
    held_out_weights,
    refuse_nan,
    splits_of,
    takes_weights,
)

# Mean scores that differ by less are equal: the first candidate is taken.
TIE = 1e-10


def _best_has(method):
    """Availability of a method, as the search itself says."""
    return available_if(lambda search: search._offers(method))


class BestEstimatorMixin(ClassifierMixin):
    """Every predict method from ``best_estimator_`` and ``temperature_``."""

    def _offers(self, method):
        """True; a search without a method raises an AttributeError that says why."""
        return True

    def _tempered(self, X):
        """Scores (m, c) divided by the temperature."""
        check_is_fitted(self)
        return class_scores(self.best_estimator_, X)[0] / self.temperature_

    @_best_has("predict")
    def predict(self, X: Objects) -> np.ndarray:
        """Predict the class of each object by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_best_has("decision_function")
    def decision_function(self, X: Objects) -> np.ndarray:
        """Scores of the classes by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second's score minus the first's.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @_best_has("predict")
    def predict_proba(self, X: Objects) -> np.ndarray:
        """Class probabilities, calibrated on the held-out scores of the search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The softmax of scores / temperature_: the most probable class is the predicted one.
        """
        return softmax(self._tempered(X), axis=1)

    @_best_has("predict")
    def predict_log_proba(self, X: Objects) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        return log_softmax(self._tempered(X), axis=1)

    @_best_has("predict")
    def score(self, X: Objects, y: Objects, sample_weight: ArrayLike | None = None) -> float:
        """The score that the search maximised: accuracy, unless `scoring` says otherwise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the objects.

        Returns
        -------
        score : float
            The score.
        """
        check_is_fitted(self)
        if self.scoring is None:
            return super().score(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return check_scoring(self, self.scoring)(self, X, y, **weights)


class KernelSearchCV(MetaEstimatorMixin, BestEstimatorMixin, BaseEstimator):
    """Search over the parameters of a classifier, as ``GridSearchCV`` does it, but faster.

    All candidates with the same kernel share its matrix, and all values of `reg` (or `n_neighbors`)
    share factorisations. So the scores of ``GridSearchCV`` are computed in a fraction of its time.
    Probabilities are calibrated on the held-out scores.

    Read more in the :doc:`user guide </model_selection>`.

    Parameters
    ----------
    estimator : classifier
        A classifier of this library, or a pipeline that ends in one. Any other classifier is
        refitted for each candidate, as in ``GridSearchCV``.
    param_grid : dict or list of dict, default=None
        Parameters and the values to try, as in scikit-learn; for a pipeline their names begin with
        the step's, ``step__name``. Kernels may be listed; "elastic" stands for the Euclidean
        distance, DTW with bands of 5 %, 10 % and without, and MSM. None takes the estimator's
        default grid, relative to the data: for kernel classifiers nine widths from 0.03 to 32 times
        "scale" (for "poly" degrees 1 to 4) and powers of ten of the regularisation; for
        :class:`mahalearn.MahalanobisSVC` paper B's line search, C with δ = 1 and then δ.
    cv : int, splitter or iterable, default=5
        Cross-validation, as in scikit-learn; ``LeaveOneOut()`` has a closed form for RC+ and for
        ridge regression.
    scoring : str or callable, default=None
        Score to maximise: accuracy if None; "balanced_accuracy" or any other scikit-learn scorer.
        Probabilities are calibrated before they are scored, as those of the search are.
    n_jobs : int, default=None
        Number of processes over the kernels, or over fits.
    verbose : int, default=0
        A progress bar is shown if this is not 0 (``pip install "mahalearn[progress]"``).
    refit : bool or callable, default=True
        Whether the best candidate is fitted on all objects; a function of ``cv_results_`` returns
        the index of the best.
    error_score : "raise" or float, default=nan
        The score of a candidate that cannot be fitted. If none can, its error is raised.

    Attributes
    ----------
    best_params_ : dict
        The searched parameters of the best candidate. Among equal scores the first in the grid is
        chosen; default grids list more regularisation first, then wider kernels and lower degrees.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : estimator
        The best candidate fitted on all objects.
    cv_results_ : dict
        Parameters and scores of all candidates in scikit-learn's layout. Times are shares: what
        candidates have in common is divided among them.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds that the last fit took.
    multimetric_ : bool
        False: one score is searched.
    temperature_ : float
        Divisor of the scores before the softmax, fitted to held-out scores.
    oof_scores_ : ndarray of shape (n_held_out, n_classes)
        Held-out scores of the best candidate, the test parts of the splits one after the other;
        −inf for a class that a training part does not have.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has them.

    See Also
    --------
    MahalanobisClassifierCV : Ensemble of searched families.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.

    Notes
    -----
    With numeric widths and scales, given landmarks and a scorer of labels or decisions, scores and
    predictions are those of ``GridSearchCV``. Otherwise there are three differences: γ = "scale",
    standardised columns, the scale of a measure and landmarks are resolved once, on all training
    objects and without their labels; probabilities are calibrated before they are scored; times are
    shared. A score that is undefined on a fold is refused.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelQuadraticDiscriminant, KernelSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearchCV(KernelQuadraticDiscriminant()).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.97
    >>> grid = {"gamma": [0.1, 1.0], "reg": [0.01, 0.1], "variant": ["RC+", "FK+"]}
    >>> search = KernelSearchCV(KernelQuadraticDiscriminant(), grid, cv=3).fit(X, y)
    >>> len(search.cv_results_["params"])
    8
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        cv: CV = 5,
        scoring: Scoring | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool | Callable[..., int] = True,
        error_score: float | Literal["raise"] = np.nan,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.error_score = error_score

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.input_tags, tags.transformer_tags = inner.input_tags, inner.transformer_tags
        if not all(map(takes_vectors, self._kernels())):
            tags.input_tags.two_d_array = False
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which arguments of fit go to the estimator and which to the splitter.

        Returns
        -------
        routing : MetadataRouter
            The router.
        """
        router = MetadataRouter(owner=type(self).__name__)
        for callee, part in {
            "fit": {"estimator": self.estimator},
            "split": {"splitter": check_cv(self.cv, classifier=True)},
            "score": {"scorer": self.scorer_},
        }.items():
            router.add(method_mapping=MethodMapping().add(caller="fit", callee=callee), **part)
        return router

    @property
    def scorer_(self) -> Callable[..., float]:
        """The score that is maximised, as a function of (estimator, X, y)."""
        return check_scoring(self.estimator, self.scoring)

    # --- fitting ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Objects | None = None,
        groups: Objects | None = None,
        **fit_params: Any,
    ) -> Self:
        """Search, then fit the best candidate on all objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``). With
            landmarks also batches and dask collections, as in the plain estimator: their folds are
            random, and the scores are those of a sample of at most 20,000 rows.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.
        **fit_params : dict
            Arguments of the estimator's fit, such as `sample_weight` where it takes some. Values
            for each object are divided among the folds. As in ``GridSearchCV``, `sample_weight`
            also counts in the scores of the folds, if the scorer takes it.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._check_options()
        groups, *params = self._routed(groups, fit_params)
        for name in ("best_estimator_", "refit_time_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self._at_landmarks() and comes_in_parts(X, y):
            stages = self._stages(np.inf)
            objects = self._look_at_parts(X, y, groups, params, stages[0])
        else:
            objects = self._check_data(X, y, groups, params)
            stages = self._stages(min(len(train) for train, _ in objects.splits))
        best = self._search(stages, objects)
        codes = np.concatenate([objects.codes[test] for _, test in objects.splits])
        weights = held_out_weights(objects.score_arguments())
        self.temperature_ = fit_temperature(best.scores, codes, weights)
        self.oof_scores_ = settled(best.scores, settling_step(best.scores, best.rounding))
        if self.refit:
            self._refit(X, y, objects, best)
        return self

    def _check_options(self):
        if isinstance(self.scoring, (list, tuple, set, frozenset, dict)):
            raise ValueError(
                "KernelSearchCV maximises one score; got several. Pass scoring='accuracy', another "
                "name or a function, and compute further scores with sklearn's cross_validate."
            )
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise TypeError(
                "estimator must be a classifier such as KernelQuadraticDiscriminant(); got "
                f"{self.estimator!r}."
            )
        if not is_word(self.error_score, "raise") and not is_real(self.error_score):
            raise ValueError(f"error_score must be 'raise' or a number; got {self.error_score!r}.")
        if not isinstance(self.refit, (bool, np.bool_)) and not callable(self.refit):
            raise ValueError(
                f"refit must be True, False or a function of cv_results_; got {self.refit!r}."
            )
        if self.param_grid is not None:
            ParameterGrid(self.param_grid)  # refuses what is none
        check_scoring(self.estimator, self.scoring)
        self.multimetric_ = False

    def _routed(self, groups, fit_params):
        """Groups, arguments of the estimator's fit and of the scorer; with metadata routing as it
        says.
        """
        if get_config()["enable_metadata_routing"]:
            metadata = dict(fit_params) if groups is None else {**fit_params, "groups": groups}
            routed = process_routing(self, "fit", **metadata)
            groups = routed.splitter.split.get("groups")
            return groups, dict(routed.estimator.fit), dict(routed.scorer.score)
        weights = fit_params.get("sample_weight")
        weighted = weights is not None and takes_weights(self.scoring)
        return groups, fit_params, {"sample_weight": weights} if weighted else {}

    def _stages(self, n_train):
        """Lists of candidates; of a function, those that follow from the best so far."""
        if self.param_grid is not None:
            return [list(ParameterGrid(self.param_grid))]
        _, classifier, prefix = steps_of(self.estimator)

        def named(candidates):
            return [{prefix + name: value for name, value in p.items()} for p in candidates]

        def second(best):
            best = {name.removeprefix(prefix): value for name, value in best.items()}
            return named(second_stage(classifier, best))

        return [named(default_candidates(classifier, n_train)), second]

    def _kernels(self):
        """The kernels of all candidates, where the estimator itself is a kernel classifier."""
        return self._listed("kernel") if on_kernel(self.estimator) else []

    def _listed(self, name):
        """Values of a parameter in the grid, or the estimator's own."""
        grids = [] if self.param_grid is None else self.param_grid
        grids = [grids] if isinstance(grids, Mapping) else grids
        listed = [value for grid in grids for value in grid.get(name, ())]
        return listed or [getattr(self.estimator, name, None)]

    def _at_landmarks(self):
        """True where some of the candidates have landmarks."""
        return any(landmarks is not None for landmarks in self._listed("landmarks"))

    def _check_data(self, X, y, groups, params):
        """SearchData of objects in memory."""
        if self._at_landmarks():
            refuse_dask_labels(y)
        before, classifier, _ = steps_of(self.estimator)
        refuse_dask(classifier, X, y)
        kernels = self._kernels()
        matrices = [is_precomputed(kernel) for kernel in kernels]
        if any(matrices) and not all(matrices):
            raise ValueError(
                "A list of kernels cannot hold 'precomputed'; use PrecomputedKernel(K) objects."
            )
        if kernels and all(takes_vectors(kernel) for kernel in kernels):
            refuse_objects(X)
            # At landmarks rows stay in the precision that they come in.
            exact = any(landmarks is None for landmarks in self._listed("landmarks"))
            dtype, sparse = np.float64 if exact else FLOATS, all(map(takes_sparse, kernels))
            X, y = validate_rows(self, X, y, dtype=dtype, accept_sparse=sparse)
        else:
            X = check_objects(X, self, reset=True) if kernels else indexable(X)[0]
            y = check_labels(self, X, y)
        self.classes_, codes = check_classes(y)
        splits = check_splits(splits_of(self.cv, X, y, groups), y)
        self.n_splits_ = len(splits)
        return SearchData(X, y, codes, splits, self.classes_, *params, {}, before=before)

    def _look_at_parts(self, X, y, groups, params, candidates):
        """SearchData of batches or a dask collection: random folds, scores of a sample."""
        if groups is not None or not is_whole(self.cv):
            raise ValueError(
                "Batches and dask collections are divided into folds at random: cv must be a "
                f"number, and groups are not taken; got cv={self.cv!r}."
            )
        if len({id(landmarks) for landmarks in self._listed("landmarks")}) > 1:
            raise ValueError(
                "Batches and dask collections are searched with one value of landmarks; got "
                f"{self._listed('landmarks')!r}."
            )
        first = {n: v for n, v in candidates[0].items() if n in ("kernel", "landmarks")}
        plain = with_params(self.estimator, first)
        data = plain.sample_source(X, y, int(self.cv))
        self.classes_ = plain.classes_
        splits = data.splits()
        self.n_splits_ = len(splits)
        codes = np.searchsorted(self.classes_, data.y)
        return SearchData(data.X, data.y, codes, splits, self.classes_, *params, {}, data)

    # --- the choice -------------------------------------------------------------------------------

    def _search(self, stages, objects):
        """Score all candidates; sets cv_results_ and what is best; returns the best Scored."""
        scored: list = []
        best = None
        for stage in stages:
            candidates = stage if best is None else stage(scored[best].params)
            if not candidates:
                break
            candidates = resolve_candidates(self.estimator, candidates, objects)
            # What an earlier stage has tried is not tried again, but takes part in the choice.
            place = {frozen_params(one.params): i for i, one in enumerate(scored)}
            places, new = [], []
            for params in candidates:
                index = place.get(frozen_params(params))
                if index is None:
                    index = len(scored) + len(new)
                    new.append((index, params))
                places.append(index)
            scored += self._score(new, objects)
            best = self._first_best(scored, places)
        self.cv_results_ = results_table(scored, self.n_splits_)
        self.best_index_ = self._refit_index(len(scored)) if callable(self.refit) else best
        winner = scored[self.best_index_]
        if winner.error is not None:
            raise winner.error
        self.best_score_, self.best_params_ = float(winner.metrics.mean()), winner.params
        return winner

    def _refit_index(self, n_candidates):
        """The index of the best candidate, as the function `refit` returns it."""
        index = self.refit(self.cv_results_)
        if not is_whole(index) or not 0 <= index < n_candidates:
            raise IndexError(
                f"refit must return the index of one of the {n_candidates} candidates, a whole "
                f"number from 0 to {n_candidates - 1}; got {index!r}."
            )
        return int(index)

    def _score(self, candidates, objects):
        """The Scored of candidates (index, params); only those that may be best keep scores."""
        trials = [Trial(i, params, with_params(self.estimator, params)) for i, params in candidates]
        if steps_of(self.estimator).prefix or objects.fit_params:  # fitted fold by fold
            trials = resolve_spreads(trials, objects)
        truth = np.concatenate([objects.y[test] for _, test in objects.splits])
        starts = np.cumsum([0] + [len(test) for _, test in objects.splits])
        arguments = objects.score_arguments()
        arriving = score_candidates(trials, objects, self.n_jobs)
        if self.verbose:
            arriving = with_bar(arriving, len(trials), "candidates")
        scored, top = {}, -np.inf
        for one in arriving:
            if one.error is not None:
                if is_word(self.error_score, "raise"):
                    raise one.error
                metrics = np.full(len(objects.splits), float(self.error_score))
            else:
                table = one.scores, truth, starts, self.classes_
                metrics = fold_metrics(*table, self.scoring, one.rounding, arguments)
                refuse_nan(metrics, self.scoring)
                top = max(top, metrics.mean())
                if metrics.mean() < top - TIE and not callable(self.refit):
                    one = one._replace(scores=None)
            scored[one.position] = one._replace(metrics=metrics)
        self._warn_of_failures(scored)
        return [scored[trial.position] for trial in trials]

    def _warn_of_failures(self, scored):
        errors = [one.error for one in scored.values() if one.error is not None]
        if len(errors) == len(scored):
            raise errors[0]
        if errors:
            warnings.warn(
                f"{len(errors)} of {len(scored)} candidates could not be fitted; they score "
                f"{self.error_score}. The first reason: {errors[0]}",
                FitFailedWarning,
                stacklevel=5,
            )

    def _first_best(self, scored, places):
        """The first of some candidates whose mean score is the largest but for rounding."""
        means = np.array([scored[i].metrics.mean() for i in places])
        return places[int(np.argmax(means >= np.nanmax(means) - TIE))]

    def _refit(self, X, y, objects, best):
        """Fit the best candidate on all objects; what the search has computed is used again."""
        start = time.perf_counter()
        model = with_params(self.estimator, best.params)
        if on_kernel(model) and not objects.fit_params:
            shared = None
            if best.landmarks is not None:
                shared = best.landmarks.chosen
                if best.landmarks.seed is not None:
                    model.set_params(random_state=best.landmarks.seed)
            elif best.measure is not None:  # it is not computed again
                kernel, pairs = best.measure
                shared = kernel, kernel.from_pairs(pairs)
            self.best_estimator_ = model.fit_shared(X, y, shared)
        else:
            self.best_estimator_ = clone(model).fit(X, y, **objects.fit_params)
        last = steps_of(self.best_estimator_).classifier
        if isinstance(last, ScoreClassifierMixin):  # its probabilities are those of the search
            last.temperature_ = self.temperature_
        self.refit_time_ = time.perf_counter() - start
        copy_columns(self.best_estimator_, self)

    # --- predicting -------------------------------------------------------------------------------

    def _offers(self, method):
        """True if the best estimator, or before the fit the estimator, has a method."""
        if "best_index_" in vars(self) and "best_estimator_" not in vars(self):
            raise AttributeError(
                f"This {type(self).__name__} was fitted with refit={self.refit!r}; {method} "
                "is there after a refit only. Refit the estimator with best_params_."
            )
        estimator = vars(self).get("best_estimator_", self.estimator)
        getattr(steps_of(estimator).classifier if method == "explain" else estimator, method)
        return True

    @_best_has("transform")
    def transform(self, X: Objects) -> np.ndarray:
        """Transform objects by the best estimator, where it can.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Result of the best estimator's transform.
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @_best_has("score_samples")
    def score_samples(self, X: Objects) -> np.ndarray:
        """Scores of objects by the best estimator, where it has them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Result of the best estimator's score_samples.
        """
        check_is_fitted(self)
        return self.best_estimator_.score_samples(X)

    @_best_has("explain")
    def explain(self, X: Objects, n_neighbors: int = 5) -> list[dict[str, Any]]:
        """Explain the decisions about objects, as the best estimator does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        n_neighbors : int, default=5
            Number of nearest objects to list.

        Returns
        -------
        explanations : list of dict
            For each object what the best estimator's explain returns; of a pipeline the last
            step's, whose columns are those that it takes.
        """
        check_is_fitted(self)
        before, classifier, _ = steps_of(self.best_estimator_)
        return classifier.explain(X if before is None else before.transform(X), n_neighbors)


def frozen_params(params):
    """A key that equal candidates share."""
    return tuple((name, frozen(params[name])) for name in sorted(params))


def results_table(scored, n_splits):
    """cv_results_ in scikit-learn's layout: times, parameters, scores, mean, std and rank."""
    params = [one.params for one in scored]
    table = np.array([one.metrics for one in scored])
    results: dict[str, Any] = {}
    fit_time = np.array([one.seconds for one in scored]) / n_splits
    for name in ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"):
        results[name] = fit_time if name == "mean_fit_time" else np.zeros(len(scored))
    for name in sorted({name for p in params for name in p}):
        values = [p[name] for p in params if name in p]
        column = np.ma.masked_all(len(params), dtype=_column_dtype(values))
        for i, candidate in enumerate(params):
            if name in candidate:
                column[i] = candidate[name]
        results[f"param_{name}"] = column
    results["params"] = params
    for f in range(n_splits):
        results[f"split{f}_test_score"] = table[:, f]
    mean = results["mean_test_score"] = table.mean(axis=1)
    results["std_test_score"] = table.std(axis=1)
    # As scikit-learn's, with means that differ by rounding equal, and NaN last.
    rounded = np.round(mean / TIE) * TIE
    ordered = np.where(np.isnan(rounded), -np.inf, rounded)
    results["rank_test_score"] = np.array([1 + (ordered > v).sum() for v in ordered], np.int32)
    return results


def _column_dtype(values):
    """Numbers have a type of their own, as in scikit-learn's columns; all else is an object."""
    if not all(isinstance(value, numbers.Real | np.bool_) for value in values):
        return object
    return np.array(values).dtype
