"""Nearest neighbours in a kernel's space: d² = k_xx − 2k + k_x'x' (A and C, KNN/IKNN)."""

import numpy as np

# Squared distances below this fraction of the self-similarities involved are rounding.
ZERO_RTOL = 1e-12


def nearest(k, diagonal, n_neighbors):
    """Indices (m, n_neighbors) of the nearest training objects, the nearest first.

    k (m, n) rows of queries, diagonal (n,) self-similarities of the training objects. A query's own
    self-similarity is common to all of its distances and is not needed. Of equally near objects the
    first ones are taken, whatever the sorting algorithm.
    """
    d2 = diagonal - 2 * k
    if n_neighbors < d2.shape[1]:
        last = np.partition(d2, n_neighbors - 1, axis=1)[:, n_neighbors - 1 : n_neighbors]
        near = d2 <= last
        out = np.empty((len(d2), n_neighbors), dtype=np.intp)
        plain = near.sum(axis=1) == n_neighbors
        out[plain] = np.nonzero(near[plain])[1].reshape(-1, n_neighbors)
        for i in np.flatnonzero(~plain):
            out[i] = np.argsort(d2[i], kind="stable")[:n_neighbors]
        # In the order of the objects now; a stable sort by distance keeps that order among ties.
        order = np.argsort(np.take_along_axis(d2, out, axis=1), axis=1, kind="stable")
        return np.take_along_axis(out, order, axis=1)
    return np.argsort(d2, axis=1, kind="stable")


def sq_distances(k, diagonal, kxx, index):
    """d² (m, n_neighbors) of the neighbours at `index`; what is rounding becomes exactly 0."""
    near = diagonal[index]
    d2 = kxx[:, None] - 2 * np.take_along_axis(k, index, axis=1) + near
    scale = np.abs(kxx)[:, None] + np.abs(near)
    return np.where(np.abs(d2) <= ZERO_RTOL * scale, 0.0, d2)


def inverse_distance_weights(d2):
    """1/d; where an object is at distance 0 (or has a negative d²), only such objects count."""
    zero = d2 <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = 1 / np.sqrt(np.where(zero, np.inf, d2))
    weights[zero.any(axis=1)] = 0.0
    weights[zero] = 1.0
    return weights


def vote_path(codes, n_classes, weights=None):
    """Votes after 1, 2 … neighbours, (m, n_neighbors, c): the last is that of all of them.

    codes (m, n_neighbors) classes of the neighbours, the nearest first; weights alike.
    """
    votes = (codes[..., None] == np.arange(n_classes)).astype(float)
    if weights is not None:
        votes *= weights[..., None]
    return np.cumsum(votes, axis=1, out=votes)


def votes(codes, n_classes, weights=None):
    """Votes of all neighbours, (m, c)."""
    flat = codes + n_classes * np.arange(len(codes))[:, None]
    w = None if weights is None else weights.ravel()
    counts = np.bincount(flat.ravel(), weights=w, minlength=n_classes * len(codes))
    return counts.reshape(len(codes), n_classes).astype(float)
