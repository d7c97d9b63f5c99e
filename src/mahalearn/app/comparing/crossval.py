"""Nested, stratified, repeated cross-validation: every method on the same outer folds."""

import math
import re
import time
from concurrent.futures import FIRST_COMPLETED, wait

import numpy as np

from ..reading.problem import DataError, listed
from ..workers import worker_pool
from .cells import Outcome, run_cell
from .methods import METHODS
from .plan import FEWEST, outer_splits, setting_for
from .progress import state_of

# Fitting the best method on all objects takes about so many times as long as one of its folds: five
# folds choose its parameters instead of three, and as many models measure held-out distances.
REFIT = 3.0
# Letters of the reason why a method failed.
LONGEST_REASON = 300
OVER = "The time budget ended before a method could be ranked; the run continues until one is."
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
            foreseen = kind in ("ValueError", "numpy.linalg.LinAlgError")
            text = text if foreseen else f"{kind}: {text}"
    text = " ".join(text.split())
    if len(text) > LONGEST_REASON:  # whole sentences, if there is one
        text = text[:LONGEST_REASON].rpartition(". ")[0] or f"{text[:LONGEST_REASON]} …"
    text = text.rstrip(".")
    if text and isinstance(error, ValueError | MemoryError):
        return text
    # What nobody foresaw is hard to place without its kind: "'params'" of a KeyError.
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cross_validate(
    problem, methods, plan, *, jobs=1, time_budget=None, tell=None, finished=None, keep=None,
    say=None,
):  # fmt: skip
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
        Seconds for the folds and for fitting the best method on all objects. Methods that finished
        all folds are compared; if there are none, the methods and folds that were finished. A
        method that cannot be finished in time is left out as soon as one of its folds shows it.
        While nothing can be compared the work goes on.
    tell : callable, default=None
        Called with the :class:`State` when the work begins and after each cell.
    finished : dict or None
        (method, fold) -> Cell of an earlier run.
    keep : callable or None
        Called with each Cell as soon as it is finished.
    say : callable or None
        Called with a list of sentences, if the time is over before anything can be compared.

    Returns
    -------
    outcome : Outcome
        Cells of the methods and folds that are complete. An interruption (Ctrl-C) counts as the end
        of the time if something can be compared.
    """
    start = time.monotonic()
    run = _Run(problem, methods, plan, jobs, time_budget, tell, keep, say, finished or {})
    try:
        run.all()
    except KeyboardInterrupt:
        run.stopped = True
        if not run.rankable()[1]:
            raise
    outcome = run.outcome()
    outcome.seconds = time.monotonic() - start
    return outcome


class _Run:
    """The cells of a comparison, as they are finished."""

    def __init__(self, problem, methods, plan, jobs, time_budget, tell, keep, say, finished):
        splits, self.method_seconds = outer_splits(problem, plan), None
        self.deadline = math.inf
        if time_budget is not None:
            self.deadline = time.monotonic() + time_budget
            fits = len(splits) * max(1, len(methods))
            self.method_seconds = max(0.5, 0.5 * time_budget * jobs / fits)
        self.work = (problem, setting_for(problem, plan, self.method_seconds), splits, plan)
        self.methods, self.jobs, self.time_budget = methods, jobs, time_budget
        self.methods = sorted(methods, key=lambda m: m.cost)
        self.first = min(plan.folds, len(splits))
        rounds = [range(self.first), range(self.first, len(splits))]
        self.tasks = [(m.name, fold) for folds in rounds for m in self.methods for fold in folds]
        self.cells = {task: finished[task] for task in self.tasks if task in finished}
        self.failed, self.late, self.stopped = {}, set(), False
        self.tell, self.keep, self.say = tell, keep, say

    def rankable(self):
        """Methods that can be compared, and the folds they all have finished."""
        return _rankable(self.methods, self.cells, self.failed, len(self.work[2]), self.first)

    def report(self, method=""):
        """Tell how far it is."""
        if self.tell:
            self.tell(state_of(self.tasks, self.cells, self.failed, self.jobs, method, self.first))

    def add(self, cell):
        """Take a finished cell, or (method, fold, reason) of one that failed."""
        if isinstance(cell, tuple):
            name, _, self.failed[name] = cell
        else:
            name = cell.method
            self.cells[name, cell.fold] = cell
            if self.keep:
                self.keep(cell)
            missing = sum((name, fold) not in self.cells for fold in range(self.first))
            seconds = self._seconds(name)
            needed = (missing / self.jobs + REFIT) * seconds
            if time.monotonic() + needed > self.deadline and self.rankable()[1]:
                self.late.add(name)
        self.report(name)

    def given_up(self, name):
        """True of a method that failed, or cannot be finished in time."""
        return name in self.failed or name in self.late

    def _seconds(self, name):
        cells = [cell for (method, _), cell in self.cells.items() if method == name]
        return float(np.mean([cell.fit_seconds + cell.predict_seconds for cell in cells]))

    def seconds_left(self):
        """Time until the best one must be fitted on all objects; without end if none is ranked."""
        methods, folds = self.rankable()
        if not folds:
            if self.say and time.monotonic() > self.deadline:
                self.say([OVER])
                self.say = None
            return math.inf
        best = min(methods, key=lambda m: np.mean([self.cells[m.name, f].error for f in folds]))
        return self.deadline - REFIT * self._seconds(best.name) - time.monotonic()

    def all(self):
        """Run what is not there yet."""
        self.report()
        tasks = [task for task in self.tasks if task not in self.cells]
        if tasks and (self.jobs > 1 or self.time_budget is not None):
            self._in_processes(tasks)
        else:
            for task in tasks:
                self._here(*task)

    def _here(self, name, fold):
        if self.given_up(name):
            return
        problem, setting, splits, plan = self.work
        try:
            self.add(run_cell(problem, setting, name, fold, splits[fold], plan))
        except Exception as error:  # whatever it is, the other methods go on
            self.add((name, fold, _reason(error)))

    def _in_processes(self, tasks):
        """As _here, in processes, which are ended when the time is up and something is ranked.

        While they start, the first tasks are done here.
        """
        from threadpoolctl import threadpool_limits

        with worker_pool(min(self.jobs, len(tasks)), _start_worker, self.work) as (pool, end):
            started = pool.submit(int)
            with threadpool_limits(1):
                while tasks and not started.done() and self.seconds_left() > 0:
                    self._here(*tasks.pop(0))
            pending = set()
            while True:
                while tasks and len(pending) <= self.jobs:
                    task = tasks.pop(0)
                    if not self.given_up(task[0]):
                        pending.add(pool.submit(_work, *task))
                if not pending:
                    break
                left = self.seconds_left()
                if left <= 0:
                    end()
                    break
                # Without anything ranked: until the time is over, which is then said.
                over = self.deadline - time.monotonic()
                timeout = min(left, over if over > 0 else left)
                timeout = timeout if math.isfinite(timeout) else None
                done, pending = wait(pending, timeout=timeout, return_when=FIRST_COMPLETED)
                for future in done:
                    self.add(future.result())

    def outcome(self):
        """The cells of the methods and folds that are complete, with sentences on the others."""
        _, _, splits, plan = self.work
        if len(self.failed) == len(self.methods):
            reasons = "; ".join(f"{name}: {why}" for name, why in list(self.failed.items())[:3])
            raise DataError(f"No method could be fitted ({reasons}).")
        ranked, folds = self.rankable()
        cells = {
            (m.name, new): self.cells[m.name, old] for new, old in enumerate(folds) for m in ranked
        }
        outcome = Outcome(
            plan, [splits[f] for f in folds], cells, ranked, self.failed,
            stopped=self.stopped, method_seconds=self.method_seconds,
        )  # fmt: skip
        why = "The run was stopped" if self.stopped else "The time budget ended"
        if len(folds) < len(splits):
            outcome.notes.append(
                f"{why} after {len(folds)} of {len(splits)} folds; the intervals are therefore "
                "wider."
            )
        unfinished = [
            m.title for m in self.methods if m not in ranked and m.name not in self.failed
        ]
        if unfinished:
            outcome.notes.append(f"{why} before these were compared: {listed(unfinished, 20)}.")
        for name, reason in self.failed.items():
            outcome.notes.append(f"{METHODS[name].title} failed and was left out: {reason}.")
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
