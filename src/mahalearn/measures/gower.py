"""Gower's dissimilarity of rows with numbers and names."""

import numbers
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from .._typing import Objects
from .._validation import check_objects, is_missing, is_real, n_rows
from .base import Measure, Prepared


@dataclass(frozen=True)
class _Table(Prepared):
    """Columns as floats: numbers over their range, names as codes; zero where missing.

    codes: of each column, {name: code}.
    """

    common = ("codes",)
    numbers: np.ndarray
    names: np.ndarray
    has_number: np.ndarray
    has_name: np.ndarray
    codes: list


class Gower(Measure):
    """Gower's dissimilarity of the rows of a table with numeric and nominal columns.

    The similarity of two rows is the mean, over the columns that both have, of 1 − |x − y|/range
    for numbers and of 1 or 0 for equal or different names; d = √(1 − s), which is Euclidean if
    nothing is missing [1]_. Ranges are those of the training data; a difference beyond the range
    (new data only) counts as the range.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    nominal : "auto" or list of column names or numbers, default="auto"
        Columns that hold categories. "auto": those of text, categories, booleans or mixed objects.

    Attributes
    ----------
    columns_ : list
        Names of the columns, numbers if they have none.
    nominal_ : ndarray of shape (n_columns,)
        Whether a column is nominal.
    ranges_ : ndarray of shape (n_columns,)
        Range of each numeric column in the training data, NaN for nominal ones.

    See Also
    --------
    mahalearn.TableEncoder : Numbers from a table with categories and gaps.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] J. C. Gower, A general coefficient of similarity and some of its properties, Biometrics
       27, 1971.

    Examples
    --------
    >>> from mahalearn.measures import Gower
    >>> rows = [[1.0, "red"], [3.0, "red"], [5.0, "blue"], [None, "blue"]]
    >>> Gower().fit(rows).between(rows).round(2).tolist()[0]
    [0.0, 0.5, 1.0, 1.0]
    """

    def __init__(self, nominal: Any = "auto") -> None:
        self.nominal = nominal

    def fit(self, X: Objects, y: Objects | None = None) -> Self:
        """Learn which columns are nominal, and the ranges of the others, see Measure."""
        self.columns_, columns = _columns(X)
        self.nominal_ = self._find_nominal(columns)
        self.ranges_ = np.full(len(columns), np.nan)
        for c, column in enumerate(columns):
            if not self.nominal_[c]:
                values = _numbers(column, self.columns_[c])
                present = values[~np.isnan(values)]
                self.ranges_[c] = np.ptp(present) if len(present) else 0.0
        return self

    def _prepared(self, X, rows=None):
        check_is_fitted(
            self,
            msg="%(name)s needs the ranges of the training data: call fit on them first, or use "
            "pairwise or MeasureKernel, which do.",
        )
        codes = [{} for _ in self.columns_] if rows is None else rows.codes
        names, columns = _columns(X)
        named = isinstance(names[0], str)
        if len(names) != len(self.columns_) or (named and names != self.columns_):
            raise ValueError(
                f"The table has the columns {names!r}, the training data had {self.columns_!r}."
            )
        n = len(columns[0])
        numbers, has_number, symbols, has_name = [], [], [], []
        for c, column in enumerate(columns):
            if not self.nominal_[c]:
                column = _numbers(column, names[c])
            missing = np.array([is_missing(v) for v in column])
            # In a constant column any difference is beyond the range, as between names.
            if self.nominal_[c] or self.ranges_[c] == 0:
                code = codes[c]
                coded = [0 if m else code.setdefault(v, len(code)) for v, m in zip(column, missing)]
                symbols.append(coded)
                has_name.append(~missing)
            else:
                numbers.append(np.where(missing, 0.0, column) / self.ranges_[c])
                has_number.append(~missing)
        parts = (_matrix(part, n) for part in (numbers, symbols, has_number, has_name))
        table = _Table(*parts, codes)
        empty = np.flatnonzero(table.has_number.sum(axis=1) + table.has_name.sum(axis=1) == 0)
        if len(empty):
            raise ValueError(f"Row {empty[0]} has no values at all; leave it out.")
        return table

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        shared = P.has_number @ Q.has_number.T + P.has_name @ Q.has_name.T
        if (shared == 0).any():
            raise ValueError(
                "Two rows have no column in common where both have a value, so they cannot be "
                "compared; drop the emptiest rows or columns, or fill in missing values."
            )
        apart = np.zeros(shared.shape)
        for c in range(P.numbers.shape[1]):
            gap = np.abs(np.subtract.outer(P.numbers[:, c], Q.numbers[:, c]))
            both = np.multiply.outer(P.has_number[:, c], Q.has_number[:, c])
            apart += np.minimum(gap, 1) * both
        for c in range(P.names.shape[1]):
            both = np.multiply.outer(P.has_name[:, c], Q.has_name[:, c])
            apart += np.not_equal.outer(P.names[:, c], Q.names[:, c]) * both
        return np.sqrt(apart / shared)

    def _find_nominal(self, columns):
        if isinstance(self.nominal, str):
            if self.nominal != "auto":
                raise ValueError(
                    f"nominal must be 'auto' or a list of columns; got {self.nominal!r}. "
                    f"For one column pass [{self.nominal!r}]."
                )
            return np.array([column.dtype.kind not in "iuf" for column in columns])
        wanted = list(self.nominal)
        positions = [
            self.columns_.index(c) if c in self.columns_ else c  # a name, or else a number
            for c in wanted
        ]
        for c, position in zip(wanted, positions, strict=True):
            if isinstance(position, str) or not -len(columns) <= position < len(columns):
                raise ValueError(
                    f"nominal names the column {c!r}; the columns are {self.columns_!r}."
                )
        mask = np.zeros(len(columns), dtype=bool)
        mask[positions] = True
        return mask


