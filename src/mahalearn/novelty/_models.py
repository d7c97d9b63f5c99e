"""What calibrated models share: full-conformal classes, folds, checks."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from .._memory import row_chunks
from .._validation import check_real, check_reg, take
from ..formulas.conformal import (
    conformal_class,
    cross_p_values,
    cross_rank_p_values,
    distance_p_values,
    least_other,
    leave_one_out_sq_distances,
    margin_p_values,
    query_sq_distances,
    reference_class,
    reference_map,
)
from ..formulas.linalg import row_sq_norms
from ..kernels.protocol import (
    STANDARDIZED,
    WITH_GAMMA,
    as_kernel,
    check_kernel_name,
    is_named,
    is_precomputed,
    is_stateless,
    standardizes,
)
from ..training.exact import class_slices

SPECTRA_AS_THEY_ARE = ("krein", "ignore", "raise")


class FullConformal(NamedTuple):
    """Full-conformal RC+ of all classes: of the kernel itself or in the reference maps.

    models: of type ConformalClass, or ReferenceClass; slices: the classes among the training
    objects, which are in class order. Of reference maps only: columns, the positions (N,) of the
    references among the training objects; column_slices, the classes among the references; origin
    (N,), what kernel values against the references are taken relative to.
    """

    models: list
    slices: list
    columns: np.ndarray | slice = slice(None)
    column_slices: list | None = None
    origin: np.ndarray | None = None

    @property
    def by_references(self):
        """Whether the distances are those of reference maps."""
        return hasattr(self.models[0], "mean")

    def augmented(self, k, kxx):
        """Queries joined with each class in turn, from their kernel rows k (m, N) at `columns`."""
        if not self.by_references:
            for model, members in zip(self.models, self.slices, strict=True):
                yield model, model.augment(k[:, members].copy(), kxx)
            return
        k = k - self.origin
        everyone = row_sq_norms(k)
        for model, marks in zip(self.models, self.column_slices, strict=True):
            own = row_sq_norms(k[:, marks])
            others = k[:, : marks.start], k[:, marks.stop :]
            yield model, model.augment(*others, sq_norms=everyone - own)

    def sq_distances(self, k, kxx):
        """d² of queries to the classes, (m, c)."""
        joined = self.augmented(k, kxx)
        return np.column_stack([query_sq_distances(a, model.alpha) for model, a in joined])

    def evaluate(self, k, kxx):
        """d² of queries and their p-values by distance, both (m, c)."""
        d2, p = np.full((2, len(k), len(self.models)), np.nan)
        for j, (model, joined) in enumerate(self.augmented(k, kxx)):
            d2[:, j] = query_sq_distances(joined, model.alpha)
            p[:, j] = distance_p_values(joined, model.c, model.tie)
        return d2, p

    def margin_p_values(self, k, kxx, rivals):
        """p-values by margin (m, c); rivals (n, c) from `least_other` of leave_one_out."""
        joined_classes = list(self.augmented(k, kxx))
        d2 = [query_sq_distances(joined, model.alpha) for model, joined in joined_classes]
        query_rivals = least_other(np.column_stack(d2))
        p = np.full_like(query_rivals, np.nan)
        for j, (model, joined) in enumerate(joined_classes):
            own = rivals[self.slices[j], j]
            p[:, j] = margin_p_values(
                joined, model.alpha, model.c, own, query_rivals[:, j], model.tie
            )
        return p

    def leave_one_out(self, block, kxx):
        """d² of the training objects to the classes, each left out of its own: (n, c).

        block(rows) gives kernel rows of training objects at `columns`; kxx (n,). An object is left
        out of the references, too.
        """
        n = self.slices[-1].stop
        d2 = np.full((n, len(self.models)), np.nan)
        for rows in row_chunks(n, 4 * n):
            for members, found in self._to_other_classes(block(rows), kxx, rows):
                d2[members] = found
        for j, (model, members) in enumerate(zip(self.models, self.slices, strict=True)):
            d2[members, j] = leave_one_out_sq_distances(model.alpha, model.c)
        return d2

    def _to_other_classes(self, k, kxx, rows):
        """((objects, class), d²) of the training objects at `rows` to the classes of the others."""
        position = np.arange(rows.start, rows.stop)
        if self.by_references:
            k = k - self.origin
            mark = np.full(self.slices[-1].stop, -1)
            mark[self.columns] = np.arange(k.shape[1])
        for j, (model, members) in enumerate(zip(self.models, self.slices, strict=True)):
            other = (position < members.start) | (position >= members.stop)
            objects = position[other]
            if not len(objects):
                continue
            if self.by_references:
                marks, own = self.column_slices[j], mark[objects]
                own = own - np.where(own >= marks.stop, marks.stop - marks.start, 0)
                found = model.other_sq_distances(without(k[other], marks), own)
            else:
                joined = model.augment(k[other][:, members], kxx[objects])
                found = query_sq_distances(joined, model.alpha)
            yield (objects, j), found


def without(k, members):
    """The columns of k that are not `members`, as a new array."""
    return np.concatenate([k[:, : members.start], k[:, members.stop :]], axis=1)


def fit_full(training_block, slices, kind, reg, reg_on, columns=slice(None)):
    """A FullConformal from training_block(rows, columns) of the kernel in class order.

    columns: positions of the references, in increasing order, all objects by default. None if α is
    lost in rounding or a class is not positive definite.
    """
    counts = np.array([members.stop - members.start for members in slices])
    n = counts.sum()
    marks, origin = None, None
    if kind == "other-classes":
        of_class = np.repeat(np.arange(len(slices)), counts)[columns]
        marks = class_slices(np.bincount(of_class, minlength=len(slices)))
        origin = sum(training_block(members, columns).sum(axis=0) for members in slices) / n

    def block(j):
        members = slices[j]
        if kind == "other-classes":
            return without(training_block(members, columns) - origin, marks[j])
        return training_block(members, members)

    reg = check_reg(reg, len(slices))
    scale = 1.0
    if reg_on == "relative":
        spread = 0.0
        for j in range(len(slices)):
            k = block(j)
            if kind == "other-classes":
                spread += np.square(reference_map(k)[0]).sum()
            else:
                spread += np.trace(k) - len(k) * k.mean()
        scale = abs(spread) / n or 1.0
    alphas = reg if reg_on == "kernel" else reg * scale * (counts + 1)
    make = reference_class if kind == "other-classes" else conformal_class
    models = [make(block(j), alpha) for j, alpha in enumerate(alphas.tolist())]
    if any(model is None for model in models):
        return None
    return FullConformal(models, slices, columns, marks, origin)


# --- what is taken from the training objects, which x is not among --------------------------------


def why_refitted(kernel, standardize, X):
    """Why the kernel must be fitted anew in each fold, as a sentence; "" where it need not.

    A kernel that learns more than a scale from the training objects X knows them better than a
    query: full-conformal p-values would be too small.
    """
    if is_precomputed(kernel):
        return ""
    if is_named(kernel):
        standardized = standardizes(standardize, check_kernel_name(kernel), X) is True
        return "the columns are standardised by the training objects." if standardized else ""
    learner = as_kernel(kernel)
    if getattr(learner, "measure_is_stateless", False) or is_stateless(learner):
        return ""
    name = learner if isinstance(learner, BaseEstimator) else type(learner).__name__
    return f"the kernel {name} is fitted to the training objects."


def relative_parameters(kernel, gamma, standardize):
    """Which single numbers, or choices, of the kernel are taken from the training objects."""
    if is_precomputed(kernel):
        return []
    if not is_named(kernel):
        return [] if is_stateless(kernel) else ["the kernel's scale"]
    name = check_kernel_name(kernel)
    scaled = isinstance(gamma, str) and gamma != "auto" and name in WITH_GAMMA
    chosen = isinstance(standardize, str) and name in STANDARDIZED
    return ["gamma"] * scaled + ["standardize"] * chosen


def probability(method, relative=(), definite=True):
    """How probable p ≤ a is for an object of its class, in words; relative: parameter names."""
    if relative:
        *rest, last = relative
        names = f"{', '.join(rest)} and {last}" if rest else last
        return f"about a (the training objects set {names})"
    if method == "cross":
        return "about a (at most 2a + 2(K - 1)/(n + K) for K folds of n objects)"
    return "at most a" if definite else "at most a if the kernel is positive definite"


class CrossFold(NamedTuple):
    """One fold of a cross-conformal fit: a model and its scores of the objects it has not seen.

    members: training objects that the model was fitted on (their columns, for precomputed input).
    """

    model: object
    members: np.ndarray
    scores: np.ndarray
    codes: np.ndarray


class FoldValues(NamedTuple):
    """What cross-conformal folds say of m queries.

    d2 (m, c): mean squared distances over the folds' models; p_values (m, c); p_none (m,);
    nearest: for each fold the least distances to any class, of its own objects and of the queries.
    """

    d2: np.ndarray
    p_values: np.ndarray
    p_none: np.ndarray
    nearest: list


def evaluate_folds(folds, distances):
    """Cross-conformal values from each fold's `distances` (m, c) of the queries."""
    classwise = [(fold.scores, fold.codes, new) for fold, new in zip(folds, distances, strict=True)]
    nearest = [(scores.min(axis=1), new.min(axis=1)) for scores, _, new in classwise]
    p = cross_p_values(classwise)
    none = p[:, 0] if p.shape[1] == 1 else cross_rank_p_values(nearest)
    return FoldValues(sum(distances) / len(folds), p, none, nearest)


