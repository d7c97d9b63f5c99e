"""Training data of any size: arrays and lists in memory, batches, dask collections.

A source answers two questions, each with one pass over its rows: what a first look at them says
(``scan``), and the statistics of a plan (``collect``).
"""

import numpy as np

from ._landmark_plan import Scan, scan
from ._landmark_statistics import collect

# The column of the labels in a dask dataframe, while features and labels are one table.
_TARGET = "mahalearn target"


class LocalRows:
    """Rows that this process goes through: ``batches()`` starts anew each time.

    Parameters
    ----------
    batches : function that returns an iterator of (X, y), both checked
    vectors : whether objects are rows of numbers
    """

    def __init__(self, batches, vectors):
        self.batches = batches
        self.vectors = vectors

    def scan(self):
        """A first look: classes, moments of the columns, a sample of rows."""
        return scan(self.batches(), vectors=self.vectors)

    def collect(self, plan, folds=None):
        """The pass: LandmarkStatistics."""
        return collect(plan, self.batches(), folds=folds)


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


class DaskRows:
    """Rows of a dask collection: every part is reduced where it is, and the results are merged.

    The merge tree depends on the number of parts alone, so that the result has the same bits
    whatever the number of workers.
    """

    vectors = True

    def __init__(self, X, y):
        self.parts, self.starts = dask_parts(X, y)

    def scan(self):
        """A first look: classes, moments of the columns, a sample of rows."""
        return merged_tree(
            [delayed(_scan_part)(*part, start) for part, start in self._numbered()], _merge
        )

    def collect(self, plan, folds=None):
        """The pass: LandmarkStatistics, in this process."""
        plan = delayed(plan, traverse=False)
        return merged_tree(
            [delayed(_moments_part)(plan, *part, start, folds) for part, start in self._numbered()],
            _merge,
        )

    def _numbered(self):
        return zip(self.parts, self.starts, strict=True)


def _scan_part(X, y, start):
    return Scan().add(np.asarray(X), np.asarray(y), start)


def _moments_part(plan, X, y, start, folds=None):
    here = None if folds is None else folds(np.arange(start, start + len(y)))
    with one_thread():
        return plan.statistics().add(np.asarray(X), np.asarray(y), here, start)


def _merge(a, b):
    return a.merge(b)


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
    """[(X part, y part)] as delayed objects, and the positions of their first rows."""
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
        parts = [delayed(_split, nout=2)(part) for part in table.to_delayed()]
    else:
        if hasattr(y, "map_partitions") or y.ndim != 1:
            raise TypeError("With a dask array X, y must be a dask array of one dimension.")
        X = X.rechunk({1: -1})
        if not np.isnan([X.shape[0], y.shape[0]]).any():
            if len(X) != len(y):
                raise ValueError(f"X has {len(X)} rows and y {len(y)}; one label each is needed.")
            y = y.rechunk((X.chunks[0],))
        X_parts, y_parts = (list(np.ravel(collection.to_delayed())) for collection in (X, y))
        if len(X_parts) != len(y_parts):
            raise ValueError(
                f"X has {len(X_parts)} parts and y {len(y_parts)}; rechunk both alike."
            )
        parts = list(zip(X_parts, y_parts, strict=True))
    lengths = compute([delayed(len)(labels) for _, labels in parts])
    kept = [i for i, length in enumerate(lengths) if length]
    if not kept:
        raise ValueError("The collection has no rows.")
    starts = np.cumsum([0, *lengths]).tolist()
    return [tuple(parts[i]) for i in kept], [starts[i] for i in kept]


def _split(table):
    """Features and labels of a part of a dataframe, as arrays."""
    y = table.pop(_TARGET).to_numpy()
    return table.to_numpy(), np.array(y.tolist()) if y.dtype == object else y


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
