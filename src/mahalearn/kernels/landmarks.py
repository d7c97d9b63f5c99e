"""Landmarks: how they are chosen, kernel rows against them, and features (`LandmarkMap`)."""

import numbers
import warnings
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._array_api import like
from .._memory import row_chunks
from .._sparse import as_matrix, is_sparse
from .._typing import Gamma, Kernel, Objects, RandomState, Standardize
from .._validation import (
    check_choice,
    check_count,
    check_objects,
    check_real,
    check_symmetric,
    is_dask_collection,
    refuse_objects,
    take,
    validate_rows,
)
from ..formulas.feature_space import landmark_features
from ..formulas.spectrum import CORRECTIONS
from .base_kernel import BaseKernel
from .precomputed import CheckedKernel
from .protocol import (
    common_self_similarity,
    fit_kernel,
    is_precomputed,
    kernel_diagonal,
    kernel_matrix,
    kernel_settings,
    takes_sparse,
    takes_vectors,
)

LANDMARK_METHODS = ("auto", "kmeans", "rpcholesky", "uniform")
# Rows of which landmarks are chosen, per landmark and at least: more hardly changes the choice.
_ROWS_PER_LANDMARK, _LEAST_ROWS = 10, 10_000
_LLOYD_STEPS = 3
# Rows of kernel values that are computed at a time: they stay in the processor's cache.
_PIECE = 256
# γ‖x‖² up to which the exponent of an RBF kernel is expanded: it costs at most 1e-11 and 1e-4.
_LIMITS = {"float64": 1e4, "float32": 250.0}


