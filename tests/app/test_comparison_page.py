"""The page of a comparison: what it says of data, winner and distances, and how it draws them."""

import base64
import copy
import hashlib
import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from own_data import NASTY, distances, flowers, refused, works, write_csv, write_matrix
from sklearn.metrics import confusion_matrix

from mahalearn.app.comparing.findings import _pair, _roots, is_wide
from mahalearn.app.comparing.methods import chosen_params
from mahalearn.app.comparing.predictions import (
    NARROWEST,
    calibration,
    per_class,
    reliability,
    roc_curves,
)
from mahalearn.app.reading.problem import Problem
from mahalearn.app.report import html, prediction
from mahalearn.app.report.comparison import document
from mahalearn.app.report.drawing import PAPER, SERIES, boxes, clean
from mahalearn.app.report.figures import FIGURES, drawn
from mahalearn.app.report.notebook import Report, compare
from mahalearn.app.words import counted

FAST = ("--methods", "lda,knn", "--jobs", 1, "--folds", 3, "--repeats", 1)
# Names that try to be markup, mathematics, hidden labels, formulas or to break out of a file.
EVIL = [
    NASTY,
    '"><img src=x onerror=alert(2)>',
    "$\\frac{1}{0}$",
    "_hidden",
    "</script><script>alert(3)</script>",
    "line\nbreak\x00\x07\u202e",
    "=1+1",
    "中文",
]


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


@pytest.fixture(scope="module")
def page(results):
    return (results / "report.html").read_text(encoding="utf-8")


def card(found, question):
    """The answer and the sentence of a question on the first screen."""
    one = next(c for c in document(found)["answers"] if question in c["question"])
    return one["answer"], one["detail"]


def section_of(found, name):
    return next((s for s in document(found)["sections"] if s["id"] == name), None)


def texts(found, name):
    """The text of a section, tags left out."""
    page = html.render({"title": "", "sections": [section_of(found, name)]})
    page = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(page).split())


# What it says


def test_the_best_classifier_and_its_rivals(found):
    first, second = found["leaderboard"]
    first |= {"title": "Slow", "fit_seconds": 3.0, "error": [0.02, 0.01, 0.03]}
    second |= {"title": "Fast", "error": [0.02, 0.01, 0.03], "fit_seconds": 0.5, "tied": True}
    found |= {"winner": first, "chosen": {"family": "kernel fisher"}}
    assert card(found, "classifier") == (
        "Slow (kernel fisher)",
        "The other method is statistically tied with it. Fast has the same error and is fitted 6 "
        "times as fast.",
    )
    assert "family = kernel fisher" in texts(found, "repeat")
    second |= {"fit_seconds": 2.0, "tied": False, "error": [0.2, 0.1, 0.3]}
    assert card(found, "classifier")[1] == "The other method is significantly worse."
    found["leaderboard"] = [first]
    assert card(found, "classifier")[1] == "It was the only method."


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        ([0.01, 0.0, 0.02], "Yes, almost always"),
        ([0.1, 0.05, 0.15], "Yes, mostly"),
        ([0.3, 0.2, 0.4], "Partly"),
        ([0.5, 0.4, 0.6], "Hardly"),
        ([0.6, 0.5, 0.7], "No better than guessing"),
    ],
)
def test_the_error_is_put_into_words_against_guessing(found, error, answer):
    found["winner"]["error"] = error
    said, detail = card(found, "distinguished")
    assert said == answer
    assert "most frequent class: 66.7 %." in detail  # three classes of 15
    found["plan"]["by"], found["winner"]["balanced"] = "balanced", error
    assert card(found, "distinguished")[0] == answer


def test_the_first_screen_names_classes_columns_and_suspects(found):
    found["confusion"] = [[15, 0, 0], [0, 15, 0], [0, 9, 6]]
    for row, right in zip(found["per_class"], (15, 15, 6)):
        row |= {"tested": 15, "right": right, "recall": right / 15}
    _, second, third = found["classes"]
    assert card(found, "Which classes fail") == (
        third,
        f"Recognised: {third} 40 %. Most often {third} is predicted as {second} (9 of 15 "
        "predictions).",
    )
    found["confusion"] = [[15, 0, 0], [0, 15, 0], [0, 0, 15]]
    assert card(found, "Which classes fail")[0] == "None"
    found["importance"]["rows"] = [
        {"name": "a", "increase": [0.3, 0.1, 0.5]},
        {"name": "b", "increase": [0.2, -0.1, 0.5]},
    ]
    assert card(found, "drives") == (
        "a",
        "Rise of the error in percentage points when the column is shuffled: a +30.0.",
    )
    found["importance"]["rows"].reverse()
    assert card(found, "drives")[1].endswith(
        "a +30.0. Columns whose rise may be chance are left out."
    )
    found["importance"], found["problem"]["kind"] = None, "objects"
    assert card(found, "drives")[0] == "The nearest objects"
    row = {"name": "x", "class": "a", "taken_for": "b", "wrong": 2, "times": 2}
    row |= {"own_probability": 0.01, "others_as_far": 0.5, "text": None, "reasons": []}
    found["hardest"]["rows"], found["notes"] = [row], []
    drifting = {"name": "k", "objects": 9, "medians": [1.0, 2.0], "p_value": 0.001}
    found["drift"] = {"rows": [drifting]}
    answer, detail = card(found, "wrong with the data")
    assert answer == "2 things to check"
    assert "Check the labels of x" in detail and "matters for k" in detail
    found["hardest"]["rows"], found["drift"] = [], None
    assert card(found, "wrong with the data")[0] == "Nothing was found"
    found["notes"] = ["one"]
    last = next(c for c in document(found)["answers"] if "wrong" in c["question"])
    assert (last["answer"], last["link"]) == ("Read the notices", "notices")


