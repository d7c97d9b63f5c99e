"""Weights of objects: a weight of 2 is the object twice, one of 0 is the object left out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from mahalearn import (
    KernelFisherDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    OneVsRestSVC,
)

MODELS = [
    KernelFisherDiscriminant(0.1),
    KernelFisherDiscriminant(0.1, kernel="sigmoid", gamma=0.5),  # indefinite
    KernelFisherDiscriminant(1e-7, kernel="linear", standardize=True),
    KernelRidgeClassifier(),
    KernelRidgeClassifier(kernel="sigmoid", gamma=0.5),
    KernelRidgeClassifier(kernel="poly", standardize=True),
    OneVsRestSVC(10.0, tol=1e-9),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X += y[:, None]
    return X, np.array(["a", "b", "c"])[y], rng.integers(0, 4, 60), rng.normal(size=(20, 3)) + 1


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weights_are_copies(model, classes, sparse, data):
    X, y, weights, Z = data
    if sparse and model.standardize is True:
        pytest.skip("sparse rows are not centred")
    rows = y < "c" if classes == 2 else np.ones(len(y), bool)
    X, y, weights = X[rows], y[rows], weights[rows]
    make = sp.csr_array if sparse else np.asarray
    model = clone(model).set_params(spectrum="clip" if "SVC" in str(model) else "krein")
    copies = clone(model).fit(make(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    model.fit(make(X), y, sample_weight=weights)
    expected = copies.decision_function(make(Z))
    scale = np.abs(expected).max()
    assert_allclose(model.decision_function(make(Z)), expected, rtol=1e-6, atol=1e-6 * scale)
    other = clone(model).fit(make(X), y, sample_weight=1.0 + weights).decision_function(make(Z))
    assert np.abs(other - expected).max() > 1e-3 * scale  # weights do something
    plain, ones = clone(model).fit(make(X), y), clone(model).fit(make(X), y, np.ones(len(y)))
    assert_allclose(ones.decision_function(make(Z)), plain.decision_function(make(Z)), rtol=1e-6)


def test_the_temperature_is_that_of_weighted_objects(data):
    X, y, weights, _ = data
    keep = weights > 0
    X, y, weights = X[keep], y[keep], weights[keep].astype(float)
    model = KernelRidgeClassifier(gamma=0.2, standardize=False).fit(X, y, sample_weight=weights)
    from mahalearn.formulas.calibration import fit_temperature

    rows = [
        clone(model)
        .fit(np.delete(X, i, 0), np.delete(y, i), sample_weight=np.delete(weights, i))
        .decision_function(X[i : i + 1])[0]
        for i in range(len(y))
    ]
    codes = np.unique(y, return_inverse=True)[1]
    assert_allclose(model.temperature_, fit_temperature(np.array(rows), codes, weights), rtol=1e-6)


@pytest.mark.parametrize("model", MODELS[:1] + MODELS[3:4] + MODELS[6:], ids=str)
def test_searches_pass_weights_on(model, data):
    X, y, weights, Z = data
    grid = {"C": [1.0, 10.0]} if hasattr(model, "C") else {"reg": [0.01, 0.1]}
    model, cv = clone(model).set_params(gamma=0.3, standardize=False), StratifiedKFold(3)
    ours = KernelSearchCV(model, grid, cv=cv).fit(X, y, sample_weight=weights + 1)
    for f, (train, test) in enumerate(cv.split(X, y)):  # weights count in the scores, too
        for i, params in enumerate(ours.cv_results_["params"]):
            one = clone(model).set_params(**params).fit(X[train], y[train], weights[train] + 1)
            score = one.score(X[test], y[test], weights[test] + 1)
            assert_allclose(ours.cv_results_[f"split{f}_test_score"][i], score)
    copies = clone(model).set_params(**ours.best_params_)
    copies.fit(np.repeat(X, weights + 1, axis=0), np.repeat(y, weights + 1))
    assert_allclose(ours.decision_function(Z), copies.decision_function(Z), rtol=1e-5, atol=1e-6)
    assert np.isfinite(
        KernelSearchCV(model, cv=cv).fit(X, y, sample_weight=weights + 1).best_score_
    )


def test_methods_without_weights_say_why(data):
    X, y, weights, _ = data
    with pytest.raises(TypeError, match="its covariances are unweighted"):
        KernelQuadraticDiscriminant().fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight is taken without landmarks"):
        KernelFisherDiscriminant(landmarks=9).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        KernelRidgeClassifier().fit(X, y, sample_weight=y == "a")
