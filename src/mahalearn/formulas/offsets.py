"""Offsets b_j of the discriminants f_j = −d²_j/2 + b_j (C, IV-D). They sum to 0."""

import numpy as np

# Differences of scores below this fraction of the largest score are rounding: the objects tie.
TIE_RTOL = 1e-10
# Weighted error counts that differ by less than this fraction of the total weight are equal.
_COUNT_RTOL = 1e-9


def error_offsets(scores, codes, class_weights=None):
    """Offsets that minimise the pairwise training errors.

    scores (n, c) without offsets, or (b, n, c) for b score tables of the same objects; codes (n,)
    the class index of each object; class_weights (c,) the weight of an error on an object of each
    class. Returns (c,) or (b, c).

    For each pair (i, j) the difference Δ_ij = b_i − b_j makes the fewest errors on the objects of
    the two classes; the offsets are the least-squares solution over all pairs, b_i = Σ_j Δ_ij / c.
    """
    n_classes = scores.shape[-1]
    tables = scores.reshape(-1, *scores.shape[-2:])
    weights = np.ones(n_classes) if class_weights is None else np.asarray(class_weights, float)
    members = [np.flatnonzero(codes == j) for j in range(n_classes)]
    delta = np.zeros((len(tables), n_classes, n_classes))
    for i in range(n_classes):
        for j in range(i):
            rows = np.concatenate([members[i], members[j]])
            above = np.arange(len(rows)) < len(members[i])
            delta[:, i, j] = pair_difference(
                tables[:, rows, i], tables[:, rows, j], above, weights[i], weights[j]
            )
            delta[:, j, i] = -delta[:, i, j]
    return offsets_from_differences(delta).reshape(scores.shape[:-2] + (n_classes,))


def pair_difference(first, second, is_first, weight_first, weight_second):
    """Δ = b_first − b_second with the fewest errors, for each row of scores (b, n) of two classes.

    is_first (n,) says which objects are of the first class.
    """
    values = first - second
    largest = np.maximum(np.abs(first).max(axis=-1), np.abs(second).max(axis=-1))
    tie = np.broadcast_to(TIE_RTOL * largest, len(values))
    return -best_cuts(values, is_first, weight_first, weight_second, tie)


def offsets_from_differences(delta):
    """Offsets (..., c), summing to 0, from the differences Δ (..., c, c) by least squares."""
    return delta.mean(axis=-1)


def best_cuts(values, above, weight_above, weight_below, tie):
    """For each row of values (b, n) the cut t for which "value > t" makes the fewest errors.

    above (n,) says which objects belong above the cut; tie (b,): values that close are equal. Among
    equally good cuts the most central one is taken; of two, the one with the most room around it,
    then the one nearest to 0: the same answer, negated, for the mirrored problem.
    """
    order = np.argsort(values, axis=1)
    values, above = np.take_along_axis(values, order, axis=1), above[order]
    gaps = np.diff(values, axis=1)
    distinct = gaps > tie[:, None]

    # Cut k lies before the k-th value; the last one after all of them. Cuts within a tie are none.
    lost = np.cumsum(np.where(above, weight_above, -weight_below), axis=1)
    errors = np.pad(lost, ((0, 0), (1, 0))) + weight_below * (~above).sum(axis=1, keepdims=True)
    errors[:, 1:-1][~distinct] = np.inf
    slack = _COUNT_RTOL * (weight_above + weight_below) * values.shape[1]
    best = errors <= errors.min(axis=1, keepdims=True) + slack

    # Outside all values the room is the mean gap; where all of them tie, anything.
    room = np.where(distinct, gaps, 0).sum(axis=1) / np.maximum(distinct.sum(axis=1), 1)
    room = np.where(room > 0, room, 1e-3 * np.maximum(np.abs(values[:, 0]), 1))

    # The one or two cuts in the middle of the best.
    row, cut = np.nonzero(best)
    count = np.bincount(row, minlength=len(values))
    start = np.cumsum(count) - count
    first, second = cut[start + (count - 1) // 2], cut[start + count // 2]
    rows = np.arange(len(values))
    (a_cut, a_gap), (b_cut, b_gap) = (_cut_and_gap(values, rows, k, room) for k in (first, second))
    wider = b_gap - a_gap
    nearer = np.abs(a_cut) - np.abs(b_cut)
    second_is_better = (wider > tie) | ((np.abs(wider) <= tie) & (nearer > tie))
    return np.where(second_is_better, b_cut, a_cut)


def _cut_and_gap(values, rows, k, room):
    """The middle and the width of the gap before value k of each row."""
    n = values.shape[1]
    low = np.where(k > 0, values[rows, np.maximum(k - 1, 0)], values[:, 0] - room)
    high = np.where(k < n, values[rows, np.minimum(k, n - 1)], values[:, -1] + room)
    return (low + high) / 2, high - low


def map_offsets(log_volumes, priors):
    """b_j = −½ ln det_j + ln P(ω_j), shifted to sum to 0."""
    b = np.log(priors) - np.asarray(log_volumes) / 2
    return b - b.mean()
