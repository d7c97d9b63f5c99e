"""Convolution features of time series, and the distance between them."""

from hashlib import blake2b
from typing import Any, Self

import numpy as np
from sklearn.metrics import euclidean_distances

from .._typing import Objects
from ._series import packed
from .base import Measure
from .elastic import series_arrays

N_KERNELS, LENGTH = 84, 9
# Features of a series, about, and dilations at most; both as in MiniRocket.
N_FEATURES, MOST_DILATIONS = 10_000, 32
# A convolution sums at most so many channels.
MOST_CHANNELS = 9
GOLDEN = (np.sqrt(5) + 1) / 2


class Convolution(Measure):
    """Distance between convolution features of time series, in the manner of MiniRocket [1]_.

    A feature is the share of the time points at which the series, convolved with one of 84 kernels
    of nine weights (three are 2, six −1), exceeds a bias. The distance is the Euclidean distance of
    the features, each divided by its standard deviation over reference series. Series are those of
    :class:`mahalearn.measures.Elastic`. They may differ in length: a share is one of the series'
    own time points. Of several channels each kernel sums a random part. :meth:`of` makes the
    measure from training series; labels have no part in it.

    Parameters
    ----------
    dilations : ndarray of shape (n_biases,)
        Distances of the weights in time, ascending; a dilation stands once for each of its biases.
    channels : ndarray of shape (n_biases, 84, n_channels)
        Channels that a kernel sums; of equal dilations the first entry counts.
    biases : ndarray of shape (n_biases, 84)
        What the convolutions are compared with.
    weights : ndarray of shape (84 * n_biases,)
        What the features are multiplied by; 0 for those that do not vary.

    References
    ----------
    .. [1] A. Dempster, D. F. Schmidt and G. I. Webb, MiniRocket: a very fast (almost) deterministic
       transform for time series classification, KDD 2021.
    """

    of_pairs = False
    view = "convolution"

    def __init__(
        self,
        dilations: np.ndarray,
        channels: np.ndarray,
        biases: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        self.dilations = dilations
        self.channels = channels
        self.biases = biases
        self.weights = weights

    @classmethod
    def of(cls, X: Objects, n_features: int = N_FEATURES) -> Self:
        """The measure whose biases and weights are those of some series.

        Parameters
        ----------
        X : sequence of series
            Reference series. A bias is a quantile of the convolution of one of them.
        n_features : int, default=10000
            Number of features, about.

        Returns
        -------
        measure : Convolution
            The measure.
        """
        from . import _convolution_loops as loops

        arrays, rng = series_arrays(X), np.random.default_rng(0)
        dilations = _dilations(max(x.shape[1] for x in arrays), max(1, n_features // N_KERNELS))
        n_biases, n_channels = len(dilations), len(arrays[0])
        channels = _some_channels(rng, n_biases, n_channels)
        levels = (GOLDEN * np.arange(1, n_biases * N_KERNELS + 1) % 1).reshape(n_biases, -1)
        biases = np.empty((n_biases, N_KERNELS), dtype=np.float32)
        for dilation in np.unique(dilations):
            rows = dilations == dilation
            first = int(np.argmax(rows))
            for k, i in enumerate(rng.integers(len(arrays), size=N_KERNELS)):
                x = arrays[i].astype(np.float32)
                values = loops.convolution(x, k, first, dilation, channels[first, k])
                biases[rows, k] = np.quantile(values, levels[rows, k])
        measure = cls(dilations, channels, biases, np.ones(biases.size))
        spread = measure.features(arrays).std(axis=0)
        varies = spread > 1e-12
        return measure.set_params(weights=np.where(varies, 1 / np.where(varies, spread, 1), 0))

    def features(self, X: Objects) -> np.ndarray:
        """Weighted features of series.

        Parameters
        ----------
        X : sequence of series
            The series.

        Returns
        -------
        F : ndarray of shape (len(X), n_features)
            Shares of positive values times the weights.
        """
        return self._features(*self._packed(X))

    def _packed(self, X, of_columns=False):
        """The series one after another, in single precision, and where they start."""
        arrays, n_channels = series_arrays(X, of_columns), self.channels.shape[2]
        for x in arrays:
            if len(x) != n_channels:
                raise ValueError(
                    f"The series have {len(x)} channels, those of the training {n_channels}."
                )
        return packed([x.astype(np.float32) for x in arrays])

    def _features(self, values, starts):
        from . import _convolution_loops as loops

        F = np.empty((len(starts) - 1, self.biases.size))
        loops.positive_shares(values, starts, self.dilations, self.channels, self.biases, F)
        return F * self.weights

    def prepare(self, X: Objects, Y: Objects | None = None) -> tuple[Any, Any]:
        """Features, see Measure; those of the last columns are kept for the next rows."""
        P = self.features(X)
        if Y is None:
            return P, P
        packed = self._packed(Y, of_columns=True)
        key = b"".join(blake2b(part.tobytes()).digest() for part in packed)
        if vars(self).get("_columns", (None,))[0] != key:
            self._columns = key, self._features(*packed)
        return P, self._columns[1]

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_columns"}

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        return euclidean_distances(P, Q)


def _dilations(longest, n_biases):
    """Dilations, powers of 2 with evenly spaced exponents, up to the length of the series."""
    last = np.log2(max(1.0, (longest - 1) / (LENGTH - 1)))
    few = np.logspace(0, last, min(n_biases, MOST_DILATIONS), base=2).astype(int)
    return np.sort(np.resize(few, n_biases))


def _some_channels(rng, n_biases, n_channels):
    """Channels (n_biases, 84, n_channels) that kernels sum: small numbers are more frequent."""
    shape = n_biases, N_KERNELS
    most = np.log2(min(n_channels, MOST_CHANNELS) + 1)
    counts = (2 ** rng.uniform(0, most, shape)).astype(int)
    places = rng.random((*shape, n_channels)).argsort(axis=2).argsort(axis=2)
    return places < counts[..., None]
