"""The training objects in the order of their classes, and the kernel on them.

Everything that needs kernel values gets them here, in blocks, whatever the kernel is: a name, a
function, an object kernel or a precomputed matrix, its spectrum as it is or corrected.
"""

import numpy as np
import sklearn

from .._objects import take
from .._validation import (
    check_memory,
    check_square,
    check_symmetric,
    warn_dissimilarity_as_kernel,
)
from ..formulas.gram import center_gram, centering
from ..formulas.linalg import is_psd
from ..formulas.spectrum import CORRECTIONS, fit_correction
from .protocol import NamedKernel, PrecomputedKernel, kernel_diagonal, kernel_matrix


def row_chunks(n_rows, row_doubles, max_doubles=float("inf")):
    """Slices of rows such that a chunk's doubles stay within scikit-learn's working_memory.

    `max_doubles` keeps chunks smaller still, where work is faster in a processor's cache.
    """
    budget = min(max_doubles, sklearn.get_config()["working_memory"] * 2**20 // 8)
    step = max(1, min(n_rows, int(budget // max(1, row_doubles))))
    return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]


class TrainingKernel:
    """Kernel values of the training objects, sorted by class.

    Parameters
    ----------
    X : the training objects, or the training Gram matrix where `kernel` is None
    codes : (n,) class index of each
    kernel : a fitted kernel, or None for a precomputed matrix
    """

    def __init__(self, X, codes, kernel):
        self.kernel = kernel
        self.order = np.argsort(codes, kind="stable")
        self.counts = np.bincount(codes)
        ends = np.cumsum(self.counts).tolist()  # Python's numbers: skops cannot store others
        starts = [0, *ends[:-1]]
        self.slices = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
        if kernel is None:
            check_square(X)
            self.X = check_symmetric(X)
            warn_dissimilarity_as_kernel(self.X)
        else:
            self.X = take(X, self.order)
            if isinstance(kernel, PrecomputedKernel):
                warn_dissimilarity_as_kernel(kernel.K)

    def __len__(self):
        return len(self.order)

    # Whether a block of a query's row costs as much as the whole row.
    whole_rows = False

    @property
    def original(self):
        """The kernel before any correction."""
        return self

    @property
    def positive_definite(self):
        """Whether the kernel is known to be positive definite."""
        return bool(getattr(self.kernel, "positive_definite", False))

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows` (class order), for the caller to keep."""
        if self.kernel is None:
            index = self.order[rows]
            return self.X[np.ix_(index, index)]
        X = take(self.X, rows)
        K = kernel_matrix(self.kernel, X, X)
        return K if isinstance(self.kernel, NamedKernel) else check_symmetric(K, "The Gram matrix")

    def cross(self, X, rows=slice(None)):
        """Kernel of queries against the training objects at `rows`, for the caller to keep."""
        if self.kernel is None:
            return X[:, self.order[rows]]
        return kernel_matrix(self.kernel, X, take(self.X, rows))

    def cross_blocks(self, X):
        """The function rows -> cross(X, rows), for callers that need the row block by block."""
        return lambda rows: self.cross(X, rows)

    def training_cross(self, queries, rows=slice(None)):
        """Kernel of training objects against training objects, both in class order."""
        if self.kernel is None:
            return self.X[np.ix_(self.order[queries], self.order[rows])]
        K = self.cross(take(self.X, queries), rows)
        if getattr(self.kernel, "knows_self", False):
            position = np.arange(len(self))
            i, j = np.nonzero(position[queries][:, None] == position[rows])
            K[i, j] = self.training_self_similarities()[position[queries][i]]
        return K

    def training_self_similarities(self):
        """k(x, x) of the training objects, in class order."""
        if self.kernel is None:
            return self.X.diagonal()[self.order]
        return kernel_diagonal(self.kernel, self.X)

    def self_similarities(self, X, given=None):
        """k(x, x) of queries, None where only the user can know them and has not `given` them.

        A precomputed matrix says nothing about a query's self-similarity, unless that of the
        training objects is one constant (RBF, −d²).
        """
        if given is not None:
            return given
        if self.kernel is not None:
            return kernel_diagonal(self.kernel, X)
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
                    "them as the papers do; see signature_ and negative_fraction_ for how many "
                    "there are."
                )


class CorrectedKernel:
    """A TrainingKernel whose spectrum is corrected, for training objects and queries alike.

    It stands where a TrainingKernel stands. The whole training matrix is decomposed once, whatever
    blocks are asked for later.

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
        self.correction = fit_correction(original.gram(), correction)

    def __len__(self):
        return len(self.original)

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows` (class order), for the caller to keep."""
        K = self.original.gram(rows)
        K += self.correction.gram_change(rows, rows)
        return K

    def cross(self, X, rows=slice(None)):
        """Kernel of queries against the training objects at `rows`, for the caller to keep."""
        k = self.original.cross(X)
        k = k + self.correction.cross_change(k)
        return np.ascontiguousarray(k[:, rows])

    def cross_blocks(self, X):
        """The function rows -> cross(X, rows), for callers that need the row block by block."""
        k = self.cross(X)
        return lambda rows: k[:, rows].copy()

    def training_cross(self, queries, rows=slice(None)):
        """Kernel of training objects against training objects, both in class order."""
        k = self.original.training_cross(queries, rows)
        k += self.correction.gram_change(queries, rows)
        return k

    def training_self_similarities(self):
        """k(x, x) of the training objects, in class order."""
        return self.original.training_self_similarities() + self.correction.training_self_change()

    def self_similarities(self, X, given=None):
        """k(x, x) of queries, corrected, also where `given` (uncorrected) by the user."""
        kxx = self.original.self_similarities(X, given)
        if kxx is None:
            return None
        out = np.array(kxx, dtype=float)
        for rows in row_chunks(len(X), 3 * len(self)):
            k = self.original.cross(take(X, rows))
            out[rows] += self.correction.self_change(kxx[rows], k)
        return out

    def refuse_indefinite(self, blocks):
        """Nothing to refuse."""


def with_policy(training, spectrum):
    """The training kernel as the policy `spectrum` wants it: corrected or as it is."""
    return CorrectedKernel(training, spectrum) if spectrum in CORRECTIONS else training
