"""What a comparison found, in two sentences; the facts about it, and the notices."""

from ..words import counted, percent

# Names of columns that are listed; more are counted alone.
MOST_FEATURES = 12
# Errors that differ by less are called the same.
SAME = 5e-4


def lead(found):
    """The answer: who has the smallest error, and who is as good."""
    winner, board = found["winner"], found["leaderboard"]
    mean, low, high = winner[error_key(found)]
    family = found["chosen"].get("family")
    which = _article(found) if len(board) == 1 else "the smallest"
    best = (
        f"{winner['title']}{f' ({family})' * bool(family)} has {which} {error_name(found)} of "
        f"{percent(mean)} on {found['problem']['name']} (95 % interval {percent(low)} to "
        f"{percent(high)})."
    )
    return [" ".join([best, *_rivals(found)])]


def error_key(found):
    """The error of a row of the leaderboard that decides."""
    return "error" if found["plan"]["by"] == "plain" else "balanced"


def error_name(found):
    """What the error that decides is called."""
    return "error" if found["plan"]["by"] == "plain" else "balanced error"


def _article(found):
    return "an" if error_name(found).startswith("e") else "a"


def _rivals(found):
    """One sentence on the methods that are as good, none if the winner is alone."""
    key = error_key(found)
    winner, *others = found["leaderboard"]
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


def facts(found):
    """What was compared on what: pairs of a name and a value."""
    p, plan, board = found["problem"], found["plan"], found["leaderboard"]
    what = {
        "vectors": f"{p['n']} rows with {_features(found)}",
        "proximity": f"a matrix of {p['n']} × {p['n']} {str(p['proximity'])[:-1]}ies",
        "objects": f"{p['n']} objects, compared by {p['measure']}",
    }[p["kind"]]
    classes = counted(len(p["counts"]), "class", "classes")
    if found["about"].get("features") and p["target"]:
        classes += f" (column “{p['target']}”)"
    seconds = found.get("seconds") or 0.0
    return [
        ("Data", what),
        ("Classes", classes),
        ("Methods", f"{len(board)}, each with its own search for parameters"),
        (
            "Validation",
            f"{counted(found['n_folds'], 'train/test split')} ({plan['folds']} stratified folds, "
            f"drawn {counted(plan['repeats'], 'time')}); parameters are chosen on the training "
            "part alone",
        ),
        ("Time", f"{seconds:.0f} s" if seconds >= 1 else "less than a second"),
    ]


def _features(found):
    """How many columns there are, and their names if they are few."""
    names = [str(feature["name"]) for feature in found["about"].get("features") or []]
    count = counted(found["problem"]["d"], "column")
    return f"{count} ({', '.join(names)})" if 0 < len(names) <= MOST_FEATURES else count
