"""The training objects of an ensemble, as the searches and the fits of its members take them."""

import time
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from .._memory import row_chunks
from .._sparse import column_moments
from .._validation import check_memory, take
from ..classifiers.kernel_fisher import KernelFisherDiscriminant
from ..classifiers.members import fit_members
from ..formulas.linalg import total_spread
from ..kernels.landmarks import (
    LandmarkLookup,
    LandmarkMap,
    choose_landmarks,
    known_values,
    landmark_method,
)
from ..kernels.precomputed import PrecomputedKernel
from ..kernels.protocol import POLYNOMIAL, as_kernel, fit_kernel_and_gram
from ..table_encoder import is_frame, rows_as_array
from ..training.exact import TrainingKernel
from ..training.sample import join_rows
from ..training.sources import compute, dask_parts, delayed, pairs_of, part_rows, summarise
from ..training.summary import learn_kernel
from . import grid
from .evaluation import SearchData, with_params

# Landmarks of members that are not fitted on all pairs of objects, and the seed of their choice.
N_LANDMARKS, SEED = 400, 0
# Rows of a fold's training set at landmarks that offsets and discriminants on distances learn from.
FOLD_SAMPLE = 5000
# Measures that members at landmarks choose, about and at most.
LANDMARK_MEASURES = 4
# The mean of a measure is that of so many objects.
SCALED = 250
# Rows of batches that an encoder learns from.
ENCODED_ROWS = 20_000
# What is expected to take longer is announced, for more objects than these. Measures are timed
# before, on so many objects that it takes long enough for the clock.
LONG_SECONDS, FEW_OBJECTS = 60.0, 120
TIMED_OBJECTS, LONG_ENOUGH = (6, 25), 0.02
# Pairs of a pilot and of the choice of a scale, about.
PILOT_PAIRS = 700_000


class MemberData:
    """Training objects under kernels.

    X, y, codes: what searches get, labels and class indices. kernel: that of all members, None
    where each has one by name. spread: mean centred self-similarity of a kernel of unknown scale,
    None for kernels by name. knows_queries: k(x, x) of a query is known. weights: those of the
    objects, None where they are equal.
    """

    kernel: Any = None
    spread: float | None = None
    knows_queries = True
    weights: np.ndarray | None = None
    pairwise = False
    at_landmarks = False  # members cannot be fitted on all objects
    takes_landmarks = False  # members may be fitted at landmarks
    splits: list | None = None  # folds that the data have by themselves
    has_rows = True  # members are fitted on all rows at once, not on moments of batches
    views: tuple = ()  # names of further views of objects, for members of their own

    def objects(self, splits):
        """The objects as `evaluation.score_candidates` takes them."""
        objects = SearchData(self.X, self.y, self.codes, splits, np.unique(self.y), {}, {}, {})
        return objects._replace(sample_rows=FOLD_SAMPLE)

    def part(self, rows):
        """The same for some of the objects."""
        part = object.__new__(type(self))
        vars(part).update(vars(self))
        part.X = self.X[np.ix_(rows, rows)] if self.pairwise else take(self.X, rows)
        part.y = self.y[rows]
        part.codes = np.unique(part.y, return_inverse=True)[1]
        part.weights = None if self.weights is None else self.weights[rows]
        return part

    def kernel_settings(self, kernel, bounded, first):
        """Parameters of the kernels that a member compares.

        kernel: its kernel by name, or its view of objects; bounded: as in Family; first: no further
        kernel of several.
        """
        return [{}]

    def with_landmarks(self, estimator, params):
        """An estimator with landmarks, and the parameters of a candidate of it."""
        return with_params(estimator, {"landmarks": N_LANDMARKS, "random_state": SEED}), params

    def estimator(self, estimator):
        """A new estimator as the user's input needs it."""
        return clone(estimator)

    def fit(self, estimators):
        """New members fitted on all objects."""
        members = {name: self.estimator(estimator) for name, estimator in estimators.items()}
        return fit_members(members, self.X, self.y, weights=self.weights)


class VectorData(MemberData):
    """Encoded tables or sparse rows under kernels by name.

    Widths are measured in the vectors' total variance.
    """

    takes_landmarks = True

    def __init__(self, X, y, codes):
        self.X, self.y, self.codes = X, y, codes
        self.variance = float(column_moments(X)[1].sum()) or 1.0

    def kernel_settings(self, kernel, bounded, first):
        """Widths of a kernel; with a further kernel members add less, and every second width does.

        bounded has no part in it.
        """
        factors = (1.0,) if kernel in POLYNOMIAL else grid.GAMMAS[:: 1 if first else 2]
        return grid.widths(kernel, [factor / self.variance for factor in factors])


