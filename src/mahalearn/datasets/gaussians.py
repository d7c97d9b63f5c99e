"""Paper D's simulation: random Gaussian classes, noise on some features, missing features."""

import numpy as np

from .._typing import ArrayLike, Generator


def random_gaussians(
    n_classes: int = 20, n_features: int = 10, *, random_state: Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of random classes with independent features (D, section 4).

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    n_classes : int, default=20
        Number of classes.
    n_features : int, default=10
        Number of features.
    random_state : int, numpy.random.Generator or None, default=None
        Seed, or the generator to go on with.

    Returns
    -------
    means : ndarray of shape (n_classes, n_features)
        Normal with variance 10.
    variances : ndarray of shape (n_classes, n_features)
        Absolute values of normal numbers with variance 30.

    See Also
    --------
    sample_gaussians : Rows drawn from these classes.

    Examples
    --------
    >>> from mahalearn.datasets import random_gaussians
    >>> means, variances = random_gaussians(random_state=0)
    >>> means.shape, bool((variances > 0).all())
    ((20, 10), True)
    """
    rng = np.random.default_rng(random_state)
    means = rng.normal(0.0, np.sqrt(10), (n_classes, n_features))
    variances = np.abs(rng.normal(0.0, np.sqrt(30), (n_classes, n_features)))
    return means, variances


def sample_gaussians(
    means: ArrayLike,
    variances: ArrayLike,
    n_per_class: int = 50,
    *,
    random_state: Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of classes with independent features.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    means : array-like of shape (n_classes, n_features)
        Class means.
    variances : array-like of shape (n_classes, n_features)
        Class variances.
    n_per_class : int, default=50
        Samples of each class.
    random_state : int, numpy.random.Generator or None, default=None
        Seed, or the generator to go on with.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features)
        Samples, in the order of the classes.
    y : ndarray of shape (n_classes * n_per_class,)
        Class indices.

    See Also
    --------
    random_gaussians : Means and covariances of random classes.

    Examples
    --------
    >>> from mahalearn.datasets import random_gaussians, sample_gaussians
    >>> X, y = sample_gaussians(*random_gaussians(random_state=0), random_state=1)
    >>> X.shape
    (1000, 10)
    """
    rng = np.random.default_rng(random_state)
    means, variances = np.asarray(means, float), np.asarray(variances, float)
    y = np.repeat(np.arange(len(means)), n_per_class)
    X = means[y] + np.sqrt(variances)[y] * rng.standard_normal((len(y), means.shape[1]))
    return X, y


def add_noise(
    X: ArrayLike,
    variance: float,
    n_noisy: int | None = None,
    *,
    random_state: Generator | None = None,
) -> np.ndarray:
    """Add normal noise to random features of each row.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    variance : float
        Variance of the noise, the paper's noise level.
    n_noisy : int, default=None
        Number of features with noise in each row; all if None.
    random_state : int, numpy.random.Generator or None, default=None
        Seed, or the generator to go on with.

    Returns
    -------
    noisy : ndarray of shape (n_samples, n_features)
        Rows with noise.

    See Also
    --------
    drop_features : Missing features instead of noisy ones.
    mahalearn.GaussianClassifier : Gaussian classifier with feature weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.datasets import add_noise
    >>> (add_noise(np.zeros((3, 5)), 10.0, 2, random_state=0) != 0).sum(axis=1)
    array([2, 2, 2])
    """
    rng = np.random.default_rng(random_state)
    X = np.asarray(X, float)
    noise = rng.normal(0.0, np.sqrt(variance), X.shape)
    chosen = _chosen(X.shape, X.shape[1] if n_noisy is None else n_noisy, rng)
    return X + np.where(chosen, noise, 0.0)


def drop_features(
    X: ArrayLike, n_missing: int, *, value: float = 0.0, random_state: Generator | None = None
) -> np.ndarray:
    """Replace random features of each row by a value, as if they were missing.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    n_missing : int
        Number of missing features in each row.
    value : float, default=0.0
        Value that replaces them: 0 in the paper; NaN for ``missing="ignore"``.
    random_state : int, numpy.random.Generator or None, default=None
        Seed, or the generator to go on with.

    Returns
    -------
    incomplete : ndarray of shape (n_samples, n_features)
        Rows with missing features.

    See Also
    --------
    add_noise : Noisy features instead of missing ones.
    mahalearn.GaussianClassifier : Gaussian classifier that takes rows with gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.datasets import drop_features
    >>> drop_features(np.ones((2, 5)), 3, random_state=0).sum(axis=1)
    array([2., 2.])
    """
    rng = np.random.default_rng(random_state)
    X = np.asarray(X, float)
    return np.where(_chosen(X.shape, n_missing, rng), value, X)


def _chosen(shape, k, rng):
    """k true cells in each row, all choices equally likely."""
    if not 0 <= k <= shape[1]:
        raise ValueError(f"Between 0 and {shape[1]} features can be chosen; got {k}.")
    return rng.random(shape).argsort(axis=1) < k
