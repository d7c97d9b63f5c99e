"""Searches for the kernel Fisher discriminant, kernel PCA + QDA and kernel neighbours.

With the same splits the scores are those of ``GridSearchCV`` over the plain estimator. Per kernel
parameter there is one kernel matrix, and per fold one decomposition (one sorting) for all values.
"""

from functools import partial

import numpy as np

from .._validation import check_components, check_count, check_priors
from ..classifiers.kernel_fisher import KernelFisherDiscriminant
from ..classifiers.kernel_neighbors import (
    KernelKNeighborsClassifier,
    check_neighbor_weights,
    weigh_neighbors,
)
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
from ._score_paths import fisher_score_path, kernel_pca_score_path, neighbors_score_path
from ._search import PathSearchCV, check_path, documented

# β of paper A's real data; variances of paper C's range.
FISHER_REGS = tuple(np.geomspace(1e-6, 2, 8))
PCA_REGS = tuple(np.geomspace(1e-8, 0.5, 8))


@documented
class KernelFisherDiscriminantCV(PathSearchCV):
    """Kernel Fisher discriminant with kernel and regularisation by cross-validation.

    Parameters
    ----------
    regs : sequence of float, default=None
        Regularisation values β; eight from 1e-6 to 2 if None (paper A).
    {search parameters}

    {search attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelFisherDiscriminantCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelFisherDiscriminantCV(gammas=[0.1, 1.0], cv=5).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.98
    """

    _plain = KernelFisherDiscriminant

    def __init__(
        self,
        regs=None,
        *,
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.regs = regs
        super().__init__(
            gammas=gammas,
            degrees=degrees,
            kernels=kernels,
            kernel=kernel,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _values(self, variant):
        return check_path(FISHER_REGS if self.regs is None else self.regs, "regs")

    def _score_path(self, problem, folds, codes, variant, order):
        return fisher_score_path(problem, folds, codes, self._values(variant))


@documented
class KernelPCAQuadraticDiscriminantCV(PathSearchCV):
    """Kernel PCA and quadratic discriminant with kernel and regularisation by cross-validation.

    Parameters
    ----------
    regs : sequence of float, default=None
        What is added to the variances; eight values from 1e-8 to 0.5 if None (paper C's range).
    n_components : int, float or None, default=0.8
        As in the plain estimator.
    priors : array-like of shape (n_classes,), default=None
        As in the plain estimator.
    {search parameters}

    {search attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelPCAQuadraticDiscriminantCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelPCAQuadraticDiscriminantCV(gammas=[0.1, 1.0], cv=5).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.99
    """

    _plain = KernelPCAQuadraticDiscriminant

    def __init__(
        self,
        regs=None,
        *,
        n_components=0.8,
        priors=None,
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.regs = regs
        self.n_components = n_components
        self.priors = priors
        super().__init__(
            gammas=gammas,
            degrees=degrees,
            kernels=kernels,
            kernel=kernel,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _values(self, variant):
        return check_path(PCA_REGS if self.regs is None else self.regs, "regs")

    def _common(self):
        return {"n_components": self.n_components, "priors": self.priors}

    def _score_path(self, problem, folds, codes, variant, order):
        return kernel_pca_score_path(
            problem,
            folds,
            codes,
            self._values(variant),
            n_components=check_components(self.n_components),
            priors=None if self.priors is None else check_priors(self.priors, len(self.classes_)),
        )


@documented
class KernelKNeighborsClassifierCV(PathSearchCV):
    """Nearest neighbours in a kernel's space with kernel and their number by cross-validation.

    Parameters
    ----------
    n_neighbors : sequence of int, default=None
        Numbers of neighbours; 1 to 15 if None (paper A). Of equal scores the larger number wins.
    weights : {"uniform", "distance"} or callable, default="uniform"
        As in the plain estimator.
    {search parameters}

    {search attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelKNeighborsClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelKNeighborsClassifierCV(gammas=[0.1, 1.0], cv=5).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    0.98
    """

    _plain = KernelKNeighborsClassifier
    _axis = "n_neighbors"

    def __init__(
        self,
        n_neighbors=None,
        *,
        weights="uniform",
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        super().__init__(
            gammas=gammas,
            degrees=degrees,
            kernels=kernels,
            kernel=kernel,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _values(self, variant):
        counts = range(1, 16) if self.n_neighbors is None else self.n_neighbors
        return [check_count(count, "n_neighbors") for count in counts]

    def _common(self):
        return {"weights": self.weights}

    def _check_parameters(self):
        super()._check_parameters()
        check_neighbor_weights(self.weights)

    def _score_path(self, problem, folds, codes, variant, order):
        weigh = None if self.weights == "uniform" else partial(weigh_neighbors, self.weights)
        return neighbors_score_path(
            problem,
            folds,
            codes,
            self._values(variant),
            weigh=weigh,
            position=order,
        )
