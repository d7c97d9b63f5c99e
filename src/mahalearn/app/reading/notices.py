"""Sentences on what is probably wrong with a table, for its owner to judge."""

import re
from collections import defaultdict

import numpy as np

from ..words import counted
from .columns import is_text
from .problem import Note, listed

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
