"""The page of a comparison: what it says of data, winner and distances, and how it draws them."""

import copy
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from own_data import distances, flowers, works, write_csv, write_matrix

from mahalearn.app.comparing.crossval import chosen_params
from mahalearn.app.comparing.findings import NARROWEST, _calibration
from mahalearn.app.report import html, plots
from mahalearn.app.report.comparison import document
from mahalearn.app.words import counted

FAST = ("--methods", "lda,knn", "--jobs", 1, "--folds", 3, "--repeats", 1)


def values_of(folder):
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder of results of a table whose classes LDA and nearest neighbours tell."""
    folder = tmp_path_factory.mktemp("page")
    write_csv(folder / "t.csv", *flowers())
    works("compare", folder / "t.csv", "--out", folder / "out", *FAST)
    return folder / "out"


@pytest.fixture
def found(results):
    return copy.deepcopy(values_of(results))


def lead(found):
    return " ".join(document(found)["lead"])


def texts(found, name):
    """The text of a section, tags left out."""
    section = next(s for s in document(found)["sections"] if s["id"] == name)
    page = html.render({"title": "", "sections": [section]})
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL).split())


def test_the_page_names_target_and_features(found):
    said = lead(found)
    assert "45 rows with 3 features (height, width, colour) of 3 classes (column “species”)" in said
    assert "Column 'species' was taken for the classes" in said
    found["about"]["features"] = [{"name": f"x{i}"} for i in range(13)]
    found["problem"]["d"] = 13
    assert "with 13 features of 3" in lead(found)


def test_a_set_by_name_and_a_matrix_have_no_column_of_classes(tmp_path):
    works("compare", "iris", *FAST, "--out", tmp_path / "iris")
    assert "of 3 classes, each tuned" in lead(values_of(tmp_path / "iris"))
    names, D, y = distances()
    (tmp_path / "l.txt").write_text("\n".join(y))
    write_matrix(tmp_path / "d.csv", D, names)
    source = ["--proximity", tmp_path / "d.csv", "--labels", tmp_path / "l.txt"]
    works("compare", *source, *FAST, "--out", tmp_path / "d")
    assert "dissimilarities of 2 classes, each tuned" in lead(values_of(tmp_path / "d"))


def test_one_of_a_thing_is_singular(found):
    assert [counted(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]
    found["leaderboard"] = found["leaderboard"][:1]
    found["space"]["left_out"] = 1
    assert lead(found).startswith("1 classifier was tried on")
    assert "1 far point is outside." in texts(found, "distances")


def test_the_lead_names_the_choice_and_a_faster_equal(found):
    first, second = found["leaderboard"]
    first |= {"title": "Slow", "fit_seconds": 3.0}
    second |= {"title": "Fast", "error": first["error"], "fit_seconds": 0.5}
    found |= {"winner": first, "chosen": {"family": "kernel fisher"}}
    said = lead(found)
    assert "Slow (its choice: kernel fisher) has the smallest error of" in said
    assert "Fast has the same error and is fitted 6 times as fast." in said
    assert "family = kernel fisher" in texts(found, "how")
    second["fit_seconds"] = 2.0
    assert "as fast" not in lead(found)


def test_what_the_chooser_chose_starts_with_the_family():
    search = SimpleNamespace(best_family_="kernel_fisher", best_params_={"reg": 0.1, "f": len})
    assert chosen_params(search) == {"family": "kernel fisher", "reg": 0.1}
    assert next(iter(chosen_params(search))) == "family"
    assert chosen_params(SimpleNamespace()) == {}


def test_distances_that_are_not_the_winners_are_said_to_be_so(found):
    assert found["winner"]["name"] in ("lda", "knn")  # neither has distances
    said = texts(found, "distances")
    assert f"{found['winner']['title']} has no distances to the classes" in said
    assert "“Kernel quadratic discriminant”, not by the winner" in said
    found["about"]["distances"] = found["winner"]["name"]
    assert "winner" not in texts(found, "distances")


def test_bounds_of_errors_are_the_same_everywhere(results, found):
    rows = (results / "results.csv").read_text(encoding="utf-8").splitlines()
    header = rows[0].split(",")
    for line, row in zip(rows[1:], found["leaderboard"]):
        cells = dict(zip(header, line.split(",")))
        for name, key in (("error", "error"), ("balanced_error", "balanced")):
            bounds = [float(cells[f"{name}_{end}"]) for end in ("low", "high")]
            assert bounds == pytest.approx(row[key][1:], abs=1e-6)
            assert 0 <= bounds[0] <= row[key][0] <= bounds[1] <= 1
        low, high = (f"{100 * v:.1f}" for v in row["error"][1:])
        assert f"{low} to {high}" in texts(found, "leaderboard")


def test_texts_stand_below_heads_of_their_alignment(found):
    page = html.render(document(found))
    assert '<th scope="col" class="words">usual choice</th>' in page
    assert "third column" not in page


def test_bins_of_one_place_are_one_bin():
    rng = np.random.default_rng(0)
    sure = np.r_[np.full(60, 0.9999), np.full(20, 0.6)]
    proba = np.column_stack([sure, 1 - sure])
    bins = _calibration(rng.integers(0, 2, 80), proba)["bins"]
    assert [b["count"] for b in bins] == [20, 60]
    proba[:, 0] = np.linspace(0.5, 1, 80)
    bins = _calibration(np.zeros(80, dtype=int), np.column_stack([proba[:, 0], 1 - proba[:, 0]]))
    places = [b["predicted"] for b in bins["bins"]]
    assert len(places) == 8 and np.diff(places).min() >= NARROWEST


def test_no_mark_lies_over_the_edge_or_below_the_legend(found):
    space = found["space"]
    svg = plots.space({"title": "t", **space})
    marks = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3"', svg)
    assert len(marks) == sum(not second for *_, second in space["points"])
    left, right, top, bottom = 56, 460 - 14, 30 + 18, 400 - 46
    for x, y in marks:
        assert left + 3 <= float(x) <= right - 3 and top + 3 <= float(y) <= bottom - 3
    legend = re.findall(r'cy="([\d.]+)" r="4"', svg)
    assert legend and all(float(y) + 4 < top for y in legend)


def test_distances_start_at_nought_and_long_names_are_whole(found):
    rows = [{"name": "a", "own": [2.0, 3.0], "other": [5.0, 9.0]}]
    assert ">0</text>" in plots.histograms({"title": "t", "xlabel": "d", "rows": rows})
    name = "Quadratic in dissimilarity space"
    bar = {"name": name, "value": 1.0, "text": "1"}
    assert name in plots.bars({"title": "t", "rows": [bar]})
