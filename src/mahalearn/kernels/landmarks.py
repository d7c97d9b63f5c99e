"""Features of a kernel by landmarks; public as :class:`mahalearn.kernels.LandmarkMap`."""

import numbers
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._memory import row_chunks
from .._sparse import as_matrix
from .._typing import Gamma, Kernel, Objects, RandomState, Standardize
from .._validation import (
    check_choice,
    check_count,
    check_fraction,
    check_objects,
    is_dask_collection,
    like,
    refuse_objects,
    take,
    validate_rows,
)
from ..formulas.landmarks import landmark_features
from ..formulas.spectrum import CORRECTIONS
from .landmark_rows import LANDMARK_METHODS, LandmarkKernel, choose_landmarks
from .precomputed import CheckedKernel
from .protocol import (
    fit_kernel,
    is_precomputed,
    kernel_diagonal,
    kernel_matrix,
    kernel_settings,
    takes_sparse,
    takes_vectors,
)

# How a landmark map may treat negative eigenvalues; "shift" changes objects' own similarities only.
LANDMARK_SPECTRA = ("krein", "ignore", "raise", "clip", "flip", "square")
# "auto" of a map: at most this many landmarks, at most this share of k(x, x) left over.
_MOST_LANDMARKS, _LEFT_OVER = 1000, 0.01


class LandmarkMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of a kernel by its values against a few landmarks (Nyström), signs included.

    With the kernel matrix of the landmarks K = UΛUᵀ an object with kernel values k against them
    becomes φ = |Λ|^(−½)Uᵀk. Inner products of the features, with the signs J of Λ, are the kernel,
    k(x, y) ≈ φ(x)ᵀJφ(y), exactly so where x or y is a landmark. Any linear model on them is a
    kernel model. Definite kernels have J = I; for indefinite ones ``signs_`` is the diagonal of J.

    A classifier takes a map, not fitted, as its ``landmarks=``: `landmarks`, `method`, `rtol` and
    `random_state` count then, and the kernel and its spectrum are the classifier's own.

    Read more in the :doc:`user guide </landmarks>`.

    Parameters
    ----------
    landmarks : int, "auto" or a collection of objects, default=100
        Number of landmarks to choose; ``"auto"`` takes as many as leave 1 % of k(x, x) over, up to
        1000; or the landmarks themselves. With ``kernel="precomputed"`` a collection holds the
        positions of the landmarks among the rows of X in `fit`; the columns of X are then either
        all training objects or, in that order, the landmarks alone.
    method : {"auto", "kmeans", "rpcholesky", "uniform"}, default="auto"
        How they are chosen, always without labels: k-means++ with a few Lloyd steps (vectors),
        randomly pivoted Cholesky (any definite kernel), or uniformly. "auto" is the first that the
        kernel allows; a precomputed kernel counts as indefinite.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :mod:`mahalearn.kernels`).
    gamma : float, "scale" or "auto", default="scale"
        Parameter of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square"}, default="krein"
        What to do about negative eigenvalues: keep their features (``signs_`` says which; "ignore"
        does the same), raise, or correct the kernel.
    standardize : {"auto", True, False}, default="auto"
        Centre the columns and divide them by their standard deviations first (kernels "rbf",
        "laplacian", "linear", "poly" and "sigmoid" only). "auto": only if the standard deviations
        differ by more than a factor of ten.
    rtol : float, default=None
        Eigenvalues up to this fraction of the largest are cut. None chooses: rounding for definite
        kernels, 1e-4 for indefinite ones.
    random_state : int, RandomState instance or None, default=None
        Determines the choice of landmarks.

    Attributes
    ----------
    landmarks_ : collection
        The landmarks; for a precomputed kernel their columns in X.
    signs_ : ndarray of shape (n_components,)
        Diagonal of J, +1 or −1 for each feature.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the landmarks' kernel matrix, those that were kept, ascending.
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    See Also
    --------
    KernelQuadraticDiscriminant : Nearest class by kernel Mahalanobis distance.
    PseudoEuclideanEmbedding : Coordinates for an indefinite kernel.

    References
    ----------
    C. Williams and M. Seeger, Using the Nyström method to speed up kernel machines, NIPS 2000;
    Y. Chen, E. Epperly, J. Tropp and R. Webber, Randomly pivoted Cholesky, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from mahalearn import LandmarkMap
    >>> X, y = load_digits(return_X_y=True)
    >>> features = LandmarkMap(200, standardize=False, random_state=0)  # pixels have one unit
    >>> model = make_pipeline(features, LogisticRegression(max_iter=1000))
    >>> print(f"{model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]):.2f}")
    0.95
    """

    def __init__(
        self,
        landmarks: int | str = 100,
        *,
        method: Literal["auto", "kmeans", "rpcholesky", "uniform"] = "auto",
        kernel: Kernel = "rbf",
        gamma: Gamma = "scale",
        degree: int = 3,
        coef0: float = 1,
        spectrum: Literal["krein", "ignore", "raise", "clip", "flip", "square"] = "krein",
        standardize: Standardize = "auto",
        rtol: float | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.method = method
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.spectrum = spectrum
        self.standardize = standardize
        self.rtol = rtol
        self.random_state = random_state

    _converts_arrays = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel) and to_choose(self.landmarks)
        tags.input_tags.sparse = takes_sparse(self.kernel)
        return tags

    def fit(self, X: Objects, y: Any = None) -> Self:
        """Choose the landmarks and decompose their kernel matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their kernel values (``kernel="precomputed"``).
        y : ignored
            Not used.

        Returns
        -------
        self : LandmarkMap
            The fitted transformer.
        """
        spectrum = check_choice(self.spectrum, "spectrum", LANDMARK_SPECTRA)
        landmark_choice(self.landmarks, method=self.method, rtol=self.rtol)
        X = self._check(X, reset=True)
        if is_precomputed(self.kernel):
            self.kernel_ = "precomputed"
            self._rows = self._fit_precomputed(X)
        else:
            kernel = fit_kernel(self.kernel, X, **kernel_settings(self, X))
            landmarks = self._choose(X, kernel)
            self.kernel_, self.landmarks_ = kernel.as_fitted, as_matrix(landmarks)
            self._rows = LandmarkKernel(kernel, landmarks)
        K = self._rows.gram()
        correction = spectrum if spectrum in CORRECTIONS else None
        self._features = landmark_features(K, rtol=self.rtol, correction=correction)
        if spectrum == "raise":
            refuse_negative(self._features)
        self.signs_ = self._features.signs
        self.eigenvalues_ = self._features.values
        return self

    def _check(self, X, reset):
        if is_dask_collection(X):
            raise TypeError(
                "LandmarkMap takes rows in memory: fit it to a sample of a dask collection, and "
                'transform the parts by mahalearn.distributed.predict(map, X, "transform").'
            )
        if takes_vectors(self.kernel):
            refuse_objects(X)
            sparse = takes_sparse(self.kernel)
            return validate_rows(self, X, reset=reset, dtype=np.float64, accept_sparse=sparse)
        return check_objects(X, self, reset=reset)

    def _fit_precomputed(self, X):
        if to_choose(self.landmarks):
            refuse_to_choose(X)
            m = _MOST_LANDMARKS if is_auto(self.landmarks) else self.landmarks
            positions = np.arange(len(X))
            if m < len(X):
                lookup = CheckedKernel(X)
                positions = choose_landmarks(lookup, positions, m, self.method, self.random_state)
            if is_auto(self.landmarks):
                positions = positions[
                    : _enough(X[:, positions], X[np.ix_(positions, positions)], X.diagonal())
                ]
            self.landmarks_ = positions
            self._columns = positions
            return LandmarkKernel(None, X[np.ix_(positions, positions)])
        self.landmarks_, self._columns = landmark_columns(self.landmarks, X)
        return LandmarkKernel(None, X[np.ix_(self.landmarks_, self._columns)])

    def _choose(self, X, kernel):
        if not to_choose(self.landmarks):
            return self._check(self.landmarks, reset=False)
        auto = is_auto(self.landmarks)
        most = min(_MOST_LANDMARKS, len(X)) if auto else self.landmarks
        chosen = choose_landmarks(kernel, X, most, self.method, self.random_state)
        if not auto:
            return chosen
        sample = take(X, slice(0, None, max(1, len(X) // 2000)))
        k, K = (kernel_matrix(kernel, rows, chosen) for rows in (sample, chosen))
        return take(chosen, slice(0, _enough(k, K, kernel_diagonal(kernel, sample))))

    def transform(self, X: Objects) -> np.ndarray:
        """Features of objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values with the columns of `fit` (``"precomputed"``).

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            Features φ(x), a row for each object.
        """
        check_is_fitted(self)
        rows = self._check(X, reset=False)
        parts = [self._features.transform(k) for _, k in self._kernel_rows(rows)]
        return like(X, np.concatenate(parts))

    def residual(self, X: Objects) -> np.ndarray:
        """The part of each object that the landmarks do not represent, k(x, x) − φᵀJφ.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        residual : ndarray of shape (n_samples,)
            0 for landmarks; small where the landmarks represent the object well.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        kxx = self._rows.self_similarities(X)
        if kxx is None:
            raise ValueError(
                "A precomputed kernel does not tell k(x, x) of an object, unless that of all "
                "landmarks is the same; use a kernel object, such as PrecomputedKernel."
            )
        parts = [self._features.residual(kxx[rows], k) for rows, k in self._kernel_rows(X)]
        return np.concatenate(parts)

    def _kernel_rows(self, X):
        precomputed = self._rows.kernel is None
        for rows in row_chunks(len(X), 3 * len(self._rows)):
            part = take(X, rows)
            yield rows, self._rows.rows(part[:, self._columns] if precomputed else part)

    @property
    def _n_features_out(self):
        return len(self.signs_)


