"""Nested, stratified, repeated cross-validation: every method on the same outer folds.

A cell is one method on one outer fold; what it chooses it chooses by folds of its training part. A
cell depends on its fold, method and seed alone, so that results are the same for any number of
processes.
"""

import json
import re
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from ...results import error_rates, versions
from ..reading.problem import DataError, Note, listed
from ..words import counted
from ..workers import worker_pool
from .methods import (
    CLASSWISE,
    EXACT,
    LANDMARKS,
    METHODS,
    WHOLE,
    WIDE,
    Setting,
    chosen_params,
    class_scores,
    encoded_width,
    fit_best_measure,
    fitted,
    labels,
    quiet,
    scout,
    select_methods,
    takes_weights,
)

# Parameters are chosen by three folds of each training part: a comparison makes that choice for
# every method on every outer fold. For the model that is saved it is made once, by five.
FOLDS, REPEATS, INNER_FOLDS, FINAL_FOLDS = 5, 2, 3, 5
# Fewer outer folds say next to nothing of a method's error.
FEWEST = 2
# So much longer than the time budget, relative to it, the work goes on while nothing can be ranked.
GRACE = 1.0


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
    landmarks : int or None
        Landmarks of kernel discriminants on tables; 0 for none, None by the number of rows.
    """

    folds: int = FOLDS
    repeats: int = REPEATS
    inner_folds: int = INNER_FOLDS
    seed: int = 0
    by: str = "plain"
    landmarks: int | None = None

    @property
    def scoring(self):
        """scikit-learn's name of what a search maximises."""
        return "accuracy" if self.by == "plain" else "balanced_accuracy"

    def error(self, truth, predicted):
        """The error that decides."""
        return error_rates(truth, predicted)[self.by == "balanced"]


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
    stopped: bool = False  # by Ctrl-C, before all folds were finished

    def of(self, method):
        """The cells of a method, in the order of the folds."""
        return [self.cells[method, f] for f in range(len(self.splits))]

    def held_out(self, method, y):
        """What a method said of all outer test parts, classes as codes of the sorted labels."""
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


