"""Which columns of a table are features, which name its rows, and which nobody should use.

And sentences on what is probably wrong with a table, for its owner to judge.
"""

import re
from collections import defaultdict

import numpy as np

from ..words import counted
from .cells import NEARLY_ALL, are_codes, is_date, is_decorated, is_number, limit, mark_in, number
from .problem import DataError, Note, listed

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
                    f"Column {column!r} holds zero-padded codes; they are treated as categories."
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


# --- what is probably wrong with a table ----------------------------------------------------------

_DATE_NAME = re.compile(r"(.*[_ .-])?(date|datum|time|timestamp|year|jahr)", re.IGNORECASE)
# Fewer rows show a coincidence.
FEWEST_ROWS = 20
_EARLIEST, _LATEST = 19000101, 21001231
_YEARS = (1800, 2100)
# Numbers that are written where none is known, and how many ranges away from the others they lie.
STAND_INS = (-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999)
FAR = 3.0


def table_notices(X, y, target):
    """What is probably wrong with a table of features and its classes.

    Parameters
    ----------
    X : DataFrame
        Features.
    y : ndarray
        Classes.
    target : str
        Name of the column of classes.

    Returns
    -------
    notes : list of Note
    """
    notes = [*class_notices(y)]
    dates = [column for column in X.columns if looks_like_dates(X[column])]
    if dates:
        notes.append(
            Note(
                f"Column{'s' * (len(dates) > 1)} {listed(map(repr, dates))} "
                f"{'holds' if len(dates) == 1 else 'hold'} dates or years, as it seems; they are "
                "used as numbers, and may stand for the order in which data were taken.",
                "drop",
            )
        )
    for column, value, times in stand_ins(X):
        notes.append(
            Note(
                f"Column {column!r} holds {value:g} {counted(times, 'time')}, far from its other "
                "numbers; it is used as a number. Empty such cells if it stands for a missing one."
            )
        )
    codes = np.unique(y, return_inverse=True)[1]
    leaks = [c for c in X.columns if tells_class(X[c], codes)] if len(X) >= FEWEST_ROWS else []
    if leaks:
        notes.append(
            Note(
                f"Each of these columns alone tells the class without an error: "
                f"{listed(map(repr, leaks))}. If it was made from {target!r}, or is known only "
                "together with it, the errors below are too small.",
                "drop",
            )
        )
    return notes + duplicate_notices(X, y)


def class_notices(y):
    """Classes that differ in case or blanks only."""
    alike = defaultdict(list)
    for label in dict.fromkeys(map(str, y)):
        alike["".join(label.casefold().split())].append(label)
    for labels in alike.values():
        if len(labels) > 1:
            yield Note(
                f"The classes {listed(map(repr, labels))} differ in case or blanks only and count "
                "as different; write them alike if they are one."
            )


def looks_like_dates(values):
    """Whether numbers are dates: 20240131, or years in a column that is called so."""
    if is_text(values):
        return False
    present = values.to_numpy(dtype=float)
    present = present[np.isfinite(present)]
    if len(present) < 3 or (present % 1).any() or len(np.unique(present)) < 3:
        return False
    if ((present >= _EARLIEST) & (present <= _LATEST)).all():
        months, days = present // 100 % 100, present % 100
        return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())
    named = _DATE_NAME.fullmatch(str(values.name)) is not None
    return named and bool(((present >= _YEARS[0]) & (present <= _YEARS[1])).all())


def stand_ins(X):
    """Columns with numbers that probably stand for a missing one: -999 among 1 to 3, say.

    Returns
    -------
    found : list of tuple of str, float and int
        Column, number, and how often it occurs.
    """
    found = []
    for column in X.columns:
        if is_text(X[column]):
            continue
        x = X[column].to_numpy(dtype=float)
        x = x[np.isfinite(x)]
        for value in STAND_INS:
            times, rest = int((x == value).sum()), x[x != value]
            if times and len(rest) > 2:
                low, high = rest.min(), rest.max()
                away = max(low - value, value - high)
                if away > FAR * (high - low) and away > 0:
                    found.append((column, value, times))
    return found


def tells_class(values, y):
    """Whether one column tells the class of every row: by its names, or by one interval each."""
    y = np.asarray(y)
    n_classes = len(np.unique(y))
    if is_text(values):
        if values.isna().any():
            return False
        pairs = set(zip(values, y))
        levels = values.nunique()
        return len(pairs) == levels and levels <= len(y) / 4 and n_classes > 1
    x = values.to_numpy(dtype=float)
    if not np.isfinite(x).all():
        return False
    if n_classes < 2:
        return False
    order = np.lexsort([y, x])
    changes = np.flatnonzero(y[order][1:] != y[order][:-1])
    return len(changes) == n_classes - 1 and bool((np.diff(x[order])[changes] > 0).all())


def duplicate_notices(X, y):
    """Rows that occur more than once, with one class or with several."""
    numbers = [column for column in X.columns if not is_text(X[column])]
    block = np.ascontiguousarray(X[numbers].to_numpy(dtype=float))
    texts = X.drop(columns=numbers).to_numpy(dtype=object).tolist()
    classes = defaultdict(list)  # of each row of features
    for values, words, label in zip(block, texts, np.asarray(y).tolist()):
        classes[values.tobytes(), tuple(words)].append(label)
    again = sum(len(labels) - len(set(labels)) for labels in classes.values())
    notes = []
    if 0 < again <= len(X) / 2:  # more than that are rows of few possible values
        notes.append(
            Note(
                f"{counted(again, 'row')} {'is' if again == 1 else 'are'} equal to an earlier one, "
                "class included; where they are copies, errors of a cross-validation are too small."
            )
        )
    clash = sum(len(set(labels)) for labels in classes.values() if len(set(labels)) > 1)
    if clash:
        notes.append(
            Note(
                f"{counted(clash, 'different row')} {'has' if clash == 1 else 'have'} the features "
                "of a row of another class: no classifier can tell them apart."
            )
        )
    return notes
