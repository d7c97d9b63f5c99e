"""The papers' classifiers, each with the parameter it searches, and the search itself."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..results import error_rates
from .protocol import Measured
from .splits import stratified_folds


@dataclass(frozen=True)
class Searched:
    """A classifier whose parameters are chosen by 10-fold cross-validation on the training data.

    Of equally good candidates the searches take the one with more regularisation, then the wider
    kernel.

    Attributes
    ----------
    name : str
        As in the papers' tables.
    search : callable
        ``search(values, folds, **fixed, **kernel)`` gives the search, a scikit-learn estimator.
    values : tuple
        Values of the parameter that is searched beside the kernel.
    fixed : dict
        Other parameters.
    """

    name: str
    search: Callable
    values: tuple
    fixed: dict = field(default_factory=dict)

    def fit(self, problem, seed):
        """The fitted search, and what it chose."""
        folds = stratified_folds(problem.y, seed)
        search = self.search(list(self.values), folds, **self.fixed, **problem.kernel)
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # Large C reach the solver's limit on overlapping classes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(problem.X, problem.y)
        chosen = _described(search.best_params_)
        return search, {**chosen, "cv_error": round(1 - float(search.best_score_), 6)}

    def run(self, problem, seed, earlier):
        """Choose, fit, and count the errors on the test data."""
        model, chosen = self.fit(problem, seed)
        return Measured(*error_rates(problem.y_test, model.predict(problem.X_test)), params=chosen)


def _described(params):
    """The numbers and names among parameters: what a row can hold."""
    params = dict(params)
    params |= getattr(params.get("kernel"), "keywords", {})
    return {k: v for k, v in params.items() if isinstance(v, bool | int | float | str)}


def _quadratic(values, folds, **more):
    from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminantCV

    return KernelQuadraticDiscriminantCV(regs=values, cv=folds, **more)


def _dissimilarity_space(values, folds, **more):
    from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminantCV

    return DissimilaritySpaceDiscriminantCV(regs=values, cv=folds, **more)


def _fisher(values, folds, **more):
    from ..classifiers.kernel_fisher import KernelFisherDiscriminantCV

    return KernelFisherDiscriminantCV(values, cv=folds, **more)


def _neighbours(values, folds, **more):
    from ..classifiers.kernel_neighbors import KernelKNeighborsClassifierCV

    most = min(len(train) for train, _ in folds)
    return KernelKNeighborsClassifierCV([k for k in values if k <= most], cv=folds, **more)


def _pca(values, folds, **more):
    from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminantCV

    return KernelPCAQuadraticDiscriminantCV(values, cv=folds, **more)


def _one_vs_all(values, folds, **more):
    from .svm_search import OneVsAllSearch

    return OneVsAllSearch(values, folds, **more)


def log_grid(low, high, n):
    """n values from low to high, equally far apart on a logarithmic scale."""
    return tuple(float(v) for v in np.geomspace(low, high, n))


ACCURACY, BALANCED = "accuracy", "balanced_accuracy"
# What every search is told, so that no default of the library matters: negative eigenvalues as the
# papers handle them, data as the experiment prepared them.
COMMON = {"spectrum": "krein", "standardize": False}


def distance_method(name, variant, values, *, reg_on, head=None, scoring=ACCURACY):
    """KQD (head None), or a discriminant in the dissimilarity space.

    reg_on: "kernel" where the values are α, "covariance" where they are σ².
    """
    fixed = {"variants": (variant,), "reg_on": reg_on, "scoring": scoring, **COMMON}
    if head is None:
        return Searched(name, _quadratic, values, {**fixed, "offset": "error"})
    return Searched(name, _dissimilarity_space, values, {**fixed, "discriminant": head})


def kfd(name, values, scoring=ACCURACY):
    """Kernel Fisher discriminant."""
    return Searched(name, _fisher, values, {"scoring": scoring, **COMMON})


def svm(name, values, scoring=ACCURACY, pseudo_fisher=False):
    """Support vector machine, one-vs-all; pseudo_fisher: see `OneVsAllSearch`."""
    return Searched(name, _one_vs_all, values, {"scoring": scoring, "pseudo_fisher": pseudo_fisher})


def knn(name, most, scoring=ACCURACY):
    """Kernel nearest neighbours with 1 to `most` neighbours, as far as a training part has them."""
    fixed = {"scoring": scoring, "weights": "uniform", **COMMON}
    return Searched(name, _neighbours, tuple(range(1, most + 1)), fixed)


def kpca_qd(name, values, kept, scoring=ACCURACY):
    """Quadratic discriminant on the kernel principal components of a share of the variance."""
    fixed = {"scoring": scoring, "n_components": kept, "priors": None, **COMMON}
    return Searched(name, _pca, values, fixed)