def test_the_leaderboard_shows_five_methods_and_all_behind_a_click(found):
    found["leaderboard"] = [copy.deepcopy(found["leaderboard"][0]) for _ in range(7)]
    first, everyone = section_of(found, "leaderboard")["blocks"][:2]
    assert len(first["rows"]) == 5
    assert everyone["kind"] == "details" and everyone["summary"] == "All 7 methods"
    assert len(everyone["items"][0]["rows"]) == 7


@pytest.mark.parametrize("area, names", [(0.999, []), (0.7, ["roc"])])
def test_curves_in_the_corner_are_left_out(found, area, names):
    for curve in found["curves"]:
        curve["area"] = area
    section = section_of(found, "classes")
    assert [block["id"] for block in figures_of({"sections": [section]})] == names


def test_the_facts_name_target_and_columns(found):
    facts = dict(document(found)["facts"])
    assert facts["Data"] == "45 rows with 3 columns (height, width, colour)"
    assert facts["Classes"] == "3 classes (column “species”)"
    found["about"]["features"] = [{"name": f"length {i}"} for i in range(13)]
    found["problem"]["d"] = 13
    assert dict(document(found)["facts"])["Data"] == "45 rows with 13 columns"
    assert any("Column 'species' was taken" in note for note in document(found)["notices"])


def test_a_set_by_name_and_a_matrix_have_no_column_of_classes(tmp_path):
    works("compare", "iris", *FAST, "--out", tmp_path / "iris")
    assert dict(document(values_of(tmp_path / "iris"))["facts"])["Classes"] == "3 classes"
    names, D, y = distances()
    (tmp_path / "l.txt").write_text("\n".join(y))
    write_matrix(tmp_path / "d.csv", D, names)
    source = ["--proximity", tmp_path / "d.csv", "--labels", tmp_path / "l.txt"]
    works("compare", *source, *FAST, "--out", tmp_path / "d")
    found = values_of(tmp_path / "d")
    assert dict(document(found)["facts"])["Data"] == "a matrix of 30 × 30 dissimilarities"
    assert section_of(found, "importance") is None
    assert bool(section_of(found, "hardest")) == bool(found["hardest"]["rows"])
    assert section_of(found, "learning")
    assert section_of(found, "spectrum")


def test_one_of_a_thing_is_singular(found):
    assert [counted(n, "cell") for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]
    found["pairs"][0]["left_out"] = 1
    assert "1 object is too far away to be drawn." in texts(found, "distances")


def test_what_the_chooser_chose_starts_with_the_family():
    search = SimpleNamespace(best_family_="kernel_fisher", best_params_={"reg": 0.1, "f": len})
    assert chosen_params(search) == {"family": "kernel fisher", "reg": 0.1}
    assert next(iter(chosen_params(search))) == "family"
    assert chosen_params(SimpleNamespace()) == {}


def test_distances_that_are_not_the_winners_are_said_to_be_so(found):
    assert found["winner"]["name"] in ("lda", "knn")  # neither has distances
    said = texts(found, "distances")
    assert f"{found['winner']['title']} provides no distances to the classes" in said
    assert "are those of Kernel quadratic discriminant, fitted" in said
    found["about"]["distances"] = found["winner"]["name"]
    assert "provides no distances" not in texts(found, "distances")


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


RIDDLES = (
    "taken for what",
    "told apart",
    "usual choice",
    "points behind",
    "what is taken",
    "machine",
    "slip",
    "said aloud",
)


def test_plain_english(page):
    said = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL).lower()
    for riddle in RIDDLES:
        assert riddle not in said, riddle
    for word in ("confusion matrix", "statistically tied with the best", "precision", "recall"):
        assert word in said


# What is computed for it, before the page


