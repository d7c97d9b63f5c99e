"""Measures against naive loops, known values, and what a measure promises."""

import bz2
import importlib.util
import itertools
import lzma
import math
import sys
import traceback
import zlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import directed_hausdorff
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import naive
from mahalearn.measures import (
    MEASURES,
    Compression,
    Correlation,
    EditDistance,
    FunctionMeasure,
    Gower,
    Hausdorff,
    edit,
    pairwise,
)

rng = np.random.default_rng(0)
POINTS = [rng.normal(size=(n, 2)) for n in rng.integers(1, 9, 23)]
WORDS = ["".join(rng.choice(list("abcd"), n)) for n in rng.integers(1, 12, 21)]
NUMBERS = [rng.uniform(-10, 10, n) for n in rng.integers(1, 9, 17)]
PATHS = [rng.normal(size=(n, 3)) for n in rng.integers(1, 7, 13)]
ROWS = [[1.0, "red", 7], [2.5, "blue", None], [4.0, "red", 3], [None, "green", 5], [0.5, None, 7]]
TEXTS = ["the cat sat on the mat " * 3, "the dog sat on the log " * 3, "3.1415926535897932" * 4]
COUNTS = rng.integers(0, 2, (12, 9))
PROTEINS = ["HEAGAWGHEE", "PAWHEAE", "WWGHE", "AE"]
COVARIANCES = [np.eye(2), np.diag([1.0, 3.0]), np.diag([2.0, 0.5])]
OBJECTS = {
    "hausdorff": POINTS,
    "modified_hausdorff": POINTS,
    "edit": WORDS,
    "gower": ROWS,
    "compression": TEXTS,
    "correlation": COUNTS,
    **dict.fromkeys(("dtw", "msm", "erp", "twe", "lcss", "edr", "frechet"), NUMBERS),
    "euclidean": rng.normal(size=(9, 2, 7)),
    **dict.fromkeys(("alignment", "global_alignment"), PROTEINS),
    **dict.fromkeys(("jaccard", "tanimoto"), COUNTS),
    "jensen_shannon": COUNTS + 0.5,
    "wasserstein": NUMBERS,
    **dict.fromkeys(("log_euclidean", "affine_invariant"), COVARIANCES),
}


def use_python_loops(monkeypatch):
    """As if numba were not installed."""
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.find_spec("mahalearn.measures._recurrences")
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    assert not plain.COMPILED
    monkeypatch.setitem(sys.modules, "mahalearn.measures._recurrences", plain)
    monkeypatch.setattr("mahalearn.measures._recurrences", plain, raising=False)


@pytest.fixture(params=["fast", "python"])
def library(request, monkeypatch):
    """The edit distance with rapidfuzz and numba, and without."""
    if request.param == "python":
        monkeypatch.setattr(edit, "_rapidfuzz", lambda: None)
        use_python_loops(monkeypatch)


@pytest.mark.parametrize("modified", [False, True])
def test_hausdorff_equals_loops(modified):
    measure = Hausdorff(modified)
    expected = naive.all_pairs(POINTS, POINTS, lambda a, b: naive.hausdorff(a, b, modified))
    assert_allclose(measure.between(POINTS), expected, atol=1e-14)
    assert_allclose(measure.between(POINTS[:4], POINTS[2:]), expected[:4, 2:], atol=1e-14)


def test_hausdorff_equals_scipy():
    for a, b in itertools.pairwise(POINTS):
        expected = max(directed_hausdorff(a, b)[0], directed_hausdorff(b, a)[0])
        assert_allclose(Hausdorff()(a, b), expected)


def test_hausdorff_of_sets_larger_than_a_chunk():
    sets = [rng.normal(size=(n, 3)) for n in (190, 2, 175)]
    expected = naive.all_pairs(sets, sets, lambda a, b: naive.hausdorff(a, b, True))
    assert_allclose(Hausdorff(True).between(sets), expected, atol=1e-13)


@pytest.mark.parametrize("modified", [False, True])
def test_hausdorff_ignores_position_order_and_scales(modified):
    measure = Hausdorff(modified)
    D = measure.between(POINTS)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    moved = [3 * p[::-1] @ turn + [5, -1] for p in POINTS]
    assert_allclose(measure.between(moved), 3 * D, atol=1e-12)


def test_hausdorff_is_a_metric_and_bounds_the_modified():
    D = Hausdorff().between(POINTS)
    assert (D[:, None, :] <= D[:, :, None] + D[None] + 1e-12).all()
    assert (Hausdorff(True).between(POINTS) <= D + 1e-14).all()


