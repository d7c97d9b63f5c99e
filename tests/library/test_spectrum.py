"""Corrections of a negative spectrum: the same for training objects and for queries."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import KernelCenterer

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisClassifierCV,
    OneVsRestSVC,
    PrecomputedKernel,
)
from mahalearn.formulas.spectrum import CORRECTIONS, SPECTRA
from mahalearn.training.exact import TrainingKernel, with_policy
from naive import centred_rows, corrected

CLASSIFIERS = [
    KernelQuadraticDiscriminant("RC+", 0.1),
    KernelQuadraticDiscriminant("IC+", 0.1),
    KernelQuadraticDiscriminant("FK-", 0.1),
    DissimilaritySpaceDiscriminant("quadratic", "RC+", 0.1),
    KernelFisherDiscriminant(0.1),
    KernelKNeighborsClassifier(3, weights="distance"),
    KernelPCAQuadraticDiscriminant(0.9, 0.1),
    KernelRidgeClassifier(0.1),
    OneVsRestSVC(),
]
every_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
every_correction = pytest.mark.parametrize("correction", CORRECTIONS)


def indefinite_problem(seed=0, n=30, m=8):
    """A similarity with negative eigenvalues: (K, y, k, kxx) of n training objects, m queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 4))
    signs = np.array([1.0, 1.0, -0.6, -0.3])
    full = np.tanh((X * signs) @ X.T / 4) + 0.2 * np.exp(-((X[:, None] - X) ** 2).sum(-1))
    y = np.arange(n) % 3
    full[:n, :n] += 0.05 * np.equal.outer(y, y)
    return full[:n, :n], y, full[n:, :n], full.diagonal()[n:].copy()


