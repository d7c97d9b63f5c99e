"""A graph that is written by computing: arrays of numpy's kind whose operations become nodes.

`Value` takes part in numpy's protocols (NEP 13 and 18), so that a formula of this library that is
written in plain numpy gives its own graph when it is called with values in place of arrays. Numbers
are in double precision: kernel models amplify rounding.
"""

from collections.abc import Callable
from functools import partialmethod
from typing import Any, NamedTuple

import numpy as np

# The version of ONNX's operators: the first in which every reduction takes its axes as an input.
OPSET = 18
# ONNX's numbers of the types of tensors.
TENSOR_TYPES = {"float32": 1, "int64": 7, "str": 8, "bool": 9, "float64": 11}

UFUNCS = {
    np.absolute: "Abs",
    np.add: "Add",
    np.divide: "Div",
    np.equal: "Equal",
    np.exp: "Exp",
    np.greater: "Greater",
    np.greater_equal: "GreaterOrEqual",
    np.less: "Less",
    np.less_equal: "LessOrEqual",
    np.log: "Log",
    np.logical_and: "And",
    np.matmul: "MatMul",
    np.maximum: "Max",
    np.minimum: "Min",
    np.multiply: "Mul",
    np.negative: "Neg",
    np.power: "Pow",
    np.rint: "Round",
    np.sqrt: "Sqrt",
    np.subtract: "Sub",
    np.tanh: "Tanh",
}
# Operators whose values are truth values.
TRUTH = ("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN")
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


class Node(NamedTuple):
    """An operator of the graph, its inputs and outputs by name."""

    kind: str
    inputs: list
    outputs: list
    attributes: dict


class Graph:
    """Nodes and constants; names begin with the prefix."""

    def __init__(self, prefix=""):
        self.prefix = prefix
        self.nodes = []
        self.constants = {}
        self._count = 0

    def unique(self, stem):
        """A name that the graph does not have yet."""
        self._count += 1
        return f"{self.prefix}{stem}_{self._count}"

    def constant(self, array):
        """The name of an array."""
        array = np.asarray(array)
        if array.dtype.kind in "iuf":
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        name = self.unique("constant")
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def proto(self, inputs, outputs, name="mahalearn"):
        """The graph in ONNX's form, between inputs and outputs that are ValueInfoProtos."""
        from onnx import helper, numpy_helper

        nodes = [helper.make_node(n.kind, n.inputs, n.outputs, **n.attributes) for n in self.nodes]
        constants = [numpy_helper.from_array(array, key) for key, array in self.constants.items()]
        return helper.make_graph(nodes, name, inputs, outputs, constants)

    def add(self, kind, *inputs, n_outputs=1, **attributes):
        """Add a node of inputs that are values or arrays; a value, or several of them."""
        names = [x.name if isinstance(x, Value) else self.constant(x) for x in inputs]
        outputs = [self.unique(kind.lower()) for _ in range(n_outputs)]
        self.nodes.append(Node(kind, names, outputs, attributes))
        dtype = bool if kind in TRUTH else float
        values = [Value(self, name, dtype) for name in outputs]
        return values[0] if n_outputs == 1 else values


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is known when the graph runs; dtype: of truth values, or of numbers."""

    def __init__(self, graph, name, dtype=float):
        self.graph = graph
        self.name = name
        self.dtype = np.dtype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc is np.square:
            return self * self
        out = options.pop("out", (None,))[0]
        if ufunc not in UFUNCS or method != "__call__" or options:
            raise NotImplementedError(f"numpy.{ufunc.__name__} has no node.")
        # Numbers of Python would be whole numbers, which ONNX does not mix with others.
        inputs = [x if isinstance(x, Value) else self._number(x) for x in inputs]
        result = self.graph.add(UFUNCS[ufunc], *inputs)
        if out is None:
            return result
        out.name = result.name  # in place: the value stands for the result from now on
        return out

    def _number(self, x):
        return np.asarray(x, dtype=float) if np.asarray(x).dtype.kind in "iuf" else x

    def __array_function__(self, function, types, args, options):
        if function not in FUNCTIONS:
            raise NotImplementedError(f"numpy.{function.__name__} has no node.")
        return FUNCTIONS[function](self.graph, *args, **options)

    def __getitem__(self, key):
        """Columns by a slice or positions, ``value[:, key]``, or ``value[:, None]``."""
        rows, columns = key
        if rows is None and columns == slice(None):
            return self.graph.add("Unsqueeze", self, np.array([0]))
        if rows != slice(None):
            raise NotImplementedError("Rows of a graph are not selected.")
        if columns is None:
            return self.graph.add("Unsqueeze", self, np.array([1]))
        if isinstance(columns, slice):
            most = np.iinfo(np.int64).max
            start, stop = columns.start or 0, most if columns.stop is None else columns.stop
            ends = [np.array([number]) for number in (start, stop, 1)]
            return self.graph.add("Slice", self, *ends)
        return self.graph.add("Gather", self, np.asarray(columns), axis=1)

    @property
    def T(self):
        """The transpose of a matrix."""
        return self.graph.add("Transpose", self, perm=[1, 0])

    def astype(self, dtype, copy=True):
        """Truth values as numbers; numbers stay: formulas choose between the precisions."""
        return self.cast(float) if self.dtype == bool else self

    def cast(self, dtype):
        """The values in another type."""
        return self.graph.add("Cast", self, to=TENSOR_TYPES[np.dtype(dtype).name])

    def _reduced(self, kind, axis, keepdims=False):
        """Sums, means or extremes along an axis."""
        return self.graph.add(kind, self, np.array([axis]), keepdims=int(keepdims))

    sum, mean = partialmethod(_reduced, "ReduceSum"), partialmethod(_reduced, "ReduceMean")
    max, min = partialmethod(_reduced, "ReduceMax"), partialmethod(_reduced, "ReduceMin")

    def argmax(self, axis):
        """Positions of the first of the largest values along an axis."""
        return self.graph.add("ArgMax", self, axis=axis, keepdims=0)


def implements(function):
    """Register what a function of numpy is in a graph."""

    def register(node):
        FUNCTIONS[function] = node
        return node

    return register


@implements(np.where)
def _where(graph, condition, a, b):
    values = [x if isinstance(x, Value) else np.asarray(x, dtype=float) for x in (a, b)]
    return graph.add("Where", condition, *values)


@implements(np.outer)
def _outer(graph, a, b):
    a = np.asarray(a)[:, None]
    return a * b[None, :]


@implements(np.concatenate)
def _concatenate(graph, values, axis=0):
    return graph.add("Concat", *values, axis=axis)


@implements(np.column_stack)
def _column_stack(graph, columns):
    return graph.add("Concat", *(column[:, None] for column in columns), axis=1)


@implements(np.einsum)
def _einsum(graph, subscripts, a, b):
    if subscripts != "ij,ij->i":
        raise NotImplementedError(f"numpy.einsum({subscripts!r}) has no node.")
    return (a * b).sum(axis=1)


@implements(np.clip)
def _clip(graph, value, low, high):
    return np.minimum(np.maximum(value, low), high)
