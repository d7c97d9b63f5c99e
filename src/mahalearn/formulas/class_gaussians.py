r"""Gaussian classes ready for distances, whatever the rank of their covariances.

All is done in standardised features, in units of each feature's overall standard deviation (all
classes together), so that the units of measurement do not matter. There the rank rule is stated;
"negligible" is the tolerance of :mod:`.linalg`:

1. A direction in which the whole mixture does not vary (negligible eigenvalue of the total
   covariance: constant, duplicate and collinear columns) says nothing about the class: ignored.
2. A direction in which one class does not vary (negligible beside the largest eigenvalue of its own
   covariance: n_j ≤ d, a class with one object, a feature constant within the class) gets the
   variance that the pooled within-class covariance has there. A class with one object is thus taken
   to be spread as the classes are on average, rather than to be a point.
3. Where the pooled covariance is negligible too (only the class means differ: a perfect separator),
   the variance is raised to the tolerance.

Every class then has a variance in each direction that is not ignored, so that the log-determinants
of the classes are comparable.

A class covariance has one of two forms: RΛRᵀ (:class:`Rotated`), or a diagonal and a few spikes
(:class:`Spiked`; without spikes the features are independent). Fewer rows than features need no d×d
matrix. Sample covariances vary only in the space that the rows span: its coordinates are at most
n + c, and in them the rule is applied as it stands (:func:`spanned_gaussians`). Shrunk ones are a
diagonal plus rows (:mod:`.spiked_gaussians`).
"""

from typing import NamedTuple

import numpy as np

from .class_covariances import pooled_covariance, total_covariance, variances_of
from .linalg import eigh, rank_tolerance, rounding_variance, row_sq_norms, zero_negligible

# Values up to this have squares, and many of those have sums, that stay finite.
LARGEST = 1e140


class Rotated(NamedTuple):
    """Σ = RΛRᵀ on the directions R that are not ignored: whitener RΛ^{-1/2} (q, r), Λ (r,)."""

    whitener: np.ndarray
    values: np.ndarray

    @property
    def n_directions(self):
        """Number of directions that are not ignored."""
        return len(self.values)

    @property
    def factor(self):
        """F (q, r) with Σ = FFᵀ."""
        return self.whitener * self.values

    def log_det(self):
        """ln|Σ|."""
        return np.log(self.values).sum()

    def stretch(self):
        """By how much whitening stretches a coordinate at most."""
        return np.sqrt(row_sq_norms(self.whitener).max(initial=0.0))

    def whitened(self, Z, workspace=None):
        """Centred rows Z (m, q) with unit covariance, in the workspace where one is given."""
        out = None
        if workspace is not None:
            out = workspace.array("whitened", len(Z), len(self.values))
        return np.matmul(Z, self.whitener, out=out)


class Spiked(NamedTuple):
    """Σ = Δ^{1/2}(I + VΘVᵀ)Δ^{1/2}.

    roots (q,) of Δ⁻¹, 0 for coordinates that are ignored; V (q, p) orthonormal; theta (p,) > −1.
    """

    roots: np.ndarray
    V: np.ndarray
    theta: np.ndarray

    @property
    def n_directions(self):
        """Number of directions that are not ignored."""
        return int(np.count_nonzero(self.roots))

    def log_det(self):
        """ln|Σ|."""
        return np.log1p(self.theta).sum() - 2 * np.log(self.roots[self.roots > 0]).sum()

    def stretch(self):
        """By how much whitening stretches a coordinate at most."""
        return self.roots.max(initial=0.0) / np.sqrt(1 + self.theta.min(initial=0.0))

    def whitened(self, Z, workspace=None):
        """Centred rows Z (m, q), which are overwritten, with unit covariance."""
        Z *= self.roots
        if len(self.theta):
            Z += ((Z @ self.V) * (1 / np.sqrt(1 + self.theta) - 1)) @ self.V.T
        return Z

    def marginal(self, index):
        """The same for some of the coordinates."""
        if not len(self.theta):
            return Spiked(self.roots[index], self.V[index], self.theta)
        # Rows of VᵀΔ^{1/2}, in the roots once more.
        Q, R = np.linalg.qr(self.V[index], mode="reduced")
        theta, E = np.linalg.eigh((R * self.theta) @ R.T)
        return Spiked(self.roots[index], Q @ E, theta)


