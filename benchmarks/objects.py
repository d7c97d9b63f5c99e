"""Objects: time series classification, and the speed of the measures.

    python -m benchmarks.objects speed      ratios to dtaidistance, rapidfuzz and parasail
    python -m benchmarks.objects series     errors on the UCR/UEA sets, standard splits
    python -m benchmarks.objects series --resamples 5 --sets GunPoint,Coffee
    python -m benchmarks.objects spectra    an SVM with the kernel as is, clipped and flipped

The sets are read from the folder ``timeseries`` below MAHALEARN_DATA: ``NAME.npz`` with X_train,
X_test (n, channels, length), padded by NaN, y_train, y_test. A method is a function of a `Split`
that returns the predicted classes of its test part; `from_estimator` makes one of any classifier.
Everything is chosen on the training part alone.

dtaidistance and parasail are rivals here; only parasail is an extra of the package.
"""

import argparse
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from sklearn.model_selection import StratifiedKFold

from mahalearn import KernelFisherDiscriminant, KernelQuadraticDiscriminant, OneVsRestSVC
from mahalearn.measures import Alignment, Elastic, elastic_measures, pairwise

from .timing import compare, print_machine, print_ratios

SETS = (
    "ACSF1",
    "ArrowHead",
    "BasicMotions",
    "Beef",
    "CBF",
    "Coffee",
    "ECG200",
    "GunPoint",
    "ItalyPowerDemand",
    "JapaneseVowels",
    "OSULeaf",
    "PickupGestureWiimoteZ",
    "Trace",
)
MEASURES = elastic_measures()
BANDS = [w / 100 for w in (*range(21), *range(30, 101, 10))]


# --- data ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def load(name):
    """(series, classes, size of the training part): the training part comes first."""
    folder = Path(os.environ.get("MAHALEARN_DATA", ".")) / "timeseries"
    with np.load(folder / f"{name}.npz") as data:
        X = [*data["X_train"].astype(float), *data["X_test"].astype(float)]
        y = np.concatenate([data["y_train"], data["y_test"]])
        n_train = len(data["y_train"])
    return [x[:, ~np.isnan(x).all(axis=0)] for x in X], y, n_train


@dataclass
class Split:
    """A training and a test part of one set; distances are computed once per set and measure."""

    name: str
    train: np.ndarray
    test: np.ndarray
    cache: Path | None = None

    def _take(self, rows):
        X, _, _ = load(self.name)
        return [X[i] for i in rows]

    @property
    def X_train(self):
        """Series to learn from, a list of (channels, length) arrays."""
        return self._take(self.train)

    @property
    def X_test(self):
        """Series to classify."""
        return self._take(self.test)

    @property
    def y_train(self):
        """Their classes."""
        return load(self.name)[1][self.train]

    def distances(self, measure):
        """(training × training, test × training) distances of one of MEASURES, by its name."""
        D = _all_pairs(self.name, measure, self.cache)
        return D[np.ix_(self.train, self.train)], D[np.ix_(self.test, self.train)]

    @property
    def measures(self):
        """The names of MEASURES that can compare these series."""
        X, _, _ = load(self.name)
        equal = len({x.shape[1] for x in X}) == 1
        return [m for m in MEASURES if equal or m != "euclidean"]


@lru_cache(maxsize=8)
def _all_pairs(name, measure, cache):
    X, _, _ = load(name)
    if cache is None:
        return pairwise(X, MEASURES[measure])
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / f"{name} {measure.replace(' %', '')}.npy"
    return np.asarray(pairwise(X, MEASURES[measure], out=file))


def splits(name, resamples=0, cache=None):
    """The standard split, then stratified resamples with as many training objects per class."""
    _, y, n_train = load(name)
    index = np.arange(len(y))
    yield Split(name, index[:n_train], index[n_train:], cache)
    for seed in range(1, resamples + 1):
        rng = np.random.default_rng(seed)
        train = []
        for label in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == label))
            train.extend(members[: int((y[:n_train] == label).sum())])
        train = np.sort(train)
        yield Split(name, train, np.setdiff1d(index, train), cache)


# --- methods: functions of a split ----------------------------------------------------------------


def from_estimator(factory):
    """A method from a function that returns a classifier of series."""

    def method(split):
        return factory().fit(split.X_train, split.y_train).predict(split.X_test)

    return method


def _nearest(D, y):
    return y[D.argmin(axis=1)]


def _loo_nearest_error(D, y):
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    return (_nearest(D, y) != y).mean()


