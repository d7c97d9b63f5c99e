"""The recurrences of edit distances and elastic measures, compiled by numba where it is installed.

Each function compares two series a (channels, n) and b (channels, m). D(i, j) is the cost of the
best alignment of the first i points of a with the first j points of b. Only cells in the band are
visited: with e = n − m,

    i − radius − max(0, e)  ≤  j  ≤  i + radius + max(0, −e),

which for series of equal length is |i − j| ≤ radius. Cells outside of the band are infinite. DTW,
Fréchet, MSM and TWE go along the diagonals i + j = d, whose cells do not depend on each other, so
that the processor computes several at once. The edit distance and its kin (ERP, EDR, LCSS) go by
rows, which costs less for short sequences such as words.

Without numba the same functions run in plain Python: the same numbers, a few hundred times slower.
This module imports numba when it is itself imported, so it is imported inside the function that
needs it.
"""

import math

import numpy as np

from ._series import ANGLE, DISTANCE, MATCH, TABLE

try:
    from numba import njit as _njit
except ImportError:
    COMPILED = False

    def _compiled(function):
        return function

    _compiled_generator = _inlined = _compiled

else:
    COMPILED = True
    _compiled = _njit(cache=True, nogil=True)
    _inlined = _njit(inline="always")  # for what is called once in each row
    # A generator that was loaded from the cache cannot be compiled into a new caller: numba raises
    # a KeyError in the first process that uses another measure.
    _compiled_generator = _njit(nogil=True)


@_compiled
def _diagonals(n):
    """D on the diagonals i + j = d, d − 1 and d − 2, place i for row i, at d = 2."""
    two = np.full(n + 2, np.inf)
    two[0] = 0.0
    return np.full(n + 2, np.inf), np.full(n + 2, np.inf), two


