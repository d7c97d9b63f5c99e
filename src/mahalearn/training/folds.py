"""The training sets of a cross-validation, and their distances.

With all objects, where one matrix serves all folds and RC+ meets a definite kernel, folds are block
updates of one inverse per class and α; otherwise, and for two folds, every fold is fitted for
itself.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._memory import row_chunks
from .._validation import check_finite_distances, check_reg, check_symmetric, take
from ..formulas.kernel_mahalanobis import (
    alphas_of,
    centre_on_class,
    kriging_class,
    rc_rounding,
)
from ..formulas.linalg import center_gram, centering, is_psd
from ..kernels.precomputed import CheckedKernel
from ..kernels.protocol import check_kernel_values, is_stateless
from .exact import (
    ExactTraining,
    TrainingKernel,
    class_slices,
    corrects,
    fit_training,
    lookup_kernel,
    refuse_map,
    with_policy,
)
from .sources import collect

# Block updates of one inverse are cheaper than fits for more folds than these.
FEW_FOLDS = 2


class Fold(NamedTuple):
    """A training set of a cross-validation and the objects held out.

    training: the training set, of the classes `present` (positions among all classes); queries: the
    held-out objects, as it takes them.
    """

    training: ExactTraining
    present: np.ndarray
    queries: object


def is_leave_one_out(splits, n):
    """True for splits that leave out each of n objects once, and alone."""
    if len(splits) != n or any(len(test) != 1 or len(train) != n - 1 for train, test in splits):
        return False
    # A part of n − 1 positions that holds one twice is another layout.
    return holds_once(splits) and len({int(test[0]) for _, test in splits}) == n


class Folds:
    """The training sets of a cross-validation, as classifiers ask for them.

    splits: pairs of positions (train, test); y, codes: labels and class indices of all objects;
    classes: sorted labels; spectrum: the policy about negative eigenvalues; of_dissimilarities: the
    kernel is theirs. ``folds[f]`` is a Fold. One matrix for all folds, and what is known of it, are
    KernelFolds'.
    """

    # The kernel matrix of all objects as given, None where each fold has a kernel of its own; the
    # matrix whose spread regularisation is measured in.
    matrix: Any = None
    gram: Any = None
    positive_definite: Any = False
    definite_classes: Any = False

    def __len__(self):
        return len(self.splits)

    @cached_property
    def classes(self):
        """Sorted labels of all classes."""
        return np.unique(self.y)

    def distances(self, variant, regs, reg_on, *, volumes=False, common="required"):
        """FoldDistances of all folds and steps, where every fold is fitted for itself."""
        for f in range(len(self)):
            yield fitted_fold(self, f, variant, regs, reg_on, volumes, common)

    def assembled(self, fold_scores, n_values):
        """Held-out scores (M, c, r) of all folds one after the other, and their rounding (M, r).

        fold_scores: (fold, steps, present classes, scores (m, c, r), rounding (r,)). −inf for a
        class that a fold has not seen.
        """
        starts = np.cumsum([0] + [len(test) for _, test in self.splits])
        scores = np.full((starts[-1], len(self.classes), n_values), -np.inf)
        rounding = np.full((starts[-1], n_values), -1.0)
        for f, steps, present, held_out, noise in fold_scores:
            rows = slice(starts[f], starts[f + 1])
            scores[rows, present, steps] = held_out
            rounding[rows, steps] = noise
        assert (rounding != -1).all()
        return scores, rounding


class SplitFold(Folds):
    """One training set and its held-out objects."""

    def __init__(self, training, classes, queries):
        self.spectrum, self.of_dissimilarities = training.spectrum, training.of_dissimilarities
        self.codes, n = training.codes, len(training.codes)
        self.y = classes[self.codes]
        self.splits = [(np.arange(n), np.arange(n, n + len(queries)))]
        self.fold = Fold(training, np.arange(len(classes)), queries)

    def __getitem__(self, f):
        return self.fold


class KernelFolds(Folds):
    """Objects under one kernel, and the training sets of a cross-validation on them.

    Parameters
    ----------
    X, y, codes : the objects as given, their labels and class indices; X is the kernel matrix where
        `kernel` is None
    splits : pairs of arrays (train, test) of positions
    kernel : the kernel, its scales resolved to numbers
    spectrum : the policy about negative eigenvalues
    gram : the matrix of all objects, where it is known
    lookup : the kernel values of all objects by position, where they are known
    """

    def __init__(self, X, y, codes, splits, kernel, spectrum, gram=None, lookup=None):
        self.X, self.y, self.codes, self.splits = X, y, codes, splits
        self.kernel, self.spectrum, self.lookup = kernel, spectrum, lookup
        self._folds, self._distances = {}, {}
        if lookup is not None:
            return
        if kernel is None:
            self.lookup = CheckedKernel(TrainingKernel(X, codes, None).X)
        elif gram is not None:
            gram = check_kernel_values(gram, new=True)
            if not kernel.symmetric:
                gram = check_symmetric(gram, "The Gram matrix")
            self.lookup = CheckedKernel(gram, kernel)
        elif is_stateless(kernel):
            self.lookup = lookup_kernel(fit_training(X, y, codes, kernel)[1])

    @property
    def of_dissimilarities(self):
        """The kernel is that of dissimilarities."""
        return (self.kernel if self.lookup is None else self.lookup).is_dissimilarity

    @property
    def gram(self):
        """The kernel values of all objects, before any correction."""
        return None if self.lookup is None else self.lookup.K

    @property
    def matrix(self):
        """The kernel matrix of all objects, None where each fold has a kernel of its own.

        A correction depends on the training set, too.
        """
        return None if corrects(self.spectrum, self.positive_definite) else self.gram

    @property
    def positive_definite(self):
        """The kernel is known to be positive definite."""
        return self.lookup is not None and self.lookup.positive_definite

    @cached_property
    def definite_classes(self):
        """One matrix serves all folds, and that of each class is definite."""
        K = self.matrix
        if K is None or self.positive_definite or self.spectrum == "ignore":
            return K is not None
        rows = [np.flatnonzero(self.codes == j) for j in range(self.codes.max() + 1)]
        blocks = (K[np.ix_(members, members)] for members in rows)
        return all(is_psd(center_gram(B, centering(B), overwrite=True)) for B in blocks)

    @cached_property
    def by_class(self):
        """The objects sorted by class and fold, and their kernel values about each class mean."""
        fold_of = np.full(len(self.codes), len(self))
        for f in reversed(range(len(self))):
            fold_of[self.splits[f][1]] = f
        order = np.lexsort([fold_of, self.codes])
        K, slices = self.matrix[np.ix_(order, order)], class_slices(np.bincount(self.codes))
        objects = SortedFolds(K, np.diagonal(K), slices, order.argsort())
        return objects, [centre_on_class(K, objects.kxx, members) for members in slices]

    def distances(self, variant, regs, reg_on, *, volumes=False, common="required"):
        """FoldDistances of all folds and steps: the same distances as fits on each fold have.

        Those of a step serve every classifier that asks for it, as far as memory allows.
        """
        many = variant == "RC+" and len(self) > FEW_FOLDS
        krige = many and holds_once(self.splits) and self.definite_classes

        def compute(regs):
            if krige:
                return _kriging_folds(self, regs, reg_on, volumes)
            return Folds.distances(self, variant, regs, reg_on, volumes=volumes, common=common)

        n_doubles = len(regs) * len(self.codes) * (self.codes.max() + 1)
        if len(row_chunks(len(self), n_doubles)) > 1:
            return compute(regs)
        key = variant, reg_on, volumes, None if krige else common
        steps = self._distances.setdefault(key, {})
        missing = [reg for reg in regs if reg not in steps]
        for part in compute(missing) if missing else ():
            for r, reg in enumerate(missing[part.steps]):
                steps.setdefault(reg, {})[part.fold] = part.at(slice(r, r + 1))
        return (
            FoldDistances.joined([steps[reg][f] for reg in regs], slice(0, len(regs)))
            for f in range(len(self))
        )

    def classes_of(self, f):
        """Positions of the classes that a fold has, and the classes of its objects among them."""
        return np.unique(self.codes[self.splits[f][0]], return_inverse=True)

    def __getitem__(self, f):
        if f in self._folds:
            return self._folds[f]
        fold = self._fold(f)
        if len(row_chunks(len(self), len(self.codes) ** 2)) == 1:  # decompositions are kept, too
            self._folds[f] = fold
        return fold

    def _fold(self, f):
        train, test = self.splits[f]
        present, codes = self.classes_of(f)
        if self.lookup is not None:
            training = TrainingKernel(train, codes, self.lookup)
            training = with_policy(training, self.spectrum)
            queries = test
        else:
            X = take(self.X, train)
            _, training = fit_training(X, self.y[train], codes, self.kernel, self.spectrum)
            queries = take(self.X, test)
        return Fold(training, present, queries)


# --- the training sets of a cross-validation ------------------------------------------------------


class FoldDistances(NamedTuple):
    """Distances of one fold for some steps of a path, the steps on the last axis.

    present: positions of the classes that the training set has; codes (n,) of its objects and
    counts (c,), as `Labels` has them; train (n, c, r) of its objects in their order, test (m, c, r)
    of the held-out ones; alphas (r, c); rounding (r,) of the distances; log_volumes (c, r) where
    asked for.
    """

    fold: int
    steps: slice
    present: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    train: np.ndarray
    test: np.ndarray
    alphas: np.ndarray
    rounding: np.ndarray
    log_volumes: np.ndarray | None

    def at(self, steps):
        """Those of some of its steps."""
        volumes = None if self.log_volumes is None else self.log_volumes[:, steps]
        return self._replace(
            steps=steps,
            train=self.train[..., steps],
            test=self.test[..., steps],
            alphas=self.alphas[steps],
            rounding=self.rounding[steps],
            log_volumes=volumes,
        )

    @classmethod
    def joined(cls, parts, steps):
        """Those of one fold from those of single steps, which become `steps`."""
        first = parts[0]
        if len(parts) == 1:
            return first._replace(steps=steps)

        def path(name, axis):
            return np.concatenate([getattr(part, name) for part in parts], axis=axis)

        return first._replace(
            steps=steps,
            train=path("train", -1),
            test=path("test", -1),
            alphas=path("alphas", 0),
            rounding=path("rounding", 0),
            log_volumes=None if first.log_volumes is None else path("log_volumes", -1),
        )


def resolve_alphas(regs, reg_on, variant, training):
    """α of each step and class, (r, c), from a path of `reg`: numbers, or one for each class."""
    counts = training.counts
    path = np.array([check_reg(reg, len(counts)) for reg in regs])
    return alphas_of(path, reg_on, variant, counts, training.mean_spread)


def fitted_fold(folds, f, variant, regs, reg_on, volumes, common="required"):
    """FoldDistances of a fold that is fitted for itself."""
    fold = folds[f]
    alphas = resolve_alphas(regs, reg_on, variant, fold.training)
    model = fold.training.distances(variant, alphas, spectral=volumes)
    if volumes:
        refuse_map(variant, alphas, fold.training.counts, model.nonnegative)
    return FoldDistances(
        f,
        slice(0, len(regs)),
        fold.present,
        fold.training.codes,
        fold.training.counts,
        model.training_sq_distances(common=common),
        model.sq_distances(fold.queries, common=common),
        alphas,
        model.rounding(),
        model.log_volumes() if volumes else None,
    )


def holds_once(splits):
    """True where no training part holds an object twice, as a bootstrap sample does.

    Such an object cannot be left out once.
    """
    return all(np.bincount(train).max(initial=0) <= 1 for train, _ in splits)


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
        in_training = np.zeros(len(self.K), dtype=bool)
        in_training[self.place[train]] = True
        return [np.flatnonzero(~in_training[members]) for members in self.slices]


def _kriging_folds(folds, regs, reg_on, volumes):
    """RC+ with a definite kernel: folds are block updates of one inverse per class and α."""
    objects, centred = folds.by_class
    left_out = [objects.left_out(train) for train, _ in folds.splits]
    sizes = np.bincount(folds.codes) - [[len(out) for out in classes] for classes in left_out]
    alphas = np.stack([_fold_alphas(folds, f, regs, reg_on, sizes[f]) for f in range(len(folds))])
    if volumes:
        for f in range(len(folds)):
            refuse_map("RC+", alphas[f][:, sizes[f] > 0], sizes[f][sizes[f] > 0], lambda: True)
    rounding = np.max(
        [
            rc_rounding(objects.kxx, centering(objects.K[members, members]), sizes[:, j, None], a)
            for j, (members, a) in enumerate(zip(objects.slices, np.moveaxis(alphas, -1, 0)))
        ],
        axis=0,
    )
    # Some folds and steps at once, as memory allows.
    width = len(objects.K) * len(objects.slices)
    for part in row_chunks(len(folds), width):
        which = range(part.start, part.stop)
        for steps in row_chunks(len(regs), len(which) * width):
            d2, logs, lost = _updated(objects, centred, left_out, sizes, alphas, which, steps)
            for i, f in enumerate(which):
                train, test = folds.splits[f]
                present = sizes[f] > 0
                if i in lost:  # α below the rounding of K: decompose
                    refitted = fitted_fold(folds, f, "RC+", regs[steps], reg_on, volumes)
                    yield refitted._replace(steps=steps)
                    continue
                by_object = np.moveaxis(d2[i][:, objects.place][:, :, present], 0, -1)
                yield FoldDistances(
                    f,
                    steps,
                    *folds.classes_of(f),
                    sizes[f][present],
                    check_finite_distances(by_object[train]),
                    check_finite_distances(by_object[test]),
                    alphas[f, steps][:, present],
                    rounding[f, steps],
                    logs[i][:, present].T if volumes else None,
                )


def _fold_alphas(folds, f, regs, reg_on, sizes):
    """α (r, c) of a fold's steps and classes; 1 for a class that it has lost."""
    present = sizes > 0
    path = np.array(regs)[:, None] * np.ones(present.sum())
    alphas = np.ones((len(regs), len(sizes)))
    alphas[:, present] = alphas_of(
        path, reg_on, "RC+", sizes[present], lambda: folds[f].training.mean_spread()
    )
    return alphas


