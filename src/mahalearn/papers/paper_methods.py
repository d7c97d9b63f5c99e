"""The papers' classifiers, each with the parameter it searches, and the search itself."""

import warnings
from dataclasses import dataclass, field

import numpy as np

from ..results import error_rates
from .experiment import Measured
from .holdouts import stratified_folds


@dataclass(frozen=True)
class Searched:
    """A classifier whose parameters are chosen by 10-fold cross-validation on the training data.

    Of equally good candidates the searches take the one with more regularisation, then the wider
    kernel.

    Attributes
    ----------
    name : str
        As in the papers' tables.
    family : str
        Its name in the library's table of families.
    values : tuple
        Values of the parameter that is searched beside the kernel.
    fixed : dict
        Other parameters.
    scoring : str
        What the search maximises.
    """

    name: str
    family: str
    values: tuple
    fixed: dict = field(default_factory=dict)
    scoring: str = "accuracy"

    def fit(self, problem, seed):
        """The fitted search, and what it chose."""
        folds = stratified_folds(problem.y, seed)
        search = self._search(folds, problem.kernel)
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # Large C reach the solver's limit on overlapping classes.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(problem.X, problem.y)
        chosen = _described(search.best_params_)
        return search, {**chosen, "cv_error": round(1 - float(search.best_score_), 6)}

    def _search(self, folds, kernel):
        """The search with the kernels of an experiment, the preferred candidates first."""
        from ..model_selection.families import FAMILIES, family_grid
        from ..model_selection.search import KernelSearchCV

        if self.family == "svm":
            from .svm_search import OneVsAllSearch

            return OneVsAllSearch(
                list(self.values), folds, scoring=self.scoring, **self.fixed, **kernel
            )
        fixed, settings = kernel_settings(kernel)
        estimator = FAMILIES[self.family].estimator(**self.fixed, **COMMON, **fixed)
        values = sorted(self.values)
        if self.family == "neighbors":
            most = min(len(train) for train, _ in folds)
            values = [k for k in values if k <= most]
        grid = family_grid(estimator, settings, values=values)
        return KernelSearchCV(estimator, grid, cv=folds, scoring=self.scoring)

    def run(self, problem, seed, earlier):
        """Choose, fit, and count the errors on the test data."""
        model, chosen = self.fit(problem, seed)
        return Measured(*error_rates(problem.y_test, model.predict(problem.X_test)), params=chosen)


def _described(params):
    """The numbers and names among parameters: what a row can hold."""
    params = dict(params)
    params |= getattr(params.get("kernel"), "keywords", {})
    return {k: v for k, v in params.items() if isinstance(v, bool | int | float | str)}


def kernel_settings(kernel):
    """Split an experiment's kernel into fixed parameters and the kernels to compare, in order.

    kernel: gammas, degrees, kernels, kernel and coef0, each only where the experiment has it.
    """
    from ..model_selection.grid import widths

    if "kernels" in kernel:
        return {}, [{"kernel": each} for each in kernel["kernels"]]
    fixed = {name: kernel[name] for name in ("kernel", "coef0") if name in kernel}
    gammas = None if kernel.get("gammas") is None else sorted(set(kernel["gammas"]))
    return fixed, widths(fixed.get("kernel", "rbf"), gammas, kernel.get("degrees"))


def log_grid(low, high, n):
    """n values from low to high, equally far apart on a logarithmic scale."""
    return tuple(float(v) for v in np.geomspace(low, high, n))


ACCURACY, BALANCED = "accuracy", "balanced_accuracy"
# What every search is told, so that no default of the library matters: negative eigenvalues as the
# papers handle them, data as the experiment prepared them.
COMMON = {"spectrum": "krein", "standardize": False}


def distance_method(name, variant, values, *, reg_on, head=None, scoring=ACCURACY):
    """KQD (head None), or a discriminant in the dissimilarity space.

    reg_on: "kernel" where the values are α, "covariance" where they are σ². Offsets are those that
    paper C prints, by plain least squares over all pairs of classes.
    """
    fixed = {"variant": variant, "reg_on": reg_on}
    if head is None:
        return Searched(name, "kqd", values, {**fixed, "offset": "least_squares"}, scoring)
    return Searched(name, "dissimilarity_space", values, {**fixed, "discriminant": head}, scoring)


def kfd(name, values, scoring=ACCURACY):
    """Kernel Fisher discriminant."""
    return Searched(name, "kernel_fisher", values, scoring=scoring)


def svm(name, values, scoring=ACCURACY, pseudo_fisher=False):
    """Support vector machine, one-vs-all; pseudo_fisher: see `OneVsAllSearch`."""
    return Searched(name, "svm", values, {"pseudo_fisher": pseudo_fisher}, scoring)


def knn(name, most, scoring=ACCURACY):
    """Kernel nearest neighbours with 1 to `most` neighbours, as far as a training part has them."""
    fixed = {"weights": "uniform"}
    return Searched(name, "neighbors", tuple(range(1, most + 1)), fixed, scoring)


def kpca_qd(name, values, share, scoring=ACCURACY):
    """Quadratic discriminant on the kernel principal components of a share of the variance."""
    fixed = {"n_components": share, "priors": None}
    return Searched(name, "kernel_pca", values, fixed, scoring)
