"""Dissimilarities and similarities of objects: measures, kernels, diagnosis and embedding."""

from importlib import import_module

# Where each public name lives, from the package's root; resolved on first use.
_HOME = {
    "Compression": "measures.compression",
    "Correlation": "measures.correlation",
    "EditDistance": "measures.edit",
    "FunctionMeasure": "measures.base",
    "Gower": "measures.gower",
    "Hausdorff": "measures.hausdorff",
    "MEASURES": "measures.table",
    "Measure": "measures.base",
    "ProximityDiagnosis": "proximity.diagnosis",
    "ProximityKernel": "proximity.transform",
    "PseudoEuclideanEmbedding": "proximity.embedding",
    "diagnose": "proximity.diagnosis",
    "pairwise": "measures.pairs",
}

__all__ = [*_HOME]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__package__.rpartition('.')[0]}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOME])