def objects_of(X, rows, pairwise, columns=None):
    """Objects by row numbers; of a square matrix the columns too."""
    return X[np.ix_(rows, rows if columns is None else columns)] if pairwise else take(X, rows)


def class_folds(codes, n_folds, random_state):
    """Test rows of folds that are stratified by class, classes of one object included."""
    rng = check_random_state(random_state)
    fold = np.empty(len(codes), dtype=int)
    start = 0
    for j in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == j))
        fold[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)
    return [rows for rows in (np.flatnonzero(fold == f) for f in range(n_folds)) if len(rows)]


def fold_distances(model, X, known, n_classes):
    """Distances (m, n_classes) by the model of a fold; inf to classes that it has not seen."""
    if model is None:
        return np.full((len(X), n_classes), np.inf)
    return spread_columns(model.mahalanobis(X), known, n_classes)


def spread_columns(scores, known, n_classes):
    """Scores (m, len(known) or more) as columns of all classes; inf for those not known."""
    if len(known) == n_classes:
        return scores[:, :n_classes]
    out = np.full((len(scores), n_classes), np.inf)
    out[:, known] = scores[:, : len(known)]
    return out


def check_confidence(confidence):
    """A number between 0 and 1."""
    if not 0 < check_real(confidence, "confidence") < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    return confidence


