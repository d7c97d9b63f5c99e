"""The cheat sheet as a PDF, metadata of a page, and how its texts and tables are printed."""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

BLOCK = re.compile(r"^## ([^\n]+)\n+```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
CARD = "_static/social.png"
# A number and its sign or unit stay on one line: "29 %", "0.17 ± 0.19".
UNBROKEN = re.compile(r"(?<=[\d.)]) (?=%)| (?=± \d)|(?<=±) (?=\d)")
MINUS = re.compile(r"^-(?=[\d.])")  # of a cell that a benchmark has written
NUMBER = re.compile(r"[−+-]?\.?\d")
# k_xx, d²_j, n_jC_j, max_{k≠j}: a letter with marks, and a short index.
INDEX = re.compile(
    r"((?:(?<![A-Za-z\d_/.])|(?<=_[a-z]))(?:max|min|[A-Za-z])|[Α-Ωα-ω])"
    r"([\u0300-\u036f²′']*)_(?:\{([^}]+)\}|([a-z]{1,3}|[A-Z]{1,2}|\d)(?![a-z\d_]))"
)
RECORD = re.compile(r"(?<=\d)–(?=\d)")  # 19–0–6: won, tied, lost


def write_cheat_sheet(source, target):
    """Two columns of the sections of a Markdown page, on one sheet of A4."""
    from matplotlib.figure import Figure

    text = re.sub(r"\n\n(?!#)", "\n", Path(source).read_text(encoding="utf-8"))
    sections = BLOCK.findall(text)
    figure = Figure(figsize=(11.69, 8.27))
    figure.text(0.03, 0.945, "mahalearn", size=20, weight="bold", color="#2f5f95")
    tagline = (
        "Classify with distances: calibrated probabilities, and a p-value for “none of these”."
    )
    figure.text(0.2, 0.947, tagline, size=11, color="#333333")
    lines = [len(code.splitlines()) + 2.4 for _, code in sections]
    half = next(i for i in range(len(lines)) if sum(lines[:i]) >= sum(lines) / 2)
    step = 0.88 / max(sum(lines[:half]), sum(lines[half:]))
    for x, part in ((0.03, sections[:half]), (0.52, sections[half:])):
        y = 0.89
        for title, code in part:
            figure.text(x, y, title, size=11, weight="bold", color="#b8472f", va="top")
            figure.text(
                x, y - 1.25 * step, code.rstrip(), size=8.6, family="monospace", va="top",
                linespacing=step * 8.27 * 72 / 8.6 / 1.2,
            )  # fmt: skip
            y -= (len(code.splitlines()) + 2.4) * step
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)


def describe(app, page, template, context, doctree):
    """Open Graph tags: title, description, card."""
    title = re.sub(r"<[^>]+>", "", context.get("title", "")) or "mahalearn"
    tags = context.get("metatags", "")
    given = re.search(r'<meta content="([^"]*)" name="description"', tags)
    if given:
        description = given[1]
    else:
        paragraph = next(iter(doctree.findall(nodes.paragraph)), None) if doctree else None
        description = escape(" ".join(paragraph.astext().split())[:200]) if paragraph else ""
        if description:
            tags += f'\n<meta name="description" content="{description}" />'
    base = app.config.html_baseurl  # messengers need a full address; without one it is relative
    image = base.rstrip("/") + "/" + CARD if base else context["pathto"](CARD, resource=True)
    for name, content in {
        "og:title": escape(title),
        "og:site_name": "mahalearn",
        "og:type": "website",
        "og:description": description,
        "og:image": image,
        "twitter:card": "summary_large_image",
    }.items():
        kind = "property" if name.startswith("og") else "name"
        tags += f'\n<meta {kind}="{name}" content="{content}" />'
    context["metatags"] = tags


class Unbroken(SphinxTransform):
    """Keep a number with its unit on one line; write minus signs. Code stays as it is."""

    default_priority = 900

    def apply(self):
        """Change the texts of one page."""
        code = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, code):
                continue
            better = MINUS.sub("−", UNBROKEN.sub("\u00a0", text))
            if text.parent.parent and isinstance(text.parent.parent, nodes.entry):
                better = RECORD.sub("\u2060–\u2060", better)
            if better != text:
                text.parent.replace(text, nodes.Text(better))


class Subscripts(SphinxTransform):
    """Print the indices of formulas in the text below the line; names and code stay as they are."""

    default_priority = 899

    def apply(self):
        """Change the texts of one page."""
        names = (nodes.strong, nodes.term, nodes.FixedTextElement, nodes.literal, nodes.math)
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, names) or not INDEX.search(text):
                continue
            parts, end = [], 0
            for found in INDEX.finditer(text):
                index = found[3] or found[4]
                parts += [nodes.Text(text[end : found.end(2)]), nodes.subscript("", index)]
                end = found.end()
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


class Stacked(SphinxTransform):
    """Mark tables of words: a phone shows their cells below each other."""

    default_priority = 901

    def apply(self):
        """Add the class to tables of at most four columns with few numbers."""
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            cells = [cell.astext() for row in rows for cell in row[1:]]
            if 1 < len(rows[0]) < 5 and 4 * sum(map(bool, map(NUMBER.match, cells))) < len(cells):
                table["classes"].append("words")


def setup(app):
    """Before pages are written."""
    app.add_transform(Subscripts)
    app.add_transform(Unbroken)
    app.add_transform(Stacked)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
