"""The kernel protocol."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics.pairwise import cosine_similarity, pairwise_kernels
from sklearn.model_selection import GridSearchCV

from mahalearn import KernelQuadraticDiscriminant, MeasureKernel, PrecomputedKernel
from mahalearn._memory import row_chunks
from mahalearn._sparse import as_rows
from mahalearn.formulas.linalg import eigh, is_psd
from mahalearn.kernels.measure import proximity_to_kernel
from mahalearn.kernels.protocol import (
    FEW_ROWS,
    KERNEL_NAMES,
    STANDARDIZED,
    NamedKernel,
    fit_kernel,
    kernel_diagonal,
    kernel_matrix,
    sq_euclidean,
)
from mahalearn.measures import FunctionMeasure


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_diagonals_of_named_kernels(name, rng):
    X = np.abs(rng.normal(size=(9, 3)))
    X[0] = 0
    kernel = fit_kernel(name, X, gamma=0.7, degree=2, coef0=0.5)
    assert_allclose(kernel_diagonal(kernel, X), np.diagonal(kernel(X, X)), atol=1e-12)


@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_what_is_called_definite_is_definite(name, rng):
    X = np.abs(rng.normal(size=(40, 3)))
    kernel = fit_kernel(name, X)
    if kernel.positive_definite:
        assert is_psd(kernel(X, X))
    assert not NamedKernel("poly", 1.0, 2, -1).positive_definite
    assert not NamedKernel("poly", 1.0, 1.5, 1).positive_definite


def test_gamma():
    X = np.array([[0.0, 2.0], [4.0, 2.0]])
    assert fit_kernel("rbf", X, gamma="scale").gamma == 1 / (2 * X.var())
    assert fit_kernel("rbf", X, gamma="auto").gamma == 0.5
    assert fit_kernel("rbf", np.ones((3, 2))).gamma == 1.0


@pytest.mark.parametrize("name", STANDARDIZED)
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_variance_that_vanishes_is_refused_not_replaced(name, form, rng):
    X = as_rows(form(rng.normal(size=(9, 3)) * 1e-160))
    with pytest.raises(ValueError, match="too small to compute with"):
        fit_kernel(name, X)


@pytest.mark.parametrize("scale", [1e-200, 1e-17, 1e200])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_the_cosine_kernel_has_no_unit(form, scale, rng):
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    kernel = fit_kernel("cosine", X)
    rows, columns = as_rows(form(X * scale)), as_rows(form(Y * scale))
    assert_allclose(kernel(rows, columns), cosine_similarity(X, Y), rtol=1e-12)
    assert_array_equal(kernel_diagonal(kernel, rows), np.ones(9))


class Centred(BaseEstimator):
    """A kernel that must be fitted: the linear kernel about the training mean."""

    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def __call__(self, X, Y):
        return ((X - self.mean_) @ (Y - self.mean_).T) ** self.power


def test_kernels_are_fitted_on_a_clone_in_each_fit(rng):
    X, y = rng.normal(size=(30, 2)) + 5, np.arange(30) % 2
    kernel = Centred()
    model = KernelQuadraticDiscriminant(kernel=kernel).fit(X, y)
    assert not hasattr(kernel, "mean_")
    assert_allclose(model.kernel_.mean_, X.mean(axis=0))
    linear = KernelQuadraticDiscriminant(kernel="linear").fit(X, y)
    assert_allclose(model.mahalanobis(X), linear.mahalanobis(X), rtol=1e-7)
    search = GridSearchCV(model, {"kernel__power": [1, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.kernel_.power in (1, 3)


def test_gaussian_process_kernels_can_be_searched(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = KernelQuadraticDiscriminant(kernel=ConstantKernel(2.0) * RBF(1.0))
    GridSearchCV(model, {"kernel__k2__length_scale": [0.5, 2.0]}, cv=2).fit(X, y)


def test_unfitted_plain_objects_with_fit_are_copied(rng):
    class Plain:
        def fit(self, X, y=None):
            self.seen = len(X)
            return self

        def __call__(self, X, Y):
            return X @ Y.T

    kernel, X = Plain(), rng.normal(size=(5, 2))
    fitted = fit_kernel(kernel, X)
    assert fitted.as_fitted.seen == 5
    assert not hasattr(kernel, "seen")


def test_a_kernel_may_return_its_own_matrix(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    K = np.exp(-np.abs(X[:, :1] - X[:, 0]))
    before = K.copy()

    def cached(A, B):
        return K if len(A) == len(B) == 20 else K[: len(A), : len(B)]

    KernelQuadraticDiscriminant("FK+", kernel=cached).fit(X, y)
    PrecomputedKernel(K).fit(None)
    KernelQuadraticDiscriminant("FK+", kernel="precomputed").fit(K, y)
    assert_allclose(K, before, atol=0)


def test_measure_kernel_kinds(rng):
    x = rng.normal(size=6)
    d = np.abs(np.subtract.outer(x, x))
    expected = {"similarity": d, "neg": -d, "neg_squared": -(d**2), "rbf": np.exp(-0.5 * d**2)}
    expected["laplacian"] = np.exp(-0.5 * d)
    calls = []

    def measure(a, b):
        calls.append((a, b))
        return abs(a - b)

    for kind, K in expected.items():
        kernel = MeasureKernel(
            FunctionMeasure(measure, symmetric=True), kind=kind, gamma=0.5, scale=None
        )
        calls.clear()
        objects = list(x)
        assert_allclose(kernel(objects, objects), K)
        assert len(calls) == 21 + 5  # half the work, and some pairs checked
        assert_allclose(kernel(objects, objects[:3]), K[:, :3])
        assert_allclose(kernel.diag(objects), np.diagonal(K))
    with pytest.raises(ValueError, match="choose from 'similarity'"):
        proximity_to_kernel(d, "distance")


def test_fallback_diagonal(rng):
    X = rng.normal(size=(40, 3))
    kernel = fit_kernel(lambda A, B: A @ B.T, X)
    assert_allclose(kernel_diagonal(kernel, X), (X**2).sum(axis=1))
    assert kernel_matrix(kernel, X, X[:2]).shape == (40, 2)


def test_clones_share_the_matrix(rng):
    import copy

    K = PrecomputedKernel(np.eye(3))
    for other in (clone(K), copy.copy(K), copy.deepcopy(K)):
        assert other is not K
        assert other.K is K.K
    assert "(3, 3)" in repr(K)


@pytest.mark.parametrize("shift", [-1e-8, 0.0, 1e-8])
def test_is_psd_sees_what_the_eigenvalues_see(shift, rng):
    Q = np.linalg.qr(rng.normal(size=(50, 50)))[0]
    values = np.concatenate([[shift], np.linspace(0, 3, 49)])
    A = Q * values @ Q.T
    A = (A + A.T) / 2
    assert is_psd(A) == (eigh(A).values >= 0).all() == (shift >= 0)
    assert is_psd(np.zeros((3, 3)))


@pytest.mark.parametrize(
    "matrix", [None, "K.npy", np.full((3, 3), "a"), np.eye(3, dtype=complex)], ids=repr
)
def test_precomputed_kernel_wants_real_numbers(matrix):
    with pytest.raises(ValueError, match="must hold real numbers"):
        KernelQuadraticDiscriminant(kernel=PrecomputedKernel(matrix)).fit([0, 1, 2], [0, 1, 1])


@pytest.mark.parametrize(
    "rows", [[0, 1, np.nan], [0, 1, 1.5], [True, False, True], ["0", "1", "2"]]
)
def test_precomputed_kernel_wants_row_numbers(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="row numbers into its matrix"):
            KernelQuadraticDiscriminant(kernel=PrecomputedKernel(np.eye(3))).fit(rows, [0, 1, 1])


def test_objects_need_labels():
    with pytest.raises(ValueError, match="requires y"):
        KernelQuadraticDiscriminant(kernel="edit").fit(["a", "b"], None)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100, 1001])
@pytest.mark.parametrize("row, most", [(1, 10), (3, 100), (50, 100), (10**9, 100), (1, 10**9)])
def test_chunks_cover_all_rows_and_the_first_is_the_largest(n, row, most):
    chunks = row_chunks(n, row, most)
    assert [i for chunk in chunks for i in range(chunk.start, chunk.stop)] == list(range(n))
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert all(sizes[0] - 1 <= size <= sizes[0] for size in sizes)
    assert not sizes or sizes[0] == 1 or sizes[0] * row <= most


def test_kernels_of_queries_do_not_depend_on_memory_or_order(rng):
    X, Y = rng.normal(size=(9, 4)), rng.normal(size=(6, 4))
    for name in ("rbf", "laplacian", "linear", "poly", "sigmoid"):
        kernel = NamedKernel(name, gamma=0.3)
        expected = pairwise_kernels(X, Y, metric=name, filter_params=True, gamma=0.3)
        assert kernel(X, Y).flags.f_contiguous  # the values of a class stand together
        assert_allclose(kernel(X, Y), expected, rtol=1e-12)
        pairs = kernel.pair_values(X, Y, np.full((6, 9), np.nan).T)
        kept = pairs.copy()
        assert_allclose(kernel.fill(np.full((6, 9), np.nan).T, pairs), expected, rtol=1e-12)
        assert_allclose(kernel.from_pairs(pairs), expected, rtol=1e-12)
        assert_array_equal(pairs, kept)
        assert kernel(X, X).flags.c_contiguous


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_distances_of_few_rows_are_those_of_many(offset, rng):
    X, Y = rng.normal(size=(2 * FEW_ROWS, 5)) + offset, rng.normal(size=(40, 5)) + offset
    naive = [[((x - y) ** 2).sum() for y in Y] for x in X]
    memory = np.full((FEW_ROWS, 40), np.nan, order="F")
    few = sq_euclidean(X[:FEW_ROWS], Y, out=memory)
    assert_allclose(sq_euclidean(X, Y), naive, rtol=1e-9)
    assert_allclose(few, naive[:FEW_ROWS], rtol=1e-9)
    assert few.flags.f_contiguous and np.shares_memory(few, memory)
