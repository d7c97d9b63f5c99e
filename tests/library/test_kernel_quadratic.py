"""How the classifiers behave: input of all kinds, degenerate data, helpful errors."""

import pickle
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.preprocessing import scale

import mahalearn
from mahalearn import KernelMahalanobisTransformer, KernelQuadraticDiscriminant, PrecomputedKernel

VARIANTS = ["IC+", "IC-", "RC+", "RC-", "FK+", "FK-"]


@pytest.fixture(scope="module")
def data():
    return make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


@pytest.mark.parametrize(
    ("variant", "reg"),
    [("IC+", 0.01), ("IC-", 0.01), ("RC+", 0.01), ("RC-", 0.1), ("FK+", 0.1), ("FK-", 1.0)],
)
def test_learns_something(variant, reg):
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(KernelQuadraticDiscriminant(variant, reg), scale(X), y).mean() > 0.9


def checkerboard(n, rng):
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.floor(X).astype(int).sum(axis=1) % 2


def checkerboard_kernel(X, Y, s):
    def k(A, B):
        d = ((A[:, None] - B[None]) ** 2).sum(axis=2)
        return np.exp(-(d**4) / s**2)

    return np.maximum(k(X, Y), k(X, -Y))


PUBLISHED_SPECTRA = [  # C, table 5: s, r_neg, p, q
    (0.05, 0.16, 56, 44),
    (0.1, 0.18, 54, 46),
    (0.5, 0.211, 52, 48),
    (1, 0.218, 52, 48),
    (5, 0.214, 51, 49),
    (10, 0.207, 51, 49),
    (50, 0.128, 49, 51),
]


@pytest.mark.parametrize(("s", "r_neg", "p", "q"), PUBLISHED_SPECTRA)
def test_checkerboard_spectra_are_the_published_ones(s, r_neg, p, q):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        X, y = checkerboard(100, rng)
        model = KernelQuadraticDiscriminant(kernel=partial(checkerboard_kernel, s=s))
        model.fit(X, y)
        found.append([model.negative_fraction(), *model.kernel_signature()])
    mean = np.mean(found, axis=0)
    assert abs(mean[0] - r_neg) <= 0.01
    assert abs(mean[1] - p) <= 2
    assert abs(mean[2] - q) <= 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_classifiers_inherit_the_invariance_of_the_kernel(variant, rng):
    X, y = checkerboard(60, rng)
    Z, _ = checkerboard(40, rng)
    params = {"kernel": partial(checkerboard_kernel, s=1.0)}
    model = KernelQuadraticDiscriminant(variant, 0.1, **params).fit(X, y)
    assert_allclose(model.decision_function(Z), model.decision_function(-Z), rtol=1e-9, atol=1e-9)


def test_spectrum_is_computed_on_first_use_and_anew_after_a_refit(data):
    X, y = data
    model = KernelQuadraticDiscriminant(kernel="sigmoid", gamma=1.0).fit(X, y)
    before = dict(vars(model))
    first = model.kernel_signature()
    assert before["_eigenvalues"] is None
    assert first[1] > 0
    assert 0 < model.negative_fraction() < 1
    assert model.fit(X[:60], y[:60]).kernel_signature() != first


def test_spectrum_raise_and_ignore(data):
    X, y = data
    for variant in ("RC+", "FK+"):
        model = KernelQuadraticDiscriminant(variant, kernel="sigmoid", gamma=1.0, spectrum="raise")
        with pytest.raises(ValueError, match="not positive definite"):
            model.fit(X, y)
    KernelQuadraticDiscriminant(spectrum="raise").fit(X, y)


# --- input of all kinds ---------------------------------------------------------------------------


def test_tables_of_pandas_and_polars(data):
    X, y = data
    names = list("abcde")
    expected = KernelQuadraticDiscriminant().fit(X, y).predict(X)
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = KernelQuadraticDiscriminant().fit(table, y)
        assert model.feature_names_in_.tolist() == names
        assert (model.predict(table) == expected).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("edcba")))


def test_set_output(data):
    X, y = data
    transformer = KernelMahalanobisTransformer().set_output(transform="pandas").fit(X, y)
    frame = transformer.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == [f"kernelmahalanobistransformer{j}" for j in range(3)]


def test_float32_gives_the_answers_of_float64(data):
    X, y = data
    X = X.astype(np.float32)
    a = KernelQuadraticDiscriminant(reg=0.1).fit(X, y)
    b = KernelQuadraticDiscriminant(reg=0.1).fit(X.astype(np.float64), y)
    assert_allclose(a.mahalanobis(X), b.mahalanobis(X.astype(np.float64)))


