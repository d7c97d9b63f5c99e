"""Two comparisons side by side: methods, errors and data, from the plain values of both."""

from ..words import counted
from .ranking import corrected_interval


def differences(first, second):
    """Plain values on how two runs differ.

    Parameters
    ----------
    first, second : dict
        Plain values of two comparisons (comparison.json).

    Returns
    -------
    values : dict
        names; paired (the folds are the same, so errors are compared fold by fold); by (the error
        that decides); methods, a row for each that is in either run; changes, rows of a fact in
        both runs where it differs.

    Examples
    --------
    >>> from mahalearn.app.comparing.diff import differences
    >>> run = {"problem": {"name": "t", "n": 9, "d": 2, "target": "y", "counts": [["a", 9]]},
    ...        "plan": {"by": "plain", "folds": 3, "repeats": 1, "seed": 0}, "folds_key": "k",
    ...        "notes": [], "leaderboard": [], "about": {"features": [], "versions": {}}}
    >>> differences(run, run)["changes"]
    []
    """
    paired = first["folds_key"] == second["folds_key"]
    key = "error" if first["plan"]["by"] == "plain" else "balanced"
    rows = {row["name"]: [row, None] for row in first["leaderboard"]}
    for row in second["leaderboard"]:
        rows.setdefault(row["name"], [None, None])[1] = row
    share = 1 / max(1, first["plan"]["folds"] - 1)
    methods = [_method(one, other, key, share if paired else None) for one, other in rows.values()]
    return {
        "names": [run["problem"]["name"] for run in (first, second)],
        "paired": paired,
        "by": first["plan"]["by"],
        "methods": sorted(methods, key=lambda row: min(e[0] for e in row["errors"] if e)),
        "changes": [
            {"fact": fact, "values": [a, b]}
            for fact, a, b in zip(FACTS, _facts(first), _facts(second), strict=True)
            if a != b
        ],
    }


def _method(one, other, key, share):
    """Errors of a method in both runs, and their difference with its interval where folds pair."""
    either = one or other
    difference = None
    if one and other:
        change = other[key][0] - one[key][0]
        difference = [change, None, None]
        a, b = one["fold_errors"][key], other["fold_errors"][key]
        if share is not None and len(a) == len(b):
            changes = [y - x for x, y in zip(a, b, strict=True)]
            difference = list(corrected_interval(changes, share, resolution=one["resolution"]))
    return {
        "title": either["title"],
        "ours": either["ours"],
        "errors": [row[key] if row else None for row in (one, other)],
        "seconds": [row["fit_seconds"] if row else None for row in (one, other)],
        "difference": difference,
    }


FACTS = (
    "rows or objects",
    "columns",
    "names of the columns",
    "target",
    "objects of each class",
    "measure",
    "folds",
    "seed",
    "error that decides",
    "notices",
    "versions",
)


def _facts(run):
    """Facts on the data and the plan of a run, as text."""
    problem, plan, about = run["problem"], run["plan"], run["about"]
    columns = [str(feature["name"]) for feature in about.get("features") or []]
    return (
        str(problem["n"]),
        str(problem.get("d") or ""),
        ", ".join(columns),
        str(problem["target"]),
        "; ".join(f"{name}: {n}" for name, n in sorted(problem["counts"], key=str)),
        str(problem.get("measure") or ""),
        f"{plan['folds']}, drawn {counted(plan['repeats'], 'time')}",
        str(plan["seed"]),
        plan["by"],
        " ".join(run["notes"]),
        ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items()),
    )
