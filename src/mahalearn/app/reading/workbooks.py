"""Rows of cells of a sheet in an Excel workbook (.xlsx), as the texts a CSV file would hold.

openpyxl reads the cells one after the other, so that no room is made for what a file announces. Its
parser is used itself, although its module is private: `iter_rows` leaves out rows and cells that do
not stand in order, and does not tell formulas, merged cells and hidden rows.
"""

import datetime
import io
import warnings
import zipfile

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.worksheet._reader import FORMULA_TAG, VALUE_TAG, WorkSheetParser

from ..words import counted
from .problem import DataError, Note, listed
from .source import LONGEST_CELL

# What a sheet may have: cells between its first and its last value, and characters in them.
MOST_CELLS = 5_000_000
MOST_CHARACTERS = 2**28
# Bytes that the parts of a workbook may unpack to, and tags in one of them.
MOST_XML, MOST_TAGS = 2**28, 8 * MOST_CELLS
# Rows and columns that a sheet can have.
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
# Parts of a workbook that are not read.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".svg", ".bin")


class _Damaged(Exception):
    """A part of a workbook breaks the rules of its format."""


def sheet_rows(source, sheet=None):
    """Rows of a sheet, their numbers from 1, and sentences on what was decided.

    Parameters
    ----------
    source : FileContents
        The workbook.
    sheet : str or None
        Name of a sheet, or its number from 1; the first that is neither empty nor hidden if None.

    Returns
    -------
    rows : list of list of str
    lines : list of int
    notes : list of str
    """
    try:
        with warnings.catch_warnings():  # of parts that openpyxl does not know
            warnings.simplefilter("ignore")
            _check_parts(source)
            options = {"read_only": True, "data_only": True, "keep_links": False}
            book = load_workbook(io.BytesIO(source.data), **options)
            return _chosen(source, book.worksheets, sheet)
    except (DataError, MemoryError):
        raise
    except Exception:
        raise DataError(
            f"{source.name!r} could not be read as a workbook: it is damaged; save it again, or "
            "the sheet as CSV."
        ) from None


