"""Checks of objects: messages name the object at fault, what was expected and what came."""

import numpy as np
from scipy import sparse

from .base import object_list


def named(X, of_columns=False):
    """(name for messages, object) of each object of a collection."""
    place = " of the columns" if of_columns else ""
    return [(f"Object {i}{place}", x) for i, x in enumerate(object_list(X))]


def as_floats(x, what, name):
    """An object as an array of floats, NaN where a mask hides a value; a sparse row made dense.

    what : "a sequence of numbers" or the like; name : that of the object, for the messages.
    """
    try:
        if sparse.issparse(x):
            x = x.toarray()[0] if x.shape[0] == 1 else x.toarray()
        array = x.astype(float).filled(np.nan) if np.ma.isMaskedArray(x) else np.asarray(x)
        if array.dtype.kind in "USTcmM" or any(isinstance(v, str | bytes) for v in _cells(array)):
            raise ValueError("text, complex numbers, dates")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name} must be {what}; got {type(x).__name__} {str(x)[:40]!r}."
        ) from None


def _cells(array):
    """The values of an array of Python's objects; none of another one."""
    return array.ravel() if array.dtype.kind == "O" else ()


def check_not_empty(x, name):
    """An object must not be empty: there would be nothing to compare."""
    if len(x) == 0:
        raise ValueError(
            f"{name} is empty, so there is nothing to compare; leave it out or represent it by a "
            f"symbol of its own."
        )


def number_arrays(X, ndim, what, of_columns=False):
    """The objects as float arrays of `ndim` axes, none empty, all finite."""
    if type(X) is np.ndarray and X.ndim == ndim + 1 and X.dtype.kind in "biuf" and X.size:
        table = X.astype(np.float64)  # all at once: they are checked for each query
        if np.isfinite(table).all():
            return list(table)
    arrays = []
    for name, x in named(X, of_columns):
        array = as_floats(x, what, name)
        if array.ndim:
            check_not_empty(array, name)
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
    X = X.toarray() if sparse.issparse(X) else X
    arrays = number_arrays(X, 1, "a row of numbers", rows is not None)
    lengths = sorted({len(x) for x in arrays})
    if len(lengths) > 1:
        raise ValueError(
            f"{what} must have equally many values; got lengths from {lengths[0]} to {lengths[-1]}."
        )
    table = np.array(arrays)
    if rows is not None and table.shape[1] != rows.shape[1]:
        raise ValueError(
            f"{what} of the rows have {rows.shape[1]} values, those of the columns "
            f"{table.shape[1]}; they must agree."
        )
    return table


def point_arrays(X, ndim, what, rows=None):
    """Number arrays, all points of one dimension; rows: as in `number_table`."""
    of_columns = rows is not None
    arrays = number_arrays(X, ndim, what, of_columns)
    shape = (rows if of_columns else arrays)[0].shape[1:]
    for (name, _), array in zip(named(arrays, of_columns), arrays, strict=True):
        if array.shape[1:] != shape:
            raise ValueError(
                f"{name} has points of dimension {array.shape[1]}, object 0 of {shape[0]}; they "
                "must agree."
            )
    return arrays
