"""The command line: options, commands, and what data they mean.

What is heavy is imported inside the commands, so that --help is there at once.
"""

import time
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="mahalearn",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(value: bool):
    if value:
        typer.echo(f"mahalearn {import_module(__name__.partition('.')[0]).__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
):
    """Mahalanobis-distance classification in input, kernel and Kreĭn spaces.

    \b
    mahalearn compare wine
    mahalearn compare table.csv --target species --out result
    mahalearn compare --proximity distances.csv --labels classes.csv
    mahalearn compare --objects words.txt --measure edit --labels classes.txt
    mahalearn train table.csv --target species --out species.skops
    mahalearn predict species.skops new.csv --out predictions.csv
    mahalearn export species.skops species.onnx
    mahalearn doctor
    """


def _speaking():
    """A context that turns what people can mend into one sentence and exit code 2."""
    from ._terminal import speaking

    return speaking()


# --- options of the commands on people's own data -------------------------------------------------


def _load_config(context: typer.Context, value: Path | None):
    """Take options from a file as defaults; what the command line says comes first."""
    if value is None:
        return None
    known = {p.name: p for p in context.command.params if p.name != "config"}
    with _speaking():
        from ._terminal import read_config

        options = read_config(value, context.info_name, known)
    context.default_map = {**(context.default_map or {}), **options}
    return value


_Data = Annotated[
    str | None,
    typer.Argument(
        help="A table (CSV, TSV, Excel, ODS, JSON, Parquet, Arrow, NPZ, ARFF; also compressed), "
        "- for standard input, or a set (mahalearn datasets)."
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(help="Column of the classes: its name, or its number from 1 (-1: the last)."),
]
_Proximity = Annotated[
    Path | None,
    typer.Option(
        help="Matrix of proximities (CSV, Excel, Parquet, PHYLIP, NPY, NPZ; square, a triangle, or "
        "condensed), with or without names."
    ),
]
_Labels = Annotated[
    Path | None, typer.Option(help="Classes: one a line, or name and class to match by name.")
]
_Objects = Annotated[
    Path | None,
    typer.Option(
        help="FASTA, time series (.ts, UCR, .npy), JSON lines, or a text a line (or class, tab, "
        "text)."
    ),
]
_Measure = Annotated[
    str | None,
    typer.Option(
        help="What compares objects: elastic, dtw, msm, alignment, edit, compression, jaccard, "
        "hausdorff, …; what suits the file by default."
    ),
]
_Window = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Band of an elastic measure, as a share of the length."),
]
_Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize",
        help="Series get mean 0 and variance 1; edit distances are divided by the longer length.",
    ),
]
_Kind = Annotated[
    str | None, typer.Option(help="What the matrix holds: dissimilarity or similarity.")
]
_Symmetrize = Annotated[
    str | None, typer.Option(help="For a matrix that is not symmetric: mean, min or max.")
]
_Mixed = Annotated[
    str,
    typer.Option(help="Categorical columns: onehot, or gower to compare rows by Gower's distance."),
]
_Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="The first line holds column names (detected automatically).",
    ),
]
_Sheet = Annotated[
    str | None, typer.Option(help="Sheet of a workbook: its name, or its number from 1.")
]
_Skip = Annotated[
    int | None,
    typer.Option(min=0, help="Lines above the header (detected automatically)."),
]
_Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out; may be given several times.")
]
_Id = Annotated[str | None, typer.Option("--id", help="Column that names the rows.")]
_Groups = Annotated[
    str | None,
    typer.Option(
        help="Column of groups (patient, batch): rows of one group are never in both the training "
        "and the test part of a fold."
    ),
]
_Weights = Annotated[str | None, typer.Option(help="Column of the weights of the rows.")]
_Rare = Annotated[
    str, typer.Option(help="Classes with fewer than 3 objects: keep (refused), merge or drop.")
]
_Landmarks = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Landmarks of kernel discriminants on tables: 0 for none, 300 for more than 2000 rows "
        "by default.",
    ),
]
_Memory = Annotated[
    str | None,
    typer.Option(help="Memory for the table (2GB); a larger one is read part by part."),
]
_Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a dask scheduler (tcp://...) for fits on all rows."),
]
_Config = Annotated[
    Path | None,
    typer.Option(
        is_eager=True,
        callback=_load_config,
        help='TOML file with options of this command, such as target = "species".',
    ),
]
_Jobs = Annotated[int | None, typer.Option(min=1, help="Processes; all processors by default.")]
_Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all random choices.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite earlier results.")]
_By = Annotated[str, typer.Option(help="Error by which methods are ranked: plain or balanced.")]


