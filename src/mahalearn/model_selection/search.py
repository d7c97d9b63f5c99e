"""Searches over kernels and a path of values by exact cross-validation.

A search asks the plain estimator itself for the held-out scores of every fold along the path
(``KernelClassifier._fold_scores``), so that its scores are those of ``GridSearchCV`` over the plain
estimator with the same splits. Scales (γ = "scale", standardised columns, the mean training
distance of a measure) are resolved once, on all training objects and without their labels, to
numbers; one matrix per number then serves all folds.
"""

import numbers
import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from .._base import BestAttributesMixin, BestEstimatorMixin, refuses_weights
from .._progress import with_bar
from .._typing import CV, Ints, Kernel, Objects, Scoring, Widths
from .._validation import (
    LANDMARKS_REMEDY,
    check_choice,
    check_classes,
    check_memory,
    check_objects,
    check_positive,
    is_dask_collection,
    is_whole,
    refuse_dask,
    refuse_dask_labels,
    refuse_objects,
)
from ..formulas.calibration import fit_temperature
from ..formulas.linalg import total_spread
from ..formulas.offsets import settled, settling_step
from ..formulas.spectrum import SPECTRA
from ..kernels.measure import MeasureKernel
from ..kernels.protocol import (
    POLYNOMIAL,
    WITH_GAMMA,
    as_kernel,
    check_kernel_list,
    check_kernel_name,
    fit_named_kernel,
    is_named,
    is_precomputed,
    resolve_gamma,
    standardizes,
    takes_vectors,
)
from ..training.folds import KernelFolds
from . import grids
from .scoring import fold_metrics, refuse_nan

# Mean scores that differ by less are equal: the tie rule decides.
TIE = 1e-10
# Folds of small data are repeated as long as that scores at most this many objects, twice or as
# often as there are this many splits.
SCORED = 600
MOST_REPEATS, MOST_SPLITS = 2, 10

# What the docstrings of the searches have in common.
SEARCH_PARAMETERS = """gammas : sequence of float, default=None
        Widths of the kernels rbf, laplacian, poly, sigmoid or chi2. If None, nine multiples of
        "scale" from 0.03 to 32 (for poly "scale" alone). "scale" and "auto" are possible.
    degrees : sequence of int, default=None
        Degrees of the polynomial kernel; 1 to 4 if None.
    kernels : sequence of kernels, default=None
        Kernels to compare, in place of `kernel`: names, measures, kernel objects. A measure is
        computed once, however many kernels are made of it.
    kernel : str or callable, default="rbf"
        As in the plain estimator; or "elastic" for time series: the Euclidean distance, DTW with
        bands of 5 %, 10 % and without, and MSM are compared.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    spectrum : str, default="krein"
        What to do about negative eigenvalues, as in the plain estimator.
    standardize : {"auto", True, False}, default="auto"
        Whether columns are standardised, as in the plain estimator; decided once, on all training
        objects.
    cv : int, splitter or iterable, default=5
        Cross-validation, as in scikit-learn; ``LeaveOneOut()`` has a closed form for RC+ and for
        ridge regression.
    scoring : str or callable, default=None
        What to maximise: accuracy if None; "balanced_accuracy" or any other scikit-learn scorer.
        Probabilities are calibrated before they are scored, as those of the search are.
    n_jobs : int, default=None
        Number of processes over the kernels.
    verbose : int, default=0
        A progress bar is shown if this is not 0 (``pip install "mahalearn[progress]"``)."""
LANDMARK_PARAMETERS = """landmarks : int, "auto", objects, LandmarkMap or None, default=None
        None uses all training objects. With m landmarks fitting takes one pass over the data, of
        any number of objects, and memory m² per class; distances are then approximations (see the
        user guide, docs/scale.md). A number; "auto" for as few as cross-validate within one
        standard error of the best, as far as memory allows; or the landmarks themselves, for
        ``kernel="precomputed"`` their positions among the rows of X, whose columns are then all
        training objects or the landmarks. ``LandmarkMap(landmarks, method=..., rtol=...,
        random_state=...)`` also says how they are chosen and where their spectrum is cut.

        .. versionadded:: 0.2"""
