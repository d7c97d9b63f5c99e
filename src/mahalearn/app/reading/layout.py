"""Rows of cells as people lay them out: titles, a header, units, headers again, totals."""

import re
from collections import Counter
from dataclasses import dataclass, field

from ..words import counted
from .columns import GROUPED, NO_NUMBER, UNIT, is_missing, is_number, number
from .problem import DataError, Faults, Note, listed
from .source import MOST_TITLES

# First cells of rows that sum up a table.
SUMMARIES = frozenset(
    ["total", "totals", "subtotal", "sum", "sums", "mean", "means", "average", "averages", "median"]
    + ["sd", "stdev", "std", "min", "max", "minimum", "maximum", "count", "n"]
    + ["summe", "mittel", "mittelwert", "gesamt"]
)
# Rows at the end of a table among which summaries are looked for.
MOST_SUMMARIES = 10
_BRACKETS = re.compile(r"[\[(](.*)[\])]")


@dataclass(frozen=True)
class TableFormat:
    """How a text file or a sheet is written, where it is not to be detected.

    Attributes
    ----------
    header : bool or None
        True if the first line holds names of columns; detected if None.
    sheet : str or None
        Sheet of a workbook, by name or number from 1.
    skip : int or None
        Number of lines above the header; detected if None.
    missing : str or None
        Words for missing cells beside the usual ones, separated by commas.
    decimal : {".", ","} or None
        Decimal mark; the other one then separates thousands. Detected if None.
    """

    header: bool | None = None
    sheet: str | None = None
    skip: int | None = None
    missing: str | None = None
    decimal: str | None = None

    def __post_init__(self):
        if self.decimal not in (None, ".", ","):
            raise DataError(
                f"The decimal mark must be a point or a comma; got {self.decimal!r}.", "decimal"
            )

    @property
    def words(self):
        """Words for missing cells beside the usual ones."""
        return [word.strip() for word in (self.missing or "").split(",") if word.strip()]

    def asked(self):
        """Names of the options that differ from their defaults."""
        return [
            name for name, default in vars(TableFormat()).items() if vars(self)[name] != default
        ]


