"""The document of a comparison on people's own data, from plain values alone.

What :func:`mahalearn.app.comparing.findings.findings` returns is all that is needed; a saved copy
of it can be rendered again without data and models.
"""

from ..words import counted, number, percent
from .lead import lead

MOST_CLASSES = 30


def document(found):
    """The page of a comparison.

    Parameters
    ----------
    found : dict
        Plain values, see :mod:`mahalearn.app.comparing.findings`.

    Returns
    -------
    dict
        A document for :mod:`mahalearn.app.report.html`.
    """
    sections = [
        _leaderboard(found),
        _confusion(found),
        _distances(found),
        _hardest(found),
        _more(found),
        _how(found),
    ]
    return {
        "title": f"Which classifier for {found['problem']['name']}?",
        "lead": lead(found),
        "sections": sections,
        "footer": f"mahalearn {found['about'].get('versions', {}).get('mahalearn', '')}. "
        "This page needs no network and holds no scripts.",
    }


def _leaderboard(found):
    board = found["leaderboard"]
    most = max(min(2.2 * row["error"][0] + 0.01, row["error"][2]) for row in board)
    rows = []
    for i, row in enumerate(board):
        mean, low, high = row["error"]
        words = f"{percent(mean)}, interval {percent(low)} to {percent(high)}"
        d, d_low, d_high = row["difference"]
        gap = "–" if not i else f"{number(100 * d)}"
        bar = {"mean": mean, "low": low, "high": high, "most": most, "words": words}
        rows.append(
            {
                "label": f"{i + 1}.\N{NO-BREAK SPACE}{row['title']}",
                "cells": [
                    {
                        "text": percent(mean),
                        "detail": f"{number(100 * low)} to {number(100 * high)}",
                        "bar": {**bar, "ours": row["ours"]},
                        "hint": words,
                    },
                    {
                        "text": gap,
                        "detail": ""
                        if not i
                        else f"{number(100 * d_low)} to {number(100 * d_high)}",
                        "state": "" if not row["tied"] else "agree",
                    },
                    percent(row["balanced"][0]),
                    f"{row['fit_seconds']:.2f}",
                    f"{row['predict_ms']:.0f}",
                    {"text": row["params"], "state": "words"},
                ],
            }
        )
        if not i:
            rows[0]["cells"][0]["state"] = "best"
    by = "error" if found["plan"]["by"] == "plain" else "balanced error"
    return {
        "id": "leaderboard",
        "title": "Leaderboard",
        "blocks": [
            {
                "kind": "table",
                "caption": "Errors on objects that were not trained on",
                "corner": "classifier",
                "columns": [
                    "error, with its 95 % interval",
                    "points behind the first",
                    "balanced error",
                    "fit, s",
                    "predict 1000, ms",
                    {"text": "usual choice", "state": "words"},
                ],
                "rows": rows,
            },
            {"kind": "key", "states": [("agree", "not told apart from the first")]},
            {
                "kind": "text",
                "text": "Blue: mahalearn; grey: references from scikit-learn. The balanced error "
                "is the mean of the classes' error rates. Intervals are those of the corrected "
                "resampled t-test (Nadeau and Bengio): folds share training objects, so the spread "
                "of their errors alone would promise too much. Points behind the first are the "
                f"paired difference of the {by}, with its 95 % interval. The first place is chosen "
                "with the same folds, so its own error is a little optimistic.",
            },
        ],
    }


def _confusion(found):
    classes, table = found["classes"], found["confusion"]
    if len(classes) > MOST_CLASSES:
        return _worst_pairs(classes, table)
    rows = []
    for i, name in enumerate(classes):
        total = sum(table[i]) or 1
        cells = []
        for j, count in enumerate(table[i]):
            share = count / total
            state = "shade" if i == j else "slip" if count else ""
            text = percent(share) if count else "·"
            hint = f"{count} of {total} predictions for {name} were {classes[j]}"
            cells.append({"text": text, "state": state, "share": share, "hint": hint})
        rows.append({"label": name, "cells": cells})
    return {
        "id": "confusion",
        "title": "What is taken for what",
        "blocks": [
            {
                "kind": "table",
                "caption": f"{found['winner']['title']}: rows are the true classes, columns the "
                "predicted ones, in percent of the row",
                "corner": "true \\ predicted",
                "columns": classes,
                "rows": rows,
            }
        ],
    }


def _worst_pairs(classes, table):
    pairs = sorted(
        ((n, i, j) for i, row in enumerate(table) for j, n in enumerate(row) if i != j and n),
        reverse=True,
    )
    rows = [
        {"label": classes[i], "cells": [classes[j], percent(n / (sum(table[i]) or 1))]}
        for n, i, j in pairs[:20]
    ]
    return {
        "id": "confusion",
        "title": "What is taken for what",
        "blocks": [
            {
                "kind": "table",
                "caption": f"The most frequent confusions of {len(classes)} classes",
                "corner": "true",
                "columns": ["taken for", "of the class"],
                "rows": rows,
            }
        ],
    }


