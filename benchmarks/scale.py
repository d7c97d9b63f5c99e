"""Landmarks at scale: ``python -m benchmarks.scale [section …]``.

Sections: pass, predict, million, crossover, agreement, accuracy, search, growth, dask. Processor
time on one BLAS thread; floors are measured in the same run. Nothing is tuned on test data.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import blas
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from mahalearn import KernelQuadraticDiscriminant
from mahalearn.classifiers._landmark_models import fold_scores, landmark_model
from mahalearn.classifiers._landmark_plan import Scan, fit_landmark_model, make_plan
from mahalearn.classifiers._landmark_statistics import LandmarkPlan, collect
from mahalearn.datasets import ParquetBatches, ringnorm, waveform
from mahalearn.kernels.protocol import fit_kernel

from .timing import compare, print_machine, print_ratios

DTYPES = (np.float64, np.float32)


def cpu(function):
    """Result and processor seconds of a call."""
    start = time.process_time()
    out = function()
    return out, time.process_time() - start


def peak_rss():
    """Peak resident memory of this process, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def big_set(n=1_020_000):
    """Prefixes of one fixed set: another n_samples would be another problem."""
    X, y = make_classification(
        1_020_000,
        20,
        n_informative=10,
        n_clusters_per_class=4,
        flip_y=0.02,
        random_state=0,
    )
    return X[:n].copy(), y[:n].copy()


def floor_pass(X, m):
    """The matrix products of one pass, and nothing else: X·Zᵀ, then half of kᵀk."""
    Z = np.ascontiguousarray(X[:m].T)
    rows = 2**24 // (m * X.itemsize)
    k, C = np.empty((rows, m), X.dtype), np.zeros((m, m), X.dtype)
    syrk = blas.dsyrk if X.dtype == np.float64 else blas.ssyrk
    for i in range(0, len(X), rows):
        part = X[i : i + rows]
        np.dot(part, Z, out=k[: len(part)])
        syrk(1.0, k[: len(part)].T, beta=1.0, c=C.T, overwrite_c=1)


def section_pass():
    """One pass against its floor."""
    rng = np.random.default_rng(0)
    n, m = 65_536, 1000
    for dtype in DTYPES:
        X = rng.normal(size=(n, 20)).astype(dtype)
        kernel = fit_kernel("rbf", X[:99].astype(float), gamma=0.05)
        candidates = {"GEMM + syrk": lambda X=X: floor_pass(X, m)}
        for c in (2, 10):
            y = rng.integers(0, c, n)
            plan = LandmarkPlan(kernel, X[:m], np.arange(c), dtype=dtype)
            candidates[f"one pass, {c} classes"] = lambda p=plan, X=X, y=y: collect(p, X, y)
        times = compare(candidates, repeats=3)
        goals = dict.fromkeys(list(candidates)[1:], 1.3)
        print_ratios(f"One pass, {n} × 20, m = {m}, {dtype.__name__}", times, "GEMM + syrk", goals)


def section_predict():
    """Prediction against its floor and against exact RC+."""
    X, y = big_set(25_000)
    Q, m = X[10_000:15_000], 1000
    exact = KernelQuadraticDiscriminant(reg=1e-4).fit(X[:10_000], y[:10_000])
    candidates = {"exact RC+, n = 10,000": lambda: exact.predict(Q)}
    floors = {}
    for dtype in DTYPES:
        Xd, Qd, name = X.astype(dtype), Q.astype(dtype), dtype.__name__
        options = {"landmarks": m, "random_state": 0, "values": [1e-4]}
        for n in (10_000, 20_000):
            model, _ = fit_landmark_model(Xd[:n], y[:n], **options)
            model.scores(Qd[:9])
            candidates[f"landmarks, n = {n}, {name}"] = lambda M=model, Q=Qd: M.scores(Q)
        trmm = blas.dtrmm if dtype == np.float64 else blas.strmm
        R = np.asfortranarray(np.triu(np.full((m, m), 1e-3, dtype)))
        Z = np.ascontiguousarray(Xd[:m].T)

        def floor(R=R, trmm=trmm, Z=Z, Q=Qd, dtype=dtype):
            k = np.empty((512, m), dtype)
            for i in range(0, len(Q), 512):
                part = Q[i : i + 512]
                np.dot(part, Z, out=k[: len(part)])
                for _ in range(2):
                    trmm(1.0, R, k[: len(part)].T, overwrite_b=1)

        floors[name] = f"GEMM + 2 trmm, {name}"
        candidates[floors[name]] = floor
    times = compare(candidates, repeats=3)
    for name, floor in floors.items():
        ours = {k: v for k, v in times.items() if k.endswith(name)}
        goals = dict.fromkeys([k for k in ours if k != floor], 1.3)
        print_ratios(f"Predicting 5,000 rows, m = {m}, {name}", ours, floor, goals)
        speed = times["exact RC+, n = 10,000"] / times[f"landmarks, n = 10000, {name}"]
        goal = 10 if name == "float64" else 15
        print(f"  exact RC+ takes {speed:.1f} × as long   goal {goal} or more")


