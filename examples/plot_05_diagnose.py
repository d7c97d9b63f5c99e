"""
A matrix that is not Euclidean, diagnosed
=========================================

Hausdorff distances of polygons. Before anything is classified, ``diagnose`` says what kind of
matrix it is: how much of it is not Euclidean, whether the triangle inequality holds, and how far
nearest neighbours get.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mahalearn import KernelFisherDiscriminant, ProximityKernel
from mahalearn.datasets import polygons
from mahalearn.measures import pairwise
from mahalearn.proximity import diagnose

shapes, corners = polygons(120, random_state=0)
D = pairwise(shapes, "modified_hausdorff")
found = diagnose(D, corners)
print(found)

# %%
# What happens to the negative eigenvalues decides how well a classifier does. No policy is best
# everywhere: compare.
policies = ["krein", "ignore", "clip", "flip", "square", "shift"]
errors = []
for policy in policies:
    classifier = KernelFisherDiscriminant(reg=0.1, kernel="precomputed", spectrum=policy)
    model = make_pipeline(ProximityKernel(), classifier)
    errors.append(100 * (1 - cross_val_score(model, D, corners, cv=10).mean()))

fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
order = np.argsort(corners, kind="stable")
axes[0].imshow(D[np.ix_(order, order)], cmap="viridis")
axes[0].set(title="Distances, objects sorted by class", xticks=[], yticks=[])
values = np.sort(found.eigenvalues)[::-1]
axes[1].bar(range(len(values)), values, color=np.where(values > 0, "#3b6ea5", "#c8553d"), width=1)
share = f"{100 * found.negative_fraction:.0f} %"
axes[1].set(title=f"Eigenvalues: {share} of Σ|λ| is negative", yscale="symlog")
axes[1].set(xlabel="rank of the eigenvalue")
bars = axes[2].barh(policies, errors, color="#3b6ea5")
axes[2].axvline(100 * found.nearest_neighbor_error, color="#c8553d", ls="--")
axes[2].text(100 * found.nearest_neighbor_error, -0.75, "1-NN", color="#c8553d", ha="center")
axes[2].bar_label(bars, fmt="%.1f", padding=3)
axes[2].invert_yaxis()
axes[2].margins(x=0.2)
axes[2].set(xlabel="errors of kernel Fisher in %, by spectrum=")
plt.show()
