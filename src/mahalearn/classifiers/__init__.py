"""Classifiers: one family per file, the plain estimator and its search side by side."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "DissimilaritySpaceDiscriminant": "classifiers.dissimilarity_space",
        "DissimilaritySpaceDiscriminantCV": "classifiers.dissimilarity_space",
        "GaussianClassifier": "classifiers.gaussian",
        "KernelFisherDiscriminant": "classifiers.kernel_fisher",
        "KernelFisherDiscriminantCV": "classifiers.kernel_fisher",
        "KernelKNeighborsClassifier": "classifiers.kernel_neighbors",
        "KernelKNeighborsClassifierCV": "classifiers.kernel_neighbors",
        "KernelMahalanobisTransformer": "classifiers.distances",
        "KernelPCAQuadraticDiscriminant": "classifiers.kernel_pca",
        "KernelPCAQuadraticDiscriminantCV": "classifiers.kernel_pca",
        "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
        "KernelQuadraticDiscriminantCV": "classifiers.kernel_quadratic",
        "KernelRidgeClassifier": "classifiers.kernel_ridge",
        "KernelRidgeClassifierCV": "classifiers.kernel_ridge",
        "MahalanobisSVC": "classifiers.svm",
        "MahalanobisSVCCV": "classifiers.svm",
        "OneVsRestSVC": "classifiers.one_vs_rest_svm",
        "OneVsRestSVCCV": "classifiers.one_vs_rest_svm",
        "RecursiveFeatureMachine": "classifiers.learned_metric",
    },
)
