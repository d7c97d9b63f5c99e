"""Nested, stratified, repeated cross-validation: every method on the same outer folds.

A cell is one method on one outer fold; what it chooses it chooses by folds of its training part. A
cell depends on its fold, method and seed alone, so that results are the same for any number of
processes.
"""

import multiprocessing
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from .._objects import take
from ..io.problem import DataError
from ..measures.base import Measure
from ..measures.table import as_measure
from ..results import error_rates
from .methods import CLASSWISE, METHODS, WHOLE, Setting
from .model import class_scores, square_matrix

FOLDS, REPEATS, INNER_FOLDS = 5, 2, 5
# Fewer outer folds say next to nothing of a method's error.
FEWEST = 2


@dataclass(frozen=True)
class Plan:
    """How a comparison is made.

    Attributes
    ----------
    folds, repeats, inner_folds : int
        Outer folds, how often they are drawn anew, and the folds within a training part.
    seed : int
        Of all folds and of methods that draw.
    by : {"plain", "balanced"}
        Which error decides, in the choice of parameters and of the winner.
    """

    folds: int = FOLDS
    repeats: int = REPEATS
    inner_folds: int = INNER_FOLDS
    seed: int = 0
    by: str = "plain"

    @property
    def scoring(self):
        """scikit-learn's name of what a search maximises."""
        return "accuracy" if self.by == "plain" else "balanced_accuracy"


@dataclass
class Cell:
    """One method on one outer fold."""

    method: str
    fold: int
    predicted: np.ndarray
    scores: np.ndarray
    probabilities: bool
    error: float
    balanced_error: float
    fit_seconds: float
    predict_seconds: float
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

    def of(self, method):
        """The cells of a method, in the order of the folds."""
        return [self.cells[method, f] for f in range(len(self.splits))]


