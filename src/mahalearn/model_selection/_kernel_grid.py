"""The kernels of a search, and the matrix of all objects under each of them."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics import euclidean_distances

from .._objects import take
from ..formulas.spectrum import CORRECTIONS
from ..kernels.protocol import (
    NamedKernel,
    check_kernel_name,
    fit_kernel,
    is_precomputed,
    is_stateless,
)
from ..kernels.training import TrainingKernel, with_policy
from ._distance_paths import KernelProblem

# Paper A: eight widths of the RBF kernel, polynomials (1 + xᵀx')^p of four degrees.
GAMMAS = tuple(np.geomspace(0.01, 50, 8))
DEGREES = (1, 2, 3, 4)
_WITH_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")
_POLYNOMIAL = ("poly", "polynomial")


def kernel_settings(kernel, gammas=None, degrees=None, kernels=None):
    """The parameters of each kernel to try, in order of preference among equals.

    Wider kernels (smaller γ) and lower degrees come first; of `kernels` the earlier ones.
    """
    if kernels is not None:
        if gammas is not None or degrees is not None:
            raise ValueError("Pass either kernels= or gammas=/degrees=, not both.")
        if len(kernels) == 0:
            raise ValueError("kernels= is empty; it must name at least one kernel.")
        if any(is_precomputed(k) for k in kernels):
            raise ValueError(
                "kernels= cannot hold 'precomputed'; use PrecomputedKernel(K) objects."
            )
        return [{"kernel": k} for k in kernels]
    named = isinstance(kernel, str)
    kernel = check_kernel_name(kernel) if named else kernel
    if gammas is not None and not (named and kernel in _WITH_GAMMA):
        raise ValueError(f"gammas= is for the kernels {', '.join(_WITH_GAMMA)}; got {kernel!r}.")
    if degrees is not None and not (named and kernel in _POLYNOMIAL):
        raise ValueError(f"degrees= is for the polynomial kernel; got kernel={kernel!r}.")
    if not named or kernel not in _WITH_GAMMA:
        return [{}]
    if gammas is None:
        gammas = (1.0,) if kernel in _POLYNOMIAL else GAMMAS
    # "scale" and "auto" have no place on the axis; they stand before the numbers.
    gammas = sorted(gammas, key=lambda g: (not isinstance(g, str), 0 if isinstance(g, str) else g))
    if kernel not in _POLYNOMIAL:
        return [{"gamma": g} for g in gammas]
    degrees = sorted(DEGREES if degrees is None else degrees)
    return [{"degree": d, "gamma": g} for d in degrees for g in gammas]


class Objects(NamedTuple):
    """Training objects sorted by class (and fold), or their kernel matrix; y and codes alike."""

    X: object
    y: np.ndarray
    codes: np.ndarray
    slices: list
    precomputed: bool


def shared_sq_distances(objects, settings, kernel):
    """‖x − x'‖² of all pairs where several RBF kernels will need them, else None."""
    rbf = isinstance(kernel, str) and check_kernel_name(kernel) == "rbf"
    if objects.precomputed or not rbf or len(settings) < 2 or "gamma" not in settings[0]:
        return None
    X = objects.X - objects.X.mean(axis=0)
    return euclidean_distances(X, squared=True)


def problems(objects, folds, kernel_params, spectrum, sq_distances=None):
    """KernelProblems of one kernel setting: pairs (problem, indices of the folds it serves).

    One problem serves all folds, unless the kernel learns from the training objects or its
    spectrum is corrected: then every fold has a matrix of its own.
    """
    krein = spectrum != "ignore"
    kernel, gamma = kernel_params["kernel"], kernel_params["gamma"]
    shared = objects.precomputed or is_stateless(kernel, gamma)
    everyone = np.ones(len(objects.codes), dtype=bool)
    if shared:
        whole = _problem(objects, everyone, kernel_params, "krein", krein, sq_distances)
        if spectrum not in CORRECTIONS:
            yield whole, range(len(folds))
            return
        objects = objects._replace(X=whole.K, precomputed=True)
    for f, train in enumerate(folds):
        yield _problem(objects, train, kernel_params, spectrum, krein), [f]


def _problem(objects, train, kernel_params, spectrum, krein, sq_distances=None):
    """The matrix of all objects by the kernel as fitted (and corrected) on those of `train`."""
    codes, slices = objects.codes, objects.slices
    rows = np.flatnonzero(train)
    kernel = None
    if not objects.precomputed:
        kernel = fit_kernel(X=take(objects.X, rows), y=objects.y[rows], **kernel_params)
    definite = bool(getattr(kernel, "positive_definite", False))
    if sq_distances is not None and isinstance(kernel, NamedKernel):
        return KernelProblem(np.exp(-kernel.gamma * sq_distances), slices, definite, krein)
    X = objects.X[np.ix_(rows, rows)] if kernel is None else take(objects.X, rows)
    training = with_policy(TrainingKernel(X, codes[rows], kernel), spectrum)
    if len(rows) == len(codes):
        return KernelProblem(training.gram(), slices, training.positive_definite, krein)
    # Objects are sorted by class, and so are the training objects: their order stays.
    K = np.zeros((len(codes), len(codes)))
    held_out = np.flatnonzero(~train)
    K[np.ix_(rows, rows)] = training.gram()
    queries = objects.X[np.ix_(held_out, rows)] if kernel is None else take(objects.X, held_out)
    cross = training.cross(queries)
    K[np.ix_(held_out, rows)], K[np.ix_(rows, held_out)] = cross, cross.T
    given = objects.X.diagonal()[held_out] if kernel is None else None
    K[held_out, held_out] = training.self_similarities(queries, given)
    return KernelProblem(K, slices, training.positive_definite, krein, complete=False)
