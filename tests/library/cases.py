"""Every public estimator with its options, on every kind of input: the list the suites run over.

A new public estimator must be added to `CASES` (or, with a reason, to `EXCLUDED`); a test compares
both with ``mahalearn.__all__``.
"""

import warnings
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold

import mahalearn
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MahalanobisSVC,
    MeasureKernel,
    OneVsRestSVC,
    PrecomputedKernel,
    ProximityKernel,
    PseudoEuclideanEmbedding,
    RecursiveFeatureMachine,
)

VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
CORRECTIONS = ("clip", "flip", "square", "shift")
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "mahalanobis",
    "transform",
)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


# --- inputs ---------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Training objects, labels and queries of one kind of input."""

    X: object
    y: np.ndarray
    queries: object
    pairwise: bool = False

    def reordered(self, order):
        """The same problem with its training objects in another order."""
        if self.pairwise:
            X, queries = self.X[np.ix_(order, order)], self.queries[:, order]
        else:
            X, queries = take(self.X, order), self.queries
        return self._replace(X=X, y=self.y[order], queries=queries)


def take(objects, index):
    """Objects at positions, of an array or a list."""
    return objects[index] if hasattr(objects, "shape") else [objects[i] for i in index]


@cache
def vectors(counts, n_queries=20, seed=0, n_features=4):
    """Overlapping normal classes of unequal spread, in mixed order: X, y, queries."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    spread = 1 + 0.5 * np.arange(len(counts))
    shift = rng.normal(size=(len(counts), n_features))

    def draw(codes):
        noise = rng.normal(size=(len(codes), n_features))
        return 2 * shift[codes] + spread[codes, None] * noise

    X, queries = draw(codes), draw(rng.integers(len(counts), size=n_queries))
    return X, np.array(["a", "b", "c", "d", "e"])[codes], queries


@cache
def words(counts, n_queries=10, seed=0):
    """Random strings with letters that depend on the class."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdef"))

    def draw(codes):
        shares = 0.5 + 2.0 * np.eye(len(counts), len(letters))
        shares /= shares.sum(axis=1, keepdims=True)
        lengths = rng.integers(4, 12, size=len(codes))
        pairs = zip(codes, lengths, strict=True)
        return ["".join(rng.choice(letters, size=n, p=shares[c])) for c, n in pairs]

    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    labels = np.array(["a", "b", "c", "d", "e"])[codes]
    return draw(codes), labels, draw(rng.integers(len(counts), size=n_queries))


def problem(kind, counts=(80, 12, 6), seed=0):
    """A problem of one kind of input; class sizes are such that tiny memory needs chunks."""
    X, y, queries = vectors(tuple(counts), seed=seed)
    match kind:
        case "vectors":
            return Problem(X, y, queries)
        case "gram":
            scale = 1 / X.var() / X.shape[1]
            K, Q = rbf_kernel(X, gamma=scale), rbf_kernel(queries, X, gamma=scale)
            return Problem(K, y, Q, True)
        case "indefinite":
            both = np.vstack([X, queries])
            K = -(np.abs(both[:, None] - X[None]).sum(axis=2) ** 1.5)
            return Problem(K[: len(y)], y, K[len(y) :], True)
        case "dissimilarity":
            D = problem("indefinite", counts, seed)
            return D._replace(X=np.abs(D.X) ** (1 / 1.5), queries=np.abs(D.queries) ** (1 / 1.5))
        case "objects":
            return Problem(*words(tuple(counts), seed=seed))
        case "rows":  # row numbers, for PrecomputedKernel(whole_matrix(counts))
            n = np.arange(len(X) + len(queries))[:, None]
            return Problem(n[: len(X)], y, n[len(X) :])
    raise AssertionError(kind)


@cache
def whole_matrix(counts=(80, 12, 6), seed=0):
    """The indefinite matrix of training objects and queries together."""
    X, _, queries = vectors(tuple(counts), seed=seed)
    both = np.vstack([X, queries])
    return -(np.abs(both[:, None] - both[None]).sum(axis=2) ** 1.5)


# --- estimators -----------------------------------------------------------------------------------


