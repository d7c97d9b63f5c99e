"""One model of many: same splits for all, the rule among equals, the budget, what it survives.

Ensembles are in test_ensemble.py; what difficult data do to both is here.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive
from mahalearn import (
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MeasureKernel,
    ProximityKernel,
)
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.model_selection import ensemble, families, grid, member_data, race
from mahalearn.model_selection.evaluation import Scored
from mahalearn.model_selection.families import FAMILIES
from mahalearn.model_selection.member_data import VectorData
from mahalearn.model_selection.splits import MOST_REPEATS, choose, make_splits

SPLITS = StratifiedKFold(3, shuffle=True, random_state=0)
CHEAP = ("gaussian", "kernel_fisher")
VECTORS, OBJECTS = (
    [name for name, family in FAMILIES.items() if family.suits(kind, 100, False)]
    for kind in ("vectors", "objects")
)
both = pytest.mark.parametrize("combine", ["best", "stack"])


def chooser(*arguments, **parameters):
    return MahalanobisClassifierCV(*arguments, **{"combine": "best", **parameters})


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(60, 4, centers=3, cluster_std=4.0, random_state=0)
    return X * [1, 100, 0.01, 1], np.array(["c", "a", "b"])[y]


@pytest.fixture(scope="module")
def small_grids():
    """Fewer kernel widths and machines: what is tested does not depend on their number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "GAMMAS", (0.3, 3.0))
        patch.setattr(grid, "CS", (1, 10))
        patch.setattr(grid, "DELTAS", (0.5, 1.0))
        yield


@pytest.fixture(scope="module")
def fitted(data, small_grids):
    return chooser(cv=SPLITS).fit(*data)


def by_family(model):
    return {row["family"]: row for row in model.leaderboard_}


def test_every_family_is_compared_and_the_leaderboard_is_sorted(fitted):
    rows = fitted.leaderboard_
    assert {row["family"] for row in rows} == set(VECTORS)
    means = [row["mean_score"] for row in rows]
    assert means == sorted(means, reverse=True)
    (chosen,) = [row for row in rows if row["chosen"]]
    assert chosen["family"] == fitted.best_family_
    assert chosen["mean_score"] == fitted.best_score_
    assert chosen["params"] == fitted.best_params_
    assert chosen["tied"]


@pytest.mark.parametrize("family", VECTORS)
def test_leaderboard_scores_are_those_of_refitting(fitted, data, family):
    """On the same splits; the scaling alone is the one of all objects."""
    X, y = data
    row, model = by_family(fitted)[family], fitted.candidates_[family][-1]
    scores = cross_val_score(clone(model), StandardScaler().fit_transform(X), y, cv=SPLITS)
    assert_allclose(row["fold_scores"], scores, atol=1e-12)
    assert_allclose([row["mean_score"], row["std_score"]], [scores.mean(), scores.std()])


def test_params_tell_the_candidate(fitted):
    for name, model in fitted.candidates_.items():
        params = by_family(fitted)[name]["params"]
        assert {key: model[-1].get_params()[key] for key in params} == params
    assert "discriminant" in by_family(fitted)["dissimilarity_space"]["params"]
    assert "n_components" in by_family(fitted)["kernel_pca"]["params"]


def test_gaussian_search_is_a_grid_search(fitted, data):
    X, y = data
    search = GridSearchCV(GaussianClassifier(), list(grid.GAUSSIANS), cv=SPLITS)
    search.fit(StandardScaler().fit_transform(X), y)
    assert_allclose(by_family(fitted)["gaussian"]["mean_score"], search.best_score_)


def test_predictions_do_not_depend_on_the_units(data):
    X, y = data
    one = chooser(CHEAP, cv=SPLITS).fit(X, y)
    other = chooser(CHEAP, cv=SPLITS).fit(X * [3, 1e4, 1e-3, 7] + 5, y)
    assert_allclose(
        one.decision_function(X), other.decision_function(X * [3, 1e4, 1e-3, 7] + 5), rtol=1e-6
    )


