"""Gaussian classifiers, with the feature weighted Mahalanobis distances of paper D."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._validation import (
    check_choice,
    check_classes,
    check_priors,
    check_sample_weight,
    known_codes,
)
from ..formulas.mahalanobis import LARGEST
from ..formulas.moments import add_rows, class_moments, no_moments
from ._gaussian_fit import (
    COVARIANCES,
    check_parameters,
    check_shrinkage,
    check_weighting,
    covariances_of_rows,
    estimate_covariances,
    fitted_from_moments,
    fitted_gaussians,
)
from ._gaussian_model import gaussian_model
from ._gaussian_predict import GaussianPredictionMixin


def _needs_rows(estimator):
    """Why the class moments are not enough for the options, None where they are."""
    if estimator.covariance_estimator is not None:
        return "covariance_estimator sees the rows of a class once, and unweighted"
    if isinstance(estimator.shrinkage, str):
        return "shrinkage='auto' needs fourth moments of the unweighted rows"
    if isinstance(estimator.feature_weights, str) and estimator.weights_from == "train":
        return "weights_from='train' needs all training rows again once the classes are known"
    return None


def _moments_suffice(estimator):
    reason = _needs_rows(estimator)
    if reason:
        raise AttributeError(f"partial_fit is not available: {reason}.")
    return True


class GaussianClassifier(GaussianPredictionMixin, BaseEstimator):
    """Gaussian classifier that survives noise, missing features and singular covariances.

    A row goes to the class with the largest f_j(x) = −D_j/2 − ln|Σ_j|/2 + ln P_j, where D_j is its
    squared Mahalanobis distance to class j or, with `feature_weights`, paper D's weighted one, in
    which features that stand out as noisy count less. Constant, duplicate and collinear features,
    classes with fewer objects than features and with a single object all work by one rank rule,
    which the user guide states.

    Parameters
    ----------
    covariance : {"full", "diag", "spherical"}, default="full"
        Covariance of a class: any, independent features, or σ²I.
    pooled : bool, default=False
        Whether the classes share one covariance (a linear discriminant).
    feature_weights : {"descent", "difference"}, array-like or None, default=None
        How the distances per feature are weighted. ``"descent"``: all ranks of a row's sorted
        distances get the same influence; ``"difference"``: distances that differ from the others
        count less, then a descent step. An array of n_features rank weights (scaled to sum to
        n_features), or what :func:`descent_weights` and :func:`difference_weights` return, is used
        as it is. With a full covariance the distances per feature are those of ZCA-cor whitened
        coordinates.
    weights_from : {"sample", "train"}, default="sample"
        Whether each row's own distances to the classes give its rank weights, or the training rows
        do, once and for all. Predictions never depend on the rest of a batch.
    weight_power : float, default=0.5
        Rank weights are the mean sorted distances to the power −weight_power. ½ reproduces the
        paper; 1 is its equation (11) as printed.
    missing : {"raise", "ignore"}, default="raise"
        What to do about NaN in rows to predict: refuse them, or compare a row with the classes in
        the features that it has (exact marginals). Training rows with NaN are then left out.
    shrinkage : None, "auto" or float, default=None
        Shrink covariances towards their mean variance times the identity, as scikit-learn does: a
        number from 0 to 1, or by Ledoit and Wolf on standardised features.
    covariance_estimator : estimator, default=None
        An object with ``fit`` and ``covariance_``, fitted on each class; the means stay the plain
        ones.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities; the shares of the classes if None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariances_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances as estimated (the rank rule does not touch them), divisor n_j: the number
        of objects, or total weight, of the class; of shape (n_classes, n_features) for
        ``"diag"`` and (n_classes,) for ``"spherical"``. Equal if `pooled`.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    ranks_ : ndarray of shape (n_classes,)
        Numerical ranks of the covariances.
    feature_weights_ : ndarray of shape (n_features,)
        Rank weights, where they are fixed at `fit`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen in `fit`, where X has them.

    References
    ----------
    M. Wölfel and H. K. Ekenel, Feature weighted Mahalanobis distance: improved robustness for
    Gaussian classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import GaussianClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianClassifier(missing="ignore").fit(X, y)
    >>> X[0, 2] = np.nan
    >>> model.predict(X[:2])
    array([0, 0])
    """

    def __init__(
        self,
        covariance="full",
        *,
        pooled=False,
        feature_weights=None,
        weights_from="sample",
        weight_power=0.5,
        missing="raise",
        shrinkage=None,
        covariance_estimator=None,
        priors=None,
    ):
        self.covariance = covariance
        self.pooled = pooled
        self.feature_weights = feature_weights
        self.weights_from = weights_from
        self.weight_power = weight_power
        self.missing = missing
        self.shrinkage = shrinkage
        self.covariance_estimator = covariance_estimator
        self.priors = priors

    @classmethod
    def from_parameters(
        cls,
        means,
        covariances,
        priors=None,
        *,
        classes=None,
        pooled=False,
        feature_weights=None,
        weight_power=0.5,
        missing="raise",
    ):
        """Classifier of known Gaussians, ready to predict.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
            Class means.
        covariances : array-like
            Of shape (n_classes, n_features, n_features) for full covariances, (n_classes,
            n_features) for diagonal and (n_classes,) for spherical ones; without the first axis if
            `pooled`.
        priors : array-like of shape (n_classes,), default=None
            Prior probabilities; equal ones if None.
        classes : array-like of shape (n_classes,), default=None
            Labels, ascending; 0, 1, … if None.
        pooled : bool, default=False
            Whether the classes share one covariance.
        feature_weights : {"descent", "difference"}, array-like or None, default=None
            As in the constructor.
        weight_power : float, default=0.5
            As in the constructor.
        missing : {"raise", "ignore"}, default="raise"
            As in the constructor.

        Returns
        -------
        model : GaussianClassifier
            The classifier. A clone of it is not fitted, as with every estimator.

        Examples
        --------
        >>> from mahalearn import GaussianClassifier
        >>> model = GaussianClassifier.from_parameters([[0.0, 0.0], [3.0, 0.0]], [1.0, 4.0])
        >>> model.predict([[1.0, 0.0], [2.0, 0.0]])
        array([0, 1])
        """
        means, covariances, kind = check_parameters(means, covariances, pooled=pooled)
        model = cls(
            kind,
            pooled=pooled,
            feature_weights=feature_weights,
            weight_power=weight_power,
            missing=missing,
            priors=priors,
        )
        c, model.n_features_in_ = means.shape
        model.classes_ = np.arange(c) if classes is None else np.asarray(classes)
        if model.classes_.shape != (c,) or (model.classes_[1:] <= model.classes_[:-1]).any():
            raise ValueError(f"classes must be {c} different labels, ascending; got {classes!r}.")
        model._check_options()
        priors = np.full(c, 1 / c) if priors is None else check_priors(priors, c)
        weighting = check_weighting(feature_weights, weight_power, model.n_features_in_)
        model._moments = None
        model._fitted = fitted_gaussians(
            means, covariances, priors, priors, np.ones(c, bool), pooled=pooled, weighting=weighting
        )
        return model

    def _check_options(self):
        self._kind = check_choice(self.covariance, "covariance", COVARIANCES)
        check_choice(self.missing, "missing", ("raise", "ignore"))
        check_choice(self.weights_from, "weights_from", ("sample", "train"))
        if not isinstance(self.pooled, (bool, np.bool_)):
            raise ValueError(f"pooled must be True or False; got {self.pooled!r}.")
        shrinkage = check_shrinkage(self.shrinkage)
        if shrinkage is not None and self.covariance_estimator is not None:
            raise ValueError("Give shrinkage or covariance_estimator, not both.")

    def fit(self, X, y, sample_weight=None):
        """Fit the class means and covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 2 counts as two. Not taken with
            `covariance_estimator`, ``shrinkage="auto"`` or ``weights_from="train"``.

        Returns
        -------
        self : GaussianClassifier
            The fitted classifier.
        """
        self._check_options()
        X, y, weights = self._check_training(X, y, sample_weight)
        self.classes_, codes = check_classes(y)
        weighting = check_weighting(self.feature_weights, self.weight_power, X.shape[1])
        self._moments = class_moments(
            X, codes, len(self.classes_), weights, diagonal=self._kind != "full"
        )
        covariances = None
        if self.covariance_estimator is not None or isinstance(self.shrinkage, str):
            covariances = covariances_of_rows(
                X, codes, self.classes_, self._moments, self._kind, self.covariance_estimator
            )
        self._fitted = self._from_moments(covariances, weighting)
        if weighting and weighting.ranks is None and self.weights_from == "train":
            model = self._fitted.model
            weighting = weighting._replace(ranks=model.training_ranks(X))
            model = gaussian_model(model.gaussians, weighting)
            self._fitted = self._fitted._replace(model=model)
        return self

    @available_if(_moments_suffice)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add rows to what has been fitted: the same, up to rounding, as one fit on all of them.

        Not available with `covariance_estimator`, ``shrinkage="auto"`` or
        ``weights_from="train"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call. A class without rows so far is
            never predicted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : GaussianClassifier
            The fitted classifier.
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be given in the first call to partial_fit.")
        if not first and self._moments is None:
            raise ValueError(
                "A classifier made by from_parameters has no counts that rows could be added to; "
                "start with partial_fit on an unfitted one."
            )
        self._check_options()
        if first:
            classes, _ = check_classes(classes)
        elif classes is None or np.array_equal(np.unique(classes), self.classes_):
            classes = self.classes_
        else:
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
            )
        X, y, weights = self._check_training(X, y, sample_weight, reset=first)
        codes = known_codes(y, classes)
        if first:
            self._moments = no_moments(len(classes), X.shape[1], diagonal=self._kind != "full")
            self.classes_ = classes
        add_rows(self._moments, X, codes, weights)
        self._fitted = None  # made when it is needed: chunks cost no decomposition
        return self

    def _check_training(self, X, y, sample_weight, reset=True):
        """Rows that count: complete, and with a positive weight."""
        missing = self.missing == "ignore"
        finite = "allow-nan" if missing else True
        if reset:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=finite)
        else:  # the classes are known, and y is checked against them
            X = self._check_more_rows(X, finite)
            if not (isinstance(y, np.ndarray) and y.shape == (len(X),)):
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
        reason = _needs_rows(self)
        if sample_weight is not None and reason:
            raise TypeError(f"sample_weight cannot be used: {reason}.")
        weights = check_sample_weight(sample_weight, len(X))
        if missing:
            complete = ~np.isnan(X).any(axis=1)
            if reset and len(lost := np.setdiff1d(y, y[complete])):
                raise ValueError(
                    f"No training row of the classes {lost.tolist()!r} is complete. Impute some, "
                    "or leave out the features that they lack."
                )
            X, y = X[complete], y[complete]
            weights = None if weights is None else weights[complete]
        if weights is not None and not weights.all():
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        if not max(X.max(initial=0), -X.min(initial=0)) <= LARGEST:  # False with NaN
            assert_all_finite(X, estimator_name=type(self).__name__)
            raise ValueError(
                f"X holds values beyond {LARGEST:g}, whose squares overflow. Rescale the features."
            )
        return X, y, weights

    def _check_more_rows(self, X, finite):
        """validate_data, unless X is a plain array: it takes as long as the sums over few rows.

        That a plain array is finite is seen when its extent is.
        """
        plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0
        named = hasattr(self, "feature_names_in_")
        if plain and finite is True and X.shape[1] == self.n_features_in_ and not named:
            return X
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=finite)

    def _from_moments(self, covariances=None, weighting=None):
        seen = self._moments.count > 0
        if covariances is None:
            moments = type(self._moments)(*(part[seen] for part in self._moments))
            covariances = estimate_covariances(moments, self._kind, self.shrinkage)
        return fitted_from_moments(
            self._moments,
            covariances,
            pooled=self.pooled,
            priors=self.priors,
            weighting=weighting,
        )

    def _gaussians(self):
        check_is_fitted(self)
        if self._fitted is None:
            weighting = check_weighting(
                self.feature_weights, self.weight_power, self.n_features_in_
            )
            self._fitted = self._from_moments(weighting=weighting)
        return self._fitted
