"""Elastic measures of time series against naive recurrences, known values and their properties."""

import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import naive
from mahalearn import KernelKNeighborsClassifier, MeasureKernel
from mahalearn.measures import (
    MEASURES,
    Elastic,
    _recurrences,
    elastic_measures,
    make_measure,
    pairwise,
)
from mahalearn.measures.elastic import METHODS

rng = np.random.default_rng(5)
ONE = [rng.normal(size=n).cumsum() for n in (7, 12, 1, 9, 2, 12)]
MANY = [rng.normal(size=(3, n)).cumsum(axis=1) for n in (6, 11, 1, 8, 3)]
ELASTIC = [m for m in METHODS if m != "euclidean"]
NAIVE = {
    "dtw": (naive.dtw, {}),
    "frechet": (naive.frechet, {}),
    "msm": (naive.msm, {"cost": 0.3}),
    "erp": (naive.erp, {"gap": 0.4}),
    "twe": (naive.twe, {"stiffness": 0.02, "cost": 0.3}),
    "lcss": (naive.lcss, {"epsilon": 0.8}),
    "edr": (naive.edr, {"epsilon": 0.8}),
}


def as_channels(x):
    return np.atleast_2d(x).tolist()


def radius_of(window, a, b):
    return None if window is None else int(window * max(len(a[0]), len(b[0])) + 1e-9)


@pytest.fixture(params=["numba", "python"])
def library(request, monkeypatch):
    """With the compiled loops, and with the same loops in Python."""
    if request.param == "python":
        monkeypatch.setitem(sys.modules, "numba", None)
        name = "mahalearn.measures._recurrences"
        spec = importlib.util.find_spec(name)
        plain = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plain)
        assert not plain.COMPILED and _recurrences.COMPILED
        monkeypatch.setitem(sys.modules, name, plain)
        monkeypatch.setattr("mahalearn.measures._recurrences", plain)


