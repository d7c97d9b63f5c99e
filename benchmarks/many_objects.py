"""Ensembles of many objects: at landmarks beside all objects, and what 5,000 long series cost.

    python -m benchmarks.many_objects accuracy   1,500 training objects, with and without landmarks
    python -m benchmarks.many_objects cost       5,000 series of 500 time points

The sets of `accuracy`: splice (DNA as strings, edit distance) and chromosome bands (30 grey values
as letters, edit distance), pen digits (two channels of 8 points, "elastic") and
cylinder-bell-funnel by its published formula (128 points, "elastic"). The first three are read from
the folder that MAHALEARN_DATA names. Three random splits, the same for both.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from mahalearn import MahalanobisClassifierCV
from mahalearn.model_selection import ensemble, race

from .timing import print_machine

N_TRAIN, N_TEST, SPLITS = 1500, 1000, 3


def read(name):
    """(objects, classes) of a set."""
    with np.load(Path(os.environ["MAHALEARN_DATA"]) / name) as data:
        if "x" in data:
            return data["x"], data["y" if "y" in data else "t"]
        return data["x_train"], data["y_train"]


def splice():
    """DNA strings of 60 letters, two classes."""
    X, y = read("ida/splice.npz")
    return ["".join("ACGT"[i - 1] for i in row) for row in X], y


def bands():
    """Grey values of 30 bands, of which every fifth part is a letter, 24 classes."""
    X, y = read("dissimilarity/cbands.npz")
    edges = np.quantile(X, np.arange(0.2, 1, 0.2))
    return ["".join("abcde"[i] for i in np.searchsorted(edges, row)) for row in X], y


def pen_digits():
    """Strokes of 8 points, ten classes."""
    X, y = read("uci/pendigits.npz")
    return list(X.reshape(len(X), 8, 2).transpose(0, 2, 1).astype(float)), y


def cylinder_bell_funnel(n=N_TRAIN + N_TEST, length=128, seed=0):
    """Cylinders, bells and funnels (Saito, 1994) of any length, with noise of deviation 1."""
    rng = np.random.default_rng(seed)
    y, t, X = rng.integers(0, 3, n), np.arange(length), []
    for shape in y:
        start = rng.uniform(length / 8, length / 4)
        stop = start + rng.uniform(length / 4, 3 * length / 4)
        ramp = (t - start) / (stop - start)
        form = (np.ones(length), ramp, 1 - ramp)[shape] * ((t >= start) & (t <= stop))
        X.append((6 + rng.normal()) * form + rng.normal(size=length))
    return X, y


SETS = {
    "splice": ("edit", splice),
    "bands": ("edit", bands),
    "pen digits": ("elastic", pen_digits),
    "cylinder-bell-funnel": ("elastic", cylinder_bell_funnel),
}


def fitted(kernel, X, y, exact_objects):
    """An ensemble with members at landmarks beyond so many objects, and its CPU seconds."""
    race.EXACT_OBJECTS = ensemble.EXACT_OBJECTS = exact_objects
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(kernel=kernel, random_state=0).fit(X, y)
    return model, time.process_time() - start


def accuracy(names):
    """Print error, log loss and CPU time with all objects and at landmarks."""
    print(f"{'':<24}{'all objects':>27}{'400 landmarks':>27}   (error in %, log loss, CPU s)")
    for name in names:
        kernel, load = SETS[name]
        objects, y = load()
        rows = []
        for seed in range(SPLITS):
            drawn = np.random.default_rng(seed).permutation(len(y))[: N_TRAIN + N_TEST]
            train, test = drawn[:N_TRAIN], drawn[N_TRAIN:]
            X, queries = ([objects[i] for i in part] for part in (train, test))
            row = []
            for exact_objects in (N_TRAIN, N_TRAIN - 1):
                model, seconds = fitted(kernel, X, y[train], exact_objects)
                proba = model.predict_proba(queries)
                error = np.mean(model.classes_[proba.argmax(axis=1)] != y[test])
                loss = log_loss(y[test], proba, labels=model.classes_)
                row += [100 * error, loss, seconds]
            rows.append(row)
        cells = [f"{e:9.2f}{loss:9.3f}{s:9.1f}" for e, loss, s in np.mean(rows, 0).reshape(2, 3)]
        spread = np.std(np.subtract(*np.array(rows)[:, [3, 0]].T), ddof=1) / np.sqrt(SPLITS)
        print(f"{name:<24}{''.join(cells)}   difference of the errors ± {spread:.2f}", flush=True)


def cost(n, length):
    """Print the CPU time of an ensemble of long series, and of its predictions."""
    X, y = cylinder_bell_funnel(n + 200, length)
    fitted("elastic", X[:50], y[:50], n)  # compiles
    model, seconds = fitted("elastic", X[:n], y[:n], 2000)
    start = time.process_time()
    error = np.mean(model.predict(X[n:]) != y[n:])
    each = (time.process_time() - start) / 200
    print(f"{n} series of {length} points: fit {seconds:.0f} s, {1000 * each:.0f} ms a prediction")
    print(f"error {100 * error:.1f} %, members {', '.join(model.members_)}")
    measures = {str(model.candidates_[m].kernel.measure)[:40] for m in model.members_}
    print(f"measures: {', '.join(sorted(measures))}")


def main():
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["accuracy", "cost"])
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--series", type=int, default=5000, help="cost: number of series")
    parser.add_argument("--length", type=int, default=500, help="cost: their length")
    options = parser.parse_args()
    print_machine()
    if options.what == "cost":
        cost(options.series, options.length)
    else:
        accuracy(options.sets.split(","))


if __name__ == "__main__":
    main()
