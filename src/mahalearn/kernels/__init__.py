"""Kernels: what one is, those of the library, and kernel values of training objects."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "LandmarkMap": "kernels.landmarks",
        "MahalanobisKernel": "kernels.mahalanobis_kernel",
        "MeasureKernel": "kernels.measure",
        "PrecomputedKernel": "kernels.precomputed",
        "ProximityKernel": "kernels.proximity_kernel",
    },
)
