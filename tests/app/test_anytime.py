"""A comparison that may end at any time: order, ranking so far, budget, Ctrl-C, resume, samples."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from own_data import flowers, refused, works, write_csv

from mahalearn.app.cli._compare import Live
from mahalearn.app.comparing import crossval
from mahalearn.app.comparing.cells import Cell
from mahalearn.app.comparing.compare import Silent, rank, sampled
from mahalearn.app.comparing.crossval import cross_validate
from mahalearn.app.comparing.methods import METHODS, select_methods
from mahalearn.app.comparing.plan import Plan
from mahalearn.app.comparing.progress import Progress, fingerprint, state_of
from mahalearn.app.reading.problem import Problem
from mahalearn.app.reading.read import builtin_problem


@pytest.fixture
def iris():
    problem = builtin_problem("iris")
    methods, _ = select_methods(["svm", "lda", "gaussian"], "vectors", None, len(problem))
    return problem, methods


def cell(name, fold, seconds=1.0, error=0.1):
    return Cell(name, fold, np.zeros(1), np.zeros((1, 2)), error, error, seconds, 0.0)


def test_cheap_methods_come_first(iris):
    states = []
    cross_validate(*iris, Plan(2, 1), tell=lambda s: states.append((s.method, len(s.ranking))))
    order = [name for name, _ in states if name]
    assert order.index("svm") == 4 and {"lda", "gaussian"} == set(order[:4])
    assert [n for _, n in states] == [0, 0, 1, 1, 2, 2, 3]


def test_an_interruption_ranks_what_finished(iris, monkeypatch):
    run_cell = crossval.run_cell

    def stopped(data, setting, name, *where):
        if name == "svm":
            raise KeyboardInterrupt
        return run_cell(data, setting, name, *where)

    monkeypatch.setattr(crossval, "run_cell", stopped)
    outcome = cross_validate(*iris, Plan(2, 1))
    assert {m.name for m in outcome.methods} == {"lda", "gaussian"} and len(outcome.splits) == 2
    assert "stopped before these were compared: SVM (reference)" in " ".join(outcome.notes)


def test_a_time_budget_always_ends_with_a_ranking(iris):
    """Starting a process alone takes longer than this budget."""
    said = []
    outcome = cross_validate(*iris, Plan(5, 2), time_budget=0.001, say=said.extend)
    assert outcome.methods and 2 <= len(outcome.splits) < 10
    assert "The time budget ended" in " ".join(outcome.notes) and said == [crossval.OVER]


def test_a_method_that_cannot_be_finished_in_time_is_left_out(iris):
    """Its first fold shows it; the time that the best one needs at the end is kept free."""
    problem, methods = iris
    run = crossval._Run(problem, methods, Plan(2, 1), 1, 60.0, None, None, None, {})
    assert run.seconds_left() == np.inf
    run.add(cell("svm", 0, 1000.0))  # nothing is ranked yet, so it goes on
    assert not run.late
    for fold in range(2):
        run.add(cell("lda", fold, 5.0, 0.2))
    assert 60 - 3 * 5 - 5 < run.seconds_left() <= 60 - 3 * 5
    run.add(cell("gaussian", 0, 20.0, 0.0))  # one more fold and a fit on all take 20 + 60 s
    assert run.late == {"gaussian"} and run.given_up("gaussian") and not run.given_up("lda")
    run.add(cell("gaussian", 1, 20.0, 0.0))
    assert run.seconds_left() <= 0


def test_results_do_not_depend_on_the_number_of_processes(iris):
    """The first cells are computed in the process that starts the others."""
    one, two = (cross_validate(*iris, Plan(2, 1), jobs=jobs) for jobs in (1, 2))
    assert one.cells.keys() == two.cells.keys()
    for key in one.cells:
        np.testing.assert_array_equal(one.cells[key].scores, two.cells[key].scores)


def test_what_can_be_ranked():
    methods = [METHODS[name] for name in ("lda", "svm", "kqd")]
    found = {("lda", f): 1 for f in range(4)} | {("svm", f): 1 for f in range(3)}
    ranked, folds = crossval._rankable(methods, found, {}, 4, 4)
    assert [m.name for m in ranked] == ["lda"] and folds == [0, 1, 2, 3]
    del found["lda", 3]
    ranked, folds = crossval._rankable(methods, found, {}, 4, 4)
    assert [m.name for m in ranked] == ["lda", "svm"] and folds == [0, 1, 2]
    assert crossval._rankable(methods, {("lda", 0): 1}, {}, 4, 4) == ([], [])
    # The first repetition, of which more methods have all folds.
    found = {("lda", f): 1 for f in range(4)} | {("svm", f): 1 for f in range(3)}
    ranked, folds = crossval._rankable(methods, found, {}, 4, 2)
    assert [m.name for m in ranked] == ["lda", "svm"] and folds == [0, 1]
    # Nobody has a fold of it: those of the method that has most.
    found = {("lda", f): 1 for f in (2, 3)}
    ranked, folds = crossval._rankable(methods, found, {}, 4, 2)
    assert [m.name for m in ranked] == ["lda"] and folds == [2, 3]


def test_whoever_is_told_hears_notes_then_states_then_notes(iris):
    heard = []

    class Told(Silent):
        def notes(self, notes):
            heard.append(list(notes))

        def state(self, state):
            heard.append(state.finished)

    problem, _ = iris
    ranked = rank(problem, ["lda", "gaussian"], Plan(2, 1), listener=Told())
    assert heard[1:-1] == [0, 1, 2, 3, 4]
    assert heard[0] == problem.notes and heard[-1] == ranked.outcome.notes
    alone = rank(problem, ["lda", "gaussian"], Plan(2, 1))
    assert alone.winner == ranked.winner and alone.board[0]["error"] == ranked.board[0]["error"]


def test_the_time_left_is_honest():
    tasks = [(name, fold) for name in ("lda", "svm") for fold in range(4)]
    found = {("lda", f): cell("lda", f, 2.0) for f in range(3)}
    state = state_of(tasks, found, {}, 2)
    assert (state.seconds_left, state.sure) == (5.0, False)
    found["svm", 0] = cell("svm", 0, 10.0)
    state = state_of(tasks, found, {}, 2)
    assert (state.seconds_left, state.sure) == (16.0, True)
    state = state_of(tasks, found, {"svm": "no"}, 2)
    assert (state.seconds_left, state.sure, state.finished) == (1.0, True, 7)
    found["lda", 3] = cell("lda", 3)
    assert state_of(tasks, found, {}, 2).ranking == [("lda", pytest.approx(0.1))]
    assert state_of(tasks, {}, {}, 2).seconds_left is None
    found = {task: cell(*task, 0.01) for task in tasks[:3]}
    assert "left" not in Live(None)._progress(state_of(tasks, found, {}, 2))  # not "0 s left"
    found = {task: cell(*task, 2.0) for task in tasks[:3]}
    assert "than 5 s left" in Live(None)._progress(state_of(tasks, found, {}, 2))


def test_finished_folds_are_taken_over(iris, tmp_path, monkeypatch):
    problem, methods = iris
    plan = Plan(2, 1)
    path = tmp_path / "progress.jsonl"
    progress = Progress(path, fingerprint(problem, plan))
    assert progress.cells() == {}
    whole = cross_validate(problem, methods, plan, keep=progress.add)
    with open(progress.path, "a") as file:
        file.write('{"key": "half a li')
    known = Progress(path, fingerprint(problem, plan)).cells()
    assert known.keys() == whole.cells.keys()
    run = []
    run_cell = crossval.run_cell
    monkeypatch.setattr(crossval, "run_cell", lambda *a: run.append(a[2]) or run_cell(*a))
    del known["svm", 1]
    again = cross_validate(problem, methods, plan, finished=known)
    assert run == ["svm"]
    for key, one in whole.cells.items():
        other = again.cells[key]
        assert (one.predicted == other.predicted).all() and one.predicted.dtype.kind == "U"
        np.testing.assert_array_equal(one.scores, other.scores)
    # Of another problem or plan nothing is taken, and nothing is lost.
    before = path.read_bytes()
    other = Progress(path, fingerprint(problem, Plan(3, 1)))
    assert other.cells() == {} and path.read_bytes() == before
    other.add(whole.cells["lda", 0])  # behind half a line
    assert list(other.cells()) == [("lda", 0)]


def test_what_changes_results_changes_the_key():
    y, M = np.array(["a", "b"]), np.ones((2, 2))
    flat, tall = np.ones((1, 2)), np.ones((2, 1))
    problems = [
        Problem("proximity", M, y, "matrix", proximity="similarity"),
        Problem("proximity", M, y, "matrix", proximity="dissimilarity"),
        Problem("objects", [flat, flat], y, "series", measure="dtw"),
        Problem("objects", [tall, tall], y, "series", measure="dtw"),
    ]
    keys = [fingerprint(problem, Plan()) for problem in problems]
    keys.append(fingerprint(problems[0], Plan(), limited=True))
    assert len(set(keys)) == len(keys)


def test_resume_goes_on_from_an_interruption(tmp_path, monkeypatch):
    table = write_csv(tmp_path / "t.csv", *flowers())
    options = ["--target", "species", "--methods", "gaussian,lda", "--jobs", 1, "--repeats", 1]
    options += ["--folds", 5]
    command = ["compare", table, *options, "--out", tmp_path / "o"]
    run_cell = crossval.run_cell

    def stopped(data, setting, name, fold, *rest):
        if (name, fold) == ("gaussian", 3):
            raise KeyboardInterrupt
        return run_cell(data, setting, name, fold, *rest)

    monkeypatch.setattr(crossval, "run_cell", stopped)
    done = works(*command)
    assert "the same command continues" in " ".join(
        done.output.split()
    )  # the finished folds are ranked, and kept
    first = json.loads((tmp_path / "o" / "comparison.json").read_text())
    monkeypatch.setattr(crossval, "run_cell", run_cell)
    assert "exists already" in refused(*command, "--seed", 1)  # another one
    done = works(*command)
    assert re.search(r"\b[3-8] finished folds taken over", done.output)
    assert "Gaussian" in done.output and "LDA (reference): error" in done.output
    assert not (tmp_path / "o" / "progress.jsonl").exists()
    again = json.loads((tmp_path / "o" / "comparison.json").read_text())
    done = works("compare", table, *options, "--out", tmp_path / "all at once")
    next_step = f"run mahalearn predict '{tmp_path}/all at once/model.skops' NEW"
    assert next_step in done.output.splitlines()[-1]
    whole = json.loads((tmp_path / "all at once" / "comparison.json").read_text())
    assert whole["confusion"] == again["confusion"] != first["confusion"]
    # What is finished is not overwritten.
    before = (tmp_path / "o" / "comparison.json").read_bytes()
    assert "exists already; --force" in refused(*command)
    assert (tmp_path / "o" / "comparison.json").read_bytes() == before
    assert "taken over" not in works(*command, "--force").output


def test_large_tables_are_ranked_on_a_sample(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 900 + ["b"] * 90 + ["c"] * 4)
    X = pd.DataFrame(rng.normal(size=(994, 2)) + (y == "a")[:, None] * 3, columns=["u", "v"])
    problem = Problem("vectors", X, y, "large")
    part = sampled(problem, 100, 0)
    assert part.counts == {"a": 91, "b": 9, "c": 3} and "sample of 103 of 994" in part.notes[-1]
    assert sampled(problem, 0, 0) is problem and sampled(problem, None, 0) is problem
    X.assign(kind=y).to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "kind", "--methods", "lda", "--jobs", 1, "--sample", 200]
    done = works("compare", tmp_path / "t.csv", *options, "--out", tmp_path / "o")
    assert "stratified sample of 202 of 994 rows" in " ".join(done.output.split())


def test_a_sample_of_a_matrix_is_drawn_where_it_is_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)) + 3 * (y[:, None] != y)
    problem = Problem("proximity", D, y, "matrix", proximity="dissimilarity")
    assert sampled(problem, None, 0) is problem
    part = sampled(problem, 30, 0)
    rows = [int(name) - 1 for name in part.names]  # by which predict finds the columns
    np.testing.assert_array_equal(part.X, D[np.ix_(rows, rows)])
    assert "sample of 30 of 90 objects." in part.notes[-1]
    np.savez(tmp_path / "d.npz", D=D, y=y)
    options = ["--methods", "lda", "--jobs", 1, "--sample", 30, "--repeats", 1]
    done = works(
        "compare", "--proximity", tmp_path / "d.npz", *options, "--out", tmp_path / "o"
    ).output
    assert "the best, fitted on the sample of 30 rows" in " ".join(done.split())


def test_quick_leaves_the_slow_methods_out(tmp_path):
    table = write_csv(tmp_path / "t.csv", *flowers(n=30))
    out = tmp_path / "o"
    options = ["--target", "species", "--quick", "--jobs", 1, "--folds", 2]
    works("compare", table, *options, "--out", out)
    found = json.loads((out / "comparison.json").read_text())
    names = {row["name"] for row in found["leaderboard"]}
    assert "lda" in names and not {"kqd", "svm", "chooser"} & names
    assert found["plan"]["repeats"] == 1 and "--quick" in found["about"]["command"]


def test_wide_tables_are_rotated_into_the_span_of_the_rows():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[np.arange(30) % 2]
    X = pd.DataFrame(rng.normal(size=(30, 700)) + (y == "a")[:, None] * 0.3)
    X.columns = [f"c{i}" for i in range(700)]
    problem = Problem("vectors", X, y, "wide")
    methods, notes = select_methods(None, "vectors", None, 30, 2500)
    assert "boosting" not in {m.name for m in methods} and "Gradient boosting" in notes[0]
    setting = crossval.setting_for(problem, Plan(2, 1, 2))
    for name in ("svm", "knn"):  # they know distances alone: the same answers
        wide = METHODS[name].pipeline(setting)
        assert [step for step, _ in wide.steps] == ["encode", "rotate", "classify"]
        plain = METHODS[name].pipeline(setting)
        plain.steps.pop(1)
        wide.fit(X[:20], y[:20]), plain.fit(X[:20], y[:20])
        assert (wide.predict(X[20:]) == plain.predict(X[20:])).all()
