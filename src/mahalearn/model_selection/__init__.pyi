# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminantCV
from ..classifiers.kernel_fisher import KernelFisherDiscriminantCV
from ..classifiers.kernel_neighbors import KernelKNeighborsClassifierCV
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminantCV
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminantCV
from ..classifiers.kernel_ridge import KernelRidgeClassifierCV
from ..classifiers.one_vs_rest_svm import OneVsRestSVCCV
from ..classifiers.svm import MahalanobisSVCCV
from .chooser import MahalanobisClassifierCV

__all__ = [
    "DissimilaritySpaceDiscriminantCV",
    "KernelFisherDiscriminantCV",
    "KernelKNeighborsClassifierCV",
    "KernelPCAQuadraticDiscriminantCV",
    "KernelQuadraticDiscriminantCV",
    "KernelRidgeClassifierCV",
    "MahalanobisClassifierCV",
    "MahalanobisSVCCV",
    "OneVsRestSVCCV",
]
