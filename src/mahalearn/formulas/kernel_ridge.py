r"""Kernel ridge regression in the Kreĭn space of an indefinite kernel, the spectrum flipped.

K (n, n) is the kernel matrix of the training objects, Y (n, c) their targets, of classes +1 and −1
(`class_targets`). The intercept is not penalised, so kernel and targets are centred, K̃ = HKH and
Y − 1ȳᵀ: kernels such as −d² have no origin, and nothing below depends on one. With K̃ = UΛUᵀ the
flipped kernel is U|Λ|Uᵀ, and for each λ

    α = U (|Λ| + λI)⁻¹ Uᵀ (Y − 1ȳᵀ),    f(x) = ȳ + αᵀ U sign(Λ) Uᵀ k̃_x,

k̃_x being the centred row of a query, flipped as the training rows are (G. Loosli, S. Canu and
C. S. Ong, Learning SVM in Kreĭn spaces, IEEE Trans. PAMI 38, 2016, where the same is done for the
SVM). One decomposition serves all λ. Directions with eigenvalue 0 carry no information about new
objects and are left out.

Since f is linear in k_x, it is f(x) = Aᵀk_x + b with A = HU sign(Λ)(|Λ| + λI)⁻¹Uᵀ(Y − 1ȳᵀ) and
b = ȳ − Aᵀ K1/n.

Leave-one-out. In the flipped feature space of all n training objects this is a ridge regression
with an intercept. Its held-out residuals are r_i/(1 − h_ii) with the residuals r and the leverages
h_ii = 1/n + Σ_k U_ik² |λ_k|/(|λ_k| + λ). For a definite kernel this is leave-one-out exactly. The
Kreĭn space of an indefinite one has seen the object that is left out (its kernel values, not its
target), and accuracies come out too high: searches use it for definite kernels only. A λ that is
relative to the spread, reg·Σ_k|λ_k|, is that of the other objects (`leave_one_out_lambdas`):
Σ_{j≠i} ‖x_j − m_{−i}‖² = Σ_k |λ_k| − n/(n−1) Σ_k U_ik²|λ_k|.

Objects with weights w count as often: means are weighted, n is Σw, and with u = √w the matrix that
is decomposed is uᵀ∘K̃∘u, with targets u∘(Y − 1ȳᵀ) and coefficients u∘α.
"""

from typing import NamedTuple

import numpy as np

from .linalg import Centering, LinearScores, center_gram, centering, eigh

# 1 − h below this is rounding: the object determines its own fitted value.
_LEAST_REST = 1e-10
# The inverse of a smaller λ overflows in a product.
_LEAST_LAMBDA = 1e-290
_EPS = np.finfo(float).eps


class RidgeSpectrum(NamedTuple):
    """Nonzero eigenvalues of K̃, their eigenvectors, K1/n and weights (n,): common to all λ."""

    values: np.ndarray
    vectors: np.ndarray
    row_means: np.ndarray
    weights: np.ndarray

    @property
    def indefinite(self):
        """True if K̃ has eigenvalues below 0 by more than rounding."""
        sizes = np.abs(self.values).max(initial=0.0), np.abs(self.row_means).max()
        return bool((self.values < -len(self.row_means) * _EPS * max(sizes)).any())

    @property
    def scale(self):
        """Mean of |λ_k| over all n directions: the unit of a relative λ; 1 for a zero kernel."""
        return float(np.abs(self.values).sum() / self.weights.sum()) or 1.0


def class_targets(codes, n_classes):
    """Targets (n, c): +1 in the column of an object's class, −1 elsewhere."""
    return np.where(np.equal.outer(codes, np.arange(n_classes)), 1.0, -1.0)


