"""
Classify strings without features
=================================

Number words of four languages, compared by the edit distance. No features are extracted: the
estimator takes the strings. The map shows the two largest coordinates of the same distances.

Guide: :doc:`/objects`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict

from mahalearn import (
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    PseudoEuclideanEmbedding,
)
from mahalearn.measures import pairwise


def numerals(tens, units, between="", units_first=False):
    """Compound numbers, as 28 = acht·und·zwanzig."""
    pairs = [(t, u) for t in tens.split() for u in units.split()]
    return [
        u + between + t if units_first else t + between + u for t, u in pairs
    ]


words = {
    "Italian": numerals(
        "venti trenta quaranta sessanta novanta", "due tre quattro sei nove"
    ),
    "Finnish": numerals(
        "kaksi kolme neljä kuusi", "kaksi kolme neljä viisi kuusi", "kymmentä"
    ),
    "German": numerals(
        "zwanzig dreißig vierzig neunzig",
        "zwei drei vier fünf acht",
        "und",
        units_first=True,
    ),
    "English": numerals(
        "twenty thirty forty sixty ninety", "two three four six nine", "-"
    ),
}
X = [word for group in words.values() for word in group]
y = np.repeat(list(words), [len(group) for group in words.values()])

# %%
# Each word is predicted by a model that has not seen it; regularisation is chosen inside the
# training part.
model = KernelSearchCV(KernelQuadraticDiscriminant(kernel="edit"))
found = cross_val_predict(model, X, y, cv=5)
print(f"{(found != y).sum()} of {len(y)} words are predicted wrongly")

# %%
# A map: coordinates for a kernel that need not be definite.
D = pairwise(X, "edit")
embedding = PseudoEuclideanEmbedding(2, kernel="precomputed")
Z = embedding.fit_transform(-(D**2) / 2)
fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
for language, color in zip(
    words, ["#3b6ea5", "#c8553d", "#5b8c5a", "#8a5a99"]
):
    points = Z[y == language]
    ax.scatter(*points.T, color=color, s=25, label=language)
    middle = np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1))
    side = 1 if points[middle, 0] < 0 else -1
    ax.annotate(
        words[language][middle],
        points[middle],
        (70 * side, 0),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="center",
        color=color,
        arrowprops={"arrowstyle": "-", "color": color},
    )
ax.set(title="Edit distances of number words", xticks=[], yticks=[])
ax.legend(frameon=False, loc="upper right")
ax.margins(x=0.1)
plt.show()
