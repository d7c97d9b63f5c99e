"""scikit-learn's conventions on every road: names of columns, routed weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import (
    GaussianClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisNovelty,
)


def test_names_of_columns_are_known_on_every_road():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = pd.DataFrame(rng.normal(size=(40, 3)) + y[:, None], columns=list("abc"))
    gower = {"kernel": "gower"}
    for estimator in (
        KernelQuadraticDiscriminant(),
        KernelQuadraticDiscriminant(**gower),
        KernelQuadraticDiscriminant(**gower, landmarks=10, random_state=0),
        KernelSearchCV(KernelRidgeClassifier(**gower), {"reg": [0.1]}),
        KernelMahalanobisNovelty(**gower),
        KernelMahalanobisTransformer(**gower),
        LandmarkMap(5, **gower),
        GaussianClassifier(),
        MahalanobisNovelty(),
    ):
        estimator.fit(X, y)
        assert estimator.feature_names_in_.tolist() == list("abc"), estimator
        method = estimator.predict if hasattr(estimator, "predict") else estimator.transform
        with pytest.raises(ValueError, match="feature names should match"):
            method(X.rename(columns={"c": "d"}))
        estimator.fit(X.to_numpy(), y)
        assert not hasattr(estimator, "feature_names_in_"), estimator


def test_landmarks_in_a_table_have_the_columns_of_the_data():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    X = pd.DataFrame(rng.normal(size=(40, 3)) + y[:, None], columns=list("abc"))
    for make in (KernelQuadraticDiscriminant, LandmarkMap):
        model = make(landmarks=X[:9].to_numpy()).fit(X.to_numpy(), y)
        residual = make(landmarks=X[:9]).fit(X, y).residual(X)
        assert (residual == model.residual(X.to_numpy())).all()
        with pytest.raises(ValueError, match="feature names should match"):
            make(landmarks=X[:9][["b", "a", "c"]]).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        KernelQuadraticDiscriminant(landmarks=X[:9][["b", "a", "c"]]).fit([(X, y), (X, y)])


@pytest.mark.parametrize(
    "estimator",
    [
        KernelQuadraticDiscriminant(),
        LandmarkMap(5),
        MahalanobisClassifierCV("kernel_fisher", cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_objects_after_a_table_have_no_columns(estimator):
    words, y = ["an", "ant", "on", "once", "and", "only"] * 2, [0, 0, 1, 1, 0, 1] * 2
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)), columns=list("abc"))
    assert estimator.fit(table, y).n_features_in_ == 3
    estimator.set_params(kernel="edit").fit(words, y)
    assert not hasattr(estimator, "n_features_in_") and not hasattr(estimator, "feature_names_in_")


def test_weights_are_routed_to_those_that_take_them():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X, weights = rng.normal(size=(60, 3)) + y[:, None], rng.integers(0, 3, 60).astype(float)
    with config_context(enable_metadata_routing=True):
        model = GaussianClassifier().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        model.set_score_request(sample_weight=False)
        scores = cross_val_score(model, X, y, params={"sample_weight": weights})
    plain = GaussianClassifier().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    np.testing.assert_allclose(routed[-1].means_, plain.means_)
    assert scores.shape == (5,)
