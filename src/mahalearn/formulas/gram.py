"""Centring of Gram matrices, and what a spectrum tells.

Notation (C, Table I): K (n, n) Gram matrix of a set of objects, k (m, n) rows of queries against
them, kxx (m,) self-similarities of the queries. A tilde in the paper is "centred" here.
"""

from typing import NamedTuple

import numpy as np


class Centering(NamedTuple):
    """What centring needs to remember of K: 1ᵀK/n and 1ᵀK1/n²."""

    column_means: np.ndarray
    grand_mean: float


def centering(K):
    """The centring of the Gram matrix K."""
    means = K.mean(axis=0)
    return Centering(means, means.mean())


def center_gram(K, means, *, overwrite=False):
    """K̃ = HKH."""
    K = K if overwrite else K.copy()
    K -= means.column_means
    K -= (means.column_means - means.grand_mean)[:, None]
    return K


def center_cross(k, means, *, overwrite=False):
    """k̃_x = H(k_x − K1/n), a row for each query (C (2))."""
    k = k if overwrite else k.copy()
    k -= means.column_means
    k -= k.mean(axis=1, keepdims=True)
    return k


def center_self(kxx, k, means):
    """k̃_xx = k_xx − (2/n)1ᵀk_x + 1ᵀK1/n² (C (3)); k are the queries' rows before centring."""
    return kxx - 2 * k.mean(axis=1) + means.grand_mean


def fundamental_symmetry(values):
    """Diagonal of J: −1 where an eigenvalue is negative, +1 elsewhere (0 counts as positive)."""
    return np.where(values < 0, -1.0, 1.0)


def signature(values):
    """Numbers (p, q) of positive and of negative eigenvalues."""
    return int((values > 0).sum()), int((values < 0).sum())


def negative_fraction(values):
    """r_neg = Σ_{λ<0}|λ| / Σ|λ|; 0 for the zero matrix."""
    total = np.abs(values).sum()
    return float(np.abs(values[values < 0]).sum() / total) if total else 0.0


def mean_distance_sq(K, a, b):
    """Squared distance between the means of the objects a and b; negative in some Kreĭn spaces."""
    cross = K[np.ix_(a, b)].mean()
    return float(K[np.ix_(a, a)].mean() - 2 * cross + K[np.ix_(b, b)].mean())
