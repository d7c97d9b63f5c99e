"""Base classes of the estimators: from input to kernel, and from scores to predictions."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_is_fitted,
)

from ._array_api import like
from ._sparse import column_moments, is_sparse
from ._typing import Kernel, Objects, Spectrum, Standardize
from ._validation import (
    check_choice,
    check_classes,
    check_labels,
    check_objects,
    check_sample_weight,
    is_word,
    refuse_dask,
    refuse_dask_query,
    refuse_fit_params,
    refuse_objects,
    take,
    validate_rows,
)
from .formulas.linalg import negative_fraction, signature
from .formulas.offsets import TIE_RTOL, winners
from .formulas.spectrum import SPECTRA
from .kernels.protocol import (
    fit_kernel,
    is_named,
    is_precomputed,
    kernel_settings,
    takes_sparse,
    takes_vectors,
    two_rows,
)
from .training.exact import fit_training

NO_LABELS = "no_validation"  # validate_data's own word for "there is no y"


Fit = TypeVar("Fit", bound=Callable[..., Any])


def refuses_weights(fit: Fit) -> Fit:
    """A fit method that refuses unknown arguments in a sentence, sample_weight with the reason."""
    taken = set(inspect.signature(fit).parameters)

    @functools.wraps(fit)
    def checked(self, *args, **params):
        refuse_fit_params(self, {name: v for name, v in params.items() if name not in taken})
        return fit(self, *args, **params)

    return cast(Fit, checked)


def _has_probabilities(estimator):
    expected = estimator._expects_temperature and "classes_" not in vars(estimator)
    if hasattr(estimator, "temperature_") or expected:
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no probabilities here: its scores rank the classes and "
        f"are not calibrated. KernelSearchCV calibrates them on held-out objects, and so does "
        "sklearn.calibration.CalibratedClassifierCV."
    )


class ScoreClassifierMixin(ClassifierMixin):
    """Every predict method from one: ``query_scores`` gives (m, c) scores, the largest wins.

    Queries are rows of numbers; what takes others has its own ``_check_query``. Parts of other
    estimators, whose input is checked already, have ``_scores(X)`` instead.

    Of scores that are equal up to rounding (``rounding_``) the first class wins. Scores become
    probabilities where there is a ``temperature_``: that of the model itself
    (``_model_temperature``), or of a search, which sets it.
    """

    rounding_ = 0.0
    # Of a search; every fit forgets it.
    _search_temperature: float | None = None

    @property
    def temperature_(self) -> float:
        """Divisor of the scores before they become probabilities."""
        temperature = self._search_temperature
        if temperature is None and "classes_" in vars(self):
            temperature = self._model_temperature()
        if temperature is None:
            raise AttributeError(f"This {type(self).__name__} has no temperature_.")
        return temperature

    @temperature_.setter
    def temperature_(self, value: float) -> None:
        self._search_temperature = value

    def _model_temperature(self):
        """The temperature of the fitted model itself, None where its scores are not calibrated."""

    # True before a fit that will give a temperature.
    _expects_temperature = False

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
        return like(X, self.classes_[winners(self._scores(X), self.rounding_)])

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
            return like(X, self._all_scores(X))
        scores = self._scores(X)
        return like(X, scores[:, 1] - scores[:, 0])

    def _check_query(self, X):
        check_is_fitted(self)
        refuse_dask_query(X)
        return validate_rows(self, X, reset=False, dtype=np.float64)

    def _scores(self, X):
        """Scores (m, c) of unchecked queries."""
        return self.query_scores(self._check_query(X))

    def _all_scores(self, X):
        """Scores of all classes, not only enough to find the winner."""
        return self._scores(X)

    def query_scores(self, queries: Any) -> np.ndarray:
        """Scores of queries that need no more checks."""
        return self._scores(queries)

    # --- what an ensemble asks for ----------------------------------------------------------------

    # A kernel classifier of all objects, whose kernel values others may share; those with equal
    # parts come one after the other.
    shares_kernel = False
    sharing_order: tuple[int, int] = (0, 0)
    # It is fitted on rows in memory; of batches an ensemble gives it a sample.
    needs_rows = False

    def shared_scores(self, queries: Any, rows: Any) -> np.ndarray:
        """Scores (m, c) of checked queries, relative to the largest: common terms are gone."""
        scores = self.query_scores(queries)
        return scores - scores.max(axis=1, keepdims=True)

    def _log_proba(self, X):
        check_is_fitted(self)
        return log_softmax(self._scores(X) / self.temperature_, axis=1)

    # --- what a search asks for -------------------------------------------------------------------

    # The parameter along which a default grid has a path of values, and those in which candidates
    # may differ that are fitted together.
    path_parameter: str | None = None
    shared_parameters: tuple[str, ...] = ()

    def split_scores(
        self, candidates: list[Any], X: Any, y: Any, X_test: Any, **fit_params: Any
    ) -> list[Any]:
        """(classes, scores (m, c), rounding) of each candidate, fitted on X, y, for X_test.

        candidates: classifiers that differ from this one in `shared_parameters` alone. Scores may
        be relative to the largest.
        """
        return refit_scores(candidates, X, y, X_test, **fit_params)

    # --- what `classifiers/explanation.py` asks for -----------------------------------------------

    # A gradient explains the scores; votes jump.
    smooth_scores = True

    def _known_distances(self, queries):
        """Squared distances (m, c) of checked queries to the classes, None where there are none."""

    def neighbors_of(self, x: Any, n_neighbors: int, a: int, b: int) -> Any:
        """(position, squared distance) of the training objects nearest to one query.

        For its best classes a and b; None where the model keeps no objects.
        """

    def _margin(self, a, b):
        """The function rows (m, p) -> (m,) that is positive where class a wins against b."""

        def margin(rows):
            scores = self.query_scores(rows)
            return scores[:, a] - scores[:, b]

        return margin

    @available_if(_has_probabilities)
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
        return like(X, self._log_proba(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Objects) -> np.ndarray:
        """Class probabilities: the softmax of scores / temperature_.

        Densities have T = 1. RC+, ridge regression and neighbours take T from closed-form
        leave-one-out scores of the training objects; the others have probabilities after a search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return like(X, np.exp(self._log_proba(X)))


