"""Support vector machines with Mahalanobis kernels (paper B), and the search for C and δ."""

from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import validate_data

from .._base import ScoreClassifierMixin
from .._progress import progress
from .._typing import CV, ArrayLike, ClassWeight, Floats, Objects, Scoring
from .._validation import (
    check_choice,
    check_classes,
    check_positive,
    check_sample_weight,
    refuse_dask,
    refuse_dask_query,
)
from ..formulas.calibration import fit_temperature
from ..formulas.one_vs_one import one_vs_one_scores, pair_coefficients
from ..kernels.mahalanobis import MahalanobisKernel
from ..kernels.named import sq_euclidean
from ..kernels.training import row_chunks
from ..model_selection import grids
from ..model_selection.best_estimator import BestAttributesMixin, BestEstimatorMixin
from ..model_selection.scoring import fold_metrics, nearly_best, refuse_nan
from ..model_selection.search import check_path, check_splits, differing, results_table

COVARIANCE_SOURCES = ("pair", "all")


class _Machine(NamedTuple):
    """A support vector machine in the space whitened by its kernel, for some of the classes."""

    kernel: MahalanobisKernel
    svc: SVC

    def decisions(self, X):
        """(m, pairs), positive where the second class of a pair wins."""
        svc, Z = self.svc, self.kernel.whiten(X)
        A = pair_coefficients(svc.dual_coef_, svc.n_support_)
        parts = []
        for rows in row_chunks(len(Z), 2 * len(A)):
            # The RBF kernel by matrix products is much faster than LIBSVM's loops.
            K = sq_euclidean(Z[rows], svc.support_vectors_)
            K *= -self.kernel.gamma_
            parts.append(np.exp(K, out=K) @ A)
        decisions = np.concatenate(parts) + svc.intercept_
        # LIBSVM's sign favours the first class of a pair; of two classes scikit-learn turns it.
        return decisions if len(svc.n_support_) == 2 else -decisions