def _check_parts(source):
    """Read all parts of a workbook, which compares their checksums, and refuse what is no sheet."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        members = [i for i in archive.infolist() if not i.filename.lower().endswith(_PICTURES)]
        if len({info.filename.lower() for info in members}) < len(members):
            raise _Damaged  # which of them is read would be anyone's guess
        size = sum(info.file_size for info in members)
        if size > MOST_XML:
            raise DataError(
                f"{source.name!r} unpacks to {size / 2**20:.0f} MB, more than the "
                f"{MOST_XML / 2**20:.0f} MB that are read from a workbook; save the sheet as CSV "
                "or Parquet."
            )
        for info in members:
            part = archive.read(info)
            if b"<!DOCTYPE" in part.replace(b"\0", b""):
                raise DataError(
                    f"{source.name!r} defines entities in {info.filename!r}, which no spreadsheet "
                    "program does; it was not read."
                )
            if part.count(b"<") > MOST_TAGS:
                raise _too_large(source)


def _chosen(source, sheets, sheet):
    """Rows, lines and notes of the sheet that is asked for, or of the first with a table."""
    names = [each.title for each in sheets]
    if sheet is not None:
        return _filled(source, sheets[names.index(find_sheet(names, sheet, source.name))])
    first = None
    for each in sorted(sheets, key=lambda one: one.sheet_state != "visible"):
        rows, lines, notes = _filled(source, each)
        several = any(len(row) > 1 for row in rows)  # one column is a remark, not a table
        if several or (rows and first is None):
            first = each.title, rows, lines, notes
        if several:
            break
    if first is None:
        raise DataError(f"{source.name!r} is empty.")
    name, rows, lines, notes = first
    if len(sheets) > 1:
        states = [f"{s.title} (hidden)" if s.sheet_state != "visible" else s.title for s in sheets]
        said = f"Sheet {name!r} was read; the workbook has {listed(states)}."
        notes.insert(0, Note(said, "sheet"))
    return rows, lines, notes


def find_sheet(names, sheet, file):
    """The name of a sheet that is given by name or by number from 1."""
    if sheet in names:
        return sheet
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise DataError(f"{file!r} has no sheet {sheet!r}; it has {listed(map(repr, names))}.")


class _Cells(WorkSheetParser):
    """Cells of a sheet as openpyxl reads them, and the first formula without a value."""

    unsaved = None

    def parse_cell(self, element):
        """The next cell."""
        cell = super().parse_cell(element)
        if cell["value"] is None and element.find(FORMULA_TAG) is not None:
            empty_text = cell["data_type"] == "str" and element.find(VALUE_TAG) is not None
            if not empty_text and self.unsaved is None:
                self.unsaved = cell
        return cell


def _filled(source, sheet):
    """Rows that are not empty, cut to the columns in use, their numbers from 1, and notes."""
    name, book = sheet.title, sheet.parent
    with sheet._get_source() as file:
        parser = _Cells(
            file, sheet._shared_strings, data_only=True, epoch=book.epoch,
            date_formats=book._date_formats, timedelta_formats=book._timedelta_formats,
        )  # fmt: skip
        rows, errors = _texts(source, parser)
    if parser.unsaved is not None:
        raise DataError(
            f"Cell {_place(parser.unsaved)} of sheet {name!r} in {source.name!r} holds a formula "
            "whose value was not saved; open the file in a spreadsheet program and save it."
        )
    lines = sorted(rows)
    width = max(map(len, rows.values()), default=0)
    if rows and (lines[-1] - lines[0] + 1) * width > MOST_CELLS:
        raise _too_large(source)
    rows = {line: rows[line] + [""] * (width - len(rows[line])) for line in lines}
    notes = [*_merged(rows, parser.merged_cells), *_hidden(rows, parser, name)]
    if errors:
        notes.append(
            f"{counted(len(errors), 'cell')} of sheet {name!r} "
            f"{'holds' if len(errors) == 1 else 'hold'} an error, such as {errors[0]['value']!r} "
            f"in {_place(errors[0])}, and {'is' if len(errors) == 1 else 'are'} missing."
        )
    first = min((j for row in rows.values() for j, cell in enumerate(row) if cell), default=0)
    return [row[first:] for row in rows.values()], lines, notes


def _texts(source, parser):
    """Number of a row -> its cells as texts, and the cells with errors."""
    rows, errors, n_cells, n_characters = {}, [], 0, 0
    for _, cells in parser.parse():
        for cell in cells:
            if cell["data_type"] == "e":
                errors.append(cell)
            elif text := as_text(cell["value"]):
                if cell["row"] > MOST_ROWS or cell["column"] > MOST_COLUMNS:
                    raise _Damaged
                row = rows.setdefault(cell["row"], [])
                gap = cell["column"] - len(row)
                n_cells, n_characters = n_cells + max(0, gap), n_characters + len(text)
                if len(text) > LONGEST_CELL:
                    raise DataError(
                        f"{source.name!r} has a cell of more than {LONGEST_CELL} characters; no "
                        "spreadsheet program writes such cells."
                    )
                if n_cells > MOST_CELLS or n_characters > MOST_CHARACTERS:
                    raise _too_large(source)
                row += [""] * gap
                row[cell["column"] - 1] = text
    return rows, errors


def _merged(rows, merged):
    """Repeat the value of merged cells in each row that they cover; a note says so."""
    ranges = sorted(merged.mergeCell, key=lambda area: area.bounds) if merged else ()
    filled = []
    last = max(rows, default=0)
    if sum(min(area.max_row, last) - area.min_row for area in ranges) > MOST_CELLS:
        raise _Damaged  # they overlap
    for area in ranges:
        j = area.min_col - 1
        value = rows[area.min_row][j : j + 1] if area.min_row in rows else []
        covered = range(area.min_row + 1, min(area.max_row, last) + 1)
        below = [rows[i] for i in covered if i in rows] if any(value) else []
        for row in below:
            row[j] = row[j] or value[0]
        if below:
            filled.append(area.coord)
    if filled:
        yield f"The value of merged cells was read in each of their rows: {listed(filled)}."


def _hidden(rows, parser, name):
    """A note on rows and columns in use that are hidden."""
    n_rows = sum(_hides(parser.row_dimensions.get(str(line), {})) for line in rows)
    columns = set()
    for attributes in filter(_hides, parser.column_dimensions.values()):
        columns.update(range(int(attributes["min"]) - 1, min(int(attributes["max"]), MOST_COLUMNS)))
    n_columns = sum(any(any(row[j : j + 1]) for row in rows.values()) for j in columns)
    numbers = {"row": n_rows, "column": n_columns}
    if n_rows or n_columns:
        what = " and ".join(counted(n, f"hidden {one}") for one, n in numbers.items() if n)
        yield (
            f"{what} of sheet {name!r} {'was' if n_rows + n_columns == 1 else 'were'} read like "
            "the others; delete them in the workbook if they are not meant."
        )


def _hides(attributes):
    return attributes.get("hidden", "0").lower() in ("1", "true", "on")


def _too_large(source):
    return DataError(
        f"{source.name!r} has a sheet of more than {MOST_CELLS} cells, empty ones between its "
        f"values included, or of {MOST_CHARACTERS} characters; save it as CSV or Parquet, or "
        "delete what stands far from the table."
    )


def as_text(value):
    """A cell's value as a CSV file would hold it."""
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime):
        day = value.time() == datetime.time()
        return value.date().isoformat() if day else value.isoformat(" ")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return " ".join(value.split()) if isinstance(value, str) else str(value)


def _place(cell):
    """Name of a cell, such as B7."""
    return f"{get_column_letter(cell['column'])}{cell['row']}"
