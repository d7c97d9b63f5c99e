"""A metric learned from gradients: the definition, its limits, and what it tells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score

import naive
from mahalearn import KernelRidgeClassifier, MahalanobisClassifierCV, RecursiveFeatureMachine
from mahalearn.formulas.learned_metric import (
    MetricRidge,
    fit_metric_ridge,
    mean_gradient_outer_product,
    metric_distances,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    return X, np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(X[:, 2])])


@pytest.mark.parametrize("full", [False, True])
def test_values_and_gradients_match_the_definition(data, full):
    X, _ = data
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 3))
    metric = A @ A.T if full else rng.uniform(0.2, 2, 3)
    M = metric if full else np.diag(metric)
    model = MetricRidge(metric, 1.7, rng.normal(size=(25, 2)), np.array([0.3, -0.1]))
    arguments = X, M, 1.7, model.coefficients, model.intercept
    expected = [naive.metric_regression(x, *arguments) for x in X[:5] + 0.1]
    assert_allclose(model.predict(X[:5] + 0.1, X), expected)
    D = metric_distances(X, X, metric)
    found = mean_gradient_outer_product(X, model, D, np.exp(-D / 1.7))
    outer = naive.gradient_outer_product(*arguments)
    assert_allclose(found, outer if full else np.diag(outer), rtol=1e-5)


@pytest.mark.parametrize("full", [False, True])
def test_the_fit_solves_the_ridge_equations_of_its_own_kernel(data, full):
    X, targets = data
    model = fit_metric_ridge(X, targets, 1e-2, 1.5, 2, full)
    K = np.exp(-metric_distances(X, X, model.metric) / model.scale)
    left = (K + 25 * 1e-2 * np.eye(25)) @ model.coefficients
    assert_allclose(left, targets - targets.mean(axis=0), atol=1e-10)
    trace = np.trace(model.metric) if full else model.metric.sum()
    assert_allclose(trace, 3)


def test_without_rounds_it_is_kernel_ridge_with_the_euclidean_metric():
    X, y = make_classification(60, 4, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = RecursiveFeatureMachine(0.01, n_iter=0).fit(X, y)
    assert_allclose(model.metric_, 1)

    def kernel(A, B):
        return np.exp(-np.linalg.norm(A[:, None] - B[None], axis=2) / model.scale_)

    ridge = KernelRidgeClassifier(0.01, kernel=kernel).fit(X, y)
    assert (model.predict(X) == ridge.predict(X)).mean() > 0.95


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_features_that_matter_are_found_and_others_do_not_hurt(metric):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 12))
    y = (X[:, 3] * X[:, 7] > 0).astype(int)  # no single feature tells
    X *= rng.uniform(0.01, 100, 12)  # units are standardised away
    model = RecursiveFeatureMachine(metric=metric, n_iter=5).fit(X, y)
    weights = model.metric_ if metric == "diagonal" else np.diag(model.metric_)
    assert set(np.argsort(weights)[-2:]) == {3, 7}
    scores = [
        cross_val_score(RecursiveFeatureMachine(metric=metric, n_iter=n), X, y).mean()
        for n in (0, 5)
    ]
    assert scores[1] > scores[0] + 0.1


def test_columns_without_information_and_equal_objects():
    X = np.zeros((10, 2))
    model = RecursiveFeatureMachine().fit(X, np.arange(10) % 2)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == 0).all()  # a tie goes to the first class


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reg": 0}, "reg must be a positive number"),
        ({"length": -1}, "length must be a positive number"),
        ({"metric": "banana"}, "metric='banana' is not known"),
        ({"n_iter": -1}, "n_iter"),
    ],
)
def test_errors(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        RecursiveFeatureMachine(**parameters).fit(data[0], np.arange(25) % 2)


def test_it_is_a_family_of_the_chooser():
    X, y = make_classification(60, 5, random_state=1)
    families = ("gaussian", "learned_metric")
    model = MahalanobisClassifierCV(families, kernels=["rbf"], cv=3, random_state=0).fit(X, y)
    assert {row["member"]: row["note"] for row in model.leaderboard_} == dict.fromkeys(families, "")
