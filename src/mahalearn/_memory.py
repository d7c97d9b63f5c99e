"""Blocks of rows within scikit-learn's working_memory, and workspaces that are used again."""

from contextlib import contextmanager
from itertools import pairwise

import sklearn

from .formulas.linalg import Workspace

# Blocks of a chunk's size alive at once while queries are compared with training objects.
BLOCKS = 3
# Doubles of a block of kernel values that several steps work on: they find it in the cache.
IN_CACHE = 2**19


def row_chunks(n_rows, row_doubles, max_doubles=float("inf")):
    """Slices of rows such that a chunk's doubles stay within scikit-learn's working_memory.

    `max_doubles` keeps chunks smaller still, where work is faster in a processor's cache. Chunks
    are of nearly equal size, the first the largest: a small last one would cost nearly as much as
    the others.
    """
    budget = min(max_doubles, sklearn.get_config()["working_memory"] * 2**20 // 8)
    most = max(1, int(min(n_rows, budget // max(1, row_doubles))))
    n_chunks = -(-n_rows // most)
    step, larger = divmod(n_rows, n_chunks) if n_chunks else (0, 0)
    starts = [i * step + min(i, larger) for i in range(n_chunks + 1)]
    return [slice(start, stop) for start, stop in pairwise(starts)]


# --- memory that is used again --------------------------------------------------------------------

# Workspaces that nobody uses now, and how many doubles they may keep.
_IDLE: list[Workspace] = []
_MOST_IDLE, _MOST_KEPT = 2, 6 * IN_CACHE


@contextmanager
def scratch():
    """A workspace for the body of a with statement; small ones are reused.

    Nothing that outlives the body may use its memory.
    """
    try:
        workspace = _IDLE.pop()
    except IndexError:
        workspace = Workspace()
    yield workspace
    if len(_IDLE) < _MOST_IDLE and workspace.size <= _MOST_KEPT:
        _IDLE.append(workspace)
