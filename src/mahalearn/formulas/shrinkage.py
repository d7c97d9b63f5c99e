"""Shrinkage of class covariances: towards σ²I by a given amount, or by Ledoit and Wolf.

Covariances are (c, d, d), their diagonals (c, d), or :class:`.row_covariances.RowCovariances`.
"""

import numpy as np

from .linalg import row_sq_norms
from .moments import covariance_diagonal

_EPS = np.finfo(np.float64).eps


def shrunk_covariances(covariances, shrinkage):
    """(1 − s)Σ + s·(tr Σ/d)·I."""
    variances = variances_of(covariances)
    target = shrinkage * variances.mean(axis=-1, keepdims=True)
    return _towards(covariances, np.full(len(variances), shrinkage), target + 0 * variances)


def ledoit_wolf_covariances(covariances, rows):
    """Ledoit–Wolf estimates on standardised features, in the features' own units.

    With the class's variances V and correlations R this is (1 − ρ)R + ρμI, μ = tr R/d, between
    V^{1/2} and V^{1/2}: (1 − ρ)Σ + ρμV. rows: an iterable of the rows (n_j, d) of each class,
    centred, which are overwritten. A class with one object has no estimate: zeros, as its
    covariance has; so have its constant features.
    """
    variances = variances_of(covariances)
    rho, mu = np.zeros(len(variances)), np.zeros(len(variances))
    for j, Z in enumerate(rows):
        if len(Z) > 1:
            deviation = np.sqrt(variances[j])
            Z /= np.where(deviation > 0, deviation, 1.0)
            rho[j], mu[j] = ledoit_wolf_intensity(Z)
    return _towards(covariances, rho, (rho * mu)[:, None] * variances)


def ledoit_wolf_intensity(Z):
    """ρ from 0 to 1, and μ = tr S/d, of the estimate (1 − ρ)S + ρμI for centred rows Z (n, d).

    O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices
    (2004), Lemma 3.2–3.4: ρ = b²/d² with d² = |S − μI|² and b² the smaller of d² and
    Σ_i |z_i z_iᵀ − S|²/n², norms divided by the number of features. Both come from the smaller of
    the Gram matrices ZZᵀ and ZᵀZ. Two rows, of which one is minus the other, have b² = 0.
    """
    n, d = Z.shape
    sq_norms = row_sq_norms(Z)
    G = Z @ Z.T if n <= d else Z.T @ Z
    mu = sq_norms.sum() / n / d
    S2 = np.einsum("ij,ij->", G, G) / n**2  # |S|²
    fourth = (sq_norms**2).sum() / n
    b2 = (fourth - S2) / n
    if d == 1 or b2 <= 16 * n * _EPS * fourth:
        return 0.0, mu
    d2 = S2 - d * mu**2
    return (1.0 if b2 >= d2 else b2 / d2), mu


def variances_of(covariances):
    """Variances (c, d) of covariances of any form."""
    if hasattr(covariances, "variances"):
        return covariances.variances()
    return covariances if covariances.ndim == 2 else covariance_diagonal(covariances)


def _towards(covariances, amounts, diagonal):
    """(1 − s_j)Σ_j + diag(t_j): amounts s (c,), diagonal t (c, d)."""
    if hasattr(covariances, "weighted"):
        return covariances.weighted(1 - amounts, diagonal)
    if covariances.ndim == 2:
        return (1 - amounts)[:, None] * covariances + diagonal
    out = (1 - amounts)[:, None, None] * covariances
    for S, t in zip(out, diagonal):
        S.flat[:: len(t) + 1] += t
    return out
