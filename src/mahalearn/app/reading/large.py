"""Tables larger than memory: read part by part, looked at once, and sampled.

Which rows a sample or a test set holds is a function of their positions and a seed alone: not of
the size of the parts, nor of the number of workers.
"""

import gzip
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..._validation import available_memory
from .columns import MISSING, NO_CLASS, NO_NUMBER, number, written
from .layout import TableFormat
from .problem import DataError, Faults, listed
from .source import FileContents, cells_of, decoded
from .tables import CELL_BYTES, COMMAS, _delimited, _plain, find_target

# Bytes in memory for each byte of a text file: what reading the whole table takes at its peak.
TEXT_FACTOR = 15
# Share of the available memory that a table may take before it is read part by part.
SHARE = 0.5
# Beginning of a text file by which its columns are known.
HEAD = 2**18
TEXTS = (".csv", ".tsv", ".txt", ".tab", ".gz")
# Categories of a column; texts with more are left out.
MOST_LEVELS = 50
# Rows of each class that a sample holds, if there are so many.
LEAST = 50


def parse_memory(text):
    """Bytes from a text such as 2GB or 500 MB; None stays None."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise DataError(f"The memory limit must be a size such as 2GB or 500MB; got {text!r}.")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


def large_table(path, memory=None, form=None, rows=np.inf):
    """The table of a path if it is larger than the memory (or `memory` bytes) or `rows`."""
    if path is None:
        return None
    path = Path(path)
    folder = path.is_dir() and any(path.glob("*.parquet"))
    parquet = folder or (path.is_file() and path.suffix == ".parquet")
    if not parquet and not (path.is_file() and path.suffix.lower() in TEXTS):
        return None
    limit = memory
    if limit is None:
        free = available_memory()
        limit = np.inf if free is None else SHARE * free
    if parquet:
        table = ParquetTable(path, limit)
        needed = table.n_rows * len(table.columns) * CELL_BYTES
        return table if needed > limit or table.n_rows > rows else None
    small = _unpacked_size(path) * TEXT_FACTOR <= limit and about_rows(path) <= rows
    return None if small else TextTable(path, limit, form)


def _unpacked_size(path):
    """Bytes of a text file, unpacked: about five times those of a compressed one."""
    return path.stat().st_size * (5 if path.suffix == ".gz" else 1)


def _head(path):
    """The first bytes of a text file."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return file.read(HEAD)


def about_rows(path):
    """Lines of a text file, by the mean length of the first ones."""
    try:
        head = _head(path)
    except (OSError, EOFError, zlib.error):
        return 0  # damaged: the reader of small files says how
    return _unpacked_size(path) * head.count(b"\n") / max(1, len(head))


def _part_rows(n_columns, limit):
    """Rows of a part: a tenth of the memory, 1,024 to 65,536."""
    if not np.isfinite(limit):
        return 65536
    return int(np.clip(limit / 10 / (n_columns * CELL_BYTES), 1024, 65536))


