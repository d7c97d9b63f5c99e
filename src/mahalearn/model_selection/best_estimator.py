"""What a search does with its refitted estimator: predictions and calibrated probabilities."""

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, Objects


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


class BestAttributesMixin:
    """Whatever else the refitted estimator has, the search has too."""

    def __getattr__(self, name):
        # Called for missing attributes only. More objects would be no search any more.
        if name.startswith("__") or name == "partial_fit" or "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.best_estimator_, name)
