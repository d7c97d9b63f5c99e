"""Properties that the papers prove: invariances, and identities with other methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct
from sklearn.metrics.pairwise import rbf_kernel

import naive
from mahalearn import (
    KernelFisherDiscriminant,
    KernelMahalanobisTransformer,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    LandmarkMap,
    MahalanobisSVC,
    PrecomputedKernel,
)

VARIANTS = ("IC+", "IC-", "RC+", "RC-", "FK+", "FK-")


def k(X, Y=None):
    return rbf_kernel(X, Y, gamma=0.3)


def classes(rng, n=24, d=3):
    y = np.repeat([0, 1], n // 2)
    return rng.normal(size=(n, d)) + y[:, None], y, rng.normal(size=(7, d))


def distances(kernel, variant, reg, X, y, Z, reg_on="kernel"):
    model = KernelMahalanobisTransformer(
        variant, reg, reg_on=reg_on, kernel=kernel, standardize=False
    )
    return model.fit(X, y).transform(Z)


@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_do_not_depend_on_the_origin_of_the_feature_space(rng, variant):
    """A, 5: φ(x) + Σ w_i φ(x_i) for any x_i and w_i."""
    X, y, Z = classes(rng)
    centres, w = rng.normal(size=(2, 3)), np.array([0.7, -0.4])

    def shifted(A, B=None):
        B = A if B is None else B
        return k(A, B) + (k(A, centres) @ w)[:, None] + k(B, centres) @ w + w @ k(centres) @ w

    pair = [distances(kernel, variant, 1e-2, X, y, Z) for kernel in (k, shifted)]
    assert_allclose(*pair, rtol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_do_not_depend_on_the_scale_of_the_feature_space(rng, variant):
    """A, 5: with θk the parameters become θα and θσ²; those of FK, on K̃², θ²α."""
    X, y, Z = classes(rng)
    theta = 7.0
    power = 2 if variant.startswith("FK") else 1
    reg_on = "covariance" if variant.startswith("RC") else "kernel"

    def scaled(A, B=None):
        return theta * k(A, B)

    before = distances(k, variant, 1e-2, X, y, Z, reg_on)
    after = distances(scaled, variant, theta**power * 1e-2, X, y, Z, reg_on)
    assert_allclose(after, before, rtol=1e-7)
    unchanged = distances(scaled, variant, 1e-2, X, y, Z, reg_on)
    if variant not in ("IC-", "FK-"):  # these drop eigenvalues only: none lies between the two α
        assert not np.allclose(unchanged, before, rtol=1e-3), "the parameter must be scaled, too"


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_the_mahalanobis_kernel_does_not_depend_on_the_unit_of_the_inputs(rng, covariance):
    """B, 3: scales of the inputs for the diagonal, any affine map for the full covariance."""
    X, y, Z = classes(rng, 60)
    if covariance == "diag":
        A = np.diag([3.0, 0.01, 50.0])
    else:
        A = rng.normal(size=(3, 3))
    b = rng.normal(size=3)
    options = {"shrinkage": None, "tol": 1e-10}
    model = MahalanobisSVC(1.0, 1.0, covariance, **options)
    before = model.fit(X, y).decision_function(Z)
    after = model.fit(X @ A + b, y).decision_function(Z @ A + b)
    assert_allclose(after, before, atol=1e-6)
    if covariance == "diag":  # the negative control: a rotation is no scale
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        assert not np.allclose(model.fit(X @ R, y).decision_function(Z @ R), before, atol=1e-3)


def indefinite(rng, n=20, m=6):
    B = rng.normal(size=(n + m, 8))
    signs = np.array([1, 1, 1, 1, 1, -1, -1, -1])
    S = B * signs @ B.T + 0.05 * np.diag(rng.choice([-1, 1], n + m))
    return S[:n, :n], S[n:, :n]


def test_indefinite_fisher_is_fisher_in_the_associated_hilbert_space(rng):
    """C, III: f in the Kreĭn space equals f with |K|, queries taken into the same space."""
    K, rows = indefinite(rng)
    y = np.repeat([0, 1], 10)
    values, U = np.linalg.eigh(K)
    flipped, flipped_rows = U * abs(values) @ U.T, rows @ (U * np.sign(values)) @ U.T
    expected = naive.fisher_discriminant(flipped, y, 1, 0.3, flipped_rows)
    assert_allclose(naive.fisher_discriminant(K, y, 1, 0.3, rows), expected, rtol=1e-8)
    for spectrum in ("krein", "flip"):
        model = KernelFisherDiscriminant(0.3, kernel="precomputed", spectrum=spectrum).fit(K, y)
        assert_allclose(model.decision_function(rows), 2 * expected, rtol=1e-8)
    # Not so for the quadratic discriminants: the sign of an eigenvalue counts in their distances.
    krein, flip = (
        KernelQuadraticDiscriminant(
            "RC+", 0.1, kernel="precomputed", spectrum=spectrum, offset=None
        )
        .fit(K, y)
        .decision_function(rows)
        for spectrum in ("krein", "flip")
    )
    assert not np.allclose(krein, flip, rtol=1e-2)


def test_two_class_fisher_scores_are_twice_those_of_the_paper(rng):
    """f_1 − f_0 of one class against the rest is 2f: two classes have one direction."""
    X, y, Z = classes(rng)
    one, zero = (naive.fisher_discriminant(k(X), y, j, 0.1, k(Z, X)) for j in (1, 0))
    assert_allclose(one, -zero, rtol=1e-8)
    model = KernelFisherDiscriminant(0.1, kernel=k, standardize=False).fit(X, y)
    assert_allclose(model.decision_function(Z), 2 * one, rtol=1e-8)


def test_ic_without_offsets_is_the_distance_of_ruiz_and_lopez_de_teruel(rng):
    """Their distance (C, [27]): the pseudo-inverse of the covariance in the class's own span."""
    X, y, Z = classes(rng)

    def features(A):  # of (1 + xᵀx')²
        squares = [
            A[:, i] * A[:, j] * (1 if i == j else 2**0.5) for i in range(3) for j in range(i + 1)
        ]
        return np.column_stack([np.ones(len(A)), 2**0.5 * A, *squares])

    def poly(A, B=None):
        return (1 + A @ (A if B is None else B).T) ** 2

    expected = np.empty((len(Z), 2))
    for j in (0, 1):
        F = features(X[y == j])
        inverse = np.linalg.pinv(np.cov(F.T, bias=True), rcond=1e-10, hermitian=True)
        gaps = features(Z) - F.mean(axis=0)
        expected[:, j] = [gap @ inverse @ gap for gap in gaps]
    assert_allclose(distances(poly, "IC-", 1e-9, X, y, Z), expected, rtol=1e-6)
    model = KernelQuadraticDiscriminant(
        "IC-", 1e-9, reg_on="kernel", kernel=poly, offset=None, standardize=False
    )
    assert_array_equal(model.fit(X, y).predict(Z), expected.argmin(axis=1))


