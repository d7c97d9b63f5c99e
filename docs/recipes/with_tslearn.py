"""tslearn: its global alignment kernel; it need not be positive definite."""

import numpy as np
from tslearn.metrics import cdist_gak
from tslearn.utils import to_time_series_dataset

from mahalearn import KernelFisherDiscriminant

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
lengths = rng.integers(30, 40, 40)
series = [
    np.sin(np.linspace(0, 6 * (2 + label), n) + rng.random())
    + 0.2 * rng.normal(size=n)
    for label, n in zip(y, lengths, strict=True)
]
X = to_time_series_dataset(series)  # series of unequal lengths
K = cdist_gak(X, sigma=2.0)
model = KernelFisherDiscriminant(kernel="precomputed").fit(
    K[::2, ::2], y[::2]
)
assert model.score(K[1::2, ::2], y[1::2]) > 0.8
