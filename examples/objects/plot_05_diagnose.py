"""
Your distance matrix is not Euclidean: diagnose it, then classify
=================================================================

Modified Hausdorff distances of polygons. ``diagnose`` shows how much of the matrix is not
Euclidean. Then cross-validation chooses how to treat the negative eigenvalues (``spectrum``) and
how much to regularise. Every treatment has a lower error than the nearest neighbour.

Guide: :doc:`/distance_matrix`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mahalearn import (
    KernelFisherDiscriminant,
    KernelSearchCV,
    ProximityKernel,
)
from mahalearn.datasets import polygons
from mahalearn.measures import pairwise
from mahalearn.proximity import diagnose

shapes, corners = polygons(120, random_state=0)
D = pairwise(shapes, "modified_hausdorff")
report = diagnose(D, corners)
print(report)

# %%
# A search inside ten folds: the regularisation is chosen on the training part of each fold. With a
# fixed regularisation the comparison would mostly show which treatment that value happens to suit.
policies = ["krein", "clip", "flip", "square", "shift"]


def error(spectrum):
    """Cross-validated error of kernel Fisher in per cent, for one treatment or a choice of them."""
    grid = {"spectrum": spectrum, "reg": np.logspace(-4, 1, 6)}
    search = KernelSearchCV(
        KernelFisherDiscriminant(kernel="precomputed"), grid
    )
    model = make_pipeline(ProximityKernel(), search)
    return 100 * (1 - cross_val_score(model, D, corners, cv=10).mean())


errors = {policy: error([policy]) for policy in policies}
errors["chosen by\nthe search"] = error(policies)

# %%
# Left: the matrix. Middle: a part of the spectrum is negative, so no set of points has these
# distances. Right: errors of kernel Fisher for each treatment, and for the choice of the search.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
order = np.argsort(corners, kind="stable")
axes[0].imshow(D[np.ix_(order, order)], cmap="Blues")
axes[0].set(title="distances, sorted by class", xticks=[], yticks=[])
values = np.sort(report.eigenvalues)[::-1]
axes[1].bar(
    range(len(values)),
    values,
    color=np.where(values > 0, "#3b6ea5", "#c8553d"),
    width=1,
)
axes[1].set(
    title=f"spectrum: {report.negative_fraction:.0%} is negative",
    yscale="symlog",
)
axes[1].set(xlabel="rank of the eigenvalue")
bars = axes[2].barh(
    list(errors), list(errors.values()), color=["#9ab4d2"] * 5 + ["#3b6ea5"]
)
axes[2].axvline(100 * report.nearest_neighbor_error, color="#c8553d", ls="--")
axes[2].text(
    100 * report.nearest_neighbor_error,
    -0.75,
    "1-NN",
    color="#c8553d",
    ha="center",
)
axes[2].bar_label(bars, fmt="%.1f", padding=3)
axes[2].invert_yaxis()
axes[2].margins(x=0.2)
axes[2].set(xlabel="error in %")
plt.show()
