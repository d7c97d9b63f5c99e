"""Default regularisation on precomputed dissimilarities: in the matrix's own unit, and fixed.

    MAHALEARN_DATA=… python -m benchmarks.dissimilarities

Errors in % (five stratified folds) of plain estimators on kernels −d² and −d. The factor of kernel
Fisher was chosen on words and points, which are drawn here; the series, by dynamic time warping,
confirm it.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    OneVsRestSVC,
)
from mahalearn.measures import pairwise

ESTIMATORS = {
    "KQD .01": KernelQuadraticDiscriminant(reg=0.01),
    "KQD auto": KernelQuadraticDiscriminant(),
    "space .01": DissimilaritySpaceDiscriminant(reg=0.01),
    "space auto": DissimilaritySpaceDiscriminant(),
    "Fisher .001": KernelFisherDiscriminant(reg=1e-3),
    "Fisher auto": KernelFisherDiscriminant(),
    "ridge": KernelRidgeClassifier(),
    "SVM": OneVsRestSVC(),
}
LONGEST, MOST = 300, 120


def words(rng, pattern, n):
    """Strings that differ from a pattern by three to eight edits."""
    for _ in range(n):
        letters = list(pattern)
        for _ in range(rng.integers(3, 9)):
            place, letter = rng.integers(len(letters)), rng.choice(list("abcd"))
            letters[place : place + rng.integers(2)] = [letter]
        yield "".join(letters)


def matrices():
    """(name, matrix of dissimilarities, labels)."""
    rng = np.random.default_rng(0)
    sizes = {"abcabcabcddab": 60, "abdabcabcacab": 60, "abcacdabcddab": 40}
    texts = [word for pattern, n in sizes.items() for word in words(rng, pattern, n)]
    yield "words", pairwise(texts, "edit"), np.repeat(list(sizes), list(sizes.values()))
    y = np.arange(120) % 2
    points = [rng.normal(size=(rng.integers(8, 15), 2)) * (1 + label / 2) for label in y]
    yield "points", pairwise(points, "modified_hausdorff"), y
    for path in sorted(Path(os.environ.get("MAHALEARN_DATA", "."), "timeseries").glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            X, y = file["X_train"], file["y_train"]
        if X.shape[-1] <= LONGEST and np.unique(y, return_counts=True)[1].min() >= 5:
            rows = rng.permutation(len(y))[:MOST]
            yield path.stem, pairwise(list(X[rows]), "dtw"), y[rows]


def main():
    warnings.simplefilter("ignore")
    print(f"{'':24}" + "".join(f"{name:>12}" for name in ESTIMATORS))
    table = []
    for name, D, y in matrices():
        for power, kind in ((2, "−d²"), (1, "−d")):
            K, errors = -(D**power), []
            for model in ESTIMATORS.values():
                folds = StratifiedKFold(5, shuffle=True, random_state=0)
                model.set_params(kernel="precomputed")
                errors.append(100 * (1 - cross_val_score(model, K, y, cv=folds).mean()))
            table.append(errors)
            print(f"{name:20}{kind:4}" + "".join(f"{error:12.1f}" for error in errors), flush=True)
    print(f"{'mean':24}" + "".join(f"{error:12.1f}" for error in np.mean(table, axis=0)))


if __name__ == "__main__":
    main()
