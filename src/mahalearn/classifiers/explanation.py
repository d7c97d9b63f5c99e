"""Explanations of decisions: scores, distances, nearest objects, contributions of columns."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from .._memory import row_chunks
from .._sparse import SparseRows, as_dense, is_sparse
from .._typing import Objects
from .._validation import check_count, take
from ..formulas.offsets import winners
from ..kernels.protocol import is_precomputed, takes_vectors

# Nodes of the integral along a line, and the step of the differences that stand for a gradient, in
# standard deviations of a column.
NODES, STEP = 16, 1e-4


def explain(self: Any, X: Objects, n_neighbors: int = 5) -> list[dict[str, Any]]:
    """Explain the decisions about objects.

    The margin is the score of the predicted class minus that of the second best.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Objects, or their kernel values against the training objects (``"precomputed"``).
    n_neighbors : int, default=5
        Number of nearest objects to list.

    Returns
    -------
    explanations : list of dict
        For each object: "label"; "second", the second best class; "scores", {class: score};
        "proba", {class: probability}, None where there are none; "distances", {class: squared
        Mahalanobis distance}, None where the classifier has none; "neighbors", positions and
        squared kernel distances of the nearest training objects (at landmarks: of the nearest
        landmarks); "contributions" and "baseline", which add up to the margin: {column: the
        integral of the margin's gradient on the line from the mean training row (for sparse rows
        from 0)}, and the margin there. Where the kernel has no columns, of linear scores {position
        of a training object: its term} and the constant. None for votes of neighbours.
    """
    n_neighbors, classes = check_count(n_neighbors, "n_neighbors"), self.classes_.tolist()
    queries = self._check_query(X)
    scores = self.query_scores(queries, complete=True)
    best = winners(scores, self._rounding)
    others = scores.copy()
    others[np.arange(len(best)), best] = -np.inf
    second = others.argmax(axis=1)
    proba = distances = None
    if hasattr(self, "predict_proba"):
        proba = softmax(scores / self.temperature_, axis=1)
    if hasattr(self, "mahalanobis") and self._training.self_similarities(queries) is not None:
        distances = self._all_columns(self._distances.sq_distances(queries), np.inf)
    positions, near = nearest_objects(self._training, queries, n_neighbors)

    def by_class(table, i):
        return None if table is None else dict(zip(classes, table[i].tolist()))

    out = []
    for i, (a, b) in enumerate(zip(best, second, strict=True)):
        contributions, baseline = _contributions(self, take(queries, slice(i, i + 1)), a, b)
        out.append(
            {
                "label": classes[a],
                "second": classes[b],
                "scores": by_class(scores, i),
                "proba": by_class(proba, i),
                "distances": by_class(distances, i),
                "neighbors": list(zip(positions[i].tolist(), near[i].tolist(), strict=True)),
                "contributions": contributions,
                "baseline": baseline,
            }
        )
    return out


def nearest_objects(training, X, n_neighbors):
    """Positions (m, k) of the nearest training objects or landmarks, and squared distances.

    Without the part k(x, x) where it is not known: it is common to all of them.
    """
    kxx, selves = training.self_similarities(X), training.reference_self_similarities()
    order, positions, distances = training.reference_order(), [], []
    for rows in row_chunks(len(X), 3 * len(order)):
        part = np.concatenate(list(training.pieces(take(X, rows))))
        d2 = selves - 2 * part
        if kxx is not None:
            d2 += kxx[rows, None]
        index = np.argsort(d2, axis=1, kind="stable")[:, :n_neighbors]
        positions.append(order[index])
        distances.append(np.take_along_axis(d2, index, axis=1))
    return np.concatenate(positions), np.concatenate(distances)


def _contributions(model, x, a, b):
    """{name: contribution} and baseline of the margin between the classes a and b at one object."""
    kernel, training = model.kernel, model.training_
    if takes_vectors(kernel) and not is_precomputed(kernel):
        if not model.smooth_scores:
            return None, None

        def margin(points):
            scores = model.query_scores(points)
            return scores[:, a] - scores[:, b]

        columns, values, baseline = column_contributions(margin, x, training.reference_rows())
        names = getattr(model, "feature_names_in_", None)
        names = [f"x{j}" for j in columns] if names is None else names[columns]
        return dict(zip(names, values.tolist(), strict=True)), baseline
    linear = model.linear_margin(a, b)
    if linear is None:
        return None, None
    terms = np.concatenate(list(training.pieces(x)))[0] * linear[0]
    used = np.flatnonzero(linear[0])
    places = training.reference_order()[used].tolist()
    return dict(zip(places, terms[used].tolist(), strict=True)), float(linear[1])


def column_contributions(function, x, rows):
    """Columns, their contributions to function(x), and function at the origin of the line.

    function: (m, p) -> (m,); x: a single row; rows: those of training, whose mean is the origin. Of
    a sparse x the origin is 0, and only its nonzero columns count. The contributions are the
    gradient integrated along the line, and sum to function(x) − function(origin): exactly for
    quadratic forms, up to the error of NODES nodes for others.
    """
    if is_sparse(x):
        columns, end = x.matrix.indices, x.matrix.data.astype(float)
        start, steps = np.zeros(len(end)), STEP * np.maximum(np.abs(end), 1e-300)

        def points(values):
            indices = np.tile(columns, len(values))
            ends = np.arange(len(values) + 1) * len(columns)
            return SparseRows(csr_array((values.ravel(), indices, ends), (len(values), x.shape[1])))
    else:
        rows = as_dense(rows)
        columns, end, start = np.arange(x.shape[1]), np.asarray(x[0], float), rows.mean(axis=0)
        spread = rows.std(axis=0)
        steps = STEP * np.where(spread > 0, spread, 1.0)

        def points(values):
            return values

    baseline = float(function(points(start[None]))[0])
    gradient = np.zeros(len(columns))
    if not len(columns):  # a row of zeros is its own origin
        return columns, gradient, baseline
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    for node, share in zip(nodes, shares, strict=True):
        place = start + (end - start) * (node + 1) / 2
        up, down = (function(points(place + sign * np.diag(steps))) for sign in (1, -1))
        gradient += share / 2 * (up - down) / (2 * steps)
    return columns, (end - start) * gradient, baseline
