"""The commands `compare` and `train`, with their printing."""

import json
import math
import time
from contextlib import contextmanager

import rich.live
from rich.markup import escape
from rich.table import Table

from ...persistence import model_bytes, save_model
from ...results import locked, write_files
from ..comparing.compare import Silent, conclude, fit_winner, quick_methods, rank, sampled
from ..comparing.explanations import SECONDS
from ..comparing.methods import METHODS, QUICK
from ..reading.problem import DataError
from ..report import html
from ..report.comparison import document, results_table
from ..words import counted, number
from ._terminal import OUTPUTS, Console, check_out, next_step, say_notes, table_bytes

console = Console()
# What of a time budget is for reading, cross-validation and fitting the winner; the rest is for
# explanations and the page. Before that comes what fits on all rows of a large table take.
SHARE = 0.75
# Processor time of the page. On a busy computer it lasts as much longer as reading did.
PAGE_SECONDS = 4.0
# Importance and learning curve have so many seconds each, however little time is left.
LEAST_SECONDS = 1.0
KEPT = "Finished folds are kept: the same command continues from them."
# Rows from which on training part by part is faster than in memory.
MANY = 20_000


def compare(
    problem, out, *, methods, plan, jobs, time_budget, force, command, inputs=(),
    sample=None, quick=False, everything=None, started=None,
):  # fmt: skip
    """Compare, save the best, write the page."""
    check_out(out, force or _stopped(out, command), OUTPUTS, inputs)
    with locked(out):
        part = sampled(problem, sample, plan.seed)
        if quick and methods is None:
            methods = quick_methods(part)
        started = time.monotonic() if started is None else started
        budget, end = _limits(time_budget, started, everything)
        progress = out / "progress.jsonl"
        with _resumable(progress):
            ranked = run(part, methods, plan, jobs, budget, progress)
        on_all = part is problem or (
            METHODS[ranked.winner].cost <= QUICK and problem.kind == "vectors"
        )
        with _resumable(progress), console.status("Fitting the best one on all objects"):
            full_problem = problem if on_all and part is not problem else None
            winner = fit_winner(ranked, full_problem=full_problem, command=command)
            left = end - time.monotonic()
            values = conclude(ranked, winner, min(SECONDS, max(LEAST_SECONDS, left / 2)))
            values["stopped"] = ranked.outcome.stopped
            _write(out, values, winner.refitted.model, winner.about)
        if not ranked.outcome.stopped:
            progress.unlink(missing_ok=True)
        show(ranked.board, plan.by)
        fitted = "all objects" if on_all else f"the sample of {len(part)} rows"
        fitted = f"the best, fitted on {fitted}"
        if everything is not None:
            deadline = math.inf if time_budget is None else started + time_budget
            fitted = _finals(everything, out, ranked, winner, values, deadline)
            fitted = fitted or "the best, fitted on the sample"
    for name, what in zip(
        ("report.html", "model.skops", "results.csv"), ("the page", fitted, "the leaderboard")
    ):
        console.print(f"{out / name}  [dim]{what}[/]", soft_wrap=True)
    predict = next_step(out / "model.skops")
    console.print(
        KEPT if ranked.outcome.stopped else f"Next: open the page, or run {predict}", soft_wrap=True
    )


def _limits(time_budget, started, everything):
    """Seconds for the folds and for fitting the best (None: any), and when the page is begun.

    Reading counts, but leaves something.
    """
    if time_budget is None:
        return None, math.inf
    finals = 0.0 if everything is None else everything.seconds
    seconds = time_budget - (finals if finals < time_budget / 2 else 0.0)
    spent = time.monotonic() - started
    page = PAGE_SECONDS * max(1.0, spent / time.process_time())
    rest = max((1 - SHARE) * seconds, page + 2 * LEAST_SECONDS)
    return max(seconds - rest - spent, 0.2 * time_budget), started + seconds - page


def _stopped(out, command):
    """True if the results in a folder are those of the same command, which Ctrl-C ended."""
    try:
        values = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
        return values["stopped"] is True and values["about"]["command"] == command
    except (LookupError, OSError, TypeError, ValueError):
        return False


@contextmanager
def _resumable(progress):
    try:
        yield
    except KeyboardInterrupt:
        if progress.exists():
            console.print(KEPT)
        raise


def _write(out, values, model, about):
    """Write all results at once."""
    files = {
        "model.skops": model_bytes(model, about=about),
        "results.csv": table_bytes(results_table(values), ".csv"),
        "comparison.json": json.dumps(values, ensure_ascii=False, default=str).encode(),
        "report.html": html.render(document(values)).encode(),
    }
    write_files({out / name: data for name, data in files.items()})


