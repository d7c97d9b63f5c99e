"""Is this one of my classes at all? p-values, prediction sets, novelty detection, drift."""

from .._lazy import lazy

_HOME = {
    "ConformalClassifier": "novelty.classifier",
    "DriftTest": "novelty.drift",
    "KernelMahalanobisNovelty": "novelty.detector",
    "MahalanobisNovelty": "novelty.mahalanobis",
}

__getattr__, __dir__, __all__ = lazy(__name__, _HOME)