@_compiled
def _diagonal(d, n, m, radius):
    """First and last i of the cells (i, d − i) in the band, both counted from 1."""
    right, below = radius + max(0, m - n), radius + max(0, n - m)
    return max(1, d - m, (d - right + 1) // 2), min(n, d - 1, (d + below) // 2)


@_compiled
def _dtw_cells(out, corner, above, left, x, y):
    """The cells of a diagonal, series of one channel: a loop that the compiler vectorises."""
    for k in range(len(out)):
        best = above[k] if above[k] < corner[k] else corner[k]
        best = left[k] if left[k] < best else best
        gap = x[k] - y[k]
        out[k] = gap * gap + best


@_compiled
def _sq_gaps(out, a, back, i, j):
    """out[k] = ‖a_{i+k} − back_{j+k}‖², the points counted from 0."""
    out[:] = 0.0
    for c in range(len(a)):
        x, y = a[c, i:], back[c, j:]
        for k in range(len(out)):
            gap = x[k] - y[k]
            out[k] += gap * gap


@_compiled
def _distances(out, a, back, i, j):
    """The same, not squared."""
    if len(a) == 1:
        x, y = a[0, i:], back[0, j:]
        for k in range(len(out)):
            out[k] = abs(x[k] - y[k])
    else:
        _sq_gaps(out, a, back, i, j)
        for k in range(len(out)):
            out[k] = math.sqrt(out[k])


@_compiled
def _warping_cells(out, corner, above, left, largest):
    """The cells of a diagonal from their squared distances, which stand in `out`."""
    for k in range(len(out)):
        best = above[k] if above[k] < corner[k] else corner[k]
        best = left[k] if left[k] < best else best
        out[k] = max(out[k], best) if largest else out[k] + best


@_compiled
def _warp(a, b, radius, largest):
    """Dynamic time warping: H. Sakoe and S. Chiba, IEEE Trans. ASSP 26, 1978.

    D(i, j) = ‖a_i − b_j‖² + min(D(i−1, j−1), D(i−1, j), D(i, j−1)); the distance is √D(n, m).
    largest: the discrete Fréchet distance (T. Eiter and H. Mannila, TU Wien, CD-TR 94/64, 1994),
    which takes the larger of the two terms instead of their sum.
    """
    n, m = a.shape[1], b.shape[1]
    back = b[:, ::-1].copy()
    now, one, two = _diagonals(n)
    for d in range(2, n + m + 1):
        low, high = _diagonal(d, n, m, radius)
        i, j, out = low - 1, low + m - d, now[low : high + 1]
        if len(a) == 1 and not largest:
            _dtw_cells(out, two[i:], one[i:], one[low:], a[0, i:], back[0, j:])
        else:
            _sq_gaps(out, a, back, i, j)
            _warping_cells(out, two[i:], one[i:], one[low:], largest)
        now[i] = now[high + 1] = np.inf
        now, one, two = two, now, one
    return math.sqrt(one[n])


@_compiled
def _outside(x, y, z):
    """How far x lies outside of the interval between y and z."""
    low, high = (y, z) if y < z else (z, y)
    return low - x if x < low else (x - high if x > high else 0.0)


@_compiled
def _msm_cells(out, corner, above, left, x, y, cost):
    """The cells of a diagonal; x[k + 1] meets y[k], x[k] and y[k + 1] come before them."""
    for k in range(len(out)):
        value = corner[k] + abs(x[k + 1] - y[k])
        other = above[k] + cost + _outside(x[k + 1], x[k], y[k])
        value = other if other < value else value
        other = left[k] + cost + _outside(y[k], y[k + 1], x[k + 1])
        out[k] = other if other < value else value


@_compiled
def _msm(a, b, radius, cost):
    """Move–split–merge: A. Stefan, V. Athitsos and G. Das, IEEE Trans. KDE 25, 2013.

    D(i, j) = min(D(i−1, j−1) + |a_i − b_j|, D(i−1, j) + C(a_i, a_{i−1}, b_j),
    D(i, j−1) + C(b_j, b_{j−1}, a_i)) with C(x, y, z) = c + the distance of x from the interval
    between y and z; summed over the channels.
    """
    n, m = a.shape[1], b.shape[1]
    total = 0.0
    for c in range(len(a)):
        # The points before the first are met only beside infinite values of D.
        x, back = np.append(a[c, :1], a[c]), np.append(b[c, ::-1], b[c, :1])
        now, one, two = _diagonals(n)
        for d in range(2, n + m + 1):
            low, high = _diagonal(d, n, m, radius)
            i, out = low - 1, now[low : high + 1]
            _msm_cells(out, two[i:], one[i:], one[low:], x[i:], back[low + m - d :], cost)
            now[i] = now[high + 1] = np.inf
            now, one, two = two, now, one
        total += one[n]
    return total


@_inlined
def _costs(out, a, i, b, low, high, kind, size, tolerance, table):
    """out[j]: the cost of replacing a_i by b_j for low ≤ j < high, the points counted from 0.

    kind : DISTANCE ‖x − y‖; ANGLE the shorter arc on a circle of the circumference `size`; MATCH 0
    if no channel differs by more than its `tolerance`, else `size`; TABLE table[x, y] of codes.
    """
    x = a[0, i]
    if kind == TABLE:
        for j in range(low, high):
            out[j] = table[int(x), int(b[0, j])]
    elif kind == ANGLE:
        for j in range(low, high):
            gap = abs(x - b[0, j])
            if gap >= size:  # a remainder is slow, and seldom needed
                gap %= size
            out[j] = min(gap, size - gap)
    elif kind == MATCH:
        for j in range(low, high):
            out[j] = 0.0 if abs(x - b[0, j]) <= tolerance[0] else size
        for c in range(1, len(a)):
            for j in range(low, high):
                out[j] = out[j] if abs(a[c, i] - b[c, j]) <= tolerance[c] else size
    elif len(a) == 1:
        for j in range(low, high):
            out[j] = abs(x - b[0, j])
    else:
        for j in range(low, high):
            total = 0.0
            for c in range(len(a)):
                gap = a[c, i] - b[c, j]
                total += gap * gap
            out[j] = math.sqrt(total)


@_compiled
def _edit(a, b, radius, gap_a, gap_b, kind, size, tolerance, table, row, cost):
    """Edit distance: R. A. Wagner and M. J. Fischer, Journal of the ACM 21, 1974.

    D(i, j) = min(D(i−1, j−1) + c(a_i, b_j), D(i−1, j) + gap_a(i), D(i, j−1) + gap_b(j)), and
    D(i, 0), D(0, j) are the sums of what is left out; for c see `_costs`. row, cost (m + 1,) are
    memory: row[j] is D(i − 1, j) until D(i, j) takes its place.
    """
    n, m = a.shape[1], b.shape[1]
    below, right = radius + max(0, n - m), radius + max(0, m - n)
    row[0] = 0.0
    for j in range(m):
        row[j + 1] = row[j] + gap_b[j] if j < right else np.inf
    for i in range(n):
        low, high = max(0, i - below), min(m, i + right + 1)
        _costs(cost, a, i, b, low, high, kind, size, tolerance, table)
        for j in range(low, high):
            cost[j] = min(row[j + 1] + gap_a[i], row[j] + cost[j])
        # Only this last step of a row has to wait for its left neighbour.
        left = row[0] + gap_a[i] if i < below else np.inf
        row[low] = left
        for j in range(low, high):
            left += gap_b[j]
            if cost[j] < left:
                left = cost[j]
            row[j + 1] = left
    return row[m]


@_compiled
def _norms(a, origin):
    """‖a_i − origin‖ of each point."""
    out = np.zeros(a.shape[1])
    for c in range(a.shape[0]):
        for i in range(a.shape[1]):
            out[i] += (a[c, i] - origin) ** 2
    return np.sqrt(out)


@_compiled
def _erp(a, b, radius, gap):
    """Edit distance with real penalty: L. Chen and R. Ng, VLDB 2004.

    The edit distance with c(x, y) = ‖x − y‖, where leaving out x costs ‖x − g‖.
    """
    gaps, memory = (_norms(a, gap), _norms(b, gap)), np.empty((2, b.shape[1] + 1))
    nothing = np.zeros((1, 1))
    return _edit(a, b, radius, *gaps, DISTANCE, 0.0, nothing[0], nothing, memory[0], memory[1])


@_compiled
def _matching(a, b, radius, tolerance, cost):
    """The edit distance whose gaps cost 1, and points that do not match `cost`.

    Points match if no channel differs by more than its tolerance.
    """
    gaps, memory = (np.ones(a.shape[1]), np.ones(b.shape[1])), np.empty((2, b.shape[1] + 1))
    nothing = np.zeros((1, 1))
    return _edit(a, b, radius, *gaps, MATCH, cost, tolerance, nothing, memory[0], memory[1])


@_compiled
def _lcss(a, b, radius, tolerance):
    """Longest common subsequence: M. Vlachos, G. Kollios and D. Gunopulos, ICDE 2002.

    The dissimilarity is 1 − L/min(n, m), L the largest number of matches in the band. If points
    that do not match cost as much as two gaps, the edit distance is n + m − 2L.
    """
    n, m = a.shape[1], b.shape[1]
    return 1 - (n + m - _matching(a, b, radius, tolerance, 2.0)) / 2 / min(n, m)


@_compiled
def _steps(a):
    """‖a_i − a_{i−1}‖ of each point; the point before the first is 0."""
    out = np.zeros(a.shape[1])
    for c in range(a.shape[0]):
        before = 0.0
        for i in range(a.shape[1]):
            out[i] += (a[c, i] - before) ** 2
            before = a[c, i]
    return np.sqrt(out)


@_compiled
def _twe_cells(out, corner, above, left, gap, before, step_a, step_b, late, stiffness, cost):
    """The cells of a diagonal; late is i − j of the first of them."""
    for k in range(len(out)):
        value = corner[k] + gap[k] + before[k] + 2 * stiffness * abs(late + 2.0 * k)
        other = above[k] + step_a[k] + stiffness + cost
        value = other if other < value else value
        other = left[k] + step_b[k] + stiffness + cost
        out[k] = other if other < value else value


@_compiled
def _twe(a, b, radius, stiffness, cost):
    """Time warp edit distance: P.-F. Marteau, IEEE Trans. PAMI 31, 2009.

    D(i, j) = min(D(i−1, j−1) + ‖a_i − b_j‖ + ‖a_{i−1} − b_{j−1}‖ + 2ν|i − j|,
    D(i−1, j) + ‖a_i − a_{i−1}‖ + ν + λ, D(i, j−1) + ‖b_j − b_{j−1}‖ + ν + λ), a_0 = b_0 = 0.
    """
    n, m = a.shape[1], b.shape[1]
    back = b[:, ::-1].copy()
    step_a, step_b = _steps(a), _steps(b)[::-1].copy()
    size_a, size_b = _norms(a, 0.0), _norms(b, 0.0)
    now, one, two = _diagonals(n)
    # ‖a_i − b_j‖ on the same diagonals, place i; those of the points 0 are norms.
    gap, gap_one, gap_two = np.zeros(n + 2), np.zeros(n + 2), np.zeros(n + 2)
    gap_one[0], gap_one[1] = size_b[0], size_a[0]
    for d in range(2, n + m + 1):
        low, high = _diagonal(d, n, m, radius)
        i, j, out, length = low - 1, low + m - d, now[low : high + 1], gap[low : high + 1]
        _distances(length, a, back, i, j)
        _twe_cells(
            out,
            two[i:],
            one[i:],
            one[low:],
            length,
            gap_two[i:],
            step_a[i:],
            step_b[j:],
            2.0 * low - d,
            stiffness,
            cost,
        )
        if d <= m:
            gap[0] = size_b[d - 1]
        if d <= n:
            gap[d] = size_a[d - 1]
        now[i] = now[high + 1] = np.inf
        now, one, two = two, now, one
        gap, gap_one, gap_two = gap_two, gap, gap_one
    return one[n]


@_compiled
def _at(series, i):
    """Series i of (values, starts): the (channels, n) block of values from channels·starts[i]."""
    values, starts = series
    channels = len(values) // starts[-1]
    block = values[channels * starts[i] : channels * starts[i + 1]]
    return block.reshape((channels, starts[i + 1] - starts[i]))


@_compiled_generator
def _pairs(A, B, window, same):
    """All pairs of series of A and B, or each pair of A once: i, j, both series, the radius.

    A, B : see `_at`; window : share of the longer series; same : A is B.
    """
    for i in range(len(A[1]) - 1):
        a = _at(A, i)
        for j in range(i + 1 if same else 0, len(B[1]) - 1):
            b = _at(B, j)
            # 0.07·100 is a little more than 7
            yield i, j, a, b, int(window * max(a.shape[1], b.shape[1]) + 1e-9)


# Each of these is compiled when it is first called. They fill out[i, j], its upper triangle where
# `same`.


@_compiled
def _all_dtw(A, B, window, same, out):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _warp(a, b, radius, False)


@_compiled
def _all_frechet(A, B, window, same, out):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _warp(a, b, radius, True)


@_compiled
def _all_msm(A, B, window, same, out, cost):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _msm(a, b, radius, cost)


@_compiled
def _all_erp(A, B, window, same, out, gap):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _erp(a, b, radius, gap)


@_compiled
def _all_twe(A, B, window, same, out, stiffness, cost):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _twe(a, b, radius, stiffness, cost)


# Tolerances are (series, channels); the larger one of a pair counts.


@_compiled
def _all_lcss(A, B, window, same, out, tolerance_a, tolerance_b):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        out[i, j] = _lcss(a, b, radius, np.maximum(tolerance_a[i], tolerance_b[j]))


@_compiled
def _all_edr(A, B, window, same, out, tolerance_a, tolerance_b):
    for i, j, a, b, radius in _pairs(A, B, window, same):
        # Edit distance on real sequences: L. Chen, M. T. Özsu and V. Oria, SIGMOD 2005.
        tolerance = np.maximum(tolerance_a[i], tolerance_b[j])
        out[i, j] = _matching(a, b, radius, tolerance, 1.0)


@_compiled
def _all_edit(A, B, window, same, out, deletion, insertion, kind, size, table):
    longest = max(np.diff(A[1]).max(), np.diff(B[1]).max())
    gap_a, gap_b = np.full(longest, deletion), np.full(longest, insertion)
    row, cost, tolerance = np.empty(longest + 1), np.empty(longest + 1), np.zeros(1)
    for i in range(len(out)):  # words are short: the generator would take longer than they do
        a = _at(A, i)
        for j in range(i + 1 if same else 0, out.shape[1]):
            b = _at(B, j)
            out[i, j] = _edit(a, b, longest, gap_a, gap_b, kind, size, tolerance, table, row, cost)


ALL_PAIRS = {
    "dtw": _all_dtw,
    "frechet": _all_frechet,
    "msm": _all_msm,
    "erp": _all_erp,
    "twe": _all_twe,
    "lcss": _all_lcss,
    "edr": _all_edr,
    "edit": _all_edit,
}
