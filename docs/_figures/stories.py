"""The pictures of the three stories on the first page: python docs/_figures/stories.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from hero import BLUE, GREEN, RUST

from mahalearn import MahalanobisClassifierCV, MahalanobisNovelty
from mahalearn.datasets import bent_normals, polygons
from mahalearn.measures import pairwise

FOLDER = Path(__file__).parents[1] / "images"


def matrix(ax):
    """Eigenvalues of a distance matrix, the negative ones marked."""
    shapes, _ = polygons(40, random_state=0)
    D = pairwise(shapes, "hausdorff")
    H = np.eye(len(D)) - 1 / len(D)
    values = np.linalg.eigvalsh(-H @ D**2 @ H / 2)[::-1]
    ax.bar(range(len(values)), values, color=np.where(values < 0, RUST, BLUE), width=0.8)
    ax.axhline(0, color="k", linewidth=0.8)
    ax.text(len(values) * 0.62, values.max() * 0.16, "negative eigenvalues", color=RUST, fontsize=9)
    ax.set_title("spectrum of Hausdorff distances", fontsize=10)


def novelty(ax):
    """Regions of equal p-value around two classes, and new samples."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(150, 2)) @ [[1.2, 0.8], [0, 0.4]] + [-2, 0]
    second = rng.normal(size=(150, 2)) * [0.5, 1.0] + [2.2, 0.5]
    X, y = np.vstack([first, second]), np.repeat([0, 1], 150)
    model = MahalanobisNovelty(normalize=False).fit(X, y)
    a, b = np.meshgrid(np.linspace(-6, 5, 220), np.linspace(-3.4, 4.4, 160))
    p = model.p_none(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    shades = ["w", "#dfe8f2", "#bcd0e6", "#8fb0d6"]
    ax.contourf(a, b, p, levels=[0, 0.05, 0.2, 0.5, 1], colors=shades)
    for rows, color in ((first, BLUE), (second, GREEN)):
        ax.scatter(*rows.T, s=7, color=color, linewidths=0)
    unknown = np.array([[0.2, 3.2], [-4.6, 2.6], [0.6, -2.4], [4.2, -2.3]])
    ax.scatter(*unknown.T, s=60, marker="*", color=RUST, zorder=3)
    ax.set_title("p ≤ .05 outside the shaded region", fontsize=10)


def tables(ax):
    """Probabilities of two overlapping classes; pale colours, which look right when inverted."""
    X, y = bent_normals(160, random_state=0)
    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    a, b = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 120))
    model = MahalanobisClassifierCV(["kqd", "kernel_fisher"], random_state=0).fit(X, y)
    p = model.predict_proba(np.column_stack([a.ravel(), b.ravel()]))[:, 1].reshape(a.shape)
    shades = ["#a9c3e0", "#c9d9eb", "#e6eef6", "#f9ebe7", "#f3d8d0", "#ecc5bb"]
    ax.contourf(a, b, p, levels=[0, 0.1, 0.3, 0.5, 0.7, 0.9, 1], colors=shades)
    lines = ax.contour(a, b, p, levels=[0.1, 0.5, 0.9], colors="k", linewidths=[0.5, 1, 0.5])
    ax.clabel(lines, fmt=lambda value: f"{value:.0%}", fontsize=8)
    for label, color in enumerate([BLUE, RUST]):
        ax.scatter(*X[y == label].T, s=9, color=color, linewidths=0)
    ax.set_title("probability of the red class", fontsize=10)


def main():
    """Write one PNG for each story."""
    for name, draw in (("matrix", matrix), ("novelty", novelty), ("tables", tables)):
        figure, ax = plt.subplots(figsize=(4.2, 2.4), layout="constrained")
        draw(ax)
        ax.set(xticks=[], yticks=[])
        figure.savefig(FOLDER / f"story_{name}.png", dpi=150, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
