"""Cross-conformal distances: models of folds rank the objects that they have not seen."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._validation import check_count, check_share, take
from ..formulas.conformal import class_p_values, rank_p_values, without_noise


class CrossFold(NamedTuple):
    """One fold of a cross-conformal fit: a model and its scores of the objects it has not seen.

    members: training objects that the model was fitted on (their columns, for precomputed input).
    """

    model: Any
    members: np.ndarray
    scores: np.ndarray
    codes: np.ndarray


class FoldValues(NamedTuple):
    """Cross-conformal values of m queries.

    d2 (m, c): mean squared distances over the folds' models; p_values (m, c); p_none (m,);
    nearest: for each fold the least distances to any class, of its held-out objects and of the
    queries.
    """

    d2: np.ndarray
    p_values: np.ndarray
    p_none: np.ndarray
    nearest: list


def evaluate_folds(folds, distances):
    """Cross-conformal values from each fold's `distances` (m, c) of the queries."""
    ranked = [
        (without_noise(calibration), codes, without_noise(new))
        for calibration, codes, new in ranked_folds(folds, distances)
    ]
    nearest = [(scores.min(axis=1), new.min(axis=1)) for scores, _, new in ranked]
    d2 = sum(distances) / len(folds)
    return FoldValues(d2, class_p_values(ranked), rank_p_values(nearest), nearest)


def ranked_folds(folds, scores):
    """Folds as `class_p_values` takes them, from each fold's scores (m, c) of the queries."""
    return [(fold.scores, fold.codes, new) for fold, new in zip(folds, scores, strict=True)]


class CrossConformal(NamedTuple):
    """Scores for classes by the models of folds.

    codes (n,): classes of the training objects; pairwise: queries are rows of kernel values.
    """

    folds: list
    codes: np.ndarray
    pairwise: bool

    def mahalanobis(self, X):
        """d² of queries to the classes, the mean over the folds' models: (m, c)."""
        return self.evaluate(X)[0]

    def evaluate(self, X):
        """d² (m, c) of queries, their p-values by distance (m, c), and p_none (m,)."""
        return evaluate_folds(self.folds, self.query_scores(X, class_distances))[:3]

    def query_scores(self, X, score):
        """Scores (m, c) of queries by each fold's model."""
        n_classes = self.codes.max() + 1
        return [
            spread_columns(
                score(fold.model, X[:, fold.members] if self.pairwise else X),
                np.unique(self.codes[fold.members]),
                n_classes,
            )
            for fold in self.folds
        ]

    @property
    def nearest(self):
        """Least distance of each training object to any class, fold by fold."""
        return np.concatenate([fold.scores.min(axis=1) for fold in self.folds])

    @property
    def training_distances(self):
        """Distances (n, c) of the training objects, each by the model that has not seen it."""
        d2 = np.full((len(self.codes), self.folds[0].scores.shape[1]), np.nan)
        for fold in self.folds:
            d2[np.setdiff1d(np.arange(len(d2)), fold.members)] = fold.scores
        return d2


def fit_folds(X, codes, held_outs, pairwise, fit_part, score):
    """Scores by the models of folds, whose held-out objects `held_outs` lists.

    fit_part(X, members) gives the model of a part of the objects, which stands at `members`;
    score(model, X) the scores of objects for the classes that the model has seen, large for unusual
    ones.
    """
    folds = []
    for held_out in held_outs:
        members = np.setdiff1d(np.arange(len(codes)), held_out)
        model = fit_part(objects_of(X, members, pairwise), members)
        scores = score(model, objects_of(X, held_out, pairwise, members))
        scores = spread_columns(scores, np.unique(codes[members]), codes.max() + 1)
        folds.append(CrossFold(model, members, scores, codes[held_out]))
    return CrossConformal(folds, codes, pairwise)


def class_distances(model, X):
    """Squared distances to the classes that a model has seen; inf where there is no model."""
    return np.full((len(X), 1), np.inf) if model is None else model.mahalanobis(X)


def objects_of(X, rows, pairwise, columns=None):
    """Objects by row numbers; of a square matrix the columns too."""
    return X[np.ix_(rows, rows if columns is None else columns)] if pairwise else take(X, rows)


def class_folds(codes, cv, random_state):
    """Held-out rows of cv folds that are stratified by class, classes of one object included."""
    n_folds = min(check_count(cv, "cv"), len(codes))
    if n_folds < 2:
        raise ValueError(
            f"Cross-conformal p-values need at least two folds and two samples; got cv={cv!r} and "
            f"n_samples = {len(codes)}."
        )
    rng = check_random_state(random_state)
    fold = np.empty(len(codes), dtype=int)
    start = 0
    for j in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == j))
        fold[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return [rows for rows in (np.flatnonzero(fold == f) for f in range(n_folds)) if len(rows)]


def spread_columns(scores, classes, n_classes):
    """Scores (m, len(classes) or more) as columns of all classes; inf for the others."""
    if len(classes) == n_classes:
        return scores[:, :n_classes]
    out = np.full((len(scores), n_classes), np.inf)
    out[:, classes] = scores[:, : len(classes)]
    return out


def warn_small_classes(classes, counts, confidence):
    """Name the classes that no object can be excluded from at this confidence."""
    check_share(confidence, "confidence")
    small = (counts + 1) * (1 - confidence) < 1 - 1e-9
    if small.any():
        names = ", ".join(
            f"{label} ({n} objects)" for label, n in zip(classes[small], counts[small])
        )
        warnings.warn(
            f"Classes too small for a confidence of {confidence:g}, which are therefore in every "
            f"set: {names}. A class needs {int(np.ceil(1 / (1 - confidence) - 1 - 1e-9))} objects.",
            UserWarning,
            stacklevel=3,
        )


def draw_by_class(codes, n_most, rng):
    """Row numbers, at most about n_most of them, each class cut in proportion."""
    if len(codes) <= n_most:
        return np.arange(len(codes))
    share = n_most / len(codes)
    rows = [rng.permutation(np.flatnonzero(codes == j)) for j in range(codes.max() + 1)]
    return np.sort(np.concatenate([r[: max(2, round(share * len(r)))] for r in rows]))
