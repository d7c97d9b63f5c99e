"""Mahalanobis-distance classification in input, kernel and Kreĭn spaces."""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives. Attributes are resolved on first use, so that importing the package
# costs nothing: the command line starts through it.
_HOME = {
    "GaussianClassifier": "classifiers.gaussian",
    "KernelMahalanobisTransformer": "classifiers.kernel_mahalanobis",
    "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
    "MeasureKernel": "kernels",
    "PrecomputedKernel": "kernels",
    "descent_weights": "formulas.feature_weights",
    "difference_weights": "formulas.feature_weights",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOME])
