"""Options of tables: groups, rare classes, columns to drop, files of options; notices."""

import csv
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from own_data import flowers, refused, works, write_csv

from mahalearn.app.comparing.crossval import cross_validate
from mahalearn.app.comparing.methods import METHODS, select_methods
from mahalearn.app.comparing.plan import Plan, fit_plan, inner_folds
from mahalearn.app.comparing.prediction_quality import score
from mahalearn.app.comparing.winner import refit
from mahalearn.app.reading.problem import DataError, Problem
from mahalearn.app.reading.read import builtin_problem
from mahalearn.app.reading.tables import table_problem
from mahalearn.persistence import load_model, save_model

FAST = ("--jobs", 1, "--folds", 2, "--repeats", 1)


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "flowers.csv", *flowers())


def frame(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n), "class": np.array(["x", "y"])[np.arange(n) % 2]})


def test_rare_options_are_shown_on_request():
    for command in ("compare", "train", "inspect", "predict"):
        usual, everything = (works(command, flag).output for flag in ("--help", "--help-all"))
        assert "--skip" in everything and "--skip" not in usual and "--sheet" in usual
    usual, everything = (works("compare", flag).output for flag in ("--help", "--help-all"))
    count = [len(set(re.findall(r"--[a-z][a-z-]+", text))) for text in (usual, everything)]
    assert count[0] <= 26 < count[1]


def test_groups_are_never_torn():
    problem = builtin_problem("iris")
    problem.groups = np.array([f"g{i // 5}" for i in range(150)])
    plan = fit_plan(problem, Plan(folds=4, repeats=2))
    methods, _ = select_methods(["gaussian"], "vectors", None, len(problem))
    outcome = cross_validate(problem, methods, plan)
    assert len(outcome.splits) == 8 and not outcome.failed
    for train, test in outcome.splits:
        assert not set(problem.groups[train]) & set(problem.groups[test])
        for seen, left in inner_folds(problem, plan, train):
            groups = problem.groups[train]
            assert not set(groups[seen]) & set(groups[left])
    refitted = refit(problem, outcome, "gaussian")
    assert np.isfinite(refitted.d2).all()
    problem.groups = problem.y.copy()  # a class for each group
    with pytest.raises(DataError, match="occurs in 1 group only"):
        fit_plan(problem, plan)


