"""Ensembles of families: out-of-fold scores, weights, shared work, explanations, files."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive
from mahalearn import (
    ConformalClassifier,
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelQuadraticDiscriminant,
    MahalanobisClassifierCV,
    MeasureKernel,
    ProximityKernel,
    TableEncoder,
    load_model,
    save_model,
)
from mahalearn._base import class_scores
from mahalearn.classifiers.members import fit_members, member_scores
from mahalearn.formulas.stacking import calibrate, held_out_log_loss, stack, stacking_weights
from mahalearn.kernels.protocol import NamedKernel
from mahalearn.measures import FunctionMeasure
from mahalearn.model_selection import grid, member_data, race
from mahalearn.model_selection.families import FAMILIES, Family, list_members
from mahalearn.model_selection.weighing import held_out_rows
from mahalearn.training.exact import DistanceModel

SPLITS = StratifiedKFold(3, shuffle=True, random_state=0)
PENALTY = 1.0  # the documented λ
CHEAP = ("gaussian", "kernel_fisher")


@pytest.fixture(scope="module", autouse=True)
def small_grids():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "GAMMAS", (0.3, 1.0, 3.0))
        patch.setattr(grid, "CS", (1.0, 10.0))
        patch.setattr(race, "FEWER_CS", (1.0,))
        patch.setattr(grid, "DELTAS", (0.5, 1.0))
        yield


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(75, 4, centers=3, cluster_std=5.0, random_state=0)
    return X * [1, 100, 0.01, 1], np.array(["c", "a", "b"])[y]


@pytest.fixture(scope="module")
def fitted(data):
    return MahalanobisClassifierCV(cv=SPLITS).fit(*data)


def held_out_tables(model, X, y):
    """Scores of each member by refitting in every split, test parts one after the other."""
    Z = StandardScaler().fit_transform(X)
    tables = {}
    for name, pipeline in model.candidates_.items():
        parts = []
        for train, test in SPLITS.split(X, y):
            scores = clone(pipeline[-1]).fit(Z[train], y[train]).decision_function(Z[test])
            parts.append(scores)
        tables[name] = np.concatenate(parts)
    return tables


def test_members_of_both_kernels_and_a_leaderboard(fitted):
    rows = {row["member"]: row for row in fitted.leaderboard_}
    first = {name for name, f in FAMILIES.items() if f.suits("vectors", 75, True)}
    second = {f"{name}/laplacian" for name, f in FAMILIES.items() if "kernels" in f.inputs}
    assert set(rows) == first | second
    assert not any(row["note"] for row in rows.values())
    for name, row in rows.items():
        assert row["chosen"] == (name in fitted.members_)
        assert row["weight"] == fitted.weights_.get(name, 0.0)
        assert np.isfinite([row["mean_score"], row["log_loss"], row["loss_without"]]).all()
    assert set(fitted.weights_) == set(fitted.members_) == set(fitted.calibrations_)
    assert fitted.best_family_ == max(fitted.weights_, key=fitted.weights_.get)


def test_weights_and_probabilities_are_those_of_refitting(fitted, data):
    """The whole way again, from refitted members to stacked probabilities."""
    X, y = data
    tables = held_out_tables(fitted, X, y)
    splits = list(SPLITS.split(X, y))
    objects = np.concatenate([test for _, test in splits])
    truth = np.searchsorted(fitted.classes_, y[objects])
    parts = np.concatenate([np.full(len(test), f) for f, (_, test) in enumerate(splits)])
    log_p = {
        name: calibrate(table, truth, np.ones(len(truth)), parts).log_proba
        for name, table in tables.items()
    }
    stacked = np.array(list(log_p.values()))
    w = stacking_weights(stacked, truth, PENALTY)
    expected = dict(zip(log_p, w, strict=True))
    for name in log_p:
        assert_allclose(fitted.weights_.get(name, 0.0), expected[name], atol=1e-3)
    kept = [name for name in log_p if expected[name] > 0]
    oof = np.full((len(y), 3), np.nan)
    for part in range(3):
        out = parts == part
        inside = np.array([log_p[name][~out] for name in kept])
        w = stacking_weights(inside, truth[~out], PENALTY)
        for row in np.flatnonzero(out):
            members = [np.exp(log_p[name][row]) for name in kept]
            oof[objects[row]] = naive.stacked_proba(members, w)
    assert_allclose(fitted.oof_proba_, oof, atol=2e-3)
    codes = np.searchsorted(fitted.classes_, y)
    scores = [(oof[test].argmax(axis=1) == codes[test]).mean() for _, test in splits]
    assert_allclose(fitted.best_score_, np.mean(scores), atol=1e-12)


def test_predictions_are_the_members_combined(fitted, data):
    X, _ = data
    products = []
    for name, member in fitted.members_.items():
        scores = member.decision_function(X)
        products.append(np.exp(fitted.calibrations_[name].log_proba(scores)))
    w = [fitted.weights_[name] for name in fitted.members_]
    expected = [naive.stacked_proba(rows, w) for rows in np.moveaxis(np.array(products), 1, 0)]
    assert_allclose(fitted.predict_proba(X), expected, rtol=1e-6, atol=1e-12)
    assert (fitted.classes_[np.argmax(expected, axis=1)] == fitted.predict(X)).all()


def test_order_of_the_families_does_not_matter(data):
    X, y = data
    one = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y)
    other = MahalanobisClassifierCV(CHEAP[::-1], cv=SPLITS).fit(X, y)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)


# --- weights of objects and classes, groups -------------------------------------------------------


@pytest.fixture(scope="module")
def unbalanced():
    X, y = make_classification(
        240, 5, n_informative=3, weights=[0.88], class_sep=0.6, flip_y=0.02, random_state=3
    )
    return X[:120], y[:120], X[120:], y[120:]


@pytest.mark.parametrize(
    "parameters", [{"scoring": "balanced_accuracy"}, {"class_weight": "balanced"}]
)
def test_balanced_classes(unbalanced, parameters):
    X, y, queries, truth = unbalanced
    plain = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y)
    model = MahalanobisClassifierCV(CHEAP, cv=SPLITS, **parameters).fit(X, y)
    before = balanced_accuracy_score(truth, plain.predict(queries))
    assert balanced_accuracy_score(truth, model.predict(queries)) > before + 0.03
    assert model.predict(queries).mean() > plain.predict(queries).mean()


@pytest.mark.parametrize("families", [("gaussian",), ("mahalanobis_svm",)])
def test_the_scale_of_weights_does_not_matter(data, families):
    X, y = data
    model = MahalanobisClassifierCV(families, cv=SPLITS)
    plain = clone(model).fit(X, y).predict_proba(X)
    equal = clone(model).fit(X, y, sample_weight=np.full(len(y), 3.0)).predict_proba(X)
    assert_array_equal(equal, plain)
    weights = np.random.default_rng(0).uniform(0, 2, len(y)) * (np.arange(len(y)) % 5 > 0)
    one, many = (
        clone(model).fit(X, y, sample_weight=factor * weights).predict_proba(X)
        for factor in (1.0, 1024.0)
    )
    assert_array_equal(one, many)
    assert np.abs(one - plain).max() > 0.01


def test_a_weight_is_a_share_in_the_calibration_and_in_the_weights(data):
    """Objects of weight 0 change neither; the families that ignore weights are named once."""
    X, y = data
    weights = np.ones(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y, sample_weight=weights)
    two = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y)
    assert set(one.weights_) == set(two.weights_)
    weights[:20] = 0
    said = "families kernel_fisher ignore sample_weight; also objects of weight 0 train them"
    with pytest.warns(UserWarning, match=said) as record:
        model = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y, sample_weight=weights)
    assert len(record) == 1
    alone = MahalanobisClassifierCV(("gaussian",), cv=SPLITS).fit(X, y, sample_weight=weights)
    pipeline = alone.members_["gaussian"]
    plain = GaussianClassifier(**alone.best_params_)
    plain.fit(pipeline[0].transform(X)[20:], y[20:])
    assert_allclose(pipeline[-1].means_, plain.means_, atol=1e-12)
    assert set(model.members_) <= {"gaussian", "kernel_fisher", "kernel_fisher/laplacian"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # this family takes weights, so that nothing is said
        alone = MahalanobisClassifierCV(("mahalanobis_svm",), cv=SPLITS)
        alone.fit(X, y, sample_weight=weights)
    assert (alone.members_["mahalanobis_svm"][-1].support_ >= 20).all()
    with pytest.raises(ValueError, match="sample_weight must be 1D"):
        MahalanobisClassifierCV(CHEAP).fit(X, y, sample_weight=[1.0, 2.0])
    # Members that take weights would not have the class.
    with pytest.raises(ValueError, match="has the weight 0"):
        MahalanobisClassifierCV(CHEAP).fit(X, y, sample_weight=(y != y[0]).astype(float))


def test_groups_reach_the_splitter(data):
    X, y = data
    groups = np.arange(len(y)) % 5
    model = MahalanobisClassifierCV(CHEAP, cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert model.n_splits_ == 5
    with pytest.raises(ValueError, match="groups"):
        MahalanobisClassifierCV(CHEAP, cv=GroupKFold(5)).fit(X, y)


def test_a_users_scorer_and_probability_scores_are_reported(data):
    X, y = data

    def half_right(estimator, X, y):
        return 0.5 * (estimator.predict(X) == y).mean()

    for scoring in ("roc_auc_ovr", "neg_log_loss", half_right):
        model = MahalanobisClassifierCV(CHEAP, cv=SPLITS, scoring=scoring).fit(X, y)
        assert np.isfinite(model.best_score_)
        assert all(np.isfinite(row["mean_score"]) for row in model.leaderboard_)
    accuracy = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y)
    assert_allclose(model.best_score_, accuracy.best_score_ / 2)


def test_held_out_rows_count_each_object_once():
    splits = [([2, 3], [0, 1]), ([0, 1], [2, 3]), ([1, 3], [0, 2]), ([0, 2], [1, 3])]
    splits = [tuple(map(np.array, split)) for split in splits]
    rows = held_out_rows(splits, np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 1.0, 1.0]))
    for i in range(4):  # an object is in one part, and its rows weigh as much as it does
        assert len(set(rows.parts[rows.objects == i])) == 1
        assert rows.weights[rows.objects == i].sum() == [1.0, 2.0, 1.0, 1.0][i]
    single = held_out_rows(splits[:1], np.array([0, 1, 0, 1]), np.ones(4))
    assert len(set(single.parts)) == 2


def test_a_single_split_and_objects_never_held_out(data):
    X, y = data
    cv = [(np.arange(0, 75, 2), np.arange(1, 75, 2))]
    model = MahalanobisClassifierCV(CHEAP, cv=cv).fit(X, y)
    assert np.isnan(model.oof_proba_[::2]).all()
    assert_allclose(model.oof_proba_[1::2].sum(axis=1), 1)


# --- matrices and objects -------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["stack", "best"])
def test_a_matrix_of_any_scale(data, combine):
    X, y = data
    Z = StandardScaler().fit_transform(X)
    K = ProximityKernel().fit_transform(np.abs(Z[:, None] - Z[None]).max(axis=2))
    params = {"kernel": "precomputed", "cv": SPLITS, "combine": combine}
    one = MahalanobisClassifierCV(**params).fit(K, y)
    families = {name for name, f in FAMILIES.items() if "objects" in f.inputs}
    assert {row["family"] for row in one.leaderboard_} == families
    other = MahalanobisClassifierCV(**params).fit(K * 1e4, y)
    assert_allclose(one.predict_proba(K), other.predict_proba(K * 1e4), atol=1e-3)


WORDS = ["ape", "apple", "apply", "maple", "ample", "pale", "oak", "soak", "oat", "oath", "cloak"]
LETTER = list("aaaaaaooooo")


def test_objects_and_several_kernels_need_each_pair_once():
    calls = []

    def difference(a, b):
        calls.append((a, b))
        return float(len(set(a) ^ set(b)))

    kernels = [MeasureKernel(difference, kind=kind) for kind in ("neg_squared", "neg", "rbf")]
    families = ("kernel_fisher", "neighbors", "svm", "kqd")
    model = MahalanobisClassifierCV(families, kernels=kernels, cv=3, random_state=0)
    model.fit(WORDS, LETTER)
    assert not any(row["note"] for row in model.leaderboard_)
    assert len(calls) <= len(WORDS) ** 2
    assert model.predict(["apples", "boat"]).tolist() == ["a", "o"]
    calls.clear()
    model.predict(["apples", "boat"])
    assert len(calls) <= 2 * (2 * len(WORDS) + 1)  # both ways, once for all members; itself
    for member in model.members_.values():
        assert member.kernel in kernels


def test_kernels_that_learn_are_compared_too(data):
    X, y = data
    rows = pd.DataFrame(X, columns=list("pqrs"))
    model = MahalanobisClassifierCV(
        ("kernel_fisher", "neighbors"), kernels=["gower", "correlation"], cv=SPLITS
    ).fit(rows, y)
    assert not any(row["note"] for row in model.leaderboard_)
    assert model.score(rows, y) > 0.5


# --- shared work ----------------------------------------------------------------------------------


def test_distances_and_kernels_are_computed_once_for_all_members(fitted, data, monkeypatch):
    X, _ = data
    pairs, values = [], []
    pair_values, fill = NamedKernel.pair_values, NamedKernel.fill
    monkeypatch.setattr(
        NamedKernel, "pair_values", lambda k, *a: pairs.append(k.name) or pair_values(k, *a)
    )
    monkeypatch.setattr(
        NamedKernel,
        "fill",
        lambda k, *a: values.append((k.name, k.gamma)) or fill(k, *a),
    )
    fitted.predict(X)
    assert len(pairs) == len(set(pairs)) == 2
    assert len(values) == len(set(values)) >= 2


def by_members(model, X):
    """Log-probabilities of an ensemble from members that predict one by one."""
    tables = []
    for name, member in model.members_.items():
        scores = member[-1]._scores(member[:-1].transform(X))
        tables.append(model.calibrations_[name].log_proba(scores))
    return stack(np.array(tables), np.array([model.weights_[name] for name in model.members_]))


@pytest.mark.parametrize("working_memory", [0.01, 0.1, 1024])
def test_an_ensemble_is_the_combination_of_its_members(fitted, data, tmp_path, working_memory):
    pytest.importorskip("skops")
    X, _ = data
    queries = np.vstack([X, X + 0.1, X[::-1] - 0.2])
    again = load_model(save_model(fitted, tmp_path / "ensemble.skops"))
    with sklearn.config_context(working_memory=working_memory):
        for model in (fitted, again):
            got = model.predict_log_proba(queries)
            kept = got.copy()
            model.predict_log_proba(queries[::-1])  # whose memory must not be that of the first
            assert_array_equal(got, kept)
            assert_allclose(got, by_members(model, queries), atol=1e-10)


def test_members_one_by_one_in_cache_sized_chunks(fitted, data, monkeypatch):
    X, _ = data
    expected = fitted.predict_log_proba(X)
    monkeypatch.setattr("mahalearn.classifiers.members.IN_CACHE", 1000)
    assert_allclose(fitted.predict_log_proba(X), expected, atol=1e-10)


def test_ensembles_predict_in_several_threads(fitted, data):
    X, _ = data
    batches = [X + shift for shift in np.linspace(0, 0.5, 12)]
    expected = [fitted.predict_log_proba(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for got, wanted in zip(pool.map(fitted.predict_log_proba, batches), expected, strict=True):
            assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("combine", ["stack", "best"])
def test_results_do_not_depend_on_working_memory(data, combine):
    X, y = data
    model = MahalanobisClassifierCV(CHEAP, cv=SPLITS, combine=combine).fit(X, y)
    expected = model.predict_log_proba(X)
    with sklearn.config_context(working_memory=0.002):
        assert_allclose(model.predict_log_proba(X), expected, atol=1e-9)


def test_a_saved_ensemble_predicts_the_same_and_stores_the_objects_once(fitted, data, tmp_path):
    pytest.importorskip("skops")
    X, _ = data
    path = save_model(fitted, tmp_path / "ensemble.skops")
    again = load_model(path)
    assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
    assert again.explain(X[:1])[0]["label"] == fitted.explain(X[:1])[0]["label"]
    shared = {
        id(member[-1]._training.original.X)
        for member in again.members_.values()
        if hasattr(member[-1], "_training")
    }
    assert len(shared) == 1


def test_members_with_equal_class_models_share_them(data, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    X, y = data
    X = StandardScaler().fit_transform(X)
    width = {"gamma": 0.25, "standardize": False}
    alone = {
        "kqd": KernelQuadraticDiscriminant(reg=0.1, **width),
        "fisher": DissimilaritySpaceDiscriminant(reg=0.1, **width),
        "another reg": DissimilaritySpaceDiscriminant(reg=0.2, **width),
        "another variant": KernelQuadraticDiscriminant("FK+", reg=0.1, **width),
    }
    copies = {name: clone(member) for name, member in alone.items()}
    model = fit_members(copies, X, y)
    again = load_model(save_model(model, tmp_path / "members.skops"))
    expected = {name: member.fit(X, y)._scores(X) for name, member in alone.items()}
    calls, compute = [], DistanceModel._sq_distances
    monkeypatch.setattr(
        DistanceModel, "_sq_distances", lambda *args: calls.append(1) or compute(*args)
    )
    for members in (model, again):
        assert members["kqd"]._distances is members["fisher"]._distances
        assert len({id(member._distances) for member in members.values()}) == 3
        assert len({id(member._training) for member in members.values()}) == 1
        assert len({id(member._distances.training) for member in members.values()}) == 1
        calls.clear()
        scores = member_scores(members, X)
        assert len(calls) == 3
        for name, table in expected.items():
            assert_allclose(scores[name], table, rtol=1e-9, atol=1e-9)


def test_members_score_shared_rows_as_they_score_queries(fitted, data):
    Z = fitted._queries(data[0])
    members = fitted._last_steps()
    for name, scores in member_scores(members, Z).items():
        own = members[name]
        expected = own._scores(Z) if hasattr(own, "_training") else class_scores(own, Z)[0]
        assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


# --- explanations ---------------------------------------------------------------------------------


def log_odds(row):
    return np.log(row["proba"][row["label"]]) - np.log(row["proba"][row["second"]])


@pytest.mark.parametrize("combine", ["stack", "best"])
@pytest.mark.parametrize("families", [("gaussian",), CHEAP, ("mahalanobis_svm", "kqd")], ids=str)
def test_members_and_columns_add_up_to_the_margin(data, families, combine):
    X, y = data
    model = MahalanobisClassifierCV(families, combine=combine, cv=SPLITS).fit(X, y)
    for x, row in zip(X[::9], model.explain(X[::9]), strict=True):
        assert set(row["members"]) == set(row["votes"]) == set(model.members_)
        assert_allclose(sum(row["members"].values()), log_odds(row), rtol=1e-6)
        smooth = [n for n, member in model.members_.items() if member[-1].smooth_scores]
        if smooth:
            total = sum(row["contributions"].values()) + row["baseline"]
            assert_allclose(total, log_odds(row), rtol=1e-6)
            # Of the mean row, what members add to the margin that have a gradient.
            encoder = next(iter(model.members_.values()))[0]
            a, b = np.searchsorted(model.classes_, [row["label"], row["second"]])
            scores = member_scores(model._last_steps(), encoder.transform(X.mean(axis=0)[None]))
            at_center = model._member_log_proba(scores)[:, 0]
            parts = dict(zip(scores, at_center[:, a] - at_center[:, b], strict=True))
            voted = sum(part for name, part in row["members"].items() if name not in smooth)
            expected = sum(model.weights_[name] * parts[name] for name in smooth) + voted
            assert_allclose(row["baseline"], expected, rtol=0.01, atol=0.02)
        else:
            assert row["contributions"] is row["baseline"] is None
        for name, vote in row["votes"].items():
            assert vote == model.members_[name].predict(x[None])[0]


def test_the_part_of_a_gaussian_is_its_weighted_log_odds(data):
    """Alone with one temperature, the ensemble's margin is a bounded one of the densities."""
    X, y = data
    model = MahalanobisClassifierCV(("gaussian",), combine="best", cv=SPLITS).fit(X, y)
    gaussian, Z = model.members_["gaussian"][-1], model.members_["gaussian"][0].transform(X)
    for z, row in zip(Z[:3], model.explain(X[:3]), strict=True):
        (one,) = gaussian.explain(z[None])
        for name in ("contributions", "baseline"):
            ours, alone = row[name], one[name]
            ours, alone = ([v] if np.isscalar(v) else list(v.values()) for v in (ours, alone))
            assert_allclose(np.array(ours) * model.temperature_, alone, rtol=1e-5, atol=1e-6)


