"""What one pass over the training data leaves behind: moments of kernel rows, and a sample of rows.

A `LandmarkPlan` says what is collected; `LandmarkStatistics` of parts of the data, made from the
same plan, merge in any order. Models of every method are made of them (see `_landmark_models`).
"""

import numpy as np

from .._validation import check_count, check_memory, known_codes, take
from ..formulas.landmarks import (
    add_squares,
    add_sums,
    group_moments,
    leading_landmarks,
    merge_landmark_moments,
    moments_of_folds,
    moments_of_groups,
    no_landmark_moments,
)
from ..kernels.landmark_rows import LandmarkKernel

# Rows kept for what moments do not tell: offsets by errors, how many landmarks are enough.
SAMPLE_ROWS = 20_000
# However rare a class, this many of its rows are kept, if it has them.
_LEAST_OF_CLASS = 200
# Bytes of kernel rows that are computed before they are multiplied.
_BLOCK_BYTES = 2**24
# Blocks of float32 products that are added up in float32.
_FLOAT32_BLOCKS = 4
# Rows of an array in memory that are passed on at a time.
BATCH_ROWS = 65_536


class LandmarkPlan:
    """What is collected: kernel rows against landmarks, by class (and fold), and a sample.

    Parameters
    ----------
    kernel : fitted kernel, or None where objects are given by their kernel rows
    landmarks : the landmarks, or their own kernel rows (m, m) where kernel is None
    classes : (c,) sorted labels
    dtype : of the kernel rows; sums are in float64 either way
    n_folds : number of folds whose moments are kept apart
    sample_rows : number of rows to keep
    seed : which rows, an int
    """

    def __init__(
        self,
        kernel,
        landmarks,
        classes,
        *,
        dtype=np.float64,
        n_folds=1,
        sample_rows=SAMPLE_ROWS,
        seed=0,
    ):
        self.rows = LandmarkKernel(kernel, landmarks, dtype)
        self.classes = np.asarray(classes)
        self.n_folds = check_count(n_folds, "n_folds")
        self.sample_rows = check_count(sample_rows, "sample_rows")
        self.seed = int(seed)
        m, groups = len(self.rows), self.n_folds * len(self.classes)
        check_memory(
            (groups + 3) * m**2,
            f"The moments of {m} landmarks, {len(self.classes)} classes and {self.n_folds} folds",
            "Take fewer landmarks, or fewer folds.",
        )
        self.vectors = getattr(kernel, "requires_vector_input", True)
        self.gram = self.rows.gram()
        # Kernel rows of objects are near those of the landmarks: little is lost about their mean.
        self.origin = self.gram.mean(axis=0)

    def first(self, m):
        """The plan with the first m landmarks only."""
        return self.changed(
            rows=self.rows.first(m), gram=self.gram[:m, :m].copy(), origin=self.origin[:m].copy()
        )

    def changed(self, **attributes):
        """The plan with other attributes."""
        out = object.__new__(LandmarkPlan)
        out.__dict__ = {**self.__dict__, **attributes}
        return out

    def statistics(self):
        """Empty statistics, to add rows to."""
        return LandmarkStatistics(
            self,
            no_landmark_moments(self.n_folds * len(self.classes), self.origin),
            RowSample(self.sample_rows, self.seed),
            0,
        )


