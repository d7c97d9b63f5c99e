"""Held-out scores of candidates on the folds of a cross-validation.

Candidates of a kernel classifier are grouped: those of one matrix of pair values (distances, inner
products) come together, those of one kernel share its matrix, and those that differ in the path's
parameter alone share factorisations (``KernelClassifier._fold_scores``). Other classifiers are
fitted on each fold. A pipeline is fitted on each fold step by step; its last step has the path.

Scales (γ = "scale", standardised columns, the mean training distance of a measure) and landmarks
are resolved once, on all training objects and without their labels; in a pipeline on each fold.
"""

import inspect
import numbers
import time
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._base import ScoreClassifierMixin
from .._validation import LANDMARKS_REMEDY, check_memory, take
from ..classifiers.dissimilarity_space import head_scores
from ..classifiers.kernel_classifier import KernelClassifier, Labels
from ..formulas.linalg import total_spread
from ..formulas.spectrum import CORRECTIONS
from ..kernels.measure import MeasureKernel
from ..kernels.protocol import (
    POLYNOMIAL,
    WITH_GAMMA,
    as_kernel,
    check_kernel_name,
    fit_kernel,
    fit_named_kernel,
    is_named,
    is_precomputed,
    kernel_settings,
    standardizes,
)
from ..training.exact import corrects
from ..training.folds import Fold, KernelFolds, fitted_folds
from .grid import Multiple

# Candidates that one process fits on a fold, one after the other.
BATCH = 6
# Kernels whose self-similarities are 1.
_UNIT = ("rbf", "laplacian", "cosine", "chi2")


class Objects(NamedTuple):
    """Training objects, their labels, class indices and splits.

    pairs: matrices of pair values by key; fit_params: further arguments of fit; landmarks: a first
    look at the objects and the landmarks chosen, where candidates have landmarks.
    """

    X: Any
    y: Any
    codes: np.ndarray
    splits: list
    classes: np.ndarray
    fit_params: dict
    pairs: dict
    landmarks: Any = None


class Trial(NamedTuple):
    """A candidate to be scored: its position, its parameters and the estimator that has them."""

    position: int
    params: dict
    estimator: Any


class Scored(NamedTuple):
    """Held-out scores (m, c) of a candidate, all folds one after the other, and their rounding.

    params: with numbers in place of multiples; seconds: its share of the time; metrics (f,): the
    score that is searched for, of each fold; measure: the fitted kernel of a measure and the key of
    its pair values, None for others; landmarks: those of its training data, with the seed; error:
    what went wrong where there are no scores.
    """

    position: int
    params: dict
    scores: np.ndarray | None = None
    rounding: np.ndarray | None = None
    seconds: float = 0.0
    metrics: np.ndarray | None = None
    measure: tuple | None = None
    landmarks: Any = None
    error: Exception | None = None


# --- candidates -----------------------------------------------------------------------------------


@cache
def _parameter_names(estimator_class):
    return tuple(inspect.signature(estimator_class).parameters)


def shallow_params(estimator):
    """``get_params(deep=False)``; scikit-learn's looks at the signature each time."""
    if type(estimator).get_params is not BaseEstimator.get_params:
        return estimator.get_params(deep=False)
    return {name: getattr(estimator, name) for name in _parameter_names(type(estimator))}


def with_params(estimator, params):
    """A new estimator with these parameters; what it holds (a kernel matrix) is not copied."""
    if isinstance(estimator, Pipeline) or any("__" in name for name in params):
        return clone(estimator).set_params(**params)
    defaults = shallow_params(estimator)
    for name in params:
        if name not in defaults:
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {estimator}. Valid parameters are: "
                f"{sorted(defaults)}."
            )
    return type(estimator)(**{**defaults, **params})


def last_step(estimator):
    """The classifier itself: the last step of a pipeline."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def last_prefix(estimator):
    """How parameters of the last step begin."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""


