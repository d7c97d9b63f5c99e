"""Kernel PCA followed by a quadratic discriminant (paper C: KPCA-QD, IKPCA-QD)."""

from typing import Any, NamedTuple

import numpy as np

from .._base import DensityClassifierMixin, over_rows
from .._typing import ArrayLike, Kernel, RandomState
from .._validation import check_choice, check_components, check_positive
from ..formulas.kernel_pca import Embedding, fit_embedding, gaussian_class, quadratic_scores
from ..formulas.spectrum import SPECTRA
from ..kernels.training import workspace_for
from ._landmark_models import kernel_pca_model
from ._landmarks import LandmarkClassifier


class PCAPath(NamedTuple):
    """Kernel PCA, the class densities in it, and the values of a path."""

    embedding: Embedding
    classes: list
    priors: np.ndarray
    regs: list


class KernelPCAQuadraticDiscriminant(DensityClassifierMixin, LandmarkClassifier):
    """Quadratic discriminant in the space of (indefinite) kernel PCA.

    The objects get coordinates by the leading eigenvectors of the centred kernel matrix, ordered by
    |λ|, and each class a normal density with covariance Σ_j + reg·I in them.

    Parameters
    ----------
    n_components : int, float or None, default=0.8
        Number of components; a float between 0 and 1 is the fraction of Σ|λ| to keep, as in
        scikit-learn's PCA; None keeps all.
    reg : float, default=1e-3
        What is added to every variance, positive.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities; the class frequencies if None.
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
        What to do about negative eigenvalues: take them as components by their size |λ|, as paper C
        does; "ignore" leaves them out, as ordinary kernel PCA does; "raise" stops; the others
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
        self.n_components = n_components
        self.reg = reg
        self.priors = priors

    def _check_parameters(self):
        check_positive(self.reg, "reg")
        check_components(self.n_components)

    def _fit_path(self, training, labels, values):
        embedding = fit_embedding(
            self._fit_full(training),
            check_components(self.n_components),
            positive_only=self._ignores_negative(),
        )
        Z = embedding.training_coordinates()
        return PCAPath(
            embedding,
            [gaussian_class(Z[members]) for members in training.slices],
            labels.priors(self.priors),
            values,
        )

    def _ignores_negative(self):
        return check_choice(self.spectrum, "spectrum", SPECTRA) == "ignore"

    def _path_scores(self, models, training, queries, kxx):
        with workspace_for(queries) as workspace:

            def scores(k):
                Z = models.embedding.coordinates(k, workspace)
                path = quadratic_scores(
                    models.classes, models.priors, Z, models.regs, workspace=workspace
                )
                return np.moveaxis(path, 0, -1)

            return over_rows(training, queries, scores)

    def _store(self, models):
        self._embedding = models.embedding
        self._class_models = models.classes
        self._reg = models.regs[0]
        self.priors_ = models.priors
        self.eigenvalues_ = self._embedding.values
        self.n_components_ = len(self.eigenvalues_)

    def _path(self):
        return PCAPath(self._embedding, self._class_models, self.priors_, [self._reg])

    def _landmark_path(self, statistics, labels, values):
        return kernel_pca_model(
            statistics,
            values,
            n_components=self.n_components,
            priors=None if self.priors is None else labels.priors(self.priors),
            spectrum=check_choice(self.spectrum, "spectrum", SPECTRA),
            rtol=self.landmark_rtol,
        )

    def _store_landmarks(self, model, labels):
        self.eigenvalues_ = model.embedding.values
        self.n_components_ = len(self.eigenvalues_)
        self.priors_ = np.zeros(len(self.classes_))
        if self.priors is None:
            self.priors_[:] = self._statistics.counts / self._statistics.counts.sum()
        else:
            self.priors_[labels.present] = labels.priors(self.priors)

    _derived = ("eigenvalues_", "n_components_", "priors_")
