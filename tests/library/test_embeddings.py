"""MahalanobisNovelty: the promise of every road by simulation, and roads that agree."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mahalearn import GaussianClassifier, MahalanobisNovelty, load_model, save_model
from mahalearn.formulas import class_metrics
from mahalearn.formulas.class_metrics import Histogram, histogram
from mahalearn.novelty import _stream, mahalanobis

pytestmark = pytest.mark.filterwarnings("ignore:With .* calibration objects", "ignore:.* are alone")

# --- the promise, by simulation -------------------------------------------------------------------

# Expected class sizes, number of columns, noise.
DESIGNS = {
    "balanced": ((20, 20, 20), 4, "normal"),
    "n_j < d": ((8, 8, 8), 12, "normal"),
    "N < d": ((6, 6), 20, "normal"),
    "10/60/200": ((10, 60, 200), 5, "normal"),
    "t2": ((20, 40), 4, "t2"),
}
LEVELS = (0.1, 0.2, 0.5)


def draw(rng, design):
    """Training rows and labels, and rows of the same mixture after them."""
    sizes, d, noise = DESIGNS[design]
    n, c = sum(sizes), len(sizes)
    y = rng.choice(c, 2 * n + 1, p=np.array(sizes) / n)
    E = rng.normal(size=(len(y), d)) if noise == "normal" else rng.standard_t(2, size=(len(y), d))
    X = E * (1 + 0.5 * y[:, None]) + 1.5 * rng.normal(size=(c, d))[y]
    return X, y, n


def p_values(detector, x, label):
    """p_none of a row, and its p-value for its own class (1 if no training row had that)."""
    p = detector.p_values(x)[0]
    j = np.flatnonzero(detector.class_labels_ == label)
    return detector.p_none(x)[0], p[j[0]] if len(j) else 1.0


def fitted(**options):
    def road(X, y, n):
        return MahalanobisNovelty(**options).fit(X[:n], y[:n])

    return road


def streamed(X, y, n):
    detector = MahalanobisNovelty(normalize=False)
    for start in range(0, n, 7):
        stop = min(start + 7, n)
        detector.partial_fit(X[start:stop], y[start:stop])
    return detector


def calibrated(X, y, n):
    detector = MahalanobisNovelty(normalize=False).fit(X[:n], y[:n])
    known = n + np.flatnonzero(np.isin(y[n : 2 * n], detector.class_labels_))
    return detector.calibrate(X[known], y[known])


def calibrated_by_group(X, y, n, groups=True):
    """Five objects, each measured twenty times."""
    detector = MahalanobisNovelty("shared", normalize=False).fit(X[:n], y[:n])
    rows = n + np.repeat(np.flatnonzero(np.isin(y[n : 2 * n], detector.class_labels_))[:5], 20)
    return detector.calibrate(X[rows], y[rows], groups=rows if groups else None)


def fitted_by_group(X, y, n, groups=True):
    """Each object is measured four times, alike but for a tenth of the noise."""
    rows = np.repeat(np.arange(n), 4)
    noise = 0.1 * np.random.default_rng(n).normal(size=(len(rows), X.shape[1]))
    detector = MahalanobisNovelty(normalize=False)
    return detector.fit(X[rows] + noise, y[rows], groups=rows if groups else None)


def in_float32(X, y, n):
    return MahalanobisNovelty(normalize=False).fit(X[:n].astype(np.float32) + 1000, y[:n])


def by_dask(X, y, n):
    dask_array = pytest.importorskip("dask.array")
    import dask

    half = (n // 2, n - n // 2)
    X, y = (dask_array.from_array(a[:n], chunks=(half, *a.shape[1:])) for a in (X, y))
    with dask.config.set(scheduler="synchronous"):
        return MahalanobisNovelty(normalize=False).fit(X, y)


ROADS = {
    "class, raw": (fitted(covariance="class", normalize=False), 0.0),
    "class, unit": (fitted(covariance="class", normalize=True), 0.0),
    "class, few pseudo rows": (fitted(covariance="class", normalize=False, pseudo_rows=2), 0.0),
    "shared, raw": (fitted(covariance="shared", normalize=False), 0.0),
    "shared, unit": (fitted(covariance="shared", normalize=True), 0.0),
    "reservoir": (fitted(calibration="reservoir", normalize=False), 0.0),
    "split": (fitted(calibration="split", normalize=False), 0.0),
    "relative": (fitted(relative=True, normalize=True), 0.0),
    "calibrate": (calibrated, 0.0),
    "calibrate, groups": (calibrated_by_group, 0.0),
    "fit, groups": (fitted_by_group, 0.0),
    "partial_fit": (streamed, 0.0),
    "float32": (in_float32, 1000.0),
    "dask": (by_dask, 0.0),
}


def counts_of_small_p(road, design, draws, seed=0, levels=LEVELS, mean=0.0):
    """How many of the draws had p ≤ a, for p_none and for the p-value of the row's class."""
    rng = np.random.default_rng([seed, *design.encode()])
    small = np.zeros((2, len(levels)), int)
    for _ in range(draws):
        X, y, n = draw(rng, design)
        if len(np.unique(y[:n])) < 2:
            continue
        x = X[-1:] if not mean else X[-1:].astype(np.float32) + np.float32(mean)
        try:
            detector = road(X, y, n)
        except ValueError as error:  # all rows of one of two classes were set aside
            assert "two are needed" in str(error)
            continue
        p = p_values(detector, x, y[-1])
        small += np.array(p)[:, None] <= np.array(levels) + 1e-12
    return small


