"""Discriminants on a few distances: the heads of the dissimilarity space (paper A)."""

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._base import ScoreClassifierMixin
from ..formulas.kernel_pca import gaussian_class, quadratic_scores
from ..formulas.linalg import RANK_RTOL

DISCRIMINANTS = ("fisher", "quadratic")


class GaussianHead(ScoreClassifierMixin, BaseEstimator):
    """Normal densities on a few features, with one covariance or one for each class.

    The features are standardised, and the rank tolerance of the library is added to every variance:
    nothing to a regular problem, and what keeps a singular one (every training object of a class at
    the same distance) finite. Priors are the class frequencies, covariances have divisor n.
    """

    def __init__(self, pooled=True):
        self.pooled = pooled

    def fit(self, X, y):
        """Fit the class densities to the distances X (n, c)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.center_, spread = X.mean(axis=0), X.std(axis=0)
        # A spread within rounding of the values is none at all.
        none = spread <= RANK_RTOL * np.abs(X).max(axis=0)
        self.scale_ = np.where(none, 1.0, spread)
        Z = (X - self.center_) / self.scale_
        groups = [Z[codes == j] for j in range(len(self.classes_))]
        within = np.vstack([group - group.mean(axis=0) for group in groups])
        pooled_with = within if self.pooled else None
        self._classes = [gaussian_class(group, pooled_with=pooled_with) for group in groups]
        self.priors_ = np.bincount(codes) / len(codes)
        return self

    def _scores(self, X):
        Z = (X - self.center_) / self.scale_
        return quadratic_scores(self._classes, self.priors_, Z, [RANK_RTOL])[0]

    def predict_log_proba(self, X):
        """Logarithms of the class probabilities."""
        return self._log_proba(X)

    def predict_proba(self, X):
        """Class probabilities."""
        return np.exp(self._log_proba(X))


def new_head(discriminant):
    """The discriminant on the distances, not fitted: one of the papers' by name, or a clone."""
    if isinstance(discriminant, str):
        if discriminant.lower() in DISCRIMINANTS:
            return GaussianHead(pooled=discriminant.lower() == "fisher")
    elif hasattr(discriminant, "fit") and hasattr(discriminant, "predict"):
        return clone(discriminant)
    raise ValueError(
        f"discriminant must be {' or '.join(map(repr, DISCRIMINANTS))}, or a classifier with "
        f"fit and predict; got {discriminant!r}."
    )


def head_scores(head, X):
    """(m, c) scores of any classifier: its decision function, else its predictions as 0 and 1."""
    if hasattr(head, "decision_function"):
        scores = head.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(X)), scores])
        if scores.shape[1] == len(head.classes_):
            return scores
    if hasattr(head, "predict_proba"):
        return head.predict_proba(X)
    return (head.predict(X)[:, None] == head.classes_).astype(float)
