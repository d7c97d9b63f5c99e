"""Sections on where the best method fails, and why."""

from functools import partial

from ..words import counted, number, percent, signed
from .answers import confusions, learning_verdict
from .blocks import (
    confusion_table,
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

# Classes that a table of the confusion matrix shows; of more the worst pairs are listed alone.
MOST_CLASSES = 20
MOST_CONFUSIONS = 20
MOST_IMPORTANCES = 12
WHY = (
    " In brackets: by how much the log-probability of the predicted class falls when the value is "
    "replaced by the typical one (the median, or the most frequent category), in a model of the "
    "first repetition that was fitted without the object."
)
# Level at which predict flags an object.
LEVEL = 0.05


def map_section(values):
    """All objects in two dimensions, beside the confusion matrix."""
    points, classes = values["map"], values["classes"]
    right = []
    if len(classes) <= MOST_CLASSES:
        words = "Percent of the true class, and number of predictions for held-out objects."
        right = [confusion_table(values), paragraph(words)]
    if len(classes) > 6:
        right.append(_worst_pairs(values))
    shown, n = len(points["names"]), points["objects"]
    matrix = values["problem"]["kind"] != "vectors"
    sample = f" A random sample of {shown} of {n} objects." if shown < n else ""
    figure = {
        "kind": "map",
        "id": "object-map",
        "title": "Map of the objects",
        "classes": classes,
        **{key: points[key] for key in ("names", "x", "y", "class")},
        "wrong": [
            any(p != c for p in predicted)
            for predicted, c in zip(points["predictions"], points["class"])
        ],
        "unusual": [p <= LEVEL for p in points["p_none"]],
        "words": (
            "Distances between the objects "
            + ("as they were compared" if matrix else "(Mahalanobis, within the classes)")
            + f", drawn in two dimensions: {percent(points['share'], 0)} of the squared distances "
            "are shown. Thick outlines: misclassified when held out. Circles: unusual, far from "
            f"all classes (p ≤ {percent(LEVEL, 0)}).{sample}"
        ),
    }
    return section("map", "Where it fails", side_by_side(figure, right) if right else figure)


def _worst_pairs(values):
    classes, counts = values["classes"], values["confusion"]
    rows = [
        {
            "label": classes[i],
            "cells": [
                {**words_cell(classes[j]), "pair": f"{i},{j}"},
                number_cell(n),
                percent_cell(n / (sum(counts[i]) or 1)),
            ],
        }
        for n, i, j in confusions(values)[:MOST_CONFUSIONS]
    ]
    columns = [words_cell("predicted as"), "predictions", "share of the class"]
    return table("Most frequent confusions", "true class", columns, rows) if rows else None


def importance_section(values):
    """The columns that matter, and the hardest objects."""
    importance, hardest = values.get("importance"), _hardest(values)
    if not importance and not values["hardest"]["rows"]:
        return None
    if not importance:
        half = values["problem"]["kind"] == "proximity"  # texts and reasons need the width
        return section("hardest", "Hardest objects", *hardest, half=half)
    rows, by = importance["rows"], error_name(values)
    text = (
        f"Rise of the {by} of {values['winner']['title']} when the values of one column are "
        f"shuffled among the held-out objects ({importance['shuffles']} shuffles in "
        f"{importance['folds']} folds; 95 % intervals). Columns that carry the same information "
        "can replace each other, so each of them may look unimportant."
    )
    if len(rows) < importance["columns"]:
        text += (
            f" Of {importance['columns']} columns, the {len(rows)} that separate the classes most "
            "on their own were examined."
        )
    if all(row["increase"][1] <= 0 for row in rows):
        text += " No column has an interval that is entirely above 0."
    scale = max(row["increase"][2] for row in rows) or 1.0
    lines = [_importance_row(row, scale) for row in rows]
    caption = "Permutation importance (percentage points)"
    importances = partial(table, caption, "column", ["rise (95 % interval)"])
    left = first_rows(importances, lines, MOST_IMPORTANCES, "columns")
    return section(
        "importance",
        "What drives the decision, and hard cases",
        side_by_side([*left, paragraph(text)], [{"kind": "anchor", "id": "hardest"}, *hardest]),
        short="Columns and hard cases",
    )


def _importance_row(row, scale):
    mean, low, high = row["increase"]
    words = f"{number(100 * mean, 2)}, 95 % interval {interval((low, high))}"
    places = {"mean": mean, "low": low, "high": high}
    bar = {key: min(1.0, max(0.0, value / scale)) for key, value in places.items()}
    cell = number_cell(mean, number(100 * mean, 2))
    cell |= {"detail": interval((low, high)), "state": "line agree" if low > 0 else "line"}
    return {"label": row["name"], "cells": [{**cell, "bar": {**bar, "ours": True, "words": words}}]}


def _hardest(values):
    hardest = values["hardest"]
    if not hardest["rows"]:
        return [paragraph("No object was misclassified.")]
    texts = any(row["text"] for row in hardest["rows"])
    reasons = any(row["reasons"] for row in hardest["rows"])
    again = any(row["times"] > 1 for row in hardest["rows"])
    rows = []
    for row in hardest["rows"]:
        far, times = percent_cell(row["others_as_far"], 0), f"{row['wrong']} of {row['times']}"
        cells = [
            *([words_cell(row["text"] or "")] if texts else []),
            words_cell(row["class"]),
            words_cell(row["taken_for"]),
            *([number_cell(row["wrong"] / row["times"], times)] if again else []),
            percent_cell(row["own_probability"]),
            {**far, "state": "differ" if row["others_as_far"] <= LEVEL else ""},
            *([words_cell(_why(row["reasons"]))] if reasons else []),
        ]
        rows.append({"label": row["name"], "cells": cells})
    n = hardest["wrong_objects"]
    columns = [
        *([words_cell("text")] if texts else []),
        words_cell("class"),
        words_cell("predicted as"),
        *(["times misclassified"] if again else []),
        "probability of its class",
        "objects of its class as far away",
        *(
            [words_cell("columns that speak most for (+) or against (−) the prediction")]
            if reasons
            else []
        ),
    ]
    return [
        table("Objects with the most confident errors", "object", columns, rows),
        paragraph(
            f"{n} of {values['problem']['n']} objects {'was' if n == 1 else 'were'} misclassified "
            "at least once; these are the most confident errors. Check them: wrong labels and "
            "unusual objects are often among them. As far away: the share of the other objects of "
            "the same class that are at least as far from it; 5 % or less is highlighted."
            + WHY
            * reasons
        ),
    ]


def _why(reasons):
    """Columns with their values and changes, as text."""
    return ", ".join(f"{column} = {v} ({signed(change)})" for column, v, change in reasons)


def distances_section(values):
    """Distances of the objects to the classes, held-out."""
    pairs = values["pairs"]
    winner, who = values["winner"], values["distance_title"]
    foreign = values["about"].get("distances") != winner["name"]
    text = (
        f"Mahalanobis distances by {who}. Each object is measured by a model that was fitted "
        "without it."
    )
    if foreign:
        text = (
            f"{winner['title']} provides no distances to the classes. Distances on this page and "
            f"the outliers of predict are those of {who}, fitted to the same objects. Each object "
            "is measured by a model that was fitted without it."
        )
    if len(pairs) > 1:
        text += " The pairs of classes that are confused most often:"
    figures = [_pair(i, pair) for i, pair in enumerate(pairs, 1)]
    return section(
        "distances",
        "Distances to the classes",
        paragraph(text),
        side_by_side(*figures),
        short="Distances",
        half=len(pairs) == 1,
    )


def _pair(i, pair):
    a, b = pair["classes"]
    left, objects = pair["left_out"], pair.get("objects")
    words = "Each point is an object; on the grey line both classes are equally far. "
    if objects and objects > len(pair["points"]) + left:
        words += f"A random sample of {len(pair['points']) + left} of {objects} objects is drawn. "
    if left:
        are = "is" if left == 1 else "are"
        words += f"{counted(left, 'object')} {are} too far away to be drawn. "
    if any(limit is not None for limit in pair.get("limits", ())):
        words += "Dashed lines: 95 % of the new objects of a class are expected within (Coomans "
        words += "plot with conformal limits). "
    words += "Logarithmic axes." if pair.get("log") else ""
    return {
        "kind": "space",
        "id": f"pair-{i}",
        "title": f"Distances to {a[:22]} and {b[:22]}",
        **pair,
        "words": words.strip(),
    }


def learning_section(values):
    """The learning curve; None without one."""
    learning = values.get("learning")
    if not learning:
        return None
    answer, change = learning_verdict(values)
    name, sizes = values["winner"]["title"], learning["sizes"]
    mean, low, high = zip(*learning["errors"])
    return section(
        "learning",
        "Would more data help?",
        side_by_side(
            {
                "kind": "curves",
                "band": True,
                "percent": "y",
                "xlim": (0, 1.04 * sizes[-1]),
                "ylim": (0, 1.06 * max(high)),
                "id": "learning-curve",
                "title": "Learning curve",
                "xlabel": "training objects",
                "ylabel": error_name(values),
                "series": [{"name": name, "x": sizes, "y": mean, "low": low, "high": high}],
            },
            [
                paragraph(f"{answer}. {change}"),
                paragraph(
                    f"{values['winner']['title']} with the parameters that were selected on all "
                    "objects, fitted on stratified parts of the training data and tested on "
                    "held-out objects; band: 95 % interval."
                ),
            ],
        ),
        short="More data?",
        half=True,
    )
