"""A classifier that compares the families of the library on the data, and takes the best."""

import time
import warnings
from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._base import refuses_weights
from .._objects import check_objects
from .._progress import progress
from .._typing import CV, Kernel, Objects, RandomState, Scoring
from .._validation import check_choice, check_classes, check_positive, spelt
from ..formulas.spectrum import SPECTRA
from ..kernels.measure import MeasureKernel
from ..kernels.named import KERNEL_NAMES
from ..kernels.protocol import fit_kernel_and_gram, is_stateless, takes_vectors
from ..kernels.training import TrainingKernel
from ..measures.base import Measure
from ..measures.table import MEASURES
from ._choice import choose, make_splits
from ._families import BY_COST, FAMILIES, Comparison, OutOfTime, search_family
from .best_estimator import BestEstimatorMixin


def _best_has_distances(chooser):
    if "best_estimator_" in vars(chooser):
        last = chooser._last_step()
        if not hasattr(last, "mahalanobis"):
            raise AttributeError(
                f"The chosen {type(last).__name__} has no distances to the classes; the families "
                "'gaussian', 'kqd' and 'dissimilarity_space' have them."
            )
    return True


class MahalanobisClassifierCV(BestEstimatorMixin, BaseEstimator):
    """The classifier of the library that suits the data best, chosen by cross-validation.

    All families are searched on the same splits through their exact searches. Of those whose scores
    are statistically equal the simplest is taken: a family ties with the best one if the mean of
    its paired fold differences from it is within half a standard error (corrected for the overlap
    of the training parts), and among those that tie the order is the one of `families` below.
    Vectors are standardised first (a constant column becomes 0 and changes nothing), because
    kernels by name depend on the units.

    Parameters
    ----------
    families : "auto" or sequence of str, default="auto"
        What to compare, of "gaussian" (covariances and shrinkage), "mahalanobis_svm",
        "kernel_fisher", "kqd" (kernel quadratic discriminants RC+ and FK+), "dissimilarity_space"
        (Fisher's and the quadratic discriminant) and "kernel_pca"; "auto": all that the input
        allows. "gaussian" and "mahalanobis_svm" need vectors and a kernel by name.
    kernel : "auto", "precomputed", str, measure or callable, default="auto"
        "auto" is the RBF kernel, its width searched. "precomputed": X is the square kernel matrix
        (:class:`mahalearn.ProximityKernel` makes it from dissimilarities). Any other kernel of the
        library, such as ``MeasureKernel("edit")`` for strings, sees the objects as they are.
    spectrum : str, default="krein"
        What to do about negative eigenvalues, as in the plain estimators.
    scoring : str or callable, default=None
        What to maximise: accuracy if None; "balanced_accuracy" or any other scikit-learn scorer.
        Probabilities are calibrated before they are scored.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, reduced to the size of the smallest class where that is less,
        and done twice up to 300 objects; or splits as in scikit-learn.
    time_budget : float, default=None
        Seconds that the searches may take, roughly. Cheap families come first; what is not expected
        to fit is left out, which ``leaderboard_`` and a warning say. The cheapest family is always
        searched.
    random_state : int, RandomState instance or None, default=None
        Of the folds; an int makes results reproducible.
    n_jobs : int, default=None
        Number of processes of each search.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    leaderboard_ : list of dict
        A row for each family, best mean score first: "family", "params", "mean_score",
        "std_score" and "fold_scores" (of the folds, the same for all), "seconds", "tied" (equal to
        the best but for chance), "chosen", and "note", which says where a family failed (its score
        is NaN), was left out or not searched to the end.
    best_family_ : str
        The chosen family.
    best_estimator_ : estimator
        The chosen estimator fitted on all objects; for vectors a pipeline that standardises first.
    best_params_ : dict
        What the search chose for it.
    best_score_ : float
        Its mean score over the folds. Chosen among many, it is somewhat optimistic.
    candidates_ : dict of str to estimator
        The best of each family, not fitted.
    temperature_ : float
        What scores are divided by before they become probabilities, from the held-out scores.
    n_splits_ : int
        Number of train/test splits.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import MahalanobisClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MahalanobisClassifierCV(("gaussian", "kernel_fisher"), random_state=0).fit(X, y)
    >>> model.best_family_
    'gaussian'
    >>> print(f"{model.best_score_:.2f}")
    0.98
    """

    def __init__(
        self,
        families: str | Sequence[str] = "auto",
        *,
        kernel: Kernel = "auto",
        spectrum: str = "krein",
        scoring: Scoring | None = None,
        cv: CV = 5,
        time_budget: float | None = None,
        random_state: RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.families = families
        self.kernel = kernel
        self.spectrum = spectrum
        self.scoring = scoring
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        return tags

    @property
    def _kernel(self):
        """The kernel, its name in lower case."""
        return self.kernel.lower() if isinstance(self.kernel, str) else self.kernel

    def _is(self, name):
        return isinstance(self.kernel, str) and self._kernel == name

    def _takes_vectors(self):
        return self._is("auto") or takes_vectors(self._kernel)

    @refuses_weights
    def fit(self, X: Objects, y: Objects, groups: Objects | None = None) -> Self:
        """Compare the families, then fit the chosen one on all objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or sequence of objects
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.

        Returns
        -------
        self : MahalanobisClassifierCV
            The fitted classifier.
        """
        start = time.monotonic()
        spectrum = check_choice(self.spectrum, "spectrum", SPECTRA)
        budget = self.time_budget
        deadline = None if budget is None else start + check_positive(budget, "time_budget")
        names = self._families()
        if isinstance(self.kernel, str):
            check_choice(self.kernel, "kernel", ("auto", "precomputed", *KERNEL_NAMES, *MEASURES))
        if isinstance(self.scoring, str):
            get_scorer(self.scoring)
        if self._takes_vectors():
            checked, y = validate_data(self, X, y, dtype=np.float64)
        else:
            X = checked = check_objects(X)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        self.classes_, codes = check_classes(y)
        splits = make_splits(self.cv, checked, y, np.bincount(codes), self.random_state, groups)
        self.n_splits_ = len(splits)
        given = self._comparison(checked, y, codes, splits, spectrum)
        with warnings.catch_warnings():
            # It has just been said, and every search would say it again.
            warnings.filterwarnings("ignore", message="The precomputed kernel looks like")
            found = self._search(names, given, deadline)
            self._choose(found, splits)
            # The input as it came: names of columns stay with the estimator.
            self.best_estimator_ = clone(self.candidates_[self.best_family_]).fit(self._input(X), y)
        return self

    def _families(self):
        by_name = isinstance(self.kernel, str) and self._kernel not in ("precomputed", *MEASURES)
        possible = [name for name in FAMILIES if by_name or not FAMILIES[name].needs_vectors]
        families = spelt(self.families, "families", ("auto",))
        if isinstance(families, str) and families == "auto":
            return possible
        wanted = [self.families] if isinstance(self.families, str) else list(self.families)
        if not wanted:
            raise ValueError(f"families is empty; choose from {', '.join(FAMILIES)}.")
        wanted = {check_choice(name, "families", FAMILIES) for name in wanted}
        if unfit := sorted(wanted - set(possible)):
            raise ValueError(
                f"The families {unfit} need vectors and a kernel by name; got "
                f"kernel={self.kernel!r}. Choose from {possible}."
            )
        return [name for name in possible if name in wanted]

    def _scales(self):
        """Vectors are standardised for kernels by name; another kernel sees what it was given."""
        return (
            isinstance(self.kernel, str) and self._takes_vectors() and not self._is("precomputed")
        )

    def _comparison(self, X, y, codes, splits, spectrum):
        """What the searches get, the kernel matrix computed once where it serves every fold."""
        common = (spectrum, self.scoring, self.n_jobs)
        if self._scales():
            kernel = "rbf" if self._is("auto") else self._kernel
            Z = StandardScaler().fit_transform(X)
            varying = max(1, int((Z != 0).any(axis=0).sum()))
            return Comparison(Z, y, splits, kernel, *common, n_varying=varying)
        kernel = self._kernel
        if self._is("precomputed"):
            training = TrainingKernel(X, codes, None)
            knows_queries = training.self_similarities(X[:1]) is not None
        else:
            if isinstance(kernel, (Measure, str)):
                kernel = MeasureKernel(kernel)
            kernel_, gram = fit_kernel_and_gram(kernel, X, y)
            training = TrainingKernel(X, codes, kernel_, gram)
            knows_queries = True
        place = np.argsort(training.order)
        K = training.gram()[np.ix_(place, place)]
        # Centred by all objects: |trace HKH|/n, 1 for a constant kernel.
        spread = abs(np.trace(K) - K.mean() * len(K)) / len(K) or 1.0
        if self._is("precomputed") or is_stateless(kernel):
            X, kernel = K, "precomputed"
        return Comparison(X, y, splits, kernel, *common, spread=spread, knows_queries=knows_queries)

    def _search(self, names, given, deadline):
        """The best of each family: {name: Found}; fills leaderboard_."""
        found, errors, self.leaderboard_ = {}, {}, []
        with progress(self.verbose, len(names), "families") as advance:
            for name in sorted(names, key=BY_COST.index):
                row = {
                    "family": name,
                    "params": None,
                    "mean_score": np.nan,
                    "std_score": np.nan,
                    "fold_scores": None,
                    "seconds": 0.0,
                    "tied": False,
                    "chosen": False,
                    "note": "",
                }
                start = time.monotonic()
                try:
                    best, done, all_ = search_family(name, given, deadline if found else None)
                    if not np.isfinite(best.fold_scores).all():
                        raise ValueError("the score is not defined on every fold")
                    found[name] = best
                    row["params"] = best.params
                    row["mean_score"] = float(best.fold_scores.mean())
                    row["std_score"] = float(best.fold_scores.std())
                    row["fold_scores"] = best.fold_scores
                    if done < all_:
                        row["note"] = f"time budget: {done} of {all_} searches"
                except OutOfTime as reason:
                    row["note"] = f"left out by the time budget: {reason}"
                except Exception as error:  # whatever a family cannot do, another may
                    errors[name] = error
                    row["note"] = f"failed: {error}"
                row["seconds"] = time.monotonic() - start
                self.leaderboard_.append(row)
                advance()
        if not found:
            first = next(iter(errors.values()))
            raise ValueError(
                "No family could be fitted: "
                + "; ".join(f"{name}: {error}" for name, error in errors.items())
            ) from first
        if notes := [
            f"{row['family']} ({row['note']})" for row in self.leaderboard_ if row["note"]
        ]:
            warnings.warn(
                f"Not every family was compared in full: {'; '.join(notes)}.",
                UserWarning,
                stacklevel=3,
            )
        return {name: found[name] for name in names if name in found}

    def _choose(self, found, splits):
        test_ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
        index, tied = choose([best.fold_scores for best in found.values()], test_ratio)
        names = list(found)
        self.best_family_ = names[index]
        best = found[self.best_family_]
        self.best_params_ = best.params
        self.best_score_ = float(best.fold_scores.mean())
        self.temperature_ = best.temperature
        self.candidates_ = {name: self._as_given(found[name].estimator) for name in names}
        equal = {name for name, ties in zip(names, tied, strict=True) if ties}
        for row in self.leaderboard_:
            row["tied"] = row["family"] in equal
            row["chosen"] = row["family"] == self.best_family_
        self.leaderboard_.sort(key=lambda row: -np.nan_to_num(row["mean_score"], nan=-np.inf))

    def _as_given(self, estimator):
        """The estimator for the user's input instead of what the searches were given."""
        if self._scales():
            return make_pipeline(StandardScaler(), estimator)
        return estimator.set_params(kernel=self.kernel)

    def _input(self, X):
        """Single precision as its values in double precision: standardising would round again."""
        single = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.dtype.itemsize < 8
        return X.astype(np.float64) if single else X

    def _last_step(self):
        return self.best_estimator_[-1] if self._scales() else self.best_estimator_

    @available_if(_best_has_distances)
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
        X = self._input(X)
        X = self.best_estimator_[:-1].transform(X) if self._scales() else X
        return self._last_step().mahalanobis(X)
