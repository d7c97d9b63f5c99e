"""Tables of features from text files, workbooks, and files of other programs."""

import functools
import io
import json
import math
import re
import sys
import zipfile
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import numpy as np

from ..._validation import available_memory
from ..words import counted
from .columns import (
    MISSING,
    PANDAS_INDEX,
    as_labels,
    as_written,
    counting_columns,
    is_comma_column,
    loses_digits,
    misleading_marks,
    select_features,
    table_notices,
    tidy,
    tidy_classes,
    without_unit,
    written,
)
from .layout import Grid, TableFormat
from .overview import column_overview
from .problem import DataError, Faults, Problem, is_text, listed
from .source import MOST_TITLES, FileContents, cells_of, decoded, load

KINDS = "CSV, TSV, Excel, JSON, Parquet, NPZ and ARFF files"
COMMAS = "Commas within numbers were read as decimal points."
# Bytes in memory for each cell of a Parquet file: what reading the whole table takes at its peak.
CELL_BYTES = 24
# Copies of a text that there are at that peak.
TEXT_COPIES = 4
# Types of texts in Parquet files.
_TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
USUAL_TARGETS = ("class", "target", "label", "y", "species", "category", "diagnosis", "outcome")


def read_table(path, *, find=None, texts=(), faults=None, **form):
    """A data frame from a file; columns are numbers (float64, NaN where missing) or text (object).

    Its index counts the rows of the file from 0; in text files and workbooks the header counts.

    Parameters
    ----------
    path : str or path
        A file of :data:`READERS`, or delimited text; a folder of Parquet files; ``-`` for standard
        input.
    find : callable or None
        Names of columns -> the one that holds the classes, where fewer words count as missing.
    texts : collection of str
        Columns of a text file that stay as they are written, be they numbers or not.
    faults : Faults or None
        Takes the problems of the file; they are raised if None.
    **form
        See :class:`~mahalearn.app.reading.layout.TableFormat`.

    Returns
    -------
    frame : DataFrame
        With ``attrs["units"]``: column -> unit that was taken off its numbers.
    notes : list of str
    """
    if faults is None:
        with Faults().raised() as faults:
            frame, notes = read_table(path, find=find, texts=texts, faults=faults, **form)
        return frame, notes
    form, folder = TableFormat(**form), Path(path)
    if folder.is_dir() and holds_parquet(folder):
        source = FileContents(str(path), ".parquet", b"", [])
        reader = functools.partial(_parquet, folder=folder)
    else:
        source = load(path)
        reader = READERS.get(source.suffix)
        if form.sheet is not None and source.suffix != ".xlsx":
            raise DataError(f"{source.name!r} is not a workbook: it has no sheets.")
    if reader is None:
        frame, notes = _delimited(source, form, faults, find, texts)
    elif form.asked():
        raise DataError(
            f"{source.name!r} is neither a text file nor a workbook: its types are known, and "
            f"{listed(form.asked())} cannot be chosen."
        )
    else:
        frame, notes = reader(source)
    if not len(frame):
        raise DataError(f"{source.name!r} has no rows below its header.")
    frame.columns = _unique(frame.columns, notes)
    return frame, notes


def holds_parquet(folder):
    """True if a folder holds Parquet files, or folders of them by the value of a column."""
    return any(folder.glob("*.parquet")) or any(folder.glob("*=*/**/*.parquet"))


def _grid(source, form, faults):
    """Cells of a text file or a sheet, and which marks they may have within numbers."""
    if source.suffix == ".xlsx":
        from .workbooks import sheet_rows

        rows, lines, notes = sheet_rows(source, form.sheet)
        first = sum(line <= (form.skip or 0) for line in lines)
        if first == len(rows):
            raise DataError(f"{source.name!r} has no rows below the {form.skip} that are skipped.")
        return Grid(source.name, rows[first:], lines[first:], notes, faults), True, False
    text, notes = decoded(source, f"tables are read from {KINDS}")
    if text[:200].lstrip().lower().startswith(("<!doctype", "<html", "<?xml", "<table")):
        raise DataError(
            f"{source.name!r} is a web page or an XML file; save the table itself as CSV."
        )
    rows, lines, delimiter = cells_of(source.name, text, form.skip or 0)
    separated = delimiter != ","
    return Grid(source.name, rows, lines, notes, faults), separated, separated


