"""
Which method is best, and is the difference significant?
========================================================

``compare`` runs nested cross-validation of several classifiers on a table in memory. Every error
has a 95 % interval, and methods that are statistically tied with the best are marked. Here a
small data set cannot separate the methods.

Guide: :doc:`/comparison`.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from mahalearn.app.report.notebook import compare

X, y = load_wine(return_X_y=True, as_frame=True)
methods = ["gaussian", "kqd", "lda", "knn"]
report = compare(X, y, methods=methods, folds=5, repeats=1, name="wine")
board = report.values["leaderboard"]
tied = [row for row in board if row["tied"]]

fig, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
for i, row in enumerate(board):
    error, low, high = (100 * value for value in row["error"])
    color = "#3b6ea5" if row["tied"] else "#9aa3ad"
    ax.plot([low, high], [i, i], color=color, lw=2)
    ax.plot(error, i, "o", color=color, ms=8)
ax.set_yticks(range(len(board)), [row["title"] for row in board])
ax.margins(y=0.15)
ax.invert_yaxis()
ax.set(
    xlabel="error in %, with 95 % interval",
    title=f"{len(tied)} of {len(board)} methods are statistically tied with the best (blue)",
)
plt.show()

# %%
# ``report.save("page.html")`` writes the whole page, as the command ``mahalearn compare`` does. In a
# notebook each section is displayed:
report.section("leaderboard")
