"""Matrices of dissimilarities or similarities: diagnosis and embedding.

Measures of two objects are public in :mod:`mahalearn.measures`, kernels in
:mod:`mahalearn.kernels`; their names here are deprecated.
"""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "ProximityDiagnosis": "proximity.diagnosis",
        "PseudoEuclideanEmbedding": "proximity.embedding",
        "diagnose": "proximity.diagnosis",
    },
    moved={
        "Compression": "measures.Compression",
        "Correlation": "measures.Correlation",
        "EditDistance": "measures.EditDistance",
        "FunctionMeasure": "measures.FunctionMeasure",
        "Gower": "measures.Gower",
        "Hausdorff": "measures.Hausdorff",
        "MEASURES": "measures.MEASURES",
        "Measure": "measures.Measure",
        "ProximityKernel": "kernels.ProximityKernel",
        "pairwise": "measures.pairwise",
    },
)
