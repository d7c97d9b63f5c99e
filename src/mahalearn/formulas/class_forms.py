r"""Every fitted class as a `QuadraticForm`, d²(x) = s·κ(x) + Σ_i w_iP_i², P = Fᵀ(r − m).

The models of a class keep what is cheapest to evaluate with LAPACK: triangular factors, bases,
roots. Here they become the one form, for evaluators that know matrix products only. A centred row
is k̃ = H(k − m) with H = I − 11ᵀ/n and the column means m, and its self-similarity is k_xx less
twice the mean of k, plus the grand mean; so F is H times what multiplies k̃.
"""

import numpy as np

from .kernel_mahalanobis import MeanModel, SpectralModel, self_weight, spectral_weights
from .linalg import solve_lower
from .quadratic_form import QuadraticForm


def classwise_form_of(model):
    """The form of a class-wise model with one α, of the kernel rows against its own objects."""
    n, alpha = len(model.means.column_means), np.atleast_1d(np.asarray(model.alpha, float))
    H = np.eye(n) - 1 / n
    s = n / alpha
    if isinstance(model, SpectralModel):
        F, s = H @ model.vectors, self_weight(model.variant, n, alpha)
        weights = spectral_weights(model.variant, model.values, model.signs, n, alpha)
    elif isinstance(model, MeanModel):
        F, weights = H, np.full((n, 1), -n / alpha**2)
    else:  # RC+ by a triangular factor
        F = solve_lower(model.L, H)
        weights = np.full((n, 1), -n / alpha)
    linear, constant = np.full(n, 2 / n), model.means.grand_mean
    return _form(model.means.column_means, F, weights, s, linear, constant)


def full_kernel_forms_of(model):
    """The forms of all classes of a FullKernelModel with one α, of the rows against all objects."""
    n = len(model.means.column_means)
    H, forms = np.eye(n) - 1 / n, []
    for one, alpha in zip(model.classes, model.alphas, strict=True):
        mean = model.means.column_means + one.mean
        if model.variant == "FK-":
            F, weights = H @ one.Q, one.n * one.factor.reshape(-1)
        else:
            inner = solve_lower(one.factor.T, one.Q.copy())
            rest = H - H @ one.Q @ one.Q.T
            F = np.hstack([H @ inner, rest])
            weights = one.n * np.r_[np.ones(inner.shape[1]), np.full(n, 1 / alpha)]
        forms.append(_form(mean, F, weights[:, None]))
    return forms


def density_form_of(model, alpha, *, within_axes_only=False):
    """The form of a `kernel_pca.GaussianClass` for the covariance Σ + αI, of its coordinates."""
    d, n_axes = model.axes.shape
    if within_axes_only:
        return _form(model.mean, model.axes, (1 / model.variances)[:, None])
    F, weights = model.axes, 1 / (model.variances + alpha)
    if n_axes < d:
        F = np.hstack([F, np.eye(d) - F @ F.T])
        weights = np.r_[weights, np.full(d, 1 / alpha)]
    return _form(model.mean, F, weights[:, None])


def _form(mean, F, weights, s=None, linear=None, constant=0.0):
    s = np.zeros(1) if s is None else s
    return QuadraticForm(mean, F, weights, s, linear, constant, np.full(1, np.nan))
