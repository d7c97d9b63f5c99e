r"""Gaussian classes ready for distances, whatever the rank of their covariances.

The rank rule, in units of each feature's overall standard deviation (all classes together), so that
the units of measurement do not matter; "negligible" is the tolerance of :mod:`.linalg`:

1. A direction in which the whole mixture does not vary (negligible eigenvalue of the total
   covariance: constant, duplicate and collinear columns) says nothing about the class: ignored.
2. A direction in which one class does not vary (negligible beside the largest eigenvalue of its own
   covariance: n_j ≤ d, a class with one object, a feature constant within the class) gets the
   variance that the pooled within-class covariance has there. A class with one object is thus taken
   to be spread as the classes are on average, rather than to be a point.
3. Where the pooled covariance is negligible too (only the class means differ: a perfect separator),
   the variance is raised to the tolerance.

Every class then has a variance in each direction that is not ignored, so that the log-determinants
of the classes are comparable. A covariance of full rank is left exactly as it is.
"""

from typing import NamedTuple

import numpy as np

from .linalg import eigh, rank_tolerance, rounding_variance, row_sq_norms, zero_negligible
from .moments import covariance_diagonal, pooled_covariance, ratio, scaled, total_covariance


class ClassGaussians(NamedTuple):
    """c Gaussians with covariances of their own, or (first axis 1) a common one.

    With k = c or 1: covariances (k, d, d) or variances (k, d) after the rank rule; factors F
    (k, d, r) with Σ = FFᵀ (None if diagonal); whiteners A (k, d, r) or (k, d), such that
    z = (x − μ)A has unit covariance; log_dets (k,); ranks (k,) of the covariances as given;
    n_directions, the number r of directions that are not ignored. The features are measured in
    units (d,) of their own (None: 1), in which all but log_dets is stated.
    """

    means: np.ndarray
    shares: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray | None
    whiteners: np.ndarray
    log_dets: np.ndarray
    ranks: np.ndarray
    n_directions: int
    units: np.ndarray | None = None

    @property
    def diagonal(self):
        """Whether the features are independent within the classes."""
        return self.covariances.ndim == 2

    def marginal(self, observed):
        """The Gaussians of some of the features: observed (d,) is true for those."""
        index = np.flatnonzero(observed)
        covariances = self.covariances[:, index]
        if not self.diagonal:
            covariances = covariances[:, :, index]
        units = None if self.units is None else self.units[index]
        return class_gaussians(self.means[:, index], covariances, self.shares, units)

    def stretch(self):
        """By how much each feature (d,) is stretched at most."""
        norms = self.whiteners if self.diagonal else np.linalg.norm(self.whiteners, axis=2)
        return norms.max(axis=0)

    def whitened(self, X, whiteners, workspace):
        """z = (x − μ_j)W_j for each class in turn: arrays (m, r) that the caller may overwrite.

        Each is valid only until the next is asked for.
        """
        means = self.means
        buffer = workspace.array("centred", *X.shape)
        if self.diagonal:
            for j, mean in enumerate(means):
                np.subtract(X, mean, out=buffer)
                buffer *= whiteners[j if len(whiteners) > 1 else 0]
                yield buffer
            return
        out = workspace.array("whitened", len(X), whiteners.shape[2])
        if len(whiteners) > 1:
            for mean, W in zip(means, whiteners):
                yield np.matmul(np.subtract(X, mean, out=buffer), W, out=out)
            return
        # One covariance: the rows are whitened once, around the middle of the means.
        centre = means.mean(axis=0)
        common = np.subtract(X, centre, out=buffer) @ whiteners[0]
        for mean in (means - centre) @ whiteners[0]:
            yield np.subtract(common, mean, out=out)

    def sq_distances(self, X, workspace):
        """d² (m, c) of rows to classes (D, (2))."""
        return stacked(map(row_sq_norms, self.whitened(X, self.whiteners, workspace)))


def stacked(columns):
    """Columns (m,) of the classes, side by side."""
    return np.stack(list(columns), axis=1)


def class_gaussians(means, covariances, shares, units=None):
    """Gaussians from means (c, d), shares (c,) and covariances by the rank rule above.

    covariances: (k, d, d) full, (k, d) diagonal or (k,) spherical, with k = c or, common to the
    classes, 1. The shares say how much each class counts in the pooled covariance. Means and
    covariances are stated in the units.
    """
    if covariances.ndim == 3:
        return _full(means, covariances, shares, units)
    # σ²I is a diagonal covariance whose single variance the rule looks at once.
    variances = covariances[:, None] if covariances.ndim == 1 else covariances
    return _diagonal(means, variances, shares, units)


