"""The line search for C and δ, and paper B's experiment."""

import os
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification, make_moons
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import (
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive
from mahalearn import KernelSearchCV, MahalanobisSVC
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.model_selection import grid
from mahalearn.model_selection.splits import nearly_best
from mahalearn.papers.rbf_reference import (
    PAPER_CS,
    PAPER_DELTAS,
    PAPER_GAMMAS,
    choose_mahalanobis,
    choose_rbf,
    median_rule,
    rbf_reference,
)

CS, DELTAS = [1, 10, 100], [0.2, 0.5, 1.0, 2.0]


@pytest.fixture(scope="module")
def noisy():
    return make_classification(150, 5, n_informative=3, flip_y=0.2, random_state=3)


def test_defaults_are_the_papers():
    assert PAPER_CS == (1, 10, 50, 100, 500, 1000, 2000, 3000, 5000, 8000, 10000, 50000, 100000)
    assert PAPER_DELTAS["grid"] == (0.1, 0.5, 1.0, 1.5, 2.0)
    assert_allclose(PAPER_DELTAS["line"], np.arange(1, 21) / 10)
    assert PAPER_GAMMAS == (0.1, 0.5, 1, 5, 10, 15)
    assert len(PAPER_GAMMAS) * len(PAPER_CS) == 78


@pytest.fixture
def few(monkeypatch):
    """Fewer values for the line search."""
    monkeypatch.setattr(grid, "PAPER_CS", CS)
    monkeypatch.setattr(grid, "PAPER_DELTAS", {"line": DELTAS})


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("data", ["noisy", "moons", "wine"])
def test_line_search_is_the_naive_one(noisy, covariance, data, few):
    moons = make_moons(100, noise=0.35, random_state=1)
    X, y = {"noisy": noisy, "moons": moons, "wine": load_wine(return_X_y=True)}[data]
    cv = StratifiedKFold(4, shuffle=True, random_state=5)

    def score(C, delta):
        return cross_val_score(MahalanobisSVC(C, delta, covariance), X, y, cv=cv).mean()

    model = KernelSearchCV(MahalanobisSVC(covariance=covariance), cv=cv).fit(X, y)
    C, delta = naive.line_search(score, CS, DELTAS)
    assert model.best_params_ == {"C": C, "delta": delta}
    assert_allclose(model.best_score_, score(C, delta))
    assert len(model.cv_results_["params"]) == 3 + 3
    direct = MahalanobisSVC(C, delta, covariance).fit(X, y)
    assert_array_equal(model.decision_function(X), direct.decision_function(X))
    assert_array_equal(model.predict(X), direct.predict(X))
    assert_array_equal(model.best_estimator_.support_, direct.support_)


def test_results_of_the_stages(noisy, few):
    X, y = noisy
    model = KernelSearchCV(MahalanobisSVC(), cv=3).fit(X, y)
    results = model.cv_results_
    assert all(len(column) == 6 for column in results.values())
    assert_array_equal(results["param_C"][:3], CS)
    assert set(results["param_C"][3:]) == {model.best_params_["C"]}
    assert_array_equal(results["param_delta"], [1, 1, 1, 0.2, 0.5, 2])  # 1 is not tried again
    assert results["rank_test_score"][model.best_index_] == 1
    assert results["params"][model.best_index_] == model.best_params_


def test_number_of_candidates_of_the_papers_search():
    X, y = make_moons(40, noise=0.1, random_state=0)
    search = KernelSearchCV(MahalanobisSVC(), cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 13 + 19
    behind = make_pipeline(StandardScaler(), MahalanobisSVC())
    same = KernelSearchCV(behind, cv=2).fit(X, y)
    assert same.best_params_ == {f"mahalanobissvc__{k}": v for k, v in search.best_params_.items()}


def test_ties_go_to_the_smallest(few):
    # Two far clusters: every candidate makes no error.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + np.repeat([[0.0], [50.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    model = KernelSearchCV(MahalanobisSVC()).fit(X, y)
    assert model.best_params_ == {"C": 1, "delta": 0.2}
    assert set(model.cv_results_["rank_test_score"]) == {1}
    # The means of equal counts differ in the last digit.
    means = np.array([np.mean([0.7, 0.8, 0.9]), np.mean([0.8, 0.8, 0.8]), 0.8 - 1e-3])
    assert means[0] != means[1]
    assert_array_equal(nearly_best(means), [True, True, False])


def test_scale_does_not_matter_to_the_search(noisy):
    X, y = noisy
    model = KernelSearchCV(MahalanobisSVC(), {"C": CS, "delta": DELTAS})
    other = clone(model).fit(X * [1e5, 1e-3, 7, 0.3, 1], y)
    model.fit(X, y)
    assert other.best_params_ == model.best_params_
    assert_array_equal(other.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])


def test_scoring_weights_and_jobs(noisy):
    X, y = noisy
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:15]]
    X, y = X[rare], y[rare]
    model = KernelSearchCV(
        MahalanobisSVC(class_weight="balanced"),
        {"C": CS, "delta": [1]},
        scoring="balanced_accuracy",
        cv=3,
    )
    model.fit(X, y)
    scores = cross_val_score(
        MahalanobisSVC(model.best_params_["C"], class_weight="balanced"),
        X,
        y,
        scoring="balanced_accuracy",
        cv=3,
    )
    assert_allclose(model.best_score_, scores.mean())
    assert_allclose(model.score(X, y), balanced_accuracy_score(y, model.predict(X)))
    with parallel_config("threading"):
        parallel = clone(model).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(
        parallel.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )


