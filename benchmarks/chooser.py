"""Test errors of one model chosen by MahalanobisClassifierCV, of its families and of references.

Run: python -m benchmarks.chooser [--repetitions 10] [--sets wine sonar …] [--rows chooser.csv]

MAHALEARN_DATA must name the folder of the data. The twelve UCI sets follow paper A: stratified
halves (15 % for Mfeat) for training, the seeds are the numbers of the repetitions; the IDA sets use
their own first realisations, followed by seeded random splits of the same sizes where there are
fewer (diabetis and twonorm have one); those without any are left out: the rule among equals was set
with them. Everything is chosen on the training
part: the RBF SVM by a grid of eight γ and eight C (paper A's) on the very splits that the chooser
uses, the references without a choice by their defaults. Rows are appended to a file, and what it
holds is not measured again.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, t
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mahalearn import MahalanobisClassifierCV
from mahalearn.datasets import load, names
from mahalearn.model_selection import families
from mahalearn.model_selection.splits import make_splits

GAMMAS, CS = np.geomspace(0.01, 50, 8), np.geomspace(0.1, 1e6, 8)
SVM_ITERATIONS = 10**6  # huge C on overlapping classes would not end; it then scores badly
REFERENCES = ("svm", "qda", "forest")
FAMILIES = [name for name, family in families.FAMILIES.items() if "vectors" in family.inputs]
METHODS = ("chooser", *FAMILIES, *REFERENCES)
FIELDS = ("set", "repetition", "method", "error", "seconds", "chosen", "folds")


def splits_of(name, repetitions):
    """(data, labels, list of (train, test)) of a set."""
    data = load(name)
    X, y = np.asarray(data.data, dtype=float), data.target
    if data.split_sizes is None:
        halves = [
            train_test_split(
                np.arange(len(y)), train_size=data.train_fraction, stratify=y, random_state=seed
            )
            for seed in range(repetitions)
        ]
    else:
        drawn = data.realisations(repetitions)
        halves = [(r.train, r.test) for r in drawn] if drawn[0].genuine else []
    return X, y, halves


def references(X, y, seed):
    """The methods to compare with; the SVM is tuned on the splits of the chooser."""
    inner = make_splits(5, X, y, np.unique(y, return_counts=True)[1], seed)
    svm = make_pipeline(StandardScaler(), SVC(max_iter=SVM_ITERATIONS))
    grid = {"svc__gamma": GAMMAS, "svc__C": CS}
    return {
        "svm": GridSearchCV(svm, grid, cv=inner),
        "qda": make_pipeline(
            StandardScaler(), QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        ),
        "forest": RandomForestClassifier(500, random_state=seed),
    }


def measure(X, y, train, test, seed):
    """Rows (method, error, seconds, what was chosen, scores of the folds) of one split."""

    def row(method, model):
        start = time.process_time()
        model.fit(X[train], y[train])
        error = float(np.mean(model.predict(X[test]) != y[test]))
        return method, error, time.process_time() - start, "", ""

    chooser = MahalanobisClassifierCV(combine="best", random_state=seed)
    first = row("chooser", chooser)
    yield *first[:3], chooser.best_family_, ""
    for place in chooser.leaderboard_:
        if place["family"] in chooser.candidates_:
            method, error, *_ = row(place["family"], chooser.candidates_[place["family"]])
            folds = " ".join(f"{score:.4f}" for score in place["fold_scores"])
            yield method, error, place["seconds"], place["params"], folds
    for name, model in references(X[train], y[train], seed).items():
        yield row(name, clone(model))


def collect(sets, repetitions, path):
    """Measure what the file does not hold yet; set by set, so that few repetitions come first."""
    known = {(r["set"], int(r["repetition"])) for r in read(path)}
    for i in range(repetitions):
        for name in sets:
            if (name, i) in known:
                continue
            X, y, halves = splits_of(name, repetitions)
            if i >= len(halves):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = list(measure(X, y, *halves[i], seed=i))
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.writer(file)
                if new:
                    writer.writerow(FIELDS)
                writer.writerows((name, i, *row) for row in rows)
            found = {row[0]: row for row in rows}
            errors = "  ".join(f"{m} {100 * found[m][1]:.1f}" for m in METHODS if m in found)
            print(f"{i} {name}: {errors}; chose {found['chooser'][3]}", flush=True)


def read(path):
    """Rows of the file, none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summary(rows, sets):
    """Print mean errors, mean ranks and paired differences, over sets and repetitions."""
    table = {(r["set"], int(r["repetition"]), r["method"]): 100 * float(r["error"]) for r in rows}
    means = {}
    print(f"\n{'plain error [%]':<18}{'n':>3} " + "".join(f"{m[:10]:>11}" for m in METHODS))
    for name in sets:
        done = sorted({i for s, i, _ in table if s == name})
        if done:
            errors = np.array([[table.get((name, i, m), np.nan) for m in METHODS] for i in done])
            means[name] = errors.mean(axis=0)
            line = "".join(f"{error:>11.1f}" for error in means[name])
            print(f"{name:<18}{len(done):>3} {line}")
    if not means:
        return
    grand = np.array(list(means.values()))
    ranks = np.array([rankdata(row) for row in grand])
    print(f"{'mean':<22}" + "".join(f"{v:>11.2f}" for v in grand.mean(axis=0)))
    print(f"{'mean rank':<22}" + "".join(f"{v:>11.2f}" for v in ranks.mean(axis=0)))
    print("\nchooser minus … [points]: mean over sets, 95 % interval (sets as the sample)")
    for j, method in enumerate(METHODS[1:], start=1):
        difference = grand[:, 0] - grand[:, j]
        n = len(difference)
        half = t.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        print(f"  {method:<20}{difference.mean():>7.2f}  ± {half:.2f}")
    single = grand[:, 1 : 1 + len(FAMILIES)].mean(axis=0)
    best = list(FAMILIES)[int(np.argmin(single))]
    svm = grand[:, METHODS.index("svm")].mean()
    mean = grand[:, 0].mean()
    print(f"\nbefore the SVM: {mean - svm:+.2f} points (goal: below 0)")
    print(f"beside the best single family, {best}: {mean - single.min():+.2f} (goal: at most 0.3)")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--rows", type=Path, default=Path("chooser.csv"))
    options = parser.parse_args()
    uci, ida = names("A"), names("B")
    sets = options.sets or [*uci, *ida]
    collect(sets, options.repetitions, options.rows)
    rows = read(options.rows)
    for title, group in (("UCI sets", uci), ("IDA sets", ida)):
        print(f"\n=== {title} ===")
        summary(rows, [name for name in group if name in sets])


if __name__ == "__main__":
    main()
