"""A sample of rows that come in parts: those with the smallest pseudo-random numbers."""

from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .._sparse import is_sparse, joined
from .._validation import take

# Rows of a sample.
SAMPLE_ROWS = 20_000
# However rare a class, this many of its rows are kept, if it has them.
_LEAST_OF_CLASS = 200


def changed(thing, **attributes):
    """A copy of an object with other attributes."""
    out = object.__new__(type(thing))
    out.__dict__ = {**vars(thing), **attributes}
    return out


@dataclass
class RowSample:
    """The rows with the smallest pseudo-random numbers.

    Every row has a pseudo-random number, a function of its position and the seed. The rows with the
    smallest `size` numbers are kept, and of every class at least the smallest few. Within a class
    that is a uniform sample without replacement. Rows stand in the order of their numbers, `keys`;
    values: their KernelRows, where these are known.
    """

    size: int
    seed: int = 0
    keys: np.ndarray = field(default_factory=partial(np.empty, 0, np.uint64))
    codes: np.ndarray = field(default_factory=partial(np.empty, 0, np.intp))
    folds: np.ndarray = field(default_factory=partial(np.empty, 0, np.intp))
    rows: Any = None
    values: Any = None

    def __len__(self):
        return len(self.keys)

    def __getstate__(self):
        return {**vars(self), "values": None}

    def add(self, X, codes, folds, start, *, limit=None):
        """Offer rows at the positions start, start + 1, …

        limit: the largest number of a row that the sample of all parts keeps, where that is known
        (`key_limit`). A part then keeps few rows, and what is merged is the same.
        """
        keys = random_keys(np.arange(start, start + len(X)), self.seed)
        folds = np.zeros(len(X), np.intp) if folds is None else folds
        if limit is None and len(self) >= self.size:
            limit = np.sort(self.keys)[self.size - 1]
        if limit is not None:  # most rows have no chance: do not copy them
            chance = np.flatnonzero(self._chance(keys, codes, limit))
            X, keys, codes, folds = take(X, chance), keys[chance], codes[chance], folds[chance]
        self._take_in(keys, codes, folds, X)

    def _chance(self, keys, codes, limit):
        """Which rows may be kept: up to the limit, and of each class the smallest few."""
        chance = keys <= limit
        for j in np.flatnonzero(np.bincount(codes)):
            members, sampled = codes == j, self.keys[self.codes == j]
            if len(sampled) >= _LEAST_OF_CLASS:
                members &= keys < np.partition(sampled, _LEAST_OF_CLASS - 1)[_LEAST_OF_CLASS - 1]
            members = np.flatnonzero(members)
            if len(members) > _LEAST_OF_CLASS:
                smallest = np.argpartition(keys[members], _LEAST_OF_CLASS - 1)
                members = members[smallest[:_LEAST_OF_CLASS]]
            chance[members] = True
        return chance

    def _take_in(self, keys, codes, folds, rows):
        keys = np.concatenate([self.keys, keys])
        codes, folds = np.concatenate([self.codes, codes]), np.concatenate([self.folds, folds])
        order = np.argsort(keys, kind="stable")
        index = order[leading(codes[order], self.size)]
        self.rows = join_rows(self.rows, rows, index)
        self.keys, self.codes, self.folds = keys[index], codes[index], folds[index]
        self.values = None

    def merge(self, other):
        """The sample of both."""
        both = replace(self)
        both._take_in(other.keys, other.codes, other.folds, other.rows)
        return both

    def places(self, n):
        """Where each of n rows at the positions 0, 1, … stands, if the sample holds them all."""
        return np.searchsorted(self.keys, random_keys(np.arange(n), self.seed))

    def select(self, index):
        """Some of the rows, by their positions or a mask."""
        index = np.arange(len(self))[index]
        return replace(
            self,
            keys=self.keys[index],
            codes=self.codes[index],
            folds=self.folds[index],
            rows=take(self.rows, index),
            values=None if self.values is None else self.values.select(index),
        )

    @property
    def queries(self):
        """The rows as queries: by their kernel rows, where these are known."""
        return self.rows if self.values is None else self.values


def leading(codes, size):
    """Mask of the first rows of a sample, and of the first few of each class."""
    first = np.arange(len(codes)) < size
    for j in np.unique(codes):
        first[np.flatnonzero(codes == j)[:_LEAST_OF_CLASS]] = True
    return first


def in_proportion(codes, counts):
    """Positions of as many rows of a sample as give classes of these sizes their shares.

    codes: the class of each row, in an order that does not depend on it.
    """
    sizes = np.bincount(codes, minlength=len(counts))
    most = np.maximum(np.round((sizes / counts).min() * counts).astype(int), 1)
    place = np.zeros(len(codes), int)
    for j, size in enumerate(sizes):
        place[codes == j] = np.arange(size)
    return np.flatnonzero(place < most[codes])


def random_keys(positions, seed):
    """Pseudo-random 64-bit numbers of positions (splitmix64)."""
    with np.errstate(over="ignore"):
        z = positions.astype(np.uint64) + np.uint64(seed * 0x2545F4914F6CDD1D % 2**64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def key_limit(n, size, seed=0):
    """The largest of the `size` smallest numbers that n rows have; None if all are kept."""
    if n <= size:
        return None
    smallest = np.empty(0, np.uint64)
    for start in range(0, n, 2**20):
        keys = random_keys(np.arange(start, min(start + 2**20, n)), seed)
        if len(smallest) == size:
            keys = keys[keys < smallest[-1]]
        smallest = np.sort(np.concatenate([smallest, keys]))[:size]
    return smallest[-1]


def join_rows(a, b, index):
    """Rows at positions of a and b together, whatever holds them; a may be None."""
    n = 0 if a is None else len(a)
    if n == 0:
        return take(b, index)
    if is_sparse(a) or is_sparse(b):
        return joined(a, b, index)
    if hasattr(a, "columns"):
        return take(_concat(a)([a, b]), index)
    if hasattr(a, "shape") and hasattr(b, "shape") and a.shape[1:] == b.shape[1:]:
        out = np.empty((len(index), *a.shape[1:]), np.result_type(a, b))
        first = index < n
        out[first], out[~first] = a[index[first]], b[index[~first] - n]
        return out
    return [a[i] if i < n else b[i - n] for i in index]


def _concat(frame):
    """The function of a frame's library that puts frames one below the other."""
    library = import_module(type(frame).__module__.partition(".")[0])
    return getattr(library, "concat_tables", None) or library.concat


def random_folds(n_folds, positions):
    """Folds of rows, pseudo-random functions of their positions."""
    return (random_keys(positions, 1) % np.uint64(n_folds)).astype(np.intp)


def check_rows(X, vectors=True, name="X"):
    """A batch of objects; where the kernel takes vectors, a finite table of numbers."""
    if not vectors or is_sparse(X):  # which was checked where it was made
        return X
    X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must be a two-dimensional table of numbers; got {X.dtype} of shape {X.shape}."
        )
    # The sum is not finite if a value is not; it may overflow, too.
    if not np.isfinite(X.sum(dtype=float)) and not np.isfinite(X).all():
        raise ValueError(
            f"{name} contains NaN or infinite values; impute or drop those rows first."
        )
    return X if X.dtype == np.float32 else X.astype(float, copy=False)  # whole numbers overflow
