"""A training set of all objects: in the order of their classes, with the kernel on them.

Everything that needs kernel values gets them here, in blocks, whatever the kernel is: a name, a
function, an object kernel or a precomputed matrix, its spectrum as it is (`TrainingKernel`) or
corrected (`CorrectedKernel`). The class-wise squared kernel Mahalanobis distances of a training set
are a `DistanceModel`. A plain fit has one training set, a cross-validation one for each
fold (`folds.KernelFolds`). `landmark.LandmarkTraining` offers methods the same.
"""

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._memory import BLOCKS, row_chunks, scratch
from .._validation import (
    check_choice,
    check_finite_distances,
    check_memory,
    check_reg,
    check_square,
    check_symmetric,
    is_negated_dissimilarity,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.full_kernel import FULL_KERNEL_VARIANTS, FullKernelModel, full_kernel_model
from ..formulas.kernel_fisher import fisher_model, fisher_path
from ..formulas.kernel_mahalanobis import (
    CLASSWISE_VARIANTS,
    REG_ON,
    MeanModel,
    alphas_of,
    class_model,
    common_sigma2,
    rc_minus_leave_one_out,
    rc_plus_leave_one_out,
    rc_plus_left_out,
    rc_rounding,
)
from ..formulas.kernel_pca import fit_embedding, gaussian_class
from ..formulas.linalg import Centering, Workspace, center_gram, centering, eigh, is_psd
from ..formulas.spectrum import CORRECTIONS, fit_correction
from ..kernels.precomputed import CheckedKernel, PrecomputedKernel
from ..kernels.protocol import (
    check_kernel_values,
    check_magnitude,
    common_self_similarity,
    fit_kernel_and_gram,
    kernel_diagonal,
    kernel_matrix,
)

VARIANTS = (*CLASSWISE_VARIANTS, *FULL_KERNEL_VARIANTS)
# Doubles that need not be divided to save memory.
SMALL = 2**18


# --- queries --------------------------------------------------------------------------------------


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
        if kernel.pair_diagonal is None:
            return kernel_diagonal(kernel, self.objects)
        key = kernel.pair_key
        if key not in self._own:
            self._own[key] = kernel.pair_diagonal(self.objects)
        return np.asarray(kernel.from_pairs(self._own[key]), dtype=np.float64)

    def _compute(self, kernel, training):
        if (key := kernel.pair_key) is None:
            return kernel_matrix(kernel, self.objects, training)
        # Kernels that standardise columns of their own share nothing.
        key = key, id(training), None if kernel.center is None else id(kernel)
        shape, fills = (len(self), len(training)), kernel.fill is not None
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


# --- class distances ------------------------------------------------------------------------------


SELF_UNKNOWN = (
    "These distances depend on each query's self-similarity k(x, x), which rows of a precomputed "
    "kernel do not hold, and the training self-similarities differ. Pass self_similarity= to "
    "mahalanobis, or use kernel=PrecomputedKernel(K) on row numbers."
)


def check_self_similarity(values, n):
    """Self-similarities that a user passes, one for each of n queries."""
    values = np.asarray(values, dtype=float)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise ValueError(
            f"self_similarity must be {n} finite numbers, k(x, x) for each row of X; "
            f"got shape {values.shape}."
        )
    return values


class DistanceModel(NamedTuple):
    """Fitted class models: a tuple of them, or a FullKernelModel for all classes.

    alphas (c,), or (r, c) for a path, whose results have a trailing axis; self_cancels: one σ²
    serves all classes, so that k(x, x)/σ² has no part in a decision.
    """

    training: Any
    models: tuple | FullKernelModel
    variant: str
    alphas: np.ndarray
    self_cancels: bool

    @property
    def key(self):
        """Models of one training set with equal keys are equal."""
        return self.variant, self.alphas.tobytes(), tuple(map(type, self.models))

    @property
    def needs_self(self):
        """Distances depend on k(x, x)."""
        return self.variant.startswith("RC")

    def class_forms(self):
        """QuadraticForms of the classes, and the kernel values that each takes: None for all."""
        if self._full:
            return self.models.forms(), None
        return [model.form() for model in self.models], self.training.slices

    def unseen(self, kxx, k):
        """The part of k(x, x) that the forms take: all of it."""
        return kxx

    @property
    def _full(self):
        """Distances to one class need the kernel with the objects of all classes."""
        return self.variant in FULL_KERNEL_VARIANTS

    def sq_distances(self, X, self_similarity=None, *, common="required"):
        """d² of queries to each class, (m, c), with memory bounded by working_memory.

        self_similarity: k(x, x) as a user knows it. common: "required", or "known" and "omitted"
        where decisions alone are wanted: what k(x, x) adds alike to all classes may be missing.
        Of SharedRows they are computed once for all that share this model, and not overwritten.
        """
        kxx = self._self_similarities(X, self_similarity, common)
        if isinstance(X, SharedRows):
            return X.of_model(self, kxx, lambda: self._sq_distances(X, kxx))
        return self._sq_distances(X, kxx)

    def _self_similarities(self, X, self_similarity, common):
        if self_similarity is not None:
            self_similarity = check_self_similarity(self_similarity, len(X))
        if not self.needs_self:
            return np.zeros(len(X))
        kxx = self.training.self_similarities(X, self_similarity)
        if kxx is not None:
            return kxx
        if common == "required" or not self.self_cancels:
            raise ValueError(SELF_UNKNOWN)
        return np.zeros(len(X))

    # What overflows is refused where distances are returned, in one sentence instead of warnings.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def _sq_distances(self, X, kxx):
        with workspace_for(X) as workspace:
            chunks = self._chunks(len(X))
            parts = [self._chunk(take(X, rows), kxx[rows], workspace) for rows in chunks]
        return check_finite_distances(np.concatenate(parts))

    def _chunk(self, X, kxx, workspace):
        if self._full:
            return self.models.sq_distances(self.training.cross(X, read=True))
        block = self.training.cross_blocks(X)
        d2 = [model.sq_distances(block(rows), kxx, workspace) for model, rows in self._classes()]
        return np.stack(d2, axis=1)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def training_sq_distances(self, *, common="required"):
        """d² of the training objects to each class (resubstitution), in the order given."""
        training = self.training
        if self._full:
            # Small chunks: beside the model's n² doubles there is to be little else.
            chunks = self._chunks(len(training), max(SMALL, len(training) ** 2 // 4))
            blocks = (training.training_cross(rows) for rows in chunks)
            in_class_order = np.concatenate([self.models.sq_distances(k) for k in blocks])
        else:
            in_class_order = self._classwise_training_sq_distances()
        return check_finite_distances(in_class_order[training.order.argsort()])

    def _classwise_training_sq_distances(self):
        training = self.training
        kxx = training.training_self_similarities()
        shape = (len(training), len(training.slices), *np.shape(self.models[0].alpha))
        # Whatever is not filled in is found by the check for finite values.
        d2 = np.full(shape, np.nan)
        for j, (model, members) in enumerate(self._classes()):
            closed_form = model.own_sq_distances()
            if closed_form is not None:
                d2[members, j] = closed_form
                continue
            for rows, k in self._chunked(members, j):
                d2[rows, j] = model.sq_distances(k, kxx[rows])
        for rows, j, k in self._between_classes():
            d2[rows, j] = self.models[j].sq_distances(k, kxx[rows])
        return d2

    def _between_classes(self):
        """Training objects against the other classes: (rows, class, kernel block to consume).

        A kernel value between two classes is computed once and serves both, unless the block
        passes working_memory.
        """
        slices = self.training.slices
        for j, members in enumerate(slices):
            later = slice(members.stop, len(self.training))
            if _fits(later, members):
                yield from self._both_ways(later, range(j + 1, len(slices)), j)
                continue
            for i in range(j + 1, len(slices)):
                if _fits(slices[i], members):
                    yield from self._both_ways(slices[i], [i], j)
                else:
                    for rows, k in self._chunked(slices[i], j):
                        yield rows, j, k
                    for rows, k in self._chunked(members, i):
                        yield rows, i, k

    def _both_ways(self, rows, classes, j):
        """The block of `rows`, which hold `classes`, with class j: for each of them and for j."""
        if rows.start == rows.stop:
            return
        members = self.training.slices[j]
        k = self.training.training_cross(rows, members)
        for i in classes:
            other = self.training.slices[i]
            yield members, i, transpose(k[other.start - rows.start : other.stop - rows.start])
        yield rows, j, k

    def _chunked(self, rows, j):
        for chunk in self._chunks(rows.stop - rows.start):
            chunk = slice(rows.start + chunk.start, rows.start + chunk.stop)
            yield chunk, self.training.training_cross(chunk, self.training.slices[j])

    def _classes(self):
        return zip(self.models, self.training.slices, strict=True)

    def _chunks(self, n_rows, max_doubles=float("inf")):
        full = self._full or self.training.whole_rows
        width = len(self.training) if full else self.training.counts.max()
        return row_chunks(n_rows, (BLOCKS + self._full) * int(width), max_doubles)

    def rounding(self):
        """Size of the rounding errors in the distances, where that is not relative to them."""
        kxx = self.training.training_self_similarities()
        counts = self.training.counts
        if self.needs_self:
            models = zip(self.models, counts, strict=True)
            return np.max([rc_rounding(kxx, m.means, n, m.alpha) for m, n in models], axis=0)
        # Centred kernel values that should vanish are of the order eps·k; their squares are summed.
        alphas = self.models.alphas if self._full else [model.alpha for model in self.models]
        noise = len(kxx) * (16 * np.finfo(float).eps * np.abs(kxx).max()) ** 2
        power = 1 if self._full else 2
        pairs = zip(counts, alphas, strict=True)
        return np.max([n * noise / np.asarray(a, float) ** power for n, a in pairs], axis=0)

    def log_volumes(self):
        """Log-volumes of the classes, (c,) or (c, r)."""
        return np.array([model.log_volume() for model in self.models])

    def nonnegative(self):
        """True where no eigenvalue of a class is negative."""
        return all((getattr(model, "values", np.zeros(1)) >= 0).all() for model in self.models)


def _fits(rows, columns):
    """True for a block of kernel values within working_memory."""
    return len(row_chunks(2, (rows.stop - rows.start) * (columns.stop - columns.start))) == 1


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def fit_distances(training, variant, alphas, *, spectral=False):
    """The class models of one training set.

    alphas: (c,), or (r, c) for a path.
    spectral: keep eigenvalues (the log-determinants of MAP offsets need them).
    """
    n, spectrum = len(training), training.spectrum
    alphas = np.asarray(alphas, float)
    by_class = [a if np.ndim(a) else float(a) for a in np.moveaxis(alphas, -1, 0)]
    options = variant, alphas, common_sigma2(alphas, training.counts)
    if variant in FULL_KERNEL_VARIANTS:
        check_memory(2 * n**2, f"The kernel matrix of {n} objects and its factors")
        training.check_spectrum()
        model = full_kernel_model(training.gram(), variant, by_class, training.slices)
        return DistanceModel(training, model, *options)
    definite, krein = training.positive_definite, spectrum != "ignore"
    if variant == "RC-" and (definite or not krein) and not spectral:
        means = [class_centering(training, members) for members in training.slices]
        return DistanceModel(training, tuple(map(MeanModel, by_class, means)), *options)
    check_memory(int((training.counts**2).sum()), f"The class kernel matrices of {n} objects")
    training.check_spectrum(training.slices)
    models = [
        class_model(
            training.gram(members),
            variant,
            alpha,
            definite=definite,
            krein=krein,
            spectral=spectral,
        )
        for alpha, members in zip(by_class, training.slices, strict=True)
    ]
    return DistanceModel(training, tuple(models), *options)


def leave_one_out_sq_distances(training, variant, alphas, d2):
    """Distances d2 of the training objects, each to its own class without it, in place.

    alphas (c,) or (r, c) belong to the classes without the object. The forms are closed, and exist
    where the class is definite and the variant RC. The only object of a class stays where it is:
    nothing would be left.
    """
    definite = training.positive_definite or training.spectrum == "ignore"
    for j, members in enumerate(training.slices):
        if members.stop - members.start < 2:
            continue
        K = training.gram(members)
        Kc = center_gram(K, centering(K))
        if not variant.startswith("RC") or not (definite or is_psd(Kc)):
            raise ValueError(
                "offset='loo' needs a closed form, which the RC variants have where no eigenvalue "
                f"is negative; got variant={variant!r}. Use offset='error' (or spectrum='ignore', "
                "'clip' or 'flip' with RC)."
            )
        closed_form = rc_plus_leave_one_out if variant == "RC+" else rc_minus_leave_one_out
        path = np.atleast_1d(alphas[..., j])
        left_out = np.stack([closed_form(Kc, alpha) for alpha in path], axis=-1)
        d2[training.order[members], j] = left_out.reshape(-1, *np.shape(alphas)[:-1])
    return check_finite_distances(d2)


def left_out_scores(model, d2):
    """−d²/2 of the training objects, each to its own class without it; None without closed form.

    d2 (n, c): of RC+ with one α. Objects alone in their class, and those that nothing but
    themselves explains, get −inf.
    """
    if model.variant != "RC+" or not model.nonnegative():
        return None
    scores = d2 / -2
    for j, (fitted, members) in enumerate(model._classes()):
        rows = model.training.order[members]
        left = rc_plus_left_out(d2[rows, j], fitted.alpha)
        scores[rows, j] = np.where(np.isfinite(left), left / -2, -np.inf)
    return scores


def transpose(A, block=256):
    """A new C-ordered Aᵀ, copied in blocks that stay in the cache."""
    out = np.empty(A.shape[::-1])
    for i in range(0, len(A), block):
        out[:, i : i + block] = A[i : i + block].T
    return out


def class_centering(training, members):
    """Centring of one class, without its whole Gram matrix in memory."""
    n = members.stop - members.start
    total = _row_sums(training, members, np.ones(n))
    return Centering(total / n, total.mean() / n)


def _row_sums(training, members, weights):
    """Weighted sums Σ_i w_i K_ij over one class, for each of its objects."""
    n = members.stop - members.start
    total = np.zeros(n)
    for part in row_chunks(n, BLOCKS * n):
        rows = slice(members.start + part.start, members.start + part.stop)
        block = training.training_cross(rows, members)
        block *= weights[part, None]
        total += block.sum(axis=0)
    return total


def mean_spread(training, blocks=None):
    """|Σ trace K̃_j|/n, the mean spread of the objects around their class means.

    Objects with weights count as often. blocks: slices of objects in class order, the classes if
    None. 1 where that is nothing but rounding: objects without spread have no scale.
    """
    blocks = training.slices if blocks is None else blocks
    kxx = training.training_self_similarities()
    w = np.ones(len(training)) if training.weights is None else training.weights
    total = size = 0.0
    for members in blocks:
        within = w[members] @ kxx[members]
        between = w[members] @ _row_sums(training, members, w[members]) / w[members].sum()
        total += within - between
        size += abs(within) + abs(between)
    spread = abs(total) / w.sum()
    return float(spread) if abs(total) > 1e-12 * size else 1.0


def refuse_map(variant, alphas, counts, nonnegative):
    """MAP offsets need a volume of each class; nonnegative() says that no eigenvalue is < 0."""
    problem = None
    if variant.startswith("FK"):
        problem = "it is not defined for FK variants"
    elif variant.startswith("RC") and not common_sigma2(alphas, counts):
        problem = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
    elif not nonnegative():
        problem = "the kernel has negative eigenvalues"
    if problem:
        raise ValueError(f"offset='map' cannot be used: {problem}. Use offset='error'.")


def reg_for_part(reg, reg_on, variant, counts, part):
    """`reg` of each class that gives a part of the objects distances on the scale of all of them.

    counts and part (c,) are the class sizes of all and of the part. With the eigenvalues l of the
    class covariance, λ = n_jl, and with coordinates t along its axes, P² = n_jlt²; so IC+ is
    Σ lt²/(l + α/n_j)², and RC has σ² = α/n_j: what must be kept is α/n_j. FK's vectors have an
    entry for each of the n objects, their squares grow with n and M_j with n·n_j: it is α/(n·n_j).
    At a fixed α distances of + would shrink with the part, up to as n_j does.
    """
    reg = np.array(check_reg(reg, len(counts)))
    reg_on = check_choice(reg_on, "reg_on", REG_ON)
    variant = check_choice(variant, "variant", VARIANTS)
    of_all, of_part = (alphas_of(reg, reg_on, variant, n, lambda: 1.0) for n in (counts, part))
    reg *= part / counts * of_all / of_part  # some α follow n_j by themselves
    return reg * part.sum() / counts.sum() if variant in FULL_KERNEL_VARIANTS else reg


# --- training sets --------------------------------------------------------------------------------


class ExactTraining:
    """The methods of a training set of all objects, from its kernel values.

    order: positions of the objects as given, in class order; counts (c,) and slices of the classes;
    positive_definite: the kernel is known to be so; whole_rows: a block of a query's row costs as
    much as the whole row. Arguments `rows` and `queries` select training objects in class order, by
    a slice or positions. Matrices that are returned belong to the caller, who may overwrite them,
    unless `read` says otherwise.
    """

    spectrum = "krein"
    dtypes = np.float64  # of queries
    weights: np.ndarray | None = None  # of the objects in class order, for methods that take them
    correction: Any = None  # of a spectrum
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
            self._gram = check_symmetric(kernel_matrix(kernel, self.X, self.X), "The Gram matrix")
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
        return K if self.kernel.symmetric else check_symmetric(K, "The Gram matrix")

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
        return common_self_similarity(self.X.diagonal(), len(X))

    def refuse_indefinite(self, blocks):
        """Raise if a centred block of the kernel matrix has negative eigenvalues."""
        if self.positive_definite:
            return
        for members in blocks:
            K = self.gram(members)
            if not is_psd(center_gram(K, centering(K), overwrite=True)):
                raise ValueError(
                    "The kernel is not positive definite: its centred matrix has negative "
                    "eigenvalues, which spectrum='raise' does not allow. spectrum='krein' handles "
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
    return CheckedKernel(training.gram()[np.ix_(back, back)], training.kernel)


def _block(K, rows, columns):
    """A copy of a block."""
    if isinstance(rows, slice) and isinstance(columns, slice):
        return K[rows, columns].copy()
    position = np.arange(len(K))
    return K[np.ix_(position[rows], position[columns])]
