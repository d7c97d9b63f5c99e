"""A training set of all objects: in the order of their classes, with the kernel on them.

Everything that needs kernel values gets them here, in blocks, whatever the kernel is: a name, a
function, an object kernel or a precomputed matrix, its spectrum as it is (`TrainingKernel`) or
corrected (`CorrectedKernel`). A plain fit has one training set, a cross-validation one for each
fold (`folds.KernelFolds`). `landmark.LandmarkTraining` offers methods the same.
"""

from typing import Any

import numpy as np

from .._memory import BLOCKS, row_chunks
from .._validation import (
    check_memory,
    check_square,
    check_symmetric,
    is_negated_dissimilarity,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.kernel_fisher import fisher_model, fisher_path
from ..formulas.kernel_pca import fit_embedding, gaussian_class
from ..formulas.linalg import center_gram, centering, eigh, is_psd
from ..formulas.spectrum import CORRECTIONS, fit_correction
from ..kernels.precomputed import CheckedKernel, PrecomputedKernel
from ..kernels.protocol import (
    check_kernel_values,
    check_magnitude,
    fit_kernel_and_gram,
    kernel_diagonal,
    kernel_matrix,
)
from .distances import SharedRows, fit_distances, mean_spread


class ExactTraining:
    """The methods of a training set of all objects, from its kernel values.

    order: positions of the objects as given, in class order; counts (c,) and slices of the classes;
    positive_definite: the kernel is known to be so; whole_rows: a block of a query's row costs as
    much as the whole row. Arguments `rows` and `queries` select training objects in class order, by
    a slice or positions. Matrices that are returned belong to the caller, who may overwrite them,
    unless `read` says otherwise.
    """

    order: np.ndarray
    counts: np.ndarray
    slices: list
    spectrum = "krein"
    dtypes = np.float64  # of queries
    weights: np.ndarray | None = None  # of the objects in class order, for methods that take them
    correction: Any = None  # of a spectrum
    positive_definite: bool
    whole_rows: bool
    gram: Any
    cross: Any
    original: Any
    refuse_indefinite: Any
    _embedding = None
    distances = fit_distances
    mean_spread = mean_spread

    def release(self):
        """Forget what only a fit needs: the Gram matrix and its decomposition."""
        self._embedding = None

    def __len__(self):
        return len(self.order)

    @property
    def codes(self):
        """Class of each training object, in the order given."""
        codes = np.empty(len(self.order), np.intp)
        codes[self.order] = np.repeat(np.arange(len(self.counts)), self.counts)
        return codes

    @property
    def as_given(self):
        """Places in class order of the objects as given."""
        return self.order.argsort()

    def seen(self):
        """Positions of the classes that have objects, and the training set of these classes."""
        return np.arange(len(self.counts)), self

    def query(self, X):
        """Checked queries as `cross` takes them."""
        return X

    def pieces(self, queries):
        """Kernel rows (m, n) of queries, a chunk at a time, only to be read."""
        for rows in row_chunks(len(queries), BLOCKS * len(self)):
            yield self.cross(take(queries, rows), read=True)

    @property
    def columns(self):
        """Of precomputed rows, the columns that are the rows of kernel values."""
        return self.order

    def reference_rows(self):
        """The objects of the rows of kernel values, in class order."""
        return self.original.X

    def reference_order(self):
        """Positions, as given, of these objects."""
        return self.order

    def reference_self_similarities(self):
        """k(x, x) of these objects."""
        return self.training_self_similarities()

    def total_weight(self):
        """Sum of the objects' weights, 1 for each object where there are none."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def check_spectrum(self, blocks=None):
        """Raise where spectrum="raise" and a centred block has negative eigenvalues."""
        if self.spectrum == "raise":
            self.refuse_indefinite([slice(0, len(self))] if blocks is None else blocks)

    def kernel_eigenvalues(self):
        """Eigenvalues of the kernel matrix, before any correction."""
        n = len(self)
        check_memory(2 * n**2, f"The spectrum of the kernel matrix of {n} objects")
        K = self.original.gram()
        self.release()
        return eigh(K, vectors=False, overwrite=True).values

    def full_gram(self):
        """The whole matrix, for methods that decompose it."""
        n = len(self)
        check_memory(4 * n**2, f"The kernel matrix of {n} objects and its decomposition")
        self.check_spectrum()
        return self.gram()

    def fisher(self, betas):
        """Kernel Fisher discriminants: LinearScores and their rounding for each β."""
        K = self.full_gram()
        largest = max(K.max(), -K.min())  # K is overwritten
        if len(betas) == 1 and self.weights is None:
            models = [fisher_model(K, self.slices, betas[0])]
        else:
            models = fisher_path(K, self.slices, betas, self.weights)
        return models, np.array([model.rounding(largest) for model in models])

    def embedding(self, n_components):
        """Kernel PCA, and the density of each class in its coordinates.

        One decomposition serves every number of components, as long as the training set is a fold's
        (`release`).
        """
        if self._embedding is None:
            self._embedding = fit_embedding(self.full_gram())
        positive_only = self.spectrum == "ignore"
        embedding = self._embedding.leading(n_components, positive_only=positive_only)
        Z = embedding.training_coordinates()
        return embedding, [gaussian_class(Z[members]) for members in self.slices]


class TrainingKernel(ExactTraining):
    """Kernel values of the training objects, sorted by class.

    Parameters
    ----------
    X : the training objects, or the training Gram matrix where `kernel` is None
    codes : (n,) class index of each
    kernel : a fitted kernel, or None for a precomputed matrix
    gram : the Gram matrix of X, where it is known already
    """

    whole_rows = False
    _gram = None

    def __init__(self, X, codes, kernel, gram=None):
        self.kernel = kernel
        self.order = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes)
        self.slices = class_slices(self.counts)
        if kernel is None:
            check_square(X)
            check_magnitude(X)
            self.X = check_symmetric(X)
            warn_dissimilarity_as_kernel(self.X)
            return
        self.X = take(X, self.order)
        if gram is not None:
            gram = check_symmetric(check_kernel_values(gram, new=True), "The Gram matrix")
            self._gram = gram[np.ix_(self.order, self.order)]

    def __getstate__(self):
        return {
            name: value for name, value in vars(self).items() if name not in ("_gram", "_embedding")
        }

    @property
    def original(self):
        """The kernel before any correction."""
        return self

    @property
    def positive_definite(self):
        """The kernel is known to be positive definite."""
        return self.kernel is not None and bool(self.kernel.positive_definite)

    @property
    def of_dissimilarities(self):
        """The kernel is that of dissimilarities; of a precomputed one its values tell."""
        if self.kernel is None:
            return is_negated_dissimilarity(self.X)
        return self.kernel.is_dissimilarity

    def release(self):
        """Forget what only a fit needs: the Gram matrix and its decomposition."""
        super().release()
        self._gram = None

    def _stored_gram(self):
        """The Gram matrix of a kernel whose values are stored: those of objects are expensive."""
        kernel = self.kernel
        if self._gram is None and not (kernel.requires_vector_input or kernel.cheap):
            check_memory(len(self) ** 2, f"The kernel matrix of {len(self)} objects")
            K = kernel_matrix(kernel, self.X, self.X)
            self._gram = check_symmetric(K, "The Gram matrix")
        return self._gram

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows`."""
        if self.kernel is None:
            index = self.order[rows]
            return self.X[np.ix_(index, index)]
        if (stored := self._stored_gram()) is not None:
            return _block(stored, rows, rows)
        X = take(self.X, rows)
        K = kernel_matrix(self.kernel, X, X)
        if self.kernel.symmetric:
            return K
        return check_symmetric(K, "The Gram matrix")

    def cross(self, X, rows=slice(None), read=False):
        """Kernel of queries against the training objects at `rows`; `read`: only to be read."""
        if self.kernel is None:
            check_magnitude(X)
            return X[:, self.order[rows]]
        if isinstance(X, SharedRows):
            return X.cross(self.kernel, self.X, rows, read)
        return kernel_matrix(self.kernel, X, take(self.X, rows))

    def cross_blocks(self, X):
        """The function rows -> cross(X, rows, read=True), for callers that need row blocks."""
        return lambda rows: self.cross(X, rows, read=True)

    def training_cross(self, queries, rows=slice(None)):
        """Kernel of training objects against training objects."""
        if self.kernel is None:
            return self.X[np.ix_(self.order[queries], self.order[rows])]
        if (stored := self._stored_gram()) is not None:
            return _block(stored, queries, rows)
        K = self.cross(take(self.X, queries), rows)
        if self.kernel.knows_self:
            position = np.arange(len(self))
            i, j = np.nonzero(position[queries][:, None] == position[rows])
            K[i, j] = self.training_self_similarities()[position[queries][i]]
        return K

    def training_self_similarities(self):
        """k(x, x) of the training objects."""
        if self.kernel is None:
            return self.X.diagonal()[self.order]
        if (stored := self._stored_gram()) is not None:
            return stored.diagonal().copy()
        return kernel_diagonal(self.kernel, self.X)

    def self_similarities(self, X, values=None):
        """k(x, x) of queries, None where only the user can tell them and has passed no `values`.

        A precomputed matrix says nothing about a query's self-similarity, unless that of the
        training objects is one constant (RBF, −d²).
        """
        if values is not None:
            return values
        if self.kernel is not None:
            shared = isinstance(X, SharedRows)
            return X.diagonal(self.kernel) if shared else kernel_diagonal(self.kernel, X)
        diagonal = self.X.diagonal()
        if np.ptp(diagonal) <= 1e-10 * np.abs(diagonal).max():
            return np.full(len(X), diagonal[0])
        return None

    def refuse_indefinite(self, blocks):
        """Raise if a centred block of the kernel matrix has negative eigenvalues."""
        if self.positive_definite:
            return
        for members in blocks:
            K = self.gram(members)
            if not is_psd(center_gram(K, centering(K), overwrite=True)):
                raise ValueError(
                    "The kernel is not positive definite: its centred matrix has negative "
                    "eigenvalues, and spectrum='raise' asks to stop. spectrum='krein' handles "
                    "them as the papers do; kernel_signature() and negative_fraction() say how "
                    "many there are."
                )


class CorrectedKernel(ExactTraining):
    """A TrainingKernel whose spectrum is corrected, for training objects and queries alike.

    The whole training matrix is decomposed once, whatever blocks are asked for later.

    Parameters
    ----------
    original : TrainingKernel
    correction : one of CORRECTIONS
    """

    positive_definite = True  # after centring, which is how every estimator sees it
    whole_rows = True

    def __init__(self, original, correction):
        n = len(original)
        check_memory(3 * n**2, f"The spectrum of the kernel matrix of {n} objects")
        self.original = original
        self.order, self.counts, self.slices = original.order, original.counts, original.slices
        self.spectrum = correction
        self.correction = fit_correction(original.gram(), correction)

    @property
    def kernel(self):
        """The fitted kernel, not corrected."""
        return self.original.kernel

    @property
    def of_dissimilarities(self):
        """The kernel is that of dissimilarities."""
        return self.original.of_dissimilarities

    def release(self):
        """Forget what only a fit needs: the Gram matrix and its decomposition."""
        super().release()
        self.original.release()

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows`."""
        K = self.original.gram(rows)
        K += self.correction.gram_change(rows, rows)
        return K

    def cross(self, X, rows=slice(None), read=False):
        """Kernel of queries against the training objects at `rows`."""
        k = self.original.cross(X, read=True)
        k = k + self.correction.cross_change(k)
        return np.ascontiguousarray(k[:, rows])

    def cross_blocks(self, X):
        """The function rows -> cross(X, rows, read=True), for callers that need row blocks."""
        k = self.cross(X)
        return lambda rows: k[:, rows]

    def training_cross(self, queries, rows=slice(None)):
        """Kernel of training objects against training objects."""
        k = self.original.training_cross(queries, rows)
        k += self.correction.gram_change(queries, rows)
        return k

    def training_self_similarities(self):
        """k(x, x) of the training objects."""
        return self.original.training_self_similarities() + self.correction.training_self_change()

    def self_similarities(self, X, values=None):
        """k(x, x) of queries, corrected; `values`: uncorrected, by the user."""
        kxx = self.original.self_similarities(X, values)
        if kxx is None:
            return None
        out = np.array(kxx, dtype=float)
        for rows in row_chunks(len(X), BLOCKS * len(self)):
            k = self.original.cross(take(X, rows))
            out[rows] += self.correction.self_change(kxx[rows], k)
        check_magnitude(out)
        return out

    def refuse_indefinite(self, blocks):
        """Nothing to refuse."""


def with_policy(training, spectrum):
    """The training kernel as the policy `spectrum` wants it: corrected or as it is."""
    if corrects(spectrum, training.positive_definite):
        return CorrectedKernel(training, spectrum)
    training.spectrum = spectrum
    return training


def corrects(spectrum, positive_definite):
    """True for a policy that changes a kernel; a definite one has nothing to clip or flip."""
    return spectrum in CORRECTIONS and not (positive_definite and spectrum in ("clip", "flip"))


def fit_training(X, y, codes, kernel, spectrum="krein", gram=None, **params):
    """The kernel fitted on training objects, and their values: (kernel, ExactTraining).

    kernel: as users name it, "precomputed" excepted: then it is None and X the matrix. params:
    gamma, degree, coef0 and standardize. gram: the Gram matrix, where it is known;
    the kernel is then used as it is.
    """
    if kernel is not None and gram is None:
        kernel, gram = fit_kernel_and_gram(kernel, X, y, **params)
    if isinstance(kernel, PrecomputedKernel):
        warn_dissimilarity_as_kernel(kernel.K)
    return kernel, with_policy(TrainingKernel(X, codes, kernel, gram), spectrum)


def class_slices(counts):
    """Where classes of these sizes stand, one after the other."""
    ends = np.cumsum(counts).tolist()  # Python's numbers: skops cannot store others
    return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def lookup_kernel(training):
    """The values of a TrainingKernel as a kernel on positions of its objects as given."""
    back = training.order.argsort()
    K = training.gram()[np.ix_(back, back)]
    return CheckedKernel(K, training.kernel)


def _block(K, rows, columns):
    """A copy of a block."""
    if isinstance(rows, slice) and isinstance(columns, slice):
        return K[rows, columns].copy()
    position = np.arange(len(K))
    return K[np.ix_(position[rows], position[columns])]
