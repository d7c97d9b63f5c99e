"""From training data of any size to a plan: a first look at the data, the kernel, the landmarks."""

import numbers

import numpy as np

from .._validation import available_memory, check_choice, check_classes, check_count
from ..kernels.landmark_rows import choose_landmarks
from ..kernels.named import standardizes
from ..kernels.protocol import (
    check_kernel_name,
    fit_kernel,
    is_named,
    is_precomputed,
    takes_vectors,
)
from ._landmark_models import enough_landmarks, landmark_model
from ._landmark_statistics import (
    LandmarkPlan,
    RowSample,
    as_batches,
    check_rows,
    collect,
    random_keys,
)

# Rows of which landmarks are chosen, and which kernels that learn something are fitted to.
SCAN_ROWS = 20_000
# "auto" looks for the number of landmarks below this one, by this many folds.
AUTO_LANDMARKS, AUTO_FOLDS = 2000, 3


class Scan:
    """A first look at labelled rows: how many, which classes, the columns' moments, a sample.

    The sample is uniform over all rows, whatever their labels: landmarks are chosen from it. Scans
    of parts merge.

    Parameters
    ----------
    sample_rows : number of rows to keep
    seed : which rows, an int
    """

    def __init__(self, sample_rows=SCAN_ROWS, seed=0):
        self.n_rows = 0
        self.counts = {}
        self.mean = self.scatter = 0.0
        self.sample = RowSample(sample_rows, seed)
        self.dtype = None

    @property
    def classes(self):
        """Sorted labels; at least two."""
        return check_classes(np.array(list(self.counts)))[0]

    def two_rows(self):
        """Two rows with the mean and the standard deviation of every column.

        So the variance of all entries together is that of the table, too: what kernels by name
        learn from data (gamma="scale", standardize) they learn from these two.
        """
        spread = np.sqrt(self.scatter / self.n_rows)
        return np.vstack([self.mean + spread, self.mean - spread])

    def add(self, X, y, start=None, *, vectors=True):
        """Add labelled rows; start is the position of the first one."""
        X = check_rows(X, vectors)
        if not len(X):
            return self
        labels, counts = np.unique(np.asarray(y), return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            self.counts[label] = self.counts.get(label, 0) + count
        start = self.n_rows if start is None else start
        if vectors:
            self.dtype = np.result_type(*filter(None, (self.dtype, X.dtype)))
            mean = X.mean(axis=0, dtype=float)
            self._merge_moments(len(X), mean, np.square(X - mean).sum(axis=0))
        self.n_rows += len(X)
        self.sample.add(X, np.zeros(len(X), np.intp), None, start)
        return self

    def merge(self, other):
        """The scan of both parts."""
        out = Scan(self.sample.size, self.sample.seed)
        vars(out).update(vars(self), counts=dict(self.counts))
        for label, count in other.counts.items():
            out.counts[label] = out.counts.get(label, 0) + count
        out._merge_moments(other.n_rows, other.mean, other.scatter)
        out.n_rows = self.n_rows + other.n_rows
        out.sample = self.sample.merge(other.sample)
        dtypes = [d for d in (self.dtype, other.dtype) if d is not None]
        out.dtype = np.result_type(*dtypes) if dtypes else None
        return out

    def _merge_moments(self, n, mean, scatter):
        """Merge a part's moments with those of the n_rows rows so far (Chan's update)."""
        total = self.n_rows + n
        if not total:
            return
        delta = mean - self.mean
        self.scatter = self.scatter + scatter + delta**2 * (self.n_rows * n / total)
        self.mean = self.mean + delta * (n / total)


def scan(X, y=None, *, vectors=True, seed=0):
    """The scan of arrays or of an iterable of batches (X, y)."""
    out = Scan(seed=seed)
    for batch in as_batches(X, y):
        out.add(*batch[:2], vectors=vectors)
    if not out.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return out


def make_plan(
    scanned,
    *,
    landmarks=500,
    landmark_method="auto",
    random_state=None,
    kernel="rbf",
    gamma="scale",
    degree=3,
    coef0=1,
    kernel_params=None,
    standardize="auto",
    n_folds=1,
    dtype=None,
    **more,
):
    """The plan for scanned data: the kernel fitted, the landmarks chosen.

    What kernels by name learn from data (gamma="scale", standardize) is that of all rows; kernels
    with a ``fit`` of their own learn from the scan's sample. landmarks: a number, "auto" (as many
    as memory allows, up to 2000), or the landmarks themselves. dtype None is float32 for float32
    data and float64 otherwise.
    """
    if is_precomputed(kernel):
        raise ValueError("For precomputed kernel rows make a LandmarkPlan directly.")
    vectors = takes_vectors(kernel)
    sample = scanned.sample.rows
    rows, settings = sample, {"kernel_params": kernel_params}
    if is_named(kernel):
        rows = scanned.two_rows()
        settings |= {"gamma": gamma, "degree": degree, "coef0": coef0}
        settings["standardize"] = standardizes(standardize, check_kernel_name(kernel), rows)
    elif vectors:
        rows = np.asarray(sample, dtype=float)
    fitted = fit_kernel(kernel, rows, **settings)
    classes = scanned.classes
    if isinstance(landmarks, str):
        check_choice(landmarks, "landmarks", ("auto",))
        landmarks = most_landmarks(scanned.n_rows, len(classes), n_folds)
    if isinstance(landmarks, numbers.Integral):
        landmarks = choose_landmarks(
            fitted, sample, check_count(landmarks, "landmarks"), landmark_method, random_state
        )
    elif vectors:
        landmarks = check_rows(landmarks)
        if landmarks.shape[1] != sample.shape[1]:
            raise ValueError(
                f"The landmarks have {landmarks.shape[1]} features, the data {sample.shape[1]}."
            )
    if dtype is None:
        dtype = np.float32 if scanned.dtype == np.float32 else np.float64
    return LandmarkPlan(fitted, landmarks, classes, n_folds=n_folds, dtype=dtype, **more)


def most_landmarks(n_rows, n_classes, n_folds):
    """How many landmarks the data can use and a quarter of the free memory can hold.

    Beyond an eighth of the rows the exact method would not cost much more.
    """
    m, available = min(AUTO_LANDMARKS, max(n_rows // 8, 100)), available_memory()
    if available is not None:
        m = min(m, int(np.sqrt(available / 4 / 8 / (n_folds * n_classes + 3))))
    return max(m, 1)


def fit_landmark_model(
    X, y=None, *, method="quadratic", values=(0.01,), params=None, landmarks=500, **options
):
    """Scan, plan, one pass, and the model of a path of values: (model, statistics).

    X, y: arrays, memory maps or lists; or X alone: an iterable of batches (X, y) that can be gone
    through twice. landmarks="auto" takes the fewest within one standard error of the best on the
    nested path. options: as in `make_plan`. params: the method's, see `_landmark_models.METHODS`.
    """
    if y is None and iter(X) is X:
        raise ValueError(
            "The batches are gone through more than once: pass a list or an object that starts "
            "anew, such as mahalearn.datasets.ParquetBatches, not a generator."
        )
    params = dict(params or {})
    scanned = scan(X, y, vectors=takes_vectors(options.get("kernel", "rbf")))
    auto = isinstance(landmarks, str)
    if auto:
        options["n_folds"] = AUTO_FOLDS
    plan = make_plan(scanned, landmarks=landmarks, **options)
    statistics = collect(plan, _with_folds(X, y, plan.n_folds)) if auto else collect(plan, X, y)

    def again():
        return ((rows, labels) for rows, labels, _ in as_batches(X, y))

    if auto:
        head = {"batches": again} if method == "dissimilarity" else {}
        m, _ = enough_landmarks(statistics, method, values, **head, **params)
        statistics = statistics.all_folds().first(m)
    return landmark_model(statistics, method, values, batches=again, **params), statistics


def _with_folds(X, y, n_folds, seed=1):
    """The batches with random folds, functions of the rows' positions."""
    start = 0
    for rows, labels, _ in as_batches(X, y):
        keys = random_keys(np.arange(start, start + len(rows)), seed)
        yield rows, labels, (keys % np.uint64(n_folds)).astype(np.intp)
        start += len(rows)
