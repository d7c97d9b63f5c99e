"""Estimators with landmarks: exact at m = n, the same from any batches, and blind folds."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import search
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)

from mahalearn import (
    ConformalClassifier,
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    LandmarkMap,
    MeasureKernel,
    PrecomputedKernel,
    load_model,
    save_model,
)

VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
METHODS = ("decision_function", "mahalanobis", "predict_proba", "predict_log_proba", "transform")
X, codes = make_classification(900, 6, n_informative=6, n_redundant=0, n_classes=3, random_state=0)
y = np.array(["a", "b", "c"])[codes]
# Nothing is learned from data: then any batches must give the same.
FIXED = {"gamma": 0.1, "standardize": False}
PLAIN = (
    KernelQuadraticDiscriminant,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    DissimilaritySpaceDiscriminant,
)
MODELS = [
    *(KernelQuadraticDiscriminant(variant, 0.1) for variant in VARIANTS),
    KernelQuadraticDiscriminant("IC+", 0.1, offset="map", priors=[0.2, 0.3, 0.5]),
    KernelQuadraticDiscriminant(reg=[0.1, 0.2, 0.3], class_weight="balanced"),
    KernelQuadraticDiscriminant(reg_on="kernel", class_weight={"a": 3.0, "b": 1.0, "c": 1.0}),
    KernelQuadraticDiscriminant("RC-", reg_on="relative", offset=None),
    KernelFisherDiscriminant(0.1),
    KernelPCAQuadraticDiscriminant(0.9, 0.01),
    KernelPCAQuadraticDiscriminant(4, 0.01, priors=[0.2, 0.3, 0.5]),
    DissimilaritySpaceDiscriminant(reg=0.1),
    DissimilaritySpaceDiscriminant("quadratic", "IC+", 0.1, priors="equal"),
    DissimilaritySpaceDiscriminant("least_squares", "FK+", 0.1),
    DissimilaritySpaceDiscriminant(LinearDiscriminantAnalysis(), "RC-"),
]


def named(model):
    return f"{type(model).__name__}-{list(model.get_params(deep=False).values())[:3]}"


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def gap(model, reference, queries, other=None):
    """The largest relative difference of what two models say of queries; labels must be equal.

    Probabilities count where both models have them by the same temperature: a search and an exact
    fit have one of their own.
    """
    other = queries if other is None else other
    assert_array_equal(model.predict(queries), reference.predict(other))
    found = [0.0]
    temperatures = {getattr(m, "temperature_", None) for m in (model, reference)}
    for method in METHODS:
        if not method.endswith("proba"):
            assert hasattr(model, method) == hasattr(reference, method)
        elif len(temperatures) > 1:
            continue
        if hasattr(model, method):
            values = (getattr(m, method)(q) for m, q in ((model, queries), (reference, other)))
            found.append(relative(*values))
    return max(found)


# --- m = n ----------------------------------------------------------------------------------------


def matrices(n=70, queries=20):
    """Kernel matrices of training objects and queries, definite and not."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(["a", "b", "c"], [30, 25, 15]))
    A = rng.normal(size=(n + queries, 4))
    A[:n] += 0.7 * np.searchsorted(["a", "b", "c"], labels)[:, None]
    D2 = ((A[:, None] - A) ** 2).sum(axis=-1)
    city = np.abs(A[:, None] - A).sum(axis=-1)
    return labels, {
        "rbf": np.exp(-0.3 * D2),
        "indefinite": np.exp(-0.1 * city**2) - 0.3 * np.exp(-0.5 * D2),
        "without an origin": -(city**1.8) / 10,
    }


LABELS, MATRICES = matrices()
N = len(LABELS)
AT_ALL = {"landmarks": LandmarkMap(N, rtol=1e-13)}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_all_objects_as_landmarks_are_the_exact_estimator(model, name):
    if getattr(model, "offset", None) == "map" and name != "rbf":
        pytest.skip("map offsets need a nonnegative spectrum")
    K = MATRICES[name]
    # As a kernel on row numbers: k(x, x) of queries is known.
    exact, ours = (
        clone(model).set_params(kernel=PrecomputedKernel(K), **params).fit(np.arange(N), LABELS)
        for params in ({}, AT_ALL)
    )
    assert sorted(ours.landmarks_) == list(range(N))
    assert gap(ours, exact, np.arange(N, len(K))) < 1e-8
    # As a matrix, and by columns of it; the rows of queries do not tell k(x, x).
    if name == "rbf" or model.__class__ in (
        KernelFisherDiscriminant,
        KernelPCAQuadraticDiscriminant,
    ):
        exact = clone(model).set_params(kernel="precomputed").fit(K[:N, :N], LABELS)
        positions = np.arange(N)[::-1]
        for landmarks in (N, positions):
            ours = clone(exact).set_params(landmarks=LandmarkMap(landmarks, rtol=1e-13))
            assert gap(ours.fit(K[:N, :N], LABELS), exact, K[N:, :N]) < 1e-8


