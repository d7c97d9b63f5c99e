"""The document of a comparison on people's own data, from plain values alone.

What :func:`mahalearn.app.comparing.findings.findings` returns is all that is needed; a saved copy
of it can be rendered again without data and models.
"""

from ..words import counted, number, percent

# Classes that a table of the confusion matrix shows; more become a picture and a list.
MOST_CLASSES = 20
MOST_CONFUSIONS = 20
MOST_HISTOGRAMS = 8
MOST_IMPORTANCES = 15
MOST_EXPLAINED = 4
MOST_FEATURES = 200
MOST_COUNTS = 60
# Names of columns that are listed; more are counted alone.
MOST_NAMED = 12
# Errors that differ by less are called the same.
SAME = 5e-4
# Share of the spectrum below which negative eigenvalues may come from rounding.
NEGLIGIBLE = 5e-4


def document(values):
    """The page of a comparison.

    Parameters
    ----------
    values : dict
        Plain values, see :mod:`mahalearn.app.comparing.findings`.

    Returns
    -------
    dict
        A document for :mod:`mahalearn.app.report.html`.
    """
    sections = [
        _leaderboard(values),
        _everything(values),
        _classes(values),
        _confusion(values),
        _curves(values),
        _calibration(values),
        _importance(values),
        _hardest(values),
        _distances(values),
        _learning(values),
        _novelty(values),
        _spectrum(values),
        _data(values),
        _repeat(values),
    ]
    return {
        "title": f"Which classifier for {values['problem']['name']}?",
        "lead": _lead(values),
        "facts": _facts(values),
        "notices": [*values["notes"], *values.get("skipped", ())],
        "sections": [section for section in sections if section],
        "footer": f"mahalearn {values['about'].get('versions', {}).get('mahalearn', '')}. "
        "This page is one file and needs no network.",
    }


def results_table(values):
    """Rows of results.csv: a line for each method."""
    names, rows = ("error", "balanced", "difference"), []
    for rank, row in enumerate(values["leaderboard"], 1):
        out = {"rank": rank, "method": row["name"], "title": row["title"]}
        for name in names:
            label = {"balanced": "balanced_error", "difference": "difference_to_best"}.get(
                name, name
            )
            out |= {
                label: round(row[name][0], 6),
                f"{label}_low": round(row[name][1], 6),
                f"{label}_high": round(row[name][2], 6),
            }
        out |= {
            "tied_with_best": row["tied"],
            "fit_seconds": round(row["fit_seconds"], 4),
            "predict_ms_per_1000": round(row["predict_ms"], 4),
            "folds": values["n_folds"],
            "parameters": row["params"],
        }
        rows.append(out)
    return rows


def _lead(values):
    """The answer: who has the smallest error, and who is as good."""
    winner, board = values["winner"], values["leaderboard"]
    mean, low, high = winner[_error_key(values)]
    family = values["chosen"].get("family")
    which = _article(values) if len(board) == 1 else "the smallest"
    best = (
        f"{winner['title']}{f' ({family})' * bool(family)} has {which} {_error_name(values)} of "
        f"{percent(mean)} on {values['problem']['name']} (95 % interval {percent(low)} to "
        f"{percent(high)})."
    )
    return [" ".join([best, *_rivals(values)])]


def _error_key(values):
    """The error of a row of the leaderboard that decides."""
    return "error" if values["plan"]["by"] == "plain" else "balanced"


def _error_name(values):
    """What the error that decides is called."""
    return "error" if values["plan"]["by"] == "plain" else "balanced error"


def _article(values):
    return "an" if _error_name(values).startswith("e") else "a"


def _rivals(values):
    """One sentence on the methods that are as good, none if the winner is alone."""
    key = _error_key(values)
    winner, *others = values["leaderboard"]
    tied = [row for row in others if row["tied"]]
    same = [row for row in others if abs(row[key][0] - winner[key][0]) < SAME]
    fast = min(same, key=lambda row: row["fit_seconds"], default=winner)
    parts = []
    if tied:
        are = "is" if len(tied) == 1 else "are"
        who = (
            f"The other method {are}"
            if len(others) == 1
            else (
                f"All {len(others)} other methods {are}"
                if len(tied) == len(others)
                else f"{len(tied)} of the {len(others)} other methods {are}"
            )
        )
        parts.append(f"{who} statistically tied with the best")
    elif others:
        parts.append(
            "The other method is significantly worse"
            if len(others) == 1
            else f"All {len(others)} other methods are significantly worse"
        )
    if fast["fit_seconds"] < winner["fit_seconds"] / 2:
        times = winner["fit_seconds"] / max(fast["fit_seconds"], 1e-4)
        parts.append(f"{fast['title']} has the same error and is fitted {times:.0f} times as fast")
    if parts:
        yield "; ".join(parts) + "."