def test_results_by_class_are_their_definitions():
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    proba = rng.dirichlet(np.ones(3), 200)
    rows = per_class(["a", "b", "c"], [1, 2, 3], truth, predicted, proba)
    for j, row in enumerate(rows):
        right = sum(t == j and p == j for t, p in zip(truth, predicted))
        precision, recall = right / sum(predicted == j), right / sum(truth == j)
        assert row["precision"] == pytest.approx(precision)
        assert row["recall"] == pytest.approx(recall)
        assert row["f1"] == pytest.approx(2 * precision * recall / (precision + recall))
        # The area is the chance that an object of the class has the larger probability.
        own, other = proba[truth == j, j], proba[truth != j, j]
        assert row["auc"] == pytest.approx(np.mean(own[:, None] > other[None, :]))
        assert row["objects"] == j + 1
    never = per_class(["a", "b"], [2, 2], np.array([0, 1]), np.array([0, 0]), proba[:2, :2])
    assert never[1]["precision"] is None and never[1]["recall"] == 0 == never[1]["f1"]


def test_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 12, 4000)
    proba = rng.dirichlet(np.ones(12), 4000)
    rows = per_class([f"c{j}" for j in range(12)], [1] * 12, truth, truth, proba)
    found = roc_curves(rows, truth, proba)
    assert len(found) == 8
    worst = sorted(row["auc"] for row in rows)[:8]
    assert sorted(curve["area"] for curve in found) == pytest.approx(worst)
    for curve in found:
        x, y = np.array(curve["x"]), np.array(curve["y"])
        assert len(x) <= 62 and (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
        assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()
        assert np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2) == pytest.approx(curve["area"], abs=0.01)
    two = per_class(["a", "b"], [1, 1], truth % 2, truth % 2, proba[:, :2])
    assert len(roc_curves(two, truth % 2, proba[:, :2])) == 1


def test_calibration_after_uses_the_other_folds():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 600)
    scores = rng.normal(size=(600, 3))
    scores[np.arange(600), truth] += 1.0
    folds = np.arange(600) % 5
    sharp = calibration(truth, 8 * scores, folds, 1.0)
    assert sharp["after"]["log_loss"] < sharp["guess"] < sharp["before"]["log_loss"]
    assert sharp["after"]["ece"] < sharp["before"]["ece"]
    # Temperatures follow the scale of the scores, so that nothing else does.
    plain = calibration(truth, scores, folds, 1.0)
    assert sharp["temperature"] / plain["temperature"] == pytest.approx(8, rel=1e-3)
    assert sharp["after"]["log_loss"] == pytest.approx(plain["after"]["log_loss"], rel=1e-4)


def test_bins_of_one_place_are_one_bin():
    rng = np.random.default_rng(0)
    sure = np.r_[np.full(60, 0.9999), np.full(20, 0.6)]
    proba = np.column_stack([sure, 1 - sure])
    bins = reliability(rng.integers(0, 2, 80), proba)["bins"]
    assert [b["count"] for b in bins] == [20, 60]
    proba[:, 0] = np.linspace(0.5, 1, 80)
    bins = reliability(np.zeros(80, dtype=int), np.column_stack([proba[:, 0], 1 - proba[:, 0]]))
    places = [b["predicted"] for b in bins["bins"]]
    assert len(places) == 8 and np.diff(places).min() >= NARROWEST


@pytest.fixture(scope="module")
def signal():
    """A comparison where one column holds the class, one is noise, and one is categorical."""
    import pandas as pd

    rng = np.random.default_rng(4)
    y = np.repeat(["no", "yes"], 60)
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=120),
            "signal": rng.normal(size=120) + 3.0 * (y == "yes"),
            "colour": rng.choice(["red", "blue"], 120),
        }
    )
    X.loc[3, "signal"], X.loc[5, "colour"] = np.nan, None
    y = y.copy()
    y[100] = "no"  # a wrong label, with the values of the other class
    X.loc[100, "signal"] = 4.0
    return compare(X, y, methods=["lda"], folds=4, repeats=1, name="signal")


def test_importance_finds_the_column_that_matters(signal):
    rows = {row["name"]: row["increase"] for row in signal.values["importance"]["rows"]}
    assert next(iter(rows)) == "signal" and rows["signal"][1] > 0.1
    assert abs(rows["noise"][0]) < 0.05
    assert rows["noise"][1] <= rows["noise"][0] <= rows["noise"][2]


def test_a_wrong_label_is_among_the_hardest_and_explained_by_its_value(signal):
    first = signal.values["hardest"]["rows"][0]
    assert (first["name"], first["class"], first["taken_for"]) == ("row 101", "no", "yes")
    column, value, change = first["reasons"][0]
    assert (column, value) == ("signal", "4") and change > 0
    assert f"signal = 4 (+{change:.2f})" in html.render(signal.document)


