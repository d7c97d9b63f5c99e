"""Probabilities from scores: what makes held-out scores likely."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp


def fit_temperature(scores, truth, weights=None):
    """T of softmax(scores/T) with the largest likelihood of the true classes.

    scores (n, c), truth (n,) class indices, weights (n,) of the objects, 1 if None. The true class
    counts (n + 1)/(n + c) and each other one 1/(n + c), as if every class had been seen once more:
    n objects without an error do not make the next one certain (Platt's targets). Objects of a
    class that their fold has not seen (−inf) say nothing about T and are left out.

    Scores that are logarithms of probabilities keep T = 1 unless another one makes the true classes
    more likely: smoothed targets would blur probabilities that are right.
    """
    seen = np.isfinite(scores[np.arange(len(truth)), truth])
    scores, truth = scores[seen], truth[seen]
    weights = np.ones(len(truth)) if weights is None else weights[seen]
    if not weights.sum() > 0:
        return 1.0
    finite = np.where(np.isfinite(scores), scores, np.nan)
    gap = np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)
    scale = np.median(gap) or 1.0
    target = smoothed_targets(scores, truth)

    def loss(log_t):
        log_p = log_softmax(scores / (scale * np.exp(log_t)), axis=1)
        return -np.sum(weights[:, None] * target * np.where(target > 0, log_p, 0.0))

    T = float(scale * np.exp(minimize_scalar(loss, bounds=(-7, 7), method="bounded").x))
    if np.allclose(logsumexp(scores, axis=1), 0.0, atol=1e-6):
        return T if log_loss(scores / T, truth, weights) < log_loss(scores, truth, weights) else 1.0
    return T


def log_loss(scores, truth, weights=None):
    """Weighted mean of −ln p of the true classes, p the softmax of scores (n, c)."""
    own = log_softmax(scores, axis=1)[np.arange(len(truth)), truth]
    return float(-np.average(own, weights=weights))


def smoothed_targets(scores, truth):
    """Platt's targets (n, c) for several classes; 0 for classes that cannot win (−inf)."""
    n, c = scores.shape
    target = np.full((n, c), 1.0 / (n + c))
    target[np.arange(n), truth] += n / (n + c)
    target[~np.isfinite(scores)] = 0
    return target
