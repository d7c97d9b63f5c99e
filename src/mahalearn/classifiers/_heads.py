"""Discriminants on a few features: what is trained on the class distances (paper A).

FD and QD of paper A are normal densities with one covariance or one for each class. Its authors'
toolbox computes them in other ways, which give other numbers where classes have unequal sizes or
singular covariances; both ways are here.
"""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from .._base import ScoreClassifierMixin
from .._validation import check_choice, check_priors, spelt
from ..formulas.kernel_pca import gaussian_class, quadratic_scores
from ..formulas.linalg import RANK_RTOL
from ..formulas.linear_targets import one_vs_all_least_squares
from ..formulas.offsets import winners

DISCRIMINANTS = ("fisher", "quadratic", "least_squares")
SINGULAR = ("ridge", "pseudo_inverse")


def standardization(X):
    """Mean and standard deviation of each column; 1 for a column that is constant but for rounding.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Features.

    Returns
    -------
    center, scale : array of shape (n_features,)
        What to subtract and what to divide by.
    """
    center, spread = X.mean(axis=0), X.std(axis=0)
    constant = spread <= RANK_RTOL * np.abs(X).max(axis=0)
    return center, np.where(constant, 1.0, spread)


class GaussianHead(ScoreClassifierMixin, BaseEstimator):
    """Normal densities on a few features, with one covariance or one for each class.

    Features are standardised, covariances have the divisor n.

    Parameters
    ----------
    pooled : bool, default=True
        One covariance for all classes (Fisher's discriminant), or one for each class (quadratic).
    priors : "equal", array-like of shape (n_classes,) or None, default=None
        Class probabilities; None for the class frequencies. Equal priors lower the balanced error
        where classes have unequal sizes.
    singular : {"ridge", "pseudo_inverse"}, default="ridge"
        What happens to a direction in which a class has no variance (every training object of the
        class is at the same distance). "ridge" adds the rank tolerance of the library to every
        variance, which changes nothing for a regular covariance: the direction then decides alone.
        "pseudo_inverse" ignores the direction in the distance; its variance counts as the rank
        tolerance in the determinant.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    priors_ : ndarray of shape (n_classes,)
        Class probabilities in use.
    """

    def __init__(self, pooled=True, priors=None, singular="ridge"):
        self.pooled = pooled
        self.priors = priors
        self.singular = singular

    def __setstate__(self, state):
        # Models of version 0.1 have neither of the two.
        super().__setstate__({"priors": None, "singular": "ridge", **state})

    def fit(self, X, y):
        """Fit the class densities to the distances X (n, c)."""
        check_choice(self.singular, "singular", SINGULAR)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.center_, self.scale_ = standardization(X)
        Z = (X - self.center_) / self.scale_
        groups = [Z[codes == j] for j in range(len(self.classes_))]
        within = np.vstack([group - group.mean(axis=0) for group in groups])
        if self.pooled:  # one decomposition for all classes
            pooled = gaussian_class(within, pooled_with=within)
            self._classes = [pooled._replace(mean=group.mean(axis=0)) for group in groups]
        else:
            self._classes = [gaussian_class(group) for group in groups]
        self.priors_ = self._class_priors(codes)
        return self

    def _class_priors(self, codes):
        c = len(self.classes_)
        if self.priors is None:
            return np.bincount(codes) / len(codes)
        if isinstance(self.priors, str):
            check_choice(self.priors, "priors", ("equal",))
            return np.full(c, 1 / c)
        return check_priors(self.priors, c)

    def _scores(self, X):
        Z = (X - self.center_) / self.scale_
        known = self.singular == "pseudo_inverse"
        return quadratic_scores(
            self._classes, self.priors_, Z, [RANK_RTOL], within_axes_only=known
        )[0]

    def predict_log_proba(self, X):
        """Logarithms of the class probabilities."""
        return self._log_proba(X)

    def predict_proba(self, X):
        """Class probabilities."""
        return np.exp(self._log_proba(X))


