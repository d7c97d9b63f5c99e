"""A training set by its moments in a landmark space, and a sample of its rows.

Training data are a `Source`. A first look at them is a `Summary`, from which follow the kernel, the
landmarks and how many of them: a `LandmarkPlan`. One more pass over the rows, in any batches,
leaves moments of kernel rows against the landmarks, by class (and fold): a `LandmarkTraining`.
Those made from the same plan merge in any order. What methods need (`distances`, `fisher`,
`embedding`) is that of `exact.ExactTraining`; what moments do not tell, offsets by errors and how
many landmarks are enough, the sample does.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._memory import row_chunks
from .._sparse import column_moments, is_sparse
from .._validation import (
    available_memory,
    check_choice,
    check_class_list,
    check_count,
    check_finite_distances,
    check_memory,
    check_squarable,
    check_square,
    check_symmetric,
    distinct_labels,
    is_negated_dissimilarity,
    is_whole,
    known_codes,
    refuse_mixed_labels,
    take,
    warn_dissimilarity_as_kernel,
)
from ..formulas.feature_space import (
    classwise_form,
    fisher_discriminants,
    fit_feature_embedding,
    full_kernel_forms,
    group_moments,
    landmark_features,
    mean_spread,
)
from ..formulas.linalg import eigh
from ..formulas.moments import Moments, add_blocks, add_rows, merge, merged, no_moments
from ..formulas.quadratic_form import evaluators
from ..formulas.spectrum import CORRECTIONS
from ..kernels.landmarks import (
    LANDMARK_SPECTRA,
    LandmarkKernel,
    choose_landmarks,
    is_auto,
    landmark_columns,
    refuse_landmarks,
    refuse_negative,
    refuse_to_choose,
    to_choose,
)
from ..kernels.precomputed import CheckedKernel
from ..kernels.protocol import (
    check_magnitude,
    fit_kernel,
    is_named,
    kernel_settings,
    takes_vectors,
    two_rows,
)
from .exact import SELF_UNKNOWN, check_self_similarity

# Rows of a sample.
SAMPLE_ROWS = 20_000
# However rare a class, this many of its rows are kept, if it has them.
_LEAST_OF_CLASS = 200
# Rows of which landmarks are chosen, and which kernels that learn something are fitted to.
SCAN_ROWS = 20_000
# Kernels of objects that learn compute all pairs.
LEARN_OBJECTS = 2000
# "auto" looks for the number of landmarks below this one, by so many folds.
AUTO_LANDMARKS, AUTO_FOLDS = 2000, 3
# Rows of an array in memory that are passed on at a time.
BATCH_ROWS = 65_536


def changed(thing, **attributes):
    """A copy of an object with other attributes."""
    out = object.__new__(type(thing))
    out.__dict__ = {**vars(thing), **attributes}
    return out


@dataclass
class RowSample:
    """The rows with the smallest pseudo-random numbers.

    Every row has a pseudo-random number, a function of its position and the seed. The rows with the
    smallest `size` numbers are kept, and of every class at least the smallest few. Within a class
    that is a uniform sample without replacement. Rows stand in the order of their numbers, `keys`;
    values: their KernelRows, where these are known.
    """

    size: int
    seed: int = 0
    keys: np.ndarray = field(default_factory=partial(np.empty, 0, np.uint64))
    codes: np.ndarray = field(default_factory=partial(np.empty, 0, np.intp))
    folds: np.ndarray = field(default_factory=partial(np.empty, 0, np.intp))
    rows: Any = None
    values: Any = None

    def __len__(self):
        return len(self.keys)

    def __getstate__(self):
        return {**vars(self), "values": None}

    def add(self, X, codes, folds, start, *, limit=None):
        """Offer rows at the positions start, start + 1, …

        limit: the largest number of a row that the sample of all parts keeps, where that is known
        (`key_limit`). A part then keeps few rows, and what is merged is the same.
        """
        keys = random_keys(np.arange(start, start + len(X)), self.seed)
        folds = np.zeros(len(X), np.intp) if folds is None else folds
        if limit is None and len(self) >= self.size:
            limit = np.sort(self.keys)[self.size - 1]
        if limit is not None:  # most rows have no chance: do not copy them
            chance = np.flatnonzero(self._chance(keys, codes, limit))
            X, keys, codes, folds = take(X, chance), keys[chance], codes[chance], folds[chance]
        self._take_in(keys, codes, folds, X)

    def _chance(self, keys, codes, limit):
        """Which rows may be kept: up to the limit, and of each class the smallest few."""
        chance = keys <= limit
        for j in np.flatnonzero(np.bincount(codes)):
            members, sampled = codes == j, self.keys[self.codes == j]
            if len(sampled) >= _LEAST_OF_CLASS:
                members &= keys < np.partition(sampled, _LEAST_OF_CLASS - 1)[_LEAST_OF_CLASS - 1]
            members = np.flatnonzero(members)
            if len(members) > _LEAST_OF_CLASS:
                smallest = np.argpartition(keys[members], _LEAST_OF_CLASS - 1)
                members = members[smallest[:_LEAST_OF_CLASS]]
            chance[members] = True
        return chance

    def _take_in(self, keys, codes, folds, rows):
        keys = np.concatenate([self.keys, keys])
        codes, folds = np.concatenate([self.codes, codes]), np.concatenate([self.folds, folds])
        order = np.argsort(keys, kind="stable")
        index = order[leading(codes[order], self.size)]
        self.rows = _join(self.rows, rows, index)
        self.keys, self.codes, self.folds = keys[index], codes[index], folds[index]
        self.values = None

    def merge(self, other):
        """The sample of both."""
        both = replace(self)
        both._take_in(other.keys, other.codes, other.folds, other.rows)
        return both

    def places(self, n):
        """Where each of n rows at the positions 0, 1, … stands, if the sample holds them all."""
        return np.searchsorted(self.keys, random_keys(np.arange(n), self.seed))

    def select(self, index):
        """Some of the rows, by their positions or a mask."""
        index = np.arange(len(self))[index]
        return replace(
            self,
            keys=self.keys[index],
            codes=self.codes[index],
            folds=self.folds[index],
            rows=take(self.rows, index),
            values=None if self.values is None else self.values.select(index),
        )

    @property
    def queries(self):
        """The rows as queries: by their kernel rows, where these are known."""
        return self.rows if self.values is None else self.values


def leading(codes, size):
    """Mask of the first rows of a sample, and of the first few of each class."""
    first = np.arange(len(codes)) < size
    for j in np.unique(codes):
        first[np.flatnonzero(codes == j)[:_LEAST_OF_CLASS]] = True
    return first


def in_proportion(codes, counts):
    """Positions of as many rows of a sample as give classes of these sizes their shares.

    codes: the class of each row, in an order that does not depend on it.
    """
    sizes = np.bincount(codes, minlength=len(counts))
    most = np.maximum(np.round((sizes / counts).min() * counts).astype(int), 1)
    place = np.zeros(len(codes), int)
    for j, size in enumerate(sizes):
        place[codes == j] = np.arange(size)
    return np.flatnonzero(place < most[codes])


def random_keys(positions, seed):
    """Pseudo-random 64-bit numbers of positions (splitmix64)."""
    with np.errstate(over="ignore"):
        z = positions.astype(np.uint64) + np.uint64(seed * 0x2545F4914F6CDD1D % 2**64)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def key_limit(n, size, seed=0):
    """The largest of the `size` smallest numbers that n rows have; None if all are kept."""
    if n <= size:
        return None
    smallest = np.empty(0, np.uint64)
    for start in range(0, n, 2**20):
        keys = random_keys(np.arange(start, min(start + 2**20, n)), seed)
        if len(smallest) == size:
            keys = keys[keys < smallest[-1]]
        smallest = np.sort(np.concatenate([smallest, keys]))[:size]
    return smallest[-1]


def _join(a, b, index):
    """Rows at positions of a and b together, whatever holds them."""
    n = 0 if a is None else len(a)
    if n == 0:
        return take(b, index)
    if is_sparse(a):
        return a.joined(b, index)
    if hasattr(a, "iloc"):
        import pandas as pd

        return pd.concat([a, b]).iloc[index]
    if hasattr(a, "shape") and hasattr(b, "shape"):
        out = np.empty((len(index), *a.shape[1:]), np.result_type(a, b))
        first = index < n
        out[first], out[~first] = a[index[first]], b[index[~first] - n]
        return out
    return [a[i] if i < n else b[i - n] for i in index]


def random_folds(n_folds, positions):
    """Folds of rows, pseudo-random functions of their positions."""
    return (random_keys(positions, 1) % np.uint64(n_folds)).astype(np.intp)


# Rows stay in the precision that they come in.
FLOATS = [np.float64, np.float32]
# Rows of queries at a time: kernel values and their projections stay in the processor's cache.
_PIECE = 512


class LandmarkPlan:
    """The moments to collect of kernel rows against landmarks, by class (and fold), and a sample.

    Parameters
    ----------
    kernel : fitted kernel, or None where objects are given by their kernel rows
    landmarks : the landmarks, or their own kernel rows (m, m) where kernel is None
    classes : (c,) sorted labels
    dtype : of the kernel rows; sums are in float64 either way
    n_folds : number of folds whose moments are kept apart
    sample_rows : number of rows to keep
    seed : which rows, an int
    rtol : where the spectrum of the landmarks' matrix is cut, None for the default
    columns : of precomputed kernel rows, those of the landmarks; None where all are
    """

    def __init__(
        self,
        kernel,
        landmarks,
        classes,
        *,
        dtype=np.float64,
        n_folds=1,
        sample_rows=SAMPLE_ROWS,
        seed=0,
        rtol=None,
        columns=None,
    ):
        self.rows = LandmarkKernel(kernel, landmarks, dtype)
        self.classes = np.asarray(classes)
        self.n_folds = check_count(n_folds, "n_folds")
        self.sample_rows = check_count(sample_rows, "sample_rows")
        self.seed = int(seed)
        self.rtol, self.columns = rtol, columns
        self._features = {}
        m, groups = len(self.rows), self.n_folds * len(self.classes)
        check_memory(
            (groups + 3) * m**2,
            f"The moments of {m} landmarks, {len(self.classes)} classes and {self.n_folds} folds",
            "Take fewer landmarks, or fewer folds.",
        )
        self.vectors = kernel is None or kernel.requires_vector_input
        self.gram = self.rows.gram()

    def first(self, m):
        """The plan with the first m landmarks only."""
        return self.changed(
            rows=self.rows.first(m),
            gram=self.gram[:m, :m].copy(),
            columns=None if self.columns is None else self.columns[:m],
            _features={},
        )

    changed = changed

    @property
    def of_dissimilarities(self):
        """The kernel is that of dissimilarities; of kernel rows the landmarks' values tell."""
        kernel = self.rows.kernel
        return is_negated_dissimilarity(self.gram) if kernel is None else kernel.is_dissimilarity

    def features(self, spectrum, centre=True):
        """The features of a policy about negative eigenvalues, computed once.

        centre: take a kernel without an origin relative to the mean of the landmarks.
        """
        spectrum = check_choice(spectrum, "spectrum", LANDMARK_SPECTRA)
        correction = spectrum if spectrum in CORRECTIONS else None
        if (correction, centre) not in self._features:
            options = {"rtol": self.rtol, "dtype": self.rows.dtype, "centre": centre}
            self._features[correction, centre] = landmark_features(
                self.gram, correction=correction, **options
            )
        features = self._features[correction, centre]
        if spectrum == "raise":
            refuse_negative(features)
        if not len(features.signs):
            raise ValueError(
                "The landmarks' kernel matrix is zero: all objects look alike. Check the kernel."
            )
        return features

    def __getstate__(self):
        return {**vars(self), "_features": {}}

    def holds_rows(self, n):
        """True where memory allows to keep the kernel rows of n objects."""
        return len(row_chunks(n, len(self.rows))) <= 1

    def collect_all(self, X, y, folds):
        """The training set of objects whose kernel rows are kept, and computed once.

        None where the sample or the memory does not hold them all.
        """
        n = len(X)
        if n > self.sample_rows or not self.holds_rows(n):
            return None
        values = KernelRows(self.rows.rows(X), self.rows.self_similarities(X), np.arange(n))
        training = self.statistics().add(X, y, folds, values=values)
        training.sample.values = values.select(np.argsort(training.sample.places(n)))
        return training

    def statistics(self):
        """An empty training set, to add rows to."""
        return LandmarkTraining(
            self,
            no_moments(self.n_folds * len(self.classes), len(self.rows), sq_norms=True),
            RowSample(self.sample_rows, self.seed),
            0,
        )