def fit_plan(problem, plan):
    """The plan with no more folds than the smallest class has objects, or groups of them."""
    smallest = min(problem.counts.values())
    if problem.groups is not None:
        groups = {label: len(set(problem.groups[problem.y == label])) for label in problem.counts}
        label, smallest = min(groups.items(), key=lambda item: item[1])
        if smallest < 3:
            raise DataError(
                f"The class {label!r} occurs in {counted(smallest, 'group')} only; to test on one "
                "and choose parameters on others it must occur in three at least.",
                "groups",
            )
    folds = min(plan.folds, smallest)
    rest = smallest - -(-smallest // folds)  # of the smallest class, in a training part
    return replace(plan, folds=folds, inner_folds=max(2, min(plan.inner_folds, rest)))


def outer_splits(problem, plan):
    """Training and test part of each outer fold; objects of one group stay together."""
    dummy = np.zeros(len(problem))
    if problem.groups is None:
        splitter = RepeatedStratifiedKFold(
            n_splits=plan.folds, n_repeats=plan.repeats, random_state=plan.seed
        )
        return list(splitter.split(dummy, problem.y))
    splits = [
        split
        for repeat in range(plan.repeats)
        for split in _group_folds(plan.folds, plan.seed + repeat).split(
            dummy, problem.y, problem.groups
        )
    ]
    splits = [(train, test) for train, test in splits if _complete(problem.y, train) and len(test)]
    if len(splits) < FEWEST:
        raise DataError(
            "The groups cannot be divided into folds that leave objects of every class to train "
            "on; use fewer folds, or smaller groups.",
            "groups",
        )
    return splits


def _group_folds(folds, seed):
    return StratifiedGroupKFold(folds, shuffle=True, random_state=seed % 2**32)


def _complete(y, train):
    return len(np.unique(y[train])) == len(np.unique(y))


def inner_folds(problem, plan, rows=None):
    """Folds of a training part, by which methods choose their parameters.

    Parameters
    ----------
    problem : Problem
        What to classify.
    plan : Plan
        Number of folds and seed.
    rows : ndarray or None
        Objects of the training part; all if None.

    Returns
    -------
    folds : splitter or list of tuple
        What scikit-learn takes as ``cv``.
    """
    if problem.groups is None:
        return StratifiedKFold(plan.inner_folds, shuffle=True, random_state=plan.seed)
    rows = np.arange(len(problem)) if rows is None else rows
    y, folds = problem.y[rows], _group_folds(plan.inner_folds, plan.seed)
    splits = folds.split(np.zeros(len(rows)), y, problem.groups[rows])
    splits = [(train, test) for train, test in splits if _complete(y, train) and len(test)]
    if not splits:
        raise ValueError("the groups of its training part cannot be divided into folds")
    return splits


def landmarks_for(problem, plan):
    """Landmarks of the kernel discriminants, None where they compute with all objects."""
    if problem.kind != "vectors" or plan.landmarks == 0:
        return None
    return plan.landmarks or (LANDMARKS if len(problem) > EXACT else None)


def decide(problem, wanted, plan):
    """Which methods are compared, and by how many folds.

    Parameters
    ----------
    problem : Problem
        What to classify.
    wanted : list of str or None
        Names of methods; all that fit if None.
    plan : Plan
        As it was asked for.

    Returns
    -------
    methods : list of Method
    plan : Plan
        With no more folds than the classes allow.
    notes : list of str
        Sentences on what the size of the problem decides.
    """
    columns = problem.X.shape[1] if problem.kind == "vectors" else 0
    methods, notes = select_methods(wanted, problem.kind, problem.proximity, len(problem), columns)
    if columns > max(WIDE, len(problem)):
        notes.append(
            f"There are more columns ({columns}) than rows: methods that do not depend on the "
            "directions of single columns work in the space that the training rows span."
        )
    fitting = fit_plan(problem, plan)
    if m := landmarks_for(problem, fitting):
        notes.append(
            Note(
                f"Kernel discriminants (kqd, fd, qd, kfd, kpca-qda) use {m} landmarks instead of "
                "all objects.",
                "landmarks",
            )
        )
    if fitting.folds < plan.folds:
        smallest = counted(min(problem.counts.values()), "object")
        notes.append(
            f"The smallest class has {smallest}, so there are {fitting.folds} folds, not "
            f"{plan.folds}."
        )
    return methods, fitting, notes


def setting_for(problem, plan, time_budget=None):
    """What the methods are told."""
    folds = inner_folds(problem, plan)
    kind = "vectors" if problem.kind == "vectors" else "proximity"
    return Setting(
        kind,
        problem.proximity,
        len(problem),
        encoded_width(problem),
        folds,
        plan.scoring,
        plan.seed,
        time_budget,
        WHOLE if _self_similarities_differ(problem) else CLASSWISE,
        landmarks_for(problem, plan),
    )


def _self_similarities_differ(problem):
    if problem.kind != "proximity" or problem.proximity != "similarity":
        return False
    own = problem.X.diagonal()
    return bool(np.ptp(own) > 1e-10 * np.abs(own).max())


def run_cell(problem, setting, name, fold, split, plan=None):
    """Fit one method on one fold and predict the rest."""
    train, test = split
    y, weights = problem.y, problem.weights
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
            mine = None if weights is None else weights[train]
            model = fitted(model, X_train, y[train], mine)
        ready = time.perf_counter()
        predicted = labels(model, X_test)
        done = time.perf_counter()
        scores, logs = class_scores(model, X_test)
    if not np.isfinite(scores).all():
        raise ValueError("it gave scores that are not finite")
    errors = error_rates(y[test], predicted, None if weights is None else weights[test])
    params = chosen_params(model[-1])
    if problem.alternatives is not None:
        params = {"measure": list(problem.alternatives)[best], **params}
    seconds = (ready - start, done - ready)
    return Cell(name, fold, predicted, scores, logs, *errors, *seconds, params)


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


_WORKER: dict = {}


def _start_worker(problem, setting, splits, plan):
    from threadpoolctl import threadpool_limits

    _WORKER["limits"] = threadpool_limits(1)
    _WORKER.update(problem=problem, setting=setting, splits=splits, plan=plan)


def _work(name, fold):
    try:
        split, plan = _WORKER["splits"][fold], _WORKER["plan"]
        return run_cell(_WORKER["problem"], _WORKER["setting"], name, fold, split, plan)
    except Exception as error:
        return name, fold, _reason(error)


def _reason(error):
    text = str(error)
    if "fits failed" in text:
        # scikit-learn's searches put their advice and whole tracebacks before what went wrong.
        causes = re.findall(r"^([A-Za-z_][\w.]*): (.*\S)", text, flags=re.MULTILINE)
        if causes:
            kind, text = causes[-1]
            text = text if kind == "ValueError" else f"{kind}: {text}"
    text = " ".join(text.split())[:300].rstrip(".")
    if text and isinstance(error, ValueError | MemoryError):
        return text
    # What nobody foresaw is hard to place without its kind: "'params'" of a KeyError.
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cross_validate(
    problem, methods, plan, *, jobs=1, time_budget=None, tell=None, known=None, keep=None
):
    """Run every method on every outer fold: all on the first repetition, the cheap ones first.

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
        Seconds after which no more folds are waited for. Methods that finished all folds are
        compared; if there are none, the methods and folds that were finished. As long as nothing
        can be compared, as on a busy computer, the work goes on, up to twice the time.
    tell : callable, default=None
        Called with the :class:`State` when the work begins and after each cell.
    known : dict or None
        (method, fold) -> Cell of an earlier run.
    keep : callable or None
        Called with each Cell as soon as it is finished.

    Returns
    -------
    outcome : Outcome
        Cells of the methods and folds that are complete. An interruption (Ctrl-C) counts as the end
        of the time if something can be compared.
    """
    start = time.monotonic()
    splits = outer_splits(problem, plan)
    share = None
    if time_budget:
        share = max(0.5, 0.5 * time_budget * jobs / (len(splits) * max(1, len(methods))))
    setting = setting_for(problem, plan, share)
    methods = sorted(methods, key=lambda m: m.cost)
    first = min(plan.folds, len(splits))
    rounds = [range(first), range(first, len(splits))]
    tasks = [(method.name, fold) for folds in rounds for method in methods for fold in folds]
    known = known or {}
    found, failed = {task: known[task] for task in tasks if task in known}, {}

    def told(name="", cell=None):
        if cell is not None and keep:
            keep(cell)
        if tell:
            tell(state_of(tasks, found, failed, jobs, name, first))

    def rankable():
        return bool(_rankable(methods, found, failed, len(splits), first)[1])

    run = _in_processes if jobs > 1 or time_budget else _here
    deadline = latest = None
    if time_budget is not None:
        deadline, latest = start + time_budget, start + (1 + GRACE) * time_budget
    told()
    todo, stopped = [task for task in tasks if task not in found], False
    try:
        if todo:
            work = (problem, setting, splits, plan)
            run(work, todo, found, failed, jobs, told, deadline, latest, rankable)
    except KeyboardInterrupt:
        stopped = True
        if not rankable():
            raise
    if len(failed) == len(methods):
        reasons = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:3])
        raise DataError(f"No method could be fitted ({reasons}).")
    ranked, complete = _rankable(methods, found, failed, len(splits), first)
    left = [m for m in methods if m.name not in failed]
    if not complete:
        raise DataError(
            _too_slow(problem, time_budget, found, left, len(splits), jobs), "time_budget"
        )
    outcome = Outcome(plan, [splits[f] for f in complete], {}, ranked, failed, stopped=stopped)
    for new, old in enumerate(complete):
        for method in ranked:
            outcome.cells[method.name, new] = found[method.name, old]
    why = "The run was stopped" if stopped else "The time budget ended"
    if len(complete) < len(splits):
        outcome.notes.append(
            f"{why} after {len(complete)} of {len(splits)} folds; intervals are wider for it."
        )
    unfinished = [m.title for m in left if m not in ranked]
    if unfinished:
        outcome.notes.append(f"{why} before these were compared: {listed(unfinished, 20)}.")
    if problem.weights is not None:
        without = [m.title for m in ranked if not takes_weights(m.build(setting))]
        outcome.notes.append(
            "Errors are weighted"
            + (f"; these were fitted without weights: {listed(without, 20)}." if without else ".")
        )
    for name, reason in failed.items():
        outcome.notes.append(f"{METHODS[name].title} failed and was left out: {reason}.")
    outcome.seconds = time.monotonic() - start
    return outcome


