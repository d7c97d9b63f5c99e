"""Pictures of the guide's pages: python docs/_figures/families.py [name ...] writes PNG files."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.datasets import make_blobs, make_moons

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisNovelty,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    MahalanobisKernel,
    MahalanobisNovelty,
    PseudoEuclideanEmbedding,
)
from mahalearn.datasets import bent_normals

FOLDER = Path(__file__).parents[1] / "images"
BLUE, RUST, GREEN, GREY = "#3b6ea5", "#c8553d", "#5b8c5a", "#9aa3ad"
COLORS = [BLUE, RUST, GREEN]
SIZE = (10, 3.4)


def grid(X, margin=0.6, n=150):
    """Axes of a grid around the data, and its points."""
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    a, b = np.meshgrid(np.linspace(low[0], high[0], n), np.linspace(low[1], high[1], n))
    return a, b, np.column_stack([a.ravel(), b.ravel()])


def points(ax, X, y, size=12):
    """The objects, a colour for each class; no ticks."""
    for label, color in zip(np.unique(y), COLORS):
        ax.scatter(*X[y == label].T, s=size, color=color, edgecolors="k", linewidths=0.3)
    ax.set(xticks=[], yticks=[])


def regions(ax, model, X, y):
    """Where each class is predicted."""
    a, b, Z = grid(X)
    codes = np.searchsorted(model.classes_, model.predict(Z)).reshape(a.shape)
    levels = np.arange(len(model.classes_) + 1) - 0.5
    ax.contourf(a, b, codes, levels=levels, colors=COLORS[: len(model.classes_)], alpha=0.25)
    points(ax, X, y)


def kernel_quadratic():
    """Distances to two classes, and the border."""
    X, y = bent_normals(160, random_state=0)
    model = KernelQuadraticDiscriminant(reg=0.01, gamma=0.3, standardize=False).fit(X, y)
    a, b, Z = grid(X)
    fig, axes = plt.subplots(1, 3, figsize=SIZE, layout="constrained")
    d2 = model.mahalanobis(Z)
    for j, (ax, cmap) in enumerate(zip(axes, ["Blues_r", "Oranges_r"])):
        ax.contourf(a, b, d2[:, j].reshape(a.shape), levels=14, cmap=cmap)
        points(ax, X, y)
        ax.set_title(f"distance to class {j}")
    regions(axes[2], model, X, y)
    axes[2].set_title("the class with the larger −d²/2 + b")
    return fig


def gaussian():
    """Three kinds of covariances."""
    rng = np.random.default_rng(0)
    spreads = [[[1, 0.8], [0.8, 1]], [[0.3, 0], [0, 1.5]], [[1.2, -0.6], [-0.6, 0.5]]]
    centers = [(0, 0), (3, 0.5), (0.5, 3.2)]
    X = np.vstack([rng.multivariate_normal(m, S, 50) for m, S in zip(centers, spreads)])
    y = np.repeat([0, 1, 2], 50)
    options = {
        'covariance="full"': {},
        'covariance="diag"': {"covariance": "diag"},
        "pooled=True": {"pooled": True},
    }
    fig, axes = plt.subplots(1, 3, figsize=SIZE, layout="constrained")
    for ax, (name, choice) in zip(axes, options.items()):
        model = GaussianClassifier(**choice).fit(X, y)
        regions(ax, model, X, y)
        for j, mean in enumerate(model.means_):
            S = np.asarray(model.covariances_)[j]
            S = np.diag(S) if S.ndim == 1 else S
            values, vectors = np.linalg.eigh(S)
            angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
            width, height = 4 * np.sqrt(values[::-1])
            ax.add_patch(Ellipse(mean, width, height, angle=angle, fill=False, ec=COLORS[j], lw=2))
        a, b, _ = grid(X)
        ax.set(title=name, xlim=(a.min(), a.max()), ylim=(b.min(), b.max()))
    return fig


def svm():
    """Points that are equally similar to the middle, by three kernels."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 200) * [2, 0.8]
    a, b, Z = grid(X, margin=2)
    center = np.zeros((1, 2))
    kernels = {
        "RBF": lambda P, Q: np.exp(-((P[:, None] - Q) ** 2).sum(axis=2) / 6),
        "Mahalanobis, diagonal": MahalanobisKernel(covariance="diag").fit(X),
        "Mahalanobis, full": MahalanobisKernel(covariance="full").fit(X),
    }
    fig, axes = plt.subplots(1, 3, figsize=(10, 2.4), layout="constrained", sharey=True)
    for ax, (name, kernel) in zip(axes, kernels.items()):
        values = kernel(Z, center).reshape(a.shape)
        ax.contourf(a, b, values, levels=8, cmap="Blues", alpha=0.8)
        ax.scatter(*X.T, s=8, color=RUST, edgecolors="k", linewidths=0.2)
        ax.set(title=name, xticks=[], yticks=[], aspect="equal")
    return fig


def kernel_fisher():
    """The border, and the one number per object that it comes from."""
    X, y = bent_normals(160, random_state=0)
    model = KernelFisherDiscriminant(reg=0.01, gamma=0.3, standardize=False).fit(X, y)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    regions(left, model, X, y)
    left.set_title("regions")
    values = model.decision_function(X)
    bins = np.linspace(values.min(), values.max(), 30)
    for label, color in enumerate(COLORS[:2]):
        right.hist(values[y == label], bins, color=color, alpha=0.7)
    right.axvline(0, color="k", lw=1)
    right.set(title="objects along the Fisher direction", yticks=[], xlabel="f(x)")
    return fig


