"""Rows of cells of a sheet in a workbook (.xlsx, .ods), as the texts a CSV file would hold.

python-calamine reads the values. It allocates whatever a file announces, and an allocation that
fails ends the process: so each part of the archive is checked first, and only parts that passed are
handed on. The same pass collects what calamine does not give: hidden rows and columns, merged
cells, errors, and formulas without a value.
"""

import datetime
import io
import posixpath
import re
import zipfile
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from xml.parsers import expat

from ..words import counted
from .problem import DataError, Note, listed
from .source import LONGEST_CELL

# What a sheet may have: cells between its first and its last value, and characters in them.
MOST_CELLS = 5_000_000
MOST_CHARACTERS = 2**28
# Bytes that the parts of a workbook may unpack to, and tags in them.
MOST_XML, MOST_TAGS = 2**28, 8 * MOST_CELLS
# Rows and columns that a sheet can have in any spreadsheet program.
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
_CHUNK = 2**18
_PLACE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_ERROR = re.compile(r"#[A-Z/0]+[!?]?|Err:\d+")
# Blanks that indent tables of OpenDocument.
_INDENT = re.compile(rb">\s+<(?=/?table:)")
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
    from python_calamine import SheetTypeEnum, SheetVisibleEnum, load_workbook

    try:
        checked = _Xlsx(source) if source.suffix == ".xlsx" else _Ods(source)
        book = load_workbook(io.BytesIO(checked.archive))
        tables = [s for s in book.sheets_metadata if s.typ == SheetTypeEnum.WorkSheet]
        names = [s.name for s in tables]
        hidden = [s.name for s in tables if s.visible != SheetVisibleEnum.Visible]
        if sheet is not None:
            name = find_sheet(names, sheet, source.name)
            return _filled(source, book, name, checked)
        first = None
        for name in [n for n in names if n not in hidden] + hidden:
            read = name, *_filled(source, book, name, checked)
            first = first or (read if read[1] else None)
            if any(len(row) > 1 for row in read[1]):  # one column is a remark, not a table
                first = read
                break
        if first is None:
            raise DataError(f"{source.name!r} is empty.")
        name, rows, lines, notes = first
    except (DataError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of Rust is no Exception
        raise DataError(
            f"{source.name!r} could not be read as a workbook: it is damaged; save it again, or "
            "the sheet as CSV."
        ) from None
    if len(names) > 1:
        having = [f"{n} (hidden)" if n in hidden else n for n in names]
        said = f"Sheet {name!r} was read; the workbook has {listed(having)}."
        notes.insert(0, Note(said, "sheet"))
    return rows, lines, notes


def find_sheet(names, sheet, file):
    """The name of a sheet that is given by name or by number from 1."""
    if sheet in names:
        return sheet
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise DataError(f"{file!r} has no sheet {sheet!r}; it has {listed(map(repr, names))}.")


def _filled(source, book, name, checked):
    """Rows that are not empty, cut to the columns in use, their numbers from 1, and notes."""
    layout, sheet = checked.sheet(name), book.get_sheet_by_name(name)
    if layout.unsaved is not None:
        raise DataError(
            f"Cell {_place(*layout.unsaved)} of sheet {name!r} in {source.name!r} holds a formula "
            "whose value was not saved; open the file in a spreadsheet program and save it."
        )
    top, left = sheet.start or (0, 0)
    rows = [[as_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True)]
    for row, column in layout.errors:  # older programs write a number beside them
        if 0 <= row - top < len(rows) and 0 <= column - left < len(rows[row - top]):
            rows[row - top][column - left] = ""
    notes = [*_merged(rows, layout, top, left)]
    in_use = {i for i, row in enumerate(rows) if any(row)}
    width = max((len(row) for row in rows), default=0)
    columns = {j for j in range(width) if any(row[j] for row in rows)}
    hidden = {
        "row": _count(layout.hidden_rows, {top + i for i in in_use}),
        "column": _count(layout.hidden_columns, {left + j for j in columns}),
    }
    if any(hidden.values()):
        what = " and ".join(counted(n, f"hidden {one}") for one, n in hidden.items() if n)
        notes.append(
            f"{what} of sheet {name!r} {'was' if sum(hidden.values()) == 1 else 'were'} read like "
            "the others; delete them in the workbook if they are not meant."
        )
    if layout.errors:
        place, word = next(iter(layout.errors.items()))
        notes.append(
            f"{counted(len(layout.errors), 'cell')} of sheet {name!r} "
            f"{'holds' if len(layout.errors) == 1 else 'hold'} an error, such as {word!r} in "
            f"{_place(*place)}, and {'is' if len(layout.errors) == 1 else 'are'} missing."
        )
    last = max(columns, default=-1) + 1
    used = sorted(in_use)
    return [rows[i][:last] for i in used], [top + i + 1 for i in used], notes


def _merged(rows, layout, top, left):
    """Repeat the value of merged cells in each row that they cover; a note says so."""
    filled = []
    if sum(min(last, top + len(rows)) - first for first, last, *_ in layout.merged) > MOST_CELLS:
        raise _Damaged  # they overlap
    for first, last, column, across in layout.merged:
        i, j = first - top, column - left
        if not (last > first and 0 <= i < len(rows) and 0 <= j < len(rows[i]) and rows[i][j]):
            continue
        below = [row for row in rows[i + 1 : last - top + 1] if any(row)]
        for row in below:
            row[j] = row[j] or rows[i][j]
        if below:
            filled.append(f"{_place(first, column)}:{_place(last, across)}")
    if filled:
        yield f"The value of merged cells was read in each of their rows: {listed(filled)}."


def _count(ranges, positions):
    """How many positions lie in some ranges."""
    positions, n, end = sorted(positions), 0, 0
    for start, stop in sorted(ranges):
        start, end = max(start, end), max(stop, end)
        if start < stop:
            n += bisect_left(positions, stop) - bisect_left(positions, start)
    return n


def as_text(cell):
    """A cell's value as a CSV file would hold it."""
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ") if cell.time() != datetime.time() else cell.date().isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(cell.split()) if isinstance(cell, str) else str(cell)


def _place(row, column):
    """A cell's name: (0, 0) is A1."""
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column + 1)}{row + 1}"


