"""Graphs are written without onnx: every formula meets values in place of arrays.

That onnxruntime computes the same is tested in tests/ecosystem/test_onnx.py.
"""

import pytest
from sklearn.datasets import load_iris

from mahalearn import (
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisNovelty,
    MahalanobisSVC,
    OneVsRestSVC,
)
from mahalearn.onnx.graph import Graph, Value
from mahalearn.onnx.outputs import estimator_outputs

ESTIMATORS = [
    GaussianClassifier(),
    KernelQuadraticDiscriminant(standardize=True),
    KernelQuadraticDiscriminant("FK+", kernel="linear", standardize=True),
    KernelFisherDiscriminant(landmarks=9, random_state=0, standardize=True),
    KernelPCAQuadraticDiscriminant(),
    LandmarkMap(9, random_state=0, standardize=True),
    MahalanobisClassifierCV(("gaussian", "kernel_fisher"), kernel="rbf", cv=2),
    MahalanobisNovelty(normalize=False),
    MahalanobisSVC(),
    OneVsRestSVC(kernel="poly"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_formulas_write_nodes(estimator):
    X, y = load_iris(return_X_y=True)
    graph = Graph()
    outputs = estimator_outputs(estimator.fit(X, y), Value(graph, "X"))
    assert outputs and all(isinstance(value, Value) for value in outputs.values())
    reached = {"X"}
    for node in graph.nodes:  # every node follows those that it needs
        assert set(node.inputs) <= reached | set(graph.constants)
        reached |= set(node.outputs)
    assert {value.name for value in outputs.values()} <= reached
