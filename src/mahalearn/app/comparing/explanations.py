"""Why the winner decides as it does, and whether more data would help.

Both are measured on held-out objects: the winner is fitted again on outer training parts with the
parameters that were chosen on all objects. These fits may take long, so each part has a limit in
seconds; what was not finished by then is left out, with a notice.
"""

import time
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import log_softmax
from sklearn.pipeline import Pipeline

from ...table_encoder import TableEncoder
from .methods import class_scores, ensemble, fitted, fixed, labels, quiet
from .ranking import corrected_interval, error_interval

# Seconds that each of the two parts may take.
SECONDS = 15.0
NOT_MEASURED = (
    "The importance of the columns was not measured, because it would have taken too long."
)
ENDS_EARLY = (
    "The learning curve ends early, because larger training sets would have taken too long."
)
OF_A_MEMBER = (
    "The best method is an ensemble of {} models. Importance, reasons and learning curve are "
    "those of its member with the largest weight ({})."
)
NO_CURVE = "There is no learning curve: {}."
WHY_SLOW = "it would have taken too long"
WHY_SMALL = "the best method cannot be fitted on smaller training sets"
SHUFFLES = 5
# Folds that an interval needs: two that are equal by chance would have one without width.
LEAST_FOLDS = 3
MOST_COLUMNS = 60
# Held-out objects of a fold that are enough for the importance of a column.
MOST_TESTED = 2000
# Rows that are predicted at once.
BATCH = 5000
# Columns named for each object, and the least change of a log-probability.
MOST_REASONS, LEAST_CHANGE = 3, 0.01
SHARES = (0.125, 0.25, 0.5, 1.0)
# Objects of the smallest class that the smallest part of a learning curve needs.
LEAST_OF_CLASS = 3


def explain(problem, outcome, refitted, name, hardest, seconds=SECONDS):
    """Permutation importance, reasons of single predictions and the winner's learning curve.

    Parameters
    ----------
    problem : Problem
        What was classified.
    outcome : Outcome
        The comparison.
    refitted : Refitted
        The winner.
    name : str
        Its method.
    hardest : list of int
        Numbers of the objects whose reasons are wanted first.
    seconds : float
        Limit of each of the two parts.

    Returns
    -------
    explanation : dict
        importance, learning (None where there is none), reasons (object -> [column, value, change
        of the log-probability] of the columns that speak most for or against its predicted class)
        and skipped, a list of sentences.
    """
    pipeline = fixed(refitted.model.classifier)
    if pipeline.steps[0][0] == "measure":
        pipeline = Pipeline(pipeline.steps[1:])
    work = _Work(problem, outcome, pipeline, refitted.model.temperature)
    explanation = {"importance": None, "reasons": {}, "skipped": []}
    if several := ensemble(refitted.model.classifier):
        explanation["skipped"].append(OF_A_MEMBER.format(*several))
    # A fit with fixed parameters takes less than one with its search, but it cannot be stopped.
    too_slow = np.mean([cell.fit_seconds for cell in outcome.of(name)]) > 2 * seconds
    if problem.kind == "vectors" and too_slow:
        explanation["skipped"].append(NOT_MEASURED)
    elif problem.kind == "vectors":
        explanation["importance"], explanation["reasons"] = work.importance(
            hardest, time.monotonic() + seconds, explanation["skipped"]
        )
    explanation["learning"] = work.learning(time.monotonic() + seconds, explanation["skipped"])
    return explanation


