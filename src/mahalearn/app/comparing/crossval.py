"""Nested, stratified, repeated cross-validation: every method on the same outer folds."""

import re
import time
from concurrent.futures import FIRST_COMPLETED, wait

from ..reading.problem import DataError, listed
from ..workers import worker_pool
from .cells import Outcome, run_cell
from .methods import METHODS, takes_weights
from .plan import FEWEST, outer_splits, setting_for
from .progress import state_of, too_slow

# So much longer than the time budget, relative to it, the work goes on while nothing can be ranked.
GRACE = 1.0
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
    problem, methods, plan, *, jobs=1, time_budget=None, tell=None, finished=None, keep=None
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
    finished : dict or None
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
    finished = finished or {}
    cells, failed = {task: finished[task] for task in tasks if task in finished}, {}

    def report(name="", cell=None):
        if cell is not None and keep:
            keep(cell)
        if tell:
            tell(state_of(tasks, cells, failed, jobs, name, first))

    def rankable():
        return bool(_rankable(methods, cells, failed, len(splits), first)[1])

    run = _in_processes if jobs > 1 or time_budget else _here
    deadline = latest = None
    if time_budget is not None:
        deadline, latest = start + time_budget, start + (1 + GRACE) * time_budget
    report()
    todo, stopped = [task for task in tasks if task not in cells], False
    try:
        if todo:
            work = (problem, setting, splits, plan)
            run(work, todo, cells, failed, jobs, report, deadline, latest, rankable)
    except KeyboardInterrupt:
        stopped = True
        if not rankable():
            raise
    if len(failed) == len(methods):
        reasons = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:3])
        raise DataError(f"No method could be fitted ({reasons}).")
    ranked, complete = _rankable(methods, cells, failed, len(splits), first)
    left = [m for m in methods if m.name not in failed]
    if not complete:
        raise DataError(
            too_slow(problem, time_budget, cells, left, len(splits), jobs), "time_budget"
        )
    outcome = Outcome(plan, [splits[f] for f in complete], {}, ranked, failed, stopped=stopped)
    for new, old in enumerate(complete):
        for method in ranked:
            outcome.cells[method.name, new] = cells[method.name, old]
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


def _rankable(methods, cells, failed, n_folds, first):
    """The methods that can be compared, and the folds they all have finished.

    The folds of the method that has most of them, or those of the first repetition, whichever more
    methods have finished; among equals more folds.
    """
    folds = {
        m.name: {f for f in range(n_folds) if (m.name, f) in cells}
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


def _here(work, tasks, cells, failed, jobs, report, *ignored):
    problem, setting, splits, plan = work
    for name, fold in tasks:
        if name in failed:
            continue
        cell = None
        try:
            cell = cells[name, fold] = run_cell(problem, setting, name, fold, splits[fold], plan)
        except Exception as error:  # whatever it is, the other methods go on
            failed[name] = _reason(error)
        report(name, cell)


def _in_processes(work, tasks, cells, failed, jobs, report, deadline, latest, rankable):
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
                    report(name)
                else:
                    cells[cell.method, cell.fold] = cell
                    report(cell.method, cell)
