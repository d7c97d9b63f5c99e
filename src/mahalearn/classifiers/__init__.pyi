# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .dissimilarity_space import DissimilaritySpaceDiscriminant
from .gaussian import GaussianClassifier
from .kernel_fisher import KernelFisherDiscriminant
from .kernel_neighbors import KernelKNeighborsClassifier
from .kernel_pca import KernelPCAQuadraticDiscriminant
from .kernel_quadratic import KernelMahalanobisTransformer, KernelQuadraticDiscriminant
from .kernel_ridge import KernelRidgeClassifier
from .learned_metric import RecursiveFeatureMachine
from .one_vs_rest_svm import OneVsRestSVC
from .svm import MahalanobisSVC

__all__ = [
    "DissimilaritySpaceDiscriminant",
    "GaussianClassifier",
    "KernelFisherDiscriminant",
    "KernelKNeighborsClassifier",
    "KernelMahalanobisTransformer",
    "KernelPCAQuadraticDiscriminant",
    "KernelQuadraticDiscriminant",
    "KernelRidgeClassifier",
    "MahalanobisSVC",
    "OneVsRestSVC",
    "RecursiveFeatureMachine",
]
