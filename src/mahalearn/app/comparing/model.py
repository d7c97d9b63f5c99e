"""What is saved: a classifier, distances to the classes, and how far training objects were."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._objects import check_objects
from ...measures.table import as_measure

# Probabilities below are as good as this one: a forest's zeros have no logarithm.
SMALLEST = 1e-12


def square_matrix(measure, objects):
    """Proximities of all pairs of objects; a dissimilarity of an object with itself is 0.

    A compressor leaves a rest there, which new objects, known by their rows alone, do not bring.
    """
    matrix = measure.between(objects, symmetrize="mean")
    if measure.dissimilarity:
        np.fill_diagonal(matrix, 0.0)
    return matrix


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


def class_scores(model, X):
    """Scores of the classes (m, c), and whether they are logarithms of probabilities."""
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(X), SMALLEST)), True
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return scores, False


def class_distances(model, X):
    """Squared distances to the classes (m, c), None if the model has none."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if not hasattr(last, "mahalanobis"):
        return None
    for _, step in (steps or ())[:-1]:
        X = step.transform(X)
    return np.asarray(last.mahalanobis(X))


class TrainedModel(ClassifierMixin, BaseEstimator):
    """A classifier with distances to the classes beside it.

    Parameters
    ----------
    classifier : fitted estimator
        Predicts labels.
    distances : fitted estimator
        Has ``mahalanobis``, or is a pipeline that ends with such; None if there is none.
    held_out : list of ndarray
        For each class, squared distances of its own objects to it, each measured by a model that
        had not seen the object, ascending.
    temperature : float
        What the classifier's scores, or the logarithms of its own probabilities, are divided by
        before they become probabilities; 1 leaves its own probabilities as they are.
    """

    def __init__(self, classifier, distances=None, held_out=None, temperature=1.0):
        self.classifier = classifier
        self.distances = distances
        self.held_out = held_out
        self.temperature = temperature

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

    def typicality(self, d2):
        """How usual distances are for each class: a conformal p-value.

        (1 + number of the class's held-out training distances ≥ d²)/(1 + number of them). Of
        objects that are drawn like a class's training objects, about a share p has a value ≤ p; not
        exactly, since held-out distances are of models with fewer objects: often somewhat fewer,
        but more for IC distances to small classes, which have fewer directions in each fold.
        """
        out = np.empty(d2.shape)
        for j, own in enumerate(self.held_out):
            beyond = len(own) - np.searchsorted(own, d2[:, j], side="left")
            out[:, j] = (1 + beyond) / (1 + len(own))
        return out

    def outliers(self, d2, level=0.05):
        """Whether objects are too far from every class.

        Too far is a typicality of at most `level`; in a class of n objects, where none is below
        1/(n + 1), farther than all of them.
        """
        reachable = np.array([1 / (1 + len(own)) for own in self.held_out])
        return (self.typicality(d2) <= np.maximum(level, reachable) + 1e-12).all(axis=1)