def nearest_euclidean(split):
    """1-NN with the Euclidean distance; DTW with full band for unequal lengths."""
    name = "euclidean" if "euclidean" in split.measures else "dtw"
    return _nearest(split.distances(name)[1], split.y_train)


def nearest_dtw(split):
    """1-NN-DTW, the band with least leave-one-out error (the narrowest of equals) from BANDS."""
    X, y = split.X_train, split.y_train
    errors = [_loo_nearest_error(Elastic("dtw", window=w).between(X), y) for w in BANDS]
    best = Elastic("dtw", window=BANDS[int(np.argmin(errors))])
    return _nearest(best.between(split.X_test, X), y)


class Candidate:
    """A kernel of distances and an estimator on it; d is relative to the training root mean."""

    def __init__(self, measure, form, make):
        self.measure, self.form, self.make = measure, form, make

    def kernels(self, D, d):
        """Kernel matrix and rows from training distances D and rows d."""
        scale = np.sqrt((D**2).sum() / max(1, len(D) * (len(D) - 1))) or 1.0
        return self.form(D / scale), self.form(d / scale)

    def predict(self, D, y, d):
        """Classes of the rows d."""
        K, k = self.kernels(D, d)
        return self.make().fit(K, y).predict(k)


def _neg_squared(d):
    return -(d**2)


def _neg(d):
    return -d


def _gaussian(gamma):
    return lambda d: np.exp(-gamma * d**2)


class _Nearest:
    """1-NN on the kernel −d."""

    def fit(self, K, y):
        self.y = y
        return self

    def predict(self, k):
        return self.y[k.argmax(axis=1)]


def svc_gaussian(measure):
    """SVM, flipped spectrum, exp(−γ d²/mean d²)."""
    for gamma in (0.1, 0.3, 1.0, 3.0, 10.0):
        for C in (1.0, 10.0, 100.0):
            yield Candidate(
                measure,
                _gaussian(gamma),
                lambda C=C: OneVsRestSVC(C=C, kernel="precomputed", spectrum="flip"),
            )


def svc_neg_squared(measure):
    """SVM, flipped spectrum, −d²."""
    for C in (0.1, 1.0, 10.0, 100.0):
        yield Candidate(
            measure,
            _neg_squared,
            lambda C=C: OneVsRestSVC(C=C, kernel="precomputed", spectrum="flip", max_iter=100_000),
        )


def kernel_fisher(measure):
    """Kernel Fisher discriminant, −d²."""
    for reg in (1e-3, 1e-2, 1e-1, 1.0, 10.0):
        yield Candidate(
            measure,
            _neg_squared,
            lambda reg=reg: KernelFisherDiscriminant(reg=reg, kernel="precomputed"),
        )


def kernel_quadratic(measure):
    """Kernel quadratic discriminant, RC+ and FK+, −d and −d²."""
    for form in (_neg, _neg_squared):
        for variant in ("RC+", "FK+"):
            for reg in (1e-3, 1e-2, 1e-1, 1.0):
                yield Candidate(
                    measure,
                    form,
                    lambda variant=variant, reg=reg: KernelQuadraticDiscriminant(
                        variant=variant, reg=reg, reg_on="relative", kernel="precomputed"
                    ),
                )


def nearest(measure):
    """1-NN."""
    yield Candidate(measure, _neg, _Nearest)


LEARNERS = {
    "SVC exp(-γd²)": svc_gaussian,
    "KFD": kernel_fisher,
    "KQD": kernel_quadratic,
    "1-NN": nearest,
    "SVC -d²": svc_neg_squared,
}


def chosen(split, learner):
    """Predictions of one learner, measure and parameters by cross-validation; and its error."""
    y = split.y_train
    folds = list(
        StratifiedKFold(
            min(10, max(2, np.bincount(np.unique(y, return_inverse=True)[1]).min())),
            shuffle=True,
            random_state=0,
        ).split(y, y)
    )
    best, best_error = None, np.inf
    for measure in split.measures:
        D, _ = split.distances(measure)
        for candidate in LEARNERS[learner](measure):
            error = np.mean(
                [
                    np.mean(candidate.predict(D[np.ix_(a, a)], y[a], D[np.ix_(b, a)]) != y[b])
                    for a, b in folds
                ]
            )
            if error < best_error:
                best, best_error = candidate, error
    D, d = split.distances(best.measure)
    return best.predict(D, y, d), best_error


