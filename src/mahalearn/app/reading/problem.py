"""What is to be classified, whatever file it came from; and the error that speaks to its owner."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .cells import number

# From a nested cross-validation's point of view: one object of a class to test on, and two in the
# training part, for its own folds.
SMALLEST_CLASS = 3
# More different numbers than these, and than this share of the rows, are no classes. Fractions are
# suspected sooner than whole numbers (False, True).
MANY_NUMBERS, QUANTITY = 20, (1 / 10, 1 / 3)


class DataError(ValueError):
    """What is wrong with a file or an option, in a sentence that says what to do."""


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
    measure : str or None
        Of objects.
    notes : list of str
        What was decided while reading.
    columns : list of str or None
        Names of a table's columns where `X` holds its rows as objects (Gower's distance).
    distances : ndarray or None
        Proximities of all pairs of objects, once they were computed.
    """

    kind: str
    X: object
    y: np.ndarray | None
    name: str
    names: list | None = None
    target: str = "class"
    proximity: str | None = None
    measure: str | None = None
    notes: list = field(default_factory=list)
    columns: list | None = None
    distances: np.ndarray | None = None

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
                f"All {len(self)} objects are of one class ({only!r}); at least two are needed."
                if counts
                else "There are no objects with a class; check the target column."
            )
        small = {label: n for label, n in counts.items() if n < least}
        if small:
            raise DataError(
                f"{listed([f'{label!r} ({n})' for label, n in small.items()])} "
                f"{'has' if len(small) == 1 else 'have'} fewer than {least} objects, which "
                "cross-validation needs of each class; remove or merge such classes."
            )


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
    whole, distinct = all(v.is_integer() for v in numbers), len(set(numbers))
    if distinct > MANY_NUMBERS and distinct > QUANTITY[whole] * len(numbers):
        raise DataError(
            f"Column {column!r} holds {distinct} different numbers in {len(numbers)} rows: a "
            "quantity, not a class; name another column with --target, or turn it into classes "
            "first."
        )
    if whole and not any(isinstance(v, str) for v in values):
        return np.array([int(v) for v in numbers])
    return np.array(texts)


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
