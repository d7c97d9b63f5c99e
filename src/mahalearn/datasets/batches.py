"""Tables in Parquet files, batch by batch, with memory bounded whatever the number of rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import extra_module
from .._typing import File


class ParquetBatches:
    """Batches (X, y) of the Parquet files of a table, in the order of the files' names.

    It can be read any number of times. A batch is all of the table that is in memory, beside what
    pyarrow needs to read a row group; write files with row groups of moderate size (100,000 rows)
    if memory is scarce.

    Read more in the :doc:`user guide </scale>`.

    Parameters
    ----------
    paths : str, path or list of them
        A file, a folder with ``*.parquet`` files, or several files.
    target : str, default=None
        Column with the class labels; None reads batches of X alone, without labels.
    features : list of str, default=None
        Columns of X, in this order; all numeric ones but the target if None.
    batch_rows : int, default=65536
        Number of rows of a batch; the last one of a file may be smaller.
    dtype : dtype, default=float64
        Of X, float64 or float32.

    Attributes
    ----------
    files : list of Path
        The files.
    features : list of str
        Columns of X.
    n_rows : int
        Number of rows of all files.

    See Also
    --------
    mahalearn.distributed.predict : Predictions for the parts of a large collection.
    mahalearn.LandmarkMap : Nyström features for data of any size.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from mahalearn.datasets import ParquetBatches
    >>> table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.1, 0.2], "kind": ["x", "y", "x"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(folder + "/part-0.parquet")
    ...     batches = ParquetBatches(folder, target="kind", batch_rows=2)
    ...     [(X.shape, y.tolist()) for X, y in batches]
    [((2, 2), ['x', 'y']), ((1, 2), ['x'])]
    """

    def __init__(
        self,
        paths: File | Sequence[File],
        target: str | None = None,
        features: Sequence[str] | None = None,
        *,
        batch_rows: int = 65536,
        dtype: Any = np.float64,
    ) -> None:
        self.files = _files(paths)
        self.target = target
        self.batch_rows = int(batch_rows)
        self.dtype = np.dtype(dtype)
        if self.batch_rows < 1 or self.dtype not in (np.float64, np.float32):
            raise ValueError(
                "batch_rows must be positive and dtype float64 or float32; got "
                f"{batch_rows!r} and {dtype!r}."
            )
        heads = [_head(file) for file in self.files]
        if features is None:
            schema = heads[0][0]
            features = [f.name for f in schema if f.name != target and _is_number(f.type)]
        self.features = list(features)
        wanted = [*self.features, *([] if target is None else [target])]
        for file, (schema, _) in zip(self.files, heads, strict=True):
            if missing := [name for name in wanted if name not in schema.names]:
                raise ValueError(f"{file.name} has no columns {missing}; it has {schema.names}.")
        if not self.features:
            raise ValueError(f"{self.files[0].name} has no numeric columns beside the target.")
        self.n_rows = sum(n_rows for _, n_rows in heads)

    def __len__(self):
        return sum(1 for _ in self._batches([]))

    def __iter__(self):
        columns = [*self.features, *([] if self.target is None else [self.target])]
        for name, batch in self._batches(columns):
            X = np.empty((batch.num_rows, len(self.features)), self.dtype)
            for i, feature in enumerate(self.features):
                X[:, i] = self._numbers(batch.column(feature), feature, name)
            yield X if self.target is None else (X, _labels(batch.column(self.target), name))

    def _batches(self, columns):
        for file in self.files:
            with _parquet().ParquetFile(file, pre_buffer=False) as table:
                options = {"batch_size": self.batch_rows, "use_threads": False}
                for batch in table.iter_batches(columns=columns, **options):
                    yield file.name, batch

    def _numbers(self, column, feature, name):
        if column.null_count:
            raise ValueError(
                f"{name}: column {feature!r} has {column.null_count} missing values in a batch; "
                "impute them first."
            )
        if not _is_number(column.type):
            raise ValueError(
                f"{name}: column {feature!r} holds {column.type}, not numbers; encode it first or "
                "leave it out of features=."
            )
        return column.to_numpy(zero_copy_only=False)


def _head(file):
    """Schema and number of rows of a file."""
    parquet = _parquet()
    from pyarrow import ArrowInvalid

    try:
        with parquet.ParquetFile(file) as table:
            return table.schema_arrow, table.metadata.num_rows
    except ArrowInvalid as error:
        raise ValueError(f"{file.name} cannot be read as a Parquet file: {error}") from None


def _labels(column, name):
    if column.null_count:
        raise ValueError(f"{name}: the target has {column.null_count} missing values.")
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values = column.to_numpy(zero_copy_only=False)
    return np.array(values.tolist()) if values.dtype == object else values


def _is_number(kind):
    import pyarrow.types as types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _files(paths):
    """The files that a path, a folder or a list stands for."""
    if isinstance(paths, (str, Path)):
        path = Path(paths)
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"There are no .parquet files in the folder {str(path)!r}.")
    else:
        files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if not files:
        raise ValueError("paths is empty; name at least one file.")
    return files


def _parquet():
    return extra_module("pyarrow.parquet", "Reading Parquet needs pyarrow", "cli")
