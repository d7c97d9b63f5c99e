"""Elastic distances of time series, and the Euclidean distance for comparison."""

from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from .._validation import (
    check_choice,
    check_not_negative,
    check_real,
    check_squarable,
    is_real,
)
from ._objects import as_floats, named
from ._series import all_pairs
from .base import Measure

# The methods, and the parameters that each of them has besides `normalize`.
Method = Literal["euclidean", "dtw", "msm", "erp", "twe", "lcss", "edr", "frechet"]
OPTIONS: dict[Method, tuple[str, ...]] = {
    "euclidean": (),
    "dtw": ("window",),
    "msm": ("window", "cost"),
    "erp": ("window", "gap"),
    "twe": ("window", "stiffness", "cost"),
    "lcss": ("window", "epsilon"),
    "edr": ("window", "epsilon"),
    "frechet": ("window",),
}
METHODS = tuple(OPTIONS)
# Parameters that a recurrence takes as numbers, in the order of OPTIONS, and their checks.
_NUMBERS = {"cost": check_not_negative, "stiffness": check_not_negative, "gap": check_real}


class Elastic(Measure):
    """Elastic distance of time series: warping, edit distances and their kin.

    A series is an array of shape (length,) or (n_channels, length). A collection is a list of
    series, which may differ in length, an array of shape (n_cases, length), or one of shape
    (n_cases, n_channels, length) as in aeon and sktime. Time points at the end that are NaN in
    every channel are padding and are removed; NaN elsewhere is an error. Masked values of a masked
    array count as NaN.

    numba compiles the loops (``pip install "mahalearn[measures]"``). The first call in an
    environment takes some seconds for that; the result is kept on disk. Without numba the same
    loops run in Python, with the same results, which is fast enough for small data only.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    method : {"dtw", "msm", "erp", "twe", "lcss", "edr", "frechet", "euclidean"}, default="dtw"
        The measure.

        - "dtw": dynamic time warping [1]_; with ``window=0`` the Euclidean distance.
        - "msm": move–split–merge [2]_.
        - "erp": edit distance with real penalty [3]_.
        - "twe": time warp edit distance [4]_.
        - "lcss": longest common subsequence [5]_.
        - "edr": edit distance on real sequences [6]_.
        - "frechet": discrete Fréchet distance [7]_.
        - "euclidean": Euclidean distance, for series of equal length.
    window : float, default=None
        Width of the Sakoe–Chiba band as a fraction of the longer series, from 0 to 1: points are
        aligned only if their positions differ by no more than that (plus the difference in length,
        on one side). None: no band. Not for "euclidean".
    cost : float, default=1.0
        Cost of a split or a merge ("msm"), or of leaving out a point (λ of "twe").
    gap : float, default=0.0
        Value that a point without a partner is compared with ("erp").
    stiffness : float, default=0.001
        Cost of a difference of one time step (ν of "twe").
    epsilon : float, default=None
        Two values match if they differ by no more than this in every channel ("lcss", "edr").
        None: a quarter of the larger of the two series' standard deviations, per channel.
    normalize : bool, default=False
        Whether to z-normalise each channel of each series: mean 0 and standard deviation 1. A
        constant channel becomes 0.

    See Also
    --------
    mahalearn.measures.elastic_measures : The measures behind kernel="elastic".
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] H. Sakoe and S. Chiba, Dynamic programming algorithm optimization for spoken word
       recognition, IEEE Transactions on Acoustics, Speech, and Signal Processing 26, 1978.
    .. [2] A. Stefan, V. Athitsos and G. Das, The move–split–merge metric for time series, IEEE
       Transactions on Knowledge and Data Engineering 25, 2013.
    .. [3] L. Chen and R. Ng, On the marriage of Lp-norms and edit distance, VLDB 2004.
    .. [4] P.-F. Marteau, Time warp edit distance with stiffness adjustment for time series
       matching, IEEE Transactions on Pattern Analysis and Machine Intelligence 31, 2009.
    .. [5] M. Vlachos, G. Kollios and D. Gunopulos, Discovering similar multidimensional
       trajectories, ICDE 2002.
    .. [6] L. Chen, M. T. Özsu and V. Oria, Robust and fast similarity search for moving object
       trajectories, SIGMOD 2005.
    .. [7] T. Eiter and H. Mannila, Computing discrete Fréchet distance, TU Wien, 1994.

    Examples
    --------
    >>> from mahalearn.measures import Elastic
    >>> a, b = [0, 0, 1, 2, 1, 0], [0, 1, 2, 1, 0, 0]
    >>> Elastic("euclidean")(a, b), Elastic("dtw")(a, b), Elastic("msm", cost=0.5)(a, b)
    (2.0, 0.0, 1.0)
    >>> Elastic("dtw", window=0.1).between([a, b[:4]]).round(2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        method: Method = "dtw",
        window: float | None = None,
        cost: float = 1.0,
        gap: float = 0.0,
        stiffness: float = 0.001,
        epsilon: float | None = None,
        normalize: bool = False,
    ) -> None:
        self.method = method
        self.window = window
        self.cost = cost
        self.gap = gap
        self.stiffness = stiffness
        self.epsilon = epsilon
        self.normalize = normalize

    def _prepared(self, X, rows=None):
        method = check_choice(self.method, "method", METHODS)
        self._check_window(method)
        self._parameters(method)
        if self.epsilon is not None:
            check_not_negative(self.epsilon, "epsilon, unless it is None,")
        arrays = series_arrays(X, rows is not None)
        _check_alike(method, arrays, rows)
        check_squarable(max(np.abs(x).max() for x in arrays), "The series")
        return [_z_normalized(x) for x in arrays] if self.normalize else arrays

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        method = check_choice(self.method, "method", METHODS)
        if method == "euclidean":
            return cdist(*(np.array(side).reshape(len(side), -1) for side in (P, Q)))
        numbers = self._parameters(method)
        if "epsilon" in OPTIONS[method]:
            numbers = self._tolerances(P), self._tolerances(Q)
        window = 1.0 if self.window is None else float(self.window)
        return all_pairs(method, P, Q, *numbers, window=window)

    def _check_window(self, method):
        if self.window is None:
            return
        if method == "euclidean":
            raise ValueError(
                f"The Euclidean distance has no window; got window={self.window!r}. Leave it out, "
                "or choose another method."
            )
        if not is_real(self.window) or not 0 <= self.window <= 1:
            raise ValueError(
                "window is the fraction of the longer series' length that two points may lie "
                f"apart, from 0 to 1, or None; got {self.window!r}. For a number of time points "
                "divide it by the length."
            )

    def _parameters(self, method):
        """The numbers that the recurrence takes."""
        names = [name for name in OPTIONS[method] if name in _NUMBERS]
        return [_NUMBERS[name](getattr(self, name), name) for name in names]

    def _tolerances(self, arrays):
        """(series, channels): what two values may differ by and still match."""
        if self.epsilon is None:
            return np.array([x.std(axis=1) / 4 for x in arrays])
        return np.full((len(arrays), len(arrays[0])), float(self.epsilon))


def _check_alike(method, arrays, rows):
    """All series must have the channels of the first, for the Euclidean distance its length, too.

    rows : the series of the rows, where these are the columns.
    """
    of_columns = rows is not None
    first = (rows if of_columns else arrays)[0]
    for name, x in named(arrays, of_columns):
        if len(x) != len(first):
            raise ValueError(
                f"{name} has {len(x)} channels, object 0 has {len(first)}; all series need the "
                "same channels. Series are arrays of shape (n_channels, length): transpose "
                "them if yours are (length, n_channels)."
            )
        if method == "euclidean" and x.shape[1] != first.shape[1]:
            raise ValueError(
                f"{name} has length {x.shape[1]}, object 0 has {first.shape[1]}; the Euclidean "
                "distance needs series of equal length. Choose an elastic measure such as "
                "'dtw' or 'msm'."
            )


def series_arrays(X, of_columns=False):
    """The series as a list of finite arrays (n_channels, length), padding removed."""
    objects = [(name, _as_numbers(x, name)) for name, x in named(X, of_columns)]
    if all(array.shape[1] == 1 < len(array) for _, array in objects):
        raise ValueError(
            f"Every series has {len(objects[0][1])} channels of a single value. Series are arrays "
            "of shape (length,) or (n_channels, length); those of tslearn, (length, n_channels), "
            "must be transposed: X.transpose(0, 2, 1)."
        )
    return [_without_padding(array, name) for name, array in objects]


def _without_padding(array, name):
    """A series without the time points at its end that are NaN in every channel."""
    present = np.flatnonzero(~np.isnan(array).all(axis=0))
    if not len(present):
        raise ValueError(f"{name} is empty, so there is nothing to compare; leave such series out.")
    array = array[:, : present[-1] + 1]
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} contains NaN or infinite values before its end; interpolate or remove "
            "such time points. Only NaN at the end is taken for padding."
        )
    return np.ascontiguousarray(array)


def _as_numbers(x, name):
    what = "a series of numbers, an array of shape (length,) or (n_channels, length)"
    array = as_floats(x, what, name)
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[0] == 0:
        raise ValueError(f"{name} must be {what}; got an array of shape {array.shape}.")
    return array


def _z_normalized(x):
    centred = x - x.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    # A constant channel has no spread but rounding, which must not be blown up to size 1.
    rounding = 1e-12 * np.abs(x).max(axis=1, keepdims=True)
    flat = spread <= rounding
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
