"""A cell of a comparison: one method on one outer fold; and all cells together.

A method chooses its parameters by folds of its training part. A cell depends on its fold, method
and seed alone, so that results are the same for any number of processes.
"""

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..._validation import take
from ...results import error_rates
from .methods import (
    METHODS,
    chosen_params,
    class_scores,
    fit_best_measure,
    fitted,
    labels,
    quiet,
    scout,
)
from .plan import Plan, inner_folds, setting_for


@dataclass
class Cell:
    """One method on one outer fold."""

    method: str
    fold: int
    predicted: np.ndarray
    scores: np.ndarray
    error: float
    balanced_error: float
    fit_seconds: float
    predict_seconds: float
    seconds_for_1000: float | None = None  # measured in the first fold
    params: dict = field(default_factory=dict)


@dataclass
class Outcome:
    """All cells of a comparison, those of unfinished folds left out."""

    plan: Plan
    splits: list
    cells: dict  # (method, fold) -> Cell
    methods: list
    failed: dict = field(default_factory=dict)  # method -> reason
    notes: list = field(default_factory=list)
    seconds: float = 0.0
    stopped: bool = False  # by Ctrl-C, before all folds were finished
    method_seconds: float | None = None  # what a method with a time budget of its own had

    def of(self, method):
        """The cells of a method, in the order of the folds."""
        return [self.cells[method, f] for f in range(len(self.splits))]

    def held_out(self, method, y):
        """Predictions of a method for all outer test parts; classes are codes."""
        cells, labels = self.of(method), np.unique(y)
        who = np.concatenate([test for _, test in self.splits])
        return HeldOut(
            who,
            np.searchsorted(labels, y[who]),
            np.searchsorted(labels, np.concatenate([cell.predicted for cell in cells])),
            np.vstack([cell.scores for cell in cells]),
            np.repeat(np.arange(len(cells)), [len(test) for _, test in self.splits]),
        )


class HeldOut(NamedTuple):
    """Predictions of objects that their models had not seen, of all outer test parts.

    With repeated folds each object is there once for each repetition.
    """

    who: np.ndarray  # numbers of the objects
    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray  # (m, c): scores, or logarithms of probabilities
    folds: np.ndarray  # numbers of the outer folds

    def first_predictions(self, mask):
        """Positions of the first prediction of each object that a mask (n,) has."""
        objects, first = np.unique(self.who, return_index=True)
        return first[mask[objects]]


def run_cell(problem, setting, name, fold, split, plan=None):
    """Fit one method on one fold and predict the rest."""
    train, test = split
    y = problem.y
    X_train, X_test = problem.fold(train, test)
    if problem.groups is not None:
        setting = setting._replace(folds=inner_folds(problem, plan, train))
    model = METHODS[name].pipeline(setting)
    with quiet():
        start = time.perf_counter()
        if problem.alternatives is not None:
            best, model = fit_best_measure(model, X_train, y[train], scout(name, setting))
            X_test = X_test[..., best]
        else:
            model = fitted(model, X_train, y[train])
        ready = time.perf_counter()
        predicted = labels(model, X_test)
        done = time.perf_counter()
        scores, _ = class_scores(model, X_test)
        thousand = _seconds_for_1000(model, X_test) if fold == 0 else None
    if not np.isfinite(scores).all():
        raise ValueError("it gave scores that are not finite")
    errors = error_rates(y[test], predicted)
    params = chosen_params(model[-1])
    if problem.alternatives is not None:
        params = {"measure": list(problem.alternatives)[best], **params}
    seconds = (ready - start, done - ready, thousand)
    return Cell(name, fold, predicted, scores, *errors, *seconds, params)


def _seconds_for_1000(model, X):
    """Time of predicting 1000 rows: those there are, as often as needed."""
    rows = take(X, np.resize(np.arange(len(X)), 1000))
    start = time.perf_counter()
    labels(model, rows)
    return time.perf_counter() - start


def with_best_measure(problem, plan, name):
    """The problem with the one measure that suits a method best on all objects.

    Parameters
    ----------
    problem : Problem
        What to classify; where it has one measure, it is returned as it is.
    plan : Plan
        Of the comparison.
    name : str
        The method.
    """
    if problem.alternatives is None:
        return problem
    D, setting = problem.matrix(), setting_for(problem, plan)
    pipeline = METHODS[name].pipeline(setting)
    place, _ = fit_best_measure(pipeline, D, problem.y, scout(name, setting))
    measure = list(problem.alternatives.values())[place]
    return replace(problem, measure=measure, alternatives=None, distances=D[..., place].copy())
