"""Class-wise squared kernel Mahalanobis distances of training objects and of queries.

One definition serves a plain fit (one training set, one α) and a search (the training sets of a
cross-validation, a path of α). `fit_distances` does it for one training set; `fold_distances` for
all folds of a cross-validation, by block updates of one inverse where the method allows that.
`KernelMahalanobisEstimator` is what the estimators on these distances share.
"""

import numbers
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._base import KernelEstimator, refuses_weights
from .._typing import ArrayLike, Kernel, Objects, Reg
from .._validation import (
    check_choice,
    check_finite_distances,
    check_memory,
    check_reg,
    spelt,
    take,
)
from ..formulas.full_kernel import FULL_KERNEL_VARIANTS, FullKernelModel, full_kernel_model
from ..formulas.kernel_mahalanobis import (
    CLASSWISE_VARIANTS,
    MeanModel,
    centre_on_class,
    class_model,
    kriging_class,
    rc_minus_leave_one_out,
    rc_plus_leave_one_out,
    rc_rounding,
)
from ..formulas.linalg import center_gram, centering, is_psd
from ..formulas.spectrum import SPECTRA
from ..kernels.measure import MeasureKernel
from ..kernels.training import (
    BLOCKS,
    KernelValues,
    SharedRows,
    class_centering,
    class_slices,
    is_leave_one_out,
    mean_spread,
    row_chunks,
    workspace_for,
)

VARIANTS = (*CLASSWISE_VARIANTS, *FULL_KERNEL_VARIANTS)
REG_ON = ("auto", "covariance", "kernel", "relative")
# reg="auto"; of dissimilarities, whose kernels are rarely definite, relative to the spread.
DEFAULT_REG, MEASURE_REG = 0.01, 0.1
# Doubles that need not be divided to save memory.
SMALL = 2**18


# --- what `reg` means -----------------------------------------------------------------------------


def resolve_alphas(regs, reg_on, variant, training):
    """α of each step and class, (r, c), from a path of `reg`: numbers, or one for each class."""
    counts = training.counts
    path = np.array([check_reg(reg, len(counts)) for reg in regs])
    return alphas_of(path, reg_on, variant, counts, lambda: mean_spread(training))


def alphas_of(reg, reg_on, variant, counts, spread):
    """α of each class: reg (…, c), class sizes counts (c,); spread() is asked for "relative"."""
    match resolved_reg_on(reg_on, variant):
        case "relative":
            scale = spread()
            if variant.startswith("RC"):
                return reg * scale * counts
            return reg * (scale**2 if variant.startswith("FK") else scale)
        case "covariance":
            return reg * counts
    return np.array(reg)


def resolved_reg_on(reg_on, variant):
    """What `reg` is measured in: "auto" is "covariance" for RC and "kernel" otherwise."""
    if reg_on == "auto":
        return "covariance" if variant.startswith("RC") else "kernel"
    return reg_on


def auto_reg(kernel, reg_on, variant, spread):
    """reg="auto" as a number in the units of reg_on, for a fitted kernel (None: precomputed)."""
    if not _is_dissimilarity(kernel):
        return DEFAULT_REG
    if reg_on == "relative":
        return MEASURE_REG
    return MEASURE_REG * spread() ** (2 if variant.startswith("FK") else 1)


def _is_dissimilarity(kernel):
    return isinstance(kernel, MeasureKernel) and kernel.kind_ != "similarity"


def without_one(alphas, counts, reg_on, variant):
    """α of each class less one object: (n − 1)σ² where σ² is what is given."""
    fixed = resolved_reg_on(reg_on, variant) == "kernel"
    return alphas if fixed else alphas * (counts - 1) / counts


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
    whole, less = (alphas_of(reg, reg_on, variant, n, lambda: 1.0) for n in (counts, part))
    reg *= part / counts * whole / less  # some α follow n_j by themselves
    return reg * part.sum() / counts.sum() if variant in FULL_KERNEL_VARIANTS else reg


def refuse_map(variant, alphas, counts, nonnegative):
    """MAP offsets need a volume of each class; nonnegative() says whether no eigenvalue is < 0."""
    problem = None
    if variant.startswith("FK"):
        problem = "it is not defined for FK variants"
    elif variant.startswith("RC") and not common_sigma2(alphas, counts):
        problem = "RC needs the same σ² for all classes (reg_on='covariance' or 'relative')"
    elif not nonnegative():
        problem = "the kernel has negative eigenvalues"
    if problem:
        raise ValueError(f"offset='map' cannot be used: {problem}. Use offset='error'.")