def _facts(values):
    """What was compared on what: pairs of a name and a value."""
    p, plan, board = values["problem"], values["plan"], values["leaderboard"]
    what = {
        "vectors": f"{p['n']} rows with {_features(values)}",
        "proximity": f"a matrix of {p['n']} × {p['n']} {str(p['proximity'])[:-1]}ies",
        "objects": f"{p['n']} objects, compared by {p['measure']}",
    }[p["kind"]]
    classes = counted(len(p["counts"]), "class", "classes")
    if values["about"].get("features") and p["target"]:
        classes += f" (column “{p['target']}”)"
    seconds = values.get("seconds") or 0.0
    return [
        ("Data", what),
        ("Classes", classes),
        ("Methods", f"{len(board)}, each with its own search for parameters"),
        (
            "Validation",
            f"{counted(values['n_folds'], 'train/test split')} ({plan['folds']} stratified folds, "
            f"drawn {counted(plan['repeats'], 'time')}); parameters are chosen on the training "
            "part alone",
        ),
        ("Time", f"{seconds:.0f} s" if seconds >= 1 else "less than a second"),
    ]


def _features(values):
    """How many columns there are, and their names if they are few."""
    names = [str(feature["name"]) for feature in values["about"].get("features") or []]
    count = counted(values["problem"]["d"], "column")
    return f"{count} ({', '.join(names)})" if 0 < len(names) <= MOST_NAMED else count


def _section(name, title, *blocks, short=None):
    section = {"id": name, "title": title, "blocks": [block for block in blocks if block]}
    return {**section, "short": short} if short else section


def _text(text):
    return {"kind": "text", "text": text}


def _leaderboard(values):
    board = values["leaderboard"]
    most = max(min(2.2 * row["error"][0] + 0.01, row["error"][2]) for row in board) or 1.0
    rows = []
    for i, row in enumerate(board):
        mean, low, high = row["error"]
        words = f"{percent(mean)}, 95 % interval {percent(low)} to {percent(high)}"
        d, d_low, d_high = row["difference"]
        gap = {"text": "best" if not i else number(100 * d), "value": d}
        if i:
            gap["detail"] = f"{number(100 * d_low)} to {number(100 * d_high)}"
        if row["tied"]:
            gap["state"] = "agree"
        bar = {"mean": mean / most, "low": low / most, "high": min(1.0, high / most)}
        rows.append(
            {
                "label": row["title"],
                "mark": "ours" if row["ours"] else "reference",
                "rank": i + 1,
                "cells": [
                    {
                        "text": percent(mean),
                        "value": mean,
                        "detail": f"{number(100 * low)} to {number(100 * high)}",
                        "bar": {**bar, "ours": row["ours"], "words": words},
                        "state": "best" if not i else "",
                    },
                    gap,
                    {"text": percent(row["balanced"][0]), "value": row["balanced"][0]},
                    {"text": f"{row['fit_seconds']:.2f}", "value": row["fit_seconds"]},
                    {"text": f"{row['predict_ms']:.0f}", "value": row["predict_ms"]},
                    {"text": row["params"], "state": "words"},
                ],
            }
        )
    by = _error_name(values)
    return _section(
        "leaderboard",
        "Leaderboard",
        {
            "kind": "table",
            "caption": "Errors on held-out objects",
            "corner": "method",
            "sortable": True,
            "filter": len(rows) > 5,
            "columns": [
                "error (95 % interval)",
                "difference from the best (percentage points)",
                "balanced error",
                "seconds to fit",
                "milliseconds to predict 1000",
                {"text": "most frequently selected parameters", "state": "words"},
            ],
            "rows": rows,
        },
        {"kind": "key", "states": [("agree", "statistically tied with the best")]},
        _text(
            "Methods of mahalearn in blue, reference methods in grey. The balanced error is the "
            "mean of the error rates of the classes. Intervals are those of the corrected "
            "resampled t-test (Nadeau and Bengio, 2003), which takes into account that the folds "
            f"share training objects. The difference from the best is the paired difference of the "
            f"{by}, with its 95 % interval; a method is tied with the best if this interval "
            "contains 0. The best method is selected on the same folds, so its own error is "
            "slightly optimistic."
        ),
        {
            "kind": "figures",
            "items": [
                {
                    "kind": "intervals",
                    "id": "errors",
                    "title": f"{by.capitalize()} with 95 % interval",
                    "xlabel": by,
                    "rows": [
                        {
                            "name": r["title"],
                            "value": list(r[_error_key(values)]),
                            "ours": r["ours"],
                        }
                        for r in board
                    ],
                    "words": "Mean over the splits. The smaller, the better.",
                },
                {
                    "kind": "bars",
                    "id": "times",
                    "title": "Time to fit, including the search",
                    "xlabel": "seconds (logarithmic)",
                    "rows": [
                        {
                            "name": row["title"],
                            "value": max(row["fit_seconds"], 1e-3),
                            "text": f"{row['fit_seconds']:.2g}",
                            "ours": row["ours"],
                        }
                        for row in sorted(board, key=lambda row: row["fit_seconds"])
                    ],
                    "words": "Mean over the splits, each on one core.",
                },
            ],
        },
    )


