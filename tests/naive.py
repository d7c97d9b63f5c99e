"""Textbook loops for every formula, written from the papers; nothing of ours is imported."""

import math

import numpy as np

# --- Measures of two objects -----------------------------------------------------------------


def hausdorff(A, B, modified=False):
    """Largest (or mean) distance to the nearest point of the other set, both ways."""

    def directed(S, T):
        nearest = [min(math.dist(s, t) for t in T) for s in S]
        return sum(nearest) / len(nearest) if modified else max(nearest)

    return max(directed(A, B), directed(B, A))


def edit_distance(a, b, substitution, insertion=1, deletion=1):
    """The full table of the dynamic programme; substitution is a function of two symbols."""
    D = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        D[i][0] = i * deletion
    for j in range(1, len(b) + 1):
        D[0][j] = j * insertion
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i][j] = min(
                D[i - 1][j] + deletion,
                D[i][j - 1] + insertion,
                D[i - 1][j - 1] + substitution(a[i - 1], b[j - 1]),
            )
    return D[-1][-1]


def angle_between(a, b, period):
    """The shorter way from a to b on a circle, by walking both ways."""
    gap = math.fmod(abs(a - b), period)
    return min(gap, period - gap)


def gower(x, y, ranges):
    """√(1 − s); ranges has None for a nominal column; None in x or y is missing."""
    scores = []
    for a, b, r in zip(x, y, ranges, strict=True):
        if a is None or b is None:
            continue
        if r is None:
            scores.append(1.0 if a == b else 0.0)
        else:
            scores.append(max(0.0, 1 - abs(a - b) / r))
    return math.sqrt(1 - sum(scores) / len(scores))


def compression_distance(x, y, compress):
    """NCD of two byte strings."""
    cx, cy, cxy = len(compress(x)), len(compress(y)), len(compress(x + y))
    return (cxy - min(cx, cy)) / max(cx, cy)


def correlation(x, y):
    """Paper C, appendix II, News-COR."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    below = x @ x + y @ y - 2 * (x @ y)
    return 0.5 if below == 0 else 0.5 * (1 - (x @ y) / below)


def all_pairs(X, Y, measure):
    """A matrix by two loops."""
    return np.array([[measure(x, y) for y in Y] for x in X])
