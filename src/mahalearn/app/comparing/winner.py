"""The winner of a comparison: fitted on all objects, measured by folds, and explained.

Its distances to objects are of models that had not seen them. Why it decides as it does, and
whether more data would help, is found on held-out objects: it is fitted again on outer training
parts with the parameters that were chosen on all objects. These fits may take long, so each part
has a limit in seconds; what was not finished by then is left out and said to be.
"""

import time
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline

from ..._validation import take
from ...display import pair_rule
from ...formulas.calibration import fit_temperature
from ...formulas.linalg import center_gram, centering, eigh
from ...novelty._folds import CrossFold
from ..reading.encoder import TableEncoder
from .crossval import (
    FINAL_FOLDS,
    corrected_interval,
    error_interval,
    fit_plan,
    outer_splits,
    setting_for,
)
from .methods import (
    DISTANCE_METHOD,
    METHODS,
    chosen_params,
    class_distances,
    class_scores,
    ensemble,
    file_bytes,
    fitted,
    fixed,
    flattened,
    for_part,
    has_distances,
    kernel_spectrum,
    labels,
    log_odds,
    quiet,
)
from .model import MeasureRows, TrainedModel

# With more objects, distances of a method without any of its own are those of Gaussians.
MOST_FOR_KERNEL, QUICK_DISTANCES = 2000, "gaussian"
# Models of folds that a file holds, together; of larger ones there are fewer, which is as valid.
MOST_BYTES = 32 * 2**20
# Objects by which it is found out how a model decides between two classes.
RULE_OBJECTS = 1000
SPECTRUM_OBJECTS = 2000


class Refitted(NamedTuple):
    """A trained model and what the report shows of it."""

    model: TrainedModel
    distance_method: str
    d2: np.ndarray  # (n, c) squared distances of each object, by a model that had not seen it
    params: dict
    parts: list  # the objects of each fold of these models


def refit(problem, outcome, name, whole=None):
    """Fit the method of a name on all objects, and its distances.

    Parameters
    ----------
    problem : Problem
        What to classify.
    outcome : Outcome
        The comparison that the method was part of.
    name : str
        The method.
    whole : Problem or None
        The problem of which `problem` is a sample, if the classifier is to be fitted on all of it.

    Returns
    -------
    refitted : Refitted
        The model to save. Held-out distances are of one more cross-validation with the parameters
        that were chosen on all objects, and on the scale of its distances.
    """
    setting = _final_setting(problem, outcome.plan)
    classifier, params = _fit(problem, METHODS[name].pipeline(setting))
    measured, distance_method, d2 = classifier, name, None
    if has_distances(classifier):
        # A chosen model may need what rows of a matrix do not hold: self-similarities.
        with suppress(ValueError):
            d2, folds, parts = held_out_folds(problem, measured, outcome.plan)
    if d2 is None:
        large = problem.kind == "vectors" and len(problem) > MOST_FOR_KERNEL
        distance_method = QUICK_DISTANCES if large else DISTANCE_METHOD
        measured, _ = _fit(problem, METHODS[distance_method].pipeline(setting))
        d2, folds, parts = held_out_folds(problem, measured, outcome.plan)
    if whole is not None:
        classifier, _ = _fit(whole, fixed(classifier))
    held_out = [np.sort(d2[problem.y == label, j]) for j, label in enumerate(np.unique(problem.y))]
    held = outcome.held_out(name, problem.y)
    temperature = float(fit_temperature(held.scores, held.truth))
    model = TrainedModel(classifier, measured, held_out, temperature, folds)
    return Refitted(model, distance_method, d2, params, parts)


def chosen_on(problem, plan, name):
    """The pipeline of a method, fitted on all objects with parameters chosen on them."""
    return _fit(problem, METHODS[name].pipeline(_final_setting(problem, plan)))[0]


def _final_setting(problem, plan):
    return setting_for(problem, fit_plan(problem, replace(plan, inner_folds=FINAL_FOLDS)))


