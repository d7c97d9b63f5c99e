"""The splits of a cross-validation, pairs of positions (train, test), and the metrics of folds."""

import warnings
from functools import cache
from inspect import signature
from itertools import pairwise

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from .._validation import is_real, is_whole
from ..formulas.calibration import fit_temperature, fit_temperatures, log_softmax
from ..formulas.offsets import TIE_RTOL, settled, settling_steps, winners

# A family ties with the best within this many standard errors of the difference.
TIE_ERRORS = 0.5


def fold_metrics(scores, truth, starts, classes, scoring=None, rounding=0.0, arguments=None):
    """The metric of each fold: scores (m, c) and labels of all folds, fold f from starts[f] on.

    rounding (m,): what it may leave in the scores. Where a scorer asks for probabilities, they are
    calibrated as those of the fitted search are: by one temperature, from the held-out scores of
    all folds. arguments: further ones of the scorer, a dict for each fold.
    """
    rounding = np.broadcast_to(rounding, len(scores))[None]
    return tables_metrics(scores[None], truth, starts, classes, scoring, rounding, arguments)[0]


def tables_metrics(scores, truth, starts, classes, scoring, rounding, arguments=None):
    """`fold_metrics` (r, f) of several tables: scores (r, m, c), rounding (r, m)."""
    folds, codes = [slice(a, b) for a, b in pairwise(starts)], np.searchsorted(classes, truth)
    plain = not arguments or not any(arguments)
    if plain and scoring in (None, "accuracy", "balanced_accuracy"):
        predicted = winners(scores, rounding)
        if scoring == "balanced_accuracy":
            return np.array([[_balanced(codes[f], one[f]) for f in folds] for one in predicted])
        return _fold_means((predicted == codes).astype(float), starts)
    steps = settling_steps(np.moveaxis(scores, 0, -1), np.median(rounding, axis=1))
    scores = settled(scores, steps.T[:, None])
    if plain and scoring == "neg_log_loss":
        T = fit_temperatures(scores, codes)[:, None, None]
        log_p = log_softmax(scores / T)[:, np.arange(len(codes)), codes]
        log_p = np.maximum(log_p, np.log(np.finfo(float).eps))  # as scikit-learn's
        return _fold_means(log_p, starts)
    options = truth, folds, classes, scoring, [{}] * len(folds) if plain else arguments
    return np.array([_scorer_metrics(table, *options) for table in scores])


def _fold_means(values, starts):
    """Means (r, f) over the folds of values (r, m)."""
    return np.add.reduceat(values, starts[:-1], axis=1) / np.diff(starts)


def _scorer_metrics(scores, truth, folds, classes, scoring, arguments):
    """A scorer's values (f,) of the folds of one table, all of them numbers."""
    scorer = scoring if callable(scoring) else get_scorer(scoring or "accuracy")
    codes, weights = np.searchsorted(classes, truth), held_out_weights(arguments)
    temperature = cache(lambda: fit_temperature(scores, codes, weights))
    values = [
        scorer(
            FoldScores(classes, scores[fold], temperature),
            np.arange(fold.stop - fold.start)[:, None],
            truth[fold],
            **of_fold,
        )
        for fold, of_fold in zip(folds, arguments, strict=True)
    ]
    if not all(map(is_real, values)):
        raise ValueError(f"scoring={scoring!r} must give a number for each fold; got {values!r}.")
    return values


def takes_weights(scoring):
    """True for a scorer that takes sample_weight; accuracy does, in place of None."""
    scorer = scoring if callable(scoring) else get_scorer(scoring or "accuracy")
    return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters


def held_out_weights(arguments):
    """Weights (m,) of the held-out objects from the scorer's arguments for each fold, or None."""
    parts = [of_fold.get("sample_weight") for of_fold in arguments]
    return np.concatenate(parts) if all(np.ndim(part) == 1 for part in parts) else None


class FoldScores(ClassifierMixin, BaseEstimator):
    """Scores of one fold as an estimator, for scorers; X are row numbers."""

    def __init__(self, classes_, scores, temperature):
        self.classes_ = classes_
        self.scores = scores
        self.temperature = temperature

    def decision_function(self, X):
        """Scores, in scikit-learn's shape."""
        scores = self.scores[np.asarray(X)[:, 0]]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X):
        """The class of the largest score."""
        return self.classes_[winners(self.scores[np.asarray(X)[:, 0]])]

    def predict_proba(self, X):
        """Calibrated probabilities."""
        return softmax(self.scores[np.asarray(X)[:, 0]] / self.temperature(), axis=1)


def nearly_best(scores):
    """Which scores equal the largest but for rounding: the means of equal counts may differ."""
    largest = np.max(scores)
    return scores >= largest - TIE_RTOL * max(1.0, abs(largest))


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


def refuse_nan(mean_scores, scoring):
    """A score that is undefined on a fold cannot choose."""
    if np.isnan(mean_scores).any():
        raise ValueError(
            f"scoring={scoring!r} gave NaN for some candidates; choose a score that is defined on "
            "every fold."
        )


def _balanced(truth, predicted):
    """Mean recall of the classes that are there, as scikit-learn's balanced accuracy."""
    return float(np.mean([(predicted[truth == c] == c).mean() for c in np.unique(truth)]))


# Folds of small data are repeated as long as that scores at most this many objects, twice or as
# often as there are this many splits.
SCORED = 600
MOST_REPEATS, MOST_SPLITS = 2, 10


def splits_of(cv, X, y, groups=None):
    """The pairs (train, test) of a splitter, a number of folds or an iterable."""
    if is_whole(cv) and cv > 1:
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
        if groups is not None:
            warnings.warn(
                f"cv={cv} does not keep groups apart: scores of new groups will be lower than "
                f"those reported. Use cv=GroupKFold({cv}) or another splitter of groups.",
                UserWarning,
                stacklevel=4,
            )
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
            stacklevel=5,
        )
    repeats = int(np.clip(SCORED // len(y), 1, max(MOST_REPEATS, MOST_SPLITS // folds)))
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))
