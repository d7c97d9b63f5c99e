"""Tables of features from text files, workbooks, and files of other programs."""

import functools
import re
from collections import Counter
from pathlib import Path

import numpy as np

from ..words import counted, folded, like
from .columns import (
    COMMAS,
    MISSING,
    as_labels,
    counting_columns,
    is_comma_column,
    select_features,
    table_notices,
    tidy,
    written,
)
from .formats import READERS, parquet_table
from .layout import TableFormat
from .overview import column_overview
from .problem import DataError, Faults, Problem, is_text, listed
from .source import FileContents, load
from .text_tables import text_table, unique_names

USUAL_TARGETS = ("class", "target", "label", "y", "species", "category", "diagnosis", "outcome")


def read_table(path, *, find=None, texts=(), faults=None, **form):
    """A data frame from a file; columns are numbers (float64, NaN where missing) or text (object).

    Its index counts the rows of the file from 0; in text files and workbooks the header counts.

    Parameters
    ----------
    path : str or path
        A file of :data:`READERS`, or delimited text; a folder of Parquet files; ``-`` for standard
        input.
    find : callable or None
        Names of columns -> the one that holds the classes, where fewer words count as missing.
    texts : collection of str
        Columns of a text file that stay as they are written, be they numbers or not.
    faults : Faults or None
        Takes the problems of the file; they are raised if None.
    **form
        See :class:`~mahalearn.app.reading.layout.TableFormat`.

    Returns
    -------
    frame : DataFrame
        With ``attrs["units"]``: column -> unit that was taken off its numbers.
    notes : list of str
    """
    if faults is None:
        with Faults().raised() as faults:
            frame, notes = read_table(path, find=find, texts=texts, faults=faults, **form)
        return frame, notes
    form, folder = TableFormat(**form), Path(path)
    if folder.is_dir() and holds_parquet(folder):
        source = FileContents(str(path), ".parquet", b"", [])
        reader = functools.partial(parquet_table, folder=folder)
    else:
        source = load(path)
        reader = READERS.get(source.suffix)
        if form.sheet is not None and source.suffix != ".xlsx":
            raise DataError(f"{source.name!r} is not a workbook: it has no sheets.")
    if reader is None:
        frame, notes = text_table(source, form, faults, find, texts)
    elif form.asked():
        raise DataError(
            f"{source.name!r} is neither a text file nor a workbook: its types are known, and "
            f"{listed(form.asked())} cannot be chosen."
        )
    else:
        frame, notes = reader(source)
    if not len(frame):
        raise DataError(f"{source.name!r} has no rows below its header.")
    frame.columns = unique_names(frame.columns, notes)
    return frame, notes


def holds_parquet(folder):
    """True if a folder holds Parquet files, or folders of them by the value of a column."""
    return any(folder.glob("*.parquet")) or any(folder.glob("*=*/**/*.parquet"))


def _without(frame, rows, comma):
    """A table without some rows: columns that only their texts kept from being numbers are numbers.

    Units stand below a header, sums and remarks below a table, all without a class. `comma` says
    whether numbers may have decimal commas.
    """
    import pandas as pd

    remaining, numbers = frame[~rows], {}
    for column in frame.columns:
        if is_text(frame[column]) and frame[column][rows].notna().any():
            cells = ["" if cell is None else str(cell) for cell in remaining[column]]
            values, _, _ = tidy(cells, comma and is_comma_column(cells))
            if values.dtype.kind == "f":
                numbers[column] = pd.Series(values, index=remaining.index)
    if not numbers:
        return remaining
    columns = {column: numbers.get(column, remaining[column]) for column in frame.columns}
    return pd.DataFrame(columns)


def find_target(names, target):
    """Name of the target column: as given, by number from 1 (−1 the last), or a usual name."""
    if target is None:
        usual = [name for name in names if folded(name) in USUAL_TARGETS]
        if len(usual) != 1:
            raise DataError(
                f"Which column holds the classes? The columns are {listed(map(repr, names), 20)}.",
                "target",
            )
        return usual[0]
    if target in names:
        return target
    if re.fullmatch(r"-?\d+", target) and 1 <= abs(int(target)) <= len(names):
        position = int(target)
        return names[position - 1 if position > 0 else position]
    if (near := like(target, names)) is not None:
        return near
    raise DataError(
        f"There is no column {target!r}; the columns are {listed(map(repr, names), 20)}."
    )


