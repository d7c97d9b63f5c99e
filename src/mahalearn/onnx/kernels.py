"""Kernel values of queries in a graph.

`PAIRS` has a function for each thing that a kernel may be a function of; the kernel itself
(`NamedKernel.from_pairs`) does the rest.
"""

import numpy as np

from ..kernels.mahalanobis_kernel import MahalanobisKernel
from ..kernels.protocol import KERNEL_NAMES, NamedKernel
from .graph import TENSOR_TYPES, Graph, Value


class NoGraphError(ValueError):
    """An estimator that cannot be written as a graph."""


def sq_distances(X, Z):
    """‖x − z‖² of queries and reference vectors Z (n, d), by one product.

    Vectors are taken relative to the mean of the references, so that little cancels.
    """
    origin = Z.mean(axis=0)
    X, Z = X - origin, Z - origin
    left = np.concatenate([X, np.square(X).sum(axis=1, keepdims=True)], axis=1)
    right = np.hstack([-2 * Z, np.ones((len(Z), 1))]).T
    values = X.graph.add("Gemm", left, right, np.square(Z).sum(axis=1))
    return np.maximum(values, 0.0)


def unit_rows(X):
    """Rows of length 1; a row of zeros stays as it is."""
    lengths = np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return X / np.where(lengths > 0, lengths, 1.0)


def chi2_sums(X, Z):
    """−Σ_k (x_k − z_k)²/(x_k + z_k) of all pairs, without the columns in which both are 0."""

    def sums(x):
        total = x + Z
        return -(np.square(x - Z) / np.where(total > 0, total, 1.0)).sum(axis=1)

    return _row_by_row(X, sums)


def _row_by_row(X, function):
    """function(x) of each row of X, stacked: no array has three axes."""
    from onnx import helper

    graph = X.graph
    body = Graph(graph.unique("body") + "_")
    x = Value(body, body.unique("row"))
    row = x.name
    result = function(x)
    kind = TENSOR_TYPES["float64"]
    ends = [[helper.make_tensor_value_info(name, kind, [None])] for name in (row, result.name)]
    return graph.add("Scan", X, body=body.proto(*ends, body.prefix), num_scan_inputs=1)


PAIRS = {
    "squared distance": sq_distances,
    "city-block distance": lambda X, Z: _row_by_row(X, lambda x: abs(x - Z).sum(axis=1)),
    # onnxruntime would fuse a MatMul with a factor after it, and round that to single precision.
    "inner product": lambda X, Z: X.graph.add("Gemm", X, Z.T),
    "cosine": lambda X, Z: unit_rows(X) @ unit_rows(Z).T,
    "additive_chi2": chi2_sums,
    "chi2": chi2_sums,
}


def kernel_values(kernel, X, references):
    """k(x, z) of queries X, a value (q, d), and reference vectors (n, d)."""
    Z = np.asarray(references, dtype=float)
    if isinstance(kernel, MahalanobisKernel):
        D = sq_distances(kernel.whitening_.apply(X), kernel.whitening_.apply(Z))
        return np.exp(-kernel.gamma_ * D)
    if not isinstance(kernel, NamedKernel):
        raise NoGraphError(
            f"{type(kernel).__name__} has no ONNX graph; kernels by name "
            f"({', '.join(KERNEL_NAMES)}), MahalanobisKernel and precomputed rows have one."
        )
    X, Z = kernel.standardized(X), kernel.standardized(Z)
    values = PAIRS[kernel.pair_key or kernel.name](X, Z)
    if kernel.name == "chi2":
        return np.exp(kernel.gamma * values)
    return kernel.from_pairs(values, overwrite=True)


def self_similarities(kernel, X):
    """k(x, x) of queries, (q,)."""
    one = (np.square(X).sum(axis=1) >= 0).cast(float)
    if isinstance(kernel, MahalanobisKernel):
        return one
    squares = np.square(kernel.standardized(X)).sum(axis=1)
    match kernel.name:
        case "rbf" | "laplacian" | "chi2":
            return one
        case "additive_chi2":
            return 0.0 * one
        case "cosine":
            return (squares > 0).cast(float)
    return kernel.from_pairs(squares, overwrite=True)
