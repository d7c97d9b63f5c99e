"""Class covariances of fewer rows than features: kept as rows, never as d×d matrices.

Σ_j = diag(δ_j) + Y_jᵀ diag(s_j) Y_j with the centred rows Y_j of class j. Sample covariances have
δ = 0; shrinkage adds a diagonal and scales the rows. Memory is O(nd) instead of O(cd²).
"""

from typing import NamedTuple

import numpy as np

from .moments import Moments


class RowCovariances(NamedTuple):
    """k covariances of d features.

    rows : (n, d) centred rows, sorted by class
    scale : (n,) nonnegative factors of the rows' squares
    starts : k + 1 positions; rows starts[j] to starts[j + 1] belong to covariance j
    diagonal : (k, d) δ
    """

    rows: np.ndarray
    scale: np.ndarray
    starts: list
    diagonal: np.ndarray

    def factor(self, j):
        """L_j (n_j, d) with Σ_j = diag(δ_j) + L_jᵀL_j."""
        part = slice(self.starts[j], self.starts[j + 1])
        return np.sqrt(self.scale[part])[:, None] * self.rows[part]

    def variances(self):
        """Diagonals (k, d) of the covariances."""
        factors = (self.factor(j) for j in range(len(self.diagonal)))
        return self.diagonal + [np.einsum("ij,ij->j", L, L) for L in factors]

    def dense(self):
        """The covariances (k, d, d)."""
        k, d = self.diagonal.shape
        out = np.empty((k, d, d))
        for j in range(k):
            L = self.factor(j)
            np.matmul(L.T, L, out=out[j])
            out[j].flat[:: d + 1] += self.diagonal[j]
        return out

    def weighted(self, factors, diagonal=0.0):
        """Σ_j times factors (k,), with a diagonal (k, d) added."""
        counts = np.diff(self.starts)
        return self._replace(
            scale=self.scale * np.repeat(factors, counts),
            diagonal=self.diagonal * factors[:, None] + diagonal,
        )

    def pooled(self, shares):
        """Σ_j P_j Σ_j as the only covariance."""
        parts = self.weighted(shares)
        diagonal = parts.diagonal.sum(axis=0, keepdims=True)
        return parts._replace(starts=[0, len(self.rows)], diagonal=diagonal)

    def in_units(self, factors):
        """Covariances of the features multiplied by factors (d,)."""
        diagonal = (self.diagonal * factors) * factors
        return self._replace(rows=self.rows * factors, diagonal=diagonal)


def row_moments(X, codes, n_classes, weights=None):
    """Moments of classes, each with at least one row, whose scatters are RowCovariances.

    As in :func:`.moments.moments`, a constant column has deviations of exactly 0.
    """
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n_classes)
    starts = [0, *np.cumsum(counts).tolist()]
    rows = X[order]
    weights = np.ones(len(X)) if weights is None else weights[order]
    count, mean = np.zeros(n_classes), np.zeros((n_classes, X.shape[1]))
    for j in range(n_classes):
        part = slice(starts[j], starts[j + 1])
        Y, w = rows[part], weights[part]
        origin = Y[0].copy()
        Y -= origin
        count[j] = w.sum()
        step = w @ Y / count[j]
        Y -= step
        mean[j] = origin + step
    zeros = np.zeros((n_classes, X.shape[1]))
    return Moments(count, mean, RowCovariances(rows, weights, starts, zeros))


def dense_moments(moments):
    """The same moments with scatter matrices (c, d, d)."""
    return moments._replace(lower=moments.lower.dense())
