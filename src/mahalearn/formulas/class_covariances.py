"""Covariances of classes from their moments: units, divisors, shrinkage, fewer rows than features.

The divisor of a covariance is n_j, the class's own total weight (the maximum likelihood estimate),
and n for the pooled one: the pooled covariance is then the mean of the class covariances by the
share of each class, with sample weights as without. This is the only place that chooses it.

Covariances are arrays, full (k, d, d), diagonal (k, d) or spherical (k,), or RowCovariances.
"""

from typing import NamedTuple

import numpy as np

from .linalg import row_sq_norms
from .moments import Moments, symmetric

_EPS = np.finfo(np.float64).eps

# --- units of the columns -------------------------------------------------------------------------
#
# So that no square of a value overflows or vanishes. Within the usual range below, squares, their
# sums and their reciprocals are ordinary numbers, and a column keeps its unit, 1. Another column is
# measured in a power of two near its largest value. Scaling by powers of two is exact: results do
# not depend on whether it happened. Units are an array (d,).

_LOWEST, _HIGHEST = 2.0**-300, 2.0**300


def column_sizes(X, largest):
    """Sizes (d,) of the columns, as :func:`column_units` needs them, of X without NaN.

    `largest` is the largest absolute value in X. The size of a column is its own largest absolute
    value or, where that is in the usual range, any value of it that is: a few rows tell that.
    """
    sizes = np.abs(X[:: max(1, len(X) // 16)]).max(axis=0, initial=0.0)
    if largest <= _HIGHEST and sizes.min(initial=1.0) >= _LOWEST:
        return sizes
    return np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))


def column_units(sizes):
    """Powers of two for columns of these sizes (d,)."""
    usual = (sizes >= _LOWEST) & (sizes <= _HIGHEST) | (sizes == 0)
    if usual.all():
        return np.ones(sizes.shape)
    # Beside the largest double there is room for the reciprocals of deviations in these units.
    exponents = np.clip(np.frexp(sizes)[1], -900, 900)
    return np.where(usual, 1.0, np.ldexp(1.0, exponents))


def common_unit(sizes):
    """One unit for all columns, that of the largest: for models that compare variances."""
    return np.full(len(sizes), column_units(sizes.max(initial=0.0)))


def scaled(X, factors):
    """X (..., d) times factors (d,)."""
    return X if (factors == 1).all() else X * factors


def scaled_covariances(covariances, factors):
    """Covariances of columns multiplied by factors (d,); equal ones for spherical covariances."""
    if (factors == 1).all():
        return covariances
    if isinstance(covariances, RowCovariances):
        diagonal = (covariances.diagonal * factors) * factors
        return RowCovariances(diagonal, [L * factors for L in covariances.rows])
    if covariances.ndim == 3:
        return (covariances * factors[:, None]) * factors
    if covariances.ndim == 1:
        factors = factors[0]
    return (covariances * factors) * factors


# --- covariances ----------------------------------------------------------------------------------


class RowCovariances(NamedTuple):
    """k covariances of d features: Σ_j = diag(δ_j) + L_jᵀL_j, δ (k, d), k arrays L_j (n_j, d).

    With fewer rows than features they take O(nd) memory instead of O(kd²). Sample covariances have
    δ = 0; shrinkage adds a diagonal.
    """

    diagonal: np.ndarray
    rows: list

    def dense(self):
        """The covariances (k, d, d)."""
        out = np.empty((*self.diagonal.shape, self.diagonal.shape[1]))
        for S, L, delta in zip(out, self.rows, self.diagonal):
            np.matmul(L.T, L, out=S)
            S.flat[:: len(delta) + 1] += delta
        return out

    def weighted(self, factors, diagonal=0.0):
        """Σ_j times factors (k,), with a diagonal (k, d) added."""
        rows = [np.sqrt(f) * L for f, L in zip(factors, self.rows)]
        return RowCovariances(self.diagonal * factors[:, None] + diagonal, rows)


def row_moments(X, codes, n_classes, weights=None):
    """Moments of classes, each with at least one row, without scatters: these are RowCovariances.

    A constant column has deviations of exactly 0.
    """
    weights = np.ones(len(X)) if weights is None else weights
    count, mean, rows = np.bincount(codes, weights), np.empty((n_classes, X.shape[1])), []
    for j in range(n_classes):
        Y, w = X[codes == j], weights[codes == j]
        origin = Y[0].copy()
        Y -= origin
        step = w @ Y / count[j]
        Y -= step
        mean[j] = origin + step
        rows.append(np.sqrt(w)[:, None] * Y)
    return Moments(count, mean, RowCovariances(np.zeros_like(mean), rows))


def class_shares(moments):
    """The share of each class in the total weight: its prior probability, if none is given."""
    return moments.count / moments.count.sum()


def scatter_covariance(lower, n, total=None, share=0.0):
    """((1 − κ)W_j + κW)/n: of a scatter by its lower triangle, the total scatter and κ = share."""
    C = symmetric(lower)
    if share:
        C *= 1 - share
        C += share * total
    C /= n
    return C


def class_covariances(moments):
    """Covariances of the classes, divisor n_j, in the form of the scatters."""
    if isinstance(moments.lower, RowCovariances):
        return moments.lower.weighted(1 / moments.count)
    if moments.lower.ndim == 2:
        return moments.lower / moments.count[:, None]
    return np.stack([scatter_covariance(*pair) for pair in zip(moments.lower, moments.count)])


def variances_of(covariances):
    """Variances (k, d) of full or diagonal covariances, or of rows."""
    if isinstance(covariances, RowCovariances):
        return covariances.diagonal + [np.einsum("ij,ij->j", L, L) for L in covariances.rows]
    return covariances if covariances.ndim == 2 else np.diagonal(covariances, axis1=-2, axis2=-1)


def pooled_covariance(covariances, shares):
    """Within-class covariance, Σ_j P_j Σ_j, as the only one: (1, …)."""
    if isinstance(covariances, RowCovariances):
        parts = covariances.weighted(shares)
        return RowCovariances(parts.diagonal.sum(axis=0, keepdims=True), [np.vstack(parts.rows)])
    return np.tensordot(shares, covariances, axes=1)[None]


def total_covariance(pooled, means, shares):
    """Covariance of the mixture: the pooled one plus that of the class means around their mean.

    pooled is (d, d), (d,) or, for σ² of a spherical model, (1,).
    """
    deviations = means - shares @ means
    if pooled.ndim == 2:
        return pooled + (deviations.T * shares) @ deviations
    between = shares @ deviations**2
    return pooled + (between if len(pooled) == len(between) else between.mean())


def rescaled(moments, factors):
    """Moments of the columns multiplied by factors (d,)."""
    lower = scaled_covariances(moments.lower, factors)
    return moments._replace(mean=scaled(moments.mean, factors), lower=lower)


# --- shrinkage: towards σ²I by a given amount, or by Ledoit and Wolf ------------------------------


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


def _towards(covariances, amounts, diagonal):
    """(1 − s_j)Σ_j + diag(t_j): amounts s (c,), diagonal t (c, d)."""
    if isinstance(covariances, RowCovariances):
        return covariances.weighted(1 - amounts, diagonal)
    if covariances.ndim == 2:
        return (1 - amounts)[:, None] * covariances + diagonal
    out = (1 - amounts)[:, None, None] * covariances
    for S, t in zip(out, diagonal):
        S.flat[:: len(t) + 1] += t
    return out