def test_explanations_name_neighbours_and_typical_objects(fitted, data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("pqrs"))
    rows = fitted.explain(X[:4], n_neighbors=3)
    assert [row["neighbors"][0][0] for row in rows] == [0, 1, 2, 3]  # the objects themselves
    assert [row["label"] for row in rows] == fitted.predict(X[:4]).tolist()
    far = fitted.explain(X[:1] + 50 * X.std(axis=0))[0]
    assert max(far["typicality"].values()) <= 1 / 20
    typical = [row["typicality"][c] for row, c in zip(fitted.explain(X), y, strict=True)]
    assert 0.35 < np.mean(typical) < 0.7
    named = MahalanobisClassifierCV(("gaussian",), cv=SPLITS).fit(frame, y)
    assert list(named.explain(frame[:1])[0]["contributions"]) == list("pqrs")


def test_objects_are_explained_without_features():
    model = MahalanobisClassifierCV(("kqd", "neighbors"), kernel="edit", cv=3, random_state=0)
    row = model.fit(WORDS, LETTER).explain(["apples"], n_neighbors=2)[0]
    assert row["contributions"] is None and len(row["neighbors"]) == 2
    assert set(row["distances"]) == {"a", "o"}


# --- budget and wrong use -------------------------------------------------------------------------