# --- what data the options mean -------------------------------------------------------------------

# What data each option is for; elsewhere it would be ignored without a word.
SERVES = {
    "target": ("a table",),
    "labels": ("--proximity", "--objects"),
    "kind": ("--proximity",),
    "symmetrize": ("--proximity",),
    "mixed": ("a table", "the set"),
    "measure": ("--objects",),
    "window": ("--objects",),
    "normalize": ("--objects",),
    "header": ("a table",),
    "sheet": ("a table",),
    "skip": ("a table",),
    "drop": ("a table",),
    "id": ("a table",),
    "groups": ("a table",),
    "weights": ("a table",),
}
RARE = ("keep", "merge", "drop")
# Files by whose names people mean objects or a matrix.
OTHER_KINDS = dict.fromkeys((".fasta", ".fa", ".fas", ".faa", ".fna"), ("sequences", "--objects"))
OTHER_KINDS[".ts"] = ("time series", "--objects")
OTHER_KINDS |= dict.fromkeys((".phy", ".phylip"), ("a matrix of distances", "--proximity"))


def _given(context):
    """What was given; older versions of typer leave paths there as text."""
    files = ("proximity", "labels", "objects")
    return {k: Path(v) if v and k in files else v for k, v in context.params.items()}


def _inputs(context):
    """Files that a command reads."""
    return [_given(context)[name] for name in ("data", "proximity", "labels", "objects")]


def _problem(context, only_look=False):
    """The problem that the options of a command describe."""
    from ..reading.read import read_problem

    given = _given(context)
    _check_source(given)
    names = ("data", "proximity", "objects", *SERVES)
    problem = read_problem(**{name: given[name] for name in names}, only_look=only_look)
    if given["proximity"]:
        _check_kind(problem)
    elif given["objects"]:
        _check_measure(problem)
    elif given["target"] is None and problem.target is not None:
        problem.notes.insert(
            0, f"Column {problem.target!r} was taken for the classes (--target names another)."
        )
    if given["rare"] == "keep" or problem.y is None:
        return problem
    return problem.treat_rare(given["rare"])


