"""The page: agreement as defined, everything escaped, nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import spearmanr

from mahalearn.app.report import html
from mahalearn.app.report.figures import drawn
from mahalearn.papers import markdown
from mahalearn.papers.agreement import Compared, compare, count, rank_correlation
from mahalearn.papers.experiment import Convention, Published
from mahalearn.papers.page import document
from mahalearn.papers.page_blocks import chance_block, scatter_blocks, table_block
from mahalearn.papers.rows import CellSummary, Row

EVIL = '<script>alert("x")</script>&'


def table(**changes):
    base = {
        "id": "T1",
        "paper": "A",
        "title": "A table",
        "columns": ["d1", "d2"],
        "lines": ["m1", "m2", "m3"],
        "measure": "error",
        "published": {
            (c, m): Published(10.0 * i, 2.0, 10)
            for c in ("d1", "d2")
            for i, m in enumerate(("m1", "m2", "m3"), start=1)
        },
        "slack": {},
        "digits": {},
        "readings": {},
        "conventions": [],
        "calibration": frozenset(),
        "notes": [],
        "extra": lambda rows: [],
        "figure": "",
        "planned": 6,
    }
    return {**base, **changes}


def rows(errors, dataset="d1", **more):
    return [
        Row("T1", dataset, method, i, error=e, **more)
        for method, found in errors.items()
        for i, e in enumerate(found)
    ]


def test_agreement_is_two_standard_errors_and_a_point():
    # s = s' = 2, R = 2, R' = 10: 2·√(4/2 + 4/10) + 1 = 4.098; a tenth of 10 % is one point.
    spread = 2**0.5 / 100
    for shift, agrees in ((4.09, True), (4.11, False), (-4.09, True), (-4.11, False)):
        mean = (10 + shift) / 100
        compared = compare(rows({"m1": [mean - spread, mean + spread]}), table())
        cell = compared.cells["d1", "m1"]
        assert cell.allowed == pytest.approx(4.098, abs=1e-3)
        assert cell.agrees is agrees


def test_small_errors_have_a_small_slack():
    published = {("d1", "m1"): Published(2.0), ("d1", "m2"): Published(30.0)}
    spec = table(columns=["d1"], lines=["m1", "m2"], published=published)
    for error, agrees in ((0.0219, True), (0.0221, False)):
        assert compare(rows({"m1": [error]}), spec).cells["d1", "m1"].agrees is agrees
    assert compare(rows({"m2": [0.309]}), spec).cells["d1", "m2"].allowed == 1.0


def test_the_chance_rate_is_that_of_the_other_methods_numbers():
    """Ours 10.5 against 10, 11 and 30: the first agrees, one of the two others would."""
    numbers = {"m1": 10.0, "m2": 11.0, "m3": 30.0}
    published = {("d1", m): Published(v) for m, v in numbers.items()}
    spec = table(columns=["d1"], published=published)
    cell = compare(rows({"m1": [0.105]}), spec).cells["d1", "m1"]
    assert cell.agrees and cell.chance == 0.5
    assert [mean for mean, _ in cell.alternatives] == [11.0, 30.0], "the next method comes first"
    assert str(count([cell, cell])) == "2 of 2 (100 %; by chance 50 %)"
    assert str(count([])) == "none"
    # Published numbers that are all alike: agreement says nothing, and the rate says so.
    alike = table(columns=["d1"], published={key: Published(10.0) for key in published})
    assert compare(rows({"m1": [0.105]}), alike).test == (1, 1, 1.0)


def test_measured_values_have_other_data_sets_for_chance():
    spec = table(measure="values", lines=["p", "q"], slack={"p": 1.0, "q": 1.0})
    spec["published"] = {
        ("d1", "p"): Published(50.0),
        ("d2", "p"): Published(50.5),
        ("d1", "q"): Published(50.0),
        ("d2", "q"): Published(80.0),
    }
    measured = [Row("T1", "d1", "spectrum", 0, values={"p": 50, "q": 50})]
    cells = compare(measured, spec).cells
    assert (cells["d1", "p"].chance, cells["d1", "q"].chance) == (1.0, 0.0)
    spec["chance"] = lambda rows, column, line: 0.25
    assert compare(measured, spec).cells["d1", "p"].chance == 0.25


def test_counts_leave_out_stand_ins():
    measured = rows({"m1": [0.1], "m2": [0.5]}) + rows({"m1": [0.1]}, "d2", status="stand-in")
    found = compare(measured, table())
    assert found.test[:2] == (1, 2) and found.stand_ins[:2] == (1, 1) and not found.readings.of
    block = table_block(table(), found)
    assert block["columns"] == ["d1", "d2 (stand-in)"]
    assert [c["state"] for c in block["rows"][0]["cells"]] == ["agree", "apart"]


def test_calibration_is_counted_apart():
    convention = Convention("A choice.", frozenset({("d1", "m1"), ("d2", "m2")}))
    spec = table(conventions=[convention], calibration=convention.cells)
    measured = rows({"m1": [0.1], "m2": [0.5]}) + rows({"m2": [0.5]}, "d2")
    found = compare(measured, spec)
    assert found.test[:2] == (0, 1) and found.calibration[:2] == (1, 2)
    text, _ = markdown.render(
        page_of(measured, conventions=[convention], calibration=convention.cells)
    )
    assert "Test cells that agree: 0 of 1 (0 %; by chance 0 %). Calibration cells: 1 of 2" in text
    assert "A choice. Calibration (marked °): m1 on d1, m2 on d2." in text
    assert "| m1 | 10.0° / 10.0 (2.0) |" in text


def test_another_reading_is_compared_but_not_counted():
    spec = table(columns=["d1", "other"], readings={"other": "d1"})
    found = compare(rows({"m1": [0.5]}) + rows({"m1": [0.1]}, "other"), spec)
    assert found.test[:2] == (0, 1) and found.readings[:2] == (1, 1)
    block = table_block(spec, found)
    assert block["columns"] == ["d1", "other (not counted)"]
    assert [c["state"] for c in block["rows"][0]["cells"]] == ["differ", "apart"]


def test_a_scatter_has_a_point_for_every_compared_cell():
    spec = table(calibration={("d1", "m3")})
    found = compare(rows({"m1": [0.1], "m2": [0.5], "m3": [0.3]}), spec)
    (block,) = scatter_blocks("A", [spec], {"T1": found})
    assert [(p["x"], p["y"], p["state"], p["calibration"]) for p in block["points"]] == [
        (10.0, 10.0, "agree", False),
        (20.0, 50.0, "differ", False),
        (30.0, 30.0, "agree", True),
    ]
    text = drawn({**block, "title": EVIL}).picture.svg("scatter", EVIL)
    assert "<script" not in text and "calibration (1)" in text
    assert [p["chance"] for p in block["points"]] == [20.0, 30.0, 10.0] and "chance (3)" in text
    for variant in (block, {**block, "log": True}):
        assert len(marks(variant)) == 3, "the grey points stand for no row"
        assert sorted(row[2] for row in drawn(variant).rows) == [10.0, 30.0, 50.0]


def test_the_figure_of_chance_meets_the_counts_at_the_tolerance():
    spec = table(calibration={("d1", "m3")})
    compared = {"T1": compare(rows({"m1": [0.1], "m2": [0.5], "m3": [0.3]}), spec)}
    (block,) = chance_block([spec], compared)
    ours, chance = (series["y"][block["x"].index(1.0)] for series in block["series"])
    assert ours == 100 * compared["T1"].test.agreeing / 2
    assert chance == pytest.approx(100 * compared["T1"].test.by_chance / 2)
    assert block["series"][1]["grey"] and chance_block([spec], {"T1": compare([], spec)}) == []


def test_rank_correlation_of_the_methods():
    names = [f"m{i}" for i in range(8)]
    published = {("d1", m): Published(10.0 * i, 2.0, 10) for i, m in enumerate(names)}
    spec = table(columns=["d1"], lines=names, published=published)

    def correlation(order):
        errors = {m: [0.1 * order[i]] for i, m in enumerate(names)}
        return compare(rows(errors), spec).correlations["d1"]

    swapped = [1, 0, 2, 3, 4, 5, 7, 6]
    value, low, high = correlation(swapped)
    assert value == pytest.approx(spearmanr(swapped, range(8)).statistic)
    half = 1.96 * ((1 + value**2 / 2) / 5) ** 0.5
    assert (low, high) == pytest.approx(np.tanh(np.arctanh(value) + np.array([-half, half])))
    # A perfect order of eight is no proof of a correlation of 1.
    assert correlation(range(8)).value == pytest.approx(1) and correlation(range(8)).low < 0.95
    assert correlation(range(7, -1, -1)).value == pytest.approx(-1)
    assert (
        compare(rows({"m1": [0.1], "m2": [0.2], "m3": [0.4]}), table()).correlations["d1"] is None
    )


def test_intervals_of_rank_correlations_cover_the_true_one():
    """95 % intervals of 10 normal pairs of known correlation; those without a width would not."""
    rng = np.random.default_rng(0)
    truth, inside, degenerate = 6 / np.pi * np.arcsin(0.8 / 2), 0, 0
    for _ in range(400):
        x = rng.normal(size=10)
        y = 0.8 * x + 0.6 * rng.normal(size=10)
        cells = [
            Compared(CellSummary(a, 0, 1, "", ""), Published(b), agrees=True) for a, b in zip(x, y)
        ]
        value, low, high = rank_correlation(cells)
        inside += low <= truth <= high
        degenerate += value - 0.01 <= truth <= value + 0.01
    assert inside / 400 > 0.93 and degenerate / 400 < 0.2


def test_values_are_compared_with_their_own_slack():
    spec = table(measure="values", lines=["r_neg"], slack={"r_neg": 0.01}, columns=["d1"])
    spec["published"] = {("d1", "r_neg"): Published(0.2, 0.0, 25)}
    for value, agrees in ((0.209, True), (0.211, False)):
        found = compare([Row("T1", "d1", "spectrum", 0, values={"r_neg": value})], spec)
        assert found.cells["d1", "r_neg"].agrees is agrees


def page_of(measured, **changes):
    context = {"papers": {"A": "First"}, "tables": [table(**changes)], "errata": {"A": [EVIL]}}
    context["sources"] = {}
    claims = {"A": [{"text": EVIL, "verdict": "confirmed", "detail": EVIL}]}
    return document(measured, context, claims, made_by=EVIL)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.depth = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "image"):
            self.depth.append(tag)

    def handle_endtag(self, tag):
        assert self.depth.pop() == tag


def test_the_page_is_whole_escaped_and_alone():
    measured = [
        *rows({"m1": [0.1], EVIL: [0.2]}),
        Row("T1", "d2", "(data)", 0, values={"missing": EVIL}),
    ]
    text = html.render(page_of(measured, title=EVIL, lines=["m1", EVIL], notes=[EVIL]))
    parser = Tags()
    parser.feed(text)
    assert parser.depth == []
    tags = [tag for tag, _ in parser.seen]
    assert tags.count("script") == 3 and "link" not in tags and EVIL not in text
    for tag, attrs in parser.seen:
        for name in ("src", "href"):
            assert attrs.get(name, "#").startswith(("#", "data:")), (tag, attrs)
    assert not re.search(r"url\((?!#)", text) and "@import" not in text
    assert "&lt;script&gt;" in text and "prefers-color-scheme" in text and "@media print" in text


def test_the_same_rows_give_the_same_page():
    measured = rows({"m1": [0.1, 0.2], "m2": [0.3]})
    assert html.render(page_of(measured)) == html.render(page_of(measured))


def test_a_page_without_rows():
    text = html.render(page_of([]))
    assert "Not measured yet." in text and "No rows." in text


def test_markdown_has_the_same_numbers():
    text, figures = markdown.render(page_of(rows({"m1": [0.1], "m2": [0.5]})))
    assert "| m1 | 10.0 / 10.0 (2.0) |" in text and "50.0 / 20.0 (2.0) ✗" in text
    assert "<script" not in text and list(figures) == ["overview-1.svg", "paper-A-2.svg"]


def marks(block):
    """Places of the marks of a figure, by the row they stand for."""
    root = ElementTree.fromstring(drawn(block).picture.svg("figure", block["title"]))
    return {
        int(row): (float(mark.get("x")), float(mark.get("y")))
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        if "data-rows" in group.attrib
        for row, mark in zip(
            group.get("data-rows").split(","),
            group.iter("{http://www.w3.org/2000/svg}use"),
            strict=True,
        )
    }


def test_curves_place_their_points_in_order():
    block = {
        "kind": "curves",
        "title": EVIL,
        "xlabel": "x",
        "ylabel": "y",
        "x": [0, 0.2, 2, 20],
        "log": True,
        "series": [{"name": EVIL, "y": [10, 20, 30, 40]}],
    }
    places = marks(block)
    xs, ys = zip(*(places[i] for i in range(4)))
    assert list(xs) == sorted(xs) and list(ys) == sorted(ys, reverse=True)
    steps = [b - a for a, b in pairwise(xs)]
    assert max(steps) < 1.3 * min(steps), "a decade is about as wide as the linear part"
    assert "<script" not in drawn(block).picture.svg("figure", EVIL)


def test_maps_put_the_grid_upright():
    block = {
        "kind": "maps",
        "title": "t",
        "extent": [-0.123456, 1, 0, 1],
        "resolution": 2,
        "points": [[0.2, 0.2, 0], [0.8, 0.8, 1]],
        "panels": [{"title": "a", "labels": "0011"}, {"title": "b", "distances": [0, 1, 2, 3]}],
    }
    drawing = drawn(block)
    root = ElementTree.fromstring(drawing.picture.svg("maps", "t"))
    paths = [path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")]
    # Two runs of cells start at the left; that of class 0 is the lower one.
    runs = [path for path in paths if path.endswith("z") and "h" in path and path[1].isdigit()]
    low, high = runs[:2]
    assert float(low.split()[1].split("h")[0]) > float(high.split()[1].split("h")[0])
    assert drawing.rows == [[0.2, 0.2, 0], [0.8, 0.8, 1]]
    ends = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert ends.count("-0.12") == 2, "short enough to stand beside the next map"


def test_markdown_figures_are_files_of_their_own():
    block = {"kind": "curves", "title": "t", "xlabel": "x", "ylabel": "y", "x": [1, 2]}
    block["series"] = [{"name": "m", "y": [1, 2]}]
    made = {"title": "T", "sections": [{"id": "F", "title": "f", "blocks": [block]}]}
    text, figures = markdown.render(made)
    assert "![t](images/F-1.svg)" in text and list(figures) == ["F-1.svg"]
    assert "var(--" not in figures["F-1.svg"] and ElementTree.fromstring(figures["F-1.svg"])


def test_the_report_loads_no_model():
    code = (
        "import sys, mahalearn.app.report.html, mahalearn.papers.markdown, "
        "mahalearn.papers.page; "
        "print([m for m in sys.modules if m.split('.')[0] in ('sklearn', 'scipy', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("log", [False, True])
def test_a_scatter_has_a_mark_for_every_point(log):
    keys = ("x", "y", "allowed", "state", "calibration", "name")
    cells = [
        (10.0, 10.0, 4.0, "agree", False, "a"),
        (20.0, 50.0, 4.0, "differ", False, "b"),
        (30.0, 30.0, None, "agree", True, "<script>alert(1)</script>"),
    ]
    points = [dict(zip(keys, cell)) for cell in cells]
    block = {"kind": "scatter", "title": "t", "xlabel": "published", "ylabel": "ours", "log": log}
    drawing = drawn({**block, "points": points})
    assert sorted(row[0] for row in drawing.rows) == sorted(p["name"] for p in points)
    text = drawing.picture.svg("scatter", "t")
    assert "agrees, calibration (1)" in text and "differs (1)" in text and "<script" not in text
    groups = re.findall(r'data-rows="([\d,]+)"', text)
    assert sorted(",".join(groups).split(",")) == ["0", "1", "2"]
