"""Raw columns, always standardised, or "auto": plain estimators on raw data sets.

    MAHALEARN_DATA=… python -m benchmarks.standardize

Mean accuracy of 5 stratified folds with the default parameters, at most 500 objects of each set.
The sets are those of scikit-learn and, where the folder is there, the UCI and tabular sets.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mahalearn import KernelFisherDiscriminant, KernelQuadraticDiscriminant


def data_sets():
    """(name, X, y) of every set without missing values."""
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield load.__name__.removeprefix("load_"), *load(return_X_y=True)
    folder = os.environ.get("MAHALEARN_DATA")
    if not folder:
        return
    for path in sorted(Path(folder, "uci").glob("*.csv")):
        if "raw" not in path.name and path.name != "wine.csv":
            rows = [line.split(",") for line in path.read_text().splitlines()]
            if not rows[0][0].replace(".", "").lstrip("-").isdigit():
                rows = rows[1:]
            yield (
                path.stem,
                np.array([r[:-1] for r in rows], float),
                np.array([r[-1] for r in rows]),
            )
    for path in sorted(Path(folder, "tabular").glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            if np.isfinite(file["X"].astype(float)).all():
                yield path.stem, file["X"].astype(float), file["y"]


def main():
    """Print a table."""
    warnings.simplefilter("ignore")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    models = (KernelQuadraticDiscriminant, KernelFisherDiscriminant)
    table = []
    for name, X, y in data_sets():
        rows = np.random.default_rng(0).permutation(len(y))[:500]
        scores = [
            cross_val_score(model(standardize=how), X[rows], y[rows], cv=folds).mean()
            for model in models
            for how in (False, True, "auto")
        ]
        table.append(scores)
        print(f"{name:20}", *(f"{score:6.3f}" for score in scores), flush=True)
    print(f"{f'mean of {len(table)}':20}", *(f"{s:6.3f}" for s in np.mean(table, axis=0)))


if __name__ == "__main__":
    main()
