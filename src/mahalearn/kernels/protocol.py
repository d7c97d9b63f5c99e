"""Kernels by name, and how an estimator gets a kernel ready for its training data.

`base_kernel.py` says what a kernel is.
"""

import copy

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import kernel_metrics, manhattan_distances, pairwise_kernels

from .._memory import row_chunks
from .._sparse import (
    SparseRows,
    as_dense,
    as_matrix,
    column_moments,
    inner_products,
    is_sparse,
    sq_norms,
)
from .._validation import check_choice, check_positive, check_real, is_word
from ..formulas.class_metrics import unit_rows
from ..measures.base import Measure
from ..measures.table import GROUPS, MEASURES
from .base_kernel import BaseKernel, UserKernel
from .measure import MeasureKernel

# --- kernels by name ------------------------------------------------------------------------------

KERNEL_NAMES = tuple(sorted(kernel_metrics()))
WITH_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")
POLYNOMIAL = ("poly", "polynomial")
# What of two vectors a kernel is a function of: kernels that share it share its matrix.
_PAIR_VALUES = {
    "rbf": "squared distance",
    "laplacian": "city-block distance",
    **dict.fromkeys(("linear", "poly", "polynomial", "sigmoid"), "inner product"),
}


# Up to so many rows differences are cheaper than a product, whose median alone takes longer.
FEW_ROWS = 16


def sq_euclidean(X, Y, out=None):
    """‖x − y‖² of all pairs in one matrix product; out: memory for them, in Fortran order.

    The rows are taken relative to the median of Y, so that neither a common offset nor a few far
    rows cost digits. Of two sets in Fortran order, as `NamedKernel.pair_values`.
    """
    if len(X) <= FEW_ROWS and X is not Y:
        return cdist(Y, X, "sqeuclidean", out=None if out is None else out.T).T
    same, centre = X is Y, np.median(Y, axis=0)
    X, Y = X - centre, Y - centre
    x2, y2 = (np.einsum("ij,ij->i", A, A) for A in (X, Y))
    ones = np.ones
    A, B = np.column_stack([-2 * X, x2, ones(len(X))]), np.vstack([Y.T, ones(len(Y)), y2])
    D = A @ B if same else _product(A, B, out)
    np.maximum(D, 0, out=D)
    if same:
        np.fill_diagonal(D, 0.0)
    return D


def _product(A, B, out):
    """AB in Fortran order."""
    return np.matmul(B.T, A.T, out=None if out is None else out.T).T


def unit_length(X):
    """Rows, sparse ones or an array, divided by their lengths; zeros stay."""
    return X.normalized() if is_sparse(X) else unit_rows(X)


