"""Training data in memory, in batches, or as dask collections.

Each is a `Source`. A first look at its rows is a `Summary`, from which the kernel and a
`LandmarkPlan` follow; one more pass, `collect`, gives a `LandmarkTraining`.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._lazy import extra_module
from .._validation import (
    check_square,
    check_symmetric,
    is_dask_collection,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.moments import merge
from ..kernels.landmarks import landmark_columns, refuse_to_choose, to_choose
from ..kernels.precomputed import CheckedKernel
from ..kernels.protocol import check_magnitude
from .landmark import LandmarkTraining
from .sample import changed, key_limit
from .summary import SCAN_ROWS, Summary

# Rows of an array in memory that are passed on at a time.
BATCH_ROWS = 65_536
# The column of the labels in a dask dataframe, while features and labels are one table.
_TARGET = "mahalearn target"


class Source:
    """Training data, and a first look at them.

    scanned: its Summary. kernel: that of precomputed values, None where one is learned. landmarks:
    a number, "auto" or the landmarks; for precomputed values positions, or kernel rows. columns: of
    precomputed values, those of the landmarks, where they are known already. X, y: objects and
    labels in memory, where they are. chosen: landmarks that a search has chosen; seed: of its
    choices. folds, sample_folds: where X and y are only a sample, the folds of all rows as a
    function of their positions, and those of the sample.
    """

    scanned: Any = None
    kernel: Any = None
    landmarks: Any = None
    columns: np.ndarray | None = None
    X: Any = None
    y: Any = None
    chosen: Any = None
    seed: int | None = None
    folds: Any = None
    sample_folds: Any = None

    def collect(self, plan, folds=None):
        """The pass: a LandmarkTraining. folds: of each row, or a function of their positions."""
        raise NotImplementedError

    changed = changed

    def splits(self):
        """Pairs of positions (train, test) in a sample."""
        folds = range(self.sample_folds.max() + 1)
        return [
            tuple(map(np.flatnonzero, (self.sample_folds != f, self.sample_folds == f)))
            for f in folds
        ]


class LocalSource(Source):
    """Rows that this process goes through: ``batches()`` starts anew each time.

    Parameters
    ----------
    batches : function that returns an iterator of (X, y), both checked
    vectors : whether objects are rows of numbers
    """

    def __init__(self, batches, vectors, **attributes):
        self.batches = batches
        self.scanned = summarise(batches(), vectors=vectors)
        vars(self).update(attributes)

    def collect(self, plan, folds=None):
        """The pass: a LandmarkTraining."""
        return collect(plan, self.batches(), folds=folds)


def array_source(X, y, landmarks, *, vectors=True):
    """Checked objects in memory."""
    return LocalSource(partial(as_batches, X, y), vectors, landmarks=landmarks, X=X, y=y)


def matrix_source(X, y, landmarks, *, square=True):
    """Checked kernel values; square: the matrix may be that of all objects."""
    check_magnitude(X)
    columns = None
    if to_choose(landmarks):
        refuse_to_choose(X)
    else:
        landmarks, columns = landmark_columns(landmarks, X)
    if square and X.shape[0] == X.shape[1]:
        check_square(X)
        X = check_symmetric(X)
        warn_dissimilarity_as_kernel(X)
        source = array_source(np.arange(len(X)), y, landmarks, vectors=False)
        return source.changed(kernel=CheckedKernel(X), columns=columns)
    if columns is None:
        raise ValueError(
            "To add objects in batches the landmarks of a precomputed kernel must be "
            "given: pass their positions among the rows of the first batch."
        )
    X = X[:, columns]
    return array_source(X, y, X[landmarks]).changed(columns=columns)


def batch_source(batches, landmarks, *, vectors=True, precomputed=False):
    """Checked batches: `batches()` is an iterator of (X, y) that starts anew each time."""
    if not precomputed:
        return LocalSource(batches, vectors, landmarks=landmarks)
    if to_choose(landmarks):
        raise ValueError(
            "To fit a precomputed kernel from batches its landmarks must be given: "
            "pass their positions among the rows of the first batch."
        )
    places: dict[str, Any] = {}

    def columns():
        for X, y in batches():
            if not places:
                at, places["columns"] = landmark_columns(landmarks, X)
                places["landmarks"] = X[np.ix_(at, places["columns"])]
            yield X[:, places["columns"]], y

    return LocalSource(columns, vectors).changed(**places)


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


def summarise(X, y=None, *, vectors=True, seed=0):
    """The summary of arrays or of an iterable of batches (X, y)."""
    out = Summary(seed=seed)
    for rows, labels in as_batches(X, y):
        out.add(rows, labels, vectors=vectors)
    if not out.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return out


def collect(plan, X, y=None, folds=None):
    """The training set of all batches, one after the other.

    folds: the fold of each row, (n,), or a function of their positions.
    """
    training = plan.statistics()
    for rows, labels in as_batches(X, y):
        here = None
        if folds is not None:
            positions = np.arange(training.n_rows, training.n_rows + len(rows))
            here = folds(positions) if callable(folds) else folds[positions]
        training.add(rows, labels, here)
    if not training.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return training


def check_batches(batches, name):
    """An iterable of pairs (X, y) that can be gone through more than once."""
    if batches is None or hasattr(batches, "shape") or isinstance(batches, (str, bytes, dict)):
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if not hasattr(batches, "__iter__"):
        raise ValueError(
            f"X must be a table, a list of objects or an iterable of batches (X, y); got "
            f"{type(batches).__name__}."
        )
    if iter(batches) is batches:
        raise ValueError(
            "The batches are read more than once: pass a list or an object that starts "
            "anew, such as mahalearn.datasets.ParquetBatches, not a generator. For a stream that "
            "comes once use partial_fit."
        )
    return batches


def pairs_of(batches, name):
    """The batches, each checked to be a pair."""
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None; an iterable of "
                "batches must yield pairs (X, y)."
            )
        yield batch


# --- dask -----------------------------------------------------------------------------------------


class DaskSource(Source):
    """Rows of a dask collection: every part is reduced where it is, and the results are merged.

    The merge tree depends on the number of parts alone, so that the result has the same bits
    whatever the number of workers.

    Parameters
    ----------
    X, y : dask collections
    landmarks : as the estimator has them
    sampled : whether the first look keeps a sample of rows

    A sample is drawn by the positions of the rows, so that it needs the lengths of all parts before
    the first of them is looked at. Without one the lengths come with the first look.
    """

    def __init__(self, X, y, landmarks, *, sampled=True):
        self.landmarks = landmarks
        self.parts, self.lengths = dask_parts(X, y)
        self.sampled = sampled
        if sampled and self.lengths is None:
            self.lengths = part_lengths(X, self.parts)
        self._check_lengths()
        self.scanned = self._scan()

    def _scan(self):
        places = [None] * len(self.parts) if self.lengths is None else self._places()
        limit = key_limit(sum(self.lengths), SCAN_ROWS) if self.sampled else None
        summary, lengths = merged_tree(
            [
                delayed(_scan_part)(*part, place=place, limit=limit, sampled=self.sampled)
                for part, place in zip(self.parts, places, strict=True)
            ],
            _merge_scans,
        )
        if self.lengths is None:
            self.lengths = lengths
            self._check_lengths()
        return summary

    def collect(self, plan, folds=None):
        """The pass: LandmarkTraining, in this process."""
        limit = key_limit(sum(self.lengths), plan.sample_rows, plan.seed)
        shared = delayed(plan, traverse=False)
        parts = [
            delayed(_moments_part)(shared, *part, place=place, folds=folds, limit=limit)
            for part, place in zip(self.parts, self._places(), strict=True)
        ]
        return LandmarkTraining(plan, *merged_tree(parts, _merge_moments))

    def _check_lengths(self):
        """Leave out the empty parts, as soon as they are known."""
        if self.lengths is None:
            return
        filled = [i for i, length in enumerate(self.lengths) if length]
        if not filled:
            raise ValueError("The collection has no rows.")
        self.parts = [self.parts[i] for i in filled]
        self.lengths = [int(self.lengths[i]) for i in filled]

    def _places(self):
        """(position of its first row, number of rows) of each part."""
        starts = np.cumsum([0, *self.lengths[:-1]]).tolist()
        return list(zip(starts, self.lengths, strict=True))


def _length(*part):
    return len(part[-1])


def _scan_part(*part, place, limit, sampled):
    """The first look at a part, and the list of its length."""
    X, y = part_arrays(*part)
    start = _start(y, place)
    summary = Summary() if sampled else Summary(sample_rows=None)
    return summary.add(X, y, start, limit=limit), [len(y)]


def _merge_scans(a, b):
    return a[0].merge(b[0]), a[1] + b[1]


def _moments_part(plan, *part, place, folds, limit):
    """Moments, sample and number of rows of a part: its statistics without the plan."""
    X, y = part_arrays(*part)
    start = _start(y, place)
    here = None if folds is None else folds(np.arange(start, start + len(y)))
    with one_thread():
        part = plan.statistics().add(X, y, here, start, limit=limit)
    return part.moments, part.sample, part.n_rows


def _merge_moments(a, b):
    return merge(a[0], b[0]), a[1].merge(b[1]), a[2] + b[2]


def _start(y, place):
    """The position of a part's first row; parts must be as long as they were said to be."""
    if place is None:
        return None
    start, length = place
    if len(y) != length:
        raise ValueError(
            f"The part of the collection that begins at row {start} has {len(y)} rows, and "
            f"{length} were expected: its chunk sizes are wrong, or it has changed. "
            "Persist it, or call compute_chunk_sizes()."
        )
    return start


