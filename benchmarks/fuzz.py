"""Damaged and hostile files: every reader and the model loader, on mutations of files of our own.

``python -m benchmarks.fuzz [FORMAT ...] --seconds 60`` reads mutated files of each format for so
many seconds. Each is read in a child process with limits of processor time and address space, and
is

read        its contents are those that were written, where the mutation did not touch them
noticed     they are not, and the reader says what it did
refused     the reader says in a sentence why not
misread     they are not, and nothing is said
traceback   another error than a refusal
printed     the reader wrote to standard output
memory      more than 2 GB were asked for
hang        more than 20 s of processor time
killed      the process ended by a signal

The last six are faults; their inputs are kept in a folder. An input is drawn from its format, the
seed and its number alone, so that a fault is found again by the same seed.
"""

import argparse
import csv
import functools
import gzip
import io
import json
import lzma
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from mahalearn import GaussianClassifier, KernelQuadraticDiscriminant, load_model, model_about
from mahalearn.app.reading.large import TextTable, first_pass
from mahalearn.app.reading.problem import DataError
from mahalearn.app.reading.read import read_problem
from mahalearn.app.reading.tables import find_target
from mahalearn.persistence import UntrustedModelError, model_bytes

CPU_SECONDS, WALL_SECONDS, BYTES = 20, 90, 2**31
# A child reads so many inputs before the next one starts.
BATCH = 100
REFUSALS = (DataError, UntrustedModelError, OSError)
FAULTS = ("misread", "traceback", "printed", "memory", "hang", "killed")
KEPT = Path("fuzz-found")
# What readers import, so that not every child does. A child of a process with threads may block:
# nothing is read here.
LOADED = (
    "openpyxl", "pyarrow.parquet", "skops.io", "scipy.io.arff", "charset_normalizer",
    "mahalearn.app.reading.objects", "mahalearn.app.reading.matrices", "mahalearn.measures",
)  # fmt: skip
# Files are written here, where the system has it: a disk takes longer than the readers.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
N = 24


# --- what is written ------------------------------------------------------------------------------

_RNG = np.random.default_rng(0)
KIND = np.array(["rose", "tulip", "lily"])[np.arange(N) % 3]
TABLE = pd.DataFrame(
    {
        "height": (_RNG.normal(size=N) * 10).round(3),
        "width": np.where(np.arange(N) % 7 == 3, np.nan, _RNG.normal(size=N).round(2)),
        "leaves": _RNG.integers(0, 60, N).astype(float),
        "colour": np.array(["rosé", "weiß", "red"])[_RNG.integers(0, 3, N)],
        "place": np.array(['north, "old"', "south", "West-Östlich"])[_RNG.integers(0, 3, N)],
        "class": KIND,
    }
)
NUMBERS = TABLE.drop(columns=["colour", "place"]).fillna({"width": 0.5})
WORDS = ["".join(_RNG.choice(list("abcdeé"), _RNG.integers(3, 9))) for _ in range(N)]
PROTEINS = ["".join(_RNG.choice(list("ARNDCQEGHILK"), _RNG.integers(8, 20))) for _ in range(N)]
SERIES = [_RNG.normal(size=12).round(3) for _ in range(N)]
_POINTS = _RNG.normal(size=(12, 2))
MATRIX = np.sqrt(((_POINTS[:, None] - _POINTS[None]) ** 2).sum(axis=-1)).round(4)
NAMES = [f"object{i}" for i in range(len(MATRIX))]
LONG = list(zip(KIND.tolist(), SERIES))
# What people and attackers write into a cell.
CELLS = [
    "", " ", "x", "NA", "1e999", "-1e308", "5e-324", "9007199254740993", "nan", "inf", "-0", " 7 ",
    "1,5", "1.234,5", "−5.2", "12.3±0.1", "1_065", "1.2D+03", "#DIV/0!", "#N/A", "٤٢", "0x1F",
    "TRUE", "007", "2024-01-31", "=1+1", '"', "'", "a\nb", "a\rb", "a\tb", ";", ",", "|", "@data",
    ">x", "{}", "[", "\u202e", "\ufeff", "\x1b[2J", "\x0b", "\u2028", "\ud800", "\0",
    "12 mg", "5 %", "n.d.", "<LOD", "<0.5", "Total", "°C", "1.234.567", "é" * 70_000, "9" * 5000,
]  # fmt: skip
MARKS = b"\n\r\t,;\"' .:-\x00\xff>@{[0"
TOKENS = [
    b"0", b"-1", b"1", b"65536", b"1048577", b"2000000000", b"4294967295", b"99999999999999999999",
    b"1e308", b"-1e999", b"nan", b"", b"true", b"null", b"\xff", b"\0", b"\xc3", b"&#x1b;", b"[[[[",
    b"{" * 3000, b"9" * 5000, b'"', b"\n", b"\t", b":", b",", b"@", b">", b"</", b"/>",
]  # fmt: skip


