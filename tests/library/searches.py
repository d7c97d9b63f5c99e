"""Searches in one line, for tests."""

import numpy as np

from mahalearn import KernelSearchCV

# Lists that are values of a parameter, not values to try.
SINGLE = {"priors", "landmarks"}


def search(estimator, *, cv=5, scoring=None, n_jobs=None, **values):
    """KernelSearchCV of an estimator's class: values in a list are tried, others are set."""
    listed = {
        name: list(value)
        for name, value in values.items()
        if isinstance(value, (list, range, np.ndarray)) and name not in SINGLE
    }
    fixed = {name: value for name, value in values.items() if name not in listed}
    options = {"cv": cv, "scoring": scoring, "n_jobs": n_jobs}
    return KernelSearchCV(estimator(**fixed), listed or None, **options)
