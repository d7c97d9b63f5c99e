"""The splits of the chooser, and its rule among families whose scores are statistically equal."""

import numbers
import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from .line_search import nearly_best

# Families whose mean score is within this many standard errors of the best count as equal.
TIE_ERRORS = 1.0
# Folds of small data are repeated until about this many test objects have been scored.
SCORED = 1000
MOST_REPEATS = 4


def choose(fold_scores):
    """The family to take: the first, in the order given, that ties with the best mean score.

    fold_scores (f, J), families in the order of preference. A family ties where the mean of its
    paired fold differences from the best is at most TIE_ERRORS standard errors. Returns the index
    of the choice and which families tie.
    """
    fold_scores = np.asarray(fold_scores)
    best = int(np.argmax(nearly_best(fold_scores.mean(axis=1))))
    behind = fold_scores[best] - fold_scores
    n = behind.shape[1]
    error = behind.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(len(behind))
    tied = behind.mean(axis=1) <= TIE_ERRORS * error + 1e-12
    return int(np.argmax(tied)), tied


def make_splits(cv, X, y, counts, random_state):
    """The (train, test) pairs that all families are compared on.

    A number of folds is reduced to the size of the smallest class, with a warning, and stratified
    folds are repeated where there are few objects.
    """
    if not isinstance(cv, numbers.Integral) or isinstance(cv, bool):
        return list(check_cv(cv, y, classifier=True).split(X, y))
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
            stacklevel=3,
        )
    repeats = int(np.clip(SCORED // len(y), 1, MOST_REPEATS))
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))
