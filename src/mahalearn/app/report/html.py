"""A document as one HTML page that needs nothing else: Jinja2 templates, everything escaped.

The page carries its style, one script (sorting, filtering, pointing at marks, saving figures) and
the numbers of its figures as JSON. It is complete and can be printed without the script. A content
security policy allows this script and this style alone, by their hashes, and no connection.
"""

import base64
import functools
import hashlib
from importlib.resources import files

from ..words import TURNING
from .figures import FIGURES, drawn

# Verdict of a statement -> its class in the style sheet and its words.
VERDICTS = {
    "confirmed": ("yes", "confirmed"),
    "contradicted": ("no", "contradicted"),
    "undecided": ("", "undecided"),
    None: ("", "not measured"),
}
# Digits that the numbers of a figure keep on the page.
DIGITS = 5


def render(document):
    """The page of a document, as text.

    Parameters
    ----------
    document : dict
        See :mod:`mahalearn.app.report`.

    Returns
    -------
    page : str
        HTML.
    """
    style, script = asset("page.css"), asset("page.js")
    body, data = _filled(document, "")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            # Older browsers know style-src alone. Newer ones allow the page's own style element by
            # its hash, and style attributes, which the figures need.
            "style-src 'unsafe-inline'",
            f"style-src-elem '{_hash(style)}'",
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    template = environment().get_template("page.html")
    return template.render(
        document=document,
        body=body,
        data=data,
        objects=document.get("objects"),
        policy=policy,
        style=style,
        script=script,
    )


def fragment(document):
    """The same content as an element for a notebook, without script, its ids its own."""
    digest = hashlib.sha256(repr(document).encode("utf-8", "replace")).hexdigest()[:8]
    body, _ = _filled(document, f"m{digest}-")
    template = environment().get_template("fragment.html")
    return template.render(document=document, body=body, style=asset("page.css"))


def _filled(document, prefix):
    """The body of a document, and the numbers of its figures by their names."""
    data = {}
    used = {f"{prefix}{section['id']}" for section in document["sections"]}

    def draw(block):
        name = figure_name(block, used, prefix)
        used.add(name)
        drawing = drawn(block)
        data[name] = {"title": block["title"], **_numbers(drawing)}
        return {"name": name, "svg": drawing.picture.svg(name, alternative(block))}

    template = environment().get_template("body.html")
    body = template.render(
        document=document, draw=draw, prefix=prefix, figures=FIGURES, verdicts=VERDICTS
    )
    return body, data


def figure_name(block, used, prefix=""):
    """A name that is not among the used ones, of letters, digits and hyphens."""
    stem = block.get("id") or "figure"
    stem = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem).strip("-")
    name, i = f"{prefix}{stem}", 1
    while name in used:
        i += 1
        name = f"{prefix}{stem}-{i}"
    return name


def alternative(block):
    """Alternative text of a figure."""
    return f"{block['title']}. {block.get('words', '')}".strip()


def asset(name):
    """The text of a file of the templates."""
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _hash(text):
    """The hash of an inline element for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _numbers(drawing):
    """The numbers of a figure, with as many digits as a reader wants."""
    rows = [
        [float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell for cell in row]
        for row in drawing.rows
    ]
    return {"columns": drawing.columns, "rows": rows}


@functools.cache
def environment():
    """Templates of the package; whatever they show is escaped."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            'The report needs jinja2, which is not installed: pip install "mahalearn[cli]".'
        ) from error
    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        finalize=lambda shown: shown.translate(TURNING) if isinstance(shown, str) else shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["units"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return templates
