r"""Squared kernel Mahalanobis distances to one class (C, Table II; A, (4) and (7)).

All quantities are centred by the class, n is its size, K̃ = UΛUᵀ, J the signs of Λ (all +1 for a
positive definite kernel), α = nσ² for RC:

========  ===================================================================
variant   d²(x)
========  ===================================================================
IC-       n k̃ᵀ(K̃⁻)²k̃, the pseudo-inverse drops \|λ\| < α
IC+       n k̃ᵀK̃_reg⁻²k̃ with K̃_reg = U(Λ + αJ)Uᵀ
RC+       (k̃_xx − k̃ᵀK̃_reg⁻¹k̃)/σ²
RC-       (k̃_xx − k̃ᵀUJUᵀk̃/(nσ²))/σ²
========  ===================================================================

With P = k̃ᵀU each of them is  s·k̃_xx + Σ_i w_i P_i²,  so that one decomposition serves a whole path
of regularisation values as the matrix product P²W.

Rounding. RC subtracts nearly equal numbers when σ² is small: the absolute error of d² is of the
order eps·k̃_xx/σ² (`rc_rounding`). Where no eigenvalue is negative, RC+ keeps those within the rank
tolerance: P² ≤ λk̃_xx, so that P²/(λ + α) is harmless for every α, but P²/α is not. Distances may be
negative for RC+ with an indefinite kernel and for RC- with any: that is the method, and nothing
here clips them.

Users regularise in units of their choice; `alphas_of` makes α of them.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .linalg import (
    Centering,
    center_gram,
    center_queries,
    centering,
    cholesky,
    cholesky_inverse,
    clear_upper,
    eigh,
    fundamental_symmetry,
    inverse_diagonal,
    is_psd,
    refuse_singular,
    rounding_tolerance,
    row_sq_norms,
    solve_lower,
    times,
    zero_negligible,
)
from .quadratic_form import centred_form

CLASSWISE_VARIANTS = ("IC+", "IC-", "RC+", "RC-")


def _drop_small(lam, alpha, weight):
    lam = lam + 0 * alpha
    large = (np.abs(lam) >= alpha) & (lam != 0)
    return np.where(large, weight(np.where(large, lam, 1.0)), 0.0)


# w and w' of each variant: functions of λ, J, α and n.
SPECTRAL_WEIGHTS = {
    "IC-": lambda lam, J, alpha, n: _drop_small(lam, alpha, lambda large: n / large**2),
    "IC+": lambda lam, J, alpha, n: n / (lam + alpha * J) ** 2,
    "RC+": lambda lam, J, alpha, n: -n / alpha / (lam + alpha * J),
    "RC-": lambda lam, J, alpha, n: -n / alpha**2 * J * np.ones_like(lam + alpha),
}
COORDINATE_WEIGHTS = {
    "IC-": lambda lam, J, alpha, n: _drop_small(lam, alpha, lambda large: n / large),
    "IC+": lambda lam, J, alpha, n: n * lam / (lam + alpha * J) ** 2,
    "RC+": lambda lam, J, alpha, n: n * J / (lam + alpha * J),
    "RC-": lambda lam, J, alpha, n: n / alpha * (1 - J * lam / alpha),
}


def _columns(values, signs, alpha):
    """λ, J and α such that functions of them have a row for each λ, and the axes of α."""
    alpha = np.asarray(alpha, float)
    lam, J = (a.reshape(-1, *[1] * alpha.ndim) for a in (values, signs))
    return lam, J, alpha


def self_weight(variant, n, alpha):
    """s in d² = s·k̃_xx + Σ w P²: 1/σ² = n/α for RC, 0 for IC."""
    return n / np.asarray(alpha, float) if variant.startswith("RC") else np.zeros(np.shape(alpha))


def spectral_weights(variant, values, signs, n, alpha):
    """w in d² = s·k̃_xx + Σ w P², a column for each α: (len(values), *shape of alpha)."""
    return SPECTRAL_WEIGHTS[variant](*_columns(values, signs, alpha), n)


def coordinate_weights(variant, values, signs, n, alpha):
    """w' with d² = s·κ + Σ w't², t the coordinates along the eigenvectors, P² = λt².

    κ is what of k̃_xx lies outside of their span: 0 for the class's own objects, t² = λU_i². The
    subtraction of RC is done in algebra, not in rounding: λ − λ²/(λ + αJ) = αλJ/(λ + αJ).
    """
    return COORDINATE_WEIGHTS[variant](*_columns(values, signs, alpha), n)


def log_volumes(variant, values, n, alpha):
    """The log-determinant of the MAP offset (C, IV-D), up to what is common to the classes."""
    alpha = np.asarray(alpha, float)
    if variant.startswith("RC"):
        return np.log1p(values.reshape(-1, *[1] * alpha.ndim) / alpha).sum(axis=0)
    lam = zero_negligible(values.copy()).reshape(-1, *[1] * alpha.ndim)
    large = lam > 0 if variant == "IC+" else (lam > 0) & (lam >= alpha)
    ridge = alpha if variant == "IC+" else 0.0
    return np.where(large, np.log(np.where(large, lam + ridge, n) / n), 0.0).sum(axis=0)


class SpectralModel(NamedTuple):
    """A class by its eigendecomposition: any variant, any spectrum, one α or a path of them.

    Results have a trailing axis for a path.
    """

    variant: str
    alpha: float | np.ndarray
    means: Centering
    values: np.ndarray
    signs: np.ndarray
    vectors: np.ndarray

    def sq_distances(self, k, kxx, workspace=None):
        """d² of queries, (m, *shape of alpha): k (m, n), kxx (m,)."""
        n = len(self.values)
        s = self_weight(self.variant, n, self.alpha)
        kxx, k = center_queries(kxx, k, self.means, workspace)
        P = times(k, self.vectors)
        P *= P
        W = spectral_weights(self.variant, self.values, self.signs, n, self.alpha)
        return np.multiply.outer(kxx, s) + P @ W

    def form(self):
        """The class as a quadratic form, for one α."""
        n, alpha = len(self.values), float(self.alpha)
        w = spectral_weights(self.variant, self.values, self.signs, n, alpha)
        s = np.atleast_1d(self_weight(self.variant, n, alpha))
        return centred_form(self.means, self.vectors.copy(), w, s)

    def own_sq_distances(self):
        """d² of the class's own objects."""
        w = coordinate_weights(self.variant, self.values, self.signs, len(self.values), self.alpha)
        return (np.square(self.vectors) * self.values) @ w

    def log_volume(self):
        """Its log-determinant, for MAP offsets."""
        return log_volumes(self.variant, self.values, len(self.values), self.alpha)


