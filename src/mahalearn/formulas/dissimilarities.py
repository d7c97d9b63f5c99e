"""Figures that describe a matrix of dissimilarities."""

import numpy as np

# Up to this many objects every triangle is looked at; beyond, a sample.
TRIANGLE_EXACT = 400
TRIANGLE_SAMPLE = 1_000_000
# A triangle inequality broken by less than this fraction of the largest value is rounding.
_RTOL = 1e-10


def triangle_violations(d, random_state):
    """Fraction of inequalities d_ij ≤ d_ik + d_kj (i, j, k different) that do not hold.

    Returns the fraction and its 95 % interval (Wilson's), which has no width where all were
    counted. d (n, n) symmetric; its diagonal is not read.
    """
    n, tol = len(d), _RTOL * np.abs(d).max(initial=0.0)
    if n < 3:
        return 0.0, (0.0, 0.0)
    if n <= TRIANGLE_EXACT:
        d = d.copy()
        np.fill_diagonal(d, np.inf)  # no inequality with k = i or k = j is broken
        broken = 0
        for k in range(n):
            row = np.where(np.arange(n) == k, np.inf, d[k])
            excess = d > row[:, None] + row + tol
            broken += int(excess.sum()) - int(np.diagonal(excess).sum())
        fraction = broken / (n * (n - 1) * (n - 2))
        return fraction, (fraction, fraction)
    from scipy.stats import binomtest  # slow to import

    i = random_state.randint(n, size=TRIANGLE_SAMPLE)
    j = (i + random_state.randint(1, n, size=TRIANGLE_SAMPLE)) % n
    k = random_state.randint(n - 2, size=TRIANGLE_SAMPLE)
    first, second = np.minimum(i, j), np.maximum(i, j)
    k += k >= first
    k += k >= second
    broken = int((d[i, j] > d[i, k] + d[k, j] + tol).sum())
    low, high = binomtest(broken, TRIANGLE_SAMPLE).proportion_ci(method="wilson")
    return broken / TRIANGLE_SAMPLE, (float(low), float(high))


def effective_dimension(values):
    """(Σ|λ|)²/Σλ²: how many equal eigenvalues would be spread as much; 0 if all are 0."""
    sizes = np.abs(values) / (np.abs(values).max(initial=0.0) or 1.0)  # no square vanishes
    return float(sizes.sum() ** 2 / (np.square(sizes).sum() or 1.0))


def intrinsic_dimension(d2):
    """2·mean(d²)²/var(d²) over different objects.

    For a normal cloud in k dimensions with equal variances d² is 2σ²χ²_k, of mean 2σ²k and variance
    8σ⁴k, so that this is k.
    """
    pairs = d2[np.triu_indices(len(d2), 1)]
    pairs = pairs / (np.abs(pairs).max(initial=0.0) or 1.0)  # no square vanishes
    variance = pairs.var() if len(pairs) else 0.0
    return float(2 * pairs.mean() ** 2 / variance) if variance else 0.0


def nearest_neighbor_errors(d2, codes):
    """Leave-one-out error of the nearest neighbour for each object.

    Where several are equally near, the share of them that is of another class.
    """
    d2 = d2.copy()
    np.fill_diagonal(d2, np.inf)
    nearest = d2 == d2.min(axis=1, keepdims=True)
    return (nearest & (codes[:, None] != codes)).sum(axis=1) / nearest.sum(axis=1)
