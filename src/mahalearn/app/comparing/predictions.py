"""Held-out predictions as plain values: results by class, curves and calibration.

Every prediction is of an object that its model had not seen. The predictions of all outer test
parts are pooled; with repeated folds each object counts once for each repetition.
"""

import numpy as np
from scipy.special import softmax

from ...formulas.calibration import fit_temperature
from .ranking import share_interval

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

    every = np.arange(len(classes))
    areas = dict.fromkeys(every, (None, None))
    tested = np.bincount(truth, minlength=len(classes))
    both = every[(tested > 0) & (tested < len(truth))]
    if len(both):
        members = truth[:, None] == both
        scores = roc_auc_score, average_precision_score
        columns = (score(members, proba[:, both], average=None).tolist() for score in scores)
        areas |= dict(zip(both, zip(*columns)))
    right = np.bincount(truth[truth == predicted], minlength=len(classes))
    called = np.bincount(predicted, minlength=len(classes))
    ratios = ((right, called), (right, tested), (2 * right, tested + called))
    ratios = [[a / b if b else None for a, b in zip(*map(np.ndarray.tolist, r))] for r in ratios]
    numbers = (v.tolist() for v in (np.asarray(counts), tested, called, right))
    keys = ("name", "objects", "tested", "predicted", "right", "precision", "recall", "f1")
    keys += ("auc", "average_precision")
    return [
        dict(zip(keys, (*row, *areas[j]))) for j, row in enumerate(zip(classes, *numbers, *ratios))
    ]


def roc_curves(rows, truth, proba):
    """ROC curves of each class against the rest.

    With more than `MOST_CURVES` classes, of those with the smallest areas. Of two classes the curve
    is drawn for the rarer one alone, since the other one is its mirror image.

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
    curves : list of dict
        Of {"name", "x", "y", "area", "share"}.
    """
    from sklearn.metrics import roc_curve

    order = [j for j, row in enumerate(rows) if row["auc"] is not None]
    if len(order) > MOST_CURVES:
        order = sorted(sorted(order, key=lambda j: rows[j]["auc"])[:MOST_CURVES])
    curves = []
    for j in order:
        members = truth == j
        false, true, _ = roc_curve(members, proba[:, j])
        about = {"name": rows[j]["name"], "share": float(members.mean()), "area": rows[j]["auc"]}
        curves.append({**about, **_thinned(false, true)})
    if len(rows) == 2 and len(curves) == 2:
        curves = [min(curves, key=lambda curve: curve["share"])]
    return curves


def _thinned(x, y):
    """Points of a curve at equal lengths along it."""
    if len(x) > CURVE_POINTS:
        along = np.r_[0.0, np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))]
        at = np.searchsorted(along, np.linspace(0, along[-1], CURVE_POINTS))
        shown = np.unique(np.r_[0, np.minimum(at, len(x) - 1), len(x) - 1])
        x, y = x[shown], y[shown]
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
    values : dict
        before and after (see :func:`reliability`), temperature (mean over the folds),
        saved_temperature, and guess, the log loss of the classes' shares.
    """
    after = np.zeros_like(scores)
    temperatures = []
    for fold in np.unique(folds):
        inside = folds == fold
        rest = ~inside if (~inside).any() else inside
        T = fit_temperature(scores[rest], truth[rest])
        temperatures.append(T)
        after[inside] = softmax(scores[inside] / T, axis=1)
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
    values : dict
        bins of {"predicted", "right", "interval", "count"}, log_loss, brier, and ece: the mean
        distance of the first two over the bins, weighted by counts.
    """
    top, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    order = np.argsort(top, kind="stable")
    bins = []
    for part in np.array_split(order, min(BINS, max(1, len(order) // 10))):
        if bins and top[part].mean() - top[bins[-1]].mean() < NARROWEST:
            bins[-1] = np.append(bins[-1], part)  # one place, however many objects are there
        else:
            bins.append(part)
    true_probability = np.maximum(proba[np.arange(len(truth)), truth], 1e-12)
    gaps = [len(part) * abs(top[part].mean() - right[part].mean()) for part in bins]
    return {
        "bins": [
            {
                "predicted": float(top[part].mean()),
                "right": float(right[part].mean()),
                "interval": share_interval(int(right[part].sum()), len(part)),
                "count": len(part),
            }
            for part in bins
        ],
        "log_loss": float(-np.log(true_probability).mean()),
        "brier": float(((proba - np.eye(proba.shape[1])[truth]) ** 2).sum(axis=1).mean()),
        "ece": float(sum(gaps) / len(truth)),
    }
