"""What is saved: the winner on all objects, distances to the classes, and how far objects were."""

import pickle
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..._validation import check_objects, take
from ...classifiers.distances import KernelMahalanobisEstimator, reg_for_part
from ...formulas.calibration import fit_temperature
from ...formulas.conformal import rank_p_values
from ...measures.table import as_measure
from ...novelty._models import CrossFold, FoldValues, evaluate_folds
from .crossval import (
    FINAL_FOLDS,
    Data,
    chosen_params,
    class_scores,
    fit_plan,
    fit_weighted,
    outer_splits,
    setting_for,
    square_matrix,
)
from .methods import DISTANCE_METHOD, METHODS


class MeasureRows(TransformerMixin, BaseEstimator):
    """Objects as rows of proximities to the training objects.

    Parameters
    ----------
    measure : str or measure
        What compares two objects.
    """

    def __init__(self, measure):
        self.measure = measure

    def fit(self, X, y=None):
        """Keep the training objects."""
        self.objects_ = check_objects(X)
        self.measure_ = as_measure(self.measure).fit(self.objects_)
        return self

    def fit_transform(self, X, y=None):
        """The square matrix of the training objects."""
        self.fit(X)
        return square_matrix(self.measure_, self.objects_)

    def transform(self, X):
        """Rows of proximities of objects to the training objects."""
        check_is_fitted(self)
        return self.measure_.between(check_objects(X), self.objects_, symmetrize="mean")


