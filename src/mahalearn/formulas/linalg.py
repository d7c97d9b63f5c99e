"""Symmetric linear algebra; the only home of the rank tolerance. Centring of Gram matrices.

Notation (C, Table I): K (n, n) Gram matrix of a set of objects, k (m, n) rows of queries against
them, kxx (m,) self-similarities of the queries. A tilde in the paper is "centred" here.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

# An eigenvalue below this fraction of the largest in absolute value counts as zero.
RANK_RTOL = 1e-10
_EPS = np.finfo(np.float64).eps


class Spectrum(NamedTuple):
    """Eigenvalues (ascending, the negligible ones exactly 0) and eigenvectors in columns."""

    values: np.ndarray
    vectors: np.ndarray | None


def rank_tolerance(largest, n):
    """Absolute value below which an eigenvalue of an n×n matrix counts as zero.

    `largest` is the largest eigenvalue in absolute value; n·eps·largest is the least that rounding
    allows.
    """
    return max(RANK_RTOL, n * _EPS) * largest


def rounding_tolerance(trace, n):
    """Bound on the rounding error of the eigenvalues of a definite n×n matrix of this trace."""
    return n * _EPS * trace


def zero_negligible(values):
    """Set eigenvalues within the rank tolerance to exactly 0, in place; returns them."""
    if len(values):
        values[np.abs(values) <= rank_tolerance(np.abs(values).max(), len(values))] = 0.0
    return values


def eigh(A, *, vectors=True, overwrite=False, keep_small=False):
    """Spectrum of the symmetric matrix A, negligible eigenvalues set to 0.

    keep_small: where no eigenvalue is negative beyond the rank tolerance, the small positive ones
    stay as they are.

    Only the lower triangle of A is read (LAPACK gets the transpose: Fortran order, no copy).
    """
    options = {"lower": False, "overwrite_a": overwrite, "check_finite": False, "driver": "evd"}
    if not vectors:
        values = linalg.eigh(A.T, eigvals_only=True, **options)
        return Spectrum(zero_negligible(values), None)
    values, U = linalg.eigh(A.T, **options)
    small = np.maximum(values, 0) if keep_small else None
    values = zero_negligible(values)
    return Spectrum(small if keep_small and (values >= 0).all() else values, U)


def spectral_norm_lower_bound(A, n_iter=8):
    """A number that never exceeds the largest |eigenvalue| of the symmetric A, and is near it.

    A few steps of the power method; |Av|/|v| is at most the norm whatever v is.
    """
    v = np.ones(len(A)) + np.cos(np.arange(len(A)))  # a fixed start: the answer is deterministic
    bound = np.abs(np.diagonal(A)).max(initial=0.0)
    for _ in range(n_iter):
        size = np.linalg.norm(v)
        if size == 0:
            break
        v = A @ (v / size)
        bound = max(bound, np.linalg.norm(v))
    return bound


def is_psd(A):
    """True if no eigenvalue of the symmetric A is negative beyond the rank tolerance.

    A Cholesky factor of A + tol·I exists if and only if λ_min > −tol, up to a rounding far below
    tol: a proof, at a tenth of the price of the eigenvalues.
    """
    tol = rank_tolerance(spectral_norm_lower_bound(A), len(A))
    if tol == 0:
        return True  # the zero matrix
    shifted = A.copy()
    shifted.flat[:: len(A) + 1] += tol
    return cholesky(shifted, overwrite=True) is not None


def cholesky(A, *, overwrite=False):
    """Lower Cholesky factor of A, None where there is none; above its diagonal is rubbish.

    With `overwrite` the work is done in A's own diagonal and upper triangle (of a C-ordered A); its
    strict lower triangle stays as it was.
    """
    L, info = linalg.lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=overwrite)
    return L if info == 0 else None


def clear_upper(L):
    """Zeros above the diagonal of L, in place: a file of the factor is then half as large."""
    for j in range(1, L.shape[1]):
        L[:j, j] = 0.0
    return L


def solve_lower(L, B):
    """L⁻¹Bᵀ, transposed: rows of B (m, n) are right-hand sides. May overwrite B.

    Either order of B will do; Fortran's is up to twice as fast.
    """
    refuse_singular(not np.diagonal(L).all())
    if len(B) == 1:  # reads half of L
        return linalg.blas.dtrsv(L, B[0], lower=1, overwrite_x=1)[None]
    if B.flags.f_contiguous:
        return linalg.blas.dtrsm(1.0, L, B, side=1, lower=1, trans_a=1, overwrite_b=1)
    return linalg.blas.dtrsm(1.0, L, B.T, lower=1, overwrite_b=1).T


def refuse_singular(info):
    """Raise an error for LAPACK's info of a triangular factor with a zero on its diagonal."""
    if info != 0:
        raise ValueError(
            "A regularised matrix is singular in double precision: reg is too small for the scale "
            "of the kernel. Use a larger reg, or rescale the data."
        )


def cholesky_inverse(L):
    """(LLᵀ)⁻¹ from the lower Cholesky factor, symmetric."""
    S, info = linalg.lapack.dpotri(L, lower=1)
    refuse_singular(info)
    mirror_lower(S)
    return S


def mirror_lower(S, block=64):
    """Copy the lower triangle of S into the upper one, a block of columns at a time."""
    for i in range(0, len(S), block):
        end = min(i + block, len(S))
        S[:i, i:end] = S[i:end, :i].T
        corner = np.tril(S[i:end, i:end])
        S[i:end, i:end] = corner + np.tril(corner, -1).T


