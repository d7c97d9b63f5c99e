"""Full-conformal distances: a query joins each class in turn, in closed form."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._memory import row_chunks
from .._validation import check_memory, check_reg, take
from ..formulas.conformal import (
    conformal_class,
    distance_p_values,
    least_other,
    leave_one_out_sq_distances,
    margin_p_values,
    query_sq_distances,
    rank_p_values,
    reference_class,
    reference_map,
    without_noise,
)
from ..formulas.linalg import center_gram, centering, is_psd, row_sq_norms
from ..kernels.protocol import (
    STANDARDIZED,
    WITH_GAMMA,
    as_kernel,
    is_named,
    is_precomputed,
    is_stateless,
    standardizes,
)
from ..training.exact import class_slices

SPECTRA_AS_THEY_ARE = ("krein", "ignore", "raise")


class References(NamedTuple):
    """Training objects that queries are compared with in the map of the other classes.

    columns: their positions in class order; slices: the classes among them; origin (N,): the mean
    of the training objects' kernel values, which all kernel values are taken relative to.
    """

    columns: np.ndarray | slice
    slices: list
    origin: np.ndarray


class FullConformal(NamedTuple):
    """Full-conformal RC+ of all classes, in the kernel's space or in the map of the other classes.

    models: a ConformalClass, or a ReferenceClass, for each class; left_out (n, c): leave-one-out
    distances of the training objects, in class order.
    """

    training: Any
    models: list
    references: References | None = None
    left_out: np.ndarray | None = None

    def mahalanobis(self, X):
        """d² of queries to the classes, (m, c)."""
        return self._over_chunks(self._sq_distances, X)

    def evaluate(self, X):
        """d² (m, c) of queries, their p-values by distance (m, c), and p_none (m,)."""
        both = self._over_chunks(self._distances_and_p_values, X)
        d2, p = both[:, : len(self.models)], both[:, len(self.models) :]
        if not np.isfinite(d2).all():
            raise ValueError(
                "The squared distances overflow: scale the kernel, or give a larger reg."
            )
        if p.shape[1] == 1:
            return d2, p, p[:, 0]
        # As the class's p-values take ties, in the units of d².
        noise = max(model.tie * (len(model.c) + 1) for model in self.models)
        nearest = [without_noise(least, noise) for least in (self.nearest, d2.min(axis=1))]
        return d2, p, rank_p_values([nearest])

    def margin_p_values(self, X):
        """p-values by margin (m, c), for two classes and more in the kernel's own space."""
        rivals = least_other(self.left_out)

        def values(k, kxx):
            joined_classes = list(self._augmented(k, kxx))
            d2 = [query_sq_distances(joined, model.alpha) for model, joined in joined_classes]
            query_rivals = least_other(np.column_stack(d2))
            p = np.full_like(query_rivals, np.nan)
            for j, (model, joined) in enumerate(joined_classes):
                members = rivals[self.training.slices[j], j]
                p[:, j] = margin_p_values(
                    joined, model.alpha, model.c, members, query_rivals[:, j], model.tie
                )
            return p

        return self._over_chunks(values, X)

    @property
    def nearest(self):
        """Least leave-one-out distance of each training object to any class, in class order."""
        return self.left_out.min(axis=1)

    @property
    def training_distances(self):
        """Leave-one-out distances (n, c) in the order of the training objects."""
        return self.left_out[self.training.as_given]

    def _over_chunks(self, function, X):
        """function(kernel rows, self-similarities) of queries, in chunks of working_memory."""
        columns = slice(None) if self.references is None else self.references.columns
        kxx = self._self_similarities(X)
        return np.concatenate(
            [
                function(self.training.cross(take(X, rows), columns), kxx[rows])
                for rows in row_chunks(len(X), 4 * len(self.training))
            ]
        )

    def _self_similarities(self, X):
        if self.references is not None:
            return np.zeros(len(X))  # not needed
        kxx = self.training.self_similarities(X)
        if kxx is None:
            raise ValueError(
                "RC+ depends on each query's self-similarity k(x, x), which rows of a precomputed "
                "kernel do not hold, and the training self-similarities differ. Use "
                "kernel=PrecomputedKernel(K) on row numbers, or variant='other-classes'."
            )
        return kxx

    def _augmented(self, k, kxx):
        """Queries joined with each class in turn, from their kernel rows."""
        if self.references is None:
            for model, members in zip(self.models, self.training.slices, strict=True):
                yield model, model.augment(k[:, members].copy(), kxx)
            return
        k = k - self.references.origin
        sq_norms = row_sq_norms(k)
        for model, marks in zip(self.models, self.references.slices, strict=True):
            others = k[:, : marks.start], k[:, marks.stop :]
            yield model, model.augment(*others, sq_norms=sq_norms - row_sq_norms(k[:, marks]))

    def _sq_distances(self, k, kxx):
        joined = self._augmented(k, kxx)
        return np.column_stack([query_sq_distances(a, model.alpha) for model, a in joined])

    def _distances_and_p_values(self, k, kxx):
        d2, p = [], []
        for model, joined in self._augmented(k, kxx):
            d2.append(query_sq_distances(joined, model.alpha))
            p.append(distance_p_values(joined, model.c, model.tie))
        return np.column_stack(d2 + p)

    def leave_one_out(self):
        """d² of the training objects to the classes, each left out of its class: (n, c).

        An object is left out of the references, too.
        """
        n = len(self.training)
        kxx = self.training.training_self_similarities()
        d2 = np.full((n, len(self.models)), np.nan)
        for rows in row_chunks(n, 4 * n):
            position = np.arange(rows.start, rows.stop)
            columns = slice(None) if self.references is None else self.references.columns
            k = self.training.training_cross(rows, columns)
            if self.references is not None:
                k -= self.references.origin
            for j, members in enumerate(self.training.slices):
                others = (position < members.start) | (position >= members.stop)
                if others.any():
                    objects = position[others]
                    d2[objects, j] = self._to_other_class(j, k[others], kxx[objects], objects)
        for j, (model, members) in enumerate(zip(self.models, self.training.slices, strict=True)):
            d2[members, j] = leave_one_out_sq_distances(model.alpha, model.c)
        return d2

    def _to_other_class(self, j, k, kxx, objects):
        """d² of training objects of other classes, by their kernel rows, to class j."""
        model = self.models[j]
        if self.references is None:
            joined = model.augment(k[:, self.training.slices[j]], kxx)
            return query_sq_distances(joined, model.alpha)
        mark = np.full(len(self.training), -1)
        mark[self.references.columns] = np.arange(k.shape[1])
        marks, coordinate = self.references.slices[j], mark[objects]
        coordinate = coordinate - np.where(coordinate >= marks.stop, marks.stop - marks.start, 0)
        return model.other_sq_distances(without(k, marks), coordinate)