def _check_source(given):
    """Refuse options that name no source, several, or are of no use for it."""
    from ..reading.problem import DataError
    from ..reading.read import names_set

    if given["rare"] not in RARE:
        raise DataError(f"--rare must be one of {', '.join(RARE)}; got {given['rare']!r}.")
    data, proximity, objects, labels = (
        given[name] for name in ("data", "proximity", "objects", "labels")
    )
    sources = {"DATA": data, "--proximity": proximity, "--objects": objects}
    there = [name for name, value in sources.items() if value]
    if len(there) != 1:
        raise DataError(
            "Give one of DATA (a table or the name of a set), --proximity MATRIX or --objects FILE"
            + (f"; got {' and '.join(there)}." if there else ".")
        )
    is_set = bool(data and names_set(data))
    source = f"the set {data}" if is_set else "a table" if data else there[0]
    for name, serves in SERVES.items():
        if given[name] not in (None, "onehot", (), []) and not source.startswith(serves):
            raise DataError(
                f"--{name} does nothing for {source}; it serves {' and '.join(serves)}."
            )
    if given["kind"] not in (None, "dissimilarity", "similarity"):
        raise DataError(f"--kind must be dissimilarity or similarity; got {given['kind']!r}.")
    if given["mixed"] not in ("onehot", "gower"):
        raise DataError(f"--mixed must be onehot or gower; got {given['mixed']!r}.")
    for name, path in (("--proximity", proximity), ("--objects", objects), ("--labels", labels)):
        if path and path.is_dir():
            raise DataError(f"{name} must name a file; {str(path)!r} is a folder.")
    if [str(path) for path in (data, proximity, objects, labels)].count("-") > 1:
        raise DataError("Standard input (-) can be read once only.")
    if data and not is_set:
        _check_table(data)


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
    from ...kernels.proximity import suspicions
    from ...proximity.diagnosis import equal_distances
    from ..reading.problem import DataError

    if problem.proximity == "similarity" and looks_like_dissimilarity(problem.X):
        raise DataError(
            "--kind similarity expects values that are large for similar objects, but each object "
            "has 0 with itself and no pair has less, as in a matrix of dissimilarities; say "
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


def _everything(context, size, seed=0):
    """The table of a command if it is to be read part by part, else None."""
    from ..reading.large import large_table, parse_memory

    given = _given(context)
    memory = parse_memory(given["memory"])
    if given["proximity"] or given["objects"]:
        return None
    table = large_table(given["data"], memory, header=given["header"], skip=given["skip"])
    if table is None:
        if given["scheduler"]:
            from ..reading.problem import DataError

            raise DataError(
                "--scheduler is for Parquet tables that do not fit into memory; --memory says how "
                "much of it there is."
            )
        return None
    from ._large import Everything

    return Everything(table, given, size, seed, given["landmarks"], given["scheduler"])


# --- commands -------------------------------------------------------------------------------------


def _plan(folds, repeats, seed, by, landmarks=None):
    from ..comparing.plan import Plan
    from ..reading.problem import DataError

    if by not in ("plain", "balanced"):
        raise DataError(f"--by must be plain or balanced; got {by!r}.")
    return Plan(folds, repeats, seed=seed, by=by, landmarks=landmarks)


@app.command()
def compare(
    context: typer.Context,
    data: _Data = None,
    target: _Target = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; NAME-comparison by default.")
    ] = None,
    proximity: _Proximity = None,
    labels: _Labels = None,
    objects: _Objects = None,
    measure: _Measure = None,
    window: _Window = None,
    normalize: _Normalize = None,
    kind: _Kind = None,
    symmetrize: _Symmetrize = None,
    mixed: _Mixed = "onehot",
    header: _Header = None,
    sheet: _Sheet = None,
    skip: _Skip = None,
    drop: _Drop = None,
    id: _Id = None,
    groups: _Groups = None,
    weights: _Weights = None,
    rare: _Rare = "keep",
    methods: Annotated[
        str | None,
        typer.Option(help="Comma-separated names; all by default (--methods list shows them)."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, max=1000, help="Outer folds.")] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, max=100, help="Repetitions of the folds, each drawn anew.")
    ] = 2,
    by: _By = "plain",
    time_budget: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds; methods are ranked by the folds finished by then."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="One repetition, and fast methods only (of a table no kernel methods)."
        ),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            min=0, help="Rows to compare on, 0 for all; by default 4000 of more than 5000."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a killed run from its finished folds.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the figures (SVG, PNG) and numbers (CSV).")
    ] = None,
    landmarks: _Landmarks = None,
    memory: _Memory = None,
    scheduler: _Scheduler = None,
    jobs: _Jobs = None,
    seed: _Seed = 0,
    force: _Force = False,
    config: _Config = None,
):
    """Compare classifiers on your data, save the best one and write a page about it.

    \b
    mahalearn compare wine
    mahalearn compare flowers.csv --target species --out flowers
    mahalearn compare --proximity distances.csv --labels classes.csv --kind dissimilarity
    mahalearn compare --objects words.txt --measure edit --labels classes.txt --time-budget 120
    mahalearn compare --objects series.ts
    """

    with _speaking():
        started = time.monotonic()
        from ..comparing.compare import SAMPLE
        from . import _compare
        from ._terminal import check_finite, command_line, cpu_count

        if methods == "list":
            _list_methods()
            return
        check_finite("--time-budget", time_budget)
        plan = _plan(folds, 1 if quick else repeats, seed, by, landmarks)
        everything = _everything(context, sample or SAMPLE, seed)
        problem = everything.problem if everything else _problem(context)
        folder = out or Path(f"{problem.name}-comparison")
        command = command_line(context, out=folder)
        _compare.compare(
            problem,
            folder,
            methods=None if methods is None else [m.strip() for m in methods.split(",")],
            plan=plan,
            jobs=jobs or cpu_count(),
            time_budget=time_budget,
            force=force,
            resume=resume,
            sample=0 if everything else sample,
            everything=everything,
            quick=quick,
            command=command,
            inputs=_inputs(context),
            started=started,
            figures=figures,
        )


def _list_methods():
    from ..comparing.methods import METHODS

    for method in METHODS.values():
        typer.echo(f"{method.name:16} {method.title}")


