"""The winner of a comparison, fitted on all objects, and held-out distances to the classes."""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline

from ..._validation import take
from ...formulas.calibration import fit_temperature
from ...novelty._folds import CrossFold
from .methods import (
    DISTANCE_METHOD,
    DISTANCE_METHODS,
    LARGE_DISTANCES,
    METHODS,
    chosen_params,
    class_distances,
    file_bytes,
    fitted,
    fixed,
    for_part,
    has_distances,
    quiet,
)
from .model import MeasureRows, TrainedModel, class_margins
from .plan import FINAL_FOLDS, INNER_FOLDS, fit_plan, outer_splits, setting_for

# With more objects, distances of a method without any of its own are those of a novelty detector.
MOST_FOR_KERNEL = 1000
# Models of folds that a file holds, together; of larger ones there are fewer, which is as valid.
MOST_BYTES = 32 * 2**20


class Refitted(NamedTuple):
    """A trained model and what the report shows of it."""

    model: TrainedModel
    distance_method: str
    d2: np.ndarray  # (n, c) squared distances of each object, by a model that had not seen it
    params: dict
    parts: list  # the objects of each fold of these models


def refit(problem, outcome, name, full_problem=None):
    """Fit the method of a name on all objects, and its distances.

    Parameters
    ----------
    problem : Problem
        What to classify.
    outcome : Outcome
        The comparison that the method was part of.
    name : str
        The method.
    full_problem : Problem or None
        The problem of which `problem` is a sample, if the classifier is to be fitted on all of it.

    Returns
    -------
    refitted : Refitted
        The model to save. Held-out distances are of one more cross-validation with the parameters
        that were chosen on all objects, and on the scale of its distances.
    """
    setting = _final_setting(problem, outcome)
    classifier, params = _fit(problem, METHODS[name].pipeline(setting))
    measured, distance_method, d2 = classifier, name, None
    if has_distances(classifier):
        # A chosen model may need what rows of a matrix do not hold: self-similarities.
        with suppress(ValueError):
            d2, folds, parts = held_out_folds(problem, measured, outcome.plan)
    if d2 is None:
        large = problem.kind == "vectors" and len(problem) > MOST_FOR_KERNEL
        distance_method = LARGE_DISTANCES if large else DISTANCE_METHOD
        measured, _ = _fit(problem, DISTANCE_METHODS[distance_method].pipeline(setting))
        d2, folds, parts = held_out_folds(problem, measured, outcome.plan)
    # A detector ranks by itself, but not where a row's group makes it look typical.
    own_ranks = distance_method == LARGE_DISTANCES and problem.groups is None
    if full_problem is not None:
        classifier, _ = _fit(full_problem, fixed(classifier))
    held = outcome.held_out(name, problem.y)
    temperature = float(fit_temperature(held.scores, held.truth))
    first = held.first_predictions(problem.independent(by_class=True))
    margins = class_margins(held.scores[first], held.truth[first])
    folds = folds[:1] if own_ranks else folds
    model = TrainedModel(classifier, measured, temperature, folds, margins, own_ranks)
    return Refitted(model, distance_method, d2, params, parts)


def chosen_on(problem, outcome, name):
    """The pipeline of a method, fitted on all objects with parameters chosen on them."""
    return _fit(problem, METHODS[name].pipeline(_final_setting(problem, outcome)))[0]


def _final_setting(problem, outcome):
    """Of the model that is saved: its parameters are chosen by more folds than those of a cell."""
    plan, seconds = replace(outcome.plan, inner_folds=FINAL_FOLDS), outcome.method_seconds
    seconds = None if seconds is None else FINAL_FOLDS / INNER_FOLDS * seconds
    return setting_for(problem, fit_plan(problem, plan), seconds)


def held_out_folds(problem, pipeline, plan):
    """Squared distances of each object to the classes, by models that had not seen it.

    They stand beside distances of new objects to the pipeline, which was fitted on all objects: the
    models of the folds regularise so much less as their classes have fewer objects.

    Returns
    -------
    d2 : ndarray of shape (n, c)
        Squared distances.
    folds : list of CrossFold
        The models, as many as `MOST_BYTES` allow; one at least. Of each group of objects one ranks
        new objects.
    parts : list of ndarray
        Objects of each fold, of all folds.
    """
    pipeline = fixed(pipeline)
    measure = pipeline.steps[0][1] if pipeline.steps[0][0] == "measure" else None
    if measure is not None:
        pipeline = Pipeline(pipeline.steps[1:])
    # A measure that learns from the objects learns in each fold anew.
    own_measure = measure is not None and problem.matrix() is None
    codes, independent = np.unique(problem.y, return_inverse=True)[1], problem.independent()
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
        ranked = test[independent[test]]
        folds.append(CrossFold(model, members, d2[ranked], codes[ranked]))
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
    pipeline = fitted(pipeline, problem.X, problem.y)
    params = chosen_params(pipeline[-1])
    if isinstance(pipeline[-1], GridSearchCV):
        # scikit-learn's searches hold scorers, which are functions; the choice is all we need.
        pipeline = Pipeline([*pipeline.steps[:-1], ("classify", pipeline[-1].best_estimator_)])
    return pipeline, params
