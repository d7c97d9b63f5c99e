"""Squared distances of all objects to the classes of every fold, for every regularisation value.

The objects are in the order of their classes. A fold is the set of objects that its models are
trained on; distances are those of all objects, so that offsets and heads find the training
distances, and scores the held-out ones, in one array.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..formulas.full_kernel import FULL_KERNEL_VARIANTS, full_kernel_path
from ..formulas.gram import center_cross, center_gram, center_self, centering
from ..formulas.kernel_mahalanobis import class_model, self_weight, spectral_weights
from ..formulas.kriging import centre_on_class, kriging_class
from ..formulas.linalg import is_psd, row_sq_norms
from ..kernels.training import row_chunks


class KernelProblem(NamedTuple):
    """A kernel matrix of all objects, sorted by class, and what is known of it.

    complete: whether all of K is there; else it belongs to one fold, and the values between its
    held-out objects are missing.
    """

    K: np.ndarray
    slices: list
    definite: bool = False
    krein: bool = True
    complete: bool = True

    @property
    def kxx(self):
        """Self-similarities."""
        return np.diagonal(self.K)

    def is_definite(self, rows):
        """Whether the centred matrix of objects of a class, and of any part of them, is definite.

        It counts as such where the formulas of definite kernels are asked for.
        """
        return self.definite or not self.krein or self.is_nonnegative(rows)

    def is_nonnegative(self, rows):
        """Whether the centred matrix of some objects has no negative eigenvalue."""
        if self.definite:
            return True
        K = self.K[np.ix_(rows, rows)]
        return is_psd(center_gram(K, centering(K), overwrite=True))

    def classes_are_nonnegative(self, train=None):
        """The same for all classes, or for their objects in a fold."""
        rows = np.arange(len(self.K))
        kept = np.ones(len(rows), dtype=bool) if train is None else train
        return all(self.is_nonnegative(rows[s][kept[s]]) for s in self.slices)


class FoldDistances(NamedTuple):
    """d² (r, N, c) of one fold for the steps `regs` of the path; log-volumes (r, c) or None."""

    regs: range
    fold: int
    d2: np.ndarray
    log_volumes: np.ndarray | None


def distance_paths(problem, variant, folds, alphas, *, volumes=False):
    """FoldDistances for all folds and steps; with log-volumes where asked for.

    folds: boolean masks (N,) of the training objects; each class has some in every fold.
    alphas (r, f, c): α of each step, fold and class.
    """
    if variant == "RC+" and has_block_updates(problem):
        yield from _kriging_paths(problem, folds, alphas, volumes)
    else:
        for f, train in enumerate(folds):
            yield fold_path(problem, variant, f, train, alphas[:, f], volumes=volumes)


def has_block_updates(problem):
    """Whether folds of RC+ come from one inverse per class."""
    return problem.complete and (not problem.krein or problem.classes_are_nonnegative())


def _kriging_paths(problem, folds, alphas, volumes):
    """RC+ with a definite kernel: folds are block updates of one inverse per class and α."""
    N, n_classes = len(problem.K), len(problem.slices)
    centred = [centre_on_class(problem.K, problem.kxx, s) for s in problem.slices]
    left_out = [[np.flatnonzero(~train[s]) for s in problem.slices] for train in folds]
    # All folds of a step at once, or parts of them where these are too large.
    parts = row_chunks(len(folds), N * n_classes)
    chunks = row_chunks(len(alphas), len(folds) * N * n_classes)
    for steps, part in product(chunks, parts):
        steps, which = range(steps.start, steps.stop), range(part.start, part.stop)
        d2 = np.empty((len(which), len(steps), N, n_classes))
        log_volumes = np.empty((len(which), len(steps), n_classes))
        for j, ((k, kxx), own) in enumerate(zip(centred, problem.slices, strict=True)):
            for r, step in enumerate(steps):
                for alpha in np.unique(alphas[step, part, j]):
                    model = kriging_class(k, kxx, own, alpha)
                    for i in np.flatnonzero(alphas[step, part, j] == alpha):
                        f = which[i]
                        if model is None:  # α below the rounding of K: decompose
                            path = fold_path(
                                problem, "RC+", f, folds[f], alphas[[step], f], volumes=volumes
                            )
                            d2[i, r, :, j] = path.d2[0, :, j]
                            if volumes:
                                log_volumes[i, r, j] = path.log_volumes[0, j]
                            continue
                        gone = left_out[f][j]
                        sigma2 = alpha / (own.stop - own.start - len(gone))
                        d2[i, r, :, j], log_volumes[i, r, j] = model.without(gone, sigma2)
        for i, f in enumerate(which):
            yield FoldDistances(steps, f, d2[i], log_volumes[i])


def fold_path(problem, variant, fold, train, alphas, *, volumes=False):
    """One fold by its own decompositions, any variant and spectrum; alphas (r, c)."""
    K, kxx, N = problem.K, problem.kxx, len(problem.K)
    steps = range(len(alphas))
    if variant in FULL_KERNEL_VARIANTS:
        rows = np.flatnonzero(train)
        slices = training_slices(train, problem.slices)
        K_train = K[np.ix_(rows, rows)]
        d2 = full_kernel_path(K_train, variant, alphas, slices, K[:, rows])
        return FoldDistances(steps, fold, d2, None)
    d2 = np.empty((len(alphas), N, len(problem.slices)))
    log_volumes = np.empty((len(alphas), len(problem.slices))) if volumes else None
    for j, own in enumerate(problem.slices):
        rows = own.start + np.flatnonzero(train[own])
        n, alpha = len(rows), alphas[:, j]
        K_own, k = K[np.ix_(rows, rows)], K[:, rows]
        if variant == "RC-" and not volumes and problem.is_definite(rows):
            means = centering(K_own)
            kxx_c = center_self(kxx, k, means)
            norms = row_sq_norms(center_cross(k, means, overwrite=True))
            d2[:, :, j] = (kxx_c - norms / alpha[:, None]) * (n / alpha)[:, None]
            continue
        model = class_model(K_own, variant, 1.0, krein=problem.krein, spectral=True)
        kxx_c = center_self(kxx, k, model.means)
        P2 = center_cross(k, model.means, overwrite=True) @ model.vectors
        P2 *= P2
        W = spectral_weights(variant, model.values, model.signs, n, alpha)
        s = self_weight(variant, n, alpha)
        d2[:, :, j] = s[:, None] * kxx_c + (P2 @ W).T
        if volumes:
            log_volumes[:, j] = [model._replace(alpha=a).log_volume() for a in alpha]
    return FoldDistances(steps, fold, d2, log_volumes)


def training_slices(train, slices):
    """Where the classes stand among a fold's training objects."""
    counts = [int(train[s].sum()) for s in slices]
    ends = np.cumsum(counts)
    return [slice(end - n, end) for n, end in zip(counts, ends, strict=True)]
