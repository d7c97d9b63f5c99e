"""Decisions of detectors, from p-values and the distances behind them."""

import warnings

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .._array_api import like
from .._typing import Objects
from .._validation import check_share
from ..formulas.conformal import benjamini_hochberg, prediction_sets
from ._folds import warn_small_classes


class PValueMixin(OutlierMixin):
    """Detection methods from two: ``p_values(X)`` (m, c), and ``_nearest(X)``.

    ``_nearest(X)`` gives the least distance to any class and ``p_none``, (m,) each; ``_n_ranked``
    is the number of calibration objects behind ``p_none``, ``_distance_scale`` a distance of usual
    size, and ``_class_counts()`` the number of calibration objects of each class.
    """

    def p_none(self, X: Objects) -> np.ndarray:
        """Return how unusual it is for a regular object to be as far from every class.

        The rank of the least distance to any class among those of the calibration objects. It has
        more power than the largest of `p_values`, and holds for the mixture of the classes, not for
        each of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            Small for objects of none of the classes.
        """
        return like(X, self._nearest(X)[1])

    def score_samples(self, X: Objects) -> np.ndarray:
        """Return how regular each object is: `p_none`, ties ordered by the least distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger is more regular; p_none − 1/(n + 1) < score < p_none.
        """
        nearest, p = self._nearest(X)
        share = 0.5 + np.arctan(nearest.astype(float) / self._distance_scale) / np.pi
        return like(X, p - np.clip(share, 1e-9, 1 - 1e-9) / (self._n_ranked + 1))

    def decision_function(self, X: Objects) -> np.ndarray:
        """Return `score_samples` less ``offset_``: negative where `predict` gives −1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Negative for novelties.
        """
        check_is_fitted(self)
        return self.score_samples(X) - self.offset_

    def predict(self, X: Objects) -> np.ndarray:
        """Return 1 for objects that may belong to one of the classes, −1 for novelties.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            −1 where ``p_none`` ≤ `level`.
        """
        return like(X, np.where(np.asarray(self.decision_function(X)) < 0, -1, 1))

    def predict_set(self, X: Objects, confidence: float = 0.95) -> np.ndarray:
        """Return the classes that each object may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.
        confidence : float, default=0.95
            The set of a new object of any class holds that class with at least this probability.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), dtype bool
            True where a class is in the set; a row without any belongs to none of them.
        """
        p = np.asarray(self.p_values(X))
        warn_small_classes(self.class_labels_, self._class_counts(), confidence)
        return like(X, prediction_sets(p, confidence))

    def select(self, X: Objects, fdr: float = 0.1) -> np.ndarray:
        """Return the novelties in a batch, with a bound on the share of false alarms among them.

        The procedure of Benjamini and Hochberg on `p_none`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of objects; the result depends on the whole batch.
        fdr : float, default=0.1
            False discovery rate: the expected share of regular objects among those selected.

        Returns
        -------
        novel : ndarray of shape (n_samples,), dtype bool
            True for the objects selected.
        """
        check_share(fdr, "fdr")
        p = self._nearest(X)[1]
        selected = benjamini_hochberg(p, fdr)
        least, n = 1 / (self._n_ranked + 1), int((p <= self.level).sum())
        if n and not selected.any() and n * fdr / len(p) < least:
            warnings.warn(
                f"Nothing is selected, although {n} of {len(p)} objects have p_none <= "
                f"{self.level:g}: with {self._n_ranked} calibration objects no p-value is below "
                f"{least:.2g}, but fdr={fdr:g} for {n} of them needs {n * fdr / len(p):.2g}. Use "
                "more training objects, a larger fdr, or predict.",
                UserWarning,
                stacklevel=2,
            )
        return selected

    def fit_predict(self, X: Objects, y: Objects | None = None) -> np.ndarray:
        """Fit, and judge each training object by its leave-one-out rank.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects.
        y : array-like of shape (n_samples,), default=None
            Class labels.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            −1 for outliers, 1 for the others.
        """
        labels = getattr(self.fit(X, y), "labels_", None)
        if labels is None:
            raise ValueError(
                "fit_predict needs leave-one-out ranks: a table, and calibration='loo' or 'auto'."
            )
        return np.where(labels == 1, -1, 1)

    def _judge_training(self, scores, regular=None):
        """Set decision_scores_ and labels_ of training objects from leave-one-out distances (n,).

        regular: mask (n,) of the objects that others are ranked among; all if None.
        """
        regular = np.ones(len(scores), bool) if regular is None else regular
        reference = np.sort(scores[regular])
        farther = len(reference) - np.searchsorted(reference, scores) + ~regular
        self.decision_scores_ = scores
        self.labels_ = (farther <= self.level * (len(reference) + ~regular)).astype(int)

    @property
    def _n_rejected(self):
        """Number of calibration ranks that count as novel at `level`."""
        return int(np.floor(self.level * (self._n_ranked + 1) + 1e-9))

    @property
    def offset_(self) -> float:
        """``decision_function`` is ``score_samples`` minus this."""
        return self._n_rejected / (self._n_ranked + 1)

    def _warn_of_level(self):
        """Warn where p_none cannot be as small as `level`; returns the detector."""
        if not self._n_rejected:
            n = self._n_ranked
            warnings.warn(
                f"With {n} calibration objects no p-value is at most level={self.level:g}: predict "
                f"will reject nothing. The least level is 1/{n + 1}.",
                UserWarning,
                stacklevel=3,
            )
        elif self._n_unbounded >= self._n_rejected:
            warnings.warn(
                f"{self._n_unbounded} of the {self._n_ranked} calibration objects are alone in "
                "their classes, or nearly so, and may be arbitrarily far from them: p_none is "
                f"never at most level={self.level:g}, and predict will reject nothing. Leave out "
                "classes of one or two objects, or calibrate on further ones.",
                UserWarning,
                stacklevel=3,
            )
        return self
