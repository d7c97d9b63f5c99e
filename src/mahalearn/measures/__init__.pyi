# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .base import FunctionMeasure, Measure
from .compression import Compression
from .correlation import Correlation
from .edit import EditDistance
from .gower import Gower
from .hausdorff import Hausdorff
from .pairs import pairwise
from .table import MEASURES

__all__ = [
    "MEASURES",
    "Compression",
    "Correlation",
    "EditDistance",
    "FunctionMeasure",
    "Gower",
    "Hausdorff",
    "Measure",
    "pairwise",
]