def ridge_spectrum(K, weights=None):
    """The decomposition of the symmetric kernel matrix K (n, n), which is not changed.

    weights: (n,) of the objects, positive; 1 if None.
    """
    if weights is None:
        weights, means = np.ones(len(K)), centering(K)
        Kc = center_gram(K, means)
    else:
        column_means, u = K @ weights / weights.sum(), np.sqrt(weights)
        means = Centering(column_means, column_means @ weights / weights.sum())
        Kc = center_gram(K, means) * u * u[:, None]
    values, U = eigh(Kc, overwrite=True)
    nonzero = values != 0
    return RidgeSpectrum(values[nonzero], U[:, nonzero], means.column_means, weights)


def ridge_path(spectrum, targets, lambdas):
    """LinearScores for each λ > 0, from one RidgeSpectrum.

    spectrum : RidgeSpectrum of the kernel matrix
    targets : (n, c)
    lambdas : positive numbers in the units of K's eigenvalues
    """
    values, U, row_means, w = spectrum
    mean, u = np.average(targets, axis=0, weights=w), np.sqrt(w)[:, None]
    projected = U.T @ (u * (targets - mean))
    models = []
    for lam in lambdas:
        _check_lambda(lam)
        # U is orthogonal to 1 but for rounding; H makes constants vanish exactly.
        A = U @ ((np.sign(values) / (np.abs(values) + lam))[:, None] * projected)
        A *= u
        A -= w[:, None] * (A.sum(axis=0) / w.sum())
        models.append(LinearScores(A, mean - row_means @ A))
    return models


def leave_one_out_lambdas(spectrum, regs):
    """λ = reg·(n−1)·scale of the training set without each object, (len(regs), n).

    spectrum : RidgeSpectrum of the kernel matrix
    regs : positive numbers
    """
    values, U, _, w = spectrum
    rest, total = w.sum() - w, np.abs(values).sum()
    left = total - np.square(U) @ np.abs(values) * (w.sum() / rest)
    # Objects without spread have no scale, as in RidgeSpectrum.scale.
    return np.outer(regs, np.where(left > 1e-12 * total, left, rest))


def ridge_leave_one_out(spectrum, targets, lambdas):
    """Held-out predictions of every training object, (len(lambdas), n, c).

    spectrum : RidgeSpectrum of the kernel matrix
    targets : (n, c)
    lambdas : positive numbers in the units of K's eigenvalues; rows of n numbers, one for each
        object that is left out, where they differ
    """
    values, U, _, w = spectrum
    n, u, share = len(targets), np.sqrt(w)[:, None], w / w.sum()
    if n < 2:
        raise ValueError("Leave-one-out needs at least two objects; got one.")
    centred = u * (targets - np.average(targets, axis=0, weights=w))
    # The constant direction is the intercept's. Its eigenvalue, 0 but for rounding, is no small one
    # where K is nearly constant: a share of it in 1 − h would hand the object its own target.
    projected, U2 = U.T @ centred, np.square(U - u * (u.T @ U) / w.sum())
    out = np.zeros((len(lambdas), *targets.shape))
    outside = np.maximum(1 - share - U2.sum(axis=1), 0.0)
    for place, lam in enumerate(lambdas):
        _check_lambda(lam)
        # 1 − h directly, as the share that the penalty takes: no difference of near equals.
        each = np.broadcast_to(lam, n)[:, None]
        penalised = each / (np.abs(values) + each)
        rest = outside + (U2 * penalised).sum(axis=1)
        residuals = centred - (U * (1 - penalised)) @ projected
        if (rest <= _LEAST_REST * (1 - share)).any():
            raise _lost(lam)
        out[place] = targets - residuals / u / rest[:, None]
    return out


def _check_lambda(lam):
    if not (np.isfinite(lam) & (np.asarray(lam) > 0)).all():
        raise ValueError(f"lambda must be positive and finite; got {lam!r}.")
    if np.min(lam) < _LEAST_LAMBDA:
        raise _lost(lam)


def _lost(lam):
    return ValueError(
        f"lambda = {np.min(lam):g} is so small that it vanishes in rounding for this kernel; take "
        "a larger one, or kernel values in other units."
    )
