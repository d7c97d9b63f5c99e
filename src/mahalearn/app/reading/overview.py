"""One line for each column of a table: its type as read, its values, and what becomes of it."""

import re

import numpy as np

from .columns import LeftOut, date_columns, written
from .problem import number_blocks, text_columns

# Categories of a column that are named.
MOST_NAMED = 3
LONGEST_EXAMPLE = 30
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
CONSTANT = LeftOut(
    "constant", "has the same value in each row", "It carries no information; remove it."
)


def column_overview(frame, roles, left_out, units):
    """Rows of a table of the columns, plain values that JSON can hold.

    Parameters
    ----------
    frame : DataFrame
        The table as read.
    roles : dict of str to str
        Column -> role other than feature: classes, names of rows, groups, dropped.
    left_out : dict of str to LeftOut
        Columns that are not used, and why.
    units : dict of str to str
        Column -> unit that was taken off its numbers.

    Returns
    -------
    columns : list of dict
        name, type (number, category, date, text, identifier, empty), role (feature, classes, names,
        groups, dropped, left out), values (range, or most frequent categories), missing
        (count), example, reason and remedy (None where the column is used).
    """
    texts, constant = text_columns(frame), []
    rows = dict.fromkeys(frame.columns)
    dates = set(date_columns(frame))
    for at, V in number_blocks(frame):
        low, high = np.fmin.reduce(V, axis=0), np.fmax.reduce(V, axis=0)
        gaps = np.isnan(V)
        first = V[np.argmax(~gaps, axis=0), np.arange(V.shape[1])]
        for j, position in enumerate(at):
            name = frame.columns[position]
            unit = f" {units[name]}" if name in units else ""
            rows[name] = {
                "type": "date" if name in dates else "number",
                "values": "" if low[j] != low[j] else f"{low[j]:g} to {high[j]:g}{unit}",
                "missing": int(gaps[:, j].sum()),
                "example": "" if first[j] != first[j] else f"{first[j]:g}",
            }
            if low[j] == high[j]:
                constant.append(name)
    for position in np.flatnonzero(texts):
        name, values = frame.columns[position], frame.iloc[:, position]
        counts = values.value_counts()
        rows[name] = {
            "type": "category",
            "values": _text_values(counts, left_out.get(name)),
            "missing": int(values.isna().sum()),
            "example": shortened(counts.index[0]) if len(counts) else "",
        }
        if len(counts) == 1 and not values.isna().any():
            constant.append(name)
    left_out = dict.fromkeys(constant, CONSTANT) | left_out
    return [_line(name, row, roles.get(name), left_out.get(name)) for name, row in rows.items()]


def _line(name, row, role, reason):
    line = {"name": str(name), **row, "role": role or "feature", "reason": None, "remedy": None}
    if reason is not None and role in (None, "names"):
        kinds = {"constant": line["type"]}
        line["type"] = kinds.get(reason.type, reason.type)
        if role is None:
            line |= {"role": "left out", "reason": reason.reason, "remedy": reason.remedy}
    if role == "dropped":
        line["reason"] = "was left out on request"
    return line


def _text_values(counts, reason):
    """Most frequent categories; of names their number, of dates in ISO 8601 the range."""
    kind = None if reason is None else reason.type
    if kind == "identifier":
        return f"{len(counts)} different texts"
    if kind == "date" and all(_ISO_DATE.match(str(text)) for text in counts.index):
        return f"{shortened(min(counts.index))} to {shortened(max(counts.index))}"
    return _frequent(counts)


def _frequent(counts):
    """The most frequent categories, and the number of the others."""
    named = ", ".join(f"{shortened(k)} ({n})" for k, n in counts.iloc[:MOST_NAMED].items())
    others = len(counts) - MOST_NAMED
    return f"{named} and {others} more" if others > 0 else named


def shortened(value):
    """A value as text of limited length."""
    text = written(value) or ""
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[: LONGEST_EXAMPLE - 1]}…"
