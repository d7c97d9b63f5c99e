"""A comparison as plain values, for the report and for results.csv.

:func:`findings` returns one dict of texts, numbers, lists and dicts. The report needs nothing else,
so that a saved copy (comparison.json) can be rendered again without data and models. Parts that a
problem does not have are None.
"""

from collections import Counter
from itertools import combinations

import numpy as np
from scipy.special import softmax

from ..._validation import take
from ...display import conformal_limit, pair_rule
from ...formulas.linalg import center_gram, centering, eigh, negative_fraction, signature
from .crossval import Data
from .explanations import SECONDS, explain, object_name
from .held_out import calibration, curves, per_class
from .methods import METHODS
from .refit import flattened
from .statistics import corrected_interval, error_interval
from .typical import CONFIDENCE, drift, novelty

# Version of the plain values; files of mahalearn 0.1 have none.
FORMAT = 2
MOST_HARD = 10
LONGEST_TEXT = 120
# Pairs of classes whose distances are kept, and points of all of them together.
MOST_PAIRS = 10
MOST_POINTS = 2400
MOST_POINTS_OF_PAIR = 600
SPECTRUM_OBJECTS = 2000
MOST_EIGENVALUES = 400
GRID = 80
# Objects by which it is found out how a model decides between two classes.
RULE_OBJECTS = 1000
HISTOGRAM_BINS = 36
# Distances that spread over more than this factor are shown on a logarithmic axis.
WIDE = 30.0


def leaderboard(outcome):
    """Methods from the smallest error to the largest.

    Returns
    -------
    rows : list of dict
        With error, balanced (mean, low, high), difference to the first (mean, low, high) by the
        error that decides, tied (whether that interval holds 0), seconds and chosen parameters.
    """
    by = "error" if outcome.plan.by == "plain" else "balanced_error"
    other = "balanced_error" if by == "error" else "error"
    share = float(np.mean([len(test) / len(train) for train, test in outcome.splits]))
    values = {
        m.name: {
            kind: np.array([getattr(c, kind) for c in outcome.of(m.name)]) for kind in (by, other)
        }
        for m in outcome.methods
    }
    order = sorted(values, key=lambda n: (round(values[n][by].mean(), 10), values[n][other].mean()))
    best = values[order[0]][by]
    rows = []
    for name in order:
        cells = outcome.of(name)
        tested = sum(len(c.predicted) for c in cells)
        difference = corrected_interval(values[name][by] - best, share)
        rows.append(
            {
                "name": name,
                "title": METHODS[name].title,
                "ours": METHODS[name].ours,
                "error": error_interval(values[name]["error"], share),
                "balanced": error_interval(values[name]["balanced_error"], share),
                "difference": difference,
                "tied": bool(name == order[0] or difference[1] <= 0),
                "fit_seconds": float(np.mean([c.fit_seconds for c in cells])),
                "predict_ms": 1e6 * sum(c.predict_seconds for c in cells) / tested,
                "params": _usual_params(cells),
            }
        )
    return rows


def _usual_params(cells):
    """The parameters that were chosen most often, as text."""
    texts = Counter(
        ", ".join(
            f"{k} = {v:.3g}" if isinstance(v, float) else f"{k} = {v}" for k, v in c.params.items()
        )
        for c in cells
    )
    return texts.most_common(1)[0][0]


def table_rows(board, outcome):
    """Rows of results.csv: a line for each method."""
    names = ("error", "balanced", "difference")
    for rank, row in enumerate(board, 1):
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
            "folds": len(outcome.splits),
            "parameters": row["params"],
        }
        yield out


