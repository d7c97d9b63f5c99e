"""
An ensemble is better calibrated than its members
=================================================

``MahalanobisClassifierCV`` searches several families on the same folds, calibrates them and
combines their probabilities. On new samples its log loss is below that of every member.

Guide: :doc:`/chooser`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from mahalearn import MahalanobisClassifierCV

X, y = make_classification(
    3150,
    8,
    n_informative=5,
    n_clusters_per_class=2,
    class_sep=0.8,
    random_state=3,
)
X, X_test, y, y_test = X[:150], X[150:], y[:150], y[150:]
families = ["gaussian", "kernel_fisher", "kqd", "kernel_pca", "neighbors"]

# %%
# Each family alone, and all together, with 150 training samples and 3,000 new ones.
losses = {}
for names in [*([name] for name in families), families]:
    model = MahalanobisClassifierCV(
        names, kernel="rbf", cv=5, random_state=0
    ).fit(X, y)
    title = names[0] if len(names) == 1 else "ensemble"
    losses[title] = log_loss(y_test, model.predict_proba(X_test))
    print(
        f"{title:15} log loss {losses[title]:.3f}, accuracy {model.score(X_test, y_test):.3f}"
    )

# %%
ranked = dict(sorted(losses.items(), key=lambda item: item[1]))
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
colors = ["#c8553d" if name == "ensemble" else "#3b6ea5" for name in ranked]
bars = ax.barh(list(ranked), list(ranked.values()), color=colors)
ax.bar_label(bars, fmt="%.3f", padding=3)
ax.invert_yaxis()
ax.margins(x=0.12)
ax.set(xlabel="log loss on new samples (small is good)")
plt.show()
