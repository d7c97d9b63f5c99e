"""Tables of our numbers beside published ones: agreement, counts, rank correlations."""

import math

from ..app.words import number
from ..results import summarise

# A number agrees with a published one within this many standard errors of their difference …
STANDARD_ERRORS = 2.0
# … plus a slack of one point of percent.
POINT = 1.0
STAND_IN = "stand-in"


def tolerance(ours, published, slack=POINT):
    """2·√(s²/R + s'²/R') + slack; a spread that was not published is taken to be ours."""
    std = published["std"] if published["std"] or not published.get("guess") else ours.std
    return STANDARD_ERRORS * math.sqrt(ours.std**2 / ours.n + std**2 / published["n"]) + slack


def compare(rows, table):
    """A table of ours and published, as a plain dict.

    Parameters
    ----------
    rows : iterable of Row
        Measured cells.
    table : dict
        With id, title, columns (data sets), lines (methods, or names of values), measure ("error",
        "balanced_error" or "values"), published {(column, line): {"mean", "std", "n"}} and slack
        {line: number}.

    Returns
    -------
    dict
        cells {(column, line): dict}, agreeing, counted, apart (both of stand-in data), correlations
        {column: number or None}, repetitions (least, most), settings.
    """
    rows = [row for row in rows if row.experiment == table["id"]]
    values = table["measure"] == "values"
    cells = {}
    for line in table["lines"]:
        found = summarise(rows, line if values else table["measure"])
        by_column = {
            column: summary
            for (_, column, method), summary in found.items()
            if values or method == line
        }
        for column in table["columns"]:
            published = table["published"].get((column, line))
            ours = by_column.get(column)
            cells[column, line] = _cell(ours, published, table["slack"].get(line, POINT), values)
    measured = [cell for cell in cells.values() if cell["ours"] is not None]
    both = [cell for cell in measured if cell["published"] is not None]
    counted = [cell for cell in both if cell["status"] != STAND_IN]
    apart = [cell for cell in both if cell["status"] == STAND_IN]
    return {
        "cells": cells,
        "counted": len(counted),
        "agreeing": sum(cell["agrees"] for cell in counted),
        "apart": len(apart),
        "apart_agreeing": sum(cell["agrees"] for cell in apart),
        "correlations": {
            column: None if values else _correlation([cells[column, m] for m in table["lines"]])
            for column in table["columns"]
        },
        "repetitions": _range(cell["ours"].n for cell in measured),
        "settings": sorted({cell["ours"].setting for cell in measured} - {""}),
        "missing": {
            row.dataset: row.values["missing"]
            for row in rows
            if "missing" in row.values
            and all(cells[row.dataset, m]["ours"] is None for m in table["lines"])
        },
    }


def _cell(ours, published, slack, values):
    cell = {"ours": ours, "published": published, "agrees": None, "status": "", "allowed": None}
    if ours is not None:
        cell["status"] = ours.status
    if ours is not None and published is not None:
        cell["allowed"] = tolerance(ours, {**published, "guess": values}, slack)
        # A hair of room: a difference that equals the tolerance in decimals counts.
        cell["agrees"] = abs(ours.mean - published["mean"]) <= cell["allowed"] + 1e-9
    return cell


def _range(numbers):
    numbers = sorted(numbers)
    return (numbers[0], numbers[-1]) if numbers else None


def _correlation(cells):
    """Spearman's rank correlation of ours and published; None below three methods."""
    pairs = [(c["ours"].mean, c["published"]["mean"]) for c in cells if c["agrees"] is not None]
    if len(pairs) < 3:
        return None
    ours, published = (_ranks(list(side)) for side in zip(*pairs))
    return _pearson(ours, published)


def _ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def _pearson(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    cross = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    norm = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return cross / norm if norm else None


def table_block(table, found):
    """The block of a comparison: each cell ours over published, coloured by agreement."""
    digits = table.get("digits", {})
    columns = [
        f"{column} (stand-in)"
        if any(found["cells"][column, line]["status"] == STAND_IN for line in table["lines"])
        else column
        for column in table["columns"]
    ]
    rows = [
        {
            "label": line,
            "cells": [
                _cell_block(found["cells"][column, line], digits.get(line, 1))
                for column in table["columns"]
            ],
        }
        for line in table["lines"]
    ]
    correlations = found["correlations"]
    if any(value is not None for value in correlations.values()):
        cells = ["" if v is None else number(v, 2) for v in correlations.values()]
        rows.append({"label": "rank correlation", "cells": cells, "foot": True})
    return {
        "kind": "table",
        "caption": caption(found),
        "corner": "ours / published",
        "columns": columns,
        "rows": rows,
    }


def caption(found):
    """How many cells agree, over how many repetitions."""
    if found["repetitions"] is None:
        return "Not measured yet."
    least, most = found["repetitions"]
    times = f"{least}" if least == most else f"{least} to {most}"
    text = (
        f"{found['agreeing']} of {found['counted']} cells agree"
        f"{_percent(found['agreeing'], found['counted'])}. "
        f"Our repetitions: {times}."
    )
    if found["apart"]:
        text += f" Stand-in data, not counted: {found['apart_agreeing']} of {found['apart']}."
    if found["settings"]:
        text += f" Shortened protocol: {'; '.join(found['settings'])}."
    return text


def _percent(part, whole):
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _cell_block(cell, digits):
    ours, published = cell["ours"], cell["published"]
    if ours is None and published is None:
        return ""
    state = "" if cell["agrees"] is None else "agree" if cell["agrees"] else "differ"
    if state and cell["status"] == STAND_IN:
        state = "apart"
    return {
        "text": "–" if ours is None else _spread(ours.mean, ours.std, digits),
        "detail": "" if published is None else _spread(published["mean"], published["std"], digits),
        "state": state,
        "hint": ""
        if not state
        else f"difference {number(ours.mean - published['mean'], digits + 1)}, "
        f"allowed {number(cell['allowed'], digits + 1)}, {ours.n} repetitions",
    }


def _spread(mean, std, digits):
    return number(mean, digits) + (f" ({number(std, digits)})" if std else "")