@pytest.mark.parametrize("spectrum", ["ignore", "clip", "flip", "square"])
@pytest.mark.parametrize("cls", PLAIN)
def test_corrections_of_the_spectrum(cls, spectrum):
    K = MATRICES["indefinite"]
    options = {"kernel": PrecomputedKernel(K), "spectrum": spectrum, "reg": 0.1}
    exact, ours = (cls(**options, **more).fit(np.arange(N), LABELS) for more in ({}, AT_ALL))
    assert gap(ours, exact, np.arange(N, len(K))) < 1e-8


@pytest.mark.parametrize("cls", PLAIN)
def test_vectors_with_scales_learned_from_data(cls):
    units = X[:200] * [1, 1, 1000, 1, 1, 1]  # standardised
    exact = cls(reg=0.1).fit(units, y[:200])
    ours = cls(reg=0.1, landmarks=LandmarkMap(200, rtol=1e-13)).fit(units, y[:200])
    assert gap(ours, exact, units[:50] + 0.1) < 1e-8
    assert_allclose(ours.residual(units), 0, atol=1e-7)


# --- any batches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_any_split_and_order_of_batches_is_one_fit(model, tmp_path):
    model = clone(model).set_params(landmarks=X[:30], **FIXED)
    reference = clone(model).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    parts = [slice(0, 1), slice(1, 500), slice(500, 900)]
    batches = [(X[p], y[p]) for p in parts]
    sources = {
        "list": (batches,),
        "memory map": (np.load(tmp_path / "X.npy", mmap_mode="r"), y),
        "other order": (batches[::-1],),
    }
    for name, source in sources.items():
        assert gap(clone(model).fit(*source), reference, X[:99]) < 1e-11, name
    streamed = clone(model)
    for rows, labels in batches:
        streamed.partial_fit(rows, labels, classes=["c", "b", "a"])
    assert gap(streamed, reference, X[:99]) < 1e-11
    assert_array_equal(streamed.classes_, reference.classes_)


def test_moments_are_equal_to_rounding():
    """The same without the factor that a method puts on rounding."""
    fits = [
        KernelQuadraticDiscriminant(reg=0.1, landmarks=X[:30], **FIXED).fit(*source)
        for source in (
            (X, y),
            ([(X[i : i + 100], y[i : i + 100]) for i in range(800, -1, -100)],),
        )
    ]
    assert relative(fits[0].mahalanobis(X), fits[1].mahalanobis(X)) < 1e-12


def test_a_class_that_has_not_come_yet_is_not_predicted():
    model = KernelQuadraticDiscriminant(landmarks=20, random_state=0, **FIXED)
    known = y != "c"
    model.partial_fit(X[known][:300], y[known][:300], classes=["a", "b", "c"])
    assert set(model.predict(X)) == {"a", "b"}
    assert np.isnan(model.offsets_[2]) and np.isfinite(model.offsets_[:2]).all()
    assert (model.decision_function(X)[:, 2] == -np.inf).all()
    assert (model.mahalanobis(X)[:, 2] == np.inf).all()
    before = model.offsets_
    model.partial_fit(X[~known], y[~known])
    assert "c" in model.predict(X)
    assert np.isfinite(model.offsets_).all() and not np.array_equal(model.offsets_, before)
    alone = KernelFisherDiscriminant(landmarks=X[:9], **FIXED)
    alone.partial_fit(X[y == "a"], y[y == "a"], classes=["a", "b"])
    assert not hasattr(alone, "intercept_")
    with pytest.raises(ValueError, match="greater than one"):
        alone.predict(X)


@pytest.mark.parametrize("plain", PLAIN, ids=lambda plain: plain.__name__)
def test_nothing_of_the_model_before_a_batch_remains(plain):
    """What the first call gives, later ones, a pickle and the attributes give too."""
    model = plain(**FIXED, landmarks=X[:30])
    whole = clone(model).fit(X, y)

    def grown():
        return clone(model).fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])

    for name in ("offsets_", "intercept_", "eigenvalues_", "n_components_", "priors_"):
        if hasattr(whole, name):
            assert_allclose(getattr(grown(), name), getattr(whole, name), rtol=1e-6, err_msg=name)
    for method in METHODS:
        if hasattr(whole, method):
            expected = getattr(whole, method)(X[:50])
            for estimator in (grown(), pickle.loads(pickle.dumps(grown()))):
                first = getattr(estimator, method)(X[:50])
                assert_array_equal(first, getattr(estimator, method)(X[:50]))
                atol = 1e-5 * np.abs(expected).max()
                assert_allclose(first, expected, rtol=1e-5, atol=atol, err_msg=method)


def test_partial_fit_goes_on_after_fit():
    model = KernelQuadraticDiscriminant(landmarks=X[:30], **FIXED).fit(X[:400], y[:400])
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[400:], y[400:])
    whole = KernelQuadraticDiscriminant(landmarks=X[:30], **FIXED).fit(X, y)
    assert gap(model, whole, X[:99]) < 1e-11
    with pytest.raises(ValueError, match="differ from those"):
        model.partial_fit(X, y, classes=["a", "b"])


@pytest.mark.parametrize("landmarks", [25, "auto"])
def test_landmarks_of_the_first_batch(landmarks):
    model = KernelQuadraticDiscriminant(landmarks=landmarks, random_state=0, **FIXED)
    model.partial_fit(X[:600], y[:600], classes=np.unique(y))
    chosen = model.landmarks_
    model.partial_fit(X[600:], y[600:])
    assert_array_equal(model.landmarks_, chosen)
    given = KernelQuadraticDiscriminant(landmarks=chosen, **FIXED).fit(X, y)
    assert gap(model, given, X[:99]) < 1e-11