def _updated(objects, centred, left_out, sizes, alphas, which, steps):
    """Distances (f, r, N, c) and log-volumes (f, r, c) of the folds `which`; those that are lost.

    A fold is lost where an α vanishes in the rounding of the kernel.
    """
    shape = (len(which), steps.stop - steps.start, len(objects.K), len(objects.slices))
    d2, logs, lost = np.full(shape, np.nan), np.full((*shape[:2], shape[3]), np.nan), set()
    for j, ((k, kxx), members) in enumerate(zip(centred, objects.slices, strict=True)):
        for r, step in enumerate(range(steps.start, steps.stop)):
            here = [(i, alphas[f, step, j]) for i, f in enumerate(which) if sizes[f, j]]
            for alpha in sorted({a for _, a in here}):
                model = kriging_class(k, kxx, members, alpha)
                for i in (i for i, a in here if a == alpha):
                    if model is None:
                        lost.add(i)
                        continue
                    f = which[i]
                    d2[i, r, :, j], logs[i, r, j] = model.without(
                        left_out[f][j], alpha / sizes[f, j]
                    )
    return d2, logs, lost


# --- in a landmark space --------------------------------------------------------------------------


class Cells(NamedTuple):
    """Rows that are in the same training sets of a cross-validation, whose moments are kept apart.

    number of cells; of_row: the cell of each row, or a function of their positions; of_fold[f]:
    the cells of fold f's training set. None where there would be too many, or a training set holds
    an object twice.
    """

    number: int
    of_row: Any
    of_fold: list | None


