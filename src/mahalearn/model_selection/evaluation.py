"""Held-out scores of candidates on the folds of a cross-validation.

There are two roads. Candidates of kernel classifiers go by kernel: those of one matrix of pair
values (distances, inner products) come together, those of one kernel share its folds, and those
that differ in the path's parameter alone share factorisations (``held_out_scores``). All others go
by fold: the steps before a classifier in a pipeline are fitted, and on what comes out of them the
classifier gives ``split_scores`` of all candidates that it can fit together.

Scales (γ = "scale", standardised columns, the mean training distance of a measure) and landmarks
are resolved once, on all training objects and without their labels; in a pipeline on each fold.
"""

import inspect
import time
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._base import refit_scores
from .._sparse import as_rows
from .._validation import LANDMARKS_REMEDY, check_memory, take
from ..classifiers.kernel_classifier import KernelClassifier
from ..classifiers.members import same_landmarks
from ..formulas.linalg import total_spread
from ..formulas.spectrum import CORRECTIONS
from ..kernels.protocol import (
    POLYNOMIAL,
    WITH_GAMMA,
    as_kernel,
    fit_kernel,
    fit_named_kernel,
    is_named,
    is_precomputed,
    kernel_settings,
    standardizes,
)
from ..training.exact import corrects
from ..training.folds import KernelFolds
from .grid import Multiple

# Candidates that one process fits on a fold, one after the other.
BATCH = 6
# Parameters of a kernel by name.
_OF_KERNEL = ("kernel", "gamma", "degree", "coef0", "standardize")


class SearchData(NamedTuple):
    """Training objects, their labels, class indices and splits.

    pairs: values of all pairs under the measures that are computed already, by key; fit_params:
    further arguments of fit; score_params: those of the scorer; landmarks: a first look at the
    objects and the landmarks chosen, where candidates have landmarks; sample_rows: see
    LandmarkFolds; before: the steps before the classifier in a pipeline.
    """

    X: Any
    y: Any
    codes: np.ndarray
    splits: list
    classes: np.ndarray
    fit_params: dict
    score_params: dict
    pairs: dict
    landmarks: Any = None
    sample_rows: int | None = None
    before: Any = None

    def score_arguments(self):
        """Arguments of the scorer for each split."""
        return [fit_arguments(self.score_params, test, len(self.y)) for _, test in self.splits]

    def last_step(self):
        """The same as the last step of a pipeline takes them, the others fitted on all objects."""
        X = self.X if self.before is None else clone(self.before).fit_transform(self.X, self.y)
        return self._replace(X=as_rows(X), before=None)

    def sample(self, kernel):
        """The objects that a kernel learns its scales from."""
        in_parts = self.landmarks is not None and self.landmarks.folds is not None
        return self.landmarks.scanned.two_rows() if in_parts and is_named(kernel) else self.X


class Trial(NamedTuple):
    """A candidate to be scored: its position, its parameters and the estimator that has them."""

    position: int
    params: dict
    estimator: Any

    def scored(self, table, seconds):
        """The Scored of (scores, rounding), or of the error that came instead."""
        if isinstance(table, Exception):
            return Scored(self.position, self.params, seconds=seconds, error=table)
        return Scored(self.position, self.params, *table, seconds)


class Scored(NamedTuple):
    """Held-out scores (m, c) of a candidate, all folds one after the other, and their rounding.

    params: with numbers in place of multiples; seconds: its share of the time; metrics (f,): the
    score that is searched for, of each fold; measure: the fitted kernel of a measure and its values
    of all pairs, None for others; landmarks: those of its training data, with the seed; error: what
    went wrong where there are no scores.
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
    if steps_of(estimator).prefix or any("__" in name for name in params):
        return clone(estimator).set_params(**params)
    defaults = shallow_params(estimator)
    for name in params:
        if name not in defaults:
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {estimator}. Valid parameters are: "
                f"{sorted(defaults)}."
            )
    return type(estimator)(**{**defaults, **params})


class Steps(NamedTuple):
    """The steps before a classifier in a pipeline, or None; the classifier; the prefix of its
    parameters, which is empty without a pipeline.
    """

    before: Any
    classifier: Any
    prefix: str

    def fit_transformed(self, X, y, *queries):
        """Objects behind the steps before, which are fitted on X; and further ones."""
        if self.before is None:
            return X, *queries
        before = clone(self.before)
        return before.fit_transform(X, y), *map(before.transform, queries)


def steps_of(estimator):
    """The Steps of an estimator."""
    if not isinstance(estimator, Pipeline):
        return Steps(None, estimator, "")
    name, classifier = estimator.steps[-1]
    return Steps(estimator[:-1] if len(estimator.steps) > 1 else None, classifier, f"{name}__")


def copy_columns(fitted, to):
    """Number and names of the columns of a fitted estimator, for an estimator that holds it."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(to, name, getattr(fitted, name))


