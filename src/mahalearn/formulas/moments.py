"""Counts, means and scatters of classes that merge; the only place that chooses a divisor.

The moments of a set of rows are its total weight n, its mean m and its scatter
S = Σ w (x − m)(x − m)ᵀ. Those of two sets give those of their union (Chan, Golub and LeVeque),

    m = m_a + (n_b/n) δ,   S = S_a + S_b + (n_a n_b/n) δδᵀ,   δ = m_b − m_a,

which is stable, because only differences of means are squared. All else here follows from them.

:func:`part_moments` and :func:`merge` are all that a stream or a cluster needs: moments of parts,
merged in any order, are those of all rows up to rounding, and a fixed order gives the same bits.

The divisor of a covariance is n_j, the class's own total weight (the maximum likelihood estimate),
and n for the pooled one: the pooled covariance is then the mean of the class covariances by the
share of each class, with sample weights as without.
"""

from typing import NamedTuple

import numpy as np

from .linalg import Workspace, row_sq_norms

# --- units of the columns -------------------------------------------------------------------------
#
# So that no square of a value overflows or vanishes. Within the usual range below, squares, their
# sums and their reciprocals are ordinary numbers, and a column keeps its unit, 1. Another column is
# measured in a power of two near its largest value. Scaling by powers of two is exact: results do
# not depend on whether it happened. Units are an array (d,), or None where all are 1.

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
    """Powers of two for columns of these sizes."""
    if sizes.min(initial=1.0) >= _LOWEST and sizes.max(initial=1.0) <= _HIGHEST:
        return None
    usual = (sizes >= _LOWEST) & (sizes <= _HIGHEST) | (sizes == 0)
    if usual.all():
        return None
    exponents = np.clip(np.frexp(sizes)[1], -1021, 1021)  # the reciprocals are finite too
    return np.where(usual, 1.0, np.ldexp(1.0, exponents))


def common_unit(sizes):
    """One unit for all columns, that of the largest: for models that compare variances."""
    unit = column_units(sizes.max(initial=0.0, keepdims=True))
    return None if unit is None else np.full(len(sizes), unit[0])


def ratio(a, b):
    """Units a in units b: what values are multiplied by to be stated in b instead of a."""
    if a is None and b is None:
        return None
    return (1.0 if a is None else a) / (1.0 if b is None else b)


def scaled(X, factors):
    """X (..., d) times factors (d,)."""
    return X if factors is None else X * factors


def scaled_covariances(covariances, factors):
    """Covariances of columns multiplied by factors (d,).

    They are full (c, d, d), diagonal (c, d), spherical (c,) with equal factors, or RowCovariances.
    """
    if factors is None:
        return covariances
    if hasattr(covariances, "in_units"):
        return covariances.in_units(factors)
    if covariances.ndim == 3:
        return (covariances * factors[:, None]) * factors
    if covariances.ndim == 1:
        factors = factors[0]
    return (covariances * factors) * factors


# --- moments --------------------------------------------------------------------------------------

# Doubles of the rows whose scatter is accumulated at a time: a block stays in the cache.
_BLOCK_DOUBLES = 2**16
# How much the rows so far must weigh, beside those to add, for their mean to be the origin.
_FAIR_SHARE = 0.25


class Moments(NamedTuple):
    """Total weights (...), means (..., d) and scatters (..., d, d), or their diagonals (..., d)."""

    count: np.ndarray  # type: ignore[assignment]  # tuples have a method of this name
    mean: np.ndarray
    scatter: np.ndarray


def no_moments(n_classes, n_features, *, diagonal=False):
    """Moments of nothing: what any moments can be merged into."""
    shape = (n_classes, n_features)
    return Moments(
        np.zeros(n_classes),
        np.zeros(shape),
        np.zeros(shape if diagonal else (*shape, n_features)),
    )


def moments(X, weights=None, *, diagonal=False):
    """Moments of the rows of X, which is overwritten; weights (n,) are positive.

    The rows are first taken relative to one of them: a column that is constant then has a scatter
    of exactly 0, and its value for a mean, whatever the number of rows.
    """
    origin = X[0].copy()
    X -= origin
    count = float(len(X)) if weights is None else weights.sum()
    mean = _weighted_sum(X, weights) / count
    X -= mean
    return Moments(np.asarray(count), origin + mean, _sum_of_squares(X, weights, diagonal))


def _weighted_sum(X, weights):
    return (np.ones(len(X)) if weights is None else weights) @ X


def _sum_of_squares(X, weights, diagonal):
    """Σ w xxᵀ, or its diagonal; X may be overwritten."""
    if weights is not None:
        X *= np.sqrt(weights)[:, None]
    return np.einsum("ij,ij->j", X, X) if diagonal else X.T @ X


