"""Measures of two objects: dissimilarities and similarities, and matrices of all pairs."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Alignment": "measures.alignment",
        "Compression": "measures.compression",
        "Correlation": "measures.correlation",
        "EditDistance": "measures.edit",
        "Elastic": "measures.elastic",
        "FunctionMeasure": "measures.base",
        "Gower": "measures.gower",
        "Hausdorff": "measures.hausdorff",
        "Jaccard": "measures.sets",
        "JensenShannon": "measures.distributions",
        "MEASURES": "measures.table",
        "Measure": "measures.base",
        "SPDDistance": "measures.spd",
        "Wasserstein": "measures.distributions",
        "elastic_measures": "measures.table",
        "make_measure": "measures.table",
        "pairwise": "measures.pairs",
    },
)
