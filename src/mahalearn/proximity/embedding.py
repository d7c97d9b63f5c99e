"""Indefinite kernel PCA: coordinates in a pseudo-Euclidean space."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._base import NO_LABELS, KernelEstimator, over_rows
from .._typing import Gamma, Kernel, Objects, Spectrum, Standardize
from .._validation import check_components
from ..formulas.kernel_pca import fit_embedding
from ..formulas.linalg import signature


class PseudoEuclideanEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Coordinates that reproduce a symmetric kernel, also an indefinite one.

    The centred kernel matrix K̃ = QΛQᵀ gives the training objects the coordinates Z = Q|Λ|^{1/2},
    in which their inner products are ZJZᵀ with J the signs of Λ: a pseudo-Euclidean (Kreĭn) space.
    Without negative eigenvalues it is Euclidean, and the embedding is kernel PCA. For
    dissimilarities d take the kernel −d²/2: the embedding then has d² as its squared distances,
    ``((z - z')**2 * signs_).sum()``.

    Read more in the :doc:`user guide </indefinite>`.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components, those with the largest |λ|; a float between 0 and 1 is the fraction of
        Σ|λ| to keep; None keeps all that are not zero.
    kernel : str or callable, default="precomputed"
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

        - "krein": keep them as components with the sign −1.
        - "ignore": leave them out, as kernel PCA does.
        - "raise": an error.
        - "clip", "flip", "square", "shift": correct the kernel first, for training objects and
          queries.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the components, the largest in absolute value first.
    signs_ : ndarray of shape (n_components_,)
        Diagonal of J, +1 or −1 for each component.
    signature_ : tuple of int
        Numbers (p, q) of positive and of negative components.
    n_components_ : int
        Number of components.
    kernel_ : object
        The kernel as fitted.
    negative_fraction_ : float
        Share of the negative eigenvalues in the training kernel matrix (on first use).
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    mahalearn.proximity.diagnose : Diagnosis of a distance matrix.
    LandmarkMap : Nyström features.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.proximity import PseudoEuclideanEmbedding
    >>> D = np.array([[0.0, 1, 1, 3], [1, 0, 1, 1], [1, 1, 0, 1], [3, 1, 1, 0]])
    >>> embedding = PseudoEuclideanEmbedding()
    >>> Z = embedding.fit_transform(-(D**2) / 2)
    >>> embedding.signature_
    (2, 1)
    >>> print(f"{((Z[0] - Z[3]) ** 2 * embedding.signs_).sum():.3f}")
    9.000
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        kernel: Kernel = "precomputed",
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
        self.n_components = n_components

    def fit(self, X: Objects, y: Any = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : None
            Ignored.

        Returns
        -------
        self : PseudoEuclideanEmbedding
            The fitted transformer.
        """
        n_components = check_components(self.n_components)
        training = self._fit_training(X, NO_LABELS)
        K = training.full_gram()
        self._embedding = fit_embedding(K, n_components, positive_only=self._policy == "ignore")
        self.eigenvalues_ = self._embedding.values
        self.signs_ = self._embedding.signs
        self.n_components_ = self._n_features_out = len(self.eigenvalues_)
        training.release()
        return self

    @property
    def signature_(self) -> tuple[int, int]:
        """Numbers (p, q) of positive and of negative components."""
        return signature(self.eigenvalues_)

    def transform(self, X: Objects) -> np.ndarray:
        """Coordinates of objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components_)
            Coordinates; the training objects' own if X are the training data.
        """
        X = self._check_query(X)
        return over_rows(self._training, X, self._embedding.coordinates)