def delimited(delimiter, decimal="."):
    """Rows of a table as lines of cells, the header first."""

    def write(frame):
        out = frame.copy()
        for name in out.columns[:3]:
            cells = ["" if _missing(v) else str(v) for v in out[name]]
            out[name] = [c.replace(".", decimal) if _plain(c) else c for c in cells]
        lines = []
        for row in [list(out.columns), *out.to_numpy().tolist()]:
            line = io.StringIO(newline="")
            csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(row)
            lines.append(line.getvalue().encode())
        return lines

    return write


def _plain(cell):
    return re.fullmatch(r"-?\d+(\.\d+)?", cell) is not None


def _missing(value):
    return value is None or (isinstance(value, float) and np.isnan(value))


def whole(method, **options):
    """A writer by a method of data frames."""

    def write(frame):
        out = io.BytesIO()
        getattr(frame, method)(out, index=False, **options)
        return [out.getvalue()]

    return write


def records(frame):
    """A JSON list of dicts, as JavaScript writes it."""
    dicts = [
        {k: None if _missing(v) else v for k, v in row.items()} for row in frame.to_dict("records")
    ]
    rows = [json.dumps(row, ensure_ascii=False).encode() for row in dicts]
    return [b"[", *(row + b",\n" for row in rows[:-1]), rows[-1] + b"]"]


def arff(frame):
    """ARFF: numbers, then categories in quotes."""
    lines = ["@relation plants\n"]
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            lines.append(f"@attribute {name} numeric\n")
        else:
            levels = ",".join(_quoted(v) for v in sorted(set(frame[name])))
            lines.append(f"@attribute {name} {{{levels}}}\n")
    rows = []
    for row in frame.to_numpy().tolist():
        cells = [
            "?" if _missing(v) else str(v) if isinstance(v, float) else _quoted(v) for v in row
        ]
        rows.append(",".join(cells) + "\n")
    return ["".join([*lines, "@data\n"]).encode(), *(row.encode() for row in rows)]


def _quoted(value):
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


def npz(frame):
    """Arrays X, y and the names of the columns."""
    out = io.BytesIO()
    X = frame.drop(columns="class")
    np.savez(
        out, X=X.to_numpy(), y=frame["class"].to_numpy(str), columns=np.array(X.columns, dtype=str)
    )
    return [out.getvalue()]


def packed(write, pack):
    """A writer whose files are compressed."""
    return lambda content: [pack(b"".join(write(content)))]


def _gz(data):
    return gzip.compress(data, mtime=0)


