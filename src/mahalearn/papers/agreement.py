"""Our numbers beside published ones: the rule of agreement, chance rates, rank correlations.

The rule has one home, `tolerance`. A count says little without its chance rate: the share of its
cells that would agree if another published number of the same kind stood there.
"""

import math
import statistics
from typing import NamedTuple

from .experiment import Published
from .rows import CellSummary, summarise

# A number agrees with another within this many standard errors of their difference …
STANDARD_ERRORS = 2.0
# … plus a slack: a share of the published error, at most one percentage point.
POINT, SHARE = 1.0, 0.1
STAND_IN = "stand-in"


def tolerance(ours, other, slack=None):
    """2·√(s²/R + s'²/R') + slack: by how much two means may differ.

    Parameters
    ----------
    ours, other : CellSummary or Published
        Each with `std` and `n`.
    slack : float, default=None
        Allowance beside the spread; None for errors in percent: the smaller of one point and a
        tenth of `other`.

    Returns
    -------
    float
        In the unit of the means.

    Examples
    --------
    >>> from mahalearn.papers.agreement import tolerance
    >>> from mahalearn.papers.experiment import Published
    >>> print(f"{tolerance(Published(20, 2, 10), Published(21, 2, 10)):.2f}")
    2.79
    >>> print(f"{tolerance(Published(5, 0, 10), Published(4, 0, 10)):.2f}")
    0.40
    """
    slack = min(POINT, SHARE * other.mean) if slack is None else slack
    return STANDARD_ERRORS * math.sqrt(ours.std**2 / ours.n + other.std**2 / other.n) + slack


class Compared(NamedTuple):
    """A cell of a table: our number, the published one, and their agreement (None: not both)."""

    ours: CellSummary | None
    published: Published | None
    allowed: float | None = None
    agrees: bool | None = None
    # Published numbers of other methods: (mean, difference from ours / tolerance) of each.
    alternatives: tuple = ()
    # Share of the alternatives that would agree with ours.
    chance: float = 0.0
    # True if this published number led to a convention of ours, so that it tests nothing.
    calibration: bool = False
    # Stand-in data, or another reading of the data: shown, not counted.
    apart: bool = False

    @property
    def difference(self):
        """Ours minus published."""
        return self.ours.mean - self.published.mean

    @property
    def ratio(self):
        """Difference over tolerance: the numbers agree up to 1."""
        # A hair of room: a difference that equals the tolerance in decimals counts.
        return abs(self.difference) / (self.allowed + 1e-9)


class Count(NamedTuple):
    """Number of cells that agree, of how many, and how many are expected to agree by chance."""

    agreeing: int
    of: int
    by_chance: float = 0.0

    def __add__(self, other):
        return Count(*(a + b for a, b in zip(self, other)))

    def __str__(self):
        if not self.of:
            return "none"
        agreeing, chance = (100 * n / self.of for n in (self.agreeing, self.by_chance))
        return f"{self.agreeing} of {self.of} ({agreeing:.0f} %; by chance {chance:.0f} %)"


def count(cells):
    """The Count of the cells that have both numbers."""
    judged = [cell for cell in cells if cell.agrees is not None]
    agreeing = sum(cell.agrees for cell in judged)
    return Count(agreeing, len(judged), sum(cell.chance for cell in judged))


class RankCorrelation(NamedTuple):
    """Spearman's rank correlation with a 95 % interval."""

    value: float
    low: float
    high: float


