"""Grid search of the reference SVMs, one-vs-all, with one kernel matrix for all folds and C.

What GridSearchCV over OneVsRestSVC finds (a test compares them), without computing and checking the
same kernel matrix for every candidate and fold: on the papers' small sets that took most time.
"""

from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
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
        Replace an SVM that is not properly defined by the pseudo-Fisher discriminant, as DisTools
        does: where the squared distance of the class means is negative, where the squared norm of
        the weight vector is, or where a class has no support vector within its bounds.
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
        self._models = self._paths(_matrix(X, X, self._kernel), codes, [self.Cs[place]])
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
            paths = self._paths(K_train, codes[train], self.Cs)
            values = np.stack([path.values(K_test) for path in paths])
            right = self._winners(values) == codes[test]
            scores.append(self._fold_score(right, codes[test]))
        return np.mean(scores, axis=0)

    def _fold_score(self, right, codes):
        if not self.balanced:
            return right.mean(axis=1)
        return np.mean([right[:, codes == j].mean(axis=1) for j in np.unique(codes)], axis=0)

    def _paths(self, K, codes, Cs):
        """Two-class machines for each C, one path for each class against the rest."""
        replacement = PseudoFisher(K) if self.pseudo_fisher else None
        return [_path(K, codes == j, Cs, replacement) for j in self._positives]


def _path(K, positive, Cs, replacement):
    """Two-class SVMs for each C. One that no bound C holds is the one of every larger C."""
    weights, constants, settled = np.zeros((len(Cs), len(K))), np.zeros(len(Cs)), None
    groups = np.flatnonzero(positive), np.flatnonzero(~positive)
    improper = replacement is not None and mean_distance_sq(K, *groups) < 0
    for i in np.argsort(Cs):
        if settled is not None:
            weights[i], constants[i] = weights[settled], constants[settled]
            continue
        if not improper:
            svc = SVC(C=Cs[i], kernel="precomputed", max_iter=MAX_ITER).fit(K, positive)
            weights[i, svc.support_], constants[i] = svc.dual_coef_[0], svc.intercept_[0]
            if svc.n_iter_[0] < MAX_ITER and np.abs(svc.dual_coef_).max() < Cs[i]:
                settled = i
        if replacement is not None and (improper or not is_proper(K, weights[i], Cs[i])):
            weights[i], constants[i] = replacement.fit(positive)
    return DecisionPath(weights, constants)


# DisTools' accuracies: a coefficient nearer to 0 or C is at its bound; a norm below is none.
AT_BOUND, NO_NORM = 1e-9, 1e-14


def is_proper(K, coefficients, C):
    """True if an SVM's weight vector has a positive squared norm and free vectors on both sides.

    coefficients (n,) are y_iα_i.
    """
    sizes = np.abs(coefficients)
    free = coefficients[(sizes > AT_BOUND) & (sizes < C - AT_BOUND)]
    norm = coefficients @ K @ coefficients
    return bool(norm >= NO_NORM and (free > 0).any() and (free < 0).any())


class DecisionPath(NamedTuple):
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


class PseudoFisher:
    """Least-norm fit of ±1 to the rows of the centred kernel and a constant, [K̃ 1]⁺y (DisTools).

    K̃1 = 0 separates the two: a = K̃⁺y and b the mean of y. One decomposition serves all classes.
    """

    def __init__(self, K):
        self._K = K

    @cached_property
    def _inverse(self):
        """Pseudo-inverse of the centred kernel; eigenvalues within rounding of 0 are dropped."""
        means = self._K.mean(axis=0)
        centred = self._K - means - means[:, None] + means.mean()
        values, vectors = eigh(centred)
        nonzero = np.abs(values) > len(values) * np.finfo(float).eps * np.abs(values).max()
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=nonzero)
        return vectors * inverse @ vectors.T

    def fit(self, positive):
        """Coefficients (n,) and the constant of f(x) = aᵀk_x + b, for the kernel as it is."""
        targets = np.where(positive, 1.0, -1.0)
        weights = self._inverse @ targets
        weights -= weights.mean()
        return weights, targets.mean() - self._K.mean(axis=0) @ weights
