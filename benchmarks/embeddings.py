"""Mahalanobis distances on embeddings and tables, measured: ``python -m benchmarks.embeddings``.

Four parts, each of which can be run alone: ``speed`` (a million rows against the floors of BLAS,
queries, pytorch-ood), ``accuracy`` (unknown classes on embeddings of networks), ``outliers`` (the
sets of benchmarks.novelty, against PyOD), ``contamination`` (training rows that are outliers).
One BLAS thread: set OMP_NUM_THREADS=1. Rivals that are not installed are left out: ``pip install
pytorch-ood pyod``. Data sets are read from the folders in MAHALEARN_DATA and MAHALEARN_ARFF (see
benchmarks.novelty).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.linalg import blas
from sklearn.covariance import LedoitWolf
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier

from mahalearn import MahalanobisNovelty
from mahalearn.formulas.class_metrics import unit_rows
from mahalearn.novelty import _stream

from .novelty import NEW_SETS, SETS, n_roles, task
from .timing import compare, print_machine, print_ratios

N_ROWS, N_FEATURES, N_CLASSES, N_QUERIES = 1_000_000, 768, 100, 10_000


# --- speed ----------------------------------------------------------------------------------------


class Generated:
    """Labelled rows that are made on the fly; `seconds` is the processor time that this took."""

    def __init__(self, n_rows, d=N_FEATURES, c=N_CLASSES, batch=10_000, seed=0):
        rng = np.random.default_rng(seed)
        self.scales = (np.arange(1, d + 1) ** -0.5).astype(np.float32)
        self.means = rng.standard_normal((c, d), np.float32) * self.scales
        self.n_rows, self.batch, self.seed, self.seconds = n_rows, batch, seed, 0.0

    def __iter__(self):
        for start in range(0, self.n_rows, self.batch):
            clock = time.process_time()
            pair = self.rows(start, min(self.batch, self.n_rows - start))
            self.seconds += time.process_time() - clock
            yield pair

    def rows(self, start, n):
        """Rows and labels from a position on."""
        rng = np.random.default_rng([self.seed, start])
        y = rng.integers(0, len(self.means), n)
        X = rng.standard_normal((n, len(self.scales)), np.float32)
        X *= self.scales
        X += self.means[y]
        return X, y


def one_fit(covariance, n_rows):
    """Fit on generated rows; prints processor times of both passes and the peak of memory."""
    rows, spent = Generated(n_rows), {}

    def clock():
        return time.process_time() - rows.seconds

    def collect(self, *args, method=_stream.LocalRows.collect):
        start = clock()
        out = method(self, *args)
        spent["collect"] = clock() - start
        return out

    def measure(self, *args, method=_stream.LocalRows.measure):
        start, spent["measure"] = clock(), 0.0
        for part in method(self, *args):
            spent["measure"] += clock() - start
            yield part
            start = clock()

    _stream.LocalRows.collect, _stream.LocalRows.measure = collect, measure
    start = time.process_time()
    detector = MahalanobisNovelty(covariance).fit(rows)
    spent["all"] = time.process_time() - start - rows.seconds
    queries = rows.rows(n_rows, N_QUERIES)[0]
    spent["rejected"] = float((detector.predict(queries) == -1).mean())
    spent["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(spent))


def syrk_floor(n_rows):
    """Processor time of the products XᵀX alone."""
    X = np.ones((8192, N_FEATURES), np.float32)
    C = np.zeros((N_FEATURES, N_FEATURES), np.float32, order="F")

    def run():
        blas.ssyrk(1.0, X.T, beta=1.0, c=C, overwrite_c=1)

    return compare({"floor": run}, repeats=10)["floor"] * n_rows / 8192


def speed(n_rows=N_ROWS):
    print_machine()
    c, d = N_CLASSES, N_FEATURES
    print(f"\nFit: {n_rows:,} × {d} float32, {c} classes, from batches; processor time")
    for covariance in ("shared", "class"):
        floor = syrk_floor(n_rows)
        command = [sys.executable, "-m", "benchmarks.embeddings", "speed", "--one", covariance]
        out = subprocess.run(
            [*command, "--rows", str(n_rows)], capture_output=True, text=True, check=True
        )
        spent = json.loads(out.stdout)
        floor = (floor + syrk_floor(n_rows)) / 2
        most = 400 + (2 * c * d**2 * 8 / 2**20 if covariance == "class" else 0)
        print(
            f"  {covariance}: moments {spent['collect']:.1f} s = {spent['collect'] / floor:.2f} × "
            f"the ssyrk floor (goal 2), second pass {spent['measure']:.1f} s, metrics "
            f"{spent['all'] - spent['collect'] - spent['measure']:.1f} s; peak "
            f"{spent['peak']:.0f} MB (goal {most:.0f}); {spent['rejected']:.3f} of new rows flagged"
        )
    rows = Generated(50_000)
    X, y = rows.rows(0, 50_000)
    Q = rows.rows(10**9, N_QUERIES)[0]
    detectors = {
        f"{covariance}, {'unit' if unit else 'raw'} rows": MahalanobisNovelty(
            covariance, normalize=unit
        ).fit(X, y)
        for covariance in ("shared", "class")
        for unit in (True, False)
    }
    F, M = np.ones((d, d), np.float32), np.ones((d, c), np.float32)
    candidates = {"the two products alone": lambda: (Q @ F) @ M}
    for name, detector in detectors.items():
        candidates[f"p_none, {name}"] = lambda detector=detector: detector.p_none(Q)
    candidates["predict, class, unit rows"] = lambda: detectors["class, unit rows"].predict(Q)
    times = compare(candidates, repeats=3)
    goals = {f"p_none, shared, {kind} rows": 1.3 for kind in ("unit", "raw")}
    print_ratios(f"{len(Q):,} queries", times, "the two products alone", goals)
    goals = dict.fromkeys([n for n in times if "class" in n], 6)
    print_ratios("The same", times, "p_none, shared, unit rows", goals)
    _pytorch_ood(X, y, Q, times)


def _pytorch_ood(X, y, Q, times):
    try:
        import torch
        from pytorch_ood.detector import Mahalanobis
    except ImportError:
        print("\npytorch-ood is not installed")
        return
    torch.set_num_threads(1)
    rival = Mahalanobis(None).fit_features(torch.from_numpy(X), torch.from_numpy(y))
    start = time.process_time()
    theirs = rival.predict_features(torch.from_numpy(Q)).numpy()
    seconds = time.process_time() - start
    detector = MahalanobisNovelty("shared", normalize=False, reg=1e-9).fit(X, y)
    rank = stats.spearmanr(theirs, detector._nearest(Q)[0])[0]
    ratio = seconds / times["p_none, shared, raw rows"]
    print(
        f"\npytorch-ood's Mahalanobis: {seconds:.1f} s for {len(Q):,} queries, {ratio:.0f} × "
        f"p_none, shared, raw rows (goal 50); rank correlation of the scores {rank:.6f}"
    )


# --- accuracy -------------------------------------------------------------------------------------


def score(known, unknown):
    """AUROC, and the unknown rows accepted with 95 % of the known, in per cent; large: unusual."""
    truth = np.r_[np.zeros(len(known)), np.ones(len(unknown))]
    auroc = roc_auc_score(truth, np.r_[known, unknown])
    return 100 * auroc, 100 * float((unknown <= np.quantile(known, 0.95)).mean())


def ours(**options):
    def strangeness(X, y, Q):
        return -MahalanobisNovelty(**options).fit(X, y).score_samples(Q)

    return strangeness


def nearest_unit(X, y, Q):
    return NearestNeighbors(n_neighbors=10).fit(unit_rows(X)).kneighbors(unit_rows(Q))[0][:, -1]


def class_ledoit_wolf(X, y, Q):
    X, Q = unit_rows(X), unit_rows(Q)
    models = [LedoitWolf().fit(X[y == j]) for j in np.unique(y) if (y == j).sum() > 1]
    return np.min([model.mahalanobis(Q) for model in models], axis=0)


METHODS = {
    "MahalanobisNovelty()": ours(),
    "shared, unit rows (Mahalanobis++)": ours(covariance="shared", normalize=True),
    "shared, raw (Lee et al.)": ours(covariance="shared", normalize=False),
    "relative, unit rows": ours(relative=True, normalize=True),
    "relative, raw (Ren et al.)": ours(relative=True, normalize=False),
    "kNN (10), unit rows": nearest_unit,
    "class-wise Ledoit–Wolf, unit rows": class_ledoit_wolf,
}


def stored():
    """Embeddings in files: (name, arrays, None)."""
    for file in sorted((Path(os.environ["MAHALEARN_DATA"]) / "embeddings").glob("*.npz")):
        arrays = np.load(file)
        data = {k: arrays[k].astype(np.float32) if k[0] == "X" else arrays[k] for k in arrays}
        yield file.stem, data, None


NETWORKS = ("digits", "pendigits", "usps", "mfeat-fac", "mnist-5k", "nist16")


def trained(name, seed=0, width=128):
    """The hidden layer of a network that this benchmark trains, and its class scores."""
    X, y = SETS[name][0]()
    rng = np.random.default_rng([seed, 1])
    y = np.unique(y, return_inverse=True)[1]
    known = rng.permutation(y.max() + 1)[:-3]
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    X = (X - mean) / np.where(deviation > 0, deviation, 1)
    inside = rng.permutation(np.flatnonzero(np.isin(y, known)))
    outside = np.flatnonzero(~np.isin(y, known))
    train, test = np.split(inside, [int(0.6 * len(inside))])
    network = MLPClassifier((width,), max_iter=100, random_state=seed).fit(X[train], y[train])
    W, V = network.coefs_
    b, a = network.intercepts_
    far = rng.permuted(X[test], axis=0)

    def hidden(X):
        return np.maximum(X @ W + b, 0).astype(np.float32)

    data = {
        "X_train": hidden(X[train]),
        "y_train": y[train],
        "X_test": hidden(X[test]),
        "y_test": y[test],
        "X_near": hidden(X[outside]),
        "X_far_permuted": hidden(far),
        "X_far_noise": hidden(3 * rng.normal(size=(500, X.shape[1]))),
    }
    return data, lambda H: H @ V + a


def softmax_energy(scores):
    """Two scores of a network's outputs."""
    largest = scores.max(axis=1, keepdims=True)
    energy = -(largest[:, 0] + np.log(np.exp(scores - largest).sum(axis=1)))
    return {"softmax": -np.exp(largest[:, 0] + energy), "energy": energy}


