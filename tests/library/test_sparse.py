"""Sparse rows: the scores of dense ones, in memory that does not grow with the columns."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    OneVsRestSVC,
    TableEncoder,
)
from mahalearn._sparse import SparseRows, column_moments, joined, sq_norms
from mahalearn.kernels.protocol import SPARSE, fit_named_kernel
from mahalearn.persistence import load_model, save_model

EXACT = [
    KernelQuadraticDiscriminant(),
    KernelQuadraticDiscriminant("FK+"),
    DissimilaritySpaceDiscriminant("quadratic"),
    KernelFisherDiscriminant(),
    KernelPCAQuadraticDiscriminant(),
    KernelRidgeClassifier(),
    KernelKNeighborsClassifier(weights="distance"),
    OneVsRestSVC(),
    KernelMahalanobisTransformer("IC+"),
]
AT_LANDMARKS = [
    KernelQuadraticDiscriminant(landmarks=20, random_state=0),
    DissimilaritySpaceDiscriminant(landmarks=20, random_state=0),
    KernelFisherDiscriminant(landmarks=20, random_state=0),
    KernelPCAQuadraticDiscriminant(landmarks=20, random_state=0),
    LandmarkMap(20, random_state=0),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 30), density=0.2, rng=rng, format="csr")
    left, right = X[:, :15].sum(axis=1), X[:, 15:].sum(axis=1)
    Z = sp.random_array((25, 30), density=0.2, rng=rng, format="csr")
    return X, np.where(left > right, "left", "right"), Z


def values(model, X):
    return (model.transform if hasattr(model, "transform") else model.decision_function)(X)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("kernel", SPARSE)
@pytest.mark.parametrize("model", EXACT, ids=str)
def test_sparse_and_dense_rows_give_equal_scores(model, kernel, data):
    X, y, Z = data
    model = clone(model).set_params(kernel=kernel, standardize=False)
    dense = clone(model).fit(X.toarray(), y)
    expected = values(dense, Z.toarray())
    model.fit(X, y)
    for got in (values(model, Z), values(model, Z.toarray()), values(dense, Z)):
        assert relative(got, expected) < 1e-8


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "sigmoid"])
@pytest.mark.parametrize("model", AT_LANDMARKS, ids=str)
def test_at_landmarks_too(model, kernel, data):
    X, y, Z = data
    model = clone(model).set_params(kernel=kernel).fit(X, y)
    assert sp.issparse(model.landmarks_) and model.landmarks_.shape == (20, 30)
    given = clone(model).set_params(landmarks=model.landmarks_).fit(X, y)
    dense = clone(model).set_params(landmarks=model.landmarks_.toarray(), standardize=False)
    expected = values(dense.fit(X.toarray(), y), Z.toarray())
    for one, queries in ((model, Z), (given, Z), (model, Z.toarray()), (dense, Z)):
        assert relative(values(one, queries), expected) < 1e-8


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix])
def test_formats_and_indices(make, data):
    X, y, Z = data
    expected = KernelFisherDiscriminant().fit(X, y).decision_function(Z)
    A = make(X)
    if A.format == "csr":
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    assert_array_equal(KernelFisherDiscriminant().fit(A, y).decision_function(make(Z)), expected)
    for kernel in SPARSE:  # sklearn's city-block distances take indices of 32 bits alone
        KernelFisherDiscriminant(kernel=kernel).fit(A, y).predict(make(Z))
    twice = sp.csr_array(
        (
            np.concatenate([A.tocoo().data / 2] * 2),
            tuple(np.concatenate([i] * 2) for i in A.tocoo().coords),
        )
        if hasattr(A.tocoo(), "coords")
        else A
    )
    got = KernelFisherDiscriminant().fit(twice, y).decision_function(Z)
    assert relative(got, expected) < 1e-10


def test_standardisation_divides_and_does_not_centre(data):
    X, y, Z = data
    for kernel in ("rbf", "laplacian"):
        model = KernelRidgeClassifier(kernel=kernel, standardize=True)
        expected = clone(model).fit(X.toarray(), y).decision_function(Z.toarray())
        assert relative(model.fit(X, y).decision_function(Z), expected) < 1e-8
        assert relative(model.decision_function(Z.toarray()), expected) < 1e-8
    units = sp.csr_array(X * np.logspace(0, 3, 30))
    plain = KernelRidgeClassifier(standardize=False).fit(units, y).decision_function(units)
    auto = KernelRidgeClassifier().fit(units, y)  # words are not divided by their deviations
    assert_array_equal(auto.decision_function(units), plain)
    with pytest.raises(ValueError, match="would centre sparse rows for kernel='linear'"):
        KernelRidgeClassifier(kernel="linear", standardize=True).fit(X, y)
    with pytest.raises(TypeError, match="dense data is required"):
        KernelRidgeClassifier(kernel="chi2").fit(X, y)
    with pytest.raises(ValueError, match="those of sparse rows would be dense"):
        KernelFisherDiscriminant(landmarks=LandmarkMap(9, method="kmeans")).fit(X, y)
    bad = X.copy()
    bad.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelFisherDiscriminant(landmarks=9).fit(bad, y)


def test_batches_partial_fit_and_searches(data):
    X, y, Z = data
    parts = [(X[i : i + 40], y[i : i + 40]) for i in (0, 40, 80)]
    model = KernelQuadraticDiscriminant(landmarks=20, random_state=0)
    expected = clone(model).fit(X, y)
    assert relative(clone(model).fit(parts).decision_function(Z), values(expected, Z)) < 1e-8
    steps = clone(model).set_params(landmarks=expected.landmarks_, gamma=expected.kernel_.gamma)
    for part, labels in parts:
        steps.partial_fit(part, labels, classes=["left", "right"])
    assert relative(steps.decision_function(Z), values(expected, Z)) < 1e-8
    for i in range(3):  # some of the parts dense
        mixed = [(A.toarray() if j == i else A, labels) for j, (A, labels) in enumerate(parts)]
        assert relative(clone(model).fit(mixed).decision_function(Z), values(expected, Z)) < 1e-8
    with pytest.raises(TypeError, match="takes sparse rows in one matrix, not in batches"):
        MahalanobisClassifierCV().fit(parts)
    for estimator in (KernelFisherDiscriminant(standardize=False), KernelRidgeClassifier()):
        sparse = KernelSearchCV(estimator, cv=3).fit(X, y)
        dense = KernelSearchCV(clone(estimator).set_params(standardize=False), cv=3)
        dense.fit(X.toarray(), y)
        names = ("mean_test_score", "param_gamma", "param_reg")
        for name in names:
            a, b = (search.cv_results_[name].astype(float) for search in (sparse, dense))
            assert_allclose(a, b, rtol=1e-10)
        assert relative(sparse.decision_function(Z), dense.decision_function(Z.toarray())) < 1e-8
    search = KernelSearchCV(model, {"reg": [0.01, 0.1]}, cv=3)
    assert np.isfinite(search.fit(X, y).best_score_) and np.isfinite(search.fit(parts).best_score_)


ON_KERNELS = ("svm", "kernel_fisher", "kqd", "kernel_ridge", "neighbors")


@pytest.mark.parametrize(
    ("options", "rtol"),
    # The cosine kernel of four columns has rank 4: a small reg enlarges rounding, and LIBSVM stops
    # elsewhere.
    [({}, 1e-8), ({"families": ON_KERNELS[1:], "combine": "best", "kernel": "cosine"}, 1e-5)],
    ids=["stack", "best"],
)
def test_ensembles_of_sparse_and_dense_rows_are_equal(options, rtol, tmp_path):
    """A dense table is standardised; standardised rows that are sparse are left as they are."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    encoder = TableEncoder().fit(X)
    Z = sp.csr_array(encoder.transform(X))
    options = {"families": ON_KERNELS, "cv": 3, "random_state": 0, **options}
    model = MahalanobisClassifierCV(**options)
    dense, sparse = clone(model).fit(X, y), model.fit(Z, y)
    assert_allclose(sparse.oof_proba_, dense.oof_proba_, rtol, rtol / 100)
    expected = dense.predict_proba(X)
    saved = load_model(save_model(sparse, tmp_path / "sparse.skops"))
    for one, rows in ((sparse, Z), (sparse, Z.toarray()), (saved, Z)):
        assert_allclose(one.predict_proba(rows), expected, rtol, rtol / 100)
    (row,), (same,) = sparse.explain(Z[:1]), dense.explain(X[:1])
    assert_allclose(list(row["members"].values()), list(same["members"].values()), 1e-4)
    if row["contributions"] is not None:
        margin = np.log(row["proba"][row["label"]] / row["proba"][row["second"]])
        total = sum(row["contributions"].values()) + row["baseline"]
        assert_allclose(total, margin)
    with pytest.raises(TypeError, match="dense data is required"):
        dense.predict(Z)


