"""A comparison as plain values, for the report.

:func:`findings` takes what was computed and returns one dict of texts, numbers, lists and dicts.
The report needs nothing else, so that a saved copy (comparison.json) can be rendered again without
data and models. Parts that a problem does not have are None.
"""

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from ...display import conformal_limit, pair_rule
from ...formulas.calibration import fit_temperature
from ...formulas.conformal import class_coverage, prediction_sets, rank_p_values, rank_sum_p_value
from ...formulas.linalg import negative_fraction, signature
from .methods import METHODS

# Version of the plain values.
FORMAT = 2
MOST_HARD = 10
LONGEST_TEXT = 120
# Pairs of classes whose distances are kept, and points of all of them together.
MOST_PAIRS = 10
MOST_POINTS = 2400
MOST_POINTS_OF_PAIR = 600
MOST_EIGENVALUES = 400
GRID = 80
HISTOGRAM_BINS = 36
# Distances that spread over more than this factor are shown on a logarithmic axis.
WIDE = 30.0


class Errors(NamedTuple):
    """How often each object was misclassified."""

    wrong: np.ndarray
    times: np.ndarray  # predictions of it
    own: np.ndarray  # mean probability of its class
    order: list  # objects that were misclassified most often, the surest errors first


def count_errors(held, proba):
    """The errors of held-out predictions (HeldOut) with their probabilities (m, c)."""
    wrong, times, own = (np.zeros(held.who.max() + 1) for _ in range(3))
    np.add.at(wrong, held.who, held.truth != held.predicted)
    np.add.at(times, held.who, 1)
    np.add.at(own, held.who, proba[np.arange(len(held.truth)), held.truth])
    own = own / np.maximum(times, 1)
    order = np.lexsort([own, -wrong / np.maximum(times, 1)])
    return Errors(wrong, times, own, [int(i) for i in order[:MOST_HARD] if wrong[i]])


