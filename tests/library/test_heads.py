"""The discriminants on class distances: textbook formulas, limits that tie them together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC

import naive
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelMahalanobisTransformer,
    KernelSearchCV,
    load_model,
    save_model,
)
from mahalearn.classifiers.dissimilarity_space import (
    GaussianHead,
    LeastSquaresHead,
    new_head,
)
from mahalearn.formulas.linalg import RANK_RTOL


def classes(sizes, seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_features)) * rng.uniform(0.5, 3, n_features) + y[:, None]
    return X, y, rng.normal(size=(20, n_features)) + 1


def standardised(X, *others):
    return [(Z - X.mean(axis=0)) / X.std(axis=0) for Z in (X, *others)]


@pytest.mark.parametrize("sizes", [(9, 20), (8, 15, 30)])
def test_least_squares_fits_the_targets(sizes):
    X, y, Z = classes(sizes)
    head = LeastSquaresHead().fit(X, y)
    expected = naive.least_squares_targets(X, y, Z)
    if len(sizes) == 2:
        expected = expected[:, 1] - expected[:, 0]
    assert_allclose(head.decision_function(Z), expected, rtol=1e-9)


def test_least_squares_of_two_equal_classes_is_fishers_discriminant():
    X, y, Z = classes((40, 40))
    Z = np.vstack([Z, X])
    fisher = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_array_equal(LeastSquaresHead().fit(X, y).predict(Z), fisher.predict(Z))


def test_least_squares_needs_no_regular_problem():
    X, y, Z = classes((10, 12, 9))
    doubled, queries = np.column_stack([X, X[:, :1] * 2]), np.column_stack([Z, Z[:, :1] * 2])
    constant = np.column_stack([X, np.full(len(X), 5.0)])
    expected = LeastSquaresHead().fit(X, y).decision_function(Z)
    found = LeastSquaresHead().fit(doubled, y).decision_function(queries)
    assert_allclose(found, expected, rtol=1e-8)
    head = LeastSquaresHead().fit(constant, y)
    assert_allclose(head.decision_function(np.column_stack([Z, np.zeros(len(Z))])), expected)


@pytest.mark.parametrize("priors", ["equal", (0.5, 0.2, 0.3)])
def test_priors_of_the_quadratic_head(priors):
    X, y, Z = classes((9, 20, 14))
    head = GaussianHead(pooled=False, priors=priors).fit(X, y)
    values = (1 / 3,) * 3 if priors == "equal" else priors
    Xs, Zs = standardised(X, Z)
    expected = naive.quadratic_discriminant(Xs, y, Zs, RANK_RTOL, priors=values)
    found = head.decision_function(Z)
    assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-6, atol=1e-8)


def test_equal_priors_lower_the_balanced_error_of_unequal_classes():
    X, y, _ = classes((400, 40), n_features=2)
    recall = [
        np.mean([(GaussianHead(priors=p).fit(X, y).predict(X[y == j]) == j).mean() for j in (0, 1)])
        for p in (None, "equal")
    ]
    assert recall[1] > recall[0] + 0.05


def test_a_direction_without_variance_is_ignored_by_the_pseudo_inverse():
    X, y, Z = classes((12, 18))
    X[y == 0, 0] = 4.0
    head = GaussianHead(pooled=False, priors="equal", singular="pseudo_inverse").fit(X, y)
    Xs, Zs = standardised(X, Z)
    expected = naive.pseudo_inverse_discriminant(Xs, y, Zs, (0.5, 0.5), RANK_RTOL)
    assert_allclose(head.decision_function(Z), expected[:, 1] - expected[:, 0], rtol=1e-6)
    ridge = GaussianHead(pooled=False).fit(X, y)
    assert (ridge.predict(Z) == 1).all(), "any other value in that direction is not of the class"


def test_regular_covariances_are_inverted_either_way():
    X, y, Z = classes((30, 40))
    a, b = (GaussianHead(False, singular=s).fit(X, y) for s in ("ridge", "pseudo_inverse"))
    assert_allclose(a.decision_function(Z), b.decision_function(Z), rtol=1e-6)


def test_heads_by_name():
    assert new_head("quadratic", priors="equal").priors == "equal"
    assert isinstance(new_head("least_squares"), LeastSquaresHead)
    with pytest.raises(ValueError, match="has no priors"):
        new_head("least_squares", priors="equal")
    with pytest.raises(ValueError, match="set those of the classifier"):
        new_head(LinearDiscriminantAnalysis(), priors="equal")
    with pytest.raises(ValueError, match="priors='flat' is not known; choose from 'equal'"):
        GaussianHead(priors="flat").fit(*classes((5, 5))[:2])


def test_least_squares_in_the_dissimilarity_space_is_saved(tmp_path):
    X, y, Z = classes((20, 30))
    model = DissimilaritySpaceDiscriminant("least_squares")
    assert not hasattr(model, "predict_proba")
    model.fit(X, y)
    assert not hasattr(model, "predict_proba")
    path = save_model(model, tmp_path / "model.skops")
    assert_array_equal(load_model(path).decision_function(Z), model.decision_function(Z))


@pytest.mark.parametrize(
    ("head", "n_classes"),
    [
        (SVC(decision_function_shape="ovo"), 3),  # as many scores as classes, of pairs of them
        (FixedThresholdClassifier(LogisticRegression(), threshold=0.9), 2),
        (KNeighborsClassifier(3), 3),  # probabilities only
        (NearestCentroid(), 3),
    ],
    ids=str,
)
def test_predictions_are_those_of_the_classifier_on_the_distances(head, n_classes):
    X, y, Z = classes((40, 30, 20)[:n_classes])
    Z = np.vstack([Z, X])
    model = DissimilaritySpaceDiscriminant(head).fit(X, y)
    distances = KernelMahalanobisTransformer().fit(X, y)
    expected = clone(head).fit(distances.transform(X), y).predict(distances.transform(Z))
    assert_array_equal(model.predict(Z), expected)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    options = {"gamma": 0.1, "reg": 0.1, "standardize": False}
    search = KernelSearchCV(
        DissimilaritySpaceDiscriminant(discriminant=head, standardize=False),
        {"reg": [0.1], "gamma": [0.1]},
        cv=cv,
    ).fit(X, y)
    plain = cross_val_score(DissimilaritySpaceDiscriminant(head, **options), X, y, cv=cv)
    assert_allclose(search.best_score_, plain.mean())
    assert_array_equal(search.classes_[search.predict_proba(Z).argmax(axis=1)], search.predict(Z))


def test_a_classifier_that_cannot_learn_from_equal_distances_gets_a_sentence():
    X, y = np.full((20, 3), 2.5), np.arange(20) % 2
    with pytest.raises(ValueError, match="the same distance to each class"):
        DissimilaritySpaceDiscriminant(LinearDiscriminantAnalysis()).fit(X, y)