def test_precomputed_columns_in_batches():
    K, at = MATRICES["rbf"], np.arange(0, 40, 3)
    whole = KernelQuadraticDiscriminant(landmarks=at, kernel="precomputed").fit(K[:N, :N], LABELS)
    columns = clone(whole).fit(K[:N, at], LABELS)
    batches = clone(whole).fit([(K[:50, at], LABELS[:50]), (K[50:N, at], LABELS[50:])])
    streamed = clone(whole).partial_fit(K[:50, at], LABELS[:50], classes=["a", "b", "c"])
    streamed.partial_fit(K[50:N, at], LABELS[50:])
    for model in (columns, batches, streamed):
        assert_array_equal(model.landmarks_, at)
        assert gap(model, whole, K[N:, at], K[N:, :N]) < 1e-10
        assert_allclose(model.residual(K[N:, at]), whole.residual(K[N:, :N]), atol=1e-10)


def test_gaussian_classifiers_from_batches(tmp_path):
    reference = GaussianClassifier().fit(X, y)
    batches = [(X[i : i + 250], y[i : i + 250]) for i in range(0, 900, 250)]
    model = GaussianClassifier().fit(batches)
    assert relative(model.decision_function(X), reference.decision_function(X)) < 1e-11
    assert_array_equal(model.fit(X[:300], y[:300]).predict(X[:9]).shape, (9,))
    assert relative(model.fit(batches).decision_function(X), reference.decision_function(X)) < 1e-11
    with pytest.raises(ValueError, match="all rows are needed at once"):
        GaussianClassifier(shrinkage="auto").fit(batches)
    with pytest.raises(ValueError, match="not a generator"):
        GaussianClassifier().fit(batch for batch in batches)


# --- a landmark space is a space ------------------------------------------------------------------


def in_features(K, at):
    """The kernel φᵀJφ′ of all objects at landmarks, and what it leaves over of k(x, x)."""
    map_ = LandmarkMap(at, kernel=PrecomputedKernel(K), rtol=1e-12).fit(np.arange(N))
    phi = map_.transform(np.arange(len(K)))
    return (phi * map_.signs_) @ phi.T, map_.residual(np.arange(len(K)))


@pytest.mark.parametrize("name", ["rbf", "indefinite"])
@pytest.mark.parametrize("model", [*MODELS[:6], *MODELS[10:13]], ids=named)
def test_landmarks_are_the_exact_estimator_in_the_space_of_their_features(model, name):
    K, at = MATRICES[name], np.arange(0, N, 3)
    queries = np.arange(N, len(K))
    approximate, residual = in_features(K, at)
    approximate[queries, queries] += residual[queries]  # the full k(x, x) of queries
    landmarks = LandmarkMap(at, rtol=1e-12)
    exact, ours = (
        clone(model)
        .set_params(kernel=PrecomputedKernel(matrix), **params)
        .fit(np.arange(N), LABELS)
        for matrix, params in ((approximate, {}), (K, {"landmarks": landmarks}))
    )
    assert gap(ours, exact, queries) < 1e-7


@pytest.mark.parametrize("variant", ["RC+", "RC-", "IC+", "KPCA"])
def test_negative_eigenvalues_count_on_every_road(variant):
    """With spectrum="krein" their signs do, whoever collects the moments; with "ignore" not."""
    da = pytest.importorskip("dask.array")
    kernel = MahalanobisDifference()
    options = {"kernel": kernel, "landmarks": LandmarkMap(X[:40], rtol=1e-10)}
    model = KernelPCAQuadraticDiscriminant(0.99, 0.1, **options)
    if variant != "KPCA":
        model = KernelQuadraticDiscriminant(variant, 0.1, **options)
    halves = [(X[:400], y[:400]), (X[400:], y[400:])]

    def stream(model):
        for rows, labels in halves:
            model.partial_fit(rows, labels, classes=["a", "b", "c"])
        return model

    roads = {
        "exact": lambda m: m.set_params(landmarks=None).fit(X[:300], y[:300]),
        "arrays": lambda m: m.fit(X, y),
        "batches": lambda m: m.fit(halves),
        "partial_fit": stream,
        "dask": lambda m: m.fit(da.from_array(X, chunks=(300, 6)), da.from_array(y, chunks=300)),
    }
    scores = {}
    for road, fit in roads.items():
        krein, ignore = (
            fit(clone(model).set_params(spectrum=spectrum)).decision_function(X[:99])
            for spectrum in ("krein", "ignore")
        )
        assert relative(krein, ignore) > 1e-3, road
        scores[road] = krein
    for road in ("batches", "partial_fit", "dask"):
        assert relative(scores[road], scores["arrays"]) < 1e-9, road


class MahalanobisDifference:
    """A difference of two Gaussian kernels: indefinite, also when centred."""

    requires_vector_input = True
    stateless = True

    def __call__(self, A, B):
        D2 = ((A[:, None] - B) ** 2).sum(axis=-1)
        return np.exp(-0.05 * D2) - 0.6 * np.exp(-0.3 * D2)

    def diag(self, A):
        return np.full(len(A), 0.4)


