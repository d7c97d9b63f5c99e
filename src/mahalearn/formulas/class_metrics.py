r"""Mahalanobis distances to classes from their scatters, with certified conformal p-values.

**Metric.** N rows in classes of n_j rows, W_j the scatter of class j about its mean μ_j, W = ΣW_j:

    A_j = W_j + κ_j(W − W_j) + r_jσ²I,   r_j = n_j + 1 + κ_j(N − n_j),
    D_j(x) = (x − μ_j)ᵀA_j⁻¹(x − μ_j),   d²_j(x) = r_jD_j(x).

d² is the squared Mahalanobis distance in the covariance A_j/r_j, r_j the number of rows behind it
(one more than there are: a query may join). κ = 1 is the shared covariance (K. Lee et al., A simple
unified framework for detecting out-of-distribution samples, 2018), κ = 0 the class's own, and
κ_j = ν/(N − n_j) the class's own with ν pseudo-rows of the covariance of the other classes. r and κ
depend on counts alone.

**A query joins the class.** With δ = x − μ_j and β = n/(n + 1), n = n_j, the metric of class ∪ {x}
is A_j + βδδᵀ, for every κ. With e_i = x_i − μ_j, g_i = e_iᵀA_j⁻¹e_i, u_i = e_iᵀA_j⁻¹δ, D = D_j(x),
the resubstitution distances in it are

    h_i = g_i + 1/(n(n + 1)) − β(u_i + 1/n)²/(1 + βD),   h_x = β²D/(1 + βD),

and leave-one-out distances rank as they do. p_j = (1 + #{i ∈ j: h_i ≥ h_x})/(n + 1) is the
full-conformal p-value.

**A certified bound needs one number per training row.** |u_i| ≤ √(g_iD); the largest D for which
some u_i allows h_i ≥ h_x is

    t_i = g_i((n + 1)/(n − 1))²                   where that is at most (n + 1)/(n(n − 1)),
        = q/(β² − βq),  q = g_i + 1/(n(n + 1))    otherwise (∞ where q ≥ β, or n = 1).

So p_j⁺ = (1 + #{i ∈ j: t_i ≥ D_j(x)})/(n + 1) ≥ p_j, and P(p_j⁺ ≤ a) ≤ a for a new object of the
class, whatever the distribution. Rows that are in the moments but not counted do not matter: the
others and x are exchangeable given them. A larger t_i makes p_j⁺ larger: limits may be rounded up,
so that rows share few values, which a histogram counts.

**Over all rows**, p⁺ = (1 + #{i: ρ_jr_jt_i ≥ min_j d²_j(x)})/(N + 1), j the class of row i, is
valid for the mixture of the classes. Score each of the N + 1 rows by its distance to its own class
without it. That of x is d²_y ≥ min_j d²_j, that of a row of class y at most r_yt_i. For a row of
another class j, x is one of the others: κ_j(W − W_j) grows by x, which brings the row nearer, but
with N + 1 − n_j others κ_j and r_j become κ′_j and r′_j = n_j + κ′_j(N + 1 − n_j). Its score is at
most ρ_jr_jt_i with ρ_j = max(1, κ_jr′_j/(κ′_jr_j)), which is 1 for the shared covariance and below
1 + 1/(N − n_j) otherwise.

**The nearest class.** S = (W + (N + 1)σ²I)/(N + 1) is the shared covariance. With λ_j the largest
eigenvalue of S⁻¹A_j/r_j, d²_j ≥ d²_shared,j/λ_j: classes that are far by the shared metric need not
be measured. Neither need those that are far in the few directions in which the means differ: for
any matrix P, d²_j is at least the distance of Pᵀ(x − μ_j) in the covariance PᵀA_jP/r_j. A third
bound takes some of the columns for P.

**Relative distance** (J. Ren et al., A simple fix to Mahalanobis distance, 2021): min_j d²_j − d²_0
with the distance d_0 to the mean μ_0 of all rows in the total covariance. With the same σ² in both
that is S + HHᵀ, H = [√(n_j/(N + 1))(μ_j − μ_0)], and with z = x − μ_0, G = S⁻¹H, RRᵀ = I + HᵀG,

    d²_j − d²_0 = |R⁻¹Gᵀz|² − 2zᵀv_j + (μ_j − μ_0)ᵀv_j,   v_j = S⁻¹(μ_j − μ_0).
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from .class_covariances import scatter_covariance
from .conformal import without_noise
from .linalg import largest_eigenvalue, row_sq_norms
from .moments import symmetric

# Squared distances in float32 have about this relative error; limits are rounded up by as much.
ROUNDING = 3e-5
# Binary digits of a limit: an octave holds 2^(DIGITS − 1) different ones.
DIGITS = 14
# Centres whose squared length is more than this many times d are too far apart for float32.
FARTHEST = 1e3
# Pairs of a row and a class whose difference is formed at a time, in numbers.
PAIRED = 2**22
# Number of discriminant directions in which the second bound is computed.
DIRECTIONS = 128


def unit_rows(X):
    """Rows divided by their lengths; a row of zeros stays as it is."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(row_sq_norms(X))
    usual = (lengths > 1e-15) & (lengths < 1e15)  # no square overflows or vanishes
    if not usual.all():
        largest = np.abs(X).max(axis=1)
        largest[largest == 0] = 1
        X = X / largest[:, None]
        lengths = np.sqrt(row_sq_norms(X))
        lengths[lengths == 0] = 1
    return X / lengths[:, None]


