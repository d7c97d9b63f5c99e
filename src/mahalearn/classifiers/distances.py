"""Estimators of class-wise squared kernel Mahalanobis distances."""

import numbers
import warnings
from typing import Any, Self

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
from .._validation import check_choice, check_reg
from ..training.distances import (
    DEFAULT_REG,
    REG_ON,
    VARIANTS,
    auto_reg,
    is_dissimilarity,
    resolve_alphas,
    resolved_reg_on,
)
from ..training.folds import is_leave_one_out


class KernelMahalanobisEstimator(KernelEstimator):
    """Class-wise kernel Mahalanobis distances: what the estimators of this family share."""

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
        kernel_params: dict[str, Any] | None = None,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on

    def _check_parameters(self):
        check_choice(self.variant, "variant", VARIANTS)
        check_choice(self.reg_on, "reg_on", REG_ON)
        if isinstance(self.reg, numbers.Real):
            check_reg(self.reg, 1)

    def _axis_value(self, training, kernel=None):
        """`reg` as numbers in the units of `reg_on`."""
        reg = self.reg
        if isinstance(reg, str) and reg == "auto":
            variant, reg_on, _ = self._options()
            kernel = training.kernel if kernel is None else kernel
            return auto_reg(kernel, reg_on, variant, training.mean_spread)
        return reg

    def _fixed_axis_value(self, kernel):
        reg = self.reg
        automatic = isinstance(reg, str) and reg == "auto"
        return DEFAULT_REG if automatic and not is_dissimilarity(kernel) else reg

    def _warn_of_leave_one_out(self, folds):
        """Say where leaving out one object at a fixed α flatters its own class."""
        variant, reg_on, _ = self._options()
        fixed = variant.startswith("RC") and resolved_reg_on(reg_on, variant) == "kernel"
        if fixed and is_leave_one_out(folds.splits, len(folds.codes)):
            warnings.warn(
                f"LeaveOneOut() with reg_on='kernel' and {variant} flatters useless kernels: at a "
                "fixed α the class of the left-out object, one object short, has the larger σ² and "
                "wins too often. Use reg_on='covariance' or 'relative', or k folds.",
                UserWarning,
                stacklevel=2,
            )

    def _fit_distances(self, training, regs, *, spectral=False):
        """The class models of one training set for a path of regularisation values.

        Returns them with their α, (c,) for a path of one value and (r, c) otherwise.
        """
        variant, reg_on, _ = self._options()
        alphas = resolve_alphas(regs, reg_on, variant, training)
        alphas = alphas[0] if len(regs) == 1 else alphas
        return training.distances(variant, alphas, spectral=spectral), alphas

    def _options(self):
        return (
            check_choice(self.variant, "variant", VARIANTS),
            check_choice(self.reg_on, "reg_on", REG_ON),
            self._check_spectrum(),
        )

    def mahalanobis(self, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
        """Squared kernel Mahalanobis distance of each row of X to each class.

        Distances can be negative: RC+ with an indefinite kernel, RC- with any kernel. At landmarks
        they are approximations, and those to an object's own class are too large on average: what
        the landmarks leave over of the object (``residual``) counts as if no class explained it.

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
        return self._all_columns(self._distances.sq_distances(X, self_similarity), np.inf)


class KernelMahalanobisTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMahalanobisEstimator
):
    """Class-wise squared kernel Mahalanobis distances as features: the dissimilarity space ψ.

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
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues.
    standardize : {"auto", True, False}, default="auto"
        Whether the columns are centred and divided by their standard deviations first, for the
        kernels rbf, laplacian, linear, poly and sigmoid by name. "auto": where their standard
        deviations differ by more than a factor of ten.

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelMahalanobisTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelMahalanobisTransformer().fit(X, y).transform(X[:2]).shape
    (2, 3)
    """

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
        self._check_parameters()
        training, _ = self._fit_training(X, y)
        self.reg_ = self._axis_value(training)
        self._distances, _ = self._fit_distances(training, [self.reg_])
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
