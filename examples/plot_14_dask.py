"""
Training on a cluster with Dask
===============================

``fit`` takes Dask collections. Each part is reduced on its worker to moments, a few small
matrices; these are merged in a fixed tree. The model is an ordinary local one, and has the same
bits whatever the number of workers.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from mahalearn import GaussianClassifier, KernelQuadraticDiscriminant
from mahalearn.distributed import predict

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [2.5, 1], [0.5, 3]])
codes = rng.integers(0, 3, 60_000)
rows = centers[codes] + rng.normal(size=(60_000, 2)) * np.array([[0.6], [1.2], [0.9]])[codes]
X, y = da.from_array(rows, chunks=(10_000, 2)), da.from_array(codes, chunks=10_000)
print(X)

# %%
# Here threads stand in for a cluster; with ``dask.distributed.Client(address)`` nothing changes.
models = {
    "GaussianClassifier": GaussianClassifier(),
    "KernelQuadraticDiscriminant, 60 landmarks": KernelQuadraticDiscriminant(
        landmarks=60, random_state=0
    ),
}
with dask.config.set(scheduler="threads", num_workers=2):
    for model in models.values():
        model.fit(X, y)
    lazy = predict(models["GaussianClassifier"], X)  # nothing is computed yet
    print(lazy)
    print("share of rows predicted right:", float((lazy == y).mean().compute()))

# %%
a, b = np.meshgrid(np.linspace(-3, 6.5, 150), np.linspace(-3, 6.5, 150))
grid = np.column_stack([a.ravel(), b.ravel()])
colors = ["#3b6ea5", "#c8553d", "#5b8c5a"]
fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    regions = model.predict(grid).reshape(a.shape)
    ax.contourf(a, b, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.25)
    ax.scatter(*rows[:2000].T, c=np.array(colors)[codes[:2000]], s=3)
    ax.set(title=name, xticks=[], yticks=[], xlim=(-3, 6.5), ylim=(-3, 6.5))
plt.show()