def _rankable(methods, found, failed, n_folds, first):
    """The methods that can be compared, and the folds they all have finished.

    The folds of the method that has most of them, or those of the first repetition, whichever more
    methods have finished; among equals more folds.
    """
    folds = {
        m.name: {f for f in range(n_folds) if (m.name, f) in found}
        for m in methods
        if m.name not in failed
    }
    most = max(folds.values(), key=len, default=set())
    if len(most) < min(FEWEST, n_folds):
        return [], []

    def finished(wanted):
        return [m for m in methods if m.name in folds and wanted <= folds[m.name]]

    best = max((most, set(range(first))), key=lambda wanted: (len(finished(wanted)), len(wanted)))
    best = best if finished(best) else most
    return finished(best), sorted(best)


class State(NamedTuple):
    """How far a comparison is.

    Attributes
    ----------
    method : str
        What was done last; "" at the beginning.
    finished, total : int
        Cells that are finished, those of a method that failed included, and all cells.
    ranking : list of tuple
        (method, mean error) of the methods that finished the first repetition, the best first.
    seconds_left : float or None
        What the rest takes by what was measured; None while nothing was.
    sure : bool
        Whether every method was measured. One that was not is taken for as slow as the slowest that
        was: the cheap ones come first.
    """

    method: str
    finished: int
    total: int
    ranking: list
    seconds_left: float | None
    sure: bool


