"""The commands on tables larger than memory."""

import hashlib
import json
import os
import time
from contextlib import contextmanager

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ...results import write_bytes, write_text
from ..comparing.everything import (
    FINALISTS,
    STREAMED,
    Finalist,
    Rows,
    finalist,
    fit_everything,
    tested,
)
from ..comparing.methods import LANDMARKS, METHODS
from ..comparing.model import chosen_on
from ..comparing.scores import merged, score
from ..reading.columns import row_names, written
from ..reading.encoder import NAME, describe_table, match_columns
from ..reading.large import ParquetTable, look_at, uniform
from ..reading.problem import DataError
from ..reading.tables import find_target, table_problem
from ..words import counted
from ._common import Console, say_notes, stem, table_bytes

console = Console()
# Rows of new objects whose distances the test for drift takes.
MOST_DRIFT = 100_000


@contextmanager
def counting(description, total, out=console):
    """A bar of rows, with rows a second; gives a function that takes how many more were read."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[at]}"))
    start, rows = time.monotonic(), 0
    with Progress(*columns, TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task(description, total=total, at="")

        def tell(more):
            nonlocal rows
            rows += more
            speed = rows / max(time.monotonic() - start, 1e-9)
            bar.update(task, advance=more, at=f"{rows} rows, {speed:.0f} rows/s")

        yield tell
    seconds = time.monotonic() - start
    # Workers of a scheduler do not tell what they have read.
    read = f"{rows} rows, {rows / max(seconds, 1e-9):.0f} rows/s" if rows else f"{seconds:.0f} s"
    out.print(f"[dim]{description}: {read}[/]", highlight=False)


class Everything:
    """A table that is read part by part: its first pass, and the finalists on all of its rows."""

    def __init__(self, table, options, size, seed, landmarks=None, scheduler=None):
        for name in ("groups", "weights"):
            if options.get(name):
                raise DataError(
                    f"--{name} is for tables that fit into memory; this one is read part by part."
                )
        if options.get("mixed", "onehot") != "onehot":
            raise DataError("--mixed gower is for tables that fit into memory.")
        if scheduler and not isinstance(table, ParquetTable):
            raise DataError("--scheduler is for Parquet files, whose parts workers read.")
        with connected(scheduler):  # a wrong address is told at once, not after the comparison
            self.table, self.seed, self.scheduler = table, seed, scheduler
        self.landmarks = landmarks or LANDMARKS
        with counting("first pass", table.n_rows) as tell:
            self.look = look_at(table, options["target"], size, seed, tell)
        drop = [
            *(options.get("drop") or ()),
            *(c for c, v in self.look.levels.items() if v is None),
        ]
        self.problem = table_problem(
            self.look.sample,
            options["target"],
            stem(table.path),
            table.notes,
            drop=[c for c in dict.fromkeys(drop) if c != options.get("id")],
            id=options.get("id"),
        )
        n = self.look.n_rows
        self.problem.notes = [
            f"The table has {n} rows and is read part by part. Methods are compared on a "
            f"stratified sample of {len(self.problem)} rows; the best {FINALISTS} that can be "
            f"fitted in passes over all rows ({', '.join(STREAMED)}) are then fitted on all of "
            "them.",
            *self.problem.notes,
            *describe_table(self.problem.X),
        ]

    def finish(self, outcome, board, refitted):
        """Finalists on all rows and the winner of the sample, by their errors on the test rows."""
        rows = Rows(self.table, self.look, self.problem, self.seed)
        models = []
        for name in [row["name"] for row in board if row["name"] in STREAMED][:FINALISTS]:
            start = time.monotonic()
            pipeline = refitted.model.classifier
            if name != board[0]["name"]:
                pipeline = chosen_on(self.problem, outcome.plan, name)
            title = f"{METHODS[name].title} on all rows"
            with counting(title, None) as rows.tell, connected(self.scheduler) as client:
                model = fit_everything(rows, name, pipeline, self.landmarks, client)
            models.append((name, model, time.monotonic() - start))
        total = sum(self.look.counts.values())
        with counting("test", self.table.n_rows) as rows.tell:
            truth, found = tested(rows, [*(m for _, m, _ in models), refitted.model.classifier])
        fitted = total - len(truth)
        results = [
            finalist(rows, name, model, fitted, truth, mine, seconds)
            for (name, model, seconds), mine in zip(models, found)
        ]
        predicted = np.concatenate([part[0] for part in found[-1]])
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
        f"[dim]{finalists[0].tested} test rows, which nothing above was fitted on; the "
        "leaderboard rests on the sample alone[/]"
    )


@contextmanager
def connected(address):
    """A client of a dask scheduler, None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise DataError('--scheduler needs dask: pip install "mahalearn[distributed]".') from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise DataError(f"No dask scheduler answers at {address!r}: {error}.") from None
    with client:
        yield client


def inspect_table(table, target):
    """What a first pass over a table says."""
    with counting("first pass", table.n_rows) as tell:
        look = look_at(table, target, 1000, 0, tell)
    say_notes(console, table.notes)
    rows = Table("class", "rows", "share", box=None)
    total = sum(look.counts.values())
    for label, n in look.counts.most_common(50):
        rows.add_row(escape(label), str(n), f"{n / total:.1%}")
    unlabelled = look.n_rows - total
    missing = f", {unlabelled} without a class" if unlabelled else ""
    console.print(
        f"{look.n_rows} rows{missing}, {len(table.columns) - 1} columns beside "
        f"{escape(repr(look.target))}, {counted(len(look.counts), 'class', 'classes')}",
        highlight=False,
    )
    console.print(rows)
    columns = Table("column", "known", "mean", "standard deviation", box=None)
    for column, (n, mean, spread) in look.moments.items():
        deviation = (spread / n) ** 0.5 if n else float("nan")
        columns.add_row(escape(column), str(n), f"{mean:.4g}", f"{deviation:.4g}")
    for column, levels in look.levels.items():
        what = "many texts, left out" if levels is None else f"{len(levels)} categories"
        columns.add_row(escape(column), "", what, "")
    console.print(columns)


