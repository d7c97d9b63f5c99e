"""Fit, predict and memory of the kernel quadratic discriminants.

`python -m benchmarks.kernel_quadratic`: ratios within one run, BLAS on one thread, then on two. The
floors are what plain scipy calls need at the least: class Gram matrices and their Cholesky factors
for fit, cross-Gram and triangular solves for predict.
"""

import numpy as np
from scipy import linalg
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from mahalearn import KernelQuadraticDiscriminant

from .timing import compare, peak_doubles, print_machine, print_ratios

GAMMA, REG = 0.05, 0.01


def classes_of(X, y):
    return [X[y == label] for label in np.unique(y)]


def floor_fit(X, y):
    factors = []
    for Xj in classes_of(X, y):
        K = rbf_kernel(Xj, gamma=GAMMA)
        K.flat[:: len(K) + 1] += len(K) * REG
        factors.append(linalg.cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)[0])
    return factors


def floor_predict(X, y, factors, Z):
    for Xj, L in zip(classes_of(X, y), factors, strict=True):
        k = rbf_kernel(Z, Xj, gamma=GAMMA)
        linalg.solve_triangular(L, k.T, lower=True, overwrite_b=True, check_finite=False)


def printed_full_kernel(X, y, alpha):
    """FK+ as printed in the paper: an n×n inverse for each class."""
    K = rbf_kernel(X, gamma=GAMMA)
    n = len(K)
    Kc = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    for label in np.unique(y):
        B = Kc[:, y == label]
        B = B - B.mean(axis=1, keepdims=True)
        np.linalg.inv(B @ B.T + alpha * np.eye(n))


def speed(threads):
    X, y = make_classification(4000, 20, n_informative=10, random_state=0)
    Z = make_classification(4000, 20, n_informative=10, random_state=1)[0]

    def fit(variant="RC+", **params):
        return KernelQuadraticDiscriminant(variant, REG, gamma=GAMMA, **params).fit(X, y)

    times = compare(
        {
            "floor": lambda: floor_fit(X, y),
            "RC+ fit, offset=None": lambda: fit(offset=None),
            "RC+ fit, error offsets": fit,
            "RC- fit, offset=None": lambda: fit("RC-", offset=None),
            "RC- fit, error offsets": lambda: fit("RC-"),
            "SVC fit": lambda: SVC(gamma=GAMMA).fit(X, y),
        },
        threads=threads,
    )
    goals = {
        "RC+ fit, offset=None": "≤ 1.5 and below SVC",
        "RC+ fit, error offsets": "≤ 4",
        "RC- fit, offset=None": "O(n²): below the floor",
    }
    print_ratios(f"fit, n = 4,000, d = 20, c = 2, {threads} thread(s)", times, "floor", goals)

    factors, model, mean_model = floor_fit(X, y), fit(), fit("RC-")
    times = compare(
        {
            "floor": lambda: floor_predict(X, y, factors, Z),
            "RC+ predict": lambda: model.predict(Z),
            "RC- predict": lambda: mean_model.predict(Z),
        },
        threads=threads,
    )
    print_ratios(
        f"predict 4,000 rows, {threads} thread(s)", times, "floor", {"RC+ predict": "≤ 1.5"}
    )

    X, y = make_classification(
        2000, 20, n_informative=10, n_classes=10, n_clusters_per_class=1, random_state=0
    )
    times = compare(
        {
            "FK+ fit (offset=None)": lambda: KernelQuadraticDiscriminant(
                "FK+", REG, gamma=GAMMA, offset=None
            ).fit(X, y),
            "FK+ as printed": lambda: printed_full_kernel(X, y, REG),
            "FK+ fit (error offsets)": lambda: KernelQuadraticDiscriminant(
                "FK+", REG, gamma=GAMMA
            ).fit(X, y),
        },
        threads=threads,
        repeats=2,
    )
    print_ratios(
        f"FK+ fit, n = 2,000, c = 10, {threads} thread(s)",
        times,
        "FK+ fit (offset=None)",
        {"FK+ as printed": "≥ 8"},
    )


def floor_distances(X, y):
    """What error offsets need besides: inverse factors, and solves for the other classes."""
    for label, L in zip(np.unique(y), floor_fit(X, y), strict=True):
        linalg.lapack.dtrtri(L, lower=1)
        k = rbf_kernel(X[y != label], X[y == label], gamma=GAMMA)
        linalg.solve_triangular(L, k.T, lower=True, overwrite_b=True, check_finite=False)


def large():
    """RC+ of 5,000 objects, two classes and ten."""
    for c in (2, 10):
        X, y = make_classification(
            5000, 20, n_informative=10, n_classes=c, n_clusters_per_class=1, random_state=0
        )
        for offset, floor in ((None, floor_fit), ("error", floor_distances)):
            model = KernelQuadraticDiscriminant(reg=REG, gamma=GAMMA, offset=offset)
            times = compare(
                {
                    "floor": lambda X=X, y=y, floor=floor: floor(X, y),
                    "fit": lambda model=model, X=X, y=y: model.fit(X, y),
                },
                repeats=2,
            )
            title = f"RC+, offset={offset}, n = 5,000, d = 20, c = {c}"
            print_ratios(title, times, "floor", {"fit": "≤ 1.5"})


def memory():
    print("\npeak memory of fit, in multiples of n² doubles (n = 2,000)")
    for c in (2, 10):
        X, y = make_classification(
            2000, 20, n_informative=10, n_classes=c, n_clusters_per_class=1, random_state=0
        )
        for variant in ("RC+", "RC-", "IC+", "FK+", "FK-"):
            for offset in (None, "error"):
                model = KernelQuadraticDiscriminant(variant, REG, gamma=GAMMA, offset=offset)
                peak = peak_doubles(lambda model=model, X=X, y=y: model.fit(X, y)) / len(X) ** 2
                goal = "≤ 2" if variant.startswith("FK") else f"about {2 / c:.1f}"
                print(f"  c = {c:<3} {variant}  offset={offset!s:<6}{peak:>6.2f}   goal {goal}")


if __name__ == "__main__":
    print_machine()
    for n_threads in (1, 2):
        speed(n_threads)
    large()
    memory()
