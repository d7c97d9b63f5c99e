"""The contents of a model file: a classifier, and distances of training objects to the classes."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._validation import check_objects
from ...formulas.conformal import least_other, rank_p_values
from ...measures.table import as_measure
from ...novelty._folds import evaluate_folds
from ..reading.problem import square_matrix
from .methods import class_distances, class_scores


class MeasureRows(TransformerMixin, BaseEstimator):
    """Objects as rows of proximities to the training objects.

    Parameters
    ----------
    measure : str or measure
        What compares two objects.
    """

    def __init__(self, measure):
        self.measure = measure

    def fit(self, X, y=None):
        """Keep the training objects."""
        self.objects_ = check_objects(X)
        self.measure_ = as_measure(self.measure).fit(self.objects_)
        return self

    def fit_transform(self, X, y=None):
        """The square matrix of the training objects."""
        self.fit(X)
        return square_matrix(self.measure_, self.objects_)

    def transform(self, X):
        """Rows of proximities of objects to the training objects."""
        check_is_fitted(self)
        return self.measure_.between(check_objects(X), self.objects_, symmetrize="mean")


class TrainedModel(ClassifierMixin, BaseEstimator):
    """A classifier with distances to the classes beside it.

    Parameters
    ----------
    classifier : fitted estimator
        Predicts labels.
    distances : fitted estimator
        Has ``mahalanobis``, or is a pipeline that ends with such; None if there is none.
    temperature : float
        What the classifier's scores, or the logarithms of its own probabilities, are divided by
        before they become probabilities; 1 leaves its own probabilities as they are.
    folds : list of CrossFold or None
        The models that had not seen their fold's objects, and their distances of these: what ranks
        new objects. ``members`` are the columns of proximities that a model takes, None where it
        takes the objects as they are.
    margins : list of ndarray or None
        For each class, margins of its own objects (see :func:`margin`), each by a classifier that
        had not seen the object, ascending.
    own_ranks : bool
        The distances are those of a detector whose own p-values rank new objects among all training
        objects. The folds tell drift alone.
    """

    def __init__(
        self,
        classifier,
        distances=None,
        temperature=1.0,
        folds=None,
        margins=None,
        own_ranks=False,
    ):
        self.classifier = classifier
        self.distances = distances
        self.temperature = temperature
        self.folds = folds
        self.margins = margins
        self.own_ranks = own_ranks

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        """Class labels."""
        return self.classifier.classes_

    def predict(self, X):
        """Labels."""
        return self.classifier.predict(X)

    def predict_proba(self, X):
        """Class probabilities, calibrated by the temperature."""
        if self.temperature == 1.0 and hasattr(self.classifier, "predict_proba"):
            return self.classifier.predict_proba(X)
        return softmax(class_scores(self.classifier, X)[0] / self.temperature, axis=1)

    def mahalanobis(self, X):
        """Squared distances to the classes."""
        return class_distances(self.distances, X)

    def typicality(self, X):
        """How typical objects are of the classes.

        Parameters
        ----------
        X : table, matrix or objects
            As `predict` takes them.

        Returns
        -------
        values : FoldValues
            With p_values (m, c), p_none (m,), and nearest, from which drift is judged. An object
            and those of a fold are compared inside one model, which had seen neither. Of one fold
            alone they are exact (split conformal), and so are the detector's own.
        """
        rows = X
        first = self.distances.steps[0][1] if hasattr(self.distances, "steps") else None
        if isinstance(first, MeasureRows) and self.folds[0].members is not None:
            rows = first.transform(X)  # once for all folds
        distances = [
            class_distances(fold.model, X if fold.members is None else rows[:, fold.members])
            for fold in self.folds
        ]
        values = evaluate_folds(self.folds, distances)
        if not self.own_ranks:
            return values
        detector, Z = self.distances[-1], self.distances[:-1].transform(X)
        return values._replace(p_values=detector.p_values(Z), p_none=detector.p_none(Z))

    def prediction_sets(self, X, confidence=0.95):
        """Sets (m, c) of classes that hold the true one with about this probability.

        The classifier was fitted on all training objects, the margins that its own are ranked among
        are of classifiers fitted without the object; so the probability is approximate.
        """
        new = margin(class_scores(self.classifier, X)[0])
        return margin_sets(self.margins, new, confidence)

    def outliers(self, values, level=0.05):
        """Flags of objects that belong to none of the classes.

        Parameters
        ----------
        values : FoldValues
            Of `typicality`.
        level : float, default=0.05
            p_none of at most this; 1/(n + 1) where n objects of folds allow no smaller value.

        Returns
        -------
        outliers : ndarray of shape (m,), dtype bool
        """
        n = 0 if self.own_ranks else sum(len(fold.codes) for fold in self.folds)
        least = 1 / (1 + n) if n else 0.0
        return values.p_none <= max(level, least) + 1e-12


def margin(scores):
    """Largest score of another class less that of each class (m, c); small for the best class."""
    scores = np.asarray(scores)
    return -scores - least_other(-scores)


def class_margins(scores, codes):
    """Margins of objects for their own class, from held-out scores (n, c): a list of classes."""
    margins = margin(scores)
    return [np.sort(margins[codes == j, j]) for j in range(scores.shape[1])]


def margin_sets(margins, new, confidence):
    """Prediction sets (m, c) of margins `new` (m, c), by those of held-out objects of each class.

    Each class is covered by itself, with this confidence or, where n objects allow no more, with
    n/(n + 1): beyond all of its objects a class is excluded. A class without any is in every set.
    """
    least = 1 / (1 + np.array([max(1, len(members)) for members in margins]))
    p_values = [
        rank_p_values([(members, values)]) for members, values in zip(margins, new.T, strict=True)
    ]
    return np.column_stack(p_values) > np.maximum(1 - confidence, least) + 1e-12
