"""Options that commands share: what data to read and how, and which of them serve which data."""

import inspect
import math
import shlex
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Annotated

import typer


def seldom(*names, **settings):
    """An option that only --help-all shows."""
    return typer.Option(*names, hidden=True, **settings)


Header = Annotated[
    bool | None,
    seldom(
        "--header/--no-header",
        help="The first line holds column names, or data (detected automatically).",
    ),
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a workbook: its name, or its number from 1.")
]
Skip = Annotated[int | None, seldom(min=0, help="Lines above the header (detected automatically).")]
Missing = Annotated[
    str | None,
    typer.Option(help='Words for missing cells, such as "n.d.,<LOD", besides the usual ones.'),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal mark, . or , (detected automatically); the other one then separates "
        "thousands."
    ),
]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the rows or the series.")]
Memory = Annotated[
    str | None, seldom(help="Memory for the table (2GB); a larger one is read part by part.")
]
Jobs = Annotated[int | None, seldom(min=1, help="Processes; all processors by default.")]
Seed = Annotated[int, seldom(min=0, max=2**32 - 1, help="Seed of all random choices.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite earlier results.")]
By = Annotated[str, seldom(help="Error by which methods are ranked: plain or balanced.")]


@dataclass
class DataOptions:
    """Data of a command, and how they are read."""

    data: Annotated[
        str | None,
        typer.Argument(
            help="A table (CSV, TSV, Excel, JSON, Parquet, NPZ, ARFF; also compressed),"
            " - for standard input, or a set (mahalearn datasets)."
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(help="Column of the classes: its name, or its number from 1 (-1: the last)."),
    ] = None
    proximity: Annotated[
        Path | None,
        typer.Option(
            help="Matrix of proximities (CSV, Excel, Parquet, PHYLIP, NPY, NPZ; square, a "
            "triangle, or condensed), with or without names."
        ),
    ] = None
    objects: Annotated[
        Path | None,
        typer.Option(
            help="FASTA, time series (.ts, UCR, .npy), JSON lines, a table with the columns text "
            "and label, or a text in each line."
        ),
    ] = None
    labels: Annotated[
        Path | None, typer.Option(help="Classes: one in each line, or name and class.")
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            help="Measure of two objects: elastic, dtw, msm, alignment, edit, compression, "
            "jaccard, hausdorff, …; by default chosen by the kind of file."
        ),
    ] = None
    kind: Annotated[
        str | None, typer.Option(help="What the matrix holds: dissimilarity or similarity.")
    ] = None
    sheet: Sheet = None
    missing: Missing = None
    decimal: Decimal = None
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be given several times.")
    ] = None
    id: Id = None
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column of groups (patient, batch): rows of one group are never in both the "
            "training and the test part of a fold."
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of times in a table of long format, one row for each time: its rows "
            "become series, by --id and --value."
        ),
    ] = None
    value: Annotated[
        list[str] | None,
        typer.Option(help="Column of values of such series; several are channels."),
    ] = None
    interpolate: Annotated[
        bool, seldom("--interpolate", help="Fill gaps of series from their neighbours in time.")
    ] = False
    window: Annotated[
        float | None,
        seldom(min=0, max=1, help="Band of an elastic measure, as a share of the length."),
    ] = None
    normalize: Annotated[
        bool | None,
        seldom(
            "--normalize",
            help="Series get mean 0 and variance 1; edit distances are divided by the longer "
            "length.",
        ),
    ] = None
    symmetrize: Annotated[
        str | None, seldom(help="For a matrix that is not symmetric: mean, min or max.")
    ] = None
    mixed: Annotated[
        str,
        seldom(help="Categorical columns: onehot, or gower to compare rows by Gower's distance."),
    ] = "onehot"
    header: Header = None
    skip: Skip = None
    weights: Annotated[str | None, seldom(help="Column of the weights of the rows.")] = None
    rare: Annotated[
        str, seldom(help="Classes with fewer than 3 objects: keep (refused), merge or drop.")
    ] = "keep"
    memory: Memory = None

    @property
    def form(self):
        """How a text file or a sheet is written."""
        return table_format(self.header, self.sheet, self.skip, self.missing, self.decimal)

    @property
    def inputs(self):
        """Files that are read."""
        return [self.data, self.proximity, self.labels, self.objects]

    def chosen(self):
        """Names of the options that differ from their defaults."""
        return [f.name for f in fields(self) if getattr(self, f.name) not in (f.default, (), [])]


