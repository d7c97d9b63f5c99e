"""The bytes of a file, a pipe or standard input, unpacked, and which format they have.

Text files also as lines, and lines as cells.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from .problem import DataError, listed

# What a compressed file or a workbook may unpack to, and what is read from a pipe.
MOST_BYTES = 2**30
_CHUNK = 2**20
# The first bytes of what is known by its first bytes.
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_OPEN = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
_FORMATS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"FEA1": ".feather",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"%PDF": ".pdf",
    b"\x80\x04\x95": ".pkl",
    b"\x80\x05\x95": ".pkl",
    b"RDX3": ".rds",
    b"RDX2": ".rds",
    b"$FL2": ".sav",
    b"7z\xbc\xaf\x27\x1c": ".7z",
    b"Rar!\x1a\x07": ".rar",
    b"\x28\xb5\x2f\xfd": ".zst",
    b'{"': ".json",
    b"[{": ".json",
    b"[\n": ".json",
}
# Archives that are not read, by a part of them.
_INSIDE = {"content.xml": ".ods", "xl/workbook.bin": ".xlsb", "word/document.xml": ".docx"}
# Formats that are not read, and what to do instead.
REFUSED = {
    ".xls": "is a workbook of the old Excel format, or has a password; save it as .xlsx or CSV",
    ".xlsb": "is a binary workbook; save it as .xlsx or CSV",
    ".ods": "is a workbook of OpenDocument; save it as .xlsx or CSV",
    ".pdf": "is a PDF; save the table itself as CSV or .xlsx",
    ".pkl": "is a pickle, which could run any code; save the table as CSV or Parquet",
    ".pickle": "is a pickle, which could run any code; save the table as CSV or Parquet",
    ".h5": "is an HDF5 file; save the table as CSV or Parquet",
    ".hdf5": "is an HDF5 file; save the table as CSV or Parquet",
    ".mat": "is a MATLAB file; save the table as CSV (writetable)",
    ".rds": "is a file of R; save the table as CSV (write.csv)",
    ".rdata": "is a file of R; save the table as CSV (write.csv)",
    ".sav": "is an SPSS file; save the table as CSV",
    ".dta": "is a Stata file; save the table as CSV",
    ".sas7bdat": "is a SAS file; save the table as CSV",
    ".feather": "is a Feather file; save the table as Parquet or CSV",
    ".arrow": "is an Arrow or Feather file; save the table as Parquet or CSV",
    ".ipc": "is an Arrow file; save the table as Parquet or CSV",
    ".doc": "is a text document; save the table as CSV or .xlsx",
    ".docx": "is a text document; save the table as CSV or .xlsx",
    ".7z": "is a 7z archive; unpack it",
    ".rar": "is a RAR archive; unpack it",
    ".zst": "is compressed by Zstandard; unpack it",
    ".tar": "is a tar archive; unpack it",
    ".numbers": "is a Numbers document; export it as CSV or .xlsx",
}


class FileContents(NamedTuple):
    """Contents of a file.

    Attributes
    ----------
    name : str
        What messages call it.
    suffix : str
        Its format, as the suffix of a file name in lower case; "" for text without a suffix.
    data : bytes
        Its contents, unpacked.
    notes : list of str
        What was decided on the way.
    """

    name: str
    suffix: str
    data: bytes
    notes: list


def is_stream(path):
    """True if a path means standard input."""
    return str(path) == "-"


def load(path, what="file"):
    """Read a file, a pipe or standard input (``-``) once, and unpack it.

    Parameters
    ----------
    path : str or path
        What to read; .gz, .bz2, .xz and .zip files are unpacked.
    what : str
        What a message calls a file that does not exist.

    Returns
    -------
    source : FileContents
    """
    path = Path(path)
    name = "standard input" if is_stream(path) else str(path)
    inner, data, notes = path, _contents(path, name, what), []
    for _ in range(2):  # .csv.gz within .zip, and no deeper
        inner, data = _unpacked(inner, data, name, notes)
    if not data:
        raise DataError(f"{name!r} is empty.")
    suffix = inner.suffix.lower()
    if suffix in _SUFFIXES:
        raise DataError(f"{name!r} is not a {_SUFFIXES[suffix]} file, although its name says so.")
    detected = ".tar" if data[257:262] == b"ustar" else _by_beginning(data, _FORMATS)
    suffix = detected or suffix
    if suffix in REFUSED and (detected or not _looks_like_text(data)):
        raise DataError(f"{name!r} {REFUSED[suffix]}.")
    return FileContents(name, suffix, data, notes)


def _contents(path, name, what):
    """The bytes of a file, a pipe or standard input."""
    if is_stream(path):
        return _limited(sys.stdin.buffer, name)
    if not path.exists():
        raise DataError(f"There is no {what} {name!r}.")
    if path.is_dir():
        raise DataError(f"{name!r} is a folder without .parquet files; name a file.")
    if stat.S_ISREG(path.stat().st_mode):
        return path.read_bytes()
    with open(path, "rb") as file:  # a pipe, or a device such as /dev/stdin
        return _limited(file, name)


def _by_beginning(data, marks):
    """What the first bytes of a file say of it, None if nothing."""
    return next((what for mark, what in marks.items() if data.startswith(mark)), None)


def _unpacked(inner, data, name, notes):
    """Name and bytes of what a compressed file or an archive holds; of any other file its own."""
    kind = _by_beginning(data, _PACKED)
    if kind:
        packed = inner.suffix.lower() in _SUFFIXES
        return inner.with_suffix("") if packed else inner, _unpack(_OPEN[kind], data, name, kind)
    if data.startswith(b"PK\x03\x04"):
        return _zip(inner, data, name, notes)
    return inner, data


def _looks_like_text(data):
    return b"\0" not in data[:4096]


def _limited(file, name):
    """All bytes of a stream, refused if there are too many."""
    parts, size = [], 0
    while chunk := file.read(_CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > MOST_BYTES:
            raise DataError(
                f"{name!r} holds more than {MOST_BYTES / 2**20:.0f} MB; unpack it and save it as "
                "Parquet, or take fewer rows."
            )
    return b"".join(parts)


def _unpack(opener, data, name, kind):
    try:
        with opener(io.BytesIO(data)) as file:
            return _limited(file, name)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise DataError(f"{name!r} is a damaged {kind} file; make it again.") from None


# The number of entries of an archive that says it elsewhere.
_ZIP64 = 0xFFFF


def _n_entries(data):
    """The number of entries that the end of a zip archive tells; zipfile does not compare it."""
    end = data.rindex(b"PK\x05\x06")
    return int.from_bytes(data[end + 10 : end + 12], "little")


def _zip(path, data, name, notes):
    """Name and bytes of the one file of a zip archive; workbooks and arrays stay as they are."""
    archive, members = _members(data, name)
    names = {info.filename for info in members}
    if "xl/workbook.xml" in names:
        return path.with_suffix(".xlsx"), data
    if names and all(member.endswith(".npy") for member in names):
        return path.with_suffix(".npz"), data
    for part, kind in _INSIDE.items():
        if part in names:
            raise DataError(f"{name!r} {REFUSED[kind]}.")
    own = {n for n in names if not n.startswith("__MACOSX/") and not Path(n).name.startswith(".")}
    files = [info for info in members if info.filename in own]
    if len(files) != 1:
        what = listed(repr(info.filename) for info in files) if files else "none"
        raise DataError(f"{name!r} must hold one file to be read; it holds {what}.")
    if files[0].flag_bits & 1:
        raise DataError(f"{name!r} is protected by a password; unpack it first.")
    try:
        with archive.open(files[0]) as file:
            inside = _limited(file, name)
    except (DataError, MemoryError):
        raise
    except Exception:
        raise _damaged_archive(name) from None
    notes.append(f"{files[0].filename!r} was read from the archive.")
    return Path(files[0].filename), inside


def _members(data, name):
    """A zip archive, and its files: all that it says it has, and not too large."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except MemoryError:
        raise
    except Exception:  # zipfile also raises IndexError, ValueError and others
        raise _damaged_archive(name) from None
    if _n_entries(data) not in (len(entries), _ZIP64) or not all(i.filename for i in entries):
        raise _damaged_archive(name)
    members = [info for info in entries if not info.is_dir()]
    size = sum(info.file_size for info in members)
    if size > MOST_BYTES:
        raise DataError(
            f"{name!r} unpacks to {size / 2**20:.0f} MB, more than the {MOST_BYTES / 2**20:.0f} MB "
            "that are read from an archive; unpack it and save it as Parquet, or take fewer rows."
        )
    return archive, members


