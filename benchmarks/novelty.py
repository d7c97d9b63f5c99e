"""Novelty, p-values and prediction sets, measured: ``python -m benchmarks.novelty``.

Five parts, each of which can be run alone: ``default`` (a class held out, 27 sets that no default
was chosen on), ``time``, ``unknown`` (a class held out, 20 sets), ``sets`` (prediction sets at
95 %), ``indefinite``. Results are kept in a file of JSON lines (--out); a run
that was stopped goes on where it ended, and ``--report`` prints the tables from the file alone.
Rivals that are not installed are left out: ``pip install pyod mapie crepes``. Data sets are read
from the folder in MAHALEARN_DATA; those of ``default`` that have a name in ARFF are UCI's in the
form in which Weka distributes them, read from the folder in MAHALEARN_ARFF.
"""

import argparse
import json
import os
import time
import tracemalloc
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import sklearn
from scipy import stats
from scipy.io import arff
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.covariance import LedoitWolf
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import SVC, OneClassSVM

from mahalearn import (
    ConformalClassifier,
    KernelMahalanobisNovelty,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
)
from mahalearn.datasets import load

from .timing import compare

N_TRAIN, N_TEST, N_UNKNOWN, N_ROLES = 60, 60, 200, 3
MCD_FEATURES = 100  # MCD takes minutes beyond


# --- data -----------------------------------------------------------------------------------------


def folder():
    """The folder of the data sets."""
    return Path(os.environ["MAHALEARN_DATA"])


def arrays(path, x="x", y="y"):
    """A table from an npz file."""
    file = np.load(folder() / path)
    return file[x].astype(float), file[y]


def table(path):
    """A table from a csv file, its class in the last column."""
    rows = np.genfromtxt(folder() / path, delimiter=",", dtype=str, skip_header=1)
    return rows[:, :-1].astype(float), rows[:, -1]


def series(name):
    """Time series of equal length as vectors."""
    file = np.load(folder() / f"timeseries/{name}.npz")
    X = np.concatenate([file["X_train"], file["X_test"]])
    return np.nan_to_num(X.reshape(len(X), -1)).astype(float), np.r_[
        file["y_train"], file["y_test"]
    ]


def tabular(name):
    """A table whose missing values become the column's median."""
    X, y = arrays(f"tabular/{name}.npz", "X")
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X), y


# (reader, whether the defaults of KernelMahalanobisNovelty were chosen on it, with other splits)
SETS = {
    "digits": (lambda: load_digits(return_X_y=True), True),
    "pendigits": (lambda: arrays("uci/pendigits.npz", "x_train", "y_train"), True),
    "usps": (lambda: arrays("dissimilarity/usps.npz", "x_train", "y_train"), True),
    "mfeat-fou": (lambda: arrays("uci/mfeat_fou.npz"), True),
    "wine": (lambda: load_wine(return_X_y=True), True),
    "ecoli": (lambda: table("uci/ecoli.csv"), True),
    "glass": (lambda: table("uci/glass.csv"), True),
    "mfeat-fac": (lambda: arrays("uci/mfeat_fac.npz"), False),
    "mfeat-mor": (lambda: arrays("uci/mfeat_mor.npz"), False),
    "nist16": (lambda: arrays("uci/nist16.npz"), False),
    "mnist-5k": (lambda: arrays("dissimilarity/mnist_5k.npz"), False),
    "imox": (lambda: table("uci/imox.csv"), False),
    "cbands": (lambda: arrays("dissimilarity/cbands.npz"), False),
    "authorship": (lambda: tabular("authorship"), False),
    "vowel": (lambda: tabular("vowel"), False),
    "cmc": (lambda: tabular("cmc"), False),
    "eucalyptus": (lambda: tabular("eucalyptus"), False),
    "JapaneseVowels": (lambda: series("JapaneseVowels"), False),
    "OSULeaf": (lambda: series("OSULeaf"), False),
    "Trace": (lambda: series("Trace"), False),
}


