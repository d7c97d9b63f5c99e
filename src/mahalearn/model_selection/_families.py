"""The families that the chooser compares, and the searches of each."""

import time
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._validation import take
from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminantCV, head_scores
from ..classifiers.gaussian import GaussianClassifier
from ..classifiers.kernel_fisher import KernelFisherDiscriminantCV
from ..classifiers.kernel_neighbors import KernelKNeighborsClassifierCV
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminantCV
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminantCV
from ..classifiers.kernel_ridge import KernelRidgeClassifierCV
from ..classifiers.learned_metric import RecursiveFeatureMachine
from ..classifiers.one_vs_rest_svm import OneVsRestSVCCV
from ..classifiers.svm import MahalanobisSVCCV
from ..formulas.calibration import fit_temperature
from . import grids
from .scoring import fold_metrics, nearly_best, refuse_nan

# Covariances from the simplest to the richest; of equal scores the first wins.
GAUSSIANS = (
    {"covariance": ["diag"], "pooled": [True, False]},
    {"covariance": ["full"], "pooled": [True, False], "shrinkage": [0.6, 0.3, 0.1, "auto", None]},
)
# The SVM's C with a further kernel, where machines are the costliest members.
FEWER_CS = (1.0, 10.0, 100.0)
# Of equal scores the first wins: more regularisation, the diagonal metric.
LEARNED_METRICS = {"metric": ["diagonal", "full"], "reg": [1e-2, 1e-3, 1e-4], "length": [1.0]}
# What tells the searches of one family apart.
NAMED = ("discriminant", "n_components")
# Up to this size a first search is simply tried; beyond it, it is timed on parts of the objects.
PILOT = 500
# Of each class as many objects are in such a part, if it has them.
PILOT_CLASS = 10


class Comparison(NamedTuple):
    """What every family is given: the same objects, splits and score.

    X are standardised vectors, objects or the kernel matrix (then kernel is "precomputed"); kernel
    may be a list of kernels on objects, from which each family takes its best; spread is the mean
    centred self-similarity of a kernel of unknown scale, None for a kernel by name; weights those
    of the objects, None where they are equal.
    """

    X: object
    y: np.ndarray
    splits: list
    kernel: object
    spectrum: str
    scoring: object
    n_jobs: object
    n_varying: int = 1
    spread: float | None = None
    knows_queries: bool = True  # whether k(x, x) of a query is known
    weights: np.ndarray | None = None
    first_kernel: bool = True  # False for the further ones of several kernels by name
    kinds: list | None = None  # the forms of a measure that several kernels on objects are

    def part(self, rows):
        """The same for a part of the objects, with its part of the splits."""
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        X = self.X[np.ix_(rows, rows)] if pairwise else take(self.X, rows)
        position = np.full(len(self.y), -1)
        position[rows] = np.arange(len(rows))
        y = self.y[rows]
        splits = [tuple(position[s][position[s] >= 0] for s in split) for split in self.splits]
        # A part of the objects may leave a split nothing to learn from or to test.
        kept = [s for s in splits if len(s[1]) and len(np.unique(y[s[0]])) > 1]
        splits = kept or [(np.arange(1, len(y)), np.zeros(1, dtype=int))] * len(splits)
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(X=X, y=y, splits=splits, weights=weights)


class Found(NamedTuple):
    """The best of a search: an unfitted estimator, what was searched, its score in each fold.

    held_out (m, c): its scores of the held-out objects of all splits, one split after the other.
    """

    estimator: object
    params: dict
    fold_scores: np.ndarray
    temperature: float
    held_out: np.ndarray | None = None


# --- kernels: the searches with shared factorisations ---------------------------------------------


