"""Diagnosis, scaling and embedding of proximities."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from mahalearn import KernelFisherDiscriminant, PseudoEuclideanEmbedding
from mahalearn.formulas import dissimilarities as formulas
from mahalearn.formulas.spectrum import CORRECTIONS
from mahalearn.kernels import ProximityKernel
from mahalearn.proximity import diagnose
from naive import centred_rows, corrected, kernel_pca, loo_nearest_error, triangle_fraction

DATA = os.environ.get("MAHALEARN_DATA")


def dissimilarities(n=25, seed=0, power=1.6):
    """A dissimilarity that is no metric for power > 1, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) + np.arange(n)[:, None] % 3
    return np.sqrt(((X[:, None] - X) ** 2).sum(-1)) ** power, np.arange(n) % 3


def checkerboard(s, seed=0, n=100):
    """The kernel max(k(x, x'), k(x, −x')) of C, table 5, and the labels of a 4×4 board."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))

    def k(A, B):
        return np.exp(-(((A[:, None] - B) ** 2).sum(-1) ** 4) / s**2)

    return np.maximum(k(X, X), k(X, -X)), np.floor(X + 2).sum(axis=1).astype(int) % 2


# Diagnosis


@pytest.mark.parametrize("noise, said", [(0.0, "All"), (0.005, "All"), (0.3, None)])
def test_distances_that_are_nearly_all_equal_are_pointed_out(noise, said):
    """What a measure gives that cannot see the objects, such as symbols for real numbers."""
    rng = np.random.default_rng(0)
    D = 1 + noise * rng.uniform(-1, 1, size=(40, 40))
    D = np.where(np.eye(40, dtype=bool), 0.0, (D + D.T) / 2)
    text = str(diagnose(D, np.arange(40) % 2))
    assert ("hardly tells these objects apart" in text) is (said is not None)
    if said:
        assert f"{said} distances between different objects are equal" in " ".join(text.split())


def test_figures_are_the_naive_ones():
    D, y = dissimilarities()
    found = diagnose(D, y)
    assert_allclose(found.triangle_violations, triangle_fraction(D))
    assert found.triangle_violations > 0.01
    assert found.triangle_interval == (found.triangle_violations,) * 2
    assert_allclose(found.nearest_neighbor_error, loo_nearest_error(D, y))
    K = -(D**2) / 2
    values = np.linalg.eigvalsh(centred_rows(K, K)[0])
    values[np.abs(values) < 1e-9 * values.max()] = 0
    assert found.signature == ((values > 0).sum(), (values < 0).sum())
    assert_allclose(found.negative_fraction, -values[values < 0].sum() / np.abs(values).sum())
    assert_allclose(found.eigen_ratio, -values.min() / values.max())
    assert_allclose(found.effective_dimension, np.abs(values).sum() ** 2 / (values**2).sum())
    # d² between class means from the mean squared dissimilarities between and within classes.
    for i in range(3):
        for j in range(3):
            a, b = y == i, y == j
            between = (D[np.ix_(a, b)] ** 2).mean()
            within = (D[np.ix_(a, a)] ** 2).mean() / 2 + (D[np.ix_(b, b)] ** 2).mean() / 2
            assert_allclose(found.class_mean_sq_distances[i, j], between - within, atol=1e-9)


def test_ties_of_neighbours_are_shared():
    D = np.array([[0.0, 1, 1, 9], [1, 0, 2, 2], [1, 2, 0, 2], [9, 2, 2, 0]])
    y = np.array([0, 0, 1, 1])
    assert_allclose(diagnose(D, y).nearest_neighbor_error, loo_nearest_error(D, y))
    assert_allclose(formulas.nearest_neighbor_errors(D, y), [0.5, 0.0, 1.0, 0.5])


@pytest.mark.parametrize("unit", [1000, 1e-120, 1e120])  # squares of squares vanished
def test_scale_changes_only_what_has_a_scale(unit):
    D, y = dissimilarities()
    a, b = diagnose(D, y), diagnose(unit * D, y)
    assert a.signature == b.signature
    for name in (
        "negative_fraction",
        "eigen_ratio",
        "triangle_violations",
        "effective_dimension",
        "intrinsic_dimension",
    ):
        assert_allclose(getattr(a, name), getattr(b, name))
    means = b.class_mean_sq_distances / unit**2
    assert_allclose(means, a.class_mean_sq_distances, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_dissimilarities_without_squares_are_refused(unit):
    with pytest.raises(ValueError, match=r"dissimilarity matrix: the largest value.*unit"):
        diagnose(unit * dissimilarities()[0])


@pytest.mark.parametrize("kind", ["dissimilarity", "similarity"])
def test_a_matrix_with_gaps_is_named(kind):
    with pytest.raises(ValueError, match=f"{kind} matrix contains NaN"):
        diagnose([[0, np.nan], [np.nan, 0]], kind=kind)


def test_a_normal_cloud_has_its_dimension():
    X = np.random.default_rng(0).normal(size=(600, 5))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    found = diagnose(D)
    assert found.signature == (5, 0)
    assert found.negative_fraction == 0
    assert abs(found.intrinsic_dimension - 5) < 0.4
    assert abs(found.effective_dimension - 5) < 0.2
    assert found.triangle_violations == 0  # sampled, and none can be broken
    assert found.triangle_interval[0] == 0 < found.triangle_interval[1] < 1e-5
    assert "Euclidean: every kernel method" in str(found)


def test_sampled_triangles_agree_with_all_of_them(monkeypatch):
    D, _ = dissimilarities(60)
    exact, _ = formulas.triangle_violations(D, np.random.RandomState(0))
    monkeypatch.setattr(formulas, "TRIANGLE_EXACT", 10)
    monkeypatch.setattr(formulas, "TRIANGLE_SAMPLE", 200_000)
    sampled, (low, high) = formulas.triangle_violations(D, np.random.RandomState(0))
    assert low < sampled < high and high - low < 0.01
    # Four standard errors: the interval itself misses one time in twenty.
    assert abs(sampled - exact) < (high - low)


def test_similarities():
    K, y = checkerboard(5.0)
    found = diagnose(K, y, kind="similarity")
    values = np.linalg.eigvalsh(centred_rows(K, K)[0])
    assert_allclose(found.negative_fraction, -values[values < 0].sum() / np.abs(values).sum())
    assert "indefinite" in found.advice[0]


@pytest.mark.parametrize(
    ("s", "r_neg", "p"),
    [
        (0.05, 0.160, 56),
        (0.1, 0.180, 54),
        (0.5, 0.211, 52),
        (1, 0.218, 52),
        (5, 0.214, 51),
        (10, 0.207, 51),
        (50, 0.128, 49),
    ],
)
def test_checkerboard_has_the_published_spectrum(s, r_neg, p):
    """C, table 5, on the raw kernel, mean of 10 draws; SPEC: to ±0.006 and ±1."""
    from mahalearn.formulas.linalg import negative_fraction, signature

    spectra = [np.linalg.eigvalsh(checkerboard(s, seed)[0]) for seed in range(10)]
    assert abs(np.mean([negative_fraction(v) for v in spectra]) - r_neg) < 0.006
    assert abs(np.mean([signature(v)[0] for v in spectra]) - p) <= 1


def test_what_is_wrong_is_said_plainly():
    D, y = dissimilarities()
    assert "negative" in diagnose(D - 1, y).warnings[0]
    assert "look like dissimilarities" in diagnose(D, y, kind="similarity").warnings[0]
    assert "look like similarities" in diagnose(D.max() - D, y).warnings[0]
    askew = D + np.triu(D)
    assert any("not symmetric" in sentence for sentence in diagnose(askew).warnings)
    own = diagnose(D + np.eye(len(D)))
    assert any("dissimilarity 0 from themselves" in sentence for sentence in own.warnings)
    assert diagnose(D, y).warnings == ()
    with pytest.raises(ValueError, match="must be square"):
        diagnose(D[:5])
    with pytest.raises(ValueError, match="NaN"):
        diagnose(D * np.nan)
    with pytest.raises(ValueError, match="kind='distance' is not known"):
        diagnose(D, kind="distance")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        diagnose(D, y[:4])
    with pytest.raises(ValueError, match="at least two classes"):
        diagnose(D, np.zeros(len(D)))


def test_text_and_html():
    D, y = dissimilarities()
    labels = np.array(["<a>", "b&c", "d"])[y]
    found = diagnose(D, labels)
    assert "negative fraction r_neg" in str(found) and repr(found) == str(found)
    page = found._repr_html_()
    assert page.count("<tr>") == len(found.rows())
    assert "<a>" not in page
    assert 2 <= len(found.advice) <= 3
    for tiny in (np.zeros((1, 1)), np.zeros((4, 4)), np.ones((2, 2)) - np.eye(2)):
        assert "r_neg" in str(diagnose(tiny))


def test_negative_distances_between_means_are_reported():
    K = np.array([[1.0, 0.9, 3], [0.9, 1, 3], [3, 3, 1]])
    found = diagnose(K, ["a", "a", "b"], kind="similarity")
    assert found.class_mean_sq_distances[0, 1] < 0
    assert any("negative squared distance" in sentence for sentence in found.advice)


@pytest.mark.skipif(not DATA, reason="MAHALEARN_DATA is not set")
@pytest.mark.parametrize(
    ("name", "low", "high"), [("catcortex", 0.16, 0.22), ("protein", 0, 0.005)]
)
def test_published_indefiniteness(name, low, high):
    """C, table 6."""
    data = np.load(Path(DATA) / "dissimilarity" / f"{name}.npz", allow_pickle=True)
    assert low <= diagnose(data["D"], data["y"]).negative_fraction < high


# ProximityKernel


def test_scale_is_learned_on_the_training_part():
    D, _ = dissimilarities()
    train, test = np.arange(15), np.arange(15, 25)
    step = ProximityKernel().fit(D[np.ix_(train, train)])
    mean = D[np.ix_(train, train)][~np.eye(15, dtype=bool)].mean()
    assert_allclose(step.scale_, mean)
    rows = D[np.ix_(test, train)]
    assert_allclose(step.transform(rows), -((rows / mean) ** 2))
    for kind, expected in [("neg", -rows / mean), ("rbf", np.exp(-2 * (rows / mean) ** 2))]:
        step = ProximityKernel(kind, gamma=2.0).fit(D[np.ix_(train, train)])
        assert_allclose(step.transform(rows), expected)
    S = np.exp(-D) * 3
    step = ProximityKernel("similarity").fit(S)
    assert_allclose(step.transform(S[:4]), S[:4] / 3)
    assert ProximityKernel(scale=None).fit(D).scale_ == 1
    assert ProximityKernel(scale=2.5).fit(D).scale_ == 2.5


def test_pipeline_under_cross_validation():
    D, y = dissimilarities(60)
    model = make_pipeline(ProximityKernel(), KernelFisherDiscriminant(0.1, kernel="precomputed"))
    assert get_tags(model).input_tags.pairwise
    got = cross_val_predict(model, D, y, cv=3, method="decision_function")
    from sklearn.model_selection import StratifiedKFold

    for train, test in StratifiedKFold(3).split(D, y):
        scale = D[np.ix_(train, train)].sum() / (len(train) * (len(train) - 1))
        fisher = KernelFisherDiscriminant(0.1, kernel="precomputed")
        fisher.fit(-((D[np.ix_(train, train)] / scale) ** 2), y[train])
        expected = fisher.decision_function(-((D[np.ix_(test, train)] / scale) ** 2))
        assert_allclose(got[test], expected, rtol=1e-6, atol=1e-9)


def test_proximity_kernel_says_what_is_wrong():
    D, _ = dissimilarities()
    with pytest.warns(UserWarning, match="are negative"):
        ProximityKernel().fit(-D)
    with pytest.warns(UserWarning, match="look like dissimilarities"):
        ProximityKernel("similarity").fit(D)
    with pytest.raises(ValueError, match="must be square"):
        ProximityKernel().fit(D[:5])
    with pytest.raises(ValueError, match="not symmetric"):
        ProximityKernel().fit(D + np.triu(D))
    with pytest.raises(ValueError, match="kind='squared' is not known"):
        ProximityKernel("squared").fit(D)
    with pytest.raises(ValueError, match="scale, unless it is 'mean' or None, must be a positive"):
        ProximityKernel(scale=-1).fit(D)


# Embedding


def test_embedding_reproduces_inner_products_and_dissimilarities():
    D, _ = dissimilarities()
    K = -(D**2) / 2
    model = PseudoEuclideanEmbedding().fit(K)
    Z = model.transform(K)
    Kc, _ = centred_rows(K, K)
    assert_allclose(Z * model.signs_ @ Z.T, Kc, atol=1e-10 * np.abs(Kc).max())
    d2 = ((Z[:, None] - Z) ** 2 * model.signs_).sum(-1)
    assert_allclose(d2, D**2, atol=1e-10 * (D**2).max())
    assert model.signature_ == (int((model.signs_ > 0).sum()), int((model.signs_ < 0).sum()))
    assert model.signature_ == diagnose(D).signature
    assert (np.diff(np.abs(model.eigenvalues_)) <= 0).all()
    assert_array_equal(clone(model).fit_transform(K), Z)


def test_embedding_out_of_sample():
    D, _ = dissimilarities(40)
    K = -(D[:30, :30] ** 2) / 2
    k = -(D[30:, :30] ** 2) / 2
    model = PseudoEuclideanEmbedding(6).fit(K)
    train, test = kernel_pca(K, k, 6)
    signs = np.sign((train * model.transform(K)).sum(axis=0))
    assert_allclose(model.transform(K), train * signs, atol=1e-9)
    assert_allclose(model.transform(k), test * signs, atol=1e-9)


def test_embedding_of_a_definite_kernel_is_kernel_pca():
    X = np.random.default_rng(0).normal(size=(20, 3))
    ours = PseudoEuclideanEmbedding(4, kernel="rbf", gamma=0.3).fit(X)
    theirs = KernelPCA(4, kernel="rbf", gamma=0.3).fit(X)
    assert_allclose(
        np.abs(ours.transform(X[:5] + 1)), np.abs(theirs.transform(X[:5] + 1)), rtol=1e-7
    )
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    assert ours.get_feature_names_out()[0] == "pseudoeuclideanembedding0"


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_embedding_of_a_corrected_kernel(correction):
    K, _ = checkerboard(5.0, n=40)
    model = PseudoEuclideanEmbedding(spectrum=correction).fit(K)
    assert (model.signs_ == 1).all()
    expected = centred_rows(corrected(K, K, correction)[0], K)[0]
    if correction == "shift":  # a training row that is passed as a query counts as a new object
        Z = model._embedding.training_coordinates()
    else:
        Z = model.transform(K)
    assert_allclose(Z @ Z.T, expected, atol=1e-8)


def test_embedding_of_almost_nothing():
    model = PseudoEuclideanEmbedding().fit(np.ones((4, 4)))
    assert model.transform(np.ones((2, 4))).shape == (2, 0)
    assert model.signature_ == (0, 0)
    assert PseudoEuclideanEmbedding(0.5).fit(np.ones((4, 4))).n_components_ == 0
    with pytest.raises(ValueError, match="n_components as a float"):
        PseudoEuclideanEmbedding(1.5).fit(np.eye(4))
