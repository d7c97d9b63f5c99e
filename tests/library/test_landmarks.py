"""Landmarks: exact at m = n, mergeable, nested, cross-validated from parts; chosen blindly."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

import naive
from mahalearn import (
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    LandmarkMap,
    MahalanobisKernel,
    MeasureKernel,
    PrecomputedKernel,
)
from mahalearn.classifiers.kernel_classifier import Labels
from mahalearn.formulas.feature_space import (
    landmark_features,
)
from mahalearn.kernels.landmarks import LandmarkKernel, choose_landmarks
from mahalearn.kernels.protocol import fit_kernel
from mahalearn.persistence import load_model, save_model
from mahalearn.training.landmark import LandmarkPlan
from mahalearn.training.sample import RowSample, key_limit, random_keys
from mahalearn.training.sources import BATCH_ROWS, as_batches, collect, summarise
from mahalearn.training.summary import learn_kernel, make_plan

N, Q = 90, 25
METHODS = {
    "quadratic": KernelQuadraticDiscriminant,
    "fisher": KernelFisherDiscriminant,
    "kernel_pca": KernelPCAQuadraticDiscriminant,
}
VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")


def matrices():
    """Kernel matrices of N training objects and Q queries, definite and not."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat([0, 1, 2], [40, 30, 20]))
    A = rng.normal(size=(N + Q, 4))
    A[:N] += 0.7 * codes[:, None]
    D2 = ((A[:, None] - A) ** 2).sum(axis=-1)
    city = np.abs(A[:, None] - A).sum(axis=-1)
    return codes, {
        "rbf": np.exp(-0.3 * D2),
        "indefinite": np.exp(-0.1 * city**2) - 0.3 * np.exp(-0.5 * D2),
        "without an origin": -(city**1.8) / 10,
        "negative squared": -D2 / 10,
    }


CODES, MATRICES = matrices()
TRAIN, QUERIES = np.arange(N), np.arange(N, N + Q)


class landmark_model:
    """An estimator's own path of models on a training set; the values come first in results."""

    def __init__(self, training, method, values, rtol=None, **params):
        if rtol is not None:
            training.plan = training.plan.changed(rtol=rtol, _features={})
        self.made_of = training, method, values, rtol, params
        self.estimator = METHODS[method](landmarks=1, **params)
        training.spectrum = self.estimator.spectrum
        present, self.training = training.seen()
        labels = Labels(training.plan.classes, present, self.training.codes, self.training.counts)
        self.path = self.estimator._fit_path(self.training, labels, values)

    def scores(self, X):
        return np.moveaxis(self.path.scores(self.training, X), -1, 0)

    def sq_distances(self, X):
        d2 = self.path.distances.sq_distances(X)
        return d2[None] if d2.ndim == 2 else np.moveaxis(d2, -1, 0)

    def residual(self, X):
        return self.training.residual(X)

    def at(self, i):
        """The model of one value, which is computed in another way."""
        training, method, values, rtol, params = self.made_of
        return landmark_model(training, method, values[i : i + 1], rtol, **params)