def state_of(tasks, found, failed, jobs, method="", first=None):
    """How far a comparison is.

    Parameters
    ----------
    tasks : list of tuple
        (method, fold), in the order in which they are done.
    found : dict
        (method, fold) -> Cell.
    failed : dict
        Method -> reason.
    jobs : int
        Processes.
    method : str
        What was done last.
    first : int or None
        Folds of the first repetition, by which methods are ranked; all folds if None.

    Returns
    -------
    state : State
    """
    first = first or len({fold for _, fold in tasks})
    errors, spent = {}, {}
    for (name, fold), cell in found.items():
        spent.setdefault(name, []).append(cell.fit_seconds + cell.predict_seconds)
        if fold < first:
            errors.setdefault(name, []).append(cell.error)
    ranking = [(n, float(np.mean(e))) for n, e in errors.items() if len(e) == first]
    means = {name: float(np.mean(values)) for name, values in spent.items()}
    left = [name for name, fold in tasks if (name, fold) not in found and name not in failed]
    seconds = sum(means.get(name, max(means.values(), default=0.0)) for name in left) / jobs
    return State(
        method,
        len(tasks) - len(left),
        len(tasks),
        sorted(ranking, key=lambda item: item[1]),
        seconds if found else None,
        all(name in means for name in left),
    )


def _too_slow(problem, time_budget, found, methods, n_folds, jobs):
    """That the budget was too small, and what would do, as far as finished fits tell."""
    seconds = {}
    for (name, _), cell in found.items():
        seconds.setdefault(name, []).append(cell.fit_seconds + cell.predict_seconds)
    fold = sum(float(np.mean(values)) for values in seconds.values()) / jobs
    # Starting processes takes time too, and so do fits that were cut off.
    start = max(0.0, time_budget - sum(map(sum, seconds.values())) / jobs)
    unknown = [m.title for m in methods if m.name not in seconds]
    if unknown:
        more = (
            f"No fit of {listed(unknown, 3)} was finished, so that the time that would do cannot "
            "be estimated; give more time"
        )
    else:
        more = (
            f"{FEWEST} folds would take about {start + FEWEST * fold:.0f} s, all {n_folds} about "
            f"{start + n_folds * fold:.0f} s; give as much"
        )
    return (
        f"In {time_budget:g} s only {len(found)} of {n_folds * len(methods)} fits were done for "
        f"{len(problem)} objects. {more}, or take fewer methods or rows."
    )


