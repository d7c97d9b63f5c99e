"""A kernel that looks its values up in one matrix."""

from typing import Any, Self

import numpy as np

from .._typing import ArrayLike, Objects
from .._validation import (
    check_square,
    check_symmetric,
    is_negated_dissimilarity,
    refuse_dask,
    refuse_dask_query,
    without_mask,
)
from .base_kernel import BaseKernel


class PrecomputedKernel(BaseKernel):
    """A kernel on row numbers into one full kernel matrix.

    X holds row numbers (a list, a vector or a column). So every scikit-learn wrapper works with a
    kernel matrix, also those that slice rows only (calibration, stacking, nested searches). Copies
    and clones share the matrix.

    Read more in the :doc:`user guide </kernels>`.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric kernel (similarity) matrix of all objects, training and test.

    See Also
    --------
    ProximityKernel : From a distance matrix to a kernel matrix.
    MeasureKernel : Kernel of a function of two objects.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn import KernelQuadraticDiscriminant, PrecomputedKernel
    >>> x = np.array([0.0, 0.2, 0.4, 3.0, 4.0, 5.0])
    >>> K = PrecomputedKernel(-np.subtract.outer(x, x) ** 2)
    >>> model = KernelQuadraticDiscriminant(kernel=K).fit([0, 1, 3, 4], ["a", "a", "b", "b"])
    >>> model.predict([2, 5]).tolist()
    ['a', 'b']
    """

    requires_vector_input = False
    stateless = True
    cheap = True
    symmetric = True
    returns_new = True

    def __init__(self, K: ArrayLike) -> None:
        self.K = K

    @property
    def is_dissimilarity(self) -> bool:
        """The matrix is −d² or −d of dissimilarities d."""
        return is_negated_dissimilarity(np.asarray(self.K))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, in scikit-learn's manner."""
        return {"K": self.K}

    def set_params(self, **params: Any) -> Self:
        """Set the matrix."""
        if unknown := set(params) - {"K"}:
            raise ValueError(f"PrecomputedKernel has the parameter K only; got {sorted(unknown)}.")
        self.K = params.get("K", self.K)
        return self

    def __copy__(self):
        return type(self)(self.K)

    def __deepcopy__(self, memo):
        return type(self)(self.K)

    __sklearn_clone__ = __copy__

    def __repr__(self):
        return f"PrecomputedKernel(<matrix of shape {np.shape(self.K)}>)"

    def fit(self, X: Objects, y: Objects | None = None) -> Self:
        """Check the matrix; nothing is learned."""
        refuse_dask(self, self.K, X)
        self.K = np.asarray(without_mask(self.K))
        check_square(self.K, "PrecomputedKernel's matrix")
        if not np.isfinite(self.K.sum()):
            raise ValueError("PrecomputedKernel's matrix contains NaN or infinite values.")
        self.K = check_symmetric(self.K, "PrecomputedKernel's matrix")
        return self

    def _rows(self, X):
        refuse_dask_query(X, self.K)
        X = np.asarray(X)
        with np.errstate(invalid="ignore"):  # NaN is no whole number, which the next test sees
            rows = X.reshape(-1).astype(np.intp, copy=False) if X.dtype.kind in "iuf" else None
        n = len(self.K)
        if rows is None or X.size != len(X) or (rows != X.reshape(-1)).any():
            raise ValueError(
                "PrecomputedKernel takes row numbers into its matrix, a whole number for each "
                f"object; got {X.dtype} of shape {X.shape}."
            )
        if len(rows) and not 0 <= rows.min() <= rows.max() < n:
            raise ValueError(
                f"Row numbers must be from 0 to {n - 1} for a {n}×{n} matrix; got "
                f"{rows.min()} to {rows.max()}."
            )
        return rows

    def __call__(self, X: Objects, Y: Objects) -> np.ndarray:
        """The block of the matrix."""
        return np.asarray(self.K)[np.ix_(self._rows(X), self._rows(Y))]

    def diag(self, X: Objects) -> np.ndarray:
        """Self-similarities."""
        return np.asarray(self.K).diagonal()[self._rows(X)]


class CheckedKernel(PrecomputedKernel):
    """A matrix and positions that need no more checks: those of a search's folds.

    kernel: the one whose values the matrix holds, None where all that is known is the matrix.
    """

    checked = True
    is_dissimilarity = False

    def __init__(self, K, kernel=None):
        self.K = K
        self.positive_definite = kernel is not None and bool(kernel.positive_definite)
        self.is_dissimilarity = (
            is_negated_dissimilarity(K) if kernel is None else bool(kernel.is_dissimilarity)
        )

    def fit(self, X, y=None):
        """Nothing to check."""
        return self

    def __call__(self, X, Y):
        """The block of the matrix."""
        return self.K[X[:, None], Y]

    def diag(self, X):
        """Self-similarities."""
        return self.K.diagonal()[X]
