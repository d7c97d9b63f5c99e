"""Paper D's simulation: the curves of its figures, and tables 1 and 2, as rows.

The classifiers know the true means and variances of 20 random classes with 10 independent features;
each row of a result is the mean accuracy over repetitions, for which classes and samples are drawn
anew. All is drawn from one seed.
"""

import numpy as np

from ..classifiers.gaussian import GaussianClassifier
from ..datasets.gaussians import add_noise, drop_features, random_gaussians, sample_gaussians
from ..formulas.feature_weights import descent_weights, difference_weights

NOISE_LEVELS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
MISSING = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
# Figure -> what disturbs the features, and how many of them (None: that is the figure's axis).
FIGURES = {
    1: ("missing", None),
    2: ("noise", 1),
    3: ("noise", 3),
    4: ("noise", 5),
    5: ("noise", 10),
}


def noise_curves(
    figures=tuple(FIGURES),
    *,
    repetitions=50,
    seed=0,
    weights="batch",
    levels=NOISE_LEVELS,
    missing=MISSING,
):
    """Accuracies of the three classifiers: the curves of figures 1 to 5.

    Parameters
    ----------
    figures : sequence of int, default=(1, 2, 3, 4, 5)
        Which figures: 1 missing features; 2 to 5 noise on 1, 3, 5 and all features.
    repetitions : int, default=50
        Draws of classes and samples.
    seed : int, default=0
        Seed of all draws.
    weights : {"batch", "sample"}, default="batch"
        Whether all test samples together give the rank weights, or each sample its own.
    levels : sequence of float
        Variances of the noise.
    missing : sequence of int
        Numbers of missing features.

    Returns
    -------
    rows : list of dict
        With the keys figure, mode, n_features, level, classifier, weights, accuracy (in percent),
        standard_error and repetitions.

    Examples
    --------
    >>> from mahalearn.papers.noise_curves import noise_curves
    >>> rows = noise_curves([5], repetitions=2, levels=[10.0])
    >>> [row["classifier"] for row in rows]
    ['traditional', 'descent', 'difference']
    """
    if weights not in ("batch", "sample"):
        raise ValueError(f"weights must be 'batch' or 'sample'; got {weights!r}.")
    unknown = [figure for figure in figures if figure not in FIGURES]
    if unknown:
        raise ValueError(f"There are figures 1 to 5; got {unknown!r}.")
    conditions = []
    for figure in figures:
        mode, n_features = FIGURES[figure]
        values = [(k, None) for k in missing] if mode == "missing" else None
        conditions += [(figure, mode, *v) for v in values or [(n_features, v) for v in levels]]
    scores = {}
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        means, variances = random_gaussians(random_state=rng)
        X, y = sample_gaussians(means, variances, random_state=rng)
        for condition in conditions:
            _, mode, n_features, level = condition
            disturbed = (
                drop_features(X, n_features, random_state=rng)
                if mode == "missing"
                else add_noise(X, level, n_features, random_state=rng)
            )
            predictions = _predictions(means, variances, disturbed, weights)
            for name, labels in predictions.items():
                scores.setdefault((*condition, name), []).append((labels == y).mean())
    keys = ("figure", "mode", "n_features", "level", "classifier")
    return [
        dict(zip(keys, key), weights=weights, **_summary(accuracies))
        for key, accuracies in scores.items()
    ]


def _predictions(means, variances, X, weights):
    plain = GaussianClassifier.from_parameters(means, variances)
    chosen = {"descent": "descent", "difference": "difference"}
    if weights == "batch":
        Z = plain.feature_distances(X)
        chosen = {"descent": descent_weights(Z), "difference": difference_weights(Z)}
    out = {"traditional": plain.predict(X)}
    for name, feature_weights in chosen.items():
        model = GaussianClassifier.from_parameters(
            means, variances, feature_weights=feature_weights
        )
        out[name] = model.predict(X)
    return out


