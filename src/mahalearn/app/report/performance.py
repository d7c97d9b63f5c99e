"""Sections on how well the methods do: leaderboard, classes, curves, calibration."""

import math
from functools import partial

from ..words import number, percent
from .blocks import (
    area_cell,
    error_name,
    first_rows,
    interval,
    number_cell,
    paragraph,
    percent_cell,
    section,
    side_by_side,
    table,
    words_cell,
)

# Rows of the leaderboard that are shown at once.
FIRST_ROWS = 5
# Curves whose areas are all larger lie in the corner and say nothing that the table does not say.
CORNER = 0.98


def leaderboard_section(values):
    """The methods by their errors, the first ones at once."""
    board = values["leaderboard"]
    scale = max(min(2.2 * row["error"][0] + 0.01, row["error"][2]) for row in board) or 1.0
    rows = [_method_row(i, row, scale) for i, row in enumerate(board)]
    columns = [
        "error (95 % interval)",
        "difference from the best (percentage points)",
        "balanced error",
        "seconds to fit",
        "milliseconds to predict 1000",
        words_cell("most frequently selected parameters"),
    ]
    methods = partial(table, "Errors on held-out objects", "method", columns)
    return section(
        "leaderboard",
        "Leaderboard",
        *first_rows(methods, rows, FIRST_ROWS, "methods"),
        {
            "kind": "key",
            "states": [
                ("agree", "statistically tied with the best"),
                ("ours", "mahalearn"),
                ("reference", "reference method"),
            ],
        },
        {
            "kind": "details",
            "summary": "How the errors were measured",
            "items": [paragraph(_how_measured(values))],
        },
    )


def _method_row(i, row, scale):
    mean, low, high = row["error"]
    words = f"{percent(mean)}, 95 % interval {percent(low)} to {percent(high)}"
    bar = {"mean": mean / scale, "low": low / scale, "high": min(1.0, high / scale)}
    gap = number_cell(row["difference"][0], number(100 * row["difference"][0]) if i else "best")
    if i:
        gap["detail"] = interval(row["difference"][1:])
    if row["tied"]:
        gap["state"] = "agree"
    milliseconds = row["predict_ms"]
    return {
        "label": row["title"],
        "mark": "ours" if row["ours"] else "reference",
        "rank": i + 1,
        "cells": [
            {
                "text": percent(mean),
                "value": mean,
                "detail": interval((low, high)),
                "bar": {**bar, "ours": row["ours"], "words": words},
                "state": "" if i else "best",
            },
            gap,
            percent_cell(row["balanced"][0]),
            number_cell(row["fit_seconds"], f"{row['fit_seconds']:.2f}"),
            number_cell(milliseconds, _milliseconds(milliseconds)),
            words_cell(row["params"]),
        ],
    }


def _milliseconds(value):
    """A time in words: one decimal where it is short."""
    return None if value is None else number(value, 0 if value >= 10 else 1)


def _how_measured(values):
    return (
        "The balanced error is the mean of the error rates of the classes. Intervals are those of "
        "the corrected resampled t-test (Nadeau and Bengio, 2003), which takes into account that "
        "the folds share training objects. The difference from the best is the paired difference "
        f"of the {error_name(values)}, with its 95 % interval; a method is tied with the best if "
        "this interval contains 0. The best method is selected on the same folds, so its own error "
        "is slightly optimistic. The time to predict was measured on 1000 rows in one fold."
    )


def everything_section(values):
    """Finalists on all rows of a large table; None of others."""
    everything = values.get("everything")
    if not everything:
        return None
    rows = []
    for i, row in enumerate(everything["finalists"]):
        mean, low, high = row["error"]
        error = {"text": percent(mean, 2), "value": mean, "state": "" if i else "best"}
        error["detail"] = interval((low, high), 2)
        cells = [number_cell(row[k]) for k in ("fitted_rows", "tested")]
        seconds = number_cell(row["seconds"], f"{row['seconds']:.0f}")
        rows.append({"label": row["title"], "cells": [*cells, error, seconds]})
    return section(
        "everything",
        "On all rows",
        paragraph(
            f"The table has {everything['rows']} rows. The leaderboard and all other sections are "
            f"based on a stratified sample of {everything['sample']} rows. The best methods that "
            "can be fitted in passes over all rows were fitted on all rows but the test rows, "
            "with the parameters chosen on the sample; the first one below is the saved model."
        ),
        table(
            "Errors on test rows that no model was fitted on",
            "method",
            ["fitted on rows", "test rows", "error (95 % interval)", "seconds to fit"],
            rows,
        ),
    )