KNOWN = [
    ("kitten", "sitting", 3),
    ("intention", "execution", 5),
    ("saturday", "sunday", 3),
    ("flaw", "lawn", 2),
    ("rosettacode", "raisethysword", 8),
]


@pytest.mark.parametrize("a, b, expected", KNOWN)
def test_known_edit_distances(a, b, expected, library):
    assert EditDistance()(a, b) == expected
    assert EditDistance()(list(a), list(b)) == expected
    assert EditDistance()(a.encode(), b.encode()) == expected


def test_strings_of_every_kind(library):
    pd = pytest.importorskip("pandas")
    expected = EditDistance().between(WORDS)
    for words in (np.array(WORDS), np.array(WORDS, dtype=object), pd.Series(WORDS, WORDS)):
        assert_array_equal(EditDistance().between(words), expected)


def test_jurafsky_martin_edit_distance(library):
    # Their variant: a substitution is a deletion and an insertion.
    assert EditDistance(substitution=2)("intention", "execution") == 8


@pytest.mark.parametrize("costs", [(1, 1, 1), (2, 1, 3), (0.3, 0.7, 0.5), (5, 1, 1)])
def test_edit_distance_equals_loops(costs, library):
    s, i, d = costs
    measure = EditDistance(s, i, d)
    expected = naive.all_pairs(
        WORDS, WORDS, lambda a, b: naive.edit_distance(a, b, lambda x, y: s * (x != y), i, d)
    )
    assert_allclose(measure.between(WORDS), expected)
    assert_allclose(measure.between(WORDS[:3], WORDS[2:]), expected[:3, 2:])
    assert measure.symmetric == (i == d) == np.allclose(expected, expected.T)


SUBSTITUTIONS = {
    "absolute": (NUMBERS, lambda a, b: abs(a - b)),
    "angular": (NUMBERS, lambda a, b: naive.angle_between(a, b, 4.0)),
    "euclidean": (PATHS, math.dist),
}


@pytest.mark.parametrize("name", SUBSTITUTIONS)
def test_edit_distance_of_numbers_equals_loops(name, library):
    objects, cost = SUBSTITUTIONS[name]
    measure = EditDistance(name, insertion=1.5, deletion=0.7, period=4.0)
    expected = naive.all_pairs(
        objects, objects, lambda a, b: naive.edit_distance(a, b, cost, 1.5, 0.7)
    )
    assert_allclose(measure.between(objects), expected)


def test_edit_distance_with_a_function(library):
    def cost(a, b):
        return abs(ord(a) - ord(b)) * (0.5 if a < b else 0.25)

    expected = naive.all_pairs(WORDS, WORDS, lambda a, b: naive.edit_distance(a, b, cost))
    measure = EditDistance(cost)
    assert_allclose(measure.between(WORDS), expected)
    assert_allclose(measure.between(WORDS, symmetrize="mean"), (expected + expected.T) / 2)
    assert_allclose(measure.between(WORDS[:5], WORDS, "max"), np.maximum(expected, expected.T)[:5])


def test_numba_numpy_and_python_agree_to_the_bit(monkeypatch):
    points = EditDistance("euclidean", insertion=0.3, deletion=0.4)
    symbols = EditDistance(0.5, insertion=0.3, deletion=0.4)
    compiled = points.between(PATHS), symbols.between(WORDS)
    use_python_loops(monkeypatch)
    assert_array_equal(points.between(PATHS), compiled[0])
    assert_array_equal(symbols.between(WORDS), compiled[1])
    monkeypatch.setattr(edit, "_CELLS", 8)  # one row at a time
    assert_array_equal(symbols.between(WORDS), compiled[1])


def test_edit_distance_normalised(library):
    D = EditDistance().between(WORDS)
    n = np.array([len(w) for w in WORDS])
    assert_allclose(EditDistance(normalize="longer").between(WORDS), D / np.maximum.outer(n, n))
    assert_allclose(EditDistance(normalize="sum").between(WORDS), D / np.add.outer(n, n))
    assert EditDistance(normalize="longer").between(WORDS).max() <= 1


def test_symbols_are_told_apart_exactly(library):
    # hash(-1) == hash(-2), and rapidfuzz alone would take "a" and 97 for the same symbol
    assert EditDistance()([-1, 5], [-2, 5]) == 1
    assert EditDistance()([("x", 1), ("y", 2)], [("x", 1), ("y", 3)]) == 1


def test_reversal_and_renaming_change_no_edit_distance(library):
    D = EditDistance().between(WORDS)
    assert_array_equal(EditDistance().between([w[::-1] for w in WORDS]), D)
    renamed = [[{"a": 7, "b": 1, "c": 5, "d": 2}[c] for c in w] for w in WORDS]
    assert_array_equal(EditDistance().between(renamed), D)


