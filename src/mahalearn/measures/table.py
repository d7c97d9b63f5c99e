"""The measures by name."""

from functools import partial

from .._validation import check_choice
from .alignment import Alignment
from .base import FunctionMeasure, Measure
from .compression import Compression
from .correlation import Correlation
from .distributions import JensenShannon, Wasserstein
from .edit import EditDistance
from .elastic import METHODS, Elastic
from .gower import Gower
from .hausdorff import Hausdorff
from .sets import Jaccard
from .spd import SPDDistance

MEASURES = {
    "hausdorff": Hausdorff,
    "modified_hausdorff": partial(Hausdorff, modified=True),
    "edit": EditDistance,
    "gower": Gower,
    "compression": Compression,
    "correlation": Correlation,
    **{method: partial(Elastic, method) for method in METHODS},
    "alignment": Alignment,
    "global_alignment": partial(Alignment, "global"),
    "jaccard": Jaccard,
    "tanimoto": Jaccard,
    "jensen_shannon": JensenShannon,
    "wasserstein": Wasserstein,
    "log_euclidean": SPDDistance,
    "affine_invariant": partial(SPDDistance, "affine_invariant"),
}


def as_measure(measure, *, symmetric=False, dissimilarity=True):
    """A measure from a name, a measure, or a function of two objects.

    symmetric, dissimilarity : what is known of a function
    """
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(measure, symmetric=symmetric, dissimilarity=dissimilarity)
    if isinstance(measure, str):
        return MEASURES[check_choice(measure, "measure", tuple(MEASURES))]()
    raise ValueError(
        f"measure must be one of {', '.join(map(repr, MEASURES))}, a measure such as "
        f"EditDistance(), or a function of two objects; got {measure!r}."
    )
