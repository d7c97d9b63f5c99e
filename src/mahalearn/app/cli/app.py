"""The commands and their options.

What is heavy is imported inside the commands, so that --help is there at once.
"""

import time
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ._options import (
    By,
    DataOptions,
    Decimal,
    Force,
    Header,
    Id,
    Jobs,
    Memory,
    Missing,
    Seed,
    Sheet,
    Skip,
    seldom,
    with_data,
)

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
    mahalearn novelty regular.csv new.csv --target species
    mahalearn doctor
    """


def _reported_errors():
    """A context that turns what people can mend into one sentence and exit code 2."""
    from ._terminal import reported_errors

    return reported_errors()


def _help_all(context: typer.Context, value: bool):
    """Print the help with the options that are rarely needed."""
    if value:
        for parameter in context.command.params:
            vars(parameter)["hidden"] = False  # of options; arguments have none
        typer.echo(context.get_help())
        raise typer.Exit


_HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_help_all, help="Show all options and exit."
    ),
]


# --- commands -------------------------------------------------------------------------------------


def _plan(folds, repeats, seed, by):
    from ..comparing.plan import Plan
    from ..reading.problem import DataError

    if by not in ("plain", "balanced"):
        raise DataError(f"--by must be plain or balanced; got {by!r}.")
    return Plan(folds, repeats, seed=seed, by=by)


@app.command()
@with_data
def compare(
    context: typer.Context,
    options: DataOptions,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; NAME-comparison by default.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Comma-separated names; all by default (--methods list shows them)."),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds; methods are ranked by the folds finished by then."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="One repetition, and fast methods only (for a table no kernel methods)."
        ),
    ] = False,
    folds: Annotated[int, seldom(min=2, max=1000, help="Outer folds.")] = 5,
    repeats: Annotated[
        int, seldom(min=1, max=100, help="Repetitions of the folds, each drawn anew.")
    ] = 2,
    by: By = "plain",
    sample: Annotated[
        int | None,
        seldom(min=0, help="Rows to compare on, 0 for all; by default 4000 of more than 5000."),
    ] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    force: Force = False,
    help_all: _HelpAll = False,
):
    """Compare classifiers on your data, save the best one and write a page about it.

    \b
    mahalearn compare wine
    mahalearn compare flowers.csv --target species --out flowers
    mahalearn compare --proximity distances.csv --labels classes.csv --kind dissimilarity
    mahalearn compare --objects words.txt --measure edit --labels classes.txt --time-budget 120
    mahalearn compare --objects series.ts
    mahalearn compare log.csv --id device --time t --value v --target state
    """

    with _reported_errors():
        started = time.monotonic()
        from joblib import cpu_count

        from ..comparing.compare import SAMPLE
        from ..comparing.methods import METHODS
        from . import _compare
        from ._data import read_data, read_large
        from ._terminal import check_finite, command_line

        if methods == "list":
            for one in METHODS.values():
                typer.echo(f"{one.name:16} {one.title}")
            return
        check_finite("--time-budget", time_budget)
        plan = _plan(folds, 1 if quick else repeats, seed, by)
        everything = read_large(options, sample or SAMPLE, seed, _compare.MANY)
        problem = everything.problem if everything else read_data(options)
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
            sample=0 if everything else sample,
            everything=everything,
            quick=quick,
            command=command,
            inputs=options.inputs,
            started=started,
        )


@app.command()
@with_data
def train(
    context: typer.Context,
    options: DataOptions,
    out: Annotated[Path, typer.Option(help="File of the model, .skops.")] = Path("model.skops"),
    method: Annotated[str, typer.Option(help="A name of compare --methods list.")] = "chooser",
    by: By = "plain",
    jobs: Jobs = None,
    seed: Seed = 0,
    force: Force = False,
    help_all: _HelpAll = False,
):
    """Train one classifier (the chooser, if none is named) on all your data, and save it.

    \b
    mahalearn train flowers.csv --target species --out flowers.skops
    """

    with _reported_errors():
        from joblib import cpu_count

        from ..comparing.compare import SAMPLE
        from . import _compare
        from ._data import read_data, read_large
        from ._terminal import command_line

        everything = read_large(options, SAMPLE, seed)
        problem = everything.problem if everything else read_data(options)
        _compare.train(
            problem,
            out,
            everything=everything,
            method=method,
            plan=_plan(5, 1, seed, by),
            jobs=jobs or cpu_count(),
            force=force,
            command=command_line(context),
            inputs=options.inputs,
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
    report: Annotated[
        Path | None,
        typer.Option(help="Page to write: counts, flagged objects, columns that have drifted."),
    ] = None,
    sheet: Sheet = None,
    missing: Missing = None,
    decimal: Decimal = None,
    id: Id = None,
    interpolate: Annotated[
        bool, seldom("--interpolate", help="Fill gaps of series from their neighbours in time.")
    ] = False,
    header: Header = None,
    skip: Skip = None,
    memory: Memory = None,
    force: Force = False,
    help_all: _HelpAll = False,
):
    """Predict labels and probabilities, and say how typical each object is of each class.

    Where DATA has the column of the classes (or --labels names a file), the predictions are scored.

    Columns: p CLASS (probability), d2 CLASS (squared distance, and whose), typical CLASS (p-value:
    an object of the class has a value of at most 0.05 with a probability of about 0.05), set (the
    classes with more than 1 - CONFIDENCE), p none (p-value of belonging to none of the classes),
    outlier (1 where p none is at most OUTLIER_LEVEL, or by --fdr).

    \b
    mahalearn predict flowers.skops new.csv --out predictions.csv
    mahalearn predict flowers.skops new.xlsx --keep --out predictions.xlsx --report new.html
    mahalearn predict flowers.skops folder-of-parquet --memory 2GB --out predictions.parquet
    """

    with _reported_errors():
        from ..reading.layout import TableFormat
        from ..reading.problem import DataError
        from . import _predict
        from ._terminal import check_finite

        check_finite("--outlier-level", outlier_level)
        for name, value in (("--confidence", confidence), ("--fdr", fdr)):
            check_finite(name, value)
            if value in (0, 1):
                raise DataError(f"{name} must be between 0 and 1; got {value:g}.")
        if fdr is not None and outlier_level is not None:
            raise DataError(
                "--fdr and --outlier-level both set which objects are flagged; give one of them."
            )
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
            form=TableFormat(header, sheet, skip, missing, decimal),
            id=id,
            memory=memory,
            report=report,
            interpolate=interpolate,
        )


@app.command()
@with_data
def inspect(
    context: typer.Context,
    options: DataOptions,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Show all columns, and more numbers, such as spectra."
        ),
    ] = False,
    help_all: _HelpAll = False,
):
    """Show how a file was read, before any method is chosen; or what a model file holds.

    \b
    mahalearn inspect flowers.csv --target species
    mahalearn inspect --proximity distances.csv
    mahalearn inspect --proximity distances.csv --labels classes.csv
    mahalearn inspect flowers.skops
    """

    with _reported_errors():
        from . import _inspect

        if options.data and options.data.endswith(".skops"):
            from ...persistence import model_about
            from ..reading.schema import check_about

            about = check_about(model_about(options.data), options.data, complete=False)
            _inspect.inspect_model(about, options.data)
            return
        from ..comparing.compare import SAMPLE
        from ._data import read_data, read_large

        everything = read_large(options, SAMPLE)
        if everything is None:
            _inspect.inspect_problem(read_data(options, only_look=True), verbose)
        else:
            _inspect.inspect_problem(everything.problem, verbose, everything.summary)


@app.command()
def datasets():
    """List the data sets that can be named instead of a file."""

    with _reported_errors():
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

    with _reported_errors():
        from . import _export

        _export.export(model, out, single=single, force=force)


@app.command()
def doctor():
    """Show versions, threads, memory and optional packages."""

    with _reported_errors():
        from . import _doctor

        _doctor.show()


@app.command()
def novelty(
    train: Annotated[Path, typer.Argument(help="Table of regular rows.")],
    new: Annotated[Path, typer.Argument(help="Table of new rows, with the same columns.")],
    target: Annotated[
        str | None,
        typer.Option(help="Column of the classes; without it all rows of TRAIN are of one class."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write: .csv, .tsv, .parquet or .xlsx; the page is written beside it."
        ),
    ] = Path("novelty.csv"),
    level: Annotated[
        float, typer.Option(min=0, max=1, help="Share of regular rows that may be flagged.")
    ] = 0.05,
    fdr: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Flag rows so that at most this share of them is expected to be regular; instead "
            "of --level.",
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Divide rows by their lengths: for embeddings.")
    ] = False,
    id: Id = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be given several times.")
    ] = None,
    force: Force = False,
):
    """Find new rows that are unlike the training rows, with p-values and the unusual columns.

    No contamination rate is needed: a new row like those of TRAIN has a p-value (column p none) of
    at most LEVEL with a probability of at most LEVEL, and is flagged then (column novel).

    \b
    mahalearn novelty train.parquet --target label new.parquet
    mahalearn novelty regular.csv new.csv --fdr 0.1 --out novelties.xlsx
    """
    with _reported_errors():
        from . import _novelty

        _novelty.novelty(train, new, target, out, level, fdr, normalize, id, drop or (), force)


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a comparison.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of another one.")],
    out: Annotated[Path, typer.Option(help="The page to write, an HTML file.")] = Path("diff.html"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the page.")] = False,
):
    """Show two comparisons side by side: errors, paired on equal folds, and changes of the data.

    \b
    mahalearn diff before after --out diff.html
    """
    with _reported_errors():
        from . import _diff

        _diff.diff(first, second, out, force)


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
):
    """Write the page of a run again, from its rows alone."""
    if (folder / "comparison.json").exists():
        useless = [name for name, value in (("--docs", docs), ("--command", command)) if value]
        if useless:
            raise typer.BadParameter(
                f"{useless[0]} is for the rows of mahalearn reproduce; {folder} holds a comparison."
            )
        with _reported_errors():
            from ..reading.problem import DataError
            from ..report.notebook import UNREADABLE, Report

            try:
                Report.load(folder).save(folder / "report.html")
            except UNREADABLE:
                raise DataError(
                    f"{str(folder / 'comparison.json')!r} is not what this version of mahalearn "
                    "compare writes; run compare again."
                ) from None
        typer.echo(f"page: {folder / 'report.html'}")
        return
    for extension in EXTENSIONS:
        if (folder / extension.RECOGNISED).exists():
            extension.write_page(folder, docs, command)
            return
    marks = " or ".join(["comparison.json", *(extension.RECOGNISED for extension in EXTENSIONS)])
    raise typer.BadParameter(
        f"{folder} holds no {marks}; mahalearn compare or mahalearn reproduce with --out {folder} "
        "makes them."
    )
