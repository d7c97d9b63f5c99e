"""Nearest neighbours in the space of a kernel (papers A and C: KNN, IKNN)."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base import KernelEstimator, ScoreClassifierMixin
from .._validation import check_count
from ..formulas import kernel_neighbors as formulas


class KernelKNeighborsClassifier(ScoreClassifierMixin, KernelEstimator):
    """Nearest neighbours by the distance that a kernel induces, d² = k_xx − 2k + k_x'x'.

    For the RBF kernel d² grows with the distance of the inputs whatever gamma is, so that with
    uniform weights the answers do not depend on gamma. Of equally near objects the first in the
    training data are taken.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Votes of the neighbours: all alike, 1/d, or what a function of the (n_samples, n_neighbors)
        distances returns. Squared distances can be negative for an indefinite kernel; they count as
        a distance of 0.
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
        What to do about negative eigenvalues. Distances are the same formula for definite and
        indefinite kernels, so that "krein" and "ignore" are one; "raise" stops; the others correct
        the kernel first, for training objects and queries alike.

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
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import KernelKNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(KernelKNeighborsClassifier(), X, y).mean():.2f}")
    0.97
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
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
        self.n_neighbors = n_neighbors
        self.weights = weights

    def fit(self, X, y):
        """Remember the training objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelKNeighborsClassifier
            The fitted classifier.
        """
        self._n_neighbors = check_count(self.n_neighbors, "n_neighbors")
        check_neighbor_weights(self.weights)
        training, codes = self._fit_training(X, y)
        if self._n_neighbors > len(training):
            raise ValueError(
                f"n_neighbors={self._n_neighbors}, but n_samples = {len(training)} training "
                "objects is all there is; take fewer neighbours."
            )
        if self._policy == "raise":
            training.refuse_indefinite([slice(0, len(training))])
        # In the order of the user's objects: of equally near ones the first are taken.
        self._back = training.order.argsort()
        self._diagonal = training.training_self_similarities()[self._back]
        self._codes = codes
        return self

    def kneighbors(self, X, n_neighbors=None, return_distance=True):
        """The nearest training objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        n_neighbors : int, default=None
            Number of neighbours; that of the constructor if None.
        return_distance : bool, default=True
            Whether to return the squared distances too. They need each object's self-similarity.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_neighbors)
            Squared distances, if asked for. They can be negative for an indefinite kernel.
        indices : ndarray of shape (n_samples, n_neighbors)
            Positions in the training data, the nearest first.
        """
        X = self._check_query(X)
        count = self._n_neighbors
        if n_neighbors is not None:
            count = check_count(n_neighbors, "n_neighbors", at_most=len(self._codes))
        if not return_distance:
            return self._over_rows(X, lambda k, _: self._nearest(k, count)[0])
        kxx = self._self_similarities(X)
        both = self._over_rows(X, lambda k, rows: np.stack(self._nearest(k, count, kxx[rows]), 1))
        return both[:, 1], both[:, 0].astype(np.intp)

    def _nearest(self, k, count, kxx=None):
        """Indices, and squared distances if the queries' self-similarities are given."""
        k = k[:, self._back]
        index = formulas.nearest(k, self._diagonal, count)
        if kxx is None:
            return (index,)
        return index, formulas.sq_distances(k, self._diagonal, kxx, index)

    def _self_similarities(self, X):
        kxx = self._training.self_similarities(X)
        if kxx is None:
            raise ValueError(
                "Distances depend on each query's self-similarity k(x, x), which rows of a "
                "precomputed kernel do not hold, and the training self-similarities differ. Use "
                "weights='uniform' (kneighbors: return_distance=False), or "
                "kernel=PrecomputedKernel(K) on row numbers."
            )
        return kxx

    def _scores(self, X):
        return self.predict_proba(X)

    def predict_proba(self, X):
        """Share of each class in the votes of the neighbours.

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
        if self.weights == "uniform":
            index, weights = self.kneighbors(X, return_distance=False), None
        else:
            d2, index = self.kneighbors(X)
            weights = weigh_neighbors(self.weights, d2)
        votes = formulas.votes(self._codes[index], len(self.classes_), weights)
        return votes / votes.sum(axis=1, keepdims=True)


def check_neighbor_weights(weights):
    """Refuse what is neither a known name nor a function."""
    if not callable(weights) and weights not in ("uniform", "distance"):
        raise ValueError(
            "weights must be 'uniform', 'distance' or a function of the distances; "
            f"got {weights!r}."
        )


def weigh_neighbors(weights, d2):
    """Weights of neighbours at the squared distances d2: by inverse distance, or a function."""
    if weights == "distance":
        return formulas.inverse_distance_weights(d2)
    values = np.asarray(weights(np.sqrt(np.maximum(d2, 0.0))), dtype=float)
    if values.shape != d2.shape or not (values >= 0).all() or not values.any(axis=1).all():
        raise ValueError(
            f"weights must return {d2.shape} nonnegative numbers, not all of a row zero; got "
            f"shape {values.shape}."
        )
    return values