class LandmarkChoice(NamedTuple):
    """How an estimator has its landmarks: what LandmarkMap's parameters of these names say."""

    landmarks: Any
    method: str = "auto"
    rtol: float | None = None
    random_state: Any = None


def landmark_choice(landmarks, random_state=None, *, method="auto", rtol=None):
    """The choice that an estimator's `landmarks` stands for: a LandmarkMap, or its first parameter.

    Checked, but for landmarks that are objects.
    """
    choice = LandmarkChoice(landmarks, method, rtol, random_state)
    if isinstance(landmarks, LandmarkMap):
        params = landmarks.get_params(deep=False)
        options = {name: params.pop(name) for name in LandmarkChoice._fields}
        if options["random_state"] is None:
            options["random_state"] = random_state
        choice = LandmarkChoice(**options)
        default = LandmarkMap().get_params(deep=False)
        for name, value in params.items():
            if value is not default[name] and value != default[name]:
                raise ValueError(
                    f"landmarks=LandmarkMap(...) says which landmarks there are; {name} is the "
                    f"classifier's own parameter. Set {name}={value!r} there."
                )
    match choice.landmarks:
        case str():
            if choice.landmarks != "auto":
                refuse_landmarks(choice.landmarks)
        case None | numbers.Number():
            check_count(choice.landmarks, "landmarks")
    check_choice(choice.method, "method", LANDMARK_METHODS)
    if choice.rtol is not None:
        check_fraction(choice.rtol, "rtol")
    return choice


def to_choose(landmarks):
    """True where landmarks are to be chosen, or none are asked for."""
    match landmarks:
        case LandmarkMap():
            return to_choose(landmarks.landmarks)
        case None | str() | numbers.Number():
            return True
    return False


def is_auto(landmarks):
    """True where the number of landmarks is to be found, too."""
    return isinstance(landmarks, str)


def refuse_landmarks(landmarks):
    """Say what landmarks can be."""
    raise ValueError(
        "landmarks must be a positive number, 'auto', a collection of objects or a LandmarkMap; "
        f"got {landmarks!r}."
    )


def refuse_to_choose(X):
    """Raise where landmarks cannot be chosen from a precomputed kernel."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "To choose landmarks from a precomputed kernel X must be the square matrix of all "
            f"training objects; got shape {X.shape}. If its columns are the landmarks, pass their "
            "positions among the rows as landmarks=."
        )


def landmark_columns(landmarks, X):
    """Positions of landmarks among the rows of a precomputed X, and among its columns."""
    positions = np.asarray(landmarks)
    numbered = positions.dtype.kind in "iu" and positions.ndim == 1 and len(positions)
    if not numbered or not 0 <= positions.min() <= positions.max() < len(X):
        raise ValueError(
            "With kernel='precomputed' landmarks must be positions among the rows of X, from 0 to "
            f"{len(X) - 1}; got {landmarks!r}."
        )
    if X.shape[0] == X.shape[1]:
        return positions, positions
    if X.shape[1] == len(positions):  # the columns are the landmarks
        return positions, np.arange(len(positions))
    raise ValueError(
        f"X must have a column for each of the {len(positions)} landmarks or for each of the "
        f"{len(X)} training objects; got shape {X.shape}."
    )


def refuse_negative(features):
    """Raise where the landmarks' kernel matrix has negative eigenvalues."""
    if not features.definite:
        raise ValueError(
            "The kernel is not positive definite: the landmarks' matrix has "
            f"{int((features.signs < 0).sum())} negative eigenvalues, and spectrum='raise' asks to "
            "stop. spectrum='krein' handles them as the papers do."
        )


def _enough(k, K, kxx):
    """The fewest of the first 16, 32, 64, … landmarks that leave little of k(x, x) over."""
    m = 16
    while m < len(K):
        features = landmark_features(K[:m, :m])
        total = np.abs(features.self_similarities(kxx, k[:, :m])).mean()
        if np.abs(features.residual(kxx, k[:, :m])).mean() <= _LEFT_OVER * total:
            return m
        m *= 2
    return len(K)
