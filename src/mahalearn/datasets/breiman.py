"""Breiman's artificial problems that IDA took over: ringnorm, twonorm, waveform."""

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from .._typing import RandomState
from .synthetic import class_labels


def ringnorm(
    n_samples: int | Sequence[int] = 400,
    *,
    n_features: int = 20,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Two concentric normals of different width (Breiman's ringnorm, as in IDA and DELVE).

    Class 0 is N(a1, I) with a = 2/√d, class 1 is N(0, 4I), d = `n_features`. IDA's file holds the
    same data standardised, class 0 as −1.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    n_samples : int or pair of int, default=400
        Total, shared equally, or the sizes of the two classes.
    n_features : int, default=20
        Number of features d.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        Points.
    y : array of shape (n_samples,)
        Classes, 0 or 1.

    See Also
    --------
    twonorm : Two normals with one covariance.
    waveform : Noisy mixtures of triangular waves.

    Examples
    --------
    >>> from mahalearn.datasets import ringnorm
    >>> X, y = ringnorm(400, random_state=0)
    >>> X.shape
    (400, 20)
    """
    rng = check_random_state(random_state)
    y = class_labels(n_samples)[:, None]
    z = rng.standard_normal((len(y), n_features))
    return np.where(y == 1, 2 * z, z + 2 / np.sqrt(n_features)), y[:, 0]


def twonorm(
    n_samples: int | Sequence[int] = 400,
    *,
    n_features: int = 20,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Two normals with unit covariance (Breiman's twonorm, as in IDA and DELVE).

    Class 0 is N(−a1, I) and class 1 is N(a1, I) with a = 2/√d: the least possible error is
    Φ(−2) = 2.3 %. IDA's file holds the same data standardised, class 0 as −1.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    n_samples : int or pair of int, default=400
        Total, shared equally, or the sizes of the two classes.
    n_features : int, default=20
        Number of features d.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        Points.
    y : array of shape (n_samples,)
        Classes, 0 or 1.

    See Also
    --------
    ringnorm : Two concentric normals of different width.
    waveform : Noisy mixtures of triangular waves.

    Examples
    --------
    >>> from mahalearn.datasets import twonorm
    >>> X, y = twonorm(400, random_state=0)
    >>> bool(((X.sum(axis=1) > 0) == y).mean() > 0.9)
    True
    """
    rng = check_random_state(random_state)
    y = class_labels(n_samples)
    centres = 2 / np.sqrt(n_features) * (2 * y - 1)
    return centres[:, None] + rng.standard_normal((len(y), n_features)), y


# Breiman's waves: triangles of height 6 that peak at the features 7, 15 and 11 of 21.
_WAVES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0)


def waveform(
    n_samples: int | Sequence[int] = 400,
    *,
    n_classes: int = 2,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy mixtures of two of three triangular waves (Breiman's waveform).

    An object is u·wave + (1 − u)·other wave + N(0, I), u uniform on [0, 1], on 21 features. The
    three classes are the pairs of waves (peaks at 7 and 15, 7 and 11, 15 and 11). In IDA's
    two-class form, the default, the middle pair is class 1 and the other two are class 0.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    n_samples : int or sequence of int, default=400
        Total, shared equally over the three pairs of waves, or the sizes of the classes.
    n_classes : {2, 3}, default=2
        IDA's form, or Breiman's.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, 21)
        Points.
    y : array of shape (n_samples,)
        Classes.

    See Also
    --------
    ringnorm : Two concentric normals of different width.
    twonorm : Two normals with one covariance.

    Examples
    --------
    >>> from mahalearn.datasets import waveform
    >>> X, y = waveform(300, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((300, 21), [200, 100])
    """
    if n_classes not in (2, 3):
        raise ValueError(f"n_classes must be 2 (as in IDA) or 3 (Breiman); got {n_classes!r}.")
    rng = check_random_state(random_state)
    y = class_labels(n_samples, (2, 1) if n_classes == 2 else (1, 1, 1))
    pair = y if n_classes == 3 else np.where(y == 1, 1, 2 * rng.randint(2, size=len(y)))
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[pair].T
    u = rng.uniform(size=(len(y), 1))
    clean = u * _WAVES[first] + (1 - u) * _WAVES[second]
    return clean + rng.standard_normal(clean.shape), y
