# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .classifiers.dissimilarity_space import (
    DissimilaritySpaceDiscriminant,
    DissimilaritySpaceDiscriminantCV,
)
from .classifiers.distances import KernelMahalanobisTransformer
from .classifiers.gaussian import GaussianClassifier
from .classifiers.kernel_fisher import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from .classifiers.kernel_neighbors import KernelKNeighborsClassifier, KernelKNeighborsClassifierCV
from .classifiers.kernel_pca import KernelPCAQuadraticDiscriminant, KernelPCAQuadraticDiscriminantCV
from .classifiers.kernel_quadratic import KernelQuadraticDiscriminant, KernelQuadraticDiscriminantCV
from .classifiers.kernel_ridge import KernelRidgeClassifier, KernelRidgeClassifierCV
from .classifiers.learned_metric import RecursiveFeatureMachine
from .classifiers.one_vs_rest_svm import OneVsRestSVC, OneVsRestSVCCV
from .classifiers.svm import MahalanobisSVC, MahalanobisSVCCV
from .formulas.feature_weights import descent_weights, difference_weights
from .kernels.landmarks import LandmarkMap
from .kernels.mahalanobis import MahalanobisKernel
from .kernels.measure import MeasureKernel
from .kernels.precomputed import PrecomputedKernel
from .kernels.proximity import ProximityKernel
from .model_selection.chooser import MahalanobisClassifierCV
from .novelty.classifier import ConformalClassifier
from .novelty.drift import drift_test
from .novelty.mahalanobis import MahalanobisNovelty
from .persistence import load_model, model_about, save_model
from .proximity.embedding import PseudoEuclideanEmbedding

__version__: str

OneVsAllSVC = OneVsRestSVC

__all__ = [
    "ConformalClassifier",
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
    "LandmarkMap",
    "MahalanobisClassifierCV",
    "MahalanobisKernel",
    "MahalanobisNovelty",
    "MahalanobisSVC",
    "MahalanobisSVCCV",
    "MeasureKernel",
    "OneVsRestSVC",
    "OneVsRestSVCCV",
    "PrecomputedKernel",
    "ProximityKernel",
    "PseudoEuclideanEmbedding",
    "RecursiveFeatureMachine",
    "__version__",
    "descent_weights",
    "difference_weights",
    "drift_test",
    "load_model",
    "model_about",
    "save_model",
]
