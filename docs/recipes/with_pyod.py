"""PyOD: a detector with PyOD's conventions."""

import numpy as np
from pyod.models.base import BaseDetector

from mahalearn import MahalanobisNovelty


class MahalanobisOD(BaseDetector):
    """MahalanobisNovelty with large scores for outliers, as in PyOD."""

    def __init__(self, contamination=0.1):
        super().__init__(contamination=contamination)

    def fit(self, X, y=None):
        """Fit without labels."""
        self._set_n_classes(y)
        self.detector_ = MahalanobisNovelty(level=self.contamination).fit(X)
        self.decision_scores_ = (
            self.detector_.decision_scores_
        )  # each row left out
        self._process_decision_scores()  # threshold_, labels_
        return self

    def decision_function(self, X):
        """Squared distances."""
        return self.detector_.mahalanobis(X)[:, 0]


rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(190, 4)), 6 + rng.normal(size=(10, 4))])
outlier = np.arange(200) >= 190
model = MahalanobisOD(contamination=0.05).fit(X)
assert (model.labels_ == outlier).mean() > 0.98
new = np.vstack([10 + rng.normal(size=(3, 4)), rng.normal(size=(3, 4))])
assert model.predict(new).tolist() == [1, 1, 1, 0, 0, 0]

plain = MahalanobisNovelty(level=0.05).fit(
    X
)  # the same attributes without an adapter
assert (plain.labels_ == outlier).mean() > 0.98