class _Work:
    """The winner with fixed parameters, on the outer folds of the first repetition."""

    def __init__(self, problem, outcome, pipeline, temperature):
        self.problem, self.plan, self.pipeline = problem, outcome.plan, pipeline
        self.temperature = temperature
        self.classes = np.unique(problem.y)
        self.splits = outcome.splits[: outcome.plan.folds]
        self.models = {}

    def fit(self, fold, train=None):
        """The pipeline fitted on (a part of) a fold, and the held-out objects as it takes them."""
        if train is None and fold in self.models:
            return self.models[fold]
        part, test = self.splits[fold]
        part = part if train is None else train
        X_train, X_test = self.problem.fold(part, test)
        model = fitted(self.pipeline, X_train, self.problem.y[part]), X_test
        if train is None:
            self.models[fold] = model
        return model

    def importance(self, hardest, deadline, skipped):
        """How much the error rises when a column is shuffled, and why objects are predicted so."""
        X = self.problem.X
        columns = _candidates(X, self.problem.y)
        rng = np.random.default_rng(self.plan.seed)
        rises, reasons, shares = [], {}, []
        for fold, (train, test) in enumerate(self.splits):
            start = time.monotonic()
            model, X_test = self.fit(fold)
            if len(test) > MOST_TESTED:
                order = rng.permutation(len(test))
                first = np.argsort(~np.isin(test[order], hardest), kind="stable")[:MOST_TESTED]
                X_test, test = X_test.iloc[order[first]], test[order[first]]
            reasons |= self._reasons(model, X.iloc[train], X_test, test, columns)
            rise = self._rises(model, X_test, test, columns, rng, deadline)
            if rise is None:
                break
            rises.append(rise)
            shares.append(len(test) / len(train))
            if time.monotonic() + (time.monotonic() - start) > deadline:
                break
        if len(rises) < min(LEAST_FOLDS, len(self.splits)):
            skipped.append(NOT_MEASURED)
            return None, reasons
        share = float(np.mean(shares))
        rows = [
            {"name": str(name), "increase": corrected_interval(values, share)}
            for name, values in zip(columns, np.transpose(rises))
        ]
        rows.sort(key=lambda row: -row["increase"][0])
        about = {"folds": len(rises), "shuffles": SHUFFLES, "columns": X.shape[1]}
        return {"rows": rows, **about}, reasons

    def _rises(self, model, X_test, test, columns, rng, deadline):
        """Mean rise of the error on a fold for each shuffled column; None if the time is over."""
        truth = self.problem.y[test]
        shuffles = [rng.permutation(len(test)) for _ in range(SHUFFLES)]
        changes = [
            {column: X_test[column].iloc[shuffle].array}
            for column in columns
            for shuffle in shuffles
        ]
        errors = []
        for predicted in _changed(X_test, changes, partial(labels, model)):
            errors.append(self.plan.error(truth, predicted))
            if time.monotonic() > deadline and len(errors) < len(changes):
                return None
        errors = np.reshape(errors, (len(columns), SHUFFLES))
        return errors.mean(axis=1) - self.plan.error(truth, labels(model, X_test))

    def _reasons(self, model, seen, X_test, test, columns):
        """How the log-probability of the predicted class falls when a value becomes typical."""
        before = self._log_proba(model, X_test)
        taken = before.argmax(axis=1)
        objects = np.arange(len(test))
        typical = [_typical(seen[column]) for column in columns]
        changes = [
            {} if value is None else {column: value}
            for column, value in zip(columns, typical, strict=True)
        ]
        after = _changed(X_test, changes, partial(self._log_proba, model))
        falls = np.column_stack([(before - log_proba)[objects, taken] for log_proba in after])
        order = np.argsort(-np.abs(falls), axis=1, kind="stable")[:, :MOST_REASONS]
        values = [X_test[column].to_numpy(dtype=object) for column in columns]
        return {
            int(i): [
                [str(columns[k]), _cell(values[k][row]), round(float(falls[row, k]), 2)]
                for k in order[row]
                if abs(falls[row, k]) >= LEAST_CHANGE
            ]
            for row, i in enumerate(test)
        }

    def _log_proba(self, model, X):
        with quiet():
            scores, logs = class_scores(model, X)
        return log_softmax(scores if logs else scores / self.temperature, axis=1)

    def learning(self, deadline, skipped):
        """The held-out error by the number of training objects, on nested parts."""
        smallest = min(int((self.problem.y == label).sum()) for label in self.classes)
        smallest -= -(-smallest // self.plan.folds)  # in a training part
        shares = [s for s in SHARES if s * smallest >= LEAST_OF_CLASS]
        if len(shares) < 2:
            skipped.append(NO_CURVE.format("the smallest class has too few objects for it"))
            return None
        orders = [self._nested(train, fold) for fold, (train, _) in enumerate(self.splits)]
        points, spent, slow = {}, 0.0, False
        for before, share in pairwise([shares[0], *shares]):
            start = time.monotonic()
            # Kernel methods take the square of the number of objects, or more.
            slow = start + spent * (share / before) ** 2 > deadline and share > before
            point = None if slow else self._errors_at(share, orders, deadline)
            if point:
                points[share] = point
            elif slow or time.monotonic() > deadline:
                slow = True
                break
            spent = time.monotonic() - start
        if len(points) < 2:
            skipped.append(NO_CURVE.format(WHY_SLOW if slow else WHY_SMALL))
            return None
        if slow:
            skipped.append(ENDS_EARLY)
        return self._curve(points)

    def _errors_at(self, share, orders, deadline):
        """Errors of all folds with a share of the training objects, and how many these are.

        None if the time is over, or if the parameters do not allow so few objects.
        """
        errors, sizes = [], []
        for fold, ((train, test), rank) in enumerate(zip(self.splits, orders)):
            part = train[rank <= share + 1e-12]
            try:
                model, X_test = self.fit(fold, None if share == 1 else part)
                errors.append(self.plan.error(self.problem.y[test], labels(model, X_test)))
            except ValueError:
                return None
            sizes.append(len(part))
            if time.monotonic() > deadline:
                break
        return (errors, round(np.mean(sizes))) if len(errors) == len(self.splits) else None

    def _curve(self, points):
        """The learning curve of its points: share -> (errors of the folds, number of objects)."""
        *earlier, last = points
        half = min(earlier, key=lambda share: abs(share - last / 2))
        ratio = float(np.mean([len(test) / len(train) for train, test in self.splits]))
        step = 1 / float(np.mean([len(test) for _, test in self.splits]))
        change = np.subtract(points[last][0], points[half][0])
        return {
            "sizes": [size for _, size in points.values()],
            "errors": [error_interval(errors, ratio, step) for errors, _ in points.values()],
            "from": points[half][1],
            "difference": corrected_interval(change, ratio, resolution=step),
            "complete": last == 1.0,
        }

    def _nested(self, train, fold):
        """For each training object the smallest share it belongs to, the same in each class."""
        rng = np.random.default_rng([self.plan.seed, fold])
        rank = np.ones(len(train))
        for label in self.classes:
            members = np.flatnonzero(self.problem.y[train] == label)
            rank[rng.permutation(members)] = np.arange(len(members)) / len(members) + 1e-9
        return rank


def _changed(X, changes, predict):
    """Predictions of copies of X with some columns changed, many copies at a time."""
    import pandas as pd

    size = max(1, BATCH // len(X))
    for start in range(0, len(changes), size):
        frames = [X.assign(**change) for change in changes[start : start + size]]
        yield from np.split(predict(pd.concat(frames, ignore_index=True)), len(frames))


def _candidates(X, y):
    """All columns, or of very many those that separate the classes most one by one."""
    if X.shape[1] <= MOST_COLUMNS:
        return list(X.columns)
    from sklearn.feature_selection import f_classif

    encoder = TableEncoder().fit(X)
    with quiet():  # constant columns
        F = np.nan_to_num(f_classif(encoder.transform(X), y)[0], posinf=np.inf)
    best = dict.fromkeys(X.columns, 0.0)
    for column, value in zip(X.columns[encoder.source_columns_], F):
        best[column] = max(best[column], float(value))
    return sorted(best, key=lambda c: -best[c])[:MOST_COLUMNS]


def _typical(column):
    """The median of numbers, the most frequent category; None without values."""
    from pandas.api.types import is_numeric_dtype

    values = column.dropna()
    if not len(values):
        return None
    return float(values.median()) if is_numeric_dtype(values) else values.mode().iloc[0]


def _cell(value):
    """A cell of a table as text."""
    if isinstance(value, float | np.floating):
        return "missing" if value != value else f"{value:.4g}"
    return "missing" if value is None else str(value)
