"""Kernel PCA followed by a quadratic discriminant (paper C: KPCA-QD, IKPCA-QD)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base import over_rows
from .._typing import ArrayLike, Gamma, Kernel, RandomState, Spectrum, Standardize
from .._validation import check_components, check_positive
from ..formulas.kernel_pca import quadratic_scores
from ..training.exact import workspace_for
from .kernel_classifier import KernelClassifier, PathModels, fitted_attribute


@dataclass(kw_only=True)
class PCAPath(PathModels):
    """Kernel PCA and the class densities in it; the scores are logarithms of densities."""

    embedding: Any
    classes: list
    priors: np.ndarray

    def scores(self, training, queries):
        """(m, c, r) scores of queries."""
        with workspace_for(queries) as workspace:

            def scores(k):
                Z = self.embedding.coordinates(k, workspace)
                path = quadratic_scores(
                    self.classes, self.priors, Z, self.values, workspace=workspace
                )
                return np.moveaxis(path, 0, -1)

            return over_rows(training, queries, scores)


class KernelPCAQuadraticDiscriminant(KernelClassifier):
    """Quadratic discriminant in the space of (indefinite) kernel PCA.

    The objects get coordinates by the leading eigenvectors of the centred kernel matrix, ordered by
    |λ|, and each class a normal density with covariance Σ_j + reg·I in them.

    Read more in the :doc:`user guide </kernel_pca>`.

    Parameters
    ----------
    n_components : int, float or None, default=0.8
        Number of components; a float between 0 and 1 is the fraction of Σ|λ| to keep, as in
        scikit-learn's PCA; None keeps all.
    reg : float, default=1e-3
        Positive number that is added to every variance.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities; the class frequencies if None.
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

        - "krein": components are ordered by |λ|, as in paper C.
        - "ignore": leave them out, as ordinary kernel PCA does.
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
    eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the components, the largest in absolute value first.
    n_components_ : int
        Number of components.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    kernel_ : object
        The kernel as fitted.
    landmarks_ : collection
        The landmarks, where the classifier has some; for a precomputed kernel their positions.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelSearchCV : Exact cross-validation of kernel classifiers.
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.
    PseudoEuclideanEmbedding : Coordinates for an indefinite kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import KernelPCAQuadraticDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KernelPCAQuadraticDiscriminant(0.8))
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.98
    """

    def __init__(
        self,
        n_components: int | float | None = 0.8,
        reg: float = 1e-3,
        *,
        priors: ArrayLike | None = None,
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
        self.n_components = n_components
        self.reg = reg
        self.priors = priors

    _expects_temperature = True

    def _check_parameters(self):
        check_positive(self.reg, "reg")
        check_components(self.n_components)

    def _fit_path(self, training, labels, values):
        embedding, classes = training.embedding(check_components(self.n_components))
        return PCAPath(
            values=values,
            rounding=np.zeros(1),
            temperature=1.0,
            embedding=embedding,
            classes=classes,
            priors=labels.priors(self.priors),
        )

    @fitted_attribute
    def eigenvalues_(self, models: Any) -> np.ndarray:
        """Eigenvalues of the components, the largest in absolute value first."""
        return models.embedding.values

    @fitted_attribute
    def n_components_(self, models: Any) -> int:
        """Number of components."""
        return len(models.embedding.values)

    @fitted_attribute
    def priors_(self, models: Any) -> np.ndarray:
        """Prior probabilities; 0 for a class without objects so far."""
        return self._all_columns(models.priors, 0.0)
