"""Docstrings as they are written: neither |λ| nor classes_ is markup."""

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


def setup(app):
    """Before numpydoc, which runs with the priority 500."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