def section_million():
    """1,000,000 rows in memory and from Parquet, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for how in ("write", "memory", "parquet"):
            command = [sys.executable, "-m", "benchmarks.scale", "--part", how, folder]
            subprocess.run(command, check=True)


def part_write(folder):
    """1,000,000 rows as 32 Parquet files, and the test rows."""
    import pandas as pd

    X, y = big_set()
    X = X.astype(np.float32)
    np.savez(f"{folder}/test.npz", X=X[1_000_000:], y=y[1_000_000:])
    np.save(f"{folder}/X.npy", X[:1_000_000])
    np.save(f"{folder}/y.npy", y[:1_000_000])
    for i, rows in enumerate(np.array_split(np.arange(1_000_000), 32)):
        table = pd.DataFrame(X[rows], columns=[f"f{j:02}" for j in range(20)])
        table["y"] = y[rows]
        table.to_parquet(f"{folder}/part-{i:02}.parquet", row_group_size=16_384)


def part_million(folder, parquet):
    """The fit of 1,000,000 rows, m = 1000, RC+ with error offsets, float32."""
    test = np.load(f"{folder}/test.npz")
    before = peak_rss()
    if parquet:
        source = (ParquetBatches(folder, target="y", dtype=np.float32, batch_rows=32_768),)
    else:
        source = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
        _, floor = cpu(lambda: floor_pass(source[0][:200_000], 1000))
        floor, before = 5 * floor, peak_rss()
    (model, _), seconds = cpu(
        lambda: fit_landmark_model(
            *source, landmarks=1000, random_state=0, values=[1e-5], dtype=np.float32
        )
    )
    accuracy = (model.scores(test["X"])[0].argmax(axis=1) == test["y"]).mean()
    print(f"\n1,000,000 × 20, m = 1000, RC+, {'Parquet' if parquet else 'in memory'}, float32")
    print(f"  {seconds:.1f} CPU s, accuracy on 20,000 further rows {accuracy:.4f}")
    if parquet:
        print(f"  peak RSS {peak_rss():.0f} MB   goal 600")
    else:
        print(f"  whole fit {seconds / floor:.2f} × the floor of its pass   goal 1.5")
        print(f"  memory beyond the input {peak_rss() - before:.0f} MB   goal 400")


def section_crossover():
    """From which n on landmarks cost less than exact RC+ to fit."""
    X, y = big_set(20_000)
    print("\nFitting RC+ with error offsets, CPU s: exact, and m = 1,000 landmarks")
    for n in (2500, 5000, 10_000, 20_000):
        exact = KernelQuadraticDiscriminant(reg=1e-4)
        seconds = cpu(lambda n=n, M=exact: M.fit(X[:n], y[:n]))[1] if n <= 10_000 else np.nan
        options = {"landmarks": 1000, "random_state": 0, "values": [1e-4]}
        ours = cpu(lambda n=n, o=options: fit_landmark_model(X[:n], y[:n], **o))[1]
        print(f"  n = {n:<8}{seconds:>8.1f}{ours:>8.1f}")


def section_agreement():
    """Labels that agree with exact RC+ on the first 4,000 rows."""
    X, y = big_set(14_000)
    Q = X[4000:]
    exact = KernelQuadraticDiscriminant(reg=1e-4).fit(X[:4000], y[:4000])
    labels = exact.predict(Q)
    print("\nAgreement with exact RC+ (n = 4,000, reg 1e-4, 10,000 further rows)")
    for m, goal in ((200, None), (500, 0.95), (1000, 0.965), (2000, 0.98)):
        model, _ = fit_landmark_model(
            X[:4000], y[:4000], landmarks=m, random_state=0, values=[1e-4]
        )
        agree = (model.scores(Q)[0].argmax(axis=1) == labels).mean()
        print(f"  m = {m:<6}{agree:.4f}" + (f"   goal {goal}" if goal else ""))


def mixtures(n, seed=0):
    """Ten classes, each a mixture of three Gaussians in 50 dimensions."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(10, 3, 50)) * 0.55
    roots = rng.normal(size=(10, 3, 50, 50)) / 7 + np.eye(50) / 2
    y = rng.integers(0, 10, n)
    part = rng.integers(0, 3, n)
    noise = rng.normal(size=(n, 50))
    X = centres[y, part]
    for j in range(10):
        for i in range(3):
            rows = (y == j) & (part == i)
            X[rows] += noise[rows] @ roots[j, i]
    return X, y