def _delimited(source, form, faults, find=None, texts=(), footer=True):
    """The frame of a text file or a sheet; `footer`: the end of the table is there."""
    grid, commas_within, points_within = _grid(source, form, faults)
    grid.mark_missing(form.words)
    if form.decimal:
        grid.set_decimal(form.decimal)
        commas_within = points_within = False
    if form.skip is None and form.header is not False:
        grid.drop_titles()
    if form.header is not False:
        grid.name_first_column()
    grid.refuse_ragged()
    cells = zip(*grid.rows[1:])
    commas = [commas_within and is_comma_column(column) for column in cells]
    commas = commas or [False] * grid.width
    if any(commas):
        grid.notes.append(COMMAS)
    if grid.split_header(form.header, find, any(commas)):
        grid.drop_repeated_headers()
        grid.drop_units()
        if footer:
            grid.drop_summaries()
        if grid.names[0] == "" and all(row[0].isdecimal() for row in grid.rows):
            grid.names[0] = PANDAS_INDEX
    grid.names = _unique([n or f"column {j + 1}" for j, n in enumerate(grid.names)], grid.notes)
    classes = _class_column(grid, find) if grid.rows else None
    return _typed(grid, classes, texts, commas, points_within), grid.notes


def _class_column(grid, find):
    """Name of the column of classes; where there is none, the error names what may help."""
    try:
        return find(grid.names) if find else None
    except DataError as error:
        if [row[0] for row in grid.rows] == grid.names[1:]:
            raise DataError(
                f"{grid.file!r} has the same names on rows and columns, as a matrix of distances "
                "has.",
                "proximity",
            ) from None
        target = getattr(find, "keywords", {}).get("target")
        for line, row in zip(grid.lines, grid.rows):
            if row[0] == target and len(set(row)) < len(row):
                raise DataError(
                    f"{error} Row {line} is called {target!r}: transpose the table, so that rows "
                    "are objects and columns features."
                ) from None
            if target in row and line <= MOST_TITLES and len(set(row)) == len(row):
                raise DataError(f"{error} {target!r} stands in row {line}.", "skip") from None
        for note in grid.notes:
            option = getattr(note, "option", None)
            if option == "sheet":
                raise DataError(f"{error} {note}", "sheet") from None
            if option == "header":
                raise DataError(f"{error} The first line was read as data.", "header") from None
        raise


def _typed(grid, classes, texts, commas, points_within):
    """The data frame of a grid: each column as numbers or texts."""
    import pandas as pd

    names, columns = grid.names, grid.columns()
    features = [c if n != classes and n not in texts else () for n, c in zip(names, columns)]
    doubtful = dict(misleading_marks(features, commas, points_within))
    values, units = {}, {}
    limits, words = defaultdict(list), defaultdict(list)
    for j, (name, column, comma) in enumerate(zip(names, columns, commas)):
        if name in texts:
            values[j] = as_written(column)
        elif name == classes:
            values[j] = tidy_classes(column, comma)
            grid.notes += _merged_classes(column, values[j])
        else:
            with grid.faults.collected():
                plain, unit = without_unit(column, name, grid.lines)
                if unit:
                    column, units[name] = plain, unit
                    comma = comma or is_comma_column(column)
            values[j], limits[name], words[name] = tidy(column, comma)
    for j, cell in doubtful.items():
        plain = cell.replace(",", "").replace(".", "")
        decimals = counted(len(re.split("[.,]", cell)[-1]), "decimal")
        grid.faults.add(
            f"Column {names[j]!r} holds {cell!r}: this may be {plain}, or a number with "
            f"{decimals}. Write the numbers of the column without separators of thousands.",
            "decimal",
        )
    for what, cells in (("the limit itself", limits), ("missing numbers", words)):
        places = [f"{name!r} ({len(odd)})" for name, odd in cells.items() if odd]
        if places:
            example = next(odd[0] for odd in cells.values() if odd)
            grid.notes.append(
                f"Cells such as {example!r} were read as {what}, by column {listed(places)}."
            )
    if units:
        pairs = listed(f"{name!r} ({unit})" for name, unit in units.items())
        grid.notes.append(f"Units were taken off the numbers of {pairs}.")
    frame = pd.DataFrame(values, index=[line - 1 for line in grid.lines])
    frame.columns = names
    frame.attrs["units"] = units
    return frame