def _everything(values):
    everything = values.get("everything")
    if not everything:
        return None
    rows = []
    for i, row in enumerate(everything["finalists"]):
        mean, low, high = row["error"]
        error = {"text": percent(mean, 2), "value": mean, "state": "best" if not i else ""}
        error["detail"] = f"{number(100 * low, 2)} to {number(100 * high, 2)}"
        cells = [{"text": str(row[k]), "value": row[k]} for k in ("fitted_rows", "tested")]
        seconds = {"text": f"{row['seconds']:.0f}", "value": row["seconds"]}
        rows.append({"label": row["title"], "cells": [*cells, error, seconds]})
    return _section(
        "everything",
        "On all rows",
        _text(
            f"The table has {everything['rows']} rows. The leaderboard and all other sections rest "
            f"on a stratified sample of {everything['sample']} rows. The best methods that can be "
            "fitted in passes over all rows were fitted on all rows but the test rows, with the "
            "parameters chosen on the sample; the first one below is the saved model."
        ),
        {
            "kind": "table",
            "caption": "Errors on test rows that no model was fitted on",
            "corner": "method",
            "sortable": True,
            "columns": ["fitted on rows", "test rows", "error (95 % interval)", "seconds to fit"],
            "rows": rows,
        },
    )


def _share(value, digits=1):
    if value is None:
        return {"text": "–", "value": -1.0}
    return {"text": percent(value, digits), "value": value}


def _area(value):
    return (
        {"text": "–", "value": -1.0} if value is None else {"text": f"{value:.3f}", "value": value}
    )


def _classes(values):
    per_class = values.get("per_class")
    if not per_class:
        return None
    rows = [
        {
            "label": row["name"],
            "cells": [
                {"text": str(row["objects"]), "value": row["objects"]},
                _share(row["precision"]),
                _share(row["recall"]),
                _share(row["f1"]),
                _area(row["auc"]),
                _area(row["average_precision"]),
                {"text": str(row["tested"]), "value": row["tested"]},
                {"text": str(row["predicted"]), "value": row["predicted"]},
            ],
        }
        for row in per_class
    ]
    return _section(
        "classes",
        "Results by class",
        {
            "kind": "table",
            "caption": f"{values['winner']['title']}: held-out predictions by class",
            "corner": "class",
            "sortable": True,
            "filter": len(rows) > 8,
            "columns": [
                "objects",
                "precision",
                "recall",
                "F1",
                "ROC AUC",
                "average precision",
                "test predictions",
                "times predicted",
            ],
            "rows": rows,
        },
        _text(
            "Precision: of the objects that are predicted as this class, the share that belongs to "
            "it. Recall: of the objects of this class, the share that is found. F1 is their "
            "harmonic mean. With repeated folds each object is predicted once in each repetition."
        ),
        short="Classes",
    )


def _confusion(values):
    classes, table = values["classes"], values["confusion"]
    many = len(classes) > MOST_CLASSES
    blocks = []
    if many:
        blocks.append(
            {
                "kind": "matrix",
                "id": "confusion-matrix",
                "title": "Confusion matrix (blue: correct, orange: errors)",
                "xlabel": "predicted class",
                "ylabel": "true class",
                "classes": classes,
                "table": table,
            }
        )
        blocks.append(_text("The darker, the larger the share of the row."))
    else:
        blocks.append(
            _text(
                f"Predictions of {values['winner']['title']} for held-out objects. Rows are true "
                "classes, columns are predicted classes; percent of the row, and number of "
                "predictions."
            )
        )
        blocks.append(_confusion_table(values))
    worst = _worst_pairs(classes, table)
    if worst and (many or len(classes) > 6):
        blocks.append(worst)
    return _section("confusion", "Confusion matrix", *blocks)


