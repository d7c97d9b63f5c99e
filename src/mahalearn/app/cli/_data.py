"""The problem that the options of a command describe, and which options serve which data."""

import math
import shlex
from functools import partial
from pathlib import Path

import pandas as pd

from ..._validation import looks_like_dissimilarity
from ...kernels.proximity_kernel import suspicions
from ...measures.table import as_measure
from ...proximity.diagnosis import equal_distances
from ..reading.large import large_table, parse_memory
from ..reading.layout import TableFormat
from ..reading.overview import column_overview
from ..reading.problem import MOST_MET_ONCE, DataError, Faults, alike_notices, symbols_met_once
from ..reading.read import names_set, read_problem, unpacked_suffix
from ..reading.tables import find_target
from ._large import Everything

# What data each option is for; elsewhere it would be ignored without a word.
SERVES = {
    "target": ("a table", "a long table"),
    "labels": ("--proximity", "--objects"),
    "kind": ("--proximity",),
    "symmetrize": ("--proximity",),
    "mixed": ("a table", "the set"),
    "measure": ("--objects", "a long table"),
    "window": ("--objects", "a long table"),
    "normalize": ("--objects", "a long table"),
    "header": ("a table", "a long table"),
    "sheet": ("a table", "a long table"),
    "skip": ("a table", "a long table"),
    "missing": ("a table", "a long table"),
    "decimal": ("a table", "a long table"),
    "drop": ("a table",),
    "id": ("a table", "a long table"),
    "groups": ("a table",),
    "value": ("a long table",),
    "interpolate": ("a long table", "--objects"),
}
CHOICES = {
    "rare": ("keep", "merge", "drop"),
    "kind": (None, "dissimilarity", "similarity"),
    "mixed": ("onehot", "gower"),
}
# Columns of a table that may hold series in long format, and rows of each series.
MOST_COLUMNS_OF_SERIES, LEAST_ROWS_OF_SERIES = 50, 5
# Files by whose names people mean objects or a matrix.
OTHER_KINDS = dict.fromkeys((".fasta", ".fa", ".fas", ".faa", ".fna"), ("sequences", "--objects"))
OTHER_KINDS[".ts"] = ("time series", "--objects")
OTHER_KINDS |= dict.fromkeys((".phy", ".phylip"), ("a matrix of distances", "--proximity"))


def read_data(options, only_look=False):
    """The problem that the options of a command describe."""
    _check_source(options)
    choices = {k: v for k, v in vars(options).items() if k not in ("rare", "memory")}
    problem = read_problem(**choices, only_look=only_look)
    if problem.kind == "vectors" and not problem.overview:  # of a set by name
        problem.overview = column_overview(problem.X, {}, {}, {})
    if problem.kind != "vectors" and problem.y is not None:
        problem.notes += alike_notices(problem.y, "classes")
    if options.proximity:
        _check_kind(problem)
    elif problem.kind == "objects" and problem.columns is None:
        _check_measure(problem)
    if options.data and options.target is None and problem.target is not None:
        problem.notes.insert(
            0, f"Column {problem.target!r} was taken for the classes (--target names another)."
        )
    if problem.kind == "vectors" and options.data and not options.groups:
        problem.notes += series_hint(problem)
    return problem if problem.y is None else problem.treat_rare(options.rare)


def series_hint(problem):
    """Sentences on a table that seems to hold series, with a row for each time."""
    X, y = problem.X.reset_index(drop=True), pd.Series(problem.y)
    numbers = X.select_dtypes("number")
    dates = [line["name"] for line in problem.overview if line["type"] == "date"]
    for name in X.columns[:MOST_COLUMNS_OF_SERIES]:
        groups = X[name]
        if not 2 * y.nunique() <= groups.nunique() <= len(X) / LEAST_ROWS_OF_SERIES:
            continue
        if groups.isna().any() or y.groupby(groups).nunique().max() > 1:
            continue
        steps = numbers.drop(columns=name, errors="ignore").groupby(groups).diff()
        rising = steps.columns[(steps.isna() | (steps > 0)).all()].tolist()
        values = [column for column in numbers if column not in (name, *rising)]
        if [*dates, *rising] and values:
            time, id = shlex.quote([*dates, *rising][0]), shlex.quote(name)
            channels = " ".join(f"--value {shlex.quote(column)}" for column in values)
            return [
                f"Each {name!r} has many rows, all of one class. If they are times of a series, "
                f"read them so: --id {id} --time {time} {channels}. If not, --groups {id} keeps "
                "them on one side of a fold."
            ]
    return []