def generated_sets(n):
    """Four fixed sets; prefixes of n training rows and 10,000 test rows."""
    yield "make_classification", *big_set(n + 10_000)
    yield "waveform", *waveform(n + 10_000, random_state=0)
    yield "ringnorm", *ringnorm(n + 10_000, random_state=0)
    yield "mixtures, 10 classes", *mixtures(n + 10_000)


def section_accuracy(n=20_000, m=300):
    """Test accuracy at equal m, ours and Nystroem + LogisticRegression tuned by the same folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    print(f"\nTest accuracy, {n} training rows, m = {m}; gamma and reg by the same three folds")
    for name, X, y in generated_sets(n):
        X = StandardScaler().fit(X[:n]).transform(X)
        y = np.unique(y, return_inverse=True)[1]
        train, test = slice(0, n), slice(n, n + 10_000)
        d = X.shape[1]
        gammas = [0.2 / d, 1 / d]
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        folds = np.empty(n, int)
        for f, (_, held) in enumerate(cv.split(X[train], y[train])):
            folds[held] = f
        row = {}
        ours = partial(_ours, X[train], y[train], folds, gammas, m, X[test])
        row["landmarks RC+"] = cpu(ours)
        pipe = make_pipeline(Nystroem(n_components=m, random_state=0), LogisticRegression())
        grid = {"nystroem__gamma": gammas, "logisticregression__C": [1, 30, 1000]}
        search = GridSearchCV(pipe, grid, cv=cv)
        others = {
            "Nystroem + LogisticRegression": search,
            "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
            "SVC": SVC(C=10, gamma=0.3 / d),
        }
        try:
            from lightgbm import LGBMClassifier

            others["LightGBM"] = LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
        except ImportError:
            pass
        for label, model in others.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row[label] = cpu(partial(_fit_predict, model, X[train], y[train], X[test]))
        print(f"  {name}")
        for label, (predicted, seconds) in row.items():
            accuracy = (predicted == y[test]).mean()
            print(f"    {label:<32}{accuracy:.4f}{seconds:>9.1f} CPU s")


def _fit_predict(model, X, y, Q):
    return model.fit(X, y).predict(Q)


def _ours(X, y, folds, gammas, m, Q):
    """Predictions of RC+, gamma and reg chosen by out-of-fold errors from one pass per gamma."""
    values = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    best = None
    for gamma in gammas:
        plan = make_plan(
            Scan().add(X, y), landmarks=m, random_state=0, gamma=gamma, n_folds=3, sample_rows=5000
        )
        statistics = collect(plan, X, y, folds)
        scores = fold_scores(statistics, X, y, folds, "quadratic", values)
        errors = (scores.argmax(axis=-1) != y).mean(axis=1)
        if best is None or errors.min() < best[0]:
            best = errors.min(), statistics, values[errors.argmin()]
    _, statistics, value = best
    model = landmark_model(statistics.all_folds(), "quadratic", [value])
    return model.scores(Q)[0].argmax(axis=1)


def section_search():
    """Five folds × five regs from one pass, against refits."""
    X, y = big_set(50_000)
    folds = np.arange(len(X)) % 5
    values = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    options = {"landmarks": 300, "random_state": 0, "sample_rows": 2000}
    plan, single = (make_plan(Scan().add(X, y), n_folds=f, **options) for f in (5, 1))
    held = np.flatnonzero(np.arange(len(X)) % 10 == 0)  # rows that are scored, in both

    def from_one_pass():
        statistics = collect(plan, X, y, folds)
        return fold_scores(statistics, X[held], y[held], folds[held], "quadratic", values)

    def refits():
        out = np.empty((len(values), len(held), 2))
        for i, value in enumerate(values):
            for f in range(5):
                statistics = collect(single, X[folds != f], y[folds != f])
                model = landmark_model(statistics, "quadratic", [value])
                rows = folds[held] == f
                out[i, rows] = model.scores(X[held[rows]])[0]
        return out

    times = compare({"one pass": from_one_pass, "refits": refits}, repeats=1)
    print_ratios("Search, 50,000 rows, m = 300, 5 folds × 5 regs", times, "one pass", {"refits": 5})


def section_growth():
    """How the cost of a pass grows with n, m, c and d, as exponents."""
    rng = np.random.default_rng(0)

    def seconds(n=20_000, m=500, c=2, d=20):
        X = rng.normal(size=(n, d))
        y = np.arange(n) % c
        plan = LandmarkPlan(fit_kernel("rbf", X, gamma=1 / d), X[:m], np.arange(c))
        return min(cpu(lambda: collect(plan, X, y))[1] for _ in range(2))

    print("\nGrowth of one pass (20,000 rows, m = 500, 2 classes, 20 features unless varied)")
    for name, grid in {
        "n": [10_000, 30_000, 100_000, 300_000, 1_000_000],
        "m": [250, 500, 1000, 2000],
        "c": [2, 10, 50],
        "d": [10, 40, 160],
    }.items():
        times = [seconds(**{name: value}) for value in grid]
        exponent = np.polyfit(np.log(grid), np.log(times), 1)[0]
        listed = ", ".join(f"{v}: {t:.2f} s" for v, t in zip(grid, times, strict=True))
        print(f"  {name:<3} exponent {exponent:5.2f}   ({listed})")


def section_dask():
    """Processor time of dask with one and two workers, against local streaming."""
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "benchmarks.scale", "--part"]
        subprocess.run([*run, "write", folder], check=True)
        for name in ("X.npy", "y.npy"):
            Path(folder, name).unlink()
        subprocess.run([*run, "dask", folder], check=True)


def part_dask(folder):
    """Local streaming, then clusters, on the same Parquet files and with the same plan."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from mahalearn.distributed import collect_parts

    batches = ParquetBatches(folder, target="y")
    first = next(iter(batches))
    plan = make_plan(Scan().add(*first), landmarks=500, random_state=0)
    statistics, local = cpu(lambda: collect(plan, batches))
    print(
        f"\nDask, 1,000,000 rows in 32 files, m = 500, float64\n  local streaming {local:.1f} CPU s"
    )
    reference = landmark_model(statistics, "quadratic", [1e-4]).scores(first[0][:500])
    table = dd.read_parquet(folder)
    for workers, goal in ((1, 1.4), (2, 1.6)):
        options = {"threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            before = sum(client.run(time.process_time).values())
            wall = time.perf_counter()
            parts = collect_parts(plan, table[batches.features], table["y"])
            wall = time.perf_counter() - wall
            used = sum(client.run(time.process_time).values()) - before
            rss = max(client.run(peak_rss).values())
        scores = landmark_model(parts, "quadratic", [1e-4]).scores(first[0][:500])
        gap = np.abs(scores - reference).max() / np.abs(reference).max()
        print(
            f"  {workers} worker(s) {used:.1f} CPU s, {used / local:.2f} × local (goal {goal}), "
            f"wall {wall:.0f} s, {rss:.0f} MB a worker, {gap:.0e} from local"
        )


SECTIONS = {
    "pass": section_pass,
    "predict": section_predict,
    "million": section_million,
    "crossover": section_crossover,
    "agreement": section_agreement,
    "accuracy": section_accuracy,
    "search": section_search,
    "growth": section_growth,
    "dask": section_dask,
}
PARTS = {
    "write": part_write,
    "memory": lambda folder: part_million(folder, parquet=False),
    "parquet": lambda folder: part_million(folder, parquet=True),
    "dask": part_dask,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    parser.add_argument("--part", nargs=2, metavar=("NAME", "FOLDER"))
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with threadpool_limits(limits=1):
        if arguments.part:
            PARTS[arguments.part[0]](arguments.part[1])
            return
        print_machine()
        for name in arguments.sections or SECTIONS:
            SECTIONS[name]()


if __name__ == "__main__":
    main()
