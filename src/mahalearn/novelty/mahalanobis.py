"""Novelty and out-of-distribution detection by Mahalanobis distances in the input space."""

import warnings
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from .._array_api import as_numpy, like
from .._typing import ArrayLike, Objects, RandomState
from .._validation import (
    check_choice,
    check_labels,
    check_not_negative,
    check_positive,
    check_real,
    check_share,
    check_unless_word,
    is_dask_collection,
    is_whole,
    known_codes,
    refuse_dask_query,
    refuse_mixed_labels,
    validate_rows,
    without_mask,
)
from ..formulas.class_metrics import (
    Histogram,
    borrowing,
    certified_limits,
    class_metrics,
    histogram,
    leave_one_out_sq_distances,
    mixture_factors,
    relative_metric,
    row_numbers,
    shared_metric,
)
from ..formulas.linalg import row_sq_norms
from ..training.sample import random_keys
from ..training.sources import check_batches, example_row
from ._p_values import PValueMixin
from ._stream import (
    Collected,
    DaskRows,
    LocalRows,
    RowStream,
    joined,
    prepared,
    share_of_rows,
)
from .drift import (
    ALTERNATIVES,
    Alternative,
    DriftTest,
    batch_codes,
    compare_by_class,
    limit_p_value,
)

COVARIANCES = ("auto", "class", "shared")
CALIBRATIONS = ("auto", "loo", "reservoir", "split")
# normalize="auto": rows in single precision with at least this many columns are taken for
# embeddings. Networks compute in it; tables that were read from text or standardised are in double
# precision, and lose by unit rows (benchmarks.embeddings, part outliers).
EMBEDDING_FEATURES = 100
# σ² of unit rows is this divided by the number of columns, the largest mean variance they can have.
REG = 1e-3
# Rows that give column scales and σ² of raw rows; rows that calibrate a split; rows of a reservoir.
PILOT_ROWS, SPLIT_ROWS, RESERVOIR_ROWS = 1_000, 10_000, 20_000
PILOT_SHARE, SPLIT_SHARE = 0.1, 0.2
LEAST_OF_CLASS = 100
# Concentration steps of `trim`, at most.
TRIM_STEPS = 5
# Numbers in the rows that are prepared at a time, and in the queries of class-wise metrics.
PIECE, QUERIES = 2**20, 2**23
FLOATS = [np.float64, np.float32]
PROMISE = (
    "a new row of class j has p_j <= a with probability at most a, and a new row of any class "
    "p_none <= a likewise, if it is drawn as the calibration rows were"
)
PROMISE_WITHOUT_LABELS = (
    "a new row of any class has p_none <= a with probability at most a, if it is drawn as the "
    "calibration rows were"
)
NO_PROMISE = "none: the farthest training rows were left out"


class Limits(NamedTuple):
    """Histograms of the limits that distances are ranked among.

    every: of all classes together; by_class: of each class, None where labels are not known.
    """

    every: Histogram
    by_class: list | None

    @property
    def scale(self):
        """A distance of usual size."""
        middle = abs(self.every.median)
        return middle if 0 < middle < np.inf else 1.0

    def merged(self, other):
        """The limits of both parts of the rows."""
        by_class = [a.merged(b) for a, b in zip(self.by_class, other.by_class, strict=True)]
        return Limits(self.every.merged(other.every), by_class)


def limits_of(limits, codes, every, n_classes):
    """Limits of rows with class codes (None: not known), and limits of all classes together."""
    by_class = None
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        stops = np.searchsorted(codes[order], np.arange(n_classes + 1))
        by_class = [histogram(limits[order[a:b]]) for a, b in pairwise(stops)]
    return Limits(histogram(every), by_class)