def log_volume(units, features):
    """2Σ ln u: what the units of these features add to a log-determinant."""
    return 0.0 if units is None else 2 * np.log(units[features]).sum()


def without_rounding(means, covariances, shares):
    """Covariances without what rounding alone has left, the pooled and the total covariance.

    Last come the variances of the features over all classes, 0 for a constant feature.
    """
    variances = covariances if covariances.ndim == 2 else covariance_diagonal(covariances)
    magnitude = np.abs(means)
    if variances.shape[1] != magnitude.shape[1]:
        magnitude = magnitude.max(axis=1, initial=0.0, keepdims=True)
    if len(variances) == 1:
        magnitude = magnitude.max(axis=0, keepdims=True)
    kept = variances > rounding_variance(magnitude)
    if not kept.all():
        pair = kept if covariances.ndim == 2 else kept[:, :, None] & kept[:, None, :]
        covariances = np.where(pair, covariances, 0.0)
    pooled = covariances[0] if len(covariances) == 1 else pooled_covariance(covariances, shares)
    total = total_covariance(pooled, means, shares)
    spread = total if total.ndim == 1 else np.diagonal(total)
    # A feature that only rounding makes vary is constant.
    scale2 = np.where(spread > rounding_variance(magnitude.max(axis=0)), spread, 0.0)
    return covariances, pooled, total, scale2


def _diagonal(means, variances, shares, units):
    variances, pooled, _, scale2 = without_rounding(means, variances, shares)
    informative = scale2 > 0
    unit = np.where(informative, scale2, 1.0)
    floor = np.where(informative, rank_tolerance(1.0, len(unit)), 0.0)
    fill = np.where(informative, np.maximum(pooled / unit, floor), 0.0)
    relative = np.where(informative, variances / unit, 0.0)
    for values in relative:
        zero_negligible(values)
    d = means.shape[1]
    copies = d // len(unit) if len(unit) else 1  # d for a spherical model
    ranks = np.count_nonzero(relative, axis=1) * copies
    filled = np.where(relative > 0, relative, fill) * unit
    filled = np.broadcast_to(filled, (len(filled), d))
    kept = np.broadcast_to(informative, d)
    safe = np.where(kept, filled, 1.0)
    whiteners = np.where(kept, 1 / np.sqrt(safe), 0.0)
    log_dets = np.log(safe).sum(axis=1) + log_volume(units, kept)
    r = int(kept.sum())
    return ClassGaussians(means, shares, filled, None, whiteners, log_dets, ranks, r, units)


def _full(means, covariances, shares, units):
    covariances, pooled, total, scale2 = without_rounding(means, covariances, shares)
    alive = np.flatnonzero(scale2)
    unit = np.sqrt(scale2[alive])
    in_units = (_in_units(S, alive, unit) for S in covariances)
    completed = complete(
        _in_units(total, alive, unit), _in_units(pooled, alive, unit), in_units, len(covariances)
    )
    k, d, r = len(covariances), means.shape[1], completed.whiteners.shape[2]
    whiteners, factors = completed.whiteners, completed.factors
    whiteners /= unit[:, None]
    factors *= unit[:, None]
    if len(alive) < d:  # constant features have rows of zeros
        whiteners, factors = np.zeros((k, d, r)), np.zeros((k, d, r))
        whiteners[:, alive], factors[:, alive] = completed.whiteners, completed.factors
    filled = np.empty((k, d, d))
    for j, rank in enumerate(completed.ranks):
        # What has full rank is kept to the last bit.
        filled[j] = covariances[j] if rank == d else factors[j] @ factors[j].T
    log_dets = completed.log_dets + 2 * np.log(unit).sum() + log_volume(units, alive)
    ranks = completed.ranks
    return ClassGaussians(means, shares, filled, factors, whiteners, log_dets, ranks, r, units)


def _in_units(covariance, features, unit):
    """Covariance of some features, measured in units of their own."""
    return covariance[np.ix_(features, features)] / np.outer(unit, unit)


class Completed(NamedTuple):
    """Covariances after the rank rule: Σ = FFᵀ, Σ⁻¹ = AAᵀ on the directions not ignored.

    A and F (k, d, r); log-determinants and ranks before the rule (k,).
    """

    whiteners: np.ndarray
    factors: np.ndarray
    log_dets: np.ndarray
    ranks: np.ndarray


