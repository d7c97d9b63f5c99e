"""Columns of new rows against what a model file lists of the training rows."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from .problem import NUMBER

# Probability, over all columns, of calling one changed although none is.
LEVEL = 0.01
# Tests of each column: of missing cells and two others.
_TESTS = 3
# Standard deviations of a normal distribution between its quartiles.
_QUARTILE_RANGE = 1.349


class ColumnDrift(NamedTuple):
    """A column now and in training.

    Attributes
    ----------
    name : str
        Name of the column.
    training, present : str
        Range of its numbers in training and now, or its categories.
    outside : float
        Share of the new rows outside the training range, or with categories that are not in it.
    shift : float or None
        Shift of the median in standard deviations of the training rows.
    p_value : float
        Smallest p-value of the tests of a column. They hold for rows of one distribution. Numbers:
        how many of n new rows lie beyond the range or the median of N others is beta-binomial, for
        continuous values exactly. Categories: most rows have an unknown one, or the share of one
        has changed. Both: more cells are missing. The number of rows with one property, given that
        of old and new rows together, is hypergeometric.
    changed : bool
        True if it is small enough, Bonferroni-corrected for the tests of all columns.
    scale : float or None
        Standard deviation of the training rows, by their quartiles; None without numbers now.
    quartiles : tuple of two lists, or None
        Minimum, quartiles and maximum in training and now.
    """

    name: str
    training: str
    present: str
    outside: float
    shift: float | None
    p_value: float
    changed: bool
    scale: float | None
    quartiles: tuple | None


def column_drifts(X, features, n_training):
    """The columns of new rows against the training rows, most changed first.

    Parameters
    ----------
    X : DataFrame
        New rows, with the columns of the model.
    features : list of dict
        Columns that the model file lists; numbers with ``quartiles`` of so many training ``rows``.
    n_training : int
        Number of training rows, of columns that do not say it.

    Returns
    -------
    drifts : list of ColumnDrift
    """
    drifts = []
    for feature in features:
        column, rows = X[feature["name"]], feature.get("rows", n_training)
        if feature["type"] != NUMBER:
            values, compared = column.dropna(), _categories
        elif "quartiles" in feature:
            values, rows, compared = column.to_numpy(dtype=float), max(2, rows), _numbers
            values = values[np.isfinite(values)]
        else:
            continue
        drift = compared(values, feature, rows)
        missing = len(column) - len(values), len(column), feature.get("missing", 0), rows
        drifts.append(_with_missing(drift, *missing))
    level = LEVEL / max(1, _TESTS * len(drifts))
    drifts = [drift._replace(changed=drift.p_value <= level) for drift in drifts]
    return sorted(drifts, key=lambda d: (d.p_value, -abs(d.shift or 0.0), -d.outside))


def _numbers(values, feature, n_training):
    from scipy.stats import betabinom

    low, first, median, third, high = feature["quartiles"]
    scale = (third - first) / _QUARTILE_RANGE or (high - low) / 4
    n = len(values)
    n_outside = int(((values < low) | (values > high)).sum())
    above, below = int((values > median).sum()), int((values < median).sum())
    p = 1.0
    if n > 1:
        tests = [betabinom.sf(n_outside - 1, n, 2, n_training - 1)]
        # Beyond the middle of two values are no more than beyond the nearer one. Equal values count
        # for neither side. Both make the test conservative.
        shape = n_training // 2 + 1, (n_training + 1) // 2
        tests.append(min(1.0, 2 * betabinom.sf(max(above, below) - 1, n, *shape)))
        p = float(min(tests))
    now = np.percentile(values, [0, 25, 50, 75, 100]).tolist() if n else None
    shift = (now[2] - median) / scale if now and scale else None
    return ColumnDrift(
        feature["name"],
        f"{low:g} to {high:g}",
        f"{now[0]:g} to {now[4]:g}" if now else "missing",
        n_outside / n if n else 0.0,
        shift,
        p,
        False,
        (scale or None) if now else None,
        (feature["quartiles"], now) if now else None,
    )


def _categories(values, feature, n_training):
    from scipy.stats import betabinom

    levels, texts = feature["levels"], [str(value) for value in values]
    now, n = Counter(texts), len(texts)
    unknown = sorted(now.keys() - levels.keys())
    n_unknown, n_levels = sum(now[name] for name in unknown), len(levels)
    p, present = 1.0, "the same categories" if n else "missing"
    if unknown:
        present = f"new: {', '.join(unknown[:5])}"
    if 2 * n_unknown > n and n_levels < n_training:
        # Each level was new once: a new row is of an unknown one about as often, or more rarely.
        p = float(betabinom.sf(n_unknown - 1, n, n_levels + 1, n_training - n_levels))
    if n > 1:
        # Bonferroni, over all categories there are.
        counts = np.array([now[name] for name in levels])
        each = _share_p_values(counts, n, np.array([*levels.values()]), n_training)
        each *= n_levels + len(unknown)
        if min(each, default=1.0) < p:
            name, p = [*levels][each.argmin()], float(each.min())
            present = f"{name}: {now[name] / n:.0%} (training {levels[name] / n_training:.0%})"
    share, training = n_unknown / n if n else 0.0, f"{n_levels} categories"
    return ColumnDrift(feature["name"], training, present, share, None, p, False, None, None)


def _share_p_values(counts, n, counts_training, n_training, alternative="two-sided"):
    """p-values of so many of n new rows having what so many of n_training rows have."""
    from scipy.stats import hypergeom

    law = hypergeom(n_training + n, counts_training + counts, n)
    upper = law.sf(counts - 1)
    if alternative == "greater":
        return upper
    return np.minimum(1.0, 2 * np.minimum(upper, law.cdf(counts)))


def _with_missing(drift, count, n, missing, present):
    """A drift with the test of missing cells; missing and present cells of the training rows."""
    n_training = missing + present
    if n < 2 or not count:
        return drift
    p = float(_share_p_values(count, n, missing, n_training, "greater"))
    if p >= drift.p_value:
        return drift
    words = f"{drift.present}, {count / n:.0%} missing (training {missing / n_training:.0%})"
    return drift._replace(p_value=p, present=words.removeprefix("missing, "))


def drift_words(drifts, most=3):
    """A sentence on the columns that changed, empty if none did."""
    changed = [drift for drift in drifts if drift.changed]
    if not changed:
        return ""
    words = [f"{d.name!r} (training {d.training}, now {d.present})" for d in changed[:most]]
    others = f" and {len(changed) - most} more" if len(changed) > most else ""
    return (
        f"Columns that changed: {', '.join(words)}{others}. Check their units and how they were "
        "measured."
    )