class FittedClasses(NamedTuple):
    """Distances to the classes of a stream of rows.

    classes (c,), counts (c,), row_numbers (c,), factors (c,): labels, n_j, r_j and ρ_j; sigma2;
    metric: shared, class-wise or relative.
    """

    classes: np.ndarray
    counts: np.ndarray
    row_numbers: np.ndarray
    factors: np.ndarray
    sigma2: float
    metric: Any

    def measured(self, rows):
        """Parts of the rows of a source: d² to their own classes, and their codes, (m,) each."""
        return rows.measure(self.metric.own_sq_distances, self.classes, self.metric.pooled)

    def training_limits(self, d2, codes, n_every=None):
        """Certified limits of training rows from their distances to their own classes.

        n_every: so many of them, the first, rank all classes together.
        """
        limits = certified_limits(d2, self.counts[codes], self.row_numbers[codes])
        every = (limits * self.factors[codes])[:n_every]
        return limits_of(limits, codes, every, len(self.classes))

    def limits_apart(self, X, codes):
        """Limits from rows that the distances do not depend on."""
        nearest, members = [], []
        for start in range(0, len(X), step := max(256, PIECE // X.shape[1])):
            part = X[start : start + step]
            nearest.append(self.metric.nearest(part)[0])
            if codes is not None:
                d2 = self.metric.sq_distances(part.astype(float))
                members.append(d2[np.arange(len(part)), codes[start : start + step]])
        members = None if codes is None else np.concatenate(members)
        return limits_of(members, codes, np.concatenate(nearest), len(self.classes))


class Fitted(NamedTuple):
    """Distances, the limits that they are ranked among, and the promise of these."""

    model: FittedClasses
    limits: Limits
    method: str
    guarantee: str


class MahalanobisNovelty(PValueMixin, BaseEstimator):
    """Detect outliers and unknown classes in tables and embeddings, with conformal p-values.

    A row is compared with every known class by its Mahalanobis distance. ``p_none`` is a p-value:
    the share of regular rows that would be at least as far from all classes. `predict` flags rows
    with ``p_none`` ≤ `level`. No contamination rate and no outliers are needed. ``guarantee_``
    states the guarantee of the p-values.

    Read more in the :doc:`user guide </outliers>`.

    Parameters
    ----------
    covariance : {"auto", "class", "shared"}, default="auto"
        Covariances of the classes.

        - "class": one for each class.
        - "shared": one for all classes.
        - "auto": "class" if the matrices fit into scikit-learn's ``working_memory``, else "shared".
    level : float, default=0.05
        `predict` flags rows with ``p_none`` ≤ level: at most about this share of regular rows.
    normalize : bool or "auto", default="auto"
        Divide each row by its length, as suits embeddings; rows that differ in length alone become
        equal. "auto": rows in half or single precision (float16, float32) with 100 columns and
        more, which networks give; use False for measurements, such as spectra, in these types.
        Columns of other tables are divided by their standard deviations.
    pseudo_rows : float or "n_features", default="n_features"
        Number of rows of the other classes' covariance that is mixed into that of each class.
    reg : float or "auto", default="auto"
        Variance σ² added to every covariance, for rows as prepared by `normalize`. "auto": 1e-3
        divided by the number of columns for rows of unit length; otherwise 1e-3 times the mean
        variance within the classes, taken from a random tenth of the rows (at most 1,000) that
        does not calibrate.
    relative : bool, default=False
        Subtract the distance to all rows together, which compares classes with each other. Needs
        two classes and a shared covariance.
    calibration : {"auto", "loo", "reservoir", "split"}, default="auto"
        Rows among which distances are ranked.

        - "loo": all training rows, with bounds on their leave-one-out distances; a second pass.
        - "reservoir": a random part of the training rows, in one pass.
        - "split": a random fifth, at most 10,000, that is not used for the distances.
        - "auto": "loo"; "reservoir" in `partial_fit`; "split" with `relative`.
    trim : float, default=0.0
        Share of the training rows that may be outliers. This share of each class, the farthest
        rows, is left out of the estimates; there is then no guarantee. The rows are read several
        times.
    random_state : int, RandomState instance or None, default=0
        Draws the rows that are set aside.

    Attributes
    ----------
    class_labels_ : ndarray of shape (n_classes,)
        Class labels; ``[1]`` where `fit` got none.
    covariance_ : {"class", "shared"}
        The covariances used.
    normalize_ : bool
        True if rows are divided by their lengths.
    sigma2_ : float
        Variance added to the covariances.
    method_ : str
        Method of the p-values: "loo", "reservoir", "split" or "calibrated".
    guarantee_ : str
        Guarantee of the p-values, in words.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    decision_scores_ : ndarray of shape (n_samples,)
        Leave-one-out distances of the training rows to their own classes, after `fit` on an array
        (not on batches); large for outliers.
    labels_ : ndarray of shape (n_samples,)
        1 for training rows that are outliers at `level` by their leave-one-out ranks, else 0.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    KernelMahalanobisNovelty : The same for strings, series, matrices and small tables.

    References
    ----------
    K. Lee, K. Lee, H. Lee and J. Shin, A simple unified framework for detecting out-of-distribution
    samples and adversarial attacks, NeurIPS 2018; J. Ren et al., A simple fix to Mahalanobis
    distance for improving near-OOD detection, 2021; M. Müller and M. Hein, Mahalanobis++, ICML
    2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mahalearn import MahalanobisNovelty
    >>> X, y = load_iris(return_X_y=True)
    >>> detector = MahalanobisNovelty().fit(X[y < 2], y[y < 2])  # two of the three species
    >>> print(f"{(detector.predict(X[y == 2]) == -1).mean():.2f} of the third are flagged")
    0.86 of the third are flagged
    """

    def __init__(
        self,
        covariance: Literal["auto", "class", "shared"] = "auto",
        level: float = 0.05,
        *,
        normalize: bool | Literal["auto"] = "auto",
        pseudo_rows: float | Literal["n_features"] = "n_features",
        reg: float | Literal["auto"] = "auto",
        relative: bool = False,
        calibration: Literal["auto", "loo", "reservoir", "split"] = "auto",
        trim: float = 0.0,
        random_state: RandomState | None = 0,
    ) -> None:
        self.covariance = covariance
        self.level = level
        self.normalize = normalize
        self.pseudo_rows = pseudo_rows
        self.reg = reg
        self.relative = relative
        self.calibration = calibration
        self.trim = trim
        self.random_state = random_state

    _converts_arrays = True

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: ArrayLike | None = None, *, groups: ArrayLike | None = None) -> Self:
        """Fit the distances and calibrate them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; also a memory map, a dask array or dataframe, or an iterable of batches
            that can be read twice, each X or (X, y), such as
            :class:`mahalearn.datasets.ParquetBatches`.
        y : array-like of shape (n_samples,), default=None
            Class labels; without them all rows are of one class.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are repeated measurements, so that a row's own group makes it look
            typical. A random fifth of the groups is not used for the distances, and a random row
            of each of them calibrates (a split); the guarantee is about rows of new groups.

        Returns
        -------
        self : MahalanobisNovelty
            The fitted detector.
        """
        calibration = self._check_options()
        for name in ("decision_scores_", "labels_"):
            self.__dict__.pop(name, None)
        if groups is not None:
            return self._fit_groups(X, y, groups)
        rows = self._rows(X, y)
        wanted = self._wanted(rows.n_features, calibration)
        if calibration == "loo":
            self._stream = None  # of rows that come later the limits of these are not known
            self._fitted = self._leave_one_out(rows, wanted)
        else:
            stream = rows.collect(wanted)
            self._stream = stream if calibration == "reservoir" else None
            self._fitted = self._finish(stream)
        return self._warn_of_level()

    def _leave_one_out(self, rows, wanted):
        """Distances that are ranked among all training rows, each bounded as if left out."""
        stream = rows.collect(wanted)
        trimmed: Any = self._trimmed(rows, stream) if self.trim else None
        if self.trim:
            stream = rows.collect(wanted, ~trimmed)
        model, pilot = self._fit_classes(stream)
        del stream  # its matrices
        limits: Any = None
        scores, start = [], 0
        for d2, codes in model.measured(rows):
            positions = np.arange(start, start := start + len(d2))
            ranked = ~trimmed[positions] if self.trim else np.ones(len(d2), bool)
            if rows.table:
                rows_behind = model.counts[codes], model.row_numbers[codes]
                scores.append(np.where(ranked, leave_one_out_sq_distances(d2, *rows_behind), d2))
            ranked &= ~np.isin(random_keys(positions, wanted.seed), pilot.keys)
            part = model.training_limits(d2[ranked], codes[ranked])
            limits = part if limits is None else limits.merged(part)
        if rows.table:
            self._judge_training(np.concatenate(scores), ~trimmed if self.trim else None)
        return Fitted(model, limits, "loo", NO_PROMISE if self.trim else PROMISE)

    def _fit_groups(self, X, y, groups):
        """Fit on the rows of most groups, calibrate on a row of each of the others."""
        if self.trim or self.calibration not in ("auto", "split"):
            raise ValueError(
                "groups need calibration='split' or 'auto', and trim=0: a row cannot be left out "
                "while rows of its group stay in."
            )
        X = self._table(X, reset=True)
        check_consistent_length(X, groups)
        labels, members = np.unique(np.asarray(groups), return_inverse=True)
        n_aside = min(SPLIT_ROWS, share_of_rows(len(labels), SPLIT_SHARE))
        if not n_aside:
            raise ValueError(f"groups must hold at least two groups; got {len(labels)}.")
        order = check_random_state(self.random_state).permutation(len(labels))
        aside = np.isin(members, order[:n_aside])
        rows = self._table_rows(X, y)
        model, _ = self._fit_classes(rows.collect(self._wanted(X.shape[1], "loo"), ~aside))
        codes = np.zeros(aside.sum(), np.intp)
        if y is not None:  # −1: a class without distances
            codes = np.searchsorted(model.classes, rows.y[aside])
            codes[~np.isin(rows.y[aside], model.classes)] = -1
        self._stream, self._fitted = None, self._apart(model, X[aside], codes, members[aside])
        self._fitted = self._fitted._replace(method="split")
        return self._warn_of_level()

    def _trimmed(self, rows, stream):
        """Mask (n,) of the farthest rows of each class, by concentration steps.

        They begin with the half of each class that is nearest to its medians, so that outliers do
        not hide behind the covariance that they stretch (P. Rousseeuw and K. Van Driessen, A fast
        algorithm for the minimum covariance determinant estimator, 1999).
        """
        classes, *_, sample = stream.ordered()
        start = _median_distances(sample, len(classes))
        trimmed = _farthest(*joined(rows.measure(start.own_sq_distances, classes)), 0.5)
        for _ in range(TRIM_STEPS):
            model, _ = self._fit_classes(rows.collect(stream.wanted, ~trimmed))
            before = trimmed
            trimmed = _farthest(*joined(model.measured(rows)), self.trim)
            if (trimmed == before).all():
                break
        return trimmed

    def partial_fit(self, X: Objects, y: ArrayLike | None = None) -> Self:
        """Add rows; the p-values rank among a random part of all rows so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), default=None
            Class labels; new ones may come at any time.

        Returns
        -------
        self : MahalanobisNovelty
            The fitted detector. Distances are made when they are first needed.
        """
        refuse_dask_query(X)
        first = "_stream" not in vars(self)
        calibration = self._check_options(streamed=True)
        if not first and self._stream is None:
            raise ValueError(
                "Rows can be added after partial_fit, or after fit with calibration='reservoir'; "
                "this detector was calibrated on all of its training rows. Fit it again."
            )
        # Checked as a whole: a bad row must not leave a half of them in the moments.
        rows = self._table_rows(self._check_rows(X, reset=first), y)
        if first:
            self._stream = RowStream(self._wanted(rows.n_features, calibration), rows.n_features)
        for part, labels in rows.batches():
            self._stream.add(part, labels)
        self._fitted = None
        return self

    def __sklearn_is_fitted__(self):
        return "_fitted" in vars(self)

    @property
    def fitted_(self) -> Fitted:
        """The fitted distances and limits; made of the stream where rows were added."""
        check_is_fitted(self)
        if self._fitted is None:
            self._fitted = self._finish(self._stream)
            self._warn_of_level()
        return self._fitted

    def _check_options(self, streamed=False):
        """The calibration to use, after a check of all options."""
        check_share(self.level, "level")
        check_choice(self.covariance, "covariance", COVARIANCES)
        calibration = check_choice(self.calibration, "calibration", CALIBRATIONS)
        if not isinstance(self.normalize, (bool, np.bool_)):
            check_choice(self.normalize, "normalize", ("auto",))
        check_unless_word(self.pseudo_rows, "pseudo_rows", ("n_features",), check_not_negative)
        check_unless_word(self.reg, "reg", ("auto",), check_positive)
        check_real(self.trim, "trim", "from 0 to less than 0.5", lambda share: 0 <= share < 0.5)
        if self.relative and self.covariance == "class":
            raise ValueError("relative=True needs one covariance for all classes: 'shared'.")
        if self.trim and (streamed or calibration not in ("auto", "loo")):
            raise ValueError("trim goes through all rows twice: use fit with calibration='loo'.")
        if streamed and calibration == "loo":
            raise ValueError(
                "calibration='loo' goes through all rows twice; use fit, or 'reservoir' with "
                "partial_fit."
            )
        if self.relative and (self.trim or calibration in ("loo", "reservoir")):
            raise ValueError(
                "Relative distances have no bound for training rows; use calibration='split' or "
                "'auto', and trim=0."
            )
        if calibration != "auto":
            return calibration
        return "split" if self.relative else "reservoir" if streamed else "loo"

    def _wanted(self, n_features, calibration):
        """Sums and rows that a pass collects."""
        matrix = 2 * 8 * n_features**2  # a scatter and a whitener
        most = int(get_config()["working_memory"] * 2**20 // matrix)
        if self.covariance == "class":
            most = np.iinfo(np.int64).max
        elif self.covariance == "shared" or self.relative:
            most = 0
        seed = self.random_state
        if not is_whole(seed):
            seed = check_random_state(seed).randint(2**31 - 1)
        reservoir = calibration == "reservoir" or self.trim > 0
        return Collected(
            most,
            aside=SPLIT_ROWS if calibration == "split" else 0,
            aside_share=SPLIT_SHARE,
            sample=(0 if self.normalize_ else PILOT_ROWS) + RESERVOIR_ROWS * reservoir,
            least_of_class=LEAST_OF_CLASS * reservoir,
            seed=int(seed),
        )

    # --- rows -------------------------------------------------------------------------------------

    def _rows(self, X, y):
        """Rows as a source; sets n_features_in_ and normalize_."""
        if is_dask_collection(X):
            self._check_rows(example_row(X), True)
            return DaskRows(X, y, self.normalize_, self.n_features_in_)
        if X is None or type(X) in (str, bytes, dict):
            raise ValueError(
                f"X must be a table of numbers or an iterable of batches; got {type(X).__name__}."
            )
        if y is None and not hasattr(X, "shape") and _is_iterable_of_batches(X):
            return self._batch_rows(check_batches(X, type(self).__name__))
        return self._table_rows(self._table(X, reset=True), y)

    def _table_rows(self, X, y):
        y = self._labels(X, y)
        return LocalRows(lambda: self._pieces(X, y), X.shape[1], y, table=True)

    def _batch_rows(self, pairs):
        def batches(reset=False):
            for batch in pairs:
                X, y = _pair(batch)
                if len(X):
                    X, reset = self._table(X, reset), False
                    yield from self._pieces(X, self._labels(X, y))

        if next(batches(reset=True), None) is None:
            raise ValueError("There are no rows to fit; the batches are empty.")
        return LocalRows(batches, self.n_features_in_)

    def _labels(self, X, y):
        """Checked labels of the rows of X; None without labels."""
        if isinstance(y, (list, tuple)):
            refuse_mixed_labels(y)  # numpy would make all of them text
        return None if y is None else check_labels(self, X, y)

    def _pieces(self, X, y=None, numbers=None):
        """Prepared rows and labels, so few at a time that they stay in the cache."""
        for start in range(0, len(X), step := max(256, (numbers or PIECE) // X.shape[1])):
            part = slice(start, start + step)
            yield prepared(X[part], self.normalize_), None if y is None else y[part]

    def _table(self, X, reset=False):
        """A table of which the shape was checked; `prepared` checks the values, part by part.

        An array may be a file in virtual memory, which is not read as a whole.
        """
        X = without_mask(X)
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiu" and len(X):
            self._check_rows(np.zeros((1, X.shape[1]), X.dtype), reset)
            return X
        return self._check_rows(X, reset)

    def _check_rows(self, X, reset=False):
        """Checked rows in single or double precision; resets n_features_in_ and normalize_."""
        refuse_dask_query(X)
        X = as_numpy(self, X)
        if getattr(X, "dtype", None) == np.float16:
            X = np.asarray(X).astype(np.float32)
        X = validate_rows(self, X, reset=reset, dtype=FLOATS)
        if reset:
            embedding = X.dtype == np.float32 and X.shape[1] >= EMBEDDING_FEATURES
            self.normalize_ = embedding if self.normalize == "auto" else bool(self.normalize)
        return X

    # --- distances and their calibration ----------------------------------------------------------

    def _fit_classes(self, stream):
        """Distances to the classes of a stream, and the rows that chose their units."""
        classes, counts, means, lowers, _, sample = stream.ordered()
        if stream.n_rows < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two rows; got n_samples={stream.n_rows}."
            )
        if missing := sorted(set(stream.labels) - set(classes.tolist())):
            warnings.warn(
                "Every row of these classes was set aside to calibrate, and there are no distances "
                f"to them: {missing!r}. Give them more rows or groups.",
                UserWarning,
                stacklevel=4,
            )
        if self.relative and len(counts) < 2:
            raise ValueError("relative=True compares classes with each other: two are needed.")
        if not all(np.isfinite(lower.diagonal()).all() for lower in lowers):
            raise ValueError("Squares of the values overflow; change the columns' units.")
        d, scales, within, n_pilot = stream.n_features, None, 1 / stream.n_features, 0
        if not self.normalize_:  # (the mean variance of unit rows is at most 1/d)
            n_pilot = min(PILOT_ROWS, share_of_rows(stream.n_rows, PILOT_SHARE))
            scales, within = _pilot_scales(sample.at(slice(0, n_pilot)))
        sigma2 = REG * within if self.reg == "auto" else float(self.reg)
        options = sigma2, scales, np.float32 if stream.single else np.float64
        if stream.pooled:
            kappas = factors = np.ones(len(counts))
            metric = shared_metric(means, counts, lowers[0], *options)
            if self.relative:
                metric = relative_metric(counts, metric)
        else:
            pseudo_rows = d if self.pseudo_rows == "n_features" else self.pseudo_rows
            kappas, factors = borrowing(counts, pseudo_rows), mixture_factors(counts, pseudo_rows)
            metric = class_metrics(means, counts, lowers, pseudo_rows, *options)
        rows = row_numbers(counts, kappas)
        model = FittedClasses(classes, counts, rows, factors, sigma2, metric)
        return model, sample.at(slice(0, n_pilot))

    def _finish(self, stream):
        """A detector from one pass: calibrated on rows set aside, or on a sample."""
        model, pilot = self._fit_classes(stream)
        *_, aside, sample = stream.ordered()
        if stream.wanted.aside:
            return Fitted(model, model.limits_apart(aside.rows, aside.codes), "split", PROMISE)
        # The smallest numbers are a uniform sample of all rows, the others of small classes.
        sample = sample.at(slice(pilot.n, None))
        d2 = model.metric.own_sq_distances(sample.rows, sample.codes)
        limits = model.training_limits(d2, sample.codes, stream.wanted.sample - pilot.n)
        return Fitted(model, limits, "reservoir", PROMISE)

    def calibrate(
        self, X: Objects, y: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Rank distances among rows that were not used for training.

        Use it for rows that the network behind the embeddings has not seen: those it was trained on
        lie closer to their classes than new ones. A later `partial_fit` discards it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the known classes.
        y : array-like of shape (n_samples,), default=None
            Their labels; without them there is ``p_none`` only, if there are several classes.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are repeated measurements: a random one of each group is used.

        Returns
        -------
        self : MahalanobisNovelty
            The detector, calibrated.
        """
        model, X = self.fitted_.model, self._check_rows(X)
        codes = np.zeros(len(X), np.intp) if len(model.classes) == 1 else None
        if y is not None:
            codes = known_codes(self._labels(X, y), model.classes)
        if groups is not None:
            check_consistent_length(X, groups)
        self._fitted = self._apart(model, X, codes, groups)
        return self._warn_of_level()

    def _apart(self, model, X, codes, groups):
        """Distances ranked among checked rows that they do not depend on, one of each group."""
        if groups is not None:
            order = check_random_state(self.random_state).permutation(len(X))
            rows = order[np.unique(np.asarray(groups)[order], return_index=True)[1]]
            X, codes = X[rows], None if codes is None else codes[rows]
        limits = model.limits_apart(prepared(X, self.normalize_), codes)
        promise = PROMISE if codes is not None else PROMISE_WITHOUT_LABELS
        promise = promise if groups is None else promise + ", one row of each group"
        return Fitted(model, limits, "calibrated", promise)

    def _queries(self, X):
        """Chunks of checked and prepared queries."""
        numbers = PIECE if self.fitted_.model.metric.pooled else QUERIES
        for part, _ in self._pieces(self._table(X), numbers=numbers):
            yield part

    def mahalanobis(self, X: Objects) -> np.ndarray:
        """Return the squared Mahalanobis distance of each row to each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        d2 : ndarray of shape (n_samples, n_classes)
            Squared distances, columns in the order of ``class_labels_``; with ``relative=True``
            less that to all rows together, so that they may be negative.
        """
        return like(X, self._sq_distances(X))

    def _sq_distances(self, X):
        metric = self.fitted_.model.metric
        return np.concatenate(
            [metric.sq_distances(part.astype(float)) for part in self._queries(X)]
        )

    def _nearest(self, X):
        """The least distance to any class and p_none, (m,) each."""
        fitted = self.fitted_
        least = [fitted.model.metric.nearest(part)[0] for part in self._queries(X)]
        least = np.concatenate(least).astype(float)
        return least, fitted.limits.every.p_values(least)

    def p_values(self, X: Objects) -> np.ndarray:
        """Return how typical each row is of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``class_labels_``: ``guarantee_`` states their guarantee. The
            least possible value is 1/(n_j + 1).
        """
        d2, limits = self._sq_distances(X), self._class_limits()
        return like(X, np.column_stack([t.p_values(d2[:, j]) for j, t in enumerate(limits)]))

    def _class_limits(self):
        limits = self.fitted_.limits.by_class
        if limits is None:
            raise ValueError(
                "The detector was calibrated on rows without labels, which give p_none only; pass "
                "their labels to calibrate."
            )
        return limits

    def _class_counts(self):
        return np.array([limits.n for limits in self._class_limits()])

    @property
    def _n_ranked(self):
        return self.fitted_.limits.every.n

    @property
    def _n_unbounded(self):
        return self.fitted_.limits.every.n_unbounded

    @property
    def _distance_scale(self):
        return self.fitted_.limits.scale

    @property
    def class_labels_(self) -> np.ndarray:
        """Class labels (n_classes,)."""
        return self.fitted_.model.classes

    @property
    def covariance_(self) -> str:
        """The covariances used, "class" or "shared"."""
        return "shared" if self.fitted_.model.metric.pooled else "class"

    @property
    def sigma2_(self) -> float:
        """Variance added to the covariances."""
        return self.fitted_.model.sigma2

    @property
    def method_(self) -> str:
        """Method of the p-values: "loo", "reservoir", "split" or "calibrated"."""
        return self.fitted_.method

    @property
    def guarantee_(self) -> str:
        """Guarantee of the p-values, in words."""
        return self.fitted_.guarantee

    def drift_test(
        self,
        X_batch: Objects,
        y_batch: ArrayLike | None = None,
        *,
        alternative: Alternative = "greater",
    ) -> DriftTest:
        """Test a batch of rows against the calibration rows: an exact rank-sum test.

        The distances depend on neither, so that the ranks of both together are exchangeable if the
        batch was drawn as the calibration rows were. That needs calibration rows that were not used
        for the distances: ``calibration="split"`` or `calibrate`.

        Parameters
        ----------
        X_batch : array-like of shape (n_samples, n_features)
            The batch.
        y_batch : array-like of shape (n_samples,), default=None
            Labels of the batch: each class is compared with its own rows. Without them the whole
            batch is compared with each class in turn; a mixed batch is judged by ``p_pooled``.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Change that the test looks for.

            - "greater": the rows of the batch lie farther out.
            - "less": they lie nearer.
            - "two-sided": either.

        Returns
        -------
        result : DriftTest
            A p-value for each class, and one for all rows together.
        """
        check_choice(alternative, "alternative", ALTERNATIVES)
        if self.method_ not in ("split", "calibrated"):
            raise ValueError(
                "drift_test compares a batch with rows that the distances do not depend on, and "
                f"this detector was calibrated on its training rows (method_={self.method_!r}). "
                "Call calibrate with further rows, or fit with calibration='split'."
            )
        limits, classes = self.fitted_.limits, self.class_labels_
        nearest = self._nearest(X_batch)[0]
        codes = batch_codes(y_batch, nearest, classes)
        if codes is None and limits.by_class is None:
            codes = np.full(len(nearest), -1)  # no class can be compared
        d2 = self._sq_distances(X_batch)

        def class_p_value(j, rows):
            return limit_p_value(self._class_limits()[j], d2[rows, j], alternative)

        pooled = limit_p_value(limits.every, nearest, alternative)
        return compare_by_class(classes, codes, len(nearest), class_p_value, pooled)

    def explain(self, X: Objects, n_classes: int = 3) -> list[dict[str, Any]]:
        """Explain where each row lies: the nearest classes, and the columns that are unusual.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        n_classes : int, default=3
            Number of nearest classes to report.

        Returns
        -------
        explanations : list of dict
            For each row: "p_none"; "nearest", {class: squared distance} of the nearest classes;
            "background", the squared distance to all training rows together (large: unlike
            everything seen; small with a small p_none: between the classes); "contributions",
            {column: share of the squared distance to the nearest class}, which sum to it.
        """
        model = self.fitted_.model
        d2, p = self._sq_distances(X), self._nearest(X)[1]
        Z = np.concatenate(list(self._queries(X))).astype(float)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        background = relative_metric(model.counts, model.metric.shared).background(Z)
        out = []
        for i, order in enumerate(np.argsort(d2, axis=1)[:, :n_classes]):
            parts = model.metric.contributions(Z[i], order[0])
            out.append(
                {
                    "p_none": float(p[i]),
                    "nearest": {model.classes[j].item(): float(d2[i, j]) for j in order},
                    "background": float(background[i]),
                    "contributions": dict(zip(names, parts.tolist(), strict=True)),
                }
            )
        return out


def _farthest(d2, codes, share):
    """Mask (n,) of a share of each class, its farthest rows."""
    mask = np.zeros(len(d2), bool)
    for j in range(codes.max() + 1):
        members = np.flatnonzero(codes == j)
        farthest = np.argsort(-d2[members], kind="stable")[: int(share * len(members))]
        mask[members[farthest]] = True
    return mask


class MedianDistances(NamedTuple):
    """Distances to the medians (c, d) of the columns in each class, in units (d,)."""

    medians: np.ndarray
    units: np.ndarray

    def own_sq_distances(self, X, codes):
        """d² of each row to its own class, (m,)."""
        return row_sq_norms((X - self.medians[codes]) / self.units)


def _median_distances(sample, n_classes):
    X = sample.rows.astype(float)
    medians = np.array([np.median(X[sample.codes == j], axis=0) for j in range(n_classes)])
    units = np.median(np.abs(X - medians[sample.codes]), axis=0)
    return MedianDistances(medians, np.where(units > 0, units, np.where(X.std(0) > 0, X.std(0), 1)))


def _is_iterable_of_batches(X):
    """A collection whose items are tables or pairs (X, y), rather than rows of numbers."""
    if not isinstance(X, (list, tuple)):
        return True
    first = X[0] if len(X) else None
    return (hasattr(first, "shape") and np.ndim(first) == 2) or (
        isinstance(first, (list, tuple)) and len(first) > 0 and np.ndim(first[0]) == 2
    )


def _pair(batch):
    """A batch (X, y), or X alone, as a pair."""
    if hasattr(batch, "shape"):
        return batch, None
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise ValueError(f"A batch must be X or a pair (X, y); got {type(batch).__name__}.")
    return batch


def _pilot_scales(pilot):
    """Standard deviations of the columns, and the mean variance within the classes in them."""
    X = pilot.rows.astype(float)
    spread = np.ptp(X, axis=0)
    if ((spread > 0) & (spread < 1e-150)).any() or (spread > 1e150).any():
        raise ValueError("Squares of the values overflow or vanish; change the columns' units.")
    scales = np.where(spread > 0, X.std(axis=0), 1.0)
    X = X / scales
    means = np.zeros((pilot.codes.max() + 1, X.shape[1]))
    counts = np.bincount(pilot.codes)
    np.add.at(means, pilot.codes, X)
    means /= np.maximum(counts, 1)[:, None]
    within = np.square(X - means[pilot.codes]).sum() / max(len(X) - (counts > 0).sum(), 1)
    return scales, within / X.shape[1] or 1.0
