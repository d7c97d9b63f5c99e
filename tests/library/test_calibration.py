"""Temperatures: what makes held-out scores likely."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from mahalearn.formulas.calibration import fit_temperature, log_loss


def naive_loss(scores, truth, T):
    """Mean of -ln p of the true class, object by object."""
    losses = []
    for row, code in zip(scores, truth, strict=True):
        p = np.exp(row / T) / np.exp(row / T).sum()
        losses.append(-np.log(p[code]))
    return np.mean(losses)


def sample(rng, n=2000, T=1.0):
    """Log-probabilities that are right, divided by 1/T."""
    logits = rng.normal(size=(n, 3)) * 2
    p = softmax(logits, axis=1)
    truth = np.array([rng.choice(3, p=row) for row in p])
    return log_softmax(logits * T, axis=1), truth


def test_log_loss_is_the_naive_one(rng):
    scores, truth = sample(rng, 50)
    assert np.isclose(log_loss(scores / 1.7, truth), naive_loss(scores, truth, 1.7))


def test_overconfident_probabilities_are_tempered(rng):
    scores, truth = sample(rng, T=4.0)
    T = fit_temperature(scores, truth)
    best = minimize_scalar(
        lambda t: naive_loss(scores[:500], truth[:500], t), bounds=(0.1, 20), method="bounded"
    ).x
    assert abs(np.log(T / 4.0)) < 0.15 and abs(np.log(T / best)) < 0.3


def test_probabilities_that_are_right_stay_as_they_are():
    # Sure and right: smoothed targets alone would flatten them.
    p = np.full((40, 3), 1e-9)
    truth = np.arange(40) % 3
    p[np.arange(40), truth] = 1 - 2e-9
    assert fit_temperature(np.log(p), truth) == 1.0
    # Scores that are no probabilities get a temperature all the same.
    assert fit_temperature(np.log(p) + 5.0, truth) > 1.0
