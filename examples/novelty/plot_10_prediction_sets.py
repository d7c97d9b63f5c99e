"""
Prediction sets that hold the true class
========================================

At a confidence of 95 % the set of a new object contains its class in at least 95 % of cases, for every
class. Easy objects get one class, hard ones several. The share is guaranteed on average over training
sets. A better classifier has smaller sets.

The legend names in brackets how the p-values are computed. ``full`` conformal p-values need no
calibration set and no refits (a closed form of this classifier); ``cross`` is cross-conformal, for
any classifier.

Guide: :doc:`/prediction_sets`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mahalearn import ConformalClassifier, KernelQuadraticDiscriminant

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)
levels = np.linspace(0.8, 0.97, 9)
models = {
    "kernel quadratic discriminant": KernelQuadraticDiscriminant(
        reg=0.01, standardize=False
    ),
    "10 nearest neighbours": KNeighborsClassifier(10),
}

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(levels, levels, "k:", lw=1, label="required")
for (name, classifier), color in zip(models.items(), ["#3b6ea5", "#c8553d"]):
    model = ConformalClassifier(classifier).fit(X, y)
    sets = [model.predict_set(X_test, confidence=level) for level in levels]
    covered = [s[np.arange(len(y_test)), y_test].mean() for s in sets]
    left.plot(
        levels, covered, "o-", color=color, label=f"{name} ({model.method_})"
    )
    right.plot(
        levels,
        [s.sum(axis=1).mean() for s in sets],
        "o-",
        color=color,
        label=name,
    )
left.set(
    xlabel="confidence",
    ylabel="share of sets with the true class",
    title="Coverage",
)
right.set(xlabel="confidence", ylabel="classes in a set, mean", title="Size")
left.legend(frameon=False)
plt.show()