def fit_plan(problem, plan):
    """The plan with no more folds than the smallest class has objects."""
    smallest = min(problem.counts.values())
    folds = min(plan.folds, smallest)
    rest = smallest - -(-smallest // folds)  # of the smallest class, in a training part
    return Plan(folds, plan.repeats, max(2, min(plan.inner_folds, rest)), plan.seed, plan.by)


def setting_for(problem, plan, time_budget=None):
    """What the methods are told."""
    if problem.kind == "vectors":
        from .encoder import TableEncoder

        try:
            n_features = TableEncoder().fit(problem.X).get_feature_names_out().size
        except ValueError as error:
            raise DataError(str(error)) from None
    else:
        n_features = len(problem)
    folds = StratifiedKFold(plan.inner_folds, shuffle=True, random_state=plan.seed)
    kind = "vectors" if problem.kind == "vectors" else "proximity"
    return Setting(
        kind,
        problem.proximity,
        len(problem),
        n_features,
        folds,
        plan.scoring,
        plan.seed,
        time_budget,
        WHOLE if _self_similarities_differ(problem) else CLASSWISE,
    )


def _self_similarities_differ(problem):
    if problem.kind != "proximity" or problem.proximity != "similarity":
        return False
    own = problem.X.diagonal()
    return bool(np.ptp(own) > 1e-10 * np.abs(own).max())


class Data:
    """The problem as methods see it, fold by fold; proximities of objects are computed here."""

    def __init__(self, problem):
        self.problem = problem
        self.matrix = problem.X if problem.kind == "proximity" else None
        if problem.kind == "objects":
            measure = as_measure(problem.measure)
            if type(measure).fit is Measure.fit:  # it learns nothing: one matrix for all folds
                self.matrix = square_matrix(measure, problem.X)

    def fold(self, train, test):
        """(X_train, X_test)."""
        X = self.problem.X
        if self.problem.kind == "vectors":
            return X.iloc[train], X.iloc[test]
        if self.matrix is not None:
            return self.matrix[np.ix_(train, train)], self.matrix[np.ix_(test, train)]
        seen = take(X, train)
        measure = as_measure(self.problem.measure).fit(seen)
        return (
            square_matrix(measure, seen),
            measure.between(take(X, test), seen, symmetrize="mean"),
        )


def run_cell(data, setting, name, fold, split):
    """Fit one method on one fold and predict the rest."""
    train, test = split
    y = data.problem.y
    X_train, X_test = data.fold(train, test)
    model = METHODS[name].pipeline(setting)
    with warnings.catch_warnings():
        # Searches try hopeless candidates too; their warnings are of no use to anyone here.
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(X_train, y[train])
        fitted = time.perf_counter()
        predicted = model.predict(X_test)
        done = time.perf_counter()
        scores, logs = class_scores(model, X_test)
    if not np.isfinite(scores).all():
        raise ValueError("it gave scores that are not finite")
    errors = error_rates(y[test], predicted)
    params = plain_params(getattr(model[-1], "best_params_", {}))
    seconds = (fitted - start, done - fitted)
    return Cell(name, fold, predicted, scores, logs, *errors, *seconds, params)


def plain_params(params):
    """The numbers and names among parameters."""
    return {
        k: round(v, 10) if isinstance(v, float) else v
        for k, v in dict(params).items()
        if isinstance(v, bool | int | float | str)
    }


_WORKER = {}


def _start_worker(problem, setting, splits):
    from threadpoolctl import threadpool_limits

    _WORKER["limits"] = threadpool_limits(1)
    _WORKER["data"], _WORKER["setting"], _WORKER["splits"] = Data(problem), setting, splits


def _work(name, fold):
    try:
        return run_cell(_WORKER["data"], _WORKER["setting"], name, fold, _WORKER["splits"][fold])
    except Exception as error:
        return name, fold, _reason(error)


def _reason(error):
    text = " ".join(str(error).split())[:300].rstrip(".")
    if text and isinstance(error, ValueError | MemoryError):
        return text
    # What nobody foresaw is hard to place without its kind: "'params'" of a KeyError.
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cross_validate(problem, methods, plan, *, jobs=1, time_budget=None, tell=None):
    """Run every method on every outer fold.

    Parameters
    ----------
    problem : Problem
        What to classify.
    methods : list of Method
        Classifiers.
    plan : Plan
        Folds and seed.
    jobs : int, default=1
        Processes.
    time_budget : float or None
        Seconds after which no more folds are waited for; folds that all methods finished count.
    tell : callable, default=None
        Called with (finished, total, Cell or reason) after each cell.

    Returns
    -------
    outcome : Outcome
        Cells of the folds that are complete.
    """
    start = time.monotonic()
    splitter = RepeatedStratifiedKFold(
        n_splits=plan.folds, n_repeats=plan.repeats, random_state=plan.seed
    )
    splits = list(splitter.split(np.zeros(len(problem)), problem.y))
    share = None
    if time_budget:
        share = max(0.5, 0.5 * time_budget * jobs / (len(splits) * max(1, len(methods))))
    setting = setting_for(problem, plan, share)
    tasks = [(method.name, fold) for fold in range(len(splits)) for method in methods]
    found = {}
    run = _in_processes if jobs > 1 or time_budget else _here
    deadline = None if time_budget is None else start + time_budget
    failed = run(problem, setting, splits, tasks, found, jobs, deadline, tell)
    methods = [m for m in methods if m.name not in failed]
    complete = [f for f in range(len(splits)) if all((m.name, f) in found for m in methods)]
    outcome = Outcome(plan, [splits[f] for f in complete], {}, methods, failed)
    if not methods:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:3])
        raise DataError(f"No method could be fitted ({reasons}).")
    if len(complete) < FEWEST:
        raise DataError(_too_slow(problem, time_budget, len(found), len(tasks)))
    for new, old in enumerate(complete):
        for method in methods:
            outcome.cells[method.name, new] = found[method.name, old]
    if len(complete) < len(splits):
        outcome.notes.append(
            f"The time budget of {time_budget:g} s allowed {len(complete)} of {len(splits)} folds; "
            "intervals are wider for it."
        )
    for name, why in failed.items():
        outcome.notes.append(f"{METHODS[name].title} failed and was left out: {why}.")
    outcome.seconds = time.monotonic() - start
    return outcome


def _too_slow(problem, time_budget, finished, total):
    more = "a good deal more" if not finished else f"about {time_budget * total / finished:.0f} s"
    return (
        f"In {time_budget:g} s only {finished} of {total} fits were done for {len(problem)} "
        f"objects; give --time-budget {more}, or fewer --methods, --folds or rows."
    )


def _here(problem, setting, splits, tasks, found, jobs, deadline, tell):
    data, failed = Data(problem), {}
    for name, fold in tasks:
        if name in failed:
            continue
        try:
            cell = run_cell(data, setting, name, fold, splits[fold])
            found[name, fold] = cell
        except Exception as error:  # whatever it is, the other methods go on
            cell = failed[name] = _reason(error)
        if tell:
            tell(len(found), len(tasks), cell)
    return failed


def _in_processes(problem, setting, splits, tasks, found, jobs, deadline, tell):
    """As _here, in processes that are ended when the time is up."""
    failed, before = {}, set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(problem, setting, splits),
    )
    try:
        pending = {pool.submit(_work, name, fold) for name, fold in tasks}
        while pending:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            done, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            for future in done:
                cell = future.result()
                if isinstance(cell, tuple):
                    failed[cell[0]] = cell[2]
                    cell = cell[2]
                else:
                    found[cell.method, cell.fold] = cell
                if tell:
                    tell(len(found), len(tasks), cell)
        if pending:
            _end(pool, before)
    except BaseException:
        _end(pool, before)
        raise
    pool.shutdown(wait=True, cancel_futures=True)
    return failed


def _end(pool, before):
    """Stop the workers now, also in the middle of a fit."""
    pool.shutdown(wait=False, cancel_futures=True)
    for child in set(multiprocessing.active_children()) - before:
        child.terminate()