def on_kernel(estimator):
    """True for a classifier whose candidates may share a kernel."""
    return isinstance(estimator, KernelClassifier)


def resolve_candidates(estimator, candidates, objects):
    """Candidates with numbers for multiples of γ = "scale", one for each measure of a group."""
    out, last_step = [], cache(objects.last_step)
    for params in candidates:
        _, classifier, prefix = steps_of(with_params(estimator, params))
        changes = _resolved(classifier, last_step) if on_kernel(classifier) else [{}]
        for change in changes:
            out.append({**params, **{prefix + name: value for name, value in change.items()}})
    return out


def _resolved(classifier, objects):
    """Changes of a classifier's kernel parameters, a list; objects(): its SearchData."""
    kernel, gamma = classifier.kernel, classifier.gamma
    if isinstance(gamma, Multiple):
        X = objects().sample(kernel)
        standardize = standardizes(classifier.standardize, kernel, X)
        unit = fit_named_kernel(kernel, X, coef0=classifier.coef0, standardize=standardize).gamma
        change = {"gamma": float(unit * gamma.factor)}
        if isinstance(classifier.standardize, str):  # the width belongs to these columns
            change["standardize"] = standardize
        return [change]
    if is_named(kernel) or is_precomputed(kernel):
        return [{}]
    kernels = as_kernel(kernel).alternatives(objects().X)
    return [{"kernel": each} for each in kernels] if len(kernels) > 1 else [{}]


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


def _key_without(estimator, varied):
    """Key that estimators share which differ in the parameters `varied` alone."""
    params = shallow_params(estimator)
    names = [name for name in sorted(params) if name not in varied]
    return type(estimator), *((name, frozen(params[name])) for name in names)


# --- the loop -------------------------------------------------------------------------------------


def score_candidates(trials, objects, n_jobs):
    """The Scored of every trial, as they come."""
    # With further arguments of fit kernel classifiers are fitted, or refuse them.
    by_kernel = [t for t in trials if on_kernel(t.estimator) and not objects.fit_params]
    params = {t.position: t.params for t in by_kernel}
    for one in _score_by_kernel(by_kernel, objects, n_jobs):
        # Values that another process returns are copies of those that were passed.
        passed = {n: v for n, v in params[one.position].items() if not isinstance(v, Multiple)}
        yield one._replace(params={**one.params, **passed})
    yield from _score_by_fold([t for t in trials if t.position not in params], objects, n_jobs)


def _tables_or_errors(score, trials):
    """score(trials), a table for each; where that fails, each trial alone: a table or its error."""
    try:
        return score(trials)
    except Exception as error:
        if len(trials) == 1:
            return [error]
        return [table for trial in trials for table in _tables_or_errors(score, [trial])]


# --- kernel by kernel -----------------------------------------------------------------------------


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

    def folds(self, objects, pairs=None):
        """The training sets of all splits; pairs: the pair values, where they are there."""
        first, X = self.trials[0].estimator, objects.X
        if objects.landmarks is not None:  # one pass per kernel; folds keep their moments apart
            return first.landmark_folds(objects.landmarks, objects.splits, objects.sample_rows)
        kernel, gram = self.fitted, None
        if kernel is not None:
            gram = kernel(X, X) if pairs is None else kernel.from_pairs(pairs)
        elif not is_precomputed(first.kernel):
            kernel = as_kernel(first.kernel)
        options = objects.splits, kernel, first.checked_spectrum(), gram
        return KernelFolds(X, objects.y, objects.codes, *options)

    def spread(self, folds):
        """The unit of regularisation: the spread |trace HKH|/n of a kernel of unknown scale.

        1 for kernels with self-similarities 1, for kernels of dissimilarities that are scaled
        already, and for those that learn in each fold. folds(): those of the setting.
        """
        K = None if self.fitted is not None and self.fitted.has_unit_scale else folds().gram
        if K is None:
            return 1.0
        diagonal = K.diagonal()
        unit = np.ptp(diagonal) <= 1e-10 and abs(diagonal[0] - 1) <= 1e-10
        return 1.0 if unit else total_spread(K)


