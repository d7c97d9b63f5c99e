"""Dissimilarities and similarities of objects: their kernels, diagnosis and embedding."""

from importlib import import_module

# Where each public name lives; resolved on first use, as in the package above.
_HOME = {
    "ProximityDiagnosis": "diagnosis",
    "ProximityKernel": "transform",
    "PseudoEuclideanEmbedding": "embedding",
    "diagnose": "diagnosis",
}

__all__ = [*_HOME]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOME])