def class_scores(model, X):
    """Scores (m, c) of any fitted classifier, and the size of their rounding errors, () or (m,).

    Those of ours are relative to the largest: large common terms are gone, but not what they leave
    as rounding. Of others it is the decision function, else probabilities, else the predictions as
    0 and 1. The class that a classifier predicts has the largest score, also where its decision
    function says something else: one with a threshold of its own, or a score for each pair of
    classes.
    """
    if isinstance(model, Pipeline):
        return class_scores(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if isinstance(model, ScoreClassifierMixin):
        scores = model._scores(X)
        best = scores.max(axis=1)
        return scores - best[:, None], np.maximum(model.rounding_, TIE_RTOL * np.abs(best))
    predicted = np.searchsorted(model.classes_, model.predict(X))
    scores = foreign_scores(model, X)
    if scores is None:
        return np.eye(len(model.classes_))[predicted], 0.0
    rows, first = np.arange(len(X)), winners(scores)
    scores[rows, first], scores[rows, predicted] = scores[rows, predicted], scores[rows, first]
    return scores, 0.0


def foreign_scores(model, X, decisions=True):
    """A score for each class (m, c), a new array; None where the classifier has none.

    decisions: those of its decision function may be taken.
    """
    if decisions and hasattr(model, "decision_function"):
        scores = np.array(model.decision_function(X), dtype=float)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(X)), scores])
        if scores.shape[1] == len(model.classes_):
            return scores
    if hasattr(model, "predict_proba"):
        return np.array(model.predict_proba(X), dtype=float)
    return None


def refit_scores(candidates, X, y, X_test, **fit_params):
    """`split_scores` of any classifiers: each is fitted."""
    models = [clone(candidate).fit(X, y, **fit_params) for candidate in candidates]
    return [(model.classes_, *class_scores(model, X_test)) for model in models]


class DensityClassifierMixin(ScoreClassifierMixin):
    """The same, where the scores are ln P(ω_j|x) but for what is common to the classes."""

    _expects_temperature = True

    def _model_temperature(self):
        return 1.0


