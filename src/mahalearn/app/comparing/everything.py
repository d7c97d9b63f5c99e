"""Finalists of a comparison fitted on all rows of a table that is read part by part."""

import warnings
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...formulas.calibration import fit_temperature
from ...novelty._folds import CrossFold
from ...table_encoder import TableEncoder
from ..reading.large import LEAST, uniform
from ..reading.problem import DataError
from .methods import METHODS, class_distances, class_scores, fixed
from .model import TrainedModel, class_margins
from .ranking import share_interval

# Methods that are fitted in passes over the rows, and how many of them become finalists.
STREAMED = ("gaussian", "kqd", "fd", "qd", "kfd", "kpca-qda")
FINALISTS = 2
# Rows that are held out for the test of the finalists: a share of all, and so many at most.
TEST_SHARE, MOST_TEST = 0.1, 20_000
# Held-out rows whose distances a model file keeps, to rank new objects among them.
MOST_CALIBRATION = 5000


class Rows:
    """Rows of a table as the finalists take them: training batches, or the test rows.

    Parameters
    ----------
    table : ParquetTable or TextTable
        The table.
    summary : Look
        What its first pass found.
    problem : Problem
        The problem of the sample: which columns are features, how classes are written.
    seed : int
        Decides, with its position, whether a row is a test row.
    tell : callable or None
        Called with the number of rows of each part.
    """

    def __init__(self, table, summary, problem, seed, tell=None):
        self.table, self.summary, self.problem = table, summary, problem
        self.seed, self.tell = seed, tell
        n = sum(summary.counts.values())
        self.share = min(TEST_SHARE, MOST_TEST / n)
        self.classes = np.unique(problem.y)
        # The sample holds the rows with the smallest numbers, of a small class perhaps all rows.
        self.common = [k for k in self.classes if summary.counts[str(k)] >= 2 * LEAST]
        self.encoder = encoder_of(problem, summary)
        self.features = list(problem.X.columns)

    def __iter__(self):
        """Batches (X, y) of the training rows."""
        for X, y, test in self.parts():
            if not test.all():
                yield X[~test], y[~test]

    def labels(self, column):
        """Classes as the sample's problem writes them."""
        if self.problem.label_type == "int":
            return np.array([int(float(v)) for v in column])
        return np.array([str(v).strip() for v in column], dtype=self.classes.dtype)

    def held_out(self, positions, y):
        """Which rows are test rows: none of them is in the sample."""
        chosen = uniform(positions, self.seed) >= 1 - self.share
        return chosen & np.isin(y, self.common)

    def parts(self):
        """(X, y, test) of all parts: vectors, classes, and which rows are held out."""
        for position, frame in self.table.parts():
            X, y, test = encoded_part(self, position, frame)
            if self.tell:
                self.tell(len(frame))
            if len(y):
                yield X, y, test


def encoded_part(rows, position, frame):
    """Vectors, classes and test rows of one part."""
    labelled = frame[rows.summary.target].notna().to_numpy()
    y = rows.labels(frame[rows.summary.target][labelled])
    X = rows.encoder.transform(frame[labelled][rows.features])
    return X, y, rows.held_out(position + np.flatnonzero(labelled), y)


def encoder_of(problem, summary):
    """The encoder of the sample, with the means and scales of all rows."""
    encoder = TableEncoder().fit(problem.X)
    for i, j in enumerate(encoder.numeric_):
        n, mean, spread = summary.moments[problem.X.columns[j]]
        if n and spread > 0:
            encoder.means_[i], encoder.scales_[i] = mean, np.sqrt(spread / n)
    return encoder


class Finalist(NamedTuple):
    """A method on all rows, or the winner of the sample: what the test rows say of it."""

    name: str
    title: str
    fitted_rows: int
    errors: int
    tested: int
    seconds: float
    model: object

    def row(self):
        """Plain values for the report."""
        share = self.errors / self.tested
        return {
            "name": self.name,
            "title": self.title,
            "fitted_rows": self.fitted_rows,
            "tested": self.tested,
            "error": [share, *share_interval(self.errors, self.tested)],
            "seconds": self.seconds,
        }


