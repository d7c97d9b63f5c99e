"""Grid search of the reference machines, one-vs-all, with one kernel matrix for all folds and C.

What GridSearchCV over OneVsRestSVC finds (a test compares them), without computing and checking the
same kernel matrix for every candidate and fold: on the papers' small sets that took most time.
"""

from itertools import product

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from ..classifiers.one_vs_rest_svm import OneVsRestSVC
from ..model_selection.line_search import nearly_best

# libsvm's steps: polynomials and indefinite kernels with large C on overlapping classes would take
# minutes otherwise.
MAX_ITER = 100_000


class OneVsAllSearch:
    """Choice of kernel and C; of equally good candidates the smallest C, then the first kernel."""

    def __init__(self, Cs, folds, gammas=None, degrees=None, kernels=None, kernel="rbf", coef0=1):
        self.Cs = list(Cs)
        self.folds = folds
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
        classes, codes = np.unique(y, return_inverse=True)
        scores = np.array([self._scores(_matrix(X, k), codes, len(classes)) for k in self.kernels])
        best = int(np.argmax(nearly_best(scores.T.ravel())))
        place, number = divmod(best, len(self.kernels))
        chosen = {"C": self.Cs[place], **self.kernels[number]}
        self.best_params_ = {k: v for k, v in chosen.items() if k != "coef0"}
        self.best_score_ = float(scores[number, place])
        self.best_estimator_ = OneVsRestSVC(max_iter=MAX_ITER, **chosen).fit(X, y)
        return self

    def predict(self, X):
        """Labels by the best machine."""
        return self.best_estimator_.predict(X)

    def _scores(self, K, codes, n_classes):
        """Mean accuracy over the folds for each C."""
        found = np.empty((len(self.folds), len(self.Cs)))
        # One machine for each class against the rest; a single one for two classes.
        positives = range(n_classes) if n_classes > 2 else (1,)
        for f, (train, test) in enumerate(self.folds):
            K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
            values = np.stack(
                [_decision_path(K_train, codes[train] == j, K_test, self.Cs) for j in positives]
            )
            predicted = np.argmax(values, axis=0) if n_classes > 2 else values[0] > 0
            found[f] = np.mean(predicted == codes[test], axis=1)
        return found.mean(axis=0)


def _decision_path(K, positive, K_test, Cs):
    """Decision values of a two-class machine for each C, (len(Cs), number of test objects).

    A solution that no coefficient's bound C holds is the solution for every larger C.
    """
    path, values, settled = np.empty((len(Cs), len(K_test))), None, False
    for i in np.argsort(Cs):
        if not settled:
            machine = SVC(C=Cs[i], kernel="precomputed", max_iter=MAX_ITER).fit(K, positive)
            values = machine.decision_function(K_test)
            settled = machine.n_iter_[0] < MAX_ITER and np.abs(machine.dual_coef_).max() < Cs[i]
        path[i] = values
    return path


def _matrix(X, kernel):
    parameters = dict(kernel)
    function = parameters.pop("kernel")
    if callable(function):
        return function(X)
    if isinstance(function, str) and function == "precomputed":
        return np.asarray(X)
    return pairwise_kernels(X, metric=function, filter_params=True, **parameters)
