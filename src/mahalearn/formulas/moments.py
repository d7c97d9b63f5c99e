"""Counts, means and scatters of classes that merge; the only place that chooses a divisor.

The moments of a set of rows are its total weight n, its mean m and its scatter
S = Σ w (x − m)(x − m)ᵀ. Those of two sets give those of their union (Chan, Golub and LeVeque),

    m = m_a + (n_b/n) δ,   S = S_a + S_b + (n_a n_b/n) δδᵀ,   δ = m_b − m_a,

which is stable, because only differences of means are squared. All else here follows from them.

The divisor of a covariance is n_j, the class's own total weight (the maximum likelihood estimate),
and n for the pooled one: the pooled covariance is then the mean of the class covariances by the
share of each class, with sample weights as without.
"""

from typing import NamedTuple

import numpy as np

# Rows whose scatter is accumulated at a time: a block stays in the cache.
_BLOCK = 4096


class Moments(NamedTuple):
    """Total weights (...), means (..., d) and scatters (..., d, d), or their diagonals (..., d)."""

    count: np.ndarray
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
    if weights is None:
        count = float(len(X))
        mean = X.sum(axis=0) / count
        X -= mean
    else:
        count = weights.sum()
        mean = weights @ X / count
        X -= mean
        X *= np.sqrt(weights)[:, None]
    return Moments(count, origin + mean, np.einsum("ij,ij->j", X, X) if diagonal else X.T @ X)


def merge_moments(a, b):
    """Moments of the union, class by class."""
    count = np.asarray(a.count + b.count)
    share = b.count / np.where(count > 0, count, 1.0)
    delta = b.mean - a.mean
    mean = a.mean + share[..., None] * delta
    if a.scatter.ndim == a.mean.ndim:
        between = (a.count * share)[..., None] * delta**2
    else:
        between = (a.count * share)[..., None, None] * delta[..., :, None] * delta[..., None, :]
    return Moments(count, mean, a.scatter + b.scatter + between)


def class_moments(X, codes, n_classes, weights=None, *, diagonal=False):
    """Moments of each class: X (n, d), codes (n,) the class index of each row, weights (n,)."""
    out = no_moments(n_classes, X.shape[1], diagonal=diagonal)
    for j in range(n_classes):
        members = np.flatnonzero(codes == j)
        parts = [members[i : i + _BLOCK] for i in range(0, len(members), _BLOCK)]
        found = None
        for rows in parts:
            part = moments(X[rows], None if weights is None else weights[rows], diagonal=diagonal)
            found = part if found is None else merge_moments(found, part)
        if found is not None:
            out.count[j], out.mean[j], out.scatter[j] = found
    return out


def class_shares(moments):
    """The share of each class in the total weight: its prior probability, if none is given."""
    return moments.count / moments.count.sum()


def class_covariances(moments, *, spherical=False):
    """Covariances of the classes, divisor n_j: (c, d, d), their diagonals (c, d), or σ²_j (c,)."""
    divisor = moments.count[(..., *[None] * (moments.scatter.ndim - 1))]
    covariances = moments.scatter / divisor
    return covariances.mean(axis=-1) if spherical else covariances


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


def shrunk_covariances(covariances, shrinkage):
    """(1 − s)Σ + s·(tr Σ/d)·I, of full covariances (c, d, d) or of diagonals (c, d)."""
    diagonal = covariances if covariances.ndim == 2 else covariance_diagonal(covariances)
    target = shrinkage * diagonal.mean(axis=-1)
    if covariances.ndim == 2:
        return (1 - shrinkage) * covariances + target[:, None]
    return (1 - shrinkage) * covariances + target[:, None, None] * np.eye(diagonal.shape[-1])