def dissimilarity_problem(seed=0, n=30, m=8, power=1.5):
    """-d² of a dissimilarity that is not Euclidean unless power is 1: (K, y, k)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 3)) + np.arange(n + m)[:, None] % 3
    D2 = ((X[:, None] - X) ** 2).sum(-1) ** power
    return -D2[:n, :n], np.arange(n) % 3, -D2[n:, :n]


@every_correction
def test_gram_and_rows_are_the_textbook_ones(correction):
    K, y, k, _ = indefinite_problem()
    assert np.linalg.eigvalsh(K)[0] < -0.1
    training = with_policy(TrainingKernel(K, y, None), correction)
    expected, rows = corrected(K, k, correction)
    back = training.order.argsort()
    assert_allclose(training.gram()[np.ix_(back, back)], expected, atol=1e-12)
    assert_allclose(training.cross(k)[:, back], rows, atol=1e-11)
    assert np.linalg.eigvalsh(training.gram())[0] > -1e-10


@every_correction
def test_a_kernel_without_origin_is_corrected_centred(correction):
    """−d² has trace 0: its centred matrix is what counts, as if it had been passed centred."""
    K, y, k = dissimilarity_problem()
    training = with_policy(TrainingKernel(K, y, None), correction)
    back = training.order.argsort()
    got = centred_rows(training.gram()[np.ix_(back, back)], training.cross(k)[:, back])
    Kc, kc = centred_rows(K, k)
    values, U = np.linalg.eigh(Kc)
    assert values[0] < -0.1 * values[-1]
    if correction == "shift":
        H = np.eye(len(K)) - 1 / len(K)
        expected, rows = Kc - values[0] * H, kc
    else:
        kept = np.abs(values) > 1e-9 * values[-1]
        values, U = values[kept], U[:, kept]
        f = {"clip": np.maximum(values, 0), "flip": np.abs(values), "square": values**2}[correction]
        expected, rows = (U * f) @ U.T, kc @ (U * (f / values)) @ U.T
    assert_allclose(got[0], expected, atol=1e-8 * np.abs(expected).max())
    assert_allclose(got[1], rows, atol=1e-8 * np.abs(rows).max())


@every_correction
def test_euclidean_dissimilarities_need_no_correction(correction):
    K, y, k = dissimilarity_problem(power=1.0)
    plain = KernelQuadraticDiscriminant(kernel="precomputed").fit(K, y)
    model = KernelQuadraticDiscriminant(kernel="precomputed", spectrum=correction).fit(K, y)
    if correction != "square":
        assert_allclose(model.decision_function(k), plain.decision_function(k), rtol=1e-6)


@every_correction
def test_blocks_and_self_similarities_agree_with_the_whole(correction):
    K, y, _, _ = indefinite_problem()
    training = with_policy(TrainingKernel(K, y, None), correction)
    whole = training.gram()
    for rows in training.slices:
        assert_allclose(training.gram(rows), whole[rows, rows], atol=1e-13)
        assert_allclose(training.training_cross(rows, slice(3, 9)), whole[rows, 3:9], atol=1e-13)
    assert_allclose(training.training_self_similarities(), whole.diagonal(), atol=1e-13)
    given = training.self_similarities(K, K.diagonal())[training.order]
    assert_allclose(given, whole.diagonal(), atol=1e-9)
    block = training.cross_blocks(K)
    assert_allclose(block(slice(2, 7)), training.cross(K, slice(2, 7)))


@every_correction
@every_classifier
def test_training_rows_give_the_fitted_values(model, correction):
    """Correcting only the training matrix is the standard bug."""
    K, y, _, _ = indefinite_problem()
    model = clone(model).set_params(kernel=PrecomputedKernel(K), spectrum=correction)
    fitted = model.fit(np.arange(len(K)), y)
    training = fitted._training
    rows = training.cross(np.arange(len(K)))[training.order]
    same = np.abs(rows - training.gram()).max() < 1e-10
    assert same == (correction != "shift")
    if fitted._distances is not None and correction != "shift":
        d2 = fitted._distances.training_sq_distances()
        assert_allclose(fitted.mahalanobis(np.arange(len(K))), d2, atol=1e-7 * np.abs(d2).max())


@every_correction
@every_classifier
def test_correcting_beforehand_gives_the_same_classifier(model, correction):
    """What the estimator does is what a careful user would do by hand, self-similarities too."""
    K, y, k, kxx = indefinite_problem()
    n, m = len(K), len(k)
    whole = np.block([[K, k.T], [k, np.diag(kxx)]])
    expected, rows = corrected(K, k, correction)
    inside = np.linalg.solve(K, k.T).T  # coordinates over the training objects
    rest = kxx - np.einsum("ij,ij->i", inside, k)
    by_hand = {
        "clip": np.maximum(rest, 0),
        "flip": np.abs(rest),
        "square": rest**2,
        "shift": kxx + expected[0, 0] - K[0, 0],
    }[correction]
    if correction != "shift":
        by_hand = by_hand + np.einsum("ij,jk,ik->i", inside, expected, inside)
    corrected_whole = np.block([[expected, rows.T], [rows, np.diag(by_hand)]])
    ours = clone(model).set_params(kernel=PrecomputedKernel(whole), spectrum=correction)
    hand = clone(model).set_params(kernel=PrecomputedKernel(corrected_whole), spectrum="ignore")
    ours, hand = ours.fit(np.arange(n), y), hand.fit(np.arange(n), y)
    queries = np.arange(n, n + m)
    if isinstance(model, OneVsRestSVC):  # an iterative solver with its own tolerance
        assert_allclose(ours.decision_function(queries), hand.decision_function(queries), atol=1e-3)
    else:
        assert_allclose(
            ours.decision_function(queries), hand.decision_function(queries), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("correction", ["clip", "flip"])
@every_classifier
def test_a_definite_kernel_is_left_alone(model, correction):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    plain, same = clone(model).fit(X, y), clone(model).set_params(spectrum=correction).fit(X, y)
    assert_array_equal(plain.predict(X + 0.1), same.predict(X + 0.1))
    got, expected = same.decision_function(X + 0.1), plain.decision_function(X + 0.1)
    assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


def test_correcting_only_the_training_matrix_would_show():
    """The test above can fail: uncorrected rows give other scores."""
    K, y, k, _ = indefinite_problem()
    expected, rows = corrected(K, k, "flip")
    model = KernelFisherDiscriminant(0.1, kernel="precomputed").fit(expected, y)
    assert np.abs(model.decision_function(rows) - model.decision_function(k)).max() > 0.1


def test_the_origin_does_not_matter_to_kernels_of_dissimilarities():
    """−d² as it is and centred by scikit-learn: one correction."""
    K, y, k = dissimilarity_problem()
    centerer = KernelCenterer().fit(K)
    for correction in CORRECTIONS:
        model = KernelQuadraticDiscriminant("FK+", 0.01, kernel="precomputed", spectrum=correction)
        raw = model.fit(K, y).decision_function(k)
        moved = clone(model).fit(centerer.transform(K), y).decision_function(centerer.transform(k))
        assert_allclose(raw, moved, rtol=1e-6)


def test_policies_by_name():
    K, y, _, _ = indefinite_problem()
    with pytest.raises(ValueError, match="spectrum='nonsense' is not known; choose from 'krein'"):
        KernelFisherDiscriminant(kernel="precomputed", spectrum="nonsense").fit(K, y)
    for model in CLASSIFIERS:
        model = clone(model).set_params(kernel=PrecomputedKernel(K), spectrum="raise")
        with pytest.raises(ValueError, match="not positive definite"):
            model.fit(np.arange(len(K)), y)
    for spectrum in set(SPECTRA) - {"raise"}:
        model = KernelQuadraticDiscriminant(kernel="precomputed", spectrum=spectrum).fit(K, y)
        assert (
            model.kernel_signature()
            == KernelQuadraticDiscriminant(kernel="precomputed").fit(K, y).kernel_signature()
        )
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict(K), model.predict(K))


def test_the_krein_svm_is_the_default_and_named_flip():
    """On an indefinite matrix an SVM flips; "krein" would be the solver's stationary point."""
    K, y, k, _ = indefinite_problem()
    expected, rows = corrected(K, k, "flip")
    for model in (
        OneVsRestSVC(tol=1e-8),
        KernelSearchCV(OneVsRestSVC(tol=1e-8), {"C": [1.0]}, cv=3),
    ):
        prefix = "estimator__" if isinstance(model, KernelSearchCV) else ""
        model = clone(model).set_params(**{f"{prefix}kernel": "precomputed"})
        ignoring = clone(model).set_params(**{f"{prefix}spectrum": "ignore"})
        by_hand = clone(ignoring).fit(expected, y)
        scores = clone(model).fit(K, y).decision_function(k)
        assert_allclose(scores, by_hand.decision_function(rows), atol=1e-6)
        as_is = clone(ignoring).fit(K, y).decision_function(k)
        assert np.abs(as_is - scores).max() > 0.01
        with pytest.raises(ValueError, match="spectrum='flip'; spectrum='ignore' passes"):
            model.set_params(**{f"{prefix}spectrum": "krein"}).fit(K, y)
    for kernel, X in (("precomputed", K), ("sigmoid", K[:, :4])):
        ensemble = MahalanobisClassifierCV(["svm"], kernel=kernel, combine="best", cv=3).fit(X, y)
        best = ensemble.best_estimator_
        assert (best[-1] if kernel == "sigmoid" else best).spectrum == "flip"


