"""Kernel Fisher, kernel PCA + QDA, kernel neighbours, dissimilarity space, one-vs-all SVM."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    MeasureKernel,
    OneVsRestSVC,
    PrecomputedKernel,
)
from mahalearn.formulas import kernel_neighbors as neighbors
from mahalearn.formulas.kernel_fisher import fisher_model, fisher_path
from mahalearn.formulas.kernel_pca import leading_components
from naive import (
    kernel_fisher,
    kernel_neighbors,
    kernel_pca,
    linear_discriminant,
    quadratic_discriminant,
)

FAMILY = [
    DissimilaritySpaceDiscriminant(),
    DissimilaritySpaceDiscriminant("quadratic", "IC-", 0.1),
    DissimilaritySpaceDiscriminant("fisher", "FK+", cv=5, random_state=0),
    KernelFisherDiscriminant(),
    KernelKNeighborsClassifier(3),
    KernelPCAQuadraticDiscriminant(),
    KernelRidgeClassifier(),
    OneVsRestSVC(),
]
every_model = pytest.mark.parametrize("model", FAMILY, ids=lambda m: repr(m)[:50])


def problem(seed=0, sizes=(5, 12, 20), d=3, m=9):
    """X, y in mixed order with classes of unequal size, and queries."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(y), d)) + y[:, None] * np.linspace(0.5, 1, d)
    return X, y, rng.normal(size=(m, d)) + 1


def kernels(X, Z):
    """Definite, rank-deficient and indefinite kernels, (K, k, kxx)."""

    def manhattan(A, B):
        return -(np.abs(A[:, None] - B).sum(-1) ** 2)

    def ideal(A, B):
        return A @ B.T

    def shape(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(-1) / 2)

    for function in (shape, ideal, manhattan):
        yield function(X, X), function(Z, X), function(Z, Z).diagonal().copy()


# Kernel Fisher discriminant