def _distances(found):
    space = found["space"]
    a, b = space["classes"]
    who = found["distance_title"]
    left = space["left_out"]
    note = f" {counted(left, 'far point')} {'is' if left == 1 else 'are'} outside." if left else ""
    winner = found["winner"]
    text = f"Distances of {who}, each object measured by a model that had not seen it."
    whose = ""
    if found["about"].get("distances") != winner["name"]:
        text = (
            f"{winner['title']} has no distances to the classes that could be shown. Here, among "
            f"the hardest objects and for the outliers of predict they are those of “{who}”, "
            "fitted to the same objects; each object was measured by a model that had not seen it."
        )
        whose = f" by “{who}”, not by the winner"
    regions = (
        f"The colour behind them is the decision between the two{whose}."
        if space["regions"] is not None
        else f"The decision{whose} does not depend on these two distances alone."
    )
    figures = [
        {
            "kind": "space",
            "title": f"Dissimilarity space: {a[:20]} and {b[:20]}",
            **space,
            "words": "Each object by its squared Mahalanobis distances to the two classes that are "
            f"confused most. {regions}{note}",
        }
    ]
    rows = [
        {"name": name, **values}
        for name, values in zip(found["classes"][:8], found["distances"][:8])
    ]
    figures.append(
        {
            "kind": "histograms",
            "title": "Distances to the own class and to the nearest other",
            "xlabel": "Mahalanobis distance",
            "rows": rows,
            "words": "The less the two overlap, the easier is the class.",
        }
    )
    return {
        "id": "distances",
        "title": "How far classes are apart",
        "blocks": [
            {"kind": "text", "text": text},
            {"kind": "figures", "items": figures},
        ],
    }


def _hardest(found):
    hardest = found["hardest"]
    if not hardest["rows"]:
        blocks = [{"kind": "text", "text": "No object was misclassified in any split."}]
    else:
        rows = [
            {
                "label": row["name"],
                "cells": [
                    row["class"],
                    row["taken_for"],
                    f"{row['wrong']} of {row['times']}",
                    percent(row["own_probability"]),
                    {
                        "text": percent(row["others_as_far"]),
                        "state": "differ" if row["others_as_far"] <= 0.05 else "",
                    },
                ],
            }
            for row in hardest["rows"]
        ]
        blocks = [
            {
                "kind": "text",
                "text": f"{hardest['wrong_objects']} of {found['problem']['n']} objects "
                f"{'was' if hardest['wrong_objects'] == 1 else 'were'} "
                "misclassified at least once; these most often and most surely. They are worth a "
                "look: wrong labels and rare kinds end up here. The last column is the share of "
                "the other objects of its class that are at least as far from the class, each "
                "measured by a model that had not seen it; 5 % or less is marked.",
            },
            {
                "kind": "table",
                "caption": "Hardest objects",
                "corner": "object",
                "columns": [
                    "class",
                    "taken for",
                    "wrong",
                    "probability of its class",
                    "others as far",
                ],
                "rows": rows,
            },
        ]
    return {"id": "hardest", "title": "Hardest objects", "blocks": blocks}


def _more(found):
    calibration, board = found["calibration"], found["leaderboard"]
    figures = [
        {
            "kind": "reliability",
            "title": "Calibration of the probabilities",
            "xlabel": "probability of the predicted class",
            "ylabel": "share that is right",
            "bins": calibration["bins"],
            "words": "Points near the dashed line: a probability means what it says. Log-loss "
            f"{calibration['log_loss']:.3f}, Brier score {calibration['brier']:.3f}.",
        },
        {
            "kind": "bars",
            "title": "Seconds to fit, with the search (logarithmic)",
            "rows": [
                {
                    "name": row["title"],
                    "value": max(row["fit_seconds"], 1e-4),
                    "text": f"{row['fit_seconds']:.2g}",
                    "ours": row["ours"],
                }
                for row in sorted(board, key=lambda row: row["fit_seconds"])
            ],
            "words": "Mean over the splits, on one core each.",
        },
    ]
    spectrum = found["spectrum"]
    if spectrum:
        p, q = spectrum["signature"]
        figures.append(
            {
                "kind": "stems",
                "title": "Spectrum of the kernel",
                "xlabel": "eigenvalue, in descending order",
                "ylabel": "λ",
                "values": spectrum["values"],
                "legend": [f"{p} positive"] + ([f"{q} negative"] if q else []),
                "words": f"Of {spectrum['what']}: {percent(spectrum['negative_fraction'])} of the "
                "spectrum is negative.",
            }
        )
    return {
        "id": "more",
        "title": "Calibration, time" + (", spectrum" if spectrum else ""),
        "blocks": [{"kind": "figures", "items": figures}],
    }


def _how(found):
    about = found["about"]
    versions = ", ".join(f"{name} {v}" for name, v in about.get("versions", {}).items())
    counts = "; ".join(f"{name}: {n}" for name, n in found["problem"]["counts"][:20])
    chosen = ", ".join(f"{k} = {v}" for k, v in found["chosen"].items())
    items = [
        f"Objects of each class: {counts}.",
        f"Seed {found['plan']['seed']}; {found['plan']['inner_folds']} folds within each training "
        "part for the choice of parameters.",
        f"Saved model: {found['winner']['title']}" + (f" ({chosen})." if chosen else "."),
        f"Versions: {versions}.",
    ]
    return {
        "id": "how",
        "title": "How to do it again",
        "blocks": [
            {"kind": "code", "text": about.get("command", "")},
            {"kind": "list", "items": items},
        ],
    }