def find_columns(names, wanted, faults):
    """Role -> name of its column, of those that are chosen; absent ones are recorded as faults."""
    chosen = {}
    for role, column in wanted.items():
        if column is not None:
            with faults.collected():
                chosen[role] = find_target(names, column)
    return chosen


def table_problem(frame, target, name, notes=(), *, drop=(), id=None, groups=None, faults=None):
    """The problem of a table: classes from the target column, features from the others.

    Parameters
    ----------
    frame : DataFrame
        What :func:`read_table` gave.
    target : str or None
        Column of the classes, by name or number from 1; a usual name if None.
    name : str
        What to call the problem.
    notes : sequence of str
        Sentences so far.
    drop : sequence of str
        Columns to leave out.
    id : str or None
        Column that names the rows.
    groups : str or None
        Column of what belongs together: its rows are never in both parts of a fold.
    faults : Faults or None
        Problems so far: they are raised with those of the columns.

    Returns
    -------
    problem : Problem
    """
    with (faults or Faults()).raised() as faults:
        return _table_problem(
            frame, target, name, list(notes), drop, {"names": id, "groups": groups}, faults
        )


def _table_problem(frame, target, name, notes, drop, roles, faults):
    columns = list(frame.columns)
    target = find_target(columns, target)
    chosen = {"classes": target, **find_columns(columns, roles, faults)}
    dropped = list(find_columns(columns, dict(enumerate(drop)), faults).values())
    special = [*dropped, *(column for role, column in chosen.items() if role != "classes")]
    if target in special:
        faults.add(f"Column {target!r} holds the classes and cannot be anything else.")
    numbered = set(frame.columns[counting_columns(frame)]) - {target}
    units, frame = frame.attrs.get("units", {}), _with_class(frame, target, notes)
    y = None
    with faults.collected():
        y = as_labels(frame[target].tolist(), target)
        notes += _missing_classes(y)
    X = frame.drop(columns=list(dict.fromkeys([target, *special])))
    X, names, left_out = select_features(X, notes, numbered, faults)
    groups = None
    if "groups" in chosen:
        with faults.collected():
            groups = _groups(frame[chosen["groups"]])
    if not X.shape[1] and not faults.errors:
        faults.add(" ".join([f"Beside {target!r} there is no column left to classify by.", *notes]))
    if faults.errors:  # raised together
        return None
    if "names" in chosen:
        names = [written(value) or "" for value in frame[chosen["names"]]]
    X = X.reset_index(drop=True)
    notes += table_notices(X, y, target)
    by_column = dict.fromkeys(dropped, "dropped") | {c: role for role, c in chosen.items()}
    return Problem(
        "vectors", X, y, name, names=names, target=target, notes=notes, units=units,
        overview=column_overview(frame, by_column, left_out, units), groups=groups,
    )  # fmt: skip


def _with_class(frame, target, notes):
    """The rows of a table that have a class, and a note on the others."""
    labelled = frame[target].notna().to_numpy()
    n_left = int((~labelled).sum())
    if not n_left:
        return frame
    notes.append(
        f"{counted(n_left, 'row')} without a class {'was' if n_left == 1 else 'were'} left out."
    )
    return _without(frame, ~labelled, COMMAS in notes)


def _missing_classes(y):
    """Sentences on classes whose names are words for missing cells."""
    for label, times in Counter(map(str, () if y is None else y)).items():
        if label.lower() in MISSING:
            yield (
                f"{label!r} is a class of {counted(times, 'row')}; leave the cell empty where "
                "it means that the class is not known."
            )


def _groups(column):
    values = np.array([written(value) or "" for value in column])
    if (values == "").any():
        first = int(column.index[np.flatnonzero(values == "")[0]]) + 1
        raise DataError(f"Column {column.name!r} of groups is empty in row {first}.", "groups")
    return values
