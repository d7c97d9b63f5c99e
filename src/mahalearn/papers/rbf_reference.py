"""Paper B's experiment: its RBF reference, and parameters chosen on the first realisations.

Every realisation (a split into training and test data) of a data set gets the same parameters, from
the first five training sets (B, section 4): the kernel's parameter with the least mean
cross-validation error, and the median of the C that were best for it on each.
"""

from itertools import islice
from statistics import median_low
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, check_cv, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from .._validation import check_choice
from ..classifiers.svm import MahalanobisSVC
from ..model_selection.grid import PAPER_CS, PAPER_DELTAS

# The values that the paper tries (section 4); those of C and δ are the searches' defaults.
PAPER_GAMMAS = (0.1, 0.5, 1, 5, 10, 15)
# Mean errors that differ by less are equal: the means of equal counts may differ by rounding.
TIE = 1e-10
N_REALISATIONS = 5


class Choice(NamedTuple):
    """A kernel parameter (γ or δ), a margin parameter, and the number of candidates tried."""

    parameter: float
    C: float
    n_candidates: int


def rbf_reference(n_features, gamma=1.0, C=1.0):
    """The reference classifier: inputs scaled to [0, 1], kernel exp(−(γ/m)‖x − x'‖²) (B (9)).

    The range of each feature is that of the training data.

    Parameters
    ----------
    n_features : int
        m, the number of features.
    gamma : float, default=1.0
        γ.
    C : float, default=1.0
        Margin parameter.

    Returns
    -------
    model : Pipeline
        Steps ``minmaxscaler`` and ``svc``.
    """
    return make_pipeline(MinMaxScaler(), SVC(C=C, gamma=gamma / n_features))


def mahalanobis_svc(covariance="diag", delta=1.0, C=1.0):
    """The SVM with the Mahalanobis kernel, its covariance that of both classes together (B (8)).

    Parameters
    ----------
    covariance : {"diag", "full"}, default="diag"
        Which entries of the covariance matrix are used.
    delta : float, default=1.0
        δ.
    C : float, default=1.0
        Margin parameter.

    Returns
    -------
    model : MahalanobisSVC
        Not fitted.
    """
    return MahalanobisSVC(
        C, delta, covariance, covariance_from="pair", shrinkage=None, class_weight=None
    )


def choose_rbf(realisations, *, gammas=PAPER_GAMMAS, Cs=PAPER_CS, cv=5, n_jobs=None):
    """γ and C of the reference: the grid of 6 × 13 on the first five realisations.

    Parameters
    ----------
    realisations : iterable of (X, y)
        Training sets in their order; those after the fifth are not looked at.
    gammas : sequence of float
        Values of γ.
    Cs : sequence of float
        Values of C.
    cv : int or cross-validation generator, default=5
        Folds.
    n_jobs : int, default=None
        Number of processes.

    Returns
    -------
    choice : Choice
        γ, C and the number of candidates.
    """
    errors = []
    for X, y in islice(realisations, N_REALISATIONS):
        m = X.shape[1]
        grid = {"svc__gamma": [gamma / m for gamma in gammas], "svc__C": list(Cs)}
        errors.append(_cv_errors(rbf_reference(m), X, y, grid, cv, n_jobs))
    return median_rule(errors, gammas, Cs)


def choose_mahalanobis(
    realisations,
    *,
    search="line",
    covariance="diag",
    Cs=PAPER_CS,
    deltas=None,
    cv=5,
    n_jobs=None,
):
    """δ and C of the Mahalanobis kernel on the first five realisations.

    Parameters
    ----------
    realisations : iterable of (X, y)
        Training sets in their order; those after the fifth are not looked at.
    search : {"line", "grid"}, default="line"
        The two stages, or all combinations.
    covariance : {"diag", "full"}, default="diag"
        Covariance of the kernel.
    Cs : sequence of float
        Values of C.
    deltas : sequence of float, default=None
        Values of δ; None for the paper's.
    cv : int or cross-validation generator, default=5
        Folds.
    n_jobs : int, default=None
        Number of processes.

    Returns
    -------
    choices : list of Choice
        For the line one for each stage (the tables' Diagonal-1 with δ = 1, and Diagonal-2 or Full);
        for the grid the only one.
    """
    search = check_choice(search, "search", tuple(PAPER_DELTAS))
    deltas = PAPER_DELTAS[search] if deltas is None else deltas
    first = list(islice(realisations, N_REALISATIONS))
    svc = mahalanobis_svc(covariance)

    def stage(stage_deltas, stage_Cs):
        grid = {"delta": list(stage_deltas), "C": list(stage_Cs)}
        errors = [_cv_errors(svc, X, y, grid, cv, n_jobs) for X, y in first]
        return median_rule(errors, stage_deltas, stage_Cs)

    if search == "grid":
        return [stage(deltas, Cs)]
    one = stage((1.0,), Cs)
    return [one, stage(deltas, (one.C,))]


