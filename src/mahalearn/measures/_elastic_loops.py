"""The recurrences of the elastic measures, compiled by numba where it is installed.

Each function compares two series a (channels, n) and b (channels, m). D(i, j) is the cost of the
best alignment of the first i points of a with the first j points of b. Only cells in the band are
visited: with e = n − m,

    i − radius − max(0, e)  ≤  j  ≤  i + radius + max(0, −e),

which for series of equal length is |i − j| ≤ radius. Cells outside of the band are infinite. DTW
and MSM go along the diagonals i + j = d, whose cells do not depend on each
other, so that the processor computes several at once. The others keep a row of D: row[j] is
D(i − 1, j) until D(i, j) takes its place.

Without numba the same functions run in plain Python: the same numbers, a few hundred times slower.
This module imports numba when it is itself imported, so it is imported inside the function that
needs it.
"""

import math

import numpy as np

try:
    from numba import njit as _njit
except ImportError:
    COMPILED = False

    def _compiled(function):
        return function

else:
    COMPILED = True
    _compiled = _njit(cache=True, nogil=True)

METHODS = ("dtw", "msm", "erp", "twe", "lcss", "edr", "frechet")


@_compiled
def _band(i, n, m, radius):
    """First and last column of row i, both counted from 1."""
    return max(1, i - radius - max(0, n - m)), min(m, i + radius + max(0, m - n))


@_compiled
def _sq_distances(a, i, b, low, high, out):
    """out[j] = ‖a_i − b_j‖² for low ≤ j ≤ high, the points counted from 1."""
    for j in range(low, high + 1):
        out[j] = 0.0
    for c in range(a.shape[0]):
        x = a[c, i - 1]
        for j in range(low, high + 1):
            gap = x - b[c, j - 1]
            out[j] += gap * gap


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
def _dtw_cells_of_channels(out, corner, above, left, a, back, i, j):
    """The same for several channels, which begin at i and j."""
    out[:] = 0.0
    for c in range(len(a)):
        x, y = a[c, i:], back[c, j:]
        for k in range(len(out)):
            gap = x[k] - y[k]
            out[k] += gap * gap
    for k in range(len(out)):
        best = above[k] if above[k] < corner[k] else corner[k]
        out[k] += left[k] if left[k] < best else best


@_compiled
def _dtw(a, b, radius):
    """Dynamic time warping: H. Sakoe and S. Chiba, IEEE Trans. ASSP 26, 1978.

    D(i, j) = ‖a_i − b_j‖² + min(D(i−1, j−1), D(i−1, j), D(i, j−1)); the distance is √D(n, m).
    """
    n, m = a.shape[1], b.shape[1]
    back = b[:, ::-1].copy()
    now, one, two = _diagonals(n)
    for d in range(2, n + m + 1):
        low, high = _diagonal(d, n, m, radius)
        i, j, out = low - 1, low + m - d, now[low : high + 1]
        if len(a) == 1:
            _dtw_cells(out, two[i:], one[i:], one[low:], a[0, i:], back[0, j:])
        else:
            _dtw_cells_of_channels(out, two[i:], one[i:], one[low:], a, back, i, j)
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


@_compiled
def _frechet(a, b, radius):
    """Discrete Fréchet distance: T. Eiter and H. Mannila, TU Wien, CD-TR 94/64, 1994.

    D(i, j) = max(‖a_i − b_j‖, min(D(i−1, j−1), D(i−1, j), D(i, j−1))).
    """
    n, m = a.shape[1], b.shape[1]
    row, cost = np.full(m + 1, np.inf), np.zeros(m + 1)
    row[0] = 0.0
    for i in range(1, n + 1):
        low, high = _band(i, n, m, radius)
        _sq_distances(a, i, b, low, high, cost)
        corner = row[low - 1]
        row[low - 1] = np.inf
        for j in range(low, high + 1):
            value = max(cost[j], min(corner, row[j], row[j - 1]))
            corner = row[j]
            row[j] = value
    return math.sqrt(row[m])


@_compiled
def _norms(a, origin):
    """‖a_i − origin‖ of each point, at i counted from 1; 0 at 0."""
    out = np.zeros(a.shape[1] + 1)
    for c in range(a.shape[0]):
        for i in range(a.shape[1]):
            out[i + 1] += (a[c, i] - origin) ** 2
    return np.sqrt(out)


@_compiled
def _erp(a, b, radius, gap):
    """Edit distance with real penalty: L. Chen and R. Ng, VLDB 2004.

    D(i, j) = min(D(i−1, j−1) + ‖a_i − b_j‖, D(i−1, j) + ‖a_i − g‖, D(i, j−1) + ‖b_j − g‖), and
    D(i, 0), D(0, j) are the sums of what is left out.
    """
    n, m = a.shape[1], b.shape[1]
    out_a, out_b = _norms(a, gap), _norms(b, gap)
    row, cost = np.full(m + 1, np.inf), np.zeros(m + 1)
    row[0] = 0.0
    for j in range(1, _band(0, n, m, radius)[1] + 1):
        row[j] = row[j - 1] + out_b[j]
    for i in range(1, n + 1):
        low, high = _band(i, n, m, radius)
        _sq_distances(a, i, b, low, high, cost)
        corner = row[low - 1]
        in_band = i - radius - max(0, n - m) <= 0
        row[low - 1] = corner + out_a[i] if in_band else np.inf
        for j in range(low, high + 1):
            value = min(corner + math.sqrt(cost[j]), row[j] + out_a[i], row[j - 1] + out_b[j])
            corner = row[j]
            row[j] = value
    return row[m]


