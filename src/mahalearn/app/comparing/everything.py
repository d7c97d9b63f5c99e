"""Finalists of a comparison fitted on all rows of a table that is read part by part."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...formulas.calibration import fit_temperature
from ...novelty._folds import CrossFold
from ...table_encoder import TableEncoder
from ..reading.large import LEAST, uniform
from ..reading.problem import DataError
from .methods import LANDMARKS, METHODS, WITH_LANDMARKS, class_distances, class_scores, fixed
from .model import TrainedModel, class_margins
from .ranking import share_interval

# Methods that are fitted in passes over the rows, and how many of them become finalists.
STREAMED = ("gaussian", *WITH_LANDMARKS)
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
        for frame, y, test in self.frames():
            if not test.all():
                yield self.encoder.transform(frame[~test]), y[~test]

    def labels(self, column):
        """Classes as the sample's problem writes them."""
        if self.problem.label_type == "int":
            return np.array([int(float(v)) for v in column])
        return np.array([str(v).strip() for v in column], dtype=self.classes.dtype)

    def held_out(self, positions, y):
        """Which rows are test rows: none of them is in the sample."""
        chosen = uniform(positions, self.seed) >= 1 - self.share
        return chosen & np.isin(y, self.common)

    def frames(self):
        """(frame, y, test) of all parts: rows with a class, classes, which rows are held out."""
        for position, frame in self.table.parts():
            labelled = frame[self.summary.target].notna().to_numpy()
            y = self.labels(frame[self.summary.target][labelled])
            if self.tell:
                self.tell(len(frame))
            if len(y):
                test = self.held_out(position + np.flatnonzero(labelled), y)
                yield frame.loc[labelled, self.features], y, test


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


def fit_everything(rows, name, pipeline):
    """One method with chosen parameters, fitted on all training rows.

    Parameters
    ----------
    rows : Rows
        The table.
    name : str
        The method.
    pipeline : Pipeline
        Fitted on the sample: its parameters count.

    Returns
    -------
    model : Pipeline
        From rows of the table to labels.
    """
    estimator = clone(fixed(pipeline)[-1])
    if name == "gaussian":
        estimator.set_params(shrinkage=None)  # so many rows need none, and it takes all of them
    elif "landmarks" in estimator.get_params():
        estimator.set_params(landmarks=LANDMARKS)
    else:
        raise DataError(f"The method {name!r} cannot be fitted on rows that come part by part.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(rows)
    return Pipeline([("encode", rows.encoder), ("classify", estimator)])


def tested(rows, models, measuring):
    """Predictions of the test rows: their classes, and for each model labels, scores, distances.

    measuring: for each model the one that measures its distances, itself or another.
    """
    truth, outputs = [], [[] for _ in models]
    for frame, y, test in rows.frames():
        if not test.any():
            continue
        truth.append(y[test])
        X = frame[test].reset_index(drop=True)
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
    d2 = np.vstack([part[2] for part in outputs])
    # At random: the rows of a file may be sorted.
    ranked = np.random.default_rng(rows.seed).permutation(len(d2))[:MOST_CALIBRATION]
    folds = [CrossFold(measured, None, d2[ranked], codes[ranked])]
    trained = TrainedModel(model, measured, temperature, folds, class_margins(scores, codes))
    title, errors = METHODS[name].title, int((predicted != truth).sum())
    return Finalist(name, title, fitted_rows, errors, len(truth), seconds, trained)