def _merged_classes(column, values):
    """A sentence on classes that are written differently and are one number."""
    import pandas as pd

    if values.dtype.kind == "f":
        for cells in pd.Series(column).groupby(values).unique():
            if len(cells) > 1:
                yield (
                    f"The classes {listed(map(repr, sorted(cells)))} are one number and count as "
                    "one class."
                )


def _without(frame, rows, comma):
    """A table without some rows: columns that only their texts kept from being numbers are numbers.

    Units stand below a header, sums and remarks below a table, all without a class. `comma` says
    whether numbers may have decimal commas.
    """
    import pandas as pd

    remaining, numbers = frame[~rows], {}
    for column in frame.columns:
        if is_text(frame[column]) and frame[column][rows].notna().any():
            cells = ["" if cell is None else str(cell) for cell in remaining[column]]
            values, _, _ = tidy(cells, comma and is_comma_column(cells))
            if values.dtype.kind == "f":
                numbers[column] = pd.Series(values, index=remaining.index)
    if not numbers:
        return remaining
    columns = {column: numbers.get(column, remaining[column]) for column in frame.columns}
    return pd.DataFrame(columns)


def _parquet(source, folder=None):
    frame = parquet_frame(source, folder)
    if frame.index.name is not None:
        frame = frame.reset_index()
    return _plain(frame, source), list(source.notes)


def parquet_frame(source, folder=None):
    """A data frame of a Parquet file, or of a folder of them.

    A table is validated before anything is taken from it: offsets of a damaged one point anywhere
    in memory.
    """
    try:
        table = _read_parquet(source, folder)
        table.validate(full=True)
        _refuse_memory(source, TEXT_COPIES * sum(map(_text_bytes, table.columns)))
        return table.to_pandas()
    except (DataError, ImportError, MemoryError):
        raise
    except Exception:
        raise DataError(
            f"{source.name!r} could not be read as a Parquet file: it is none, or damaged; save "
            "the table again, or as CSV."
        ) from None


def _text_bytes(column):
    """Bytes of the texts that cells of a column share, once each cell has its own."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_dictionary(column.type) or str(column.type.value_type) not in _TEXTS:
        return 0
    lengths = [compute.binary_length(c.dictionary).take(c.indices) for c in column.chunks]
    return sum(compute.sum(each).as_py() or 0 for each in lengths)


def _refuse_memory(source, needed):
    """Refuse a table that announces more bytes than can be had, before room is made for it."""
    if needed > (available_memory() or np.inf):
        raise DataError(
            f"{source.name!r} asks for more memory than there is ({needed / 2**30:.1f} GB): its "
            "table is too large, or it is damaged."
        )


def _read_parquet(source, folder):
    from pyarrow import parquet

    if folder is not None:
        return parquet.read_table(folder)
    file = io.BytesIO(source.data)
    # A text that is repeated in each row is read once.
    texts = [field.name for field in parquet.read_schema(file) if str(field.type) in _TEXTS]
    with parquet.ParquetFile(file, read_dictionary=texts) as file:
        # A few bytes may say that a value is repeated in each of billions of rows.
        meta = file.metadata
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        if any(g.num_rows < 0 for g in groups) or meta.num_rows != sum(g.num_rows for g in groups):
            raise ValueError
        _refuse_memory(
            source,
            max(
                meta.num_rows * meta.num_columns * CELL_BYTES,
                sum(g.total_byte_size for g in groups),
            ),
        )
        return file.read()


def _json(source):
    """A table of JSON: a list of rows, a dict of columns, pandas' "split", or JSON lines."""
    import pandas as pd

    text, notes = decoded(source, "JSON is text")
    try:
        try:
            content = json.loads(text)
        except ValueError:
            content = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        raise DataError(f"{source.name!r} is not JSON, nor JSON lines, or it is damaged.") from None
    headers = []
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        headers = [content["columns"]] if isinstance(content.get("columns"), list) else []
        content = content["data"]
    parts = list(content.values()) if isinstance(content, dict) else content
    kinds = {type(part) for part in parts} if isinstance(parts, list) else None
    if kinds not in ({dict}, {list}):
        raise DataError(
            f"{source.name!r} must hold a list of rows (dicts with the same keys) or a dict of "
            "columns (lists of one length)."
        )
    if kinds == {list} and len({len(row) for row in [*parts, *headers]}) > 1:
        raise DataError(f"Rows or columns of {source.name!r} differ in length from the others.")
    frame = pd.DataFrame(content, dtype=object)
    if kinds == {list} and content is parts:
        usual = [f"column {i + 1}" for i in range(frame.shape[1])]
        frame.columns = headers[0] if headers else usual
    columns = {i: _json_column(frame.iloc[:, i], source) for i in range(frame.shape[1])}
    return pd.DataFrame(columns).set_axis(map(str, frame.columns), axis=1), notes