def _matrix(columns, n_rows):
    return np.array(columns, dtype=np.float64).reshape(len(columns), n_rows).T.copy()


def _columns(X):
    """Names and arrays of the columns of a table, an array or a list of rows."""
    X = check_objects(X.toarray() if issparse(X) else X)
    if hasattr(X, "columns"):
        names = list(getattr(X, "column_names", X.columns))
        columns = [_series(X[name]) for name in names]
    else:
        rows = _rows(X)
        names, columns = list(range(rows.shape[1])), [_tidy(c) for c in rows.T]
    if not names:
        raise ValueError("The table has no columns.")
    for name, column in zip(names, columns, strict=True):
        _check_cells(name, column)
    return names, columns


def _rows(X):
    """An array, or a list of rows of equal length, as an array; None where a mask hides a value."""
    if hasattr(X, "dtype"):
        rows = np.asarray(X)
        if np.ma.is_masked(X):
            rows = np.where(np.ma.getmaskarray(X), None, rows)
        if rows.ndim != 2:
            raise ValueError(
                f"Gower takes a table with rows and columns; got an array of shape {rows.shape}."
            )
        return rows
    lengths = {0 if isinstance(row, (str, bytes)) else n_rows(row) for row in X}
    if len(lengths) > 1 or 0 in lengths or any(map(issparse, X)):
        raise ValueError(
            "Gower takes a table: rows of equal length, a value for each column; got rows of "
            f"lengths {sorted(lengths)}."
        )
    rows = np.empty((len(X), lengths.pop()), dtype=object)
    for i, row in enumerate(X):
        rows[i] = list(row)
    return rows


# What a column must not hold, by the kind of its dtype and by the type of a value, and why.
_REFUSED = (
    (
        "c",
        numbers.Complex,
        "complex numbers, which have no order: pass their real and imaginary parts as two columns",
    ),
    (
        "mM",
        (date, timedelta, np.datetime64, np.timedelta64),
        "dates or time differences: pass them as numbers, such as days since a date, or as text if "
        "they are names",
    ),
)


def _check_cells(name, column):
    """Refuse a column whose values are neither numbers nor names."""
    cells = column if column.dtype.kind in "OV" else ()
    for value in cells:
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"Column {name!r} holds a {type(value).__name__}; cells must be single values."
            ) from None
    present = [v for v in cells if not (is_missing(v) or isinstance(v, numbers.Real))]
    for kinds, types, problem in _REFUSED:
        if column.dtype.kind in kinds or any(isinstance(v, types) for v in present):
            raise ValueError(f"Column {name!r} holds {problem}.")


def _series(column):
    """A column of a data frame as an array, numeric if it is numeric."""
    if hasattr(column, "to_pylist"):  # of pyarrow, whose arrays show missing names as the first one
        cells = np.array([*column.to_pylist(), None], dtype=object)[:-1]
        return cells if str(column.type).startswith("dictionary") else _tidy(cells)
    if str(column.dtype) == "category":  # of pandas; numbers may be names there
        return column.astype(object).to_numpy()
    return _tidy(column.to_numpy())


def _tidy(column):
    """Objects that are all numbers (or missing) as floats; anything else stays."""
    if column.dtype.kind != "O":
        return column
    present = [v for v in column if not is_missing(v)]
    numeric = all(map(is_real, present))
    return _floats(column) if present and numeric else column


def _floats(column):
    return np.array([np.nan if is_missing(v) else _float(v) for v in column])


def _float(value):
    """A number as a float, infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _numbers(column, name):
    """A numeric column as floats."""
    try:
        values = column.astype(float) if column.dtype.kind in "iufb" else _floats(column)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {name!r} holds values that are not numbers; name it in nominal=."
        ) from None
    if np.isinf(values).any():
        raise ValueError(f"Column {name!r} contains infinite values; remove or repair them.")
    return values
