"""What is saved: calibrated probabilities, and files that are refused in a sentence."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from own_data import flowers, refused, works, write_csv
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from mahalearn import load_model, save_model
from mahalearn.app.comparing.crossval import cross_validate
from mahalearn.app.comparing.methods import select_methods
from mahalearn.app.comparing.plan import Plan, fit_plan
from mahalearn.app.comparing.winner import refit
from mahalearn.app.reading.problem import Problem


def log_loss(proba, y, classes):
    return -np.log(proba[np.arange(len(y)), np.searchsorted(classes, y)]).mean()


def noisy_words(n, rng):
    """Words of six kinds that differ a little: most of what a classifier learns is chance."""
    y = np.arange(n) % 6
    words = []
    for kind in y:
        letters = rng.choice(list("abcdefgh"), size=rng.integers(4, 9))
        words.append("".join(letters) + "uvwxyz"[kind] * (rng.random() < 0.3))
    return words, y


@pytest.mark.parametrize("method", ["lda", "forest", "knn", "svm", "kqd"])
def test_probabilities_of_a_saved_model_beat_guessing(method):
    rng = np.random.default_rng(0)
    words, y = noisy_words(120, rng)
    problem = Problem("objects", words, y, "w", measure="edit", proximity="dissimilarity")
    methods, _ = select_methods([method], "objects", "dissimilarity", len(problem))
    plan = fit_plan(problem, Plan(folds=3, repeats=1))
    outcome = cross_validate(problem, methods, plan)
    model = refit(problem, outcome, method).model
    new, truth = noisy_words(300, rng)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    # The temperature is fitted on 120 objects; a little above ln 6 is chance.
    assert log_loss(proba, truth, model.classes_) < np.log(6) + 0.05
    own = model.classifier
    if hasattr(own, "predict_proba"):  # the order of the classes stays
        assert (own.predict_proba(new).argmax(axis=1) == proba.argmax(axis=1)).all()


def test_every_method_of_a_table_can_be_saved(tmp_path):
    """Whichever wins: a model that could not be written would cost the whole comparison."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    problem = Problem("vectors", X[::3], y[::3].to_numpy(), "iris")
    methods, _ = select_methods(None, "vectors", None, len(problem))
    plan = fit_plan(problem, Plan(folds=2, repeats=1))
    for method in methods:
        if method.name == "chooser":  # its members are the other families; test_ensemble saves it
            continue
        outcome = cross_validate(problem, [method], plan)
        model = refit(problem, outcome, method.name).model
        path = save_model(model, tmp_path / f"{method.name}.skops")
        again = load_model(path)
        assert_array_equal(again.predict(X), model.predict(X))


@pytest.fixture(scope="module")
def flower_model(tmp_path_factory):
    """A folder with a model of two columns, m.skops, and a table to predict, q.csv."""
    folder = tmp_path_factory.mktemp("model")
    header, rows = flowers()
    table = write_csv(folder / "t.csv", header, rows)
    works(
        "train", table, "--target", "species", "--method", "gaussian", "--out", folder / "m.skops"
    )
    write_csv(folder / "q.csv", header, rows[:5])
    return folder


def test_a_file_of_another_format_is_refused(flower_model, tmp_path):
    about = json.loads(zipfile.ZipFile(flower_model / "m.skops").read("mahalearn.json"))
    del about["format"]
    model = tampered(flower_model, tmp_path / "m.skops", json.dumps(about))
    arguments = [model, flower_model / "q.csv", "--out", tmp_path / "p.csv"]
    assert "has the format of mahalearn" in refused("predict", *arguments)


def tampered(folder, path, about):
    """A copy of a model file of which mahalearn.json says something else."""
    with zipfile.ZipFile(folder / "m.skops") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, about if name == "mahalearn.json" else old.read(name))
    return path


def deep(levels):
    return "[" * levels + "]" * levels


def description(folder):
    return json.loads(zipfile.ZipFile(folder / "m.skops").read("mahalearn.json"))


@pytest.mark.parametrize(
    "change",
    [
        {"versions": ["0.1.0"]},
        {"versions": {"mahalearn": 1}},
        {"kind": 7},
        {"kind": "table"},
        {"features": "abc"},
        {"features": [1]},
        {"features": [{"name": "a"}]},
        {"features": [{"name": "a", "type": "name"}]},
        {"classes": None},
        {"classes": ["a", "b"]},
        {"objects": 3},
        {"training": []},
        {"training": {}},
        {"training": {"objects": 9, "counts": []}},
        {"training": {"objects": 9, "error": "low"}},
        {"target": ["y"]},
        *({name: ...} for name in ("target", "features", "classes", "objects", "training")),
    ],
    ids=str,
)
def test_a_changed_description_is_refused_in_a_sentence(flower_model, tmp_path, change):
    about = {**description(flower_model), **change}
    about = {name: value for name, value in about.items() if value is not ...}
    model = tampered(flower_model, tmp_path / "m.skops", json.dumps(about))
    sentence = refused("predict", model, flower_model / "q.csv", "--out", tmp_path / "p.csv")
    assert "train" in sentence and not (tmp_path / "p.csv").exists()
    if ... not in change.values() and change != {"classes": ["a", "b"]}:
        assert "train" in refused("inspect", model)


@pytest.mark.parametrize("levels", [21, 500, 900, 5000, 200_000])
@pytest.mark.parametrize("entry", ["versions", "data", "more"])
def test_a_deep_description_is_refused_in_a_sentence(flower_model, tmp_path, levels, entry):
    about = json.dumps({**description(flower_model), entry: "DEEP"}).replace('"DEEP"', deep(levels))
    model = tampered(flower_model, tmp_path / "m.skops", about)
    assert "not a model file" in refused("inspect", model)
    arguments = [model, flower_model / "q.csv", "--out", tmp_path / "p.csv"]
    assert "not a model file" in refused("predict", *arguments)


def test_a_model_file_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mahalearn.persistence.MOST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "m.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mahalearn.json", "{" + " " * 10**6 + "}")
    assert "would unpack to" in refused("inspect", tmp_path / "m.skops")


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
@pytest.mark.parametrize("which", ["data", "model"])
def test_predict_never_overwrites_what_it_reads(flower_model, tmp_path, link, which):
    model, data = tmp_path / "m.skops", tmp_path / "q.csv"
    model.write_bytes((flower_model / "m.skops").read_bytes())
    data.write_bytes((flower_model / "q.csv").read_bytes())
    file = out = model if which == "model" else data
    if link:
        out = tmp_path / "out.csv"
        getattr(out, link)(file)
    before = file.read_bytes()
    for options in ([], ["--force"]):
        assert "input of this command" in refused("predict", model, data, "--out", out, *options)
    assert file.read_bytes() == before and out.read_bytes() == before


def test_compare_and_train_never_overwrite_what_they_read(tmp_path):
    table = write_csv(tmp_path / "results.csv", *flowers())
    source = [table, "--target", "species", "--force"]
    assert "input of this command" in refused("compare", *source, "--out", tmp_path)
    (tmp_path / "m.skops").symlink_to(table)
    assert "input of this command" in refused("train", *source, "--out", tmp_path / "m.skops")


def test_inspect_says_that_a_file_has_no_description(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.skops")
    said = " ".join(works("inspect", tmp_path / "m.skops").output.split())
    assert "skops file without a description: mahalearn train" in said
