# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .alignment import Alignment
from .base import FunctionMeasure, Measure
from .compression import Compression
from .correlation import Correlation
from .distributions import JensenShannon, Wasserstein
from .edit import EditDistance
from .elastic import Elastic
from .gower import Gower
from .hausdorff import Hausdorff
from .pairs import pairwise
from .sets import Jaccard
from .spd import SPDDistance
from .table import MEASURES, elastic_measures, make_measure

__all__ = [
    "MEASURES",
    "Alignment",
    "Compression",
    "Correlation",
    "EditDistance",
    "Elastic",
    "FunctionMeasure",
    "Gower",
    "Hausdorff",
    "Jaccard",
    "JensenShannon",
    "Measure",
    "SPDDistance",
    "Wasserstein",
    "elastic_measures",
    "make_measure",
    "pairwise",
]
