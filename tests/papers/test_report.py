"""The page: agreement as defined, everything escaped, nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from mahalearn.app.report import html, markdown
from mahalearn.app.report.figures import drawn, svg
from mahalearn.papers.agreement import compare
from mahalearn.papers.blocks import scatter_blocks, table_block
from mahalearn.papers.page import document
from mahalearn.papers.protocol import Convention, Published
from mahalearn.results import Row

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
    }
    return {**base, **changes}


def rows(errors, dataset="d1", **more):
    return [
        Row("T1", dataset, method, i, error=e, **more)
        for method, found in errors.items()
        for i, e in enumerate(found)
    ]


def test_agreement_is_two_standard_errors_and_a_point():
    # s = s' = 2, R = 2, R' = 10: 2·√(4/2 + 4/10) + 1 = 4.098.
    spread = 2**0.5 / 100
    for shift, agrees in ((4.09, True), (4.11, False), (-4.09, True), (-4.11, False)):
        mean = (10 + shift) / 100
        found = compare(rows({"m1": [mean - spread, mean + spread]}), table())
        cell = found.cells["d1", "m1"]
        assert cell.allowed == pytest.approx(4.098, abs=1e-3)
        assert cell.agrees is agrees


def test_counts_leave_out_stand_ins():
    measured = rows({"m1": [0.1], "m2": [0.5]}) + rows({"m1": [0.1]}, "d2", status="stand-in")
    found = compare(measured, table())
    assert found.total == (1, 2) and found.stand_ins == (1, 1) and found.readings == (0, 0)
    block = table_block(table(), found)
    assert block["columns"] == ["d1", "d2 (stand-in)"]
    assert [c["state"] for c in block["rows"][0]["cells"]] == ["agree", "apart"]


def test_calibration_is_counted_in_the_total_and_apart():
    convention = Convention("A choice.", frozenset({("d1", "m1"), ("d2", "m2")}))
    spec = table(conventions=[convention], calibration=convention.cells)
    measured = rows({"m1": [0.1], "m2": [0.5]}) + rows({"m2": [0.5]}, "d2")
    found = compare(measured, spec)
    assert found.total == (1, 3) and found.calibration == (1, 2)
    text, _ = markdown.render(
        page_of(measured, conventions=[convention], calibration=convention.cells)
    )
    assert "1 of 3 (33 %) cells agree in total." in text
    assert "1 of these calibration cells agree, and 0 of 1 (0 %) of the cells" in text
    assert "A choice. Calibration (marked °): m1 on d1, m2 on d2." in text
    assert "| m1 | 10.0° / 10.0 (2.0) |" in text


def test_another_reading_is_compared_but_not_counted():
    spec = table(columns=["d1", "other"], readings={"other": "d1"})
    found = compare(rows({"m1": [0.5]}) + rows({"m1": [0.1]}, "other"), spec)
    assert found.total == (0, 1) and found.readings == (1, 1)
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
    text = svg(drawn({**block, "title": EVIL}), "scatter", EVIL)
    assert "<script" not in text and "calibration (1)" in text
    for variant in (block, {**block, "log": True}):
        assert svg(drawn(variant), "scatter", "t").count("data-row=") == 3
        assert sorted(row[2] for row in drawn(variant).rows) == [10.0, 30.0, 50.0]


def test_rank_correlation_of_the_methods():
    order = compare(rows({"m1": [0.1], "m2": [0.2], "m3": [0.4]}), table())
    reverse = compare(rows({"m1": [0.4], "m2": [0.2], "m3": [0.1]}), table())
    assert order.correlations == {"d1": pytest.approx(1.0), "d2": None}
    assert reverse.correlations["d1"] == pytest.approx(-1.0)


def test_values_are_compared_with_their_own_slack():
    spec = table(measure="values", lines=["r_neg"], slack={"r_neg": 0.01}, columns=["d1"])
    spec["published"] = {("d1", "r_neg"): Published(0.2, 0.0, 25)}
    for value, agrees in ((0.209, True), (0.211, False)):
        found = compare([Row("T1", "d1", "spectrum", 0, values={"r_neg": value})], spec)
        assert found.cells["d1", "r_neg"].agrees is agrees


def page_of(measured, **changes):
    context = {"papers": {"A": "First"}, "tables": [table(**changes)], "errata": {"A": [EVIL]}}
    context["sources"] = {}
    claims = {"A": [{"text": EVIL, "verdict": True, "detail": EVIL}]}
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
    assert tags.count("script") == 2 and "link" not in tags and EVIL not in text
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
    assert "<script" not in text and list(figures) == ["paper-A-1.svg"]


def marks(block):
    """Places of the marks of a figure, by the row they stand for."""
    root = ElementTree.fromstring(svg(drawn(block), "figure", block["title"]))
    return {
        int(e.get("data-row")): (float(e.get("x")), float(e.get("y")))
        for e in root.iter("{http://www.w3.org/2000/svg}use")
        if e.get("data-row")
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
    assert "<script" not in svg(drawn(block), "figure", EVIL)


def test_maps_put_the_grid_upright():
    block = {
        "kind": "maps",
        "title": "t",
        "extent": [0, 1, 0, 1],
        "resolution": 2,
        "points": [[0.2, 0.2, 0], [0.8, 0.8, 1]],
        "panels": [{"title": "a", "labels": "0011"}, {"title": "b", "distances": [0, 1, 2, 3]}],
    }
    drawing = drawn(block)
    ax = drawing.figure.axes[0]
    assert ax.images[0].get_array().tolist() == [[0, 0], [1, 1]]
    assert ax.images[0].origin == "lower" and not ax.yaxis_inverted()
    assert drawing.rows == [[0.2, 0.2, 0], [0.8, 0.8, 1]]
    assert "data:image/png;base64," in svg(drawing, "maps", "t")


def test_markdown_figures_are_files_of_their_own():
    block = {"kind": "curves", "title": "t", "xlabel": "x", "ylabel": "y", "x": [1, 2]}
    block["series"] = [{"name": "m", "y": [1, 2]}]
    made = {"title": "T", "sections": [{"id": "F", "title": "f", "blocks": [block]}]}
    text, figures = markdown.render(made)
    assert "![t](images/F-1.svg)" in text and list(figures) == ["F-1.svg"]
    assert "var(--" not in figures["F-1.svg"] and ElementTree.fromstring(figures["F-1.svg"])


def test_the_report_loads_no_model():
    code = (
        "import sys, mahalearn.app.report.html, mahalearn.app.report.markdown, "
        "mahalearn.papers.page; "
        "print([m for m in sys.modules if m.split('.')[0] in ('sklearn', 'scipy', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
