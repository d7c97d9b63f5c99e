"""The document of the papers' experiments: tables, statements, figures, errata, missing data."""

from ..app.words import number
from . import page_figures  # noqa: F401 (it tells the page how its figures are drawn)
from .agreement import Count, compare
from .page_blocks import chance_block, remarks, scatter_blocks, table_block

RULE = (
    "A cell agrees if |ours − published| ≤ 2·√(s²/R + s'²/R') + slack, with the standard "
    "deviations s and the numbers of repetitions R of both sides. The slack is the smaller of "
    "one point and a tenth of the published error. For measured values (spectra, weights) it is "
    "0.01 of a share, one eigenvalue, or 0.1 of a weight, and the spread, which the paper does "
    "not print, is assumed to be equal to ours."
)
CHANCE = (
    "Every count has its chance rate: the share of its cells that would agree with the published "
    "number of another method in the same column (for measured values: of another data set). A "
    "count near its chance rate says little. Calibration cells, "
    "whose published numbers led to a convention that the papers do not print, are marked ° and "
    "counted separately."
)
CONCLUSIONS = (
    "Conclusions of the paper, judged by paired t tests over our repetitions: confirmed if "
    "every part is significant at 2.5 %, contradicted if the opposite of some part is significant "
    "(with Bonferroni's factor), undecided otherwise. Methods count as comparable if two one-sided "
    "tests put their difference within the slack of the rule of agreement; statements about "
    "most sets are judged by a sign test over the sets. The population is all repetitions of "
    "the protocol on these data sets, not other data."
)
SCATTER = (
    "Every cell, ours against published. The bar of a cell is its tolerance: a cell agrees "
    "where its bar crosses the diagonal. Diamonds are calibration cells. In grey, for comparison: "
    "ours against the published number of another method, the next one in the column."
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
        A document for :mod:`mahalearn.app.report.html` and :mod:`mahalearn.papers.markdown`.
    """
    tables = [table for table in context["tables"] if not table["figure"]]
    compared = {table["id"]: compare(rows, table) for table in tables}
    result = summary(compared.values(), statements)
    sections = [_overview(tables, compared, result)]
    for paper, title in context["papers"].items():
        claims = statements.get(paper, [])
        sections.append(
            {
                "id": f"paper-{paper}",
                "short": f"Paper {paper}",
                "title": f"Paper {paper}: {title}",
                "blocks": [
                    *_scatters(paper, tables, compared),
                    {"kind": "text", "text": CONCLUSIONS},
                    {"kind": "statements", "items": claims},
                    {"kind": "text", "text": "Errata of the paper, found by rebuilding it:"},
                    {"kind": "list", "items": context["errata"].get(paper, [])},
                ],
            }
        )
        for table in context["tables"]:
            if table["paper"] == paper:
                sections.append(_section(rows, table, compared, context["sources"]))
    sections += [_runs(rows, context["tables"]), _missing(compared)]
    lead = [
        "Every table and figure of the four papers, computed by mahalearn, beside the published "
        "numbers. Errors are in percent, with standard deviations in parentheses; ours stand "
        "first, the published ones second.",
        RULE,
        CHANCE,
    ]
    if made_by:
        lead.append(made_by)
    return {
        "title": "The papers' experiments, rebuilt",
        "lead": lead,
        "summary": result,
        "sections": sections,
        "footer": _footer(rows),
    }


def summary(compared, statements):
    """The result in two sentences: cells that agree, with chance rates, and verdicts."""
    test = sum((one.test for one in compared), Count(0, 0))
    calibration = sum((one.calibration for one in compared), Count(0, 0))
    verdicts = [item["verdict"] for items in statements.values() for item in items]
    counted = ", ".join(
        f"{verdicts.count(verdict)} are {name}"
        for verdict, name in (
            ("confirmed", "confirmed"),
            ("contradicted", "contradicted"),
            ("undecided", "undecided"),
            (None, "not measured"),
        )
        if verdict in verdicts
    )
    return (
        f"Test cells that agree: {test}. Calibration cells: {calibration}.",
        f"Of the papers' {len(verdicts)} conclusions {counted}.",
    )


def _overview(tables, compared, result):
    rows = [
        {
            "label": table["id"],
            "cells": [
                table["title"],
                str(compared[table["id"]].test),
                str(compared[table["id"]].calibration),
                remarks(compared[table["id"]]),
            ],
        }
        for table in tables
    ]
    return {
        "id": "overview",
        "title": "Overview",
        "blocks": [
            *({"kind": "text", "text": sentence} for sentence in result),
            {
                "kind": "table",
                "prose": True,
                "caption": "",
                "corner": "",
                "columns": ["table", "test cells", "calibration cells", "remarks"],
                "rows": rows,
            },
            KEY,
            *chance_block(tables, compared),
        ],
    }


def _scatters(paper, tables, compared):
    """Ours against published for all cells of a paper."""
    blocks = scatter_blocks(paper, [table for table in tables if table["paper"] == paper], compared)
    return [{"kind": "text", "text": SCATTER}, *blocks] if blocks else []


def _section(rows, table, compared, sources):
    if table["figure"]:
        blocks = _FIGURES[table["figure"]](rows, table)
    else:
        blocks = [table_block(table, compared[table["id"]]), *_origins(table, compared, sources)]
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
    """Choices that the paper leaves open, and the cells that led to them."""
    items = []
    for convention in table["conventions"]:
        cells = sorted(f"{line} on {column}" for column, line in convention.cells)
        listed = ", ".join(cells) if len(cells) <= MOST_LISTED else f"{len(cells)} cells"
        items.append(convention.text + (f" Calibration (marked °): {listed}." if cells else ""))
    if not items:
        return []
    return [{"kind": "text", "text": "Conventions:"}, {"kind": "list", "items": items}]


def _origins(table, compared, sources):
    """Which columns are not the paper's own data, and what they are."""
    items = []
    for column in table["columns"]:
        source = sources.get((table["id"], column))
        measured = any(compared[table["id"]].cells[column, m].ours for m in table["lines"])
        if source and measured and source["status"] != "original":
            items.append(f"{column} ({source['status']}): {source['description']}")
    return [{"kind": "list", "items": items}] if items else []


def _curves(rows, table):
    """Means over the repetitions, a chart for each figure."""
    blocks = []
    for name in table["columns"]:
        drawn = [r for r in rows if (r.experiment, r.dataset) == (table["id"], name)]
        drawn = [r for r in drawn if "curves" in r.values]
        if not drawn:
            continue
        values = drawn[0].values
        missing = values["axis"] == "n_features"
        n = values["noisy"]
        what = "missing features" if missing else f"{n} noisy feature{'s' * (n != 1)}"
        blocks.append(
            {
                "kind": "curves",
                "title": f"{table['paper']}, {name}: {what} ({len(drawn)} repetitions)",
                "xlabel": "missing features" if missing else "noise level (variance)",
                "ylabel": "accuracy (%)",
                "x": values["x"],
                "xticks": None if missing else [0, 1, 10, 100, 500],
                "log": not missing,
                "series": [
                    {"name": key, "y": _mean_curve([r.values["curves"][key] for r in drawn])}
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


def _runs(rows, tables):
    """Cells, commits and processor time of every table and figure."""
    lines = []
    for table in tables:
        measured = [r for r in rows if r.experiment == table["id"] and r.seconds]
        commits = sorted({r.versions.get("commit", "unknown") for r in measured})
        minutes = sum(r.seconds for r in measured) / 60
        cells = [f"{len(measured)} of {table['planned']}", ", ".join(commits), number(minutes, 1)]
        lines.append({"label": table["id"], "cells": cells})
    return {
        "id": "runs",
        "short": "Runs",
        "title": "Runs",
        "blocks": [
            {
                "kind": "table",
                "prose": True,
                "caption": "Cells that were measured, of those of the papers' protocol (lost data "
                "sets included).",
                "corner": "",
                "columns": ["cells", "commit", "processor time (min)"],
                "rows": lines,
            }
        ],
    }


def _missing(compared):
    reasons = {}
    for name, one in compared.items():
        reasons |= {f"{name}, {dataset}": reason for dataset, reason in one.missing.items()}
    blocks = [{"kind": "text", "text": "All requested data sets were available."}]
    if reasons:
        text = "These sets were not available; the run continued without them."
        items = [f"{name}: {reason}" for name, reason in reasons.items()]
        blocks = [{"kind": "text", "text": text}, {"kind": "list", "items": items}]
    return {"id": "missing", "short": "Missing data", "title": "Missing data", "blocks": blocks}


def _footer(rows):
    if not rows:
        return "No rows."
    versions = sorted({", ".join(f"{k} {v}" for k, v in r.versions.items()) for r in rows} - {""})
    hours = sum(row.seconds for row in rows) / 3600
    return f"{len(rows)} rows, {hours:.1f} hours of computing on one core; {'; '.join(versions)}."
