"""The figures of a document as files: SVG, PNG and the numbers as CSV; its tables as CSV."""

import csv
import io
from pathlib import Path

from .figures import FIGURES, drawn, png, svg
from .html import alternative, figure_name

KINDS = ("svg", "png", "csv")
# What a spreadsheet would take for a formula gets an apostrophe before it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def figure_files(document, kinds=KINDS):
    """All figures and tables of a document.

    Parameters
    ----------
    document : dict
        See :mod:`mahalearn.app.report`.
    kinds : sequence of {"svg", "png", "csv"}
        Which files are wanted of a figure.

    Yields
    ------
    name : str
        Name of a file, such as "roc.svg".
    content : bytes
        What it holds.
    """
    used = set()
    for section in document["sections"]:
        tables = 0
        for block in _blocks(section["blocks"]):
            if block["kind"] == "table":
                tables += 1
                suffix = "" if tables == 1 else f"-{tables}"
                name = figure_name({"id": f"table-{section['id']}{suffix}"}, used)
                used.add(name)
                if "csv" in kinds:
                    yield f"{name}.csv", csv_bytes(*_table(block))
            elif block["kind"] in FIGURES:
                name = figure_name(block, used)
                used.add(name)
                drawing = drawn(block)
                if "svg" in kinds:
                    text = svg(drawing, name, alternative(block), themed=False)
                    yield f"{name}.svg", text.encode("utf-8")
                if "png" in kinds:
                    yield f"{name}.png", png(drawing)
                if "csv" in kinds:
                    yield f"{name}.csv", csv_bytes(drawing.columns, drawing.rows)


def save_figures(document, folder, kinds=KINDS):
    """Write all figures and tables of a document into a folder.

    Parameters
    ----------
    document : dict
        See :mod:`mahalearn.app.report`.
    folder : path-like
        It is made if it is not there; files of the same names are overwritten.
    kinds : sequence of {"svg", "png", "csv"}
        Which files are wanted of a figure.

    Returns
    -------
    paths : list of Path
        The files.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in figure_files(document, kinds):
        (folder / name).write_bytes(content)
        paths.append(folder / name)
    return paths


def csv_bytes(columns, rows):
    """A table as a CSV file that a spreadsheet takes for text and numbers, never for formulas."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_safe(column) for column in columns])
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return file.getvalue().encode("utf-8")


def _safe(cell):
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return "'" + cell
    return cell


def _blocks(blocks):
    """Blocks and what stands within them."""
    for block in blocks:
        if block["kind"] in ("figures", "choice", "group", "details"):
            yield from _blocks(block["items"])
        else:
            yield block


def _table(block):
    heads = [c if isinstance(c, str) else c["text"] for c in block["columns"]]
    rows = []
    for row in block["rows"]:
        cells = []
        for cell in row["cells"]:
            if isinstance(cell, str):
                cells.append(cell)
            else:
                cells.append(cell.get("value", cell["text"]))
                if "share" in cell:
                    cells[-1] = int(cell.get("detail", 0))
        rows.append([row["label"], *cells])
    return [block.get("corner", ""), *heads], rows
