"""Arrays that are used again from one block of rows to the next.

Fresh memory has to be handed over page by page; for the small blocks in which rows are processed
that can cost as much as the arithmetic.
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
