"""Figures as SVG text: curves, and maps of a plane. No library draws them and none shows them.

Colours are those of Okabe and Ito, which people of every colour vision can tell apart; curves
differ in dashes and markers too. Text and axes take the colour of the page.
"""

import base64
import math
import struct
import zlib
from html import escape

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4", "4 4")
MARKS = ("circle", "square", "triangle", "diamond")
REGIONS = ((86, 180, 233), (230, 159, 0), (0, 158, 115), (204, 121, 167))
# Ends of the sequential scale of distances, light (near) to dark (far).
NEAR, FAR = (247, 251, 255), (8, 48, 107)


def curves(block, width=440, height=300):
    """A line chart: block with x, series, xlabel, ylabel, title, log (x on a symlog scale)."""
    left, right, top, bottom = 52, 12, 30, 44
    position = _symlog(block.get("linear_below", 0.2)) if block.get("log") else float
    xs = [position(x) for x in block["x"]]
    all_y = [y for series in block["series"] for y in series["y"]]
    y_ticks = ticks(min(all_y), max(all_y))
    x_low, x_high = min(xs), max(xs) or 1.0
    y_low, y_high = min(y_ticks[0], *all_y), max(y_ticks[-1], *all_y)

    def place(x, y):
        across = (x - x_low) / ((x_high - x_low) or 1) * (width - left - right)
        up = (y - y_low) / ((y_high - y_low) or 1) * (height - top - bottom)
        return left + across, height - bottom - up

    parts = []
    for tick in y_ticks:
        _, y = place(x_low, tick)
        parts.append(
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(left - 6, y + 4, f"{tick:g}", "end"))
    for value in block.get("xticks") or block["x"]:
        x, _ = place(position(value), y_low)
        parts.append(_text(x, height - bottom + 16, f"{value:g}", "middle"))
    parts.append(_text((left + width - right) / 2, height - 6, block["xlabel"], "middle"))
    middle = (top + height - bottom) / 2
    parts.append(
        f'<text transform="translate(13 {middle:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(block['ylabel'])}</text>"
    )
    parts.append(_text(left, 14, block["title"], "start", "title"))
    for i, series in enumerate(block["series"]):
        points = [place(x, y) for x, y in zip(xs, series["y"])]
        colour, dash = PALETTE[i % len(PALETTE)], DASHES[i % len(DASHES)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"><title>{escape(series["name"])}</title></polyline>'
        )
        parts += [_mark(MARKS[i % len(MARKS)], x, y, colour) for x, y in points]
    parts += _legend(block["series"], left + 10, height - bottom - 16 * len(block["series"]))
    return _svg(width, height, parts, block["title"])


