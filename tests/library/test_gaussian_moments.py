"""Moments of groups: merging, removing, accuracy, divisors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive
from mahalearn.formulas.class_covariances import (
    class_covariances,
    class_shares,
    pooled_covariance,
    total_covariance,
)
from mahalearn.formulas.moments import (
    add_blocks,
    add_rows,
    merge,
    merged,
    no_moments,
    part_moments,
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


def same(a, b, tolerance=1e-12):
    """Whether moments are equal up to rounding."""
    for x, y in zip((a.count, a.mean, a.scatter), (b.count, b.mean, b.scatter)):
        assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(y).max(initial=1.0))


@pytest.mark.parametrize("form", [{}, {"diagonal": True}, {"pooled": True}])
def test_merging_is_adding_rows(form):
    X, codes, weights = rows(1)
    everything = part_moments(X, codes, 3, weights, **form)
    slices = (slice(0, 7), slice(7, 8), slice(8, 60))
    parts = [part_moments(X[i], codes[i], 3, weights[i], **form) for i in slices]
    in_turn, added = no_moments(3, 4, **form), no_moments(3, 4, **form)
    for part, i in zip(parts, slices):
        in_turn = merge(in_turn, part)
        add_rows(added, X[i], codes[i], weights[i])
    for result in (in_turn, added, merge(parts[2], merge(parts[0], parts[1]))):
        same(result, everything)


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_pooled_scatter_is_the_sum_of_the_groups(diagonal):
    X, codes, weights = rows(2)
    apart = part_moments(X, codes, 3, weights, diagonal=diagonal)
    pooled = part_moments(X, codes, 3, weights, diagonal=diagonal, pooled=True)
    assert pooled.pooled and pooled.lower.shape == (1, *apart.lower.shape[1:])
    assert_allclose(pooled.scatter[0], apart.scatter.sum(axis=0), rtol=1e-12)
    assert_allclose(pooled.mean, apart.mean, rtol=1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
def test_unions_of_groups(diagonal):
    X, codes, weights = rows(5, n=200, c=6)
    apart = part_moments(X, codes, 6, weights, diagonal=diagonal)
    unions = [[0, 3], [1, 4, 5], []]
    expected = part_moments(X[codes != 2], np.array([0, 1, 9, 0, 1, 1])[codes[codes != 2]], 3,
                            weights[codes != 2], diagonal=diagonal)  # fmt: skip
    same(merged(apart, unions), expected)
    total = part_moments(X, np.zeros(200, int), 1, weights, diagonal=diagonal)
    same(merged(apart, [range(6)]), total)


def test_leading_columns_and_chosen_groups_are_those_of_a_smaller_table():
    X, codes, _ = rows(6)
    apart = part_moments(X, codes, 3)
    for diagonal in (False, True):
        leading = part_moments(X, codes, 3, diagonal=diagonal).leading(2)
        same(leading, part_moments(X[:, :2].copy(), codes, 3, diagonal=diagonal))
    chosen = apart.groups([2, 0])
    assert_array_equal(chosen.scatter, apart.scatter[[2, 0]])
    add_rows(leading := apart.leading(3), X[:, :3], codes)  # they are memory of their own
    assert_allclose(leading.count, 2 * apart.count)


@pytest.mark.parametrize("form", [{}, {"pooled": True}])
@pytest.mark.parametrize("order", ["mixed", "by class", "by value", "drift"])
def test_float32_rows_far_from_0_lose_nothing(form, order):
    """XᵀX − n·mmᵀ in float32 has no digit left at a mean of 1,000."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 6000)
    X = 1000 + rng.normal(size=(6000, 5)) @ rng.normal(size=(5, 5)) + codes[:, None]
    if order == "drift":
        X += 500 * (np.arange(6000) // 1000)[:, None]  # from batch to batch
    X = X.astype(np.float32)
    if order in ("by class", "by value"):
        index = np.argsort(codes if order == "by class" else X[:, 0], kind="stable")
        X, codes = X[index], codes[index]
    expected = part_moments(X.astype(float), codes, 3, **form)
    result = no_moments(3, 5, **form)
    for i in range(0, 6000, 1000):
        add_rows(result, X[i : i + 1000], codes[i : i + 1000])
    directions = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    if order == "drift":  # what drifts must not spoil the directions that do not
        directions = np.linalg.qr(np.column_stack([np.ones(5), directions]))[0][:, 1:]
    assert_allclose(result.mean, expected.mean, rtol=1e-8)
    within, exact = (directions.T @ m.scatter @ directions for m in (result, expected))
    assert np.abs(within - exact).max() < 1e-6 * np.abs(exact).max()


def test_blocks_relative_to_an_origin_and_squared_norms():
    X, codes, _ = rows(8, n=2000, d=40)
    origin = X[:5].mean(axis=0)

    def read(index, out):
        np.subtract(X[index], origin, out=out)
        return (X[index] ** 2).sum(axis=1)

    result = no_moments(3, 40, sq_norms=True)
    add_blocks(result, read, np.float64, codes, origin=origin)
    same(result, part_moments(X, codes, 3), 1e-11)
    sq_norms = np.array([(X[codes == j] ** 2).sum() for j in range(3)])
    assert_allclose(result.sq_norms, sq_norms)
    assert_allclose(merge(result, result).sq_norms, 2 * sq_norms)
    assert_allclose(result.groups([2, 1]).sq_norms, sq_norms[[2, 1]])
    assert_allclose(merged(result, [[0, 2], [1]]).sq_norms, [sq_norms[[0, 2]].sum(), sq_norms[1]])
    single = no_moments(3, 40, sq_norms=True)

    def unknown(index, out):
        out[:] = X[index]

    add_blocks(single, unknown, np.float32, codes)
    assert np.isnan(single.sq_norms).all()
    same(single, result, 1e-6)


def test_moments_of_other_shapes_do_not_merge():
    with pytest.raises(ValueError, match="do not merge"):
        merge(no_moments(3, 4), no_moments(3, 5))
    with pytest.raises(ValueError, match="do not merge"):
        merge(no_moments(3, 4), no_moments(3, 4, pooled=True))


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
    pooled = pooled_covariance(covariances, class_shares(found))[0]
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
    found = part_moments(np.array([[1.0, 2.0]]), np.array([0]), 1)
    assert_array_equal(found.mean[0], [1, 2])
    assert_array_equal(found.scatter[0], np.zeros((2, 2)))


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
    for a, b in zip(first[:3], again[:3]):
        assert_array_equal(a, b)


def test_merging_with_nothing_changes_nothing():
    X, codes, _ = rows(2)
    whole = part_moments(X, codes, 3)
    for found in (merge(whole, no_moments(3, 4)), merge(no_moments(3, 4), whole)):
        for a, b in zip(found[:3], whole[:3]):
            assert_array_equal(a, b)


def test_class_indices_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"from 0 to 1; got \[0, 2\]"):
        part_moments(np.zeros((2, 1)), np.array([0, 2]), 2)