def _zip(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", data)
    return out.getvalue()


def texts(items):
    """Label, tab, text."""
    return [f"{label}\t{word}\n".encode() for label, word in items]


def json_lines(items):
    """Dicts of an object and its label."""
    dicts = [
        {"object": x.tolist() if hasattr(x, "tolist") else x, "label": label} for label, x in items
    ]
    return [(json.dumps(one, ensure_ascii=False) + "\n").encode() for one in dicts]


def fasta(items):
    """Sequences with their labels in the header."""
    return [f">s{i} label={label}\n{x}\n".encode() for i, (label, x) in enumerate(items)]


def ts(items):
    """The .ts format."""
    head = "@problemName plants\n@timeStamps false\n@univariate true\n@classLabel true "
    head += " ".join(sorted(set(KIND))) + "\n@data\n"
    return [head.encode(), *(f"{','.join(map(str, x))}:{label}\n".encode() for label, x in items)]


def ucr(items):
    """A label and the values of a series in each line."""
    return ["\t".join([label, *map(str, x)]).encode() + b"\n" for label, x in items]


def long(items):
    """A table with a row for each time of each series."""
    rows = [
        f"s{i},{t},{label},{value}\n".encode()
        for i, (label, x) in enumerate(items)
        for t, value in enumerate(x)
    ]
    return [b"device,t,state,v\n", *rows]


def series_npz(items):
    """Arrays of equally long series and their labels."""
    out = io.BytesIO()
    np.savez(out, X=np.array([x for _, x in items]), y=np.array([label for label, _ in items]))
    return [out.getvalue()]


def matrix_csv(M):
    """A matrix with names of rows and columns."""
    rows = [",".join([name, *map(str, row)]) + "\n" for name, row in zip(NAMES, M.tolist())]
    return [line.encode() for line in [",".join(["", *NAMES]) + "\n", *rows]]


def phylip(M):
    """A matrix below the number of its objects."""
    rows = [" ".join([name, *map(str, row)]) + "\n" for name, row in zip(NAMES, M.tolist())]
    return [line.encode() for line in [f"{len(M)}\n", *rows]]


def npy(M):
    """A matrix in numpy's format, its header first."""
    out = io.BytesIO()
    np.save(out, M)
    rows = [row.tobytes() for row in M]
    return [out.getvalue().removesuffix(b"".join(rows)), *rows]


# --- formats --------------------------------------------------------------------------------------


class Format(NamedTuple):
    """A kind of file: what is written, how, and what must be read from it.

    Attributes
    ----------
    suffix : str
        End of the file's name.
    content : object
        What is written.
    write : callable
        Content -> parts of the file: lines or records of a text, one part of any other file.
    read : callable
        Path -> contents, notes.
    differs : callable
        Contents, content, what was touched -> whether something else differs.
    change : callable or None
        Content, rng -> another one, and what was touched.
    delimiter : str or None
        What divides the cells of a row, where each part of the file is one.
    header : bool
        Whether the first part is a row of names.
    checked : bool
        Checksums protect the file: single bytes do not change without being noticed.
    """

    suffix: str
    content: object
    write: Callable
    read: Callable
    differs: Callable
    change: Callable | None = None
    delimiter: str | None = None
    header: bool = False
    checked: bool = False


class Place(NamedTuple):
    """Row (or object) and column that a mutation touched; -1 is the header."""

    row: int | None = None
    column: int | None = None


NOTHING = Place()


def read_table(path):
    """The table of a file, cells as plain values."""
    problem = read_problem(path, target="class")
    cells = {str(name): [_value(v) for v in problem.X[name]] for name in problem.X.columns}
    return {**cells, "class": [str(v) for v in problem.y]}, problem.notes


def read_parts(path):
    """The table of a text file that is read part by part."""
    table = TextTable(path, find=functools.partial(find_target, target="class"))
    table.part_rows = 7
    notes = first_pass(table, "class", N).notes()
    frame = pd.concat([part for _, part in table.parts()])
    frame = frame[frame["class"].notna()]
    cells = {str(name): [_value(v) for v in frame[name]] for name in frame.columns}
    return cells, [*table.notes, *notes]


def _value(value):
    if _missing(value) or value is pd.NA or value is pd.NaT:
        return None
    return float(value) if isinstance(value, int | float | np.number) else str(value)


def table_differs(cells, frame, touched):
    """Whether cells beside those of the touched row and column differ."""
    for j, name in enumerate(frame.columns):
        if j == touched.column:
            continue
        expected, read = [_value(v) for v in frame[name]], cells.get(name, [])
        if len(read) != len(expected) or any(
            a != b for i, (a, b) in enumerate(zip(expected, read)) if i != touched.row
        ):
            return True
    return False


def change_cell(frame, rng):
    """A frame with another cell."""
    row, column = int(rng.integers(len(frame))), str(rng.choice(frame.columns))
    cell = CELLS[rng.integers(len(CELLS))]
    other = frame.copy()
    values = other[column].tolist()
    if frame[column].dtype.kind == "f" and rng.random() < 0.3:
        values[row] = float(rng.choice([1e308, -0.0, 5e-324, np.inf, 2.0**53 + 2, -1e9]))
    elif frame[column].dtype.kind == "f":
        values = [v if _missing(v) else str(v) for v in values]
        values[row] = cell
    else:
        values[row] = cell
    floats = all(isinstance(v, float) for v in values)
    other[column] = pd.Series(values, dtype=float if floats else object)
    return other, Place(None, frame.columns.get_loc(column))


def read_items(path):
    """Labels and objects of a file."""
    problem = read_problem(objects=Path(path))
    labels = [None] * len(problem.X) if problem.y is None else problem.y
    return [(str(label), _object(x)) for label, x in zip(labels, problem.X)], problem.notes


def read_long(path):
    """Labels and series of a table of long format."""
    columns = {"id": "device", "time": "t", "value": ["v"], "target": "state"}
    problem = read_problem(path, **columns)
    return [(str(label), _object(x)) for label, x in zip(problem.y, problem.X)], problem.notes


def _object(x):
    return x if isinstance(x, str) else [float(v) for v in np.ravel(x)]


def items_differ(items, content, touched):
    """Whether objects beside the touched one and its neighbours are missing or changed."""
    near = () if touched.row is None else range(touched.row - 1, touched.row + 2)
    rest = iter(items)
    expected = [(label, _object(x)) for i, (label, x) in enumerate(content) if i not in near]
    return not all(item in rest for item in expected)


def long_differs(items, content, touched):
    """Whether more than the series of the touched row and its neighbours is changed."""
    expected = [(label, _object(x)) for label, x in content]
    return sum(item in items for item in expected) < len(expected) - 2 * (touched != NOTHING)


def change_item(items, rng):
    """Objects of which one is another."""
    i, others = int(rng.integers(len(items))), list(items)
    label, x = others[i]
    if isinstance(x, str):
        others[i] = (label, CELLS[rng.integers(len(CELLS))] or "x")
    else:
        values = x.tolist()
        values[rng.integers(len(values))] = CELLS[rng.integers(len(CELLS))]
        others[i] = (label, _Row(values))
    return others, Place(i)


class _Row(list):
    """A list with the one method of arrays that the writers call."""

    def tolist(self):
        return list(self)


def read_matrix(path):
    """The matrix of a file and the names of its objects."""
    problem = read_problem(proximity=Path(path), only_look=True)
    return (np.asarray(problem.X), problem.names), problem.notes


def matrix_differs(found, M, touched):
    """Whether cells beside those of the touched row and column differ; names are column 0."""
    A, names = found
    if A.shape != M.shape:
        return True
    near = (touched.row, None if touched.column is None else touched.column - 1)
    rest = [i for i in range(len(M)) if i not in near]
    if names is not None and [names[i] for i in rest] != [NAMES[i] for i in rest]:
        return True
    return not np.array_equal(A[np.ix_(rest, rest)], M[np.ix_(rest, rest)])


def npy_differs(found, M, touched):
    """Whether cells beside the touched ones differ; a header may say that they are other numbers.

    All of them must be read nevertheless.
    """
    return found[0].shape != M.shape if touched.row == -1 else matrix_differs(found, M, touched)


X_MODEL = NUMBERS.drop(columns="class").to_numpy()


def model(M):
    """A model file."""
    return [model_bytes(M, about={"data": "plants", "features": []})]


def read_model(path):
    """A model, and what its file says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        about = model_about(path)
        return (load_model(path), about.get("data")), []


def model_differs(found, M, touched):
    """Whether it predicts something else."""
    again, data = found
    try:
        answers = again.predict_proba(X_MODEL)
    except Exception:
        return True
    return not np.array_equal(answers, M.predict_proba(X_MODEL)) or data != "plants"


def _table(suffix, write, frame=TABLE, read=read_table, **options):
    return Format(suffix, frame, write, read, table_differs, change_cell, **options)


def _items(suffix, objects, write, change=change_item, **options):
    content = list(zip(KIND.tolist(), objects))
    return Format(suffix, content, write, read_items, items_differ, change, **options)


def _matrix(suffix, write, differs=matrix_differs, **options):
    return Format(suffix, MATRIX, write, read_matrix, differs, **options)


def _model(estimator):
    fitted = estimator.fit(X_MODEL, KIND)
    return Format(".skops", fitted, model, read_model, model_differs, checked=True)


_CSV = delimited(",")
FORMATS = {
    "csv": lambda: _table(".csv", _CSV, delimiter=",", header=True),
    "parts": lambda: _table(".csv", _CSV, read=read_parts, delimiter=",", header=True),
    "semicolon": lambda: _table(".csv", delimited(";", ","), delimiter=";", header=True),
    "tsv": lambda: _table(".tsv", delimited("\t"), delimiter="\t", header=True),
    "csv.gz": lambda: _table(".csv.gz", packed(_CSV, _gz), checked=True),
    "csv.xz": lambda: _table(".csv.xz", packed(_CSV, lzma.compress), checked=True),
    "csv.zip": lambda: _table(".zip", packed(_CSV, _zip), checked=True),
    "xlsx": lambda: _table(".xlsx", whole("to_excel", engine="openpyxl"), checked=True),
    "parquet": lambda: _table(".parquet", whole("to_parquet")),
    "json": lambda: _table(".json", records),
    "arff": lambda: _table(".arff", arff, delimiter=","),
    "npz": lambda: _table(".npz", npz, NUMBERS, checked=True),
    "text": lambda: _items(".txt", WORDS, texts),
    "jsonl": lambda: _items(".jsonl", SERIES, json_lines),
    "fasta": lambda: _items(".fasta", PROTEINS, fasta),
    "ts": lambda: _items(".ts", SERIES, ts),
    "ucr": lambda: _items(".tsv", SERIES, ucr),
    "long": lambda: Format(".csv", LONG, long, read_long, long_differs, change_item, ","),
    "series.npz": lambda: _items(".npz", SERIES, series_npz, None, checked=True),
    "matrix": lambda: _matrix(".csv", matrix_csv, delimiter=",", header=True),
    "phylip": lambda: _matrix(".phy", phylip, delimiter=" "),
    "npy": lambda: _matrix(".npy", npy, npy_differs, header=True),
    "model": lambda: _model(GaussianClassifier()),
    "kernel.model": lambda: _model(KernelQuadraticDiscriminant(reg=1, offset="map")),
}


# --- mutations ------------------------------------------------------------------------------------


class Input(NamedTuple):
    """A file, and what of it the mutation touched; None for anything."""

    data: bytes
    touched: Place | None


def draw(form, parts, rng):
    """One mutated input.

    Parameters
    ----------
    form : Format
        What is written.
    parts : list of bytes
        The file as it was written, in parts.
    rng : Generator
        Draws it.

    Returns
    -------
    input : Input
    """
    data = b"".join(parts)
    kind = rng.random()
    if kind < 0.25 and form.change is not None:
        try:
            content, touched = form.change(form.content, rng)
            return Input(b"".join(form.write(content)), touched)
        except Exception:  # what the writer of the format refuses cannot be met
            return Input(data, NOTHING)
    if kind < 0.5:
        return _one_byte(form, parts, rng)
    if kind < 0.75 and data.startswith(b"PK"):
        return Input(_inside_zip(data, rng), None)
    mutate = _tokens if rng.random() < 0.5 else _bytes
    return Input(mutate(data, rng), None)


def _one_byte(form, parts, rng):
    """Another byte somewhere: with checksums nothing else may be read."""
    data = bytearray(b"".join(parts))
    at = int(rng.integers(len(data)))
    byte = (data[at] ^ (1 << int(rng.integers(8))), rng.integers(256), rng.choice(list(MARKS)))
    data[at] = int(byte[rng.integers(3)])
    if form.checked:
        return Input(bytes(data), NOTHING)
    starts = np.cumsum([0, *map(len, parts)])
    part = int(np.searchsorted(starts, at, side="right")) - 1
    row = part - (len(parts) - len(form.content))
    if len(parts) == 1 or (row < 0 and not form.header):
        return Input(bytes(data), None)
    column = None
    if form.delimiter:
        before = parts[part][: at - starts[part]].decode("utf-8", "replace")
        column = max(0, len(next(csv.reader([before], delimiter=form.delimiter), [])) - 1)
    return Input(bytes(data), Place(row, column))


def _bytes(data, rng):
    """Bytes set, cut out, doubled, inserted, or the end cut off."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at, length = int(rng.integers(len(data) + 1)), int(rng.geometric(0.05))
        match int(rng.integers(6)):
            case 0:
                data[at : at + length] = rng.bytes(length)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length] * int(rng.integers(1, 4))
            case 3:
                data[at:at] = rng.bytes(length)
            case 4:
                del data[at:]
            case 5:
                size = int(rng.choice([1, 2, 4, 8]))
                value = int(rng.choice([0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]))
                packed = (value % 256**size).to_bytes(size, rng.choice(["little", "big"]))
                data[at : at + size] = packed
        if not data:
            return b""
    return bytes(data)


