"""A map of the objects: two coordinates each, and what the page says of an object."""

import numpy as np
from scipy.special import softmax

from ...proximity.embedding import PseudoEuclideanEmbedding
from ..reading.encoder import TableEncoder

# Objects that a map shows; of a matrix, whose eigenvalues are needed, fewer.
MOST_OBJECTS, MOST_OF_MATRIX = 5000, 2000
# Rows that are enough for a covariance, and columns above which rows are rotated first.
COVARIANCE_ROWS, WIDE = 2000, 500
NEIGHBOURS = 3
# Probabilities of an object that are shown, and the least of them.
MOST_PROBABILITIES, LEAST_PROBABILITY = 3, 0.005


def object_map(problem, held, p_none, reasons, temperature, seed):
    """Plain values of the map.

    Parameters
    ----------
    problem : Problem
        What was classified.
    held : HeldOut
        Held-out predictions of the winner.
    p_none : ndarray of shape (n,)
        Held-out p-values of "none of the classes".
    reasons : dict
        Object -> list of (column, value, change of the log-probability).
    temperature : float
        What scores are divided by.
    seed : int
        Of the sample that is drawn where there are many objects.

    Returns
    -------
    values : dict
        Lists with an entry for each object shown, and how its distances were made.
    eigenvalues : ndarray or None
        Of the centred kernel of all objects; None of a table, and of a sample.
    """
    most = MOST_OBJECTS if problem.kind == "vectors" else MOST_OF_MATRIX
    rows = np.arange(len(problem))
    if len(problem) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    points, share, near, gap, eigenvalues = _coordinates(problem, rows)
    codes = np.unique(problem.y, return_inverse=True)[1]
    order = np.argsort(held.who, kind="stable")
    predictions = np.split(
        held.predicted[order], np.searchsorted(held.who[order], np.arange(1, len(problem)))
    )
    mean = _means(softmax(held.scores / temperature, axis=1), held.who, len(problem))
    values = {
        "objects": len(problem),
        "share": share,
        "neighbours_agree": float((codes[rows[near[:, 0]]] == codes[rows]).mean()),
        "names": [problem.called(i) for i in rows],
        "x": [float(f"{v:.4g}") for v in points[:, 0]],
        "y": [float(f"{v:.4g}") for v in points[:, 1]],
        "class": codes[rows].tolist(),
        "predictions": [predictions[i].tolist() for i in rows],
        "probabilities": [_largest(mean[i]) for i in rows],
        "p_none": [round(float(p_none[i]), 4) for i in rows],
        "nearest": near.tolist(),
        "gaps": [[float(f"{v:.3g}") for v in row] for row in gap],
        "reasons": [reasons.get(int(i), []) for i in rows],
    }
    return values, eigenvalues if len(rows) == len(problem) else None


def _means(proba, who, n):
    """Mean probabilities (n, c) of each object over its predictions."""
    total, times = np.zeros((n, proba.shape[1])), np.zeros(n)
    np.add.at(total, who, proba)
    np.add.at(times, who, 1)
    return total / np.maximum(times, 1)[:, None]


def _largest(proba):
    """The largest probabilities: pairs of a class and percent."""
    order = np.argsort(-proba, kind="stable")[:MOST_PROBABILITIES]
    return [
        [int(j), round(100 * float(proba[j]), 1)] for j in order if proba[j] > LEAST_PROBABILITY
    ]


def _coordinates(problem, rows):
    """Points (m, 2), their share of d², nearest objects and how far they are, and eigenvalues."""
    from sklearn.decomposition import PCA
    from sklearn.neighbors import NearestNeighbors

    count = min(NEIGHBOURS, len(rows) - 1)
    if problem.kind == "vectors":
        Z = whitened(TableEncoder().fit(problem.X).transform(problem.X.iloc[rows]), problem.y[rows])
        components = PCA(min(2, *Z.shape), svd_solver="covariance_eigh").fit(Z)
        points, share = np.zeros((len(Z), 2)), components.explained_variance_ratio_.sum()
        points[:, : components.n_components_] = components.transform(Z)
        gap, near = NearestNeighbors(n_neighbors=count).fit(Z).kneighbors()
        return points, float(share), near, gap, None
    M = problem.fold(np.arange(len(problem)), rows)[1][:, rows]
    K = (M + M.T) / 2 if problem.proximity == "similarity" else -((M + M.T) ** 2) / 8
    embedding = PseudoEuclideanEmbedding().fit(K)
    top = np.argsort(-embedding.eigenvalues_, kind="stable")[:2]
    points = np.zeros((len(rows), 2))
    points[:, : len(top)] = embedding.transform(K)[:, top]
    share = embedding.eigenvalues_[top].clip(0).sum() / np.abs(embedding.eigenvalues_).sum()
    diagonal = K.diagonal()
    d2 = diagonal[:, None] + diagonal - 2 * K
    np.fill_diagonal(d2, np.inf)
    near = np.argsort(d2, axis=1, kind="stable")[:, :count]
    gap = np.sqrt(np.take_along_axis(d2, near, axis=1).clip(0))
    return points, float(share), near, gap, embedding.eigenvalues_


def whitened(Z, y):
    """Rows whose Euclidean distances are Mahalanobis distances within the classes.

    The covariance is pooled over the classes and shrunk (Ledoit and Wolf).
    """
    from sklearn.covariance import LedoitWolf
    from sklearn.decomposition import PCA

    if Z.shape[1] > WIDE:
        Z = PCA(min(WIDE, len(Z)), svd_solver="randomized", random_state=0).fit_transform(Z)
    labels, codes = np.unique(y, return_inverse=True)
    centres = np.vstack([Z[codes == j].mean(axis=0) for j in range(len(labels))])
    within = Z - centres[codes]
    few = np.linspace(0, len(Z) - 1, min(len(Z), COVARIANCE_ROWS)).astype(int)
    covariance = LedoitWolf(assume_centered=True).fit(within[few]).covariance_
    values, vectors = np.linalg.eigh(covariance)
    large = values > 1e-10 * max(values[-1], 1e-300)
    return (Z - Z.mean(axis=0)) @ vectors[:, large] / np.sqrt(values[large])