def weka(name):
    """A table of UCI: categories become indicators, missing numbers the column's median."""
    data, meta = arff.loadarff(Path(os.environ["MAHALEARN_ARFF"]) / f"{name}.arff")
    target = next((n for n in meta.names() if n.lower() == "class"), meta.names()[-1])
    columns = []
    for column in (n for n in meta.names() if n != target):
        values = data[column]
        if values.dtype.kind == "f":
            columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
        elif len(np.unique(values)) <= MOST_CATEGORIES:  # not the name of each row
            columns += [(values == category).astype(float) for category in np.unique(values)]
    return np.nan_to_num(np.column_stack(columns)), data[target].astype(str)


MOST_CATEGORIES = 30
# Named before they were run: no default of any detector was chosen on them. All
# files of the collection with three classes of twelve objects and more that the reader of SciPy
# takes, but those of SETS and optdigits (digits in other words), and all series of that kind.
ARFF = (
    *("anneal", "arrhythmia", "audiology", "autos", "balance.scale", "car", "column3C"),
    *("dermatology", "hypothyroid", "iris", "letter", "nursery", "page.blocks", "primary.tumor"),
    *("segment", "solar.flare2", "splice", "tae", "vehicle", "waveform5000", "zoo"),
)
SERIES = ("ACSF1", "ArrowHead", "BasicMotions", "Beef", "CBF", "PickupGestureWiimoteZ")
NEW_SETS = {name: (partial(weka, name), False) for name in ARFF}
NEW_SETS |= {name: (partial(series, name), False) for name in SERIES}


def task(name, role, seed=0):
    """(X, y, regular, unknown): one class unknown, standardised by the known training objects."""
    X, y = (SETS | NEW_SETS)[name][0]()
    rng = np.random.default_rng([seed, role])
    labels, counts = np.unique(y, return_counts=True)
    labels = labels[counts >= 12][:10]
    hidden = labels[role * len(labels) // min(N_ROLES, len(labels))]
    train, test = [], []
    for label in labels:
        rows = rng.permutation(np.flatnonzero(y == label))
        if label == hidden:
            unknown = rows[:N_UNKNOWN]
            continue
        n = min(N_TRAIN, 2 * len(rows) // 3)
        train.append(rows[:n])
        test.append(rows[n : n + N_TEST])
    train, test = np.concatenate(train), np.concatenate(test)
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(deviation > 0, deviation, 1.0)
    return X[train], y[train], X[test], X[unknown]


def n_roles(name):
    """How many classes play the unknown one."""
    _, counts = np.unique((SETS | NEW_SETS)[name][0]()[1], return_counts=True)
    return min(N_ROLES, (counts >= 12).sum())


# --- detectors: (X, y, queries) -> strangeness ----------------------------------------------------


def ours(*args, **options):
    return lambda X, y, Q: -KernelMahalanobisNovelty(*args, **options).fit(X, y).score_samples(Q)


def fitted(estimator):
    return lambda X, y, Q: -clone(estimator).fit(X).score_samples(Q)


def nearest(X, y, Q):
    return NearestNeighbors(n_neighbors=5).fit(X).kneighbors(Q)[0][:, -1]


def classwise_ledoit_wolf(X, y, Q):
    return np.min([LedoitWolf().fit(X[y == j]).mahalanobis(Q) for j in np.unique(y)], axis=0)


def relative_mahalanobis(X, y, Q):
    means = np.array([X[y == j].mean(axis=0) for j in np.unique(y)])
    codes = np.unique(y, return_inverse=True)[1]
    within = LedoitWolf(assume_centered=True).fit(X - means[codes])
    background = LedoitWolf().fit(X).mahalanobis(Q)
    return np.min([within.mahalanobis(Q - mean) for mean in means], axis=0) - background


def forest_doubt(X, y, Q):
    return -RandomForestClassifier(200, random_state=0).fit(X, y).predict_proba(Q).max(axis=1)


def pyod(name, module):
    def detect(X, y, Q):
        from importlib import import_module

        if name == "MCD" and X.shape[1] > MCD_FEATURES:
            return None
        detector = getattr(import_module(f"pyod.models.{module}"), name)()
        return detector.fit(X).decision_function(Q)

    return detect


DETECTORS = {
    "KernelMahalanobisNovelty()": ours(),
    "KernelMahalanobisNovelty('other-classes')": ours("other-classes"),
    "KernelMahalanobisNovelty('other-classes', n_references=100)": ours(
        "other-classes", n_references=100
    ),
    "KernelMahalanobisNovelty('RC+')": ours("RC+"),
    "kNN distance (k = 5)": nearest,
    "LocalOutlierFactor": fitted(LocalOutlierFactor(novelty=True)),
    "IsolationForest": fitted(IsolationForest(random_state=0)),
    "OneClassSVM": fitted(OneClassSVM()),
    "PyOD KNN": pyod("KNN", "knn"),
    "PyOD MCD": pyod("MCD", "mcd"),
    "PyOD ECOD": pyod("ECOD", "ecod"),
    "PyOD COPOD": pyod("COPOD", "copod"),
    "class-wise Ledoit–Wolf Mahalanobis": classwise_ledoit_wolf,
    "relative Mahalanobis": relative_mahalanobis,
    "random forest, 1 − max. probability": forest_doubt,
}


CANDIDATES = ("KernelMahalanobisNovelty('other-classes')", "KernelMahalanobisNovelty('RC+')")


def default_part(rows):
    unknown_part(rows, "default", NEW_SETS, CANDIDATES)


def default_report(rows):
    cells = rows.of("default")
    print("\nUnknown class held out, sets that no default was chosen on: AUROC\n")
    print("| set | " + " | ".join(CANDIDATES) + " |\n|" + "---|" * (len(CANDIDATES) + 1))
    table = []
    for name in NEW_SETS:
        by_role = [
            [v["auroc"] for k, v in cells.items() if k[::2] == (name, d)] for d in CANDIDATES
        ]
        if all(by_role):
            table.append([np.mean(values) for values in by_role])
            print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in table[-1]) + " |")
    table = np.array(table)
    print("| mean | " + " | ".join(f"{v:.3f}" for v in table.mean(axis=0)) + " |")
    gain = table[:, 1] - table[:, 0]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(
        f"\nThe second less the first: {gain.mean():+.3f} (standard error {error:.3f}), ahead on "
        f"{(gain > 0.0005).sum()}, behind on {(gain < -0.0005).sum()} of {len(gain)} sets."
    )


