"""The splits of a cross-validation: pairs of positions (train, test)."""

import numbers
import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from .._validation import is_whole

# Folds of small data are repeated as long as that scores at most this many objects, twice or as
# often as there are this many splits.
SCORED = 600
MOST_REPEATS, MOST_SPLITS = 2, 10


def splits_of(cv, X, y, groups=None):
    """The pairs (train, test) of a splitter, a number of folds or an iterable."""
    if isinstance(cv, numbers.Integral) and cv > 1:
        largest = int(np.unique(y, return_counts=True)[1].max())
        if largest < cv:
            raise ValueError(
                f"cv={cv} folds need a class of {cv} objects at least; the largest has {largest}. "
                + (f"Use cv={largest} or fewer." if largest > 1 else "More objects are needed.")
            )
    return check_cv(cv, y, classifier=True).split(X, y, groups)


def check_splits(splits, y):
    """Pairs of positions (train, test); what cannot be learned from or leaks is refused."""
    splits = check_positions(splits, len(y))
    codes = np.unique(y, return_inverse=True)[1]
    for train, _ in splits:
        if (codes[train] == codes[train[0]]).all():
            raise ValueError(
                "A training part of cv holds a single class, and nothing can be learned from it: "
                "use fewer folds, a stratified splitter, or more objects of each class."
            )
    return splits


def check_positions(splits, n):
    """Pairs of positions (train, test) from 0 to n − 1, of masks and negative positions, too."""
    splits = [tuple(_positions(part, n) for part in split) for split in splits]
    if not splits:
        raise ValueError("cv has no splits; it must give at least one pair (train, test).")
    for train, test in splits:
        if not len(train) or not len(test):
            raise ValueError(
                "A split of cv has an empty part; the training and the test part must hold "
                f"objects, got {len(train)} and {len(test)}."
            )
        learned = np.zeros(n, dtype=bool)
        learned[train] = True
        if learned[test].any():
            raise ValueError("cv has objects that are in the training and the test part at once.")
    return splits


def _positions(part, n):
    part = np.asarray(part)
    if part.dtype == bool and part.shape == (n,):
        return np.flatnonzero(part)
    if not part.size:
        return np.empty(0, np.intp)
    if part.dtype.kind in "iu" and part.ndim == 1:
        lowest = part.min()
        if lowest >= -n and part.max() < n:
            return np.where(part < 0, part + n, part) if lowest < 0 else part
    raise ValueError(
        f"The parts of a split in cv are positions of the {n} objects, whole numbers from 0 to "
        f"{n - 1}; got {part!r}."
    )


def make_splits(cv, X, y, counts, random_state, groups=None):
    """The (train, test) pairs that all families are compared on.

    A number of stratified folds is reduced where most objects are in classes that are smaller, and
    folds are repeated where there are few objects. A split is left out where fewer than two classes
    are left to learn from.
    """
    if is_whole(cv):
        splits = _stratified(cv, y, counts, random_state)
    else:
        splits = check_positions(splits_of(cv, X, y, groups), len(y))
    splits = [split for split in splits if len(np.unique(y[split[0]])) > 1]
    if not splits:
        raise ValueError(
            f"No split of the n_samples={len(y)} objects has two classes in its training part. "
            "Two classes need two objects each."
        )
    return splits


def _stratified(cv, y, counts, random_state):
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds; got {cv}.")
    if counts.max() < 2:
        raise ValueError(
            "Every class has a single object, so nothing can be held out to compare the families: "
            f"n_samples={len(y)}. At least one class needs two objects."
        )
    # At least half of the objects are in classes of this size or larger.
    typical = int(np.sort(np.repeat(counts, counts))[len(y) // 2])
    folds = min(int(cv), max(2, typical))
    if counts.min() < cv:
        warnings.warn(
            f"The smallest class has {counts.min()} object{'s' if counts.min() > 1 else ''}, fewer "
            f"than cv={cv} folds: {folds} folds are used, and scores and probabilities of such "
            "classes are rough.",
            UserWarning,
            stacklevel=4,
        )
    repeats = int(np.clip(SCORED // len(y), 1, max(MOST_REPEATS, MOST_SPLITS // folds)))
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))
