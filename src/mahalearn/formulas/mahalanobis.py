"""Squared Mahalanobis distances per feature (D, (7)), and the values that they can be taken of."""

import numpy as np

from .units import ratio, scaled

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
