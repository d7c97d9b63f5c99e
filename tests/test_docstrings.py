"""Docstrings of the public names, by numpydoc's own rules."""

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import validate

import mahalearn

DOCS = Path(__file__).parents[1] / "docs"

# What numpydoc asks for and we do not: how lines are wrapped and ended, and sections that would say
# nothing new (See Also and an example for each method, Extended Summary).
IGNORED = {
    "GL01",  # text on the line after the quotes
    "GL02",  # closing quotes on a line of their own
    "GL03",  # blank lines
    "SS02",  # a summary may start with a symbol: "k nearest neighbours", "−d²"
    "SS05",  # summary in the infinitive
    "SS06",  # summary on one line
    "ES01",
    "SA01",
    "EX01",
    "YD01",
    "RT02",  # single return values are named, as in scikit-learn
    "PR06",  # "array-like", "int": scikit-learn's words for types
    "PR08",  # descriptions may start with a symbol of the paper
}
NAMESPACES = (
    "",
    "classifiers",
    "datasets",
    "display",
    "distributed",
    "kernels",
    "measures",
    "model_selection",
    "novelty",
    "persistence",
    "proximity",
)
# The methods of kernels, which the docstring of mahalearn.kernels describes, and scikit-learn's.
KERNEL_PROTOCOL = {"diag", "fit", "get_params", "set_params"}


def is_ours(thing):
    return (getattr(thing, "__module__", None) or "").startswith("mahalearn")


def public_objects():
    """Dotted path → class or function of the public namespaces, each once."""
    found = {}
    for namespace in NAMESPACES:
        module = import_module(f"mahalearn.{namespace}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            if is_ours(thing) and (inspect.isclass(thing) or inspect.isfunction(thing)):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def public_methods(cls):
    for name, member in inspect.getmembers_static(cls):
        inner = getattr(member, "fget", None) or getattr(member, "fn", None) or member
        inner = inspect.unwrap(getattr(inner, "__func__", inner))
        if not name.startswith("_") and is_ours(inner) and not inspect.isclass(inner):
            yield name


def described_elsewhere(cls, method):
    """Whether a method is one of a protocol, so that its own docstring need not repeat it."""
    in_base = any(method in vars(base) and is_ours(base) for base in cls.__mro__[1:])
    is_kernel = any("__call__" in vars(base) for base in cls.__mro__)
    return in_base or (method in KERNEL_PROTOCOL and is_kernel)


OBJECTS = public_objects()
METHODS = [
    (thing, method)
    for thing in OBJECTS.values()
    if inspect.isclass(thing)
    for method in public_methods(thing)
]


def problems(path, ignored=()):
    report = validate(path)
    if not report["docstring"]:
        return "no docstring"
    errors = [(code, text) for code, text in report["errors"] if code not in {*IGNORED, *ignored}]
    return "\n".join(f"{code}: {text}" for code, text in errors)


def test_every_public_name_is_covered():
    names = [n for n in mahalearn.__all__ if n != "__version__"]
    things = [getattr(mahalearn, name) for name in names]
    assert {f"{t.__module__}.{t.__qualname__}" for t in things} <= set(OBJECTS)
    assert len(METHODS) > len(names)


@pytest.mark.parametrize("path", OBJECTS)
def test_classes_and_functions(path):
    # A record lists its fields as attributes; they are its parameters, too.
    record = dataclasses.is_dataclass(OBJECTS[path]) or hasattr(OBJECTS[path], "_fields")
    ignored = {"PR01"} if record else ()
    assert not problems(path, ignored)


@pytest.mark.parametrize("path", OBJECTS)
def test_see_also_guide_and_length(path):
    """Related names, a link to a page of the guide, and a text that fits three screens."""
    docstring = inspect.getdoc(OBJECTS[path])
    assert "\nSee Also\n--------\n" in docstring
    pages = re.findall(r":doc:`[^<`]+</(\w+)>`", docstring)
    assert pages
    assert all((DOCS / f"{page}.md").exists() for page in pages), pages
    assert len(docstring.splitlines()) < 150


@pytest.mark.parametrize(("cls", "method"), METHODS, ids=lambda x: getattr(x, "__name__", x))
def test_methods(cls, method):
    ignored = {"PR01", "RT01"} if described_elsewhere(cls, method) else ()
    assert not problems(f"{cls.__module__}.{cls.__qualname__}.{method}", ignored)


@pytest.mark.parametrize("path", [p for p, t in OBJECTS.items() if hasattr(t, "get_params")])
def test_estimators_have_an_example(path):
    if inspect.signature(OBJECTS[path]).parameters:  # not the abstract Measure
        assert ">>>" in OBJECTS[path].__doc__
