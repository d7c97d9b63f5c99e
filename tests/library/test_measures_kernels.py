"""Measures as kernels: objects go straight into the classifiers, and through model selection."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict, cross_val_score

import naive
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MeasureKernel,
    OneVsRestSVC,
    PrecomputedKernel,
)
from mahalearn.measures import (
    Compression,
    Correlation,
    EditDistance,
    Elastic,
    FunctionMeasure,
    Gower,
    Hausdorff,
    Measure,
    elastic_measures,
    pairwise,
)

rng = np.random.default_rng(3)


def words(letters, n):
    return ["".join(rng.choice(list(letters), k)) for k in rng.integers(4, 9, n)]


WORDS = words("aaab", 20) + words("abbb", 20)
POLYGONS = [rng.normal(size=(k, 2)) * [1, s] for s in (0.3, 2) for k in rng.integers(3, 8, 20)]
TABLE = [
    [rng.normal(2 * c), rng.choice(["red", "blue"], p=[0.8, 0.2][:: 1 - 2 * c])]
    for c in (0, 1)
    for _ in range(20)
]
COUNTS = (
    rng.random((40, 12)) < np.repeat([[0.2] * 6 + [0.6] * 6, [0.6] * 6 + [0.2] * 6], 20, 0)
) * 1
CODE = np.repeat(["x", "y"], 20)
OBJECTS = {
    "edit": WORDS,
    "hausdorff": POLYGONS,
    "modified_hausdorff": POLYGONS,
    "gower": TABLE,
    "compression": [w * 5 for w in WORDS],
    "correlation": COUNTS,
}


def fisher_search(**grid):
    return KernelSearchCV(KernelFisherDiscriminant(), {"reg": [0.1], **grid}, cv=3)


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("variant", ["RC+", "RC-", "IC-", "FK+"])
def test_kernel_of_objects_equals_precomputed_matrix(name, variant):
    objects = OBJECTS[name]
    K = -(pairwise(objects, name) ** 2)
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    if name == "gower":  # ranges belong to the training data
        measure = Gower().fit([objects[i] for i in train])
        K = -(pairwise(objects, measure) ** 2)
    settings = {"variant": variant, "reg": 0.1, "reg_on": "relative"}
    expected = KernelQuadraticDiscriminant(kernel="precomputed", **settings)
    expected.fit(K[np.ix_(train, train)], CODE[train])
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel(name), **settings)
    model.fit([objects[i] for i in train], CODE[train])
    queries = [objects[i] for i in test]
    # Distances do not depend on the scale of the kernel where regularisation is relative.
    own = K.diagonal()[test]
    assert_allclose(
        model.mahalanobis(queries),
        expected.mahalanobis(K[np.ix_(test, train)], self_similarity=own),
        rtol=1e-6,
        atol=1e-8,
    )


@pytest.mark.parametrize("name", OBJECTS)
def test_model_selection_takes_objects(name):
    model = KernelQuadraticDiscriminant(reg=0.3, reg_on="relative", kernel=MeasureKernel(name))
    accuracy = cross_val_score(model, OBJECTS[name], CODE, cv=4)
    assert accuracy.mean() > 0.6  # each is better than guessing on data made for it


def test_grid_search_reaches_the_measure():
    kernel = MeasureKernel(EditDistance())
    model = KernelQuadraticDiscriminant(reg=0.3, reg_on="relative", kernel=kernel)
    grid = {
        "kernel__measure__normalize": [None, "longer"],
        "kernel__measure__substitution": [1, 0.5, 2],
        "kernel__kind": ["neg_squared", "neg"],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(WORDS, CODE)
    assert len(search.cv_results_["params"]) == 12
    assert len(set(np.round(search.cv_results_["mean_test_score"], 6))) > 1
    assert search.predict(["aaaaa", "bbbbb"]).tolist() == ["x", "y"]


def test_grid_search_over_measures_and_gamma():
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel("hausdorff", kind="rbf"))
    grid = {
        "kernel__gamma": [0.01, 0.3, 10],
        "kernel__measure": ["hausdorff", "modified_hausdorff", Hausdorff(modified=True)],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(POLYGONS, CODE)
    scores = search.cv_results_["mean_test_score"].reshape(3, 3)
    assert_array_equal(scores[:, 1], scores[:, 2])
    assert len(np.unique(scores)) > 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_gower_on_data_frames(library):
    frames = pytest.importorskip(library)
    columns = {"size": [r[0] for r in TABLE], "colour": [str(r[1]) for r in TABLE]}
    frame = frames.DataFrame(columns)
    model = KernelQuadraticDiscriminant(reg=0.3, reg_on="relative", kernel=MeasureKernel("gower"))
    expected = cross_val_predict(model, TABLE, CODE, cv=4)
    assert_array_equal(cross_val_predict(model, frame, CODE, cv=4), expected)


def test_ranges_are_learned_in_each_fit_and_the_given_measure_is_untouched():
    measure = Gower()
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel(measure))
    largest = np.argmax([row[0] for row in TABLE])
    fewer = [row for i, row in enumerate(TABLE) if i != largest]
    first = clone(model).fit(fewer, np.delete(CODE, largest)).kernel_.measure_.ranges_[0]
    second = model.fit(TABLE, CODE).kernel_.measure_.ranges_[0]
    assert first < second
    assert not hasattr(measure, "ranges_") and not hasattr(model.kernel, "measure_")


@pytest.mark.parametrize("measure", ["edit", EditDistance(normalize="sum")])
def test_a_measure_may_stand_for_its_kernel(measure):
    settings = {"reg": 0.3, "reg_on": "relative"}
    model = KernelQuadraticDiscriminant(kernel=measure, **settings)
    kernel = MeasureKernel(measure)
    expected = KernelQuadraticDiscriminant(kernel=kernel, **settings).fit(WORDS, CODE)
    assert_array_equal(
        model.fit(WORDS, CODE).decision_function(WORDS), expected.decision_function(WORDS)
    )


def test_kinds():
    D = EditDistance().between(WORDS)
    for kind, expected in {
        "auto": -(D**2),
        "neg_squared": -(D**2),
        "neg": -D,
        "rbf": np.exp(-0.1 * D**2),
        "similarity": D,
    }.items():
        kernel = MeasureKernel("edit", kind=kind, gamma=0.1, scale=None)
        assert_allclose(kernel(WORDS, WORDS), expected)
        assert_allclose(kernel(WORDS[:3], WORDS), expected[:3])
        assert_allclose(kernel.diag(WORDS), expected.diagonal())


def test_asymmetric_measures_make_a_symmetric_kernel():
    texts = OBJECTS["compression"]
    kernel = MeasureKernel(Compression(), scale=None)
    K = kernel(texts, texts)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel(texts[:5], texts[3:]), K[:5, 3:])
    assert_allclose(kernel.diag(texts), K.diagonal())

    def surplus(a, b):
        return float(len(a) - len(b)) ** 2 + len(a)

    K = MeasureKernel(surplus, scale=None)(WORDS, WORDS)
    assert_array_equal(K, K.T)
    assert_array_equal(K, MeasureKernel(surplus, scale=None)(WORDS, WORDS))
    kernel = MeasureKernel(surplus, "similarity", symmetrize=None)
    with pytest.raises(ValueError, match="not symmetric"):
        KernelQuadraticDiscriminant(kernel=kernel).fit(WORDS, CODE)


def overlap(a, b):
    """The share of the letters of a that b has: a similarity, which depends on the order."""
    return sum(letter in b for letter in a) / len(a)


def test_a_function_is_not_assumed_to_be_symmetric():
    D = naive.all_pairs(WORDS, WORDS, overlap)
    assert_allclose(MeasureKernel(overlap, scale=None).fit_gram(WORDS), (D + D.T) / 2)
    with pytest.raises(ValueError, match="symmetric=True says that f"):
        MeasureKernel(FunctionMeasure(overlap, symmetric=True)).fit(WORDS)
    kernels = [MeasureKernel(FunctionMeasure(overlap, symmetric=True))]
    with pytest.raises(ValueError, match="symmetric=True says that f"):
        fisher_search(kernel=kernels).fit(WORDS, CODE)


@pytest.mark.parametrize("scale", ["mean", None])
def test_a_distance_is_not_taken_for_a_similarity(scale):
    def distance(a, b):
        return float(EditDistance()(a, b))

    for fit in (
        MeasureKernel(distance, scale=scale).fit,
        lambda words: KernelQuadraticDiscriminant(kernel=MeasureKernel(distance, scale=scale)).fit(
            words, CODE
        ),
        lambda words: fisher_search(kernel=[MeasureKernel(distance, scale=scale)]).fit(words, CODE),
    ):
        with pytest.raises(ValueError, match="smallest for an object and itself"):
            fit(WORDS)
    for kind in ("neg_squared", "similarity"):
        MeasureKernel(distance, kind, scale=scale).fit(WORDS)
    MeasureKernel(lambda a, b: -distance(a, b), scale=scale).fit(WORDS)
    MeasureKernel(lambda a, b: 1.0, scale=scale).fit(WORDS)


def test_a_value_that_is_no_number_names_its_pair():
    def broken(a, b):
        return np.nan if {a, b} == {WORDS[3], WORDS[35]} else 1.0

    for symmetric in (True, False):
        kernel = MeasureKernel(FunctionMeasure(broken, symmetric=symmetric))
        with pytest.raises(ValueError, match="nan for object 3 of the rows and object 35 of the"):
            KernelQuadraticDiscriminant(kernel=kernel).fit(WORDS, CODE)
    with pytest.raises(ValueError, match=rf"None for '{WORDS[0]}' and '{WORDS[0]}'"):
        MeasureKernel(lambda a, b: None).fit(WORDS)


def test_a_function_on_strings_points_to_measure_kernel():
    for words in (WORDS, np.array(WORDS), np.array(WORDS, dtype=object)):
        with pytest.raises(ValueError, match=r"kernel=MeasureKernel\(f\)"):
            KernelQuadraticDiscriminant(kernel=overlap).fit(words, CODE)


def column_transformed(words):
    """What ColumnTransformer passes on of a column of strings."""
    import pandas as pd

    return pd.DataFrame({"word": words})


@pytest.mark.parametrize("measure", ["edit", "compression", overlap])
@pytest.mark.parametrize(
    "table",
    [
        column_transformed,
        lambda words: column_transformed(words).astype("category"),
        lambda words: np.array(words)[:, None],
        lambda words: np.array(words, dtype=object)[:, None],
    ],
    ids=["frame", "categories", "text", "objects"],
)
def test_a_column_of_strings_is_a_column_of_objects(measure, table):
    pytest.importorskip("pandas")
    X = table(WORDS)
    expected = MeasureKernel(measure).fit_gram(WORDS)
    assert_array_equal(MeasureKernel(measure).fit_gram(X), expected)
    assert_array_equal(pairwise(X, measure), pairwise(WORDS, measure))
    model = fisher_search(kernel=[MeasureKernel(measure)])
    scores = [model.fit(words, CODE).best_score_ for words in (X, WORDS)]
    assert scores[0] == scores[1]
    assert_array_equal(model.predict(X), model.predict(WORDS))


@pytest.mark.parametrize("measure", ["edit", EditDistance("absolute"), Correlation()])
def test_pickle_and_repr(measure):
    objects = {"edit": WORDS}.get(measure if isinstance(measure, str) else "", COUNTS)
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel(measure)).fit(objects, CODE)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.predict(objects), model.predict(objects))
    assert "MeasureKernel" in repr(model)


def test_bad_input_gets_a_sentence():
    model = KernelQuadraticDiscriminant(kernel=MeasureKernel("edit"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(WORDS, CODE[:-1])
    with pytest.raises(ValueError, match="list or an array of objects; got set"):
        model.fit(set(WORDS), CODE)
    with pytest.raises(ValueError, match="Object 0 is empty"):
        model.fit(["", *WORDS[1:]], CODE)
    with pytest.raises(ValueError, match="choose from 'hausdorff'"):
        clone(model).set_params(kernel__measure="levenshtein").fit(WORDS, CODE)
    with pytest.raises(ValueError, match="'neg_squared'"):
        clone(model).set_params(kernel__kind="square").fit(WORDS, CODE)
    with pytest.raises(ValueError, match="Object 0 must be"):
        model.fit(WORDS, CODE).predict([3])


def test_kernels_must_be_a_list():
    X, y = series([24] * 40), np.repeat(["early", "late"], 20)
    for kernels, message in (
        ("elastic", "got 'elastic'. One kernel is kernel='elastic'"),
        (elastic_measures(X), r"got a dict. Pass list\(kernels.values\(\)\)"),
        ([], "it is empty"),
    ):
        with pytest.raises(ValueError, match=f"kernels must be a list of kernels; {message}"):
            MahalanobisClassifierCV(kernels=kernels).fit(X, y)
    for kernels in ("elastic", []):
        with pytest.raises((TypeError, ValueError), match="kernel"):
            KernelSearchCV(KernelRidgeClassifier(), {"kernel": kernels}).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [KernelRidgeClassifier(), KernelSearchCV(KernelRidgeClassifier()), MahalanobisClassifierCV()],
)
def test_objects_without_a_measure_are_told_of_measures(model):
    ragged, y = series([24, 30] * 20), np.repeat(["early", "late"], 20)
    for X, got in (
        (ragged, "objects of different lengths"),
        (np.array(series([24] * 40))[:, None], r"an array of shape \(40, 1, 24\)"),
        (["aa", "bb"] * 20, "strings"),
    ):
        with pytest.raises(ValueError, match=f"rows of numbers; got {got}.*kernel='dtw'.*'edit'"):
            model.fit(X, y)


def test_kernels_are_scaled_by_the_mean_training_distance():
    D = EditDistance().between(WORDS)
    mean = D.sum() / (len(WORDS) * (len(WORDS) - 1))
    for kind, expected in {
        "neg_squared": -((D / mean) ** 2),
        "rbf": np.exp(-0.5 * (D / mean) ** 2),
        "laplacian": np.exp(-0.5 * D / mean),
    }.items():
        kernel = MeasureKernel("edit", kind=kind, gamma=0.5).fit(WORDS)
        assert kernel.scale_ == pytest.approx(mean)
        assert_allclose(kernel(WORDS[:3], WORDS), expected[:3])
        same = MeasureKernel("edit", kind=kind, gamma=0.5, scale=mean).fit(WORDS)
        assert_allclose(same(WORDS, WORDS), expected)
    with pytest.raises(ValueError, match="call fit first"):
        MeasureKernel("edit")(WORDS, WORDS)


def counted():
    """An edit distance, and the list that its calls fill."""
    calls = []

    def measure(a, b):
        calls.append(1)
        return float(EditDistance()(a, b))

    return measure, calls


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_measure_is_called_once_for_each_pair(symmetric):
    n = len(WORDS)
    checked = sum(min(8, len(WORDS[i : i + 32]) - 1) for i in range(0, n, 32))
    pairs = n * (n + 1) // 2 + checked if symmetric else n * n

    def forms(measure):
        return [
            MeasureKernel(FunctionMeasure(measure, symmetric), kind=kind, gamma=gamma)
            for kind, gamma in (
                ("neg_squared", 1.0),
                ("neg", 1.0),
                ("rbf", 0.5),
                ("laplacian", 1.0),
            )
        ]

    for fit in (
        lambda kernels: KernelQuadraticDiscriminant(kernel=kernels[0], reg_on="relative"),
        lambda kernels: KernelQuadraticDiscriminant("FK+", kernel=kernels[2], spectrum="flip"),
        lambda kernels: DissimilaritySpaceDiscriminant(kernel=kernels[1], cv=5),
        lambda kernels: KernelFisherDiscriminant(kernel=kernels[3]),
        lambda kernels: KernelSearchCV(
            KernelQuadraticDiscriminant(), {"variant": ["RC+", "FK+"], "kernel": kernels}, cv=3
        ),
        lambda kernels: KernelSearchCV(
            DissimilaritySpaceDiscriminant(), {"kernel": kernels[:2]}, cv=3
        ),
        lambda kernels: KernelSearchCV(
            KernelFisherDiscriminant(spectrum="clip"), {"kernel": kernels}, cv=3
        ),
        lambda kernels: KernelSearchCV(KernelPCAQuadraticDiscriminant(kernel=kernels[0]), cv=3),
        lambda kernels: KernelSearchCV(KernelKNeighborsClassifier(), {"kernel": kernels}, cv=3),
        lambda kernels: KernelSearchCV(KernelRidgeClassifier(), {"kernel": kernels}, cv=3),
        lambda kernels: KernelSearchCV(
            KernelRidgeClassifier(), {"kernel": kernels}, cv=LeaveOneOut()
        ),
        lambda kernels: KernelSearchCV(
            OneVsRestSVC(spectrum="flip"), {"C": [1.0], "kernel": kernels}, cv=3
        ),
    ):
        measure, calls = counted()
        fit(forms(measure)).fit(WORDS, CODE)
        assert len(calls) == pairs


class WeightedCityBlock(Measure):
    """A measure with an array for a parameter."""

    symmetric = True
    dissimilarity = True
    self_value = 0.0

    def __init__(self, weights):
        self.weights = weights

    def block(self, P, Q):
        return np.array([[self.weights @ np.abs(p - q) for q in Q] for p in P])


def test_measures_that_are_printed_alike_are_not_one():
    # numpy leaves out the middle of a long array.
    r = np.random.default_rng(0)
    rows = list(r.normal(size=(40, 1200)))
    plain, other = np.ones(1200), np.ones(1200)
    other[600] += 1000
    assert repr(plain) == repr(other)
    kernels = [MeasureKernel(WeightedCityBlock(w)) for w in (plain, other)]
    assert kernels[0].pair_key != kernels[1].pair_key
    assert kernels[0].pair_key == MeasureKernel(WeightedCityBlock(plain.copy())).pair_key
    together = KernelSearchCV(
        KernelQuadraticDiscriminant(), {"reg": [0.1], "kernel": kernels}, cv=3
    ).fit(rows, CODE)
    alone = [
        KernelSearchCV(KernelQuadraticDiscriminant(kernel=k), {"reg": [0.1]}, cv=3)
        .fit(rows, CODE)
        .best_score_
        for k in kernels
    ]
    assert_allclose(together.cv_results_["mean_test_score"], alone)


def series(lengths, seed=0):
    """Series of two kinds that differ in the place of a bump."""
    r = np.random.default_rng(seed)
    place = np.repeat([0.3, 0.7], len(lengths) // 2)
    return [
        np.exp(-(((np.linspace(0, 1, n) - p - r.normal(0, 0.1)) / 0.1) ** 2)) + r.normal(0, 0.2, n)
        for n, p in zip(lengths, place, strict=True)
    ]


def test_elastic_stands_for_its_measures_in_a_search(monkeypatch):
    X, y = series([24] * 40), np.repeat(["early", "late"], 20)
    seen = []
    block = Elastic.between

    def between(self, X, Y=None, symmetrize=None):
        seen.append((self.method, self.window, Y is None))
        return block(self, X, Y, symmetrize)

    monkeypatch.setattr(Elastic, "between", between)
    kinds = ("neg_squared", "neg", "rbf", "laplacian")
    kernels = [MeasureKernel("elastic", kind=kind) for kind in kinds]
    search = KernelSearchCV(
        KernelRidgeClassifier(), {"reg": [0.01, 0.1], "kernel": kernels}, cv=3
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 5 * 4 * 2
    assert len(seen) == len(set(seen)) == 5 and all(square for *_, square in seen)
    expected = [
        repr(MeasureKernel(measure, kind=kind, scale=None))
        for kind in kinds
        for measure in elastic_measures(X).values()
    ]
    found = [repr(p["kernel"].set_params(scale=None)) for p in search.cv_results_["params"][::2]]
    assert sorted(found) == sorted(expected)


def test_elastic_leaves_out_what_cannot_compare_the_series():
    X, y = series([20, 24] * 20), np.repeat(["early", "late"], 20)
    search = KernelSearchCV(
        KernelKNeighborsClassifier(kernel="elastic"), {"n_neighbors": [1]}, cv=3
    ).fit(X, y)
    measures = [params["kernel"].measure for params in search.cv_results_["params"]]
    assert [m.method for m in measures] == ["dtw", "dtw", "dtw", "msm"]
    best = max(
        (cross_val_score(clone(search.best_estimator_).set_params(kernel=m), X, y, cv=3).mean())
        for m in measures
    )
    assert search.best_score_ == pytest.approx(best, abs=0.05)
    again = KernelSearchCV(
        KernelKNeighborsClassifier(kernel="elastic"), {"n_neighbors": [1]}, cv=3, n_jobs=2
    ).fit(X, y)
    assert_array_equal(again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_a_plain_estimator_needs_one_measure():
    X, y = series([24] * 40), np.repeat(["early", "late"], 20)
    with pytest.raises(ValueError, match="'elastic' stands for several measures"):
        KernelRidgeClassifier(kernel="elastic").fit(X, y)
    with pytest.raises(ValueError, match="'elastic' stands for several measures"):
        pairwise(X, "elastic")


def test_landmarks_are_prototypes_for_fast_prediction():
    X, y = series([24] * 60, seed=1), np.repeat(["early", "late"], 30)
    measure, calls = counted_series()
    kernel = MeasureKernel(FunctionMeasure(measure, symmetric=True), kind="neg_squared", scale=1.0)
    model = KernelFisherDiscriminant(0.1, kernel=kernel, landmarks=8, random_state=0).fit(X, y)
    assert len(calls) < 12 * len(X)  # not every pair: the landmarks with all objects
    calls.clear()
    new = series([24] * 20, seed=2)
    predicted = model.predict(new)
    assert len(calls) == 8 * len(new)
    assert (predicted == np.repeat(["early", "late"], 10)).mean() > 0.8


def counted_series():
    """A distance of series, and the list that its calls fill."""
    calls = []

    def distance(a, b):
        calls.append(1)
        return float(np.linalg.norm(a - b))

    return distance, calls


@pytest.mark.parametrize(
    "model",
    [
        KernelQuadraticDiscriminant(),
        KernelQuadraticDiscriminant("FK+", spectrum="clip"),
        DissimilaritySpaceDiscriminant(),
        KernelFisherDiscriminant(),
        KernelQuadraticDiscriminant(landmarks=np.arange(0, 40, 2)),
        KernelFisherDiscriminant(landmarks=np.arange(0, 40, 2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("power", [1, 2])
def test_dissimilarities_have_one_default_on_every_road(model, power):
    # As a measure, as a matrix in any unit, and by row numbers into a matrix.
    D = pairwise(WORDS, "edit")
    kind = {1: "neg", 2: "neg_squared"}[power]
    train, test = np.arange(0, len(CODE), 2), np.arange(1, len(CODE), 2)
    at = {} if getattr(model, "landmarks", None) is None else {"landmarks": np.arange(20)}
    expected = None
    for unit in (1.0, 1e4):
        K = -((unit * D) ** power)
        by_matrix = clone(model).set_params(kernel="precomputed", **at)
        by_matrix.fit(K[np.ix_(train, train)], CODE[train])
        scores = by_matrix.decision_function(K[np.ix_(test, train)])
        expected = scores if expected is None else expected
        assert_allclose(scores, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    if getattr(model, "landmarks", None) is None:
        by_measure = clone(model).set_params(kernel=MeasureKernel("edit", kind))
        by_measure.fit([WORDS[i] for i in train], CODE[train])
        scores = by_measure.decision_function([WORDS[i] for i in test])
        assert_allclose(scores, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
        by_number = clone(model).set_params(kernel=PrecomputedKernel(K)).fit(train, CODE[train])
        scores = by_number.decision_function(test)
        assert_allclose(scores, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
        grid = {"reg": ["auto"]}
        search = KernelSearchCV(by_matrix, grid, cv=[(train, test)], refit=False)
        accuracy = (by_matrix.predict(K[np.ix_(test, train)]) == CODE[test]).mean()
        assert_allclose(search.fit(K, CODE).cv_results_["mean_test_score"], accuracy)


def test_the_default_of_fisher_counts_an_object_as_often_as_its_weight():
    K, codes = -(pairwise(WORDS, "edit") ** 2), CODE
    weights = np.arange(len(codes)) % 3 + 1.0
    copies = np.repeat(np.arange(len(codes)), weights.astype(int))
    model = KernelFisherDiscriminant(kernel="precomputed")
    weighted = clone(model).fit(K, codes, sample_weight=weights).decision_function(K)
    repeated = clone(model).fit(K[np.ix_(copies, copies)], codes[copies])
    assert_allclose(weighted, repeated.decision_function(K[:, copies]), rtol=1e-6)
