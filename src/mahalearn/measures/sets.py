"""The Jaccard (Tanimoto) distance of sets and of bit vectors."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Objects
from ._ragged import label
from .base import Measure, Prepared, object_list


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
        sides = [(object_list(X), False)] + ([] if Y is None else [(object_list(Y), True)])
        if any(_is_set(x) for objects, _ in sides for x in objects):
            _refuse_bits_among_sets(sides)
            matrices = _incidence([_sets(*side) for side in sides])
        else:
            matrices = [_bit_rows(*side) for side in sides]
            widths = {M.shape[1] for M in matrices}
            if len(widths) > 1:
                raise ValueError(
                    f"The bit vectors of the rows have {matrices[0].shape[1]} bits, those of the "
                    f"columns {matrices[1].shape[1]}; they must agree."
                )
        P, *Q = (_Bits(np.asarray(M.sum(axis=1)).ravel(), M) for M in matrices)
        return P, Q[0] if Q else P

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        common = P.rows @ Q.rows.T
        common = common.toarray() if sparse.issparse(common) else common
        union = np.add.outer(P.sizes, Q.sizes) - common
        return np.where(union > 0, 1 - common / np.where(union > 0, union, 1), 0.0)


def _is_set(x):
    """True if an object is a set or a list of words, False for a vector of bits."""
    if isinstance(x, (set, frozenset)):
        return True
    words = isinstance(x, (list, tuple)) and len(x)
    return bool(words) and not all(isinstance(v, (numbers.Number, np.number)) for v in x)


def _refuse_bits_among_sets(sides):
    """Refuse vectors of numbers beside sets: they could be members or bits."""
    for objects, of_columns in sides:
        for i, x in enumerate(objects):
            vector = sparse.issparse(x) or (isinstance(x, np.ndarray) and x.dtype.kind in "biuf")
            if vector or (isinstance(x, (list, tuple)) and len(x) and not _is_set(x)):
                raise ValueError(
                    f"{label(i, of_columns)} is a vector of numbers, others are sets; bits and "
                    "sets cannot be mixed. If the numbers are members of a set, pass set(...); "
                    "the places of the bits that are set: set(numpy.flatnonzero(bits).tolist())."
                )


def _sets(objects, of_columns):
    sets = []
    for i, x in enumerate(objects):
        if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__iter__"):
            raise ValueError(
                f"{label(i, of_columns)} must be a set of hashable members; got "
                f"{type(x).__name__} {str(x)[:40]!r}. For the letters or words of a text pass "
                "set(text) or set(text.split())."
            )
        try:
            sets.append(set(x))
        except TypeError:
            raise ValueError(
                f"{label(i, of_columns)} has members that are not hashable; make them words, "
                "numbers or tuples."
            ) from None
    return sets


def _incidence(sides):
    """Sparse matrices of zeros and ones over the members of all sets."""
    members = {}
    for sets in sides:
        for x in sets:
            for member in x:
                members.setdefault(member, len(members))
    matrices = []
    for sets in sides:
        columns = [np.array([members[v] for v in x], dtype=np.intp) for x in sets]
        starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
        shape = (len(sets), max(1, len(members)))
        values = np.ones(starts[-1])
        matrices.append(sparse.csr_array((values, np.concatenate(columns), starts), shape=shape))
    return matrices


def _bit_rows(objects, of_columns):
    first = None
    rows = []
    for i, x in enumerate(objects):
        try:
            row = np.asarray(x.toarray().ravel() if sparse.issparse(x) else x, dtype=float)
        except (TypeError, ValueError):
            row = None
        if row is None or isinstance(x, (str, bytes)) or row.ndim != 1:
            raise ValueError(
                f"{label(i, of_columns)} must be a set or a vector of zeros and ones; got "
                f"{type(x).__name__} {str(x)[:40]!r}."
            )
        if not np.isin(row, (0, 1)).all():
            raise ValueError(
                f"{label(i, of_columns)} has values other than 0 and 1; the Jaccard distance "
                "compares bits or sets. Packed bits: numpy.unpackbits; members of a set: set(...)."
            )
        first = row if first is None else first
        if len(row) != len(first):
            raise ValueError(
                f"{label(i, of_columns)} has {len(row)} bits, the first has {len(first)}; they "
                "must agree. If the numbers are members of a set, pass set(...)."
            )
        rows.append(row)
    return np.array(rows)
