"""Units of measurement of columns, so that no square of a value overflows or vanishes.

Within the range below, squares, their sums and their reciprocals are ordinary numbers, and a column
keeps its unit, 1. Another column is measured in a power of two near its largest value. Scaling by
powers of two is exact: results do not depend on whether it happened.
"""

import numpy as np

_LOWEST, _HIGHEST = 2.0**-300, 2.0**300


def column_sizes(X):
    """Largest absolute value (d,) of each column; NaN where a column holds NaN."""
    return np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))


def column_units(sizes):
    """Powers of two (d,) for columns with these largest absolute values."""
    usual = (sizes >= _LOWEST) & (sizes <= _HIGHEST) | (sizes == 0)
    if usual.all():
        return np.ones_like(sizes)
    exponents = np.clip(np.frexp(sizes)[1], -1021, 1021)  # the reciprocals are finite too
    return np.where(usual, 1.0, np.ldexp(1.0, exponents))


def common_unit(units, sizes):
    """One unit for all columns (d,): that of the largest. For models that compare variances."""
    return np.full_like(units, column_units(sizes.max(initial=0.0, keepdims=True))[0])


def scaled(X, factors):
    """X (..., d) times factors (d,); X itself where all of them are 1."""
    return X if (factors == 1).all() else X * factors


def scaled_covariances(covariances, factors):
    """Covariances (..., d, d) or variances (..., d) of columns multiplied by factors (d,).

    Full ones are told by a square last pair of axes beyond the class axis.
    """
    if (factors == 1).all():
        return covariances
    if covariances.ndim == 3:
        return (covariances * factors[:, None]) * factors
    return (covariances * factors) * factors
