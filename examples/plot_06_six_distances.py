"""
The six distances as maps
=========================

The squared kernel Mahalanobis distance to *one* class, in each of its six variants. IC grows only
along the directions in which the class varies: far away it falls back to a constant (dark
corners). RC+ grows in every direction and hugs the class. RC− is its cheap approximation for large
σ²: nearly a distance to the mean. FK looks at the class through the kernel values of *all*
objects, and sees where the other class is.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from mahalearn import KernelQuadraticDiscriminant
from mahalearn.datasets import bent_normals

X, y = bent_normals(120, random_state=0)
low, high = X.min(axis=0) - 1.5, X.max(axis=0) + 1.5
a, b = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
grid = np.column_stack([a.ravel(), b.ravel()])

fig, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
reg = {"IC-": 1e-2, "IC+": 1e-2, "RC-": 1.0, "RC+": 1e-2, "FK-": 1e-2, "FK+": 1e-2}
for ax, (variant, value) in zip(axes.T.ravel(), reg.items()):
    model = KernelQuadraticDiscriminant(variant, reg=value, gamma=0.3, offset=None).fit(X, y)
    d2 = model.mahalanobis(grid)[:, 0].reshape(a.shape)
    low_d2, high_d2 = np.quantile(d2, [0, 0.97])
    levels = np.linspace(low_d2, high_d2, 14)
    colored = ax.contourf(a, b, d2, levels=levels, cmap="Blues_r", extend="max")
    ax.scatter(*X[y == 0].T, s=9, color="#c8553d")
    ax.scatter(*X[y == 1].T, s=9, color="#ffffff", edgecolors="#555", linewidths=0.4)
    ticks = [v for v in MaxNLocator(4).tick_values(low_d2, high_d2) if low_d2 <= v <= high_d2]
    fig.colorbar(colored, ax=ax, shrink=0.8, format="{x:,.5g}", ticks=ticks)
    ax.set(title=f"{variant}, reg = {value:g}", xticks=[], yticks=[])
fig.suptitle("d² to the class of the red points; dark is near")
plt.show()