def _damaged_archive(name):
    return DataError(f"{name!r} is a damaged zip archive; make it again.")


# --- text files -----------------------------------------------------------------------------------

DELIMITERS = ("\t", ";", "|", ",")
LONGEST_CELL = 131_072
# So large a share of lines with the same number of cells shows the delimiter.
NEARLY_ALL = 0.9
# Lines that may stand above a table's header.
MOST_TITLES = 20
# Bytes at the beginning of a file that show whether it is a text.
_BEGINNING = 4096
# Encodings by the first bytes of a file.
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Encodings that hardly any text is written in, but that decode every byte.
_WESTERN = ("cp1252", "latin_1", "iso8859_15")


def cells_of(path, text, skip=0):
    """Rows of cells of a delimited text file, the line each begins in, and its delimiter.

    Parameters
    ----------
    path : str or path
        The file, for messages.
    text : str
        Its contents, see :func:`decoded`.
    skip : int
        Lines to leave out above the table.

    Returns
    -------
    rows : list of list of str
    lines : list of int
        From 1.
    delimiter : str
    """
    if skip:
        text = text.split("\n", skip)[-1] if text.count("\n") >= skip else ""
    delimiter = sniff(lines_of(path, text)[:50])
    numbered = list(numbered_rows(path, io.StringIO(text), delimiter, skip))
    if not numbered:
        raise DataError(f"{str(path)!r} is empty.")
    return [row for _, row in numbered], [line for line, _ in numbered], delimiter


