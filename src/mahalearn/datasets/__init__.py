"""Data with a known truth: seeded generators."""

from .gaussians import (
    add_noise,
    drop_features,
    random_gaussians,
    sample_gaussians,
)

__all__ = ["add_noise", "drop_features", "random_gaussians", "sample_gaussians"]