def test_gower_equals_loops():
    measure = Gower().fit(ROWS)
    assert measure.nominal_.tolist() == [False, True, False]
    expected = naive.all_pairs(ROWS, ROWS, lambda a, b: naive.gower(a, b, [3.5, None, 4]))
    assert_allclose(measure.between(ROWS), expected)
    new = [[9.0, "pink", 7], [1.0, "red", None]]
    expected = naive.all_pairs(new, ROWS, lambda a, b: naive.gower(a, b, [3.5, None, 4]))
    assert_allclose(measure.between(new, ROWS), expected)


@pytest.mark.parametrize("kind", ["pandas", "nullable", "category", "polars", "pyarrow", "objects"])
def test_gower_takes_tables_of_every_kind(kind):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    names = ["size", "colour", "rank"]
    table = pd.DataFrame(ROWS, columns=names)
    if kind == "nullable":
        table = table.convert_dtypes()
    elif kind == "category":
        table = table.assign(colour=table["colour"].astype("category"))
    elif kind == "polars":
        table = pl.DataFrame(ROWS, schema=names, orient="row")
    elif kind == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        columns = dict(zip(names, map(list, zip(*ROWS))))
        colours = pa.array(columns["colour"]).dictionary_encode()
        table = pa.table({**columns, "colour": colours})
    elif kind == "objects":
        table = np.array(ROWS, dtype=object)
    expected = Gower().fit(ROWS).between(ROWS)
    assert_allclose(Gower().fit(table).between(table), expected)


def test_gower_nominal_by_name_or_number():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"code": [1, 2, 9], "x": [0.0, 1.0, 2.0]})
    expected = np.sqrt([[0, 0.75, 1], [0.75, 0, 0.75], [1, 0.75, 0]])
    for nominal in (["code"], [0]):
        assert_allclose(Gower(nominal).fit(table).between(table), expected)
    # categories of numbers are names, whatever they look like
    assert_allclose(Gower().fit(c := table.astype({"code": "category"})).between(c), expected)


def test_gower_ranges_come_from_the_training_data():
    train = np.array([[0.0, 1.0], [10.0, 1.0]])
    measure = Gower().fit(train)
    # 20 lies beyond the range: as far as the range goes; column 2 was constant: 1 ≠ 2 is far
    assert_allclose(measure.between([[20.0, 1.0], [5.0, 2.0]], train[:1]) ** 2, [[0.5], [0.75]])
    assert_array_equal(measure.ranges_, [10, 0])


@pytest.mark.parametrize("name", ["zlib", "bz2", "lzma", "own"])
def test_compression_equals_the_formula(name):
    def raw_lzma(data):
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
        return lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters)

    compress = {"zlib": lambda d: zlib.compress(d, 9), "bz2": bz2.compress, "lzma": raw_lzma}.get(
        name, lambda d: bytes(set(d))
    )
    measure = Compression(compress if name == "own" else name)
    data = [t.encode() for t in TEXTS]
    expected = naive.all_pairs(data, data, lambda a, b: naive.compression_distance(a, b, compress))
    assert_allclose(measure.between(TEXTS), expected)
    assert_allclose(measure.between(TEXTS, symmetrize="mean"), (expected + expected.T) / 2)
    assert_allclose(measure.diagonal(TEXTS), expected.diagonal())


def test_compression_finds_what_is_alike():
    D = Compression().between(TEXTS, symmetrize="mean")
    assert D[0, 1] < D[0, 2] and D[0, 1] < D[1, 2]


def test_correlation_equals_the_formula():
    twins = np.vstack([COUNTS, COUNTS[:2]])
    expected = naive.all_pairs(twins, twins, naive.correlation)
    assert expected[0, 12] == 0.5  # equal documents
    assert_allclose(Correlation().between(twins, twins), expected)
    np.fill_diagonal(expected, 0)  # but the same document
    assert_allclose(Correlation().between(twins), expected)
    assert Correlation(equal=0.0).between(twins)[0, 12] == 0


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_keeps_its_promises(name):
    objects = OBJECTS[name]
    measure = MEASURES[name]().fit(objects)
    D = measure.between(objects)
    assert D.shape == (len(objects), len(objects)) and D.dtype == np.float64
    if measure.symmetric:
        assert_array_equal(D, D.T)
        few = objects[:3]
        assert_allclose(measure.between(objects, few), measure.between(few, objects).T)
    else:
        S = measure.between(objects, symmetrize="mean")
        assert_allclose(S, (D + D.T) / 2)
        assert_array_equal(S, S.T)
        assert_array_equal(measure.between(objects[:2], objects, "mean"), S[:2])
    if measure.self_value is not None:
        assert_array_equal(D.diagonal(), measure.self_value)
    assert_allclose(measure.diagonal(objects), D.diagonal())
    assert_allclose(measure(objects[0], objects[1]), D[0, 1])
    assert clone(measure).get_params() == measure.get_params()


