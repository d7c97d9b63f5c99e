"""Text files as lines, and lines as cells."""

import codecs
import csv
import io
from collections import Counter
from pathlib import Path

from .problem import DataError

DELIMITERS = ("\t", ";", "|", ",")


def cells_of(path, instead=""):
    """Lines of cells of a delimited text file, and its delimiter.

    Parameters
    ----------
    path : str or path
        The file.
    instead : str
        What to say of a file that is not text.

    Returns
    -------
    rows : list of list of str
    delimiter : str
    """
    text = _decoded(Path(path), instead)
    lines = lines_of(path, text=text)
    delimiter = sniff(lines[:50])
    if delimiter == " ":
        rows = [line.split() for line in lines]
    else:
        rows = [row for row in _csv_rows(path, text, delimiter) if any(c.strip() for c in row)]
    return [[cell.strip() for cell in row] for row in rows], delimiter


def _csv_rows(path, text, delimiter):
    """Rows of the whole text: a quoted cell may hold line ends."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    line = 0
    try:
        for row in reader:
            line = reader.line_num
            yield row
    except csv.Error:
        raise DataError(
            f"Line {line + 1} of {str(path)!r} has a cell of more than {csv.field_size_limit()} "
            "characters; perhaps a quote is not closed there."
        ) from None


def lines_of(path, instead="", *, text=None):
    """Lines of a text file that are not blank.

    They end at \\n, \\r\\n or \\r, as on any system. Other marks that Unicode lets end a line (form
    feed, U+2028) may stand within a text.
    """
    text = _decoded(Path(path), instead) if text is None else text
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise DataError(f"{str(path)!r} is empty.")
    return lines


def _decoded(path, instead):
    """The text of a file, each line's end a \\n."""
    text = _text(path.read_bytes())
    if text is None:
        raise DataError(f"{str(path)!r} is not a text file{instead and '; '}{instead}.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(data):
    """Bytes as text, None if they are none; UTF-16 (Excel's "Unicode text") has a mark."""
    encodings = ("utf-8-sig", "cp1252", "latin-1")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ("utf-16",)
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return None if "\0" in text[:4096] else text
    return None


def sniff(lines):
    """The delimiter that cuts (nearly) all lines into the same number of cells.

    The comma is tried last among the marks: it may also stand within numbers.
    """
    for delimiter in DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        except csv.Error:  # a long line, which this mark does not cut
            continue
        width, times = widths.most_common(1)[0]
        if width > 1 and times >= 0.9 * len(lines):
            return delimiter
    # The line of names above a matrix may lack the cell above the names of the rows.
    words = {len(line.split()) for line in lines[1:] or lines}
    return " " if len(words) == 1 and words != {1} else ","
