"""The outputs of a graph: labels, scores, probabilities, distances, p-values or features."""

from functools import singledispatch

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..classifiers.kernel_quadratic import KernelMahalanobisTransformer
from ..formulas.offsets import TIE_RTOL
from ..kernels.landmarks import LandmarkMap
from ..novelty.mahalanobis import MahalanobisNovelty
from ..table_encoder import TableEncoder
from .detectors import detector_outputs
from .encoders import encoded_table
from .graph import TENSOR_TYPES, Node, Value
from .kernels import NoGraphError, kernel_values
from .scores import class_scores, sq_distances_of, with_all_classes


def _label_array(classes):
    if classes.dtype.kind in "US" or classes.dtype == object:
        return np.array([str(label) for label in classes], dtype=object)
    return classes.astype(bool) if classes.dtype.kind == "b" else classes


def output_names(estimator):
    """Names of the outputs of an estimator, in their order."""
    if isinstance(estimator, MahalanobisNovelty):
        labelled = estimator.fitted_.limits.by_class is not None
        return ["label", "distances", "p_none", *(["p_values"] if labelled else [])]
    if not is_classifier(estimator):
        return ["features"]
    return ["label", "scores", *(["probabilities"] if hasattr(estimator, "predict_proba") else [])]


def write(graph, estimator, X, dtype, names):
    """Write an estimator between the input named X and outputs by name, {output: its name}."""
    outputs = estimator_outputs(estimator, Value(graph, X).cast(float))
    for name in output_names(estimator):
        kind, _ = output_type(estimator, name, dtype)
        single = kind == TENSOR_TYPES["float32"]
        node = Node("Cast", [], [], {"to": kind}) if single else Node("Identity", [], [], {})
        graph.nodes.append(node._replace(inputs=[outputs[name].name], outputs=[names[name]]))


def output_type(estimator, name, dtype):
    """The type and shape of an output."""
    if name != "label":
        one = name == "p_none" or (name == "scores" and len(estimator.classes_) == 2)
        return TENSOR_TYPES[dtype], [None] if one else [None, None]
    kind = _label_array(getattr(estimator, "classes_", np.zeros(1, int))).dtype.kind
    names = {"O": "str", "i": "int64", "u": "int64", "b": "bool", "f": "float64"}
    return TENSOR_TYPES[names[kind]], [None]


def estimator_outputs(estimator, X):
    """{name: value} of a fitted estimator for queries X, a value (q, d)."""
    if not hasattr(estimator, "n_features_in_"):
        raise NoGraphError(
            f"This {type(estimator).__name__} takes objects, not rows of numbers: measures of "
            "strings, series or sets have no ONNX graph."
        )
    return outputs_of(estimator, X)


@singledispatch
def outputs_of(estimator, X):
    """The same; here those of a classifier."""
    if not is_classifier(estimator):
        raise NoGraphError(f"{type(estimator).__name__} has no ONNX graph.")
    scores = class_scores(estimator, X)
    outputs = {"label": labels(estimator, scores), "scores": scores}
    if len(estimator.classes_) == 2:
        outputs["scores"] = (scores[:, slice(1, 2)] - scores[:, slice(0, 1)]).sum(axis=1)
    if hasattr(estimator, "predict_proba"):
        outputs["probabilities"] = probabilities(estimator, scores)
    return outputs


outputs_of.register(MahalanobisNovelty)(detector_outputs)


@outputs_of.register(TableEncoder)
def _table(encoder, X):
    return {"features": encoded_table(encoder, X)}


@outputs_of.register(LandmarkMap)
def _landmark_map(estimator, X):
    rows = estimator.landmark_kernel_
    if rows.kernel is None:
        k = X[:, estimator.columns_]
    else:
        k = kernel_values(rows.kernel, X, rows.landmarks)
    return {"features": estimator.features_.transform(k)}


@outputs_of.register(KernelMahalanobisTransformer)
def _transformer(estimator, X):
    d2 = sq_distances_of(estimator.distances_, estimator.training_, X)
    return {"features": with_all_classes(estimator, d2, np.inf)}


def labels(estimator, scores):
    """The winning classes, `offsets.winners`: of scores equal up to rounding the first wins."""
    best = scores.max(axis=1, keepdims=True)
    size = np.maximum(abs(best), abs(scores))
    tie = np.maximum(TIE_RTOL * size, rounding_of(estimator))
    # Of a class that cannot win the score is −inf, and so is the difference.
    first = (scores - best >= -np.where(tie < np.inf, tie, 0.0)).cast(float).argmax(axis=1)
    return scores.graph.add("Gather", _label_array(estimator.classes_), first)


def rounding_of(estimator):
    """Size of the rounding errors of the scores that decide: of a search those of the best."""
    if is_stack(estimator):
        return 0.0
    best = getattr(estimator, "best_estimator_", estimator)
    return (best[-1] if isinstance(best, Pipeline) else best).rounding_


def is_stack(estimator):
    """True for an ensemble that weighs the probabilities of its members."""
    return getattr(estimator, "calibrations_", None) is not None


def probabilities(estimator, scores):
    """Class probabilities (q, c) of scores; those of a stack are their logarithms already."""
    temperature = 1.0 if is_stack(estimator) else getattr(estimator, "temperature_", 1.0)
    return scores.graph.add("Softmax", scores / temperature, axis=1)