def limits(draws, levels=LEVELS):
    return stats.binom.ppf(1 - 1e-5, draws, levels)


def check_promise(name, design, draws, monkeypatch):
    # Small enough that the reservoir is a part of the rows.
    monkeypatch.setattr(mahalanobis, "RESERVOIR_ROWS", 15)
    monkeypatch.setattr(mahalanobis, "LEAST_OF_CLASS", 4)
    road, mean = ROADS[name]
    small = counts_of_small_p(road, design, draws, mean=mean)
    assert (small <= limits(draws)).all(), small / draws


SHORT = {"dask": 40, "partial_fit": 120}


@pytest.mark.parametrize("name", ROADS)
def test_the_promise_holds(name, monkeypatch):
    hard = ("n_j < d", "t2") if name not in SHORT else ("n_j < d",)
    for design in hard:
        check_promise(name, design, SHORT.get(name, 150), monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", ROADS)
def test_the_promise_holds_everywhere(name, design, monkeypatch):
    check_promise(name, design, 200 if name == "dask" else 1500, monkeypatch)


@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_control_resubstitution_ranks_are_found_invalid(covariance, monkeypatch):
    def resubstitution(self, d2, codes, n_every=None):
        return mahalanobis.limits_of(d2, codes, d2, len(self.classes))

    monkeypatch.setattr(mahalanobis.FittedClasses, "training_limits", resubstitution)
    road = fitted(covariance=covariance, normalize=True)
    small = counts_of_small_p(road, "n_j < d", 150)
    assert (small > limits(150)).any(axis=1).all(), small / 150


def test_control_repeated_measurements_without_groups_are_found_invalid():
    def road(X, y, n):
        return calibrated_by_group(X, y, n, groups=False)

    small = counts_of_small_p(road, "balanced", 150, levels=(0.02,))
    assert small[0] > limits(150, [0.02])
    small = counts_of_small_p(calibrated_by_group, "balanced", 150, levels=(0.02,))
    assert small[0] <= limits(150, [0.02])
    small = counts_of_small_p(partial(fitted_by_group, groups=False), "n_j < d", 150)
    assert (small > limits(150)).any(axis=1).all(), small / 150


def test_groups_are_set_aside_as_a_whole():
    X, y = table(60)
    groups, twice = np.repeat(np.arange(30), 2), np.repeat(np.arange(60), 2)
    detector = MahalanobisNovelty(normalize=False).fit(X, y, groups=groups)
    assert detector.method_ == "split" and detector.guarantee_.endswith("one row of each group")
    assert detector._n_ranked == 6  # a fifth of the groups, a row of each
    assert detector.fitted_.model.counts.sum() == 48
    again = MahalanobisNovelty(normalize=False).fit(X[twice], y[twice], groups=groups[twice])
    assert again._n_ranked == 6  # copies add nothing
    for options in ({"calibration": "loo"}, {"trim": 0.1}):
        with pytest.raises(ValueError, match="a row cannot be left out while rows of its group"):
            MahalanobisNovelty(**options).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="at least two groups; got 1"):
        MahalanobisNovelty().fit(X, y, groups=np.zeros(60))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MahalanobisNovelty().fit(X, y, groups=groups[:9])


@pytest.mark.parametrize("groups", [None, np.arange(12)])
def test_a_class_that_is_set_aside_as_a_whole_has_no_distances(groups):
    """Its mean would be 0; its rows still tell how far from all classes regular rows are."""
    X, y = table(60)
    X, y = X[:12] + 100, (np.arange(12) == 11).astype(int)
    gone = []
    for seed in range(20):
        detector = MahalanobisNovelty(normalize=False, calibration="split", random_state=seed)
        with warnings.catch_warnings(record=True) as messages:
            detector.fit(X, y, groups=groups)
        if any("no distances to them: [1]" in str(message.message) for message in messages):
            gone.append(detector)
            assert detector.class_labels_.tolist() == [0]
            assert detector.p_values(X).shape == (12, 1)
            assert (detector._n_ranked, detector._class_counts().tolist()) == (5, [4])
    assert 0 < len(gone) < 20