@app.command()
def train(
    context: typer.Context,
    data: _Data = None,
    target: _Target = None,
    out: Annotated[Path, typer.Option(help="File of the model, .skops.")] = Path("model.skops"),
    method: Annotated[str, typer.Option(help="A name of compare --methods list.")] = "chooser",
    proximity: _Proximity = None,
    labels: _Labels = None,
    objects: _Objects = None,
    measure: _Measure = None,
    window: _Window = None,
    normalize: _Normalize = None,
    kind: _Kind = None,
    symmetrize: _Symmetrize = None,
    mixed: _Mixed = "onehot",
    header: _Header = None,
    sheet: _Sheet = None,
    skip: _Skip = None,
    drop: _Drop = None,
    id: _Id = None,
    groups: _Groups = None,
    weights: _Weights = None,
    rare: _Rare = "keep",
    by: _By = "plain",
    landmarks: _Landmarks = None,
    memory: _Memory = None,
    scheduler: _Scheduler = None,
    jobs: _Jobs = None,
    seed: _Seed = 0,
    force: _Force = False,
    config: _Config = None,
):
    """Train one classifier (the chooser, if none is named) on all your data, and save it.

    \b
    mahalearn train flowers.csv --target species --out flowers.skops
    """

    with _speaking():
        from ..comparing.compare import SAMPLE
        from . import _compare
        from ._terminal import command_line, cpu_count

        everything = _everything(context, SAMPLE, seed)
        problem = everything.problem if everything else _problem(context)
        command = command_line(context)
        _compare.train(
            problem,
            out,
            everything=everything,
            method=method,
            plan=_plan(5, 1, seed, by, landmarks),
            jobs=jobs or cpu_count(),
            force=force,
            command=command,
            inputs=_inputs(context),
        )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="File of train or compare (.skops).")],
    data: Annotated[
        Path,
        typer.Argument(
            help="New rows, objects, or proximities to the training objects; - for standard input."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="File to write: .csv, .tsv, .parquet, .xlsx, or - to print.")
    ] = Path("predictions.csv"),
    keep: Annotated[
        bool, typer.Option("--keep", help="Write the columns of DATA before the predictions.")
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(help="Classes of the new objects, to score the predictions."),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(min=0, max=1, help="Probability that a set holds the true class."),
    ] = 0.95,
    outlier_level: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of regular objects that may be flagged; 0.05 by default."
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Flag outliers of this file so that at most this share of them is expected to be "
            "regular; instead of --outlier-level.",
        ),
    ] = None,
    header: _Header = None,
    sheet: _Sheet = None,
    skip: _Skip = None,
    id: _Id = None,
    memory: _Memory = None,
    force: _Force = False,
):
    """Predict labels and probabilities, and say how typical each object is of each class.

    Where DATA has the column of the classes (or --labels names a file), the predictions are scored.

    Columns: p CLASS (probability), d2 CLASS (squared distance, and whose), typical CLASS (p-value:
    an object of the class has a value of at most 0.05 with a probability of about 0.05), set (the
    classes with more than 1 - CONFIDENCE), p none (p-value of belonging to none of the classes),
    outlier (1 where p none is at most OUTLIER_LEVEL, or by --fdr).

    \b
    mahalearn predict flowers.skops new.csv --out predictions.csv
    mahalearn predict flowers.skops new.xlsx --keep --out predictions.xlsx
    mahalearn predict flowers.skops folder-of-parquet --memory 2GB --out predictions.parquet
    """

    with _speaking():
        from ..reading.problem import DataError
        from . import _predict
        from ._terminal import check_finite

        check_finite("--outlier-level", outlier_level)
        for name, value in (("--confidence", confidence), ("--fdr", fdr)):
            check_finite(name, value)
            if value in (0, 1):
                raise DataError(f"{name} must be between 0 and 1; got {value:g}.")
        if fdr is not None and outlier_level is not None:
            raise DataError("--fdr and --outlier-level both say who is an outlier; give one.")
        _predict.predict(
            model,
            data,
            out,
            level=0.05 if outlier_level is None else outlier_level,
            confidence=confidence,
            fdr=fdr,
            force=force,
            keep=keep,
            labels=labels,
            header=header,
            sheet=sheet,
            skip=skip,
            id=id,
            memory=memory,
        )