def class_distances(model, X):
    """Squared distances to the classes (m, c), None if the model has none."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if not hasattr(last, "mahalanobis"):
        return None
    for _, step in (steps or ())[:-1]:
        X = step.transform(X)
    return np.asarray(last.mahalanobis(X))


class TrainedModel(ClassifierMixin, BaseEstimator):
    """A classifier with distances to the classes beside it.

    Parameters
    ----------
    classifier : fitted estimator
        Predicts labels.
    distances : fitted estimator
        Has ``mahalanobis``, or is a pipeline that ends with such; None if there is none.
    held_out : list of ndarray
        For each class, squared distances of its own objects to it, each measured by a model that
        had not seen the object, ascending.
    temperature : float
        What the classifier's scores, or the logarithms of its own probabilities, are divided by
        before they become probabilities; 1 leaves its own probabilities as they are.
    folds : list of CrossFold or None
        The models that had not seen their fold's objects, and their distances of these: what ranks
        new objects. ``members`` are the columns of proximities that a model takes, None where it
        takes the objects as they are. None in files of mahalearn 0.1.
    """

    def __init__(self, classifier, distances=None, held_out=None, temperature=1.0, folds=None):
        self.classifier = classifier
        self.distances = distances
        self.held_out = held_out
        self.temperature = temperature
        self.folds = folds

    def __setstate__(self, state):
        super().__setstate__({"folds": None, **state})

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        """Class labels."""
        return self.classifier.classes_

    def predict(self, X):
        """Labels."""
        return self.classifier.predict(X)

    def predict_proba(self, X):
        """Class probabilities, calibrated by the temperature."""
        if self.temperature == 1.0 and hasattr(self.classifier, "predict_proba"):
            return self.classifier.predict_proba(X)
        return softmax(class_scores(self.classifier, X)[0] / self.temperature, axis=1)

    def mahalanobis(self, X):
        """Squared distances to the classes."""
        return class_distances(self.distances, X)

    def typicality(self, X):
        """How typical objects are of the classes.

        Parameters
        ----------
        X : table, matrix or objects
            As `predict` takes them.

        Returns
        -------
        found : FoldValues
            With p_values (m, c), p_none (m,), and nearest, from which drift is judged. Ranks are
            cross-conformal: an object and those of a fold are compared inside one model, which had
            seen neither. Of one fold alone they are exact (split conformal). Files of mahalearn 0.1
            have no folds: their p-values compare distances of different models, p_none is the
            largest of them, and nearest is empty.
        """
        if not self.folds:
            d2 = self.mahalanobis(X)
            p = np.column_stack(
                [rank_p_values(own, d2[:, j]) for j, own in enumerate(self.held_out)]
            )
            return FoldValues(d2, p, p.max(axis=1), [])
        rows = X
        first = self.distances.steps[0][1] if hasattr(self.distances, "steps") else None
        if isinstance(first, MeasureRows) and self.folds[0].members is not None:
            rows = first.transform(X)  # once for all folds
        distances = [
            class_distances(fold.model, X if fold.members is None else rows[:, fold.members])
            for fold in self.folds
        ]
        return evaluate_folds(self.folds, distances)

    def outliers(self, found, level=0.05):
        """Whether objects belong to none of the classes.

        Parameters
        ----------
        found : FoldValues
            Of `typicality`.
        level : float, default=0.05
            p_none of at most this; 1/(n + 1) where n training objects allow no smaller value. With
            a file of mahalearn 0.1, so for each class.

        Returns
        -------
        outliers : ndarray of shape (m,), dtype bool
        """
        if self.folds:
            least = 1 / (1 + sum(len(fold.codes) for fold in self.folds))
            return found.p_none <= max(level, least) + 1e-12
        least = np.array([1 / (1 + len(own)) for own in self.held_out])
        return (found.p_values <= np.maximum(level, least) + 1e-12).all(axis=1)


# --- fitting it -----------------------------------------------------------------------------------

# With more objects, distances of a method without any of its own are those of Gaussians.
MOST_FOR_KERNEL, QUICK_DISTANCES = 2000, "gaussian"
# Models of folds that a file holds, together; of larger ones there are fewer, which is as valid.
MOST_BYTES = 32 * 2**20


class Refitted(NamedTuple):
    """A trained model and what the report shows of it."""

    model: TrainedModel
    distance_method: str | None
    d2: (
        np.ndarray | None
    )  # (n, c) squared distances of each object, by a model that had not seen it
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
    if hasattr(classifier[-1], "mahalanobis"):
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
    classes = classifier.classes_
    held_out = [np.sort(d2[problem.y == label, j]) for j, label in enumerate(classes)]
    temperature = _temperature(problem, outcome, name)
    model = TrainedModel(classifier, measured, held_out, temperature, folds)
    return Refitted(model, distance_method, d2, params, parts)


def chosen_on(problem, plan, name):
    """The pipeline of a method, fitted on all objects with parameters chosen on them."""
    return _fit(problem, METHODS[name].pipeline(_final_setting(problem, plan)))[0]


def _final_setting(problem, plan):
    return setting_for(problem, fit_plan(problem, replace(plan, inner_folds=FINAL_FOLDS)))


def fixed(pipeline):
    """The pipeline with what its search has chosen in the place of the search, unfitted."""
    last = getattr(pipeline[-1], "best_estimator_", pipeline[-1])
    chosen = last.steps if isinstance(last, Pipeline) else [("classify", last)]
    steps = [*pipeline.steps[:-1], *((f"chosen {name}", step) for name, step in chosen)]
    return Pipeline([(name, clone(step)) for name, step in steps])


def flattened(estimator):
    """The fitted steps of pipelines and searches within each other, one after the other."""
    if isinstance(estimator, Pipeline):
        return [inner for _, step in estimator.steps for inner in flattened(step)]
    if "best_estimator_" in vars(estimator):
        return flattened(estimator.best_estimator_)
    return [estimator]


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
    data = Data(problem)
    # A measure that learns from the objects learns in each fold anew.
    own_measure = measure is not None and data.matrix is None
    codes = np.unique(problem.y, return_inverse=True)[1]
    d2 = np.full((len(problem), codes.max() + 1), np.nan)
    folds, parts, size = [], [], 0
    for train, test in _held_out_splits(problem, plan):
        X_train, X_test = data.fold(train, test)
        model = clone(pipeline)
        if isinstance(model[-1], KernelMahalanobisEstimator):
            sizes = (np.unique(y, return_counts=True)[1] for y in (problem.y, problem.y[train]))
            given = [getattr(model[-1], name) for name in ("reg", "reg_on", "variant")]
            model[-1].set_params(reg=reg_for_part(*given, *sizes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there was to say was said of the whole
            d2[test] = class_distances(model.fit(X_train, problem.y[train]), X_test)
        parts.append(test)
        size = size or len(pickle.dumps(model))
        if folds and (len(folds) + 1) * size > MOST_BYTES:
            continue
        members = None if problem.kind == "vectors" or own_measure else train
        if own_measure:
            fitted = MeasureRows(measure.measure).fit(take(problem.X, train))
            model = Pipeline([("measure", fitted), *model.steps])
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hopeless candidates, as in the comparison
        fit_weighted(pipeline, problem.X, problem.y, problem.weights)
    params = chosen_params(pipeline[-1])
    if isinstance(pipeline[-1], GridSearchCV):
        # scikit-learn's searches hold scorers, which are functions; the choice is all we need.
        pipeline = Pipeline([*pipeline.steps[:-1], ("classify", pipeline[-1].best_estimator_)])
    return pipeline, params


def _temperature(problem, outcome, name):
    """What calibrates the scores of the outer folds, be they log-probabilities or not."""
    cells = outcome.of(name)
    classes = np.unique(problem.y)
    truth = np.concatenate([problem.y[test] for _, test in outcome.splits])
    codes = np.searchsorted(classes, truth)
    return float(fit_temperature(np.vstack([cell.scores for cell in cells]), codes))