def resolve_candidates(estimator, candidates, rows):
    """Candidates with a number for each multiple of γ = "scale", one for each measure of a group.

    rows(): the objects that the last step is fitted on.
    """
    out, prefix = [], last_prefix(estimator)
    for params in candidates:
        classifier = last_step(with_params(estimator, params))
        if not isinstance(classifier, KernelClassifier):
            out.append(params)
            continue
        for change in _resolved(classifier, rows):
            out.append({**params, **{prefix + name: value for name, value in change.items()}})
    return out


def _resolved(classifier, rows):
    """Changes of a classifier's kernel parameters, a list."""
    kernel, gamma = classifier.kernel, classifier.gamma
    if isinstance(gamma, Multiple):
        name, X = check_kernel_name(kernel), rows()
        standardize = standardizes(classifier.standardize, name, X)
        unit = fit_named_kernel(name, X, coef0=classifier.coef0, standardize=standardize).gamma
        change = {"gamma": float(unit * gamma.factor)}
        if isinstance(classifier.standardize, str):  # the width belongs to these columns
            change["standardize"] = standardize
        return [change]
    if is_named(kernel) or is_precomputed(kernel):
        return [{}]
    measure = as_kernel(kernel)
    if not isinstance(measure, MeasureKernel):
        return [{}]
    measures = measure.alternatives(rows())
    return [{"kernel": each} for each in measures] if len(measures) > 1 else [{}]


def frozen(value):
    """A key that equal parameters share; objects without parameters are equal to themselves."""
    if isinstance(value, BaseEstimator):
        params = shallow_params(value)
        return type(value), tuple((name, frozen(params[name])) for name in sorted(params))
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(frozen, value))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float, complex, bytes)):
        return type(value), value
    return "object", id(value)


def grouped(items, key):
    """Items by key, in the order of their first ones."""
    groups: dict = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


# --- the loop -------------------------------------------------------------------------------------


def score_candidates(trials, objects, n_jobs):
    """The Scored of every trial, as they come."""
    kernels = [t for t in trials if isinstance(t.estimator, KernelClassifier)]
    pipelines = [t for t in trials if isinstance(t.estimator, Pipeline)]
    taken = {t.position for t in (*kernels, *pipelines)}
    if objects.fit_params:  # kernel classifiers refuse them in their own words
        kernels, pipelines, taken = [], [], set()
    yield from _score_kernels(kernels, objects, n_jobs)
    yield from _score_pipelines(pipelines, objects, n_jobs)
    yield from _score_refits([t for t in trials if t.position not in taken], objects, n_jobs)


def assembled_scores(fold_scores, splits, n_values, n_classes):
    """Held-out scores (M, c, r) of all folds one after the other, and their rounding (M, r).

    fold_scores: as `KernelClassifier._fold_scores` gives them. −inf for a class that a fold has not
    seen.
    """
    starts = np.cumsum([0] + [len(test) for _, test in splits])
    scores = np.full((starts[-1], n_classes, n_values), -np.inf)
    rounding = np.zeros((starts[-1], n_values))
    done = np.zeros((len(splits), n_values), dtype=bool)
    for f, steps, present, held_out, noise in fold_scores:
        rows = slice(starts[f], starts[f + 1])
        scores[rows, present, steps] = held_out
        rounding[rows, steps] = noise
        done[f, steps] = True
    assert done.all()
    return scores, rounding


# --- classifiers on kernels -----------------------------------------------------------------------


class Setting(NamedTuple):
    """A kernel that candidates share, and how its matrix is found.

    key: what tells it from others; pairs: key of the pair values that the kernel is a map of, None
    where it has none; fitted: the kernel as fitted once for all folds, None where it learns in
    each fold or X is the matrix; trials: the candidates.
    """

    key: tuple
    pairs: object
    fitted: object
    trials: list


