"""Ridge regression with the flipped spectrum, and the Kreĭn SVM that it is a relative of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.svm import SVC

import naive
from mahalearn import KernelRidgeClassifier, KernelSearchCV, OneVsRestSVC
from mahalearn.formulas.kernel_ridge import (
    class_targets,
    leave_one_out_lambdas,
    ridge_leave_one_out,
    ridge_path,
    ridge_spectrum,
)

rng = np.random.default_rng(2)
LAMBDAS = [1e-3, 0.1, 1.0, 30.0]


def indefinite(n=24, m=7, seed=0):
    """An indefinite kernel matrix, rows of queries, and targets of two columns."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n + m, 3))
    D = np.abs(X[:, None] - X).sum(axis=2) + 0.3 * np.abs(np.sin(7 * X[:, None, 0] - 7 * X[:, 0]))
    D = (D + D.T) / 2
    K = -(D**2)
    assert np.linalg.eigvalsh(K[:n, :n])[1] < -0.1
    return K[:n, :n], K[n:, :n], r.normal(size=(n, 2))


def test_path_equals_ridge_on_explicit_features():
    K, k, Y = indefinite()
    Z, z = naive.flipped_features(K, k)
    for lam, model in zip(LAMBDAS, ridge_path(ridge_spectrum(K), Y, LAMBDAS), strict=True):
        assert_allclose(model.scores(k), naive.ridge_with_intercept(Z, Y, z, lam), atol=1e-8)
        assert_allclose(model.scores(K), naive.ridge_with_intercept(Z, Y, Z, lam), atol=1e-8)


def test_leave_one_out_equals_dropping_each_object():
    K, k, Y = indefinite()
    Z, _ = naive.flipped_features(K, k)
    held_out = ridge_leave_one_out(ridge_spectrum(K), Y, LAMBDAS)
    assert held_out.shape == (len(LAMBDAS), *Y.shape)
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        for lam, row in zip(LAMBDAS, held_out[:, i], strict=True):
            expected = naive.ridge_with_intercept(Z[rest], Y[rest], Z[i : i + 1], lam)[0]
            assert_allclose(row, expected, atol=1e-6)


def test_definite_kernels_give_ordinary_ridge():
    X, z = rng.normal(size=(30, 4)), rng.normal(size=(6, 4))
    Y = rng.normal(size=(30, 2))
    for lam, model in zip(LAMBDAS, ridge_path(ridge_spectrum(X @ X.T), Y, LAMBDAS), strict=True):
        expected = Ridge(alpha=lam).fit(X, Y).predict(z)
        assert_allclose(model.scores(z @ X.T), expected, atol=1e-9)
    # scikit-learn's KernelRidge has no intercept: the same on what is centred already
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    model = ridge_path(ridge_spectrum(np.tanh(X) @ np.tanh(X).T), Y, [0.5])[0]
    centred = np.tanh(X) - np.tanh(X).mean(axis=0)
    expected = KernelRidge(alpha=0.5).fit(centred, Y).predict(centred)
    assert_allclose(model.scores(np.tanh(X) @ np.tanh(X).T), expected, atol=1e-9)


def test_the_origin_of_the_kernel_does_not_matter():
    K, k, Y = indefinite()
    f, g = rng.normal(size=len(K)), rng.normal(size=len(k))
    moved, rows = K + f[:, None] + f, k + g[:, None] + f
    for a, b in zip(
        ridge_path(ridge_spectrum(K), Y, LAMBDAS),
        ridge_path(ridge_spectrum(moved), Y, LAMBDAS),
        strict=True,
    ):
        assert_allclose(b.scores(rows), a.scores(k), atol=1e-8)
    assert_allclose(
        ridge_leave_one_out(ridge_spectrum(moved), Y, LAMBDAS),
        ridge_leave_one_out(ridge_spectrum(K), Y, LAMBDAS),
        atol=1e-8,
    )


