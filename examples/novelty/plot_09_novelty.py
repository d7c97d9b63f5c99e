"""
Unknown classes have small p-values
===================================

Two cultivars of wine are known. Wines of a third one are tested. A classifier always predicts one of
the two; the p-values show that these wines belong to neither.

Guide: :doc:`/novelty`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from mahalearn import MahalanobisNovelty

X, y = load_wine(return_X_y=True)
names = np.array(["Barolo", "Grignolino", "Barbera (unknown)"])[y]
held_out = np.random.default_rng(0).random(len(y)) < 0.4
training = ~held_out & (y != 2)
new = ~training

# %%
# ``level`` is the share of regular wines that may be rejected; no contamination rate is guessed.
model = MahalanobisNovelty(level=0.05).fit(X[training], names[training])
rejected = model.predict(X[new]) == -1
for name in np.unique(names):
    print(f"{name}: {rejected[names[new] == name].mean():.0%} rejected")
print(model.guarantee_)

# %%
# P-values of new wines. Those of known cultivars spread evenly between 0 and 1; those of the
# unknown one lie below the level.
p = model.p_none(X[new])
rng = np.random.default_rng(1)
fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for row, (name, color) in enumerate(
    {
        "Barolo": "#3b6ea5",
        "Grignolino": "#5b8c5a",
        "Barbera (unknown)": "#c8553d",
    }.items()
):
    values = p[names[new] == name]
    ax.scatter(
        values, row + rng.uniform(-0.25, 0.25, len(values)), s=16, color=color
    )
ax.axvline(model.level, color="k", lw=1, ls="--")
ax.set_yticks(range(3), ["Barolo", "Grignolino", "Barbera\n(unknown)"])
ax.set(xlabel="p-value of “none of the known classes”", xlim=(-0.02, 1.02))
plt.show()