def inverse_diagonal(L):
    """Diagonal of (LLᵀ)⁻¹ from the lower Cholesky factor: column sums of squares of L⁻¹."""
    M, info = linalg.lapack.dtrtri(L, lower=1)
    refuse_singular(info)
    return np.array([M[i:, i] @ M[i:, i] for i in range(len(M))])


def times(k, A, out=None):
    """kA in the order of k, which is what the product takes least time for; out: memory for it."""
    if not k.flags.f_contiguous:
        return np.matmul(k, A, out=out)
    return np.matmul(A.T, k.T, out=None if out is None else out.T).T


def row_sq_norms(A):
    """Squared Euclidean norms of the rows of A, without a temporary of A's size."""
    return np.einsum("ij,ij->i", A, A)


def rounding_variance(magnitude):
    """Variance that rounding alone can leave in equal numbers of this magnitude."""
    return (8 * _EPS * magnitude) ** 2


class LinearScores(NamedTuple):
    """Functions f(x) = Aᵀk_x + b: A (n, c) in the order of the training objects, b (c,)."""

    coefficients: np.ndarray
    offsets: np.ndarray

    def scores(self, k):
        """f of queries with rows k (m, n), (m, c)."""
        return times(k, self.coefficients) + self.offsets

    def rounding(self, largest):
        """Bound on the rounding error of f for kernel values of at most `largest`.

        A was found by solving equations, which leaves more in it than the product adds.
        """
        size = np.abs(self.coefficients).sum(axis=0) * largest + np.abs(self.offsets)
        return 256 * _EPS * size.max()


# --- memory that is used again --------------------------------------------------------------------


class Workspace:
    """Uninitialised arrays by name, whose memory is kept for the next request of that name.

    Objects are processed in blocks. Allocating new memory for each block can cost as much as the
    arithmetic, so a block reuses the memory of the one before it.
    """

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


# --- Gram matrices --------------------------------------------------------------------------------


class Centering(NamedTuple):
    """Means of K that centring needs: 1ᵀK/n and 1ᵀK1/n²."""

    column_means: np.ndarray
    grand_mean: float


def centering(K):
    """The centring of the Gram matrix K."""
    means = K.mean(axis=0)
    return Centering(means, means.mean())


def center_gram(K, means, *, overwrite=False):
    """K̃ = HKH."""
    K = K if overwrite else K.copy()
    K -= means.column_means
    K -= (means.column_means - means.grand_mean)[:, None]
    return K


def center_cross(k, means, *, out=None):
    """k̃_x = H(k_x − K1/n), a row for each query (C (2)); out: memory for it, k itself or other."""
    k = np.subtract(k, means.column_means, out=out)
    k -= k.mean(axis=1, keepdims=True)
    return k


def center_self(kxx, k, means):
    """k̃_xx = k_xx − (2/n)1ᵀk_x + 1ᵀK1/n² (C (3)); k are the queries' rows before centring."""
    return kxx - 2 * k.mean(axis=1) + means.grand_mean


def center_queries(kxx, k, means, workspace=None):
    """k̃_xx and k̃_x, not in k's own memory, at once: both need the means of the rows."""
    row_means = np.add.reduce(k, axis=1) / k.shape[1]
    centred = np.subtract(k, means.column_means, out=(workspace or Workspace()).like("centred", k))
    centred -= (row_means - means.grand_mean)[:, None]
    return kxx - 2 * row_means + means.grand_mean, centred


def fundamental_symmetry(values):
    """Diagonal of J: −1 where an eigenvalue is negative, +1 elsewhere (0 counts as positive)."""
    return np.where(values < 0, -1.0, 1.0)


def signature(values):
    """Numbers (p, q) of positive and of negative eigenvalues."""
    return int((values > 0).sum()), int((values < 0).sum())


def negative_fraction(values):
    """r_neg = Σ_{λ<0}|λ| / Σ|λ|; 0 for the zero matrix."""
    total = np.abs(values).sum()
    return float(np.abs(values[values < 0]).sum() / total) if total else 0.0


def total_spread(K):
    """|trace HKH|/n, the mean spread of all objects; 1 where that is nothing but rounding."""
    mean = K.mean()
    spread = abs(np.trace(K) - mean * len(K)) / len(K)
    size = np.abs(K.diagonal()).mean() + abs(mean)
    return float(spread) if spread > 1e-12 * size else 1.0


def mean_distance_sq(K, a, b):
    """Squared distance between the means of the objects a and b; negative in some Kreĭn spaces."""
    cross = K[np.ix_(a, b)].mean()
    return float(K[np.ix_(a, a)].mean() - 2 * cross + K[np.ix_(b, b)].mean())


def largest_eigenvalue(product, d, tol=0.0):
    """Largest eigenvalue of the symmetric matrix (d, d) behind product(v), None without success.

    By Lanczos' method from a fixed start: the answer is deterministic, and with a relative
    tolerance `tol` it can only be too small.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # slow to import

    operator = LinearOperator((d, d), matvec=lambda v: product(v.ravel()), dtype=np.float64)
    start = 1 + np.cos(np.arange(d))
    try:
        return float(
            eigsh(operator, 1, which="LA", v0=start, tol=tol, return_eigenvectors=False)[0]
        )
    except ArpackError:
        return None