def merge_tree(parts):
    """Merge parts pairwise, neighbours first."""
    parts = list(parts)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].merge(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def planned(scanned, landmarks, kernel="rbf", **options):
    """The plan of scanned data with landmarks that are chosen."""
    estimator = KernelFisherDiscriminant(kernel=kernel)
    return make_plan(scanned, learn_kernel(scanned, estimator), landmarks, **options)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def statistics_of(K, landmarks, **options):
    """Statistics of the training objects with a kernel that looks values up in K."""
    kernel = fit_kernel(PrecomputedKernel(K), TRAIN)
    return collect(LandmarkPlan(kernel, landmarks, np.unique(CODES), **options), TRAIN, CODES)


def test_the_kernels_are_what_they_are_called():
    for name, K in MATRICES.items():
        values = np.linalg.eigvalsh(K[:N, :N])
        assert (values.min() > 0) == (name == "rbf")
    assert np.trace(MATRICES["without an origin"]) == 0


# --- m = n ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reg", [0.3, 0.05])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", MATRICES)
def test_all_objects_as_landmarks_are_the_exact_discriminant(name, variant, reg):
    K = MATRICES[name]
    exact = KernelQuadraticDiscriminant(variant, reg, kernel=PrecomputedKernel(K))
    exact.fit(TRAIN, CODES)
    statistics = statistics_of(K, TRAIN)
    path = landmark_model(statistics, "quadratic", [1.0, reg], variant=variant, rtol=1e-13)
    d2 = exact.mahalanobis(QUERIES)
    assert relative(path.sq_distances(QUERIES)[1], d2) < 1e-8
    single = path.at(1)  # its own way of computing: a triangular product
    assert relative(single.sq_distances(QUERIES)[0], d2) < 1e-8
    assert relative(single.path.offsets, exact.offsets_) < 1e-8
    assert_array_equal(single.scores(QUERIES)[0].argmax(axis=1), exact.predict(QUERIES))


@pytest.mark.parametrize("spectrum", ["ignore", "clip", "flip", "square"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["indefinite", "without an origin"])
def test_every_policy_for_a_negative_spectrum(name, variant, spectrum):
    K = MATRICES[name]
    options = {"variant": variant, "reg_on": "relative", "spectrum": spectrum}
    exact = KernelQuadraticDiscriminant(reg=0.3, kernel=PrecomputedKernel(K), **options)
    exact.fit(TRAIN, CODES)
    statistics = statistics_of(K, TRAIN)
    model = landmark_model(statistics, "quadratic", [0.3], rtol=1e-13, **options)
    assert relative(model.sq_distances(QUERIES)[0], exact.mahalanobis(QUERIES)) < 1e-8


@pytest.mark.parametrize("name", MATRICES)
def test_all_objects_as_landmarks_are_the_exact_fisher_discriminant(name):
    K = MATRICES[name]
    model = landmark_model(statistics_of(K, TRAIN), "fisher", [1.0, 0.1], rtol=1e-13)
    scores = model.scores(QUERIES)
    for i, reg in enumerate([1.0, 0.1]):
        exact = KernelFisherDiscriminant(reg, kernel=PrecomputedKernel(K)).fit(TRAIN, CODES)
        assert relative(scores[i], exact.decision_function(QUERIES)) < 1e-8
        for j in range(3):
            loop = naive.fisher_discriminant(K[:N, :N], CODES, j, reg, K[N:, :N])
            assert relative(scores[i, :, j], loop) < 1e-7


def test_fisher_discriminants_of_two_classes():
    K, codes = MATRICES["indefinite"], np.minimum(CODES, 1)
    kernel = fit_kernel(PrecomputedKernel(K), TRAIN)
    statistics = collect(LandmarkPlan(kernel, TRAIN, [0, 1]), TRAIN, codes)
    scores = landmark_model(statistics, "fisher", [0.1], rtol=1e-13).scores(QUERIES)[0]
    exact = KernelFisherDiscriminant(0.1, kernel=PrecomputedKernel(K)).fit(TRAIN, codes)
    assert relative(scores[:, 1] - scores[:, 0], exact.decision_function(QUERIES)) < 1e-8


@pytest.mark.parametrize("spectrum", ["krein", "ignore"])
@pytest.mark.parametrize("n_components", [0.8, 5, None])
@pytest.mark.parametrize("name", MATRICES)
def test_all_objects_as_landmarks_are_the_exact_kernel_pca_discriminant(
    name, n_components, spectrum
):
    K = MATRICES[name]
    options = {"n_components": n_components, "spectrum": spectrum}
    exact = KernelPCAQuadraticDiscriminant(reg=0.05, kernel=PrecomputedKernel(K), **options)
    exact.fit(TRAIN, CODES)
    model = landmark_model(
        statistics_of(K, TRAIN), "kernel_pca", [0.05, 0.5], rtol=1e-13, **options
    )
    assert relative(model.path.embedding.values, exact.eigenvalues_) < 1e-8
    assert relative(model.scores(QUERIES)[0], exact.decision_function(QUERIES)) < 1e-8


@pytest.mark.parametrize("variant", ["RC+", "RC-", "IC+", "IC-"])
def test_map_offsets_need_no_second_pass(variant):
    K = MATRICES["rbf"]
    priors = [0.2, 0.3, 0.5]
    exact = KernelQuadraticDiscriminant(
        variant, 0.1, kernel=PrecomputedKernel(K), offset="map", priors=priors
    ).fit(TRAIN, CODES)
    options = {"variant": variant, "offset": "map", "priors": priors, "rtol": 1e-13}
    model = landmark_model(statistics_of(K, TRAIN), "quadratic", [0.1], **options)
    assert relative(model.path.offsets, exact.offsets_) < 1e-8


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("rbf", {"variant": "FK+"}, "FK"),
        ("rbf", {"reg_on": "kernel"}, "same σ²"),
        ("indefinite", {}, "negative eigenvalues"),
    ],
)
def test_map_offsets_are_refused_where_they_are_not_defined(name, options, reason):
    with pytest.raises(ValueError, match=reason):
        landmark_model(
            statistics_of(MATRICES[name], TRAIN), "quadratic", [0.1], offset="map", **options
        )


