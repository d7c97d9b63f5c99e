"""The same problem with 10,000 and 20,000 rows: ``python -m benchmarks.sizes``.

Version 0.1 had an accuracy of .915 with 10,000 rows and of .552 with 20,000, because beyond 16,000
rows its offsets came from memory that nothing had been written to. One data set is made, and its
first rows are the training data, so that both sizes are the same problem; more rows must not cost
accuracy. The working memory is that of scikit-learn (1,024 MiB) unless ``--memory`` says otherwise:
``--memory 4 --sizes 1000 2000`` shows the same fault in seconds. With the default sizes about 4 GB
and some minutes on one core.
"""

import argparse
import sys
import time

import numpy as np
import sklearn
from sklearn.datasets import make_classification

from mahalearn import DissimilaritySpaceDiscriminant, KernelQuadraticDiscriminant

MODELS = {
    "RC+, error offsets": lambda: KernelQuadraticDiscriminant("RC+", 1e-3),
    "RC+, leave-one-out offsets": lambda: KernelQuadraticDiscriminant("RC+", 1e-3, offset="loo"),
    "RC+, Fisher head": lambda: DissimilaritySpaceDiscriminant("fisher", "RC+", 1e-3),
}
# More rows may lose this much by chance: 3.3 standard errors of the difference on 5,000 rows.
MARGIN = 0.015


def rows(n):
    """n training rows and 5,000 test rows of one problem with three unequal classes."""
    X, y = make_classification(
        n_samples=n + 5000,
        n_features=20,
        n_informative=10,
        n_redundant=4,
        n_classes=3,
        n_clusters_per_class=2,
        weights=[0.5, 0.3],
        random_state=0,
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[5000:], y[5000:], X[:5000], y[:5000]


def measure(make, X, y, test, labels):
    """Accuracy and processor seconds of a fit and of the prediction."""
    start = time.process_time()
    model = make().fit(X, y)
    fitted = time.process_time()
    accuracy = float(np.mean(model.predict(test) == labels))
    return accuracy, fitted - start, time.process_time() - fitted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS)[:1])
    parser.add_argument("--memory", type=float, default=None, help="working memory in MiB")
    args = parser.parse_args()
    sizes = sorted(args.sizes)
    X, y, test, labels = rows(max(sizes))
    memory = args.memory or sklearn.get_config()["working_memory"]
    print(f"working memory {memory:g} MiB, {len(test)} test rows")
    failed = False
    with sklearn.config_context(working_memory=memory):
        for name in args.models:
            best = 0.0
            for n in sizes:
                accuracy, fit, predict = measure(MODELS[name], X[:n], y[:n], test, labels)
                worse = accuracy < best - MARGIN
                failed, best = failed or worse, max(best, accuracy)
                print(
                    f"{name:<28} n = {n:>6}: accuracy {accuracy:.3f}, fit {fit:.1f} s, "
                    f"predict {predict:.1f} s{'   WORSE THAN WITH FEWER ROWS' if worse else ''}",
                    flush=True,
                )
    sys.exit(failed)


if __name__ == "__main__":
    main()
