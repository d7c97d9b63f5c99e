"""Classifiers: one family per file."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "DissimilaritySpaceDiscriminant": "classifiers.dissimilarity_space",
        "GaussianClassifier": "classifiers.gaussian",
        "KernelFisherDiscriminant": "classifiers.kernel_fisher",
        "KernelKNeighborsClassifier": "classifiers.kernel_neighbors",
        "KernelMahalanobisTransformer": "classifiers.kernel_quadratic",
        "KernelPCAQuadraticDiscriminant": "classifiers.kernel_pca",
        "KernelQuadraticDiscriminant": "classifiers.kernel_quadratic",
        "KernelRidgeClassifier": "classifiers.kernel_ridge",
        "MahalanobisSVC": "classifiers.svm",
        "OneVsRestSVC": "classifiers.one_vs_rest_svm",
        "RecursiveFeatureMachine": "classifiers.learned_metric",
    },
)