def test_control_limits_rounded_down_lose_ties():
    t = np.array([1 / 3, 0.1, 7.0, 1e-20, 12345.678])
    for limit in t:
        down = np.nextafter(np.float32([limit]), np.float32(-1))
        assert Histogram(down, np.ones(1, int)).p_values(limit) == 0.5
        assert histogram([limit]).p_values(limit) == 1.0


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("calibration", ["loo", "split", "calibrate"])
@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_rounding_does_not_rank_equal_rows(covariance, calibration, dtype):
    """Distances of equal rows are rounding; of 20 equal ones a new one was among the strangest."""
    for seed in range(4):
        X, y = table(60, seed=seed)
        X, y = X.astype(dtype), y.astype(int)
        X[y == 0] = np.linspace(0.1, 0.9, 6)
        aside, options = calibration == "calibrate", {"covariance": covariance, "normalize": False}
        if not aside:
            options["calibration"] = calibration
        detector = MahalanobisNovelty(**options).fit(X, y)
        detector = detector.calibrate(X, y) if aside else detector
        equal = X[y == 0]
        for queries in (equal, equal[:1]):
            assert (detector.p_values(queries)[:, 0] == 1).all()
            assert (detector.p_none(queries) == detector.p_none(queries).max()).all()
            assert detector.p_none(queries).min() > 0.8
        if calibration != "loo":
            drift = detector.drift_test(equal, np.zeros(len(equal)), alternative="two-sided")
            assert drift.p_values[0] == 1


def to_powers_of_four(function):
    """A rounding of limits to very few values."""

    def rounded(t):
        with np.errstate(divide="ignore"):
            return np.exp2(2 * function(np.log2(np.asarray(t, float)) / 2)).astype(np.float32)

    return rounded


@pytest.mark.parametrize("road", [fitted(covariance="shared", normalize=False), calibrated])
def test_a_histogram_of_few_limits_keeps_the_promise(road, monkeypatch):
    """Limits rounded up cost power alone; rounded down they are invalid."""
    small = {}
    for function in (np.ceil, np.floor):
        monkeypatch.setattr(class_metrics, "rounded_up", to_powers_of_four(function))
        small[function] = counts_of_small_p(road, "balanced", 150)
    assert (small[np.ceil] <= limits(150)).all(), small
    assert (small[np.floor] > limits(150)).any(axis=1).all(), small


def test_a_histogram_bounds_the_memory_of_batches(monkeypatch, small_blocks):
    """Parts of the rows are ranked one after another: with the same counts, and no scores."""
    X, y = table(n=5000)
    X, batches = X.astype(np.float32), Batches(X.astype(np.float32), y, 600)
    as_one = MahalanobisNovelty().fit(X, y)
    monkeypatch.setattr(_stream, "MEASURED_ROWS", 1)
    in_parts = MahalanobisNovelty().fit(batches)
    assert_same(as_one, in_parts, X)
    assert_array_equal(as_one.p_values(X), in_parts.p_values(X))
    assert not hasattr(in_parts, "decision_scores_") and hasattr(as_one, "decision_scores_")
    with pytest.raises(ValueError, match="a table, and calibration"):
        MahalanobisNovelty().fit_predict(batches)
    monkeypatch.setattr(class_metrics, "DIGITS", 6)
    coarse = MahalanobisNovelty().fit(X, y)
    every = coarse.fitted_.limits.every
    assert len(every.values) < 500 < 4500 <= every.n == as_one._n_ranked
    assert (coarse.p_none(X) >= as_one.p_none(X)).all()
    assert_allclose(coarse.p_none(X), as_one.p_none(X), atol=0.03)


# --- the traps ------------------------------------------------------------------------------------