def false_alarms(data, level=0.05):
    """Rows unseen by the network calibrate, others of them are flagged: how many, and the limit."""
    X, y, half = data["X_test"], data["y_test"], len(data["X_test"]) // 2
    order = np.random.default_rng(0).permutation(len(X))
    known = np.isin(y, data["y_train"])
    fit, rest = order[:half], order[half:]
    detector = MahalanobisNovelty(level=level).fit(data["X_train"], data["y_train"])
    uncalibrated = (detector.predict(X[rest]) == -1).mean()
    fit = fit[known[fit]]
    alarms = (detector.calibrate(X[fit], y[fit]).predict(X[rest]) == -1).mean()
    k = int(level * (len(fit) + 1))
    limit = stats.betabinom.ppf(0.999, len(rest), k, len(fit) + 1 - k) / len(rest)
    return uncalibrated, alarms, limit


def accuracy(seeds=2):
    cells, alarms = {}, []

    def record(group, name, method, known, near, far):
        cells.setdefault((group, method), []).append(
            [*score(known, near), score(known, far)[0] if len(far) else np.nan]
        )

    own = ((f"{name} ({seed})", *trained(name, seed)) for seed in range(seeds) for name in NETWORKS)
    for group, source in (("stored", stored()), ("trained here", own)):
        for name, data, outputs in source:
            far = [data[k] for k in data if k.startswith("X_far")]
            X, y = data["X_train"], data["y_train"]
            parts = [data["X_test"], data["X_near"], *far]
            cuts = np.cumsum([len(part) for part in parts[:2]])
            Q = np.vstack(parts)
            for method, strangeness in METHODS.items():
                record(group, name, method, *np.split(strangeness(X, y, Q), cuts))
            if outputs is not None:
                for method, values in softmax_energy(outputs(Q)).items():
                    record(group, name, method, *np.split(values, cuts))
            alarms.append((name, *false_alarms(data)))
            print(f"{name}: {cells[group, 'MahalanobisNovelty()'][-1]}", file=sys.stderr)
    for group in ("stored", "trained here"):
        rows = {m: np.array(v) for (g, m), v in cells.items() if g == group}
        n = len(next(iter(rows.values())))
        print(f"\nEmbeddings {group}, {n} sets: AUROC near (FPR95) / far, in per cent\n")
        print("| detector | near | FPR95 | far | near, worst set |\n|---|---|---|---|---|")
        for method, values in rows.items():
            near, accepted, far = np.nanmean(values, axis=0)
            print(
                f"| {method} | {near:.1f} | {accepted:.0f} | {far:.1f} | {values[:, 0].min():.1f} |"
            )
    print("\nFalse alarms at 0.05 on rows that the network has not seen\n")
    print("| embeddings | calibrated on training rows | on unseen rows | limit (99.9 %) |")
    print("|---|---|---|---|")
    for name, before, after, limit in alarms:
        print(f"| {name} | {before:.3f} | {after:.3f} | {limit:.3f} |")
    _, before, after, limit = (np.array(v) for v in zip(*alarms, strict=True))
    print(f"| mean | {before.mean():.3f} | {after.mean():.3f} | |")
    print(f"\n{(after <= limit).sum()} of {len(after)} within the limit")


