"""Temperatures: what makes held-out scores likely."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from mahalearn.formulas import calibration
from mahalearn.formulas.calibration import fit_temperature, fit_temperatures, log_loss


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


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_log_softmax_is_that_of_scipy(rng, n_classes):
    scores = 100 * rng.normal(size=(40, n_classes))
    scores[3, 1] = scores[5, 0] = -np.inf
    np.testing.assert_allclose(calibration.log_softmax(scores), log_softmax(scores, axis=1))


def test_log_loss_is_the_naive_one(rng):
    scores, truth = sample(rng, 50)
    assert np.isclose(log_loss(scores / 1.7, truth), naive_loss(scores, truth, 1.7))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("separated", [False, True])
def test_the_temperature_minimises_the_smoothed_loss(rng, scale, separated):
    """A search along a fine grid, object by object, for scores of any size; unknown classes too."""
    n, c = 60, 3
    truth, weights = np.arange(n) % c, rng.uniform(0.2, 2, size=n)
    scores = rng.normal(size=(n, c))
    scores[np.arange(n), truth] += 20 if separated else 1
    scores[:5, 2] = -np.inf  # the folds of these objects have not seen the class
    scores *= scale
    T = fit_temperature(scores, truth, weights)

    def smoothed_loss(T):
        total, kept = 0.0, [i for i in range(n) if np.isfinite(scores[i, truth[i]])]
        for i in kept:
            row = np.exp((scores[i] - scores[i].max()) / T)
            for j in range(c):
                if np.isfinite(scores[i, j]):
                    target = ((j == truth[i]) * len(kept) + 1) / (len(kept) + c)
                    total -= weights[i] * target * np.log(row[j] / row.sum())
        return total

    grid = T * np.exp([-0.01, -1e-4, 0, 1e-4, 0.01])
    losses = [smoothed_loss(t) for t in grid]
    assert losses[2] <= min(losses) + 1e-12 * abs(losses[2])
    assert min(losses[0], losses[-1]) > losses[2]


def test_temperatures_of_several_tables_are_those_of_each(rng):
    """Also where tables miss other classes, are logarithms of probabilities, or say nothing."""
    n, c = 50, 3
    truth, weights = np.arange(n) % c, rng.uniform(0.2, 2, size=n)
    tables = rng.normal(size=(7, n, c)) * 10.0 ** np.arange(-3, 4)[:, None, None]
    tables[:5, np.arange(n), truth] += 2.0
    tables[1, :5, 2] = tables[2, :5, 2] = tables[3, 20:, 1] = -np.inf
    tables[4] -= np.log(np.exp(tables[4]).sum(axis=1, keepdims=True))
    tables[6] = 0.0
    for w in (None, weights):
        one_by_one = [fit_temperature(table, truth, w) for table in tables]
        assert_allclose(fit_temperatures(tables, truth, w), one_by_one, rtol=1e-10)
    tables[5, np.arange(n), truth] = -np.inf  # no object of a class that was seen
    assert fit_temperatures(tables, truth)[5] == 1.0


def test_useless_scores_get_the_largest_temperature_and_none_a_usable_one(rng):
    truth = np.arange(40) % 2
    backwards = np.column_stack([truth, 1 - truth]).astype(float)  # the wrong class always wins
    assert np.isclose(fit_temperature(backwards, truth), np.exp(7))
    assert np.isfinite(fit_temperature(np.zeros((40, 2)), truth))


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
