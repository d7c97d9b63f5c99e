"""The first screen of a comparison's page: six questions, each answered in a line."""

from ..words import counted, number, percent
from .blocks import error_key, error_name

# Shares of the errors of guessing that are avoided, and the answer from there on.
SEPARATION = (
    (0.95, "Yes, almost always"),
    (0.8, "Yes, mostly"),
    (0.5, "Partly"),
    (0.0, "Hardly"),
)
# Classes of which less is recognised, by so much less than the average, are called weak.
WEAK = 0.05
MOST_NAMED = 3
# Objects that are always misclassified, with a smaller probability of their class, are suspects.
SUSPECT = 0.05
# Errors that differ by less are called the same.
SAME = 5e-4


def answers(values):
    """Questions with an answer, a sentence, and the section that has the details."""
    return [
        _separable(values),
        _failures(values),
        _drivers(values),
        _learning(values),
        _data(values),
        _method(values),
    ]


def card(question, answer, detail, link, state=""):
    """A question of the first screen."""
    return {"question": question, "answer": answer, "detail": detail, "link": link, "state": state}


def guessing_error(values):
    """The error of always predicting the most frequent class."""
    counts = [n for _, n in values["problem"]["counts"]]
    if values["plan"]["by"] == "balanced":
        return 1 - 1 / len(counts)
    return 1 - max(counts) / sum(counts)


def _separable(values):
    mean, low, high = values["winner"][error_key(values)]
    guess = guessing_error(values)
    avoided = 1 - mean / guess if guess else 0.0
    if high >= guess:
        answer, state = "No better than guessing", "bad"
    else:
        answer = next(word for least, word in SEPARATION if avoided >= least)
        state = "good" if avoided >= SEPARATION[1][0] else "fair"
    name = error_name(values)
    detail = (
        f"{percent(mean)} {name} on objects that the model had not seen (95 % interval "
        f"{percent(low)} to {percent(high)}). Always predicting the most frequent class: "
        f"{percent(guess)}."
    )
    return card("Can the classes be distinguished?", answer, detail, "classes", state)


def confusions(values):
    """(number, true class, predicted class) of the errors, the most frequent first."""
    pairs = (
        (n, i, j)
        for i, row in enumerate(values["confusion"])
        for j, n in enumerate(row)
        if i != j and n
    )
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1:]))


def _failures(values):
    rows, classes = values["per_class"], values["classes"]
    worst = confusions(values)
    question = "Which classes fail?"
    if not worst:
        return card(question, "None", "No held-out object was misclassified.", "map", "good")
    average = sum(row["right"] for row in rows) / max(1, sum(row["tested"] for row in rows))
    weak = sorted(
        (row for row in rows if row["tested"] and row["recall"] < average - WEAK),
        key=lambda row: row["recall"],
    )
    n, i, j = worst[0]
    total = sum(values["confusion"][i])
    most = f"Most often {classes[i]} is predicted as {classes[j]} ({n} of {total} predictions)."
    if not weak:
        return card(
            question,
            "None in particular",
            f"{most} All classes are recognised about equally well.",
            "map",
            "fair",
        )
    names = ", ".join(row["name"] for row in weak[:MOST_NAMED])
    others = f" and {len(weak) - MOST_NAMED} more" if len(weak) > MOST_NAMED else ""
    recall = "; ".join(f"{row['name']} {percent(row['recall'], 0)}" for row in weak[:MOST_NAMED])
    return card(question, names + others, f"Recognised: {recall}. {most}", "map", "fair")


def _drivers(values):
    importance, question = values.get("importance"), "What drives the decision?"
    if importance:
        rows = [row for row in importance["rows"] if row["increase"][1] > 0]
        rows = (rows or importance["rows"])[:MOST_NAMED]
        rises = "; ".join(f"{row['name']} +{number(100 * row['increase'][0])}" for row in rows)
        detail = f"Rise of the error in percentage points when the column is shuffled: {rises}."
        if rows != importance["rows"][: len(rows)]:
            detail += " Columns whose rise may be chance are left out."
        return card(question, ", ".join(row["name"] for row in rows), detail, "importance")
    share = values["map"]["neighbours_agree"]
    if values["problem"]["kind"] == "vectors":
        return card(question, "Not measured", "It would have taken too long.", "distances")
    detail = f"The nearest other object has the same class for {percent(share, 0)} of the objects."
    return card(question, "The nearest objects", detail, "map")


def learning_verdict(values):
    """An answer and a sentence on more data."""
    learning = values.get("learning")
    if not learning:
        return "Not measured", next(
            (s for s in values.get("skipped", ()) if "learning curve" in s), "There is no curve."
        )
    d, low, high = learning["difference"]
    answer = "Probably" if high < 0 else "No: more data raised it" if low > 0 else "No clear sign"
    return answer, (
        f"From {learning['from']} to {learning['sizes'][-1]} training objects the "
        f"{error_name(values)} changed by {number(100 * d)} percentage points (95 % interval "
        f"{number(100 * low)} to {number(100 * high)})."
    )


def _learning(values):
    answer, detail = learning_verdict(values)
    link = "learning" if values.get("learning") else "notices"
    return card("Would more data help?", answer, detail, link)


def data_problems(values):
    """What may be wrong with the data: pairs of a sentence and the section that shows it."""
    suspects = [
        row["name"]
        for row in values["hardest"]["rows"]
        if row["wrong"] == row["times"] and row["own_probability"] < SUSPECT
    ]
    drift = (values.get("drift") or {}).get("rows", ())
    changed = [row["name"] for row in drift if row["p_value"] * len(drift) <= 0.05]
    if suspects:
        sentence = f"Check the labels of {_some(suspects)}: always predicted as another class."
        yield sentence, "hardest"
    if changed:
        yield f"The order of the rows matters for {_some(changed)}: later rows differ.", "novelty"
    if values["notes"]:
        notices = counted(len(values["notes"]), "notice")
        yield f"{notices} on how the file was read and compared.", "notices"


def _some(names):
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _data(values):
    question, problems = "Is something wrong with the data?", list(data_problems(values))
    if not problems:
        detail = "No suspicious labels, no drift, no notices."
        return card(question, "Nothing was found", detail, "data", "good")
    link = problems[0][1]
    answer = f"{counted(len(problems), 'thing')} to check"
    if link == "notices":
        answer = "Read the notices"
    return card(question, answer, " ".join(text for text, _ in problems), link, "fair")


def _method(values):
    winner, *others = values["leaderboard"]
    key = error_key(values)
    tied = sum(row["tied"] for row in others)
    same = [row for row in others if abs(row[key][0] - winner[key][0]) < SAME]
    fast = min(same, key=lambda row: row["fit_seconds"], default=winner)
    family = values["chosen"].get("family")
    if not others:
        detail = "It was the only method."
    elif tied == len(others):
        detail = f"{_all(others)} {'is' if tied == 1 else 'are'} statistically tied with it."
    elif tied:
        verb = "is" if tied == 1 else "are"
        detail = f"{tied} of {len(others)} other methods {verb} statistically tied with it."
    else:
        verb = "is" if len(others) == 1 else "are"
        detail = f"{_all(others)} {verb} significantly worse."
    if fast["fit_seconds"] < winner["fit_seconds"] / 2:
        times = winner["fit_seconds"] / max(fast["fit_seconds"], 1e-4)
        detail += f" {fast['title']} has the same error and is fitted {times:.0f} times as fast."
    title = winner["title"] + (f" ({family})" if family else "")
    return card("Which classifier is best?", title, detail, "leaderboard")


def _all(others):
    return "The other method" if len(others) == 1 else f"All {len(others)} other methods"