# --- nothing is stale -----------------------------------------------------------------------------


PUBLIC = (
    "offsets_",
    "intercept_",
    "dual_coef_",
    "eigenvalues_",
    "n_components_",
    "priors_",
    "reg_",
)


@pytest.mark.parametrize("saved", ["as it is", "pickled", "saved"])
@pytest.mark.parametrize("looked_at", [True, False], ids=["looked at", "not looked at"])
@pytest.mark.parametrize("model", MODELS[6:], ids=named)
def test_a_model_that_has_got_more_objects_is_that_of_all(model, looked_at, saved, tmp_path):
    """Whatever is asked first, and once more: nothing of the model before is left."""
    model = clone(model).set_params(landmarks=X[:30], **FIXED)
    whole = clone(model).fit(X, y)
    names = [m for m in (*METHODS, "predict", *PUBLIC) if hasattr(whole, m)]

    def ask(fitted, name):
        value = getattr(fitted, name)
        return np.asarray(value(X[:99]) if callable(value) else value)

    for first in names[: 2 if saved == "saved" else None]:
        grown = clone(model).fit(X[:400], y[:400])
        if looked_at:
            ask(grown, first)
        grown.partial_fit(X[400:], y[400:])
        if saved == "pickled":
            grown = pickle.loads(pickle.dumps(grown))
        elif saved == "saved":
            grown = load_model(save_model(grown, tmp_path / f"{first}.skops"))
        for name in (first, first, *names):
            got, expected = ask(grown, name), ask(whole, name)
            if got.dtype.kind == "f":
                scale = max(1.0, np.abs(expected).max())
                assert_allclose(got / scale, expected / scale, atol=1e-9, err_msg=f"{first} {name}")
            else:
                assert_array_equal(got, expected)


def test_a_class_that_has_not_come_has_its_columns():
    known = y != "c"
    for model in (MODELS[13], MODELS[14], MODELS[16], MODELS[11], MODELS[6]):
        model = clone(model).set_params(landmarks=X[:30], **FIXED)
        model.partial_fit(X[known], y[known], classes=["a", "b", "c"])
        assert (model.decision_function(X)[:, 2] == -np.inf).all()
        assert (np.delete(model.decision_function(X), 2, axis=1) > -np.inf).all()
        assert set(model.predict(X)) == {"a", "b"}
        if hasattr(model, "predict_proba"):
            assert (model.predict_proba(X)[:, 2] == 0).all()
            assert_allclose(model.predict_proba(X).sum(axis=1), 1)
            assert (model.predict_log_proba(X)[:, 2] == -np.inf).all()


# --- how many -------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", PLAIN)
def test_auto_takes_few_landmarks_where_few_suffice(cls):
    Z = np.random.default_rng(0).normal(size=(4000, 2))
    labels = (Z[:, 0] + 0.3 * Z[:, 1] ** 2 > 0).astype(int)
    model = cls(reg=0.1, landmarks="auto", random_state=0).fit(Z, labels)
    assert len(model.landmarks_) == 62  # of 500, the smallest of the path 500, 250, 125, 62
    assert model.score(Z, labels) > 0.95
    nested = cls(reg=0.1)
    nested.set_params(landmarks=model.landmarks_, gamma=model.kernel_.gamma, standardize=False)
    # Rounding of the moments, divided by the smallest eigenvalue that is kept.
    assert gap(model, nested.fit(Z, labels), Z[:99]) < 1e-6


def test_auto_takes_more_where_more_are_better(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(4000, 2))
    labels = (np.floor(8 * Z).sum(axis=1) % 2).astype(int)  # a chessboard
    options = {"landmarks": "auto", "random_state": 0, "gamma": 100.0, "reg": 1e-4}
    model = KernelQuadraticDiscriminant(**options).fit(Z, labels)
    assert len(model.landmarks_) >= 250
    monkeypatch.setattr("mahalearn.training.summary.available_memory", lambda: 10**6)
    assert len(clone(model).fit(Z, labels).landmarks_) <= 60


# --- searches -------------------------------------------------------------------------------------


SEARCHES = [
    (KernelQuadraticDiscriminant, {"variant": list(VARIANTS)}),
    (KernelFisherDiscriminant, {}),
    (KernelPCAQuadraticDiscriminant, {}),
    (DissimilaritySpaceDiscriminant, {"variant": ["RC+", "FK-"]}),
]
GRID = {"reg": [0.01, 0.3], "gamma": [0.05, 0.3]}


def assert_same_results(found, grid):
    """cv_results_ of both, whatever the order of the candidates."""
    results = {}
    for params, *scores in zip(
        grid.cv_results_["params"], *_split_scores(grid.cv_results_), strict=True
    ):
        results[tuple(sorted(params.items()))] = scores
    names = set(grid.cv_results_["params"][0])
    for params, *scores in zip(
        found.cv_results_["params"], *_split_scores(found.cv_results_), strict=True
    ):
        key = tuple(sorted((name, v) for name, v in params.items() if name in names))
        assert_allclose(scores, results.pop(key), rtol=1e-10, atol=1e-10)
    assert not results


def _split_scores(results):
    return [results[key] for key in sorted(results) if key.startswith("split")]


