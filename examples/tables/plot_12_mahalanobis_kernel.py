"""
A kernel that does not depend on units
======================================

One column is given in metres, then in centimetres, then in millimetres. The RBF
kernel of an SVM depends on the unit, so the columns must be scaled first. The Mahalanobis kernel
takes the scale from the data (paper B): the decision boundary is the same in every unit.

Guide: :doc:`/svm`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from mahalearn import MahalanobisSVC

X, y = make_moons(200, noise=0.2, random_state=0)
X_test, y_test = make_moons(2000, noise=0.2, random_state=1)
factors = np.logspace(0, 3, 10)
models = {
    "SVC, gamma='scale'": SVC(C=10),
    "MahalanobisSVC, diagonal": MahalanobisSVC(C=10, covariance="diag"),
    "MahalanobisSVC, full": MahalanobisSVC(C=10, covariance="full"),
}

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for (name, model), color in zip(
    models.items(), ["#9aa3ad", "#3b6ea5", "#c8553d"]
):
    errors = []
    for factor in factors:
        unit = np.array([1, factor])
        errors.append(
            100 * (1 - model.fit(X * unit, y).score(X_test * unit, y_test))
        )
    axes[0].plot(factors, errors, "o-", color=color, label=name)
axes[0].set(
    xscale="log",
    xlabel="factor of the second column",
    title="Test errors in %",
)
axes[0].legend(
    frameon=False, fontsize=8, loc="center right", bbox_to_anchor=(1, 0.35)
)

# The decision boundaries at a factor of 100.
a, b = np.meshgrid(np.linspace(-1.8, 2.8, 150), np.linspace(-1.3, 1.8, 150))
grid, unit = np.column_stack([a.ravel(), b.ravel()]), np.array([1, 100])
for ax, name in zip(axes[1:], ["SVC, gamma='scale'", "MahalanobisSVC, full"]):
    model = models[name].fit(X * unit, y)
    ax.contourf(
        a,
        b,
        model.predict(grid * unit).reshape(a.shape),
        levels=1,
        cmap="RdBu",
        alpha=0.4,
    )
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolors="k", linewidths=0.4, s=14)
    ax.set(title=f"{name}, factor 100", xticks=[], yticks=[])
plt.show()
