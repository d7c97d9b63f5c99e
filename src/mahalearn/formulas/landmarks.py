r"""Kernel space by m landmarks: features, and moments of kernel rows that merge.

Landmarks Z (m objects), K = k(Z, Z) = UΛUᵀ without the eigenvalues that are cut, and for an object
x its row k = k(x, Z):

    W = U|Λ|^(−½),   J = sign Λ,   φ(x) = Wᵀk,   k(x, y) ≈ φ(x)ᵀJφ(y).

The approximation is exact where x or y is a landmark (and nothing was cut), so that with all
training objects as landmarks every method equals its exact form. What it leaves over of an object,
k(x, x) − φᵀJφ, is its residual.

What a method needs of the training objects are moments of the *raw* kernel rows of each class about
a fixed origin o: their number n, Σ(k − o) and Σ(k − o)(k − o)ᵀ. They add up over parts of the data
in any order, they do not depend on the regularisation, the variant or the cut, and those of the
first m' landmarks are their leading blocks.

Kernels without an origin. −d² and its kind have self-similarities 0. There the kernel is taken
relative to the mean of the landmarks, k̃(x, y) = k(x, y) − mean k(x, ·) − mean k(·, y) + mean K,
which no distance notices; the rule is that of `formulas.spectrum`: where the trace of K is not
positive.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from .linalg import RANK_RTOL, Centering, center_gram, centering, eigh, fundamental_symmetry
from .spectrum import correct_values

# Where the spectrum of an indefinite kernel's landmarks is cut: below, approximate negative
# eigenvalues are as likely noise as not, and they destroy more than they explain.
INDEFINITE_RTOL = 1e-4
# Kernel rows in float32 have some six digits, and so have the eigenvalues that they can resolve.
FLOAT32_RTOL = 1e-6


class LandmarkFeatures(NamedTuple):
    """The map φ: W (m, r), the diagonal of J (r,), the eigenvalues (r,), the centring of K.

    means: None where K was decomposed as it is. correction, original: the correction of a negative
    spectrum and the features before it, None without one.
    """

    W: np.ndarray
    signs: np.ndarray
    values: np.ndarray
    means: Centering | None = None
    correction: str | None = None
    original: "LandmarkFeatures | None" = None

    @property
    def definite(self):
        """Whether J is the identity."""
        return bool((self.signs > 0).all())

    @property
    def shift(self):
        """What is subtracted from kernel rows before W is applied, (m,)."""
        return np.zeros(len(self.W)) if self.means is None else self.means.column_means

    def transform(self, k):
        """φ of kernel rows k (q, m), (q, r)."""
        return (k - self.shift if self.means is not None else k) @ self.W.astype(k.dtype)

    def self_similarities(self, kxx, k):
        """k(x, x) relative to the origin of the features, (q,)."""
        if self.means is None:
            return kxx
        return kxx - 2 * k.mean(axis=1) + self.means.grand_mean

    def residual(self, kxx, k):
        """What the landmarks leave over, k(x, x) − φᵀJφ, corrected as the spectrum was, (q,)."""
        if self.correction is not None:
            return correct_values(self.original.residual(kxx, k), self.correction)
        return self.self_similarities(kxx, k) - np.square(self.transform(k)) @ self.signs


def landmark_features(K, *, rtol=None, dtype=np.float64, correction=None, centre=True):
    """The features of the landmarks with Gram matrix K (m, m), which is not changed.

    rtol: eigenvalues up to this fraction of the largest in absolute value are cut; None chooses,
    see `default_rtol`, for kernel rows of the given dtype. correction: "clip", "flip" or "square",
    None for J as it is. centre: take a kernel whose trace is not positive relative to the mean of
    the landmarks.
    """
    means = None
    if centre and np.trace(K) <= 0:
        means = centering(K)
        K = center_gram(K, means)
    values, U = eigh(K)
    rtol = default_rtol(values, dtype) if rtol is None else rtol
    kept = np.abs(values) > rtol * np.abs(values).max(initial=0.0)
    values, U = values[kept], U[:, kept]
    W = U / np.sqrt(np.abs(values))
    if means is not None:
        W -= W.mean(axis=0)  # the centring of rows, H, applied once
    features = LandmarkFeatures(W, fundamental_symmetry(values), values, means)
    if correction is None:
        return features
    # f(λ)/|λ| is how much of φ_i² counts in the corrected kernel.
    counts = correct_values(values, correction) / np.abs(values)
    kept = counts > 0
    return LandmarkFeatures(
        W[:, kept] * np.sqrt(counts[kept]),
        np.ones(kept.sum()),
        values[kept],
        means,
        correction,
        features,
    )


def default_rtol(values, dtype=np.float64):
    """Where a spectrum is cut by default: at rounding if it is definite, far above it if not."""
    rtol = max(RANK_RTOL, len(values) * np.finfo(np.float64).eps)
    if np.dtype(dtype) == np.float32:
        rtol = max(rtol, FLOAT32_RTOL)
    largest = np.abs(values).max(initial=0.0)
    return rtol if values.min(initial=0.0) >= -rtol * largest else max(rtol, INDEFINITE_RTOL)


class LandmarkMoments(NamedTuple):
    """Moments of kernel rows in groups (classes, or folds × classes) about the origin o.

    count (g,); sums (g, m): Σ(k − o); squares (g, m, m): Σ(k − o)(k − o)ᵀ, of which only the lower
    triangles are kept; own (g,): Σk(x, x), NaN where it is not known; origin (m,).
    """

    count: np.ndarray  # type: ignore[assignment]  # tuples have a method of this name
    sums: np.ndarray
    squares: np.ndarray
    own: np.ndarray
    origin: np.ndarray


def no_landmark_moments(n_groups, origin):
    """Moments of nothing."""
    m = len(origin)
    return LandmarkMoments(
        np.zeros(n_groups),
        np.zeros((n_groups, m)),
        np.zeros((n_groups, m, m)),
        np.zeros(n_groups),
        np.array(origin, dtype=float),
    )


def add_sums(to, group, k, own):
    """Add the number and the sum of kernel rows to a group of moments, in place."""
    to.count[group] += len(k)
    to.own[group] += own
    to.sums[group] += np.ones(len(k), k.dtype) @ k


def add_squares(C, k, *, fresh=False):
    """C + kᵀk (fresh: kᵀk) in the lower triangle of C (m, m), in place, in the precision of k."""
    syrk = blas.dsyrk if k.dtype == np.float64 else blas.ssyrk
    # In Fortran's order the lower triangle is the upper one.
    out = syrk(1.0, k.T, beta=0.0 if fresh else 1.0, c=C.T, overwrite_c=1)
    assert np.shares_memory(out, C)
    return C


def merge_landmark_moments(a, b):
    """Moments of the union."""
    _same_origin(a, b)
    return LandmarkMoments(*(p + q for p, q in zip(a[:-1], b[:-1], strict=True)), a.origin)


def _same_origin(a, b):
    if not np.array_equal(a.origin, b.origin) or len(a.count) != len(b.count):
        raise ValueError(
            "Moments add up only for the same landmarks, kernel and classes; these differ. Make "
            "all parts from one plan."
        )


def leading_landmarks(moments, m):
    """Moments as if only the first m landmarks were there."""
    return LandmarkMoments(
        moments.count.copy(),
        moments.sums[:, :m].copy(),
        moments.squares[:, :m, :m].copy(),
        moments.own.copy(),
        moments.origin[:m].copy(),
    )


def moments_of_folds(folds, n_folds, kept):
    """Moments of the c classes in the folds `kept`; folds has n_folds·c groups.

    They are added up, instead of subtracting the others from the total: nothing of a fold that is
    left out, not even its rounding, gets into the result.
    """

    def total(values):
        parts = values.reshape(n_folds, -1, *values.shape[1:])
        out = parts[kept[0]].copy()
        for f in kept[1:]:
            out += parts[f]
        return out

    return LandmarkMoments(*(total(values) for values in folds[:-1]), folds.origin)


def moments_of_groups(moments, groups):
    """Moments of some of the groups."""
    return LandmarkMoments(*(values[groups] for values in moments[:-1]), moments.origin)


class GroupMoments(NamedTuple):
    """Mean kernel row and scatter of one group: n, (m,), (m, m), Σk(x, x)."""

    n: float
    mean: np.ndarray
    scatter: np.ndarray
    own: float


def group_moments(moments, group):
    """Mean and scatter of the kernel rows of a group, about the group's mean."""
    n, s = moments.count[group], moments.sums[group]
    scatter = _symmetric(moments.squares[group])
    scatter -= np.outer(s, s / n)
    return GroupMoments(n, moments.origin + s / n, scatter, moments.own[group])