def merged_tree(parts, combine):
    """Merge delayed parts pairwise, neighbours first, and compute the result."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [delayed(combine)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return compute(parts)[0]


def is_frame(collection):
    """True for a dask dataframe or series, False for an array."""
    return hasattr(collection, "map_partitions")


def example_row(X):
    """One row as those of a dask collection, for checks: names and types of columns."""
    if is_frame(X):
        return X._meta_nonempty.iloc[:1]  # in the second nullable columns have missing values
    return np.zeros((1, X.shape[1]), X.dtype)


def check_dask_table(X):
    """A dask array or dataframe, two-dimensional."""
    if not hasattr(X, "shape") or not hasattr(X, "ndim"):
        raise TypeError(
            f"Of dask's collections only arrays and dataframes are accepted; got "
            f"{type(X).__name__}."
        )
    if X.ndim != 2:
        raise ValueError(f"X must be a table, two-dimensional; got {X.ndim} dimensions.")


def dask_parts(X, y):
    """The parts of labelled rows, and their lengths; None where these are not known yet.

    A part is a tuple of delayed objects: the table of features and labels, or both as arrays.
    :func:`part_arrays` says what it holds.
    """
    check_dask_table(X)
    if y is None:
        raise ValueError("A dask collection needs its labels: pass y, a dask array or series.")
    if not is_dask_collection(y):
        raise TypeError(
            f"With a dask collection X, y must be one, too; got {type(y).__name__}. Use "
            "dask.array.from_array."
        )
    if is_frame(X):
        if not is_frame(y):
            raise TypeError("With a dask dataframe X, y must be a series of the same dataframe.")
        # One table: dask may divide two selections of the same files differently.
        table = X.assign(**{_TARGET: y})
        return [(part,) for part in table.to_delayed()], None
    if is_frame(y) or y.ndim != 1:
        raise TypeError("With a dask array X, y must be a dask array of one dimension.")
    X = X.rechunk({1: -1})
    sized = not np.isnan([X.shape[0], y.shape[0]]).any()
    if sized:
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows and y {len(y)}; one label each is needed.")
        y = y.rechunk((X.chunks[0],))
    # Optimised one by one, features and labels of one source would each read it.
    apart = X.__dask_graph__().keys().isdisjoint(y.__dask_graph__().keys())
    X_parts, y_parts = (
        list(np.ravel(collection.to_delayed(optimize_graph=apart))) for collection in (X, y)
    )
    if len(X_parts) != len(y_parts):
        raise ValueError(f"X has {len(X_parts)} parts and y {len(y_parts)}; rechunk both alike.")
    return list(zip(X_parts, y_parts, strict=True)), list(X.chunks[0]) if sized else None


def part_lengths(X, parts):
    """Numbers of rows of the parts of X; of a dataframe one column is read, where that suffices."""
    pieces = None
    if is_frame(X) and len(parts) == X.npartitions:
        column = X[X.columns[:1].tolist()]
        if hasattr(column, "simplify"):
            # Not optimised further: dask would join the parts of a single column to fewer ones.
            pieces = [(piece,) for piece in column.simplify().to_delayed(optimize_graph=False)]
    if pieces is None or len(pieces) != len(parts):
        pieces = parts
    return compute([delayed(_length)(*piece) for piece in pieces])


def part_rows(*part):
    """Features and labels of a part: features as arrays, or as a dataframe."""
    if len(part) == 2:
        check_consistent_length(*part)
        return np.asarray(part[0]), np.asarray(part[1])
    (table,) = part
    y = table[_TARGET].to_numpy()
    return table.drop(columns=_TARGET), np.array(y.tolist()) if y.dtype == object else y


def part_arrays(*part):
    """Features and labels of a part, as arrays."""
    X, y = part_rows(*part)
    if len(part) == 1:
        table, X = X, X.to_numpy()
        if X.dtype == object:  # as nullable columns beside others are
            X = table.to_numpy(float, na_value=np.nan)
    return np.ascontiguousarray(X), y  # rows are gone through a few at a time


def one_thread():
    """BLAS on one thread: workers are the parallelism, and results must not depend on theirs."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def delayed(thing, **options):
    """A delayed object of dask's."""
    return _dask().delayed(thing, pure=False, **options)


def compute(things):
    """Delayed objects computed by the active client or scheduler."""
    return _dask().compute(*things)


def _dask():
    return extra_module("dask", "Training on a cluster needs dask", "distributed")