def _json_column(column, source):
    """Numbers of a column of JSON, too large ones as infinity; or texts."""
    present = column.dropna()
    kinds = {type(value) for value in present}
    if kinds & {dict, list}:
        raise DataError(
            f"Column {str(column.name)!r} of {source.name!r} holds lists or dicts; each cell must "
            "be a number or a text."
        )
    integers = [value for value in present if type(value) is int]
    huge = max(map(abs, integers), default=0) > 10**300
    if kinds <= {int, float} and (huge or not any(map(loses_digits, integers))):
        return np.array([np.nan if v is None else _float(v) for v in column])
    return np.array([None if v is None or v != v else str(v) for v in column], dtype=object)


def _float(value):
    """A number of JSON, infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _plain(frame, source):
    """Columns of a data frame as float64 or objects."""
    import pandas as pd

    columns = {}
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        _refuse_complex(column.dtype, source)
        missing = column.isna()
        if _are_decimals(column[~missing]):
            columns[i] = np.array([np.nan if m else float(v) for v, m in zip(column, missing)])
        elif (
            pd.api.types.is_bool_dtype(column)
            or not pd.api.types.is_numeric_dtype(column)
            or _are_long(column)
        ):
            columns[i] = np.array(
                [None if m else str(v) for v, m in zip(column, missing)], dtype=object
            )
        else:
            columns[i] = column.to_numpy(dtype=float, na_value=np.nan)
    plain = pd.DataFrame(columns)
    plain.columns = [str(name) for name in frame.columns]
    return plain


def _are_decimals(values):
    """True if all values are decimal numbers, as columns of databases hold them."""
    return (
        values.dtype == object and len(values) > 0 and all(isinstance(v, Decimal) for v in values)
    )


def _are_long(column):
    """True if whole numbers of a column have more digits than float64 keeps."""
    import pandas as pd

    if not pd.api.types.is_integer_dtype(column):
        return False
    present = column.dropna()
    if not len(present) or max(int(present.max()), -int(present.min())) <= 2**53:
        return False
    return any(loses_digits(int(v)) for v in present)


def _refuse_complex(dtype, source):
    if getattr(dtype, "kind", "") == "c":
        raise DataError(
            f"{source.name!r} holds complex numbers; features are real numbers: save the real and "
            "imaginary parts, or modulus and angle, as columns of their own."
        )


def load_npy(source):
    """The array of an NPY file; nothing in it is unpickled."""
    try:
        return _array(source.data)
    except MemoryError:
        raise
    except Exception:
        raise DataError(
            f"{source.name!r} is not an NPY file of plain numbers or texts, or it is damaged: its "
            "header must announce the array that follows."
        ) from None


def _array(data):
    """The array of the bytes of an NPY file, a ValueError if they are none."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = "read_array_header_1_0" if version == (1, 0) else "read_array_header_2_0"
    shape, _, dtype = getattr(np.lib.format, header)(file)
    # Before room is made; and an array that ends before its file has lost numbers.
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype.kind == "U" and array.size:
        codes = np.frombuffer(array.astype("<U").tobytes(), dtype="<u4")
        if codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any():
            raise ValueError("invalid code points")
    return array


