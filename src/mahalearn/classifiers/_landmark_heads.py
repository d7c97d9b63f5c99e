"""Discriminants on the distances to the classes, trained in a second pass over the data."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone

from .._validation import known_codes
from ..formulas.kernel_pca import GaussianClass, quadratic_scores
from ..formulas.linalg import RANK_RTOL, eigh
from ..formulas.moments import (
    add_rows,
    class_covariances,
    class_shares,
    no_moments,
    pooled_covariance,
    total_covariance,
)
from ..formulas.moments import merge as merge_moments
from ._landmark_statistics import as_batches

LANDMARK_HEADS = ("fisher", "quadratic")


class LandmarkHead(NamedTuple):
    """Normal densities on distances d² (n, c): the papers' heads, from moments."""

    center: np.ndarray
    scale: np.ndarray
    classes: list
    priors: np.ndarray

    def scores(self, d2):
        """Log-densities plus log-priors, (n, c)."""
        Z = (d2 - self.center) / self.scale
        return quadratic_scores(self.classes, self.priors, Z, [RANK_RTOL])[0]


class ClassifierHead(NamedTuple):
    """A scikit-learn classifier on distances d² (n, c); labels are class indices."""

    classifier: object

    def scores(self, d2):
        """Scores of the classes, the largest is what the classifier predicts, (n, c)."""
        model = self.classifier
        if hasattr(model, "decision_function"):
            scores = model.decision_function(d2)
            return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        if hasattr(model, "predict_proba"):
            return model.predict_proba(d2)
        return (model.predict(d2)[:, None] == model.classes_).astype(float)


class HeadModel:
    """Distances to the classes, then a head for each value of the path."""

    def __init__(self, distances, heads):
        self.distances = distances
        self.heads = heads

    def at(self, i):
        """The model of one value of the path."""
        return HeadModel(self.distances.at(i), [self.heads[i]])

    def sq_distances(self, X, self_similarity=None):
        """Squared distances of objects to the classes, (r, n, c)."""
        return self.distances.sq_distances(X, self_similarity)

    def scores(self, X, self_similarity=None):
        """Scores of objects, the largest wins, (r, n, c)."""
        d2 = self.sq_distances(X, self_similarity)
        return np.stack([head.scores(d) for head, d in zip(self.heads, d2, strict=True)])

    def log_proba(self, X):
        """Log-probabilities of the papers' heads, (r, n, c)."""
        return log_softmax(self.scores(X), axis=-1)

    def residual(self, X, self_similarity=None):
        """What the landmarks leave over of each object, (n,)."""
        return self.distances.residual(X, self_similarity)


def part_head_moments(distances, X, y, classes):
    """Moments of the distances of a part of the training data: a list, one for each value."""
    codes = known_codes(np.asarray(y), classes)
    out = []
    for d2 in distances.sq_distances(X):
        moments = no_moments(len(classes), len(classes))
        add_rows(moments, np.ascontiguousarray(d2), codes)
        out.append(moments)
    return out


def merge_head_moments(a, b):
    """Moments of both parts."""
    return [merge_moments(p, q) for p, q in zip(a, b, strict=True)]


def head_model(distances, statistics, batches, discriminant):
    """The heads for all values; `batches()` gives the training data once more."""
    classes = statistics.plan.classes
    if not isinstance(discriminant, str):
        return HeadModel(distances, _fit_classifiers(distances, statistics, discriminant))
    if discriminant not in LANDMARK_HEADS:
        raise ValueError(
            f"discriminant must be {' or '.join(map(repr, LANDMARK_HEADS))}, or a classifier; got "
            f"{discriminant!r}."
        )
    if batches is None:
        raise ValueError(
            "A discriminant in dissimilarity space needs the training data a second time: pass "
            "batches=, a function that returns them."
        )
    moments = None
    for X, y, _ in as_batches(batches()):
        part = part_head_moments(distances, X, y, classes)
        moments = part if moments is None else merge_head_moments(moments, part)
    return HeadModel(distances, heads_from_moments(moments, discriminant))


def heads_from_moments(moments, discriminant):
    """A LandmarkHead for each value, from the moments of its distances."""
    return [_head(m, pooled=discriminant == "fisher") for m in moments]


def _head(moments, pooled):
    shares, covariances = class_shares(moments), class_covariances(moments)
    within = pooled_covariance(covariances, shares)
    variances = np.diagonal(total_covariance(within, moments.mean, shares))
    center, spread = shares @ moments.mean, np.sqrt(np.maximum(variances, 0.0))
    # A spread within rounding of the values is none at all.
    none = spread <= RANK_RTOL * np.abs(moments.mean).max(axis=0)
    scale = np.where(none, 1.0, spread)
    classes = []
    for mean, covariance in zip(moments.mean, covariances, strict=True):
        C = (within if pooled else covariance) / np.outer(scale, scale)
        values, axes = eigh(C, keep_small=True)
        classes.append(GaussianClass((mean - center) / scale, axes, np.maximum(values, 0.0)))
    return LandmarkHead(center, scale, classes, shares)


def _fit_classifiers(distances, statistics, classifier):
    """Any classifier, on the distances of the sample, its classes in their true proportions."""
    sample, counts = statistics.sample, statistics.counts
    kept = np.bincount(sample.codes, minlength=len(counts))
    share = (kept / counts).min()
    n_each = np.maximum(np.round(share * counts).astype(int), 1)
    rows = np.concatenate([np.flatnonzero(sample.codes == j)[:n] for j, n in enumerate(n_each)])
    sample = sample.select(np.isin(np.arange(len(sample)), rows))
    d2 = distances.sq_distances(sample.rows)
    return [ClassifierHead(clone(classifier).fit(d, sample.codes)) for d in d2]
