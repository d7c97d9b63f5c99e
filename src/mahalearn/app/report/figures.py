"""The figures of the reports: a block of plain values becomes a drawing, a drawing SVG.

:func:`drawn` takes a block whose ``kind`` is one of `FIGURES`; matplotlib draws, and nothing is
computed but places and bins. Of its SVG the page takes one decimal, one style for a group of equal
marks, and ids with the figure's name before them, so that two figures never share one. Colours are
CSS variables with the light colour as their fallback, so that dark mode needs no second figure.
"""

import io
import math
import re
import warnings
from contextlib import contextmanager
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

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
# Classes that the legend of a map names.
MOST_NAMED_CLASSES = 15
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
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
# Parts of matplotlib's SVG text: what the page does not need, references, ids, places, styles.
_UNUSED = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>|<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"#([mp][0-9a-f]{10}|image[0-9a-f]{10})\b")
_ID = re.compile(r'\s+id="([^"]*)"')
_PLACE = re.compile(r'(?<=\s)(d|x|y|width|height|transform)="([^"]*)"')
_STYLE = re.compile(r'\s*style="([^"]*)"')
_MARKS = re.compile(r'(<g(?: [^>]*)?)>((?:\s*<use [^>]*style="[^>]*/>){2,})')
_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


class Drawing(NamedTuple):
    """A figure (of matplotlib) and its numbers, as a table."""

    figure: object
    columns: list
    rows: list


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
    artist.set_gid("rows-" + ",".join(map(str, range(first_row, first_row + count))))


# --- the kinds of figures -------------------------------------------------------------------------


def drawn(block):
    """The drawing of a block."""
    with settings():
        return FIGURES[block["kind"]](block)


def _axes(block, width=WIDTH, height=HEIGHT, grid="y"):
    figure = new_figure(block["title"], width, height)
    ax = figure.add_subplot()
    ax.set_xlabel(block.get("xlabel", ""))
    ax.set_ylabel(block.get("ylabel", ""))
    ax.grid(axis=grid, linewidth=0.8)
    return figure, ax


def _legend(ax, handles, labels, below=0.0, columns=2):
    """Names below the axes, where they hide nothing."""
    if below:
        ax.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(-0.02, -below),
            ncols=columns,
            borderaxespad=0,
            columnspacing=1.4,
        )
    else:
        ax.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=columns,
            borderaxespad=0.2,
            columnspacing=1.4,
        )


def _percent_axis(axis):
    """Ticks in percent, with the digits that they need; the limits of the axis are set before."""
    from matplotlib.ticker import FuncFormatter

    ticks = [100 * tick for tick in axis.get_majorticklocs()]
    digits = next((d for d in (0, 1) if all(abs(t - round(t, d)) < 1e-6 for t in ticks)), 2)
    axis.set_major_formatter(
        FuncFormatter(lambda v, _: f"{100 * v:.{digits}f} %".replace("-", "−"))
    )


