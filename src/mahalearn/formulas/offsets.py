"""Offsets b_j of the discriminants f_j = −d²_j/2 + b_j (C, IV-D). They sum to 0."""

import numpy as np

# Differences of scores below this fraction of their size are rounding: the objects tie. An object
# counts with its own size, or that of half of the objects: one far object does not make all tie.
TIE_RTOL = 1e-10
# Weighted error counts that differ by less than this fraction of the total weight are equal.
_COUNT_RTOL = 1e-9
# Most steps from the least-squares solution towards the pairs' ranges.
N_ITER = 200


def error_offsets(scores, codes, class_weights=None, rounding=0.0, n_iter=N_ITER):
    """Offsets that minimise the pairwise training errors.

    scores (n, c) without offsets, or (b, n, c) for b score tables of the same objects; codes (n,)
    the class index of each object; class_weights (c,) the weight of an error on an object of each
    class; rounding, a number or (b,): what rounding may leave in the scores, where that is more
    than their size tells; n_iter as in offsets_from_differences. Returns (c,) or (b, c).

    For each pair (i, j) the difference Δ_ij = b_i − b_j makes the fewest errors on the objects of
    the two classes; the offsets are the least-squares solution over all pairs.
    """
    n_classes = scores.shape[-1]
    tables = scores.reshape(-1, *scores.shape[-2:])
    weights = np.ones(n_classes) if class_weights is None else np.asarray(class_weights, float)
    delta = no_differences(len(tables), n_classes)
    first, second = np.tril_indices(n_classes, -1)
    if len(first):
        rows, sizes, n_first = _pair_rows(codes, first, second)
        # (b, pairs, objects): all pairs at once, of small arrays.
        one, other = tables[:, rows, first[:, None]], tables[:, rows, second[:, None]]
        above = np.arange(rows.shape[1]) < n_first[:, None]
        differences = _differences(
            one, other, above, weights[first], weights[second], rounding, sizes
        )
        set_difference(delta, first, second, differences)
    return offsets_from_differences(delta, n_iter).reshape(scores.shape[:-2] + (n_classes,))


def _pair_rows(codes, first, second):
    """Objects of each pair of classes (p, n), those of the first before those of the second.

    Shorter rows are filled up with their first object. Also the true lengths (p,) and the numbers
    of objects of the first class (p,).
    """
    counts = np.bincount(codes, minlength=max(first.max(), second.max()) + 1)
    order, starts = np.argsort(codes, kind="stable"), np.cumsum(counts) - counts
    n_first, sizes = counts[first, None], (counts[first] + counts[second])
    place = np.arange(sizes.max())
    position = np.where(
        place < n_first, starts[first, None] + place, starts[second, None] + place - n_first
    )
    return (
        order[np.where(place < sizes[:, None], position, starts[first, None])],
        sizes,
        n_first[:, 0],
    )


def pair_difference(first, second, is_first, weight_first, weight_second, rounding=0.0):
    """Δ = b_first − b_second with the fewest errors: its (lowest, central, highest) value, (3, b).

    first, second (b, n) are scores of the objects of two classes, is_first (n,) says which are of
    the first one; rounding as in error_offsets. Between the lowest and the highest value the errors
    are the same.
    """
    weights = np.array([weight_first]), np.array([weight_second])
    sizes = np.array([first.shape[1]])
    return _differences(first[:, None], second[:, None], is_first[None], *weights, rounding, sizes)[
        :, :, 0
    ]


