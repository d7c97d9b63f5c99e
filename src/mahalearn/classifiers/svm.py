"""Support vector machines with Mahalanobis kernels (paper B), and the search for C and δ."""

from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import validate_data

from .._base import BestAttributesMixin, BestEstimatorMixin, ScoreClassifierMixin
from .._memory import row_chunks, scratch
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
from ..formulas.linalg import times
from ..formulas.one_vs_one import one_vs_one_scores, pair_coefficients
from ..kernels.mahalanobis import MahalanobisKernel
from ..kernels.protocol import sq_euclidean
from ..model_selection import grids
from ..model_selection.scoring import fold_metrics, nearly_best, refuse_nan
from ..model_selection.search import (
    check_path,
    check_splits,
    differing,
    results_table,
    splits_of,
)

COVARIANCE_SOURCES = ("pair", "all")
# Candidates of a search that one process tries on a fold, one after the other.
BATCH = 6


class _Machine(NamedTuple):
    """A support vector machine in the space whitened by its kernel, for some of the classes."""

    kernel: MahalanobisKernel
    svc: SVC

    def decisions(self, X):
        """(m, pairs), positive where the second class of a pair wins."""
        svc, Z = self.svc, self.kernel._whitening.apply(X)
        A = pair_coefficients(svc.dual_coef_, svc.n_support_)
        parts = []
        with scratch() as workspace:
            for rows in row_chunks(len(Z), 2 * len(A)):
                # The RBF kernel by matrix products is much faster than LIBSVM's loops.
                K = workspace.columns("values", len(Z[rows]), len(A))
                K = sq_euclidean(Z[rows], svc.support_vectors_, out=K)
                K *= -self.kernel.gamma_
                parts.append(times(np.exp(K, out=K), A))
        return _signed(np.concatenate(parts) + svc.intercept_, svc)


class _Problem(NamedTuple):
    """Samples of some of the classes in their whitened space: what all C and δ have in common.

    rows: their positions in the training set; kernel: fitted to them; Z (n, m): whitened; codes
    (n,): class indices; class_weight: {class index: weight}, None where all are 1; weights (n,):
    of the samples, None where all are 1.
    """

    rows: np.ndarray
    kernel: MahalanobisKernel
    Z: np.ndarray
    codes: np.ndarray
    class_weight: dict | None
    weights: np.ndarray | None

    def train(self, machine, C, delta):
        """The SVC with the other parameters of a MahalanobisSVC."""
        svc = SVC(
            C=C,
            gamma=delta / self.kernel.mean_sq_,
            class_weight=self.class_weight,
            decision_function_shape="ovo",
            tol=machine.tol,
            cache_size=machine.cache_size,
            max_iter=machine.max_iter,
        )
        return svc.fit(self.Z, self.codes, self.weights)

    def decisions(self, machine, candidates, X):
        """Decisions (m, pairs) of queries for each of the candidates {C, delta}."""
        n, parts = len(self.Z), []
        machines = []
        for i, params in enumerate(candidates):
            # The parameters of the first are checked; the others differ in C and δ only.
            with sklearn.config_context(skip_parameter_validation=i > 0):
                svc = self.train(machine, **params)
            own = pair_coefficients(svc.dual_coef_, svc.n_support_)
            A = np.zeros((n, own.shape[1]))
            A[svc.support_] = own
            machines.append((svc.gamma, A, svc.intercept_))
        for rows in row_chunks(len(X), 2 * n):
            D = sq_euclidean(self.kernel._whitening.apply(X[rows]), self.Z)
            parts.append([np.exp(-gamma * D) @ A + intercept for gamma, A, intercept in machines])
        return [_signed(np.concatenate(found), svc) for found in zip(*parts, strict=True)]


def _signed(decisions, svc):
    """Decisions (m, pairs) that are positive where the second class of a pair wins.

    LIBSVM's sign favours the first class of a pair; of two classes scikit-learn turns it.
    """
    return decisions if len(svc.n_support_) == 2 else -decisions


