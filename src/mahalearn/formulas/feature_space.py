r"""A space of features by landmarks, moments in it, and the discriminants of the methods there.

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

The methods. With v = φ − μ_j, n_jC_j = WᵀS_jW the scatter of class j and S_j that of its kernel
rows, every squared distance is a `QuadraticForm`. Its κ is the part of k(x, x) that is left, so
that the full k(x, x) counts as it does without landmarks:

=============  ==================================================================================
IC±, RC±       J = I: n_jC_j = VΛVᵀ, F = WV, κ the residual, and the algebra of RC is done before
               rounding: n/(λ + α) instead of n/α·(1 − λ/(λ + α)).
               otherwise: n_jC_j = GGᵀ, GᵀJG = VΛVᵀ are the eigenvalues of the class's kernel
               matrix, F = WJGV, κ = k̃(x, x), the weights those of `kernel_mahalanobis`.
FK±            T = AAᵀ the centred scatter of all objects, AᵀJG = QsVᵀ, F = WJAQ,
               w = n_j/(s² + α) (also where s = 0), or n_j/s² for s² ≥ α; no κ.
=============  ==================================================================================

Kernel PCA: T = AAᵀ, AᵀJA = VΛVᵀ, the coordinates ψ = sign Λ|Λ|^(−½)VᵀAᵀJ(φ − μ), of which C_j
gives the class covariances.

Kernel Fisher discriminants are linear. With the uncentred scatter T₀ = ΦΦᵀ = AAᵀ (Φ = AR with
orthonormal rows R), K = ΦᵀJΦ turns N into RᵀAᵀJSJAR with S = P·n_jC_j + (1 − P)·n_rC_r, and Kz into
RᵀAᵀJ(μ_j − μ_r); so, whatever the signs in J,

    a = Rᵀb,  b = (AᵀJSJA + βI)⁻¹AᵀJ(μ_j − μ_r),   f(x) = wᵀφ(x) − ½wᵀ(μ_j + μ_r),  w = JAb.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .full_kernel import inner_weights
from .kernel_mahalanobis import (
    coordinate_weights,
    log_volumes,
    self_weight,
    spectral_weights,
)
from .kernel_pca import GaussianClass, leading_components
from .linalg import (
    RANK_RTOL,
    Centering,
    LinearScores,
    center_gram,
    centering,
    eigh,
    fundamental_symmetry,
    zero_negligible,
)
from .quadratic_form import QuadraticForm
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
        return kxx if self.means is None else kxx - 2 * k.mean(axis=1) + self.means.grand_mean

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
    between = np.stack([np.sqrt(g.n) * (g.mean - mean) for g in groups])
    scatter = sum(g.scatter for g in groups) + between.T @ between
    return GroupMoments(n, mean, scatter, sum(g.sq_norm for g in groups))


def mean_spread(groups, features):
    """|Σ_j trace K̃_j|/n, the mean spread of the objects around their class means; 1 if it is 0.

    It is the trace of the class scatters in the space of the features, plus what the landmarks
    leave over, corrected (on average) as the spectrum was.
    """
    n = sum(g.n for g in groups)
    within = sum(g.scatter for g in groups)

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


def classwise_form(features, group, variant, alpha, *, krein=True):
    """The form of one class for IC± and RC±; alpha (r,).

    krein: regularise negative eigenvalues with their sign; False applies the formulas of a definite
    kernel.
    """
    n, W, J = group.n, features.W, features.signs
    s = self_weight(variant, n, alpha)
    if features.definite:
        values, V = eigh(_scatter(W, group), overwrite=True, keep_small=True)
        values = np.maximum(values, 0.0)  # a scatter has no others; rounding of float32 rows has
        volumes = log_volumes(variant, values, n, alpha)
        values = zero_negligible(values) if variant == "IC-" else values
        weights = coordinate_weights(variant, values, np.ones_like(values), n, alpha)
        return QuadraticForm(group.mean, W @ V, weights, s, None, 0.0, volumes)
    JG = J[:, None] * _factor(_scatter(W, group))
    G = J[:, None] * JG
    values, V = eigh(G.T @ JG, overwrite=True, keep_small=variant == "RC+")
    signs = fundamental_symmetry(values) if krein else np.ones_like(values)
    weights = spectral_weights(variant, values, signs, n, alpha)
    mu = (group.mean - features.shift) @ W
    linear = 2 * W @ (J * mu)
    constant = (J * mu) @ mu + features.shift @ linear
    volumes = np.full(len(alpha), np.nan)
    if (values >= 0).all():
        volumes = log_volumes(variant, values, n, alpha)
    return QuadraticForm(group.mean, W @ (JG @ V), weights, s, linear, constant, volumes)


def full_kernel_forms(features, groups, variant, alphas):
    """Forms of all classes for FK±; alphas (r, c)."""
    A = _factor(_scatter(features.W, pooled_moments(groups)))
    JA = features.signs[:, None] * A
    forms = []
    for g, alpha in zip(groups, alphas.T, strict=True):
        B = JA.T @ _factor(_scatter(features.W, g))
        Q, s, _ = linalg.svd(B, full_matrices=True, check_finite=False)
        values = np.zeros(len(Q))
        values[: len(s)] = s
        weights = g.n * inner_weights(variant, values, alpha, int(g.n))
        none = np.zeros(len(alpha))
        F = features.W @ (JA @ Q)
        forms.append(QuadraticForm(g.mean, F, weights, none, log_volumes=none + np.nan))
    return forms


class FeatureEmbedding(NamedTuple):
    """Kernel PCA from moments: ψ(x) = (k − mean)·projection; eigenvalues, largest |λ| first."""

    mean: np.ndarray
    projection: np.ndarray
    values: np.ndarray

    def coordinates(self, k, workspace=None):
        """ψ of kernel rows k (q, m), (q, p)."""
        mean, projection = (a.astype(k.dtype, copy=False) for a in (self.mean, self.projection))
        return ((k - mean) @ projection).astype(float, copy=False)


def fit_feature_embedding(features, groups, n_components, *, positive_only=False):
    """Kernel PCA of all objects, and the density of each class in its coordinates."""
    total = pooled_moments(groups)
    A = _factor(_scatter(features.W, total))
    JA = features.signs[:, None] * A
    values, V = eigh(A.T @ JA, overwrite=True)
    order = leading_components(values, n_components, positive_only=positive_only)
    values = values[order]
    scale = fundamental_symmetry(values) / np.sqrt(np.abs(values))
    E = features.W @ (JA @ (V[:, order] * scale))
    classes = []
    for g in groups:
        variances, axes = eigh(_scatter(E, g) / g.n, keep_small=True)
        classes.append(GaussianClass((g.mean - total.mean) @ E, axes, np.maximum(variances, 0.0)))
    return FeatureEmbedding(total.mean, E, values), classes


def fisher_discriminants(features, groups, betas):
    """LinearScores f(x) = aᵀk + b for each β, each class against the rest."""
    W, J = features.W, features.signs
    total = pooled_moments(groups)
    mean = (total.mean - features.shift) @ W
    T = _scatter(W, total) + total.n * np.outer(mean, mean)
    JA = J[:, None] * _factor(T)
    coefficients = np.full((len(betas), len(W), len(groups)), np.nan)
    offsets = np.full((len(betas), len(groups)), np.nan)
    for j, g in enumerate(groups):
        if j == 1 and len(groups) == 2:
            coefficients[:, :, 1], offsets[:, 1] = -coefficients[:, :, 0], -offsets[:, 0]
            break
        rest = pooled_moments([other for i, other in enumerate(groups) if i != j])
        P = g.n / total.n
        S = P * _scatter(W, g) + (1 - P) * _scatter(W, rest)
        B = JA.T @ _factor(S)
        Q, s, _ = linalg.svd(B, full_matrices=True, check_finite=False)
        squares = np.zeros(len(Q))
        squares[: len(s)] = s**2
        z = Q.T @ (JA.T @ (W.T @ (g.mean - rest.mean)))
        b = Q @ (z[:, None] / (squares[:, None] + np.asarray(betas)))
        a = W @ (JA @ b)  # (m, r)
        coefficients[:, :, j] = a.T
        offsets[:, j] = -0.5 * (g.mean + rest.mean) @ a
    return [LinearScores(*model) for model in zip(coefficients, offsets, strict=True)]


def _scatter(W, group):
    """n_jC_j = WᵀS_jW, symmetric."""
    C = W.T @ (group.scatter @ W)
    C += C.T.copy()
    C /= 2
    return C


def _factor(C):
    """G with C = GGᵀ for a nonnegative C, by its eigenvectors, without those of zeros."""
    values, V = linalg.eigh(C, check_finite=False, driver="evd")
    nonzero = values > len(C) * np.finfo(float).eps * values.max(initial=0.0)
    return V[:, nonzero] * np.sqrt(values[nonzero])
