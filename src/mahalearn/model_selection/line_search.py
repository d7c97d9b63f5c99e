"""The two-stage line search for the Mahalanobis kernel (B, section 3.2)."""

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import ScoreClassifierMixin
from .._validation import check_choice, check_classes, check_positive
from ..classifiers.svm import MahalanobisSVC
from ..formulas.offsets import TIE_RTOL
from .scoring import refuse_nan

# The values that paper B tries (section 4).
PAPER_CS = (1, 10, 50, 100, 500, 1000, 2000, 3000, 5000, 8000, 10000, 50000, 100000)
PAPER_DELTAS = {
    "line": tuple(step / 10 for step in range(1, 21)),
    "grid": (0.1, 0.5, 1.0, 1.5, 2.0),
}


def evaluate(estimator, X, y, grid, splits, *, scoring=None, n_jobs=None, verbose=0):
    """Cross-validate every candidate of a parameter grid on given splits; the fitted GridSearchCV.

    Splits are a list, so that all searches see the same folds.
    """
    search = GridSearchCV(
        estimator,
        grid,
        cv=splits,
        scoring=scoring,
        n_jobs=n_jobs,
        verbose=verbose,
        refit=False,
        error_score="raise",
    )
    return search.fit(X, y)


def nearly_best(scores):
    """Which scores equal the largest but for rounding: the means of equal counts may differ."""
    largest = np.max(scores)
    return scores >= largest - TIE_RTOL * max(1.0, abs(largest))