def _finals(everything, out, ranked, winner, values, deadline):
    """Fit finalists on all rows of a large table; returns the title of the best, which is saved."""
    from ._large import show_finalists

    try:
        finalists = everything.finish(ranked, winner.refitted, deadline)
        if finalists is None:
            console.print(
                "The time budget is too short for fits on all rows: the model and the report are "
                "based on the sample.",
                soft_wrap=True,
            )
            return None
    except KeyboardInterrupt:
        console.print(
            "Stopped: the model and the report are based on the sample, whose results are complete."
        )
        return None
    best = finalists[0]
    values["everything"] = {
        "rows": everything.summary.n_rows,
        "sample": len(everything.problem),
        "finalists": [one.row() for one in finalists],
    }
    _write(out, values, best.model, _about_finalist(winner, everything, best))
    show_finalists(finalists)
    return best.title


def _about_finalist(winner, everything, best):
    """Entries of a model file whose model was tested on rows of its own."""
    training = {
        **winner.about["training"],
        "objects": best.fitted_rows,
        "error": best.row()["error"],
        "tested": best.tested,
    }
    about = {**winner.about, "method": best.name, "title": best.title, "training": training}
    if best.model is not winner.refitted.model:  # otherwise the sample's classes are its own
        training["counts"] = dict(everything.summary.counts)
        about["distances"] = best.name
    return about


def train(problem, out, *, method, plan, jobs, force, command, inputs=(), everything=None):
    """Fit one method on everything and save it, with its cross-validated error."""
    if out.suffix != ".skops":  # inspect and predict know model files by it
        raise DataError(f"--out must end with .skops, such as {out.stem}.skops; got {str(out)!r}.")
    check_out(out, force, inputs=inputs)
    if everything is None and len(problem) > MANY:
        console.print(
            f"{len(problem)} rows are searched in memory, which may take minutes. With --memory "
            "100MB they are read part by part, which is faster.",
            soft_wrap=True,
        )
    ranked = run(problem, [method], plan, jobs)
    with console.status("Fitting on all objects"):
        winner = fit_winner(ranked, command=command)
    save_model(winner.refitted.model, out, about=winner.about, overwrite=force)
    row = ranked.board[0]
    title = row["title"]
    result = f"cross-validated error {row['error'][0]:.1%}, balanced {row['balanced'][0]:.1%}"
    if everything is not None:
        from ._large import show_finalists

        finalists = everything.finish(ranked, winner.refitted)
        best = finalists[0]
        about = _about_finalist(winner, everything, best)
        save_model(best.model, out, about=about, overwrite=True)
        show_finalists(finalists)
        title, result = best.title, f"error on {best.tested} test rows {best.row()['error'][0]:.1%}"
    console.print(
        f"{escape(title)}: {result}. Saved as {escape(str(out))}; next: {next_step(out)}",
        soft_wrap=True,
    )


def run(problem, wanted, plan, jobs, time_budget=None, progress=None):
    """The methods ranked, with what was decided and how far it is printed."""
    with Live(console) as live:
        return rank(
            problem,
            wanted,
            plan,
            jobs=jobs,
            time_budget=time_budget,
            progress=progress,
            listener=live,
        )


class Live(Silent):
    """The ranking so far: a table that is drawn anew on a terminal, a line a method elsewhere."""

    def __init__(self, console):
        self.console, self.view, self.told = console, None, set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop()

    def _stop(self):
        if self.view is not None:
            self.view.stop()
            self.view = None

    def notes(self, notes):
        """Print sentences, below a finished table."""
        self._stop()
        say_notes(self.console, notes)

    def resumed(self, folds):
        """Print how much is there already."""
        self.console.print(f"{counted(folds, 'finished fold')} taken over")

    def working(self, what):
        """Show what takes its time."""
        return self.console.status(what)

    def state(self, state):
        """Show how far a comparison is."""
        if self.console.is_terminal:
            if self.view is None:  # not before: what is refused at once needs no table
                self.view = rich.live.Live(console=self.console, transient=True)
                self.view.start()
            self.view.update(self._table(state))
            return
        for name, error in state.ranking:
            if name not in self.told:
                self.told.add(name)
                self.console.print(
                    f"{METHODS[name].title}: error {error:.1%} ({self._progress(state)})",
                    markup=False,
                    soft_wrap=True,
                )

    def _table(self, state):
        table = Table("", "classifier", "error", title=self._progress(state), box=None)
        for i, (name, error) in enumerate(state.ranking, 1):
            table.add_row(str(i), METHODS[name].title, f"{error:.1%}")
        return table

    def _progress(self, state):
        text = f"cross-validation: {state.finished} of {state.total} fits"
        seconds = state.seconds_left
        if seconds is None or seconds < 0.5 or state.finished == state.total:
            return text
        left = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
        return f"{text}, {'about' if state.sure else 'probably more than'} {left} left"


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
