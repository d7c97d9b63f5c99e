"""Landmarks: how they are chosen, and kernel rows against them."""

import warnings
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import get_config
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from .._sparse import is_sparse
from .._validation import check_choice, check_count, check_symmetric, take
from .protocol import kernel_diagonal, kernel_matrix

LANDMARK_METHODS = ("auto", "kmeans", "rpcholesky", "uniform")
# Rows of which landmarks are chosen, per landmark and at least: more hardly changes the choice.
_ROWS_PER_LANDMARK, _LEAST_ROWS = 10, 10_000
_LLOYD_STEPS = 3
# Rows of kernel values that are computed at a time: they stay in the processor's cache.
_PIECE = 256
# γ‖x‖² up to which the exponent of an RBF kernel is expanded: it costs at most 1e-11 and 1e-4.
_LIMITS = {"float64": 1e4, "float32": 250.0}


def choose_landmarks(kernel, X, n_landmarks, method="auto", random_state=None):
    """Landmarks for the objects X: rows of an array, or objects. Labels play no part.

    kernel is a fitted kernel. method: "kmeans" (k-means++ and a few Lloyd steps; the landmarks are
    means, not objects), "rpcholesky" (randomly pivoted Cholesky: objects are drawn with a
    probability that is their residual), "uniform", or "auto": k-means for vectors, randomly pivoted
    Cholesky for objects and sparse rows with a definite kernel, uniform otherwise. The first
    landmarks of "rpcholesky" and "uniform" are a choice of fewer. Where there are no more objects
    than landmarks asked for, all of them are taken, in their order.
    """
    method = landmark_method(method, kernel, sparse=is_sparse(X))
    m = check_count(n_landmarks, "landmarks")
    random_state = check_random_state(random_state)
    if len(X) < m:
        warnings.warn(
            f"landmarks={m} is more than the {len(X)} objects, so that all of them are landmarks. "
            "Take fewer, or landmarks=None: the exact estimators are faster then.",
            UserWarning,
            stacklevel=2,
        )
    if len(X) <= m:
        return X
    if method == "uniform":
        return take(X, random_state.permutation(len(X))[:m])
    most = max(_LEAST_ROWS, _ROWS_PER_LANDMARK * m)
    if method == "rpcholesky":  # its factor, most·m numbers, stays within working_memory
        most = min(most, max(2 * m, get_config()["working_memory"] * 2**17 // m))
    if len(X) > most:
        X = take(X, np.sort(random_state.permutation(len(X))[:most]))
    if method == "kmeans":
        return _kmeans(np.asarray(X), _in_metric(kernel, X), m, random_state)
    return take(X, rp_cholesky(kernel, X, m, random_state))


def landmark_method(method, kernel, *, sparse=False):
    """How landmarks are chosen, "auto" resolved for a fitted kernel; sparse: the rows are."""
    method = check_choice(method, "method", LANDMARK_METHODS)
    vectors = kernel.requires_vector_input and not sparse
    if method == "auto":
        return "kmeans" if vectors else "rpcholesky" if kernel.positive_definite else "uniform"
    if method == "kmeans" and not vectors:
        raise ValueError(
            "method='kmeans' needs vectors, whose means are the landmarks (those of sparse rows "
            "would be dense); for objects and sparse rows use 'rpcholesky' or 'uniform'."
        )
    return method


def _in_metric(kernel, X):
    """The rows in the coordinates whose Euclidean distances the kernel sees, where it has some."""
    if kernel.whiten is not None:
        return kernel.whiten(X)
    if kernel.center is not None:
        return (np.asarray(X) - kernel.center) / kernel.scale
    return np.asarray(X)


def _kmeans(X, Y, m, random_state):
    """k-means++ and a few Lloyd steps on the rows Y; returns means of the rows X."""
    centres, _ = kmeans_plusplus(Y, m, random_state=random_state, n_local_trials=1)
    for step in range(_LLOYD_STEPS):
        last = step == _LLOYD_STEPS - 1
        nearest = pairwise_distances_argmin(Y, centres)
        order = np.argsort(nearest, kind="stable")
        counts = np.bincount(nearest, minlength=m)
        used = np.flatnonzero(counts)  # of equal rows some centres get none
        starts = (np.cumsum(counts) - counts)[used]
        means = np.add.reduceat((X if last else Y)[order], starts, axis=0) / counts[used, None]
        if not last:
            centres[used] = means
    return means.astype(X.dtype, copy=False)


def rp_cholesky(kernel, X, m, random_state):
    """Positions of up to m objects by randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber).

    Each is drawn with a probability that is the residual k(x, x) − φᵀφ by those before. Fewer come
    where nothing is left over.
    """
    left = kernel_diagonal(kernel, X).astype(float)
    if (left < 0).any():
        raise ValueError(
            "method='rpcholesky' needs a positive definite kernel; this one has negative "
            "self-similarities. Use 'uniform'."
        )
    if not left.any():
        raise ValueError(
            "method='rpcholesky' draws objects by their self-similarities k(x, x), which "
            "are all zero here, as for kernels −d². Use 'uniform'."
        )
    floor = 1e-10 * left.max(initial=0.0)
    factor = np.zeros((m, len(X)))
    chosen = []
    for i in range(m):
        left[left <= floor] = 0.0
        if not left.any():
            break
        pivot = int(random_state.choice(len(X), p=left / left.sum()))
        column = kernel_matrix(kernel, X, take(X, np.array([pivot])))[:, 0]
        column -= factor[:i, pivot] @ factor[:i]
        if column[pivot] <= floor:  # rounding, or an indefinite kernel
            left[pivot] = 0.0
            continue
        factor[i] = column / np.sqrt(column[pivot])
        left -= factor[i] ** 2
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


class LandmarkKernel:
    """Kernel rows of objects against fixed landmarks, in float64 or float32.

    Parameters
    ----------
    kernel : a fitted kernel, or None where objects are given by their kernel rows
    landmarks : the landmarks; where kernel is None, their own kernel rows (m, m)
    dtype : of the rows
    """

    def __init__(self, kernel, landmarks, dtype=np.float64):
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")
        self.landmarks = landmarks

    def __getstate__(self):
        return {"kernel": self.kernel, "landmarks": self.landmarks, "dtype": self.dtype.name}

    def __setstate__(self, state):
        self.__init__(**state)

    def __len__(self):
        return len(self.landmarks)

    @cached_property
    def _rbf(self):
        """The fast path of RBF kernels, None for other kernels."""
        sparse = is_sparse(self.landmarks)
        if sparse or self.kernel is None or self.kernel.rbf_gamma is None:
            return None
        return _RBFRows(self.kernel, self.landmarks, self.dtype)

    def first(self, m):
        """The same with the first m landmarks only; of rows given, the first m columns."""
        if self.kernel is None:
            return LandmarkKernel(None, np.asarray(self.landmarks)[:m, :m], self.dtype)
        return LandmarkKernel(self.kernel, take(self.landmarks, slice(0, m)), self.dtype)

    def gram(self):
        """Kernel matrix of the landmarks, float64."""
        if self.kernel is None:
            return check_symmetric(np.array(self.landmarks, dtype=float), "The landmarks' matrix")
        if self._rbf is not None:
            Z = np.asarray(self.landmarks, dtype=float)
            K = LandmarkKernel(self.kernel, Z).rows(Z)
        else:
            K = kernel_matrix(self.kernel, self.landmarks, self.landmarks)
        return check_symmetric(K, "The landmarks' kernel matrix")

    def rows(self, X, out=None, origin=None):
        """Kernel rows (b, m) of objects X; written into `out` if given, relative to `origin`."""
        out = np.empty((len(X), len(self)), self.dtype) if out is None else out
        if self._rbf is None or is_sparse(X):
            if self.kernel is None:
                np.copyto(out, np.asarray(X)[:, : len(self)], casting="same_kind")
            else:
                out[...] = kernel_matrix(self.kernel, X, self.landmarks)
            if origin is not None:
                out -= origin
            return out
        for start in range(0, len(X), _PIECE):
            rows = slice(start, start + _PIECE)
            piece = out[rows]
            self._rbf.fill(piece, X[rows])
            if origin is not None:
                piece -= origin
        return out

    def self_similarities(self, X):
        """k(x, x) of objects; None where only their rows are known, unless it is constant."""
        if self.kernel is not None:
            return kernel_diagonal(self.kernel, X)
        diagonal = np.diagonal(self.landmarks)
        if np.ptp(diagonal) <= 1e-10 * np.abs(diagonal).max():
            return np.full(len(X), float(diagonal[0]))
        return None


class _RBFRows:
    """Rows exp(−γ‖x − z‖²) by a product, −γ‖x − z‖² = [x, −γ‖x‖², 1]·[2γz; 1; −γ‖z‖²].

    Vectors are taken relative to the median of the landmarks. The product loses about eps·γ‖x‖²,
    which is bounded: rows beyond the limit are computed by differences instead, and the value of
    any other row at a landmark of more than twice that distance is exp(−limit) = 0.
    """

    def __init__(self, kernel, landmarks, dtype):
        self.whiten, self.gamma = kernel.whiten, float(kernel.rbf_gamma)
        self.dtype, self.limit = dtype, _LIMITS[dtype.name]
        self.scale = None if kernel.scale is None else kernel.scale.astype(dtype)
        self.center = 0.0
        # The same rounded numbers for landmarks and rows: a common offset cancels.
        self.center = np.median(self._unscaled(landmarks), axis=0).astype(dtype)
        self.Z = Z = self.vectors(np.asarray(landmarks, dtype=float))
        norms = self._norms(Z)
        near = norms <= 4 * self.limit
        right = np.zeros((Z.shape[1] + 2, len(Z)))
        right[:-2, near] = 2 * self.gamma * Z[near].T
        right[-2, near] = 1
        right[-1] = np.where(near, -norms, -self.limit)
        self.right = np.ascontiguousarray(right, dtype=dtype)

    def _unscaled(self, X):
        return np.asarray(X if self.whiten is None else self.whiten(X))

    def vectors(self, X):
        """The rows of X as the kernel sees them, relative to the median landmark."""
        X = self._unscaled(X) - self.center
        return X if self.scale is None else X / self.scale

    @np.errstate(over="ignore")  # an infinite norm is beyond the limit
    def _norms(self, X):
        return self.gamma * np.einsum("ij,ij->i", X, X)

    def fill(self, out, X):
        """Write the kernel rows of X into out."""
        V = self.vectors(X)
        norms = self._norms(V)
        far = ~(norms <= self.limit)
        if far.any():
            V, norms = np.where(far[:, None], 0, V), np.where(far, 0, norms)
        left = np.empty((len(V), V.shape[1] + 2), self.dtype)
        left[:, :-2] = V
        left[:, -2] = -norms
        left[:, -1] = 1
        np.dot(left, self.right, out=out)
        if far.any():
            rows = self.vectors(np.asarray(X, dtype=float)[far])
            out[far] = -self.gamma * cdist(rows, self.Z, "sqeuclidean")
        np.exp(out, out=out)
