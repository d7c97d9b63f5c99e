"""Kernel classifiers: one road from training data to scores, with all objects or at landmarks."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from .._base import KernelEstimator, ScoreClassifierMixin, over_rows, refuses_weights
from .._sparse import as_matrix, as_rows, column_moments
from .._typing import ArrayLike, Objects
from .._validation import (
    check_class_list,
    check_labels,
    check_priors,
    is_dask_collection,
    is_real,
    is_whole,
    is_word,
    n_rows,
    refuse_dask_labels,
    refuse_missing_labels,
    validate_rows,
)
from ..formulas.linalg import LinearScores
from ..kernels.landmarks import (
    LANDMARK_SPECTRA,
    is_auto,
    landmark_choice,
    landmark_method,
    to_choose,
)
from ..kernels.protocol import is_named, is_precomputed, takes_sparse, takes_vectors
from ..training.folds import Folds, LandmarkFolds, SplitFold, fold_cells
from ..training.landmark import FLOATS, LandmarkTraining
from ..training.sample import in_proportion, random_folds
from ..training.sources import (
    DaskSource,
    array_source,
    batch_source,
    check_batches,
    check_dask_table,
    example_row,
    matrix_source,
    pairs_of,
)
from ..training.summary import AUTO_FOLDS, enough_landmarks, learn_kernel, make_plan
from .explanation import explain, named_contributions, nearest_objects, object_contributions

# From 5,000 objects on landmarks cost less; here an exact fit takes six times as long.
MANY_OBJECTS = 10_000


class Labels(NamedTuple):
    """The classes of a training set: a fold need not have all of them.

    classes: all class labels; present: positions of those that are there; codes (n,): the class of
    each object whose distances or scores the training set knows, counted among those present;
    counts (c,): number of objects of each class, of which those are all, or a sample.
    """

    classes: np.ndarray
    present: np.ndarray
    codes: np.ndarray
    counts: np.ndarray

    @property
    def names(self):
        """Labels of the classes that are there."""
        return self.classes[self.present]

    @property
    def weights(self):
        """Number of objects that one of those known stands for, by class (c,)."""
        return self.counts / np.maximum(np.bincount(self.codes, minlength=len(self.counts)), 1)

    def in_proportion(self):
        """Positions of known objects such that classes have their shares; all if they are all."""
        return slice(None) if (self.weights == 1).all() else in_proportion(self.codes, self.counts)

    def priors(self, priors):
        """Prior probabilities of the classes that are there: as given, or their frequencies."""
        if priors is None:
            return self.counts / self.counts.sum()
        priors = check_priors(priors, len(self.classes))[self.present]
        return priors / priors.sum()


@dataclass(kw_only=True)
class PathModels:
    """The models of one training set for the values of a path.

    rounding (r,) or (1,): the size of the rounding errors in the scores; temperature of a path of
    one value: what turns its scores into probabilities, None where they are not calibrated;
    distances to the classes, None where the scores are made of something else.
    """

    values: list
    rounding: np.ndarray
    temperature: float | None = None
    distances: Any = None

    def scores(self, training, queries):
        """(m, c, r) scores of queries; what all classes share may be missing."""
        raise NotImplementedError

    def complete_scores(self, training, queries):
        """The same with what all classes share, as far as it is known."""
        return self.scores(training, queries)

    def margin(self, a, b):
        """Coefficients (n,) and constant of score a minus score b, None if they are not linear."""


@dataclass(kw_only=True)
class LinearPath(PathModels):
    """Scores that are linear in the kernel values."""

    models: list[LinearScores]

    def margin(self, a, b):
        """Coefficients (n,) and constant of score a minus score b."""
        A, b0 = self.models[0].coefficients, self.models[0].offsets
        return A[:, a] - A[:, b], b0[a] - b0[b]

    def scores(self, training, queries):
        """(m, c, r) scores of queries."""
        offsets = np.stack([model.offsets for model in self.models], axis=-1)
        A = np.concatenate([model.coefficients for model in self.models], axis=1)

        def scores(k):
            values = (k @ A.astype(k.dtype, copy=False)).reshape(len(k), -1, len(offsets))
            return values.swapaxes(1, 2) + offsets

        return over_rows(training, queries, scores)


def linear_rounding(models, largest):
    """Rounding errors (r,) of LinearScores for kernel values of at most `largest`."""
    return np.array([model.rounding(largest) for model in models])


def fixed_value(estimator, objects):
    """The value of the path's parameter; "auto" stays where it depends on the training objects.

    objects: a training set, or the folds of a cross-validation.
    """
    value = getattr(estimator, estimator.path_parameter)
    fixed = is_word(value, "auto") and not objects.of_dissimilarities
    return estimator.auto_value if fixed else value


def path_value(estimator, training):
    """The value of the path's parameter, "auto" resolved for a training set."""
    value = fixed_value(estimator, training)
    return estimator._dissimilarities_value(training) if is_word(value, "auto") else value


