"""What `compare` and `train` do, with their printing."""

import json
import time

import numpy as np
import rich.live
from rich.markup import escape
from rich.table import Table

from ...persistence import model_bytes, save_model
from ...proximity.diagnosis import equal_distances
from ...results import locked, versions, write_files
from ..comparing.crossval import (
    Data,
    Progress,
    cross_validate,
    fingerprint,
    fit_plan,
    landmarks_for,
    with_best_measure,
)
from ..comparing.explanations import SECONDS
from ..comparing.findings import findings, leaderboard, table_rows
from ..comparing.methods import METHODS, QUICK, QUICK_KERNELS, WIDE, select_methods
from ..comparing.model import refit
from ..reading.problem import SMALLEST_CLASS, DataError, Note
from ..report import html
from ..report.comparison import document
from ..report.export import save_figures
from ..words import counted, number
from ._common import OUTPUTS, Console, check_out, csv_text, say_notes

console = Console()


# Larger tables are ranked on a stratified sample of SAMPLE rows.
LARGE, SAMPLE = 5000, 4000
# What of a time budget is for the cross-validation; the rest is for fitting the winner.
SHARE = 0.75
# Importance and learning curve have so many seconds each, however little time is left.
LEAST_SECONDS = 1.0


def compare(
    problem, out, *, methods, plan, jobs, time_budget, force, command, inputs=(), resume=False,
    sample=None, quick=False, figures=None, everything=None, started=None,
):  # fmt: skip
    """Compare, save the best, write the page."""
    check_out(out, force or resume, OUTPUTS, inputs)
    with locked(out):
        problem.check_classes()
        ranked = sampled(problem, sample, plan.seed)
        if quick and methods is None:
            chosen, _ = select_methods(None, ranked.kind, ranked.proximity, len(ranked))
            most = QUICK if ranked.kind == "vectors" else QUICK_KERNELS
            methods = [m.name for m in chosen if m.cost <= most] or None
        started = time.monotonic() if started is None else started
        budget = None
        if time_budget is not None:  # reading counts, but leaves something
            spent = time.monotonic() - started
            budget = max(SHARE * time_budget - spent, 0.2 * time_budget)
        progress = Progress(out, fingerprint(ranked, plan))
        known = progress.start(resume)
        if resume:
            console.print(f"{counted(len(known), 'finished fold')} taken over", highlight=False)
        try:
            outcome, board = run(ranked, methods, plan, jobs, budget, known, progress.add)
        except KeyboardInterrupt:
            if progress.path.exists():
                console.print("Finished folds are kept: --resume goes on from them.")
            raise
        winner = board[0]["name"]
        whole = problem if ranked is not problem and METHODS[winner].cost <= QUICK else None
        fitted = "the best, fitted on all objects"
        if ranked is not problem and whole is None:
            fitted = f"the best, fitted on the sample of {len(ranked)} rows"
        with console.status("Fitting the best one on all objects"):
            ranked = with_best_measure(ranked, outcome.plan, winner)
            refitted = refit(ranked, outcome, winner, whole)
            about = describe(ranked, outcome, board, refitted, command)
            seconds = SECONDS
            if time_budget is not None:
                left = time_budget - (time.monotonic() - started)
                seconds = min(SECONDS, max(LEAST_SECONDS, left / 3))
            found = findings(ranked, outcome, refitted, board, about, seconds)
            made = _write(out, board, outcome, found, refitted.model, about)
        progress.remove()
        show(board, outcome.plan.by)
        if everything is not None:
            finals = _finals(everything, out, board, outcome, found, refitted, about)
            made, fitted = finals or (made, "the best, fitted on the sample")
    for name, what in zip(
        ("report.html", "model.skops", "results.csv"), ("the page", fitted, "the leaderboard")
    ):
        console.print(f"{out / name}  [dim]{what}[/]", soft_wrap=True, highlight=False)
    if figures is not None:
        save_figures(made, figures)
        console.print(f"{figures}  [dim]figures and numbers[/]", soft_wrap=True, highlight=False)


