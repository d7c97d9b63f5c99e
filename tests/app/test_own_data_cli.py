"""compare, train, predict, inspect as a new user meets them, with all that can go wrong."""

import csv
import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from benchmarks.outliers import unusual_shares
from numpy.testing import assert_allclose
from own_data import NASTY, distances, flowers, refused, works, write_csv, write_matrix
from sklearn.datasets import load_iris

from mahalearn import GaussianClassifier
from mahalearn.app.cli._terminal import table_bytes
from mahalearn.app.comparing import crossval
from mahalearn.app.comparing.crossval import cross_validate
from mahalearn.app.comparing.findings import others_as_far
from mahalearn.app.comparing.methods import METHODS, class_distances, select_methods
from mahalearn.app.comparing.plan import Plan, fit_plan
from mahalearn.app.comparing.ranking import corrected_interval, leaderboard
from mahalearn.app.comparing.winner import refit
from mahalearn.app.reading.encoder import match_columns
from mahalearn.app.reading.problem import Problem
from mahalearn.app.reading.read import builtin_problem
from mahalearn.app.report.comparison import document
from mahalearn.measures import EditDistance
from mahalearn.persistence import load_model, save_model

FAST = ("--methods", "gaussian,lda", "--jobs", 1, "--repeats", 1)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table of flowers and the results of its comparison."""
    folder = tmp_path_factory.mktemp("flowers")
    write_csv(folder / "flowers.csv", *flowers())
    works("compare", folder / "flowers.csv", "--target", "species", "--out", folder / "out", *FAST)
    return folder


def test_compare_leaves_model_table_and_page(trained):
    out = trained / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "comparison.json",
        "model.skops",
        "report.html",
        "results.csv",
    ]
    rows = rows_of(out / "results.csv")
    assert {row["method"] for row in rows} == {"gaussian", "lda"}
    assert float(rows[0]["error"]) <= float(rows[1]["error"])
    assert rows[0]["difference_to_best"] == "0.0"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert NASTY not in page and "&lt;script&gt;alert(1)" in page
    assert "one-hot" in page
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert found["about"]["command"] == (
        f"mahalearn compare {trained / 'flowers.csv'} --target species --out {out} "
        "--methods gaussian,lda --repeats 1 --seed 0"
    )
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert len(found["confusion"]) == 3 and sum(map(sum, found["confusion"])) == 45


def test_the_page_can_be_written_again_from_plain_values(trained):
    page = trained / "out" / "report.html"
    before = page.read_text(encoding="utf-8")
    page.unlink()
    works("report", trained / "out")
    assert page.read_text(encoding="utf-8") == before


def test_predict_gives_labels_probabilities_distances_and_outliers(trained, tmp_path):
    header, rows = flowers(n=300, seed=5)
    far = ["alien", "900", "-900", "red", "rose"]
    new = write_csv(tmp_path / "new.csv", [*header, "more"], [[*r, "1"] for r in [*rows, far]])
    done = works("predict", trained / "out" / "model.skops", new, "--out", tmp_path / "p.csv")
    assert "does not know were ignored" in " ".join(done.output.split())
    table = rows_of(tmp_path / "p.csv")
    assert [row["object"] for row in table][-1] == "alien"
    for row in table:
        p = {name[2:]: float(v) for name, v in row.items() if name.startswith("p ")}
        del p["none"]
        assert set(p) == {"rose", "tulip", NASTY}
        assert sum(p.values()) == pytest.approx(1, abs=1e-4)
        assert max(p, key=p.get) == row["prediction"]
        owner = json.loads((trained / "out" / "comparison.json").read_text(encoding="utf-8"))
        assert float(row[f"d2 rose ({owner['about']['distances']})"]) >= 0
        typical = {name[8:]: float(v) for name, v in row.items() if name.startswith("typical ")}
        assert set(typical) == set(p)
        assert row["prediction"] in row["set"].split(" | ") and set(row["set"].split(" | ")) <= set(
            p
        )
        assert int(row["outlier"]) == (float(row["p none"]) <= 0.05)
    # Of 45 training objects two in 46 are that far out. The share varies with the 45 by
    # √(1/23·22/23/47) = 0.03: four of these are allowed.
    flags = [int(row["outlier"]) for row in table]
    assert flags[-1] == 1 and float(table[-1]["p none"]) == pytest.approx(1 / 46, abs=1e-4)
    assert np.mean(flags[:-1]) < 2 / 46 + 4 * 0.03
    assert "Drift: no sign of it" in " ".join(done.output.split())


def test_predict_bounds_the_false_discovery_rate_and_tells_drift(trained, tmp_path):
    header, rows = flowers(n=60, seed=6)
    far = [[f"alien{i}", "900", "-900", "red", "rose"] for i in range(60)]
    new = write_csv(tmp_path / "new.csv", header, [*rows, *far])
    arguments = ["predict", trained / "out" / "model.skops", new, "--out", tmp_path / "p.csv"]
    done = works(*arguments, "--fdr", 0.1, "--confidence", 0.9)
    table = rows_of(tmp_path / "p.csv")
    p = np.array([float(row["p none"]) for row in table])
    # Benjamini-Hochberg: the largest k with p_(k) ≤ 0.1·k/m.
    ordered = np.sort(p)
    k = max(i + 1 for i in range(len(p)) if ordered[i] <= 0.1 * (i + 1) / len(p) + 1e-4)
    assert [int(row["outlier"]) for row in table] == (p <= ordered[k - 1]).astype(int).tolist()
    assert all(int(row["outlier"]) for row in table[-60:])
    typical = [name for name in table[0] if name.startswith("typical ")]
    for row in table:
        assert row["set"] == "" or {*row["set"].split(" | ")} <= {n[8:] for n in typical}
    assert "Drift: these objects lie farther" in " ".join(done.output.split())
    assert "give one" in refused(*arguments, "--fdr", 0.1, "--outlier-level", 0.1, "--force")
    for option in ("--fdr", "--confidence"):
        assert "between 0 and 1" in refused(*arguments, option, 0, "--force")


def test_a_class_called_none_keeps_its_probability(tmp_path):
    header, rows = flowers()
    rows = [[*row[:4], row[4].replace("rose", "none")] for row in rows]
    table = write_csv(tmp_path / "t.csv", header, rows)
    options = ["--target", "species", "--method", "gaussian", "--jobs", 1]
    works("train", table, *options, "--out", tmp_path / "m.skops")
    works("predict", tmp_path / "m.skops", table, "--out", tmp_path / "p.csv")
    for row in rows_of(tmp_path / "p.csv"):
        p = [float(row[f"p {name}"]) for name in ("none", "tulip", NASTY)]
        assert sum(p) == pytest.approx(1, abs=1e-4) and float(row["p none of the classes"]) > 0


@pytest.mark.parametrize("kind", ["table", "matrix", "words", "gower"])
def test_p_values_of_a_saved_model_are_those_of_its_folds_refitted(kind, tmp_path):
    """Cross-conformal ranks by hand: fold models fitted anew, counts in a loop."""
    rng = np.random.default_rng(0)
    n, y = 36, np.arange(36) % 2
    points = rng.normal(size=(n + 5, 3))
    points[:n] += 1.5 * y[:, None]
    D = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    words = ["ab"[i % 2] * rng.integers(1, 6) + "c" * rng.integers(1, 6) for i in range(n + 5)]
    objects = {"words": words, "gower": points.tolist()}.get(kind)
    far = {"proximity": "dissimilarity"}
    if kind == "table":
        frame = pd.DataFrame(points, columns=list("abc"))
        problem, new = Problem("vectors", frame[:n], y, "t"), frame[n:]
    elif kind == "matrix":
        problem, new = Problem("proximity", D[:n, :n], y, "m", **far), D[n:, :n]
    else:
        measure = "edit" if kind == "words" else kind
        problem = Problem("objects", objects[:n], y, "o", measure=measure, **far)
        new = objects[n:]
    methods, _ = select_methods(["kqd"], problem.kind, problem.proximity, n)
    outcome = cross_validate(problem, methods, fit_plan(problem, Plan(folds=3, repeats=1)))
    refitted = refit(problem, outcome, "kqd")
    save_model(refitted.model, tmp_path / "m.skops")
    found = load_model(tmp_path / "m.skops").typicality(new)
    count, total, count_none = np.zeros((5, 2)), np.zeros(2), np.zeros(5)
    for fold, part in zip(refitted.model.folds, refitted.parts, strict=True):
        queries = new
        if kind == "words":
            queries = EditDistance().between(words[n:], words[:n])
        if fold.members is not None:
            queries = np.asarray(queries)[:, fold.members]
        d2 = class_distances(fold.model, queries)
        own = refitted.d2[part]
        for i in range(5):
            for k, obj in enumerate(part):
                count[i, y[obj]] += own[k, y[obj]] >= d2[i, y[obj]]
                count_none[i] += own[k].min() >= d2[i].min()
        total += np.bincount(y[part], minlength=2)
    assert_allclose(found.p_values, (1 + count) / (1 + total))
    assert_allclose(found.p_none, (1 + count_none) / (1 + n))


def test_large_fold_models_are_kept_as_far_as_they_fit(monkeypatch):
    problem = builtin_problem("iris")
    methods, _ = select_methods(["gaussian"], "vectors", None, len(problem))
    outcome = cross_validate(problem, methods, fit_plan(problem, Plan(folds=5, repeats=1)))
    monkeypatch.setattr("mahalearn.app.comparing.winner.MOST_BYTES", 1)
    model = refit(problem, outcome, "gaussian").model
    assert len(model.folds) == 1
    p = model.typicality(problem.X).p_values
    assert p.min() == pytest.approx(1 / 11)  # split conformal: ten objects of each class


def test_no_cell_steers_a_terminal():
    row = {"object\x1b[2J": "\x1b]0;x\x07", "prediction": "a\r\x9b1m", "set": "a\tb\nשלום\u200f"}
    book = pd.read_excel(BytesIO(table_bytes([row], ".xlsx")), engine="openpyxl")
    for data in (table_bytes([row], ".csv").decode(), book.to_csv()):
        assert not set(data) & {*map(chr, range(9)), *map(chr, [*range(11, 32), *range(127, 160)])}
        assert "object�[2J" in data and "�]0;x�" in data and "a\tb\nשלום\u200f" in data


def test_no_cell_is_a_formula():
    text = table_bytes(
        [
            {"object": "=1+1", "prediction": "-1", "@p": "-0.5"},
            {"object": "-a", "prediction": "+2e3", "@p": -0.25},
            {"object": "@x, y", "prediction": "\tz", "@p": "-inf"},
            {"object": "+a", "prediction": "a=b", "@p": "-"},
        ],
        ".csv",
    ).decode()
    assert list(csv.reader(text.splitlines())) == [
        ["object", "prediction", "'@p"],
        ["'=1+1", "-1", "-0.5"],
        ["'-a", "+2e3", "-0.25"],
        ["'@x, y", "'\tz", "-inf"],
        ["'+a", "a=b", "-"],
    ]


def test_names_of_objects_are_no_formulas(trained, tmp_path):
    header, rows = flowers(n=3)
    new = write_csv(tmp_path / "n.csv", header, [["=HYPERLINK(0)" + r[0], *r[1:]] for r in rows])
    works("predict", trained / "out" / "model.skops", new, "--out", tmp_path / "p.csv")
    assert [row["object"] for row in rows_of(tmp_path / "p.csv")] == [
        f"'=HYPERLINK(0)plant{i}" for i in range(3)
    ]


def test_predict_says_which_columns_differ(trained, tmp_path):
    header, rows = flowers(n=6)
    model = trained / "out" / "model.skops"
    cut = write_csv(tmp_path / "cut.csv", header[:2] + header[3:], [r[:2] + r[3:] for r in rows])
    assert "lacks the column 'width'" in refused("predict", model, cut, "--out", tmp_path / "p.csv")
    text = write_csv(tmp_path / "text.csv", header, [[r[0], "tall", *r[2:]] for r in rows])
    sentence = refused("predict", model, text, "--out", tmp_path / "p.csv")
    assert "'height' held numbers" in sentence and "'tall'" in sentence
    assert not (tmp_path / "p.csv").exists()
    other = write_csv(tmp_path / "o.csv", header, [[*r[:3], "green", r[4]] for r in rows])
    done = works("predict", model, other, "--out", tmp_path / "p.csv")
    assert "not in training: green" in " ".join(done.output.split())


def test_predict_names_the_cell_that_is_no_number(trained, tmp_path):
    header, rows = flowers(n=6)
    model, out = trained / "out" / "model.skops", tmp_path / "p.csv"
    rows[2][1] = "oops"
    new = write_csv(tmp_path / "n.csv", header, rows)
    assert "now holds text: 'oops' in row 4" in refused("predict", model, new, "--out", out)
    rows[2][1] = "1e200"
    new = write_csv(tmp_path / "n.csv", header, rows)
    assert "'height' holds 1e+200 in row 4" in refused("predict", model, new, "--out", out)


def test_predict_writes_a_page_and_names_the_columns_that_drifted(trained, tmp_path):
    header, rows = flowers(n=30, seed=5)
    model, report = trained / "out" / "model.skops", tmp_path / "new.html"
    millimetres = [[r[0], f"{1000 * float(r[1]):.1f}", *r[2:]] for r in rows]
    new = write_csv(tmp_path / "n.csv", header, millimetres)
    out = ["--out", tmp_path / "p.csv", "--report", report, "--force"]
    said = " ".join(works("predict", model, new, *out).output.split())
    assert "Columns that changed: 'height' (training" in said and "'width'" not in said
    assert str(report) in said
    page = report.read_text()
    headings = ["Columns against the training rows", "unlike every class", "Predicted classes"]
    assert all(words in page for words in [*headings, "plant3"])
    assert "Yes, 1 of 3 columns" in page
    assert page.count('class="spark"') == 2 and 'aria-label="height: in training' in page
    assert NASTY not in page and "&lt;script&gt;alert(1)" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    said = " ".join(works("predict", model, write_csv(new, header, rows), *out).output.split())
    assert "Columns that changed" not in said and "Drift: no sign" in said
    page = report.read_text()
    assert "How accurate are they?" in page and "Confusion matrix" in page
    assert "On held-out training objects: " in page
    one = write_csv(tmp_path / "one.csv", header, rows[:1])
    said = " ".join(works("predict", model, one, *out).output.split())
    assert "1 object predicted" in said and "rift" not in said
    assert "overwritten" in refused(
        "predict", model, new, "--out", tmp_path / "q.csv", "--report", new
    )


def test_columns_and_classes_match_ignoring_case(trained, tmp_path):
    header, rows = flowers(n=9, seed=2)
    model, plain = trained / "out" / "model.skops", tmp_path / "plain.csv"
    expected = works("predict", model, write_csv(plain, header, rows), "--out", "-").stdout
    loud = [[*r[:4], r[4].upper()] for r in rows]
    upper = write_csv(tmp_path / "u.csv", [name.upper() for name in header], loud)
    done = works("predict", model, upper, "--out", "-")
    assert done.stdout == expected
    said = " ".join(done.stderr.split())
    assert "ignoring case and blanks: 'HEIGHT' for 'height'" in said
    assert "'SPECIES' was taken for the classes 'species'" in said
    assert "'ROSE' for 'rose'" in said and "Scored on 9 objects" in said


def test_a_unit_that_differs_from_training_is_refused(tmp_path):
    header, rows = flowers(n=45)
    units = [[r[0], f"{r[1]} mg", *r[2:]] for r in rows]
    table = write_csv(tmp_path / "t.csv", header, units)
    options = ["--target", "species", "--method", "gaussian", "--out", tmp_path / "m.skops"]
    works("train", table, *options)
    grams = write_csv(tmp_path / "g.csv", header, [[r[0], f"{r[1]} g", *r[2:]] for r in rows])
    model, out = tmp_path / "m.skops", tmp_path / "p.csv"
    sentence = refused("predict", model, grams, "--out", out)
    assert "'height' was in 'mg' in training and is in 'g' now" in sentence
    works("predict", model, table, "--out", out)
    bare = write_csv(tmp_path / "bare.csv", header, rows)
    said = " ".join(works("predict", model, bare, "--out", out, "--force").output.split())
    assert "'height' has no unit in its cells now and had the unit 'mg' in training" in said


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predict_refuses_numbers_where_names_were(trained, tmp_path, suffix):
    header, rows = flowers(n=6)
    new = write_csv(tmp_path / "n.csv", header, [[*r[:3], "5.1", r[4]] for r in rows])
    if suffix == "parquet":
        frame, new = pd.read_csv(new), tmp_path / "n.parquet"
        frame.to_parquet(new)
    sentence = refused("predict", trained / "out" / "model.skops", new, "--out", tmp_path / "p.csv")
    assert "'colour' held names such as 'blue' in training and now holds numbers" in sentence
    assert not (tmp_path / "p.csv").exists()


def test_names_that_look_like_numbers_are_matched_as_written():
    about = {"target": "y", "kind": "vectors"}
    levels = {"00501": 1, "1234567": 3, "x": 2}
    about["features"] = [{"name": "zip", "type": "name", "levels": levels}]
    frame = pd.DataFrame({"zip": ["00501", "1234567"]})
    assert match_columns(frame, about)[1] == []
    X, notes = match_columns(pd.DataFrame({"zip": [1234567.0, 501.0, 0.5]}), about)
    assert X["zip"].tolist() == ["1234567", "501", "0.5"]
    assert notes == ["Column 'zip' has names that were not in training: 0.5, 501."]
    X, notes = match_columns(pd.DataFrame({"zip": ["X", "y"]}), about)
    assert X["zip"].tolist() == ["x", "y"]
    assert "Categories of 'zip' were matched ignoring case and blanks: 'X' for 'x'." in notes
    about["features"][0]["levels"] = ["X", "x"]  # case tells them apart
    X, notes = match_columns(pd.DataFrame({"zip": ["X "]}), about)
    assert X["zip"].tolist() == ["X "] and "not in training: X " in notes[0]
    about["features"] = [{"name": "zip", "type": "number"}]
    X, notes = match_columns(pd.DataFrame({"zip": ["007", None, "010"]}), about)
    assert X["zip"].fillna(0).tolist() == [7, 0, 10]
    assert "1 cell is missing, by column 'zip' (1)" in notes[0]


def test_predict_says_what_stands_in_for_missing_cells(trained, tmp_path):
    header, rows = flowers(n=6)
    rows[2][1] = rows[4][1] = rows[3][3] = ""
    new = write_csv(tmp_path / "n.csv", header, rows)
    model = trained / "out" / "model.skops"
    said = " ".join(works("predict", model, new, "--out", tmp_path / "p.csv").output.split())
    assert "3 cells are missing, by column 'height' (2), 'colour' (1): a missing number" in said


def test_predict_knows_the_column_that_names_the_rows(trained, tmp_path):
    header, rows = flowers(n=3)  # three classes: the target has another text in each row too
    new = write_csv(tmp_path / "n.csv", header[::-1], [r[::-1] for r in rows])
    done = works("predict", trained / "out" / "model.skops", new, "--out", tmp_path / "p.csv")
    assert "ignored" not in done.output
    assert [row["object"] for row in rows_of(tmp_path / "p.csv")] == ["plant0", "plant1", "plant2"]


def test_nothing_is_overwritten_without_force(trained):
    before = {p: p.read_bytes() for p in (trained / "out").iterdir()}
    arguments = [
        "compare",
        trained / "flowers.csv",
        "--target",
        "species",
        "--out",
        trained / "out",
    ]
    assert "--force" in refused(*arguments, *FAST)
    assert {p: p.read_bytes() for p in (trained / "out").iterdir()} == before
    model = trained / "out" / "model.skops"
    other = trained / "out" / "results.csv"
    assert "--force" in refused("predict", model, trained / "flowers.csv", "--out", other)
    assert "--force" in refused(
        "train", trained / "flowers.csv", "--target", "species", "--out", model
    )


def test_train_and_inspect_a_model(trained, tmp_path):
    out = tmp_path / "m.skops"
    done = works(
        "train", trained / "flowers.csv", "--target", "species", "--method", "gaussian",
        "--jobs", 1, "--out", out,
    )  # fmt: skip
    assert "cross-validated error" in done.output
    said = " ".join(works("inspect", out).output.split())
    assert "Gaussian" in said and "height, width, colour" in said and NASTY in said


def test_inspect_a_model_of_the_library(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = GaussianClassifier().fit(X, np.array(["x", "y", "z"])[y])
    save_model(model, tmp_path / "m.skops")
    said = " ".join(works("inspect", tmp_path / "m.skops").output.split())
    assert "estimator GaussianClassifier" in said and "classes x, y, z" in said
    assert "columns sepal length (cm)," in said and "None" not in said
    save_model(GaussianClassifier().fit(X.to_numpy(), y), tmp_path / "n.skops")
    said = " ".join(works("inspect", tmp_path / "n.skops").output.split())
    assert "classes 0, 1, 2" in said and "columns 4, without names" in said


def test_a_matrix_with_names_and_labels_in_another_order(tmp_path, rng):
    names, D, y = distances()
    write_matrix(tmp_path / "d.csv", D, names)
    order = rng.permutation(len(y))
    (tmp_path / "l.csv").write_text("".join(f"{names[i]},{y[i]}\n" for i in order))
    options = ["--proximity", tmp_path / "d.csv", "--labels", tmp_path / "l.csv"]
    out = tmp_path / "out"
    works("compare", *options, "--methods", "kqd,knn", "--jobs", 1, "--repeats", 1, "--out", out)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Spectrum of the kernel" in page
    # The training objects again, columns in another order: names decide.
    shuffled = rng.permutation(len(y))
    lines = ["," + ",".join(names[j] for j in shuffled)]
    lines += [f"{names[i]}," + ",".join(f"{D[i, j]:.6f}" for j in shuffled) for i in range(len(y))]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    works("predict", out / "model.skops", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    predicted = [row["prediction"] for row in rows_of(tmp_path / "p.csv")]
    assert np.mean(np.array(predicted) == y) > 0.8
    write_matrix(tmp_path / "few.csv", D[:, :10])
    sentence = refused(
        "predict", out / "model.skops", tmp_path / "few.csv", "--out", tmp_path / "q"
    )
    assert "10 columns" in sentence and "30 objects" in sentence
    assert "signature" in works("inspect", *options, "--verbose").output
    said = " ".join(works("inspect", *options).output.split())
    assert "The distances are Euclidean (no negative eigenvalue): all methods apply" in said


def test_inspect_looks_at_a_matrix_as_it_is(tmp_path):
    names, D, y = distances(12)
    D[0, 1] += 1
    matrix = write_matrix(tmp_path / "d.csv", D, names)
    said = " ".join(works("inspect", "--proximity", matrix, "--verbose").output.split())
    assert "Classes were not given" in said and "1-NN" not in said
    assert "asymmetry" in said and "The matrix is not symmetric" in said
    (tmp_path / "l.txt").write_text("\n".join(y))
    options = ["--proximity", matrix, "--labels", tmp_path / "l.txt"]
    said = " ".join(works("inspect", *options).output.split())
    assert "Classes were" not in said and "1-NN" in said and "is not symmetric" in said
    assert "compare refuses the matrix as it is. --symmetrize mean" in said
    said = " ".join(works("inspect", *options, "--symmetrize", "mean").output.split())
    assert "the mean of both directions is used" in said and "compare refuses" not in said
    assert "not symmetric" in refused("compare", *options)


def test_similarities_whose_diagonal_varies(tmp_path, rng):
    y = np.array(["a", "b"])[np.arange(30) % 2]
    X = rng.normal(size=(30, 3)) + 2 * (y == "a")[:, None]
    write_matrix(tmp_path / "s.csv", X @ X.T)
    (tmp_path / "l.txt").write_text("\n".join(y))
    works(
        "compare", "--proximity", tmp_path / "s.csv", "--labels", tmp_path / "l.txt", "--methods",
        "kqd,svm,kfd", "--jobs", 1, "--repeats", 1, "--out", tmp_path / "o",
    )  # fmt: skip
    works(
        "predict", tmp_path / "o" / "model.skops", tmp_path / "s.csv", "--out", tmp_path / "p.csv"
    )
    predicted = np.array([row["prediction"] for row in rows_of(tmp_path / "p.csv")])
    assert (predicted == y).mean() > 0.8


@pytest.mark.parametrize("measure", ["edit", "compression"])
def test_objects_by_a_measure(tmp_path, rng, measure):
    words = ["".join(rng.choice(list("aab" if i % 2 else "bcd"), 40)) for i in range(26)]
    lines = [f"{'xy'[i % 2]}\t{word}" for i, word in enumerate(words[:24])]
    (tmp_path / "w.txt").write_text("\n".join(lines))
    out = tmp_path / "out"
    works(
        "compare", "--objects", tmp_path / "w.txt", "--measure", measure, "--methods",
        "kqd,svm", "--jobs", 1, "--repeats", 1, "--out", out,
    )  # fmt: skip
    (tmp_path / "new.txt").write_text("\n".join(words[24:]))
    works("predict", out / "model.skops", tmp_path / "new.txt", "--out", tmp_path / "p.csv")
    assert [row["prediction"] for row in rows_of(tmp_path / "p.csv")] == ["x", "y"]


def ts_file(path, X, y):
    """Series in the .ts format."""
    rows = [f"{','.join(f'{v:.4f}' for v in x)}:{label}" for x, label in zip(X, y)]
    head = "@problemName toy\n@timestamps false\n@classLabel true early late\n@data\n"
    path.write_text(head + "\n".join(rows))
    return path


def bumps(rng, y):
    """Series with a bump that is early or late."""
    t = np.linspace(0, 1, 24)
    place = np.where(y == "early", 0.3, 0.7)[:, None] + rng.normal(0, 0.05, (len(y), 1))
    return np.exp(-(((t - place) / 0.1) ** 2)) + rng.normal(0, 0.1, (len(y), 24))


def test_series_need_nothing_but_their_file(tmp_path, rng):
    y = np.array(["early", "late"] * 14)
    series = bumps(rng, y)
    path, new = (ts_file(tmp_path / f"{i}.ts", series[s], y[s]) for i, s in enumerate(PARTS))
    out = tmp_path / "out"
    options = ["--methods", "ridge,lda", "--jobs", 1, "--folds", 3, "--repeats", 1]
    said = " ".join(works("compare", "--objects", path, *options, "--out", out).output.split())
    assert "compared by the measure elastic. --measure names another" in said
    assert "from euclidean, dtw 5 %, dtw 10 %, dtw, msm" in said
    works("predict", out / "model.skops", new, "--out", tmp_path / "p.csv")
    assert [row["prediction"] for row in rows_of(tmp_path / "p.csv")] == y[24:].tolist()
    said = works("inspect", "--objects", path).output
    assert all(name in said for name in ("negative part", "dtw 10 %", "msm", "1-NN error"))
    works("inspect", out / "model.skops")
    options = ["--measure", "dtw", "--window", "0.1", "--normalize", "--method", "ridge"]
    works("train", "--objects", path, *options, "--out", tmp_path / "m.skops", "--jobs", 1)
    assert "Elastic(normalize=True, window=0.1)" in works("inspect", tmp_path / "m.skops").output
    works("predict", tmp_path / "m.skops", new, "--out", tmp_path / "q.csv")
    assert [row["prediction"] for row in rows_of(tmp_path / "q.csv")] == y[24:].tolist()


PARTS = (slice(0, 24), slice(24, None))


def test_the_measure_of_a_fold_is_chosen_on_its_training_part(rng):
    # The first measure knows the classes of the first half, the second those of the other half.
    y = np.array(["a", "b"] * 20)
    same = np.equal.outer(y, y)
    D = rng.uniform(1, 2, (40, 40, 2))
    D = (D + D.transpose(1, 0, 2)) / 2
    for m, half in enumerate((slice(0, 20), slice(20, 40))):
        D[half, half, m] -= same[half, half] * 0.9
    D[np.arange(40), np.arange(40)] = 0
    problem = Problem(
        "objects",
        list(range(40)),
        y,
        "toy",
        measure="two",
        distances=D,
        proximity="dissimilarity",
        alternatives={"one": 1, "two": 2},
    )
    for name in ("ridge", "lda"):
        for m, half in enumerate((np.arange(20), np.arange(20, 40))):
            setting = crossval.setting_for(problem, Plan(folds=3))
            cell = crossval.run_cell(problem, setting, name, 0, (half[:16], half[16:]))
            assert cell.params["measure"] == ("one", "two")[m]


def test_gower_for_mixed_columns(trained, tmp_path):
    options = ["--target", "species", "--mixed", "gower", "--methods", "kqd", "--jobs", 1]
    out = tmp_path / "out"
    done = works("compare", trained / "flowers.csv", *options, "--repeats", 1, "--out", out)
    assert "Gower" in done.output
    works("predict", out / "model.skops", trained / "flowers.csv", "--out", tmp_path / "p.csv")
    assert len(rows_of(tmp_path / "p.csv")) == 45


def test_awkward_tables_work(tmp_path, rng):
    header, rows = flowers(n=60, seed=3)
    for row in rows:
        for i in (1, 2, 3):
            if rng.random() < 0.1:
                row[i] = ""
    rows = [[*r[:4], "7", r[1], r[4]] for r in rows]  # a constant column, and one twice
    path = write_csv(
        tmp_path / "t.csv", [*header[:4], "same", "twin größe", header[4]], rows, ";", ","
    )
    done = works("compare", path, "--target", "species", "--out", tmp_path / "out", *FAST)
    said = " ".join(done.output.split())
    for words in ("decimal points", "missing: the median", "Constant columns", "count twice"):
        assert words in said, words


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("a,b,c\n1,2,x\n3,4,y\n", ["--target", "price"], "no column 'price'"),
        ("a,b,c\n1,2,x\n3,4,x\n5,6,x\n", ["--target", "c"], "one class"),
        ("a,b,c\n1,2,x\n3,4,y\n5,6,x\n", ["--target", "c"], "fewer than 3 objects"),
        ("a,c\n" + "1,x\n1,y\n" * 9, ["--target", "c"], "constant"),
        ("a,c\n" + "1,x\n2,y\n" * 9, ["--target", "c", "--methods", "magic"], "no method 'magic'"),
        ("a,c\n" + "1,x\n2,y\n" * 9, ["--target", "c", "--by", "luck"], "--by must be"),
        ("", [], "is empty"),
    ],
)
def test_bad_tables_are_refused_in_a_sentence(tmp_path, text, arguments, words):
    (tmp_path / "t.csv").write_text(text)
    sentence = refused(
        "compare", tmp_path / "t.csv", *arguments, "--jobs", 1, "--out", tmp_path / "o"
    )
    assert words in sentence
    assert sentence.count("Error:") == 1 and not (tmp_path / "o").exists()


def test_bad_calls_are_refused_in_a_sentence(tmp_path):
    assert "no data set of that name" in refused("compare", "vine")
    assert "There is no file" in refused("compare", tmp_path / "absent.csv")
    assert "Give one of DATA" in refused("compare")
    names, D, y = distances(8)
    D[0, 1] += 1
    matrix = write_matrix(tmp_path / "d.csv", D, names)
    (tmp_path / "l.txt").write_text("\n".join(y))
    options = ["compare", "--proximity", matrix, "--labels", tmp_path / "l.txt"]
    assert "--symmetrize mean" in refused(*options)
    assert "--labels" in refused("compare", "--proximity", matrix)
    (tmp_path / "m.skops").write_text("no model")
    assert "not a model file" in refused("predict", tmp_path / "m.skops", matrix)
    assert "not a model file" in refused("inspect", tmp_path / "m.skops")


def test_others_as_far_by_hand():
    own = [3.0, 1.0, 2.0, 2.0, 9.0]
    d2 = np.array([[v, 0.0] for v in own] + [[0.0, 5.0], [0.0, -1.0], [0.0, 4.0]])
    shares = others_as_far(d2, np.repeat([0, 1], [5, 3]))
    np.testing.assert_allclose(shares, [1 / 4, 1.0, 3 / 4, 3 / 4, 0.0, 0.0, 1.0, 1 / 2])
    assert others_as_far(d2[:1], np.array([0])).tolist() == [1.0]


def test_the_page_marks_the_farthest_of_a_small_class(trained):
    """Fifteen objects a class: the farthest is farther than all the others."""
    found = json.loads((trained / "out" / "comparison.json").read_text(encoding="utf-8"))
    row = {
        "name": "plant7", "class": "rose", "taken_for": "tulip", "wrong": 1, "times": 1,
        "own_probability": 0.2, "others_as_far": 1 / 14, "text": None, "reasons": [],
    }  # fmt: skip
    found["hardest"] = {"rows": [row, row | {"others_as_far": 0.0}], "wrong_objects": 2}
    found["importance"] = None
    section = next(s for s in document(found)["sections"] if s["id"] == "hardest")
    board, words = section["blocks"][:2]
    assert "other objects of the same class that are at least as far" in words["text"]
    cells = [line["cells"][-1] for line in board["rows"]]
    assert [(cell["text"], cell["state"]) for cell in cells] == [
        ("7 %", ""),
        ("0 %", "differ"),
    ]


@pytest.mark.parametrize(
    ("variant", "reg", "reg_on", "counts", "folds"),
    [
        ("RC+", 1.0, "kernel", (20, 20), 3),
        ("RC+", 1.0, "kernel", (60, 90), 2),
        ("RC-", 0.1, "kernel", (30, 90), 2),
        ("FK+", 10.0, "kernel", (30, 90), 2),
        ("FK-", 0.1, "kernel", (30, 90), 2),
        ("IC+", 0.5, "kernel", (90, 90), 3),
        ("IC-", 0.1, "kernel", (90, 90), 2),
        ("RC+", 0.01, "relative", (30, 90), 2),
    ],
)
def test_regular_objects_are_as_typical_as_they_should_be(variant, reg, reg_on, counts, folds):
    """Of new objects at most a tenth has a typicality of at most 0.1, whatever the folds' sizes."""
    rng, draws = np.random.default_rng(0), 20
    shares = [unusual_shares(variant, reg, reg_on, counts, folds, rng) for _ in range(draws)]
    nominal = [np.floor(0.1 * (n + 1)) / (n + 1) for n in counts]
    # A class's share varies by about √(p(1 − p)/(n + 2)). Ranks in several models, of which none is
    # the others', make it smaller rather than larger.
    error = np.sqrt(np.mean([0.09 / (n + 2) for n in counts]) / np.size(shares))
    assert -0.06 - 3 * error < np.mean(shares) - np.mean(nominal) < 3 * error


