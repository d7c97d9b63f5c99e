r"""Conformal p-values of kernel Mahalanobis distances, and what is done with p-values.

**Full conformal RC+.** Is x one of class j? Let x join the class, measure every object of class ∪
{x} against the others, and ask how many are as far out as x. Refitting n + 1 models is not needed.
Let K̃ be the class's Gram matrix (n objects) centred by the class, k̃ and k̃_xx the query's values,
centred alike, and α that of the *augmented* class, α = (n + 1)σ². With

    S = (K̃ + αI)⁻¹,   c_i = S_ii − 1/(αn),   u = Sk̃,   r = k̃_xx − k̃ᵀu + α + α/n

the diagonal of H(K⁺ + αI)⁻¹H in the pseudo-inverse sense, K⁺ being the augmented Gram matrix, is

    M_x = 1/r,   M_i = c_i + (u_i + 1/n)²/r,

and the leave-one-out distance of an object with diagonal element M is

    d² = (1/M − α − α/n)/σ²,

which falls with M. So d²_i ≥ d²_x if and only if r·c_i + (u_i + 1/n)² ≤ 1, and

    p = (1 + #{i : d²_i ≥ d²_x})/(n + 1).

S has the eigenvalue 1/α on the constant vector, because K̃ is centred. For small α its share 1/(αn)
of S_ii swamps the rest, which is c_i. What S is multiplied with is centred, too, so that this
eigenvalue never counts: S is computed from K̃ + αI + (τ/n)11ᵀ with τ = tr K̃, and
c_i = S_ii − 1/((α + τ)n) loses no digits.

α and σ² stay as they are when an object is left out. The p-value is exact for exchangeable objects
whatever their distribution: all n + 1 objects are treated alike. The kernel is positive definite
here; in a Kreĭn space the signs of the regularisation belong to the augmented spectrum, and
cross-conformal ranks are used instead.

**Reference RC+** is RC+ in the map φ(x) = k(x, Z)/√N, Z being N objects of *other* classes. The map
does not know class j, so that the p-values are exact as before. A *margin* of such distances is not
valid: the objects of class j are themselves references of the other classes' maps, and x is not.

**Cross-conformal ranks.** Each fold's objects and x are compared inside one model, which was fitted
without them. With K folds of n_k objects, n in all, p_k = (1 + count_k)/(1 + n_k) is valid, and so
is twice their mean with weights 1 + n_k (V. Vovk and R. Wang, Combining p-values via averaging).
The sum of the ranks gives p = (1 + Σ count_k)/(1 + n), which is about valid in practice (V. Vovk,
Cross-conformal predictors) and at worst P(p ≤ a) ≤ 2a + 2(1 − a)(K − 1)/(n + K): where p ≤ a, this
mean is at most (a(n + 1) + K − 1)/(n + K).

Scores are nonconformity scores throughout: large means strange.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from .linalg import (
    Centering,
    center_cross,
    center_gram,
    center_self,
    centering,
    cholesky,
    cholesky_inverse,
    eigh,
    fundamental_symmetry,
    rounding_tolerance,
    row_sq_norms,
)

# Scores closer than this (relatively) are ties, which count against rejection: rounding must not
# make a duplicate of a training object stranger than that object.
TIE_RTOL = 1e-9
# Distances below this are rounding: they have no unit, and are of the size of 1 and more.
NOISE = 1e-12
# Where rounding may change full-conformal scores by more than this (relatively), there is no model.
LARGEST_LOSS = 1e-4


# --- full conformal RC+ ---------------------------------------------------------------------------


class Augmented(NamedTuple):
    """m queries, each joined with a class of n objects.

    shifted (m, n) is u + 1/n and r (m,) is 1/M_x in the letters of this module.
    """

    shifted: np.ndarray
    r: np.ndarray


class ConformalClass(NamedTuple):
    """A class ready to be joined by queries: RC+ in the kernel's own space."""

    alpha: float
    means: Centering
    S: np.ndarray
    c: np.ndarray
    tie: float

    def augment(self, k, kxx):
        """Join queries: k (m, n) kernel values against the class, overwritten; kxx (m,)."""
        kxx = center_self(kxx, k, self.means)
        k = center_cross(k, self.means, out=k)
        u = k @ self.S
        n = len(self.c)
        r = kxx - np.einsum("ij,ij->i", k, u) + self.alpha * (1 + 1 / n)
        u += 1 / n
        return Augmented(u, r)


