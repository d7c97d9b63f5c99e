"""The measures by name."""

import reprlib
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from .._typing import Objects
from .._validation import check_choice
from .alignment import Alignment
from .base import FunctionMeasure, Measure
from .compression import Compression
from .correlation import Correlation
from .distributions import JensenShannon, Wasserstein
from .edit import EditDistance
from .elastic import METHODS, OPTIONS, Elastic, series_arrays
from .gower import Gower
from .hausdorff import Hausdorff
from .sets import Jaccard
from .spd import SPDDistance

MEASURES: dict[str, Callable[..., Measure]] = {
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
# Names that stand for several measures, which a search compares.
GROUPS = ("elastic",)


def as_measure(measure, *, symmetric=False, dissimilarity=True):
    """A measure from a name, a measure, or a function of two objects.

    symmetric, dissimilarity : what is known of a function
    """
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(measure, symmetric=symmetric, dissimilarity=dissimilarity)
    if isinstance(measure, str) and measure in GROUPS:
        raise ValueError(
            f"{measure!r} stands for several measures ({', '.join(elastic_measures())}), which a "
            "search such as KernelSearchCV compares; one measure is needed here, such as "
            "'dtw' or 'msm'."
        )
    if isinstance(measure, str):
        return MEASURES[check_choice(measure, "measure", tuple(MEASURES))]()
    raise ValueError(
        f"measure must be one of {', '.join(map(repr, MEASURES))}, a measure such as "
        f"EditDistance(), or a function of two objects; got "
        f"{reprlib.repr(measure)}."
    )


def make_measure(name: str, **options: Any) -> Measure:
    """A measure from its name and options, such as those of a command line.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    name : str
        One of MEASURES.
    **options : dict
        Parameters of the measure. Those that are None are left at their defaults.

    Returns
    -------
    measure : Measure
        The measure; options that it does not have are refused.

    See Also
    --------
    mahalearn.measures.pairwise : Matrix of all pairs.

    Examples
    --------
    >>> from mahalearn.measures import make_measure
    >>> make_measure("dtw", window=0.1, normalize=None)
    Elastic(window=0.1)
    """
    make = MEASURES[check_choice(name, "measure", tuple(MEASURES))]
    measure, fixed = make(), set()
    if isinstance(make, partial):  # what the name itself says
        fixed = {*list(signature(make.func).parameters)[: len(make.args)], *make.keywords}
    allowed = [p for p in measure.get_params(deep=False) if p not in fixed]
    if isinstance(measure, Elastic):
        allowed = [*OPTIONS[measure.method], "normalize"]
    options = {key: value for key, value in options.items() if value is not None}
    for key, value in options.items():
        if key not in allowed:
            has = f"its options are {', '.join(allowed)}" if allowed else "it has no options"
            raise ValueError(f"The measure {name!r} does not take {key}={value!r}; {has}.")
    return measure.set_params(**options)


def elastic_measures(X: Objects | None = None, normalize: bool = False) -> dict[str, Elastic]:
    """The measures that a search over time series compares: Euclidean, DTW and MSM.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    X : sequence of series, default=None
        The series. Where their lengths differ, the Euclidean distance is left out.
    normalize : bool, default=False
        Whether to z-normalise the series.

    Returns
    -------
    measures : dict of str to Elastic
        "euclidean", "dtw 5 %", "dtw 10 %", "dtw" (no band) and "msm".

    See Also
    --------
    mahalearn.measures.Elastic : DTW, MSM and other elastic measures.

    Examples
    --------
    >>> from mahalearn.measures import elastic_measures
    >>> list(elastic_measures([[1, 2, 3], [1, 2]]))
    ['dtw 5 %', 'dtw 10 %', 'dtw', 'msm']
    """
    measures = {
        "euclidean": Elastic("euclidean", normalize=normalize),
        "dtw 5 %": Elastic("dtw", window=0.05, normalize=normalize),
        "dtw 10 %": Elastic("dtw", window=0.1, normalize=normalize),
        "dtw": Elastic("dtw", normalize=normalize),
        "msm": Elastic("msm", normalize=normalize),
    }
    if X is not None and len({x.shape[1] for x in series_arrays(X)}) > 1:
        del measures["euclidean"]
    return measures