def numbered_rows(path, lines, delimiter, skip=0):
    """Rows of cells that are not blank, each behind the number of the line it begins in.

    Parameters
    ----------
    path : str or path
        The file, for messages.
    lines : iterable of str
        Its lines, with their ends.
    delimiter : str
        What divides cells; a blank stands for any number of them.
    skip : int
        Number of lines of the file above these.
    """
    if delimiter == " ":
        lines = map(_with_blanks, lines)
    for line, row in _csv_rows(path, lines, delimiter, skip + 1):
        row = [_shown(cell.strip()) for cell in row]
        if any(row):
            yield line, row


def _shown(cell):
    """What a spreadsheet program shows of a cell: ="007" keeps the zeros of 007."""
    return cell[2:-1] if cell.startswith('="') and cell.endswith('"') else cell


def _with_blanks(line):
    """A line whose cells blanks divide, none before the first and behind the last."""
    return line.replace("\t", " ").strip() + "\n"


def _csv_rows(path, lines, delimiter, line):
    """Rows, each behind its line, counted from `line`: a quoted cell may hold line ends."""
    taken = []  # lines of the present row

    def noted():
        for each in lines:
            taken.append(each)
            yield each

    row = [""]
    try:
        for row in csv.reader(noted(), delimiter=delimiter, skipinitialspace=True):
            # csv's own limit is a setting of the process, which other packages change.
            if sum(map(len, taken)) > LONGEST_CELL < max(map(len, row)):
                raise csv.Error
            if len(taken) > 1 and len(row) > 1 and _are_rows(taken, len(row), delimiter):
                raise DataError(
                    f"A quote that opens in line {line} of {str(path)!r} is closed in line "
                    f"{line + len(taken) - 1} only, behind whole rows; check its quotes."
                )
            yield line, row
            line, last = line + len(taken), taken.copy()
            taken.clear()
    except csv.Error:
        raise DataError(
            f"Line {line} of {str(path)!r} has a cell of more than {LONGEST_CELL} characters; "
            "perhaps a quote is not closed there."
        ) from None
    if row and "\n" in row[-1] and not "".join(last).rstrip().endswith('"'):
        raise DataError(
            f"A quote that opens in line {line - len(last)} of {str(path)!r} is not closed; check "
            "its quotes."
        )


def _are_rows(lines, width, delimiter):
    """True if each of the lines has the cells of a row: a stray quote joined them."""
    return all(line.count(delimiter) >= width - 1 for line in lines if line.strip())


