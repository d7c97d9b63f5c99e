"""Nearest neighbours in the space of a kernel (papers A and C: KNN, IKNN)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._memory import BLOCKS, row_chunks
from .._typing import Gamma, Kernel, Objects, Spectrum, Standardize
from .._validation import check_count, take
from ..formulas import kernel_neighbors as formulas
from ..formulas.calibration import fit_temperature
from .kernel_classifier import KernelClassifier, PathModels

# Training objects whose leave-one-out votes give the temperature.
SAMPLE = 2000


@dataclass(kw_only=True)
class NeighborsPath(PathModels):
    """The training objects as neighbours, in the order given; the values are their numbers.

    weights: of the votes, a name or a function; back: positions in class order; diagonal:
    self-similarities; codes: classes.
    """

    weights: Any
    back: np.ndarray
    diagonal: np.ndarray
    codes: np.ndarray
    n_classes: int

    def leave_one_out_temperature(self, training):
        """The temperature of leave-one-out votes, computed when it is first asked for."""
        if self.temperature is None:
            self.temperature = fit_temperature(*self._leave_one_out(training))
        return self.temperature

    def _leave_one_out(self, training):
        """Votes (m, c) of the neighbours of up to SAMPLE training objects, and their classes."""
        n, count = len(self.codes), min(self.values[0], len(self.codes) - 1)
        rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
        of_count, votes = replace(self, values=[count]), []
        for part in row_chunks(len(rows), BLOCKS * n):
            some = rows[part]
            k = training.training_cross(self.back[some])[:, self.back]
            index = formulas.nearest(k, self.diagonal, count + 1)
            others = index != some[:, None]
            others[others.all(axis=1), -1] = False  # more equal objects than neighbours
            index = index[others].reshape(len(some), count)
            d2 = formulas.sq_distances(k, self.diagonal, self.diagonal[some], index)
            votes.append(of_count.votes(index, d2))
        training.release()
        return np.concatenate(votes)[..., 0], self.codes[rows]

    def scores(self, training, queries):
        """Shares of the classes in the votes, (m, c, r)."""
        kxx = None if self.weights == "uniform" else _self_similarities(training, queries)
        return self.votes(*self.neighbors(training, queries, kxx, max(self.values)))

    def votes(self, index, d2):
        """Shares (m, c, r) of the classes among the objects at `index`, the nearest first."""
        path = []
        for count in self.values:
            w = weigh_neighbors(self.weights, d2[:, :count])
            votes = formulas.votes(self.codes[index[:, :count]], self.n_classes, w)
            path.append(votes / votes.sum(axis=1, keepdims=True))
        return np.stack(path, axis=-1)

    def neighbors(self, training, queries, kxx, count):
        """Positions of the nearest, and squared distances where self-similarities are given."""
        parts = []
        for rows in row_chunks(len(queries), BLOCKS * len(training)):
            k = training.cross(take(queries, rows))[:, self.back]
            index = formulas.nearest(k, self.diagonal, count)
            d2 = np.zeros(index.shape)
            if kxx is not None:
                d2 = formulas.sq_distances(k, self.diagonal, kxx[rows], index)
            parts.append((index, d2))
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


class KernelKNeighborsClassifier(KernelClassifier):
    """Nearest neighbours by the distance of a kernel, d² = k(x, x) − 2k(x, z) + k(z, z).

    For the RBF kernel the order of the neighbours is that of the input space for every gamma, so
    predictions with uniform weights do not depend on gamma. Among equally near objects the first in
    the training data are used.

    Read more in the :doc:`user guide </kernel_neighbors>`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Weights of the neighbours' votes.

        - "uniform": equal weights.
        - "distance": 1/d; negative squared distances of an indefinite kernel count as 0.
        - callable: a function of the (n_samples, n_neighbors) distances.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :doc:`kernels </kernels>`).
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)), "auto" is 1/n_features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues.

        - "krein", "ignore": use the distances as they are; squared distances may be negative.
        - "raise": raise an error.
        - "clip", "flip", "square", "shift": correct the kernel matrix first, for training objects
          and queries alike.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import KernelKNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(KernelKNeighborsClassifier(), X, y).mean():.2f}")
    0.97
    """

    path_parameter = "n_neighbors"
    smooth_scores = False

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Literal["uniform", "distance"] | Callable[..., Any] = "uniform",
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
        self.n_neighbors = n_neighbors
        self.weights = weights

    def _check_parameters(self):
        check_count(self.n_neighbors, "n_neighbors")
        check_neighbor_weights(self.weights)

    def _fit_path(self, training, labels, values):
        if max(values) > len(training):
            raise ValueError(
                f"n_neighbors={max(values)}, but n_samples = {len(training)} training objects is "
                "all there is; use fewer neighbours (or, in a search, more folds)."
            )
        training.check_spectrum()
        # In the order of the user's objects: of equally near ones the first are taken.
        back = training.as_given
        diagonal = training.training_self_similarities()[back]
        return NeighborsPath(
            values=values,
            rounding=np.zeros(1),
            weights=check_neighbor_weights(self.weights),
            back=back,
            diagonal=diagonal,
            codes=labels.codes,
            n_classes=len(labels.names),
        )

    def kneighbors(
        self, X: Objects, n_neighbors: int | None = None, return_distance: bool = True
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The nearest training objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        n_neighbors : int, default=None
            Number of neighbours; that of the constructor if None.
        return_distance : bool, default=True
            Whether to return the squared distances too. They need each object's self-similarity.
            Unlike scikit-learn's they are squared, because those of an indefinite kernel may be
            negative.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_neighbors)
            Squared distances, if `return_distance`. They can be negative for an indefinite kernel.
        indices : ndarray of shape (n_samples, n_neighbors)
            Positions in the training data, the nearest first.
        """
        X, models = self._check_query(X), self.models_
        count = models.values[0]
        if n_neighbors is not None:
            count = check_count(n_neighbors, "n_neighbors", at_most=len(models.codes))
        kxx = _self_similarities(self._training, X) if return_distance else None
        index, d2 = models.neighbors(self._training, X, kxx, count)
        return (d2, index) if return_distance else index

    _expects_temperature = True

    def _model_temperature(self):
        return self.models_.leave_one_out_temperature(self._training)


def _self_similarities(training, X):
    kxx = training.self_similarities(X)
    if kxx is None:
        raise ValueError(
            "Distances depend on each query's self-similarity k(x, x), which rows of a "
            "precomputed kernel do not hold, and the training self-similarities differ. Use "
            "weights='uniform' (kneighbors: return_distance=False), or "
            "kernel=PrecomputedKernel(K) on row numbers."
        )
    return kxx


def check_neighbor_weights(weights):
    """The name, as it is spelt, or the function; anything else is refused."""
    if not callable(weights) and weights not in ("uniform", "distance"):
        raise ValueError(
            "weights must be 'uniform', 'distance' or a function of the distances; "
            f"got {weights!r}."
        )
    return weights


def weigh_neighbors(weights, d2):
    """Weights of neighbours at the squared distances d2, None where all are equal."""
    if weights == "uniform":
        return None
    if weights == "distance":
        return formulas.inverse_distance_weights(d2)
    values = np.asarray(weights(np.sqrt(np.maximum(d2, 0.0))), dtype=float)
    if values.shape != d2.shape or not (values >= 0).all() or not values.any(axis=1).all():
        raise ValueError(
            f"weights must return {d2.shape} nonnegative numbers, not all of a row zero; got "
            f"shape {values.shape}."
        )
    return values