@pytest.mark.parametrize("sizes", [(5, 12, 20), (10, 10), (1, 6, 1, 30), (7, 25), (25, 7)])
@pytest.mark.parametrize("beta", [1e-3, 0.1, 10.0])
def test_fisher_is_the_naive_one(sizes, beta):
    X, y, Z = problem(sizes=sizes)
    for K, k, _ in kernels(X, Z):
        model = KernelFisherDiscriminant(beta, kernel="precomputed").fit(K, y)
        expected = kernel_fisher(K, y, k, beta)
        assert_allclose(model._scores(k), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
        assert_allclose(k @ model.dual_coef_ + model.intercept_, model._scores(k), rtol=1e-9)


def test_fisher_path_is_one_decomposition():
    X, y, _ = problem()
    y = np.sort(y)
    slices = [slice(0, 5), slice(5, 17), slice(17, 37)]
    K = rbf_kernel(X, gamma=0.5)
    betas = [1e-6, 1e-2, 1.0]
    for beta, model in zip(betas, fisher_path(K.copy(), slices, betas), strict=True):
        (alone,) = fisher_path(K.copy(), slices, [beta])
        assert_array_equal(model.coefficients, alone.coefficients)
        assert_array_equal(model.offsets, alone.offsets)
        # A single model takes the way of Cholesky factors where β allows.
        single = fisher_model(K.copy(), slices, beta)
        assert_allclose(single.scores(K), model.scores(K), rtol=1e-8, atol=1e-8)


def test_fisher_is_accurate_for_small_beta():
    """Against the stable least-squares form of (N + βI)a = Kz; K is never squared."""
    X, y, Z = problem(sizes=(30, 50, 70), m=20)
    K, k = rbf_kernel(X, gamma=0.3), rbf_kernel(Z, X, gamma=0.3)
    beta = 1e-9
    got = KernelFisherDiscriminant(beta, kernel="precomputed").fit(K, y)._scores(k)
    for j in range(3):
        P = (y == j).mean()
        z = np.where(y == j, 1 / (y == j).sum(), -1 / (y != j).sum())
        B = np.vstack(
            [
                np.sqrt(p) * (K[group] - K[group].mean(axis=0))
                for p, group in [(P, y == j), (1 - P, y != j)]
            ]
        )
        R = np.linalg.qr(np.vstack([B, np.sqrt(beta) * np.eye(len(K))]), mode="r")
        a = np.linalg.solve(R, np.linalg.solve(R.T, K @ z))
        f = k @ a - 0.5 * a @ K @ np.abs(z)
        assert_allclose(got[:, j], f, atol=1e-6 * np.abs(f).max())


def test_fisher_says_when_reg_vanishes():
    y = np.arange(12) % 3
    for beta in (1e-14, 1e-100):
        model = KernelFisherDiscriminant(beta, kernel="precomputed").fit(np.eye(12), y)
        assert np.isfinite(model.decision_function(np.eye(12))).all()
    with pytest.raises(ValueError, match="reg is so small"):
        KernelFisherDiscriminant(1e-320, kernel="precomputed").fit(1e10 * np.eye(12), y)


def test_linear_kernel_spans_the_primal_fisher_direction():
    X, y, _ = problem(sizes=(20, 35), m=5)
    model = KernelFisherDiscriminant(1e-9, kernel="linear").fit(X, y)
    w = X.T @ model.dual_coef_[:, 1]
    groups = [X[y == j] for j in range(2)]
    # The kernel's N weighs each group's scatter by its probability once more than usual.
    scatter = sum(len(g) / len(X) * len(g) * np.cov(g.T, bias=True) for g in groups)
    primal = np.linalg.solve(scatter, groups[1].mean(axis=0) - groups[0].mean(axis=0))
    assert_allclose(w / np.linalg.norm(w), primal / np.linalg.norm(primal), atol=1e-6)


def test_fisher_projects_onto_its_directions():
    X, y, Z = problem()
    model = KernelFisherDiscriminant().fit(X, y)
    projections = model.kernel_(Z, X) @ model.dual_coef_
    assert_allclose(projections + model.intercept_, model.decision_function(Z))


# Kernel PCA + quadratic discriminant


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_kernel_pca_discriminant_is_the_naive_one(alpha):
    X, y, Z = problem()
    for K, k, _ in kernels(X, Z):
        for n_components in (1, 3):
            model = KernelPCAQuadraticDiscriminant(n_components, alpha, kernel="precomputed")
            train, test = kernel_pca(K, k, n_components)
            expected = quadratic_discriminant(train, y, test, alpha)
            assert_allclose(model.fit(K, y)._scores(k), expected, rtol=1e-7, atol=1e-7)


def test_all_components_of_the_linear_kernel_are_qda():
    X, y, Z = problem()
    model = KernelPCAQuadraticDiscriminant(None, 0.3, kernel="linear").fit(X, y)
    assert model.n_components_ == X.shape[1]
    assert_allclose(model._scores(Z), quadratic_discriminant(X, y, Z, 0.3), rtol=1e-9)
    proba = model.predict_proba(Z)
    assert_allclose(proba.sum(axis=1), 1)
    assert_allclose(np.log(proba), model.predict_log_proba(Z))
    priors = [0.2, 0.5, 0.3]
    model.set_params(priors=priors).fit(X, y)
    assert_allclose(model._scores(Z), quadratic_discriminant(X, y, Z, 0.3, priors), rtol=1e-9)


def test_more_dimensions_than_objects_in_a_class():
    X, y, Z = problem(d=8)
    model = KernelPCAQuadraticDiscriminant(None, 0.05, kernel="linear").fit(X, y)
    assert_allclose(model._scores(Z), quadratic_discriminant(X, y, Z, 0.05), rtol=1e-8)


def test_components_are_counted_as_in_scikit_learn():
    from sklearn.decomposition import PCA

    X, y, _ = problem(d=5)
    for fraction in (0.1, 0.5, 0.8, 0.95):
        model = KernelPCAQuadraticDiscriminant(fraction, kernel="linear").fit(X, y)
        assert model.n_components_ == PCA(fraction).fit(X).n_components_
    assert len(leading_components(np.array([3.0, 1.0]), 1.0)) == 2
    assert len(leading_components(np.array([3.0, 1.0]), 7)) == 2
    for wrong in (0, -1, 1.5, "all", True):
        with pytest.raises(ValueError, match="n_components"):
            KernelPCAQuadraticDiscriminant(wrong).fit(X, y)


def test_negative_components_can_be_left_out():
    X, y, _ = problem()
    K = list(kernels(X, X))[2][0]
    krein = KernelPCAQuadraticDiscriminant(None, kernel="precomputed").fit(K, y)
    ignore = clone(krein).set_params(spectrum="ignore").fit(K, y)
    assert (krein.eigenvalues_ < 0).any() and (ignore.eigenvalues_ > 0).all()
    assert_allclose(krein.eigenvalues_[krein.eigenvalues_ > 0], ignore.eigenvalues_)


# Nearest neighbours


@pytest.mark.parametrize("n_neighbors", [1, 4, 37])
def test_neighbours_are_the_naive_ones(n_neighbors):
    X, y, Z = problem()
    for K, k, kxx in kernels(X, Z):
        model = KernelKNeighborsClassifier(n_neighbors, kernel="precomputed").fit(K, y)
        votes = kernel_neighbors(K, k, kxx, y, n_neighbors)
        assert_allclose(model.decision_function(k), votes / n_neighbors)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_linear_kernel_neighbours_are_scikit_learns(weights):
    X, y, Z = problem()
    ours = KernelKNeighborsClassifier(5, weights=weights, kernel="linear").fit(X, y)
    theirs = KNeighborsClassifier(5, weights=weights).fit(X, y)
    assert_allclose(ours.decision_function(Z), theirs.predict_proba(Z), rtol=1e-9)
    # A query at distance 0 is decided by the objects there alone.
    shares = theirs.predict_proba(X[:4])
    assert_allclose(ours.decision_function(X[:4]), shares, rtol=1e-6, atol=1e-12)
    d, index = theirs.kneighbors(Z)
    d2, ours_index = ours.kneighbors(Z)
    assert_array_equal(index, ours_index)
    assert_allclose(d2, d**2, rtol=1e-8)
    assert ours.kneighbors(Z, 2, return_distance=False).shape == (len(Z), 2)


def test_rbf_neighbours_do_not_depend_on_gamma():
    X, y, Z = problem(sizes=(40, 50, 60), m=50)
    answers = [
        KernelKNeighborsClassifier(5, gamma=gamma).fit(X, y).predict_proba(Z)
        for gamma in (1e-3, 0.1, 1.0, 3.0)
    ]
    for answer in answers[1:]:
        assert_array_equal(answer, answers[0])


def test_ties_go_to_the_first_objects():
    x = np.array([[0.0], [1.0], [-1.0], [1.0], [-1.0], [5.0]])
    y = np.array(["b", "z", "a", "a", "z", "a"])
    model = KernelKNeighborsClassifier(3, kernel="linear").fit(x, y)
    assert model.kneighbors([[0.0]], return_distance=False).tolist() == [[0, 1, 2]]
    codes = np.array([[0, 1, 1], [2, 2, 0]])
    path = np.cumsum(codes[..., None] == np.arange(3), axis=1)
    for k in (1, 2, 3):
        assert_array_equal(path[:, k - 1], neighbors.votes(codes[:, :k], 3))


def test_neighbours_say_what_is_wrong():
    X, y, Z = problem()
    for wrong in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match="n_neighbors must be a positive whole number"):
            KernelKNeighborsClassifier(wrong).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors=50, but n_samples = 37"):
        KernelKNeighborsClassifier(50).fit(X, y)
    with pytest.raises(ValueError, match="weights must be 'uniform'"):
        KernelKNeighborsClassifier(weights="heavy").fit(X, y)
    with pytest.raises(ValueError, match="weights must return"):
        KernelKNeighborsClassifier(weights=lambda d: -d).fit(X, y).predict(Z)
    model = KernelKNeighborsClassifier(weights="distance", kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match=r"PrecomputedKernel\(K\) on row numbers"):
        model.predict(Z @ X.T)


