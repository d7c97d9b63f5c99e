"""What is to be classified, whatever file it came from; and the error that speaks to its owner."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ..words import counted

# From a nested cross-validation's point of view: one object of a class to test on, and two in the
# training part, for its own folds.
SMALLEST_CLASS = 3
# Share of an object's numbers that occur nowhere else, above which they are no symbols.
MOST_MET_ONCE = 0.5


class DataError(ValueError):
    """What is wrong with a file, in a sentence that says what to do.

    Parameters
    ----------
    sentence : str
        What is wrong.
    option : str or None
        The choice of :func:`~mahalearn.app.cli._common.read_problem` or of a command that helps;
        the command line says how it is made there.
    """

    def __init__(self, sentence, option=None):
        super().__init__(sentence)
        self.option = option


class Note(str):
    """A sentence on what was decided or is odd, and the choice that would change it."""

    __slots__ = ("option",)

    def __new__(cls, sentence, option=None):
        note = super().__new__(cls, sentence)
        note.option = option
        return note

    def __getnewargs__(self):
        return str(self), self.option


@dataclass
class Problem:
    """Objects with classes.

    Attributes
    ----------
    kind : {"vectors", "proximity", "objects"}
        What `X` holds: a table of features, a square matrix, or a list of objects.
    X : DataFrame, array or list
        The objects.
    y : ndarray or None
        Classes: integers or text.
    name : str
        What to call it.
    names : list of str or None
        Names of the objects.
    target : str
        Name of the column of classes.
    proximity : {"dissimilarity", "similarity"} or None
        What the matrix, or the measure, is.
    measure : str, Measure or None
        What compares objects.
    alternatives : dict of str to Measure, or None
        Measures among which each method chooses, in place of one.
    notes : list of str
        What was decided while reading.
    columns : list of str or None
        Names of a table's columns where `X` holds its rows as objects (Gower's distance).
    distances : ndarray or None
        Proximities of all pairs of objects, once they were computed; (n, n, number of alternatives)
        where there are several measures.
    groups : ndarray or None
        What objects belong together (a patient, a batch): they are never in both parts of a fold.
    weights : ndarray or None
        What each object counts.
    """

    kind: str
    X: object
    y: np.ndarray | None
    name: str
    names: list | None = None
    target: str = "class"
    proximity: str | None = None
    measure: object = None
    notes: list = field(default_factory=list)
    columns: list | None = None
    distances: np.ndarray | None = None
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None
    alternatives: dict | None = None

    @property
    def measure_name(self):
        """The measure as people write it."""
        return self.measure if isinstance(self.measure, str | None) else repr(self.measure)

    def __len__(self):
        return len(self.X)

    @property
    def label_type(self):
        """How the classes were written: "int" or "str"."""
        return "int" if self.y.dtype.kind in "iu" else "str"

    @property
    def counts(self):
        """Objects of each class, the largest first."""
        return dict(Counter(self.y.tolist()).most_common())

    def check_classes(self, least=SMALLEST_CLASS):
        """Refuse what cannot be cross-validated."""
        counts = self.counts
        if len(counts) < 2:
            only = next(iter(counts), None)
            raise DataError(
                f"There is one class only ({only!r}, {counted(len(self), 'object')}); at "
                "least two are needed."
                if counts
                else "There are no objects with a class; check the target column."
            )
        small = {label: n for label, n in counts.items() if n < least}
        if small:
            written = {str(label).strip().lower(): label for label in counts if label not in small}
            alike = [
                f"{label!r} and {written[str(label).strip().lower()]!r} differ in case or blanks "
                "only; write them alike if they are one class."
                for label in small
                if str(label).strip().lower() in written
            ]
            sentence = (
                f"{listed([f'{label!r} ({n})' for label, n in small.items()])} "
                f"{'has' if len(small) == 1 else 'have'} fewer than {least} objects, which "
                "cross-validation needs of each class; remove or merge such classes."
            )
            raise DataError(" ".join([sentence, *alike[:3]]), "rare")

    def take(self, rows):
        """The problem of some of the objects, by their numbers."""
        rows = np.asarray(rows)
        if self.kind == "proximity":
            X = self.X[np.ix_(rows, rows)]
        elif self.kind == "vectors":
            X = self.X.iloc[rows].reset_index(drop=True)
        else:
            X = [self.X[i] for i in rows]
        return replace(
            self,
            X=X,
            y=self.y[rows],
            names=None if self.names is None else [self.names[i] for i in rows],
            groups=None if self.groups is None else self.groups[rows],
            weights=None if self.weights is None else self.weights[rows],
            distances=None if self.distances is None else self.distances[np.ix_(rows, rows)],
            notes=list(self.notes),
        )

    def treat_rare(self, how, least=SMALLEST_CLASS):
        """The problem with its tiny classes merged into one or dropped, and a note on it.

        Parameters
        ----------
        how : {"merge", "drop", "keep"}
            What to do with classes of fewer than `least` objects.
        least : int
            Objects that a class needs.

        Returns
        -------
        problem : Problem
        """
        rare = [label for label, n in self.counts.items() if n < least]
        if how == "keep" or not rare:
            return self
        mine = np.isin(self.y, rare)
        names = listed(map(repr, rare))
        if how == "drop":
            kept = self.take(np.flatnonzero(~mine))
            kept.notes.append(
                f"{int(mine.sum())} objects of classes with fewer than {least} were left out: "
                f"{names}."
            )
            return kept
        if mine.sum() < least:
            raise DataError(
                f"Together the rare classes ({names}) have {int(mine.sum())} objects, fewer than "
                f"the {least} that a class needs; leave them out.",
                "rare",
            )
        other = "other"
        while other in set(map(str, self.y)):
            other += "*"
        y = np.where(mine, other, self.y.astype(str))
        note = f"Classes with fewer than {least} objects were merged into {other!r}: {names}."
        return replace(self, y=y, notes=[*self.notes, note])


def symbols_met_once(objects):
    """Share of the real numbers in a list of sequences that occur once; 0 if they are symbols."""
    rows = [np.ravel(x) for x in objects if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    values = np.concatenate(rows) if rows else np.zeros(0)
    if len(rows) < len(objects) or not len(values) or not np.any(values % 1):
        return 0.0
    return float(np.mean(np.unique(values, return_counts=True)[1] == 1))


def listed(items, most=8):
    """Words with commas, the rest of a long list counted."""
    items = [str(item) for item in items]
    if len(items) > most:
        return ", ".join(items[:most]) + f" and {len(items) - most} more"
    return ", ".join(items)


# --- data sets by name: those that come with scikit-learn, and the papers' ------------------------

BUNDLED = ("iris", "wine", "breast-cancer", "digits")


def is_builtin(name):
    """Whether a word is the name of a set rather than of a file."""
    from ...datasets.registry import names

    plain = name.lower().replace("_", "-")
    return plain in BUNDLED or plain in names()


def builtin_problem(name):
    """The problem of a set by name."""
    import pandas as pd

    from ...datasets import load

    plain = name.lower().replace("_", "-")
    if plain in BUNDLED:
        return _bundled(plain)
    try:
        data = load(plain)
    except (OSError, ValueError) as error:
        raise DataError(" ".join(str(error).split())) from None
    y = np.array(data.target_names)[data.target]
    notes = [] if data.status == "original" else [f"{data.status}: {data.description}"]
    if data.matrix is not None:
        return Problem("proximity", data.matrix, y, plain, proximity=data.kind, notes=notes)
    X = pd.DataFrame(np.asarray(data.data, dtype=float))
    X.columns = list(data.feature_names) or [f"column {i + 1}" for i in range(X.shape[1])]
    return Problem("vectors", X, y, plain, notes=notes)


def _bundled(name):
    import pandas as pd
    from sklearn import datasets

    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    X = pd.DataFrame(found.data)
    X.columns = [str(column) for column in found.feature_names]
    y = np.array([str(label) for label in found.target_names])[found.target]
    return Problem("vectors", X, y, name)