class ClassGaussians(NamedTuple):
    """c Gaussians, with covariances of their own or (one in `classes`) a common one.

    A row has the standardised features z = (x − centre)·scale (d,), scale 0 for constant ones, and
    the coordinates y = z·basis (d, q), or z itself. In these coordinates are means (c, q) and
    classes (Rotated or Spiked). shares (c,) are the weights of the classes in the pooled
    covariance; log_dets (k,) are those in the features' own units; ranks (k,) those before the rank
    rule; limit is where standardised features are cut. separators (index, V): the features in which
    only the means differ; zV take the place of the first of them.
    """

    centre: np.ndarray
    scale: np.ndarray
    means: np.ndarray
    shares: np.ndarray
    classes: list
    log_dets: np.ndarray
    ranks: np.ndarray
    limit: float
    basis: np.ndarray | None = None
    separators: tuple | None = None

    @property
    def n_directions(self):
        """Number of directions that are not ignored."""
        return self.classes[0].n_directions

    def coordinates(self, X, workspace):
        """Coordinates of rows, cut where a squared distance would overflow; NaN stays."""
        Z = workspace.array("standardised", *X.shape)
        with np.errstate(over="ignore"):
            np.subtract(X, self.centre, out=Z)
            Z *= self.scale
        np.clip(Z, -self.limit, self.limit, out=Z)
        if self.separators is not None:
            index, V = self.separators
            Z[:, index[: V.shape[1]]] = Z[:, index] @ V
        return Z if self.basis is None else Z @ self.basis

    def whitened(self, X, workspace):
        """(x − μ_j) with unit covariance, for each class in turn: arrays to be used at once."""
        Y = self.coordinates(X, workspace)
        centred = workspace.array("centred", *Y.shape)
        if len(self.classes) > 1:
            for one, mean in zip(self.classes, self.means):
                yield one.whitened(np.subtract(Y, mean, out=centred), workspace)
            return
        # One covariance: the rows are whitened once.
        means = self.classes[0].whitened(self.means.copy(), workspace).copy()
        Y = self.classes[0].whitened(Y, workspace)
        for mean in means:
            yield np.subtract(Y, mean, out=centred[:, : Y.shape[1]])

    def sq_distances(self, X, workspace):
        """d² (m, c) of rows to classes (D, (2))."""
        return np.stack([row_sq_norms(z) for z in self.whitened(X, workspace)]).T

    def feature_sq_distances(self, X, workspace):
        """Squares (m, c, d) of whitened features, class by class in the workspace (D, (7))."""
        Z = workspace.array("per feature", len(self.means), *X.shape)
        for j, z in enumerate(self.whitened(X, workspace)):
            np.multiply(z, z, out=Z[j])
        return Z.transpose(1, 0, 2)

    def marginal(self, observed):
        """The Gaussians of some of the features; None where only d×d matrices would give them."""
        index, scale = np.flatnonzero(observed), self.scale[observed]
        centre, safe = self.centre[index], np.where(scale > 0, scale, 1.0)
        if isinstance(self.classes[0], Rotated):
            loadings = (np.eye(len(self.scale)) if self.basis is None else self.basis)[index]
            factors = [one.factor for one in self.classes]
            variances = np.array([row_sq_norms(loadings @ F) for F in factors])
            pooled = self.shares @ variances if len(variances) > 1 else variances[0]
            between = self.shares @ (self.means @ loadings.T) ** 2
            # Only a constant feature has no variance after the rule.
            scale2 = np.where(pooled > 0, pooled + between, 0.0)
            return spanned_gaussians(
                loadings, factors, self.means, self.shares, scale2, centre, 1 / safe
            )
        if self.separators is not None:
            return None
        classes = [one.marginal(index) for one in self.classes]
        return assembled(self.means[:, index], self.shares, classes, self.ranks, centre, scale)

    def zca_cor(self):
        r"""The same with the ZCA-cor whiteners W = V^{-1/2}P^{-1/2} of the classes.

        Σ = V^{1/2}PV^{1/2} with the variances V and the correlations P. Of all whitenings it keeps
        each coordinate closest to its standardised feature; it does not depend on the units or the
        order of the features, and for a diagonal Σ it is the standardisation itself (D, (7)).

        W is a rotation of any other whitener A: with Σ = FFᵀ and F = ΣA, the polar factor O of
        V^{-1/2}F = P^{1/2}O gives W = AOᵀ, without dividing by a small eigenvalue once more.
        """
        if isinstance(self.classes[0], Spiked):
            return self
        classes = []
        for one in self.classes:
            F, A = one.factor, one.whitener
            if self.basis is not None:
                F = self.basis @ F
            variances = row_sq_norms(F)
            # A constant feature's coordinate is exactly 0: it has no part in the rotation.
            alive = np.flatnonzero(variances)
            root = np.sqrt(variances[alive])[:, None]
            U, _, Vt = np.linalg.svd(F[alive] / root, full_matrices=False)
            W = np.zeros((len(A), len(F)))
            W[:, alive] = A @ (U @ Vt).T
            classes.append(Rotated(W, np.ones(len(F))))
        return self._replace(classes=classes)