class MahalanobisSVCCV(ScoreClassifierMixin, BaseEstimator):
    """:class:`mahalearn.MahalanobisSVC` with C and δ chosen by cross-validation.

    The line search sets δ = 1 and chooses C, then keeps C and chooses δ: 13 + 20 candidates with
    the default values, where a grid as fine would need 260. That is enough because the kernel is
    normalised by the covariance of the data.

    Parameters
    ----------
    Cs : array-like of float, default=None
        Values of C; None for the paper's 13 from 1 to 100000.
    deltas : array-like of float, default=None
        Values of δ; None for 0.1, 0.2 … 2.0, or for 0.1, 0.5, 1, 1.5, 2 where ``search="grid"``.
    search : {"line", "grid"}, default="line"
        The two stages, or all combinations of C and δ.
    covariance : {"diag", "full"}, default="diag"
        As in MahalanobisSVC.
    covariance_from : {"pair", "all"}, default="pair"
        As in MahalanobisSVC.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        As in MahalanobisSVC.
    class_weight : dict, "balanced" or None, default=None
        As in MahalanobisSVC.
    tol : float, default=1e-3
        As in MahalanobisSVC.
    cache_size : float, default=200
        As in MahalanobisSVC.
    max_iter : int, default=-1
        As in MahalanobisSVC.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn's GridSearchCV.
    scoring : str or callable, default=None
        As in GridSearchCV; None for accuracy.
    n_jobs : int, default=None
        Number of processes.
    verbose : int, default=0
        1 tells the stages and what they chose; more makes GridSearchCV tell of the fits.

    Attributes
    ----------
    best_params_ : dict
        The chosen C and delta. Where scores tie, the smallest C, then the smallest delta.
    best_score_ : float
        Their mean cross-validated score.
    best_index_ : int
        Their place in ``cv_results_``.
    best_estimator_ : MahalanobisSVC
        Trained with them on all data.
    cv_results_ : dict
        All candidates, in the form of GridSearchCV, with the stage of each in ``"stage"``. δ = 1
        with the chosen C stands in stage 1 and is not tried again, but takes part in the choice.
    n_fits_ : int
        Number of machines trained in the search: candidates times folds.
    n_splits_ : int
        Number of folds.
    n_iter_ : ndarray of shape (n_pairs,)
        LIBSVM's iterations of the best estimator.
    scorer_ : callable
        The scorer.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features seen in `fit`.

    References
    ----------
    S. Abe, Training of support vector machines with Mahalanobis kernels, ICANN 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mahalearn import MahalanobisSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MahalanobisSVCCV(Cs=[1, 10, 100], deltas=[0.2, 0.5, 1]).fit(X, y)
    >>> model.best_params_
    {'C': 10, 'delta': 0.2}
    """

    def __init__(
        self,
        Cs=None,
        deltas=None,
        search="line",
        *,
        covariance="diag",
        covariance_from="pair",
        shrinkage=None,
        class_weight=None,
        tol=1e-3,
        cache_size=200,
        max_iter=-1,
        cv=5,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.deltas = deltas
        self.search = search
        self.covariance = covariance
        self.covariance_from = covariance_from
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y):
        """Choose C and δ, and train the classifier with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : MahalanobisSVCCV
            The fitted classifier.
        """
        search = check_choice(self.search, "search", tuple(PAPER_DELTAS))
        Cs = _check_values(self.Cs, "Cs", PAPER_CS)
        deltas = _check_values(self.deltas, "deltas", PAPER_DELTAS[search])
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, _ = check_classes(y)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        self.n_splits_ = len(splits)

        if search == "grid":
            stages = [self._stage(X, y, splits, Cs, deltas, number=1)]
        else:
            stages = [self._stage(X, y, splits, Cs, [1.0], number=1)]
            C = stages[0]["params"][_best_candidate(stages[0])]["C"]
            if others := [delta for delta in deltas if not np.isclose(delta, 1.0, rtol=1e-9)]:
                stages.append(self._stage(X, y, splits, [C], others, number=2))
        self.cv_results_ = _merge(stages)
        self.n_fits_ = len(self.cv_results_["params"]) * self.n_splits_
        # The first stage's other rows cannot win: none of them scores above the C that it chose.
        self.best_index_ = _best_candidate(self.cv_results_)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        self.best_estimator_ = self._machine().set_params(**self.best_params_).fit(X, y)
        self.n_iter_ = self.best_estimator_.n_iter_
        if self.verbose:
            print(f"MahalanobisSVCCV: chose {self.best_params_}, score {self.best_score_:.4f}")
        return self

    def _machine(self):
        own = MahalanobisSVC().get_params()
        return MahalanobisSVC(**{k: v for k, v in self.get_params(deep=False).items() if k in own})

    def _stage(self, X, y, splits, Cs, deltas, number):
        if self.verbose:
            print(
                f"MahalanobisSVCCV: stage {number}, {len(Cs)} C × {len(deltas)} delta × "
                f"{len(splits)} folds = {len(Cs) * len(deltas) * len(splits)} fits",
                flush=True,
            )
        search = evaluate(
            self._machine(),
            X,
            y,
            {"C": Cs, "delta": deltas},
            splits,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            verbose=max(0, self.verbose - 1),
        )
        self.scorer_ = search.scorer_
        results = search.cv_results_
        refuse_nan(results["mean_test_score"], self.scoring)
        return {**results, "stage": np.full(len(results["params"]), number)}

    def _scores(self, X):
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.best_estimator_._scores(X)

    def score(self, X, y):
        """Score by the scorer of the search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,)
            True labels.

        Returns
        -------
        score : float
            Accuracy, unless `scoring` says otherwise.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.scorer_(self.best_estimator_, X, y)


def _check_values(values, name, default):
    """Distinct positive numbers in ascending order, as a list."""
    values = default if values is None else values
    if isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{name} must be a list of positive numbers; got {values!r}.")
    values = np.asarray(values).tolist()  # plain numbers read better in best_params_
    for value in values:
        check_positive(value, f"Each of {name}")
    return sorted(set(values))


def _best_candidate(results):
    """Index of the best mean score; on ties the smallest C, then the smallest δ."""
    params = results["params"]
    tied = np.flatnonzero(nearly_best(results["mean_test_score"]))
    return int(min(tied, key=lambda i: (params[i]["C"], params[i]["delta"])))


def _merge(stages):
    """One cv_results_ of the stages', ranks over all of them."""
    merged = {}
    for key in stages[0]:
        parts = [stage[key] for stage in stages]
        if key == "params":
            merged[key] = [params for part in parts for params in part]
        else:
            join = np.ma.concatenate if key.startswith("param_") else np.concatenate
            merged[key] = join(parts)
    decimals = int(-np.log10(TIE_RTOL))
    ranks = rankdata(-np.round(merged["mean_test_score"], decimals), method="min")
    merged["rank_test_score"] = ranks.astype(np.int32)
    return merged
