"""Offsets b_j of the discriminants f_j = −d²_j/2 + b_j (C, IV-D). They sum to 0."""

import numpy as np

# Differences of scores below this fraction of the largest score are rounding: the objects tie.
TIE_RTOL = 1e-10
# Weighted error counts that differ by less than this fraction of the total weight are equal.
_COUNT_RTOL = 1e-9


def error_offsets(scores, codes, class_weights=None):
    """Offsets that minimise the pairwise training errors.

    scores (n, c) without offsets, codes (n,) the class index of each object, class_weights (c,) the
    weight of an error on an object of each class. For each pair (i, j) the difference
    Δ_ij = b_i − b_j makes the fewest errors on the objects of the two classes; the offsets are the
    least-squares solution over all pairs, which is b_i = Σ_j Δ_ij / c.
    """
    n_classes = scores.shape[1]
    weights = np.ones(n_classes) if class_weights is None else np.asarray(class_weights, float)
    members = [np.flatnonzero(codes == j) for j in range(n_classes)]
    delta = np.zeros((n_classes, n_classes))
    for i in range(n_classes):
        for j in range(i):
            rows = np.concatenate([members[i], members[j]])
            first = np.arange(len(rows)) < len(members[i])
            pair = scores[np.ix_(rows, [i, j])]
            tie = TIE_RTOL * np.abs(pair).max()
            cut = best_cut(pair[:, 0] - pair[:, 1], first, weights[i], weights[j], tie)
            delta[i, j], delta[j, i] = -cut, cut
    return delta.mean(axis=1)


def best_cut(values, above, weight_above, weight_below, tie):
    """The cut t for which the rule "values > t" makes the fewest weighted errors.

    above (n,) says which objects belong above the cut. Values within `tie` of each other are equal.
    Among equally good cuts the most central one is taken, then the one with the most room around
    it, then the one nearest to 0: the same answer, negated, for the mirrored problem.
    """
    order = np.argsort(values, kind="stable")
    values, above = values[order], above[order]
    # Cut k lies before the k-th group of tied values; the last one lies after all of them.
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values) > tie) + 1])
    ends = np.concatenate([starts[1:], [len(values)]]) - 1
    lost_above = np.concatenate([[0], np.cumsum(above)])[np.append(starts, len(values))]
    lost_below = np.concatenate([[0], np.cumsum(~above)])[np.append(starts, len(values))]
    errors = weight_above * lost_above + weight_below * (lost_below[-1] - lost_below)

    # Room around each cut; outside all values it is the mean gap.
    gaps = values[starts[1:]] - values[ends[:-1]]
    room = gaps.mean() if len(gaps) else max(abs(values[0]), 1.0) * 1e-3
    low = np.concatenate([[values[0] - room], values[ends]])
    high = np.concatenate([values[starts], [values[-1] + room]])
    cuts = (low + high) / 2

    slack = _COUNT_RTOL * (weight_above * above.sum() + weight_below * (~above).sum())
    best = np.flatnonzero(errors <= errors.min() + slack)
    off_centre = np.abs(np.arange(len(best)) - (len(best) - 1) / 2)
    chosen = np.lexsort([np.abs(cuts[best]), -(high - low)[best], off_centre])[0]
    return cuts[best[chosen]]


def map_offsets(log_volumes, priors):
    """b_j = −½ ln det_j + ln P(ω_j), shifted to sum to 0."""
    b = np.log(priors) - np.asarray(log_volumes) / 2
    return b - b.mean()