def without(k, members):
    """The columns of k that are not `members`, as a new array."""
    return np.concatenate([k[:, : members.start], k[:, members.stop :]], axis=1)


def fit_full(training, reg, reg_on, columns=None):
    """Full-conformal RC+ of the classes; None where α is lost in rounding or a class is indefinite.

    columns: in the map of the other classes, the positions of the references in class order, in
    increasing order; None for the kernel's own space.
    """
    slices, counts, references = training.slices, training.counts, None
    if columns is None:
        check_memory(2 * int((counts**2).sum()), "The class kernel matrices")
        blocks = (training.gram(members) for members in slices)
        class_of, spread_of = conformal_class, lambda k: np.trace(k) - len(k) * k.mean()
    else:
        n, codes = len(training), np.repeat(np.arange(len(counts)), counts)
        n_references = len(codes[columns])
        check_memory(
            4 * n * n_references + 2 * int((counts**2).sum()),
            f"The kernel values of {n} objects against {n_references} references and the maps",
        )
        K = training.training_cross(slice(None), columns)
        marks = class_slices(np.bincount(codes[columns], minlength=len(counts)))
        references = References(columns, marks, K.mean(axis=0))
        K -= references.origin
        blocks = (without(K[members], mark) for members, mark in zip(slices, marks, strict=True))
        class_of = reference_class

        def spread_of(k):
            return np.square(reference_map(k.copy())[0]).sum()

    alphas = check_reg(reg, len(counts))
    if reg_on != "kernel":
        alphas = alphas * (counts + 1)
    if reg_on == "relative":
        blocks = list(blocks)
        spread = sum(spread_of(k) for k in blocks)
        alphas = alphas * (abs(spread) / len(training) or 1.0)
    models = [class_of(k, alpha) for k, alpha in zip(blocks, alphas.tolist(), strict=True)]
    if any(model is None for model in models):
        return None
    full = FullConformal(training, models, references)
    return full._replace(left_out=full.leave_one_out())


# --- what is taken from the training objects, which x is not among --------------------------------


def why_not_closed(training, variant, spectrum):
    """Why these distances have no closed form of p-values, as a sentence; "" if they have."""
    if variant == "other-classes":
        return ""
    if variant != "RC+":
        return f"the closed form is that of variant='RC+', not of {variant!r}."
    if spectrum not in SPECTRA_AS_THEY_ARE:
        return f"spectrum={spectrum!r} corrects the kernel by the training objects."
    training.check_spectrum(training.slices)
    if training.positive_definite or spectrum == "ignore":
        return ""
    for members in training.slices:
        K = training.gram(members)
        if not is_psd(center_gram(K, centering(K), overwrite=True)):
            return "the kernel has negative eigenvalues on a class."
    return ""


def why_refitted(kernel, standardize, X):
    """Why the kernel must be fitted anew in each fold, as a sentence; "" where it need not.

    A kernel that learns more than a scale from the training objects X knows them better than a
    query: full-conformal p-values would be too small.
    """
    if is_precomputed(kernel):
        return ""
    if is_named(kernel):
        standardized = standardizes(standardize, kernel, X) is True
        return "the columns are standardised by the training objects." if standardized else ""
    learner = as_kernel(kernel)
    if learner.measure_is_stateless or learner.stateless:
        return ""
    name = learner if isinstance(learner, BaseEstimator) else type(learner).__name__
    return f"the kernel {name} is fitted to the training objects."


def learned_parameters(kernel, gamma, standardize, reg_on):
    """Names of the single numbers, or choices, that are taken from the training objects."""
    reg = ["reg"] * (reg_on == "relative")
    if is_precomputed(kernel):
        return reg
    if not is_named(kernel):
        return ([] if is_stateless(kernel) else ["the kernel's scale"]) + reg
    scaled = isinstance(gamma, str) and gamma != "auto" and kernel in WITH_GAMMA
    chosen = isinstance(standardize, str) and kernel in STANDARDIZED
    return ["gamma"] * scaled + ["standardize"] * chosen + reg


def probability(method, learned=(), definite=True):
    """How probable p ≤ a is for an object of its class, in words; learned: parameter names."""
    if method == "cross":
        return "about a (at most 2a + 2(K - 1)/(n + K) for K folds of n objects)"
    if learned:
        *rest, last = learned
        names = f"{', '.join(rest)} and {last}" if rest else last
        return f"about a (the training objects set {names})"
    return "at most a" if definite else "at most a if the kernel is positive definite"