class NamedKernel(BaseKernel):
    """A kernel of scikit-learn by name, its parameters resolved on the training data.

    center, scale: subtracted from the columns, and their divisors, before anything else; None
    leaves them as they are.
    """

    # A new matrix for every call, symmetric for X with itself.
    returns_new = True
    symmetric = True

    def __init__(self, name, gamma=None, degree=3, coef0=1, center=None, scale=None):
        self.name = name
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.scale = scale

    @property
    def positive_definite(self):
        """Every Gram matrix of this kernel is positive semidefinite."""
        if self.name in POLYNOMIAL:
            return self.coef0 >= 0 and self.gamma > 0 and float(self.degree).is_integer()
        return self.name in ("linear", "rbf", "laplacian", "cosine", "chi2")

    @property
    def has_unit_scale(self):
        """Self-similarities are 1."""
        return self.name in ("rbf", "laplacian", "cosine", "chi2")

    @property
    def rbf_gamma(self):
        """γ of an RBF kernel, None for the others."""
        return self.gamma if self.name == "rbf" else None

    @property
    def pair_key(self):
        """Kernels with the same key (not None) are functions of the same `pair_values`."""
        return _PAIR_VALUES.get(self.name)

    def pair_values(self, X, Y, out=None):
        """Values of all pairs that the kernel is a function of; out: memory, in Fortran order.

        Of two sets in Fortran order: the values of one object of Y, and so those of a class, stand
        together, and what follows works on the classes one by one.
        """
        rows = unit_length if self.name == "cosine" else self.standardized
        X, Y = (rows(X),) * 2 if X is Y else map(rows, (X, Y))
        if is_sparse(X) or is_sparse(Y):
            return self._sparse_pair_values(X, Y, out)
        match self.pair_key or self.name:
            case "squared distance":
                return sq_euclidean(X, Y, out)
            case "city-block distance":
                if X is Y:
                    return cdist(X, Y, "cityblock")
                return cdist(Y, X, "cityblock", out=None if out is None else out.T).T
            case "inner product" | "cosine":
                return X @ Y.T if X is Y else _product(X, Y.T, out)
        return pairwise_kernels(X, Y, metric=self.name, filter_params=True, gamma=self.gamma)

    def _sparse_pair_values(self, X, Y, out=None):
        """The same where X or Y is sparse: dense are blocks of the result alone."""
        if out is None:
            out = np.empty((len(X), len(Y)), order="C" if X is Y else "F")
        x2, y2 = sq_norms(X), sq_norms(Y)
        for rows in row_chunks(len(X), 4 * len(Y)):
            if self.pair_key == "city-block distance":
                out[rows] = manhattan_distances(*(csr_array(as_matrix(A)) for A in (X[rows], Y)))
                continue
            block = inner_products(X[rows], Y)
            if self.pair_key == "squared distance":
                block *= -2
                block += x2[rows, None] + y2
                np.maximum(block, 0, out=block)
            out[rows] = block
        if X is Y and self.pair_key == "squared distance":
            np.fill_diagonal(out, 0.0)
        return out

    def from_pairs(self, values, overwrite=False):
        """Kernel values from `pair_values`."""
        return self.fill(values if overwrite else np.empty_like(values), values)

    def fill(self, out, values):
        """The same, written into `out`, which may be the `pair_values` themselves."""
        if self.name in ("rbf", "laplacian"):
            np.multiply(values, -self.gamma, out=out)
            return np.exp(out, out=out)
        if out is not values:
            np.copyto(out, values)
        match self.name:
            case "poly" | "polynomial":
                out *= self.gamma
                out += self.coef0
                out **= self.degree
            case "sigmoid":
                out *= self.gamma
                out += self.coef0
                np.tanh(out, out=out)
        return out

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        return self.from_pairs(self.pair_values(X, Y), overwrite=True)

    def diag(self, X):
        """Self-similarities."""
        if self.name in ("rbf", "laplacian", "chi2"):
            return np.ones(len(X))
        if self.name == "cosine":
            return (sq_norms(unit_length(X)) > 0).astype(float)
        inner = sq_norms(self.standardized(X))
        if self.name == "additive_chi2":
            return np.zeros(len(X))
        return self.from_pairs(inner, overwrite=True)

    def standardized(self, X):
        """The rows as the kernel sees them."""
        if self.scale is None:
            return X
        # Sparse training rows have no center: their kernels depend on differences alone.
        return X / self.scale if self.center is None else (as_dense(X) - self.center) / self.scale


# Kernels whose values depend on the units of the columns, and which take any real numbers.
STANDARDIZED = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid")
# Kernels of differences of rows, which no centring of the columns changes.
TRANSLATION_INVARIANT = ("rbf", "laplacian")
# Kernels that take sparse rows; of the others scikit-learn has no sparse form.
SPARSE = (*TRANSLATION_INVARIANT, "linear", "poly", "polynomial", "sigmoid", "cosine")
# Columns whose standard deviations differ by more than this factor are in different units.
UNITS_DIFFER = 10.0


def standardizes(standardize, name, X):
    """`standardize` for the rows of X: True, False, or a pair (center, scale) of column values.

    "auto" leaves sparse rows as they are: a rare word is not to weigh more than a frequent one.
    They are never centred, which kernels of differences do not notice.

    "auto": where their standard deviations differ by more than a factor of ten, constant columns
    aside (docs/benchmarks_defaults.md has what was measured).
    """
    if isinstance(standardize, (tuple, list)):
        return _check_scales(standardize, X.shape[1]) if name in STANDARDIZED else False
    standardize = check_choice(standardize, "standardize", ("auto", True, False))
    if name not in STANDARDIZED or standardize is False:
        return False
    if is_sparse(X):
        if standardize is True and name not in TRANSLATION_INVARIANT:
            raise ValueError(
                f"standardize=True would centre sparse rows for kernel={name!r}, and so make them "
                "dense. Use standardize=False, or scale the columns before, as TfidfVectorizer and "
                "MaxAbsScaler do."
            )
        return standardize is True
    if standardize is True:
        return True
    _, spread = column_scales(X, constant=np.nan)
    varying = spread[np.isfinite(spread)]
    return bool(len(varying) and varying.max() > UNITS_DIFFER * varying.min())


def _check_scales(pair, n_columns):
    """Centers and scales of the columns, as arrays."""
    arrays = [np.asarray(values, dtype=float) for values in pair]
    fits = len(arrays) == 2 and all(a.shape == (n_columns,) for a in arrays)
    if not fits or not np.isfinite(arrays).all() or not (arrays[1] > 0).all():
        raise ValueError(
            f"standardize must be 'auto', True, False or a pair (center, scale) of {n_columns} "
            "numbers each, the scales positive."
        )
    return tuple(arrays)


