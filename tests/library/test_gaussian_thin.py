"""More features than rows: the thin road equals the one through d×d matrices, and stays thin."""

import pickle
import time

import numpy as np
import pytest
from benchmarks.timing import peak_doubles
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf

import naive
from mahalearn import GaussianClassifier, load_model, save_model
from mahalearn.formulas.class_covariances import ledoit_wolf_intensity

SHRINKAGES = [None, 0.0, 0.1, 0.7, 1.0, "auto"]


class StandardisedLedoitWolf(BaseEstimator):
    """scikit-learn's Ledoit–Wolf estimate of standardised features, in their own units."""

    def fit(self, X, y=None):
        X = X - X[0]  # a constant column has a deviation of exactly 0
        deviation = X.std(axis=0)
        Z = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        S = ledoit_wolf(Z, assume_centered=True)[0] if len(X) > 1 else np.zeros((X.shape[1],) * 2)
        self.covariance_ = S * np.outer(deviation, deviation)
        return self


def dense(shrinkage, **options):
    """A function that fits by d×d matrices, whatever the number of rows."""
    if shrinkage == "auto":
        estimator = StandardisedLedoitWolf()
        return GaussianClassifier(covariance_estimator=estimator, **options).fit
    model = GaussianClassifier(shrinkage=shrinkage, **options)
    return lambda X, y: model.partial_fit(X, y, classes=np.unique(y))


def plain(rng, n, d, c):
    y = np.arange(n) % c
    return rng.normal(size=(n, d)) + rng.normal(size=(c, d))[y], y


def small_classes(rng, n, d, c):
    """Classes with one, two, and many objects."""
    y = np.repeat(np.arange(c), [1, 2, *[1] * (c - 3), n - c][:c])
    return rng.normal(size=(len(y), d)) + rng.normal(size=(c, d))[y], y


def odd_columns(rng, n, d, c):
    """Constant columns, within one class and within all; separators, duplicates, counts."""
    X, y = plain(rng, n, d, c)
    X[:, 0] = 0.1
    X[y == 0, 1] = 0.3
    X[:, 2] = y
    X[:, 3] = rng.normal(size=c)[y]
    X[:, 4] = X[:, 5]
    X[:, 6:9] = rng.poisson(0.2, size=(n, 3))
    return X * 10.0 ** rng.integers(-3, 4, d), y


@pytest.mark.parametrize("make", [plain, small_classes, odd_columns])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("shape", [(20, 60, 2), (15, 24, 4), (23, 24, 3)])
def test_equals_the_dense_road(shape, shrinkage, pooled, make):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = make(rng, *shape)
        queries = np.vstack([X, X + X.std(axis=0) * rng.normal(size=X.shape)])
        thin = GaussianClassifier(pooled=pooled, shrinkage=shrinkage).fit(X, y)
        other = dense(shrinkage, pooled=pooled)(X, y)
        expected = other.mahalanobis(queries)
        atol = 1e-9 * np.median(expected)
        assert_allclose(thin.mahalanobis(queries), expected, rtol=1e-9, atol=atol)
        assert_allclose(thin.score_samples(queries), other.score_samples(queries), rtol=1e-9)
        assert_array_equal(thin.ranks_, other.ranks_)
        unit = np.sqrt(np.outer(X.var(axis=0), X.var(axis=0))) + 1e-300
        assert_allclose(thin.covariances_ / unit, other.covariances_ / unit, atol=1e-12)
        assert_allclose(thin.means_, other.means_, rtol=1e-12)
        assert_allclose(thin.priors_, other.priors_)