class KernelRows:
    """Objects by their kernel rows and self-similarities, which are known: queries like any others.

    rows (N, m), kxx (N,) or None; places: which of the N they are.
    """

    def __init__(self, rows, kxx, places):
        self.rows, self.kxx, self.places = rows, kxx, places

    def __len__(self):
        return len(self.places)

    def select(self, index):
        """Some of the objects."""
        return KernelRows(self.rows, self.kxx, self.places[index])


class LandmarkTraining:
    """Moments and a sample of the rows seen so far.

    Parameters
    ----------
    plan : LandmarkPlan
    moments : Moments of kernel rows, n_folds × c groups
    sample : RowSample
    n_rows : number of rows seen
    """

    spectrum = "krein"
    dtypes = FLOATS
    as_given = slice(None)  # landmarks stay in their order
    correction = None  # of a spectrum: features have it

    def __init__(self, plan, moments, sample, n_rows):
        self.plan = plan
        self.moments = moments
        self.sample = sample
        self.n_rows = n_rows

    _changed = changed

    @property
    def counts(self):
        """Number of rows of each class, (c,)."""
        return self.moments.count.reshape(self.plan.n_folds, -1).sum(axis=0)

    @property
    def codes(self):
        """Class of each row of the sample."""
        return self.sample.codes

    # --- collecting -------------------------------------------------------------------------------

    def add(self, X, y, folds=None, start=None, *, limit=None, values=None):
        """Add labelled objects; folds (b,) their folds, start the position of the first one.

        Positions decide which rows the sample keeps; None counts on from the rows seen so far.
        limit: as in `RowSample.add`; values: the KernelRows of X, where they are known.
        """
        plan = self.plan
        X, y = check_rows(X, plan.vectors), np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(
                f"y must hold a label for each of the {len(X)} objects of a batch; got shape "
                f"{y.shape}."
            )
        if not len(X):
            return self
        codes = known_codes(y, plan.classes)
        groups = codes
        if plan.n_folds > 1:
            folds = check_folds(folds, len(X), plan.n_folds)
            groups = folds * len(plan.classes) + codes
        self._add_moments(X, groups, values)
        start = self.n_rows if start is None else start
        self.sample.add(X, codes, folds, start, limit=limit)
        self.n_rows += len(X)
        return self

    def _add_moments(self, X, groups, values):
        # Kernel rows of objects are near those of the landmarks: little is lost about their mean.
        kernel = self.plan.rows
        origin = self.plan.gram.mean(axis=0).astype(kernel.dtype)

        def read(index, out):
            if values is not None:
                np.subtract(values.rows[index], origin, out=out)
                return None if values.kxx is None else values.kxx[index]
            part = take(X, index)
            kernel.rows(part, out=out, origin=origin)
            return kernel.self_similarities(part)

        add_blocks(self.moments, read, kernel.dtype, groups, origin=origin.astype(float))
        if not np.isfinite(self.moments.mean).all():
            raise ValueError(
                "The kernel gave NaN or infinite values; check its inputs and scaling."
            )

    def merge(self, other):
        """The training set of both parts."""
        if (
            self.plan.n_folds != other.plan.n_folds
            or self.plan.rows.dtype != other.plan.rows.dtype
            or not np.array_equal(self.plan.classes, other.plan.classes)
            or not np.array_equal(self.plan.gram, other.plan.gram)
        ):
            raise ValueError(
                "Training sets merge only if they have the same landmarks, kernel and classes; "
                "these differ. Make all parts from one plan."
            )
        return self._changed(
            moments=merge(self.moments, other.moments),
            sample=self.sample.merge(other.sample),
            n_rows=self.n_rows + other.n_rows,
        )

    # --- parts ------------------------------------------------------------------------------------

    def first(self, m):
        """The training set as if only the first m landmarks were there."""
        if m == len(self.plan.rows):
            return self
        rows = self.sample.rows
        return self._changed(
            plan=self.plan.first(m),
            moments=self.moments.leading(m),
            sample=replace(
                self.sample, rows=rows[:, :m] if self.kernel is None else rows, values=None
            ),
        )

    def of_folds(self, folds):
        """The training set of some of the folds together."""
        folds, sample = list(folds), self.sample
        if len(folds) < self.plan.n_folds:
            sample = sample.select(np.isin(sample.folds, folds))
        n_classes = len(self.plan.classes)
        unions = [[f * n_classes + j for f in folds] for j in range(n_classes)]
        moments = merged(self.moments, unions)
        return self._changed(
            plan=self.plan.changed(n_folds=1),
            moments=moments,
            sample=sample,
            n_rows=int(moments.count.sum()),
        )

    def without_fold(self, fold):
        """The training set of all folds but one."""
        return self.of_folds(f for f in range(self.plan.n_folds) if f != fold)

    def all_folds(self):
        """The training set of all folds together."""
        return self if self.plan.n_folds == 1 else self.of_folds(range(self.plan.n_folds))

    def seen(self):
        """Positions of the classes that have rows, and the training set of these classes."""
        present = np.flatnonzero(self.counts)
        if len(present) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; the rows so far are of the "
                f"classes {self.plan.classes[present].tolist()!r}."
            )
        if len(present) == len(self.plan.classes):
            return present, self
        return present, self._changed(
            plan=self.plan.changed(classes=self.plan.classes[present]),
            moments=self.moments.groups(present),
            sample=replace(self.sample, codes=np.searchsorted(present, self.sample.codes)),
        )

    def with_sample(self, size):
        """The training set with a smaller sample: its first rows, and the first few of a class."""
        sample = self.sample
        if len(sample) <= size:
            return self
        return self._changed(sample=sample.select(leading(sample.codes, size)))

    def keep_sample_values(self):
        """Compute the kernel rows of the sample once for all parts, where memory allows that."""
        if self.sample.values is None and self.plan.holds_rows(len(self.sample)):
            self.sample = replace(self.sample, values=self._sample_values())
        return self

    def _sample_values(self):
        rows, kernel = self.sample.rows, self.plan.rows
        places = np.arange(len(self.sample))
        return KernelRows(kernel.rows(rows), kernel.self_similarities(rows), places)

    def as_rows(self):
        """The same for objects that are given by their kernel rows from now on."""
        values = self._sample_values()
        kernel = LandmarkKernel(None, self.plan.gram, self.plan.rows.dtype)
        return self._changed(
            plan=self.plan.changed(rows=kernel, vectors=True),
            sample=replace(self.sample, rows=values.rows, values=values),
        )

    def of_objects(self, kernel, objects, landmarks):
        """The same for the objects themselves, where those so far are their positions.

        kernel: on the objects; landmarks: objects.
        """
        rows = LandmarkKernel(kernel, landmarks, self.plan.rows.dtype)
        sample = self.keep_sample_values().sample
        return self._changed(
            plan=self.plan.changed(rows=rows, vectors=kernel.requires_vector_input),
            sample=replace(sample, rows=take(objects, sample.rows)),
        )

    # --- queries ----------------------------------------------------------------------------------

    def query(self, X):
        """Checked queries as kernel rows need them; of a matrix the landmarks' columns."""
        if self.plan.columns is None:
            return X
        check_magnitude(X)
        return X[:, self.plan.columns]

    def shared_query(self, X, shared):
        """The same of checked queries; shared: these as SharedRows, for measures of objects."""
        kernel = self.kernel
        if kernel is None or kernel.requires_vector_input or kernel.pair_key is None:
            return self.query(X)
        rows = shared.cross(kernel, self.plan.rows.landmarks, slice(None), read=True)
        return KernelRows(rows, shared.diagonal(kernel), np.arange(len(X)))

    def pieces(self, queries):
        """Kernel rows (q, m) of queries, a few at a time, only to be read before the next."""
        return (k for _, k in row_pieces(self.plan.rows, queries))

    def self_similarities(self, X, values=None):
        """k(x, x) of queries, None where only the user can tell them and has passed no `values`."""
        return self_similarities(self.plan.rows, X, values, optional=True)

    @property
    def original(self):
        """The training set before any correction."""
        return self

    @property
    def columns(self):
        """Of precomputed rows, those of the landmarks; None where all are."""
        return self.plan.columns

    def reference_rows(self):
        """The landmarks: the objects of the rows of kernel values."""
        return self.plan.rows.landmarks

    def reference_order(self):
        """Positions of the landmarks."""
        return np.arange(len(self.plan.rows))

    def reference_self_similarities(self):
        """k(x, x) of the landmarks."""
        return np.diagonal(self.plan.gram)

    def residual(self, X, self_similarity=None):
        """The part of each object that the landmarks do not represent, k(x, x) − φᵀJφ, (n,)."""
        features = self.plan.features(self.spectrum)
        kxx = self_similarities(self.plan.rows, X, self_similarity)
        pieces = row_pieces(self.plan.rows, X)
        parts = [features.residual(kxx[rows], k) for rows, k in pieces]
        return np.concatenate(parts).astype(float)

    # --- methods ----------------------------------------------------------------------------------

    @property
    def kernel(self):
        """The fitted kernel, None where objects are given by their kernel rows."""
        return self.plan.rows.kernel

    @property
    def of_dissimilarities(self):
        """The kernel is that of dissimilarities."""
        return self.plan.of_dissimilarities

    def kernel_eigenvalues(self):
        """Eigenvalues of the landmarks' kernel matrix."""
        return eigh(self.plan.gram, vectors=False).values

    def release(self):
        """Forget what only a fit needs."""
        self.sample = replace(self.sample, values=None)

    def groups(self):
        """Mean and scatter of each class, about its own mean."""
        empty = np.flatnonzero(self.moments.count == 0)
        if len(empty):
            raise ValueError(
                f"No object of the classes {self.plan.classes[empty].tolist()!r} has been seen "
                "(outside the fold left out); every class needs one."
            )
        return group_moments(self.moments)

    def total_weight(self):
        """Number of rows."""
        return float(self.counts.sum())

    def mean_spread(self):
        """Mean spread of the objects around their class means."""
        spread = mean_spread(self.groups(), self.plan.features(self.spectrum))
        if np.isfinite(spread):
            return spread
        raise ValueError(
            "reg_on='relative' needs k(x, x), which precomputed kernel rows do not contain; use a "
            "kernel object or another reg_on."
        )

    def distances(self, variant, alphas, *, spectral=False):
        """The class models of a variant: alphas (c,), or (r, c) for a path."""
        features, groups = self.plan.features(self.spectrum), self.groups()
        path = np.atleast_2d(np.asarray(alphas, float))
        if variant.startswith("FK"):
            forms = full_kernel_forms(features, groups, variant, path)
        else:
            krein = self.spectrum != "ignore"
            forms = [
                classwise_form(features, g, variant, alpha, krein=krein)
                for g, alpha in zip(groups, path.T, strict=True)
            ]
        return LandmarkDistances(self, features, forms, single=np.ndim(alphas) == 1)

    def fisher(self, betas):
        """Kernel Fisher discriminants: LinearScores and their rounding for each β."""
        features = self.plan.features(self.spectrum, centre=False)
        return fisher_discriminants(features, self.groups(), betas), np.zeros(len(betas))

    def embedding(self, n_components):
        """Kernel PCA, and the density of each class in its coordinates."""
        return fit_feature_embedding(
            self.plan.features(self.spectrum),
            self.groups(),
            n_components,
            positive_only=self.spectrum == "ignore",
        )

    def all_rows(self):
        """All objects in their order, where the sample holds them and its kernel rows are known."""
        if self.sample.values is None or len(self.sample) < self.n_rows:
            return None
        return self.sample.values.select(self.sample.places(self.n_rows))


