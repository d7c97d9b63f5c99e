"""Training data of any size for a landmark space: arrays and lists in memory, batches, dask.

A source has been looked at once (``scanned``, a Summary), from which follow the kernel, the
landmarks and how many of them, a plan. The source collects the moments of a plan in one more pass.
"""

import numbers
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._sparse import SparseRows, column_moments, is_sparse
from .._validation import (
    available_memory,
    check_choice,
    check_class_list,
    check_count,
    check_square,
    check_symmetric,
    distinct_labels,
    refuse_mixed_labels,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.moments import Moments, add_rows, merge, no_moments
from ..kernels.landmarks import (
    choose_landmarks,
    landmark_columns,
    refuse_landmarks,
    refuse_to_choose,
    to_choose,
)
from ..kernels.precomputed import CheckedKernel
from ..kernels.protocol import (
    check_magnitude,
    fit_kernel,
    is_named,
    kernel_settings,
    takes_vectors,
)
from .landmark import LandmarkPlan, LandmarkTraining, RowSample, changed, check_rows, key_limit

# Rows of which landmarks are chosen, and which kernels that learn something are fitted to.
SCAN_ROWS = 20_000
# Kernels of objects that learn compute all pairs.
LEARN_OBJECTS = 2000
# "auto" looks for the number of landmarks below this one, by so many folds.
AUTO_LANDMARKS, AUTO_FOLDS = 2000, 3


class Summary:
    """A first look at labelled rows: how many, which classes, the columns' moments, a sample.

    The sample is uniform over all rows, whatever their labels: landmarks are chosen from it.
    Summaries of parts merge.

    Parameters
    ----------
    sample_rows : number of rows to keep; None where no sample is needed
    seed : which rows, an int
    """

    def __init__(self, sample_rows=SCAN_ROWS, seed=0):
        self.n_rows = 0
        self.counts = {}
        self.moments, self.sparse = None, False
        self.sample = None if sample_rows is None else RowSample(sample_rows, seed)
        self.dtype = None

    @property
    def n_features(self):
        """Number of columns, None where objects are no rows of numbers."""
        return None if self.moments is None else self.moments.mean.shape[1]

    @property
    def classes(self):
        """Sorted labels; at least two."""
        refuse_mixed_labels(self.counts)
        return check_class_list(np.array(list(self.counts)))

    def two_rows(self):
        """Two rows with the mean and the standard deviation of every column.

        So the variance of all entries together is that of the table, too: what kernels by name
        learn from data (gamma="scale", standardize) they learn from these two.
        """
        mean, spread = self.moments.mean[0], np.sqrt(self.moments.lower[0] / self.n_rows)
        rows = np.vstack([mean + spread, mean - spread])
        return SparseRows(csr_array(rows)) if self.sparse else rows

    def add(self, X, y, start=None, *, vectors=True, limit=None):
        """Add labelled rows; start: position of the first one; limit: as in `RowSample.add`."""
        X = check_rows(X, vectors)
        if not len(X):
            return self
        labels, counts = distinct_labels(np.asarray(y))
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            self.counts[label] = self.counts.get(label, 0) + count
        start = self.n_rows if start is None else start
        if vectors:
            self.dtype = np.result_type(*filter(None, (self.dtype, X.dtype)))
            if self.moments is None:
                self.moments = no_moments(1, X.shape[1], diagonal=True)
            if is_sparse(X):
                self.sparse, (mean, variance) = True, column_moments(X)
                batch = Moments(np.array([len(X)]), mean[None], len(X) * variance[None])
                self.moments = merge(self.moments, batch)
            else:
                add_rows(self.moments, X, np.zeros(len(X), np.intp))
        self.n_rows += len(X)
        if self.sample is not None:
            self.sample.add(X, np.zeros(len(X), np.intp), None, start, limit=limit)
        return self

    def merge(self, other):
        """The summary of both parts."""
        out = Summary(None)
        vars(out).update(vars(self), counts=dict(self.counts))
        for label, count in other.counts.items():
            out.counts[label] = out.counts.get(label, 0) + count
        if other.moments is not None:  # a part may be empty
            empty = self.moments is None
            out.moments = other.moments if empty else merge(self.moments, other.moments)
        out.n_rows = self.n_rows + other.n_rows
        if self.sample is not None:
            out.sample = self.sample.merge(other.sample)
        dtypes = [d for d in (self.dtype, other.dtype) if d is not None]
        out.dtype = np.result_type(*dtypes) if dtypes else None
        return out


def learn_kernel(summary, estimator):
    """The kernel of an estimator, fitted to data by their summary.

    What kernels by name learn from data (gamma="scale", standardize) is that of all rows; kernels
    with a ``fit`` of their own learn from the summary's sample.
    """
    kernel = estimator.kernel
    if is_named(kernel):
        rows = summary.two_rows()
    elif takes_vectors(kernel):
        rows = np.asarray(summary.sample.rows, dtype=float)
    else:
        rows = take(summary.sample.rows, slice(0, LEARN_OBJECTS))
    return fit_kernel(kernel, rows, **kernel_settings(estimator, rows))


def make_plan(
    summary,
    kernel,
    landmarks=500,
    *,
    method="auto",
    random_state=None,
    classes=None,
    n_folds=1,
    dtype=None,
    **options,
):
    """The plan for summarised data and a fitted kernel: the landmarks are chosen.

    landmarks: a number, "auto" (as many as memory allows, up to 2000), or the landmarks themselves.
    dtype None is float32 for float32 data and float64 otherwise.
    """
    classes = summary.classes if classes is None else classes
    if isinstance(landmarks, str):
        check_choice(landmarks, "landmarks", ("auto",))
        landmarks = most_landmarks(summary.n_rows, len(classes), n_folds)
    if isinstance(landmarks, numbers.Integral):
        count = check_count(landmarks, "landmarks")
        sample = summary.sample.rows
        landmarks = choose_landmarks(kernel, sample, count, method, random_state)
    else:
        landmarks = check_landmarks(landmarks, summary.n_features, kernel)
    if dtype is None:
        dtype = np.float32 if summary.dtype == np.float32 else np.float64
    return LandmarkPlan(kernel, landmarks, classes, n_folds=n_folds, dtype=dtype, **options)


def check_landmarks(landmarks, n_features, kernel):
    """Landmarks that were given, of the kind of the rows."""
    if not hasattr(landmarks, "__len__") or isinstance(landmarks, dict) or not len(landmarks):
        refuse_landmarks(landmarks)
    if not kernel.requires_vector_input:
        return landmarks
    values = landmarks if is_sparse(landmarks) else np.asarray(landmarks)
    if values.ndim == 1 and values.dtype.kind in "iu":
        raise ValueError(
            f"landmarks={landmarks!r} look like positions, which only kernel='precomputed' takes; "
            "pass the rows themselves, X[landmarks]."
        )
    landmarks = check_rows(landmarks, name="landmarks")
    if landmarks.shape[1] != n_features:
        raise ValueError(
            f"The landmarks have {landmarks.shape[1]} features, the data {n_features}."
        )
    return landmarks


def most_landmarks(n_rows, n_classes, n_folds):
    """How many landmarks the data can use and a quarter of the free memory can hold.

    Beyond an eighth of the rows the exact method would not cost much more.
    """
    m, available = min(AUTO_LANDMARKS, max(n_rows // 8, 100)), available_memory()
    if available is not None:
        m = min(m, int(np.sqrt(available / 4 / 8 / (n_folds * n_classes + 3))))
    return max(m, 1)


def enough_landmarks(training, scores, *, smallest=32):
    """The fewest landmarks, on the path …, m/4, m/2, m, within one standard error of the best.

    scores(training, rows) gives the classes that a training set has, and scores (n, c) of rows. The
    errors are out-of-fold ones of the sample; the training set must have folds. The path is left
    early where two doublings in a row gain less than a standard error. Returns m' and the table of
    (m', mean error, standard error).
    """
    plan = training.plan
    if plan.n_folds < 2:
        raise ValueError("The number of landmarks is chosen by cross-validation: n_folds ≥ 2.")
    path = [len(plan.rows)]
    while path[-1] // 2 >= smallest:
        path.append(path[-1] // 2)
    table = []
    for m in path[::-1]:
        errors = _sample_errors(training.first(m), scores)
        table.append((m, errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))))
        if len(table) > 2:
            before = min(table[:-2], key=lambda row: row[1])
            if min(row[1] for row in table[-2:]) > before[1] - before[2]:
                break
    _, mean, error = min(table, key=lambda row: row[1])
    return min(row[0] for row in table if row[1] <= mean + error), table


def _sample_errors(training, scores):
    """Out-of-fold errors of the sample's rows, (n_folds,), classes in proportion."""
    n_folds, sample = training.plan.n_folds, training.sample
    sizes = np.bincount(sample.codes, minlength=len(training.plan.classes))
    weights = training.counts / np.maximum(sizes, 1)
    errors = np.full(n_folds, np.nan)
    for fold in range(n_folds):
        held = sample.select(sample.folds == fold)
        if not len(held):
            raise ValueError("A fold has no row in the sample; keep more rows.")
        present, values = scores(training.without_fold(fold), held.rows)
        wrong = present[values.argmax(axis=-1)] != held.codes
        errors[fold] = (wrong @ weights[held.codes]) / weights[held.codes].sum()
    return errors


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
            "The batches are gone through more than once: pass a list or an object that starts "
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
            f"{length} were expected: its chunks do not tell its sizes, or it has changed. "
            "Persist it, or call compute_chunk_sizes()."
        )
    return start


def merged_tree(parts, combine):
    """Merge delayed parts pairwise, neighbours first, and compute the result."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [delayed(combine)(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return compute(parts)[0]


def check_dask_table(X):
    """A dask array or dataframe, two-dimensional."""
    if not hasattr(X, "shape") or not hasattr(X, "ndim"):
        raise TypeError(
            f"Of dask's collections arrays and dataframes are taken; got {type(X).__name__}."
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
    if not hasattr(y, "__dask_graph__"):
        raise TypeError(
            f"With a dask collection X, y must be one, too; got {type(y).__name__}. Use "
            "dask.array.from_array."
        )
    if hasattr(X, "map_partitions"):
        if not hasattr(y, "map_partitions"):
            raise TypeError("With a dask dataframe X, y must be a series of the same dataframe.")
        # One table: dask may divide two selections of the same files differently.
        table = X.assign(**{_TARGET: y})
        return [(part,) for part in table.to_delayed()], None
    if hasattr(y, "map_partitions") or y.ndim != 1:
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
    parts = list(zip(X_parts, y_parts, strict=True))
    return parts, list(X.chunks[0]) if sized else None


def part_lengths(X, parts):
    """Numbers of rows of the parts of X; of a dataframe one column is read, where that suffices."""
    pieces = None
    if hasattr(X, "map_partitions") and len(parts) == X.npartitions:
        column = X[X.columns[:1].tolist()]
        if hasattr(column, "simplify"):
            # Not optimised further: dask would join the parts of a single column to fewer ones.
            pieces = [(piece,) for piece in column.simplify().to_delayed(optimize_graph=False)]
    if pieces is None or len(pieces) != len(parts):
        pieces = parts
    return compute([delayed(_length)(*piece) for piece in pieces])


def part_arrays(*part):
    """Features and labels of a part, as arrays."""
    if len(part) == 2:
        return np.asarray(part[0]), np.asarray(part[1])
    (table,) = part
    y = table[_TARGET].to_numpy()
    # Rows are gone through a few at a time: they must lie together.
    X = np.ascontiguousarray(table.drop(columns=_TARGET).to_numpy())
    return X, np.array(y.tolist()) if y.dtype == object else y


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
    try:
        import dask
    except ImportError:
        raise ImportError(
            'Training on a cluster needs dask: pip install "mahalearn[distributed]".'
        ) from None
    return dask