def common_sigma2(alphas, counts):
    """Whether σ² = α/n_j is the same for all classes; alphas (…, c)."""
    sigma2 = alphas / counts
    return bool((np.ptp(sigma2, axis=-1) <= 1e-12 * sigma2.max(axis=-1)).all())


# --- one training set -----------------------------------------------------------------------------


class DistanceModel(NamedTuple):
    """Fitted class models: a tuple of them, or a FullKernelModel for all classes.

    For a path of α results have a trailing axis.
    """

    training: KernelValues
    models: tuple | FullKernelModel

    @property
    def _full(self):
        """Whether distances to one class need the kernel with the objects of all classes."""
        return hasattr(self.models, "sq_distances")

    def sq_distances(self, X, kxx):
        """d² of queries to each class, (m, c), with memory bounded by working_memory.

        Of SharedRows they are computed once for all that share this model, and not overwritten.
        """
        if isinstance(X, SharedRows):
            return X.of_model(self, kxx, lambda: self._sq_distances(X, kxx))
        return self._sq_distances(X, kxx)

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
        d2 = [model.sq_distances(block(own), kxx, workspace) for model, own in self._classes()]
        return np.stack(d2, axis=1)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def training_sq_distances(self):
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
            own = model.own_sq_distances()
            if own is not None:
                d2[members, j] = own
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

    def rounding(self, variant):
        """What rounding may leave in the distances, where that is more than their size tells."""
        kxx = self.training.training_self_similarities()
        counts = self.training.counts
        if variant.startswith("RC"):
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
        """Whether no eigenvalue of a class is negative."""
        return all((getattr(model, "values", np.zeros(1)) >= 0).all() for model in self.models)


def _fits(rows, columns):
    """Whether a block of kernel values stays within working_memory."""
    return len(row_chunks(2, (rows.stop - rows.start) * (columns.stop - columns.start))) == 1


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def fit_distances(training, variant, alphas, spectrum="krein", *, spectral=False):
    """The class models of one training set.

    alphas: (c,), or (r, c) for a path.
    spectral: keep eigenvalues (the log-determinants of MAP offsets need them).
    """
    n = len(training)
    by_class = list(np.moveaxis(np.asarray(alphas, float), -1, 0))
    by_class = [a if np.ndim(a) else float(a) for a in by_class]
    if variant in FULL_KERNEL_VARIANTS:
        check_memory(2 * n**2, f"The kernel matrix of {n} objects and its factors")
        if spectrum == "raise":
            training.refuse_indefinite([slice(0, n)])
        model = full_kernel_model(training.gram(), variant, by_class, training.slices)
        return DistanceModel(training, model)
    definite, krein = training.positive_definite, spectrum != "ignore"
    if variant == "RC-" and (definite or not krein) and not spectral:
        means = [class_centering(training, members) for members in training.slices]
        return DistanceModel(training, tuple(map(MeanModel, by_class, means)))
    check_memory(int((training.counts**2).sum()), f"The class kernel matrices of {n} objects")
    if spectrum == "raise":
        training.refuse_indefinite(training.slices)
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
    return DistanceModel(training, tuple(models))


def leave_one_out_sq_distances(training, variant, alphas, spectrum, d2):
    """Distances d2 of the training objects, each to its own class without it, in place.

    alphas (c,) or (r, c) belong to the classes without the object. The forms are closed, and exist
    where the class is definite and the variant RC. The only object of a class stays where it is:
    nothing would be left.
    """
    definite = training.positive_definite or spectrum == "ignore"
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
        own = np.stack([closed_form(Kc, alpha) for alpha in path], axis=-1)
        d2[training.order[members], j] = own.reshape(-1, *np.shape(alphas)[:-1])
    return check_finite_distances(d2)


def transpose(A, block=256):
    """A new C-ordered Aᵀ, copied in blocks that stay in the cache."""
    out = np.empty(A.shape[::-1])
    for i in range(0, len(A), block):
        out[:, i : i + block] = A[i : i + block].T
    return out


# --- the training sets of a cross-validation ------------------------------------------------------


class FoldDistances(NamedTuple):
    """Distances of one fold for some steps of a path, the steps on the last axis.

    train (n, c, r) of the training objects in their order, test (m, c, r) of the held-out ones;
    alphas (r, c); rounding (r,) of the distances; log_volumes (c, r) where asked for.
    """

    fold: int
    steps: slice
    train: np.ndarray
    test: np.ndarray
    alphas: np.ndarray
    rounding: np.ndarray
    log_volumes: np.ndarray | None