class LandmarkDistances:
    """Squared distances to the classes in a landmark space: one QuadraticForm for each.

    With landmarks they are approximations. That to an object's own class is biased upwards: what
    the landmarks leave over of the object counts as if no class explained it.
    """

    def __init__(self, training, features, forms, single):
        self.training = training
        self.rows = training.plan.rows
        self.features = features
        self.forms = forms
        self.single = single
        self._evaluators = None

    def __getstate__(self):
        return {**vars(self), "training": None, "_evaluators": None}

    @property
    def self_cancels(self):
        """k(x, x) has one weight for all classes, and so no part in a decision."""
        s = np.column_stack([form.self_weights for form in self.forms])
        return bool((np.ptp(s, axis=1) <= 1e-12 * np.abs(s).max(axis=1)).all())

    @property
    def needs_self(self):
        """Distances depend on k(x, x)."""
        return any(form.self_weights.any() for form in self.forms)

    def class_forms(self):
        """QuadraticForms of the classes, and the kernel values that each takes: None for all."""
        return self.forms, None

    def unseen(self, kxx, k):
        """The part of k(x, x) that the forms take, from it and the kernel rows k (q, m)."""
        if self.forms[0].linear is None:  # definite
            return self.features.residual(kxx, k)
        return self.features.self_similarities(kxx, k)

    def sq_distances(self, X, self_similarity=None, *, common="required"):
        """d² of queries to each class, (n, c), or (n, c, r) for a path; see `DistanceModel`.

        To omit the part of k(x, x) that is common to all classes saves half of the work.
        """
        kxx = None
        if self.needs_self and not (common == "omitted" and self.self_cancels):
            optional = common == "known" and self.self_cancels
            kxx = self_similarities(self.rows, X, self_similarity, optional=optional)
        return self._evaluate(X, kxx)

    def training_sq_distances(self, *, common="required"):
        """d² of the sample's rows to each class."""
        return self.sq_distances(self.training.sample.queries, common=common)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def _evaluate(self, X, kxx):
        """d² with k(x, x) = kxx, or, for None, without the part that all classes share."""
        if self._evaluators is None:
            self._evaluators = evaluators(self.forms, self.rows.dtype)
        groups = self._evaluators
        out = np.full((self.forms[0].weights.shape[1], len(X), len(self.forms)), np.nan)
        doubles, workspace = max(group.doubles for group in groups), None
        for rows, k in row_pieces(self.rows, X, doubles):
            if workspace is None:
                workspace = np.empty(len(k) * doubles, k.dtype)
            left = None if kxx is None else self.unseen(kxx[rows], k)
            values = (d2 for group in groups for d2 in group.sq_distances(k, left, workspace))
            for j, d2 in enumerate(values):
                out[:, rows, j] = d2
        check_finite_distances(out)
        return out[0] if self.single else np.moveaxis(out, 0, -1)

    def rounding(self):
        """Size of the rounding errors in the distances, where that is not relative to them."""
        return 0.0 if self.single else np.zeros(self.forms[0].weights.shape[1])

    def log_volumes(self):
        """Log-volumes of the classes, (c,) or (c, r)."""
        volumes = np.array([form.log_volumes for form in self.forms])
        return volumes[:, 0] if self.single else volumes

    def nonnegative(self):
        """True where no eigenvalue of a class is negative."""
        return bool(np.isfinite(self.log_volumes()).all())