def fit_everything(rows, name, pipeline, landmarks, client=None):
    """One method with chosen parameters, fitted on all training rows.

    Parameters
    ----------
    rows : Rows
        The table.
    name : str
        The method.
    pipeline : Pipeline
        Fitted on the sample: its parameters count.
    landmarks : int
        For kernel methods.
    client : dask Client or None
        Where to compute.

    Returns
    -------
    model : Pipeline
        From rows of the table to labels.
    """
    estimator = clone(fixed(pipeline)[-1])
    if name == "gaussian":
        estimator.set_params(shrinkage=None)  # so many rows need none, and it takes all of them
    elif "landmarks" in estimator.get_params():
        estimator.set_params(landmarks=landmarks)
    else:
        raise DataError(f"The method {name!r} cannot be fitted on rows that come part by part.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if client is None:
            estimator.fit(rows)
        else:
            estimator.fit(*dask_arrays(rows))
    return Pipeline([("encode", rows.encoder), ("classify", estimator)])


def dask_arrays(rows):
    """The training rows of a Parquet table as dask arrays, a part for each row group."""
    import dask
    import dask.array as da

    theirs = copy(rows)
    theirs.tell = None  # workers have no progress bar, now and in later passes
    shared = dask.delayed(theirs, traverse=False)
    parts, position = [], 0
    for i, (_, _, n) in enumerate(rows.table.groups):
        parts.append(dask.delayed(_group_arrays)(shared, i, position))
        position += n
    sizes = dask.compute(*[dask.delayed(lambda part: len(part[1]))(part) for part in parts])
    d = len(rows.encoder.source_columns_)
    X = [da.from_delayed(part[0], (n, d), float) for part, n in zip(parts, sizes, strict=True) if n]
    y = [
        da.from_delayed(part[1], (n,), rows.classes.dtype)
        for part, n in zip(parts, sizes, strict=True)
        if n
    ]
    return da.concatenate(X), da.concatenate(y)


def _group_arrays(rows, i, position):
    from ..reading.large import _read_group

    file, group, n = rows.table.groups[i]
    (_, frame), *_ = _read_group(file, group, n, position)
    X, y, test = encoded_part(rows, position, frame)
    return X[~test], y[~test]


def tested(rows, models, measuring):
    """Predictions of the test rows: their classes, and for each model labels, scores, distances.

    measuring: for each model the one that measures its distances, itself or another.
    """
    truth, outputs = [], [[] for _ in models]
    for position, frame in rows.table.parts():
        labelled = frame[rows.summary.target].notna().to_numpy()
        test = rows.held_out(
            position + np.flatnonzero(labelled), rows.labels(frame[rows.summary.target][labelled])
        )
        if rows.tell:
            rows.tell(len(frame))
        if not test.any():
            continue
        frame = frame[labelled][test].reset_index(drop=True)
        truth.append(rows.labels(frame[rows.summary.target]))
        X = frame[rows.features]
        for model, other, results in zip(models, measuring, outputs, strict=True):
            results.append((model.predict(X), class_scores(model, X)[0], class_distances(other, X)))
    if not truth:
        raise DataError("There are too few rows to hold some out for a test.")
    return np.concatenate(truth), outputs


def finalist(rows, name, model, measured, fitted_rows, truth, outputs, seconds):
    """A finalist with a model to save: calibrated, and ranked, on the test rows."""
    predicted = np.concatenate([part[0] for part in outputs])
    codes = np.searchsorted(rows.classes, truth)
    scores = np.vstack([part[1] for part in outputs])
    temperature = float(fit_temperature(scores, codes))
    d2 = np.vstack([part[2] for part in outputs])[:MOST_CALIBRATION]
    folds = [CrossFold(measured, None, d2, codes[: len(d2)])]
    trained = TrainedModel(model, measured, temperature, folds, class_margins(scores, codes))
    title, errors = METHODS[name].title, int((predicted != truth).sum())
    return Finalist(name, title, fitted_rows, errors, len(truth), seconds, trained)
