"""Discriminants in the space of class-wise kernel Mahalanobis distances (paper A)."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base import ScoreClassifierMixin
from .._validation import check_count, refuse_fit_params
from ..formulas.kernel_pca import gaussian_class, quadratic_scores
from ..formulas.linalg import RANK_RTOL
from ..kernels.protocol import is_precomputed
from ..kernels.training import take
from .kernel_mahalanobis import KernelMahalanobisEstimator, KernelMahalanobisTransformer

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


def _head_has(method):
    def check(estimator):
        head = getattr(estimator, "head_", estimator.discriminant)
        if isinstance(head, str) or hasattr(head, method):
            return True
        raise AttributeError(f"{type(head).__name__} has no {method}.")

    return available_if(check)


class DissimilaritySpaceDiscriminant(ClassifierMixin, KernelMahalanobisEstimator):
    """A discriminant in the space of the squared kernel Mahalanobis distances to the classes.

    ψ(x) = (d²_1(x), …, d²_c(x)) holds what each class, modelled alone, thinks of an object; a
    simple classifier on it uses the information between the classes: FD-IC, FD-RC, QD-IC, QD-RC of
    paper A, and every other combination.

    Parameters
    ----------
    discriminant : {"fisher", "quadratic"} or classifier, default="fisher"
        What is trained on the distances: normal densities with one covariance matrix (Fisher's
        linear discriminant) or with one for each class, priors from the class frequencies; or any
        scikit-learn classifier, which is cloned.
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        Which distance, as in :class:`KernelQuadraticDiscriminant`.
    reg : float or array-like of shape (n_classes,), default=0.01
        Regularisation of the distances.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        What `reg` is measured in.
    cross_fit : bool, default=False
        Whether the discriminant is trained on out-of-fold distances instead of those of the objects
        that the distances were fitted to (as the papers do). The latter are too small for an
        object's own class. Either way queries are measured by the model of all training objects.
    cv : int, default=5
        Number of stratified folds of ``cross_fit=True``. The single object of a class stays in.
    random_state : int, RandomState instance or None, default=None
        Shuffles the objects into folds.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :mod:`mahalearn.kernels`).
    gamma : float, "scale" or "auto", default="scale"
        Of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is 1/(n_features·Var(X)).
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues, as in :class:`KernelQuadraticDiscriminant`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    head_ : classifier
        The discriminant as fitted on the distances.
    kernel_ : object
        The kernel as fitted.
    signature_ : tuple of int
        Numbers of positive and negative eigenvalues of the training kernel matrix (on first use).
    negative_fraction_ : float
        Share of the negative eigenvalues (on first use).
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    References
    ----------
    B. Haasdonk and E. Pękalska, Classification with kernel Mahalanobis distance classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import DissimilaritySpaceDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> qd_rc = DissimilaritySpaceDiscriminant("quadratic", variant="RC+", reg=0.1)
    >>> model = make_pipeline(StandardScaler(), qd_rc)
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.96
    """

    def __init__(
        self,
        discriminant="fisher",
        variant="RC+",
        reg=0.01,
        *,
        reg_on="auto",
        cross_fit=False,
        cv=5,
        random_state=None,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        spectrum="krein",
    ):
        super().__init__(
            variant=variant,
            reg=reg,
            reg_on=reg_on,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
        )
        self.discriminant = discriminant
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, y, **refused):
        """Fit the class distances, then the discriminant on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.
        **refused : dict
            Nothing else is taken; the error says why.

        Returns
        -------
        self : DissimilaritySpaceDiscriminant
            The fitted classifier.
        """
        refuse_fit_params(self, refused)
        head = new_head(self.discriminant)
        codes = self._fit_distances(X, y)
        d2 = self._distances.training_sq_distances()
        if self.cross_fit:
            self._replace_by_out_of_fold(d2, X, codes)
        self.head_ = head.fit(d2, self.classes_[codes])
        return self

    def _replace_by_out_of_fold(self, d2, X, codes):
        """Distances of each object by models that have not seen it, in place."""
        cv = check_count(self.cv, "cv")
        X = self._check_query(X)
        counts = np.bincount(codes)
        shared = np.flatnonzero(counts[codes] > 1)  # an object alone in its class stays in
        if not len(shared):
            return
        n_splits = min(cv, counts.max())
        if n_splits < 2:
            raise ValueError(f"cross_fit needs cv of at least 2 folds; got cv={self.cv!r}.")
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=self.random_state)
        names = KernelMahalanobisTransformer().get_params(deep=False)
        model = KernelMahalanobisTransformer(**{name: getattr(self, name) for name in names})
        precomputed = is_precomputed(self.kernel)
        with warnings.catch_warnings():
            # A class smaller than the number of folds is spread over as many as it has objects.
            warnings.filterwarnings("ignore", message="The least populated class")
            splits = list(folds.split(shared, codes[shared]))
        for _, test in splits:
            test = shared[test]
            train = np.setdiff1d(np.arange(len(codes)), test)
            fitted = clone(model)
            if precomputed:
                fitted.fit(X[np.ix_(train, train)], codes[train])
                d2[test] = fitted.mahalanobis(X[np.ix_(test, train)], X.diagonal()[test])
            else:
                fitted.fit(take(X, train), codes[train])
                d2[test] = fitted.mahalanobis(take(X, test))

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
        return self.head_.predict(self.mahalanobis(X))

    @_head_has("decision_function")
    def decision_function(self, X):
        """Scores of the discriminant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the discriminant gives them.
        """
        check_is_fitted(self)
        return self.head_.decision_function(self.mahalanobis(X))

    @_head_has("predict_log_proba")
    def predict_log_proba(self, X):
        """Logarithms of the class probabilities, as the discriminant gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.head_.predict_log_proba(self.mahalanobis(X))

    @_head_has("predict_proba")
    def predict_proba(self, X):
        """Class probabilities, as the discriminant gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        return self.head_.predict_proba(self.mahalanobis(X))
