"""Exact searches against refitting.

`python -m benchmarks.model_selection`: ratios within one run, BLAS on one thread, processor time.
`--growth FILE.png` adds how the cost grows with n and c, with a picture.
"""

import argparse

import numpy as np
from scipy import linalg
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.svm import SVC

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
)

from .timing import compare, print_machine, print_ratios

GAMMAS = np.geomspace(0.01, 50, 8)
REGS = np.geomspace(1e-5, 2, 8)
SPLITS = 10


def problem(n=1000, c=2):
    return make_classification(
        n,
        20,
        n_informative=10,
        n_classes=c,
        n_clusters_per_class=4 if c == 2 else 2,
        random_state=0,
    )


def the_grid():
    X, y = problem()
    plain = KernelQuadraticDiscriminant(reg_on="kernel")
    grid = {"reg": REGS, "gamma": GAMMAS}
    times = compare(
        {
            "KernelSearchCV, α fixed": lambda: KernelSearchCV(plain, grid, cv=SPLITS).fit(X, y),
            "KernelSearchCV, σ² fixed (the default)": lambda: KernelSearchCV(
                KernelQuadraticDiscriminant(), grid, cv=SPLITS
            ).fit(X, y),
            "GridSearchCV of the plain estimator": lambda: GridSearchCV(plain, grid, cv=SPLITS).fit(
                X, y
            ),
            "GridSearchCV(SVC)": lambda: GridSearchCV(
                SVC(), {"gamma": GAMMAS, "C": np.geomspace(0.1, 1e6, 8)}, cv=SPLITS
            ).fit(X, y),
        },
        repeats=1,
    )
    print_ratios(
        "RC+, error offsets: 8 γ × 8 values × 10 folds, n = 1,000, d = 20",
        times,
        "KernelSearchCV, α fixed",
        {"GridSearchCV of the plain estimator": "≥ 6", "GridSearchCV(SVC)": "≥ 8"},
    )


def leave_one_out():
    X, y = problem()
    regs = np.geomspace(1e-5, 2, 20)

    def reference():
        K = rbf_kernel(X, gamma=0.1)
        for label in (0, 1):
            linalg.eigh(K[np.ix_(y == label, y == label)])

    def search(offset, reg_on="covariance"):
        return KernelSearchCV(
            KernelQuadraticDiscriminant(offset=offset, reg_on=reg_on),
            {"reg": regs, "gamma": [0.1]},
            cv=LeaveOneOut(),
        )

    def scores(offset):
        search(offset).fit(X, y)

    times = compare(
        {
            "kernel matrix + eigendecomposition of each class": reference,
            "offset=None": lambda: scores(None),
            "offset='map'": lambda: scores("map"),
            "offset='error'": lambda: scores("error"),
        },
        repeats=2,
    )
    print_ratios(
        "leave-one-out over 20 values, n = 1,000 (whole fit: splits, search, refit)",
        times,
        "kernel matrix + eigendecomposition of each class",
        {"offset=None": "≤ 3", "offset='map'": "≤ 3", "offset='error'": "≤ 25"},
    )


def the_others():
    """Every method against its own GridSearchCV, on a smaller grid."""
    X, y = problem(500)
    gammas, regs = GAMMAS[[1, 4]], REGS
    kqd, space = KernelQuadraticDiscriminant, DissimilaritySpaceDiscriminant
    pairs = {}
    for variant in ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-"):
        pairs[f"quadratic {variant}"] = (
            KernelSearchCV(
                KernelQuadraticDiscriminant(variant=variant, reg_on="kernel"),
                {"reg": regs, "gamma": gammas},
                cv=SPLITS,
            ),
            kqd(variant, reg_on="kernel"),
            "reg",
            regs,
        )
    for head in ("fisher", "quadratic"):
        pairs[f"dissimilarity space, {head} RC+"] = (
            KernelSearchCV(
                DissimilaritySpaceDiscriminant(variant="RC+", discriminant=head, reg_on="kernel"),
                {"reg": regs, "gamma": gammas},
                cv=SPLITS,
            ),
            space(head, "RC+", reg_on="kernel"),
            "reg",
            regs,
        )
    pairs["kernel Fisher"] = (
        KernelSearchCV(KernelFisherDiscriminant(), {"reg": regs, "gamma": gammas}, cv=SPLITS),
        KernelFisherDiscriminant(),
        "reg",
        regs,
    )
    pairs["kernel PCA + QDA"] = (
        KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": regs, "gamma": gammas}, cv=SPLITS),
        KernelPCAQuadraticDiscriminant(),
        "reg",
        regs,
    )
    pairs["kernel neighbours"] = (
        KernelSearchCV(
            KernelKNeighborsClassifier(), {"n_neighbors": range(1, 16), "gamma": gammas}, cv=SPLITS
        ),
        KernelKNeighborsClassifier(),
        "n_neighbors",
        list(range(1, 16)),
    )
    print("\nGridSearchCV of the plain estimator / the search (n = 500, 2 γ × 8 values × 10 folds)")
    for name, (search, plain, axis, values) in pairs.items():
        grid = GridSearchCV(plain, {"gamma": gammas, axis: values}, cv=SPLITS)
        times = compare(
            {
                "search": lambda search=search: search.fit(X, y),
                "grid": lambda grid=grid: grid.fit(X, y),
            },
            repeats=1,
        )
        print(f"  {name:<36}{times['grid'] / times['search']:>7.1f} ×")


def growth(path=None):
    """Cost against n and against c, exponents by least squares on the logarithms."""
    rows = []
    for n in (250, 500, 1000, 2000, 4000):
        rows.append(("n", n, _cost(n, 2)))
    for c in (2, 5, 10, 20):
        rows.append(("c", c, _cost(1000, c)))
    print("\ncost of one search (2 γ × 8 values × 10 folds), relative to the cheapest")
    for axis in ("n", "c"):
        sizes, cost = (np.array(v, float) for v in zip(*[r[1:] for r in rows if r[0] == axis]))
        exponent = np.polyfit(np.log(sizes[-4:]), np.log(cost[-4:]), 1)[0]
        shown = ", ".join(f"{axis} = {s:g}: {t / cost[0]:.1f}" for s, t in zip(sizes, cost))
        print(f"  {shown}; exponent {exponent:.2f}")
    if path:
        plot(rows, path)


def _cost(n, c):
    X, y = problem(n, c)
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(reg_on="kernel"),
        {"reg": REGS, "gamma": GAMMAS[[1, 4]]},
        cv=SPLITS,
    )
    return compare({"search": lambda: search.fit(X, y)}, repeats=1)["search"]


def plot(rows, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, name, label in zip(axes, "nc", ["objects n (two classes)", "classes c (n = 1,000)"]):
        sizes, cost = (np.array(v, float) for v in zip(*[r[1:] for r in rows if r[0] == name]))
        draw = axis.loglog if name == "n" else axis.plot  # three decades, and one third of one
        draw(sizes, cost / cost[0], "o-", color="#0072B2")
        axis.set(xlabel=label, ylabel="cost relative to the first")
        axis.set_xticks(sizes, [f"{s:g}" for s in sizes])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--growth", metavar="FILE.png", help="also measure the growth, and plot it")
    parser.add_argument("--only", choices=["grid", "loo", "others", "growth"])
    options = parser.parse_args()
    print_machine()
    parts = {"grid": the_grid, "loo": leave_one_out, "others": the_others}
    for name, part in parts.items():
        if options.only in (None, name):
            part()
    if options.growth or options.only == "growth":
        growth(options.growth)
