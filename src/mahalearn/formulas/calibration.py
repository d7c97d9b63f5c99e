"""Probabilities from scores: temperatures fitted by maximum likelihood on held-out scores."""

import numpy as np

# T lies between these multiples of the median gap between the scores of an object.
NARROWEST, WIDEST = np.exp(-7), np.exp(7)


def log_softmax(scores):
    """ln softmax of scores (…, c) over the classes, −inf for those that cannot win.

    As scipy's, class by class: rows are short, and numpy is slow on a short last axis.
    """
    columns = np.array(np.moveaxis(scores, -1, 0), order="C")
    best = columns.max(axis=0)
    columns -= np.where(np.isfinite(best), best, 0.0)
    with np.errstate(divide="ignore"):
        columns -= np.log(np.exp(columns).sum(axis=0))
    return np.moveaxis(columns, 0, -1)


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
    possible = np.isfinite(scores)
    gap = np.where(possible, scores, -np.inf).max(axis=1) - np.where(possible, scores, np.inf).min(
        axis=1
    )
    scale = np.median(gap) or 1.0
    target = weights[:, None] * smoothed_targets(scores, truth)
    T = float(scale / _likeliest_factor(scores / scale, target))
    if _are_log_probabilities(scores):
        return T if log_loss(scores / T, truth, weights) < log_loss(scores, truth, weights) else 1.0
    return T


def _are_log_probabilities(scores, atol=1e-6):
    """True if the exponentials of each row (n, c) sum to 1."""
    best = scores.max(axis=1)
    # The largest of c probabilities is at least 1/c.
    if best.max() > atol or best.min() < -np.log(scores.shape[1]) - atol:
        return False
    return bool((np.abs(np.log(np.exp(scores).sum(axis=1))) <= atol).all())


def _likeliest_factor(scores, target):
    """β within 1/WIDEST … 1/NARROWEST that minimises −Σ target·log softmax(β·scores).

    The sum is convex in β: its slope Σ_i t_i E_i[s] − Σ target·s grows with the curvature
    Σ_i t_i Var_i[s], moments under the softmax of row i, t_i the sum of its targets. Newton's steps
    within a bracket, halved in the logarithm where a step leaves it.
    """
    possible = np.isfinite(scores)
    s = scores - scores.max(axis=1, keepdims=True)
    finite = np.where(possible, s, 0.0)
    square, total, wanted = finite**2, target.sum(axis=1), np.sum(target * finite)
    low, high, factor = 1 / WIDEST, 1 / NARROWEST, 1.0
    for _ in range(200):
        e = np.exp(factor * s)  # 0 where a class cannot win
        share = total / e.sum(axis=1)
        first = np.einsum("ij,ij->i", e, finite)
        slope = share @ first - wanted
        curvature = share @ (np.einsum("ij,ij->i", e, square) - first**2 / e.sum(axis=1))
        change = slope / curvature if curvature > 0 else np.inf
        if abs(change) <= 1e-12 * factor:
            break
        low, high = (low, factor) if slope > 0 else (factor, high)
        step = factor - change
        factor = step if low < step < high else np.sqrt(low * high)
        if high - low <= 1e-12 * high:
            break
    return factor


def log_loss(scores, truth, weights=None):
    """Weighted mean of −ln p of the true classes, p the softmax of scores (n, c)."""
    log_p = log_softmax(scores)[np.arange(len(truth)), truth]
    return float(-np.average(log_p, weights=weights))


def smoothed_targets(scores, truth):
    """Platt's targets (n, c) for several classes; 0 for classes that cannot win (−inf)."""
    n, c = scores.shape
    target = np.full((n, c), 1.0 / (n + c))
    target[np.arange(n), truth] += n / (n + c)
    target[~np.isfinite(scores)] = 0
    return target