@refuses_weights
def weighted_fit(
    self: Any, X: Any, y: Objects | None = None, sample_weight: ArrayLike | None = None
) -> Any:
    """Fit the classifier.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training objects, or their square kernel matrix (``kernel="precomputed"``). Where the
        classifier has `landmarks`, also a memory map, a dask array or dataframe, or, without y, an
        iterable of batches (X, y) that can be read twice, such as
        :class:`mahalearn.datasets.ParquetBatches`.
    y : array-like of shape (n_samples,), default=None
        Class labels; None where X is an iterable of batches.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the objects: an object of weight 2 counts as two, one of weight 0 is left out.
        Not with `landmarks`. A correction of negative eigenvalues (`spectrum`) is that of the
        matrix without weights, and a kernel that is an object learns without them.

    Returns
    -------
    self : object
        The fitted classifier.
    """
    return self.fit_shared(X, y, weights=sample_weight)


def fitted_attribute(function):
    """A public attribute as function(estimator, models): never older than the training set."""

    def get(self):
        try:
            return function(self, self.models_)
        except ValueError as error:
            raise AttributeError(f"{function.__name__} is not known yet: {error}") from error

    get.__annotations__ = {"return": function.__annotations__["return"]}
    return property(get, doc=function.__doc__)


def _has_landmarks(estimator):
    if estimator.landmarks is None:
        raise AttributeError(
            f"{type(estimator).__name__} has this with landmarks= only: without them all training "
            "objects are needed at once."
        )
    return True


