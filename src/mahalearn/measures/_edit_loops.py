"""The dynamic programme of the edit distance, over many pairs: with numpy, or as compiled loops.

Both do the same operations in the same order, so they agree to the bit. The cost of putting b for a
has a mode: 0 a constant for different codes, 1 a table over codes, 2 |a − b|, 3 the shorter way
round a circle, 4 the Euclidean distance.
"""

from functools import lru_cache

import numpy as np

CONSTANT, TABLE, ABSOLUTE, ANGULAR, EUCLIDEAN = range(5)

# Cells that numpy works on at once: two rows of the programme for so many pairs fit the cache.
_CHUNK = 2**17


def edit_block(P, Q, mode, costs, table):
    """Edit distances between the objects of two Ragged, (len(P), len(Q)).

    costs : (deletion, insertion, substitution or period)
    """
    loops = compiled_loops()
    if loops is None:
        return _with_numpy(P, Q, mode, costs, table)
    values = (P.values, Q.values) if mode == EUCLIDEAN else (P.values[:, None], Q.values[:, None])
    out = np.empty((len(P), len(Q)))
    loops(values[0], P.starts, values[1], Q.starts, mode, *costs, table, out)
    return out


@lru_cache
def compiled_loops():
    """The loops compiled by numba, None where it is not installed."""
    try:
        import numba
    except ImportError:
        return None
    return numba.njit(cache=True, nogil=True)(_loops)


def _loops(A, a_starts, B, b_starts, mode, deletion, insertion, extra, table, out):
    longest = 0
    for j in range(len(b_starts) - 1):
        longest = max(longest, b_starts[j + 1] - b_starts[j])
    row = np.empty(longest + 1)
    cost = np.empty(longest)
    for i in range(len(a_starts) - 1):
        for j in range(len(b_starts) - 1):
            first, n = b_starts[j], b_starts[j + 1] - b_starts[j]
            row[0] = 0.0
            for q in range(n):
                row[q + 1] = row[q] + insertion
            for p in range(a_starts[i], a_starts[i + 1]):
                # The costs first: these loops have no chain of dependence, and vectorise.
                if mode == 0:
                    for q in range(n):
                        cost[q] = 0.0 if A[p, 0] == B[first + q, 0] else extra
                elif mode == 1:
                    for q in range(n):
                        cost[q] = table[int(A[p, 0]), int(B[first + q, 0])]
                elif mode == 2:
                    for q in range(n):
                        cost[q] = abs(A[p, 0] - B[first + q, 0])
                elif mode == 3:
                    for q in range(n):
                        gap = abs(A[p, 0] - B[first + q, 0])
                        if gap >= extra:  # a remainder is slow, and seldom needed
                            gap %= extra
                        cost[q] = min(gap, extra - gap)
                else:
                    for q in range(n):
                        total = 0.0
                        for d in range(A.shape[1]):
                            gap = A[p, d] - B[first + q, d]
                            total += gap * gap
                        cost[q] = np.sqrt(total)
                for q in range(n):
                    cost[q] = min(row[q + 1] + deletion, row[q] + cost[q])
                # Only this last step of a row has to wait for its left neighbour.
                left = row[0] + deletion
                row[0] = left
                for q in range(n):
                    left += insertion
                    if cost[q] < left:
                        left = cost[q]
                    row[q + 1] = left
            out[i, j] = row[n]


def _with_numpy(P, Q, mode, costs, table):
    """The same for all pairs at once: each cell of the programme is a matrix over the pairs."""
    out = np.empty((len(P), len(Q)))
    side = max(1, int(np.sqrt(_CHUNK / (Q.sizes.max() + 1))))
    for i in range(0, len(P), side):
        for j in range(0, len(Q), side):
            rows, cols = slice(i, i + side), slice(j, j + side)
            out[rows, cols] = _pairs(P[rows], Q[cols], mode, costs, table)
    return out


def _pairs(P, Q, mode, costs, table):
    deletion, insertion, extra = costs
    A, B = P.padded(), Q.padded()
    cols = np.arange(len(Q))
    out = np.empty((len(P), len(Q)))
    row = np.zeros((B.shape[1] + 1, len(P), len(Q)))
    for q in range(B.shape[1]):
        row[q + 1] = row[q] + insertion
    for p in range(A.shape[1]):
        corner = row[0].copy()
        row[0] += deletion
        for q in range(B.shape[1]):
            above = row[q + 1].copy()
            cost = _costs(A[:, p], B[:, q], mode, extra, table)
            np.minimum(above + deletion, row[q] + insertion, out=row[q + 1])
            np.minimum(row[q + 1], corner + cost, out=row[q + 1])
            corner = above
        ended = np.flatnonzero(P.sizes == p + 1)
        out[ended] = row[Q.sizes, ended[:, None], cols]
    return out


def _costs(a, b, mode, extra, table):
    """Costs of putting each b for each a, (len(a), len(b))."""
    if mode == CONSTANT:
        return np.where(np.equal.outer(a, b), 0.0, extra)
    if mode == TABLE:
        return table[np.ix_(a.astype(np.intp), b.astype(np.intp))]
    if mode == EUCLIDEAN:
        gaps = (np.subtract.outer(a[:, d], b[:, d]) for d in range(a.shape[1]))
        return np.sqrt(sum(gap * gap for gap in gaps))
    gap = np.abs(np.subtract.outer(a, b))
    if mode == ABSOLUTE:
        return gap
    gap %= extra
    return np.minimum(gap, extra - gap)
