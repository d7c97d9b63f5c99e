"""Rows of results on disk: one measured cell a row, JSON lines, nothing lost when a run is killed.

A line is appended in one write as soon as its cell is finished. A kill in the middle of a write
leaves half a line at most: reading skips it, and the next append starts a line of its own.
"""

import json
import os
import statistics
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from ..results import write_text

FILE_NAME = "rows.jsonl"


# The method of a row that says only that a data set could not be had.
NO_DATA = "(data)"


@dataclass(frozen=True)
class Row:
    """One measured cell.

    Attributes
    ----------
    experiment, dataset, method : str
        What was measured.
    repetition : int
        Which draw or split, from 0.
    error, balanced_error : float or None
        Share of wrong test labels, and the mean over the classes of this share; None where the
        cell measures something else.
    params : dict
        Parameters that the method chose.
    values : dict
        Other measured numbers: spectra, weights, curves.
    seed : int
        Seed of the draw and of the folds.
    setting : str
        "" for the paper's protocol; else a name of the shortened one.
    status : str
        Of the data: "original", "rebuilt", "stand-in", "generated".
    versions : dict
        Versions of the library and of what it computes with.
    seconds : float
        Processor time that the cell took.

    Examples
    --------
    >>> from mahalearn.papers.rows import Row
    >>> Row("A1", "rbf n=50", "KNN", 0, error=0.2).key
    ('A1', 'rbf n=50', 'KNN', 0, '')
    """

    experiment: str
    dataset: str
    method: str
    repetition: int
    error: float | None = None
    balanced_error: float | None = None
    params: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    seed: int = 0
    setting: str = ""
    status: str = "original"
    versions: dict = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def key(self):
        """Experiment, data set, method, repetition and setting: unique for each row."""
        return (self.experiment, self.dataset, self.method, self.repetition, self.setting)


_NAMES = frozenset(f.name for f in fields(Row))


def append(path, row):
    """Add a row to a file, in one write that reaches the disk before this returns.

    Parameters
    ----------
    path : str or path
        File of rows; it and its folder are made if absent.
    row : Row
        What to add.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = _line(row).encode()
    with open(path, "ab", buffering=0) as file:
        if _torn(path):
            line = b"\n" + line
        file.write(line)
        os.fsync(file.fileno())


def read(path):
    """The rows of a file, the last of each key, in the order of the keys.

    Parameters
    ----------
    path : str or path
        File of rows, or the folder that holds it; no file means no rows.

    Returns
    -------
    list of Row
        Without the halves of lines that a kill may have left.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    if not path.exists():
        return []
    rows = []
    # Only \n ends a line: JSON leaves other marks of Unicode, such as U+2028, within its texts.
    for line in path.read_bytes().decode("utf-8", errors="replace").split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and {"experiment", "dataset", "method"} <= set(entry):
            rows.append(Row(**{name: entry[name] for name in _NAMES & set(entry)}))
    return merge(rows)


def write(path, rows):
    """Replace a file of rows, in one step: readers see the old file or the new one.

    Parameters
    ----------
    path : str or path
        File of rows.
    rows : iterable of Row
        What it shall hold.
    """
    write_text(path, "".join(_line(row) for row in rows))


def merge(*tables):
    """Rows of several tables; of those with one key, the last.

    Parameters
    ----------
    *tables : iterables of Row
        Tables, later ones before earlier ones in rank.

    Returns
    -------
    list of Row
        In the order of their keys.
    """
    rows = {row.key: row for table in tables for row in table}
    return [rows[key] for key in sorted(rows)]


class CellSummary(NamedTuple):
    """Mean and standard deviation over repetitions, both in percent for errors."""

    mean: float
    std: float
    n: int
    status: str
    setting: str


def summarise(rows, measure="error"):
    """Means over the repetitions.

    Rows of a shortened protocol count only where there are none of the paper's.

    Parameters
    ----------
    rows : iterable of Row
        Measured cells.
    measure : str, default="error"
        "error" or "balanced_error", in percent in the result; else a name in `values`, as it is.

    Returns
    -------
    dict
        (experiment, dataset, method) -> CellSummary. The standard deviation has the divisor n − 1,
        and is 0 for one repetition.
    """
    groups = {}
    for row in rows:
        value = (
            getattr(row, measure)
            if measure in ("error", "balanced_error")
            else row.values.get(measure)
        )
        if value is not None:
            cell = groups.setdefault((row.experiment, row.dataset, row.method), {})
            cell.setdefault(row.setting, []).append((float(value), row.status))
    scale = 100.0 if measure in ("error", "balanced_error") else 1.0
    return {
        key: _summary(scale, *min(settings.items(), key=lambda item: item[0] != ""))
        for key, settings in groups.items()
    }


def _summary(scale, setting, cells):
    values = [scale * value for value, _ in cells]
    std = statistics.stdev(values) if len(values) > 1 else 0.0
    return CellSummary(statistics.fmean(values), std, len(values), cells[-1][1], setting)


def _line(row):
    return json.dumps(asdict(row), ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def _plain(value):
    """Numpy's numbers and arrays as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A row holds numbers, text, lists and dicts; got {type(value).__name__}.")


def _torn(path):
    """True if the last line of a file lacks its end."""
    with open(path, "rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