def _check_source(options):
    """Refuse options that name no source, several, or are of no use for it; all at once."""
    source = _source(options)
    with Faults().raised() as faults:
        for fault in _faults_of_options(options, source):
            faults.add(fault)
        if options.data and not source.startswith("the set"):
            with faults.collected():
                _check_table(options.data)


def _source(options):
    """What the options read, in the words of `SERVES`."""
    data = options.data
    sources = {"DATA": data, "--proximity": options.proximity, "--objects": options.objects}
    there = [name for name, value in sources.items() if value]
    if len(there) != 1:
        raise DataError(
            "Give one of DATA (a table or the name of a set), --proximity MATRIX or --objects FILE"
            + (f"; got {' and '.join(there)}." if there else ".")
        )
    if not data:
        return there[0]
    if names_set(data):
        return f"the set {data}"
    return "a long table" if options.time else "a table"


def _faults_of_options(options, source):
    """Sentences on options that do nothing for the source, or cannot be what they are."""
    for name in options.chosen():
        serves = SERVES.get(name)
        if serves and not source.startswith(serves):
            yield f"--{name} has no effect for {source}; it is for {' and '.join(serves)}."
    for name, values in CHOICES.items():
        if getattr(options, name) not in values:
            words = ", ".join(filter(None, values))
            yield f"--{name} must be one of {words}; got {getattr(options, name)!r}."
    for name in ("proximity", "objects", "labels"):
        path = getattr(options, name)
        if path and path.is_dir():
            yield f"--{name} must name a file; {str(path)!r} is a folder."
    if list(map(str, options.inputs)).count("-") > 1:
        yield "Standard input (-) can be read once only."
    if options.time and not (options.id and options.value):
        yield "--time needs --id (the series of a row) and --value (its value) as well."


def _check_table(data):
    """Refuse what is no table, and name the option that reads it."""
    path = Path(data)
    if data != "-" and not path.exists() and not path.suffix:
        raise DataError(
            f"There is no file {data!r}, and no data set of that name; mahalearn datasets lists "
            "the sets."
        )
    suffix = unpacked_suffix(path)
    if suffix in OTHER_KINDS and path.is_file():
        what, option = OTHER_KINDS[suffix]
        raise DataError(
            f"{data!r} holds {what}, not a table: give it as {option} {shlex.quote(data)}."
        )


def _check_kind(problem):
    """Refuse dissimilarities that are said to be similarities; other doubts are noted."""
    if problem.proximity == "similarity" and looks_like_dissimilarity(problem.X):
        raise DataError(
            "--kind similarity expects values that are large for similar objects, but each object "
            "has the value 0 with itself and no pair has a smaller one, as in a matrix of "
            "dissimilarities; use --kind dissimilarity."
        )
    problem.notes += suspicions(problem.X, problem.proximity)
    if problem.proximity == "dissimilarity" and (equal := equal_distances(problem.X)):
        problem.notes.append(equal)


def _check_measure(problem):
    """Refuse objects that the measure cannot compare, before anything is computed."""
    if problem.measure == "edit" and symbols_met_once(problem.X) > MOST_MET_ONCE:
        raise DataError(
            "--measure edit counts symbols as equal or different, but these objects hold real "
            "numbers, nearly none of which occurs twice: every object would be equally far from "
            "every other. Round the numbers to a few levels, or choose another measure, such as "
            "--measure elastic."
        )
    try:
        for measure in (problem.alternatives or {"": problem.measure}).values():
            as_measure(measure).fit(problem.X).prepare(problem.X)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"--measure {problem.measure_name} cannot compare these objects: {error}"
        ) from None


def read_large(options, size, seed=0, rows=math.inf):
    """The table of the options if it is to be read part by part, else None.

    That is a table larger than the memory or, unless an option needs all rows at once, `rows`.
    """

    memory = parse_memory(options.memory)
    if options.proximity or options.objects or options.time:
        return None
    together = options.groups or options.mixed != "onehot"
    find = partial(find_target, target=options.target)
    most = math.inf if together else rows
    form = TableFormat(*(getattr(options, name) for name in vars(TableFormat())))
    table = large_table(options.data, memory, form, most, find=find)
    return None if table is None else Everything(table, options, size, seed)
