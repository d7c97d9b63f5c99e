"""Estimators of class-wise squared kernel Mahalanobis distances."""

import numbers
from typing import Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._base import KernelEstimator, refuses_weights
from .._typing import (
    ArrayLike,
    Gamma,
    Kernel,
    Objects,
    Reg,
    RegUnit,
    Spectrum,
    Standardize,
    Variant,
)
from .._validation import check_choice, check_reg, is_word, like
from ..training.distances import (
    DEFAULT_REG,
    REG_ON,
    VARIANTS,
    auto_reg,
    is_dissimilarity,
    resolve_alphas,
)


def distance_options(estimator):
    """Variant, unit of the regularisation and policy about negative eigenvalues, checked."""
    return (
        check_choice(estimator.variant, "variant", VARIANTS),
        check_choice(estimator.reg_on, "reg_on", REG_ON),
        estimator._check_spectrum(),
    )


def check_distance_parameters(estimator):
    """Refuse a wrong variant, unit or number."""
    distance_options(estimator)
    if isinstance(estimator.reg, numbers.Real):
        check_reg(estimator.reg, 1)


def fit_class_distances(estimator, training, regs, *, spectral=False):
    """The class models of one training set for a path of regularisation values.

    Returns them with their α, (c,) for a path of one value and (r, c) otherwise.
    """
    variant, reg_on, _ = distance_options(estimator)
    alphas = resolve_alphas(regs, reg_on, variant, training)
    alphas = alphas[0] if len(regs) == 1 else alphas
    return training.distances(variant, alphas, spectral=spectral), alphas


# --- methods that estimators of distances have in common ------------------------------------------


def reg_value(self, training, kernel=None):
    """`reg` as numbers in the units of `reg_on`; kernel: as fitted, if training has values only."""
    if not is_word(self.reg, "auto"):
        return self.reg
    variant, reg_on, _ = distance_options(self)
    kernel = training.kernel if kernel is None else kernel
    return auto_reg(kernel, reg_on, variant, training.mean_spread)


def fixed_reg_value(self, kernel):
    """`reg`, "auto" resolved as far as a fitted kernel tells it without the training set."""
    return DEFAULT_REG if is_word(self.reg, "auto") and not is_dissimilarity(kernel) else self.reg


def mahalanobis(self, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
    """Squared kernel Mahalanobis distance of each row of X to each class.

    Distances can be negative: RC+ with an indefinite kernel, RC- with any kernel. At landmarks they
    are approximations, and those to an object's own class are too large on average: the part of
    the object that the landmarks do not represent (``residual``) counts as if no class explained
    it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Objects, or their kernel values against the training objects (``"precomputed"``).
    self_similarity : array-like of shape (n_samples,), default=None
        k(x, x) of the rows. Only RC variants use it, and only a precomputed kernel whose training
        self-similarities differ needs it.

    Returns
    -------
    d2 : ndarray of shape (n_samples, n_classes)
        Squared distances, columns in the order of ``classes_``.
    """
    d2 = self._distances.sq_distances(self._check_query(X), self_similarity)
    return like(X, self._all_columns(d2, np.inf))


class KernelMahalanobisTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator
):
    """Class-wise squared kernel Mahalanobis distances as features: the dissimilarity space ψ.

    Read more in the :doc:`user guide </dissimilarity_space>`.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        Which distance, as in :class:`KernelQuadraticDiscriminant`; so for all parameters.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
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
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    reg_ : float or array-like
        `reg` as used, in the units of `reg_on`.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    DissimilaritySpaceDiscriminant : A classifier on the distances to the classes.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelMahalanobisTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelMahalanobisTransformer().fit(X, y).transform(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        variant: Variant = "RC+",
        reg: Reg = "auto",
        *,
        reg_on: RegUnit = "auto",
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on

    mahalanobis = mahalanobis

    @refuses_weights
    def fit(self, X: Objects, y: Objects) -> Self:
        """Fit the class distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelMahalanobisTransformer
            The fitted transformer.
        """
        check_distance_parameters(self)
        training, _ = self._fit_training(X, y)
        self.reg_ = reg_value(self, training)
        self._distances, _ = fit_class_distances(self, training, [self.reg_])
        training.release()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def transform(self, X: Objects) -> np.ndarray:
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
