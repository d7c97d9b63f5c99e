# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .classifier import ConformalClassifier
from .detector import KernelMahalanobisNovelty
from .drift import DriftTest
from .mahalanobis import MahalanobisNovelty

__all__ = [
    "ConformalClassifier",
    "DriftTest",
    "KernelMahalanobisNovelty",
    "MahalanobisNovelty",
]