def test_units_order_and_shared_spectrum():
    K, k, Y = indefinite()
    expected = [m.scores(k) for m in ridge_path(ridge_spectrum(K), Y, LAMBDAS)]
    scaled = ridge_path(ridge_spectrum(1e3 * K), Y, [1e3 * lam for lam in LAMBDAS])
    assert_allclose([m.scores(1e3 * k) for m in scaled], expected, atol=1e-9)
    order = rng.permutation(len(K))
    permuted = ridge_path(ridge_spectrum(K[np.ix_(order, order)]), Y[order], LAMBDAS)
    assert_allclose([m.scores(k[:, order]) for m in permuted], expected, atol=1e-9)
    before, spectrum = K.copy(), ridge_spectrum(K)
    assert_array_equal(K, before)
    assert_allclose([m.scores(k) for m in ridge_path(spectrum, Y, LAMBDAS)], expected)
    assert_allclose(ridge_spectrum(5 * K).scale, 5 * spectrum.scale)


def test_limits():
    K, k, Y = indefinite()
    far, near = ridge_path(ridge_spectrum(K), Y, [1e12, 1e-12])
    assert_allclose(far.scores(k), np.tile(Y.mean(axis=0), (len(k), 1)), atol=1e-6)
    assert_allclose(near.scores(K), Y, atol=1e-6)
    constant = ridge_path(ridge_spectrum(np.full((6, 6), 3.0)), Y[:6], [1.0])[0]
    assert_allclose(constant.scores(np.full((2, 6), 3.0)), np.tile(Y[:6].mean(axis=0), (2, 1)))
    assert ridge_spectrum(np.full((6, 6), 3.0)).scale == 1
    held_out = ridge_leave_one_out(ridge_spectrum(np.full((6, 6), 3.0)), Y[:6], [1.0])[0]
    means = [Y[[j for j in range(6) if j != i]].mean(axis=0) for i in range(6)]
    assert_allclose(held_out, means)


def test_noise_is_not_learned():
    n = 60
    codes = np.arange(n) % 2
    Y = class_targets(codes, 2)
    for K in (np.eye(n), np.zeros((n, n)), indefinite(n, 1)[0]):
        held_out = ridge_leave_one_out(ridge_spectrum(K), Y, [0.01, 1.0, 100.0])
        assert ((held_out.argmax(axis=2) == codes).mean(axis=1) < 0.75).all()


def test_targets():
    assert class_targets(np.array([2, 0]), 3).tolist() == [[-1, -1, 1], [1, -1, -1]]


@pytest.mark.parametrize("lam", [0, -1, np.inf, np.nan])
def test_bad_lambdas_get_a_sentence(lam):
    K, _, Y = indefinite()
    for function in (ridge_path, ridge_leave_one_out):
        with pytest.raises(ValueError, match="lambda must be positive and finite"):
            function(ridge_spectrum(K), Y, [lam])


def test_a_lambda_lost_in_rounding_is_refused():
    K, _, Y = indefinite()
    with pytest.raises(ValueError, match="vanishes in rounding"):
        ridge_leave_one_out(ridge_spectrum(K), Y, [1e-300])
    with pytest.raises(ValueError, match="at least two objects"):
        ridge_leave_one_out(ridge_spectrum(np.ones((1, 1))), np.ones((1, 1)), [1.0])


