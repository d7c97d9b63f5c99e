"""Memory that is used again.

Fresh memory has to be handed over page by page. For the blocks in which objects are processed that
can cost as much as the arithmetic, so that a block takes the memory of the one before it.
"""

import numpy as np


class Workspace:
    """Uninitialised arrays by name, whose memory is kept for the next request of that name."""

    def __init__(self):
        self._buffers = {}

    def array(self, name, *shape):
        """An array of this shape; whatever was given out under the name before is overwritten."""
        size = 1
        for length in shape:
            size *= length
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size)
        return buffer[:size].reshape(shape)

    def like(self, name, A):
        """The same with the shape of the matrix A, and in its order."""
        return self.columns(name, *A.shape) if A.flags.f_contiguous else self.array(name, *A.shape)

    def columns(self, name, n_rows, n_columns):
        """The same in Fortran order."""
        return self.array(name, n_columns, n_rows).T

    @property
    def size(self):
        """Doubles that are kept."""
        return sum(buffer.size for buffer in self._buffers.values())
