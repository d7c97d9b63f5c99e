"""Alignments, sets, distributions and covariance matrices against naive loops and known values."""

import itertools
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import jaccard as scipy_jaccard
from scipy.spatial.distance import jensenshannon
from scipy.stats import wasserstein_distance
from sklearn.base import clone

import naive
from mahalearn import KernelRidgeClassifier, KernelSearchCV
from mahalearn.measures import (
    Alignment,
    Correlation,
    EditDistance,
    Jaccard,
    JensenShannon,
    SPDDistance,
    Wasserstein,
    pairwise,
)

rng = np.random.default_rng(8)
AMINO = "ARNDCQEGHILKMFPSTWYV"
PROTEINS = ["".join(rng.choice(list(AMINO), n)) for n in rng.integers(1, 14, 12)]
DNA = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(1, 12, 12)]
SETS = [set(rng.choice(list("abcdefg"), n, replace=False)) for n in (0, 1, 3, 7, 2, 4, 0, 5)]
BITS = rng.integers(0, 2, (9, 13))
HISTOGRAMS = rng.integers(0, 4, (8, 5)) + np.eye(8, 5)
SAMPLES = [rng.normal(size=n) for n in (1, 4, 4, 7, 2, 5)]
CLOUDS = [rng.normal(size=(n, 2)) for n in (1, 4, 4, 7, 2, 5)]
roots = rng.normal(size=(7, 3, 4))
MATRICES = roots @ roots.transpose(0, 2, 1)


@pytest.fixture(scope="module")
def parasail():
    return pytest.importorskip("parasail")


# --- alignment ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("gaps", [(11, 1), (3, 3), (2, 0)])
@pytest.mark.parametrize("matrix", ["blosum62", "pam250", "own"])
def test_alignment_equals_all_gaps_tried(mode, gaps, matrix, parasail):
    objects, table = PROTEINS, matrix
    if matrix == "own":
        objects, table = (
            DNA,
            ("TGCA", [[5, -1, -2, -3], [-1, 4, -2, 0], [-2, -2, 3, 1], [-3, 0, 1, 6]]),
        )

        def score(a, b):
            return table[1]["TGCA".index(a)]["TGCA".index(b)]
    else:
        known = getattr(parasail, matrix)

        def score(a, b):
            return int(known.matrix[known.mapper[ord(a)], known.mapper[ord(b)]])

    S = naive.all_pairs(
        objects, objects, lambda a, b: naive.alignment_score(a, b, score, *gaps, mode == "local")
    )
    scores = Alignment(mode, table, *gaps, normalize=False)
    assert not scores.dissimilarity
    assert_array_equal(scores.between(objects), S)
    assert_array_equal(scores.between(objects[:3], objects[1:]), S[:3, 1:])
    assert_array_equal(scores.diagonal(objects), S.diagonal())
    d = 1 - S / np.sqrt(np.multiply.outer(S.diagonal(), S.diagonal()))
    assert_allclose(Alignment(mode, table, *gaps).between(objects), d, atol=1e-14)
    assert Alignment(mode, table, *gaps)(objects[3], objects[3]) == 0


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("gaps", [(0, 0), (1, 1), (4, 4), (5, 4), (1, 0)])
def test_alignment_of_longer_sequences_is_the_optimum(mode, gaps, parasail):
    rng = np.random.default_rng(3)
    proteins = ["".join(rng.choice(list(AMINO), n)) for n in rng.integers(10, 26, 10)]
    proteins += [p[:5] + "".join(rng.choice(list(AMINO), 3)) + p[7:] for p in proteins[:3]]
    proteins += ["REHWYPCVWT", "FHLTN"]
    table, mapper = parasail.blosum62.matrix, parasail.blosum62.mapper

    def score(a, b):
        return int(table[mapper[ord(a)], mapper[ord(b)]])

    S = naive.all_pairs(
        proteins, proteins, lambda a, b: naive.alignment_score(a, b, score, *gaps, mode == "local")
    )
    assert_array_equal(Alignment(mode, "blosum62", *gaps, normalize=False).between(proteins), S)
    if mode == "local" and gaps == (1, 1):
        assert S[-1, -2] == 9


