"""Leave-one-out scores of RC+ with a definite kernel, in closed form from one decomposition.

Leaving out an object changes the model of its own class alone. Without offsets, or with MAP ones,
two matrix products per class give all objects and all regularisation values. Error offsets need
every fold's training distances: those of the changed class to all objects, one more product for
each value.
"""

import numpy as np
from sklearn.utils import compute_class_weight

from .._training import row_chunks
from ..classifiers._distances import alphas_of
from ..formulas.kriging import (
    centre_on_class,
    kriging_class,
    leave_one_out_path,
    query_path,
    raw_spectrum,
)
from ..formulas.offsets import error_offsets, map_offsets


def is_leave_one_out(folds):
    """Whether the folds leave out each object once, alone, and no class vanishes with it."""
    left_out = np.array([np.flatnonzero(~train) for train in folds if (~train).sum() == 1])
    return len(left_out) == len(folds) == len(folds[0]) and len(np.unique(left_out)) == len(folds)


def leave_one_out_scores(problem, codes, regs, reg_on, offset, class_weight, priors, classes):
    """Scores (r, 1, c) of each object."""
    N, slices = len(problem.K), problem.slices
    counts = np.array([s.stop - s.start for s in slices])
    whole = np.array([alphas_of(np.full(len(counts), r), reg_on, "RC+", counts) for r in regs])
    short = np.array([alphas_of(np.full(len(counts), r), reg_on, "RC+", counts - 1) for r in regs])
    d2 = np.empty((len(regs), N, len(slices)))
    volumes = np.empty((len(regs), N, len(slices)))
    for j, own in enumerate(slices):
        k, kxx = centre_on_class(problem.K, problem.kxx, own)
        spectrum = raw_spectrum(k[own])
        path, volume = query_path(spectrum, k, kxx, whole[:, j])
        d2[:, :, j], volumes[:, :, j] = path.T, volume[:, None]
        path, volume = leave_one_out_path(spectrum, short[:, j])
        d2[:, own, j], volumes[:, own, j] = path.T, volume.T
    scores = d2 / -2
    if offset == "map":
        scores += _map_offsets(volumes, codes, counts, priors)
    elif offset == "error":
        for r in range(len(regs)):
            scores[r] += _error_offsets(problem, codes, whole[r], short[r], class_weight, classes)
    return list(scores.swapaxes(0, 1)[:, :, None])


def _map_offsets(volumes, codes, counts, priors):
    b = np.empty_like(volumes)
    for i, own in enumerate(codes):
        if priors is None:
            p = counts - (np.arange(len(counts)) == own)
            p = p / p.sum()
        else:
            p = priors
        b[:, i] = [map_offsets(v, p) for v in volumes[:, i]]
    return b


def _error_offsets(problem, codes, whole, short, class_weight, classes):
    """Offsets (N, c) of every fold for one step of the path."""
    N, slices = len(problem.K), problem.slices
    base, changed = np.empty((N, len(slices))), []
    for j, own in enumerate(slices):
        k, kxx = centre_on_class(problem.K, problem.kxx, own)
        n = own.stop - own.start
        model = kriging_class(k, kxx, own, whole[j])
        base[:, j] = model.without(np.array([], dtype=int), whole[j] / n)[0]
        if short[j] != whole[j]:
            model = kriging_class(k, kxx, own, short[j])
        changed.append((model, short[j] / (n - 1)))
    offsets = np.empty((N, len(slices)))
    for j, own in enumerate(slices):
        model, sigma2 = changed[j]
        # Whichever object of the class is left out, the codes of the others are the same.
        kept = np.delete(codes, own.start)
        weights = class_weights(class_weight, classes, kept)
        for rows in row_chunks(own.stop - own.start, 8 * N * len(slices)):
            left_out = np.arange(own.start + rows.start, own.start + rows.stop)[:, None]
            others = np.arange(N - 1) + (np.arange(N - 1) >= left_out)
            tables = base[others]
            tables[:, :, j] = np.take_along_axis(without_each(model, rows, sigma2), others, axis=1)
            offsets[left_out[:, 0]] = error_offsets(tables / -2, kept, weights)
    return offsets


def class_weights(class_weight, classes, codes):
    """Weights of the classes as scikit-learn computes them on these training objects."""
    if class_weight is None:
        return None
    return compute_class_weight(class_weight, classes=classes, y=classes[codes])


def without_each(model, rows, sigma2):
    """d² (len(rows), N) of all objects to the class without each of its objects in turn."""
    diagonal = np.diagonal(model.S)[rows, None]
    U, w = model.U[:, rows].T, model.w[rows, None]
    residual = model.residual + U**2 / diagonal
    weight = model.weight - U * (w / diagonal)
    total = model.w.sum() - w**2 / diagonal
    return (residual + (1 - weight) ** 2 / total) / sigma2 - 1