def unknown_part(rows, part="unknown", sets=SETS, detectors=None):
    for name in sets:
        for role in range(n_roles(name)):
            missing = [d for d in DETECTORS if not rows.has("unknown", name, role, d)]
            if not missing:
                continue
            X, y, regular, unknown = task(name, role)
            Q = np.vstack([regular, unknown])
            truth = np.arange(len(Q)) >= len(regular)
            for detector in missing:
                start = time.perf_counter()
                try:
                    strange = DETECTORS[detector](X, y, Q)
                except ImportError:
                    continue
                except Exception as error:
                    print(f"{name} {role} {detector}: {type(error).__name__}: {error}"[:200])
                    strange = None
                values = {}
                if strange is not None:
                    false, true, _ = roc_curve(truth, strange)
                    values = {
                        "auroc": roc_auc_score(truth, strange),
                        "fpr95": float(false[np.searchsorted(true, 0.95)]),
                        "aupr": average_precision_score(truth, strange),
                        "seconds": time.perf_counter() - start,
                    }
                rows.add(values, "unknown", name, role, detector)


def unknown_report(rows):
    found = rows.of("unknown")
    names = [n for n in SETS if any(k[0] == n for k in found)]

    def mean(detector, value, tuned=None, only=None):
        sets = [n for n in (only or names) if tuned is None or SETS[n][1] == tuned]
        per_set = []
        for n in sets:
            cells = [v[value] for k, v in found.items() if k[0] == n and k[2] == detector and v]
            if cells:
                per_set.append(np.mean(cells))
        return np.mean(per_set) if per_set else np.nan

    def has(detector):
        return [n for n in names if any(k[0] == n and k[2] == detector and found[k] for k in found)]

    unseen = sum(not SETS[n][1] for n in names)
    print(f"\nUnknown class held out: {len(names)} sets, {unseen} of them not used for defaults\n")
    print("| detector | AUROC | used for defaults | not used | FPR95 | AUPR | seconds |")
    print("|---|---|---|---|---|---|---|")
    for d in DETECTORS:
        here = has(d)
        if here:
            note = "" if len(here) == len(names) else f" ({len(here)} sets)"
            cells = [mean(d, "auroc"), mean(d, "auroc", True), mean(d, "auroc", False)]
            cells += [mean(d, "fpr95"), mean(d, "aupr")]
            text = " | ".join(f"{v:.3f}" for v in cells)
            print(f"| {d}{note} | {text} | {mean(d, 'seconds'):.2f} |")
            if note:
                same = mean("KernelMahalanobisNovelty()", "auroc", only=here)
                print(
                    f"| – KernelMahalanobisNovelty() on these {len(here)} | {same:.3f} | | | | | |"
                )
    shown = [
        "KernelMahalanobisNovelty()",
        "KernelMahalanobisNovelty('other-classes')",
        "kNN distance (k = 5)",
    ]
    shown += ["LocalOutlierFactor", "class-wise Ledoit–Wolf Mahalanobis"]
    print("\nAUROC by set (* used for choosing the defaults)\n")
    print("| set | " + " | ".join(shown) + " |")
    print("|" + "---|" * (len(shown) + 1))
    for n in names:
        cells = " | ".join(f"{mean(d, 'auroc', only=[n]):.3f}" for d in shown)
        print(f"| {n}{'*' if SETS[n][1] else ''} | {cells} |")


