"""Edit distance of strings and of sequences of symbols, numbers or points."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from .._typing import Objects
from .._validation import check_choice, check_memory, check_positive
from ._edit_loops import ABSOLUTE, ANGULAR, CONSTANT, EUCLIDEAN, TABLE, edit_block
from ._ragged import Ragged, check_not_empty, join, label, ragged_numbers
from .base import Measure, Prepared, object_list

NUMERIC = {"absolute": ABSOLUTE, "angular": ANGULAR, "euclidean": EUCLIDEAN}
NORMALIZE = ("longer", "sum", None)
# Fractional numbers are no symbols if more than this share of them, among at least so many, differ;
# nor if there are more different ones than an alphabet of codes has (measurements to one decimal).
_DISTINCT, _FEW_SYMBOLS, _ALPHABET = 0.9, 20, 30


@dataclass(frozen=True)
class _Coded(Prepared):
    """Sequences of symbols as codes, and the substitution costs of all codes."""

    common = ("table",)
    codes: Ragged
    table: np.ndarray


class EditDistance(Measure):
    """Edit distance of strings, or of sequences of symbols, numbers or points.

    The least total cost of insertions, deletions and substitutions that turn the first sequence
    into the second. rapidfuzz does it where the costs are whole numbers, compiled loops otherwise
    (``pip install "mahalearn[measures]"``); without these libraries numpy does.

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
        for name in ("insertion", "deletion"):
            _check_cost(getattr(self, name), name)
        X, Y = object_list(X), None if Y is None else object_list(Y)
        if isinstance(self.substitution, str):
            name = check_choice(self.substitution, "substitution", tuple(NUMERIC))
            if name == "angular":
                check_positive(self.period, "period")
            what = "a sequence of numbers" if name != "euclidean" else "an array of points in rows"
            P = ragged_numbers(X, 2 if name == "euclidean" else 1, what)
            return P, P if Y is None else ragged_numbers(Y, P.values.ndim, what, P)
        if not callable(self.substitution):
            _check_cost(self.substitution, "substitution")
        X, Y = _symbols(X), None if Y is None else _symbols(Y, of_columns=True)
        alphabet = _alphabet(X, Y)
        if not callable(self.substitution):
            _refuse_measurements(X if Y is None else [*X, *Y], alphabet)
        if self._whole_costs() and _rapidfuzz() is not None:
            P = _as_text(X, alphabet)
            return P, P if Y is None else _as_text(Y, alphabet)
        table = self._table(alphabet)
        P = _Coded(_as_codes(X, alphabet), table)
        return P, P if Y is None else _Coded(_as_codes(Y, alphabet), table)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        if isinstance(P, list):
            lengths = np.array([len(x) for x in P]), np.array([len(y) for y in Q])
            values = self._with_rapidfuzz(P, Q)
        else:
            mode, extra = self._mode()
            table = P.table if isinstance(P, _Coded) else np.zeros((1, 1))
            P, Q = (x.codes if isinstance(x, _Coded) else x for x in (P, Q))
            lengths = P.sizes, Q.sizes
            costs = (float(self.deletion), float(self.insertion), extra)
            values = edit_block(P, Q, mode, costs, table)
        match check_choice(self.normalize, "normalize", NORMALIZE):
            case "longer":
                return values / np.maximum.outer(*lengths)
            case "sum":
                return values / np.add.outer(*lengths)
        return values

    def _mode(self):
        if isinstance(self.substitution, str):
            name = check_choice(self.substitution, "substitution", tuple(NUMERIC))
            return NUMERIC[name], float(self.period)
        return (TABLE, 0.0) if callable(self.substitution) else (CONSTANT, float(self.substitution))

    def _whole_costs(self):
        costs = (self.insertion, self.deletion, self.substitution)
        return not callable(self.substitution) and all(float(c).is_integer() for c in costs)

    def _with_rapidfuzz(self, P, Q):
        process, distance = _rapidfuzz()
        weights = (int(self.insertion), int(self.deletion), int(self.substitution))
        return process.cdist(
            P, Q, scorer=distance, scorer_kwargs={"weights": weights}, dtype=np.int64
        ).astype(np.float64)

    def _table(self, alphabet):
        """Substitution costs between all symbols, where a function gives them."""
        if not callable(self.substitution):
            return np.zeros((1, 1))
        n = len(alphabet)
        check_memory(n**2, f"A table of the costs of {n} symbols", "Use fewer symbols.")

        def cost(a, b):
            return _check_cost(self.substitution(a, b), "substitution")

        return np.array([[cost(a, b) for b in alphabet] for a in alphabet])


def _check_cost(value, name):
    """A cost: a finite number, not negative."""
    ok = isinstance(value, (numbers.Real, np.number)) and not isinstance(value, (bool, np.bool_))
    if ok and math.isfinite(value) and value >= 0:
        return float(value)
    choices = " (or one of 'absolute', 'angular', 'euclidean', or a function that returns one)"
    raise ValueError(
        f"The cost {name} must be a finite number that is not negative"
        f"{choices if name == 'substitution' else ''}; got {value!r}."
    )


def _rapidfuzz():
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        return None
    return process, Levenshtein.distance


def _kind(symbol):
    """Kind of a symbol; only symbols of one kind can be compared."""
    if isinstance(symbol, (bool, np.bool_)):
        return "truth value"
    return "number" if isinstance(symbol, (numbers.Number, np.number)) else type(symbol).__name__


def _symbols(objects, of_columns=False):
    """Sequences of hashable symbols: strings and bytes as they are, others as lists."""
    sequences = []
    for i, x in enumerate(objects):
        if isinstance(x, str):
            sequences.append(str(x))  # numpy's strings are not quite strings
            continue
        if not hasattr(x, "__len__") or isinstance(x, (dict, set, frozenset)):
            raise ValueError(
                f"{label(i, of_columns)} must be a string or a sequence; got {type(x).__name__}."
            )
        if getattr(x, "ndim", 1) != 1:
            raise ValueError(
                f"{label(i, of_columns)} is an array of shape {x.shape}; sequences of points need "
                "substitution='euclidean' or a list of tuples."
            )
        sequences.append(x.tolist() if hasattr(x, "tolist") else list(x))
    check_not_empty(sequences, of_columns)
    return sequences


def _alphabet(X, Y):
    """{symbol: code} of all sequences, which must be of one type."""
    sequences = X if Y is None else [*X, *Y]
    for x in sequences:
        if isinstance(x, str) != isinstance(sequences[0], str):
            raise ValueError(
                "Strings and other sequences cannot be mixed: some objects are str, others "
                f"{type(x if not isinstance(x, str) else sequences[0]).__name__}. Make them alike, "
                "for example with list(text)."
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
    fractions = (isinstance(s, numbers.Real) and not float(s).is_integer() for s in alphabet)
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


def _as_codes(sequences, alphabet):
    return join([np.array([alphabet[symbol] for symbol in x], dtype=np.float64) for x in sequences])
