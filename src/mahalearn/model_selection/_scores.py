"""Scores of folds: metrics, scikit-learn's scorers, calibration."""

from functools import cache
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer


def fold_metrics(scores, truth, starts, classes, scoring=None):
    """The metric of each fold: scores (m, c) and labels of all folds, fold f from starts[f] on.

    Where a scorer asks for probabilities, they are calibrated as those of the fitted search are: by
    one temperature, from the held-out scores of all folds.
    """
    predicted = classes[scores.argmax(axis=1)]
    if scoring in (None, "accuracy"):
        return np.add.reduceat((predicted == truth).astype(float), starts[:-1]) / np.diff(starts)
    folds = [slice(a, b) for a, b in pairwise(starts)]
    if scoring == "balanced_accuracy":
        return np.array([_balanced(truth[fold], predicted[fold]) for fold in folds])
    temperature = cache(lambda: fit_temperature(scores, np.searchsorted(classes, truth)))
    return np.array(
        [score_table(scoring, classes, scores[fold], truth[fold], temperature) for fold in folds]
    )


def score_table(scoring, classes, scores, truth, temperature=lambda: 1.0):
    """A scorer's value for a table of scores (m, c); temperature() is asked for probabilities."""
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    fold = FoldScores(classes, scores, temperature)
    return scorer(fold, np.arange(len(scores))[:, None], truth)


class FoldScores(ClassifierMixin, BaseEstimator):
    """Scores of one fold in the clothes of an estimator, for scorers; X are row numbers."""

    def __init__(self, classes_, scores, temperature):
        self.classes_ = classes_
        self.scores = scores
        self.temperature = temperature

    def decision_function(self, X):
        """Scores, in scikit-learn's shape."""
        scores = self.scores[np.asarray(X)[:, 0]]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X):
        """The class of the largest score."""
        return self.classes_[self.scores[np.asarray(X)[:, 0]].argmax(axis=1)]

    def predict_proba(self, X):
        """Calibrated probabilities."""
        return softmax(self.scores[np.asarray(X)[:, 0]] / self.temperature(), axis=1)


def refuse_nan(mean_scores, scoring):
    """A score that is undefined on a fold cannot choose."""
    if np.isnan(mean_scores).any():
        raise ValueError(
            f"scoring={scoring!r} gave NaN for some candidates; choose a score that is defined on "
            "every fold."
        )


def _balanced(truth, predicted):
    """Mean recall of the classes that are there, as scikit-learn's balanced accuracy."""
    return float(np.mean([(predicted[truth == c] == c).mean() for c in np.unique(truth)]))


def fit_temperature(scores, truth):
    """T of softmax(scores/T) with the largest likelihood of the true classes.

    The true class counts (n + 1)/(n + c) and each other one 1/(n + c), as if every class had been
    seen once more: n objects without an error do not make the next one certain (Platt's targets).
    Objects of a class that their fold has not seen (−inf) say nothing about T and are left out.
    """
    seen = np.isfinite(scores[np.arange(len(truth)), truth])
    scores, truth = scores[seen], truth[seen]
    if not len(truth):
        return 1.0
    finite = np.where(np.isfinite(scores), scores, np.nan)
    gap = np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)
    scale = np.median(gap) or 1.0

    n, c = scores.shape
    target = np.full((n, c), 1.0 / (n + c))
    target[np.arange(n), truth] += n / (n + c)
    target[~np.isfinite(scores)] = 0

    def loss(log_t):
        log_p = log_softmax(scores / (scale * np.exp(log_t)), axis=1)
        return -np.sum(target * np.where(target > 0, log_p, 0.0))

    return float(scale * np.exp(minimize_scalar(loss, bounds=(-7, 7), method="bounded").x))
