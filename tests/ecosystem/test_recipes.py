"""Every line of docs/ecosystem.md runs: a recipe for each tool, skipped where the tool is missing."""

import re
import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RECIPES = sorted((HERE / "recipes").glob("with_*.py"))
PAGE = HERE.parents[1] / "docs" / "ecosystem.md"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe(path):
    tool = path.stem.removeprefix("with_")
    if tool != "inspection":  # a part of scikit-learn
        pytest.importorskip(tool, exc_type=ImportError)
    runpy.run_path(str(path))


def test_every_recipe_is_a_line_of_the_page_and_every_line_is_run():
    linked = set(re.findall(r"\]\(\S*/tests/ecosystem/(\S+?)\)", PAGE.read_text(encoding="utf-8")))
    scripts = {f"recipes/{path.name}" for path in RECIPES}
    tests = {path.name for path in HERE.glob("test_*.py")} - {Path(__file__).name}
    assert linked == scripts | tests