def fold_distances(folds, variant, regs, reg_on, *, volumes=False):
    """FoldDistances of all folds and steps: the same distances as fits on each fold have.

    folds: KernelFolds. Where one matrix serves all folds and RC+ meets a definite kernel, folds are
    block updates of one inverse per class and α; otherwise every fold is fitted for itself.
    """
    if variant == "RC+" and holds_once(folds.splits) and has_definite_classes(folds):
        yield from _kriging_folds(folds, regs, reg_on, volumes)
        return
    for f in range(len(folds)):
        yield _fitted_fold(folds, f, variant, regs, reg_on, volumes)


def _fitted_fold(folds, f, variant, regs, reg_on, volumes):
    fold = folds[f]
    alphas = resolve_alphas(regs, reg_on, variant, fold.training)
    model = fit_distances(fold.training, variant, alphas, folds.spectrum, spectral=volumes)
    if volumes:
        refuse_map(variant, alphas, fold.training.counts, model.nonnegative)
    return FoldDistances(
        f,
        slice(0, len(regs)),
        model.training_sq_distances(),
        model.sq_distances(fold.queries, fold.kxx),
        alphas,
        model.rounding(variant),
        model.log_volumes() if volumes else None,
    )


def holds_once(splits):
    """Whether no training part holds an object twice, as a bootstrap sample does.

    Such an object cannot be left out once.
    """
    return all(np.bincount(train).max(initial=0) <= 1 for train, _ in splits)


def has_definite_classes(folds):
    """Whether one matrix serves all folds, and that of each class is definite."""
    if folds.matrix is None:
        return False
    if folds.positive_definite or folds.spectrum == "ignore":
        return True
    for j in range(folds.codes.max() + 1):
        rows = np.flatnonzero(folds.codes == j)
        K = folds.matrix[np.ix_(rows, rows)]
        if not is_psd(center_gram(K, centering(K), overwrite=True)):
            return False
    return True


class SortedFolds(NamedTuple):
    """All objects in the order of class and fold, so that a class is a slice.

    K (N, N), kxx (N,), slices of the classes; place (N,) says where each object as given stands.
    """

    K: np.ndarray
    kxx: np.ndarray
    slices: list
    place: np.ndarray

    def left_out(self, train):
        """For each class the objects that are not in a training part, counted within the class."""
        kept = np.zeros(len(self.K), dtype=bool)
        kept[self.place[train]] = True
        return [np.flatnonzero(~kept[own]) for own in self.slices]


def sort_folds(folds):
    """The objects of KernelFolds sorted for block updates."""
    n = len(folds.codes)
    fold_of = np.full(n, len(folds))
    for f in reversed(range(len(folds))):
        fold_of[folds.splits[f][1]] = f
    order = np.lexsort([fold_of, folds.codes])
    K = folds.matrix[np.ix_(order, order)]
    slices = class_slices(np.bincount(folds.codes))
    return SortedFolds(K, np.diagonal(K), slices, order.argsort())


def _kriging_folds(folds, regs, reg_on, volumes):
    """RC+ with a definite kernel: folds are block updates of one inverse per class and α."""
    objects = sort_folds(folds)
    centred = [centre_on_class(objects.K, objects.kxx, s) for s in objects.slices]
    left_out = [objects.left_out(train) for train, _ in folds.splits]
    kept = np.bincount(folds.codes) - [[len(out) for out in classes] for classes in left_out]
    alphas = np.stack([_fold_alphas(folds, f, regs, reg_on, kept[f]) for f in range(len(folds))])
    if volumes:
        for f in range(len(folds)):
            refuse_map("RC+", alphas[f][:, kept[f] > 0], kept[f][kept[f] > 0], lambda: True)
    rounding = np.max(
        [
            rc_rounding(objects.kxx, centering(objects.K[own, own]), kept[:, j, None], a)
            for j, (own, a) in enumerate(zip(objects.slices, np.moveaxis(alphas, -1, 0)))
        ],
        axis=0,
    )
    # Some folds and steps at once, as memory allows.
    width = len(objects.K) * len(objects.slices)
    for part in row_chunks(len(folds), width):
        which = range(part.start, part.stop)
        for steps in row_chunks(len(regs), len(which) * width):
            d2, logs, lost = _updated(objects, centred, left_out, kept, alphas, which, steps)
            for i, f in enumerate(which):
                train, test = folds.splits[f]
                present = kept[f] > 0
                if i in lost:  # α below the rounding of K: decompose
                    found = _fitted_fold(folds, f, "RC+", regs[steps], reg_on, volumes)
                    yield found._replace(steps=steps)
                    continue
                by_object = np.moveaxis(d2[i][:, objects.place][:, :, present], 0, -1)
                yield FoldDistances(
                    f,
                    steps,
                    check_finite_distances(by_object[train]),
                    check_finite_distances(by_object[test]),
                    alphas[f, steps][:, present],
                    rounding[f, steps],
                    logs[i][:, present].T if volumes else None,
                )


