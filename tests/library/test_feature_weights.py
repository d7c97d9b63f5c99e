"""Descent and difference weights against the paper's loops, and their limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
from mahalearn import descent_weights, difference_weights
from mahalearn.formulas.feature_weights import (
    DifferenceWeights,
    Weighting,
    difference_weighted,
    rank_weights,
    resampled,
)


def distances(seed=0, shape=(7, 3, 5)):
    return np.random.default_rng(seed).chisquare(1, shape)


@pytest.mark.parametrize("power", [0.5, 1.0, 0.3])
def test_descent_weights_are_those_of_the_paper(power):
    Z = distances()
    assert_allclose(descent_weights(Z, power), naive.descent_weights(Z, power))


def test_difference_weights_are_those_of_the_paper():
    Z = distances(1)
    weighted = naive.difference_weighted(Z)
    assert_allclose(np.sort(difference_weighted(np.sort(Z)), axis=-1), np.sort(weighted, axis=-1))
    assert_allclose(difference_weights(Z).rank_weights, naive.descent_weights(weighted, 0.5))


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
def test_weighted_distances(difference, fixed):
    Z = distances(2)
    applied = naive.difference_weighted(Z) if difference else Z
    ranks = np.array([2.0, 1.0, 1.0, 0.6, 0.4]) if fixed else None
    weights = [ranks if fixed else naive.descent_weights(z[None], 0.5) for z in applied]
    got = Weighting(difference, 0.5, ranks).sq_distances(Z.copy())
    assert_allclose(got, naive.rank_weighted_distances(applied, weights))


def test_weights_sum_to_the_number_of_features_and_descend():
    weights = descent_weights(distances(3))
    assert_allclose(weights.sum(), 5)
    assert (np.diff(weights) < 0).all()


def test_power_0_is_the_plain_distance():
    Z = distances(4)
    assert_allclose(descent_weights(Z, 0), np.ones(5))
    assert_allclose(Weighting(False, 0.0).sq_distances(Z.copy()), Z.sum(axis=2))


def test_descent_weights_give_all_ranks_the_same_influence():
    """Section 3.3's aim, which the power 1 reaches: w[r]·Z_sum[r] is one constant."""
    Z = distances(5)
    influence = descent_weights(Z, 1.0) * np.sort(Z, axis=-1).mean(axis=(0, 1))
    assert_allclose(influence, influence[0])


def test_order_of_samples_classes_and_features_does_not_matter():
    Z = distances(6)
    rng = np.random.default_rng(0)
    shuffled = Z[rng.permutation(7)][:, rng.permutation(3)][:, :, rng.permutation(5)]
    assert_allclose(descent_weights(shuffled), descent_weights(Z))
    assert_allclose(difference_weights(shuffled)[0], difference_weights(Z)[0])


def test_units_of_the_distances_do_not_matter():
    Z = distances(7)
    for scale in (1e-200, 1e200):
        assert_allclose(descent_weights(scale * Z), descent_weights(Z))
        assert_allclose(difference_weights(scale * Z)[0], difference_weights(Z)[0])


def test_equal_distances_and_one_feature_get_equal_weights():
    assert_allclose(difference_weighted(np.full((2, 4), 3.0)), 3.0)
    assert_allclose(difference_weighted(np.array([[7.0]])), 7.0)
    assert_allclose(descent_weights(np.full((1, 2, 4), 3.0)), np.ones(4))
    assert_allclose(difference_weights(distances(8, (4, 2, 1)))[0], [1.0])


def test_nearly_equal_distances_keep_their_accuracy():
    z = 1e8 + np.array([0.0, 1.0, 3.0])
    assert_allclose(difference_weighted(z), naive.difference_weights_of_pair(z) * z, rtol=1e-14)


def test_ranks_without_distance_leave_the_others_alone():
    Z = np.sort(distances(9), axis=-1)
    padded = np.concatenate([np.zeros((7, 3, 2)), Z], axis=-1)
    assert_allclose(descent_weights(padded), [1, 1, *descent_weights(Z)])
    assert_allclose(descent_weights(np.zeros((1, 2, 3))), np.ones(3))


def test_extreme_means_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        weights = rank_weights(np.array([1e-300, 1.0, 1e300]), 1.0)
    assert_allclose(weights, [3, 0, 0], atol=1e-200)


def test_equal_rank_weights_are_the_difference_weights_alone():
    """The paper's first form: (13) put straight into (8)."""
    Z = distances(10)
    got = Weighting(True, 0.5, np.ones(5)).sq_distances(Z.copy())
    assert_allclose(got, naive.difference_weighted(Z).sum(axis=2))


def test_resampled_weights():
    weights = np.array([3.0, 1.5, 1.0, 0.4, 0.1])
    assert_allclose(resampled(weights, 5), weights)
    fewer = resampled(weights, 3)
    assert_allclose(fewer.sum(), 3)
    assert (np.diff(fewer) < 0).all()
    assert len(resampled(weights, 0)) == 0


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        (np.ones((3, 4)), "shape"),
        (np.ones((3, 0, 4)), "shape"),
        (np.full((1, 1, 2), np.nan), "missing features"),
        (np.full((1, 1, 2), -1.0), "nonnegative"),
    ],
)
@pytest.mark.parametrize("function", [descent_weights, difference_weights])
def test_bad_distances_are_refused(function, Z, message):
    with pytest.raises(ValueError, match=message):
        function(Z)


def test_difference_weights_tell_their_kind():
    assert isinstance(difference_weights(distances()), DifferenceWeights)