# --- m < n ----------------------------------------------------------------------------------------


def test_features_give_the_kernel_back():
    for name, K in MATRICES.items():
        Z = TRAIN[:20]
        features = landmark_features(K[np.ix_(Z, Z)], rtol=1e-13, centre=False)
        phi = features.transform(K[:, Z])
        approximate = (phi * features.signs) @ phi.T
        loop = naive.nystroem(K[:, Z], K[np.ix_(Z, Z)], K[:, Z])
        assert relative(approximate, loop) < 1e-9, name
        assert relative(approximate[:, Z], K[:, Z]) < 1e-9
        residual = features.residual(K.diagonal(), K[:, Z])
        assert np.abs(residual[:20]).max() < 1e-10 * np.abs(K).max()
        assert_allclose(residual, K.diagonal() - loop.diagonal(), atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["rbf", "indefinite"])
def test_fewer_landmarks_are_the_exact_method_on_the_approximate_kernel(name, variant):
    K, Z = MATRICES[name], TRAIN[:15]
    approximate = naive.nystroem(K[:, Z], K[np.ix_(Z, Z)], K[:, Z])
    approximate[QUERIES, QUERIES] = K.diagonal()[QUERIES]  # the full k(x, x) of queries
    exact = KernelQuadraticDiscriminant(variant, 0.3, kernel=PrecomputedKernel(approximate))
    exact.fit(TRAIN, CODES)
    model = landmark_model(statistics_of(K, Z), "quadratic", [0.3], variant=variant, rtol=1e-13)
    assert relative(model.sq_distances(QUERIES)[0], exact.mahalanobis(QUERIES)) < 1e-7
    assert_array_equal(model.scores(QUERIES)[0].argmax(axis=1), exact.predict(QUERIES))


def test_the_distance_to_the_nearest_class_is_biased_upwards():
    """What the landmarks leave over counts fully; to far classes the bias can have either sign."""
    K = MATRICES["rbf"]
    exact = KernelQuadraticDiscriminant(reg=0.1, kernel=PrecomputedKernel(K)).fit(TRAIN, CODES)
    model = landmark_model(statistics_of(K, TRAIN[:15]), "quadratic", [0.1])
    assert (model.residual(QUERIES) > 0).all()
    nearest = [d.min(axis=1) for d in (model.sq_distances(QUERIES)[0], exact.mahalanobis(QUERIES))]
    assert (nearest[0] > nearest[1]).mean() > 0.7 and nearest[0].mean() > nearest[1].mean()


# --- moments --------------------------------------------------------------------------------------


def vectors(n=3000, d=6, c=3, seed=0):
    X, y = make_classification(n, d, n_informative=d, n_redundant=0, n_classes=c, random_state=seed)
    return X, np.array(["a", "b", "c", "d"])[y]


X, Y = vectors()
KERNEL = fit_kernel("rbf", X, gamma=0.1)


def vector_plan(m=40, **options):
    return LandmarkPlan(KERNEL, X[:m], np.unique(Y), **options)


def test_moments_against_the_loop():
    """In blocks, and relative to an origin, as the mean and scatter of plain kernel rows."""
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        plan = LandmarkPlan(KERNEL, X[:7].astype(dtype), np.unique(Y), dtype=dtype)
        for group, label in zip(collect(plan, X.astype(dtype), Y).groups(), "abc", strict=True):
            rows = KERNEL(X[label == Y], X[:7])
            n, _, squares = naive.moments_about(rows, rows.mean(axis=0))
            assert (group.n, group.sq_norm) == (n, n)  # k(x, x) = 1
            assert_allclose(group.mean, rows.mean(axis=0), rtol=tolerance)
            assert_allclose(group.scatter, squares, rtol=tolerance, atol=tolerance * n)


