"""Every tool of docs/ecosystem.md has a program that runs here; without the tool it is skipped."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = sorted((DOCS / "recipes").glob("with_*.py"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe(path):
    tool = path.stem.removeprefix("with_")
    if tool != "inspection":  # a part of scikit-learn
        pytest.importorskip(tool, exc_type=ImportError)
    runpy.run_path(str(path))


def test_every_program_is_on_the_page():
    page = (DOCS / "ecosystem.md").read_text(encoding="utf-8")
    assert set(re.findall(r"recipes/(with_\w+\.py)", page)) == {path.name for path in RECIPES}
    anchors = set(re.findall(r"^\((\S+)\)=$", page, re.MULTILINE))
    links = re.findall(r"^\|.*\(#(\w+)\) \|$", page, re.MULTILINE)
    assert len(links) == len(RECIPES) + 2  # ONNX and tensors have test files
    assert set(links) == anchors