@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_sample_weights_on_the_thin_road(shrinkage):
    X, y = plain(np.random.default_rng(0), 18, 40, 3)
    weights = np.random.default_rng(1).uniform(0, 2, 18)
    weights[0] = 0
    thin = GaussianClassifier(shrinkage=shrinkage).fit(X, y, sample_weight=weights)
    other = GaussianClassifier(shrinkage=shrinkage)
    other.partial_fit(X, y, classes=[0, 1, 2], sample_weight=weights)
    assert_allclose(thin.mahalanobis(X), other.mahalanobis(X), rtol=1e-9, atol=1e-9)
    assert_allclose(thin.score_samples(X), other.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shrinkage", [None, 0.1, "auto"])
def test_the_switch_at_as_many_rows_as_features_changes_nothing(shrinkage, pooled):
    """A constant column more makes a problem thin, and says nothing (but to tr Σ/d)."""
    rng = np.random.default_rng(3)
    X, y = plain(rng, 24, 24, 3)
    more = np.column_stack([X, np.full((24, 3), 2.0)])
    if shrinkage == 0.1:  # the trace is divided by 27 features instead of 24
        expected = dense(0.1, pooled=pooled)(more, y).predict_proba(more)
    else:
        expected = GaussianClassifier(pooled=pooled, shrinkage=shrinkage).fit(X, y).predict_proba(X)
    if shrinkage == "auto":
        expected = dense("auto", pooled=pooled)(more, y).predict_proba(more)
    found = GaussianClassifier(pooled=pooled, shrinkage=shrinkage).fit(more, y).predict_proba(more)
    assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("make", [plain, small_classes, odd_columns])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shrinkage", [None, 0.1, "auto"])
def test_missing_cells(shrinkage, pooled, make):
    rng = np.random.default_rng(4)
    X, y = make(rng, 20, 40, 3)
    gaps = X + X.std(axis=0) * rng.normal(size=X.shape)
    gaps[:10, rng.random(40) < 0.3] = np.nan
    gaps[10:15, 5:] = np.nan
    gaps[15] = np.nan
    thin = GaussianClassifier(pooled=pooled, shrinkage=shrinkage, missing="ignore").fit(X, y)
    other = dense(shrinkage, pooled=pooled, missing="ignore")(X, y)
    expected = other.mahalanobis(gaps)
    # A variance of rule 3, 1e-10, loses six digits beside others in a d×d matrix.
    assert_allclose(thin.mahalanobis(gaps), expected, rtol=1e-5, atol=1e-6 * np.median(expected))
    assert_allclose(thin.score_samples(gaps), other.score_samples(gaps), rtol=1e-5)
    assert_allclose(thin.predict_proba(gaps[15:16])[0], thin.priors_)


@pytest.mark.parametrize("shrinkage", [None, 0.1])
def test_partial_fit_goes_on_from_a_thin_fit(shrinkage):
    X, y = plain(np.random.default_rng(5), 60, 30, 3)
    model = GaussianClassifier(shrinkage=shrinkage).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    whole = GaussianClassifier(shrinkage=shrinkage).fit(X, y)
    assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-8)


@pytest.mark.parametrize("shrinkage", [None, 0.1, "auto"])
def test_distances_per_feature(shrinkage):
    X, y = odd_columns(np.random.default_rng(6), 20, 30, 3)
    model = GaussianClassifier(shrinkage=shrinkage).fit(X, y)
    Z = model.feature_distances(X)
    assert_allclose(Z.sum(axis=2), model.mahalanobis(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shrinkage", [None, 0.1, "auto"])
def test_saved_and_copied_models_are_the_same(tmp_path, shrinkage, pooled):
    X, y = small_classes(np.random.default_rng(7), 20, 30, 3)
    model = GaussianClassifier(pooled=pooled, shrinkage=shrinkage).fit(X, y)
    expected = model.decision_function(X)
    again = load_model(save_model(model, tmp_path / "model.skops"))
    assert_array_equal(again.decision_function(X), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), expected)
    assert_allclose(again.covariances_, model.covariances_)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("counts", [False, True])
def test_six_thousand_features_take_a_second_and_little_memory(counts, shrinkage, pooled):
    rng = np.random.default_rng(8)
    n, d = 40, 6000
    y = np.arange(n) % 2
    X = rng.poisson(0.1, size=(n, d)).astype(float) if counts else rng.normal(size=(n, d))
    X[:, :200] += 2 * y[:, None]
    X[:, 200] = y
    model = GaussianClassifier(pooled=pooled, shrinkage=shrinkage)
    start = time.process_time()
    peak = peak_doubles(lambda: model.fit(X, y).predict_proba(X))
    assert time.process_time() - start < 3  # about .2 on an idle machine, without tracing
    assert peak < 25 * n * d  # 48 MB; one d×d matrix has 150 n·d
    fresh = rng.poisson(0.1, size=(n, d)) if counts else rng.normal(size=(n, d))
    fresh[:, :200] += 2 * y[:, None].astype(fresh.dtype)
    fresh[:, 200] = y
    assert model.score(fresh, y) > 0.9


def test_ledoit_wolf_intensity_is_the_textbook_one():
    rng = np.random.default_rng(9)
    for n, d in [(3, 5), (8, 3), (5, 5), (2, 4), (30, 2)]:
        Z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
        Z -= Z.mean(axis=0)
        rho, mu = ledoit_wolf_intensity(Z)
        expected = naive.ledoit_wolf(Z)
        assert_allclose([rho, mu], expected, rtol=1e-9, atol=1e-12)
        found = (1 - rho) * Z.T @ Z / n + rho * mu * np.eye(d)
        assert_allclose(found, ledoit_wolf(Z, assume_centered=True)[0], rtol=1e-9, atol=1e-12)
    assert ledoit_wolf_intensity(np.array([[1.0, 2.0], [-1.0, -2.0]]))[0] == 0
