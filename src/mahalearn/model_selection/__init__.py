"""Model selection: the exact search, and the ensemble of the families."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "KernelSearchCV": "model_selection.search",
        "MahalanobisClassifierCV": "model_selection.ensemble",
    },
)