def held_out_folds(problem, pipeline, plan):
    """Squared distances of each object to the classes, by models that had not seen it.

    They stand beside distances of new objects to the pipeline, which was fitted on all objects: the
    models of the folds regularise so much less as their classes have fewer objects.

    Returns
    -------
    d2 : ndarray of shape (n, c)
        Squared distances.
    folds : list of CrossFold
        The models, as many as `MOST_BYTES` allow; one at least.
    parts : list of ndarray
        Objects of each fold, of all folds.
    """
    pipeline = fixed(pipeline)
    measure = pipeline.steps[0][1] if pipeline.steps[0][0] == "measure" else None
    if measure is not None:
        pipeline = Pipeline(pipeline.steps[1:])
    # A measure that learns from the objects learns in each fold anew.
    own_measure = measure is not None and problem.matrix() is None
    codes = np.unique(problem.y, return_inverse=True)[1]
    d2 = np.full((len(problem), codes.max() + 1), np.nan)
    folds, parts, size = [], [], 0
    for train, test in _held_out_splits(problem, plan):
        X_train, X_test = problem.fold(train, test)
        with quiet():  # what there was to say was said of the whole
            model = fitted(for_part(pipeline, problem.y, train), X_train, problem.y[train])
            d2[test] = class_distances(model, X_test)
        parts.append(test)
        size = size or file_bytes(model)
        if folds and (len(folds) + 1) * size > MOST_BYTES:
            continue
        members = None if problem.kind == "vectors" or own_measure else train
        if own_measure:
            rows = MeasureRows(measure.measure).fit(take(problem.X, train))
            model = Pipeline([("measure", rows), *model.steps])
        folds.append(CrossFold(model, members, d2[test], codes[test]))
    return d2, folds, parts


def _held_out_splits(problem, plan):
    """Folds in which each object is tested once; those of one group together."""
    if problem.groups is not None:
        splits = outer_splits(problem, replace(plan, repeats=1))
        if sum(len(test) for _, test in splits) == len(problem):
            return splits
        # Some fold would leave a class without training objects.
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=plan.seed)
    return list(folds.split(np.zeros(len(problem)), problem.y))


def _fit(problem, pipeline):
    """The pipeline fitted on all objects, and the parameters it chose."""
    if problem.kind == "objects":
        pipeline = Pipeline([("measure", MeasureRows(problem.measure)), *pipeline.steps])
    pipeline = fitted(pipeline, problem.X, problem.y, problem.weights)
    params = chosen_params(pipeline[-1])
    if isinstance(pipeline[-1], GridSearchCV):
        # scikit-learn's searches hold scorers, which are functions; the choice is all we need.
        pipeline = Pipeline([*pipeline.steps[:-1], ("classify", pipeline[-1].best_estimator_)])
    return pipeline, params


class Look(NamedTuple):
    """What the fitted winner tells of itself: how it decides between classes, and its kernel."""

    last: object  # the estimator that measures distances
    log_odds: tuple | None  # squared distances and log-probabilities of some objects
    spectrum: np.ndarray | None  # eigenvalues of the centred kernel
    kernel: str  # what that kernel is


def look_at(problem, refitted):
    """How the winner decides by distances, and the spectrum of its kernel (None if large)."""
    model = refitted.model.distances
    last, logs, spectrum = flattened(model)[-1], None, None
    kernel = "the kernel matrix of the model's distances"
    if pair_rule(last, [0, 1]) is None:
        few = np.linspace(0, len(problem) - 1, RULE_OBJECTS).astype(int)
        logs = log_odds(model, take(problem.X, few) if len(problem) > RULE_OBJECTS else problem.X)
    if problem.kind == "vectors" and len(problem) <= SPECTRUM_OBJECTS:
        spectrum = kernel_spectrum(model)
    elif len(problem) <= SPECTRUM_OBJECTS:
        everyone = np.arange(len(problem))
        M = problem.fold(everyone, everyone)[0]
        similar = problem.proximity == "similarity"
        K = M.copy() if similar else -(M**2) / 2
        spectrum = eigh(center_gram(K, centering(K), overwrite=True), vectors=False).values
        kernel = "the centred similarities" if similar else "−d²/2, centred"
    return Look(last, logs, spectrum, kernel)


# --- why it decides so, and whether more data would help ------------------------------------------

# Seconds that each of the two parts may take.
SECONDS = 15.0
NOT_MEASURED = (
    "The importance of the columns was not measured, because it would have taken too long."
)
ENDS_EARLY = (
    "The learning curve ends early, because larger training sets would have taken too long."
)
OF_A_MEMBER = (
    "The best method is an ensemble of {} models. Importance, contributions and learning curve are "
    "those of its member with the largest weight ({})."
)
NO_CURVE = "There is no learning curve: {}."
WHY_SLOW = "it would have taken too long"
WHY_SMALL = "the best method cannot be fitted on smaller training sets"
SHUFFLES = 5
MOST_COLUMNS = 60
# Held-out objects of a fold that are enough for the importance of a column.
MOST_TESTED = 2000
MOST_CONTRIBUTIONS = 6
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
# Objects of the smallest class that the smallest part of a learning curve needs.
LEAST_OF_CLASS = 3


