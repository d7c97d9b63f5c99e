"""A document as Markdown, for the documentation; figures become files beside it."""

from ..app.report.figures import FIGURES, drawn
from ..app.report.html import VERDICTS, alternative

_SIGNS = {"agree": "", "differ": " ✗", "apart": "", "": ""}


def render(document, figure_folder="images"):
    """Text of a document, and its figures.

    Parameters
    ----------
    document : dict
        See :mod:`mahalearn.app.report`.
    figure_folder : str, default="images"
        Where the text looks for the figures.

    Returns
    -------
    text : str
        Markdown. A cell that differs from the published number is marked ✗.
    figures : dict
        Name of a file -> SVG text.
    """
    lines, figures = [f"# {document['title']}", ""], {}
    for text in document.get("lead", ()):
        lines += [_plain(text), ""]
    for section in document["sections"]:
        lines += [f"## {_plain(section['title'])}", ""]
        for block in section["blocks"]:
            if block["kind"] in FIGURES:
                name = f"{section['id']}-{len(figures) + 1}"
                label = alternative(block)
                figures[f"{name}.svg"] = drawn(block).picture.svg(name, label, themed=False)
                lines += [f"![{_plain(block['title'])}]({figure_folder}/{name}.svg)", ""]
            elif block["kind"] in _BLOCKS:
                lines += [*_BLOCKS[block["kind"]](block), ""]
    return "\n".join(lines), figures


def _plain(text):
    """Text that no Markdown reader takes for markup."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _table(block):
    lines = [f"**{_plain(block['caption'])}**", ""] if block.get("caption") else []
    heads = [c if isinstance(c, str) else c["text"] for c in block["columns"]]
    lines.append("| " + " | ".join([_plain(block["corner"]), *map(_plain, heads)]) + " |")
    lines.append("|---" * (len(heads) + 1) + "|")
    for row in block["rows"]:
        lines.append("| " + " | ".join([_plain(row["label"]), *map(_cell, row["cells"])]) + " |")
    return lines


def _cell(cell):
    if isinstance(cell, str):
        return _plain(cell)
    beside = f" / {cell['detail']}" if cell.get("detail") else ""
    return _plain(cell["text"] + beside) + _SIGNS.get(cell.get("state", ""), "")


def _statements(block):
    return [
        f"- {_plain(item['text'])} **{VERDICTS[item['verdict']][1]}**"
        + (f" ({_plain(item['detail'])})" if item.get("detail") else "")
        for item in block["items"]
    ]


_BLOCKS = {
    "text": lambda block: [_plain(block["text"])],
    "list": lambda block: [f"- {_plain(item)}" for item in block["items"]],
    "table": _table,
    "statements": _statements,
}