def test_best_estimator_takes_the_same_input(fitted, data):
    X, y = data
    assert (fitted.best_estimator_.predict(X) == fitted.predict(X)).all()
    frame = pd.DataFrame(X, columns=list("pqrs"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = chooser(("gaussian",), cv=SPLITS).fit(frame, y)
        model.predict(frame)
        model.mahalanobis(frame)
    assert list(model.feature_names_in_) == list(model.best_estimator_.feature_names_in_)


# --- the rule -------------------------------------------------------------------------------------


def test_choice_matches_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(50):
        table = rng.normal(size=(5, 1)) * 0.02 + rng.normal(size=(5, 8)) * 0.05
        assert choose(table, 0.25)[0] == naive.half_standard_error_choice(table.tolist(), 0.25)


def test_clear_winner_is_taken_and_a_tie_goes_to_the_simpler():
    good, noise = np.full(10, 0.9), np.tile([0.01, -0.01], 5)
    assert choose([good - 0.1, good], 0.25)[0] == 1
    assert choose([good - 0.1 + noise, good], 0.25)[0] == 1
    assert choose([good - 0.002 + noise, good], 0.25)[0] == 0
    assert choose([good, good], 0.25)[0] == 0
    # A single split has no error to speak of: only equals tie.
    assert choose([[0.8], [0.9]], 0.25)[0] == 1


def test_circles_are_not_left_to_a_gaussian_with_one_covariance(small_grids):
    X, y = make_circles(120, noise=0.05, factor=0.6, random_state=0)
    model = chooser(("gaussian", "kqd"), cv=SPLITS).fit(X, y)
    assert model.best_params_ != {"covariance": "diag", "pooled": True}
    assert model.score(X, y) > 0.95


def test_same_splits_for_all_and_reproducible(data, small_grids):
    X, y = data
    seeds = [chooser(CHEAP, cv=3, random_state=seed).fit(X, y).leaderboard_ for seed in (0, 0, 1)]
    folds = [[row["fold_scores"].tolist() for row in rows] for rows in seeds]
    assert folds[0] == folds[1] != folds[2]


# --- probabilities and distances ------------------------------------------------------------------


def test_probabilities_are_calibrated_on_held_out_scores(data):
    X, y = data
    model = chooser(("gaussian",), cv=SPLITS).fit(X, y)
    scores, truth = [], []
    Z = StandardScaler().fit_transform(X)
    for train, test in SPLITS.split(Z, y):
        fold = clone(model.best_estimator_[-1]).fit(Z[train], y[train])
        scores.append(fold.decision_function(Z[test]))
        truth.append(np.searchsorted(model.classes_, y[test]))
    scores, truth = np.vstack(scores), np.concatenate(truth)
    best = naive.tempered_loss(scores, truth, model.temperature_)
    assert best <= naive.tempered_loss(scores, truth, model.temperature_ * 1.05)
    assert best <= naive.tempered_loss(scores, truth, model.temperature_ / 1.05)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert_allclose(np.log(proba), model.predict_log_proba(X), atol=1e-8)


def test_distances_where_the_chosen_estimator_has_them(data):
    X, y = data
    model = chooser(("gaussian",), cv=SPLITS).fit(X, y)
    last = model.best_estimator_[-1]
    assert_allclose(model.mahalanobis(X), last.mahalanobis(model.best_estimator_[0].transform(X)))
    model = chooser(("kernel_fisher",), cv=SPLITS).fit(X, y)
    assert not hasattr(model, "mahalanobis")
    with pytest.raises(AttributeError, match="mahalanobis"):
        model.mahalanobis(X)


# --- matrices and objects -------------------------------------------------------------------------


def test_precomputed_matrix_of_any_scale(data):
    X, y = data
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    K = ProximityKernel().fit_transform(D)
    one = chooser(kernel="precomputed", cv=SPLITS).fit(K, y)
    assert one.__sklearn_tags__().input_tags.pairwise
    assert not chooser().__sklearn_tags__().input_tags.pairwise
    assert set(by_family(one)) == set(OBJECTS)
    other = chooser(kernel="precomputed", cv=SPLITS).fit(K * 1e4, y)
    for row, scaled in zip(one.leaderboard_, other.leaderboard_, strict=True):
        assert row["family"] == scaled["family"]
        assert_allclose(row["fold_scores"], scaled["fold_scores"], atol=1e-12)
    assert (one.predict(K) == other.predict(K * 1e4)).all()


def test_similarities_with_unequal_diagonal_can_be_predicted(data):
    """k(x, x) of a query is not known: no family may need it, whichever is chosen."""
    X, y = data
    Z = StandardScaler().fit_transform(X)
    for family in OBJECTS:
        model = chooser((family,), kernel="precomputed", cv=SPLITS)
        model.fit(Z @ Z.T, y)
        assert model.predict(Z[:5] @ Z.T).shape == (5,)


def test_objects_with_a_measure_are_compared_once(monkeypatch):
    words = ["ape", "apple", "apply", "maple", "oak", "soak", "oat", "oath"]
    y = list("aaaaoooo")
    calls = []

    def letters(a, b):
        calls.append((a, b))
        return len(set(a) & set(b))

    kernel = MeasureKernel(letters)
    model = chooser(CHEAP[1:], kernel=kernel, cv=4, random_state=0).fit(words, y)
    assert len(calls) <= 2 * len(words) ** 2  # the comparison and the last fit
    assert isinstance(model.best_estimator_, KernelFisherDiscriminant)
    assert model.predict(["ample", "coat"]).tolist() == ["a", "o"]
    named = chooser(kernel="edit", cv=4, random_state=0).fit(words, y)
    assert named.predict(["ample", "cloak"]).tolist() == ["a", "o"]


def test_kernel_that_learns_is_fitted_in_each_fold(data):
    X, y = data
    rows = pd.DataFrame(X, columns=list("pqrs"))
    model = chooser(("kernel_fisher",), kernel="gower", cv=SPLITS).fit(rows, y)
    plain = clone(model.best_estimator_)
    scores = [
        (plain.fit(rows.iloc[a], y[a]).predict(rows.iloc[b]) == y[b]).mean()
        for a, b in SPLITS.split(X, y)
    ]
    assert_allclose(model.leaderboard_[0]["fold_scores"], scores)


# --- budget and failures --------------------------------------------------------------------------


def test_a_spent_budget_leaves_a_mix_of_families_and_true_notes(data, small_grids):
    X, y = data
    with pytest.warns(UserWarning, match="time budget"):
        model = chooser(cv=SPLITS, time_budget=1e-6).fit(X, y)
    rows = by_family(model)
    assert len(model.candidates_) == race.LEAST_FAMILIES
    for name in set(VECTORS) - set(model.candidates_):
        assert "left out" in rows[name]["note"]
        assert np.isnan(rows[name]["mean_score"])
        assert rows[name]["n_finalists"] == 0 < rows[name]["n_candidates"]


def test_budget_large_enough_changes_nothing(data, small_grids):
    X, y = data
    families = ("gaussian", "mahalanobis_svm", "kernel_fisher", "kqd")
    free = chooser(families, cv=SPLITS).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        within = chooser(families, cv=SPLITS, time_budget=600).fit(X, y)
    for name in families:
        assert_allclose(by_family(free)[name]["mean_score"], by_family(within)[name]["mean_score"])


def test_the_costliest_members_are_left_out():
    expected = {"a": 5.0, "b": 1.0, "c": 2.0, "d": 3.0, "b/laplacian": 1.5}
    assert race.too_long(expected, None, 100.0) == set()
    assert race.too_long(expected, 20.0, 2.0) == set()
    assert race.too_long(expected, 8.0, 0.0) == {"a"}
    assert race.too_long(expected, 0.1, 1.0) == {"a", "b/laplacian"}


def test_every_member_is_timed_before_a_budget_decides(data, small_grids, monkeypatch):
    estimates, too_long = {}, race.too_long

    def recorded(expected, *arguments):
        estimates.update(expected)
        return too_long(expected, *arguments)

    monkeypatch.setattr(race, "too_long", recorded)
    model = chooser(cv=SPLITS, time_budget=600).fit(*data)
    assert set(estimates) == set(VECTORS) == set(model.candidates_)
    assert min(estimates.values()) > 0


# --- the race -------------------------------------------------------------------------------------


def test_a_long_search_is_announced(monkeypatch, data, small_grids):
    monkeypatch.setattr(race, "LONG_SECONDS", 0.0)
    with pytest.warns(UserWarning, match="expected to take about .* s more; time_budget"):
        chooser(("kernel_fisher",), cv=SPLITS).fit(*data)


def test_long_measures_are_announced_before_they_are_computed(monkeypatch):
    """With 130 objects a few hundred pairs are measured first, of 8,385."""
    calls = []

    def difference(a, b):
        calls.append((a, b))
        return abs(len(a) - len(b))

    objects = ["x" * (1 + i % 7) for i in range(130)]
    monkeypatch.setattr(member_data, "LONG_SECONDS", 0.0)
    model = MahalanobisClassifierCV(("neighbors",), kernel=MeasureKernel(difference))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="all pairs of 130 objects are expected to take"):
            model.fit(objects, np.arange(130) % 2)
    assert 0 < len(calls) < 1000


class LetterKernel:
    """A kernel that learns something from its training objects, and has no get_params."""

    requires_vector_input = False

    def __init__(self, letter):
        self.letter = letter

    def fit(self, words, y=None):
        self.mean = np.mean([word.count(self.letter) for word in words])
        return self

    def __call__(self, X, Y):
        counts = [np.array([word.count(self.letter) for word in words]) for words in (X, Y)]
        return np.exp(-(np.subtract.outer(*counts) ** 2) / self.mean)


@pytest.mark.parametrize("letters", ["ab", "ba"])
def test_members_have_the_kernel_that_was_best(letters):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd"), 5)) for _ in range(60)]
    y = np.array([word.count("a") > 1 for word in words])
    kernels = [LetterKernel(letter) for letter in letters]
    model = chooser(CHEAP[1:], kernels=kernels, cv=SPLITS).fit(words, y)
    assert model.best_params_["kernel"].letter == model.best_estimator_.kernel_.letter == "a"
    assert model.score(words, y) == 1


def test_kernels_of_objects_in_processes():
    words = ["ape", "apple", "apply", "maple", "oak", "soak", "oat", "oath"] * 4
    y = [word.startswith(("a", "m")) for word in words]
    models = [
        chooser(CHEAP[1:], kernel="edit", cv=SPLITS, n_jobs=jobs).fit(words, y) for jobs in (1, 2)
    ]
    assert_allclose(*[model.decision_function(words) for model in models])
    kernel = MeasureKernel("edit")
    search = KernelSearchCV(KernelFisherDiscriminant(), {"kernel": [kernel]}, cv=SPLITS, n_jobs=2)
    assert search.fit(words, y).best_params_["kernel"] is kernel  # not a copy


@pytest.fixture
def many_words(monkeypatch):
    """300 words are many, 150 of them are in the pilot; calls of a function count pairs."""
    monkeypatch.setattr(ensemble, "EXACT_OBJECTS", 200)
    monkeypatch.setattr(race, "PILOT_LEAST", 150)
    monkeypatch.setattr(race, "PILOT_MOST", 150)
    monkeypatch.setattr(member_data, "SCALED", 50)
    monkeypatch.setattr(member_data, "N_LANDMARKS", 30)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc" if i % 2 else "bcd"), 6)) for i in range(300)]
    return words, np.arange(300) % 2


def test_many_objects_are_searched_at_landmarks(many_words):
    words, y = many_words
    families = ("kernel_fisher", "kqd", "neighbors")
    with pytest.warns(UserWarning, match="neighbors .left out: it cannot use landmarks"):
        model = chooser(families, kernel="edit", cv=SPLITS).fit(words, y)
    assert set(model.candidates_) == {"kernel_fisher", "kqd"}
    for name, plain in model.candidates_.items():
        assert plain.landmarks == 30
        search = KernelSearchCV(plain, {"reg": [plain.reg]}, cv=SPLITS).fit(words, y)
        scores = [search.cv_results_[f"split{f}_test_score"][0] for f in range(model.n_splits_)]
        assert_allclose(by_family(model)[name]["fold_scores"], scores)
    again = clone(model.candidates_[model.best_family_]).fit(words, y)
    assert_array_equal(model.predict(words), again.predict(words))
    assert model.best_score_ > 0.8


def test_many_objects_are_measured_once_at_landmarks(many_words, monkeypatch):
    words, y = many_words
    pairs, between = [], MeasureKernel.pair_values

    def counted(kernel, X, Y):
        pairs.append((len(X), len(Y)))
        return between(kernel, X, Y)

    monkeypatch.setattr(MeasureKernel, "pair_values", counted)
    monkeypatch.setattr(member_data, "LONG_SECONDS", 0.0)
    with pytest.warns(UserWarning, match="30 landmarks and each of 300 objects are expected"):
        model = MahalanobisClassifierCV(kernel="edit", cv=SPLITS).fit(words, y)
    assert len(model.candidates_) == 4
    few = [shape for shape in pairs if max(shape) <= member_data.TIMED_OBJECTS[-1]]
    rest = [shape for shape in pairs if max(shape) > member_data.TIMED_OBJECTS[-1]]
    assert len(few) <= 3  # to announce the time
    assert sorted(rest) == [(50, 50), (150, 150), (300, 30)]  # the scale, the pilot, the landmarks
    (explanation,) = model.explain(words[:1])
    assert 0 < explanation["typicality"][0] <= 1
    # So are queries, for all members.
    pairs.clear()
    proba = model.predict_proba(words[:40])
    assert len(model.members_) > 1 and pairs == [(40, 30)]
    with config_context(working_memory=0.05):  # values at landmarks are not kept
        small = MahalanobisClassifierCV(kernel="edit", cv=SPLITS).fit(words, y)
    assert_allclose(small.predict_proba(words[:40]), proba)
    other = MahalanobisClassifierCV(kernel="edit", cv=SPLITS, n_jobs=2).fit(words, y)
    assert_array_equal(other.predict_proba(words[:40]), proba)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(words[:40]), proba)


