"""Edit distance of strings and of sequences of symbols, numbers or points."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from .._typing import Objects
from .._validation import check_choice, check_memory, check_positive, check_real, is_real
from ._objects import check_not_empty, named, point_arrays
from ._series import ANGLE, DISTANCE, MATCH, TABLE, all_pairs, compiled
from .base import Measure, Prepared

NUMERIC = ("absolute", "angular", "euclidean")
_LENGTHS = {"longer": np.maximum, "sum": np.add}
NORMALIZE = (*_LENGTHS, None)
# Fractional numbers are no symbols if more than this share of them, among at least so many, differ;
# nor if there are more different ones than an alphabet of codes has (measurements to one decimal).
_DISTINCT, _FEW_SYMBOLS, _ALPHABET = 0.9, 20, 30
_NO_TABLE = np.zeros((1, 1))
# Cells that numpy works on at once: two rows of the recurrence for so many pairs fit the cache.
_CELLS = 2**17


@dataclass(frozen=True)
class _Coded(Prepared):
    """Sequences as arrays of numbers, points in rows, or codes; costs of replacing codes."""

    common = ("table",)
    arrays: list
    table: np.ndarray


class EditDistance(Measure):
    """Edit distance of strings, or of sequences of symbols, numbers or points.

    The least total cost of insertions, deletions and substitutions that turn the first sequence
    into the second; with the default costs the Levenshtein distance. rapidfuzz computes it where
    the costs are whole numbers, compiled loops otherwise (``pip install "mahalearn[measures]"``);
    without these libraries numpy, for numbers and points plain Python, which is slow.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    substitution : float, {"absolute", "angular", "euclidean"} or callable, default=1
        Cost of replacing a by b.

        - number: the cost for any two different symbols. Sequences of real numbers that hardly
          ever agree, or of more than 30 different ones, are refused.
        - "absolute": |a − b|, for numbers.
        - "angular": the shorter arc on a circle of circumference `period`.
        - "euclidean": distance of points; a sequence has the shape (length, dimensions).
        - callable: a function of two symbols, called once for each pair that occurs.
    insertion, deletion : float, default=1
        Cost of inserting and of deleting a symbol. Only equal ones make the distance symmetric.
    normalize : {"longer", "sum", None}, default=None
        Divisor of the distance.

        - None: none.
        - "longer": the length of the longer sequence.
        - "sum": the sum of both lengths.
    period : float, default=2π
        For ``substitution="angular"``; 360 if angles are in degrees.

    See Also
    --------
    mahalearn.measures.Alignment : Alignment of biological sequences.
    mahalearn.measures.pairwise : Matrix of all pairs.

    Examples
    --------
    >>> from mahalearn.measures import EditDistance
    >>> EditDistance()("kitten", "sitting")
    3.0
    >>> EditDistance("angular", insertion=45, deletion=45, period=360)([10, 350], [20, 10])
    30.0
    """

    def __init__(
        self,
        substitution: float | Literal["absolute", "angular", "euclidean"] | Callable[..., Any] = 1,
        insertion: float = 1,
        deletion: float = 1,
        normalize: Literal["longer", "sum"] | None = None,
        period: float = 2 * math.pi,
    ) -> None:
        self.substitution = substitution
        self.insertion = insertion
        self.deletion = deletion
        self.normalize = normalize
        self.period = period

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """True if d(a, b) = d(b, a); False for a function as cost, of which that is unknown."""
        return self.insertion == self.deletion and not callable(self.substitution)

    @property
    def self_value(self) -> float | None:  # type: ignore[override]
        """Value of an object with itself; None for a function as cost, which need not give 0."""
        return None if callable(self.substitution) else 0.0

    def prepare(self, X: Objects, Y: Objects | None = None) -> tuple[Any, Any]:
        """Check the sequences and code their symbols, see Measure."""
        _check_cost(self.insertion, "insertion")
        _check_cost(self.deletion, "deletion")
        kind, _ = self._replacing()
        if kind in (DISTANCE, ANGLE):
            return super().prepare(X, Y)
        sides = [_symbols(X)] if Y is None else [_symbols(X), _symbols(Y, of_columns=True)]
        alphabet = _alphabet([*chain.from_iterable(sides)])
        if kind == MATCH:
            _refuse_measurements([*chain.from_iterable(sides)], alphabet)
        P, *Q = self._coded(sides, alphabet)
        return P, Q[0] if Q else P

    def _prepared(self, X, rows=None):
        if self.substitution == "euclidean":
            ndim, what = 2, "an array of points in rows"
        else:
            ndim, what = 1, "a sequence of numbers"
        return _Coded(point_arrays(X, ndim, what, rows and rows.arrays), _NO_TABLE)

    def _coded(self, sides, alphabet):
        """The sequences as rapidfuzz takes them, or as arrays of codes."""
        if self._by_rapidfuzz():
            return [_as_text(sequences, alphabet) for sequences in sides]
        table = self._table(alphabet) if callable(self.substitution) else _NO_TABLE
        return [
            _Coded([np.array([alphabet[s] for s in x], dtype=np.float64) for x in side], table)
            for side in sides
        ]

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        kind, size = self._replacing()
        if kind == MATCH and self._by_rapidfuzz():
            values = self._with_rapidfuzz(P, Q)
        else:
            numbers = float(self.deletion), float(self.insertion), kind, size, P.table
            if kind in (MATCH, TABLE) and not compiled():
                values = _with_numpy(P.arrays, Q.arrays, *numbers)
            else:
                a = [np.atleast_2d(x.T) for x in P.arrays]
                b = a if Q is P else [np.atleast_2d(x.T) for x in Q.arrays]
                values = all_pairs("edit", a, b, *numbers, symmetric=self.symmetric)
            P, Q = P.arrays, Q.arrays
        lengths = [len(x) for x in P], [len(y) for y in Q]
        normalize = check_choice(self.normalize, "normalize", NORMALIZE)
        return values if normalize is None else values / _LENGTHS[normalize].outer(*lengths)

    def _replacing(self):
        """Kind of the cost of replacing one symbol by another, and its number."""
        if callable(self.substitution):
            return TABLE, 0.0
        if not isinstance(self.substitution, str):
            return MATCH, _check_cost(self.substitution, "substitution")
        if check_choice(self.substitution, "substitution", NUMERIC) == "angular":
            return ANGLE, check_positive(self.period, "period")
        return DISTANCE, 0.0

    def _by_rapidfuzz(self):
        """True for symbols with whole costs, where rapidfuzz is installed."""
        costs = (self.insertion, self.deletion, self.substitution)
        integers = not callable(self.substitution) and all(float(c).is_integer() for c in costs)
        return integers and _rapidfuzz() is not None

    def _with_rapidfuzz(self, P, Q):
        process, distance = _rapidfuzz()
        weights = (int(self.insertion), int(self.deletion), int(self.substitution))
        return process.cdist(
            P, Q, scorer=distance, scorer_kwargs={"weights": weights}, dtype=np.int64
        ).astype(np.float64)

    def _table(self, alphabet):
        """Costs of replacing each symbol by each, where a function gives them."""
        n = len(alphabet)
        check_memory(n**2, f"A table of the costs of {n} symbols", "Use fewer symbols.")

        def cost(a, b):
            return _check_cost(self.substitution(a, b), "substitution")

        return np.array([[cost(a, b) for b in alphabet] for a in alphabet])


def _check_cost(value, name):
    """A cost: a finite number, not negative."""
    what = "a finite number that is not negative"
    if name == "substitution":
        what += " (or one of 'absolute', 'angular', 'euclidean', or a function that returns one)"
    return check_real(value, f"The cost {name}", what, lambda cost: cost >= 0)


def _with_numpy(P, Q, deletion, insertion, kind, size, table):
    """Edit distances of sequences of codes without numba, all pairs at once.

    A cell of the recurrence is a matrix over the pairs, for so many rows as fit the cache.
    """
    lengths = np.array([len(y) for y in Q])
    B = np.zeros((lengths.max(), len(Q)), dtype=int)
    for j, y in enumerate(Q):
        B[: len(y), j] = y
    side = max(1, _CELLS // (len(B) * len(Q)))
    if len(P) > side:
        costs = deletion, insertion, kind, size, table
        parts = [P[i : i + side] for i in range(0, len(P), side)]
        return np.concatenate([_with_numpy(part, Q, *costs) for part in parts])
    out = np.empty((len(P), len(Q)))
    row = np.zeros((len(B) + 1, len(P), len(Q)))
    row[1:] = insertion
    row = row.cumsum(axis=0)
    for i, symbols in enumerate(zip_longest(*P, fillvalue=0)):
        a = np.array(symbols, dtype=int)[:, None]
        corner = row[0].copy()
        row[0] += deletion
        for j, b in enumerate(B):
            cost = table[a, b] if kind == TABLE else np.where(a == b, 0.0, size)
            above = row[j + 1].copy()
            best = np.minimum(above + deletion, row[j] + insertion)
            row[j + 1] = np.minimum(best, corner + cost)
            corner = above
        for k in [k for k, x in enumerate(P) if len(x) == i + 1]:
            out[k] = row[lengths, k, np.arange(len(Q))]
    return out


def _rapidfuzz():
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        return None
    return process, Levenshtein.distance


def _kind(symbol):
    """Kind of a symbol; only symbols of one kind can be compared."""
    if isinstance(symbol, bool | np.bool_):
        return "truth value"
    return "number" if isinstance(symbol, numbers.Number) else type(symbol).__name__


def _symbols(X, of_columns=False):
    """Sequences of hashable symbols: strings as they are, others as lists."""
    sequences = []
    for name, x in named(X, of_columns):
        unordered = isinstance(x, (dict, set, frozenset)) or issparse(x)
        if unordered or not hasattr(x, "__len__") or not np.iterable(x):
            raise ValueError(f"{name} must be a string or a sequence; got {type(x).__name__}.")
        if np.ma.is_masked(x):
            raise ValueError(f"{name} has masked values, which are no symbols; remove them.")
        if hasattr(x, "tolist"):
            array = np.asarray(x)
            if array.ndim > 1:
                raise ValueError(
                    f"{name} is an array of shape {array.shape}; sequences of points need "
                    "substitution='euclidean' or a list of tuples."
                )
            x = x.tolist()
        check_not_empty(x, name)
        sequences.append(x if isinstance(x, str) else list(x))
    return sequences


def _alphabet(sequences):
    """{symbol: code} of all sequences, which must be of one type."""
    kinds = {type(x).__name__ for x in sequences}
    if len(kinds) > 1 and "str" in kinds:
        (other,) = kinds - {"str"}
        raise ValueError(
            f"Strings and other sequences cannot be mixed: some objects are str, others {other}. "
            "Make them alike, for example with list(text)."
        )
    try:
        alphabet = {s: i for i, s in enumerate(dict.fromkeys(chain.from_iterable(sequences)))}
    except TypeError:
        raise ValueError(
            "The symbols of a sequence must be hashable (characters, words, numbers, tuples); for "
            "arrays of points use substitution='euclidean'."
        ) from None
    kinds = {_kind(symbol) for symbol in alphabet}
    if len(kinds) > 1:
        raise ValueError(
            f"The symbols of all sequences must be of one type; got {', '.join(sorted(kinds))}."
        )
    if any(symbol != symbol for symbol in alphabet):
        raise ValueError("A sequence contains NaN, which is not equal even to itself; remove it.")
    return alphabet


def _refuse_measurements(sequences, alphabet):
    """Refuse real-valued series: their numbers are hardly ever equal, so all pairs look alike."""
    n_symbols = sum(len(x) for x in sequences)
    few = n_symbols < _FEW_SYMBOLS or len(alphabet) <= _DISTINCT * n_symbols
    if few and len(alphabet) <= _ALPHABET:
        return
    fractions = (is_real(s) and not float(s).is_integer() for s in alphabet)
    if sum(fractions) > len(alphabet) / 2:
        raise ValueError(
            f"The sequences hold {len(alphabet)} different numbers among {n_symbols}: measurements "
            "rather than symbols. With a constant cost nearly all pairs would have the same "
            "distance. Time series need an elastic measure ('dtw', 'msm', Elastic(...)), or "
            "EditDistance(substitution='absolute'); if they are names, pass them as strings."
        )


def _as_text(sequences, alphabet):
    """Sequences as strings, one character a code: what rapidfuzz is fastest with, and exact.

    It would hash other symbols, and hashes can collide.
    """
    if isinstance(sequences[0], str):
        return sequences
    if len(alphabet) > 0x110000:
        raise ValueError(f"{len(alphabet)} different symbols are too many; 1114112 is the limit.")
    return ["".join(chr(alphabet[symbol]) for symbol in x) for x in sequences]
