"""Fitted estimators as ONNX models."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._lazy import extra_module
from .._validation import check_choice
from .converters import pipeline_to_onnx
from .graph import OPSET, TENSOR_TYPES, Graph
from .outputs import output_names, output_type, write

DTYPES = ("float64", "float32")
INPUT = "X"


def to_onnx(estimator: Any, *, dtype: str = "float64") -> Any:
    """Write a fitted estimator as an ONNX model, which runs without Python.

    Read more in the :doc:`user guide </deploy>`.

    Parameters
    ----------
    estimator : fitted estimator
        A classifier, MahalanobisNovelty, LandmarkMap or KernelMahalanobisTransformer of this
        library; or a scikit-learn pipeline with one of them, which ``skl2onnx`` converts.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the input and of the outputs. Computations are in double precision either way:
        kernel models amplify rounding.

    Returns
    -------
    model : onnx.ModelProto
        Its input is ``X`` of shape (n_samples, n_features). Outputs of a classifier: ``label``,
        ``scores`` as `decision_function` gives them and, where it has `predict_proba`,
        ``probabilities``. Of MahalanobisNovelty: ``label``, ``distances``, ``p_none`` and
        ``p_values``. Of a transformer: ``features``. ``model.SerializeToString()`` are the bytes of
        a file.

    See Also
    --------
    save_model : A model file that Python reads again.
    load_model : Load such a file.

    Notes
    -----
    Needs the extra ``onnx``. Models without a graph are refused: kernels that are functions or
    measures of objects, feature weights, rows with missing values, corrected spectra of distances.
    A graph does not check its input: a row with NaN has NaN scores.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mahalearn import GaussianClassifier, to_onnx
    >>> X, y = load_wine(return_X_y=True)
    >>> model = to_onnx(GaussianClassifier().fit(X, y))  # doctest: +SKIP
    >>> with open("wine.onnx", "wb") as file:  # doctest: +SKIP
    ...     file.write(model.SerializeToString())
    """
    helper = extra_module("onnx", "to_onnx needs onnx", "onnx").helper
    dtype = check_choice(np.dtype(dtype).name, "dtype", DTYPES)
    check_is_fitted(estimator)
    if isinstance(estimator, Pipeline):
        return pipeline_to_onnx(estimator, dtype)
    graph = Graph()
    names = output_names(estimator)
    write(graph, estimator, INPUT, dtype, {name: name for name in names})
    outputs = [
        helper.make_tensor_value_info(name, *output_type(estimator, name, dtype)) for name in names
    ]
    shape = [None, estimator.n_features_in_]
    X = helper.make_tensor_value_info(INPUT, TENSOR_TYPES[dtype], shape)
    return helper.make_model(
        graph.proto([X], outputs),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
        producer_name="mahalearn",
    )
