r"""(Indefinite) kernel PCA and a quadratic discriminant in its coordinates (C, V; KPCA-QD).

K̃ = QΛQᵀ; the components are those with the largest |λ|, and an object's coordinates
ψ(x) = J|Λ|^{-1/2}Qᵀk̃, which for training objects is |Λ|^{1/2}Qᵀ. Then ⟨x, y⟩ = ψ(x)ᵀJψ(y) is the
centred kernel. (The paper leaves J out of ψ; that only reflects coordinates.)

The discriminant is f_j = −½d²_j − ½ln det(Σ_j + αI) + ln P(ω_j) with the Mahalanobis distance of
Σ_j + αI. With the eigenpairs (q, s) of Σ_j, the covariance with divisor n_j, and v = ψ(x) − μ_j:

    d²(x) = ‖v − QQᵀv‖²/α + Σ (qᵀv)²/(s + α),

so that one decomposition serves every α, and fewer objects than dimensions are no special case.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from .linalg import (
    Centering,
    Workspace,
    center_cross,
    center_gram,
    centering,
    eigh,
    fundamental_symmetry,
    rank_tolerance,
    row_sq_norms,
    times,
)
from .quadratic_form import QuadraticForm

# For α above this share of a class's variance ‖v − QQᵀv‖² is the difference ‖v‖² − ‖Qᵀv‖², in half
# the time: its rounding error, divided by α, is below 1e-9 of an object of the class.
SMALL_RIDGE = 1e-6


class Embedding(NamedTuple):
    """Kernel PCA as fitted: the kept eigenpairs of K̃, the largest |λ| first."""

    means: Centering
    values: np.ndarray
    vectors: np.ndarray

    def leading(self, n_components=None, *, positive_only=False):
        """The embedding of the components that are kept.

        n_components: a number of components; a fraction (float) of Σ|λ| to keep, as in
        scikit-learn's PCA the fewest that exceed it; None for all that are not zero. positive_only:
        leave out negative eigenvalues, as the formulas of a definite kernel do.
        """
        order = leading_components(self.values, n_components, positive_only=positive_only)
        Q = self.vectors[:, order]
        # The sign of an eigenvector is arbitrary: its largest entry is made positive.
        if Q.size:
            Q *= np.sign(Q[np.abs(Q).argmax(axis=0), np.arange(Q.shape[1])])
        return self._replace(values=self.values[order], vectors=Q)

    @property
    def signs(self):
        """Diagonal of J."""
        return fundamental_symmetry(self.values)

    @property
    def mean(self):
        """Mean kernel row (n,): ψ(x) = (k − mean)·projection, as in a landmark space."""
        return self.means.column_means

    @property
    def projection(self):
        """HQJ|Λ|^{-1/2}, (n, p)."""
        centred = self.vectors - self.vectors.mean(axis=0)
        return centred * (self.signs / np.sqrt(np.abs(self.values)))

    def training_coordinates(self):
        """ψ of the training objects, (n, p)."""
        return self.vectors * np.sqrt(np.abs(self.values))

    def coordinates(self, k, workspace=None):
        """ψ of queries with rows k (m, n); they stand in the workspace, where one is given."""
        workspace = workspace or Workspace()
        kc = center_cross(k, self.means, out=workspace.like("centred", k))
        Z = workspace.like("coordinates", kc[:, : len(self.values)])
        Z = times(kc, self.vectors, out=Z)
        Z *= self.signs / np.sqrt(np.abs(self.values))
        return Z


def fit_embedding(K, n_components=None, *, positive_only=False):
    """Kernel PCA of the Gram matrix K, which is overwritten; arguments of `Embedding.leading`."""
    means = centering(K)
    values, Q = eigh(center_gram(K, means, overwrite=True), overwrite=True)
    return Embedding(means, values, Q).leading(n_components, positive_only=positive_only)


def leading_components(values, n_components=None, *, positive_only=False):
    """Positions of the eigenvalues that are kept, largest |λ| first; as in `Embedding.leading`."""
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] > 0] if positive_only else order[values[order] != 0]
    return order[: _count_components(np.abs(values[order]), n_components)]


def _count_components(sizes, n_components):
    """How many components to keep; sizes are |λ| in descending order."""
    if n_components is None or (isinstance(n_components, float) and n_components == 1):
        return len(sizes)
    if isinstance(n_components, float):
        shares = np.cumsum(sizes) / sizes.sum() if len(sizes) else sizes
        return min(int(np.searchsorted(shares, n_components, side="right")) + 1, len(sizes))
    return min(n_components, len(sizes))


class GaussianClass(NamedTuple):
    """One class in coordinates: mean, principal axes in columns, variances along them."""

    mean: np.ndarray
    axes: np.ndarray
    variances: np.ndarray

    def sq_distances(self, Z, alphas, *, within_axes_only=False, workspace=None):
        """d² for Σ + αI, (m, len(alphas)); with within_axes_only that of Σ⁺, the pseudo-inverse."""
        workspace = workspace or Workspace()
        alphas, n_axes = np.asarray(alphas, float), len(self.variances)
        V = np.subtract(Z, self.mean, out=workspace.like("shifted", Z))
        P = times(V, self.axes, out=workspace.like("projected", Z[:, :n_axes]))
        rest = np.zeros(len(V))
        if n_axes < V.shape[1] and not within_axes_only:
            if alphas.min() < SMALL_RIDGE * self.variances.sum():
                V -= times(P, self.axes.T, out=workspace.like("fitted", Z))
                rest = row_sq_norms(V)
            else:
                rest = row_sq_norms(V) - row_sq_norms(P)
        P *= P
        if within_axes_only:
            return np.repeat((P @ (1 / self.variances))[:, None], len(alphas), axis=1)
        return rest[:, None] / alphas + P @ (1 / (self.variances[:, None] + alphas))

    def form(self, alpha, *, within_axes_only=False):
        """The class as a `QuadraticForm` of coordinates, for Σ + αI or Σ⁺."""
        F, weights = self.axes, 1 / (self.variances + (0 if within_axes_only else alpha))
        missing = len(self.mean) - len(self.variances)
        if missing and not within_axes_only:
            F = np.hstack([F, np.eye(len(F)) - F @ F.T])
            weights = np.r_[weights, np.full(len(F), 1 / alpha)]
        return QuadraticForm(self.mean, F, weights[:, None], np.zeros(1))

    def log_volumes(self, alphas):
        """ln det(Σ + αI), (len(alphas),)."""
        alphas = np.asarray(alphas, float)
        missing = len(self.mean) - len(self.variances)
        return np.log(self.variances[:, None] + alphas).sum(axis=0) + missing * np.log(alphas)


def gaussian_class(Z, *, pooled_with=None):
    """The class of the rows of Z (n, p); covariance with divisor n.

    pooled_with: rows already centred by their own classes, whose covariance is taken instead.
    """
    mean = Z.mean(axis=0)
    centred = Z - mean if pooled_with is None else pooled_with
    if not len(mean):  # a kernel without spread has no components; LAPACK wants at least one
        return GaussianClass(mean, np.empty((0, 0)), np.empty(0))
    # LAPACK itself: the checks of scipy's svd cost more than a small decomposition.
    _, s, axes, info = linalg.lapack.dgesdd(centred, full_matrices=0)
    if info != 0:
        raise ValueError("The covariance of a class could not be decomposed; check its values.")
    nonzero = s > rank_tolerance(s.max(initial=0.0), max(centred.shape))
    return GaussianClass(mean, axes[nonzero].T, s[nonzero] ** 2 / len(centred))


def quadratic_scores(classes, priors, Z, alphas, *, within_axes_only=False, workspace=None):
    """f of queries in coordinates for each α, (len(alphas), m, c).

    within_axes_only: distances ignore directions in which a class has no variance.
    """
    scores = [
        np.log(prior)
        - model.sq_distances(Z, alphas, within_axes_only=within_axes_only, workspace=workspace) / 2
        - model.log_volumes(alphas) / 2
        for model, prior in zip(classes, priors, strict=True)
    ]
    return np.stack(scores, axis=-1).swapaxes(0, 1)