def test_the_learning_curve_falls_to_the_error_of_all_objects(signal):
    learning = signal.values["learning"]
    assert learning["sizes"] == sorted(learning["sizes"]) and learning["complete"]
    assert learning["sizes"][-1] == 90  # three of four folds of 120
    for _, low, high in [*learning["errors"], learning["difference"]]:
        assert high > low  # equal errors of a few objects make nothing certain
    assert learning["errors"][0][0] >= learning["errors"][-1][0] - 0.02
    low, mean, high = (learning["difference"][i] for i in (1, 0, 2))
    assert low <= mean <= high


def test_what_takes_too_long_is_left_out_and_said_to_be(monkeypatch):
    from mahalearn.app.comparing import explanations

    clock = iter(range(0, 10**6, 100))  # each look at the clock is 100 seconds later
    slow = SimpleNamespace(monotonic=lambda: float(next(clock)))
    monkeypatch.setattr(explanations, "time", slow)
    X = (np.r_[np.zeros(30), np.ones(30)] + np.arange(60) % 7 / 5)[:, None]
    found = compare(X, np.repeat([0, 1], 30), methods=["lda"], folds=3, repeats=1).values
    assert found["importance"] is None and found["learning"] is None
    said = " ".join(document(found)["notices"])
    assert "importance of the columns was not measured" in said
    assert "There is no learning curve: it would have taken too long." in said


def test_plain_values_survive_json(signal):
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(k, str) and plain(v) for k, v in value.items())
        if isinstance(value, list | tuple):
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(signal.values)
    again = json.loads(json.dumps(signal.values))
    assert html.render(document(again)) == html.render(document(signal.values))


# How it is drawn


def rows_of(text):
    """Rows that the marks of a figure stand for; each group has as many marks as rows."""
    rows = []
    for group in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}g"):
        if "data-rows" in group.attrib:
            uses = list(group.iter("{http://www.w3.org/2000/svg}use"))
            members = group.get("data-rows").split(",")
            assert len(uses) == len(members)
            rows += map(int, members)
    return sorted(rows)


def test_no_mark_lies_over_the_edge(found):
    pair = found["pairs"][0]
    x0, x1, y0, y1 = pair["extent"]
    for x, y, *_ in pair["points"]:
        assert x0 < x < x1 and y0 < y < y1
    block = {"kind": "space", "title": "t", **pair}
    text = drawn(block).picture.svg("space", "t")
    assert rows_of(text) == list(range(len(pair["points"])))


def test_distances_are_roots_and_wide_ones_get_logarithmic_axes():
    codes = np.arange(40) % 2
    d2 = np.full((40, 2), 9.0)
    d2[np.arange(40), codes] = 4.0
    assert set(_roots(d2[codes == 0, 0])) == {2.0} and not is_wide(_roots(d2))
    assert is_wide(_roots(d2 * np.geomspace(1, 1e6, 40)[:, None]))
    d2[0, 0] = -4.0  # in a Kreĭn space
    assert _roots(d2)[0, 0] == -2


def figures_of(made):
    def walk(blocks):
        for block in blocks:
            if block["kind"] in FIGURES:
                yield block
            nested = block["kind"] in ("figures", "group", "details")
            yield from walk(block["items"] if nested else [])

    return [block for section in made["sections"] for block in walk(section["blocks"])]


def test_every_figure_has_its_own_ids_title_and_alternative_text(page):
    parser = Tags()
    parser.feed(page)
    ids = [attrs["id"] for _, attrs in parser.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    figures = [attrs for tag, attrs in parser.seen if tag == "svg"]
    assert len(figures) >= 6
    assert all(len(attrs["aria-label"]) > 10 and attrs["role"] == "img" for attrs in figures)
    referred = re.findall(r'(?:url\(#|href="#)([^)"]+)', page)
    assert set(referred) <= set(ids)


def test_colours_of_figures_follow_the_theme(page):
    style = page[page.index("<style>") : page.index("</style>")]
    for part in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        for colour in re.findall(r"#[0-9a-f]{6}\b", part):
            assert f",{colour})" in part, "a colour without a variable"
        for name in set(re.findall(r"var\(--(\w+),", part)):
            assert style.count(f"--{name}:") >= 2, "light and dark"
    assert "<text" in page and "font-family:" in page


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)))
    return (b + 0.05) / (a + 0.05)


def test_texts_and_lines_have_contrast():
    assert all(contrast(colour, PAPER) >= 4.5 for colour in SERIES)
    style = html.asset("page.css")
    light, dark = (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style[start:end]))
        for start, end in (
            (0, style.index("@media")),
            (style.index("@media"), style.index(".mahalearn, .mahalearn *")),
        )
    )
    assert [light[f"c{i}"] for i in range(8)] == list(SERIES)
    for theme in (light, dark):
        for text in ("ink", "soft", "yes", "no", *(f"c{i}" for i in range(8))):
            assert contrast(theme[text], theme["paper"]) >= 4.5, text
        for ground in ("head", "agree", "differ", "apart"):
            assert contrast(theme["ink"], theme[ground]) >= 4.5, ground