class CholeskyModel(NamedTuple):
    """A class by the Cholesky factor of K̃ + αI: RC+ for a positive definite kernel and one α."""

    alpha: float
    means: Centering
    L: np.ndarray

    def sq_distances(self, k, kxx, workspace=None):
        """d² of queries: k (m, n), kxx (m,)."""
        kxx, k = center_queries(kxx, k, self.means, workspace)
        return (kxx - row_sq_norms(solve_lower(self.L, k))) * (len(self.L) / self.alpha)

    def form(self):
        """The class as a quadratic form: −n/α·‖L⁻¹k̃‖²."""
        n = len(self.L)
        s = np.full(1, n / self.alpha)
        return centred_form(self.means, solve_lower(self.L, np.eye(n)), np.full(n, -s[0]), s)

    def own_sq_distances(self):
        """d² of the class's own objects: n(1 − α[(K̃ + αI)⁻¹]_ii)."""
        return len(self.L) * (1 - self.alpha * inverse_diagonal(self.L))

    def log_volume(self):
        """Σ ln(1 + λ/α)."""
        return 2 * np.log(np.diagonal(self.L)).sum() - len(self.L) * np.log(self.alpha)


class MeanModel(NamedTuple):
    """A class by its mean alone: RC- for a positive definite kernel, where UJUᵀ = I."""

    alpha: float | np.ndarray
    means: Centering

    def sq_distances(self, k, kxx, workspace=None):
        """d² of queries, (m, *shape of alpha): k (m, n), kxx (m,)."""
        n = k.shape[1]
        kxx, k = center_queries(kxx, k, self.means, workspace)
        norms = row_sq_norms(k)
        alpha = np.asarray(self.alpha, float)
        return np.multiply.outer(kxx, n / alpha) - np.multiply.outer(norms, n / alpha**2)

    def form(self):
        """The class as a quadratic form, for one α: −n/α²·‖k̃‖²."""
        n, alpha = len(self.means.column_means), float(self.alpha)
        s = np.full(1, n / alpha)
        return centred_form(self.means, np.eye(n), np.full(n, -n / alpha**2), s)

    def own_sq_distances(self):
        """None: the class's own objects are measured as all others are."""


