"""What the searches share: splits, parallel paths over kernels, scores, choice, calibration."""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from .._objects import check_objects, take
from .._progress import progress
from .._validation import check_choice, check_classes, check_memory, refuse_fit_params
from ..formulas.spectrum import SPECTRA
from ..kernels.protocol import is_precomputed, takes_vectors
from ..kernels.training import TrainingKernel
from ._best_estimator import BestEstimatorMixin
from ._kernel_grid import Objects, kernel_settings, problems, shared_sq_distances
from ._scores import fit_temperature, fold_metrics, refuse_nan

# Mean scores that differ by less are equal: the tie rule decides.
TIE = 1e-10


# What the docstrings of the searches have in common.
SEARCH_PARAMETERS = """gammas : sequence of float, default=None
        Widths of the kernels rbf, laplacian, poly, sigmoid or chi2; eight from 0.01 to 50 if None
        (1 for poly). "scale" is possible, and is then taken from each fold's training objects.
    degrees : sequence of int, default=None
        Degrees of the polynomial kernel; 1 to 4 if None.
    kernels : sequence of kernels, default=None
        Kernels to compare, in place of `kernel` and its parameters.
    kernel : str or callable, default="rbf"
        As in the plain estimator.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : str, default="krein"
        What to do about negative eigenvalues, as in the plain estimator.
    cv : int, splitter or iterable, default=10
        Cross-validation, as in scikit-learn; ``LeaveOneOut()`` has a closed form for RC+.
    scoring : str or callable, default=None
        What to maximise: accuracy if None; "balanced_accuracy" or any other scikit-learn scorer.
        Probabilities are calibrated before they are scored, as those of the search are.
    n_jobs : int, default=None
        Number of processes over the kernels.
    verbose : int, default=0
        Whether to show a progress bar."""
SEARCH_ATTRIBUTES = """Attributes
    ----------
    best_params_ : dict
        Parameters of the best candidate. Among equal scores the one with more regularisation, then
        the wider kernel (or lower degree).
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : estimator
        The best candidate fitted on all objects; what it has, the search has too.
    cv_results_ : dict
        Parameters and scores of all candidates in scikit-learn's layout (without times, which
        candidates share).
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_splits_ : int
        Number of folds.
    temperature_ : float
        What scores are divided by before they become probabilities, from the held-out scores.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table."""


def documented(search):
    """Put the common parts into the docstring of a search."""
    search.__doc__ = search.__doc__.replace("{search parameters}", SEARCH_PARAMETERS).replace(
        "{search attributes}", SEARCH_ATTRIBUTES
    )
    return search


