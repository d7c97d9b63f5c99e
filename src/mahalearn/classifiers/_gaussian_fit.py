"""From options, moments and parameters to fitted Gaussian classes."""

from typing import NamedTuple

import numpy as np

from .._validation import check_choice, check_priors, check_symmetric
from ..formulas.class_gaussians import class_gaussians
from ..formulas.feature_weights import DifferenceWeights, Weighting
from ..formulas.linalg import is_psd
from ..formulas.moments import (
    class_covariances,
    class_shares,
    covariance_diagonal,
    pooled_covariance,
    shrunk_covariances,
)
from ._covariances import estimated_covariances, ledoit_wolf_covariances, reduced
from ._gaussian_model import GaussianModel, gaussian_model

COVARIANCES = ("full", "diag", "spherical")
FEATURE_WEIGHTS = ("descent", "difference", None)


class FittedGaussians(NamedTuple):
    """What a classifier knows: estimates with a row for every class, a model of those seen."""

    means: np.ndarray
    covariances: np.ndarray
    priors: np.ndarray
    ranks: np.ndarray
    seen: np.ndarray
    model: GaussianModel

    def all_classes(self, columns, fill):
        """Columns of the classes seen, among those of all classes."""
        if self.seen.all():
            return columns
        out = np.full((len(columns), len(self.seen), *columns.shape[2:]), fill)
        out[:, self.seen] = columns
        return out


def check_shrinkage(shrinkage):
    """None, "auto", or a number from 0 to 1."""
    if shrinkage is None or (isinstance(shrinkage, str) and shrinkage == "auto"):
        return shrinkage
    value = np.asarray(shrinkage)
    if value.ndim or value.dtype.kind not in "iuf" or not 0 <= value <= 1:
        raise ValueError(
            f"shrinkage must be None, 'auto' or a number from 0 to 1; got {shrinkage!r}."
        )
    return float(value)


def check_weighting(feature_weights, power, n_features):
    """The Weighting that the parameters describe, None for the plain distance."""
    value = np.asarray(power)
    if value.ndim or value.dtype.kind not in "iuf" or not 0 <= value < np.inf:
        raise ValueError(f"weight_power must be a nonnegative number; got {power!r}.")
    if feature_weights is None or isinstance(feature_weights, str):
        kind = check_choice(feature_weights, "feature_weights", FEATURE_WEIGHTS)
        return None if kind is None else Weighting(kind == "difference", float(value))
    difference = isinstance(feature_weights, DifferenceWeights)
    ranks = np.asarray(feature_weights[0] if difference else feature_weights)
    wanted = f"{n_features} nonnegative rank weights, one per feature and not all 0"
    if ranks.dtype.kind not in "iuf" or ranks.shape != (n_features,):
        raise ValueError(
            f"feature_weights must be 'descent', 'difference', None or {wanted}; got shape "
            f"{ranks.shape} of type {ranks.dtype}."
        )
    if not np.isfinite(ranks).all() or (ranks < 0).any() or not ranks.any():
        raise ValueError(f"feature_weights must be {wanted}; got {feature_weights!r}.")
    return Weighting(difference, float(value), ranks * (n_features / ranks.sum()))


def estimate_covariances(moments, kind, shrinkage):
    """Class covariances from moments alone (nothing that needs the rows)."""
    covariances = class_covariances(moments, spherical=kind == "spherical")
    if shrinkage and kind != "spherical":
        covariances = shrunk_covariances(covariances, shrinkage)
    return covariances


def covariances_of_rows(X, codes, classes, moments, kind, estimator):
    """Class covariances by an estimator of the user's, or by Ledoit and Wolf where it is None."""
    if estimator is not None:
        return reduced(estimated_covariances(estimator, X, codes, classes), kind)
    variances = class_covariances(moments)
    if variances.ndim == 3:
        variances = covariance_diagonal(variances)
    return reduced(ledoit_wolf_covariances(X, codes, variances), kind)


def fitted_from_moments(moments, covariances, *, pooled, priors, weighting):
    """Fitted Gaussians; covariances (c, …) of the classes with a positive count."""
    seen = moments.count > 0
    priors = class_shares(moments) if priors is None else check_priors(priors, len(seen))
    shares = class_shares(moments)[seen]
    return fitted_gaussians(
        moments.mean[seen], covariances, shares, priors, seen, pooled=pooled, weighting=weighting
    )


def fitted_gaussians(means, covariances, shares, priors, seen, *, pooled, weighting):
    """Fitted Gaussians; covariances (c, …), also where they are to be pooled."""
    used = covariances
    if pooled:
        used = pooled_covariance(covariances, shares)[None]
    gaussians = class_gaussians(means, used, shares)
    n_seen = len(means)
    return FittedGaussians(
        _with_rows(seen, means, np.nan),
        _with_rows(seen, np.broadcast_to(used, (n_seen, *used.shape[1:])), np.nan),
        priors,
        _with_rows(seen, np.broadcast_to(gaussians.ranks, n_seen), 0),
        seen,
        gaussian_model(gaussians, weighting),
    )


def _with_rows(seen, rows, fill):
    """Rows of the classes seen, among those of all classes."""
    out = np.full((len(seen), *rows.shape[1:]), fill, dtype=rows.dtype)
    out[seen] = rows
    return out


def check_parameters(means, covariances, *, pooled):
    """Means (c, d), covariances with a class axis, and the kind that their shape tells."""
    means = np.array(means, dtype=float)
    if means.ndim != 2 or 0 in means.shape or not np.isfinite(means).all():
        raise ValueError(
            "means must be a finite array of shape (n_classes, n_features); got shape "
            f"{means.shape}."
        )
    c, d = means.shape
    if c < 2:
        raise ValueError("means must have at least two rows: one for each class.")
    covariances = np.array(covariances, dtype=float)
    if pooled:
        covariances = covariances[None]
    k = 1 if pooled else c
    shapes = {(k, d, d): "full", (k, d): "diag", (k,): "spherical"}
    if covariances.shape not in shapes:
        wanted = " or ".join(str(shape[pooled:]) for shape in shapes)
        raise ValueError(
            f"covariances must have the shape {wanted} (full, diagonal or spherical"
            f"{', common to the classes' if pooled else ''}); got {covariances.shape[pooled:]}."
        )
    if not np.isfinite(covariances).all():
        raise ValueError("covariances must be finite.")
    if covariances.ndim == 3:
        for j in range(k):
            covariances[j] = check_symmetric(covariances[j], f"Covariance {j}")
            scale = np.sqrt(np.abs(np.diagonal(covariances[j])))
            scale[scale == 0] = 1.0
            if not is_psd(covariances[j] / np.outer(scale, scale)):
                raise ValueError(f"Covariance {j} has a negative eigenvalue.")
    elif (covariances < 0).any():
        raise ValueError("covariances holds a negative variance.")
    kind = shapes[covariances.shape]
    return means, np.broadcast_to(covariances, (c, *covariances.shape[1:])), kind