# --- outliers: the sets of benchmarks.novelty -----------------------------------------------------

PYOD = {"KNN": "knn", "LOF": "lof", "IForest": "iforest", "ECOD": "ecod", "OCSVM": "ocsvm"}


def pyod(name, **options):
    return lambda X: getattr(import_module(f"pyod.models.{PYOD[name]}"), name)(**options).fit(X)


def outlier_methods():
    """Functions (X, y, Q) -> strangeness."""
    methods = {
        "MahalanobisNovelty(), labels": ours(),
        "MahalanobisNovelty(normalize=True), labels": ours(normalize=True),
        "MahalanobisNovelty(), no labels": lambda X, y, Q: ours()(X, None, Q),
    }
    try:
        import_module("pyod")
    except ImportError:
        print("PyOD is not installed")
        return methods
    for name in PYOD:
        options = {"random_state": 0} if name == "IForest" else {}
        make = pyod(name, **options)
        methods[f"PyOD {name}"] = lambda X, y, Q, make=make: make(X).decision_function(Q)
    return methods


def outliers():
    compare_detectors("that the defaults have been compared on before", SETS)
    if "MAHALEARN_ARFF" in os.environ:
        compare_detectors("that no default was chosen on", NEW_SETS)


def compare_detectors(which, sets):
    methods = outlier_methods()
    table, seconds = {}, dict.fromkeys(methods, 0.0)
    names = [name for name in sets if n_roles(name)]
    for name in names:
        for role in range(n_roles(name)):
            X, y, regular, unknown = task(name, role)
            Q = np.vstack([regular, unknown])
            for method, strangeness in methods.items():
                start = time.process_time()
                values = strangeness(X, y, Q)
                seconds[method] += time.process_time() - start
                result = score(values[: len(regular)], values[len(regular) :])
                table.setdefault((name, method), []).append(result)
        print(f"{name}: {np.mean(table[name, next(iter(methods))], axis=0)}", file=sys.stderr)
    means = {m: np.array([np.mean(table[n, m], axis=0) for n in names]) for m in methods}
    print(f"\nAn unknown class held out, {len(names)} sets {which}, in per cent\n")
    print("| detector | AUROC | FPR95 | best on sets | processor s |\n|---|---|---|---|---|")
    best = np.argmax([means[m][:, 0] for m in methods], axis=0)
    for i, m in enumerate(methods):
        auroc, accepted = means[m].mean(axis=0)
        print(f"| {m} | {auroc:.1f} | {accepted:.0f} | {(best == i).sum()} | {seconds[m]:.1f} |")
    print("\n| set | " + " | ".join(methods) + " |\n|" + "---|" * (len(methods) + 1))
    for i, name in enumerate(names):
        print(f"| {name} | " + " | ".join(f"{means[m][i, 0]:.1f}" for m in methods) + " |")