class Case(NamedTuple):
    """An estimator, not fitted, and the kind of input that it takes."""

    estimator: object
    kind: str = "vectors"

    @property
    def name(self):
        """The public name."""
        return type(self.estimator).__name__

    def __str__(self):
        with sklearn.config_context(print_changed_only=True):
            return f"{self.estimator!r}@{self.kind}".replace("\n", "").replace(" ", "")

    def problem(self, counts=(80, 12, 6)):
        """Its problem with the given class sizes."""
        return problem(self.kind, counts)

    def new(self, counts=(80, 12, 6), **params):
        """A new estimator for a problem with these class sizes."""
        estimator = clone(self.estimator).set_params(**params)
        if self.kind == "rows":
            estimator.set_params(kernel=PrecomputedKernel(whole_matrix(tuple(counts))))
        return estimator


def every_pair(options, allowed=lambda **_: True):
    """Few combinations of the options in which every allowed pair of two values occurs.

    options: {name: values}; allowed(**combination) says which combinations make sense.
    """
    names = list(options)
    chosen = []
    full = [dict(zip(names, values)) for values in product(*options.values())]
    full = [combination for combination in full if allowed(**combination)]
    index = [tuple(options[name].index(c[name]) for name in names) for c in full]
    pairs = [{(i, c[i], j, c[j]) for i, j in combinations(range(len(names)), 2)} for c in index]
    missing = set().union(*pairs)
    while missing:
        best = max(range(len(full)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        chosen.append(full[best])
    return chosen


KERNELS = {
    "rbf": ("vectors", {}),
    "linear": ("vectors", {"kernel": "linear"}),
    "poly": ("vectors", {"kernel": "poly", "degree": 2}),
    "sigmoid": ("vectors", {"kernel": "sigmoid", "gamma": 0.05}),
    "mahalanobis": ("vectors", {"kernel": MahalanobisKernel("full")}),
    "gram": ("gram", {"kernel": "precomputed"}),
    "indefinite": ("indefinite", {"kernel": "precomputed"}),
    "objects": ("objects", {"kernel": MeasureKernel("edit")}),
    "rows": ("rows", {"kernel": PrecomputedKernel(np.eye(2))}),
}
DEFINITE = ("rbf", "linear", "poly", "mahalanobis", "gram")
SPECTRA = ("krein", "ignore", "raise", *CORRECTIONS)


def _sensible(
    kernel, spectrum, offset="error", variant="RC+", reg_on="auto", class_weight=None, **_
):
    """Whether the library promises to work with such a combination."""
    nonnegative = kernel in DEFINITE or spectrum in CORRECTIONS
    if spectrum == "raise" and kernel not in DEFINITE:
        return False
    if class_weight is not None and offset not in ("error", "loo"):
        return False
    if offset == "loo":
        return variant.startswith("RC") and nonnegative
    if offset == "map":
        one_sigma2 = variant.startswith("IC") or reg_on != "kernel"
        return not variant.startswith("FK") and nonnegative and one_sigma2
    return True


def _kernel_cases(make, options, reduced):
    """Cases over kernels, spectra and further options."""
    grid = {"kernel": tuple(KERNELS), "spectrum": SPECTRA, **options}  # options may say otherwise
    if reduced:
        combos = every_pair(grid, _sensible)
    else:
        combos = [dict(zip(grid, values)) for values in product(*grid.values())]
        combos = [combo for combo in combos if _sensible(**combo)]
    for combo in combos:
        kind, kernel = KERNELS[combo.pop("kernel")]
        yield Case(make(**combo, **kernel), kind)


def _distance_options(**options):
    return {"variant": VARIANTS, "reg_on": ("auto", "covariance", "kernel", "relative"), **options}


def build_cases(reduced=True):
    """{public name: list of cases}; every pair of options, or all combinations of them."""

    def over(make, more=(), **options):
        return [*_kernel_cases(make, options, reduced), *more]

    def embedding(kernel="rbf", **params):
        return PseudoEuclideanEmbedding(kernel=kernel, **params)

    def svm(**params):
        return OneVsRestSVC(tol=1e-8, max_iter=100_000, **params)

    heads = ("fisher", "quadratic", LinearDiscriminantAnalysis())
    cross_fit = {"cv": 3, "random_state": 0}
    return {
        "KernelQuadraticDiscriminant": over(
            KernelQuadraticDiscriminant,
            **_distance_options(
                offset=("error", "loo", "map", None),
                class_weight=(None, "balanced"),
                standardize=("auto", True, False),
            ),
        ),
        "KernelMahalanobisTransformer": over(KernelMahalanobisTransformer, **_distance_options()),
        "DissimilaritySpaceDiscriminant": over(
            DissimilaritySpaceDiscriminant,
            more=[
                case
                for head in heads
                for case in (
                    Case(DissimilaritySpaceDiscriminant(head, **cross_fit)),
                    Case(
                        DissimilaritySpaceDiscriminant(
                            head, "FK+", kernel="precomputed", **cross_fit
                        ),
                        "indefinite",
                    ),
                )
            ],
            **_distance_options(discriminant=heads),
        ),
        "KernelFisherDiscriminant": over(
            KernelFisherDiscriminant, reg=(1e-3, 0.1), standardize=("auto", True, False)
        ),
        "KernelPCAQuadraticDiscriminant": over(
            KernelPCAQuadraticDiscriminant, n_components=(0.8, 3, None)
        ),
        "KernelKNeighborsClassifier": over(
            KernelKNeighborsClassifier, weights=("uniform", "distance")
        ),
        "KernelRidgeClassifier": over(KernelRidgeClassifier, reg=(1e-3, 0.1)),
        "OneVsRestSVC": over(svm, C=(1.0, 10.0), spectrum=SPECTRA[1:]),
        "PseudoEuclideanEmbedding": over(embedding, n_components=(None, 0.9, 2)),
        "LandmarkMap": [
            Case(LandmarkMap(10, method=method, random_state=0, **params), kind)
            for method, kind, params in (
                ("kmeans", "vectors", {}),
                ("rpcholesky", "vectors", {"standardize": True}),
                ("uniform", "vectors", {"kernel": "poly", "degree": 2}),
                ("uniform", "indefinite", {"kernel": "precomputed"}),
                ("uniform", "objects", {"kernel": MeasureKernel("edit"), "spectrum": "flip"}),
            )
        ],
        "ProximityKernel": [
            Case(ProximityKernel(kind, scale), "dissimilarity")
            for kind, scale in product(("neg_squared", "neg", "rbf"), ("mean", 2.0, None))
        ],
        "RecursiveFeatureMachine": [
            Case(RecursiveFeatureMachine(metric=metric, n_iter=2))
            for metric in ("diagonal", "full")
        ],
        "GaussianClassifier": [
            *(
                Case(GaussianClassifier(covariance, pooled=pooled, **options))
                for covariance, pooled, options in product(
                    ("full", "diag", "spherical"),
                    (False, True),
                    (
                        {},
                        {"feature_weights": "descent"},
                        {"feature_weights": "difference"},
                    ),
                )
            ),
            Case(GaussianClassifier(shrinkage="auto")),
            Case(GaussianClassifier(shrinkage=0.3, priors=[0.2, 0.3, 0.5])),
        ],
        "MahalanobisSVC": [
            Case(MahalanobisSVC(covariance=covariance, covariance_from=source, tol=1e-8))
            for covariance, source in product(("diag", "full"), ("pair", "all"))
        ],
        **{name: search_cases(name) for name in SEARCHES},
    }


# Each search with a small grid; "scale" and the default grids have tests of their own.
SEARCHES = {
    "KernelSearchCV": [
        KernelSearchCV(
            KernelQuadraticDiscriminant(), {"variant": VARIANTS, "reg": [0.01, 0.3]}, cv=FOLDS
        ),
        KernelSearchCV(
            KernelQuadraticDiscriminant(offset="loo"),
            {"variant": ["RC+", "RC-"], "reg": [0.01, 0.3]},
            cv=FOLDS,
        ),
        KernelSearchCV(
            KernelQuadraticDiscriminant(offset="map", reg_on="covariance"),
            {"variant": ["RC+", "IC+"], "reg": [0.01, 0.3]},
            cv=FOLDS,
        ),
        KernelSearchCV(
            KernelQuadraticDiscriminant(reg_on="relative", class_weight="balanced"),
            {"variant": ["RC+", "FK+"], "reg": [0.1]},
            cv=FOLDS,
        ),
        KernelSearchCV(
            KernelQuadraticDiscriminant(offset=None),
            {"variant": ["RC+", "IC-"], "reg": [0.1]},
            cv=FOLDS,
        ),
        KernelSearchCV(
            DissimilaritySpaceDiscriminant(discriminant="fisher"),
            {"variant": VARIANTS, "reg": [0.01, 0.3]},
            cv=FOLDS,
        ),
        KernelSearchCV(
            DissimilaritySpaceDiscriminant(discriminant="quadratic"),
            {"variant": ["RC+", "IC+"], "reg": [0.1, 1.0]},
            cv=FOLDS,
        ),
        KernelSearchCV(KernelFisherDiscriminant(), {"reg": [1e-3, 0.1]}, cv=FOLDS),
        KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": [1e-3, 0.1]}, cv=FOLDS),
        KernelSearchCV(KernelPCAQuadraticDiscriminant(n_components=2), {"reg": [1e-2]}, cv=FOLDS),
        KernelSearchCV(KernelKNeighborsClassifier(), {"n_neighbors": [1, 3, 5]}, cv=FOLDS),
        KernelSearchCV(
            KernelKNeighborsClassifier(weights="distance"), {"n_neighbors": [1, 4]}, cv=FOLDS
        ),
        KernelSearchCV(KernelRidgeClassifier(), {"reg": [1e-3, 0.1]}, cv=FOLDS),
        KernelSearchCV(OneVsRestSVC(tol=1e-8, max_iter=100_000), {"C": [1.0, 10.0]}, cv=FOLDS),
        KernelSearchCV(MahalanobisSVC(tol=1e-8), {"C": [1, 10], "delta": [0.5, 1.0]}, cv=FOLDS),
        KernelSearchCV(
            MahalanobisSVC(covariance="full", covariance_from="all", tol=1e-8),
            {"C": [1, 10], "delta": [0.5, 1.0]},
            cv=FOLDS,
        ),
    ],
    "MahalanobisClassifierCV": [
        MahalanobisClassifierCV(("gaussian", "kernel_fisher"), cv=FOLDS),
        MahalanobisClassifierCV(("kqd",), kernel="linear", cv=FOLDS),
    ],
}
# Inputs of the searches that take a kernel: parameters of the estimator, and widths to try.
SEARCH_INPUTS = {
    "vectors": ({}, {"gamma": [0.05, 0.5]}),
    "indefinite": ({"kernel": "precomputed"}, {}),
    "objects": ({"kernel": MeasureKernel("edit")}, {}),
}


def search_cases(name):
    """The searches of one name on every kind of input that they take."""
    cases = []
    for search in SEARCHES[name]:
        if name == "MahalanobisClassifierCV":
            cases.append(Case(search))
            if "gaussian" not in search.families:
                cases.append(Case(clone(search).set_params(kernel="precomputed"), "indefinite"))
        elif not hasattr(search.estimator, "kernel"):
            cases.append(Case(search))
        else:
            for kind, (fixed, widths) in SEARCH_INPUTS.items():
                offset = getattr(search.estimator, "offset", None)
                policy = {"spectrum": "flip"} if offset in ("loo", "map") else {}
                estimator = clone(search.estimator).set_params(**fixed, **policy)
                grid = {**search.param_grid, **widths}
                new = clone(search).set_params(estimator=estimator, param_grid=grid)
                cases.append(Case(new, kind))
    return cases


def thinned(cases, at_most):
    """At most so many of the cases, spread evenly over all of them."""
    return cases[:: -(-len(cases) // at_most)]


def _share(name):
    """How many cases of a name `make test` runs; the others are in the full suites."""
    return (
        60
        if name == "KernelQuadraticDiscriminant"
        else 40
        if name == "KernelSearchCV"
        else 5
        if name in SEARCHES
        else 16
    )


CASES = {name: thinned(cases, _share(name)) for name, cases in build_cases().items()}
# Public names that are no estimators of their own, and why no case is needed.
EXCLUDED = {
    "ConformalClassifier": "wraps a classifier: test_novelty.py has its invariances",
    "MahalanobisKernel": "a kernel: tested through the estimators",
    "KernelMahalanobisNovelty": "no classifier: test_novelty.py has its invariances",
    "MahalanobisNovelty": "no classifier: test_embeddings.py has its invariances",
    "MeasureKernel": "a kernel: tested through the estimators",
    "PrecomputedKernel": "a kernel: tested through the estimators",
    "TableEncoder": "a transformer of tables: test_table_encoder.py has its invariances",
}


def public_estimators():
    """Names of all public classes that can be fitted."""
    public = {name: getattr(mahalearn, name) for name in mahalearn.__all__}
    return {name for name, value in public.items() if isinstance(value, type)}


# --- what a model says ----------------------------------------------------------------------------


def fitted(estimator, problem):
    """The estimator fitted on the problem, or the sentence with which it refuses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The precomputed kernel looks like")
        warnings.filterwarnings("ignore", message="Solver terminated early")
        try:
            return estimator.fit(problem.X, problem.y)
        except (ValueError, MemoryError) as error:
            return f"{type(error).__name__}: {error}"


def outputs(model, queries):
    """{method: values, or the sentence of a refusal} for every method that the model has."""
    if isinstance(model, str):
        return {"fit": model}
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            try:
                found[method] = np.asarray(getattr(model, method)(queries))
            except ValueError as error:
                found[method] = str(error)
    return found


def answers(estimator, problem):
    """What a new fit of the estimator says about the queries."""
    return outputs(fitted(estimator, problem), problem.queries)


def differences(found, expected, tolerance):
    """Sentences about what differs between two results of `outputs`; none if they agree.

    Labels and refusals must be equal, numbers within `tolerance` of the largest magnitude. What
    rounding leaves in probabilities is that of the scores, and grows with their magnitude.
    """
    if found.keys() != expected.keys():
        return [f"{sorted(found)} instead of {sorted(expected)}: {found} {expected}"[:300]]
    reports = []
    for method, want in expected.items():
        have = found[method]
        if isinstance(want, str) or isinstance(have, str):
            if not (isinstance(want, str) and isinstance(have, str) and want == have):
                reports.append(f"{method}: {have!s:.200} instead of {want!s:.200}")
        elif have.shape != want.shape:
            reports.append(f"{method}: shape {have.shape} instead of {want.shape}")
        elif want.dtype.kind in "OUSb" or method == "predict":
            if wrong := int((have != want).sum()):
                reports.append(f"{method}: {wrong} of {len(want)} labels differ")
        else:
            same = have == want  # equal infinities, too
            scores = expected.get("decision_function") if "proba" in method else None
            scale = max(_largest(want), _largest(scores))
            with np.errstate(invalid="ignore"):
                gap = np.where(same, 0.0, np.abs(have - want) / scale).max(initial=0.0)
            if not gap <= tolerance:
                reports.append(f"{method}: relative difference {gap:.2g}")
    return reports


def _largest(values):
    if not isinstance(values, np.ndarray):
        return 0.0
    return np.abs(np.where(np.isfinite(values), values, 0)).max(initial=1e-300)


def failures(cases, check):
    """All that `check(case)` (a list of sentences) reports, one line for each case that fails."""
    lines = []
    for case in cases:
        if reports := check(case):
            lines.append(f"{case}: {'; '.join(reports)}")
    return lines


def assert_none(lines, n_cases):
    """Fail with all lines, the first forty in full."""
    if lines:
        more = f"\n… and {len(lines) - 40} more" if len(lines) > 40 else ""
        head = "\n".join(lines[:40])
        raise AssertionError(f"{len(lines)} of {n_cases} cases fail:\n{head}{more}")
