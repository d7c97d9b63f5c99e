# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .landmarks import LandmarkMap
from .mahalanobis_kernel import MahalanobisKernel
from .measure import MeasureKernel
from .precomputed import PrecomputedKernel
from .proximity_kernel import ProximityKernel

__all__ = [
    "LandmarkMap",
    "MahalanobisKernel",
    "MeasureKernel",
    "PrecomputedKernel",
    "ProximityKernel",
]
