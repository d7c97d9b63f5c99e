"""Combining the families: held-out rows, weights, and the fitted members of an ensemble."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from .._memory import BLOCKS, IN_CACHE, row_chunks, scratch
from .._validation import take
from ..classifiers.distances import distance_options
from ..classifiers.kernel_classifier import KernelClassifier
from ..formulas.stacking import (
    calibrate,
    held_out_log_loss,
    stack,
    stacking_weights,
)
from ..kernels.protocol import fit_named_kernel, is_named
from ..training.shared_rows import SharedRows

# Parts for cross-fitting where there is a single split.
PARTS = 5


class HeldOut(NamedTuple):
    """The held-out rows of all splits, one split after the other.

    objects (m,): position of each row's object; truth (m,): its class index; starts: where splits
    begin; parts (m,): all rows of an object are in one part; weights (m,): those of the objects,
    divided by how often each is held out; n_objects: also those that no split holds out.
    """

    objects: np.ndarray
    truth: np.ndarray
    starts: np.ndarray
    parts: np.ndarray
    weights: np.ndarray
    n_objects: int

    def without(self, part):
        """Which rows are not in a part."""
        return self.parts != part


def held_out_rows(splits, codes, weights):
    """The HeldOut of splits; the part of an object is the first split that holds it out."""
    objects = np.concatenate([test for _, test in splits])
    starts = np.cumsum([0] + [len(test) for _, test in splits])
    first = np.full(len(codes), -1)
    for f, (a, b) in reversed(list(enumerate(pairwise(starts)))):
        first[objects[a:b]] = f
    if len(np.unique(first[objects])) == 1:
        first[np.sort(objects)] = np.arange(len(objects)) % min(PARTS, max(2, len(objects)))
    times = np.bincount(objects, minlength=len(codes))[objects]
    weights = weights[objects] / times
    return HeldOut(objects, codes[objects], starts, first[objects], weights, len(codes))


def object_weights(y, sample_weight, class_weight):
    """Weights of the objects (n,) with mean 1."""
    weights = compute_sample_weight(class_weight, y)
    weights = weights if sample_weight is None else weights * sample_weight
    return weights / weights.mean()


def calibrate_members(scores, rows):
    """{member: Calibrated} from {member: held-out scores (m, c)}."""
    return {
        name: calibrate(table, rows.truth, rows.weights, rows.parts)
        for name, table in scores.items()
    }


class Weighed(NamedTuple):
    """An ensemble on held-out rows.

    weights {member: weight}, 0 for those left out; losses {member: log loss}; lost {member: how
    much larger the ensemble's log loss is without it}; log_proba (m, c): of the ensemble, its
    weights found on the other parts.
    """

    weights: dict
    losses: dict
    lost: dict
    log_proba: np.ndarray


def weigh_members(calibrated, rows, penalty):
    """The Weighed of calibrated members; penalty: of unequal weights."""
    log_p = np.array([member.log_proba for member in calibrated.values()])
    losses = [held_out_log_loss(p, rows.truth, rows.weights) for p in log_p]

    def weigh(members, chosen=slice(None)):
        truth, weights = rows.truth[chosen], rows.weights[chosen]
        return stacking_weights(log_p[members][:, chosen], truth, penalty, weights)

    def loss(members, w):
        return held_out_log_loss(stack(log_p[members], w), rows.truth, rows.weights)

    everyone = np.arange(len(log_p))
    w = weigh(everyone)
    members = everyone[w > 0] if (w > 0).any() else everyone
    w = w[members]
    whole, lost = loss(members, w), np.zeros(len(log_p))
    for k in members if len(members) > 1 else ():
        others = members[members != k]
        lost[k] = loss(others, weigh(others)) - whole
    # Honest probabilities of the ensemble: a part's labels play no part in its weights.
    out = np.full(log_p.shape[1:], np.nan)
    for part in np.unique(rows.parts):
        other = rows.without(part)
        out[~other] = stack(log_p[members][:, ~other], weigh(members, other))
    weights = np.zeros(len(log_p))
    weights[members] = w

    def by_name(values):
        return dict(zip(calibrated, np.asarray(values).tolist(), strict=True))

    return Weighed(by_name(weights), by_name(losses), by_name(lost), out)


def mean_proba(log_proba, rows):
    """Probabilities (n, c) of the objects, means over the splits that hold them out, else NaN."""
    n = rows.n_objects
    total = np.zeros((n, log_proba.shape[1]))
    np.add.at(total, rows.objects, np.exp(log_proba))
    times = np.bincount(rows.objects, minlength=n)
    with np.errstate(invalid="ignore"):
        return np.where(times[:, None] > 0, total / times[:, None], np.nan)


# --- fitted members -------------------------------------------------------------------------------


def fit_members(estimators, X, y, known, weights=None):
    """The estimators fitted on all objects; kernels, training objects and class models are shared.

    known(estimator): the fitted kernel and Gram matrix of an estimator on objects, else None.
    weights: of the objects, for the members that take them.
    """
    kernels, trainings, distances, fitted = {}, {}, {}, {}
    for name, estimator in estimators.items():
        if not isinstance(estimator, KernelClassifier):
            weighted = weights is not None and has_fit_parameter(estimator, "sample_weight")
            fitted[name] = estimator.fit(X, y, **({"sample_weight": weights} if weighted else {}))
            continue
        of_objects = known(estimator)
        if of_objects is None and is_named(estimator.kernel):
            key = estimator.kernel, estimator.gamma, estimator.degree
            if key not in kernels:
                kernels[key] = fit_named_kernel(
                    estimator.kernel, X, gamma=estimator.gamma, degree=estimator.degree
                )
            of_objects = kernels[key], None
        fitted[name] = estimator._fit(X, y, of_objects)
        _share(estimator, trainings, distances)
    return fitted


def _share(estimator, trainings, distances):
    """Give a fitted estimator what those before it have: equal objects become the same.

    trainings: training sets by kernel and policy about negative eigenvalues; distances: class
    models by training set and options.
    """
    training = estimator._training
    if trainings:  # in the order of the classes, as every member has them
        training.original.X = next(iter(trainings.values())).original.X
    key = id(training.original.kernel), estimator._policy
    estimator._training = training = trainings.setdefault(key, training)
    if hasattr(estimator, "_distances"):
        models = estimator._distances.models
        reg = np.asarray(estimator.reg, dtype=float).tobytes()
        key = id(training), *distance_options(estimator), reg, tuple(map(type, models))
        shared = distances.setdefault(key, estimator._distances._replace(training=training))
        estimator._models = estimator._models._replace(distances=shared)


def member_scores(members, X):
    """{member: scores (m, c)} of queries, with memory bounded by working_memory."""
    kernels = [m for m in members.values() if isinstance(m, KernelClassifier)]
    width = max([len(m._training) for m in kernels], default=1)
    # Squared and city-block distances, one kernel, and what a model works with.
    blocks = 3 + BLOCKS
    chunks = row_chunks(len(X), blocks * width, blocks * IN_CACHE)
    with scratch() as workspace:
        parts = [_chunk_scores(members, take(X, rows), workspace) for rows in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in members}


def _chunk_scores(members, X, workspace):
    rows, scores = SharedRows(X, workspace), {}
    for name in sorted(members, key=lambda name: _kernel_order(members[name])):
        member = members[name]
        if isinstance(member, KernelClassifier):
            own = X if isinstance(member.kernel_, str) else rows  # "precomputed"
            scores[name] = member._query_scores(own)
        else:  # relative to the largest, so that large common terms are gone
            found = member._query_scores(X)
            scores[name] = found - found.max(axis=1, keepdims=True)
    return scores


def _kernel_order(member):
    """Members with one kernel stand together, among them those with the same class models."""
    if not isinstance(member, KernelClassifier):
        return 0, 0
    return id(member._training.original.kernel), id(getattr(member, "_distances", None))
