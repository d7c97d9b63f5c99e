"""The kernel protocol, and kernels of the library.

A kernel is a scikit-learn kernel name, ``"precomputed"``, a measure of objects (its name, such as
``"edit"``, or itself: then the kernel is MeasureKernel's −d²), or any callable ``k(X, Y)`` that
returns the (len(X), len(Y)) matrix of kernel values. It may also have

- ``diag(X)``: the self-similarities k(x, x), without the matrix;
- ``fit(X, y=None)``: called on the training data of each fit, on a clone;
- ``get_params``/``set_params``: then ``kernel__name`` can be searched;
- ``requires_vector_input = False``: it takes objects (strings, sequences, sets of points, row
  numbers …), and what the user passes reaches it untouched. scikit-learn's Gaussian-process kernels
  use the same name;
- ``stateless = True``: its ``fit`` learns nothing, so that one matrix serves every fold of a
  cross-validation;
- ``knows_self = True``: an object and itself have another value than two equal objects;
- ``positive_definite = True``: known to be so; otherwise that is proven from the matrix.
"""

import copy

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels

from .._validation import check_choice, check_positive, check_real
from ..measures.base import Measure
from ..measures.table import MEASURES, as_measure
from .mahalanobis import MahalanobisKernel as MahalanobisKernel  # kernels of the library,
from .precomputed import PrecomputedKernel as PrecomputedKernel  # in modules of their own

KERNEL_NAMES = tuple(sorted(kernel_metrics()))


def rbf(X, Y, gamma):
    """exp(−γ‖x − y‖²) in one matrix product and two passes over the result.

    The rows are taken relative to the mean of Y, so that a common offset costs no digits.
    """
    same, centre = X is Y, Y.mean(axis=0)
    X, Y = X - centre, Y - centre
    x2, y2 = (gamma * np.einsum("ij,ij->i", A, A) for A in (X, Y))
    K = np.column_stack([2 * gamma * X, -x2, np.ones(len(X))]) @ np.vstack(
        [Y.T, np.ones(len(Y)), -y2]
    )
    np.minimum(K, 0, out=K)
    np.exp(K, out=K)
    if same:
        np.fill_diagonal(K, 1.0)
    return K


class NamedKernel:
    """A kernel of scikit-learn by name, its parameters resolved on the training data."""

    requires_vector_input = True

    def __init__(self, name, gamma=None, degree=3, coef0=1):
        self.name = name
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @property
    def positive_definite(self):
        """Whether every Gram matrix of this kernel is positive semidefinite."""
        if self.name in ("poly", "polynomial"):
            return self.coef0 >= 0 and self.gamma > 0 and float(self.degree).is_integer()
        return self.name in ("linear", "rbf", "laplacian", "cosine", "chi2")

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        if self.name == "rbf":
            return rbf(X, Y, self.gamma)
        return pairwise_kernels(
            X,
            Y,
            metric=self.name,
            filter_params=True,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )

    def diag(self, X):
        """Self-similarities."""
        if self.name in ("rbf", "laplacian", "chi2"):
            return np.ones(len(X))
        inner = np.einsum("ij,ij->i", X, X)
        match self.name:
            case "linear":
                return inner
            case "cosine":
                return (inner > 0).astype(float)
            case "poly" | "polynomial":
                return (self.gamma * inner + self.coef0) ** self.degree
            case "sigmoid":
                return np.tanh(self.gamma * inner + self.coef0)
            case "additive_chi2":
                return np.zeros(len(X))
        raise AssertionError(self.name)


def resolve_gamma(gamma, X):
    """A number from "scale" (1/(d·Var X)), "auto" or None (1/d), or a positive number."""
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        return 1 / X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        # As in scikit-learn's SVC; constant data have no scale, and any value serves.
        variance = X.var()
        return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
    if isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} is not known; choose 'scale', 'auto' or a number.")
    return check_positive(gamma, "gamma")