# Nothing of the data becomes markup


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.depth = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "image"):
            self.depth.append(tag)

    def handle_endtag(self, tag):
        if tag != "image":
            assert self.depth.pop() == tag


def replaced(value, names):
    """Texts of the plain values replaced where they are names."""
    if isinstance(value, dict):
        return {k: replaced(v, names) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def evil(results):
    """Plain values whose classes, columns, objects and file are all hostile."""
    found = values_of(results)
    rows = found["hardest"]["rows"]
    names = {name: EVIL[i % 8] + str(i) for i, name in enumerate(["rose", "tulip", NASTY])}
    names |= {"height": EVIL[4], "width": EVIL[2], "colour": EVIL[3], "t": EVIL[1]}
    names |= {row["name"]: EVIL[i % 8] for i, row in enumerate(rows)}
    found = replaced(found, names)
    found["hardest"]["rows"] = [r | {"text": EVIL[i % 8]} for i, r in enumerate(rows * 3)]
    found["notes"] = EVIL
    found["winner"]["title"] = found["leaderboard"][0]["title"] = EVIL[4]
    found["about"]["command"] = found["about"]["config"] = EVIL[4]
    found["novelty"]["rows"] = [
        {"name": EVIL[1], "class": EVIL[0], "nearest": EVIL[4], "p_value": 0.01}
    ]
    return found


def test_hostile_names_stay_text(evil):
    page = html.render(document(evil))
    parser = Tags()
    parser.feed(page)
    assert parser.depth == []
    tags = [tag for tag, _ in parser.seen]
    assert tags.count("script") == 3 and not {"img", "b", "i", "iframe", "link"} & set(tags)
    assert not any(name.startswith("on") for _, attrs in parser.seen for name in attrs)
    for _, attrs in parser.seen:
        for name in ("src", "href"):
            assert attrs.get(name, "#").startswith(("#", "data:image/png"))
    assert NASTY not in page and "&lt;script&gt;alert(1)" in page
    for name in ("figure-data", "object-data"):
        data = page.split(f'id="{name}">')[1].split("</script>")[0]
        assert "<" not in data and json.loads(data)
    for part in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        ElementTree.fromstring(part)  # well-formed, whatever the names are


def test_the_policy_allows_this_script_and_this_style_alone(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    script = page.split("<script>")[1].split("</script>")[0]
    style = page.split("<style>")[1].split("</style>")[0]

    def hash_of(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["script-src"] == hash_of(script)
    assert rules["style-src-elem"] == hash_of(style)
    assert rules["style-src-attr"] == "'unsafe-inline'"
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "url(" not in style and "@import" not in style


@pytest.mark.parametrize("name", EVIL)
def test_names_in_figures_are_whole_and_harmless(name):
    block = {
        "kind": "curves",
        "plain": True,
        "title": name,
        "xlabel": "x",
        "ylabel": "y",
        "area": "area",
    }
    block["series"] = [{"name": name, "x": [0, 1], "y": [0, 1], "text": "0.5"}]
    root = ElementTree.fromstring(drawn(block).picture.svg("roc", name))
    said = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert clean(name, 66) in said
    assert any(text.startswith(clean(name, 17)) for text in said if text.endswith("(0.5)"))


# Sizes, old files, exports, notebooks


def test_fifty_classes_and_five_thousand_objects_stay_below_two_megabytes(found):
    rng = np.random.default_rng(0)
    n, c = 100_000, 50
    names = [f"class number {j:02d}" for j in range(c)]
    codes = rng.integers(0, c, n)
    scores = rng.normal(size=(n, c))
    scores[np.arange(n), codes] += 2.5
    predicted = scores.argmax(axis=1)
    few = slice(0, 5000)  # curves and calibration are thinned whatever their length
    rows = per_class(names, np.bincount(codes), codes[few], predicted[few], scores[few])
    d2 = rng.chisquare(5, size=(n, c)) + 1.0
    labels, problem = np.array(names), Problem("vectors", None, np.array(names)[codes], "many")
    pairs = [_pair(problem, d2, codes, labels, (0, b), 240) for b in range(1, 11)]
    assert all(len(pair["points"]) <= 240 and pair["objects"] > 3000 for pair in pairs)
    found |= {
        "classes": names,
        "per_class": rows,
        "confusion": confusion_matrix(codes, predicted).tolist(),
        "curves": roc_curves(rows, codes[few], scores[few]),
        "calibration": calibration(codes[few], scores[few], np.arange(5000) % 2, 1.0),
        "pairs": pairs,
    }
    found["problem"] |= {"n": n, "counts": [(name, n // c) for name in names]}
    shown = range(5000)
    found["map"] |= {
        "objects": n,
        "names": [f"object number {i}" for i in shown],
        "x": rng.normal(size=5000).round(3).tolist(),
        "y": rng.normal(size=5000).round(3).tolist(),
        "class": codes[few].tolist(),
        "predictions": [[int(p)] * 2 for p in predicted[few]],
        "probabilities": [[[int(p), 51.2], [1, 30.4], [2, 10.1]] for p in predicted[few]],
        "p_none": rng.random(5000).round(4).tolist(),
        "nearest": rng.integers(0, 5000, (5000, 3)).tolist(),
        "gaps": rng.random((5000, 3)).round(3).tolist(),
        "reasons": [[[f"column {k}", "1.234", 0.56] for k in range(3)] for _ in shown],
    }
    page = html.render(document(found))
    assert len(page.encode("utf-8")) < 2_000_000
    assert "A random sample of 5000 of 100000 objects." in page
    assert "Most frequent confusions" in page


def test_rendering_needs_no_model_and_no_data(results):
    code = (
        "import json, sys\n"
        "from mahalearn.app.report import html\n"
        "from mahalearn.app.report.comparison import document\n"
        f"html.render(document(json.load(open({str(results / 'comparison.json')!r}))))\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('sklearn', 'scipy', 'pandas')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_same_values_give_the_same_page(found):
    assert html.render(document(found)) == html.render(document(copy.deepcopy(found)))


def test_every_figure_has_its_numbers(evil):
    figures = figures_of(document(evil))
    assert len(figures) >= 6
    for block in figures:
        drawing = drawn(block)
        assert drawing.rows and {len(row) for row in drawing.rows} == {len(drawing.columns)}
        text = drawing.picture.svg("f", "t", themed=False)
        ElementTree.fromstring(text)
        assert "var(--" not in text and "<script" not in text
    pair = next(block for block in figures if block["id"] == "pair-1")
    assert len(drawn(pair).rows) == len(evil["pairs"][0]["points"])


def test_a_notebook_shows_the_same_pieces(signal, results, tmp_path):
    shown = signal
    shown.save(tmp_path / "r.html")
    saved = unescape((tmp_path / "r.html").read_text(encoding="utf-8"))
    said = saved.replace("\N{NO-BREAK SPACE}", " ")
    for one in shown.document["answers"]:
        assert one["answer"] in said and one["detail"] in said
    whole, board = shown._repr_html_(), shown.section("leaderboard")._repr_html_()
    assert whole.startswith('<div class="mahalearn notebook">') and "<script" not in whole
    assert whole.count("<section") == len(shown.document["sections"])
    assert board.count("<section") == 1 and "Leaderboard" in board
    assert shown.section("map")._repr_html_().count("<svg") == 1
    with pytest.raises(ValueError, match="There is no section 'x'; choose from leaderboard"):
        shown.section("x")
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (whole, board)]
    assert not ids[0] & ids[1], "two outputs of one notebook share no id"
    loaded = Report.load(results)
    first, last = (loaded.document["answers"][i]["answer"] for i in (0, -1))
    assert repr(loaded).startswith(f"<Report: {first}. {last}: ")
    assert repr(loaded.section("map")) == repr(loaded)
    with pytest.raises(ValueError, match="run compare again"):
        Report({})


def test_compare_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="X has 3 rows and y has 2 classes"):
        compare(np.zeros((3, 1)), [0, 1])
    with pytest.raises(ValueError, match="by must be"):
        compare(np.zeros((3, 1)), [0, 1, 1], by="x")


def test_a_negative_part_of_rounding_is_called_negligible(found):
    spectrum = {"values": [2.0, 1.0, -0.5], "positions": [1, 2, 3], "signature": [2, 1]}
    for share, said in ((1e-6, "negligible"), (0.14, "mahalearn works with them")):
        found["spectrum"] = {**spectrum, "negative_fraction": share}
        assert said in texts(found, "spectrum")
    found["spectrum"] = {**spectrum, "signature": [3, 0], "negative_fraction": 0.0}
    assert "a proper inner product" in texts(found, "spectrum")
    found["spectrum"] = None
    assert section_of(found, "spectrum") is None


@pytest.mark.parametrize("high", [0.16, 0.4, 0.03, 0.004])
def test_ticks_in_percent_are_not_rounded(high):
    """Ticks at 2.5 and 7.5 were labelled 2 and 8."""
    block = {"kind": "curves", "title": "t", "xlabel": "n", "ylabel": "error", "percent": "y"}
    block |= {"x": [1, 2], "series": [{"name": "m", "y": [high / 2, high]}]}
    root = ElementTree.fromstring(drawn(block).picture.svg("learning", "t"))
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    places = {t.text: float(t.get("y")) for t in texts if t.text.endswith(" %")}
    values = [float(text.removesuffix(" %")) for text in places]
    np.testing.assert_allclose(np.diff(values), values[1] - values[0], atol=1e-9)
    heights = np.diff(list(places.values()))
    np.testing.assert_allclose(heights, heights[0], atol=0.11)


def test_importance_is_a_table_with_bars(found):
    found = copy.deepcopy(found)
    increases = [(0.3, 0.1, 0.5), (-0.1, -0.2, 0.05)] + [(0.0, -0.1, 0.1)] * 20
    rows = [{"name": f"c{i}", "increase": values} for i, values in enumerate(increases)]
    found["importance"]["rows"] = rows
    section = next(s for s in document(found)["sections"] if s["id"] == "importance")
    shown, others, _ = section["blocks"][0]["items"][0]["items"]
    assert len(shown["rows"]) == 12 and len(others["items"][0]["rows"]) == 22
    first, second = (row["cells"][0] for row in shown["rows"][:2])
    assert first["text"] == "30.00" and first["detail"] == "10.0 to 50.0"
    assert first["state"] == "line agree" and second["state"] == "line"
    assert first["bar"]["mean"] == 0.6 and first["bar"]["high"] == 1 and second["bar"]["mean"] == 0


def test_boxes_share_an_axis_from_the_smallest_to_the_largest_value():
    training, now = re.findall(r'<path d="(.*?)"', boxes([0, 2, 3, 4, 5], [2, 6, 8, 9, 10], "a"))
    assert training == "M0 8H34M68 8H85M34 3H68v10H34zM51 1v14"
    assert now == "M34 22H102M153 22H170M102 17H153v10H102zM136 15v14"
    assert "nan" not in boxes([1] * 5, [1] * 5, "constant")


@pytest.mark.parametrize("accuracy, state", [(0.97, "good"), (0.7, "fair"), (0.5, "bad")])
def test_accuracy_is_judged_by_guessing_and_by_the_held_out_error(accuracy, state):
    scores = {"n": 10, "confusion": [[5, 0], [0, 5]], "accuracy": accuracy}
    card = prediction._accuracy(scores, [0.05, 0.02, 0.08])
    assert card["state"] == state
    assert "95.0 % (95 % interval 92.0 to 98.0)" in card["detail"]
    card = prediction._accuracy(scores, None)
    assert card["state"] == ("bad" if accuracy == 0.5 else "good")


def test_distributions_count_every_value_by_class():
    import pandas as pd

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = pd.DataFrame({"a": rng.normal(size=100) + 9 * y, "b": ["u", "v"] * 50, "c": np.nan})
    X.loc[:9, "a"] = np.nan
    X.loc[10:, "c"] = 1.0
    found = compare(X, y, methods=["gaussian"], repeats=1).values
    shapes = {line["name"]: line["shape"] for line in found["columns"] if "shape" in line}
    assert [sum(counts) for counts in shapes["a"]] == [40, 50]
    low, high = shapes["a"]
    assert not any(np.minimum(low, high)), "the classes lie apart"
    assert [counts[:3] for counts in shapes["b"]] == [[25, 25, 0]] * 2
    text = html.render(document(found))
    assert text.count('<svg class="spark"') == len(shapes)


def test_the_data_section_speaks_of_categories_where_there_are_some(found):
    other = copy.deepcopy(found)
    for feature in other["about"]["features"]:
        feature.pop("levels", None)
        feature["type"] = "number"
    for one, said in ((found, True), (other, False)):
        section = next(s for s in document(one)["sections"] if s["id"] == "data")
        assert ("Each category became" in json.dumps(section)) is said


def test_the_table_of_columns_says_what_was_left_out_and_why(found):
    said = texts(found, "data")
    assert "range or most frequent values" in said and "number" in said
    row = {"name": "ink", "type": "text", "role": "left out", "values": "a (1)", "missing": 3}
    row |= {"example": "a", "reason": "has another text in each row", "remedy": "Remove it."}
    found["columns"].append(row)
    assert "left out: it has another text in each row. Remove it." in texts(found, "data")


# Two runs side by side


def test_diff_pairs_equal_folds_and_names_what_changed(results, found, tmp_path):
    from mahalearn.app.comparing.diff import differences
    from mahalearn.app.comparing.ranking import corrected_interval

    header, rows = flowers()
    drop = header.index("width")
    write_csv(
        tmp_path / "t.csv",
        [name for i, name in enumerate(header) if i != drop],
        [[cell for i, cell in enumerate(row) if i != drop] for row in rows],
    )
    works("compare", tmp_path / "t.csv", "--out", tmp_path / "after", *FAST)
    other = values_of(tmp_path / "after")
    values = differences(found, other)
    assert values["paired"]  # the same objects, classes and seed
    facts = {row["fact"]: row["values"] for row in values["changes"]}
    assert facts["columns"] == ["3", "2"] and "width" in facts["names of the columns"][0]
    for row in values["methods"]:
        one, two = (
            next(r for r in run["leaderboard"] if r["title"] == row["title"])
            for run in (found, other)
        )
        change = np.subtract(two["fold_errors"]["error"], one["fold_errors"]["error"])
        assert row["difference"][0] == pytest.approx(two["error"][0] - one["error"][0])
        expected = corrected_interval(change, 0.5, resolution=one["resolution"])
        assert row["difference"] == pytest.approx(list(expected))
    done = works("diff", results, tmp_path / "after", "--out", tmp_path / "d.html")
    assert "page: " in done.output
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "What has changed from out to after?" in page and "names of the columns" in page
    refusal = refused("diff", results, tmp_path / "after", "--out", tmp_path / "d.html")
    assert "--force overwrites" in " ".join(refusal.split())
    refusal = refused("diff", results, tmp_path, "--out", tmp_path / "e.html")
    assert "holds no comparison.json" in " ".join(refusal.split())
    twice = differences(found, {**other, "plan": {**other["plan"], "repeats": 2}})
    facts = {row["fact"]: row["values"] for row in twice["changes"]}
    assert facts["folds"] == ["3, drawn 1 time", "3, drawn 2 times"]
    other["folds_key"] = "of other objects"
    assert not differences(found, other)["paired"]
    assert all(row["difference"][1] is None for row in differences(found, other)["methods"])


# Prediction sets


def test_prediction_sets_cover_and_training_margins_would_not():
    """Margins of held-out objects give sets that hold the class; those of fitted ones do not."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.model_selection import StratifiedKFold

    from mahalearn.app.comparing.model import class_margins, margin, margin_sets

    rng = np.random.default_rng(0)
    covered, control, sizes = [], [], []
    for _ in range(120):
        y, new_y = np.repeat([0, 1, 2], 20), np.repeat([0, 1, 2], 20)
        centres = rng.normal(size=(3, 15)) * 0.5
        X, new = (centres[codes] + rng.normal(size=(60, 15)) for codes in (y, new_y))
        model = LinearDiscriminantAnalysis().fit(X, y)
        scores = np.empty((60, 3))
        for train, test in StratifiedKFold(5).split(X, y):
            fold = LinearDiscriminantAnalysis().fit(X[train], y[train])
            scores[test] = fold.decision_function(X[test])
        margins = margin(model.decision_function(new))
        sets = margin_sets(class_margins(scores, y), margins, 0.9)
        covered.append(sets[np.arange(60), new_y].mean())
        sizes.append(sets.sum(axis=1).mean())
        fitted_margins = class_margins(model.decision_function(X), y)
        wrong = margin_sets(fitted_margins, margins, 0.9)
        control.append(wrong[np.arange(60), new_y].mean())
    assert np.mean(covered) >= 0.9 - 0.02 and np.mean(sizes) < 2.7
    assert np.mean(control) < 0.87  # the control must fail


def test_margins_and_sets_are_their_definitions():
    from mahalearn.app.comparing.model import class_margins, margin, margin_sets

    rng = np.random.default_rng(1)
    scores, codes = rng.normal(size=(50, 3)), np.r_[np.arange(48) % 2, 2, 2]
    for i in range(50):
        for j in range(3):
            other = max(scores[i, k] for k in range(3) if k != j)
            assert margin(scores)[i, j] == pytest.approx(other - scores[i, j])
    margins = class_margins(scores, codes)
    sets = margin_sets(margins, margin(scores), 0.95)
    for i in range(50):
        for j in range(3):
            n = len(margins[j])  # two objects of class 2
            count = sum(m >= margin(scores)[i, j] - 1e-12 for m in margins[j])
            assert sets[i, j] == ((1 + count) / (n + 1) > max(0.05, 1 / (n + 1)) + 1e-12)


def test_a_small_class_is_covered_by_itself():
    """A hard class of 9 objects beside an easy one of 200; ranked among all it would be lost."""
    from mahalearn.app.comparing.model import margin_sets

    rng = np.random.default_rng(2)
    covered, control = [], []
    for _ in range(2000):
        easy, hard, new = rng.normal(size=200), rng.normal(2, size=9), rng.normal(2, size=(1, 2))
        covered.append(margin_sets([np.sort(easy), np.sort(hard)], new, 0.95)[0, 1])
        everyone = np.sort(np.r_[easy, hard])
        control.append(margin_sets([everyone, everyone], new, 0.95)[0, 1])
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)  # n/(n + 1)
    assert np.mean(control) < 0.6  # the control must fail