def table(n=400, d=6, c=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    X = noise * rng.normal(size=(n, d)) + 2 * rng.normal(size=(c, d))[y]
    return X, y


@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_far_rows_have_the_least_p_value_and_a_class_of_one_row_excludes_nothing(covariance):
    X, y = table()
    y[0] = 7  # alone
    detector = MahalanobisNovelty(covariance, normalize=False).fit(X, y)
    n = detector._n_ranked
    for dtype in (np.float32, np.float64):
        far = np.full((2, 6), 1e30, dtype)
        assert (detector.p_none(far) <= 2 / (n + 1)).all()
        assert (detector.predict(far) == -1).all()
        assert (detector.p_values(far)[:, 3] == 1).all()
        assert np.isfinite(detector.score_samples(far)).all()
    with pytest.warns(UserWarning, match="are alone in"):
        MahalanobisNovelty(covariance).fit(X[:30], np.arange(30))


@pytest.mark.parametrize("ordering", ["shuffled", "sorted", "reversed"])
@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_means_of_1000_in_float32(covariance, ordering):
    X, y = table(n=3000)
    X = X.astype(np.float32) + np.float32(1000)
    order = {"shuffled": slice(None), "sorted": np.argsort(y), "reversed": np.argsort(-y)}[ordering]
    X, y = X[order], y[order]
    batches = [(X[i : i + 100], y[i : i + 100]) for i in range(0, len(X), 100)]
    single = MahalanobisNovelty(covariance, normalize=False).fit(batches)
    double = MahalanobisNovelty(covariance, normalize=False).fit(X.astype(float) - 1000, y)
    queries = X[:200].astype(float)
    assert_allclose(single.mahalanobis(queries), double.mahalanobis(queries - 1000), rtol=1e-5)
    assert_allclose(single.p_none(queries), double.p_none(queries - 1000), atol=1e-3)
    scores = single.fit(X, y).decision_scores_
    assert_allclose(scores, double.decision_scores_, rtol=1e-5)
    assert_allclose(single.p_none(X[:200]), double.p_none(queries - 1000), atol=2 / 3000)


@pytest.mark.parametrize("spread", [1.0, 3000.0])
@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_single_precision_suffices_at_a_condition_of_a_million(covariance, spread):
    rng = np.random.default_rng(0)
    scales = np.arange(1.0, 65) ** -2
    y = rng.integers(0, 4, 2000)
    X = (spread * rng.normal(size=(4, 64))[y] + rng.normal(size=(2000, 64))) * scales
    X = X.astype(np.float32)
    options = {"covariance": covariance, "normalize": True, "reg": 1e-6}
    single = MahalanobisNovelty(**options).fit(X, y)
    double = MahalanobisNovelty(**options).fit(X.astype(float), y)
    # Rows of unit length in float32 have themselves a rounding, which collapsed classes enlarge.
    tolerance = 1e-4 if spread == 1 else 0.02
    assert_allclose(single.decision_scores_, double.decision_scores_, rtol=tolerance)
    metric = single.fitted_.model.metric
    unit = next(iter(single._queries(X)))
    assert_allclose(metric.nearest(unit)[0], metric.nearest(unit.astype(float))[0], rtol=3e-5)


def test_relative_distances_need_two_classes_and_a_split():
    X, y = table()
    assert MahalanobisNovelty(relative=True).fit(X, y).method_ == "split"
    with pytest.raises(ValueError, match="two are needed"):
        MahalanobisNovelty(relative=True).fit(X)
    for calibration in ("loo", "reservoir"):
        with pytest.raises(ValueError, match="no bound"):
            MahalanobisNovelty(relative=True, calibration=calibration).fit(X, y)


@pytest.mark.parametrize("normalize", [True, False])
def test_zero_rows_and_constant_columns(normalize):
    X, y = table()
    X[:5], X[:, 2] = 0.0, 0.0
    detector = MahalanobisNovelty(normalize=normalize).fit(X, y)
    assert np.isfinite(detector.mahalanobis(X)).all()
    moved = X[5:].copy()
    moved[:, 2] = 5.0
    assert (detector.predict(moved) == -1).mean() > 0.9


def test_rows_that_choose_the_units_do_not_calibrate():
    X, y = table(n=500)
    raw = MahalanobisNovelty(normalize=False).fit(X, y)
    assert raw._n_ranked == 450
    assert MahalanobisNovelty(normalize=True).fit(X, y)._n_ranked == 500
    # Units do not matter: they come from the rows.
    units = 10.0 ** np.arange(-3, 3)
    assert_allclose(MahalanobisNovelty(normalize=False).fit(X * units, y).p_none(X * units),
                    raw.p_none(X))  # fmt: skip


def test_normalize_auto_looks_at_shape_and_precision_alone():
    dask_array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    cases = ((99, "f4", False), (100, "f4", True), (100, "f2", True), (100, "f8", False))
    for d, dtype, unit in cases:
        X = rng.normal(size=(30, d)).astype(dtype)
        roads = (
            MahalanobisNovelty().fit(X),
            MahalanobisNovelty().fit([X, X]),
            MahalanobisNovelty().partial_fit(X),
            MahalanobisNovelty().fit(dask_array.from_array(X, chunks=(15, d))),
        )
        assert [bool(detector.normalize_) for detector in roads] == [unit] * 4


@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_without_regularisation_distances_are_those_of_the_gaussian_classifier(covariance):
    """But for the divisor: r_j counts a query that may join."""
    X, y = table()
    options = {"pseudo_rows": 0, "reg": 1e-12, "normalize": False}
    detector = MahalanobisNovelty(covariance, **options).fit(X, y)
    gaussian = GaussianClassifier(pooled=covariance == "shared").fit(X, y)
    n = np.bincount(y) if covariance == "class" else len(X)
    assert_allclose(detector.mahalanobis(X), gaussian.mahalanobis(X) * (n + 1) / n, rtol=1e-8)


# --- roads agree ----------------------------------------------------------------------------------


PASSES = [{}, {"covariance": "shared", "normalize": True}, {"calibration": "reservoir"}]
PASSES += [{"calibration": "split"}]


class Batches:
    """Batches that can be gone through again, of any size."""

    def __init__(self, X, y, size):
        self.X, self.y, self.size = X, y, size

    def __iter__(self):
        for start in range(0, len(self.X), self.size):
            part = slice(start, start + self.size)
            yield self.X[part] if self.y is None else (self.X[part], self.y[part])


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_stream, "POOLED_BLOCK", 1)  # 1,024 rows
    monkeypatch.setattr(_stream, "CLASS_BLOCK", 1)
    monkeypatch.setattr(mahalanobis, "QUERIES", 1)  # 256 rows