def test_datasets_lists_names():
    done = works("datasets")
    assert "wine" in done.output and "cat-cortex" in done.output


def test_results_do_not_depend_on_the_number_of_processes():
    problem = builtin_problem("iris")
    methods, _ = select_methods(["gaussian", "forest"], "vectors", None, len(problem))
    plan = fit_plan(problem, Plan(folds=3, repeats=1))
    one, two = (cross_validate(problem, methods, plan, jobs=jobs) for jobs in (1, 2))
    for key, cell in one.cells.items():
        assert (cell.predicted == two.cells[key].predicted).all()
    assert [r["name"] for r in leaderboard(one)] == [r["name"] for r in leaderboard(two)]


def test_a_method_that_breaks_is_left_out(monkeypatch):
    problem = builtin_problem("iris")
    methods, _ = select_methods(["lda", "svm"], "vectors", None, len(problem))
    plan = fit_plan(problem, Plan(folds=2, repeats=1))
    run_cell, failure = crossval.run_cell, TypeError("unforeseen")

    def broken(data, setting, name, *where):
        if name == "svm":
            raise failure
        return run_cell(data, setting, name, *where)

    monkeypatch.setattr(crossval, "run_cell", broken)
    outcome = cross_validate(problem, methods, plan, jobs=1)
    assert [m.name for m in outcome.methods] == ["lda"]
    assert outcome.failed == {"svm": "TypeError: unforeseen"}
    assert "failed and was left out: TypeError: unforeseen." in " ".join(outcome.notes)
    # The same in a process of its own.
    worker = {"problem": None, "setting": None, "splits": [None], "plan": None}
    monkeypatch.setattr(crossval, "_WORKER", worker)
    assert crossval._work("svm", 0) == ("svm", 0, "TypeError: unforeseen")


