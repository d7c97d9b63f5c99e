"""Mahalanobis kernels and their support vector machines (paper B)."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

import naive
from mahalearn import (
    KernelQuadraticDiscriminant,
    MahalanobisKernel,
    MahalanobisSVC,
    OneVsRestSVC,
    kernels,
)
from mahalearn.formulas.one_vs_one import one_vs_one_scores, pair_coefficients
from mahalearn.formulas.whitening import whitening

COVARIANCES = ["diag", "full"]
FULL = {"diag": False, "full": True}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def correlated(rng):
    """60 rows of 5 correlated features in different units, far from the origin."""
    return rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) * [1, 10, 0.1, 1e3, 1e-4] + 7


@pytest.fixture
def two_classes():
    return make_classification(120, 6, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)


@pytest.fixture
def wine():
    return load_wine(return_X_y=True)


# --- the whitening and the kernel ----------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("delta", [0.3, 1.0, 2.0])
def test_kernel_is_the_papers(correlated, covariance, delta):
    X, Y = correlated[:40], correlated[35:]
    kernel = MahalanobisKernel(covariance, delta).fit(X)
    expected = naive.mahalanobis_kernel(X, X, Y, delta, FULL[covariance])
    assert_allclose(kernel(X, Y), expected, rtol=1e-8)
    assert_allclose(kernel.diag(X), kernel(X, X).diagonal())
    assert kernels.MahalanobisKernel is MahalanobisKernel


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("shape", [(60, 5), (7, 3), (6, 20), (3, 2)])
@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto", 1.0])
def test_mean_squared_distance_is_m(rng, covariance, shape, shrinkage):
    """B (4), on any data."""
    X = rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1]))
    kernel = MahalanobisKernel(covariance, shrinkage=shrinkage).fit(X)
    d2 = (kernel.whiten(X) ** 2).sum(axis=1)
    assert_allclose(d2.mean(), kernel.mean_sq_)
    if covariance == "diag":
        assert kernel.rank_ == kernel.mean_sq_ == shape[1]
    else:
        assert kernel.rank_ == min(shape[1], shape[0] - 1)
        if shrinkage is None:
            assert_allclose(kernel.mean_sq_, kernel.rank_)


def test_shrinkage_goes_from_full_to_diag(correlated):
    X = correlated
    full, diag = MahalanobisKernel("full").fit(X)(X), MahalanobisKernel().fit(X)(X)
    assert_allclose(MahalanobisKernel("full", shrinkage=0).fit(X)(X), full)
    assert_allclose(MahalanobisKernel("full", shrinkage=1).fit(X)(X), diag)
    assert np.abs(full - diag).max() > 0.1
    _, Q = naive.covariance_divisor_m(X)
    shrunk = 0.6 * Q + 0.4 * np.diag(np.diag(Q))
    W = whitening(X, full=True, shrinkage=0.4).matrix
    scale = np.sqrt(np.outer(np.diag(Q), np.diag(Q)))
    assert_allclose(W @ W.T * scale, np.linalg.inv(shrunk / scale), rtol=1e-8)


def test_auto_shrinkage_grows_with_the_dimension_and_ignores_units(rng):
    few, many = rng.normal(size=(30, 2)), rng.normal(size=(30, 40))
    few = few @ [[1.0, 0.9], [0.0, 0.4]]
    shrink = [MahalanobisKernel("full", shrinkage="auto").fit(X).shrinkage_ for X in (few, many)]
    assert 0 < shrink[0] < 0.3 < shrink[1] <= 1
    other_units = MahalanobisKernel("full", shrinkage="auto").fit(few * [1e6, 1e-3])
    assert_allclose(other_units.shrinkage_, shrink[0])


def test_spherical_data_give_the_rbf_kernel():
    """A = γI (B (6)): the corners of a cube have the covariance I."""
    X = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    expected = np.exp(-0.5 / 3 * ((X[:, None] - X) ** 2).sum(axis=2))
    for covariance in COVARIANCES:
        assert_allclose(MahalanobisKernel(covariance, delta=0.5).fit(X)(X), expected)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_kernel_ignores_units_and_origin(correlated, covariance):
    X = correlated
    moved = X * [1e-200, 1e9, 3.7, 1e100, 0.02] + [0, 1e10, 3, 0, -1]
    K = MahalanobisKernel(covariance).fit(X)(X)
    assert_allclose(MahalanobisKernel(covariance).fit(moved)(moved), K, rtol=1e-5)


def test_full_kernel_ignores_linear_maps(correlated, rng):
    X = correlated / correlated.std(axis=0)
    A = np.linalg.qr(rng.normal(size=(5, 5)))[0] * [1, 3, 10, 30, 100] @ rng.normal(size=(5, 5))
    K = MahalanobisKernel("full").fit(X)(X)
    assert_allclose(MahalanobisKernel("full").fit(X @ A)(X @ A), K, rtol=1e-6)
    assert np.abs(MahalanobisKernel("diag").fit(X @ A)(X @ A) - K).max() > 0.01


def test_constant_features_do_not_count(correlated, rng):
    X = correlated
    constant = np.column_stack([np.full(60, 0.1), X, np.zeros(60), np.full(60, 1e8 / 3)])
    for covariance in COVARIANCES:
        kernel = MahalanobisKernel(covariance).fit(constant)
        assert kernel.rank_ == 5
        assert_allclose(kernel.mean_sq_, 5)
        assert_allclose(kernel(constant), MahalanobisKernel(covariance).fit(X)(X), rtol=1e-9)
        query = constant.copy()
        query[:, 0] = rng.normal(size=60)  # not constant in the queries: there is no scale for it
        assert_allclose(kernel(query), kernel(constant))


def test_small_but_real_variation_counts(rng):
    """A time stamp in seconds: the deviation is 1e-6 of the size, and all there is."""
    X = 1.7e9 + 1e3 * rng.normal(size=(40, 1))
    assert MahalanobisKernel().fit(X).rank_ == 1


def test_collinear_features_do_not_count_in_the_full_kernel(correlated, rng):
    X = correlated
    doubled = np.column_stack([X, X @ rng.normal(size=(5, 3)), 2 * X[:, 0] - 3])
    kernel = MahalanobisKernel("full").fit(doubled)
    assert kernel.rank_ == 5
    assert_allclose(kernel.mean_sq_, 5)
    assert_allclose(kernel(doubled), MahalanobisKernel("full").fit(X)(X), rtol=1e-5)


def test_more_features_than_data(rng):
    """All pairs of M independent rows have d² = 2M: the full covariance knows nothing more."""
    X = rng.normal(size=(8, 30))
    kernel = MahalanobisKernel("full").fit(X)
    off_diagonal = kernel(X)[~np.eye(8, dtype=bool)]
    assert_allclose(off_diagonal, np.exp(-2 * 8 / 7))
    # The thin factorisation and the one over all features are the same map.
    near = MahalanobisKernel("full", shrinkage=1e-12).fit(X)
    assert_allclose(near(X), kernel(X), rtol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("X", [np.ones((4, 3)), np.zeros((5, 1)), np.full((1, 2), 1e-320)])
def test_data_without_variation(covariance, X):
    kernel = MahalanobisKernel(covariance).fit(X)
    assert kernel.rank_ == 0
    assert_array_equal(kernel(X, X + 1), np.ones((len(X), len(X))))


def test_kernel_serves_the_kernel_estimators(wine):
    X, y = wine
    model = KernelQuadraticDiscriminant(kernel=MahalanobisKernel(), reg=0.1).fit(X, y)
    assert isinstance(model.kernel_, MahalanobisKernel)
    assert_array_equal(model.predict(X), clone(model).fit(X * 1e3, y).predict(X * 1e3))
    search = GridSearchCV(model, {"kernel__delta": [0.1, 1.0]}, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) == 2
    whitened = KernelQuadraticDiscriminant(reg=0.1, gamma=1 / 13).fit(model.kernel_.whiten(X), y)
    assert_allclose(whitened.mahalanobis(model.kernel_.whiten(X)), model.mahalanobis(X), rtol=1e-6)


def test_kernel_of_a_table():
    X = load_iris(as_frame=True).data
    kernel = MahalanobisKernel().fit(X)
    assert_array_equal(
        kernel(X, X[:3]), MahalanobisKernel().fit(X.to_numpy())(X.to_numpy(), X[:3].to_numpy())
    )
    assert kernel.feature_names_in_[0] == "sepal length (cm)"


def test_kernel_says_what_is_wrong(rng):
    X = rng.normal(size=(10, 3))
    with pytest.raises(NotFittedError):
        MahalanobisKernel()(X, X)
    with pytest.raises(ValueError, match="covariance='tied' is not known; choose from 'diag'"):
        MahalanobisKernel("tied").fit(X)
    with pytest.raises(ValueError, match="delta must be a positive number; got 0"):
        MahalanobisKernel(delta=0).fit(X)
    for shrinkage in (-0.1, 1.5, "oas", True, np.nan):
        with pytest.raises(ValueError, match="shrinkage must be a number from 0 to 1"):
            MahalanobisKernel("full", shrinkage=shrinkage).fit(X)
    with pytest.raises(ValueError, match="2 features"):
        MahalanobisKernel().fit(X)(X[:, :2], X)


# --- the classifier ------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3, 1: 0.5}])
def test_decisions_solve_the_dual(two_classes, covariance, class_weight):
    X, y = two_classes
    train, test = slice(0, 50), slice(50, 120)
    counts = np.bincount(y[train])
    weights = {None: {0: 1, 1: 1}, "balanced": dict(enumerate(25 / counts))}.get(
        class_weight if not isinstance(class_weight, dict) else 0, class_weight
    )
    model = MahalanobisSVC(C=2.0, delta=0.7, covariance=covariance, class_weight=class_weight)
    model.set_params(tol=1e-8).fit(X[train], y[train])
    K = naive.mahalanobis_kernel(X[train], X[train], X[train], 0.7, FULL[covariance])
    k = naive.mahalanobis_kernel(X[train], X[test], X[train], 0.7, FULL[covariance])
    bounds = 2.0 * np.array([weights[label] for label in y[train]])
    expected = naive.svm_decisions(K, k, 2.0 * y[train] - 1, bounds)
    assert_allclose(model.decision_function(X[test]), expected, atol=1e-4)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_two_classes_are_an_svc_on_whitened_data(two_classes, covariance):
    X, y = two_classes
    model = MahalanobisSVC(10.0, 0.4, covariance).fit(X, y)
    (kernel,) = model.kernels_
    Z = kernel.whiten(X)
    svc = SVC(C=10.0, gamma=0.4 / 6).fit(Z, y)
    assert_allclose(model.decision_function(X), svc.decision_function(Z), atol=1e-9)
    assert_array_equal(model.predict(X), svc.predict(Z))
    assert_array_equal(model.support_, svc.support_)
    assert_array_equal(model.n_support_, svc.n_support_)
    both = [clone(model).set_params(covariance_from=s).fit(X, y) for s in ("pair", "all")]
    assert_array_equal(both[0].decision_function(X), both[1].decision_function(X))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_one_covariance_for_all_classes_is_an_svc(wine, covariance, class_weight):
    X, y = wine
    names = np.array(["b", "a", "c"])[y]
    model = MahalanobisSVC(
        5.0, covariance=covariance, covariance_from="all", class_weight=class_weight
    ).fit(X, names)
    Z = model.kernels_[0].whiten(X)
    svc = SVC(C=5.0, gamma=1 / 13, class_weight=class_weight, break_ties=True).fit(Z, names)
    assert_allclose(model.decision_function(X), svc.decision_function(Z))
    assert_array_equal(model.predict(X), svc.predict(Z))
    assert_array_equal(model.support_, svc.support_)
    assert_array_equal(model.n_support_, svc.n_support_)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_pairs_have_their_own_covariance(covariance):
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=1
    )
    model = MahalanobisSVC(2.0, covariance=covariance).fit(X, y)
    pairs = OneVsOneClassifier(MahalanobisSVC(2.0, covariance=covariance)).fit(X, y)
    assert_allclose(model.decision_function(X), pairs.decision_function(X))
    assert_array_equal(model.predict(X), pairs.predict(X))
    assert model.decision_function(X).shape == (150, 4)
    assert_array_equal(model.decision_function(X).argmax(axis=1), model.predict(X))
    together = clone(model).set_params(covariance_from="all").fit(X, y)
    assert np.abs(together.decision_function(X) - model.decision_function(X)).max() > 0.01

    assert len(model.kernels_) == 6
    support = set()
    for (i, j), kernel in zip([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], model.kernels_):
        rows = np.flatnonzero((y == i) | (y == j))
        assert_allclose(kernel(X), MahalanobisKernel(covariance).fit(X[rows])(X))
        support |= set(
            rows[MahalanobisSVC(2.0, covariance=covariance).fit(X[rows], y[rows]).support_]
        )
    assert set(model.support_) == support
    assert_array_equal(model.n_support_, np.bincount(y[model.support_]))


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("source", ["pair", "all"])
def test_whole_weights_repeat_samples(rng, covariance, class_weight, source):
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + np.repeat(np.eye(3), 20, axis=0)
    y = np.repeat([2, 5, 7], [25, 20, 15])
    counts = rng.integers(0, 3, size=60)
    options = {"C": 3.0, "covariance": covariance, "covariance_from": source, "tol": 1e-10}
    options["class_weight"] = class_weight
    weighted = MahalanobisSVC(**options).fit(X, y, sample_weight=counts)
    repeated = MahalanobisSVC(**options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    queries = rng.normal(size=(40, 3))
    assert_allclose(
        weighted.decision_function(queries), repeated.decision_function(queries), atol=1e-6
    )
    assert (counts[weighted.support_] > 0).all()
    # Another weighting is another machine, or the weights would count for nothing.
    other = MahalanobisSVC(**options).fit(X, y)
    gap = weighted.decision_function(queries) - other.decision_function(queries)
    assert np.abs(gap).max() > 1e-3


def test_weights_leave_out_a_class_or_are_refused(rng):
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], 10)
    model = MahalanobisSVC().fit(X, y, sample_weight=(y > 0).astype(float))
    assert model.classes_.tolist() == [1, 2]
    with pytest.raises(ValueError, match="Ledoit and Wolf has no weights"):
        MahalanobisSVC(covariance="full", shrinkage="auto").fit(X, y, sample_weight=np.ones(30))
    with pytest.raises(ValueError, match="sample_weight must be finite and nonnegative"):
        MahalanobisSVC().fit(X, y, sample_weight=-np.ones(30))


def test_votes(rng):
    """The most votes win; among equal votes the larger sum of decisions."""
    decisions = rng.normal(size=(200, 6)) * 10.0 ** rng.integers(-3, 4, size=(200, 1))
    scores = one_vs_one_scores(decisions, 4)
    tied = 0
    for row, score in zip(decisions, scores, strict=True):
        table = np.zeros((4, 4))
        table[np.triu_indices(4, 1)] = row
        votes, sums = naive.one_vs_one(table, 4)
        assert score.argmax() == max(range(4), key=lambda j: (votes[j], sums[j]))
        assert_array_equal(np.round(score), votes)
        tied += votes.count(max(votes)) > 1
    assert tied > 20


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_ignore_the_units(n_classes, rng):
    X, y = make_classification(
        200, 8, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=2
    )
    train, test = slice(0, 100), slice(100, 200)
    factors = 10.0 ** rng.uniform(-8, 8, size=8)
    A = rng.normal(size=(8, 8))
    assert 10 < np.linalg.cond(A) < 1e4
    for maps, covariance in [(factors, "diag"), (factors, "full"), (A, "full")]:
        Z = X @ (maps if maps.ndim == 2 else np.diag(maps))
        for C in (1, 100):
            model = MahalanobisSVC(C, covariance=covariance)
            before = clone(model).fit(X[train], y[train])
            after = clone(model).fit(Z[train], y[train])
            assert_array_equal(after.predict(Z[test]), before.predict(X[test]))
            assert_array_equal(after.support_, before.support_)
    diag = [MahalanobisSVC().fit(V[train], y[train]).predict(V[test]) for V in (X, X @ A)]
    assert (diag[0] != diag[1]).any()  # the diagonal kernel is not invariant to rotations


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_singular_covariances_are_no_exception(covariance, shrinkage, rng):
    wide = rng.normal(size=(12, 40))
    constant = np.column_stack([wide[:, :2], np.ones(12)])
    y = np.arange(12) % 3
    tiny = np.array([0] * 10 + [1, 2])
    model = MahalanobisSVC(covariance=covariance, shrinkage=shrinkage)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (wide, constant, constant[:, [0, 0, 1, 1]], np.ones((12, 2))):
            for labels in (y, tiny):
                fitted = clone(model).fit(X, labels)
                assert np.isfinite(fitted.decision_function(X + rng.normal(size=X.shape))).all()


def test_probabilities_tables_and_pickles(wine):
    X, y = wine
    table = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
    model = MahalanobisSVC().fit(table, y)
    assert_array_equal(model.predict(table), MahalanobisSVC().fit(X, y).predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(table), model.predict(table))
    proba = CalibratedClassifierCV(MahalanobisSVC(), cv=3).fit(X, y).predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == y).mean() > 0.95


def test_classifier_says_what_is_wrong(wine):
    X, y = wine
    with pytest.raises(ValueError, match="C must be a positive number; got -1"):
        MahalanobisSVC(-1).fit(X, y)
    with pytest.raises(ValueError, match="covariance_from='class' is not known"):
        MahalanobisSVC(covariance_from="class").fit(X, y)
    with pytest.raises(ValueError, match="delta must be a positive number"):
        MahalanobisSVC(delta="scale").fit(X, y)
    with pytest.raises(ValueError, match="at least two"):
        MahalanobisSVC().fit(X[:10], y[:10])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_decisions_of_pairs_are_those_of_libsvm(n_classes):
    X, y = make_classification(
        120, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    svc = SVC(gamma=0.3, decision_function_shape="ovo").fit(X, y)
    K = rbf_kernel(X, svc.support_vectors_, gamma=0.3)
    decisions = K @ pair_coefficients(svc.dual_coef_, svc.n_support_) + svc.intercept_
    assert_allclose(decisions.squeeze(), svc.decision_function(X), atol=1e-10)
    for source in ("all", "pair"):
        model = MahalanobisSVC(covariance_from=source).fit(X, y)
        for machine in model.machines_:
            expected = machine.svc.decision_function(machine.kernel.whiten(X))
            expected = expected[:, None] if expected.ndim == 1 else -expected
            assert_allclose(machine.decisions(X), expected, atol=1e-10)


def test_a_machine_that_does_not_converge_ends(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2  # labels are noise
    for machine in (OneVsRestSVC(1e4, kernel="precomputed"), MahalanobisSVC(1e8, delta=1e-2)):
        K = 100 * X @ X.T if isinstance(machine, OneVsRestSVC) else X
        with pytest.warns(ConvergenceWarning, match="max_iter=1000000"):
            machine.fit(K, y)
