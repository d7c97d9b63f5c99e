"""Distances of symmetric positive definite matrices, such as covariances."""

from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.distance import cdist

from .._validation import SYMMETRY_RTOL, check_choice
from ..formulas.linalg import rank_tolerance
from ._objects import named, number_arrays
from .base import Measure

Metric = Literal["log_euclidean", "affine_invariant"]


class SPDDistance(Measure):
    """Distance of symmetric positive definite matrices.

    "log_euclidean": ‖log A − log B‖_F [1]_, Euclidean, and as cheap as vectors once the logarithms
    are known. "affine_invariant": ‖log(A^{-1/2} B A^{-1/2})‖_F [2]_, the same for W A Wᵀ and W B Wᵀ
    with any invertible W; an eigenvalue problem for each pair.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    metric : {"log_euclidean", "affine_invariant"}, default="log_euclidean"
        The distance.

    See Also
    --------
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] V. Arsigny, P. Fillard, X. Pennec and N. Ayache, Log-Euclidean metrics for fast and
       simple calculus on diffusion tensors, Magnetic Resonance in Medicine 56, 2006.
    .. [2] X. Pennec, P. Fillard and N. Ayache, A Riemannian framework for tensor computing,
       International Journal of Computer Vision 66, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.measures import SPDDistance
    >>> A, B = np.diag([1.0, 1.0]), np.diag([np.e**3, np.e**4])
    >>> round(SPDDistance()(A, B), 12), round(SPDDistance("affine_invariant")(A, B), 12)
    (5.0, 5.0)
    """

    block_size = 64

    def __init__(self, metric: Metric = "log_euclidean") -> None:
        self.metric = metric

    def _prepared(self, X, rows=None):
        metric = check_choice(self.metric, "metric", get_args(Metric))
        matrices = number_arrays(X, 2, "a square matrix of numbers", rows is not None)
        size = len(matrices[0]) if rows is None else rows.shape[1]
        for name, A in named(matrices, rows is not None):
            _check_spd(A, size, name)
        M = np.array(matrices)
        M = (M + M.transpose(0, 2, 1)) / 2
        if metric == "affine_invariant":
            return M
        values, U = np.linalg.eigh(M)
        return (U * np.log(values)[:, None, :]) @ U.transpose(0, 2, 1)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        if self.metric == "log_euclidean":
            return cdist(*(M.reshape(len(M), -1) for M in (P, Q)))
        same = Q is P
        values = np.zeros((len(P), len(Q)))
        for i, A in enumerate(P):
            first = i + 1 if same else 0
            # A = LLᵀ: the eigenvalues of A⁻¹B are those of L⁻¹BL⁻ᵀ.
            L = np.linalg.inv(np.linalg.cholesky(A))
            roots = np.linalg.eigvalsh(L @ Q[first:] @ L.T)
            values[i, first:] = np.sqrt((np.log(roots) ** 2).sum(axis=1))
        return values + values.T if same else values


def _check_spd(A, size, name):
    """Refuse a matrix that is not symmetric positive definite, or not of this size."""
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got an array of shape {A.shape}.")
    if len(A) != size:
        raise ValueError(f"{name} is {len(A)} × {len(A)}, the first {size} × {size}.")
    if np.abs(A - A.T).max() > SYMMETRY_RTOL * np.abs(A).max():
        raise ValueError(f"{name} is not symmetric.")
    values = np.linalg.eigvalsh((A + A.T) / 2)
    if values[0] <= rank_tolerance(np.abs(values).max(), size):
        raise ValueError(
            f"{name} is not positive definite: its smallest eigenvalue is {values[0]:.3g}, its "
            f"largest {values[-1]:.3g}. Covariances from few observations need shrinkage, such "
            "as sklearn.covariance.ledoit_wolf, or a small multiple of the identity."
        )
