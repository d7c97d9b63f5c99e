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
class, whatever the distribution. Over all rows, p⁺ = (1 + #{i: r_it_i ≥ min_j d²_j(x)})/(N + 1),
r_i that of the row's class, is valid for the mixture of the classes: min_j d²_j ≤ d²_y, and the
rows of another class come nearer to it when x joins class y.

**The nearest class.** S = (W + (N + 1)σ²I)/(N + 1) is the shared covariance. With λ_j the largest
eigenvalue of S⁻¹A_j/r_j, d²_j ≥ d²_shared,j/λ_j: classes that are far by the shared metric need not
be measured.

**Relative distance** (J. Ren et al., A simple fix to Mahalanobis distance, 2021): min_j d²_j − d²_0
with the distance d_0 to the mean μ_0 of all rows in the total covariance. With the same σ² in both
that is S + HHᵀ, H = [√(n_j/(N + 1))(μ_j − μ_0)], and with z = x − μ_0, G = S⁻¹H, RRᵀ = I + HᵀG,

    d²_j − d²_0 = |R⁻¹Gᵀz|² − 2zᵀv_j + (μ_j − μ_0)ᵀv_j,   v_j = S⁻¹(μ_j − μ_0).
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from .linalg import row_sq_norms
from .moments import symmetric


def unit_rows(X):
    """Rows divided by their lengths; a row of zeros stays as it is."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    return X / np.where(lengths > 0, lengths, 1.0)[:, None].astype(X.dtype)


def borrowing(counts, pseudo_rows):
    """κ_j (c,): the share of the other classes' scatter that `pseudo_rows` of them amount to."""
    others = counts.sum() - counts
    return np.minimum(1.0, pseudo_rows / np.maximum(others, 1.0))


def row_numbers(counts, kappas):
    """r_j (c,): the number of rows behind each metric, a query included."""
    return counts + 1 + kappas * (counts.sum() - counts)


def whitener(C):
    """F with C⁻¹ = FFᵀ, upper triangular, for a positive definite C (d, d): d² = |(x − μ)F|²."""
    L = linalg.cholesky(C, lower=True, check_finite=False)
    return linalg.solve_triangular(L, np.eye(len(C)), lower=True, check_finite=False).T


class SharedMetric(NamedTuple):
    """Distances to all classes after one whitening: d²_j = |(x − μ_0)F − m_j|².

    origin μ_0 (d,), whitener F (d, d), centres m (c, d).
    """

    origin: np.ndarray
    whitener: np.ndarray
    centres: np.ndarray

    def whitened(self, X):
        """(x − μ_0)F of rows (m, d), in their own precision."""
        return (X - self.origin.astype(X.dtype)) @ self.whitener.astype(X.dtype)

    def rounded(self, dtype):
        """The metric in another precision."""
        return SharedMetric(*(part.astype(dtype) for part in self))

    def sq_distances(self, X):
        """d² (m, c)."""
        return self.with_rounding(X)[0]

    def nearest(self, X):
        """The least d² and its class, (m,) each; never too large by rounding."""
        d2, rounding = self.with_rounding(X)
        nearest = d2.argmin(axis=1)
        least = d2[np.arange(len(X)), nearest] - rounding[:, 0]
        return np.maximum(least, 0), nearest

    def with_rounding(self, X):
        """d² (m, c) by one product, |z|² − 2zᵀm_j + |m_j|², and its rounding (m, 1)."""
        Z, centres = self.whitened(X), self.centres.astype(X.dtype)
        squares = row_sq_norms(Z)[:, None]
        norms = row_sq_norms(centres)
        D = Z @ centres.T
        D *= -2
        D += squares
        D += norms
        rounding = 16 * np.finfo(X.dtype).eps * (squares + norms.max())
        return np.maximum(D, 0, out=D), rounding

    def own_sq_distances(self, X, codes):
        """d² of each row to its own class, (m,)."""
        return row_sq_norms(self.whitened(X) - self.centres.astype(X.dtype)[codes])

    def background(self, X):
        """d² of rows to the mean of all rows, in the covariance within the classes, (m,)."""
        return row_sq_norms(self.whitened(X))

    def contributions(self, x, j):
        """Shares of the columns in d²_j of a row (d,), which sum to it: e ∘ S⁻¹e."""
        z = (x - self.origin) @ self.whitener - self.centres[j]
        e = linalg.solve_triangular(self.whitener, z, trans="T")
        return e * (self.whitener @ z)


def shared_metric(means, counts, scatter, sigma2):
    """The metric of S: means (c, d), counts (c,), W (d, d)."""
    N = counts.sum()
    origin = counts @ means / N
    F = whitener(scatter / (N + 1) + sigma2 * np.eye(len(scatter)))
    return SharedMetric(origin, F, (means - origin) @ F)


class ClassMetrics(NamedTuple):
    """Distances to each class in a metric of its own.

    means (c, d), whiteners (c, d, d), stretches λ (c,): d²_j ≥ d²_shared,j/λ_j.
    """

    means: np.ndarray
    whiteners: np.ndarray
    stretches: np.ndarray
    shared: SharedMetric

    def to_class(self, X, j):
        """d²_j of rows (m, d), (m,)."""
        centred = X - self.means[j].astype(X.dtype)
        return row_sq_norms(centred @ self.whiteners[j].astype(X.dtype))

    def sq_distances(self, X):
        """d² (m, c)."""
        return np.column_stack([self.to_class(X, j) for j in range(len(self.means))])

    def own_sq_distances(self, X, codes):
        """d² of each row to its own class, (m,)."""
        out = np.full(len(X), np.nan, X.dtype)
        for j in np.unique(codes):
            members = np.flatnonzero(codes == j)
            out[members] = self.to_class(X[members], j)
        return out

    def background(self, X):
        """d² of rows to the mean of all rows, in the covariance within the classes, (m,)."""
        return self.shared.background(X)

    def contributions(self, x, j):
        """Shares of the columns in d²_j of a row (d,), which sum to it: e ∘ C⁻¹e."""
        e, F = x - self.means[j], self.whiteners[j].astype(float)
        return e * (F @ (e @ F))

    def nearest(self, X, n_first=3):
        """The least d² and its class, (m,) each, measured for few classes.

        The `n_first` classes nearest by the shared metric come first, then whichever class the
        bound d²_j ≥ d²_shared,j/λ_j does not exclude.
        """
        shared, rounding = self.shared.with_rounding(X)
        bound = np.maximum(shared - rounding, 0) / self.stretches.astype(X.dtype)
        c, m = len(self.means), len(X)
        least, nearest = np.full(m, np.inf, X.dtype), np.zeros(m, np.intp)
        todo = np.zeros((m, c), bool)
        first = np.argpartition(shared, min(n_first, c) - 1, axis=1)[:, :n_first]
        np.put_along_axis(todo, first, True, axis=1)
        measured = np.zeros_like(todo)
        while todo.any():
            for j in np.flatnonzero(todo.any(axis=0)):
                rows = np.flatnonzero(todo[:, j])
                d2 = self.to_class(X[rows], j)
                closer = d2 < least[rows]
                least[rows[closer]], nearest[rows[closer]] = d2[closer], j
            measured |= todo
            todo = ~measured & (bound < least[:, None])
        return least, nearest


def class_metrics(means, counts, lower, pseudo_rows, sigma2, dtype=np.float64):
    """Class-wise metrics: means (c, d), scatters by their lower triangles (c, d, d).

    dtype: of the whiteners, which are computed in float64.
    """
    total = symmetric(lower.sum(axis=0))
    kappas = borrowing(counts, pseudo_rows)
    shared = shared_metric(means, counts, total, sigma2)
    whiteners = np.empty(lower.shape, dtype)
    stretches = np.empty(len(counts))
    for j, (kappa, rows) in enumerate(zip(kappas, row_numbers(counts, kappas), strict=True)):
        C = ((1 - kappa) * symmetric(lower[j]) + kappa * total) / rows
        C.flat[:: len(C) + 1] += sigma2
        stretches[j] = largest_ratio(C, shared.whitener)
        whiteners[j] = whitener(C)
    return ClassMetrics(means, whiteners, stretches, shared)


def largest_ratio(C, F):
    """An upper bound, at most about 1 % too large, of the largest eigenvalue of FᵀCF.

    Lanczos' estimate can only be too small; a Cholesky factor of the difference proves the bound.
    """
    B = F.T @ C @ F
    d = len(B)
    if d < 16:
        return float(np.linalg.eigvalsh(B)[-1]) * (1 + 1e-10)
    operator = LinearOperator((d, d), matvec=B.__matmul__, dtype=B.dtype)
    start = np.random.default_rng(0).standard_normal(d)
    estimate = float(eigsh(operator, 1, which="LA", tol=1e-3, v0=start)[0][0])
    while True:
        estimate *= 1.01
        difference = -B
        difference.flat[:: d + 1] += estimate
        if linalg.lapack.dpotrf(difference, overwrite_a=1)[1] == 0:
            return estimate


class RelativeMetric(NamedTuple):
    """d²_j − d²_0 in the space that the class means span.

    origin μ_0 (d,); projection [GR⁻ᵀ, v_1 … v_c] (d, 2c); constants (c,).
    """

    origin: np.ndarray
    projection: np.ndarray
    constants: np.ndarray

    def sq_distances(self, X):
        """d²_j − d²_0 (m, c)."""
        P = (X - self.origin.astype(X.dtype)) @ self.projection.astype(X.dtype)
        c = len(self.constants)
        return row_sq_norms(P[:, :c])[:, None] - 2 * P[:, c:] + self.constants.astype(X.dtype)

    def nearest(self, X):
        """The least of them and its class, (m,) each."""
        d2 = self.sq_distances(X)
        nearest = d2.argmin(axis=1)
        return d2[np.arange(len(X)), nearest], nearest


def relative_metric(means, counts, shared):
    """The relative distance in a shared metric."""
    offsets = means - shared.origin
    whitened = shared.centres  # (μ_j − μ_0)F
    V = whitened @ shared.whitener.T  # v_j = S⁻¹(μ_j − μ_0), a row each
    shares = np.sqrt(counts / (counts.sum() + 1))[:, None]
    H = shares * whitened
    R = linalg.cholesky(np.eye(len(counts)) + H @ H.T, lower=True)
    G = shares * V  # S⁻¹H, a row each
    projection = np.hstack([linalg.solve_triangular(R, G, lower=True).T, V.T])
    return RelativeMetric(shared.origin, projection, np.einsum("ij,ij->i", offsets, V))


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
    """The limits in single precision, none smaller than it was."""
    t = np.asarray(t, float)
    with np.errstate(over="ignore"):
        single = t.astype(np.float32)
    return np.where(single < t, np.nextafter(single, np.float32(np.inf)), single)


def limit_p_values(limits, d2):
    """(1 + #{t_i ≥ d²})/(n + 1) from ascending limits t (n,) and distances of any shape."""
    n = len(limits)
    return (1 + n - np.searchsorted(limits, d2, side="left")) / (n + 1)