def test_progress_when_asked(noisy, capsys):
    pytest.importorskip("rich")
    model = KernelSearchCV(MahalanobisSVC(), {"C": CS, "delta": DELTAS}, cv=3)
    model.fit(*noisy)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(*noisy)
    assert "12/12" in capsys.readouterr().out


@pytest.mark.parametrize("data", ["noisy", "wine"])
def test_probabilities_are_those_of_the_held_out_scores(noisy, data):
    X, y = noisy if data == "noisy" else load_wine(return_X_y=True)
    cv = StratifiedKFold(4, shuffle=True, random_state=5)
    model = KernelSearchCV(MahalanobisSVC(), {"C": CS, "delta": DELTAS}, cv=cv).fit(X, y)
    machine = MahalanobisSVC(**model.best_params_)
    held_out = cross_val_predict(machine, X, y, cv=cv, method="decision_function")
    scores = np.column_stack([0 * held_out, held_out]) if held_out.ndim == 1 else held_out
    codes = np.unique(y, return_inverse=True)[1]
    assert_allclose(model.temperature_, fit_temperature(scores, codes), rtol=1e-3)
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert_allclose(model.predict_log_proba(X), np.log(proba))
    odds = log_loss(y, softmax(scores / model.temperature_, axis=1))
    assert odds < log_loss(y, softmax(scores * 3 / model.temperature_, axis=1))
    assert odds < log_loss(y, softmax(scores / 3 / model.temperature_, axis=1))


def test_scores_of_probabilities_groups_and_weights(noisy):
    X, y = noisy
    groups = np.arange(len(y)) % 5
    model = KernelSearchCV(
        MahalanobisSVC(), {"C": CS, "delta": [1]}, cv=GroupKFold(5), scoring="neg_log_loss"
    )
    model.fit(X, y, groups=groups)
    assert model.n_splits_ == 5
    # Each candidate's probabilities are calibrated by its own held-out scores.
    splits = list(GroupKFold(5).split(X, y, groups))
    machine = MahalanobisSVC(**model.best_params_)
    losses = []
    for train, test in splits:
        scores = clone(machine).fit(X[train], y[train]).decision_function(X[test])
        proba = softmax(np.column_stack([0 * scores, scores]) / model.temperature_, axis=1)
        losses.append(-log_loss(y[test], proba))
    assert_allclose(model.best_score_, np.mean(losses))
    assert_allclose(model.score(X, y), -log_loss(y, model.predict_proba(X)))
    scores = model.decision_function(X)
    model.fit(X, y, groups=groups, sample_weight=np.ones(len(y)))  # equal weights change nothing
    assert_allclose(model.decision_function(X), scores, atol=1e-12)