@pytest.mark.parametrize("how", ["folds", "groups", "shuffled"])
@pytest.mark.parametrize("plain, variants", SEARCHES, ids=lambda v: str(v)[-30:])
def test_searches_equal_refits_with_the_same_landmarks(plain, variants, how):
    cv = {
        "folds": StratifiedKFold(4, shuffle=True, random_state=0),
        "groups": GroupKFold(3),
        "shuffled": ShuffleSplit(5, test_size=0.3, random_state=0),
    }[how]
    rows, labels = X[:400], y[:400]
    groups = np.arange(400) // 7 if how == "groups" else None
    scoring = {"folds": None, "groups": "f1_macro", "shuffled": "balanced_accuracy"}[how]
    common = {"landmarks": X[:40], "standardize": False}
    found = search(plain, **GRID, **variants, **common, cv=cv, scoring=scoring)
    found.fit(rows, labels, groups=groups)
    grid = GridSearchCV(plain(**common), {**GRID, **variants}, cv=cv, scoring=scoring)
    grid.fit(rows, labels, groups=groups)
    assert_same_results(found, grid)
    refit = plain(**common, **found.best_params_).fit(rows, labels)
    assert gap(found.best_estimator_, refit, X[:99]) < 1e-10


@pytest.mark.parametrize("kernel", ["rbf", "sigmoid"])
@pytest.mark.parametrize("reg_on", ["covariance", "kernel"])
def test_folds_of_a_search_share_kernel_rows_or_do_not(monkeypatch, kernel, reg_on):
    # With reg_on="kernel" k(x, x) cancels where the classes are of one size: in the first fold.
    two = np.flatnonzero(codes < 2)
    of_a, of_b = np.flatnonzero(codes[two] == 0), np.flatnonzero(codes[two] == 1)
    test = np.r_[of_a[240:], of_b[240:]]
    places = [(np.r_[of_a[:200], of_b[:n]], test) for n in (200, 240)]
    options = {"reg": [0.01, 0.3], "gamma": [0.1], "kernel": kernel, "landmarks": X[:40]}
    options |= {"variant": ["RC+", "IC+", "FK+"], "standardize": False, "cv": places}

    def found(reg_on=reg_on):
        found = search(KernelQuadraticDiscriminant, **options, reg_on=reg_on).fit(X[two], y[two])
        return found.oof_scores_, found.cv_results_["mean_test_score"]

    together = found()
    with config_context(working_memory=0.05):
        for one, other in zip(found(), together, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    monkeypatch.setattr("mahalearn.formulas.quadratic_form._WIDE", 1)
    for one, other in zip(found(), together, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_threads_predict_with_one_model():
    model = KernelQuadraticDiscriminant(landmarks=60, random_state=0).fit(X, y)
    parts = [np.roll(X, i, axis=0) for i in range(8)]
    alone = [model.decision_function(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(pool.map(model.decision_function, parts * 5), alone * 5, strict=True):
            assert_array_equal(one, other)


def test_a_search_does_not_depend_on_jobs_and_refits_with_the_landmarks_it_chose():
    options = {"reg": [0.01, 0.1], "gamma": [0.05, 0.3], "landmarks": 30, "standardize": False}
    for method in ("kmeans", "uniform", "rpcholesky"):
        options["landmarks"] = LandmarkMap(30, method=method)
        one = search(KernelQuadraticDiscriminant, **options, random_state=3).fit(X, y)
        if method == "kmeans":
            two = search(KernelQuadraticDiscriminant, **options, random_state=3, n_jobs=2).fit(X, y)
            assert_array_equal(one.best_estimator_.landmarks_, two.best_estimator_.landmarks_)
            assert_allclose(
                one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-12
            )
        best = one.best_estimator_
        given = clone(best).set_params(landmarks=best.landmarks_).fit(X, y)
        assert gap(one.best_estimator_, given, X[:99]) < 1e-10


def test_searches_of_objects_and_matrices():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc" if i % 2 else "cde"), 6)) for i in range(200)]
    labels = np.arange(200) % 2
    kernels = [MeasureKernel("edit", kind="rbf", gamma=0.5), MeasureKernel("edit")]
    options = {"landmarks": 40, "random_state": 0, "reg": [0.01, 0.1]}
    found = search(KernelQuadraticDiscriminant, kernel=kernels, **options).fit(words, labels)
    assert found.best_score_ > 0.9 and set(found.best_estimator_.landmarks_) <= set(words)
    K = MATRICES["rbf"][:N, :N]
    square = search(KernelQuadraticDiscriminant, kernel="precomputed", **options).fit(K, LABELS)
    at = square.best_estimator_.landmarks_
    columns = search(
        KernelQuadraticDiscriminant, kernel="precomputed", **{**options, "landmarks": at}
    ).fit(K[:, at], LABELS)
    assert_allclose(
        square.cv_results_["mean_test_score"], columns.cv_results_["mean_test_score"], rtol=1e-10
    )
    assert_array_equal(square.predict(K), columns.predict(K[:, at]))


@pytest.mark.parametrize("landmarks", [30, X[:30], "auto"], ids=["number", "given", "auto"])
def test_searches_of_batches(landmarks):
    batches = [(X[:250], y[:250]), (X[250:], y[250:])]
    options = {"landmarks": landmarks, "random_state": 0, "cv": 4}
    options |= {"reg": [0.01, 0.1], "gamma": ["scale", 0.02, 0.1]}
    found = search(KernelQuadraticDiscriminant, **options).fit(batches)
    others = search(KernelQuadraticDiscriminant, **options).fit(
        [(X[:700], y[:700]), (X[700:], y[700:])]
    )
    assert len(found.oof_scores_) == len(y)  # the sample holds all rows
    results = [s.cv_results_["mean_test_score"] for s in (found, others)]
    assert_allclose(*results, rtol=1e-10)  # folds do not depend on the batches
    in_memory = search(KernelQuadraticDiscriminant, **options).fit(X, y)
    assert found.cv_results_["params"] == in_memory.cv_results_["params"]
    assert abs(found.best_score_ - in_memory.best_score_) < 0.03  # other folds
    best = found.best_estimator_
    given = clone(best).set_params(landmarks=best.landmarks_).fit(X, y)
    assert gap(best, given, X[:99]) < 1e-8
    assert found.n_splits_ == 4 and found.predict_proba(X).shape == (900, 3)
    with pytest.raises(ValueError, match="cv must be a number"):
        KernelSearchCV(KernelQuadraticDiscriminant(landmarks=9), cv=GroupKFold(3)).fit(batches)


@pytest.mark.parametrize("cls", PLAIN)
def test_the_best_of_a_search_is_the_plain_estimator_and_has_seen_the_columns(cls):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    found = search(cls, gamma=[0.05, 0.2], landmarks=20, random_state=0, standardize=False)
    batches = [(table[:400], y[:400]), (table[400:], y[400:])]
    streamed, in_memory = clone(found).fit(batches), clone(found).fit(table, y)
    for model in (streamed, in_memory):
        best = model.best_estimator_
        refit = clone(best).set_params(landmarks=best.landmarks_).fit(table, y)
        assert gap(best, refit, table[:99]) < 1e-9
        assert best.feature_names_in_.tolist() == list("uvwxyz") and best.n_features_in_ == 6
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[list("zyxwvu")])
        again = clone(best).set_params(landmarks=best.landmarks_).fit(table, y)
        for one in (best, again):
            one.partial_fit(table[:99], y[:99])
        assert gap(best, again, table[:99]) < 1e-9


def test_a_fold_that_lacks_a_class():
    rows = np.r_[np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:1]]
    Z, labels = X[rows], y[rows]
    folds = [(np.arange(len(Z) - 1), np.arange(len(Z) - 1, len(Z)))]
    options = {"gamma": [0.1], "reg": [0.1], "cv": folds, "landmarks": Z[:30]}
    found = search(KernelQuadraticDiscriminant, **options, standardize=False).fit(Z, labels)
    assert found.best_score_ == 0.0  # a class never seen is never predicted


@pytest.mark.parametrize("plain", [s for s, *_ in SEARCHES])
def test_a_fold_is_blind_to_its_own_rows(plain):
    seen = []

    def watching(estimator, rows, truth):
        seen.append(estimator.decision_function(rows))
        return 0.0

    folds = list(StratifiedKFold(3).split(X, y))
    options = {"reg": [0.1], "gamma": [0.1], "landmarks": X[:30], "standardize": False}
    model = search(plain, **options, cv=folds, scoring=watching)
    model.fit(X, y)
    before, seen[:] = list(seen), []
    changed = X.copy()
    row = folds[1][1][5]
    changed[row] += 2.0
    model.fit(changed, y)
    others = np.delete(np.arange(len(folds[1][1])), 5)
    assert relative(seen[1][others], before[1][others]) < 1e-9  # the scorer's table is rounded
    assert relative(seen[1][5:6], before[1][5:6]) > 1e-6
    assert not np.array_equal(seen[0], before[0])  # it is a training row there


# --- objects, precision, files --------------------------------------------------------------------


@pytest.mark.parametrize("cls", PLAIN)
def test_objects(cls):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc" if i % 2 else "cde"), 6)) for i in range(300)]
    labels = np.arange(300) % 2
    for kind, landmarks in (("neg_squared", 40), ("rbf", "auto"), ("rbf", words[:30])):
        kernel = MeasureKernel("edit", kind=kind, gamma=0.3)
        model = cls(kernel=kernel, landmarks=landmarks, random_state=0).fit(words, labels)
        assert set(model.landmarks_) <= set(words)
        assert model.score(words, labels) > 0.9
        assert len(model.residual(words[:7])) == 7
        batches = cls(kernel=model.kernel_, landmarks=model.landmarks_, random_state=0)
        batches.set_params(kernel__scale=model.kernel_.scale_)
        batches.fit([(words[:100], labels[:100]), (words[100:], labels[100:])])
        assert gap(batches, clone(batches).fit(words, labels), words[:50]) < 1e-9


@pytest.mark.parametrize("length", [1, 12])
def test_batches_of_series_of_other_length(length):
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    first, second = (rng.normal(y[:, None], size=(40, size)) for size in (10, length))
    kernel = MeasureKernel("dtw", scale=3.0)
    model = KernelQuadraticDiscriminant(kernel=kernel, landmarks=10, random_state=0)
    whole = clone(model).fit([*first, *second], np.tile(y, 2))
    assert gap(model.fit([(first, y), (second, y)]), whole, second) < 1e-9


def test_tables_with_mixed_columns():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 2
    table = pd.DataFrame(
        {"size": rng.normal(size=120) + labels, "colour": np.where(labels, "red", "green")}
    )
    table.loc[::7, "colour"] = "blue"
    for landmarks in (20, "auto", table.iloc[:15]):
        model = KernelQuadraticDiscriminant(
            kernel=MeasureKernel("gower"), landmarks=landmarks, random_state=0
        ).fit(table, labels)
        assert model.score(table, labels) > 0.85


@pytest.mark.parametrize("cls", PLAIN)
def test_float32_stays_float32(cls):
    model = cls(landmarks=60, random_state=0).fit(X.astype(np.float32), y)
    assert model.landmarks_.dtype == np.float32
    double = cls(landmarks=model.landmarks_.astype(float)).fit(X, y)
    assert (model.predict(X.astype(np.float32)) == double.predict(X)).mean() >= 0.99
    assert model.decision_function(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("landmarks", [20, "auto", X[:15]], ids=["number", "auto", "given"])
@pytest.mark.parametrize("model", MODELS[5:], ids=named)
def test_models_are_cloned_shown_and_saved(model, landmarks, tmp_path):
    model = clone(model).set_params(landmarks=landmarks, random_state=0)
    assert "landmarks=" in repr(model) and model._repr_html_()
    model.fit(X, y)
    path = save_model(model, tmp_path / "m.skops")
    for again in (load_model(path), pickle.loads(pickle.dumps(model))):
        assert gap(again, model, X[:99]) == 0
        assert_array_equal(again.residual(X[:9]), model.residual(X[:9]))
        assert again.kernel_spectrum().shape == (len(model.landmarks_),)
    assert not hasattr(clone(model), "landmarks_")
    exact = clone(model).set_params(landmarks=None)
    assert not hasattr(exact, "partial_fit") and not hasattr(exact, "residual")
    refitted = model.set_params(landmarks=None).fit(X, y)  # nothing of the first fit stays
    assert gap(refitted, exact.fit(X, y), X[:99]) == 0
    assert not hasattr(refitted, "landmarks_")


def test_searches_are_saved(tmp_path):
    found = KernelSearchCV(
        KernelQuadraticDiscriminant(landmarks=20, random_state=0), {"reg": [0.1], "gamma": [0.1]}
    ).fit(X, y)
    again = load_model(save_model(found, tmp_path / "s.skops"))
    assert_array_equal(again.predict_proba(X), found.predict_proba(X))


def test_tools_of_scikit_learn():
    pd = pytest.importorskip("pandas")
    model = KernelQuadraticDiscriminant(landmarks=40, random_state=0)
    assert cross_val_score(model, X, y).mean() > 0.75
    table = pd.DataFrame(X, columns=list("uvwxyz"))
    model.fit(table, y)
    assert model.feature_names_in_.tolist() == list("uvwxyz")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("zyxwvu")])
    model.fit([(table[:400], y[:400]), (table[400:], y[400:])])
    assert model.feature_names_in_.tolist() == list("uvwxyz")
    K = MATRICES["rbf"][:N, :N]
    matrix = KernelQuadraticDiscriminant(landmarks=20, kernel="precomputed", random_state=0)
    assert cross_val_score(matrix, K, LABELS, cv=3).mean() > 0.3


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"landmarks": 0}, "positive whole number"),
        ({"landmarks": 2.5}, "positive whole number"),
        ({"landmarks": "all"}, "a positive number, 'auto', a collection"),
        ({"landmarks": [1, 2, 3]}, "look like positions"),
        ({"landmarks": []}, "collection of objects"),
        ({"landmarks": X[:5, :4]}, "4 features, the data 6"),
        ({"landmarks": np.full((3, 6), np.nan)}, "landmarks contains NaN"),
        ({"landmarks": np.zeros(6)}, "landmarks must be a two-dimensional"),
        ({"landmarks": LandmarkMap(5, rtol=-1.0)}, "rtol"),
        ({"landmarks": LandmarkMap(5, rtol="small")}, "rtol"),
        ({"landmarks": LandmarkMap(5, rtol=2)}, "rtol"),
        ({"landmarks": LandmarkMap(5, method="greedy")}, "method"),
        ({"landmarks": LandmarkMap(5, gamma=2.0)}, "the classifier's own parameter"),
        ({"landmarks": LandmarkMap(2.5)}, "positive whole number"),
        ({"landmarks": 5, "spectrum": "shift"}, "not available with landmarks"),
        ({"landmarks": 5, "offset": "loo"}, "not available with landmarks"),
        ({"landmarks": [3, 99], "kernel": "precomputed"}, "positions among the rows"),
        ({"landmarks": 3, "kernel": "precomputed"}, "square matrix"),
    ],
)
def test_bad_parameters_get_a_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        KernelQuadraticDiscriminant(**params).fit(X[:90], y[:90])