def self_similarities(kernel, X, values=None, *, optional=False):
    """k(x, x) of queries, (n,): as a user passes `values`, or by the kernel.

    Where neither tells it is None, if that is an option, or refused.
    """
    if values is not None:
        return check_self_similarity(values, len(X))
    if isinstance(X, KernelRows):
        kxx = None if X.kxx is None else X.kxx[X.places]
    else:
        kxx = kernel.self_similarities(X)
    if kxx is None and not optional:
        raise ValueError(SELF_UNKNOWN)
    return kxx


def row_pieces(kernel, X, doubles=0):
    """(rows, kernel rows) of objects; the array is used again for the next piece.

    doubles: of workspace that a row needs beside them.
    """
    buffer, doubles = None, doubles + 2 * len(kernel)
    for rows in row_chunks(len(X), doubles, _PIECE * doubles):
        if isinstance(X, KernelRows):
            yield rows, X.rows[X.places[rows]]
            continue
        part = take(X, rows)
        if buffer is None:
            buffer = np.empty((len(part), len(kernel)), kernel.dtype)
        yield rows, kernel.rows(part, out=buffer[: len(part)])


def check_rows(X, vectors=True, name="X"):
    """A batch of objects; where the kernel takes vectors, a finite table of numbers."""
    if not vectors:
        return X
    if is_sparse(X):  # checked where it was made
        return X
    X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(
            f"{name} must be a two-dimensional table of numbers; got {X.dtype} of shape {X.shape}."
        )
    # The sum is not finite if a value is not; it may overflow, too.
    if not np.isfinite(X.sum(dtype=float)) and not np.isfinite(X).all():
        raise ValueError(
            f"{name} contains NaN or infinite values; impute or drop those rows first."
        )
    return X