# Dissimilarity space


@pytest.mark.parametrize("variant", ["RC+", "IC+", "FK+"])
def test_heads_are_the_textbook_discriminants_of_the_distances(variant):
    X, y, Z = problem(sizes=(15, 22, 30))
    psi = KernelMahalanobisTransformer(variant, 0.1).fit(X, y)
    train, test = psi.transform(X), psi.transform(Z)
    scale = train.std(axis=0)  # both discriminants are invariant, but the ridge acts on this scale
    quadratic = DissimilaritySpaceDiscriminant("quadratic", variant, 0.1).fit(X, y)
    expected = quadratic_discriminant(train / scale, y, test / scale, 1e-10)
    assert_allclose(quadratic.decision_function(Z), expected, rtol=1e-4, atol=1e-4)
    fisher = DissimilaritySpaceDiscriminant("fisher", variant, 0.1).fit(X, y)
    expected = linear_discriminant(train / scale, y, test / scale)
    got = fisher.decision_function(Z)
    assert_allclose(
        got - got[:, :1], expected - expected[:, :1], rtol=1e-4, atol=1e-4 * np.abs(expected).max()
    )
    assert_array_equal(fisher.predict(Z), fisher.classes_[got.argmax(axis=1)])


@pytest.mark.parametrize("discriminant", ["fisher", "quadratic"])
def test_singular_heads_survive(discriminant):
    """IC- with nothing dropped: every training object of a class has d² = n_j − 1."""
    X, y, Z = problem(sizes=(15, 22))
    model = DissimilaritySpaceDiscriminant(discriminant, "IC-", 1e-12, gamma=3.0).fit(X, y)
    own = model._distances.training_sq_distances()[np.arange(len(y)), y]
    assert_allclose(own, np.where(y == 0, 14, 21), rtol=1e-6)
    assert np.isfinite(model.decision_function(Z)).all()
    assert model.score(X, y) > 0.9