def _summary(accuracies):
    percent = 100 * np.array(accuracies)
    n = len(percent)
    error = percent.std(ddof=1) / np.sqrt(n) if n > 1 else float("nan")
    return {
        "accuracy": float(percent.mean()),
        "standard_error": float(error),
        "repetitions": n,
    }


def weight_tables(*, repetitions=50, seed=0, noise=10.0, development=True):
    """Tables 1 and 2: accuracies and mean rank weights at one noise level on all features.

    Parameters
    ----------
    repetitions : int, default=50
        Draws of classes and samples.
    seed : int, default=0
        Seed of all draws.
    noise : float, default=10.0
        Variance of the noise.
    development : bool, default=True
        Whether to optimise weights on a development set in each repetition, which takes most of
        the time.

    Returns
    -------
    rows : list of dict
        With the keys classifier, rank_weights (their mean, None for the traditional classifier),
        accuracy (in percent), standard_error and repetitions.

    Examples
    --------
    >>> from mahalearn.papers.noise_curves import weight_tables
    >>> rows = weight_tables(repetitions=1, development=False)
    >>> len(rows[1]["rank_weights"])
    10
    """
    rng = np.random.default_rng(seed)
    names = ["traditional", "descent"] + ["development"] * development
    accuracies = {name: [] for name in names}
    weights = {name: [] for name in names}

    def noisy(means, variances):
        X, y = sample_gaussians(means, variances, random_state=rng)
        return add_noise(X, noise, random_state=rng), y

    for _ in range(repetitions):
        means, variances = random_gaussians(random_state=rng)
        plain = GaussianClassifier.from_parameters(means, variances)
        X, y = noisy(means, variances)
        X_dev, y_dev = noisy(means, variances)
        for name in names:
            ranks = None
            if name == "descent":
                ranks = descent_weights(plain.feature_distances(X))
            elif name == "development":
                offsets = -np.log(variances).sum(axis=1) / 2
                ranks = optimised_weights(plain.feature_distances(X_dev), offsets, y_dev)
            model = GaussianClassifier.from_parameters(means, variances, feature_weights=ranks)
            accuracies[name].append(model.score(X, y))
            weights[name].append(ranks)
    return [
        {
            "classifier": name,
            "rank_weights": None if name == "traditional" else np.mean(weights[name], 0).tolist(),
            **_summary(accuracies[name]),
        }
        for name in names
    ]


def optimised_weights(Z, offsets, y, *, first_step=0.5, last_step=0.02):
    """Rank weights with the highest accuracy, by a pattern search from equal weights (D, 4.1).

    Accuracy is a step function, so the search compares values only: each weight in turn is
    multiplied and divided by exp(step), all weights are scaled to sum to N, and an improvement is
    kept; a round without one halves the step.

    Parameters
    ----------
    Z : array-like of shape (n_samples, n_classes, n_features)
        Squared distances per feature.
    offsets : array-like of shape (n_classes,)
        What is added to −D/2: −ln|Σ_j|/2 + ln P_j.
    y : array-like of shape (n_samples,)
        Class indices.
    first_step : float, default=0.5
        Step of the first round, in the logarithm of a weight.
    last_step : float, default=0.02
        The search ends when the step falls below this.

    Returns
    -------
    weights : ndarray of shape (n_features,)
        Weights of the ranks; they sum to n_features.
    """
    Z = np.sort(Z, axis=-1)
    N = Z.shape[-1]

    def accuracy(w):
        return np.mean((offsets - Z @ w / 2).argmax(axis=1) == y)

    weights = np.ones(N)
    best, step = accuracy(weights), first_step
    while step > last_step:
        before = best
        for rank in range(N):
            for factor in (np.exp(step), np.exp(-step)):
                trial = weights.copy()
                trial[rank] *= factor
                trial *= N / trial.sum()
                reached = accuracy(trial)
                if reached > best:
                    weights, best = trial, reached
        if best == before:
            step /= 2
    return weights
