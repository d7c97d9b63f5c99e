"""Mahalanobis distances to classes and their certified p-values, against refits by definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mahalearn.formulas.class_metrics import (
    Histogram,
    borrowing,
    certified_limits,
    class_metrics,
    histogram,
    leave_one_out_sq_distances,
    mixture_factors,
    relative_metric,
    rounded_up,
    row_numbers,
    shared_metric,
    unit_rows,
)
from naive import class_metric_distance, full_conformal_p_value, mixture_p_value

SIGMA2 = 0.05
# Class sizes and number of columns: usual, n_j < d, N < d, a class of one row, of two rows.
DESIGNS = {
    "usual": ((30, 20, 25), 4),
    "n_j < d": ((8, 6, 9), 12),
    "N < d": ((4, 5), 20),
    "single": ((1, 12, 2), 3),
    "one class": ((15,), 3),
}


def problem(design, seed=0, heavy=False):
    counts, d = DESIGNS[design]
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    noise = rng.standard_t(1.5, size=(len(y), d)) if heavy else rng.normal(size=(len(y), d))
    X = noise * (1 + y[:, None]) + 2 * rng.normal(size=(len(counts), d))[y]
    Z = 3 * rng.normal(size=(12, d))
    Z[0] = X[0]
    return X, y, np.array(counts, float), Z


def moments(X, y):
    classes = np.unique(y)
    means = np.array([X[y == j].mean(axis=0) for j in classes])
    centred = [X[y == j] - m for j, m in zip(classes, means, strict=True)]
    return means, np.array([E.T @ E for E in centred])


def fitted(X, y, counts, pseudo_rows):
    """Metrics with κ: None is shared, a number the pseudo-rows of class-wise ones."""
    means, scatters = moments(X, y)
    if pseudo_rows is None:
        return shared_metric(means, counts, scatters.sum(axis=0), SIGMA2), np.ones(len(counts))
    kappas = borrowing(counts, pseudo_rows)
    return class_metrics(means, counts, scatters, pseudo_rows, SIGMA2), kappas


@pytest.mark.parametrize("pseudo_rows", [None, 0, 5, 40])
@pytest.mark.parametrize("design", DESIGNS)
def test_distances_are_those_of_the_definition(design, pseudo_rows):
    X, y, counts, Z = problem(design)
    model, kappas = fitted(X, y, counts, pseudo_rows)
    rows = row_numbers(counts, kappas)

    def naive(x, j):
        return class_metric_distance(X, y, j, x, kappas[j], SIGMA2, rows[j])

    every = [[naive(z, j) for j in range(len(counts))] for z in Z]
    assert_allclose(model.sq_distances(Z), every, rtol=1e-9, atol=1e-12)
    own = [naive(x, j) for x, j in zip(X, y, strict=True)]
    assert_allclose(model.own_sq_distances(X, y), own, rtol=1e-9, atol=1e-12)


def unrounded(limits):
    return Histogram(np.sort(limits), np.ones(len(limits), int))


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("pseudo_rows", [None, 0, 5, 40])
@pytest.mark.parametrize("design", DESIGNS)
def test_certified_p_values_are_never_below_those_of_refits(design, pseudo_rows, unit, heavy):
    X, y, counts, Z = problem(design, seed=1, heavy=heavy)
    if unit:
        X, Z = unit_rows(X), unit_rows(Z)
    model, kappas = fitted(X, y, counts, pseudo_rows)
    rows = row_numbers(counts, kappas)[y]
    limits = certified_limits(model.own_sq_distances(X, y), counts[y], rows)
    d2 = model.sq_distances(Z)
    for j in range(len(counts)):
        bound = unrounded(limits[y == j]).p_values(d2[:, j] * (1 - 1e-12))
        exact = [full_conformal_p_value(X, y, j, z, kappas[j], SIGMA2) for z in Z]
        assert (bound >= np.array(exact) - 1e-12).all()
    left_out = leave_one_out_sq_distances(model.own_sq_distances(X, y), counts[y], rows)
    assert (limits >= left_out).all()


@pytest.mark.parametrize("pseudo_rows", [0, 2.5, 5, 11.5, 40])
@pytest.mark.parametrize("design", [d for d in DESIGNS if d != "usual"])
def test_p_none_is_never_below_that_of_refits(design, pseudo_rows):
    X, y, counts, Z = problem(design, seed=2, heavy=True)
    model, kappas = fitted(X, y, counts, pseudo_rows)
    rows = row_numbers(counts, kappas)
    limits = certified_limits(model.own_sq_distances(X, y), counts[y], rows[y])
    factors = mixture_factors(counts, pseudo_rows)
    others = counts.sum() - counts
    assert (factors >= 1).all() and (factors <= 1 + 1 / np.maximum(others, 1)).all()
    bound = unrounded(limits * factors[y]).p_values(model.nearest(Z)[0] * (1 - 1e-12))
    for label in range(len(counts)):
        exact = [mixture_p_value(X, y, z, label, pseudo_rows, SIGMA2) for z in Z]
        assert (bound >= np.array(exact) - 1e-12).all()


def test_the_bound_costs_little_in_a_class_of_usual_size():
    rng = np.random.default_rng(0)
    X, y, Z = rng.normal(size=(60, 3)), np.zeros(60, int), 2 * rng.normal(size=(40, 3))
    model, _ = fitted(X, y, np.array([60.0]), None)
    limits = certified_limits(model.own_sq_distances(X, y), 60.0, 61.0)
    bound = histogram(limits).p_values(model.sq_distances(Z)[:, 0])
    exact = np.array([full_conformal_p_value(X, y, 0, z, 1.0, SIGMA2) for z in Z])
    assert (bound - exact).mean() < 0.02


@pytest.mark.parametrize("design", DESIGNS)
def test_leave_one_out_is_a_refit(design):
    X, y, counts, _ = problem(design)
    model, kappas = fitted(X, y, counts, 5)
    rows = row_numbers(counts, kappas)
    left_out = leave_one_out_sq_distances(model.own_sq_distances(X, y), counts[y], rows[y])
    for i, (x, j) in enumerate(zip(X, y, strict=True)):
        if counts[j] == 1:
            assert left_out[i] == np.inf
            continue
        rest = np.arange(len(X)) != i
        refit = class_metric_distance(X[rest], y[rest], j, x, kappas[j], SIGMA2, rows[j])
        assert_allclose(left_out[i], refit, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_nearest_class_is_found_without_measuring_all(dtype):
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 60, size=30).astype(float)
    y = np.repeat(np.arange(30), counts.astype(int))
    spread = rng.lognormal(sigma=1.0, size=(30, 20))
    X = rng.normal(size=(len(y), 20)) * spread[y] + 2 * rng.normal(size=(30, 20))[y]
    means, scatters = moments(X, y)
    model = class_metrics(means, counts, scatters, 20, SIGMA2)
    Z = (3 * rng.normal(size=(200, 20))).astype(dtype)
    least, nearest = model.nearest(Z)
    every = model.sq_distances(Z)
    assert_allclose(least, every.min(axis=1), rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert (nearest == every.argmin(axis=1)).all()
    # The bounds that it relies on.
    shared = model.shared.sq_distances(Z.astype(float))
    assert (every >= shared / model.stretches * (1 - 1e-5)).all()


def test_relative_distances_are_differences_of_two_metrics():
    X, y, counts, Z = problem("usual")
    means, scatters = moments(X, y)
    shared = shared_metric(means, counts, scatters.sum(axis=0), SIGMA2)
    origin = X.mean(axis=0)
    total = (X - origin).T @ (X - origin) / (len(X) + 1) + SIGMA2 * np.eye(X.shape[1])
    background = [(z - origin) @ np.linalg.inv(total) @ (z - origin) for z in Z]
    naive = shared.sq_distances(Z) - np.array(background)[:, None]
    assert_allclose(relative_metric(counts, shared).sq_distances(Z), naive, atol=1e-10)


def test_limits_are_rounded_up():
    t = np.array([1 / 3, 0.1, 1e-50, 3.0, np.inf, 1e300])
    single = rounded_up(t)
    assert single.dtype == np.float32
    assert (single.astype(float) >= t).all()
    assert_allclose(single[:2], t[:2], rtol=2e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e20])
def test_a_histogram_counts_no_row_less(scale):
    """p is never below that of the limits themselves, few values are kept, and parts merge."""
    rng = np.random.default_rng(0)
    t = scale * rng.chisquare(20, size=40_000)
    t[:5] = np.inf
    one, parts = histogram(t), histogram(t[:7]).merged(histogram(t[7:]))
    assert_array_equal(one.values, parts.values)
    assert_array_equal(one.counts, parts.counts)
    assert (one.n, one.n_unbounded) == (40_000, 5) and len(one.values) < 25_000
    assert_allclose(one.median, np.median(t), rtol=1e-3)
    d2 = scale * rng.chisquare(25, size=500)
    exact = (1 + (t[:, None] >= d2).sum(axis=0)) / (len(t) + 1)
    p = one.p_values(d2)
    assert (p >= exact).all() and (p <= exact + 1e-3).all()
    assert_array_equal(one.p_values(t), histogram(np.sort(t)).p_values(t))
    assert (one.p_values(t) >= (1 + (np.argsort(np.argsort(-t)) + 1)) / (len(t) + 1)).all()
    assert histogram(t[:0]).p_values(d2).tolist() == [1.0] * 500


def test_unit_rows_keep_zeros():
    X = np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)
    assert_allclose(unit_rows(X), [[0.6, 0.8], [0, 0]], rtol=1e-6)