# --- the check ------------------------------------------------------------------------------------


@dataclass
class _Layout:
    """Layout of a sheet beside its values.

    Attributes
    ----------
    hidden_rows, hidden_columns : list of tuple of int
        Ranges (start, stop) of positions from 0.
    merged : list of tuple of int
        First row, last row, first column, last column.
    errors : dict
        Place of a cell -> the error in it.
    unsaved : tuple of int or None
        The first formula without a value.
    cells, characters : int
        Values, and characters in them.
    box : list of int or None
        First row, last row, first column and last column with a value.
    """

    hidden_rows: list = field(default_factory=list)
    hidden_columns: list = field(default_factory=list)
    merged: list = field(default_factory=list)
    errors: dict = field(default_factory=dict)
    unsaved: tuple | None = None
    cells: int = 0
    characters: int = 0
    box: list | None = None

    def add(self, row, column, n_characters, rows=1, columns=1):
        """Count a value, repeated perhaps, and refuse what is beyond any sheet."""
        last, across = row + rows - 1, column + columns - 1
        if last >= MOST_ROWS or across >= MOST_COLUMNS:
            raise _Damaged
        box = self.box
        if box is None:
            self.box = [row, last, column, across]
        elif row < box[0] or last > box[1] or column < box[2] or across > box[3]:
            box[0], box[1] = min(box[0], row), max(box[1], last)
            box[2], box[3] = min(box[2], column), max(box[3], across)
        self.cells += rows * columns
        self.characters += rows * columns * n_characters

    def area(self):
        """Cells between the first and the last value."""
        if self.box is None:
            return 0
        top, bottom, left, right = self.box
        return (bottom - top + 1) * (right - left + 1)