def explain(problem, outcome, refitted, name, hardest, seconds=SECONDS):
    """Permutation importance, contributions and the learning curve of the winner.

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
        Numbers of the objects whose contributions are wanted.
    seconds : float
        Limit of each of the two parts.

    Returns
    -------
    found : dict
        importance, contributions, learning (each None where there is none) and skipped, a list of
        sentences.
    """
    pipeline = fixed(refitted.model.classifier)
    if pipeline.steps[0][0] == "measure":
        pipeline = Pipeline(pipeline.steps[1:])
    work = _Work(problem, outcome, pipeline, refitted.model.temperature)
    found = {"importance": None, "contributions": None, "skipped": []}
    if several := ensemble(refitted.model.classifier):
        found["skipped"].append(OF_A_MEMBER.format(*several))
    # A fit with fixed parameters takes less than one with its search, but it cannot be stopped.
    too_slow = np.mean([cell.fit_seconds for cell in outcome.of(name)]) > 2 * seconds
    if problem.kind == "vectors" and too_slow:
        found["skipped"].append(NOT_MEASURED)
    elif problem.kind == "vectors":
        found["importance"], found["contributions"] = work.importance(
            hardest, time.monotonic() + seconds, found["skipped"]
        )
    found["learning"] = work.learning(time.monotonic() + seconds, found["skipped"])
    return found


