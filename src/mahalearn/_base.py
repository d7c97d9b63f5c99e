"""What the estimators share: the way from input to kernel, and from scores to predictions.

A plain estimator predicts from scores of its own, a search by its best estimator.
"""

import functools
import inspect
import numbers
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from ._typing import ArrayLike, Kernel, Objects
from ._validation import (
    check_choice,
    check_classes,
    check_memory,
    check_objects,
    check_priors,
    refuse_dask,
    refuse_dask_query,
    refuse_fit_params,
    refuse_objects,
    take,
    validate_rows,
)
from .formulas.linalg import LinearScores, eigh, negative_fraction, signature
from .formulas.offsets import winners
from .formulas.spectrum import SPECTRA
from .kernels.protocol import is_precomputed, kernel_settings, takes_vectors
from .kernels.training import BLOCKS, fit_training, row_chunks

NO_LABELS = "no_validation"  # validate_data's own word for "there is no y"


Fit = TypeVar("Fit", bound=Callable[..., Any])


def refuses_weights(fit: Fit) -> Fit:
    """A fit method whose error says why it does not take sample_weight."""
    taken = set(inspect.signature(fit).parameters)

    @functools.wraps(fit)
    def checked(self, *args, **params):
        refuse_fit_params(self, {name: v for name, v in params.items() if name not in taken})
        return fit(self, *args, **params)

    return cast(Fit, checked)


