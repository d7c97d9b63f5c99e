"""README and docs: their examples run, their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def examples(page):
    """The code blocks of a page with prompts, as one test: they share their names."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    text = "\n".join(block for block in blocks if block.startswith(">>>"))
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


def test_the_pages_are_found():
    assert examples(ROOT / "README.md").examples
    assert (ROOT / "docs" / "index.md") in PAGES


@pytest.mark.parametrize("page", [p for p in PAGES if examples(p).examples], ids=lambda p: p.name)
def test_examples_run(page):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed, _ = runner.run(examples(page), out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith("gallery/"):  # made of the examples
            page_path = Path(target).relative_to("gallery").with_suffix(".py").as_posix()
            target = f"../examples/{page_path}".replace("index.py", "README.rst")
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_fits_the_column(page):
    text = page.read_text(encoding="utf-8")
    code = "".join(BLOCK.findall(text)).splitlines()
    code += re.findall(r"^    (mahalearn .*)", text, re.MULTILINE)
    assert not [line for line in code if len(line) > 78]


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*/plot_*.py")), ids=lambda p: p.stem
)
def test_gallery_and_guide_link_to_each_other(script):
    """Each script names its page of the guide, which names the script."""
    name = re.search(r"^Guide: :doc:`/(\w+)`\.$", script.read_text(encoding="utf-8"), re.MULTILINE)
    page = ROOT / "docs" / f"{name[1]}.md"
    assert f"gallery/{script.parent.name}/{script.stem}.rst" in page.read_text(encoding="utf-8")
