# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from ..kernels import ProximityKernel as ProximityKernel
from ..measures import MEASURES as MEASURES
from ..measures import Compression as Compression
from ..measures import Correlation as Correlation
from ..measures import EditDistance as EditDistance
from ..measures import FunctionMeasure as FunctionMeasure
from ..measures import Gower as Gower
from ..measures import Hausdorff as Hausdorff
from ..measures import Measure as Measure
from ..measures import pairwise as pairwise
from .diagnosis import ProximityDiagnosis, diagnose
from .embedding import PseudoEuclideanEmbedding

__all__ = [
    "ProximityDiagnosis",
    "PseudoEuclideanEmbedding",
    "diagnose",
]
