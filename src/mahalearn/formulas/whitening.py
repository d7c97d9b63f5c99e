"""Whitening by the covariance of a set of data, for the Mahalanobis kernel (B (1)–(4), (8)).

The covariance Q of the M rows of X has one mean, whatever classes they belong to, and the divisor M
(B (2)). The rank rule: a column that is constant counts for nothing, and so does a direction in
which the standardised columns do not vary. Rank is judged on standardised columns because only then
it does not depend on their units. Where directions are missing, Q⁻¹ stands for a generalised
inverse of Q; between the rows of X every such inverse gives the same distances.
"""

from typing import NamedTuple

import numpy as np

from .linalg import eigh, rank_tolerance, zero_negligible


class Whitening(NamedTuple):
    """The map x → (x − c)W, after which d² = (x − x')ᵀQ⁻¹(x − x') is Euclidean.

    center : (m,) the mean c
    matrix : (m, r) W with WWᵀ = Q⁻¹, or (m,) its diagonal
    rank : number of directions in which the data vary
    mean_sq : mean of d² between the data and c: m of B (4); the rank if some directions are
        missing, tr(Q_s⁻¹Q) if Q_s is shrunk, 1 if nothing varies (then every d is 0)
    """

    center: np.ndarray
    matrix: np.ndarray
    rank: int
    mean_sq: float

    def apply(self, X):
        """Whitened rows."""
        centred = X - self.center
        return centred * self.matrix if self.matrix.ndim == 1 else centred @ self.matrix


def whitening(X, *, full=False, shrinkage=0.0, weights=None):
    """The whitening of the rows of X (M, m) by their diagonal or full covariance.

    A full covariance is shrunk towards its own diagonal, Q_s = (1 − s)Q + s·diag(Q): s = 1 is the
    diagonal kernel, and no s spoils the independence of units. weights (M,): of the rows, positive;
    a whole number counts a row as often.
    """
    center, deviation = _means_and_deviations(X, weights)
    varying = np.flatnonzero(deviation)
    scales = np.zeros_like(deviation)
    scales[varying] = 1 / deviation[varying]
    if not full or len(varying) == 0:
        return Whitening(center, scales, len(varying), float(len(varying) or 1))
    Z = (X[:, varying] - center[varying]) * scales[varying]
    if weights is not None:
        Z *= np.sqrt(weights / weights.mean())[:, None]
    values, U = _correlation_spectrum(Z, thin=shrinkage == 0)
    shrunk = zero_negligible((1 - shrinkage) * values + shrinkage)
    positive = shrunk > 0
    rank = int((values > 0).sum())
    values, U, shrunk = values[positive], U[:, positive], shrunk[positive]
    matrix = np.zeros((X.shape[1], len(shrunk)))
    matrix[varying] = scales[varying, None] * U / np.sqrt(shrunk)
    return Whitening(center, matrix, rank, float((values / shrunk).sum()))


def _means_and_deviations(X, weights):
    """Means and standard deviations (divisor M) of the columns, exactly 0 for a constant column.

    A column is constant if its deviation is within the rank tolerance of its largest absolute
    value: that is what rounding leaves of equal numbers.
    """
    size = np.abs(X).max(axis=0)
    size[size == 0] = 1.0
    Z = X / size  # so that no square overflows or vanishes, whatever the units
    mean = np.average(Z, axis=0, weights=weights)
    deviation = np.sqrt(np.average((Z - mean) ** 2, axis=0, weights=weights))
    constant = deviation <= rank_tolerance(1.0, len(X))
    constant |= deviation * size < np.finfo(np.float64).tiny  # its reciprocal would overflow
    return mean * size, np.where(constant, 0.0, deviation * size)


def _correlation_spectrum(Z, *, thin):
    """Spectrum of ZᵀZ/M for standardised Z (M, m).

    thin: where M < m, take it from the smaller ZZᵀ/M, without the null space.
    """
    n_rows, n_columns = Z.shape
    if not thin or n_rows >= n_columns:
        return eigh(Z.T @ Z / n_rows)
    values, V = eigh(Z @ Z.T / n_rows)
    positive = values > 0
    return values[positive], Z.T @ (V[:, positive] / np.sqrt(n_rows * values[positive]))