class ParquetTable:
    """A Parquet file, or a folder of them in the order of their names."""

    notes: list

    def __init__(self, path, limit=np.inf):
        import pyarrow.parquet as parquet

        self.path, self.notes = Path(path), []
        self.files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        try:
            meta = [parquet.read_metadata(file) for file in self.files]
            schemas = [parquet.read_schema(file) for file in self.files]
        except OSError:
            raise
        except Exception:
            raise DataError(
                f"{str(path)!r} could not be read as Parquet: it is none, or damaged."
            ) from None
        self.columns = [str(name) for name in schemas[0].names]
        for file, schema in zip(self.files, schemas):
            if list(map(str, schema.names)) != self.columns:
                raise DataError(
                    f"{file.name!r} has other columns than {self.files[0].name!r}: "
                    f"{listed(set(map(str, schema.names)) ^ set(self.columns))}."
                )
        self.n_rows = sum(m.num_rows for m in meta)
        self.part_rows = _part_rows(len(self.columns), limit)

    def parts(self, start=0):
        """(position of the first row, data frame), from the row `start` on."""
        position = 0
        for file in self.files:
            for frame in self._frames(file):
                cut = max(0, start - position)
                if cut < len(frame):
                    yield position + cut, frame.iloc[cut:].reset_index(drop=True)
                position += len(frame)

    def _frames(self, file):
        import pyarrow.parquet as parquet

        source = FileContents(str(file), ".parquet", b"", [])
        try:
            with parquet.ParquetFile(file, pre_buffer=False) as table:
                for batch in table.iter_batches(batch_size=self.part_rows, use_threads=False):
                    batch.validate(full=True)
                    frame = batch.to_pandas()
                    texts = frame.select_dtypes("string").columns  # slow to walk through
                    yield _plain(frame.astype(dict.fromkeys(texts, object)), source)
        except (DataError, MemoryError):
            raise
        except Exception:
            raise DataError(
                f"{source.name!r} could not be read as Parquet: it is damaged; save the table "
                "again."
            ) from None


