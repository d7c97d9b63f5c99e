"""What fitted Gaussian classes answer: distances, scores, probabilities, densities."""

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import validate_data

from .._base import ScoreClassifierMixin
from ..formulas.class_gaussians import zca_cor_whiteners
from ..formulas.mahalanobis import clip_to_finite, feature_sq_distances
from ..formulas.workspace import Workspace


class GaussianPredictionMixin(ScoreClassifierMixin):
    """Everything from ``_gaussians()``, the FittedGaussians, and the parameter ``missing``."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    @property
    def means_(self):
        """Class means (n_classes, n_features)."""
        return self._gaussians().means

    @property
    def covariances_(self):
        """Class covariances as estimated, divisor n_j."""
        return self._gaussians().covariances

    @property
    def priors_(self):
        """Prior probabilities (n_classes,)."""
        return self._gaussians().priors

    @property
    def ranks_(self):
        """Numerical ranks of the class covariances (n_classes,)."""
        return self._gaussians().ranks

    @property
    def feature_weights_(self):
        """Rank weights (n_features,), where they are fixed at fit."""
        weighting = self._gaussians().model.weighting
        if weighting is None or weighting.ranks is None:
            raise AttributeError(
                "feature_weights_ exists where the weights are fixed at fit (an array, or "
                "weights_from='train'); here there are none, or each row has its own."
            )
        return weighting.ranks

    def _check_query(self, X, *, allow_nan):
        fitted = self._gaussians()
        finite = "allow-nan" if allow_nan else True
        try:
            X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)
        except ValueError as error:
            if "contains NaN" in str(error):
                raise ValueError(
                    "Input X contains NaN. With missing='ignore' such rows are compared with the "
                    "classes in the features that they have (feature_distances needs them all)."
                ) from error
            raise
        return fitted, X

    def _evaluate(self, X):
        missing = self.missing == "ignore"
        fitted, X = self._check_query(X, allow_nan=missing)
        return fitted, *fitted.model.evaluate(X, missing=missing)

    def _scores(self, X):
        """ln p(x|ω_j)P(ω_j) (D, (5)); −inf for a class that no row has come from yet."""
        fitted, scores, log_dets, n_directions = self._evaluate(X)
        scores += log_dets
        scores += n_directions * np.log(2 * np.pi)
        scores *= -0.5
        scores += np.log(fitted.priors[fitted.seen])
        return fitted.all_classes(scores, -np.inf)

    def mahalanobis(self, X):
        """Squared Mahalanobis distance of each row to each class, weighted by `feature_weights`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; with ``missing="ignore"`` distances are those of the features that are there.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        fitted, d2, _, _ = self._evaluate(X)
        return fitted.all_classes(d2, np.inf)

    def feature_distances(self, X):
        """Squared distances per feature, which sum to the unweighted Mahalanobis distances.

        They are what :func:`descent_weights` and :func:`difference_weights` take. With a full
        covariance the features are the ZCA-cor whitened coordinates V^{-1/2}P^{-1/2}(x − μ) of each
        class (variances V, correlations P): coordinate k is the one closest to feature k.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_classes, n_features)
            Squared distances.
        """
        fitted, X = self._check_query(X, allow_nan=False)
        gaussians = fitted.model.gaussians
        X = clip_to_finite(X, gaussians)
        Z = feature_sq_distances(X, gaussians, zca_cor_whiteners(gaussians), Workspace())
        return fitted.all_classes(Z, np.inf)

    def predict_log_proba(self, X):
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        return self._log_proba(X)

    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return np.exp(self._log_proba(X))

    def score_samples(self, X):
        """Log-density of each row under the mixture of the classes.

        With `feature_weights` it is a score, not a normalised density. Directions in which the
        training rows do not vary are left out of the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; with ``missing="ignore"`` the density is that of the features that are there.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities.
        """
        return logsumexp(self._scores(X), axis=1)
