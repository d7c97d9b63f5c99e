"""Collections of series as the compiled loops take them, and the matrix of all their pairs."""

import warnings

import numpy as np

# How the cost of replacing one symbol or point by another is computed: see `_recurrences._costs`.
DISTANCE, ANGLE, MATCH, TABLE = range(4)
# Cells of the recurrence above which plain Python is too slow not to say so (about a minute).
_SLOW = 3e7


def packed(arrays):
    """(values, starts): series i is the (channels, length) block of values from channels·starts[i].

    arrays : list of (channels, length) arrays.
    """
    starts = np.concatenate([[0], np.cumsum([x.shape[1] for x in arrays])])
    return np.concatenate([x.ravel() for x in arrays]), starts


def compiled():
    """True where numba compiles the recurrences."""
    from . import _recurrences

    return _recurrences.COMPILED


def all_pairs(method, P, Q, *numbers, window=1.0, symmetric=True):
    """Values of a recurrence for all pairs of two lists of (channels, length) arrays.

    numbers : further arguments of the recurrence. Each pair once where Q is P and symmetric.
    """
    from . import _recurrences as loops

    A, B = packed(P), packed(Q)
    longest = max(np.diff(A[1]).max(), np.diff(B[1]).max())
    cells = A[1][-1] * B[1][-1] * min(1.0, 2 * window + 1 / longest)
    if not compiled() and cells > _SLOW:
        warnings.warn(
            "Elastic and edit distances without numba are slow; install it with "
            'pip install "mahalearn[measures]".',
            UserWarning,
            stacklevel=3,
        )
    same = Q is P and symmetric
    out = np.zeros((len(P), len(Q)))
    loops.ALL_PAIRS[method](A, B, window, same, out, *numbers)
    return out + out.T if same else out
