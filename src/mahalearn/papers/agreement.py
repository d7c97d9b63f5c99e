"""Our numbers beside published ones: the rule of agreement, counts, rank correlations.

The rule has one home, `tolerance`; the papers' conclusions use it too.
"""

import math
from typing import NamedTuple

from ..results import CellSummary, summarise
from .protocol import Published

# A number agrees with another within this many standard errors of their difference …
STANDARD_ERRORS = 2.0
# … plus a slack of one percentage point.
POINT = 1.0
STAND_IN = "stand-in"


def tolerance(ours, other, slack=POINT):
    """2·√(s²/R + s'²/R') + slack: by how much two means may differ.

    Parameters
    ----------
    ours, other : CellSummary or Published
        Each with `std` and `n`.
    slack : float, default=1.0
        What is allowed beside the spread.

    Returns
    -------
    float
        In the unit of the means.

    Examples
    --------
    >>> from mahalearn.papers.agreement import tolerance
    >>> from mahalearn.papers.protocol import Published
    >>> print(f"{tolerance(Published(20, 2, 10), Published(21, 2, 10)):.2f}")
    2.79
    """
    return STANDARD_ERRORS * math.sqrt(ours.std**2 / ours.n + other.std**2 / other.n) + slack


class Compared(NamedTuple):
    """A cell of a table: our number, the published one, and whether they agree (None: not both)."""

    ours: CellSummary | None
    published: Published | None
    allowed: float | None = None
    agrees: bool | None = None
    # Whether this published number led to a convention of ours, so that it tests nothing.
    calibration: bool = False
    # Stand-in data, or another reading of the data: shown, not counted.
    apart: bool = False

    @property
    def difference(self):
        """Ours minus published."""
        return self.ours.mean - self.published.mean


class Count(NamedTuple):
    """How many of some cells agree."""

    agreeing: int
    of: int

    def __add__(self, other):
        return Count(self.agreeing + other.agreeing, self.of + other.of)

    def __sub__(self, other):
        return Count(self.agreeing - other.agreeing, self.of - other.of)

    def __str__(self):
        share = f" ({100 * self.agreeing / self.of:.0f} %)" if self.of else ""
        return f"{self.agreeing} of {self.of}{share}"


def count(cells):
    """The Count of the cells that have both numbers."""
    verdicts = [cell.agrees for cell in cells if cell.agrees is not None]
    return Count(sum(verdicts), len(verdicts))


class ComparedTable(NamedTuple):
    """A whole table: `cells` by (column, line); counts; rank correlations by column."""

    cells: dict
    total: Count
    calibration: Count
    stand_ins: Count
    readings: Count
    correlations: dict
    repetitions: tuple | None
    settings: list
    missing: dict


def compare(rows, table):
    """A table of ours and published.

    Parameters
    ----------
    rows : iterable of Row
        Measured cells.
    table : dict
        See :func:`mahalearn.papers.describe.describe`.

    Returns
    -------
    ComparedTable
        `total` counts all cells of the paper's own and of rebuilt data, those of calibration
        included; `calibration` counts the latter alone.
    """
    rows = [row for row in rows if row.experiment == table["id"]]
    values = table["measure"] == "values"
    readings = table.get("readings", {})
    cells = {}
    for line in table["lines"]:
        found = summarise(rows, line if values else table["measure"])
        by_column = {
            column: summary
            for (_, column, method), summary in found.items()
            if values or method == line
        }
        for column in table["columns"]:
            published = table["published"].get((readings.get(column, column), line))
            ours = by_column.get(column)
            cell = _compared(ours, published, table["slack"].get(line, POINT), values)
            cells[column, line] = cell._replace(
                calibration=(column, line) in table.get("calibration", ()),
                apart=column in readings or (ours is not None and ours.status == STAND_IN),
            )
    measured = [cell for cell in cells.values() if cell.ours is not None]
    counted = [cell for cell in cells.values() if not cell.apart]
    return ComparedTable(
        cells=cells,
        total=count(counted),
        calibration=count(cell for cell in counted if cell.calibration),
        stand_ins=count(
            cell for (column, _), cell in cells.items() if cell.apart and column not in readings
        ),
        readings=count(cell for (column, _), cell in cells.items() if column in readings),
        correlations={
            column: None if values else _correlation([cells[column, m] for m in table["lines"]])
            for column in table["columns"]
        },
        repetitions=_range(cell.ours.n for cell in measured),
        settings=sorted({cell.ours.setting for cell in measured} - {""}),
        missing={
            row.dataset: row.values["missing"]
            for row in rows
            if "missing" in row.values
            and all(cells[row.dataset, m].ours is None for m in table["lines"])
        },
    )


def _compared(ours, published, slack, values):
    if ours is None or published is None:
        return Compared(ours, published)
    # Spreads of measured values are not printed: ours stands for the paper's.
    unprinted = values and not published.std
    other = Published(published.mean, ours.std, published.n) if unprinted else published
    allowed = tolerance(ours, other, slack)
    # A hair of room: a difference that equals the tolerance in decimals counts.
    agrees = abs(ours.mean - published.mean) <= allowed + 1e-9
    return Compared(ours, published, allowed, agrees)


def _range(numbers):
    numbers = sorted(numbers)
    return (numbers[0], numbers[-1]) if numbers else None


def _correlation(cells):
    """Spearman's rank correlation of ours and published; None below three methods."""
    pairs = [(c.ours.mean, c.published.mean) for c in cells if c.agrees is not None]
    if len(pairs) < 3:
        return None
    ours, published = (_ranks(list(side)) for side in zip(*pairs))
    return _pearson(ours, published)


def _ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def _pearson(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    cross = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    norm = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return cross / norm if norm else None