class MahalanobisSVC(ScoreClassifierMixin, BaseEstimator):
    """Support vector machine with the kernel exp(−(δ/m)(x − x')ᵀQ⁻¹(x − x')).

    Q is the covariance of the training data, so the units of the features do not matter, δ = 1 is a
    good value for most data, and C can be chosen first, δ after it
    (:class:`mahalearn.MahalanobisSVCCV`). The machine is trained by LIBSVM's own RBF kernel on
    whitened data.

    Parameters
    ----------
    C : float, default=1.0
        Margin parameter: the price of a training error.
    delta : float, default=1.0
        Scaling factor δ of the kernel.
    covariance : {"diag", "full"}, default="diag"
        Variances only, or the full covariance matrix.
    covariance_from : {"pair", "all"}, default="pair"
        With more than two classes a machine is trained for each pair of them. ``"pair"`` gives each
        a covariance from the data of its two classes, ``"all"`` one from all data to all of them.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        Shrinks a full covariance towards its diagonal; see
        :class:`mahalearn.kernels.MahalanobisKernel`.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for each class. The covariance is not weighted.
    tol : float, default=1e-3
        Tolerance of LIBSVM's stopping criterion.
    cache_size : float, default=200
        Size of LIBSVM's kernel cache in MB.
    max_iter : int, default=-1
        Limit on LIBSVM's iterations; -1 for none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors, class by class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    kernels_ : list of MahalanobisKernel
        The fitted kernel, or one for each pair of classes: (0, 1), (0, 2) … (1, 2) ….
    n_iter_ : ndarray of shape (n_pairs,)
        LIBSVM's iterations for each pair of classes.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    MahalanobisSVCCV : Chooses C and delta by the two-stage line search.

    Notes
    -----
    Constant features, and for the full covariance directions in which the training data do not
    vary, are left out, and m is the number of directions that are left, so that the mean of the
    squared distance is m on any data. For probabilities take MahalanobisSVCCV, or wrap the
    classifier in scikit-learn's CalibratedClassifierCV.

    References
    ----------
    S. Abe, Training of support vector machines with Mahalanobis kernels, ICANN 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import MahalanobisSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> print(f"{cross_val_score(MahalanobisSVC(), X, y).mean():.2f}")
    0.98
    """

    def __init__(
        self,
        C: float = 1.0,
        delta: float = 1.0,
        covariance: str = "diag",
        *,
        covariance_from: str = "pair",
        shrinkage: float | str | None = None,
        class_weight: ClassWeight | None = None,
        tol: float = 1e-3,
        cache_size: float = 200,
        max_iter: int = -1,
    ) -> None:
        self.C = C
        self.delta = delta
        self.covariance = covariance
        self.covariance_from = covariance_from
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(self, X: Objects, y: Objects, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the covariances and train the machines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: C of a sample is multiplied by its weight, and the covariances
            are weighted. A whole number counts a sample as often.

            .. versionadded:: 0.2

        Returns
        -------
        self : MahalanobisSVC
            The fitted classifier.
        """
        source = check_choice(self.covariance_from, "covariance_from", COVARIANCE_SOURCES)
        check_positive(self.C, "C")
        refuse_dask(self, X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        own = check_sample_weight(sample_weight, len(y))
        present = np.arange(len(y)) if own is None else np.flatnonzero(own)
        self.classes_, codes = check_classes(y[present])
        X, own = X[present], None if own is None else own[present]
        n_classes = len(self.classes_)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y[present])
        if own is not None and isinstance(self.class_weight, str):  # "balanced": what classes weigh
            weights = own.sum() / (n_classes * np.bincount(codes, own))
        if source == "all" or n_classes == 2:
            groups = [tuple(range(n_classes))]
        else:
            groups = list(combinations(range(n_classes), 2))

        self._machines, support = [], []
        for group in groups:
            rows = np.flatnonzero(np.isin(codes, group))
            machine = self._train(
                X[rows],
                codes[rows],
                {j: weights[j] for j in group},
                None if own is None else own[rows],
            )
            self._machines.append(machine)
            support.append(rows[machine.svc.support_])
        self.kernels_ = [machine.kernel for machine in self._machines]
        self.n_iter_ = np.concatenate([machine.svc.n_iter_ for machine in self._machines])
        rows = np.unique(np.concatenate(support))
        self.support_ = present[rows[np.argsort(codes[rows], kind="stable")]]
        self.n_support_ = np.bincount(codes[rows], minlength=n_classes)
        return self

    def _train(self, X, codes, weights, own):
        kernel = MahalanobisKernel(self.covariance, self.delta, self.shrinkage)
        kernel.fit(X, sample_weight=own)
        svc = SVC(
            C=self.C,
            gamma=kernel.gamma_,
            class_weight=weights,
            decision_function_shape="ovo",
            tol=self.tol,
            cache_size=self.cache_size,
            max_iter=self.max_iter,
        )
        return _Machine(kernel, svc.fit(kernel.whiten(X), codes, own))

    def _scores(self, X):
        refuse_dask_query(X)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        decisions = np.hstack([machine.decisions(X) for machine in self._machines])
        n_classes = len(self.classes_)
        if n_classes == 2:  # scores whose difference is the machine's own decision
            return np.column_stack([np.zeros(len(X)), decisions])
        return one_vs_one_scores(decisions, n_classes)


class MahalanobisSVCCV(BestAttributesMixin, BestEstimatorMixin, BaseEstimator):
    """:class:`mahalearn.MahalanobisSVC` with C and δ chosen by cross-validation.

    The line search sets δ = 1 and chooses C, then keeps C and chooses δ: 13 + 20 candidates with
    the default values, where a grid as fine would need 260. That is enough because the kernel is
    normalised by the covariance of the data.

    Parameters
    ----------
    Cs : array-like of float, default=None
        Values of C; None for the paper's 13 from 1 to 100000.
    deltas : array-like of float, default=None
        Values of δ; None for 0.1, 0.2 … 2.0, or for 0.1, 0.5, 1, 1.5, 2 where ``search="grid"``.
    search : {"line", "grid"}, default="line"
        The two stages, or all combinations of C and δ.
    covariance : {"diag", "full"}, default="diag"
        As in :class:`MahalanobisSVC`.
    covariance_from : {"pair", "all"}, default="pair"
        As in :class:`MahalanobisSVC`.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        As in :class:`MahalanobisSVC`.
    class_weight : dict, "balanced" or None, default=None
        As in :class:`MahalanobisSVC`.
    tol : float, default=1e-3
        As in :class:`MahalanobisSVC`.
    cache_size : float, default=200
        As in :class:`MahalanobisSVC`.
    max_iter : int, default=-1
        As in :class:`MahalanobisSVC`.
    cv : int, splitter or iterable, default=5
        Cross-validation, as in scikit-learn.
    scoring : str or callable, default=None
        What to maximise: accuracy if None; "balanced_accuracy" or any other scikit-learn scorer.
        Probabilities are calibrated before they are scored, as those of the search are.
    n_jobs : int, default=None
        Number of processes over the machines.
    verbose : int, default=0
        A progress bar is shown if this is not 0 (``pip install "mahalearn[progress]"``).

    Attributes
    ----------
    best_params_ : dict
        The chosen C and delta, and what else differs from MahalanobisSVC's defaults. Where scores
        tie, the smallest C, then the smallest delta.
    best_score_ : float
        Their mean cross-validated score.
    best_index_ : int
        Their place in ``cv_results_``.
    best_estimator_ : MahalanobisSVC
        Trained with them on all data; what it has, the search has too.
    cv_results_ : dict
        Parameters and scores of all candidates in scikit-learn's layout (without times), with the
        stage of each in ``"stage"``. δ = 1 with the chosen C stands in stage 1 and is not tried
        again, but takes part in the choice.
    n_fits_ : int
        Number of machines trained in the search: candidates times folds.
    n_splits_ : int
        Number of folds.
    temperature_ : float
        What scores are divided by before they become probabilities, from the held-out scores.

        .. versionadded:: 0.2
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.

    References
    ----------
    S. Abe, Training of support vector machines with Mahalanobis kernels, ICANN 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mahalearn import MahalanobisSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MahalanobisSVCCV(Cs=[1, 10, 100], deltas=[0.2, 0.5, 1]).fit(X, y)
    >>> model.best_params_
    {'C': 10, 'delta': 0.2}
    """

    def __init__(
        self,
        Cs: Floats | None = None,
        deltas: Floats | None = None,
        search: str = "line",
        *,
        covariance: str = "diag",
        covariance_from: str = "pair",
        shrinkage: float | str | None = None,
        class_weight: ClassWeight | None = None,
        tol: float = 1e-3,
        cache_size: float = 200,
        max_iter: int = -1,
        cv: CV = 5,
        scoring: Scoring | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.deltas = deltas
        self.search = search
        self.covariance = covariance
        self.covariance_from = covariance_from
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Objects,
        y: Objects,
        groups: Objects | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose C and δ, and train the classifier with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in training. The scores of the folds count all samples alike.

            .. versionadded:: 0.2

        Returns
        -------
        self : MahalanobisSVCCV
            The fitted classifier.
        """
        search = check_choice(self.search, "search", tuple(grids.PAPER_DELTAS))
        Cs = _distinct(grids.PAPER_CS if self.Cs is None else self.Cs, "Cs")
        deltas = grids.PAPER_DELTAS[search] if self.deltas is None else self.deltas
        deltas = _distinct(deltas, "deltas")
        given = X  # the best estimator is to see the names of the columns too
        refuse_dask(self, X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, _ = check_classes(y)
        weights = check_sample_weight(sample_weight, len(y))
        splits = check_splits(check_cv(self.cv, y, classifier=True).split(X, y, groups), y)
        self.n_splits_ = len(splits)
        tried = _Tried(X, y, weights, splits, self.classes_, self.scoring)
        if search == "grid":
            first, second = [{"C": C, "delta": delta} for C in Cs for delta in deltas], []
        else:
            first = [{"C": C, "delta": 1.0} for C in Cs]
            second = [delta for delta in deltas if not np.isclose(delta, 1.0, rtol=1e-9)]
        self.n_fits_ = (len(first) + len(second)) * len(splits)
        with progress(self.verbose, self.n_fits_, "machines") as advance:
            self._try(first, tried, advance)
            C = tried.params[tried.best()]["C"]
            self._try([{"C": C, "delta": delta} for delta in second], tried, advance)
        stage = np.repeat([1, 2], [len(first), len(second)])
        self.cv_results_ = {**results_table(tried.params, np.array(tried.metrics)), "stage": stage}
        # The first stage's other rows cannot win: none of them scores above the C that it chose.
        self.best_index_ = tried.best()
        self.best_score_ = float(np.mean(tried.metrics[self.best_index_]))
        best = tried.params[self.best_index_]
        self.best_params_ = differing(MahalanobisSVC(), {**self._common(), **best}, set(best))
        self.temperature_ = tried.temperature(self.best_index_)
        self.oof_scores_ = tried.scores[self.best_index_]
        self.best_estimator_ = MahalanobisSVC(**self.best_params_).fit(given, y, weights)
        return self

    def _common(self):
        """Parameters of the machine that are not searched."""
        own = MahalanobisSVC().get_params(deep=False)
        return {name: v for name, v in self.get_params(deep=False).items() if name in own}

    def _try(self, candidates, tried, advance):
        """Held-out scores of every candidate."""
        run = Parallel(n_jobs=self.n_jobs, return_as="generator")
        found = run(
            delayed(_held_out)(
                MahalanobisSVC(**{**self._common(), **params}),
                tried.X,
                tried.y,
                tried.weights,
                *split,
            )
            for params in candidates
            for split in tried.splits
        )
        folds = []
        for scores in found:
            folds.append(scores)
            advance()
        n_splits = len(tried.splits)
        for i, params in enumerate(candidates):
            tried.add(params, folds[i * n_splits : (i + 1) * n_splits])

    def _tempered(self, X):
        if "best_estimator_" in vars(self) and "temperature_" not in vars(self):
            raise AttributeError(
                "This search was fitted by version 0.1, which had no probabilities; fit it again."
            )
        return super()._tempered(X)


class _Tried:
    """The candidates that were tried on the same folds: parameters, scores and metrics."""

    def __init__(self, X, y, weights, splits, classes, scoring):
        self.X, self.y, self.weights, self.splits = X, y, weights, splits
        self.classes, self.scoring = classes, scoring
        self.truth = np.concatenate([y[test] for _, test in splits])
        self.starts = np.cumsum([0] + [len(test) for _, test in splits])
        self.params, self.scores, self.metrics = [], [], []

    def add(self, params, folds):
        """Keep a candidate; folds: the classes each fold has seen, and their scores (m, c)."""
        scores = np.full((len(self.truth), len(self.classes)), -np.inf)
        for start, (classes, found) in zip(self.starts, folds):
            rows = np.arange(start, start + len(found))
            scores[np.ix_(rows, np.searchsorted(self.classes, classes))] = found
        metrics = fold_metrics(scores, self.truth, self.starts, self.classes, self.scoring)
        refuse_nan(metrics, self.scoring)
        self.params.append(params)
        self.scores.append(scores)
        self.metrics.append(metrics)

    def best(self):
        """Index of the best mean score; on ties the smallest C, then the smallest δ."""
        tied = np.flatnonzero(nearly_best(np.mean(self.metrics, axis=1)))
        return int(min(tied, key=lambda i: (self.params[i]["C"], self.params[i]["delta"])))

    def temperature(self, index):
        """The temperature of a candidate's held-out scores."""
        return fit_temperature(self.scores[index], np.searchsorted(self.classes, self.truth))


def _held_out(machine, X, y, weights, train, test):
    """Classes that a machine has learned, and its scores (m, c) of the test part."""
    machine.fit(X[train], y[train], None if weights is None else weights[train])
    return machine.classes_, machine._scores(X[test])


def _distinct(values, name):
    """Distinct positive numbers in ascending order, as a list."""
    return sorted(set(check_path(values, name)))
