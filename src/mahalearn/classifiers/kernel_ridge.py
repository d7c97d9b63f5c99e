"""Kernel ridge regression on class labels, in the Kreĭn space of an indefinite kernel."""

import numpy as np

from .._typing import Gamma, Kernel, Spectrum, Standardize
from .._validation import check_positive
from ..formulas.calibration import fit_temperature
from ..formulas.kernel_ridge import (
    class_targets,
    leave_one_out_lambdas,
    ridge_leave_one_out,
    ridge_path,
    ridge_spectrum,
)
from ..training.folds import is_leave_one_out
from .kernel_classifier import LinearClassifier, LinearPath, linear_rounding


class KernelRidgeClassifier(LinearClassifier):
    """Kernel ridge regression on the classes, for positive definite and indefinite kernels.

    Each class against the rest: a regression on targets +1 and −1 with an intercept that is not
    penalised. An object goes to the class with the largest prediction. An indefinite kernel is a
    regression in its Kreĭn space with the flipped spectrum, the inner product of the associated
    Hilbert space; rows of new objects are flipped in the same way. The kernel is centred, so −d²
    and its centred form give the same result.

    Read more in the :doc:`user guide </kernel_ridge>`.

    Parameters
    ----------
    reg : float, default=1e-2
        Regularisation, positive, relative to the spread of the kernel: the penalty is
        λ = reg·Σ|λ_k|, λ_k being the eigenvalues of the centred kernel matrix. Their sum is n times
        the mean squared distance of the training objects from their mean.
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
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        Treatment of negative eigenvalues.

        - "krein", "ignore": flip those of the centred kernel matrix, at no extra cost.
        - "raise": raise an error.
        - "clip", "flip", "square", "shift": correct the kernel matrix first, for training objects
          and queries alike. "flip" equals "krein" for kernels of dissimilarities; a similarity is
          flipped without centring.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients of each class, in the order of the training objects.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts: a prediction is ``k @ dual_coef_ + intercept_``.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    RecursiveFeatureMachine : Kernel ridge regression with a learned metric.
    KernelFisherDiscriminant : One direction per class in the feature space.

    References
    ----------
    G. Loosli, S. Canu and C. S. Ong, Learning SVM in Kreĭn spaces, IEEE Trans. PAMI 38 (2016), have
    the same treatment of the spectrum for the SVM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(KernelRidgeClassifier(), X, y).mean():.2f}")
    0.98
    """

    def __init__(
        self,
        reg: float = 1e-2,
        *,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
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
        self.reg = reg

    _expects_temperature = True

    def _check_parameters(self):
        check_positive(self.reg, "reg")

    def _fit_path(self, training, labels, values):
        K = training.full_gram()
        spectrum = ridge_spectrum(K, training.weights)
        counts = training.counts
        targets = class_targets(np.repeat(np.arange(len(counts)), counts), len(counts))
        total = spectrum.weights.sum()
        lambdas = [reg * total * spectrum.scale for reg in values]
        models, temperature = ridge_path(spectrum, targets, lambdas), None
        rounding = linear_rounding(models, np.abs(K).max())
        if len(values) == 1 and not spectrum.indefinite:
            without = leave_one_out_lambdas(spectrum, values)
            left_out = ridge_leave_one_out(spectrum, targets, without)[0]
            temperature = fit_temperature(left_out, targets.argmax(axis=1), training.weights)
        return LinearPath(models=models, values=values, rounding=rounding, temperature=temperature)

    def _fold_scores(self, folds, values):
        K, n, counts = folds.matrix, len(folds.codes), np.bincount(folds.codes)
        closed = K is not None and folds.spectrum != "raise" and counts.min() > 1
        spectrum = ridge_spectrum(K) if closed and is_leave_one_out(folds.splits, n) else None
        # The Kreĭn space of an indefinite kernel would have seen the object that is left out.
        if spectrum is None or spectrum.indefinite:
            yield from super()._fold_scores(folds, values)
            return
        targets = class_targets(folds.codes, len(counts))
        lambdas = leave_one_out_lambdas(spectrum, values)
        scores = np.moveaxis(ridge_leave_one_out(spectrum, targets, lambdas), 0, -1)
        models = ridge_path(spectrum, targets, lambdas.min(axis=1))
        rounding = linear_rounding(models, np.abs(K).max())
        for f, (_, test) in enumerate(folds.splits):
            yield f, slice(0, len(values)), np.arange(len(counts)), scores[test], rounding