def test_a_spent_budget_still_gives_an_ensemble(data):
    X, y = data
    with pytest.warns(UserWarning, match="left out by the time budget"):
        model = MahalanobisClassifierCV(cv=SPLITS, time_budget=1e-6).fit(X, y)
    families = {row["family"] for row in model.leaderboard_ if row["n_finalists"]}
    assert len(families) == race.LEAST_FAMILIES
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"combine": "blend"}, "combine='blend' is not known"),
        ({"kernels": []}, "kernels must be a list of kernels"),
        ({"kernels": ["precomputed"]}, "cannot hold 'auto' or 'precomputed'"),
        ({"kernels": ["rbg"]}, "'rbg' is not known"),
    ],
)
def test_errors_say_what_to_do(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        MahalanobisClassifierCV(**parameters).fit(*data)


def test_an_ensemble_has_no_single_distance(fitted, data):
    assert len(fitted.members_) > 1
    with pytest.raises(AttributeError) as error:
        fitted.mahalanobis(data[0])
    assert "no single distance" in str(error.value.__cause__)


def test_noise_is_reported_as_noise():
    """Labels without meaning: the ensemble's score, log loss and probabilities know it."""
    rng = np.random.default_rng(0)
    scores, losses = [], []
    for _ in range(3):
        X, y = rng.normal(size=(60, 20)), np.repeat([0, 1], 30)
        model = MahalanobisClassifierCV(("gaussian", "kernel_fisher", "kqd"), cv=SPLITS).fit(X, y)
        scores.append(model.best_score_)
        losses.append(held_out_log_loss(np.log(model.oof_proba_), y, np.ones(60)))
    assert np.mean(scores) < 0.6
    assert np.mean(losses) > 0.66  # ln 2 is 0.69


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("given", ["measure", "forms", "forms and another measure"])
def test_all_families_together_call_a_measure_once_for_each_pair(symmetric, given):
    """The comparison, the last fits and the calibration share one matrix; so do predictions."""
    calls = []

    def counted(a, b):
        calls.append((a, b))
        return float(len(set(a) ^ set(b)))

    measure = FunctionMeasure(counted, symmetric=symmetric)
    kernels = [measure]
    if given != "measure":
        kinds = ("neg_squared", "neg", "rbf", "laplacian")
        kernels = [MeasureKernel(measure, kind=kind) for kind in kinds]
    if given == "forms and another measure":
        kernels.append(MeasureKernel("edit"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MahalanobisClassifierCV(kernels=kernels, cv=3, random_state=0).fit(WORDS, LETTER)
    n, new = len(WORDS), ["apple", "blob", "cab"]
    assert len({row["family"] for row in model.leaderboard_}) == 7
    # Of a function that is said to be symmetric some pairs are checked.
    assert len(calls) == (n * (n + 1) // 2 + 8 if symmetric else n**2)
    calls.clear()
    model.predict(new)
    ways = 1 if symmetric else 2
    assert len(calls) == len(new) * (ways * n + 1)  # and the self-similarities


def test_a_measure_stands_for_its_forms():
    calls = []

    def counted(a, b):
        calls.append((a, b))
        return float(len(set(a) ^ set(b)))

    measure = FunctionMeasure(counted, symmetric=True)
    families = ("kernel_fisher", "neighbors", "svm")
    model = MahalanobisClassifierCV(families, kernel=measure, cv=3, random_state=0)
    model.fit(WORDS, LETTER)
    n = len(WORDS)
    assert n * (n - 1) // 2 <= len(calls) <= n * (n + 1) // 2 + 8
    kinds = {row["family"]: row["params"]["kernel"].kind for row in model.leaderboard_}
    assert kinds["svm"] == "rbf" and {kinds["kernel_fisher"], kinds["neighbors"]} <= {
        "neg",
        "neg_squared",
    }
    one = MahalanobisClassifierCV(
        families, kernel=MeasureKernel(measure, kind="neg"), cv=3, random_state=0
    ).fit(WORDS, LETTER)
    assert {member.kernel.kind for member in one.members_.values()} == {"neg"}


# --- tables with categories, dates and missing cells ----------------------------------------------


def raw_table(n, seed=0):
    """A table of all kinds of columns, and labels that depend on some of them."""
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes"])[np.arange(n) % 2]
    yes = y == "yes"
    frame = pd.DataFrame(
        {
            "dose": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + yes),
            "solvent": np.where(
                yes, rng.choice(["oil", "water"], n), rng.choice(["oil", "air"], n)
            ),
            "batch": pd.Categorical(rng.choice(list("abc"), n)),
            "stirred": rng.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
        }
    )
    frame.loc[3, "solvent"] = None
    return frame, y


def test_frames_of_any_library_with_categories_dates_and_gaps():
    frame, y = raw_table(120)
    model = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(frame, y)
    assert model.best_score_ > 0.8
    assert list(model.feature_names_in_) == list(frame.columns)
    expected = model.predict_proba(frame)
    for library, make in (
        ("polars", lambda pl: pl.from_pandas(frame)),
        ("pyarrow", lambda pa: pa.Table.from_pandas(frame)),
    ):
        table = make(pytest.importorskip(library))
        assert_allclose(model.predict_proba(table), expected, atol=1e-12)
        again = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(table, y)
        assert_allclose(again.predict_proba(frame), expected, atol=1e-12)
    new = frame.copy()
    new.loc[0, "solvent"] = "never seen"
    assert np.isfinite(model.predict_proba(new)).all()
    (row,) = model.explain(new[:1])
    assert list(row["contributions"]) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"dose": "amount"}))


