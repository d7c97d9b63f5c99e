"""Rows of a sparse matrix as a collection of objects."""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, csr_matrix, diags_array, issparse, vstack
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

_INT32 = np.iinfo(np.int32).max


class SparseRows:
    """A CSR matrix with a length; some of its rows are SparseRows, too.

    Indices are of 32 bits where they fit, and no entry is stored twice.

    Parameters
    ----------
    matrix : sparse matrix or array
    """

    ndim = 2

    def __init__(self, matrix):
        matrix = csr_array(matrix)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) <= _INT32:
            indices, starts = (a.astype(np.int32) for a in (matrix.indices, matrix.indptr))
            matrix = csr_array((matrix.data, indices, starts), shape=matrix.shape)
        self.matrix = matrix

    def __getstate__(self):
        names = ("data", "indices", "indptr")
        state = {name: getattr(self.matrix, name) for name in names}
        return {**state, "shape": [int(n) for n in self.shape]}

    def __setstate__(self, state):
        parts = state["data"], state["indices"], state["indptr"]
        self.matrix = csr_array(parts, shape=tuple(state["shape"]))

    @property
    def shape(self):
        """Numbers of rows and columns."""
        return self.matrix.shape

    @property
    def dtype(self):
        """Type of the entries."""
        return self.matrix.dtype

    def __len__(self):
        return self.matrix.shape[0]

    def __getitem__(self, index):
        return SparseRows(self.matrix[index])

    @cached_property
    def transposed(self):
        """The transpose in CSR format: what products of rows with these rows need."""
        return self.matrix.T.tocsr()

    def var(self):
        """Variance of all entries, the zeros included."""
        data, n = self.matrix.data.astype(float), np.prod(self.shape, dtype=float)
        mean = data.sum() / n
        return (np.square(data - mean).sum() + (n - len(data)) * mean**2) / n

    def __truediv__(self, scale):
        """The rows with their columns divided by numbers (p,)."""
        return SparseRows(self.matrix @ diags_array(1 / scale))

    def normalized(self):
        """The rows divided by their lengths; zeros stay."""
        # First all by a power of two, which rounds nothing: squares neither overflow nor vanish.
        exponent = np.frexp(np.abs(self.matrix.data).max(initial=0.0))[1]
        return SparseRows(normalize(self.matrix * 0.5 ** float(exponent)))


def as_rows(X):
    """SparseRows of a sparse matrix; anything else as it is."""
    return SparseRows(X) if issparse(X) else X


def as_matrix(rows):
    """The matrix of SparseRows, as users know it; anything else as it is."""
    return csr_matrix(rows.matrix) if is_sparse(rows) else rows


def is_sparse(X):
    """True for SparseRows."""
    return isinstance(X, SparseRows)


def joined(a, b, index):
    """Rows at positions of a and b together, of which one may be dense."""
    return SparseRows(vstack([csr_array(as_matrix(rows)) for rows in (a, b)], format="csr")[index])


def as_dense(rows):
    """The rows as an array; what is not sparse (also a value of an ONNX graph) as it is."""
    return rows.matrix.toarray() if is_sparse(rows) else rows


def sq_norms(X):
    """Squared norm of each row."""
    if not is_sparse(X):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.matrix.multiply(X.matrix).sum(axis=1), dtype=float).ravel()


def inner_products(X, Y):
    """xᵀy of all pairs, a new dense matrix; X, Y or both are sparse."""
    if not is_sparse(X):
        return np.ascontiguousarray((Y.matrix @ X.T).T)
    return (X.matrix @ Y.transposed).toarray() if is_sparse(Y) else X.matrix @ Y.T


def column_moments(X, weights=None):
    """Mean and variance of each column; weights: of the rows."""
    if is_sparse(X):
        weights = None if weights is None else weights.astype(X.dtype)
        return [m.astype(float) for m in mean_variance_axis(X.matrix, axis=0, weights=weights)]
    mean = np.average(X, axis=0, weights=weights)
    return mean, np.average((X - mean) ** 2, axis=0, weights=weights)