def _confusion_table(values):
    classes, table = values["classes"], values["confusion"]
    rows = []
    for i, name in enumerate(classes):
        total = sum(table[i]) or 1
        cells = []
        for j, count in enumerate(table[i]):
            share = count / total
            state = "shade" if i == j else "slip" if count else ""
            hint = f"{count} of {total} predictions for {name} were {classes[j]}"
            text = percent(share) if count else "·"
            cells.append({"text": text, "state": state, "share": share, "hint": hint})
            if count:
                cells[-1]["detail"] = str(count)
        rows.append({"label": name, "cells": cells})
    return {
        "kind": "table",
        "caption": "Held-out predictions",
        "corner": "true \\ predicted",
        "columns": classes,
        "rows": rows,
    }


def _worst_pairs(classes, table):
    pairs = sorted(
        ((n, i, j) for i, row in enumerate(table) for j, n in enumerate(row) if i != j and n),
        key=lambda pair: (-pair[0], pair[1:]),
    )
    if not pairs:
        return None
    return {
        "kind": "table",
        "caption": "Most frequent confusions",
        "corner": "true class",
        "sortable": True,
        "columns": [
            {"text": "predicted as", "state": "words"},
            "predictions",
            "share of the class",
        ],
        "rows": [
            {
                "label": classes[i],
                "cells": [
                    {"text": classes[j], "state": "words"},
                    {"text": str(n), "value": n},
                    _share(n / (sum(table[i]) or 1)),
                ],
            }
            for n, i, j in pairs[:MOST_CONFUSIONS]
        ],
    }


def _curves(values):
    curves = values.get("curves")
    if not curves or not curves["precision_recall"]:
        return None
    n, shown = len(values["classes"]), len(curves["precision_recall"])
    which = f" The {shown} classes with the smallest areas of {n} are drawn." if n > shown else ""
    rest = "" if n == 2 else " against all other classes"

    def series(name):
        return [{**one, "text": f"{one['area']:.3f}"} for one in curves[name]]

    return _section(
        "curves",
        "ROC and precision-recall curves",
        _text(
            f"One curve for each class{rest}, from the held-out probabilities of "
            f"{values['winner']['title']}.{which}"
        ),
        {
            "kind": "figures",
            "items": [
                {
                    "kind": "rates",
                    "id": "roc",
                    "title": "ROC curve (area)",
                    "area": "area under the ROC curve",
                    "xlabel": "false positive rate",
                    "ylabel": "true positive rate",
                    "series": series("roc"),
                    "diagonal": True,
                    "words": "The dashed line is guessing. An area of 1 is perfect, 0.5 is "
                    "guessing.",
                },
                {
                    "kind": "rates",
                    "id": "precision-recall",
                    "title": "Precision-recall curve (average precision)",
                    "area": "average precision",
                    "xlabel": "recall",
                    "ylabel": "precision",
                    "series": series("precision_recall"),
                    "words": "The better suited curve for rare classes. Guessing would have a "
                    "precision equal to the share of the class.",
                },
            ],
        },
        short="Curves",
    )


def _calibration(values):
    calibration = values["calibration"]
    before, after = calibration.get("before"), calibration.get("after")
    series = [{"name": "held-out predictions", "bins": calibration.get("bins")}]
    if before:
        series = [{"name": "before", **before}, {"name": "after", **after}]
        columns = ["log loss", "Brier score", "calibration error"]
        rows = [
            {
                "label": f"{one['name']} calibration",
                "cells": [f"{one['log_loss']:.3f}", f"{one['brier']:.3f}", percent(one["ece"])],
            }
            for one in series
        ]
        rows.append(
            {"label": "class shares only", "cells": [f"{calibration['guess']:.3f}", "", ""]}
        )
        saved = calibration["saved_temperature"]
        text = (
            "A calibrated probability means what it says: of all predictions with a probability "
            "of 80 %, 80 % are correct. Calibration divides the scores by a temperature, here "
            f"{calibration['temperature']:.3g} on average, which is fitted on the other folds. "
        )
        text += (
            "The saved model gives the probabilities before calibration."
            if saved == 1.0
            else f"The saved model uses a temperature of {saved:.3g}."
        )
        if after["log_loss"] > before["log_loss"]:
            text += " Here, calibration does not lower the log loss."
        if min(before["log_loss"], after["log_loss"]) > calibration["guess"]:
            text += (
                " These probabilities have a larger log loss than the plain shares of the "
                "classes: do not rely on them."
            )
        extra = {
            "kind": "table",
            "caption": "Quality of the probabilities (smaller is better)",
            "corner": "probabilities",
            "columns": columns,
            "rows": rows,
        }
    else:
        text = (
            "A calibrated probability means what it says: of all predictions with a probability "
            f"of 80 %, 80 % are correct. Log loss {calibration['log_loss']:.3f}, Brier score "
            f"{calibration['brier']:.3f}."
        )
        extra = None
    figure = {
        "kind": "reliability",
        "id": "reliability",
        "title": "Calibration of the probabilities",
        "xlabel": "probability of the predicted class",
        "ylabel": "share of correct predictions",
        "series": series,
        "words": "Points on the dashed line are perfectly calibrated; points below it are "
        "overconfident. Larger marks stand for more predictions.",
    }
    return _section(
        "calibration",
        "Calibration of the probabilities",
        _text(text),
        {"kind": "figures", "items": [figure], "beside": [extra] if extra else []},
        short="Calibration",
    )


