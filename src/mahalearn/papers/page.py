"""The document of the papers' experiments: tables, statements, figures, errata, missing data."""

from .agreement import Count, compare
from .blocks import remarks, scatter_blocks, table_block

RULE = (
    "A cell agrees if |ours − published| ≤ 2·√(s²/R + s'²/R') + 1 point, with the standard "
    "deviations s and the numbers of repetitions R of both sides. For measured values (spectra, "
    "weights) the slack is 0.01 of a share, one eigenvalue, or 0.1 of a weight, and the paper's "
    "unprinted spread is taken to be ours."
)
CONCLUSIONS = (
    "What the paper concludes, judged by our means over the repetitions that stand at the tables. "
    "With few of them a close verdict may turn."
)
SCATTER = (
    "Every cell, ours against published. The bar of a cell is what the rule of agreement allows: a "
    "cell agrees where its bar crosses the diagonal. Diamonds are calibration cells."
)
# Longer lists of cells are counted.
MOST_LISTED = 12
KEY = {
    "kind": "key",
    "states": [
        ("agree", "agrees"),
        ("differ", "differs"),
        ("apart", "stand-in data or another reading: not counted"),
    ],
}


def document(rows, context, statements, made_by=""):
    """The page of a run.

    Parameters
    ----------
    rows : list of Row
        Measured cells.
    context : dict
        papers {letter: title}, tables (see :func:`mahalearn.papers.describe.describe`), errata
        {letter: texts}, sources {(experiment, data set): {"status", "source", "description"}}.
    statements : dict
        Letter -> list of {"text", "verdict", "detail"}.
    made_by : str, default=""
        What made the rows: a sentence.

    Returns
    -------
    dict
        A document for :mod:`mahalearn.app.report.html` and :mod:`mahalearn.app.report.markdown`.
    """
    tables = [table for table in context["tables"] if not table["figure"]]
    found = {table["id"]: compare(rows, table) for table in tables}
    sections = [_overview(tables, found, statements)]
    for paper, title in context["papers"].items():
        claims = statements.get(paper, [])
        sections.append(
            {
                "id": f"paper-{paper}",
                "short": f"Paper {paper}",
                "title": f"Paper {paper}: {title}",
                "blocks": [
                    *_scatters(paper, tables, found),
                    {"kind": "text", "text": CONCLUSIONS},
                    {"kind": "statements", "items": claims},
                    {"kind": "text", "text": "Errata of the paper, found by rebuilding it:"},
                    {"kind": "list", "items": context["errata"].get(paper, [])},
                ],
            }
        )
        for table in context["tables"]:
            if table["paper"] == paper:
                sections.append(_section(rows, table, found, context["sources"]))
    sections.append(_missing(found))
    lead = [
        "Every table and figure of the four papers, computed by mahalearn, beside the published "
        "numbers. Errors are in percent, with standard deviations in parentheses; ours stand "
        "first, the published ones second.",
        RULE,
    ]
    if made_by:
        lead.append(made_by)
    return {
        "title": "The papers' experiments, rebuilt",
        "lead": lead,
        "sections": sections,
        "footer": _footer(rows),
    }


def _overview(tables, found, statements):
    rows = [
        {
            "label": table["id"],
            "cells": [
                table["title"],
                *map(str, _counts([found[table["id"]]])),
                remarks(found[table["id"]]),
            ],
        }
        for table in tables
    ]
    total, tested, calibration = _counts(found.values())
    totals = [*map(str, (total, tested, calibration)), ""]
    rows.append({"label": "all", "cells": ["all tables", *totals], "foot": True})
    judged = [item for items in statements.values() for item in items]
    confirmed = sum(item["verdict"] is True for item in judged)
    refuted = sum(item["verdict"] is False for item in judged)
    texts = (
        f"{total} cells agree in total. The published numbers of {calibration.of} cells led to a "
        f"convention that the papers do not print (marked °; each table says which led to what): "
        f"{calibration.agreeing} of these calibration cells agree, and {tested} of the cells that "
        "test the methods.",
        f"Of the papers' {len(judged)} conclusions, {confirmed} are confirmed, {refuted} are not, "
        f"{len(judged) - confirmed - refuted} are not measured yet.",
    )
    return {
        "id": "overview",
        "title": "Overview",
        "blocks": [
            *({"kind": "text", "text": text} for text in texts),
            {
                "kind": "table",
                "prose": True,
                "caption": "",
                "corner": "",
                "columns": ["table", "in total", "test cells", "calibration cells", "remarks"],
                "rows": rows,
            },
            KEY,
        ],
    }


