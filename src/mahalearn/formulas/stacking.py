"""Several classifiers as one: calibrated probabilities, and the weights of their logarithms.

Rows are held-out objects, so that everything here is fitted on scores of models that have not seen
the object. A class that a row's model has not seen has the score −inf: it gets probability 0, and a
row whose true class is such a one says nothing.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from .calibration import fit_temperature, log_loss, log_softmax, smoothed_targets

# Members with a smaller weight are left out, and the others' weights found again.
SMALLEST_WEIGHT = 0.05
# Curvature of the penalty that holds the scales at 1 and the biases at 0, in objects.
SCALING_PENALTY = 1.0
# No scale falls below this one: the order of two objects in a class's score is never turned round.
SMALLEST_SCALE = 1e-3
_PRECISE = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000}


class Calibration(NamedTuple):
    """Probabilities p = softmax(scale·log softmax(scores/temperature) + bias), then `bounded`.

    scale, bias (c,); n_objects: how many (weighted) objects they were fitted on.
    """

    temperature: float
    scale: np.ndarray
    bias: np.ndarray
    n_objects: float

    def log_proba(self, scores):
        """Logarithms of the calibrated probabilities (n, c) of scores (n, c)."""
        log_p = log_softmax(self.scale * log_softmax(scores / self.temperature) + self.bias)
        return bounded(log_p, self.n_objects)


def bounded(log_p, n_objects):
    """Logarithms of (n·p + ½)/(n + c/2): as if half an object more of each class had been seen.

    n objects do not make the next one certain (Krichevsky and Trofimov's estimate). A class that
    cannot win (−inf) is not counted and keeps its 0.
    """
    possible = np.isfinite(log_p)
    total = n_objects + possible.sum(axis=-1, keepdims=True) / 2
    bound = np.log((n_objects * np.exp(log_p) + 0.5) / total)
    return np.where(possible, bound, -np.inf)


def calibrated_log_proba(calibrations, scores):
    """Logarithms of the members' probabilities (K, n, c) from their scores (K, n, c), at once."""
    temperature, scale, bias, n_objects = map(np.array, zip(*calibrations, strict=True))
    T, n = temperature[:, None, None], n_objects[:, None, None]
    return Calibration(T, scale[:, None], bias[:, None], n).log_proba(scores)


class Calibrated(NamedTuple):
    """A calibration, and the log-probabilities (n, c) of its rows from the other parts' fits."""

    calibration: Calibration
    log_proba: np.ndarray


def calibrate(scores, truth, weights, parts):
    """Calibrate held-out scores: by a scale and a bias for each class where they help.

    scores (n, c), truth (n,) class indices, weights (n,) of the rows, parts (n,) numbers of the
    parts for cross-fitting: rows of one object are in one part. A temperature alone and a
    temperature with scales and biases are each fitted on all parts but one and judged on that one;
    the smaller log loss wins. Returns Calibrated. There must be two parts or more.
    """
    simple, scaled = (np.full(scores.shape, np.nan) for _ in range(2))
    for part in np.unique(parts):
        out = parts == part
        for table, by_class in ((simple, False), (scaled, True)):
            fit = fit_calibration(scores[~out], truth[~out], weights[~out], by_class)
            table[out] = fit.log_proba(scores[out])
    losses = [held_out_log_loss(table, truth, weights) for table in (simple, scaled)]
    by_class = losses[1] < losses[0]
    return Calibrated(
        fit_calibration(scores, truth, weights, by_class), scaled if by_class else simple
    )


def fit_calibration(scores, truth, weights, by_class):
    """The calibration by a temperature alone, or with scales and biases of the classes."""
    c = scores.shape[1]
    T = fit_temperature(scores, truth, weights)
    scale, bias = np.ones(c), np.zeros(c)
    if by_class:
        scale, bias = fit_class_scaling(scores, truth, weights, T)
    return Calibration(T, scale, bias, float(weights[_seen(scores, truth)].sum()))


def fit_class_scaling(scores, truth, weights, temperature):
    """Scales and biases (c,), (c,) of the classes with the largest likelihood (vector scaling).

    The targets are smoothed as those of the temperature are; scales stay near 1 and biases near 0
    by SCALING_PENALTY, so that a class with few objects keeps its probabilities.
    """
    seen = _seen(scores, truth)
    c = scores.shape[1]
    start = np.concatenate([np.ones(c), np.zeros(c)])
    if not seen.any():
        return start[:c], start[c:]
    log_p = log_softmax(scores[seen] / temperature)
    targets = smoothed_targets(scores[seen], truth[seen])
    solution = minimize(
        scaling_objective,
        start,
        (log_p, targets, weights[seen]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(SMALLEST_SCALE, None)] * c + [(None, None)] * c,
    )
    return solution.x[:c], solution.x[c:]


def scaling_objective(parameters, log_p, targets, weights, penalty=SCALING_PENALTY):
    """Σ weights·cross-entropy + penalty·(‖scale − 1‖² + ‖bias‖²), and its gradient.

    parameters (2c,): scales, then biases; log_p (n, c), −inf where a class is not known; targets
    (n, c), 0 there; weights (n,).
    """
    c = log_p.shape[1]
    possible = np.isfinite(log_p)
    finite = np.where(possible, log_p, 0.0)
    change = parameters - np.concatenate([np.ones(c), np.zeros(c)])
    logits = np.where(possible, parameters[:c] * finite + parameters[c:], -np.inf)
    fitted = log_softmax(logits)
    value = -weights @ (targets * np.where(possible, fitted, 0.0)).sum(axis=1)
    slope = weights[:, None] * (targets.sum(axis=1, keepdims=True) * np.exp(fitted) - targets)
    gradient = np.concatenate([(slope * finite).sum(axis=0), slope.sum(axis=0)])
    return value + penalty * change @ change, gradient + 2 * penalty * change


def stack(log_p, weights):
    """Log-probabilities (n, c) of softmax(Σ_k w_k log p_k); log_p (K, n, c), weights (K,)."""
    possible = np.isfinite(log_p).all(axis=0)
    logits = np.einsum("k,knc->nc", weights, np.where(possible, log_p, 0.0))
    return log_softmax(np.where(possible, logits, -np.inf))


def stacking_weights(log_p, truth, penalty, weights=None, smallest=SMALLEST_WEIGHT):
    """Weights w ≥ 0 (K,) of the members: one convex problem.

        minimise  −Σ_i ω_i ln p_i(truth_i) + penalty·K·‖w − 1/K‖²,   p = softmax(Σ_k w_k log p_k)

    log_p (K, n, c) of held-out objects, truth (n,), ω = weights (n,), all 1 if None. The sum counts
    objects, so that many of them outweigh the penalty. Members below `smallest` get 0 and the
    others' weights are found again. The problem is strictly convex: neither the order of the
    members nor the start matters.
    """
    weights = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=float)
    seen = _seen(log_p[0], truth)
    log_p, truth, weights = log_p[:, seen], truth[seen], weights[seen]
    members = np.arange(len(log_p))
    while True:
        K = len(members)
        w = np.full(K, 1 / K)
        if len(truth):
            w = minimize(
                stacking_objective,
                w,
                (log_p[members], truth, penalty, weights),
                jac=True,
                method="L-BFGS-B",
                bounds=[(0, None)] * K,
                options=_PRECISE,
            ).x
        large = w >= smallest
        if large.all() or not large.any():
            break
        members = members[large]
    out = np.zeros(len(log_p))
    out[members] = _newton(w, log_p[members], truth, penalty, weights) if len(truth) else w
    return out


