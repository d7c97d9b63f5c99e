r"""The methods' discriminants from moments in the space of features φ = Wᵀk with signs J.

With v = φ − μ_j, n_jC_j = WᵀS_jW the scatter of class j and S_j that of its kernel rows, every
squared distance is a `QuadraticForm`. Its κ is the part of k(x, x) that is left, so that the full
k(x, x) counts as it does without landmarks:

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
from .landmarks import pooled_moments
from .linalg import LinearScores, eigh, fundamental_symmetry, zero_negligible
from .quadratic_form import QuadraticForm


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
        forms.append(QuadraticForm(g.mean, F, weights, none, None, 0.0, none + np.nan))
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
        mean = (g.mean - total.mean) @ E
        classes.append(GaussianClass(mean, axes, np.maximum(variances, 0.0)))
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
