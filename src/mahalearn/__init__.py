"""Mahalanobis-distance classification in input, kernel and Kreĭn spaces."""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives. Attributes are resolved on first use, so that importing the package
# costs nothing: the command line starts through it.
_HOME = {
    "descent_weights": "formulas.feature_weights",
    "difference_weights": "formulas.feature_weights",
    "DissimilaritySpaceDiscriminant": "classifiers.dissimilarity_space",
    "DissimilaritySpaceDiscriminantCV": "model_selection.distance_search",
    "GaussianClassifier": "classifiers.gaussian",
    "KernelFisherDiscriminant": "classifiers.kernel_fisher",
    "KernelFisherDiscriminantCV": "model_selection.kernel_search",
    "KernelKNeighborsClassifier": "classifiers.kernel_neighbors",
    "KernelKNeighborsClassifierCV": "model_selection.kernel_search",
    "KernelMahalanobisTransformer": "classifiers.kernel_mahalanobis",
    "KernelPCAQuadraticDiscriminant": "classifiers.kernel_pca",
    "KernelPCAQuadraticDiscriminantCV": "model_selection.kernel_search",
    "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
    "KernelQuadraticDiscriminantCV": "model_selection.distance_search",
    "MahalanobisClassifierCV": "model_selection.chooser",
    "MahalanobisKernel": "kernels",
    "MahalanobisSVC": "classifiers.svm",
    "MahalanobisSVCCV": "model_selection.line_search",
    "MeasureKernel": "kernels",
    "OneVsAllSVC": "classifiers.one_vs_all_svm",
    "PrecomputedKernel": "kernels",
    "ProximityKernel": "proximity.transform",
    "PseudoEuclideanEmbedding": "proximity.embedding",
    "load_model": "persistence",
    "model_about": "persistence",
    "save_model": "persistence",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOME])
