"""Figures of a comparison as SVG text: distances, spectra, calibration, times, interval bars."""

import base64
import math
from html import escape

from .svg import PALETTE, REGIONS, _mark, _mix, _svg, _text, png, ticks

# Left, right, top and bottom of a figure around its axes.
MARGINS = (56, 14, 30, 46)
WIDTH, HEIGHT = 460, 330


class _Axes:
    """Linear axes with ticks; `parts` collects what is drawn."""

    def __init__(self, block, x, y, width=WIDTH, height=HEIGHT, above=0):
        self.width, self.height = width, height
        left, right, top, bottom = MARGINS
        top += above
        self.box = (left, width - right, top, height - bottom)
        self.x_ticks, self.y_ticks = ticks(*x), ticks(*y)
        self.x, self.y = x, y
        self.title = block["title"]
        self.parts = [_text(left, 14, block["title"], "start", "title")]
        for tick in self.y_ticks:
            if y[0] <= tick <= y[1]:
                height_at = self.at(x[0], tick)[1]
                self.parts.append(
                    f'<line class="grid" x1="{left}" x2="{width - right}" y1="{height_at:.1f}" '
                    f'y2="{height_at:.1f}"/>'
                )
                self.parts.append(_text(left - 6, height_at + 4, _short(tick), "end"))
        for tick in self.x_ticks:
            if x[0] <= tick <= x[1]:
                self.parts.append(
                    _text(self.at(tick, y[0])[0], height - bottom + 17, _short(tick), "middle")
                )
        self.parts.append(_text((left + width - right) / 2, height - 8, block["xlabel"], "middle"))
        self.parts.append(
            f'<text transform="translate(13 {(top + height - bottom) / 2:.0f}) rotate(-90)" '
            f'text-anchor="middle">{escape(block["ylabel"])}</text>'
        )

    def at(self, x, y):
        """Place of a point."""
        left, right, top, bottom = self.box
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return left + across * (right - left), bottom - up * (bottom - top)

    def line(self, x1, y1, x2, y2, style):
        """A line between two points."""
        (a, b), (c, d) = self.at(x1, y1), self.at(x2, y2)
        self.parts.append(f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" {style}/>')

    def legend(self, entries):
        """Coloured marks with names at the upper right, one below the other."""
        for i, (name, colour, kind) in enumerate(entries):
            y = self.box[2] + 10 + 17 * i
            self.parts.append(_mark(kind, self.box[1] - 8, y, colour, 4))
            self.parts.append(_text(self.box[1] - 18, y + 4, cut(name), "end", "halo"))

    def legend_above(self, entries):
        """Coloured marks with names side by side between title and axes, where no point lies."""
        wide = (self.box[1] - self.box[0]) / len(entries)
        for i, (name, colour, kind) in enumerate(entries):
            x, y = self.box[0] + 5 + wide * i, self.box[2] - 11
            self.parts.append(_mark(kind, x, y, colour, 4))
            self.parts.append(_text(x + 10, y + 4, cut(name), "start"))

    def svg(self):
        """The figure."""
        return _svg(self.width, self.height, self.parts, self.title)


def _short(value):
    return f"{value:g}".replace("-", "−")


def cut(text, most=26):
    """A name that fits into a figure."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def space(block):
    """Objects by their squared distances to two classes, on the regions of the decision.

    With points (d² to a, d² to b, 0 or 1), classes, extent, regions (row by row from below) or
    None, resolution.
    """
    x0, x1, y0, y1 = block["extent"]
    a, b = block["classes"]
    names = {"xlabel": f"d² to {cut(a)}", "ylabel": f"d² to {cut(b)}"}
    axes = _Axes({**block, **names}, (x0, x1), (y0, y1), WIDTH, 400, above=18)
    left, right, top, bottom = axes.box
    if block["regions"] is not None:
        n = block["resolution"]
        shades = [_mix(colour, (255, 255, 255), 0.42) for colour in REGIONS[:2]]
        rows = [[shades[v] for v in block["regions"][i : i + n]] for i in range(0, n * n, n)]
        picture = base64.b64encode(png(rows[::-1])).decode()
        axes.parts.append(
            f'<image class="region" x="{left}" y="{top}" width="{right - left}" '
            f'height="{bottom - top}" preserveAspectRatio="none" '
            f'href="data:image/png;base64,{picture}"/>'
        )
    for p, q, second in block["points"]:
        x, y = axes.at(p, q)
        kind, colour = ("square", "#a84300") if second else ("circle", "#00527d")
        axes.parts.append(_mark(kind, x, y, colour, 3))
    axes.legend_above([(a, "#00527d", "circle"), (b, "#a84300", "square")])
    return axes.svg()


def histograms(block, height_of_row=78):
    """Two histograms a row: distances to the own class, and to the nearest other one.

    With rows of name, own, other; xlabel.
    """
    rows = block["rows"]
    values = sorted(v for row in rows for v in (*row["own"], *row["other"]))
    low, high = min(0.0, values[0]), values[max(0, math.ceil(0.99 * len(values)) - 1)]
    high = high if high > low else low + 1
    bins, width = 36, WIDTH
    left, right, top = 14, 14, 46
    height = top + len(rows) * height_of_row + 34
    parts = [_text(left, 14, block["title"], "start", "title")]
    for i, (name, colour) in enumerate((("own class", PALETTE[0]), ("nearest other", PALETTE[1]))):
        parts.append(_mark("square", left + 6 + 110 * i, 30, colour, 5))
        parts.append(_text(left + 16 + 110 * i, 34, name, "start"))
    step = (width - left - right) / bins
    for r, row in enumerate(rows):
        base = top + (r + 1) * height_of_row - 8
        counts = {k: _counts(row[k], low, high, bins) for k in ("own", "other")}
        largest = max(max(c) for c in counts.values()) or 1
        for key, colour in (("other", PALETTE[1]), ("own", PALETTE[0])):
            for i, count in enumerate(counts[key]):
                tall = (height_of_row - 28) * count / largest
                if count:
                    parts.append(
                        f'<rect x="{left + i * step:.1f}" y="{base - tall:.1f}" '
                        f'width="{step:.1f}" height="{tall:.1f}" fill="{colour}" opacity=".68"/>'
                    )
        parts.append(
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{base}" y2="{base}"/>'
        )
        parts.append(
            _text(width - right, base - height_of_row + 22, cut(row["name"]), "end", "title")
        )
    for tick in ticks(low, high):
        if low <= tick <= high:
            x = left + (tick - low) / (high - low) * (width - left - right)
            parts.append(_text(x, height - 20, _short(tick), "middle"))
    parts.append(_text(width / 2, height - 4, block["xlabel"], "middle"))
    return _svg(width, height, parts, block["title"])


def _counts(values, low, high, bins):
    counts = [0] * bins
    for v in values:
        counts[min(bins - 1, max(0, int((v - low) / (high - low) * bins)))] += 1
    return counts


def stems(block):
    """Eigenvalues in descending order, positive and negative in two colours."""
    values = block["values"]
    n = len(values)
    axes = _Axes(block, (0, n + 1), (min(0.0, *values), max(0.0, *values) or 1.0))
    for sign, colour in ((1, PALETTE[0]), (-1, PALETTE[1])):
        path = []
        for i, v in enumerate(values, 1):
            if v * sign > 0:
                (x, y), (_, zero) = axes.at(i, v), axes.at(i, 0)
                path.append(f"M{x:.1f} {zero:.1f}V{y:.1f}")
        if path:
            thick = max(0.8, min(4.0, 300 / n))
            axes.parts.append(
                f'<path d="{"".join(path)}" stroke="{colour}" stroke-width="{thick:.1f}"/>'
            )
    axes.line(0, 0, n + 1, 0, 'class="axis"')
    axes.legend([(t, c, "square") for t, c in zip(block["legend"], PALETTE)])
    return axes.svg()


def reliability(block):
    """Share of right predictions against their probability, bin by bin."""
    low = min([0.5, *(b["predicted"] for b in block["bins"]), *(b["right"] for b in block["bins"])])
    low = math.floor(10 * low - 1e-9) / 10
    axes = _Axes(block, (low, 1.0), (low, 1.005))
    axes.line(low, low, 1, 1, 'class="axis" stroke-dasharray="5 4"')
    largest = max(b["count"] for b in block["bins"])
    points = [axes.at(b["predicted"], b["right"]) for b in block["bins"]]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    axes.parts.append(
        f'<polyline points="{path}" fill="none" stroke="{PALETTE[0]}" stroke-width="1.5"/>'
    )
    for b, (x, y) in zip(block["bins"], points):
        axes.parts.append(_mark("circle", x, y, PALETTE[0], 2.5 + 3.5 * b["count"] / largest))
    return axes.svg()


def bars(block):
    """Horizontal bars on a logarithmic scale, with names and texts: rows of name, value, text."""
    rows, width, left, row_height = block["rows"], WIDTH, 204, 22
    height = 26 + row_height * len(rows)
    low = math.log10(min(r["value"] for r in rows)) - 0.3
    high = math.log10(max(r["value"] for r in rows)) + 0.05
    parts = [_text(4, 14, block["title"], "start", "title")]
    for i, row in enumerate(rows):
        y = 26 + i * row_height
        wide = (math.log10(row["value"]) - low) / ((high - low) or 1) * (width - left - 62)
        colour = PALETTE[0] if row.get("ours") else PALETTE[6]
        parts.append(_text(left - 6, y + 14, cut(row["name"], 34), "end"))
        parts.append(
            f'<rect x="{left}" y="{y + 4}" width="{max(1, wide):.1f}" height="{row_height - 8}" '
            f'rx="2" fill="{colour}"/>'
        )
        parts.append(_text(left + max(1, wide) + 5, y + 14, row["text"], "start"))
    return _svg(width, height, parts, block["title"])


def interval_bar(bar, width=150, height=16):
    """A mean with its interval on a common scale, for a cell of a table: mean, low, high, most."""
    scale = (width - 8) / (bar["most"] or 1)
    mean, low, high = (4 + scale * max(0.0, bar[k]) for k in ("mean", "low", "high"))
    high = min(high, width - 1)
    colour = PALETTE[0] if bar.get("ours") else PALETTE[6]
    zero = f'<line class="axis" x1="4" x2="4" y1="1" y2="{height - 1}"/>'
    return (
        f'<svg class="interval" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(bar["words"], quote=True)}">{zero}'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8" stroke="{colour}" stroke-width="5" '
        f'opacity=".45"/><circle cx="{mean:.1f}" cy="8" r="4.5" fill="{colour}"/></svg>'
    )


# States of a scatter's points: colour, mark, name.
SCATTER_STATES = {
    "agree": (PALETTE[0], "circle", "agrees"),
    "differ": (PALETTE[1], "square", "differs"),
    "apart": (PALETTE[6], "triangle", "not counted"),
}


def scatter(block, size=520):
    """Points about the diagonal, each with a bar of what is allowed.

    With points of x, y, allowed, state (agree, differ, apart), calibration (drawn as a diamond) and
    name; log for logarithmic axes, without bars. Points that differ are drawn last, on top.
    """
    position = math.log10 if block.get("log") else float
    order = ("apart", "agree", "differ")
    points = sorted(block["points"], key=lambda p: order.index(p["state"]))
    values = [position(v) for p in points for v in (p["x"], p["y"])]
    room = 0.04 * ((max(values) - min(values)) or 1.0)
    low, high = min(values) - room, max(values) + room
    axes = _Axes(_powers(block), (low, high), (low, high), size, size, above=18)
    axes.line(low, low, high, high, 'class="axis" stroke-dasharray="5 4"')
    for p in points:
        if p["allowed"] and not block.get("log"):
            top, bottom = min(high, p["y"] + p["allowed"]), max(low, p["y"] - p["allowed"])
            style = f'stroke="{SCATTER_STATES[p["state"]][0]}" stroke-width="1" opacity=".3"'
            axes.line(p["x"], bottom, p["x"], top, style)
    for p in points:
        colour, kind, _ = SCATTER_STATES[p["state"]]
        x, y = axes.at(position(p["x"]), position(p["y"]))
        title = f"<title>{escape(p['name'])}: {p['y']:.4g}, published {p['x']:.4g}</title>"
        mark = _mark("diamond" if p["calibration"] else kind, x, y, colour, 2.8)
        axes.parts.append(f"<g>{title}{mark}</g>")
    counts = {state: sum(p["state"] == state for p in points) for state in SCATTER_STATES}
    entries = [
        (f"{name} ({counts[state]})", colour, kind)
        for state, (colour, kind, name) in SCATTER_STATES.items()
        if counts[state]
    ]
    if calibrated := sum(p["calibration"] for p in points):
        entries.append((f"calibration ({calibrated})", "currentColor", "diamond"))
    axes.legend_above(entries)
    return axes.svg()


def _powers(block):
    """Axis names that say so where ticks are powers of ten."""
    if not block.get("log"):
        return block
    return {**block, **{k: f"{block[k]} (power of 10)" for k in ("xlabel", "ylabel")}}


PLOTS = {
    "scatter": scatter,
    "space": space,
    "histograms": histograms,
    "stems": stems,
    "reliability": reliability,
    "bars": bars,
}