class ReferenceClass(NamedTuple):
    """A class ready to be joined by queries: RC+ in the map x → k(x, references)/√N.

    W (n + 1, N) holds B = SΦ̃ with Φ̃ the centred class, so that u = Bφ̃, and below it the class
    mean in the map; A (n, n) = Φ̃Φ̃ᵀ + αI, so that k̃ᵀSk̃ = uᵀAu.
    """

    alpha: float
    W: np.ndarray
    A: np.ndarray
    c: np.ndarray
    tie: float

    @property
    def mean(self):
        """Class mean in the map, (N,)."""
        return self.W[-1]

    @property
    def B(self):
        """SΦ̃, (n, N)."""
        return self.W[:-1]

    def augment(self, *blocks, sq_norms=None):
        """Join queries: blocks of their kernel values against the references, (m, N) together.

        sq_norms (m,) are the squared norms of these rows, if they are known. One product gives u
        and the products with the mean: ‖φ − μ‖² = ‖φ‖² − 2φᵀμ + ‖μ‖². That is accurate if kernel
        values are taken relative to their means over all objects.
        """
        if sq_norms is None:
            sq_norms = sum(row_sq_norms(block) for block in blocks)
        n, N = len(self.c), self.W.shape[1]
        products, start = 0.0, 0
        for block in blocks:
            stop = start + block.shape[1]
            products = products + block @ self.W[:, start:stop].T
            start = stop
        products /= np.sqrt(N)
        products -= self.W @ self.mean
        u = products[:, :n]
        # What is left of the product with the mean is φᵀμ − ‖μ‖².
        sq_norms = sq_norms / N - 2 * products[:, n] - self.mean @ self.mean
        r = sq_norms - self.explained(u) + self.alpha * (1 + 1 / n)
        u += 1 / n
        return Augmented(u, r)

    def project(self, k):
        """φ̃ of queries from their kernel values k (m, N), which are overwritten."""
        k /= np.sqrt(len(self.mean))
        k -= self.mean
        return k

    def explained(self, u):
        """k̃ᵀSk̃ from u = Sk̃, a row for each query."""
        return np.einsum("ij,ij->i", u @ self.A, u)

    def other_sq_distances(self, k, coordinate):
        """d² of objects of other classes, those that are references without their coordinate: (m,).

        k (m, N) are their kernel values against the references, overwritten; coordinate (m,) is
        each object's position i among them, −1 for an object that is none. Leaving a coordinate
        f = Φ̃e_i out of the map changes A by −ffᵀ: with z = u − φ̃_i·Sf the quadratic form is
        k'ᵀSk' + (fᵀSk')²/(1 − fᵀSf), k' = k̃ − φ̃_i·f.
        """
        phi = self.project(k)
        rows, is_reference = np.arange(len(phi)), coordinate >= 0
        phi_i = np.where(is_reference, phi[rows, coordinate], 0.0)
        Sf = np.where(is_reference, self.B[:, coordinate], 0.0).T
        f = Sf @ self.A
        z = phi @ self.B.T - phi_i[:, None] * Sf
        fSk = np.einsum("ij,ij->i", f, z)
        fSf = np.einsum("ij,ij->i", f, Sf)
        explained = self.explained(z) + fSk**2 / (1 - fSf)
        return (row_sq_norms(phi) - phi_i**2 - explained) * (1 + len(self.c)) / self.alpha


def conformal_class(K, alpha):
    """The class with Gram matrix K (n, n), overwritten; None if α is lost in K's rounding.

    None, too, if K̃ + αI is not positive definite. α is that of the augmented class, (n + 1)σ².
    """
    size = np.abs(K).max()
    means = centering(K)
    inverse = _inverse(center_gram(K, means, overwrite=True), alpha, size)
    return None if inverse is None else ConformalClass(alpha, means, *inverse)


def reference_class(k, alpha):
    """The class with kernel values k (n, N) against N references, overwritten.

    None if α is lost in rounding. α is that of the augmented class, (n + 1)σ².
    """
    size = row_sq_norms(k).max() / k.shape[1]
    phi, mean = reference_map(k)
    K = phi @ phi.T
    inverse = _inverse(K.copy(), alpha, size)
    if inverse is None:
        return None
    S, c, tie = inverse
    K.flat[:: len(K) + 1] += alpha
    return ReferenceClass(alpha, np.vstack([S @ phi, mean]), K, c, tie)


def reference_map(k):
    """φ̃ of a class's own objects and the class mean in the map; k (n, N) is overwritten."""
    k /= np.sqrt(k.shape[1])
    mean = k.mean(axis=0)
    k -= mean
    return k, mean