def dissimilarity_space():
    """Objects in their own space, and by their distances to the classes."""
    X, y = bent_normals(160, random_state=0)
    model = DissimilaritySpaceDiscriminant(
        "fisher", "RC+", reg=0.01, gamma=0.3, standardize=False
    ).fit(X, y)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    regions(left, model, X, y)
    left.set_title("input space")
    psi = model.mahalanobis(X)
    points(right, psi, y)
    right.set(xlabel="d² to class 0", ylabel="d² to class 1", title="dissimilarity space")
    right.set(xscale="log", yscale="log")
    right.minorticks_off()
    return fig


def kernel_pca():
    """Objects in the space of the first two kernel components."""
    X, y = bent_normals(160, random_state=0)
    model = KernelPCAQuadraticDiscriminant(0.95, reg=1e-3, gamma=0.3, standardize=False).fit(X, y)
    Z = PseudoEuclideanEmbedding(2, kernel="rbf", gamma=0.3).fit_transform(X)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    regions(left, model, X, y)
    left.set_title("regions")
    points(right, Z, y)
    right.set(xlabel="component 1", ylabel="component 2", title="kernel principal components")
    return fig


def kernel_neighbors():
    """One neighbour and many."""
    X, y = make_blobs(120, centers=3, cluster_std=3.2, random_state=3)
    fig, axes = plt.subplots(1, 3, figsize=SIZE, layout="constrained")
    for ax, k in zip(axes, (1, 7, 25)):
        regions(ax, KernelKNeighborsClassifier(k, standardize=False).fit(X, y), X, y)
        ax.set_title(f"n_neighbors = {k}")
    return fig


def kernel_ridge():
    """Little, middling and much regularisation."""
    X, y = bent_normals(160, random_state=0)
    fig, axes = plt.subplots(1, 3, figsize=SIZE, layout="constrained")
    for ax, reg in zip(axes, (1e-6, 1e-3, 1e-1)):
        regions(ax, KernelRidgeClassifier(reg, gamma=0.3, standardize=False).fit(X, y), X, y)
        ax.set_title(f"reg = {reg:g}")
    return fig


def feature_weights():
    """Points at equal distance, plain and with weights of the ranks."""
    a, b = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-3, 3, 200))
    Z = np.column_stack([a.ravel(), b.ravel()])
    means, variances = [[0.0, 0.0], [9.0, 9.0]], np.ones((2, 2))
    fig, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", sharey=True)
    choices = {"plain distance": None, "large deviations count less": [1.6, 0.4]}
    for ax, (name, weights) in zip(axes, choices.items()):
        model = GaussianClassifier.from_parameters(means, variances, feature_weights=weights)
        d2 = model.mahalanobis(Z)[:, 0].reshape(a.shape)
        ax.contourf(a, b, d2, levels=12, cmap="Blues_r")
        ax.contour(a, b, d2, levels=[2.0], colors=RUST, linewidths=2)
        ax.set(title=name, xlabel="feature 1", aspect="equal", xticks=[], yticks=[])
    axes[0].set_ylabel("feature 2")
    return fig


def novelty():
    """Two moons: p-values of an elliptic and of a kernel detector, and samples of no class."""
    X, y = make_moons(200, noise=0.12, random_state=0)
    unknown = np.array([[-0.4, 0.2], [1.4, 0.3], [0.6, 1.4], [2.3, 0.9], [-0.9, -0.6]])
    a, b, Z = grid(X)
    fig, axes = plt.subplots(1, 2, figsize=SIZE, layout="constrained")
    detectors = [MahalanobisNovelty(normalize=False), KernelMahalanobisNovelty(gamma=3.0)]
    for ax, detector in zip(axes, detectors):
        p = detector.fit(X, y).p_none(Z).reshape(a.shape)
        shades = ["w", "#dfe8f2", "#bcd0e6", "#8fb0d6"]
        ax.contourf(a, b, p, levels=[0, 0.05, 0.2, 0.5, 1], colors=shades)
        points(ax, X, y)
        ax.scatter(*unknown.T, s=70, marker="*", color=GREEN, zorder=3)
        found = (detector.predict(unknown) == -1).sum()
        ax.set_title(f"{type(detector).__name__}: {found} of {len(unknown)} unknown found")
    return fig


def policies():
    """What the spectrum policies do to an eigenvalue."""
    x = np.linspace(-1, 1.5, 200)
    curves = {
        '"krein", "ignore"': x,
        '"clip"': np.maximum(x, 0),
        '"flip"': np.abs(x),
        '"square"': x**2,
        '"shift"': x + 1,
    }
    fig, axes = plt.subplots(1, 5, figsize=(11, 2.6), layout="constrained", sharey=True)
    for ax, (name, values) in zip(axes, curves.items()):
        ax.axhline(0, color=GREY, lw=0.8)
        ax.axvline(0, color=GREY, lw=0.8)
        ax.plot(x[x < 0], values[x < 0], color=RUST, lw=2.5)
        ax.plot(x[x >= 0], values[x >= 0], color=BLUE, lw=2.5)
        ax.set(title=name, xticks=[], yticks=[], xlabel="λ")
    axes[0].set_ylabel("f(λ)")
    return fig


FIGURES = [kernel_quadratic, gaussian, svm, kernel_fisher, dissimilarity_space, kernel_pca]
FIGURES += [kernel_neighbors, kernel_ridge, feature_weights, novelty, policies]

if __name__ == "__main__":
    for draw in FIGURES:
        if not sys.argv[1:] or draw.__name__ in sys.argv[1:]:
            options = {"pil_kwargs": {"optimize": True}}
            draw().savefig(FOLDER / f"family_{draw.__name__}.png", dpi=75, **options)
