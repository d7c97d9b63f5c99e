"""
Out-of-distribution detection on embeddings
===========================================

A network learns seven of the ten digits. Its hidden layer is an embedding of the images. A
detector on that embedding tests, with p-values, which images show none of the seven.

Guide: :doc:`/embeddings`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from mahalearn import MahalanobisNovelty

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)  # networks compute in single precision
known = y < 7
X_known, X_unknown, y_known = X[known], X[~known], y[known]
X_train, X_rest, y_train, y_rest = train_test_split(
    X_known, y_known, test_size=0.5, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)

# %%
# Any network will do. The detector needs the values of a late layer, one row per image.
network = MLPClassifier((128,), max_iter=500, random_state=0).fit(
    X_train, y_train
)


def embed(X):
    """The hidden layer of the network."""
    return np.maximum(
        X @ network.coefs_[0] + network.intercepts_[0], 0
    ).astype(np.float32)


# %%
# The images that the network was trained on lie closer to their classes than new ones.
# ``calibrate`` therefore ranks distances among images that the network has not seen.
detector = MahalanobisNovelty(level=0.05).fit(embed(X_train), y_train)
detector.calibrate(embed(X_val), y_val)
for name, images in (
    ("new images of known digits", X_test),
    ("unknown digits", X_unknown),
):
    flagged = detector.predict(embed(images)) == -1
    print(f"{name}: {flagged.mean():.1%} flagged; the network's mean confidence "
          f"{network.predict_proba(images).max(axis=1).mean():.2f}")  # fmt: skip

# %%
# Left: p-values of new images of known digits follow the diagonal, those of unknown digits are
# small. Right: the unknown images with the smallest p-values, and the digits that the network
# predicts for them.
fig = plt.figure(figsize=(11, 4.2), layout="constrained")
left, right = fig.subfigures(1, 2)
ax = left.subplots()
for name, images in (
    ("known digits", X_test),
    ("unknown digits (7, 8, 9)", X_unknown),
):
    p = np.sort(detector.p_none(embed(images)))
    ax.plot(p, np.arange(1, len(p) + 1) / len(p), label=name)
ax.plot([0, 1], [0, 1], color="0.7", linestyle=":")
ax.axvline(detector.level, color="0.5", linewidth=1)
ax.set(xlabel="p_none", ylabel="share of images", xlim=(0, 1), ylim=(0, 1.02))
ax.legend(frameon=False, loc="lower right")
p = detector.p_none(embed(X_unknown))
order = np.argsort(detector.score_samples(embed(X_unknown)))[:12]
for ax, i in zip(right.subplots(3, 4).ravel(), order, strict=True):
    ax.imshow(X_unknown[i].reshape(8, 8), cmap="gray_r")
    called = network.predict(X_unknown[i : i + 1])[0]
    sure = network.predict_proba(X_unknown[i : i + 1]).max()
    ax.set_title(f'"{called}" ({sure:.0%}), p = {p[i]:.3f}', fontsize=8)
    ax.axis("off")
plt.show()