def _inverse(Kc, alpha, size):
    """(S (n, n) for centred vectors, c (n,), relative difference of ties); Kc is overwritten.

    size: the largest value before centring, whose rounding K̃ keeps. None if K̃ + αI is not positive
    definite, or if rounding may change r·c_i by more than LARGEST_LOSS: c by the rounding of K̃, r
    by that of S, whose elements are as large as c.
    """
    n = len(Kc)
    tau, spread = max(np.trace(Kc), 0.0), np.abs(np.diagonal(Kc)).max()
    Kc += tau / n
    Kc.flat[:: n + 1] += alpha
    L = cholesky(Kc, overwrite=True)
    if L is None:
        return None
    S = cholesky_inverse(L)
    c = np.maximum(np.diagonal(S) - 1 / ((alpha + tau) * n), 0.0)
    loss = rounding_tolerance(size * c.max() + (spread * c.max()) ** 2, n)
    if loss > LARGEST_LOSS:
        return None
    return np.ascontiguousarray(S), c, max(TIE_RTOL, loss)


def query_sq_distances(augmented, alpha):
    """d² of the queries to the class they joined, i.e. RC+ with σ² = α/(n + 1): (m,)."""
    n = augmented.shifted.shape[1]
    return (augmented.r - alpha * (1 + 1 / n)) * ((n + 1) / alpha)


def member_sq_distances(augmented, alpha, c):
    """Leave-one-out d² of the class's objects in class ∪ {x}: (m, n).

    The model that an object is compared with holds the n − 1 others and x.
    """
    n = len(c)
    with np.errstate(divide="ignore"):
        M = c + augmented.shifted**2 / augmented.r[:, None]
        return (1 / M - alpha * (1 + 1 / n)) * ((n + 1) / alpha)


def leave_one_out_sq_distances(alpha, c):
    """d² of each object of the class to the class without it, α and σ² kept: (n,).

    inf where the object is the only one of its class.
    """
    n = len(c)
    if n == 1:
        return np.array([np.inf])
    with np.errstate(divide="ignore"):
        return (1 / c - alpha * (1 + 1 / (n - 1))) * ((n + 1) / alpha)


def distance_p_values(augmented, c, tie=TIE_RTOL):
    """Full-conformal p-values of the queries by distance: (m,). `augmented` is overwritten."""
    shifted, r = augmented
    n = len(c)
    negative = r <= 0  # a kernel that is not positive definite: 1/M does not fall there
    if negative.any():
        with np.errstate(divide="ignore"):
            inverse = 1 / (c + shifted[negative] ** 2 / r[negative][:, None])
        beyond = (inverse >= r[negative][:, None] * (1 + tie)).sum(axis=1)
    shifted *= shifted
    shifted += r[:, None] * c
    count = np.count_nonzero(shifted <= 1 + tie, axis=1)
    if negative.any():
        count[negative] = beyond
    return (1 + count) / (n + 1)


def margin_p_values(augmented, alpha, c, rivals, query_rivals, tie=TIE_RTOL):
    """Full-conformal p-values by the margin d² − min_{k≠j} d²_k: (m,).

    rivals (n,) and query_rivals (m,) are the least distances to the *other* classes, which x does
    not join, so that they are the same whether x is there or not.
    """
    margin = query_sq_distances(augmented, alpha) - query_rivals
    members = member_sq_distances(augmented, alpha, c) - rivals
    tie = tie * (np.abs(margin) + np.abs(query_rivals))
    count = np.count_nonzero(members >= (margin - tie)[:, None], axis=1)
    return (1 + count) / (len(c) + 1)


# --- ranks among scores that were computed elsewhere ----------------------------------------------


def count_beyond(calibration, scores):
    """How many calibration scores (n,) are at least each of `scores` (m,), ties by rounding too."""
    calibration, scores = np.sort(calibration), np.asarray(scores, dtype=float)
    threshold = scores - TIE_RTOL * np.where(np.isfinite(scores), np.abs(scores), 0.0)
    return len(calibration) - np.searchsorted(calibration, threshold, side="left")


def without_noise(d2, noise=NOISE):
    """Distances without those that are nothing but rounding, which become 0.

    Where objects are equal, distances are the rounding of larger numbers, which depends on how many
    queries come at once.
    """
    return np.where(np.abs(d2) <= noise, 0.0, d2)