class ScoreClassifierMixin(ClassifierMixin):
    """Every predict method from one: ``_scores(X)`` gives (m, c) scores, the largest wins.

    Of scores that are equal up to rounding (``_rounding``) the first class wins.
    """

    _rounding = 0.0

    def predict(self, X: Objects) -> np.ndarray:
        """Predict the class of each row of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        check_is_fitted(self)
        return self.classes_[winners(self._scores(X), self._rounding)]

    def decision_function(self, X: Objects) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second's score minus the first's.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return self._all_scores(X)
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0]

    def _all_scores(self, X):
        """Scores of which those that lose count, too."""
        return self._scores(X)

    def _query_scores(self, X):
        """Scores of queries that need no more checks."""
        return self._scores(X)

    def _log_proba(self, X):
        check_is_fitted(self)
        return log_softmax(self._scores(X), axis=1)


class DensityClassifierMixin(ScoreClassifierMixin):
    """The same, and probabilities: the scores are ln p(x|ω_j)P(ω_j) but for what is common."""

    def predict_log_proba(self, X: Objects) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        return self._log_proba(X)

    def predict_proba(self, X: Objects) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return np.exp(self._log_proba(X))


class KernelEstimator(BaseEstimator):
    """Input checks and the kernel of an estimator: what all that take a kernel share.

    Input is numeric rows, a precomputed matrix, or objects where the kernel takes them.
    """

    # What version 0.1 did where it had no parameter: models that it saved come back as they were.
    _in_0_1: dict[str, Any] = {"standardize": False}
    # Estimators with a form at landmarks (LandmarkClassifier) set these.
    landmarks: Any = None
    _derived: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        spectrum: str = "krein",
        standardize: bool | str = "auto",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.spectrum = spectrum
        self.standardize = standardize

    def __setstate__(self, state):
        super().__setstate__({**self._in_0_1, **state})

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Positions of landmarks do not survive the slicing of columns.
        tags.input_tags.pairwise = is_precomputed(self.kernel) and to_choose(self.landmarks)
        return tags

    @property
    def _at_landmarks(self):
        """Whether the estimator was fitted with landmarks."""
        return "_statistics" in vars(self)

    def _fit_training(self, X, y, known=None):
        """Check the training data; sets classes_ and kernel_; returns the training kernel, codes.

        With y=NO_LABELS all objects are of one class, and classes_ is not set. known: the fitted
        kernel and the Gram matrix of X, where a search has computed them.
        """
        self._policy = self._check_spectrum()
        refuse_dask(self, X, y)
        labelled = not (isinstance(y, str) and y == NO_LABELS)
        if takes_vectors(self.kernel):
            refuse_objects(X)
            checked = validate_rows(self, X, y, dtype=np.float64)
            X, y = checked if labelled else (checked, None)
        else:
            X = check_objects(X)
            if labelled:
                if y is None:
                    raise ValueError(
                        f"{type(self).__name__} requires y to be passed, but the target y is None."
                    )
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
        if labelled:
            self.classes_, codes = check_classes(y)
        else:
            y, codes = None, np.zeros(len(X), dtype=np.intp)
        precomputed = is_precomputed(self.kernel)
        kernel, gram = known or (None if precomputed else self.kernel, None)
        kernel, self._training = fit_training(
            X, y, codes, kernel, self._policy, gram, **kernel_settings(self, X)
        )
        self.kernel_ = "precomputed" if precomputed else kernel
        self._eigenvalues = None
        return self._training, codes

    def _check_spectrum(self):
        """The policy about negative eigenvalues."""
        return check_choice(self.spectrum, "spectrum", SPECTRA)

    def _fit_full(self, training):
        """The whole training matrix, for methods that need it."""
        n = len(training)
        check_memory(4 * n**2, f"The kernel matrix of {n} objects and its decomposition")
        self._refuse_indefinite(training)
        return training.gram()

    def _refuse_indefinite(self, training):
        """Raise where spectrum="raise" and the centred matrix has negative eigenvalues."""
        if self._check_spectrum() == "raise":
            training.refuse_indefinite([slice(0, len(training))])

    def _check_query(self, X):
        check_is_fitted(self)
        refuse_dask_query(X)
        if takes_vectors(self.kernel):
            return validate_rows(self, X, reset=False, dtype=np.float64)
        return check_objects(X)

    def kernel_spectrum(self) -> np.ndarray:
        """Eigenvalues of the training kernel matrix, before any correction; computed once.

        At landmarks those of the landmarks' own matrix.

        Returns
        -------
        eigenvalues : ndarray of shape (n_samples,)
            In ascending order, the negligible ones exactly 0.
        """
        check_is_fitted(self)
        if self._eigenvalues is None and self._at_landmarks:
            self._eigenvalues = eigh(self._statistics.plan.gram, vectors=False).values
        elif self._eigenvalues is None:
            n = len(self._training)
            check_memory(2 * n**2, f"The spectrum of the kernel matrix of {n} objects")
            K = self._training.original.gram()
            self._training.release()
            self._eigenvalues = eigh(K, vectors=False, overwrite=True).values
        return self._eigenvalues

    def kernel_signature(self) -> tuple[int, int]:
        """Numbers of positive and negative eigenvalues of the training kernel matrix.

        Returns
        -------
        signature : tuple of int
            (p, q).
        """
        return signature(self.kernel_spectrum())

    def negative_fraction(self) -> float:
        """Share of the negative eigenvalues, Σ_{λ<0}|λ|/Σ|λ|, in the training kernel matrix.

        Returns
        -------
        fraction : float
            From 0 to 1.
        """
        return negative_fraction(self.kernel_spectrum())

    def __getattr__(self, name):
        if name in self._derived and vars(self).get("_stale"):
            return self._derive(name)
        # Attributes of version 0.1 that cost a decomposition; listing attributes must not.
        methods = {
            "signature_": KernelEstimator.kernel_signature,
            "negative_fraction_": KernelEstimator.negative_fraction,
        }
        if name in methods and "_training" in vars(self):
            warnings.warn(
                f"{name} is deprecated since version 0.2 and will be removed in 0.4; call "
                f"{methods[name].__name__}().",
                FutureWarning,
                stacklevel=2,
            )
            return methods[name](self)
        return object.__getattribute__(self, name)  # raises as without this method


def over_rows(training, queries, function):
    """function(k) over chunks of the queries' kernel rows k (m, n), stacked along the queries.

    The function must not overwrite k. Memory stays within working_memory, beside the result.
    """
    chunks = row_chunks(len(queries), BLOCKS * len(training))
    parts = [function(training.cross(take(queries, rows), read=True)) for rows in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class LinearPath(NamedTuple):
    """Linear scores for each value of a path, and what rounding may leave in them."""

    models: list[LinearScores]
    rounding: np.ndarray | None = None

    @classmethod
    def of(cls, models, largest):
        """With what rounding may leave for kernel values of at most `largest`."""
        return cls(models, np.array([model.rounding(largest) for model in models]))

    def scores(self, training, queries):
        """(m, c, r) scores of queries."""
        return over_rows(
            training,
            queries,
            lambda k: np.stack([model.scores(k) for model in self.models], axis=-1),
        )


class LinearPathMixin:
    """A KernelClassifier whose models are a LinearPath."""

    def _path_scores(self, models, training, queries, kxx):
        return models.scores(training, queries)

    def _store(self, models):
        self._model = models.models[0]
        self.intercept_ = self._model.offsets

    def _path(self):
        return LinearPath([self._model])


class Labels(NamedTuple):
    """The classes of a training set: a fold need not have all of them.

    classes: all class labels; present: positions of those that are there; codes (n,): the class of
    each training object, counted among those present.
    """

    classes: np.ndarray
    present: np.ndarray
    codes: np.ndarray

    @property
    def names(self):
        """Labels of the classes that are there."""
        return self.classes[self.present]

    @property
    def y(self):
        """Label of each training object."""
        return self.names[self.codes]

    def priors(self, priors):
        """Prior probabilities of the classes that are there: as given, or their frequencies."""
        if priors is None:
            return np.bincount(self.codes) / len(self.codes)
        priors = check_priors(priors, len(self.classes))[self.present]
        return priors / priors.sum()


def path_rounding(models):
    """What rounding may leave in the scores of a path, (r,) or (1,)."""
    return getattr(models, "rounding", np.zeros(1))


def to_choose(landmarks):
    """Whether landmarks are to be chosen, or none are asked for."""
    return landmarks is None or isinstance(landmarks, (numbers.Integral, str))


# From 5,000 objects on landmarks cost less; here an exact fit takes six times as long.
MANY_OBJECTS = 10_000


def _warn_of_many(X):
    """Say that an exact fit on many objects takes long."""
    n = len(X) if hasattr(X, "__len__") and not issparse(X) else 0
    if n > MANY_OBJECTS:
        warnings.warn(
            f"An exact kernel classifier of {n} objects takes a time that grows with the cube of "
            "their number; landmarks=1000 (or 'auto') takes one pass over them, and predicts "
            "faster. docs/scale.md says when they pay.",
            UserWarning,
            stacklevel=5,
        )


class KernelClassifier(ScoreClassifierMixin, KernelEstimator):
    """A classifier on kernel values, written once for one training set and for many.

    A subclass gives

    - ``_axis``: the parameter along which a search has a path of values;
    - ``_check_parameters()``: refuses wrong parameters, before any data are looked at;
    - ``_fit_path(training, labels, values)``: the models of one training set for all values of the
      path, with ``rounding`` (r,), where it may leave something in the scores;
    - ``_path_scores(models, training, queries, kxx)``: (m, c, r) scores of queries;
    - ``_store(models)``: keeps the models of a path of one value, and ``_path()`` gives them back.

    With landmarks a LandmarkClassifier takes another road, from fit to scores.
    """

    _axis = "reg"
    _landmark_path: Any = None

    @refuses_weights
    def fit(self, X: Objects, y: Objects) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        return self._fit(X, y)

    def _fit(self, X, y, known=None):
        for name in ("_statistics", "_landmark_model", "_present", "_stale", "landmarks_"):
            vars(self).pop(name, None)  # of an earlier fit at landmarks
        if self.landmarks is not None:
            return self._fit_landmarks(X, y, known)
        if self._landmark_path is not None:
            _warn_of_many(X)
            if y is None and not hasattr(X, "shape"):
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None. An "
                    "iterable of batches (X, y) is taken with landmarks= only."
                )
        self._check_parameters()
        training, codes = self._fit_training(X, y, known)
        labels = Labels(self.classes_, np.arange(len(self.classes_)), codes)
        models = self._fit_path(training, labels, [self._axis_value(training)])
        self._rounding = float(path_rounding(models)[0])
        self._store(models)
        training.release()
        return self

    def _axis_value(self, training, kernel=None):
        """The one value of the path of a plain estimator.

        kernel: as fitted, where the training set knows its values alone.
        """
        return getattr(self, self._axis)

    def _fixed_axis_value(self, kernel):
        """The same for a fitted kernel, as far as it is known without the training set."""
        return getattr(self, self._axis)

    def _fold_scores(self, folds, values):
        """Held-out scores of each fold: (fold, steps, present classes, (m, c, r), rounding (r,)).

        The same as fitting on each fold. A subclass may do better, where a fold is an update.
        """
        classes = np.unique(folds.y)
        for f in range(len(folds)):
            fold = folds[f]
            labels = Labels(classes, fold.present, fold.codes)
            models = self._fit_path(fold.training, labels, values)
            scores = self._path_scores(models, fold.training, fold.queries, fold.kxx)
            yield f, slice(0, len(values)), fold.present, scores, path_rounding(models)

    def _query_self_similarities(self, X):
        """k(x, x) of queries for methods that do not need them."""
        return None

    def _check_query(self, X):
        check_is_fitted(self)
        return self._landmark_query(X) if self._at_landmarks else super()._check_query(X)

    def _scores(self, X):
        if self._at_landmarks:
            return self._landmark_scores(X)
        return self._query_scores(self._check_query(X))

    def _all_scores(self, X):
        return self._landmark_scores(X, complete=True) if self._at_landmarks else self._scores(X)

    def _query_scores(self, X):
        """Scores (m, c) of queries that need no more checks."""
        kxx = self._query_self_similarities(X)
        return self._path_scores(self._path(), self._training, X, kxx)[..., 0]


class BestEstimatorMixin(ClassifierMixin):
    """Every predict method from ``best_estimator_`` and ``temperature_``."""

    def predict(self, X: Objects) -> np.ndarray:
        """Predict the class of each row of X by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted class labels.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(self._input(X))

    def decision_function(self, X: Objects) -> np.ndarray:
        """Scores of the classes by the best estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the second's score minus the first's.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(self._input(X))

    def predict_proba(self, X: Objects) -> np.ndarray:
        """Class probabilities, calibrated on the held-out scores of the search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            The softmax of scores / temperature_: the most probable class is the predicted one.
        """
        return softmax(self._tempered(X), axis=1)

    def predict_log_proba(self, X: Objects) -> np.ndarray:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        return log_softmax(self._tempered(X), axis=1)

    def score(self, X: Objects, y: Objects, sample_weight: ArrayLike | None = None) -> float:
        """What the search maximised: accuracy, unless `scoring` says otherwise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the objects.

        Returns
        -------
        score : float
            The score.
        """
        if self.scoring is None:
            return super().score(X, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return check_scoring(self, self.scoring)(self, X, y, **weights)

    def _input(self, X):
        """What the best estimator is given."""
        return X

    def _tempered(self, X):
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return scores / self.temperature_