def _importance(values):
    importance, contributions = values.get("importance"), values.get("contributions")
    if not importance:
        return None
    rows = importance["rows"]
    shown = rows[:MOST_IMPORTANCES]
    by = _error_name(values)
    certain = [row["name"] for row in rows if row["increase"][1] > 0]
    text = (
        f"How much the {by} of {values['winner']['title']} rises when the values of one column are "
        f"shuffled among the held-out objects ({importance['shuffles']} shuffles in "
        f"{importance['folds']} folds; 95 % intervals). Columns that carry the same information "
        "can replace each other, so each of them may look unimportant."
    )
    if len(rows) < importance["columns"]:
        text += (
            f" Of {importance['columns']} columns, the {len(rows)} that separate the classes most "
            "on their own were examined."
        )
    if not certain:
        text += " No column has an interval that is entirely above 0."
    figure = {
        "kind": "intervals",
        "id": "permutation-importance",
        "title": f"Increase of the {by} when a column is shuffled",
        "xlabel": f"increase of the {by} (percentage points)",
        "zero": True,
        "of": "column",
        "rows": [{"name": row["name"], "value": list(row["increase"])} for row in shown],
        "words": f"The {len(shown)} most important of {counted(len(rows), 'column')}."
        if len(shown) < len(rows)
        else "",
    }
    table = {
        "kind": "table",
        "caption": "Permutation importance (percentage points)",
        "corner": "column",
        "sortable": True,
        "filter": len(rows) > 8,
        "columns": ["increase", "95 % interval"],
        "rows": [
            {
                "label": row["name"],
                "cells": [
                    {
                        "text": number(100 * row["increase"][0], 2),
                        "value": row["increase"][0],
                        "state": "agree" if row["increase"][1] > 0 else "",
                    },
                    {
                        "text": f"{number(100 * row['increase'][1])} to "
                        f"{number(100 * row['increase'][2])}",
                        "value": row["increase"][1],
                    },
                ],
            }
            for row in rows
        ],
    }
    blocks = [_text(text), {"kind": "figures", "items": [figure], "beside": [table]}]
    if contributions:
        blocks.append({"kind": "heading", "text": "Why single objects were misclassified"})
        blocks.append(
            _text(
                "For the hardest objects: how much the log-probability of the predicted class "
                "falls when one value is replaced by the typical one (the median, or the most "
                "frequent category). Orange values speak for the predicted class, blue ones "
                "against it. The model was fitted without the object, in the first repetition; "
                "in other repetitions the prediction may differ."
            )
        )
        blocks.append(
            {
                "kind": "figures",
                "items": [
                    {
                        "kind": "signed bars",
                        "id": f"contributions-{i}",
                        "title": f"{one['name']}: {one['class']} predicted as {one['taken_for']}"
                        if one["class"] != one["taken_for"]
                        else f"{one['name']}: {one['class']}, predicted correctly here",
                        "xlabel": "contribution to the log-probability",
                        "rows": [
                            {"name": f"{r['feature']} = {r['value']}", "value": r["change"]}
                            for r in one["rows"]
                        ],
                        "words": "Typical: "
                        + ", ".join(f"{r['feature']} = {r['typical']}" for r in one["rows"])
                        + ".",
                    }
                    for i, one in enumerate(contributions[:MOST_EXPLAINED], 1)
                ],
            }
        )
    return _section("importance", "Which columns matter", *blocks)


