"""Held-out scores of every fold along a path of regularisation values, one function per method.

Each takes a KernelProblem, the folds it is for (boolean masks of the training objects) and the
path, and gives for each fold the scores (r, m, c) of its held-out objects, as refitting the plain
estimator on that fold would.
"""

import numpy as np

from ..classifiers._distances import alphas_of, leave_one_out_sq_distances, without_one
from ..formulas import kernel_neighbors
from ..formulas.gram import centering
from ..formulas.kernel_fisher import fisher_path
from ..formulas.kernel_mahalanobis import rc_rounding
from ..formulas.kernel_pca import fit_embedding, gaussian_class, quadratic_scores
from ..formulas.offsets import error_offsets, map_offsets
from ._distance_paths import distance_paths, has_block_updates, training_slices
from ._leave_one_out import class_weights, is_leave_one_out, leave_one_out_scores


def fold_alphas(problem, folds, variant, regs, reg_on):
    """α of each step, fold and class, (r, f, c)."""
    alphas = np.empty((len(regs), len(folds), len(problem.slices)))
    for f, train in enumerate(folds):
        counts = np.array([train[s].sum() for s in problem.slices])
        for r, reg in enumerate(regs):
            alphas[r, f] = alphas_of(
                np.full(len(counts), reg),
                reg_on,
                variant,
                counts,
                lambda t=train: spread(problem, t),
            )
    return alphas


def spread(problem, train):
    """The mean centred self-similarity of a fold's training objects, as for a plain fit."""
    total = 0.0
    for members in problem.slices:
        rows = members.start + np.flatnonzero(train[members])
        K = problem.K[np.ix_(rows, rows)]
        total += np.trace(K) - K.sum() / len(rows)
    return abs(total) / train.sum() or 1.0


def _restricted(problem, folds):
    """Groups of folds with the same classes present: (problem, fold indices, class indices)."""
    present = np.array([[train[s].any() for s in problem.slices] for train in folds])
    for pattern in np.unique(present, axis=0):
        which = np.flatnonzero((present == pattern).all(axis=1))
        classes = np.flatnonzero(pattern)
        yield problem._replace(slices=[problem.slices[j] for j in classes]), which, classes


def _spread_classes(scores, classes, n_classes):
    """Scores of all classes, −inf for those that a fold has not seen."""
    out = np.full((*scores.shape[:-1], n_classes), -np.inf)
    out[..., classes] = scores
    return out


def distance_score_path(
    problem, folds, codes, variant, regs, reg_on, score, *, loo=False, volumes=False
):
    """Scores by any function score(d2_train, codes_train, d2_test, more, present).

    more: the log-volumes, where asked for by `volumes`, and what rounding may leave in the
    distances of each step. loo: training distances to an object's own class are those without it.
    """
    scores = [np.empty((len(regs), int((~train).sum()), len(problem.slices))) for train in folds]
    for part, which, classes in _restricted(problem, folds):
        chosen = [folds[f] for f in which]
        alphas = fold_alphas(part, chosen, variant, regs, reg_on)
        rounding = distance_rounding(part, chosen, variant, alphas)
        for path in distance_paths(part, variant, chosen, alphas, volumes=volumes):
            train, f = chosen[path.fold], which[path.fold]
            if loo:
                steps = alphas[list(path.regs), path.fold]
                _leave_one_out(part, variant, reg_on, train, steps, path.d2)
            own = np.searchsorted(classes, codes[train])
            more = path.log_volumes, rounding[list(path.regs), path.fold]
            held_out = score(path.d2[:, train], own, path.d2[:, ~train], more, classes)
            scores[f][list(path.regs)] = _spread_classes(held_out, classes, len(problem.slices))
    return scores


def distance_rounding(problem, folds, variant, alphas):
    """What rounding may leave in the distances of each step and fold, (r, f)."""
    rounding = np.zeros(alphas.shape[:2])
    for j, members in enumerate(problem.slices if variant.startswith("RC") else ()):
        rows = np.arange(members.start, members.stop)
        if not problem.complete:
            rows = rows[folds[0][members]]
        means, n = centering(problem.K[np.ix_(rows, rows)]), len(rows)
        np.maximum(rounding, rc_rounding(problem.kxx, means, n, alphas[:, :, j]), out=rounding)
    return rounding


def _leave_one_out(problem, variant, reg_on, train, alphas, d2):
    """Replace the training objects' distances to their own class, in place."""
    for j, members in enumerate(problem.slices):
        rows = members.start + np.flatnonzero(train[members])
        if len(rows) > 1:
            K = problem.K[np.ix_(rows, rows)]
            for step, alpha in enumerate(without_one(alphas[:, j], len(rows), reg_on, variant)):
                d2[step, rows, j] = leave_one_out_sq_distances(
                    K, variant, alpha, definite=problem.definite or not problem.krein
                )


