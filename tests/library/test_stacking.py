"""Calibration by class and stacking weights: naive loops, gradients, optimality, invariances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

import naive
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.formulas.stacking import (
    Calibration,
    calibrate,
    fit_calibration,
    held_out_log_loss,
    scaling_objective,
    stack,
    stacking_hessian,
    stacking_objective,
    stacking_weights,
)


@pytest.fixture(scope="module")
def pool():
    """Log-probabilities (K, n, c) of members of unequal quality, true classes, weights."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=80)
    signal = np.eye(3)[truth]
    scores = [a * signal + rng.normal(size=(80, 3)) for a in (3.0, 2.0, 0.5, 0.0)]
    return log_softmax(scores, axis=2), truth, rng.uniform(0.5, 2, 80)


def numbers(rng, n):
    return rng.uniform(0.2, 1.5, n)


def test_calibrated_probabilities_match_the_definition():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(10, 3)) * 4
    calibration = Calibration(2.5, numbers(rng, 3), rng.normal(size=3), 7.0)
    for row, found in zip(scores, calibration.log_proba(scores), strict=True):
        assert_allclose(np.exp(found), naive.class_scaled_proba(row, *calibration))


def test_no_probability_is_surer_than_its_objects_allow():
    """Of n objects of c classes: between ½/(n + c/2) and (n + ½)/(n + c/2); order unchanged."""
    scores = np.array([[900.0, -900.0, 0.0], [1.0, 0.9, -np.inf]])
    found = np.exp(Calibration(1.0, np.ones(3), np.zeros(3), 4.0).log_proba(scores))
    assert_allclose(found[0], np.array([4.5, 0.5, 0.5]) / 5.5)
    assert_allclose(found.sum(axis=1), 1)
    assert found[1, 0] > found[1, 1] > 0.5 / 5 and found[1, 2] == 0
    many = np.exp(Calibration(1.0, np.ones(3), np.zeros(3), 1e12).log_proba(scores))
    assert_allclose(many[1, :2], np.exp([1.0, 0.9]) / np.exp([1.0, 0.9]).sum())


def test_stacked_probabilities_and_their_loss_match_the_definition(pool):
    log_p, truth, weights = pool
    w = np.array([0.7, 0.3, 0.1, 0.0])
    found = np.exp(stack(log_p, w))
    for i in range(5):
        assert_allclose(found[i], naive.stacked_proba(np.exp(log_p[:, i]), w))
    value, _ = stacking_objective(w, log_p, truth, 0.8, weights)
    assert_allclose(value, naive.stacking_loss(np.exp(log_p), truth, w, 0.8, weights))