def _arrays(source):
    import pandas as pd

    arrays = load_arrays(source)
    path = source.name
    X = next((arrays[k] for k in ("X", "data", "features", "x") if k in arrays), None)
    y = next((arrays[k] for k in ("y", "target", "labels", "label", "Y") if k in arrays), None)
    if X is None or X.ndim != 2:
        raise DataError(
            f"{str(path)!r} must hold a matrix X (or data) with a row for each object; it has "
            f"{listed(f'{key} of shape {array.shape}' for key, array in arrays.items())}."
        )
    for array in (X, y):
        if array is not None:
            _refuse_complex(array.dtype, source)
    names = next((arrays[k] for k in ("feature_names", "columns") if k in arrays), None)
    if names is None:
        names = [f"column {i + 1}" for i in range(X.shape[1])]
    elif names.shape != X.shape[1:]:
        raise DataError(
            f"In {str(path)!r} X has {counted(X.shape[1], 'column')}, but their names have the "
            f"shape {names.shape}; a name for each column is needed."
        )
    frame = pd.DataFrame(X)
    frame.columns = [str(name) for name in names]
    if y is not None:
        if y.shape != (len(X),):
            raise DataError(
                f"In {str(path)!r} X has {len(X)} rows, but y has the shape {y.shape}; a class for "
                "each row is needed."
            )
        frame["class"] = y
    return _plain(frame, source), list(source.notes)


def load_arrays(source):
    """Arrays of an NPZ file, or that of an NPY file as X."""
    return {"X": load_npy(source)} if source.suffix == ".npy" else load_npz(source)


def load_npz(source):
    """Arrays of an NPZ file; nothing in it is unpickled."""
    if not zipfile.is_zipfile(io.BytesIO(source.data)):
        raise DataError(
            f"{source.name!r} is not an NPZ file, as numpy.savez writes it, or it is damaged."
        )
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return {n.removesuffix(".npy"): _array(archive.read(n)) for n in archive.namelist()}
    except MemoryError:
        raise
    except Exception:
        raise DataError(
            f"{source.name!r} holds more than plain arrays, and nothing else is loaded, or it is "
            "damaged; save numbers and texts as arrays of those types (astype(str)), not as "
            "objects."
        ) from None


def _arff(source):
    import pandas as pd
    from scipy.io import arff

    text, notes = decoded(source, "ARFF is text")
    path = source.name
    try:
        data, meta = arff.loadarff(io.StringIO(_ascii(text)))
    except NotImplementedError:
        raise DataError(
            f"{str(path)!r} has attributes that are neither numeric nor nominal, such as texts or "
            "dates; remove them, or save the table as CSV."
        ) from None
    except Exception as error:
        why = " ".join(str(error).split())[:200].rstrip(".")
        raise DataError(
            f"{str(path)!r} could not be read as ARFF{f' ({why})' if why else ''}: @relation, an "
            "@attribute for each column and @data must stand above the rows, and a nominal value "
            "among those of its attribute; or save the table as CSV."
        ) from None
    columns = {}
    for name, kind in zip(meta.names(), meta.types()):
        if kind == "nominal":
            texts = [_from_ascii(value.decode("ascii")) for value in data[name]]
            columns[name] = np.array([None if t == "?" else t for t in texts], dtype=object)
        else:
            columns[name] = data[name].astype(float)
    frame = pd.DataFrame(columns)
    frame.columns = [_from_ascii(name) for name in frame.columns]
    return frame, notes


def _ascii(text):
    """A text whose letters beyond ASCII, which scipy does not read in ARFF, are numbers."""
    return re.sub(r"[\x01\x02]|[^\x00-\x7f]", lambda letter: f"\x01{ord(letter[0]):x}\x02", text)


def _from_ascii(text):
    return re.sub(r"\x01([0-9a-f]+)\x02", lambda code: chr(int(code[1], 16)), text)


# Readers by the suffix of the file's name; anything else is delimited text or a workbook.
READERS = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".json": _json,
    ".jsonl": _json,
    ".ndjson": _json,
    ".npz": _arrays,
    ".npy": _arrays,
    ".arff": _arff,
}


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
                f"Which column holds the classes? The columns are {listed(map(repr, names), 20)}.",
                "target",
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


def find_columns(names, wanted, faults):
    """Role -> name of its column, of those that are chosen; absent ones are recorded as faults."""
    chosen = {}
    for role, column in wanted.items():
        if column is not None:
            with faults.collected():
                chosen[role] = find_target(names, column)
    return chosen


