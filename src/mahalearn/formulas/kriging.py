r"""RC+ distances without centring, and with objects of the class left out.

For a class with raw Gram matrix K and A = K + αI, α = nσ², the centred formula of RC+ becomes

    d²(x) = (k_xx − kᵀA⁻¹k + (1 − 1ᵀA⁻¹k)²/(1ᵀA⁻¹1))/σ² − 1,

the variance of ordinary kriging (it follows from (HKH + αI)⁻¹ = A⁻¹ − A⁻¹11ᵀA⁻¹/(1ᵀA⁻¹1) + 11ᵀ/αn).
Only A⁻¹ enters, and the inverse without the objects F is a block update: with S = A⁻¹, w = S1 and
u = Sk, and GGᵀ = S_FF,

    kᵀA_R⁻¹k = kᵀSk − ‖G⁻¹u_F‖²,   1ᵀA_R⁻¹k = 1ᵀu − (G⁻¹w_F)ᵀ(G⁻¹u_F),   1ᵀA_R⁻¹1 = 1ᵀw − ‖G⁻¹w_F‖².

So every fold of a cross-validation comes from one factorisation per class and α. For an object of
the class itself u = e_i − αS_i, and nothing need be solved. The determinants of MAP offsets follow
from det(HKH + αI) = α·det(A)·(1ᵀA⁻¹1)/n and det(A_R) = det(A)·det(S_FF).

The kernel is positive definite here: in a Kreĭn space the signs of the regularisation belong to
the spectrum of each fold's own centred matrix, and that must be decomposed.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .gram import centering
from .linalg import cholesky, inverse_diagonal, refuse_singular, rounding_tolerance


class KrigingClass(NamedTuple):
    """A class at one α, ready to have objects left out.

    S (n, n) is A⁻¹, w = S1; for all N objects, the class at `own`: U (N, n) with rows u = Sk,
    residual = k_xx − kᵀSk and weight = 1ᵀu. U is in Fortran order: a fold is a block of columns.
    """

    alpha: float
    own: slice
    log_det: float
    S: np.ndarray
    w: np.ndarray
    U: np.ndarray
    residual: np.ndarray
    weight: np.ndarray

    def without(self, left_out, sigma2):
        """d² (N,) and the log-volume of the class without its objects at `left_out`."""
        residual, weight, total, log_det = self.residual, self.weight, self.w.sum(), self.log_det
        n = len(self.w) - len(left_out)
        if len(left_out):
            F = _as_slice(left_out)
            G, info = linalg.lapack.dpotrf(self.S[F][:, F], lower=1)
            refuse_singular(info)
            Y = linalg.blas.dtrsm(1.0, G, self.U[:, F], side=1, lower=1, trans_a=1)
            z = linalg.blas.dtrsv(G, self.w[F], lower=1)
            residual = residual + np.einsum("ji,ji->i", Y.T, Y.T)
            weight = weight - Y @ z
            total = total - z @ z
            log_det = log_det + 2 * np.log(np.diagonal(G)).sum()
        d2 = (residual + (1 - weight) ** 2 / total) / sigma2 - 1
        return d2, _log_volume(log_det, total, n, self.alpha)


def kriging_class(k, kxx, own, alpha):
    """The class whose objects stand at `own` among all N; None if α is lost in K's rounding.

    k (N, n) are the kernel values of all objects against the class, kxx (N,) their
    self-similarities; centred by the class (`centre_on_class`) they allow any kernel whose centred
    matrix is definite.
    """
    N, n = k.shape
    A = k[own].copy()
    if alpha <= rounding_tolerance(np.trace(A), n):
        return None
    A.flat[:: n + 1] += alpha
    L = cholesky(A, overwrite=True)
    if L is None:
        return None
    log_det = 2 * np.log(np.diagonal(L)).sum()
    S, info = linalg.lapack.dpotri(L, lower=1)
    refuse_singular(info)
    mirror_lower(S)
    w = S.sum(axis=0)
    U = np.empty((N, n), order="F")
    residual, weight = np.empty(N), k @ w
    U[own] = -alpha * S
    U[np.arange(own.start, own.stop), np.arange(n)] += 1
    residual[own] = alpha - alpha**2 * np.diagonal(S)
    weight[own] = 1 - alpha * w
    for others in (slice(0, own.start), slice(own.stop, N)):
        if others.start < others.stop:
            # kA⁻¹ with the queries as rows: two triangular solves from the right.
            u = linalg.blas.dtrsm(1.0, L, k[others], side=1, lower=1, trans_a=1)
            residual[others] = kxx[others] - np.einsum("ji,ji->i", u.T, u.T)
            U[others] = linalg.blas.dtrsm(1.0, L, u, side=1, lower=1, overwrite_b=1)
    return KrigingClass(alpha, own, log_det, S, w, U, residual, weight)


def centre_on_class(K, kxx, own):
    """Kernel values of all objects against a class and their self-similarities, about its mean."""
    k = K[:, own].copy()
    means = centering(k[own])
    row_means = k.mean(axis=1)
    k -= means.column_means
    k -= (row_means - means.grand_mean)[:, None]
    return k, kxx - 2 * row_means + means.grand_mean


def mirror_lower(S, block=64):
    """Copy the lower triangle of S into the upper one, a block of columns at a time."""
    for i in range(0, len(S), block):
        end = min(i + block, len(S))
        S[:i, i:end] = S[i:end, :i].T
        corner = np.tril(S[i:end, i:end])
        S[i:end, i:end] = corner + np.tril(corner, -1).T


def _as_slice(index):
    """Consecutive numbers as a slice: views instead of copies."""
    if index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
        return slice(index[0], index[-1] + 1)
    return index


def _log_volume(log_det, total, n, alpha):
    """Σ ln(1 + λ/α) of the centred matrix from ln det A and 1ᵀA⁻¹1."""
    return log_det + np.log(total) - np.log(n) - (n - 1) * np.log(alpha)


# --- one object left out at a time ----------------------------------------------------------------


class RawSpectrum(NamedTuple):
    """K = VΛVᵀ of a class, not centred, and t = Vᵀ1: serves every α."""

    values: np.ndarray
    vectors: np.ndarray
    t: np.ndarray


def raw_spectrum(K):
    """The decomposition of a class's Gram matrix."""
    values, V = linalg.eigh(K, check_finite=False, driver="evd")
    return RawSpectrum(values, V, V.sum(axis=0))


