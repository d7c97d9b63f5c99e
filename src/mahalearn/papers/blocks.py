"""Blocks of a page (see :mod:`mahalearn.app.report`) from compared tables: tables, scatters."""

from collections.abc import Callable
from typing import NamedTuple

from ..app.words import number
from .agreement import STAND_IN

# Behind a cell whose published number led to a convention.
CALIBRATION_MARK = "°"


def table_block(table, found):
    """The block of a comparison: each cell ours over published, coloured by agreement."""
    digits = table.get("digits", {})
    rows = [
        {
            "label": line,
            "cells": [
                _cell_block(found.cells[column, line], digits.get(line, 1))
                for column in table["columns"]
            ],
        }
        for line in table["lines"]
    ]
    if any(value is not None for value in found.correlations.values()):
        cells = ["" if v is None else number(v, 2) for v in found.correlations.values()]
        rows.append({"label": "rank correlation", "cells": cells, "foot": True})
    return {
        "kind": "table",
        "caption": caption(found),
        "corner": "ours / published",
        "columns": [_column_name(column, table, found) for column in table["columns"]],
        "rows": rows,
    }


def _column_name(column, table, found):
    if column in table.get("readings", {}):
        return f"{column} (not counted)"
    ours = [found.cells[column, line].ours for line in table["lines"]]
    return f"{column} (stand-in)" if any(o and o.status == STAND_IN for o in ours) else column


def caption(found):
    """How many cells agree, over how many repetitions."""
    if found.repetitions is None:
        return "Not measured yet."
    text = f"{found.total} cells agree"
    if found.calibration.of:
        tested = found.total - found.calibration
        text += f": {found.calibration} of calibration, {tested} of the test"
    return f"{text}. {remarks(found)}"


def remarks(found):
    """Our repetitions, and what is not counted."""
    if found.repetitions is None:
        return "Not measured yet."
    least, most = found.repetitions
    parts = [f"Our repetitions: {least if least == most else f'{least} to {most}'}"]
    if found.stand_ins.of:
        parts.append(f"Stand-in data, not counted: {found.stand_ins}")
    if found.readings.of:
        parts.append(f"Another reading of the data, not counted: {found.readings}")
    if found.settings:
        parts.append(f"Shortened protocol: {'; '.join(found.settings)}")
    return ". ".join(parts) + "."


def _cell_block(cell, digits):
    if cell.ours is None and cell.published is None:
        return ""
    state = state_of(cell)
    mark = CALIBRATION_MARK if state and cell.calibration else ""
    return {
        "text": "–" if cell.ours is None else _spread(cell.ours, digits) + mark,
        "detail": "" if cell.published is None else _spread(cell.published, digits),
        "state": state,
        "hint": ""
        if not state
        else f"difference {number(cell.difference, digits + 1)}, allowed "
        f"{number(cell.allowed, digits + 1)}, {cell.ours.n} repetitions",
    }


def state_of(cell):
    """agree, differ, apart (not counted), or "" where a number is missing."""
    if cell.agrees is None:
        return ""
    return "apart" if cell.apart else "agree" if cell.agrees else "differ"


def _spread(value, digits):
    return number(value.mean, digits) + (f" ({number(value.std, digits)})" if value.std else "")


class Scale(NamedTuple):
    """Lines of tables that share an axis: its name, which lines, whether it is logarithmic."""

    unit: str
    belongs: Callable
    log: bool = False


SCALES = (
    Scale("errors in percent", lambda table, line: table["measure"] != "values"),
    Scale("accuracies in percent", lambda table, line: line == "accuracy"),
    Scale("shares, squared distances", lambda table, line: line in ("r_neg", "mean_distance_sq")),
    Scale("numbers of eigenvalues", lambda table, line: line in ("p", "q")),
    Scale("rank weights", lambda table, line: line.startswith("rank ")),
    Scale("parameters", lambda table, line: line[-2:] in (" C", " γ", " δ"), log=True),
)


def scatter_blocks(paper, tables, found):
    """Ours against published for all cells of a paper, a picture for each scale."""
    blocks = []
    for scale in SCALES:
        points = [
            {
                "x": cell.published.mean,
                "y": cell.ours.mean,
                "allowed": cell.allowed,
                "state": state_of(cell),
                "calibration": cell.calibration,
                "name": f"{table['id']}, {column}, {line}",
            }
            for table in tables
            for (column, line), cell in found[table["id"]].cells.items()
            if scale.belongs(table, line) and cell.agrees is not None
        ]
        if points:
            ids = ", ".join(dict.fromkeys(point["name"].split(",")[0] for point in points))
            blocks.append(
                {
                    "kind": "scatter",
                    "title": f"Paper {paper}: {scale.unit} ({ids})",
                    "xlabel": "published",
                    "ylabel": "ours",
                    "log": scale.log,
                    "points": points,
                }
            )
    return blocks
