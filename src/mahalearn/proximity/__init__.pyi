# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .diagnosis import ProximityDiagnosis, diagnose
from .embedding import PseudoEuclideanEmbedding

__all__ = [
    "ProximityDiagnosis",
    "PseudoEuclideanEmbedding",
    "diagnose",
]