def fit_named_kernel(name, X, *, gamma="scale", degree=3, coef0=1, standardize=False):
    """The kernel of a name, its scales resolved on the rows of X."""
    check_positive(degree, "degree")
    check_real(coef0, "coef0")
    center, scale = None, None
    if standardize is True:
        center, scale = column_scales(X)
    elif standardize:
        center, scale = standardize
    if is_sparse(X):
        if center is not None and name not in TRANSLATION_INVARIANT and np.any(center):
            raise ValueError(f"Sparse rows are not centred for kernel={name!r}: centers must be 0.")
        center = None
    kernel = NamedKernel(name, None, degree, coef0, center, scale)
    gamma = resolve_gamma(gamma, _standardized_sample(kernel, X))
    if gamma in (0, np.inf) and name in (*WITH_GAMMA, "linear"):
        raise ValueError(
            f"The data reach {abs(as_matrix(X)).max():.1g}, and their variance is too "
            f"{'small' if gamma else 'large'} to compute with. Divide the columns by their scale, "
            "or standardise them."
        )
    kernel.gamma = gamma
    return kernel


def two_rows(mean, variance, *, sparse):
    """Two rows whose columns have this mean and variance, sparse ones if asked for.

    So the variance of all entries together is that of the table, too: what kernels by name learn
    from data (gamma="scale", standardize) they learn from these two.
    """
    rows = np.vstack([mean + np.sqrt(variance), mean - np.sqrt(variance)])
    return SparseRows(csr_array(rows)) if sparse else rows


def common_self_similarity(diagonal, n):
    """k(x, x) of n objects, of which only rows are known: None unless one constant serves all.

    diagonal: self-similarities of other objects; those of −d² and of an RBF kernel are constant.
    """
    if np.ptp(diagonal) <= 1e-10 * np.abs(diagonal).max():
        return np.full(n, float(diagonal[0]))
    return None


def _standardized_sample(kernel, X):
    """The rows as the kernel sees them, or two with their variance: sparse ones are not centred."""
    if kernel.scale is None or not is_sparse(X):
        return kernel.standardized(X)
    spread = np.sqrt(column_moments(X)[1]) / kernel.scale
    return np.vstack([spread, -spread])


def column_scales(X, constant=1.0):
    """Mean and standard deviation of the columns; `constant` where one varies by rounding only."""
    if is_sparse(X):
        mean, variance = column_moments(X)
        spread = np.sqrt(variance)
        return mean, np.where(spread <= 1e-12 * np.abs(mean), constant, spread)
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    Z = X / largest  # so that squares neither overflow nor vanish
    spread = Z.std(axis=0)
    return Z.mean(axis=0) * largest, np.where(spread <= 1e-12, constant, spread * largest)


def resolve_gamma(gamma, X):
    """A number from "scale" (1/(d·Var X)), "auto" or None (1/d), or a positive number."""
    if gamma is None or is_word(gamma, "auto"):
        return 1 / X.shape[1]
    if is_word(gamma, "scale"):
        # As in scikit-learn's SVC.
        with np.errstate(over="ignore"):  # a γ of 0 or ∞ is refused where a kernel has one
            variance = X.var()
        if variance > 1e-300:
            return float(1 / (X.shape[1] * variance))
        # Constant data have no scale, and any value serves; of others the variance is lost.
        rows = as_matrix(X)
        return np.inf if rows.max() > rows.min() else 1.0
    return check_positive(gamma, "gamma, unless it is 'scale' or 'auto',")


# --- kernels of any kind --------------------------------------------------------------------------


def name_of(kernel):
    """The name of a kernel, checked; None for a function or an object."""
    names = *KERNEL_NAMES, "precomputed", *MEASURES, *GROUPS
    return check_choice(kernel, "kernel", names) if isinstance(kernel, str) else None


def is_precomputed(kernel):
    """True where X is the kernel matrix itself."""
    return name_of(kernel) == "precomputed"


def takes_vectors(kernel):
    """True for a kernel of numeric rows, False for one that takes objects as they are."""
    name = name_of(kernel)
    if name is None:
        return getattr(kernel, "requires_vector_input", True)
    return name not in (*MEASURES, *GROUPS)


def takes_sparse(kernel):
    """True for a kernel of sparse rows."""
    return isinstance(kernel, str) and kernel in SPARSE


