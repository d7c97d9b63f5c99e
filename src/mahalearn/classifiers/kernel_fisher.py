"""Kernel Fisher discriminant (papers A and C: KFD, IKFD)."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base import LinearPath, LinearPathMixin
from .._typing import Kernel, Objects, RandomState
from .._validation import check_positive
from ..formulas.kernel_fisher import fisher_model, fisher_path
from ._landmark_models import fisher_model as landmark_fisher_model
from ._landmarks import LandmarkClassifier


class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearPathMixin, LandmarkClassifier
):
    """Kernel Fisher discriminant for positive definite and indefinite kernels.

    Each class against the rest: the direction w = Σ a_iψ(x_i) along which the class means are far
    apart for the scatter within the two groups, and the midpoint of the means as the threshold. An
    object goes to the class with the largest score. One decomposition of the kernel matrix serves
    all classes.

    Parameters
    ----------
    reg : float, default=1e-3
        Regularisation β, positive: a = (N + βI)⁻¹Kz, N the scatter within the two groups.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :mod:`mahalearn.kernels`).
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues. The discriminant's formula is the same for definite
        and indefinite kernels, so that "krein" and "ignore" are one; "raise" stops; the others
        correct the kernel first, for training objects and queries alike.
    standardize : {"auto", True, False}, default="auto"
        Whether the columns are centred and divided by their standard deviations first, for the
        kernels rbf, laplacian, linear, poly and sigmoid by name. "auto": where their standard
        deviations differ by more than a factor of ten.

        .. versionadded:: 0.2
    landmarks : int, "auto", collection of objects or None, default=None
        None uses all training objects. With m landmarks fitting takes one pass over the data, of
        any number of objects, and memory m² per class; distances are then approximations (see the
        user guide, docs/scale.md). A number; "auto" for as few as cross-validate within one
        standard error of the best, as far as memory allows; or the landmarks themselves, for
        ``kernel="precomputed"`` their positions among the rows of X, whose columns are then all
        training objects or the landmarks.

        .. versionadded:: 0.2
    landmark_method : {"auto", "kmeans", "rpcholesky", "uniform"}, default="auto"
        How landmarks are chosen, always without labels: k-means++ with a few Lloyd steps
        (vectors), randomly pivoted Cholesky (definite kernels), or uniformly. "auto" takes the
        first for vectors, the second for objects with a definite kernel and the third otherwise.

        .. versionadded:: 0.2
    landmark_rtol : float, default=None
        Eigenvalues of the landmarks' kernel matrix up to this fraction of the largest are cut. None
        chooses: rounding for definite kernels, 1e-4 for indefinite ones.

        .. versionadded:: 0.2
    random_state : int, RandomState instance or None, default=None
        Determines the choice of landmarks.

        .. versionadded:: 0.2

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients a of each class, in the order of the training objects (or of the landmarks).
    intercept_ : ndarray of shape (n_classes,)
        Offsets −½aᵀKz₊.
    kernel_ : object
        The kernel as fitted.
    landmarks_ : collection
        The landmarks, where the classifier has some; for a precomputed kernel their positions.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    References
    ----------
    E. Pękalska and B. Haasdonk, Kernel quadratic discriminant analysis for positive definite and
    indefinite kernels, section III.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import KernelFisherDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KernelFisherDiscriminant(reg=0.1))
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.98
    """

    def __init__(
        self,
        reg: float = 1e-3,
        *,
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        spectrum: str = "krein",
        standardize: bool | str = "auto",
        landmarks: Any = None,
        landmark_method: str = "auto",
        landmark_rtol: float | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.landmarks = landmarks
        self.landmark_method = landmark_method
        self.landmark_rtol = landmark_rtol
        self.random_state = random_state
        self.reg = reg

    def _check_parameters(self):
        check_positive(self.reg, "reg")

    def _fit_path(self, training, labels, values):
        K = self._fit_full(training)
        largest = max(K.max(), -K.min())  # K is overwritten
        if len(values) == 1:
            models = [fisher_model(K, training.slices, values[0])]
        else:
            models = fisher_path(K, training.slices, values)
        return LinearPath.of(models, largest)

    def _landmark_path(self, statistics, labels, values):
        return landmark_fisher_model(
            statistics, values, spectrum=self.spectrum, rtol=self.landmark_rtol
        )

    def _store_landmarks(self, model, labels):
        self.intercept_ = self._all_columns(model.offsets, np.nan)[0]

    _derived = ("intercept_",)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients a of each class, in the order of the training objects or landmarks."""
        check_is_fitted(self)
        if self._at_landmarks:
            return self._all_columns(self._fitted_landmarks().coefficients[0], np.nan)
        return self._model.coefficients[self._training.order.argsort()]

    @property
    def _n_features_out(self):
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def transform(self, X: Objects) -> np.ndarray:
        """Project objects onto the discriminant directions, aᵀk_x.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        projections : ndarray of shape (n_samples, n_directions)
            A column for each class; one column, large for the second class, where there are two.
        """
        projections = self._scores(X) - self.intercept_
        return projections[:, -self._n_features_out :]
