"""Probabilities: of densities, of closed-form leave-one-out scores, and of a search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisSVC,
    OneVsRestSVC,
    RecursiveFeatureMachine,
)
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.formulas.kernel_mahalanobis import (
    class_model,
    rc_plus_leave_one_out,
    rc_plus_left_out,
)
from mahalearn.formulas.linalg import center_gram, centering

DENSITIES = [
    KernelQuadraticDiscriminant(offset="map"),
    KernelPCAQuadraticDiscriminant(),
    GaussianClassifier(),
]
LEFT_OUT = [
    KernelQuadraticDiscriminant(gamma=0.1),
    KernelQuadraticDiscriminant(gamma=0.1, offset="least_squares"),
    KernelRidgeClassifier(gamma=0.1),
    KernelKNeighborsClassifier(7, gamma=0.1),
    KernelKNeighborsClassifier(7, weights="distance", gamma=0.1),
]
WITHOUT = [
    KernelQuadraticDiscriminant("FK+"),
    KernelQuadraticDiscriminant(landmarks=20, random_state=0),
    KernelQuadraticDiscriminant(offset=None),
    KernelFisherDiscriminant(),
    DissimilaritySpaceDiscriminant(),
    OneVsRestSVC(),
    MahalanobisSVC(),
    RecursiveFeatureMachine(),
]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.1, random_state=0
    )
    return X, np.array(["a", "b", "c"])[y]


def table(model, X):
    """Scores (m, c) from the decision function."""
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([np.zeros(len(X)), scores])


@pytest.mark.parametrize("model", DENSITIES, ids=str)
def test_densities_have_their_posterior(model, data):
    X, y = data
    assert hasattr(model, "predict_proba")
    model = clone(model).fit(X, y)
    assert model.temperature_ == 1
    assert_allclose(model.predict_proba(X), softmax(table(model, X), axis=1), atol=1e-12)


def naive_leave_one_out(model, X, y):
    """Scores of each object by a model of the others; quadratic ones with all objects' offsets."""
    offsets = getattr(model, "offsets_", None)
    rows = []
    for i in range(len(X)):
        others = clone(model).fit(np.delete(X, i, axis=0), np.delete(y, i))
        if offsets is None:
            rows.append(table(others, X[i : i + 1])[0])
        else:
            rows.append(others.mahalanobis(X[i : i + 1])[0] / -2 + offsets)
    return np.array(rows)


@pytest.mark.parametrize("model", LEFT_OUT, ids=str)
def test_the_temperature_is_that_of_leave_one_out_scores(model, data):
    X, y = data[0][:60], data[1][:60]
    assert hasattr(model, "predict_proba")
    model = clone(model).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    expected = fit_temperature(naive_leave_one_out(model, X, y), codes)
    # RC+ holds α in the inverse, and σ² in the divisor alone.
    rtol = 0.05 if isinstance(model, KernelQuadraticDiscriminant) else 1e-6
    assert_allclose(model.temperature_, expected, rtol=rtol)
    resubstitution = fit_temperature(table(model, X), codes)
    if isinstance(model, KernelQuadraticDiscriminant):  # fitted objects would make it too sure
        assert resubstitution < 0.7 * expected
    proba = model.predict_proba(X)
    assert_allclose(proba, softmax(table(model, X) / model.temperature_, axis=1), atol=1e-12)
    assert_allclose(np.log(proba), model.predict_log_proba(X))
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_left_out_distances_come_from_those_of_the_class(n, alpha):
    X = np.random.default_rng(n).normal(size=(n, 3))
    K = rbf_kernel(X, gamma=0.3)
    d2 = class_model(K.copy(), "RC+", alpha, definite=True).own_sq_distances()
    expected = rc_plus_leave_one_out(center_gram(K, centering(K)), alpha)  # σ² = α/(n − 1)
    assert_allclose(rc_plus_left_out(d2, alpha), (expected + 1) * n / (n - 1) - 1, rtol=1e-8)
    assert np.isnan(rc_plus_left_out(np.zeros(1), alpha)).all()


@pytest.mark.parametrize("model", WITHOUT, ids=str)
def test_other_methods_have_probabilities_after_a_search_only(model, data):
    X, y = data
    for plain in (clone(model), clone(model).fit(X, y)):
        assert not hasattr(plain, "predict_proba") and not hasattr(plain, "predict_log_proba")
        with pytest.raises(AttributeError) as error:
            plain.predict_proba(X)
        assert "KernelSearchCV" in str(error.value.__cause__)
        assert "CalibratedClassifierCV" in str(error.value.__cause__)
    assert not hasattr(plain, "temperature_")


@pytest.mark.parametrize("model", [*DENSITIES, *LEFT_OUT[:3], *WITHOUT], ids=str)
@pytest.mark.parametrize("steps", [False, True], ids=["plain", "pipeline"])
def test_a_search_hands_its_temperature_on(model, steps, data):
    X, y = data
    grid = {"reg": [0.1]} if "reg" in model.get_params() else {}
    if steps:
        model, grid = make_pipeline(StandardScaler(), model), {}
    search = KernelSearchCV(model, grid, cv=3).fit(X, y)
    best = search.best_estimator_
    assert (best[-1] if steps else best).temperature_ == search.temperature_
    assert_allclose(best.predict_proba(X), search.predict_proba(X), atol=1e-12)
    if not steps:  # a fit of its own forgets it
        plain = clone(best).fit(X, y)
        best.fit(X, y)
        assert hasattr(best, "temperature_") == hasattr(plain, "temperature_")
        if hasattr(plain, "temperature_"):
            assert best.temperature_ == plain.temperature_


def test_where_there_is_no_closed_form_there_are_no_probabilities(data):
    X, y = data
    indefinite = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1}
    for model in (KernelQuadraticDiscriminant(**indefinite), KernelRidgeClassifier(**indefinite)):
        assert not hasattr(model.fit(X, y), "predict_proba")
    alone = np.where(np.arange(len(y)) == 0, "single", y)  # left out, nothing is left of its class
    model = KernelQuadraticDiscriminant().fit(X, alone)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
