"""A Mahalanobis metric learned by kernel ridge regression: average gradient outer products.

A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural
networks and backpropagation-free machine learning models, Science 383, 2024 ("recursive feature
machine"): fit the regression, let the metric be the mean outer product of its gradients, repeat.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist


class MetricRidge(NamedTuple):
    """A fitted regression exp(−d_M(x, x_i)/scale)ᵀ·coefficients + intercept.

    metric M: (p,) its diagonal, or (p, p); coefficients (n, c); intercept (c,).
    """

    metric: np.ndarray
    scale: float
    coefficients: np.ndarray
    intercept: np.ndarray

    def predict(self, X, training):
        """Values (m, c) of objects (m, p)."""
        D = metric_distances(X, training, self.metric)
        return np.exp(-D / self.scale) @ self.coefficients + self.intercept


def metric_distances(X, Z, metric):
    """√((x − z)ᵀM(x − z)) of all pairs; metric (p,) for a diagonal M, or (p, p)."""
    root = metric_root(metric)
    X, Z = (X * root, Z * root) if root.ndim == 1 else (X @ root, Z @ root)
    return cdist(X, Z)


def metric_root(metric):
    """R with RRᵀ = M: (p,) for a diagonal M, else (p, p)."""
    if metric.ndim == 1:
        return np.sqrt(metric)
    values, vectors = np.linalg.eigh(metric)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def fit_metric_ridge(X, targets, reg, length, n_iter, full):
    """The regression of targets (n, c) on X (n, p), and the metric that it learns.

    In each of n_iter rounds the ridge coefficients (K + n·reg·I)⁻¹(targets − mean) of the kernel
    K = exp(−d_M/L) are found, L = length × the mean distance of the objects, and M becomes the mean
    outer product of the gradients, of all targets (its diagonal unless `full`). It starts at the
    identity; the last regression has the last metric. Its trace is p.
    """
    n, p = X.shape
    metric = np.eye(p) if full else np.ones(p)
    intercept = targets.mean(axis=0)
    for round_ in range(n_iter + 1):
        D = metric_distances(X, X, metric)
        # The mean distance between different objects; 1 where all are equal.
        scale = length * (float(D.sum() / (n * (n - 1))) or 1.0)
        K = np.exp(-D / scale)
        coefficients = cho_solve(cho_factor(K + n * reg * np.eye(n)), targets - intercept)
        model = MetricRidge(metric, scale, coefficients, intercept)
        if round_ == n_iter:
            return model
        metric = mean_gradient_outer_product(X, model, D, K)
        trace = metric.sum() if metric.ndim == 1 else np.trace(metric)
        if not trace > 0:  # no gradient: nothing to learn from
            return model
        metric = metric * (p / trace)
    return model


def mean_gradient_outer_product(X, model, D, K):
    """(1/n) Σ_i Σ_c ∇f_c(x_i)∇f_c(x_i)ᵀ, (p, p), or its diagonal where the metric is one.

    ∇f_c(x) = −Σ_j a_jc exp(−d_j/L)/(L d_j)·M(x − x_j); an object has no gradient at itself.
    D, K (n, n): distances and kernel of the training objects X.
    """
    with np.errstate(divide="ignore"):
        W = np.where(D > 0, K / (model.scale * np.where(D > 0, D, 1.0)), 0.0)
    total = np.zeros(model.metric.shape)
    for a in model.coefficients.T:
        A = W * a
        moved = A @ X - A.sum(axis=1)[:, None] * X
        gradients = moved * model.metric if model.metric.ndim == 1 else moved @ model.metric
        total += (gradients**2).sum(axis=0) if total.ndim == 1 else gradients.T @ gradients
    return total / len(X)
