"""The page of `mahalearn novelty`: values → a document."""

from ..words import counted
from .blocks import words_cell


def document(values):
    """The page of the new rows that are unlike the training rows.

    Parameters
    ----------
    values : dict
        Plain values: train, new (names of files), n_train, n_new, n_flagged, level, fdr, guarantee,
        classes, notes, most_novel (rows of the table with ``columns`` and ``background``).

    Returns
    -------
    dict
        A document for :mod:`mahalearn.app.report.html`.
    """
    several = len(values["classes"]) > 1
    rule = (
        f"a p-value of at most {values['level']:g}"
        if values["fdr"] is None
        else f"an expected share of false alarms of at most {values['fdr']:g}"
    )
    lead = (
        f"{values['n_flagged']} of {counted(values['n_new'], 'new row')} "
        f"{'is' if values['n_flagged'] == 1 else 'are'} flagged as novel, by {rule}."
    )
    facts = [
        ("training rows", f"{values['n_train']} ({values['train']})"),
        ("new rows", f"{values['n_new']} ({values['new']})"),
        ("classes", ", ".join(values["classes"][:12]) if several else "one"),
    ]
    columns = ["p-value", "squared distance", "distance to all rows"]
    columns += [words_cell("nearest class")] if several else []
    table = {
        "kind": "table",
        "caption": "The most novel rows",
        "corner": "row",
        "sortable": True,
        "columns": [*columns, words_cell("unusual columns")],
        "rows": [_row(row, several) for row in values["most_novel"]],
    }
    words = (
        "The p-value says how unusual it is for a row like the training rows to be as far from "
        "every class. Percentages are shares of a column in the squared distance to the nearest "
        "class. A large distance to all rows together means: unlike everything seen. A small one, "
        "with a small p-value, means: between the classes."
    )
    promise = {
        "kind": "details",
        "summary": "What the p-values promise",
        "items": [{"kind": "text", "text": f"{values['guarantee'].capitalize()}."}],
    }
    blocks = [{"kind": "text", "text": words}, table, promise]
    return {
        "title": f"Which rows of {values['new']} are novel?",
        "lead": [lead],
        "facts": facts,
        "notices": values["notes"],
        "sections": [{"id": "novel", "title": "The most novel rows", "blocks": blocks}],
        "footer": "This page is one file and needs no network.",
    }


def _row(row, several):
    numbers = [row["p none"], row["d2"], row["background"]]
    cells = [{"text": f"{value:.3g}", "value": value} for value in numbers]
    cells += [words_cell(row["nearest class"])] if several else []
    cells.append(words_cell(row["columns"]))
    return {
        "label": str(row["row"]),
        "mark": "ours" if row["novel"] else "reference",
        "cells": cells,
    }