@pytest.mark.parametrize("sizes", [[3000], [1, 2999], [1000, 1000, 1000], [7, 500, 2493]])
def test_any_split_order_and_merge_is_one_pass(sizes):
    whole = collect(vector_plan(sample_rows=500), X, Y)
    plan = vector_plan(sample_rows=500)
    starts = np.cumsum([0, *sizes])
    parts = [plan.statistics().add(X[i:j], Y[i:j], start=i) for i, j in pairwise(starts)]
    for merged in (merge_tree(parts), merge_tree(parts[::-1])):
        for a, b in zip(merged.moments, whole.moments, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())
        assert_array_equal(merged.sample.keys, whole.sample.keys)
        assert_array_equal(merged.sample.rows, whole.sample.rows)
        model, reference = (landmark_model(s, "quadratic", [0.01, 0.1]) for s in (merged, whole))
        assert relative(model.scores(X[:200]), reference.scores(X[:200])) < 1e-12


def test_partial_fit_batch_by_batch_lists_and_memory_maps(tmp_path):
    reference = landmark_model(collect(vector_plan(), X, Y), "quadratic", [0.1]).scores(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    batches = [(X[i : i + 700], Y[i : i + 700]) for i in range(0, 3000, 700)]
    for source in ((mapped, Y), (batches,), ((b for b in batches),)):
        scores = landmark_model(collect(vector_plan(), *source), "quadratic", [0.1]).scores(X)
        assert relative(scores, reference) < 1e-12


@pytest.mark.parametrize("method", ["quadratic", "fisher", "kernel_pca"])
def test_the_first_landmarks_are_a_refit(method):
    nested = collect(vector_plan(40), X, Y).first(15)
    again = collect(vector_plan(15), X, Y)
    a, b = (landmark_model(s, method, [0.1, 1.0]).scores(X[:300]) for s in (nested, again))
    assert relative(a, b) < 1e-10


FOLDS = np.random.default_rng(1).integers(0, 4, len(X))


def test_a_fold_is_blind_to_its_own_rows():
    other = X.copy()
    other[FOLDS == 2] *= 3
    a, b = (collect(vector_plan(n_folds=4), rows, Y, FOLDS) for rows in (X, other))
    model_a, model_b = (
        landmark_model(s.without_fold(2), "quadratic", [0.1]).scores(X) for s in (a, b)
    )
    assert_array_equal(model_a, model_b)
    changed = landmark_model(b.without_fold(1), "quadratic", [0.1]).scores(X)
    assert relative(changed, model_a) > 1e-3


def test_all_folds_together_are_no_folds():
    a = collect(vector_plan(n_folds=4), X, Y, FOLDS)
    b = collect(vector_plan(), X, Y)
    scores = [landmark_model(s, "quadratic", [0.1]).scores(X[:99]) for s in (a.all_folds(), b)]
    assert relative(*scores) < 1e-12


# --- the sample and the offsets -------------------------------------------------------------------


def test_the_sample_keeps_rare_classes_and_does_not_depend_on_parts():
    codes = np.r_[np.zeros(9000, int), np.ones(50, int)]
    rows = np.arange(9050.0)[:, None]
    whole = RowSample(1000)
    whole.add(rows, codes, None, 0)
    assert (whole.codes == 1).sum() == 50
    assert 990 <= (whole.codes == 0).sum() <= 1000
    parts = []
    for part in np.array_split(np.arange(9050), 7):
        parts.append(RowSample(1000))
        parts[-1].add(rows[part], codes[part], None, part[0])
    one_by_one = RowSample(1000)
    for part in np.array_split(np.arange(9050), 7):
        one_by_one.add(rows[part], codes[part], None, part[0])
    for sample in (merge_tree(parts), one_by_one):
        assert_array_equal(sample.rows, whole.rows)
    assert key_limit(1000, 1000) is None
    assert key_limit(9050, 1000) == np.sort(random_keys(np.arange(9050), 0))[999]
    assert abs(whole.rows[whole.codes == 0].mean() - 4500) < 4 * 2600 / np.sqrt(1000)


def test_a_part_that_knows_the_limit_keeps_few_rows_and_the_sample_is_the_same():
    """A class that is rare, but has more rows than are kept of it: in every batch, in any order."""
    rng = np.random.default_rng(0)
    codes = np.where(rng.random(30_000) < 0.03, 1, 0)
    rows = np.arange(30_000.0)[:, None]
    whole = RowSample(1000)
    whole.add(rows, codes, None, 0)
    assert (whole.codes == 1).sum() == 200
    batches = np.array_split(np.arange(30_000), 10)
    one_by_one, thinned = RowSample(1000), []
    for part in batches:
        one_by_one.add(rows[part], codes[part], None, part[0])
        thinned.append(RowSample(1000))
        limit = key_limit(30_000, 1000)
        thinned[-1].add(rows[part], codes[part], None, part[0], limit=limit)
        assert len(thinned[-1]) < 600
    for sample in (one_by_one, merge_tree(thinned)):
        assert_array_equal(sample.rows, whole.rows)
        assert_array_equal(sample.codes, whole.codes)


def test_offsets_of_a_sample_come_near_those_of_all_rows():
    Xl, yl = vectors(20_000, c=2, seed=3)
    plan = [
        LandmarkPlan(KERNEL, Xl[:60], np.unique(yl), sample_rows=rows) for rows in (2000, 20_000)
    ]
    few, every = (landmark_model(collect(p, Xl, yl), "quadratic", [0.01]) for p in plan)
    codes = np.searchsorted(np.unique(yl), yl)
    errors = [(m.scores(Xl)[0].argmax(axis=1) != codes).mean() for m in (few, every)]
    assert errors[1] <= errors[0] + 1e-12 <= errors[1] + 0.01
    weighted = landmark_model(
        collect(plan[0], Xl, yl), "quadratic", [0.01], class_weight={"a": 1.0, "b": 20.0}
    )
    assert (weighted.scores(Xl)[0].argmax(axis=1) == 1).mean() > (codes == 1).mean() + 0.05


# --- precision, memory, input ---------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["RC+", "IC+", "FK+"])
def test_float32_stays_float32_and_agrees(variant):
    a = collect(vector_plan(100), X, Y)
    b = collect(
        LandmarkPlan(KERNEL, X[:100].astype(np.float32), np.unique(Y), dtype=np.float32),
        X.astype(np.float32),
        Y,
    )
    assert b.moments.lower.dtype == np.float64
    assert b.plan.rows.rows(X[:5].astype(np.float32)).dtype == np.float32
    reg = 1e-5 if variant == "RC+" else 1e-2
    labels = [
        landmark_model(s, "quadratic", [reg], variant=variant).scores(X)[0].argmax(axis=1)
        for s in (a, b)
    ]
    assert (labels[0] == labels[1]).mean() >= 0.998


def test_results_do_not_depend_on_working_memory():
    model = landmark_model(collect(vector_plan(), X, Y), "quadratic", [0.1, 0.2])
    fisher = landmark_model(collect(vector_plan(), X, Y), "fisher", [0.1])
    for function in (model.scores, model.at(0).scores, model.residual, fisher.scores):
        reference = function(X)
        with sklearn.config_context(working_memory=0.01):
            assert_allclose(function(X), reference, rtol=1e-10, atol=1e-10)


def test_kernels_by_formula_and_by_name_agree():
    for kernel in (
        fit_kernel("rbf", X, gamma=0.2),
        fit_kernel(MahalanobisKernel("full", 0.7), X),
        fit_kernel("poly", X, gamma=0.2, degree=2),
    ):
        assert_allclose(
            LandmarkKernel(kernel, X[:9]).rows(X[:700]), kernel(X[:700], X[:9]), atol=1e-12
        )
    far = X + 1e6  # a common offset costs no digits
    for dtype, atol in ((np.float64, 1e-8), (np.float32, 1e-6)):
        rows = LandmarkKernel(KERNEL, far[:9], dtype).rows(far[:50])
        assert_allclose(rows, rbf_kernel(X[:50], X[:9], gamma=0.1), atol=atol)


def far_rows():
    """Ordinary rows, of which some or all are far from the others, and γ = 1."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(120, 4))
    place = np.zeros((5, 120, 1))
    place[1, 60:] = 1e4
    place[2, :5] = 1e8
    place[3, 0] = 1e9
    place[4, :2] = 1e160
    return dict(zip(("none", "half", "five", "one", "beyond squares"), A + place, strict=True))


@pytest.mark.parametrize("dtype, atol", [(np.float64, 1e-11), (np.float32, 1e-4)])
@pytest.mark.parametrize("which", list(far_rows()))
@pytest.mark.filterwarnings("error")
def test_far_rows_cost_no_digits(which, dtype, atol):
    A = far_rows()[which]
    with np.errstate(over="ignore"):
        exact = np.exp([[-np.sum((x - z) ** 2) for z in A[::2]] for x in A])
    kernel = fit_kernel("rbf", A, gamma=1.0)
    assert_allclose(LandmarkKernel(kernel, A[::2], dtype).rows(A), exact, rtol=0, atol=atol)
    landmarks = LandmarkMap(100, method="uniform", gamma=1.0, standardize=False, random_state=0)
    assert np.isfinite(landmarks.fit_transform(A)).all()


@pytest.mark.parametrize("which, dtype", [("half", np.float32), ("five", np.float64)])
def test_estimators_at_landmarks_equal_exact_ones_where_rows_are_far(which, dtype):
    A = far_rows()[which].astype(dtype)
    y = np.arange(120) // 60
    K = np.exp([[-np.sum((x - z) ** 2) for z in A.astype(float)] for x in A.astype(float)])
    exact = KernelQuadraticDiscriminant(reg=0.1, kernel="precomputed").fit(K, y)
    model = KernelQuadraticDiscriminant(reg=0.1, gamma=1.0, standardize=False, landmarks=A)
    model.fit(A, y)
    assert_allclose(model.mahalanobis(A), exact.mahalanobis(K), rtol=1e-3)
    assert model.score(A, y) == exact.score(K, y) > 0.95


def test_precomputed_rows_equal_the_kernel():
    rows = KERNEL(X, X[:40])
    plan = LandmarkPlan(None, rows[:40], np.unique(Y))
    a, b = (
        landmark_model(s, "quadratic", [0.1, 1.0])
        for s in (collect(plan, rows, Y), collect(vector_plan(), X, Y))
    )
    assert relative(a.scores(rows[:200]), b.scores(X[:200])) < 1e-8
    assert relative(a.sq_distances(rows[:200]), b.sq_distances(X[:200])) < 1e-8
    nested = landmark_model(collect(plan, rows, Y).first(10), "quadratic", [0.1])
    assert nested.scores(rows[:5]).shape == (1, 5, 3)


def test_models_and_statistics_pickle_and_save(tmp_path):
    statistics = collect(vector_plan(), X, Y)
    model = landmark_model(statistics, "quadratic", [0.1])
    scores = model.scores(X[:50])
    again = pickle.loads(pickle.dumps((statistics, model)))
    assert_array_equal(again[1].scores(X[:50]), scores)
    assert_array_equal(again[0].add(X, Y).counts, 2 * statistics.counts)
    save_model(statistics, tmp_path / "m.skops")
    assert type(load_model(tmp_path / "m.skops")) is type(statistics)


def test_bad_input_gets_a_sentence(monkeypatch):
    plan = vector_plan()
    with pytest.raises(ValueError, match="NaN"):
        plan.statistics().add(np.full((2, 6), np.nan), ["a", "b"])
    with pytest.raises(ValueError, match="not among the classes"):
        plan.statistics().add(X[:2], ["a", "z"])
    with pytest.raises(ValueError, match="label for each"):
        plan.statistics().add(X[:2], ["a"])
    with pytest.raises(ValueError, match="two-dimensional"):
        plan.statistics().add(X[0], Y[:6])
    with pytest.raises(ValueError, match="greater than one"):
        landmark_model(plan.statistics().add(X[Y == "a"], Y[Y == "a"]), "quadratic", [1])
    with pytest.raises(ValueError, match="folds must"):
        vector_plan(n_folds=3).statistics().add(X, Y, np.full(len(X), 3))
    with pytest.raises(ValueError, match="same landmarks"):
        collect(plan, X, Y).merge(collect(vector_plan(39), X, Y))
    with pytest.raises(ValueError, match="batches are empty"):
        collect(plan, [])
    rows = KERNEL(X, X[:40]) * np.linspace(1, 2, len(X))[:, None]
    rows[:40] = (rows[:40] + rows[:40].T) / 2
    unknown = collect(LandmarkPlan(None, rows[:40], np.unique(Y)), rows, Y)
    with pytest.raises(ValueError, match="self_similarity"):
        landmark_model(unknown, "quadratic", [1], spectrum="ignore").sq_distances(rows)
    with pytest.raises(ValueError, match="relative"):
        landmark_model(unknown, "quadratic", [1], reg_on="relative")
    monkeypatch.setattr("mahalearn._validation.available_memory", lambda: 10**4)
    with pytest.raises(MemoryError, match="fewer landmarks"):
        vector_plan()


@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e100, 1e200])
def test_extreme_units_change_nothing_or_are_refused(unit, rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = KernelQuadraticDiscriminant(landmarks=20, random_state=0)
    if 1e-150 < unit < 1e150:
        expected = model.fit(X, y).decision_function(X)
        assert_allclose(model.fit(unit * X, y).decision_function(unit * X), expected, atol=1e-8)
    else:  # the scale of the kernel was made of variances that are 0 or inf
        with pytest.raises(ValueError, match=r"X: the largest value.*choose another unit"):
            model.fit(unit * X, y)


def test_an_array_is_passed_on_in_batches():
    sizes = [len(rows) for rows, _ in as_batches(X, Y, batch_rows=1100)]
    assert sizes == [1100, 1100, 800]
    with pytest.raises(ValueError, match="3000 objects and y 5"):
        list(as_batches(X, Y[:5]))
    assert BATCH_ROWS < 10**6


# --- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["kmeans", "rpcholesky", "uniform"])
def test_landmarks_are_chosen_without_labels(method):
    landmarks = LandmarkMap(30, method=method)
    shuffled = np.random.default_rng(0).permutation(Y)
    model = KernelQuadraticDiscriminant(random_state=3, landmarks=landmarks)
    a, b = (model.fit(X, y).landmarks_ for y in (Y, shuffled))
    assert_array_equal(a, b)
    other = model.set_params(random_state=4).fit(X, Y).landmarks_
    assert not np.array_equal(a, other)


def test_little_memory_leaves_fewer_candidates():
    with sklearn.config_context(working_memory=0.05):
        assert choose_landmarks(KERNEL, X, 50, "rpcholesky", 0).shape == (50, X.shape[1])


def test_more_landmarks_than_objects_are_all_objects_and_a_warning():
    few, labels = X[:300], Y[:300]
    with pytest.warns(UserWarning, match="more than the 300 objects"):
        more = KernelQuadraticDiscriminant(landmarks=10**9, random_state=0).fit(few, labels)
    all_ = KernelQuadraticDiscriminant(landmarks=300, random_state=0).fit(few, labels)
    assert_allclose(more.decision_function(few), all_.decision_function(few), rtol=1e-12)


def test_the_scan_of_parts_is_the_scan_of_all():
    whole = summarise(X, Y)
    parts = merge_tree(
        [summarise(X[:1], Y[:1]), summarise(X[1:1000], Y[1:1000]), summarise(X[1000:], Y[1000:])]
    )
    for scanned in (whole, parts):
        rows = scanned.two_rows()
        assert_allclose(rows.var(), X.var(), rtol=1e-12)
        assert_allclose(rows.mean(axis=0), X.mean(axis=0), rtol=1e-10, atol=1e-12)
        assert_allclose(rows.std(axis=0), X.std(axis=0), rtol=1e-12)
    assert parts.counts == whole.counts
    assert_allclose(planned(whole, 5).rows.kernel.gamma, 1 / (6 * X.var()))
    units = X * [1, 1, 100, 1, 1, 1]  # in different units: standardised, as the estimators do
    kernel = planned(summarise(units, Y), 5).rows.kernel
    exact = KernelQuadraticDiscriminant().fit(units, Y).kernel_
    assert_allclose(kernel.scale, exact.scale)
    assert_allclose(kernel.gamma, exact.gamma)
    assert_allclose(LandmarkKernel(kernel, units[:9]).rows(units), exact(units, units[:9]))


def test_good_choices_leave_less_over_than_uniform_ones():
    left = {}
    for method in ("kmeans", "rpcholesky", "uniform"):
        left[method] = []
        for seed in range(5):
            Z = choose_landmarks(KERNEL, X, 30, method, seed)
            assert Z.shape == (30, 6)
            features = landmark_features(KERNEL(Z, Z))
            left[method].append(features.residual(np.ones(len(X)), KERNEL(X, Z)).mean())
    assert np.mean(left["kmeans"]) < np.mean(left["uniform"])
    assert np.mean(left["rpcholesky"]) < np.mean(left["uniform"])


def test_rpcholesky_stops_where_nothing_is_left():
    few = np.repeat(X[:7], 20, axis=0)
    assert len(choose_landmarks(KERNEL, few, 50, "rpcholesky", 0)) == 7
    assert len(choose_landmarks(KERNEL, few, 50, "kmeans", 0)) <= 50
    with pytest.raises(ValueError, match="positive definite"):
        choose_landmarks(fit_kernel(PrecomputedKernel(-np.eye(9)), [0]), range(9), 3, "rpcholesky")
    with pytest.raises(ValueError, match="needs vectors"):
        choose_landmarks(MeasureKernel("edit"), ["a", "b", "c"], 2, "kmeans")
    assert choose_landmarks(KERNEL, X[:5], 50) is not None
    assert_array_equal(choose_landmarks(KERNEL, X[:5], 50), X[:5])


# --- the transformer ------------------------------------------------------------------------------


def test_the_map_with_landmarks_of_ones_own():
    map_ = LandmarkMap(X[:50], gamma=0.1, rtol=1e-13).fit(X)
    phi = map_.transform(X)
    assert phi.shape == (3000, 50) and (map_.signs_ == 1).all()
    assert_allclose(phi @ phi[:50].T, KERNEL(X, X[:50]), atol=1e-7)
    assert_allclose(map_.residual(X), 1 - np.square(phi).sum(axis=1), atol=1e-9)
    assert_array_equal(map_.landmarks_, X[:50])


def test_the_map_of_precomputed_columns():
    positions = np.arange(0, 3000, 60)
    K = KERNEL(X, X)
    names = LandmarkMap(X[positions], gamma=0.1).fit(X).transform(X[:99])
    columns = LandmarkMap(positions, kernel="precomputed").fit(K[:, positions])
    assert relative(columns.transform(K[:99, positions]), names) < 1e-7
    square = LandmarkMap(positions, kernel="precomputed").fit(K)
    assert relative(square.transform(K[:99]), names) < 1e-7
    assert not columns.__sklearn_tags__().input_tags.pairwise
    chosen = LandmarkMap(20, kernel="precomputed", random_state=0).fit(K)
    assert chosen.transform(K[:9]).shape == (9, len(chosen.signs_))
    for landmarks, matrix, message in (
        (20, K[:, :50], "square matrix"),
        (positions, K[:, :51], "a column for each"),
        ([-1], K, "positions"),
        ([0.5], K, "positions"),
    ):
        with pytest.raises(ValueError, match=message):
            LandmarkMap(landmarks, kernel="precomputed").fit(matrix)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"landmarks": 2.5}, "positive whole number"),
        ({"landmarks": None}, "positive whole number"),
        ({"landmarks": "many"}, "'auto'"),
        ({"method": "greedy"}, "method"),
        ({"rtol": -1.0}, "rtol"),
        ({"rtol": "small"}, "rtol"),
    ],
)
def test_the_map_refuses_bad_parameters_in_a_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        LandmarkMap(**params).fit(X)


def test_the_map_of_an_indefinite_kernel_has_signs():
    K = MATRICES["indefinite"]
    kernel = PrecomputedKernel(K)
    map_ = LandmarkMap(TRAIN, kernel=kernel, rtol=1e-13).fit(TRAIN)
    assert (map_.signs_ < 0).any()
    phi = map_.transform(TRAIN)
    assert relative((phi * map_.signs_) @ phi.T, K[:N, :N]) < 1e-9
    with pytest.raises(ValueError, match="negative eigenvalues"):
        LandmarkMap(TRAIN, kernel=kernel, spectrum="raise").fit(TRAIN)
    flipped = LandmarkMap(TRAIN, kernel=kernel, spectrum="flip").fit(TRAIN)
    assert (flipped.signs_ == 1).all()


def test_the_map_chooses_how_many():
    smooth = LandmarkMap("auto", gamma=0.01, random_state=0).fit(X)
    rough = LandmarkMap("auto", gamma=1.0, random_state=0).fit(X)
    assert len(smooth.landmarks_) < len(rough.landmarks_) <= 1000
    assert smooth.residual(X).mean() < 0.015


def test_kernel_rows_that_are_kept_give_the_same_training_set():
    rng = np.random.default_rng(3)
    X, y, folds = rng.normal(size=(500, 3)), np.repeat([0, 1], [450, 50]), np.arange(500) % 3
    plan = LandmarkPlan(KERNEL, X[:20], [0, 1], n_folds=3)
    kept, passed = plan.collect_all(X, y, folds), collect(plan, X, y, folds)
    for one, other in zip(kept.moments, passed.moments, strict=True):
        assert_allclose(np.tril(one), np.tril(other), rtol=1e-10, atol=1e-12)
    assert_array_equal(kept.sample.rows, passed.sample.rows)
    queries, all_rows = passed.keep_sample_values().all_rows(), kept.all_rows()
    assert_allclose(all_rows.rows[all_rows.places], queries.rows[queries.places], rtol=1e-12)
    assert LandmarkPlan(KERNEL, X[:20], [0, 1], sample_rows=499).collect_all(X, y, None) is None
    # A smaller sample keeps what a class needs; what is known of its rows stays with them.
    fewer = kept.with_sample(100)
    assert np.bincount(fewer.codes)[1] == 50 and 100 <= len(fewer.sample) <= 250
    values = fewer.sample.queries
    expected = plan.rows.rows(fewer.sample.rows)
    assert_allclose(values.rows[values.places], expected, rtol=1e-12)
    assert kept.with_sample(500) is kept