def test_bad_input_gets_a_sentence():
    model = KernelQuadraticDiscriminant(landmarks=X[:9])
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match="not a generator"):
        model.fit((X[i : i + 9], y[i : i + 9]) for i in range(0, 900, 9))
    with pytest.raises(ValueError, match="pairs"):
        model.fit([X, X])
    with pytest.raises(ValueError, match="batches are empty"):
        model.fit([])
    with pytest.raises(ValueError, match="features"):
        model.fit([(X, y), (X[:, :3], y)])
    with pytest.raises(ValueError, match="classes must be given"):
        clone(model).partial_fit(X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        clone(model).partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="greater than one"):
        model.fit(X[y == "a"], y[y == "a"])
    with pytest.raises(ValueError, match="not available with landmarks"):
        DissimilaritySpaceDiscriminant(landmarks=9, cv=5).fit(X, y)
    with pytest.raises(ValueError, match="first batch"):
        KernelQuadraticDiscriminant(kernel="precomputed", landmarks=5).fit([(X, y)])
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(900))
    with pytest.raises(AttributeError, match="no attribute"):
        KernelQuadraticDiscriminant().partial_fit(X, y)
    with pytest.raises(ValueError, match="with landmarks= only"):
        KernelQuadraticDiscriminant().fit([(X, y)])
    for labels in (None, y):
        with pytest.raises(ValueError, match="with landmarks= only"):
            KernelSearchCV(KernelQuadraticDiscriminant()).fit(
                [(X[:500], y[:500]), (X[500:], y[500:])], labels
            )
    for estimator in (model, KernelSearchCV(KernelQuadraticDiscriminant(landmarks=9))):
        with pytest.raises(ValueError, match="without a further y"):
            estimator.fit([(X[:500], y[:500]), (X[500:], y[500:])], y)
    with pytest.raises(ValueError, match="all zero here"):
        landmarks = LandmarkMap(3, method="rpcholesky")
        KernelQuadraticDiscriminant(kernel="edit", landmarks=landmarks).fit(
            ["ab", "abc", "cba", "c"], [0, 0, 1, 1]
        )


