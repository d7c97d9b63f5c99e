"""Plots as SVG text: a picture holds axes, axes place lines, marks, bars and regions.

Colours are CSS variables with the light colour as their fallback, so that dark mode needs no second
picture. A group of marks says in ``data-rows`` which rows of the figure's table they stand for.
"""

import math
import re
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

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
DASHES = ("", "6 3", "2 2", "8 3 2 3", "9 2", "1 1", "5 2 2 2", "12 4")
# Marks of about one unit across.
SHAPES = {
    "circle": "M-.5 0a.5 .5 0 1 0 1 0a.5 .5 0 1 0-1 0z",
    "square": "M-.44-.44h.88v.88h-.88z",
    "diamond": "M0-.6L.6 0L0 .6L-.6 0z",
    "up": "M0-.58L.55 .45h-1.1z",
    "down": "M0 .58L.55-.45h-1.1z",
    "plus": "M-.17-.55h.34v.38h.38v.34h-.38v.38h-.34v-.38h-.38v-.34h.38z",
    "hourglass": "M-.5-.5h1L-.5 .5h1z",
    "left": "M-.58 0L.45-.55v1.1z",
}
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
WIDTH, HEIGHT = 460, 330
LONGEST_LABEL = 600
# Widths of a letter and heights of a line of the legend, in pixels.
LETTER, LEGEND_LINE = 6.1, 18
# Width and height of a picture in a cell.
SPARK = 170, 30
LINEAR_BELOW = 0.2
# Stands for the name of the figure in ids; names never hold it, because it is not printable.
NAME = "\ue000"
_VARIABLE = re.compile(r"var\(--\w+,(#[0-9a-f]{6})\)")


def clean(text, most=26):
    """A name that fits into a figure: one line, nothing that XML would refuse."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def paint(colour):
    """A colour as a variable of the page."""
    return f"var(--{VARIABLES[colour]},{colour})"


def short(value):
    """A place with one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _width(text):
    """About how wide a text is, in pixels."""
    return LETTER * sum(2 if ord(letter) > 0x2E80 else 1 for letter in text)


def round_steps(low, high, most=6):
    """Round numbers between two bounds, evenly spaced."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]


def round_powers(low, high):
    """1, 2, 5, 10 … between two bounds; powers of ten alone where these are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first < 4 else (1,)
    every = math.ceil((last - first) / 8) if last > first else 1
    ticks = [float(f"{m}e{k}") for k in range(first, last + 1, every) for m in factors]
    return [tick for tick in ticks if low <= tick <= high]


