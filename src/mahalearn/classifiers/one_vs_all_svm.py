"""Support vector machines one-vs-all on a kernel matrix: the papers' reference (SVM, ISVM)."""

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from .._base import KernelEstimator, ScoreClassifierMixin
from .._validation import check_positive


class OneVsAllSVC(ScoreClassifierMixin, KernelEstimator):
    """Support vector machine, one class against the rest, with any kernel of this library.

    scikit-learn's ``SVC`` on the kernel matrix inside its ``OneVsRestClassifier``: what the papers
    compare with (``SVC`` alone decides between pairs of classes), and with a stated policy about
    negative eigenvalues, which ``SVC`` takes in silence.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of training errors, positive.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=-1
        Limit of the solver's iterations; -1 for none. With an indefinite kernel and a large C it
        may need very many.
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
        What to do about negative eigenvalues: hand the matrix to the solver as it is ("krein" and
        "ignore"; the problem is then not convex, and the answer a stationary point); raise; or
        correct the kernel first, for training objects and queries alike.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list of SVC
        The machine of each class against the rest; a single one where there are two.
    n_iter_ : ndarray of int
        Iterations of each machine's solver.
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
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from mahalearn import OneVsAllSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> print(f"{cross_val_score(OneVsAllSVC(C=10), X, y).mean():.2f}")
    0.99
    """

    def __init__(
        self,
        C=1.0,
        *,
        tol=1e-3,
        max_iter=-1,
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
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y):
        """Fit the machines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : OneVsAllSVC
            The fitted classifier.
        """
        C, tol = check_positive(self.C, "C"), check_positive(self.tol, "tol")
        training, codes, K = self._fit_full(X, y)
        machine = SVC(C=C, kernel="precomputed", tol=tol, max_iter=self.max_iter)
        self._machines = OneVsRestClassifier(machine).fit(K, codes[training.order])
        self.estimators_ = self._machines.estimators_
        self.n_iter_ = np.concatenate([machine.n_iter_ for machine in self.estimators_])
        return self

    def _scores(self, X):
        scores = self._over_rows(
            self._check_query(X), lambda k, _: self._machines.decision_function(k)
        )
        return np.column_stack([-scores, scores]) / 2 if scores.ndim == 1 else scores
