"""Kernel ridge regression whose Mahalanobis metric is learned from its own gradients."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from .._base import ScoreClassifierMixin, refuses_weights
from .._memory import BLOCKS, row_chunks
from .._typing import Objects
from .._validation import (
    check_choice,
    check_classes,
    check_count,
    check_memory,
    check_positive,
    refuse_dask,
    take,
    validate_rows,
)
from ..formulas.learned_metric import MetricRidge, fit_metric_ridge
from ..kernels.protocol import column_scales
from .explanation import explain, named_contributions

METRICS = ("diagonal", "full")


class RecursiveFeatureMachine(ScoreClassifierMixin, BaseEstimator):
    """Kernel ridge regression on the classes with a learned Mahalanobis metric.

    The kernel is exp(−d_M(x, x')/L), d_M² = (x − x')ᵀM(x − x'). M is the mean outer product of the
    gradients of the fitted regression, so directions in which the prediction changes count more. A
    few rounds of fitting and learning alternate. ``metric_`` shows which features matter.

    Read more in the :doc:`user guide </kernel_ridge>`.

    Parameters
    ----------
    reg : float, default=1e-3
        Ridge regularisation, positive; n·reg is added to the diagonal of the kernel matrix.
    length : float, default=1.0
        Length scale L, in mean distances of the training objects (under the metric).
    metric : {"diagonal", "full"}, default="diagonal"
        Form of the metric.

        - "diagonal": a weight for each feature.
        - "full": a full matrix.
    n_iter : int, default=3
        Number of rounds; 0 keeps the Euclidean metric.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    metric_ : ndarray of shape (n_features,) or (n_features, n_features)
        The learned metric of the standardised columns: its diagonal, or M; the mean of the diagonal
        is 1.
    scale_ : float
        The length scale L.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    KernelRidgeClassifier : Regression on the classes, with closed-form leave-one-out.
    MahalanobisClassifierCV : Ensemble of searched families.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models, Science 383, 2024.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from mahalearn import RecursiveFeatureMachine
    >>> X, y = make_classification(
    ...     200, 10, n_informative=2, n_redundant=0, shuffle=False, random_state=0
    ... )
    >>> model = RecursiveFeatureMachine().fit(X, y)
    >>> print(sorted(model.metric_.argsort()[-2:].tolist()))
    [0, 1]
    """

    def __init__(
        self,
        reg: float = 1e-3,
        *,
        length: float = 1.0,
        metric: Literal["diagonal", "full"] = "diagonal",
        n_iter: int = 3,
    ) -> None:
        self.reg = reg
        self.length = length
        self.metric = metric
        self.n_iter = n_iter

    @refuses_weights
    def fit(self, X: Objects, y: Objects) -> Self:
        """Learn the metric and fit the regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : RecursiveFeatureMachine
            The fitted classifier.
        """
        check_positive(self.reg, "reg")
        check_positive(self.length, "length")
        full = check_choice(self.metric, "metric", METRICS) == "full"
        if self.n_iter != 0:
            check_count(self.n_iter, "n_iter")
        self._search_temperature = None
        refuse_dask(self, X, y)
        X, y = validate_rows(self, X, y, dtype=np.float64)
        self.classes_, codes = check_classes(y)
        check_memory(4 * len(X) ** 2, f"The kernel matrix of {len(X)} objects and its factors")
        self.center_, self.spread_ = column_scales(X)
        self.training_rows_ = (X - self.center_) / self.spread_
        targets = 2.0 * (codes[:, None] == np.arange(len(self.classes_))) - 1
        self.model_: MetricRidge = fit_metric_ridge(
            self.training_rows_, targets, self.reg, self.length, int(self.n_iter), full
        )
        self.metric_, self.scale_ = self.model_.metric, self.model_.scale
        # What rounding leaves in sums of coefficients with kernel values of at most 1.
        sizes = np.abs(self.model_.coefficients).sum(axis=0)
        self.rounding_ = float(64 * np.finfo(float).eps * sizes.max())
        return self

    explain = explain

    def _contributions(self, x, a, b):
        return named_contributions(self, self._margin(a, b), x, self.center_, self.spread_)

    def query_scores(self, queries: Any) -> np.ndarray:
        """Scores (m, c) of queries that need no more checks."""
        Z, training = (queries - self.center_) / self.spread_, self.training_rows_
        chunks = row_chunks(len(Z), BLOCKS * len(training))
        return np.concatenate([self.model_.predict(take(Z, c), training) for c in chunks])