def fold_cells(source, splits):
    """The Cells of the splits of a Source."""
    n = len(splits)
    if source.folds is not None:
        return Cells(n, source.folds, [[g for g in range(n) if g != f] for f in range(n)])
    if not holds_once(splits):  # cells hold an object once
        return Cells(1, None, None)
    member = np.zeros((len(source.y), n), bool)
    for f, (train, _) in enumerate(splits):
        member[train, f] = True
    patterns, cell = np.unique(member, axis=0, return_inverse=True)
    if len(patterns) > 2 * n:
        return Cells(1, None, None)
    of_fold = [np.flatnonzero(patterns[:, f]).tolist() for f in range(n)]
    return Cells(len(patterns), cell.ravel(), of_fold)


class LandmarkFolds(Folds):
    """The training sets of a cross-validation by moments.

    training: that of all rows, the cells being its folds; None where every fold has a pass of its
    own. X: the rows; rows: these by their kernel rows, where the training set holds them all.
    Regularisation is measured in the landmarks' kernel matrix.

    Parameters
    ----------
    source : Source of the rows
    splits : pairs of positions (train, test)
    cells : Cells of these
    plan : LandmarkPlan with as many folds as there are cells
    spectrum : the policy about negative eigenvalues
    sample_rows : rows of a training set that offsets and discriminants on distances learn from;
        None for those of a plain fit
    """

    def __init__(self, source, splits, cells, plan, spectrum, sample_rows=None):
        self.splits, self.cells, self.plan, self.spectrum = splits, cells, plan, spectrum
        self.sample_rows = sample_rows
        self.X, self.y, self.training, self.rows = source.X, source.y, None, None
        in_memory = source.folds is None
        if cells.of_row is not None and in_memory:
            # Rows of no training set need no moments, but a pass does not ask.
            self.training = plan.collect_all(self.X, self.y, cells.of_row)
        if cells.of_row is not None and self.training is None:
            self.training = source.collect(plan, cells.of_row)
        if self.training is not None and in_memory:
            self.rows = self.training.keep_sample_values().all_rows()
        self.codes = np.searchsorted(self.classes, self.y)
        self.gram, self.of_dissimilarities = plan.gram, plan.of_dissimilarities

    @property
    def classes(self):
        """Sorted labels of all classes."""
        return self.plan.classes

    def __getitem__(self, f):
        train, test = self.splits[f]
        if self.training is None:
            training = collect(self.plan, take(self.X, train), self.y[train])
        else:
            training = self.training.of_folds(self.cells.of_fold[f])
        training.spectrum = self.spectrum
        present, training = training.seen()
        if self.sample_rows is not None:
            training = training.with_sample(self.sample_rows)
        queries = take(self.X, test) if self.rows is None else self.rows.select(test)
        return Fold(training, present, queries)