def _plain_log(axis):
    """1, 2, 5, 10 … on a logarithmic axis, without powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else 1.0
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def rates(block):
    """Curves in the unit square: series of name, x, y, text; with ``diagonal`` its dashed line."""
    series = block["series"]
    figure, ax = _axes(block, height=352 + 18 * math.ceil(len(series) / 2), grid="both")
    if block.get("diagonal"):
        ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle="--")
    handles, labels, rows = [], [], []
    for i, one in enumerate(series):
        (line,) = ax.plot(
            one["x"], one["y"], color=SERIES[i % 8], linestyle=DASHES[i % 8], clip_on=False
        )
        handles.append(line)
        labels.append(clean(f"{clean(one['name'], 17)} ({one['text']})", 30))
        rows += [[one["name"], x, y] for x, y in zip(one["x"], one["y"])]
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.02)
    _legend(ax, handles, labels, below=0.17)
    return Drawing(figure, ["class", block["xlabel"], block["ylabel"]], rows)


def reliability(block):
    """Share of right predictions against their probability, with intervals: series of bins."""
    bins = [(b["predicted"], *b["interval"]) for one in block["series"] for b in one["bins"]]
    low = math.floor(10 * min([0.5, *(v for point in bins for v in point)]) + 1e-9) / 10
    figure, ax = _axes(block, height=364, grid="both")
    ax.plot([low, 1], [low, 1], color=SOFT, linewidth=1, linestyle="--")
    handles, rows = [], []
    for i, one in enumerate(block["series"]):
        x, y = zip(*((b["predicted"], b["right"]) for b in one["bins"]))
        lows, highs = zip(*(b["interval"] for b in one["bins"]))
        colour = SERIES[(6, 0)[i]]
        ax.vlines(x, lows, highs, color=colour, linewidth=(1.2, 2.2)[i], alpha=0.55)
        (line,) = ax.plot(
            x, y, color=colour, linestyle=("--", "-")[i], marker="so"[i], markersize=(4, 6)[i]
        )
        mark(line, len(rows), len(x))
        handles.append(line)
        rows += [
            [one["name"], b["predicted"], b["right"], *b["interval"], b["count"]]
            for b in one["bins"]
        ]
    ax.set_xlim(low, 1.005)
    ax.set_ylim(low, 1.02)
    _percent_axis(ax.xaxis)
    _percent_axis(ax.yaxis)
    _legend(ax, handles, [f"{one['name']} calibration" for one in block["series"]], below=0.17)
    columns = ["probabilities", block["xlabel"], block["ylabel"], "low", "high", "predictions"]
    return Drawing(figure, columns, rows)


def object_map(block):
    """All objects in two dimensions: names, x, y, class, wrong, unusual; classes are the names.

    Rows of its table are the objects, in their order. Misclassified ones have a dark edge and are
    drawn last, unusual ones a circle around them.
    """
    figure = new_figure(block["title"], 620, 540)
    ax = figure.add_subplot()
    classes, x, y = block["classes"], block["x"], block["y"]
    size = 6.5 if len(x) <= 300 else 5.0 if len(x) <= 1500 else 3.4
    halo = [i for i, unusual in enumerate(block["unusual"]) if unusual]
    (ring,) = ax.plot(
        [x[i] for i in halo],
        [y[i] for i in halo],
        "o",
        markersize=size + 7,
        markerfacecolor="none",
        markeredgecolor=SOFT,
        markeredgewidth=1,
        linestyle="none",
    )
    ring.set_gid("halo")
    handles, labels = [], []
    for wrong in (False, True):
        for k, name in enumerate(classes):
            members = [
                i for i, c in enumerate(block["class"]) if c == k and block["wrong"][i] == wrong
            ]
            if not members:
                continue
            (line,) = ax.plot(
                [x[i] for i in members],
                [y[i] for i in members],
                MARKERS[k % 8] if len(classes) <= 8 else MARKERS[k // 8 % 8],
                color=SERIES[k % 8],
                markersize=size + 1.5 * wrong,
                markeredgecolor=INK if wrong else PAPER,
                markeredgewidth=1.6 if wrong else 0.5,
                linestyle="none",
                alpha=0.9,
            )
            line.set_gid("rows-" + ",".join(map(str, members)))
            if clean(name) not in labels and len(classes) <= MOST_NAMED_CLASSES:
                handles.append(line)
                labels.append(clean(name))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.margins(0.04)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    if handles:
        _legend(ax, handles, labels, below=0.02, columns=3)
    rows = [
        [name, classes[c], px, py] for name, c, px, py in zip(block["names"], block["class"], x, y)
    ]
    return Drawing(figure, ["object", "class", "x", "y"], rows)


def space(block):
    """Objects by their distances to two classes, on the regions of the decision.

    points (x, y, 0 or 1, name), classes, extent, log, grid (two axes) and regions, or None; limits:
    a distance for each class, or None.
    """
    a, b = (clean(name) for name in block["classes"])
    names = {"xlabel": f"distance to {a}", "ylabel": f"distance to {b}"}
    figure, ax = _axes({**block, **names}, height=410, grid="both")
    if block.get("log"):
        ax.set_xscale("log")
        ax.set_yscale("log")
    if block.get("regions"):
        x, y = block["grid"]
        n = len(x)
        cells = [[int(v) for v in block["regions"][i : i + n]] for i in range(0, n * len(y), n)]
        ax.contourf(
            x, y, cells, levels=[-0.5, 0.5, 1.5], colors=SERIES[:2], alpha=0.14, antialiased=True
        )
    handles, rows = [], []
    for k in (0, 1):
        members = [point for point in block["points"] if point[2] == k]
        (line,) = ax.plot(
            [p[0] for p in members],
            [p[1] for p in members],
            "os"[k],
            color=SERIES[k],
            markersize=4.4,
            markeredgecolor=PAPER,
            markeredgewidth=0.4,
            linestyle="none",
        )
        mark(line, len(rows), len(members))
        handles.append(line)
        rows += [[p[3] if len(p) > 3 else "", block["classes"][k], p[0], p[1]] for p in members]
    x0, x1, y0, y1 = block["extent"]
    for limit, line, colour in zip(block.get("limits", ()), (ax.axvline, ax.axhline), SERIES):
        if limit is not None:
            line(limit, color=colour, linewidth=1.2, linestyle="--")
    ax.set_xlim(x0, x1)
    ax.set_ylim(y0, y1)
    if block.get("log"):
        _plain_log(ax.xaxis)
        _plain_log(ax.yaxis)
    _legend(ax, handles, [a, b])
    columns = ["object", "class", *(f"distance to {name}" for name in block["classes"])]
    return Drawing(figure, columns, rows)


def stems(block):
    """Eigenvalues in descending order, positive and negative ones in two colours."""
    values = block["values"]
    at = block["positions"]
    figure, ax = _axes(block)
    wide = max(0.8, min(4.0, 300 / len(values)))
    handles = []
    for sign, colour in ((1, SERIES[0]), (-1, SERIES[1])):
        members = [(x, v) for x, v in zip(at, values) if v * sign > 0]
        if members:
            x, y = zip(*members)
            handles.append(ax.vlines(x, 0, y, color=colour, linewidth=wide))
    ax.axhline(0, color=SOFT, linewidth=1)
    ax.set_xlim(0, at[-1] + 1)
    ax.legend(handles, block["legend"][: len(handles)], loc="upper right")
    return Drawing(figure, ["number", "eigenvalue"], [list(r) for r in zip(at, values)])


def learning(block):
    """The error by the number of training objects, with its interval."""
    figure, ax = _axes(block, grid="both")
    x = block["sizes"]
    mean, low, high = zip(*block["errors"])
    ax.fill_between(x, low, high, color=SERIES[0], alpha=0.18, linewidth=0)
    (line,) = ax.plot(x, mean, "o-", color=SERIES[0], markersize=6, clip_on=False)
    mark(line, 0, len(x))
    ax.set_ylim(0, min(max(high), 2.2 * max(mean) + 0.02) * 1.06 or 0.01)
    ax.set_xlim(0, 1.04 * x[-1])
    _percent_axis(ax.yaxis)
    columns = [block["xlabel"], "mean", "low", "high"]
    return Drawing(figure, columns, [[n, *e] for n, e in zip(x, block["errors"])])


def matrix(block):
    """Shares of a confusion matrix as shades, for more classes than a table shows."""
    from matplotlib.colors import to_rgb

    names, table = block["classes"], block["table"]
    figure, ax = _axes(block, width=620, height=640, grid="both")
    ax.grid(False)
    image, rows = [], []
    for i, counts in enumerate(table):
        total = sum(counts) or 1
        image.append(
            [
                (*to_rgb(SERIES[0] if i == j else SERIES[1]), min(1.0, math.sqrt(n / total)))
                for j, n in enumerate(counts)
            ]
        )
        rows += [[names[i], names[j], n] for j, n in enumerate(counts) if n]
    ax.imshow(image, interpolation="nearest", aspect="equal")
    size = max(4.5, min(10.0, 420 / len(names)))
    labels = [clean(name, 16) for name in names]
    ax.set_xticks(range(len(names)), labels, rotation=90, fontsize=size)
    ax.set_yticks(range(len(names)), labels, fontsize=size)
    return Drawing(figure, ["true class", "predicted class", "predictions"], rows)


def curves(block):
    """A line chart: x, series of name, y (and grey), xlabel, ylabel, log (x on a symlog scale)."""
    series = block["series"]
    figure, ax = _axes(block, height=326 + 18 * math.ceil(len(series) / 2))
    handles, rows = [], []
    for i, one in enumerate(series):
        (line,) = ax.plot(
            block["x"],
            one["y"],
            color=SOFT if one.get("grey") else SERIES[i % 8],
            linestyle=DASHES[i % 8],
            marker=MARKERS[i % 8],
            markersize=5,
        )
        mark(line, len(rows), len(block["x"]))
        handles.append(line)
        rows += [[one["name"], x, y] for x, y in zip(block["x"], one["y"])]
    if block.get("log"):
        ax.set_xscale("symlog", linthresh=block.get("linear_below", 0.2), linscale=1.0)
    ticks = block.get("xticks") or block["x"]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    _legend(ax, handles, [clean(one["name"], 30) for one in series], below=0.17)
    return Drawing(figure, ["series", block["xlabel"], block["ylabel"]], rows)


# States of a scatter's points: colour, marker and name; those that differ are drawn last, on top.
SCATTER_STATES = {
    "apart": (SERIES[6], "^", "not counted"),
    "agree": (SERIES[0], "o", "agrees"),
    "differ": (SERIES[1], "s", "differs"),
}


def scatter(block):
    """Points about the diagonal, each with a bar of what is allowed.

    points of x, y, allowed, state (agree, differ, apart), calibration (drawn as a diamond) and
    name; log for logarithmic axes, without bars. A point's `chance`, if any, is another x for the
    same y, drawn small and grey.
    """
    figure, ax = _axes(block, width=520, height=560, grid="both")
    log = block.get("log")
    values = [v for p in block["points"] for v in (p["x"], p["y"])]
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        low, high = min(values) / 1.15, max(values) * 1.15
    else:
        room = 0.04 * ((max(values) - min(values)) or 1.0)
        low, high = min(values) - room, max(values) + room
    ax.plot([low, high], [low, high], color=SOFT, linewidth=1, linestyle="--")
    handles, labels, rows = [], [], []
    chance = [p for p in block["points"] if p.get("chance") is not None]
    if chance:
        (line,) = ax.plot(
            [p["chance"] for p in chance],
            [p["y"] for p in chance],
            ".",
            color=SOFT,
            alpha=0.5,
            markersize=3,
        )
        handles.append(line)
        labels.append(f"chance ({len(chance)})")
    for state, (colour, marker, name) in SCATTER_STATES.items():
        members = [p for p in block["points"] if p["state"] == state]
        bars = [p for p in members if p["allowed"] and not log]
        ax.vlines(
            [p["x"] for p in bars],
            [p["y"] - p["allowed"] for p in bars],
            [p["y"] + p["allowed"] for p in bars],
            color=colour,
            linewidth=1,
            alpha=0.3,
        )
        for shape in (marker, "D"):
            part = [p for p in members if bool(p["calibration"]) == (shape == "D")]
            if not part:
                continue
            (line,) = ax.plot(
                [p["x"] for p in part],
                [p["y"] for p in part],
                shape,
                color=colour,
                markersize=4.5,
                linestyle="none",
            )
            mark(line, len(rows), len(part))
            rows += [[p["name"], p["x"], p["y"], p["allowed"], state] for p in part]
            handles.append(line)
            labels.append(f"{name}{', calibration' * (shape == 'D')} ({len(part)})")
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    if log:
        _plain_log(ax.xaxis)
        _plain_log(ax.yaxis)
    _legend(ax, handles, labels)
    return Drawing(figure, ["cell", block["xlabel"], block["ylabel"], "allowed", "state"], rows)


def maps(block, size=180, columns=4):
    """Small maps side by side: labels as regions or distances as shades, with the points."""
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    panels, n = block["panels"], block["resolution"]
    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    wide = max(460, columns * size)
    figure = new_figure(block["title"], wide, 40 + lines * (size + 52))
    shades = LinearSegmentedColormap.from_list("distances", ["#f4f8fc", "#0b3c6f"])
    regions = ListedColormap(["#cfe4f3", "#f6dcc8", "#cfe9df", "#ecd9e6"])
    grid = figure.subplots(lines, columns, squeeze=False)
    x0, x1, y0, y1 = block["extent"]
    for ax, panel in zip(grid.flat, panels):
        if "labels" in panel:
            values, style = [int(v) for v in panel["labels"]], {"cmap": regions, "vmax": 3}
        else:
            values, style = panel["distances"], {"cmap": shades, "vmax": max(panel["distances"])}
        image = [values[i : i + n] for i in range(0, len(values), n)]
        low = 0 if "labels" in panel else min(values)
        ax.imshow(
            image,
            origin="lower",
            extent=(x0, x1, y0, y1),
            aspect="auto",
            vmin=low,
            interpolation="nearest",
            **style,
        )
        for label, marker, colour in ((0, "o", "#003b5c"), (1, "s", "#8a3b00")):
            members = [p for p in block["points"] if int(p[2]) == label]
            ax.plot(
                [p[0] for p in members],
                [p[1] for p in members],
                marker,
                color=colour,
                markersize=3,
                markeredgecolor="#fefefe",
                markeredgewidth=0.4,
                linestyle="none",
            )
        head = clean(panel["title"], 30)
        if panel.get("subtitle"):
            head += "\n" + clean(panel["subtitle"], 34)
        ax.set_title(head, fontsize=9.5, loc="left")
        ax.set_xlim(x0, x1)
        ax.set_ylim(y0, y1)
        ax.tick_params(labelsize=8)
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    rows = [[p[0], p[1], int(p[2])] for p in block["points"]]
    return Drawing(figure, ["x1", "x2", "class"], rows)


FIGURES = {
    "rates": rates,
    "reliability": reliability,
    "map": object_map,
    "space": space,
    "stems": stems,
    "learning": learning,
    "matrix": matrix,
    "curves": curves,
    "maps": maps,
    "scatter": scatter,
}


# --- from a figure to a file ----------------------------------------------------------------------


def svg(drawing, name, label, *, themed=True):
    """The figure as SVG text.

    Parameters
    ----------
    drawing : Drawing
        What to write.
    name : str
        The figure's name, before each of its ids.
    label : str
        Alternative text.
    themed : bool, default=True
        Colours are CSS variables of the page; otherwise it is a file of its own.

    Returns
    -------
    text : str
        One SVG element.
    """
    file = io.StringIO()
    with settings(name):
        drawing.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = _UNUSED.sub("", file.getvalue().partition("<svg")[2].partition(">")[2])
    ids = {identity: f"{name}.{i}" for i, identity in enumerate(dict.fromkeys(_LINK.findall(text)))}
    text = _LINK.sub(lambda match: f"#{ids[match[1]]}", text).replace("xlink:href", "href")
    text = _ID.sub(lambda match: _identity(match[1], ids), text)
    text = _PLACE.sub(lambda m: f'{m[1]}="{_NUMBER.sub(_rounded, m[2])}"', text)
    text = _STYLE.sub(lambda match: f' style="{_style(match[1], themed)}"', text)
    text = _MARKS.sub(_shared_style, re.sub(r"\s*\n\s*", " ", text))
    width, height = (72 * inches for inches in drawing.figure.get_size_inches())
    return (
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" '
        f"aria-label={quoteattr(clean(label, LONGEST_LABEL))} "
        f'style="stroke-linejoin:round;font-family:{FONTS}">{text}'
    )


def _identity(identity, ids):
    """An id that is referred to, what a mark stands for, or nothing."""
    if identity in ids:
        return f' id="{ids[identity]}"'
    kind, _, rest = identity.partition("-")
    if kind == "rows":
        return f' data-rows="{rest}"'
    return ' class="halo"' if kind == "halo" else ""


def _shared_style(match):
    """A group of marks of one style, which becomes that of the group."""
    styles = set(_STYLE.findall(match[2]))
    if len(styles) > 1:
        return match[0]
    return f'{match[1]} style="{styles.pop()}">{_STYLE.sub("", match[2])}'


def _rounded(match):
    text = f"{float(match[0]):.1f}"
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


def _variable(match):
    colour = match[0]
    return f"var(--{VARIABLES[colour]},{colour})" if colour in VARIABLES else colour