@pytest.mark.parametrize("labels", [["x", "y", "z"], [True, False], [-3, 7, 9], [0.0, 1.0]])
def test_labels_of_any_type(labels, data):
    X, y = data
    y = np.array(labels)[y % len(labels)]
    predicted = KernelQuadraticDiscriminant().fit(X, y).predict(X)
    assert predicted.dtype == y.dtype
    assert set(predicted) <= set(labels)


def test_clone_and_pickle(data):
    X, y = data
    model = KernelQuadraticDiscriminant("FK+", 0.1).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.decision_function(X), model.decision_function(X))
    assert not hasattr(clone(model), "classes_")


def test_precomputed_is_sliced_on_both_axes(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.2)
    named = KernelQuadraticDiscriminant(gamma=0.2)
    square = KernelQuadraticDiscriminant(kernel="precomputed")
    assert_allclose(cross_val_score(square, K, y), cross_val_score(named, X, y))
    grid = {"reg": [0.01, 1.0]}
    nested = cross_val_score(GridSearchCV(square, grid, cv=3), K, y, cv=3)
    assert_allclose(nested, cross_val_score(GridSearchCV(named, grid, cv=3), X, y, cv=3))


def test_row_numbers_serve_the_wrappers_that_forget_the_pairwise_tag(data):
    X, y = data
    rows, kernel = np.arange(len(y)), PrecomputedKernel(rbf_kernel(X, gamma=0.2))
    model = KernelQuadraticDiscriminant(kernel=kernel)
    named = KernelQuadraticDiscriminant(gamma=0.2)
    a = CalibratedClassifierCV(model, cv=3).fit(rows[:, None], y).predict_proba(rows[:, None])
    b = CalibratedClassifierCV(named, cv=3).fit(X, y).predict_proba(X)
    assert_allclose(a, b, atol=1e-6)
    stack = StackingClassifier([("kqd", model)], LogisticRegression(), cv=3)
    assert stack.fit(rows[:, None], y).score(rows[:, None], y) > 0.5
    search = GridSearchCV(model, {"reg": [0.01, 0.1]}, cv=3)
    assert_allclose(
        cross_val_score(search, rows[:, None], y, cv=3),
        cross_val_score(GridSearchCV(named, {"reg": [0.01, 0.1]}, cv=3), X, y, cv=3),
    )
    assert clone(model).kernel.K is kernel.K


def test_self_similarities_of_precomputed_rows(data):
    X, y = data
    K = X @ X.T  # the diagonal is not constant
    model = KernelQuadraticDiscriminant(kernel="precomputed", reg=0.5).fit(K, y)
    linear = KernelQuadraticDiscriminant(kernel="linear", reg=0.5).fit(X, y)
    # They cancel from the decision with one σ² for all classes …
    assert (model.predict(K) == linear.predict(X)).all()
    # … but not from a distance, nor with unequal σ².
    with pytest.raises(ValueError, match=r"self_similarity=.*PrecomputedKernel"):
        model.mahalanobis(K)
    assert_allclose(model.mahalanobis(K, np.diagonal(K)), linear.mahalanobis(X))
    model.set_params(reg=[0.1, 0.2, 0.3]).fit(K, y)
    with pytest.raises(ValueError, match="PrecomputedKernel"):
        model.predict(K)
    with pytest.raises(ValueError, match="90 finite numbers"):
        model.mahalanobis(K, [1.0])


def test_probabilities_exist_only_where_they_mean_something(data):
    X, y = data
    assert not hasattr(KernelQuadraticDiscriminant("FK+"), "predict_proba")
    with pytest.raises(AttributeError) as error:
        KernelQuadraticDiscriminant("FK+").predict_proba(X)
    assert "CalibratedClassifierCV" in str(error.value.__cause__)
    model = KernelQuadraticDiscriminant(offset="map", priors=[0.2, 0.3, 0.5]).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()


# --- degenerate data ------------------------------------------------------------------------------


