r"""Gaussian classes of fewer rows than features, in O(n²d) time and O(nd) memory.

The rank rule is that of :mod:`.class_gaussians`, and so are the results up to rounding; no d×d
matrix is formed. Class covariances are rows and a diagonal (RowCovariances). Without the diagonal
 they are sample covariances, in the space that the rows span. Shrunk ones are spiked:

    Σ = Δ + LᵀML = Δ^{1/2} (I + VΘVᵀ) Δ^{1/2},   ln|Σ| = ln|Δ| + Σ_i ln(1 + θ_i).

The rule leaves such a covariance alone where the diagonal is not negligible, which a bound on the
eigenvalues proves. What remains of the rule:

- A feature that is constant within a class, but not within all, has its variance and its
  covariances with other such features from the pooled covariance.
- A class without a diagonal (Ledoit and Wolf do not shrink two objects) has a covariance RΛRᵀ of
  low rank, and is completed by NPN with the pooled P and N = I − RRᵀ.
- Features constant within every class (perfect separators) count in the directions in which the
  class means differ, with the variance of rule 3.

Where no bound proves that, :func:`row_gaussians` gives None, and the caller forms the matrices.
"""

import numpy as np
from scipy import linalg

from .class_covariances import variances_of
from .class_gaussians import Spiked, assembled, inverse_root, spanned_gaussians, without_rounding
from .linalg import largest_eigenvalue, rank_tolerance

# Singular values below this fraction of the largest are rounding.
_ROUNDING = 1e-14
# Up to this size an eigenvalue is taken from the matrix itself.
_SMALL = 64
# A whitened variance below this fraction of the largest has lost too many digits.
_LEAST_VARIANCE = 1e-5


def row_gaussians(means, covariances, shares, units):
    """Gaussians from means (c, d), RowCovariances and shares (c,), None where they cannot be had.

    There are c covariances or, common to the classes, one.
    """
    variances, _, _, scale2 = without_rounding(means, variances_of(covariances), shares)
    centre = shares @ means
    rows = [L * (v > 0) for L, v in zip(covariances.rows, variances)]
    if covariances.diagonal.any():
        delta = np.where(variances > 0, covariances.diagonal, 0.0)
        return _spiked(means - centre, delta, rows, variances, shares, scale2, centre, units)
    stops = np.cumsum([len(L) for L in rows])
    parts = [slice(stop - len(L), stop) for L, stop in zip(rows, stops)]
    coordinates = np.eye(len(means), stops[-1] + len(means), stops[-1])
    loadings = np.vstack([*rows, means - centre]).T
    return spanned_gaussians(loadings, parts, coordinates, shares, scale2, centre * units, units)


def _spikes(roots, rows, middle=None):
    """Δ + LᵀML from the roots of Δ⁻¹ and rows L (p, d), M the middle (p, p), None for I."""
    if middle is None:
        _, S, Vt = np.linalg.svd(rows * roots, full_matrices=False)
        return Spiked(roots, Vt.T, S**2)
    Q, R = np.linalg.qr((rows * roots).T, mode="reduced")
    theta, E = np.linalg.eigh(R @ middle @ R.T)
    return Spiked(roots, Q @ E, theta)


def _spiked(means, delta, rows, variances, shares, scale2, centre, units):
    """Gaussians of diagonals δ (k, d) plus rows; means about the centre."""
    scale, alive = inverse_root(scale2), scale2 > 0
    # From here on all is in units of the overall standard deviations.
    means, delta, rows = means * scale, delta * scale**2, [L * scale for L in rows]
    varying = (variances > 0) & alive
    within = varying.any(axis=0)
    apart = np.flatnonzero(alive & ~within)
    weights = shares if len(delta) > 1 else np.ones(1)
    pooled_delta = weights @ delta
    pooled_rows = np.vstack([np.sqrt(P) * L for P, L in zip(weights, rows)])
    between = np.sqrt(shares)[:, None] * means
    joint = np.vstack([pooled_rows, between])
    least, V = _least_total(pooled_delta, between, within, apart)
    if not _is_clear(least, pooled_delta, joint):
        return None
    separators, roots = None, np.where(within, inverse_root(pooled_delta), 0.0)
    if len(apart):
        largest = _largest_total(pooled_delta[alive], joint[:, alive])
        if largest is None:
            return None
        first = apart[: V.shape[1]]
        separators, means[:, first] = (apart, V), means[:, apart] @ V
        roots[first] = 1 / np.sqrt(rank_tolerance(largest, int(alive.sum())))
    pooled = _spikes(roots, pooled_rows)
    classes, ranks = [pooled], [int(varying[0].sum())]
    if len(delta) > 1:
        of_classes = [
            _class_spikes(*one, pooled, pooled_delta, pooled_rows)
            for one in zip(delta, rows, varying, strict=True)
        ]
        classes, ranks = zip(*of_classes, strict=True)
    if not all(map(_is_precise, classes)):
        return None
    return assembled(
        means, shares, list(classes), ranks, centre * units, scale / units, separators=separators
    )