def test_cross_fitted_distances_are_out_of_fold():
    X, y, Z = problem(sizes=(15, 22, 30))

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            self.seen_ = X
            return super().fit(X, y)

    model = DissimilaritySpaceDiscriminant(Recorder(), cv=67, random_state=0)
    # One object a fold would need as many objects in the largest class: there it is leave-one-out.
    model.fit(X[:30], y[:30])
    plain = clone(model).set_params(cv=None).fit(X[:30], y[:30])
    n = 30
    rows = np.arange(n)
    own = y[:30]
    assert (model.head_.seen_[rows, own] > plain.head_.seen_[rows, own]).all()
    assert_allclose(model.mahalanobis(Z), plain.mahalanobis(Z))  # queries: all training objects

    K = rbf_kernel(X, gamma=0.5)
    kwargs = {"cv": 5, "random_state": 3}
    a = DissimilaritySpaceDiscriminant(gamma=0.5, **kwargs).fit(X, y)
    b = DissimilaritySpaceDiscriminant(kernel="precomputed", **kwargs).fit(K, y)
    c = DissimilaritySpaceDiscriminant(kernel=PrecomputedKernel(K), **kwargs).fit(range(67), y)
    assert_allclose(b.decision_function(K), a.decision_function(X), rtol=1e-6)
    assert_allclose(c.decision_function(range(67)), a.decision_function(X), rtol=1e-6)


def test_cross_fit_equals_a_loop_over_the_folds():
    from sklearn.model_selection import StratifiedKFold

    X, y, _ = problem(sizes=(15, 22, 30))
    model = DissimilaritySpaceDiscriminant(gamma=0.5, cv=5, random_state=0).fit(X, y)
    psi = np.empty((len(y), 3))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        fold = KernelMahalanobisTransformer(gamma=0.5).fit(X[train], y[train])
        psi[test] = fold.transform(X[test])
    assert_allclose(model.head_.center_, psi.mean(axis=0))


def test_any_classifier_can_be_the_head():
    X, y, Z = problem()
    model = DissimilaritySpaceDiscriminant(KNeighborsClassifier(4)).fit(X, y)
    psi = KernelMahalanobisTransformer().fit(X, y)
    head = KNeighborsClassifier(4).fit(psi.transform(X), y)
    assert_allclose(model.decision_function(Z), head.predict_proba(psi.transform(Z)))
    grid = {"discriminant__n_neighbors": [2, 5], "reg": [0.1]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert set(search.best_params_) == set(grid)
    with pytest.raises(ValueError, match="discriminant must be 'fisher', 'quadratic'"):
        DissimilaritySpaceDiscriminant("cubic").fit(X, y)
    with pytest.raises(TypeError, match="sample_weight"):
        DissimilaritySpaceDiscriminant().fit(X, y, sample_weight=np.ones(len(y)))


# One-vs-all SVM


def test_svm_is_scikit_learns_one_vs_rest():
    X, y, Z = problem()
    for mine in (y >= 0, y > 0):
        ours = OneVsRestSVC(2.0, gamma=0.5).fit(X[mine], y[mine])
        theirs = OneVsRestClassifier(SVC(C=2.0, gamma=0.5)).fit(X[mine], y[mine])
        assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=2e-3)


# All of them


@every_model
def test_precomputed_named_and_object_kernels_agree(model):
    X, y, Z = problem(sizes=(10, 15, 20))
    K, k = rbf_kernel(X, gamma=0.5), rbf_kernel(Z, X, gamma=0.5)
    expected = clone(model).set_params(gamma=0.5).fit(X, y).decision_function(Z)
    got = clone(model).set_params(kernel="precomputed").fit(K, y).decision_function(k)
    assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    function = MeasureKernel(lambda a, b: np.exp(-0.5 * ((a - b) ** 2).sum()))
    got = clone(model).set_params(kernel=function).fit(list(X), y).decision_function(list(Z))
    assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@every_model
