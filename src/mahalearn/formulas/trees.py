"""Sums of small decision trees."""

from typing import NamedTuple

import numpy as np


class Trees(NamedTuple):
    """Scores f_j(x) = b_j + Σ v(leaf of x) over the trees of class j.

    Nodes of all trees stand in one list: a row goes from a node to `left` where its value of column
    `feature` is at most `threshold`, else to `right`; a leaf leads to itself. value: of leaves;
    roots (t,): first nodes; owners (t,): the class of each tree; depth: the most steps to a leaf;
    start (c,): b.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    owners: np.ndarray
    depth: int
    start: np.ndarray

    def scores(self, X):
        """f of rows X (m, p), (m, c)."""
        values, first = X.ravel(), np.arange(len(X))[:, None] * X.shape[1]
        node = np.broadcast_to(self.roots, (len(X), len(self.roots)))
        children = np.stack([self.right, self.left], axis=1).ravel()
        for _ in range(self.depth):
            lower = values.take(first + self.feature.take(node)) <= self.threshold.take(node)
            node = children.take(2 * node + lower)
        return self.value.take(node) @ self.of_class() + self.start

    def of_class(self):
        """The trees of each class: (t, c), 0 or 1."""
        return (self.owners[:, None] == np.arange(len(self.start))).astype(float)


def join_trees(trees, owners, start):
    """The Trees of single ones: dicts of the fields of a node, with "leaf" and "depth"."""
    roots = np.cumsum([0, *[len(tree["value"]) for tree in trees[:-1]]])
    parts = []
    for tree, root in zip(trees, roots, strict=True):
        places = root + np.arange(len(tree["value"]))
        left = np.where(tree["leaf"], places, root + tree["left"])
        right = np.where(tree["leaf"], places, root + tree["right"])
        parts.append((tree["feature"], tree["threshold"], left, right, tree["value"]))
    nodes = [np.concatenate(column) for column in zip(*parts, strict=True)]
    depth = max(int(tree["depth"].max()) for tree in trees)
    return Trees(*nodes, roots, np.asarray(owners), depth, np.asarray(start, dtype=float))
