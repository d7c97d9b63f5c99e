"""The picture of the README and of the first page: python docs/_figures/hero.py writes the PNG."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from mahalearn import (
    KernelMahalanobisNovelty,
    KernelQuadraticDiscriminant,
    PseudoEuclideanEmbedding,
)
from mahalearn.datasets import bent_normals
from mahalearn.display import CoomansDisplay
from mahalearn.measures import pairwise

TARGET = Path(__file__).parents[1] / "images" / "hero.png"
BLUE, RUST, GREEN = "#3b6ea5", "#c8553d", "#5b8c5a"


def table(ax):
    """Curved borders between two classes of unequal spread."""
    X, y = bent_normals(160, random_state=0)
    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    a, b = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    model = KernelQuadraticDiscriminant(reg=0.01, gamma=0.3, standardize=False).fit(X, y)
    scores = model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    shade = np.tanh(scores / np.median(np.abs(scores)))
    ax.contourf(a, b, -shade, levels=np.linspace(-1, 1, 13), cmap="RdBu", alpha=0.75)
    ax.contour(a, b, scores, levels=[0], colors="k", linewidths=1)
    for label, color in enumerate([BLUE, RUST]):
        ax.scatter(*X[y == label].T, s=14, color=color, edgecolors="k", linewidths=0.3)
    ax.set_title("tables: distances in the space of a kernel", fontsize=10)


def strings(ax):
    """Names compared by the edit distance."""
    groups = {
        BLUE: "Catherine Katharina Kathryn Caterina Ekaterina Katarzyna Catalina Katrin",
        RUST: "Alexander Aleksandr Alessandro Alexandre Alejandro Aleksander Alexandros",
        GREEN: "Elisabeth Elizabeth Elisabetta Isabella Elizaveta Elzbieta Isabel",
    }
    words = [word for text in groups.values() for word in text.split()]
    D = pairwise(words, "edit")
    Z = PseudoEuclideanEmbedding(2, kernel="precomputed").fit_transform(-(D**2) / 2)
    colors = [color for color, text in groups.items() for _ in text.split()]
    ax.scatter(*Z.T, s=18, color=colors)
    ax.set(xlim=(Z[:, 0].min() - 3.2, Z[:, 0].max() + 3.2), xticks=[], yticks=[])
    ax.set(ylim=(Z[:, 1].min() - 0.6, Z[:, 1].max() + 0.6))
    ax.set_title("objects: strings, series, matrices", fontsize=10)
    label(ax, words, Z, colors)


def label(ax, words, Z, colors):
    """Names beside their points, right or left, where they hide no point and no other name."""
    ax.figure.canvas.draw()
    dots, taken = ax.transData.transform(Z), []
    for word, point, color in zip(words, Z, colors):
        for side, align in ((5, "left"), (-5, "right")):
            text = ax.annotate(
                word,
                point,
                (side, 0),
                textcoords="offset points",
                color=color,
                fontsize=8,
                va="center",
                ha=align,
            )
            box = text.get_window_extent().expanded(1.02, 1.1)
            inside = ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1
            if inside and not box.count_contains(dots) and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


def unknown(ax):
    """Flowers of a species that the model has not seen."""
    X, y = load_iris(return_X_y=True)
    train = np.random.default_rng(0).random(len(y)) < 0.6
    known = train & (y != 2)
    species = np.array(["setosa", "versicolor", "virginica (unknown)"])[y]
    model = KernelMahalanobisNovelty("RC+").fit(X[known], species[known])
    new = ~train | (y == 2)
    CoomansDisplay.from_estimator(model, X[new], species[new], ax=ax)
    ax.set_title("novelty: is it one of my classes at all?", fontsize=10)


def main():
    """Write the picture."""
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.7), layout="constrained")
    for ax, draw in zip(axes, (table, strings, unknown)):
        draw(ax)
    for ax in axes[:2]:
        ax.set(xticks=[], yticks=[])
    fig.savefig(TARGET, dpi=100, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
