"""Kernel quadratic discriminants (papers A and C)."""

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if

from .._base import ScoreClassifierMixin
from .._validation import check_choice, check_error_weights, check_priors, refuse_fit_params
from ..formulas.offsets import error_offsets, map_offsets
from .kernel_mahalanobis import KernelMahalanobisEstimator

OFFSETS = ("error", "loo", "map", None)


def _has_probabilities(estimator):
    if estimator.offset == "map":
        return True
    raise AttributeError(
        f"Probabilities need offset='map'; with offset={estimator.offset!r} the scores are not "
        "log-densities. Wrap the classifier in sklearn.calibration.CalibratedClassifierCV instead."
    )


def check_offset(offset, class_weight, priors):
    """The offset's name, if what goes with it belongs to it."""
    offset = check_choice(offset, "offset", OFFSETS)
    if priors is not None and offset != "map":
        raise ValueError("priors belong to offset='map'; use class_weight with offset='error'.")
    if class_weight is not None and offset not in ("error", "loo"):
        raise ValueError(
            "class_weight belongs to offset='error' and 'loo'; use priors with offset='map'."
        )
    return offset


class KernelQuadraticDiscriminant(ScoreClassifierMixin, KernelMahalanobisEstimator):
    """Kernel quadratic discriminant for positive definite and indefinite kernels.

    An object goes to the class with the largest f_j(x) = −d²_j(x)/2 + b_j, where d_j is the
    Mahalanobis distance to class j in the space that the kernel induces, and b_j an offset. Classes
    may be spread unequally: each has a covariance of its own. See the user guide for the formulas.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        Which distance. RC: regularised covariance; IC: invertible covariance; FK: covariances in
        the complete kernel space. "+" regularises, "-" cuts small eigenvalues (IC, FK) or takes the
        cheap approximation for large regularisation (RC). In any case.
    reg : float or array-like of shape (n_classes,), default=0.01
        Regularisation, positive: σ² for RC, α for IC and FK (see `reg_on`).
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        What `reg` is: the variance σ² added to the class covariance (α = n_jσ²), α itself on the
        class kernel matrix, or a fraction of the mean centred self-similarity of the training
        objects, which suits kernels of any scale (α is that fraction for IC, of its square for FK).
        ``"auto"`` is ``"covariance"`` for RC and ``"kernel"`` otherwise.
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
        What to do about negative eigenvalues: regularise with their sign, as paper C does (the
        same as the positive definite formulas where there are none); apply the formulas as they
        are; raise; or correct the kernel first, for training objects and queries alike (see
        :mod:`mahalearn.formulas.spectrum`).
    offset : {"error", "loo", "map", None}, default="error"
        Offsets that make the fewest pairwise training errors; the same with each object measured
        against its own class without it (RC, nonnegative spectrum: closed forms); those of maximum
        a posteriori probability (RC with one σ² or IC, nonnegative spectrum), which give
        probabilities; none.
    class_weight : dict, "balanced" or None, default=None
        Weights of the errors that ``offset="error"`` and "loo" count. Without it a small class can
        vanish.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities for ``offset="map"``; the class frequencies if None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    offsets_ : ndarray of shape (n_classes,)
        Offsets b_j; they sum to 0.
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
    indefinite kernels; B. Haasdonk and E. Pękalska, Classification with kernel Mahalanobis distance
    classifiers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mahalearn import KernelQuadraticDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KernelQuadraticDiscriminant(reg=0.1))
    >>> print(f"{cross_val_score(model, X, y).mean():.2f}")
    0.97
    """

    def __init__(
        self,
        variant="RC+",
        reg=0.01,
        *,
        reg_on="auto",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        spectrum="krein",
        offset="error",
        class_weight=None,
        priors=None,
    ):
        super().__init__(
            variant=variant,
            reg=reg,
            reg_on=reg_on,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
        )
        self.offset = offset
        self.class_weight = class_weight
        self.priors = priors

    def fit(self, X, y, **refused):
        """Fit the class distances and their offsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.
        **refused : dict
            Nothing else is taken; the error says why.

        Returns
        -------
        self : KernelQuadraticDiscriminant
            The fitted classifier.
        """
        refuse_fit_params(self, refused)
        offset = check_offset(self.offset, self.class_weight, self.priors)
        codes = self._fit_distances(X, y, spectral=offset == "map")
        n_classes = len(self.classes_)
        if offset is None:
            self.offsets_ = np.zeros(n_classes)
        elif offset == "map":
            self.offsets_ = map_offsets(self._log_volumes(), self._priors(codes))
        else:
            weights = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[codes]
            )
            check_error_weights(weights, self.class_weight)
            scores = -self._training_sq_distances(leave_one_out=offset == "loo") / 2
            rounding = self._distances.rounding(self._variant)
            self.offsets_ = error_offsets(scores, codes, weights, rounding)
        return self

    def _priors(self, codes):
        if self.priors is None:
            return np.bincount(codes) / len(codes)
        return check_priors(self.priors, len(self.classes_))

    def _log_volumes(self):
        problem = None
        if self._variant.startswith("FK"):
            problem = "it is not defined for FK variants"
        elif self._variant.startswith("RC") and not self._common_sigma2:
            problem = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
        elif any((model.values < 0).any() for model in self._distances.models):
            problem = "the kernel has negative eigenvalues"
        if problem:
            raise ValueError(f"offset='map' cannot be used: {problem}. Use offset='error'.")
        return [model.log_volume() for model in self._distances.models]

    def _scores(self, X):
        X = self._check_query(X)
        # With one σ² for all classes k(x, x)/σ² is common to them and cancels from the decision:
        # where it is not known, 0 serves.
        kxx = self._self_similarity(X, cancels=self._common_sigma2)
        return self._distances.sq_distances(X, kxx) / -2 + self.offsets_

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of the class probabilities (``offset="map"`` only).

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

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Class probabilities (``offset="map"`` only).

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
