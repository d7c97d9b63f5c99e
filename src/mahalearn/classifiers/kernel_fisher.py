"""Kernel Fisher discriminant (papers A and C: KFD, IKFD)."""

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base import KernelEstimator, ScoreClassifierMixin
from .._validation import check_positive
from ..formulas.kernel_fisher import fisher_model


class KernelFisherDiscriminant(
    ScoreClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator
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
        Of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is 1/(n_features·Var(X)).
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues. The discriminant's formula is the same for definite
        and indefinite kernels, so that "krein" and "ignore" are one; "raise" stops; the others
        correct the kernel first, for training objects and queries alike.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Coefficients a of each class, in the order of the training objects.
    intercept_ : ndarray of shape (n_classes,)
        Offsets −½aᵀKz₊.
    kernel_ : object
        The kernel as fitted.
    signature_ : tuple of int
        Numbers of positive and negative eigenvalues of the training kernel matrix (on first use).
    negative_fraction_ : float
        Share of the negative eigenvalues (on first use).
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
        reg=1e-3,
        *,
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
        self.reg = reg

    def fit(self, X, y):
        """Fit the discriminant of each class against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelFisherDiscriminant
            The fitted classifier.
        """
        reg = check_positive(self.reg, "reg")
        training, _, K = self._fit_full(X, y)
        self._model = fisher_model(K, training.slices, reg)
        self.intercept_ = self._model.offsets
        return self

    @property
    def dual_coef_(self):
        """Coefficients a of each class, in the order of the training objects."""
        check_is_fitted(self)
        return self._model.coefficients[self._training.order.argsort()]

    def _scores(self, X):
        return self._over_rows(self._check_query(X), lambda k, _: self._model.scores(k))

    @property
    def _n_features_out(self):
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def transform(self, X):
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