def quadratic_score_path(
    problem, folds, codes, variant, regs, *, reg_on, offset, class_weight, priors, classes
):
    """KernelQuadraticDiscriminant."""
    if offset == "map":
        refuse_map(problem, folds, variant, reg_on)
    if (
        variant == "RC+"
        and offset != "loo"
        and reg_on != "relative"
        and is_leave_one_out(folds)
        and min(s.stop - s.start for s in problem.slices) > 1
        and has_block_updates(problem)
    ):
        scores = leave_one_out_scores(
            problem, codes, regs, reg_on, offset, class_weight, priors, classes
        )
        if scores is not None:
            return [scores[train.argmin()] for train in folds]

    def score(d2_train, own, d2_test, more, present):
        log_volumes, rounding = more
        if offset is None:
            return d2_test / -2
        if offset == "map":
            p = np.bincount(own) / len(own) if priors is None else priors[present]
            b = np.array([map_offsets(v, p) for v in log_volumes])
        else:
            weights = class_weights(class_weight, classes[present], own)
            b = error_offsets(d2_train / -2, own, weights, rounding)
        return d2_test / -2 + b[:, None]

    return distance_score_path(
        problem,
        folds,
        codes,
        variant,
        regs,
        reg_on,
        score,
        loo=offset == "loo",
        volumes=offset == "map",
    )


def refuse_map(problem, folds, variant, reg_on):
    """MAP offsets need a volume: the plain estimator's conditions."""
    reason = None
    if variant.startswith("FK"):
        reason = "it is not defined for FK variants"
    elif variant.startswith("RC") and reg_on == "kernel":
        reason = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
    elif not problem.classes_are_nonnegative(None if problem.complete else folds[0]):
        reason = "the kernel has negative eigenvalues"
    if reason:
        raise ValueError(f"offset='map' cannot be used: {reason}. Use offset='error'.")


def head_score_path(problem, folds, codes, variant, regs, *, reg_on, new_head):
    """DissimilaritySpaceDiscriminant: a head on the training distances of each fold and step."""

    def score(d2_train, own, d2_test, more, present):
        heads = [new_head().fit(d2, own) for d2 in d2_train]
        return np.stack([head_scores(head, d2) for head, d2 in zip(heads, d2_test, strict=True)])

    return distance_score_path(problem, folds, codes, variant, regs, reg_on, score)


def head_scores(head, X):
    """(m, c) scores of any classifier: its decision function, else its predictions as 0 and 1."""
    if hasattr(head, "decision_function"):
        scores = head.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([np.zeros(len(X)), scores])
        if scores.shape[1] == len(head.classes_):
            return scores
    if hasattr(head, "predict_proba"):
        return head.predict_proba(X)
    return (head.predict(X)[:, None] == head.classes_).astype(float)


def fisher_score_path(problem, folds, codes, regs):
    """KernelFisherDiscriminant: one decomposition of the kernel matrix per fold."""
    scores = [None] * len(folds)
    for part, which, classes in _restricted(problem, folds):
        for f in which:
            rows, held_out = np.flatnonzero(folds[f]), np.flatnonzero(~folds[f])
            slices = training_slices(folds[f], part.slices)
            models = fisher_path(problem.K[np.ix_(rows, rows)], slices, regs)
            k = problem.K[np.ix_(held_out, rows)]
            path = np.stack([model.scores(k) for model in models])
            scores[f] = _spread_classes(path, classes, len(problem.slices))
    return scores


def kernel_pca_score_path(problem, folds, codes, regs, *, n_components, priors):
    """KernelPCAQuadraticDiscriminant: one embedding per fold."""
    scores = [None] * len(folds)
    for part, which, classes in _restricted(problem, folds):
        for f in which:
            rows, held_out = np.flatnonzero(folds[f]), np.flatnonzero(~folds[f])
            slices = training_slices(folds[f], part.slices)
            embedding = fit_embedding(
                problem.K[np.ix_(rows, rows)], n_components, positive_only=not problem.krein
            )
            Z = embedding.training_coordinates()
            models = [gaussian_class(Z[s]) for s in slices]
            p = [(s.stop - s.start) / len(rows) for s in slices]
            p = p if priors is None else priors[classes]
            queries = embedding.coordinates(problem.K[np.ix_(held_out, rows)])
            path = quadratic_scores(models, p, queries, regs)
            scores[f] = _spread_classes(path, classes, len(problem.slices))
    return scores


def neighbors_score_path(problem, folds, codes, counts, *, weigh, position):
    """KernelKNeighborsClassifier: the neighbours of the largest number serve all others.

    position (N,): where each object stands in the user's data; ties go to the earlier ones.
    """
    scores = []
    diagonal = problem.kxx
    for train in folds:
        rows = np.flatnonzero(train)
        rows = rows[np.argsort(position[rows])]
        held_out = np.flatnonzero(~train)
        if max(counts) > len(rows):
            raise ValueError(
                f"n_neighbors={max(counts)}, but a fold has {len(rows)} training objects; use "
                "fewer neighbours or more folds."
            )
        k = problem.K[np.ix_(held_out, rows)]
        index = kernel_neighbors.nearest(k, diagonal[rows], max(counts))
        weights = None
        if weigh is not None:
            weights = kernel_neighbors.sq_distances(k, diagonal[rows], diagonal[held_out], index)
        path = []
        for count in counts:
            w = None if weights is None else weigh(weights[:, :count])
            near = codes[rows][index[:, :count]]
            votes = kernel_neighbors.votes(near, len(problem.slices), w)
            path.append(votes / votes.sum(axis=1, keepdims=True))
        scores.append(np.stack(path))
    return scores
