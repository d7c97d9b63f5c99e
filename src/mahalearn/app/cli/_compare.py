"""What `compare` and `train` do, with their printing."""

import json

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...persistence import model_bytes, save_model
from ...proximity.diagnosis import equal_distances
from ...results import locked, versions, write_files
from ..comparing.crossval import Data, cross_validate, fit_plan
from ..comparing.findings import findings, leaderboard, table_rows
from ..comparing.methods import select_methods
from ..comparing.refit import refit
from ..reading.problem import DataError
from ..report import html
from ..report.comparison import document
from ..words import counted
from ._common import OUTPUTS, check_out, csv_text, progress_bar, say_notes

console = Console()


def compare(problem, out, *, methods, plan, jobs, time_budget, force, command, inputs=()):
    """Compare, save the best, write the page."""
    check_out(out, force, OUTPUTS, inputs)
    with locked(out):
        outcome, board = run(problem, methods, plan, jobs, time_budget)
        with console.status("Fitting the best one on all objects"):
            refitted = refit(problem, outcome, board[0]["name"])
            about = describe(problem, outcome, board, refitted, command)
            found = findings(problem, outcome, refitted, board, about)
            page = html.render(document(found))
        texts = {
            "results.csv": csv_text(table_rows(board, outcome)),
            "comparison.json": json.dumps(found, ensure_ascii=False, default=str),
            "report.html": page,
        }
        files = {out / name: text.encode() for name, text in texts.items()}
        write_files({out / "model.skops": model_bytes(refitted.model, about=about), **files})
    show(board, outcome.plan.by)
    for name, what in zip(
        ("report.html", "model.skops", "results.csv"),
        ("the page", "the best, fitted on all objects", "the leaderboard"),
    ):
        console.print(f"{out / name}  [dim]{what}[/]", soft_wrap=True, highlight=False)


def train(problem, out, *, method, plan, jobs, force, command, inputs=()):
    """Fit one method on everything and save it, with its cross-validated error."""
    if out.suffix != ".skops":  # inspect and predict know model files by it
        raise DataError(f"--out must end with .skops, such as {out.stem}.skops; got {str(out)!r}.")
    check_out(out, force, inputs=inputs)
    outcome, board = run(problem, [method], plan, jobs, None)
    with console.status("Fitting on all objects"):
        refitted = refit(problem, outcome, method)
        about = describe(problem, outcome, board, refitted, command)
    save_model(refitted.model, out, about=about, overwrite=force)
    row = board[0]
    console.print(
        f"{escape(row['title'])}: cross-validated error {row['error'][0]:.1%}, balanced "
        f"{row['balanced'][0]:.1%}. Saved as {escape(str(out))}",
        soft_wrap=True,
        highlight=False,
    )


def run(problem, wanted, plan, jobs, time_budget):
    """The outcome and the leaderboard of a problem, with what was decided said aloud."""
    problem.check_classes()
    chosen, left_out = select_methods(wanted, problem.kind, problem.proximity, len(problem))
    problem.notes += left_out
    fitting = fit_plan(problem, plan)
    if fitting.folds < plan.folds:
        smallest = counted(min(problem.counts.values()), "object")
        problem.notes.append(
            f"The smallest class has {smallest}, so there are {fitting.folds} folds, not "
            f"{plan.folds}."
        )
    if problem.kind == "objects" and problem.proximity == "dissimilarity":
        with console.status("Comparing all objects"):
            matrix = Data(problem).matrix  # kept for the folds
        if matrix is not None and (equal := equal_distances(matrix)):
            problem.notes.append(equal)
    say_notes(console, problem.notes)
    progress = progress_bar(console)
    task = progress.add_task("cross-validation", total=None, at="")

    def tell(finished, total, method):
        progress.start()  # not before: what is refused at once needs no bar
        progress.update(task, completed=finished, total=total, at=escape(method))

    try:
        outcome = cross_validate(
            problem, chosen, fitting, jobs=jobs, time_budget=time_budget, tell=tell
        )
    finally:
        if progress.live.is_started:
            progress.stop()
    say_notes(console, outcome.notes)
    return outcome, leaderboard(outcome)


def describe(problem, outcome, board, refitted, command):
    """What a model file says about itself."""
    from ..comparing.features import feature_list

    row = board[0]
    return {
        "kind": problem.kind,
        "data": problem.name,
        "method": row["name"],
        "title": row["title"],
        "target": problem.target,
        "features": feature_list(problem),
        "classes": [str(label) for label in refitted.model.classes_],
        "label_type": problem.label_type,
        "proximity": problem.proximity,
        "measure": problem.measure,
        "objects": problem.names if problem.kind == "proximity" else None,
        "training": {
            "objects": len(problem),
            "counts": {str(k): n for k, n in problem.counts.items()},
            "error": row["error"],
            "balanced_error": row["balanced"],
            "folds": len(outcome.splits),
            "parameters": refitted.params,
            "seed": outcome.plan.seed,
        },
        "distances": refitted.distance_method,
        "command": command,
        "versions": versions(),
    }


def show(board, by):
    """Print the leaderboard."""
    table = Table(
        "", "classifier", "error", "balanced", "behind", "95 % interval", "fit s", box=None
    )
    for i, row in enumerate(board, 1):
        d, low, high = (100 * v for v in row["difference"])
        style = "bold" if i == 1 else "" if row["tied"] else "dim"
        gap = ("", "") if i == 1 else (f"{d:.1f}", f"{low:.1f} to {high:.1f}")
        table.add_row(
            str(i),
            row["title"],
            f"{row['error'][0]:.1%}",
            f"{row['balanced'][0]:.1%}",
            *gap,
            f"{row['fit_seconds']:.2f}",
            style=style,
        )
    console.print(table)
    console.print(
        f"[dim]behind: paired difference of the {by} error from the first, in points; dim rows are "
        "worse beyond chance[/]"
    )
