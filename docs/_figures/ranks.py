"""Critical-difference plots of the benchmark pages: python docs/_figures/ranks.py writes the SVGs.

Ranks come from the tables of the pages, as ``measured`` reads them: from a column "rank", or from
the errors of each set. A bar joins methods whose mean ranks differ by less than Nemenyi's critical
difference (J. Demšar, Statistical comparisons of classifiers over multiple data sets, 2006).
"""

import re
from pathlib import Path

import matplotlib
import numpy as np
from measured import page, tables
from scipy.stats import rankdata, studentized_range

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parents[1] / "images"
BLUE, GREY = "#2f5f95", "#8a939d"
# Methods of the library that are drawn in blue: the default of each page.
OURS = {"ensemble", "RC+ (default)", "MahalanobisNovelty, with labels"}


def critical_difference(n_methods, n_sets):
    """Nemenyi's critical difference of mean ranks at 5 %."""
    quantile = studentized_range.ppf(0.95, n_methods, np.inf) / np.sqrt(2)
    return quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def ranks_of_summary(number):
    """Ranks in error and in log loss from the table of benchmarks_tables.md with this number."""
    table = [t for t in tables("benchmarks_tables") if t[0].count("rank") == 2][number]
    head, *rows = table
    columns = [i for i, name in enumerate(head) if name == "rank"]
    names = [
        re.sub(r"[*`]|\(.*?\)|, defaults", "", row[0]).strip() for row in rows if row[columns[0]]
    ]
    return [
        (head[i - 1].removesuffix(" %"), dict(zip(names, (float(r[i]) for r in rows if r[i]))))
        for i in columns
    ]


def ranks_of_sets(name, number=0, higher=False):
    """Mean ranks of the methods, and the number of sets, of a table with a line for each set.

    Sets marked with ° were used for defaults and are left out. ``higher``: large values are good.
    """
    head, *rows = [t for t in tables(name) if t[0][0] == "set"][number]
    last = [row[0] for row in [*rows, ["mean"]]].index("mean")
    rows = [row for row in rows[:last] if not row[0].endswith("°")]
    values = np.array([[float(cell.strip("°")) for cell in row[1:]] for row in rows])
    ranks = np.mean([rankdata(-line if higher else line) for line in values], axis=0)
    names = [re.sub(r"[*`]", "", name) for name in head[1:]]
    names = [re.sub(r"^(with|without)(?= labels)", r"MahalanobisNovelty, \1", n) for n in names]
    return [("AUROC" if higher else "error", dict(zip(names, ranks)))], len(rows)


def plots():
    """File name → (title, ranks) of each panel, and the number of sets."""
    guard_sets = int(re.search(r"^(\d+) sets, \d+ splits", page("benchmarks_tables"), re.M)[1])
    yield "ranks_tables", ranks_of_summary(1), 38
    yield "ranks_guard", ranks_of_summary(0), guard_sets
    yield "ranks_series", *ranks_of_sets("benchmarks_series")
    yield "ranks_matrices", *ranks_of_sets("benchmarks_matrices")
    yield "ranks_novelty", *ranks_of_sets("benchmarks_novelty", 1, higher=True)
    yield "ranks_outliers", *ranks_of_sets("benchmarks_novelty", 2, higher=True)


def cliques(ranks, difference):
    """Largest runs of sorted ranks within the difference, as pairs of first and last."""
    reach = [np.searchsorted(ranks, rank + difference) - 1 for rank in ranks]
    return [(i, j) for i, j in enumerate(reach) if j > i and (i == 0 or reach[i - 1] < j)]


def panel(ax, title, ranks, difference):
    """One plot: a scale of ranks, a stalk for each method, bars of methods that are tied."""
    names = sorted(ranks, key=ranks.get)
    values = [ranks[name] for name in names]
    low, high, half = 1, len(names), (len(names) + 1) // 2
    bars = cliques(values, difference)
    top = 0.45 * len(bars) + 0.6  # where the labels begin
    ax.hlines(0, low, high, color="black", linewidth=1)
    ax.vlines(np.arange(low, high + 1), -0.15, 0, color="black", linewidth=1)
    for rank in range(low, high + 1):
        ax.text(rank, -0.25, str(rank), ha="center", va="bottom")
    ax.hlines(-1.2, low, low + difference, color="black", linewidth=1.5)
    ax.text(low + difference, -1.2, f"  critical difference {difference:.2f}", va="center")
    for level, (i, j) in enumerate(bars):
        height = 0.4 + 0.45 * level
        ax.hlines(height, values[i] - 0.06, values[j] + 0.06, color=GREY, linewidth=4)
    margin = 0.03 * (high - low)
    for i, (name, value) in enumerate(zip(names, values)):
        left = i < half
        height = top + 0.75 * (i if left else len(names) - 1 - i)
        end = low - margin if left else high + margin
        color = BLUE if name in OURS else "black"
        ax.plot([value, value, end], [0, height, height], color=color, linewidth=1)
        label = f"{name}  {value:.2f}" if left else f"{value:.2f}  {name}"
        ax.text(end, height, f" {label} ", color=color, va="center", ha="right" if left else "left")
    ax.set(xlim=(low, high), ylim=(top + 0.75 * half, -1.7))
    ax.axis("off")
    ax.set_title(f"mean rank by {title}", fontsize=10)


def description(panels):
    """The ranks as text: what the file holds for readers without the picture."""
    lines = (
        f"mean rank by {title}: " + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items())
        for title, ranks in panels
    )
    return "; ".join(lines)


def write():
    """All plots."""
    plt.rcParams.update({"svg.hashsalt": "mahalearn", "font.size": 9})
    for name, panels, n_sets in plots():
        size = len(panels[0][1])
        shape = (8.2, (1.5 + 0.13 * size) * len(panels))
        figure, axes = plt.subplots(len(panels), figsize=shape, squeeze=False)
        figure.subplots_adjust(left=0.31, right=0.69, top=0.93, bottom=0.02, hspace=0.3)
        for ax, (title, ranks) in zip(axes[:, 0], panels):
            panel(ax, title, ranks, critical_difference(size, n_sets))
        metadata = {"Date": None, "Description": description(panels)}
        figure.savefig(IMAGES / f"{name}.svg", metadata=metadata)


if __name__ == "__main__":
    write()
