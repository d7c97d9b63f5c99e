"""Predictions: labels, probabilities, distances, p-values and outliers."""

import hashlib
import json
import os
import sys
import warnings
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ...formulas.conformal import (
    benjamini_hochberg,
    cross_rank_sum_p_value,
)
from ...persistence import load_model, model_about
from ...results import write_bytes, write_text
from ..comparing.methods import DISTANCE_METHODS
from ..comparing.prediction_quality import merged, score
from ..reading.changed_columns import column_drifts, drift_words
from ..reading.columns import row_names, written
from ..reading.encoder import match_columns
from ..reading.large import large_table, parse_memory, uniform
from ..reading.layout import TableFormat
from ..reading.problem import NAME, DataError, listed, matched_note
from ..reading.read import rows_of
from ..reading.schema import check_about
from ..reading.source import is_stream
from ..reading.tables import find_target, read_table
from ..report import html
from ..report.prediction import document, page_values
from ..words import counted, like, respelled
from ._large import counting
from ._terminal import Console, check_out, say_notes, table_bytes

# p-value up to which a file is said to differ from the training objects.
DRIFT = 0.05
# Rows of new objects whose distances the test for drift takes, of a table read part by part.
MOST_DRIFT = 100_000
FORMATS = (".csv", ".tsv", ".parquet", ".xlsx")
ONLY_AT_ONCE = (
    "A table that is read part by part is written to a file, without --fdr (which needs all "
    "p-values at once), --labels and --report; --memory says how much may be read."
)
GROUPED = (
    "Drift was not tested: the model was trained on groups of objects that belong together, and "
    "the tests are for independent objects."
)


class New(NamedTuple):
    """New objects in the form the model takes, and what else their file holds."""

    X: object
    names: list | None
    notes: list
    columns: object = None  # the data frame they came from
    truth: list | None = None  # classes, None where they are missing
    start: int = 0  # objects of the file before these


def predict(
    path, data, out, *, level, confidence=0.95, fdr=None, force=False, keep=False, labels=None,
    memory=None, report=None, form=None, id=None, interpolate=False,
):  # fmt: skip
    """Predict, score where the classes are known, and write a line for each object and a page.

    A table that does not fit into memory goes the same way part by part.
    """
    console = Console(stderr=is_stream(out))  # what is said goes elsewhere than the table
    check_places(path, data, out, report, labels, force)
    model, about, notes = read_model(path)
    table = None
    if about["kind"] == "vectors":
        table = large_table(data, parse_memory(memory), form, **_reading(about))
    if table is None:
        new = read_new(data, about, labels, form, id, interpolate)
        if keep and new.columns is None:
            raise DataError("--keep is for tables; these objects have no columns.")
        parts, writer, share = [new], Writer(out), 1.0
        progress = nullcontext(lambda n_rows: None)
    else:
        if any(option is not None for option in (fdr, labels, report)) or is_stream(out):
            raise DataError(ONLY_AT_ONCE)
        writer = PartWriter(out, _key(path, table, level, confidence, keep, id))
        start = writer.begin()
        parts, progress = table_parts(table, about, id, start), restartable(console, table, start)
        share = min(1.0, MOST_DRIFT / (table.n_rows or MOST_DRIFT))
    grouped = about["training"].get("groups") is not None
    notes = [*notes, GROUPED] if grouped else notes
    tally = Tally(about["classes"], 0.0 if grouped else share)
    with progress as tell:
        for new in parts:
            if not tally.n:
                say_notes(console, [*notes, *new.notes])
            predicted = predictions(model, new, about, level, confidence, fdr)
            tally.add(predicted, new)
            rows = _with_columns(predicted.rows, new.columns) if keep else predicted.rows
            writer.add(list(rows), new.start)
            tell(len(predicted.rows))
    writer.end()
    drifts = []
    if table is None and about["kind"] == "vectors":
        drifts = column_drifts(new.X, about["features"], about["training"]["objects"])
        drifts = [drift._replace(changed=drift.changed and not grouped) for drift in drifts]
    if report is not None:
        values = page_values(predicted.rows, predicted.proba, about, drifts, new.X)
        values |= _page_facts(path, data, about, [*notes, *new.notes], tally, drifts)
        write_text(report, html.render(document(values)))
    say_results(console, about, tally, drifts)
    say_places(console, out, report, tally, in_parts=table is not None)


def _page_facts(path, data, about, notes, tally, drifts):
    """What the page says beside what is in the rows of the predictions."""
    sentences, scores = drift_sentences(tally.nearest, drifts, tally.n), tally.quality()
    return {
        "data": data.name if not is_stream(data) else "standard input",
        "model": about.get("title") or about.get("method") or path.name,
        "sentences": sentences,
        "drifted": any("lie farther" in sentence for sentence in sentences),
        "facts": [("model", path.name), ("trained on", str(about.get("data") or ""))],
        "notes": notes,
        "scores": scores._asdict() if scores is not None and scores.n else None,
    }


