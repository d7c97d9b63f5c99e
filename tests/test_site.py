"""The site builds without a warning (its gallery is not run here), and its links hold."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

ROOT = Path(__file__).parents[1]
API = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("api*.md")))
PACKAGES = ("", "classifiers", "datasets", "display", "distributed", "kernels", "measures")
PACKAGES += ("model_selection", "novelty", "persistence", "proximity")
# Tables that a page describes in a sentence.
IN_PROSE = {"MEASURES"}


def listed():
    """Names of the API reference, with the modules that stand before them."""
    module, names = "", set()
    for line in API.splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            names.add(f"{module}.{line.strip()}")
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_has_every_public_name(package):
    module = import_module(f"mahalearn.{package}".rstrip("."))
    short = {name.rpartition(".")[2] for name in listed()}
    missing = set(module.__all__) - short - IN_PROSE - {"__version__"}
    assert not missing, f"docs/api*.md lack {sorted(missing)}"
    assert all(name in API for name in IN_PROSE)


def test_the_reference_names_nothing_twice_and_nothing_else():
    names = sorted(listed())
    assert len(names) > 60
    assert len({name.rpartition(".")[2] for name in names}) == len(names)
    for name in names:
        module, _, short = name.rpartition(".")
        assert hasattr(import_module(module), short), name


def test_every_name_of_the_reference_has_an_example():
    things = (name.rpartition(".")[::2] for name in sorted(listed()))
    lacking = [
        short
        for module, short in things
        if ">>>" not in (getattr(import_module(module), short).__doc__ or "")
    ]
    assert not lacking, f"the reference promises an example; none in {lacking}"


def test_the_site_builds_without_warnings_and_its_links_hold(tmp_path):
    pytest.importorskip("sphinx_gallery")
    skipped = shutil.ignore_patterns("_build", "gallery", "generated", "__pycache__")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    for name in ("CHANGES.md", "CONTRIBUTING.md", "SECURITY.md"):
        shutil.copy(ROOT / name, tmp_path)
    site = tmp_path / "site"
    build = ["-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0"]
    for words in ([*build, tmp_path / "docs", site], [ROOT / ".ci" / "check_site.py", site]):
        found = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.fixture
def pages():
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    return import_module("pages")


def test_a_number_stays_on_one_line_with_its_unit(pages):
    """Not in code, which is copied."""
    document = publish_doctree("29 % against 0.17 ± 0.19, ``7 %``")
    pages.Unbroken(document).apply()
    assert document.astext() == "29\u00a0% against 0.17\u00a0±\u00a00.19, 7 %"


def test_indices_stand_below_the_line(pages):
    """Not in code, and not in names of parameters."""
    document = publish_doctree(
        "k\u0303_xx, n_jC_j, max_{k≠j} d²_k(x); ``k_x``, n_jobs, X_train, **p_j**"
    )
    pages.Subscripts(document).apply()
    indices = [index.astext() for index in document.findall(nodes.subscript)]
    assert indices == ["xx", "j", "j", "k≠j", "k"]
    assert document.astext() == "k\u0303xx, njCj, maxk≠j d²k(x); k_x, n_jobs, X_train, p_j"


@pytest.mark.parametrize(("cell", "classes"), [("words", ["words"]), ("−.31 ± .02", [])])
def test_a_phone_stacks_tables_of_words(pages, cell, classes):
    document = publish_doctree(
        f"===  ==========\n1 a  head\n===  ==========\nx    {cell}\n===  =========="
    )
    pages.Stacked(document).apply()
    assert document.next_node(nodes.table)["classes"] == classes