def classes_section(values):
    """Results by class, and curves where they show something."""
    rows = [
        {
            "label": row["name"],
            "cells": [
                number_cell(row["objects"]),
                percent_cell(row["recall"]),
                percent_cell(row["precision"]),
                percent_cell(row["f1"]),
                area_cell(row["auc"]),
                area_cell(row["average_precision"]),
            ],
        }
        for row in values["per_class"]
    ]
    by_class = table(
        f"{values['winner']['title']}: held-out predictions by class",
        "class",
        ["objects", "recall", "precision", "F1", "ROC AUC", "average precision"],
        rows,
        filter=len(rows) > 8,
    )
    words = paragraph(
        "Recall: of the objects of this class, the share that is found. Precision: of the objects "
        "that are predicted as this class, the share that belongs to it. F1 is their harmonic mean."
    )
    roc = _roc(values)
    blocks = [side_by_side([by_class, words], roc)] if roc else [by_class, words]
    return section("classes", "Results by class", *blocks, short="Classes", half=not roc)


def _roc(values):
    """ROC curves, unless they all lie in the corner."""
    curves = values["curves"]
    if not curves or min(one["area"] for one in curves) >= CORNER:
        return None
    n, some = len(values["classes"]), ""
    if 2 < len(curves) < n:
        some = f" The {len(curves)} classes with the smallest areas of {n}."
    return {
        "kind": "curves",
        "plain": True,
        "xlim": (0, 1),
        "ylim": (0, 1),
        "id": "roc",
        "title": "ROC curve (area)",
        "xlabel": "false positive rate",
        "ylabel": "true positive rate",
        "series": [{**one, "text": f"{one['area']:.3f}"} for one in curves],
        "diagonal": (0, 1),
        "words": f"Each class against the others, held-out. The dashed line is guessing.{some}",
    }


def calibration_section(values):
    """How far probabilities can be relied on."""
    calibration = values["calibration"]
    series = [{"name": name, **calibration[name]} for name in ("before", "after")]
    before, after = series
    shares = [v for one in series for b in one["bins"] for v in (b["predicted"], *b["interval"])]
    low = math.floor(10 * min([0.5, *shares]) + 1e-9) / 10
    rows = [
        {
            "label": f"{one['name']} calibration",
            "cells": [f"{one['log_loss']:.3f}", f"{one['brier']:.3f}", percent(one["ece"])],
        }
        for one in series
    ]
    rows.append({"label": "class shares only", "cells": [f"{calibration['guess']:.3f}", "", ""]})
    return section(
        "calibration",
        "Can the probabilities be relied on?",
        side_by_side(
            {
                "kind": "curves",
                "id": "reliability",
                "title": "Calibration of the probabilities",
                "xlabel": "probability of the predicted class",
                "ylabel": "share of correct predictions",
                "percent": "xy",
                "xlim": (low, 1.005),
                "ylim": (low, 1.02),
                "diagonal": (low, 1),
                "series": [{**_bins(after), "colour": 0}, {**_bins(before), "colour": 6}],
                "words": "Each point is a bin of about as many predictions, with the 95 % interval "
                "of its share. Points on the dashed line are calibrated, below it overconfident.",
            },
            [
                paragraph(_calibration_verdict(calibration, before, after)),
                {
                    "kind": "table",
                    "caption": "Quality of the probabilities (smaller is better)",
                    "corner": "probabilities",
                    "columns": ["log loss", "Brier score", "calibration error"],
                    "rows": rows,
                },
                _calibration_details(calibration),
            ],
        ),
        short="Calibration",
        half=True,
    )


def _bins(one):
    """Points of a calibration curve, with their intervals."""
    lows, highs = zip(*(b["interval"] for b in one["bins"]))
    return {
        "name": f"{one['name']} calibration",
        "x": [b["predicted"] for b in one["bins"]],
        "y": [b["right"] for b in one["bins"]],
        "low": lows,
        "high": highs,
        "count": [b["count"] for b in one["bins"]],
    }


def _calibration_verdict(calibration, before, after):
    text = (
        "Calibrated means: of all predictions with a probability of 80 %, 80 % are correct. Here "
        "the two differ by "
        f"{number(100 * after['ece'])} percentage points on average after calibration."
    )
    if after["log_loss"] > before["log_loss"]:
        text += " Here, calibration does not lower the log loss."
    if min(before["log_loss"], after["log_loss"]) > calibration["guess"]:
        text += (
            " These probabilities have a larger log loss than the plain shares of the classes: do "
            "not rely on them."
        )
    return text


def _calibration_details(calibration):
    saved = calibration["saved_temperature"]
    text = (
        f"Scores are divided by a temperature, here {calibration['temperature']:.3g} on average, "
        "which is fitted on the other folds. "
    )
    text += (
        "The saved model gives the probabilities before calibration."
        if saved == 1.0
        else f"The saved model uses a temperature of {saved:.3g}."
    )
    return {"kind": "details", "summary": "How it is calibrated", "items": [paragraph(text)]}
