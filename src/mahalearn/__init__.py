"""Mahalanobis-distance classification in input, kernel and Kreĭn spaces."""

from ._lazy import lazy

__version__ = "0.3.0"

# Where each public name lives. Attributes are resolved on first use, so that importing the package
# costs nothing: the command line starts through it.
_HOME = {
    "ConformalClassifier": "novelty.classifier",
    "KernelMahalanobisNovelty": "novelty.detector",
    "MahalanobisNovelty": "novelty.mahalanobis",
    "descent_weights": "formulas.feature_weights",
    "difference_weights": "formulas.feature_weights",
    "DissimilaritySpaceDiscriminant": "classifiers.dissimilarity_space",
    "GaussianClassifier": "classifiers.gaussian",
    "KernelFisherDiscriminant": "classifiers.kernel_fisher",
    "KernelKNeighborsClassifier": "classifiers.kernel_neighbors",
    "KernelMahalanobisTransformer": "classifiers.kernel_quadratic",
    "KernelPCAQuadraticDiscriminant": "classifiers.kernel_pca",
    "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
    "KernelRidgeClassifier": "classifiers.kernel_ridge",
    "KernelSearchCV": "model_selection.search",
    "LandmarkMap": "kernels.landmarks",
    "MahalanobisClassifierCV": "model_selection.ensemble",
    "MahalanobisKernel": "kernels.mahalanobis_kernel",
    "MahalanobisSVC": "classifiers.svm",
    "MeasureKernel": "kernels.measure",
    "OneVsRestSVC": "classifiers.one_vs_rest_svm",
    "PrecomputedKernel": "kernels.precomputed",
    "ProximityKernel": "kernels.proximity_kernel",
    "PseudoEuclideanEmbedding": "proximity.embedding",
    "RecursiveFeatureMachine": "classifiers.learned_metric",
    "TableEncoder": "table_encoder",
    "load_model": "persistence",
    "model_about": "persistence",
    "save_model": "persistence",
    "to_onnx": "onnx.export",
    "trusted_types": "persistence",
}

__getattr__, __dir__, _names = lazy(__name__, _HOME)
__all__ = ["__version__", *_names]