@dataclass
class Grid:
    """Rows of cells, and the number of each row in its file.

    Attributes
    ----------
    file : str
        Name of the file.
    rows : list of list of str
        Cells.
    lines : list of int
        Number of each row in the file, from 1.
    notes : list of str
        Sentences on what was decided.
    faults : Faults
        Errors.
    names : list of str or None
        Header, once it is known.
    """

    file: str
    rows: list
    lines: list
    notes: list
    faults: Faults = field(default_factory=Faults)
    names: list | None = None

    @property
    def width(self):
        """Number of cells that most rows have."""
        return Counter(map(len, self.rows)).most_common(1)[0][0]

    def columns(self):
        """Cells of each column below the header."""
        return list(zip(*self.rows)) if self.rows else [()] * len(self.names)

    def remove(self, positions, sentence=None):
        """Leave rows out, and say so."""
        self.notes += [sentence] if sentence else []
        keep = sorted(set(range(len(self.rows))) - set(positions))
        self.rows = [self.rows[i] for i in keep]
        self.lines = [self.lines[i] for i in keep]

    def mark_missing(self, words):
        """Empty the cells that hold one of the words."""
        words = {word.lower() for word in words}
        if words:
            self.rows = [["" if c.lower() in words else c for c in row] for row in self.rows]

    def set_decimal(self, mark):
        """Write numbers with this decimal mark and thousands separated by the other one plainly."""
        other = "." if mark == "," else ","
        doubtful = re.compile(rf"[+-]?\d+\{other}\d+")
        for line, row in zip(self.lines, self.rows):
            for j, cell in enumerate(row):
                if GROUPED[mark].fullmatch(cell):
                    row[j] = cell.replace(other, "").replace(mark, ".")
                elif doubtful.fullmatch(cell):
                    self.faults.add(
                        f"Row {line}, column {j + 1} of {self.file!r} holds {cell!r}, but "
                        f"{mark!r} is the decimal mark; correct the cell.",
                        "decimal",
                    )

    def drop_titles(self):
        """Leave out title lines above the header.

        A title has less than half of the cells that the table has columns, and below it, after
        other such lines perhaps, stands a row of names: filled, and no number among them.
        """
        width = self.width
        if width < 2:
            return
        start = 0
        for row in self.rows[: MOST_TITLES + 1]:
            filled = [cell for cell in row if cell]
            if len(row) in (width, width - 1) and len(filled) > width / 2:
                break
            if len(filled) > max(1, width / 2):
                return
            start += 1
        else:
            return
        if start and len(row) == width and all(number(c) is None or c == "" for c in filled):
            title = " ".join(filter(None, self.rows[0]))
            self.remove(
                range(start),
                f"{counted(start, 'line')} above the header {'was' if start == 1 else 'were'} "
                f"skipped: {title!r}{' …' if start > 1 else '.'}",
            )

    def fit_header(self):
        """Bring a header that is one cell shorter or longer than the rows to their width.

        A delimiter at the end of the rows, or of the header, makes an empty cell; and names of rows
        that stand below no name shift a header.
        """
        header, below = self.rows[0], self.rows[1:]
        width, firsts = self.width, [row[0] for row in below]
        if {len(row) for row in below} != {width}:
            return
        if len(header) == width + 1 and header[-1] == "":
            self.rows[0] = header[:-1]
        elif len(header) == width - 1 and not any(row[-1] for row in below):
            self.rows[0] = [*header, ""]
        elif len(header) == width - 1 and len(set(firsts)) == len(firsts):
            self.notes.append(
                f"The first line has {counted(width - 1, 'cell')}, all others have {width}: its "
                f"names are those of the columns from the second on ({header[0]!r} names the "
                "second), as in files of R. If a delimiter is missing there, insert it."
            )
            self.rows[0] = ["", *header]

    def refuse_ragged(self, width):
        """Record all rows with another number of cells, and go on without them."""
        ragged = [i for i, row in enumerate(self.rows) if len(row) != width]
        if not ragged:
            return
        first, cells = self.lines[ragged[0]], counted(len(self.rows[ragged[0]]), "cell")
        others = listed(f"{self.lines[i]} ({len(self.rows[i])})" for i in ragged[1:])
        error = DataError(
            f"Line {first} of {self.file!r} has {cells}, most have {width}"
            + (f"; others with their cells: {others}" if others else "")
            + "; check delimiters and quotes.",
            "skip" if first <= MOST_TITLES else None,
        )
        if ragged[0] == 0 and self.names is None:  # without its header a file cannot be read on
            raise error
        self.faults.errors.append(error)
        self.remove(ragged)

    def has_header(self, comma):
        """True if the first row holds names: nothing in it is a number."""
        first = [number(cell, comma) for cell in self.rows[0]]
        if any(value is not None and value == value for value in first):
            return False
        if any(number(cell, comma) is not None for row in self.rows[1:50] for cell in row):
            return True
        # Text throughout: a header's names are not met again below them.
        return all(len(set(column)) > len(set(column[1:])) for column in zip(*self.rows))

    def names_target(self, find):
        """True if the first row holds the name of the target, which no row below has in its column.

        Names of other columns may be numbers: wavelengths of spectra.
        """
        if find is None or len(self.rows) < 2:
            return False
        first = self.rows[0]
        try:  # a column that is given by its number is another one if they are shifted
            name = find(first)
            if name != find(first[1:] + first[:1]) or name is None or number(name) is not None:
                return False
        except DataError:
            return False
        j = first.index(name)
        return all(row[j] != name for row in self.rows[1:]) and len(set(first)) == len(first)

    def split_header(self, header, find, comma):
        """Take the names of the columns from the first row; True if it holds them."""
        named = header if header is not None else self.has_header(comma)
        if header is None and not named and self.names_target(find):
            named = True
            self.notes.append(
                Note("The first line holds the name of the target: it was read as names.", "header")
            )
        if named:
            self.names, self.rows, self.lines = self.rows[0], self.rows[1:], self.lines[1:]
        else:
            self.names = [f"column {j + 1}" for j in range(self.width)]
            self.notes.append(
                Note(
                    f"The file has no header: its columns are called {self.names[0]!r} to "
                    f"{self.names[-1]!r}.",
                    "header",
                )
            )
        return named

    def drop_repeated(self, header):
        """Leave out rows that repeat the header, as in pages printed one below the other."""
        again = [i for i, row in enumerate(self.rows) if row == header]
        if again:
            self.remove(
                again,
                f"{counted(len(again), 'row')} that {'repeats' if len(again) == 1 else 'repeat'} "
                f"the header {'was' if len(again) == 1 else 'were'} left out: row "
                f"{listed(self.lines[i] for i in again)}.",
            )

    def drop_units(self):
        """Leave out a row of units below the header: words in each column of numbers.

        Any words do above two columns of numbers, or more. A word that is met again in its column
        is no unit.
        """
        if len(self.rows) < 2 or any(map(_is_plain, self.rows[0])):
            return
        first, below = self.rows[0], self.rows[1:]
        columns = list(zip(*below[:50]))
        units = [cell for cell, column in zip(first, columns) if _holds_numbers(column)]
        words = [(j, cell) for j, cell in enumerate(first) if not is_missing(cell)]
        if (
            units
            and not any(map(is_missing, units))
            and (len(units) > 1 or _is_unit(units[0]))
            and not any(row[j] == cell for j, cell in words for row in below)
        ):
            self.remove(
                [0],
                f"Row {self.lines[0]} holds units and was left out: "
                f"{listed(cell for _, cell in words)}.",
            )

    def drop_summaries(self):
        """Leave out totals and means below the table."""
        start = len(self.rows)
        while start > max(1, len(self.rows) - MOST_SUMMARIES) and _sums_up(self.rows[start - 1]):
            start -= 1
        words = {_first_word(row) for row in self.rows[start:]}
        if words and not any(_first_word(row) in words for row in self.rows[:start]):
            what = listed(repr(_first_word(row)) for row in self.rows[start:])
            self.remove(
                range(start, len(self.rows)),
                f"{counted(len(self.rows) - start, 'row')} below the table (row "
                f"{listed(self.lines[start:])}: {what}) sums it up and was left out.",
            )


def _is_plain(cell):
    return is_number(cell) and not is_missing(cell)


def _holds_numbers(column):
    present = [c for c in column if not is_missing(c) and c.lower() not in NO_NUMBER]
    return len(present) > 0 and all(map(is_number, present))


def _is_unit(cell):
    inside = _BRACKETS.fullmatch(cell)
    return UNIT.fullmatch(inside[1].strip() if inside else cell) is not None


def _first_word(row):
    return next((cell for cell in row if cell), "").rstrip(":").strip().casefold()


def _sums_up(row):
    return _first_word(row) in SUMMARIES