def _tokens(data, rng):
    """Numbers, words and tags replaced, left out or doubled."""
    for _ in range(int(rng.integers(1, 4))):
        pattern = rng.choice([rb"\d+", rb"[A-Za-z]+", rb"<[^<>]{1,200}>", rb"\n", rb'"[^"]{0,50}"'])
        spans = [m.span() for m in re.finditer(pattern, data[:200_000])]
        if not spans:
            continue
        start, end = spans[rng.integers(len(spans))]
        old = data[start:end]
        new = rng.choice([TOKENS[rng.integers(len(TOKENS))], b"", old * 2, old * 300])
        data = data[:start] + bytes(new) + data[end:]
    return data


def _inside_zip(data, rng):
    """An archive with a mutated member, whose checksum is right again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [[info.filename, archive.read(info)] for info in archive.infolist()]
    at = int(rng.integers(len(members)))
    match int(rng.integers(8)):
        case 0:
            members.pop(at)
        case 1:
            members.append(list(members[at]))
        case 2:
            members[at][0] = members[rng.integers(len(members))][0]
        case 3 | 4:
            members[at][1] = _bytes(members[at][1], rng)
        case _:
            members[at][1] = _tokens(members[at][1], rng)
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


# --- reading in a child process -------------------------------------------------------------------


def _verdict(form, path, one, notes_before):
    """What became of an input, and the traceback of a fault."""
    try:
        found, notes = form.read(path)
    except REFUSALS:
        return "refused", ""
    except MemoryError:
        return "memory", traceback.format_exc()
    except Exception:
        return "traceback", traceback.format_exc()
    if one.touched is None:
        return "read", ""
    if not form.differs(found, form.content, one.touched):
        return "read", ""
    if list(map(str, notes)) != notes_before:
        return "noticed", ""
    return "misread", f"{one.touched}\n{found!r}\n"


def _limit_memory():
    with open("/proc/self/statm") as file:
        start = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (start + BYTES, start + BYTES))


def _child(form, name, seed, numbers, folder, pipe):
    """Read inputs; a line before each and one behind it goes to the parent."""
    parts = form.write(form.content)
    path = folder / f"input{form.suffix}"
    path.write_bytes(b"".join(parts))
    found, notes = form.read(path)  # this also loads what the reader loads when it is used
    if form.differs(found, form.content, NOTHING):
        raise AssertionError(f"{name}: what was written is not what is read: {found!r}")
    before = list(map(str, notes))
    _limit_memory()
    for number in numbers:
        one = draw(form, parts, _generator(name, seed, number))
        path.write_bytes(one.data)
        os.write(pipe, f"{json.dumps([number])}\n".encode())
        os.ftruncate(1, 0)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process
        verdict, text = _verdict(form, path, one, before)
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.flush()
        if os.fstat(1).st_size:
            verdict, text = "printed", text
        os.write(pipe, f"{json.dumps([number, verdict, text[-3000:]])}\n".encode())


def _batch(form, name, seed, numbers, until):
    """Verdicts of inputs that one child reads, (number, verdict, text), until the time is up."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        folder = Path(folder)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(reader)
                for stream in ("stdout", "stderr"):
                    out = (folder / stream).open("a+")
                    os.dup2(out.fileno(), ("stdout", "stderr").index(stream) + 1)
                    setattr(sys, stream, out)
                _child(form, name, seed, numbers, folder, writer)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(writer)
        last, finished, hung = None, None, False
        with open(reader, "rb") as pipe:
            while True:
                if not select.select([pipe], [], [], WALL_SECONDS)[0]:
                    hung = True
                    os.kill(pid, signal.SIGKILL)
                line = pipe.readline()
                if not line:
                    break
                last, *result = json.loads(line)
                if result:
                    finished = last
                    yield last, *result
                    if time.monotonic() > until:
                        os.kill(pid, signal.SIGKILL)
                        break
        _, status = os.waitpid(pid, 0)
        said = (folder / "stderr").read_text(errors="replace")[-3000:]
        if last is None:
            raise RuntimeError(f"{name}: the reader does not read what was written.\n{said}")
        if last != finished:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            hung |= number in (signal.SIGPROF, signal.SIGXCPU)
            yield last, "hang" if hung else "killed", f"signal {number}\n{said}"


