"""The command `novelty`: p-values of new rows, flags, and a page on the most novel ones."""

import warnings
from functools import partial

import numpy as np

from ...novelty import MahalanobisNovelty
from ...novelty._folds import class_folds
from ...results import write_bytes, write_text
from ...table_encoder import TableEncoder
from ..reading.problem import DataError, Faults, listed, text_columns
from ..reading.tables import find_columns, find_target, read_table, table_problem
from ..report.html import render
from ..report.novelty import document
from ..words import counted
from ._predict import FORMATS, new_table
from ._terminal import Console, check_out, say_notes, table_bytes

# Rows that are explained on the page, and columns that an explanation names.
MOST_ROWS, MOST_COLUMNS = 25, 3
# Part of the training rows that calibrates where categories or missing cells must be encoded.
PARTS = 3
# Column of the class of rows that are all of one.
ONE_CLASS = "class of the regular rows"


def novelty(train, new, target, out, level, fdr, normalize, id, drop, force):
    """Check the options, find the novel rows, and write the table and the page."""
    for name, value in (("--level", level), ("--fdr", fdr)):
        if value is not None and not 0 < value < 1:
            raise DataError(f"{name} must be between 0 and 1; got {value:g}.")
    if out.suffix.lower() not in FORMATS:
        raise DataError(f"--out must end with {listed(FORMATS)}; got {str(out)!r}.")
    for file in (out, out.with_suffix(".html")):
        check_out(file, force, inputs=[train, new])
    write(train, new, target, out, level, fdr, normalize, id, drop)


def write(train, new, target, out, level, fdr, normalize, id, drop):
    """Fit, judge the new rows, and write the table and the page."""
    console = Console()
    X, y, Q, names, notes = read(train, new, target, id, drop)
    try:
        detector, vectors, columns, more_notes = fit(X, y, Q, level, normalize)
    except ValueError as error:
        raise DataError(f"The tables cannot be compared: {error}") from None
    say_notes(console, notes := notes + more_notes)
    rows, values = judged(detector, vectors, columns, names, fdr)
    write_bytes(out, table_bytes(rows, out.suffix.lower()))
    values |= {"train": train.name, "new": new.name, "n_train": len(X), "notes": notes}
    page = out.with_suffix(".html")
    write_text(page, render(document(values)))
    flagged = sum(row["novel"] for row in rows)
    console.print(
        f"{counted(len(rows), 'row')}, {flagged} flagged as novel: {out}, {page}",
        markup=False,
        soft_wrap=True,
    )


def read(train, new, target, id, drop):
    """Training rows and their classes (None: one class), new rows and their names, notes."""
    find = None if target is None else partial(find_target, target=target)
    frame, notes = read_table(train, find=find)
    chosen = {"id": id, **dict(enumerate(drop))}
    if target is None:
        with Faults().raised() as faults:  # by number, too: of the columns that are there so far
            chosen = find_columns(list(frame.columns), chosen, faults)
        frame[ONE_CLASS] = "regular"
    roles = {"id": chosen.pop("id", None), "drop": list(chosen.values())}
    problem = table_problem(frame, target or ONE_CLASS, train.stem, notes, **roles)
    if target is None:
        problem.target = problem.y = None
    about = {"kind": "vectors", "features": problem.features(), "target": problem.target}
    about["classes"] = []
    rows = new_table(*read_table(new), about, id)
    names = rows.names or [f"row {i + 1}" for i in range(len(rows.X))]
    return problem.X, problem.y, rows.X, names, list(dict.fromkeys([*problem.notes, *rows.notes]))


def fit(X, y, Q, level, normalize):
    """The detector, the new rows as it takes them, the column behind each of theirs, notes.

    An encoder of categories and missing cells learns from training rows, which new rows are not
    among. Then a third of the rows is kept from encoder and covariance, and calibrates.
    """
    detector, columns = MahalanobisNovelty(level=level, normalize=normalize), list(X.columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if not (text_columns(X).any() or X.isna().any(axis=None) or Q.isna().any(axis=None)):
            vectors = Q.to_numpy(dtype=float)
            detector.fit(X.to_numpy(dtype=float), y)
        else:
            codes = np.unique(y, return_inverse=True)[1] if y is not None else np.zeros(len(X), int)
            held_out = class_folds(codes, PARTS, 0)[0]
            fitted = np.setdiff1d(np.arange(len(X)), held_out)
            held_out = held_out[np.isin(codes[held_out], codes[fitted])]
            encoder = TableEncoder().fit(X.iloc[fitted])
            columns = [columns[j] for j in encoder.source_columns_]
            vectors = encoder.transform(Q)
            parts = [
                (encoder.transform(X.iloc[rows]), None if y is None else y[rows])
                for rows in (fitted, held_out)
            ]
            detector.fit(*parts[0]).calibrate(*parts[1])
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return detector, vectors, columns, notes


def judged(detector, vectors, columns, names, fdr):
    """A row of the table for each new row, and the values of the page."""
    p, d2 = detector.p_none(vectors), detector.mahalanobis(vectors)
    novel = detector.predict(vectors) == -1 if fdr is None else detector.select(vectors, fdr)
    classes, typical = detector.class_labels_, detector.p_values(vectors)
    order = np.lexsort([-d2.min(axis=1), p])
    explained = order[: max(MOST_ROWS, int(novel.sum()))]
    unusual = dict(zip(explained.tolist(), explanations(detector, vectors[explained], columns)))
    rows = []
    for i, name in enumerate(names):
        nearest = int(d2[i].argmin())
        row = {"row": name, "p none": float(p[i]), "novel": int(novel[i])}
        if len(classes) > 1:
            row |= {"nearest class": str(classes[nearest])}
            row |= {f"typical {c}": float(typical[i, j]) for j, c in enumerate(classes)}
        row |= {"d2": float(d2[i, nearest]), "unusual": unusual.get(i, {}).get("columns", "")}
        rows.append(row)
    values = {
        "level": detector.level,
        "fdr": fdr,
        "guarantee": detector.guarantee_,
        "classes": [str(c) for c in classes],
        "n_new": len(rows),
        "n_flagged": int(novel.sum()),
        "most_novel": [rows[i] | unusual[i] for i in explained[:MOST_ROWS].tolist()],
    }
    return rows, values


def explanations(detector, vectors, columns):
    """For each row the unusual columns in words, and the distance to all training rows."""
    for explanation in detector.explain(vectors, n_classes=1) if len(vectors) else []:
        shares = {}
        contributions = explanation["contributions"].values()
        for column, part in zip(columns, contributions, strict=True):
            shares[column] = shares.get(column, 0.0) + part
        total = sum(shares.values()) or 1.0
        largest = sorted(shares, key=shares.get, reverse=True)[:MOST_COLUMNS]
        named = [f"{c} ({shares[c] / total:.0%})" for c in largest if shares[c] > 0]
        yield {
            "columns": ", ".join(named),
            "first": str(largest[0]),
            "background": explanation["background"],
        }