def check_kernel_list(kernels):
    """The list of kernels that a search compares; one name, a dict or nothing is refused."""
    if isinstance(kernels, str):
        raise ValueError(
            f"kernels must be a list of kernels; got {kernels!r}. One kernel is kernel={kernels!r}."
        )
    if isinstance(kernels, dict):
        raise ValueError(
            "kernels must be a list of kernels; got a dict. Pass list(kernels.values())."
        )
    kernels = list(kernels)
    if not kernels:
        raise ValueError("kernels must be a list of kernels; it is empty. Name at least one.")
    return kernels


def is_named(kernel):
    """True for one of scikit-learn's kernels by name."""
    return name_of(kernel) in KERNEL_NAMES


def as_kernel(kernel):
    """A kernel that is not a name of scikit-learn's, as an unfitted object that may be changed."""
    if isinstance(kernel, (Measure, str)):
        kernel = MeasureKernel(kernel)
    if not callable(kernel) or isinstance(kernel, type):
        raise ValueError(
            f"kernel must be one of {', '.join(KERNEL_NAMES)}, 'precomputed', or a callable "
            f"k(X, Y) that returns a matrix; got {kernel!r}."
        )
    if isinstance(kernel, UserKernel):
        kernel = kernel.function
    if hasattr(kernel, "get_params"):
        kernel = clone(kernel)
    elif isinstance(kernel, BaseKernel):  # by name and fitted: estimators may share it
        return kernel
    elif hasattr(kernel, "fit"):
        kernel = copy.deepcopy(kernel)
    return kernel if isinstance(kernel, BaseKernel) else UserKernel(kernel)


def kernel_settings(estimator, X):
    """Arguments of `fit_kernel` that an estimator has for training objects X beside its kernel."""
    if not is_named(estimator.kernel):
        return {}
    return {
        "gamma": estimator.gamma,
        "degree": estimator.degree,
        "coef0": estimator.coef0,
        "standardize": standardizes(estimator.standardize, estimator.kernel, X),
    }


def fit_kernel(kernel, X, y=None, **named):
    """The kernel, ready for use on these training data; the one passed is not touched.

    named: gamma, degree, coef0 and standardize of a kernel by name.
    """
    return fit_named_kernel(kernel, X, **named) if is_named(kernel) else as_kernel(kernel).fit(X, y)


def fit_kernel_and_gram(kernel, X, y=None, **named):
    """The fitted kernel and its Gram matrix, None where fitting does not compute it."""
    if is_named(kernel):
        return fit_kernel(kernel, X, **named), None
    kernel = as_kernel(kernel)
    return kernel, kernel.fit_gram(X, y)


def is_stateless(kernel):
    """True for a kernel, not a name, that is the same whatever objects it is fitted on."""
    return as_kernel(kernel).stateless


def kernel_matrix(kernel, X, Y):
    """k(X, Y) as a new float64 matrix, its shape and values checked."""
    if kernel.checked:
        return kernel(X, Y)
    K = np.asarray(kernel(X, Y))
    if K.shape != (len(X), len(Y)) or K.dtype.kind not in "iufb":
        raise ValueError(
            f"The kernel must return a real matrix of shape {(len(X), len(Y))}, a row for each "
            f"object of X and a column for each of Y; got {K.dtype} of shape {K.shape}. "
            "For a function of two single objects use mahalearn.MeasureKernel."
        )
    return check_kernel_values(K, new=kernel.returns_new, order="C" if X is Y else "A")


def check_kernel_values(K, new=False, order="C"):
    """Kernel values as a float64 matrix that may be overwritten; NaN and infinities are refused.

    order: "C", or "A" for either of the two.
    """
    K = np.asarray(K, dtype=np.float64, order=order)
    if not new or not K.flags.writeable:
        K = K.copy(order="A")  # it will be overwritten, and may be the kernel's own
    check_magnitude(K)
    return K


# Kernel values beyond this one overflow in their fourth powers.
LARGEST = 1e75


def check_magnitude(K):
    """Refuse kernel values that are not numbers, or too large to compute with."""
    if not K.size:
        return
    if K.flags.forc:  # one fast pass; a sum of squares bounds them all, unless one is no number
        flat = K.ravel(order="K")  # a view
        squares = flat @ flat if K.dtype == np.float64 else np.nan
        if squares <= LARGEST**2:
            return
    largest = max(K.max(), -K.min())
    if not np.isfinite(largest):
        raise ValueError("The kernel gave NaN or infinite values; check its inputs and scaling.")
    if largest > LARGEST:
        raise ValueError(
            f"The kernel values reach {largest:.1g}, too large to compute with (the limit is "
            f"{LARGEST:.0g}). Divide the data or the kernel by their scale, or standardise the "
            "columns."
        )


def kernel_diagonal(kernel, X):
    """k(x, x) for each object."""
    return np.asarray(kernel.diag(X), dtype=np.float64)
