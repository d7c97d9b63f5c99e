"""Dask collections, Parquet batches and bounded memory: the same models as from arrays."""

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from searches import search
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import make_classification

import mahalearn
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisKernel,
    MahalanobisNovelty,
    MeasureKernel,
    PrecomputedKernel,
    ProximityKernel,
    PseudoEuclideanEmbedding,
    distributed,
)
from mahalearn.datasets import ParquetBatches
from mahalearn.training import sources

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")

X, y = make_classification(4000, 8, n_informative=8, n_redundant=0, n_classes=3, random_state=0)
OPTIONS = {"landmarks": 30, "random_state": 0}


@pytest.fixture(autouse=True)
def one_process():
    """Small graphs run in this process, unless a test brings a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(rows=700):
    return da.from_array(X, chunks=(rows, 8)), da.from_array(y, chunks=rows)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows in seven Parquet files, float64 features and string labels."""
    path = tmp_path_factory.mktemp("parts")
    for i, rows in enumerate(np.array_split(np.arange(len(X)), 7)):
        table = pd.DataFrame(X[rows], columns=[f"f{j}" for j in range(8)])
        table["kind"] = np.array(["red", "green", "blue"])[y[rows]]
        table.to_parquet(path / f"part-{i}.parquet", row_group_size=300)
    return path


MODELS = [
    KernelQuadraticDiscriminant(**OPTIONS),
    KernelQuadraticDiscriminant("IC-", offset="map", **OPTIONS),
    KernelQuadraticDiscriminant("FK+", landmarks=X[:30], gamma=0.1),
    KernelFisherDiscriminant(**OPTIONS),
    KernelPCAQuadraticDiscriminant(**OPTIONS),
    DissimilaritySpaceDiscriminant("quadratic", **OPTIONS),
    GaussianClassifier(),
    GaussianClassifier("diag", pooled=True),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m)[:60])
def test_dask_arrays_give_the_local_model(model):
    local = clone(model).fit(X, y)
    fitted = clone(model).fit(*chunked())
    assert_array_equal(fitted.predict(X[:500]), local.predict(X[:500]))
    assert relative(fitted.decision_function(X[:500]), local.decision_function(X[:500])) < 1e-10
    assert fitted.n_features_in_ == 8
    with dask.config.set(scheduler="threads"):  # whoever computes: the same bits
        again = clone(model).fit(*chunked())
    assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    if hasattr(fitted, "landmarks_"):
        assert_array_equal(fitted.landmarks_, local.landmarks_)  # whatever the parts
        fitted.partial_fit(X[:9], y[:9])  # an ordinary estimator


