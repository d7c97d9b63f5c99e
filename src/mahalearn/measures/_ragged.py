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


def unmasked(x):
    """The object as an array, NaN where a mask hides a value."""
    return x.astype(np.float64).filled(np.nan) if np.ma.isMaskedArray(x) else np.asarray(x)


def check_not_empty(objects, of_columns=False):
    """None of the objects may be empty: there would be nothing to compare."""
    for i, x in enumerate(objects):
        if len(x) == 0:
            raise ValueError(
                f"{label(i, of_columns)} is empty, so there is nothing to compare; leave it out or "
                "give it a symbol of its own that says so."
            )


def number_arrays(objects, ndim, what, of_columns=False):
    """The objects as float arrays of `ndim` axes, none empty, all finite.

    what : "a sequence of numbers" or the like, for the messages.
    """
    arrays = []
    for i, x in enumerate(objects):
        try:
            if isinstance(x, (str, bytes)):
                raise ValueError("text")
            array = np.asarray(unmasked(x), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{label(i, of_columns)} must be {what}; got {type(x).__name__} {str(x)[:40]!r}."
            ) from None
        if array.ndim and len(array) == 0:
            check_not_empty([*arrays, array], of_columns)
        if array.ndim != ndim or array.shape[-1] == 0:
            raise ValueError(
                f"{label(i, of_columns)} must be {what}; got an array of shape {array.shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(
                f"{label(i, of_columns)} contains NaN or infinite values; remove or repair them."
            )
        arrays.append(array)
    return arrays


def number_table(X, what, name="X"):
    """Rows of equally many finite numbers as an array; sparse rows are made dense.

    what : "Histograms" or the like, for the messages.
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
    return check_array(X, dtype=np.float64, input_name=name)


def prepare_numbers(X, Y, ndim, what):
    """Two collections of number arrays as (P, Q), P twice if Y is None; points of one dimension."""
    rows = number_arrays(X, ndim, what)
    cols = [] if Y is None else number_arrays(Y, ndim, what, of_columns=True)
    for i, array in enumerate(rows + cols):
        if array.shape[1:] != rows[0].shape[1:]:
            of_columns = i >= len(rows)
            raise ValueError(
                f"{label(i - len(rows) * of_columns, of_columns)} has points of dimension "
                f"{array.shape[1]}, object 0 of {rows[0].shape[1]}; they must agree."
            )
    P = join(rows)
    return P, P if Y is None else join(cols)
