"""What the commands on people's own data refuse, and what they say about it."""

import json

import numpy as np
import pytest
from own_data import distances, flowers, refused, works, write_csv, write_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from mahalearn.app.cli import _compare
from mahalearn.app.comparing import crossval
from mahalearn.app.comparing.crossval import cross_validate
from mahalearn.app.comparing.methods import select_methods
from mahalearn.app.comparing.plan import Plan
from mahalearn.app.reading.read import builtin_problem

FAST = ("--methods", "lda,knn", "--jobs", 1, "--folds", 2, "--repeats", 1)


@pytest.fixture
def never(monkeypatch):
    """Nothing may be computed."""

    def run(*arguments):
        raise AssertionError("computed before the options were checked")

    monkeypatch.setattr(_compare, "run", run)


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "flowers.csv", *flowers())


@pytest.fixture
def matrix(tmp_path):
    """Options of a matrix of dissimilarities with labels."""
    names, D, y = distances()
    (tmp_path / "l.txt").write_text("\n".join(y))
    path = write_matrix(tmp_path / "d.csv", D, names)
    return ["--proximity", path, "--labels", tmp_path / "l.txt"]


@pytest.mark.parametrize("text", ["{", "{}", "[]", "3", '{"problem": {"name": 1}}'])
def test_report_of_a_broken_comparison(tmp_path, text):
    (tmp_path / "comparison.json").write_text(text)
    assert "run compare again" in refused("report", tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_report_says_what_it_needs(tmp_path):
    assert "mahalearn compare" in " ".join(refused("report", tmp_path).split())
    (tmp_path / "comparison.json").write_text("{}")
    sentence = refused("report", tmp_path, "--docs", tmp_path / "q.md")
    assert "--docs is for the rows" in sentence


def test_the_place_is_looked_at_before_computing(tmp_path, table, never):
    folder, source = tmp_path / "dd", [table, "--target", "species"]
    (folder / "m.skops").mkdir(parents=True)
    for force in ([], ["--force"]):
        sentence = refused("train", *source, "--out", folder / "m.skops", *force)
        assert "is a folder; --out must name a file" in sentence
        sentence = refused("predict", tmp_path / "no.skops", table, "--out", folder, *force)
        assert "is a folder; --out must name a file" in sentence
        sentence = refused("compare", *source, "--out", table / "x", *FAST, *force)
        assert "flowers.csv' is a file, so" in sentence
        assert "is a file;" in refused("compare", *source, "--out", table, *FAST, *force)
    assert "must end with .skops" in refused("train", *source, "--out", tmp_path / "m.pkl")


def test_a_place_where_nothing_can_be_written(tmp_path, table, never, monkeypatch):
    def closed(dir):
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", closed)
    sentence = refused("compare", table, "--target", "species", "--out", tmp_path / "a" / "b")
    assert "Nothing can be written in" in sentence and "permission denied" in sentence
    assert not (tmp_path / "a").exists()


def test_a_folder_where_a_file_is_needed(tmp_path, matrix):
    for source in (["--proximity", tmp_path], ["--objects", tmp_path, "--measure", "edit"]):
        assert f"{source[0]} must name a file" in refused("compare", *source)
    assert "--labels must name a file" in refused("compare", *matrix[:3], tmp_path)


def test_objects_that_the_measure_cannot_compare(tmp_path):
    lines = [f"{'xy'[i % 2]}\tabc{i}" for i in range(12)]
    (tmp_path / "w.txt").write_text("\n".join(lines))
    sentence = refused("compare", "--objects", tmp_path / "w.txt", "--measure", "hausdorff")
    assert "--measure hausdorff cannot compare these objects: Object 0 must be a set" in sentence


def test_methods_must_be_named_once(table):
    source = ["compare", table, "--target", "species", "--methods"]
    assert "named twice" in refused(*source, "lda,lda")
    assert "no method ''" in refused(*source, "")


def test_an_interruption_is_answered(table, tmp_path, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_compare, "run", stop)
    done = works("compare", table, "--target", "species", "--out", tmp_path / "o", code=130)
    assert done.stderr == "Stopped; no result was written.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["wine", "--target", "foo"], "--target has no effect for the set wine"),
        (["wine", "--no-header"], "--header has no effect for the set wine"),
        (["TABLE", "--symmetrize", "foo"], "--symmetrize has no effect for a table"),
        (["TABLE", "--labels", "l.txt"], "--labels has no effect for a table"),
        (["--proximity", "d.csv", "--mixed", "gower"], "--mixed has no effect for --proximity"),
        (["--objects", "o.txt", "--kind", "similarity"], "it is for --proximity."),
    ],
)
def test_options_that_would_be_ignored(table, arguments, words):
    assert words in refused("inspect", *(table if a == "TABLE" else a for a in arguments))


