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

from ._objects import check_objects, take
from ._validation import check_choice, check_classes, check_memory
from .formulas.gram import negative_fraction, signature
from .formulas.linalg import eigh
from .formulas.spectrum import SPECTRA
from .kernels.protocol import fit_kernel, is_precomputed, takes_vectors
from .kernels.training import TrainingKernel, row_chunks, with_policy

NO_LABELS = "no_validation"  # validate_data's own word for "there is no y"


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
    """Input checks and the kernel of an estimator: what all that take a kernel share.

    Input is numeric rows, a precomputed matrix, or objects where the kernel takes them.
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        spectrum="krein",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.spectrum = spectrum

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _fit_training(self, X, y):
        """Check the training data; sets classes_ and kernel_; returns the training kernel, codes.

        With y=NO_LABELS all objects are of one class, and classes_ is not set.
        """
        self._policy = check_choice(self.spectrum, "spectrum", SPECTRA)
        labelled = not (isinstance(y, str) and y == NO_LABELS)
        if takes_vectors(self.kernel):
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
        self.kernel_ = "precomputed" if precomputed else self._fit_kernel(X, y)
        training = TrainingKernel(X, codes, None if precomputed else self.kernel_)
        self._training = with_policy(training, self._policy)
        self._eigenvalues = None
        return self._training, codes

    def _fit_full(self, X, y):
        """As _fit_training, for methods that need the whole training matrix, which is returned."""
        training, codes = self._fit_training(X, y)
        n = len(training)
        check_memory(4 * n**2, f"The kernel matrix of {n} objects and its decomposition")
        if self._policy == "raise":
            training.refuse_indefinite([slice(0, n)])
        return training, codes, training.gram()

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

    def _over_rows(self, X, function):
        """function(k, rows) over chunks of the queries' kernel rows k, stacked.

        Memory stays within working_memory, beside the result.
        """
        chunks = row_chunks(len(X), 3 * len(self._training))
        parts = [function(self._training.cross(take(X, rows)), rows) for rows in chunks]
        return np.concatenate(parts)

    def kernel_spectrum(self):
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
            self._eigenvalues = eigh(K, vectors=False, overwrite=True).values
        return self._eigenvalues

    @property
    def signature_(self):
        """Numbers (p, q) of positive and negative eigenvalues of the training kernel matrix."""
        return signature(self.kernel_spectrum())

    @property
    def negative_fraction_(self):
        """Share of the negative eigenvalues, Σ_{λ<0}|λ|/Σ|λ|, in the training kernel matrix."""
        return negative_fraction(self.kernel_spectrum())
