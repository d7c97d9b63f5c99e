"""Explanations of decisions: scores, distances, nearest objects, contributions of columns."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._memory import row_chunks
from .._sparse import SparseRows, is_sparse
from .._typing import Objects
from .._validation import check_count, take
from ..formulas.offsets import winners

# Nodes of the integral along a line, at first and at most; how well the contributions add up; the
# step of the differences that stand for a gradient, in standard deviations of a column.
NODES, MOST_NODES, RTOL, STEP = 16, 256, 2e-3, 1e-4


def explain(self: Any, X: Objects, n_neighbors: int = 5) -> list[dict[str, Any]]:
    """Explain the decisions about objects.

    The margin is the score of the predicted class minus that of the second best; of
    :class:`mahalearn.MahalanobisSVC` it is the decision of the SVM for these two classes.

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
        squared kernel distances of the nearest training objects that the model keeps (at landmarks:
        of the nearest landmarks), None where it keeps none; "contributions" and "baseline", which
        add up to the margin: {column: the integral of the margin's gradient on the line from the
        mean training row (for sparse rows from 0)}, and the margin there. Where the kernel has no
        columns, of linear scores {position of a training object: its term} and the constant. None
        for votes of neighbours.
    """
    n_neighbors, classes = check_count(n_neighbors, "n_neighbors"), self.classes_.tolist()
    queries, scores = self._check_query(X), self._all_scores(X)
    best, second = two_best(scores, self.rounding_)
    proba = self.predict_proba(X) if hasattr(self, "predict_proba") else None
    distances = self._known_distances(queries)
    out = []
    for i, (a, b) in enumerate(zip(best, second, strict=True)):
        x = take(queries, slice(i, i + 1))
        contributions, baseline = self._contributions(x, a, b)
        out.append(
            {
                "label": classes[a],
                "second": classes[b],
                "scores": by_class(classes, scores, i),
                "proba": by_class(classes, proba, i),
                "distances": by_class(classes, distances, i),
                "neighbors": self.neighbors_of(x, n_neighbors, a, b),
                "contributions": contributions,
                "baseline": baseline,
            }
        )
    return out


def two_best(scores, rounding=0.0):
    """Positions (m,), (m,) of the largest and the second largest score (m, c)."""
    best, others = winners(scores, rounding), scores.copy()
    others[np.arange(len(best)), best] = -np.inf
    return best, others.argmax(axis=1)


def by_class(classes, table, i):
    """{class: value} of row i of a table (m, c), None without one."""
    return None if table is None else dict(zip(classes, table[i].tolist(), strict=True))


def nearest_objects(training, X, n_neighbors):
    """Positions (m, k) of the nearest training objects or landmarks, and squared distances.

    Without the part k(x, x) where it is not known: it is common to all of them.
    """
    kxx, selves = training.self_similarities(X), training.reference_self_similarities()
    order, positions, distances = training.reference_order(), [], []
    for rows in row_chunks(len(X), 3 * len(order)):
        d2 = selves - 2 * np.concatenate(list(training.pieces(take(X, rows))))
        if kxx is not None:
            d2 += kxx[rows, None]
        index = np.argsort(d2, axis=1, kind="stable")[:, :n_neighbors]
        positions.append(order[index])
        distances.append(np.take_along_axis(d2, index, axis=1))
    return np.concatenate(positions), np.concatenate(distances)


def object_contributions(model, x, a, b):
    """{position: term} of the training objects and the constant, of linear scores; else None."""
    training, linear = model.training_, model.linear_margin(a, b)
    if linear is None:
        return None, None
    terms = np.concatenate(list(training.pieces(x)))[0] * linear[0]
    used = np.flatnonzero(linear[0])
    places = training.reference_order()[used].tolist()
    return dict(zip(places, terms[used].tolist(), strict=True)), float(linear[1])


def named_contributions(model, margin, x, center, spread):
    """{column: contribution} and baseline of a margin (m, p) -> (m,) of a model's columns."""
    columns, values, baseline = column_contributions(margin, x, center, spread)
    names = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in columns] if names is None else names[columns]
    return dict(zip(names, values.tolist(), strict=True)), baseline


def column_contributions(function, x, center, spread):
    """Columns, their contributions to function(x), and the baseline, which is the rest of it.

    function: (m, p) -> (m,); x: a single row; center, spread (p,): means and deviations of the
    training rows, of which the mean is the origin. Of a sparse x the origin is 0, and only its
    nonzero columns count; a missing cell (NaN) contributes 0. The contributions are the gradient
    integrated along the line, so that the baseline is function(origin): exactly for quadratic
    forms, else up to RTOL, for which the number of nodes is doubled up to MOST_NODES. Where the
    function jumps at the origin (the cosine of a row of zeros), the jump is in the baseline.
    """
    if is_sparse(x):
        columns, end = x.matrix.indices, x.matrix.data.astype(float)
        start, steps = np.zeros(len(end)), STEP * np.maximum(np.abs(end), 1e-300)

        def points(values):
            indices = np.tile(columns, len(values))
            ends = np.arange(len(values) + 1) * len(columns)
            return SparseRows(csr_array((values.ravel(), indices, ends), (len(values), x.shape[1])))
    else:
        columns, end = np.arange(x.shape[1]), np.asarray(x[0], float)
        start = np.where(np.isnan(end), np.nan, center)
        steps = STEP * np.where(spread > 0, spread, 1.0)

        def points(values):
            return values

    at_origin, value = function(points(np.stack([start, end]))).tolist()
    contributions, n_nodes = np.zeros(len(columns)), NODES
    while len(columns) and n_nodes <= MOST_NODES:  # a row of zeros is its own origin
        nodes, shares = np.polynomial.legendre.leggauss(n_nodes)
        gradient, p = np.zeros(len(columns)), len(columns)
        for some in row_chunks(n_nodes, 4 * p**2):
            places = start + (end - start) * (nodes[some, None] + 1) / 2
            sides = places[:, None, None] + np.stack([np.diag(steps), -np.diag(steps)])
            up, down = function(points(sides.reshape(-1, p))).reshape(-1, 2, p).swapaxes(0, 1)
            gradient += shares[some] / 2 @ (up - down)
        contributions = np.nan_to_num((end - start) * gradient / (2 * steps))
        error = abs(contributions.sum() + at_origin - value)
        if error <= RTOL * max(abs(at_origin), abs(value), np.abs(contributions).max()):
            break
        n_nodes *= 2
    return columns, contributions, float(value - contributions.sum())
