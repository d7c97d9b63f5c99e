"""The page of a file of predictions: counts, objects to look at, columns that have drifted."""

import numpy as np

from ..words import counted, percent, signed
from .answers import card
from .blocks import (
    confusion_table,
    interval,
    number_cell,
    paragraph,
    percent_cell,
    section,
    side_by_side,
    table,
    words_cell,
)
from .drawing import boxes

# Objects and columns that the page lists.
MOST_OBJECTS, MOST_COLUMNS = 50, 30
# Classes that the first screen names.
MOST_NAMED = 5
# Probability of the predicted class below which a prediction is uncertain.
UNCERTAIN = 0.6


def document(values):
    """The page of the predictions.

    Parameters
    ----------
    values : dict
        What :func:`page_values` gave.

    Returns
    -------
    dict
        A document for :mod:`mahalearn.app.report.html`.
    """
    scores, drift = _scores(values), _drift(values)
    sections = [
        section("classes", "Classes", side_by_side([_classes(values)], scores), half=True),
        _uncertain(values),
        _unlike(values),
        drift,
    ]
    return {
        "title": f"Predictions for {values['data']}",
        "answers": list(_cards(values, drift)),
        "facts": values["facts"],
        "notices": values["notes"],
        "sections": [section for section in sections if section],
        "footer": "This page is one file and needs no network.",
    }


def _cards(values, drift):
    """The questions of the first screen."""
    n, n_flagged = values["n"], values["n_flagged"]
    frequent = sorted((row for row in values["classes"] if row[1]), key=lambda row: -row[1])
    counts = [f"{label} {times}" for label, times, *_ in frequent[:MOST_NAMED]]
    rest = len(frequent) - MOST_NAMED
    more = f" and {counted(rest, 'class', 'classes')} more" if rest > 0 else ""
    detail = f"{counted(n, 'object')}, by {values['model']}."
    yield card("What was predicted?", ", ".join(counts) + more, detail, "classes")
    question = "Are there objects unlike every class?"
    if n_flagged:
        words = "By their p-values they are farther from every class than training objects are."
        yield card(question, f"{n_flagged} of {n}", words, "unlike", "fair")
    else:
        yield card(question, "No", "None looks unlike every class.", "classes", "good")
    if values["sentences"]:
        changed = sum(d["changed"] for d in values["drift"])
        columns = f", {changed} of {counted(len(values['drift']), 'column')}" if changed else ""
        answer = f"Yes{columns}" if changed or values["drifted"] else "No sign"
        link, state = "drift" if drift else "classes", "good" if answer == "No sign" else "fair"
        yield card("Have the data changed?", answer, " ".join(values["sentences"]), link, state)
    if values["scores"]:
        yield _accuracy(values["scores"], values["held_out"])


def _accuracy(scores, held_out):
    """The accuracy, beside that of guessing and of held-out training objects."""
    accuracy, guess = scores["accuracy"], max(map(sum, scores["confusion"])) / scores["n"]
    words = f"Accuracy on {counted(scores['n'], 'object')} of known class. "
    words += f"Always predicting the most frequent class: {percent(guess)}."
    error, low, high = held_out or (0.0, 0.0, 1.0)
    if held_out:
        words += f" On held-out training objects: {percent(1 - error)} "
        words += f"(95 % interval {interval((1 - high, 1 - low))})."
    state = "bad" if accuracy <= guess else "fair" if accuracy < 1 - high else "good"
    return card("How accurate are they?", percent(accuracy), words, "classes", state)


def page_values(rows, proba, about, drifts, X):
    """Plain values of the page that are computed from the rows of predictions.

    Parameters
    ----------
    rows : list of dict
        Rows of the table of predictions.
    proba : ndarray of shape (m, c)
        Probabilities of the classes.
    about : dict
        What the model file says.
    drifts : list of ColumnDrift
        Columns of a table against the training rows, most changed first.
    X : DataFrame or other
        The new objects.

    Returns
    -------
    values : dict
    """
    predicted = np.array([str(row["prediction"]) for row in rows])
    training = about["training"].get("counts", {})
    total = sum(training.values()) or 1
    p_none = next(name for name in rows[0] if name.startswith("p none"))
    flagged = sorted((row[p_none], i) for i, row in enumerate(rows) if row["outlier"])
    certain = proba.max(axis=1)
    doubtful = [i for i in np.argsort(certain) if certain[i] < UNCERTAIN]
    return {
        "n": len(rows),
        "n_flagged": len(flagged),
        "n_uncertain": len(doubtful),
        "classes": [
            (
                label,
                int((predicted == label).sum()),
                float(np.mean(predicted == label)),
                training.get(label, 0) / total,
            )
            for label in about["classes"]
        ],
        "unlike": [
            (str(rows[i]["object"]), predicted[i], p, far_columns(X, i, drifts))
            for p, i in flagged[:MOST_OBJECTS]
        ],
        "uncertain": [
            (str(rows[i]["object"]), predicted[i], float(certain[i]), rows[i]["set"])
            for i in doubtful[:MOST_OBJECTS]
        ],
        "drift": [d._asdict() for d in drifts],
        "held_out": about["training"].get("error"),
    }


