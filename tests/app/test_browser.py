"""The pages in a real browser: no errors, no requests, nothing run that came from the data."""

import shutil

import pytest
from own_data import NASTY, flowers, write_csv
from typer.testing import CliRunner

from mahalearn.app.cli.app import app

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
def page(tmp_path_factory):
    """The page of a comparison whose classes and columns try to be markup."""
    folder = tmp_path_factory.mktemp("page")
    header, rows = flowers()
    header = [header[0], "<b>height</b>", '"><img src=x onerror=alert(2)>', *header[3:]]
    write_csv(folder / "t.csv", header, [[f"<i>{r[0]}</i>", *r[1:]] for r in rows])
    arguments = ["compare", folder / "t.csv", "--target", "species", "--out", folder / "out"]
    arguments += ["--methods", "kqd,lda", "--jobs", 1, "--repeats", 1]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return (folder / "out" / "report.html").as_uri()


def opened(browser, page, width, dark=False):
    """The page at a width; (console messages, addresses asked for)."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(page)
    asked = [
        entry["message"].partition('"url":"')[2].partition('"')[0]
        for entry in browser.get_log("performance")
        if "Network.requestWillBeSent" in entry["message"]
    ]
    return browser.get_log("browser"), asked


@pytest.mark.parametrize("width", [1200, 390])
def test_no_errors_and_no_requests(browser, page, width):
    messages, asked = opened(browser, page, width)
    assert messages == []
    assert [a for a in asked if not a.startswith(("file:", "data:"))] == []


def test_everything_is_there(browser, page):
    opened(browser, page, 1200)
    assert len(browser.find_elements("css selector", "section")) == 6
    assert len(browser.find_elements("css selector", "#leaderboard tbody tr")) == 2
    assert len(browser.find_elements("css selector", "svg.interval")) == 2
    assert len(browser.find_elements("css selector", "#confusion tbody tr")) == 3
    figures = browser.find_elements("css selector", "svg.figure")
    assert len(figures) >= 4
    assert all(figure.size["height"] > 50 for figure in figures)


def test_what_looks_like_markup_is_shown(browser, page):
    opened(browser, page, 1200)
    assert browser.find_elements("css selector", "script, img, i, b") == []
    text = browser.find_element("tag name", "body").text
    assert NASTY in text
    with pytest.raises(Exception, match="no such alert"):
        browser.switch_to.alert.accept()


def test_a_phone_needs_no_sideways_scrolling(browser, page):
    opened(browser, page, 390)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= 390
    for figure in browser.find_elements("css selector", "svg.figure"):
        assert figure.size["width"] <= 390


def test_dark_and_light(browser, page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    opened(browser, page, 1200, dark=True)
    dark = browser.execute_script(ground)
    opened(browser, page, 1200)
    assert dark != browser.execute_script(ground) == "rgb(255, 255, 255)"


WORDS = """
const lines = [];
for (const cell of document.querySelectorAll('#leaderboard th[scope=row]')) {
  const text = cell.firstChild;
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
    assert len(lines) > 4 and set(lines) == {1}  # no word is broken
    for row in browser.find_elements("css selector", "#leaderboard tbody tr"):
        assert row.size["height"] < 90
        behind = row.find_elements("tag name", "td")[1]
        assert behind.location["x"] + behind.size["width"] <= 390