class LandmarkStatistics:
    """Moments and a sample of the rows seen so far.

    Parameters
    ----------
    plan : LandmarkPlan
    moments : LandmarkMoments, n_folds × c groups
    sample : RowSample
    n_rows : number of rows seen
    """

    def __init__(self, plan, moments, sample, n_rows):
        self.plan = plan
        self.moments = moments
        self.sample = sample
        self.n_rows = n_rows
        self._buffers = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_buffers"}

    def __setstate__(self, state):
        vars(self).update(state, _buffers=None)

    @property
    def counts(self):
        """Number of rows of each class, (c,)."""
        return self.moments.count.reshape(self.plan.n_folds, -1).sum(axis=0)

    def add(self, X, y, folds=None, start=None, *, limit=None):
        """Add labelled objects; folds (b,) their folds, start the position of the first one.

        Positions decide which rows the sample keeps; None counts on from the rows seen so far.
        limit: as in `RowSample.add`.
        """
        plan = self.plan
        X, y = check_rows(X, plan.vectors), np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(
                f"y must hold a label for each of the {len(X)} objects of a batch; got shape "
                f"{y.shape}."
            )
        if not len(X):
            return self
        codes = known_codes(y, plan.classes)
        groups = codes
        if plan.n_folds > 1:
            folds = check_folds(folds, len(X), plan.n_folds)
            groups = folds * len(plan.classes) + codes
        self._add_moments(X, groups)
        start = self.n_rows if start is None else start
        self.sample.add(X, codes, folds, start, limit=limit)
        self.n_rows += len(X)
        return self

    def _add_moments(self, X, groups):
        rows, moments = self.plan.rows, self.moments
        m = len(rows)
        block = int(np.clip(_BLOCK_BYTES // (m * rows.dtype.itemsize), 256, 8192)) // 256 * 256
        if self._buffers is None:
            scratch = np.zeros((m, m), np.float32) if rows.dtype == np.float32 else None
            self._buffers = np.empty((block, m), rows.dtype), scratch
        buffer, scratch = self._buffers
        origin = moments.origin.astype(rows.dtype)
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups, minlength=len(moments.count))
        stop = 0
        for group in np.flatnonzero(counts):
            start, stop = stop, stop + counts[group]
            for i, first in enumerate(range(start, stop, block)):
                part = take(X, order[first : min(first + block, stop)])
                k = rows.rows(part, out=buffer[: len(part)], origin=origin)
                own = rows.self_similarities(part)
                add_sums(moments, group, k, np.nan if own is None else own.sum())
                if scratch is None:
                    add_squares(moments.squares[group], k)
                    continue
                # In float32 a few blocks are added up before they go to the sums in float64.
                add_squares(scratch, k, fresh=i % _FLOAT32_BLOCKS == 0)
                if (i + 1) % _FLOAT32_BLOCKS == 0 or first + block >= stop:
                    moments.squares[group] += scratch
        if not np.isfinite(moments.sums).all():
            raise ValueError(
                "The kernel gave NaN or infinite values; check its inputs and scaling."
            )

    def merge(self, other):
        """Statistics of both parts."""
        if (
            self.plan.n_folds != other.plan.n_folds
            or self.plan.rows.dtype != other.plan.rows.dtype
            or not np.array_equal(self.plan.classes, other.plan.classes)
        ):
            raise ValueError("Statistics merge only if they were made from the same plan.")
        return LandmarkStatistics(
            self.plan,
            merge_landmark_moments(self.moments, other.moments),
            self.sample.merge(other.sample),
            self.n_rows + other.n_rows,
        )

    def first(self, m):
        """Statistics as if only the first m landmarks were there."""
        if m == len(self.plan.rows):
            return self
        sample = self.sample
        if self.plan.rows.kernel is None:
            sample = sample.with_rows(sample.rows[:, :m])
        moments = leading_landmarks(self.moments, m)
        return LandmarkStatistics(self.plan.first(m), moments, sample, self.n_rows)

    def of_folds(self, kept):
        """Statistics of some of the folds together."""
        kept = list(kept)
        sample = self.sample
        if len(kept) < self.plan.n_folds:
            sample = sample.select(np.isin(sample.folds, kept))
        moments = moments_of_folds(self.moments, self.plan.n_folds, kept)
        plan = self.plan.changed(n_folds=1)
        return LandmarkStatistics(plan, moments, sample, int(moments.count.sum()))

    def without_fold(self, fold):
        """Statistics of all folds but one."""
        return self.of_folds(f for f in range(self.plan.n_folds) if f != fold)

    def all_folds(self):
        """Statistics of all folds together."""
        return self if self.plan.n_folds == 1 else self.of_folds(range(self.plan.n_folds))

    def seen(self):
        """Positions of the classes that have rows, and the statistics of these classes alone."""
        present = np.flatnonzero(self.counts)
        if len(present) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; the rows so far are of the "
                f"classes {self.plan.classes[present].tolist()!r}."
            )
        if len(present) == len(self.plan.classes):
            return present, self
        plan = self.plan.changed(classes=self.plan.classes[present])
        sample = self.sample.with_codes(np.searchsorted(present, self.sample.codes))
        moments = moments_of_groups(self.moments, present)
        return present, LandmarkStatistics(plan, moments, sample, self.n_rows)

    def as_rows(self):
        """The same for objects that are given by their kernel rows from now on."""
        plan = self.plan
        rows = plan.rows.rows(self.sample.rows)
        plan = plan.changed(rows=LandmarkKernel(None, plan.gram, plan.rows.dtype), vectors=True)
        return LandmarkStatistics(plan, self.moments, self.sample.with_rows(rows), self.n_rows)

    def groups(self):
        """Mean and scatter of each class, about its own mean."""
        empty = np.flatnonzero(self.moments.count == 0)
        if len(empty):
            raise ValueError(
                f"No object of the classes {self.plan.classes[empty].tolist()!r} has been seen "
                "(outside the fold left out); every class needs one."
            )
        return [group_moments(self.moments, j) for j in range(len(self.plan.classes))]

    def sample_weights(self):
        """How many rows a row of the sample stands for, by class, (c,)."""
        kept = np.bincount(self.sample.codes, minlength=len(self.plan.classes))
        return self.counts / np.maximum(kept, 1)


