"""The papers' classifiers, each with the parameter it searches, and the search itself."""

import warnings
from dataclasses import dataclass, field

import numpy as np

from .protocol import Outcome

N_FOLDS = 10
# A limit of libsvm's iterations: polynomials of large C on overlapping classes would take minutes.
SVM_ITERATIONS = 100_000


@dataclass(frozen=True)
class Searched:
    """A classifier whose parameters are chosen by 10-fold cross-validation on the training data.

    Attributes
    ----------
    name : str
        As in the papers' tables.
    estimator : str
        Public name of the classifier.
    parameter : str
        What is searched, beside the kernel.
    values : tuple
        Its values, ascending: of equally good ones the first is taken.
    fixed : dict
        Other parameters.
    """

    name: str
    estimator: str
    parameter: str
    values: tuple
    fixed: dict = field(default_factory=dict)

    def search(self, kernel, folds):
        """The search over `values` for one kernel (a dict of parameters)."""
        from sklearn.model_selection import GridSearchCV

        estimator = _estimators()[self.estimator](**self.fixed, **kernel)
        grid = {self.parameter: list(self.values)}
        return GridSearchCV(estimator, grid, cv=folds, error_score="raise")

    def fit(self, problem, seed):
        """The best search over all kernels of the problem, and what it chose."""
        folds = stratified_folds(problem.y, seed)
        best, chosen = None, {}
        for kernel in problem.kernels:
            search = _quietly(self.search(kernel, folds).fit, problem.X, problem.y)
            if best is None or search.best_score_ > best.best_score_:
                best, chosen = search, {**_described(kernel), **search.best_params_}
        return best, {**chosen, "cv_error": round(1 - float(best.best_score_), 6)}

    def run(self, problem, seed, earlier):
        """Choose, fit, and count the errors on the test data."""
        model, chosen = self.fit(problem, seed)
        return Outcome(*test_errors(problem.y_test, model.predict(problem.X_test)), params=chosen)


def _quietly(fit, X, y):
    """Fit without a word of the solver's limit, which large C reach on overlapping classes."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(X, y)


def _described(kernel):
    """The numbers of a kernel's parameters: what a row can hold."""
    numbers = {**kernel, **kernel.get("kernel_params", {})}
    return {name: value for name, value in numbers.items() if isinstance(value, int | float)}


def _estimators():
    from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminant
    from ..classifiers.kernel_fisher import KernelFisherDiscriminant
    from ..classifiers.kernel_neighbors import KernelKNeighborsClassifier
    from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
    from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminant
    from ..classifiers.one_vs_all_svm import OneVsAllSVC

    return {
        cls.__name__: cls
        for cls in (
            DissimilaritySpaceDiscriminant,
            KernelFisherDiscriminant,
            KernelKNeighborsClassifier,
            KernelPCAQuadraticDiscriminant,
            KernelQuadraticDiscriminant,
            OneVsAllSVC,
        )
    }


def stratified_folds(y, seed):
    """The ten folds of a cell, the same for every method and kernel."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        # A class of fewer than ten objects is absent from some folds' test parts: no harm.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        return list(splitter.split(np.zeros(len(y)), y))


def test_errors(y, predicted):
    """Share of wrong labels, and its mean over the classes."""
    wrong = np.asarray(predicted) != np.asarray(y)
    return float(wrong.mean()), float(np.mean([wrong[y == label].mean() for label in np.unique(y)]))


def log_grid(low, high, n):
    """n values from low to high, equally far apart on a logarithmic scale."""
    return tuple(float(v) for v in np.geomspace(low, high, n))


def distance_method(name, variant, values, head=None, reg_on="auto"):
    """KQD (head None), or the Fisher or quadratic discriminant in the dissimilarity space."""
    fixed = {"variant": variant, "reg_on": reg_on}
    if head is None:
        return Searched(name, "KernelQuadraticDiscriminant", "reg", values, fixed)
    return Searched(
        name, "DissimilaritySpaceDiscriminant", "reg", values, {"discriminant": head, **fixed}
    )


def kfd(name, values):
    """Kernel Fisher discriminant."""
    return Searched(name, "KernelFisherDiscriminant", "reg", values)


def svm(name, values):
    """Support vector machine, one-vs-all."""
    return Searched(name, "OneVsAllSVC", "C", values, {"max_iter": SVM_ITERATIONS})


def knn(name, most):
    """Kernel nearest neighbours with 1 to `most` neighbours."""
    return Searched(name, "KernelKNeighborsClassifier", "n_neighbors", tuple(range(1, most + 1)))


def kpca_qd(name, values):
    """Quadratic discriminant on the kernel principal components of 0.8 of the variance."""
    return Searched(name, "KernelPCAQuadraticDiscriminant", "reg", values, {"n_components": 0.8})
