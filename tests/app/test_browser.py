"""The pages in a real browser: no errors, no requests, nothing run that came from the data."""

import json
import shutil
import time
from itertools import pairwise

import pytest
from own_data import NASTY, flowers, write_csv
from typer.testing import CliRunner

from mahalearn.app.cli.app import app
from mahalearn.app.report import html
from mahalearn.app.report.comparison import document

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of a comparison whose classes and columns try to be markup."""
    folder = tmp_path_factory.mktemp("page")
    header, rows = flowers()
    header = [header[0], "<b>height</b>", '"><img src=x onerror=alert(2)>', *header[3:]]
    write_csv(folder / "t.csv", header, [[f"<i>{r[0]}</i>", *r[1:]] for r in rows])
    arguments = ["compare", folder / "t.csv", "--target", "species", "--out", folder / "out"]
    arguments += ["--methods", "gaussian,lda", "--jobs", 1, "--repeats", 1]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def page(report):
    return report.as_uri()


def opened(browser, page, width, dark=False, media=""):
    """The page at a width; (console messages, addresses asked for)."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme], "media": media})
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(page)
    asked = [
        entry["message"].partition('"url":"')[2].partition('"')[0]
        for entry in browser.get_log("performance")
        if "Network.requestWillBeSent" in entry["message"]
    ]
    return browser.get_log("browser"), asked


def all_of(browser, selector):
    return browser.find_elements("css selector", selector)


@pytest.mark.parametrize("width", [1200, 390])
def test_no_errors_and_no_requests(browser, page, width):
    messages, asked = opened(browser, page, width)
    assert messages == []
    assert [a for a in asked if not a.startswith(("file:", "data:"))] == []


def test_everything_is_there(browser, page):
    opened(browser, page, 1200)
    sections = [s.get_attribute("id") for s in all_of(browser, "section")]
    assert sections == [
        "leaderboard", "map", "importance", "data", "classes", "learning", "calibration",
        "distances", "novelty", "repeat",
    ]  # fmt: skip
    cards = all_of(browser, ".answers .card")
    assert len(cards) == 6 and all(card.is_displayed() for card in cards)
    assert cards[-1].rect["y"] + cards[-1].rect["height"] < 900  # the first screen
    assert len(all_of(browser, "#leaderboard tbody tr")) == 2
    assert len(all_of(browser, "#leaderboard .bar")) == 2
    assert len(all_of(browser, "#map tbody tr")) == 3
    figures = [f for f in all_of(browser, "svg.figure") if f.is_displayed()]
    assert len(figures) >= 6
    assert all(figure.size["height"] > 50 for figure in figures)


def test_what_looks_like_markup_is_shown(browser, page):
    opened(browser, page, 1200)
    assert len(all_of(browser, "script")) == 3
    assert all_of(browser, "img, i, b") == []
    text = browser.find_element("tag name", "body").text
    assert NASTY in text and "<b>height</b>" in text
    with pytest.raises(Exception, match="no such alert"):
        browser.switch_to.alert.accept()


def test_another_script_is_not_run_and_nothing_can_be_sent(browser, report, tmp_path):
    """Should markup ever come through, the policy holds it."""
    worse = tmp_path / "worse.html"
    attack = (
        "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
        '<img src="https://example.org/x.png"><link rel="stylesheet" href="x.css">'
        "<style>body { display: none }</style>"
    )
    text = report.read_text(encoding="utf-8")
    assert text.count("<footer>") == 1
    worse.write_text(text.replace("<footer>", attack + "<footer>"), encoding="utf-8")
    messages, asked = opened(browser, worse.as_uri(), 1200)
    assert browser.title.startswith("Can the classes of")
    assert browser.find_element("tag name", "body").is_displayed()
    assert not [a for a in asked if a.startswith("http")]
    assert sum("Content Security Policy" in m["message"] for m in messages) >= 4
    sent = browser.execute_async_script(
        "const done = arguments[0]; fetch('https://example.org/').then(() => done('sent'),"
        " () => done('held'))"
    )
    assert sent == "held"