def table_format(header, sheet, skip, missing, decimal):
    """The format of a text file or a sheet that options describe."""
    from ..reading.layout import TableFormat

    return TableFormat(header, sheet, skip, missing or "", decimal)


def with_data(command):
    """Give a command the options of `DataOptions`, which it takes as its argument `options`."""
    data = [
        inspect.Parameter(
            f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
        )
        for f in fields(DataOptions)
    ]
    others = [p for p in inspect.signature(command).parameters.values() if p.name != "options"]
    context, others = others[0], [p.replace(kind=p.KEYWORD_ONLY) for p in others[1:]]

    @wraps(command)
    def run(context, **values):
        options = DataOptions(**{p.name: values.pop(p.name) for p in data})
        for name in ("proximity", "labels", "objects"):  # older versions of typer leave texts
            if value := getattr(options, name):
                setattr(options, name, Path(value))
        return command(context, options=options, **values)

    run.__signature__ = inspect.Signature([context, *data, *others])
    run.__annotations__ = {p.name: p.annotation for p in (context, *data, *others)}
    return run


# --- the problem that the options describe --------------------------------------------------------

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
    "weights": ("a table",),
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
    from ..reading.overview import column_overview
    from ..reading.problem import alike_notices
    from ..reading.read import read_problem

    _check_source(options)
    names = ("data", "proximity", "objects", "target", "labels", "kind", "symmetrize", "mixed")
    names += ("measure", "window", "normalize", "drop", "id", "groups", "weights")
    names += ("time", "value", "interpolate")
    problem = read_problem(
        **{name: getattr(options, name) for name in names},
        **vars(options.form),
        only_look=only_look,
    )
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
    import pandas as pd

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
    from ..reading.problem import Faults

    source = _source(options)
    with Faults().raised() as faults:
        for fault in _faults_of_options(options, source):
            faults.add(fault)
        if options.data and not source.startswith("the set"):
            with faults.collected():
                _check_table(options.data)


def _source(options):
    """What the options read, in the words of `SERVES`."""
    from ..reading.problem import DataError
    from ..reading.read import names_set

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
    from ..reading.problem import DataError
    from ..reading.read import unpacked_suffix

    path = Path(data)
    if data != "-" and not path.exists() and not path.suffix:
        raise DataError(
            f"There is no file {data!r}, and no data set of that name; mahalearn datasets lists "
            "the sets."
        )
    suffix = unpacked_suffix(path)
    if suffix in OTHER_KINDS and path.is_file():
        what, option = OTHER_KINDS[suffix]
        raise DataError(f"{data!r} holds {what}, not a table: give it as {option} {data}.")


def _check_kind(problem):
    """Refuse dissimilarities that are said to be similarities; other doubts are noted."""
    from ..._validation import looks_like_dissimilarity
    from ...kernels.proximity_kernel import suspicions
    from ...proximity.diagnosis import equal_distances
    from ..reading.problem import DataError

    if problem.proximity == "similarity" and looks_like_dissimilarity(problem.X):
        raise DataError(
            "--kind similarity expects values that are large for similar objects, but each object "
            "has the value 0 with itself and no pair has a smaller one, as in a matrix of "
            "dissimilarities; use "
            "--kind dissimilarity."
        )
    problem.notes += suspicions(problem.X, problem.proximity)
    if problem.proximity == "dissimilarity" and (equal := equal_distances(problem.X)):
        problem.notes.append(equal)


def _check_measure(problem):
    """Refuse objects that the measure cannot compare, before anything is computed."""
    from ...measures.table import as_measure
    from ..reading.problem import MOST_MET_ONCE, DataError, symbols_met_once

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
    from ..reading.large import large_table, parse_memory
    from ..reading.tables import find_target

    memory = parse_memory(options.memory)
    if options.proximity or options.objects or options.time:
        return None
    together = options.groups or options.weights or options.mixed != "onehot"
    find = partial(find_target, target=options.target)
    most = math.inf if together else rows
    table = large_table(options.data, memory, options.form, most, find=find)
    if table is None:
        return None
    from ._large import Everything

    return Everything(table, options, size, seed)