# --- contaminated training rows -------------------------------------------------------------------


def contaminated(name, role, share):
    """Training rows of one class into which rows of another got, and which they are."""
    X, y, regular, unknown = task(name, role)
    X, regular = X[y == y[0]], regular[: 60 if len(regular) >= 60 else None]
    n = max(1, round(share * len(X) / (1 - share)))
    bad, rest = unknown[:n], unknown[n:]
    return np.vstack([X, bad]), np.arange(len(X) + n) >= len(X), rest


def contamination():
    names = [name for name in SETS if name not in ("cmc", "eucalyptus")]
    methods = {
        "MahalanobisNovelty()": lambda X, s: MahalanobisNovelty().fit(X).decision_scores_,
        "MahalanobisNovelty(trim=share)": lambda X, s: (
            MahalanobisNovelty(trim=s).fit(X).decision_scores_
        ),
        "MahalanobisNovelty(trim=0.25)": lambda X, s: (
            MahalanobisNovelty(trim=0.25).fit(X).decision_scores_
        ),
    }
    try:
        import_module("pyod")
        for name in PYOD:
            make = pyod(name)
            methods[f"PyOD {name}"] = lambda X, s, make=make: make(X).decision_scores_
    except ImportError:
        print("PyOD is not installed")
    print("\nContaminated training rows of one class: AUROC of finding them, in per cent\n")
    table = {}
    for share in (0.05, 0.1):
        for name in names:
            for role in range(n_roles(name)):
                X, bad, _ = contaminated(name, role, share)
                for method, scores in methods.items():
                    values = scores(X, share)
                    table.setdefault((method, share), []).append(100 * roc_auc_score(bad, values))
    print("| detector | 5 % | 10 % |\n|---|---|---|")
    for method in methods:
        print(f"| {method} | " + " | ".join(
            f"{np.mean(table[method, share]):.1f}" for share in (0.05, 0.1)) + " |")  # fmt: skip


PARTS = {
    "speed": speed,
    "accuracy": accuracy,
    "outliers": outliers,
    "contamination": contamination,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all if none is named")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of the part speed")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        one_fit(options.one, options.rows)
        return
    for part in options.parts or PARTS:
        speed(options.rows) if part == "speed" else PARTS[part]()


if __name__ == "__main__":
    main()
