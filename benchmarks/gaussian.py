"""Gaussian classifiers: python -m benchmarks.gaussian [--wide] [--tables] [--curves]

Speed against scikit-learn's QDA as ratios within one run, with the goals beside them; with
``--wide`` more features than rows, with ``--tables`` paper D's tables 1 and 2 over 500 repetitions,
with ``--curves`` its figures over 100.
"""

import argparse
import time
from functools import partial

import numpy as np
import sklearn
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from mahalearn import GaussianClassifier
from mahalearn.papers.noise_curves import noise_curves, weight_tables
from mahalearn.papers.paper_d import CLASSIFIERS, published_accuracy, published_weights

from .timing import compare, peak_doubles, print_machine, print_ratios

N, D, C = 100_000, 50, 5


def data(seed=0):
    """Five correlated classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, N)
    X = rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + rng.normal(size=(C, D))[y]
    return X, y


def speed():
    """Ratios of the issue's goals."""
    X, y = data()
    theirs = QuadraticDiscriminantAnalysis().fit(X, y)
    ours = {
        name: GaussianClassifier(feature_weights=name).fit(X, y)
        for name in (None, "descent", "difference")
    }
    chunks = [(X[i : i + 1000], y[i : i + 1000]) for i in range(0, N, 1000)]

    def in_chunks():
        model = GaussianClassifier()
        for rows, labels in chunks:
            model.partial_fit(rows, labels, classes=range(C))
        return model.means_

    agreement = np.mean(theirs.predict(X) == ours[None].predict(X))
    print(f"n = {N}, d = {D}, {C} classes, full covariance; same labels: {agreement:.2%}")
    times = compare(
        {
            "fit": lambda: GaussianClassifier().fit(X, y),
            "scikit-learn QDA fit": lambda: QuadraticDiscriminantAnalysis().fit(X, y),
            "partial_fit, 100 chunks": in_chunks,
        },
        repeats=9,
    )
    print_ratios(
        "Fit", times, "fit", {"scikit-learn QDA fit": ">= 3", "partial_fit, 100 chunks": "<= 1.5"}
    )
    times = compare(
        {
            "predict": lambda: ours[None].predict(X),
            "scikit-learn QDA predict": lambda: theirs.predict(X),
            "descent-weighted predict": lambda: ours["descent"].predict(X),
            "difference-weighted predict": lambda: ours["difference"].predict(X),
        },
        repeats=7,
    )
    goals = {
        "scikit-learn QDA predict": ">= 1.5",
        "descent-weighted predict": "<= 2.5",
        "difference-weighted predict": "<= 7",
    }
    print_ratios("Predict", times, "predict", goals)
    for budget in (1, 16):
        with sklearn.config_context(working_memory=budget):
            peak = max(
                peak_doubles(lambda model=model: model.mahalanobis(X)) for model in ours.values()
            )
        extra = (peak - N * C) * 8 / 2**20
        print(f"Memory beside the output: {extra:.2f} MiB; working_memory {budget} MiB")


def _fit_predict(model, X, y, queries):
    return model.fit(X, y).predict(queries)


def wide():
    """Forty rows and thousands of features: processor seconds and memory."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    print("| p | options | fit, s | predict 1,000 rows, s | memory, MB |")
    print("|---|---|---|---|---|")
    for p in (2000, 6000):
        X, queries = rng.normal(size=(40, p)), rng.normal(size=(1000, p))
        X[:, :50] += y[:, None]
        for pooled in (False, True):
            for shrinkage in (None, 0.1, "auto"):
                model = GaussianClassifier(pooled=pooled, shrinkage=shrinkage)
                fits, predictions = [], []
                for _ in range(3):
                    start = time.process_time()
                    model.fit(X, y)
                    fits.append(time.process_time() - start)
                    start = time.process_time()
                    model.predict(queries)
                    predictions.append(time.process_time() - start)
                run = partial(_fit_predict, model, X, y, queries)
                peak = peak_doubles(run) * 8 / 1e6
                options = f"shrinkage={shrinkage!r}" + ", pooled" * pooled
                print(
                    f"| {p} | {options} | {min(fits):.3f} | {min(predictions):.2f} | {peak:.0f} |"
                )


def tables():
    """Tables 1 and 2 of paper D."""
    print("\nNoise of variance 10 on all features, 500 repetitions, seed 0")
    labels = {classifier: label for label, classifier in CLASSIFIERS.items()}
    for row in weight_tables(repetitions=500, seed=0):
        label = labels[row["classifier"]]
        print(
            f"  {row['classifier']:<12} {row['accuracy']:.2f} ± {row['standard_error']:.2f} %"
            f"   published {published_accuracy()[label, 'accuracy'].mean} %"
        )
        if row["rank_weights"]:
            print("    weights  ", " ".join(f"{w:.3f}" for w in row["rank_weights"]))
            published = [published_weights()[label, f"rank {i}"].mean for i in range(1, 11)]
            print("    published", " ".join(f"{w:.3f}" for w in published))


def curves():
    """Figures 1 to 5 of paper D."""
    rows = noise_curves(repetitions=100, seed=0)
    print("\nAccuracies in percent, 100 repetitions, seed 0")
    print("  figure  condition           traditional  descent  difference")
    for i in range(0, len(rows), 3):
        row = rows[i]
        condition = (
            f"{row['n_features']} missing"
            if row["mode"] == "missing"
            else f"{row['n_features']} noisy, {row['level']:g}"
        )
        values = [r["accuracy"] for r in rows[i : i + 3]]
        print(f"  {row['figure']:<7} {condition:<20}{values[0]:>9.1f}{values[1]:>10.1f}", end="")
        print(f"{values[2]:>11.1f}")


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--curves", action="store_true")
    arguments = parser.parse_args()
    print_machine()
    if arguments.wide:
        wide()
    if arguments.tables:
        tables()
    if arguments.curves:
        curves()
    if not (arguments.wide or arguments.tables or arguments.curves):
        speed()


if __name__ == "__main__":
    main()