def test_blocks_change_nothing(monkeypatch):
    for name, objects in OBJECTS.items():
        measure = MEASURES[name]().fit(objects)
        D = measure.between(objects, symmetrize="mean")
        monkeypatch.setattr(type(measure), "block_size", 4)
        assert_allclose(measure.between(objects, symmetrize="mean"), D, atol=1e-15)


def test_function_measure_halves_the_work():
    calls = []

    def gap(a, b):
        calls.append((a, b))
        return abs(a - b)

    numbers = list(range(50))
    expected = np.abs(np.subtract.outer(numbers, numbers))
    assert_array_equal(FunctionMeasure(gap, symmetric=True).between(numbers), expected)
    assert len(calls) == 50 * 51 / 2 + 2 * 8  # some pairs of each block are checked
    calls.clear()
    assert_array_equal(FunctionMeasure(gap).between(numbers), expected)
    assert len(calls) == 50 * 50


BAD = [
    (Hausdorff(), [[[0, 0]], []], "Object 1 is empty"),
    (Hausdorff(), [[[0, 0]], np.empty((0, 2))], "Object 1 is empty"),
    (Hausdorff(), [[[0, 0]], [1, 2]], r"Object 1 must be a set of points.*shape \(2,\)"),
    (Hausdorff(), [[[0, 0]], [[1, 2, 3]]], "Object 1 has points of dimension 3, object 0 of 2"),
    (Hausdorff(), [[[0, np.nan]]], "Object 0 contains NaN"),
    (Hausdorff(), ["abc"], "Object 0 must be a set of points.*str 'abc'"),
    (Hausdorff(), [], "no objects"),
    (EditDistance(), ["abc", ""], "Object 1 is empty"),
    (EditDistance(), ["abc", ["a", "b"]], "cannot be mixed.*list"),
    (EditDistance(), [["a", "b"], ["a", 1]], "of one type; got number, str"),
    (EditDistance(), [[1.0, np.nan]], "contains NaN"),
    (EditDistance(), [[[1], [2]]], "hashable"),
    (EditDistance(), [3, 4], "Object 0 must be a string or a sequence; got int"),
    (EditDistance(), [np.ma.masked_array([1, 2], [0, 1])], "Object 0 has masked values"),
    (EditDistance(), [np.zeros((2, 2))], "substitution='euclidean'"),
    (EditDistance("angular", period=0), [[1.0]], "period must be a positive number"),
    (EditDistance(), "abc", "list or an array of objects; got str"),
    (EditDistance(-1), ["a"], "substitution must be a finite number"),
    (EditDistance(insertion=np.inf), ["a"], "insertion must be a finite number"),
    (EditDistance("hamming"), ["a"], "'absolute', 'angular', 'euclidean'"),
    (EditDistance(lambda a, b: -1.0), ["ab"], "substitution must be a finite number"),
    (EditDistance(normalize="mean"), ["ab"], "'longer', 'sum', None"),
    (EditDistance("absolute"), [[1.0], [np.nan]], "Object 1 contains NaN"),
    (EditDistance("absolute"), ["abc"], "Object 0 must be a sequence of numbers; got str"),
    (EditDistance("absolute"), [[1.0], []], "Object 1 is empty"),
    (Compression(), ["abc", ""], "Object 1 is empty"),
    (Compression(), [np.ones(3)], "must be a string or bytes.*ndarray"),
    (Compression("gzip"), ["abc"], "'zlib', 'bz2', 'lzma'"),
    (Correlation(), [[0.0, np.nan]], "NaN"),
    (Gower(), [[1.0, "a"], [2.0]], "rows of equal length"),
    (Gower(), ["abc", "xyz"], "Gower takes a table"),
    (Gower(), np.ones(3), r"shape \(3,\)"),
    (Gower(["colour"]), ROWS, "names the column 'colour'; the columns are \\[0, 1, 2\\]"),
    (Gower(), np.array([[1 + 2j], [3 - 1j]]), "Column 0 holds complex numbers"),
    (Gower([]), [[np.complex128(1 + 2j)], [1.0]], "Column 0 holds complex numbers"),
    (Gower(), np.array([["2020-01-01"], ["2020-01-09"]], "M8[ns]"), "Column 0 holds dates"),
    (Gower(), np.array([[5], [7]], "m8[D]"), "Column 0 holds dates or time differences"),
    (Gower(), [[np.datetime64("2020-01-01")]] * 2, "Column 0 holds dates"),
    (Gower(), [[1, ["a"]]] * 2, "Column 1 holds a list; cells must be single values"),
    (Gower(), [[10**400], [1]], "infinite"),
    (Gower("colour"), ROWS, r"pass \['colour'\]"),
    (Gower([0]), ROWS, "Column 1 holds values that are not numbers"),
    (Gower(), [[1.0, 2.0], [np.nan, None]], "Row 1 has no values"),
    (Gower(), [[1.0, None], [None, 2.0]], "no column in common"),
    (Gower(), [[1.0], [np.inf]], "infinite"),
    (FunctionMeasure(lambda a, b: float("nan")), [1, 2], "finite number for every pair.*nan"),
    (FunctionMeasure(lambda a, b: "x"), [1, 2], "finite number for every pair.*'x'"),
]


