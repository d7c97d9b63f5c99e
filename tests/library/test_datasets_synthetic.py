"""The generators: seeds, sizes, and the truth each is known to have."""

import numpy as np
import pytest
from benchmarks.calibrate_toys import A_KNN, C_KNN, a_row, c_row
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from mahalearn import datasets
from mahalearn.formulas.linalg import eigh, negative_fraction, signature

GENERATORS = [
    datasets.bent_normals,
    datasets.checkerboard,
    datasets.polygons,
    datasets.ringnorm,
    datasets.two_mixtures,
    datasets.twonorm,
    datasets.waveform,
    datasets.xor,
]
# C, table 5: s -> r_neg, p, q, on the raw K of 50 + 50 points.
CHECKERBOARD = {
    0.05: (0.160, 56, 44),
    0.1: (0.180, 54, 46),
    0.5: (0.211, 52, 48),
    1: (0.218, 52, 48),
    5: (0.214, 51, 49),
    10: (0.207, 51, 49),
    50: (0.128, 49, 51),
}


@pytest.mark.parametrize("generate", GENERATORS, ids=lambda g: g.__name__)
def test_a_seed_fixes_the_draw(generate):
    X, y = generate(30, random_state=1)
    again, y_again = generate(30, random_state=1)
    other, _ = generate(30, random_state=2)
    assert len(X) == len(y) == 30
    assert all(np.array_equal(a, b) for a, b in zip(X, again))
    assert not any(np.array_equal(a, b) for a, b in zip(X, other))
    assert_array_equal(y, y_again)
    assert y.dtype.kind == "i"


@pytest.mark.parametrize("generate", GENERATORS, ids=lambda g: g.__name__)
def test_class_sizes_are_as_asked(generate):
    assert_array_equal(np.bincount(generate((7, 4), random_state=0)[1]), [7, 4])
    for wrong in (0, 1, 2.5, (3, 0), (1, 2, 3, 4), "ten", True):
        with pytest.raises(ValueError, match="n_samples must be a whole number"):
            generate(wrong, random_state=0)


def test_an_odd_total_is_shared_out():
    assert_array_equal(np.bincount(datasets.xor(7, random_state=0)[1]), [4, 3])
    y = datasets.waveform(100, n_classes=3, random_state=0)[1]
    assert_array_equal(np.bincount(y), [34, 33, 33])


def test_checkerboard_fills_the_board():
    X, y = datasets.checkerboard((4000, 4000), random_state=0)
    cells, counts = np.unique(np.floor(X), axis=0, return_counts=True)
    assert_array_equal(np.unique(cells), [-2, -1, 0, 1])
    assert len(cells) == 16
    assert (abs(counts - 500) < 5 * np.sqrt(500)).all()
    assert_array_equal(y, np.floor(X).sum(axis=1) % 2)  # the colour of the field
    assert_array_equal(y, np.floor(-X).sum(axis=1) % 2)  # unchanged by point reflection


def test_checkerboard_kernel_is_its_definition():
    rng = np.random.RandomState(0)
    X, Y = rng.uniform(-2, 2, (6, 2)), rng.uniform(-2, 2, (5, 2))

    def k(a, b, s):
        d = sum((a[i] - b[i]) ** 2 for i in range(2))
        return np.exp(-(d**4) / s**2)

    for s in (0.1, 3.0):
        plain = [[k(a, b, s) for b in Y] for a in X]
        invariant = [[max(k(a, b, s), k(a, -b, s)) for b in Y] for a in X]
        assert_allclose(datasets.checkerboard_kernel(X, Y, s, invariant=False), plain)
        assert_allclose(datasets.checkerboard_kernel(X, Y, s), invariant)
        assert_allclose(datasets.checkerboard_kernel(-X, Y, s), invariant)
    K = datasets.checkerboard_kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1)


@pytest.mark.parametrize("s", CHECKERBOARD)
def test_checkerboard_spectrum_is_the_published_one(s):
    found = []
    for seed in range(10):
        X, _ = datasets.checkerboard((50, 50), random_state=seed)
        values = eigh(datasets.checkerboard_kernel(X, X, s), vectors=False).values
        found.append((negative_fraction(values), *signature(values)))
    r_neg, p, q = np.mean(found, axis=0)
    assert abs(r_neg - CHECKERBOARD[s][0]) <= 0.01
    assert abs(p - CHECKERBOARD[s][1]) <= 2
    assert abs(q - CHECKERBOARD[s][2]) <= 2