def assembled(means, shares, classes, ranks, centre, scale, **parts):
    """ClassGaussians of classes in coordinates."""
    log_dets = np.array([one.log_det() for one in classes]) - 2 * np.log(scale[scale > 0]).sum()
    # |(y − m)W| is at most Σ_k |y_k − m_k|·|W_k| with the rows W_k of W.
    stretch = max(one.stretch() for one in classes)
    limit = LARGEST / max(2 * len(scale) ** 1.5 * stretch, 1.0)
    ranks = np.asarray(ranks)
    return ClassGaussians(centre, scale, means, shares, classes, log_dets, ranks, limit, **parts)


def class_gaussians(means, covariances, shares, units):
    """Gaussians from means (c, d), shares (c,) and covariances by the rank rule above.

    covariances: (k, d, d) full, (k, d) diagonal or (k,) spherical, with k = c or, common to the
    classes, 1. The shares say how much each class counts in the pooled covariance. Means and
    covariances are stated in the units (d,).
    """
    if covariances.ndim < 3:
        # σ²I is a diagonal covariance whose single variance the rule looks at once.
        covariances = covariances[:, None] if covariances.ndim == 1 else covariances
        return _independent(means, covariances, shares, units)
    covariances, pooled, total, scale2 = without_rounding(means, covariances, shares)
    scale, centre = inverse_root(scale2), shares @ means
    D = np.outer(scale, scale)
    classes, ranks = complete(D * total, D * pooled, (D * S for S in covariances))
    for one in classes:
        one.whitener[scale == 0] = 0.0
    means = (means - centre) * scale
    return assembled(means, shares, classes, ranks, centre * units, scale / units)


def spanned_gaussians(loadings, factors, coordinates, shares, scale2, centre, units):
    """Gaussians with Σ_j = (BF_j)(BF_j)ᵀ and μ_j = Bm_j (about the centre), B the loadings (d, q).

    factors F_j (q, r_j), or slices of the columns of B; coordinates m (c, q); scale2 (d,) the
    variances over all classes. These are in the units, the centre in the features' own.
    """
    scale = inverse_root(scale2)
    Q, R = np.linalg.qr(loadings * scale[:, None], mode="reduced")
    Q[scale == 0] = 0.0
    roots = [R[:, F] if isinstance(F, slice) else R @ F for F in factors]
    covariances = [L @ L.T for L in roots]
    m = coordinates @ R.T
    weights = shares if len(covariances) > 1 else [1.0]
    pooled = sum(P * S for P, S in zip(weights, covariances))
    classes, ranks = complete(pooled + (m.T * shares) @ m, pooled, covariances)
    return assembled(m, shares, classes, ranks, centre, scale / units, basis=Q)