def rank_p_values(folds):
    """p = (1 + Σ #{calibration ≥ score})/(1 + Σn) of m queries, (m,).

    folds: pairs (calibration (n,), scores (m,)), each by a model that was fitted without these
    calibration objects and the queries. One pair is split conformal, and valid; several are
    cross-conformal. With the least distance to any class as score it is the p-value of "none of the
    classes".
    """
    count = sum(count_beyond(calibration, scores) for calibration, scores in folds)
    return (1 + count) / (1 + sum(len(calibration) for calibration, _ in folds))


def class_p_values(folds, *, conditional=True):
    """The same for each class: (m, c).

    folds: (calibration (n, c), codes (n,) of the calibration objects' classes, scores (m, c)).
    conditional: rank within each class; a class without calibration objects gets p = 1, as nothing
    speaks against it. False ranks all objects by the score for their own class, which gives
    marginal p-values.
    """
    columns = []
    for j in range(np.shape(folds[0][2])[1]):
        ranked = []
        for calibration, codes, scores in folds:
            members = np.flatnonzero(codes == j) if conditional else np.arange(len(codes))
            ranked.append((np.asarray(calibration)[members, codes[members]], scores[:, j]))
        columns.append(rank_p_values(ranked))
    return np.column_stack(columns)


def prediction_sets(p_values, confidence):
    """Classes that are not rejected at this confidence: boolean, of p_values' shape."""
    return np.asarray(p_values) > 1 - confidence + 1e-12


class ClassCoverage(NamedTuple):
    """How often prediction sets hold the true class, for each class.

    counts (c,) objects; coverage (c,) shares of them whose set holds their class, NaN where there
    are none; lower, upper (c,) the exact binomial interval for a coverage of `confidence`;
    mean_size (c,) of their sets; empty (c,) share of empty sets.
    """

    counts: np.ndarray
    coverage: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mean_size: np.ndarray
    empty: np.ndarray


def class_coverage(sets, codes, confidence, width=0.95):
    """Coverage of prediction sets (m, c) by class; codes (m,) are the true classes.

    [lower, upper] holds the coverage with probability `width` if the sets cover with probability
    `confidence` and the objects' sets are independent.
    """
    sets, codes = np.asarray(sets, dtype=bool), np.asarray(codes)
    n_classes = sets.shape[1]
    counts = np.bincount(codes, minlength=n_classes)
    sizes = sets.sum(axis=1)
    with np.errstate(invalid="ignore"):
        covered, size, empty = (
            np.bincount(codes, values, minlength=n_classes) / counts
            for values in (sets[np.arange(len(codes)), codes], sizes, sizes == 0)
        )
        lower, upper = stats.binom.interval(width, np.maximum(counts, 1), confidence)
    return ClassCoverage(
        counts, covered, lower / np.maximum(counts, 1), upper / np.maximum(counts, 1), size, empty
    )


def least_other(d2):
    """min_{k≠j} d²_k for each object and class j, from d2 (m, c), c ≥ 2."""
    d2 = np.asarray(d2, dtype=float)
    two = np.partition(d2, 1, axis=1)[:, :2]
    return np.where(np.arange(d2.shape[1]) == d2.argmin(axis=1)[:, None], two[:, 1:], two[:, :1])


# --- batches --------------------------------------------------------------------------------------


def benjamini_hochberg(p_values, fdr):
    """Which hypotheses to reject so that the false discovery rate is at most `fdr`: boolean (m,).

    Conformal p-values of one training set are positively dependent, which the procedure allows
    (S. Bates, E. Candès, L. Lei, Y. Romano and M. Sesia, Testing for outliers with conformal
    p-values).
    """
    return stats.false_discovery_control(p_values) <= fdr + 1e-12


MIDRANK_RTOL = 1e-10
EXACT_RANK_SUM = 5e7  # steps of the recursion up to which the distribution is computed exactly
# A sum of so few ranks is far from normal. Beyond those steps they are ranks of fewer levels.
FEW_OBJECTS, RANK_LEVELS = 10, 2500


def rank_sum_p_value(reference, batch, alternative="greater"):
    """p-value of the rank-sum test that the batch's scores are not larger than the reference's.

    Exact for exchangeable scores, also with ties (the permutation distribution of the sum of
    midranks); the normal approximation with tie correction for large samples. alternative:
    "greater", "less" or "two-sided".
    """
    # Midranks, doubled to be whole numbers.
    doubled = np.rint(2 * _midranks(np.concatenate([reference, batch]))).astype(int)
    n = len(reference)
    if len(batch) <= n:
        return _rank_sum_tail(doubled, doubled[n:], alternative)
    # The smaller sample's sum is the cheaper one.
    flip = {"greater": "less", "less": "greater"}.get(alternative, alternative)
    return _rank_sum_tail(doubled, doubled[:n], flip)


