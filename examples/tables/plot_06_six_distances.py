"""
IC, RC, FK: three ways to measure distance to a class
=====================================================

The squared kernel Mahalanobis distance to the class of the red points. IC grows only along the
directions in which the class varies; far away it becomes small again. RC, the default, grows in
every direction. FK uses the kernel values with *all* samples and depends on the other class, too.

Guide: :doc:`/kernel_quadratic`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mahalearn import KernelQuadraticDiscriminant
from mahalearn.datasets import bent_normals

X, y = bent_normals(120, random_state=0)
low, high = X.min(axis=0) - 2.5, X.max(axis=0) + 2.5
a, b = np.meshgrid(
    np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120)
)
grid = np.column_stack([a.ravel(), b.ravel()])
titles = {
    "IC+": "IC+: far away looks near",
    "RC+": "RC+: far away is far",
    "FK+": "FK+: shaped by both classes",
}

# %%
# Colours are ranks of the distance over the map: dark is near.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for ax, (variant, title) in zip(axes, titles.items()):
    model = KernelQuadraticDiscriminant(
        variant, reg=1e-2, gamma=0.3, offset=None
    ).fit(X, y)
    d2 = model.mahalanobis(grid)[:, 0]
    ranks = (d2.argsort().argsort() / len(d2)).reshape(a.shape)
    ax.contourf(a, b, ranks, levels=12, cmap="Blues_r")
    ax.scatter(*X[y == 0].T, s=9, color="#c8553d")
    ax.scatter(
        *X[y == 1].T, s=9, color="#ffffff", edgecolors="#555", linewidths=0.4
    )
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