@pytest.mark.parametrize("measure, objects, message", BAD)
def test_bad_objects_get_a_sentence(measure, objects, message):
    with pytest.raises(ValueError, match=message):
        measure.fit(objects).between(objects)


HOSTILE = {
    "none": None,
    "number": 3,
    "huge": 10**400,
    "zero-dimensional": np.array(3.0),
    "text": "abc",
    "no text": "",
    "bytes": b"abc",
    "dict": {"a": 1},
    "empty": [],
    "nested nothing": [[]],
    "ragged": [[1, 2], [3]],
    "mixed": [1, "a"],
    "nan": [1.0, np.nan, 2.0],
    "no value": [None, "a", 1],
    "masked": np.ma.masked_array([1.0, 2.0], [1, 0]),
    "sparse": csr_array(np.eye(2)),
    "dates": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    "complex": np.array([1j, 2j]),
    "function": len,
    "generator": iter([1, 2]),
    "deep": np.zeros((2, 2, 2)),
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", MEASURES)
def test_hostile_objects_give_values_or_one_sentence_of_ours(name, hostile):
    if "alignment" in name:
        pytest.importorskip("parasail")
    bad, good = HOSTILE[hostile], OBJECTS[name][0]
    sides = [(bad, None), ([bad, bad], None), ([good, bad], None), ([bad, good], None)]
    for X, Y in [*sides, ([good], [bad]), ([bad], [good])]:
        try:
            assert np.isfinite(pairwise(X, name, Y)).all()
        except ValueError as error:
            assert "\n" not in str(error)
            assert "mahalearn" in traceback.extract_tb(error.__traceback__)[-1].filename


@pytest.mark.parametrize("name", ["hausdorff", "correlation", "dtw", "lcss", "euclidean"])
def test_values_whose_squares_vanish_or_overflow_are_refused(name):
    objects = POINTS[:4] if name == "hausdorff" else rng.normal(size=(4, 6))
    assert pairwise(objects, name).any()
    for unit in (1e-200, 1e-170, 1e160, 1e200):  # all distances were 0, or all series alike
        with pytest.raises(ValueError, match=r"whose square (overflows|vanishes).*unit"):
            pairwise([unit * x for x in objects], name)


def test_masked_and_sparse_tables_of_gower():
    rows = [[1.0, 4.0], [None, 2.0], [3.0, 0.0]]
    expected = Gower().fit(rows).between(rows)
    masked = np.ma.masked_array([[1.0, 4], [9, 2], [3, 0]], [[0, 0], [1, 0], [0, 0]])
    assert_allclose(Gower().fit(masked).between(masked), expected)
    dense = np.array([[0.0, 2], [1, 0], [3, 0]])
    table = Gower().fit(dense)
    assert_allclose(table.between(csr_array(dense)), table.between(dense))


def test_errors_name_the_side():
    with pytest.raises(ValueError, match="Object 1 of the columns is empty"):
        EditDistance().between(["a", "b"], ["a", ""])
    with pytest.raises(ValueError, match="Object 0 of the columns has points of dimension 3"):
        Hausdorff().between([[[0, 0]]], [[[0, 0, 0]]])
    with pytest.raises(ValueError, match="have 2 values, those of the columns 3"):
        Correlation().between([[1, 0]], [[1, 0, 0]])
    with pytest.raises(ValueError, match="columns \\[0, 1\\], the training data had"):
        Gower().fit(ROWS).between([[1, 2]])
    with pytest.raises(NotFittedError, match="call fit on them first"):
        Gower().between(ROWS)
