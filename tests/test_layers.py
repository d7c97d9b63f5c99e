"""The import arrow of the package, read from the source: lower layers never import higher ones."""

import ast
from pathlib import Path

import pytest

import mahalearn

ROOT = Path(mahalearn.__file__).parent
# Each layer may import itself and what stands before it.
LAYERS = [
    {"formulas"},
    {"_objects", "_progress", "_validation", "_words", "display", "results"},
    {"_mahalanobis_kernel", "_precomputed_kernel", "measures"},
    {"datasets", "kernels"},
    {"_training", "io"},
    {"_base"},
    {"classifiers", "proximity"},
    {"model_selection"},
    {"comparison", "experiments", "persistence"},
    {"report"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported_layers(path):
    """Top-level names of this package that a module imports, wherever the import stands."""
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            yield from [node.module.split(".")[0]] if node.module else [n.name for n in node.names]
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            assert not name.startswith("mahalearn"), f"{path.name} imports the package by name"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_arrow(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert own in RANK, f"{own} has no place in LAYERS"
    for name in imported_layers(path):
        assert name == own or RANK[name] < RANK[own], f"{own} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_formulas_need_only_numpy_and_scipy():
    for path in (ROOT / "formulas").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.split(".")[0] in {"numpy", "scipy", "typing"}, path.name
            if isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= {"numpy", "scipy"}, path.name
