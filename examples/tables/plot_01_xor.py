"""
XOR: why RC is better than IC
=============================

Each class has two clusters at opposite corners. In the space of an RBF kernel a class spans few
directions. The distance IC (invertible covariance) ignores all other directions, so points far from
the data are near to *both* classes. RC (regularised covariance, the
default) adds σ² in every direction, so the distance also grows outside the span of a class.

Guide: :doc:`/kernel_quadratic`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mahalearn import KernelQuadraticDiscriminant
from mahalearn.datasets import xor

X, y = xor(80, noise=0.45, random_state=0)
X_test, y_test = xor(2000, noise=0.45, random_state=1)
a, b = np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150))
grid = np.column_stack([a.ravel(), b.ravel()])

# %%
# The same kernel and the same data; only the distance differs.
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, variant, reg in zip(axes, ["IC-", "IC+", "RC+"], [1e-2, 1e-2, 1e-2]):
    model = KernelQuadraticDiscriminant(variant, reg=reg, gamma=1.0).fit(X, y)
    difference = model.decision_function(grid).reshape(a.shape)
    limit = np.quantile(np.abs(difference), 0.9)
    levels = np.linspace(-limit, limit, 13)
    ax.contourf(
        a, b, difference, levels=levels, cmap="RdBu", extend="both", alpha=0.8
    )
    ax.contour(a, b, difference, levels=[0], colors="k", linewidths=1)
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolors="k", linewidths=0.5, s=22)
    error = 1 - model.score(X_test, y_test)
    ax.set(
        title=f"{variant}: {100 * error:.1f} % test errors",
        xticks=[],
        yticks=[],
    )
fig.suptitle(
    "Difference of the two scores; the black line is the decision boundary"
)
plt.show()

# %%
# For a class of one sample the IC distance is 0 everywhere.
single = KernelQuadraticDiscriminant("IC+", offset=None).fit(
    X[[0, 40, 41, 42]], [0, 1, 1, 1]
)
print(
    "IC+ distances to the class of one object:",
    single.mahalanobis(X_test[:3])[:, 0].round(6),
)
