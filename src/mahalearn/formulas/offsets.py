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
            first, second = tables[:, rows, i], tables[:, rows, j]
            tie = TIE_RTOL * np.maximum(np.abs(first), np.abs(second)).max(axis=1)
            above = np.arange(len(rows)) < len(members[i])
            cut = best_cuts(first - second, above, weights[i], weights[j], tie)
            delta[:, i, j], delta[:, j, i] = -cut, cut
    return delta.mean(axis=2).reshape(scores.shape[:-2] + (n_classes,))


def best_cuts(values, above, weight_above, weight_below, tie):
    """For each row of values (b, n) the cut t for which "value > t" makes the fewest errors.

    above (n,) says which objects belong above the cut; tie (b,): values that close are equal. Among
    equally good cuts the most central one is taken; of two, the one with the most room around it,
    then the one nearest to 0: the same answer, negated, for the mirrored problem.
    """
    order = np.argsort(values, axis=1, kind="stable")
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
    room = np.where(room > 0, room, 1e-3 * np.maximum(np.abs(values[:, 0]), 1))[:, None]
    low = np.concatenate([values[:, :1] - room, values], axis=1)
    high = np.concatenate([values, values[:, -1:] + room], axis=1)

    # The one or two cuts in the middle of the best.
    count = np.cumsum(best, axis=1)
    first = (count == (count[:, -1:] + 1) // 2).argmax(axis=1)
    second = (count == count[:, -1:] // 2 + 1).argmax(axis=1)
    rows = np.arange(len(values))
    (a_cut, a_gap), (b_cut, b_gap) = (
        ((low[rows, k] + high[rows, k]) / 2, high[rows, k] - low[rows, k]) for k in (first, second)
    )
    wider = b_gap - a_gap
    nearer = np.abs(a_cut) - np.abs(b_cut)
    second_is_better = (wider > tie) | ((np.abs(wider) <= tie) & (nearer > tie))
    return np.where(second_is_better, b_cut, a_cut)


def map_offsets(log_volumes, priors):
    """b_j = −½ ln det_j + ln P(ω_j), shifted to sum to 0."""
    b = np.log(priors) - np.asarray(log_volumes) / 2
    return b - b.mean()