def test_known_alignments(parasail):
    # Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis, section 2.3: BLOSUM50, gaps
    # of 8 per letter: global 1, local 28.
    a, b = "HEAGAWGHEE", "PAWHEAE"
    assert Alignment("global", "blosum50", 8, 8, normalize=False)(a, b) == 1
    assert Alignment("local", "blosum50", 8, 8, normalize=False)(a, b) == 28


def test_case_matters_only_for_own_matrices(parasail):
    assert Alignment()("heagawghee", "HEAGAWGHEE") == 0
    with pytest.raises(ValueError, match="contains 'a', for which the matrix has no scores"):
        Alignment(matrix=("ACGT", 3 * np.eye(4) - 2)).between(["acgt"])
    assert Alignment(matrix=("Aa", [[2, -1], [-1, 2]]), normalize=False)("AAaa", "aaAA") == 4


def test_long_sequences_need_more_bits(parasail):
    long = ["".join(rng.choice(list("ACGT"), n)) for n in (3000, 3100)]
    table = ("ACGT", 30 * np.eye(4, dtype=int) - 20)
    scores = Alignment("local", table, 10, 10, normalize=False)
    assert scores(long[0], long[0]) == 30000
    assert scores("ACGT" * 3000, "ACGT" * 3000) == 120_000
    mixed = scores.between([*long, "ACGT"])
    assert mixed[2, 2] == 40 and mixed[1, 1] == 31_000


BAD_ALIGNMENTS = [
    ({}, ["ACD", ""], "Object 1 is empty"),
    ({}, ["ACD", "AC1"], "Object 1 contains '1', for which the matrix has no scores"),
    ({}, ["ACD", "ACU"], "Object 1 contains 'U'.*X stands for any"),
    ({}, ["ACD", 5], "Object 1 must be a string of letters; got int"),
    ({}, ["ACD", "XXX"], "Object 1 .*has the score 0 with itself"),
    ({"matrix": "blossom62"}, ["A"], "no matrix 'blossom62'"),
    ({"matrix": "dnafile.txt"}, ["A"], "no matrix 'dnafile.txt'"),
    ({"matrix": "version"}, ["A"], "no matrix 'version'"),
    ({"matrix": ("AC", [[1, 0]])}, ["A"], "matrix must be the name"),
    ({"matrix": ("AC", [[1, 0.5], [0.5, 1]])}, ["A"], "whole numbers"),
    ({"matrix": ("AC", [[1, 0], [-1, 1]])}, ["A"], "symmetric"),
    ({"matrix": ("AA", [[1, 0], [0, 1]])}, ["A"], "different"),
    ({"matrix": 62}, ["A"], "matrix must be the name"),
    ({"mode": "semi"}, ["A"], "mode='semi' is not known"),
    ({"gap_open": 1.5}, ["A"], "gap_open must be a whole number"),
    ({"gap_extend": -1}, ["A"], "gap_extend must be a whole number"),
    ({"gap_open": 1, "gap_extend": 2}, ["A"], "gap_extend=2 is larger than gap_open=1"),
]


@pytest.mark.parametrize("options, objects, message", BAD_ALIGNMENTS)
def test_bad_alignments_get_a_sentence(options, objects, message, parasail):
    with pytest.raises(ValueError, match=message):
        Alignment(**options).between(objects)


@pytest.fixture
def without(monkeypatch):
    """A function that makes a package impossible to import."""

    return lambda name: monkeypatch.setitem(sys.modules, name, None)


def test_missing_libraries_are_named(without):
    without("parasail")
    with pytest.raises(ImportError, match=r"mahalearn\[bio\]"):
        Alignment().between(["ACD"])
    without("ot")
    with pytest.raises(ImportError, match=r"mahalearn\[transport\]"):
        Wasserstein().between(CLOUDS)


# --- edit distance of numbers ---------------------------------------------------------------------