def test_tables_sort_by_keyboard(browser, page):
    from selenium.webdriver.common.keys import Keys

    opened(browser, page, 1200)
    heads = all_of(browser, "#classes thead th")
    column = [head.text.split()[0] for head in heads].index("recall")

    def values():
        cells = all_of(browser, f"#classes tbody tr > :nth-child({column + 1})")
        return [float(cell.get_attribute("data-value")) for cell in cells]

    before = values()
    heads[column].find_element("tag name", "button").send_keys(Keys.ENTER)
    assert values() == sorted(before) and heads[column].get_attribute("aria-sort") == "ascending"
    heads[column].find_element("tag name", "button").send_keys(Keys.SPACE)
    assert values() == sorted(before, reverse=True)


def test_a_long_table_is_filtered(browser, tmp_path):
    from mahalearn.app.report import html

    rows = [{"label": f"name {i}", "cells": [str(i)]} for i in range(30)]
    table = {"kind": "table", "corner": "a", "columns": ["b"], "rows": rows, "filter": True}
    made = {"title": "t", "sections": [{"id": "s", "title": "s", "blocks": [table]}]}
    (tmp_path / "t.html").write_text(html.render(made), encoding="utf-8")
    opened(browser, (tmp_path / "t.html").as_uri(), 1200)
    all_of(browser, "input")[0].send_keys("NAME 2")
    assert len([r for r in all_of(browser, "tbody tr") if r.is_displayed()]) == 11
    assert "11 of 30 rows" in all_of(browser, ".tools")[0].text