# --- prediction sets ------------------------------------------------------------------------------

SET_DATA = ("digits", "pendigits", "usps", "mfeat-fou")
CONFIDENCE = 0.95


def ours_sets(wrapper):
    return lambda X, y, Q: wrapper().fit(X, y).predict_set(Q, CONFIDENCE)


def quadratic():
    return KernelQuadraticDiscriminant(reg=1e-3, reg_on="relative")


def forest():
    return RandomForestClassifier(300, random_state=0)


def svc():
    return CalibratedClassifierCV(SVC(C=10), ensemble=False, cv=5)


def mapie_split(make, score, share=1 / 3):
    def sets(X, y, Q):
        from mapie.classification import SplitConformalClassifier

        X, held, y, truth = train_test_split(X, y, test_size=share, stratify=y, random_state=0)
        model = SplitConformalClassifier(
            make().fit(X, y), confidence_level=CONFIDENCE, conformity_score=score, random_state=0
        )
        return model.conformalize(held, truth).predict_set(Q)[1][:, :, 0]

    return sets


def mapie_cross(make, score):
    def sets(X, y, Q):
        from mapie.classification import CrossConformalClassifier

        model = CrossConformalClassifier(
            make(), confidence_level=CONFIDENCE, conformity_score=score, cv=5, random_state=0
        )
        return model.fit_conformalize(X, y).predict_set(Q)[1][:, :, 0]

    return sets


def crepes(make):
    def sets(X, y, Q):
        from crepes import WrapClassifier

        X, held, y, truth = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
        model = WrapClassifier(make())
        model.fit(X, y)
        model.calibrate(held, truth, class_cond=True, seed=0)
        return model.predict_set(Q, labels=False, confidence=CONFIDENCE, smoothing=False) == 1

    return sets


