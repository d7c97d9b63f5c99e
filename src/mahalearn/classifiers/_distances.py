"""Class-wise squared kernel Mahalanobis distances of training objects and of queries."""

from typing import NamedTuple

import numpy as np

from .._validation import check_choice, check_finite_distances, check_memory, check_reg
from ..formulas.full_kernel import FULL_KERNEL_VARIANTS, FullKernelModel, full_kernel_model
from ..formulas.gram import Centering, center_gram, centering
from ..formulas.kernel_mahalanobis import (
    CLASSWISE_VARIANTS,
    MeanModel,
    class_model,
    rc_minus_leave_one_out,
    rc_rounding,
)
from ..formulas.kriging import rc_plus_leave_one_out
from ..formulas.linalg import is_psd
from ..kernels.training import TrainingKernel, row_chunks, take

VARIANTS = (*CLASSWISE_VARIANTS, *FULL_KERNEL_VARIANTS)
REG_ON = ("auto", "covariance", "kernel", "relative")

# Blocks of a chunk's size alive at once while queries are compared with a class.
_BLOCKS = 3


class DistanceModel(NamedTuple):
    """A fitted set of class models: a tuple of them, or a FullKernelModel."""

    training: TrainingKernel
    models: tuple | FullKernelModel

    # What overflows is refused where distances are returned, in one sentence instead of warnings.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def sq_distances(self, X, kxx):
        """d² of queries to each class, (m, c), with memory bounded by working_memory."""
        out = np.empty((len(X), len(self.training.slices)))
        for rows in self._chunks(len(X)):
            queries = take(X, rows)
            if isinstance(self.models, FullKernelModel):
                out[rows] = self.models.sq_distances(self.training.cross(queries))
                continue
            block = self.training.cross_blocks(queries)
            for j, (model, members) in enumerate(self._classes()):
                out[rows, j] = model.sq_distances(block(members), kxx[rows])
        return check_finite_distances(out)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def training_sq_distances(self):
        """d² of the training objects to each class (resubstitution), in the original order."""
        training = self.training
        sorted_d2 = np.empty((len(training), len(training.slices)))
        if isinstance(self.models, FullKernelModel):
            # Small chunks: beside the model's n² doubles there is to be little else.
            for rows in self._chunks(len(training), len(training) ** 2 // 4):
                sorted_d2[rows] = self.models.sq_distances(training.training_cross(rows))
        else:
            kxx = training.training_self_similarities()
            for j, (model, members) in enumerate(self._classes()):
                if not isinstance(model, MeanModel):
                    sorted_d2[members, j] = model.own_sq_distances()
            for rows, j, k in self._training_blocks():
                sorted_d2[rows, j] = self.models[j].sq_distances(k, kxx[rows])
        d2 = np.empty_like(sorted_d2)
        d2[training.order] = sorted_d2
        return check_finite_distances(d2)

    def rounding(self, variant):
        """What rounding may leave in the distances, where that is more than their size tells."""
        if not variant.startswith("RC"):
            return 0.0
        kxx = self.training.training_self_similarities()
        sizes = self.training.counts
        models = zip(self.models, sizes, strict=True)
        return max(rc_rounding(kxx, model.means, n, model.alpha) for model, n in models)

    def _training_blocks(self):
        """Training objects against the other classes: (rows, class, kernel block to consume).

        Each kernel value between two classes is computed once and serves both, unless that block
        passes working_memory.
        """
        n = len(self.training)
        for j, (model, members) in enumerate(self._classes()):
            if isinstance(model, MeanModel):
                yield from self._chunked_blocks(members, j)
            later = slice(members.stop, n)
            size = (later.stop - later.start) * (members.stop - members.start)
            if len(row_chunks(2, size)) > 1:
                yield from self._chunked_blocks(later, j)
                yield from self._chunked_blocks(slice(0, members.start), j)
                continue
            if not size:
                continue
            k = self.training.training_cross(later, members)
            for i, other in enumerate(self.training.slices[j + 1 :], start=j + 1):
                part = slice(other.start - later.start, other.stop - later.start)
                yield members, i, transpose(k[part])
            yield later, j, k

    def _chunked_blocks(self, rows, j):
        for chunk in self._chunks(rows.stop - rows.start):
            chunk = slice(rows.start + chunk.start, rows.start + chunk.stop)
            yield chunk, j, self.training.training_cross(chunk, self.training.slices[j])

    def _classes(self):
        return zip(self.models, self.training.slices, strict=True)

    def _chunks(self, n_rows, max_doubles=float("inf")):
        full = isinstance(self.models, FullKernelModel) or self.training.whole_rows
        width = len(self.training) if full else self.training.counts.max()
        return row_chunks(n_rows, _BLOCKS * int(width), max_doubles)


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def fit_distances(training, variant, alphas, spectrum="krein", *, spectral=False):
    """The class models of a TrainingKernel, one α for each class.

    spectral: keep eigenvalues (the log-determinants of MAP offsets need them for RC-).
    """
    n = len(training)
    if variant in FULL_KERNEL_VARIANTS:
        check_memory(2 * n**2, f"The kernel matrix of {n} objects and its factors")
        if spectrum == "raise":
            training.refuse_indefinite([slice(0, n)])
        K = training.gram()
        return DistanceModel(training, full_kernel_model(K, variant, alphas, training.slices))
    definite, krein = training.positive_definite, spectrum != "ignore"
    if variant == "RC-" and (definite or not krein) and not spectral:
        means = [class_centering(training, members) for members in training.slices]
        return DistanceModel(training, tuple(map(MeanModel, alphas, means)))
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
        for alpha, members in zip(alphas, training.slices, strict=True)
    ]
    return DistanceModel(training, tuple(models))


