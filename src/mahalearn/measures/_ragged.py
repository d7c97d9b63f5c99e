"""Sequences of different lengths in one array."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import check_array


@dataclass(frozen=True)
class Ragged:
    """Objects one after another: object i is values[starts[i]:starts[i + 1]]."""

    values: np.ndarray
    starts: np.ndarray

    def __len__(self):
        return len(self.starts) - 1

    def __getitem__(self, rows):
        """The objects of a slice."""
        first, stop, _ = rows.indices(len(self))
        starts = self.starts[first : stop + 1]
        return Ragged(self.values[starts[0] : starts[-1]], starts - starts[0])

    @property
    def sizes(self):
        """Length of each object."""
        return np.diff(self.starts)

    def take(self, index):
        """The objects at these positions, in this order."""
        return join([self.values[self.starts[i] : self.starts[i + 1]] for i in index])

    def padded(self):
        """(n, longest, ...) array; short objects are filled up with their first element."""
        position = np.arange(self.sizes.max())
        index = self.starts[:-1, None] + np.where(position < self.sizes[:, None], position, 0)
        return self.values[index]


def join(arrays):
    """A Ragged of arrays that differ in their first axis only."""
    starts = np.concatenate([[0], np.cumsum([len(a) for a in arrays])])
    return Ragged(np.concatenate(arrays), starts)


def label(i, of_columns):
    """Name of an object in an error message."""
    return f"Object {i} of the columns" if of_columns else f"Object {i}"


def as_floats(x, what, name):
    """An object as an array of floats, NaN where a mask hides a value.

    what : "a sequence of numbers" or the like; name : that of the object, for the messages.
    """
    try:
        array = x.astype(float).filled(np.nan) if np.ma.isMaskedArray(x) else np.asarray(x)
        if array.dtype.kind in "USTcmM":
            raise ValueError("text, complex numbers, dates")
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be {what}; got {type(x).__name__} {str(x)[:40]!r}."
        ) from None


def check_not_empty(objects, of_columns=False):
    """None of the objects may be empty: there would be nothing to compare."""
    for i, x in enumerate(objects):
        if len(x) == 0:
            raise ValueError(
                f"{label(i, of_columns)} is empty, so there is nothing to compare; leave it out or "
                "give it a symbol of its own that says so."
            )


def number_arrays(objects, ndim, what, of_columns=False):
    """The objects as float arrays of `ndim` axes, none empty, all finite."""
    arrays = []
    for i, x in enumerate(objects):
        name = label(i, of_columns)
        array = as_floats(x, what, name)
        if array.ndim and len(array) == 0:
            check_not_empty([*arrays, array], of_columns)
        if array.ndim != ndim or array.shape[-1] == 0:
            raise ValueError(f"{name} must be {what}; got an array of shape {array.shape}.")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} contains NaN or infinite values; remove or repair them.")
        arrays.append(array)
    return arrays


def number_table(X, what, rows=None):
    """Rows of equally many finite numbers as an array; sparse rows are made dense.

    what : "Histograms" or the like, for the messages. rows : the table of the rows, where X is that
    of the columns.
    """
    if sparse.issparse(X):
        X = X.toarray()
    elif isinstance(X, list) and X and all(sparse.issparse(x) for x in X):
        X = sparse.vstack(X).toarray()
    elif not hasattr(X, "shape"):
        lengths = sorted({len(x) for x in X if hasattr(x, "__len__")})
        if len(lengths) > 1:
            raise ValueError(
                f"{what} must have equally many values; got lengths from {lengths[0]} to "
                f"{lengths[-1]}."
            )
    table = check_array(X, dtype=np.float64, input_name="X" if rows is None else "Y")
    if rows is not None and table.shape[1] != rows.shape[1]:
        raise ValueError(
            f"{what} of the rows have {rows.shape[1]} values, those of the columns "
            f"{table.shape[1]}; they must agree."
        )
    return table


def ragged_numbers(objects, ndim, what, rows=None):
    """Number arrays as a Ragged, all points of one dimension; rows: as in `number_table`."""
    arrays = number_arrays(objects, ndim, what, rows is not None)
    shape = arrays[0].shape[1:] if rows is None else rows.values.shape[1:]
    for i, array in enumerate(arrays):
        if array.shape[1:] != shape:
            raise ValueError(
                f"{label(i, rows is not None)} has points of dimension {array.shape[1]}, object 0 "
                f"of {shape[0]}; they must agree."
            )
    return join(arrays)