def say_results(console, about, tally, drifts):
    """Print whose distances these are, whether the data have changed, and how right it is."""
    if about.get("distances") in DISTANCE_METHODS:
        console.print(
            "[dim]The columns d2, typical and p none are made from distances of the "
            f"{escape(DISTANCE_METHODS[about['distances']].title)}.[/]",
            soft_wrap=True,
        )
    for sentence in drift_sentences(tally.nearest, drifts, tally.n):
        console.print(escape(sentence), soft_wrap=True)
    if (scores := tally.quality()) is not None:
        show_scores(console, scores)


def say_places(console, out, report, tally, in_parts):
    """Print how many objects were predicted, and where the results are."""
    where = "" if is_stream(out) else f": {escape(str(out))}"
    if report:
        where += f"; page: {escape(str(report))}"
    elif tally.flagged and not in_parts and not is_stream(out):
        where += "; --report new.html writes a page that shows them."
    console.print(
        f"{counted(tally.n, 'object')} predicted, {tally.flagged} of them flagged as "
        f"{'an outlier' if tally.flagged == 1 else 'outliers'}{where}",
        soft_wrap=True,
    )


def check_places(path, data, out, report, labels, force):
    """Refuse places that cannot be written, before any work is done."""
    if not is_stream(out):
        if out.suffix.lower() == ".parquet" and out.is_dir():  # a table in parts
            if not force and not (out / "_state.json").exists():
                raise FileExistsError(f"{out} exists already; --force overwrites it.")
        else:
            check_out(out, force, inputs=[path, data, labels])
        if out.suffix.lower() not in ("", ".txt", *FORMATS):
            raise DataError(
                f"--out must end with {listed(FORMATS)}, or be - to print; got {str(out)!r}."
            )
    if report is not None:
        check_out(report, force, inputs=[path, data, labels, out])