@pytest.mark.parametrize("unknown", [False, True])
def test_gradients(pool, unknown):
    log_p, truth, weights = pool
    rng = np.random.default_rng(2)
    if unknown:  # a class that a model has not seen
        log_p = log_p.copy()
        log_p[:, np.flatnonzero(truth != 2)[:20], 2] = -np.inf
    w = numbers(rng, 4)
    arguments = log_p, truth, 0.8, weights
    slope = approx_fprime(w, lambda w: stacking_objective(w, *arguments)[0], 1e-7)
    assert_allclose(stacking_objective(w, *arguments)[1], slope, rtol=1e-4, atol=1e-4)
    targets = np.where(np.isfinite(log_p[0]), 0.9 * np.eye(3)[truth] + 0.05, 0.0)
    at = np.concatenate([numbers(rng, 3), rng.normal(size=3)])
    arguments = log_p[0], targets, weights
    slope = approx_fprime(at, lambda p: scaling_objective(p, *arguments)[0], 1e-7)
    assert_allclose(scaling_objective(at, *arguments)[1], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unknown", [False, True])
def test_second_derivatives_and_the_last_digits_of_the_weights(pool, unknown):
    log_p, truth, weights = pool
    if unknown:
        log_p = log_p.copy()
        log_p[:, :10, 2] = -np.inf
        log_p, truth, weights = log_p[:, truth != 2], truth[truth != 2], weights[truth != 2]
    w = np.array([0.4, 0.3, 0.2, 0.1])

    def slope(w):
        return stacking_objective(w, log_p, truth, 2.0, weights)[1]

    differences = [(slope(w + h) - slope(w - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
    assert_allclose(stacking_hessian(w, log_p, 2.0, weights), differences, rtol=1e-6, atol=1e-6)
    best = stacking_weights(log_p, truth, 10.0, weights)
    assert (best > 0).all()
    gradient = stacking_objective(best, log_p, truth, 10.0, weights)[1]
    assert np.abs(gradient).max() < 1e-10


def test_weights_are_the_smallest_loss(pool):
    log_p, truth, weights = pool
    w = stacking_weights(log_p, truth, 1.0, weights, smallest=0.0)
    best = naive.stacking_loss(np.exp(log_p), truth, w, 1.0, weights)
    rng = np.random.default_rng(3)
    for _ in range(30):
        other = np.maximum(w + 0.05 * rng.normal(size=4), 0)
        assert best <= naive.stacking_loss(np.exp(log_p), truth, other, 1.0, weights)


def test_order_of_members_does_not_matter(pool):
    log_p, truth, weights = pool
    w = stacking_weights(log_p, truth, 1.0, weights)
    order = [2, 0, 3, 1]
    assert_allclose(stacking_weights(log_p[order], truth, 1.0, weights), w[order], atol=1e-5)


def test_a_weight_of_two_is_the_object_twice(pool):
    log_p, truth, _ = pool
    weights = np.ones(80)
    weights[:30] = 2
    rows = np.concatenate([np.arange(80), np.arange(30)])
    twice = stacking_weights(log_p[:, rows], truth[rows], 1.0)
    assert_allclose(stacking_weights(log_p, truth, 1.0, weights), twice, atol=1e-5)


def test_small_members_are_dropped_and_the_others_solved_again(pool):
    log_p, truth, weights = pool
    w = stacking_weights(log_p, truth, 0.01, weights, smallest=0.15)
    kept = w > 0
    assert 1 <= kept.sum() < 4 and (w[kept] >= 0.15).all()
    alone = stacking_weights(log_p[kept], truth, 0.01, weights, smallest=0.0)
    assert_allclose(w[kept], alone, atol=1e-5)


def test_a_large_penalty_is_the_geometric_mean(pool):
    log_p, truth, _ = pool
    assert_allclose(stacking_weights(log_p, truth, 1e6), 0.25, atol=1e-4)


def test_copies_of_a_member_share_its_weight(pool):
    log_p, truth, _ = pool
    w = stacking_weights(log_p[[0, 0, 1]], truth, 0.1, smallest=0.0)
    assert_allclose(w[0], w[1], atol=1e-5)


def test_unknown_classes_do_not_count(pool):
    log_p, truth, weights = pool
    more = np.concatenate([log_p, log_p[:, :5]], axis=1)
    codes = np.concatenate([truth, np.full(5, 2)])
    more[:, -5:, 2] = -np.inf
    w = stacking_weights(more, codes, 1.0, np.append(weights, np.ones(5)))
    assert_allclose(w, stacking_weights(log_p, truth, 1.0, weights), atol=1e-5)
    assert (np.exp(stack(more, w))[-5:, 2] == 0).all()
    nobody = stacking_weights(more[:, -5:], codes[-5:], 1.0)
    assert_allclose(nobody, 0.25)


# --- calibration ----------------------------------------------------------------------------------


def parts(n, n_parts=5):
    return np.arange(n) % n_parts


def test_classes_of_unequal_scale_get_scales_and_biases():
    """An accurate but miscalibrated member: its classes are scored in different units."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=300)
    scores = (4 * np.eye(3)[truth] + rng.normal(size=(300, 3)) * 1.5) * [1.0, 1.0, 8.0] - [0, 0, 9]
    ones = np.ones(300)
    found = calibrate(scores, truth, ones, parts(300))
    assert not np.allclose(found.calibration.scale, 1)
    T = fit_temperature(scores, truth)
    simple = held_out_log_loss(log_softmax(scores / T, axis=1), truth, ones)
    assert held_out_log_loss(found.log_proba, truth, ones) < 0.8 * simple


def test_scores_that_need_no_more_keep_their_temperature():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(60, 3)) * 2
    truth = np.array([rng.choice(3, p=np.exp(row)) for row in log_softmax(logits, axis=1)])
    found = calibrate(3.0 * logits, truth, np.ones(60), parts(60))
    assert_allclose(found.calibration.scale, 1)
    assert_allclose(found.calibration.bias, 0)
    assert 1.8 < found.calibration.temperature < 5


def test_reported_probabilities_come_from_the_other_parts():
    rng = np.random.default_rng(6)
    truth = rng.integers(2, size=40)
    scores = rng.normal(size=(40, 2)) + 2 * np.eye(2)[truth]
    ones, groups = np.ones(40), parts(40, 4)
    found = calibrate(scores, truth, ones, groups)
    by_class = not np.allclose(found.calibration.scale, 1)
    for part in range(4):
        out = groups == part
        fit = fit_calibration(scores[~out], truth[~out], ones[~out], by_class)
        assert_allclose(found.log_proba[out], fit.log_proba(scores[out]))


def test_shifts_of_a_row_change_nothing():
    rng = np.random.default_rng(7)
    truth = rng.integers(3, size=60)
    scores = rng.normal(size=(60, 3)) + 2 * np.eye(3)[truth]
    ones = np.ones(60)
    one = calibrate(scores, truth, ones, parts(60))
    other = calibrate(scores + rng.normal(size=(60, 1)), truth, ones, parts(60))
    assert_allclose(one.log_proba, other.log_proba, atol=1e-4)


def test_class_weights_move_the_biases_to_the_small_class():
    rng = np.random.default_rng(8)
    truth = np.repeat([0, 1], [180, 20])
    scores = np.log([0.9, 0.1]) + rng.normal(size=(200, 2)) * 0.3 + 0.8 * np.eye(2)[truth]
    weights = np.where(truth == 1, 5.0, 200 / 360)
    plain = calibrate(scores, truth, np.ones(200), parts(200)).log_proba.argmax(axis=1)
    weighted = calibrate(scores, truth, weights, parts(200)).log_proba.argmax(axis=1)
    assert (weighted[truth == 1] == 1).mean() > (plain[truth == 1] == 1).mean() + 0.2