def test_arrays_with_missing_cells_are_filled(data):
    X, y = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(X, y)
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    indicators = np.isnan(X)[:, np.isnan(X).mean(axis=0) >= 0.05]
    Z = np.hstack([StandardScaler().fit_transform(filled), indicators])
    assert_allclose(model._queries(X), Z, atol=1e-12)
    assert np.isfinite(model.predict_proba(X)).all()


def test_labels_that_do_not_depend_on_a_raw_table_stay_at_chance():
    frame, y = raw_table(120)
    y = np.random.default_rng(5).permutation(y)
    frame["city"] = np.random.default_rng(6).choice([f"city {i}" for i in range(40)], len(y))
    model = MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(frame, y)
    scores = [row["mean_score"] for row in model.leaderboard_]
    high = binom.isf(0.001 / 100, len(y), 0.5) / len(y)
    assert max(*scores, model.best_score_) <= high


# --- many objects, batches and dask ---------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch):
    """Few objects are many."""
    monkeypatch.setattr(race, "EXACT_OBJECTS", 150)
    monkeypatch.setattr(race, "PILOT_LEAST", 90)
    monkeypatch.setattr(race, "PILOT_MOST", 90)
    monkeypatch.setattr(member_data, "N_LANDMARKS", 40)


def many_blobs():
    X, y = make_blobs(400, 4, centers=3, cluster_std=4.0, random_state=1)
    return X[:300], y[:300], X[300:], y[300:]