class TextTable:
    """A delimited text file, compressed by gzip or not; its beginning says what columns hold."""

    n_rows = None

    def __init__(self, path, limit=np.inf, form=None):
        self.path, form = Path(path), form or TableFormat()
        head = _head(self.path)
        if len(head) == HEAD:
            head = head[: head.rindex(b"\n") + 1] if b"\n" in head else head
        source = FileContents(str(path), ".csv", head, [])
        with Faults().raised() as faults:
            frame, self.notes = _delimited(source, form, faults, footer=False)
        text, _ = decoded(source)
        _, _, self.delimiter = cells_of(str(path), text, form.skip or 0)
        self.decimal = form.decimal or ("," if COMMAS in self.notes else ".")
        self.missing = form.words
        self.above = int(frame.index[0])  # lines: the header, units, and titles above them
        self.columns = [str(name) for name in frame.columns]
        self.numeric = [c for c in self.columns if frame[c].dtype.kind == "f"]
        self.part_rows = _part_rows(len(self.columns), limit)

    def parts(self, start=0):
        """(position of the first row, data frame), from the row `start` on."""
        import pandas as pd

        words = {*MISSING, *NO_NUMBER, *self.missing}
        words = [w for word in words for w in {word, word.upper(), word.capitalize()}]
        reader = pd.read_csv(
            self.path,
            sep=r"\s+" if self.delimiter == " " else self.delimiter,
            decimal=self.decimal,
            header=None,
            names=self.columns,
            skiprows=self.above + start,
            chunksize=self.part_rows,
            dtype={c: str for c in self.columns if c not in self.numeric},
            na_values=dict.fromkeys(self.numeric, words)
            | {c: sorted(NO_CLASS) for c in self.columns if c not in self.numeric},
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
        position = start
        with reader:
            for frame in reader:
                frame = frame.reset_index(drop=True)
                for column in self.numeric:
                    if frame[column].dtype.kind not in "fiub":
                        frame[column] = self._numbers(frame[column], column, position)
                    frame[column] = frame[column].astype(float)
                for column in set(self.columns) - set(self.numeric):
                    frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
                yield position, frame
                position += len(frame)

    def _numbers(self, values, column, position):
        """Numbers that pandas does not read, such as those with a typeset minus."""
        comma = self.decimal == ","
        numbers = [number(v, comma) if isinstance(v, str) else v for v in values]
        if None not in numbers:
            return numbers
        odd = numbers.index(None)
        raise DataError(
            f"Column {column!r} holds numbers at the beginning of the file and {values[odd]!r} in "
            f"row {position + odd + 1}; correct such cells, or save the table as Parquet."
        )


def uniform(positions, seed):
    """A number in [0, 1) for each row, by its position and the seed alone (MurmurHash3)."""
    from sklearn.utils import murmurhash3_32

    positions = np.asarray(positions).astype(np.int32)
    return murmurhash3_32(positions, seed=seed % 2**32, positive=True) / 2**32


@dataclass
class TableSummary:
    """Summary of the first pass over a table.

    Attributes
    ----------
    target : str
        Column of the classes.
    n_rows : int
        Rows, those without a class included.
    counts : Counter
        Rows of each class, by its text.
    moments : dict
        Numeric column -> [count, mean, sum of squared deviations] of its known cells.
    levels : dict
        Other column -> its categories, None where they are more than `MOST_LEVELS`.
    sample : DataFrame
        Rows of a stratified sample, in the order of the table.
    """

    target: str
    n_rows: int = 0
    counts: Counter = field(default_factory=Counter)
    moments: dict = field(default_factory=dict)
    levels: dict = field(default_factory=dict)
    sample: object = None


def first_pass(table, target, size, seed=0, tell=None):
    """The first pass: schema, classes, means and scales, a stratified sample of `size` rows."""
    import pandas as pd

    target = find_target(table.columns, target)
    summary, pool = TableSummary(target), None
    for position, frame in table.parts():
        summary.n_rows = position + len(frame)
        rows = np.flatnonzero(frame[target].notna())
        part, places = frame.iloc[rows], position + rows
        codes, values = pd.factorize(part[target])
        labels = np.array([written(value) for value in values], dtype=object)
        for label, n in zip(labels, np.bincount(codes, minlength=len(labels))):
            summary.counts[label] += int(n)
        for column in table.columns:
            if column != target:
                _add(summary, column, part[column])
        marks = {_KEY: uniform(places, seed), _PLACE: places, _CLASS: labels[codes]}
        part = _cut(part.assign(**marks), 1.25 * size)
        pool = part if pool is None else _cut(pd.concat([pool, part]), 1.25 * size)
        if tell:
            tell(len(frame))
    if pool is None or not len(pool):
        raise DataError("There are no objects with a class; check the target column.", "target")
    shares = pool[_CLASS].map(summary.counts).to_numpy() / sum(summary.counts.values())
    wanted = np.maximum(LEAST, np.round(size * shares))
    sample = pool[pool.groupby(_CLASS).cumcount().to_numpy() < wanted].sort_values(_PLACE)
    summary.sample = sample.drop(columns=[_KEY, _PLACE, _CLASS]).reset_index(drop=True)
    texts = [c for c in summary.sample.columns if summary.sample[c].dtype.kind != "f"]
    summary.sample = summary.sample.astype(dict.fromkeys(texts, object))
    return summary


_KEY, _PLACE, _CLASS = "mahalearn key", "mahalearn place", "mahalearn class"


def _cut(pool, most):
    """The rows with the smallest keys and LEAST rows of each class, in the order of the keys."""
    order = np.argsort(pool[_KEY].to_numpy(), kind="stable")
    of_class = pool[_CLASS].iloc[order].groupby(pool[_CLASS].to_numpy()[order]).cumcount()
    return pool.iloc[order[(np.arange(len(pool)) < most) | (of_class.to_numpy() < LEAST)]]


def _add(summary, column, values):
    """Moments of a column of numbers, categories of another one."""
    if values.dtype.kind == "f":
        x = values.to_numpy()
        x = x[np.isfinite(x)]
        n, mean, spread = summary.moments.get(column, (0, 0.0, 0.0))
        if len(x):
            part_mean = float(x.mean())
            shift, total = part_mean - mean, n + len(x)
            spread += float(np.square(x - part_mean).sum()) + shift**2 * n * len(x) / total
            n, mean = total, mean + shift * len(x) / total
        summary.moments[column] = (n, mean, spread)
    elif summary.levels.get(column, ()) is not None:
        levels = summary.levels.get(column, set()) | set(map(str, values.dropna().unique()))
        summary.levels[column] = levels if len(levels) <= MOST_LEVELS else None