class _Workbook:
    """The parts of a workbook, checked, in an archive of their own."""

    def __init__(self, source):
        self.source, self.layouts = source, {}
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(source.data)) as old,
            zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new,
        ):
            members = [i for i in old.infolist() if not i.filename.lower().endswith(_PICTURES)]
            names = {info.filename.lower() for info in members}
            if len(names) < len(members):  # which of them is read would be anyone's guess
                raise _Damaged
            size = sum(info.file_size for info in members)
            if size > MOST_XML:
                raise DataError(
                    f"{source.name!r} unpacks to {size / 2**20:.0f} MB, more than the "
                    f"{MOST_XML / 2**20:.0f} MB that are read from a workbook; save the sheet as "
                    "CSV or Parquet."
                )
            for info in members:
                with old.open(info) as file:
                    parts = list(iter(lambda file=file: file.read(_CHUNK), b""))
                if info.filename == "mimetype" or self._read(info.filename, parts):
                    new.writestr(info.filename, _INDENT.sub(b"><", b"".join(parts)))
        self.archive = out.getvalue()

    def _read(self, name, parts):
        """Read a part; whether it is XML."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = lambda *_: self._refuse_entities(name)
        if not name.startswith("META-INF/"):  # older programs name its document type
            parser.StartDoctypeDeclHandler = lambda *_: self._refuse_entities(name)
        self.text, self.collects = "", False
        self.begin(name.lower(), sum(map(len, parts)))
        if sum(part.count(b"<") for part in parts) > MOST_TAGS:
            self.refuse_large()
        try:
            for part in parts:
                parser.Parse(part)
            parser.Parse(b"", True)
        except expat.ExpatError:
            return False
        layout = self.layout
        if max(layout.cells, layout.area()) > MOST_CELLS:
            self.refuse_large()
        return True

    def _refuse_entities(self, name):
        raise DataError(
            f"{self.source.name!r} defines entities in {name!r}, which no spreadsheet program "
            "does; it was not read."
        )

    def characters(self, text):
        """Collect the text of a cell."""
        if self.collects:
            self.text += text
            self.check_length(len(self.text))

    def check_length(self, n):
        """Refuse a cell that is too long."""
        if n > LONGEST_CELL:
            raise DataError(
                f"{self.source.name!r} has a cell of more than {LONGEST_CELL} characters; no "
                "spreadsheet program writes such cells."
            )

    def refuse_large(self):
        """Refuse a sheet that is too large."""
        raise DataError(
            f"{self.source.name!r} has a sheet of more than {MOST_CELLS} cells, empty ones between "
            f"its values included, or of {MOST_CHARACTERS} characters; save it as CSV or Parquet, "
            "or delete what stands far from the table."
        )


def _natural(text, most):
    """A number of a file, refused if it is not one from 1 to `most`."""
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and 1 <= int(text) <= most):
        raise _Damaged
    return int(text)


def _hides(attributes):
    return attributes.get("hidden", "0").lower() in ("1", "true", "on")


class _Xlsx(_Workbook):
    """A workbook of Excel."""

    def __init__(self, source):
        self.targets, self.ids, self.lengths = {}, {}, []
        self.strings = {}  # part -> index of a shared string -> cells that show it
        super().__init__(source)
        for part, indices in self.strings.items():
            layout = self.layouts[part]
            for index, times in indices.items():
                if not (index.isascii() and index.isdecimal() and int(index) < len(self.lengths)):
                    raise _Damaged
                layout.characters += times * self.lengths[int(index)]
            if layout.characters > MOST_CHARACTERS:
                self.refuse_large()

    def sheet(self, name):
        """The layout of a sheet."""
        target = self.targets[self.ids[name]].lower()
        path = target[1:] if target.startswith("/") else posixpath.normpath(f"xl/{target}")
        return self.layouts[path]

    def begin(self, name, size):
        """Begin a part."""
        self.part, self.size, self.layout = name, size, _Layout()
        self.row = self.column = 0
        self.layouts[name], self.strings[name] = self.layout, Counter()
        self.indices = self.strings[name]

    def start(self, tag, attributes):
        """Read the beginning of an element."""
        tag = tag.rpartition(":")[2] if ":" in tag else tag
        if tag == "v" or tag == "t":
            self.collects = self.saved = True
        elif tag == "c":
            if "r" in attributes:
                self.row, self.column = _at(attributes["r"])
            self.kind, self.formula, self.saved = attributes.get("t"), False, False
            self.text = ""
        elif tag == "f":
            self.formula = True
        elif tag == "row":
            if "r" in attributes:
                self.row = _natural(attributes["r"], MOST_ROWS) - 1
            if _hides(attributes):
                self.layout.hidden_rows.append((self.row, self.row + 1))
        elif tag == "si":
            self.text = ""
        elif tag == "col" and _hides(attributes):
            first, last = (_natural(attributes.get(k, ""), MOST_COLUMNS) for k in ("min", "max"))
            self.layout.hidden_columns.append((first - 1, last))
        elif tag == "mergeCell":
            first, _, last = attributes.get("ref", "").partition(":")
            (top, left), (bottom, right) = _at(first), _at(last or first)
            self.layout.merged.append((top, bottom, left, right))
        elif tag == "sst":  # room for all strings that are announced is made; each takes some bytes
            announced = attributes.get("uniqueCount", "0")
            if not announced.isdecimal() or int(announced) > self.size / len("<si/>"):
                raise _Damaged
        elif tag == "sheet" and self.part == "xl/workbook.xml":
            ids = [v for k, v in attributes.items() if k.rpartition(":")[2] == "id"]
            if ids and "name" in attributes:
                self.ids[attributes["name"]] = ids[0]
        elif tag == "Relationship" and self.part == "xl/_rels/workbook.xml.rels":
            self.targets[attributes.get("Id")] = attributes.get("Target", "")

    def end(self, tag):
        """Read the end of an element."""
        tag = tag.rpartition(":")[2] if ":" in tag else tag
        if tag == "v" or tag == "t":
            self.collects = False
        elif tag == "c":
            self._cell()
            self.column += 1
        elif tag == "row":
            self.row, self.column = self.row + 1, 0
        elif tag == "si":
            self.lengths.append(len(self.text))

    def _cell(self):
        layout, text = self.layout, self.text
        if not text:
            if self.formula and not (self.saved and self.kind == "str") and not layout.unsaved:
                layout.unsaved = self.row, self.column
            return
        shared = self.kind == "s"
        layout.add(self.row, self.column, 0 if shared else len(text))
        if shared:
            self.indices[text] += 1
        elif self.kind == "e":
            layout.errors[self.row, self.column] = text


def _at(place):
    """Row and column of a cell's name such as B7."""
    parts = _PLACE.fullmatch(place)
    if not parts:
        raise _Damaged
    column = 0
    for letter in parts[1]:
        column = 26 * column + ord(letter) - ord("A") + 1
    if column > MOST_COLUMNS or int(parts[2]) > MOST_ROWS:
        raise _Damaged
    return int(parts[2]) - 1, column - 1