def _here(work, tasks, found, failed, jobs, told, *ignored):
    problem, setting, splits, plan = work
    for name, fold in tasks:
        if name in failed:
            continue
        cell = None
        try:
            cell = found[name, fold] = run_cell(problem, setting, name, fold, splits[fold], plan)
        except Exception as error:  # whatever it is, the other methods go on
            failed[name] = _reason(error)
        told(name, cell)


def _in_processes(work, tasks, found, failed, jobs, told, deadline, latest, rankable):
    """As _here, in processes; they are ended when the time is up and something can be ranked."""
    with worker_pool(min(jobs, len(tasks)), _start_worker, work) as (pool, end):
        waiting = {pool.submit(_work, name, fold): name for name, fold in tasks}
        pending = set(waiting)
        while pending:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                left = latest - time.monotonic()
                if left <= 0 or rankable():
                    end()
                    break
            done, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
            for future in done:
                if future.cancelled():
                    continue
                cell = future.result()
                if isinstance(cell, tuple):
                    name, _, failed[name] = cell
                    for other, task in waiting.items():
                        if task == name:
                            other.cancel()
                    told(name)
                else:
                    found[cell.method, cell.fold] = cell
                    told(cell.method, cell)


# --- who is best: intervals of errors and of paired differences -----------------------------------

LEVEL = 0.95


def corrected_interval(values, test_share, level=LEVEL, resolution=0.0):
    """Mean of a fold-wise quantity, and the interval of the corrected resampled t-test.

    The folds of a repeated cross-validation share training objects, so that the plain variance of
    the mean, s²/J, is far too small. Nadeau and Bengio (Machine Learning 52, 2003) put
    s²·(1/J + n_test/n_train) in its place; the interval is mean ± t_{J−1}·that root.

    Parameters
    ----------
    values : array-like of shape (J,)
        A number for each fold.
    test_share : float
        n_test/n_train.
    level : float, default=0.95
        Confidence level.
    resolution : float, default=0
        Steps in which the numbers come, 1/m for error rates of m objects. s² is at least the
        variance of rounding to them: a few equal numbers do not make the mean certain.

    Returns
    -------
    mean, low, high : float
        The interval has no width for a single fold, where nothing is known of the spread.

    Examples
    --------
    >>> from mahalearn.app.comparing.crossval import corrected_interval
    >>> [round(v, 3) for v in corrected_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, -0.084, 0.284]
    """
    values = np.asarray(values, dtype=float)
    J, mean = len(values), float(values.mean())
    if J < 2:
        return mean, mean, mean
    variance = max(values.var(ddof=1), resolution**2 / 12)
    half = stats.t.ppf((1 + level) / 2, J - 1) * np.sqrt(variance * (1 / J + test_share))
    return mean, float(mean - half), float(mean + half)


def error_interval(values, test_share, resolution=0.0):
    """As corrected_interval, of error rates: no bound is below 0 or above 1.

    Examples
    --------
    >>> from mahalearn.app.comparing.crossval import error_interval
    >>> [round(v, 3) for v in error_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, 0.0, 0.284]
    """
    mean, low, high = corrected_interval(values, test_share, resolution=resolution)
    return mean, max(0.0, low), min(1.0, high)


