"""Kernel PCA followed by a quadratic discriminant (paper C: KPCA-QD, IKPCA-QD)."""

import numpy as np

from .._base import KernelEstimator, ScoreClassifierMixin
from .._validation import check_components, check_positive, check_priors
from ..formulas.kernel_pca import fit_embedding, gaussian_class, quadratic_scores


class KernelPCAQuadraticDiscriminant(ScoreClassifierMixin, KernelEstimator):
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
        Of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is 1/(n_features·Var(X)).
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues: take them as components by their size |λ|, as paper C
        does; "ignore" leaves them out, as ordinary kernel PCA does; "raise" stops; the others
        correct the kernel first, for training objects and queries alike.

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
    signature_ : tuple of int
        Numbers of positive and negative eigenvalues of the training kernel matrix (on first use).
    negative_fraction_ : float
        Share of the negative eigenvalues (on first use).
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
        n_components=0.8,
        reg=1e-3,
        *,
        priors=None,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        spectrum="krein",
    ):
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
        )
        self.n_components = n_components
        self.reg = reg
        self.priors = priors

    def fit(self, X, y):
        """Fit the components and a normal density for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelPCAQuadraticDiscriminant
            The fitted classifier.
        """
        reg = check_positive(self.reg, "reg")
        n_components = check_components(self.n_components)
        training, _, K = self._fit_full(X, y)
        self._embedding = fit_embedding(K, n_components, positive_only=self._policy == "ignore")
        self.eigenvalues_ = self._embedding.values
        self.n_components_ = len(self.eigenvalues_)
        if self.priors is None:
            self.priors_ = training.counts / len(training)
        else:
            self.priors_ = check_priors(self.priors, len(self.classes_))
        Z = self._embedding.training_coordinates()
        self._class_models = [gaussian_class(Z[members]) for members in training.slices]
        self._reg = reg
        return self

    def _scores(self, X):
        def scores(k, _):
            Z = self._embedding.coordinates(k)
            return quadratic_scores(self._class_models, self.priors_, Z, [self._reg])[0]

        return self._over_rows(self._check_query(X), scores)

    def predict_log_proba(self, X):
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        return self._log_proba(X)

    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return np.exp(self._log_proba(X))