def letters_in_common(X, Y):
    """A kernel of a user: matrices, no measure of two objects."""
    X, Y = ([[word.count(letter) for letter in "abcd"] for word in words] for words in (X, Y))
    return np.minimum(np.array(X)[:, None], np.array(Y)).sum(axis=2) / 6.0


letters_in_common.requires_vector_input = False


@pytest.mark.parametrize("case", ["measure", "function", "learns", "vectors", "group"])
def test_members_at_landmarks_are_what_they_would_be_alone(many_words, case):
    """The ensemble looks their values up; a plain fit computes them."""
    X, y = many_words
    rng = np.random.default_rng(1)
    match case:
        case "measure":
            kernels = ["edit"]
        case "function":
            kernels = [letters_in_common, "edit"]
        case "learns":
            kernels, X = [MeasureKernel("gower")], rng.normal(y[:, None], size=(300, 3))
        case "vectors":
            kernels = [MahalanobisKernel(), MahalanobisKernel(delta=0.1)]
            X = rng.normal(y[:, None], size=(300, 3))
        case "group":
            kernels, X = ["elastic"], list(rng.normal(y[:, None], size=(300, 12)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(kernels=kernels, cv=SPLITS).fit(X, y)
    assert len(model.members_) > 1
    for name, member in model.members_.items():
        alone = clone(model.candidates_[name]).fit(X, y)
        assert len(alone.landmarks_) == 30
        assert_array_equal(np.array(member.landmarks_), np.array(alone.landmarks_))
        expected = alone.decision_function(X[:40])
        assert_allclose(member.decision_function(X[:40]), expected, atol=1e-6)
        (row,) = (row for row in model.leaderboard_ if row["member"] == name)
        assert row["params"]["kernel"] is model.candidates_[name].kernel


@pytest.mark.parametrize("counts", [(601, 600), (1200, 1), (1180, 20, 1), (9000, 12, 1)])
def test_a_pilot_has_every_class_and_is_like_all_objects(counts):
    """Also where one object is left over, or is the only one of its class."""
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        splits = make_splits(5, X, y, np.array(counts), 0)
    part, part_splits = race.pilot_part(VectorData(X, y, y), splits)
    assert race.PILOT_LEAST <= len(part.y) <= race.PILOT_MOST
    drawn = np.bincount(part.codes, minlength=len(counts))
    assert (drawn >= np.minimum(counts, 10)).all()
    assert_allclose(drawn / len(part.y), np.array(counts) / len(y), atol=0.05)
    for train, test in part_splits:
        assert not set(train) & set(test)


def test_no_object_of_a_group_is_on_both_sides_of_a_pilot_split():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, size=900)
    y = groups % 2
    splits = list(GroupKFold(5).split(groups, y, groups))
    data = VectorData(np.column_stack([np.arange(900.0), rng.normal(size=900)]), y, y)
    part, part_splits = race.pilot_part(data, splits)
    rows = part.X[:, 0].astype(int)
    assert len(rows) == race.PILOT_LEAST
    for train, test in part_splits:
        assert not set(groups[rows[train]]) & set(groups[rows[test]])


def test_merged_splits_test_as_often_and_train_on_half():
    y = np.arange(100) % 2
    splits = list(StratifiedKFold(5).split(y, y))
    (first, tested), second, _ = race.merged_splits(splits, 100)
    assert set(first) == set(splits[0][0]) & set(splits[1][0]) and len(first) == 60
    assert set(tested) == set(splits[0][1]) | set(splits[1][1])
    assert set(second[1]) == set(splits[2][1]) | set(splits[3][1])
    # Growing training parts: the smallest of those merged, and nothing that comes before a test.
    for train, test in race.merged_splits(list(TimeSeriesSplit(8).split(y)), 100):
        assert train.max() < test.min()


def test_every_value_of_a_path_can_reach_the_final():
    """The pilot tries every second one, the final the best of these and its neighbours."""
    data = VectorData(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2, None)
    for family, kernel in (("kernel_fisher", "rbf"), ("svm", "laplacian"), ("kqd", "rbf")):
        member = families.Member(family, family, kernel, family != "svm")
        candidates = race.member_candidates(member, data, "krein", 16)
        tried, reached = race.pilot_candidates(candidates), set()
        assert len(tried) <= 2 / 3 * len(candidates)
        for best in tried:
            means = np.full(len(candidates), np.nan)
            means[tried] = 0.0
            means[best] = 1.0
            reached |= set(race.finalists(candidates, means))
        assert reached == set(range(len(candidates)))


def test_finalists_are_the_best_cells_with_their_neighbours(monkeypatch):
    monkeypatch.setattr(grid, "GAMMAS", (0.1, 0.3, 1.0, 3.0, 10.0))
    data = VectorData(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2, None)
    candidates = race.member_candidates(
        families.Member("kernel_fisher", "kernel_fisher", "rbf"), data, "krein", 16
    )
    values = sorted({c.params["reg"] for c in candidates})
    gammas = sorted({c.params["gamma"] for c in candidates})
    means = np.full(len(candidates), -1.0)

    def place(gamma, reg):
        wanted = {"gamma": gammas[gamma], "reg": values[reg]}
        return next(i for i, c in enumerate(candidates) if c.params == wanted)

    means[place(2, 5)], means[place(2, 9)], means[place(4, 0)] = 0.9, 0.85, 0.8
    chosen = race.finalists(candidates, means)
    assert set(chosen) == {place(2, 4), place(2, 5), place(2, 6), place(4, 0), place(4, 1)}
    assert race.finalists(candidates, means, "best") == list(range(len(candidates)))
    means[place(2, 4)] = -np.inf  # it could not be fitted
    assert place(2, 4) not in race.finalists(candidates, means)


def test_all_candidates_are_compared_with_effort_best(data, small_grids):
    X, y = data
    families = ("gaussian", "kernel_fisher")
    fast = chooser(families, cv=SPLITS).fit(X, y)
    best = chooser(families, cv=SPLITS, effort="best").fit(X, y)
    for name, row in by_family(best).items():
        assert row["n_finalists"] == row["n_candidates"] == by_family(fast)[name]["n_candidates"]
        assert row["mean_score"] >= by_family(fast)[name]["mean_score"] - 1e-12
    assert by_family(fast)["kernel_fisher"]["n_finalists"] <= 6
    with pytest.raises(ValueError, match="effort"):
        chooser(effort="more").fit(X, y)


def test_processes_change_nothing(data, small_grids):
    X, y = data
    one, two = (
        chooser(CHEAP, cv=3, random_state=0, n_jobs=jobs, combine="stack").fit(X, y)
        for jobs in (None, 2)
    )
    assert one.weights_ == two.weights_
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0)


