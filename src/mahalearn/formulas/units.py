"""Units of measurement of columns, so that no square of a value overflows or vanishes.

Within the usual range below, squares, their sums and their reciprocals are ordinary numbers, and a
column keeps its unit, 1. Another column is measured in a power of two near its largest value.
Scaling by powers of two is exact: results do not depend on whether it happened.

Units are an array (d,), or None where all are 1.
"""

import numpy as np

_LOWEST, _HIGHEST = 2.0**-300, 2.0**300


def column_sizes(X, largest):
    """Sizes (d,) of the columns, as :func:`column_units` needs them, of X without NaN.

    `largest` is the largest absolute value in X. The size of a column is its own largest absolute
    value or, where that is in the usual range, any value of it that is: a few rows tell that.
    """
    sizes = np.abs(X[:: max(1, len(X) // 16)]).max(axis=0, initial=0.0)
    if largest <= _HIGHEST and sizes.min(initial=1.0) >= _LOWEST:
        return sizes
    return np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))


def column_units(sizes):
    """Powers of two for columns of these sizes."""
    if sizes.min(initial=1.0) >= _LOWEST and sizes.max(initial=1.0) <= _HIGHEST:
        return None
    usual = (sizes >= _LOWEST) & (sizes <= _HIGHEST) | (sizes == 0)
    if usual.all():
        return None
    exponents = np.clip(np.frexp(sizes)[1], -1021, 1021)  # the reciprocals are finite too
    return np.where(usual, 1.0, np.ldexp(1.0, exponents))


def common_unit(sizes):
    """One unit for all columns, that of the largest: for models that compare variances."""
    unit = column_units(sizes.max(initial=0.0, keepdims=True))
    return None if unit is None else np.full(len(sizes), unit[0])


def ratio(a, b):
    """Units a in units b: what values are multiplied by to be stated in b instead of a."""
    if a is None and b is None:
        return None
    return (1.0 if a is None else a) / (1.0 if b is None else b)


def scaled(X, factors):
    """X (..., d) times factors (d,)."""
    return X if factors is None else X * factors


def scaled_covariances(covariances, factors):
    """Covariances of columns multiplied by factors (d,).

    They are full (c, d, d), diagonal (c, d), spherical (c,) with equal factors, or RowCovariances.
    """
    if factors is None:
        return covariances
    if hasattr(covariances, "in_units"):
        return covariances.in_units(factors)
    if covariances.ndim == 3:
        return (covariances * factors[:, None]) * factors
    if covariances.ndim == 1:
        factors = factors[0]
    return (covariances * factors) * factors
