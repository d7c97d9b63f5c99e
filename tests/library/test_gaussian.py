"""GaussianClassifier: against textbook loops, against scikit-learn, and its options."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import OAS, MinCovDet
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import naive
from mahalearn import GaussianClassifier, descent_weights, difference_weights

KINDS = ["full", "diag", "spherical"]


def problem(seed=0, n=90, d=4, c=3):
    """Classes with correlated features of different scales."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(c, d))[y]
    return X * 10.0 ** rng.integers(-2, 3, d), y


def naive_parameters(X, y, kind, pooled, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    means, covariances, shares = [], [], []
    for label in np.unique(y):
        mean, S = naive.class_mean_and_covariance(X[y == label], weights[y == label])
        if kind == "diag":
            S = np.diag(np.diag(S))
        elif kind == "spherical":
            S = np.eye(len(S)) * np.trace(S) / len(S)
        means.append(mean)
        covariances.append(S)
        shares.append(weights[y == label].sum() / weights.sum())
    if pooled:
        covariances = [sum(p * S for p, S in zip(shares, covariances))] * len(shares)
    return means, covariances, shares


def naive_scores(X, means, covariances, priors):
    return np.array(
        [
            [naive.log_joint(x, *parameters) for parameters in zip(means, covariances, priors)]
            for x in X
        ]
    )


# --- the formulas --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooled", [False, True])
def test_scores_are_the_log_densities(kind, pooled):
    X, y = problem()
    model = GaussianClassifier(kind, pooled=pooled).fit(X, y)
    means, covariances, shares = naive_parameters(X, y, kind, pooled)
    expected = naive_scores(X, means, covariances, shares)
    assert_allclose(model.decision_function(X), expected, rtol=1e-9)
    assert_allclose(model.score_samples(X), np.log(np.exp(expected).sum(axis=1)), rtol=1e-9)
    assert_allclose(model.means_, means)
    full = {"full": lambda S: S, "diag": np.diag, "spherical": lambda S: S[0, 0]}[kind]
    assert_allclose(model.covariances_, [full(S) for S in covariances], rtol=1e-10)
    distances = [
        [(x - m) @ np.linalg.inv(S) @ (x - m) for m, S in zip(means, covariances)] for x in X
    ]
    assert_allclose(model.mahalanobis(X), distances, rtol=1e-9)
    assert_array_equal(model.ranks_, 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooled", [False, True])
def test_missing_cells_are_marginalised_exactly(kind, pooled):
    X, y = problem(1)
    model = GaussianClassifier(kind, pooled=pooled, missing="ignore").fit(X, y)
    queries = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)
    queries[0], queries[1] = np.nan, X[1]
    expected = naive_scores(queries, *naive_parameters(X, y, kind, pooled))
    assert_allclose(model.decision_function(queries), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(model.predict_proba(queries[:1])[0], model.priors_)


@pytest.mark.parametrize("pooled", [False, True])
def test_distances_per_feature_are_zca_cor_whitened(pooled):
    X, y = problem(2)
    model = GaussianClassifier(pooled=pooled).fit(X, y)
    Z = model.feature_distances(X)
    for j in range(3):
        W = naive.zca_cor(model.covariances_[j])
        expected = [(W @ (x - model.means_[j])) ** 2 for x in X]
        assert_allclose(Z[:, j], expected, rtol=1e-7, atol=1e-9)
    assert_allclose(Z.sum(axis=2), model.mahalanobis(X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
def test_distances_per_feature_of_independent_features(kind):
    X, y = problem(3)
    model = GaussianClassifier(kind).fit(X, y)
    Z = model.feature_distances(X)
    for j in range(3):
        variances = np.broadcast_to(model.covariances_[j], 4)
        expected = [naive.feature_distances(x, model.means_[j], variances) for x in X]
        assert_allclose(Z[:, j], expected, rtol=1e-10)


@pytest.mark.parametrize("difference", [False, True])
def test_weights_of_each_sample(difference):
    X, y = problem(4)
    name = "difference" if difference else "descent"
    model = GaussianClassifier(feature_weights=name).fit(X, y)
    Z = model.feature_distances(X)
    Z = naive.difference_weighted(Z) if difference else Z
    weights = [naive.descent_weights(z[None], 0.5) for z in Z]
    assert_allclose(model.mahalanobis(X), naive.rank_weighted_distances(Z, weights))
    with pytest.raises(AttributeError, match="each row has its own"):
        _ = model.feature_weights_


@pytest.mark.parametrize("difference", [False, True])
def test_weights_of_the_training_rows_are_those_of_the_batch(difference):
    X, y = problem(5)
    weights_of = difference_weights if difference else descent_weights
    weights = weights_of(GaussianClassifier().fit(X, y).feature_distances(X))
    model = GaussianClassifier(feature_weights=weights).fit(X, y)
    assert_allclose(model.feature_weights_, weights.rank_weights if difference else weights)
    assert_allclose(clone(model).fit(X, y).mahalanobis(X), model.mahalanobis(X))


def test_equal_weights_are_no_weights():
    X, y = problem(6)
    plain = GaussianClassifier().fit(X, y)
    equal = GaussianClassifier(feature_weights=np.full(4, 7.0)).fit(X, y)
    assert_allclose(equal.decision_function(X), plain.decision_function(X))
    powerless = GaussianClassifier(feature_weights="descent", weight_power=0).fit(X, y)
    assert_allclose(powerless.mahalanobis(X), plain.mahalanobis(X))


# --- properties ----------------------------------------------------------------------------------


def test_trimmed_weights_leave_out_the_largest_distance():
    X, y = problem(4)
    model = GaussianClassifier("diag", feature_weights="trimmed", missing="ignore").fit(X, y)

    def expected(Z):
        N = Z.shape[-1]
        return [[(sum(z) - max(z)) * N / (N - 1) for z in row] for row in Z]

    Z = model.feature_distances(X)
    assert_allclose(model.mahalanobis(X), expected(Z))
    assert_allclose(model.feature_weights_.sum(), Z.shape[-1])
    query = X.copy()
    query[:, 0] = np.nan
    assert_allclose(model.mahalanobis(query), expected(Z[..., 1:]))
    one = [
        GaussianClassifier("diag", feature_weights=w).fit(X[:, :1], y) for w in ("trimmed", None)
    ]
    assert_allclose(*(m.mahalanobis(X[:, :1]) for m in one))


@pytest.mark.parametrize("feature_weights", [None, "descent", "difference", "trimmed"])
def test_predictions_do_not_depend_on_the_batch(feature_weights):
    X, y = problem(7, n=400)
    model = GaussianClassifier(feature_weights=feature_weights).fit(X, y)
    together = model.decision_function(X)
    with sklearn.config_context(working_memory=0.001):
        assert_allclose(model.decision_function(X), together, rtol=1e-10)
    alone = np.vstack([model.decision_function(x[None]) for x in X[:20]])
    assert_allclose(alone, together[:20], rtol=1e-10)


@pytest.mark.parametrize("feature_weights", [None, "descent", "difference"])
def test_units_and_order_of_features_do_not_matter(feature_weights):
    X, y = problem(8)
    rng = np.random.default_rng(0)
    order, scale = rng.permutation(4), 10.0 ** rng.integers(-9, 9, 4)
    model = GaussianClassifier(feature_weights=feature_weights)
    expected = model.fit(X, y).mahalanobis(X)
    moved = X[:, order] * scale
    assert_allclose(model.fit(moved, y).mahalanobis(moved), expected, rtol=1e-6)


def test_distances_do_not_change_under_linear_maps():
    X, y = problem(9)
    A, b = np.random.default_rng(1).normal(size=(4, 4)), np.arange(4.0)
    plain = GaussianClassifier().fit(X, y).mahalanobis(X)
    assert_allclose(GaussianClassifier().fit(X @ A + b, y).mahalanobis(X @ A + b), plain, rtol=1e-6)


@pytest.mark.parametrize("feature_weights", [None, "descent", "difference"])
def test_full_with_diagonal_covariances_is_diag(feature_weights):
    rng = np.random.default_rng(2)
    means, variances = rng.normal(size=(3, 5)), rng.uniform(0.5, 2, (3, 5))
    X = rng.normal(size=(40, 5))
    diag, full = (
        GaussianClassifier.from_parameters(means, S, feature_weights=feature_weights)
        for S in (variances, [np.diag(v) for v in variances])
    )
    assert_allclose(full.decision_function(X), diag.decision_function(X))


@pytest.mark.parametrize("extra", ["constant", "duplicate", "collinear"])
@pytest.mark.parametrize("kind", ["full", "full pooled"])
def test_columns_without_information_change_nothing(extra, kind):
    X, y = problem(10)
    column = {"constant": np.full(len(X), 0.1), "duplicate": X[:, 0], "collinear": X @ [1, 2, 3, 4]}
    more = np.column_stack([X, column[extra]])
    model = GaussianClassifier(pooled="pooled" in kind)
    expected = model.fit(X, y).predict_proba(X)
    assert_allclose(model.fit(more, y).predict_proba(more), expected, atol=1e-6)
    assert_array_equal(model.ranks_, 4)


def test_a_constant_column_changes_no_descent_weighted_distance():
    X, y = problem(11)
    model = GaussianClassifier(feature_weights="descent")
    expected = model.fit(X, y).mahalanobis(X)
    more = np.column_stack([np.full(len(X), -3.7), X])
    assert_allclose(model.fit(more, y).mahalanobis(more), expected)


def test_a_class_with_one_object_is_spread_like_the_others():
    X, y = problem(12)
    one = np.append(X, [X[0] + 0.1], axis=0)
    model = GaussianClassifier().fit(one, np.append(y, 3))
    pooled = GaussianClassifier(pooled=True).fit(one, np.append(y, 3))
    assert_array_equal(model.ranks_, [4, 4, 4, 0])
    assert_allclose(model.mahalanobis(X)[:, 3], pooled.mahalanobis(X)[:, 3])


def test_a_small_class_keeps_the_variances_it_has():
    """Where a class varies, its own covariance counts; elsewhere the pooled one."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(202, 3))
    X[200:] = [[5.0, 5.0, 5.0], [5.0, 5.0, 7.0]]
    y = np.repeat([0, 1, 2], [100, 100, 2])
    model = GaussianClassifier().fit(X, y)
    assert model.ranks_[2] == 1
    along = model.mahalanobis([[5.0, 5.0, 6.0], [5.0, 5.0, 8.0]])[:, 2]
    assert_allclose(along, [0, 4], atol=1e-9)  # the variance of 5 and 7 is 1
    pooled = GaussianClassifier(pooled=True).fit(X, y).covariances_[0][:2, :2]
    across = model.mahalanobis([[6.0, 4.0, 6.0]])[0, 2]
    # The null space of the class is that of the first two axes.
    assert_allclose(across, [1, -1] @ np.linalg.inv(pooled) @ [1, -1])


def test_a_perfect_separator_is_used():
    X, y = problem(13)
    X[:, 1] = y
    assert GaussianClassifier().fit(X, y).score(X, y) == 1
    assert GaussianClassifier("diag").fit(X, y).score(X, y) == 1


# --- scikit-learn's classifiers -------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_equals_scikit_learn(load, priors):
    X, y = load(return_X_y=True)
    pairs = [
        (GaussianClassifier("diag", priors=priors), GaussianNB(priors=priors, var_smoothing=0)),
        (
            GaussianClassifier(pooled=True, priors=priors),
            LinearDiscriminantAnalysis(solver="lsqr", priors=priors),
        ),
    ]
    for ours, theirs in pairs:
        expected = theirs.fit(X, y).predict_proba(X)
        if priors and isinstance(theirs, LinearDiscriminantAnalysis):
            continue  # its covariance is pooled by the priors, not by the shares
        assert_allclose(ours.fit(X, y).predict_proba(X), expected, atol=1e-7)
        assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_equals_quadratic_discriminant_analysis(priors):
    X, y = load_wine(return_X_y=True)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True, priors=priors).fit(X, y)
    ours = GaussianClassifier(priors=priors).fit(X, y)
    assert_allclose(ours.means_, theirs.means_)
    assert_allclose(ours.priors_, theirs.priors_)
    # The divisor of scikit-learn's covariances was n_j − 1 in earlier versions.
    n = np.bincount(y)[:, None, None]
    divisor = n if np.allclose(ours.covariances_[0], theirs.covariance_[0]) else n - 1
    assert_allclose(ours.covariances_ * n / divisor, theirs.covariance_, rtol=1e-6, atol=1e-9)
    same_divisor = GaussianClassifier.from_parameters(
        ours.means_, ours.covariances_ * n / divisor, ours.priors_
    )
    assert_allclose(same_divisor.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_array_equal(same_divisor.predict(X), theirs.predict(X))


@pytest.mark.parametrize("shrinkage", [0.1, "auto"])
def test_shrinkage_is_that_of_scikit_learn(shrinkage):
    X, y = load_wine(return_X_y=True)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    ours = GaussianClassifier(pooled=True, shrinkage=shrinkage).fit(X, y)
    assert_allclose(ours.covariances_[0], theirs.covariance_, rtol=1e-7)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_shrinkage_keeps_the_total_variance(kind):
    X, y = problem(14)
    none, some, all_ = (GaussianClassifier(kind, shrinkage=s).fit(X, y) for s in (None, 0.4, 1))
    if kind == "full":
        traces = [np.trace(m.covariances_, axis1=1, axis2=2) for m in (none, some, all_)]
        assert_allclose(all_.covariances_[0], np.eye(4) * traces[0][0] / 4)
    else:
        traces = [m.covariances_.reshape(3, -1).sum(axis=1) for m in (none, some, all_)]
    assert_allclose(traces[1], traces[0])
    assert_allclose(traces[2], traces[0])


def test_covariance_estimator():
    X, y = load_iris(return_X_y=True)
    model = GaussianClassifier(covariance_estimator=OAS()).fit(X, y)
    assert_allclose(model.covariances_[1], OAS().fit(X[y == 1]).covariance_)
    variances = GaussianClassifier("diag", covariance_estimator=OAS()).fit(X, y).covariances_
    assert_allclose(variances[1], np.diag(OAS().fit(X[y == 1]).covariance_))
    robust = GaussianClassifier(covariance_estimator=MinCovDet(random_state=0)).fit(X, y)
    assert robust.score(X, y) > 0.95


# --- sample weights and partial fits -------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_sample_weights(kind):
    X, y = problem(15)
    weights = np.random.default_rng(0).uniform(0, 3, len(y))
    weights[:9] = 0
    model = GaussianClassifier(kind).fit(X, y, sample_weight=weights)
    means, covariances, shares = naive_parameters(X, y, kind, False, weights)
    assert_allclose(model.priors_, shares)
    expected = naive_scores(X, means, covariances, shares)
    assert_allclose(model.decision_function(X), expected, rtol=1e-9)
    counts = np.arange(len(y)) % 3
    repeated = GaussianClassifier(kind).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    counted = GaussianClassifier(kind).fit(X, y, sample_weight=counts)
    assert_allclose(counted.decision_function(X), repeated.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_partial_fit_equals_one_fit_whatever_the_chunks(kind, weighted, offset):
    X, y = problem(16, n=300)
    X = X + offset * X.std(axis=0)
    order = np.argsort(X[:, 0])  # chunks that differ as much as they can
    X, y = X[order], y[order]
    weights = np.random.default_rng(1).uniform(0, 2, len(y)) if weighted else None
    whole = GaussianClassifier(kind).fit(X, y, sample_weight=weights)
    deviation = X.std(axis=0)
    unit = {"full": np.outer(deviation, deviation), "diag": deviation**2}.get(kind, X.var())
    for cuts in ([1], [3, 4, 5, 290], range(1, 300), [150]):
        parts = GaussianClassifier(kind)
        for rows in np.split(np.arange(300), cuts):
            parts.partial_fit(
                X[rows],
                y[rows],
                classes=[0, 1, 2],
                sample_weight=None if weights is None else weights[rows],
            )
        assert_allclose(parts.means_, whole.means_, rtol=1e-14, atol=1e-14 * deviation.max())
        # Rounding moves a row by up to eps·offset standard deviations, and a product of two by
        # as much relative to both deviations: no order of summation can do better.
        error = np.abs(parts.covariances_ - whole.covariances_) / unit
        assert error.max() < 50 * np.finfo(float).eps * max(1, offset)
        assert_allclose(parts.priors_, whole.priors_)
        assert_array_equal(parts.predict(X), whole.predict(X))


def test_partial_fit_goes_on_from_fit_and_waits_for_classes():
    X, y = problem(17)
    whole = GaussianClassifier().fit(X, y)
    more = GaussianClassifier().fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_allclose(more.decision_function(X), whole.decision_function(X), rtol=1e-8)
    early = GaussianClassifier(feature_weights="descent")
    early.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert_array_equal(early.predict_proba(X)[:, 2], 0)
    assert np.isinf(early.mahalanobis(X)[:, 2]).all()
    assert np.isnan(early.means_[2]).all()
    two = GaussianClassifier(feature_weights="descent").fit(X[y < 2], y[y < 2])
    assert_allclose(early.predict_proba(X)[:, :2], two.predict_proba(X))
    early.partial_fit(X[y == 2], y[y == 2])
    weighted = GaussianClassifier(feature_weights="descent").fit(X, y)
    assert_allclose(early.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"covariance_estimator": OAS()}, "covariance_estimator"),
        ({"shrinkage": "auto"}, "fourth moments"),
    ],
)
def test_what_needs_all_rows_has_no_partial_fit_and_no_weights(options, reason):
    X, y = problem(18)
    model = GaussianClassifier(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        _ = model.partial_fit
    assert reason in str(caught.value.__cause__ or caught.value)
    with pytest.raises(TypeError, match=reason):
        model.fit(X, y, sample_weight=np.ones(len(y)))


# Every parameter, before and after: what the next partial_fit does with the change.
CHANGES = {
    "covariance to diag": ({}, {"covariance": "diag"}),
    "covariance to spherical": ({}, {"covariance": "spherical"}),
    "diag to spherical": ({"covariance": "diag"}, {"covariance": "spherical"}),
    "spherical to diag": ({"covariance": "spherical"}, {"covariance": "diag"}),
    "pooled": ({}, {"pooled": True}),
    "feature_weights": ({}, {"feature_weights": "descent"}),
    "an array of weights": ({"feature_weights": "difference"}, {"feature_weights": [3, 2, 1, 0]}),
    "weight_power": ({"feature_weights": "descent"}, {"weight_power": 1.0}),
    "shrinkage": ({}, {"shrinkage": 0.3}),
    "shrinkage and diag": ({"shrinkage": 0.3}, {"covariance": "diag", "shrinkage": None}),
    "priors": ({}, {"priors": [0.6, 0.3, 0.1]}),
    "missing": ({}, {"missing": "ignore"}),
}


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_partial_fit_honours_changed_parameters(change, asked):
    """As in scikit-learn: set_params counts from the next call to partial_fit, and not before."""
    before, after = CHANGES[change]
    X, y = problem(28)
    parts = [(X[:40], y[:40]), (X[40:], y[40:])]
    model = GaussianClassifier(**before).partial_fit(*parts[0], classes=[0, 1, 2])
    expected = GaussianClassifier(**before).fit(*parts[0]).decision_function(X)
    if asked:
        model.predict(X)
    model.set_params(**after)
    assert_allclose(model.decision_function(X), expected, rtol=1e-9)
    model.partial_fit(*parts[1])
    fresh = GaussianClassifier(**{**before, **after})
    for part in parts:
        fresh.partial_fit(*part, classes=[0, 1, 2])
    assert_allclose(model.decision_function(X), fresh.decision_function(X), rtol=1e-9)
    assert model.covariances_.shape == fresh.covariances_.shape
    # And back again: the scatter matrices are kept.
    model.set_params(**{**GaussianClassifier().get_params(), **before}).partial_fit(X, y)
    back = GaussianClassifier(**before).fit(np.vstack([X, X]), np.append(y, y))
    assert_allclose(model.decision_function(X), back.decision_function(X), rtol=1e-7)


def test_what_partial_fit_cannot_honour_is_refused():
    X, y = problem(29)
    for kind in ("diag", "spherical"):
        model = GaussianClassifier(kind).partial_fit(X, y, classes=[0, 1, 2])
        expected = model.decision_function(X)
        with pytest.raises(ValueError, match="covariance='full' needs the scatter matrices"):
            model.set_params(covariance="full").partial_fit(X, y)
        assert_array_equal(model.decision_function(X), expected)
    model = GaussianClassifier().partial_fit(X, y, classes=[0, 1, 2])
    for change in (
        {"shrinkage": "auto"},
        {"covariance_estimator": OAS()},
    ):
        assert not hasattr(clone(model).set_params(**change), "partial_fit")
    for change, message in [
        ({"covariance": "tied"}, "covariance='tied'"),
        ({"pooled": 1}, "pooled must be"),
        ({"feature_weights": [1, 2]}, "4 nonnegative rank weights"),
        ({"weight_power": -1}, "weight_power"),
        ({"shrinkage": 3}, "shrinkage"),
        ({"priors": [1, 1]}, "3 positive numbers"),
        ({"missing": "drop"}, "missing"),
    ]:
        model = GaussianClassifier().partial_fit(X, y, classes=[0, 1, 2]).set_params(**change)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y)


def test_partial_fit_errors():
    X, y = problem(19)
    with pytest.raises(ValueError, match="classes must be given"):
        GaussianClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"not among the classes: \[2\]"):
        GaussianClassifier().partial_fit(X, y, classes=[0, 1])
    model = GaussianClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 4), np.nan), [0])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    known = GaussianClassifier.from_parameters(np.eye(2), np.ones(2))
    with pytest.raises(ValueError, match="from_parameters"):
        known.partial_fit(X[:, :2], y)


# --- known Gaussians, missing cells, input -------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooled", [False, True])
def test_from_parameters_equals_fit(kind, pooled):
    X, y = problem(20)
    fitted = GaussianClassifier(kind, pooled=pooled, feature_weights="descent").fit(X, y)
    known = GaussianClassifier.from_parameters(
        fitted.means_,
        fitted.covariances_[0] if pooled else fitted.covariances_,
        fitted.priors_,
        pooled=pooled,
        feature_weights="descent",
        classes=["a", "b", "c"],
    )
    assert known.covariance == kind
    assert_allclose(known.decision_function(X), fitted.decision_function(X), rtol=1e-9)
    assert_array_equal(known.predict(X), np.array(["a", "b", "c"])[fitted.predict(X)])
    assert_allclose(
        pickle.loads(pickle.dumps(known)).predict_proba(X), fitted.predict_proba(X), atol=1e-12
    )
    with pytest.raises(NotFittedError):
        clone(known).predict(X)


@pytest.mark.parametrize(
    ("means", "covariances", "options", "message"),
    [
        ([1.0, 2.0], [1.0, 1.0], {}, "means must be"),
        ([[1.0]], [1.0], {}, "at least two"),
        (np.eye(2), np.ones((3, 2)), {}, "covariances must have the shape"),
        (np.eye(2), [1.0, -1.0], {}, "negative variance"),
        (np.eye(2), [[[1, 2], [2, 1]]] * 2, {}, "negative eigenvalue"),
        (np.eye(2), [[[1, 2], [0, 1]]] * 2, {}, "not symmetric"),
        (np.eye(2), [1.0, np.inf], {}, "finite"),
        (np.eye(2), [1.0, 1.0], {"classes": [1, 0]}, "ascending"),
        (np.eye(2), [1.0, 1.0], {"priors": [1.0]}, "priors"),
        (np.eye(2), np.ones(3), {"pooled": True}, "common to the classes"),
    ],
)
def test_from_parameters_errors(means, covariances, options, message):
    with pytest.raises(ValueError, match=message):
        GaussianClassifier.from_parameters(means, covariances, **options)


@pytest.mark.parametrize("feature_weights", ["descent", "difference", [3.0, 1.0, 0.5, 0.1]])
def test_weighted_rows_with_missing_cells_are_those_of_the_smaller_problem(feature_weights):
    X, y = problem(21)
    there = [0, 2, 3]
    model = GaussianClassifier("diag", feature_weights=feature_weights, missing="ignore")
    queries = X.copy()
    queries[:, 1] = np.nan
    got = model.fit(X, y).decision_function(queries)
    if isinstance(feature_weights, list):
        feature_weights = np.interp(
            [0.5 / 3, 0.5, 2.5 / 3], [0.125, 0.375, 0.625, 0.875], [3, 1, 0.5, 0.1]
        )
    smaller = GaussianClassifier("diag", feature_weights=feature_weights).fit(X[:, there], y)
    assert_allclose(got, smaller.decision_function(X[:, there]))


def test_a_missing_duplicate_takes_nothing_away():
    X, y = problem(22)
    twice = np.column_stack([X, X[:, 0]])
    model = GaussianClassifier(missing="ignore").fit(twice, y)
    expected = model.predict_proba(twice)
    twice[:, 0] = np.nan
    assert_allclose(model.predict_proba(twice), expected, atol=1e-6)


def test_missing_in_training_rows():
    X, y = problem(23)
    gap = X.copy()
    gap[:10, 2] = np.nan
    model = GaussianClassifier(missing="ignore").fit(gap, y)
    assert_allclose(model.means_, GaussianClassifier().fit(X[10:], y[10:]).means_)
    gap[y == 1, 0] = np.nan
    with pytest.raises(ValueError, match=r"No training row of the classes \[1\]"):
        model.fit(gap, y)
    for missing in ("raise", "ignore"):
        assert GaussianClassifier(missing=missing).__sklearn_tags__().input_tags.allow_nan == (
            missing == "ignore"
        )
    with pytest.raises(ValueError, match="missing='ignore'"):
        GaussianClassifier().fit(X, y).predict(gap)
    with pytest.raises(ValueError, match="NaN"):
        model.feature_distances(gap)


def test_parts_may_lack_complete_rows_of_a_class():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    X[:20:2, 0] = np.nan  # class 0 has no complete row in the first half
    model, da = GaussianClassifier(missing="ignore"), pytest.importorskip("dask.array")

    def roads():
        yield X, y
        yield [(X[:20], y[:20]), (X[20:], y[20:])], None
        yield da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=20)

    expected, *others = [clone(model).fit(*data).decision_function(X[:9]) for data in roads()]
    for other in others:
        assert_allclose(other, expected)
    X[::2, 0] = np.nan
    for data in roads():
        with pytest.raises(ValueError, match=r"No training row of the classes \[0\] is complete"):
            clone(model).fit(*data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "tied"}, "covariance='tied' is not known"),
        ({"missing": "drop"}, "missing"),
        ({"pooled": "yes"}, "pooled must be True or False"),
        ({"feature_weights": "ascent"}, "feature_weights='ascent'"),
        ({"feature_weights": [1.0, 2.0]}, "4 nonnegative rank weights"),
        ({"feature_weights": [1.0, 2.0, 3.0, -1.0]}, "nonnegative"),
        ({"feature_weights": np.zeros(4)}, "not all 0"),
        ({"weight_power": -1}, "weight_power"),
        ({"shrinkage": 2}, "shrinkage"),
        ({"shrinkage": "oas"}, "shrinkage"),
        ({"shrinkage": 0.1, "covariance_estimator": OAS()}, "not both"),
        ({"priors": [1.0, 1.0]}, "3 positive numbers"),
        ({"priors": "equal"}, "3 positive numbers"),
        ({"priors": {0: 0.2, 1: 0.8}}, "3 positive numbers"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = problem(24)
    with pytest.raises(ValueError, match=message):
        GaussianClassifier(**options).fit(X, y)


def test_bad_input_is_refused():
    X, y = problem(25)
    with pytest.raises(ValueError, match="Rescale"):
        GaussianClassifier().fit(X * 1e160, y)
    with pytest.raises(ValueError, match="nonnegative"):
        GaussianClassifier().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="one number for each"):
        GaussianClassifier().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(TypeError, match="fit and covariance_"):
        GaussianClassifier(covariance_estimator=3).fit(X, y)
    with pytest.raises(ValueError, match="failed on class 0 with 1 objects"):
        GaussianClassifier(covariance_estimator=MinCovDet()).fit(X[:4], [0, 1, 1, 1])


@pytest.mark.parametrize("feature_weights", [None, "descent", "difference"])
def test_absurd_values_give_finite_answers(feature_weights):
    X, y = problem(26)
    model = GaussianClassifier(feature_weights=feature_weights).fit(X, y)
    absurd = np.array([[1e308, -1e308, 1e308, 0.0], [1e200, 0.0, 0.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(model.predict_proba(absurd)).all()
        assert np.isfinite(model.mahalanobis(absurd)).all()


def test_working_memory_bounds_the_prediction():
    from benchmarks.timing import peak_doubles

    X, y = problem(27, n=20_000, d=20)
    model = GaussianClassifier(feature_weights="difference").fit(X, y)
    with sklearn.config_context(working_memory=1):
        peak = peak_doubles(lambda: model.mahalanobis(X))
    assert peak < 2**20 / 8 + 3 * 20_000 + 20_000  # the budget, the output, and slack
