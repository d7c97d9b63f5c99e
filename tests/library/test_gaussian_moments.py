"""Class moments: merging, accuracy, divisors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive
from mahalearn.formulas.moments import (
    add_rows,
    class_covariances,
    class_shares,
    merge,
    moments,
    no_moments,
    part_moments,
    pooled_covariance,
    total_covariance,
)


def rows(seed=0, n=60, d=4, c=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3, rng.integers(0, c, n), rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_class_moments_are_the_textbook_ones(weighted, diagonal):
    X, codes, weights = rows()
    weights = weights if weighted else np.ones(len(X))
    found = part_moments(X, codes, 3, weights if weighted else None, diagonal=diagonal)
    covariances = class_covariances(found)
    for j in range(3):
        mean, S = naive.class_mean_and_covariance(X[codes == j], weights[codes == j])
        assert_allclose(found.mean[j], mean)
        assert_allclose(covariances[j], np.diag(S) if diagonal else S)
    assert_allclose(class_shares(found) * weights.sum(), found.count)


@pytest.mark.parametrize("diagonal", [False, True])
def test_merging_is_adding_rows(diagonal):
    X, codes, weights = rows(1)
    whole = part_moments(X, codes, 3, weights, diagonal=diagonal)
    parts = [
        part_moments(X[part], codes[part], 3, weights[part], diagonal=diagonal)
        for part in (slice(0, 7), slice(7, 8), slice(8, 60))
    ]
    merged = no_moments(3, 4, diagonal=diagonal)
    added = no_moments(3, 4, diagonal=diagonal)
    for part, rows_ in zip(parts, (slice(0, 7), slice(7, 8), slice(8, 60))):
        merged = merge(merged, part)
        add_rows(added, X[rows_], codes[rows_], weights[rows_])
    swapped = merge(parts[2], merge(parts[0], parts[1]))
    for found in (merged, added, swapped):
        for got, expected in zip(found, whole):
            assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_constant_columns_have_no_scatter_at_all():
    X = np.full((100_000, 2), 0.1)
    X[:, 1] = np.arange(100_000)
    codes = np.arange(100_000) % 2
    found = part_moments(X, codes, 2)
    assert_array_equal(found.scatter[:, 0, :], 0)
    assert_array_equal(found.mean[:, 0], 0.1)


def test_a_large_mean_and_an_outlier_first_do_not_hurt():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5000, 3)) + 1e8
    X[0] = -1e8
    exact = np.cov(X[1:].T.astype(np.longdouble), bias=True)
    n = np.longdouble(4999)
    delta = (X[1:].astype(np.longdouble).mean(axis=0) - X[0]).reshape(-1, 1)
    expected = (exact * n + delta @ delta.T * n / (n + 1)) / (n + 1)
    found = class_covariances(part_moments(X, np.zeros(5000, int), 1))[0]
    assert_allclose(found, expected.astype(float), rtol=1e-13)
    without = class_covariances(part_moments(X[1:], np.zeros(4999, int), 1))[0]
    assert_allclose(without, exact.astype(float), atol=1e-7)


def test_pooled_and_total_covariance():
    X, codes, _ = rows(3)
    found = part_moments(X, codes, 3)
    covariances = class_covariances(found)
    pooled = pooled_covariance(covariances, class_shares(found))
    centred = X - found.mean[codes]
    assert_allclose(pooled, centred.T @ centred / len(X))
    total = total_covariance(pooled, found.mean, class_shares(found))
    assert_allclose(total, np.cov(X.T, bias=True))
    variances = total_covariance(np.diag(pooled).copy(), found.mean, class_shares(found))
    assert_allclose(variances, X.var(axis=0))
    spherical = total_covariance(np.diag(pooled).mean(keepdims=True), found.mean, [0.2, 0.3, 0.5])
    assert spherical.shape == (1,)
    assert_allclose(
        class_covariances(part_moments(X, codes, 3, diagonal=True)).mean(axis=-1),
        np.trace(covariances, axis1=1, axis2=2) / 4,
    )


def test_moments_of_one_row():
    found = moments(np.array([[1.0, 2.0]]))
    assert_array_equal(found.mean, [1, 2])
    assert_array_equal(found.scatter, np.zeros((2, 2)))


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_any_split_and_any_order_of_merging_equal_one_pass(seed, weighted, diagonal):
    X, codes, weights = rows(seed, n=400)
    X = X * [1, 1e3, 1e-3, 1] + [0, 1e3, 0, 100]
    weights = weights if weighted else None
    whole = part_moments(X, codes, 3, weights, diagonal=diagonal)
    rng = np.random.default_rng(seed)
    order = rng.permutation(400)  # any rows in any part; parts without rows of some class
    cuts = np.sort(rng.choice(400, 12, replace=False))
    parts = [
        part_moments(X[i], codes[i], 3, None if weights is None else weights[i], diagonal=diagonal)
        for i in np.split(order, cuts)
    ]
    while len(parts) > 1:  # a random binary tree
        a, b = (parts.pop(rng.integers(len(parts))) for _ in range(2))
        parts.append(merge(a, b))
    deviation = X.std(axis=0)
    unit = deviation**2 if diagonal else np.outer(deviation, deviation)
    assert_allclose(parts[0].count, whole.count, rtol=1e-12)
    assert_allclose(parts[0].mean / deviation, whole.mean / deviation, rtol=1e-12, atol=1e-12)
    assert np.abs((parts[0].scatter - whole.scatter) / unit).max() / 400 < 1e-12


def test_a_fixed_order_gives_the_same_bits():
    X, codes, weights = rows(1, n=1000, d=7)

    def tree(X, codes, weights):
        parts = [
            part_moments(X[i : i + 100], codes[i : i + 100], 3, weights[i : i + 100])
            for i in range(0, 1000, 100)
        ]
        while len(parts) > 1:
            parts = [merge(*pair) if len(pair) > 1 else pair[0] for pair in zip(*[iter(parts)] * 2)]
            if len(parts) == 5:
                parts = [merge(parts[0], parts[4]), *parts[1:4]]
        return parts[0]

    first = tree(X, codes, weights)
    # Other memory, another alignment.
    moved = np.empty(X.size + 3)[3:].reshape(X.shape)
    moved[:] = X
    again = tree(moved, codes.copy(), weights.copy())
    for a, b in zip(first, again):
        assert_array_equal(a, b)


def test_merging_with_nothing_changes_nothing():
    X, codes, _ = rows(2)
    whole = part_moments(X, codes, 3)
    for found in (merge(whole, no_moments(3, 4)), merge(no_moments(3, 4), whole)):
        for a, b in zip(found, whole):
            assert_array_equal(a, b)


def test_class_indices_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"from 0 to 1; got \[0, 2\]"):
        part_moments(np.zeros((2, 1)), np.array([0, 2]), 2)
