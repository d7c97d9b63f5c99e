"""Distances of distributions: Jensen–Shannon for histograms, Wasserstein for samples."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import rel_entr

from .._lazy import extra_module
from .._validation import check_real
from ._objects import as_floats, named, number_table, point_arrays
from .base import Measure, object_list


class JensenShannon(Measure):
    """Jensen–Shannon distance of histograms, the rows of a table.

    √(½ KL(p‖m) + ½ KL(q‖m)) with m = (p + q)/2 and logarithms to the base 2, so that it lies
    between 0 and 1. Rows are divided by their sums. It is a metric, and even Euclidean [1]_.

    Read more in the :doc:`user guide </measures>`.

    See Also
    --------
    mahalearn.measures.Wasserstein : Optimal transport of samples.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] D. M. Endres and J. E. Schindelin, A new metric for probability distributions, IEEE
       Transactions on Information Theory 49, 2003; B. Fuglede and F. Topsøe, ISIT 2004.

    Examples
    --------
    >>> from mahalearn.measures import JensenShannon
    >>> JensenShannon()([1, 0, 1], [0, 1, 0])
    1.0
    >>> round(JensenShannon()([1, 2, 3], [2, 2, 2]), 4)
    0.1804
    """

    block_size = 64

    def _prepared(self, X, rows=None):
        P = number_table(X, "Histograms", rows)
        bad = (P < 0).any(axis=1) | (P.max(axis=1) <= 0)
        if bad.any():
            name, _ = named(P, rows is not None)[np.argmax(bad)]
            raise ValueError(
                f"{name} is not a histogram: its values must not be negative, and not all 0."
            )
        P = P / P.max(axis=1, keepdims=True)  # so that no sum overflows
        return P / P.sum(axis=1, keepdims=True)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        values = np.zeros((len(P), len(Q)))
        for i, p in enumerate(P):
            m = (p + Q) / 2
            terms = (rel_entr(p, m) + rel_entr(Q, m)).sum(axis=1) / np.log(4)
            values[i] = np.sqrt(np.maximum(terms, 0))
        return values


class Wasserstein(Measure):
    """Wasserstein distance of two samples, the cost of moving one onto the other.

    W_p = (min Σ π_ij ‖a_i − b_j‖^p)^{1/p} over all couplings π of two samples whose points have
    equal weights. On the line and for samples of equal size scipy and numpy suffice; other cases
    need POT (``pip install "mahalearn[transport]"``).

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    p : float, default=1
        Exponent, at least 1.

    See Also
    --------
    mahalearn.measures.Hausdorff : Distance of point sets.
    mahalearn.measures.pairwise : Matrix of all pairs.

    Examples
    --------
    >>> from mahalearn.measures import Wasserstein
    >>> Wasserstein()([0.0, 1.0, 3.0], [5.0, 6.0, 8.0])
    5.0
    >>> Wasserstein(p=2)([[0, 0], [1, 0]], [[0, 1], [1, 1]])
    1.0
    """

    block_size = 32
    releases_gil = False

    def __init__(self, p: float = 1) -> None:
        self.p = p

    def _prepared(self, X, rows=None):
        check_real(self.p, "p", "a finite number of at least 1", lambda p: p >= 1)
        first = object_list(X)[0] if rows is None else rows[0]
        if as_floats(first, "a sample of numbers, or of points", "Object 0").ndim == 2:
            what = "a sample of points, an array of shape (n_points, n_dimensions)"
            return point_arrays(X, 2, what, rows)
        return point_arrays(X, 1, "a sample of numbers", rows)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        distance = _on_the_line if P[0].size == len(P[0]) else _in_space
        same = Q is P
        values = np.zeros((len(P), len(Q)))
        for i, a in enumerate(P):
            for j in range(i + 1 if same else 0, len(Q)):
                values[i, j] = distance(a, Q[j], float(self.p))
        return values + values.T if same else values


def _on_the_line(a, b, p):
    """(∫|F⁻¹ − G⁻¹|^p)^{1/p} over the quantiles at which one of the two steps."""
    a, b = np.sort(a.ravel()), np.sort(b.ravel())
    # In units of 1/(n·m), so that the quantiles are whole numbers.
    steps = np.union1d(np.arange(1, len(a) + 1) * len(b), np.arange(1, len(b) + 1) * len(a))
    gaps = np.abs(a[(steps - 1) // len(b)] - b[(steps - 1) // len(a)])
    return _power_mean(gaps, p, np.diff(steps, prepend=0))


def _in_space(a, b, p):
    distances = cdist(a, b)
    largest = distances.max() or 1.0
    cost = (distances / largest) ** p
    if len(a) == len(b):
        return _power_mean(distances[linear_sum_assignment(cost)], p)
    purpose = f"Samples of unequal size in space ({len(a)} and {len(b)} points) need POT"
    emd2 = extra_module("ot", purpose, "transport").emd2
    # Whole numbers as masses: POT compares the totals, which must agree exactly.
    masses = np.full(len(a), float(len(b))), np.full(len(b), float(len(a)))
    value = emd2(*masses, cost, numItermax=10_000_000) / (len(a) * len(b))
    return largest * max(0.0, float(value)) ** (1 / p)


def _power_mean(gaps, p, weights=None):
    """(Σ w g^p / Σ w)^{1/p}, relative to the largest gap: no power over- or underflows."""
    largest = gaps.max() or 1.0
    return largest * np.average((gaps / largest) ** p, weights=weights) ** (1 / p)
