"""The page of two comparisons side by side."""

from ..words import number, percent
from .answers import card
from .blocks import (
    interval,
    number_cell,
    paragraph,
    percent_cell,
    section,
    table,
)


def diff_document(values):
    """The document of :func:`mahalearn.app.comparing.diff.differences`."""
    first, second = _labels(values)
    return {
        "title": f"What has changed from {first} to {second}?",
        "answers": [_best(values), _methods_card(values), _data_card(values)],
        "sections": [_methods(values), _changes(values)],
        "footer": "This page is one file and needs no network.",
    }


def _labels(values):
    """Names of the two runs, numbered if they are equal."""
    first, second = values["labels"]
    return (first, second) if first != second else (f"{first} (first)", f"{second} (second)")


def _verdict(difference):
    """A word for a difference of errors with its interval."""
    if difference is None or difference[1] is None:
        return "not compared"
    _, low, high = difference
    return "better" if high < 0 else "worse" if low > 0 else "no clear change"


def _best(values):
    best = [
        min((row for row in values["methods"] if row["errors"][k]), key=lambda r: r["errors"][k][0])
        for k in (0, 1)
    ]
    errors = [row["errors"][k][0] for k, row in enumerate(best)]
    detail = "; ".join(
        f"{label}: {row['title']}, {percent(error)}"
        for label, row, error in zip(_labels(values), best, errors)
    )
    answer = f"{percent(errors[0])} → {percent(errors[1])}"
    state = "good" if errors[1] < errors[0] else "fair" if errors[1] > errors[0] else ""
    if not values["paired"]:
        state = ""
        detail += ". The data or the folds differ, so the methods are not compared"
    return card("Error of the best method", answer, f"{detail}.", "methods", state)


def _methods_card(values):
    verdicts = [_verdict(row["difference"]) for row in values["methods"] if row["difference"]]
    if not values["paired"]:
        words = "The folds differ, so errors are shown without a test."
        return card("Which methods changed?", "Not tested", words, "methods")
    better, worse = verdicts.count("better"), verdicts.count("worse")
    answer = f"{better} better, {worse} worse"
    words = f"Of {len(verdicts)} methods in both runs, by paired 95 % intervals on the same folds."
    return card("Which methods changed?", answer, words, "methods")


def _data_card(values):
    facts = [row["fact"] for row in values["changes"]]
    answer = f"{len(facts)} differences" if len(facts) != 1 else "1 difference"
    words = f"{', '.join(facts)}." if facts else "The data and the plan are described alike."
    return card("Did data or plan change?", answer if facts else "No", words, "changes")


def _methods(values):
    first, second = _labels(values)
    rows = []
    for row in values["methods"]:
        difference = row["difference"]
        gap = number_cell(None)
        if difference:
            gap = number_cell(difference[0], number(100 * difference[0]))
            if difference[1] is not None:
                gap["detail"] = interval(difference[1:])
        verdict = _verdict(difference)
        state = {"better": "agree", "worse": "differ"}.get(verdict, "")
        cells = [
            *(percent_cell(error[0] if error else None) for error in row["errors"]),
            gap,
            {"text": verdict, "state": state or "words"},
            *(number_cell(s, None if s is None else f"{s:.2f}") for s in row["seconds"]),
        ]
        mark = "ours" if row["ours"] else "reference"
        rows.append({"label": row["title"], "mark": mark, "cells": cells})
    columns = [
        f"error, {first}",
        f"error, {second}",
        "difference (percentage points)",
        {"text": "verdict", "state": "words"},
        f"seconds to fit, {first}",
        f"seconds to fit, {second}",
    ]
    kind = "balanced error" if values["by"] == "balanced" else "error"
    words = (
        f"Differences of the {kind}, the second run less the first, fold by fold with the 95 % "
        "interval of the corrected resampled t-test."
        if values["paired"]
        else "The objects or the folds are not the same in both runs, so the errors are not paired "
        "and differences have no interval."
    )
    board = table("Errors of both runs", "method", columns, rows)
    return section("methods", "Methods", board, paragraph(words))


def _changes(values):
    rows = [{"label": row["fact"], "cells": row["values"]} for row in values["changes"]]
    if not rows:
        return section("changes", "Data and plan", paragraph("No difference."))
    block = {
        "kind": "table",
        "caption": "Facts that differ",
        "corner": "fact",
        "prose": True,
        "columns": list(_labels(values)),
        "rows": rows,
    }
    return section("changes", "Data and plan", block)