def choose_landmarks(kernel, X, n_landmarks, method="auto", random_state=None):
    """Landmarks for the objects X: rows of an array, or objects. Labels are not used.

    kernel is a fitted kernel. method: "kmeans" (k-means++ and a few Lloyd steps; the landmarks are
    means, not objects), "rpcholesky" (randomly pivoted Cholesky: objects are drawn with a
    probability that is their residual), "uniform", or "auto": k-means for vectors, randomly pivoted
    Cholesky for objects and sparse rows with a definite kernel, uniform otherwise. The first
    landmarks of "rpcholesky" and "uniform" are a choice of fewer. Where there are no more objects
    than landmarks asked for, all of them are taken, in their order.
    """
    method = landmark_method(method, kernel, sparse=is_sparse(X))
    m = check_count(n_landmarks, "landmarks")
    random_state = check_random_state(random_state)
    if len(X) < m:
        warnings.warn(
            f"landmarks={m} is more than the {len(X)} objects, so that all of them are landmarks. "
            "Take fewer, or landmarks=None: the exact estimators are faster then.",
            UserWarning,
            stacklevel=2,
        )
    if len(X) <= m:
        return X
    if method == "uniform":
        return take(X, random_state.permutation(len(X))[:m])
    most = max(_LEAST_ROWS, _ROWS_PER_LANDMARK * m)
    if method == "rpcholesky":  # its factor, most·m numbers, stays within working_memory
        most = min(most, max(2 * m, int(get_config()["working_memory"] * 2**17 // m)))
    if len(X) > most:
        X = take(X, np.sort(random_state.permutation(len(X))[:most]))
    if method == "kmeans":
        return _kmeans(np.asarray(X), _in_metric(kernel, X), m, random_state)
    return take(X, rp_cholesky(kernel, X, m, random_state))


def landmark_method(method, kernel, *, sparse=False):
    """How landmarks are chosen, "auto" resolved for a fitted kernel; sparse: the rows are."""
    method = check_choice(method, "method", LANDMARK_METHODS)
    vectors = kernel.requires_vector_input and not sparse
    if method == "auto":
        return "kmeans" if vectors else "rpcholesky" if kernel.positive_definite else "uniform"
    if method == "kmeans" and not vectors:
        raise ValueError(
            "method='kmeans' needs vectors, whose means are the landmarks (those of sparse rows "
            "would be dense); for objects and sparse rows use 'rpcholesky' or 'uniform'."
        )
    return method


def _in_metric(kernel, X):
    """The rows in the coordinates whose Euclidean distances the kernel sees, where it has some."""
    if kernel.whiten is not None:
        return kernel.whiten(X)
    if kernel.center is not None:
        return (np.asarray(X) - kernel.center) / kernel.scale
    return np.asarray(X)


def _kmeans(X, Y, m, random_state):
    """k-means++ and a few Lloyd steps on the rows Y; returns means of the rows X."""
    centres, _ = kmeans_plusplus(Y, m, random_state=random_state, n_local_trials=1)
    for step in range(_LLOYD_STEPS):
        last = step == _LLOYD_STEPS - 1
        nearest = pairwise_distances_argmin(Y, centres)
        order = np.argsort(nearest, kind="stable")
        counts = np.bincount(nearest, minlength=m)
        used = np.flatnonzero(counts)  # of equal rows some centres get none
        starts = (np.cumsum(counts) - counts)[used]
        means = np.add.reduceat((X if last else Y)[order], starts, axis=0) / counts[used, None]
        if not last:
            centres[used] = means
    return means.astype(X.dtype, copy=False)


def rp_cholesky(kernel, X, m, random_state):
    """Positions of up to m objects by randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber).

    Each is drawn with a probability that is the residual k(x, x) − φᵀφ by those before. Fewer come
    where nothing is left over.
    """
    left = kernel_diagonal(kernel, X).astype(float)
    if (left < 0).any():
        raise ValueError(
            "method='rpcholesky' needs a positive definite kernel; this one has negative "
            "self-similarities. Use 'uniform'."
        )
    if not left.any():
        raise ValueError(
            "method='rpcholesky' draws objects by their self-similarities k(x, x), which "
            "are all zero here, as for kernels −d². Use 'uniform'."
        )
    floor = 1e-10 * left.max(initial=0.0)
    factor = np.zeros((m, len(X)))
    chosen = []
    for i in range(m):
        left[left <= floor] = 0.0
        if not left.any():
            break
        pivot = int(random_state.choice(len(X), p=left / left.sum()))
        column = kernel_matrix(kernel, X, take(X, np.array([pivot])))[:, 0]
        column -= factor[:i, pivot] @ factor[:i]
        if column[pivot] <= floor:  # rounding, or an indefinite kernel
            left[pivot] = 0.0
            continue
        factor[i] = column / np.sqrt(column[pivot])
        left -= factor[i] ** 2
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


class LandmarkKernel:
    """Kernel rows of objects against fixed landmarks, in float64 or float32.

    Parameters
    ----------
    kernel : a fitted kernel, or None where objects are given by their kernel rows
    landmarks : the landmarks; where kernel is None, their own kernel rows (m, m)
    dtype : of the rows
    """

    def __init__(self, kernel, landmarks, dtype=np.float64):
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        self.landmarks = landmarks

    def __getstate__(self):
        return {"kernel": self.kernel, "landmarks": self.landmarks, "dtype": self.dtype.name}

    def __setstate__(self, state):
        self.__init__(**state)

    def __len__(self):
        return len(self.landmarks)

    @cached_property
    def _rbf(self):
        """The fast path of RBF kernels, None for other kernels."""
        sparse = is_sparse(self.landmarks)
        if sparse or self.kernel is None or self.kernel.rbf_gamma is None:
            return None
        return _RBFRows(self.kernel, self.landmarks, self.dtype)

    def first(self, m):
        """The same with the first m landmarks only; of rows given, the first m columns."""
        if self.kernel is None:
            return LandmarkKernel(None, np.asarray(self.landmarks)[:m, :m], self.dtype)
        return LandmarkKernel(self.kernel, take(self.landmarks, slice(0, m)), self.dtype)

    def gram(self):
        """Kernel matrix of the landmarks, float64."""
        if self.kernel is None:
            return check_symmetric(np.array(self.landmarks, dtype=float), "The landmarks' matrix")
        if self._rbf is not None:
            Z = np.asarray(self.landmarks, dtype=float)
            K = LandmarkKernel(self.kernel, Z).rows(Z)
        else:
            K = kernel_matrix(self.kernel, self.landmarks, self.landmarks)
        return check_symmetric(K, "The landmarks' kernel matrix")

    def rows(self, X, out=None, origin=None):
        """Kernel rows (b, m) of objects X; written into `out` if given, relative to `origin`."""
        out = np.empty((len(X), len(self)), self.dtype) if out is None else out
        if self._rbf is None or is_sparse(X):
            if self.kernel is None:
                np.copyto(out, np.asarray(X)[:, : len(self)], casting="same_kind")
            else:
                out[...] = kernel_matrix(self.kernel, X, self.landmarks)
            if origin is not None:
                out -= origin
            return out
        for start in range(0, len(X), _PIECE):
            rows = slice(start, start + _PIECE)
            piece = out[rows]
            self._rbf.fill(piece, X[rows])
            if origin is not None:
                piece -= origin
        return out

    def self_similarities(self, X):
        """k(x, x) of objects; None where only their rows are known, unless it is constant."""
        if self.kernel is not None:
            return kernel_diagonal(self.kernel, X)
        return common_self_similarity(np.diagonal(self.landmarks), len(X))


class LandmarkLookup(BaseKernel):
    """A kernel on positions of objects, whose values against landmarks are known.

    Parameters
    ----------
    kernel : a fitted kernel on the objects
    objects : collection of all objects
    landmarks : (m,) positions of the landmarks
    values : (n, m) what `known_values` gives for all objects; None where it is not kept
    """

    requires_vector_input = False
    cheap = True
    stateless = True
    returns_new = True

    def __init__(self, kernel, objects, landmarks=(), values=None):
        self.kernel, self.objects, self.landmarks, self.values = kernel, objects, landmarks, values
        self._columns = np.full(len(objects), -1)
        self._columns[list(landmarks)] = np.arange(len(landmarks))
        self.positive_definite = kernel.positive_definite
        self.is_dissimilarity = kernel.is_dissimilarity
        self.has_unit_scale, self.knows_self = kernel.has_unit_scale, kernel.knows_self

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        columns = self._columns[Y]
        if self.values is None or (columns < 0).any():
            rows = take(self.objects, X)
            return kernel_matrix(self.kernel, rows, rows if Y is X else take(self.objects, Y))
        values = self.values[np.ix_(X, columns)]
        return values if self.kernel.pair_key is None else self.kernel.from_pairs(values)

    def diag(self, X):
        """Self-similarities."""
        return kernel_diagonal(self.kernel, take(self.objects, X))

    def __deepcopy__(self, memo):
        return self  # clones share the values


def known_values(kernel, X, landmarks):
    """What a `LandmarkLookup` keeps: values of pairs, which kernels may share, or of the kernel."""
    if kernel.pair_key is None:
        return kernel_matrix(kernel, X, landmarks)
    return kernel.pair_values(X, landmarks)


class _RBFRows:
    """Rows exp(−γ‖x − z‖²) by a product, −γ‖x − z‖² = [x, −γ‖x‖², 1]·[2γz; 1; −γ‖z‖²].

    Vectors are taken relative to the median of the landmarks. The product loses about eps·γ‖x‖²,
    which is bounded: rows beyond the limit are computed by differences instead, and the value of
    any other row at a landmark of more than twice that distance is exp(−limit) = 0.
    """

    def __init__(self, kernel, landmarks, dtype):
        self.whiten, self.gamma = kernel.whiten, float(kernel.rbf_gamma)
        self.dtype, self.limit = dtype, _LIMITS[dtype.name]
        self.scale = None if kernel.scale is None else kernel.scale.astype(dtype)
        self.center = 0.0
        # The same rounded numbers for landmarks and rows: a common offset cancels.
        self.center = np.median(self._unscaled(landmarks), axis=0).astype(dtype)
        self.Z = Z = self.vectors(np.asarray(landmarks, dtype=float))
        norms = self._norms(Z)
        near = norms <= 4 * self.limit
        right = np.zeros((Z.shape[1] + 2, len(Z)))
        right[:-2, near] = 2 * self.gamma * Z[near].T
        right[-2, near] = 1
        right[-1] = np.where(near, -norms, -self.limit)
        self.right = np.ascontiguousarray(right, dtype=dtype)

    def _unscaled(self, X):
        return np.asarray(X if self.whiten is None else self.whiten(X))

    def vectors(self, X):
        """The rows of X as the kernel sees them, relative to the median landmark."""
        X = self._unscaled(X) - self.center
        return X if self.scale is None else X / self.scale

    @np.errstate(over="ignore")  # an infinite norm is beyond the limit
    def _norms(self, X):
        return self.gamma * np.einsum("ij,ij->i", X, X)

    def fill(self, out, X):
        """Write the kernel rows of X into out."""
        V = self.vectors(X)
        norms = self._norms(V)
        far = ~(norms <= self.limit)
        if far.any():
            V, norms = np.where(far[:, None], 0, V), np.where(far, 0, norms)
        left = np.empty((len(V), V.shape[1] + 2), self.dtype)
        left[:, :-2] = V
        left[:, -2] = -norms
        left[:, -1] = 1
        np.dot(left, self.right, out=out)
        if far.any():
            rows = self.vectors(np.asarray(X, dtype=float)[far])
            out[far] = -self.gamma * cdist(rows, self.Z, "sqeuclidean")
        np.exp(out, out=out)


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

    An unfitted map can be passed to a classifier as ``landmarks=``. Then `landmarks`, `method`,
    `rtol` and `random_state` are used, and the kernel and its spectrum are those of the classifier.

    Read more in the :doc:`user guide </landmarks>`.

    Parameters
    ----------
    landmarks : int, "auto" or a collection of objects, default=100
        Number of landmarks to choose; ``"auto"`` takes as many as explain 99 % of k(x, x), at most
        1000; or the landmarks themselves. With ``kernel="precomputed"`` a collection holds the
        positions of the landmarks among the rows of X in `fit`; the columns of X are then either
        all training objects or, in that order, the landmarks alone.
    method : {"auto", "kmeans", "rpcholesky", "uniform"}, default="auto"
        How landmarks are chosen, always without labels.

        - "kmeans": k-means++ with a few Lloyd steps, for vectors.
        - "rpcholesky": randomly pivoted Cholesky, for definite kernels.
        - "uniform": at random.
        - "auto": the first of these that the kernel allows; a precomputed kernel counts as
          indefinite.
    kernel : str or callable, default="rbf"
        A scikit-learn kernel name, ``"precomputed"``, or a kernel object (see
        :doc:`kernels </kernels>`).
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels rbf, laplacian, poly, sigmoid and chi2. "scale" is
        1/(n_features·Var(X)), "auto" is 1/n_features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square"}, default="krein"
        Treatment of negative eigenvalues.

        - "krein", "ignore": keep their features; ``signs_`` says which.
        - "raise": an error.
        - "clip", "flip", "square": replace them by 0, by their absolute values, or square all
          eigenvalues.
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
        check_landmark_options(self)
        X = self._check(X, reset=True)
        if is_precomputed(self.kernel):
            self.kernel_ = "precomputed"
            self.landmark_kernel_ = self._fit_precomputed(X)
        else:
            kernel = fit_kernel(self.kernel, X, **kernel_settings(self, X))
            landmarks = self._choose(X, kernel)
            self.kernel_, self.landmarks_ = kernel.as_fitted, as_matrix(landmarks)
            self.landmark_kernel_ = LandmarkKernel(kernel, landmarks)
        K = self.landmark_kernel_.gram()
        correction = spectrum if spectrum in CORRECTIONS else None
        self.features_ = landmark_features(K, rtol=self.rtol, correction=correction)
        if spectrum == "raise":
            refuse_negative(self.features_)
        self.signs_ = self.features_.signs
        self.eigenvalues_ = self.features_.values
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
        positions = self.landmarks
        if to_choose(self.landmarks):
            refuse_to_choose(X)
            auto, positions = is_auto(self.landmarks), np.arange(len(X))
            m = _MOST_LANDMARKS if auto else self.landmarks
            if m < len(X):
                lookup = CheckedKernel(X)
                positions = choose_landmarks(lookup, positions, m, self.method, self.random_state)
            if auto:
                K = X[np.ix_(positions, positions)]
                positions = positions[: _enough(X[:, positions], K, X.diagonal())]
        self.landmarks_, self.columns_ = landmark_columns(positions, X)
        return LandmarkKernel(None, X[np.ix_(self.landmarks_, self.columns_)])

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
        parts = [self.features_.transform(k) for _, k in self._kernel_rows(rows)]
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
        kxx = self.landmark_kernel_.self_similarities(X)
        if kxx is None:
            raise ValueError(
                "A precomputed kernel does not contain k(x, x) of an object, unless that of all "
                "landmarks is the same; use a kernel object, such as PrecomputedKernel."
            )
        parts = [self.features_.residual(kxx[rows], k) for rows, k in self._kernel_rows(X)]
        return np.concatenate(parts)

    def _kernel_rows(self, X):
        precomputed = self.landmark_kernel_.kernel is None
        for rows in row_chunks(len(X), 3 * len(self.landmark_kernel_)):
            part = take(X, rows)
            yield rows, self.landmark_kernel_.rows(part[:, self.columns_] if precomputed else part)

    @property
    def _n_features_out(self):
        return len(self.signs_)


def landmark_choice(landmarks, random_state=None):
    """The LandmarkMap that an estimator's `landmarks` stands for, with its own options alone.

    Checked, but for landmarks that are objects. random_state: the estimator's, where the map has
    none.
    """
    users_map = landmarks if isinstance(landmarks, LandmarkMap) else LandmarkMap(landmarks)
    seed = random_state if users_map.random_state is None else users_map.random_state
    choice = LandmarkMap(
        users_map.landmarks, method=users_map.method, rtol=users_map.rtol, random_state=seed
    )
    choice_params = choice.get_params(deep=False)
    for name, value in users_map.get_params(deep=False).items():
        default = choice_params[name]
        if name != "random_state" and value is not default and value != default:
            raise ValueError(
                f"landmarks=LandmarkMap(...) defines the landmarks; {name} is the "
                f"classifier's own parameter. Set {name}={value!r} there."
            )
    check_landmark_options(choice)
    return choice


def check_landmark_options(choice):
    """Refuse options of a LandmarkMap that say nothing about landmarks."""
    match choice.landmarks:
        case str():
            if choice.landmarks != "auto":
                refuse_landmarks(choice.landmarks)
        case None | numbers.Number():
            check_count(choice.landmarks, "landmarks")
    check_choice(choice.method, "method", LANDMARK_METHODS)
    if choice.rtol is not None:
        what = "a number from 0 to below 1, or None"
        check_real(choice.rtol, "rtol", what, lambda number: 0 <= number < 1)


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
            f"{int((features.signs < 0).sum())} negative eigenvalues, which spectrum='raise' does "
            f"not allow. spectrum='krein' handles them as the papers do."
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
