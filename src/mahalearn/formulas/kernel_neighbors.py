"""Nearest neighbours in a kernel's space: d² = k(x, x) − 2k(x, z) + k(z, z) (A and C, KNN/IKNN)."""

import numpy as np

from .offsets import TIE_RTOL

# Squared distances below this fraction of the self-similarities involved are rounding.
ZERO_RTOL = 1e-12


def nearest(k, diagonal, n_neighbors):
    """Indices (m, n_neighbors) of the nearest training objects, the nearest first.

    k (m, n) rows of queries, diagonal (n,) self-similarities of the training objects. A query's own
    self-similarity is common to all of its distances and is not needed. Where the diagonal is
    constant (RBF) the order is that of k itself: k(z, z) − 2k(x, z) would lose kernel values below
    rounding. Of objects that are equally near but for rounding the first are taken.
    """
    constant = np.ptp(diagonal) <= ZERO_RTOL * np.abs(diagonal).max(initial=0.0)
    values = -k if constant else diagonal - 2 * k
    n = values.shape[1]
    index = np.arange(n) * np.ones((len(values), 1), dtype=np.intp)
    if n_neighbors < n:
        first = np.argpartition(values, n_neighbors - 1, axis=1)
        last = np.take_along_axis(values, first[:, n_neighbors - 1 : n_neighbors], axis=1)
        # All that may tie with the last neighbour.
        bound = last + TIE_RTOL * np.abs(last)
        if constant:  # v − rtol·|v| ≤ bound, solved for v
            near_enough = values <= bound / (1 - TIE_RTOL * np.sign(bound))
        else:
            near_enough = values - TIE_RTOL * (np.abs(diagonal) + 2 * np.abs(k)) <= bound
        candidates = int(near_enough.sum(axis=1).max())
        if candidates < n:
            if candidates > n_neighbors:
                first = np.argpartition(values, candidates - 1, axis=1)
            index = np.sort(first[:, :candidates], axis=1)
    near = np.take_along_axis(values, index, axis=1)
    order = np.argsort(near, axis=1, kind="stable")
    index, near = (np.take_along_axis(a, order, axis=1) for a in (index, near))
    # Runs of values that tie with their neighbour in the order are one group each.
    size = np.abs(near)
    if not constant:
        size = np.abs(diagonal)[index] + 2 * np.abs(np.take_along_axis(k, index, axis=1))
    gap = TIE_RTOL * size[:, 1:]
    group = np.cumsum(np.diff(near, axis=1) > gap, axis=1)
    key = index.copy()
    key[:, 1:] += n * group
    order = np.argsort(key, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1)[:, :n_neighbors]


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


def votes(codes, n_classes, weights=None):
    """Votes of all neighbours, (m, c)."""
    flat = codes + n_classes * np.arange(len(codes))[:, None]
    w = None if weights is None else weights.ravel()
    counts = np.bincount(flat.ravel(), weights=w, minlength=n_classes * len(codes))
    return counts.reshape(len(codes), n_classes).astype(float)
