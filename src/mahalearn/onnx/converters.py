"""Converters of ``skl2onnx``, so that pipelines with an estimator of ours convert, too."""

from sklearn.base import is_classifier

from .._lazy import extra_module
from .graph import OPSET, TENSOR_TYPES, Graph
from .kernels import NoGraphError
from .outputs import output_names, output_type, outputs_of, write
from .scores import class_scores

# Every type that has an entry of its own in one of the two tables.
CONVERTED = tuple(
    kind for kind in {**class_scores.registry, **outputs_of.registry} if kind is not object
)


def register_converters() -> None:
    """Register every estimator that has a graph with ``skl2onnx``.

    `to_onnx` does so by itself; call it before ``skl2onnx.to_onnx`` or ``convert_sklearn``.

    Examples
    --------
    >>> from mahalearn.onnx.converters import register_converters
    >>> register_converters()  # doctest: +SKIP
    """
    from skl2onnx import update_registered_converter

    for kind in CONVERTED:
        update_registered_converter(
            kind, f"Mahalearn{kind.__name__}", _shapes, _convert, parser=_parse
        )


def pipeline_to_onnx(pipeline, dtype):
    """A pipeline by ``skl2onnx``."""
    skl2onnx = extra_module("skl2onnx", "A pipeline needs skl2onnx", "onnx")
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    if not hasattr(pipeline, "n_features_in_"):
        raise NoGraphError(
            f"{type(pipeline[0]).__name__} takes objects, not rows of numbers: its pipeline has no "
            "ONNX graph."
        )
    register_converters()
    kind, last = {"float64": DoubleTensorType, "float32": FloatTensorType}[dtype], pipeline[-1]
    foreign = is_classifier(last) and not isinstance(last, CONVERTED)
    try:
        return skl2onnx.to_onnx(
            pipeline,
            initial_types=[("X", kind([None, pipeline.n_features_in_]))],
            target_opset=OPSET,
            # Else probabilities would be a list of dictionaries.
            options={id(last): {"zipmap": False}} if foreign else None,
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        steps = ", ".join(type(step).__name__ for _, step in pipeline.steps)
        reason = str(error).splitlines()[0]
        raise NoGraphError(
            f"A step of the pipeline ({steps}) has no ONNX graph. skl2onnx says: {reason}"
        ) from error


def _parse(scope, model, inputs, custom_parsers=None):
    operator = scope.declare_local_operator(f"Mahalearn{type(model).__name__}", model)
    operator.inputs = inputs
    for name in output_names(model):
        variable = scope.declare_local_variable(name, _variable_type(model, name, inputs[0]))
        operator.outputs.append(variable)
    return operator.outputs


def _variable_type(model, name, X):
    from skl2onnx.common import data_types

    kinds = {
        TENSOR_TYPES["float32"]: data_types.FloatTensorType,
        TENSOR_TYPES["float64"]: data_types.DoubleTensorType,
        TENSOR_TYPES["int64"]: data_types.Int64TensorType,
        TENSOR_TYPES["str"]: data_types.StringTensorType,
        TENSOR_TYPES["bool"]: data_types.BooleanTensorType,
    }
    kind, shape = output_type(model, name, _dtype(X))
    return kinds[kind](shape)


def _dtype(X):
    from skl2onnx.common.data_types import DoubleTensorType

    return "float64" if isinstance(X.type, DoubleTensorType) else "float32"


def _shapes(operator):
    for variable, name in zip(operator.outputs, output_names(operator.raw_operator), strict=True):
        variable.type = _variable_type(operator.raw_operator, name, operator.inputs[0])


def _convert(scope, operator, container):
    from onnx import numpy_helper

    model, X = operator.raw_operator, operator.inputs[0]
    graph = Graph(scope.get_unique_operator_name("mahalearn") + "_")
    outputs = dict(zip(output_names(model), (v.full_name for v in operator.outputs), strict=True))
    write(graph, model, X.full_name, _dtype(X), outputs)
    for name, array in graph.constants.items():
        tensor = numpy_helper.from_array(array, name)
        if array.dtype == object:
            labels = [label.encode() for label in array]
            container.add_initializer(name, tensor.data_type, list(array.shape), labels)
        else:
            container.add_initializer(name, tensor.data_type, None, tensor)
    for node in graph.nodes:
        attributes = {**node.attributes, "name": scope.get_unique_operator_name(node.kind)}
        container.add_node(node.kind, node.inputs, node.outputs, op_version=OPSET, **attributes)