class _FunctionKernel:
    """A plain function k(X, Y, **params)."""

    def __init__(self, function, params):
        self.function = function
        self.params = params
        self.requires_vector_input = takes_vectors(function)
        self.positive_definite = getattr(function, "positive_definite", False)

    def __call__(self, X, Y):
        return self.function(X, Y, **self.params)


def check_kernel_name(kernel):
    """A kernel's name as the tables spell it."""
    return check_choice(kernel, "kernel", (*KERNEL_NAMES, "precomputed", *MEASURES))


def is_precomputed(kernel):
    """Whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and kernel.lower() == "precomputed"


def takes_vectors(kernel):
    """Whether the kernel wants numeric rows; False if it takes objects as they are."""
    if isinstance(kernel, str):
        return check_kernel_name(kernel) not in MEASURES
    return getattr(kernel, "requires_vector_input", True)


def fit_kernel(kernel, X, y=None, *, gamma="scale", degree=3, coef0=1, kernel_params=None):
    """The kernel, ready for use on these training data; the given one is not touched."""
    if isinstance(kernel, Measure) or (isinstance(kernel, str) and not takes_vectors(kernel)):
        kernel = MeasureKernel(kernel)
    if isinstance(kernel, str):
        if kernel_params:
            raise ValueError(
                f"kernel_params belongs to a kernel that is a function; for kernel={kernel!r} use "
                "gamma=, degree= and coef0=."
            )
        check_positive(degree, "degree")
        check_real(coef0, "coef0")
        return NamedKernel(check_kernel_name(kernel), resolve_gamma(gamma, X), degree, coef0)
    if not callable(kernel) or isinstance(kernel, type):
        raise ValueError(
            f"kernel must be one of {', '.join(KERNEL_NAMES)}, 'precomputed', or a callable "
            f"k(X, Y) that returns a matrix; got {kernel!r}."
        )
    if not hasattr(kernel, "get_params"):
        if not hasattr(kernel, "fit"):
            if kernel_params or not hasattr(kernel, "diag"):
                return _FunctionKernel(kernel, dict(kernel_params or {}))
            return kernel
        return copy.deepcopy(kernel).fit(X, y)
    kernel = clone(kernel)
    return kernel.fit(X, y) if hasattr(kernel, "fit") else kernel


def is_stateless(kernel, gamma):
    """Whether the kernel is the same whatever objects it is fitted on."""
    if isinstance(kernel, str):
        name = check_kernel_name(kernel)
        if name in MEASURES:
            return MeasureKernel(name).stateless
        return gamma != "scale" or name in ("linear", "cosine", "additive_chi2")
    return not hasattr(kernel, "fit") or getattr(kernel, "stateless", False)


def kernel_matrix(kernel, X, Y):
    """k(X, Y) as a new float64 matrix, its shape and values checked."""
    K = np.asarray(kernel(X, Y))
    if K.shape != (len(X), len(Y)) or K.dtype.kind not in "iufb":
        raise ValueError(
            f"The kernel must return a real matrix of shape {(len(X), len(Y))}, a row for each "
            f"object of X and a column for each of Y; got {K.dtype} of shape {K.shape}. "
            "For a function of two single objects use mahalearn.MeasureKernel."
        )
    K = np.require(K, dtype=np.float64, requirements=["C", "W"])
    if not isinstance(kernel, NamedKernel):
        K = K.copy()  # it will be overwritten, and may be the kernel's own
    if not np.isfinite(K.sum()):
        raise ValueError("The kernel gave NaN or infinite values; check its inputs and scaling.")
    return K


def kernel_diagonal(kernel, X):
    """k(x, x) for each object."""
    if hasattr(kernel, "diag"):
        return np.asarray(kernel.diag(X), dtype=np.float64)
    step = 16  # a few rows at a time: blocks waste work, single calls waste time
    blocks = [X[i : i + step] for i in range(0, len(X), step)]
    return np.concatenate([np.diagonal(kernel_matrix(kernel, b, b)) for b in blocks])


def proximity_to_kernel(values, kind, gamma=1.0):
    """Kernel values from dissimilarities d ("neg_squared", "neg", "rbf") or similarities."""
    match check_choice(kind, "kind", PROXIMITY_KINDS):
        case "neg_squared":
            return -(values**2)
        case "neg":
            return -values
        case "rbf":
            return np.exp(-check_positive(gamma, "gamma") * values**2)
    return values


PROXIMITY_KINDS = ("similarity", "neg_squared", "neg", "rbf")


class MeasureKernel(BaseEstimator):
    """A kernel on objects from a measure of two of them.

    Parameters
    ----------
    measure : str, measure or callable
        A name ("hausdorff", "modified_hausdorff", "edit", "gower", "compression", "correlation"), a
        measure of :mod:`mahalearn.proximity` such as ``EditDistance(normalize="longer")``, whose
        parameters can be searched as ``kernel__measure__…``, or a function ``measure(a, b)`` that
        returns a number; a and b are two objects, whatever their type.
    kind : {"auto", "similarity", "neg_squared", "neg", "rbf"}, default="auto"
        What the measure is, and which kernel it becomes: a similarity s as it is, a dissimilarity d
        as −d², −d or exp(−gamma·d²). "auto": −d² for a dissimilarity by name or from
        :mod:`mahalearn.proximity`; a function is taken for a similarity.
    gamma : float, default=1.0
        For ``kind="rbf"``.
    symmetric : bool, default=True
        Of a function: whether measure(a, b) = measure(b, a); then a Gram matrix costs half. The
        other measures know.
    symmetrize : {"mean", "min", "max", None}, default="mean"
        What becomes of the two directions of a measure that is not symmetric.

    Attributes
    ----------
    measure_ : Measure
        The measure, fitted on the training objects where it has something to learn.

    Examples
    --------
    >>> from mahalearn import KernelQuadraticDiscriminant, MeasureKernel
    >>> words = ["ape", "apple", "apply", "oak", "soak", "oat"]
    >>> letter = ["a", "a", "a", "o", "o", "o"]
    >>> model = KernelQuadraticDiscriminant(reg=1, kernel=MeasureKernel("edit"))
    >>> model.fit(words, letter).predict(["ample", "cloak"]).tolist()
    ['a', 'o']

    A function of two objects:

    >>> def common_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> words = ["ape", "apple", "pear", "oak", "elk", "look"]
    >>> fruit = [1, 1, 1, 0, 0, 0]
    >>> model = KernelQuadraticDiscriminant(kernel=MeasureKernel(common_letters)).fit(words, fruit)
    >>> model.predict(["peach", "yolk"]).tolist()
    [1, 0]
    """

    requires_vector_input = False

    @property
    def stateless(self):
        """Whether the measure learns nothing from the training objects."""
        return type(self._measure()).fit is Measure.fit

    @property
    def knows_self(self):
        """Whether an object and itself have another value than two equal objects."""
        return self._measure().knows_self

    def __init__(self, measure, kind="auto", gamma=1.0, symmetric=True, symmetrize="mean"):
        self.measure = measure
        self.kind = kind
        self.gamma = gamma
        self.symmetric = symmetric
        self.symmetrize = symmetrize

    def fit(self, X, y=None):
        """Fit the measure, where it learns from the training objects.

        Parameters
        ----------
        X : sequence of objects
            Training objects.
        y : None
            Ignored.

        Returns
        -------
        self : MeasureKernel
            The fitted kernel.
        """
        self.measure_ = clone(self._measure()).fit(X)
        return self

    def _measure(self):
        return as_measure(self.measure, symmetric=self.symmetric, dissimilarity=False)

    def _values(self, compute):
        measure = getattr(self, "measure_", None) or self._measure()
        kind = check_choice(self.kind, "kind", ("auto", *PROXIMITY_KINDS))
        if kind == "auto":
            kind = "neg_squared" if measure.dissimilarity else "similarity"
        return proximity_to_kernel(compute(measure), kind, self.gamma)

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        Y = None if Y is X else Y
        return self._values(lambda measure: measure.between(X, Y, self.symmetrize))

    def diag(self, X):
        """Self-similarities."""
        return self._values(lambda measure: measure.diagonal(X))