SET_METHODS = {
    "ConformalClassifier(KQD RC+) full, margin": (
        ours_sets(lambda: ConformalClassifier(quadratic())),
        "class",
    ),
    "ConformalClassifier(KQD RC+ searched) full, margin": (
        ours_sets(
            lambda: ConformalClassifier(KernelSearchCV(KernelQuadraticDiscriminant()), "full")
        ),
        "about class",
    ),
    "… searched by log loss": (
        ours_sets(
            lambda: ConformalClassifier(
                KernelSearchCV(KernelQuadraticDiscriminant(), scoring="neg_log_loss"), "full"
            )
        ),
        "about class",
    ),
    "ConformalClassifier(KQD RC+) full, distance": (
        ours_sets(lambda: ConformalClassifier(quadratic(), nonconformity="distance")),
        "class",
    ),
    "KernelMahalanobisNovelty('other-classes')": (
        ours_sets(lambda: KernelMahalanobisNovelty("other-classes")),
        "class",
    ),
    "ConformalClassifier(SVC) cross, margin": (
        ours_sets(lambda: ConformalClassifier(SVC(C=10), "cross")),
        "class, 2a",
    ),
    "ConformalClassifier(forest) cross, margin": (
        ours_sets(lambda: ConformalClassifier(forest(), "cross")),
        "class, 2a",
    ),
    "crepes, forest": (crepes(forest), "class"),
    "crepes, SVC": (crepes(svc), "class"),
    "MAPIE split LAC, forest": (mapie_split(forest, "lac"), "marginal"),
    "MAPIE split APS, forest": (mapie_split(forest, "aps"), "marginal"),
    # A tenth of the calibration objects chooses RAPS's penalty, and 20 are its least number.
    "MAPIE split RAPS, forest, half calibrates": (mapie_split(forest, "raps", 0.5), "marginal"),
    "MAPIE split LAC, SVC": (mapie_split(svc, "lac"), "marginal"),
    "MAPIE split APS, SVC": (mapie_split(svc, "aps"), "marginal"),
    "MAPIE CV+ LAC, forest": (mapie_cross(forest, "lac"), "marginal, 2a"),
    "MAPIE CV+ LAC, SVC": (mapie_cross(svc, "lac"), "marginal, 2a"),
}


def sets_part(rows, names=SET_DATA):
    for name in names:
        for method, (predict, _) in SET_METHODS.items():
            if rows.has("sets", name, method):
                continue
            X, y = SETS[name][0]()
            rng = np.random.default_rng(7)
            labels = np.unique(y)[:9]
            train, test = [], []
            for label in labels:
                rows_of = rng.permutation(np.flatnonzero(y == label))
                train.append(rows_of[:60])
                test.append(rows_of[60:180])
            train, test = np.concatenate(train), np.concatenate(test)
            mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
            X = (X - mean) / np.where(deviation > 0, deviation, 1.0)
            start = time.perf_counter()
            try:
                found = np.asarray(predict(X[train], y[train], X[test]), dtype=bool)
            except ImportError:
                continue
            except Exception as error:
                print(f"{name} {method}: {type(error).__name__}: {error}"[:300])
                continue
            seconds = time.perf_counter() - start
            codes = np.searchsorted(labels, y[test])
            covered = found[np.arange(len(codes)), codes]
            by_class = [covered[codes == j].mean() for j in range(len(labels))]
            values = {
                "coverage": covered.mean(),
                "classes": by_class,
                "n_test": np.bincount(codes).tolist(),
                "size": found.sum(axis=1).mean(),
                "empty": (found.sum(axis=1) == 0).mean(),
                "seconds": seconds,
            }
            rows.add(values, "sets", name, method)


def coverage_interval(n_train, n_test):
    """99.9 % interval of a class's coverage: beta-binomial, over training and test objects."""
    rejected = int(np.floor((1 - CONFIDENCE) * (n_train + 1) + 1e-9))
    law = stats.betabinom(n_test, n_train + 1 - rejected, rejected)
    return law.ppf(0.0005) / n_test, law.ppf(0.9995) / n_test