def test_pointing_and_arrow_keys_say_what_a_mark_is(browser, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    opened(browser, page, 1200)
    figure = browser.find_element("css selector", "#pair-1 svg")
    tip = browser.find_element("css selector", ".tip")
    assert not tip.is_displayed()
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    mark = figure.find_element("css selector", "[data-row='0']")
    ActionChains(browser).move_to_element(mark).perform()
    assert tip.is_displayed() and "object: " in tip.text and "distance to" in tip.text
    assert "<i>plant" in tip.text  # as text
    ActionChains(browser).move_to_element(browser.find_element("tag name", "footer")).perform()
    errors = browser.find_element("css selector", "#learning-curve svg")
    browser.execute_script("arguments[0].focus()", errors)
    errors.send_keys(Keys.ARROW_RIGHT)
    first = tip.text
    errors.send_keys(Keys.ARROW_RIGHT)
    assert "training objects: " in first and tip.is_displayed() and tip.text != first
    errors.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()


def test_a_figure_is_saved_as_svg_png_and_csv(browser, page, tmp_path):
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
    opened(browser, page, 1200, dark=True)
    for button in all_of(browser, "#learning-curve .tools button"):
        browser.execute_script("arguments[0].click()", button)
        time.sleep(0.3)
    wanted = {f"learning-curve.{ending}" for ending in ("svg", "png", "csv")}
    for _ in range(50):
        if wanted <= {p.name for p in tmp_path.iterdir()}:
            break
        time.sleep(0.1)
    assert wanted <= {p.name for p in tmp_path.iterdir()}
    assert browser.get_log("browser") == []
    svg = (tmp_path / "learning-curve.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg") and "var(--" not in svg
    assert (tmp_path / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "learning-curve.png").read_bytes()) > 3000
    lines = (tmp_path / "learning-curve.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "series,training objects,error,low,high" and len(lines) >= 3


def test_a_phone_needs_no_sideways_scrolling(browser, page):
    opened(browser, page, 390)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= 390
    for figure in all_of(browser, "svg.figure"):
        assert figure.size["width"] <= 390


def test_dark_and_light(browser, page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.querySelector('#learning-curve svg text')).fill"
    opened(browser, page, 1200, dark=True)
    dark = browser.execute_script(ground), browser.execute_script(ink)
    opened(browser, page, 1200)
    light = browser.execute_script(ground), browser.execute_script(ink)
    assert dark[0] != light[0] == "rgb(243, 245, 248)"
    assert light[1] == "rgb(28, 30, 33)" and dark[1] == "rgb(230, 232, 235)"


def test_print_is_light_complete_and_without_tools(browser, page):
    opened(browser, page, 1200, dark=True, media="print")
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(ground) == "rgb(255, 255, 255)"
    assert not [t for t in all_of(browser, ".tools, nav") if t.is_displayed()]
    assert all(s.is_displayed() for s in all_of(browser, "section"))
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(pdf) > 20_000
    # Chromium leaves buttons out of heads that it repeats on the next sheet.
    button = "return getComputedStyle(document.querySelector('thead th button')).display"
    assert browser.execute_script(button) == "contents"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_no_table_is_cut_on_paper(browser, report, tmp_path):
    page = changed(report, tmp_path, lambda values: renamed(values, LONG_NAMES))
    opened(browser, page, 690, media="print")  # A4 without its margins
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 690
    over = "return arguments[0].scrollWidth > arguments[0].clientWidth + 1"
    for box in all_of(browser, "main, .scroll, .figures > *"):
        assert not browser.execute_script(over, box), box.text[:40]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_sections_of_half_the_width_are_as_high_as_what_they_hold(browser, page):
    opened(browser, page, 1200)
    halves = all_of(browser, ".halves section")
    assert len({half.location["x"] for half in halves}) == 2
    assert len(halves) >= 3 and all(half.size["width"] < 620 for half in halves[:2])
    room = """const [last] = [...arguments[0].children].slice(-1);
    return arguments[0].getBoundingClientRect().bottom - last.getBoundingClientRect().bottom"""
    assert all(browser.execute_script(room, half) < 40 for half in halves)


def test_long_names_take_little_room(browser, report, tmp_path):
    opened(browser, changed(report, tmp_path, lambda values: renamed(values, LONG_NAMES)), 1200)
    heads = all_of(browser, "#map thead th")
    assert all(head.size["height"] < 60 for head in heads)
    assert [head.get_attribute("title") for head in heads[1:]] == LONG_NAMES
    for row in all_of(browser, "#importance .group:first-child tbody tr"):
        name, cell = row.find_elements("css selector", "th, td")
        assert name.size["height"] == cell.size["height"], "one line below both"


def test_the_page_is_complete_without_its_script(browser, page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, page, 1200)
        figures = all_of(browser, "svg.figure")
        assert len(figures) >= 6 and all(f.is_displayed() for f in figures)
        assert all_of(browser, ".tools, .object") == []
        assert len(all_of(browser, "#object-map use")) >= 45  # all objects are drawn
        assert len(all_of(browser, "#map td.shade")) == 3
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_headings_and_names_for_those_who_do_not_see_it(browser, page):
    opened(browser, page, 1200)
    assert len(all_of(browser, "h1")) == 1 and len(all_of(browser, "main")) == 1
    order = [int(h.tag_name[1]) for h in all_of(browser, "h1, h2, h3")]
    assert order[0] == 1 and all(b - a <= 1 for a, b in pairwise(order))
    for element in all_of(browser, "svg.figure, .bar, [role=region]"):
        assert element.get_attribute("aria-label")
    controls = [e for e in all_of(browser, "button, select, input") if e.is_displayed()]
    assert len(controls) > 20 and all(e.accessible_name for e in controls)
    ids = [e.get_attribute("id") for e in all_of(browser, "[id]")]
    assert len(ids) == len(set(ids))
    assert browser.find_element("tag name", "html").get_attribute("lang") == "en"


def chosen_marks(browser):
    """Marks of the map that are not dimmed."""
    return all_of(browser, "#object-map [data-row]:not(.dim)")


def test_an_object_of_the_map_is_explained(browser, page):
    from selenium.webdriver import ActionChains

    opened(browser, page, 1200)
    figure = browser.find_element("css selector", "#object-map")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    marks = chosen_marks(browser)
    assert len(marks) == 45
    panel = browser.find_element("css selector", "#map .object")
    assert "Click an object" in panel.text
    ActionChains(browser).move_to_element(marks[-1]).perform()
    tip = browser.find_element("css selector", ".tip")
    assert "class: " in tip.text and "predicted: " in tip.text and "nearest: " in tip.text
    assert " %" in tip.text and "<i>plant" in tip.text
    ActionChains(browser).move_to_element(marks[-1]).click().perform()
    name = panel.find_element("tag name", "h3").text
    assert name.startswith("<i>plant") and "Probabilities" in panel.text
    assert "Columns that count most" in panel.text and "Nearest objects" in panel.text
    panel.find_elements("css selector", "li button")[0].click()
    assert panel.find_element("tag name", "h3").text != name
    search = browser.find_element("css selector", "#map input[type=search]")
    search.send_keys(name + "\n")
    assert panel.find_element("tag name", "h3").text == name
    assert browser.get_log("browser") == []


def test_a_cell_of_the_confusion_matrix_shows_its_objects(browser, page):
    opened(browser, page, 1200)
    cells = all_of(browser, "#map td[data-pair]")
    for cell in cells:
        number = int(cell.find_element("tag name", "small").text)
        button = cell.find_element("tag name", "button")
        browser.execute_script("arguments[0].click()", button)
        assert button.get_attribute("aria-pressed") == "true"
        assert len(chosen_marks(browser)) == number  # one repetition
        panel = browser.find_element("css selector", "#map .object")
        assert len(panel.find_elements("css selector", "li button")) == number
        assert "predicted as" in panel.find_element("tag name", "h3").text
    browser.execute_script("arguments[0].click()", button)
    assert len(chosen_marks(browser)) == 45 and len(cells) >= 3


def test_the_map_is_reached_by_keyboard(browser, page):
    from selenium.webdriver.common.keys import Keys

    opened(browser, page, 1200)
    button = browser.find_element("css selector", "#map td[data-pair] button")
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-pressed") == "true" and button.accessible_name
    svg = browser.find_element("css selector", "#object-map svg")
    browser.execute_script("arguments[0].focus()", svg)
    shown = set()
    for _ in range(3):  # only objects of the cell
        svg.send_keys(Keys.ARROW_RIGHT)
        mark = browser.find_element("css selector", "#object-map .here")
        assert "dim" not in mark.get_attribute("class")
        shown.add(mark.get_attribute("data-row"))
    assert len(shown) == 3
    svg.send_keys(Keys.ENTER)
    panel = browser.find_element("css selector", "#map .object")
    assert "Probabilities" in panel.text and panel.get_attribute("aria-live") == "polite"


def test_wide_tables_scroll_inside_themselves(browser, page):
    opened(browser, page, 390)
    wide = [box for box in all_of(browser, ".scroll") if box.is_displayed()]
    over = "return arguments[0].scrollWidth > arguments[0].clientWidth"
    assert any(browser.execute_script(over, box) for box in wide)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


WORDS = """
const lines = [];
for (const cell of document.querySelectorAll('#leaderboard th[scope=row]')) {
  const text = cell.lastChild;
  for (const word of text.data.matchAll(/[^\\s]+/g)) {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    lines.push(range.getClientRects().length);
  }
}
return lines;
"""


def test_the_leaderboard_is_readable_on_a_phone(browser, page):
    opened(browser, page, 390)
    lines = browser.execute_script(WORDS)
    assert len(lines) >= 4 and set(lines) == {1}  # no word is broken
    for row in all_of(browser, "#leaderboard tbody tr"):
        assert row.size["height"] < 90
        behind = row.find_elements("tag name", "td")[1]
        assert behind.location["x"] + behind.size["width"] <= 390


LONG_NAMES = [f"{word} of a name that is longer than anyone would want" for word in "abc"]


def changed(report, folder, change):
    """The address of the page of the same comparison after a change of its plain values."""
    values = json.loads((report.parent / "comparison.json").read_text(encoding="utf-8"))
    change(values)
    (folder / "p.html").write_text(html.render(document(values)), encoding="utf-8")
    return (folder / "p.html").as_uri()


def renamed(values, names):
    """Give the classes other names."""
    values["classes"] = names
    values["problem"]["counts"] = [[name, 15] for name in names]
    for row, name in zip(values["per_class"], names):
        row["name"] = name
    for row in values["hardest"]["rows"]:
        row["class"], row["taken_for"] = names[:2]


@pytest.mark.parametrize("width", [390, 1200])
def test_sixty_classes_with_long_names_fit(browser, report, tmp_path, width):
    def many(values):
        n = 60
        renamed(values, [f"class-number-{j:02d}-" + "unbreakable" * 8 for j in range(n)])
        values["confusion"] = [[9 - 3 * (i != j) for j in range(n)] for i in range(n)]
        row = values["per_class"][0]
        values["per_class"] = [{**row, "name": name} for name in values["classes"]]

    page = changed(report, tmp_path, many)
    errors, _ = opened(browser, page, width)
    assert errors == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert "Most frequent confusions" in browser.find_element("id", "map").text
    for card in all_of(browser, ".answers .card"):
        assert card.rect["x"] + card.rect["width"] <= width and card.rect["height"] < 900


def test_a_name_does_not_turn_the_direction_of_what_follows(browser, report, tmp_path):
    names = ["ab\u202ecd", "\u2067שלום", "عربي"]
    page = changed(report, tmp_path, lambda values: renamed(values, names))
    errors, _ = opened(browser, page, 1200)
    shown = browser.find_element("tag name", "body").get_attribute("textContent")
    assert errors == [] and not set(shown) & {"\u202e", "\u2067"}
    assert "ab\ufffdcd" in shown and "\ufffdשלום" in shown and "عربي" in shown


def test_names_of_the_language_of_the_script_are_only_names(browser, report, tmp_path):
    names = ["__proto__", "constructor", "toString"]

    def objects(values):
        renamed(values, names)
        values["map"]["names"][:3] = names

    errors, _ = opened(browser, changed(report, tmp_path, objects), 1200)
    search = browser.find_element("css selector", "#map input[type=search]")
    search.send_keys("__proto__\n")
    panel = browser.find_element("css selector", "#map .object")
    assert panel.find_element("tag name", "h3").text == "__proto__"
    assert "Class " in panel.text and "Nearest objects" in panel.text
    assert errors == [] and browser.get_log("browser") == []


def test_hostile_names_of_files_on_the_other_pages(browser, tmp_path):
    header, rows = flowers()
    write_csv(tmp_path / "t.csv", header, rows)
    new = write_csv(tmp_path / "<img src=x onerror=alert(1)>.csv", header, rows[:20])
    out = ["--out", tmp_path / "o.csv", "--force"]
    train = ["train", tmp_path / "t.csv", "--target", "species", "--method", "lda"]
    for arguments in (
        [*train, "--out", tmp_path / "m.skops", "--jobs", 1],
        ["predict", tmp_path / "m.skops", new, "--report", tmp_path / "p.html", *out],
        ["novelty", tmp_path / "t.csv", new, "--target", "species", *out],
    ):
        done = CliRunner().invoke(app, list(map(str, arguments)))
        assert done.exit_code == 0, done.output
    for page in ("p.html", "o.html"):
        errors, asked = opened(browser, (tmp_path / page).as_uri(), 390)
        assert errors == [] and len(asked) == 1 and not all_of(browser, "img")
        assert "<img src=x onerror=alert(1)>.csv" in browser.title
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_the_keyboard_skips_to_the_content_and_opens_details(browser, page):
    from selenium.webdriver import ActionChains, Keys

    opened(browser, page, 1200)
    ActionChains(browser).send_keys(Keys.TAB).perform()
    skip = browser.switch_to.active_element
    assert skip.get_attribute("class") == "skip" and skip.rect["x"] >= 0
    skip.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#content")
    details = browser.find_element("css selector", "#leaderboard details")
    details.find_element("tag name", "summary").send_keys(Keys.ENTER)
    assert details.get_attribute("open") is not None
    for box in all_of(browser, ".scroll"):  # a wide table is scrolled by the arrow keys
        assert box.get_attribute("tabindex") == "0"