def assert_same(a, b, X):
    assert_array_equal(a.p_none(X), b.p_none(X))
    assert_array_equal(a.mahalanobis(X), b.mahalanobis(X))
    assert_array_equal(a.class_labels_, b.class_labels_)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("options", [*PASSES, {"trim": 0.1}])
def test_arrays_batches_and_memory_maps_give_the_same_bits(options, dtype, small_blocks, tmp_path):
    X, y = table(n=2500)
    X = X.astype(dtype)
    detector = MahalanobisNovelty(**options).fit(X, y)
    file = tmp_path / "X.npy"
    np.save(file, X)
    mapped = np.load(file, mmap_mode="r")
    for again in (
        MahalanobisNovelty(**options).fit(Batches(X, y, 77)),
        MahalanobisNovelty(**options).fit(mapped, y),
    ):
        assert_same(detector, again, X)
    assert_array_equal(detector.p_none(mapped), detector.p_none(X))


def test_memory_maps_are_not_read_as_a_whole(tmp_path, monkeypatch, small_blocks):
    X, y = table(n=20_000)
    np.save(tmp_path / "X.npy", X.astype(np.float16))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(mahalanobis, "PIECE", 1)
    lengths = []
    checked = _stream.check_array

    def recorded(X, **options):
        lengths.append(len(X))
        return checked(X, **options)

    monkeypatch.setattr(_stream, "check_array", recorded)
    MahalanobisNovelty().fit(mapped, y).predict(mapped)
    assert max(lengths) <= 1024


@pytest.mark.parametrize("covariance", ["class", "shared"])
def test_partial_fit_does_not_depend_on_the_division(covariance):
    X, y = table(n=900)
    whole = MahalanobisNovelty(covariance).partial_fit(X, y)
    parts = MahalanobisNovelty(covariance)
    for start in range(0, 900, 13):
        parts.partial_fit(X[start : start + 13], y[start : start + 13])
        if start == 130:
            parts.predict(X)  # a look at the detector changes nothing
    assert_allclose(parts.mahalanobis(X), whole.mahalanobis(X), rtol=1e-9)
    assert_allclose(parts.p_none(X), whole.p_none(X), atol=1e-12)
    fitted = MahalanobisNovelty(covariance).fit(X, y)
    assert_allclose(fitted.mahalanobis(X), whole.mahalanobis(X), rtol=1e-9)
    # As long as the reservoir holds all rows, it ranks among the same.
    assert_allclose(fitted.p_none(X), whole.p_none(X), atol=1e-12)


def test_a_buffer_may_be_overwritten_after_partial_fit():
    X, y = table()
    detector, buffer = MahalanobisNovelty(), np.empty((40, 6))
    for start in range(0, 400, 40):
        buffer[:] = X[start : start + 40]
        detector.partial_fit(buffer, y[start : start + 40])
    assert_allclose(detector.p_none(X), MahalanobisNovelty().partial_fit(X, y).p_none(X))


def test_classes_may_come_at_any_time_and_turn_to_a_shared_covariance():
    X, y = table(n=600, c=6)
    order = np.argsort(y, kind="stable")
    sorted_rows = MahalanobisNovelty(normalize=True)
    with config_context(working_memory=4 * 16 * 36 / 2**20):  # four classes of six columns
        for rows in np.array_split(order, 12):
            sorted_rows.partial_fit(X[rows], y[rows])
        assert MahalanobisNovelty(normalize=True).fit(X[y < 4], y[y < 4]).covariance_ == "class"
    shared = MahalanobisNovelty("shared", normalize=True).fit(X, y)
    assert sorted_rows.covariance_ == "shared"
    assert_allclose(sorted_rows.mahalanobis(X), shared.mahalanobis(X), rtol=1e-8)