def _fold_alphas(folds, f, regs, reg_on, kept):
    """α (r, c) of a fold's steps and classes; 1 for a class that it has lost."""
    present = kept > 0
    path = np.array(regs)[:, None] * np.ones(present.sum())
    alphas = np.ones((len(regs), len(kept)))
    alphas[:, present] = alphas_of(
        path, reg_on, "RC+", kept[present], lambda: mean_spread(folds[f].training)
    )
    return alphas


def _updated(objects, centred, left_out, kept, alphas, which, steps):
    """Distances (f, r, N, c) and log-volumes (f, r, c) of the folds `which`; those that are lost.

    A fold is lost where an α vanishes in the rounding of the kernel.
    """
    shape = (len(which), steps.stop - steps.start, len(objects.K), len(objects.slices))
    d2, logs, lost = np.full(shape, np.nan), np.full((*shape[:2], shape[3]), np.nan), set()
    for j, ((k, kxx), own) in enumerate(zip(centred, objects.slices, strict=True)):
        for r, step in enumerate(range(steps.start, steps.stop)):
            here = [(i, alphas[f, step, j]) for i, f in enumerate(which) if kept[f, j]]
            for alpha in sorted({a for _, a in here}):
                model = kriging_class(k, kxx, own, alpha)
                for i in (i for i, a in here if a == alpha):
                    if model is None:
                        lost.add(i)
                        continue
                    f = which[i]
                    d2[i, r, :, j], logs[i, r, j] = model.without(
                        left_out[f][j], alpha / kept[f, j]
                    )
    return d2, logs, lost


# --- estimators -----------------------------------------------------------------------------------