def _score_by_kernel(trials, objects, n_jobs):
    for settings, of_group, broken in _kernel_groups(trials, objects):
        yield from broken
        alone = of_group._replace(pairs={})  # other processes get what they need of them
        for group in grouped(settings, lambda s: s.key if s.pairs is None else s.pairs):
            pairs = _pair_values(of_group, group)
            run = Parallel(n_jobs=n_jobs, return_as="generator")
            tables = run(delayed(_score_setting)(alone, setting, pairs) for setting in group)
            for setting, scored in zip(group, tables, strict=True):
                measure = (setting.fitted, pairs) if setting.pairs in of_group.pairs else None
                for one in scored:
                    yield one._replace(landmarks=of_group.landmarks, measure=measure)


def _kernel_groups(trials, objects):
    """(Settings, SearchData, Scored of errors) of candidates that are exact, or share landmarks.

    The objects have a first look at them, and the landmarks that all kernels share.
    """
    for group in grouped(
        trials, lambda t: frozen((t.estimator.landmarks, t.estimator.random_state))
    ):
        exact, n = group[0].estimator.landmarks is None, len(objects.y)
        if exact:
            # The pair values that kernels share, a kernel matrix and its factors.
            what = f"The search on the kernel matrix of {n} objects"
            check_memory(4 * n**2, what, LANDMARKS_REMEDY)
        of_group = objects._replace(landmarks=None) if exact else objects
        settings, broken = _kernel_list(group, of_group)
        if settings and not exact:
            try:
                of_group = _with_landmarks(settings, of_group)
            except Exception as error:
                broken += [t.scored(error, 0.0) for s in settings for t in s.trials]
                settings = []
        yield settings, of_group, broken


def _with_landmarks(settings, objects):
    first = settings[0].trials[0].estimator
    source = objects.landmarks or first.landmark_source(objects.X, objects.y)
    estimators = [setting.trials[0].estimator for setting in settings]
    shared = len({frozen(e.kernel) for e in estimators}) == 1
    shared = shared or (not source.scanned.sparse and same_landmarks(estimators))
    source = first.with_chosen_landmarks(source, shared=shared)
    return objects._replace(landmarks=source)


def _kernel_list(trials, objects):
    """The Settings of candidates, in order; and the Scored of those whose kernel has an error.

    Measures are computed here, once for all kernels of them.
    """
    settings: dict = {}
    broken = []
    for group in grouped(trials, lambda t: _kernel_key(t.estimator)):
        try:
            key, pairs, fitted = _kernel_of(group[0].estimator, objects)
        except MemoryError:
            raise
        except Exception as error:
            broken += [trial.scored(error, 0.0) for trial in group]
            continue
        settings.setdefault(key, Setting(key, pairs, fitted, [])).trials.extend(group)
    return list(settings.values()), broken


def _kernel_key(estimator):
    """Key of the candidates with the same kernel and treatment of its spectrum."""
    return frozen([getattr(estimator, name) for name in (*_OF_KERNEL, "spectrum")])


def _kernel_of(estimator, objects):
    """Key, key of the pair values and fitted kernel of an estimator's kernel."""
    kernel, spectrum = estimator.kernel, estimator.checked_spectrum()
    if is_precomputed(kernel):
        return ("precomputed", spectrum), None, None
    X = objects.sample(kernel)
    if is_named(kernel):
        settings = kernel_settings(estimator, X)
        fitted = fit_kernel(kernel, X, **settings)
        name, standardize = fitted.name, frozen(settings["standardize"])
        used = (
            fitted.gamma if name in WITH_GAMMA else None,
            fitted.degree if name in POLYNOMIAL else None,
            fitted.coef0 if name in (*POLYNOMIAL, "sigmoid") else None,
        )
        if spectrum in CORRECTIONS and not corrects(spectrum, fitted.positive_definite):
            spectrum = "krein"  # nothing to correct: classifiers that would share the matrix
        # One standardisation for all widths of a name: its numbers need not be part of the key.
        pairs = None if fitted.pair_key is None else (fitted.pair_key, standardize)
        return (name, used, standardize, spectrum), pairs, fitted
    key = frozen(kernel), spectrum
    measure = as_kernel(kernel)
    if estimator.landmarks is not None or not measure.measure_is_stateless:
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
        folds = setting.folds(objects, pairs)
    except Exception as error:
        return [t.scored(error, 0.0) for t in setting.trials]
    share = (time.perf_counter() - start) / len(setting.trials)
    spread = cache(partial(setting.spread, lambda: folds))
    trials = [_with_spread(t, spread) for t in setting.trials]

    def score(path):
        estimators = [t.estimator for t in path]
        return estimators[0].held_out_scores(estimators, folds)

    out = []
    for path in grouped(trials, lambda t: _path_key(t.estimator)):
        start = time.perf_counter()
        tables = _tables_or_errors(score, path)
        seconds = share + (time.perf_counter() - start) / len(path)
        for trial, table in zip(path, tables, strict=True):
            out.append(trial.scored(table, seconds))
    return out