def _score_kernels(trials, objects, n_jobs):
    sound, broken = [], []
    for trial in trials:
        try:
            if not isinstance(getattr(trial.estimator, trial.estimator._axis), Multiple):
                trial.estimator._check_parameters()
            sound.append(trial)
        except Exception as error:
            broken.append(Scored(trial.position, trial.params, error=error))
    yield from broken
    for group in grouped(sound, lambda t: _landmark_key(t.estimator)):
        yield from _score_kernel_group(group, objects, n_jobs)


def _landmark_key(estimator):
    """Key of the parameters that choose landmarks."""
    return frozen(estimator.landmarks), frozen(estimator.random_state)


def _score_kernel_group(trials, objects, n_jobs):
    """Candidates that are all exact, or have the same landmarks."""
    exact, n = trials[0].estimator.landmarks is None, len(objects.y)
    if exact:
        # The pair values that kernels share, a kernel matrix and its factors.
        check_memory(4 * n**2, f"The search on the kernel matrix of {n} objects", LANDMARKS_REMEDY)
        objects = objects._replace(landmarks=None)
    settings, broken = kernel_list(trials, objects)
    yield from broken
    if not exact:
        try:
            objects = with_landmarks(settings, objects)
        except Exception as error:
            yield from (
                Scored(t.position, t.params, error=error) for s in settings for t in s.trials
            )
            return
    alone = objects._replace(pairs={})  # other processes get what they need of them
    for group in grouped(settings, lambda s: s.key if s.pairs is None else s.pairs):
        pairs = _pair_values(objects, group)
        run = Parallel(n_jobs=n_jobs, return_as="generator")
        for scored in run(delayed(_score_setting)(alone, setting, pairs) for setting in group):
            yield from (one._replace(landmarks=objects.landmarks) for one in scored)


def with_landmarks(settings, objects):
    """Objects with a first look at them, and with the landmarks that all kernels share."""
    first = _with_spread(settings[0].trials[0], lambda: 1.0).estimator  # that number is not asked
    data = objects.landmarks
    if data is None:
        data = first._landmark_data(objects.X, objects.y)
    names = {frozen(setting.trials[0].estimator.kernel) for setting in settings}
    data = first._with_landmarks_chosen(data, shared=len(names) == 1)
    return objects._replace(landmarks=data)


def kernel_list(trials, objects):
    """The Settings of candidates, in order; and the Scored of those whose kernel has an error.

    Measures are computed here, once for all kernels of them.
    """
    settings: dict = {}
    broken = []
    for trial in trials:
        try:
            key, pairs, fitted = _kernel_of(trial.estimator, objects)
        except MemoryError:
            raise
        except Exception as error:
            broken.append(Scored(trial.position, trial.params, error=error))
            continue
        setting = settings.setdefault(key, Setting(key, pairs, fitted, []))
        setting.trials.append(trial)
    return list(settings.values()), broken


def _kernel_of(estimator, objects):
    """Key, key of the pair values and fitted kernel of an estimator's kernel."""
    kernel, spectrum = estimator.kernel, estimator._check_spectrum()
    if is_precomputed(kernel):
        return ("precomputed", spectrum), None, None
    X = objects.X
    if objects.landmarks is not None and objects.landmarks.folds is not None and is_named(kernel):
        X = objects.landmarks.scanned.two_rows()  # they have the mean and the spread of all
    if is_named(kernel):
        settings = kernel_settings(estimator, X)
        fitted = fit_kernel(kernel, X, **settings)
        name, standardize = fitted.name, frozen(settings["standardize"])
        used = (
            fitted.gamma if name in WITH_GAMMA else None,
            fitted.degree if name in POLYNOMIAL else None,
            fitted.coef0 if name in (*POLYNOMIAL, "sigmoid") else None,
        )
        if not corrects(spectrum, fitted.positive_definite) and spectrum in CORRECTIONS:
            spectrum = "krein"  # nothing to correct: classifiers that would share the matrix
        # One standardisation for all widths of a name: its numbers need not be part of the key.
        pairs = None if fitted.pair_key is None else (fitted.pair_key, standardize)
        return (name, used, standardize, spectrum), pairs, fitted
    key = frozen(kernel), spectrum
    measure = as_kernel(kernel)
    at_landmarks = estimator.landmarks is not None
    if at_landmarks or not isinstance(measure, MeasureKernel) or not measure.measure_is_stateless:
        return key, None, None
    pairs, n = measure.pair_key, len(objects.y)
    if pairs not in objects.pairs:
        check_memory((5 + len(objects.pairs)) * n**2, f"The measures of {n} objects")
        objects.pairs[pairs] = measure.pair_values(X, X)
    measure.fit_pairs(objects.pairs[pairs])
    return key, pairs, measure


