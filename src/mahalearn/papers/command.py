"""The command `reproduce`, and the pages of its runs.

The command line finds this module by its name (``mahalearn.app.cli.app.EXTENSIONS``).
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

console = Console()
# The file that marks a folder of this command.
RECOGNISED = "rows.jsonl"


def register(app):
    """Add the command to the command line."""
    app.command()(reproduce)


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Tables and figures (A1, C7, Dfigs …), or all.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List tables and figures, and exit.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions, without the slowest sets.")
    ] = False,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Repetitions instead of the paper's.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder of the rows and the page.")] = Path(
        "reproduction"
    ),
):
    """Run the papers' experiments and write a page of ours beside the published numbers.

    Finished cells are kept in OUT/rows.jsonl: the same command goes on after an interruption. Data
    files are looked for in the folder that MAHALEARN_DATA names.
    """
    from .catalogue import EXPERIMENTS, select

    if list_:
        show(EXPERIMENTS.values())
        return
    if not ids:
        raise typer.BadParameter("Name tables or figures, or all; --list shows their names.")
    try:
        chosen = select(ids)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    run(chosen, out, quick=quick, repetitions=repetitions, jobs=jobs)


def show(experiments):
    """Print what can be run."""
    table = Table("id", "what", "sets", "methods", "repetitions", box=None)
    for e in experiments:
        numbers = (len(e.datasets), len(e.methods), e.repetitions)
        table.add_row(e.id, e.title, *map(str, numbers))
    console.print(table)


def run(experiments, out, *, quick, repetitions, jobs):
    """Run with a progress bar, then write the page; an interruption leaves what is finished."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from .experiment import run as run_cells
    from .record import RunRecord

    missing, stopped = {}, False
    record = RunRecord(out, _command(experiments, quick, repetitions, jobs))
    columns = (*Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[at]}"), console=console) as progress:
        tasks = {}

        def tell(experiment, finished, total, row):
            if row is None:
                tasks[experiment.id] = progress.add_task(experiment.id, total=total, at="")
                return
            record.advance()
            at = f"{row.dataset}, {row.method}"
            progress.update(tasks[experiment.id], completed=finished, at=at)

        try:
            missing = run_cells(
                experiments,
                out / RECOGNISED,
                quick=quick,
                repetitions=repetitions,
                jobs=jobs,
                report=tell,
            )
        except KeyboardInterrupt:
            stopped = True
    record.close()
    for (name, dataset), reason in missing.items():
        console.print(f"[yellow]{name} without {dataset}:[/] ", end="")
        console.print(reason, markup=False, highlight=False)
    write_page(out)
    if stopped:
        console.print("Stopped. Finished cells are kept; the same command continues from here.")
        raise SystemExit(130)


def _command(experiments, quick, repetitions, jobs):
    from .catalogue import EXPERIMENTS

    names = ["all"] if len(experiments) == len(EXPERIMENTS) else [e.id for e in experiments]
    parts = ["mahalearn reproduce", *names]
    parts += ["--quick"] * quick + [f"--repetitions {repetitions}"] * (repetitions is not None)
    return " ".join([*parts, f"--jobs {jobs}"])


def write_page(folder, docs=None, command=""):
    """Write the page of the rows in a folder, and Markdown with figures if `docs` names a file."""
    from ..app.report import html
    from ..results import write_text
    from . import markdown
    from . import rows as rows_file
    from .catalogue import EXPERIMENTS
    from .claims import statements
    from .describe import context
    from .page import document
    from .record import read, sentence, times

    stored = rows_file.read(folder)
    rows = [row for row in stored if row.experiment in EXPERIMENTS]
    if len(rows) < len(stored):
        unknown = sorted({row.experiment for row in stored} - set(EXPERIMENTS))
        console.print(
            f"{len(stored) - len(rows)} rows of unknown experiments ({', '.join(unknown)}) were "
            "left out.",
            markup=False,
            soft_wrap=True,
        )
    made_by = f"Made by: {command}." if command else sentence(read(folder), rows)
    page = document(rows, context(), statements(rows), made_by)
    write_text(folder / "report.html", html.render(page))
    for line in (*page["summary"], times(rows)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(rows)} rows; page: {folder / 'report.html'}", markup=False, soft_wrap=True)
    if docs is not None:
        text, figures = markdown.render(page)
        write_text(docs, text)
        for name, picture in figures.items():
            write_text(docs.parent / "images" / name, picture)
        console.print(f"Markdown: {docs}", markup=False, soft_wrap=True)