class ComparedTable(NamedTuple):
    """A table: `cells` by (column, line); counts; rank correlations by column."""

    cells: dict
    test: Count
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
        `test` counts the cells of the paper's own and of rebuilt data without those of
        calibration, which `calibration` counts.
    """
    rows = [row for row in rows if row.experiment == table["id"]]
    readings = table.get("readings", {})
    cells = _cells(rows, table, readings)
    measured = [cell for cell in cells.values() if cell.ours is not None]
    counted = [cell for cell in cells.values() if not cell.apart]
    return ComparedTable(
        cells=cells,
        test=count(cell for cell in counted if not cell.calibration),
        calibration=count(cell for cell in counted if cell.calibration),
        stand_ins=count(
            cell for (column, _), cell in cells.items() if cell.apart and column not in readings
        ),
        readings=count(cell for (column, _), cell in cells.items() if column in readings),
        correlations={
            column: None
            if table["measure"] == "values"
            else rank_correlation([cells[column, line] for line in table["lines"]])
            for column in table["columns"]
        },
        repetitions=_range(cell.ours.n for cell in measured),
        settings=sorted({cell.ours.setting for cell in measured} - {""}),
        missing={
            row.dataset: row.values["missing"]
            for row in rows
            if "missing" in row.values
            and all(cells[row.dataset, line].ours is None for line in table["lines"])
        },
    )


def _cells(rows, table, readings):
    values = table["measure"] == "values"
    cells = {}
    for line in table["lines"]:
        summaries = summarise(rows, line if values else table["measure"])
        by_column = {
            column: summary
            for (_, column, method), summary in summaries.items()
            if values or method == line
        }
        for column in table["columns"]:
            origin, ours = readings.get(column, column), by_column.get(column)
            published = table["published"].get((origin, line))
            others = _alternatives(table, origin, line)
            cell = _compared(ours, published, others, table["slack"].get(line), values)
            if cell.agrees is not None and table.get("chance"):
                cell = cell._replace(chance=table["chance"](rows, column, line))
            cells[column, line] = cell._replace(
                calibration=(column, line) in table.get("calibration", ()),
                apart=column in readings or (ours is not None and ours.status == STAND_IN),
            )
    return cells


def _alternatives(table, column, line):
    """Published numbers that might stand in a cell by mistake.

    Those of the other methods on the same data set. A measured value (a spectrum, a weight) has no
    method: there, the same value of the other data sets.
    """
    same = 1 if table["measure"] == "values" else 0
    place = (column, line)
    group = [key for key in table["published"] if key[same] == place[same]]
    if place not in group:
        return []
    at = group.index(place)
    return [table["published"][key] for key in (*group[at + 1 :], *group[:at])]


def _compared(ours, published, others, slack, values):
    if ours is None or published is None:
        return Compared(ours, published)

    def allowed(other):
        # Spreads of measured values are not printed: ours stands for the paper's.
        unprinted = values and not other.std
        return tolerance(ours, other._replace(std=ours.std) if unprinted else other, slack)

    def compared(other):
        return Compared(ours, other, allowed(other))

    alternatives = tuple((other.mean, compared(other).ratio) for other in others)
    chance = sum(ratio <= 1 for _, ratio in alternatives) / len(others) if others else 0.0
    cell = compared(published)
    return cell._replace(agrees=cell.ratio <= 1, alternatives=alternatives, chance=chance)


def _range(numbers):
    numbers = sorted(numbers)
    return (numbers[0], numbers[-1]) if numbers else None


def rank_correlation(cells):
    """Spearman's rank correlation of ours and published, with an interval.

    The interval is that of Bonett and Wright (2000): tanh(artanh ρ ± 1.96·√((1 + ρ²/2)/(n − 3))).
    A correlation of ±1 enters it as the next one that n ranks can have, 1 − 12/(n³ − n).

    Parameters
    ----------
    cells : list of Compared
        The methods of a column.

    Returns
    -------
    RankCorrelation or None
        None below four methods, or if all methods of a side have one error.
    """
    pairs = [(c.ours.mean, c.published.mean) for c in cells if c.agrees is not None]
    n = len(pairs)
    if n < 4:
        return None
    try:
        value = statistics.correlation(*(_ranks(side) for side in zip(*pairs)))
    except statistics.StatisticsError:
        return None
    most = 1 - 12 / (n**3 - n)
    inner = max(-most, min(most, value))
    half = 1.96 * math.sqrt((1 + inner**2 / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inner) + side * half) for side in (-1, 1))
    return RankCorrelation(value, min(low, value), max(high, value))


def _ranks(values):
    """Ranks from 1; equal values share their mean rank."""
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]