def borrowing(counts, pseudo_rows, joining=0):
    """κ_j (c,): the share of the other classes' scatter that `pseudo_rows` of them amount to.

    joining: number of rows by which the other classes grow.
    """
    return np.minimum(1.0, pseudo_rows / np.maximum(counts.sum() - counts + joining, 1.0))


def row_numbers(counts, kappas):
    """r_j (c,): the number of rows behind each metric, a query included."""
    return counts + 1 + kappas * (counts.sum() - counts)


def mixture_factors(counts, pseudo_rows):
    """ρ_j (c,) of class-wise metrics."""
    kappas, joined = borrowing(counts, pseudo_rows), borrowing(counts, pseudo_rows, 1)
    rows = row_numbers(counts, kappas)
    rows_joined = counts + joined * (counts.sum() - counts + 1)
    with np.errstate(invalid="ignore"):
        ratio = kappas * rows_joined / (joined * rows)  # 0/0 where nothing is borrowed
    return np.fmax(1.0, ratio)


def regularised(C, sigma2, scales):
    """C + σ²I of the columns divided by their scales (d,), in place of the covariance C (d, d)."""
    C /= scales[:, None] * scales
    C.flat[:: len(C) + 1] += sigma2
    return C


def whitener(C):
    """F with C⁻¹ = FFᵀ, upper triangular, for a positive definite C (d, d): d² = |(x − μ)F|²."""
    L, failed = linalg.lapack.dpotrf(C, lower=1)
    if failed:
        raise ValueError(
            "A covariance is not positive definite in floating point: the columns differ too much "
            "in size, or reg is too small."
        )
    return linalg.lapack.dtrtri(L, lower=1, overwrite_c=1)[0].T


def whitened_rows(E, F):
    """EF of rows E (m, d), which are overwritten, for an upper triangular F."""
    if not len(E):
        return E
    trmm = blas.strmm if E.dtype == np.float32 else blas.dtrmm
    F = np.ascontiguousarray(F, E.dtype)
    return trmm(1.0, F.T, E.T, lower=1, overwrite_b=1).T  # in Fortran's order Eᵀ and Fᵀ