def inverse_root(variances):
    """1/√v of variances, 0 where they are 0."""
    return np.where(variances > 0, 1 / np.sqrt(np.where(variances > 0, variances, 1.0)), 0.0)


def without_rounding(means, covariances, shares):
    """Covariances without what rounding alone has left, the pooled and the total covariance.

    Last come the variances of the features over all classes, 0 for a constant feature.
    """
    variances = variances_of(covariances)
    magnitude = np.abs(means)
    if variances.shape[1] != magnitude.shape[1]:
        magnitude = magnitude.max(axis=1, initial=0.0, keepdims=True)
    if len(variances) == 1:
        magnitude = magnitude.max(axis=0, keepdims=True)
    varying = variances > rounding_variance(magnitude)
    if not varying.all():
        pair = varying if covariances.ndim == 2 else varying[:, :, None] & varying[:, None, :]
        covariances = np.where(pair, covariances, 0.0)
    pooled = pooled_covariance(covariances, shares)[0] if len(covariances) > 1 else covariances[0]
    total = total_covariance(pooled, means, shares)
    spread = total if total.ndim == 1 else np.diagonal(total)
    # A feature that only rounding makes vary is constant.
    scale2 = np.where(spread > rounding_variance(magnitude.max(axis=0)), spread, 0.0)
    return covariances, pooled, total, scale2


def _independent(means, variances, shares, units):
    """Gaussians of independent features; one variance (k, 1) stands for those of all features."""
    variances, pooled, _, scale2 = without_rounding(means, variances, shares)
    scale, centre, d = inverse_root(scale2), shares @ means, means.shape[1]
    relative = variances * scale**2
    for values in relative:
        zero_negligible(values)
    ranks = np.count_nonzero(relative, axis=1) * (d // max(len(scale), 1))
    fill = np.maximum(pooled * scale**2, rank_tolerance(1.0, len(scale)))
    roots = np.where(scale > 0, inverse_root(np.where(relative > 0, relative, fill)), 0.0)
    no_spikes = np.zeros((d, 0)), np.zeros(0)
    classes = [Spiked(np.broadcast_to(r, d).copy(), *no_spikes) for r in roots]
    scale = np.broadcast_to(scale, d)
    means = (means - centre) * scale
    return assembled(means, shares, classes, ranks, centre * units, scale / units)


def complete(total, pooled, covariances):
    """The rank rule: Rotated covariances of classes in standardised features, ranks before it."""
    spectrum = eigh(total)
    floor = rank_tolerance(spectrum.values.max(initial=0.0), len(total))
    directions = None  # stands for the identity
    if not (spectrum.values > 0).all():
        directions = spectrum.vectors[:, spectrum.values > 0]
        pooled = directions.T @ pooled @ directions
    classes, ranks = [], []
    for S in covariances:
        values, R = eigh(S if directions is None else directions.T @ S @ directions)
        varying = values > 0
        if not varying.all():
            # The directions without a variance are orthogonal to the others, so that neither part's
            # accuracy suffers from the other's scale.
            N = R[:, ~varying]
            inner = eigh(N.T @ pooled @ N)
            values = np.concatenate([np.maximum(inner.values, floor), values[varying]])
            R = np.hstack([N @ inner.vectors, R[:, varying]])
        R = R if directions is None else directions @ R
        classes.append(Rotated(R / np.sqrt(values), values))
        ranks.append(int(varying.sum()))
    return classes, ranks
