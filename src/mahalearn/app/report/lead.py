"""What a comparison found, in a few sentences."""

from ..words import counted, percent

# Names of features that are listed; more are counted alone.
MOST_FEATURES = 12


def lead(found):
    """Paragraphs: what was compared, who is first, who else might be taken; and the notes."""
    p, plan, winner = found["problem"], found["plan"], found["winner"]
    what = {
        "vectors": f"{p['n']} rows with {_features(found)}",
        "proximity": f"a matrix of {p['n']} × {p['n']} {str(p['proximity'])[:-1]}ies",
        "objects": f"{p['n']} objects, compared by {p['measure']},",
    }[p["kind"]]
    by = "error" if plan["by"] == "plain" else "balanced error"
    mean, low, high = winner["error" if plan["by"] == "plain" else "balanced"]
    board = found["leaderboard"]
    first = (
        f"{counted(len(board), 'classifier')} {'was tried' if len(board) == 1 else 'were compared'}"
        f" on {what} of {counted(len(p['counts']), 'class', 'classes')}{_target(found)}, "
        f"{'' if len(board) == 1 else 'each '}tuned within the training part of "
        f"{found['n_folds']} train/test splits ({plan['folds']} stratified folds, drawn "
        f"{counted(plan['repeats'], 'time')})."
    )
    family = found["chosen"].get("family")
    second = (
        f"{winner['title']}{f' (its choice: {family})' * bool(family)} has "
        f"{'an' if len(board) == 1 else 'the smallest'} {by} of {percent(mean)} (95 % interval "
        f"{percent(low)} to {percent(high)}); it was fitted on all objects and saved."
    )
    return [" ".join([first, second, *_rivals(found)]), *found["notes"]]


def _features(found):
    """How many features there are, and their names if they are few."""
    names = [feature["name"] for feature in found["about"].get("features", [])]
    count = counted(found["problem"]["d"], "feature")
    return f"{count} ({', '.join(names)})" if 0 < len(names) <= MOST_FEATURES else count


def _target(found):
    """Where the classes of a table come from."""
    p = found["problem"]
    return f" (column “{p['target']}”)" if found["about"].get("features") and p["target"] else ""


def _rivals(found):
    """Sentences on who else might be taken."""
    key = "error" if found["plan"]["by"] == "plain" else "balanced"
    winner, *others = found["leaderboard"]
    equal = [row for row in others if abs(row[key][0] - winner[key][0]) < 5e-4]
    fast = min(equal, key=lambda row: row["fit_seconds"], default=winner)
    if fast["fit_seconds"] < winner["fit_seconds"] / 2:
        times = winner["fit_seconds"] / max(fast["fit_seconds"], 1e-4)
        yield f"{fast['title']} has the same error and is fitted {times:.0f} times as fast."
    tied = sum(row["tied"] for row in others)
    if tied:
        yield f"{counted(tied, 'other')} cannot be told from the first by these data."
