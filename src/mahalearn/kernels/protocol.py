"""What a kernel is, and how an estimator gets one ready for its training data.

A kernel is a scikit-learn kernel name, ``"precomputed"``, a measure of objects (its name, such as
``"edit"``, or the measure itself: the kernel is then MeasureKernel's −d²), or any callable
``k(X, Y)`` that returns the (len(X), len(Y)) matrix of kernel values. It may also have

- ``diag(X)``: the self-similarities k(x, x), without the matrix;
- ``fit(X, y=None)``: called on the training data of each fit, on a clone;
- ``fit_gram(X, y=None)``: the same, returning the Gram matrix of X, where fitting computes it;
- ``pair_key``, ``pair_values(X, Y)``, ``from_pairs(values)``: kernels with the same key are maps of
  the same matrix (distances, inner products), which a search computes once for all of them;
- ``get_params``/``set_params``: then ``kernel__name`` can be searched;
- ``requires_vector_input = False``: it takes objects (strings, sequences, sets of points, row
  numbers …), and what the user passes reaches it untouched. scikit-learn's Gaussian-process kernels
  use the same name. Its Gram matrix is computed once in a fit and kept until the fit is done;
- ``cheap = True``: it takes objects, but its values cost nothing and need not be kept;
- ``stateless = True``: its ``fit`` learns nothing, so that one matrix serves every fold of a
  cross-validation;
- ``knows_self = True``: k(x, x) may differ from k(x, x′) even if x equals x′;
- ``positive_definite = True``: known to be so; otherwise that is proven from the matrix;
- ``symmetric = True``: its Gram matrices are exactly symmetric; otherwise that is checked;
- ``returns_new = True``: every call returns a new matrix, which may be overwritten.
"""

import copy

import numpy as np
from sklearn.base import clone

from .._validation import check_choice
from ..measures.base import Measure
from ..measures.table import GROUPS, MEASURES
from .measure import MeasureKernel
from .named import KERNEL_NAMES, fit_named_kernel


class FunctionKernel:
    """A plain function k(X, Y, **params)."""

    def __init__(self, function, params):
        self.function = function
        self.params = params
        self.requires_vector_input = takes_vectors(function)
        self.positive_definite = getattr(function, "positive_definite", False)

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        return self.function(X, Y, **self.params)


def check_kernel_name(kernel):
    """A kernel's name as the tables spell it."""
    return check_choice(kernel, "kernel", (*KERNEL_NAMES, "precomputed", *MEASURES, *GROUPS))


def is_precomputed(kernel):
    """Whether X is the kernel matrix itself."""
    return isinstance(kernel, str) and check_kernel_name(kernel) == "precomputed"


def takes_vectors(kernel):
    """Whether the kernel wants numeric rows; False if it takes objects as they are."""
    if isinstance(kernel, str):
        return check_kernel_name(kernel) not in (*MEASURES, *GROUPS)
    return getattr(kernel, "requires_vector_input", True)


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
    """Whether the kernel is one of scikit-learn's, by name."""
    return isinstance(kernel, str) and check_kernel_name(kernel) in KERNEL_NAMES


def as_kernel(kernel, *, kernel_params=None):
    """The kernel as an unfitted object of its own, for one that is not a name of scikit-learn's."""
    if isinstance(kernel, (Measure, str)):
        kernel = MeasureKernel(kernel)
    if not callable(kernel) or isinstance(kernel, type):
        raise ValueError(
            f"kernel must be one of {', '.join(KERNEL_NAMES)}, 'precomputed', or a callable "
            f"k(X, Y) that returns a matrix; got {kernel!r}."
        )
    if hasattr(kernel, "get_params"):
        return clone(kernel)
    if hasattr(kernel, "fit"):
        return copy.deepcopy(kernel)
    if kernel_params or not hasattr(kernel, "diag"):
        return FunctionKernel(kernel, dict(kernel_params or {}))
    return kernel


def fit_kernel(
    kernel,
    X,
    y=None,
    *,
    gamma="scale",
    degree=3,
    coef0=1,
    kernel_params=None,
    standardize=False,
):
    """The kernel, ready for use on these training data; the one passed is not touched."""
    return fit_kernel_and_gram(
        kernel,
        X,
        y,
        gamma=gamma,
        degree=degree,
        coef0=coef0,
        kernel_params=kernel_params,
        standardize=standardize,
        gram=False,
    )[0]


def fit_kernel_and_gram(kernel, X, y=None, *, kernel_params=None, gram=True, **named):
    """The fitted kernel and its Gram matrix, None where fitting does not compute it.

    named: gamma, degree, coef0 and standardize of a kernel by name. gram: whether the matrix is
    wanted.
    """
    if is_named(kernel):
        if kernel_params:
            raise ValueError(
                f"kernel_params belongs to a kernel that is a function; for kernel={kernel!r} use "
                "gamma=, degree= and coef0=."
            )
        return fit_named_kernel(check_kernel_name(kernel), X, **named), None
    kernel = as_kernel(kernel, kernel_params=kernel_params)
    if gram and hasattr(kernel, "fit_gram"):
        return kernel, kernel.fit_gram(X, y)
    return (kernel.fit(X, y) if hasattr(kernel, "fit") else kernel), None


def is_stateless(kernel):
    """Whether a kernel that is not a name is the same whatever objects it is fitted on."""
    kernel = as_kernel(kernel)
    return not hasattr(kernel, "fit") or getattr(kernel, "stateless", False)


def kernel_matrix(kernel, X, Y):
    """k(X, Y) as a new float64 matrix, its shape and values checked."""
    if getattr(kernel, "checked", False):
        return kernel(X, Y)
    K = np.asarray(kernel(X, Y))
    if K.shape != (len(X), len(Y)) or K.dtype.kind not in "iufb":
        raise ValueError(
            f"The kernel must return a real matrix of shape {(len(X), len(Y))}, a row for each "
            f"object of X and a column for each of Y; got {K.dtype} of shape {K.shape}. "
            "For a function of two single objects use mahalearn.MeasureKernel."
        )
    return check_kernel_values(K, new=getattr(kernel, "returns_new", False))


def check_kernel_values(K, new=False):
    """Kernel values as a float64 matrix that may be overwritten; NaN and infinities are refused."""
    K = np.require(K, dtype=np.float64, requirements=["C", "W"])
    if not new:
        K = K.copy()  # it will be overwritten, and may be the kernel's own
    check_magnitude(K)
    return K


# Kernel values beyond this one overflow in their fourth powers.
LARGEST = 1e75


def check_magnitude(K):
    """Refuse kernel values that are not numbers, or too large to compute with."""
    if not K.size:
        return
    if K.flags.forc:  # one fast pass; a sum of squares bounds them all, unless one is no number
        squares = np.vdot(K, K) if K.dtype == np.float64 else np.nan
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
    if hasattr(kernel, "diag"):
        return np.asarray(kernel.diag(X), dtype=np.float64)
    step = 16  # a few rows at a time: blocks waste work, single calls waste time
    blocks = [X[i : i + step] for i in range(0, len(X), step)]
    return np.concatenate([np.diagonal(kernel_matrix(kernel, b, b)) for b in blocks])