class KernelClassifier(ScoreClassifierMixin, KernelEstimator):
    """A classifier on a training set, of all objects or at landmarks, written once for both.

    A subclass gives

    - ``path_parameter``: the parameter along which a search has a path of values, `reg` if it does
      not say another one; where that may be "auto", ``auto_value``, and for dissimilarities
      ``_dissimilarities_value(training)``;
    - ``_check_parameters()``: refuses wrong parameters, before any data are looked at;
    - ``_fit_path(training, labels, values)``: the PathModels of one training set.

    A fitted classifier has its training set and the models of a path of one value. These are made
    anew when the training set has changed; public attributes that depend on them are
    `fitted_attribute`s.

    A search asks for ``held_out_scores`` of candidates on Folds: those of KernelFolds for all
    objects, or of ``landmark_folds``, for which ``landmark_source``, ``sample_source`` and
    ``with_chosen_landmarks`` prepare the data; then for ``fit_shared``.
    """

    path_parameter: Any = "reg"
    landmarks: Any = None  # classifiers with a form at landmarks have it as a parameter
    random_state: Any = None
    _models: Any = None

    @property
    def _converts_arrays(self):
        return self.landmarks is not None  # models of all objects keep to NumPy

    explain = explain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.landmarks is not None:  # positions do not survive the slicing of columns
            tags.input_tags.pairwise &= to_choose(self.landmarks)
        return tags

    @refuses_weights
    def fit(self, X: Any, y: Objects | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``). Where the
            classifier has `landmarks`, also a memory map, a dask array or dataframe, or, without y,
            an iterable of batches (X, y) that can be read twice, such as
            :class:`mahalearn.datasets.ParquetBatches`.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        return self.fit_shared(X, y)

    def fit_shared(self, X: Any, y: Any, shared: Any = None, weights: Any = None) -> Self:
        """Fit; shared: landmarks, or the fitted kernel and Gram matrix, that a search has."""
        self._check_parameters()
        self._search_temperature = None
        if self.landmarks is not None:
            if weights is not None:
                raise ValueError(
                    "sample_weight is taken without landmarks= only: the pass over the rows counts "
                    "each of them once."
                )
            source = self.landmark_source(X, y).changed(chosen=shared)
            self._use(self.landmark_training(source))
        else:
            if "landmarks" in vars(self):
                self._check_size(X, y)
            self.__dict__.pop("landmarks_", None)  # of an earlier fit
            self._fit_training(X, y, shared, weights)
            self._models = None
        self._make_models()
        self._training.release()
        return self

    def share(self, kernel: Any, trainings: dict, distances: dict) -> None:
        """Hold the parts that classifiers of the same objects hold already, where they are equal.

        kernel: key of the kernel; trainings: training sets by kernel and policy about negative
        eigenvalues; distances: class distances by training set and options. New parts are added.
        """
        training = self._training
        if trainings:  # in the order of the classes, as every one has them
            training.original.X = next(iter(trainings.values())).original.X
        for (other, _), shared in trainings.items():
            if other == kernel:  # under another policy
                training.original.kernel = shared.original.kernel
        self._training = training = trainings.setdefault((kernel, self._policy), training)
        if self._distances is not None:
            key, model = (id(training), *self._distances.key), self._distances
            model = distances.setdefault(key, model._replace(training=training))
            self._models = replace(self._models, distances=model)

    def linear_margin(self, a: int, b: int) -> Any:
        """Coefficients (n,) and constant of score a minus score b, None if they are not linear."""
        present = np.flatnonzero(self._training.counts)
        return self.models_.margin(*np.searchsorted(present, [a, b]))

    @property
    def shares_kernel(self) -> bool:  # type: ignore[override]
        """True for a classifier of all objects, whose kernel values others may share."""
        return self.landmarks is None

    @property
    def sharing_order(self) -> tuple[int, int]:  # type: ignore[override]
        """Key of a sort that puts those with one kernel, and one model of distances, together."""
        if not self.shares_kernel:
            return 0, 0
        return id(self._training.original.kernel), id(self._distances)

    def shared_scores(self, queries: Any, rows: Any) -> np.ndarray:
        """Scores (m, c) of checked queries; rows: these as SharedRows."""
        if not self.shares_kernel:
            return self.query_scores(self._training.shared_query(queries, rows))
        return self.query_scores(queries if is_precomputed(self.kernel) else rows)

    def _check_size(self, X, y):
        """Refuse batches, and say that an exact fit on many objects takes long."""
        if y is None and not hasattr(X, "shape"):
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. An "
                "iterable of batches (X, y) is taken with landmarks= only."
            )
        n = n_rows(X)
        if n > MANY_OBJECTS:
            warnings.warn(
                f"An exact kernel classifier of {n} objects takes a time that grows with the cube "
                "of their number; landmarks=1000 (or 'auto') takes one pass over them, and "
                "predicts faster. docs/scale.md says when they are faster.",
                UserWarning,
                stacklevel=5,
            )

    @property
    def models_(self) -> Any:
        """The models of the training set, of a path of one value; made where they are missing."""
        if self._models is None:
            self._make_models()
        return self._models

    def _make_models(self):
        _, self._models = self._models_of(self.training_, self.classes_)

    def _models_of(self, training, classes):
        """The classes that a training set has objects of, and its models for one value."""
        present, training = training.seen()
        value = path_value(self, training)
        if np.ndim(value) == 1 and len(value) == len(classes):
            value = np.asarray(value)[present]
        labels = Labels(classes, present, training.codes, training.counts)
        return present, self._fit_path(training, labels, [value])

    def _model_temperature(self):
        return self.models_.temperature

    @property
    def _distances(self):
        return self.models_.distances

    @property
    def rounding_(self) -> float:  # type: ignore[override]
        """Size of the rounding errors of the scores."""
        return float(self.models_.rounding[0])

    # --- queries ----------------------------------------------------------------------------------

    _check_query = KernelEstimator._check_query

    def _all_scores(self, X):
        scores = self.models_.complete_scores(self._training, self._check_query(X))
        return self._all_columns(scores[..., 0], -np.inf)

    def query_scores(self, queries: Any) -> np.ndarray:
        """Scores (m, c) of queries that need no more checks."""
        return self._all_columns(self.models_.scores(self._training, queries)[..., 0], -np.inf)

    # --- explanations -----------------------------------------------------------------------------

    def _known_distances(self, queries):
        if self._distances is None or self._training.self_similarities(queries) is None:
            return None
        return self._all_columns(self._distances.sq_distances(queries), np.inf)

    def neighbors_of(self, x: Any, n_neighbors: int, a: int, b: int) -> Any:
        """(position, squared distance) of the training objects or landmarks nearest to a query."""
        positions, distances = nearest_objects(self._training, x, n_neighbors)
        return list(zip(positions[0].tolist(), distances[0].tolist(), strict=True))

    def _contributions(self, x, a, b):
        if not takes_vectors(self.kernel) or is_precomputed(self.kernel):
            return object_contributions(self, x, a, b)
        if not self.smooth_scores:
            return None, None
        center, variance = column_moments(self._training.reference_rows())
        return named_contributions(self, self._margin(a, b), x, center, np.sqrt(variance))

    # --- folds ------------------------------------------------------------------------------------

    @property
    def shared_parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """Parameters in which candidates may differ that are fitted together."""
        return (self.path_parameter,)

    def held_out_scores(self, candidates: list[Any], folds: Folds) -> list[Any]:
        """Scores (M, c) of the held-out objects of all folds, and rounding (M,), of each candidate.

        candidates: classifiers that differ from this one in the path's parameter alone.
        """
        for candidate in candidates:
            candidate._check_parameters()
        values = [fixed_value(candidate, folds) for candidate in candidates]
        if all(map(is_real, values)):
            path = sorted(set(values))
            scores, rounding = folds.assembled(list(self._fold_scores(folds, path)), len(path))
            places = [path.index(value) for value in values]
            return [(scores[..., r], rounding[:, r]) for r in places]
        # Values that each fold resolves by itself.
        paths = [KernelClassifier._fold_scores(candidate, folds) for candidate in candidates]
        tables = [folds.assembled(list(path), 1) for path in paths]
        return [(scores[..., 0], rounding[:, 0]) for scores, rounding in tables]

    def split_scores(
        self, candidates: list[Any], X: Any, y: Any, X_test: Any, **fit_params: Any
    ) -> list[Any]:
        """(classes, scores (m, c), rounding) of each candidate, fitted on X, y, for X_test."""
        model = clone(self)
        if self.landmarks is None and not fit_params:
            training = model._fit_training(X, y)
            queries = model._check_query(X_test)
            # Of rows of a matrix the classifier knows where k(x, x) matters.
            if training.self_similarities(queries) is not None:
                fold = SplitFold(training, model.classes_, queries)
                tables = self.held_out_scores(candidates, fold)
                return [(model.classes_, scores, noise[0]) for scores, noise in tables]
        return super().split_scores(candidates, X, y, X_test, **fit_params)

    def _fold_scores(self, folds, values=None):
        """Held-out scores of each fold: (fold, steps, present classes, (m, c, r), rounding (r,)).

        The same as fitting on each fold. A subclass may do better, where a fold is an update.
        values: of the path; None for the estimator's own, which each fold resolves by itself.
        """
        for f in range(len(folds)):
            training, present, queries = folds[f]
            labels = Labels(folds.classes, present, training.codes, training.counts)
            path = [path_value(self, training)] if values is None else values
            models = self._fit_path(training, labels, path)
            yield f, slice(0, len(path)), present, models.scores(training, queries), models.rounding

    def landmark_folds(
        self, source: Any, splits: Any, sample_rows: int | None = None
    ) -> LandmarkFolds:
        """The training sets of a cross-validation at landmarks, see LandmarkFolds."""
        cells = fold_cells(source, splits)
        plan, policy = self._plan(source, cells.number), self._landmark_policy()
        return LandmarkFolds(source, splits, cells, plan, policy, sample_rows)

    def sample_source(self, data: Any, y: Any, n_folds: int) -> Any:
        """Data of a search that are not in memory: X and y are a sample's, with its folds."""
        source = self.landmark_source(data, y)
        self.classes_, folds = source.scanned.classes, partial(random_folds, n_folds)
        # A pass at one landmark says which rows the training sets of a plan will keep.
        some = source.changed(landmarks=1) if to_choose(self.landmarks) else source
        sample = source.collect(self._plan(some, n_folds).first(1), folds)
        sample, counts = sample.sample, sample.counts
        sample = sample.select(in_proportion(sample.codes, counts))
        labels = self.classes_[sample.codes]
        return source.changed(X=sample.rows, y=labels, folds=folds, sample_folds=sample.folds)

    def with_chosen_landmarks(self, source: Any, *, shared: bool) -> Any:
        """A source with the seed that the kernels of a search share, and the landmarks if `shared`.

        The seed is that of a plain fit with the same random_state. k-means and a uniform choice do
        not depend on the width of a kernel: kernels of one name share their landmarks.
        """
        choice = landmark_choice(self.landmarks, self.random_state)
        if not to_choose(choice.landmarks):
            return source
        seed = choice.random_state
        if not is_whole(seed):
            seed = check_random_state(seed).randint(2**31 - 1)
        source = source.changed(seed=int(seed))
        kernel, sparse = self._source_kernel(source), source.scanned.sparse
        if not shared or landmark_method(choice.method, kernel, sparse=sparse) == "rpcholesky":
            return source
        n_folds = AUTO_FOLDS if is_auto(choice.landmarks) else 1
        return source.changed(chosen=self._plan(source, n_folds).rows.landmarks)

    # --- at landmarks -----------------------------------------------------------------------------

    def _landmark_policy(self):
        """The policy about negative eigenvalues, as landmarks allow it."""
        spectrum = self.checked_spectrum()
        if spectrum not in LANDMARK_SPECTRA:
            raise ValueError(
                "spectrum='shift' is not available with landmarks; use 'krein', 'clip' or 'flip'."
            )
        return spectrum

    def landmark_training(self, source: Any, classes: Any = None) -> Any:
        """The training set of a source; classes: all that will ever come, None for those there."""
        auto = is_auto(landmark_choice(self.landmarks).landmarks)
        plan = self._plan(source, n_folds=AUTO_FOLDS if auto else 1, classes=classes)
        training = source.collect(plan, partial(random_folds, AUTO_FOLDS) if auto else None)
        return self._with_enough_landmarks(training) if auto else training

    def _use(self, training):
        """Take a training set at landmarks, and what it says before a model is made."""
        rows = training.plan.rows
        self.classes_, self.landmarks_ = training.plan.classes, as_matrix(rows.landmarks)
        if not is_precomputed(self.kernel):
            self.kernel_ = rows.kernel.as_fitted
        else:
            self.kernel_ = "precomputed"
            if rows.kernel is None:  # objects are their rows
                self.landmarks_ = np.asarray(landmark_choice(self.landmarks).landmarks)
            else:  # queries come as kernel values; the matrix of all objects is not needed any more
                columns = training.plan.columns
                columns = self.landmarks_ if columns is None else columns
                training = training.as_rows()
                training.plan.columns = columns
        training.spectrum = self._policy = self._landmark_policy()
        self._training, self._models, self._eigenvalues = training, None, None
        return self

    @available_if(_has_landmarks)
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
        self._check_parameters()
        if is_dask_collection(X) or is_dask_collection(y):
            raise TypeError("partial_fit takes rows in memory; fit takes a dask collection.")
        if not isinstance(vars(self).get("_training"), LandmarkTraining):
            if classes is None:
                raise ValueError("classes must be given in the first call to partial_fit.")
            source = self.landmark_source(X, y, square=False)
            self._use(self.landmark_training(source, check_class_list(classes)))
        else:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
                )
            X, y = self._check_labelled(X, y, reset=False)
            self._training.spectrum, self._models = self._landmark_policy(), None
            self._training.add(self._training.query(X), y)
        self._search_temperature = None
        return self

    def from_training(self, training: Any) -> Self:
        """The classifier of a training set that was merged elsewhere."""
        self._check_parameters()
        self._use(training)
        if takes_vectors(self.kernel):
            sparse = takes_sparse(self.kernel)
            validate_rows(self, self.landmarks_, dtype=FLOATS, accept_sparse=sparse)
        self._make_models()
        self._training.release()
        return self

    def landmark_source(self, data: Any, y: Any, *, square: bool = True) -> Any:
        """Checked training data; square: a precomputed matrix may be one of all objects."""
        source = self._source(data, y, square)
        if not hasattr(source.landmarks, "columns"):
            return source
        return source.changed(landmarks=self._check_objects(source.landmarks, False, FLOATS))

    def _source(self, data, y, square):
        self._landmark_policy()
        landmarks = as_rows(landmark_choice(self.landmarks).landmarks)
        vectors, precomputed = takes_vectors(self.kernel), is_precomputed(self.kernel)
        if is_dask_collection(data):
            return self._dask_source(data, y, landmarks)
        if y is None:
            name = type(self).__name__
            batches = partial(self._checked_batches, check_batches(data, name), name)
            return batch_source(batches, landmarks, vectors=vectors, precomputed=precomputed)
        refuse_dask_labels(y)
        X, y = self._check_labelled(data, y)
        refuse_missing_labels(y)
        if precomputed:
            return matrix_source(X, y, landmarks, square=square)
        return array_source(X, y, landmarks, vectors=vectors)

    def _checked_batches(self, batches, name):
        reset = True
        for X, y in pairs_of(batches, name):
            if n_rows(X):
                yield self._check_labelled(X, y, reset=reset)
                reset = False

    def _dask_source(self, X, y, landmarks):
        if not takes_vectors(self.kernel) or is_precomputed(self.kernel):
            raise ValueError(
                "dask collections hold rows of numbers; use a kernel that takes vectors."
            )
        check_dask_table(X)
        validate_rows(self, example_row(X), dtype=FLOATS)
        # Landmarks that are given need no sample, and named kernels learn from moments.
        sampled = to_choose(landmarks) or not is_named(self.kernel)
        return DaskSource(X, y, landmarks, sampled=sampled)

    def _check_labelled(self, X, y, reset=True):
        X = self._check_objects(X, reset, FLOATS)
        return X, check_labels(self, X, y)

    def _plan(self, source, n_folds=1, classes=None):
        """The plan of training data."""
        choice = landmark_choice(self.landmarks, self.random_state)
        landmarks = source.landmarks if source.chosen is None else source.chosen
        return make_plan(
            source.scanned,
            self._source_kernel(source),
            landmarks,
            method=choice.method,
            random_state=choice.random_state if source.seed is None else source.seed,
            classes=classes,
            n_folds=n_folds,
            rtol=choice.rtol,
            columns=source.columns,
        )

    def _source_kernel(self, source):
        """The fitted kernel, None where objects are given by their kernel rows."""
        if source.kernel is not None or is_precomputed(self.kernel):
            return source.kernel
        return learn_kernel(source.scanned, self)

    def _with_enough_landmarks(self, training):
        """The training set of all folds with as few landmarks as predict well."""
        training.spectrum = self._landmark_policy()

        def scores(part, rows):
            present, models = self._models_of(part, training.plan.classes)
            return present, models.scores(part, rows)[..., 0]

        return training.all_folds().first(enough_landmarks(training, scores))

    @available_if(_has_landmarks)
    def residual(self, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
        """The part of each object that the landmarks do not represent (``landmarks=`` only).

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
        return self._training.residual(self._check_query(X), self_similarity)


class LinearClassifier(KernelClassifier):
    """Kernel classifiers with a LinearPath; the objects may have weights."""

    fit = weighted_fit

    @fitted_attribute
    def intercept_(self, models: Any) -> np.ndarray:
        """Constants: scores are ``k @ dual_coef_ + intercept_``."""
        return self._all_columns(models.models[0].offsets, np.nan)

    @fitted_attribute
    def dual_coef_(self, models: Any) -> np.ndarray:
        """Coefficients of each class, in the order of the training objects or landmarks."""
        return self._all_columns(models.models[0].coefficients[self._training.as_given], np.nan)
