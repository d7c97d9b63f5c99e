"""Feature weights of the weighted Mahalanobis distance (D, 3.2–3.4).

Z (m, c, N) holds the squared distances of m samples to c classes per feature (D, (7)). Descent
weights belong to ranks: each Z_ij is sorted ascending, and its r-th smallest value gets w[r].
Difference weights belong to each value of each Z_ij and come before a descent step.
"""

from typing import NamedTuple

import numpy as np

from .._typing import ArrayLike
from .linalg import Workspace


class DifferenceWeights(NamedTuple):
    """Rank weights (N,) for distances that the difference weights have been applied to.

    Equal rank weights of 1 are the difference weights alone, without the descent step.
    """

    rank_weights: np.ndarray


def descent_weights(Z: ArrayLike, power: float = 0.5) -> np.ndarray:
    """Descent weights of a batch: one weight for each rank of the sorted distances.

    Z_sum[r] is the mean over samples and classes of the r-th smallest distance (D, (10)), and
    w[r] ∝ Z_sum[r]^(−power), scaled so that Σw = N. Ranks at which every distance is 0 carry
    nothing: they get the weight 1 and leave the others as if they were not there.

    Read more in the :doc:`user guide </feature_weights>`.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_classes, n_features)
        Squared distances per feature, as ``GaussianClassifier.feature_distances`` gives them.
    power : float, default=0.5
        1 is equation (11) as printed; with ½ the published numbers come out.

    Returns
    -------
    weights : ndarray of shape (n_features,)
        Weights of the ranks, nonnegative and descending.

    See Also
    --------
    difference_weights : Weights of single features.
    GaussianClassifier : Normal classes in the input space.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn import descent_weights
    >>> descent_weights(np.array([[[4.0, 1.0], [1.0, 4.0]]]))
    array([1.33333333, 0.66666667])
    """
    Z = _check_distances(Z)
    return rank_weights(np.sort(Z, axis=-1).mean(axis=(0, 1)), power)


def difference_weights(Z: ArrayLike, power: float = 0.5) -> DifferenceWeights:
    """Difference weights of a batch: the rank weights of their descent step.

    Each Z_ij is first weighted by w[c] ∝ 1/Σ_a |Z[c] − Z[a]| with Σw = N (D, (12), (13)); the
    descent weights are then those of the weighted distances.

    Read more in the :doc:`user guide </feature_weights>`.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_classes, n_features)
        Squared distances per feature, as ``GaussianClassifier.feature_distances`` gives them.
    power : float, default=0.5
        As in :func:`descent_weights`.

    Returns
    -------
    weights : DifferenceWeights
        ``weights.rank_weights`` has shape (n_features,). The type tells a classifier that gets it
        as ``feature_weights`` to weigh by the differences first.

    See Also
    --------
    descent_weights : Weights of ranks.
    GaussianClassifier : Normal classes in the input space.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn import difference_weights
    >>> difference_weights(np.array([[[1.0, 2.0, 9.0]]])).rank_weights.round(2)
    array([1.43, 0.95, 0.62])
    """
    Z = _check_distances(Z)
    return DifferenceWeights(descent_weights(difference_weighted(np.sort(Z, axis=-1)), power))


def _check_distances(Z):
    Z = np.asarray(Z, dtype=float)
    if Z.ndim != 3 or 0 in Z.shape:
        raise ValueError(
            "Z must hold the squared distances of samples to classes per feature, shape "
            f"(n_samples, n_classes, n_features); got shape {Z.shape}."
        )
    if not np.isfinite(Z).all() or (Z < 0).any():
        raise ValueError(
            "Z must be finite and nonnegative, as squared distances are. Leave out samples with "
            "missing features: they have fewer ranks."
        )
    return Z


