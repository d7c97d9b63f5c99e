"""Blocks of a page (see :mod:`mahalearn.app.report`) from compared tables: tables, figures."""

from collections.abc import Callable
from typing import NamedTuple

from ..app.words import number
from .agreement import STAND_IN

# Behind a cell whose published number led to a convention.
CALIBRATION_MARK = "°"
# Ticks of the cumulative figure, in units of the tolerance.
DISTANCES = tuple(i / 4 for i in range(17))


def table_block(table, compared):
    """The block of a comparison: each cell ours over published, coloured by agreement."""
    digits = table.get("digits", {})
    rows = [
        {
            "label": line,
            "cells": [
                _cell_block(compared.cells[column, line], digits.get(line, 1))
                for column in table["columns"]
            ],
        }
        for line in table["lines"]
    ]
    if any(value is not None for value in compared.correlations.values()):
        cells = [_correlation(value) for value in compared.correlations.values()]
        rows.append({"label": "rank correlation (95 %)", "cells": cells, "foot": True})
    return {
        "kind": "table",
        "caption": caption(compared),
        "corner": "ours / published",
        "columns": [_column_name(column, table, compared) for column in table["columns"]],
        "rows": rows,
    }


def _correlation(value):
    if value is None:
        return ""
    return f"{number(value.value, 2)} ({number(value.low, 2)} to {number(value.high, 2)})"


def _column_name(column, table, compared):
    if column in table.get("readings", {}):
        return f"{column} (not counted)"
    ours = [compared.cells[column, line].ours for line in table["lines"]]
    return f"{column} (stand-in)" if any(o and o.status == STAND_IN for o in ours) else column


def caption(compared):
    """Numbers of cells that agree, with chance rates, and of repetitions."""
    if compared.repetitions is None:
        return "Not measured yet."
    text = f"Test cells that agree: {compared.test}"
    if compared.calibration.of:
        text += f". Calibration cells: {compared.calibration}"
    return f"{text}. {remarks(compared)}"


def remarks(compared):
    """Our repetitions, and the cells that are not counted."""
    if compared.repetitions is None:
        return "Not measured yet."
    least, most = compared.repetitions
    parts = [f"Our repetitions: {least if least == most else f'{least} to {most}'}"]
    if compared.stand_ins.of:
        parts.append(f"Stand-in data, not counted: {compared.stand_ins}")
    if compared.readings.of:
        parts.append(f"Another reading of the data, not counted: {compared.readings}")
    if compared.settings:
        parts.append(f"Shortened protocol: {'; '.join(compared.settings)}")
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
        f"{number(cell.allowed, digits + 1)}, {cell.ours.n} repetitions; by chance "
        f"{number(100 * cell.chance, 0)} %",
    }


def state_of(cell):
    """agree, differ, apart (not counted), or "" where a number is missing."""
    if cell.agrees is None:
        return ""
    return "apart" if cell.apart else "agree" if cell.agrees else "differ"


def _spread(value, digits):
    return number(value.mean, digits) + (f" ({number(value.std, digits)})" if value.std else "")


class Scale(NamedTuple):
    """Lines of tables that share an axis: its name, and which lines."""

    unit: str
    belongs: Callable


SCALES = (
    Scale("errors in percent", lambda table, line: table["measure"] != "values"),
    Scale("accuracies in percent", lambda table, line: line == "accuracy"),
    Scale("shares, squared distances", lambda table, line: line in ("r_neg", "mean_distance_sq")),
    Scale("numbers of eigenvalues", lambda table, line: line in ("p", "q")),
    Scale("rank weights", lambda table, line: line.startswith("rank ")),
)


def scatter_blocks(paper, tables, compared):
    """Ours against published for all cells of a paper, a figure for each scale."""
    blocks = []
    for scale in SCALES:
        points = [
            {
                "x": cell.published.mean,
                "y": cell.ours.mean,
                "allowed": cell.allowed,
                "state": state_of(cell),
                "calibration": cell.calibration,
                "chance": None if cell.apart or not cell.alternatives else cell.alternatives[0][0],
                "name": f"{table['id']}, {column}, {line}",
            }
            for table in tables
            for (column, line), cell in compared[table["id"]].cells.items()
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
                    "points": points,
                }
            )
    return blocks


def chance_block(tables, compared):
    """Shares of the test cells within a multiple of the tolerance: published, and by chance."""
    ours, chance = [], []
    for table in tables:
        for cell in compared[table["id"]].cells.values():
            if cell.alternatives and not (cell.apart or cell.calibration):
                ours.append(cell.ratio)
                chance.append([ratio for _, ratio in cell.alternatives])
    if not ours:
        return []

    def share(ratios, x):
        return sum(ratio <= x for ratio in ratios) / len(ratios)

    return [
        {
            "kind": "curves",
            "title": f"Test cells within a multiple of the tolerance ({len(ours)} cells)",
            "xlabel": "difference / tolerance",
            "ylabel": "cells (%)",
            "x": list(DISTANCES),
            "xticks": [0, 1, 2, 3, 4],
            "series": [
                {"name": "published number", "y": [100 * share(ours, x) for x in DISTANCES]},
                {
                    "name": "another method (chance)",
                    "y": [
                        100 * sum(share(ratios, x) for ratios in chance) / len(chance)
                        for x in DISTANCES
                    ],
                    "grey": True,
                },
            ],
        }
    ]
