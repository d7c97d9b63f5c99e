"""aeon: its features of time series and its distances."""

import numpy as np
from aeon.distances import pairwise_distance
from aeon.transformations.collection.convolution_based import MiniRocket
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import (
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    ProximityKernel,
)

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 30)
t = np.linspace(0, 1, 60) + rng.uniform(
    -0.05, 0.05, (60, 1)
)  # shifted a little
X = np.exp(
    -(((t - 0.5) / (0.05 + 0.1 * y[:, None])) ** 2)
) + 0.1 * rng.normal(size=(60, 60))
series = X[:, None]  # aeon: (n_cases, n_channels, n_timepoints)
model = make_pipeline(
    MiniRocket(random_state=0),
    StandardScaler(),
    KernelRidgeClassifier(kernel="linear"),
)
assert model.fit(series[::2], y[::2]).score(series[1::2], y[1::2]) > 0.9

D = pairwise_distance(series, method="msm")
model = make_pipeline(
    ProximityKernel(),
    KernelQuadraticDiscriminant(
        reg=0.1, reg_on="relative", kernel="precomputed"
    ),
)
model.fit(D[::2, ::2], y[::2])
assert model.score(D[1::2, ::2], y[1::2]) > 0.8