def _pair_scores(decisions, n_classes):
    """Scores (m, c) from the decisions (m, pairs) of all machines."""
    if n_classes == 2:  # scores whose difference is the machine's own decision
        return np.column_stack([np.zeros(len(decisions)), decisions])
    return one_vs_one_scores(decisions, n_classes)


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
        check_positive(self.C, "C")
        refuse_dask(self, X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        own = check_sample_weight(sample_weight, len(y))
        present = np.arange(len(y)) if own is None else np.flatnonzero(own)
        self.classes_, codes, problems = self._problems(
            X[present], y[present], None if own is None else own[present]
        )
        self._machines = [
            _Machine(problem.kernel, problem.train(self, self.C, self.delta))
            for problem in problems
        ]
        self.kernels_ = [machine.kernel for machine in self._machines]
        self.n_iter_ = np.concatenate([machine.svc.n_iter_ for machine in self._machines])
        support = [
            problem.rows[machine.svc.support_]
            for problem, machine in zip(problems, self._machines, strict=True)
        ]
        rows = np.unique(np.concatenate(support))
        self.support_ = present[rows[np.argsort(codes[rows], kind="stable")]]
        self.n_support_ = np.bincount(codes[rows], minlength=len(self.classes_))
        return self

    def _problems(self, X, y, own):
        """Classes, class indices, and the problems to solve: of two classes each, or one of all.

        own: weights of the samples, positive, or None.
        """
        source = check_choice(self.covariance_from, "covariance_from", COVARIANCE_SOURCES)
        classes, codes = check_classes(y)
        n_classes = len(classes)
        weights = np.ones(n_classes)
        if self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=classes, y=y)
        if own is not None and isinstance(self.class_weight, str):  # "balanced": what classes weigh
            weights = own.sum() / (n_classes * np.bincount(codes, own))
        if source == "all" or n_classes == 2:
            groups = [tuple(range(n_classes))]
        else:
            groups = list(combinations(range(n_classes), 2))
        problems = []
        for group in groups:
            rows = np.flatnonzero(np.isin(codes, group))
            kernel = MahalanobisKernel(self.covariance, self.delta, self.shrinkage)
            part = None if own is None else own[rows]
            kernel.fit(X[rows], sample_weight=part)
            Z = kernel._whitening.apply(X[rows])
            of_class = None if (weights == 1).all() else {j: weights[j] for j in group}
            problems.append(_Problem(rows, kernel, Z, codes[rows], of_class, part))
        return classes, codes, problems

    def _scores(self, X):
        refuse_dask_query(X)
        return self._query_scores(validate_data(self, X, reset=False, dtype=np.float64))

    def _query_scores(self, X):
        decisions = np.hstack([machine.decisions(X) for machine in self._machines])
        return _pair_scores(decisions, len(self.classes_))


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

    _plain = MahalanobisSVC

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
        splits = check_splits(splits_of(self.cv, X, y, groups), y)
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

    def _try(self, candidates, tried, advance):
        """Held-out scores of every candidate."""
        machine = MahalanobisSVC(**self._common())
        run = Parallel(n_jobs=self.n_jobs, return_as="generator")
        batches = [candidates[i : i + BATCH] for i in range(0, len(candidates), BATCH)]
        found = run(
            delayed(_held_out)(machine, batch, tried.X, tried.y, tried.weights, *split)
            for batch in batches
            for split in tried.splits
        )
        folds, n_splits = [], len(tried.splits)
        for classes, scores in found:
            folds.append([(classes, table) for table in scores])
            advance(len(scores))
        for i, batch in enumerate(batches):
            tables = zip(*folds[i * n_splits : (i + 1) * n_splits], strict=True)
            for params, of_folds in zip(batch, tables, strict=True):
                tried.add(params, of_folds)

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


def _held_out(machine, candidates, X, y, weights, train, test):
    """Classes that machines have learned, and scores (m, c) of the test part for each candidate.

    What the candidates, values of C and δ, have in common is computed once.
    """
    own = None
    if weights is not None:
        train = train[weights[train] > 0]
        own = weights[train]
    classes, _, problems = machine._problems(X[train], y[train], own)
    found = [problem.decisions(machine, candidates, X[test]) for problem in problems]
    tables = [np.hstack(decisions) for decisions in zip(*found, strict=True)]
    return classes, [_pair_scores(decisions, len(classes)) for decisions in tables]


def _distinct(values, name):
    """Distinct positive numbers in ascending order, as a list."""
    return sorted(set(check_path(values, name)))