def merge(a, b):
    """Moments of the union of two parts, class by class, by Chan's update."""
    count = a.count + b.count
    share = b.count / np.where(count > 0, count, 1.0)
    delta = b.mean - a.mean
    mean = a.mean + share[..., None] * delta
    if a.scatter.ndim == a.mean.ndim:
        between = (a.count * share)[..., None] * delta**2
    else:
        between = (a.count * share)[..., None, None] * delta[..., :, None] * delta[..., None, :]
    return Moments(count, mean, a.scatter + b.scatter + between)


def part_moments(X, y, n_classes, weights=None, *, diagonal=False):
    """Moments of each class in a part of the rows.

    X (n, d); y (n,) class indices from 0 to n_classes − 1, all of which need not be there; weights
    (n,) positive. Rows of weight 0 must be left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.formulas.moments import merge, part_moments
    >>> X, y = np.array([[0.0], [2.0], [4.0], [7.0]]), np.array([0, 0, 0, 1])
    >>> whole = merge(part_moments(X[:2], y[:2], 2), part_moments(X[2:], y[2:], 2))
    >>> whole.count, whole.mean.ravel(), whole.scatter.ravel()
    (array([3., 1.]), array([2., 7.]), array([8., 0.]))
    """
    if len(y) and not 0 <= y.min() <= y.max() < n_classes:
        found = np.unique(y).tolist()
        raise ValueError(f"y must hold class indices from 0 to {n_classes - 1}; got {found}.")
    out = no_moments(n_classes, X.shape[1], diagonal=diagonal)
    add_rows(out, X, y, weights)
    return out


def add_rows(to, X, codes, weights=None):
    """Merge rows, with positive weights (n,), into the moments `to` of their classes, in place."""
    n_features = X.shape[1]
    block = max(64, _BLOCK_DOUBLES // n_features)
    workspace = Workspace()
    for j in range(len(to.count)):
        of_class = Moments(*(part[j, ...] for part in to))
        members = np.flatnonzero(codes == j)
        for start in range(0, len(members), block):
            rows = members[start : start + block]
            part = workspace.array("rows", len(rows), n_features)
            # With mode="raise" numpy would copy once more.
            X.take(rows, axis=0, mode="clip", out=part)
            _add_block(of_class, part, None if weights is None else weights[rows])


def _add_block(to, X, weights):
    """Merge the rows of X, which is overwritten, into the moments of one class, in place.

    About any origin o, with s = Σw(x − o): m = o + s/n and S = Σw(x − o)(x − o)ᵀ − ssᵀ/n. The mean
    of what is there already is a good origin while it stands for a fair share of the union;
    otherwise the new rows get a mean of their own. Either way a constant column keeps a scatter of
    exactly 0.
    """
    diagonal = to.scatter.ndim == 1
    added = len(X) if weights is None else weights.sum()
    if to.count < _FAIR_SHARE * added:
        merged = merge(to, moments(X, weights, diagonal=diagonal))
        to.count[...], to.mean[...], to.scatter[...] = merged
        return
    X -= to.mean
    s = _weighted_sum(X, weights)
    step = s / (to.count + added)
    squares = _sum_of_squares(X, weights, diagonal)
    squares -= s * step if diagonal else s[:, None] * step
    np.add(to.scatter, squares, out=to.scatter)
    np.add(to.mean, step, out=to.mean)
    np.add(to.count, added, out=to.count)


def class_shares(moments):
    """The share of each class in the total weight: its prior probability, if none is given."""
    return moments.count / moments.count.sum()


def class_covariances(moments):
    """Covariances of the classes, divisor n_j: (c, d, d), or their diagonals (c, d).

    RowCovariances where the scatters are such.
    """
    if hasattr(moments.scatter, "weighted"):
        return moments.scatter.weighted(1 / moments.count)
    divisor = moments.count[(..., *[None] * (moments.scatter.ndim - 1))]
    return moments.scatter / divisor


def covariance_diagonal(covariances):
    """Variances (c, d) of full covariances (c, d, d)."""
    return np.diagonal(covariances, axis1=-2, axis2=-1)


def pooled_covariance(covariances, shares):
    """Within-class covariance, Σ_j P_j Σ_j, of covariances of any shape with a class axis first."""
    return np.tensordot(shares, covariances, axes=1)


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
    scatter = scaled_covariances(moments.scatter, factors)
    return Moments(moments.count, scaled(moments.mean, factors), scatter)


# --- shrinkage: towards σ²I by a given amount, or by Ledoit and Wolf ------------------------------
#
# Covariances are (c, d, d), their diagonals (c, d), or row_covariances.RowCovariances.

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
