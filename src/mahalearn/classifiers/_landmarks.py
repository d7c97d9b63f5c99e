"""Kernel classifiers at landmarks: what all that take ``landmarks=`` share."""

import numbers
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from .._base import KernelClassifier, Labels, refuses_weights, to_choose
from .._typing import ArrayLike, Objects
from .._validation import (
    check_choice,
    check_class_list,
    check_count,
    check_fraction,
    check_objects,
    check_square,
    check_symmetric,
    is_dask_collection,
    refuse_dask_labels,
    refuse_dask_query,
    refuse_objects,
    spelt,
    take,
    validate_rows,
    warn_dissimilarity_as_kernel,
)
from ..kernels.landmark_rows import LANDMARK_METHODS, landmark_method
from ..kernels.landmarks import LANDMARK_SPECTRA, landmark_columns, refuse_to_choose
from ..kernels.protocol import check_magnitude, is_named, is_precomputed, takes_vectors
from ..kernels.training import CheckedKernel
from ._landmark_models import enough_landmarks
from ._landmark_plan import Scan, learn_kernel, make_plan, refuse_landmarks
from ._landmark_predict import WIDE
from ._landmark_statistics import (
    SAMPLE_ROWS,
    LandmarkPlan,
    LandmarkStatistics,
    as_batches,
    collect,
    random_folds,
)
from ._sources import DaskRows, LocalRows, check_batches, check_dask_table, pairs_of

# Folds by which "auto" chooses the number of landmarks.
AUTO_FOLDS = 3
# Bytes of the samples of folds whose models are made together.
TOGETHER_BYTES = 2**27
# Rows stay in the precision that they come in.
FLOATS = [np.float64, np.float32]


def _takes_landmarks(estimator):
    if estimator.landmarks is None:
        raise AttributeError(
            f"{type(estimator).__name__} has this with landmarks= only: without them all training "
            "objects are needed at once."
        )
    return True


class LandmarkData(NamedTuple):
    """Training data, and a first look at them.

    rows: a source. scanned: its Scan. kernel: the kernel of precomputed values, None where the
    kernel is learned. landmarks: as given; for precomputed values positions, or kernel rows.
    columns: of precomputed values, those of the landmarks where they are known already. X, y:
    objects and labels in memory, where they are. chosen: landmarks that a search has chosen; seed:
    of its choices. folds, sample_folds: where X and y are only a sample, the folds of all rows as a
    function of their positions, and those of the sample.
    """

    rows: Any
    scanned: Scan
    kernel: Any
    landmarks: Any
    columns: np.ndarray | None
    X: Any = None
    y: Any = None
    chosen: Any = None
    seed: int | None = None
    folds: Any = None
    sample_folds: Any = None

    def splits(self):
        """Pairs of positions (train, test) in a sample."""
        folds = range(self.sample_folds.max() + 1)
        return [
            tuple(map(np.flatnonzero, (self.sample_folds != f, self.sample_folds == f)))
            for f in folds
        ]


class LandmarkFolds(NamedTuple):
    """The training sets of a cross-validation, by moments that are kept apart.

    statistics: of cells of rows that are in the same training sets; cells[f] lists those of fold
    f. Where there would be too many cells, statistics is None, and every fold has a pass of its
    own. X, y, splits: rows, labels, and pairs of positions (train, test).
    """

    plan: LandmarkPlan
    statistics: LandmarkStatistics | None
    cells: list
    X: Any
    y: np.ndarray
    splits: list

    @property
    def lookup(self):
        """The landmarks' kernel matrix: what regularisation is measured in."""
        return CheckedKernel(self.plan.gram)

    def __len__(self):
        return len(self.splits)

    def together(self):
        """Ranges of folds whose models are made together, so that they share kernel rows.

        Where these are a small part of the work, for there are many classes or landmarks, every
        fold is on its own, as it is with a pass of its own.
        """
        columns = len(self.plan.rows) * len(self.plan.classes)
        sample = getattr(self.X, "nbytes", 0) / len(self.X) * min(len(self.X), SAMPLE_ROWS)
        most = 1
        if self.statistics is not None:
            most = max(1, int(min(WIDE / columns, TOGETHER_BYTES / max(sample, 1))))
        return [range(len(self))[i : i + most] for i in range(0, len(self), most)]

    def of_fold(self, f):
        """Statistics of a training set."""
        if self.statistics is not None:
            return self.statistics.of_folds(self.cells[f])
        train = self.splits[f][0]
        return collect(self.plan, take(self.X, train), self.y[train])


