"""The Mahalanobis kernel of paper B; public as :class:`mahalearn.kernels.MahalanobisKernel`."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, Objects, Shrinkage
from .._validation import (
    check_choice,
    check_positive,
    check_sample_weight,
    check_shrinkage,
    refuse_dask,
    refuse_dask_query,
    validate_rows,
)
from ..formulas.whitening import whitening
from .base_kernel import BaseKernel

COVARIANCES = ("diag", "full")


class MahalanobisKernel(BaseKernel, BaseEstimator):
    """The kernel exp(−(δ/m)(x − x')ᵀQ⁻¹(x − x')), Q the covariance of the data it is fitted to.

    It does not depend on the units of the features, nor with ``covariance="full"`` on any
    invertible linear map of them, and m normalises the squared distance, so that δ = 1 suits most
    data.

    Read more in the :doc:`user guide </svm>`.

    Parameters
    ----------
    covariance : {"diag", "full"}, default="diag"
        Covariance Q, with the mean of all data and the divisor n.

        - "diag": variances of the features only.
        - "full": the full covariance matrix.
    delta : float, default=1.0
        Scaling factor δ, positive.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        Shrinks a full covariance towards its own diagonal, (1 − s)Q + s·diag(Q); "auto" takes the
        Ledoit–Wolf intensity of the standardised features. A diagonal one stays as it is.

    Attributes
    ----------
    mean_sq_ : float
        m, the mean of the squared Mahalanobis distance between the data and their mean: the number
        of features, or the rank where some are constant or collinear.
    rank_ : int
        Number of directions in which the data vary. Constant features, and directions in which the
        data do not vary, do not count in distances.
    gamma_ : float
        δ/m: on whitened data this is the RBF kernel with that parameter.
    shrinkage_ : float
        The shrinkage s that was applied.
    whitening_ : Whitening
        The map of rows to the space in which their Mahalanobis distances are Euclidean ones.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    MahalanobisSVC : SVM with a Mahalanobis kernel.

    Notes
    -----
    The kernel is defined from `fit` on; every kernel estimator of this library fits a clone of it
    to its training data. For scikit-learn's SVC use :class:`mahalearn.MahalanobisSVC`, which is the
    same and faster.

    References
    ----------
    S. Abe, Training of support vector machines with Mahalanobis kernels, ICANN 2005, equation (8).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mahalearn import KernelQuadraticDiscriminant, MahalanobisKernel
    >>> X, y = load_wine(return_X_y=True)
    >>> MahalanobisKernel().fit(X)(X, X[:3]).shape
    (178, 3)
    >>> model = KernelQuadraticDiscriminant(kernel=MahalanobisKernel(delta=0.5), reg=0.1)
    >>> print(f"{model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]):.2f}")
    0.98
    """

    positive_definite = True

    def __init__(
        self,
        covariance: Literal["diag", "full"] = "diag",
        delta: float = 1.0,
        shrinkage: Shrinkage = None,
    ) -> None:
        self.covariance = covariance
        self.delta = delta
        self.shrinkage = shrinkage

    def fit(self, X: Objects, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the covariance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            Not used; the classes have one covariance together.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the covariance. They cannot be used with ``shrinkage="auto"``.

        Returns
        -------
        self : MahalanobisKernel
            The fitted kernel.
        """
        full = check_choice(self.covariance, "covariance", COVARIANCES) == "full"
        delta = check_positive(self.delta, "delta")
        refuse_dask(self, X)
        X = validate_rows(self, X, dtype=np.float64)
        weights = check_sample_weight(sample_weight, len(X))
        if weights is not None:
            X, weights = X[weights > 0], weights[weights > 0]
        self.shrinkage_ = _resolve_shrinkage(self.shrinkage, X, weights) if full else 0.0
        self.whitening_ = whitening(X, full=full, shrinkage=self.shrinkage_, weights=weights)
        self.mean_sq_ = self.whitening_.mean_sq
        self.rank_ = self.whitening_.rank
        self.gamma_ = delta / self.mean_sq_
        return self

    @property
    def rbf_gamma(self) -> float:
        """γ of the RBF kernel on whitened data."""
        return self.gamma_

    def whiten(self, X: Objects) -> np.ndarray:
        """Map the rows of X so that their Mahalanobis distances become Euclidean ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_directions)
            Whitened data.
        """
        check_is_fitted(self)
        refuse_dask_query(X)
        return self.whitening_.apply(validate_rows(self, X, reset=False, dtype=np.float64))

    def __call__(self, X: Objects, Y: Objects | None = None) -> np.ndarray:
        """The matrix of kernel values."""
        Z = self.whiten(X)
        return rbf_kernel(Z, None if Y is None or Y is X else self.whiten(Y), gamma=self.gamma_)

    def diag(self, X: Objects) -> np.ndarray:
        """Self-similarities, all 1."""
        return np.ones(len(X))


def _resolve_shrinkage(shrinkage, X, weights):
    shrinkage = check_shrinkage(shrinkage)
    if shrinkage != "auto":
        return shrinkage or 0.0
    if weights is not None:
        raise ValueError(
            "sample_weight cannot be used with shrinkage='auto': the formula of Ledoit and Wolf "
            "has no weights. Pass a number."
        )
    return float(ledoit_wolf_shrinkage(whitening(X).apply(X), assume_centered=True))
