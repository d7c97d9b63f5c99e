"""Hold-outs and folds of the papers' protocols."""

import math
import warnings

import numpy as np

N_FOLDS = 10


def hold_out(y, fraction, seed):
    """Training and test indices: ⌈β·n_j⌉ objects of each class for training, as PRTools' gendat.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class labels.
    fraction : float
        β, the share of each class to train on.
    seed : int
        Seed of the draw.

    Returns
    -------
    train, test : arrays of int
        Indices in ascending order.

    Examples
    --------
    >>> from mahalearn.papers.holdouts import hold_out
    >>> train, test = hold_out([0, 0, 0, 1, 1, 1, 1], 0.5, seed=0)
    >>> len(train), len(test)
    (4, 3)
    """
    y = np.asarray(y)
    rng = np.random.RandomState(seed)
    train = []
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        # 0.15·200 is 30 and not 30.000000000000004 objects.
        train.append(members[: math.ceil(round(fraction * len(members), 9))])
    train = np.sort(np.concatenate(train))
    return train, np.setdiff1d(np.arange(len(y)), train)


def stratified_folds(y, seed):
    """The ten folds of a cell, the same for every method and kernel."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        # A class of fewer than ten objects is absent from some folds' test parts: no harm.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        return list(splitter.split(np.zeros(len(y)), y))