@pytest.mark.parametrize("options", PASSES)
def test_dask(options):
    dask_array = pytest.importorskip("dask.array")
    X, y = table(n=900)
    detector = MahalanobisNovelty(**options).fit(X, y)

    def by(chunks, dtype=None):
        labels = dask_array.from_array(y, chunks=chunks)
        return MahalanobisNovelty(**options).fit(
            dask_array.from_array(X, chunks=(chunks, 6)), labels
        )

    assert_same(detector, by(900), X)
    parts = by(200)
    assert_allclose(parts.mahalanobis(X), detector.mahalanobis(X), rtol=1e-9)
    assert_allclose(parts.p_none(X), detector.p_none(X), atol=1e-12)
    assert_same(parts, by(200), X)
    if not options:
        whole = MahalanobisNovelty().fit(dask_array.from_array(X, chunks=(300, 6)))
        assert whole.class_labels_.tolist() == [1]
        X[5, 2] = np.nan
        with pytest.raises(ValueError, match="contains NaN"):
            by(200)


def test_tables_and_parquet_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    from mahalearn.datasets import ParquetBatches

    X, y = table()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame["label"] = y
    frame.to_parquet(tmp_path / "train.parquet")
    detector = MahalanobisNovelty().fit(frame[list("abcdef")], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(detector.explain(frame[list("abcdef")][:1])[0]["contributions"]) == [*"abcdef"]
        parts = MahalanobisNovelty().partial_fit(frame[list("abcdef")], y)
        parts.partial_fit(frame[list("abcdef")], y)
    again = MahalanobisNovelty().fit(ParquetBatches(tmp_path, target="label", batch_rows=90))
    assert_same(clone(detector).fit(X, y), again, X)


@pytest.mark.parametrize("options", [{}, {"covariance": "shared"}, {"relative": True},
                                     {"calibration": "reservoir"}])  # fmt: skip
def test_saved_and_reloaded(options, tmp_path):
    X, y = table()
    y = np.array(["a", "b", "ç"])[y]
    models = [MahalanobisNovelty(**options).fit(X, y), clone(MahalanobisNovelty(**options))]
    models[1].partial_fit(X[:200], y[:200])
    models.append(clone(models[0]).fit(X, y).calibrate(X, y))
    for i, model in enumerate(models):
        path = save_model(model, tmp_path / f"{i}.skops")
        assert path.stat().st_size < 300_000
        for again in (load_model(path), pickle.loads(pickle.dumps(model))):
            assert_same(again, model, X)
            assert_array_equal(again.p_values(X), model.p_values(X))
            assert again.guarantee_ == model.guarantee_
            if i == 1:
                again.partial_fit(X[200:], y[200:])
                whole = clone(model).partial_fit(X, y)
                assert_allclose(again.p_none(X), whole.p_none(X), atol=1e-12)


def test_fitting_again_equals_a_fresh_detector():
    X, y = table()
    detector = MahalanobisNovelty(calibration="reservoir").fit(X[:200, :3], y[:200])
    detector.set_params(calibration="auto").fit(X, y).calibrate(X[:50], y[:50])
    detector.fit(X, y)
    assert_same(detector, MahalanobisNovelty().fit(X, y), X)
    assert detector.method_ == "loo"
    detector.set_params(calibration="split").fit(X, y)
    assert not hasattr(detector, "labels_") and not hasattr(detector, "decision_scores_")


# --- methods --------------------------------------------------------------------------------------


def test_decisions_agree_with_each_other():
    X, y = table()
    rng = np.random.default_rng(1)
    Q = np.vstack([X[:50], 6 * rng.normal(size=(50, 6))])
    for options in ({}, {"covariance": "shared"}, {"relative": True}):
        detector = MahalanobisNovelty(level=0.1, **options).fit(X, y)
        p, scores = detector.p_none(Q), detector.score_samples(Q)
        assert_array_equal(detector.predict(Q) == -1, p <= 0.1)
        assert_array_equal(detector.decision_function(Q) < 0, p <= 0.1)
        assert (scores < p).all() and (scores > p - 1 / (detector._n_ranked + 1)).all()
        assert_array_equal(detector.predict_set(Q, 0.9), detector.p_values(Q) > 0.1 - 1e-12)
        assert detector.select(Q, fdr=0.2).sum() <= 100
        nearest = detector.mahalanobis(Q).min(axis=1)
        order = np.argsort(nearest)
        assert (np.diff(scores[order]) <= 1e-12).all()


def test_explanations_tell_unlike_everything_from_between_the_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 3))
    X[:, 0] += np.where(y == 0, -8, 8)
    for options in ({}, {"covariance": "shared"}):
        detector = MahalanobisNovelty(normalize=False, **options).fit(X, y)
        between, far = detector.explain(np.array([[0.0, 0, 0], [8.0, 30, 0]]))
        assert max(between["p_none"], far["p_none"]) < 0.01
        assert between["background"] < 1 < 100 < far["background"]
        assert list(far["nearest"]) == [1, 0]
        for row in (between, far):
            total = sum(row["contributions"].values())
            assert_allclose(total, next(iter(row["nearest"].values())))
        assert max(far["contributions"], key=far["contributions"].get) == "x1"
        assert max(between["contributions"], key=between["contributions"].get) == "x0"
        # The background is the distance to the mean in the covariance of all rows.
        total = np.cov(X.T, bias=True) * 400 / 401
        total += np.diag(detector.sigma2_ * pilot_variances(detector, X))
        e = np.array([8.0, 30, 0]) - X.mean(axis=0)
        assert_allclose(far["background"], e @ np.linalg.inv(total) @ e, rtol=1e-6)


