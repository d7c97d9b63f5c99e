"""Promises of `predict`, by simulation on its own road, each with a control that fails."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from own_data import works
from scipy.stats import binom, binomtest

from mahalearn import MahalanobisNovelty
from mahalearn.app.cli._predict import New, predictions
from mahalearn.app.comparing import winner as winner_module
from mahalearn.app.comparing.compare import conclude, fit_winner, rank, sampled
from mahalearn.app.comparing.methods import class_scores
from mahalearn.app.comparing.model import class_margins
from mahalearn.app.comparing.plan import Plan
from mahalearn.app.reading import changed_columns
from mahalearn.app.reading.changed_columns import column_drifts
from mahalearn.app.reading.problem import Problem
from mahalearn.novelty import mahalanobis

CONFIDENCE, LEVEL = 0.9, 0.05
CLASSES = np.array(list("abc"))


def draw(rng, n, d=8):
    """Three classes that overlap."""
    codes = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.2 * codes
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]), CLASSES[codes]


def with_categories(X, rng):
    """The table with a column of categories, some of them rare, and missing cells."""
    X = X.copy()
    X.loc[rng.random(len(X)) < 0.05, "x1"] = np.nan
    return X.assign(kind=rng.choice(list("uvwxyz"), len(X), p=[0.4, 0.3, 0.2, 0.06, 0.03, 0.01]))


@pytest.mark.parametrize("mixed", [False, True])
def test_flags_of_large_models_are_those_of_the_detector(mixed, monkeypatch):
    """The control ranks new objects among distances of objects that the detector has seen."""
    monkeypatch.setattr(winner_module, "MOST_FOR_KERNEL", 0)  # as of a large table
    rng, rates = np.random.default_rng(3), {False: [], True: []}

    def resubstitution(d2, counts, rows):
        return d2

    for run in range(20):
        (X, y), (new, _) = draw(rng, 90), draw(rng, 300)
        if mixed:
            X, new = with_categories(X, rng), with_categories(new, rng)
        problem = Problem("vectors", X, y, "simulation")
        for control in (False, True) if run < 10 else (False,):
            with monkeypatch.context() as patch:
                if control:
                    patch.setattr(mahalanobis, "certified_limits", resubstitution)
                winner = fit_winner(rank(problem, ["lda"], Plan(repeats=1)))
            model = winner.refitted.model
            rows, _, typicality = predictions(model, New(new, None, []), winner.about, LEVEL)
            flags = np.array([row["outlier"] for row in rows])
            rates[control].append(flags.mean())
            if not control and not mixed and run < 5:
                detector = MahalanobisNovelty(level=LEVEL).fit(X.to_numpy(), y)
                assert_array_equal(flags == 1, detector.predict(new.to_numpy()) == -1)
                assert_array_equal(typicality.p_values, detector.p_values(new.to_numpy()))
    assert len(model.folds) == 1 and model.own_ranks
    assert np.mean(rates[False]) <= LEVEL + 3 * np.std(rates[False]) / np.sqrt(len(rates[False]))
    assert np.mean(rates[True]) > LEVEL + 3 * np.std(rates[True]) / np.sqrt(len(rates[True]))


def test_repeated_measurements_are_ranked_by_models_that_had_not_seen_their_group(monkeypatch):
    monkeypatch.setattr(winner_module, "MOST_FOR_KERNEL", 0)
    X, y = draw(np.random.default_rng(4), 90)
    problem = Problem("vectors", X, y, "simulation", groups=np.arange(90) // 2)
    model = fit_winner(rank(problem, ["lda"], Plan(repeats=1))).refitted.model
    assert not model.own_ranks and len(model.folds) > 1


def repeated(rng, n_groups, n_rows):
    """Objects of two classes, each measured several times."""
    groups = np.repeat(np.arange(n_groups), n_rows)
    X = rng.normal(size=(n_groups, 4))[groups] + 0.1 * rng.normal(size=(len(groups), 4))
    return pd.DataFrame(X, columns=list("pqrs")), np.array(["a", "b"])[groups % 2], groups


def test_of_repeated_measurements_one_ranks_and_drift_is_not_tested(tmp_path):
    """With all rows new groups had p ≤ 0.01 with a probability of 0.036, and changed columns."""
    rng = np.random.default_rng(7)
    X, y, groups = repeated(rng, 12, 10)
    problem = Problem("vectors", X, y, "simulation", groups=groups)
    ranked = rank(problem, ["gaussian"], Plan(repeats=1))
    model = fit_winner(ranked).refitted.model
    assert sum(len(fold.codes) for fold in model.folds) == 12
    assert [len(margins) for margins in model.margins] == [6, 6]
    new, *_ = repeated(rng, 10, 10)
    far = model.typicality(new + 1e3)
    assert (far.p_none == 1 / 13).all() and (far.p_values == 1 / 7).all()
    coverage = conclude(ranked, fit_winner(ranked))["novelty"]["coverage"]
    assert [row["objects"] for row in coverage] == [6, 6]
    X.assign(y=y, patient=groups).to_csv(tmp_path / "train.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    for options, tested in (["--groups", "patient"], False), (["--drop", "patient"], True):
        known = ["--target", "y", "--method", "gaussian", *options]
        works("train", tmp_path / "train.csv", *known, "--out", tmp_path / "m.skops", "--force")
        out = "--out", tmp_path / "p.csv", "--report", tmp_path / "p.html", "--force"
        said = works("predict", tmp_path / "m.skops", tmp_path / "new.csv", *out).output
        assert ("Columns that changed" in said) == ("(rank-sum test" in said) == tested
        assert ("Drift was not tested" in said) != tested
        assert ("rank-sum test" in (tmp_path / "p.html").read_text(encoding="utf-8")) == tested


def test_groups_that_hold_several_classes_rank_once_in_each():
    X, y, groups = repeated(np.random.default_rng(8), 12, 10)
    problem = Problem("vectors", X, np.roll(y, 5), "simulation", groups=groups)
    assert problem.independent().sum() == 12
    for mask, keys in (
        (problem.independent(), groups),
        (problem.independent(by_class=True), list(zip(groups, problem.y))),
    ):
        assert len({keys[i] for i in np.flatnonzero(mask)}) == mask.sum() == len(set(keys))
    assert Problem("vectors", X, y, "simulation").independent().all()


def test_sets_and_flags_of_predict_keep_their_promise():
    """The control ranks new objects among margins of objects that the classifier was fitted on."""
    rng, covered, control, flagged = np.random.default_rng(0), [], [], []
    for _ in range(30):
        X, y = draw(rng, 90)
        new, truth = draw(rng, 300)
        winner = fit_winner(
            rank(Problem("vectors", X, y, "simulation"), ["gaussian"], Plan(repeats=1))
        )
        model = winner.refitted.model
        rows, _, _ = predictions(model, New(new, None, []), winner.about, LEVEL, CONFIDENCE)
        covered.append(np.mean([c in row["set"].split(" | ") for c, row in zip(truth, rows)]))
        flagged.append(np.mean([row["outlier"] for row in rows]))
        scores = class_scores(model.classifier, X)[0]
        model.margins = class_margins(scores, np.searchsorted(CLASSES, y))
        sets = model.prediction_sets(new, CONFIDENCE)
        control.append(sets[np.arange(len(new)), np.searchsorted(CLASSES, truth)].mean())

    def error(values):
        return np.std(values) / np.sqrt(len(values))

    assert CONFIDENCE - 3 * error(covered) <= np.mean(covered) <= 0.97
    assert np.mean(control) + 3 * error(control) < CONFIDENCE
    assert np.mean(flagged) <= LEVEL + 3 * error(flagged)


def columns(rng, n):
    """Columns of one distribution each: continuous, gaps, counts, two values, categories."""
    normal = rng.normal(size=n)
    return pd.DataFrame(
        {
            "normal": normal,
            "gaps": np.where(rng.random(n) < 0.1, np.nan, normal),
            "kind": rng.choice(["a", "b", "c", "rare"], n, p=[0.6, 0.28, 0.1, 0.02]),
            "heavy": rng.standard_t(2, size=n),
            "counts": rng.poisson(2.0, size=n).astype(float),
            "switch": (rng.random(n) < 0.6).astype(float),
        }
    )


@pytest.mark.parametrize(("n_training", "n_new"), [(60, 2000), (400, 30)])
def test_the_test_of_changed_columns_keeps_its_level(n_training, n_new):
    """The controls take median, range and shares of the training rows for those of the world."""
    rng, alarms, control, runs = np.random.default_rng(1), 0, np.zeros(3), 300
    for _ in range(runs):
        training, new = columns(rng, n_training), columns(rng, n_new)
        features = Problem("vectors", training, None, "columns").features()
        alarms += any(one.changed for one in column_drifts(new, features, n_training))
        low, _, median, _, high = features[0]["quartiles"]
        outside = ((new["normal"] < low) | (new["normal"] > high)).sum()
        p = binomtest(int((new["normal"] > median).sum()), n_new).pvalue
        p = min(p, binom.sf(outside - 1, n_new, 2 / (n_training + 1)))
        shares = [
            binomtest(int(now.sum()), n_new, then.mean()).pvalue
            for now, then in (
                (new["kind"] == "b", training["kind"] == "b"),
                (new["gaps"].isna(), training["gaps"].isna()),
            )
        ]
        control += np.array([p, *shares]) <= changed_columns.LEVEL / 2
    most = binom.ppf(0.999, runs, changed_columns.LEVEL)
    assert alarms <= most
    assert (n_new < n_training) or (control > most).all()


def alarms(draw, n_training, n_new, runs):
    """How often the column of a table was called changed although it was not."""
    count = 0
    for _ in range(runs):
        training, new = (pd.DataFrame({"x": draw(n)}) for n in (n_training, n_new))
        features = Problem("vectors", training, None, "column").features()
        count += column_drifts(new, features, n_training)[0].changed
    return count


def test_a_median_between_two_far_values_raises_no_alarm():
    """Half of the values are huge: the middle of 4 of them is beyond nearly all of the others."""
    rng = np.random.default_rng(5)
    runs = 600
    count = alarms(lambda n: rng.choice([-1, 1], n) * rng.pareto(0.02, n), 4, 1000, runs)
    assert count <= binom.ppf(0.999, runs, changed_columns.LEVEL)


def test_a_sample_with_more_of_the_rare_classes_raises_no_alarm():
    """All three columns were called changed. What the sample knows of a rare class stays known."""
    rng = np.random.default_rng(7)
    y = rng.permutation(np.r_[np.arange(3000) % 2, np.repeat(np.arange(2, 32), 5)])
    rare = y > 1
    table = pd.DataFrame({"x": rng.normal(size=len(y)) + 5 * rare})
    table["kind"] = np.where(rare, "rare", "usual")
    table["gaps"] = np.where(rare, np.nan, table["x"])
    part = sampled(Problem("vectors", table, y.astype(str), "rare classes"), 300, 0)
    assert np.mean(part.X["kind"] == "rare") > 4 * rare.mean()
    features = part.features()
    drifts = column_drifts(table, features, len(part))
    assert not any(drift.changed for drift in drifts)
    levels = {feature["name"]: feature.get("levels") for feature in features}["kind"]
    assert levels.keys() == {"rare", "usual"} and features[0]["quartiles"][4] == part.X["x"].max()


def test_categories_that_training_could_not_know_raise_no_alarm():
    """Of 300 categories 100 rows know a third at most. The control is a recoded column."""
    rng = np.random.default_rng(6)
    assert not alarms(lambda n: rng.integers(0, 300, n).astype(str), 100, 50, 10)
    coded = iter([rng.choice(["f", "m"], 100), rng.choice(["female", "male"], 50)] * 5)
    assert alarms(lambda n: next(coded), 100, 50, 5) == 5


def test_changed_columns_are_named():
    rng = np.random.default_rng(2)
    training, new = columns(rng, 200), columns(rng, 50)
    new["normal"] += 1.5
    new.loc[:24, "gaps"] = np.nan
    new["kind"] = np.where(rng.random(50) < 0.5, "c", new["kind"])
    features = Problem("vectors", training, None, "columns").features()
    changed = {one.name: one.present for one in column_drifts(new, features, 200) if one.changed}
    assert changed.keys() == {"normal", "gaps", "kind"}
    count = (new["kind"] == "c").sum()
    assert (
        changed["kind"] == f"c: {count / 50:.0%} (training {(training['kind'] == 'c').mean():.0%})"
    )
    n_missing, share = new["gaps"].isna().sum(), training["gaps"].isna().mean()
    assert changed["gaps"].endswith(f", {n_missing / 50:.0%} missing (training {share:.0%})")
    # The law of the number of rows by all orders of few rows.
    more = np.mean([sum(rows[:3]) >= 2 for rows in itertools.permutations([1, 1, 1, 0, 0, 0, 0])])
    assert changed_columns._share_p_values(2, 3, 1, 4, "greater") == pytest.approx(more)
    # A file that lists quartiles of fewer rows than the model was fitted on: those count.
    assert features[0]["rows"] == 200
    many = columns(rng, 5000)
    assert not any(one.changed for one in column_drifts(many, features, 10**6))
    for feature in features:
        del feature["rows"]
    assert any(one.changed for one in column_drifts(many, features, 10**6))
