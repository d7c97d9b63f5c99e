"""Sections on the data and the run: columns, novelty, drift, spectrum, how to repeat it."""

from ..words import counted, number, percent
from .blocks import (
    number_cell,
    paragraph,
    percent_cell,
    section,
    side_by_side,
    table,
    words_cell,
)
from .drawing import sparkline

MOST_COLUMNS = 200
MOST_COUNTS = 60
# Share of the spectrum below which negative eigenvalues may come from rounding.
NEGLIGIBLE = 5e-4


def data_section(values):
    """How the file was read, and what was done to it."""
    columns = values["columns"]
    heads = {
        "type": "type",
        "shape": "distribution by class" if _by_class(values) else "distribution",
        "values": "range or most frequent values",
        "missing": "missing",
        "example": "example",
        "use": "use",
    }
    lines = [
        {**row, "use": _use(row), "missing": str(row.get("missing") or ""), "shape": _shape(row)}
        for row in columns
    ]
    filled = [key for key in heads if any(line.get(key) for line in lines)]
    columns_table = table(
        "Columns",
        "column",
        [heads[key] for key in filled],
        [
            {
                "label": str(line["name"]),
                "cells": [line.get(key) or "" for key in filled],
            }
            for line in lines[:MOST_COLUMNS]
        ],
        prose=True,
        filter=len(columns) > 12,
    )
    unlisted = len(columns) - MOST_COLUMNS
    return section(
        "data",
        "How the data were read",
        columns_table if columns else None,
        paragraph(f"{unlisted} more columns are not listed.") if unlisted > 0 else None,
        {"kind": "list", "items": list(_treatment(values))},
        short="Data",
        half=not columns,
    )


def _by_class(values):
    """True if the distributions of few classes are drawn apart."""
    return any(len(line.get("shape") or ()) > 1 for line in values["columns"])


def _shape(row):
    """Histograms of a column, of few classes by class and in the colours of the map."""
    counts = row.get("shape")
    return counts and {"text": "", "spark": sparkline(counts, f"Distribution of {row['name']}")}


def _use(row):
    """The role of a column, and why it was left out."""
    role = row.get("role", "")
    if not row.get("reason"):
        return "" if role == "feature" else role
    return " ".join(filter(None, [f"{role}: it {row['reason']}.", row.get("remedy")]))


def _treatment(values):
    """Sentences on classes, columns and proximities."""
    problem = values["problem"]
    counts = problem["counts"]
    listed = "; ".join(f"{name}: {n}" for name, n in counts[:MOST_COUNTS])
    if len(counts) > MOST_COUNTS:
        listed += f"; and {len(counts) - MOST_COUNTS} more classes"
    yield f"Objects of each class: {listed}."
    if any(line.get("shape") for line in values["columns"]):
        yield (
            "Distributions reach from the 1st to the 99th percentile"
            + ("; the classes have the colours of the map." if _by_class(values) else ".")
        )
    if problem["kind"] == "vectors":
        features = values["about"].get("features") or []
        categories = any(feature.get("levels") for feature in features)
        yield (
            "Numbers were standardised (mean 0, standard deviation 1); missing numbers are "
            "replaced by the median. "
            + "Each category became a column of its own (one-hot). " * categories
            + "All of this was learned from the training part of each split."
        )
    elif problem["kind"] == "proximity":
        yield (
            "Similarities were used as a kernel."
            if problem["proximity"] == "similarity"
            else "Dissimilarities d were turned into the kernel −d²/2, centred; reference methods "
            "received them as they are."
        )
    else:
        yield f"Objects were compared pairwise by the measure {problem['measure']}."


def novelty_section(values):
    """Prediction sets, unusual objects and drift."""
    novelty, drift = values["novelty"], values.get("drift")
    confidence = novelty["confidence"]
    level = 1 - confidence
    text = (
        f"A prediction set holds the true class with a probability of about "
        f"{percent(confidence, 0)}, whatever the distribution of the class (cross-conformal, by "
        f"the margins of {values['winner']['title']}). Here a set holds "
        f"{novelty['mean_size']:.2f} of {counted(len(values['classes']), 'class', 'classes')} on "
        f"average; {percent(novelty['single'], 0)} of the sets name one class alone."
    )
    few = round(1 / level)
    if min(row["objects"] for row in novelty["coverage"]) < few:
        text += (
            f" A class of n objects, fewer than {few}, is held with a probability of about "
            "n/(n + 1)."
        )
    return section(
        "novelty",
        "Prediction sets, unknown objects, drift",
        side_by_side([paragraph(text), _coverage(novelty)], [_unusual(novelty, level)]),
        _drift(drift) if drift else None,
        short="Novelty",
    )


