"""The commands on tables larger than memory."""

import time
from contextlib import contextmanager

import numpy as np
from rich.table import Table

from ..comparing.everything import (
    FINALISTS,
    STREAMED,
    Finalist,
    Rows,
    finalist,
    fit_everything,
    tested,
)
from ..comparing.methods import METHODS, has_distances
from ..comparing.winner import chosen_on
from ..reading.encoder import describe_table
from ..reading.large import first_pass
from ..reading.problem import DataError
from ..reading.read import stem
from ..reading.tables import table_problem
from ._terminal import Console

console = Console()
# Passes that a fit on all rows is expected to take.
FIT_PASSES = 3


@contextmanager
def counting(description, total, out=console):
    """A bar of rows, with rows a second; gives a function that takes how many more were read."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[at]}"))
    start, rows = time.monotonic(), 0
    with Progress(*columns, TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task(description, total=total, at="")

        def tell(n_rows):
            nonlocal rows
            rows += n_rows
            speed = rows / max(time.monotonic() - start, 1e-9)
            bar.update(task, advance=n_rows, at=f"{rows} rows, {speed:.0f} rows/s")

        yield tell
    speed = rows / max(time.monotonic() - start, 1e-9)
    out.print(f"[dim]{description}: {rows} rows, {speed:.0f} rows/s[/]")


class Everything:
    """A table that is read part by part: its first pass, and the finalists on all of its rows."""

    def __init__(self, table, options, size, seed):
        if options.groups:
            raise DataError(
                "--groups is for tables that fit into memory; this one is read part by part."
            )
        if options.mixed != "onehot":
            raise DataError("--mixed gower is for tables that fit into memory.")
        self.table, self.seed = table, seed
        start = time.monotonic()
        with counting("first pass", table.n_rows) as tell:
            self.summary = first_pass(table, options.target, size, seed, tell)
        self.pass_seconds = time.monotonic() - start
        drop = [
            *(options.drop or ()),
            *(c for c, v in self.summary.levels.items() if v is None),
        ]
        self.problem = table_problem(
            self.summary.sample,
            options.target,
            stem(table.path),
            table.notes,
            drop=[c for c in dict.fromkeys(drop) if c != options.id],
            id=options.id,
        )
        self.problem.population, n = dict(self.summary.counts), self.summary.n_rows
        self.problem.notes = [
            f"The {n} rows are read part by part: methods are ranked on a stratified "
            f"sample of {len(self.problem)}, then the best {FINALISTS} of {', '.join(STREAMED)} "
            "are fitted on all rows.",
            *self.summary.notes(),
            *self.problem.notes,
            *describe_table(self.problem.X),
        ]

    @property
    def seconds(self):
        """Expected time of a fit and a test on all rows, by that of the first pass."""
        return (FIT_PASSES + 1) * self.pass_seconds

    def finish(self, ranked, refitted, deadline=np.inf):
        """Finalists on all rows and the winner of the sample, by their errors on the test rows.

        None if the time until the deadline is too short for a fit and a test, judged by the time
        that the first pass took.
        """
        if time.monotonic() + self.seconds > deadline:
            return None
        rows = Rows(self.table, self.summary, self.problem, self.seed)
        board, models = ranked.board, []
        for name in [row["name"] for row in board if row["name"] in STREAMED][:FINALISTS]:
            start = time.monotonic()
            if models and start + models[-1][2] + self.pass_seconds > deadline:
                break
            pipeline = refitted.model.classifier
            if name != board[0]["name"]:
                pipeline = chosen_on(self.problem, ranked.outcome, name)
            title = f"{METHODS[name].title} on all rows"
            with counting(title, None) as rows.tell:
                model = fit_everything(rows, name, pipeline)
            models.append((name, model, time.monotonic() - start))
        total = sum(self.summary.counts.values())
        with counting("test", self.table.n_rows) as rows.tell:
            classifiers = [*(model for _, model, _ in models), refitted.model.classifier]
            # Where a model has no distances, those of the winner on the sample are calibrated.
            measuring = [m if has_distances(m) else refitted.model.distances for m in classifiers]
            truth, predicted_parts = tested(rows, classifiers, measuring)
        fitted = total - len(truth)
        results = [
            finalist(rows, name, model, measured, fitted, truth, parts, seconds)
            for (name, model, seconds), measured, parts in zip(models, measuring, predicted_parts)
        ]
        predicted = np.concatenate([part[0] for part in predicted_parts[-1]])
        sample = board[0]
        results.append(
            Finalist(
                sample["name"],
                f"{sample['title']}, fitted on the sample",
                len(self.problem),
                int((predicted != truth).sum()),
                len(truth),
                0.0,
                refitted.model,
            )
        )
        return sorted(results, key=lambda f: f.errors)


def show_finalists(finalists):
    """Print what was fitted on how many rows, and its error on the test rows."""
    table = Table("", "classifier", "fitted on rows", "error on test rows", "95 %", box=None)
    for i, one in enumerate(finalists, 1):
        row = one.row()
        mean, low, high = row["error"]
        cells = (str(i), row["title"], str(row["fitted_rows"]), f"{mean:.2%}")
        table.add_row(*cells, f"{low:.2%} to {high:.2%}")
    console.print(table)
    console.print(
        f"[dim]{finalists[0].tested} test rows that no model above was fitted on; the leaderboard "
        f"is based on the sample alone[/]"
    )
