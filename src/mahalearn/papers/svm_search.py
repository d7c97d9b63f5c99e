"""Grid search of the reference SVMs, one-vs-all, with one kernel matrix for all folds and C.

What GridSearchCV over OneVsRestSVC finds (a test compares them), without computing and checking the
same kernel matrix for every candidate and fold: on the papers' small sets that took most time.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from ..formulas.linalg import mean_distance_sq

# libsvm's steps: polynomials and indefinite kernels with large C on overlapping classes would take
# minutes otherwise.
MAX_ITER = 100_000
# Mean scores that differ by less are equal.
TIE = 1e-10


class OneVsAllSearch:
    """Choice of kernel and C; of equally good candidates the smallest C, then the first kernel.

    Parameters
    ----------
    Cs : sequence of float
        Values of C.
    folds : list of (train, test)
        Splits.
    gammas, degrees, kernels, kernel, coef0
        The kernels to compare, as in the library's searches.
    scoring : {"accuracy", "balanced_accuracy"}, default="accuracy"
        What to maximise.
    pseudo_fisher : bool, default=False
        Whether the pseudo-Fisher discriminant takes the place of an SVM where the squared distance
        of the class means is negative (as in DisTools): no margin separates them.
    """

    def __init__(
        self,
        Cs,
        folds,
        gammas=None,
        degrees=None,
        kernels=None,
        kernel="rbf",
        coef0=1,
        scoring="accuracy",
        pseudo_fisher=False,
    ):
        self.Cs = list(Cs)
        self.folds = folds
        self.balanced = {"accuracy": False, "balanced_accuracy": True}[scoring]
        self.pseudo_fisher = pseudo_fisher
        if kernels is None:
            grid = {"gamma": gammas, "degree": degrees}
            grid = {name: values for name, values in grid.items() if values is not None}
            kernels = [
                {"kernel": kernel, "coef0": coef0, **dict(zip(grid, values))}
                for values in product(*grid.values())
            ]
        else:
            kernels = [{"kernel": function} for function in kernels]
        self.kernels = kernels

    def fit(self, X, y):
        """Score all candidates on all folds, and fit the best on all objects."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        # One SVM for each class against the rest; a single one for two classes.
        c = len(self.classes_)
        self._positives = range(c) if c > 2 else (1,)
        scores = np.array([self._scores(_matrix(X, X, k), codes) for k in self.kernels])
        by_C = scores.T.ravel()
        best = int(np.argmax(by_C >= by_C.max() - TIE))
        place, number = divmod(best, len(self.kernels))
        chosen = {"C": self.Cs[place], **self.kernels[number]}
        self.best_params_ = {k: v for k, v in chosen.items() if k != "coef0"}
        self.best_score_ = float(scores[number, place])
        self._X, self._kernel = X, self.kernels[number]
        K = _matrix(X, X, self._kernel)
        self._models = [self._path(K, codes == j, [self.Cs[place]]) for j in self._positives]
        return self

    def predict(self, X):
        """Labels by the best parameters."""
        rows = _matrix(X, self._X, self._kernel)
        return self.classes_[self._winners(np.stack([m.values(rows)[0] for m in self._models]))]

    def _winners(self, values):
        return np.argmax(values, axis=0) if len(self.classes_) > 2 else (values[0] > 0).astype(int)

    def _scores(self, K, codes):
        """Mean score over the folds for each C."""
        scores = []
        for train, test in self.folds:
            K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
            paths = [self._path(K_train, codes[train] == j, self.Cs) for j in self._positives]
            values = np.stack([path.values(K_test) for path in paths])
            right = self._winners(values) == codes[test]
            scores.append(self._fold_score(right, codes[test]))
        return np.mean(scores, axis=0)

    def _fold_score(self, right, codes):
        if not self.balanced:
            return right.mean(axis=1)
        return np.mean([right[:, codes == j].mean(axis=1) for j in np.unique(codes)], axis=0)

    def _path(self, K, positive, Cs):
        """Two-class SVMs for each C. One that no bound C holds is the one of every larger C."""
        if self.pseudo_fisher:
            groups = np.flatnonzero(positive), np.flatnonzero(~positive)
            if mean_distance_sq(K, *groups) < 0:
                weights, constant = fit_pseudo_fisher(K, positive)
                n = len(Cs)
                return LinearPath(np.tile(weights, (n, 1)), np.full(n, constant))
        weights, constants, settled = np.zeros((len(Cs), len(K))), np.zeros(len(Cs)), None
        for i in np.argsort(Cs):
            if settled is None:
                svc = SVC(C=Cs[i], kernel="precomputed", max_iter=MAX_ITER).fit(K, positive)
                weights[i, svc.support_], constants[i] = svc.dual_coef_[0], svc.intercept_[0]
                if svc.n_iter_[0] < MAX_ITER and np.abs(svc.dual_coef_).max() < Cs[i]:
                    settled = i
            else:
                weights[i], constants[i] = weights[settled], constants[settled]
        return LinearPath(weights, constants)


class LinearPath(NamedTuple):
    """Functions f(x) = aᵀk_x + b of the kernel row of an object, one for each value of C."""

    weights: np.ndarray
    constants: np.ndarray

    def values(self, rows):
        """(number of functions, number of objects)."""
        return self.weights @ rows.T + self.constants[:, None]


def _matrix(X, Y, kernel):
    """Kernel values of the rows of X against those of Y, (len(X), len(Y))."""
    parameters = dict(kernel)
    function = parameters.pop("kernel")
    if callable(function):
        return function(X) if X is Y else function(X, Y)
    if isinstance(function, str) and function == "precomputed":
        return np.asarray(X)
    return pairwise_kernels(X, Y, metric=function, filter_params=True, **parameters)


def fit_pseudo_fisher(K, positive):
    """Coefficients a (n,) and b of f(x) = aᵀk_x + b, the least-norm fit of ±1 to the rows of K.

    Unlike in `LeastSquaresHead` the constant counts in the norm: [K 1]⁺y, as DisTools does
    where a support vector machine on an indefinite kernel is not defined.
    """
    targets = np.where(positive, 1.0, -1.0)
    design = np.column_stack([K, np.ones(len(K))])
    solution = np.linalg.lstsq(design, targets, rcond=None)[0]
    return solution[:-1], solution[-1]