class KernelMahalanobisEstimator(KernelEstimator):
    """Class-wise kernel Mahalanobis distances: what the estimators of this family share."""

    def __init__(
        self,
        variant: str = "RC+",
        reg: Reg = "auto",
        *,
        reg_on: str = "auto",
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        spectrum: str = "krein",
        standardize: bool | str = "auto",
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            spectrum=spectrum,
            standardize=standardize,
        )
        self.variant = variant
        self.reg = reg
        self.reg_on = reg_on

    def _check_parameters(self):
        check_choice(self.variant, "variant", VARIANTS)
        check_choice(self.reg_on, "reg_on", REG_ON)
        if isinstance(self.reg, numbers.Real):
            check_reg(self.reg, 1)

    def _axis_value(self, training, kernel=None):
        """`reg` as numbers in the units of `reg_on`; sets reg_."""
        self.reg_ = reg = spelt(self.reg, "reg", ("auto",))
        if isinstance(reg, str) and reg == "auto":
            variant, reg_on, _ = self._options()
            kernel = training.original.kernel if kernel is None else kernel
            self.reg_ = auto_reg(kernel, reg_on, variant, lambda: mean_spread(training))
        return self.reg_

    def _fixed_axis_value(self, kernel):
        reg = spelt(self.reg, "reg", ("auto",))
        automatic = isinstance(reg, str) and reg == "auto"
        return DEFAULT_REG if automatic and not _is_dissimilarity(kernel) else reg

    def _warn_of_leave_one_out(self, folds):
        """Say where leaving out one object at a fixed α flatters its own class."""
        variant, reg_on, _ = self._options()
        fixed = variant.startswith("RC") and resolved_reg_on(reg_on, variant) == "kernel"
        if fixed and is_leave_one_out(folds.splits, len(folds.codes)):
            warnings.warn(
                f"LeaveOneOut() with reg_on='kernel' and {variant} flatters useless kernels: at a "
                "fixed α the class of the left-out object, one object short, has the larger σ² and "
                "wins too often. Use reg_on='covariance' or 'relative', or k folds.",
                UserWarning,
                stacklevel=2,
            )

    def _fit_distances(self, training, regs, *, spectral=False):
        """The class models of one training set for a path of regularisation values.

        Returns them with their α, (c,) for a path of one value and (r, c) otherwise.
        """
        variant, reg_on, spectrum = self._options()
        alphas = resolve_alphas(regs, reg_on, variant, training)
        alphas = alphas[0] if len(regs) == 1 else alphas
        return fit_distances(training, variant, alphas, spectrum, spectral=spectral), alphas

    def _options(self):
        return (
            check_choice(self.variant, "variant", VARIANTS),
            check_choice(self.reg_on, "reg_on", REG_ON),
            check_choice(self.spectrum, "spectrum", SPECTRA),
        )

    def _store_distances(self, distances, alphas):
        self._distances = distances
        self._variant = check_choice(self.variant, "variant", VARIANTS)
        self._common_sigma2 = common_sigma2(alphas, distances.training.counts)

    def mahalanobis(self, X: Objects, self_similarity: ArrayLike | None = None) -> np.ndarray:
        """Squared kernel Mahalanobis distance of each row of X to each class.

        Distances can be negative: RC+ with an indefinite kernel, RC- with any kernel. At landmarks
        they are approximations, and those to an object's own class are too large on average: what
        the landmarks leave over of the object (``residual``) counts as if no class explained it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).
        self_similarity : array-like of shape (n_samples,), default=None
            k(x, x) of the rows. Only RC variants use it, and only a precomputed kernel whose
            training self-similarities differ needs it.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        X = self._check_query(X)
        if self._at_landmarks:
            model = self._fitted_landmarks()
            return self._all_columns(model.sq_distances(X, self_similarity)[0], np.inf)
        return self._distances.sq_distances(X, self._self_similarity(X, self_similarity))

    def _self_similarity(self, X, given=None, cancels=False):
        """k(x, x) of queries; 0 stands in where it does not matter and is not known."""
        if given is not None:
            given = np.asarray(given, dtype=float)
            if given.shape != (len(X),) or not np.isfinite(given).all():
                raise ValueError(
                    f"self_similarity must be {len(X)} finite numbers, k(x, x) for each row of X; "
                    f"got shape {given.shape}."
                )
        if not self._variant.startswith("RC"):
            return np.zeros(len(X))
        known = self._training.self_similarities(X, given)
        if known is None and cancels:
            return np.zeros(len(X))
        if known is None:
            raise ValueError(
                "These distances depend on each query's self-similarity k(x, x), which rows of a "
                "precomputed kernel do not hold, and the training self-similarities differ. Pass "
                "self_similarity= to mahalanobis, or use kernel=PrecomputedKernel(K) on row "
                "numbers."
            )
        return known


class KernelMahalanobisTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMahalanobisEstimator
):
    """Class-wise squared kernel Mahalanobis distances as features: the dissimilarity space ψ.

    Parameters
    ----------
    variant : {"RC+", "RC-", "IC+", "IC-", "FK+", "FK-"}, default="RC+"
        Which distance, as in :class:`KernelQuadraticDiscriminant`; so for all parameters.
    reg : float, array-like of shape (n_classes,) or "auto", default="auto"
        Regularisation.
    reg_on : {"auto", "covariance", "kernel", "relative"}, default="auto"
        What `reg` is measured in.
    kernel : str or callable, default="rbf"
        The kernel.
    gamma : float, "scale" or "auto", default="scale"
        Kernel parameter.
    degree : int, default=3
        Kernel parameter.
    coef0 : float, default=1
        Kernel parameter.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : {"krein", "ignore", "raise", "clip", "flip", "square", "shift"}, default="krein"
        What to do about negative eigenvalues.
    standardize : {"auto", True, False}, default="auto"
        Whether the columns are centred and divided by their standard deviations first, for the
        kernels rbf, laplacian, linear, poly and sigmoid by name. "auto": where their standard
        deviations differ by more than a factor of ten.

        .. versionadded:: 0.2

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    reg_ : float or array-like
        `reg` as used, in the units of `reg_on`.

        .. versionadded:: 0.2
    kernel_ : object
        The kernel as fitted.
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import KernelMahalanobisTransformer
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelMahalanobisTransformer().fit(X, y).transform(X[:2]).shape
    (2, 3)
    """

    @refuses_weights
    def fit(self, X: Objects, y: Objects) -> Self:
        """Fit the class distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : KernelMahalanobisTransformer
            The fitted transformer.
        """
        self._check_parameters()
        training, _ = self._fit_training(X, y)
        self._store_distances(*self._fit_distances(training, [self._axis_value(training)]))
        training.release()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def transform(self, X: Objects) -> np.ndarray:
        """Squared distances to the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, or their kernel values against the training objects (``"precomputed"``).

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``classes_``.
        """
        return self.mahalanobis(X)
