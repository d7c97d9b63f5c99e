"""A comparison as plain values, for the report.

:func:`findings` takes what was computed and returns one dict of texts, numbers, lists and dicts.
The report needs nothing else, so that a saved copy (comparison.json) can be rendered again without
data and models. Parts that a problem does not have are None.
"""

import json
from collections import Counter
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.metrics import confusion_matrix

from ...display import conformal_limit
from ...formulas.linalg import negative_fraction, signature
from .methods import DISTANCE_METHODS
from .object_map import object_map
from .predictions import calibration, per_class, roc_curves
from .typicality import CONFIDENCE, drift, novelty

# Version of the plain values.
FORMAT = 3
MOST_HARD = 10
LONGEST_TEXT = 120
# Pairs of classes, of those that are confused, whose distances are shown, and points of all pairs.
MOST_PAIRS = 2
MOST_POINTS = 2400
MOST_POINTS_OF_PAIR = 600
MOST_EIGENVALUES = 400
# Bins of a column's values, columns that have them, and classes that are counted apart.
BINS, MOST_COLUMNS, MOST_SHAPES = 16, 200, 4
# Distances that spread over more than this factor are shown on a logarithmic axis.
WIDE = 30.0


class Errors(NamedTuple):
    """How often each object was misclassified."""

    wrong: np.ndarray
    times: np.ndarray  # predictions of it
    true_probability: np.ndarray  # mean probability of its class
    order: list  # objects that were misclassified most often, the surest errors first


def count_errors(held, proba):
    """The errors of held-out predictions (HeldOut) with their probabilities (m, c)."""
    wrong, times, true_probability = (np.zeros(held.who.max() + 1) for _ in range(3))
    np.add.at(wrong, held.who, held.truth != held.predicted)
    np.add.at(times, held.who, 1)
    np.add.at(true_probability, held.who, proba[np.arange(len(held.truth)), held.truth])
    true_probability = true_probability / np.maximum(times, 1)
    order = np.lexsort([true_probability, -wrong / np.maximum(times, 1)])
    return Errors(wrong, times, true_probability, [int(i) for i in order[:MOST_HARD] if wrong[i]])