def test_a_family_that_fails_is_recorded(monkeypatch, data):
    original = race.score
    monkeypatch.setattr(race, "score", lambda *a, **o: failing(original, *a, **o))
    X, y = data
    with pytest.warns(UserWarning, match="kqd .failed: did not converge"):
        model = chooser(("gaussian", "kqd"), cv=SPLITS).fit(X, y)
    assert model.leaderboard_[-1]["family"] == "kqd"
    assert model.best_family_ == "gaussian"
    with pytest.raises(ValueError, match="No family could be fitted: kqd"):
        chooser(("kqd",), cv=SPLITS).fit(X, y)


def failing(score, candidates, *arguments, **options):
    """Scores with an error for every candidate of kqd."""
    for i, one in score(candidates, *arguments, **options):
        if candidates[i].member == "kqd":
            one = Scored(i, {}, error=np.linalg.LinAlgError("did not converge"))
        yield i, one


# --- difficult data -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("counts, folds", [([2, 2, 20], 5), ([2, 2, 2], 2)])
def test_classes_of_two_objects(small_grids, combine, counts, folds):
    """A small class does not take the folds from the others."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], counts)
    X = rng.normal(size=(len(y), 3)) + 4 * y[:, None]
    expected = f"smallest class has 2 objects, fewer than cv=5 folds: {folds} folds are used"
    with pytest.warns(UserWarning, match=expected) as record:
        model = chooser(random_state=0, combine=combine).fit(X, y)
    assert record[0].filename == __file__
    assert model.n_splits_ == 10
    assert not any(row["note"] for row in model.leaderboard_)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_number_of_folds_says_that_it_ignores_groups(data):
    X, y = data
    with pytest.warns(UserWarning, match="cv=2 does not keep groups apart.*GroupKFold") as record:
        chooser(("gaussian",), cv=2).fit(X, y, groups=np.arange(len(y)))
    assert record[0].filename == __file__


@pytest.mark.parametrize(
    "counts, folds, repeats",
    [([2] * 7, 2, 5), ([3, 1, 2, 4], 3, 3), ([1, 2, 2], 2, 5), ([60, 3], 5, 2), ([1, 1, 2], 2, 5)],
)
def test_folds_are_those_of_a_typical_object(counts, folds, repeats):
    y = np.repeat(np.arange(len(counts)), counts)
    with pytest.warns(UserWarning, match=f"{folds} folds are used"):
        splits = make_splits(5, y, y, np.array(counts), 0)
    assert len(splits) == folds * repeats
    held_out = np.concatenate([test for _, test in splits[:folds]])
    assert sorted(held_out) == list(range(len(y)))


def test_four_series_are_no_reason_for_certainty():
    """Log loss was 2.3 on this problem, with errors at .22."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(2, 5))
    y, y_new = np.repeat([0, 1], 2), rng.integers(2, size=300)
    X, X_new = (centres[k] + rng.normal(size=(len(k), 5)) for k in (y, y_new))
    with pytest.warns(UserWarning, match="2 folds are used"):
        model = MahalanobisClassifierCV(kernel="euclidean", random_state=0).fit(X, y)
    assert model.score(X_new, y_new) > 0.7
    assert log_loss(y_new, model.predict_proba(X_new)) < np.log(2)


