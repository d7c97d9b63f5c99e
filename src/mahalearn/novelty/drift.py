"""Tests of a batch of objects against the training objects, by ranks."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._validation import known_codes
from ..formulas.class_metrics import rounded_up
from ..formulas.conformal import combined_p_value, pooled_leverages, rank_sum_p_value
from ..formulas.linalg import center_gram, centering, is_psd

Alternative = Literal["greater", "less", "two-sided"]
ALTERNATIVES = get_args(Alternative)
# Parts of a smaller class would be of a few objects, whose ranks say little.
LEAST_FOR_PARTS = 15


class DriftTest(NamedTuple):
    """Result of a detector's ``drift_test``.

    Read more in the :doc:`user guide </novelty>`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels.
    p_values : ndarray of shape (n_classes,)
        p-value of each class; NaN where the batch holds none of its objects.
    counts : ndarray of shape (n_classes,)
        Number of the batch's objects that were compared with each class.
    p_pooled : float
        p-value of the batch against all training objects, labels ignored.

    See Also
    --------
    mahalearn.MahalanobisNovelty : Novelty detection in the input space.
    mahalearn.KernelMahalanobisNovelty : Novelty detection by kernel distances.

    Examples
    --------
    >>> from mahalearn import KernelMahalanobisNovelty
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelMahalanobisNovelty().fit(X[::2], y[::2])
    >>> result = model.drift_test(X[1::2], y[1::2])
    >>> result.counts.tolist(), bool(result.p_pooled > 0.05)
    ([25, 25, 25], True)
    """

    classes: np.ndarray
    p_values: np.ndarray
    counts: np.ndarray
    p_pooled: float


def batch_codes(y_batch, X, classes):
    """Classes of a batch as positions among those of the model, None without labels."""
    if y_batch is None:
        return None
    y_batch = column_or_1d(y_batch)
    check_consistent_length(X, y_batch)
    return known_codes(y_batch, classes)


def compare_by_class(labels, codes, n_objects, class_p_value, pooled):
    """The DriftTest of a batch.

    codes (n_objects,) classes of its objects, None to compare all of them with each class;
    class_p_value(j, rows): p-value of these objects of the batch against class j.
    """
    p, counts = np.full(len(labels), np.nan), np.zeros(len(labels), int)
    for j in range(len(labels)):
        rows = np.arange(n_objects) if codes is None else np.flatnonzero(codes == j)
        counts[j] = len(rows)
        if len(rows):
            p[j] = class_p_value(j, rows)
    return DriftTest(labels, p, counts, pooled)


def limit_p_value(limits, d2, alternative):
    """Rank-sum p-value of a batch's distances against a histogram of limits, NaN without any."""
    if not limits.n:
        return np.nan
    ranks = rankdata(np.concatenate([limits.limits, rounded_up(d2)]))
    return rank_sum_p_value(ranks[: limits.n], ranks[limits.n :], alternative)


def pool_p_value(K, n, reg, reg_on, alternative):
    """p-value of the objects from n on; where they are many, of parts that are at most n/3."""
    m = len(K) - n
    parts = -(-m // (n // 3)) if 2 * m > n >= LEAST_FOR_PARTS else 1
    p_values = []
    for i in range(parts):
        pool = np.r_[0:n, n + i : n + m : parts]
        p_values.append(_part_p_value(K[np.ix_(pool, pool)], n, reg, reg_on, alternative))
    return combined_p_value(p_values)


def _part_p_value(K, n, reg, reg_on, alternative):
    """Rank-sum p-value of the objects from n on; α is relative to the pool's own spread."""
    if reg_on == "kernel":
        alpha = reg
    else:
        scale = abs(np.trace(K) / len(K) - K.mean()) or 1.0 if reg_on == "relative" else 1.0
        alpha = reg * scale * len(K)
    scores = pooled_leverages(K, alpha, definite=is_psd(center_gram(K, centering(K))))
    return rank_sum_p_value(scores[:n], scores[n:], alternative)