def test_many_rows_have_members_at_landmarks(small_limits):
    X, y, queries, truth = many_blobs()
    exact = MahalanobisClassifierCV(cv=SPLITS, effort="best", families=CHEAP).fit(X, y)
    with pytest.warns(UserWarning, match="cannot use landmarks"):
        model = MahalanobisClassifierCV(("svm", "kqd", *CHEAP), cv=SPLITS).fit(X, y)
    notes = {row["member"]: row["note"] for row in model.leaderboard_}
    assert "cannot use landmarks" in notes["svm"] and not notes["kqd"]
    kernels = [m[-1] for m in model.members_.values() if hasattr(m[-1], "landmarks")]
    assert kernels and all(len(member.landmarks_) == 40 for member in kernels)
    assert abs(model.score(queries, truth) - exact.score(queries, truth)) < 0.06
    assert model.explain(queries[:1])[0]["label"] == model.predict(queries[:1])[0]


def test_with_many_rows_some_of_the_folds_are_enough(small_limits, monkeypatch):
    monkeypatch.setattr(race, "HELD_OUT_OBJECTS", 150)
    X, y, queries, truth = many_blobs()
    model = MahalanobisClassifierCV(("kernel_fisher",), cv=3, random_state=0).fit(X, y)
    assert model.n_splits_ == 2 and np.isnan(model.oof_proba_[:, 0]).sum() == 100
    assert all(len(row["fold_scores"]) == 2 for row in model.leaderboard_)
    # Kernels share landmarks, which are those of a fit of one member alone.
    alone = clone(model.members_["kernel_fisher"][-1]).fit(model._encoder.transform(X), y)
    for member in model.members_.values():
        assert_array_equal(member[-1].landmarks_, alone.landmarks_)
    every = MahalanobisClassifierCV(("kernel_fisher",), cv=model_splits(y), random_state=0)
    assert every.fit(X, y).n_splits_ == 3
    assert abs(model.score(queries, truth) - every.score(queries, truth)) < 0.06


