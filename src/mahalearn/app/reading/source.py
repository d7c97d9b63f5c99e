"""The bytes of a file, a pipe or standard input, unpacked, and which format they have."""

import bz2
import gzip
import io
import lzma
import stat
import sys
import zipfile
import zlib
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
    b"FEA1": ".feather1",
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
}
# Formats that are not read, and what to do instead.
REFUSED = {
    ".xls": "is a workbook of the old Excel format; save it as .xlsx or CSV",
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
    ".feather1": "is a Feather file of version 1; save the table as Parquet",
    ".doc": "is a text document; save the table as CSV or .xlsx",
    ".docx": "is a text document; save the table as CSV or .xlsx",
    ".7z": "is a 7z archive; unpack it",
    ".rar": "is a RAR archive; unpack it",
    ".zst": "is compressed by Zstandard; unpack it",
    ".tar": "is a tar archive; unpack it",
    ".numbers": "is a Numbers document; export it as CSV or .xlsx",
}


# Parts of a workbook that are not read.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".svg")


class Source(NamedTuple):
    """What stands in a file.

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
    """Whether a path means standard input."""
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
    source : Source
    """
    path = Path(path)
    if is_stream(path):
        name, suffix, data = "standard input", "", _limited(sys.stdin.buffer, "standard input")
    else:
        name, suffix = str(path), path.suffix.lower()
        if not path.exists():
            raise DataError(f"There is no {what} {name!r}.")
        if path.is_dir():
            raise DataError(f"{name!r} is a folder; name a file.")
        if stat.S_ISREG(path.stat().st_mode):
            data = path.read_bytes()
        else:  # a pipe, or a device such as /dev/stdin
            with open(path, "rb") as file:
                data = _limited(file, name)
    if not data:
        raise DataError(f"{name!r} is empty.")
    notes, inner = [], path.with_suffix("") if path.suffix.lower() in _SUFFIXES else path
    for _ in range(2):  # .csv.gz within .zip, and no deeper
        kind = next((kind for mark, kind in _PACKED.items() if data.startswith(mark)), None)
        if kind:
            data = _unpack(_OPEN[kind], data, name, kind)
            suffix = inner.suffix.lower() if not is_stream(path) else ""
        elif data.startswith(b"PK\x03\x04"):
            suffix, data, inner = _zip(data, name, notes)
            if suffix in (".xlsx", ".ods", ".npz"):
                break
        else:
            break
    if not data:
        raise DataError(f"{name!r} is empty.")
    if suffix in _SUFFIXES:
        raise DataError(f"{name!r} is not a {_SUFFIXES[suffix]} file, as its name says.")
    found = next((kind for mark, kind in _FORMATS.items() if data.startswith(mark)), None)
    if data[257:262] == b"ustar":
        found = ".tar"
    if found and found != suffix and suffix not in _same(found):
        suffix = found
    if suffix in REFUSED and (found or not _looks_like_text(data)):
        raise DataError(f"{name!r} {REFUSED[suffix]}.")
    return Source(name, suffix, data, notes)


def _same(suffix):
    """Suffixes of one format."""
    return {".parquet": (".pq",), ".arrow": (".feather", ".ipc"), ".pkl": (".pickle",)}.get(
        suffix, ()
    )


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


def _zip(data, name, notes):
    """Format, contents and name of what a zip archive holds: one file, or a workbook, or arrays."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DataError(f"{name!r} is a damaged zip archive; make it again.") from None
    size = sum(info.file_size for info in members)
    if size > MOST_BYTES:
        raise DataError(
            f"{name!r} unpacks to {size / 2**20:.0f} MB, more than the {MOST_BYTES / 2**20:.0f} MB "
            "that are read from an archive; unpack it and save it as Parquet, or take fewer rows."
        )
    names = {info.filename for info in members}
    if "xl/workbook.xml" in names:
        _check_xml(archive, members, name)
        return ".xlsx", data, Path(name)
    if "content.xml" in names and "mimetype" in names:
        _check_xml(archive, members, name)
        return ".ods", data, Path(name)
    if names and all(member.endswith(".npy") for member in names):
        return ".npz", data, Path(name)
    if "xl/workbook.bin" in names:
        raise DataError(f"{name!r} is a binary workbook (.xlsb); save it as .xlsx or CSV.")
    if "word/document.xml" in names:
        raise DataError(f"{name!r} {REFUSED['.docx']}.")
    files = [
        info
        for info in members
        if not info.filename.startswith("__MACOSX/")
        and not Path(info.filename).name.startswith(".")
    ]
    if len(files) != 1:
        what = listed(repr(info.filename) for info in files) if files else "none"
        raise DataError(f"{name!r} must hold one file to be read; it holds {what}.")
    if files[0].flag_bits & 1:
        raise DataError(f"{name!r} is protected by a password; unpack it first.")
    try:
        with archive.open(files[0]) as file:
            inside = _limited(file, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise DataError(f"{name!r} is a damaged zip archive; make it again.") from None
    notes.append(f"{files[0].filename!r} was read from the archive.")
    inner = Path(files[0].filename)
    suffix = inner.suffix.lower()
    return suffix, inside, inner.with_suffix("") if suffix in _SUFFIXES else inner


def _holds(archive, info, marks):
    """Whether a part of an archive holds one of some texts, in UTF-8 or UTF-16."""
    with archive.open(info) as file:
        end = b""
        while chunk := file.read(_CHUNK):
            text = end + chunk.replace(b"\0", b"")
            if any(mark in text for mark in marks):
                return True
            end = text[-16:]
    return False


def _check_xml(archive, members, name):
    """Refuse XML that defines entities: they can expand to gigabytes, or read files."""
    for info in members:
        # Parts are known by the workbook's own list: any name may be that of a sheet.
        if info.filename.lower().endswith(_PICTURES):
            continue
        marks = [b"<!ENTITY"]
        if not info.filename.startswith("META-INF/"):  # older programs name its document type
            marks.append(b"<!DOCTYPE")
        try:
            found = _holds(archive, info, marks)
        except Exception:
            raise DataError(f"{name!r} is a damaged workbook; save it again.") from None
        if found:
            raise DataError(
                f"{name!r} defines entities in {info.filename!r}, which no spreadsheet program "
                "does; it was not read."
            )