def query_path(spectrum, k, kxx, alphas):
    """d² of queries k (m, n) for every α, (m, len(alphas)), and the log-volumes."""
    n = len(spectrum.values)
    inverse = 1 / (spectrum.values[:, None] + alphas)
    P = k @ spectrum.vectors
    weight = P @ (spectrum.t[:, None] * inverse)
    P *= P
    total = spectrum.t**2 @ inverse
    d2 = (kxx[:, None] - P @ inverse + (1 - weight) ** 2 / total) * (n / alphas) - 1
    log_det = np.log(spectrum.values[:, None] + alphas).sum(axis=0)
    return d2, _log_volume(log_det, total, n, alphas)


def leave_one_out_path(spectrum, alphas):
    """d² of each object of the class to the class without it, (n, len(alphas)); log-volumes alike.

    α belongs to the class without the object: (n − 1)σ² where σ² is given.
    """
    inverse = 1 / (spectrum.values[:, None] + alphas)
    diagonal = np.square(spectrum.vectors) @ inverse
    w = (spectrum.vectors * spectrum.t) @ inverse
    log_det = np.log(spectrum.values[:, None] + alphas).sum(axis=0)
    return _left_out(diagonal, w, log_det, alphas)


def rc_plus_leave_one_out(K, alpha):
    """The same for one α from a Cholesky factor, (n,); K is the class's centred Gram matrix."""
    A = K.copy()
    A.flat[:: len(A) + 1] += alpha
    L = cholesky(A, overwrite=True)
    if L is None:  # α below the rounding of K
        return leave_one_out_path(raw_spectrum(K), np.array([alpha]))[0][:, 0]
    w, _ = linalg.lapack.dpotrs(L, np.ones(len(K)), lower=1)
    diagonal, w = inverse_diagonal(L)[:, None], w.reshape(-1, 1)
    return _left_out(diagonal, w, 0.0, np.array([alpha]))[0][:, 0]


def _left_out(diagonal, w, log_det, alphas):
    n = len(w)
    total = w.sum(axis=0) - w**2 / diagonal
    residual = 1 / diagonal - alphas
    d2 = (residual + (w / diagonal) ** 2 / total) * ((n - 1) / alphas) - 1
    return d2, _log_volume(log_det + np.log(diagonal), total, n - 1, alphas)
