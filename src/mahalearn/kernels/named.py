"""Kernels by name: those of scikit-learn, their parameters resolved on the training data."""

import numpy as np
from sklearn.metrics.pairwise import kernel_metrics, manhattan_distances, pairwise_kernels

from .._validation import check_choice, check_positive, check_real, spelt

KERNEL_NAMES = tuple(sorted(kernel_metrics()))
WITH_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")
POLYNOMIAL = ("poly", "polynomial")
# What of two vectors a kernel is a function of: kernels that share it share its matrix.
_PAIR_VALUES = {
    "rbf": "squared distance",
    "laplacian": "city-block distance",
    **dict.fromkeys(("linear", "poly", "polynomial", "sigmoid"), "inner product"),
}


def sq_euclidean(X, Y):
    """‖x − y‖² of all pairs in one matrix product.

    The rows are taken relative to the median of Y, so that neither a common offset nor a few far
    rows cost digits.
    """
    same, centre = X is Y, np.median(Y, axis=0)
    X, Y = X - centre, Y - centre
    x2, y2 = (np.einsum("ij,ij->i", A, A) for A in (X, Y))
    ones = np.ones
    D = np.column_stack([-2 * X, x2, ones(len(X))]) @ np.vstack([Y.T, ones(len(Y)), y2])
    np.maximum(D, 0, out=D)
    if same:
        np.fill_diagonal(D, 0.0)
    return D


class NamedKernel:
    """A kernel of scikit-learn by name, its parameters resolved on the training data.

    center, scale: what is subtracted from the columns and what they are divided by before anything
    else; None leaves them as they are.
    """

    requires_vector_input = True
    # A new matrix for every call, symmetric for X with itself.
    returns_new = True
    symmetric = True
    center = scale = None

    def __init__(self, name, gamma=None, degree=3, coef0=1, center=None, scale=None):
        self.name = name
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.scale = scale

    @property
    def positive_definite(self):
        """Whether every Gram matrix of this kernel is positive semidefinite."""
        if self.name in POLYNOMIAL:
            return self.coef0 >= 0 and self.gamma > 0 and float(self.degree).is_integer()
        return self.name in ("linear", "rbf", "laplacian", "cosine", "chi2")

    @property
    def pair_key(self):
        """Kernels with the same key (not None) are functions of the same `pair_values`."""
        return _PAIR_VALUES.get(self.name)

    def pair_values(self, X, Y):
        """What the kernel is a function of, for all pairs."""
        X, Y = (self.standardized(X),) * 2 if X is Y else map(self.standardized, (X, Y))
        match self.pair_key:
            case "squared distance":
                return sq_euclidean(X, Y)
            case "city-block distance":
                return manhattan_distances(X, Y)
            case "inner product":
                return X @ Y.T
        return pairwise_kernels(X, Y, metric=self.name, filter_params=True, gamma=self.gamma)

    def from_pairs(self, values, overwrite=False):
        """Kernel values from `pair_values`."""
        if self.name in ("rbf", "laplacian"):
            out = np.multiply(values, -self.gamma, out=values if overwrite else None)
            return np.exp(out, out=out)
        out = values if overwrite else values.copy()
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
        X = self.standardized(X)
        inner = np.einsum("ij,ij->i", X, X)
        if self.name == "cosine":
            return (inner > 0).astype(float)
        if self.name == "additive_chi2":
            return np.zeros(len(X))
        return self.from_pairs(inner, overwrite=True)

    def standardized(self, X):
        """The rows as the kernel sees them."""
        return X if self.scale is None else (X - self.center) / self.scale


# Kernels whose values depend on the units of the columns, and which take any real numbers.
STANDARDIZED = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid")
# Columns whose standard deviations differ by more than this factor are in different units.
UNITS_DIFFER = 10.0


def standardizes(standardize, name, X):
    """Whether the columns are standardised: True, False, or "auto" resolved on the rows of X.

    A pair (center, scale) of numbers for each column stays as it is.

    "auto": where their standard deviations differ by more than a factor of ten, constant columns
    aside (docs/kernels.md has what was measured).
    """
    if isinstance(standardize, (tuple, list)):
        return _check_scales(standardize, X.shape[1]) if name in STANDARDIZED else False
    standardize = check_choice(standardize, "standardize", ("auto", True, False))
    if name not in STANDARDIZED or standardize is False:
        return False
    if standardize is True:
        return True
    _, spread = column_scales(X, constant=np.nan)
    varying = spread[np.isfinite(spread)]
    return bool(len(varying) and varying.max() > UNITS_DIFFER * varying.min())


def _check_scales(pair, n_columns):
    """What is subtracted from the columns and what they are divided by, as arrays."""
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
    Z = X if scale is None else (X - center) / scale
    gamma = resolve_gamma(gamma, Z)
    if gamma == 0 and name in WITH_GAMMA:
        raise ValueError(
            f"The data reach {np.abs(X).max():.1g}, and their variance is too large to compute "
            "with. Divide the columns by their scale, or standardise them."
        )
    return NamedKernel(name, gamma, degree, coef0, center, scale)


def column_scales(X, constant=1.0):
    """Mean and standard deviation of the columns; `constant` where one varies by rounding only."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    Z = X / largest  # so that squares neither overflow nor vanish
    spread = Z.std(axis=0)
    return Z.mean(axis=0) * largest, np.where(spread <= 1e-12, constant, spread * largest)


def resolve_gamma(gamma, X):
    """A number from "scale" (1/(d·Var X)), "auto" or None (1/d), or a positive number."""
    gamma = spelt(gamma, "gamma", ("scale", "auto"))
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        return 1 / X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        # As in scikit-learn's SVC; constant data have no scale, and any value serves.
        with np.errstate(over="ignore"):  # a γ of 0 is refused where a kernel has one
            variance = X.var()
        # So have data whose variance is lost in floating point.
        return float(1 / (X.shape[1] * variance)) if variance > 1e-300 else 1.0
    if isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} is not known; choose 'scale', 'auto' or a number.")
    return check_positive(gamma, "gamma")
