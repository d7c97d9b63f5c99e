"""What importing the package costs, and that it works without its extras."""

import subprocess
import sys
from pathlib import Path

import pytest

import mahalearn

ROOT = Path(mahalearn.__file__).parent
MODULES = sorted(
    ".".join(("mahalearn", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    # The command line is an extra of its own.
    if path.stem not in ("__main__", "command") and "cli" not in path.relative_to(ROOT).parts
)
EXTRAS = (
    "jinja2",
    "matplotlib",
    "numba",
    "ot",
    "pandas",
    "parasail",
    "polars",
    "rapidfuzz",
    "rich",
)


def run(*lines):
    """The output of a fresh interpreter."""
    command = [sys.executable, "-W", "error", "-c", "\n".join(lines)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("module", ["mahalearn", "mahalearn.proximity"])
def test_importing_the_package_imports_nothing_heavy(module):
    loaded = run("import sys", f"import {module}", "print(*sys.modules)").split()
    assert module in loaded
    assert not {"numpy", "scipy", "sklearn", *EXTRAS} & set(loaded)


def test_every_module_imports_without_the_extras():
    """An extra that is missing must not be missed before it is needed."""
    run(
        "import sys",
        "from importlib import import_module",
        f"for name in {EXTRAS!r}: sys.modules[name] = None",
        f"for name in {MODULES!r}: import_module(name)",
        "import mahalearn",
        "for name in mahalearn.__all__: getattr(mahalearn, name)",
    )
    assert len(MODULES) > 40


def test_extras_are_not_imported_by_the_way():
    """Installed or not, an extra is loaded by the function that needs it."""
    loaded = run(
        "import sys, mahalearn, mahalearn.proximity, mahalearn.display, mahalearn.datasets",
        "for name in mahalearn.__all__: getattr(mahalearn, name)",
        "for name in mahalearn.proximity.__all__: getattr(mahalearn.proximity, name)",
        "print(*sys.modules)",
    ).split()
    assert "mahalearn.kernels" in loaded
    # scikit-learn itself loads pandas and rich where they are installed.
    assert not {"matplotlib", "numba", "ot", "parasail", "rapidfuzz"} & set(loaded)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'NoSuchThing'"):
        _ = mahalearn.NoSuchThing
