"""What a cell of a table says: a number, nothing, or a text; and what a text may stand for."""

import re

import numpy as np

MISSING = frozenset(["", "na", "n/a", "nan", "?", "null", "none", "nil", "-", "#n/a"])
# A class may well be called none, nil or NA (of a disease, a continent): fewer words are no class.
NO_CLASS = frozenset(["", "nan", "?", "null", "#n/a"])
# A column of codes: digits alone, all of one length, some with zeros before them (ZIP codes). Two
# digits may as well be an hour or a month.
SHORTEST_CODE = 3
# So large a share of numbers was meant to be all numbers, so large a share of dates all dates.
NEARLY_ALL = 0.9
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+")
_PADDED = re.compile(r"0\d+")
_PLAIN = r"\d+([.,]\d+)?"
_GROUPED = (
    r"\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?"
    r"|\d{1,3}([ '’\u00a0\u202f]\d{3})+([.,]\d+)?"
)
_DECORATED = re.compile(rf"[+-]?[$€£]?\s*({_GROUPED}|{_PLAIN})\s*[%‰$€£]?")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)


_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez"
_NAMED_DATE = re.compile(
    rf"(\d{{1,2}}\.?[ -](?:{_MONTHS})[a-z]*\.?,?[ -]\d{{2,4}}"
    rf"|(?:{_MONTHS})[a-z]*\.? \d{{1,2}},? \d{{4}})",
    re.IGNORECASE,
)
# 1.065 or 1,065: a number with thousands separated, or one with three decimals.
_THOUSANDS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+") for mark in ".,"}
# Beyond what an instrument can tell: "<0.01", "≥ 500".
_LIMIT = re.compile(r"[<>≤≥]=?\s*([+-]?\d*[.,]?\d+(?:[eE][+-]?\d+)?)")


def limit(cell, comma=False):
    """The number of a detection limit such as <0.01; None if the cell is none."""
    found = _LIMIT.fullmatch(cell)
    return number(found[1], comma) if found else None


def is_comma_column(cells):
    """Whether the numbers of a column have decimal commas, be an odd cell among them or not."""
    plain = [found[1] if (found := _LIMIT.fullmatch(cell)) else cell for cell in cells]
    commas = [cell for cell in plain if "," in cell]
    fits = sum(COMMA_NUMBER.fullmatch(cell) is not None for cell in commas)
    if not fits or fits < NEARLY_ALL * len(commas):
        return False
    # 1.234 beside 0,5 is 1234 in half of the world.
    return not any("." in cell and number(cell) is not None for cell in plain)


def misleading_mark(columns, commas, points=True):
    """The first column whose points or commas may separate thousands, and a cell of it.

    735 and 1.065 in one column may be 735 and 1065. A cell shows what its mark means if it can have
    one meaning only: 12.77 has a decimal point, 0,5 a decimal comma.

    Parameters
    ----------
    columns : list of sequence of str
        Cells of each column.
    commas : list of bool
        Whether each column is about to be read with decimal commas.
    points : bool
        Whether points may be other than decimal: not in a workbook, nor where commas delimit.

    Returns
    -------
    found : tuple of int and str, or None
    """
    shown, doubtful = set(), []
    for i, (column, comma) in enumerate(zip(columns, commas)):
        mark = "," if comma else "."
        marked = (cell for cell in column if mark in cell and number(cell, comma) is not None)
        grouped = []
        for cell in marked:
            if _THOUSANDS[mark].fullmatch(cell) is None:
                shown.add(mark)
                break
            grouped.append(cell)
        else:
            if grouped:
                hundreds = any(cell.isdecimal() and len(cell) == 3 for cell in column)
                doubtful.append((i, mark, grouped[0], hundreds and len(grouped) > 1))
    for i, mark, cell, hundreds in doubtful:
        if mark == "." and not points:
            continue
        other = {".": ",", ",": "."}[mark]
        if other in shown or (mark not in shown and hundreds):
            return i, cell
    return None


def number(cell, comma=False, missing=MISSING):
    """A cell as a float, NaN if it is missing, None if it is text."""
    if cell.lower() in missing:
        return np.nan
    if "_" in cell:  # 1_2 is a code; Python alone reads it as 12
        return None
    try:
        return float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return None


def is_number(cell):
    """Whether a cell that is not missing is a number, with a decimal point or comma."""
    return number(cell) is not None or COMMA_NUMBER.fullmatch(cell) is not None


def is_decorated(cell):
    """Whether a cell is a number but for a thousands separator, a per cent or a currency sign."""
    return _DECORATED.fullmatch(cell) is not None


def mark_in(cell):
    """What keeps a decorated cell from being a number, in words."""
    if "%" in cell or "‰" in cell:
        return "a per cent sign"
    if any(sign in cell for sign in "$€£"):
        return "a currency sign"
    return "a comma" if "," in cell else "a thousands separator"


def is_date(cell):
    """Whether a cell is a date, perhaps with a time."""
    return _DATE.fullmatch(cell) is not None or _NAMED_DATE.fullmatch(cell) is not None


def is_padded(cell):
    """Whether a cell is a whole number behind zeros: 01 is not 1."""
    return _PADDED.fullmatch(cell) is not None


def tidy(column, comma=False):
    """A column of texts as float64, or as objects with None where missing; and its limits.

    Returns
    -------
    values : ndarray
    limits : list of str
        Cells such as <0.01, which were read as the limit.
    """
    values = [number(cell, comma) for cell in column]
    limits = []
    if any(value is None for value in values) and any(v is not None and v == v for v in values):
        for i, value in enumerate(values):
            if value is None and (value := limit(column[i], comma)) is not None:
                values[i] = value
                limits.append(column[i])
    if all(value is not None for value in values) and not are_codes(column):
        return np.array(values, dtype=float), limits
    return as_written(column), []


def tidy_classes(column, comma=False):
    """Classes as float64 where all are whole numbers, else as they were written."""
    values = [number(cell, comma, NO_CLASS) for cell in column]
    whole = all(value is not None and (np.isnan(value) or value.is_integer()) for value in values)
    if whole and not any(map(is_padded, column)):
        return np.array(values, dtype=float)
    return as_written(column, NO_CLASS)


def as_written(column, missing=MISSING):
    """A column of texts as objects, None where missing."""
    return np.array([None if c.lower() in missing else c for c in column], dtype=object)


def are_codes(column):
    """Whether numbers are codes: digits of one length, some behind zeros."""
    if not any(map(is_padded, column)):
        return False
    present = [cell for cell in column if cell.lower() not in MISSING]
    return (
        all(cell.isdecimal() for cell in present)
        and len(present[0]) >= SHORTEST_CODE
        and len({len(cell) for cell in present}) == 1
    )