def _pair_values(objects, group):
    """The pair values that kernels share, None where a kernel alone needs them."""
    first = group[0]
    if objects.landmarks is not None:
        return None
    if first.pairs in objects.pairs:
        return objects.pairs[first.pairs]
    if first.pairs is None or len(group) == 1:
        return None
    return first.fitted.pair_values(objects.X, objects.X)


def _score_setting(objects, setting, pairs):
    """The Scored of all candidates of one kernel."""
    start = time.perf_counter()
    try:
        folds = _folds(objects, setting, pairs)
    except Exception as error:
        return [Scored(t.position, t.params, error=error) for t in setting.trials]
    share = (time.perf_counter() - start) / len(setting.trials)
    trials = [
        _with_spread(t, partial(kernel_spread, folds, setting.fitted)) for t in setting.trials
    ]
    out = []
    for path in grouped(trials, lambda t: _beside_axis(t.estimator)):
        scored = _score_path(path, folds, objects)
        if any(s.error for s in scored) and len(path) > 1:  # which of them is it?
            scored = [s for trial in path for s in _score_path([trial], folds, objects)]
        out += scored
    measure = (setting.fitted, setting.pairs) if isinstance(setting.fitted, MeasureKernel) else None
    return [s._replace(seconds=s.seconds + share, measure=measure) for s in out]


def _with_spread(trial, spread):
    """A trial with a number in place of a multiple of the kernel's spread()."""
    classifier, prefix = last_step(trial.estimator), last_prefix(trial.estimator)
    value = getattr(classifier, classifier._axis)
    if not isinstance(value, Multiple):
        return trial
    params = {prefix + classifier._axis: value.factor * spread() ** value.power}
    estimator = with_params(trial.estimator, params)
    return trial._replace(params={**trial.params, **params}, estimator=estimator)


# Parameters of a kernel by name.
_OF_KERNEL = ("kernel", "gamma", "degree", "coef0", "standardize")


def _beside(estimator, varied):
    """Key of what candidates that differ in the parameters `varied` have in common."""
    params = shallow_params(estimator)
    names = [name for name in sorted(params) if name not in varied]
    return type(estimator), *((name, frozen(params[name])) for name in names)


def _beside_axis(estimator):
    """Key of what candidates of one path have in common."""
    return _beside(estimator, (estimator._axis, *_OF_KERNEL))


def _score_path(trials, folds, objects):
    """The Scored of candidates that differ in the path's parameter alone."""
    start, n_classes = time.perf_counter(), len(objects.classes)
    try:
        values, place, fold_scores = _path_fold_scores(trials, folds, objects)
        scores, rounding = assembled_scores(fold_scores, objects.splits, len(values), n_classes)
    except Exception as error:
        return [Scored(t.position, t.params, error=error) for t in trials]
    share = (time.perf_counter() - start) / len(trials)
    return [
        Scored(t.position, t.params, scores[..., r], rounding[..., r], share)
        for t, r in zip(trials, place, strict=True)
    ]


def _path_fold_scores(trials, folds, objects):
    """Distinct values of the path, the place of each trial among them, and the folds' scores."""
    first = trials[0].estimator
    values = [t.estimator._fixed_axis_value(folds.kernel) for t in trials]
    keys = [frozen(value) for value in values]
    distinct = dict(zip(keys, values, strict=True))
    if all(isinstance(value, numbers.Real) for value in values):
        distinct = dict(sorted(distinct.items(), key=lambda item: item[1]))
    place = [list(distinct).index(key) for key in keys]
    path = list(distinct.values())
    if all(isinstance(value, numbers.Real) for value in values):
        return path, place, first._fold_scores(folds, path)
    by_place = [trials[place.index(r)].estimator for r in range(len(path))]
    return path, place, _fold_by_fold(by_place, folds, objects.classes)