def check_folds(folds, n, n_folds):
    """The fold of each object, from 0."""
    values = np.asarray(folds) if folds is not None else None
    if values is None or values.shape != (n,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"folds must hold a whole number from 0 to {n_folds - 1} for each of the {n} objects."
        )
    if n and not 0 <= values.min() <= values.max() < n_folds:
        raise ValueError(
            f"folds must be from 0 to {n_folds - 1}; got {values.min()} to {values.max()}."
        )
    return values.astype(np.intp)


# --- the data: what is known of them before landmarks are chosen ----------------------------------


class Summary:
    """A first look at labelled rows: how many, which classes, the columns' moments, a sample.

    The sample is uniform over all rows, whatever their labels: landmarks are chosen from it.
    Summaries of parts merge.

    Parameters
    ----------
    sample_rows : number of rows to keep; None where no sample is needed
    seed : which rows, an int
    """

    def __init__(self, sample_rows=SCAN_ROWS, seed=0):
        self.n_rows = 0
        self.counts = Counter()
        self.moments, self.sparse = None, False
        self.sample = None if sample_rows is None else RowSample(sample_rows, seed)
        self.dtype = None

    @property
    def n_features(self):
        """Number of columns, None where objects are no rows of numbers."""
        return None if self.moments is None else self.moments.mean.shape[1]

    @property
    def classes(self):
        """Sorted labels; at least two."""
        refuse_mixed_labels(self.counts)
        return check_class_list(np.array(list(self.counts)))

    def two_rows(self):
        """Two rows with the mean and the variance of every column."""
        mean, variance = self.moments.mean[0], self.moments.lower[0] / self.n_rows
        check_squarable(np.max(np.abs(mean) + np.sqrt(variance)), "X")
        return two_rows(mean, variance, sparse=self.sparse)

    def add(self, X, y, start=None, *, vectors=True, limit=None):
        """Add labelled rows; start: position of the first one; limit: as in `RowSample.add`."""
        X = check_rows(X, vectors)
        if not len(X):
            return self
        labels, counts = distinct_labels(np.asarray(y))
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        start = self.n_rows if start is None else start
        if vectors:
            self.dtype = np.result_type(*filter(None, (self.dtype, X.dtype)))
            if self.moments is None:
                self.moments = no_moments(1, X.shape[1], diagonal=True)
            if is_sparse(X):
                self.sparse, (mean, variance) = True, column_moments(X)
                batch = Moments(np.array([len(X)]), mean[None], len(X) * variance[None])
                self.moments = merge(self.moments, batch)
            else:
                add_rows(self.moments, X, np.zeros(len(X), np.intp))
        self.n_rows += len(X)
        if self.sample is not None:
            self.sample.add(X, np.zeros(len(X), np.intp), None, start, limit=limit)
        return self

    def merge(self, other):
        """The summary of both parts."""
        if self.n_rows == 0 or other.n_rows == 0:  # a part may be empty
            return self if self.n_rows else other
        vectors = self.moments is not None
        return changed(
            self,
            n_rows=self.n_rows + other.n_rows,
            counts=self.counts + other.counts,
            moments=merge(self.moments, other.moments) if vectors else None,
            sample=None if self.sample is None else self.sample.merge(other.sample),
            dtype=np.result_type(self.dtype, other.dtype) if vectors else None,
            sparse=self.sparse or other.sparse,
        )