def test_an_error_that_groups_explain_is_seen():
    """Copies of one object in both parts flatter; groups undo it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.repeat(rng.normal(size=(30, 5)), 4, axis=0))
    X.columns = list("abcde")
    y = np.repeat(rng.permutation(np.arange(30) % 2), 4)
    groups = np.repeat(np.arange(30), 4).astype(str)
    methods, _ = select_methods(["knn"], "vectors", None, len(X))
    errors = []
    for given in (None, groups):
        problem = Problem("vectors", X, y, "copies", groups=given)
        outcome = cross_validate(problem, methods, fit_plan(problem, Plan(5, 1)))
        errors.append(np.mean([cell.error for cell in outcome.of("knn")]))
    assert errors[0] < 0.05 and errors[1] > 0.3


def test_rare_classes_are_merged_dropped_or_refused(tmp_path):
    rows = [["1.5", "x"], ["2.5", "y"], ["2", "x"], ["3", "y"]] * 4
    rows += [["5", "u"], ["6", "v"], ["6.5", "v"]]
    path = write_csv(tmp_path / "t.csv", ["a", "class"], rows)
    assert "--rare merge" in refused("compare", path, *FAST, "--out", tmp_path / "o")
    assert "cross-validation needs" in " ".join(works("inspect", path).output.split())
    said = " ".join(works("inspect", path, "--rare", "merge").output.split())
    assert "cross-validation needs" not in said
    assert "merged into 'other': 'v', 'u'" in said and "3 classes" in said
    said = " ".join(works("inspect", path, "--rare", "drop").output.split())
    assert "3 objects of classes with fewer than 3 were left out" in said and "2 classes" in said
    assert "--rare must be one of" in refused("inspect", path, "--rare", "all")


def test_columns_by_role(table, tmp_path):
    out = tmp_path / "m.skops"
    options = ["--target", "species", "--drop", "height", "--drop", "colour", "--id", "id"]
    works("train", table, *options, "--method", "lda", "--jobs", 1, "--out", out)
    said = works("inspect", out).output
    assert "width" in said and "features" in said and "height " not in said.split("made by")[0]
    assert "cannot be anything else" in refused("inspect", table, "--drop", "species")
    assert "no column 'wide'" in refused("inspect", table, "--drop", "wide")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.assign(year=2000.0 + np.arange(len(f)) % 7), "'year' holds dates or years"),
        (lambda f: f.assign(sample_id=7.0 * np.arange(len(f))), "'sample_id' has another whole"),
        (lambda f: f.assign(when=20240101.0 + np.arange(len(f)) % 20), "'when' holds dates"),
        (
            lambda f: f.assign(code=(f["class"] == "x") * 1.0 + 0.5),
            "determines the class .* 'code'",
        ),
        (lambda f: f.assign(name=np.where(f["class"] == "x", "p", "q")), "the class .* 'name'"),
        (lambda f: pd.concat([f, f[:3]], ignore_index=True), "3 rows are equal to an earlier"),
        (
            lambda f: f.assign(a=f["a"].where(f.index > 1, 0.0)),
            "2 different rows have the features",
        ),
        (lambda f: f.replace({"class": {"y": "X "}}), "'x', 'X' differ in case, blanks"),
    ],
)
def test_what_is_probably_wrong_is_said(change, words):
    said = " ".join(table_problem(change(frame()), "class", "t").notes)
    assert pd.Series([said]).str.contains(words).all(), said


def test_nothing_is_said_of_a_plain_table():
    assert table_problem(frame(), "class", "t").notes == []


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("m")
    table = write_csv(folder / "t.csv", *flowers())
    works(
        "train", table, "--target", "species", "--method", "lda", "--jobs", 1,
        "--out", folder / "m.skops",
    )  # fmt: skip
    return folder / "m.skops"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_predictions_in_every_format(model, tmp_path, suffix):
    header, rows = flowers(n=6)
    rows = [["=1+1" + row[0], *row[1:]] for row in rows]
    new = write_csv(tmp_path / "n.csv", header, rows)
    out = tmp_path / f"p{suffix}"
    done = works("predict", model, new, "--keep", "--out", out)
    excel = partial(pd.read_excel, engine="openpyxl")
    reader = {".parquet": pd.read_parquet, ".xlsx": excel}.get(suffix)
    found = reader(out) if reader else pd.read_csv(out, sep="\t" if suffix == ".tsv" else ",")
    assert list(found["height"]) == [float(row[1]) for row in rows]
    guard = "" if suffix == ".parquet" else "'"
    assert list(found["id"]) == [guard + row[0] for row in rows] == list(found["object"])
    assert (
        found["outlier"].isin([0, 1]).all() and (found.filter(like="p ").sum(axis=1) > 0.99).all()
    )
    said = " ".join(done.output.split())
    assert "Scored on 6 objects: accuracy" in said
    assert "d2, typical and p none are made from distances of the" in said


def test_predictions_are_printed(model, tmp_path):
    header, rows = flowers(n=6)
    new = write_csv(tmp_path / "n.csv", header[:-1], [row[:-1] for row in rows])
    done = works("predict", model, new, "--out", "-")
    lines = list(csv.reader(done.stdout.splitlines()))
    assert lines[0][:2] == ["object", "prediction"] and len(lines) == 7
    assert "Scored" not in done.output and "6 objects predicted" in done.stderr
    assert "must end with" in refused("predict", model, new, "--out", tmp_path / "p.xls")


def test_scores_by_hand():
    proba = np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9], [0.5, 0.5]])
    found = score(["a", "a", "b", "c"], ["a", "b", "b", "a"], proba, ["a", "b"])
    assert found.n == 3 and found.accuracy == pytest.approx(2 / 3)
    assert found.balanced_accuracy == pytest.approx(0.75)
    assert found.log_loss == pytest.approx(-np.log([0.8, 0.5, 0.9]).mean())
    assert found.baseline == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    assert found.confusion == [[1, 1], [0, 1]] and "not scored: c" in found.notes[0]
    assert score([None], ["a"], proba[:1], ["a", "b"]).n == 0


@pytest.mark.parametrize("name", ["boosting", "logistic"])
def test_new_references_can_be_saved(tmp_path, name):
    problem = builtin_problem("iris")
    methods, _ = select_methods([name], "vectors", None, len(problem))
    outcome = cross_validate(problem, methods, fit_plan(problem, Plan(folds=2, repeats=1)))
    assert METHODS[name].title.endswith("(reference)")
    fitted = refit(problem, outcome, name).model
    save_model(fitted, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(again.predict_proba(problem.X), fitted.predict_proba(problem.X))


def test_version_doctor_and_short_help():
    assert works("--version").output.startswith("mahalearn ")
    assert "compare" in works("-h").output and "--target" in works("compare", "-h").output
    said = works("doctor").output
    for word in ("sklearn", "memory", "num_threads", "openpyxl", "processors"):
        assert word in said
    assert "--install-completion" in works("--help").output


@pytest.mark.parametrize("time", ["t", "stamp"])
def test_a_long_table_read_as_a_plain_one_names_the_options_of_series(tmp_path, time):
    rows = ["device,time of day,vib,state".replace("time of day", time)]
    for i in range(8):
        for k in range(10):
            moment = k / 2 if time == "t" else f"2024-05-01 00:{k:02d}:00"
            rows.append(f"d{i},{moment},{(7 * k + i) % 5},{'ok' if i % 2 else 'worn'}")
    (tmp_path / "log.csv").write_text("\n".join(rows))
    said = " ".join(works("inspect", tmp_path / "log.csv", "--target", "state").output.split())
    assert f"--id device --time {time} --value vib" in said and "--groups device" in said
    assert said.count("holds dates") == (time == "stamp")  # once, in the table
    options = ["--id", "device", "--time", time, "--value", "vib"]
    assert (
        "Read 8 objects" in works("inspect", tmp_path / "log.csv", *options, "--target", 4).output
    )
    said = works("inspect", tmp_path / "log.csv", "--target", "state", "--groups", "device").output
    assert "--id" not in said


def test_a_plain_table_gets_no_hint_to_series(table):
    assert "--time" not in works("inspect", table, "--target", "species").output
    assert "--time" not in works("inspect", "wine").output


def test_objects_without_classes_name_the_option(tmp_path):
    (tmp_path / "p.fasta").write_text("".join(f">P{i}\nacdefg\n" for i in range(8)))
    assert "--labels names a file" in refused("compare", "--objects", tmp_path / "p.fasta")
