"""Squared Mahalanobis distances in the input space (D, (2)), in total and per feature (D, (7))."""

import numpy as np

from .linalg import row_sq_norms

# Values up to this have squares, and many of those have sums, that stay finite.
LARGEST = 1e140


def clip_to_finite(X, gaussians):
    """X, its values cut where a squared distance would overflow; NaN stays."""
    W = gaussians.whiteners
    # |(x − μ)W| is at most the length of x − μ times the norm of W.
    limit = LARGEST / max(1.0, np.sqrt(X.shape[1]) * np.linalg.norm(W.ravel()))
    within = X.max(initial=0.0) <= limit and X.min(initial=0.0) >= -limit  # False with NaN
    return X if within else np.clip(X, -limit, limit)


def whitened(X, gaussians, whiteners, workspace):
    """z = (x − μ_j)W_j for each class in turn: arrays (m, r) that the caller may overwrite.

    Each is valid only until the next is asked for.
    """
    means = gaussians.means
    buffer = workspace.array("centred", *X.shape)
    if gaussians.diagonal:
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


def sq_distances(X, gaussians, workspace):
    """d² (m, c) of rows to classes."""
    out = np.empty((len(X), len(gaussians.means)))
    for j, z in enumerate(whitened(X, gaussians, gaussians.whiteners, workspace)):
        out[:, j] = row_sq_norms(z)
    return out


def feature_sq_distances(X, gaussians, whiteners, workspace):
    """Z (m, c, d): squared distances per whitened feature (D, (7)); they sum to d².

    It stands in the workspace, class by class, which is faster to write and to sum.
    """
    n_classes, n_features = gaussians.means.shape
    Z = workspace.array("per feature", n_classes, len(X), n_features)
    for j, z in enumerate(whitened(X, gaussians, whiteners, workspace)):
        np.multiply(z, z, out=Z[j])
    return Z.transpose(1, 0, 2)