def _hardest(values):
    hardest = values["hardest"]
    if not hardest["rows"]:
        return _section("hardest", "Hardest objects", _text("No object was misclassified."))
    texts = any(row.get("text") for row in hardest["rows"])
    rows = []
    for row in hardest["rows"]:
        cells = [
            {"text": row["class"], "state": "words"},
            {"text": row["taken_for"], "state": "words"},
            {"text": f"{row['wrong']} of {row['times']}", "value": row["wrong"] / row["times"]},
            {"text": percent(row["own_probability"]), "value": row["own_probability"]},
            {
                "text": percent(row["others_as_far"]),
                "value": row["others_as_far"],
                "state": "differ" if row["others_as_far"] <= 0.05 else "",
            },
        ]
        if texts:
            cells.insert(0, {"text": row.get("text") or "", "state": "words"})
        rows.append({"label": row["name"], "cells": cells})
    n = hardest["wrong_objects"]
    columns = [
        {"text": "class", "state": "words"},
        {"text": "predicted as", "state": "words"},
        "times misclassified",
        "probability of its class",
        "objects of its class as far away",
    ]
    if texts:
        columns.insert(0, {"text": "text", "state": "words"})
    return _section(
        "hardest",
        "Hardest objects",
        _text(
            f"{n} of {values['problem']['n']} objects {'was' if n == 1 else 'were'} misclassified "
            "at least once. The table lists those with the most, and the most confident, errors. "
            "Check them: wrong labels and unusual objects are often among them. The last column is "
            "the share of the other objects of the same class that are at least as far from it; "
            "5 % or less is highlighted."
        ),
        {
            "kind": "table",
            "caption": "Objects with the most confident errors",
            "corner": "object",
            "sortable": True,
            "columns": columns,
            "rows": rows,
        },
    )


def _distances(values):
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
    figures = [_pair(i, pair, who if foreign else None) for i, pair in enumerate(pairs, 1)]
    histograms = _histograms(values)
    return _section(
        "distances",
        "Distances to the classes",
        _text(text),
        {
            "kind": "figures",
            "items": [
                {"kind": "choice", "id": "pairs", "label": "Pair of classes", "items": figures}
                if len(figures) > 1
                else figures[0],
                histograms,
            ],
        },
        short="Distances",
    )


def _pair(i, pair, who):
    a, b = pair["classes"]
    left, objects = pair["left_out"], pair.get("objects")
    words = "Each point is an object. "
    if pair.get("regions"):
        words += "The background colour is the class that is predicted from the two distances"
        words += f" by {who}. " if who else ". "
    else:
        words += "The prediction depends on more than these two distances. "
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
        "label": f"{a} and {b}",
        **pair,
        "words": words.strip(),
    }


def _histograms(values):
    distances = values["distances"]
    rows = distances["classes"]
    recall = {row["name"]: row["recall"] for row in values.get("per_class", ())}
    words = "Relative frequencies. The smaller the overlap, the easier the class."
    if len(rows) > MOST_HISTOGRAMS:
        rows = sorted(rows, key=lambda row: recall.get(row["name"]) or 0.0)[:MOST_HISTOGRAMS]
        words += f" The {len(rows)} classes with the lowest recall of {len(values['classes'])}."
    return {
        "kind": "histograms",
        "id": "distance-histograms",
        "title": "Distances of the objects of each class",
        "xlabel": "Mahalanobis distance" + (" (logarithmic)" if distances["log"] else ""),
        "edges": distances["edges"],
        "log": distances["log"],
        "rows": rows,
        "words": words + " The last bin also holds the 1 % that are farther away.",
    }


def _learning(values):
    learning = values.get("learning")
    if not learning:
        return None
    d, low, high = learning["difference"]
    first, last = learning["from"], learning["sizes"][-1]
    change = (
        f"From {first} to {last} training objects the {_error_name(values)} changed by "
        f"{number(100 * d)} percentage points (95 % interval {number(100 * low)} to "
        f"{number(100 * high)})."
    )
    if high < 0:
        verdict = "Yes, probably: the error is still falling."
    elif low > 0:
        verdict = "Not by this method: its error has risen with more training objects."
    else:
        verdict = "There is no clear sign of it: the change is within chance."
    return _section(
        "learning",
        "Would more data help?",
        _text(f"{verdict} {change}"),
        {
            "kind": "figures",
            "items": [
                {
                    "kind": "learning",
                    "id": "learning-curve",
                    "title": "Learning curve",
                    "xlabel": "training objects",
                    "ylabel": _error_name(values),
                    "sizes": learning["sizes"],
                    "errors": learning["errors"],
                    "words": f"{values['winner']['title']} with the parameters that were selected "
                    "on all objects, fitted on stratified parts of the training data and tested "
                    "on held-out objects; band: 95 % interval.",
                }
            ],
        },
    )