def rank_weights(Z_sum, power):
    """w[r] ∝ Z_sum[r]^(−power) with Σw = N (D, (11)): Z_sum (..., N) ascending."""
    if (Z_sum[..., :1] > 0).all():
        return _inverse_power(Z_sum, Z_sum[..., :1], power, Z_sum.shape[-1])
    positive = Z_sum > 0
    smallest = np.where(positive, Z_sum, np.inf).min(axis=-1, keepdims=True)
    smallest[np.isinf(smallest)] = 1.0
    carrying = np.where(positive, Z_sum, np.inf)
    weights = _inverse_power(carrying, smallest, power, positive.sum(axis=-1, keepdims=True))
    return np.where(positive, weights, 1.0)


def _inverse_power(Z_sum, smallest, power, total):
    weights = smallest / Z_sum  # at most 1: nothing overflows
    weights = np.sqrt(weights, out=weights) if power == 0.5 else weights**power
    scale = weights.sum(axis=-1, keepdims=True)
    weights *= total / np.where(scale > 0, scale, 1.0)
    return weights


def trimmed_weights(n_features):
    """Zero for the rank of the largest distance, equal weights with Σw = N for the others (D, 3).

    A single feature counts.
    """
    if n_features < 2:
        return np.ones(n_features)
    weights = np.full(n_features, n_features / (n_features - 1))
    weights[-1] = 0.0
    return weights


def difference_weighted(Z_sorted, workspace=None):
    """w[c]·Z[c] with w[c] ∝ 1/Σ_a |Z[c] − Z[a]| and Σw = N (D, (12), (13)), any number of axes.

    For sorted values the sum of the differences is (2r − N)z_r + S_N − 2S_r with the prefix sums S.
    They are taken from z − z_1, of which every sum is at least the range z_N − z_1: no cancellation
    hurts. Equal values get equal weights. The result stands in the workspace.
    """
    workspace = workspace or Workspace()
    N = Z_sorted.shape[-1]
    z = workspace.array("shifted", *Z_sorted.shape)
    np.subtract(Z_sorted, Z_sorted[..., :1], out=z)
    prefix = np.cumsum(z, axis=-1, out=workspace.array("prefix", *Z_sorted.shape))
    total = prefix[..., -1:].copy()
    z *= 2.0 * np.arange(1, N + 1) - N
    prefix *= -2
    prefix += z
    prefix += total  # now the sums of the differences
    equal = prefix[..., -1] <= 0
    if equal.any():
        prefix[equal] = 1.0
    # Z/d first: the weights themselves are never needed.
    np.divide(1.0, prefix, out=prefix)
    scale = N / prefix.sum(axis=-1, keepdims=True)
    prefix *= Z_sorted
    prefix *= scale
    return prefix


class Weighting(NamedTuple):
    """How feature distances become one distance: ranks (N,) fixed, or None for the sample's own."""

    difference: bool
    power: float
    ranks: np.ndarray | None = None
    # Whatever the number of ranks, the last has the weight 0.
    trimmed: bool = False

    def sorted_distances(self, Z, workspace=None):
        """Z̄ of the descent step, sorted ascending; Z is overwritten."""
        Z.sort(axis=-1)
        if self.difference:
            Z = difference_weighted(Z, workspace)
            Z.sort(axis=-1)
        return Z

    def sq_distances(self, Z, workspace=None):
        """Weighted squared distances (m, c), D (8), of Z (m, c, N), which is overwritten."""
        Z = self.sorted_distances(Z, workspace)
        if self.ranks is not None:
            n = Z.shape[-1]
            return Z @ (trimmed_weights(n) if self.trimmed else resampled(self.ranks, n))
        # The weights of the sum over classes are those of the mean.
        return np.einsum("icr,ir->ic", Z, rank_weights(Z.sum(axis=1), self.power))


def resampled(weights, n_ranks):
    """Weights for fewer ranks (missing features): read off at the same quantiles, Σw = n_ranks."""
    N = len(weights)
    if n_ranks in (0, N):
        return weights[:n_ranks]
    quantiles = (np.arange(n_ranks) + 0.5) / n_ranks
    values = np.interp(quantiles, (np.arange(N) + 0.5) / N, weights)
    total = values.sum()
    return values * (n_ranks / total) if total > 0 else np.ones(n_ranks)
