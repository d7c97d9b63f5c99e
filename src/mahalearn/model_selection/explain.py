"""Why an ensemble decides as it does: distances, typical objects, neighbours and features."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from .._memory import row_chunks
from .._validation import take
from ..classifiers.kernel_classifier import KernelClassifier

# Folds in which training objects get their distances, and nodes of the integral along a line.
FOLDS = 5
NODES = 8
# Step of the differences that stand for a gradient, in standard deviations of a feature.
STEP = 1e-4


class Explanation(NamedTuple):
    """What is kept of the training objects.

    member: the one whose distances are told; own: for each class the distances of its training
    objects to it by models that have not seen them, ascending; means (c, p): class means of
    vectors, None for objects.
    """

    member: str
    own: list
    means: np.ndarray | None


def fit_explanation(estimators, weights, given):
    """The Explanation by the member of the largest weight that has distances, None without one."""
    names = sorted(weights, key=lambda name: -weights[name])
    name = next((n for n in names if _tells_distances(estimators[n], given)), None)
    if name is None:
        return None
    codes = np.unique(given.y, return_inverse=True)[1]
    own = np.full(len(codes), np.nan)
    n_splits = max(2, min(FOLDS, int(np.bincount(codes).max())))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(StratifiedKFold(n_splits).split(codes, codes))
    for train, test in splits:
        if len(np.unique(codes[train])) > 1:
            own[test] = _own_distances(clone(estimators[name]), given, train, test)
    means = None
    if given.spread is None:
        means = np.array([given.X[codes == j].mean(axis=0) for j in range(codes.max() + 1)])
    known = [own[(codes == j) & np.isfinite(own)] for j in range(codes.max() + 1)]
    return Explanation(name, [np.sort(values) for values in known], means)


def _tells_distances(estimator, given):
    known = given.knows_queries or not str(getattr(estimator, "variant", "")).startswith("RC")
    return hasattr(estimator, "mahalanobis") and known


def _own_distances(estimator, given, train, test):
    """Distances of held-out objects to their own classes, NaN for a class without others."""
    pairwise = isinstance(given.kernel, str) and given.kernel == "precomputed"
    inside = given.X[np.ix_(train, train)] if pairwise else take(given.X, train)
    queries = given.X[np.ix_(test, train)] if pairwise else take(given.X, test)
    d2 = estimator.fit(inside, given.y[train]).mahalanobis(queries)
    place = np.searchsorted(estimator.classes_, given.y[test])
    place = np.minimum(place, len(estimator.classes_) - 1)
    there = estimator.classes_[place] == given.y[test]
    return np.where(there, d2[np.arange(len(test)), place], np.nan)


def typicality(own, d2):
    """Share of a class that is at least as far from it, the object itself included; (m, c).

    own: ascending distances of each class's objects to it; d2 (m, c). NaN for a class without.
    """
    columns = [
        (1 + len(values) - np.searchsorted(values, d2[:, j], side="left")) / (len(values) + 1)
        if len(values)
        else np.full(len(d2), np.nan)
        for j, values in enumerate(own)
    ]
    return np.stack(columns, axis=1)


def nearest_objects(member, X, n_neighbors):
    """Positions (m, k) of the nearest training objects in the space of a kernel, and their d²."""
    training = member._training
    kxx, kyy = training.self_similarities(X), training.training_self_similarities()
    positions, distances = [], []
    for rows in row_chunks(len(X), 3 * len(training)):
        d2 = kyy - 2 * training.cross(take(X, rows))
        if kxx is not None:
            d2 += kxx[rows, None]
        index = np.argsort(d2, axis=1, kind="stable")[:, :n_neighbors]
        positions.append(training.order[index])
        distances.append(np.take_along_axis(d2, index, axis=1))
    return np.concatenate(positions), np.concatenate(distances)


def feature_contributions(sq_distances, x, mean, j):
    """Contributions (p,) of the features to d²_j(x): its gradient integrated from the class mean.

    They sum to d²_j(x) − d²_j(mean). For a quadratic form that is (x − μ)∘Σ⁻¹(x − μ), exactly; for
    kernels the integral has NODES nodes and the gradient is one of central differences.
    sq_distances (m, p) -> (m, c).
    """
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    p = len(x)
    line = mean + (x - mean) * (nodes[:, None] + 1) / 2
    step = STEP * np.eye(p)
    points = np.concatenate([line[:, None] + step, line[:, None] - step], axis=1)
    d2 = sq_distances(points.reshape(-1, p))[:, j].reshape(NODES, 2, p)
    gradient = (d2[:, 0] - d2[:, 1]) / (2 * STEP)
    return (x - mean) * (shares @ gradient) / 2


def kernel_member(members, weights):
    """The kernel member of the largest weight, None without one."""
    names = [n for n in weights if isinstance(members[n], KernelClassifier)]
    return members[max(names, key=lambda n: weights[n])] if names else None