def test_edit_distance_refuses_measurements():
    series = [rng.normal(size=30) for _ in range(4)]
    with pytest.raises(ValueError, match=r"120 different numbers among 120.*'dtw', 'msm'"):
        EditDistance().between(series)
    with pytest.raises(ValueError, match="elastic measure"):
        pairwise(series[:2], "edit", series[2:])
    EditDistance("absolute").between(series)
    # Numbers that are symbols: whole ones, or few different ones.
    assert EditDistance()(list(range(30)), list(range(40, 70))) == 30
    assert EditDistance()([0.5, 1.5] * 20, [0.5, 2.5] * 20) == 20
    # Measurements to one decimal meet again and are measurements nevertheless.
    rounded = [rng.uniform(-3, 3, 200).round(1) for _ in range(4)]
    with pytest.raises(ValueError, match=r"different numbers among 800.*pass them as strings"):
        EditDistance().between(rounded)
    EditDistance().between([x.astype(str) for x in rounded])


# --- sets -----------------------------------------------------------------------------------------


def test_jaccard_of_sets():
    D = naive.all_pairs(SETS, SETS, naive.jaccard)
    assert_allclose(Jaccard().between(SETS), D)
    assert_allclose(
        Jaccard().between(SETS[:2], [{"z", "a"}]), [[1], [naive.jaccard(SETS[1], "za")]]
    )
    words = [sorted(x) or {"-"} for x in SETS]
    expected = naive.all_pairs(words, words, naive.jaccard)
    assert_allclose(Jaccard().between(words), expected)
    assert_allclose(pairwise([frozenset(x) for x in SETS], "tanimoto"), D)


def test_jaccard_of_bits():
    D = Jaccard().between(BITS)
    assert_allclose(D, naive.all_pairs(BITS, BITS, lambda a, b: scipy_jaccard(a > 0, b > 0)))
    assert_allclose(Jaccard().between([set(np.flatnonzero(b)) for b in BITS]), D)
    for same in (BITS.astype(bool), BITS.tolist(), BITS.astype(np.float32), list(BITS)):
        assert_allclose(Jaccard().between(same), D)
    assert_allclose(Jaccard().between([sparse.csr_array(b[None]) for b in BITS]), D)
    assert_array_equal(Jaccard().between(np.zeros((2, 3))), np.zeros((2, 2)))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_are_objects(make):
    """Fingerprints and counts of words often come as a sparse matrix."""
    assert_allclose(pairwise(make(BITS), "tanimoto"), pairwise(BITS, "tanimoto"))
    counts = rng.integers(1, 5, (24, 6))
    for measure in ("jensen_shannon", "correlation"):
        assert_allclose(pairwise(make(counts), measure), pairwise(counts, measure))
    y = np.arange(24) % 2
    for measure in ("jensen_shannon", "correlation"):
        model = KernelSearchCV(KernelRidgeClassifier(kernel=measure), {"reg": [0.1]}, cv=3)
        dense = clone(model).fit(counts, y).decision_function(counts[:5])
        assert_allclose(model.fit(make(counts), y).decision_function(make(counts[:5])), dense)
    with pytest.raises(ValueError, match="no objects"):
        pairwise(make((0, 3)), "tanimoto")


def test_jaccard_is_a_metric_with_a_definite_kernel():
    D = Jaccard().between(rng.integers(0, 2, (30, 20)))
    assert (D[:, None, :] <= D[:, :, None] + D[None] + 1e-12).all()
    assert np.linalg.eigvalsh(1 - D).min() > -1e-10


# --- distributions --------------------------------------------------------------------------------


