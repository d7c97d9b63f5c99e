"""Cells of a table, and the roles of its columns.

A cell is a number, nothing, or a text, and a text may stand for something else. A column holds
features, names the rows, or is of no use; its owner is told so. Sentences on what is probably wrong
with a table come last, for its owner to judge.
"""

import re
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from ..words import counted
from .problem import (
    DataError,
    Faults,
    Note,
    alike_notices,
    is_text,
    listed,
    number_blocks,
    text_columns,
)

COMMAS = "Commas within numbers were read as decimal points."
# Errors that a spreadsheet program writes where a formula has no value, in several languages, and
# words of pandas and C.
ERRORS = frozenset(
    ["#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#spill!", "#calc!"]
    + ["#nv", "#wert!", "#bezug!", "#zahl!", "#überlauf!", "#valeur!", "#nom?", "#nombre!"]
    + ["#n/d", "#¡div/0!", "#¡valor!", "#¡ref!", "#¿nombre?", "#¡num!", "#valore!", "#rif!"]
    + ["#div/0 !", "#na", "#n/a n/a", "<na>", "-nan", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind"]
)
MISSING = ERRORS | {"", "na", "n/a", "nan", "nat", "?", "null", "none", "nil", *"-–—−"}
# Words of laboratories for a number that is not known. Among texts they may be categories.
NO_NUMBER = frozenset(
    ["n.d.", "n.d", "n/d", "n.a.", "n.a", "k.a.", "k. a.", "--", "---", ".", "…", "missing"]
    + ["<lod", "<loq", "<ld", "<mdl", "b.d.l.", "bdl", "lod", "loq", "below lod", "unknown"]
    + ["not detected", "not determined", "not measured", "not available"]
)
# A class may well be called none, nil or NA (of a disease, a continent): fewer words are no class.
NO_CLASS = ERRORS | {"", "nan", "?", "null"}
# A column of codes: digits alone, all of one length, some with zeros before them (ZIP codes). Two
# digits may as well be an hour or a month.
SHORTEST_CODE = 3
# So large a share of numbers was meant to be all numbers, so large a share of dates all dates.
NEARLY_ALL = 0.9
_MINUS = "−"  # as typesetting programs write it
COMMA_NUMBER = re.compile(rf"[+{_MINUS}-]?\d*,\d+([eE][+{_MINUS}-]?\d+)?|[+{_MINUS}-]?\d+")
_PLAIN = r"\d+([.,]\d+)?"
_GROUPED = (
    r"\d{1,3}(,\d{2,3})*,\d{3}(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?"
    r"|\d{1,3}([ '’\u00a0\u202f]\d{3})+([.,]\d+)?"
)
# Numbers with this decimal mark, thousands separated by the other one.
GROUPED = {
    mark: re.compile(
        rf"[+{_MINUS}-]?(\d{{1,3}}(\{other}\d{{3}})+|\d+)?(\{mark}\d+)?([eE][+-]?\d+)?(?<=\d)"
    )
    for mark, other in (",.", ".,")
}
# Units of measurement. One of a single letter needs a blank before it: 1A is a code.
_ONE_UNIT = (
    r"(?:[pnuµμmcdhkMGT]?(?:g|m|s|l|L|mol|M|Pa|bar|V|A|W|Hz|J|N|eV|Da|K|Ω|cal|IU|U|S)"
    r"|min|h|d|°\s?C|°\s?F|°|%|‰|ppm|ppb|rpm|dB|bp|mmHg|wt%|vol%|yr|years|€|\$|£)[²³]?(?:\^?-?[123])?"
)
UNIT = re.compile(rf"{_ONE_UNIT}(?:\s?[/·*]\s?{_ONE_UNIT})*")
_QUANTITY = re.compile(
    # Possessive: thousands of digits before no unit are not tried in all ways.
    rf"([+{_MINUS}-]?(?:\d++[.,]?\d*+|[.,]\d++)(?:[eE][+{_MINUS}-]?\d++)?)(\s*+)({UNIT.pattern})"
)
# A number and a text that is no unit above: 9.5 cells/mL, 9.5 ×10^3.
_SUFFIXED = re.compile(rf"[+{_MINUS}-]?\d++([.,]\d++)?\s*+([^\d\s.,:/-].*)")
_SCIENTIFIC = r"\d+([.,]\d*)?([eE][+-]?\d+)?"
_DECORATED = re.compile(
    rf"[+-]?[$€£]?\s*({_GROUPED}|{_PLAIN})\s*[%‰$€£]?"
    r"|[+-]?\d{1,3}(_\d{3})+(\.\d+)?"
    rf"|[+-]?{_SCIENTIFIC}\s*(±|\+/-|\+-)\s*{_SCIENTIFIC}"
    r"|[+-]?(\d+[.,]\d*[dD][+-]?\d+|\d+[dD][+-]\d+)"
)
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([AaPp][Mm]|Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{4}年\d{1,2}月\d{1,2}日"
    # Times of day and durations; 1:10 may be a ratio.
    r"|(\d+ days?,? )?\d{1,3}:[0-5]\d:[0-5]\d([.,]\d+)?|([01]\d|2[0-3]):[0-5]\d"
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
_LIMIT = re.compile(rf"[<>≤≥]=?\s*([+{_MINUS}-]?\d*[.,]?\d+(?:[eE][+{_MINUS}-]?\d+)?)")


def limit(cell, comma=False):
    """The number of a detection limit such as <0.01; None if the cell is none."""
    match = _LIMIT.fullmatch(cell)
    return number(match[1], comma) if match else None


def is_comma_column(cells):
    """True if the numbers of a column have decimal commas, be an odd cell among them or not."""
    if not any("," in cell for cell in cells):
        return False
    plain = [match[1] if (match := _LIMIT.fullmatch(cell)) else cell for cell in cells]
    commas = [cell for cell in plain if "," in cell]
    fits = sum(COMMA_NUMBER.fullmatch(cell) is not None for cell in commas)
    if not fits or fits < NEARLY_ALL * len(commas):
        return False
    # 1.234 beside 0,5 is 1234 in half of the world.
    return not any("." in cell and number(cell) is not None for cell in plain)


def misleading_marks(columns, commas, points=True):
    """Columns whose points or commas may separate thousands, and a cell of each.

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
    marks : list of tuple of int and str
    """
    shown, doubtful, misleading = set(), [], []
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
            misleading.append((i, cell))
    return misleading


def has_decimal_commas(path, cells, delimiter):
    """True if the numbers of a file of numbers have decimal commas; refused if that is doubtful."""
    if delimiter == ",":
        return False
    comma = is_comma_column(cells)
    for _, cell in misleading_marks([cells], [comma]):
        raise DataError(f"{str(path)!r} holds {doubtful_number(cell)}")
    return comma


def doubtful_number(cell):
    """What a cell such as 1.065 may be, and what to do."""
    plain = cell.replace(",", "").replace(".", "")
    decimals = counted(len(re.split("[.,]", cell)[-1]), "decimal")
    return (
        f"{cell!r}: this may be {plain}, or a number with {decimals}. Write such numbers without "
        "separators of thousands."
    )


def is_missing(cell):
    """True if a cell holds nothing, or a word for it."""
    return cell.lower() in MISSING


def quantity(cell):
    """Number and unit of a cell such as 12.3 mg, as texts; None if it is none."""
    match = _QUANTITY.fullmatch(cell)
    if match is None or (not match[2] and len(match[3]) == 1 and match[3].isalpha()):
        return None
    return match[1], "".join(match[3].split()).replace("µ", "μ")  # the sign micro, and the letter


def without_unit(column, name, lines):
    """Cells of a column of numbers with a unit without it, and the unit; None if it is none.

    Parameters
    ----------
    column : sequence of str
        Cells.
    name : str
        Name of the column.
    lines : sequence of int
        Rows of the cells in the file.

    Returns
    -------
    cells : list of str or None
    unit : str or None
    n_bare : int
        Number of the numbers that have none: fewer than half of all.
    """
    none = None, None, 0
    if not any(c[:1].isdigit() and (not c[-1:].isdecimal() or " " in c) for c in column):
        return none
    cells, units, n_bare = [], defaultdict(list), 0
    for cell, line in zip(column, lines):
        parts = quantity(cell)
        cells.append(parts[0] if parts else cell)
        if parts:
            units[parts[1]].append(f"{cell!r} in row {line}")
        elif not is_missing(cell) and cell.lower() not in NO_NUMBER:
            if not is_number(cell):
                return none
            n_bare += 1
    if sum(map(len, units.values())) <= n_bare:
        return none
    if len(units) > 1:
        counts = listed(
            f"{unit!r} ({len(cells)}, such as {cells[0]})" for unit, cells in units.items()
        )
        raise DataError(
            f"Column {name!r} holds numbers in several units: {counts}; write them in one unit."
        )
    return cells, next(iter(units)), n_bare


def number(cell, comma=False, missing=MISSING):
    """A cell as a float, NaN if it is missing, None if it is text."""
    if cell.lower() in missing:
        return np.nan
    if "_" in cell:  # 1_2 is a code; Python alone reads it as 12
        return None
    try:
        return float((cell.replace(",", ".") if comma else cell).replace(_MINUS, "-"))
    except ValueError:
        return None


def is_number(cell):
    """True if a cell that is not missing is a number, with a decimal point or comma."""
    return number(cell) is not None or COMMA_NUMBER.fullmatch(cell) is not None


def is_decorated(cell):
    """True if a cell is a number but for a thousands separator, a sign or an error behind it."""
    return _DECORATED.fullmatch(cell.replace(_MINUS, "-")) is not None


def mark_in(cell):
    """The mark that keeps a decorated cell from being a number, in words."""
    if "%" in cell or "‰" in cell:
        return "a per cent sign"
    if any(sign in cell for sign in "$€£"):
        return "a currency sign"
    if "±" in cell or re.search(r"\+/?-", cell[1:]):
        return "an error (±) after them"
    if "d" in cell.lower():
        return "the exponent D of Fortran"
    if "_" in cell:
        return "underscores"
    return "a comma" if "," in cell else "a thousands separator"


def is_date(cell):
    """True if a cell is a date, a time, or both."""
    return _DATE.fullmatch(cell) is not None or _NAMED_DATE.fullmatch(cell) is not None


def is_padded(cell):
    """True if a cell is a whole number behind zeros: 01 is not 1."""
    return cell[:1] == "0" and len(cell) > 1 and cell.isdecimal()


def loses_digits(value):
    """True if a whole number, or its text, is none that float64 holds: beyond 2**53 most are not.

    An identifier would become that of another object.
    """
    if isinstance(value, str):
        if len(value) < len(str(2**53)) or not value.lstrip("+-").isdecimal():
            return False
        value = int(value) if len(value) < 400 else 10**400
    return abs(value) > 2**53 and (abs(value) >= 10**300 or int(float(value)) != value)


def tidy(column, comma=False):
    """A column of texts as float64, or as objects with None where missing; and what was special.

    Returns
    -------
    values : ndarray
    limits : list of str
        Cells such as <0.01, which were read as the limit.
    words : list of str
        Cells such as n.d., which were read as missing numbers.
    """
    limits, words, values = [], [], _numbers(column)
    if values is None:
        values = [number(cell, comma) for cell in column]
    if any(value is None for value in values) and any(v is not None and v == v for v in values):
        for i, value in enumerate(values):
            if value is None and column[i].lower() in NO_NUMBER:
                values[i] = np.nan
                words.append(column[i])
            elif value is None and (value := limit(column[i], comma)) is not None:
                values[i] = value
                limits.append(column[i])
    if all(value is not None for value in values) and not are_codes(column):
        return np.array(values, dtype=float), limits, words
    return as_written(column), [], []


def _numbers(column):
    """A column of numbers written plainly, None if any cell is not; much faster than `number`."""
    try:
        values = list(map(float, column))
    except ValueError:
        return None
    return None if any("_" in cell for cell in column) else values


def tidy_classes(column, comma=False):
    """Classes as float64 where all are whole numbers, else as they were written."""
    values = [number(cell, comma, NO_CLASS) for cell in column]
    are_whole = all(v is not None and (np.isnan(v) or v.is_integer()) for v in values)
    if are_whole and not any(is_padded(cell) or loses_digits(cell) for cell in column):
        return np.array(values, dtype=float)
    return as_written(column, NO_CLASS)


def written(value):
    """A value as text, None where it is missing; 2.0 is the text 2."""
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_written(column, missing=MISSING):
    """A column of texts as objects, None where missing."""
    return np.array([None if c.lower() in missing else c for c in column], dtype=object)


def are_codes(column):
    """True if numbers are codes: digits of one length, some behind zeros; or too many of them."""
    if max(map(len, column), default=0) >= len(str(2**53)) and any(map(loses_digits, column)):
        return True
    if not any(map(is_padded, column)):
        return False
    present = [cell for cell in column if cell.lower() not in MISSING]
    return (
        all(cell.isdecimal() for cell in present)
        and len(present[0]) >= SHORTEST_CODE
        and len({len(cell) for cell in present}) == 1
    )


# --- columns: features, names of rows, classes ----------------------------------------------------

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
# More different numbers than these, and than this share of the rows, are no classes. Fractions are
# suspected sooner than whole numbers (False, True).
MANY_NUMBERS, QUANTITY = 20, (1 / 10, 1 / 3)


class LeftOut(NamedTuple):
    """A column that is not used to classify.

    Attributes
    ----------
    type : str
        Type of the column: identifier, date, text or empty.
    reason : str
        Why it is left out: the predicate of a sentence.
    remedy : str
        What to do to use it.
    """

    type: str
    reason: str
    remedy: str


COUNTING = LeftOut(
    "identifier",
    "counts the rows; it names them and is not used to classify",
    "If it is a quantity, give it in another unit (times two, say).",
)
CALLED_IDENTIFIER = LeftOut(
    "identifier",
    "has another whole number in each row and is called an identifier; it names the rows and is "
    "not used to classify",
    "If it is a quantity, give it another name.",
)
NAMES_ROWS = LeftOut(
    "identifier",
    "has another text in each row; it names the rows and is not used to classify",
    "If it holds categories, merge those that belong together.",
)
EMPTY = LeftOut("empty", "is empty", "Fill it in, or leave it as it is.")


def select_features(X, notes, numbered=(), faults=None):
    """Columns that say something, names of the rows if a column holds them, and what is left out.

    Parameters
    ----------
    X : DataFrame
        Its index counts the rows of the file from 0.
    notes : list of str
        Gets a sentence for each column that is left out.
    numbered : collection of str
        Columns that count the rows of the file.
    faults : Faults or None
        Takes the problems of all columns.

    Returns
    -------
    X : DataFrame
    names : list of str or None
    left_out : dict of str to LeftOut
    """
    faults, names, left_out = faults or Faults(), None, {}
    numbered, identifiers = set(numbered), set(X.columns[identifier_columns(X)])
    for i in np.flatnonzero(~_plain_numbers(X, numbered | identifiers)):
        column, values = X.columns[i], X.iloc[:, i]
        if values.isna().all():
            reason = EMPTY
        elif is_text(values):
            reason = _not_nominal(values, notes, faults)
        elif column in numbered:
            reason = COUNTING
        elif column in identifiers:
            reason = CALLED_IDENTIFIER
        else:
            reason = None
            with faults.collected():
                check_magnitude(values)
        if reason is not None:
            left_out[column] = reason
            if reason.type == "identifier" and names is None:
                names = _as_names(values)
            if reason is not EMPTY:
                out = "" if reason.type == "identifier" else " and was left out"
                notes.append(f"Column {column!r} {reason.reason}{out}. {reason.remedy}")
    empty = [column for column, reason in left_out.items() if reason is EMPTY]
    if empty:
        one = len(empty) == 1
        notes.append(
            f"Column{'s' * (not one)} {listed(map(repr, empty))} {'is' if one else 'are'} empty "
            f"and {'was' if one else 'were'} left out."
        )
    return X.drop(columns=list(left_out)), names, left_out


def _not_nominal(values, notes, faults):
    """Why a column of texts is no feature, None if it is one."""
    with faults.collected():
        refuse_numbers_as_text(values)
    reason = _no_category(values)
    if names_rows(values) and (reason is None or reason.type != "date"):
        return NAMES_ROWS
    if reason is None and are_codes(values.dropna()):
        long = next(filter(loses_digits, values.dropna()), None)
        what = f"whole numbers of more digits than are kept ({long})" if long else ""
        notes.append(
            f"Column {values.name!r} holds {what or 'zero-padded codes'}; they are treated as "
            "categories."
        )
    return reason


def _plain_numbers(X, special):
    """For each column, whether it is one of numbers that can be used as they are."""
    plain = np.zeros(X.shape[1], dtype=bool)
    for at, V in number_blocks(X):
        fine = ~np.isnan(V).all(axis=0) & ~(np.abs(V) > LARGEST).any(axis=0)
        plain[at] = fine & ~X.columns[at].isin(special)
    return plain


def as_labels(values, column):
    """Classes from a column of texts or numbers: integers where all are whole numbers, else texts.

    Many different numbers are a quantity: more than `MANY_NUMBERS`, and more than a share of the
    rows that is smaller for fractions.
    """
    values = [v.item() if hasattr(v, "item") else v for v in values]
    texts = [str(v).strip() for v in values]
    numbers = [number(text) for text in texts]
    if any(isinstance(v, bool) for v in values) or any(v is None or v != v for v in numbers):
        return np.array(texts)
    are_whole, distinct = all(v.is_integer() for v in numbers), len(set(numbers))
    if distinct > MANY_NUMBERS and distinct > QUANTITY[are_whole] * len(numbers):
        raise DataError(
            f"Column {column!r} holds {distinct} different numbers in {len(numbers)} rows: a "
            "quantity, not a class; name another column, or turn it into classes first.",
            "target",
        )
    if are_whole and not any(isinstance(v, str) for v in values):
        return np.array([int(v) for v in numbers])
    return np.array(texts)


def names_rows(values):
    """True if a column of texts has another one in each row."""
    levels = values.nunique()
    return levels == len(values) and levels > 2 and values.notna().all()


def counting_columns(X):
    """For each column, whether it numbers the rows: all whole numbers of a range, each once.

    Any whole numbers without a repeat do, where the name is that of a pandas index.
    """
    counting = np.zeros(X.shape[1], dtype=bool)
    if len(X) < 3:
        return counting
    for at, V in number_blocks(X):
        gapless = V.max(axis=0) == V.min(axis=0) + len(X) - 1
        gapless &= len(X) >= FEWEST_COUNTED
        counting[at] = _different_whole(V, gapless | (X.columns[at] == PANDAS_INDEX))
    return counting


def identifier_columns(X):
    """For each column, whether it is called an identifier and has another number in each row."""
    identifiers = np.zeros(X.shape[1], dtype=bool)
    if len(X) < FEWEST_COUNTED:
        return identifiers
    named = np.array([ID_NAME.fullmatch(str(name)) is not None for name in X.columns], dtype=bool)
    for at, V in number_blocks(X):
        identifiers[at] = _different_whole(V, named[at])
    return identifiers


def _different_whole(V, candidates):
    """Which candidates among columns hold whole numbers, another one in each row."""
    candidates = candidates & np.isfinite(V).all(axis=0)
    S = np.sort(V[:, candidates], axis=0)
    candidates[candidates] = ~(S % 1).any(axis=0) & (np.diff(S, axis=0) > 0).all(axis=0)
    return candidates


def _as_names(values):
    return values.tolist() if is_text(values) else [str(int(v)) for v in values]


def row_names(frame):
    """The column that names the rows, and the names; both None if there is none."""
    naming = counting_columns(frame) | identifier_columns(frame)
    for i in np.flatnonzero(text_columns(frame)):
        naming[i] = names_rows(frame.iloc[:, i])
    if not naming.any():
        return None, None
    first = int(np.argmax(naming))
    return frame.columns[first], _as_names(frame.iloc[:, first])


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
    if all(number(cell) is not None for cell in present):
        if not any("." in cell for cell in present):  # codes, such as 00501
            return
        raise DataError(
            f"Column {values.name!r} holds numbers that were saved as texts, such as "
            f"{present.iloc[0]!r}; save them as numbers, or the table as CSV."
        )
    for test in (lambda cell: number(cell) is not None, is_number):  # then with decimal commas
        odd = present[[not test(cell) and limit(cell, True) is None for cell in present]]
        if len(odd) and len(present) - len(odd) >= NEARLY_ALL * len(present):
            raise _numeric_but_for(values.name, odd)
    if np.mean([is_number(cell) or is_decorated(cell) for cell in present]) >= NEARLY_ALL:
        odd = present[[number(cell) is None and is_decorated(cell) for cell in present]]
        if not len(odd):  # limits of detection among texts, such as <0.5
            raise _numeric_but_for(values.name, present[[not is_number(c) for c in present]])
        raise DataError(
            f"Column {values.name!r} holds numbers with {mark_in(odd.iloc[0])}, such as "
            f"{cell_places(odd)}: write them as plain numbers, with a decimal point if needed.",
            "decimal" if mark_in(odd.iloc[0]) in ("a comma", "a thousands separator") else None,
        )
    parts = [None if is_date(cell) else _SUFFIXED.fullmatch(cell) for cell in present]
    suffixed = present[[match is not None for match in parts]]
    if (
        len({match[2] for match in parts if match}) == 1
        and present.nunique() > FEWEST_COUNTED
        and any(match[1] for match in parts if match)
        and all(match or is_number(cell) for match, cell in zip(parts, present))
    ):
        raise DataError(
            f"Column {values.name!r} holds numbers with a text behind them, such as "
            f"{cell_places(suffixed)}: write plain numbers, all of one unit."
        )


def _numeric_but_for(name, cells):
    return DataError(
        f"Column {name!r} is numeric except for {cell_places(cells)}: correct such a cell, or "
        "leave it empty if the number is not known; if the column holds names, put a letter "
        "before its numbers.",
        "missing",
    )


def cell_places(cells, most=3):
    """The first of some cells with their rows, and the number of the others."""
    places = ", ".join(f"{cell!r} in row {i + 1}" for i, cell in cells.iloc[:most].items())
    return f"{places} (and {len(cells) - most} more)" if len(cells) > most else places


def _no_category(values):
    """Why the texts of a column are no categories, None if they are."""
    present = values.dropna()
    levels = present.nunique()
    if np.mean([is_date(cell) for cell in present]) >= NEARLY_ALL:
        return LeftOut(
            "date",
            f"holds dates or times such as {present.iloc[0]!r}",
            "Turn them into numbers to use them.",
        )
    if levels > MOST_LEVELS or (levels > MANY_LEVELS and levels * ROWS_A_LEVEL > len(present)):
        return LeftOut(
            "text",
            f"has {levels} different texts in {len(present)} rows, too many for categories",
            "Merge them into fewer categories to use them.",
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
    """Sentences on what is probably wrong with a table of features and its classes.

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
    notes = [*alike_notices(y, "classes")]
    for column in X.columns[text_columns(X)]:
        notes += alike_notices(X[column].dropna(), f"categories of column {column!r},")
    dates = date_columns(X)
    if dates:
        notes.append(
            Note(
                f"Column{'s' * (len(dates) > 1)} {listed(map(repr, dates))} "
                f"{'holds' if len(dates) == 1 else 'hold'} dates or years, as it seems; they are "
                "used as numbers, and may reveal the order in which the data were recorded.",
                "drop",
            )
        )
    notes += stand_in_notices(X)
    codes = np.unique(y, return_inverse=True)[1]
    leaks = telling_columns(X, codes) if len(X) >= FEWEST_ROWS else []
    if leaks:
        notes.append(
            Note(
                f"Each of these columns alone determines the class without an error: "
                f"{listed(map(repr, leaks))}. If it was made from {target!r}, or is known only "
                "together with it, the errors below are too small.",
                "drop",
            )
        )
    owners = [column for column in leaks if is_text(X[column])]
    if owners:
        notes.append(
            Note(
                f"If {listed(map(repr, owners))} names what a row belongs to, such as a patient "
                "or a device, all rows of one patient or device must be in the same part of a "
                "fold.",
                "groups",
            )
        )
    return notes + duplicate_notices(X, y)


def date_columns(X):
    """Columns of numbers that are dates, by `looks_like_dates`."""
    dates = []
    for at, values in number_blocks(X):
        outside = (values < _YEARS[0]) | (values > _LATEST) | (values % 1 > 0)
        for j in np.flatnonzero(~(outside & np.isfinite(values)).any(axis=0)):
            if looks_like_dates(values[:, j], X.columns[at[j]]):
                dates.append(X.columns[at[j]])
    return dates


def looks_like_dates(values, name):
    """True if numbers are dates: 20240131, or years in a column that is called so."""
    present = values[np.isfinite(values)]
    if len(present) < 3 or (present % 1).any() or len(np.unique(present)) < 3:
        return False
    if ((present >= _EARLIEST) & (present <= _LATEST)).all():
        months, days = present // 100 % 100, present % 100
        return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())
    named = _DATE_NAME.fullmatch(str(name)) is not None
    return named and bool(((present >= _YEARS[0]) & (present <= _YEARS[1])).all())


def stand_ins(X):
    """Columns with numbers that probably stand for a missing one: -999 among 1 to 3, say.

    Returns
    -------
    found : list of tuple of str, float and int
        Column, number, and how often it occurs.
    """
    suspects = []
    for at, V in number_blocks(X):
        for j in np.flatnonzero(np.isin(V, STAND_INS).any(axis=0)):
            x = V[np.isfinite(V[:, j]), j]
            for value in np.intersect1d(x, STAND_INS):
                rest = x[x != value]
                if len(rest) > 2:
                    away = max(rest.min() - value, value - rest.max())
                    if away > max(0, FAR * np.ptp(rest)):
                        suspects.append((X.columns[at[j]], value, len(x) - len(rest)))
    return suspects


def stand_in_notices(X):
    """Sentences on numbers that probably stand for missing ones."""
    for column, value, times in stand_ins(X):
        yield Note(
            f"Column {column!r} holds {value:g} {counted(times, 'time')}, far from its other "
            "numbers; it is used as a number. Empty such cells if it stands for a missing one."
        )


def telling_columns(X, y):
    """Columns that alone tell the class of every row: by their names, or by one interval each."""
    n_classes = len(np.unique(y))
    if n_classes < 2:
        return []
    tells = np.zeros(X.shape[1], dtype=bool)
    for i in np.flatnonzero(text_columns(X)):
        values = X.iloc[:, i]
        levels = values.nunique()
        few = levels <= len(y) / 4 and values.notna().all()
        tells[i] = few and len(set(zip(values, y))) == levels
    by_class = np.argsort(y, kind="stable")
    for at, V in number_blocks(X):
        V = V[by_class]
        order = np.argsort(V, axis=0, kind="stable")  # equal numbers in the order of their classes
        changes = np.diff(y[by_class][order], axis=0) != 0
        steps = np.diff(np.take_along_axis(V, order, axis=0), axis=0) > 0
        tells[at] = (
            np.isfinite(V).all(axis=0)
            & (changes.sum(axis=0) == n_classes - 1)
            & (steps | ~changes).all(axis=0)
        )
    return X.columns[tells].tolist()


def duplicate_notices(X, y):
    """Rows that occur more than once, with one class or with several."""
    texts = text_columns(X)
    block = np.ascontiguousarray(X.loc[:, ~texts].to_numpy(dtype=float))
    texts = X.loc[:, texts].to_numpy(dtype=object).tolist()
    features = [(values.tobytes(), *words) for values, words in zip(block, texts)]
    different = set(zip(features, np.asarray(y).tolist()))
    again = len(X) - len(different)
    notes = []
    if 0 < again <= len(X) / 2:  # more than that are rows of few possible values
        notes.append(
            Note(
                f"{counted(again, 'row')} {'is' if again == 1 else 'are'} equal to an earlier one, "
                "class included; where they are copies, errors of a cross-validation are too small."
            )
        )
    classes = Counter(row for row, _ in different)
    clash = sum(times for times in classes.values() if times > 1)
    if clash:
        notes.append(
            Note(
                f"{counted(clash, 'different row')} {'has' if clash == 1 else 'have'} the features "
                "of a row of another class: no classifier can tell them apart."
            )
        )
    return notes
