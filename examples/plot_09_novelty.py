"""
Unknown classes: a Coomans plot
===============================

Two cultivars of wine are known. Wines of a third one arrive. A classifier would name one of the
two; the distances say that it is neither.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from mahalearn import KernelMahalanobisNovelty
from mahalearn.display import CoomansDisplay, TypicalityDisplay

X, y = load_wine(return_X_y=True)
names = np.array(["Barolo", "Grignolino", "Barbera (unknown)"])[y]
rng = np.random.default_rng(0)
test = rng.random(len(y)) < 0.4
known = ~test & (y != 2)
new = test | (y == 2)

# %%
# ``level`` is the share of regular wines that may be rejected; no contamination rate is guessed.
model = KernelMahalanobisNovelty("RC+", level=0.05).fit(X[known], names[known])
rejected = model.predict(X[new]) == -1
for name in np.unique(names):
    print(f"{name}: {rejected[names[new] == name].mean():.0%} rejected")

# %%
# Left: the squared distances to the two classes; beyond a line a class is rejected, and in the
# upper right corner both are. Right: regular wines follow the diagonal, unknown ones have small
# p-values.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
CoomansDisplay.from_estimator(model, X[new], names[new], ax=left)
TypicalityDisplay.from_estimator(model, X[new], names[new], ax=right)
plt.show()
