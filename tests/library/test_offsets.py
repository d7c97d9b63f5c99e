"""The offset search against brute force, and its rules for ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale

import naive
from mahalearn import KernelQuadraticDiscriminant, KernelSearchCV
from mahalearn.formulas.offsets import (
    best_cuts,
    error_offsets,
    map_offsets,
    settled,
    settling_step,
    winners,
)


@given(st.integers(0, 10**6), st.sampled_from([1.0, 3.0, 0.2]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_two_class_offsets_reach_the_true_minimum(seed, weight, ties):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 30)
    y = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    scores = rng.normal(size=(n, 2))
    if ties:
        scores = np.round(scores)
    weights = [weight, 1.0]
    b = error_offsets(scores, y, weights)
    errors = naive.pair_errors(scores, y, 0, 1, b[0] - b[1], weights)
    assert errors == pytest.approx(naive.least_pair_errors(scores, y, 0, 1, weights))
    assert b.sum() == pytest.approx(0)


def pair_ranges(scores, y, n_classes):
    """Lowest, central and highest Δ of each pair, by the two-class search and brute force."""
    for i in range(n_classes):
        for j in range(i):
            in_pair = np.isin(y, [i, j])
            pair = error_offsets(scores[in_pair][:, [j, i]], (y[in_pair] == i).astype(int))
            centre = pair[1] - pair[0]
            gaps = np.sort(scores[in_pair, j] - scores[in_pair, i])
            low = gaps[gaps < centre].max(initial=-np.inf)
            high = gaps[gaps > centre].min(initial=np.inf)
            yield i, j, (centre + low) / 2, centre, (centre + high) / 2


@pytest.mark.parametrize("seed", range(20))
def test_multi_class_offsets_are_as_near_to_the_pairs_ranges_as_can_be(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 10)
    scores = rng.normal(size=(40, 4)) + 2 * np.eye(4)[y] * rng.uniform(0, 3)
    ranges = list(pair_ranges(scores, y, 4))

    def miss(b):
        return sum(
            max(low - (b[i] - b[j]), 0, b[i] - b[j] - high) ** 2 for i, j, low, _, high in ranges
        )

    b = error_offsets(scores, y)
    assert b.sum() == pytest.approx(0)
    best = minimize(miss, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    assert miss(b) <= best.fun + 1e-6


def test_the_papers_least_squares_stay_where_they_keep_every_pair(rng):
    # Three classes whose central differences add up.
    y = np.repeat(np.arange(3), 5)
    scores = np.where(np.eye(3)[y] == 1, 1.0, -1.0) + np.array([0.0, 0.2, -0.2])
    rows, delta = [], []
    for i, j, _, centre, _ in pair_ranges(scores, y, 3):
        rows.append(np.eye(3)[i] - np.eye(3)[j])
        delta.append(centre)
    solution = np.linalg.lstsq(np.array(rows), np.array(delta), rcond=None)[0]
    assert_allclose(error_offsets(scores, y), solution, atol=1e-12)


def test_least_squares_offsets_are_those_that_the_paper_prints(rng):
    """Classes of unequal spread, each pair with one best cut; the two rules then differ."""
    y = np.repeat(np.arange(3), 12)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [40.0, 5.0]])
    X = centres[y] + rng.normal(size=(36, 2)) * np.array([0.5, 0.5, 6.0])[y, None]
    model = KernelQuadraticDiscriminant(
        "RC+", 1e-2, kernel="linear", standardize=False, offset="least_squares"
    ).fit(X, y)
    plain = KernelQuadraticDiscriminant(
        "RC+", 1e-2, kernel="linear", standardize=False, offset=None
    ).fit(X, y)
    expected = naive.printed_offsets(plain.decision_function(X), y, 3)
    assert_allclose(model.offsets_, expected, rtol=1e-9)
    ranges = KernelQuadraticDiscriminant("RC+", 1e-2, kernel="linear", standardize=False)
    assert not np.allclose(ranges.fit(X, y).offsets_, expected)
    two = y < 2
    pair = [m.fit(X[two], y[two]).offsets_ for m in (model, ranges)]
    assert_allclose(*pair, rtol=1e-12)


def test_least_squares_offsets_are_searched_as_they_are_fitted():
    X, y = load_iris(return_X_y=True)
    splits = list(StratifiedKFold(4).split(X, y))
    model = KernelQuadraticDiscriminant(offset="least_squares", gamma=0.5, standardize=False)
    grid = {"reg": [1e-4, 1e-2]}
    ours = KernelSearchCV(model, grid, cv=splits).fit(X, y)
    theirs = GridSearchCV(model, grid, cv=splits).fit(X, y)
    assert_allclose(*(s.cv_results_["mean_test_score"] for s in (ours, theirs)))


def test_far_classes_do_not_spoil_near_ones():
    # The wide gaps around a far class once moved the boundary between the two near ones.
    X, y = load_iris(return_X_y=True)
    for params in ({"kernel": "linear", "reg": 1e-3}, {"reg": 1e-6}):
        model = KernelQuadraticDiscriminant(**params)
        assert model.fit(scale(X), y).score(scale(X), y) > 0.97


def test_a_far_object_does_not_make_all_others_tie(rng):
    # The largest score, of one far object, was the unit of ties: the cut lay beyond all others.
    near = np.array([[3.0, 0], [2, 1], [1, 2], [0, 3]]) + 5.0
    y = np.array([0, 0, 1, 1])
    far = np.vstack([near, [1e14, 3e14], [1e300, -1e300]])
    assert_allclose(error_offsets(far, np.r_[y, 1, 1]), error_offsets(near, y))
    X, y = rng.normal(size=(120, 2)), np.repeat([0, 1], 60)
    X[y == 1, 0] += 2.5
    X_far = np.vstack([X, [1e6, 1e6]])
    model = KernelQuadraticDiscriminant(kernel="linear", reg=0.1, standardize=False)
    assert model.fit(X_far, np.r_[y, 0]).score(X, y) > 0.75  # was 0.5


def best_cut(values, above, tie=0.0):
    one = np.ones(1)
    ties = np.full((1, len(values)), tie)
    return best_cuts(values[None], above[None], one, one, ties, np.array([len(values)]))[1, 0]


def test_equally_good_cuts_give_the_central_one():
    # One error wherever the cut lies between 0 and 4: the middle of the middle gap is taken.
    values = np.array([-1.0, 0.0, 1.0, 3.0, 4.0, 5.0])
    above = np.array([False, True, False, True, False, True])
    assert best_cut(values, above) == 2.0
    assert best_cut(-values, ~above) == -2.0
    # Two equally good cuts in the middle, 2.0 and 4.5: the one with more room.
    values[4] = 4.2
    assert best_cut(values[1:], above[1:]) == 2.0
    assert best_cut(-values[1:], ~above[1:]) == -2.0


def test_tables_of_scores_are_handled_together(rng):
    scores, y = np.round(rng.normal(size=(5, 40, 3)), 1), rng.integers(0, 3, 40)
    together = error_offsets(scores, y, [1.0, 2.0, 3.0])
    one_by_one = [error_offsets(s, y, [1.0, 2.0, 3.0]) for s in scores]
    assert_allclose(together, one_by_one, atol=1e-12)


def test_rounding_does_not_break_ties():
    values = np.array([0.0, 0.0, 0.0, 1.0])
    above = np.array([False, True, False, True])
    noise = 1e-14 * np.array([1.0, -1.0, 2.0, 1.0])
    cuts = [best_cut(v, above, 1e-10) for v in (values, values + noise, values - noise)]
    assert_allclose(cuts, 0.5, atol=1e-12)


def test_class_weight_keeps_a_small_class_alive():
    X, y = make_classification(
        300, 2, n_redundant=0, n_clusters_per_class=1, weights=[0.95], flip_y=0.2, random_state=0
    )
    plain = KernelQuadraticDiscriminant(reg=1.0).fit(X, y)
    balanced = KernelQuadraticDiscriminant(reg=1.0, class_weight="balanced").fit(X, y)
    recall = [(m.predict(X)[y == 1] == 1).mean() for m in (plain, balanced)]
    assert recall[0] < 0.5 < recall[1]


def test_map_offsets_are_those_of_gaussian_densities(rng):
    # With a linear kernel RC is a Gaussian with covariance C_j + σ²I.
    X, y, sigma2 = rng.normal(size=(50, 3)), np.arange(50) % 5 % 2, 0.3
    X[y == 1] *= 2
    model = KernelQuadraticDiscriminant("RC+", sigma2, kernel="linear", offset="map").fit(X, y)
    log_density = []
    for j in range(2):
        C = np.cov(X[y == j].T, bias=True) + sigma2 * np.eye(3)
        d2 = np.array([naive.regularised_mahalanobis(X[y == j], x, sigma2) for x in X])
        log_density.append(-d2 / 2 - np.linalg.slogdet(C)[1] / 2 + np.log(np.mean(y == j)))
    difference = log_density[1] - log_density[0]
    assert_allclose(model.decision_function(X), difference, rtol=1e-7)
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-difference)), rtol=1e-7)
    # A Cholesky factor and the eigenvalues know the same determinant.
    chol = KernelQuadraticDiscriminant("RC+", sigma2, kernel="linear", offset=None).fit(X, y)
    volumes = [m.log_volume() for m in chol._distances.models]
    assert_allclose(map_offsets(volumes, [0.6, 0.4]), model.offsets_, rtol=1e-8)


def test_map_offsets_of_ic_use_the_kept_eigenvalues(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    X[y == 1] *= 3
    model = KernelQuadraticDiscriminant("IC-", 1e-6, kernel="linear", offset="map").fit(X, y)
    dets = [np.linalg.slogdet(np.cov(X[y == j].T, bias=True))[1] for j in range(2)]
    assert model.offsets_[1] - model.offsets_[0] == pytest.approx((dets[0] - dets[1]) / 2)


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"variant": "FK+"}, "FK"),
        ({"variant": "RC+", "reg_on": "kernel"}, "same σ²"),
        ({"variant": "RC+", "kernel": "sigmoid"}, "negative eigenvalues"),
    ],
)
def test_map_offsets_are_refused_where_they_are_not_defined(params, word):
    X, y = make_classification(61, 5, random_state=0)
    with pytest.raises(ValueError, match=word):
        KernelQuadraticDiscriminant(offset="map", **params).fit(X, y)


def test_ties_are_those_of_the_scores_that_tie():
    scores = np.array(
        [
            [-1.4, 0.0, -1.5e10],  # the third says nothing about the first two
            [0.0, 1e-13, -1.5e10],
            [-1e12, -1e12 + 10, -np.inf],
            [-1e12, -1e12 + 1000, -np.inf],
        ]
    )
    assert winners(scores).tolist() == [1, 1, 0, 1]
    assert winners(scores, np.array([2.0, 1e-12, 0.0, 0.0])).tolist() == [0, 0, 0, 1]


def test_each_column_is_settled_by_its_own_size():
    rng = np.random.default_rng(0)
    values = rng.uniform(1, 2, size=(50, 3)) * [1.0, 1e12, 1.0]
    values[0, 2] = -np.inf
    step = settling_step(values)
    assert step.shape == (3,)
    found = settled(values, step)
    assert np.abs(found[1:] / values[1:] - 1).max() < 1e-9 and found[0, 2] == -np.inf
    assert_array_equal(settled(values, 0.0), values)


def test_offsets_of_near_classes_beside_one_far_away():
    # Without the far class the two have the same difference of offsets.
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 60)
    d2 = rng.chisquare(2, size=(180, 3)) + 6.0 * (codes[:, None] != np.arange(3))
    d2[:, 2] += np.where(codes == 2, 0, 1e11)
    d2[codes == 2, :2] += 1e6
    near = codes < 2
    two = error_offsets(d2[near, :2] / -2, codes[near])
    three = error_offsets(d2 / -2, codes)
    wrong = [
        ((d2[near, 0] - d2[near, 1]) / -2 + b[0] - b[1] > 0) == (codes[near] == 1)
        for b in (two, three)
    ]
    assert wrong[1].sum() <= wrong[0].sum()