def read_model(path):
    """The model of a file, what the file says about it, and what there is to note."""
    about = check_about(model_about(path), path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model = load_model(path)
    if [str(c) for c in getattr(model, "classes_", ())] != about["classes"]:
        raise DataError(
            f"{str(path)!r} has been changed since it was saved: it names other classes than its "
            "model has; train the model again."
        )
    if not hasattr(model, "typicality"):
        raise DataError(f"{str(path)!r} holds no model of mahalearn train or compare.")
    return model, about, [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


class Tally:
    """Summary of all predictions: counts, scores, distances to the nearest class.

    share: that of the objects whose distances the test for drift takes.
    """

    def __init__(self, classes, share):
        self.classes, self.share = classes, share
        self.n, self.flagged, self.scores, self.nearest = 0, 0, [], []

    def add(self, predicted, new):
        """Count the predictions of a part."""
        rows, nearest = predicted.rows, predicted.typicality.nearest
        self.n += len(rows)
        self.flagged += sum(row["outlier"] for row in rows)
        if new.truth is not None:
            labels = [str(row["prediction"]) for row in rows]
            self.scores.append(score(new.truth, labels, predicted.proba, self.classes))
        chosen = uniform(np.arange(new.start, new.start + len(rows)), 1) < self.share
        before = self.nearest or [(trained, values[:0]) for trained, values in nearest]
        self.nearest = [
            (trained, np.concatenate([old, values[chosen]]))
            for (trained, old), (_, values) in zip(before, nearest, strict=True)
        ]

    def quality(self):
        """Scores of all parts, None where no class is known."""
        return merged(self.scores) if self.scores else None


def show_scores(console, scores):
    """Print how well the predictions fit the classes that are known."""
    say_notes(console, scores.notes)
    if not scores.n:
        return
    console.print(
        f"Scored on {counted(scores.n, 'object')}: accuracy {scores.accuracy:.1%}, balanced "
        f"accuracy {scores.balanced_accuracy:.1%}, log loss {scores.log_loss:.3f} (guessing the "
        f"same for all: {scores.baseline:.3f})",
        soft_wrap=True,
    )
    table = Table("true class, predicted as", *map(escape, scores.classes), box=None)
    for label, counts in zip(scores.classes, scores.confusion):
        if sum(counts):
            table.add_row(escape(label), *map(str, counts))
    console.print(table)


def _with_columns(rows, frame):
    """Rows of predictions behind the columns they were made from."""
    for row, (_, values) in zip(rows, frame.iterrows()):
        cells = {str(name): None if v is None or v != v else v for name, v in values.items()}
        new = {name if name not in cells else f"{name} (predicted)": v for name, v in row.items()}
        yield {**cells, **new}


def read_new(data, about, labels=None, form=None, id=None, interpolate=False):
    """New objects in the form the model takes.

    Returns
    -------
    new : New
    """
    form = form or TableFormat()
    of_table = about["features"] or about.get("series")
    if about["kind"] == "proximity" or (about["kind"] == "objects" and not of_table):
        useless = [*form.asked(), *(["id"] if id is not None else [])]
        if useless:
            raise DataError(f"--{useless[0]} has no effect here; it is for a table.")
        return _new_objects(data, about, labels, interpolate)
    if labels is not None:
        raise DataError("--labels has no effect for a table; its column of classes is used.")
    if about.get("series"):
        return _new_series(data, about, form, id, interpolate)
    frame, notes = read_table(data, **_reading(about), **vars(form))
    return new_table(frame, notes, about, id)


def _reading(about):
    """How a text file is read for a model: which column holds classes, and which hold texts."""
    texts = [f["name"] for f in about["features"] if f["type"] == NAME]
    return {"find": partial(like, about["target"]), "texts": texts}


def new_table(frame, notes, about, id, start=0):
    """Rows of a table, or of a part of it."""
    types = [feature["name"] for feature in about["features"]]
    target = like(about["target"], list(frame.columns))
    if target is not None and target != about["target"]:
        frame = frame.rename(columns={target: about["target"]})
        notes = [*notes, f"Column {target!r} was taken for the classes {about['target']!r}."]
    if id is not None:
        ids = find_target(list(frame.columns), id)
        names = [written(value) for value in frame[ids]]
    else:
        ids, names = row_names(frame.drop(columns=[*types, about["target"]], errors="ignore"))
    X, differences = match_columns(frame, about, ids)
    truth = None
    if about["target"] in frame.columns and about["target"] not in types:
        truth, renamed = _classes_like([written(v) for v in frame[about["target"]]], about)
        differences += renamed
    if about["kind"] == "objects":
        X = rows_of(X)
    return New(X, names, [*notes, *differences], frame, truth, start)


def table_parts(table, about, id, start):
    """New objects of a table that is read part by part, from a row on."""
    texts = _reading(about)["texts"]
    for position, frame in table.parts(start):
        new = new_table(frame, table.notes, about, id, position)
        yield new._replace(X=new.X.astype(dict.fromkeys(texts, object)))


def _new_series(data, about, form, id, interpolate):
    """Series of a table with a row for each time, by the columns that the model was trained on."""
    from ..reading.objects import long_collection

    find = partial(like, about["target"])
    columns = {**about["series"], **({} if id is None else {"id": id})}
    frame, notes = read_table(data, find=find, texts=[columns["id"]], **vars(form))
    target = find(list(frame.columns))
    if target not in (None, about["target"]):
        notes = [*notes, f"Column {target!r} was taken for the classes {about['target']!r}."]
    new = long_collection(frame, **columns, target=target, interpolate=interpolate)
    truth, renamed = (None, []) if new.labels is None else _classes_like(new.labels, about)
    return New(new.objects, new.names, [*notes, *new.notes, *renamed], None, truth)


def _classes_like(labels, about):
    """Classes written as in training where only their letters look alike, and a note."""
    renamed = respelled(filter(None, labels), about["classes"])
    notes = [matched_note("Classes", renamed)] if renamed else []
    return [renamed.get(label, label) for label in labels], notes


def _new_objects(data, about, labels, interpolate):
    from ..reading.matrices import read_labels

    truth = None
    if about["kind"] == "proximity":
        X, names, notes = _new_rows(data, about)
    else:
        from ..reading.objects import read_collection

        collection = read_collection(data, interpolate)
        X, truth, names, notes = collection.objects, collection.labels, collection.names, []
    if labels is not None:
        y, matched = read_labels(labels, len(X), names)
        truth, notes = list(map(str, y)), [*notes, *matched]
    if truth is not None:
        truth, renamed = _classes_like([written(label) for label in truth], about)
        notes = [*notes, *renamed]
    return New(X, names, notes, None, truth)


def _new_rows(data, about):
    """Proximities of new objects to the training objects, by name where both have names."""
    from ..reading.matrices import read_matrix

    M, rows, columns, _ = read_matrix(data)
    trained, n = about["objects"], about["training"]["objects"]
    if trained and columns:
        absent = [name for name in trained if name not in set(columns)]
        if absent:
            raise DataError(
                f"The matrix lacks the columns of the training objects {listed(absent)}; it must "
                "hold the proximity of each new object to each of them."
            )
        position = {name: i for i, name in enumerate(columns)}
        M = M[:, [position[name] for name in trained]]
        spare = len(columns) - len(trained)
        notes = [f"{spare} columns of other objects were ignored."] if spare else []
        return M, rows, notes
    if M.shape[1] != n:
        raise DataError(
            f"The matrix has {M.shape[1]} columns, but the model was trained on {n} objects; it "
            "must hold the proximity of each new object to each of them, in their order."
        )
    return M, rows, []


class Predicted(NamedTuple):
    """Predictions of new objects."""

    rows: list  # of the table: a dict for each object
    proba: np.ndarray  # (m, c)
    typicality: NamedTuple  # what the models of the folds say


def predictions(model, new, about, level, confidence=0.95, fdr=None):
    """Predictions of new objects, with distances, p-values, sets and flags."""
    try:
        labels, proba = model.predict(new.X), model.predict_proba(new.X)
        d2, typicality = model.mahalanobis(new.X), model.typicality(new.X)
        sets = model.prediction_sets(new.X, confidence)
    except ValueError as error:
        raise DataError(f"The model cannot take these objects: {error}") from None
    if fdr is None:
        outliers = model.outliers(typicality, level)
    else:
        outliers = benjamini_hochberg(typicality.p_none, fdr)
    classes, rows = about["classes"], []
    none = "p none" if "none" not in classes else "p none of the classes"
    # Columns of an older file keep their names.
    whose = f" ({about['distances']})" if model.folds and about.get("distances") else ""
    for i, label in enumerate(labels):
        row = {"object": new.names[i] if new.names else new.start + i + 1}
        row |= {"prediction": label.item() if hasattr(label, "item") else label}
        row |= {f"p {name}": _rounded(p) for name, p in zip(classes, proba[i])}
        row |= {f"d2 {name}{whose}": _rounded(d) for name, d in zip(classes, d2[i])}
        p_values = zip(classes, typicality.p_values[i])
        row |= {f"typical {name}": _rounded(p, 4) for name, p in p_values}
        row |= {"set": " | ".join(name for name, held in zip(classes, sets[i]) if held)}
        row |= {none: _rounded(typicality.p_none[i], 4), "outlier": int(outliers[i])}
        rows.append(row)
    return Predicted(rows, np.asarray(proba), typicality)


def drift_sentences(nearest, drifts, n):
    """Sentences on objects of a file that lie farther from the classes, and columns that changed.

    One object says nothing about a change; without any distances none is tested.
    """
    if n < 2 or not any(len(values) for _, values in nearest):
        return []
    p = cross_rank_sum_p_value(nearest)
    far = "no sign of it; these objects are as near to the classes as training objects were"
    if p <= DRIFT:
        far = "these objects lie farther from the classes than training objects did"
    sentences = [f"Drift: {far} (rank-sum test, p = {p:.2g})."]
    columns = drift_words(drifts)
    if p <= DRIFT and not columns:
        sentences[0] += " The data may have changed, or hold objects of no class."
    return [*sentences, columns] if columns else sentences


def _rounded(value, digits=6):
    """A number with so many digits; without a fraction it is whole."""
    value = float(f"{value:.{digits}g}")
    return int(value) if value.is_integer() and abs(value) < 10**digits else value


# --- files ----------------------------------------------------------------------------------------


class Writer:
    """All rows of predictions at once: into a file, or printed."""

    def __init__(self, out):
        self.out = out

    def add(self, rows, position):
        """Write the rows."""
        if is_stream(self.out):
            sys.stdout.buffer.write(table_bytes(rows, ".csv"))
            sys.stdout.buffer.flush()
        else:
            write_bytes(self.out, table_bytes(rows, self.out.suffix.lower()))

    def end(self):
        """All rows are there."""


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


def _key(path, table, *options):
    """A text that is the same for the same model, files and options."""
    # A file of a folder may change while the folder stays as it is.
    stats = [file.stat() for file in getattr(table, "files", [table.path])]
    files = [(stat.st_size, stat.st_mtime) for stat in stats]
    facts = [str(table.path.resolve()), files, *options]
    return hashlib.sha256(path.read_bytes() + json.dumps(facts).encode()).hexdigest()


@contextmanager
def restartable(console, table, start):
    """A bar of the rows that are left; Ctrl-C says how to go on."""
    if start:
        console.print(f"{start} rows were written by an earlier run")
    left = None if table.n_rows is None else table.n_rows - start
    try:
        with counting("predict", left, console) as tell:
            yield tell
    except KeyboardInterrupt:
        console.print("Stopped: the same command continues after the rows that are written.")
        raise typer.Exit(130) from None
