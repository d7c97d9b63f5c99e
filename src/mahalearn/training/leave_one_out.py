"""Leave-one-out scores of RC+ with a definite kernel, in closed form from one decomposition.

Leaving out an object changes the model of its own class alone. Without offsets, or with MAP ones,
two matrix products per class give all objects and all regularisation values. Error offsets need
every fold's training distances: those of the changed class to all objects, one more product for
each value.
"""

import numpy as np
from sklearn.utils import compute_class_weight

from .._memory import row_chunks
from ..formulas.kernel_mahalanobis import (
    alphas_of,
    leave_one_out_path,
    query_path,
    raw_spectrum,
    rc_rounding,
    resolved_reg_on,
    without_each,
)
from ..formulas.linalg import centering, rounding_tolerance
from ..formulas.offsets import (
    no_differences,
    offsets_from_differences,
    pair_difference,
    set_difference,
)
from .exact import refuse_map

# Doubles of work that stay in a processor's cache: many cheap passes go over them.
_IN_CACHE = 2**19


def leave_one_out_scores(folds, regs, reg_on, offset, class_weight, priors, classes):
    """Held-out scores (c, r) of each fold, which leaves out one object, with their rounding (r,).

    None where there is no closed form: an indefinite kernel, a class of one object, "relative"
    regularisation, or an α that is lost in the rounding of the kernel.
    """
    counts = np.bincount(folds.codes)
    closed = (
        resolved_reg_on(reg_on, "RC+") != "relative"
        and offset in ("error", "map", None)
        and counts.min() > 1
        and folds.definite_classes
    )
    if not closed:
        return None
    objects, centred = folds.by_class
    K, kxx, slices, codes = objects.K, objects.kxx, objects.slices, np.sort(folds.codes)
    path = np.array(regs)[:, None] * np.ones(len(counts))
    of_all, short = (alphas_of(path, reg_on, "RC+", n, None) for n in (counts, counts - 1))
    if offset == "map":
        refuse_map("RC+", of_all, counts, lambda: True)
    spectra = [raw_spectrum(k[members]) for (k, _), members in zip(centred, slices, strict=True)]
    if any(_lost(alphas, spectrum) for alphas, spectrum in zip(short.T, spectra, strict=True)):
        return None
    d2 = np.full((len(regs), len(K), len(slices)), np.nan)
    volumes = np.full_like(d2, np.nan)
    coordinates = [
        (k @ spectrum.vectors, own_kxx)
        for (k, own_kxx), spectrum in zip(centred, spectra, strict=True)
    ]
    for j, (queries, spectrum) in enumerate(zip(coordinates, spectra, strict=True)):
        queries, volume = query_path(spectrum, *queries, of_all[:, j])
        d2[:, :, j], volumes[:, :, j] = queries.T, volume[:, None]
    means = [centering(K[members, members]) for members in slices]
    rounding = np.max(
        [rc_rounding(kxx, *m) for m in zip(means, counts, of_all.T, strict=True)], axis=0
    )
    offsets = 0.0
    if offset == "error":
        steps = zip(d2, short, rounding, strict=True)
        weights = _fold_weights(class_weight, classes, codes, slices)
        offsets = np.stack(
            [_error_offsets(*step, coordinates, spectra, slices, weights) for step in steps]
        )
    for j, (members, spectrum) in enumerate(zip(slices, spectra, strict=True)):
        left, volume = leave_one_out_path(spectrum, short[:, j])
        d2[:, members, j], volumes[:, members, j] = left.T, volume.T
    if offset == "map":
        offsets = _map_offsets(volumes, codes, counts, priors)
    scores = np.moveaxis(d2 / -2 + offsets, 0, -1)[objects.place]
    return [(scores[int(test[0])], rounding) for _, test in folds.splits]


def _lost(alphas, spectrum):
    """True where rounding, seen in negative eigenvalues, is not small beside an α."""
    values = spectrum.values
    rounding = max(rounding_tolerance(np.abs(values).sum(), len(values)), -2 * values.min())
    return alphas.min() <= rounding


def _map_offsets(volumes, codes, counts, priors):
    """As formulas.offsets.map_offsets, for every fold at once."""
    if priors is None:
        priors = counts - (codes[:, None] == np.arange(len(counts)))
    b = np.log(priors / np.sum(priors, axis=-1, keepdims=True)) - volumes / 2
    return b - b.mean(axis=-1, keepdims=True)


def _fold_weights(class_weight, classes, codes, slices):
    """Weights of the classes when an object of each class is left out: a row for each."""
    if class_weight is None:
        return np.ones((len(slices), len(slices)))
    # Whichever object of a class is left out, the codes of the others are the same.
    left = [np.delete(codes, members.start) for members in slices]
    return np.array(
        [compute_class_weight(class_weight, classes=classes, y=classes[c]) for c in left]
    )


def _error_offsets(d2, short, rounding, coordinates, spectra, slices, weights):
    """Offsets (N, c) of every fold for one step of the path.

    d2 (N, c) are the training distances with nothing left out, short (c,) the α with one object
    less, rounding what it may leave in the distances. A fold changes the differences between the
    left-out object's class and the others only.
    """
    N, n_classes = d2.shape
    scores = d2 / -2
    codes = np.repeat(np.arange(n_classes), [s.stop - s.start for s in slices])
    between = no_differences(1, n_classes)
    for i in range(n_classes):
        for j in range(i if n_classes > 2 else 0):
            rows = np.r_[slices[i], slices[j]]
            first, second = scores[None, rows, i], scores[None, rows, j]
            # An object of a third class is left out; whichever it is scales both weights alike.
            w = weights[next(k for k in range(n_classes) if k not in (i, j))]
            pair = pair_difference(first, second, codes[rows] == i, w[i], w[j], rounding)
            set_difference(between, i, j, pair)
    offsets = np.full((N, n_classes), np.nan)
    for i, members in enumerate(slices):
        n = members.stop - members.start
        chunks = row_chunks(n, 8 * N, _IN_CACHE)
        parts = without_each(spectra[i], *coordinates[i], members, short[i], chunks)
        for rows, changed in zip(chunks, parts, strict=True):
            changed /= -2
            delta = np.repeat(between, rows.stop - rows.start, axis=1)
            # The class's objects but the left-out one, in each row.
            left_out = np.arange(rows.start, rows.stop)[:, None]
            own_rows = members.start + np.arange(n - 1) + (np.arange(n - 1) >= left_out)
            own_scores = np.take_along_axis(changed, own_rows, axis=1)
            for j, other in enumerate(slices):
                if j != i:
                    first = np.hstack([own_scores, changed[:, other]])
                    second = np.empty_like(first)
                    second[:, : n - 1], second[:, n - 1 :] = scores[own_rows, j], scores[other, j]
                    is_own = np.arange(first.shape[1]) < n - 1
                    w = weights[i]
                    pair = pair_difference(first, second, is_own, w[i], w[j], rounding)
                    set_difference(delta, i, j, pair)
            offsets[members.start + rows.start : members.start + rows.stop] = (
                offsets_from_differences(delta)
            )
    return offsets
