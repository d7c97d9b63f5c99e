"""How typical objects are of the classes, and whether the file drifts, as plain values."""

import numpy as np

from ...formulas.conformal import class_coverage, rank_p_values, rank_sum_p_value
from .model import class_margins, margin, margin_sets

CONFIDENCE = 0.95
MOST_UNUSUAL = 10
# Objects of a class that a test of its two halves needs.
LEAST = 10


def novelty(problem, refitted, codes, classes, held):
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
    held : HeldOut
        Held-out predictions of the winner, whose margins make the prediction sets.

    Returns
    -------
    values : dict
        confidence, coverage (a row for each class) and rows (the most unusual objects).
    """
    least = refitted.d2.min(axis=1)
    none = held_out_p_none(least, refitted.parts, problem.independent())
    sets, tested = held_out_sets(held, problem.independent(by_class=True))
    share = class_coverage(sets, tested, CONFIDENCE)
    coverage = []
    for j, name in enumerate(classes):
        others = tested != j
        coverage.append(
            {
                "name": name,
                "objects": int(share.counts[j]),
                "covered": float(share.coverage[j]),
                "expected": [float(share.lower[j]), float(share.upper[j])],
                "size": float(share.mean_size[j]),
                "accepted": float(sets[others, j].mean()) if others.any() else None,
            }
        )
    order = np.argsort(none, kind="stable")[:MOST_UNUSUAL]
    nearest = refitted.d2.argmin(axis=1)
    return {
        "confidence": CONFIDENCE,
        "mean_size": float(sets.sum(axis=1).mean()),
        "single": float((sets.sum(axis=1) == 1).mean()),
        "p_none": none,
        "coverage": coverage,
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
    }


def held_out_sets(held, independent):
    """Prediction sets (m, c) of held-out objects by the winner's margins, and their classes (m,).

    The margins of the objects of a fold are ranked among those of the other folds. independent
    (n,): mask of the objects that are ranked.
    """
    first = held.first_predictions(independent)
    scores, codes, folds = held.scores[first], held.truth[first], held.folds[first]
    sets = np.zeros(scores.shape, dtype=bool)
    for fold in np.unique(folds):
        inside = folds == fold
        calibration = class_margins(scores[~inside], codes[~inside])
        sets[inside] = margin_sets(calibration, margin(scores[inside]), CONFIDENCE)
    return sets, codes


def held_out_p_none(nearest, parts, independent):
    """p-values (n,) of squared distances to the nearest class, by the objects of other folds.

    independent (n,): mask of the objects among which others are ranked.
    """
    none = np.full(len(nearest), np.nan)
    for part in parts:
        others = np.setdiff1d(np.flatnonzero(independent), part)
        none[part] = rank_p_values([(nearest[others], nearest[part])])
    return none


def drift(problem, d2, codes, classes):
    """Tests of later rows of the file lying farther from their class than the earlier ones.

    The folds are drawn without regard to the order of the rows, so that the held-out distances of a
    class are exchangeable if its objects are, and the rank-sum test is exact. None where there are
    groups, whose objects are not.
    """
    if problem.groups is not None:
        return None
    rows = []
    for j, name in enumerate(classes):
        members = np.flatnonzero(codes == j)
        if len(members) < LEAST:
            continue
        to_class, half = d2[members, j], len(members) // 2
        rows.append(
            {
                "name": name,
                "objects": len(members),
                "medians": [float(np.median(to_class[:half])), float(np.median(to_class[half:]))],
                "p_value": rank_sum_p_value(to_class[:half], to_class[half:], "two-sided"),
            }
        )
    return {"rows": rows} if rows else None