def class_model(K, variant, alpha, *, definite=False, krein=True, spectral=False):
    """The model of one class from its Gram matrix K, which is overwritten.

    alpha: a number, or a path (r,) of them.
    definite: K is known to be positive (semi)definite; otherwise that is proven or K decomposed.
    krein: take J from the spectrum; False applies the formulas of a definite kernel (J = I).
    spectral: always decompose (for the log-determinant).
    """
    n = len(K)
    means = centering(K)
    Kc = center_gram(K, means, overwrite=True)
    shortcut = variant == "RC-" or (variant == "RC+" and np.ndim(alpha) == 0)
    if shortcut and not spectral and (definite or not krein or is_psd(Kc)):
        if variant == "RC-":
            return MeanModel(alpha, means)
        # Else the factor would be that of rounding errors.
        diagonal = np.diagonal(Kc).copy()
        if alpha > rounding_tolerance(diagonal.sum(), n):
            Kc.flat[:: n + 1] += alpha
            L = cholesky(Kc, overwrite=True)
            if L is not None:
                return CholeskyModel(alpha, means, clear_upper(L))
            Kc.flat[:: n + 1] = diagonal  # the lower triangle is as it was, and eigh reads no more
    values, U = eigh(Kc, overwrite=True, keep_small=variant == "RC+")
    if definite:  # what is negative is the rounding of values far larger than the class's spread
        values = np.maximum(values, 0.0)
    signs = fundamental_symmetry(values) if krein else np.ones(n)
    return SpectralModel(variant, alpha, means, values, signs, U)


def rc_rounding(kxx, means, n, alpha):
    """Bound on the rounding error of RC distances, shaped as alpha; kxx: self-similarities."""
    size = np.abs(kxx).max() + 2 * np.abs(means.column_means).max() + abs(means.grand_mean)
    return 16 * np.finfo(float).eps * n * (1 + size / np.asarray(alpha, float))


def rc_minus_leave_one_out(K, alpha):
    """RC- distance of each object to its class without it, for a definite kernel: O(n²).

    α belongs to the class without the object. K (n, n) is the class's Gram matrix.
    """
    n = len(K)
    diagonal, sums = np.diagonal(K), K.sum(axis=0)
    # Row i: object i against the others, centred by their means without i.
    k = K - (sums - K) / (n - 1)
    np.fill_diagonal(k, 0.0)
    norms = row_sq_norms(k) - k.sum(axis=1) ** 2 / (n - 1)
    row_means = (sums - diagonal) / (n - 1)
    grand_means = (sums.sum() - 2 * sums + diagonal) / (n - 1) ** 2
    kxx = diagonal - 2 * row_means + grand_means
    return (kxx - norms / alpha) * ((n - 1) / alpha)


