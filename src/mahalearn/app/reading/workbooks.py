"""Rows of cells of a sheet in a workbook (.xlsx, .ods), as the texts a CSV file would hold."""

import datetime
import io
import zipfile

from .problem import DataError, listed

# Cells that a sheet may have, empty ones within its rows included.
MOST_CELLS = 20_000_000


def sheet_rows(source, sheet=None):
    """Rows of a sheet, and sentences on what was decided.

    Parameters
    ----------
    source : Source
        The workbook.
    sheet : str or None
        Name of a sheet, or its number from 1; the first that is not empty if None.

    Returns
    -------
    rows : list of list of str
    notes : list of str
    """
    reader = _xlsx if source.suffix == ".xlsx" else _ods
    try:
        names, read = reader(source)
    except ImportError as error:
        raise DataError(
            f'Workbooks need {error.name}: pip install "mahalearn[cli]", or save the sheet as CSV.'
        ) from None
    except DataError:
        raise
    except Exception:
        raise DataError(
            f"{source.name!r} could not be read as a workbook: it is damaged; save it again, or "
            "the sheet as CSV."
        ) from None
    if sheet is not None:
        name = find_sheet(names, sheet, source.name)
        return _filled(source, name, read), []
    for name in names:
        rows = _filled(source, name, read)
        if rows:
            notes = []
            if len(names) > 1:
                notes.append(f"Sheet {name!r} was read; the workbook has {listed(names)}.")
            return rows, notes
    raise DataError(f"{source.name!r} is empty.")


def find_sheet(names, sheet, file):
    """The name of a sheet that is given by name or by number from 1."""
    if sheet in names:
        return sheet
    if str(sheet).isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise DataError(f"{file!r} has no sheet {sheet!r}; it has {listed(map(repr, names))}.")


def _filled(source, name, read):
    """Rows of texts with at least one that is not empty, cut to the columns in use."""
    try:
        rows = [[as_text(cell) for cell in row] for row in read(name)]
    except DataError:
        raise
    except Exception:
        raise DataError(
            f"Sheet {name!r} of {source.name!r} could not be read: it is damaged; save it again."
        ) from None
    rows = [row for row in rows if any(row)]
    width = max((max(i for i, cell in enumerate(row) if cell) for row in rows), default=-1) + 1
    return [row[:width] + [""] * (width - len(row)) for row in rows]


def as_text(cell):
    """A cell's value as a CSV file would hold it."""
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ") if cell.time() != datetime.time() else cell.date().isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split()) if isinstance(cell, str) else str(cell)


def _xlsx(source):
    from openpyxl import load_workbook

    _refuse_many_written(source)
    book = load_workbook(io.BytesIO(source.data), read_only=True, data_only=True)
    names = [sheet.title for sheet in book.worksheets]

    def read(name):
        sheet, n_cells = book[name], 0
        sheet.reset_dimensions()  # some programs write a wrong one
        formulas = None
        for i, row in enumerate(sheet.iter_rows(values_only=True)):
            n_cells += len(row)
            _refuse_many(n_cells, source)
            if None in row:
                formulas = _formulas(source, name) if formulas is None else formulas
                for j, cell in enumerate(row):
                    if cell is None and (i, j) in formulas:
                        raise DataError(
                            f"Cell {_place(i, j)} of sheet {name!r} in {source.name!r} holds a "
                            "formula whose value was not saved; open the file in a spreadsheet "
                            "program and save it."
                        )
            yield row

    return names, read


def _formulas(source, name):
    """Places of the formulas of a sheet."""
    from openpyxl import load_workbook

    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        sheets = [n for n in archive.namelist() if n.startswith("xl/worksheets/")]
        if not any(b"<f" in archive.read(n) for n in sheets if n.endswith(".xml")):
            return set()
    sheet = load_workbook(io.BytesIO(source.data), read_only=True)[name]
    sheet.reset_dimensions()
    return {
        (i, j)
        for i, row in enumerate(sheet.iter_rows(values_only=True))
        for j, cell in enumerate(row)
        if isinstance(cell, str) and cell.startswith("=")
    }


def _place(row, column):
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column + 1)}{row + 1}"


def _ods(source):
    import odf  # noqa: F401
    import pandas as pd

    _refuse_repeated(source)
    book = pd.ExcelFile(io.BytesIO(source.data), engine="odf")

    def read(name):
        frame = pd.read_excel(book, sheet_name=name, header=None, dtype=object, na_filter=False)
        _refuse_many(frame.size, source)
        return frame.to_numpy().tolist()

    return list(book.sheet_names), read


def _refuse_repeated(source):
    """Refuse cells that are said to be repeated so often that they would fill the memory.

    Rows and columns without a value are repeated to the end of the sheet by every program, and cost
    nothing; a cell with a value is not.
    """
    import xml.etree.ElementTree as ET

    table = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive, archive.open("content.xml") as file:
        total, row_cells = 0, 0
        for event, element in ET.iterparse(file, events=("start", "end")):
            if event == "start":
                if element.tag == table + "table-row":
                    row_cells = 0
                continue
            if element.tag == table + "table-cell" and len(element):
                row_cells += int(element.get(table + "number-columns-repeated", 1))
                _refuse_many(row_cells, source)
            elif element.tag == table + "table-row":
                total += row_cells * int(element.get(table + "number-rows-repeated", 1))
                _refuse_many(total, source)
                element.clear()


def _refuse_many_written(source):
    """Refuse parts of a workbook with too many cells before any of them is read: it takes long."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for info in archive.infolist():
            if info.file_size < len(b"<c/>") * MOST_CELLS:
                continue
            n_cells = 0
            with archive.open(info) as file:
                while chunk := file.read(2**20):
                    n_cells += sum(chunk.count(start) for start in (b"<c>", b"<c ", b"<c/>"))
                    _refuse_many(n_cells, source)


def _refuse_many(n_cells, source):
    if n_cells > MOST_CELLS:
        raise DataError(
            f"{source.name!r} has a sheet of more than {MOST_CELLS} cells; save it as CSV or "
            "Parquet."
        )