def test_jensen_shannon():
    D = naive.all_pairs(HISTOGRAMS, HISTOGRAMS, naive.jensen_shannon)
    assert_allclose(JensenShannon().between(HISTOGRAMS), D, atol=1e-8)
    scipy = naive.all_pairs(HISTOGRAMS, HISTOGRAMS, lambda p, q: jensenshannon(p, q, base=2))
    assert_allclose(JensenShannon().between(HISTOGRAMS, HISTOGRAMS), scipy, atol=1e-7)
    assert_allclose(JensenShannon().between(7 * HISTOGRAMS), JensenShannon().between(HISTOGRAMS))
    assert (D[:, None, :] <= D[:, :, None] + D[None] + 1e-12).all()


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_wasserstein_on_the_line(p):
    D = naive.all_pairs(SAMPLES, SAMPLES, lambda a, b: naive.wasserstein(a, b, p))
    assert_allclose(Wasserstein(p).between(SAMPLES), D, atol=1e-7)
    assert_allclose(Wasserstein(p).between([x[:, None] for x in SAMPLES]), D, atol=1e-7)
    if p == 1:
        for a, b in itertools.combinations(SAMPLES, 2):
            assert_allclose(Wasserstein()(a, b), wasserstein_distance(a, b))


@pytest.mark.parametrize("p", [1, 2])
def test_wasserstein_in_space(p):
    pytest.importorskip("ot")
    D = naive.all_pairs(CLOUDS, CLOUDS, lambda a, b: naive.wasserstein(a, b, p))
    assert_allclose(Wasserstein(p).between(CLOUDS), D, atol=1e-7)
    assert_allclose(Wasserstein(p).between(CLOUDS[:2], CLOUDS), D[:2], atol=1e-7)
    moved = [c + [3, 4] for c in CLOUDS]
    assert_allclose(np.diag(Wasserstein(p).between(CLOUDS, moved)), 5)


def test_equal_sizes_need_no_library(without):
    without("ot")
    clouds = rng.normal(size=(4, 5, 3))
    D = naive.all_pairs(clouds, clouds, lambda a, b: naive.wasserstein(a, b, 2))
    assert_allclose(Wasserstein(2).between(clouds), D, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e150])
def test_large_powers_neither_overflow_nor_vanish(unit):
    a, b = unit * np.array([0.0, 1.0]), unit * np.array([2.0, 4.0, 2.0])
    plane = [np.column_stack([x, 0 * x]) for x in (a, 2 * a)]
    for p in (1, 3, 300):
        gaps, weights = np.array([2.0, 2, 1, 3]), np.array([2.0, 1, 1, 2])
        expected = 3 * (weights @ (gaps / 3) ** p / 6) ** (1 / p)
        assert_allclose(Wasserstein(p)(a, b), unit * expected)
        assert_allclose(Wasserstein(p)(*plane), unit * 0.5 ** (1 / p))
    histograms = np.array([[1.0, 3], [2, 2]])
    expected = JensenShannon().between(histograms)
    assert_allclose(JensenShannon().between(histograms * unit * unit), expected)
    assert_allclose(JensenShannon().between(histograms * 4e307), expected)


# --- covariance matrices --------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["log_euclidean", "affine_invariant"])
def test_spd_distances_equal_matrix_functions(metric):
    D = naive.all_pairs(MATRICES, MATRICES, getattr(naive, metric))
    assert_allclose(SPDDistance(metric).between(MATRICES), D, atol=1e-7)
    assert_allclose(SPDDistance(metric).between(MATRICES[:2], MATRICES), D[:2], atol=1e-7)
    inverses = np.linalg.inv(MATRICES)
    assert_allclose(SPDDistance(metric).between(inverses), D, atol=1e-6)
    assert_allclose(SPDDistance(metric).between(9 * MATRICES), D, atol=1e-7)
    commuting = [np.diag(x) for x in rng.uniform(1, 9, (4, 3))]
    other = SPDDistance("affine_invariant").between(commuting)
    assert_allclose(SPDDistance(metric).between(commuting), other, atol=1e-12)


def test_affine_invariance():
    W = rng.normal(size=(3, 3))
    D = SPDDistance("affine_invariant").between(MATRICES)
    assert_allclose(SPDDistance("affine_invariant").between(W @ MATRICES @ W.T), D, rtol=1e-6)
    assert (D[:, None, :] <= D[:, :, None] + D[None] + 1e-9).all()


