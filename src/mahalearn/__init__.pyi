# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .classifiers.dissimilarity_space import (
    DissimilaritySpaceDiscriminant,
)
from .classifiers.gaussian import GaussianClassifier
from .classifiers.kernel_fisher import KernelFisherDiscriminant
from .classifiers.kernel_neighbors import KernelKNeighborsClassifier
from .classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
from .classifiers.kernel_quadratic import KernelMahalanobisTransformer, KernelQuadraticDiscriminant
from .classifiers.kernel_ridge import KernelRidgeClassifier
from .classifiers.learned_metric import RecursiveFeatureMachine
from .classifiers.one_vs_rest_svm import OneVsRestSVC
from .classifiers.svm import MahalanobisSVC
from .formulas.feature_weights import descent_weights, difference_weights
from .kernels.landmarks import LandmarkMap
from .kernels.mahalanobis_kernel import MahalanobisKernel
from .kernels.measure import MeasureKernel
from .kernels.precomputed import PrecomputedKernel
from .kernels.proximity_kernel import ProximityKernel
from .model_selection.ensemble import MahalanobisClassifierCV
from .model_selection.search import KernelSearchCV
from .novelty.classifier import ConformalClassifier
from .novelty.detector import KernelMahalanobisNovelty
from .novelty.mahalanobis import MahalanobisNovelty
from .onnx.export import to_onnx
from .persistence import load_model, model_about, save_model, trusted_types
from .proximity.embedding import PseudoEuclideanEmbedding
from .table_encoder import TableEncoder

__version__: str

__all__ = [
    "ConformalClassifier",
    "DissimilaritySpaceDiscriminant",
    "GaussianClassifier",
    "KernelFisherDiscriminant",
    "KernelKNeighborsClassifier",
    "KernelMahalanobisNovelty",
    "KernelMahalanobisTransformer",
    "KernelPCAQuadraticDiscriminant",
    "KernelQuadraticDiscriminant",
    "KernelRidgeClassifier",
    "KernelSearchCV",
    "LandmarkMap",
    "MahalanobisClassifierCV",
    "MahalanobisKernel",
    "MahalanobisNovelty",
    "MahalanobisSVC",
    "MeasureKernel",
    "OneVsRestSVC",
    "PrecomputedKernel",
    "ProximityKernel",
    "PseudoEuclideanEmbedding",
    "RecursiveFeatureMachine",
    "TableEncoder",
    "__version__",
    "descent_weights",
    "difference_weights",
    "load_model",
    "model_about",
    "save_model",
    "to_onnx",
    "trusted_types",
]
