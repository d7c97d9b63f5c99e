"""Tables with numbers, categories, dates and missing cells as vectors.

Columns are read with `numpy.asarray`, which every data frame library supports: a frame brings its
own library, and none is imported here.
"""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from numbers import Number
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import ArrayLike
from ._validation import check_count, is_missing, refuse_dask, without_mask

__all__ = ["TableEncoder"]

# Squares of larger numbers, and their sums, overflow.
LARGEST = 1e150
# A standard deviation below this share of the mean is rounding.
SPREAD_RTOL = 1e-10
# An indicator needs this share of missing and of present cells.
INDICATOR_SHARE = 0.05
# In so many rows a text column without any repetition identifies the rows.
FEWEST_IDENTIFIED = 10
# Types of columns that are categories whatever their values, by how frame libraries write them.
_CATEGORICAL = ("category", "Categorical", "Enum", "dictionary")
_DAY = 86400.0


class TableEncoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Encode a table with numbers, categories, dates and missing cells as vectors.

    Numbers, booleans and dates (as days) are standardised, and a missing one is replaced by the
    median of the training rows. A category becomes one column of zeros and ones; an unknown or
    missing category has zeros there. A column with at least 5 % missing cells gets an indicator of
    missing cells; columns with the same missing cells share one. Columns without information are
    left out. Labels are never used.

    Tables are data frames of pandas, polars or pyarrow, and arrays, which may hold NaN. A frame of
    another library than in `fit` gives the same vectors. Sparse matrices are not changed:
    standardised rows would not be sparse.

    Read more in the :doc:`user guide </missing>`.

    Parameters
    ----------
    max_categories : int, default=50
        Number of categories of a column that are encoded. If there are more, the most frequent ones
        get columns and the others count as unknown.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where all of them are strings.
    numeric_ : ndarray of int
        Positions of the columns that are encoded as numbers.
    medians_, means_, scales_ : ndarray
        Statistics of the numeric columns.
    nominal_ : ndarray of int
        Positions of the columns that are encoded as categories.
    categories_ : list of list of str
        Encoded categories of each nominal column, sorted.
    indicators_ : ndarray of int
        Positions of the columns that have an indicator of missing cells.
    source_columns_ : ndarray of int
        For each encoded column the position of the column it was made from.
    dropped_ : dict of int to str
        Positions of the columns that were left out, and the reason.

    See Also
    --------
    sklearn.compose.ColumnTransformer : Other transformers for chosen columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from mahalearn import TableEncoder
    >>> table = pd.DataFrame({"dose": [1.0, None, 3.0], "solvent": ["water", "oil", "water"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['dose', 'solvent=oil', 'solvent=water', 'dose missing']
    >>> encoder.transform(table).round(2).tolist()
    [[-1.22, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.22, 0.0, 1.0, 0.0]]
    """

    def __init__(self, max_categories: int = 50) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn types, medians, scales and categories of the columns.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Training table.
        y : ignored
            Accepted for pipelines.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        check_count(self.max_categories, "max_categories")
        if issparse(X):
            return self._fit_sparse(X)
        columns = self._columns(X, reset=True)
        gaps = np.column_stack([_missing(values) for values in columns])
        nominal = np.array([_is_nominal(values) for values in columns])
        self.dropped_ = {int(j): "empty" for j in np.flatnonzero(gaps.all(axis=0))}
        used = ~gaps.all(axis=0)
        self._fit_numbers(columns, np.flatnonzero(used & ~nominal), gaps)
        self._fit_categories(columns, np.flatnonzero(used & nominal))
        share = gaps.mean(axis=0)
        frequent = (share >= INDICATOR_SHARE) & (share <= 1 - INDICATOR_SHARE)
        patterns = {gaps[:, j].tobytes(): j for j in np.flatnonzero(frequent)[::-1]}
        self.indicators_ = np.array(sorted(patterns.values()), dtype=int)
        widths = [len(levels) for levels in self.categories_]
        self.source_columns_ = np.concatenate(
            [self.numeric_, np.repeat(self.nominal_, widths), self.indicators_]
        )
        for j in self.indicators_:
            self.dropped_.pop(int(j), None)
        if not len(self.source_columns_):
            raise ValueError(
                "Every column is constant or empty, or has another text in each row: there is "
                f"nothing to classify by (n_samples={len(gaps)})."
            )
        return self

    def _fit_sparse(self, X):
        """Every column is a number in its own unit."""
        p = validate_data(self, X, accept_sparse="csr").shape[1]
        self.numeric_ = self.source_columns_ = np.arange(p)
        self.medians_, self.means_, self.scales_ = np.zeros(p), np.zeros(p), np.ones(p)
        self.nominal_ = self.indicators_ = np.arange(0)
        self.categories_, self.dropped_ = [], {}
        return self

    def _fit_numbers(self, columns, numeric, gaps):
        Z, missing = self._numbers(columns, numeric), gaps[:, numeric]
        medians = np.median(Z, axis=0)
        for j in np.flatnonzero(missing.any(axis=0)):
            medians[j] = np.median(Z[~missing[:, j], j])
        Z = np.where(missing, medians, Z)
        means, scales = Z.mean(axis=0), Z.std(axis=0)
        varies = scales > SPREAD_RTOL * np.maximum(np.abs(means), 1e-300)
        self.dropped_ |= {int(j): "constant" for j in numeric[~varies]}
        self.numeric_, self.medians_ = numeric[varies], medians[varies]
        self.means_, self.scales_ = means[varies], scales[varies]

    def _fit_categories(self, columns, nominal):
        positions, self.categories_ = [], []
        for j in nominal:
            counts = Counter(_texts(columns[j]))
            counts.pop(None, None)
            if len(counts) == counts.total() >= FEWEST_IDENTIFIED:
                self.dropped_[int(j)] = "another text in each row"
            elif len(counts) == 1:
                self.dropped_[int(j)] = "constant"
            else:
                frequent = sorted(counts, key=lambda level: (-counts[level], level))
                positions.append(j)
                self.categories_.append(sorted(frequent[: self.max_categories]))
        self.nominal_ = np.array(positions, dtype=int)

    def _numbers(self, columns, positions):
        """Some columns as a matrix of float64."""
        if isinstance(columns, np.ndarray):  # rows of numbers: column by column takes longer
            Z = columns[positions].T.astype(float)
            if not np.any(np.abs(Z) > LARGEST):
                return Z
        names = super().get_feature_names_out()
        Z = np.empty((len(columns[0]), len(positions)))
        for i, j in enumerate(positions):
            Z[:, i] = _numbers(columns[j], names[j])
        return Z

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features_out)
            Vectors.
        """
        check_is_fitted(self)
        if issparse(X) and not self.means_.any() and (self.scales_ == 1).all():
            return csr_matrix(validate_data(self, X, reset=False, accept_sparse="csr"))
        columns = self._columns(X, reset=False)
        Z = self._numbers(columns, self.numeric_)
        Z = np.where(np.isnan(Z), self.medians_, Z)
        blocks = [(Z - self.means_) / self.scales_]
        for j, levels in zip(self.nominal_, self.categories_):
            position = {level: i for i, level in enumerate(levels)}
            codes = np.array([position.get(text, -1) for text in _texts(columns[j])])
            blocks.append((codes[:, None] == np.arange(len(levels))).astype(float))
        blocks += [_missing(columns[j]).astype(float)[:, None] for j in self.indicators_]
        return np.hstack(blocks)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of an array; those of a frame are known.

        Returns
        -------
        names : ndarray of str
            The column's name for a number, "name=category" for a category, "name missing" for an
            indicator.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        labels = [names[j] for j in self.numeric_]
        for j, levels in zip(self.nominal_, self.categories_):
            labels += [f"{names[j]}={level}" for level in levels]
        labels += [f"{names[j]} missing" for j in self.indicators_]
        return np.array(labels, dtype=object)

    def _columns(self, X, reset):
        """Columns of a table as arrays."""
        refuse_dask(self, X)
        if not is_frame(X):
            X = rows_as_array(X)
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            _refuse_complex(X)
            return X.T if X.dtype.kind in "biuf" else list(X.T)
        names = list(getattr(X, "column_names", X.columns))
        if not len(X) or not names:
            raise ValueError(f"The table is empty: it has shape {X.shape}.")
        repeated = [str(name) for name, n in Counter(names).items() if n > 1]
        if repeated:
            raise ValueError(f"Names of columns must differ; {', '.join(repeated)} occurs twice.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        # Thousands of columns of numbers are copied at once, not one by one.
        kinds = zip(names, getattr(X, "dtypes", ()))
        plain = [name for name, kind in kinds if isinstance(kind, np.dtype) and kind.kind in "iuf"]
        block = dict(zip(plain, np.asarray(X[plain]).T)) if plain else {}
        columns = [block[name] if name in block else _values(X[name]) for name in names]
        for values in columns:
            _refuse_complex(values)
        return columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        takes = tags.input_tags
        takes.allow_nan = takes.string = takes.categorical = takes.sparse = True
        return tags


def is_frame(X):
    """True for a data frame of pandas, polars or pyarrow."""
    return hasattr(X, "shape") and (hasattr(X, "column_names") or hasattr(X, "columns"))


def rows_as_array(X):
    """Rows as an array, in which numbers beside texts stay numbers and masked cells are missing."""
    if not isinstance(X, (list, tuple)):
        return without_mask(X)
    array = np.asarray(X)
    return np.array(X, dtype=object) if array.dtype.kind in "SU" else array


def _refuse_complex(values):
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported.")


def _values(column):
    """A column of a data frame as an array; of a column of categories as texts."""
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    if not kind.startswith(_CATEGORICAL):
        return np.asarray(column)
    # numpy.asarray puts a category in place of pyarrow's missing cells.
    cells = column.to_pylist() if hasattr(column, "to_pylist") else np.asarray(column)
    return np.array([*_texts(cells), None], dtype=object)[:-1]


def _is_nominal(values):
    """True if a column holds texts, perhaps among others."""
    if values.dtype.kind != "O":
        return values.dtype.kind in "SUT"
    numeric = (Number, np.generic, date, time, timedelta)
    present = (value for value in values if not _is_missing(value))
    return any(not isinstance(value, numeric) for value in present)


def _is_missing(value):
    """True for a missing cell; a cell must be a single value."""
    try:
        return is_missing(value)
    except ValueError:
        raise _nested(value) from None


def _missing(values):
    """True where a cell of a column is missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind not in "OT":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_missing(value) for value in values], dtype=bool)


def _texts(values):
    """Cells of a column as texts, None where missing."""
    return [None if _is_missing(value) else _as_text(value) for value in values]


def _nested(value):
    return ValueError(f"Cells of a table must be single values; got {type(value).__name__}.")


def _as_text(value):
    """A category as text: 2.0 and 2 are the same one."""
    if isinstance(value, (list, np.ndarray)):
        raise _nested(value)
    is_whole = isinstance(value, (float, np.floating)) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _numbers(values, name):
    """A column as float64, NaN where a cell is missing; dates as days since 1970."""
    if values.dtype.kind in "mM":
        values = _days(values)
    elif values.dtype.kind in "biuf":
        values = values.astype(float)
    else:
        values = np.array([_as_number(value, name) for value in values], dtype=float)
    if np.any(np.abs(values) > LARGEST):
        row = int(np.argmax(np.abs(values) > LARGEST))
        raise ValueError(
            f"Column {name!r} holds {values[row]:g} in row {row + 1}, which is infinite or too "
            "large to be squared; correct the cell, or give the column in another unit."
        )
    return values


def _days(values):
    """Dates of numpy as days since 1970, differences of times as days."""
    ticks = values.astype(f"{values.dtype.kind}8[us]").astype("int64").astype(float)
    return np.where(np.isnat(values), np.nan, ticks / (_DAY * 1e6))


def _time_of_day(value):
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds / _DAY + value.microsecond / (_DAY * 1e6)


# Values that are numbers, or days since 1970; a value is of the first type that fits.
_AS_NUMBER = (
    (np.datetime64 | np.timedelta64, lambda value: _days(np.array([value]))[0]),
    (datetime, lambda value: value.replace(tzinfo=value.tzinfo or UTC).timestamp() / _DAY),
    (date, lambda value: float(value.toordinal() - date(1970, 1, 1).toordinal())),
    (time, _time_of_day),
    (timedelta, lambda value: value.total_seconds() / _DAY),
    (Number, float),
)


def _as_number(value, name):
    if _is_missing(value):
        return np.nan
    for kind, as_number in _AS_NUMBER:
        if isinstance(value, kind):
            return as_number(value)
    raise ValueError(
        f"Column {name!r} held numbers or dates in training and now holds {str(value)!r}; correct "
        "such a cell, or leave it empty."
    )
