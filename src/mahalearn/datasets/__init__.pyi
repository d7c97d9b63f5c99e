# For type checkers: the names of the table in __init__.py (tests/test_types.py compares them).

from .batches import ParquetBatches
from .breiman import ringnorm, twonorm, waveform
from .dataset import Dataset
from .files import load
from .gaussians import add_noise, drop_features, random_gaussians, sample_gaussians
from .registry import names
from .synthetic import bent_normals, checkerboard, checkerboard_kernel, polygons, two_mixtures, xor

__all__ = [
    "Dataset",
    "ParquetBatches",
    "add_noise",
    "bent_normals",
    "checkerboard",
    "checkerboard_kernel",
    "drop_features",
    "load",
    "names",
    "polygons",
    "random_gaussians",
    "ringnorm",
    "sample_gaussians",
    "two_mixtures",
    "twonorm",
    "waveform",
    "xor",
]
