"""
Training on a cluster with Dask
===============================

``fit`` takes Dask collections. Each part is reduced on its worker to moments, a few small
matrices, and these are merged in a fixed order. So the model does not depend on the number of
workers, to the last bit.

Guide: :doc:`/scale`.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from mahalearn import KernelQuadraticDiscriminant

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [2.5, 1], [0.5, 3]])
codes = rng.integers(0, 3, 60_000)
rows = (
    centers[codes]
    + rng.normal(size=(60_000, 2)) * np.array([[0.6], [1.2], [0.9]])[codes]
)
X, y = (
    da.from_array(rows, chunks=(5_000, 2)),
    da.from_array(codes, chunks=5_000),
)

# %%
# Threads stand in for a cluster; with ``dask.distributed.Client(address)`` nothing changes.
scores = []
for workers in (1, 2):
    with dask.config.set(scheduler="threads", num_workers=workers):
        model = KernelQuadraticDiscriminant(landmarks=60, random_state=0).fit(
            X, y
        )
    scores.append(model.decision_function(rows[:1000]))
print("one worker and two give the same bits:", np.array_equal(*scores))

# %%
a, b = np.meshgrid(np.linspace(-3, 6.5, 150), np.linspace(-3, 6.5, 150))
regions = model.predict(np.column_stack([a.ravel(), b.ravel()])).reshape(
    a.shape
)
colors = ["#3b6ea5", "#c8553d", "#5b8c5a"]
fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.contourf(
    a, b, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=colors, alpha=0.25
)
ax.scatter(*rows[:2000].T, c=np.array(colors)[codes[:2000]], s=3)
ax.set(title="60,000 rows in 12 parts, 60 landmarks", xticks=[], yticks=[])
ax.set(xlim=(-3, 6.5), ylim=(-3, 6.5))
plt.show()