def test_a_class_that_a_fold_has_not_seen():
    X, y = load_wine(return_X_y=True)
    rows = np.r_[0:20, 60:80, 150]  # the last class has a single object
    even, odd = np.arange(0, 40, 2), np.arange(1, 40, 2)
    model = KernelSearchCV(
        MahalanobisSVC(), {"C": [1, 10], "delta": [1]}, cv=[(even, odd), (odd, np.r_[even, 40])]
    )
    model.fit(X[rows], y[rows])
    assert 0 < model.temperature_ < np.inf
    assert model.best_score_ <= (1 + 20 / 21) / 2  # that object cannot be right
    assert model.predict_proba(X[rows]).shape == (41, 3)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"C": [0.0]}, "C must be a positive number"),
        ({"delta": [np.nan]}, "delta must be a positive number"),
        ({"covariance": ["tied"]}, "covariance='tied' is not known"),
    ],
)
def test_search_says_what_is_wrong(noisy, grid, message):
    with pytest.raises(ValueError, match=message):
        KernelSearchCV(MahalanobisSVC(), grid).fit(*noisy)


# --- paper B's experiment ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_median_rule_is_the_naive_one(seed):
    errors = np.random.default_rng(seed).integers(5, 9, size=(5, 4, 6)) / 64  # exact, many ties
    Cs, parameters = [1, 10, 50, 100, 500, 1000], [0.1, 0.5, 1, 5]
    choice = median_rule(errors, parameters, Cs)
    assert (choice.parameter, choice.C) == naive.median_rule(errors.tolist(), parameters, Cs)
    assert choice.n_candidates == 24


def test_median_rule_stays_on_the_grid():
    errors = [[[0.1, 0.2, 0.3]], [[0.3, 0.3, 0.1]]]
    assert median_rule(errors, [1.0], [1, 10, 1000]).C == 1
    with pytest.raises(ValueError, match="errors must have the shape"):
        median_rule(errors, [1.0], [1, 10])


def test_reference_is_the_papers_kernel(noisy):
    """Inputs to [0, 1] and B (9)."""
    X, y = noisy[0][:60] * [1, 100, 1e-3, 5, 1], noisy[1][:60]
    model = rbf_reference(5, gamma=3.0, C=10.0).set_params(svc__tol=1e-8).fit(X, y)
    unit = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    K = np.exp(-3.0 / 5 * ((unit[:, None] - unit) ** 2).sum(axis=2))
    expected = naive.svm_decisions(K, K, 2.0 * y - 1, np.full(60, 10.0))
    assert_allclose(model.decision_function(X), expected, atol=1e-3)


@pytest.fixture(scope="module")
def realisations(noisy):
    X, y = noisy
    splits = ShuffleSplit(6, train_size=60, random_state=0).split(X)
    return [(X[train], y[train]) for train, _ in splits]


