"""The families of the library's classifiers: one table for the ensemble, compare and the papers."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from .._validation import take
from ..classifiers.dissimilarity_space import DissimilaritySpaceDiscriminant
from ..classifiers.gaussian import GaussianClassifier
from ..classifiers.kernel_fisher import KernelFisherDiscriminant
from ..classifiers.kernel_neighbors import KernelKNeighborsClassifier
from ..classifiers.kernel_pca import KernelPCAQuadraticDiscriminant
from ..classifiers.kernel_quadratic import KernelQuadraticDiscriminant
from ..classifiers.kernel_ridge import KernelRidgeClassifier
from ..classifiers.learned_metric import RecursiveFeatureMachine
from ..classifiers.one_vs_rest_svm import OneVsRestSVC
from ..classifiers.svm import MahalanobisSVC
from . import grid
from .evaluation import with_params
from .search import KernelSearchCV

# The SVM's C with a further kernel, where machines are the costliest members.
FEWER_CS = (1.0, 10.0, 100.0)


class Family(NamedTuple):
    """A kind of classifier.

    estimator: its class; groups: parameters that are compared beside kernel and path. Those of one
    group are equally preferred, those of an earlier group win ties. inputs: what the ensemble
    takes it for by itself: "vectors" (with the first kernel by name), "kernels" (with each further
    one), "objects" (a kernel on objects, or a matrix). growth: power of the number of objects that
    its time grows with. weighted: whether it is trained with weights of the objects. bounded:
    whether, of the forms of a measure, exp(−γd²) suits rather than −d and −d². flips: whether
    negative eigenvalues of objects are flipped where the user leaves the spectrum as it is.
    """

    estimator: Callable[..., Any]
    groups: tuple = (({},),)
    inputs: tuple = ("vectors", "objects")
    growth: int = 3
    needs_vectors: bool = False
    weighted: bool = False
    bounded: bool = False
    flips: bool = False


# In the order of preference among equals, by what a fitted model keeps: means and covariances; the
# support vectors; all objects with a weight for each class; a matrix of every class; that and a
# second classifier; an embedding and its classifier.
FAMILIES = {
    "gaussian": Family(
        GaussianClassifier, inputs=("vectors",), growth=1, needs_vectors=True, weighted=True
    ),
    "mahalanobis_svm": Family(
        MahalanobisSVC, inputs=("vectors",), growth=2, needs_vectors=True, weighted=True
    ),
    "learned_metric": Family(RecursiveFeatureMachine, inputs=(), needs_vectors=True),
    "svm": Family(OneVsRestSVC, (({},),), ("kernels", "objects"), 2, bounded=True, flips=True),
    "kernel_fisher": Family(KernelFisherDiscriminant, inputs=("vectors", "kernels", "objects")),
    "kqd": Family(
        KernelQuadraticDiscriminant,
        (({"variant": "RC+"}, {"variant": "FK+"}),),
        ("vectors", "kernels", "objects"),
    ),
    "dissimilarity_space": Family(
        DissimilaritySpaceDiscriminant,
        (({"discriminant": "fisher"},), ({"discriminant": "quadratic"},)),
    ),
    "kernel_pca": Family(
        KernelPCAQuadraticDiscriminant, (({"n_components": 0.8},), ({"n_components": 0.95},))
    ),
    "kernel_ridge": Family(KernelRidgeClassifier, inputs=("objects",), flips=True),
    "neighbors": Family(KernelKNeighborsClassifier, inputs=("objects",), growth=2),
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


def family_grid(estimator, settings, groups=(({},),), values=None, n_train=np.inf):
    """A ``param_grid`` of kernels, parameters in groups and a path, the preferred ones first.

    settings: parameters of the kernels, in order; groups: as in Family; values: of the path,
    ascending; None for the default ones.
    """
    candidates = []
    for group in groups:
        models = [with_params(estimator, params) for params in group]
        own = [grid.path_values(m, n_train) if values is None else values for m in models]
        paths = list(zip(group, own, strict=True))
        candidates += grid.in_order_of_preference(estimator._axis, settings, paths)
    return grid.as_param_grid(candidates)


# --- the searches of an ensemble ------------------------------------------------------------------


class Comparison(NamedTuple):
    """What every family is searched on: the same objects, splits and score.

    X are standardised vectors, objects or the kernel matrix (then kernel is "precomputed"); kernel
    may be a list of kernels on objects, from which each family takes its best; spread is the mean
    centred self-similarity of a kernel of unknown scale, None for a kernel by name; weights those
    of the objects, None where they are equal.
    """

    X: Any
    y: np.ndarray
    splits: list
    kernel: Any
    spectrum: str
    scoring: Any
    n_jobs: Any
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
        usable = [s for s in splits if len(s[1]) and len(np.unique(y[s[0]])) > 1]
        splits = usable or [(np.arange(1, len(y)), np.zeros(1, dtype=int))] * len(splits)
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(X=X, y=y, splits=splits, weights=weights)

    def kernel_settings(self, bounded):
        """Parameters of the kernels to compare; bounded: as in Family."""
        if isinstance(self.kernel, list):
            kinds = self.kinds or [None] * len(self.kernel)
            pairs = zip(self.kernel, kinds, strict=True)
            suited = [kernel for kernel, kind in pairs if (kind == "rbf") == bounded]
            return [{"kernel": kernel} for kernel in suited or self.kernel]
        gammas = None
        if self.kernel in ("rbf", "laplacian"):
            # Members with a further kernel add less: every second width does.
            gammas = [g / self.n_varying for g in grid.GAMMAS[:: 1 if self.first_kernel else 2]]
        elif self.kernel in ("poly", "polynomial"):
            gammas = [1 / self.n_varying]
        return grid.widths(self.kernel, gammas)


def family_search(name, comparison):
    """The search of a family, not fitted."""
    family = FAMILIES[name]
    options = {
        "cv": comparison.splits,
        "scoring": comparison.scoring,
        "n_jobs": comparison.n_jobs,
        "refit": False,
        "error_score": "raise",
    }
    if family.needs_vectors:
        estimator, candidates = _on_vectors(name, comparison.weights)
        return KernelSearchCV(estimator, grid.as_param_grid(candidates), **options)
    flips = family.flips and comparison.spectrum == "krein"
    fixed = {"spectrum": "flip" if flips else comparison.spectrum, "standardize": False}
    if not isinstance(comparison.kernel, list):
        fixed["kernel"] = comparison.kernel
    # Distances RC need k(x, x) of the query itself; those of FK do not.
    if name == "dissimilarity_space" and not comparison.knows_queries:
        fixed["variant"] = "FK+"
    values = None
    if name == "svm":  # C is measured in the kernel's scale
        scale = 1.0 if comparison.spread is None else comparison.spread
        values = [C / scale for C in (grid.CS if comparison.first_kernel else FEWER_CS)]
    estimator = family.estimator(**fixed)
    n_train = min(len(train) for train, _ in comparison.splits)
    settings = comparison.kernel_settings(family.bounded)
    param_grid = family_grid(estimator, settings, family.groups, values, n_train)
    return KernelSearchCV(estimator, param_grid, **options)


def _on_vectors(name, weights):
    """The estimator of a family that needs vectors, and its candidates."""
    if name == "mahalanobis_svm":
        values = {"C": list(grid.CS), "delta": list(grid.DELTAS)}
        return MahalanobisSVC(covariance_from="all"), list(ParameterGrid(values))
    estimator = FAMILIES[name].estimator()
    candidates = grid.default_candidates(estimator)
    if weights is not None:  # Ledoit and Wolf's formula has no weights
        candidates = [params for params in candidates if params.get("shrinkage") != "auto"]
    return estimator, candidates


class Best(NamedTuple):
    """The best candidate of a family: an unfitted estimator and the parameters searched.

    fold_scores (f,): its score in each fold; held_out (m, c): its scores of the held-out objects of
    all splits, one split after the other; temperature: what these are divided by.
    """

    estimator: Any
    params: dict
    fold_scores: np.ndarray
    temperature: float
    held_out: np.ndarray


def search_family(name, comparison):
    """The Best of a family."""
    search = family_search(name, comparison)
    weighted = FAMILIES[name].weighted and comparison.weights is not None
    arguments = {"sample_weight": comparison.weights} if weighted else {}
    search.fit(comparison.X, comparison.y, **arguments)
    return Best(
        with_params(search.estimator, search.best_params_),
        search.best_params_,
        np.array(
            [
                search.cv_results_[f"split{f}_test_score"][search.best_index_]
                for f in range(search.n_splits_)
            ]
        ),
        search.temperature_,
        search.oof_scores_,
    )


# --- a budget of time -----------------------------------------------------------------------------

# Up to this size a search is simply tried; beyond it, it is timed on parts of the objects.
PILOT = 500
# Of each class as many objects are in such a part, if it has them.
PILOT_CLASS = 10


def expected_seconds(name, comparison, seconds_left):
    """How long a search will take: a + b·n^growth through two parts of the objects; 0 for few.

    Half the objects of the second part must leave time for the whole of it.
    """
    if len(comparison.y) <= PILOT:
        return 0.0
    order, n_classes = _pilot_order(comparison.y)
    sizes = np.minimum(np.array([1, 2]) * max(PILOT // 2, n_classes), len(order))
    seconds: list[float] = []
    for size in sizes:
        start = time.monotonic()
        search_family(name, comparison.part(np.sort(order[:size])))
        seconds.append(time.monotonic() - start)
        if sum(seconds) + 2 * seconds[-1] > seconds_left:
            return 2 * seconds[-1]
    powers = sizes.astype(float) ** FAMILIES[name].growth
    b = max(0.0, (seconds[1] - seconds[0]) / (powers[1] - powers[0]))
    return seconds[1] + b * (float(len(comparison.y)) ** FAMILIES[name].growth - powers[1])


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
