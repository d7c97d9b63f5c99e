"""Explanations of single decisions: what is listed is what the classifier computes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
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
from mahalearn.model_selection import explain
from mahalearn.model_selection.member_data import VectorData

MODELS = [
    KernelQuadraticDiscriminant(gamma=0.1),
    KernelQuadraticDiscriminant("FK+", gamma=0.1),
    KernelFisherDiscriminant(0.1),
    KernelFisherDiscriminant(kernel="linear"),
    KernelFisherDiscriminant(0.1, landmarks=20, random_state=0),
    KernelPCAQuadraticDiscriminant(),
    KernelRidgeClassifier(),
    OneVsRestSVC(),
]


def margin(one):
    return one["scores"][one["label"]] - one["scores"][one["second"]]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_contributions_of_columns_add_up(model, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[50 * (3 - classes) :], y[50 * (3 - classes) :]
    model, queries = clone(model).fit(X[::2], y[::2]), X[1::20]
    scores = model._all_scores(queries)
    for i, one in enumerate(model.explain(queries, n_neighbors=3)):
        assert one["label"] == model.predict(queries[i : i + 1])[0] != one["second"]
        assert_allclose(list(one["scores"].values()), scores[i])
        total = sum(one["contributions"].values()) + one["baseline"]
        assert_allclose(total, margin(one), rtol=1e-9, atol=1e-9)
        a, b = np.searchsorted(model.classes_, [one["label"], one["second"]])
        rows = model.landmarks_ if model.landmarks is not None else X[::2]
        origin = model._all_scores(rows.mean(axis=0, keepdims=True))[0]
        tolerance = 3e-3 * max(np.abs(scores[i]).max(), np.abs(origin).max())
        assert_allclose(one["baseline"], origin[a] - origin[b], rtol=3e-3, atol=tolerance)
        assert list(one["contributions"]) == ["x0", "x1", "x2", "x3"]
        if hasattr(model, "mahalanobis"):
            distances = model.mahalanobis(queries[i : i + 1])[0]
            assert_allclose(list(one["distances"].values()), distances)
        if hasattr(model, "predict_proba"):
            assert_allclose(list(one["proba"].values()), model.predict_proba(queries)[i])
        references = model.landmarks_ if model.landmarks is not None else X[::2]
        k = model.kernel_(queries[i : i + 1], references)[0]
        near = np.argsort(-k if "linear" not in str(model) else 0 * k, kind="stable")[:3]
        if "linear" not in str(model):
            assert_allclose([d2 for _, d2 in one["neighbors"]], 2 - 2 * k[near], atol=1e-12)
            assert_allclose(k[[place for place, _ in one["neighbors"]]], k[near])


def test_without_columns_the_objects_contribute():
    X, y = load_iris(return_X_y=True)
    K, k = rbf_kernel(X[::2], gamma=0.3), rbf_kernel(X[1::25], X[::2], gamma=0.3)
    for model in (KernelFisherDiscriminant(), KernelRidgeClassifier(), OneVsRestSVC()):
        model.set_params(kernel="precomputed").fit(K, y[::2])
        for i, one in enumerate(model.explain(k)):
            total = sum(one["contributions"].values()) + one["baseline"]
            assert_allclose(total, margin(one), rtol=1e-9)
            if isinstance(model, KernelRidgeClassifier):
                codes = np.searchsorted(model.classes_, [one["label"], one["second"]])
                term = k[i, 7] * (model.dual_coef_[7, codes[0]] - model.dual_coef_[7, codes[1]])
                assert_allclose(one["contributions"][7], term)
    for model in (KernelQuadraticDiscriminant(), DissimilaritySpaceDiscriminant()):
        one = model.set_params(kernel="precomputed").fit(K, y[::2]).explain(k)[0]
        assert one["contributions"] is None and one["distances"] is not None
    assert KernelKNeighborsClassifier().fit(X, y).explain(X[:1])[0]["contributions"] is None


@pytest.mark.parametrize("source", ["pair", "all"])
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_explain_their_decision_between_two_classes(source, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[50 * (3 - classes) :], y[50 * (3 - classes) :]
    model = MahalanobisSVC(covariance_from=source, covariance="full").fit(X[::2], y[::2])
    for x, one in zip(X[1::20], model.explain(X[1::20]), strict=True):
        pair = np.isin(y[::2], [one["label"], one["second"]])
        total = sum(one["contributions"].values()) + one["baseline"]
        if source == "pair":  # a machine of these classes alone
            alone = clone(model).fit(X[::2][pair], y[::2][pair])
            decision = alone.decision_function(x[None])[0]
            sign = 1 if one["label"] > one["second"] else -1
            assert_allclose(total, sign * decision)
            decision = alone.decision_function(X[::2][pair].mean(axis=0, keepdims=True))[0]
            assert_allclose(one["baseline"], sign * decision, rtol=5e-3, atol=5e-3)
            distances = 2 - 2 * alone.kernels_[0](x[None], X[::2][pair])[0][alone.support_]
            assert_allclose([d2 for _, d2 in one["neighbors"]], np.sort(distances)[:5])
        assert total > 0 and set(dict(one["neighbors"])) <= set(model.support_)
        assert_allclose(list(one["scores"].values()), model._scores(x[None])[0])


def test_input_space_models_explain_margins():
    X, y = load_iris(return_X_y=True)
    for model in (GaussianClassifier(), GaussianClassifier(pooled=True), RecursiveFeatureMachine()):
        for one in model.fit(X[::2], y[::2]).explain(X[1::20]):
            total = sum(one["contributions"].values()) + one["baseline"]
            assert_allclose(total, margin(one))
            scores = model._scores(X[::2].mean(axis=0, keepdims=True))[0]
            origin = scores[one["label"]] - scores[one["second"]]
            exact = isinstance(model, GaussianClassifier)  # exp(−d) has kinks
            assert_allclose(one["baseline"], origin, rtol=1e-5 if exact else 0.02)
            assert one["neighbors"] is None
    gaussian = GaussianClassifier(pooled=True).fit(X, y)  # by hand: what one column adds
    one = gaussian.explain(X[:1])[0]
    a, b = (int(one[name]) for name in ("label", "second"))
    direction = np.linalg.solve(gaussian.covariances_[0], gaussian.means_[a] - gaussian.means_[b])
    expected = (X[0] - X.mean(axis=0)) * direction
    assert_allclose(list(one["contributions"].values()), expected, rtol=1e-6)
    gaps = np.where(np.arange(4) == 2, np.nan, X[:3])
    ignoring = GaussianClassifier(missing="ignore").fit(X, y)
    for one in ignoring.explain(gaps):
        assert one["contributions"]["x2"] == 0
        assert_allclose(sum(one["contributions"].values()) + one["baseline"], margin(one))


def test_sparse_rows_and_searches():
    texts = ["the cat sat", "a dog ran", "the cat ran", "a dog sat", "cat cat", "dog dog"] * 4
    y = ["cat", "dog"] * 12
    vectors = TfidfVectorizer()
    model = KernelRidgeClassifier(kernel="linear").fit(vectors.fit_transform(texts), y)
    one = model.explain(vectors.transform(["the cat ran"]))[0]
    names, terms = vectors.get_feature_names_out(), one["contributions"]
    words = {names[int(column[1:])]: value for column, value in terms.items()}
    assert set(words) == {"the", "cat", "ran"} and words["cat"] > 2 * abs(words["ran"])
    assert_allclose(sum(words.values()) + one["baseline"], margin(one), rtol=1e-6)
    X, labels = load_iris(return_X_y=True)
    steps = make_pipeline(StandardScaler(), KernelFisherDiscriminant())
    search = KernelSearchCV(steps, {"kernelfisherdiscriminant__reg": [0.1]}, cv=3).fit(X, labels)
    assert search.explain(X[:2])[1]["label"] == search.predict(X[:2])[1]
    plain = KernelSearchCV(KernelRidgeClassifier(), {"reg": [0.1]}, cv=3).fit(
        sp.csr_array(X), labels
    )
    assert plain.explain(X[:1])[0].keys() == plain.explain(sp.csr_array(X[:1]))[0].keys()


@pytest.mark.parametrize(("counts", "n_distances"), [((120, 80), 40), ((120, 78, 2), 160)])
def test_of_many_objects_the_first_folds_have_distances(counts, n_distances, monkeypatch):
    """The values are those of all folds, of fewer objects; a class of two objects has some."""
    y = np.repeat(np.arange(len(counts)), counts)
    data = VectorData(np.random.default_rng(0).normal(size=(200, 3)) + y[:, None], y, y)
    facts = {"gaussian": GaussianClassifier(pooled=True)}, {"gaussian": 1.0}, data
    every = explain.fit_explanation(*facts).distances
    monkeypatch.setattr(explain, "MANY", 100)
    some = explain.fit_explanation(*facts).distances
    assert tuple(map(len, every)) == counts and sum(map(len, some)) == n_distances
    for values, among in zip(some, every, strict=True):
        assert len(values) and np.isin(values, among).all()
