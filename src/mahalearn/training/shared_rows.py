"""Queries of several models that share their training objects."""

from contextlib import contextmanager

import numpy as np

from .._memory import scratch
from .._validation import take
from ..formulas.linalg import Workspace
from ..kernels.protocol import check_kernel_values, kernel_diagonal, kernel_matrix


class SharedRows:
    """A batch of queries for models that share their training objects.

    Distances serve every kernel that is a function of them, and the values of a kernel all models
    that have it, as long as these come one after the other: only the last kernel's values are kept.
    So are distances to classes that several models have in common. What is large stands in the
    workspace, which the next batch may have: its values are then no longer those of this one.
    """

    def __init__(self, objects, workspace=None):
        self.objects = objects
        self.workspace = workspace or Workspace()
        self._pairs, self._own = {}, {}
        self._kernel = self._values = None
        self._model = self._inputs = self._output = None

    def __len__(self):
        return len(self.objects)

    def __getitem__(self, rows):
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return type(self)(take(self.objects, rows))

    def cross(self, kernel, training, rows, read=False):
        """The kernel of the queries against the training objects at `rows`.

        A new matrix; with `read` one that others read, too, and nobody may overwrite.
        """
        if self._kernel is not kernel:
            self._kernel, self._values = kernel, self._compute(kernel, training)
        values = self._values[:, rows]
        return values if read else values.copy(order="K")

    def of_model(self, model, kxx, compute):
        """compute() of a model that several classifiers share, for self-similarities kxx.

        Only the last model's is kept: classifiers that share one come one after the other.
        """
        if self._model is not model or not np.array_equal(self._inputs, kxx):
            self._model, self._inputs, self._output = model, kxx, compute()
        return self._output

    def diagonal(self, kernel):
        """Self-similarities of the queries; a measure gives its values once for all its forms."""
        if kernel.pair_diagonal is None:
            return kernel_diagonal(kernel, self.objects)
        key = kernel.pair_key
        if key not in self._own:
            self._own[key] = kernel.pair_diagonal(self.objects)
        return np.asarray(kernel.from_pairs(self._own[key]), dtype=np.float64)

    def _compute(self, kernel, training):
        if (key := kernel.pair_key) is None:
            return kernel_matrix(kernel, self.objects, training)
        # Kernels that standardise columns of their own share nothing.
        key = key, id(training), None if kernel.center is None else id(kernel)
        shape, fills = (len(self), len(training)), kernel.fill is not None
        if key not in self._pairs:
            memory = [self.workspace.columns(f"pairs {len(self._pairs)}", *shape)] if fills else []
            self._pairs[key] = kernel.pair_values(self.objects, training, *memory)
        pairs = self._pairs[key]
        if fills:  # into the memory of the last kernel
            values = kernel.fill(self.workspace.columns("values", *shape), pairs)
        else:
            values = kernel.from_pairs(pairs)
        return check_kernel_values(values, new=True, order="A")


@contextmanager
def workspace_for(queries):
    """Memory for what is computed of queries: that of SharedRows, else that of `scratch`."""
    if isinstance(queries, SharedRows):
        yield queries.workspace
    else:
        with scratch() as workspace:
            yield workspace
