"""What a release promises: one version everywhere, lower bounds that are tested, a small wheel."""

import re
import tomllib
from pathlib import Path

import mahalearn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENT = re.compile(r"^([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)(?:,<[\d.]+)?$")
# Extras that users install, and polars, whose tables the estimators take.
EXTRAS = ("measures", "bio", "transport", "plot", "progress", "cli", "distributed")


def test_one_version():
    version = mahalearn.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGES.md").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert re.search(r"^## ([\d.]+)", changes, re.MULTILINE).group(1) == version


def test_the_oldest_versions_are_the_lower_bounds():
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    others = {"all", "docs", "ecosystem", "onnx", "release", "test"}
    assert set(EXTRAS) | others == set(extras)
    for line in wanted:
        name, bound = REQUIREMENT.match(line).groups()
        assert pinned[name].removesuffix(".*").startswith(bound), line
