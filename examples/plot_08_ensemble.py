"""
The weights of an ensemble
==========================

``MahalanobisClassifierCV`` searches the families of the library on the same folds, calibrates
each of them on held-out scores, and combines their probabilities. The weights minimise the log
loss on held-out objects plus a penalty on unequal weights: with few objects they stay nearly equal,
with many the data decide. Members that err on different objects help each other, so that the
ensemble has a smaller log loss than the best of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from mahalearn import MahalanobisClassifierCV

X, y = make_classification(
    700, 8, n_informative=5, n_clusters_per_class=2, class_sep=0.8, random_state=3
)
X, X_test, y, y_test = X[:150], X[150:], y[:150], y[150:]
families = ["gaussian", "kernel_fisher", "kqd", "kernel_pca", "neighbors"]
model = MahalanobisClassifierCV(families, kernel="rbf", cv=5, random_state=0).fit(X, y)

# %%
# Each member alone, by its own calibrated probabilities, and the ensemble.
rows = [row for row in model.leaderboard_ if np.isfinite(row["log_loss"])]
rows.sort(key=lambda row: -row["weight"])
for row in rows:
    print(f"{row['member']:20} weight {row['weight']:.2f}, log loss {row['log_loss']:.3f}")
loss = log_loss(y, model.oof_proba_)
print(f"ensemble, held out: {loss:.3f}; test accuracy {model.score(X_test, y_test):.3f}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
names = [row["member"] for row in rows]
bars = left.barh(names, [row["weight"] for row in rows], color="#3b6ea5")
left.bar_label(bars, fmt="%.2f", padding=3)
left.invert_yaxis()
left.margins(x=0.15)
left.set_title("weight in the ensemble")
right.plot([row["log_loss"] for row in rows], names, "o", color="#3b6ea5", ms=8, label="a member")
right.axvline(loss, color="#c8553d", ls="--", label="the ensemble")
right.grid(axis="y", alpha=0.3)
right.margins(x=0.15)
right.set_title("log loss on held-out objects (small is good)")
right.legend(frameon=False, loc="upper right")
plt.show()
