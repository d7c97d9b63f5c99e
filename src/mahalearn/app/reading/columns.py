"""Which columns of a table are features, which name its rows, and which nobody should use."""

import re

import numpy as np

from .cells import (
    NEARLY_ALL,
    are_codes,
    is_date,
    is_decorated,
    is_number,
    limit,
    mark_in,
    number,
)
from .problem import DataError, listed

# A nominal column with more different values says who a row is, not what it is like; so does one
# with many values that are rarely met again.
MOST_LEVELS = 50
MANY_LEVELS, ROWS_A_LEVEL = 20, 3
# Its square, and a sum of many, is a number still.
LARGEST = 1e150
# In fewer rows, numbers of one range may be a coincidence.
FEWEST_COUNTED = 10
# Names of columns that say who an object is.
ID_NAME = re.compile(r"(.*[_ .-])?(id|ids|idx|nr|key|uuid|guid|identifier)", re.IGNORECASE)
# As pandas calls, and we call, a first column without a name in the header.
PANDAS_INDEX = "Unnamed: 0"


def is_text(column):
    """Whether a column holds names rather than numbers."""
    from pandas.api.types import is_numeric_dtype

    return not is_numeric_dtype(column)


def select_features(X, notes, numbered=()):
    """Columns that say something, and the names of rows if a column holds them.

    Parameters
    ----------
    X : DataFrame
        Its index counts the rows of the file from 0.
    notes : list of str
        Gets a sentence for each column that is left out.
    numbered : collection of str
        Columns that count the rows of the file.

    Returns
    -------
    X : DataFrame
    names : list of str or None
    """
    names, dropped, empty = None, [], []
    for column in list(X.columns):
        values = X[column]
        if values.isna().all():
            empty.append(column)
        elif is_text(values):
            refuse_numbers_as_text(values)
            why = _no_category(values)
            if names_rows(values):
                names = values.tolist() if names is None else names
                why = "has another text in each row; it names the rows and is not used to classify"
            if why:
                notes.append(f"Column {column!r} {why}.")
                dropped.append(column)
            elif are_codes(values.dropna()):
                notes.append(
                    f"Column {column!r} holds numbers of one length, some behind zeros: codes, "
                    "which are names."
                )
        elif column in numbered:
            names = _as_names(values) if names is None else names
            notes.append(
                f"Column {column!r} counts the rows; it names them and is not used to classify. "
                "If it is a quantity, give it in another unit (times two, say)."
            )
            dropped.append(column)
        elif is_identifier(values):
            names = _as_names(values) if names is None else names
            notes.append(
                f"Column {column!r} has another whole number in each row and is called an "
                "identifier; it names the rows and is not used to classify. If it is a quantity, "
                "give it another name."
            )
            dropped.append(column)
        else:
            check_magnitude(values)
    if empty:
        one = len(empty) == 1
        notes.append(
            f"Column{'s' * (not one)} {listed(map(repr, empty))} {'is' if one else 'are'} empty "
            f"and {'was' if one else 'were'} left out."
        )
    return X.drop(columns=[*dropped, *empty]), names


def names_rows(values):
    """Whether a column of texts has another one in each row."""
    levels = values.nunique()
    return levels == len(values) and levels > 2 and values.notna().all()


def counts_rows(values):
    """Whether a column numbers the rows: all whole numbers of a range, each once.

    Any whole numbers without a repeat do, where the name is that of a pandas index.
    """
    if is_text(values) or len(values) < 3:
        return False
    x = values.to_numpy(dtype=float)
    if not np.isfinite(x).all() or (x % 1).any() or len(np.unique(x)) < len(x):
        return False
    gapless = x.max() - x.min() + 1 == len(x)
    return bool(values.name == PANDAS_INDEX or (gapless and len(x) >= FEWEST_COUNTED))


def is_identifier(values):
    """Whether a column of numbers is called an identifier and has another one in each row."""
    if ID_NAME.fullmatch(str(values.name)) is None or len(values) < FEWEST_COUNTED:
        return False
    x = values.to_numpy(dtype=float)
    return bool(np.isfinite(x).all() and not (x % 1).any() and len(np.unique(x)) == len(x))


def _as_names(values):
    return values.tolist() if is_text(values) else [str(int(v)) for v in values]


def row_names(frame):
    """The column that names the rows, and the names; both None if there is none."""
    for column in frame.columns:
        values = frame[column]
        if is_text(values):
            named = names_rows(values)
        else:
            named = counts_rows(values) or is_identifier(values)
        if named:
            return column, _as_names(values)
    return None, None


def check_magnitude(values):
    """Refuse a column with numbers that are infinite or have no square."""
    large = np.abs(values.to_numpy(dtype=float)) > LARGEST
    if not large.any():
        return
    odd = values[large]
    where = f"in row {odd.index[0] + 1}"
    if np.isinf(odd.iloc[0]):
        raise DataError(f"Column {values.name!r} is infinite {where}; correct or empty such cells.")
    raise DataError(
        f"Column {values.name!r} holds {odd.iloc[0]:g} {where}, too large to be squared; correct "
        "the cell, or give the column in another unit."
    )


def refuse_numbers_as_text(values):
    """Refuse a column of texts that was meant to hold numbers.

    As names, each number would become a column of its own, and what they say would be lost.
    """
    present = values.dropna()
    if all(number(cell) is not None for cell in present):  # codes, such as 00501
        return
    for test in (lambda cell: number(cell) is not None, is_number):  # then with decimal commas
        odd = present[[not test(cell) and limit(cell, True) is None for cell in present]]
        if len(odd) and len(present) - len(odd) >= NEARLY_ALL * len(present):
            more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
            raise DataError(
                f"Column {values.name!r} is numeric but for {_where(odd)}{more}: correct such a "
                "cell, or leave it empty if the number is not known; if the column holds names, "
                "put a letter before its numbers."
            )
    if np.mean([is_number(cell) or is_decorated(cell) for cell in present]) >= NEARLY_ALL:
        odd = present[[number(cell) is None and is_decorated(cell) for cell in present]]
        raise DataError(
            f"Column {values.name!r} holds numbers with {mark_in(odd.iloc[0])}, such as "
            f"{_where(odd)}: write them as plain numbers, with a decimal point if need be."
        )


def _where(cells):
    """The first of some cells, and its row."""
    return f"{cells.iloc[0]!r} in row {cells.index[0] + 1}"


def _no_category(values):
    """Why the texts of a column are no categories, if they are none."""
    present = values.dropna()
    levels = present.nunique()
    if np.mean([is_date(cell) for cell in present]) >= NEARLY_ALL:
        return (
            f"holds dates such as {present.iloc[0]!r} and was left out; turn them into numbers to "
            "use them"
        )
    if levels > MOST_LEVELS or (levels > MANY_LEVELS and levels * ROWS_A_LEVEL > len(present)):
        return (
            f"has {levels} different texts in {len(present)} rows, too many for categories, and "
            "was left out"
        )
    return None
