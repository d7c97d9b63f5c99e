"""
Failing sensors: set the failed ones to NaN
===========================================

Paper D's data have twenty classes and ten sensors, some of which fail. A failed sensor that reads 0
distorts the distance to the true class. Descent weights give the *smallest* of the ten squared
distances the most weight, so the accuracy falls less. If you know which sensor has failed, set it to
NaN: the densities of the other sensors are exact, and the accuracy falls least.

Guide: :doc:`/missing`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mahalearn import GaussianClassifier
from mahalearn.datasets import (
    add_noise,
    drop_features,
    random_gaussians,
    sample_gaussians,
)

dead, levels = np.arange(8), np.array([0, 0.3, 1, 3, 10, 30, 100])
lost = np.zeros((3, len(dead)))
noisy = np.zeros((3, len(levels)))
repetitions = 8
for seed in range(repetitions):
    means, variances = random_gaussians(random_state=seed)
    X, y = sample_gaussians(means, variances, random_state=seed)

    def model(means=means, variances=variances, **options):
        return GaussianClassifier.from_parameters(means, variances, **options)

    plain, ignore = model(), model(missing="ignore")
    descent, difference = (
        model(feature_weights="descent"),
        model(feature_weights="difference"),
    )
    for j, k in enumerate(dead):
        zeros = drop_features(X, k, random_state=seed)
        gaps = drop_features(X, k, value=np.nan, random_state=seed)
        lost[:, j] += [
            plain.score(zeros, y),
            descent.score(zeros, y),
            ignore.score(gaps, y),
        ]
    for j, level in enumerate(levels):
        Z = add_noise(X, level, n_noisy=3, random_state=seed)
        noisy[:, j] += [
            plain.score(Z, y),
            descent.score(Z, y),
            difference.score(Z, y),
        ]

# %%
fig, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", sharey=True
)
colors = ["#9aa3ad", "#3b6ea5", "#c8553d"]
for curve, name, color in zip(
    lost, ["plain", "descent weights", 'NaN, missing="ignore"'], colors
):
    left.plot(dead, 100 * curve / repetitions, "o-", color=color, label=name)
for curve, name, color in zip(
    noisy, ["plain", "descent weights", "difference weights"], colors
):
    right.plot(
        levels, 100 * curve / repetitions, "o-", color=color, label=name
    )
left.set(
    xlabel="failed sensors of 10",
    ylabel="accuracy in %",
    title="Failed sensors",
)
right.set(
    xlabel="variance of the noise on three sensors", title="Noisy sensors"
)
right.set_xscale("symlog", linthresh=0.3)
left.legend(frameon=False)
right.legend(frameon=False)
plt.show()