def test_an_ensemble_leaves_out_families_of_dense_columns(data):
    X, y, Z = data
    with pytest.warns(UserWarning, match="gaussian .left out: it needs dense"):
        model = MahalanobisClassifierCV(("gaussian", "kernel_ridge"), cv=3).fit(X, y)
    notes = {row["family"]: row["note"] for row in model.leaderboard_}
    assert "the rows are sparse" in notes["gaussian"] and not notes["kernel_ridge"]
    assert set(model.predict(Z)) <= {"left", "right"}
    with pytest.raises(ValueError, match=r"No family could be fitted: gaussian \(left out"):
        MahalanobisClassifierCV(("gaussian",)).fit(X, y)
    with pytest.raises(TypeError, match="dense data is required"):
        MahalanobisClassifierCV(kernel="chi2").fit(X, y)


def test_an_ensemble_does_not_grow_with_the_columns():
    """Dense, the 200 rows of 200,000 columns would take 320 MB."""
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 200_000), density=1e-4, rng=rng, format="csr")
    y = np.arange(200) % 2
    families = ("kernel_fisher", "kernel_ridge")
    model = MahalanobisClassifierCV(families, kernel="rbf", cv=3, random_state=0)
    tracemalloc.start()
    model.fit(X, y).predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrices, columns = 20 * 200**2 * 8, 10 * X.shape[1] * 8
    assert peak < matrices + columns