class BatchData(VectorData):
    """Rows that are not in memory: batches (X, y) that can be gone through again.

    X, y and codes are those of a sample with random folds; members are fitted at landmarks, on all
    rows.
    """

    at_landmarks = True
    has_rows = False

    def __init__(self, batches, n_folds):
        self.batches = batches
        first = KernelFisherDiscriminant(landmarks=N_LANDMARKS, random_state=0, standardize=False)
        self.source = first.sample_source(batches, None, n_folds)
        codes = np.searchsorted(first.classes_, self.source.y)
        super().__init__(np.asarray(self.source.X, dtype=float), self.source.y, codes)
        self.splits = self.source.splits()

    def objects(self, splits):
        """A sample for the scores, and the source of all rows for the models."""
        return super().objects(splits)._replace(landmarks=self.source)

    def part(self, rows):
        """Vectors of some rows of the sample."""
        part = VectorData(self.X[rows], self.y[rows], self.codes[rows])
        part.has_rows = False
        return part

    def fit(self, estimators):
        """New members fitted on all rows, those that need rows in memory on the sample."""
        members = {name: self.estimator(estimator) for name, estimator in estimators.items()}
        fit_members({n: m for n, m in members.items() if m.needs_rows}, self.X, self.y)
        fit_members({n: m for n, m in members.items() if not m.needs_rows}, self.batches, None)
        return members


class EncodedBatches:
    """Batches (X, y) behind an encoder, which is fitted on a random sample of their rows."""

    def __init__(self, batches, encoder):
        self.batches, self.encoder = batches, encoder
        rng, rows, keys = np.random.default_rng(0), None, np.empty(0)
        for X, _ in pairs_of(batches, "MahalanobisClassifierCV"):
            X = _table(X)
            if rows is not None and _header(X) != _header(rows):
                raise ValueError(
                    f"The batches differ in their columns: a batch has {_header(X)}, those before "
                    f"{_header(rows)}."
                )
            keys = np.concatenate([keys, rng.random(len(X))])
            index = np.argsort(keys, kind="stable")[:ENCODED_ROWS]
            rows, keys = join_rows(rows, X, index), keys[index]
        if rows is None or not len(rows):
            raise ValueError("There are no rows to fit; the batches are empty.")
        encoder.fit(rows)

    def __iter__(self):
        for X, y in pairs_of(self.batches, "MahalanobisClassifierCV"):
            if len(X):
                yield self.encoder.transform(_table(X)), column_or_1d(y)


def _table(X):
    if issparse(X):
        raise TypeError(
            "MahalanobisClassifierCV takes sparse rows in one matrix, not in batches; a classifier "
            "with landmarks= takes batches of them."
        )
    return X if is_frame(X) else rows_as_array(X)


def _header(X):
    """Names of columns, or how many there are."""
    return list(getattr(X, "column_names", X.columns)) if is_frame(X) else f"{X.shape[-1]} columns"


class DaskBatches:
    """The parts of a dask collection, computed one after the other."""

    def __init__(self, X, y):
        self.parts = dask_parts(X, y)[0]

    def __iter__(self):
        for part in self.parts:
            yield compute([delayed(part_rows)(*part)])[0]


class MatrixData(MemberData):
    """A precomputed kernel matrix."""

    kernel = "precomputed"
    pairwise = True
    takes_landmarks = True

    def __init__(self, K, y, codes):
        self.X, self.y, self.codes = K, y, codes
        self.spread = total_spread(K)
        self.knows_queries = TrainingKernel(K, codes, None).self_similarities(K[:1]) is not None


