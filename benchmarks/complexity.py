"""Cost of every method against n and c: paper C's table III, measured.

``python -m benchmarks.complexity`` prints the table of ``docs/complexity.md``: processor time of
fit and of predict, with one BLAS thread, and the exponents of n and c by least squares on
logarithms. The kernel matrix is computed beforehand for all methods alike. ``--figure FILE``
draws the times.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from mahalearn import (
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    OneVsRestSVC,
)

COMMON = {"kernel": "precomputed"}
SIZES = (250, 500, 1000, 2000)
CLASSES = (2, 5, 10, 20)
AT_CLASSES, AT_SIZE = 5, 1000
N_QUERIES = 500
# Method -> estimator, training and test cost of table III (as corrected: docs/errata.md).
METHODS = {
    "KQD-IC+": (lambda: KernelQuadraticDiscriminant("IC+", **COMMON), "n³/c", "n²/c"),
    "KQD-IC−": (lambda: KernelQuadraticDiscriminant("IC-", **COMMON), "n³/c", "n²/c"),
    "KQD-RC+": (lambda: KernelQuadraticDiscriminant("RC+", **COMMON), "n³/c", "n²/c"),
    "KQD-RC−": (lambda: KernelQuadraticDiscriminant("RC-", **COMMON), "n²", "n"),
    "KQD-FK+": (lambda: KernelQuadraticDiscriminant("FK+", **COMMON), "cn³", "cn²"),
    "KQD-FK−": (lambda: KernelQuadraticDiscriminant("FK-", **COMMON), "cn³", "cn²"),
    "KFD": (lambda: KernelFisherDiscriminant(**COMMON), "cn³", "cn"),
    "SVM": (lambda: OneVsRestSVC(**COMMON), "cn²", "cnν"),
    "KNN": (lambda: KernelKNeighborsClassifier(**COMMON), "–", "kn"),
    "KPCA-QD": (lambda: KernelPCAQuadraticDiscriminant(20, **COMMON), "n³ + cp³", "np + cp²"),
}


def problem(n, c):
    """Kernel matrix of n objects of c classes, rows of queries, classes."""
    X, y = make_blobs(n + N_QUERIES, 5, centers=c, cluster_std=3.0, random_state=0)
    K = rbf_kernel(X, X[:n], gamma=0.05)
    return K[:n], y[:n], K[n:]


def measure(name, n, c, repeats=3):
    """Least processor seconds of fit and of predict, the latter for one query."""
    K, y, rows = problem(n, c)
    fits, predictions = [], []
    for _ in range(repeats):
        model = METHODS[name][0]()
        start = time.process_time()
        model.fit(K, y)
        fits.append(time.process_time() - start)
        start = time.process_time()
        model.predict(rows)
        predictions.append((time.process_time() - start) / N_QUERIES)
    return min(fits), min(predictions)


def exponent(sizes, times):
    """Slope of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-7)), 1)[0])


def table(repeats=3):
    """{method: ({n: times}, {c: times})}."""
    return {
        name: (
            {n: measure(name, n, AT_CLASSES, repeats) for n in SIZES},
            {c: measure(name, AT_SIZE, c, repeats) for c in CLASSES},
        )
        for name in METHODS
    }


def lines(times):
    """The table as Markdown."""
    by_n = f"n = {SIZES[-1]}, c = {AT_CLASSES}"
    yield (
        f"| method | fit, table III | exponent of n | of c | time at {by_n} | predict, table III | "
        "exponent of n | of c | time |"
    )
    yield "|" + "---|" * 9
    unit_fit, unit_predict = times["KQD-RC+"][0][SIZES[-1]]
    for name, (sizes, classes) in times.items():
        cells = [name]
        for i, unit in ((0, unit_fit), (1, unit_predict)):
            ns, cs = [t[i] for t in sizes.values()], [t[i] for t in classes.values()]
            cells += [
                METHODS[name][1 + i],
                # The largest sizes: small ones are the cost of the calls.
                f"{exponent(SIZES[-3:], ns[-3:]):.1f}",
                f"{exponent(CLASSES, cs):+.1f}",
                f"{ns[-1] / unit:.2f} ×",
            ]
        yield f"| {' | '.join(cells)} |"


def draw(times, path):
    """Times of fit against n and c."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, place, label in zip(axes, (0, 1), ("n (5 classes)", "classes (n = 1000)")):
        for i, (name, part) in enumerate(times.items()):
            style = ("-", "--", ":")[i // 4]
            axis.loglog(part[place].keys(), [t[0] for t in part[place].values()], style, label=name)
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("fit, processor time (s)")
    axes[1].legend(fontsize=8, ncols=2)
    figure.savefig(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--figure")
    arguments = parser.parse_args()
    times = table(arguments.repeats)
    print("\n".join(lines(times)))
    if arguments.figure:
        draw(times, arguments.figure)
