"""The members of an ensemble on held-out rows: calibrated, weighed, averaged."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from ..formulas.stacking import (
    calibrate,
    held_out_log_loss,
    stack,
    stacking_weights,
)

# Parts for cross-fitting where there is a single split.
PARTS = 5


class HeldOutRows(NamedTuple):
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


def held_out_rows(splits, codes, weights):
    """The HeldOutRows of splits; the part of an object is the first split that holds it out."""
    objects = np.concatenate([test for _, test in splits])
    starts = np.cumsum([0] + [len(test) for _, test in splits])
    first = np.full(len(codes), -1)
    for f, (a, b) in reversed(list(enumerate(pairwise(starts)))):
        first[objects[a:b]] = f
    if len(np.unique(first[objects])) == 1:
        first[np.sort(objects)] = np.arange(len(objects)) % min(PARTS, max(2, len(objects)))
    times = np.bincount(objects, minlength=len(codes))[objects]
    weights = weights[objects] / times
    return HeldOutRows(objects, codes[objects], starts, first[objects], weights, len(codes))


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
    complete, lost = loss(members, w), np.zeros(len(log_p))
    for k in members if len(members) > 1 else ():
        others = members[members != k]
        lost[k] = loss(others, weigh(others)) - complete
    # The labels of a part play no part in the weights that combine its probabilities.
    out = np.full(log_p.shape[1:], np.nan)
    for part in np.unique(rows.parts):
        other = rows.parts != part
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
