"""Classifiers on the same objects: what they have in common is fitted, held and computed once."""

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from .._memory import BLOCKS, IN_CACHE, row_chunks, scratch
from .._sparse import is_sparse
from .._validation import take
from ..kernels.protocol import fit_named_kernel, is_named
from ..training.exact import SharedRows
from .kernel_classifier import KernelClassifier


def fit_members(estimators, X, y, computed=None, weights=None):
    """{name: estimator} fitted on all objects; kernels, training objects, class models are shared.

    computed: {name: (fitted kernel, Gram matrix)} where these are there already; weights: of the
    objects, for the members that take them.
    """
    computed, kernels, trainings, distances, chosen = computed or {}, {}, {}, {}, {}
    for name, estimator in estimators.items():
        if _at_landmarks(estimator):  # there are no weights
            key = estimator.landmarks, estimator.random_state
            shared = not is_sparse(X) and same_landmarks([estimator])
            estimator.fit_shared(X, y, chosen.get(key) if shared else None)
            if shared:
                chosen[key] = estimator.landmarks_
            continue
        if not estimator.shares_kernel:
            weighted = weights is not None and has_fit_parameter(estimator, "sample_weight")
            estimator.fit(X, y, **({"sample_weight": weights} if weighted else {}))
            continue
        kernel_and_gram = computed.get(name)
        key = None if kernel_and_gram is None else id(kernel_and_gram[0])
        if kernel_and_gram is None and is_named(estimator.kernel):
            key = estimator.kernel, estimator.gamma, estimator.degree
            if key not in kernels:
                kernels[key] = fit_named_kernel(
                    estimator.kernel, X, gamma=estimator.gamma, degree=estimator.degree
                )
            kernel_and_gram = kernels[key], None
        estimator.fit_shared(X, y, kernel_and_gram)
        if kernel_and_gram is None:
            key = id(estimator.training_.original.kernel)
        estimator.share(key, trainings, distances)
    return estimators


def _at_landmarks(estimator):
    return isinstance(estimator, KernelClassifier) and estimator.landmarks is not None


def same_landmarks(estimators):
    """True where kernels see rows as they are: k-means chooses the same landmarks for all."""
    return all(is_named(e.kernel) and e.standardize is False for e in estimators)


def member_scores(members, X):
    """{member: scores (m, c)} of queries, with memory bounded by working_memory."""
    kernels = [m for m in members.values() if isinstance(m, KernelClassifier)]
    width = max([len(m.training_.reference_order()) for m in kernels], default=1)
    # Squared and city-block distances, one kernel, and what a model works with.
    blocks = 3 + BLOCKS
    chunks = row_chunks(len(X), blocks * width, blocks * IN_CACHE)
    with scratch() as workspace:
        parts = [_chunk_scores(members, take(X, rows), workspace) for rows in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in members}


def _chunk_scores(members, X, workspace):
    rows, scores = SharedRows(X, workspace), {}
    # Members with one kernel stand together, among them those with the same class models.
    for name in sorted(members, key=lambda name: members[name].sharing_order):
        scores[name] = members[name].shared_scores(X, rows)
    return scores