def _degenerate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    yield "one object in a class", X[:11], np.array([0] * 10 + [1])
    yield "one object in each class", X[:2], np.array([0, 1])
    yield "identical objects", np.ones((10, 3)), np.arange(10) % 2
    yield "constant features", np.column_stack([X[:, 0], np.ones(20), np.zeros(20)]), y
    yield "duplicate rows", np.repeat(X[:4], 5, axis=0), np.repeat([0, 1, 0, 1], 5)
    yield "collinear features", X[:, [0, 0, 1, 1]] * [1, 2, 3, -1], y
    yield "few objects in many dimensions", rng.normal(size=(6, 200)), np.arange(6) % 2
    yield "huge", X * 1e12, y
    yield "tiny", X * 1e-12, y


DEGENERATE = {name: (X, y) for name, X, y in _degenerate()}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("problem", DEGENERATE)
def test_degenerate_data_give_finite_answers(problem, variant, kernel):
    X, y = DEGENERATE[problem]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for reg_on in ("auto", "relative"):
            model = KernelQuadraticDiscriminant(variant, 0.01, kernel=kernel, reg_on=reg_on)
            model.fit(X, y)
            assert np.isfinite(model.mahalanobis(X)).all()
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.offsets_).all()


# --- helpful errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "XY"}, "variant='XY' is not known; choose from 'IC\\+'"),
        ({"kernel": "gauss"}, "kernel='gauss' is not known; choose from .*'rbf'"),
        ({"kernel": 3}, "callable"),
        ({"spectrum": "bend"}, "choose from 'krein'"),
        ({"offset": "mean"}, "choose from 'error', 'least_squares', 'loo', 'map', None"),
        ({"reg_on": "class"}, "choose from 'auto'"),
        ({"reg": 0}, "positive"),
        ({"reg": [0.1, 0.1]}, "2 values, but there are 3 classes"),
        ({"reg": "much"}, "number"),
        ({"gamma": -1.0}, "gamma, unless .*, must be a positive number; got -1.0"),
        ({"gamma": "big"}, "unless it is 'scale' or 'auto'.*got 'big'"),
        ({"priors": [0.2, 0.3, 0.5]}, "offset='map'"),
        ({"offset": "map", "priors": [0.5, 0.5]}, "3 positive numbers"),
        ({"offset": "map", "class_weight": "balanced"}, "priors"),
        ({"variant": np.array(["RC+", "RC-"])}, "choose from 'IC\\+'"),
        ({"class_weight": {0: -1.0}}, "none negative"),
        ({"class_weight": {0: np.nan}}, "finite weight"),
        ({"class_weight": {"0": 1.0, "1": 9.0}}, "not in class_weight"),
        ({"class_weight": dict.fromkeys(range(3), 0.0)}, "not all zero"),
        ({"kernel": "poly", "degree": -1}, "degree must be a positive number; got -1"),
        ({"kernel": "poly", "degree": "3"}, "degree must be a positive number"),
        ({"kernel": "poly", "coef0": "1"}, "coef0 must be a finite number"),
        ({"kernel": lambda a, b: 1.0}, "MeasureKernel"),
        ({"kernel": lambda a, b: np.full((len(a), len(b)), np.nan)}, "NaN"),
        ({"kernel": lambda a, b: np.outer(a[:, 0], b[:, 1])}, "not symmetric"),
    ],
)
def test_wrong_parameters(params, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        KernelQuadraticDiscriminant(**params).fit(X, y)


@pytest.mark.parametrize("variant", VARIANTS)
def test_overflow_is_refused_not_returned(variant, data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="too large to compute with"):
            KernelQuadraticDiscriminant(variant, kernel="linear").fit(X * 1e150, y)
        model = KernelQuadraticDiscriminant(variant, kernel="linear", offset=None).fit(X, y)
        with pytest.raises(ValueError, match=r"NaN or infinite|too large to compute with"):
            model.predict(X * 1e200)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_decision_function_is_the_documented_score(variant, kernel, data):
    X, y = data
    model = KernelQuadraticDiscriminant(variant, 0.1, kernel=kernel).fit(X, y)
    expected = -model.mahalanobis(X) / 2 + model.offsets_
    assert_allclose(model.decision_function(X), expected, rtol=1e-12)


def test_wrong_data(data):
    X, y = data
    model = KernelQuadraticDiscriminant()
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        model.fit(X, np.zeros(len(X)))
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(Z, y)
    with pytest.raises(ValueError, match="is expecting 5 features"):
        model.fit(X, y).predict(X[:, :3])
    with pytest.raises(TypeError, match=r"sample_weight.*class_weight"):
        model.fit(X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(TypeError, match="unexpected arguments: groups"):
        model.fit(X, y, groups=y)


def test_wrong_matrices(data):
    X, y = data
    K = rbf_kernel(X)
    model = KernelQuadraticDiscriminant(kernel="precomputed")
    with pytest.raises(ValueError, match=r"must be square.*\(90, 5\)"):
        model.fit(X, y)
    crooked = K.copy()
    crooked[0, 1] += 0.5
    with pytest.raises(ValueError, match=r"0\.5, 50.0% of the largest.*\(K \+ K\.T\) / 2"):
        model.fit(crooked, y)
    nearly = K + 1e-9 * np.triu(np.ones_like(K))
    assert (model.fit(nearly, y).predict(K) == model.fit(K, y).predict(K)).all()
    with pytest.raises(ValueError, match="is expecting 90 features"):
        model.predict(K[:, :80])


def test_row_numbers_are_checked(data):
    X, y = data
    kernel = PrecomputedKernel(rbf_kernel(X))
    model = KernelQuadraticDiscriminant(kernel=kernel).fit(np.arange(60), y[:60])
    with pytest.raises(ValueError, match="from 0 to 89"):
        model.predict([90])
    with pytest.raises(ValueError, match="whole number"):
        model.predict([0.5])
    with pytest.raises(ValueError, match="whole number"):
        model.predict(X)
    with pytest.raises(ValueError, match="K only"):
        kernel.set_params(gamma=1)
    with pytest.raises(ValueError, match="square"):
        KernelQuadraticDiscriminant(kernel=PrecomputedKernel(X)).fit(np.arange(60), y[:60])


def test_memory_is_refused_before_it_is_taken(monkeypatch, data):
    X, y = data
    monkeypatch.setattr(mahalearn._validation, "available_memory", lambda: 1000)
    for variant in ("RC+", "FK+"):
        with pytest.raises(MemoryError, match=r"needs about .* GiB"):
            KernelQuadraticDiscriminant(variant).fit(X, y)


def test_prediction_stays_within_working_memory(rng):
    X, y = rng.normal(size=(1000, 3)), np.arange(1000) % 2
    Z = rng.normal(size=(6_000, 3))
    for variant in ("RC+", "IC-", "FK+"):
        model = KernelQuadraticDiscriminant(variant, 0.1).fit(X, y)
        whole = model.decision_function(Z)
        with sklearn.config_context(working_memory=8):
            tracemalloc.start()
            chunked = model.decision_function(Z)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert_allclose(chunked, whole, rtol=1e-8, atol=1e-8)
        assert peak < 12 * 2**20  # 8 MiB and the outputs; all at once would be 48 MiB


def test_prediction_does_not_depend_on_the_batch(data):
    X, y = data
    model = KernelQuadraticDiscriminant().fit(X, y)
    one_by_one = np.vstack([model.decision_function(x[None]) for x in X])
    assert_allclose(one_by_one, model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_cross_val_predict_on_lists_of_objects():
    from mahalearn import MeasureKernel

    words = ["banana", "bandana", "cabana", "havana", "xyz", "xyzzy", "zyx", "xxyyzz"] * 3
    kind = [0, 0, 0, 0, 1, 1, 1, 1] * 3

    def shared(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    model = KernelQuadraticDiscriminant(kernel=MeasureKernel(shared))
    assert (cross_val_predict(model, words, kind, cv=3) == kind).all()
    assert (model.fit(np.array(words, dtype=object), kind).predict(words) == kind).all()
    ragged = [np.arange(len(w)) for w in words]
    close = MeasureKernel(lambda a, b: abs(len(a) - len(b)), kind="rbf")
    KernelQuadraticDiscriminant(kernel=close).fit(ragged, kind).predict(ragged[:2])
    search = GridSearchCV(
        KernelQuadraticDiscriminant(kernel=close), {"kernel__gamma": [0.1, 1.0]}, cv=2
    )
    assert search.fit(ragged, kind).best_params_["kernel__gamma"] in (0.1, 1.0)
    with pytest.raises(ValueError, match="no objects"):
        model.predict([])
    with pytest.raises(ValueError, match="list or an array"):
        model.predict("word")


def test_fitted_models_hold_what_skops_can_store(data):
    # Slices of numpy integers are what its JSON refuses; the rest it takes.
    model = KernelQuadraticDiscriminant().fit(*data)
    assert {type(i) for s in model._training.slices for i in (s.start, s.stop)} == {int}
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(model)
    copy = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    assert_allclose(copy.decision_function(data[0]), model.decision_function(data[0]))