def table_problem(
    frame, target, name, notes=(), *, drop=(), id=None, groups=None, weights=None, faults=None
):
    """The problem of a table: classes from the target column, features from the others.

    Parameters
    ----------
    frame : DataFrame
        What :func:`read_table` gave.
    target : str or None
        Column of the classes, by name or number from 1; a usual name if None.
    name : str
        What to call the problem.
    notes : sequence of str
        Sentences so far.
    drop : sequence of str
        Columns to leave out.
    id : str or None
        Column that names the rows.
    groups : str or None
        Column of what belongs together: its rows are never in both parts of a fold.
    weights : str or None
        Column of the weights of the rows.
    faults : Faults or None
        Problems so far: they are raised with those of the columns.

    Returns
    -------
    problem : Problem
    """
    with (faults or Faults()).raised() as faults:
        return _table_problem(
            frame, target, name, list(notes), drop, {"names": id, "groups": groups}, weights, faults
        )


def _table_problem(frame, target, name, notes, drop, roles, weights, faults):
    columns = list(frame.columns)
    target = find_target(columns, target)
    chosen = {"classes": target, **find_columns(columns, {**roles, "weights": weights}, faults)}
    dropped = list(find_columns(columns, dict(enumerate(drop)), faults).values())
    other = [column for role, column in chosen.items() if role != "classes"]
    for column in [*dropped, *other]:
        if column == target:
            faults.add(f"Column {column!r} holds the classes and cannot be anything else.")
    numbered = [c for c in frame.columns[counting_columns(frame)] if c != target]
    as_read, labels = frame, frame[target]
    labelled = labels.notna().to_numpy()
    if not labelled.all():
        n_left, were = (~labelled).sum(), "was" if (~labelled).sum() == 1 else "were"
        notes.append(f"{counted(n_left, 'row')} without a class {were} left out.")
        frame, labels = _without(frame, ~labelled, COMMAS in notes), labels[labelled]
    y = None
    with faults.collected():
        y = as_labels(labels.tolist(), target)
    notes += _missing_classes(y)
    X = frame.drop(columns=list(dict.fromkeys([target, *dropped, *other])))
    X, names, left_out = select_features(X, notes, numbered, faults)
    X = X.reset_index(drop=True)
    if not X.shape[1]:
        faults.add(" ".join([f"Beside {target!r} there is no column left to classify by.", *notes]))
    values = {}
    for role, take in (("groups", _groups), ("weights", _weights)):
        if role in chosen:
            with faults.collected():
                values[role] = take(frame[chosen[role]])
    if faults.errors:  # raised together
        return None
    if "names" in chosen:
        names = [written(value) or "" for value in frame[chosen["names"]]]
    notes += table_notices(X, y, target)
    by_column = dict.fromkeys(dropped, "dropped") | {c: role for role, c in chosen.items()}
    units = as_read.attrs.get("units", {})
    overview = column_overview(frame, by_column, left_out, units)
    return Problem(
        "vectors", X, y, name, names=names, target=target, notes=notes, overview=overview,
        units=units, **values,
    )  # fmt: skip


def _missing_classes(y):
    """Sentences on classes whose names are words for missing cells."""
    for label, times in Counter(map(str, () if y is None else y)).items():
        if label.lower() in MISSING:
            yield (
                f"{label!r} is a class of {counted(times, 'row')}; leave the cell empty where "
                "it means that the class is not known."
            )


def _groups(column):
    values = np.array([written(value) or "" for value in column])
    if (values == "").any():
        first = int(column.index[np.flatnonzero(values == "")[0]]) + 1
        raise DataError(f"Column {column.name!r} of groups is empty in row {first}.", "groups")
    return values


def _weights(column):
    if is_text(column):
        raise DataError(f"Column {column.name!r} of weights must hold numbers.", "weights")
    values = column.to_numpy(dtype=float)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any() or not values.any():
        at = int(column.index[np.flatnonzero(bad)[0]]) + 1 if bad.any() else 1
        raise DataError(
            f"Weights must be numbers of 0 or more, not all 0; column {column.name!r} has "
            f"{values[bad][0] if bad.any() else 0} in row {at}.",
            "weights",
        )
    return values
