"""Explanations of an ensemble's decisions: distances, typical objects, and features."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from .._sparse import column_moments
from .evaluation import parts_of

# Folds in which training objects get their distances.
FOLDS = 5
# Of more objects those of the first folds are enough, as soon as each class has some.
MANY = 2000


class Explanation(NamedTuple):
    """The facts about the training objects that explanations need.

    member: the one whose distances are reported, None where none has distances; distances: for each
    class those of its training objects to it by models that have not seen them, ascending; center,
    spread (p,): means and deviations of the columns of vectors, None for objects.
    """

    member: str | None
    distances: list
    center: np.ndarray | None
    spread: np.ndarray | None


def fit_explanation(estimators, weights, data):
    """The Explanation by the member of the largest weight that has distances."""
    center = spread = None
    if data.spread is None:
        center, variance = column_moments(data.X)
        spread = np.sqrt(variance)
    names = sorted(weights, key=lambda name: -weights[name])
    name = next((n for n in names if _has_distances(estimators[n], data)), None)
    if name is None:
        return Explanation(None, [], center, spread)
    codes, d2 = data.codes, np.full(len(data.codes), np.nan)
    # Where all fits have the same landmarks, these are nearer to them than a new object would be.
    places = getattr(estimators[name], "landmarks", None)
    places = places if np.ndim(places) else []
    n_splits = max(2, min(FOLDS, int(np.bincount(codes).max())))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(StratifiedKFold(n_splits).split(codes, codes))
    for train, test in splits:
        test = np.setdiff1d(test, places)
        if len(test) and len(np.unique(codes[train])) > 1:
            d2[test] = _distances_to_classes(clone(estimators[name]), data, train, test)
        if len(codes) > MANY and len(np.unique(codes[np.isfinite(d2)])) > codes.max():
            break
    classes = [codes == j for j in range(codes.max() + 1)]
    by_class = [np.sort(d2[members & np.isfinite(d2)]) for members in classes]
    return Explanation(name, by_class, center, spread)


def _has_distances(estimator, data):
    usable = data.knows_queries or not str(getattr(estimator, "variant", "")).startswith("RC")
    return hasattr(estimator, "mahalanobis") and usable


def _distances_to_classes(estimator, data, train, test):
    """Distances of held-out objects to their own classes, NaN for a class without others."""
    inside, queries = parts_of(estimator, data.X, train, test)
    if hasattr(estimator, "offset"):  # distances have none
        estimator.set_params(offset=None)
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


def kernel_member(members, weights):
    """The kernel member of all objects of the largest weight, None without one."""
    names = [n for n in weights if members[n].shares_kernel]
    return members[max(names, key=lambda n: weights[n])] if names else None
