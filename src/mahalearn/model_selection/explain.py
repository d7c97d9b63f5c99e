"""Explanations of an ensemble's decisions: distances, typical objects, and features."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from .._validation import take
from ..classifiers.kernel_classifier import KernelClassifier

# Folds in which training objects get their distances, and nodes of the integral along a line.
FOLDS = 5
NODES = 8
# Step of the differences that stand for a gradient, in standard deviations of a feature.
STEP = 1e-4


class Explanation(NamedTuple):
    """The facts about the training objects that explanations need.

    member: the one whose distances are reported; distances: for each class those of its training
    objects to it by models that have not seen them, ascending; means (c, p): class means of
    vectors, None for objects.
    """

    member: str
    distances: list
    means: np.ndarray | None


def fit_explanation(estimators, weights, data):
    """The Explanation by the member of the largest weight that has distances, None without one."""
    names = sorted(weights, key=lambda name: -weights[name])
    name = next((n for n in names if _has_distances(estimators[n], data)), None)
    if name is None:
        return None
    codes, d2 = data.codes, np.full(len(data.codes), np.nan)
    n_splits = max(2, min(FOLDS, int(np.bincount(codes).max())))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(StratifiedKFold(n_splits).split(codes, codes))
    for train, test in splits:
        if len(np.unique(codes[train])) > 1:
            d2[test] = _distances_to_classes(clone(estimators[name]), data, train, test)
    classes = [codes == j for j in range(codes.max() + 1)]
    means = None
    if data.spread is None:
        means = np.array([data.X[members].mean(axis=0) for members in classes])
    by_class = [np.sort(d2[members & np.isfinite(d2)]) for members in classes]
    return Explanation(name, by_class, means)


def _has_distances(estimator, data):
    usable = data.knows_queries or not str(getattr(estimator, "variant", "")).startswith("RC")
    return hasattr(estimator, "mahalanobis") and usable


def _distances_to_classes(estimator, data, train, test):
    """Distances of held-out objects to their own classes, NaN for a class without others."""
    if data.pairwise:
        inside, queries = data.X[np.ix_(train, train)], data.X[np.ix_(test, train)]
    else:
        inside, queries = take(data.X, train), take(data.X, test)
    d2 = estimator.fit(inside, data.y[train]).mahalanobis(queries)
    place = np.searchsorted(estimator.classes_, data.y[test])
    place = np.minimum(place, len(estimator.classes_) - 1)
    there = estimator.classes_[place] == data.y[test]
    return np.where(there, d2[np.arange(len(test)), place], np.nan)


def typicality(distances, d2):
    """Share of a class that is at least as far from it, the object itself included; (m, c).

    distances: ascending, of each class's objects to it; d2 (m, c). NaN for a class without.
    """
    columns = [
        (1 + len(values) - np.searchsorted(values, d2[:, j], side="left")) / (len(values) + 1)
        if len(values)
        else np.full(len(d2), np.nan)
        for j, values in enumerate(distances)
    ]
    return np.stack(columns, axis=1)


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
    """The kernel member of all objects of the largest weight, None without one."""
    names = [n for n in weights if isinstance(members[n], KernelClassifier)]
    names = [n for n in names if members[n].landmarks is None]
    return members[max(names, key=lambda n: weights[n])] if names else None
