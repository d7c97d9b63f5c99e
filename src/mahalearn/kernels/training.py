"""Training objects in the order of their classes, and the kernel on them.

Everything that needs kernel values gets them here, in blocks, whatever the kernel is: a name, a
function, an object kernel or a precomputed matrix, its spectrum as it is or corrected. A plain fit
has one training set; a cross-validation has one for each fold (`KernelFolds`), and they follow the
same protocol (`KernelValues`), so that what is written for one serves all. Several models that
share their training objects share what they compute of queries, too (`SharedRows`).
"""

from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import sklearn

from .._validation import (
    check_memory,
    check_square,
    check_symmetric,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.linalg import Centering, Workspace, center_gram, centering, is_psd
from ..formulas.spectrum import CORRECTIONS, fit_correction
from .precomputed import PrecomputedKernel
from .protocol import (
    check_kernel_values,
    check_magnitude,
    fit_kernel_and_gram,
    is_named,
    is_stateless,
    kernel_diagonal,
    kernel_matrix,
)

# Blocks of a chunk's size alive at once while queries are compared with training objects.
BLOCKS = 3
# Doubles of a block of kernel values that several steps work on: they find it in the cache.
IN_CACHE = 2**19


def row_chunks(n_rows, row_doubles, max_doubles=float("inf")):
    """Slices of rows such that a chunk's doubles stay within scikit-learn's working_memory.

    `max_doubles` keeps chunks smaller still, where work is faster in a processor's cache. Chunks
    are of nearly equal size, the first the largest: a small last one would cost nearly as much as
    the others.
    """
    budget = min(max_doubles, sklearn.get_config()["working_memory"] * 2**20 // 8)
    most = max(1, int(min(n_rows, budget // max(1, row_doubles))))
    n_chunks = -(-n_rows // most)
    step, larger = divmod(n_rows, n_chunks) if n_chunks else (0, 0)
    starts = [i * step + min(i, larger) for i in range(n_chunks + 1)]
    return [slice(start, stop) for start, stop in pairwise(starts)]


class KernelValues(Protocol):
    """Kernel values of training objects, sorted by class: what every method is written for.

    `rows` and `queries` select training objects in class order, by a slice or positions. Matrices
    that are returned belong to the caller, who may overwrite them, unless `read` says otherwise.
    """

    order: np.ndarray  # positions of the objects as given, in class order
    counts: np.ndarray  # number of objects of each class
    slices: list  # where each class stands in class order
    positive_definite: bool  # known to be so
    whole_rows: bool  # a block of a query's row costs as much as the whole row

    def __len__(self) -> int: ...
    def gram(self, rows=slice(None)) -> np.ndarray: ...
    def cross(self, X, rows=slice(None), read=False) -> np.ndarray: ...
    def cross_blocks(self, X): ...
    def training_cross(self, queries, rows=slice(None)) -> np.ndarray: ...
    def training_self_similarities(self) -> np.ndarray: ...
    def self_similarities(self, X, given=None) -> np.ndarray | None: ...
    def refuse_indefinite(self, blocks) -> None: ...
    def release(self) -> None: ...


class TrainingKernel:
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

    def __len__(self):
        return len(self.order)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_gram"}

    @property
    def original(self):
        """The kernel before any correction."""
        return self

    @property
    def positive_definite(self):
        """Whether the kernel is known to be positive definite."""
        return bool(getattr(self.kernel, "positive_definite", False))

    def release(self):
        """Forget the Gram matrix, which only a fit needs."""
        self._gram = None

    def _known(self):
        """The Gram matrix where its values are kept: those of objects are expensive."""
        if self._gram is None and self.kernel is not None:
            objects = not getattr(self.kernel, "requires_vector_input", True)
            if objects and not getattr(self.kernel, "cheap", False):
                check_memory(len(self) ** 2, f"The kernel matrix of {len(self)} objects")
                K = kernel_matrix(self.kernel, self.X, self.X)
                self._gram = check_symmetric(K, "The Gram matrix")
        return self._gram

    def gram(self, rows=slice(None)):
        """Gram matrix of the training objects at `rows`."""
        if self.kernel is None:
            index = self.order[rows]
            return self.X[np.ix_(index, index)]
        if (known := self._known()) is not None:
            return _block(known, rows, rows)
        X = take(self.X, rows)
        K = kernel_matrix(self.kernel, X, X)
        if getattr(self.kernel, "symmetric", False):
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
        if (known := self._known()) is not None:
            return _block(known, queries, rows)
        K = self.cross(take(self.X, queries), rows)
        if getattr(self.kernel, "knows_self", False):
            position = np.arange(len(self))
            i, j = np.nonzero(position[queries][:, None] == position[rows])
            K[i, j] = self.training_self_similarities()[position[queries][i]]
        return K

    def training_self_similarities(self):
        """k(x, x) of the training objects."""
        if self.kernel is None:
            return self.X.diagonal()[self.order]
        if (known := self._known()) is not None:
            return known.diagonal().copy()
        return kernel_diagonal(self.kernel, self.X)

    def self_similarities(self, X, given=None):
        """k(x, x) of queries, None where only the user can know them and has not `given` them.

        A precomputed matrix says nothing about a query's self-similarity, unless that of the
        training objects is one constant (RBF, −d²).
        """
        if given is not None:
            return given
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


class CorrectedKernel:
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
        self.correction = fit_correction(original.gram(), correction)

    def __len__(self):
        return len(self.original)

    def release(self):
        """Forget the Gram matrix, which only a fit needs."""
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

    def self_similarities(self, X, given=None):
        """k(x, x) of queries, corrected, also where `given` (uncorrected) by the user."""
        kxx = self.original.self_similarities(X, given)
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
    if not corrects(spectrum, training.positive_definite):
        return training
    return CorrectedKernel(training, spectrum)


def corrects(spectrum, positive_definite):
    """Whether the policy changes a kernel; a definite one has nothing to clip or flip."""
    return spectrum in CORRECTIONS and not (positive_definite and spectrum in ("clip", "flip"))


def fit_training(X, y, codes, kernel, spectrum="krein", gram=None, **params):
    """The kernel fitted on training objects, and their values: (kernel, KernelValues).

    kernel: as users name it, "precomputed" excepted: then it is None and X the matrix. params:
    gamma, degree, coef0, standardize and kernel_params. gram: the Gram matrix, where it is known;
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


def class_centering(training, members):
    """Centring of one class, without its whole Gram matrix in memory."""
    n = members.stop - members.start
    total = np.zeros(n)
    for rows in row_chunks(n, BLOCKS * n):
        rows = slice(members.start + rows.start, members.start + rows.stop)
        total += training.training_cross(rows, members).sum(axis=0)
    return Centering(total / n, total.mean() / n)


def mean_spread(training, blocks=None):
    """|Σ trace K̃_j|/n, the mean spread of the objects around their class means.

    blocks: slices of objects in class order, the classes if None. 1 where that is nothing but
    rounding: objects without spread have no scale.
    """
    blocks = training.slices if blocks is None else blocks
    kxx = training.training_self_similarities()
    total = size = 0.0
    for members in blocks:
        within = kxx[members].sum()
        between = (members.stop - members.start) * class_centering(training, members).grand_mean
        total += within - between
        size += abs(within) + abs(between)
    spread = abs(total) / len(training)
    return float(spread) if abs(total) > 1e-12 * size else 1.0


class CheckedKernel(PrecomputedKernel):
    """A matrix and positions that need no more checks: those of a search's folds."""

    checked = True

    def __init__(self, K, positive_definite=False):
        self.K, self.positive_definite = K, positive_definite

    def fit(self, X, y=None):
        """Nothing to check."""
        return self

    def __call__(self, X, Y):
        """The block of the matrix."""
        return self.K[X[:, None], Y]

    def diag(self, X):
        """Self-similarities."""
        return self.K.diagonal()[X]


def lookup_kernel(training):
    """The values of a TrainingKernel as a kernel on positions of its objects as given."""
    back = training.order.argsort()
    K = training.gram()[np.ix_(back, back)]
    return CheckedKernel(K, training.positive_definite)


def _block(K, rows, columns):
    """A copy of a block."""
    if isinstance(rows, slice) and isinstance(columns, slice):
        return K[rows, columns].copy()
    position = np.arange(len(K))
    return K[np.ix_(position[rows], position[columns])]


# --- the training sets of a cross-validation ------------------------------------------------------


class Fold(NamedTuple):
    """A training set of a cross-validation and the objects held out.

    training: values of the kernel as fitted on the training set; codes (n,) the class of each of
    its objects, in their order, counted among the classes `present` (positions among all classes);
    queries: the held-out objects, as training.cross takes them; kxx: their self-similarities.
    """

    training: KernelValues
    codes: np.ndarray
    present: np.ndarray
    queries: object
    kxx: np.ndarray


def is_leave_one_out(splits, n):
    """Whether the splits leave out each of n objects once, and alone."""
    if len(splits) != n or any(len(test) != 1 or len(train) != n - 1 for train, test in splits):
        return False
    # A part of n − 1 positions that holds one twice is another layout.
    once = all(np.bincount(train).max(initial=0) <= 1 for train, _ in splits)
    return once and len({int(test[0]) for _, test in splits}) == n


class KernelFolds:
    """Objects under one kernel, and the training sets of a cross-validation on them.

    Parameters
    ----------
    X, y, codes : the objects as given, their labels and class indices; X is the kernel matrix where
        `kernel` is None
    splits : pairs of arrays (train, test) of positions
    kernel : as users name it, its scales resolved to numbers
    spectrum : the policy about negative eigenvalues
    gram : the matrix of all objects, where it is known
    params : gamma, degree, coef0, standardize and kernel_params
    """

    def __init__(self, X, y, codes, splits, kernel, spectrum="krein", gram=None, **params):
        self.X, self.y, self.codes, self.splits = X, y, codes, splits
        self.kernel, self.spectrum, self.params = kernel, spectrum, params
        self.lookup = None
        if kernel is None:
            self.lookup = CheckedKernel(TrainingKernel(X, codes, None).X)
        elif gram is not None:
            gram = check_kernel_values(gram, new=True)
            if not getattr(kernel, "symmetric", False):
                gram = check_symmetric(gram, "The Gram matrix")
            definite = bool(getattr(kernel, "positive_definite", False))
            self.lookup = CheckedKernel(gram, definite)
        elif is_named(kernel) or is_stateless(kernel):
            _, training = fit_training(X, y, codes, kernel, **params)
            self.lookup = lookup_kernel(training)

    @classmethod
    def within(cls, training, y, codes, splits, spectrum):
        """Folds of the objects of one training set, under its kernel as fitted."""
        folds = cls.__new__(cls)
        folds.X, folds.y, folds.codes, folds.splits = None, y, codes, splits
        folds.kernel, folds.spectrum, folds.params = None, spectrum, {}
        folds.lookup = lookup_kernel(training.original)
        return folds

    def __len__(self):
        return len(self.splits)

    @property
    def matrix(self):
        """The kernel matrix of all objects as given, None where each fold has a kernel of its own.

        A correction depends on the training set, too.
        """
        if self.lookup is None or corrects(self.spectrum, self.positive_definite):
            return None
        return self.lookup.K

    @property
    def positive_definite(self):
        """Whether the kernel is known to be positive definite."""
        return self.lookup is not None and self.lookup.positive_definite

    def classes_of(self, f):
        """Positions of the classes that a fold has, and the classes of its objects among them."""
        return np.unique(self.codes[self.splits[f][0]], return_inverse=True)

    def __getitem__(self, f):
        train, test = self.splits[f]
        present, codes = self.classes_of(f)
        if self.lookup is not None:
            training = TrainingKernel(train, codes, self.lookup)
            training = with_policy(training, self.spectrum)
            queries = test
        else:
            X = take(self.X, train)
            _, training = fit_training(
                X, self.y[train], codes, self.kernel, self.spectrum, **self.params
            )
            queries = take(self.X, test)
        return Fold(training, codes, present, queries, training.self_similarities(queries))


# --- memory that is used again --------------------------------------------------------------------

# Workspaces that nobody uses now, and how many doubles they may keep.
_IDLE: list[Workspace] = []
_MOST_IDLE, _MOST_KEPT = 2, 6 * IN_CACHE


@contextmanager
def scratch():
    """A workspace for some lines, in which nobody else has it; small ones are kept for the next.

    What is returned from there must not stand in its memory.
    """
    try:
        workspace = _IDLE.pop()
    except IndexError:
        workspace = Workspace()
    yield workspace
    if len(_IDLE) < _MOST_IDLE and workspace.size <= _MOST_KEPT:
        _IDLE.append(workspace)


# --- queries of several models --------------------------------------------------------------------


class SharedRows:
    """A batch of queries for models that share their training objects.

    Distances serve every kernel that is a function of them, and the values of a kernel all models
    that have it, as long as these come one after the other: only the last kernel's values are kept.
    So are distances to classes that several models have in common. What is large stands in the
    workspace, which the next batch may have: its values are then no longer those of this one.
    """

    def __init__(self, objects, workspace=None):
        self.objects = objects
        self.workspace = workspace or Workspace()
        self._pairs, self._own = {}, {}
        self._kernel = self._values = None
        self._model = self._inputs = self._output = None

    def __len__(self):
        return len(self.objects)

    def __getitem__(self, rows):
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return type(self)(take(self.objects, rows))

    def cross(self, kernel, training, rows, read=False):
        """The kernel of the queries against the training objects at `rows`.

        A new matrix; with `read` one that others read, too, and nobody may overwrite.
        """
        if self._kernel is not kernel:
            self._kernel, self._values = kernel, self._compute(kernel, training)
        values = self._values[:, rows]
        return values if read else values.copy(order="K")

    def of_model(self, model, kxx, compute):
        """compute() of a model that several classifiers share, for self-similarities kxx.

        Only the last model's is kept: classifiers that share one come one after the other.
        """
        if self._model is not model or not np.array_equal(self._inputs, kxx):
            self._model, self._inputs, self._output = model, kxx, compute()
        return self._output

    def diagonal(self, kernel):
        """Self-similarities of the queries; a measure gives its values once for all its forms."""
        if not hasattr(kernel, "pair_diagonal"):
            return kernel_diagonal(kernel, self.objects)
        key = kernel.pair_key
        if key not in self._own:
            self._own[key] = kernel.pair_diagonal(self.objects)
        return np.asarray(kernel.from_pairs(self._own[key]), dtype=np.float64)

    def _compute(self, kernel, training):
        key = getattr(kernel, "pair_key", None)
        if key is None:
            return kernel_matrix(kernel, self.objects, training)
        # Kernels that standardise columns of their own share nothing.
        key = key, id(training), None if getattr(kernel, "center", None) is None else id(kernel)
        shape, fills = (len(self), len(training)), hasattr(kernel, "fill")
        if key not in self._pairs:
            memory = [self.workspace.columns(f"pairs {len(self._pairs)}", *shape)] if fills else []
            self._pairs[key] = kernel.pair_values(self.objects, training, *memory)
        pairs = self._pairs[key]
        if fills:  # into the memory of the last kernel
            values = kernel.fill(self.workspace.columns("values", *shape), pairs)
        else:
            values = kernel.from_pairs(pairs)
        return check_kernel_values(values, new=True, order="A")


@contextmanager
def workspace_for(queries):
    """Memory for what is computed of queries: that of SharedRows, else that of `scratch`."""
    if isinstance(queries, SharedRows):
        yield queries.workspace
    else:
        with scratch() as workspace:
            yield workspace