def leave_one_out_sq_distances(K, variant, alpha, *, definite=False):
    """d² of each object of a class to the class without it; K is the class's Gram matrix.

    α belongs to the class without the object. The forms are closed, and exist where the class is
    definite and the variant RC.
    """
    Kc = center_gram(K, centering(K))
    if not variant.startswith("RC") or not (definite or is_psd(Kc)):
        raise ValueError(
            "offset='loo' needs a closed form, which the RC variants have where no eigenvalue is "
            f"negative; got variant={variant!r}. Use offset='error' (or spectrum='ignore', 'clip' "
            "or 'flip' with RC)."
        )
    closed_form = rc_plus_leave_one_out if variant == "RC+" else rc_minus_leave_one_out
    return closed_form(Kc, alpha)


def without_one(alphas, counts, reg_on, variant):
    """α of each class less one object: (n − 1)σ² where σ² is what is given."""
    fixed = reg_on == "kernel" or (reg_on == "auto" and not variant.startswith("RC"))
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


def resolve_alphas(reg, reg_on, variant, training):
    """α of each class from `reg` and what it is measured in."""
    reg = check_reg(reg, len(training.counts))
    return alphas_of(
        reg, reg_on, variant, training.counts, lambda: mean_centred_self_similarity(training)
    )


def alphas_of(reg, reg_on, variant, counts, spread=None):
    """α of each class: reg (c,), class sizes counts (c,); spread() is needed for "relative"."""
    if reg_on == "auto":
        reg_on = "covariance" if variant.startswith("RC") else "kernel"
    if reg_on == "relative":
        scale = spread()
        if variant.startswith("RC"):
            return reg * scale * counts
        return reg * (scale**2 if variant.startswith("FK") else scale)
    return reg * counts if reg_on == "covariance" else np.array(reg)


def mean_centred_self_similarity(training):
    """|Σ_j trace K̃_j|/n, the mean spread of the objects around their class means; 1 if it is 0."""
    spread = training.training_self_similarities().sum()
    for members in training.slices:
        spread -= (members.stop - members.start) * class_centering(training, members).grand_mean
    return abs(spread) / len(training) or 1.0


def transpose(A, block=256):
    """A new C-ordered Aᵀ, copied in blocks that stay in the cache."""
    out = np.empty(A.shape[::-1])
    for i in range(0, len(A), block):
        out[:, i : i + block] = A[i : i + block].T
    return out


def class_centering(training, members):
    """Centring of one class, without its whole Gram matrix in memory."""
    n = members.stop - members.start
    total = np.zeros(n)
    for rows in row_chunks(n, _BLOCKS * n):
        rows = slice(members.start + rows.start, members.start + rows.stop)
        total += training.training_cross(rows, members).sum(axis=0)
    return Centering(total / n, total.mean() / n)