def _counts(found):
    """Cells that agree: in total, of the test, of the calibration."""
    found = list(found)
    total = sum((one.total for one in found), Count(0, 0))
    calibration = sum((one.calibration for one in found), Count(0, 0))
    return total, total - calibration, calibration


def _scatters(paper, tables, found):
    """Ours against published for all cells of a paper."""
    blocks = scatter_blocks(paper, [table for table in tables if table["paper"] == paper], found)
    return [{"kind": "text", "text": SCATTER}, *blocks] if blocks else []


def _section(rows, table, found, sources):
    if table["figure"]:
        blocks = _FIGURES[table["figure"]](rows, table)
    else:
        blocks = [table_block(table, found[table["id"]]), *_origins(table, found, sources)]
    blocks += _conventions(table)
    blocks += table["extra"]([row for row in rows if row.experiment == table["id"]])
    blocks += [{"kind": "text", "text": note} for note in table["notes"]]
    return {
        "id": table["id"],
        "short": table["id"],
        "title": f"{table['id']}. {table['title']}",
        "blocks": blocks,
    }


def _conventions(table):
    """What the paper leaves open, what was chosen, and which cells led to it."""
    items = []
    for convention in table["conventions"]:
        cells = sorted(f"{line} on {column}" for column, line in convention.cells)
        listed = ", ".join(cells) if len(cells) <= MOST_LISTED else f"{len(cells)} cells"
        items.append(convention.text + (f" Calibration (marked °): {listed}." if cells else ""))
    if not items:
        return []
    return [{"kind": "text", "text": "Conventions:"}, {"kind": "list", "items": items}]


def _origins(table, found, sources):
    """Which columns are not the paper's own data, and what they are."""
    items = []
    for column in table["columns"]:
        source = sources.get((table["id"], column))
        measured = any(found[table["id"]].cells[column, m].ours for m in table["lines"])
        if source and measured and source["status"] != "original":
            items.append(f"{column} ({source['status']}): {source['description']}")
    return [{"kind": "list", "items": items}] if items else []


def _curves(rows, table):
    """Means over the repetitions, a chart for each figure."""
    blocks = []
    for name in table["columns"]:
        mine = [r for r in rows if r.experiment == table["id"] and r.dataset == name]
        mine = [r for r in mine if "curves" in r.values]
        if not mine:
            continue
        values = mine[0].values
        missing = values["axis"] == "n_features"
        n = values["noisy"]
        what = "missing features" if missing else f"{n} noisy feature{'s' * (n != 1)}"
        blocks.append(
            {
                "kind": "curves",
                "title": f"{table['paper']}, {name}: {what} ({len(mine)} repetitions)",
                "xlabel": "missing features" if missing else "noise level (variance)",
                "ylabel": "accuracy (%)",
                "x": values["x"],
                "xticks": None if missing else [0, 1, 10, 100, 500],
                "log": not missing,
                "series": [
                    {"name": key, "y": _mean_curve([r.values["curves"][key] for r in mine])}
                    for key in values["curves"]
                ],
            }
        )
    return blocks or [{"kind": "text", "text": "Not measured yet."}]


def _mean_curve(curves):
    return [sum(column) / len(column) for column in zip(*curves)]


def _maps(rows, table):
    blocks = [
        {"kind": "maps", "title": f"{table['paper']}, {row.dataset}", **row.values}
        for row in rows
        if row.experiment == table["id"] and "panels" in row.values
    ]
    return blocks or [{"kind": "text", "text": "Not measured yet."}]


_FIGURES = {"curves": _curves, "maps": _maps}


def _missing(found):
    reasons = {}
    for name, one in found.items():
        reasons |= {f"{name}, {dataset}": reason for dataset, reason in one.missing.items()}
    blocks = [{"kind": "text", "text": "All data sets that were asked for were there."}]
    if reasons:
        text = "These sets could not be had; the run went on without them."
        items = [f"{name}: {reason}" for name, reason in reasons.items()]
        blocks = [{"kind": "text", "text": text}, {"kind": "list", "items": items}]
    return {"id": "missing", "short": "Missing data", "title": "Missing data", "blocks": blocks}


def _footer(rows):
    if not rows:
        return "No rows."
    versions = sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in rows} - {""})
    hours = sum(row.seconds for row in rows) / 3600
    return f"{len(rows)} rows, {hours:.1f} hours of computing on one core; {'; '.join(versions)}."