def run(name, seconds=float("inf"), inputs=None, *, seed=0, keep=KEPT):
    """Read mutated files of a format, for some seconds or so many.

    Parameters
    ----------
    name : str
        Of `FORMATS`.
    seconds : float
        How long.
    inputs : int or None
        How many; as many as can be read in the time if None.
    seed : int
        Draws the inputs.
    keep : path
        Folder for inputs that showed a fault, each with a text beside it.

    Returns
    -------
    counts : Counter
        Verdict -> inputs.
    """
    form, counts, number = FORMATS[name](), Counter(), 0
    until, inputs = time.monotonic() + seconds, inputs or sys.maxsize
    while number < inputs and time.monotonic() < until:
        numbers = range(number, min(inputs, number + BATCH))
        for last, verdict, text in _batch(form, name, seed, numbers, until):
            number = last + 1
            counts[verdict] += 1
            if verdict in FAULTS:
                parts = form.write(form.content)
                data = draw(form, parts, _generator(name, seed, last)).data
                file = Path(keep) / f"{name}-{seed}-{last}-{verdict}{form.suffix}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                file.with_name(f"{file.name}.txt").write_text(text, errors="replace")
    return counts


def _generator(name, seed, number):
    return np.random.default_rng([seed, *name.encode(), number])


def main():
    """Fuzz the formats that are named, or all, and print what became of the inputs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--inputs", type=int, help="of each format, instead of --seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=KEPT, help="folder for inputs with faults")
    options = parser.parse_args()
    for name in options.formats:
        if name not in FORMATS:
            parser.error(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    for module in LOADED:
        with suppress(ImportError):
            import_module(module)
    seconds = float("inf") if options.inputs else options.seconds
    columns = ("read", "noticed", "refused", *FAULTS)
    print(f"{'format':14}" + "".join(f"{name:>11}" for name in columns), flush=True)
    faults = 0
    for name in options.formats or FORMATS:
        counts = run(name, seconds, options.inputs, seed=options.seed, keep=options.keep)
        faults += sum(counts[verdict] for verdict in FAULTS)
        print(f"{name:14}" + "".join(f"{counts[verdict]:11}" for verdict in columns), flush=True)
    if faults:
        print(f"{faults} inputs with faults are in {options.keep}.")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