def pilot_variances(detector, X):
    """Squares of the units of the columns, from the rows that chose them."""
    keys = mahalanobis.random_keys(np.arange(len(X)), 0)
    return X[np.argsort(keys)[: len(X) // 10]].var(axis=0)


def test_training_rows_are_judged_without_themselves():
    X, y = table(n=200)
    X[:10] += 8 * np.sign(np.random.default_rng(0).normal(size=(10, 6)))
    detector = MahalanobisNovelty(normalize=False)
    labels = detector.fit_predict(X, y)
    assert_array_equal(labels == -1, detector.labels_ == 1)
    assert detector.labels_.sum() == 10  # level * n
    assert set(np.argsort(-detector.decision_scores_)[:10]) == set(range(10))
    # A refit without a row measures it as the scores do, but for the number of rows.
    rest = np.arange(200) != 50
    keep = {"normalize": True, "covariance": "shared", "reg": 1e-3}
    scores = MahalanobisNovelty(**keep).fit(X, y).decision_scores_
    refit = MahalanobisNovelty(**{**keep, "reg": 1e-3 * 201 / 200}).fit(X[rest], y[rest])
    j = np.flatnonzero(refit.class_labels_ == y[50])[0]
    assert_allclose(refit.mahalanobis(X[50:51])[0, j] * 201 / 200, scores[50], rtol=1e-9)


def test_trimming_finds_contamination_that_masks_itself():
    X = table(n=300, c=1)[0]
    X[:45] = 4 + 0.3 * np.random.default_rng(1).normal(size=(45, 6))
    plain = MahalanobisNovelty().fit(X)
    trimmed = MahalanobisNovelty(trim=0.2).fit(X)
    assert trimmed.labels_[:45].mean() > 0.95 > 0.5 > plain.labels_[:45].mean()
    assert trimmed.labels_[45:].mean() < 0.2
    assert trimmed.guarantee_.startswith("none")
    assert "at most a" in trimmed.calibrate(X[45:]).guarantee_


def test_calibration_on_rows_apart():
    X, y = table(n=800)
    detector = MahalanobisNovelty().fit(X[:400], y[:400])
    d2 = detector.mahalanobis(X)
    detector.calibrate(X[400:], y[400:])
    assert detector.method_ == "calibrated"
    assert_array_equal(detector.mahalanobis(X), d2)
    members = d2[400:][y[400:] == 1, 1]
    p = [(1 + (members >= v).sum()) / (1 + len(members)) for v in d2[:9, 1]]
    assert_allclose(detector.p_values(X[:9])[:, 1], p)
    assert (detector.p_none(X[400:]) > 1 / 401).all()  # each ties with itself
    detector.calibrate(X[400:])
    with pytest.raises(ValueError, match="without labels"):
        detector.p_values(X)
    with pytest.raises(ValueError, match="not among the classes"):
        detector.calibrate(X, y + 1)


def drifting(rng, calibrate, shift=0.0):
    X, y, n = draw(rng, "n_j < d")
    detector = MahalanobisNovelty("shared", normalize=False, calibration="split").fit(X[:n], y[:n])
    if calibrate:
        detector.calibrate(X[n : n + 12])
    return detector.drift_test(X[n + 12 : 2 * n] + shift)


@pytest.mark.parametrize("calibrate", [False, True])
def test_drift_tests_are_exact_and_see_a_shift(calibrate):
    rng, levels = np.random.default_rng(0), (0.1, 0.5)
    p = np.array([drifting(rng, calibrate).p_pooled for _ in range(150)])
    assert ((p[:, None] <= levels).sum(axis=0) <= limits(150, levels)).all()
    assert np.median([drifting(rng, calibrate, 4.0).p_pooled for _ in range(20)]) < 0.01


def test_drift_tests_by_class():
    X, y = table(n=900)
    detector = MahalanobisNovelty(calibration="split").fit(X[:600], y[:600])
    moved = X[600:].copy()
    moved[y[600:] == 1] += 3
    result = detector.drift_test(moved, y[600:])
    assert result.p_values[1] < 1e-6 < 0.01 < min(result.p_values[[0, 2]])
    assert result.counts.sum() == 300 and result.p_pooled < 1e-6
    with pytest.raises(ValueError, match="Call calibrate"):
        MahalanobisNovelty().fit(X, y).drift_test(moved)
    unlabelled = detector.calibrate(X[:300]).drift_test(moved)
    assert np.isnan(unlabelled.p_values).all()


MISTAKES = {
    "level must be": {"level": 0},
    "covariance='full'": {"covariance": "full"},
    "calibration='cv'": {"calibration": "cv"},
    "normalize='yes'": {"normalize": "yes"},
    "pseudo_rows must be a finite number that is not negative": {"pseudo_rows": -1},
    "reg must be a positive": {"reg": 0},
    "trim must be": {"trim": 0.5},
    "trim goes through": {"trim": 0.1, "calibration": "split"},
    "one covariance for all": {"relative": True, "covariance": "class"},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_options_that_cannot_be(message):
    with pytest.raises(ValueError, match=message):
        MahalanobisNovelty(**MISTAKES[message]).fit(*table())


def test_rows_that_cannot_be():
    X, y = table(n=60)
    bad = X.copy()
    bad[50, 1] = np.nan
    detector = MahalanobisNovelty().fit(X, y)
    for call, message in (
        (lambda: MahalanobisNovelty().fit(X[:1]), "n_samples=1"),
        (lambda: MahalanobisNovelty().fit(X[:0]), "0 sample"),
        (lambda: MahalanobisNovelty().fit(None), "table of numbers"),
        (lambda: MahalanobisNovelty().fit(bad, y), "contains NaN"),
        (lambda: detector.predict(bad), "contains NaN"),
        (lambda: detector.predict(X[:, :2]), "expecting 6 features"),
        (lambda: detector.partial_fit(X, y), "Fit it again"),
        (lambda: MahalanobisNovelty(calibration="loo").partial_fit(X), "twice"),
        (lambda: MahalanobisNovelty().fit((X, y) for _ in range(2)), "not a generator"),
        (lambda: MahalanobisNovelty().fit([]), "0 sample|empty|1D"),
        (lambda: MahalanobisNovelty().fit([(X, y), (X, y[:-1])]), "inconsistent numbers"),
        (lambda: MahalanobisNovelty().fit([(X, y, y)]), "pair"),
        (lambda: MahalanobisNovelty().fit([(X, y), X]), "without"),
        (lambda: MahalanobisNovelty().fit([(X, y), (X, y.astype(str))]), "different types"),
        (lambda: MahalanobisNovelty().fit(X, [1, "a"] * 30), "different types"),
        (lambda: MahalanobisNovelty().fit(X, [None, "a"] * 30), "missing"),
        (lambda: MahalanobisNovelty().fit(X, X[:, 0]), "continuous"),
        (lambda: MahalanobisNovelty().fit(X * 1e200, y), "overflow"),
        (lambda: MahalanobisNovelty().fit(X * 1e-200, y), "vanish"),
        (lambda: MahalanobisNovelty(reg=1e-300).fit(X[:4]), "not positive definite"),
        (lambda: MahalanobisNovelty(calibration="split").fit_predict(X), "leave-one-out"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(NotFittedError):
        MahalanobisNovelty().predict(X)
    # A bad batch leaves nothing of itself.
    stream = MahalanobisNovelty().partial_fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        stream.partial_fit(bad, y)
    assert_same(stream, MahalanobisNovelty().partial_fit(X, y), X)


def test_batches_must_come_in_the_same_order_again():
    X, y = table(n=60)

    class Shuffled:
        rng = np.random.default_rng(0)

        def __iter__(self):
            order = self.rng.permutation(60)
            yield from ((X[rows], y[rows]) for rows in np.split(order, 3))

    with pytest.raises(ValueError, match="shuffle=False"):
        MahalanobisNovelty().fit(Shuffled())


def test_class_wise_covariances_that_do_not_fit_are_refused_with_their_size():
    X = np.random.default_rng(0).normal(size=(2000, 4096)).astype(np.float32)
    with pytest.raises(MemoryError, match=r"2000 classes of 4096 columns needs about 500.0 GiB"):
        MahalanobisNovelty("class").fit(X, np.arange(2000))


def test_a_thousand_classes():
    X, y = table(n=4000, c=1000, noise=0.1)
    detector = MahalanobisNovelty().fit(X, y)
    assert_allclose(detector._nearest(X[:50])[0], detector.mahalanobis(X[:50]).min(axis=1))
    assert (detector.predict(X) == 1).mean() > 0.9
