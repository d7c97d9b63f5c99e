"""From a first look at the training data to a plan: the kernel, and the landmarks."""

import numbers

import numpy as np

from .._validation import (
    available_memory,
    check_choice,
    check_class_list,
    check_count,
    distinct_labels,
    refuse_mixed_labels,
    take,
)
from ..kernels.landmark_rows import choose_landmarks
from ..kernels.protocol import check_kernel_name, fit_kernel, is_named, standardizes, takes_vectors
from ._landmark_statistics import LandmarkPlan, RowSample, as_batches, check_rows

# Rows of which landmarks are chosen, and which kernels that learn something are fitted to.
SCAN_ROWS = 20_000
# Kernels of objects that learn compute all pairs.
LEARN_OBJECTS = 2000
# "auto" looks for the number of landmarks below this one.
AUTO_LANDMARKS = 2000


class Scan:
    """A first look at labelled rows: how many, which classes, the columns' moments, a sample.

    The sample is uniform over all rows, whatever their labels: landmarks are chosen from it. Scans
    of parts merge.

    Parameters
    ----------
    sample_rows : number of rows to keep; None where no sample is needed
    seed : which rows, an int
    """

    def __init__(self, sample_rows=SCAN_ROWS, seed=0):
        self.n_rows = 0
        self.counts = {}
        self.mean = self.scatter = 0.0
        self.sample = None if sample_rows is None else RowSample(sample_rows, seed)
        self.dtype = self.n_features = None

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
        spread = np.sqrt(self.scatter / self.n_rows)
        return np.vstack([self.mean + spread, self.mean - spread])

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
            mean = X.mean(axis=0, dtype=float)
            self._merge_moments(len(X), mean, _scatter(X, mean))
            self.n_features = X.shape[1]
        self.n_rows += len(X)
        if self.sample is not None:
            self.sample.add(X, np.zeros(len(X), np.intp), None, start, limit=limit)
        return self

    def merge(self, other):
        """The scan of both parts."""
        out = Scan(None)
        vars(out).update(vars(self), counts=dict(self.counts))
        for label, count in other.counts.items():
            out.counts[label] = out.counts.get(label, 0) + count
        out._merge_moments(other.n_rows, other.mean, other.scatter)
        out.n_rows = self.n_rows + other.n_rows
        if self.sample is not None:
            out.sample = self.sample.merge(other.sample)
        dtypes = [d for d in (self.dtype, other.dtype) if d is not None]
        out.dtype = np.result_type(*dtypes) if dtypes else None
        out.n_features = self.n_features or other.n_features
        return out

    def _merge_moments(self, n, mean, scatter):
        """Merge a part's moments with those of the n_rows rows so far (Chan's update)."""
        total = self.n_rows + n
        if not total:
            return
        delta = mean - self.mean
        self.scatter = self.scatter + scatter + delta**2 * (self.n_rows * n / total)
        self.mean = self.mean + delta * (n / total)


def _scatter(X, mean):
    """Σ(x − mean)² of each column, in blocks that stay in the processor's cache."""
    total = np.zeros(X.shape[1])
    for start in range(0, len(X), 2048):
        part = X[start : start + 2048] - mean
        total += np.einsum("ij,ij->j", part, part)
    return total


def scan(X, y=None, *, vectors=True, seed=0):
    """The scan of arrays or of an iterable of batches (X, y)."""
    out = Scan(seed=seed)
    for rows, labels in as_batches(X, y):
        out.add(rows, labels, vectors=vectors)
    if not out.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return out


def learn_kernel(
    scanned,
    kernel="rbf",
    *,
    gamma="scale",
    degree=3,
    coef0=1,
    kernel_params=None,
    standardize="auto",
):
    """The kernel, fitted to scanned data.

    What kernels by name learn from data (gamma="scale", standardize) is that of all rows; kernels
    with a ``fit`` of their own learn from the scan's sample.
    """
    if is_named(kernel):
        rows = scanned.two_rows()
        standardize = standardizes(standardize, check_kernel_name(kernel), rows)
        named = {"gamma": gamma, "degree": degree, "coef0": coef0, "standardize": standardize}
        return fit_kernel(kernel, rows, kernel_params=kernel_params, **named)
    rows = scanned.sample.rows
    if takes_vectors(kernel):
        rows = np.asarray(rows, dtype=float)
    else:
        rows = take(rows, slice(0, LEARN_OBJECTS))
    return fit_kernel(kernel, rows, kernel_params=kernel_params)


def make_plan(
    scanned,
    kernel,
    landmarks=500,
    *,
    landmark_method="auto",
    random_state=None,
    classes=None,
    n_folds=1,
    dtype=None,
    **more,
):
    """The plan for scanned data and a fitted kernel: the landmarks are chosen.

    landmarks: a number, "auto" (as many as memory allows, up to 2000), or the landmarks themselves.
    dtype None is float32 for float32 data and float64 otherwise.
    """
    classes = scanned.classes if classes is None else classes
    if isinstance(landmarks, str):
        check_choice(landmarks, "landmarks", ("auto",))
        landmarks = most_landmarks(scanned.n_rows, len(classes), n_folds)
    if isinstance(landmarks, numbers.Integral):
        count = check_count(landmarks, "landmarks")
        sample = scanned.sample.rows
        landmarks = choose_landmarks(kernel, sample, count, landmark_method, random_state)
    else:
        landmarks = check_landmarks(landmarks, scanned.n_features, kernel)
    if dtype is None:
        dtype = np.float32 if scanned.dtype == np.float32 else np.float64
    return LandmarkPlan(kernel, landmarks, classes, n_folds=n_folds, dtype=dtype, **more)


def check_landmarks(landmarks, n_features, kernel):
    """Landmarks that were given, of the kind of the rows."""
    if not hasattr(landmarks, "__len__") or isinstance(landmarks, dict) or not len(landmarks):
        refuse_landmarks(landmarks)
    if not getattr(kernel, "requires_vector_input", True):
        return landmarks
    values = np.asarray(landmarks)
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


def refuse_landmarks(landmarks):
    """Say what landmarks can be."""
    raise ValueError(
        "landmarks must be a positive number, 'auto' or a collection of objects; got "
        f"{landmarks!r}."
    )


def most_landmarks(n_rows, n_classes, n_folds):
    """How many landmarks the data can use and a quarter of the free memory can hold.

    Beyond an eighth of the rows the exact method would not cost much more.
    """
    m, available = min(AUTO_LANDMARKS, max(n_rows // 8, 100)), available_memory()
    if available is not None:
        m = min(m, int(np.sqrt(available / 4 / 8 / (n_folds * n_classes + 3))))
    return max(m, 1)
