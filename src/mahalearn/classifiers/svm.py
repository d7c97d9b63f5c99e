"""Support vector machines with Mahalanobis kernels (paper B)."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import validate_data

from .._base import ScoreClassifierMixin
from .._validation import check_choice, check_classes, check_positive
from ..formulas.one_vs_one import one_vs_one_scores
from ..kernels.mahalanobis import MahalanobisKernel

COVARIANCE_SOURCES = ("pair", "all")


class _Machine(NamedTuple):
    """A support vector machine in the space whitened by its kernel, for some of the classes."""

    kernel: MahalanobisKernel
    svc: SVC

    def decisions(self, X):
        """(m, pairs), positive where the second class of a pair wins."""
        decisions = self.svc.decision_function(self.kernel.whiten(X))
        # scikit-learn's sign favours the second class of two, but the first of each pair of many.
        return decisions[:, None] if decisions.ndim == 1 else -decisions


class MahalanobisSVC(ScoreClassifierMixin, BaseEstimator):
    """Support vector machine with the kernel exp(−(δ/m)(x − x')ᵀQ⁻¹(x − x')).

    Q is the covariance of the training data, so the units of the features do not matter, δ = 1 is a
    good value for most data, and C can be chosen first, δ after it
    (:class:`mahalearn.MahalanobisSVCCV`). The machine is trained by LIBSVM's own RBF kernel on
    whitened data.

    Parameters
    ----------
    C : float, default=1.0
        Margin parameter: the price of a training error.
    delta : float, default=1.0
        Scaling factor δ of the kernel.
    covariance : {"diag", "full"}, default="diag"
        Variances only, or the full covariance matrix.
    covariance_from : {"pair", "all"}, default="pair"
        With more than two classes a machine is trained for each pair of them. ``"pair"`` gives each
        a covariance from the data of its two classes, ``"all"`` one from all data to all of them.
    shrinkage : float from 0 to 1, "auto" or None, default=None
        Shrinks a full covariance towards its diagonal; see
        :class:`mahalearn.kernels.MahalanobisKernel`.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for each class. The covariance is not weighted.
    tol : float, default=1e-3
        Tolerance of LIBSVM's stopping criterion.
    cache_size : float, default=200
        Size of LIBSVM's kernel cache in MB.
    max_iter : int, default=-1
        Limit on LIBSVM's iterations; -1 for none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors, class by class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    kernels_ : list of MahalanobisKernel
        The fitted kernel, or one for each pair of classes: (0, 1), (0, 2) … (1, 2) ….
    n_iter_ : ndarray of shape (n_pairs,)
        LIBSVM's iterations for each pair of classes.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    MahalanobisSVCCV : Chooses C and delta by the two-stage line search.

    Notes
    -----
    Constant features, and for the full covariance directions in which the training data do not
    vary, are left out, and m is the number of directions that are left, so that the mean of the
    squared distance is m on any data. For probabilities wrap the classifier in scikit-learn's
    CalibratedClassifierCV.

    References
    ----------
    S. Abe, Training of support vector machines with Mahalanobis kernels, ICANN 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import MahalanobisSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> print(f"{cross_val_score(MahalanobisSVC(), X, y).mean():.2f}")
    0.98
    """

    def __init__(
        self,
        C=1.0,
        delta=1.0,
        covariance="diag",
        *,
        covariance_from="pair",
        shrinkage=None,
        class_weight=None,
        tol=1e-3,
        cache_size=200,
        max_iter=-1,
    ):
        self.C = C
        self.delta = delta
        self.covariance = covariance
        self.covariance_from = covariance_from
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter

    def fit(self, X, y):
        """Learn the covariances and train the machines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : MahalanobisSVC
            The fitted classifier.
        """
        source = check_choice(self.covariance_from, "covariance_from", COVARIANCE_SOURCES)
        check_positive(self.C, "C")
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = check_classes(y)
        n_classes = len(self.classes_)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if source == "all" or n_classes == 2:
            groups = [tuple(range(n_classes))]
        else:
            groups = list(combinations(range(n_classes), 2))

        self._machines, support = [], []
        for group in groups:
            rows = np.flatnonzero(np.isin(codes, group))
            machine = self._train(X[rows], codes[rows], {j: weights[j] for j in group})
            self._machines.append(machine)
            support.append(rows[machine.svc.support_])
        self.kernels_ = [machine.kernel for machine in self._machines]
        self.n_iter_ = np.concatenate([machine.svc.n_iter_ for machine in self._machines])
        support = np.unique(np.concatenate(support))
        self.support_ = support[np.argsort(codes[support], kind="stable")]
        self.n_support_ = np.bincount(codes[support], minlength=n_classes)
        return self

    def _train(self, X, codes, weights):
        kernel = MahalanobisKernel(self.covariance, self.delta, self.shrinkage).fit(X)
        svc = SVC(
            C=self.C,
            gamma=kernel.gamma_,
            class_weight=weights,
            decision_function_shape="ovo",
            tol=self.tol,
            cache_size=self.cache_size,
            max_iter=self.max_iter,
        )
        return _Machine(kernel, svc.fit(kernel.whiten(X), codes))

    def _scores(self, X):
        X = validate_data(self, X, reset=False, dtype=np.float64)
        decisions = np.hstack([machine.decisions(X) for machine in self._machines])
        n_classes = len(self.classes_)
        if n_classes == 2:  # scores whose difference is the machine's own decision
            return np.column_stack([np.zeros(len(X)), decisions])
        return one_vs_one_scores(decisions, n_classes)
