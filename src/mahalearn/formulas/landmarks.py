r"""Features of a kernel space from m landmarks, and moments of kernel rows in them.

Landmarks Z (m objects), K = k(Z, Z) = UΛUᵀ without the eigenvalues that are cut, and for an object
x its row k = k(x, Z):

    W = U|Λ|^(−½),   J = sign Λ,   φ(x) = Wᵀk,   k(x, y) ≈ φ(x)ᵀJφ(y).

The approximation is exact where x or y is a landmark (and nothing was cut), so that with all
training objects as landmarks every method equals its exact form. The residual of an object is
k(x, x) − φᵀJφ.

A method needs only the moments (`formulas.moments`) of the *raw* kernel rows of each class. They do
not depend on the regularisation, the variant or the cut, and those of the first m' landmarks are
their leading blocks.

Kernels without an origin. −d² and its kind have self-similarities 0. There the kernel is taken
relative to the mean of the landmarks, k̃(x, y) = k(x, y) − mean k(x, ·) − mean k(·, y) + mean K,
which no distance notices; the rule is that of `formulas.spectrum`: where the trace of K is not
positive.
"""

from typing import NamedTuple

import numpy as np

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
        """True if J is the identity."""
        return bool((self.signs > 0).all())

    @property
    def shift(self):
        """Row (m,) that is subtracted from kernel rows before W is applied."""
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
        """Residual k(x, x) − φᵀJφ, corrected as the spectrum was, (q,)."""
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
    large = np.abs(values) > rtol * np.abs(values).max(initial=0.0)
    values, U = values[large], U[:, large]
    W = U / np.sqrt(np.abs(values))
    if means is not None:
        W -= W.mean(axis=0)  # the centring of rows, H, applied once
    features = LandmarkFeatures(W, fundamental_symmetry(values), values, means)
    if correction is None:
        return features
    # f(λ)/|λ| is how much of φ_i² counts in the corrected kernel.
    counts = correct_values(values, correction) / np.abs(values)
    large = counts > 0
    return LandmarkFeatures(
        W[:, large] * np.sqrt(counts[large]),
        np.ones(large.sum()),
        values[large],
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


class GroupMoments(NamedTuple):
    """Mean kernel row and scatter of one group: n, (m,), (m, m), Σk(x, x)."""

    n: float
    mean: np.ndarray
    scatter: np.ndarray
    sq_norm: float


def group_moments(moments):
    """Each group of `moments.Moments` of kernel rows."""
    return [GroupMoments(*group) for group in zip(*moments[:2], moments.scatter, moments.sq_norms)]


def pooled_moments(groups):
    """Moments of the union of groups, about its mean."""
    n = sum(g.n for g in groups)
    mean = sum(g.n * g.mean for g in groups) / n
    scatter = groups[0].scatter.copy()
    for g in groups[1:]:
        scatter += g.scatter
    between = np.stack([np.sqrt(g.n) * (g.mean - mean) for g in groups])
    scatter += between.T @ between
    return GroupMoments(n, mean, scatter, sum(g.sq_norm for g in groups))


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
        rest += g.sq_norm - g.n * (mu * mu) @ base.signs
        if base.means is not None:
            rest += g.n * (base.means.grand_mean - 2 * g.mean.mean())
    if features.correction is not None:
        rest = n * correct_values(rest / n, features.correction)
    return abs(scatter_trace(features) + rest) / n or 1.0