def leaderboard(outcome):
    """Methods from the smallest error to the largest.

    Returns
    -------
    rows : list of dict
        With error, balanced (mean, low, high), difference to the first (mean, low, high) by the
        error that decides, tied (whether that interval holds 0), seconds and chosen parameters.
    """
    by = "error" if outcome.plan.by == "plain" else "balanced_error"
    other = "balanced_error" if by == "error" else "error"
    share = float(np.mean([len(test) / len(train) for train, test in outcome.splits]))
    step = 1 / float(np.mean([len(test) for _, test in outcome.splits]))
    values = {
        m.name: {
            kind: np.array([getattr(c, kind) for c in outcome.of(m.name)]) for kind in (by, other)
        }
        for m in outcome.methods
    }
    order = sorted(values, key=lambda n: (round(values[n][by].mean(), 10), values[n][other].mean()))
    best = values[order[0]][by]
    rows = []
    for name in order:
        cells = outcome.of(name)
        tested = sum(len(c.predicted) for c in cells)
        difference = corrected_interval(values[name][by] - best, share, resolution=step)
        rows.append(
            {
                "name": name,
                "title": METHODS[name].title,
                "ours": METHODS[name].ours,
                "error": error_interval(values[name]["error"], share, step),
                "balanced": error_interval(values[name]["balanced_error"], share, step),
                "difference": difference,
                "tied": bool(name == order[0] or difference[1] <= 0),
                "fit_seconds": float(np.mean([c.fit_seconds for c in cells])),
                "predict_ms": 1e6 * sum(c.predict_seconds for c in cells) / tested,
                "params": _usual_params(cells),
            }
        )
    return rows


def _usual_params(cells):
    """The parameters that were chosen most often, as text."""
    texts = Counter(
        ", ".join(
            f"{k} = {v:.3g}" if isinstance(v, float) else f"{k} = {v}" for k, v in c.params.items()
        )
        for c in cells
    )
    return texts.most_common(1)[0][0]


# --- finished cells on disk, so that a killed comparison can be continued -------------------------


def fingerprint(problem, plan):
    """What tells a problem, its folds and the versions that compute from all others."""
    facts = [vars(plan), versions(), problem.kind, problem.measure_name]
    facts += [repr(measure) for measure in (problem.alternatives or {}).values()]
    digest = sha256(json.dumps(facts).encode())
    if problem.kind == "vectors":
        digest.update(problem.X.to_csv().encode())
    elif problem.kind == "proximity":
        digest.update(np.ascontiguousarray(problem.X).tobytes())
    else:
        for x in problem.X:
            digest.update(x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode())
    for values in (problem.y, problem.groups, problem.weights):
        digest.update(b"\0" if values is None else repr(values.tolist()).encode())
    return digest.hexdigest()


class Progress:
    """A file of finished cells, a line each.

    Parameters
    ----------
    path : path
        The file.
    key : str
        Fingerprint of the problem and the plan; lines of another are left out.
    """

    def __init__(self, path, key):
        self.path, self.key = Path(path), key

    def start(self, resume):
        """The cells of an earlier run that `resume` takes over; else the file begins anew."""
        cells, others = self._read() if resume else ({}, 0)
        if others and not cells:
            raise DataError(
                f"{str(self.path)!r} holds finished folds of other data, options or versions, "
                "which cannot be resumed; the command that made them goes on from them."
            )
        self.path.unlink(missing_ok=True)
        for cell in cells.values():
            self.add(cell)
        return cells

    def add(self, cell):
        """Save a cell as soon as it is finished; a full disk ends no comparison."""
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(self._line(cell))

    def _line(self, cell):
        entry = {"key": self.key, **asdict(cell)}
        entry["predicted"], entry["scores"] = cell.predicted.tolist(), cell.scores.tolist()
        return json.dumps(entry, default=str) + "\n"

    def _read(self):
        """The cells of this key, and how many there are of others."""
        cells, others = {}, 0
        if not self.path.exists():
            return cells, others
        for line in self.path.read_bytes().decode("utf-8", "replace").split("\n"):
            try:
                entry = json.loads(line)
                if entry.pop("key") != self.key:
                    others += 1
                    continue
                entry["predicted"] = np.array(entry["predicted"])
                entry["scores"] = np.array(entry["scores"], dtype=float)
                cell = Cell(**entry)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # half a line, of a kill
            cells[cell.method, cell.fold] = cell
        return cells, others
