# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .dissimilarity_space import DissimilaritySpaceDiscriminant, DissimilaritySpaceDiscriminantCV
from .distances import KernelMahalanobisTransformer
from .gaussian import GaussianClassifier
from .kernel_fisher import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from .kernel_neighbors import KernelKNeighborsClassifier, KernelKNeighborsClassifierCV
from .kernel_pca import KernelPCAQuadraticDiscriminant, KernelPCAQuadraticDiscriminantCV
from .kernel_quadratic import KernelQuadraticDiscriminant, KernelQuadraticDiscriminantCV
from .kernel_ridge import KernelRidgeClassifier, KernelRidgeClassifierCV
from .learned_metric import RecursiveFeatureMachine
from .one_vs_rest_svm import OneVsRestSVC, OneVsRestSVCCV
from .svm import MahalanobisSVC, MahalanobisSVCCV

__all__ = [
    "DissimilaritySpaceDiscriminant",
    "DissimilaritySpaceDiscriminantCV",
    "GaussianClassifier",
    "KernelFisherDiscriminant",
    "KernelFisherDiscriminantCV",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsClassifierCV",
    "KernelMahalanobisTransformer",
    "KernelPCAQuadraticDiscriminant",
    "KernelPCAQuadraticDiscriminantCV",
    "KernelQuadraticDiscriminant",
    "KernelQuadraticDiscriminantCV",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
    "MahalanobisSVC",
    "MahalanobisSVCCV",
    "OneVsRestSVC",
    "OneVsRestSVCCV",
    "RecursiveFeatureMachine",
]
