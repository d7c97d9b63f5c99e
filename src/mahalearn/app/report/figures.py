"""The figures of the reports: a block of plain values becomes a picture and a table of its numbers.

:func:`drawn` takes a block whose ``kind`` is one of `FIGURES`. Nothing is computed but places.
"""

from typing import NamedTuple

from .drawing import DASHES, INK, LINE, SERIES, SHAPES, SOFT, Axes, Axis, Picture, clean

MARKS = tuple(SHAPES)
# Classes that the legend of a map names.
MOST_NAMED_CLASSES = 15


class Drawing(NamedTuple):
    """A picture and its numbers, as a table."""

    picture: Picture
    columns: list
    rows: list


def drawn(block):
    """The drawing of a block."""
    return FIGURES[block["kind"]](block)


def object_map(block):
    """All objects in two dimensions: names, x, y, class, wrong, unusual; classes are the names.

    Rows of its table are the objects, in their order. Misclassified ones have a dark edge and are
    drawn last, unusual ones a circle around them.
    """
    picture = Picture(block["title"], 460, 380)
    classes, x, y = block["classes"], block["x"], block["y"]
    axes = Axes(picture, around(x), around(y), box=(4, 26, 456, 376), frame=False)
    picture.path("M4 26H456V376H4z", stroke=LINE)
    size = 6.5 if len(x) <= 300 else 4.5 if len(x) <= 1500 else 3.2

    def draw(members, *style, **options):
        axes.marks([x[i] for i in members], [y[i] for i in members], *style, **options)

    halo = [i for i, unusual in enumerate(block["unusual"]) if unusual]
    draw(halo, "circle", None, size + 5, edge=SOFT, edge_width=1, kind="halo")
    legend = {}
    for wrong in (False, True):
        edge = {"edge": INK, "edge_width": 1.3} if wrong else {}
        for k, name in enumerate(classes):
            members = [
                i for i, c in enumerate(block["class"]) if c == k and block["wrong"][i] == wrong
            ]
            if members:
                shape = MARKS[k % 8] if len(classes) <= 8 else MARKS[k // 8 % 8]
                draw(members, shape, SERIES[k % 8], size + wrong, rows=members, **edge)
                legend.setdefault(k, (clean(name), SERIES[k % 8], shape, None))
    if len(classes) <= MOST_NAMED_CLASSES:
        picture.height += 6
        picture.legend([legend[k] for k in sorted(legend)])
    rows = [
        [name, classes[c], px, py] for name, c, px, py in zip(block["names"], block["class"], x, y)
    ]
    return Drawing(picture, ["object", "class", "x", "y"], rows)


def around(values, room=0.04, label="", scale="linear"):
    """An axis that is a little wider than the values."""
    low, high = min(values), max(values)
    if scale == "log":
        return Axis(low / (1 + room), high * (1 + room), label, scale)
    space = room * ((high - low) or 1.0)
    return Axis(low - space, high + space, label)


def space(block):
    """Objects by their distances to two classes, with a line where both are as far.

    points (x, y, 0 or 1, name), classes, extent, log; limits: a distance for each class, or None.
    """
    x0, x1, y0, y1 = block["extent"]
    scale = "log" if block.get("log") else "linear"
    names = [clean(name) for name in block["classes"]]
    picture = Picture(block["title"], height=390)
    across = Axis(x0, x1, f"distance to {names[0]}", scale)
    up = Axis(y0, y1, f"distance to {names[1]}", scale)
    axes = Axes(picture, across, up)
    equal = [max(x0, y0), min(x1, y1)]
    if equal[0] < equal[1]:
        axes.line(equal, equal, SOFT, width=1)
    rows, shapes = [], ("circle", "square")
    for k in (0, 1):
        members = [point for point in block["points"] if point[2] == k]
        xs, ys = [p[0] for p in members], [p[1] for p in members]
        numbers = range(len(rows), len(rows) + len(members))
        axes.marks(xs, ys, shapes[k], SERIES[k], 5.5, rows=numbers)
        rows += [[p[3] if len(p) > 3 else "", block["classes"][k], p[0], p[1]] for p in members]
    right, above = block.get("limits") or (None, None)
    if right is not None and x0 < right < x1:
        axes.line([right, right], [y0, y1], SERIES[0], width=1.2, dash="5 3")
    if above is not None and y0 < above < y1:
        axes.line([x0, x1], [above, above], SERIES[1], width=1.2, dash="5 3")
    picture.legend([(names[k], SERIES[k], shapes[k], None) for k in (0, 1)])
    columns = ["object", "class", *(f"distance to {name}" for name in block["classes"])]
    return Drawing(picture, columns, rows)


def stems(block):
    """Eigenvalues in descending order, positive and negative ones in two colours."""
    values, at = block["values"], block["positions"]
    picture = Picture(block["title"])
    up = around([0, *values], label=block["ylabel"])
    axes = Axes(picture, Axis(0, at[-1] + 1, block["xlabel"]), up, grid="y")
    width = max(0.8, min(4.0, 300 / len(values)))
    colours = []
    for sign, colour in ((1, SERIES[0]), (-1, SERIES[1])):
        members = [(x, v) for x, v in zip(at, values) if v * sign > 0]
        if members:
            colours.append(colour)
            x, y = zip(*members)
            axes.bars(x, [0] * len(x), y, colour, width=width)
    axes.line([0, at[-1] + 1], [0, 0], SOFT, width=1)
    picture.legend([(label, c, "square", None) for label, c in zip(block["legend"], colours)])
    return Drawing(picture, ["number", "eigenvalue"], [list(r) for r in zip(at, values)])


def curves(block):
    """Lines: series of name, y, and x (or one x for all); low and high are intervals.

    Options of a series: text (behind its name), count, colour (a number) or grey. Of the block:
    xlim and ylim, by default a little wider than the values; percent, the axes in percent; xticks;
    log, for x linear near 0 and logarithmic beyond; diagonal, two ends of a dashed line; band,
    intervals as an area; plain, lines without marks.
    """
    series = [{"x": block.get("x"), **one} for one in block["series"]]
    picture = Picture(block["title"])
    axes = Axes(picture, _axis(block, series, "x"), _axis(block, series, "y"))
    if ends := block.get("diagonal"):
        axes.line(ends, ends, SOFT, width=1, dash="4 3")
    legend, rows = [], []
    for i, one in enumerate(series):
        colour = SOFT if one.get("grey") else SERIES[one.get("colour", i % 8)]
        shape, dash = None if block.get("plain") else MARKS[i % 8], DASHES[i % 8]
        if "low" in one:
            draw = axes.band if block.get("band") else axes.bars
            draw(one["x"], one["low"], one["high"], colour)
        axes.line(one["x"], one["y"], colour, dash=dash)
        if shape:
            numbers = range(len(rows), len(rows) + len(one["x"]))
            axes.marks(one["x"], one["y"], shape, colour, 7, rows=numbers)
        label = f"{clean(one['name'], 17)} ({one['text']})" if "text" in one else one["name"]
        legend.append((clean(label, 30), colour, shape, dash))
        columns = [one[key] for key in ("x", "y", "low", "high", "count") if key in one]
        rows += [[one["name"], *values] for values in zip(*columns)]
    if not block.get("band"):
        picture.legend(legend)
    heads = ["series", block["xlabel"], block["ylabel"], "low", "high", "count"]
    return Drawing(picture, heads[: len(rows[0])], rows)


def _axis(block, series, key):
    """The axis x or y of curves."""
    symlog = key == "x" and block.get("log")
    values = [value for one in series for value in one[key]]
    low, high, *_ = around(values, 0.0 if symlog else 0.04)
    low, high = block.get(f"{key}lim") or (low, high)
    ticks = block.get("xticks") or block.get("x") if key == "x" else None
    percent = key in block.get("percent", "")
    scale = "symlog" if symlog else "linear"
    return Axis(low, high, block[f"{key}label"], scale, percent, ticks)


FIGURES = {
    "map": object_map,
    "space": space,
    "stems": stems,
    "curves": curves,
}