class LandmarkClassifier(KernelClassifier):
    """A kernel classifier that has a form at landmarks, too.

    A subclass gives ``_landmark_path(statistics, labels, values)``: a model with ``scores(X)`` of
    shape (r, n, c) and ``residual(X)`` for all values of the path; the statistics have the classes
    that ``labels.present`` lists, and the labels are those of their sample. And
    ``_store_landmarks(model, labels)``, which sets its public attributes (``_derived``).
    """

    landmarks: Any
    landmark_method: str
    landmark_rtol: float | None
    random_state: Any

    _in_0_1: dict[str, Any] = {
        **KernelClassifier._in_0_1,
        "landmarks": None,
        "landmark_method": "auto",
        "landmark_rtol": None,
        "random_state": None,
    }

    # --- fitting ----------------------------------------------------------------------------------

    @refuses_weights
    def fit(self, X: Any, y: Objects | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``). With
            `landmarks` also a memory map, a dask array or dataframe, or, without y, an iterable of
            batches (X, y) that can be gone through twice, such as
            :class:`mahalearn.datasets.ParquetBatches`.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        return self._fit(X, y)

    def _fit_landmarks(self, X, y, known):
        self._check_landmark_parameters()
        data = self._landmark_data(X, y)._replace(chosen=known)
        auto = isinstance(self.landmarks, str)
        plan = self._landmark_plan(data, n_folds=AUTO_FOLDS if auto else 1)
        folds = partial(random_folds, AUTO_FOLDS) if auto else None
        statistics = data.rows.collect(plan, folds)
        if auto:
            statistics = self._with_enough_landmarks(statistics)
        self._start(statistics, data.columns)
        self._finish()
        if data.kernel is not None and is_precomputed(self.kernel):
            # Queries come as kernel values; the matrix of all objects is not needed any more.
            self._statistics = statistics.as_rows()
            self._landmark_model.use_rows(self._statistics.plan.rows)
        return self

    @available_if(_takes_landmarks)
    def partial_fit(self, X: Objects, y: Objects, classes: Any = None) -> Self:
        """Add objects to what has been fitted (``landmarks=`` only).

        The result is that of one fit on all objects with the same landmarks and kernel, up to
        rounding. Landmarks that are not given, and what the kernel learns from data (a numeric
        `gamma` and ``standardize=False`` learn nothing), come from the first batch: let it be a
        random part of the data. The model is made when it is first needed; between batches only
        moments are added up.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call. A class without objects so far
            is never predicted.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_landmark_parameters()
        if is_dask_collection(X) or is_dask_collection(y):
            raise TypeError("partial_fit takes rows in memory; fit takes a dask collection.")
        if not self._at_landmarks:
            if classes is None:
                raise ValueError("classes must be given in the first call to partial_fit.")
            classes = check_class_list(classes)
            data = self._landmark_data(X, y, square=False)
            plan = self._landmark_plan(data, classes=classes)
            if isinstance(self.landmarks, str):
                folds = partial(random_folds, AUTO_FOLDS)
                first = collect(plan.changed(n_folds=AUTO_FOLDS), data.rows.batches(), folds=folds)
                plan = self._with_enough_landmarks(first).plan
            self._start(plan.statistics(), data.columns)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
            )
        X, y = self._check_labelled(X, y, reset=False)
        self._statistics.add(self._landmark_values(X), y)
        self._stale = True
        for name in self._derived:  # of the model before; derived again when it is asked for
            self.__dict__.pop(name, None)
        return self

    def _from_statistics(self, statistics):
        """The classifier of statistics that were merged elsewhere."""
        self._check_landmark_parameters()
        self._start(statistics)
        landmarks = self.landmarks_
        if takes_vectors(self.kernel):
            validate_rows(self, landmarks, dtype=FLOATS)
        self._finish()
        return self

    def _check_landmark_parameters(self):
        self._check_parameters()
        spectrum = check_choice(self.spectrum, "spectrum", (*LANDMARK_SPECTRA, "shift"))
        if spectrum == "shift":
            raise ValueError(
                "spectrum='shift' has no form at landmarks; use 'krein', 'clip' or 'flip'."
            )
        check_choice(self.landmark_method, "landmark_method", LANDMARK_METHODS)
        if isinstance(self.landmarks, str):
            if self.landmarks.lower() != "auto":
                refuse_landmarks(self.landmarks)
            check_choice(self.landmarks, "landmarks", ("auto",))
        elif isinstance(self.landmarks, numbers.Number):
            check_count(self.landmarks, "landmarks")
        if self.landmark_rtol is not None:
            check_fraction(self.landmark_rtol, "landmark_rtol")

    def _landmark_data(self, X, y, *, square=True):
        """Checked training data; square: whether a precomputed matrix may be one of all objects."""
        if is_dask_collection(X):
            return self._dask_data(X, y)
        if y is None:
            return self._batch_data(check_batches(X, type(self).__name__))
        refuse_dask_labels(y)
        X, y = self._check_labelled(X, y)
        kernel, landmarks, columns = None, self.landmarks, None
        vectors = takes_vectors(self.kernel)
        if is_precomputed(self.kernel):
            check_magnitude(X)
            if to_choose(landmarks):
                refuse_to_choose(X)
            else:
                landmarks, columns = landmark_columns(landmarks, X)
            if square and X.shape[0] == X.shape[1]:
                check_square(X)
                X = check_symmetric(X)
                warn_dissimilarity_as_kernel(X)
                kernel, X, vectors = CheckedKernel(X), np.arange(len(X)), False
            else:
                if columns is None:
                    raise ValueError(
                        "To add objects in batches the landmarks of a precomputed kernel must be "
                        "given: pass their positions among the rows of the first batch."
                    )
                X = X[:, columns]
                landmarks = X[landmarks]
        rows = LocalRows(partial(as_batches, X, y), vectors)
        return LandmarkData(rows, rows.scan(), kernel, landmarks, columns, X, y)

    def _batch_data(self, batches):
        first = [True]
        state: dict[str, Any] = {}

        def checked():
            for X, y in pairs_of(batches, type(self).__name__):
                if len(X) == 0:
                    continue
                X, y = self._check_labelled(X, y, reset=first[0])
                if first[0] and is_precomputed(self.kernel):
                    if to_choose(self.landmarks):
                        raise ValueError(
                            "To fit a precomputed kernel from batches its landmarks must be given: "
                            "pass their positions among the rows of the first batch."
                        )
                    at, state["columns"] = landmark_columns(self.landmarks, X)
                    state["landmarks"] = X[np.ix_(at, state["columns"])]
                first[0] = False
                yield X[:, state["columns"]] if "columns" in state else X, y

        rows = LocalRows(checked, takes_vectors(self.kernel))
        scanned = rows.scan()
        landmarks = state.get("landmarks", self.landmarks)
        return LandmarkData(rows, scanned, None, landmarks, state.get("columns"))

    def _dask_data(self, X, y):
        if not takes_vectors(self.kernel) or is_precomputed(self.kernel):
            raise ValueError(
                "dask collections hold rows of numbers; use a kernel that takes vectors."
            )
        check_dask_table(X)
        example = X._meta_nonempty if hasattr(X, "_meta_nonempty") else np.zeros((1, X.shape[1]))
        validate_rows(self, example, dtype=FLOATS)
        # Landmarks that are given need no sample, and named kernels learn from moments.
        sampled = to_choose(self.landmarks) or not is_named(self.kernel)
        rows = DaskRows(X, y, sampled=sampled)
        return LandmarkData(rows, rows.scan(), None, self.landmarks, None)

    def _check_labelled(self, X, y, reset=True):
        if takes_vectors(self.kernel):
            if reset:
                refuse_objects(X)
                return validate_rows(self, X, y, dtype=FLOATS)
            X = validate_rows(self, X, reset=False, dtype=FLOATS)
        else:
            X = check_objects(X)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _landmark_plan(self, data, n_folds=1, classes=None):
        """The plan of the data."""
        kernel, landmarks = data.kernel, data.landmarks
        seed = self.random_state if data.seed is None else data.seed
        if data.chosen is not None:
            landmarks = data.chosen
        if kernel is None and is_precomputed(self.kernel):  # objects are their kernel rows
            classes = data.scanned.classes if classes is None else classes
            dtype = np.float32 if data.scanned.dtype == np.float32 else np.float64
            return LandmarkPlan(None, landmarks, classes, n_folds=n_folds, dtype=dtype)
        return make_plan(
            data.scanned,
            self._learned_kernel(data) if kernel is None else kernel,
            landmarks,
            landmark_method=self.landmark_method,
            random_state=seed,
            classes=classes,
            n_folds=n_folds,
        )

    def _learned_kernel(self, data):
        settings = {"kernel_params": self.kernel_params}
        if is_named(self.kernel):
            names = ("gamma", "degree", "coef0", "standardize")
            settings |= {name: getattr(self, name) for name in names}
        return learn_kernel(data.scanned, self.kernel, **settings)

    def _with_enough_landmarks(self, statistics):
        """Statistics of all folds with as few landmarks as predict well."""
        m, _ = enough_landmarks(statistics, lambda part: self._model_of(part, self._value()))
        return statistics.all_folds().first(m)

    def _landmark_paths(self, parts):
        """Models of several training sets, arguments of `_landmark_path`, of one plan."""
        return [self._landmark_path(*part) for part in parts]

    def _models_of(self, statistics, values):
        """For each of several: the sample's labels, and the model of the classes that it has."""
        parts = []
        for each in statistics:
            present, part = each.seen()
            labels = Labels(each.plan.classes, present, part.sample.codes)
            of_present = [v if np.ndim(v) == 0 else np.asarray(v)[present] for v in values]
            parts.append((part, labels, of_present))
        models = self._landmark_paths(parts)
        return [(labels, model) for (_, labels, _), model in zip(parts, models, strict=True)]

    def _model_of(self, statistics, values):
        return self._models_of([statistics], values)[0]

    def _start(self, statistics, columns=None):
        """Set what is known before the model is made; columns: as in LandmarkData."""
        plan = statistics.plan
        self.classes_ = plan.classes
        self.landmarks_ = plan.rows.landmarks
        self.kernel_ = plan.rows.kernel
        self._columns = None
        if is_precomputed(self.kernel):
            self.kernel_ = "precomputed"
            if plan.rows.kernel is None:  # objects are their rows
                self.landmarks_ = np.asarray(self.landmarks)
            self._columns = self.landmarks_ if columns is None else columns
        self._eigenvalues = None
        self._rounding = 0.0
        self._statistics = statistics

    def _value(self):
        return [spelt(getattr(self, self._axis), self._axis, ("auto",))]

    def _finish(self):
        """Make the model of the statistics."""
        labels, self._landmark_model = self._model_of(self._statistics, self._value())
        self._present, self._stale = labels.present, False
        self._store_landmarks(self._landmark_model, labels)

    def _fitted_landmarks(self):
        if self._stale:
            self._finish()
        return self._landmark_model

    def _derive(self, name):
        """What a model made of batches says, known when it is asked for."""
        try:
            self._finish()
        except ValueError as error:
            raise AttributeError(f"{name} is not known yet: {error}") from error
        return getattr(self, name)

    # --- the folds of a search --------------------------------------------------------------------

    def _landmark_parts(self, X, y, n_folds):
        """Data of a search that are not in memory: X and y are a sample's, with its folds."""
        self._check_landmark_parameters()
        data = self._landmark_data(X, y)
        self.classes_, folds = data.scanned.classes, partial(random_folds, n_folds)
        # A pass at one landmark says which rows the statistics of a plan will keep.
        some = data._replace(landmarks=1) if to_choose(self.landmarks) else data
        seen = data.rows.collect(self._landmark_plan(some, n_folds).first(1), folds)
        sample = seen.sample.in_proportion(seen.counts)
        labels = self.classes_[sample.codes]
        return data._replace(X=sample.rows, y=labels, folds=folds, sample_folds=sample.folds)

    def _with_landmarks_chosen(self, data, *, shared):
        """What the kernels of a search have in common: a seed, and landmarks where `shared`.

        The seed is that of a plain fit with the same random_state. k-means and a uniform choice do
        not depend on the width of a kernel: kernels of one name share their landmarks.
        """
        self._check_landmark_parameters()
        if not to_choose(self.landmarks):
            return data
        seed = self.random_state
        if not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        data = data._replace(seed=int(seed))
        kernel = data.kernel or self._learned_kernel(data)
        if not shared or landmark_method(self.landmark_method, kernel) == "rpcholesky":
            return data
        n_folds = AUTO_FOLDS if isinstance(self.landmarks, str) else 1
        return data._replace(chosen=self._landmark_plan(data, n_folds).rows.landmarks)

    def _landmark_folds(self, data, splits):
        """The training sets of a cross-validation."""
        if data.folds is not None:
            plan = self._landmark_plan(data, len(splits))
            statistics = data.rows.collect(plan, data.folds)
            cells = [[g for g in range(len(splits)) if g != f] for f in range(len(splits))]
            return LandmarkFolds(plan, statistics, cells, data.X, data.y, splits)
        member = np.zeros((len(data.y), len(splits)), bool)
        for f, (train, _) in enumerate(splits):
            member[train, f] = True
        patterns, cell = np.unique(member, axis=0, return_inverse=True)
        cell = cell.ravel()
        # Rows of no training set need no moments, but a pass does not ask.
        together = len(patterns) <= 2 * len(splits)
        plan = self._landmark_plan(data, len(patterns) if together else 1)
        statistics = data.rows.collect(plan, cell) if together else None
        cells = [np.flatnonzero(patterns[:, f]).tolist() for f in range(len(splits))]
        return LandmarkFolds(plan, statistics, cells, data.X, data.y, splits)

    def _landmark_fold_scores(self, folds, values):
        """Held-out scores of LandmarkFolds, as those of `_fold_scores`."""
        for some in folds.together():
            models = self._models_of([folds.of_fold(f) for f in some], values)
            for f, (labels, model) in zip(some, models, strict=True):
                scores = model.scores(take(folds.X, folds.splits[f][1]))
                scores = np.moveaxis(scores, 0, -1)
                yield f, slice(0, len(values)), labels.present, scores, np.zeros(len(values))

    # --- queries ----------------------------------------------------------------------------------

    def _landmark_query(self, X):
        refuse_dask_query(X)
        if takes_vectors(self.kernel):
            return self._landmark_values(validate_rows(self, X, reset=False, dtype=FLOATS))
        return check_objects(X)

    def _landmark_values(self, X):
        """Objects; of a precomputed matrix the columns of the landmarks."""
        if self._columns is None:
            return X
        check_magnitude(X)
        return X[:, self._columns]

    def _landmark_scores(self, X, complete=False):
        X, model = self._check_query(X), self._fitted_landmarks()
        return self._all_columns(model.scores(X, complete=complete)[0], -np.inf)

    def _all_columns(self, values, fill):
        """Values (n, c) of all classes from those of the classes that have been seen."""
        if len(self._present) == len(self.classes_):
            return values
        out = np.full((len(values), len(self.classes_)), fill)
        out[:, self._present] = values
        return out

    @available_if(_takes_landmarks)
    def residual(self, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
        """What the landmarks leave over of each object (``landmarks=`` only).

        k(x, x) minus its approximation by the landmarks. Distances to an object's own class are too
        large by about this much, divided by σ² for RC.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values (``"precomputed"``).
        self_similarity : array-like of shape (n_samples,), default=None
            k(x, x) of the rows, where a precomputed kernel does not tell it.

        Returns
        -------
        residual : ndarray of shape (n_samples,)
            0 for landmarks; small where the landmarks represent the object well.
        """
        X = self._check_query(X)
        return self._fitted_landmarks().residual(X, self_similarity)