def vote(predictions, errors):
    """Majority of the learners; ties go to the class whose best voter has the least CV error."""
    predictions = np.array(predictions)
    out = []
    for column in predictions.T:
        labels = np.unique(column)
        votes = [(np.sum(column == label), -np.min(errors[column == label])) for label in labels]
        out.append(labels[max(range(len(labels)), key=votes.__getitem__)])
    return np.array(out)


def prototype(split, report=None):
    """The vote of the five learners; report: {learner: test predictions} is filled."""
    results = {learner: chosen(split, learner) for learner in LEARNERS}
    if report is not None:
        report.update({learner: result[0] for learner, result in results.items()})
    errors = np.array([error for _, error in results.values()])
    return vote([p for p, _ in results.values()], errors)


METHODS = {
    "1-NN Euclidean": nearest_euclidean,
    "1-NN-DTW": nearest_dtw,
    "vote": prototype,
}


def evaluate(methods, names=SETS, resamples=0, cache=None, progress=print):
    """Test errors, {method: {set: [errors of the splits]}}, and seconds in the same form."""
    errors = {method: {} for method in methods}
    for name in names:
        for split in splits(name, resamples, cache):
            truth = load(name)[1][split.test]
            for label, method in methods.items():
                start = time.perf_counter()
                error = float(np.mean(method(split) != truth))
                errors[label].setdefault(name, []).append(error)
                progress(
                    f"{name:<24}{label:<24}{100 * error:6.2f} %"
                    f"{time.perf_counter() - start:8.1f} s",
                    flush=True,
                )
    return errors


def summary(errors, reference="1-NN-DTW", progress=print):
    """Mean errors, their ratio to the reference, wins, ties and losses, the worst loss."""
    base = {name: np.mean(values) for name, values in errors[reference].items()}
    for method, rows in errors.items():
        means = {name: np.mean(values) for name, values in rows.items()}
        gaps = np.array([means[name] - base[name] for name in base])
        wins, losses = int((gaps < 0).sum()), int((gaps > 0).sum())
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        total, reference_mean = np.mean(list(means.values())), np.mean(list(base.values()))
        progress(
            f"{method:<24}{100 * total:6.2f} %  ratio {total / reference_mean:5.2f}  "
            f"wins/ties/losses {wins}/{len(gaps) - wins - losses}/{losses} (p = {p:.3f})  "
            f"worst {100 * gaps.max():+.1f} points"
        )


def series(names, resamples, cache):
    """Print the errors of the methods and of the vote's members."""
    members = {}

    def voting(split):
        report = {}
        result = prototype(split, report)
        members[split.name, split.train.tobytes()] = report
        return result

    methods = {**METHODS, "vote": voting}
    for learner in LEARNERS:
        methods[learner] = lambda split, learner=learner: members[
            split.name, split.train.tobytes()
        ][learner]
    errors = evaluate(methods, names, resamples, cache)
    print(f"\n{len(names)} sets, standard split and {resamples} resamples")
    summary(errors)


def spectra(names, cache):
    """Print an SVM's errors with exp(−d²/mean d²), C = 10, nothing chosen: as is, clipped, flipped.

    "raw rows" is a common mistake: a flipped training matrix, and rows of new objects as they are.
    """
    kinds = ("as is", "clip", "flip", "flip, raw rows")
    table = {measure: [] for measure in ("dtw", "dtw 10 %", "msm")}
    for name in names:
        split = next(splits(name, 0, cache))
        y, truth = split.y_train, load(name)[1][split.test]
        for measure, rows in table.items():
            K, k = Candidate(measure, _gaussian(1.0), None).kernels(*split.distances(measure))
            values, U = np.linalg.eigh(K)
            errors = []
            for kind in kinds:
                spectrum = {"as is": "krein", "clip": "clip"}.get(kind, "flip")
                model = OneVsRestSVC(C=10, kernel="precomputed", spectrum=spectrum)
                if kind == "flip, raw rows":
                    model.set_params(spectrum="krein")
                    model.fit((U * np.abs(values)) @ U.T, y)
                else:
                    model.fit(K, y)
                errors.append(np.mean(model.predict(k) != truth))
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
    parser.add_argument("what", choices=["speed", "series", "spectra"])
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--resamples", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder that keeps the distance matrices")
    options = parser.parse_args()
    if options.what == "speed":
        speed()
    elif options.what == "spectra":
        spectra(options.sets.split(","), options.cache)
    else:
        series(options.sets.split(","), options.resamples, options.cache)


if __name__ == "__main__":
    main()
