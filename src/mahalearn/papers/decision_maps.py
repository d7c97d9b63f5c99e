"""Numbers behind the papers' pictures: labels and distances on a grid of points, as plain lists."""

import numpy as np

from .experiment import Measured
from .paper_methods import COMMON

RESOLUTION = 72
MARGIN = 0.08
SHOWN = 300


def plane(X):
    """A grid over the points of X: (extent [x0, x1, y0, y1], points row by row from below)."""
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    axes = [np.linspace(a, b, RESOLUTION) for a, b in zip(low, high)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return [float(v) for v in (low[0], high[0], low[1], high[1])], points


def decision_map(methods, problem, seed):
    """The labels that each method, with cross-validated parameters, gives to the points."""
    extent, points = plane(problem.X)
    panels = []
    for method in methods:
        model, chosen = method.fit(problem, seed)
        labels = np.asarray(model.predict(points))
        wrong = float(np.mean(model.predict(problem.X_test) != problem.y_test))
        panels.append(
            {
                "title": method.name,
                "subtitle": f"test error {100 * wrong:.1f} %",
                "labels": "".join(map(str, labels.tolist())),
                "params": chosen,
            }
        )
    shown = np.column_stack([problem.X, problem.y])[:SHOWN]
    return Measured(
        values={
            "extent": extent,
            "resolution": RESOLUTION,
            "panels": panels,
            "points": np.round(shown, 3).tolist(),
        }
    )


def distance_map(problem):
    """Squared distances to class 0 in XOR, by IC (α = 1e-4) and RC (σ² = 1), RBF with γ = 1."""
    from ..classifiers.kernel_quadratic import KernelMahalanobisTransformer

    extent, points = plane(np.array([[-2.0, -2.0], [2.0, 2.0]]))
    panels = []
    for title, variant, reg, reg_on in (
        ("IC, α = 1e-4", "IC-", 1e-4, "kernel"),
        ("RC, σ² = 1", "RC+", 1.0, "covariance"),
    ):
        model = KernelMahalanobisTransformer(
            variant, reg, reg_on=reg_on, kernel="rbf", gamma=1.0, **COMMON
        )
        distances = model.fit(problem.X, problem.y).transform(points)[:, 0]
        to_first = model.transform(problem.X)[:, 0]
        panels.append(
            {
                "title": title,
                "subtitle": f"own class {to_first[problem.y == 0].mean():.2f}, "
                f"other {to_first[problem.y == 1].mean():.2f}",
                "distances": np.round(distances, 5).tolist(),
                "own": float(to_first[problem.y == 0].mean()),
                "other": float(to_first[problem.y == 1].mean()),
            }
        )
    return Measured(
        values={
            "extent": extent,
            "resolution": RESOLUTION,
            "panels": panels,
            "points": np.column_stack([problem.X, problem.y]).tolist(),
        }
    )