class Axis(NamedTuple):
    """One direction of a plot, its scale linear, log or symlog (linear up to `LINEAR_BELOW`)."""

    low: float
    high: float
    label: str = ""
    scale: str = "linear"
    percent: bool = False
    at: list | None = None

    def _scaled(self, value):
        if self.scale == "log":
            return math.log10(value)
        if self.scale == "symlog" and abs(value) > LINEAR_BELOW:
            return math.copysign(1 + math.log10(abs(value) / LINEAR_BELOW), value)
        return value / LINEAR_BELOW if self.scale == "symlog" else value

    def place(self, value):
        """Where a value lies, from 0 to 1; what lies outside is moved to the edge."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(1.0, max(0.0, (self._scaled(value) - low) / ((high - low) or 1.0)))

    def ticks(self):
        """Values and texts."""
        values = self.at
        if values is None:
            find = round_powers if self.scale == "log" else round_steps
            values = find(self.low, self.high)
        texts = (f"{round(100 * v, 10):g} %" if self.percent else f"{v:g}" for v in values)
        return [(v, text.replace("-", "\N{MINUS SIGN}")) for v, text in zip(values, texts)]


class Picture:
    """Text of an SVG element of a size in pixels, with its title at the upper left."""

    def __init__(self, title, width=WIDTH, height=HEIGHT):
        self.width, self.height, self.parts, self.shapes = width, height, [], {}
        self.text(2, 14, clean(title, 66), size=12, weight=600)

    def text(self, x, y, text, *, size=11, anchor="start", weight=400, turned=False):
        """Put a text."""
        turn = f' transform="rotate(-90 {short(x)} {short(y)})"' if turned else ""
        self.parts.append(
            f'<text x="{short(x)}" y="{short(y)}"{turn} style="font-size:{size}px;'
            f'font-weight:{weight};text-anchor:{anchor};fill:{paint(INK)}">{escape(text)}</text>'
        )

    def path(self, path, *, fill="none", stroke=None, width=1.0, dash="", opacity=1.0):
        """Draw a path."""
        style = f"fill:{paint(fill) if fill != 'none' else fill};opacity:{opacity:g}"
        if stroke:
            style += f";stroke:{paint(stroke)};stroke-width:{width:g}"
        if dash:
            style += f";stroke-dasharray:{dash}"
        self.parts.append(f'<path d="{path}" style="{style}"/>')

    def marks(self, places, shape, colour, size, *, rows=(), edge=PAPER, edge_width=0.5, kind=""):
        """Draw equal marks; `colour` None leaves them hollow."""
        name = self.shapes.setdefault((shape, size), len(self.shapes))
        uses = "".join(
            f'<use href="#{NAME}.{name}" x="{short(x)}" y="{short(y)}"/>' for x, y in places
        )
        attributes = f' data-rows="{",".join(map(str, rows))}"' if len(rows) else ""
        attributes += f' class="{kind}"' if kind else ""
        fill = paint(colour) if colour else "none"
        style = f"fill:{fill};stroke:{paint(edge)};stroke-width:{edge_width:g}"
        self.parts.append(f'<g{attributes} style="{style}">{uses}</g>')

    def legend(self, entries):
        """Names below the axes, where they hide nothing: a label, a colour, a shape, a dash."""
        if not entries:
            return
        x, y = 6.0, self.height + 8.0
        for label, colour, shape, dash in entries:
            wide = 26 + _width(label)
            if x > 6 and x + wide > self.width:
                x, y = 6.0, y + LEGEND_LINE
            if dash is not None:
                self.path(f"M{x:g} {y - 4:g}h20", stroke=colour, width=1.8, dash=dash)
            if shape:
                self.marks([(x + 10, y - 4)], shape, colour, 7)
            self.text(x + 25, y, label, size=10.5)
            x += wide + 14
        self.height = y + 8

    def svg(self, name, label, *, themed=True):
        """The SVG element; without `themed` its colours are its own, as in a file."""
        shapes = "".join(
            f'<path id="{NAME}.{i}" d="{SHAPES[shape]}" transform="scale({size:g})" '
            'vector-effect="non-scaling-stroke"/>'
            for (shape, size), i in self.shapes.items()
        )
        text = (
            f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" '
            f'height="{self.height:g}" role="img" '
            f"aria-label={quoteattr(clean(label, LONGEST_LABEL))} "
            f'style="stroke-linejoin:round;font-family:{FONTS}">'
            f"<defs>{shapes}</defs>{''.join(self.parts)}</svg>"
        ).replace(NAME, name)
        return text if themed else _VARIABLE.sub(r"\1", text)


class Axes:
    """A plot in a box (left, top, right, bottom) of a picture, or in all of it."""

    def __init__(self, picture, x, y, *, box=None, grid="both", frame=True):
        self.picture, self.x, self.y = picture, x, y
        if box is None:
            widest = max((_width(text) for _, text in y.ticks()), default=0) if frame else 0
            left = widest + (30 if y.label else 10)
            box = (left, 26, picture.width - 14, picture.height - (42 if x.label else 26))
        self.box = box
        if frame:
            self._frame(grid)

    def places(self, xs, ys):
        """Places of points in pixels."""
        left, top, right, bottom = self.box
        return [
            (
                left + (right - left) * self.x.place(x),
                bottom - (bottom - top) * self.y.place(y),
            )
            for x, y in zip(xs, ys)
        ]

    def _frame(self, grid):
        left, top, right, bottom = self.box
        picture, lines = self.picture, []
        for value, text in self.x.ticks():
            ((at, _),) = self.places([value], [self.y.low])
            if grid in ("x", "both"):
                lines.append(f"M{short(at)} {short(top)}V{short(bottom)}")
            picture.text(at, bottom + 15, text, size=10.5, anchor="middle")
        for value, text in self.y.ticks():
            ((_, at),) = self.places([self.x.low], [value])
            lines.append(f"M{short(left)} {short(at)}H{short(right)}")
            picture.text(left - 6, at + 3.6, text, size=10.5, anchor="end")
        picture.path("".join(lines), stroke=LINE, width=0.8)
        corner = f"M{short(left)} {short(top)}V{short(bottom)}H{short(right)}"
        picture.path(corner, stroke=SOFT)
        if self.x.label:
            middle = (left + right) / 2
            picture.text(middle, bottom + 33, self.x.label, anchor="middle")
        if self.y.label:
            picture.text(11, (top + bottom) / 2, self.y.label, anchor="middle", turned=True)

    def line(self, xs, ys, colour, *, width=1.8, dash=""):
        """A line through points."""
        points = (f"{short(x)} {short(y)}" for x, y in self.places(xs, ys))
        self.picture.path("M" + "L".join(points), stroke=colour, width=width, dash=dash)

    def bars(self, xs, lows, highs, colour, *, width=1.0, opacity=1.0):
        """Vertical lines, such as intervals."""
        path = "".join(
            f"M{short(x)} {short(low)}V{short(high)}"
            for (x, low), (_, high) in zip(self.places(xs, lows), self.places(xs, highs))
        )
        self.picture.path(path or "M0 0", stroke=colour, width=width, opacity=opacity)

    def band(self, xs, lows, highs, colour):
        """The area between two lines."""
        around = self.places(xs, highs) + self.places(xs, lows)[::-1]
        points = (f"{short(x)} {short(y)}" for x, y in around)
        self.picture.path("M" + "L".join(points) + "z", fill=colour, opacity=0.18)

    def marks(self, xs, ys, shape, colour, size, **options):
        """Equal marks at points."""
        self.picture.marks(self.places(xs, ys), shape, colour, size, **options)


def sparkline(series, label):
    """Small histograms over each other, each of them filled to its own height."""
    width, height = SPARK
    paths = []
    for counts in series:
        step, scale = width / len(counts), (height - 2) / (max(counts) or 1)
        tops = (f"V{short(height - scale * n)}h{short(step)}" for n in counts)
        paths.append(f"M0 {height}{''.join(tops)}V{height}z")
    return _spark(paths, SERIES, label)


def boxes(training, present, label):
    """Two small box plots on one axis, of minimum, quartiles and maximum."""
    low, high = min(training[0], present[0]), max(training[4], present[4])
    scale = SPARK[0] / ((high - low) or 1.0)
    paths = []
    for summary, y in ((training, 8), (present, 22)):
        a, b, c, d, e = (short(scale * (value - low)) for value in summary)
        paths.append(f"M{a} {y}H{b}M{d} {y}H{e}M{b} {y - 5}H{d}v10H{b}zM{c} {y - 7}v14")
    return _spark(paths, (SERIES[6], SERIES[0]), label)


def _spark(paths, colours, label):
    """A picture for a cell of a table."""
    width, height = SPARK
    parts = "".join(
        f'<path d="{path}" style="fill:{paint(c)};fill-opacity:.3;stroke:{paint(c)}"/>'
        for path, c in zip(paths, colours)
    )
    return (
        f'<svg class="spark" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label={quoteattr(clean(label, LONGEST_LABEL))}>{parts}</svg>'
    )
