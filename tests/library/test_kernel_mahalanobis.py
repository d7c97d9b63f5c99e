"""Kernel Mahalanobis distances against the papers' formulas, and their properties."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

import naive
from mahalearn import KernelMahalanobisTransformer, KernelQuadraticDiscriminant, PrecomputedKernel
from mahalearn.formulas.kernel_mahalanobis import (
    CholeskyModel,
    class_model,
)
from mahalearn.formulas.linalg import (
    inverse_diagonal,
    solve_lower,
    times,
)
from mahalearn.training.exact import reg_for_part

VARIANTS = ["IC+", "IC-", "RC+", "RC-", "FK+", "FK-"]
KINDS = ["rbf", "indefinite"]


def problem(seed, kind, n=24, m=7, c=3):
    """A kernel matrix of training objects and queries, with unequal classes."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    X = rng.normal(size=(n + m, 4)) + np.pad(y, (0, m))[:, None]
    if kind == "rbf":
        K = rbf_kernel(X, gamma=0.3)
    else:  # −d^1.4 of city-block distances and some noise: clearly indefinite, no constant diagonal
        D = np.abs(X[:, None] - X[None]).sum(axis=2)
        E = rng.normal(size=D.shape, scale=0.1)
        K = -(D**1.4) + E + E.T
    return K[:n, :n], y, K[n:, :n], np.diagonal(K)[n:].copy()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("krein", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_equal_the_naive_loops(variant, kind, krein, seed):
    K, y, k, kxx = problem(seed, kind)
    reg = {"IC+": 1e-3, "IC-": 1e-2, "RC+": 0.05, "RC-": 0.5, "FK+": 1e-2, "FK-": 1e-2}[variant]
    model = KernelQuadraticDiscriminant(
        variant, reg, kernel="precomputed", spectrum="krein" if krein else "ignore"
    ).fit(K, y)
    counts = np.bincount(y)
    alphas = reg * counts if variant.startswith("RC") else np.full(len(counts), reg)
    expected = naive.sq_distances(variant, K, y, k, kxx, alphas, krein)
    rtol = 1e-6 if variant.startswith("IC") else 1e-8
    scale = np.abs(expected).max()
    assert_allclose(model.mahalanobis(k, kxx), expected, rtol=rtol, atol=1e-9 * scale)
    # The offsets were found on the training objects' distances: those must agree too.
    resubstitution = model._distances.training_sq_distances()
    expected = naive.sq_distances(variant, K, y, K, np.diagonal(K), alphas, krein)
    scale = np.abs(expected).max()
    assert_allclose(resubstitution, expected, rtol=rtol, atol=1e-8 * scale)


@pytest.mark.parametrize("reg_on", ["kernel", "covariance", "relative"])
@pytest.mark.parametrize("variant", ["IC+", "RC+", "FK+"])
def test_reg_on(variant, reg_on):
    K, y, k, kxx = problem(1, "indefinite")
    reg = np.array([0.1, 0.2, 0.3])
    counts = np.bincount(y)
    spread = 0.0
    for j in range(3):
        own = K[np.ix_(y == j, y == j)]
        spread += sum(naive.centred(own, row, row[i])[2] for i, row in enumerate(own))
    spread = abs(spread) / len(y)
    alphas = {
        "kernel": reg,
        "covariance": reg * counts,
        "relative": {"IC": reg * spread, "RC": reg * spread * counts, "FK": reg * spread**2}[
            variant[:2]
        ],
    }[reg_on]
    model = KernelQuadraticDiscriminant(variant, reg, reg_on=reg_on, kernel="precomputed").fit(K, y)
    expected = naive.sq_distances(variant, K, y, k, kxx, alphas)
    assert_allclose(model.mahalanobis(k, kxx), expected, rtol=1e-7)


def test_relative_reg_makes_one_value_suit_kernels_of_any_scale():
    K, y, k, kxx = problem(2, "rbf")
    for variant in VARIANTS:
        model = KernelQuadraticDiscriminant(variant, 0.1, reg_on="relative", kernel="precomputed")
        small = model.fit(K, y).mahalanobis(k, kxx)
        large = model.fit(1e6 * K, y).mahalanobis(1e6 * k, 1e6 * kxx)
        assert_allclose(small, large, rtol=1e-7)


@given(st.integers(0, 10**6), st.floats(1e-3, 10), st.sampled_from([2, 3]))
@settings(max_examples=25, deadline=None)
def test_linear_kernel_is_the_primal(seed, sigma2, n_features):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(20, n_features)), rng.normal(size=(5, n_features))
    y = np.arange(20) % 2
    model = KernelQuadraticDiscriminant("RC+", sigma2, kernel="linear", offset=None).fit(X, y)
    expected = [[naive.regularised_mahalanobis(X[y == j], z, sigma2) for j in range(2)] for z in Z]
    assert_allclose(model.mahalanobis(Z), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_features", [2, 15])
def test_linear_ic_is_the_pseudo_inverse_of_the_covariance(n_features, rng):
    X, Z = rng.normal(size=(20, n_features)), rng.normal(size=(5, n_features))
    y = np.arange(20) % 2
    model = KernelQuadraticDiscriminant("IC-", 1e-9, kernel="linear", offset=None).fit(X, y)
    expected = []
    for Xj in (X[y == 0], X[y == 1]):
        inverse = np.linalg.pinv(np.cov(Xj.T, bias=True), rcond=1e-10, hermitian=True)
        expected.append([(z - Xj.mean(axis=0)) @ inverse @ (z - Xj.mean(axis=0)) for z in Z])
    assert_allclose(model.mahalanobis(Z), np.transpose(expected), rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_translation_of_the_feature_space_changes_nothing(variant, kind):
    # φ → φ + t adds u_i + u_j + c to the kernel: centring must remove it.
    K, y, k, kxx = problem(3, kind)
    rng = np.random.default_rng(3)
    u, v, c = rng.normal(size=len(K)), rng.normal(size=len(k)), 1.7
    model = KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed")
    before = model.fit(K, y).mahalanobis(k, kxx)
    after = model.fit(K + u[:, None] + u + c, y).mahalanobis(
        k + v[:, None] + u + c, kxx + 2 * v + c
    )
    assert_allclose(after, before, rtol=1e-7, atol=1e-8 * np.abs(before).max())


@given(st.integers(0, 10**6), st.floats(1e-4, 1e4), st.sampled_from(VARIANTS))
@settings(max_examples=40, deadline=None)
def test_scaling_the_kernel_scales_the_regularisation(seed, theta, variant):
    K, y, k, kxx = problem(seed % 7, KINDS[seed % 2])
    power = 2 if variant.startswith("FK") else 1
    model = KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed")
    before = model.fit(K, y).mahalanobis(k, kxx)
    model.set_params(reg=0.1 * theta**power)
    after = model.fit(theta * K, y).mahalanobis(theta * k, theta * kxx)
    assert_allclose(after, before, rtol=1e-6, atol=1e-7 * np.abs(before).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_order_of_rows_and_names_of_classes_do_not_matter(variant, kind, rng):
    K, y, k, kxx = problem(4, kind)
    model = KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed").fit(K, y)
    d2, labels = model.mahalanobis(k, kxx), model.predict(k)
    p = rng.permutation(len(y))
    permuted = KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed")
    permuted.fit(K[np.ix_(p, p)], y[p])
    assert_allclose(permuted.mahalanobis(k[:, p], kxx), d2, rtol=1e-8, atol=1e-8)
    assert_allclose(permuted.offsets_, model.offsets_, rtol=1e-7, atol=1e-8)
    # Reversing the order of the class names reverses the columns.
    names = np.array(["c", "b", "a"])
    renamed = KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed").fit(K, names[y])
    assert_allclose(renamed.mahalanobis(k, kxx), d2[:, ::-1], rtol=1e-8)
    assert_allclose(renamed.offsets_, model.offsets_[::-1], rtol=1e-8, atol=1e-10)
    assert (renamed.predict(k) == names[labels]).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_precomputed_named_and_row_number_kernels_agree(variant):
    X, y = make_classification(60, 5, n_informative=4, n_classes=3, random_state=0, n_redundant=0)
    K = rbf_kernel(X, gamma=0.2)
    train, test = np.arange(40), np.arange(40, 60)
    fits = [
        (KernelQuadraticDiscriminant(variant, 0.1, gamma=0.2), X[train], X[test]),
        (
            KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed"),
            K[:40, :40],
            K[40:, :40],
        ),
        (KernelQuadraticDiscriminant(variant, 0.1, kernel=PrecomputedKernel(K)), train, test),
        (
            KernelQuadraticDiscriminant(variant, 0.1, kernel=PrecomputedKernel(K)),
            train[:, None],
            test[:, None],
        ),
        (KernelQuadraticDiscriminant(variant, 0.1, kernel=RBF(np.sqrt(2.5))), X[train], X[test]),
    ]
    reference = None
    for model, fit_on, ask in fits:
        model.fit(fit_on, y[train])
        d2 = model.mahalanobis(ask)
        reference = d2 if reference is None else reference
        assert_allclose(d2, reference, rtol=1e-7, atol=1e-7)
        assert (model.predict(ask) == fits[0][0].predict(X[test])).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_krein_equals_definite_formulas_for_nonnegative_spectra(variant):
    K, y, k, kxx = problem(5, "rbf")
    d2 = [
        KernelQuadraticDiscriminant(variant, 0.1, kernel="precomputed", spectrum=spectrum)
        .fit(K, y)
        .mahalanobis(k, kxx)
        for spectrum in ("krein", "ignore", "raise")
    ]
    assert_allclose(d2[0], d2[1], rtol=1e-9)
    assert_allclose(d2[0], d2[2], rtol=1e-9)


def test_rc_plus_is_the_posterior_variance_of_a_gaussian_process(rng):
    # C, IV-F: σ²d² of RC+ is the predictive variance of a process with noise nσ² (without noise of
    # its own) for the centred kernel. A kernel that is centred by construction shows it plainly.
    X, Z, gamma, sigma2 = rng.normal(size=(15, 2)), rng.normal(size=(6, 2)), 0.4, 0.02
    K, k = rbf_kernel(X, gamma=gamma), rbf_kernel(Z, X, gamma=gamma)
    Kc, mean = K - K.mean(0) - K.mean(1)[:, None] + K.mean(), K.mean(0)
    kc = k - mean - k.mean(1)[:, None] + K.mean()
    kxx = 1 - 2 * k.mean(1) + K.mean()

    class Centred(RBF):
        def __call__(self, A, B=None, eval_gradient=False):
            B = A if B is None else B
            KA, KB = rbf_kernel(A, X, gamma=gamma), rbf_kernel(B, X, gamma=gamma)
            cross = rbf_kernel(A, B, gamma=gamma)
            return cross - KA.mean(1)[:, None] - KB.mean(1) + K.mean()

        def diag(self, A):
            return np.diagonal(self(A)).copy()

    process = GaussianProcessRegressor(Centred(), alpha=len(X) * sigma2, optimizer=None)
    _, std = process.fit(X, np.zeros(len(X))).predict(Z, return_std=True)
    assert_allclose(Centred()(X), Kc, atol=1e-12)
    assert_allclose(Centred()(Z, X), kc, atol=1e-12)
    assert_allclose(Centred().diag(Z), kxx, atol=1e-12)
    y = np.zeros(2 * len(X), int)
    y[len(X) :] = 1
    model = KernelQuadraticDiscriminant("RC+", sigma2, gamma=gamma, offset=None)
    d2 = model.fit(np.vstack([X, X + 9]), y).mahalanobis(Z)[:, 0]
    assert_allclose(sigma2 * d2, std**2, rtol=1e-6)


def test_boundary_is_parallel_to_the_diagonal_of_the_dissimilarity_space():
    X, y = make_classification(80, 4, random_state=0)
    model = KernelQuadraticDiscriminant(reg=0.1).fit(X, y)
    psi = KernelMahalanobisTransformer(reg=0.1).fit(X, y).transform(X)
    # f_2 − f_1 = (d²_1 − d²_2)/2 + const: it depends on the difference alone, with slope ½.
    difference = model.decision_function(X) - (psi[:, 0] - psi[:, 1]) / 2
    assert_allclose(difference, difference[0], atol=1e-9 * np.abs(psi).max())


def test_xor_of_paper_a():
    # Fig. 2: a query outside the span of class 1 has k̃ near 0 and so a small IC distance: the
    # objects of class 1 itself are farther from their class than those of class 2. RC+ mends that.
    X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    y = np.array([1, 2, 2, 1])
    ic = KernelQuadraticDiscriminant("IC-", 1e-4, gamma=1.0, offset=None).fit(X, y)
    rc = KernelQuadraticDiscriminant("RC+", 1.0, gamma=1.0, offset=None).fit(X, y)
    d_ic, d_rc = ic.mahalanobis(X)[:, 0], rc.mahalanobis(X)[:, 0]
    assert d_ic[y == 1].min() > d_ic[y == 2].max() + 0.5
    assert d_rc[y == 1].max() < d_rc[y == 2].min()


def test_small_regularisation_of_fk_plus_stays_accurate():
    K, y, k, _ = problem(6, "rbf", n=40)
    model = KernelQuadraticDiscriminant("FK+", 1e-8, kernel="precomputed").fit(K, y)
    exact = _extended_precision_fk(K, y, k, 1e-8)
    assert_allclose(model.mahalanobis(k), exact, rtol=1e-8)


def _extended_precision_fk(K, y, k, alpha):
    """FK+ in rational arithmetic's stead: 50 digits."""
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 50
    n = len(K)
    Km, km = mp.matrix(K.tolist()), mp.matrix(k.tolist())
    one = mp.matrix([1] * n)
    H = mp.eye(n) - one * one.T / n
    Kc = H * Km * H
    out = np.empty((len(k), y.max() + 1))
    for j in range(y.max() + 1):
        idx = np.flatnonzero(y == j)
        nj = len(idx)
        Kj = mp.matrix(n, nj)
        for b, i in enumerate(idx):
            for a in range(n):
                Kj[a, b] = Kc[a, int(i)]
        oj = mp.matrix([1] * nj)
        Hj = mp.eye(nj) - oj * oj.T / nj
        inverse = (Kj * Hj * Kj.T + mp.mpf(alpha) * mp.eye(n)) ** -1
        for a in range(len(k)):
            v = H * (km[a, :].T - Km * one / n) - Kj * oj / nj
            out[a, j] = float(nj * (v.T * inverse * v)[0])
    return out


@pytest.mark.parametrize("variant", ["IC+", "IC-", "RC+", "RC-", "FK+", "FK-"])
@pytest.mark.parametrize("reg_on", ["auto", "covariance", "kernel", "relative"])
def test_parts_are_measured_on_the_scale_of_the_whole(variant, reg_on, rng):
    """Objects that all occur three times have the same means and covariances as once."""
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], [15, 25])
    queries, reg = rng.normal(size=(6, 3)), np.array([0.02, 0.05])
    options = {"reg_on": reg_on, "kernel": "rbf", "gamma": 0.3, "offset": None}
    thrice = KernelQuadraticDiscriminant(variant, reg, **options)
    thrice.fit(np.vstack([X] * 3), np.tile(y, 3))
    counts = np.bincount(y)
    part = reg_for_part(reg, reg_on, variant, 3 * counts, counts)
    once = KernelQuadraticDiscriminant(variant, part, **options).fit(X, y)
    assert_allclose(once.mahalanobis(queries), thrice.mahalanobis(queries), rtol=1e-6)


def test_factors_hold_nothing_above_their_diagonal():
    X, y = make_classification(60, random_state=0)
    model = KernelQuadraticDiscriminant("RC+", 0.1).fit(X, y)
    for own in model._distances.models:
        # What a file keeps there does not compress.
        assert not np.triu(own.L, 1).any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_triangular_solutions_and_products(order, rng):
    n = 7
    L = np.asfortranarray(np.tril(rng.normal(size=(n, n))) + 3 * np.eye(n))
    for m in (1, 5):
        B = np.array(rng.normal(size=(m, n)), order=order)
        expected = np.linalg.solve(L, B.T).T
        assert_allclose(solve_lower(L, B.copy(order=order)), expected, rtol=1e-12)
        for A in (rng.normal(size=(n, 3)), rng.normal(size=(n, 1)), np.ones((n, 0))):
            assert_allclose(times(B, A), B @ A, rtol=1e-12, atol=1e-14)
            out = np.full((m, A.shape[1]), np.nan, order=order)
            times(B, A, out=out)
            assert_allclose(out, B @ A, rtol=1e-12, atol=1e-14)


def test_a_cholesky_factor_gives_the_distances_of_the_spectrum(rng):
    X, Z = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
    K, k, kxx = rbf_kernel(X), rbf_kernel(Z, X), np.ones(30)
    for alpha in (1.0, 0.1):
        model = class_model(K.copy(), "RC+", alpha, definite=True)
        assert isinstance(model, CholeskyModel)
        spectral = class_model(K.copy(), "RC+", alpha, definite=True, spectral=True)
        before = k.copy()
        assert_allclose(model.sq_distances(k, kxx), spectral.sq_distances(k, kxx), rtol=1e-11)
        assert_array_equal(k, before)  # others may read it, too
        assert_allclose(model.own_sq_distances(), spectral.own_sq_distances(), rtol=1e-11)
        assert_allclose(model.log_volume(), spectral.log_volume(), rtol=1e-11)


def test_a_factor_that_underflowed_is_refused_with_a_sentence():
    L = np.asfortranarray(np.diag([1.0, 0.0, 1.0]))
    rows = np.ones((1, 3)), np.ones((2, 3))
    for solve in (*(partial(solve_lower, L, B) for B in rows), partial(inverse_diagonal, L)):
        with pytest.raises(ValueError, match="Use a larger reg"):
            solve()
