"""The values that searches try by default: one table for the estimators, the chooser and compare.

Widths are multiples of the plain estimator's γ = "scale", so that they suit data in any units.
Regularisation is absolute for kernels with self-similarities 1 (rbf, laplacian, cosine, chi2); for
kernels of another scale it is measured in their spread, so that results do not depend on their
units. Every grid holds the plain default (in those units).
"""

import numpy as np

# Multiples of γ = "scale", the plain default among them.
GAMMAS = tuple(float(g) for g in 10 ** np.linspace(-1.5, 1.5, 9))
DEGREES = (1, 2, 3, 4)


def _decades(first, last):
    return tuple(float(f"1e{power}") for power in range(first, last + 1))


# Regularisation: the values, and the power of the kernel's spread that they are measured in.
REGS = {
    "RC": (_decades(-7, 0), 1),
    "IC": (_decades(-6, 0), 1),
    "FK": (_decades(-6, 2), 2),
    "fisher": (_decades(-9, 2), 2),
    "kernel_pca": (_decades(-8, 0), 1),
    "ridge": ((*_decades(-8, 0), 3e-4, 3e-3, 3e-2, 0.3), 0),
}
NEIGHBORS = tuple(range(1, 16))
CS = _decades(-1, 3)
DELTAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

# The values that paper B tries (section 4).
PAPER_CS = (1, 10, 50, 100, 500, 1000, 2000, 3000, 5000, 8000, 10000, 50000, 100000)
PAPER_DELTAS = {
    "line": tuple(step / 10 for step in range(1, 21)),
    "grid": (0.1, 0.5, 1.0, 1.5, 2.0),
}
