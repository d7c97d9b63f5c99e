"""What type checkers see: the public names, their parameters, and annotations on all of them."""

import ast
import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mahalearn
from test_docstrings import OBJECTS, is_ours

ROOT = Path(mahalearn.__file__).parent
PACKAGES = (
    "classifiers",
    "datasets",
    "kernels",
    "measures",
    "model_selection",
    "novelty",
    "proximity",
)
MODULES = ("display", "persistence")

RIGHT = """
import numpy as np
from mahalearn import KernelQuadraticDiscriminant, KernelSearchCV, MahalanobisSVC
from mahalearn.datasets import two_mixtures
from mahalearn.measures import EditDistance
from mahalearn.classifiers import KernelFisherDiscriminant

X, y = two_mixtures(100, random_state=0)
model = KernelQuadraticDiscriminant("RC+", reg=0.1, gamma=0.5).fit(X, y)
labels: np.ndarray = model.predict(X)
words = KernelQuadraticDiscriminant(kernel=EditDistance()).fit(["ape", "oak"], ["a", "o"])
for variant in ("RC+", "FK+"):
    KernelQuadraticDiscriminant(variant)
search = KernelSearchCV(
    KernelQuadraticDiscriminant("RC+"), {"reg": [0.1, 1.0], "gamma": ["scale", 0.1]}, cv=3
)
proba: np.ndarray = search.fit(X, y, groups=None).predict_proba(X)
KernelSearchCV(MahalanobisSVC(), {"C": [1, 10]}, n_jobs=2).fit(X.tolist(), y.tolist())
KernelSearchCV(KernelFisherDiscriminant(), {"kernel": ["rbf", lambda A, B: A @ B.T]})
"""
# A line, and the kind of error that it is.
WRONG = {
    "from mahalearn import KernelQuadraticDiscriminent": "attr-defined",
    "from mahalearn.measures import EditDistence": "attr-defined",
    "mahalearn.KernelQuadraticDiscriminant(varaint='RC+')": "call-arg",
    "mahalearn.KernelSearchCV(gamma=0.1)": "call-arg",
    "mahalearn.KernelQuadraticDiscriminant(reg_on=3)": "arg-type",
    "mahalearn.MahalanobisSVC(C='large')": "arg-type",
    "mahalearn.MahalanobisSVC().fit(3, [0, 1])": "arg-type",
    "mahalearn.MeasureKernel()": "call-arg",
    "mahalearn.save_model(1)": "call-arg",
    "mahalearn.model_about('a.skops') + 1": "operator",
}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """A function that runs mypy, as an installed package's user does, on some source text."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = true\n")

    def run(text):
        (folder / "snippet.py").write_text(text)
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "snippet.py"]
        env = {**os.environ, "MYPYPATH": str(ROOT.parent)}
        result = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=600
        )
        assert result.returncode in (0, 1), result.stderr
        return [line for line in result.stdout.splitlines() if line.startswith("snippet.py:")]

    return run


def test_right_calls_are_no_errors(mypy):
    assert mypy(RIGHT) == []


def test_wrong_names_and_types_are_errors(mypy):
    lines = ["import mahalearn", "import mahalearn.measures", *WRONG]
    found = mypy("\n".join(lines))
    errors = {}
    for line in found:
        _, number, kind, text = line.split(":", 3)
        if kind.strip() == "error":
            errors.setdefault(lines[int(number) - 1], []).append(text)
    assert dict.fromkeys(WRONG, True) == {
        line: any(f"[{code}]" in text for text in errors.get(line, []))
        for line, code in WRONG.items()
    }
    assert set(errors) == set(WRONG)


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_the_stub_has_the_names_of_the_table(package):
    module = import_module(f"mahalearn.{package}".rstrip("."))
    tree = ast.parse((ROOT / package / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            base = ("mahalearn", *([package] if package else []))[: 2 - node.level + bool(package)]
            home = ".".join((*base, node.module))
            homes.update({alias.name: home for alias in node.names})
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            names = ast.literal_eval(node.value)
    assert sorted(names) == sorted(module.__all__)
    for name in set(names) - {"__version__"}:
        # The stub imports from the module that the table names.
        assert getattr(import_module(homes[name]), name) is getattr(module, name)


@pytest.mark.parametrize("name", [*PACKAGES, *MODULES])
def test_every_public_package_says_what_it_has(name):
    module = import_module(f"mahalearn.{name}")
    assert module.__all__ == sorted(module.__all__) and len(set(module.__all__)) > 1
    assert all(hasattr(module, public) for public in module.__all__)
    assert set(module.__all__) <= set(dir(module))
    scope = {}
    exec(f"from mahalearn.{name} import *", scope)
    assert set(module.__all__) <= set(scope)


def test_every_search_is_in_model_selection_and_every_classifier_in_classifiers():
    searches = {n for n in mahalearn.__all__ if n.endswith("CV")}
    assert searches == set(import_module("mahalearn.model_selection").__all__)
    classifiers = import_module("mahalearn.classifiers")
    homes = {n: getattr(mahalearn, n).__module__ for n in mahalearn.__all__ if n[0].isupper()}
    own = {n for n, home in homes.items() if home.startswith("mahalearn.classifiers")}
    assert own == set(classifiers.__all__)


def functions():
    """The constructors and public methods of public classes, and public functions."""
    for thing in OBJECTS.values():
        if not inspect.isclass(thing):
            yield thing.__qualname__, thing
            continue
        for name, member in inspect.getmembers_static(thing):
            inner = getattr(member, "fget", None) or getattr(member, "fn", None) or member
            inner = inspect.unwrap(getattr(inner, "__func__", inner))
            public = not name.startswith("_") or name in ("__init__", "__call__")
            if public and inspect.isfunction(inner) and is_ours(inner):
                yield f"{thing.__qualname__}.{name}", inner


def test_the_public_interface_is_annotated():
    bare, count = [], 0
    for name, function in functions():
        count += 1
        hints = function.__annotations__
        names = [*inspect.signature(function).parameters, "return"]
        bare += [f"{name}({p})" for p in names if p not in ("self", "cls", *hints)]
    assert count > 200
    assert bare == []
