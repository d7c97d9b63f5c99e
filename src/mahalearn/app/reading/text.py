"""Text files as lines, and lines as cells."""

import codecs
import csv
import io
from collections import Counter

from .problem import DataError
from .source import load

DELIMITERS = ("\t", ";", "|", ",")
LONGEST_CELL = 131_072
# So large a share of lines with the same number of cells shows the delimiter.
NEARLY_ALL = 0.9
# Lines that may stand above a table's header.
MOST_TITLES = 20
# Bytes at the beginning of a file that show whether it is a text.
_BEGINNING = 4096
# Encodings that hardly any text is written in, but that decode every byte.
_WESTERN = ("cp1252", "latin_1", "iso8859_15")


def cells_of(path, instead="", *, text=None, skip=0):
    """Lines of cells of a delimited text file, and its delimiter.

    Parameters
    ----------
    path : str or path
        The file.
    instead : str
        What to say of a file that is not text.
    text : str or None
        What the file holds, if it was read already.
    skip : int
        Lines to leave out above the table.

    Returns
    -------
    rows : list of list of str
    delimiter : str
    """
    text = decoded(path, instead)[0] if text is None else text
    if skip:
        text = text.split("\n", skip)[-1] if text.count("\n") >= skip else ""
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
    line, n_lines = 0, text.count("\n")
    try:
        for row in reader:
            # csv's own limit is a setting of the process, which other packages change.
            if any(len(cell) > LONGEST_CELL for cell in row):
                raise csv.Error
            last, line = line, reader.line_num
            if line - last > 1 and line >= n_lines and _ends_in_quote(row, text):
                raise DataError(
                    f"A quote that opens in line {last + 1} of {str(path)!r} is not closed; check "
                    "its quotes."
                )
            yield row
    except csv.Error:
        raise DataError(
            f"Line {line + 1} of {str(path)!r} has a cell of more than {LONGEST_CELL} characters; "
            "perhaps a quote is not closed there."
        ) from None


def _ends_in_quote(row, text):
    """Whether the last row of a text ends within a quote."""
    return "\n" in row[-1] and not text.rstrip().endswith('"')


def lines_of(path, instead="", *, text=None):
    """Lines of a text file that are not blank.

    They end at \\n, \\r\\n or \\r, as on any system. Other marks that Unicode lets end a line (form
    feed, U+2028) may stand within a text.
    """
    text = decoded(path, instead)[0] if text is None else text
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise DataError(f"{str(path)!r} is empty.")
    return lines


def decoded(source, instead=""):
    """The text of a file, each line's end a \\n, and sentences on what was decided.

    Parameters
    ----------
    source : str, path or Source
        The file, or what was read of it.
    instead : str
        What to say of a file that is not text.

    Returns
    -------
    text : str
    notes : list of str
    """
    if not hasattr(source, "data"):
        source = load(source)
    text, notes = _text(source.data)
    if text is None:
        at = source.data.find(b"\0")
        if at >= _BEGINNING and b"\0" not in source.data[at + 1 : at + _BEGINNING]:
            line = source.data.count(b"\n", 0, at) + 1
            raise DataError(
                f"{source.name!r} holds the character NUL in line {line}: it was damaged there; "
                "correct the line, or save the file again."
            )
        raise DataError(f"{source.name!r} is not a text file{instead and '; '}{instead}.")
    return text.replace("\r\n", "\n").replace("\r", "\n"), [*source.notes, *notes]


def _text(data):
    """Bytes as text, None if they are none, and a note where the encoding was guessed."""
    marks = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for mark, encoding in zip(marks, ("utf-32", "utf-32", "utf-16", "utf-16")):
        if data.startswith(mark):
            return _decode(data, encoding), []
    text = _decode(data, "utf-8-sig")
    if text is not None or b"\0" in data:
        return text, []
    encoding = _guess(data)
    text = _decode(data, encoding)
    if text is None:
        encoding, text = "latin-1", _decode(data, "latin-1")
    note = f"The file is not in UTF-8; it was read as {encoding}, a guess from its letters."
    return text, [note] if text is not None else []


def _decode(data, encoding):
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    return None if "\0" in text else text


def _guess(data):
    """The encoding of bytes that are not UTF-8."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    # A column of names repeats; the lines with letters beyond ASCII tell all there is to tell.
    lines = {line for line in data.splitlines() if not line.isascii()}
    found = list(from_bytes(b"\n".join(sorted(lines))[:200_000]))
    if not found:
        return "cp1252"
    best = found[0]
    likely = [match for match in found if match.chaos <= best.chaos + 0.02]
    names = {name for match in likely for name in (match.encoding, *match.could_be_from_charset)}
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return best.encoding
    # Few letters fit many encodings; of those that fit as well, the usual one.
    return "cp1252" if names & set(_WESTERN) else best.encoding


def sniff(lines):
    """The delimiter that cuts (nearly) all lines into the same number of cells.

    The comma is tried last among the marks: it may also stand within numbers. Where no mark cuts
    all lines alike, the first lines may be a title above the table.
    """
    for start in range(1 + min(MOST_TITLES, len(lines) // 2)):
        found = _delimiter(lines[start:])
        if found:
            return found
    return ","


def _delimiter(lines):
    for delimiter in DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        except csv.Error:  # a long line, which this mark does not cut
            continue
        width, times = widths.most_common(1)[0]
        if width > 1 and times >= NEARLY_ALL * len(lines):
            return delimiter
    # The line of names above a matrix may lack the cell above the names of the rows.
    words = {len(line.split()) for line in lines[1:] or lines}
    return " " if len(words) == 1 and words != {1} else None