@pytest.mark.parametrize("window", [None, 0, 0.1, 0.3, 0.5, 1])
@pytest.mark.parametrize("objects", [ONE, MANY], ids=["one channel", "three channels"])
@pytest.mark.parametrize("method", ELASTIC)
def test_recurrences_equal_the_naive_ones(method, objects, window, library):
    function, options = NAIVE[method]

    def expected(a, b):
        a, b = as_channels(a), as_channels(b)
        return function(a, b, radius_of(window, a, b), **options)

    measure = Elastic(method, window=window, **options)
    D = naive.all_pairs(objects, objects, expected)
    assert_allclose(measure.between(objects, objects), D, rtol=1e-12, atol=1e-12)
    assert_allclose(measure.between(objects), D, rtol=1e-12, atol=1e-12)
    assert_allclose(measure.between(objects[:2], objects[1:]), D[:2, 1:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["lcss", "edr"])
@pytest.mark.parametrize("objects", [ONE, MANY], ids=["one channel", "three channels"])
def test_the_tolerance_follows_the_spread(method, objects):
    function = NAIVE[method][0]
    D = naive.all_pairs(objects, objects, lambda a, b: function(as_channels(a), as_channels(b)))
    assert_allclose(Elastic(method).between(objects), D)
    scaled = [1e6 * x for x in objects]
    assert_allclose(Elastic(method).between(scaled), D)


def test_python_and_compiled_loops_agree_to_the_bit(monkeypatch):
    measures = [Elastic(method, window=w) for method in ELASTIC for w in (None, 0.2)]
    compiled = [[m.between(x) for x in (ONE, MANY)] for m in measures]
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.find_spec("mahalearn.measures._recurrences")
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    monkeypatch.setattr("mahalearn.measures._recurrences", plain)
    for measure, values in zip(measures, compiled, strict=True):
        for objects, expected in zip((ONE, MANY), values, strict=True):
            assert_array_equal(measure.between(objects), expected)


def test_without_numba_much_work_is_announced(monkeypatch):
    monkeypatch.setattr(_recurrences, "COMPILED", False)
    monkeypatch.setattr("mahalearn.measures._series._SLOW", 1e3)
    with pytest.warns(UserWarning, match=r"slow; install .*mahalearn\[measures\]"):
        Elastic().between(ONE)


KNOWN = [
    # Published or worked out by hand; a and b of the first row are those of the class's example.
    ("dtw", {}, [0, 0, 1, 2, 1, 0], [0, 1, 2, 1, 0, 0], 0),
    ("dtw", {}, [1, 2, 3], [2, 2, 2, 3, 4], np.sqrt(2)),
    ("dtw", {"window": 0}, [1, 5, 3], [1, 2, 3], 3),
    ("msm", {"cost": 0.1}, [1, 2, 3], [1, 2, 2, 3], 0.1),
    ("msm", {"cost": 0.1}, [0, 0, 5], [0, 0, 7], 2),
    ("erp", {}, [1, 2, 3], [1, 2, 3, 4], 4),
    ("erp", {"gap": 4.0}, [1, 2, 3], [1, 2, 3, 4], 0),
    ("twe", {"stiffness": 0.0, "cost": 1.0}, [1, 2, 3], [1, 2, 3, 3], 1),
    ("lcss", {"epsilon": 0.0}, [1, 2, 3, 4], [2, 9, 3, 4, 4], 0.25),
    ("edr", {"epsilon": 0.5}, [1, 2, 3], [1.4, 2.2, 9, 3], 1),
    ("frechet", {}, [0, 1, 2], [0.5, 1, 2], 0.5),
    ("euclidean", {}, [[0, 3], [0, 0]], [[0, 0], [4, 0]], 5),
]


@pytest.mark.parametrize("method, options, a, b, expected", KNOWN)
def test_known_values(method, options, a, b, expected, library):
    assert_allclose(Elastic(method, **options)(a, b), expected, atol=1e-15)
    assert_allclose(Elastic(method, **options)(b, a), expected, atol=1e-15)


def test_dtw_equals_dtaidistance():
    rival = pytest.importorskip("dtaidistance").dtw
    for window, points in ((0.1, 2), (0.5, 7), (None, None)):
        for a, b in ((ONE[0], ONE[1]), (ONE[3], ONE[5]), (ONE[1], ONE[2])):
            if window is not None:
                points = int(window * max(len(a), len(b)) + 1e-9) + 1
            expected = rival.distance(a, b, window=points)
            assert_allclose(Elastic("dtw", window=window)(a, b), expected, rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_symmetry_identity_and_order(method):
    X = rng.normal(size=(9, 2, 15)).cumsum(axis=2)
    measure = Elastic(method)
    D = measure.between(X, X.copy())
    assert_array_equal(D, D.T)
    assert_array_equal(D.diagonal(), 0)
    assert (D >= 0).all() and D.any()
    order = rng.permutation(9)
    assert_array_equal(measure.between(X[order]), D[np.ix_(order, order)])
    assert_array_equal(measure.between(X[:, ::-1]).round(10), D.round(10))  # order of channels


@pytest.mark.parametrize("method", ["dtw", "msm", "erp", "lcss", "edr", "frechet"])
def test_time_can_run_backwards(method):
    reverse = [x[..., ::-1] for x in MANY]
    assert_allclose(Elastic(method).between(reverse), Elastic(method).between(MANY))


@pytest.mark.parametrize("method", ["msm", "erp", "twe", "frechet"])
def test_metrics_obey_the_triangle_inequality(method):
    D = Elastic(method).between([rng.normal(size=n) for n in rng.integers(2, 9, 14)])
    assert (D[:, None, :] <= D[:, :, None] + D[None] + 1e-10).all()


def test_limits_that_tie_the_measures_together():
    X = rng.normal(size=(8, 2, 20))
    euclidean = Elastic("euclidean").between(X)
    assert_allclose(euclidean, np.sqrt(((X[:, None] - X) ** 2).sum(axis=(2, 3))))
    assert_allclose(Elastic("dtw", window=0).between(X), euclidean)
    assert_allclose(Elastic("msm", cost=1e9).between(X), np.abs(X[:, None] - X).sum(axis=(2, 3)))
    widths = [Elastic("dtw", window=w).between(X) for w in (0, 0.05, 0.1, 0.5, 1, None)]
    assert all((a >= b).all() for a, b in itertools.pairwise(widths))
    assert_array_equal(widths[-1], widths[-2])


def test_scaling_and_shifting():
    moved = [3 * x + 7 for x in ONE]
    for method in ("dtw", "frechet"):
        assert_allclose(Elastic(method).between(moved), 3 * Elastic(method).between(ONE))
    for method in METHODS[1:]:
        measure = Elastic(method, normalize=True)
        assert_allclose(measure.between(moved), measure.between(ONE), atol=1e-9)


def test_z_normalisation():
    X = rng.normal(3, 5, size=(6, 2, 11))
    X[2, 1] = 0.1 * 3  # constant but for rounding
    Z = X - X.mean(axis=2, keepdims=True)
    Z[2, 1] = 0
    Z /= np.where(Z.std(axis=2, keepdims=True) > 0, Z.std(axis=2, keepdims=True), 1)
    for method in METHODS:
        expected = Elastic(method).between(Z)
        assert_allclose(Elastic(method, normalize=True).between(X), expected, atol=1e-12)


def test_padding_is_removed():
    padded = np.full((len(MANY), 3, 14), np.nan)
    for i, x in enumerate(MANY):
        padded[i, :, : x.shape[1]] = x
    for method in ELASTIC:
        assert_array_equal(Elastic(method).between(padded), Elastic(method).between(MANY))
    masked = np.ma.masked_array(np.nan_to_num(padded, nan=7.0), np.isnan(padded))
    assert_array_equal(Elastic().between(masked), Elastic().between(MANY))


def test_collections_of_every_shape():
    X = rng.normal(size=(6, 10))
    expected = Elastic("msm").between(X)
    for same in (X[:, None], list(X), X.tolist(), [x[None] for x in X], np.asfortranarray(X)):
        assert_array_equal(Elastic("msm").between(same), expected)
    single = X.astype(np.float32)
    assert_array_equal(Elastic("msm").between(single), Elastic("msm").between(single.astype(float)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_and_threads_change_nothing(n_jobs, monkeypatch):
    X = rng.normal(size=(23, 12))
    for method in METHODS:
        expected = Elastic(method).between(X)
        monkeypatch.setattr(Elastic, "block_size", 5)
        assert_array_equal(pairwise(X, Elastic(method), n_jobs=n_jobs), expected)
        monkeypatch.undo()


def test_names_stand_for_the_measures():
    for method in METHODS:
        objects = np.array(ONE[1:2] + ONE[5:]) if method == "euclidean" else ONE
        assert_array_equal(pairwise(objects, method), Elastic(method).between(objects))
        assert MEASURES[method]().get_params() == Elastic(method).get_params()
        assert clone(Elastic(method, 0.1)).window == 0.1


def test_series_of_three_axes_go_into_a_classifier():
    phase = rng.uniform(0, 2, 40)
    t = np.linspace(0, 6, 30)
    y = np.arange(40) % 2
    X = np.sin(t * (1 + y[:, None]) + phase[:, None]) + 0.1 * rng.normal(size=(40, 30))
    X = np.stack([X, -X], axis=1)
    kernel = MeasureKernel(Elastic("dtw", window=0.2))
    model = KernelKNeighborsClassifier(n_neighbors=1, kernel=kernel).fit(X[:20], y[:20])
    D = Elastic("dtw", window=0.2).between(X[20:], X[:20])
    assert_array_equal(model.predict(X[20:]), y[:20][D.argmin(axis=1)])


BAD = [
    ({}, ["abc"], "Object 0 must be a series of numbers.*str 'abc'"),
    ({}, [[1.0], ["x"]], "Object 1 must be a series of numbers.*list"),
    ({}, [[1.0], []], "Object 1 is empty"),
    ({}, [[1.0], [np.nan, np.nan]], "Object 1 is empty"),
    ({}, [[1.0, np.nan, 2.0]], "Object 0 contains NaN or infinite values before its end"),
    ({}, [[1.0, np.inf]], "Object 0 contains NaN or infinite"),
    ({}, [np.zeros((2, 3, 4))], r"Object 0 must be a series.*shape \(2, 3, 4\)"),
    ({}, [np.zeros((0, 4))], r"Object 0 must be a series.*shape \(0, 4\)"),
    ({}, [1.0, 2.0], r"Object 0 must be a series.*shape \(\)"),
    ({}, [[1 + 2j]], "Object 0 must be a series of numbers"),
    ({}, [np.array(["2020-01-01"], "M8[D]")], "Object 0 must be a series of numbers"),
    ({}, [np.ma.masked_array([1.0, 2, 3], [0, 1, 0])], "Object 0 contains NaN .* before its end"),
    (
        {},
        [np.zeros((2, 5)), np.zeros((3, 5))],
        "Object 1 has 3 channels, object 0 has 2",
    ),
    ({"method": "euclidean"}, [[1, 2], [1, 2, 3]], "Object 1 has length 3, object 0 has 2.*'dtw'"),
    ({"method": "euclidean", "window": 0.1}, [[1, 2]], "Euclidean distance has no window"),
    ({"method": "ddtw"}, [[1.0]], "method='ddtw' is not known"),
    ({"window": 10}, [[1.0]], "window is the fraction.*got 10.*divide it by the length"),
    ({"window": -0.1}, [[1.0]], "window is the fraction"),
    ({"window": "5%"}, [[1.0]], "window is the fraction"),
    ({"method": "msm", "cost": -1}, [[1.0]], "cost must be a finite number that is not negative"),
    ({"method": "twe", "stiffness": None}, [[1.0]], "stiffness must be a finite number"),
    ({"method": "erp", "gap": "x"}, [[1.0]], "gap must be a finite number"),
    ({"method": "edr", "epsilon": -1}, [[1.0]], "epsilon, unless it is None, must be"),
    ({}, [[1e200, 1.0], [-1e200, 2.0]], "the largest value is 1e.200, whose square overflows"),
    ({}, [], "no objects"),
    ({}, np.zeros((4, 9, 1)), r"9 channels of a single value.*tslearn.*X.transpose\(0, 2, 1\)"),
    ({}, [np.zeros((5, 1)), np.full((7, 1), np.nan)], "channels of a single value"),
]


@pytest.mark.parametrize("options, objects, message", BAD)
def test_bad_input_gets_a_sentence(options, objects, message):
    with pytest.raises(ValueError, match=message):
        Elastic(**options).between(objects)


def test_errors_name_the_side():
    with pytest.raises(ValueError, match="Object 1 of the columns has 2 channels"):
        Elastic().between([[1.0]], [[1.0], [[1.0], [2.0]]])


def test_the_measures_of_a_search():
    equal = rng.normal(size=(3, 2, 8))
    assert list(elastic_measures(equal)) == ["euclidean", "dtw 5 %", "dtw 10 %", "dtw", "msm"]
    assert list(elastic_measures()) == list(elastic_measures(equal))
    assert list(elastic_measures(MANY)) == ["dtw 5 %", "dtw 10 %", "dtw", "msm"]
    measures = elastic_measures(normalize=True)
    assert [m.window for m in measures.values()] == [None, 0.05, 0.1, None, None]
    assert all(m.normalize for m in measures.values())


def test_measures_by_name_and_options():
    assert make_measure("twe", cost=2.0, window=None).get_params()["cost"] == 2.0
    with pytest.raises(ValueError, match="take cost=3; its options are window, normalize"):
        make_measure("dtw", cost=3)
    with pytest.raises(ValueError, match="'modified_hausdorff' does not take modified=False"):
        make_measure("modified_hausdorff", modified=False)
    with pytest.raises(ValueError, match="measure='guess' is not known"):
        make_measure("guess")


@pytest.mark.skipif(not _recurrences.COMPILED, reason="needs numba")
def test_a_second_process_compiles_another_measure(tmp_path):
    """Loops that a first process has cached serve the measures of the next one."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for name in ("dtw", "frechet"):
        code = f"from mahalearn.measures import pairwise; pairwise([[0.0, 1.0], [2.0]], '{name}')"
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