def _newton(w, log_p, truth, penalty, weights, n_steps=3):
    """A few of Newton's steps to the minimum, where no weight is at its bound 0.

    A minimiser of values stops where the value no longer changes, at half the digits of the
    weights; from there the steps give all of them.
    """
    for _ in range(n_steps):
        _, gradient = stacking_objective(w, log_p, truth, penalty, weights)
        step = np.linalg.solve(stacking_hessian(w, log_p, penalty, weights), gradient)
        if (step >= w).any():
            break
        w = w - step
    return w


def stacking_objective(w, log_p, truth, penalty, weights):
    """Objective of `stacking_weights` and its gradient; log_p (K, n, c)."""
    possible = np.isfinite(log_p).all(axis=0)
    finite = np.where(possible, log_p, 0.0)
    rows, change = np.arange(len(truth)), w - 1 / len(w)
    logits = np.where(possible, np.einsum("k,knc->nc", w, finite), -np.inf)
    log_p = log_softmax(logits)
    value = -weights @ log_p[rows, truth]
    slope = np.exp(log_p)
    slope[rows, truth] -= 1
    gradient = np.einsum("nc,knc->k", slope * weights[:, None], finite)
    factor = penalty * len(w)
    return value + factor * change @ change, gradient + 2 * factor * change


def stacking_hessian(w, log_p, penalty, weights):
    """Second derivatives (K, K) of `stacking_objective`: covariances of log p_k, and the penalty.

    H_kl = Σ_i ω_i Cov_i[log p_k, log p_l] + 2·penalty·K·δ_kl, the classes drawn from the softmax.
    """
    possible = np.isfinite(log_p).all(axis=0)
    finite = np.where(possible, log_p, 0.0)
    p = np.exp(log_softmax(np.where(possible, np.einsum("k,knc->nc", w, finite), -np.inf)))
    centred = finite - np.einsum("nc,knc->kn", p, finite)[:, :, None]
    A = (centred * np.sqrt(weights[:, None] * p)).reshape(len(w), -1)
    return A @ A.T + 2 * penalty * len(w) * np.eye(len(w))


def held_out_log_loss(log_p, truth, weights):
    """Weighted mean of −ln p of the true classes; rows whose class nobody has seen do not count."""
    seen = _seen(log_p, truth)
    return log_loss(log_p[seen], truth[seen], weights[seen]) if weights[seen].sum() > 0 else 0.0


def _seen(scores, truth):
    """Rows whose true class can win."""
    return np.isfinite(scores[np.arange(len(truth)), truth])
