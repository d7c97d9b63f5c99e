"""
A checkerboard with an indefinite kernel
========================================

The board does not change if it is turned by 180°: x and −x have the same colour. The kernel
max(k(x, x'), k(x, −x')) uses this symmetry, but it is not positive definite. The classifiers here
accept it; their test error is 9 % instead of 15 % with an RBF kernel.

Guide: :doc:`/indefinite`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from mahalearn import KernelFisherDiscriminant, KernelQuadraticDiscriminant
from mahalearn.datasets import checkerboard

X, y = checkerboard(120, random_state=0)
X_test, y_test = checkerboard(2000, random_state=1)
a, b = np.meshgrid(np.linspace(-2, 2, 140), np.linspace(-2, 2, 140))
grid = np.column_stack([a.ravel(), b.ravel()])

# %%
# A kernel is a function of two sets of rows that returns a matrix.


def invariant(X, Y):
    """The larger of the similarities to x and to its mirror image."""
    return np.maximum(
        rbf_kernel(X, Y, gamma=2.0), rbf_kernel(X, -Y, gamma=2.0)
    )


models = {
    "RBF kernel, Fisher": KernelFisherDiscriminant(
        reg=0.01, gamma=2.0, standardize=False
    ),
    "invariant kernel, Fisher": KernelFisherDiscriminant(
        reg=0.01, kernel=invariant
    ),
    "invariant kernel, FK+": KernelQuadraticDiscriminant(
        "FK+", reg=0.01, kernel=invariant
    ),
}

fig, axes = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    model.fit(X, y)
    regions = model.predict(grid).reshape(a.shape)
    ax.contourf(
        a,
        b,
        regions,
        levels=[-0.5, 0.5, 1.5],
        colors=["#c8553d", "#3b6ea5"],
        alpha=0.4,
    )
    ax.scatter(
        *X.T,
        c=y,
        cmap="RdBu",
        vmin=0,
        vmax=1,
        edgecolors="k",
        linewidths=0.4,
        s=16,
    )
    error, (positive, negative) = (
        1 - model.score(X_test, y_test),
        model.kernel_signature(),
    )
    eigenvalues = f"{positive} positive, {negative} negative eigenvalues"
    ax.set_title(
        f"{name}: {100 * error:.0f} % errors\n{eigenvalues}", fontsize=10
    )
    ax.set(xticks=[-2, -1, 0, 1, 2], yticks=[-2, -1, 0, 1, 2])
    ax.grid(color="k", alpha=0.15)
plt.show()
