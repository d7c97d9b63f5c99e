"""The base class of measures, and the matrix of all pairs, computed in blocks.

A measure compares objects in two steps, so that what depends on one object is done once:
``prepare(X, Y)`` checks the objects and turns them into something with a length that can be sliced,
and ``block(P, Q)`` gives the matrix of values between two such slices.
"""

import numbers
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Objects, Symmetrize
from .._validation import SYMMETRY_RTOL, check_choice, check_objects, dtype_kind

# Pairs of a block on the diagonal that a function said to be symmetric is checked with.
_CHECKED = 8
_COMBINED = {
    "mean": lambda there, back: (there + back) / 2,
    "min": np.minimum,
    "max": np.maximum,
}
SYMMETRIZE = (*_COMBINED, None)


@dataclass(frozen=True)
class Prepared:
    """Prepared objects: fields with an entry for each object, sliced together.

    The fields named in `common` belong to all objects.
    """

    common: ClassVar[tuple[str, ...]] = ()

    def __len__(self):
        return len(next(iter(vars(self).values())))

    def __getitem__(self, rows):
        parts = {name: part for name, part in vars(self).items() if name not in self.common}
        return replace(self, **{name: part[rows] for name, part in parts.items()})


class Measure(BaseEstimator):
    """A dissimilarity (or similarity) of two objects; a subclass implements ``block``.

    Attributes of the class describe its properties.

    Read more in the :doc:`user guide </measures>`.

    See Also
    --------
    FunctionMeasure : A measure from a function of two objects.
    pairwise : Matrix of all pairs.
    mahalearn.MeasureKernel : Kernel of a function of two objects.

    Examples
    --------
    A measure of your own: the number of places in which two words differ.

    >>> import numpy as np
    >>> from mahalearn import KernelKNeighborsClassifier, MeasureKernel
    >>> from mahalearn.measures import Measure
    >>> class Hamming(Measure):
    ...     def block(self, P, Q):
    ...         return np.array([[sum(a != b for a, b in zip(p, q)) for q in Q] for p in P])
    >>> Hamming()("gala", "gold")
    2.0
    >>> Hamming().between(["gala", "gold", "bold"]).tolist()
    [[0.0, 2.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]
    >>> model = KernelKNeighborsClassifier(1, kernel=MeasureKernel(Hamming()))
    >>> model.fit(["gala", "gold", "bold"], [0, 1, 1]).predict(["cold", "gaza"]).tolist()
    [1, 0]
    """

    # Whether d(a, b) = d(b, a).
    symmetric = True
    # False for a similarity.
    dissimilarity = True
    # The value of an object with itself; None if it must be computed.
    self_value: float | None = 0.0
    # Whether two equal objects have another value than an object and itself.
    knows_self = False
    # Whether threads serve; otherwise parallel work needs processes.
    releases_gil = True
    # Rows and columns of a block: enough to keep overhead away, few enough to stay in the cache.
    block_size = 256
    # Whether its time grows with the pairs; False where it grows with the objects alone.
    of_pairs = True
    # Name of a way to see the objects that an ensemble has further members for.
    view: str | None = None
    # A measure may stand for a kernel; then objects reach it untouched.
    requires_vector_input = False

    def fit(self, X: Objects, y: Any = None) -> Self:
        """Learn from the training objects; most measures learn nothing.

        Parameters
        ----------
        X : sequence of objects
            Training objects.
        y : None
            Ignored.

        Returns
        -------
        self : Measure
            The fitted measure.
        """
        return self

    def prepare(self, X: Objects, Y: Objects | None = None) -> tuple[Any, Any]:
        """Check the objects and bring them into the form that `block` takes.

        Parameters
        ----------
        X : sequence of objects
            The objects of the rows.
        Y : sequence of objects, default=None
            The objects of the columns; X if None.

        Returns
        -------
        P, Q : sequences
            Forms of X and Y with a length and slices. Q is P where Y is None.
        """
        P = self._prepared(X)
        return P, P if Y is None else self._prepared(Y, P)

    def _prepared(self, X, rows=None):
        """One collection as `block` takes it; rows: the prepared rows, where X are the columns."""
        return object_list(X)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects.

        Parameters
        ----------
        P, Q : sequences
            Slices of what `prepare` returned.

        Returns
        -------
        values : ndarray of shape (len(P), len(Q))
            The measure of each pair.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement block(P, Q).")

    def between(
        self, X: Objects, Y: Objects | None = None, symmetrize: Symmetrize = None
    ) -> np.ndarray:
        """The matrix of values between all objects of X and of Y.

        Parameters
        ----------
        X : sequence of objects
            The objects of the rows.
        Y : sequence of objects, default=None
            The objects of the columns; X if None.
        symmetrize : {"mean", "min", "max", None}, default=None
            How the two directions of an asymmetric measure are combined. None: the direction from
            row to column as it is.

        Returns
        -------
        values : ndarray of shape (len(X), len(Y))
            The measure of each pair.
        """
        P, Q = self.prepare(X, Y)
        symmetrize = check_choice(symmetrize, "symmetrize", SYMMETRIZE)
        half = is_half(self, Y, symmetrize)
        out = np.empty((len(P), len(Q)))
        for rows, cols in block_slices(len(P), len(Q), self.block_size, half):
            same = Y is None and rows == cols
            start = rows.start, cols.start
            values = pair_block(self, P[rows], Q[cols], same, symmetrize, start)
            place(out, rows, cols, values, half)
        return out

    def diagonal(self, X: Objects) -> np.ndarray:
        """The value of each object with itself.

        Parameters
        ----------
        X : sequence of objects
            The objects.

        Returns
        -------
        values : ndarray of shape (len(X),)
            Zero for most dissimilarities.
        """
        if self.self_value is not None:
            return np.full(len(X), float(self.self_value))
        P, _ = self.prepare(X)
        parts = [P[i : i + 1] for i in range(len(P))]
        values = [pair_block(self, p, p, True, None, (i, i)) for i, p in enumerate(parts)]
        return np.array(values).reshape(len(P))

    def __call__(self, a: Any, b: Any) -> float:
        """The value of two objects, in the direction from a to b."""
        return float(self.between([a], [b])[0, 0])


