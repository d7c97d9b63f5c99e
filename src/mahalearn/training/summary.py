"""A first look at training data, and what follows from it: the kernel, and the landmarks."""

from collections import Counter

import numpy as np

from .._sparse import column_moments, is_sparse
from .._validation import (
    available_memory,
    check_choice,
    check_class_list,
    check_squarable,
    is_whole,
    refuse_mixed_labels,
    take,
    unique_labels,
)
from ..formulas.moments import Moments, add_rows, merge, no_moments
from ..kernels.landmarks import choose_landmarks, is_auto, refuse_landmarks
from ..kernels.protocol import fit_kernel, is_named, kernel_settings, takes_vectors, two_rows
from .landmark import LandmarkPlan
from .sample import RowSample, changed, check_rows

# Rows of which landmarks are chosen, and which kernels that learn something are fitted to.
SCAN_ROWS = 20_000
# Kernels of objects that learn compute all pairs.
LEARN_OBJECTS = 2000
# "auto" looks for the number of landmarks between these, by so many folds.
AUTO_LANDMARKS, LEAST_LANDMARKS, AUTO_FOLDS = 2000, 32, 3


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
        self.counts = Counter()
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
        """Two rows with the mean and the variance of every column."""
        mean, variance = self.moments.mean[0], self.moments.lower[0] / self.n_rows
        check_squarable(np.max(np.abs(mean) + np.sqrt(variance)), "X")
        return two_rows(mean, variance, sparse=self.sparse)

    def add(self, X, y, start=None, *, vectors=True, limit=None):
        """Add labelled rows; start: position of the first one; limit: as in `RowSample.add`."""
        X = check_rows(X, vectors)
        if not len(X):
            return self
        labels, counts = unique_labels(np.asarray(y), return_counts=True)
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
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
        if self.n_rows == 0 or other.n_rows == 0:  # a part may be empty
            return self if self.n_rows else other
        vectors = self.moments is not None
        return changed(
            self,
            n_rows=self.n_rows + other.n_rows,
            counts=self.counts + other.counts,
            moments=merge(self.moments, other.moments) if vectors else None,
            sample=None if self.sample is None else self.sample.merge(other.sample),
            dtype=np.result_type(self.dtype, other.dtype) if vectors else None,
            sparse=self.sparse or other.sparse,
        )


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

    kernel: None where objects are given by their kernel rows. landmarks: a number, "auto" (as many
    as memory allows, up to 2000), or the landmarks themselves. dtype None is float32 for float32
    data and float64 otherwise.
    """
    classes = summary.classes if classes is None else classes
    if is_auto(landmarks):
        check_choice(landmarks, "landmarks", ("auto",))
        landmarks = most_landmarks(summary.n_rows, len(classes), n_folds)
    if is_whole(landmarks):
        landmarks = choose_landmarks(kernel, summary.sample.rows, landmarks, method, random_state)
    elif kernel is not None:
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


def enough_landmarks(training, scores):
    """The fewest landmarks, on the path …, m/4, m/2, m, within one standard error of the best.

    scores(training, rows) gives the classes that a training set has, and scores (n, c) of rows. The
    errors are out-of-fold ones of the sample; the training set must have folds. The path is left
    early where two doublings in a row gain less than a standard error.
    """
    path = [len(training.plan.rows)]
    while path[-1] // 2 >= LEAST_LANDMARKS:
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
    return min(row[0] for row in table if row[1] <= mean + error)


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
