"""Class covariances that need the rows themselves: Ledoit–Wolf, and estimators given by users."""

import numpy as np
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from ..formulas.moments import covariance_diagonal


def ledoit_wolf_covariances(X, codes, variances):
    """Ledoit–Wolf estimates (c, d, d) on standardised features, in the features' own units.

    variances (c, d) of the classes. A class with one object has no estimate: zeros, as its
    covariance has; so have its constant features.
    """
    out = np.zeros((*variances.shape, variances.shape[1]))
    for j, scale in enumerate(np.sqrt(variances)):
        rows = X[codes == j]
        if len(rows) > 1:
            rows -= rows.mean(axis=0)
            rows /= np.where(scale > 0, scale, 1.0)
            out[j] = ledoit_wolf(rows, assume_centered=True)[0] * np.outer(scale, scale)
    return out


def estimated_covariances(estimator, X, codes, classes):
    """covariance_ of a clone of the estimator, fitted on each class: (c, d, d)."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            "covariance_estimator must be an estimator with fit and covariance_, such as "
            f"sklearn.covariance.OAS(); got {estimator!r}."
        )
    d = X.shape[1]
    out = np.empty((len(classes), d, d))
    for j, label in enumerate(classes.tolist()):
        rows = X[codes == j]
        try:
            found = np.asarray(clone(estimator).fit(rows).covariance_, dtype=float)
        except ValueError as error:
            raise ValueError(
                f"{estimator!r} failed on class {label!r} with {len(rows)} objects: {error} "
                "covariance_estimator=None handles classes of any size."
            ) from error
        if found.shape != (d, d) or not np.isfinite(found).all():
            raise ValueError(
                f"covariance_ of {estimator!r} must be a finite {d}×{d} matrix; for class "
                f"{label!r} it has shape {found.shape}."
            )
        out[j] = (found + found.T) / 2
    return out


def reduced(covariances, kind):
    """Full covariances (c, d, d) as the model has them: full, diag (c, d), spherical (c,)."""
    if kind == "full":
        return covariances
    variances = covariance_diagonal(covariances)
    return variances.mean(axis=1) if kind == "spherical" else variances