class ObjectData(MemberData):
    """Objects under kernels that take them as they are.

    A measure that learns nothing is computed once, and its scale is that of all objects: members
    are then searched on positions, under its matrix. A kernel that learns from the training objects
    is fitted in each fold.
    """

    def __init__(self, X, y, codes, kernels, announced=False):
        self.user_X, self.y, self.codes = X, y, codes
        self.user_kernels = [form for kernel in kernels for form in _forms(kernel, X)]
        self.views = _views(self.user_kernels)
        n, count, pairs = len(y), len(self.user_kernels), {}
        check_memory((3 + 2 * count) * n**2, f"{count} kernel matrices of {n} objects")
        if not announced:
            _announce(self.user_kernels, X, "all pairs", n**2)
        self.fitted = [_fit(kernel, X, y, pairs) for kernel in self.user_kernels]
        grams = [_gram(X, codes, *fitted) for fitted in self.fitted]
        self.spread = total_spread(grams[0])
        self.X, self.kernels, self.learned = X, self.user_kernels, True
        measures = map(as_kernel, self.user_kernels)
        if all(measure.measure_is_stateless or measure.stateless for measure in measures):
            self.X, self.learned = np.arange(n), False
            self.kernels = [PrecomputedKernel(K) for K in grams]
            self.fitted = [(kernel, K) for (kernel, _), K in zip(self.fitted, grams, strict=True)]

    def kernel_settings(self, kernel, bounded, first):
        """The kernels of a view, of the forms of a measure those that suit (`bounded`)."""
        return _suited(self.kernels, self.user_kernels, bounded, kernel)

    def estimator(self, estimator):
        """A new estimator as the user's input needs it."""
        return clone(estimator).set_params(
            kernel=self.user_kernels[_place(self.kernels, estimator.kernel)]
        )

    def fit(self, estimators):
        """New members fitted on all objects; measures are not computed again."""
        users = {name: self.estimator(estimator) for name, estimator in estimators.items()}
        computed = {}
        if not self.learned:
            computed = {
                name: self.fitted[_place(self.kernels, e.kernel)] for name, e in estimators.items()
            }
        return fit_members(users, self.user_X, self.y, computed)


class ManyObjects(MemberData):
    """Objects of which not all pairs are measured.

    A pilot has all pairs of a part of them. Members are fitted at landmarks: they are searched on
    positions, and a measure is computed once, of all objects and the landmarks.
    """

    at_landmarks = True
    spread = 1.0  # of measures, which are divided by their mean

    def __init__(self, X, y, codes, kernels):
        self.user_X, self.y, self.codes = X, y, codes
        self.X, self.chosen, self.known = np.arange(len(y)), {}, {}
        forms = [form for kernel in kernels for form in _forms(kernel, X)]
        self.views = _views(forms)
        # Of all pairs of objects half are measured, of those with landmarks all.
        _announce(forms, X, f"{N_LANDMARKS} landmarks and each", PILOT_PAIRS, 2 * N_LANDMARKS)
        some = take(X, np.random.default_rng(0).permutation(len(y))[:SCALED]), {}
        self.kernels = [_with_scale(form, *some) for form in forms]
        self.lookups = [None] * len(self.kernels)

    def part(self, rows):
        """All pairs of some of the objects."""
        codes = np.unique(self.y[rows], return_inverse=True)[1]
        return ObjectData(
            take(self.user_X, rows), self.y[rows], codes, self.kernels, announced=True
        )

    def kernel_settings(self, kernel, bounded, first):
        """The kernels of a view, of the forms of a measure those that suit (`bounded`)."""
        return _suited(self.kernels, self.kernels, bounded, kernel)

    def with_landmarks(self, estimator, params):
        """An estimator with landmarks, and the parameters of a candidate of it, on positions."""
        i = _place(self.kernels, params["kernel"])
        if self.lookups[i] is None:
            self.lookups[i] = self._lookup(params["kernel"])
        changes = {"landmarks": self.lookups[i].landmarks, "random_state": SEED}
        return with_params(estimator, changes), params | {"kernel": self.lookups[i]}

    def _lookup(self, kernel):
        """The values of a kernel at the landmarks that a plain fit chooses."""
        objects, positions = (summarise(X, self.y, vectors=False) for X in (self.user_X, self.X))
        fitted = learn_kernel(objects, KernelFisherDiscriminant(kernel=kernel))
        every, rows = LandmarkLookup(fitted, self.user_X), positions.sample.rows
        landmarks = choose_landmarks(every, rows, N_LANDMARKS, random_state=SEED)
        # One array, and the same objects, for all kernels that have these landmarks.
        key = landmarks.tobytes()
        landmarks, there = self.chosen.setdefault(key, (landmarks, take(self.user_X, landmarks)))
        if len(row_chunks(len(self.X), len(landmarks))) == 1:  # memory holds them
            key = key, fitted.pair_key or id(fitted)
            if key not in self.known:
                self.known[key] = known_values(fitted, self.user_X, there)
        return LandmarkLookup(fitted, self.user_X, landmarks, self.known.get(key))

    def estimator(self, estimator):
        """A new estimator as the user's input needs it."""
        lookup, landmarks = estimator.kernel, N_LANDMARKS
        if lookup.kernel.requires_vector_input:  # a plain fit would take means of rows
            landmarks = LandmarkMap(N_LANDMARKS, method=landmark_method("auto", lookup))
        kernel = self.kernels[_place(self.lookups, lookup)]
        return with_params(estimator, {"kernel": kernel, "landmarks": landmarks})

    def fit(self, estimators):
        """New members fitted on all objects; measures are not computed again."""
        members = {}
        for name, estimator in estimators.items():
            lookup = estimator.kernel
            _, landmarks = self.chosen[lookup.landmarks.tobytes()]
            training = estimator.landmark_training(estimator.landmark_source(self.X, self.y))
            training = training.of_objects(lookup.kernel, self.user_X, landmarks)
            members[name] = self.estimator(estimator).from_training(training)
        return members