PIXELS = np.clip(100 + 20 * X, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("method", ["kmeans", "uniform", "given"])
def test_small_whole_numbers_do_not_overflow(kernel, method):
    landmarks = LandmarkMap(30, method=method, random_state=0)
    landmarks = PIXELS[:30] if method == "given" else landmarks
    model = KernelFisherDiscriminant(kernel=kernel, landmarks=landmarks, standardize=False)
    collection = da.from_array(PIXELS, chunks=(700, 8)), da.from_array(y, chunks=700)
    fitted = clone(model).fit(*collection)
    if method == "given":
        model.set_params(landmarks=landmarks.astype(float))
    local = model.fit(PIXELS.astype(float), y)
    assert_array_equal(fitted.landmarks_, local.landmarks_)
    expected = local.decision_function(PIXELS[:500])
    assert relative(fitted.decision_function(PIXELS[:500]), expected) < 1e-5


@pytest.mark.parametrize("model", [MODELS[0], MODELS[-1]], ids=lambda m: type(m).__name__)
def test_dask_dataframes_give_the_local_model(model, folder):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.read_parquet(folder)
    names = [f"f{j}" for j in range(8)]
    fitted = clone(model).fit(frame[names], frame["kind"])
    assert fitted.feature_names_in_.tolist() == names
    local = clone(model).fit(ParquetBatches(folder, target="kind", batch_rows=250))
    assert local.classes_.tolist() == ["blue", "green", "red"]
    table = pd.DataFrame(X[:500], columns=names)
    assert relative(fitted.decision_function(table), local.decision_function(X[:500])) < 1e-12


class Counted:
    """Dask arrays whose parts, some of them empty, count how often they are read."""

    def __init__(self):
        self.readings = 0

    def read(self, start, stop):
        self.readings += 1
        return X[start:stop], y[start:stop]

    def arrays(self, sizes):
        parts = [(0, 0), (0, 900), (900, 900), (900, 2500), (2500, 4000), (4000, 4000)]
        read = [dask.delayed(self.read, pure=False)(*ends) for ends in parts]
        return (
            da.concatenate(
                [
                    da.from_delayed(part[i], (size, *shape), values.dtype)
                    for part, size in zip(read, sizes, strict=True)
                ],
                allow_unknown_chunksizes=True,
            )
            for i, (shape, values) in enumerate((((8,), X), ((), y)))
        )


KNOWN, UNKNOWN = [0, 900, 0, 1600, 1500, 0], [np.nan] * 6


@pytest.mark.parametrize(
    ("model", "sizes", "readings"),
    [
        # Landmarks that are given: the lengths come with the first look.
        (KernelQuadraticDiscriminant(landmarks=X[:30]), UNKNOWN, 2 * 6 - 3),
        (KernelQuadraticDiscriminant(landmarks=X[:30]), KNOWN, 2 * 3),
        # A sample is drawn by positions: unknown lengths cost a reading of their own.
        (KernelQuadraticDiscriminant(**OPTIONS), UNKNOWN, 3 * 6 - 2 * 3),
        (KernelQuadraticDiscriminant(**OPTIONS), KNOWN, 2 * 3),
        (GaussianClassifier(), UNKNOWN, 2 * 6 - 3),
    ],
)
def test_a_collection_is_read_as_seldom_as_a_stream(model, sizes, readings):
    source = Counted()
    fitted = clone(model).fit(*source.arrays(sizes))
    assert source.readings == readings
    local = clone(model).fit(X, y)
    assert relative(fitted.decision_function(X), local.decision_function(X)) < 1e-12


def test_parts_must_be_as_long_as_their_chunks_say():
    rows, labels = Counted().arrays([0, 900, 0, 1500, 1600, 0])
    with pytest.raises(ValueError, match="has 1600 rows, and 1500 were expected"):
        KernelQuadraticDiscriminant(**OPTIONS).fit(rows, labels)


def test_lengths_of_a_dataframe_are_read_from_one_column(folder):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.read_parquet(folder)
    seen = []

    def wide(table):
        seen.append(table.shape[1])
        return table

    names = [f"f{j}" for j in range(8)]
    table = frame[names].astype(float)
    parts, lengths = sources.dask_parts(table, frame["kind"])
    assert lengths is None
    assert sources.part_lengths(table, parts) == (572, 572, 572, 571, 571, 571, 571)
    # Where dask joined parts, and where it cannot look through a step, parts are counted whole.
    few = frame[names[:1]]
    parts, _ = sources.dask_parts(few, frame["kind"])
    assert sum(sources.part_lengths(few, parts)) == len(X)
    opaque = frame[names].map_partitions(wide, meta=frame[names]._meta)
    assert sum(sources.part_lengths(opaque, sources.dask_parts(opaque, frame["kind"])[0])) == 4000
    assert seen == [8] * 7


def test_auto_on_a_collection():
    model = KernelQuadraticDiscriminant(landmarks="auto", random_state=0)
    local = clone(model).fit(X[:1000], y[:1000])
    parts = (da.from_array(rows[:1000], chunks=(300, *rows.shape[1:])) for rows in (X, y))
    assert_array_equal(model.fit(*parts).landmarks_, local.landmarks_)


def test_searches_of_collections():
    options = {"reg": [0.01, 0.1], "gamma": [0.1], "landmarks": 30, "random_state": 0, "cv": 3}
    found = search(KernelQuadraticDiscriminant, **options).fit(*chunked())
    local = search(KernelQuadraticDiscriminant, **options).fit(
        [(X[:999], y[:999]), (X[999:], y[999:])]
    )
    a, b = (s.cv_results_["mean_test_score"] for s in (found, local))
    assert_allclose(a, b, rtol=1e-10)
    assert_array_equal(found.predict(X[:99]), local.predict(X[:99]))


def test_spark_would_need_two_functions():
    estimator = KernelQuadraticDiscriminant(**OPTIONS)
    plan = distributed.plan_from_sample(estimator, X, y)
    parts = [
        distributed.part_moments(plan, X[i : i + 1000], y[i : i + 1000], i)
        for i in range(0, 4000, 1000)
    ]
    merged = parts[3]
    for part in parts[:3]:
        merged = distributed.merge(part, merged)
    model = distributed.model_from_moments(estimator, merged)
    whole = clone(estimator).fit(X, y)
    assert relative(model.mahalanobis(X[:99]), whole.mahalanobis(X[:99])) < 1e-12


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_are_lazy(method, folder):
    dd = pytest.importorskip("dask.dataframe")
    local = GaussianClassifier().fit(X, y)
    lazy = distributed.predict(local, chunked()[0], method)
    assert hasattr(lazy, "dask")
    assert_allclose(lazy.compute(), getattr(local, method)(X))
    frame = dd.read_parquet(folder)[[f"f{j}" for j in range(8)]]
    named = GaussianClassifier().fit(pd.DataFrame(X, columns=frame.columns), y)
    lazy = distributed.predict(named, frame, method)
    assert_allclose(lazy.compute().to_numpy(), getattr(local, method)(X))


@pytest.mark.parametrize("kind", ["sparse", "series"])
def test_parts_are_what_fit_takes(kind):
    rows, kernel = csr_array(X[:90]), "rbf"
    if kind == "series":
        rows = [x[: 4 + i % 5] for i, x in enumerate(X[:90])]
        kernel = MeasureKernel("dtw", scale=3.0)
    estimator = KernelFisherDiscriminant(kernel=kernel, **OPTIONS)
    plan = distributed.plan_from_sample(estimator, rows, y[:90])
    a, b = (distributed.part_moments(plan, rows[i : i + 45], y[i : i + 45], i) for i in (0, 45))
    model = distributed.model_from_moments(estimator, distributed.merge(a, b))
    expected = estimator.fit(rows, y[:90]).decision_function(rows)
    assert relative(model.decision_function(rows), expected) < 1e-10


def test_parts_without_rows_are_predicted():
    model = GaussianClassifier().fit(X, y)
    collection, rows = chunked()[0], X[:, 0] > X[:700, 0].max()
    for method in ("predict", "predict_proba"):
        lazy = distributed.predict(model, collection[collection[:, 0] > X[:700, 0].max()], method)
        assert_allclose(lazy.compute(), getattr(model, method)(X[rows]))
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    lazy = distributed.predict(GaussianClassifier().fit(pd.DataFrame(X), y), frame[frame[0] > 99])
    assert lazy.compute().shape == (0,)


@pytest.mark.parametrize("model", [MODELS[0], GaussianClassifier(), MahalanobisNovelty()])
def test_nullable_columns_are_numbers(model):
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(np.round(10 * X[:600]), columns=list("abcdefgh"))
    plain = clone(model).fit(table, y[:600])
    mixed = table.astype({"a": "Int64", "b": "Float64"})
    frame = dd.from_pandas(mixed.assign(kind=y[:600]), npartitions=3)
    fitted = clone(model).fit(frame[list("abcdefgh")], frame["kind"])
    assert_array_equal(distributed.predict(fitted, frame[list("abcdefgh")]), plain.predict(table))
    mixed.loc[5, "a"] = pd.NA
    frame = dd.from_pandas(mixed.assign(kind=y[:600]), npartitions=3)
    with pytest.raises(ValueError, match="X contains NaN"):
        clone(model).fit(frame[list("abcdefgh")], frame["kind"])


@pytest.mark.parametrize("model", [MODELS[0], GaussianClassifier(), MahalanobisNovelty()])
def test_parts_of_unequal_length_get_a_sentence(model):
    rows, labels = chunked()  # two filters, lengths unknown
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(rows[rows[:, 0] > 0], labels[rows[:, 1] > 0])


# Arguments of those that have no defaults.
ARGUMENTS = {
    "ConformalClassifier": (GaussianClassifier(),),
    "KernelSearchCV": (mahalearn.KernelRidgeClassifier(),),
    "MeasureKernel": ("euclidean",),
    "PrecomputedKernel": (np.eye(60),),
}


def _public():
    """Every public classifier, transformer, detector and kernel that is fitted."""
    for name in sorted({*mahalearn.__all__, *mahalearn.kernels.__all__}):
        cls = getattr(mahalearn, name, None) or getattr(mahalearn.kernels, name)
        if isinstance(cls, type) and hasattr(cls, "fit") and hasattr(cls, "get_params"):
            yield cls(*ARGUMENTS.get(name, ()))


BY_MOMENTS = (GaussianClassifier, LandmarkMap, MahalanobisNovelty)
BY_MOMENTS += (mahalearn.MahalanobisClassifierCV,)
EXACT = [m for m in _public() if not isinstance(m, BY_MOMENTS)]


@pytest.mark.parametrize("model", EXACT, ids=lambda model: type(model).__name__)
def test_what_needs_all_objects_refuses_a_collection(model):
    with pytest.raises(TypeError, match="does not take dask collections") as error:
        model.fit(*chunked())
    assert ("landmarks=" in str(error.value)) == ("landmarks" in model.get_params())
    if isinstance(model, ClassifierMixin):
        with pytest.raises(TypeError, match="does not take dask collections"):
            model.fit(X, chunked()[1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", list(_public()), ids=lambda model: type(model).__name__)
def test_queries_are_not_converted(model):
    """Every public method whose first argument is X, of every public estimator."""
    rows, labels = X[:60, :3], y[:60] > 0
    if isinstance(model, PrecomputedKernel):
        rows = np.arange(60)
    elif isinstance(model, (ProximityKernel, PseudoEuclideanEmbedding)):
        rows = np.abs(rows[:, None] - rows).sum(axis=2)
    model.fit(rows, labels)
    asked = []
    for name in (*dir(type(model)), "__call__"):
        method = getattr(model, name, None)
        if (name.startswith("_") and name != "__call__") or not inspect.ismethod(method):
            continue
        names = list(inspect.signature(method).parameters)
        # Self-similarities that are all 1 need no values.
        if names[:1] != ["X"] or (isinstance(model, MahalanobisKernel) and name == "diag"):
            continue
        if name == "alternatives":  # of a measure that is no group the objects are not looked at
            continue
        lazy = da.from_array(rows, chunks=20)
        others = {"y": labels, "classes": [False, True], "Y": rows}
        others = {key: value for key, value in others.items() if key in names}
        with pytest.raises(TypeError, match="dask"):
            getattr(deepcopy(model), name)(lazy, **others)
        asked.append(name)
    assert "fit" in asked


def test_a_map_is_fitted_in_memory_and_applied_lazily():
    with pytest.raises(TypeError, match="sample of a dask collection"):
        LandmarkMap(9).fit(chunked()[0])
    features = LandmarkMap(9, random_state=0).fit(X)
    lazy = distributed.predict(features, chunked()[0], "transform")
    assert_allclose(lazy.compute(), features.transform(X), atol=1e-12)


def test_bad_input_gets_a_sentence():
    model = KernelQuadraticDiscriminant(**OPTIONS)
    with pytest.raises(TypeError, match="y must be one, too"):
        model.fit(chunked()[0], y)
    with pytest.raises(ValueError, match="needs its labels"):
        model.fit(chunked()[0])
    with pytest.raises(ValueError, match="no rows"):
        model.fit(da.zeros((0, 3)), da.zeros(0))
    with pytest.raises(ValueError, match="takes vectors"):
        KernelQuadraticDiscriminant(kernel="edit", landmarks=5).fit(*chunked())
    with pytest.raises(ValueError, match="all rows are needed at once"):
        GaussianClassifier(shrinkage="auto").fit(*chunked())
    with pytest.raises(TypeError, match=r"distributed\.predict"):
        model.fit(X, y).predict(chunked()[0])
    rows, labels = chunked()
    for estimator in (model, KernelSearchCV(KernelQuadraticDiscriminant(landmarks=9))):
        with pytest.raises(TypeError, match="y is a dask collection and X is not"):
            estimator.fit(X, labels)
    with pytest.raises(ValueError, match="one label each"):
        model.fit(rows, labels[:-3])
    with pytest.raises(TypeError, match="arrays and dataframes are accepted"):
        model.fit(pytest.importorskip("dask.bag").from_sequence([1, 2]), labels)
    with pytest.raises(TypeError, match="of one dimension"):
        model.fit(rows, labels[:, None])
    for estimator in (model, GaussianClassifier()):
        with pytest.raises(TypeError, match="in memory"):
            estimator.partial_fit(rows, labels, classes=np.unique(y))
    for estimator in (KernelQuadraticDiscriminant(), GaussianClassifier()):
        with pytest.raises(TypeError, match="with landmarks="):
            distributed.plan_from_sample(estimator, X, y)


class _SlowKernel:
    """An RBF kernel that takes its time, so that a worker can be killed while it works."""

    positive_definite = True

    def __call__(self, A, B):
        from sklearn.metrics.pairwise import rbf_kernel

        time.sleep(0.05)
        return rbf_kernel(A, B, gamma=0.1)

    def diag(self, A):
        return np.ones(len(A))


def _scores_on_cluster(n_workers, kill):
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        dask.config.set(scheduler=None, **{"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=n_workers, **options) as cluster,
        Client(cluster) as client,
    ):
        killed = []

        victim = next(iter(client.run(os.getpid).values()))

        def kill_one():
            time.sleep(1.5)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        thread = threading.Thread(target=kill_one)
        if kill:
            thread.start()
        model = _slow_model().fit(*chunked(250))
        if kill:
            thread.join()
            assert killed
        return model.decision_function(X[:500])


def _slow_model():
    return KernelQuadraticDiscriminant(kernel=_SlowKernel(), landmarks=X[:30])


def test_the_same_bits_after_a_worker_was_killed():
    scores = _scores_on_cluster(2, True)
    assert_array_equal(scores, _slow_model().fit(*chunked(250)).decision_function(X[:500]))
    assert relative(scores, _slow_model().fit(X, y).decision_function(X[:500])) < 1e-12


@pytest.mark.full
def test_the_same_bits_on_one_worker_and_on_two():
    assert_array_equal(_scores_on_cluster(1, False), _scores_on_cluster(2, False))


# --- Parquet --------------------------------------------------------------------------------------


def test_parquet_batches_are_the_table(folder):
    batches = ParquetBatches(folder, target="kind", batch_rows=256)
    assert batches.n_rows == 4000
    assert batches.features == [f"f{j}" for j in range(8)]
    for _ in range(2):  # as often as needed
        parts = list(batches)
        assert max(len(rows) for rows, _ in parts) <= 256
        assert_array_equal(np.concatenate([rows for rows, _ in parts]), X)
        labels = np.concatenate([labels for _, labels in parts])
        assert_array_equal(labels, np.array(["red", "green", "blue"])[y])
    single = ParquetBatches(
        folder / "part-0.parquet", None, ["f3", "f1"], dtype=np.float32, batch_rows=10**6
    )
    (rows,) = single
    assert rows.dtype == np.float32
    assert_array_equal(rows, X[:572, [3, 1]].astype(np.float32))


def test_parquet_problems_get_a_sentence(tmp_path, folder):
    with pytest.raises(ValueError, match="There are no"):
        ParquetBatches(tmp_path, "y")
    with pytest.raises(FileNotFoundError, match="no file"):
        ParquetBatches(tmp_path / "a.parquet", "y")
    with pytest.raises(ValueError, match="no columns"):
        ParquetBatches(folder, "weight")
    with pytest.raises(ValueError, match="not numbers"):
        list(ParquetBatches(folder, "f0", ["kind"]))
    with pytest.raises(ValueError, match="batch_rows"):
        ParquetBatches(folder, "kind", batch_rows=0)
    pd.DataFrame({"a": [1.0, None], "y": [0, 1]}).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match="missing values"):
        list(ParquetBatches(tmp_path, "y"))
    pd.DataFrame({"b": [1.0, 2.0], "y": [0, 1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=r"other.parquet has no columns \['a'\]"):
        ParquetBatches(tmp_path, "y")
    (tmp_path / "other.parquet").write_text("no table")
    with pytest.raises(ValueError, match=r"other.parquet cannot be read"):
        ParquetBatches(tmp_path, "y")


_BOUNDED = """
import resource, sys
import numpy as np
from mahalearn import KernelQuadraticDiscriminant
from mahalearn.datasets import ParquetBatches
from mahalearn.training import sources

folder, limit = sys.argv[1], int(sys.argv[2])
batches = ParquetBatches(folder, target="y", batch_rows=8192)
def fit(source):
    return KernelQuadraticDiscriminant(landmarks=50, random_state=0).fit(source)
fit([next(iter(batches))])  # what is loaded on first use is not counted
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
used = int(status["VmData"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
model = fit(batches)
print(batches.n_rows, model.decision_function(next(iter(batches))[0]).shape)
try:
    X = np.concatenate([X for X, _ in batches])
except MemoryError:
    print("all rows do not fit")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_bounded_on_a_folder_four_times_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    n_files, rows, limit = 8, 125_000, 40 * 2**20
    table = pd.DataFrame(rng.normal(size=(rows, 20)), columns=list(map(str, range(20))))
    table["y"] = (table["0"] > 0).astype(int)
    for i in range(n_files):
        table.to_parquet(tmp_path / f"{i}.parquet", row_group_size=10_000)
    assert n_files * rows * 20 * 8 > 3.8 * limit
    result = subprocess.run(
        [sys.executable, "-c", _BOUNDED, str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[:2] == [
        "1000000 (8192,)",
        "all rows do not fit",
    ]