def test_members_of_a_large_matrix_are_at_landmarks(small_limits):
    X, y, queries, truth = many_blobs()
    K, k = (-np.sqrt(((A[:, None] - X) ** 2).sum(axis=-1)) for A in (X, queries))
    families = ("svm", "kernel_ridge", "kqd", "kernel_fisher")
    model = MahalanobisClassifierCV(families, kernel="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="svm, kernel_ridge .left out: it cannot use land"):
        model.fit(K, y)
    assert all(len(member.landmarks_) == 40 for member in model.members_.values())
    exact = clone(model).set_params(effort="best", families=families[2:]).fit(K, y)
    assert abs(model.score(k, truth) - exact.score(k, truth)) < 0.06
    # Members see their own columns of the queries' rows.
    scores = member_scores(model.members_, model._queries(k))
    for name, member in model.members_.items():
        assert_allclose(scores[name], member.query_scores(member._check_query(k)))
    assert model.explain(k[:1])[0]["label"] == model.predict(k[:1])[0]


def model_splits(y):
    return list(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y))


@pytest.mark.parametrize("kind", ["batches", "dask array", "dask frame"])
def test_rows_that_are_not_in_memory(small_limits, kind):
    X, y, queries, truth = many_blobs()
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    if kind == "batches":
        arguments = ([(X[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)],)
    elif kind == "dask array":
        da = pytest.importorskip("dask.array")
        arguments = da.from_array(X, chunks=(70, 4)), da.from_array(y, chunks=70)
    else:
        dd = pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(X, columns=list("pqrs")).assign(label=y)
        frame = dd.from_pandas(frame, npartitions=3)
        arguments = frame[list("pqrs")], frame["label"]
    model = MahalanobisClassifierCV(CHEAP, cv=3, random_state=0).fit(*arguments)
    in_memory = MahalanobisClassifierCV(CHEAP, cv=3, random_state=0).fit(X, y)
    assert abs(model.score(queries, truth) - in_memory.score(queries, truth)) < 0.06
    assert abs(model.best_score_ - in_memory.best_score_) < 0.06
    assert model.members_["gaussian"][-1].classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="cv must be a number"):
        MahalanobisClassifierCV(CHEAP, cv=SPLITS).fit(*arguments)