def _differences(first, second, is_first, weight_first, weight_second, rounding, sizes):
    """The same for p pairs of classes, (3, b, p), from scores (b, p, n).

    is_first (p, n); weights (p,); sizes (p,): how many of the n objects a pair has.
    """
    b, p, n = first.shape
    there = np.arange(n) < sizes[:, None]
    size = np.maximum(np.abs(first), np.abs(second))
    half = np.broadcast_to((sizes[:, None] - 1) // 2, (b, p, 1))
    ascending = np.sort(np.where(there, size, np.inf), axis=-1)
    size = np.maximum(size, np.take_along_axis(ascending, half, axis=-1))
    tie = np.maximum(TIE_RTOL * size, np.reshape(rounding, (-1, 1, 1))).reshape(b * p, n)
    values = np.where(there, first - second, np.inf).reshape(b * p, n)
    each = (np.tile(a, (b, *[1] * (a.ndim - 1))) for a in (is_first, weight_first, weight_second))
    return -best_cuts(values, *each, tie, np.tile(sizes, b))[::-1].reshape(3, b, p)


def no_differences(n_tables, n_classes):
    """Room for the differences of all pairs, (3, b, c, c)."""
    return np.zeros((3, n_tables, n_classes, n_classes))


def set_difference(delta, i, j, difference):
    """Put the difference (3, b) of a pair into delta, both ways; (3, b, p) of several pairs."""
    delta[:, :, i, j], delta[:, :, j, i] = difference, -difference[::-1]


def offsets_from_differences(delta, n_iter=N_ITER):
    """Offsets (b, c), summing to 0, from the differences (3, b, c, c) of all pairs.

    The least-squares solution of b_i − b_j = Δ_ij over the central values is b_i = Σ_j Δ_ij / c.
    With three classes or more it may leave the range where a pair makes its fewest errors although
    other values within the ranges would agree: far classes have wide gaps between them, and their
    centres need not add up. The squared distance to the ranges is then made smallest, starting
    from there: where the first solution is in all of them, it stays. With n_iter = 0 it stays
    anyway: that is the rule as printed (C, IV-D).
    """
    low, centre, high = delta
    b = centre.mean(axis=-1)
    if b.shape[-1] == 2:
        return b
    # The middle half of a range, so that no object comes to lie on the boundary.
    with np.errstate(invalid="ignore"):
        room_low, room_high = (centre - low) / 2, (high - centre) / 2
    low, high = centre - room_low, centre + room_high
    # Of three classes one may be far from the others, and its offset far larger than theirs.
    still = 4 * np.finfo(float).eps * np.abs(b).max(axis=-1, keepdims=True)
    c = b.shape[-1]
    for _ in range(n_iter):  # of small arrays: the plain functions cost least
        change = b[:, :, None] - b[:, None]
        np.maximum(change, low, out=change)
        np.minimum(change, high, out=change)
        new = np.add.reduce(change, axis=-1) / c
        step = np.abs(new - b)
        b = new
        if (step <= still).all():
            break
    return b


def best_cuts(values, above, weight_above, weight_below, tie, sizes):
    """For each row of values (b, n) the cut t for which "value > t" makes the fewest errors.

    Returns (3, b): the lower end, the middle and the upper end of the gap it lies in.

    above (b, n) says which objects belong above the cut; weights (b,) of errors on these and on the
    others; tie (b, n): values that close to one are equal to it; sizes (b,): how many values a row
    has, the others being +inf. Among equally good cuts the most central one is taken; of two, the
    one with the most room around it, then the one nearest to 0: the same answer, negated, for the
    mirrored problem.
    """
    order, there = np.argsort(values, axis=1), np.arange(values.shape[1]) < sizes[:, None]
    n_below = np.count_nonzero(~above & there, axis=1)
    order += values.shape[1] * np.arange(len(values))[:, None]  # places in the flat arrays
    values, above, tie = (a.take(order) for a in (values, above, tie))
    with np.errstate(invalid="ignore"):
        gaps = np.diff(values, axis=1)
    distinct = gaps > np.maximum(tie[:, :-1], tie[:, 1:])

    # Cut k lies before the k-th value; the last one after all of them. Cuts within a tie are none.
    lost = np.where(above, weight_above[:, None], -weight_below[:, None])
    lost = np.cumsum(np.where(there, lost, 0.0), axis=1)
    errors = np.pad(lost, ((0, 0), (1, 0))) + (weight_below * n_below)[:, None]
    errors[:, 1:-1][~distinct] = np.inf
    errors[:, -1][sizes < values.shape[1]] = np.inf  # the cut after all values is before these
    slack = _COUNT_RTOL * (weight_above + weight_below) * sizes
    best = errors <= errors.min(axis=1, keepdims=True) + slack[:, None]

    # Outside all values the room is the mean gap; where all of them tie, anything.
    inside = distinct & there[:, 1:]
    room = np.where(inside, gaps, 0).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    room = np.where(room > 0, room, 1e-3 * np.maximum(np.abs(values[:, 0]), 1))

    # The one or two cuts in the middle of the best.
    row, cut = np.nonzero(best)
    count = np.bincount(row, minlength=len(values))
    start = np.cumsum(count) - count
    first, second = cut[start + (count - 1) // 2], cut[start + count // 2]
    rows = np.arange(len(values))
    a, b = (_gap(values, rows, k, room, sizes) for k in (first, second))
    wider = (b[2] - b[0]) - (a[2] - a[0])
    nearer = np.abs(a[1]) - np.abs(b[1])
    ends = (np.clip(k + step, 0, sizes - 1) for k in (first, second) for step in (-1, 0))
    tie = np.max([tie[rows, end] for end in ends], axis=0)
    second_is_better = (wider > tie) | ((np.abs(wider) <= tie) & (nearer > tie))
    low, cut, high = np.where(second_is_better, b, a)
    # Beyond all values there is no end.
    k = np.where(second_is_better, second, first)
    return np.stack([np.where(k > 0, low, -np.inf), cut, np.where(k < sizes, high, np.inf)])


def _gap(values, rows, k, room, sizes):
    """The ends and the middle of the gap before value k of each row, (3, b)."""
    low = np.where(k > 0, values[rows, np.maximum(k - 1, 0)], values[:, 0] - room)
    last = values[rows, sizes - 1]
    high = np.where(k < sizes, values[rows, np.minimum(k, sizes - 1)], last + room)
    return np.stack([low, (low + high) / 2, high])


def map_offsets(log_volumes, priors):
    """b_j = −½ ln det_j + ln P(ω_j), shifted to sum to 0; log_volumes (c,) or (c, r)."""
    log_volumes = np.asarray(log_volumes)
    b = np.log(priors).reshape(-1, *[1] * (log_volumes.ndim - 1)) - log_volumes / 2
    return b - b.mean(axis=0)


def winners(scores, rounding=0.0):
    """Index of the winning class of each row: of those that tie with the largest score the first.

    scores (..., c), −inf for classes that cannot win; rounding: what it may leave in the scores,
    where that is more than their size tells (any shape that broadcasts with scores[..., 0]). Two
    scores tie by their own size: that of a third class, far away or tight, says nothing about them.
    """
    best = scores.max(axis=-1, keepdims=True)
    size = np.maximum(_size(scores), _size(best))
    tie = np.maximum(TIE_RTOL * size, np.asarray(rounding)[..., None])
    return (scores >= best - tie).argmax(axis=-1)


def settled(values, step):
    """Values (n, c) without the digits that are rounding, for what compares objects.

    step (c,), or a number. Closed forms compute an object's distance to its own class in another
    way than to the others; in the digits that rounding leaves, that tells the class.
    """
    step = np.asarray(step, dtype=float)
    if not step.any():
        return values
    rounds = np.isfinite(values) & (step > 0)
    unit = np.where(step > 0, step, 1.0)
    return np.where(rounds, np.round(values / unit) * unit, values)


def settling_step(values, rounding=0.0):
    """The steps (c,) of `settled` for values (n, c) of this size: what rounding may leave in them.

    Each column has its own: the distances to one class may be far larger than those to another.
    """
    return settling_steps(values, np.median(rounding))


def settling_steps(values, rounding):
    """The same for a path: steps (c, r) of values (n, c, r) with rounding (r,)."""
    return np.maximum(TIE_RTOL * np.median(_size(values), axis=0), rounding)


def _size(scores):
    """Absolute values, 0 for what is not finite."""
    return np.abs(np.where(np.isfinite(scores), scores, 0.0))
