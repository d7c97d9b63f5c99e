"""Docstrings as they are written: neither |λ| nor classes_ is markup."""

import inspect
import re

MARKUP = re.compile(r"(``[^`]+``|`[^`]+`_?|:\w+:`[^`]+`)")
ATTRIBUTE = re.compile(r"(?<![\w`.\\])([A-Za-z]\w*(?:\.\w+)*)_(?![\w`])")
BAR = re.compile(r"(?<!\\)\|")
HEADER = re.compile(r"^(\s*[\w, *]+ : )(.*)$")


def escape(text):
    """The text with what docutils would take for markup escaped, but for what is marked."""
    parts = MARKUP.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = BAR.sub(r"\\|", ATTRIBUTE.sub(r"\1\\_", parts[i]))
    return "".join(parts)


def process(app, what, name, thing, options, lines):
    """Escape prose; examples, literal blocks and the names of parameters stay."""
    literal = None
    example = False
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith((">>>", "...")):
            example = True
        if not line.strip():
            example = False
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not example:
            if header := HEADER.match(line):
                lines[i] = header[1] + escape(header[2])
            elif not re.fullmatch(r"\s*[\w, *]+_", line):
                lines[i] = escape(line)
            if line.rstrip().endswith("::"):
                literal = indent


def skip(app, what, name, thing, skipped, options):
    """Leave out the protocol between classifiers and searches: no sections, no trailing _."""
    inner = inspect.unwrap(getattr(thing, "fget", None) or thing)
    module = getattr(inner, "__module__", None) or ""
    ours = module.startswith(("mahalearn._base", "mahalearn.classifiers"))
    if ours and what == "class" and not inspect.isclass(inner) and not name.endswith("_"):
        return "\n---" not in (inspect.getdoc(inner) or "") or None
    return None


def setup(app):
    """Before numpydoc, which runs with the priority 500."""
    app.connect("autodoc-process-docstring", process, priority=100)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
