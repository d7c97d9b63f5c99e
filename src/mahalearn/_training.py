"""The training objects in the order of their classes, and the kernel on them.

Everything that needs kernel values gets them here, in blocks, whatever the kernel is: a name, a
function, an object kernel or a precomputed matrix.
"""

import numpy as np
import sklearn

from ._validation import check_square, check_symmetric
from .kernels import NamedKernel, kernel_diagonal, kernel_matrix


def take(X, index):
    """Objects by position (a slice or an array), whatever holds them."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if isinstance(index, slice) or hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def row_chunks(n_rows, row_doubles, max_doubles=float("inf")):
    """Slices of rows such that a chunk's doubles stay within scikit-learn's working_memory.

    `max_doubles` keeps chunks smaller still, where work is faster in a processor's cache.
    """
    budget = min(max_doubles, sklearn.get_config()["working_memory"] * 2**20 // 8)
    step = max(1, min(n_rows, int(budget // max(1, row_doubles))))
    return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]


class TrainingKernel:
    """Kernel values of the training objects, sorted by class.

    Parameters
    ----------
    X : the training objects, or the training Gram matrix where `kernel` is None
    codes : (n,) class index of each
    kernel : a fitted kernel, or None for a precomputed matrix
    """

    def __init__(self, X, codes, kernel):
        self.kernel = kernel
        self.order = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes)
        ends = np.cumsum(self.counts)
        self.slices = [slice(end - n, end) for n, end in zip(self.counts, ends, strict=True)]
        if kernel is None:
            check_square(X)
            self.X = check_symmetric(X)
        else:
            self.X = take(X, self.order)

    def __len__(self):
        return len(self.order)

    @property
    def positive_definite(self):
        """Whether the kernel is known to be positive definite."""
        return bool(getattr(self.kernel, "positive_definite", False))

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows` (class order), for the caller to keep."""
        if self.kernel is None:
            index = self.order[rows]
            return self.X[np.ix_(index, index)]
        X = take(self.X, rows)
        K = kernel_matrix(self.kernel, X, X)
        return K if isinstance(self.kernel, NamedKernel) else check_symmetric(K, "The Gram matrix")

    def cross(self, X, rows=slice(None)):
        """Kernel of queries against the training objects at `rows`, for the caller to keep."""
        if self.kernel is None:
            return X[:, self.order[rows]]
        return kernel_matrix(self.kernel, X, take(self.X, rows))

    def training_cross(self, queries, rows=slice(None)):
        """Kernel of training objects against training objects, both in class order."""
        if self.kernel is None:
            return self.X[np.ix_(self.order[queries], self.order[rows])]
        return self.cross(take(self.X, queries), rows)

    def training_self_similarities(self):
        """k(x, x) of the training objects, in class order."""
        if self.kernel is None:
            return self.X.diagonal()[self.order]
        return kernel_diagonal(self.kernel, self.X)

    def self_similarities(self, X):
        """k(x, x) of queries, None where only the user can know them.

        A precomputed matrix says nothing about a query's self-similarity, unless that of the
        training objects is one constant (RBF, −d²).
        """
        if self.kernel is not None:
            return kernel_diagonal(self.kernel, X)
        diagonal = self.X.diagonal()
        if np.ptp(diagonal) <= 1e-10 * np.abs(diagonal).max():
            return np.full(len(X), diagonal[0])
        return None