def complete(total, pooled, covariances, k):
    """The rank rule for k covariances (an iterable) of standardised features."""
    spectrum = eigh(total)
    floor = rank_tolerance(spectrum.values.max(initial=0.0), len(total))
    basis = None  # stands for the identity
    if not (spectrum.values > 0).all():
        basis = spectrum.vectors[:, spectrum.values > 0]
    r = len(total) if basis is None else basis.shape[1]
    fill = _in_basis(pooled, basis)
    A, F = np.empty((k, len(total), r)), np.empty((k, len(total), r))
    log_dets, ranks = np.empty(k), np.empty(k, dtype=int)
    for j, covariance in enumerate(covariances):
        own = _factor(_in_basis(covariance, basis), fill, floor)
        A[j], F[j] = own[:2] if basis is None else (basis @ own[0], basis @ own[1])
        log_dets[j], ranks[j] = own[2:]
    return Completed(A, F, log_dets, ranks)


def _in_basis(covariance, basis):
    return covariance if basis is None else basis.T @ covariance @ basis


def _factor(covariance, fill, floor):
    """A and F with Σ = FFᵀ, Σ⁻¹ = AAᵀ for the completed Σ; its log-determinant; the rank before.

    The directions without a variance are orthogonal to the others, so that neither part's accuracy
    suffers from the other's scale.
    """
    values, R = eigh(covariance)
    kept = values > 0
    if not kept.all():
        N = R[:, ~kept]
        inner = eigh(N.T @ fill @ N)
        values = np.concatenate([np.maximum(inner.values, floor), values[kept]])
        R = np.hstack([N @ inner.vectors, R[:, kept]])
    root = np.sqrt(values)
    return R / root, R * root, np.log(values).sum(), int(kept.sum())


def zca_cor_whiteners(gaussians):
    r"""ZCA-cor whiteners W = V^{-1/2}P^{-1/2} of the classes, (k, d, d); diagonal ones (k, d).

    Σ = V^{1/2}PV^{1/2} with the variances V and the correlations P. Of all whitenings it keeps each
    coordinate closest to its standardised feature; it does not depend on the units or the order of
    the features, and for a diagonal Σ it is the standardisation itself (D, (7)).

    W is a rotation of any other whitener A: with Σ = FFᵀ and F = ΣA, the polar factor O of
    V^{-1/2}F = P^{1/2}O gives W = AOᵀ, without dividing by a small eigenvalue once more.
    """
    if gaussians.diagonal:
        return gaussians.whiteners
    out = np.zeros_like(gaussians.covariances)
    for j, (F, A) in enumerate(zip(gaussians.factors, gaussians.whiteners)):
        variances = row_sq_norms(F)
        # A constant feature's coordinate is exactly 0: it has no part in the rotation.
        alive = np.flatnonzero(variances)
        U, _, Vt = np.linalg.svd(F[alive] / np.sqrt(variances[alive])[:, None], full_matrices=False)
        out[j][:, alive] = A @ (U @ Vt).T
    return out


# --- values that squared distances can be taken of ------------------------------------------------

# Values up to this have squares, and many of those have sums, that stay finite.
LARGEST = 1e140


def in_model_units(X, gaussians):
    """X in the units of the Gaussians, cut where a squared distance would overflow; NaN stays.

    |(x − μ)W| is at most Σ_k |x_k − μ_k|·|W_k| with the rows W_k of W. Each column therefore has a
    limit of its own, and the unit of one column has no influence on another.
    """
    stretch = gaussians.stretch()
    with np.errstate(over="ignore"):  # no limit
        limits = LARGEST / np.maximum(1 / LARGEST, 2 * len(stretch) * stretch)
        limits = scaled(limits, gaussians.units)
    lowest = limits.min(initial=np.inf)
    within = X.max(initial=0.0) <= lowest and X.min(initial=0.0) >= -lowest  # False with NaN
    return scaled(X if within else np.clip(X, -limits, limits), ratio(None, gaussians.units))


def feature_sq_distances(X, gaussians, whiteners, workspace):
    """Z (m, c, d): squared distances per whitened feature (D, (7)); they sum to d².

    It stands in the workspace, class by class, which is faster to write and to sum.
    """
    n_classes, n_features = gaussians.means.shape
    Z = workspace.array("per feature", n_classes, len(X), n_features)
    for j, z in enumerate(gaussians.whitened(X, whiteners, workspace)):
        np.multiply(z, z, out=Z[j])
    return Z.transpose(1, 0, 2)