_VALUES = tuple(f"office:{kind}-value" for kind in ("string", "date", "time", "boolean"))


class _Ods(_Workbook):
    """A workbook of OpenDocument."""

    def __init__(self, source):
        self.held = self.area = 0  # cells of all sheets: before and after rows are repeated
        super().__init__(source)

    def sheet(self, name):
        """The layout of a sheet."""
        return self.layouts[name]

    def begin(self, name, size):
        """Begin a part."""
        self.layout, self.row, self.column = _Layout(), 0, 0
        self.rows = self.pending = 0
        self.cell = None

    def start(self, tag, attributes):
        """Read the beginning of an element."""
        match tag.rpartition(":")[2]:
            case "table-cell" | "covered-table-cell":
                times = attributes.get("table:number-columns-repeated", "1")
                self.times = _natural(times, 2 * MOST_COLUMNS)
                self.cell, self.text, self.collects = attributes, "", True
            case "s" if self.cell is not None:
                n = _natural(attributes.get("text:c", "1"), MOST_CHARACTERS)
                self.check_length(len(self.text) + n)
                self.text += " " * n
            case "table-row":
                times = attributes.get("table:number-rows-repeated", "1")
                self.rows = _natural(times, 2 * MOST_ROWS)
                self.column = self.pending = 0
                if "table:visibility" in attributes and self._collapsed(attributes):
                    self.layout.hidden_rows.append((self.row, self.row + self.rows))
            case "table-column":
                times = attributes.get("table:number-columns-repeated", "1")
                n = _natural(times, 2 * MOST_COLUMNS)
                if self._collapsed(attributes):
                    self.layout.hidden_columns.append((self.column, self.column + n))
                self.column += n
            case "table":
                self.layout, self.row, self.column = _Layout(), 0, 0
                name = attributes.get("table:name")
                if name in self.layouts:
                    raise _Damaged
                self.layouts[name] = self.layout

    @staticmethod
    def _collapsed(attributes):
        return attributes.get("table:visibility") in ("collapse", "filter")

    def end(self, tag):
        """Read the end of an element."""
        match tag.rpartition(":")[2]:
            case "table-cell" | "covered-table-cell" if self.cell is not None:
                self._cell(self.cell)
                self.cell, self.collects = None, False
                self.column += self.times
            case "table-row":
                self.row += self.rows
            case "table":
                self.area += self.layout.area()
                if self.area > MOST_CELLS or self.layout.characters > MOST_CHARACTERS:
                    self.refuse_large()

    def _cell(self, attributes):
        layout = self.layout
        self.held += self.pending  # empty ones take room once another follows
        self.pending = min(self.times, MOST_COLUMNS)
        text = next((attributes[v] for v in _VALUES if v in attributes), None)
        if text is None:
            text = attributes.get("office:value", "")
        if not text and attributes.get("office:value-type") == "string":
            text = self.text
        self.check_length(len(text))
        formula = attributes.get("table:formula", "")
        if text or formula:
            layout.add(self.row, self.column, len(text) + len(formula), self.rows, self.times)
        if max(self.held, layout.cells, layout.area()) > MOST_CELLS:
            self.refuse_large()
        if formula and _ERROR.fullmatch(self.text):
            for i in range(self.rows):
                for j in range(self.times):
                    layout.errors[self.row + i, self.column + j] = self.text
        elif formula and "office:value-type" not in attributes and layout.unsaved is None:
            layout.unsaved = self.row, self.column
        down, across = (
            _natural(attributes.get(f"table:number-{k}-spanned", "1"), MOST_ROWS)
            for k in ("rows", "columns")
        )
        if down > 1 or across > 1:
            layout.merged.append(
                (self.row, self.row + down - 1, self.column, self.column + across - 1)
            )
