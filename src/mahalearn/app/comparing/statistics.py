"""Intervals of errors and of paired differences from a repeated cross-validation."""

import numpy as np
from scipy.stats import t

LEVEL = 0.95


def corrected_interval(values, test_share, level=LEVEL):
    """Mean of a fold-wise quantity, and the interval of the corrected resampled t-test.

    The folds of a repeated cross-validation share training objects, so that the plain variance of
    the mean, s²/J, is far too small. Nadeau and Bengio (Machine Learning 52, 2003) put
    s²·(1/J + n_test/n_train) in its place; the interval is mean ± t_{J−1}·that root.

    Parameters
    ----------
    values : array-like of shape (J,)
        A number for each fold.
    test_share : float
        n_test/n_train.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    mean, low, high : float
        The interval has no width for a single fold, where nothing is known of the spread.

    Examples
    --------
    >>> from mahalearn.app.comparing.statistics import corrected_interval
    >>> [round(v, 3) for v in corrected_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, -0.084, 0.284]
    """
    values = np.asarray(values, dtype=float)
    J, mean = len(values), float(values.mean())
    if J < 2:
        return mean, mean, mean
    half = t.ppf((1 + level) / 2, J - 1) * np.sqrt(values.var(ddof=1) * (1 / J + test_share))
    return mean, float(mean - half), float(mean + half)


def error_interval(values, test_share):
    """As corrected_interval, of error rates: no bound is below 0 or above 1.

    Examples
    --------
    >>> from mahalearn.app.comparing.statistics import error_interval
    >>> [round(v, 3) for v in error_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, 0.0, 0.284]
    """
    mean, low, high = corrected_interval(values, test_share)
    return mean, max(0.0, low), min(1.0, high)