BAD = [
    (Jaccard(), [{1}, "abc"], "Object 1 must be a set of hashable members; got str 'abc'"),
    (Jaccard(), ["abc", "xyz"], "Object 0 must be a set or a vector of zeros and ones"),
    (Jaccard(), [[1, 0], [1, 2]], "Object 1 has values other than 0 and 1.*unpackbits"),
    (Jaccard(), [[1, 0], [1, 1, 0]], "Object 1 has 3 bits, the first has 2"),
    (
        Jaccard(),
        [{1, 2}, [0, 1, 1]],
        "Object 1 is a vector of numbers, others are sets.*flatnonzero",
    ),
    (Jaccard(), [np.array([0, 1]), {1}], "Object 0 is a vector of numbers"),
    (Jaccard(), [["a", "b"], (1, 0)], "Object 1 is a vector of numbers"),
    (Jaccard(), [{1}, [[1], [2]]], "Object 1 has members that are not hashable"),
    (Jaccard(), [[1, np.nan]], "values other than 0 and 1"),
    (JensenShannon(), [[1, 2], [1, -1]], "Object 1 is not a histogram"),
    (JensenShannon(), [[1, 2], [0, 0]], "Object 1 is not a histogram"),
    (JensenShannon(), [[1, np.nan]], "NaN"),
    (
        JensenShannon(),
        [[1, 2], [1]],
        "Histograms must have equally many values.*from 1",
    ),
    (Correlation(), [[1, 2], [1]], "Vectors must have equally many values"),
    (Correlation(), np.ma.masked_array([[1.0, 2]] * 2, [[0, 1]] * 2), "Object 0 contains NaN"),
    (Correlation(), [[np.datetime64("2020-01-01")]] * 2, "Object 0 must be a row of numbers"),
    (Correlation(), np.array([[1, "2"]] * 2, dtype=object), "Object 0 must be a row of numbers"),
    (JensenShannon(), [sparse.csr_array(np.eye(2))] * 2, r"Object 0 must be.*shape \(2, 2\)"),
    (Wasserstein(), [np.ma.masked_array([1.0, 2.0], [0, 1])], "Object 0 contains NaN or infinite"),
    (Wasserstein(), [[1.0], []], "Object 1 is empty"),
    (Wasserstein(), ["abc"], "Object 0 must be a sample of numbers"),
    (Wasserstein(), [[[1, 2]], [[1, 2, 3]]], "Object 1 has points of dimension 3"),
    (Wasserstein(), [[1.0, np.inf]], "Object 0 contains NaN or infinite"),
    (Wasserstein(0.5), [[1.0]], "p must be a finite number of at least 1"),
    (SPDDistance(), [np.eye(2), np.diag([1.0, 0])], "Object 1 is not positive definite.*shrinkage"),
    (SPDDistance(), [np.eye(2), np.eye(3)], "Object 1 is 3 × 3, the first 2 × 2"),
    (SPDDistance(), [[[1, 2], [0, 1]]], "Object 0 is not symmetric"),
    (SPDDistance(), [[1.0, 2.0]], r"Object 0 must be a square matrix.*shape \(2,\)"),
    (SPDDistance(), [[[np.nan]]], "Object 0 contains NaN"),
    (SPDDistance(), ["abc"], "Object 0 must be a square matrix"),
    (SPDDistance("riemann"), [np.eye(2)], "metric='riemann' is not known"),
]


@pytest.mark.parametrize("measure, objects, message", BAD)
def test_bad_objects_get_a_sentence(measure, objects, message):
    with pytest.raises(ValueError, match=message):
        measure.between(objects)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_and_workers_change_nothing(n_jobs, monkeypatch, parasail):
    pytest.importorskip("ot")
    for measure, objects in (
        (Alignment(), PROTEINS),
        (Alignment("global", normalize=False), PROTEINS),
        (Jaccard(), SETS),
        (Jaccard(), BITS),
        (JensenShannon(), HISTOGRAMS),
        (Wasserstein(2), CLOUDS),
        (SPDDistance("affine_invariant"), MATRICES),
    ):
        expected = measure.between(objects)
        with monkeypatch.context() as patch:
            patch.setattr(type(measure), "block_size", 3)
            assert_allclose(pairwise(objects, measure, n_jobs=n_jobs), expected, atol=1e-12)