class SharedMetric(NamedTuple):
    """Distances to all classes after one whitening: d²_j = |(x − μ_0)F − m_j|².

    origin μ_0 (d,), whitener F (d, d), centres m (c, d).
    """

    origin: np.ndarray
    whitener: np.ndarray
    centres: np.ndarray

    @property
    def pooled(self):
        """True: one covariance serves all classes."""
        return True

    @property
    def shared(self):
        """The metric itself."""
        return self

    def centred(self, X):
        """x − μ_0 of rows (m, d), in single precision if that suffices for rows that have it."""
        if X.dtype == np.float32 and row_sq_norms(self.centres).max() > FARTHEST * X.shape[1]:
            X = X.astype(np.float64)
        return X - self.origin.astype(X.dtype)

    def whitened(self, X):
        """(x − μ_0)F of rows (m, d)."""
        return whitened_rows(self.centred(X), self.whitener)

    def sq_distances(self, X):
        """d² (m, c)."""
        return self._distances(X, np.inf)

    def nearest(self, X):
        """The least d² and its class, (m,) each."""
        D = self._distances(X, 2.0)
        nearest = D.argmin(axis=1)
        return D[np.arange(len(X)), nearest], nearest

    def _distances(self, X, roundings):
        """d² (m, c), precise where they exceed the least of their row by so many roundings at most.

        Differences are more precise than products; few classes are left where it matters.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self.whitened(X)
            D, rounding = self._products(Z)
            least, centres = D.min(axis=1), self.centres.astype(Z.dtype)
            rows = np.flatnonzero(np.isfinite(rounding) & (rounding > ROUNDING / 2 * least))
            some, step = D[rows], max(1, PAIRED // Z.shape[1])
            unclear = rounding[rows, None] > ROUNDING / 2 * some
            unclear &= some <= (least + roundings * rounding)[rows, None]
            pairs, classes = np.nonzero(unclear)
            for start in range(0, len(pairs), step):
                part = slice(start, start + step)
                i, j = rows[pairs[part]], classes[part]
                D[i, j] = without_noise(row_sq_norms(Z[i] - centres[j]))
        return D

    def _products(self, Z):
        """d² (m, c) of whitened rows by one product, |z|² − 2zᵀm_j + |m_j|², and its rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            centres = self.centres.astype(Z.dtype, copy=False)
            squares, norms = row_sq_norms(Z), row_sq_norms(centres)
            D = Z @ centres.T
            D *= -2
            D += squares[:, None]
            D += norms
            np.maximum(D, 0, out=D)
            D[np.isnan(D)] = np.inf
            return D, 16 * np.finfo(Z.dtype).eps * (squares + norms.max())

    def own_sq_distances(self, X, codes):
        """d² of each row to its own class, (m,)."""
        Z = self.whitened(X)
        Z -= self.centres.astype(Z.dtype, copy=False)[codes]
        return without_noise(row_sq_norms(Z))

    def contributions(self, x, j):
        """Shares of the columns in d²_j of a row (d,), which sum to it: e ∘ S⁻¹e."""
        z = (x - self.origin) @ self.whitener - self.centres[j]
        e = linalg.solve_triangular(self.whitener, z, trans="T")
        return e * (self.whitener @ z)


def shared_metric(means, counts, lower, sigma2, scales=None, dtype=np.float64):
    """The metric of S: means (c, d), counts (c,), W (d, d) by its lower triangle.

    scales (d,): σ² is added to the columns divided by them. dtype: precision of the queries, in
    which the origin must be exact.
    """
    scales = np.ones(len(lower)) if scales is None else scales
    N = counts.sum()
    origin = (counts @ means / N).astype(dtype).astype(np.float64)
    C = regularised(scatter_covariance(lower, N + 1), sigma2, scales)
    F = whitener(C) / scales[:, None]
    return SharedMetric(origin, F, (means - origin) @ F)