@pytest.mark.parametrize("options", [{}, {"kernel": "cosine"}, {"normalize": True}], ids=str)
def test_p_values_of_sparse_rows(options, data):
    X, y, Z = data
    for labels in (None, y):
        model = KernelMahalanobisNovelty(standardize=False, **options)
        dense = clone(model).fit(X.toarray(), labels)
        assert_allclose(model.fit(X, labels).p_values(Z), dense.p_values(Z.toarray()))


def test_text_in_a_pipeline():
    texts = ["the cat sat", "a dog ran", "the cat ran", "a dog sat", "cat cat", "dog dog"] * 4
    y = ["cat", "dog"] * 12
    for last in (
        KernelRidgeClassifier(kernel="linear"),
        KernelQuadraticDiscriminant(kernel="cosine", landmarks=4, random_state=0),
    ):
        model = make_pipeline(TfidfVectorizer(), last)
        assert model.fit(texts, y).score(texts, y) == 1
        search = KernelSearchCV(model, cv=3).fit(texts, y)
        assert search.best_score_ == 1
        assert_allclose(search.predict_proba(texts).sum(axis=1), 1)


def test_a_saved_model_is_the_same(data, tmp_path):
    X, y, Z = data
    for model in (KernelRidgeClassifier(), KernelFisherDiscriminant(landmarks=9, random_state=0)):
        path = save_model(model.fit(X, y), tmp_path / f"{type(model).__name__}.skops")
        assert_array_equal(load_model(path).decision_function(Z), model.decision_function(Z))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_memory_does_not_grow_with_the_columns(kernel):
    """Dense, the 3,000 rows of 50,000 columns would take 1.2 GB."""
    rng, m = np.random.default_rng(0), 50
    X = sp.random_array((3000, 50_000), density=2e-4, rng=rng, format="csr")
    y = np.arange(3000) % 2
    model = KernelFisherDiscriminant(kernel=kernel, landmarks=m, random_state=0)
    with sklearn.config_context(working_memory=1):
        tracemalloc.start()
        model.fit(X, y).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    columns = 10 * X.shape[1] * 8  # means and variances of the columns
    assert peak < 2**20 + 3 * 2 * m**2 * 8 + columns + 4 * X.data.nbytes + 3000 * m * 8


def test_sparse_rows_are_a_collection(data):
    X, _, _ = data
    rows, D = SparseRows(X), X.toarray()
    assert len(rows) == 120 and rows.shape == X.shape
    for index in (slice(3, 9), np.array([5, 2, 2]), np.arange(120) % 3 == 0):
        assert_array_equal(rows[index].matrix.toarray(), D[index])
    assert_allclose(rows.var(), D.var())
    assert_allclose(sq_norms(rows), (D**2).sum(axis=1))
    for got, expected in zip(column_moments(rows), (D.mean(axis=0), D.var(axis=0)), strict=True):
        assert_allclose(got, expected, atol=1e-15)
    one = joined(rows[:4], rows[10:], np.array([1, 5, 0])).matrix.toarray()
    assert_array_equal(one, D[[1, 11, 0]])
    kernel = fit_named_kernel("rbf", rows)
    assert_allclose(kernel.gamma, fit_named_kernel("rbf", D).gamma)
    K = kernel(rows, rows)
    assert_array_equal(K, K.T)
    with sklearn.config_context(working_memory=0.001):  # a row at a time
        assert_array_equal(kernel(rows, rows), K)
        assert_allclose(kernel(rows, rows[:7]), K[:, :7], atol=1e-12)