def learn_kernel(summary, estimator):
    """The kernel of an estimator, fitted to data by their summary.

    What kernels by name learn from data (gamma="scale", standardize) is that of all rows; kernels
    with a ``fit`` of their own learn from the summary's sample.
    """
    kernel = estimator.kernel
    if is_named(kernel):
        rows = summary.two_rows()
    elif takes_vectors(kernel):
        rows = np.asarray(summary.sample.rows, dtype=float)
    else:
        rows = take(summary.sample.rows, slice(0, LEARN_OBJECTS))
    return fit_kernel(kernel, rows, **kernel_settings(estimator, rows))


def make_plan(
    summary,
    kernel,
    landmarks=500,
    *,
    method="auto",
    random_state=None,
    classes=None,
    n_folds=1,
    dtype=None,
    **options,
):
    """The plan for summarised data and a fitted kernel: the landmarks are chosen.

    kernel: None where objects are given by their kernel rows. landmarks: a number, "auto" (as many
    as memory allows, up to 2000), or the landmarks themselves. dtype None is float32 for float32
    data and float64 otherwise.
    """
    classes = summary.classes if classes is None else classes
    if is_auto(landmarks):
        check_choice(landmarks, "landmarks", ("auto",))
        landmarks = most_landmarks(summary.n_rows, len(classes), n_folds)
    if is_whole(landmarks):
        sample = summary.sample.rows
        landmarks = choose_landmarks(kernel, sample, landmarks, method, random_state)
    elif kernel is not None:
        landmarks = check_landmarks(landmarks, summary.n_features, kernel)
    if dtype is None:
        dtype = np.float32 if summary.dtype == np.float32 else np.float64
    return LandmarkPlan(kernel, landmarks, classes, n_folds=n_folds, dtype=dtype, **options)