class _Work:
    """The winner with fixed parameters, on the outer folds of the first repetition."""

    def __init__(self, problem, outcome, pipeline, temperature):
        self.problem, self.plan, self.pipeline = problem, outcome.plan, pipeline
        self.temperature = temperature
        self.classes = np.unique(problem.y)
        self.splits = outcome.splits[: outcome.plan.folds]

    def fit(self, train, test):
        """The fitted pipeline and the held-out objects as it takes them."""
        X_train, X_test = self.problem.fold(train, test)
        return fitted(self.pipeline, X_train, self.problem.y[train]), X_test

    def importance(self, hardest, deadline, skipped):
        """How much the error rises when a column is shuffled among the held-out objects."""
        X, y = self.problem.X, self.problem.y
        columns = _candidates(X, y)
        rng = np.random.default_rng(self.plan.seed)
        rises, contributions, done = [], {}, []
        for train, test in self.splits:
            start = time.monotonic()
            model, X_test = self.fit(train, test)
            mine = [i for i in hardest if i in set(test.tolist())]
            for i in mine:
                place = int(np.flatnonzero(test == i)[0])
                contributions[i] = self._contribution(
                    model, X.iloc[train], X_test.iloc[[place]], columns
                )
            truth = y[test]
            if len(test) > MOST_TESTED:
                kept = np.sort(rng.choice(len(test), MOST_TESTED, replace=False))
                X_test, truth = X_test.iloc[kept], truth[kept]
            base = self.plan.error(truth, labels(model, X_test))
            shuffles = [rng.permutation(len(truth)) for _ in range(SHUFFLES)]
            row = []
            for column in columns:
                errors = []
                for shuffle in shuffles:
                    changed = X_test.copy()
                    changed[column] = X_test[column].iloc[shuffle].array
                    errors.append(self.plan.error(truth, labels(model, changed)))
                row.append(np.mean(errors) - base)
                if time.monotonic() > deadline:
                    break
            if len(row) < len(columns):
                break
            rises.append(row)
            done.append(len(test) / len(train))
            if time.monotonic() + (time.monotonic() - start) > deadline:
                break
        if len(rises) < 2:
            skipped.append(NOT_MEASURED)
            return None, _contributions(self.problem, hardest, contributions)
        share = float(np.mean(done))
        rows = [
            {"name": str(name), "increase": corrected_interval(values, share)}
            for name, values in zip(columns, np.transpose(rises))
        ]
        rows.sort(key=lambda row: -row["increase"][0])
        return {
            "rows": rows,
            "folds": len(rises),
            "shuffles": SHUFFLES,
            "columns": X.shape[1],
        }, _contributions(self.problem, hardest, contributions)

    def _contribution(self, model, seen, row, columns):
        """How the log-probability of the predicted class changes without each value of a row."""
        import pandas as pd

        typical = {}
        for column in columns:
            values = seen[column].dropna()
            if not len(values):
                typical[column] = row[column].iloc[0]
            elif pd.api.types.is_numeric_dtype(values):
                typical[column] = float(values.median())
            else:
                typical[column] = values.mode().iloc[0]
        changed = pd.concat([row] * (len(columns) + 1), ignore_index=True)
        for k, column in enumerate(columns, 1):
            cells = changed[column].astype(object).tolist()
            cells[k] = typical[column]
            numeric = pd.api.types.is_numeric_dtype(row[column])
            changed[column] = pd.Series(cells, dtype=float if numeric else object)
        scores, logs = class_scores(model, changed)
        log_p = log_softmax(scores if logs else scores / self.temperature, axis=1)
        taken = int(log_p[0].argmax())
        changes = log_p[0, taken] - log_p[1:, taken]
        rows = [
            {
                "feature": str(column),
                "value": _cell(row[column].iloc[0]),
                "typical": _cell(typical[column]),
                "change": float(change),
            }
            for column, change in zip(columns, changes)
        ]
        rows.sort(key=lambda r: -abs(r["change"]))
        return {"taken_for": str(model.classes_[taken]), "rows": rows[:MOST_CONTRIBUTIONS]}

    def learning(self, deadline, skipped):
        """The held-out error by the number of training objects, on nested parts."""
        y = self.problem.y
        smallest = min(int((y == label).sum()) for label in self.classes)
        smallest -= -(-smallest // self.plan.folds)  # in a training part
        shares = [s for s in SHARES if s * smallest >= LEAST_OF_CLASS]
        if len(shares) < 2:
            skipped.append(NO_CURVE.format("the smallest class has too few objects for it"))
            return None
        orders = [self._nested(train, fold) for fold, (train, _) in enumerate(self.splits)]
        errors, sizes, start = {}, {}, time.monotonic()
        for k, share in enumerate(shares):
            mine, size = [], []
            if k:  # kernel methods take the square of the number of objects, or more
                spent = time.monotonic() - start
                if time.monotonic() + spent * (share / shares[k - 1]) ** 2 > deadline:
                    skipped.append(ENDS_EARLY)
                    break
            start = time.monotonic()
            for (train, test), rank in zip(self.splits, orders):
                part = train[rank <= share + 1e-12]
                try:
                    model, X_test = self.fit(part, test)
                    mine.append(self.plan.error(y[test], labels(model, X_test)))
                except ValueError:  # parameters that so few objects do not allow
                    break
                size.append(len(part))
                if time.monotonic() > deadline:
                    break
            if len(mine) == len(self.splits):
                errors[share], sizes[share] = mine, round(np.mean(size))
            elif time.monotonic() > deadline:
                skipped.append(ENDS_EARLY)
                break
        if len(errors) < 2:
            slow = skipped[-1:] == [ENDS_EARLY]
            skipped[len(skipped) - slow :] = [NO_CURVE.format(WHY_SLOW if slow else WHY_SMALL)]
            return None
        kept = list(errors)
        ratio = float(np.mean([len(test) / len(train) for train, test in self.splits]))
        half = min(kept[:-1], key=lambda s: abs(s - kept[-1] / 2))
        change = np.subtract(errors[kept[-1]], errors[half])
        return {
            "sizes": [sizes[s] for s in kept],
            "errors": [error_interval(errors[s], ratio) for s in kept],
            "from": sizes[half],
            "difference": corrected_interval(change, ratio),
            "complete": kept[-1] == 1.0,
        }

    def _nested(self, train, fold):
        """For each training object the smallest share it belongs to, the same in each class."""
        rng = np.random.default_rng([self.plan.seed, fold])
        rank = np.ones(len(train))
        for label in self.classes:
            mine = np.flatnonzero(self.problem.y[train] == label)
            rank[rng.permutation(mine)] = np.arange(len(mine)) / len(mine) + 1e-9
        return rank


def _candidates(X, y):
    """All columns, or of very many those that separate the classes most one by one."""
    if X.shape[1] <= MOST_COLUMNS:
        return list(X.columns)
    from sklearn.feature_selection import f_classif

    encoder = TableEncoder().fit(X)
    with quiet():  # constant columns
        F = np.nan_to_num(f_classif(encoder.transform(X), y)[0], posinf=np.inf)
    best = dict.fromkeys(X.columns, 0.0)
    owners = encoder.numeric_ + [c for c, levels in encoder.levels_.items() for _ in levels]
    for column, value in zip(owners, F):
        best[column] = max(best[column], float(value))
    return sorted(best, key=lambda c: -best[c])[:MOST_COLUMNS]


def _contributions(problem, hardest, found):
    rows = [
        {
            "name": problem.called(i),
            "class": str(problem.y[i]),
            **found[i],
        }
        for i in hardest
        if i in found
    ]
    return rows or None


def _cell(value):
    """A cell of a table as text."""
    if isinstance(value, float | np.floating):
        return "missing" if value != value else f"{value:.4g}"
    return "missing" if value is None else str(value)
