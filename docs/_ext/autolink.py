"""Names of classes and functions in the guide, written as code, become links to their pages.

Also: examples end without an empty line, and calls in tables may break.
"""

import re
from importlib import import_module
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

import mahalearn

PACKAGES = ("measures", "datasets", "display", "novelty", "proximity")
NAME = re.compile(r"^(?:mahalearn\.(?:\w+\.)?)?(\w+)(\(.*\))?$", re.DOTALL)
CELL = re.compile(r"<td>.*?</td>", re.DOTALL)
PRE = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')
BREAK = re.compile(r"([(,=])(?=[^)])")
FOREIGN = re.compile(r"^(py:\w+) (sklearn[\w.]+)\.(\w+) ", re.MULTILINE)


def addresses():
    """Short name → full name: ours, and scikit-learn's where there is no other of that name."""
    text = (Path(__file__).parents[1] / "_inventories" / "scikit-learn.txt").read_text("utf-8")
    found = {name: f"{module}.{name}" for _, module, name in FOREIGN.findall(text)}
    for package in PACKAGES:
        # Functions such as load and names are words; classes and the two below are not.
        for name in import_module(f"mahalearn.{package}").__all__:
            if (name[0].isupper() and not name.isupper()) or name in ("pairwise", "diagnose"):
                found[name] = f"mahalearn.{package}.{name}"
    found.update({name: f"mahalearn.{name}" for name in mahalearn.__all__ if name[0] != "_"})
    return found


def link(app, doctree):
    """Wrap literals that are such names, but not in the reference."""
    page = app.env.docname
    for node in doctree.findall(nodes.literal_block):  # no empty line at the end of an example
        text = node.astext().rstrip("\n")
        node.rawsource, node[:] = text, [nodes.Text(text)]
    if page.startswith("generated/") or page in ("changes", "contributing"):
        return
    for node in list(doctree.findall(nodes.literal)):
        found = NAME.match(node.astext())
        name = app.mahalearn_addresses.get(found[1]) if found else None
        inside = isinstance(node.parent, nodes.reference | nodes.title | pending_xref)
        if name is None or inside:
            continue
        reference = pending_xref(
            "", refdomain="py", reftype="obj", reftarget=name, refdoc=page, refwarn=False
        )
        node.replace_self(reference)
        reference += node


def breakable(app, page, template, context, doctree):
    """Let calls in tables break after a parenthesis, a comma or an equals sign."""
    if "body" in context:
        context["body"] = CELL.sub(
            lambda cell: PRE.sub(lambda code: BREAK.sub(r"\1<wbr>", code[0]), cell[0]),
            context["body"],
        )


def setup(app):
    """After reading, before references are resolved; and before pages are written."""
    app.mahalearn_addresses = addresses()
    app.connect("doctree-read", link)
    app.connect("html-page-context", breakable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