class RowSample:
    """A random sample of rows that does not depend on how they were divided into parts.

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
            own, kept = codes == j, self.keys[self.codes == j]
            if len(kept) >= _LEAST_OF_CLASS:
                own &= keys < np.partition(kept, _LEAST_OF_CLASS - 1)[_LEAST_OF_CLASS - 1]
            own = np.flatnonzero(own)
            if len(own) > _LEAST_OF_CLASS:
                own = own[np.argpartition(keys[own], _LEAST_OF_CLASS - 1)[:_LEAST_OF_CLASS]]
            chance[own] = True
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
        kept = order[keep[order]]
        rows = _join(self.rows, other.rows, kept)
        return RowSample(self.size, self.seed, keys[kept], codes[kept], folds[kept], rows)

    def select(self, mask):
        """Some of the rows."""
        index = np.flatnonzero(mask)
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

    def in_proportion(self, counts):
        """As many of the rows as give classes of these sizes their shares."""
        kept = np.bincount(self.codes, minlength=len(counts))
        share = (kept / counts).min()
        most = np.maximum(np.round(share * counts).astype(int), 1)
        place = np.full(len(self), 0)
        for j in range(len(counts)):
            place[self.codes == j] = np.arange(kept[j])
        return self.select(place < most[self.codes])


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
    if hasattr(a, "iloc"):
        import pandas as pd

        return pd.concat([a, b]).iloc[index]
    if hasattr(a, "shape") and hasattr(b, "shape"):
        out = np.empty((len(index), *a.shape[1:]), np.result_type(a, b))
        first = index < n
        out[first], out[~first] = a[index[first]], b[index[~first] - n]
        return out
    return [a[i] if i < n else b[i - n] for i in index]


def check_rows(X, vectors=True, name="X"):
    """A batch of objects; where the kernel takes vectors, a finite table of numbers."""
    if not vectors:
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
    return X


def check_folds(folds, n, n_folds):
    """The fold of each object, from 0."""
    values = np.asarray(folds) if folds is not None else None
    if values is None or values.shape != (n,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"folds must hold a whole number from 0 to {n_folds - 1} for each of the {n} objects."
        )
    if n and not 0 <= values.min() <= values.max() < n_folds:
        raise ValueError(
            f"folds must be from 0 to {n_folds - 1}; got {values.min()} to {values.max()}."
        )
    return values.astype(np.intp)


def as_batches(X, y=None, batch_rows=BATCH_ROWS):
    """Batches (X, y) of arrays, memory maps or lists; or of an iterable of such pairs."""
    if y is None:
        yield from X
        return
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} objects and y {len(y)} labels; one for each is needed.")
    for start in range(0, len(X), batch_rows):
        part = slice(start, start + batch_rows)
        yield take(X, part), np.asarray(y[part])


def collect(plan, X, y=None, folds=None):
    """Statistics of all batches, one after the other.

    folds: the fold of each row, (n,), or a function of their positions.
    """
    statistics = plan.statistics()
    for rows, labels in as_batches(X, y):
        here = None
        if folds is not None:
            positions = np.arange(statistics.n_rows, statistics.n_rows + len(rows))
            here = folds(positions) if callable(folds) else folds[positions]
        statistics.add(rows, labels, here)
    if not statistics.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return statistics


def random_folds(n_folds, positions):
    """Folds of rows, pseudo-random functions of their positions."""
    return (random_keys(positions, 1) % np.uint64(n_folds)).astype(np.intp)


def merge_tree(parts):
    """Merge parts pairwise, neighbours first: the order depends on their number alone."""
    parts = list(parts)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0].merge(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]
