"""Tables of features from CSV, TSV, Parquet, NPZ and ARFF files."""

import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

from ..words import counted
from .cells import COMMA_NUMBER, MISSING, as_written, number, tidy, tidy_classes
from .columns import PANDAS_INDEX, counts_rows, select_features
from .problem import DataError, Problem, as_labels, listed
from .text import cells_of

USUAL_TARGETS = ("class", "target", "label", "y", "species", "category", "diagnosis", "outcome")


def read_table(path, *, header=None, find=None, texts=()):
    """A data frame from a file; columns are numbers (float64, NaN where missing) or text (object).

    Parameters
    ----------
    path : str or path
        CSV, TSV or text with a delimiter that is found out; .parquet, .npz, .arff.
    header : bool or None
        Whether the first line names the columns; found out if None.
    find : callable or None
        Names of columns -> the one that holds the classes, where fewer words count as missing.
    texts : collection of str
        Columns of a text file that stay as they are written, be they numbers or not.

    Returns
    -------
    frame : DataFrame
    notes : list of str
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; name a file.")
    if path.stat().st_size == 0:
        raise DataError(f"{str(path)!r} is empty.")
    reader = {".parquet": _parquet, ".pq": _parquet, ".npz": _npz, ".arff": _arff}.get(
        path.suffix.lower()
    )
    frame, notes = reader(path) if reader else _delimited(path, header, find, texts)
    if not len(frame):
        raise DataError(f"{str(path)!r} has no rows below its header.")
    frame.columns = _unique(frame.columns, notes)
    return frame, notes


def _delimited(path, header, find, texts):
    import pandas as pd

    rows, delimiter = cells_of(path, "tables are read from CSV, TSV, Parquet, NPZ and ARFF files")
    width = Counter(map(len, rows)).most_common(1)[0][0]
    odd = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if odd is not None:
        raise DataError(
            f"Line {odd + 1} of {str(path)!r} has {counted(len(rows[odd]), 'cell')}, most have "
            f"{width}; check its delimiters and quotes."
        )
    notes = []
    comma = delimiter != "," and _decimal_comma(rows)
    if comma:
        notes.append("Commas within numbers were read as decimal points.")
    named = header if header is not None else _has_header(rows, comma)
    if named:
        names, rows = rows[0], rows[1:]
        if names[0] == "" and all(row[0].isdecimal() for row in rows):
            names[0] = PANDAS_INDEX
        names = [name or f"column {i + 1}" for i, name in enumerate(names)]
    else:
        names = [f"column {i + 1}" for i in range(width)]
        notes.append(
            f"The file has no header: its columns are called {names[0]!r} to {names[-1]!r}."
        )
    names = _unique(names, notes)
    columns = list(zip(*rows)) if rows else [()] * width
    classes = find(names) if find and rows else None
    tidied = {}
    for i, (name, column) in enumerate(zip(names, columns)):
        if name in texts:
            tidied[i] = as_written(column)
        else:
            tidied[i] = (tidy_classes if name == classes else tidy)(column, comma)
    frame = pd.DataFrame(tidied)
    frame.columns = names
    return frame, notes


def _decimal_comma(rows):
    cells = [cell for row in rows[1:200] for cell in row if "," in cell]
    return bool(cells) and all(COMMA_NUMBER.fullmatch(cell) for cell in cells)


def _has_header(rows, comma):
    """Names stand above: nothing in the first line is a number."""
    first = [number(cell, comma) for cell in rows[0]]
    if any(value is not None and not np.isnan(value) for value in first):
        return False
    below = [number(cell, comma) for row in rows[1:50] for cell in row]
    if any(value is not None for value in below):
        return True
    # Text throughout: a header's names are not met again below them.
    return all(
        len({row[i] for row in rows}) > len({row[i] for row in rows[1:]})
        for i in range(len(rows[0]))
    )


def _parquet(path):
    try:
        import pandas as pd

        frame = pd.read_parquet(path)
    except ImportError:
        raise DataError(
            'Parquet files need pyarrow: pip install "mahalearn[cli]", or save the table as CSV.'
        ) from None
    except Exception:
        raise DataError(
            f"{str(path)!r} could not be read as a Parquet file: it is none, or damaged; save the "
            "table again, or as CSV."
        ) from None
    return _plain(frame), []


def _plain(frame):
    """Columns of a data frame as float64 or objects."""
    import pandas as pd

    columns = {}
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            missing = column.isna()
            columns[i] = np.array(
                [None if m else str(v) for v, m in zip(column, missing)], dtype=object
            )
        else:
            columns[i] = column.to_numpy(dtype=float, na_value=np.nan)
    plain = pd.DataFrame(columns)
    plain.columns = [str(name) for name in frame.columns]
    return plain


def _npz(path):
    import pandas as pd

    arrays = load_npz(path)
    X = next((arrays[k] for k in ("X", "data", "features", "x") if k in arrays), None)
    y = next((arrays[k] for k in ("y", "target", "labels", "label", "Y") if k in arrays), None)
    if X is None or X.ndim != 2:
        raise DataError(
            f"{str(path)!r} must hold a matrix X (or data) with a row for each object; it has "
            f"{listed(arrays)}."
        )
    for array in (X, y):
        if array is not None and array.dtype.kind == "c":
            raise DataError(
                f"{str(path)!r} holds complex numbers; features are real numbers: save the real "
                "and imaginary parts, or modulus and angle, as columns of their own."
            )
    names = next((arrays[k] for k in ("feature_names", "columns") if k in arrays), None)
    if names is None or len(names) != X.shape[1]:
        names = [f"column {i + 1}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X)
    frame.columns = [str(name) for name in names]
    if y is not None:
        if y.shape != (len(X),):
            raise DataError(
                f"In {str(path)!r} X has {len(X)} rows, but y has the shape {y.shape}; a class for "
                "each row is needed."
            )
        frame["class"] = y
    return _plain(frame), []


def load_npz(path):
    """Arrays of an NPZ file; nothing in it is unpickled."""
    if not zipfile.is_zipfile(path):
        raise DataError(
            f"{str(path)!r} is not an NPZ file, as numpy.savez writes it, or it is damaged."
        )
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except Exception:
        raise DataError(
            f"{str(path)!r} holds more than plain arrays, and nothing else is loaded; save numbers "
            "and texts as arrays of those types (astype(str)), not as objects."
        ) from None


def _arff(path):
    import pandas as pd
    from scipy.io import arff

    try:
        data, meta = arff.loadarff(path)
    except NotImplementedError:
        raise DataError(
            f"{str(path)!r} has attributes that are neither numeric nor nominal, such as texts or "
            "dates; remove them, or save the table as CSV."
        ) from None
    except Exception:
        raise DataError(
            f"{str(path)!r} could not be read as ARFF: @relation, an @attribute for each column "
            "and @data must stand above the rows; or save the table as CSV."
        ) from None
    columns = {}
    for name, kind in zip(meta.names(), meta.types()):
        if kind == "nominal":
            texts = [value.decode("utf-8", "replace") for value in data[name]]
            columns[name] = np.array([None if t == "?" else t for t in texts], dtype=object)
        else:
            columns[name] = data[name].astype(float)
    return pd.DataFrame(columns), []


def _unique(columns, notes):
    """Names without repeats."""
    columns = [str(name) for name in columns]
    taken, seen, names, repeated = set(columns), set(), [], {}
    for name in columns:
        fresh = name
        if name in seen:
            times = repeated.get(name, 1) + 1
            while f"{name} ({times})" in taken:  # a header may hold such a name itself
                times += 1
            repeated[name], fresh = times, f"{name} ({times})"
            taken.add(fresh)
        seen.add(name)
        names.append(fresh)
    if repeated:
        notes.append(f"Columns of one name were numbered: {listed(repeated)}.")
    return names


def find_target(names, target):
    """Name of the target column: as given, by number from 1 (−1 the last), or a usual name."""
    if target is None:
        usual = [name for name in names if name.lower() in USUAL_TARGETS]
        if len(usual) != 1:
            raise DataError(
                f"Which column holds the classes? Name it with --target; the columns are "
                f"{listed(map(repr, names), 20)}."
            )
        return usual[0]
    if target in names:
        return target
    if re.fullmatch(r"-?\d+", target) and 1 <= abs(int(target)) <= len(names):
        position = int(target)
        return names[position - 1 if position > 0 else position]
    near = [name for name in names if name.lower().strip() == target.lower().strip()]
    if len(near) == 1:
        return near[0]
    raise DataError(
        f"There is no column {target!r}; the columns are {listed(map(repr, names), 20)}."
    )


def table_problem(frame, target, name, notes=()):
    """The problem of a table: classes from the target column, features from the others."""
    notes = list(notes)
    target = find_target(list(frame.columns), target)
    labels = frame[target]
    numbered = [c for c in frame.columns if c != target and counts_rows(frame[c])]
    known = labels.notna().to_numpy()
    if not known.all():
        left, were = (~known).sum(), "was" if (~known).sum() == 1 else "were"
        notes.append(f"{counted(left, 'row')} without a class {were} left out.")
        frame, labels = frame[known], labels[known]
    y = as_labels(labels.tolist(), target)
    for label, times in Counter(map(str, y)).items():
        if label.lower() in MISSING:
            notes.append(
                f"{label!r} is a class of {counted(times, 'row')}; leave the cell empty where "
                "it means that the class is not known."
            )
    X, names = select_features(frame.drop(columns=target), notes, numbered)
    X = X.reset_index(drop=True)
    if not X.shape[1]:
        raise DataError(
            " ".join([f"Beside {target!r} there is no column left to classify by.", *notes])
        )
    return Problem("vectors", X, y, name, names=names, target=target, notes=notes)