def kernel_grids(given, fine=False, bounded=False):
    """Keyword arguments of the kernel searches; fine: one width at a time, the middle first.

    bounded: whether, of the forms of a measure, exp(−γd²) suits rather than −d and −d².
    """
    if isinstance(given.kernel, list):
        kinds = given.kinds or [None] * len(given.kernel)
        pairs = zip(given.kernel, kinds, strict=True)
        kept = [kernel for kernel, kind in pairs if (kind == "rbf") == bounded]
        return [{"kernels": kept or given.kernel}]
    if given.kernel in ("rbf", "laplacian"):
        # Members with a further kernel add less: every second width does.
        gammas = np.array(grids.GAMMAS[:: 1 if given.first_kernel else 2]) / given.n_varying
        if not fine:
            return [{"kernel": given.kernel, "gammas": gammas.tolist()}]
        middle_first = sorted(gammas, key=lambda g: abs(np.log(g / gammas[len(gammas) // 2])))
        return [{"kernel": given.kernel, "gammas": [float(g)]} for g in middle_first]
    if given.kernel in ("poly", "polynomial"):
        return [{"kernel": given.kernel, "gammas": [1 / given.n_varying]}]
    return [{"kernel": given.kernel}]


def _dissimilarity_space(given):
    # Distances RC need k(x, x) of the query itself; those of FK do not.
    variants = ("RC+",) if given.knows_queries else ("FK+",)
    return [DissimilaritySpaceDiscriminantCV(head, variants) for head in ("fisher", "quadratic")]


def _svm(given):
    # C is measured in the kernel's scale.
    scale = 1.0 if given.spread is None else given.spread
    return [OneVsRestSVCCV([C / scale for C in (grids.CS if given.first_kernel else FEWER_CS)])]


def _on_kernels(searches, bounded=False):
    """The searches of a family, searches(given), for each part of the kernel grid."""

    def build(given, fine):
        return [
            partial(_path_search, search, grid)
            for grid in kernel_grids(given, fine, bounded)
            for search in searches(given)
        ]

    return build


def _path_search(search, grid, given):
    flips = isinstance(search, OneVsRestSVCCV)
    flips |= isinstance(search, KernelRidgeClassifierCV) and bool(given.spread)
    search.set_params(
        **grid,
        cv=given.splits,
        spectrum="flip" if flips and given.spectrum == "krein" else given.spectrum,
        standardize=False,
        scoring=given.scoring,
        n_jobs=given.n_jobs,
    ).fit(given.X, given.y)
    fixed = {name: value for name, value in search.get_params(False).items() if name in NAMED}
    return _found(search, fixed)


def _found(search, fixed=None):
    """What a search found."""
    return Found(
        clone(search.best_estimator_),
        {**(fixed or {}), **search.best_params_},
        fold_scores(search.cv_results_, search.best_index_),
        search.temperature_,
        search.oof_scores_,
    )


# --- vectors: the searches that refit -------------------------------------------------------------


def _gaussian(given):
    candidates = list(ParameterGrid(list(GAUSSIANS)))
    if given.weights is not None:  # Ledoit and Wolf's formula has no weights
        candidates = [params for params in candidates if params.get("shrinkage") != "auto"]
    return _refitted(GaussianClassifier, candidates, given, given.weights)


def _learned_metric(given):
    return _refitted(RecursiveFeatureMachine, list(ParameterGrid(LEARNED_METRICS)), given)


def _refitted(plain, candidates, given, weights=None):
    """The best of candidates without shared factorisations: each is fitted in each fold."""
    folds = Parallel(n_jobs=given.n_jobs)(
        delayed(_held_out)(plain(**params), given, weights, *split)
        for params in candidates
        for split in given.splits
    )
    n = len(given.splits)
    tables = [np.vstack(folds[i * n : (i + 1) * n]) for i in range(len(candidates))]
    classes = np.unique(given.y)
    truth = np.concatenate([given.y[test] for _, test in given.splits])
    starts = np.cumsum([0] + [len(test) for _, test in given.splits])
    scores = [fold_metrics(table, truth, starts, classes, given.scoring) for table in tables]
    means = np.mean(scores, axis=1)
    refuse_nan(means, given.scoring)
    best = int(np.argmax(nearly_best(means)))
    params, held_out = candidates[best], tables[best]
    temperature = fit_temperature(held_out, np.searchsorted(classes, truth))
    return Found(plain(**params), params, scores[best], temperature, held_out)


def _held_out(model, given, weights, train, test):
    """Scores (m, c) of the test part, −inf for classes that the training part does not have."""
    more = {} if weights is None else {"sample_weight": weights[train]}
    model.fit(given.X[train], given.y[train], **more)
    classes = np.unique(given.y)
    table = np.full((len(test), len(classes)), -np.inf)
    table[:, np.isin(classes, model.classes_)] = head_scores(model, given.X[test])
    return table


def _mahalanobis_svm(given, fine):
    """All C at once, or one at a time, the middle first."""

    def search(given, Cs):
        options = {"scoring": given.scoring, "cv": given.splits, "n_jobs": given.n_jobs}
        search = MahalanobisSVCCV(Cs, grids.DELTAS, "grid", covariance_from="all", **options)
        return _found(search.fit(given.X, given.y, sample_weight=given.weights))

    middle_first = sorted(grids.CS, key=lambda C: abs(np.log(C / 10)))
    parts = [[C] for C in middle_first] if fine else [grids.CS]
    return [partial(search, Cs=Cs) for Cs in parts]


def fold_scores(results, index):
    """Scores of one candidate in each fold, from cv_results_."""
    n_splits = sum(key.startswith("split") for key in results)
    return np.array([results[f"split{f}_test_score"][index] for f in range(n_splits)])


# --- the table ------------------------------------------------------------------------------------


class Family(NamedTuple):
    """builder(given, fine) lists searches: functions of a Comparison that return a Found.

    inputs: what "auto" compares the family on: "vectors" (with the first kernel by name), "kernels"
    (with each further one), "objects" (a kernel on objects, or a matrix).
    """

    builder: object
    needs_vectors: bool
    growth: int  # power of the number of objects that the time grows with
    inputs: tuple = ("vectors", "objects")


# In the order of preference among equals, by what a fitted model keeps: means and covariances; the
# support vectors; all objects with a weight for each class; a matrix of every class; that and a
# second classifier; an embedding and its classifier.
FAMILIES = {
    "gaussian": Family(lambda given, fine: [_gaussian], True, 1, ("vectors",)),
    "mahalanobis_svm": Family(_mahalanobis_svm, True, 2, ("vectors",)),
    "learned_metric": Family(lambda given, fine: [_learned_metric], True, 3, ()),
    "svm": Family(_on_kernels(_svm, bounded=True), False, 2, ("kernels", "objects")),
    "kernel_fisher": Family(
        _on_kernels(lambda given: [KernelFisherDiscriminantCV()]),
        False,
        3,
        ("vectors", "kernels", "objects"),
    ),
    "kqd": Family(
        _on_kernels(lambda given: [KernelQuadraticDiscriminantCV(("RC+", "FK+"))]),
        False,
        3,
        ("vectors", "kernels", "objects"),
    ),
    "dissimilarity_space": Family(_on_kernels(_dissimilarity_space), False, 3),
    "kernel_pca": Family(
        _on_kernels(
            lambda given: [KernelPCAQuadraticDiscriminantCV(n_components=p) for p in (0.8, 0.95)]
        ),
        False,
        3,
    ),
    "kernel_ridge": Family(
        _on_kernels(lambda given: [KernelRidgeClassifierCV()]), False, 3, ("objects",)
    ),
    "neighbors": Family(
        _on_kernels(lambda given: [KernelKNeighborsClassifierCV()]), False, 2, ("objects",)
    ),
}
# In the order of what the search costs, for a budget of time.
BY_COST = (
    "gaussian",
    "neighbors",
    "kernel_ridge",
    "kernel_fisher",
    "kernel_pca",
    "kqd",
    "dissimilarity_space",
    "learned_metric",
    "svm",
    "mahalanobis_svm",
)


# Families whose members can be trained with weights of the objects.
WEIGHTED = ("gaussian", "mahalanobis_svm")


class OutOfTime(Exception):
    """A family was not searched, because it would not have fitted into the time."""


def search_family(name, given, deadline=None):
    """The best of a family: (Found, number of searches done, number of searches).

    With a deadline searches are small, and none starts that is not expected to end in time. The
    first is expected to take what it takes on parts of the objects, extrapolated.
    """
    family = FAMILIES[name]
    searches = family.builder(given, deadline is not None)
    best, expected = None, 0.0
    if deadline is not None and len(given.y) > PILOT:
        expected = _pilot_seconds(searches[0], given, family.growth, deadline)
    for done, search in enumerate(searches):
        start = time.monotonic()
        if deadline is not None and start + expected > deadline:
            if best is None:
                raise OutOfTime(f"it needs about {expected:.0f} s" if expected else "no time left")
            return best, done, len(searches)
        found = search(given)
        # A later search must be better by more than rounding.
        if (
            best is None
            or not nearly_best(np.array([best.fold_scores.mean(), found.fold_scores.mean()]))[0]
        ):
            best = found
        expected = time.monotonic() - start
    return best, len(searches), len(searches)


def _pilot_seconds(search, given, growth, deadline):
    """What the search will take: a + b·n^growth through two parts of the objects.

    Half the objects of the second part must leave time for the whole of it.
    """
    order, n_classes = _pilot_order(given.y)
    sizes = np.minimum(np.array([1, 2]) * max(PILOT // 2, n_classes), len(order))
    seconds = []
    for size in sizes:
        start = time.monotonic()
        search(given.part(np.sort(order[:size])))
        seconds.append(time.monotonic() - start)
        if time.monotonic() + 2 * seconds[-1] > deadline:
            return 2 * seconds[-1]
    powers = sizes.astype(float) ** growth
    b = max(0.0, (seconds[1] - seconds[0]) / (powers[1] - powers[0]))
    return seconds[1] + b * (float(len(given.y)) ** growth - powers[1])


def _pilot_order(y):
    """Rows in an order whose beginnings are small copies of the whole, and the number of classes.

    Any beginning that is not shorter than the number of classes has all of them. A few objects of
    each come first, since splits of a class's single object would leave none to train on.
    """
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(0).permutation(len(y))
    place = np.empty(len(y))
    for j, count in enumerate(counts):
        place[drawn[codes[drawn] == j]] = np.arange(count)
    few = max(1, min(PILOT_CLASS, PILOT // 2 // len(counts)))
    return np.argsort(np.where(place < few, 0, place / counts[codes]), kind="stable"), len(counts)
