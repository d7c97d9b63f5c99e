"""A document as one HTML page that needs nothing else: no network, no scripts. All text escaped."""

from html import escape
from importlib.resources import files

from . import plots, svg

VERDICTS = {True: ("yes", "confirmed"), False: ("no", "not confirmed"), None: ("", "not measured")}


def render(document):
    """The page of a document (see :mod:`mahalearn.app.report`), as text."""
    style = (files(__package__) / "page.css").read_text(encoding="utf-8")
    title = escape(document["title"])
    sections = document["sections"]
    links = " ".join(
        f'<a href="#{escape(s["id"], quote=True)}">{escape(s.get("short", s["title"]))}</a>'
        for s in sections
    )
    lead = "".join(f"<p>{escape(text)}</p>" for text in document.get("lead", ()))
    body = "".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{lead}\n<nav>{links}</nav>\n{body}\n"
        f"<footer>{escape(document.get('footer', ''))}</footer>\n</body>\n</html>\n"
    )


def _section(section):
    blocks = "\n".join(_BLOCKS[block["kind"]](block) for block in section["blocks"])
    identity = escape(section["id"], quote=True)
    return f'<section id="{identity}"><h2>{escape(section["title"])}</h2>\n{blocks}</section>\n'


def _text(block):
    return f"<p>{escape(block['text'])}</p>"


def _list(block):
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in block["items"]) + "</ul>"


def _table(block):
    heads = "".join(_head(column) for column in block["columns"])
    rows = "".join(_row(row) for row in block["rows"])
    kind = ' class="prose"' if block.get("prose") else ""
    return (
        f'<div class="scroll"><table{kind}><caption>{escape(block.get("caption", ""))}</caption>'
        f"<thead><tr><th>{escape(block.get('corner', ''))}</th>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _head(column):
    if isinstance(column, str):
        column = {"text": column}
    state = f' class="{column["state"]}"' if column.get("state") else ""
    return f'<th scope="col"{state}>{escape(column["text"])}</th>'


def _row(row):
    cells = "".join(_cell(cell) for cell in row["cells"])
    kind = ' class="foot"' if row.get("foot") else ""
    return f'<tr{kind}><th scope="row">{escape(row["label"])}</th>{cells}</tr>'


def _cell(cell):
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    state = f' class="{escape(cell["state"], quote=True)}"' if cell.get("state") else ""
    hint = f' title="{escape(cell["hint"], quote=True)}"' if cell.get("hint") else ""
    detail = f"<small>{escape(cell['detail'])}</small>" if cell.get("detail") else ""
    bar = plots.interval_bar(cell["bar"]) if cell.get("bar") else ""
    shade = f' style="--share:{cell["share"]:.3f}"' if "share" in cell else ""
    return f"<td{state}{hint}{shade}>{escape(cell['text'])}{detail}{bar}</td>"


def _statements(block):
    items = []
    for item in block["items"]:
        name, verdict = VERDICTS[item["verdict"]]
        items.append(
            f'<li>{escape(item["text"])} <span class="verdict {name}">{verdict}</span>'
            f"<small>{escape(item.get('detail', ''))}</small></li>"
        )
    return f'<ul class="statements">{"".join(items)}</ul>'


def _key(block):
    items = "".join(f'<span class="{s}">{escape(text)}</span>' for s, text in block["states"])
    return f'<p class="key">{items}</p>'


def _code(block):
    return f"<pre><code>{escape(block['text'])}</code></pre>"


def _figures(block):
    """Figures side by side, each with a sentence below it."""
    parts = []
    for figure in block["items"]:
        words = f"<figcaption>{escape(figure.get('words', ''))}</figcaption>"
        parts.append(f"<figure>{_BLOCKS[figure['kind']](figure)}{words}</figure>")
    return f'<div class="figures">{"".join(parts)}</div>'


_BLOCKS = {
    "text": _text,
    "list": _list,
    "table": _table,
    "statements": _statements,
    "key": _key,
    "code": _code,
    "figures": lambda block: _figures(block),
    "curves": svg.curves,
    **plots.PLOTS,
    "maps": svg.maps,
}
