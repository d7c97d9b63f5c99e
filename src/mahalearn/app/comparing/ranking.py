"""The leaderboard: errors of the methods, with intervals of errors and of paired differences."""

from collections import Counter

import numpy as np
from scipy import stats

from .methods import METHODS

LEVEL = 0.95


def corrected_interval(values, test_share, level=LEVEL, resolution=0.0):
    """Mean of a fold-wise quantity, and the interval of the corrected resampled t-test.

    The folds of a repeated cross-validation share training objects, so that the plain variance of
    the mean, s²/J, is far too small. Nadeau and Bengio (Machine Learning 52, 2003) put
    s²·(1/J + n_test/n_train) in its place; the interval is mean ± t_{J−1}·that root.

    Parameters
    ----------
    values : array-like of shape (J,)
        A number for each fold.
    test_share : float
        n_test/n_train.
    level : float, default=0.95
        Confidence level.
    resolution : float, default=0
        Steps in which the numbers come, 1/m for error rates of m objects. s² is at least the
        variance of rounding to them: a few equal numbers do not make the mean certain.

    Returns
    -------
    mean, low, high : float
        The interval has no width for a single fold, where nothing is known of the spread.

    Examples
    --------
    >>> from mahalearn.app.comparing.ranking import corrected_interval
    >>> [round(v, 3) for v in corrected_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, -0.084, 0.284]
    """
    values = np.asarray(values, dtype=float)
    J, mean = len(values), float(values.mean())
    if J < 2:
        return mean, mean, mean
    variance = max(values.var(ddof=1), resolution**2 / 12)
    half = stats.t.ppf((1 + level) / 2, J - 1) * np.sqrt(variance * (1 / J + test_share))
    return mean, float(mean - half), float(mean + half)


def error_interval(values, test_share, resolution=0.0):
    """As corrected_interval, of error rates: no bound is below 0 or above 1.

    Examples
    --------
    >>> from mahalearn.app.comparing.ranking import error_interval
    >>> [round(v, 3) for v in error_interval([0.0, 0.1, 0.2, 0.1], 0.25)]
    [0.1, 0.0, 0.284]
    """
    mean, low, high = corrected_interval(values, test_share, resolution=resolution)
    return mean, max(0.0, low), min(1.0, high)


def share_interval(count, n, level=LEVEL):
    """The exact (Clopper–Pearson) interval of a share, count of n.

    Examples
    --------
    >>> from mahalearn.app.comparing.ranking import share_interval
    >>> [round(v, 3) for v in share_interval(0, 10)]
    [0.0, 0.308]
    """
    return tuple(map(float, stats.binomtest(count, n).proportion_ci(level, method="exact")))


def leaderboard(outcome):
    """Methods from the smallest error to the largest.

    Returns
    -------
    rows : list of dict
        With error, balanced (mean, low, high), difference to the first (mean, low, high) by the
        error that decides, tied (whether that interval holds 0), seconds and chosen parameters.
    """
    by = "error" if outcome.plan.by == "plain" else "balanced_error"
    other = "balanced_error" if by == "error" else "error"
    share = float(np.mean([len(test) / len(train) for train, test in outcome.splits]))
    step = 1 / float(np.mean([len(test) for _, test in outcome.splits]))
    values = {
        m.name: {
            kind: np.array([getattr(c, kind) for c in outcome.of(m.name)]) for kind in (by, other)
        }
        for m in outcome.methods
    }
    order = sorted(values, key=lambda n: (round(values[n][by].mean(), 10), values[n][other].mean()))
    best = values[order[0]][by]
    rows = []
    for name in order:
        cells = outcome.of(name)
        difference = corrected_interval(values[name][by] - best, share, resolution=step)
        rows.append(
            {
                "name": name,
                "title": METHODS[name].title,
                "ours": METHODS[name].ours,
                "error": error_interval(values[name]["error"], share, step),
                "balanced": error_interval(values[name]["balanced_error"], share, step),
                "difference": difference,
                "fold_errors": {
                    "error": values[name]["error"].tolist(),
                    "balanced": values[name]["balanced_error"].tolist(),
                },
                "resolution": step,
                "tied": bool(name == order[0] or difference[1] <= 0),
                "fit_seconds": float(np.mean([c.fit_seconds for c in cells])),
                "predict_ms": _milliseconds(cells),
                "params": _usual_params(cells),
            }
        )
    return rows


def _milliseconds(cells):
    """Milliseconds to predict 1000 rows, as measured; None where the first fold is missing."""
    measured = [c.seconds_for_1000 for c in cells if c.seconds_for_1000 is not None]
    return 1000 * measured[0] if measured else None


def _usual_params(cells):
    """The parameters that were chosen most often, as text."""
    texts = Counter(
        ", ".join(
            f"{k} = {v:.3g}" if isinstance(v, float) else f"{k} = {v}" for k, v in c.params.items()
        )
        for c in cells
    )
    return texts.most_common(1)[0][0]
