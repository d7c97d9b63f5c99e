"""The page of `mahalearn novelty`: values → a document."""

from collections import Counter

from ..words import counted
from .answers import card
from .blocks import paragraph, section, table, words_cell

MOST_NAMED = 3


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
    facts = [
        ("training rows", f"{values['n_train']} ({values['train']})"),
        ("new rows", f"{values['n_new']} ({values['new']})"),
        ("classes", ", ".join(values["classes"][:12]) if several else "one"),
    ]
    columns = ["p-value", "squared distance"]
    columns += ["distance to all rows", words_cell("nearest class")] if several else []
    columns.append(words_cell("unusual columns"))
    rows = [_row(row, several) for row in values["most_novel"]]
    words = (
        "The p-value says how unusual it is for a row like the training rows to be as far from "
        "every class. Percentages say how much a column adds to the squared distance to the "
        "nearest class; other columns may lower it, so they can be more than 100 % together."
    )
    if several:
        words += (
            " A row with a large distance to all rows together is far from all training rows. A "
            "row with a small one, and a small p-value, lies between the classes."
        )
    key = {"kind": "key", "states": [("ours", "flagged"), ("reference", "not flagged")]}
    promise = {
        "kind": "details",
        "summary": "What the p-values guarantee",
        "items": [paragraph(f"{values['guarantee'].capitalize()}.")],
    }
    title = "The most novel rows"
    most_novel = table(None, "row", columns, rows)
    return {
        "title": f"Which rows of {values['new']} are novel?",
        "answers": list(_cards(values, rule)),
        "facts": facts,
        "notices": values["notes"],
        "sections": [section("novel", title, paragraph(words), most_novel, key, promise)],
        "footer": "This page is one file and needs no network.",
    }


def _cards(values, rule):
    """The questions of the first screen."""
    n, flagged = values["n_new"], values["n_flagged"]
    detail = (
        f"{flagged} of {counted(n, 'new row')} {'is' if flagged == 1 else 'are'} flagged, by "
        f"{rule}."
    )
    few = flagged <= values["level"] * n
    if values["fdr"] is None:
        detail += f" Of rows like the training rows about {values['level'] * n:.2g} would be."
    answer, state = (str(flagged), "good" if few else "fair") if flagged else ("None", "good")
    yield card("How many rows are unlike the training rows?", answer, detail, "novel", state)
    first = Counter(row["first"] for row in values["most_novel"] if row["novel"])
    if first:
        named = first.most_common(MOST_NAMED)
        counts = "; ".join(f"{name} {times}" for name, times in named)
        detail = f"Listed rows in which the column has the largest share of the distance: {counts}."
        names = ", ".join(name for name, _ in named)
        yield card("Which columns make them unusual?", names, detail, "novel")


def _row(row, several):
    numbers = [row["p none"], row["d2"], *([row["background"]] if several else [])]
    cells = [{"text": f"{value:.3g}", "value": value} for value in numbers]
    cells += [words_cell(row["nearest class"])] if several else []
    cells.append(words_cell(row["columns"]))
    return {
        "label": str(row["row"]),
        "mark": "ours" if row["novel"] else "reference",
        "cells": cells,
    }