def test_choice_of_the_reference(realisations):
    gammas, Cs = [0.5, 5], [1, 10]
    errors = [
        [
            [1 - cross_val_score(rbf_reference(5, g, C), X, y, cv=4).mean() for C in Cs]
            for g in gammas
        ]
        for X, y in realisations[:5]
    ]
    choice = choose_rbf(realisations, gammas=gammas, Cs=Cs, cv=4)
    assert choice == median_rule(errors, gammas, Cs)
    assert choice == choose_rbf(iter(realisations[:5]), gammas=gammas, Cs=Cs, cv=4)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_choice_of_the_mahalanobis_kernel(realisations, covariance):
    def errors(deltas, Cs):
        model = MahalanobisSVC(covariance=covariance)
        return [
            [
                [1 - cross_val_score(model.set_params(C=C, delta=d), X, y, cv=3).mean() for C in Cs]
                for d in deltas
            ]
            for X, y in realisations[:5]
        ]

    Cs, deltas = [1, 5], [0.3, 1.0]
    options = {"covariance": covariance, "Cs": Cs, "deltas": deltas, "cv": 3}
    first, second = choose_mahalanobis(realisations, **options)
    assert first == median_rule(errors([1.0], Cs), [1.0], Cs)
    assert second == median_rule(errors(deltas, [first.C]), deltas, [first.C])
    (grid,) = choose_mahalanobis(realisations, search="grid", **options)
    assert grid == median_rule(errors(deltas, Cs), deltas, Cs)
    with pytest.raises(ValueError, match="search='random' is not known"):
        choose_mahalanobis(realisations, search="random", **options)


@pytest.mark.parametrize(
    ("name", "published", "deviation"), [("heart", 15.7, 3.2), ("titanic", 22.5, 1.0)]
)
def test_published_errors(name, published, deviation):
    """Diagonal-2 of B's table 2, and every prediction in other units, on the realisations at hand.

    A few values of C and δ do; `python -m benchmarks.svm --ida` takes all of them.
    """
    folder = os.environ.get("MAHALEARN_DATA")
    if not folder:
        pytest.skip("set MAHALEARN_DATA to the folder with ida/*.npz")
    data = np.load(Path(folder) / "ida" / f"{name}.npz")
    X, y = data["x"].astype(float), data["t"]
    training = [(X[rows], y[rows]) for rows in data["train"]]
    _, choice = choose_mahalanobis(training, Cs=PAPER_CS[:3], deltas=PAPER_DELTAS["grid"])
    model = MahalanobisSVC(choice.C, choice.parameter)
    errors, factors = [], np.random.default_rng(0).uniform(0.001, 1000, X.shape[1])
    for train, test in zip(data["train"], data["test"], strict=True):
        predicted = model.fit(X[train], y[train]).predict(X[test])
        errors.append(100 * np.mean(predicted != y[test]))
        other_units = clone(model).fit(X[train] * factors, y[train]).predict(X[test] * factors)
        assert_array_equal(other_units, predicted)
    # The mean of 10 of the 100 realisations differs from that of all by σ√(1/10 − 1/100) = 0.3σ.
    assert len(errors) == 10
    assert abs(np.mean(errors) - published) < 2 * 0.3 * deviation


def test_sample_weight_reaches_every_fold_and_the_last_fit():
    """Samples of weight 0 that are never tested might as well not be there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)) + np.repeat([[0, 0], [1, 1]], 25, axis=0), np.repeat([0, 1], 25)
    kept = np.r_[0:20, 25:45]
    weights = np.zeros(50)
    weights[kept] = rng.uniform(0.5, 2, size=40)
    parts = [(kept[i::2], kept[1 - i :: 2]) for i in (0, 1)]
    every = [(np.r_[train, np.setdiff1d(np.arange(50), kept)], test) for train, test in parts]
    place = np.searchsorted(kept, parts)
    grid = {"C": [0.1, 1, 10], "delta": [0.5, 1.0]}
    one = KernelSearchCV(MahalanobisSVC(), grid, cv=every).fit(X, y, sample_weight=weights)
    two = KernelSearchCV(MahalanobisSVC(), grid, cv=[tuple(p) for p in place])
    two.fit(X[kept], y[kept], sample_weight=weights[kept])
    assert_allclose(one.oof_scores_, two.oof_scores_, atol=1e-2)
    assert one.best_params_ == two.best_params_
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-2)