def findings(problem, outcome, refitted, board, about, seconds=SECONDS):
    """Everything the report shows, as plain values.

    Parameters
    ----------
    problem : Problem
        What was classified.
    outcome : Outcome
        All cells of the comparison.
    refitted : Refitted
        The winner on all objects.
    board : list of dict
        Of :func:`leaderboard`.
    about : dict
        What the model file says about itself.
    seconds : float
        How long the importance of the columns may take, and the learning curve: each of the two.

    Returns
    -------
    found : dict
        Plain values that JSON can hold.
    """
    labels = np.unique(problem.y)
    classes = [str(label) for label in labels]
    winner = board[0]["name"]
    codes = np.searchsorted(labels, problem.y)
    held = _held_out(outcome, winner, labels, problem)
    proba = softmax(held["scores"] / refitted.model.temperature, axis=1)
    truth, predicted = held["truth"], held["predicted"]
    counts = np.bincount(codes, minlength=len(classes))
    rows = per_class(classes, counts, truth, predicted, proba)
    confusion = _confusion(truth, predicted, len(classes))
    hardest, numbers = _hardest(problem, labels, held, proba, refitted)
    return {
        "format": FORMAT,
        "about": about,
        "problem": {
            "name": problem.name,
            "kind": problem.kind,
            "n": len(problem),
            "d": problem.X.shape[1] if problem.kind == "vectors" else None,
            "target": problem.target,
            "proximity": problem.proximity,
            "measure": problem.measure_name,
            "counts": [(str(k), n) for k, n in problem.counts.items()],
        },
        "notes": [str(note) for note in (*problem.notes, *outcome.notes)],
        "plan": vars(outcome.plan),
        "n_folds": len(outcome.splits),
        "seconds": outcome.seconds,
        "leaderboard": board,
        "winner": board[0],
        "chosen": refitted.params,
        "classes": classes,
        "per_class": rows,
        "confusion": confusion.tolist(),
        "curves": curves(rows, truth, proba),
        "calibration": calibration(
            truth, held["scores"], held["folds"], refitted.model.temperature
        ),
        "hardest": hardest,
        "distances": _own_other(refitted.d2, codes, classes),
        "pairs": _pairs(problem, refitted, codes, labels, confusion),
        "distance_title": METHODS[refitted.distance_method].title,
        "novelty": novelty(problem, refitted, codes, classes),
        "drift": drift(problem, refitted.d2, codes, classes),
        "spectrum": _spectrum(problem, refitted),
        **explain(problem, outcome, refitted, winner, numbers, seconds),
    }


def _held_out(outcome, winner, labels, problem):
    """All outer test parts of a method: truth and predictions as codes, scores, objects, folds."""
    cells = outcome.of(winner)
    who = np.concatenate([test for _, test in outcome.splits])
    predicted = np.concatenate([cell.predicted for cell in cells])
    return {
        "who": who,
        "truth": np.searchsorted(labels, problem.y[who]),
        "predicted": np.searchsorted(labels, predicted),
        "scores": np.vstack([cell.scores for cell in cells]),
        "folds": np.repeat(np.arange(len(cells)), [len(test) for _, test in outcome.splits]),
    }


def _confusion(truth, predicted, n):
    table = np.zeros((n, n), dtype=int)
    np.add.at(table, (truth, predicted), 1)
    return table


def _hardest(problem, labels, held, proba, refitted):
    """Objects that were misclassified most often, the surest errors first; and their numbers."""
    truth, predicted, who = held["truth"], held["predicted"], held["who"]
    wrong, total, own = (np.zeros(len(problem)) for _ in range(3))
    np.add.at(wrong, who, truth != predicted)
    np.add.at(total, who, 1)
    np.add.at(own, who, proba[np.arange(len(truth)), truth])
    own = own / np.maximum(total, 1)
    order = np.lexsort([own, -wrong / np.maximum(total, 1)])
    order = [int(i) for i in order[:MOST_HARD] if wrong[i]]
    as_far = others_as_far(refitted.d2, np.searchsorted(labels, problem.y))
    rows = []
    for i in order:
        votes = Counter(predicted[(who == i) & (predicted != truth)].tolist())
        rows.append(
            {
                "name": object_name(problem, i),
                "text": _object_text(problem, i),
                "class": str(problem.y[i]),
                "taken_for": str(labels[votes.most_common(1)[0][0]]),
                "wrong": int(wrong[i]),
                "times": int(total[i]),
                "own_probability": float(own[i]),
                "others_as_far": float(as_far[i]),
            }
        )
    return {"rows": rows, "wrong_objects": int((wrong > 0).sum())}, order