@both
@pytest.mark.filterwarnings("ignore:The smallest class has")
def test_class_of_a_single_object(small_grids, combine):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [1, 12, 12])
    X = rng.normal(size=(25, 3)) + 4 * y[:, None]
    model = chooser(random_state=0, combine=combine).fit(X, y)
    assert not any(row["note"] for row in model.leaderboard_)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="n_samples=3"):
        chooser(combine=combine).fit(X[[0, 1, 13]], y[[0, 1, 13]])


@both
@pytest.mark.filterwarnings("ignore:The smallest class has")
def test_three_objects(small_grids, combine):
    """Of the splits only those count that leave two classes to learn from."""
    X, y = np.array([[0.0], [0.1], [5.0]]), ["a", "a", "b"]
    model = chooser(random_state=0, combine=combine).fit(X, y)
    assert not any(row["note"] for row in model.leaderboard_)
    assert model.predict(X).tolist() == y
    with pytest.raises(ValueError, match="two classes in its training part"):
        chooser(cv=[([0, 1], [2])]).fit(X, y)


def test_dissimilarities_as_a_kernel_are_warned_of_once(data):
    X, y = data
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    with pytest.warns(UserWarning, match="looks like a matrix of dissimilarities") as record:
        chooser(("kernel_fisher", "kqd"), kernel="precomputed", cv=SPLITS).fit(D, y)
    assert len(record) == 1