SEARCH_ATTRIBUTES = """Attributes
    ----------
    best_params_ : dict
        Parameters of the best candidate, all that differ from the plain estimator's defaults. Among
        equal scores the one with more regularisation, then the wider kernel (or lower degree).
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : estimator
        The best candidate fitted on all objects; what it has, the search has too.
    cv_results_ : dict
        Parameters and scores of all candidates in scikit-learn's layout (without times, which
        candidates share).
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_splits_ : int
        Number of folds.
    temperature_ : float
        What scores are divided by before they become probabilities, from the held-out scores.
    oof_scores_ : ndarray of shape (n_held_out, n_classes)
        Held-out scores of the best candidate, the test parts of the splits one after the other;
        −inf for a class that a training part does not have.

        .. versionadded:: 0.2
    n_features_in_ : int
        Number of features seen in `fit`, where the input is a table."""


def documented(estimator):
    """Put the common parts into the docstring of an estimator."""
    for name, text in (
        ("{search parameters}", SEARCH_PARAMETERS),
        ("{landmark parameters}", LANDMARK_PARAMETERS),
        ("{search attributes}", SEARCH_ATTRIBUTES),
    ):
        estimator.__doc__ = estimator.__doc__.replace(name, text)
    return estimator


class Setting(NamedTuple):
    """A kernel to try: parameters of the plain estimator, and how its matrix is found.

    pairs: key of the pair values that the kernel is a map of, None where it has none; fitted: the
    kernel as fitted once for all folds, None where it learns in each fold or X is the matrix.
    """

    params: dict
    pairs: object = None
    fitted: object = None


class Candidate(NamedTuple):
    """Parameters and held-out scores (m, c) of all folds one after the other, their rounding.

    step: the rank of the path's value among those tried with the same kernel and variant.
    """

    params: dict
    setting: Setting
    step: int
    scores: np.ndarray
    rounding: np.ndarray