def lines_of(path, text):
    """Lines of a file's text that are not blank.

    They end at \\n, \\r\\n or \\r, as on any system. Other marks that Unicode lets end a line (form
    feed, U+2028) may stand within a text.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise DataError(f"{str(path)!r} is empty.")
    return lines


def decoded(source, instead=""):
    """The text of a file, each line's end a \\n, and sentences on what was decided.

    Parameters
    ----------
    source : str, path or FileContents
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
    encoding, notes = encoding_of(source.data)
    if notes:
        _refuse_stray_bytes(source)
    if encoding is None:
        at = source.data.find(b"\0")
        if at >= _BEGINNING and b"\0" not in source.data[at + 1 : at + _BEGINNING]:
            line = source.data.count(b"\n", 0, at) + 1
            raise DataError(
                f"{source.name!r} holds the character NUL in line {line}: it was damaged there; "
                "correct the line, or save the file again."
            )
        raise DataError(f"{source.name!r} is not a text file{instead and '; '}{instead}.")
    text = source.data.decode(encoding).lstrip("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n"), [*source.notes, *notes]


def encoding_of(data):
    """The encoding of bytes, None if they are no text, and a note where it was guessed."""
    encoding = next((e for mark, e in _MARKS.items() if data.startswith(mark)), "utf-8-sig")
    if _decode(data, encoding) is not None:
        return encoding, []
    if b"\0" in data:
        return None, []
    encoding = _guess(data)
    if _decode(data, encoding) is None:
        encoding = "latin-1"
    return encoding, [
        f"The file is not in UTF-8; it was read as {encoding}, a guess from its letters."
    ]


def _refuse_stray_bytes(source):
    """Refuse a text in UTF-8 with a few other bytes: in another encoding all its letters change."""
    text = source.data.decode("utf-8", "surrogateescape")
    stray = [match.start() for match in re.finditer("[\udc80-\udcff]", text)]
    letters = len(re.findall(r"[^\x00-\x7f]", text)) - len(stray)
    if letters < len(stray) and not source.data.startswith(codecs.BOM_UTF8):
        return
    line = text.replace("\r\n", "\n").replace("\r", "\n").count("\n", 0, stray[0]) + 1
    others = f" (and {len(stray) - 1} more)" if len(stray) > 1 else ""
    raise DataError(
        f"{source.name!r} is in UTF-8 but for the byte {ord(text[stray[0]]) - 0xDC00:02X} in line "
        f"{line}{others}: it was damaged there, or holds text in two encodings; correct the line, "
        "or save the file again in UTF-8."
    )


def _decode(data, encoding):
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    return None if "\0" in text else text


def _guess(data):
    """The encoding of bytes that are not UTF-8."""
    from charset_normalizer import from_bytes

    # A column of names repeats; the lines with letters beyond ASCII tell all there is to tell.
    lines = {line for line in data.splitlines() if not line.isascii()}
    matches = list(from_bytes(b"\n".join(sorted(lines))[:200_000]))
    if not matches:
        return "cp1252"
    best = matches[0]
    likely = [match for match in matches if match.chaos <= best.chaos + 0.02]
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
        delimiter = _delimiter(lines[start:])
        if delimiter:
            return delimiter
    return ","


def _delimiter(lines):
    """The first mark that cuts nearly all lines alike.

    One that stands within the cells of a column (a|b) does not cut the line of names, as another
    one does, into more cells.
    """
    cuts = []
    for delimiter in DELIMITERS:
        widths = _widths(lines, delimiter)
        width, times = Counter(widths).most_common(1)[0]
        if width > 1 and times >= NEARLY_ALL * len(lines):
            cuts.append((delimiter, width, widths[0]))
    if cuts:
        delimiter, most, first = cuts[0]
        better = [mark for mark, width, names in cuts if names == width > most]
        return better[0] if better and first == 1 else delimiter
    # The line of names above a matrix may lack the cell above the names of the rows.
    words = set(_widths(map(_with_blanks, lines[1:] or lines), " "))
    return " " if len(words) == 1 and words != {1} else None


def _widths(lines, delimiter):
    """Number of cells of each row; 1 for all if a cell is too long to be cut by this mark."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True)]
    except csv.Error:
        return [1]
