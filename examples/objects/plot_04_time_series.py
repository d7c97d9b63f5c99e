"""
Time series: beyond 1-NN-DTW
============================

Series with one or two bumps at random places. The usual baseline is the nearest neighbour under
dynamic time warping. Every other classifier of the library takes the same distances, although
exp(−DTW²) and −DTW² are not positive definite.

Guide: :doc:`/time_series`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mahalearn import (
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    MeasureKernel,
    OneVsRestSVC,
)
from mahalearn.measures import Elastic

rng = np.random.default_rng(0)
t = np.linspace(0, 1, 60)


def bumps(kinds):
    """A bump, and for half of the series a second, smaller one."""
    shift = rng.uniform(0.2, 0.4, (len(kinds), 1))
    second = np.where(kinds == "two", 0.4, 0.0)[:, None]
    second = second * np.exp(-(((t - shift - 0.35) / 0.04) ** 2))
    return (
        np.exp(-(((t - shift) / 0.05) ** 2))
        + second
        + rng.normal(0, 0.1, (len(kinds), 60))
    )


y, y_test = rng.choice(["one", "two"], 60), rng.choice(["one", "two"], 300)
X, X_test = bumps(y), bumps(y_test)

# %%
# All classifiers use the same kernel object.
dtw = MeasureKernel(Elastic("dtw", window=0.2))
gaussian = MeasureKernel(Elastic("dtw", window=0.2), kind="rbf")
models = {
    "1-NN-DTW": KernelKNeighborsClassifier(1, kernel=dtw),
    "quadratic discriminant": KernelQuadraticDiscriminant(
        reg=0.1, kernel=dtw
    ),
    "kernel Fisher": KernelFisherDiscriminant(reg=1.0, kernel=dtw),
    "kernel ridge": KernelRidgeClassifier(reg=1e-2, kernel=dtw),
    "SVM, flipped spectrum": OneVsRestSVC(
        C=10, kernel=gaussian, spectrum="flip"
    ),
}
errors = {
    name: 100 * (1 - m.fit(X, y).score(X_test, y_test))
    for name, m in models.items()
}

fig, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained"
)
for kind, color, lift in [("one", "#3b6ea5", 0), ("two", "#c8553d", 2)]:
    for series in X[y == kind][:5]:
        left.plot(t, series + lift, color=color, lw=1, alpha=0.7)
    left.text(
        0.8, lift + 0.6, f"{kind} bump{'s' * (kind == 'two')}", color=color
    )
left.set(title="Ten training series", xlabel="time", yticks=[])
colors = ["#9aa3ad"] + ["#3b6ea5"] * (len(errors) - 1)
bars = right.barh(list(errors), list(errors.values()), color=colors)
right.bar_label(bars, fmt="%.1f", padding=3)
right.invert_yaxis()
right.set(title="Test errors in %, 60 training series")
right.margins(x=0.15)
plt.show()
