"""Model selection: the exact searches and the chooser among the families."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "DissimilaritySpaceDiscriminantCV": "classifiers.dissimilarity_space",
        "KernelFisherDiscriminantCV": "classifiers.kernel_fisher",
        "KernelKNeighborsClassifierCV": "classifiers.kernel_neighbors",
        "KernelPCAQuadraticDiscriminantCV": "classifiers.kernel_pca",
        "KernelQuadraticDiscriminantCV": "classifiers.kernel_quadratic",
        "KernelRidgeClassifierCV": "classifiers.kernel_ridge",
        "MahalanobisClassifierCV": "model_selection.chooser",
        "MahalanobisSVCCV": "classifiers.svm",
        "OneVsRestSVCCV": "classifiers.one_vs_rest_svm",
    },
)
