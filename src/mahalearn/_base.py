"""What the estimators share: the way from input to kernel, and from scores to predictions."""

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ._objects import check_objects
from ._training import TrainingKernel
from ._validation import check_classes
from .kernels import fit_kernel, takes_vectors


class ScoreClassifierMixin(ClassifierMixin):
    """Every predict method from one: ``_scores(X)`` gives (m, c) scores, the largest wins."""

    def predict(self, X):
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
        return self.classes_[self._scores(X).argmax(axis=1)]

    def decision_function(self, X):
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
    """Input checks and the kernel of an estimator with kernel, gamma, degree, coef0, kernel_params.

    Input is numeric rows, a precomputed matrix, or objects where the kernel takes them.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _fit_training(self, X, y):
        """Check the training data; sets classes_ and kernel_; returns the TrainingKernel, codes."""
        if takes_vectors(self.kernel):
            X, y = validate_data(self, X, y, dtype=np.float64)
        else:
            X = check_objects(X)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        self.classes_, codes = check_classes(y)
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        self.kernel_ = "precomputed" if precomputed else self._fit_kernel(X, y)
        return TrainingKernel(X, codes, None if precomputed else self.kernel_), codes

    def _fit_kernel(self, X, y):
        return fit_kernel(
            self.kernel,
            X,
            y,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    def _check_query(self, X):
        check_is_fitted(self)
        if takes_vectors(self.kernel):
            return validate_data(self, X, reset=False, dtype=np.float64)
        return check_objects(X)