class ClassMetrics(NamedTuple):
    """Distances to each class in a metric of its own.

    offsets μ_j − μ_0 (c, d), whiteners (c, d, d), stretches λ (c,): d²_j ≥ d²_shared,j/λ_j.
    directions P (d, k) for whitened rows, in which marginals (c, k, k) whiten the classes.
    """

    offsets: np.ndarray
    whiteners: np.ndarray
    stretches: np.ndarray
    shared: SharedMetric
    directions: np.ndarray
    marginals: np.ndarray

    @property
    def pooled(self):
        """False: every class has a covariance of its own."""
        return False

    def _to_class(self, centred, j, n_columns=None):
        """d²_j of rows less the origin (m, d), (m,); of the first columns alone at most that.

        F is upper triangular: its leading block whitens the first columns.
        """
        first = slice(n_columns)
        with np.errstate(over="ignore", invalid="ignore"):
            E = centred[:, first] - self.offsets[j, first].astype(centred.dtype)
            d2 = row_sq_norms(whitened_rows(E, self.whiteners[j, first, first]))
        return without_noise(np.where(np.isnan(d2), np.inf, d2))

    def sq_distances(self, X):
        """d² (m, c)."""
        X = self.shared.centred(X)
        return np.column_stack([self._to_class(X, j) for j in range(len(self.offsets))])

    def own_sq_distances(self, X, codes):
        """d² of each row to its own class, (m,)."""
        out = np.empty(len(X), X.dtype)
        for j in np.unique(codes):
            members = np.flatnonzero(codes == j)
            out[members] = self._to_class(self.shared.centred(X[members]), j)
        return out

    def contributions(self, x, j):
        """Shares of the columns in d²_j of a row (d,), which sum to it: e ∘ C⁻¹e."""
        e, F = x - self.shared.origin - self.offsets[j], self.whiteners[j].astype(float)
        return e * (F @ (e @ F))

    def nearest(self, X):
        """The least d² and its class, (m,) each, measured for few classes.

        The class that is nearest by the shared metric comes first, then those that no bound
        excludes: the shared metric, discriminant directions, the first two thirds of the columns.
        """
        Z = self.shared.whitened(X)
        D, rounding = self.shared._products(Z)
        first = D.argmin(axis=1)
        with np.errstate(invalid="ignore"):
            bounds = np.fmax(D - rounding[:, None], 0) / self.stretches.astype(D.dtype)
        bounds = bounds.T.copy()
        bounds[first, np.arange(len(X))] = np.inf
        centred = self.shared.centred(X)
        least = np.empty(len(X), D.dtype)
        for j in np.unique(first):
            rows = np.flatnonzero(first == j)
            least[rows] = self._to_class(centred[rows], j)
        A, centres = (
            (B @ self.directions).astype(Z.dtype, copy=False) for B in (Z, self.shared.centres)
        )
        nearest = first
        for j, F in enumerate(self.marginals):
            rows = np.flatnonzero(bounds[j] < least)
            d2 = row_sq_norms(whitened_rows(A[rows] - centres[j], F))
            rows = rows[d2 * (1 - ROUNDING) < least[rows]]
            d2 = self._to_class(centred[rows], j, 2 * X.shape[1] // 3)
            rows = rows[d2 * (1 - ROUNDING) < least[rows]]
            d2 = self._to_class(centred[rows], j)
            closer = d2 < least[rows]
            least[rows[closer]], nearest[rows[closer]] = d2[closer], j
        return least, nearest


def class_metrics(means, counts, lowers, pseudo_rows, sigma2, scales=None, dtype=np.float64):
    """Class-wise metrics: means (c, d), scatters by their lower triangles, (d, d) each.

    dtype: of the whiteners, which are computed in float64.
    """
    total = sum(lowers)
    scales = np.ones(len(total)) if scales is None else scales
    kappas = borrowing(counts, pseudo_rows)
    shared = shared_metric(means, counts, total, sigma2, scales, dtype)
    total = symmetric(total)
    V = np.linalg.svd(shared.centres, full_matrices=False)[2][:DIRECTIONS].T
    P = shared.whitener @ V * scales[:, None]
    whiteners = np.empty((len(counts), *total.shape), dtype)
    marginals = np.empty((len(counts), P.shape[1], P.shape[1]), dtype)
    stretches = np.empty(len(counts))
    standard = shared.whitener * scales[:, None]
    for j, (kappa, rows) in enumerate(zip(kappas, row_numbers(counts, kappas), strict=True)):
        C = regularised(scatter_covariance(lowers[j], rows, total, kappa), sigma2, scales)
        stretches[j] = largest_ratio(C, standard)
        whiteners[j] = whitener(C) / scales[:, None]
        marginals[j] = whitener(P.T @ C @ P)
    V = V.astype(dtype)
    return ClassMetrics(means - shared.origin, whiteners, stretches, shared, V, marginals)


def largest_ratio(C, F):
    """An upper bound, at most about 1 % too large, of the largest eigenvalue of FᵀCF.

    Lanczos' estimate can only be too small; a Cholesky factor of the difference proves the bound.
    """
    B = F.T @ C @ F
    d = len(B)
    estimate = None if d < 16 else largest_eigenvalue(B.__matmul__, d, tol=1e-3)
    if estimate is None:
        return float(np.linalg.eigvalsh(B)[-1]) * (1 + 1e-10)
    while True:
        estimate *= 1.01
        difference = -B
        difference.flat[:: d + 1] += estimate
        if linalg.lapack.dpotrf(difference, overwrite_a=1)[1] == 0:
            return estimate


class RelativeMetric(NamedTuple):
    """d²_j − d²_0 in the space that the class means span.

    shared: the metric of S; projection [GR⁻ᵀ, v_1 … v_c] (d, 2c); constants |m_j|² (c,).
    """

    shared: SharedMetric
    projection: np.ndarray
    constants: np.ndarray

    @property
    def pooled(self):
        """True: one covariance serves all classes."""
        return True

    def sq_distances(self, X):
        """d²_j − d²_0 (m, c)."""
        with np.errstate(over="ignore", invalid="ignore"):
            P = (X - self.shared.origin.astype(X.dtype)) @ self.projection.astype(X.dtype)
            c = len(self.constants)
            D = row_sq_norms(P[:, :c])[:, None] - 2 * P[:, c:] + self.constants.astype(X.dtype)
        return np.where(np.isnan(D), np.inf, D)

    def nearest(self, X):
        """The least of them and its class, (m,) each."""
        d2 = self.sq_distances(X)
        nearest = d2.argmin(axis=1)
        return d2[np.arange(len(X)), nearest], nearest

    def background(self, X):
        """d²_0 (m,)."""
        return self.shared.sq_distances(X)[:, 0] - self.sq_distances(X)[:, 0]

    def contributions(self, x, j):
        """Shares of the columns in d²_j − d²_0 of a row (d,), which sum to it."""
        z, F = x - self.shared.origin, self.shared.whitener
        P = self.projection[:, : len(self.constants)]
        return self.shared.contributions(x, j) - z * (F @ (z @ F) - P @ (z @ P))


def relative_metric(counts, shared):
    """The relative distance in a shared metric."""
    V = shared.centres @ shared.whitener.T  # v_j = S⁻¹(μ_j − μ_0), a row each
    shares = np.sqrt(counts / (counts.sum() + 1))[:, None]
    H = shares * shared.centres
    R = linalg.cholesky(np.eye(len(counts)) + H @ H.T, lower=True)
    G = shares * V  # S⁻¹H, a row each
    projection = np.hstack([linalg.solve_triangular(R, G, lower=True).T, V.T])
    return RelativeMetric(shared, projection, row_sq_norms(shared.centres))


# --- p-values -------------------------------------------------------------------------------------


def certified_limits(d2, counts, rows):
    """r_jt_i of training rows, so that p⁺ counts the rows whose limit is at least d².

    d2 (N,) their distances to their own class, counts (N,) its n_j and rows (N,) its r_j.
    """
    g, n = np.broadcast_arrays(np.asarray(d2, float) / rows, np.asarray(counts, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = g * ((n + 1) / (n - 1)) ** 2
        beta, q = n / (n + 1), g + 1 / (n * (n + 1))
        far = np.where(q < beta, q / (beta**2 - beta * q), np.inf)
        t = np.where(near <= (n + 1) / (n * (n - 1)), near, far)
    return np.where(n > 1, t, np.inf) * rows


def leave_one_out_sq_distances(d2, counts, rows):
    """d² of training rows to their own class without them, r_j fixed; ∞ for a class's only row.

    With g = d²/r_j it is r_js²g/(1 − sg), s = n/(n − 1).
    """
    g, n = np.broadcast_arrays(np.asarray(d2, float) / rows, np.asarray(counts, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        s = n / (n - 1)
        left = 1 - s * g
        out = np.where(left > 0, s**2 * g / left, np.inf)
    return np.where(n > 1, out, np.inf) * rows


def rounded_up(t):
    """Limits with `DIGITS` binary digits, none smaller than it was, with room for `ROUNDING`."""
    t = np.asarray(t, float)
    with np.errstate(over="ignore", invalid="ignore"):
        mantissa, exponent = np.frexp(t + ROUNDING * np.abs(t))
        single = np.ldexp(np.ceil(np.ldexp(mantissa, DIGITS)), exponent - DIGITS).astype(np.float32)
    return np.where(single < t, np.nextafter(single, np.float32(np.inf)), single)


class Histogram(NamedTuple):
    """Limits that rows share: values (k,), ascending, and the numbers of rows, counts (k,)."""

    values: np.ndarray
    counts: np.ndarray

    @property
    def n(self):
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_unbounded(self):
        """Number of rows whose limit is infinite."""
        return int(self.counts[np.isinf(self.values)].sum())

    @property
    def median(self):
        """The median limit, NaN without rows."""
        middle = np.searchsorted(self.counts.cumsum(), self.n / 2)
        return float(self.values[middle]) if self.n else np.nan

    @property
    def limits(self):
        """The limit of each row, ascending (n,)."""
        return np.repeat(self.values, self.counts)

    def merged(self, other):
        """The histogram of both."""
        values, places = np.unique(np.r_[self.values, other.values], return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, places, np.r_[self.counts, other.counts])
        return Histogram(values, counts)

    def p_values(self, d2):
        """(1 + #{t_i ≥ d²})/(n + 1) of distances of any shape."""
        below = np.r_[0, self.counts.cumsum()][np.searchsorted(self.values, d2)]
        return (1 + self.n - below) / (self.n + 1)


def histogram(limits):
    """Histogram of limits (n,), rounded up."""
    return Histogram(*np.unique(rounded_up(limits), return_counts=True))