class LeastSquaresHead(ScoreClassifierMixin, BaseEstimator):
    """Fisher's discriminant as a least-squares fit of the targets ±1, one class against the rest.

    The class with the largest fitted target wins. For two classes of equal size the decision is
    that of Fisher's discriminant; class sizes act through the constant term of the fit, not through
    priors. Singular problems have the solution of least norm on standardised features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_features, n_classes)
        Weights of the standardised features.
    intercept_ : ndarray of shape (n_classes,)
        Constant terms.
    """

    def fit(self, X, y):
        """Fit the targets of each class to the distances X (n, c)."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.center_, self.scale_ = standardization(X)
        Z = (X - self.center_) / self.scale_
        self.coef_, self.intercept_ = one_vs_all_least_squares(Z, codes, len(self.classes_))
        return self

    def _scores(self, X):
        check_is_fitted(self)
        return (X - self.center_) / self.scale_ @ self.coef_ + self.intercept_


def new_head(discriminant, priors=None):
    """The discriminant on the distances, not fitted: one of the papers' by name, or a clone.

    Parameters
    ----------
    discriminant : {"fisher", "quadratic", "least_squares"} or classifier
        Its name, or the classifier itself.
    priors : "equal", array-like of shape (n_classes,) or None, default=None
        Class probabilities of "fisher" and "quadratic"; None for the class frequencies.

    Returns
    -------
    head : classifier
        Not fitted.
    """
    discriminant = spelt(discriminant, "discriminant", DISCRIMINANTS)
    if isinstance(discriminant, str):
        if discriminant in ("fisher", "quadratic"):
            return GaussianHead(pooled=discriminant == "fisher", priors=priors)
        if discriminant == "least_squares":
            _refuse_priors(priors, "a least-squares fit of ±1 has no priors")
            return LeastSquaresHead()
    elif hasattr(discriminant, "fit") and hasattr(discriminant, "predict"):
        _refuse_priors(priors, "set those of the classifier itself")
        return clone(discriminant)
    raise ValueError(
        f"discriminant must be {', '.join(map(repr, DISCRIMINANTS))}, or a classifier with "
        f"fit and predict; got {discriminant!r}."
    )


def _refuse_priors(priors, reason):
    if priors is not None:
        raise ValueError(
            f"priors are for discriminant='fisher' or 'quadratic'; {reason}. Got priors={priors!r}."
        )


def head_has(discriminant, method):
    """Whether the head of a name, or a classifier, has a method: only densities give probabilities.

    Parameters
    ----------
    discriminant : str or classifier
        As in `new_head`.
    method : str
        Name of a method.

    Returns
    -------
    bool
        Whether it has.
    """
    if isinstance(discriminant, str):
        discriminant = LeastSquaresHead if discriminant == "least_squares" else GaussianHead
    return hasattr(discriminant, method)


def head_rounding(head, X):
    """What rounding may leave in the scores of a head of ours, from objects X that it knows.

    Where a covariance is singular, scores are large and their differences small. The two largest
    scores of each object count, and of those the usual size: the scores of a class far away are
    large, too, but decide nothing.
    """
    if not hasattr(head, "_scores"):
        return 0.0
    sizes = np.abs(np.sort(head._scores(X), axis=1)[:, -2:]).max(axis=1)
    size = sizes.max() if len(head.classes_) == 2 else np.median(sizes)
    return float(64 * np.finfo(float).eps * size)


def head_scores(head, X):
    """(m, c) scores of any classifier: its decision function, else its predictions as 0 and 1.

    The class that a classifier predicts has the largest score, also where its decision function
    says something else: one with a threshold of its own, or a score for each pair of classes.
    """
    if hasattr(head, "_scores"):  # relative to the largest, so that large common terms are gone
        scores = head._scores(X)
        return scores - scores.max(axis=1, keepdims=True)
    predicted = np.searchsorted(head.classes_, head.predict(X))
    scores = _foreign_scores(head, X)
    if scores is None:
        return np.eye(len(head.classes_))[predicted]
    rows, first = np.arange(len(X)), winners(scores)
    scores[rows, first], scores[rows, predicted] = scores[rows, predicted], scores[rows, first]
    return scores


def _foreign_scores(head, X):
    """A score for each class (m, c), a new array; None where the classifier has none."""
    if hasattr(head, "decision_function"):
        scores = np.array(head.decision_function(X), dtype=float)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(X)), scores])
        if scores.shape[1] == len(head.classes_):
            return scores
    return np.array(head.predict_proba(X), dtype=float) if hasattr(head, "predict_proba") else None