def _fold_by_fold(estimators, folds, classes):
    """As `KernelClassifier._fold_scores`, for values that each fold resolves by itself."""
    for r, estimator in enumerate(estimators):
        for f in range(len(folds)):
            training, present, queries = folds[f]
            labels = Labels(classes, present, training.codes, training.counts)
            value = estimator._axis_value(training, folds.kernel)
            models = estimator._fit_path(training, labels, [value])
            scores = models.scores(training, queries)
            yield f, slice(r, r + 1), present, scores, models.rounding


def _folds(objects, setting, pairs):
    first = setting.trials[0].estimator
    if objects.landmarks is not None:  # one pass per kernel; the folds keep their moments apart
        return first._landmark_folds(objects.landmarks, objects.splits)
    kernel, gram = setting.fitted, None
    if kernel is None:
        kernel = None if is_precomputed(first.kernel) else as_kernel(first.kernel)
    elif pairs is not None:
        gram = kernel.from_pairs(pairs)
    else:
        gram = kernel(objects.X, objects.X)
    return KernelFolds(
        objects.X,
        objects.y,
        objects.codes,
        objects.splits,
        kernel,
        first._check_spectrum(),
        gram,
    )


def kernel_spread(folds, kernel):
    """The unit of regularisation: the spread |trace HKH|/n of a kernel of unknown scale.

    1 for kernels with self-similarities 1, for kernels of dissimilarities that are scaled already,
    and for those that learn in each fold.
    """
    scaled = getattr(kernel, "scale_", None) is not None and kernel.scale is not None
    if folds.lookup is None or scaled or getattr(kernel, "name", "") in _UNIT:
        return 1.0
    diagonal = folds.lookup.K.diagonal()
    unit = np.ptp(diagonal) <= 1e-10 and abs(diagonal[0] - 1) <= 1e-10
    return 1.0 if unit else total_spread(folds.lookup.K)


# --- classifiers that are fitted on each fold -----------------------------------------------------


def fit_arguments(fit_params, rows, n):
    """Further arguments of fit for some of n objects: what has a value for each is divided."""
    sized = {
        name: hasattr(v, "__len__") and not isinstance(v, str) for name, v in fit_params.items()
    }
    return {
        name: take(value, rows) if sized[name] and len(value) == n else value
        for name, value in fit_params.items()
    }


def parts_of(estimator, X, train, test):
    """Training and test objects of a split; of a square matrix rows and columns."""
    if get_tags(estimator).input_tags.pairwise:
        X = np.asarray(X)
        return X[np.ix_(train, train)], X[np.ix_(test, train)]
    return take(X, train), take(X, test)


def class_scores(model, X):
    """Scores (m, c) of a fitted classifier, the largest that of the class that it predicts."""
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        return class_scores(last_step(model), X)
    if not isinstance(model, ScoreClassifierMixin):
        return head_scores(model, X)
    scores = model._all_scores(X)  # relative to the largest, so that large common terms are gone
    return scores - scores.max(axis=1, keepdims=True)


def fold_tables(estimators, X, y, X_test, fit_params):
    """For each estimator (classes, scores (m, c) of the test objects, rounding)."""
    if hasattr(estimators[0], "_held_out_scores"):
        return estimators[0]._held_out_scores(estimators, X, y, X_test, **fit_params)
    tables = []
    for estimator in estimators:
        model = clone(estimator).fit(X, y, **fit_params)
        rounding = getattr(last_step(model), "_rounding", 0.0)
        tables.append((model.classes_, class_scores(model, X_test), rounding))
    return tables