def _path_key(estimator):
    """Key of the candidates of one path, whatever their kernel."""
    return _key_without(estimator, (*estimator.shared_parameters, *_OF_KERNEL))


def _multiple(trial):
    """The Multiple that the path's parameter of a trial is, None where it is a number."""
    classifier = steps_of(trial.estimator).classifier
    value = getattr(classifier, classifier.path_parameter) if on_kernel(classifier) else None
    return value if isinstance(value, Multiple) else None


def _with_spread(trial, spread):
    """A trial with a number in place of a multiple of the kernel's spread()."""
    if (value := _multiple(trial)) is None:
        return trial
    _, classifier, prefix = steps_of(trial.estimator)
    params = {prefix + classifier.path_parameter: value.factor * spread() ** value.power}
    estimator = with_params(trial.estimator, params)
    return trial._replace(params={**trial.params, **params}, estimator=estimator)


def resolve_spreads(trials, objects):
    """Trials that go by fold, with numbers in place of multiples of the spread."""
    last = [t._replace(estimator=steps_of(t.estimator).classifier) for t in trials if _multiple(t)]
    if not last:
        return trials
    everyone, spreads = [(np.arange(len(objects.codes)), np.arange(0))], {}
    all_objects = objects.last_step()._replace(
        splits=everyone, fit_params={}, pairs={}, landmarks=None
    )
    for settings, of_group, _ in _kernel_groups(last, all_objects):
        for setting in settings:
            spread = cache(partial(setting.spread, cache(partial(setting.folds, of_group))))
            spreads |= {t.position: spread for t in setting.trials}
    return [_with_spread(t, spreads[t.position]) if t.position in spreads else t for t in trials]


# --- fold by fold ---------------------------------------------------------------------------------


def _score_by_fold(trials, objects, n_jobs):
    batches = []
    for group in grouped(trials, _fold_key):
        # The steps before are fitted once for all.
        size = len(group) if steps_of(group[0].estimator).prefix else BATCH
        batches += [group[i : i + size] for i in range(0, len(group), size)]
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    folds = run(
        delayed(_score_fold)(batch, objects, *split)
        for batch in batches
        for split in objects.splits
    )
    for batch in batches:
        tables = zip(*[next(folds) for _ in objects.splits], strict=True)
        for trial, of_trial in zip(batch, tables, strict=True):
            yield _assembled(trial, of_trial, objects)
    assert next(folds, None) is None


def _fold_key(trial):
    """Key of the trials that are scored together on a fold."""
    if steps_of(trial.estimator).prefix:
        return tuple(frozen(step) for _, step in trial.estimator.steps[:-1])
    return _shared_key(trial.estimator)


def _shared_key(estimator):
    """Key of the candidates that a classifier fits together."""
    return _key_without(estimator, getattr(estimator, "shared_parameters", ()))


def _score_fold(trials, objects, train, test):
    """((classes, scores, rounding) or error, seconds) of each trial on a split."""
    start, first = time.perf_counter(), trials[0].estimator
    y, arguments = take(objects.y, train), fit_arguments(objects.fit_params, train, len(objects.y))
    X, X_test = parts_of(first, objects.X, train, test)
    if not arguments:  # a pipeline passes them on to its steps
        trials = [t._replace(estimator=steps_of(t.estimator).classifier) for t in trials]
        try:
            X, X_test = steps_of(first).fit_transformed(X, y, X_test)
        except Exception as error:
            return [(error, 0.0)] * len(trials)

    def score(group):
        estimators = [t.estimator for t in group]
        split_scores = getattr(estimators[0], "split_scores", refit_scores)
        return split_scores(estimators, X, y, X_test, **arguments)

    tables: dict = {}
    for group in grouped(trials, lambda t: _shared_key(t.estimator)):
        tables |= zip([t.position for t in group], _tables_or_errors(score, group), strict=True)
    seconds = (time.perf_counter() - start) / len(trials)
    return [(tables[t.position], seconds) for t in trials]


def _assembled(trial, folds, objects):
    """The Scored of a trial from (table or error, seconds) of each fold."""
    seconds, scores, rounding = sum(took for _, took in folds), [], []
    for (table, _), (_, test) in zip(folds, objects.splits, strict=True):
        if isinstance(table, Exception):
            return trial.scored(table, seconds)
        classes, of_fold, noise = table
        scores.append(np.full((len(test), len(objects.classes)), -np.inf))
        scores[-1][:, np.searchsorted(objects.classes, classes)] = of_fold
        rounding.append(np.full(len(test), noise))
    return trial.scored((np.concatenate(scores), np.concatenate(rounding)), seconds)


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
