"""A training set by its moments in a landmark space, and a sample of its rows.

A `LandmarkPlan` says which moments of kernel rows against the landmarks to collect, by class (and
fold). One pass over the rows, in any batches, leaves them: a `LandmarkTraining`. Those made from
the same plan merge in any order. What methods need (`distances`, `fisher`, `embedding`) is that of
`exact.ExactTraining`; offsets by errors, and the choice of how many landmarks are enough, use
the sample.
"""

from dataclasses import replace

import numpy as np

from .._memory import row_chunks
from .._validation import (
    check_choice,
    check_count,
    check_finite_distances,
    check_memory,
    is_negated_dissimilarity,
    known_codes,
    take,
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
from ..formulas.moments import add_blocks, merge, merged, no_moments
from ..formulas.quadratic_form import evaluators
from ..formulas.spectrum import CORRECTIONS
from ..kernels.landmarks import LANDMARK_SPECTRA, LandmarkKernel, refuse_negative
from ..kernels.protocol import check_magnitude
from .exact import SELF_UNKNOWN, check_self_similarity
from .sample import SAMPLE_ROWS, RowSample, changed, check_rows, leading

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
        return np.concatenate([features.residual(kxx[rows], k) for rows, k in pieces]).astype(float)

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


def check_folds(folds, n, n_folds):
    """The fold of each object, from 0."""
    values = np.asarray(folds)
    if values.shape != (n,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"folds must hold a whole number from 0 to {n_folds - 1} for each of the {n} objects."
        )
    if n and not 0 <= values.min() <= values.max() < n_folds:
        raise ValueError(
            f"folds must be from 0 to {n_folds - 1}; got {values.min()} to {values.max()}."
        )
    return values.astype(np.intp)