@pytest.mark.parametrize(
    "model", [KernelQuadraticDiscriminant(landmarks=9), GaussianClassifier()], ids=type
)
def test_labels_of_another_type_in_a_later_batch(model):
    numbers = np.unique(y, return_inverse=True)[1]
    with pytest.raises(ValueError, match=r"different types \(int, str\)"):
        model.fit([(X[:400], numbers[:400]), (X[400:], numbers[400:].astype(str))])
    with pytest.raises(ValueError, match=r"different types \(NoneType, str\)"):
        model.fit([(X, np.where(y == "a", None, y.astype(object)))])
    # Numbers of another type are the same classes.
    model.fit([(X[:400], numbers[:400]), (X[400:], numbers[400:].astype(float))])
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "model", [KernelQuadraticDiscriminant(landmarks=9), GaussianClassifier()], ids=type
)
def test_a_list_of_many_classes_is_no_regression_target(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, np.arange(900) % 60, classes=np.arange(60))
        model.fit([(X, np.arange(900) % 60)])
    assert len(model.classes_) == 60


def test_full_conformal_prediction_is_refused():
    estimator = KernelQuadraticDiscriminant(landmarks=30, random_state=0)
    with pytest.raises(ValueError, match="at landmarks"):
        ConformalClassifier(estimator, "full").fit(X, y)
    p = ConformalClassifier(estimator, "split", random_state=0).fit(X, y).p_values(X)
    assert p.shape == (900, 3)


