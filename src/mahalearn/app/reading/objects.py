"""Objects that a measure compares: texts, JSON lines, FASTA, time series, arrays."""

import itertools
import json
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..words import counted, folded
from .columns import (
    COMMAS,
    as_labels,
    cell_places,
    has_decimal_commas,
    looks_like_dates,
    number,
    stand_in_notices,
    written,
)
from .formats import load_arrays
from .matrices import read_labels
from .problem import (
    MOST_MET_ONCE,
    DataError,
    Faults,
    Note,
    Problem,
    listed,
    matched_note,
    symbols_met_once,
)
from .source import cells_of, decoded, lines_of, load
from .tables import find_columns

OBJECT_KEYS = ("object", "text", "sequence", "series", "string", "points", "x", "data")
LABEL_KEYS = ("label", "class", "target", "y")
_KEYS = (OBJECT_KEYS, LABEL_KEYS, ("id", "name"))
JSON, ARRAYS = (".jsonl", ".ndjson", ".json"), (".npy", ".npz")
FASTA = (".fa", ".fasta", ".faa", ".fna", ".fas")
_HEADER_LABEL = re.compile(
    rf"(?:^|[\s|;])(?:{'|'.join(LABEL_KEYS[:3])})=(?:\"([^\"]+)\"|([^\s|;]+))", re.IGNORECASE
)
# First lines of files that are not read, and what they are.
_REFUSED = {
    "@relation": "ARFF",
    "#nexus": "NEXUS",
    "# stockholm": "Stockholm",
    "clustal": "CLUSTAL",
}
_UNIPROT = re.compile(r"(?:sp|tr)\|([^|]+)\|([^|]+)")
# Letters on average from which texts are documents.
LONG_TEXT = 500
_MISSING = frozenset(["nan", "?", "na", ""])


@dataclass
class Collection:
    """Objects of a file.

    Attributes
    ----------
    objects : list
        Texts, arrays of numbers, or lists of symbols.
    labels : list or None
        Classes, where the file has them.
    names : list of str or None
        Names of the objects.
    notes : list of str
        What was decided while reading.
    suits : str or None
        The measure that suits such objects, where that is clear.
    columns : dict or None
        The columns id, time and value (a list) of the long table that series were read from.
    """

    objects: list
    labels: list | None = None
    names: list | None = None
    notes: list = field(default_factory=list)
    suits: str | None = None
    columns: dict | None = None


