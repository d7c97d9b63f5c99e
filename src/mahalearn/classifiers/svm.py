"""Support vector machines with Mahalanobis kernels (paper B)."""

from itertools import combinations
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight

from .._base import ScoreClassifierMixin
from .._memory import row_chunks, scratch
from .._typing import ArrayLike, ClassWeight, Objects, Shrinkage
from .._validation import (
    check_choice,
    check_classes,
    check_positive,
    check_sample_weight,
    is_word,
    refuse_dask,
    validate_rows,
)
from ..formulas.linalg import times
from ..formulas.one_vs_one import one_vs_one_scores, pair_coefficients
from ..kernels.mahalanobis_kernel import MahalanobisKernel
from ..kernels.protocol import sq_euclidean
from .explanation import explain, named_contributions

COVARIANCE_SOURCES = ("pair", "all")


class _Machine(NamedTuple):
    """A support vector machine in the space whitened by its kernel, for some of the classes.

    support: positions of its support vectors in the training set; coefficients (n_support, pairs):
    theirs in the decisions of all pairs of classes.
    """

    kernel: MahalanobisKernel
    svc: SVC
    support: np.ndarray
    coefficients: np.ndarray

    def decisions(self, X):
        """(m, pairs), positive where the second class of a pair wins."""
        svc, Z = self.svc, self.kernel.whitening_.apply(X)
        A, parts = self.coefficients, []
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
            coefficients = pair_coefficients(svc.dual_coef_, svc.n_support_)
            A = np.zeros((n, coefficients.shape[1]))
            A[svc.support_] = coefficients
            machines.append((svc.gamma, A, svc.intercept_))
        for rows in row_chunks(len(X), 2 * n):
            D = sq_euclidean(self.kernel.whitening_.apply(X[rows]), self.Z)
            parts.append([np.exp(-gamma * D) @ A + intercept for gamma, A, intercept in machines])
        return [_signed(np.concatenate(rows), svc) for rows in zip(*parts, strict=True)]


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

    Q is the covariance of the training data, so the units of the features do not matter, and δ = 1
    is a good value for most data. C can be chosen first and δ after it;
    :class:`mahalearn.KernelSearchCV` without a grid does so. The SVM is trained with LIBSVM's RBF
    kernel on whitened data.

    Read more in the :doc:`user guide </svm>`.

    Parameters
    ----------
    C : float, default=1.0
        Margin parameter: the price of a training error.
    delta : float, default=1.0
        Scaling factor δ of the kernel.
    covariance : {"diag", "full"}, default="diag"
        Covariance in the kernel.

        - "diag": variances of the features only.
        - "full": the full covariance matrix.
    covariance_from : {"pair", "all"}, default="pair"
        Data of the covariance, for more than two classes (one SVM for each pair of classes).

        - "pair": the data of the two classes.
        - "all": all data.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        Shrinks a full covariance towards its diagonal; see
        :class:`~mahalearn.MahalanobisKernel`.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for each class. The covariance is not weighted.
    tol : float, default=1e-3
        Tolerance of LIBSVM's stopping criterion.
    max_iter : int, default=1000000
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
    KernelSearchCV : Chooses C and delta by the two-stage line search.

    Notes
    -----
    Constant features, and for the full covariance directions in which the training data do not
    vary, are left out, and m is the number of directions that are left, so that the mean of the
    squared distance is m on any data. For probabilities take KernelSearchCV, or wrap the
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
        covariance: Literal["diag", "full"] = "diag",
        *,
        covariance_from: Literal["pair", "all"] = "pair",
        shrinkage: Shrinkage = None,
        class_weight: ClassWeight | None = None,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
    ) -> None:
        self.C = C
        self.delta = delta
        self.covariance = covariance
        self.covariance_from = covariance_from
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.tol = tol
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

        Returns
        -------
        self : MahalanobisSVC
            The fitted classifier.
        """
        check_positive(self.C, "C")
        self._search_temperature = None
        refuse_dask(self, X, y)
        X, y = validate_rows(self, X, y, dtype=np.float64)
        weights = check_sample_weight(sample_weight, len(y))
        present = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        self.classes_, problems = self._problems(
            X[present], y[present], None if weights is None else weights[present]
        )
        self.machines_ = []
        for problem in problems:
            svc = problem.train(self, self.C, self.delta)
            support = present[problem.rows[svc.support_]]
            coefficients = pair_coefficients(svc.dual_coef_, svc.n_support_)
            self.machines_.append(_Machine(problem.kernel, svc, support, coefficients))
        self.kernels_ = [machine.kernel for machine in self.machines_]
        self.n_iter_ = np.concatenate([machine.svc.n_iter_ for machine in self.machines_])
        rows = np.unique(np.concatenate([machine.support for machine in self.machines_]))
        codes = np.searchsorted(self.classes_, y[rows])
        self.support_ = rows[np.argsort(codes, kind="stable")]
        self.n_support_ = np.bincount(codes, minlength=len(self.classes_))
        return self

    def _problems(self, X, y, weights):
        """Classes, and the problems to solve: of two classes each, or one of all.

        weights: of the samples, positive, or None.
        """
        source = check_choice(self.covariance_from, "covariance_from", COVARIANCE_SOURCES)
        classes, codes = check_classes(y)
        n_classes = len(classes)
        of_classes = np.ones(n_classes)
        if self.class_weight is not None:
            of_classes = compute_class_weight(self.class_weight, classes=classes, y=y)
        if weights is not None and is_word(self.class_weight, "balanced"):  # what classes weigh
            of_classes = weights.sum() / (n_classes * np.bincount(codes, weights))
        if source == "all" or n_classes == 2:
            groups = [tuple(range(n_classes))]
        else:
            groups = list(combinations(range(n_classes), 2))
        problems = []
        for group in groups:
            rows = np.flatnonzero(np.isin(codes, group))
            kernel = MahalanobisKernel(self.covariance, self.delta, self.shrinkage)
            part = None if weights is None else weights[rows]
            kernel.fit(X[rows], sample_weight=part)
            Z = kernel.whitening_.apply(X[rows])
            margins = None if (of_classes == 1).all() else {j: of_classes[j] for j in group}
            problems.append(_Problem(rows, kernel, Z, codes[rows], margins, part))
        return classes, problems

    def query_scores(self, queries: Any) -> np.ndarray:
        """Scores (m, c) of queries that need no more checks."""
        decisions = np.hstack([machine.decisions(queries) for machine in self.machines_])
        return _pair_scores(decisions, len(self.classes_))

    # --- explanations -----------------------------------------------------------------------------

    explain = explain

    @property
    def smooth_scores(self) -> bool:  # type: ignore[override]
        """True for two classes; pairs of more classes vote."""
        return len(self.classes_) == 2

    def _machine_of(self, a, b):
        """The machine that decides between two classes, and its column for that."""
        pairs = list(combinations(range(len(self.classes_)), 2))
        place = pairs.index((min(a, b), max(a, b)))
        one = len(self.machines_) == 1
        return (self.machines_[0], place) if one else (self.machines_[place], 0)

    def _margin(self, a, b):
        machine, column = self._machine_of(a, b)
        sign = 1 if a > b else -1
        return lambda rows: sign * machine.decisions(rows)[:, column]

    def neighbors_of(self, x: Any, n_neighbors: int, a: int, b: int) -> Any:
        """(position, squared distance) of the support vectors nearest to a query."""
        machine = self._machine_of(a, b)[0]
        kernel, support = machine.kernel, machine.support
        d2 = sq_euclidean(kernel.whitening_.apply(x), machine.svc.support_vectors_)[0]
        near = np.argsort(d2, kind="stable")[:n_neighbors]
        distances = 2 - 2 * np.exp(-kernel.gamma_ * d2[near])
        return list(zip(support[near].tolist(), distances.tolist(), strict=True))

    def _contributions(self, x, a, b):
        center, matrix, *_ = self._machine_of(a, b)[0].kernel.whitening_
        lengths = np.linalg.norm(matrix.reshape(len(center), -1), axis=1)
        spread = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return named_contributions(self, self._margin(a, b), x, center, spread)

    # --- many candidates --------------------------------------------------------------------------

    shared_parameters = ("C", "delta")

    def split_scores(  # type: ignore[override]
        self, candidates: list[Any], X: Any, y: Any, X_test: Any, sample_weight: Any = None
    ) -> list[Any]:
        """(classes, scores (m, c), rounding) of each candidate, fitted on X, y, for X_test."""
        for machine in candidates:
            check_positive(machine.C, "C")
            check_positive(machine.delta, "delta")
        refuse_dask(self, X, y)
        first = clone(self)
        X, y = validate_rows(first, X, y, dtype=np.float64)
        X_test = validate_rows(first, X_test, reset=False, dtype=np.float64)
        weights = check_sample_weight(sample_weight, len(y))
        if weights is not None:
            present = np.flatnonzero(weights)
            X, y, weights = X[present], y[present], weights[present]
        classes, problems = self._problems(X, y, weights)
        values = [{"C": machine.C, "delta": machine.delta} for machine in candidates]
        decisions = [problem.decisions(self, values, X_test) for problem in problems]
        tables = [np.hstack(of_pairs) for of_pairs in zip(*decisions, strict=True)]
        return [(classes, _pair_scores(table, len(classes)), 0.0) for table in tables]
