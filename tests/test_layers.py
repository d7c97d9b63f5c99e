"""The import arrow of the package, read from the source: lower layers never import higher ones."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import mahalearn

ROOT = Path(mahalearn.__file__).parent
# Three floors. A layer may import itself and what stands before it.
LIBRARY = [
    {"_array_api", "_lazy", "_sparse", "_typing"},
    {"formulas"},
    {"_memory", "_progress", "_validation", "display", "results"},
    {"measures", "table_encoder"},
    {"datasets", "kernels"},
    {"training"},
    {"_base"},
    {"classifiers", "proximity"},
    {"model_selection"},
    {"novelty"},
    {"distributed", "onnx", "persistence"},
]
APPLICATION = [
    {"app.words", "app.workers"},
    {"app.reading"},
    {"app.comparing"},
    {"app.report"},
    {"app.cli"},
]
PAPERS = [{"papers"}]
# Within a package of the application a module may import what stands before it.
ORDER = {
    "reading": "problem source columns layout overview workbooks formats text_tables tables "
    "encoder schema changed_columns matrices objects large read",
    "comparing": "methods plan cells progress crossval ranking model winner explanations "
    "predictions typicality object_map findings compare prediction_quality everything diff",
    "report": "drawing figures html blocks answers performance understanding context "
    "comparison novelty prediction diff_page notebook",
    "cli": "_terminal _large _options _data _inspect _predict _compare _doctor _diff "
    "_novelty _export app",
}
LAYERS = [*LIBRARY, *APPLICATION, *PAPERS, {"__main__"}]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
PACKAGES = ROOT / "__init__.py", ROOT / "app" / "__init__.py"
MODULES = sorted(path for path in ROOT.rglob("*.py") if path not in PACKAGES)
# The command line starts the application.
ENTRANCE = {("__main__", "app.cli")}


def layer_of(parts):
    """The layer of a module, by its path from the root."""
    name = ".".join(parts[:2])
    return name if name in RANK else parts[0]


def imported_layers(path):
    """Layers of this package that a module imports, wherever the import stands."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = tuple(node.module.split(".")) if node.module else ()
            names = [(alias.name,) for alias in node.names]
            targets = [(*module, *name) for name in names] if len(module) < 2 else [module]
            for target in targets:
                yield layer_of((*base, *target))
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            assert not name.startswith("mahalearn"), f"{path.name} imports the package by name"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_arrow(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    own = layer_of(parts)
    assert own in RANK, f"{own} has no place in LAYERS"
    for name in imported_layers(path):
        assert name == own or RANK[name] < RANK[own], f"{own} must not import {name}"


@pytest.mark.parametrize("package", ORDER)
def test_modules_of_the_application_have_an_order(package):
    order, folder = ORDER[package].split(), ROOT / "app" / package
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", *order}
    for place, name in enumerate(order):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                found = [node.module] if node.module else [alias.name for alias in node.names]
                assert set(found) <= set(order[:place]), f"{name} must not import {found}"


def test_the_map_of_contributing_names_every_layer():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tree = text[text.index("```") : text.index("```", text.index("```") + 3)]
    for layer in RANK:
        if not layer.startswith("_"):
            name = layer if layer.startswith("app") else layer.partition(".")[0]
            assert name.replace(".", "/") in tree, layer


def test_formulas_need_only_numpy_and_scipy():
    for path in (ROOT / "formulas").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert node.module.split(".")[0] in {"numpy", "scipy", "typing"}, path.name
            if isinstance(node, ast.Import):
                assert {a.name.split(".")[0] for a in node.names} <= {"numpy", "scipy"}, path.name


def test_no_message_below_the_command_line_names_a_flag():
    """A user of Python has no flags; the command line says what its options are called."""
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).parts
        if place[:2] == ("app", "cli") or place[0] == "papers":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        flags = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"(^|[\s(])--[a-z]", node.value)
        ]
        assert not flags, f"{path.name}: {flags}"


def test_names_stand_in_one_place():
    """A name of a class or a module means one thing; a method may be named as its formulas are."""
    classes, modules = Counter(), Counter()
    for path in MODULES:
        tree = ast.parse(path.read_text())
        classes.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
        parts = path.relative_to(ROOT).parts
        if path.stem != "__init__" and parts[0] != "formulas":
            modules[path.stem] += 1
    assert len(classes) > 150 and len(modules) > 150
    assert [name for name, count in (classes + modules).items() if count > 1] == []