def _midranks(scores):
    """Midranks (n,) of scores; those that differ from the next by rounding only are tied."""
    order = np.argsort(scores)
    ascending = scores[order]
    with np.errstate(invalid="ignore"):  # of two infinite ones
        gaps = np.diff(ascending)
    sizes = np.abs(np.where(np.isfinite(ascending), ascending, 0.0))
    groups = np.zeros(len(scores), int)
    groups[order[1:]] = np.cumsum(gaps > MIDRANK_RTOL * np.maximum(sizes[1:], sizes[:-1]))
    return stats.rankdata(groups)


def cross_rank_sum_p_value(folds, alternative="greater"):
    """The same from folds of (calibration (n_f,), scores (m,)), each pair by one model.

    A fold's model saw neither, so that each fold's rank-sum test is exact. Their p-values depend on
    each other.
    """
    return combined_p_value([rank_sum_p_value(*fold, alternative) for fold in folds])


def combined_p_value(p_values):
    """One p-value from several: the least times their number, valid whatever their dependence.

    Twice their mean is valid, too, but hardly ever small: where each is the rank of a few objects,
    some are large by chance.
    """
    return min(1.0, len(p_values) * float(np.min(p_values)))


def _rank_sum_tail(doubled, members, alternative):
    """p-value of the sum of the members' ranks (m,) among `doubled` (N,)."""
    N, m = len(doubled), len(members)
    exact = N * m * int(np.sort(doubled)[-m:].sum()) <= EXACT_RANK_SUM
    if not exact and m <= FEW_OBJECTS:  # rounded down, ranks are exchangeable as before
        step = -(-2 * N * m // RANK_LEVELS)
        doubled, members, exact = doubled // step, members // step, True
    observed = members.sum()
    if exact:
        law = _rank_sum_law(doubled, m)
        lower, upper = law[: observed + 1].sum(), law[observed:].sum()
    else:
        mean = m * doubled.mean()
        deviation = np.sqrt(m * (N - m) / (N - 1) * doubled.var())
        if deviation == 0:
            return 1.0
        # With the continuity correction of half a rank: 1 in doubled ranks.
        lower = stats.norm.cdf((observed - mean + 1) / deviation)
        upper = stats.norm.sf((observed - mean - 1) / deviation)
    tails = {"greater": upper, "less": lower, "two-sided": 2 * min(lower, upper)}
    return float(min(1.0, tails[alternative]))


def _rank_sum_law(ranks, m):
    """Probabilities of the sums 0, 1, … of m of the ranks (N,), whole numbers."""
    # chances[k, s]: each object is drawn with probability m/N; k of those so far were drawn and
    # have the sum s. Given k = m all subsets are alike, and nothing over- or underflows.
    chances = np.zeros((m + 1, int(np.sort(ranks)[-m:].sum()) + 1))
    chances[0, 0] = 1.0
    values, counts = np.unique(ranks, return_counts=True)
    drawn = stats.binom.pmf(np.arange(m + 1), counts[:, None], m / len(ranks))
    for rank, count, shares in zip(values, counts, drawn, strict=True):
        step = chances * shares[0]
        for k in range(1, min(count, m) + 1):
            size = max(0, chances.shape[1] - k * rank)
            step[k:, k * rank :] += chances[: m + 1 - k, :size] * shares[k]
        chances = step
    return chances[m] / chances[m].sum()


def pooled_leverages(K, alpha, *, definite=True):
    """Scores of n objects inside their own RC+ model, with the rank of leave-one-out distances.

    K (n, n) Gram matrix of the pool, overwritten. The scores are the resubstitution distances
    n·λJ/(λ + αJ) on the axes of K̃, the sign J of each eigenvalue where the kernel is indefinite:
    functions of the pool that treat all its objects alike, so that a rank test on them is exact.
    """
    n, size = len(K), np.abs(K).max()
    Kc = center_gram(K, centering(K), overwrite=True)
    if definite:
        inverse = _inverse(Kc.copy(), alpha, size)
        if inverse is not None:
            return n - 1 - n * alpha * inverse[1]
    values, U = eigh(Kc)
    J = fundamental_symmetry(values)
    return np.square(U) @ (n * values * J / (values + alpha * J))