def far_columns(X, i, drifts, most=3):
    """The columns in which an object lies farthest from the training rows, as text."""
    cells = ((float(X[drift.name].iloc[i]), drift) for drift in drifts if drift.scale)
    far = sorted(
        (-abs(value - drift.quartiles[0][2]) / drift.scale, drift.name, value, drift.training)
        for value, drift in cells
        if value == value
    )
    return ", ".join(
        f"{name} = {value:g} (training {training})" for _, name, value, training in far[:most]
    )


def _rows(rows):
    """Rows of a table: a label and cells."""
    return [
        {"label": str(label), "cells": [c if isinstance(c, dict) else str(c) for c in cells]}
        for label, *cells in rows
    ]


def _classes(values):
    rows = [
        (label, number_cell(n), percent_cell(share), percent_cell(was))
        for label, n, share, was in values["classes"]
    ]
    columns = ["objects", "share", "share in training"]
    return table("Predicted classes", "class", columns, _rows(rows), filter=len(rows) > 12)


def _unlike(values):
    if not values["unlike"]:
        return None
    text = (
        "These objects are farther from all classes than training objects are, by their p-value of "
        "belonging to none. They may be of a new class, or damaged."
    )
    if values["n_flagged"] > len(values["unlike"]):
        text += f" The first {len(values['unlike'])} of {values['n_flagged']} are listed."
    rows = [(name, label, f"{p:.3g}", far) for name, label, p, far in values["unlike"]]
    columns = ["prediction", "p-value", "columns farthest from the training rows"]
    objects = table(None, "object", columns, _rows(rows), prose=True, filter=len(rows) > 12)
    return section("unlike", "Objects unlike every class", paragraph(text), objects)


def _uncertain(values):
    if not values["uncertain"]:
        return None
    text = (
        f"{counted(values['n_uncertain'], 'prediction')} with a probability below "
        f"{percent(UNCERTAIN, 0)}; the least certain come first."
    )
    rows = [
        (name, label, percent(p), several or "none: it is unlike every class")
        for name, label, p, several in values["uncertain"]
    ]
    columns = ["prediction", "probability", "classes that are possible"]
    objects = table(None, "object", columns, _rows(rows), prose=True)
    return section("uncertain", "Uncertain predictions", paragraph(text), objects, half=True)


def _drift(values):
    if not values["drift"]:
        return None
    text = (
        "Numbers and categories of the new objects against those of the training rows; columns "
        "that changed most come first. Boxes hold the middle half of the rows, lines reach from "
        "the smallest to the largest. A shift is that of the median, in standard deviations of the "
        "training rows."
    )
    rows = [
        (
            d["name"],
            _boxes(d),
            d["training"],
            d["present"],
            percent_cell(d["outside"]),
            "" if d["shift"] is None else number_cell(d["shift"], signed(d["shift"])),
            {"text": "changed", "state": "differ"} if d["changed"] else "no",
        )
        for d in values["drift"][:MOST_COLUMNS]
    ]
    heads = [words_cell("distribution"), "training", "now", "outside", "shift", "clear change"]
    columns = table("Columns", "column", heads, _rows(rows), filter=len(rows) > 12)
    key = {"kind": "key", "states": [("reference", "training rows"), ("ours", "new objects")]}
    return section("drift", "Columns against the training rows", paragraph(text), key, columns)


def _boxes(drift):
    """Box plots of a column in training and now."""
    label = f"{drift['name']}: in training {drift['training']}, now {drift['present']}"
    return {"text": "", "spark": boxes(*drift["quartiles"], label)} if drift["quartiles"] else ""


def _scores(values):
    scores = values["scores"]
    if not scores:
        return None
    text = (
        f"On {counted(scores['n'], 'object')} of known class the accuracy is "
        f"{percent(scores['accuracy'])} (balanced {percent(scores['balanced_accuracy'])})."
    )
    return [confusion_table(scores), paragraph(text)]
