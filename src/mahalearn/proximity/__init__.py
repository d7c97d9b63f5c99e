"""Matrices of dissimilarities or similarities: diagnosis and embedding.

Measures of two objects are in :mod:`mahalearn.measures`, kernels in :mod:`mahalearn.kernels`.
"""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "ProximityDiagnosis": "proximity.diagnosis",
        "PseudoEuclideanEmbedding": "proximity.embedding",
        "diagnose": "proximity.diagnosis",
    },
)