def _object_text(problem, i):
    """The start of an object that is a text, None for anything else."""
    if problem.kind != "objects" or not isinstance(problem.X[i], str):
        return None
    text = " ".join(problem.X[i].split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def others_as_far(d2, codes):
    """Of each object: the share of the others of its class that are at least as far from it.

    All by held-out distances. It is 0 for the farthest, however small the class; 1 for an object
    that is alone in its class.
    """
    shares = np.ones(len(codes))
    for j in range(d2.shape[1]):
        own = d2[codes == j, j]
        if len(own) > 1:
            as_far = len(own) - np.searchsorted(np.sort(own), own, side="left")
            shares[codes == j] = (as_far - 1) / (len(own) - 1)
    return shares


def _own_other(d2, codes, classes):
    """Histograms of the distances to the own class and to the nearest other one, by class.

    Distances are roots of squared ones. The last bin holds the 1 % that are farther, too; edges
    are in equal ratios where distances spread over a factor of more than `WIDE`.
    """
    rows = np.arange(len(codes))
    own = _roots(d2[rows, codes])
    others = d2.copy()
    others[rows, codes] = np.inf
    other = _roots(others.min(axis=1))
    values = np.concatenate([own, other])
    low, high = min(0.0, values.min()), np.quantile(values, 0.99)
    high = high if high > low else low + 1.0
    log = is_wide(values)
    if log:
        edges = np.geomspace(values.min(), high, HISTOGRAM_BINS + 1)
    else:
        edges = np.linspace(low, high, HISTOGRAM_BINS + 1)

    def counts(part):
        return np.histogram(np.clip(part, edges[0], edges[-1]), edges)[0].tolist()

    return {
        "edges": [float(f"{e:.5g}") for e in edges],
        "log": log,
        "classes": [
            {"name": name, "own": counts(own[codes == j]), "other": counts(other[codes == j])}
            for j, name in enumerate(classes)
        ],
    }


def is_wide(values):
    """Whether distances, all positive, spread over a factor of more than `WIDE`."""
    low, high = np.quantile(values, [0.01, 0.99])
    return bool(np.min(values) > 0 and high > WIDE * low)


def _roots(d2):
    """Distances; squared ones may be negative in a Kreĭn space, and keep their sign."""
    return np.sign(d2) * np.sqrt(np.abs(d2))


def _pairs(problem, refitted, codes, labels, confusion):
    """Distances to two classes at a time, the most often confused pair first."""
    errors = confusion + confusion.T
    pairs = sorted(combinations(range(len(labels)), 2), key=lambda ab: -errors[ab])[:MOST_PAIRS]
    most = min(MOST_POINTS_OF_PAIR, MOST_POINTS // len(pairs))
    last = flattened(refitted.model.distances)[-1]
    log_odds = None
    if pair_rule(last, [0, 1]) is None:
        log_odds = _log_odds(problem, refitted)
    found = []
    for a, b in pairs:
        rule = pair_rule(last, [a, b]) or _log_odds_rule(log_odds, last.classes_, [a, b])
        found.append(_pair(problem, refitted.d2, codes, labels, (a, b), most, rule))
    return found


def _pair(problem, d2, codes, labels, pair, most, rule):
    """Distances of the objects of two classes to both, and the regions of the rule."""
    a, b = pair
    mine = np.flatnonzero((codes == a) | (codes == b))
    n_objects = len(mine)
    if n_objects > most:
        mine = np.sort(np.random.default_rng(0).choice(mine, most, replace=False))
    points = _roots(d2[mine][:, [a, b]])
    high = np.quantile(points, 0.995, axis=0)
    low = points.min(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    inside = (points <= high + margin).all(axis=1)
    low, high = points[inside].min(axis=0), points[inside].max(axis=0)
    log = is_wide(points)
    if log:
        low, high = low / 1.15, high * 1.15
    else:
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        # No mark lies over the edge, and hardly any room is below a distance of 0.
        low = np.where(low >= 0, np.maximum(low - margin, -margin / 2), low - margin)
        high = high + margin
    regions, axes = None, None
    if rule is not None:
        space = np.geomspace if log else np.linspace
        axes = [space(lo, hi, GRID) for lo, hi in zip(low, high)]
        x, y = (v.ravel() for v in np.meshgrid(*axes))
        second = rule(np.column_stack([np.sign(v) * v**2 for v in (x, y)])) == labels[b]
        regions = "".join("01"[int(v)] for v in second)
        axes = [[float(f"{v:.5g}") for v in axis] for axis in axes]
    return {
        "classes": [str(labels[a]), str(labels[b])],
        "objects": n_objects,
        "points": [
            [float(f"{p:.5g}"), float(f"{q:.5g}"), int(codes[i] == b), object_name(problem, i)]
            for (p, q), i, ok in zip(points, mine, inside)
            if ok
        ],
        "left_out": int((~inside).sum()),
        "extent": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
        "log": log,
        "limits": [_limit(d2[codes == k, k]) for k in pair],
        "grid": axes,
        "regions": regions,
    }


def _limit(own):
    """The distance that CONFIDENCE of a class's new objects are within, None if it is too small."""
    limit = float(_roots(np.array(conformal_limit(own, 1 - CONFIDENCE))))
    return limit if np.isfinite(limit) else None


def _log_odds(problem, refitted):
    """Squared distances and log-probabilities of some objects, None if the model has not both."""
    *steps, last = flattened(refitted.model.distances)
    if not hasattr(last, "predict_log_proba"):
        return None
    X = problem.X
    if len(problem) > RULE_OBJECTS:
        X = take(X, np.linspace(0, len(problem) - 1, RULE_OBJECTS).astype(int))
    for step in steps:
        X = step.transform(X)
    return last.mahalanobis(X), last.predict_log_proba(X)


def _log_odds_rule(log_odds, labels, columns):
    """The rule where the log-odds of two classes are half the difference of d² plus a constant."""
    if log_odds is None:
        return None
    d2, logs = (values[:, columns] for values in log_odds)
    rest = logs[:, 1] - logs[:, 0] - (d2[:, 0] - d2[:, 1]) / 2
    if not np.ptp(rest) <= 1e-6 * max(1.0, np.abs(d2).max()):
        return None
    labels, constant = labels[columns], rest.mean()
    return lambda d2: labels[((d2[:, 0] - d2[:, 1]) / 2 + constant > 0).astype(int)]


def _spectrum(problem, refitted):
    """Eigenvalues of the centred kernel, in descending order; None without a kernel."""
    if problem.kind == "vectors":
        last = flattened(refitted.model.distances)[-1]
        if not hasattr(last, "kernel_spectrum") or len(problem) > SPECTRUM_OBJECTS:
            return None
        values = last.kernel_spectrum()
        what = "the kernel matrix of the model's distances"
    else:
        if len(problem) > SPECTRUM_OBJECTS:
            return None
        data = Data(problem)
        everyone = np.arange(len(problem))
        M = data.fold(everyone, everyone)[0]
        K = M.copy() if problem.proximity == "similarity" else -(M**2) / 2
        values = eigh(center_gram(K, centering(K), overwrite=True), vectors=False).values
        what = "the centred similarities" if problem.proximity == "similarity" else "−d²/2, centred"
    p, q = signature(values)
    values = np.sort(values)[::-1]
    kept = np.arange(len(values))
    if len(values) > MOST_EIGENVALUES:  # the ends, and every k-th between them
        ends = MOST_EIGENVALUES // 4
        between = np.linspace(ends, len(values) - ends - 1, MOST_EIGENVALUES - 2 * ends)
        kept = np.r_[kept[:ends], between.round().astype(int), kept[-ends:]]
    return {
        "values": [float(f"{v:.6g}") for v in values[kept]],
        "positions": (kept + 1).tolist(),
        "what": what,
        "signature": [int(p), int(q)],
        "negative_fraction": float(negative_fraction(values)),
    }