def _write(out, board, outcome, found, model, about):
    """Write all results at once; returns the document of the page."""
    made = document(found)
    texts = {
        "results.csv": csv_text(table_rows(board, outcome)),
        "comparison.json": json.dumps(found, ensure_ascii=False, default=str),
        "report.html": html.render(made),
    }
    files = {out / name: text.encode() for name, text in texts.items()}
    write_files({out / "model.skops": model_bytes(model, about=about), **files})
    return made


def _finals(everything, out, board, outcome, found, refitted, about):
    """Fit finalists on all rows of a large table; the best becomes the saved model."""
    from ._large import show_finalists

    try:
        finalists = everything.finish(outcome, board, refitted)
    except KeyboardInterrupt:
        console.print(
            "Stopped: the model and the report rest on the sample, whose results are complete."
        )
        return None
    best = finalists[0]
    found["everything"] = {
        "rows": everything.look.n_rows,
        "sample": len(everything.problem),
        "finalists": [one.row() for one in finalists],
    }
    about = _about_finalist(about, everything, best, refitted)
    made = _write(out, board, outcome, found, best.model, about)
    show_finalists(finalists)
    return made, best.title


def _about_finalist(about, everything, best, refitted):
    """What is said of a model that the test rows have tested."""
    training = {
        **about["training"],
        "objects": best.fitted_rows,
        "error": best.row()["error"],
        "tested": best.tested,
    }
    about = {**about, "method": best.name, "title": best.title, "training": training}
    if best.model is not refitted.model:  # otherwise the sample's classes are its own
        training["counts"] = dict(everything.look.counts)
        about["distances"] = best.name
    return about


def sampled(problem, size, seed):
    """A stratified sample of a large table, with a note that says so; else the problem itself."""
    if problem.kind != "vectors" or size == 0:
        return problem
    size = size or (SAMPLE if len(problem) > LARGE else len(problem))
    if size >= len(problem):
        return problem
    rng, rows = np.random.default_rng(seed), []
    for label, n in problem.counts.items():
        mine = np.flatnonzero(problem.y == label)
        wanted = min(n, max(SMALLEST_CLASS, round(size * n / len(problem))))
        rows.append(rng.choice(mine, wanted, replace=False))
    part = problem.take(np.sort(np.concatenate(rows)))
    part.notes.append(
        Note(
            f"The methods were compared on a stratified sample of {len(part)} of "
            f"{len(problem)} rows; the winner is fitted on all rows if it can be fitted on so many "
            "in a short time.",
            "sample",
        )
    )
    return part


def train(problem, out, *, method, plan, jobs, force, command, inputs=(), everything=None):
    """Fit one method on everything and save it, with its cross-validated error."""
    if out.suffix != ".skops":  # inspect and predict know model files by it
        raise DataError(f"--out must end with .skops, such as {out.stem}.skops; got {str(out)!r}.")
    check_out(out, force, inputs=inputs)
    outcome, board = run(problem, [method], plan, jobs, None)
    with console.status("Fitting on all objects"):
        problem = with_best_measure(problem, outcome.plan, method)
        refitted = refit(problem, outcome, method)
        about = describe(problem, outcome, board, refitted, command)
    save_model(refitted.model, out, about=about, overwrite=force)
    row = board[0]
    title = row["title"]
    found = f"cross-validated error {row['error'][0]:.1%}, balanced {row['balanced'][0]:.1%}"
    if everything is not None:
        from ._large import show_finalists

        finalists = everything.finish(outcome, board, refitted)
        best = finalists[0]
        about = _about_finalist(about, everything, best, refitted)
        save_model(best.model, out, about=about, overwrite=True)
        show_finalists(finalists)
        title, found = best.title, f"error on {best.tested} test rows {best.row()['error'][0]:.1%}"
    console.print(
        f"{escape(title)}: {found}. Saved as {escape(str(out))}", soft_wrap=True, highlight=False
    )