def solve_svm(C):
    def solve(K, signs):
        machine = SVC(C=C, kernel="precomputed", tol=1e-12).fit(K, signs)
        alpha = np.zeros(len(K))
        alpha[machine.support_] = machine.dual_coef_[0]
        return alpha, machine.intercept_[0]

    return solve


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_krein_svm_is_svc_on_the_flipped_spectrum(C, seed):
    """Loosli, Canu and Ong's Kreĭn SVM is OneVsRestSVC(spectrum="flip"), to 1e-10."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(40, 5))
    S = np.tanh(0.7 * X @ X.T - 0.2) + np.cos(X @ X.T) / 3  # indefinite, with a positive trace
    assert np.linalg.eigvalsh(S[:30, :30])[0] < -0.1 and np.trace(S[:30, :30]) > 0
    signs = np.where(X[:30, 0] + X[:30, 1] > 0, 1, -1)
    model = OneVsRestSVC(C=C, tol=1e-12, kernel="precomputed", spectrum="flip")
    ours = model.fit(S[:30, :30], signs).decision_function(S[30:, :30])
    naive_decisions = naive.krein_svm(S[:30, :30], S[30:, :30], signs, solve_svm(C))
    assert_allclose(ours, naive_decisions, atol=1e-10)
    # The rows of the queries have to be flipped, too: as they are, the decisions are others.
    alpha, b = solve_svm(C)(naive.corrected(S[:30, :30], S[30:, :30], "flip")[0], signs)
    assert np.abs(S[30:, :30] @ alpha + b - ours).max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_krein_svm_on_kernels_without_an_origin(seed):
    """Of −d² the centred matrix is flipped: an SVM with an intercept does not see the origin."""
    K, k, Y = indefinite(seed=seed)
    signs = np.where(Y[:, 0] > 0, 1, -1)
    model = OneVsRestSVC(tol=1e-12, kernel="precomputed", spectrum="flip").fit(K, signs)
    H = np.eye(len(K)) - 1 / len(K)
    rows = (k - K.mean(axis=0)) @ H
    expected = naive.krein_svm(H @ K @ H, rows, signs, solve_svm(1.0))
    # libsvm keeps kernel values in single precision, and here the two matrices differ by an origin.
    assert_allclose(model.decision_function(k), expected, atol=2e-5)


# --- the estimator and its search -----------------------------------------------------------------


def test_the_estimator_is_the_naive_loop():
    K, k, _ = indefinite()
    y = np.array(["b", "a", "c"])[np.arange(len(K)) % 3]
    Z, z = naive.flipped_features(K, k)
    lam = 0.01 * ((Z - Z.mean(axis=0)) ** 2).sum()
    targets = np.where(y[:, None] == ["a", "b", "c"], 1.0, -1.0)
    expected = naive.ridge_with_intercept(Z, targets, z, lam)
    model = KernelRidgeClassifier(0.01, kernel="precomputed").fit(K, y)
    assert_allclose(model.decision_function(k), expected, atol=1e-8)
    assert_allclose(k @ model.dual_coef_ + model.intercept_, expected, atol=1e-8)
    assert_array_equal(model.predict(k), np.array(["a", "b", "c"])[expected.argmax(axis=1)])


def test_krein_is_flip_for_dissimilarities_and_the_same_as_any_correction_if_definite():
    K, k, _ = indefinite()
    y = np.arange(len(K)) % 3
    krein, flip = (
        KernelRidgeClassifier(kernel="precomputed", spectrum=s).fit(K, y).decision_function(k)
        for s in ("krein", "flip")
    )
    assert_allclose(krein, flip, atol=1e-8)
    X, z = rng.normal(size=(30, 4)), rng.normal(size=(6, 4))
    expected = KernelRidgeClassifier().fit(X, X[:, 0] > 0).decision_function(z)
    for spectrum in ("ignore", "raise", "clip", "flip"):
        model = KernelRidgeClassifier(spectrum=spectrum).fit(X, X[:, 0] > 0)
        assert_allclose(model.decision_function(z), expected, atol=1e-7)


def test_reg_is_relative_to_the_kernel():
    K, k, _ = indefinite()
    y = np.arange(len(K)) % 3
    model = KernelRidgeClassifier(kernel="precomputed").fit(K, y)
    scaled = KernelRidgeClassifier(kernel="precomputed").fit(1e6 * K, y)
    assert_allclose(scaled.decision_function(1e6 * k), model.decision_function(k), atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_leave_one_out_of_a_definite_kernel_is_exact(kernel):
    X, y = rng.normal(size=(25, 3)), np.arange(25) % 3
    search = KernelSearchCV(
        KernelRidgeClassifier(kernel=kernel), {"reg": [1e-6, 1e-2, 1.0]}, cv=LeaveOneOut()
    ).fit(X, y)
    table = search.cv_results_
    for params, score in zip(table["params"], table["mean_test_score"], strict=True):
        plain = cross_val_score(
            KernelRidgeClassifier(kernel=kernel, **params), X, y, cv=LeaveOneOut()
        )
        assert_allclose(plain.mean(), score)


def test_leave_one_out_lambdas_are_those_of_the_other_objects():
    X = rng.normal(size=(20, 3))
    K = X @ X.T
    found = leave_one_out_lambdas(ridge_spectrum(K), [0.1, 2.0])
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        scale = ridge_spectrum(K[np.ix_(rest, rest)]).scale
        assert_allclose(found[:, i], np.array([0.1, 2.0]) * len(rest) * scale)
    Y = rng.normal(size=(20, 2))
    held_out = ridge_leave_one_out(ridge_spectrum(K), Y, found)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        for lam, row in zip(found[:, i], held_out[:, i], strict=True):
            model = ridge_path(ridge_spectrum(K[np.ix_(rest, rest)]), Y[rest], [lam])[0]
            assert_allclose(model.scores(K[i, rest][None])[0], row, atol=1e-7)


def test_leave_one_out_of_a_nearly_constant_kernel_is_that_of_refits():
    # The constant direction took part with the share that λ leaves of its rounding, and each
    # object's own target with it: labels independent of the data came out at 1.00.
    X = np.random.default_rng(1).normal(size=(60, 200))
    y = np.random.default_rng(7).permutation(np.arange(60) % 2)
    K = 1 - 1e-12 * ((X[:, None] - X) ** 2).sum(axis=2)
    spectrum, Y = ridge_spectrum(K), np.where(y[:, None] == [0, 1], 1.0, -1.0)
    assert not spectrum.indefinite
    lambdas = leave_one_out_lambdas(ridge_spectrum(K), [1e-5, 1e-2])
    held_out = ridge_leave_one_out(ridge_spectrum(K), Y, lambdas)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        models = ridge_path(ridge_spectrum(K[np.ix_(rest, rest)]), Y[rest], lambdas[:, i])
        expected = [model.scores(K[i, rest][None])[0] for model in models]
        assert_allclose(held_out[:, i], expected, atol=0.02)  # K has seven digits


def test_rounding_does_not_make_a_kernel_indefinite():
    # It would cost a decomposition for every object that is left out.
    for n in (20, 60, 200):
        for seed in range(5):
            X = np.random.default_rng(seed).normal(size=(n, 4))
            for K in (X @ X.T, (1 + X @ X.T) ** 2, 1e6 * (X @ X.T), np.ones((n, n))):
                assert not ridge_spectrum(K).indefinite
    assert ridge_spectrum(indefinite()[0]).indefinite


@pytest.mark.parametrize("spectrum", ["krein", "ignore", "flip"])
def test_leave_one_out_of_an_indefinite_kernel_is_that_of_refits(spectrum):
    # The closed form in the space of all objects gave .60 where refits have .53.
    K, _, _ = indefinite(40)
    y = np.random.default_rng(0).permutation(np.arange(40) % 2)
    options = {"kernel": "precomputed", "spectrum": spectrum}
    plain = KernelRidgeClassifier(**options)
    search = KernelSearchCV(plain, {"reg": [1e-4, 0.1, 1.0]}, cv=LeaveOneOut()).fit(K, y)
    for place, params in enumerate(search.cv_results_["params"]):
        plain = KernelRidgeClassifier(**{**options, **params})
        found = [search.cv_results_[f"split{f}_test_score"][place] for f in range(40)]
        assert_allclose(found, cross_val_score(plain, K, y, cv=LeaveOneOut()))


def test_the_formula_for_an_indefinite_kernel_holds_out_the_targets():
    K, _, _ = indefinite(40)
    Y = np.where(np.arange(40)[:, None] % 2 == [0, 1], 1.0, -1.0)
    lambdas = leave_one_out_lambdas(ridge_spectrum(K), [0.1])
    held_out = ridge_leave_one_out(ridge_spectrum(K), Y, lambdas)[0]
    Z, _ = naive.flipped_features(K, K[:1])
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        lam = 0.1 * ((Z[rest] - Z[rest].mean(axis=0)) ** 2).sum()
        assert_allclose(lambdas[0, i], lam)
        expected = naive.ridge_with_intercept(Z[rest], Y[rest], Z[i : i + 1], lam)
        assert_allclose(held_out[i], np.ravel(expected), atol=1e-8)


def test_wrong_parameters_get_a_sentence():
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="reg"):
        KernelRidgeClassifier(0).fit(X, y)
    with pytest.raises(ValueError, match="reg must be"):
        KernelSearchCV(KernelRidgeClassifier(), {"reg": [-1]}).fit(X, y)
