"""Options that commands share: what data to read, and how."""

import inspect
from dataclasses import dataclass, fields
from functools import wraps
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
    rare: Annotated[
        str, seldom(help="Classes with fewer than 3 objects: keep (refused), merge or drop.")
    ] = "keep"
    memory: Memory = None

    @property
    def inputs(self):
        """Files that are read."""
        return [self.data, self.proximity, self.labels, self.objects]

    def chosen(self):
        """Names of the options that differ from their defaults."""
        return [f.name for f in fields(self) if getattr(self, f.name) not in (f.default, (), [])]


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