def test_no_method_sees_labels_of_the_test_part():
    problem = builtin_problem("iris")
    problem.X, problem.y = problem.X.iloc[::3].reset_index(drop=True), problem.y[::3].copy()
    methods, _ = select_methods(["kqd", "svm"], "vectors", None, len(problem))
    plan = fit_plan(problem, Plan(folds=3, repeats=1))
    honest = cross_validate(problem, methods, plan)
    test = honest.splits[0][1]
    train_y = problem.y.copy()
    problem.y[test] = np.roll(problem.y[test], 1)  # the classes' counts stay
    from mahalearn.app.comparing.cells import run_cell
    from mahalearn.app.comparing.plan import setting_for

    setting = setting_for(problem, plan)
    for name in ("kqd", "svm"):
        cell = run_cell(problem, setting, name, 0, honest.splits[0])
        assert (cell.predicted == honest.cells[name, 0].predicted).all()
    assert (train_y != problem.y).any()


def test_corrected_interval_by_hand():
    values = np.array([0.1, 0.3, 0.2, 0.4, 0.0])
    mean, low, high = corrected_interval(values, 0.25)
    s2 = sum((v - 0.2) ** 2 for v in values) / 4
    half = 2.7764451051977987 * (s2 * (1 / 5 + 0.25)) ** 0.5  # t quantile 0.975, 4 degrees
    assert (mean, low, high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    assert corrected_interval([0.3], 0.25) == (0.3, 0.3, 0.3)


def test_equal_error_rates_of_a_few_folds_are_not_certain():
    """Three folds of 50 objects with two errors each: known to a step of 1/50, not better."""
    assert corrected_interval([0.04] * 3, 0.5)[1:] == (0.04, 0.04)
    mean, low, high = corrected_interval([0.04] * 3, 0.5, resolution=1 / 50)
    half = 4.302653 / 50 / np.sqrt(12) * np.sqrt(1 / 3 + 1 / 2)
    assert_allclose([mean, low, high], [0.04, 0.04 - half, 0.04 + half], rtol=1e-6)
    spread = corrected_interval([0.0, 0.1, 0.2], 0.5)
    assert spread == corrected_interval([0.0, 0.1, 0.2], 0.5, resolution=1 / 50)


def test_every_method_runs_on_what_it_says(tmp_path):
    problem = builtin_problem("iris")
    problem.X, problem.y = problem.X.iloc[::4].reset_index(drop=True), problem.y[::4]
    names = [n for n, m in METHODS.items() if n not in ("chooser", "gp") and "vectors" in m.kinds]
    methods, _ = select_methods(names, "vectors", None, len(problem))
    plan = fit_plan(problem, Plan(folds=2, repeats=1))
    setting = crossval.setting_for(problem, plan)
    split = crossval.outer_splits(problem, plan)[0]
    for method in methods:
        assert crossval.run_cell(problem, setting, method.name, 0, split, plan).error < 0.5


def test_predictions_of_sequences_have_their_names(tmp_path):
    kinds = ["ab", "cd"] * 9
    text = "".join(f">s{i} {kind}\n{kind * (4 + i // 5)}\n" for i, kind in enumerate(kinds))
    (tmp_path / "t.fasta").write_text(text)
    (tmp_path / "new.fasta").write_text(">first\nababab\n>second\ncdcdcd\n")
    arguments = ["--method", "kfd", "--measure", "edit", "--jobs", 1, "--out", tmp_path / "m.skops"]
    works("train", "--objects", tmp_path / "t.fasta", *arguments)
    works("predict", tmp_path / "m.skops", tmp_path / "new.fasta", "--out", tmp_path / "p.csv")
    rows = rows_of(tmp_path / "p.csv")
    assert [row["object"] for row in rows] == ["first", "second"]
    assert [row["prediction"] for row in rows] == ["ab", "cd"]


def test_a_class_written_in_two_ways_is_named_in_the_refusal(tmp_path):
    header, rows = flowers()
    rows[0][4] = "Rose"
    table = write_csv(tmp_path / "t.csv", header, rows)
    sentence = refused("compare", table, "--target", "species", "--out", tmp_path / "o")
    assert "'rose', 'Rose' differ in case, blanks or invisible characters only" in sentence


def test_predict_reads_long_tables_as_train_did(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["device,t,v,note,state"]
    for i in range(16):
        values = np.sin(np.arange(12) / 2) * (1 + i % 2) + 0.1 * rng.normal(size=12)
        lines += [f"d{i},{t},{v:.4f},x,{'ok' if i % 2 else 'bad'}" for t, v in enumerate(values)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    works(
        "train", tmp_path / "log.csv", "--id", "device", "--time", 2, "--value", "v", "--target",
        "state", "--method", "kqd", "--measure", "euclidean", "--jobs", 1,
        "--out", tmp_path / "m.skops",
    )  # fmt: skip
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["Device,t,V,note,STATE", *lines[1:49]]))
    done = works("predict", tmp_path / "m.skops", new, "--out", tmp_path / "p.csv")
    assert "48 rows became 4 series" in done.output and "Scored on 4 objects" in done.output
    said = " ".join(done.output.split())
    assert "matched ignoring case and blanks: 'Device' for 'device', 'V' for 'v'." in said
    assert "Column 'STATE' was taken for the classes 'state'." in said
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert [row["object"] for row in rows] == ["d0", "d1", "d2", "d3"]
    assert [row["prediction"] for row in rows] == ["bad", "ok"] * 2
    new.write_text("\n".join(",".join(line.split(",")[:3]) for line in lines[:13]))
    works("predict", tmp_path / "m.skops", new, "--out", tmp_path / "one.csv")
    new.write_text("a,b\n1,2\n")
    sentence = refused("predict", tmp_path / "m.skops", new, "--out", tmp_path / "q.csv")
    assert "There is no column 'device'" in sentence and "no column 'v'" in sentence
