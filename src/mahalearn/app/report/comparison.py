"""The document of a comparison on people's own data, from plain values alone.

What :func:`mahalearn.app.comparing.findings.findings` returns is all that is needed; a saved copy
of it can be rendered again without data and models.
"""

from ..words import counted
from .answers import answers
from .context import data_section, novelty_section, repeat_section, spectrum_section
from .performance import (
    calibration_section,
    classes_section,
    everything_section,
    leaderboard_section,
)
from .understanding import distances_section, importance_section, learning_section, map_section

# Letters of the names of columns that are listed; others are counted alone.
LONGEST_NAMES = 100
SECTIONS = (
    leaderboard_section,
    everything_section,
    map_section,
    importance_section,
    data_section,
    classes_section,
    learning_section,
    calibration_section,
    distances_section,
    novelty_section,
    spectrum_section,
    repeat_section,
)
MAP_KEYS = ("class", "predictions", "probabilities", "p_none", "nearest", "gaps")


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
    sections = [section for make in SECTIONS if (section := make(values))]
    return {
        "title": f"Can the classes of “{values['problem']['name']}” be distinguished?",
        "answers": answers(values),
        "facts": _facts(values),
        "notices": [*values["notes"], *values.get("skipped", ())],
        "sections": sections,
        "objects": _objects(values),
        "footer": f"mahalearn {values['about'].get('versions', {}).get('mahalearn', '')}. "
        "This page is one file and needs no network.",
    }


def _objects(values):
    """Values of the objects on the map for the script, beside the numbers of its figure."""
    reasons = values["map"]["reasons"]
    columns = list(dict.fromkeys(column for rows in reasons for column, *_ in rows))
    places = {column: k for k, column in enumerate(columns)}
    return {
        "classes": values["classes"],
        "columns": columns,
        "reasons": [[[places[column], *rest] for column, *rest in rows] for rows in reasons],
        **{key: values["map"][key] for key in MAP_KEYS},
    }


def results_table(values):
    """Rows of results.csv: a line for each method."""
    labels = {"error": "error", "balanced": "balanced_error", "difference": "difference_to_best"}
    rows = []
    for rank, row in enumerate(values["leaderboard"], 1):
        out = {"rank": rank, "method": row["name"], "title": row["title"]}
        for name, label in labels.items():
            mean, low, high = (round(v, 6) for v in row[name])
            out |= {label: mean, f"{label}_low": low, f"{label}_high": high}
        milliseconds = row["predict_ms"]
        out |= {
            "tied_with_best": row["tied"],
            "fit_seconds": round(row["fit_seconds"], 4),
            "predict_ms_per_1000": "" if milliseconds is None else round(milliseconds, 4),
            "folds": values["n_folds"],
            "parameters": row["params"],
        }
        rows.append(out)
    return rows


def _facts(values):
    """Facts on the data and the comparison: pairs of a name and a value."""
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
    """How many columns there are, and their names if they are short."""
    names = ", ".join(str(feature["name"]) for feature in values["about"].get("features") or [])
    count = counted(values["problem"]["d"], "column")
    return f"{count} ({names})" if 0 < len(names) <= LONGEST_NAMES else count