class KernelEstimator(BaseEstimator):
    """Base of the estimators that take a kernel: input checks, and the kernel itself.

    Input is numeric rows, a precomputed matrix, or objects where the kernel takes them.
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.spectrum = spectrum
        self.standardize = standardize

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = takes_sparse(self.kernel)
        return tags

    def _all_columns(self, values, fill):
        """Values (…, c) of all classes from those of the classes that have objects."""
        counts = self._training.counts
        if counts.all():
            return values
        out = np.full((*np.shape(values)[:-1], len(counts)), fill)
        out[..., counts > 0] = values
        return out

    def _fit_training(self, X, y, fitted=None, weights=None):
        """Check the training data; sets classes_ and kernel_; returns the training set.

        With y=NO_LABELS all objects are of one class, and classes_ is not set. fitted: the fitted
        kernel and the Gram matrix of X, where a search has computed them. weights: of the objects;
        those of weight 0 are left out, and kernels by name learn from the others as they weigh.
        """
        self._policy = self.checked_spectrum()
        refuse_dask(self, X, y)
        X, labelled = self._check_objects(X), not is_word(y, NO_LABELS)
        y = check_labels(self, X, y) if labelled else None
        precomputed, sample = is_precomputed(self.kernel), X
        weights = check_sample_weight(weights, len(X))
        if weights is not None:
            present = np.flatnonzero(weights)
            X = X[np.ix_(present, present)] if precomputed else take(X, present)
            y, weights = y[present], weights[present]
            if is_named(self.kernel):
                sample = two_rows(*column_moments(X, weights), sparse=is_sparse(X))
            else:
                sample = X
        if labelled:
            self.classes_, codes = check_classes(y)
        else:
            codes = np.zeros(len(X), dtype=np.intp)
        kernel, gram = fitted or (None if precomputed else self.kernel, None)
        settings = kernel_settings(self, sample)
        if sample is not X:
            kernel, settings = fit_kernel(kernel, sample, **settings), {}
        kernel, self._training = fit_training(X, y, codes, kernel, self._policy, gram, **settings)
        if weights is not None:
            self._training.weights = weights[self._training.order]
        self.kernel_ = "precomputed" if precomputed else kernel.as_fitted
        self._eigenvalues = None
        return self._training

    @property
    def training_(self) -> Any:
        """The training set: all objects, or moments in a landmark space."""
        check_is_fitted(self)
        return self._training

    def checked_spectrum(self) -> str:
        """The policy about negative eigenvalues."""
        return check_choice(self.spectrum, "spectrum", SPECTRA)

    def _check_objects(self, X, reset=True, dtype=np.float64):
        """Objects as the kernel takes them: rows of numbers, or any collection."""
        if not takes_vectors(self.kernel):
            return check_objects(X, self, reset=reset)
        if reset:
            refuse_objects(X)
        sparse = takes_sparse(self.kernel)
        return validate_rows(self, X, reset=reset, dtype=dtype, accept_sparse=sparse)

    def checked_queries(self, X: Objects) -> Any:
        """Queries as the kernel takes them; of a matrix with all its columns."""
        refuse_dask_query(X)
        return self._check_objects(X, reset=False, dtype=self.training_.dtypes)

    def _check_query(self, X):
        return self.training_.query(self.checked_queries(X))

    def kernel_spectrum(self) -> np.ndarray:
        """Eigenvalues of the training kernel matrix, before any correction; computed once.

        At landmarks those of the landmarks' own matrix.

        Returns
        -------
        eigenvalues : ndarray of shape (n_samples,)
            In ascending order, the negligible ones exactly 0.
        """
        check_is_fitted(self)
        if self._eigenvalues is None:
            self._eigenvalues = self._training.kernel_eigenvalues()
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


def over_rows(training, queries, function):
    """function(k) over chunks of the queries' kernel rows k (m, n), stacked along the queries.

    The function must not overwrite k. Memory stays within working_memory, beside the result.
    """
    parts = [function(k) for k in training.pieces(queries)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
