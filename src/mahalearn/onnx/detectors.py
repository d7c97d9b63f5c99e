"""Distances and p-values of `MahalanobisNovelty` in a graph."""

import numpy as np

from ..formulas.class_metrics import ClassMetrics, RelativeMetric
from .kernels import unit_rows


def detector_outputs(estimator, X):
    """{name: value} of the distances and of what they say."""
    fitted = estimator.fitted_
    X = unit_rows(X) if estimator.normalize_ else X
    d2 = class_sq_distances(fitted.model.metric, X)
    p_none = p_values(d2.min(axis=1, keepdims=True), [fitted.limits.every.limits])
    # A score is below the offset where the p-value is at most the share of rejected ranks.
    novel = p_none <= estimator.offset_ + 0.5 / (fitted.limits.every.n + 1)
    outputs = {
        "label": 1 - 2 * novel.cast(float),
        "distances": d2,
        "p_none": p_none.sum(axis=1),
    }
    outputs["label"] = outputs["label"].sum(axis=1).cast(int)
    if fitted.limits.by_class is not None:
        outputs["p_values"] = p_values(d2, [one.limits for one in fitted.limits.by_class])
    return outputs


def class_sq_distances(metric, X):
    """d² (q, c), `sq_distances` of the metrics."""
    if isinstance(metric, RelativeMetric):
        P, c = (X - metric.shared.origin) @ metric.projection, len(metric.constants)
        squares = np.square(P[:, slice(0, c)]).sum(axis=1, keepdims=True)
        return squares - 2 * P[:, slice(c, None)] + metric.constants
    if isinstance(metric, ClassMetrics):
        Z = X - metric.shared.origin
        pairs = zip(metric.offsets, metric.whiteners, strict=True)
        return np.column_stack([np.square((Z - e) @ F).sum(axis=1) for e, F in pairs])
    Z = (X - metric.origin) @ metric.whitener
    return np.column_stack([np.square(Z - centre).sum(axis=1) for centre in metric.centres])


def p_values(d2, limits):
    """(1 + #{t_i ≥ d²})/(n + 1) for each column of d² (q, c) and its ascending limits.

    The number of limits below d² is found by halving: its binary digits, the largest first.
    """
    graph, n = d2.graph, np.array([len(t) for t in limits])
    width = 2 ** int(np.ceil(np.log2(n.max() + 1)))
    table = np.full((len(limits), width), np.inf)
    for row, t in zip(table, limits, strict=True):
        row[: len(t)] = t
    starts = np.arange(len(limits)) * width - 1
    below = d2 * 0.0
    step = width // 2
    while step:
        place = graph.add("Add", (below + step).cast(int), starts)
        below = below + step * (graph.add("Gather", table.ravel(), place) < d2).cast(float)
        step //= 2
    return (1 + n - below) / (n + 1)