def _place(kernels, kernel):
    return [one is kernel for one in kernels].index(True)


def _forms(kernel, X):
    """The kernels that a measure stands for: one for each of a group, in several forms."""
    forms = as_kernel(kernel).alternatives(X, forms=True)
    return forms if len(forms) > 1 else [kernel]


def _with_scale(kernel, X, pairs):
    """A kernel with the scale of some objects as a number: to find it takes all their pairs."""
    measure = as_kernel(kernel)
    if measure.stateless or not measure.measure_is_stateless:
        return kernel
    return clone(measure).set_params(scale=_fit(clone(measure), X, None, pairs)[0].scale_)


def _views(kernels):
    """Names of the further views, where there is a first one."""
    views = dict.fromkeys(as_kernel(kernel).view for kernel in kernels)
    return tuple(view for view in views if view and None in views)


def _suited(kernels, user_kernels, bounded, view):
    """Parameters of the kernels of a view whose forms suit; of all of them, where none does."""
    pairs = list(zip(kernels, map(as_kernel, user_kernels), strict=True))
    pairs = [(kernel, user) for kernel, user in pairs if user.view == view] or pairs
    suited = [kernel for kernel, user in pairs if (user.kind == "rbf") == bounded]
    return [{"kernel": kernel} for kernel in suited or [kernel for kernel, _ in pairs]]


def measure_seconds(kernels, X):
    """CPU seconds that each of the kernels' measures is expected to take for a pair of objects.

    A few objects are measured, and more where that takes no time; the first call compiles.
    """
    rows, seconds = np.random.default_rng(0).permutation(len(X)), {}
    for kernel in map(as_kernel, kernels):
        if not kernel.times_pairs or kernel.pair_key in seconds:
            continue
        if not kernel.measure_is_stateless:
            kernel.fit(take(X, rows[: TIMED_OBJECTS[-1]]))
        kernel.pair_values(*[take(X, rows[:2])] * 2)
        for count in TIMED_OBJECTS:
            some = take(X, rows[:count])
            start = time.process_time()
            kernel.pair_values(some, some)
            taken = time.process_time() - start
            seconds[kernel.pair_key] = taken / len(some) ** 2
            if taken > LONG_ENOUGH:
                break
    return list(seconds.values())


def _announce(kernels, X, what, n_pairs, n_columns=0):
    """Warn before the measures of many objects are computed, if they take long.

    n_pairs: pairs of every measure; n_columns: further ones of each object, of the measures that
    members choose, which may be the slowest.
    """
    if len(X) <= FEW_OBJECTS:
        return
    each = sorted(measure_seconds(kernels, X), reverse=True)
    seconds = n_pairs * sum(each) + n_columns * len(X) * sum(each[:LANDMARK_MEASURES])
    if seconds > LONG_SECONDS:
        about = "up to about" if n_columns else "about"
        warnings.warn(
            f"The measures of {what} of {len(X)} objects are expected to take {about} "
            f"{seconds:.0f} s of CPU time. A single classifier with landmarks= measures far fewer "
            "pairs.",
            UserWarning,
            stacklevel=5,
        )


def _fit(kernel, X, y, pairs):
    """The fitted kernel and its matrix; a measure is computed once for all kernels of it."""
    measure = as_kernel(kernel)
    if not measure.measure_is_stateless:
        return fit_kernel_and_gram(kernel, X, y)
    if measure.pair_key not in pairs:
        pairs[measure.pair_key] = measure.pair_values(X, X)
    return measure, measure.fit_pairs(pairs[measure.pair_key])


def _gram(X, codes, kernel, gram):
    training = TrainingKernel(X, codes, kernel, gram)
    place = np.argsort(training.order)
    return training.gram()[np.ix_(place, place)]
