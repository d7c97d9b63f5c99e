"""The splits of the chooser, and its rule among families whose scores are statistically equal."""

import numbers
import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from ..formulas.offsets import TIE_RTOL
from .scoring import nearly_best
from .search import check_positions

# A family ties with the best within this many standard errors of the difference.
TIE_ERRORS = 0.5
# Folds of small data are repeated as long as that scores at most this many objects.
SCORED = 600
MOST_REPEATS = 2


def choose(fold_scores, test_ratio):
    """The family to take: the first, in the order given, that ties with the best mean score.

    fold_scores (f, J), families in the order of preference; test_ratio is the size of a test part
    relative to a training part. A family ties where the mean of its paired fold differences from
    the best is at most TIE_ERRORS standard errors. These are corrected for the overlap of the
    training parts, without which differences look more certain than they are: the variance of a
    difference times 1/J + test_ratio (C. Nadeau and Y. Bengio, Inference for the generalization
    error, Machine Learning 52, 2003). Returns the index of the choice and which families tie.
    """
    fold_scores = np.asarray(fold_scores)
    best = int(np.argmax(nearly_best(fold_scores.mean(axis=1))))
    behind = fold_scores[best] - fold_scores
    n = behind.shape[1]
    variance = behind.var(axis=1, ddof=1) if n > 1 else np.zeros(len(behind))
    error = np.sqrt(variance * (1 / n + test_ratio))
    tied = behind.mean(axis=1) <= TIE_ERRORS * error + TIE_RTOL
    return int(np.argmax(tied)), tied


def make_splits(cv, X, y, counts, random_state, groups=None):
    """The (train, test) pairs that all families are compared on.

    A number of folds is reduced to the size of the smallest class, with a warning, and stratified
    folds are repeated where there are few objects. A split is left out where fewer than two classes
    are left to learn from.
    """
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        splits = _stratified(cv, y, counts, random_state)
    else:
        splits = check_positions(check_cv(cv, y, classifier=True).split(X, y, groups), len(y))
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
    folds = int(min(cv, max(2, counts.min())))
    if folds < cv:
        warnings.warn(
            f"cv={cv} is reduced to {folds} folds: the smallest class has {counts.min()} "
            f"object{'s' if counts.min() > 1 else ''}.",
            UserWarning,
            stacklevel=4,
        )
    repeats = int(np.clip(SCORED // len(y), 1, MOST_REPEATS))
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))