def run(problem, wanted, plan, jobs, time_budget, known=None, keep=None):
    """The outcome and the leaderboard of a problem, with what was decided printed."""
    problem.check_classes()
    columns = problem.X.shape[1] if problem.kind == "vectors" else 0
    chosen, left_out = select_methods(
        wanted, problem.kind, problem.proximity, len(problem), columns
    )
    problem.notes += left_out
    if columns > max(WIDE, len(problem)):
        problem.notes.append(
            f"There are more columns ({columns}) than rows: methods that do not depend on the "
            "directions of single columns work in the space that the training rows span."
        )
    fitting = fit_plan(problem, plan)
    if m := landmarks_for(problem, fitting):
        problem.notes.append(
            Note(
                f"Kernel discriminants (kqd, fd, qd, kfd, kpca-qda) use {m} landmarks instead of "
                "all objects.",
                "landmarks",
            )
        )
    if fitting.folds < plan.folds:
        smallest = counted(min(problem.counts.values()), "object")
        problem.notes.append(
            f"The smallest class has {smallest}, so there are {fitting.folds} folds, not "
            f"{plan.folds}."
        )
    if problem.kind == "objects" and problem.proximity == "dissimilarity":
        with console.status("Comparing all objects"):
            matrix = Data(problem).matrix  # kept for the folds
        if problem.alternatives is not None:
            for place, name in enumerate(problem.alternatives):
                if equal := equal_distances(matrix[..., place]):
                    problem.notes.append(f"{name}: {equal}")
        elif matrix is not None and (equal := equal_distances(matrix)):
            problem.notes.append(equal)
    say_notes(console, problem.notes)
    with Live(console) as live:
        outcome = cross_validate(
            problem,
            chosen,
            fitting,
            jobs=jobs,
            time_budget=time_budget,
            tell=live.tell,
            known=known,
            keep=keep,
        )
    say_notes(console, outcome.notes)
    return outcome, leaderboard(outcome)


class Live:
    """The ranking so far: a table that is drawn anew on a terminal, a line a method elsewhere."""

    def __init__(self, console):
        self.console, self.view, self.told = console, None, set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.view is not None:
            self.view.stop()

    def tell(self, state):
        """Show how far a comparison is."""
        if self.console.is_terminal:
            if self.view is None:  # not before: what is refused at once needs no table
                self.view = rich.live.Live(console=self.console, transient=True)
                self.view.start()
            self.view.update(self._table(state))
            return
        for name, error in state.ranking():
            if name not in self.told:
                self.told.add(name)
                self.console.print(
                    f"{METHODS[name].title}: error {error:.1%} ({self._progress(state)})",
                    highlight=False,
                    markup=False,
                    soft_wrap=True,
                )

    def _table(self, state):
        table = Table("", "classifier", "error", title=self._progress(state), box=None)
        for i, (name, error) in enumerate(state.ranking(), 1):
            table.add_row(str(i), METHODS[name].title, f"{error:.1%}")
        return table

    def _progress(self, state):
        text = f"cross-validation: {state.finished} of {len(state.tasks)} fits"
        if not state.found or state.finished == len(state.tasks):
            return text
        seconds, sure = state.seconds_left()
        left = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
        return f"{text}, {'about' if sure else 'probably more than'} {left} left"


def describe(problem, outcome, board, refitted, command):
    """What a model file says about itself."""
    from ..reading.encoder import feature_list

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
        "measure": problem.measure_name,
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
    columns = ("", "classifier", "error", "balanced", "difference from the best", "95 % interval")
    table = Table(*columns, "fit s", box=None)
    for i, row in enumerate(board, 1):
        d, low, high = (100 * v for v in row["difference"])
        style = "bold" if i == 1 else "" if row["tied"] else "dim"
        gap = ("", "") if i == 1 else (number(d), f"{number(low)} to {number(high)}")
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
        f"[dim]difference from the best: of the {by} error, paired, in percentage points; dim rows "
        "are significantly worse[/]"
    )