def maps(block, size=190, columns=5):
    """Small maps side by side: labels as regions or distances as shades, with the points."""
    panels, gap, head = block["panels"], 12, 34
    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    width, height = max(700, columns * (size + gap)), 22 + lines * (size + head + gap)
    x0, x1, y0, y1 = block["extent"]
    axes = f"x₁ from {x0:.1f} to {x1:.1f}, x₂ from {y0:.1f} to {y1:.1f}"
    head_line = f"{block['title']} ({axes}; circles: first class, squares: second)"
    # The points are drawn once and used in every panel; their name must be the page's only one.
    name = "points-" + "".join(c if c.isalnum() else "-" for c in block["title"])
    points = "".join(_points(block["points"], block["extent"], size))
    parts = [f'<defs><g id="{name}">{points}</g></defs>']
    parts.append(_text(2, 14, head_line, "start", "title"))
    for i, panel in enumerate(panels):
        x, y = (i % columns) * (size + gap), 22 + (i // columns) * (size + head + gap)
        parts.append(_text(x + 2, y + 13, panel["title"], "start", "title"))
        parts.append(_text(x + 2, y + 27, panel.get("subtitle", ""), "start"))
        picture = base64.b64encode(_panel_png(panel, block["resolution"])).decode()
        parts.append(
            f'<image x="{x}" y="{y + head}" width="{size}" height="{size}" '
            f'preserveAspectRatio="none" href="data:image/png;base64,{picture}"/>'
        )
        parts.append(f'<use href="#{name}" x="{x}" y="{y + head}"/>')
    return _svg(width, height, parts, block["title"])


def _panel_png(panel, resolution):
    if "labels" in panel:
        pixels = [REGIONS[int(label) % len(REGIONS)] for label in panel["labels"]]
        pixels = [_mix(colour, (255, 255, 255), 0.35) for colour in pixels]
    else:
        low, high = min(panel["distances"]), max(panel["distances"])
        scale = (high - low) or 1.0
        pixels = [_mix(FAR, NEAR, (d - low) / scale) for d in panel["distances"]]
    rows = [pixels[i : i + resolution] for i in range(0, len(pixels), resolution)]
    return png(rows[::-1])  # the grid starts below, a picture above


def _mix(colour, other, share):
    """Share of the first colour, the rest of the other."""
    return tuple(round(share * a + (1 - share) * b) for a, b in zip(colour, other))


def png(rows):
    """A PNG file of rows of (red, green, blue)."""
    raw = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in rows)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def _points(points, extent, size):
    x0, x1, y0, y1 = extent
    shapes = []
    for px, py, label in points:
        cx, cy = (px - x0) / (x1 - x0) * size, size - (py - y0) / (y1 - y0) * size
        kind = "circle" if not int(label) else "square"
        colour = "#003b5c" if kind == "circle" else "#8a3b00"
        shapes.append(_mark(kind, cx, cy, colour, 1.9, edge="#fff"))
    return shapes


def _mark(kind, x, y, colour, r=3.0, edge=""):
    line = f' stroke="{edge}" stroke-width="0.7"' if edge else ""
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{colour}"{line}/>'
    if kind == "square":
        side = 2 * r
        return (
            f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{side}" height="{side}" '
            f'fill="{colour}"{line}/>'
        )
    corners = {
        "triangle": ((0, -1.3), (1.2, 1), (-1.2, 1)),
        "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    }[kind]
    path = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return f'<polygon points="{path}" fill="{colour}"/>'


def _legend(series, x, y):
    parts = []
    for i, entry in enumerate(series):
        colour, row = PALETTE[i % len(PALETTE)], y + 16 * i
        dash = DASHES[i % len(DASHES)]
        parts.append(
            f'<line x1="{x}" x2="{x + 26}" y1="{row}" y2="{row}" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        parts.append(_mark(MARKS[i % len(MARKS)], x + 13, row, colour))
        parts.append(_text(x + 32, row + 4, entry["name"], "start"))
    return parts


def _symlog(linear):
    """A logarithmic scale that is linear below a threshold, so that 0 has a place."""

    def position(x):
        return x / linear if x < linear else 1 + math.log10(x / linear)

    return position


def ticks(low, high, about=5):
    """Round numbers from below the low to above the high value."""
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / about))
    step = next(step * m for m in (1, 2, 5, 10) if span / (step * m) <= about)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _text(x, y, text, anchor, style=""):
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(str(text))}</text>'


_STYLE = (
    "svg.figure text{font:12px system-ui,sans-serif;fill:currentColor}"
    "svg.figure text.title{font-weight:600}"
    "svg.figure text.halo{paint-order:stroke;stroke:var(--paper,#fff);stroke-width:4px}"
    "svg.figure line.grid{stroke:currentColor;opacity:.18}"
    "svg.figure line.axis{stroke:currentColor;opacity:.6}"
)


def _svg(width, height, parts, title):
    return (
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def standalone(svg):
    """The same figure as a file of its own, on white."""
    return svg.replace("<style>", '<rect width="100%" height="100%" fill="#fff"/><style>', 1)
