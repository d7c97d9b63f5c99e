"""
One million rows
================

An exact kernel method would need the kernel values of 10¹² pairs. With landmarks it reads the
rows twice and stores a few matrices of the size of the landmarks. The data come in batches, so
memory does not grow with the number of rows.

Guide: :doc:`/scale`.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from mahalearn import KernelQuadraticDiscriminant


def spirals(n, seed):
    """Two arms that wind around each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    angle = rng.uniform(0.5, 9, n)
    X = angle[:, None] * np.column_stack(
        [np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)]
    )
    return X + rng.normal(0, 0.45, X.shape), y


X_test, y_test = spirals(20_000, seed=100)

# %%
# A list of batches; ``ParquetBatches`` reads them from files; Dask collections work as well.
batches = [spirals(100_000, seed) for seed in range(10)]
start = process_time()
model = KernelQuadraticDiscriminant(
    gamma=0.3, reg=1e-3, landmarks=150, standardize=False, random_state=0
).fit(batches)
seconds = process_time() - start
accuracy = model.score(X_test, y_test)
print(
    f"a million rows: {seconds:.1f} s of processor time, accuracy {accuracy:.3f}"
)

# %%
# Accuracy on one batch: no more landmarks are needed once it stops growing.
numbers = [10, 20, 40, 80, 150]
scores = []
for m in numbers:
    small = KernelQuadraticDiscriminant(
        gamma=0.3, reg=1e-3, landmarks=m, standardize=False, random_state=0
    )
    scores.append(small.fit(*batches[0]).score(X_test, y_test))

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
a, b = np.meshgrid(np.linspace(-11, 11, 200), np.linspace(-11, 11, 200))
regions = model.predict(np.column_stack([a.ravel(), b.ravel()])).reshape(
    a.shape
)
left.contourf(
    a,
    b,
    regions,
    levels=[-0.5, 0.5, 1.5],
    colors=["#3b6ea5", "#c8553d"],
    alpha=0.3,
)
left.scatter(
    *X_test[:1500].T, c=np.array(["#3b6ea5", "#c8553d"])[y_test[:1500]], s=3
)
left.scatter(
    *np.asarray(model.landmarks_).T, s=14, facecolors="none", edgecolors="k"
)
left.set(
    title="Regions; circles are the 150 landmarks",
    xticks=[],
    yticks=[],
    aspect="equal",
)
right.plot(numbers, scores, "o-", color="#3b6ea5")
right.axhline(
    accuracy, color="#c8553d", ls="--", label="1,000,000 rows, 150 landmarks"
)
right.set(
    xlabel="landmarks, 100,000 rows", ylabel="test accuracy", xscale="log"
)
right.legend(frameon=False)
plt.show()
