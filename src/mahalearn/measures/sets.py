"""The Jaccard (Tanimoto) distance of sets and of bit vectors."""

import numbers
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Objects
from ._objects import as_floats, named
from .base import Measure, Prepared


@dataclass(frozen=True)
class _Bits(Prepared):
    """The sizes of sets, and the sets as rows of a sparse or dense matrix of zeros and ones."""

    sizes: np.ndarray
    rows: object


class Jaccard(Measure):
    """Jaccard distance of sets, or of bit vectors such as molecular fingerprints (Tanimoto).

    d(A, B) = 1 − |A ∩ B| / |A ∪ B|, and 0 for two empty sets. It is a metric, and 1 − d is a
    positive semidefinite kernel [1]_.

    Objects are sets (``set``, ``frozenset``, or a list of words), or the rows of an array of zeros
    and ones, which may be sparse. Bits and sets cannot be mixed.

    Read more in the :doc:`user guide </measures>`.

    See Also
    --------
    mahalearn.measures.JensenShannon : Histograms.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] M. Bouchard, A.-L. Jousselme and P.-E. Doré, A proof for the positive definiteness of the
       Jaccard index matrix, International Journal of Approximate Reasoning 54, 2013.

    Examples
    --------
    >>> from mahalearn.measures import Jaccard
    >>> Jaccard()({"red", "round", "small"}, {"red", "square", "small"})
    0.5
    >>> Jaccard().between([[1, 1, 0, 1], [1, 0, 0, 1]]).round(2).tolist()
    [[0.0, 0.33], [0.33, 0.0]]
    """

    def prepare(self, X: Objects, Y: Objects | None = None) -> tuple[Any, Any]:
        """Check the sets and count their members, see Measure."""
        sides = [named(X)] if Y is None else [named(X), named(Y, of_columns=True)]
        if any(_is_set(x) for _, x in chain.from_iterable(sides)):
            matrices = _incidence([[_as_set(x, name) for name, x in side] for side in sides])
        else:
            rows = [[_as_bits(x, name) for name, x in side] for side in sides]
            _check_widths(sides, rows)
            matrices = [np.array(side) for side in rows]
        P, *Q = (_Bits(np.asarray(M.sum(axis=1)).ravel(), M) for M in matrices)
        return P, Q[0] if Q else P

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        common = P.rows @ Q.rows.T
        common = common.toarray() if sparse.issparse(common) else common
        union = np.add.outer(P.sizes, Q.sizes) - common
        return np.where(union > 0, 1 - common / np.where(union > 0, union, 1), 0.0)


def _is_vector(x):
    """True for a row of numbers, which are bits."""
    row = isinstance(x, list | tuple | np.ndarray) and np.iterable(x) and len(x) > 0
    numeric = row and all(isinstance(value, numbers.Number | np.bool_) for value in x)
    return numeric or sparse.issparse(x)


def _is_set(x):
    """True for a set or a list of words."""
    return isinstance(x, set | frozenset) or (
        isinstance(x, list | tuple) and len(x) > 0 and not _is_vector(x)
    )


def _as_set(x, name):
    """An object among sets as a set."""
    if _is_vector(x):
        raise ValueError(
            f"{name} is a vector of numbers, others are sets; bits and sets cannot be mixed. If "
            "the numbers are members of a set, pass set(...); the places of the bits that are "
            "set: set(numpy.flatnonzero(bits).tolist())."
        )
    if isinstance(x, str | bytes | dict) or not np.iterable(x):
        raise ValueError(
            f"{name} must be a set of hashable members; got {type(x).__name__} {str(x)[:40]!r}. "
            "For the letters or words of a text pass set(text) or set(text.split())."
        )
    try:
        return set(x)
    except TypeError:
        raise ValueError(
            f"{name} has members that are not hashable; make them words, numbers or tuples."
        ) from None


def _as_bits(x, name):
    """An object as a row of zeros and ones."""
    what = "a set or a vector of zeros and ones"
    row = as_floats(x, what, name)
    if row.ndim != 1:
        raise ValueError(f"{name} must be {what}; got {type(x).__name__} {str(x)[:40]!r}.")
    if not np.isin(row, (0, 1)).all():
        raise ValueError(
            f"{name} has values other than 0 and 1; the Jaccard distance compares bits or sets. "
            "Packed bits: numpy.unpackbits; members of a set: set(...)."
        )
    return row


def _check_widths(sides, rows):
    """All rows of bits must be as long as the first."""
    first = rows[0][0]
    for (name, _), row in zip(chain.from_iterable(sides), chain.from_iterable(rows), strict=True):
        if len(row) != len(first):
            raise ValueError(
                f"{name} has {len(row)} bits, the first has {len(first)}; they must agree. If the "
                "numbers are members of a set, pass set(...)."
            )


def _incidence(sides):
    """Sparse matrices of zeros and ones over the members of all sets."""
    members = dict.fromkeys(chain.from_iterable(chain.from_iterable(sides)))
    codes = {member: code for code, member in enumerate(members)}
    matrices = []
    for sets in sides:
        columns = [codes[member] for x in sets for member in x]
        starts = np.cumsum([0, *(len(x) for x in sets)])
        shape = (len(sets), max(1, len(codes)))
        matrices.append(sparse.csr_array((np.ones(len(columns)), columns, starts), shape=shape))
    return matrices
