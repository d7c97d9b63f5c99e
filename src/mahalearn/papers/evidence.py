"""The numbers that statements about the papers rest on, repetition by repetition."""

from .agreement import POINT, SHARE, STAND_IN
from .catalogue import EXPERIMENTS
from .rows import summarise


class Evidence:
    """Rows of the papers' experiments; a number that is not there raises KeyError."""

    def __init__(self, rows):
        self._cells = {}
        rows = [row for row in rows if row.experiment in EXPERIMENTS]
        # Rows of the paper's protocol replace those of a shortened one.
        for row in sorted(rows, key=lambda row: row.setting == ""):
            cell = self._cells.setdefault((row.experiment, row.dataset, row.method), {})
            if any(other.setting != row.setting for other in cell.values()):
                cell.clear()
            cell[row.repetition] = row
        self._summaries = {}
        for measure in ("error", "balanced_error"):
            chosen = [r for r in rows if EXPERIMENTS[r.experiment].measure == measure]
            self._summaries |= summarise(chosen, measure)

    def mean(self, experiment, dataset, method):
        """Mean error in percent, of the kind that the paper's table holds."""
        return self._summaries[experiment, dataset, method].mean

    def errors(self, experiment, dataset, method):
        """Repetition -> error in percent."""
        measure = EXPERIMENTS[experiment].measure
        cell = self._cells[experiment, dataset, method]
        return {r: 100 * getattr(row, measure) for r, row in cell.items()}

    def gaps(self, experiment, dataset, first, second):
        """Error of the first method minus that of the second, on each common repetition."""
        return paired(*(self.errors(experiment, dataset, m) for m in (first, second)))

    def margin(self, experiment, dataset, method):
        """The slack of the rule of agreement at a method's mean error."""
        return min(POINT, SHARE * self.mean(experiment, dataset, method))

    def datasets(self, experiment, methods, names):
        """The names that have rows of all these methods and are not stand-ins."""
        cells = self._summaries
        measured = [n for n in names if all((experiment, n, m) in cells for m in methods)]
        real = [n for n in measured if cells[experiment, n, methods[0]].status != STAND_IN]
        if not real:
            raise KeyError(experiment)
        return real

    def values(self, experiment, dataset, name):
        """Repetition -> measured value."""
        measured = {
            r: row.values[name]
            for (e, d, _), cell in self._cells.items()
            if (e, d) == (experiment, dataset)
            for r, row in cell.items()
            if name in row.values
        }
        if not measured:
            raise KeyError(name)
        return measured

    def curves(self, figure):
        """(x, {classifier: [accuracies of a level, by repetition]}) of a figure of paper D."""
        rows = list(self._cells["Dfigs", figure, "curves"].values())
        names = rows[0].values["curves"]
        by_level = {name: list(zip(*(r.values["curves"][name] for r in rows))) for name in names}
        return rows[0].values["x"], by_level

    def panels(self, experiment, dataset):
        """Panels of a figure, by title."""
        cell = self._cells[experiment, dataset, "regions"]
        return next(iter(cell.values())).values["panels"]


def paired(first, second):
    """Differences on the common repetitions of two {repetition: number}."""
    common = sorted(first.keys() & second.keys())
    if not common:
        raise KeyError("no common repetition")
    return [first[r] - second[r] for r in common]


def mean(numbers):
    """Mean of a sequence."""
    return sum(numbers) / len(numbers)
