"""GaussianClassifier does not depend on the units of the features, from 1e-150 to 1e150."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mahalearn import GaussianClassifier

SCALES = {
    "issue": np.array([1e-130, 1e20, 1, 1]),
    "tiny": np.array([1e-150, 1e-150, 1e-150, 1e-150]),
    "huge": np.array([1e150, 1e150, 1e150, 1e150]),
    "mixed": np.array([1e-150, 1e150, 1e-75, 1e100]),
}
WEIGHTS = [
    {},
    {"feature_weights": "descent"},
    {"feature_weights": "difference"},
    {"feature_weights": [3.0, 2.0, 1.0, 0.5]},
]


def problem(n=120, d=4, c=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=(c, d))[y]
    return X, y


def answers(model, X, gaps):
    scores = [model.decision_function(X), model.decision_function(gaps)]
    return [model.mahalanobis(X), model.mahalanobis(gaps), *(s - s[:, :1] for s in scores)]


def check_invariance(options, scale, *, rtol=1e-7, n=120):
    X, y = problem(n=n, d=len(scale))
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    gaps[::4, 0] = np.nan
    plain = GaussianClassifier(missing="ignore", **options).fit(X, y)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        model = GaussianClassifier(missing="ignore", **options).fit(X * scale, y)
        found = answers(model, X * scale, gaps * scale)
        for got, expected in zip(found, answers(plain, X, gaps)):
            assert_allclose(got, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
        assert_array_equal(model.predict(X * scale), plain.predict(X))
        # A density of scaled features is smaller by the product of the scales.
        assert_allclose(
            model.score_samples(X * scale),
            plain.score_samples(X) - np.log(scale).sum(),
            rtol=1e-9,
            atol=1e-6,
        )
        assert_allclose(model.means_ / scale, plain.means_, rtol=1e-12)
    assert_array_equal(model.ranks_, plain.ranks_)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.parametrize(
    "weights", WEIGHTS, ids=lambda w: "-".join(map(str, w.values())) or "plain"
)
def test_units_do_not_matter(kind, pooled, weights, scale):
    check_invariance({"covariance": kind, "pooled": pooled, **weights}, SCALES[scale])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("kind", ["full", "diag"])
def test_units_do_not_matter_to_ledoit_wolf(kind, pooled, scale):
    options = {"covariance": kind, "pooled": pooled, "shrinkage": "auto"}
    check_invariance(options, SCALES[scale])


@pytest.mark.parametrize("exponent", [-150, -100, 100, 150])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "spherical"},
        {"covariance": "spherical", "feature_weights": "descent"},
        {"covariance": "spherical", "feature_weights": "difference"},
        {"covariance": "full", "shrinkage": 0.3},
        {"covariance": "diag", "shrinkage": 0.3},
        {"covariance": "full", "shrinkage": 0.3, "feature_weights": "difference"},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_a_common_unit_does_not_matter_where_variances_are_compared(options, pooled, exponent):
    check_invariance({"pooled": pooled, **options}, np.full(4, 10.0**exponent))


@pytest.mark.parametrize("shrinkage", [None, 0.2, "auto"])
@pytest.mark.parametrize("exponent", [-150, 150])
def test_units_do_not_matter_with_more_features_than_rows(shrinkage, exponent):
    scale = np.full(30, 10.0**exponent)
    if shrinkage != 0.2:
        scale = 10.0 ** np.linspace(-150, 150, 30)
    # The rows separate the classes perfectly: the variance of rule 3 is near the rank tolerance.
    check_invariance({"shrinkage": shrinkage}, scale, rtol=1e-5, n=21)


@pytest.mark.parametrize("kind", ["full", "spherical"])
def test_a_column_in_another_unit_is_negligible_beside_a_common_variance(kind):
    """σ²I and shrinkage by a number compare the features: the small one then counts as constant."""
    X, y = problem()
    X = X * [1, 1e-130, 1, 1]
    options = {"covariance": kind, "shrinkage": 0.2}
    model = GaussianClassifier(**options).fit(X, y)
    without = GaussianClassifier(**options).fit(X * [1, 0, 1, 1], y)
    assert_allclose(model.mahalanobis(X), without.mahalanobis(X * [1, 0, 1, 1]), rtol=1e-9)


def test_a_small_unit_does_not_cut_the_values_of_another_column():
    """Accuracy .51 where every column is cut at a limit set by the smallest unit."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + [0, 5] * y[:, None]
    scale = [1e-130, 1e20]
    assert GaussianClassifier().fit(X * scale, y).score(X * scale, y) > 0.98


@pytest.mark.parametrize("chunk_scale", [1e-140, 1e-100, 1.0, 1e100, 1e140])
def test_units_may_change_between_partial_fits(chunk_scale):
    """The first rows hold 0, or are of another order of magnitude, in some columns."""
    X, y = problem()
    X[:30, 1] = 0.0
    X[30:] *= chunk_scale
    whole = GaussianClassifier("diag").fit(X, y)
    parts = GaussianClassifier("diag")
    for rows in np.split(np.arange(120), [30, 60]):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    with np.errstate(all="raise", under="ignore"):
        assert_allclose(parts.mahalanobis(X), whole.mahalanobis(X), rtol=1e-9)
        assert_allclose(parts.covariances_, whole.covariances_, rtol=1e-12)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
@pytest.mark.parametrize("exponent", [-140, 140])
def test_known_gaussians_in_any_unit(kind, exponent):
    X, y = problem()
    fitted = GaussianClassifier(kind).fit(X, y)
    scale = 10.0**exponent
    known = GaussianClassifier.from_parameters(
        fitted.means_ * scale, fitted.covariances_ * scale * scale, fitted.priors_
    )
    assert_allclose(known.mahalanobis(X * scale), fitted.mahalanobis(X), rtol=1e-7)
    assert_allclose(known.covariances_ / scale / scale, fitted.covariances_, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_absurd_values_are_finite_in_any_unit(scale):
    X, y = problem()
    model = GaussianClassifier().fit(X * SCALES[scale], y)
    absurd = np.array([[1e308, -1e308, 1e308, 0.0], [1e-308, 0.0, 1e200, -1e200]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(model.mahalanobis(absurd)).all()
        assert np.isfinite(model.predict_proba(absurd)).all()