def test_checkerboard_kernel_refuses_bad_input():
    X, _ = datasets.checkerboard(10, random_state=0)
    with pytest.raises(ValueError, match="s must be a positive number; got 0"):
        datasets.checkerboard_kernel(X, s=0)
    with pytest.raises(ValueError, match="X has 2 columns and Y has 1"):
        datasets.checkerboard_kernel(X, X[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        datasets.checkerboard_kernel(np.full((3, 2), np.nan))


def test_xor_reaches_its_bayes_error():
    X, y = datasets.xor(20000, noise=0.5, random_state=0)
    p = norm.cdf(-2)
    error = ((X[:, 0] * X[:, 1] < 0) != y).mean()
    assert abs(error - 2 * p * (1 - p)) < 5 * np.sqrt(0.044 / 20000)


def test_two_mixtures_are_xor_stretched():
    X, _ = datasets.two_mixtures(500, separation=2.0, elongation=3.0, random_state=5)
    unit, _ = datasets.xor(500, noise=0.5, random_state=5)
    assert_allclose(X, unit * 2.0 * [1, 3.0])
    assert abs(X.mean(axis=0)).max() < 1  # both classes about the same point


def test_bent_normals_unbend():
    """Unbent, unrotated and unscaled by the docstring's numbers, both classes are N(0, I)."""
    X, y = datasets.bent_normals((20000, 20000), bend=0.7, vertex=-0.2, random_state=0)
    u = np.column_stack([X[:, 0], X[:, 1] - 0.7 * (X[:, 0] + 0.2) ** 2])
    narrow = (u[y == 0] - [0.631, -0.331]) / [0.696, 0.15]
    wide = u[y == 1] - [-0.631, 0.331]
    first, second = (
        np.array([np.cos(1.154), np.sin(1.154)]),
        np.array([-np.sin(1.154), np.cos(1.154)]),
    )
    wide = np.column_stack([wide @ first / 1.405, wide @ second / 1.021])
    for z in (narrow, wide):
        assert_allclose(z.mean(axis=0), 0, atol=0.03)
        assert_allclose(np.cov(z.T), np.eye(2), atol=0.04)
        assert abs((z**4).mean() - 3) < 0.15  # normal, not only of unit variance


def test_polygons_are_normalised_and_convex_or_not():
    X, y = datasets.polygons(400, random_state=0)
    for vertices, label in zip(X, y):
        assert vertices.shape == ((4, 7)[label], 2)
        assert_allclose(vertices.mean(axis=0), 0, atol=1e-12)
        assert_allclose((vertices**2).sum(axis=1).mean(), 1)

    def turns(vertices):
        a, b = (np.roll(vertices, -i, axis=0) - vertices for i in (1, 2))
        return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]

    assert all((turns(v) > 0).all() for v, label in zip(X, y) if label == 0)
    assert any((turns(v) < 0).any() for v, label in zip(X, y) if label == 1)


def test_ringnorm_and_twonorm_have_their_moments():
    n = 20000
    error = 5 / np.sqrt(n)  # five standard errors of a mean at unit variance
    a = 2 / np.sqrt(20)
    X, y = datasets.ringnorm((n, n), random_state=0)
    assert_allclose(X[y == 0].mean(axis=0), a, atol=error)
    assert_allclose(X[y == 1].mean(axis=0), 0, atol=2 * error)
    assert_allclose(X[y == 0].std(axis=0), 1, atol=error)
    assert_allclose(X[y == 1].std(axis=0), 2, atol=2 * error)
    X, y = datasets.twonorm((n, n), random_state=0)
    assert_allclose(X[y == 1].mean(axis=0), a, atol=error)
    assert_allclose(X[y == 0].mean(axis=0), -a, atol=error)
    bayes = norm.cdf(-2)
    assert abs(((X.sum(axis=1) > 0) != y).mean() - bayes) < 5 * np.sqrt(bayes / (2 * n))


def test_waveform_has_its_means():
    i = np.arange(1, 22)
    early, late, middle = (np.maximum(6 - abs(i - peak), 0) for peak in (7, 15, 11))
    X, y = datasets.waveform((9000,) * 3, n_classes=3, random_state=0)
    for label, (a, b) in enumerate([(early, late), (early, middle), (late, middle)]):
        assert_allclose(X[y == label].mean(axis=0), (a + b) / 2, atol=0.09)
    X, y = datasets.waveform((9000, 9000), random_state=0)
    assert_allclose(X[y == 1].mean(axis=0), (early + middle) / 2, atol=0.09)
    assert_allclose(X[y == 0].mean(axis=0), (early + 2 * late + middle) / 4, atol=0.09)
    with pytest.raises(ValueError, match="n_classes must be 2"):
        datasets.waveform(n_classes=4)


@pytest.mark.parametrize("name", ["ringnorm", "twonorm", "waveform"])
def test_generators_agree_with_the_ida_files(name, data_folder):
    """Class means and deviations of IDA's file, up to its standardisation."""
    real = datasets.load(f"ida-{name}", folder=data_folder)
    X, y = getattr(datasets, name)(tuple(np.bincount(real.target)), random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for label in (0, 1):
        ours, theirs = X[y == label], real.data[real.target == label]
        assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.12)
        assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.08)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="separation must be a positive number; got -1"):
        datasets.two_mixtures(separation=-1)
    with pytest.raises(ValueError, match="noise must be a positive number; got 'a'"):
        datasets.xor(noise="a")
    with pytest.raises(ValueError, match="bend must be a finite number; got nan"):
        datasets.bent_normals(bend=float("nan"))
    with pytest.raises(AttributeError, match="no attribute 'spirals'"):
        datasets.spirals  # noqa: B018
    assert "load" in dir(datasets)


@pytest.mark.parametrize(
    ("row", "published"), [(a_row, A_KNN), (c_row, C_KNN)], ids=["two_mixtures", "bent_normals"]
)
def test_the_frozen_toys_have_the_published_knn_errors(row, published):
    """The defaults are those that the calibration found, within the noise of both sides."""
    draws = 20
    for cell, (mean, _) in row(draws).items():
        error, deviation = published[cell]
        assert abs(mean - error) <= 3 * deviation * np.sqrt(1 / 10 + 1 / draws), cell