def median_rule(errors, parameters, Cs):
    """The paper's choice from cross-validation errors on several training sets.

    Where errors tie, the smallest C of a training set counts, and the smallest parameter.

    Parameters
    ----------
    errors : array-like of shape (n_realisations, n_parameters, n_Cs)
        Cross-validation errors.
    parameters : sequence of float
        Values of the kernel parameter, ascending.
    Cs : sequence of float
        Values of C, ascending.

    Returns
    -------
    choice : Choice
        The parameter with the least mean of the errors at each training set's best C; the median
        of these C (the lower one for an even number of training sets, which stays on the grid).

    Examples
    --------
    >>> from mahalearn.papers.rbf_reference import median_rule
    >>> errors = [[[0.3, 0.2], [0.2, 0.2]], [[0.3, 0.3], [0.3, 0.1]], [[0.2, 0.2], [0.4, 0.2]]]
    >>> median_rule(errors, parameters=[0.5, 1.0], Cs=[1, 10])
    Choice(parameter=1.0, C=10, n_candidates=4)
    """
    errors = np.asarray(errors, dtype=float)
    if errors.ndim != 3 or errors.shape[1:] != (len(parameters), len(Cs)) or not len(errors):
        raise ValueError(
            f"errors must have the shape (realisations, {len(parameters)}, {len(Cs)}), with at "
            f"least one realisation; got {errors.shape}."
        )
    best = _first_least(errors.min(axis=2).mean(axis=0))
    best_Cs = [Cs[_first_least(row)] for row in errors[:, best]]
    return Choice(parameters[best], median_low(best_Cs), len(parameters) * len(Cs))


def _first_least(errors):
    """Index of the first error that equals the least but for rounding."""
    return int(np.argmax(errors <= errors.min() + TIE))


def _cv_errors(estimator, X, y, grid, cv, n_jobs):
    """Cross-validation errors, (kernel parameters, Cs)."""
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    search = GridSearchCV(
        estimator, grid, cv=splits, n_jobs=n_jobs, refit=False, error_score="raise"
    )
    results = search.fit(X, y).cv_results_
    parameter, C = grid
    errors = {
        (params[parameter], params[C]): 1 - score
        for params, score in zip(results["params"], results["mean_test_score"], strict=True)
    }
    return np.array([[errors[value, margin] for margin in grid[C]] for value in grid[parameter]])


class Excess(NamedTuple):
    """Cross-validation error of a model (share), its standard error, and the excess of others.

    The excesses are in units of the standard error: up to 1 a model is as good as the first.
    """

    error: float
    standard_error: float
    others: list


def excess(model, others, realisations, *, cv=5):
    """How much larger the cross-validation errors of other models are, on the first five sets.

    Parameters
    ----------
    model : estimator
        Not fitted.
    others : list of estimator
        Not fitted.
    realisations : iterable of (X, y)
        Training sets in their order; those after the fifth are not looked at.
    cv : int or cross-validation generator, default=5
        Folds.

    Returns
    -------
    Excess
        Over the folds of all sets.
    """
    first = list(islice(realisations, N_REALISATIONS))

    def errors(estimator):
        return 1 - np.concatenate([cross_val_score(estimator, X, y, cv=cv) for X, y in first])

    ours = errors(model)
    # Where all folds have one error, any other is infinitely far: TIE keeps that finite.
    spread = max(float(ours.std(ddof=1) / np.sqrt(len(ours))), TIE)
    gaps = [(float(errors(other).mean() - ours.mean()) - TIE) / spread for other in others]
    return Excess(float(ours.mean()), spread, gaps)
