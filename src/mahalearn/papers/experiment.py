"""Experiments as data, and the one loop that runs all of them.

An experiment is data: data sets, methods, repetitions, and where the published numbers are. A cell
is one method on one repetition of one data set. Its seed follows from its name alone, so that rows
are the same in any order, for any number of processes, and after any interruption.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from ..app.workers import worker_pool
from ..results import versions
from . import rows as rows_file
from .record import commit


class Measured(NamedTuple):
    """Result of a method's run: errors as shares, chosen parameters, other numbers."""

    error: float | None = None
    balanced_error: float | None = None
    params: dict = {}
    values: dict = {}


class Draw(NamedTuple):
    """Which data a cell wants: a repetition of a set, and how to draw it."""

    dataset: str
    repetition: int
    seed: int
    setting: str


class CellData(NamedTuple):
    """Training and test data of a cell, and what a search is told of the kernels to choose from."""

    X: object
    y: object
    X_test: object
    y_test: object
    kernel: dict = {}
    status: str = "generated"
    values: dict = {}


@dataclass(frozen=True)
class Measurement:
    """A cell that is not a classifier: `function(data, seed, earlier)` gives its Measured."""

    name: str
    function: Callable

    def run(self, data, seed, earlier):
        """Measure."""
        return self.function(data, seed, earlier)


class Published(NamedTuple):
    """A published number: mean, standard deviation and the repetitions behind them."""

    mean: float
    std: float = 0.0
    n: int = 1


class Convention(NamedTuple):
    """A choice that the paper does not print, and the cells whose published numbers led to it.

    Those cells are calibration: they agree because the choice was made for them, and test nothing.
    `cells` holds pairs (data set, method or value); none where the text or the authors' software
    alone led to the choice.
    """

    text: str
    cells: frozenset = frozenset()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    id, paper, title : str
        "A1", "A", and a line of description.
    source : callable
        Draw -> the data of a cell, with the attribute `status` if it is not generated.
    methods : tuple
        With `name` and ``run(data, seed, earlier)``.
    datasets : tuple of str
        Names as in the paper's table.
    repetitions : int
        Of the paper.
    fewer : dict
        Data sets with other numbers of repetitions.
    quick_repetitions : int
        With ``--quick``.
    quick_without : frozenset
        Data sets that ``--quick`` leaves out, for their time.
    quick_setting : str
        Name of the shortened protocol, where ``--quick`` means one; "" where its cells are the
        full run's.
    requires : str
        Id of the experiment whose rows of the same data set a cell needs; "" for none.
    draws : callable
        Name of a data set -> name of its draw: sets with one name get one seed.
    measure : str
        Which number is compared with the published one.
    published : callable
        () -> {(dataset, method): Published}.
    figure : str
        How the report draws it; "" for a table.
    slack, digits : dict
        For measured values: by how much each may differ beside its spread, and its decimals.
    conventions : tuple of Convention
        Choices that the paper leaves open, with the cells that led to them.
    readings : dict
        Data sets that are another reading of one -> that one. They are compared with its published
        numbers and shown, but not counted.
    notes : tuple of str
        What else a reader of the comparison must know.
    extra : callable
        Rows of the experiment -> further blocks of the page.
    chance : callable
        Rows, data set, line -> the chance rate of a cell; None for that of the other published
        numbers (see `agreement`).
    availability : callable
        Name of a data set -> nothing, or an error that says how to get it; None if none is needed.
    """

    id: str
    paper: str
    title: str
    source: Callable
    methods: tuple
    datasets: tuple
    repetitions: int
    fewer: dict = field(default_factory=dict)
    quick_repetitions: int = 1
    quick_without: frozenset = frozenset()
    quick_setting: str = ""
    requires: str = ""
    draws: Callable = str
    measure: str = "error"
    published: Callable = dict
    figure: str = ""
    slack: dict = field(default_factory=dict)
    digits: dict = field(default_factory=dict)
    conventions: tuple = ()
    readings: dict = field(default_factory=dict)
    notes: tuple = ()
    extra: Callable = lambda rows: []
    chance: Callable | None = None
    availability: Callable | None = None

    def cells(self, *, quick=False, repetitions=None):
        """The cells of a run, the methods of a repetition next to each other."""
        setting = self.quick_setting if quick else ""
        for dataset in self.datasets:
            if quick and dataset in self.quick_without:
                continue
            most = self.fewer.get(dataset, self.repetitions)
            n = repetitions or (min(most, self.quick_repetitions) if quick else most)
            # What does not depend on a repetition is measured once.
            for repetition in range(min(n, most) if most == 1 else n):
                for method in self.methods:
                    yield CellKey(self.id, dataset, method.name, repetition, setting)

    @property
    def calibration(self):
        """Cells that led to a convention, as pairs (data set, method or value)."""
        return frozenset().union(*(convention.cells for convention in self.conventions))

    def method(self, name):
        """The method of a name."""
        return next(method for method in self.methods if method.name == name)


class CellKey(NamedTuple):
    """Name of a cell; the same as its row's key."""

    experiment: str
    dataset: str
    method: str
    repetition: int
    setting: str = ""