def _class_spikes(delta, L, varying, pooled, pooled_delta, pooled_rows):
    """The covariance diag(δ) + LᵀL of one class, completed by the pooled one, and its rank.

    None where rounding is not far below the diagonal.
    """
    if not delta.any():
        return _low_rank(L, pooled, pooled_delta, pooled_rows)
    if not _is_clear(delta[varying].min(), delta, L):
        return None, 0
    roots = np.where(varying, inverse_root(delta), pooled.roots)
    gaps = (pooled_delta > 0) & ~varying
    parts = [L, pooled_rows * gaps] if gaps.any() else [L]
    return _spikes(roots, np.vstack(parts)), int(varying.sum())


def _is_clear(least, delta, L):
    """True where a variance is above the rank tolerance of diag(δ) + LᵀL, by a bound on that."""
    bound = linalg.norm(L @ L.T, 2) + delta.max()
    return least > 1.01 * rank_tolerance(bound, len(delta))


def _is_precise(one):
    """True for a covariance whose whitened variances have enough digits; not for None."""
    if one is None:
        return False
    least, largest = one.theta.min(initial=0.0), one.theta.max(initial=0.0)
    return 1 + least >= _LEAST_VARIANCE * (1 + largest)


def _least_total(delta, between, within, apart):
    """A lower bound of the total covariance's eigenvalues in the directions that are not ignored.

    The total covariance is P ⊕ 0 + UᵀU with P ≥ p on the features that vary within classes. With
    U = (U₁ U₂) in the same two parts, ignored are the directions of the second part in which U₂
    vanishes; in the others, with the least singular value w > 0 of U₂, every eigenvalue is at least
    pw²/(p + |U₁|² + w²). Returned with an orthonormal basis V of the second part's directions.
    """
    p = delta[within].min(initial=np.inf)
    if not len(apart):
        return p, np.zeros((0, 0))
    _, S, Vt = np.linalg.svd(between[:, apart], full_matrices=False)
    differing = _ROUNDING * S[0] * len(delta) < S
    w2, V = S[differing].min() ** 2, Vt[differing].T
    if not within.any():
        return w2, V
    return p * w2 / (p + linalg.norm(between[:, within], 2) ** 2 + w2), V


def _largest_total(delta, rows):
    """Largest eigenvalue of diag(δ) + LᵀL; None without success."""
    if len(delta) <= _SMALL:
        return linalg.eigvalsh(np.diag(delta) + rows.T @ rows)[-1]
    return largest_eigenvalue(lambda v: delta * v + rows.T @ (rows @ v), len(delta))


def _low_rank(rows, pooled, delta, pooled_rows):
    """A class covariance LᵀL = RΛRᵀ, completed by the pooled one, P, and its rank.

    The sum RΛRᵀ + (I − RRᵀ)P(I − RRᵀ) is P and, in the rows Rᵀ and (PR)ᵀ, a little matrix.
    """
    _, S, Vt = np.linalg.svd(rows, full_matrices=False)
    Rt = Vt[rank_tolerance(S.max(initial=0.0) ** 2, rows.shape[1]) < S**2]
    r, p = len(Rt), len(pooled_rows)
    if not r:
        return pooled, 0
    PR = Rt * delta + (Rt @ pooled_rows.T) @ pooled_rows
    middle = np.eye(p + 2 * r)
    middle[p:, p:] = np.block(
        [[np.diag(S[:r] ** 2) + PR @ Rt.T, -np.eye(r)], [-np.eye(r), np.zeros((r, r))]]
    )
    return _spikes(pooled.roots, np.vstack([pooled_rows, Rt, PR]), middle), r