# --- RC+ with objects of the class left out -------------------------------------------------------
#
# For a class with raw Gram matrix K and A = K + αI, α = nσ², the centred formula of RC+ becomes
#
#     d²(x) = (k_xx − kᵀA⁻¹k + (1 − 1ᵀA⁻¹k)²/(1ᵀA⁻¹1))/σ² − 1,
#
# the variance of ordinary kriging (from (HKH + αI)⁻¹ = A⁻¹ − A⁻¹11ᵀA⁻¹/(1ᵀA⁻¹1) + 11ᵀ/αn). Only A⁻¹
# enters, and the inverse without the objects F is a block update: with S = A⁻¹, w = S1 and u = Sk,
# and GGᵀ = S_FF,
#
#     kᵀA_R⁻¹k = kᵀSk − ‖G⁻¹u_F‖²,  1ᵀA_R⁻¹k = 1ᵀu − (G⁻¹w_F)ᵀ(G⁻¹u_F),  1ᵀA_R⁻¹1 = 1ᵀw − ‖G⁻¹w_F‖².
#
# So every fold of a cross-validation comes from one factorisation per class and α. For an object of
# the class itself u = e_i − αS_i, and nothing need be solved. The determinants of MAP offsets come
# from det(HKH + αI) = α·det(A)·(1ᵀA⁻¹1)/n and det(A_R) = det(A)·det(S_FF).
#
# The kernel is positive definite here: in a Kreĭn space the signs of the regularisation belong to
# the spectrum of each fold's own centred matrix, and that must be decomposed.


class KrigingClass(NamedTuple):
    """A class at one α, ready to have objects left out.

    S (n, n) is A⁻¹, w = S1; for all N objects, the class at `members`: U (N, n) with rows u = Sk,
    residual = k_xx − kᵀSk and weight = 1ᵀu. U is in Fortran order: a fold is a block of columns.
    """

    alpha: float
    members: slice
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


def kriging_class(k, kxx, members, alpha):
    """The class whose objects stand at `members` among all N; None if α is lost in K's rounding.

    k (N, n) are the kernel values of all objects against the class, kxx (N,) their
    self-similarities; centred by the class (`centre_on_class`) they allow any kernel whose centred
    matrix is definite.
    """
    N, n = k.shape
    A = k[members].copy()
    if alpha <= rounding_tolerance(np.trace(A), n):
        return None
    A.flat[:: n + 1] += alpha
    L = cholesky(A, overwrite=True)
    if L is None:
        return None
    log_det = 2 * np.log(np.diagonal(L)).sum()
    S = cholesky_inverse(L)
    w = S.sum(axis=0)
    U = np.empty((N, n), order="F")
    residual, weight = np.empty(N), k @ w
    U[members] = -alpha * S
    U[np.arange(members.start, members.stop), np.arange(n)] += 1
    residual[members] = alpha - alpha**2 * np.diagonal(S)
    weight[members] = 1 - alpha * w
    for others in (slice(0, members.start), slice(members.stop, N)):
        if others.start < others.stop:
            # kA⁻¹ with the queries as rows: two triangular solves from the right.
            u = linalg.blas.dtrsm(1.0, L, k[others], side=1, lower=1, trans_a=1)
            residual[others] = kxx[others] - np.einsum("ji,ji->i", u.T, u.T)
            U[others] = linalg.blas.dtrsm(1.0, L, u, side=1, lower=1, overwrite_b=1)
    return KrigingClass(alpha, members, log_det, S, w, U, residual, weight)


def centre_on_class(K, kxx, members):
    """Kernel values of all objects against a class and their self-similarities, about its mean."""
    k = K[:, members].copy()
    means = centering(k[members])
    row_means = k.mean(axis=1)
    k -= means.column_means
    k -= (row_means - means.grand_mean)[:, None]
    return k, kxx - 2 * row_means + means.grand_mean


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


def query_path(spectrum, P, kxx, alphas):
    """d² of queries with coordinates P = kV for every α, (m, len(alphas)), and the log-volumes."""
    n = len(spectrum.values)
    inverse = 1 / (spectrum.values[:, None] + alphas)
    weight = P @ (spectrum.t[:, None] * inverse)
    total = spectrum.t**2 @ inverse
    d2 = (kxx[:, None] - np.square(P) @ inverse + (1 - weight) ** 2 / total) * (n / alphas) - 1
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