def _score_refits(trials, objects, n_jobs):
    """Candidates without shared factorisations, in batches that share what they can."""
    batches = [
        group[i : i + BATCH]
        for group in grouped(trials, lambda t: _beside(t.estimator, _shared_parameters(t)))
        for i in range(0, len(group), BATCH)
    ]
    yield from _score_fold_by_fold(_refit_fold, batches, objects, n_jobs)


def _shared_parameters(trial):
    """Parameters in which candidates may differ that a classifier fits together."""
    return getattr(trial.estimator, "_shared_parameters", ())


def _score_fold_by_fold(one_fold, groups, objects, n_jobs):
    """The Scored of groups of trials; one_fold: (table or error, seconds) of each on a split."""
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    folds = run(
        delayed(one_fold)(group, objects, *split) for group in groups for split in objects.splits
    )
    for group in groups:
        tables = zip(*[next(folds) for _ in objects.splits], strict=True)
        for trial, of_trial in zip(group, tables, strict=True):
            yield _assembled(trial, of_trial, objects)
    assert next(folds, None) is None


def _refit_fold(trials, objects, train, test):
    """(table or error, seconds) of each trial on a split."""
    start, n = time.perf_counter(), len(objects.y)
    estimators = [t.estimator for t in trials]
    X, X_test = parts_of(estimators[0], objects.X, train, test)
    arguments = fit_arguments(objects.fit_params, train, n)
    y = take(objects.y, train)

    def tables(some):
        try:
            return fold_tables(some, X, y, X_test, arguments)
        except Exception as error:
            return [error] * len(some)

    out = tables(estimators)
    if len(out) > 1 and isinstance(out[0], Exception):
        out = [table for estimator in estimators for table in tables([estimator])]
    seconds = (time.perf_counter() - start) / len(estimators)
    return [(table, seconds) for table in out]


def _assembled(trial, folds, objects):
    """The Scored of a trial from (table or error, seconds) of each fold."""
    seconds = sum(took for _, took in folds)
    error = next((table for table, _ in folds if isinstance(table, Exception)), None)
    if error is not None:
        return Scored(trial.position, trial.params, seconds=seconds, error=error)

    def fold_scores():
        for f, ((classes, scores, rounding), _) in enumerate(folds):
            present = np.searchsorted(objects.classes, classes)
            yield f, slice(0, 1), present, scores[..., None], np.atleast_1d(rounding)

    scores, rounding = assembled_scores(fold_scores(), objects.splits, 1, len(objects.classes))
    return Scored(trial.position, trial.params, scores[..., 0], rounding[..., 0], seconds)


# --- pipelines ------------------------------------------------------------------------------------


def _score_pipelines(trials, objects, n_jobs):
    """Pipelines: in each fold the steps before the last are fitted once for all that share them."""
    groups = grouped(trials, lambda t: tuple(frozen(step) for _, step in t.estimator.steps[:-1]))
    yield from _score_fold_by_fold(_pipeline_fold, groups, objects, n_jobs)


def transformed(pipeline, X, y, X_test=None):
    """Objects behind the steps before the last, these fitted on X; and further objects."""
    if len(pipeline.steps) == 1:
        return X, X_test
    before = clone(pipeline[:-1])
    Z = before.fit_transform(X, y)
    return Z, None if X_test is None else before.transform(X_test)


def _pipeline_fold(trials, objects, train, test):
    """(table or error, seconds) of pipelines that have the steps before in common."""
    start, pipeline = time.perf_counter(), trials[0].estimator
    y, out = take(objects.y, train), {}
    X, X_test = parts_of(pipeline, objects.X, train, test)
    try:
        X, X_test = transformed(pipeline, X, y, X_test)
    except Exception as error:
        return [(error, 0.0)] * len(trials)
    last = [t._replace(estimator=last_step(t.estimator)) for t in trials]
    shared = [
        t
        for t in last
        if isinstance(t.estimator, KernelClassifier) and t.estimator.landmarks is None
    ]
    for group in grouped(shared, lambda t: (_kernel_key(t.estimator), _beside_axis(t.estimator))):
        tables = _split_path(group, X, y, X_test)
        if isinstance(tables[0], Exception) and len(group) > 1:
            tables = [table for t in group for table in _split_path([t], X, y, X_test)]
        out |= {t.position: table for t, table in zip(group, tables, strict=True)}
    for trial in last:
        if trial.position not in out:
            try:
                out[trial.position] = fold_tables([trial.estimator], X, y, X_test, {})[0]
            except Exception as error:
                out[trial.position] = error
    seconds = (time.perf_counter() - start) / len(trials)
    return [(out[t.position], seconds) for t in trials]


