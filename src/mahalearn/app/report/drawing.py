"""From a matplotlib figure to tidy SVG text: themed for the page, plain for a file of its own.

matplotlib draws every figure. What it writes is then shortened: no metadata, no ids but those that
are referred to (with the figure's name before them, so that two figures of one page never share
one), one decimal, one style for a group of equal marks. On the page colours are CSS variables with
the light colour as their fallback, so that dark mode needs no second figure.
"""

import io
import re
import warnings
from contextlib import contextmanager
from typing import NamedTuple
from xml.etree import ElementTree

INK, SOFT, LINE, PAPER = "#1c1e21", "#5c6370", "#d9dce1", "#ffffff"
# Eight colours with a contrast of at least 4.5 to white, chosen from Okabe and Ito's hues.
SERIES = (
    "#0067a5",
    "#b84700",
    "#00755a",
    "#a0467f",
    "#7d5a00",
    "#5b57b5",
    "#6b6b6b",
    "#9c2f3a",
)
VARIABLES = {
    INK: "ink",
    SOFT: "soft",
    LINE: "line",
    PAPER: "paper",
    **{colour: f"c{i}" for i, colour in enumerate(SERIES)},
}
DASHES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (8, 3)))
MARKERS = "osD^vPXh"
WIDTH, HEIGHT = 460, 330
LONGEST_LABEL = 600
_SETTINGS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.bottom": False,
    "ytick.left": False,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "path.simplify": True,
}
_NAMESPACE = re.compile(r"\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


class Drawing(NamedTuple):
    """A figure, its numbers, and what pointing at its marks says.

    Attributes
    ----------
    figure : matplotlib Figure
        The figure.
    columns, rows : list
        Its numbers, as a table.
    tips : list of str
        Texts for marks that stand for no single row.
    """

    figure: object
    columns: list
    rows: list
    tips: list


def check_matplotlib():
    """matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'The report needs matplotlib, which is not installed: pip install "mahalearn[cli]".'
        ) from error
    return matplotlib, Figure


@contextmanager
def settings(salt=""):
    """matplotlib's settings for the report; `salt` names the figure in its ids."""
    matplotlib, _ = check_matplotlib()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Characters that DejaVu Sans has not are drawn by the fonts of the reader.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcParams.update({**_SETTINGS, "svg.hashsalt": salt or "mahalearn"})
        yield


def new_figure(title, width=WIDTH, height=HEIGHT):
    """A figure of a size in pixels, with its title at the upper left."""
    _, Figure = check_matplotlib()
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    figure.suptitle(clean(title, 66), x=0.012, ha="left")
    return figure


def clean(text, most=26):
    """A name that fits into a figure: one line, nothing that XML or a legend would refuse."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    text = text if len(text) <= most else text[: most - 1] + "…"
    # matplotlib leaves labels that start with an underscore out of its legends.
    return "\N{ZERO WIDTH SPACE}" + text if text.startswith("_") else text


def mark(artist, first_row, count=1):
    """Let an artist stand for rows of the figure's table."""
    artist.set_gid(f"row-{first_row}-{count}")


def svg(drawing, name, label, *, themed=True):
    """The figure as SVG text.

    Parameters
    ----------
    drawing : Drawing
        What to write.
    name : str
        The figure's name, before each of its ids.
    label : str
        What is said to those who do not see it.
    themed : bool, default=True
        Whether colours are CSS variables of the page; else it is a file of its own.

    Returns
    -------
    text : str
        One SVG element.
    """
    file = io.StringIO()
    with settings(name):
        drawing.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(file.getvalue())
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        for key in [k for k in element.attrib if k.startswith("{")]:
            element.set(_NAMESPACE.sub("", key), element.attrib.pop(key))
    _shorten(root, name, drawing, themed)
    _, _, width, height = root.get("viewBox").split()
    root.attrib.clear()
    root.attrib.update(
        {
            "class": "figure",
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {float(width):g} {float(height):g}",
            "width": f"{float(width):g}",
            "height": f"{float(height):g}",
            "role": "img",
            "aria-label": clean(label, LONGEST_LABEL),
            "style": "stroke-linejoin:round;font-family:system-ui,-apple-system,'Segoe UI',"
            "Roboto,'Liberation Sans',sans-serif",
        }
    )
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _shorten(root, name, drawing, themed):
    referred = set()
    for element in root.iter():
        for value in element.attrib.values():
            referred.update(re.findall(r"url\(#([^)]+)\)", value))
        if element.get("href", "").startswith("#"):
            referred.add(element.get("href")[1:])
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    short = {identity: f"{name}.{i}" for i, identity in enumerate(sorted(referred))}
    for element in root.iter():
        identity = element.attrib.pop("id", "")
        if identity in short:
            element.set("id", short[identity])
        elif identity.startswith("row-"):
            _mark_rows(element, *map(int, identity.split("-")[1:]))
        elif identity.startswith("tip-"):
            element.set("data-tip", clean(drawing.tips[int(identity[4:])], LONGEST_LABEL))
        if element.get("href", "").startswith("#"):
            element.set("href", "#" + short[element.get("href")[1:]])
        for key, value in element.attrib.items():
            if key in ("d", "x", "y", "width", "height", "transform"):
                element.set(key, " ".join(_NUMBER.sub(_rounded, value).split()))
            elif key == "clip-path":
                element.set(key, f"url(#{short[value[5:-1]]})")
        if element.get("d", "").count("L") > 2:
            element.set("d", _straightened(element.get("d")))
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        if "style" in element.attrib:
            element.set("style", _style(element.get("style"), themed))
        if element.text is not None and not element.text.strip():
            element.text = None
        element.tail = None
    for group in root.iter("g"):
        marks = list(group)
        styles = {child.get("style") for child in marks}
        if len(marks) > 1 and len(styles) == 1 and all(child.tag == "use" for child in marks):
            style = styles.pop()
            if style:
                group.set("style", style)
                for child in marks:
                    del child.attrib["style"]
    _drop_empty(root)


def _drop_empty(root):
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("g", "defs") and not len(child):
                parent.remove(child)


def _mark_rows(element, first, count):
    """Each mark of a group stands for a row; where they cannot be matched, none does."""
    marks = list(element.iter("use"))
    if len(marks) == count and count > 1:
        for i, child in enumerate(marks):
            child.set("data-row", str(first + i))
    elif count == 1:
        element.set("data-row", str(first))


def _straightened(path):
    """A path without the points in the middle of its straight lines."""
    kept = []  # commands with their coordinates
    for command, *rest in (part.split() for part in re.findall(r"[A-Za-z][^A-Za-z]*", path)):
        at = [float(v) for v in rest]
        if command == "L" and len(kept) > 1 and kept[-1][0] == "L" and len(kept[-2][1]) == 2:
            (ax, ay), (bx, by), (cx, cy) = kept[-2][1], kept[-1][1], at
            turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx)
            ahead = (bx - ax) * (cx - bx) + (by - ay) * (cy - by)
            if turn == 0 and ahead >= 0:
                kept.pop()
        kept.append((command, at))
    return "".join(command + " ".join(f"{v:g}" for v in at) for command, at in kept)


def _rounded(found):
    text = f"{float(found[0]):.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _style(style, themed):
    parts = []
    for part in style.split(";"):
        key, _, value = part.partition(":")
        key, value = key.strip(), value.strip()
        if not key or key == "font-family":
            continue
        if key == "font":  # matplotlib before 3.10 writes size, weight and family as one
            *words, size = re.match(r"[^']*?[\d.]+px", value)[0].split()
            parts += [f"font-size:{size}", *(f"font-weight:{w}" for w in words if w == "bold")]
            continue
        if themed:
            value = _COLOUR.sub(_variable, value)
        parts.append(f"{key}:{value}")
    return ";".join(parts)


def _variable(found):
    colour = found[0]
    return f"var(--{VARIABLES[colour]},{colour})" if colour in VARIABLES else colour


def png(drawing, dpi=200):
    """The figure as a PNG file, on white."""
    file = io.BytesIO()
    with settings():
        drawing.figure.savefig(file, format="png", dpi=dpi * 72 / 96, metadata={"Software": None})
    return file.getvalue()
