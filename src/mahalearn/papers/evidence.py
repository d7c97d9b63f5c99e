"""The numbers that statements about the papers rest on, looked up in rows."""

from ..results import summarise
from .registry import EXPERIMENTS


class Evidence:
    """Means of the rows of known experiments; a number that is not there raises KeyError."""

    def __init__(self, rows):
        rows = [row for row in rows if row.experiment in EXPERIMENTS]
        self._errors = {}
        for measure in ("error", "balanced_error"):
            wanted = [r for r in rows if EXPERIMENTS[r.experiment].measure == measure]
            self._errors |= summarise(wanted, measure)
        self._rows = rows

    def error(self, experiment, dataset, method):
        """Mean error in percent, of the kind that the paper's table holds."""
        return self._errors[experiment, dataset, method].mean

    def summary(self, experiment, dataset, method):
        """Mean, spread and number of repetitions."""
        return self._errors[experiment, dataset, method]

    def datasets(self, experiment, methods, names):
        """The names that have rows of all these methods and are not stand-ins."""
        found = [n for n in names if all((experiment, n, m) in self._errors for m in methods)]
        real = [n for n in found if self._errors[experiment, n, methods[0]].status != "stand-in"]
        if not real:
            raise KeyError(experiment)
        return real

    def value(self, experiment, dataset, name):
        """Mean of a measured value."""
        rows = [r for r in self._rows if r.experiment == experiment]
        found = {key[1]: s for key, s in summarise(rows, name).items()}
        return found[dataset].mean

    def curves(self, figure):
        """(x, {classifier: mean accuracies}) of a figure of paper D."""
        rows = [r for r in self._rows if r.experiment == "Dfigs" and r.dataset == figure]
        if not rows:
            raise KeyError(figure)
        names = rows[0].values["curves"]
        means = {
            name: [sum(c) / len(rows) for c in zip(*(r.values["curves"][name] for r in rows))]
            for name in names
        }
        return rows[0].values["x"], means

    def panels(self, experiment, dataset):
        """Panels of a figure, by title."""
        rows = [r for r in self._rows if r.experiment == experiment and r.dataset == dataset]
        return rows[0].values["panels"] if rows else _absent(experiment)


def _absent(name):
    raise KeyError(name)