def read_collection(path, interpolate=False):
    """Objects, classes and names of a file, whose kind its ending or its content tells.

    Parameters
    ----------
    path : str or path
        FASTA (label in the header, see `_fasta`); .ts of aeon and sktime; UCR's text files (a label
        and the values of a series in each line, divided by tabs, commas or spaces); JSON lines (an
        object, or a dict with an object and perhaps a label); .npy of series, (n, length) or
        (n, channels, length), or .npz of X and y; otherwise a text in each line, or label, tab,
        text.
    interpolate : bool
        Fill missing values within series from their neighbours; they are refused otherwise.

    Returns
    -------
    collection : Collection
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.")
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        collection = _arrays(path)
    else:
        text, notes = decoded(path, "objects stand in a text file, a line each, or in JSON lines")
        collection = _from_lines(path, suffix, lines_of(path, text))
        collection.notes[:0] = notes
    if all(isinstance(x, np.ndarray) and x.ndim == 2 for x in collection.objects):
        places = [f"series {i} of {str(path)!r}" for i in range(1, len(collection.objects) + 1)]
        if suffix not in JSON:
            finish_series(collection, places, interpolate)
    return collection


def _from_lines(path, suffix, lines):
    """The collection of a text file, by the suffix of its name and its lines."""
    if suffix in JSON:
        return _json_lines(path, lines)
    if suffix in FASTA or lines[0].startswith(">"):
        return _fasta(path, lines)
    if suffix == ".ts" or lines[0].lower().startswith(("@problemname", "@timestamps")):
        return _ts(path, lines)
    what = next((w for start, w in _REFUSED.items() if lines[0].lower().startswith(start)), None)
    if lines[0].startswith("@") and [line[:1] for line in lines[2::4]] == ["+"] * (len(lines) // 4):
        what = "FASTQ"
    if what is not None:
        raise DataError(
            f"{str(path)!r} is a file of {what}, which is not read; save sequences as FASTA."
        )
    if (table := _table_of_texts(path, lines)) is not None:
        return table
    if all(line.count("\t") == 1 for line in lines):
        return _labelled_texts(path, lines)
    series = _ucr(path, lines, sure=suffix in (".csv", ".tsv"))
    return Collection(lines, suits=_text_measure(lines)) if series is None else series


def _table_of_texts(path, lines):
    """Texts and their labels below the names of the columns.

    None if the first line has no such names, or there are numbers in several columns.
    """
    rows, _, _ = cells_of(path, "\n".join(lines))
    header = list(map(folded, rows[0]))
    columns = [next((header.index(key) for key in keys if key in header), None) for keys in _KEYS]
    if None in columns[:2] or len(rows) < 2:
        return None
    for line, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise DataError(
                f"Row {line} of {str(path)!r} has {counted(len(row), 'cell')}, the first line has "
                f"{len(header)}; check delimiters and quotes."
            )
    objects, labels, names = (
        [row[j] for row in rows[1:]] if j is not None else None for j in columns
    )
    notes = [f"The first line, {lines[0]!r}, was read as names of columns."]
    if ignored := [name for j, name in enumerate(rows[0]) if j not in columns]:
        if all(number(text) is not None for text in objects):
            return None
        notes.append(f"Columns that were ignored: {listed(map(repr, ignored))}.")
    return Collection(objects, labels, names, notes, _text_measure(objects))


def _labelled_texts(path, lines):
    """Texts behind their labels."""
    labels, objects = map(list, zip(*(line.split("\t") for line in lines)))
    if len(set(labels)) == len(labels) > len(set(objects)):
        raise DataError(
            f"Each line of {str(path)!r} begins with another label, and texts are repeated behind "
            "them; the label stands first, then a tab and the text."
        )
    return Collection(objects, labels, suits=_text_measure(objects))


def _text_measure(texts):
    """Words and codes are compared letter by letter, documents by what they have in common."""
    return "edit" if np.mean([len(text) for text in texts]) <= LONG_TEXT else "compression"


# --- JSON lines -----------------------------------------------------------------------------------


def _entries(path, lines):
    """What a file of JSON holds: a list of entries, or an entry in each line."""
    with suppress(ValueError, RecursionError):
        whole = json.loads("\n".join(lines))
        if isinstance(whole, list) and all(isinstance(entry, dict) for entry in whole):
            yield from whole
            return
    for i, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"Line {i} of {str(path)!r} is not JSON.") from None


def _json_lines(path, lines):
    objects, labels = [], []
    for i, entry in enumerate(_entries(path, lines), 1):
        if isinstance(entry, dict):
            key = next((k for k in OBJECT_KEYS if k in entry), None)
            if key is None:
                raise DataError(
                    f"Entry {i} of {str(path)!r} has no object; it is looked for under "
                    f"{', '.join(OBJECT_KEYS)}."
                )
            label = next((entry[k] for k in LABEL_KEYS if k in entry and k != key), None)
            entry = entry[key]
            labels.append(label)
        if isinstance(entry, list) and entry and isinstance(entry[0], list | int | float):
            # A sequence of mixed symbols stays a list.
            with suppress(TypeError, ValueError, OverflowError):
                entry = np.array(entry, dtype=float)
        objects.append(entry)
    if labels and (len(labels) < len(objects) or any(label is None for label in labels)):
        raise DataError(f"Some lines of {str(path)!r} have a label and some have none.")
    return Collection(objects, labels or None, suits=_json_measure(objects))


def _json_measure(objects):
    if all(isinstance(entry, str) for entry in objects):
        return _text_measure(objects)
    numbers = all(isinstance(entry, np.ndarray) and entry.ndim == 1 for entry in objects)
    return "elastic" if numbers and symbols_met_once(objects) > MOST_MET_ONCE else None


# --- FASTA ----------------------------------------------------------------------------------------


def _fasta(path, lines):
    """Sequences; the label is ``label=…`` (or class=, target=) in the header, or its second word.

    The second word, or what follows the only |, counts only if every header has exactly two, and
    labels that all differ are no labels.
    """
    if not lines[0].startswith(">"):
        raise DataError(f"{str(path)!r} is not FASTA: its first line must be a header, >name.")
    headers, parts = [], []
    for line in lines:
        if line.startswith(">"):
            headers.append(line[1:].strip())
            parts.append([])
        elif not line.startswith(";"):  # a comment of old files
            parts[-1].append("".join(line.split()))
    sequences = ["".join(part) for part in parts]
    for header, sequence in zip(headers, sequences):
        if not sequence:
            raise DataError(
                f"The sequence {header[:40]!r} of {str(path)!r} is empty; remove its header."
            )
    names = [(header.split() or [""])[0] for header in headers]
    labels, how = _header_labels(headers)
    notes = [f"Classes were read from the headers of the sequences: {how}."] if labels else []
    return Collection(sequences, labels, names, notes, "alignment")


def _header_labels(headers):
    matches = [_HEADER_LABEL.search(header) for header in headers]
    if all(matches):
        return [match[1] or match[2] for match in matches], "what follows label="
    if any(matches):
        header = headers[[bool(match) for match in matches].index(False)]
        raise DataError(f"Some headers have a label= and {header[:60]!r} has none.")
    for cut, how in ((str.split, "the second word"), (lambda h: h.split("|"), "what follows |")):
        words = [cut(header) for header in headers]
        if all(len(w) == 2 and w[1].strip() for w in words):
            labels = [w[1].strip() for w in words]
            if len(set(labels)) < len(labels):
                return labels, how
    return None, ""


# --- time series ----------------------------------------------------------------------------------


def _ts(path, lines):
    """The .ts format of aeon and sktime: headers with @, then channels divided by colons."""
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if not line.startswith(("#", "%"))]  # both mark comments
    head = list(itertools.takewhile(lambda line: line.lower() != "@data", lines))
    series = lines[len(head) + 1 :]
    if not series or not all(line.startswith("@") for line in head):
        raise DataError(f"{str(path)!r} is not a .ts file: it needs a line @data and series below.")
    meta = {key.lower(): words for key, *words in (line[1:].split() or [""] for line in head)}
    flags = {key for key, words in meta.items() if words and words[0].lower() == "true"}
    if "timestamps" in flags:
        raise DataError(
            f"{str(path)!r} has time stamps; only series of equal steps are read (@timestamps "
            "false). Resample them first."
        )
    if "targetlabel" in flags:
        raise DataError(f"{str(path)!r} has a quantity as its target, and no classes.")
    allowed = set(meta.get("classlabel", [])[1:])
    objects, labels = [], []
    for i, line in enumerate(series, 1):
        where = f"series {i} of {str(path)!r}"
        fields = line.split(":")
        if "classlabel" in flags:
            if len(fields) < 2:
                raise DataError(f"The {where} has no label; it stands behind the last colon.")
            labels.append(fields.pop().strip())
            if allowed and labels[-1] not in allowed:
                raise DataError(
                    f"The {where} has the label {labels[-1]!r}; @classLabel names "
                    f"{listed(sorted(allowed))}."
                )
        objects.append(_series([f.split(",") for f in fields], where))
    return Collection(objects, labels or None, suits="elastic")


def _ucr(path, lines, sure):
    """Lines of a label and numbers, None if they are something else; sure: they must be."""
    readings = []
    for mark in ("\t", ";", ",", None):
        rows = [line.strip(" " if mark else None).split(mark) for line in lines]
        if all(len(row) > 2 for row in rows):
            rows = [[cell.strip() for cell in row] for row in rows]
            commas = has_decimal_commas(path, [c for row in rows for c in row[1:]], mark)
            values = [[number(c, commas, _MISSING) for c in row[1:]] for row in rows]
            odd = [(i, row.index(None) + 1) for i, row in enumerate(values) if None in row]
            readings.append((odd, rows, values, commas))
    odd, rows, values, commas = min(readings, key=lambda r: r[0] != [], default=((), (), (), 0))
    if not rows or (odd and not sure):
        return None
    for i, j in odd:
        raise DataError(
            f"The cell {rows[i][j][:40]!r} in line {i + 1} of {str(path)!r} is not a number; a "
            "line of a time series file is a label and the values of the series."
        )
    objects = [np.array([row], dtype=float) for row in values]
    labels = [number(row[0], missing=_MISSING) for row in rows]
    if None in labels:
        labels = [row[0] for row in rows]
    elif np.isnan(labels).any():
        i = int(np.argmax(np.isnan(labels)))
        raise DataError(f"Line {i + 1} of {str(path)!r} has no label; it is the first cell.")
    notes = ["Each line was read as a label and the values of a time series."]
    if commas:
        notes.append(COMMAS)
    return Collection(objects, labels, None, notes, "elastic")


def _series(channels, where):
    """An array (channels, length) from cells; missing values at the end are padding."""
    rows = [[number(cell.strip(), missing=_MISSING) for cell in cells] for cells in channels]
    for cells, row in zip(channels, rows):
        if None in row:
            cell = cells[row.index(None)].strip()
            raise DataError(f"The {where} holds {cell[:40]!r}, which is not a number.")
    if len({len(row) for row in rows}) > 1:
        raise DataError(
            f"The channels of the {where} differ in length: {listed(len(row) for row in rows)}."
        )
    return np.array(rows, dtype=float)


def finish_series(collection, places, interpolate):
    """Cut the padding at the end of each series, and fill gaps or refuse all of them at once."""
    n_filled, with_gaps = 0, []
    with Faults().raised() as faults:
        for i, (x, place) in enumerate(zip(collection.objects, places)):
            filled = np.flatnonzero(~np.isnan(x).all(axis=0))
            if not len(filled):
                faults.add(f"The {place} has no values.")
                continue
            x = x[:, : filled[-1] + 1]
            gaps = ~np.isfinite(x)
            if gaps.any() and interpolate and np.isfinite(x).any(axis=1).all():
                x = _interpolated(x)
                n_filled += int(gaps.sum())
            elif gaps.any():
                with_gaps.append((place, gaps))
            collection.objects[i] = x
        if with_gaps:
            (place, gaps), *others = with_gaps
            also = f" (gaps also in {listed(other for other, _ in others)})" if others else ""
            faults.add(
                f"The {place} has {counted(gaps.sum(), 'missing or infinite value')} before its "
                f"end, the first at time {int(np.argmax(gaps.any(axis=0))) + 1}{also}; series are "
                "compared without gaps: interpolate them, or leave the series out.",
                "interpolate",
            )
    if n_filled:
        collection.notes.append(
            f"{counted(n_filled, 'missing value')} of series {'was' if n_filled == 1 else 'were'} "
            "interpolated from the neighbours in time."
        )


def _interpolated(x):
    """Channels with gaps on the line between their neighbours; ends are continued level."""
    import pandas as pd

    gappy = pd.DataFrame(np.where(np.isfinite(x), x, np.nan))
    return gappy.interpolate(axis=1, limit_direction="both").to_numpy()


def _arrays(path):
    """Series from an array (n, length) or (n, channels, length), with y in an NPZ file."""
    arrays = load_arrays(load(path))
    if "X" not in arrays:
        raise DataError(
            f"{str(path)!r} must hold an array X of series, and perhaps y; it has "
            f"{listed(arrays) or 'nothing'}."
        )
    X, labels = arrays["X"], arrays.get("y")
    if X.dtype.kind not in "iufb" or X.ndim not in (2, 3) or 0 in X.shape:
        raise DataError(
            f"{str(path)!r} must hold numbers of shape (n, length) or (n, channels, length); got "
            f"{X.dtype} of shape {X.shape}."
        )
    if labels is not None and labels.shape != X.shape[:1]:
        raise DataError(
            f"y in {str(path)!r} has shape {labels.shape}; one label for each of the {len(X)} "
            "series is needed."
        )
    objects = [np.atleast_2d(x) for x in X.astype(float)]
    return Collection(objects, labels if labels is None else labels.tolist(), suits="elastic")


# --- tables of long format: a row for each time of each series ------------------------------------

# A step of more than so many usual ones leaves out times.
LONGEST_STEP = 1.5
# A series of so many usual steps for each of its rows has a wrong time.
MOST_STEPS = 100


def long_collection(frame, id, time, value, target=None, interpolate=False):
    """Series of a table with a row for each time of each series.

    Parameters
    ----------
    frame : DataFrame
        The table.
    id, time : str
        Columns that say which series a row belongs to, and its time: numbers, dates, or times of
        day.
    value : sequence of str
        Columns of the values, one for each channel.
    target : str or None
        Column of the classes, one for each series.
    interpolate : bool
        Fill missing values and times; they are refused otherwise.

    Returns
    -------
    collection : Collection
    """
    columns = list(frame.columns)
    with Faults().raised() as faults:
        wanted = {"id": id, "time": time, "target": target, **dict(enumerate(value))}
        roles = find_columns(columns, wanted, faults)
    renamed = {
        column: wanted[role]
        for role, column in roles.items()
        if column != wanted[role] and folded(column) == folded(wanted[role])
    }
    channels = [roles[i] for i in range(len(value))]
    with Faults().raised() as faults:
        with faults.collected():
            times = _times(frame[roles["time"]])
        _check_channels(frame, channels, roles["id"], faults)
    rows = {}
    for i, name in enumerate(frame[roles["id"]]):
        rows.setdefault(written(name), []).append(i)
    with Faults().raised() as faults:
        rows = _in_time(rows, times, frame[roles["time"]], faults)
        labels = _series_labels(rows, frame[roles["target"]], faults) if target else None
    V, step = frame[channels].to_numpy(dtype=float).T, _usual_step(rows, times)
    _check_spans(rows, times, step)
    collection = Collection(
        [_on_grid(times[at], V[:, at], step) for at in rows.values()],
        labels,
        list(rows),
        suits="elastic",
        columns={"id": roles["id"], "time": roles["time"], "value": channels},
    )
    finish_series(collection, [f"series {name!r}" for name in rows], interpolate)
    lengths = [x.shape[1] for x in collection.objects]
    spare = [c for c in columns if c not in roles.values()]
    collection.notes[:0] = [
        f"{counted(len(frame), 'row')} became {counted(len(rows), 'series', 'series')} of "
        f"{counted(len(channels), 'channel')}, of lengths {min(lengths)} to {max(lengths)}."
        + (f" Columns that were not used: {listed(map(repr, spare))}." if spare else ""),
        *([matched_note("Columns", renamed)] if renamed else []),
        *stand_in_notices(frame[channels]),
    ]
    return collection


def _check_channels(frame, channels, id, faults):
    """Record columns of values that hold texts, and rows that belong to no series."""
    for channel in channels:
        if frame[channel].dtype.kind != "f":
            present = frame[channel].dropna()
            odd = present[[number(str(value)) is None for value in present]]
            cells = cell_places(odd if len(odd) else present)
            faults.add(f"Column {channel!r} must hold numbers; it holds {cells}.", "missing")
    if frame[id].isna().any():
        row = int(frame.index[frame[id].isna()][0]) + 1
        faults.add(f"Column {id!r} is empty in row {row}: each row needs the name of its series.")


def _in_time(rows, times, column, faults):
    """Rows of each series in the order of their times; two of one time are recorded."""
    ordered, of_day, back, double = {}, _are_of_day(column), [], []
    for name, at in rows.items():
        steps = np.diff(times[at])
        if of_day and (steps < 0).any() and (steps > 0).any():
            i = int(np.argmax(steps < 0))
            back.append(f"{name!r} from {column.iloc[at[i]]} to {column.iloc[at[i + 1]]}")
        ordered[name] = np.array(at)[np.argsort(times[at], kind="stable")]
        same = np.flatnonzero(np.diff(times[ordered[name]]) == 0)
        if len(same):
            first, second = (column.index[ordered[name][same[0] + k]] + 1 for k in (0, 1))
            double.append(f"{name!r} (rows {first} and {second})")
    if double:
        faults.add(f"Series with two rows of one time: {listed(double, 3)}; keep one of them.")
    if back:
        faults.add(
            f"Times of day in column {column.name!r} go back ({listed(back, 3)}), as at midnight; "
            "write the date before them."
        )
    return ordered


def _series_labels(rows, column, faults):
    """The class of each series; several, and none, are recorded."""
    classes = {
        name: {written(label) or "" for label in column.iloc[at]} for name, at in rows.items()
    }
    several = [f"{n!r} ({listed(map(repr, sorted(c)))})" for n, c in classes.items() if len(c) > 1]
    if several:
        faults.add(f"Series with several classes: {listed(several, 3)}; each needs one.")
    return [max(labels) or None for labels in classes.values()]


def _usual_step(rows, times):
    steps = np.concatenate([np.diff(times[at]) for at in rows.values()])
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0


def _check_spans(rows, times, step):
    """Refuse series that last far longer than their rows can fill."""
    spans = {name: (times[at[0]], times[at[-1]], len(at)) for name, at in rows.items()}
    long = [
        f"{name!r} lasts from {first:g} to {last:g}"
        for name, (first, last, n) in spans.items()
        if (last - first) / step > MOST_STEPS * n + 1000
    ]
    if long:
        raise DataError(
            f"Series {listed(long, 3)}, but the usual step is {step:g}; correct the time that is "
            "far from the others."
        )


def _times(column):
    """Times as numbers, of dates and times of day in seconds."""
    numbers = np.array([number(str(cell)) is not None for cell in column])
    texts = column.dtype.kind != "f"
    if numbers.all() and (texts or not looks_like_dates(column.to_numpy(), "")):
        times = column.to_numpy(dtype=float)
    else:
        moments = _moments(column)
        times = moments.to_numpy().astype("timedelta64[us]").astype("int64") / 1e6
        times = np.where(moments.isna(), np.nan, times)
    odd = ~np.isfinite(times)
    if odd.any():
        if odd.all() and not numbers.all():  # numbers but for this one
            odd = ~numbers
        cell = column[odd].iloc[0]
        said = f"it holds {str(cell)!r}" if cell == cell and cell is not None else "it is empty"
        raise DataError(
            f"Column {column.name!r} must hold times, as numbers or as dates such as "
            f"2024-01-31 12:30; {said} in row {int(column.index[odd][0]) + 1}."
        )
    return times


# 23:15, 23:15:00.5 or 1 day 23:15:00, as pandas and spreadsheet programs write durations.
_OF_DAY = re.compile(r"(\d+ days?,? )?\d{1,3}:\d{2}(:\d{2}([.,]\d+)?)?")


def _are_of_day(column):
    """True if all cells of a column are times of day, or durations."""
    return column.dtype.kind != "f" and all(
        _OF_DAY.fullmatch(str(cell)) is not None for cell in column.dropna()
    )


def _moments(column):
    """Time since the epoch, or since midnight, of dates, of numbers such as 20240131, or of texts.

    NaT where a cell is none.
    """
    import pandas as pd

    if column.dtype.kind == "f":
        dates = pd.to_datetime(column.astype(int).astype(str), format="%Y%m%d", errors="coerce")
    elif _are_of_day(column):
        texts = [str(cell).replace(",", ".") for cell in column.where(column.notna(), "")]
        texts = [f"{cell}:00" if cell.count(":") == 1 else cell for cell in texts]
        return pd.to_timedelta(pd.Series(texts), errors="coerce")
    else:
        dates = _dates(column).dt.tz_localize(None)
    return dates - pd.Timestamp(0)


def _dates(column):
    """Dates of texts: ISO 8601, or another order that all of them show."""
    import pandas as pd

    texts = column.astype(str)
    zoned = texts.str.contains(r"\dZ$|:.{0,20}[+-]\d{2}:?\d{2}$")
    if zoned.any() and not zoned.all():
        odd = texts[~zoned]
        raise DataError(
            f"Column {column.name!r} holds times with a time zone and times without one, such as "
            f"{cell_places(odd)}; write all of them alike."
        )
    dates = pd.to_datetime(texts, errors="coerce", format="ISO8601", utc=True)
    if not dates.isna().all():
        return dates
    with warnings.catch_warnings():  # of texts that show another order, or no date
        warnings.simplefilter("ignore", UserWarning)
        options = {"errors": "coerce", "utc": True}
        orders = [pd.to_datetime(texts, dayfirst=first, **options) for first in (True, False)]
    orders = [read for read in orders if not read.isna().any()]
    if len(orders) > 1 and (orders[0] != orders[1]).any() and "." not in texts.iloc[0][:6]:
        raise DataError(
            f"Column {column.name!r} holds dates such as {texts.iloc[0]!r}: day or month may come "
            "first; write them as 2024-01-31 12:30."
        )
    return orders[0] if orders else dates


def _on_grid(times, V, step):
    """Values at equal steps, NaN at times that are left out."""
    places = np.arange(len(times))
    if (np.diff(times) > LONGEST_STEP * step).any():
        places = np.rint((times - times[0]) / step).astype(int)
        places = np.maximum.accumulate(np.maximum(places, np.arange(len(places))))
        if len(set(places)) < len(places):  # irregular times: in their order
            places = np.arange(len(times))
    x = np.full((len(V), places[-1] + 1), np.nan)
    x[:, places] = V
    return x


# --- the problem ----------------------------------------------------------------------------------


def measure_from_options(name, objects=(), **options):
    """A measure from its name and the options of the command line, those that are not None.

    ``normalize=True`` for the edit distance means division by the longer length.

    Returns
    -------
    measure : str, Measure or dict of str to Measure
        The name if there are no options, else the measure with them; for "elastic" the measures
        that the name stands for.
    """
    from ...measures.table import GROUPS, MEASURES, elastic_measures, make_measure

    if name not in (*MEASURES, *GROUPS):
        names = ", ".join((*GROUPS, *MEASURES))
        raise DataError(f"There is no measure {name!r}; choose from {names}.")
    options = {key: value for key, value in options.items() if value is not None}
    try:
        if name in GROUPS:
            if other := set(options) - {"normalize"}:
                raise DataError(
                    f"{other.pop()!r} belongs to one measure such as dtw; the measure {name} "
                    "compares several bands already."
                )
            return elastic_measures(objects, **options)
        if name == "edit" and options.get("normalize") is True:
            options["normalize"] = "longer"
        return make_measure(name, **options) if options else name
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from None


def _labels_by_name(path, n, names):
    """Classes of sequences by the names in their headers, or by UniProt's accessions in these."""
    source = load(path, "file of labels")
    parts = [_UNIPROT.fullmatch(name) for name in names or ()]
    if not parts or not all(parts):
        return read_labels(source, n, names)
    words = set(re.split(r'[\s,;"]+', source.data.decode(errors="replace")))
    variants = {"names": names}
    variants |= {"accessions": [p[1] for p in parts], "entry names": [p[2] for p in parts]}
    best = max(variants, key=lambda what: len(words & set(variants[what])))
    y, notes = read_labels(source, n, variants[best])
    if best != "names":
        notes = [*notes, f"Labels were matched by the {best} in UniProt's headers."]
    return y, notes


