"""The correlation measure of paper C's News-COR data."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._validation import check_squarable
from ._objects import number_table
from .base import Measure


class Correlation(Measure):
    """Correlation measure of occurrence vectors, as in paper C's News-COR data.

    d(x, y) = ½ (1 − xᵀy / ‖x − y‖²): at most ½ for nonnegative vectors, ½ where they share
    nothing, negative where they share much. It is not a metric, nor defined for equal vectors.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    equal : float, default=0.5
        Value of two objects whose vectors are equal. An object and itself have the value 0 in a
        matrix of all pairs. With ½ and 0 the published spectrum of News-COR comes out.

    See Also
    --------
    mahalearn.measures.Jaccard : Sets and bit vectors.
    mahalearn.measures.pairwise : Matrix of all pairs.

    Examples
    --------
    >>> from mahalearn.measures import Correlation
    >>> Correlation()([1, 1, 0, 0], [1, 0, 1, 1])
    0.33333333333333337
    """

    knows_self = True

    def __init__(self, equal: float = 0.5) -> None:
        self.equal = equal

    def _prepared(self, X, rows=None):
        table = number_table(X, "Vectors", rows)
        check_squarable(np.abs(table).max(), "The vectors")
        return table

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        # Not ‖x‖² + ‖y‖² − 2xᵀy, which is rounding noise where the vectors are nearly equal.
        d2 = cdist(P, Q, "sqeuclidean")
        return np.where(d2 > 0, (1 - P @ Q.T / np.where(d2 > 0, d2, 1)) / 2, self.equal)
