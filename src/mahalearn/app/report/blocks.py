"""Parts that several sections of a report share."""

from ..words import number, percent


def section(name, title, *blocks, short=None, half=False):
    """A section with the blocks that are not None; `half` ones stand side by side."""
    filled = [block for block in blocks if block]
    return {"id": name, "title": title, "short": short or title, "blocks": filled, "half": half}


def paragraph(text):
    """A block of text."""
    return {"kind": "text", "text": text}


def side_by_side(*items):
    """Blocks next to each other on a wide screen; a list of blocks stays together."""
    filled = [[block for block in i if block] if isinstance(i, list) else i for i in items if i]
    grouped = [{"kind": "group", "items": i} if isinstance(i, list) else i for i in filled]
    return {"kind": "figures", "items": grouped}


def table(caption, corner, columns, rows, **options):
    """A table that can be sorted."""
    return {
        "kind": "table",
        "caption": caption,
        "corner": corner,
        "sortable": True,
        "columns": columns,
        "rows": rows,
        **options,
    }


def first_rows(make, rows, most, noun):
    """A table of the first rows, and one of all rows behind a click where there are more.

    make(rows, filter): the table.
    """
    if len(rows) <= most:
        return [make(rows)]
    everyone = make(rows, filter=len(rows) > 8)
    summary = f"All {len(rows)} {noun}"
    return [make(rows[:most]), {"kind": "details", "summary": summary, "items": [everyone]}]


def number_cell(value, text=None):
    """A number that a table is sorted by; None is a dash."""
    if value is None:
        return {"text": "–", "value": -1.0}
    return {"text": str(value) if text is None else text, "value": value}


def percent_cell(value, digits=1):
    """A share in percent."""
    return number_cell(value, None if value is None else percent(value, digits))


def area_cell(value):
    """An area under a curve."""
    return number_cell(value, None if value is None else f"{value:.3f}")


def words_cell(text):
    """Text among numbers: a cell, or the head of a column of text."""
    return {"text": text, "state": "words"}


def interval(bounds, digits=1):
    """Two bounds in percent, without the sign."""
    low, high = (number(100 * bound, digits) for bound in bounds)
    return f"{low} to {high}"


def confusion_table(values):
    """The confusion matrix of values with `classes` and `confusion`, shaded by shares of a row."""
    classes, counts = values["classes"], values["confusion"]
    rows = []
    for i, name in enumerate(classes):
        total = sum(counts[i]) or 1
        cells = []
        for j, count in enumerate(counts[i]):
            state = "shade" if i == j else "slip" if count else ""
            hint = f"{count} of {total} predictions for {name} were {classes[j]}"
            text = percent(count / total, 0) if count else "·"
            cells.append({"text": text, "state": state, "share": count / total, "hint": hint})
            if count:
                cells[-1] |= {"detail": str(count), "pair": f"{i},{j}"}
        rows.append({"label": name, "cells": cells})
    return {
        "kind": "table",
        "caption": "Confusion matrix",
        "corner": "true \\ predicted",
        "columns": classes,
        "rows": rows,
    }


def error_key(values):
    """The error of a row of the leaderboard that decides."""
    return "error" if values["plan"]["by"] == "plain" else "balanced"


def error_name(values):
    """The name of the error that decides."""
    return "error" if values["plan"]["by"] == "plain" else "balanced error"