def seed_of(*parts):
    """A seed below 2³² that depends on the parts alone."""
    return int.from_bytes(sha256("\0".join(map(str, parts)).encode()).digest()[:4], "big")


def run_cell(experiment, cell, earlier):
    """Run a cell and return its Row, on one thread: rounding must not depend on the machine."""
    from threadpoolctl import threadpool_limits

    start = time.process_time()
    seed = seed_of(experiment.paper, experiment.draws(cell.dataset), cell.repetition)
    with threadpool_limits(limits=1):
        data = experiment.source(Draw(cell.dataset, cell.repetition, seed, cell.setting))
        measured = experiment.method(cell.method).run(data, seed, earlier)
    return rows_file.Row(
        *cell[:4],
        error=measured.error,
        balanced_error=measured.balanced_error,
        params=measured.params,
        values={**(data.values if isinstance(data, CellData) else {}), **measured.values},
        seed=seed,
        setting=cell.setting,
        status=getattr(data, "status", "generated"),
        versions={**versions(), "commit": commit()} if commit() else versions(),
        seconds=round(time.process_time() - start, 3),
    )


def run(experiments, path, *, quick=False, repetitions=None, jobs=1, report=None):
    """Run all cells that have no row yet.

    Parameters
    ----------
    experiments : iterable of Experiment
        In this order; those that others require come first by themselves.
    path : str or path
        File of rows.
    quick : bool, default=False
        Fewer repetitions, without the slowest sets.
    repetitions : int, default=None
        Instead of the paper's.
    jobs : int, default=1
        Processes.
    report : callable, default=None
        Called as ``report(experiment, finished, total, row)`` at the start of an experiment (with
        ``row=None``) and after each cell.

    Returns
    -------
    missing : dict
        (experiment, data set) -> why it could not be had.
    """
    from .catalogue import EXPERIMENTS

    report = report or (lambda *_: None)
    missing, planned = {}, []
    for experiment in experiments:
        for wanted in (EXPERIMENTS.get(experiment.requires), experiment):
            if wanted is not None and wanted not in planned:
                planned.append(wanted)
    for experiment in planned:
        n = None if experiment not in experiments else repetitions
        cells = list(experiment.cells(quick=quick, repetitions=n))
        for dataset in dict.fromkeys(cell.dataset for cell in cells):
            if reason := _unavailable(experiment, dataset):
                missing[experiment.id, dataset] = reason
                note = {"missing": reason}
                rows_file.append(
                    path, rows_file.Row(experiment.id, dataset, rows_file.NO_DATA, 0, values=note)
                )
        rows = rows_file.read(path)
        done = {row.key for row in rows}
        todo = [c for c in cells if c[:2] not in missing and tuple(c) not in done]
        earlier = {}
        for row in rows:
            if row.experiment == experiment.requires:
                earlier.setdefault((row.dataset, row.setting), {})[row.method] = row.params
        report(experiment, 0, len(todo), None)
        tasks = [(experiment, cell, earlier.get((cell.dataset, cell.setting), {})) for cell in todo]
        for finished, row in enumerate(_rows(tasks, path, jobs), start=1):
            report(experiment, finished, len(todo), row)
    return missing


def _rows(tasks, path, jobs):
    """Run the cells and yield their rows, each of them saved by the process that measured it."""
    if jobs == 1 or len(tasks) < 2:
        for experiment, cell, earlier in tasks:
            yield _run_and_save(experiment.id, cell, earlier, path)
        return
    from concurrent.futures import as_completed

    with worker_pool(min(jobs, len(tasks))) as (pool, _):
        futures = [
            pool.submit(_run_and_save, experiment.id, cell, earlier, path)
            for experiment, cell, earlier in tasks
        ]
        for future in as_completed(futures):
            yield future.result()


def _run_and_save(name, cell, earlier, path):
    from .catalogue import EXPERIMENTS

    row = run_cell(EXPERIMENTS[name], cell, earlier)
    rows_file.append(path, row)
    return row


def _unavailable(experiment, dataset):
    """Why a data set cannot be had, or ""."""
    if experiment.availability is None:
        return ""
    try:
        experiment.availability(dataset)
    except (OSError, ValueError, ImportError) as error:
        return str(error)
    return ""
