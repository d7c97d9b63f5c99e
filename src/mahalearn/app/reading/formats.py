"""Tables of files that know their types: Parquet, JSON, arrays of numpy, ARFF."""

import io
import json
import math
import re
import sys
import zipfile
from collections import Counter
from decimal import Decimal

import numpy as np

from ..._validation import available_memory
from ..words import counted
from .columns import loses_digits, number
from .problem import DataError, listed
from .source import decoded

# Bytes in memory for each cell of a Parquet file: what reading the whole table takes at its peak.
CELL_BYTES = 24
# Copies of a text that there are at that peak.
TEXT_COPIES = 4
# Cells that rows of JSON may make with the keys of the others, at all or for each of their own.
MOST_EMPTY, FULLEST = 10**6, 20
# Types of texts in Parquet files.
_TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def parquet_table(source, folder=None):
    frame = parquet_frame(source, folder)
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return plain_frame(frame, source), list(source.notes)


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
            f"{source.name!r} could not be read as a Parquet file: it is not one, or it is "
            "damaged; save the table again, or as CSV."
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
            content = json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError:
            lines = filter(str.strip, text.split("\n"))
            content = [json.loads(line, object_pairs_hook=_once) for line in lines]
    except KeyError as error:
        raise DataError(
            f"{source.name!r} has the key {error} twice in one row; a row needs each key once."
        ) from None
    except (ValueError, RecursionError):
        raise DataError(f"{source.name!r} is not JSON, nor JSON lines, or it is damaged.") from None
    headers = []
    if isinstance(content, dict) and _are_rows(content.get("data")):
        headers = [content["columns"]] if isinstance(content.get("columns"), list) else []
        content = content["data"]
    parts = list(content.values()) if isinstance(content, dict) else content
    kinds = {type(part) for part in parts} if isinstance(parts, list) else None
    if kinds not in ({dict}, {list}):
        raise DataError(
            f"{source.name!r} must hold a list of rows (dicts with the same keys) or a dict of "
            "columns (lists of one length)."
        )
    if kinds == {dict} and content is parts:
        keys, n_entries = set().union(*parts), sum(map(len, parts))
        if len(keys) * len(parts) > max(MOST_EMPTY, FULLEST * n_entries):
            raise DataError(
                f"{source.name!r} has {len(keys)} different keys in its {len(parts)} rows, which "
                f"have {n_entries / len(parts):.3g} each; a row needs the keys of the others."
            )
    if kinds == {list} and len({len(row) for row in [*parts, *headers]}) > 1:
        raise DataError(f"Rows or columns of {source.name!r} differ in length from the others.")
    frame = pd.DataFrame(content, dtype=object)
    if kinds == {list} and content is parts:
        usual = [f"column {i + 1}" for i in range(frame.shape[1])]
        frame.columns = headers[0] if headers else usual
    columns = {i: _json_column(frame.iloc[:, i], source, notes) for i in range(frame.shape[1])}
    return pd.DataFrame(columns).set_axis(map(str, frame.columns), axis=1), notes


def _once(pairs):
    """A dict of keys and values, a KeyError if a key is repeated."""
    if len(entries := dict(pairs)) < len(pairs):
        raise KeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return entries


def _are_rows(content):
    """True if JSON's "data" are rows, as pandas writes them, rather than a column of that name."""
    return isinstance(content, list) and all(isinstance(row, dict | list) for row in content)


def _json_column(column, source, notes):
    """Numbers of a column of JSON, too large ones as infinity; or texts."""
    present = column.dropna()
    kinds = _refuse_nested(column, source)
    if kinds == {str} and any("." in text for text in present):
        numbers = [number("" if v is None or v != v else v.strip()) for v in column]
        if None not in numbers:
            notes.append(f"Numbers that were saved as texts were read: {str(column.name)!r}.")
            return np.array(numbers)
    integers = [value for value in present if type(value) is int]
    huge = max(map(abs, integers), default=0) > 10**300
    if kinds <= {int, float} and (huge or not any(map(loses_digits, integers))):
        return np.array([np.nan if v is None else float(str(v)) for v in column])
    return np.array([None if v is None or v != v else str(v) for v in column], dtype=object)


def _refuse_nested(column, source):
    """Types of the values of a column; what is no cell of a table is refused."""
    kinds = {type(value) for value in column.dropna()}
    if kinds & {dict, list, bytes, np.ndarray}:
        raise DataError(
            f"Column {str(column.name)!r} of {source.name!r} holds lists or dicts, or bytes; each "
            "cell must be a number or a text."
        )
    return kinds


def plain_frame(frame, source):
    """Columns of a data frame as float64 or objects."""
    import pandas as pd

    columns = {}
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        _refuse_complex(column.dtype, source)
        if column.dtype.kind == "O":
            _refuse_nested(column, source)
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
    return plain_frame(frame, source), list(source.notes)


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
    ".parquet": parquet_table,
    ".pq": parquet_table,
    ".json": _json,
    ".jsonl": _json,
    ".ndjson": _json,
    ".npz": _arrays,
    ".npy": _arrays,
    ".arff": _arff,
}
