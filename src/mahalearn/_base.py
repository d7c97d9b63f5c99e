"""What the estimators share: the way from input to kernel, and from scores to predictions."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ._objects import check_objects, refuse_objects, take
from ._typing import Kernel, Objects
from ._validation import (
    check_choice,
    check_classes,
    check_memory,
    check_priors,
    refuse_dask,
    refuse_dask_query,
    refuse_fit_params,
)
from .formulas.gram import negative_fraction, signature
from .formulas.linalg import eigh
from .formulas.offsets import winners
from .formulas.spectrum import SPECTRA
from .kernels.named import standardizes
from .kernels.protocol import check_kernel_name, is_named, is_precomputed, takes_vectors
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
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _log_proba(self, X):
        check_is_fitted(self)
        return log_softmax(self._scores(X), axis=1)


class KernelEstimator(BaseEstimator):
    """Input checks and the kernel of an estimator: what all that take a kernel share.

    Input is numeric rows, a precomputed matrix, or objects where the kernel takes them.
    """

    # What version 0.1 did where it had no parameter: models that it saved come back as they were.
    _in_0_1: dict[str, Any] = {"standardize": False}

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
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _fit_training(self, X, y, known=None):
        """Check the training data; sets classes_ and kernel_; returns the training kernel, codes.

        With y=NO_LABELS all objects are of one class, and classes_ is not set. known: the fitted
        kernel and the Gram matrix of X, where a search has computed them.
        """
        self._policy = check_choice(self.spectrum, "spectrum", SPECTRA)
        refuse_dask(self, X, y)
        labelled = not (isinstance(y, str) and y == NO_LABELS)
        if takes_vectors(self.kernel):
            refuse_objects(X)
            checked = validate_data(self, X, y, dtype=np.float64)
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
            X, y, codes, kernel, self._policy, gram, **self._kernel_settings(X)
        )
        self.kernel_ = "precomputed" if precomputed else kernel
        self._eigenvalues = None
        return self._training, codes

    def _kernel_settings(self, X):
        settings = {"kernel_params": self.kernel_params}
        if not is_named(self.kernel):
            return settings
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        standardize = standardizes(self.standardize, check_kernel_name(self.kernel), X)
        return {**settings, **named, "standardize": standardize}

    def _fit_full(self, training):
        """The whole training matrix, for methods that need it."""
        n = len(training)
        check_memory(4 * n**2, f"The kernel matrix of {n} objects and its decomposition")
        self._refuse_indefinite(training)
        return training.gram()

    def _refuse_indefinite(self, training):
        """Raise where spectrum="raise" and the centred matrix has negative eigenvalues."""
        if check_choice(self.spectrum, "spectrum", SPECTRA) == "raise":
            training.refuse_indefinite([slice(0, len(training))])

    def _check_query(self, X):
        check_is_fitted(self)
        refuse_dask_query(X)
        if takes_vectors(self.kernel):
            return validate_data(self, X, reset=False, dtype=np.float64)
        return check_objects(X)

    def kernel_spectrum(self) -> np.ndarray:
        """Eigenvalues of the training kernel matrix, before any correction; computed once.

        Returns
        -------
        eigenvalues : ndarray of shape (n_samples,)
            In ascending order, the negligible ones exactly 0.
        """
        check_is_fitted(self)
        if self._eigenvalues is None:
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


def over_rows(training, queries, function, read=False):
    """function(k) over chunks of the queries' kernel rows k (m, n), stacked along the queries.

    read: the function does not overwrite k. Memory stays within working_memory, beside the result.
    """
    chunks = row_chunks(len(queries), BLOCKS * len(training))
    parts = [function(training.cross(take(queries, rows), read=read)) for rows in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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


class KernelClassifier(ScoreClassifierMixin, KernelEstimator):
    """A classifier on kernel values, written once for one training set and for many.

    A subclass gives

    - ``_axis``: the parameter along which a search has a path of values;
    - ``_check_parameters()``: refuses wrong parameters, before any data are looked at;
    - ``_fit_path(training, labels, values)``: the models of one training set for all values of the
      path;
    - ``_path_scores(models, training, queries, kxx)``: (m, c, r) scores of queries;
    - ``_path_rounding(models)``: (r,) what rounding may leave in the scores;
    - ``_store(models)``: keeps the models of a path of one value, and ``_path()`` gives them back.
    """

    _axis = "reg"

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
        self._check_parameters()
        training, codes = self._fit_training(X, y, known)
        labels = Labels(self.classes_, np.arange(len(self.classes_)), codes)
        models = self._fit_path(training, labels, [getattr(self, self._axis)])
        self._rounding = float(self._path_rounding(models)[0])
        self._store(models)
        training.release()
        return self

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
            yield f, slice(0, len(values)), fold.present, scores, self._path_rounding(models)

    def _held_out_scores(self, folds, values):
        """What a search asks for: the scores of its folds, of whatever kind they are."""
        return self._fold_scores(folds, values)

    def _path_rounding(self, models):
        return np.zeros(1)

    def _query_self_similarities(self, X):
        """k(x, x) of queries for methods that do not need them."""
        return None

    def _scores(self, X):
        return self._query_scores(self._check_query(X))

    def _query_scores(self, X):
        """Scores (m, c) of queries that need no more checks."""
        kxx = self._query_self_similarities(X)
        return self._path_scores(self._path(), self._training, X, kxx)[..., 0]