def _coverage(novelty):
    rows = []
    for row in novelty["coverage"]:
        low, high = row["expected"]
        covered = percent_cell(row["covered"])
        covered["detail"] = f"expected {number(100 * low, 0)} to {number(100 * high, 0)}"
        if not low <= row["covered"] <= high:
            covered["state"] = "differ"
        cells = [
            number_cell(row["objects"]),
            covered,
            number_cell(row["size"], f"{row['size']:.2f}"),
            percent_cell(row["accepted"]),
        ]
        rows.append({"label": row["name"], "cells": cells})
    columns = [
        "objects",
        "sets that hold the class",
        "mean size of the sets",
        "accepted from other classes",
    ]
    caption = f"Coverage of {percent(novelty['confidence'], 0)} prediction sets by class"
    return table(caption, "class", columns, rows)


def _unusual(novelty, level):
    rows = [
        {
            "label": row["name"],
            "cells": [
                words_cell(row["class"]),
                words_cell(row["nearest"]),
                number_cell(row["p_value"], f"{row['p_value']:.3g}"),
            ],
        }
        for row in novelty["rows"]
    ]
    if not rows:
        return paragraph("No object of this file is unusually far from all classes.")
    columns = [words_cell("class"), words_cell("nearest class"), "p-value"]
    words = (
        "Objects far from all classes. The p-value asks whether an object belongs to any class at "
        f"all, by its distance to the nearest one; about {percent(level, 0)} of regular objects "
        f"have {level:.2g} or less."
    )
    return {
        "kind": "group",
        "items": [table("Most unusual objects", "object", columns, rows), paragraph(words)],
    }


def _drift(drift):
    tests = len(drift["rows"])
    changed = [row["p_value"] * tests <= 0.05 for row in drift["rows"]]
    words = (
        "Order of the rows: in each class the distances of the second half of the rows to their "
        "class are compared with those of the first half (rank-sum test). "
        + (
            "At least one class has changed in the course of the file."
            if any(changed)
            else "There is no sign of a change in the course of the file."
        )
    )
    rows = [
        {
            "label": row["name"],
            "cells": [
                number_cell(row["objects"]),
                *(number_cell(v, f"{v:.3g}") for v in row["medians"]),
                {
                    **number_cell(row["p_value"], f"{row['p_value']:.3g}"),
                    "state": "differ" if sign else "",
                },
            ],
        }
        for row, sign in zip(drift["rows"], changed)
    ]
    columns = ["objects", "median d², first half", "median d², second half", "p-value"]
    by_class = table("Drift in the order of the rows", "class", columns, rows)
    if not any(changed):
        by_class = {"kind": "details", "summary": "Distances by class", "items": [by_class]}
    return {"kind": "group", "items": [paragraph(words), by_class]}


def spectrum_section(values):
    """Eigenvalues of the kernel; None without one."""
    spectrum = values.get("spectrum")
    if not spectrum:
        return None
    similar = values["problem"]["proximity"] == "similarity"
    kernel = "the centred similarities" if similar else "−d²/2, centred"
    p, q = spectrum["signature"]
    if not q:
        meaning = "There are no negative eigenvalues: the kernel is a proper inner product."
    elif spectrum["negative_fraction"] < NEGLIGIBLE:
        meaning = "The negative part is negligible: it may come from rounding."
    else:
        meaning = (
            "Negative eigenvalues show that no vectors have exactly these (dis)similarities; "
            "mahalearn works with them as they are."
        )
    figure = {
        "kind": "stems",
        "id": "eigenvalues",
        "title": "Eigenvalues of the kernel matrix",
        "xlabel": "number, in descending order",
        "ylabel": "eigenvalue",
        "values": spectrum["values"],
        "positions": spectrum["positions"],
        "legend": [f"{p} positive", f"{q} negative"] if p else [f"{q} negative"],
    }
    text = paragraph(
        f"Eigenvalues of {kernel}: {p} positive and {q} negative; "
        f"{percent(spectrum['negative_fraction'])} of the sum of their absolute values is "
        f"negative. {meaning}"
    )
    return section("spectrum", "Spectrum of the kernel", figure, text, short="Spectrum", half=True)


def repeat_section(values):
    """The command, seeds and versions."""
    about, plan = values["about"], values["plan"]
    versions = ", ".join(f"{name} {v}" for name, v in about.get("versions", {}).items())
    chosen = ", ".join(f"{k} = {v}" for k, v in values["chosen"].items())
    items = [
        f"Seed {plan['seed']}; {plan['inner_folds']} folds within each training part for the "
        "choice of parameters (for the saved model: up to 5 folds of all objects).",
        f"Saved model: {values['winner']['title']}" + (f" ({chosen})." if chosen else "."),
        f"Versions: {versions}.",
        "mahalearn report DIR renders this page again from comparison.json; it needs neither the "
        "data nor the model.",
    ]
    return section(
        "repeat",
        "How to repeat it",
        {"kind": "code", "text": about["command"]} if about.get("command") else None,
        {"kind": "list", "items": items},
        short="Repeat",
        half=True,
    )