def test_dissimilarities_are_no_similarities(matrix, recwarn):
    sentence = refused("compare", *matrix, "--kind", "similarity")
    assert "has the value 0 with itself" in sentence and "--kind dissimilarity" in sentence
    assert not recwarn.list


def test_doubts_about_a_matrix_are_said_once(tmp_path, matrix, rng, recwarn):
    X = rng.normal(size=(30, 3))
    write_matrix(tmp_path / "d.csv", X @ X.T)
    done = works("compare", *matrix, "--kind", "dissimilarity", *FAST, "--out", tmp_path / "o")
    assert done.output.count("dissimilarities are negative") == 1
    assert not [w for w in recwarn.list if "negative" in str(w.message)]


def test_the_guessed_column_of_classes_is_named(table):
    assert "Column 'species' was taken for the classes" in works("inspect", table).output
    assert "was taken" not in works("inspect", table, "--target", "species").output


def test_fewer_folds_than_asked_for_are_said(table, tmp_path):
    options = ["--methods", "lda", "--folds", 60, "--repeats", 1, "--jobs", 1]
    done = works("compare", table, "--target", "species", *options, "--out", tmp_path / "o")
    said = "smallest class has 15 objects, so there are 15 folds, not 60"
    assert said in " ".join(done.output.split())
    assert said in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_no_bar_before_a_refusal(tmp_path):
    (tmp_path / "t.csv").write_text("a,c\n" + "1,x\n1,y\n" * 9)
    done = works("compare", tmp_path / "t.csv", "--target", "c", "--out", tmp_path / "o", code=2)
    assert "cross-validation" not in done.output


def test_the_cells_of_a_failed_method_count_as_finished(monkeypatch):
    problem = builtin_problem("iris")
    methods, _ = select_methods(["lda", "svm"], "vectors", None, len(problem))
    run_cell, told = crossval.run_cell, []

    def broken(data, setting, name, *where):
        if name == "svm":
            raise ValueError("no")
        return run_cell(data, setting, name, *where)

    monkeypatch.setattr(crossval, "run_cell", broken)
    cross_validate(
        problem,
        methods,
        Plan(2, 1),
        tell=lambda s: told.append((s.finished, s.total, s.method)),
    )
    assert told == [(0, 4, ""), (1, 4, "lda"), (2, 4, "lda"), (4, 4, "svm")]


def test_the_cause_of_failed_fits_is_one_line():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    search = GridSearchCV(SVC(C=-1.0), {"gamma": [1.0, 2.0]})
    with pytest.raises(ValueError, match="All the 10 fits failed") as caught:
        search.fit(X, y)
    reason = crossval._reason(caught.value)
    assert "'C' parameter of SVC must be a float" in reason and "fits failed" not in reason


def test_real_numbers_are_no_symbols(tmp_path, rng):
    lines = [
        json.dumps({"object": rng.normal(size=20).tolist(), "label": "xy"[i % 2]})
        for i in range(12)
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    sentence = refused("compare", "--objects", tmp_path / "s.jsonl", "--measure", "edit")
    assert "real numbers, nearly none of which occurs twice" in sentence
    lines = [
        json.dumps({"object": rng.integers(3, size=20).tolist(), "label": "xy"[i % 2]})
        for i in range(12)
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    assert (
        "signature"
        in works("inspect", "--objects", tmp_path / "s.jsonl", "--measure", "edit", "-v").output
    )


def test_equal_distances_are_said(tmp_path):
    D = 1 - np.eye(12)
    (tmp_path / "l.txt").write_text("\n".join("ab" * 6))
    options = ["--proximity", write_matrix(tmp_path / "d.csv", D), "--labels", tmp_path / "l.txt"]
    said = " ".join(works("compare", *options, *FAST, "--out", tmp_path / "o").output.split())
    assert "All distances between different objects are equal" in said
    said = " ".join(works("inspect", *options).output.split())
    assert "no kernel method can learn from them" in said and "all methods apply" not in said
    words = [f"{'ab'[i % 2]}\t{chr(97 + i) * 5}" for i in range(12)]  # five letters, all different
    (tmp_path / "w.txt").write_text("\n".join(words))
    options = ["--objects", tmp_path / "w.txt", "--measure", "edit", *FAST]
    said = " ".join(works("compare", *options, "--out", tmp_path / "q").output.split())
    assert "All distances between different objects are equal" in said


def test_a_long_reason_ends_with_a_sentence():
    advice = "The matrix has not full rank. " + "When using this solver, do that. " * 20
    reason = crossval._reason(
        np.linalg.LinAlgError(f"all 2 fits failed\nnumpy.linalg.LinAlgError: {advice}")
    )
    assert reason.startswith("The matrix has not full rank. When") and reason.endswith("do that")
    assert len(reason) <= crossval.LONGEST_REASON
    assert crossval._reason(ValueError("x" * 400)).endswith("xx …")
