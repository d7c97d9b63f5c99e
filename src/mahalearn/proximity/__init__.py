"""Matrices of dissimilarities or similarities: diagnosis and embedding.

Measures of two objects are public in :mod:`mahalearn.measures`, kernels in
:mod:`mahalearn.kernels`; their names here are deprecated.
"""

import warnings

from .._lazy import lazy

_get, __dir__, __all__ = lazy(
    __name__,
    {
        "ProximityDiagnosis": "proximity.diagnosis",
        "PseudoEuclideanEmbedding": "proximity.embedding",
        "diagnose": "proximity.diagnosis",
    },
)
# Names that version 0.1 had here: the package that has them now.
_MOVED = {
    **dict.fromkeys(
        (
            "Compression",
            "Correlation",
            "EditDistance",
            "FunctionMeasure",
            "Gower",
            "Hausdorff",
            "MEASURES",
            "Measure",
            "pairwise",
        ),
        "measures",
    ),
    "ProximityKernel": "kernels",
}


def __getattr__(name):
    if name in _MOVED:
        from importlib import import_module

        package = f"{__name__.partition('.')[0]}.{_MOVED[name]}"
        warnings.warn(
            f"mahalearn.proximity.{name} is deprecated since version 0.2 and will be removed in "
            f"0.4; import it from {package}.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(import_module(package), name)
    return _get(name)
