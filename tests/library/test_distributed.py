"""Dask collections, Parquet batches and bounded memory: the same models as from arrays."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification

from mahalearn import GaussianClassifier, KernelQuadraticDiscriminant, distributed
from mahalearn.classifiers._landmark_models import landmark_model
from mahalearn.classifiers._landmark_plan import fit_landmark_model, make_plan, scan
from mahalearn.classifiers._landmark_statistics import collect
from mahalearn.datasets import ParquetBatches

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


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("quadratic", {}),
        ("quadratic", {"variant": "FK+", "offset": "map"}),
        ("fisher", {}),
        ("kernel_pca", {}),
        ("dissimilarity", {"discriminant": "quadratic"}),
    ],
)
def test_dask_arrays_give_the_local_model(method, params):
    if params.get("offset") == "map":
        params = {"variant": "IC-", "offset": "map"}
    options = {"method": method, "values": [0.01, 0.1], "params": params, **OPTIONS}
    local, _ = fit_landmark_model(X, y, **options)
    model, statistics = distributed.fit_landmark_model(*chunked(), **options)
    assert statistics.n_rows == 4000
    assert relative(model.scores(X[:500]), local.scores(X[:500])) < 1e-11


def test_dask_dataframes_give_the_local_model(folder):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.read_parquet(folder)
    names = [f"f{j}" for j in range(8)]
    model, _ = distributed.fit_landmark_model(frame[names], frame["kind"], **OPTIONS)
    batches = ParquetBatches(folder, target="kind", batch_rows=250)
    local, statistics = fit_landmark_model(batches, **OPTIONS)
    assert statistics.plan.classes.tolist() == ["blue", "green", "red"]
    assert relative(model.scores(X[:500]), local.scores(X[:500])) < 1e-12


def test_the_plan_does_not_depend_on_the_parts():
    a, b = (make_plan(distributed.scan_parts(*chunked(n)), **OPTIONS) for n in (700, 4000))
    assert_array_equal(a.rows.landmarks, b.rows.landmarks)
    local = make_plan(scan(X, y), **OPTIONS)
    assert_array_equal(a.rows.landmarks, local.rows.landmarks)
    assert_allclose(a.rows.kernel.gamma, local.rows.kernel.gamma, rtol=1e-14)


def test_spark_would_need_two_functions():
    plan = distributed.plan_from_sample(X, y, **OPTIONS)
    parts = [
        distributed.part_moments(plan, X[i : i + 1000], y[i : i + 1000], i)
        for i in range(0, 4000, 1000)
    ]
    merged = parts[3]
    for part in parts[:3]:
        merged = distributed.merge(part, merged)
    whole = collect(plan, X, y)
    a, b = (landmark_model(s, "quadratic", [0.1]).scores(X[:99]) for s in (merged, whole))
    assert relative(a, b) < 1e-12


def test_gaussian_classifiers_from_dask():
    model = distributed.fit_gaussian(GaussianClassifier(), *chunked())
    local = GaussianClassifier().fit(X, y)
    assert_allclose(model.predict_proba(X[:99]), local.predict_proba(X[:99]), rtol=1e-10)
    with pytest.raises(ValueError, match="all rows at once"):
        distributed.fit_gaussian(GaussianClassifier(shrinkage="auto"), *chunked())


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_are_lazy(method, folder):
    dd = pytest.importorskip("dask.dataframe")
    local = GaussianClassifier().fit(X, y)
    lazy = distributed.predict(local, chunked()[0], method)
    assert distributed.is_dask_collection(lazy)
    assert_allclose(lazy.compute(), getattr(local, method)(X))
    frame = dd.read_parquet(folder)[[f"f{j}" for j in range(8)]]
    named = GaussianClassifier().fit(pd.DataFrame(X, columns=frame.columns), y)
    lazy = distributed.predict(named, frame, method)
    assert_allclose(lazy.compute().to_numpy(), getattr(local, method)(X))


def test_bad_input_gets_a_sentence():
    with pytest.raises(TypeError, match="does not take dask"):
        distributed.refuse_dask_collection(KernelQuadraticDiscriminant(), chunked()[0])
    distributed.refuse_dask_collection(KernelQuadraticDiscriminant(), X, y)
    with pytest.raises(TypeError, match="must be a dask collection"):
        distributed.scan_parts(X, y)
    with pytest.raises(ValueError, match="no rows"):
        distributed.scan_parts(da.zeros((0, 3)), da.zeros(0))


class _SlowKernel:
    """An RBF kernel that takes its time, so that a worker can be killed while it works."""

    positive_definite = True

    def __call__(self, A, B):
        from sklearn.metrics.pairwise import rbf_kernel

        time.sleep(0.1)
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

        def kill_one():
            victim = next(iter(client.run(os.getpid).values()))
            time.sleep(1.0)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

        plan = make_plan(scan(X, y), kernel=_SlowKernel(), **OPTIONS)
        thread = threading.Thread(target=kill_one)
        if kill:
            thread.start()
        statistics = distributed.collect_parts(plan, *chunked(200))
        if kill:
            thread.join()
            assert killed
        return statistics


@pytest.mark.full
def test_the_same_bits_on_one_worker_on_two_and_after_one_was_killed():
    local = collect(make_plan(scan(X, y), kernel=_SlowKernel(), **OPTIONS), X, y)
    reference = None
    for n_workers, kill in ((1, False), (2, False), (2, True)):
        statistics = _scores_on_cluster(n_workers, kill)
        scores = landmark_model(statistics, "quadratic", [0.1]).scores(X[:500])
        reference = scores if reference is None else reference
        assert_array_equal(scores, reference)
    expected = landmark_model(local, "quadratic", [0.1]).scores(X[:500])
    assert relative(reference, expected) < 1e-12


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


_BOUNDED = """
import resource, sys
import numpy as np
from mahalearn.classifiers._landmark_plan import fit_landmark_model
from mahalearn.datasets import ParquetBatches

folder, limit = sys.argv[1], int(sys.argv[2])
batches = ParquetBatches(folder, target="y", batch_rows=8192)
def fit(source):
    options = {"landmarks": 50, "random_state": 0, "sample_rows": 5000}
    return fit_landmark_model(source, **options)
fit([next(iter(batches))])  # what is loaded on first use is not counted
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
used = int(status["VmData"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
model, statistics = fit(batches)
print(statistics.n_rows, model.scores(next(iter(batches))[0]).shape)
try:
    X = np.concatenate([X for X, _ in batches])
except MemoryError:
    print("all rows do not fit")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_bounded_on_a_folder_four_times_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    n_files, rows, limit = 8, 100_000, 32 * 2**20
    for i in range(n_files):
        table = pd.DataFrame(rng.normal(size=(rows, 20)), columns=list(map(str, range(20))))
        table["y"] = (table["0"] > 0).astype(int)
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
        "800000 (1, 8192, 2)",
        "all rows do not fit",
    ]
