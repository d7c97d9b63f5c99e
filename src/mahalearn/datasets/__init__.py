"""Data sets of the papers: seeded generators, and loaders by name.

``load("wine")`` reads a set, checks it against the paper's table and says where it comes from;
``names()`` lists the sets. The generators return ``(X, y)`` and need no files.
"""

from importlib import import_module

# Where each public name lives, resolved on first use, as in the package itself.
_HOME = {
    "Dataset": "dataset",
    "ParquetBatches": "batches",
    "add_noise": "gaussians",
    "bent_normals": "synthetic",
    "checkerboard": "synthetic",
    "checkerboard_kernel": "synthetic",
    "drop_features": "gaussians",
    "load": "files",
    "names": "registry",
    "polygons": "synthetic",
    "random_gaussians": "gaussians",
    "ringnorm": "breiman",
    "sample_gaussians": "gaussians",
    "two_mixtures": "synthetic",
    "twonorm": "breiman",
    "waveform": "breiman",
    "xor": "synthetic",
}

__all__ = [*_HOME]


def __getattr__(name):
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_HOME])