def test_many_objects_are_pointed_to_landmarks(monkeypatch):
    monkeypatch.setattr("mahalearn.classifiers.kernel_classifier.MANY_OBJECTS", 500)
    with pytest.warns(UserWarning, match="landmarks=1000"):
        KernelQuadraticDiscriminant().fit(X, y)
    monkeypatch.setattr("mahalearn._validation.available_memory", lambda: 10**5)
    for model in (KernelQuadraticDiscriminant(), KernelSearchCV(KernelFisherDiscriminant())):
        with pytest.raises(MemoryError, match="landmarks=1000"):
            model.fit(X[:400], y[:400])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr("mahalearn._validation.available_memory", lambda: None)
        KernelQuadraticDiscriminant(landmarks=20, random_state=0).fit(X, y)


def test_k_xx_of_precomputed_rows():
    """RC with several σ² needs k(x, x) of queries, as without landmarks."""
    scale = np.linspace(1, 2, len(MATRICES["rbf"]))
    K = MATRICES["rbf"] * np.outer(scale, scale)
    model = KernelQuadraticDiscriminant(
        reg=[0.1, 0.2, 0.3], kernel="precomputed", landmarks=30, random_state=0
    ).fit(K[:N, :N], LABELS)
    with pytest.raises(ValueError, match="self_similarity"):
        model.predict(K[N:, :N])
    d2 = model.mahalanobis(K[N:, :N], self_similarity=K.diagonal()[N:])
    lookup = clone(model).set_params(kernel=PrecomputedKernel(K), landmarks=model.landmarks_)
    lookup.fit(np.arange(N), LABELS)
    assert relative(d2, lookup.mahalanobis(np.arange(N, len(K)))) < 1e-9
    residual = model.residual(K[N:, :N], self_similarity=K.diagonal()[N:])
    assert_allclose(residual, lookup.residual(np.arange(N, len(K))), atol=1e-9)