def test_the_order_of_objects_does_not_matter(model):
    if model.get_params().get("cv"):
        pytest.skip("folds depend on the order")
    X, y, Z = problem(sizes=(10, 15, 20))
    order = np.random.default_rng(1).permutation(len(y))
    a = clone(model).fit(X, y).decision_function(Z)
    b = clone(model).fit(X[order], y[order]).decision_function(Z)
    assert_allclose(a, b, rtol=1e-6, atol=1e-3 if isinstance(model, OneVsRestSVC) else 1e-7)


@every_model
def test_the_origin_of_the_kernel_does_not_matter(model):
    """k + g(x) + g(x') is another origin. Fisher's ridge on the coefficients depends on it, and so
    does a correction of the spectrum."""
    if isinstance(model, KernelFisherDiscriminant):
        pytest.skip("its ridge acts on the coefficients, which the origin changes")
    if isinstance(model, OneVsRestSVC):
        model = OneVsRestSVC(spectrum="ignore")
    X, y, Z = problem(sizes=(10, 15, 20))
    X = np.vstack([X, Z])
    n = len(y)
    K = rbf_kernel(X, gamma=0.5)
    g = np.random.default_rng(2).normal(size=len(K))
    moved = K + g[:, None] + g
    answers = [
        clone(model)
        .set_params(kernel=PrecomputedKernel(matrix))
        .fit(np.arange(n), y)
        .decision_function(np.arange(n, len(X)))
        for matrix in (K, moved)
    ]
    tol = 5e-3 if isinstance(model, OneVsRestSVC) else 1e-5
    assert_allclose(answers[0], answers[1], rtol=tol, atol=tol)


@every_model
def test_scaling_kernel_and_regularisation_together_changes_nothing(model):
    X, y, Z = problem(sizes=(10, 15, 20))
    K, k, factor = rbf_kernel(X, gamma=0.5), rbf_kernel(Z, X, gamma=0.5), 16.0
    power = {KernelFisherDiscriminant: 2}.get(type(model), 1)
    power = 2 if model.get_params().get("variant") == "FK+" else power
    a = clone(model).set_params(kernel="precomputed").fit(K, y)
    if isinstance(model, OneVsRestSVC):
        scaled = {"C": model.C / factor}
    elif isinstance(model, (KernelKNeighborsClassifier, KernelRidgeClassifier)):
        scaled = {}
    else:
        scaled = {"reg": getattr(a, "reg_", model.reg) * factor**power}
    b = clone(model).set_params(kernel="precomputed", **scaled).fit(factor * K, y)
    assert_array_equal(a.predict(k), b.predict(factor * k))


@every_model
@pytest.mark.parametrize("kind", ["constant", "duplicates", "tiny classes", "far", "float32"])
def test_degenerate_input(model, kind):
    X, y, Z = problem(sizes=(10, 15, 20))
    if kind == "constant":
        X = np.ones_like(X)
    elif kind == "duplicates":
        X = np.repeat(X[:9], 5, axis=0)
        X[:, 1] = X[:, 0]
    elif kind == "tiny classes":
        X, y = X[:7], np.array([0, 1, 1, 1, 1, 2, 2])
    elif kind == "far":
        Z = Z * 1e6
    else:
        X = X.astype(np.float32)
    model = clone(model).fit(X, y)
    scores = model.decision_function(Z)
    assert np.isfinite(scores).all()
    assert set(model.predict(Z)) <= set(y)


@every_model
def test_labels_tables_and_cross_validation(model):
    X, y, _ = problem(sizes=(15, 15, 20))
    labels = np.array(["ape", "bee", "cat"])[y]
    frame = pd.DataFrame(X, columns=list("abc"))
    model = clone(model).fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abc")
    assert set(model.predict(frame)) <= set(labels)
    # A pairwise estimator gets both axes sliced: the same folds, the same scores.
    expected = cross_val_score(clone(model).set_params(gamma=0.5), X, labels, cv=3)
    pairwise = clone(model).set_params(kernel="precomputed")
    assert_allclose(cross_val_score(pairwise, rbf_kernel(X, gamma=0.5), labels, cv=3), expected)


@pytest.mark.parametrize("model", [KernelFisherDiscriminant, KernelPCAQuadraticDiscriminant])
def test_regularisation_must_be_positive(model):
    X, y, _ = problem()
    for wrong in (0, -1.0, np.nan, "most", None):
        with pytest.raises(ValueError, match="reg must be a positive number"):
            model(reg=wrong).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        OneVsRestSVC(-1).fit(X, y)
    signature = KernelQuadraticDiscriminant().fit(X, y).kernel_signature()
    assert signature == model().fit(X, y).kernel_signature()