def test_rc_is_the_predictive_variance_of_a_gaussian_process(rng):
    """C, IV-F: σ²d² of RC+ is var f(x), with noise nσ², in the centred space of a class."""
    X, Z = rng.normal(size=(15, 3)), rng.normal(size=(6, 3))
    sigma2, mean = 0.2, X.mean(axis=0)
    process = GaussianProcessRegressor(DotProduct(0.0, "fixed"), alpha=15 * sigma2, optimizer=None)
    process.fit(X - mean, rng.normal(size=15))
    _, std = process.predict(Z - mean, return_std=True)
    both, y = np.vstack([X, rng.normal(size=(9, 3)) + 5]), np.repeat([0, 1], [15, 9])
    d2 = distances("linear", "RC+", sigma2, both, y, Z, "covariance")[:, 0]
    assert_allclose(sigma2 * d2, std**2, rtol=1e-8)


def test_variance_constrained_krein_ridge_is_ridge_with_another_parameter(rng):
    """Ridge in the Hilbert space of a Kreĭn space with Σ f(x_i)² = r² fixed: f in proportion.

    A general solver for the constrained problem against KernelRidgeClassifier; the multiplier μ
    says which λ it is.
    """
    K, rows = indefinite(rng, 16)
    y = np.repeat([0, 1], 8)
    Z, z = naive.flipped_features(K, rows)
    targets = np.where(y == 1, 1.0, -1.0)
    lam, radius = 2.0, 1.2

    def loss(w):
        return ((Z @ w - targets) ** 2).sum() + lam * w @ w

    def gradient(w):
        return 2 * Z.T @ (Z @ w - targets) + 2 * lam * w

    constraint = {
        "type": "eq",
        "fun": lambda w: ((Z @ w) ** 2).sum() - radius**2,
        "jac": lambda w: 2 * Z.T @ (Z @ w),
    }
    start = np.linalg.solve(Z.T @ Z + lam * np.eye(Z.shape[1]), Z.T @ targets)
    options = {"ftol": 1e-15, "maxiter": 1000}
    w = minimize(
        loss, start, jac=gradient, constraints=constraint, method="SLSQP", options=options
    ).x
    # (1 + μ)ZᵀZw + λw = Zᵀy
    mu = ((Z @ w) @ (targets - Z @ w) - lam * w @ w) / radius**2
    scale = abs(np.linalg.eigvalsh(K - K.mean(0) - K.mean(0)[:, None] + K.mean())).sum()
    ridge = KernelRidgeClassifier(lam / (1 + mu) / scale, kernel="precomputed").fit(K, y)
    assert_allclose((1 + mu) * (z @ w), ridge.decision_function(rows) / 2, atol=1e-4)
    assert abs(mu) > 0.05, "the constraint must act"


@pytest.mark.parametrize("m", [6, 20])
def test_landmarks_are_nystroem_with_eigenvalue_correction(rng, m):
    """Gisbrecht and Schleif: K̂ = K_nm K_mm⁻¹ K_mn; its spectrum from m × m numbers, then corrected.

    LandmarkMap gives K̂ = ΦJΦᵀ, and the nonzero spectrum of K̂ is that of JΦᵀΦ. Flipping the
    landmarks' spectrum, ΦΦᵀ, is the flipped K̂ for m = n; below it is another positive kernel.
    """
    K, _ = indefinite(rng)
    rows = np.arange(20)
    model = LandmarkMap(rows[:m], kernel=PrecomputedKernel(K), rtol=1e-13)
    Phi = model.fit(rows).transform(rows)
    J = np.diag(model.signs_)
    approximate = naive.nystroem(K[:, :m], K[:m, :m], K[:, :m])
    assert_allclose(Phi @ J @ Phi.T, approximate, atol=1e-8)
    values, U = np.linalg.eigh(approximate)
    from_moments = np.linalg.eigvals(J @ Phi.T @ Phi).real
    leading = np.sort(values[np.argsort(-abs(values))[:m]])
    assert_allclose(np.sort(from_moments), leading, atol=1e-7)
    flipped = U * abs(values) @ U.T
    assert np.allclose(Phi @ Phi.T, flipped, atol=1e-7) == (m == 20)
