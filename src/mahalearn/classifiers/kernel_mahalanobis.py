"""Class-wise kernel Mahalanobis distances: the estimators' common part, and as features."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._base import KernelEstimator
from .._validation import check_choice, refuse_fit_params
from ._distances import (
    REG_ON,
    VARIANTS,
    fit_distances,
    leave_one_out_sq_distances,
    resolve_alphas,
    without_one,
)


class KernelMahalanobisEstimator(KernelEstimator):
    """Class-wise kernel Mahalanobis distances: what the estimators of this family share."""

    def __init__(
        self,
        variant="RC+",
        reg=0.01,
        *,
        reg_on="auto",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        spectrum="krein",
    ):
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on

    def _fit_distances(self, X, y, *, spectral=False):
        """Fit the class models; returns the class codes of the objects."""
        self._variant = check_choice(self.variant, "variant", VARIANTS)
        reg_on = check_choice(self.reg_on, "reg_on", REG_ON)
        training, codes = self._fit_training(X, y)
        alphas = resolve_alphas(self.reg, reg_on, self._variant, training)
        sigma2 = alphas / training.counts
        self._common_sigma2 = bool(np.ptp(sigma2) <= 1e-12 * sigma2.max())
        self._alphas_without_one = without_one(alphas, training.counts, reg_on, self._variant)
        self._distances = fit_distances(
            training, self._variant, alphas, self._policy, spectral=spectral
        )
        return codes

    def _training_sq_distances(self, leave_one_out=False):
        """Distances of the training objects, their own class with or without them.

        The only object of a class stays where it is: nothing would be left.
        """
        d2 = self._distances.training_sq_distances()
        training = self._training
        for j, members in enumerate(training.slices if leave_one_out else ()):
            if members.stop - members.start > 1:
                d2[training.order[members], j] = leave_one_out_sq_distances(
                    training.gram(members),
                    self._variant,
                    self._alphas_without_one[j],
                    definite=training.positive_definite or self._policy == "ignore",
                )
        return d2

    def mahalanobis(self, X, self_similarity=None):
        """Squared kernel Mahalanobis distance of each row of X to each class.

        Distances can be negative: RC+ with an indefinite kernel, RC- with any kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        self_similarity : array-like of shape (n_samples,), default=None
            k(x, x) of the rows. Only RC variants use it, and only a precomputed kernel whose
            training self-similarities differ needs it.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        X = self._check_query(X)
        return self._distances.sq_distances(X, self._self_similarity(X, self_similarity))

    def _self_similarity(self, X, given=None, cancels=False):
        """k(x, x) of queries; 0 stands in where it does not matter."""
        if given is not None:
            given = np.asarray(given, dtype=float)
            if given.shape != (len(X),) or not np.isfinite(given).all():
                raise ValueError(
                    f"self_similarity must be {len(X)} finite numbers, k(x, x) for each row of X; "
                    f"got shape {given.shape}."
                )
        if not self._variant.startswith("RC") or cancels:
            return np.zeros(len(X))
        known = self._training.self_similarities(X, given)
        if known is None:
            raise ValueError(
                "These distances depend on each query's self-similarity k(x, x), which rows of a "
                "precomputed kernel do not hold, and the training self-similarities differ. Pass "
                "self_similarity= to mahalanobis, or use kernel=PrecomputedKernel(K) on row "
                "numbers."
            )
        return known


class KernelMahalanobisTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMahalanobisEstimator
):
    """Class-wise squared kernel Mahalanobis distances as features: the dissimilarity space ψ.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        Which distance, as in :class:`KernelQuadraticDiscriminant`; so for all parameters.
    reg : float or array-like of shape (n_classes,), default=0.01
        Regularisation.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        What `reg` is measured in.
    kernel : str or callable, default="rbf"
        The kernel.
    gamma : float, "scale" or "auto", default="scale"
        Kernel parameter.
    degree : int, default=3
        Kernel parameter.
    coef0 : float, default=1
        Kernel parameter.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    kernel_ : object
        The kernel as fitted.
    signature_ : tuple of int
        Numbers of positive and negative eigenvalues of the training kernel matrix (on first use).
    negative_fraction_ : float
        Share of the negative eigenvalues (on first use).
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelMahalanobisTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelMahalanobisTransformer().fit(X, y).transform(X[:2]).shape
    (2, 3)
    """

    def fit(self, X, y, **refused):
        """Fit the class distances.

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
        self : KernelMahalanobisTransformer
            The fitted transformer.
        """
        refuse_fit_params(self, refused)
        self._fit_distances(X, y)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def transform(self, X):
        """Squared distances to the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        return self.mahalanobis(X)
