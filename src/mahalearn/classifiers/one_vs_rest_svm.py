"""Support vector machines one-vs-rest on a kernel matrix: the papers' reference (SVM, ISVM)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from .._typing import Gamma, Kernel, Standardize
from .._validation import check_positive
from ..formulas.linalg import LinearScores
from .kernel_classifier import (
    KernelClassifier,
    LinearPath,
    fitted_attribute,
    linear_rounding,
    weighted_fit,
)


@dataclass(kw_only=True)
class SVCPath(LinearPath):
    """Decision values, of two classes those of one machine; machines: where there is one value."""

    machines: list[SVC] | None

    def scores(self, training, queries):
        """(m, c, r) scores of queries."""
        scores = super().scores(training, queries)
        return np.hstack([-scores, scores]) / 2 if scores.shape[1] == 1 else scores

    def margin(self, a, b):
        """Coefficients (n,) and constant of score a minus score b."""
        model = self.models[0]
        if len(model.offsets) > 1:
            return super().margin(a, b)
        sign = 1 if a > b else -1
        return sign * model.coefficients[:, 0], sign * model.offsets[0]


def _fit_linear(svc, K, y, Cs):
    """LinearScores for each C, the same as those of `_fit_machines`.

    A machine whose coefficients stay below C is that of every larger C, too.
    """
    positives = _positives(y)
    A, b = np.zeros((len(Cs), len(K), len(positives))), np.zeros((len(Cs), len(positives)))
    for j, label in enumerate(positives):
        free = None
        for i in np.argsort(Cs, kind="stable"):
            if free is None:
                svc.set_params(C=Cs[i])
                machine = _finite(K, lambda label=label: svc.fit(K, (y == label).astype(int)))
                A[i, machine.support_, j], b[i, j] = machine.dual_coef_[0], machine.intercept_[0]
                if not machine.fit_status_ and np.abs(machine.dual_coef_).max() < Cs[i]:
                    free = i
            else:
                A[i, :, j], b[i, j] = A[free, :, j], b[free, j]
    return [LinearScores(*machines) for machines in zip(A, b, strict=True)]


def _as_linear(machines, n):
    """Machines on n training objects as LinearScores."""
    A, b = np.zeros((n, len(machines))), np.zeros(len(machines))
    for j, machine in enumerate(machines):
        A[machine.support_, j], b[j] = machine.dual_coef_[0], machine.intercept_[0]
    return LinearScores(A, b)


def _fit_machines(svc, K, y, weights):
    """The machine of each class against the rest; of two classes that of the second."""
    return [
        _finite(K, lambda label=label: clone(svc).fit(K, (y == label).astype(int), weights))
        for label in _positives(y)
    ]


def _positives(y):
    """The classes that have a machine."""
    classes = np.unique(y)
    return classes if len(classes) > 2 else classes[1:]


def _finite(K, fit):
    """LIBSVM fails where kernel values are too large for it."""
    try:
        return fit()
    except ValueError as error:
        if "not finite" not in str(error):
            raise
        raise ValueError(
            f"LIBSVM finds no finite solution for kernel values up to {np.abs(K).max():.1g}. "
            "Divide the kernel by its scale, or standardise the columns."
        ) from None


class OneVsRestSVC(KernelClassifier):
    """Support vector machine, one class against the rest, with any kernel of this library.

    One SVM (scikit-learn's ``SVC`` on the kernel matrix) for each class against the rest, as in the
    papers; ``SVC`` alone has one for each pair of classes. `spectrum` sets how negative eigenvalues
    are treated; ``SVC`` silently accepts them.

    Read more in the :doc:`user guide </svm>`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of training errors, positive.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=1000000
        Limit of the solver's iterations; -1 for none. With an indefinite kernel and a large C it
        may need very many.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :doc:`kernels </kernels>`).
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)), "auto" is 1/n_features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    spectrum : {"flip", "clip", "square", "shift", "ignore", "raise"}, default="flip"
        Treatment of negative eigenvalues.

        - "flip", "clip", "square", "shift": correct the kernel matrix first, for training objects
          and queries alike ("flip" is the Kreĭn SVM [1]_).
        - "ignore": pass the matrix to the solver as it is. The problem is then not convex, and the
          solution is a stationary point.
        - "raise": raise an error.

    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list of SVC
        The machine of each class against the rest; a single one where there are two.
    n_iter_ : ndarray of int
        Iterations of each machine's solver.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    MahalanobisSVC : SVM with a Mahalanobis kernel.
    KernelRidgeClassifier : Regression on the classes, with closed-form leave-one-out.

    References
    ----------
    .. [1] G. Loosli, S. Canu and C. S. Ong, Learning SVM in Kreĭn spaces, IEEE Transactions on
       Pattern Analysis and Machine Intelligence 38, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import OneVsRestSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(OneVsRestSVC(C=10), X, y).mean():.2f}")
    0.99
    """

    path_parameter = "C"

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Literal["flip", "clip", "square", "shift", "ignore", "raise"] = "flip",
        standardize: Standardize = "auto",
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    fit = weighted_fit

    def _check_parameters(self):
        check_positive(self.C, "C")
        check_positive(self.tol, "tol")

    def checked_spectrum(self) -> str:
        """The policy about negative eigenvalues."""
        if self.spectrum == "krein":
            raise ValueError(
                f"spectrum={self.spectrum!r} is not available for the support vector machine. The "
                "Kreĭn SVM is spectrum='flip'; spectrum='ignore' passes the matrix to the solver "
                "unchanged."
            )
        return super().checked_spectrum()

    def _fit_path(self, training, labels, values):
        K, y = training.full_gram(), labels.codes[training.order]
        svc = SVC(kernel="precomputed", tol=self.tol, max_iter=self.max_iter)
        if len(values) > 1:
            models, machines = _fit_linear(svc, K, y, values), None
        else:
            machines = _fit_machines(svc.set_params(C=values[0]), K, y, training.weights)
            models = [_as_linear(machines, len(K))]
        rounding = linear_rounding(models, np.abs(K).max())
        return SVCPath(models=models, values=values, rounding=rounding, machines=machines)

    @fitted_attribute
    def estimators_(self, models: Any) -> list[SVC]:
        """The machine of each class against the rest; a single one where there are two."""
        return models.machines

    @fitted_attribute
    def n_iter_(self, models: Any) -> np.ndarray:
        """Iterations of each machine's solver."""
        return np.concatenate([svc.n_iter_ for svc in models.machines])
