"""Queries whose kernel values several models need: what they have in common is computed once."""

import numpy as np

from .._validation import take
from .protocol import kernel_diagonal, kernel_matrix


class SharedRows:
    """A batch of queries for models that share their training objects.

    Distances serve every kernel that is a function of them, and the values of a kernel all models
    that have it, as long as these come one after the other: only the last kernel's values are kept.
    """

    def __init__(self, objects):
        self.objects = objects
        self._pairs, self._own = {}, {}
        self._kernel = self._values = None

    def __len__(self):
        return len(self.objects)

    def __getitem__(self, rows):
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return type(self)(take(self.objects, rows))

    def cross(self, kernel, training, rows):
        """A new matrix: the kernel of the queries against the training objects at `rows`."""
        if self._kernel is not kernel:
            self._kernel, self._values = kernel, self._compute(kernel, training)
        return np.array(self._values[:, rows], order="C")

    def diagonal(self, kernel):
        """Self-similarities of the queries; a measure gives its values once for all its forms."""
        if not hasattr(kernel, "pair_diagonal"):
            return kernel_diagonal(kernel, self.objects)
        key = kernel.pair_key
        if key not in self._own:
            self._own[key] = kernel.pair_diagonal(self.objects)
        return np.asarray(kernel.from_pairs(self._own[key]), dtype=np.float64)

    def _compute(self, kernel, training):
        key = getattr(kernel, "pair_key", None)
        if key is None:
            return kernel_matrix(kernel, self.objects, training)
        # Kernels that standardise columns of their own share nothing.
        key = key, id(training), None if getattr(kernel, "center", None) is None else id(kernel)
        if key not in self._pairs:
            self._pairs[key] = kernel.pair_values(self.objects, training)
        return kernel.from_pairs(self._pairs[key])
