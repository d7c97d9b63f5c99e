"""
A report in a notebook
======================

``compare`` runs nested cross-validation of several classifiers on a table in memory. Its result
shows itself in a notebook, section by section; ``report(path)`` writes the page as one HTML file,
as the command ``mahalearn compare`` does.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from mahalearn.app.report.notebook import compare

X, y = load_wine(return_X_y=True, as_frame=True)
methods = ["gaussian", "kqd", "lda", "knn"]
comparison = compare(X, y, methods=methods, folds=5, repeats=1, name="wine")

# %%
# The leaderboard as a picture of our own: errors with their 95 % intervals.
board = comparison.values["leaderboard"]
fig, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
for i, row in enumerate(board):
    error, low, high = (100 * value for value in row["error"])
    color = "#3b6ea5" if row["ours"] else "#9aa3ad"
    ax.plot([low, high], [i, i], color=color, lw=2)
    ax.plot(error, i, "o", color=color, ms=8)
ax.set_yticks(range(len(board)), [row["title"] for row in board])
ax.invert_yaxis()
ax.set(
    xlabel="error in %, with 95 % interval",
    title="Methods of mahalearn in blue, references in grey",
)
plt.show()

# %%
# What a notebook shows; other sections are "confusion", "curves", "calibration", "importance" and
# more.
comparison.report().section("leaderboard")
