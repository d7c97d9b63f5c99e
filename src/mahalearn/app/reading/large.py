"""Tables larger than memory: read part by part, looked at once, and sampled.

Which rows a sample or a test set holds is a function of their positions and a seed alone: not of
the size of the parts, nor of the number of workers.
"""

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..._validation import available_memory
from ..words import counted
from .columns import MISSING, check_magnitude, loses_digits, number, written
from .formats import CELL_BYTES, plain_frame
from .layout import MOST_SUMMARIES, Grid, TableFormat
from .problem import DataError, Faults, listed
from .source import FileContents, encoding_of, numbered_rows
from .tables import find_target
from .text_tables import chosen_marks, lay_out, text_grid

# Bytes in memory for each byte of a text file: what reading the whole table takes at its peak.
TEXT_FACTOR = 15
# Share of the available memory that a table may take before it is read part by part.
SHARE = 0.5
# Beginning of a text file by which its columns are known.
HEAD = 2**18
TEXTS = (".csv", ".tsv", ".txt", ".tab")
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


def large_table(path, memory=None, form=None, rows=np.inf, **reading):
    """The table of a path if it is larger than the memory (or `memory` bytes) or `rows`.

    `reading`: how a text file is read, see :class:`TextTable`.
    """
    if path is None:
        return None
    path = Path(path)
    folder = path.is_dir() and any(path.glob("*.parquet"))
    parquet = folder or (path.is_file() and path.suffix == ".parquet")
    if not parquet and not _is_text(path):
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
    return None if small else TextTable(path, limit, form, **reading)


def _is_text(path):
    """True if a file is text by its name and its beginning; else the reader of small files says."""
    inner = path.with_suffix("") if path.suffix == ".gz" else path
    if not path.is_file() or inner.suffix.lower() not in TEXTS:
        return False
    try:
        return encoding_of(_head(path)[0])[0] is not None
    except (OSError, EOFError, zlib.error):
        return False


def _unpacked_size(path):
    """Bytes of a text file, unpacked: about five times those of a compressed one."""
    return path.stat().st_size * (5 if path.suffix == ".gz" else 1)


# Bytes of the end of a line behind its last \n, where a character has several bytes.
_BEHIND = {codecs.BOM_UTF32_LE: 3, codecs.BOM_UTF16_LE: 1}