def findings(ranked, winner, held, proba, errors, look, explained):
    """Everything the report shows, as plain values.

    Parameters
    ----------
    ranked : Ranked
        The outcome of the comparison and its leaderboard.
    winner : Winner
        The problem, the winner on all objects, and what its file says about itself.
    held : HeldOut
        Held-out predictions of the winner.
    proba : ndarray of shape (m, c)
        Their calibrated probabilities.
    errors : Errors
        Which objects they misclassify.
    look : Look
        How the winner decides by distances, and its kernel.
    explained : dict
        Importance, contributions and learning curve of the winner.

    Returns
    -------
    found : dict
        Plain values that JSON can hold.
    """
    problem, refitted, about = winner
    outcome, board, training = ranked.outcome, ranked.board, about["training"]
    labels, codes = np.unique(problem.y, return_inverse=True)
    classes = [str(label) for label in labels]
    rows = per_class(classes, np.bincount(codes), held.truth, held.predicted, proba)
    confusion = _confusion(held.truth, held.predicted, len(classes))
    return {
        "format": FORMAT,
        "about": about,
        "problem": {
            "name": about["data"],
            "kind": about["kind"],
            "n": training["objects"],
            "d": problem.X.shape[1] if problem.kind == "vectors" else None,
            "target": about["target"],
            "proximity": about["proximity"],
            "measure": about["measure"],
            "counts": list(training["counts"].items()),
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
        "curves": curves(rows, held.truth, proba),
        "calibration": calibration(held.truth, held.scores, held.folds, refitted.model.temperature),
        "hardest": _hardest(problem, labels, codes, held, errors, refitted.d2),
        "distances": _own_other(refitted.d2, codes, classes),
        "pairs": _pairs(problem, refitted.d2, look, codes, labels, confusion),
        "distance_title": METHODS[refitted.distance_method].title,
        "novelty": novelty(problem, refitted, codes, classes),
        "drift": drift(problem, refitted.d2, codes, classes),
        "spectrum": _spectrum(look),
        **explained,
    }


def _confusion(truth, predicted, n):
    table = np.zeros((n, n), dtype=int)
    np.add.at(table, (truth, predicted), 1)
    return table


def _hardest(problem, labels, codes, held, errors, d2):
    """The objects that were misclassified most often."""
    as_far, rows = others_as_far(d2, codes), []
    for i in errors.order:
        taken = held.predicted[(held.who == i) & (held.predicted != held.truth)]
        rows.append(
            {
                "name": problem.called(i),
                "text": _object_text(problem, i),
                "class": str(problem.y[i]),
                "taken_for": str(labels[Counter(taken.tolist()).most_common(1)[0][0]]),
                "wrong": int(errors.wrong[i]),
                "times": int(errors.times[i]),
                "own_probability": float(errors.own[i]),
                "others_as_far": float(as_far[i]),
            }
        )
    return {"rows": rows, "wrong_objects": int((errors.wrong > 0).sum())}


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


def _pairs(problem, d2, look, codes, labels, confusion):
    """Distances to two classes at a time, the most often confused pair first."""
    errors = confusion + confusion.T
    pairs = sorted(combinations(range(len(labels)), 2), key=lambda ab: -errors[ab])[:MOST_PAIRS]
    most = min(MOST_POINTS_OF_PAIR, MOST_POINTS // len(pairs))
    found = []
    for a, b in pairs:
        rule = pair_rule(look.last, [a, b])
        rule = rule or _log_odds_rule(look.log_odds, look.last.classes_, [a, b])
        found.append(_pair(problem, d2, codes, labels, (a, b), most, rule))
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
            [float(f"{p:.5g}"), float(f"{q:.5g}"), int(codes[i] == b), problem.called(i)]
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


def _spectrum(look):
    """Eigenvalues of the centred kernel, in descending order; None without a kernel."""
    if look.spectrum is None:
        return None
    p, q = signature(look.spectrum)
    values = np.sort(look.spectrum)[::-1]
    kept = np.arange(len(values))
    if len(values) > MOST_EIGENVALUES:  # the ends, and every k-th between them
        ends = MOST_EIGENVALUES // 4
        between = np.linspace(ends, len(values) - ends - 1, MOST_EIGENVALUES - 2 * ends)
        kept = np.r_[kept[:ends], between.round().astype(int), kept[-ends:]]
    return {
        "values": [float(f"{v:.6g}") for v in values[kept]],
        "positions": (kept + 1).tolist(),
        "what": look.kernel,
        "signature": [int(p), int(q)],
        "negative_fraction": float(negative_fraction(values)),
    }


# --- held-out predictions: classes, curves, calibration -------------------------------------------
#
# Every prediction is of an object that its model had not seen. The predictions of all outer test
# parts are pooled; with repeated folds each object counts once for each repetition.

BINS = 8
# Bins of probabilities that differ by less would hide each other.
NARROWEST = 0.01
# Curves that one figure holds, and points of a curve.
MOST_CURVES = 8
CURVE_POINTS = 60


def per_class(classes, counts, truth, predicted, proba):
    """Precision, recall, F1 and areas under the curves of each class.

    Parameters
    ----------
    classes : list of str
        Names, in the order of the codes.
    counts : list of int
        Objects of each class.
    truth, predicted : ndarray of shape (m,)
        Codes.
    proba : ndarray of shape (m, c)
        Held-out probabilities.

    Returns
    -------
    rows : list of dict
        A row for each class; a ratio without a denominator is None.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    rows = []
    for j, name in enumerate(classes):
        mine, called = truth == j, predicted == j
        right = int((mine & called).sum())
        tested, predictions = int(mine.sum()), int(called.sum())
        both = 0 < tested < len(truth)
        rows.append(
            {
                "name": name,
                "objects": int(counts[j]),
                "tested": tested,
                "predicted": predictions,
                "right": right,
                "precision": right / predictions if predictions else None,
                "recall": right / tested if tested else None,
                "f1": 2 * right / (tested + predictions) if tested + predictions else None,
                "auc": float(roc_auc_score(mine, proba[:, j])) if both else None,
                "average_precision": float(average_precision_score(mine, proba[:, j]))
                if both
                else None,
            }
        )
    return rows


def curves(rows, truth, proba):
    """ROC and precision-recall curves of each class against the rest.

    With more than `MOST_CURVES` classes, of those with the smallest areas. Of two classes the ROC
    curve is drawn for the rarer one alone, since the other one is its mirror image.

    Parameters
    ----------
    rows : list of dict
        Of :func:`per_class`.
    truth : ndarray of shape (m,)
        Codes.
    proba : ndarray of shape (m, c)
        Held-out probabilities.

    Returns
    -------
    found : dict
        roc and precision_recall: lists of {"name", "x", "y", "area", "share"}.
    """
    from sklearn.metrics import precision_recall_curve, roc_curve

    order = [j for j, row in enumerate(rows) if row["auc"] is not None]
    if len(order) > MOST_CURVES:
        order = sorted(sorted(order, key=lambda j: rows[j]["auc"])[:MOST_CURVES])
    roc, precision_recall = [], []
    for j in order:
        mine = truth == j
        about = {"name": rows[j]["name"], "share": float(mine.mean())}
        false, true, _ = roc_curve(mine, proba[:, j])
        roc.append({**about, "area": rows[j]["auc"], **_thinned(false, true)})
        precision, recall, _ = precision_recall_curve(mine, proba[:, j])
        area = rows[j]["average_precision"]
        precision_recall.append({**about, "area": area, **_thinned(recall[::-1], precision[::-1])})
    if len(rows) == 2 and len(roc) == 2:
        roc = [min(roc, key=lambda curve: curve["share"])]
    return {"roc": roc, "precision_recall": precision_recall}


def _thinned(x, y):
    """Points of a curve at equal lengths along it."""
    if len(x) > CURVE_POINTS:
        along = np.r_[0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))]
        at = np.searchsorted(along, np.linspace(0, along[-1], CURVE_POINTS))
        kept = np.unique(np.r_[0, np.minimum(at, len(x) - 1), len(x) - 1])
        x, y = x[kept], y[kept]
    return {"x": np.round(x, 4).tolist(), "y": np.round(y, 4).tolist()}


def calibration(truth, scores, folds, saved_temperature):
    """Calibration before and after temperature scaling.

    Before: softmax of the scores as they are. After: softmax(scores/T), with the T of each outer
    fold fitted on the scores of the other folds, so that no object calibrates itself.

    Parameters
    ----------
    truth : ndarray of shape (m,)
        Codes.
    scores : ndarray of shape (m, c)
        Scores, or logarithms of probabilities.
    folds : ndarray of shape (m,)
        Number of the outer fold of each prediction.
    saved_temperature : float
        What the saved model divides its scores by.

    Returns
    -------
    found : dict
        before and after (see :func:`reliability`), temperature (mean over the folds),
        saved_temperature, and guess, the log loss of the classes' shares.
    """
    after = np.zeros_like(scores)
    temperatures = []
    for fold in np.unique(folds):
        mine = folds == fold
        rest = ~mine if (~mine).any() else mine
        T = fit_temperature(scores[rest], truth[rest])
        temperatures.append(T)
        after[mine] = softmax(scores[mine] / T, axis=1)
    share = np.bincount(truth, minlength=scores.shape[1]) / len(truth)
    share = share[share > 0]
    return {
        "before": reliability(truth, softmax(scores, axis=1)),
        "after": reliability(truth, after),
        "temperature": float(np.mean(temperatures)),
        "saved_temperature": float(saved_temperature),
        "guess": float(-(share * np.log(share)).sum()),
    }


def reliability(truth, proba):
    """Bins of equal counts of the probability of the predicted class; equal ones are one bin.

    Parameters
    ----------
    truth : ndarray of shape (m,)
        Codes.
    proba : ndarray of shape (m, c)
        Probabilities.

    Returns
    -------
    found : dict
        bins of {"predicted", "right", "count"}, log_loss, brier, and ece: the mean distance of the
        two over the bins, weighted by counts.
    """
    top, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    order = np.argsort(top, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, max(1, len(order) // 10))):
        if bins and top[part].mean() - top[bins[-1]].mean() < NARROWEST:
            bins[-1] = np.append(bins[-1], part)  # one place, however many objects are there
        else:
            bins.append(part)
    own = np.maximum(proba[np.arange(len(truth)), truth], 1e-12)
    gaps = [len(part) * abs(top[part].mean() - right[part].mean()) for part in bins]
    return {
        "bins": [
            {
                "predicted": float(top[part].mean()),
                "right": float(right[part].mean()),
                "count": len(part),
            }
            for part in bins
        ],
        "log_loss": float(-np.log(own).mean()),
        "brier": float(((proba - np.eye(proba.shape[1])[truth]) ** 2).sum(axis=1).mean()),
        "ece": float(sum(gaps) / len(truth)),
    }


# --- how typical objects are of the classes, and whether the file drifts --------------------------

CONFIDENCE = 0.95
MOST_UNUSUAL = 10
# Classes whose curves one figure holds.
MOST_CLASSES = 7
POINTS = 60
# Objects of a class that a test of its two halves needs.
LEAST = 10


def novelty(problem, refitted, codes, classes):
    """Coverage by class, the typicality of the objects and the most unusual ones.

    An object is compared with the objects of the other folds, each measured by the model of its own
    fold: no object, and no object of its fold, calibrates its own p-value.

    Parameters
    ----------
    problem : Problem
        What was classified.
    refitted : Refitted
        The winner and its held-out distances.
    codes : ndarray of shape (n,)
        Class of each object.
    classes : list of str
        Names.

    Returns
    -------
    found : dict
        confidence, coverage (a row for each class), curves and rows (the most unusual objects).
    """
    p, none = _held_out_p_values(refitted.d2, codes, refitted.parts)
    sets = prediction_sets(p, CONFIDENCE)
    share = class_coverage(sets, codes, CONFIDENCE)
    coverage = []
    for j, name in enumerate(classes):
        others = codes != j
        coverage.append(
            {
                "name": name,
                "objects": int(share.counts[j]),
                "covered": float(share.coverage[j]),
                "expected": [float(share.lower[j]), float(share.upper[j])],
                "size": float(share.mean_size[j]),
                "empty": float(share.empty[j]),
                "accepted": float(sets[others, j].mean()) if others.any() else None,
            }
        )
    own = p[np.arange(len(codes)), codes]
    curves = [_curve("its own class", own)]
    hardest = sorted(range(len(classes)), key=lambda j: -(coverage[j]["accepted"] or 0.0))
    for j in sorted(hardest[:MOST_CLASSES]):
        curves.append(_curve(classes[j], p[codes != j, j]))
    order = np.argsort(none, kind="stable")[:MOST_UNUSUAL]
    nearest = refitted.d2.argmin(axis=1)
    return {
        "confidence": CONFIDENCE,
        "coverage": coverage,
        "curves": curves,
        "rows": [
            {
                "name": problem.called(i),
                "class": classes[codes[i]],
                "nearest": classes[nearest[i]],
                "p_value": float(none[i]),
            }
            for i in order
            if none[i] <= 1 - CONFIDENCE
        ],
        "models": len(refitted.model.folds),
        "folds": len(refitted.parts),
    }


def _held_out_p_values(d2, codes, parts):
    """p-values (n, c) and p_none (n,) of the objects of each fold by those of the others."""
    p, none = np.full_like(d2, np.nan), np.full(len(d2), np.nan)
    nearest = d2.min(axis=1)
    for part in parts:
        rest = np.setdiff1d(np.arange(len(d2)), part)
        none[part] = rank_p_values(nearest[rest], nearest[part])
        for j in range(d2.shape[1]):
            p[part, j] = rank_p_values(d2[rest[codes[rest] == j], j], d2[part, j])
    return p, none


def _curve(name, p):
    """The share of p-values up to each value."""
    x = np.unique(np.r_[0.0, np.quantile(p, np.linspace(0, 1, POINTS)), 1.0])
    y = np.searchsorted(np.sort(p), x, side="right") / len(p)
    return {
        "name": name,
        "x": np.round(x, 4).tolist(),
        "y": np.round(y, 4).tolist(),
        "rejected": float((p <= 1 - CONFIDENCE + 1e-12).mean()),
    }


def drift(problem, d2, codes, classes):
    """Whether the later rows of the file lie farther from their class than the earlier ones.

    The folds are drawn without regard to the order of the rows, so that the held-out distances of a
    class are exchangeable if its objects are, and the rank-sum test is exact. None where there are
    groups, whose objects are not.
    """
    if problem.groups is not None:
        return None
    rows = []
    for j, name in enumerate(classes):
        mine = np.flatnonzero(codes == j)
        if len(mine) < LEAST:
            continue
        own, half = d2[mine, j], len(mine) // 2
        rows.append(
            {
                "name": name,
                "objects": len(mine),
                "medians": [float(np.median(own[:half])), float(np.median(own[half:]))],
                "p_value": rank_sum_p_value(own[:half], own[half:], "two-sided"),
            }
        )
    return {"rows": rows} if rows else None