class KernelSearchCV(BestAttributesMixin, BestEstimatorMixin, BaseEstimator):
    """A search over kernels, variants and a path of values, all folds from shared factorisations.

    A subclass says which estimator it searches for (`_plain`) and which values its path has
    (`_grid`, or `_values`).
    """

    _in_0_1: dict[str, Any] = {
        "standardize": False,
        "landmarks": None,
        "random_state": None,
    }
    landmarks: Any = None  # searches of estimators that have a form at landmarks set it

    def __init__(
        self,
        *,
        gammas: Widths | None = None,
        degrees: Ints | None = None,
        kernels: Sequence[Kernel] | None = None,
        kernel: Kernel = "rbf",
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        spectrum: str = "krein",
        standardize: bool | str = "auto",
        cv: CV = 5,
        scoring: Scoring | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.gammas = gammas
        self.degrees = degrees
        self.kernels = kernels
        self.kernel = kernel
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.spectrum = spectrum
        self.standardize = standardize
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __setstate__(self, state):
        super().__setstate__({**self._in_0_1, **state})

    def _variants(self):
        """Parameters of the plain estimator beside kernel and path, a dict for each variant."""
        return [{}]

    def _values(self, variant, spread, n_train):
        """The values of the path, by default those of `regs`, or of the grid named by `_grid`.

        spread: what regularisation is measured in; n_train: size of the smallest training part.
        """
        return self._regs(self._grid, spread)

    def _regs(self, grid, spread):
        """Regularisation values: those given, or a grid's for a kernel of this spread.

        The plain default is among the latter.
        """
        if self.regs is not None:
            return check_path(self.regs, "regs")
        values, power = grids.REGS[grid]
        plain = self._plain().reg  # "auto" stands for values of the grid
        plain = set() if isinstance(plain, str) else {float(plain)}
        return [v * spread**power for v in sorted({*values} | plain)]

    def _check_parameters(self):
        """Refuse what the refitted estimator would refuse in the end."""
        check_choice(self.spectrum, "spectrum", SPECTRA)
        for variant in self._variants():
            self._plain(**{**self._common(), **variant})._check_parameters()
            self._values(variant, 1.0, np.inf)

    def _check_splits(self, splits, n):
        """Warn of splits that do not suit the method."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernels is None and is_precomputed(self.kernel)
        return tags

    @refuses_weights
    def fit(self, X: Any, y: Objects | None = None, groups: Objects | None = None) -> Self:
        """Search, then fit the best on all objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or their square kernel matrix (``kernel="precomputed"``). With
            landmarks also batches and dask collections, as in the plain estimator: their folds are
            random, and the scores are those of a sample of at most 20,000 rows.
        y : array-like of shape (n_samples,), default=None
            Class labels; None where X is an iterable of batches.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter `cv`.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._check_parameters()
        if self.landmarks is not None and (is_dask_collection(X) or not hasattr(y, "__len__")):
            return self._fit_parts(X, y, groups)
        if self.landmarks is not None:
            refuse_dask_labels(y)
        refuse_dask(self, X, y)
        given = X  # the best estimator is to see the names of the columns too
        kernels = [self.kernel] if self.kernels is None else check_kernel_list(self.kernels)
        if all(takes_vectors(kernel) for kernel in kernels):
            # At landmarks rows stay in the precision that they come in.
            refuse_objects(X)
            floats = np.float64 if self.landmarks is None else [np.float64, np.float32]
            X, y = validate_data(self, X, y, dtype=floats)
        else:
            X, y = check_objects(X), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        self.classes_, codes = check_classes(y)
        splits = check_splits(splits_of(self.cv, X, y, groups), y)
        self.n_splits_ = len(splits)
        self._check_splits(splits, len(y))
        n = len(codes)
        objects = SearchedObjects(X, y, codes, splits, {})
        if self.landmarks is None:
            # The pair values that kernels share, a kernel matrix and its factors.
            check_memory(
                4 * n**2, f"The search on the kernel matrix of {n} objects", LANDMARKS_REMEDY
            )
        settings = self._settings(objects)
        if self.landmarks is not None:
            plain = self._plain(**{**self._common(), **settings[0].params})
            data = plain._landmark_data(X, y)
            data = plain._with_landmarks_chosen(data, shared=_one_name(settings))
            objects = objects._replace(landmarks=data)
        setting = self._evaluate(self._candidates(objects, settings), objects)
        self._refit(given, y, objects, setting)
        return self

    def _fit_parts(self, X, y, groups):
        """The same for batches or a dask collection: folds are random, their scores a sample's."""
        if groups is not None or not isinstance(self.cv, numbers.Integral):
            raise ValueError(
                "Batches and dask collections are divided into folds at random: cv must be a "
                f"number, and groups are not taken; got cv={self.cv!r}."
            )
        kernel = self.kernel if self.kernels is None else check_kernel_list(self.kernels)[0]
        plain = self._plain(**{**self._common(), "kernel": kernel})
        data = plain._landmark_parts(X, y, int(self.cv))
        self.classes_ = plain.classes_
        splits = data.splits()
        self.n_splits_ = len(splits)
        codes = np.searchsorted(self.classes_, data.y)
        named = is_named(kernel)  # two rows have the mean and the spread of all
        rows = data.scanned.two_rows() if named else data.X
        settings = self._settings(SearchedObjects(rows, data.y, codes, splits, {}))
        plain = self._plain(**{**self._common(), **settings[0].params})
        data = plain._with_landmarks_chosen(data, shared=_one_name(settings))
        objects = SearchedObjects(data.X, data.y, codes, splits, {}, data)
        setting = self._evaluate(self._candidates(objects, settings), objects)
        self._refit(X, y, objects, setting)
        return self

    # --- kernels ----------------------------------------------------------------------------------

    def _settings(self, objects):
        """The kernels to try, in order of preference among equals; computes measures."""
        if self.kernels is None:
            return self._settings_of(self.kernel, objects)
        if self.gammas is not None or self.degrees is not None:
            raise ValueError("Pass either kernels= or gammas=/degrees=, not both.")
        if any(is_precomputed(kernel) for kernel in self.kernels):
            raise ValueError(
                "kernels= cannot hold 'precomputed'; use PrecomputedKernel(K) objects."
            )
        return [s for kernel in self.kernels for s in self._settings_of(kernel, objects)]

    def _settings_of(self, kernel, objects):
        name = check_kernel_name(kernel) if is_named(kernel) else kernel
        if self.gammas is not None and not (is_named(name) and name in WITH_GAMMA):
            raise ValueError(f"gammas= is for the kernels {', '.join(WITH_GAMMA)}; got {name!r}.")
        if self.degrees is not None and not (is_named(name) and name in POLYNOMIAL):
            raise ValueError(f"degrees= is for the polynomial kernel; got kernel={name!r}.")
        if is_named(name):
            return self._named_settings(name, objects.X)
        if is_precomputed(kernel):
            return [Setting({"kernel": "precomputed"})]
        own = as_kernel(kernel, kernel_params=self.kernel_params)
        if not isinstance(own, MeasureKernel):
            return [Setting({"kernel": kernel})]
        return [self._measure_setting(k, objects) for k in own.alternatives(objects.X)]

    def _measure_setting(self, own, objects):
        """One matrix of the measure serves every kernel of it; its scale becomes a number."""
        if self.landmarks is not None or not own.measure_is_stateless:
            return Setting({"kernel": own})
        key, n = own.pair_key, len(objects.y)
        if key not in objects.pairs:
            check_memory((5 + len(objects.pairs)) * n**2, f"The measures of {n} objects")
            objects.pairs[key] = own.pair_values(objects.X, objects.X)
        own.fit_pairs(objects.pairs[key])
        if isinstance(own.scale, str):
            own.set_params(scale=own.scale_)
        return Setting({"kernel": own}, key, own)

    def _named_settings(self, name, X):
        standardize = standardizes(self.standardize, name, X)
        first = fit_named_kernel(name, X, coef0=self.coef0, standardize=standardize)
        params = {"kernel": name, "standardize": standardize}
        widths = [{}]
        if name in WITH_GAMMA:
            widths = [{"gamma": gamma} for gamma in self._gammas(name, first, X)]
        if name in POLYNOMIAL:
            degrees = sorted(grids.DEGREES if self.degrees is None else self.degrees)
            for degree in degrees:
                check_positive(degree, "Each of degrees")
            widths = [{"degree": degree, **width} for degree in degrees for width in widths]
        return [self._named_setting(name, X, {**params, **width}) for width in widths]

    def _gammas(self, name, first, X):
        """Numbers in ascending order: wider kernels win ties."""
        if self.gammas is None:
            multiples = (1.0,) if name in POLYNOMIAL else grids.GAMMAS
            return sorted(float(first.gamma * m) for m in multiples)
        Z = first.standardized(X)
        if not len(self.gammas):
            raise ValueError("gammas= is empty; it must hold at least one width.")
        return sorted({resolve_gamma(gamma, Z) for gamma in self.gammas})

    def _named_setting(self, name, X, params):
        named = {k: v for k, v in params.items() if k != "kernel"}
        fitted = fit_named_kernel(name, X, coef0=self.coef0, **named)
        # One standardisation for all widths of a name: its numbers need not be part of the key.
        standardized = fitted.scale is not None
        key = None if fitted.pair_key is None else (fitted.pair_key, standardized)
        return Setting(params, key, fitted)

    # --- scores -----------------------------------------------------------------------------------

    def _candidates(self, objects, settings):
        """Every candidate, kernel by kernel, those of one matrix of pair values together."""
        found = self._found(objects, settings)
        if self.verbose:
            found = with_bar(found, len(settings), "kernels")
        return chain.from_iterable(found)

    def _found(self, objects, settings):
        """The candidates of each kernel."""
        alone = objects._replace(pairs={})  # other processes get what they need of them
        for group in _grouped(settings):
            pairs = self._pairs(objects, group)
            run = Parallel(n_jobs=self.n_jobs, return_as="generator")
            yield from run(delayed(self._run)(alone, setting, pairs) for setting in group)

    def _pairs(self, objects, group):
        """The pair values that kernels share, None where a kernel alone needs them."""
        first = group[0]
        if objects.landmarks is not None:
            return None
        if first.pairs in objects.pairs:
            return objects.pairs[first.pairs]
        if first.pairs is None or len(group) == 1:
            return None
        return first.fitted.pair_values(objects.X, objects.X)

    def _run(self, objects, setting, pairs):
        """Candidates of one kernel."""
        folds = self._folds(objects, setting, pairs)
        found = []
        for variant in self._variants():
            n_train = min(len(train) for train, _ in objects.splits)
            values = self._values(variant, kernel_spread(folds, setting), n_train)
            plain = self._plain(**{**self._common(), **setting.params, **variant})
            at_landmarks = objects.landmarks is not None
            fold_scores = plain._landmark_fold_scores if at_landmarks else plain._fold_scores
            scores, rounding = assembled_scores(
                fold_scores(folds, values), objects.splits, len(values), len(self.classes_)
            )
            for r, value in enumerate(values):
                params = {**setting.params, **variant, plain._axis: value}
                step = sum(other < value for other in values)
                found.append(Candidate(params, setting, step, scores[..., r], rounding[..., r]))
        return found

    def _folds(self, objects, setting, pairs):
        if objects.landmarks is not None:  # one pass per kernel; the folds keep their moments apart
            plain = self._plain(**{**self._common(), **setting.params})
            return plain._landmark_folds(objects.landmarks, objects.splits)
        kernel, gram = setting.fitted, None
        if kernel is None:
            precomputed = is_precomputed(setting.params["kernel"])
            kernel = None if precomputed else setting.params["kernel"]
        elif pairs is not None:
            gram = kernel.from_pairs(pairs)
        else:
            gram = kernel(objects.X, objects.X)
        return KernelFolds(
            objects.X,
            objects.y,
            objects.codes,
            objects.splits,
            kernel,
            check_choice(self.spectrum, "spectrum", SPECTRA),
            gram,
            kernel_params=self.kernel_params,
        )

    # --- the choice -------------------------------------------------------------------------------

    def _evaluate(self, candidates, objects):
        """cv_results_, the best candidate and its temperature; returns its kernel."""
        truth = np.concatenate([objects.y[test] for _, test in objects.splits])
        starts = np.cumsum([0] + [len(test) for _, test in objects.splits])
        table, params, leading = [], [], []
        for i, candidate in enumerate(candidates):
            metrics = fold_metrics(
                candidate.scores, truth, starts, self.classes_, self.scoring, candidate.rounding
            )
            table.append(metrics)
            params.append(candidate.params)
            mean = metrics.mean()
            if not leading or not mean < leading[0][0] - TIE:
                leading = [(mean, i, candidate), *leading]
                top = max(m for m, *_ in leading)
                leading = sorted((x for x in leading if x[0] >= top - TIE), key=lambda x: -x[0])
        table = np.array(table)
        refuse_nan(table.mean(axis=1), self.scoring)
        self.cv_results_ = results_table(params, table)
        # Ties: more regularisation first, then the earlier kernel (wider, of lower degree).
        best = max(leading, key=lambda x: (x[2].step, -x[1]))
        self.best_index_ = best[1]
        self.best_score_ = float(best[0])
        common = {**self._common(), **best[2].params}
        searched = set(best[2].params)
        if objects.landmarks is not None and objects.landmarks.seed is not None:
            common["random_state"] = objects.landmarks.seed
        self.best_params_ = differing(self._plain(), common, searched)
        codes = np.searchsorted(self.classes_, truth)
        scores = best[2].scores
        self.temperature_ = fit_temperature(scores, codes)
        self.oof_scores_ = settled(scores, settling_step(scores, best[2].rounding))
        return best[2].setting

    def _refit(self, given, y, objects, setting):
        known = None
        if objects.landmarks is not None:
            known = objects.landmarks.chosen
        elif setting.pairs in objects.pairs:  # a measure is not computed again
            known = setting.fitted, setting.fitted.from_pairs(objects.pairs[setting.pairs])
        self.best_estimator_ = self._plain(**self.best_params_)._fit(given, y, known)


class SearchedObjects(NamedTuple):
    """Training objects as given, their labels, class indices and splits; pair values by key.

    landmarks: a first look at the objects and the landmarks chosen, None without landmarks.
    """

    X: Any
    y: Any
    codes: np.ndarray
    splits: list
    pairs: dict
    landmarks: Any = None


def assembled_scores(fold_scores, splits, n_values, n_classes):
    """Held-out scores (M, c, r) of all folds one after the other, and their rounding (M, r).

    fold_scores: as `KernelClassifier._fold_scores` gives them. −inf for a class that a fold has not
    seen.
    """
    starts = np.cumsum([0] + [len(test) for _, test in splits])
    scores = np.full((starts[-1], n_classes, n_values), -np.inf)
    rounding = np.zeros((starts[-1], n_values))
    done = np.zeros((len(splits), n_values), dtype=bool)
    for f, steps, present, found, noise in fold_scores:
        rows = slice(starts[f], starts[f + 1])
        scores[rows, present, steps] = found
        rounding[rows, steps] = noise
        done[f, steps] = True
    assert done.all()
    return scores, rounding


def kernel_spread(folds, setting):
    """What regularisation is measured in: the spread |trace HKH|/n of a kernel of unknown scale.

    1 for kernels with self-similarities 1, for kernels of dissimilarities that are scaled already,
    and for those that learn in each fold.
    """
    kernel = setting.fitted
    scaled = getattr(kernel, "scale_", None) is not None and kernel.scale is not None
    if folds.lookup is None or scaled or getattr(kernel, "name", "") in _UNIT:
        return 1.0
    diagonal = folds.lookup.K.diagonal()
    unit = np.ptp(diagonal) <= 1e-10 and abs(diagonal[0] - 1) <= 1e-10
    return 1.0 if unit else total_spread(folds.lookup.K)


_UNIT = ("rbf", "laplacian", "cosine", "chi2")


def _one_name(settings):
    """Whether all kernels to try are of one name, or the same object."""
    first = settings[0].params["kernel"]
    return all(s.params["kernel"] is first or s.params["kernel"] == first for s in settings)


def _grouped(settings):
    """Settings in groups of the same pair values, in their order."""
    groups = {}
    for i, setting in enumerate(settings):
        groups.setdefault(("alone", i) if setting.pairs is None else setting.pairs, []).append(
            setting
        )
    return list(groups.values())


def splits_of(cv, X, y, groups=None):
    """The pairs (train, test) of a splitter, a number of folds or an iterable."""
    if isinstance(cv, numbers.Integral) and cv > 1:
        largest = int(np.unique(y, return_counts=True)[1].max())
        if largest < cv:
            raise ValueError(
                f"cv={cv} folds need a class of {cv} objects at least; the largest has {largest}. "
                + (f"Use cv={largest} or fewer." if largest > 1 else "More objects are needed.")
            )
    return check_cv(cv, y, classifier=True).split(X, y, groups)


def check_splits(splits, y):
    """Pairs of positions (train, test); what cannot be learned from or leaks is refused."""
    splits = check_positions(splits, len(y))
    codes = np.unique(y, return_inverse=True)[1]
    for train, _ in splits:
        if (codes[train] == codes[train[0]]).all():
            raise ValueError(
                "A training part of cv holds a single class, and nothing can be learned from it: "
                "use fewer folds, a stratified splitter, or more objects of each class."
            )
    return splits


def check_positions(splits, n):
    """Pairs of positions (train, test) from 0 to n − 1, of masks and negative positions, too."""
    splits = [tuple(_positions(part, n) for part in split) for split in splits]
    if not splits:
        raise ValueError("cv has no splits; it must give at least one pair (train, test).")
    for train, test in splits:
        if not len(train) or not len(test):
            raise ValueError(
                "A split of cv has an empty part; the training and the test part must hold "
                f"objects, got {len(train)} and {len(test)}."
            )
        learned = np.zeros(n, dtype=bool)
        learned[train] = True
        if learned[test].any():
            raise ValueError("cv has objects that are in the training and the test part at once.")
    return splits


def _positions(part, n):
    part = np.asarray(part)
    if part.dtype == bool and part.shape == (n,):
        return np.flatnonzero(part)
    if not part.size:
        return np.empty(0, np.intp)
    if part.dtype.kind in "iu" and part.ndim == 1:
        lowest = part.min()
        if lowest >= -n and part.max() < n:
            return np.where(part < 0, part + n, part) if lowest < 0 else part
    raise ValueError(
        f"The parts of a split in cv are positions of the {n} objects, whole numbers from 0 to "
        f"{n - 1}; got {part!r}."
    )


def make_splits(cv, X, y, counts, random_state, groups=None):
    """The (train, test) pairs that all families are compared on.

    A number of stratified folds is reduced where most objects are in classes that are smaller, and
    folds are repeated where there are few objects. A split is left out where fewer than two classes
    are left to learn from.
    """
    if is_whole(cv):
        splits = _stratified(cv, y, counts, random_state)
    else:
        splits = check_positions(splits_of(cv, X, y, groups), len(y))
    splits = [split for split in splits if len(np.unique(y[split[0]])) > 1]
    if not splits:
        raise ValueError(
            f"No split of the n_samples={len(y)} objects has two classes in its training part. "
            "Two classes need two objects each."
        )
    return splits


def _stratified(cv, y, counts, random_state):
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds; got {cv}.")
    if counts.max() < 2:
        raise ValueError(
            "Every class has a single object, so nothing can be held out to compare the families: "
            f"n_samples={len(y)}. At least one class needs two objects."
        )
    # At least half of the objects are in classes of this size or larger.
    typical = int(np.sort(np.repeat(counts, counts))[len(y) // 2])
    folds = min(int(cv), max(2, typical))
    if counts.min() < cv:
        warnings.warn(
            f"The smallest class has {counts.min()} object{'s' if counts.min() > 1 else ''}, fewer "
            f"than cv={cv} folds: {folds} folds are used, and scores and probabilities of such "
            "classes are rough.",
            UserWarning,
            stacklevel=4,
        )
    repeats = int(np.clip(SCORED // len(y), 1, max(MOST_REPEATS, MOST_SPLITS // folds)))
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(y)), y))


def is_leave_one_out(splits, n):
    """Whether the splits leave out each of n objects once, and alone."""
    if len(splits) != n or any(len(test) != 1 or len(train) != n - 1 for train, test in splits):
        return False
    # A part of n − 1 positions that holds one twice is another layout.
    once = all(np.bincount(train).max(initial=0) <= 1 for train, _ in splits)
    return once and len({int(test[0]) for _, test in splits}) == n


def results_table(params, table):
    """cv_results_ in scikit-learn's layout: parameters, scores of the folds, mean, std and rank."""
    results = {}
    for name in dict.fromkeys(name for p in params for name in p):
        column = np.ma.masked_all(len(params), dtype=object)
        for i, candidate in enumerate(params):
            if name in candidate:
                column[i] = candidate[name]
        results[f"param_{name}"] = column
    results["params"] = params
    for f in range(table.shape[1]):
        results[f"split{f}_test_score"] = table[:, f]
    mean = table.mean(axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = table.std(axis=1)
    rounded = np.round(mean / TIE) * TIE
    results["rank_test_score"] = np.array(
        [1 + (rounded > value).sum() for value in rounded], dtype=np.int32
    )
    return results


def differing(plain, params, keep=()):
    """Parameters that differ from the plain estimator's defaults, and those to keep anyway."""
    default = plain.get_params(deep=False)
    return {
        name: value
        for name, value in params.items()
        if name in keep or not _same(value, default[name])
    }


def _same(a, b):
    return a is b or (type(a) is type(b) and isinstance(a, (str, int, float, bool)) and a == b)


def check_path(values, name):
    """A list of positive numbers, at least one, as Python's numbers."""
    path = np.asarray(values)
    numbers = path.dtype.kind in "iuf" and path.ndim == 1 and len(path)
    if not numbers or not (np.isfinite(path).all() and (path > 0).all()):
        raise ValueError(f"{name} must be a sequence of positive numbers; got {values!r}.")
    return path.tolist()