def _symmetric(lower):
    """The symmetric matrix of a lower triangle, a new one."""
    full = np.tril(lower, -1)
    full += full.T
    full.flat[:: len(full) + 1] = np.diagonal(lower)
    return full


def pooled_moments(groups):
    """Moments of the union of groups, about its mean."""
    n = sum(g.n for g in groups)
    mean = sum(g.n * g.mean for g in groups) / n
    scatter = groups[0].scatter.copy()
    for g in groups[1:]:
        scatter += g.scatter
    between = np.stack([np.sqrt(g.n) * (g.mean - mean) for g in groups])
    scatter += between.T @ between
    return GroupMoments(n, mean, scatter, sum(g.own for g in groups))


def mean_spread(groups, features):
    """|Σ_j trace K̃_j|/n, the mean spread of the objects around their class means; 1 if it is 0.

    It is the trace of the class scatters in the space of the features, plus what the landmarks
    leave over, corrected (on average) as the spectrum was.
    """
    n = sum(g.n for g in groups)
    within = groups[0].scatter.copy()
    for g in groups[1:]:
        within += g.scatter

    def scatter_trace(f):
        return np.einsum("ij,ij->j", f.W, within @ f.W) @ f.signs

    base = features if features.original is None else features.original
    rest = -scatter_trace(base)
    for g in groups:
        mu = (g.mean - base.shift) @ base.W
        rest += g.own - g.n * (mu * mu) @ base.signs
        if base.means is not None:
            rest += g.n * (base.means.grand_mean - 2 * g.mean.mean())
    if features.correction is not None:
        rest = n * correct_values(rest / n, features.correction)
    return abs(scatter_trace(features) + rest) / n or 1.0
