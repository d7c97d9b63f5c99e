"""Gradient boosting of small trees by scikit-learn, as a member of an ensemble."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier

from .._base import DensityClassifierMixin
from .._memory import BLOCKS, IN_CACHE, row_chunks
from .._typing import ArrayLike, Objects
from .._validation import refuse_dask, validate_rows
from ..formulas.trees import join_trees
from .explanation import explain


class BoostedTrees(DensityClassifierMixin, BaseEstimator):
    """scikit-learn's HistGradientBoostingClassifier with small trees.

    It is no Mahalanobis classifier: an ensemble has it for tables whose classes follow rules along
    the columns. It has no distances, and its scores jump, so that no gradient explains them.

    Parameters
    ----------
    max_leaf_nodes : int, default=8
        Number of leaves of a tree.
    learning_rate : float, default=0.2
        Factor of each tree.
    max_iter : int, default=50
        Number of trees of each class; with two classes that of all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    trees_ : Trees
        The trees in arrays.
    n_features_in_ : int
        Number of features seen in `fit`.
    """

    smooth_scores = False
    needs_rows = True

    def __init__(
        self, max_leaf_nodes: int = 8, *, learning_rate: float = 0.2, max_iter: int = 50
    ) -> None:
        self.max_leaf_nodes = max_leaf_nodes
        self.learning_rate = learning_rate
        self.max_iter = max_iter

    def fit(self, X: Objects, y: Objects, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the objects.

        Returns
        -------
        self : BoostedTrees
            The fitted classifier.
        """
        self._search_temperature = None
        refuse_dask(self, X, y)
        X, y = validate_rows(self, X, y, dtype=np.float64)
        model = HistGradientBoostingClassifier(
            max_leaf_nodes=self.max_leaf_nodes,
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            l2_regularization=LEAF_PENALTY,
            early_stopping=False,
            random_state=0,
        )
        model.fit(X, y, sample_weight)
        self.classes_, self.trees_ = model.classes_, _trees(model, X[:CHECKED])
        return self

    explain = explain

    def _contributions(self, x, a, b):
        return None, None

    def query_scores(self, queries: Any) -> np.ndarray:
        """Scores (m, c) of queries that need no more checks."""
        chunks = row_chunks(len(queries), BLOCKS * len(self.trees_.roots), IN_CACHE)
        return np.concatenate([self.trees_.scores(queries[rows]) for rows in chunks])


# Penalty on the squared values of leaves. Without one values grow without bound where a class has
# a few objects that the first trees separate.
LEAF_PENALTY = 1.0
# Training rows on which the arrays must give scikit-learn's scores.
CHECKED = 200
# Fields of scikit-learn's nodes.
_FIELDS = {
    "feature": "feature_idx",
    "threshold": "num_threshold",
    "left": "left",
    "right": "right",
    "value": "value",
    "leaf": "is_leaf",
    "depth": "depth",
}


def _trees(model, X):
    """The Trees of a fitted HistGradientBoostingClassifier; X: some rows.

    As arrays they predict one row fifty times faster, and files and graphs need not know
    scikit-learn's own types. scikit-learn has no public way to its trees, so the scores of the rows
    are compared with those of its own `decision_function`.
    """
    trees, owners = [], []
    two = len(model.classes_) == 2  # then all trees are those of the second class
    for iteration in model._predictors:
        for j, predictor in enumerate(iteration):
            nodes = predictor.nodes
            tree = {name: nodes[field].astype(int) for name, field in _FIELDS.items()}
            tree |= {name: nodes[_FIELDS[name]].astype(float) for name in ("threshold", "value")}
            trees.append(tree)
            owners.append(j + two)
    joined = join_trees(trees, owners, np.zeros(len(model.classes_)))
    scores = model.decision_function(X)
    scores = np.column_stack([np.zeros(len(X)), scores]) if two else scores
    differences = scores - joined.scores(X)  # the start of each class, the same for all rows
    start = differences.mean(axis=0)
    if np.abs(differences - start).max() > 1e-8 * (1 + np.abs(scores).max()):
        raise RuntimeError(
            "The trees of this version of scikit-learn could not be read. Leave the family "
            "'boosting' out, and report the version of scikit-learn."
        )
    return joined._replace(start=start)
