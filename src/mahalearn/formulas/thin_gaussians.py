r"""Gaussian classes of fewer rows than features, in O(n²d) time and O(nd) memory.

The rank rule is that of :mod:`.class_gaussians`, and so are the results up to rounding; no d×d
matrix is formed. There are two cases, both in units of each feature's overall standard deviation.

**Sample covariances** vary only in the space that the rows span. With the centred rows and the
deviations of the class means as columns, B = QR: the coordinates Qᵀx have at most n + c dimensions,
and in them the rule is applied as it stands (:class:`ReducedGaussians`).

**Shrunk covariances** are a diagonal plus rows, Σ = Δ + LᵀL. From the thin singular value
decomposition LΔ^{-1/2} = USVᵀ,

    Σ = Δ^{1/2} (I + V S² Vᵀ) Δ^{1/2},   ln|Σ| = ln|Δ| + Σ_i ln(1 + s_i²),

so that x → Δ^{-1/2}x + V((1 + S²)^{-1/2} − 1)VᵀΔ^{-1/2}x whitens (:class:`SpikedGaussians`). The
rule leaves such a covariance alone where the diagonal is not negligible, which a bound on the
eigenvalues proves. What remains of the rule:

- A feature that is constant within a class, but not within all, has its variance and its
  covariances with other such features from the pooled covariance.
- A class without a diagonal (Ledoit and Wolf do not shrink two objects) has a covariance RΛRᵀ of
  low rank, and is completed by NPN with the pooled P and N = I − RRᵀ. On the range of N,
  (NPN)⁺ = P^{-1/2}(I − CCᵀ)P^{-1/2} with an orthonormal basis C of P^{-1/2}R, and
  |NPN| = |P|·|RᵀP⁻¹R|.
- Features constant within every class (perfect separators) count in the directions in which the
  class means differ, with the variance of rule 3.

Where no bound proves that, :func:`thin_gaussians` gives None, and the caller forms the matrices.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from .class_gaussians import complete, log_volume, stacked, without_rounding
from .linalg import rank_tolerance, row_sq_norms

# Singular values below this fraction of the largest are rounding.
_ROUNDING = 1e-14
# Up to this size an eigenvalue is taken from the matrix itself.
_SMALL = 64


def thin_gaussians(means, covariances, shares, units=None):
    """Gaussians from means (c, d), RowCovariances and shares (c,), None where they cannot be had.

    There are c covariances or, common to the classes, one.
    """
    if not covariances.diagonal.any():
        return _reduced_from_rows(means, covariances, shares, units)
    return _spiked(means, covariances, shares, units)


class ReducedGaussians(NamedTuple):
    """Gaussians in the coordinates (x − centre)·basis, of which there are q.

    basis (d, q); loadings (d, q) lead back; coordinates (c, q) of the class means; whiteners and
    factors (k, q, r), log_dets and ranks (k,) and n_directions as in ClassGaussians.
    """

    means: np.ndarray
    shares: np.ndarray
    centre: np.ndarray
    basis: np.ndarray
    loadings: np.ndarray
    coordinates: np.ndarray
    whiteners: np.ndarray
    factors: np.ndarray
    log_dets: np.ndarray
    ranks: np.ndarray
    n_directions: int
    units: np.ndarray | None = None

    def marginal(self, observed):
        """The Gaussians of some of the features: observed (d,) is true for those."""
        index = np.flatnonzero(observed)
        loadings = self.loadings[index]
        variances = np.array([row_sq_norms(loadings @ F) for F in self.factors])
        pooled = self.shares @ variances if len(variances) > 1 else variances[0]
        between = self.shares @ (self.coordinates @ loadings.T) ** 2
        # Only a constant feature has no variance after the rule.
        scale2 = np.where(pooled > 0, pooled + between, 0.0)
        return _reduced(
            self.means[:, index],
            self.shares,
            self.centre[index],
            loadings,
            list(self.factors),
            self.coordinates,
            scale2,
            None if self.units is None else self.units[index],
        )

    def stretch(self):
        """By how much each feature (d,) is stretched at most."""
        return np.linalg.norm(self.basis, axis=1) * np.linalg.norm(self.whiteners, axis=(1, 2)).max(
            initial=0.0
        )

    def sq_distances(self, X, workspace):
        """d² (m, c) of rows to classes."""
        Y = np.subtract(X, self.centre, out=workspace.array("centred", *X.shape)) @ self.basis
        if len(self.whiteners) == 1:
            Y, coordinates = Y @ self.whiteners[0], self.coordinates @ self.whiteners[0]
            return stacked(row_sq_norms(Y - m) for m in coordinates)
        pairs = zip(self.coordinates, self.whiteners)
        return stacked(row_sq_norms((Y - m) @ A) for m, A in pairs)


def _reduced_from_rows(means, covariances, shares, units):
    variances, _, _, scale2 = without_rounding(means, covariances.variances(), shares)
    rows = [covariances.factor(j) * (kept > 0) for j, kept in enumerate(variances)]
    centre = shares @ means
    n, c = covariances.starts[-1], len(means)
    loadings = np.vstack([*rows, means - centre]).T
    parts = [slice(*covariances.starts[j : j + 2]) for j in range(len(rows))]
    coordinates = np.eye(c, n + c, n)
    return _reduced(means, shares, centre, loadings, parts, coordinates, scale2, units)


def _reduced(means, shares, centre, loadings, factors, coordinates, scale2, units):
    """From Σ_j = (BF_j)(BF_j)ᵀ and μ_j = centre + Bm_j with loadings B (d, q).

    factors F_j (q, r_j), or slices of the columns of B; coordinates m (c, q); scale2 (d,) the
    variances over all classes.
    """
    alive = np.flatnonzero(scale2)
    unit = np.sqrt(scale2[alive])
    Q, R = np.linalg.qr(loadings[alive] / unit[:, None], mode="reduced")
    roots = [R[:, F] if isinstance(F, slice) else R @ F for F in factors]
    covariances = [L @ L.T for L in roots]
    m = coordinates @ R.T
    weights = shares if len(covariances) > 1 else [1.0]
    pooled = sum(P * S for P, S in zip(weights, covariances))
    completed = complete(pooled + (m.T * shares) @ m, pooled, covariances, len(covariances))
    basis = np.zeros((len(scale2), len(R)))
    basis[alive] = Q / unit[:, None]
    back = np.zeros_like(basis)
    back[alive] = Q * unit[:, None]
    return ReducedGaussians(
        means,
        shares,
        centre,
        basis,
        back,
        m,
        completed.whiteners,
        completed.factors,
        completed.log_dets + 2 * np.log(unit).sum() + log_volume(units, alive),
        completed.ranks,
        completed.whiteners.shape[2],
        units,
    )


class Spikes(NamedTuple):
    """Σ = Δ^{1/2}(I + V S² Vᵀ)Δ^{1/2}.

    roots (d,) of Δ⁻¹, 0 for features that are not there; V (d, q); S (q,).
    """

    roots: np.ndarray
    V: np.ndarray
    S: np.ndarray

    def whitened(self, X):
        """Rows of X (m, d), which is overwritten, times Σ^{-1/2} (up to a rotation)."""
        X *= self.roots
        X += ((X @ self.V) * (1 / np.sqrt(1 + self.S**2) - 1)) @ self.V.T
        return X

    def log_det(self):
        """ln|Σ| of the features that are there."""
        return np.log1p(self.S**2).sum() - 2 * np.log(self.roots[self.roots > 0]).sum()

    def rows(self):
        """L (q, d) with Σ = Δ + LᵀL."""
        delta_root = np.divide(1, self.roots, out=np.zeros_like(self.roots), where=self.roots > 0)
        return self.S[:, None] * self.V.T * delta_root


class LowRank(NamedTuple):
    """RΛRᵀ completed by pooled spikes: R (d, r), deviations √Λ (r,), C (d, r), ln|RᵀP⁻¹R|."""

    R: np.ndarray
    deviations: np.ndarray
    C: np.ndarray
    log_det: float


class SpikedClass(NamedTuple):
    """The covariance of a class: spikes, or a LowRank completed by them."""

    spikes: Spikes
    low_rank: LowRank | None = None

    def sq_norms(self, Z):
        """xᵀΣ⁻¹x of rows Z (m, d), which are overwritten."""
        if self.low_rank is None:
            return row_sq_norms(self.spikes.whitened(Z))
        R, deviations, C, _ = self.low_rank
        own = Z @ R
        Z -= own @ R.T
        Z = self.spikes.whitened(Z)
        Z -= (Z @ C) @ C.T
        return row_sq_norms(own / deviations) + row_sq_norms(Z)

    def log_det(self):
        """ln|Σ|."""
        if self.low_rank is None:
            return self.spikes.log_det()
        own = 2 * np.log(self.low_rank.deviations).sum()
        return own + self.spikes.log_det() + self.low_rank.log_det


class SpikedGaussians(NamedTuple):
    """Gaussians of shrunk covariances, in standardised features.

    scale (d,) reciprocal standard deviations over all classes, 0 for constant features; separators
    (d, s) whiten the directions in which only the means differ; classes: k SpikedClass.
    """

    means: np.ndarray
    shares: np.ndarray
    scale: np.ndarray
    separators: np.ndarray
    classes: list
    log_dets: np.ndarray
    ranks: np.ndarray
    n_directions: int
    units: np.ndarray | None = None

    def marginal(self, observed):
        """The Gaussians of some of the features, None where they are no such Gaussians."""
        if self.separators.size or any(one.low_rank for one in self.classes):
            return None
        index = np.flatnonzero(observed)
        scale = self.scale[index]
        units = None if self.units is None else self.units[index]
        classes = []
        for one in self.classes:
            roots = one.spikes.roots[index]
            classes.append(SpikedClass(_spikes(roots, one.spikes.rows()[:, index])))
        there = scale > 0
        constant = -2 * np.log(scale[there]).sum() + log_volume(units, there)
        return self._replace(
            means=self.means[:, index],
            scale=scale,
            separators=self.separators[index],
            classes=classes,
            log_dets=np.array([one.log_det() for one in classes]) + constant,
            n_directions=int(there.sum()),
            units=units,
        )

    def covariances(self):
        """The completed covariances (k, d, d), in the units."""
        present = self.scale > 0
        back = np.divide(1, self.scale, out=np.zeros_like(self.scale), where=present)
        # The separators are V/√f times the scale, with orthonormal columns V and the variance f.
        extra = self.separators * back[:, None] ** 2
        if extra.size:
            extra /= row_sq_norms((self.separators * back[:, None]).T)
        out = []
        for one in self.classes:
            L = one.spikes.rows()
            roots = one.spikes.roots
            delta = np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0) ** 2
            S = np.diag(delta) + L.T @ L
            if one.low_rank is not None:
                R = one.low_rank.R
                PR = S @ R
                S += -R @ PR.T - PR @ R.T + R @ (R.T @ PR) @ R.T
                S += (R * one.low_rank.deviations**2) @ R.T
            S *= np.outer(back, back)
            out.append(S + extra @ extra.T)
        return np.array(out)

    def stretch(self):
        """By how much each feature (d,) is stretched at most."""
        factors = np.linalg.norm(self.separators, axis=1)
        for one in self.classes:
            factors = np.maximum(factors, self.scale * one.spikes.roots)
            if one.low_rank is not None:
                largest = one.spikes.roots.max() + 1 / one.low_rank.deviations.min(initial=np.inf)
                factors = np.maximum(factors, self.scale * largest)
        return factors

    def sq_distances(self, X, workspace):
        """d² (m, c) of rows to classes."""
        buffer = workspace.array("centred", *X.shape)
        if len(self.classes) == 1:  # the rows are whitened once, around the middle of the means
            centre = self.means.mean(axis=0)
            apart, Z = self._whitened(np.subtract(X, centre, out=buffer))
            means = zip(*self._whitened(self.means - centre))
            return stacked(row_sq_norms(apart - m) + row_sq_norms(Z - z) for m, z in means)
        columns = []
        for one, mean in zip(self.classes, self.means):
            Z = np.subtract(X, mean, out=buffer)
            apart = row_sq_norms(Z @ self.separators)
            Z *= self.scale
            columns.append(apart + one.sq_norms(Z))
        return stacked(columns)

    def _whitened(self, Z):
        """Centred rows, which are overwritten, whitened by the common covariance: two parts."""
        apart = Z @ self.separators
        Z *= self.scale
        return apart, self.classes[0].spikes.whitened(Z)


def _spikes(roots, rows):
    _, S, Vt = np.linalg.svd(rows * roots, full_matrices=False)
    return Spikes(roots, Vt.T, S)


def _spiked(means, covariances, shares, units):
    variances, _, _, scale2 = without_rounding(means, covariances.variances(), shares)
    k, d = variances.shape
    alive = scale2 > 0
    scale = np.where(alive, 1 / np.sqrt(np.where(alive, scale2, 1.0)), 0.0)
    # From here on all is in units of the overall standard deviations.
    delta = np.where(variances > 0, covariances.diagonal, 0.0) * scale**2
    rows = [covariances.factor(j) * (v > 0) * scale for j, v in enumerate(variances)]
    weights = shares if k > 1 else np.ones(1)
    pooled_delta = weights @ delta
    pooled_rows = np.vstack([np.sqrt(P) * L for P, L in zip(weights, rows)])
    within = alive & (variances > 0).any(axis=0)
    apart = alive & ~within
    between = np.sqrt(shares)[:, None] * (means - shares @ means) * scale
    least, V = _least_total(pooled_delta, between, within, apart)
    joint = np.vstack([pooled_rows, between])
    bound = linalg.norm(joint @ joint.T, 2) + pooled_delta.max()
    if not least > 1.01 * rank_tolerance(bound, d):
        return None
    separators, floor = np.zeros((d, V.shape[1])), 1.0
    if V.shape[1]:
        floor = _largest_total(pooled_delta, joint, alive)
        if floor is None:
            return None
        floor = rank_tolerance(floor, int(alive.sum()))
        separators[apart] = scale[apart, None] * V / np.sqrt(floor)
    pooled_roots = _roots(pooled_delta, within)
    pooled = _spikes(pooled_roots, pooled_rows)
    classes, ranks = [], []
    for j in range(k):
        varying = (variances[j] > 0) & alive
        if k == 1:
            one, rank = SpikedClass(pooled), int(within.sum())
        elif not delta[j].any():
            one, rank = _low_rank(rows[j], pooled)
        else:
            largest = linalg.norm(rows[j] @ rows[j].T, 2) + delta[j].max()
            if not delta[j, varying].min() > 1.01 * rank_tolerance(largest, d):
                return None
            own_delta, own_rows = np.where(varying, delta[j], pooled_delta), rows[j]
            if (gaps := within & ~varying).any():
                own_rows = np.vstack([own_rows, pooled_rows * gaps])
            one, rank = SpikedClass(_spikes(_roots(own_delta, within), own_rows)), varying.sum()
        classes.append(one)
        ranks.append(int(rank))
    constant = V.shape[1] * np.log(floor) - 2 * np.log(scale[alive]).sum()
    constant += log_volume(units, alive)
    return SpikedGaussians(
        means,
        shares,
        scale,
        separators,
        classes,
        np.array([one.log_det() for one in classes]) + constant,
        np.array(ranks),
        int(within.sum()) + V.shape[1],
        units,
    )


def _roots(delta, features):
    return np.where(features, 1 / np.sqrt(np.where(features, delta, 1.0)), 0.0)


def _least_total(delta, between, within, apart):
    """A lower bound of the total covariance's eigenvalues in the directions that are not ignored.

    The total covariance is P ⊕ 0 + UᵀU with P ≥ p on the features that vary within classes. With
    U = (U₁ U₂) in the same two parts, ignored are the directions of the second part in which U₂
    vanishes; in the others, with the least singular value w > 0 of U₂, every eigenvalue is at least
    pw²/(p + |U₁|² + w²). Returned with an orthonormal basis V of the second part's directions.
    """
    p = delta[within].min(initial=np.inf)
    if not apart.any():
        return p, np.zeros((0, 0))
    _, S, Vt = np.linalg.svd(between[:, apart], full_matrices=False)
    kept = _ROUNDING * S[0] * len(apart) < S
    w2 = S[kept].min() ** 2
    if not within.any():
        return w2, Vt[kept].T
    u2 = linalg.norm(between[:, within], 2) ** 2
    return p * w2 / (p + u2 + w2), Vt[kept].T


def _largest_total(delta, rows, alive):
    """Largest eigenvalue of diag(δ) + LᵀL on the features that are alive; None without success."""
    delta, rows = delta[alive], rows[:, alive]
    if len(delta) <= _SMALL:
        return linalg.eigvalsh(np.diag(delta) + rows.T @ rows)[-1]
    operator = LinearOperator(
        (len(delta),) * 2, matvec=lambda v: delta * v.ravel() + rows.T @ (rows @ v.ravel())
    )
    try:
        # A fixed start: the answer is deterministic.
        found = eigsh(operator, k=1, which="LA", v0=1 + np.cos(np.arange(len(delta))), tol=0)
    except ArpackError:
        return None
    return found[0][0]


def _low_rank(rows, pooled):
    """A class covariance LᵀL, completed by the pooled one, and its rank."""
    _, S, Vt = np.linalg.svd(rows, full_matrices=False)
    kept = rank_tolerance(S.max(initial=0.0) ** 2, rows.shape[1]) < S**2
    if not kept.any():
        return SpikedClass(pooled), 0
    R = Vt[kept].T
    C, T = np.linalg.qr(pooled.whitened(R.T.copy()).T, mode="reduced")
    log_det = 2 * np.log(np.abs(np.diagonal(T))).sum()
    return SpikedClass(pooled, LowRank(R, S[kept], C, float(log_det))), int(kept.sum())