def _head(path):
    """The first bytes of a text file, whole lines, and whether these are all."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        head = file.read(HEAD)
    end = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
    if len(head) < HEAD or not end:
        return head, len(head) < HEAD
    behind = (n for mark, n in _BEHIND.items() if head.startswith(mark))
    return head[: end + next(behind, 0)], False


def about_rows(path):
    """Lines of a text file, by the mean length of the first ones."""
    head, _ = _head(path)
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
                f"{str(path)!r} could not be read as Parquet: it is not a Parquet file, or it is "
                "damaged."
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
                    yield plain_frame(frame.astype(dict.fromkeys(texts, object)), source)
        except (DataError, MemoryError):
            raise
        except Exception:
            raise DataError(
                f"{source.name!r} could not be read as Parquet: it is damaged; save the table "
                "again."
            ) from None


class TextTable:
    """A delimited text file, compressed by gzip or not; its beginning says what columns hold.

    Parameters
    ----------
    path : str or path
        The file.
    limit : float
        Bytes of memory.
    form : TableFormat or None
        What is chosen of its format.
    find : callable or None
        Names of columns -> the one that holds the classes.
    texts : collection of str
        Columns that stay as they are written.
    """

    n_rows = None

    def __init__(self, path, limit=np.inf, form=None, find=None, texts=()):
        self.path, self.form = Path(path), form or TableFormat()
        head, is_whole = _head(self.path)
        self.encoding, _ = encoding_of(head)
        head = FileContents(str(path), ".csv", head, [])
        with Faults().raised() as faults:
            grid, self.delimiter = text_grid(head, self.form, faults)
            self.layout = lay_out(grid, self.form, self.delimiter, find, texts, footer=is_whole)
            frame = self.layout.frame(grid)
        if not grid.rows:
            raise DataError(f"{str(path)!r} has no rows below its header.")
        self.notes, self.first_line = grid.notes, grid.lines[0]
        self.columns = self.layout.names
        self.numeric = [c for c in self.columns if frame[c].dtype.kind == "f"]
        self.layout.texts = [c for c in self.columns if c not in self.numeric]
        self.units = frame.attrs["units"]
        self.part_rows = _part_rows(len(self.columns), limit)
        self.quoted = any('"' in line for line in self._lines())

    def parts(self, start=0):
        """(position of the first row, data frame), from the row `start` on."""
        position, notes = 0, []
        self.layout.forget()
        lines = itertools.islice(self._lines(), self.first_line - 1, None)
        if self.quoted:  # a row may go on in the next line
            rows = numbered_rows(self.path, lines, self.delimiter, self.first_line - 1)
        else:
            rows = enumerate(lines, self.first_line)
        for batch, is_last in _batches(rows, self.part_rows):
            frame = None if self.quoted or is_last else self._plain(batch)
            if frame is None:
                frame = self._frame(batch, is_last, notes)
            cut = max(0, start - position)
            if cut < len(frame):
                yield position + cut, frame.iloc[cut:].reset_index(drop=True)
            position += len(frame)
        self.notes += [n for n in [*notes, *self.layout.notes()] if n not in self.notes]

    def _lines(self):
        """Lines of the file, with their ends."""
        name = str(self.path)
        try:
            opened = gzip.open if self.path.suffix == ".gz" else open
            with opened(self.path, "rt", encoding=self.encoding) as file:
                for number_of_line, line in enumerate(file, 1):
                    if "\0" in line:
                        raise DataError(
                            f"{name!r} holds the character NUL in line {number_of_line}: it was "
                            "damaged there; correct the line, or save the file again."
                        )
                    yield line
        except UnicodeDecodeError:
            raise DataError(
                f"{name!r} begins in {self.encoding} and holds other bytes further below; save it "
                "again in UTF-8."
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataError(f"{name!r} is a damaged gzip file; make it again.") from None

    def _plain(self, batch):
        """The data frame of lines that pandas reads as :meth:`_frame` does, None of others.

        These are rows of one length, and columns of numbers without any other word. It takes a
        tenth of the time.
        """
        import pandas as pd

        text = "".join(line for _, line in batch)
        n_marks = len(batch) * (len(self.columns) - 1)
        features = [c for c in self.numeric if c != self.layout.classes]
        chosen = self.form.words or self.form.decimal or self.units or not features
        if chosen or self.delimiter == " " or text.count(self.delimiter) != n_marks:
            return None
        try:
            frame = pd.read_csv(
                io.StringIO(text), sep=self.delimiter, header=None, names=self.columns,
                index_col=False, dtype={c: float if c in features else str for c in self.columns},
                decimal="," if any(self.layout.commas) else ".",
                na_values=dict.fromkeys(features, _MISSING), keep_default_na=False,
                skipinitialspace=True, skip_blank_lines=False, quoting=csv.QUOTE_NONE,
            )  # fmt: skip
        except ValueError:
            return None
        # Longer whole numbers lose digits, and infinite ones are refused.
        if len(frame) < len(batch) or (frame[features].abs() > 2**53).to_numpy().any():
            return None
        for name in set(self.columns) - set(features):
            codes, words = pd.factorize(frame[name])
            words = self.layout.texts_of(name, [word.strip() for word in words])
            if name in self.numeric and words.dtype.kind != "f":
                return None
            frame[name] = words[codes]
        return frame

    def _frame(self, batch, is_last, notes):
        """The data frame of a part, refused where a column is not as at the beginning."""
        if not self.quoted:
            lines = (line for _, line in batch)
            batch = list(numbered_rows(self.path, lines, self.delimiter, batch[0][0] - 1))
        with Faults().raised() as faults:
            lines, rows = [line for line, _ in batch], [row for _, row in batch]
            grid = Grid(str(self.path), rows, lines, notes, faults, self.columns)
            chosen_marks(grid, self.form)
            grid.refuse_ragged(len(self.columns))
            if self.layout.header is not None:
                grid.drop_repeated(self.layout.header)
                if is_last:
                    grid.drop_summaries()
            frame = self.layout.frame(grid)
            self._check(frame, faults)
        return frame

    def _check(self, frame, faults):
        """Record columns of numbers that hold something else, or another unit, than before."""
        units = frame.attrs["units"]
        for column in self.numeric:
            if frame[column].dtype.kind != "f":
                present = frame[column].dropna()
                odd = present[[number(cell) is None or loses_digits(cell) for cell in present]]
                faults.add(
                    f"Column {column!r} holds numbers at the beginning of the file and "
                    f"{odd.iloc[0]!r} in row {odd.index[0] + 1}; correct such cells."
                )
                continue
            with faults.collected():
                check_magnitude(frame[column])
            if units.get(column) != self.units.get(column) and frame[column].notna().any():
                faults.add(
                    f"Column {column!r} holds numbers in {self.units.get(column)!r} at the "
                    f"beginning of the file and in {units.get(column)!r} from row "
                    f"{frame.index[0] + 1} on; write them in one unit."
                )


# Words for missing cells as they are written.
_MISSING = [w for word in MISSING for w in {word, word.upper(), word.capitalize(), "NaN", "N/a"}]


def _batches(rows, size):
    """Lists of so many rows, and whether each is the last.

    A short one at the end goes with the one before: sums below a table stand there.
    """
    batch = list(itertools.islice(rows, size))
    while batch:
        following = list(itertools.islice(rows, size))
        is_last = len(following) < min(size, MOST_SUMMARIES + 1)
        yield (batch + following if is_last else batch), is_last
        batch = [] if is_last else following


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

    def notes(self):
        """A sentence on rows without a class, which are left out."""
        n_left = self.n_rows - sum(self.counts.values())
        are = "was" if n_left == 1 else "were"
        return [f"{counted(n_left, 'row')} without a class {are} left out."] if n_left else []


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
