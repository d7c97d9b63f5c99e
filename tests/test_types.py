"""Types of the public interface: names, annotations, and the words of options."""

import ast
import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

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
from mahalearn import KernelFisherDiscriminant, KernelQuadraticDiscriminant, MahalanobisSVC
from mahalearn.datasets import two_mixtures
from mahalearn.measures import EditDistance
from mahalearn.model_selection import KernelSearchCV

X, y = two_mixtures(100, random_state=0)
model = KernelQuadraticDiscriminant("RC+", reg=0.1, gamma=0.5).fit(X, y)
labels: np.ndarray = model.predict(X)
words = KernelQuadraticDiscriminant(kernel=EditDistance()).fit(["ape", "oak"], ["a", "o"])
for variant in ("RC+", "FK+"):
    KernelQuadraticDiscriminant(variant)
search = KernelSearchCV(model, {"reg": [0.1, 1.0], "gamma": ["scale", 0.1]}, cv=3)
proba: np.ndarray = search.fit(X, y, groups=None).predict_proba(X)
grid = {"C": [1, 10], "delta": np.array([0.5, 1.0])}
KernelSearchCV(MahalanobisSVC(), grid, n_jobs=2).fit(X.tolist(), y.tolist())
KernelSearchCV(KernelFisherDiscriminant(), {"kernel": ["rbf", lambda A, B: A @ B.T]})
"""
# A line, and the kind of error that it is.
WRONG = {
    "from mahalearn import KernelQuadraticDiscriminent": "attr-defined",
    "from mahalearn.measures import EditDistence": "attr-defined",
    "mahalearn.KernelQuadraticDiscriminant(varaint='RC+')": "call-arg",
    "mahalearn.KernelSearchCV(gamma=0.1)": "call-arg",
    "mahalearn.KernelQuadraticDiscriminant(reg_on=3)": "arg-type",
    "mahalearn.KernelQuadraticDiscriminant('XX')": "arg-type",
    "mahalearn.KernelFisherDiscriminant(spectrum='flipped')": "arg-type",
    "mahalearn.GaussianClassifier(covariance='diagonal')": "arg-type",
    "mahalearn.measures.Elastic('dwt')": "arg-type",
    "mahalearn.measures.pairwise(['a'], 'edit', symmetrize='sum')": "arg-type",
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


def words(annotation):
    """The words of all Literals within an annotation."""
    if get_origin(annotation) is Literal:
        return {word for word in get_args(annotation) if isinstance(word, str)}
    return {word for part in get_args(annotation) for word in words(part)}


def test_the_words_of_an_option_are_those_of_its_docstring():
    count, owners = 0, {thing.__qualname__: thing for thing in OBJECTS.values()}
    for name, function in functions():
        documented_by = owners[name.split(".")[0]] if name.endswith("__init__") else function
        doc = inspect.getdoc(documented_by) or ""
        for parameter, annotation in get_type_hints(function).items():
            entry = re.search(rf"^{parameter} : (.*)$", doc, re.MULTILINE)
            if entry and words(annotation):
                count += 1
                documented = set(re.findall(r'"([^"]*)"', entry.group(1)))
                assert documented == words(annotation), f"{name}({parameter})"
    assert count > 60


@pytest.mark.parametrize(
    "estimator, parameter",
    [
        (mahalearn.KernelQuadraticDiscriminant, "variant"),
        (mahalearn.KernelQuadraticDiscriminant, "reg_on"),
        (mahalearn.KernelQuadraticDiscriminant, "spectrum"),
        (mahalearn.KernelQuadraticDiscriminant, "offset"),
        (mahalearn.GaussianClassifier, "covariance"),
        (mahalearn.GaussianClassifier, "missing"),
        (mahalearn.LandmarkMap, "spectrum"),
        (mahalearn.ProximityKernel, "kind"),
    ],
)
def test_the_words_of_an_option_are_those_that_fit_takes(estimator, parameter):
    with pytest.raises(ValueError) as caught:
        estimator().set_params(**{parameter: "?"}).fit([[0.0, 1.0], [1.0, 0.0]] * 2, [0, 1] * 2)
    listed = set(re.findall(r"'([^']+)'", str(caught.value))) - {"?"}
    assert listed == words(get_type_hints(estimator.__init__)[parameter])


def test_signatures_are_readable():
    for name, function in functions():
        text = str(inspect.signature(function))
        assert "_array_like" not in text and "_SupportsArray" not in text, name


def test_the_public_interface_is_annotated():
    bare, count = [], 0
    for name, function in functions():
        count += 1
        hints = function.__annotations__
        names = [*inspect.signature(function).parameters, "return"]
        bare += [f"{name}({p})" for p in names if p not in ("self", "cls", *hints)]
    assert count > 200
    assert bare == []
