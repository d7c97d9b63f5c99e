"""Objects and classes, whatever file they came from; and errors as sentences."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ..._validation import take
from ..words import counted, folded

# From a nested cross-validation's point of view: one object of a class to test on, and two in the
# training part, for its own folds.
SMALLEST_CLASS = 3
# Share of an object's numbers that occur nowhere else, above which they are no symbols.
MOST_MET_ONCE = 0.5


class DataError(ValueError):
    """One or several problems of a file, each in a sentence that says what to do.

    Parameters
    ----------
    sentence : str
        The problem.
    option : str or None
        The choice of :func:`~mahalearn.app.reading.read.read_problem` or of a command that helps;
        the command line says how it is made there.
    errors : sequence of DataError
        Several problems, in place of a sentence.
    """

    def __init__(self, sentence="", option=None, errors=()):
        self.errors = list(errors) or [self]
        super().__init__("\n".join(map(str, errors)) if errors else sentence)
        self.option = option


class Faults:
    """Problems of a file, collected to be reported together."""

    def __init__(self):
        self.errors = []

    def add(self, sentence, option=None):
        """Record a problem."""
        self.errors.append(DataError(sentence, option))

    @contextmanager
    def collected(self):
        """A context that records the problems that its block raises, once, and goes on."""
        try:
            yield
        except DataError as error:
            self.errors += [each for each in error.errors if each not in self.errors]

    @contextmanager
    def raised(self):
        """A context after which the problems are raised, with the one that its block raises."""
        with self.collected():
            yield self
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise DataError(errors=self.errors)


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
    overview : list of dict
        One line for each column of a table as read, see
        :func:`~mahalearn.app.reading.overview.column_overview`.
    units : dict of str to str
        Column -> unit that was taken off its numbers.
    series : dict or None
        The columns id, time and value (a list) of the long table that series were read from.
    population : dict of str to int, or None
        Objects of each class in the table of which these are a stratified sample.
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
    alternatives: dict | None = None
    overview: list = field(default_factory=list)
    units: dict = field(default_factory=dict)
    series: dict | None = None
    population: dict | None = None

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
            sentence = (
                f"{listed([f'{label!r} ({n})' for label, n in small.items()])} "
                f"{'has' if len(small) == 1 else 'have'} fewer than {least} objects, which "
                "cross-validation needs of each class; remove or merge such classes."
            )
            alike = list(alike_notices(counts, "classes"))
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
            distances=None if self.distances is None else self.distances[np.ix_(rows, rows)],
            notes=list(self.notes),
        )

    def matrix(self):
        """Proximities of all pairs of objects, computed once; with several measures a third axis.

        None for a table, and for a measure that learns from the objects of each fold anew.
        """
        if self.kind != "objects":
            return self.X if self.kind == "proximity" else None
        from ...measures.base import Measure
        from ...measures.table import as_measure

        measures = list((self.alternatives or {"": as_measure(self.measure)}).values())
        if self.alternatives is None and type(measures[0]).fit is not Measure.fit:
            return None
        if self.distances is None:
            matrices = [square_matrix(measure, self.X) for measure in measures]
            one = self.alternatives is None
            self.distances = matrices[0] if one else np.stack(matrices, axis=-1)
        return self.distances

    def fold(self, train, test):
        """Training and test objects as methods take them: rows of a table, or of proximities."""
        if self.kind == "vectors":
            return self.X.iloc[train], self.X.iloc[test]
        if (matrix := self.matrix()) is not None:
            return matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
        from ...measures.table import as_measure

        seen = take(self.X, train)
        measure = as_measure(self.measure).fit(seen)
        new = measure.between(take(self.X, test), seen, symmetrize="mean")
        return square_matrix(measure, seen), new

    def independent(self, by_class=False):
        """Mask of a random object of each group (and class), all objects where there are no groups.

        p-values rank independent objects; those of a group count as one.
        """
        if self.groups is None:
            return np.ones(len(self), bool)
        order = np.random.default_rng(0).permutation(len(self))
        keys = [(self.groups[i], self.y[i] if by_class else None) for i in order]
        mask = np.zeros(len(self), bool)
        mask[list(dict(zip(keys, order)).values())] = True
        return mask

    def _in_proportion(self):
        """Rows of a stratified sample among which the classes have their shares of all objects."""
        if self.population is None:
            return slice(None)
        from ...training.sample import in_proportion

        labels, codes = np.unique(self.y, return_inverse=True)
        sizes = [self.population.get(str(label), self.counts[label]) for label in labels.tolist()]
        order = np.random.default_rng(0).permutation(len(self))
        return np.sort(order[in_proportion(codes[order], np.array(sizes))])

    def features(self):
        """Columns of a table: name, type, quartiles of numbers, counts of categories, unit."""
        if self.columns is not None:  # rows as objects
            import pandas as pd

            X = pd.DataFrame(self.X, columns=self.columns)
            X = X.apply(lambda c: c if any(isinstance(v, str) for v in c) else c.astype(float))
        elif self.kind == "vectors":
            X = self.X
        else:
            return []
        rows = self._in_proportion()
        features = [_feature(column, X[column], rows) for column in X.columns]
        for feature in features:
            if feature["name"] in self.units:
                feature["unit"] = self.units[feature["name"]]
        return features

    def called(self, i):
        """Name of an object."""
        return str(self.names[i]) if self.names else f"row {i + 1}"

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
        is_rare = np.isin(self.y, rare)
        names = listed(map(repr, rare))
        if how == "drop":
            remaining = self.take(np.flatnonzero(~is_rare))
            remaining.notes.append(
                f"{int(is_rare.sum())} objects of classes with fewer than {least} were left out: "
                f"{names}."
            )
            return remaining
        if is_rare.sum() < least:
            raise DataError(
                f"Together the rare classes ({names}) have {int(is_rare.sum())} objects, fewer "
                f"than the {least} that a class needs. Drop them instead of merging them."
            )
        other = "other"
        while other in set(map(str, self.y)):
            other += "*"
        y = np.where(is_rare, other, self.y.astype(str))
        note = f"Classes with fewer than {least} objects were merged into {other!r}: {names}."
        return replace(self, y=y, notes=[*self.notes, note])


# Types of columns, as model files name them.
NUMBER, NAME = "number", "name"


def is_text(column):
    """True if a column holds names rather than numbers."""
    from pandas.api.types import is_numeric_dtype

    return not is_numeric_dtype(column)


def text_columns(X):
    """For each column of a table, whether it holds names rather than numbers."""
    from pandas.api.types import is_numeric_dtype

    numeric = {dtype: is_numeric_dtype(dtype) for dtype in set(X.dtypes)}
    return np.array([not numeric[dtype] for dtype in X.dtypes], dtype=bool)


# Cells of a table that are copied at a time.
_BLOCK_CELLS = 2**22


def number_blocks(X):
    """Numeric columns of a table, some at a time: positions, and values (rows, columns).

    A table of thousands of columns is looked at as arrays; column by column takes minutes.
    """
    positions = np.flatnonzero(~text_columns(X))
    width = max(1, _BLOCK_CELLS // max(1, len(X)))
    for start in range(0, len(positions), width):
        block = positions[start : start + width]
        yield block, X.iloc[:, block].to_numpy(dtype=float)


def _feature(name, values, rows):
    """Facts on a column: those on how often values occur are of these rows, others of all."""
    some = values.iloc[rows]
    if is_text(values):
        names = Counter(map(str, some.dropna()))
        levels = dict.fromkeys(sorted(map(str, values.dropna().unique())), 0) | names
        facts = {"type": NAME, "levels": levels, "rows": names.total()}
    else:
        numbers, every = (v[np.isfinite(v)] for v in (c.to_numpy(float) for c in (some, values)))
        if not len(numbers):
            return {"name": name, "type": NUMBER}
        middle = np.percentile(numbers, [25, 50, 75]).tolist()
        quartiles = [float(every.min()), *middle, float(every.max())]
        facts = {"type": NUMBER, "quartiles": quartiles, "rows": len(numbers)}
    return {"name": name, **facts, "missing": len(some) - facts["rows"]}


def alike_notices(values, what):
    """Sentences on classes or categories that differ in what a reader does not see or mean."""
    alike = {}
    for label in dict.fromkeys(map(str, values)):
        alike.setdefault(folded(label), []).append(label)
    for labels in alike.values():
        if len(labels) > 1:
            yield Note(
                f"The {what} {listed(map(repr, labels))} differ in case, blanks or invisible "
                "characters only and count as different; write them alike if they are one."
            )


def matched_note(what, renamed):
    """The sentence on names that are there in another spelling: there -> known."""
    pairs = listed(f"{name!r} for {known!r}" for name, known in renamed.items())
    return f"{what} were matched ignoring case and blanks: {pairs}."


def square_matrix(measure, objects):
    """Proximities of all pairs of objects; a dissimilarity of an object with itself is 0.

    A compressor leaves a rest there, which new objects, known by their rows alone, do not bring.
    """
    matrix = measure.between(objects, symmetrize="mean")
    if measure.dissimilarity:
        np.fill_diagonal(matrix, 0.0)
    return matrix


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
