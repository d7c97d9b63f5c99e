"""How often regular objects look unusual: ``python -m benchmarks.outliers``.

New objects of normal classes are ranked among the training objects of each fold, inside the model
that had not seen that fold, as `mahalearn predict` does. A share of at most 0.1 should have a
typicality of at most 0.1. A few minutes on one core.
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from mahalearn import KernelQuadraticDiscriminant, TableEncoder
from mahalearn.app.comparing.model import TrainedModel
from mahalearn.app.comparing.plan import Plan
from mahalearn.app.comparing.winner import held_out_folds
from mahalearn.app.reading.problem import Problem

LEVEL = 0.1
MODELS = (
    ("RC+", 0.01, "kernel"),
    ("RC+", 1.0, "kernel"),
    ("RC+", 0.01, "relative"),
    ("RC-", 0.1, "kernel"),
    ("FK+", 0.01, "kernel"),
    ("FK+", 10.0, "kernel"),
    ("FK+", 0.01, "relative"),
    ("FK-", 0.0001, "kernel"),
    ("FK-", 0.1, "kernel"),
    ("IC+", 0.01, "kernel"),
    ("IC+", 0.5, "kernel"),
    ("IC-", 0.001, "kernel"),
    ("IC-", 0.1, "kernel"),
)
SIZES = (((20, 20), 3), ((30, 120), 3), ((100, 100), 2), ((100, 100), 5))


def unusual_shares(variant, reg, reg_on, counts, folds, rng):
    """For each class, the share of its new objects with a typicality of at most LEVEL."""
    y = np.repeat(np.arange(len(counts)), counts)
    X = _objects(y, rng)
    model = KernelQuadraticDiscriminant(variant, reg, reg_on=reg_on, gamma=0.2, offset=None)
    pipeline = Pipeline([("encode", TableEncoder()), ("classify", model)]).fit(X, y)
    problem = Problem("vectors", X, y, "normal")
    _, models, _ = held_out_folds(problem, pipeline, Plan(folds=folds))
    trained = TrainedModel(pipeline, pipeline, folds=models)
    labels = np.repeat(np.arange(len(counts)), 200)
    usual = trained.typicality(_objects(labels, rng)).p_values
    return [np.mean(usual[labels == j, j] <= LEVEL) for j in range(len(counts))]


def _objects(y, rng):
    return pd.DataFrame(rng.normal(size=(len(y), 3)) + 1.5 * y[:, None], columns=list("abc"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    draws = parser.parse_args().draws
    print(f"share of regular objects with typicality ≤ {LEVEL}, mean of {draws} draws, by class")
    for model, (counts, folds) in product(MODELS, SIZES):
        rng = np.random.default_rng(0)
        shares = [unusual_shares(*model, counts, folds, rng) for _ in range(draws)]
        text = ", ".join(f"{v:.3f} (n = {n})" for v, n in zip(np.mean(shares, 0), counts))
        name = "{} {:g} on {}".format(*model).ljust(24)
        print(f"{name}{folds} folds: {text}", flush=True)


if __name__ == "__main__":
    main()
