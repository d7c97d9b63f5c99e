"""A thousand degenerate problems: finite answers, no warnings, whatever the data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mahalearn import GaussianClassifier

N_BATCHES, N_PROBLEMS = 20, 50


def degenerate_problem(rng):
    """Random rows with several things wrong at once, and options to fit them with."""
    c, d = int(rng.integers(2, 6)), int(rng.integers(1, 9))
    sizes = rng.choice([1, 1, 2, 3, d, 2 * d + 3], c)
    y = np.repeat(np.arange(c), sizes)
    X = rng.normal(size=(len(y), d)) + rng.normal(size=(c, d))[y] * rng.choice([0, 1, 10])
    for column in range(d):
        match rng.integers(8):
            case 0:
                X[:, column] = rng.choice([0.0, 0.1, -1e12, 3e-12])
            case 1:
                X[:, column] = X[:, rng.integers(d)]
            case 2:
                X[:, column] = X @ rng.integers(-2, 3, d)
            case 3:
                X[y == rng.integers(c), column] = 0.3
            case 4:
                X[:, column] = np.round(X[:, column])
            case 5:
                X[:, column] = y
    if rng.random() < 0.3:
        X[y == rng.integers(c)] = X[0]  # a class of equal rows, perhaps the same as others'
    scale = 10.0 ** rng.choice([-12, -6, 0, 0, 0, 6, 12], d)
    X = X * (scale if rng.random() < 0.5 else 1.0) + rng.choice([0.0, 0.0, 1e6])
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    options = {
        "covariance": str(rng.choice(["full", "diag", "spherical"])),
        "pooled": bool(rng.random() < 0.3),
        "feature_weights": rng.choice(np.array([None, "descent", "difference"], dtype=object)),
        "shrinkage": rng.choice(np.array([None, None, None, 0.1, "auto"], dtype=object)),
        "missing": "ignore",
    }
    return X, y, options


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_degenerate_problems_have_finite_answers(batch):
    rng = np.random.default_rng([2026, batch])
    for number in range(N_PROBLEMS):
        X, y, options = degenerate_problem(rng)
        gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)[:5]
        elsewhere = X + X.std(axis=0) * rng.normal(size=X.shape).astype(X.dtype)
        said = f"batch {batch}, problem {number}: {options}"
        with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
            warnings.simplefilter("error")
            model = GaussianClassifier(**options).fit(X, y)
            for rows in (X, gaps, elsewhere):
                proba = model.predict_proba(rows)
                assert np.isfinite(proba).all(), said
                assert_allclose(proba.sum(axis=1), 1, err_msg=said)
                assert np.isfinite(model.mahalanobis(rows)).all(), said
                assert np.isfinite(model.score_samples(rows)).all(), said
        assert (model.ranks_ <= X.shape[1]).all(), said
        if options["shrinkage"] is None and not options["pooled"] and model.covariance == "full":
            assert (model.ranks_ < np.bincount(y)).all(), said


@pytest.mark.parametrize("exponent", [-12, 12])
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_units_do_not_change_decisions_on_singular_data(exponent, kind):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 3, 1])
    X = rng.normal(size=(34, 5)) + 2 * np.eye(3, 5)[y]
    X[:, 4] = X[:, 0]
    scale = 10.0 ** (exponent * np.array([1, 0, 1, -1, 0]))
    plain = GaussianClassifier(kind).fit(X, y)
    scaled = GaussianClassifier(kind).fit(X * scale, y)
    assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-6)
    assert (scaled.ranks_ == plain.ranks_).all()


def test_float32_agrees_with_float64():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 4)) + y[:, None]).astype(np.float32)
    small = GaussianClassifier().fit(X, y).predict_proba(X)
    assert_allclose(small, GaussianClassifier().fit(X.astype(float), y).predict_proba(X))


@pytest.mark.parametrize("pooled", [False, True])
def test_more_features_than_rows(pooled):
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 10)
    X = rng.normal(size=(20, 100)) + 0.8 * y[:, None]
    test = rng.normal(size=(200, 100)) + 0.8 * (np.arange(200) % 2)[:, None]
    model = GaussianClassifier(pooled=pooled).fit(X, y)
    assert model.score(test, np.arange(200) % 2) > 0.9


def test_a_tiny_class_is_still_found():
    """Its own covariance has rank 4 of 10; neither does it take all rows nor none."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [200, 200, 5])
    shift = 4 * np.eye(3, 10)
    X = rng.normal(size=(405, 10)) + shift[y]
    y_test = np.repeat([0, 1, 2], 200)
    X_test = rng.normal(size=(600, 10)) + shift[y_test]
    model = GaussianClassifier(priors=[1 / 3] * 3).fit(X, y)
    recall = [(model.predict(X_test[y_test == j]) == j).mean() for j in range(3)]
    assert model.ranks_.tolist() == [10, 10, 4]
    assert min(recall[:2]) > 0.9
    assert recall[2] > 0.5
