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
    return float(fit_temperatures(np.asarray(scores)[None], truth, weights)[0])


def fit_temperatures(scores, truth, weights=None):
    """T (r,) of several tables of scores (r, n, c) of the same objects, as `fit_temperature`.

    Tables are compared by the hundred, and on few objects a call costs more than its arithmetic.
    """
    weights = np.ones(len(truth)) if weights is None else weights
    seen = np.isfinite(scores[:, np.arange(len(truth)), truth])
    T = np.ones(len(scores))
    for pattern in {row.tobytes() for row in seen}:  # tables that have seen the same
        which = [i for i, row in enumerate(seen) if row.tobytes() == pattern]
        rows = np.flatnonzero(seen[which[0]])
        if weights[rows].sum() > 0:
            part = scores if seen.all() else scores[np.ix_(which, rows)]
            T[which] = _temperatures(part, truth[rows], weights[rows])
    return T


def _temperatures(scores, truth, weights):
    """The same where the score of every true class is finite."""
    # Class by class: rows are short, and numpy is slow on a short last axis.
    s = np.array(np.moveaxis(scores, -1, 0), order="C")
    best, possible = s.max(axis=0), np.isfinite(s)
    gap = best - (s if possible.all() else np.where(possible, s, np.inf)).min(axis=0)
    scale = np.median(gap, axis=1)
    scale[scale == 0] = 1.0
    s -= best
    s /= scale[:, None]
    T = scale / _likeliest_factors(s, truth, weights)
    # Where rows may be logarithms of probabilities: the largest of c is at least 1/c.
    for i in np.flatnonzero(
        (best.max(axis=1) <= 1e-6) & (best.min(axis=1) >= -np.log(len(s)) - 1e-6)
    ):
        if (np.abs(np.log(np.exp(scores[i]).sum(axis=1))) <= 1e-6).all():
            losses = [log_loss(scores[i] / t, truth, weights) for t in (T[i], 1.0)]
            T[i] = T[i] if losses[0] < losses[1] else 1.0
    return T


def _likeliest_factors(s, truth, weights):
    """β (r,) within 1/WIDEST … 1/NARROWEST of the largest likelihood of softmax(β·s).

    s (c, r, n): scores less the largest of each object; the targets are `smoothed_targets`. With
    targets t the loss −Σ t·log softmax(β·s) is convex in β: its slope Σ_i t_i E_i[s] − Σ t·s grows
    with the curvature Σ_i t_i Var_i[s], moments under the softmax of row i, t_i the sum of its
    targets. Newton's steps within a bracket, halved in the logarithm where a step leaves it.
    """
    c, r, n = s.shape
    possible = np.isfinite(s)
    finite = s if possible.all() else np.where(possible, s, 0.0)
    # Each possible class counts 1/(n + c), the true one n/(n + c) more.
    total = weights * (n + possible.sum(axis=0)) / (n + c)
    wanted = (n * finite[truth, :, np.arange(n)].T + finite.sum(axis=0)) @ weights / (n + c)
    low, high = np.full(r, 1 / WIDEST), np.full(r, 1 / NARROWEST)
    factor, going = np.ones(r), np.arange(r)
    for _ in range(200):
        here = factor[going]
        e = np.exp(here[:, None] * s)  # 0 where a class cannot win
        size = e.sum(axis=0)
        e *= finite
        first = e.sum(axis=0) / size
        e *= finite
        slope = np.einsum("ij,ij->i", total, first) - wanted
        curvature = np.einsum("ij,ij->i", total, e.sum(axis=0) / size - first**2)
        change = np.divide(slope, curvature, out=np.full(len(here), np.inf), where=curvature > 0)
        low[going] = np.where(slope > 0, low[going], here)
        high[going] = np.where(slope > 0, here, high[going])
        lower, upper, step = low[going], high[going], here - change
        inside = (lower < step) & (step < upper)
        on = np.abs(change) > 1e-12 * here
        factor[going] = np.where(on, np.where(inside, step, np.sqrt(lower * upper)), here)
        on &= upper - lower > 1e-12 * upper
        if not on.any():
            break
        if 2 * on.sum() <= len(on):  # to go on with those that are left costs a copy
            going, s, finite = going[on], s[:, on], finite[:, on]
            total, wanted = total[on], wanted[on]
    return factor


def log_loss(scores, truth, weights=None):
    """Weighted mean of −ln p of the true classes, p the softmax of scores (n, c)."""
    log_p = log_softmax(scores)[np.arange(len(truth)), truth]
    return float(-np.average(log_p, weights=weights))


def smoothed_targets(scores, truth):
    """Platt's targets (…, n, c) for several classes; 0 for classes that cannot win (−inf)."""
    n, c = scores.shape[-2:]
    target = np.full(scores.shape, 1.0 / (n + c))
    target[..., np.arange(n), truth] += n / (n + c)
    target[~np.isfinite(scores)] = 0
    return target