def test_constant_and_collinear_columns_change_nothing_much(data, small_grids):
    X, y = data
    wide = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), 1e9), X[:, 0]])
    model = chooser(cv=SPLITS, combine="stack").fit(wide, y)
    assert not any(row["note"] for row in model.leaderboard_)
    # A constant column alone changes nothing at all.
    with_constant = chooser(CHEAP[1:], cv=SPLITS, combine="stack").fit(wide[:, :6], y)
    without = chooser(CHEAP[1:], cv=SPLITS, combine="stack").fit(X, y)
    assert_allclose(with_constant.decision_function(wide[:, :6]), without.decision_function(X))


def test_many_classes(small_grids):
    X, y = make_blobs(100, 3, centers=25, random_state=0)
    model = chooser(cv=2, random_state=0, combine="stack").fit(X, y)
    assert not any(row["note"] for row in model.leaderboard_)
    assert model.score(X, y) > 0.5


# --- wrong use ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", "neg_brier_score"])
def test_scores_of_probabilities_compare_every_family(scoring):
    X, y = load_wine(return_X_y=True)
    X, y = X[::2], y[::2]
    if scoring == "neg_brier_score":
        X, y = X[y < 2], y[y < 2]
    model = chooser(scoring=scoring, cv=3, random_state=0).fit(X, y)
    table = {row["family"]: row for row in model.leaderboard_}
    assert len(table) == len(VECTORS) and not any(row["note"] for row in table.values())
    assert all(np.isfinite(row["mean_score"]) for row in table.values())
    # A calibrated classifier of these easy classes is far better than one that knows nothing.
    floor = {"neg_log_loss": -0.3, "roc_auc_ovr": 0.95, "neg_brier_score": -0.1}[scoring]
    assert all(row["mean_score"] > floor for row in table.values()), table


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"families": ("kqd", "svc")}, "'svc' is not known; choose from 'gaussian'"),
        ({"families": ()}, "families is empty"),
        ({"families": "gaussian", "kernel": "precomputed"}, "need vectors and a kernel by name"),
        ({"cv": 1}, "at least 2 folds"),
        ({"time_budget": 0}, "time_budget must be a positive number"),
        ({"spectrum": "fold"}, "spectrum='fold' is not known"),
        ({"kernel": "rbg"}, "kernel='rbg' is not known"),
        ({"scoring": "no_such_score"}, "no_such_score"),
    ],
)
def test_errors_say_what_to_do(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        chooser(**parameters).fit(*data)


def test_weights_need_an_ensemble(data):
    X, y = data
    with pytest.raises(ValueError, match="need combine='stack'"):
        chooser().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="need combine='stack'"):
        chooser(class_weight="balanced").fit(X, y)


def test_small_data_get_repeated_folds():
    y = np.repeat([0, 1], 50)
    counts = np.array([50, 50])
    splits = make_splits(5, None, y, counts, 0)
    assert len(splits) == 5 * MOST_REPEATS
    y = np.repeat([0, 1], 2000)
    assert len(make_splits(5, None, y, counts * 40, 0)) == 5


def test_balanced_accuracy_and_pipelines(data):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(
        StandardScaler(),
        chooser(CHEAP, scoring="balanced_accuracy", cv=3, random_state=0),
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_objects_without_an_error_do_not_make_the_next_one_certain():
    scores = np.array([[5.0, 0.0], [4.0, 0.0], [0.0, 5.0], [0.0, 3.0]])
    temperature = fit_temperature(scores, np.array([0, 0, 1, 1]))
    farthest = 1 / (1 + np.exp(-5.0 / temperature))
    assert 0.75 < farthest < 0.95  # Platt's target is 5/6
