"""Mahalanobis SVMs: training beside SVC, and paper B's searches on data sets of its table 2.

python -m benchmarks.svm              training time, n = 5,000, d = 20
python -m benchmarks.svm --ida        chosen parameters, errors, time of each search; needs the
                                      folder with ida/*.npz in MAHALEARN_DATA (about 10 minutes)
"""

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from mahalearn import MahalanobisKernel, MahalanobisSVC
from mahalearn.papers.rbf_reference import (
    choose_mahalanobis,
    choose_rbf,
    rbf_reference,
)

from .timing import compare, print_machine, print_ratios

# Paper B, tables 1 and 2: C, γ or δ (not printed for the grid), mean error.
PUBLISHED = {
    "heart": {
        "RBF": (50, 0.1, 16.1),
        "Diagonal-1": (1, 1, 17.2),
        "Diagonal-2": (1, 0.2, 15.7),
        "Diagonal (grid)": (None, None, 15.6),
        "Full": (1, 0.1, 17.2),
    },
    "titanic": {
        "RBF": (10, 10, 22.5),
        "Diagonal-1": (10, 1, 22.5),
        "Diagonal-2": (10, 0.7, 22.5),
        "Diagonal (grid)": (None, None, 22.5),
        "Full": (10, 0.6, 22.6),
    },
    "breast_cancer": {
        "RBF": (10, 1, 25.6),
        "Diagonal-1": (1, 1, 25.9),
        "Diagonal-2": (1, 0.6, 25.6),
        "Diagonal (grid)": (None, None, 25.9),
        "Full": (1, 0.8, 26.1),
    },
    "banana": {
        "RBF": (100, 15, 10.5),
        "Diagonal-1": (50, 1, 10.5),
        "Diagonal-2": (50, 0.8, 10.4),
        "Diagonal (grid)": (None, None, 10.4),
        "Full": (50, 0.9, 10.5),
    },
}


def training_time(n=5000, d=20):
    """MahalanobisSVC.fit against SVC.fit on data that are whitened already."""
    X, y = make_classification(n, d, n_informative=10, flip_y=0.1, random_state=0)
    for covariance in ("diag", "full"):
        kernel = MahalanobisKernel(covariance).fit(X)
        model, svc = MahalanobisSVC(covariance=covariance), SVC(gamma=kernel.gamma_)
        reference, own = "SVC on whitened data", f"MahalanobisSVC, {covariance}"
        times = compare(
            {
                reference: partial(svc.fit, kernel.whiten(X), y),
                own: partial(model.fit, X, y),
                # All that it adds; on a busy machine this share says more than the ratio above.
                "  of which the whitening": lambda k=kernel: k.fit(X).whiten(X),
            }
        )
        print_ratios(f"fit, n = {n}, d = {d}", times, reference, {own: "at most 1.1"})


def searches(X, y, splits):
    """{method: (C, γ or δ, candidates, seconds, classifier)} chosen on the first realisations."""
    training = [(X[train], y[train]) for train, _ in splits]
    out = {}

    def timed(choose, **options):
        start = time.perf_counter()
        choices = choose(training, **options)
        return choices, time.perf_counter() - start

    rbf, seconds = timed(choose_rbf)
    model = rbf_reference(X.shape[1], rbf.parameter, rbf.C)
    out["RBF"] = (rbf.C, rbf.parameter, rbf.n_candidates, seconds, model)
    for label, options in [
        ("Diagonal", {}),
        ("Diagonal (grid)", {"search": "grid"}),
        ("Full", {"covariance": "full"}),
    ]:
        choices, seconds = timed(choose_mahalanobis, **options)
        fits = sum(choice.n_candidates for choice in choices)
        names = ["Diagonal-1", "Diagonal-2"] if label == "Diagonal" else [label]
        for name, choice in zip(names, choices[-len(names) :], strict=True):
            model = MahalanobisSVC(choice.C, choice.parameter, options.get("covariance", "diag"))
            out[name] = (choice.C, choice.parameter, fits, seconds, model)
    return out


def ida(folder):
    """The searches on four data sets: parameters and errors beside tables 1 and 2."""
    ratios, differences = [], []
    for name, published in PUBLISHED.items():
        data = np.load(folder / "ida" / f"{name}.npz")
        X, y = data["x"].astype(float), data["t"]
        splits = list(zip(data["train"], data["test"], strict=True))
        with threadpool_limits(limits=1):
            rows = searches(X, y, splits)
        print(f"\n{name}: {len(splits)} realisations, parameters from the first five")
        print(f"  {'method':<16}{'C':>7}{'γ or δ':>8}{'error':>13}   {'published':<20}fits   time")
        line, errors = rows["Diagonal-2"][3], {}
        for method, (C, parameter, fits, seconds, model) in rows.items():
            scores = [
                100 * (1 - model.fit(X[train], y[train]).score(X[test], y[test]))
                for train, test in splits
            ]
            errors[method] = np.mean(scores)
            C0, parameter0, error0 = published[method]
            table = f"{error0:.1f}" + ("" if C0 is None else f"  (C {C0}, {parameter0})")
            print(
                f"  {method:<16}{C:>7}{parameter:>8}{np.mean(scores):>7.1f} ± {np.std(scores):.1f}"
                f"   {table:<20}{fits:>4}{seconds / line:>6.2f} ×",
                flush=True,
            )
        ratios.append([rows[other][3] / line for other in ("RBF", "Diagonal (grid)")])
        differences.append(
            [errors["Diagonal-2"] - errors[other] for other in ("RBF", "Diagonal (grid)")]
        )
    for k, other in enumerate(["RBF grid (78 fits)", "δ grid (65 fits)"]):
        print(
            f"\nline search (33 fits) against the {other}: {np.min(ratios, axis=0)[k]:.1f} to "
            f"{np.max(ratios, axis=0)[k]:.1f} × less time   goal about 2; error "
            f"{np.mean(differences, axis=0)[k]:+.2f} points on average, by set "
            f"{', '.join(f'{row[k]:+.1f}' for row in differences)}   goal within 0.3"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.svm")
    parser.add_argument("--ida", action="store_true", help="the searches on four IDA data sets")
    if parser.parse_args().ida:
        if not os.environ.get("MAHALEARN_DATA"):
            sys.exit("Set MAHALEARN_DATA to the folder that holds ida/heart.npz and the others.")
        print_machine()
        ida(Path(os.environ["MAHALEARN_DATA"]))
    else:
        print_machine()
        training_time()