def sets_report(rows):
    found = rows.of("sets")
    print(
        "\nSets at 95 %: nine classes of 60 training objects; mean over "
        f"{len({k[0] for k in found})} data sets\n"
    )
    print(
        "| method | guarantee | coverage | worst class | classes outside their interval | "
        "mean size | empty | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for method, (_, guarantee) in SET_METHODS.items():
        mine = [v for k, v in found.items() if k[1] == method]
        if mine:
            outside, total = 0, 0
            for v in mine:
                for c, n in zip(v["classes"], v["n_test"], strict=True):
                    low, high = coverage_interval(60, n)
                    outside += not low <= c <= high
                    total += 1
            worst = min(min(v["classes"]) for v in mine)
            coverage, size, empty, seconds = (
                np.mean([v[key] for v in mine]) for key in ("coverage", "size", "empty", "seconds")
            )
            print(
                f"| {method} | {guarantee} | {coverage:.3f} | {worst:.3f} | {outside} of {total} "
                f"| {size:.2f} | {empty:.3f} | {seconds:.2f} |"
            )
    print("\nMean size by data set\n")
    names = [n for n in SET_DATA if any(k[0] == n for k in found)]
    print("| method | " + " | ".join(names) + " |")
    print("|" + "---|" * (len(names) + 1))
    for method in SET_METHODS:
        cells = [found.get((n, method)) for n in names]
        if any(cells):
            text = " | ".join(f"{v['size']:.2f}" if v else "–" for v in cells)
            print(f"| {method} | {text} |")


# --- indefinite kernels ---------------------------------------------------------------------------

INDEFINITE = {"poly-h": 100, "poly-mh": 100, "chromo-abs": 40, "chromo-dif": 40}
LEVEL = 0.05


def indefinite_part(rows):
    for name, size in INDEFINITE.items():
        data = None
        for spectrum in ("krein", "clip", "flip", "other-classes"):
            for role in range(2 if name.startswith("poly") else 3):
                if rows.has("indefinite", name, spectrum, role):
                    continue
                if data is None:
                    data = load(name, n_per_class=2 * size)
                values = power(-(data.matrix**2), data.target, role, spectrum)
                if values:
                    rows.add(values, "indefinite", name, spectrum, role)


def power(K, y, role, spectrum):
    """Shares of regular and of unknown objects that are rejected at LEVEL."""
    labels = np.unique(y)
    if len(labels) == 2:
        known, hidden = labels[[role]], labels[[1 - role]]
    else:
        known, hidden = labels[5 * role : 5 * role + 5], labels[5 * role + 5 : 5 * role + 6]
    if spectrum == "other-classes" and len(known) == 1:
        return None
    rng = np.random.default_rng(role)
    train, test = [], []
    for label in known:
        members = rng.permutation(np.flatnonzero(y == label))
        train.append(members[: len(members) // 2])
        test.append(members[len(members) // 2 :])
    train, test = np.concatenate(train), np.concatenate(test)
    unknown = np.flatnonzero(np.isin(y, hidden))
    options = {"spectrum": spectrum}
    if spectrum == "other-classes":
        options = {"variant": "other-classes"}
    model = KernelMahalanobisNovelty(kernel="precomputed", **options)
    start = time.perf_counter()
    model.fit(K[np.ix_(train, train)], y[train])
    values = {"seconds": time.perf_counter() - start, "method": model.method_}
    for who, objects in (("regular", test), ("unknown", unknown)):
        none = model.p_none(K[np.ix_(objects, train)])
        every = model.p_values(K[np.ix_(objects, train)]).max(axis=1)
        values[who] = float(np.mean(none <= LEVEL))
        values[f"{who}, largest p"] = float(np.mean(every <= LEVEL))
    return values


def indefinite_report(rows):
    found = rows.of("indefinite")
    print(
        f"\nIndefinite kernels −d²: share rejected at p ≤ {LEVEL}, by p_none (by the largest p)\n"
    )
    print("| data | spectrum | unknown objects | regular objects | seconds |")
    print("|---|---|---|---|---|")
    for name in INDEFINITE:
        for spectrum in ("krein", "clip", "flip", "other-classes"):
            mine = [v for k, v in found.items() if k[:2] == (name, spectrum)]
            if mine:
                unknown, unknown_max, regular, regular_max, seconds = (
                    np.mean([v[key] for v in mine])
                    for key in (
                        "unknown",
                        "unknown, largest p",
                        "regular",
                        "regular, largest p",
                        "seconds",
                    )
                )
                print(
                    f"| {name} | {spectrum} | {unknown:.3f} ({unknown_max:.3f}) | "
                    f"{regular:.3f} ({regular_max:.3f}) | {seconds:.2f} |"
                )


# --- time and memory ------------------------------------------------------------------------------


def time_part(rows):
    rng = np.random.default_rng(0)
    for n_class, n_classes in ((100, 10), (300, 3), (500, 2)):
        X = rng.normal(size=(n_class * n_classes, 20))
        y = np.repeat(np.arange(n_classes), n_class)
        X += y[:, None] * 0.3
        Q = rng.normal(size=(1000, 20)) + 0.3
        models = {
            "RC+": KernelMahalanobisNovelty("RC+"),
            "other-classes": KernelMahalanobisNovelty("other-classes"),
            "other-classes, n_references=200": KernelMahalanobisNovelty(
                "other-classes", n_references=200
            ),
        }
        for variant, model in models.items():
            if not rows.has("time", n_class, n_classes, variant):
                values = times(X, y, Q, n_class, model.fit(X, y))
                rows.add(values, "time", n_class, n_classes, variant)


def times(X, y, Q, n_class, model):
    quadratic = KernelQuadraticDiscriminant(reg=0.01, gamma=model.gamma_, offset=None).fit(X, y)
    classifier = ConformalClassifier(KernelQuadraticDiscriminant(reg=0.01)).fit(X, y)
    candidates = {
        "mahalanobis": lambda: quadratic.mahalanobis(Q),
        "own": lambda: model.mahalanobis(Q),
        "p_values": lambda: model.p_values(Q),
        "margin": lambda: classifier.p_values(Q),
    }
    values = compare(candidates, repeats=15)
    # Refitting: for each query and class, n_class + 1 models of n_class objects. One such model
    # costs what a class costs in a fit of all classes.
    fits = compare({"fit": lambda: quadratic.fit(X, y)}, repeats=5)
    single = fits["fit"] / len(quadratic.classes_)
    values["refitting"] = single * (n_class + 1) * len(quadratic.classes_) * len(Q)
    for memory in (8, 64):
        with sklearn.config_context(working_memory=memory):
            tracemalloc.start()
            model.p_values(Q)
            values[f"peak MB at {memory}"] = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
    return values


def time_report(rows):
    print("\np-values of 1,000 queries, processor seconds (best of 15, one thread) and ratios\n")
    print(
        "| classes | variant | KernelQuadraticDiscriminant.mahalanobis | own mahalanobis | "
        "p_values | ratio to KQD (to own) | margin p-values | refitting (estimated) | "
        "faster by | peak MB at working_memory 8, 64 |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (n, c, variant), v in rows.of("time").items():
        ratio, own = v["p_values"] / v["mahalanobis"], v["p_values"] / v["own"]
        print(
            f"| {c} of {n} | {variant} | {v['mahalanobis']:.4f} | {v['own']:.4f} | "
            f"{v['p_values']:.4f} | {ratio:.2f} ({own:.2f}) | {v['margin']:.4f} | "
            f"{v['refitting']:.0f} | {v['refitting'] / v['p_values']:.0f} | "
            f"{v['peak MB at 8']:.0f}, {v['peak MB at 64']:.0f} |"
        )


# --- results on disk ------------------------------------------------------------------------------


class Rows:
    """Results by key, kept in a file of JSON lines."""

    def __init__(self, path):
        self.path = Path(path)
        self.values = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.values[tuple(row["key"])] = row["values"]

    def has(self, *key):
        return key in self.values

    def add(self, values, *key):
        values = json.loads(json.dumps(values, default=float))
        self.values[key] = values
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "values": values}, ensure_ascii=False) + "\n")

    def of(self, part):
        return {key[1:]: values for key, values in self.values.items() if key[0] == part}


PARTS = {
    "default": (default_part, default_report),
    "time": (time_part, time_report),
    "unknown": (unknown_part, unknown_report),
    "sets": (sets_part, sets_report),
    "indefinite": (indefinite_part, indefinite_report),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; default: all")
    parser.add_argument("--out", default="novelty-results.jsonl", help="file of the results")
    parser.add_argument("--report", action="store_true", help="print the tables of the file only")
    parser.add_argument(
        "--sets", nargs="+", choices=SET_DATA, default=SET_DATA, help="data sets of the part sets"
    )
    options = parser.parse_args()
    rows = Rows(options.out)
    for part in options.parts or PARTS:
        run, report = PARTS[part]
        if not options.report:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(rows, options.sets) if part == "sets" else run(rows)
        if rows.of(part):
            report(rows)


if __name__ == "__main__":
    main()
