"""Pictures of pages in a headless browser: ``python docs/_figures/pages.py``.

Needs selenium, chromium and chromedriver. Writes images/report.png (the first screen) and
images/map.png (the map beside the confusion matrix) of ``mahalearn compare glass``.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from pathlib import Path

from selenium import webdriver

IMAGES = Path(__file__).parents[1] / "images"
METHODS = "kqd,forest,boosting,lda,gaussian,svm,knn"


def browser():
    """A headless browser."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def picture(driver, page, width, dark=False, selector=None, height=None):
    """PNG bytes of a page at a width: of one element, or of the first `height` pixels."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(Path(page).resolve().as_uri())
    box = "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
    box += "return [b.x, b.y + scrollY, b.width, b.height]"
    x, y, w, h = driver.execute_script(box, selector or "html")
    clip = {"x": x, "y": y, "width": w, "height": min(h, height or h), "scale": 1}
    options = {"clip": clip, "captureBeyondViewport": True, "format": "png"}
    return b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="?", help="a report.html; by default that of glass")
    parser.add_argument(
        "--all", metavar="DIR", help="whole pages, light, dark and phone, to look at"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.page
        if page is None:
            command = [sys.executable, "-m", "mahalearn", "compare", "glass", "--repeats", "1"]
            subprocess.run([*command, "--methods", METHODS, "--out", folder], check=True)
            page = f"{folder}/report.html"
        driver = browser()
        try:
            if options.all:
                for name, width, dark in (("light", 1280, 0), ("dark", 1280, 1), ("phone", 390, 0)):
                    Path(options.all, f"{name}.png").write_bytes(picture(driver, page, width, dark))
                return
            first = picture(driver, page, 1280, height=760)
            (IMAGES / "report.png").write_bytes(first)
            (IMAGES / "map.png").write_bytes(picture(driver, page, 1280, selector="#map"))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