def test_a_definite_kernel_needs_no_decomposition(monkeypatch):
    monkeypatch.setattr("mahalearn.training.exact.fit_correction", None)
    X, y = np.random.default_rng(1).normal(size=(40, 3)), np.arange(40) % 3
    for model in CLASSIFIERS:
        clone(model).set_params(spectrum="flip").fit(X, y).predict(X)
    KernelSearchCV(OneVsRestSVC(), {"C": [1.0], "gamma": [0.5]}, cv=3).fit(X, y)
    with pytest.raises(TypeError):
        OneVsRestSVC(kernel="sigmoid").fit(X, y)


def test_chunked_prediction_is_the_same():
    import sklearn

    K, y, k, _ = indefinite_problem()
    transformer = KernelMahalanobisTransformer("RC+", kernel="precomputed", spectrum="flip")
    d2 = transformer.fit(K, y).mahalanobis(k, self_similarity=np.ones(len(k)))
    with sklearn.config_context(working_memory=0.001):
        assert_allclose(transformer.mahalanobis(k, self_similarity=np.ones(len(k))), d2, rtol=1e-10)


def test_a_dissimilarity_as_a_kernel_gives_a_warning():
    K, y, _ = dissimilarity_problem()
    with pytest.warns(UserWarning, match="looks like a matrix of dissimilarities"):
        KernelFisherDiscriminant(kernel="precomputed").fit(-K, y)
    with pytest.warns(UserWarning, match="looks like a matrix of dissimilarities"):
        KernelFisherDiscriminant(kernel=PrecomputedKernel(-K)).fit(np.arange(len(K)), y)


@every_correction
@every_classifier
@pytest.mark.parametrize("kind", ["zero", "constant", "identity", "minus identity", "tiny classes"])
def test_degenerate_kernels(model, correction, kind):
    n = 9
    y = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2]) if kind == "tiny classes" else np.arange(n) % 3
    K = {
        "zero": np.zeros((n, n)),
        "constant": np.ones((n, n)),
        "identity": np.eye(n),
        "minus identity": -np.eye(n),
    }.get(kind, indefinite_problem()[0][:n, :n])
    model = clone(model).set_params(kernel=PrecomputedKernel(K), spectrum=correction)
    if isinstance(model, KernelQuadraticDiscriminant):
        model.set_params(reg_on="relative")
    model.fit(np.arange(n), y)
    assert np.isfinite(model.decision_function(np.arange(n))).all()
    assert set(model.predict(np.arange(n))) <= {0, 1, 2}


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_corrected_kernel_has_map_offsets(correction):
    """They are refused for a negative spectrum, and after a correction there is none."""
    K, y, k, _ = indefinite_problem()
    model = KernelQuadraticDiscriminant(kernel="precomputed", offset="map")
    with pytest.raises(ValueError, match="the kernel has negative eigenvalues"):
        model.fit(K, y)
    proba = model.set_params(spectrum=correction).fit(K, y).predict_proba(k)
    assert_allclose(proba.sum(axis=1), 1)