@_compiled
def _steps(a):
    """‖a_i − a_{i−1}‖ of each point, at i counted from 1; the point before the first is 0."""
    out = np.zeros(a.shape[1] + 1)
    for c in range(a.shape[0]):
        before = 0.0
        for i in range(a.shape[1]):
            out[i + 1] += (a[c, i] - before) ** 2
            before = a[c, i]
    return np.sqrt(out)


@_compiled
def _twe(a, b, radius, stiffness, cost):
    """Time warp edit distance: P.-F. Marteau, IEEE Trans. PAMI 31, 2009.

    D(i, j) = min(D(i−1, j−1) + ‖a_i − b_j‖ + ‖a_{i−1} − b_{j−1}‖ + 2ν|i − j|,
    D(i−1, j) + ‖a_i − a_{i−1}‖ + ν + λ, D(i, j−1) + ‖b_j − b_{j−1}‖ + ν + λ), a_0 = b_0 = 0.
    """
    n, m = a.shape[1], b.shape[1]
    step_a, step_b, size_a = _steps(a), _steps(b), _norms(a, 0.0)
    row, now = np.full(m + 1, np.inf), np.zeros(m + 1)
    before = _norms(b, 0.0)  # ‖a_0 − b_j‖
    row[0] = 0.0
    for i in range(1, n + 1):
        low, high = _band(i, n, m, radius)
        _sq_distances(a, i, b, low, high, now)
        corner = row[low - 1]
        row[low - 1] = np.inf
        for j in range(low, high + 1):
            now[j] = math.sqrt(now[j])
            value = corner + now[j] + before[j - 1] + 2 * stiffness * abs(i - j)
            value = min(value, row[j] + step_a[i] + stiffness + cost)
            value = min(value, row[j - 1] + step_b[j] + stiffness + cost)
            corner = row[j]
            row[j] = value
        if low == 1:
            now[0] = size_a[i]
        before, now = now, before
    return row[m]


@_compiled
def _matches(a, i, b, j, epsilon):
    """True if a_i and b_j, counted from 1, differ by at most ε in every channel."""
    for c in range(a.shape[0]):  # noqa: SIM110, numba compiles no generators
        if abs(a[c, i - 1] - b[c, j - 1]) > epsilon[c]:
            return False
    return True


@_compiled
def _lcss(a, b, radius, epsilon):
    """Longest common subsequence: M. Vlachos, G. Kollios and D. Gunopulos, ICDE 2002.

    L(i, j) = L(i−1, j−1) + 1 if a_i and b_j match and are in the band, else
    max(L(i−1, j), L(i, j−1)); the dissimilarity is 1 − L(n, m)/min(n, m).
    """
    n, m = a.shape[1], b.shape[1]
    row = np.zeros(m + 1)
    reached = 0
    for i in range(1, n + 1):
        low, high = _band(i, n, m, radius)
        for j in range(reached + 1, high + 1):  # beyond the band nothing was added
            row[j] = row[j - 1]
        reached = high
        corner = row[low - 1]
        for j in range(low, high + 1):
            value = corner + 1 if _matches(a, i, b, j, epsilon) else max(row[j], row[j - 1])
            corner = row[j]
            row[j] = value
    return 1 - row[m] / min(n, m)


@_compiled
def _edr(a, b, radius, epsilon):
    """Edit distance on real sequences: L. Chen, M. T. Özsu and V. Oria, SIGMOD 2005.

    D(i, j) = min(D(i−1, j−1) + [a_i and b_j do not match], D(i−1, j) + 1, D(i, j−1) + 1).
    """
    n, m = a.shape[1], b.shape[1]
    row = np.full(m + 1, np.inf)
    for j in range(_band(0, n, m, radius)[1] + 1):
        row[j] = j
    for i in range(1, n + 1):
        low, high = _band(i, n, m, radius)
        corner = row[low - 1]
        row[low - 1] = i if i - radius - max(0, n - m) <= 0 else np.inf
        for j in range(low, high + 1):
            value = corner if _matches(a, i, b, j, epsilon) else corner + 1
            value = min(value, row[j] + 1, row[j - 1] + 1)
            corner = row[j]
            row[j] = value
    return row[m]


@_compiled
def all_pairs(
    A, a_starts, a_epsilon, B, b_starts, b_epsilon, method, window, first, second, same, out
):
    """Fill out[i, j] with the measure of series i of A and j of B; same: A is B, out is 0.

    A : (channels·points,), series i as a (channels, n) block from channels·a_starts[i]
    a_epsilon : (series, channels), tolerances; of a pair the larger one counts
    method : place in METHODS; window : share of the longer series; first, second : its parameters
    """
    channels = a_epsilon.shape[1]
    for i in range(len(a_starts) - 1):
        n = a_starts[i + 1] - a_starts[i]
        a = A[channels * a_starts[i] : channels * a_starts[i + 1]].reshape((channels, n))
        for j in range(i + 1 if same else 0, len(b_starts) - 1):
            m = b_starts[j + 1] - b_starts[j]
            b = B[channels * b_starts[j] : channels * b_starts[j + 1]].reshape((channels, m))
            radius = int(window * max(n, m) + 1e-9)  # 0.07·100 is a little more than 7
            if method == 0:
                value = _dtw(a, b, radius)
            elif method == 1:
                value = _msm(a, b, radius, first)
            elif method == 2:
                value = _erp(a, b, radius, first)
            elif method == 3:
                value = _twe(a, b, radius, first, second)
            elif method == 4:
                value = _lcss(a, b, radius, np.maximum(a_epsilon[i], b_epsilon[j]))
            elif method == 5:
                value = _edr(a, b, radius, np.maximum(a_epsilon[i], b_epsilon[j]))
            else:
                value = _frechet(a, b, radius)
            out[i, j] = value
            if same:
                out[j, i] = value