# --- predictions part by part ---------------------------------------------------------------------


class PartWriter:
    """Rows of predictions, appended part by part; a killed run goes on where it was.

    A text file grows under another name and gets its own at the end. A Parquet table is a folder
    with a file for each part. ``state`` says how many rows are there, and of which command.
    """

    def __init__(self, out, key):
        self.out, self.key, self.suffix = out, key, out.suffix.lower()
        if self.suffix not in (".csv", ".tsv", ".parquet"):
            raise DataError(
                "Predictions of a table that is read part by part are written as .csv, .tsv or "
                f".parquet (a folder); got {str(out)!r}."
            )
        self.parquet = self.suffix == ".parquet"
        self.work = out if self.parquet else out.with_name(out.name + ".partial")
        self.state = (
            (out / "_state.json") if self.parquet else self.work.with_name(self.work.name + ".json")
        )

    def begin(self):
        """Rows that are there already."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            state = {}
        done = state.get("rows", 0) if state.get("key") == self.key else 0
        if self.parquet:
            self.out.mkdir(parents=True, exist_ok=True)
            for file in self.out.glob("part-*.parquet"):
                if int(file.stem[5:]) >= done:
                    file.unlink()
        else:
            with open(self.work, "ab") as file:
                file.truncate(state["bytes"] if done else 0)
        return done

    def add(self, rows, position):
        """Write the rows of a part, which begins at a position, and say so."""
        data = table_bytes(rows, self.suffix)
        size = 0
        if self.parquet:
            write_bytes(self.out / f"part-{position:012d}.parquet", data)
        else:
            with open(self.work, "ab") as file:
                if file.tell():
                    data = data.split(b"\n", 1)[1]  # its header is there
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
        state = {"key": self.key, "rows": position + len(rows), "bytes": size}
        write_text(self.state, json.dumps(state))

    def end(self):
        """All parts are there."""
        if not self.parquet:
            os.replace(self.work, self.out)
        self.state.unlink(missing_ok=True)


def predict_parts(model, about, path, table, out, *, level, confidence, keep, id=None):
    """Predictions of a table that is read part by part, in its order."""
    from ._predict import New, _with_columns, drift_line, predictions, show_scores

    # A file of a folder may change while the folder stays as it is.
    stats = [file.stat() for file in getattr(table, "files", [table.path])]
    files = [(stat.st_size, stat.st_mtime) for stat in stats]
    facts = [str(table.path.resolve()), files, level, confidence, keep, id]
    key = hashlib.sha256(path.read_bytes() + json.dumps(facts).encode()).hexdigest()
    writer = PartWriter(out, key)
    start = writer.begin()
    if start:
        console.print(f"{start} rows are there from an earlier run", highlight=False)
    known = {f["name"] for f in about["features"]}
    target, scores, nearest, flagged, rows_done = about["target"], [], None, 0, start
    share = min(1.0, MOST_DRIFT / (table.n_rows or MOST_DRIFT))
    left = None if table.n_rows is None else table.n_rows - start
    with _resumable(), counting("predict", left) as tell:
        for position, frame in table.parts(start):
            ids = find_target(list(frame.columns), id) if id else None
            names = [str(v) for v in frame[ids]] if ids else None
            if names is None:
                ids, _ = row_names(frame.drop(columns=[*known, target], errors="ignore"))
                names = [str(v) for v in frame[ids]] if ids else None
            X, notes = match_columns(frame, about, ids)
            if rows_done == start:
                say_notes(console, [*table.notes, *notes])
            for feature in about["features"]:
                if feature["type"] == NAME:
                    X[feature["name"]] = X[feature["name"]].astype(object)
            names = names or list(range(position + 1, position + len(frame) + 1))
            new = New(X, names, [])
            rows, proba, found = predictions(model, new, about, level, confidence)
            flagged += sum(row["outlier"] for row in rows)
            if target in frame.columns and target not in known:
                truth = list(map(written, frame[target]))
                predicted = [str(row["prediction"]) for row in rows]
                scores.append(score(truth, predicted, proba, about["classes"]))
            mine = uniform(np.arange(position, position + len(frame)), 1) < share
            kept = [(own, values[mine]) for own, values in found.nearest]
            nearest = (
                kept
                if nearest is None
                else [(own, np.concatenate([a, b])) for (own, a), (_, b) in zip(nearest, kept)]
            )
            if keep:
                rows = list(_with_columns(rows, frame))
            writer.add(rows, position)
            rows_done = position + len(frame)
            tell(len(frame))
    writer.end()
    console.print(
        f"{rows_done} objects predicted, {flagged} of the {rows_done - start} of this run flagged "
        f"as outliers: {escape(str(out))}",
        highlight=False,
        soft_wrap=True,
    )
    if nearest and all(len(values) for _, values in nearest):
        console.print(drift_line(nearest), highlight=False, soft_wrap=True)
    if scores:
        show_scores(console, merged(scores))


@contextmanager
def _resumable():
    try:
        yield
    except KeyboardInterrupt:
        console.print("Stopped: the same command goes on from the rows that are written.")
        raise typer.Exit(130) from None