def _kernel_key(estimator):
    return tuple(frozen(getattr(estimator, name)) for name in _OF_KERNEL)


class SplitFold:
    """One training set and its held-out objects, with what `_fold_scores` asks of KernelFolds."""

    lookup = matrix = None
    positive_definite = definite_classes = False

    def __init__(self, estimator, X, y, X_test):
        training, codes = estimator._fit_training(X, y)
        queries = estimator._check_query(X_test)
        self.kernel, self.spectrum = training.kernel, estimator.spectrum
        self.classes, self.codes = estimator.classes_, codes
        self.y = self.classes[codes]
        n = len(codes)
        self.splits = [(np.arange(n), np.arange(n, n + len(queries)))]
        self.fold = Fold(training, np.arange(len(self.classes)), queries)

    @property
    def knows_queries(self):
        """True if k(x, x) of the held-out objects is known."""
        return self.fold.training.self_similarities(self.fold.queries) is not None

    def __len__(self):
        return 1

    def __getitem__(self, f):
        return self.fold

    def distances(self, variant, regs, reg_on, *, volumes=False, common="required"):
        """FoldDistances of the one fold."""
        return fitted_folds(self, variant, regs, reg_on, volumes, common)


def _split_path(trials, X, y, X_test):
    """Tables of kernel classifiers that differ in the path's parameter alone, on one split."""
    try:
        for trial in trials:
            trial.estimator._check_parameters()
        fold = SplitFold(clone(trials[0].estimator), X, y, X_test)
        if not fold.knows_queries:  # rows of a matrix: the classifier knows where that matters
            return [fold_tables([t.estimator], X, y, X_test, {})[0] for t in trials]
        classes = np.unique(fold.y)
        objects = Objects(None, fold.y, fold.codes, fold.splits, classes, {}, {})
        values, place, fold_scores = _path_fold_scores(trials, fold, objects)
        scores, rounding = assembled_scores(fold_scores, fold.splits, len(values), len(classes))
    except Exception as error:
        return [error] * len(trials)
    return [(classes, scores[..., r], rounding[0, r]) for r in place]


def resolve_spreads(trials, rows, y, codes):
    """Pipelines with numbers in place of multiples of the spread.

    rows(): the objects that the last step is fitted on.
    """
    last = [t._replace(estimator=last_step(t.estimator)) for t in trials]
    last = [t for t in last if isinstance(t.estimator, KernelClassifier)]
    last = [t for t in last if isinstance(getattr(t.estimator, t.estimator._axis), Multiple)]
    everyone = [(np.arange(len(codes)), np.arange(0))]
    spreads = {}
    for group in grouped(last, lambda t: _landmark_key(t.estimator)):
        objects = Objects(rows(), y, codes, everyone, np.unique(y), {}, {})
        settings, _ = kernel_list(group, objects)
        if group[0].estimator.landmarks is not None:
            objects = with_landmarks(settings, objects)
        for setting in settings:
            unit = getattr(setting.fitted, "name", "") in _UNIT
            folds = None if unit else _folds(objects, setting, None)
            spread = 1.0 if unit else kernel_spread(folds, setting.fitted)
            spreads |= {t.position: spread for t in setting.trials}
    return [
        _with_spread(t, lambda t=t: spreads[t.position]) if t.position in spreads else t
        for t in trials
    ]