@app.command()
def inspect(
    context: typer.Context,
    data: _Data = None,
    target: _Target = None,
    proximity: _Proximity = None,
    labels: _Labels = None,
    objects: _Objects = None,
    measure: _Measure = None,
    window: _Window = None,
    normalize: _Normalize = None,
    kind: _Kind = None,
    symmetrize: _Symmetrize = None,
    mixed: _Mixed = "onehot",
    header: _Header = None,
    sheet: _Sheet = None,
    skip: _Skip = None,
    drop: _Drop = None,
    id: _Id = None,
    groups: _Groups = None,
    weights: _Weights = None,
    rare: _Rare = "keep",
    memory: _Memory = None,
):
    """Look at data before choosing a method, or at what a model file says about itself.

    \b
    mahalearn inspect flowers.csv --target species
    mahalearn inspect --proximity distances.csv
    mahalearn inspect --proximity distances.csv --labels classes.csv
    mahalearn inspect flowers.skops
    """

    with _speaking():
        from . import _inspect

        if data and data.endswith(".skops"):
            from ...persistence import model_about
            from ..reading.encoder import check_about

            _inspect.inspect_model(check_about(model_about(data), data, complete=False))
            return
        from ..reading.large import large_table, parse_memory

        table = None
        if not (proximity or objects):
            table = large_table(data, parse_memory(memory), header=header, skip=skip)
        if table is not None:
            from ._large import inspect_table

            inspect_table(table, target)
            return
        _inspect.inspect_problem(_problem(context, only_look=True))


@app.command()
def datasets():
    """List the data sets that can be named instead of a file."""

    with _speaking():
        from . import _inspect

        _inspect.show_datasets()


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="File of train, compare or save_model (.skops).")],
    out: Annotated[Path, typer.Argument(help="File to write (.onnx).")],
    single: Annotated[
        bool, typer.Option("--float32", help="Single precision of the input and the outputs.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
):
    """Write a model as an ONNX graph, which runs without Python."""

    with _speaking():
        from . import _export

        _export.export(model, out, single=single, force=force)


@app.command()
def doctor():
    """Show versions, threads, memory and optional packages."""

    with _speaking():
        from . import _doctor

        _doctor.show()


# Floors above this one bring commands of their own: modules with `register(app)`, `RECOGNISED`
# (the file that marks a folder of theirs) and `write_page(folder, docs, command)`. They are found
# by name, because they import this floor.
EXTENSIONS = [import_module(f"{__name__.partition('.')[0]}.papers.command")]
for extension in EXTENSIONS:
    extension.register(app)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of reproduce or compare.")],
    docs: Annotated[
        Path | None, typer.Option(help="Write this Markdown file too, its figures beside it.")
    ] = None,
    command: Annotated[
        str, typer.Option(help="The command that made the rows, for the page.")
    ] = "",
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder for the figures (SVG, PNG) and numbers (CSV) of a comparison."),
    ] = None,
):
    """Write the page of a run again, from its rows alone."""
    if (folder / "comparison.json").exists():
        given = [name for name, value in (("--docs", docs), ("--command", command)) if value]
        if given:
            raise typer.BadParameter(
                f"{given[0]} is for the rows of mahalearn reproduce; {folder} holds a comparison."
            )
        _write_comparison_page(folder, figures)
        return
    if figures is not None:
        raise typer.BadParameter("--figures is for the folder of a comparison.")
    for extension in EXTENSIONS:
        if (folder / extension.RECOGNISED).exists():
            extension.write_page(folder, docs, command)
            return
    marks = " or ".join(["comparison.json", *(extension.RECOGNISED for extension in EXTENSIONS)])
    raise typer.BadParameter(
        f"{folder} holds no {marks}; mahalearn compare or mahalearn reproduce with --out {folder} "
        "makes them."
    )


def _write_comparison_page(folder, figures=None):
    """Write the page of a comparison again, and its figures into a folder."""

    with _speaking():
        import json

        from ...results import write_text
        from ..reading.problem import DataError
        from ..report import html
        from ..report.comparison import document
        from ..report.export import save_figures

        path = folder / "comparison.json"
        try:
            made = document(json.loads(path.read_text(encoding="utf-8")))
            page = html.render(made)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise DataError(
                f"{str(path)!r} is not what this version of mahalearn compare writes; run compare "
                "again."
            ) from None
        write_text(folder / "report.html", page)
        typer.echo(f"page: {folder / 'report.html'}")
        if figures is not None:
            saved = save_figures(made, figures)
            typer.echo(f"{len(saved)} files of figures and tables: {figures}")