def _novelty(values):
    novelty, drift = values.get("novelty"), values.get("drift")
    blocks = []
    if novelty:
        blocks += _typicality(values, novelty)
    if drift:
        blocks += _drift(drift)
    return _section("novelty", "Novelty and drift", *blocks, short="Novelty") if blocks else None


def _typicality(values, novelty):
    who, confidence = values["distance_title"], novelty["confidence"]
    level = 1 - confidence
    yield _text(
        f"For each new object, predict gives a p-value for each class by the distances of {who}: "
        f"how typical the object is of the class. Classes with a p-value above {percent(level, 0)} "
        "form the prediction set. The table shows these sets for the objects of this comparison, "
        "each compared with the objects of other folds. A set holds the true class with a "
        f"probability of about {percent(confidence, 0)}, whatever the distribution of the class; "
        "an empty set means that the object is like none of the classes. The last column is the "
        "share of the objects of other classes whose set holds the class."
    )
    rows = []
    for row in novelty["coverage"]:
        low, high = row["expected"]
        held = _share(row["covered"])
        held["detail"] = f"expected {number(100 * low, 0)} to {number(100 * high, 0)}"
        if not low <= row["covered"] <= high:
            held["state"] = "differ"
        rows.append(
            {
                "label": row["name"],
                "cells": [
                    {"text": str(row["objects"]), "value": row["objects"]},
                    held,
                    {"text": f"{row['size']:.2f}", "value": row["size"]},
                    _share(row["empty"]),
                    _share(row["accepted"]),
                ],
            }
        )
    yield {
        "kind": "table",
        "caption": f"Coverage of {percent(confidence, 0)} prediction sets by class",
        "corner": "class",
        "sortable": True,
        "columns": [
            "objects",
            "sets that hold the class",
            "mean size of the sets",
            "empty sets",
            "accepted from other classes",
        ],
        "rows": rows,
    }
    series = [{**one, "text": percent(one["rejected"], 0)} for one in novelty["curves"]]
    shown = len(series) - 1
    few = f" The {shown} classes that accept most." if shown < len(values["classes"]) else ""
    yield {
        "kind": "figures",
        "items": [
            {
                "kind": "rates",
                "id": "typicality",
                "title": f"Typicality (rejected at {percent(level, 0)})",
                "area": "rejected",
                "xlabel": "p-value",
                "ylabel": "share of objects with at most this p-value",
                "series": series,
                "diagonal": True,
                "words": "p-values of the objects for their own class follow the diagonal. The "
                "other curves are p-values for a class of the objects of all other classes: the "
                f"earlier they rise, the more of them are recognised as not of this class.{few}",
            }
        ],
    }
    if novelty["rows"]:
        yield {
            "kind": "table",
            "caption": "Most unusual objects",
            "corner": "object",
            "sortable": True,
            "columns": [
                {"text": "class", "state": "words"},
                {"text": "nearest class", "state": "words"},
                "p-value",
            ],
            "rows": [
                {
                    "label": row["name"],
                    "cells": [
                        {"text": row["class"], "state": "words"},
                        {"text": row["nearest"], "state": "words"},
                        {"text": f"{row['p_value']:.3g}", "value": row["p_value"]},
                    ],
                }
                for row in novelty["rows"]
            ],
        }
        yield _text(
            "The p-value asks whether an object belongs to any class at all, by its distance to "
            f"the nearest one. About {percent(level, 0)} of regular objects have "
            f"{level:.2g} or less."
        )


def _drift(drift):
    least = min(row["p_value"] for row in drift["rows"])
    sign = least * len(drift["rows"]) <= 0.05
    yield _text(
        "Order of the rows: in each class the distances of the second half of the rows to their "
        "class are compared with those of the first half (rank-sum test). "
        + (
            "At least one class has changed in the course of the file."
            if sign
            else "There is no sign of a change in the course of the file."
        )
    )
    yield {
        "kind": "table",
        "caption": "Drift in the order of the rows",
        "corner": "class",
        "sortable": True,
        "columns": ["objects", "median d², first half", "median d², second half", "p-value"],
        "rows": [
            {
                "label": row["name"],
                "cells": [
                    {"text": str(row["objects"]), "value": row["objects"]},
                    *({"text": f"{v:.3g}", "value": v} for v in row["medians"]),
                    {
                        "text": f"{row['p_value']:.3g}",
                        "value": row["p_value"],
                        "state": "differ" if row["p_value"] * len(drift["rows"]) <= 0.05 else "",
                    },
                ],
            }
            for row in drift["rows"]
        ],
    }


