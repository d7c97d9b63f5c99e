"""sklearn.inspection: permutation importance and partial dependence."""

from sklearn.datasets import load_wine
from sklearn.inspection import partial_dependence, permutation_importance

from mahalearn import KernelQuadraticDiscriminant

X, y = load_wine(return_X_y=True)
model = KernelQuadraticDiscriminant(offset="map").fit(X[::2], y[::2])
importance = permutation_importance(
    model, X[1::2], y[1::2], n_repeats=5, random_state=0
)
assert importance.importances_mean.argmax() in (
    6,
    9,
    12,
)  # flavanoids, colour, proline
curve = partial_dependence(model, X[::2], [12], grid_resolution=5)
assert curve["average"].shape == (3, 5)
