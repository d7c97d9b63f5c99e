"""What the commands `reproduce` and `report` do, with their printing."""

from rich.console import Console
from rich.table import Table

from .. import results
from ._common import progress_bar

console = Console()


def show(experiments):
    """Print what can be run."""
    table = Table("id", "what", "sets", "methods", "repetitions", box=None)
    for e in experiments:
        numbers = (len(e.datasets), len(e.methods), e.repetitions)
        table.add_row(e.id, e.title, *map(str, numbers))
    console.print(table)


def run(experiments, out, *, quick, repetitions, jobs):
    """Run with a progress bar, then write the page; an interruption leaves what is finished."""
    from ..experiments.protocol import run as run_cells

    missing, stopped = {}, False
    with progress_bar(console) as progress:
        tasks = {}

        def tell(experiment, finished, total, row):
            if row is None:
                tasks[experiment.id] = progress.add_task(experiment.id, total=total, at="")
                return
            at = f"{row.dataset}, {row.method}"
            progress.update(tasks[experiment.id], completed=finished, at=at)

        try:
            missing = run_cells(
                experiments,
                out / results.FILE_NAME,
                quick=quick,
                repetitions=repetitions,
                jobs=jobs,
                report=tell,
            )
        except KeyboardInterrupt:
            stopped = True
    for (name, dataset), reason in missing.items():
        console.print(f"[yellow]{name} without {dataset}:[/] ", end="")
        console.print(reason, markup=False, highlight=False)
    write_page(out, command=_command(experiments, quick, repetitions, jobs))
    if stopped:
        console.print("Stopped. Finished cells are kept; the same command goes on from here.")
        raise SystemExit(130)


def _command(experiments, quick, repetitions, jobs):
    from ..experiments.registry import EXPERIMENTS

    names = ["all"] if len(experiments) == len(EXPERIMENTS) else [e.id for e in experiments]
    parts = ["mahalearn reproduce", *names]
    parts += ["--quick"] * quick + [f"--repetitions {repetitions}"] * (repetitions is not None)
    return " ".join([*parts, f"--jobs {jobs}"])


def write_page(folder, docs=None, command=""):
    """Write the page of the rows in a folder, and Markdown with figures if `docs` names a file."""
    from ..experiments.claims import statements
    from ..experiments.describe import context
    from ..experiments.registry import EXPERIMENTS
    from ..report import html, markdown
    from ..report.reproduction import document

    found = results.read(folder)
    rows = [row for row in found if row.experiment in EXPERIMENTS]
    if len(rows) < len(found):
        unknown = sorted({row.experiment for row in found} - set(EXPERIMENTS))
        console.print(
            f"{len(found) - len(rows)} rows of unknown experiments ({', '.join(unknown)}) were "
            "left out.",
            markup=False,
            soft_wrap=True,
        )
    page = document(rows, context(), statements(rows), command)
    results.write_text(folder / "report.html", html.render(page))
    console.print(f"{len(rows)} rows; page: {folder / 'report.html'}", markup=False, soft_wrap=True)
    if docs is not None:
        text, figures = markdown.render(page)
        results.write_text(docs, text)
        for name, picture in figures.items():
            results.write_text(docs.parent / "images" / name, picture)
        console.print(f"Markdown: {docs}", markup=False, soft_wrap=True)
