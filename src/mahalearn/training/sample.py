"""A random sample of rows that does not depend on how they were divided into parts."""

import numpy as np

from .._sparse import is_sparse
from .._validation import take

# Rows of a sample.
SAMPLE_ROWS = 20_000
# However rare a class, this many of its rows are kept, if it has them.
_LEAST_OF_CLASS = 200


class RowSample:
    """The rows with the smallest pseudo-random numbers.

    Every row has a pseudo-random number, a function of its position and the seed. The rows with the
    smallest `size` numbers are kept, and of every class at least the smallest few. Within a class
    that is a uniform sample without replacement.
    """

    def __init__(self, size, seed=0, keys=(), codes=(), folds=(), rows=None):
        self.size = size
        self.seed = seed
        self.keys = np.asarray(keys, np.uint64)
        self.codes = np.asarray(codes, np.intp)
        self.folds = np.asarray(folds, np.intp)
        self.rows = rows

    def __len__(self):
        return len(self.keys)

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
        new = RowSample(self.size, self.seed, keys, codes, folds, X)
        vars(self).update(vars(self.merge(new)))

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

    def merge(self, other):
        """The sample of both."""
        keys, codes, folds = (
            np.concatenate(pair)
            for pair in (
                (self.keys, other.keys),
                (self.codes, other.codes),
                (self.folds, other.folds),
            )
        )
        order = np.argsort(keys, kind="stable")
        keep = np.zeros(len(keys), bool)
        keep[order[: self.size]] = True
        for j in np.unique(codes):
            of_class = order[codes[order] == j]
            keep[of_class[:_LEAST_OF_CLASS]] = True
        index = order[keep[order]]
        rows = _join(self.rows, other.rows, index)
        return RowSample(self.size, self.seed, keys[index], codes[index], folds[index], rows)

    def places(self, n):
        """Where each of n rows at the positions 0, 1, … stands, if the sample holds them all."""
        return np.searchsorted(self.keys, random_keys(np.arange(n), self.seed))

    def select(self, index):
        """Some of the rows, by their positions or a mask."""
        index = np.arange(len(self))[index]
        return RowSample(
            self.size,
            self.seed,
            self.keys[index],
            self.codes[index],
            self.folds[index],
            take(self.rows, index),
        )

    def with_rows(self, rows):
        """The same with other columns."""
        return RowSample(self.size, self.seed, self.keys, self.codes, self.folds, rows)

    def with_codes(self, codes):
        """The same with other numbers of the classes."""
        return RowSample(self.size, self.seed, self.keys, codes, self.folds, self.rows)


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


def _join(a, b, index):
    """Rows at positions of a and b together, whatever holds them."""
    n = 0 if a is None else len(a)
    if n == 0:
        return take(b, index)
    if is_sparse(a):
        return a.joined(b, index)
    if hasattr(a, "iloc"):
        import pandas as pd

        return pd.concat([a, b]).iloc[index]
    if hasattr(a, "shape") and hasattr(b, "shape"):
        out = np.empty((len(index), *a.shape[1:]), np.result_type(a, b))
        first = index < n
        out[first], out[~first] = a[index[first]], b[index[~first] - n]
        return out
    return [a[i] if i < n else b[i - n] for i in index]


def random_folds(n_folds, positions):
    """Folds of rows, pseudo-random functions of their positions."""
    return (random_keys(positions, 1) % np.uint64(n_folds)).astype(np.intp)
