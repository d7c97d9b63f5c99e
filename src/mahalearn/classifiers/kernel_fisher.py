"""Kernel Fisher discriminant (papers A and C: KFD, IKFD)."""

from typing import Any, Literal

from .._typing import Gamma, Kernel, RandomState, Spectrum, Standardize
from .._validation import check_positive, is_word
from .kernel_classifier import LinearClassifier, LinearPath, fitted_attribute

DEFAULT_REG = 1e-3
# Squares below this one have lost their digits: such objects have no scale.
SMALLEST = 1e-250


class KernelFisherDiscriminant(LinearClassifier):
    """Kernel Fisher discriminant for positive definite and indefinite kernels.

    For each class against the rest, the direction w = Σ a_iψ(x_i) separates the means of the two
    groups best relative to the scatter within them; the threshold is the midpoint of the means. An
    object is assigned to the class with the largest score. For two classes the decision function is
    the difference of the two scores, which is twice (8) of paper C. One decomposition of the kernel
    matrix serves all classes.

    Read more in the :doc:`user guide </kernel_fisher>`.

    Parameters
    ----------
    reg : float or "auto", default="auto"
        Regularisation β, positive: a = (N + βI)⁻¹Kz, N the scatter within the two groups. "auto" is
        0.001, and for dissimilarities (a measure, or a precomputed matrix −d² or −d) 0.001·(ns)²
        with n objects and their mean centred self-similarity s: N grows with both.
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

        - "krein", "ignore": the formula holds for definite and indefinite kernels alike.
        - "raise": raise an error.
        - "clip", "flip", "square", "shift": correct the kernel matrix first, for training objects
          and queries alike.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.
    landmarks : int, "auto", objects, LandmarkMap or None, default=None
        Nyström landmarks, for many objects: memory is m² per class for m landmarks, and distances
        are approximations (see :doc:`landmarks </landmarks>`).

        - None: use all training objects.
        - int: number of landmarks.
        - "auto": the smallest number with a cross-validated score within one standard error of the
          best, as memory allows.
        - objects: the landmarks; for ``kernel="precomputed"`` their positions among the rows of X,
          whose columns are then all training objects or the landmarks.
        - LandmarkMap: also sets how landmarks are chosen and where their spectrum is cut.
    random_state : int, RandomState instance or None, default=None
        Determines the choice of landmarks.

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
    reg_ : float
        `reg` as used.
    landmarks_ : collection
        The landmarks, where the classifier has some; for a precomputed kernel their positions.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.
    KernelRidgeClassifier : Regression on the classes, with closed-form leave-one-out.

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
        reg: float | Literal["auto"] = "auto",
        *,
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Spectrum = "krein",
        standardize: Standardize = "auto",
        landmarks: Any = None,
        random_state: RandomState | None = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.landmarks = landmarks
        self.random_state = random_state
        self.reg = reg

    auto_value = DEFAULT_REG

    def _check_parameters(self):
        if not is_word(self.reg, "auto"):
            check_positive(self.reg, "reg")

    def _dissimilarities_value(self, training):
        unit = (training.total_weight() * training.mean_spread()) ** 2
        return DEFAULT_REG * (unit if unit > SMALLEST else 1.0)

    def _fit_path(self, training, labels, values):
        models, rounding = training.fisher(values)
        return LinearPath(models=models, rounding=rounding, values=values)

    @fitted_attribute
    def reg_(self, models: Any) -> float:
        """`reg` as used."""
        return models.values[0]
