"""Data sets of the papers: seeded generators, and loaders by name.

``load("wine")`` reads a set, checks it against the paper's table and says where it comes from;
``names()`` lists the sets. The generators return ``(X, y)`` and need no files.
"""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Dataset": "datasets.dataset",
        "ParquetBatches": "datasets.batches",
        "add_noise": "datasets.gaussians",
        "bent_normals": "datasets.synthetic",
        "checkerboard": "datasets.synthetic",
        "checkerboard_kernel": "datasets.synthetic",
        "drop_features": "datasets.gaussians",
        "load": "datasets.files",
        "names": "datasets.registry",
        "polygons": "datasets.synthetic",
        "random_gaussians": "datasets.gaussians",
        "ringnorm": "datasets.breiman",
        "sample_gaussians": "datasets.gaussians",
        "two_mixtures": "datasets.synthetic",
        "twonorm": "datasets.breiman",
        "waveform": "datasets.breiman",
        "xor": "datasets.synthetic",
    },
)