def warn_small_classes(classes, counts, confidence):
    """Name the classes that no object can be excluded from at this confidence."""
    check_confidence(confidence)
    small = (counts + 1) * (1 - confidence) < 1 - 1e-9
    if small.any():
        names = ", ".join(
            f"{label} ({n} objects)" for label, n in zip(classes[small], counts[small])
        )
        warnings.warn(
            f"Too small for a confidence of {confidence:g}, so that every set holds them: {names}. "
            f"A class needs {int(np.ceil(1 / (1 - confidence) - 1 - 1e-9))} objects.",
            UserWarning,
            stacklevel=3,
        )


# --- the choice of gamma and reg without outliers -------------------------------------------------


def draw_by_class(codes, n_most, rng):
    """Row numbers, at most about n_most of them, each class cut in proportion."""
    if len(codes) <= n_most:
        return np.arange(len(codes))
    share = n_most / len(codes)
    rows = [rng.permutation(np.flatnonzero(codes == j)) for j in range(codes.max() + 1)]
    return np.sort(np.concatenate([r[: max(2, round(share * len(r)))] for r in rows]))


def separation(training, shuffled, variant, reg, reg_on):
    """Mean AUROC of left-out regular objects against stand-ins for unknown ones."""
    K = training.training_cross(slice(None), slice(None))
    kxx = training.training_self_similarities()
    if shuffled is not None:
        model = fit_full(lambda a, b: K[a, b].copy(), training.slices, variant, reg, reg_on)
        if model is None:
            return None
        regular = model.leave_one_out(lambda a: K[a], kxx).min(axis=1)
        k = training.cross(shuffled)
        unknown = model.sq_distances(k, training.self_similarities(shuffled)).min(axis=1)
        return _auroc(regular, unknown)
    scores = []
    for members in training.slices:
        rest = np.r_[0 : members.start, members.stop : len(K)]
        size = members.stop - members.start
        slices = [
            s if s.start < members.start else slice(s.start - size, s.stop - size)
            for s in training.slices
            if s.start != members.start
        ]
        part = K[np.ix_(rest, rest)]
        model = fit_full(lambda a, b, part=part: part[a, b].copy(), slices, variant, reg, reg_on)
        if model is None:
            return None
        regular = model.leave_one_out(lambda a, part=part: part[a], kxx[rest]).min(axis=1)
        unknown = model.sq_distances(K[members][:, rest], kxx[members]).min(axis=1)
        scores.append(_auroc(regular, unknown))
    return float(np.mean(scores))


def _auroc(regular, unknown):
    scores = np.nan_to_num(np.concatenate([regular, unknown]), posinf=np.finfo(float).max)
    return float(roc_auc_score(np.arange(len(scores)) >= len(regular), scores))
