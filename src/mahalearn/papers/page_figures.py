"""Figures of the papers' page alone: points about a diagonal, and small maps side by side."""

import math

from ..app.report.drawing import SERIES, SOFT, WIDTH, Axes, Axis, Picture, clean, short
from ..app.report.figures import FIGURES, Drawing, around

# Shades of a map of distances.
SHADES = 12

# States of a scatter's points: colour, mark and name; those that differ are drawn last, on top.
SCATTER_STATES = {
    "apart": (SERIES[6], "up", "not counted"),
    "agree": (SERIES[0], "circle", "agrees"),
    "differ": (SERIES[1], "square", "differs"),
}


def scatter(block):
    """Points about the diagonal, each with a bar of what is allowed.

    points of x, y, allowed, state (agree, differ, apart), calibration (drawn as a diamond) and
    name; log for logarithmic axes, without bars. A point's `chance`, if any, is another x for the
    same y, drawn small and grey.
    """
    scale = "log" if block.get("log") else "linear"
    values = [v for p in block["points"] for v in (p["x"], p["y"])]
    room = 0.15 if scale == "log" else 0.04
    across, up = (around(values, room, block[key], scale) for key in ("xlabel", "ylabel"))
    picture = Picture(block["title"], 520, 540)
    axes = Axes(picture, across, up)
    axes.line([up.low, up.high], [up.low, up.high], SOFT, width=1, dash="4 3")
    legend, rows = [], []
    chance = [p for p in block["points"] if p.get("chance") is not None]
    if chance:
        x, y = zip(*((p["chance"], p["y"]) for p in chance))
        axes.marks(x, y, "circle", SOFT, 2)
        legend.append((f"chance ({len(chance)})", SOFT, "circle", None))
    for state, (colour, shape, name) in SCATTER_STATES.items():
        members = [p for p in block["points"] if p["state"] == state]
        for calibration in (False, True):
            part = [p for p in members if bool(p["calibration"]) == calibration]
            if not part:
                continue
            x, y = zip(*((p["x"], p["y"]) for p in part))
            if scale == "linear":
                allowed = [p["allowed"] or 0.0 for p in part]
                lows, highs = zip(*((v - a, v + a) for v, a in zip(y, allowed)))
                axes.bars(x, lows, highs, colour, opacity=0.3)
            drawn_as = "diamond" if calibration else shape
            numbers = range(len(rows), len(rows) + len(part))
            axes.marks(x, y, drawn_as, colour, 6, rows=numbers)
            rows += [[p["name"], p["x"], p["y"], p["allowed"], state] for p in part]
            label = f"{name}{', calibration' * calibration} ({len(part)})"
            legend.append((label, colour, drawn_as, None))
    picture.legend(legend)
    return Drawing(picture, ["cell", block["xlabel"], block["ylabel"], "allowed", "state"], rows)


def maps(block, size=180, columns=4):
    """Small maps side by side: labels as regions or distances as shades, with the points."""
    panels, n = block["panels"], block["resolution"]
    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    picture = Picture(block["title"], max(WIDTH, columns * size), 30 + lines * (size + 40))
    x0, x1, y0, y1 = block["extent"]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        left, top = column * size + 24, 58 + row * (size + 40)
        if "labels" in panel:
            values = [int(v) for v in panel["labels"]]
            colours = [(SERIES[k], 0.2) for k in range(4)]
        else:
            low, high = min(panel["distances"]), max(panel["distances"])
            scale = (SHADES - 1) / ((high - low) or 1.0)
            values = [round((v - low) * scale) for v in panel["distances"]]
            colours = [(SERIES[0], k / SHADES) for k in range(SHADES)]
        box = (left, top, left + size - 34, top + size - 40)
        axes = Axes(picture, Axis(x0, x1), Axis(y0, y1), box=box, frame=False)
        _regions(axes, [values[i : i + n] for i in range(0, len(values), n)], colours)
        for label, shape in ((0, "circle"), (1, "square")):
            members = [p for p in block["points"] if int(p[2]) == label]
            x, y = [p[0] for p in members], [p[1] for p in members]
            axes.marks(x, y, shape, SERIES[label], 4)
        picture.text(left, top - 17, clean(panel["title"], 26), size=10)
        picture.text(left, top - 5, clean(panel.get("subtitle", ""), 30), size=9)
        for at, value in ((left, x0), (left + size - 34, x1)):
            picture.text(at, top + size - 28, f"{value:.2g}", size=9, anchor="middle")
        for at, value in ((top + size - 40, y0), (top + 6, y1)):
            picture.text(left - 4, at, f"{value:.2g}", size=9, anchor="end")
    rows = [[p[0], p[1], int(p[2])] for p in block["points"]]
    return Drawing(picture, ["x1", "x2", "class"], rows)


def _regions(axes, cells, colours):
    """Colour the box of axes by a grid of numbers, its first row at the bottom.

    `colours` has a colour and an opacity for each number.
    """
    left, top, right, bottom = axes.box
    wide, high = (right - left) / len(cells[0]), (bottom - top) / len(cells)
    paths = [[] for _ in colours]
    for i, row in enumerate(cells):
        start = 0
        for j in range(1, len(row) + 1):
            if j == len(row) or row[j] != row[start]:
                x, y = left + start * wide, bottom - i * high
                length = short(wide * (j - start))
                paths[row[start]].append(
                    f"M{short(x)} {short(y)}h{length}v{short(-high)}h-{length}z"
                )
                start = j
    for path, (colour, opacity) in zip(paths, colours):
        axes.picture.path("".join(path) or "M0 0", fill=colour, opacity=opacity)


# A document of the papers may hold these besides the figures of the application.
FIGURES.update(scatter=scatter, maps=maps)