class PathSearchCV(BestEstimatorMixin, BaseEstimator):
    """A search over kernels, variants and a path of values, all folds from shared factorisations.

    A subclass says which estimator it searches for (`_plain`), along which parameter the path runs
    (`_axis`), which values (`_values`), and gives the held-out scores of a path (`_score_path`).
    """

    _axis = "reg"

    def __init__(
        self,
        *,
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        cv=10,
        scoring=None,
        n_jobs=None,
        verbose=0,
    ):
        self.gammas = gammas
        self.degrees = degrees
        self.kernels = kernels
        self.kernel = kernel
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.spectrum = spectrum
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _variants(self):
        """Parameters of the plain estimator beside kernel and path, a dict for each variant."""
        return [{}]

    def _common(self):
        """Parameters of the plain estimator that are not searched."""
        return {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self):
        return self.kernels is None and is_precomputed(self.kernel)

    def _takes_vectors(self):
        kernels = [self.kernel] if self.kernels is None else self.kernels
        return all(takes_vectors(kernel) for kernel in kernels)

    def fit(self, X, y, groups=None, **refused):
        """Search, then fit the best on all objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.
        **refused : dict
            Nothing else is taken; the error says why.

        Returns
        -------
        self : object
            The fitted search.
        """
        refuse_fit_params(self, refused)
        self._check_parameters()
        given = X  # the best estimator is to see the names of the columns too
        if self._takes_vectors():
            X, y = validate_data(self, X, y, dtype=np.float64)
        else:
            X, y = check_objects(X), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        self.classes_, codes = check_classes(y)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        self.n_splits_ = len(splits)

        # Objects in the order of class and fold: a class is a slice, and so is mostly a fold of it.
        fold_of = np.full(len(codes), len(splits))
        for f, (_, test) in reversed(list(enumerate(splits))):
            fold_of[test] = f
        order = np.lexsort([fold_of, codes])
        place = order.argsort()
        folds = [Fold(*(_mask(place[part], len(y)) for part in split)) for split in splits]
        if any((fold.train & fold.test).any() for fold in folds):
            raise ValueError("cv has objects that are in the training and the test part at once.")
        candidates, scores = self._search(self._sorted(X, y, codes, order), folds, order)
        self._evaluate(candidates, scores, folds, y[order])
        self._calibrate(scores[self.best_index_], folds, codes[order])
        self.best_estimator_ = self._plain(**self._common(), **self._kernel_defaults()).set_params(
            **self.best_params_
        )
        self.best_estimator_.fit(given, y)
        return self

    def _check_parameters(self):
        """Refuse what the refitted estimator would refuse in the end."""
        check_choice(self.spectrum, "spectrum", SPECTRA)

    def _sorted(self, X, y, codes, order):
        ends = np.cumsum(np.bincount(codes))
        slices = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        precomputed = self._is_precomputed()
        if precomputed:
            X = TrainingKernel(X, codes, None).X[np.ix_(order, order)]
        else:
            X = take(X, order)
        return Objects(X, y[order], codes[order], slices, precomputed)

    def _kernel_defaults(self):
        return {
            "kernel": self.kernel,
            "coef0": self.coef0,
            "kernel_params": self.kernel_params,
            "spectrum": self.spectrum,
        }

    def _search(self, objects, folds, order):
        """All candidates (dicts of parameters) and their held-out scores (m, c), fold by fold."""
        settings = kernel_settings(self.kernel, self.gammas, self.degrees, self.kernels)
        n = len(objects.codes)
        # The distances that the kernels share, a kernel matrix and its factors.
        check_memory(3 * n**2, f"The search on the kernel matrix of {n} objects")
        shared = shared_sq_distances(objects, settings, self.kernel)
        variants = self._variants()
        run = Parallel(n_jobs=self.n_jobs, return_as="generator")
        paths = run(
            delayed(self._run)(objects, folds, order, setting, variants, shared)
            for setting in settings
        )
        candidates, scores = [], []
        with progress(self.verbose, len(settings), "kernels") as advance:
            for setting, by_variant in zip(settings, paths, strict=True):
                for variant, path in zip(variants, by_variant, strict=True):
                    for step, value in enumerate(self._values(variant)):
                        candidates.append({**setting, **variant, self._axis: value})
                        scores.append(path[step])
                advance()
        return candidates, scores

    def _run(self, objects, folds, order, setting, variants, shared):
        """Held-out scores (r, m, c), fold after fold, of each variant for one kernel."""
        params = {
            "kernel": self.kernel,
            "gamma": "scale",
            "degree": 3,
            "coef0": self.coef0,
            "kernel_params": self.kernel_params,
            **setting,
        }
        spectrum = check_choice(self.spectrum, "spectrum", SPECTRA)
        scores = [[None] * len(folds) for _ in variants]
        masks = [fold.train for fold in folds]
        for problem, which in problems(objects, masks, params, spectrum, shared):
            if spectrum == "raise":
                refuse_indefinite(problem, None if problem.complete else masks[which[0]])
            chosen = [masks[f] for f in which]
            for variant, by_fold in zip(variants, scores, strict=True):
                path = self._score_path(problem, chosen, objects.codes, variant, order)
                for f, held_out in zip(which, path, strict=True):
                    by_fold[f] = held_out[:, folds[f].test[~folds[f].train]]
        return [np.concatenate(by_fold, axis=1) for by_fold in scores]

    def _evaluate(self, candidates, scores, folds, y):
        """cv_results_ and the best candidate."""
        truth = np.concatenate([y[fold.test] for fold in folds])
        starts = np.cumsum([0] + [fold.test.sum() for fold in folds])
        table = np.array(
            [
                fold_metrics(held_out, truth, starts, self.classes_, self.scoring)
                for held_out in scores
            ]
        )
        mean = table.mean(axis=1)
        refuse_nan(mean, self.scoring)
        names = list(dict.fromkeys(name for c in candidates for name in c))
        results = {}
        for name in names:
            column = np.ma.masked_all(len(candidates), dtype=object)
            for i, candidate in enumerate(candidates):
                if name in candidate:
                    column[i] = candidate[name]
            results[f"param_{name}"] = column
        results["params"] = candidates
        for f in range(table.shape[1]):
            results[f"split{f}_test_score"] = table[:, f]
        results["mean_test_score"] = mean
        results["std_test_score"] = table.std(axis=1)
        rounded = np.round(mean / TIE) * TIE
        results["rank_test_score"] = np.array(
            [1 + (rounded > value).sum() for value in rounded], dtype=np.int32
        )
        self.cv_results_ = results
        best = np.flatnonzero(mean >= mean.max() - TIE)
        # Ties: more regularisation first, then the earlier kernel (wider, of lower degree).
        path = [np.max(candidates[i][self._axis]) for i in best]
        self.best_index_ = int(best[np.argmax(path)])
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = candidates[self.best_index_]

    def _calibrate(self, scores, folds, codes):
        """The temperature that makes the held-out scores of the best candidate likely."""
        truth = np.concatenate([codes[fold.test] for fold in folds])
        self.temperature_ = fit_temperature(scores, truth)

    def __getattr__(self, name):
        # Whatever else the refitted estimator has; called for missing attributes only.
        if name.startswith("__") or "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.best_estimator_, name)


def _mask(index, n):
    mask = np.zeros(n, dtype=bool)
    mask[index] = True
    return mask


class Fold(NamedTuple):
    """Masks of a fold's training and test objects; they need not be all objects."""

    train: np.ndarray
    test: np.ndarray


def check_path(values, name):
    """A sequence of positive numbers, at least one."""
    path = np.asarray(values, dtype=float)
    if path.ndim != 1 or not len(path) or not (np.isfinite(path).all() and (path > 0).all()):
        raise ValueError(f"{name} must be a sequence of positive numbers; got {values!r}.")
    return path.tolist()


def refuse_indefinite(problem, train):
    """spectrum="raise"."""
    if not problem.classes_are_nonnegative(train):
        raise ValueError(
            "The kernel is not positive definite: a class's centred matrix has negative "
            "eigenvalues, and spectrum='raise' asks to stop. spectrum='krein' handles them as the "
            "papers do."
        )