def check_landmarks(landmarks, n_features, kernel):
    """Landmarks that were given, of the kind of the rows."""
    if not hasattr(landmarks, "__len__") or isinstance(landmarks, dict) or not len(landmarks):
        refuse_landmarks(landmarks)
    if not kernel.requires_vector_input:
        return landmarks
    values = landmarks if is_sparse(landmarks) else np.asarray(landmarks)
    if values.ndim == 1 and values.dtype.kind in "iu":
        raise ValueError(
            f"landmarks={landmarks!r} look like positions, which only kernel='precomputed' takes; "
            "pass the rows themselves, X[landmarks]."
        )
    landmarks = check_rows(landmarks, name="landmarks")
    if landmarks.shape[1] != n_features:
        raise ValueError(
            f"The landmarks have {landmarks.shape[1]} features, the data {n_features}."
        )
    return landmarks


def most_landmarks(n_rows, n_classes, n_folds):
    """How many landmarks the data can use and a quarter of the free memory can hold.

    Beyond an eighth of the rows the exact method would not cost much more.
    """
    m, available = min(AUTO_LANDMARKS, max(n_rows // 8, 100)), available_memory()
    if available is not None:
        m = min(m, int(np.sqrt(available / 4 / 8 / (n_folds * n_classes + 3))))
    return max(m, 1)


def enough_landmarks(training, scores, *, smallest=32):
    """The fewest landmarks, on the path …, m/4, m/2, m, within one standard error of the best.

    scores(training, rows) gives the classes that a training set has, and scores (n, c) of rows. The
    errors are out-of-fold ones of the sample; the training set must have folds. The path is left
    early where two doublings in a row gain less than a standard error. Returns m' and the table of
    (m', mean error, standard error).
    """
    plan = training.plan
    if plan.n_folds < 2:
        raise ValueError("The number of landmarks is chosen by cross-validation: n_folds ≥ 2.")
    path = [len(plan.rows)]
    while path[-1] // 2 >= smallest:
        path.append(path[-1] // 2)
    table = []
    for m in path[::-1]:
        errors = _sample_errors(training.first(m), scores)
        table.append((m, errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))))
        if len(table) > 2:
            before = min(table[:-2], key=lambda row: row[1])
            if min(row[1] for row in table[-2:]) > before[1] - before[2]:
                break
    _, mean, error = min(table, key=lambda row: row[1])
    return min(row[0] for row in table if row[1] <= mean + error), table


def _sample_errors(training, scores):
    """Out-of-fold errors of the sample's rows, (n_folds,), classes in proportion."""
    n_folds, sample = training.plan.n_folds, training.sample
    sizes = np.bincount(sample.codes, minlength=len(training.plan.classes))
    weights = training.counts / np.maximum(sizes, 1)
    errors = np.full(n_folds, np.nan)
    for fold in range(n_folds):
        held = sample.select(sample.folds == fold)
        if not len(held):
            raise ValueError("A fold has no row in the sample; keep more rows.")
        present, values = scores(training.without_fold(fold), held.rows)
        wrong = present[values.argmax(axis=-1)] != held.codes
        errors[fold] = (wrong @ weights[held.codes]) / weights[held.codes].sum()
    return errors


# --- the data: how they are gone through ----------------------------------------------------------


class Source:
    """Training data, and a first look at them.

    scanned: its Summary. kernel: that of precomputed values, None where one is learned. landmarks:
    a number, "auto" or the landmarks; for precomputed values positions, or kernel rows. columns: of
    precomputed values, those of the landmarks, where they are known already. X, y: objects and
    labels in memory, where they are. chosen: landmarks that a search has chosen; seed: of its
    choices. folds, sample_folds: where X and y are only a sample, the folds of all rows as a
    function of their positions, and those of the sample.
    """

    scanned: Any = None
    kernel: Any = None
    landmarks: Any = None
    columns: np.ndarray | None = None
    X: Any = None
    y: Any = None
    chosen: Any = None
    seed: int | None = None
    folds: Any = None
    sample_folds: Any = None

    def collect(self, plan, folds=None):
        """The pass: a LandmarkTraining. folds: of each row, or a function of their positions."""
        raise NotImplementedError

    changed = changed

    def splits(self):
        """Pairs of positions (train, test) in a sample."""
        folds = range(self.sample_folds.max() + 1)
        return [
            tuple(map(np.flatnonzero, (self.sample_folds != f, self.sample_folds == f)))
            for f in folds
        ]


class LocalSource(Source):
    """Rows that this process goes through: ``batches()`` starts anew each time.

    Parameters
    ----------
    batches : function that returns an iterator of (X, y), both checked
    vectors : whether objects are rows of numbers
    """

    def __init__(self, batches, vectors, **attributes):
        self.batches = batches
        self.scanned = summarise(batches(), vectors=vectors)
        vars(self).update(attributes)

    def collect(self, plan, folds=None):
        """The pass: a LandmarkTraining."""
        return collect(plan, self.batches(), folds=folds)


def array_source(X, y, landmarks, *, vectors=True):
    """Checked objects in memory."""
    return LocalSource(partial(as_batches, X, y), vectors, landmarks=landmarks, X=X, y=y)


def matrix_source(X, y, landmarks, *, square=True):
    """Checked kernel values; square: the matrix may be that of all objects."""
    check_magnitude(X)
    columns = None
    if to_choose(landmarks):
        refuse_to_choose(X)
    else:
        landmarks, columns = landmark_columns(landmarks, X)
    if square and X.shape[0] == X.shape[1]:
        check_square(X)
        X = check_symmetric(X)
        warn_dissimilarity_as_kernel(X)
        source = array_source(np.arange(len(X)), y, landmarks, vectors=False)
        return source.changed(kernel=CheckedKernel(X), columns=columns)
    if columns is None:
        raise ValueError(
            "To add objects in batches the landmarks of a precomputed kernel must be "
            "given: pass their positions among the rows of the first batch."
        )
    X = X[:, columns]
    return array_source(X, y, X[landmarks]).changed(columns=columns)


def batch_source(batches, landmarks, *, vectors=True, precomputed=False):
    """Checked batches: `batches()` is an iterator of (X, y) that starts anew each time."""
    if not precomputed:
        return LocalSource(batches, vectors, landmarks=landmarks)
    if to_choose(landmarks):
        raise ValueError(
            "To fit a precomputed kernel from batches its landmarks must be given: "
            "pass their positions among the rows of the first batch."
        )
    places: dict[str, Any] = {}

    def columns():
        for X, y in batches():
            if not places:
                at, places["columns"] = landmark_columns(landmarks, X)
                places["landmarks"] = X[np.ix_(at, places["columns"])]
            yield X[:, places["columns"]], y

    return LocalSource(columns, vectors).changed(**places)


def as_batches(X, y=None, batch_rows=BATCH_ROWS):
    """Batches (X, y) of arrays, memory maps or lists; or of an iterable of such pairs."""
    if y is None:
        yield from X
        return
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} objects and y {len(y)} labels; one for each is needed.")
    for start in range(0, len(X), batch_rows):
        part = slice(start, start + batch_rows)
        yield take(X, part), np.asarray(y[part])


def summarise(X, y=None, *, vectors=True, seed=0):
    """The summary of arrays or of an iterable of batches (X, y)."""
    out = Summary(seed=seed)
    for rows, labels in as_batches(X, y):
        out.add(rows, labels, vectors=vectors)
    if not out.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return out


def collect(plan, X, y=None, folds=None):
    """The training set of all batches, one after the other.

    folds: the fold of each row, (n,), or a function of their positions.
    """
    training = plan.statistics()
    for rows, labels in as_batches(X, y):
        here = None
        if folds is not None:
            positions = np.arange(training.n_rows, training.n_rows + len(rows))
            here = folds(positions) if callable(folds) else folds[positions]
        training.add(rows, labels, here)
    if not training.n_rows:
        raise ValueError("There are no rows to fit; the batches are empty.")
    return training