def objects_problem(path, measure=None, labels=None, interpolate=False, **options):
    """The problem of a file of objects, see `collection_problem`."""
    collection = read_collection(path, interpolate)
    return collection_problem(collection, Path(path).stem, measure, labels, **options)


def collection_problem(collection, name, measure=None, labels=None, **options):
    """The problem of objects and the measure that compares them.

    Parameters
    ----------
    collection : Collection
        Objects.
    name : str
        Name of the problem.
    measure : str or None
        Name of the measure; the one that suits the objects if None.
    labels : path or None
        File of classes.
    **options
        Parameters of the measure (window, normalize …), None where they are not chosen.

    Returns
    -------
    problem : Problem
    """
    objects, notes = collection.objects, collection.notes
    suits = collection.suits
    if measure is None and suits is None:
        from ...measures.table import GROUPS, MEASURES

        names = ", ".join((*GROUPS, *MEASURES))
        raise DataError(f"How are these objects compared? Name a measure: {names}.")
    if labels is not None:
        y, matched = _labels_by_name(labels, len(objects), collection.names)
        notes = [*notes, *matched]
    elif collection.labels is not None:
        labelled = [i for i, label in enumerate(collection.labels) if label is not None]
        if len(labelled) < len(objects):
            n_left = counted(len(objects) - len(labelled), "object")
            notes = [*notes, f"Without a class, and left out: {n_left}."]
            objects = [objects[i] for i in labelled]
            collection.names = collection.names and [collection.names[i] for i in labelled]
        y = as_labels([collection.labels[i] for i in labelled], "labels")
    else:
        raise DataError("The objects have no classes: name a file of labels.", "labels")
    compared = measure_from_options(measure or suits, objects, **options)
    alternatives = compared if isinstance(compared, dict) else None
    if measure is None:
        notes = [*notes, Note(f"Objects are compared by the measure {suits}.", "measure")]
    if alternatives is not None:
        several = listed(alternatives, len(alternatives))
        notes = [*notes, f"Each method chooses the measure in each fold, from {several}."]
    return Problem(
        "objects",
        objects,
        y,
        name,
        names=collection.names,
        measure=compared if alternatives is None else measure or suits,
        proximity="dissimilarity",
        notes=notes,
        alternatives=alternatives,
        series=collection.columns,
    )