def findings(ranked, winner, held, proba, errors, explained):
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
    explained : dict
        Importance, contributions and learning curve of the winner.

    Returns
    -------
    values : dict
        Plain values that JSON can hold.
    """
    problem, refitted, about = winner
    explained = dict(explained)
    outcome, board, training = ranked.outcome, ranked.board, about["training"]
    labels, codes = np.unique(problem.y, return_inverse=True)
    classes = [str(label) for label in labels]
    rows = per_class(classes, np.bincount(codes), held.truth, held.predicted, proba)
    confusion = confusion_matrix(held.truth, held.predicted, labels=range(len(classes)))
    unusual = novelty(problem, refitted, codes, classes, held)
    p_none, temperature = unusual.pop("p_none"), refitted.model.temperature
    reasons = explained.pop("reasons")
    points, eigenvalues = object_map(problem, held, p_none, reasons, temperature, outcome.plan.seed)
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
        "folds_key": _folds_key(problem.y, outcome.splits),
        "columns": _with_shapes(problem, codes, len(classes)),
        "seconds": outcome.seconds,
        "leaderboard": board,
        "winner": board[0],
        "chosen": refitted.params,
        "classes": classes,
        "per_class": rows,
        "confusion": confusion.tolist(),
        "curves": roc_curves(rows, held.truth, proba),
        "calibration": calibration(held.truth, held.scores, held.folds, temperature),
        "hardest": _hardest(problem, labels, codes, held, errors, refitted.d2, reasons),
        "pairs": _pairs(problem, refitted.d2, codes, labels, confusion),
        "distance_title": DISTANCE_METHODS[refitted.distance_method].title,
        "novelty": unusual,
        "map": points,
        "drift": drift(problem, refitted.d2, codes, classes),
        "spectrum": None if eigenvalues is None else _spectrum(eigenvalues),
        **explained,
    }


def _with_shapes(problem, codes, n_classes):
    """The overview of the columns, with how often values lie in each of `BINS` bins, by class.

    Bins of a number reach from its 1st to its 99th percentile; those of a category are its most
    frequent values. The classes are counted together if they are many.
    """
    lines = [dict(line) for line in problem.overview]
    columns = {str(name): name for name in problem.X.columns} if problem.kind == "vectors" else {}
    if n_classes > MOST_SHAPES:
        codes, n_classes = np.zeros(len(codes), dtype=int), 1
    for line in lines[:MOST_COLUMNS]:
        if line["name"] in columns and line["role"] == "feature":
            bins = _binned(problem.X[columns[line["name"]]])
            line["shape"] = [
                np.bincount(bins[(codes == k) & (bins >= 0)], minlength=BINS).tolist()
                for k in range(n_classes)
            ]
    return lines


def _binned(column):
    """The number of the bin of each value, -1 of those in none."""
    from pandas.api.types import is_numeric_dtype

    if not is_numeric_dtype(column):
        frequent = {value: k for k, value in enumerate(column.value_counts().index[:BINS])}
        return column.map(frequent).fillna(-1).to_numpy(dtype=int)
    values = column.to_numpy(dtype=float, na_value=np.nan)
    low, high = np.nanquantile(values, [0.01, 0.99])
    with np.errstate(invalid="ignore"):
        bins = np.clip(BINS * (values - low) / ((high - low) or 1.0), 0, BINS - 1)
    return np.where(np.isnan(values), -1, bins).astype(int)


def _folds_key(y, splits):
    """A text that is the same for runs on the same classes in the same order and folds."""
    parts = [y.tolist(), [test.tolist() for _, test in splits]]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _hardest(problem, labels, codes, held, errors, d2, reasons):
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
                "own_probability": float(errors.true_probability[i]),
                "others_as_far": float(as_far[i]),
                "reasons": reasons.get(i, []),
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
        to_class = d2[codes == j, j]
        if len(to_class) > 1:
            as_far = len(to_class) - np.searchsorted(np.sort(to_class), to_class, side="left")
            shares[codes == j] = (as_far - 1) / (len(to_class) - 1)
    return shares


def is_wide(values):
    """True if distances, all positive, spread over a factor of more than `WIDE`."""
    low, high = np.quantile(values, [0.01, 0.99])
    return bool(np.min(values) > 0 and high > WIDE * low)


def _roots(d2):
    """Distances; squared ones may be negative in a Kreĭn space, and keep their sign."""
    return np.sign(d2) * np.sqrt(np.abs(d2))


def _pairs(problem, d2, codes, labels, confusion):
    """Distances to two classes at a time, the most often confused pair first."""
    errors = confusion + confusion.T
    pairs = sorted(combinations(range(len(labels)), 2), key=lambda ab: -errors[ab])[:MOST_PAIRS]
    pairs = [pair for pair in pairs if errors[pair]] or pairs[:1]
    most = min(MOST_POINTS_OF_PAIR, MOST_POINTS // len(pairs))
    return [_pair(problem, d2, codes, labels, pair, most) for pair in pairs]


def _pair(problem, d2, codes, labels, pair, most):
    """Distances of the objects of two classes to both."""
    a, b = pair
    members = np.flatnonzero((codes == a) | (codes == b))
    n_objects = len(members)
    if n_objects > most:
        members = np.sort(np.random.default_rng(0).choice(members, most, replace=False))
    points = _roots(d2[members][:, [a, b]])
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
    return {
        "classes": [str(labels[a]), str(labels[b])],
        "objects": n_objects,
        "points": [
            [float(f"{p:.5g}"), float(f"{q:.5g}"), int(codes[i] == b), problem.called(i)]
            for (p, q), i, ok in zip(points, members, inside)
            if ok
        ],
        "left_out": int((~inside).sum()),
        "extent": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
        "log": log,
        "limits": [_limit(d2[codes == k, k]) for k in pair],
    }


def _limit(d2):
    """The distance that CONFIDENCE of a class's new objects are within, None if it is too small."""
    limit = float(_roots(np.array(conformal_limit(d2, 1 - CONFIDENCE))))
    return limit if np.isfinite(limit) else None


def _spectrum(eigenvalues):
    """Eigenvalues of the centred kernel, in descending order."""
    p, q = signature(eigenvalues)
    values = np.sort(eigenvalues)[::-1]
    shown = np.arange(len(values))
    if len(values) > MOST_EIGENVALUES:  # the ends, and every k-th between them
        ends = MOST_EIGENVALUES // 4
        between = np.linspace(ends, len(values) - ends - 1, MOST_EIGENVALUES - 2 * ends)
        shown = np.r_[shown[:ends], between.round().astype(int), shown[-ends:]]
    return {
        "values": [float(f"{v:.6g}") for v in values[shown]],
        "positions": (shown + 1).tolist(),
        "signature": [int(p), int(q)],
        "negative_fraction": float(negative_fraction(values)),
    }
