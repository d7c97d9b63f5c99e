"""Hausdorff distances between sets of points."""

from typing import Any

import numpy as np

from .._validation import check_squarable
from ._objects import point_arrays
from .base import Measure

# Distances held at once: about the size of a core's second cache.
_CHUNK = 2**15


class Hausdorff(Measure):
    """Hausdorff or modified Hausdorff distance between sets of points of any size.

    With d(a, B) = min_b ‖a − b‖ the Hausdorff distance of A and B is the larger of max_a d(a, B)
    and max_b d(b, A). The modified one [1]_ takes means for these two maxima: it forgives single
    far points, and is no longer a metric.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    modified : bool, default=False
        Use the modified distance.

    See Also
    --------
    mahalearn.measures.Wasserstein : Optimal transport of samples.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] M.-P. Dubuisson and A. K. Jain, A modified Hausdorff distance for object matching, ICPR
       1994.

    Examples
    --------
    >>> from mahalearn.measures import Hausdorff
    >>> square = [[0, 0], [0, 1], [1, 1], [1, 0]]
    >>> kite = [[0, 0], [0, 1], [3, 1]]
    >>> Hausdorff()(square, kite), Hausdorff(modified=True)(square, kite)
    (2.0, 0.6666666666666666)
    """

    def __init__(self, modified: bool = False) -> None:
        self.modified = modified

    def _prepared(self, X, rows=None):
        what = "a set of points, an array of shape (n_points, n_dimensions)"
        sets = point_arrays(X, 2, what, rows)
        check_squarable(max(np.abs(points).max() for points in sets), "The points")
        return sets

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        # By size: the sets that are padded to a common size are then almost of one size.
        sizes = np.array([len(points) for points in Q])
        order = np.argsort(sizes, kind="stable")
        out = np.empty((len(P), len(Q)))
        step = max(1, _CHUNK // int(max(len(points) for points in P) * sizes.max()))
        for j in range(0, len(Q), step):
            columns = order[j : j + step]
            coordinates = _padded([Q[c] for c in columns])
            real = np.arange(coordinates.shape[1])[:, None] < sizes[columns]
            for i, points in enumerate(P):
                out[i, columns] = self._to_sets(points, coordinates, real, sizes[columns])
        return out

    def _to_sets(self, points, coordinates, real, sizes):
        """Distances of one set to several, padded by repeated points that no minimum notices."""
        d2 = np.zeros((len(points), *real.shape))
        for a, b in zip(points.T, coordinates, strict=True):
            gap = a[:, None, None] - b
            gap *= gap
            d2 += gap
        there, back = d2.min(axis=1), d2.min(axis=0)
        if not self.modified:
            return np.sqrt(np.maximum(there.max(axis=0), back.max(axis=0)))
        there = np.sqrt(there).sum(axis=0) / len(points)
        return np.maximum(there, (np.sqrt(back) * real).sum(axis=0) / sizes)


def _padded(sets):
    """(dimensions, points, sets): the sets last, so that every operation runs over them.

    Small sets are filled up with their first point.
    """
    largest = max(len(points) for points in sets)
    fillers = [np.repeat(points[:1], largest - len(points), axis=0) for points in sets]
    full = [np.concatenate(parts) for parts in zip(sets, fillers, strict=True)]
    return np.ascontiguousarray(np.transpose(full, (2, 1, 0)))