def _spectrum(values):
    spectrum = values.get("spectrum")
    if not spectrum:
        return None
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
    return _section(
        "spectrum",
        "Spectrum of the kernel",
        _text(
            f"Eigenvalues of {spectrum['what']}: {p} positive and {q} negative; "
            f"{percent(spectrum['negative_fraction'])} of the sum of their absolute values is "
            f"negative. {meaning}"
        ),
        {
            "kind": "figures",
            "items": [
                {
                    "kind": "stems",
                    "id": "eigenvalues",
                    "title": "Eigenvalues of the kernel matrix",
                    "xlabel": "number, in descending order",
                    "ylabel": "eigenvalue",
                    "values": spectrum["values"],
                    "positions": spectrum.get("positions"),
                    "legend": [f"{p} positive", f"{q} negative"] if p else [f"{q} negative"],
                }
            ],
        },
        short="Spectrum",
    )


def _data(values):
    p = values["problem"]
    features = values["about"].get("features") or []
    categories = any(feature.get("levels") for feature in features)
    counts = p["counts"]
    listed = "; ".join(f"{name}: {n}" for name, n in counts[:MOST_COUNTS])
    if len(counts) > MOST_COUNTS:
        listed += f"; and {len(counts) - MOST_COUNTS} more classes"
    items = [f"Objects of each class: {listed}."]
    if p["kind"] == "vectors":
        items.append(
            "Numbers were standardised (mean 0, standard deviation 1); missing numbers are "
            "replaced by the median. "
            + "Each category became a column of its own (one-hot). " * categories
            + "All of this was learned from the training part of each split."
        )
    elif p["kind"] == "proximity":
        items.append(
            "Similarities were used as a kernel."
            if p["proximity"] == "similarity"
            else "Dissimilarities d were turned into the kernel −d²/2, centred; reference methods "
            "received them as they are."
        )
    else:
        items.append(f"Objects were compared pairwise by the measure {p['measure']}.")
    if values["notes"]:
        items.append("See also the notices at the top of this page.")
    table = None
    if features:
        table = {
            "kind": "table",
            "caption": "Columns",
            "corner": "column",
            "prose": True,
            "sortable": True,
            "filter": len(features) > 12,
            "columns": ["type", "categories"] if categories else ["type"],
            "rows": [
                {
                    "label": str(feature["name"]),
                    "cells": [
                        {"number": "number", "name": "categories"}.get(
                            feature.get("type"), str(feature.get("type", ""))
                        ),
                        *([_levels(feature.get("levels") or [])] if categories else []),
                    ],
                }
                for feature in features[:MOST_FEATURES]
            ],
        }
    unlisted = len(features) - MOST_FEATURES
    return _section(
        "data",
        "What was done to the data",
        {"kind": "list", "items": items},
        table,
        _text(f"{unlisted} more columns are not listed.") if unlisted > 0 else None,
        short="Data",
    )


def _levels(levels, most=8):
    text = ", ".join(str(level)[:40] for level in levels[:most])
    return text + (f" and {len(levels) - most} more" if len(levels) > most else "")


def _repeat(values):
    about = values["about"]
    versions = ", ".join(f"{name} {v}" for name, v in about.get("versions", {}).items())
    chosen = ", ".join(f"{k} = {v}" for k, v in values["chosen"].items())
    items = [
        f"Seed {values['plan']['seed']}; {values['plan']['inner_folds']} folds within each "
        "training part for the choice of parameters (for the saved model: up to 5 folds of all "
        "objects).",
        f"Saved model: {values['winner']['title']}" + (f" ({chosen})." if chosen else "."),
        f"Versions: {versions}.",
        "mahalearn report DIR renders this page again from comparison.json; it needs neither the "
        "data nor the model.",
    ]
    config = about.get("config")
    return _section(
        "repeat",
        "How to repeat it",
        {"kind": "code", "text": about["command"]} if about.get("command") else None,
        _text("Configuration file of this run:") if config else None,
        {"kind": "code", "text": str(config)} if config else None,
        {"kind": "list", "items": items},
    )