# --- gradient boosting as a member ----------------------------------------------------------------

WITH_TREES = ("gaussian", "boosting")


def rules(n, seed=0):
    """Classes by thresholds on three columns of six, a tenth of the labels turned."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.5)
    return X, np.where(rng.random(n) < 0.1, ~y, y).astype(int)


def test_trees_are_a_member_from_a_number_of_rows_on(monkeypatch):
    X, y = rules(300)
    kernels = ["rbf", "laplacian"]
    first = {m.name for m in list_members(None, kernels, (), 999, True)}
    assert {m.name for m in list_members(None, kernels, (), 1000, True)} == {*first, "boosting"}
    assert "boosting" not in {m.name for m in list_members(None, kernels, (), 1000, False)}
    assert "boosting" not in {m.name for m in list_members(None, [None], (), 1000, True)}
    monkeypatch.setitem(FAMILIES, "boosting", FAMILIES["boosting"]._replace(least_objects=300))
    for name in set(first) - set(WITH_TREES):
        monkeypatch.setitem(FAMILIES, name.split("/")[0], Family(None, inputs=()))
    model = MahalanobisClassifierCV(cv=SPLITS).fit(X, y)
    assert set(model.members_) <= set(WITH_TREES) and model.weights_["boosting"] > 0.5


def test_trees_follow_rules_and_are_saved_and_explained(tmp_path):
    X, y = rules(600)
    model = MahalanobisClassifierCV(WITH_TREES, cv=SPLITS).fit(X[:400], y[:400])
    assert model.best_family_ == "boosting" and model.score(X[400:], y[400:]) > 0.8
    in_processes = MahalanobisClassifierCV(WITH_TREES, cv=SPLITS, n_jobs=2).fit(X[:400], y[:400])
    assert_array_equal(model.predict_proba(X), in_processes.predict_proba(X))
    again = load_model(save_model(model, tmp_path / "trees.skops"))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    told = model.explain(X[400:401])[0]
    log_p = np.sort(model.predict_log_proba(X[400:401])[0])
    assert_allclose(sum(told["members"].values()), log_p[-1] - log_p[-2], rtol=1e-9)
    total = sum(told["contributions"].values()) + told["baseline"]
    assert_allclose(total, log_p[-1] - log_p[-2], rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_are_those_of_scikit_learn(n_classes):
    X, y = make_classification(300, 8, n_informative=6, n_classes=n_classes, random_state=0)
    tree = FAMILIES["boosting"].estimator().fit(X[:200], y[:200])
    theirs = HistGradientBoostingClassifier(
        max_leaf_nodes=8,
        learning_rate=0.2,
        max_iter=50,
        l2_regularization=1.0,
        early_stopping=False,
    ).fit(X[:200], y[:200])
    assert_allclose(tree.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-12)
    assert_allclose(tree.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_trees_of_rare_classes():
    # Without a penalty the values of leaves grow beyond 10⁴, and the largest class wins.
    y = np.repeat(np.arange(5), [900, 60, 5, 15, 20])
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = 3 * rng.normal(size=(5, 10))[y] + rng.normal(size=(1000, 10))
        tree = FAMILIES["boosting"].estimator().fit(X, y)
        assert tree.score(X, y) > 0.99 and np.abs(tree.decision_function(X)).max() < 50


def test_trees_take_weights():
    X, y = rules(400)
    weights = np.where(np.arange(400) < 300, 1.0, 0.0)
    tree = FAMILIES["boosting"].estimator()
    few, all_ = clone(tree).fit(X[:300], y[:300]), clone(tree).fit(X, y, sample_weight=weights)
    # Bins are those of all rows, also of those without weight.
    agree = few.predict(X[:300]) == all_.predict(X[:300])
    assert agree.mean() > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MahalanobisClassifierCV(WITH_TREES, cv=SPLITS).fit(X, y, sample_weight=weights + 0.5)


def test_batches_with_other_columns_are_refused():
    frame, labels = pd.DataFrame(np.eye(3, 2), columns=["u", "v"]), [0, 1, 1]
    for first, second in (
        (np.ones((3, 2)), np.ones((3, 4))),
        (frame, frame[["v", "u"]]),
        (frame, frame.to_numpy()),
    ):
        with pytest.raises(ValueError, match="batches differ in their columns"):
            MahalanobisClassifierCV().fit([(first, labels), (second, labels)])


def test_lists_of_rows_are_tables_with_numbers(rng):
    y = np.arange(40) % 2
    frame = pd.DataFrame({"x0": rng.normal(size=40) + y, "x1": rng.choice(["u", "v"], 40)})
    rows = frame.to_numpy().tolist()
    model = ConformalClassifier(make_pipeline(TableEncoder(), GaussianClassifier()), cv=2)
    expected = clone(model).fit(frame, y).p_values(frame)
    for table in (rows, frame.to_numpy()):
        assert_allclose(clone(model).fit(table, y).p_values(table), expected)
    batches = [(rows[:20], y[:20]), (rows[20:], y[20:])]
    encoder = MahalanobisClassifierCV(("gaussian",)).fit(batches)._encoder
    assert_array_equal(encoder.get_feature_names_out(), ["x0", "x1=u", "x1=v"])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dask"])
def test_frames_in_parts_keep_their_names_and_types(library):
    pytest.importorskip(library)
    codes = np.arange(240) % 4
    X, y = pd.DataFrame({"u": np.cos(codes), "grade": codes % 3, "v": codes / 9}), codes > 1
    X["grade"] = X["grade"].astype("category")
    parts = [slice(i, i + 80) for i in range(0, 240, 80)]
    match library:
        case "pandas":
            data = [(X[rows], y[rows]) for rows in parts], None
        case "polars":
            convert = pytest.importorskip("polars").from_pandas
            data = [(convert(X.astype({"grade": str}))[rows], y[rows]) for rows in parts], None
        case "pyarrow":
            table = pytest.importorskip("pyarrow").Table.from_pandas(X.astype({"grade": str}))
            data = [(table.slice(rows.start, 80), y[rows]) for rows in parts], None
        case "dask":
            dd = pytest.importorskip("dask.dataframe")
            frame = dd.from_pandas(X.assign(y=y), npartitions=3)
            data = frame[list(X)], frame["y"]
    model = MahalanobisClassifierCV(("gaussian", "kernel_fisher"), cv=2, random_state=0).fit(*data)
    assert model.feature_names_in_.tolist() == ["u", "grade", "v"]
    assert model._encoder.nominal_.tolist() == [1]
    assert model.score(X, y) == 1
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["v", "grade", "u"]])


def test_families_without_a_form_at_landmarks_say_that_batches_need_one():
    X, y = make_blobs(120, 3, centers=2, random_state=0)
    with pytest.warns(UserWarning, match="svm.*cannot use landmarks, which batches need"):
        MahalanobisClassifierCV(("svm", "gaussian"), random_state=0).fit([(X, y)])


def test_trees_of_batches_learn_from_a_sample(small_limits, monkeypatch):
    monkeypatch.setattr(race, "FAR_BEHIND", np.inf)  # the pilot is very small
    X, y = rules(400)
    batches = [(X[i : i + 70], y[i : i + 70]) for i in range(0, 280, 70)]
    model = MahalanobisClassifierCV(WITH_TREES, cv=3, random_state=0).fit(batches)
    assert model.best_family_ == "boosting" and model.score(X[280:], y[280:]) > 0.75


def test_trees_far_behind_do_not_reach_the_final(monkeypatch):
    X, y = make_classification(300, 10, n_informative=8, n_redundant=0, random_state=0)
    monkeypatch.setattr(race, "FAR_BEHIND", -10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MahalanobisClassifierCV((*CHEAP, "boosting"), cv=SPLITS).fit(X, y)
    row = next(row for row in model.leaderboard_ if row["member"] == "boosting")
    assert row["note"] == race.BEHIND and row["n_finalists"] == 0 and row["weight"] == 0
    full = MahalanobisClassifierCV((*CHEAP, "boosting"), effort="best", cv=SPLITS).fit(X, y)
    assert not any(row["note"] for row in full.leaderboard_)


def test_trees_keep_noise_at_chance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 10)), np.arange(1000) % 2
    model = MahalanobisClassifierCV(WITH_TREES, cv=SPLITS).fit(X, y)
    scores = [row["mean_score"] for row in model.leaderboard_]
    assert max(*scores, model.best_score_) <= binom.isf(0.001 / 10, 1000, 0.5) / 1000
    assert held_out_log_loss(np.log(model.oof_proba_), y, np.ones(1000)) > 0.685