def without_each(spectrum, P, kxx, members, alpha, chunks):
    """d² (len(rows), N) of all objects to the class without each of its objects in turn.

    P (N, n) = kV and kxx (N,) are of all objects, the class at `members`; α belongs to the class
    without the object. `chunks` are slices of the objects left out; a result for each.
    """
    V, inverse = spectrum.vectors, 1 / (spectrum.values + alpha)
    diagonal, w = np.square(V) @ inverse, V @ (spectrum.t * inverse)
    scaled = P * inverse
    residual, weight = kxx - np.einsum("ij,ij->i", scaled, P), scaled @ spectrum.t
    residual[members], weight[members] = alpha - alpha**2 * diagonal, 1 - alpha * w
    sigma2, U = alpha / (len(w) - 1), V @ scaled.T
    for rows in chunks:
        u, ratio = U[rows], (w / diagonal)[rows, None]
        total = w.sum() - w[rows, None] * ratio
        # (residual + u²/S_ii + (1 − weight + u·w_i/S_ii)²/total)/σ² − 1, in place.
        d2 = u * ratio
        d2 += 1 - weight
        d2 *= d2
        d2 *= 1 / (sigma2 * total)
        u *= u
        u *= 1 / (sigma2 * diagonal[rows, None])
        d2 += u
        d2 += residual / sigma2 - 1
        yield d2


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


def rc_plus_left_out(d2, alpha):
    """RC+ distances of the objects of a definite class without them, from those with them, (n,).

    d2 (n,) are the distances of the class's own objects, n(1 − αS_ii) with S = (K̃ + αI)⁻¹, and
    S1 = 1/α since K̃ is centred: what `rc_plus_leave_one_out` needs is known. σ² is held fixed as
    the divisor, but not in S, where α stays nσ² instead of (n − 1)σ². NaN for a class of one.
    """
    n = len(d2)
    diagonal = (1 - d2 / n) / alpha  # S_ii
    with np.errstate(divide="ignore", invalid="ignore"):
        total = n / alpha - 1 / (alpha**2 * diagonal)
        left = 1 / diagonal - alpha + 1 / (alpha * diagonal) ** 2 / total
    return left * (n / alpha) - 1 if n > 1 else np.full(n, np.nan)


def _left_out(diagonal, w, log_det, alphas):
    n = len(w)
    total = w.sum(axis=0) - w**2 / diagonal
    residual = 1 / diagonal - alphas
    d2 = (residual + (w / diagonal) ** 2 / total) * ((n - 1) / alphas) - 1
    return d2, _log_volume(log_det + np.log(diagonal), total, n - 1, alphas)


# --- what `reg` means -----------------------------------------------------------------------------

REG_ON = ("auto", "covariance", "kernel", "relative")
# reg="auto"; of dissimilarities, whose kernels are rarely definite, relative to the spread.
DEFAULT_REG, MEASURE_REG = 0.01, 0.1


def alphas_of(reg, reg_on, variant, counts, spread):
    """α of each class: reg (…, c), class sizes counts (c,); spread() is asked for "relative"."""
    match resolved_reg_on(reg_on, variant):
        case "relative":
            scale = spread()
            if variant.startswith("RC"):
                return reg * scale * counts
            return reg * (scale**2 if variant.startswith("FK") else scale)
        case "covariance":
            return reg * counts
    return np.array(reg)


def resolved_reg_on(reg_on, variant):
    """The unit of `reg`: "auto" is "covariance" for RC and "kernel" otherwise."""
    if reg_on == "auto":
        return "covariance" if variant.startswith("RC") else "kernel"
    return reg_on


def measure_reg(reg_on, variant, spread):
    """reg="auto" of dissimilarities as a number in the units of reg_on."""
    if reg_on == "relative":
        return MEASURE_REG
    return MEASURE_REG * spread() ** (2 if variant.startswith("FK") else 1)


def without_one(alphas, counts, reg_on, variant):
    """α of each class less one object: (n − 1)σ² where σ² is what is given."""
    fixed = resolved_reg_on(reg_on, variant) == "kernel"
    return alphas if fixed else alphas * (counts - 1) / counts


def common_sigma2(alphas, counts):
    """True where σ² = α/n_j is the same for all classes; alphas (…, c)."""
    sigma2 = alphas / counts
    return bool((np.ptp(sigma2, axis=-1) <= 1e-12 * sigma2.max(axis=-1)).all())