class FunctionMeasure(Measure):
    """A measure from a function of two objects.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    function : callable
        ``function(a, b)`` returns a number.
    symmetric : bool, default=False
        Whether function(a, b) = function(b, a): then a matrix of all pairs costs half. Some pairs
        are checked.
    dissimilarity : bool, default=True
        True if larger values mean less similar objects.

    See Also
    --------
    mahalearn.MeasureKernel : Kernel of a function of two objects.
    mahalearn.measures.pairwise : Matrix of all pairs.

    Examples
    --------
    >>> from mahalearn.measures import FunctionMeasure
    >>> length = FunctionMeasure(lambda a, b: abs(len(a) - len(b)), symmetric=True)
    >>> length.between(["a", "bb", "dddd"]).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """

    self_value = None
    releases_gil = False
    block_size = 32

    def __init__(
        self, function: Callable[..., Any], symmetric: bool = False, dissimilarity: bool = True
    ) -> None:
        self.function = function
        self.symmetric = symmetric
        self.dissimilarity = dissimilarity

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        values = np.empty((len(P), len(Q)))
        half = Q is P and self.symmetric
        for i, a in enumerate(P):
            for j in range(i if half else 0, len(Q)):
                values[i, j] = check_value(self.function(a, Q[j]), a, Q[j])
                if half:
                    values[j, i] = values[i, j]
        if half:
            self._check_symmetry(P, values)
        return values

    def _check_symmetry(self, P, values):
        """Measure some pairs the other way round, too."""
        for i, (a, b) in enumerate(pairwise(P[: _CHECKED + 1])):
            there, back = values[i, i + 1], check_value(self.function(b, a), b, a)
            if abs(there - back) > SYMMETRY_RTOL * max(abs(there), abs(back)):
                raise ValueError(
                    "symmetric=True says that f(a, b) = f(b, a); the function gives "
                    f"{there:.6g} and {back:.6g} for {reprlib.repr(a)} and {reprlib.repr(b)}. "
                    "Leave symmetric=False: then both directions are measured and combined."
                )


def check_value(value, a, b):
    """A number, as a measure of a and b must return."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise ValueError(
            "The measure must return a finite number for every pair of objects; got "
            f"{reprlib.repr(value)} for {reprlib.repr(a)} and {reprlib.repr(b)}."
        )
    return value


def object_list(X):
    """The objects as a list; a table's objects are its rows, or the entries of its one column.

    A single column of text or objects, as ColumnTransformer passes it, is a column of objects. Of
    numbers a row stays a row.
    """
    X = check_objects(X)
    if hasattr(X, "columns"):
        X = np.asarray(X)
    if dtype_kind(X) in ("O", "U", "S", "T") and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    return list(X)


def is_half(measure, Y, symmetrize):
    """True if one triangle of the matrix is enough."""
    return Y is None and (measure.symmetric or symmetrize is not None)


def block_slices(n_rows, n_cols, size, half):
    """(rows, cols) slices that cover the matrix, or its upper triangle of blocks."""
    rows = [slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]
    cols = [slice(j, min(j + size, n_cols)) for j in range(0, n_cols, size)]
    return [(r, c) for r in rows for c in cols if not half or c.start >= r.start]


def pair_block(measure, A, B, same, symmetrize, start=(0, 0)):
    """One block of the matrix, between two slices; same: they are the same objects.

    start: positions of their first objects, for the message that names a pair.
    """
    B = A if same else B
    values = np.asarray(measure.block(A, B), dtype=np.float64)
    if not measure.symmetric and symmetrize is not None:
        back = values if same else np.asarray(measure.block(B, A), dtype=np.float64)
        values = _COMBINED[symmetrize](values, back.T)
    if values.shape != (len(A), len(B)):
        raise ValueError(
            f"{type(measure).__name__} gave a block of shape {values.shape} for {len(A)} and "
            f"{len(B)} objects."
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            "The measure must return a finite number for every pair of objects; "
            f"{type(measure).__name__} gave {values[i, j]} for object {start[0] + i} of the rows "
            f"and object {start[1] + j} of the columns. Check these objects and their scale, or "
            "return a large number instead."
        )
    if same and measure.self_value is not None:
        np.fill_diagonal(values, measure.self_value)
    return values


def place(out, rows, cols, values, half):
    """Write a block, and its mirror image where only a triangle is computed."""
    out[rows, cols] = values
    if half:
        out[cols, rows] = values.T
