"""Results of the whole library on small data, recorded by one version and compared with another.

`python -m benchmarks.equality record FILE` fits every case and writes what it answers;
`python -m benchmarks.equality compare FILE` does the same and reports what differs. `--only
PATTERN` takes the cases whose key matches a regular expression. FILE is an .npz, outside the
repository. Compare on the machine that recorded; both run on one thread.

A case is data: a family of estimators, its parameters, a data set and a road by which the data come
(an array, batches, dask, …). Its key is made of these and stays the same whatever the library calls
its classes. Only the section "adapter" names classes and parameters of the library: rewrite that
section, and nothing else, when they change.

Numbers are equal within 1e-8 of the case's largest score, or within its rounding where that is
larger: the bound that the library has for its scores, or what changes when the data are nudged by
one unit in the last place. Labels may differ where the two best scores are that close; p-values
where the nudged data change them, too. `KNOWN` lists what changes knowingly.
"""

import argparse
import contextlib
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mahalearn as ml
from mahalearn._progress import progress
from mahalearn.model_selection.grid import (
    as_param_grid,
    in_order_of_preference,
    path_values,
    widths,
)

# {regular expression on keys: reason}; such differences are counted apart and do not fail.
KNOWN: dict[str, str] = {
    r"^ensemble: (?!.*combine=best)": "candidates are chosen by log loss and error, not log loss",
    r"^roads: (svm|ridge|fisher)\(.* weights$": "sample_weight was refused, and is taken now",
    r"^(plain|roads): (fisher|kqd|distances)\((?!.*\breg=).*(/negative|words|mixed) ": (
        "the default reg for dissimilarities is in the kernel's unit"
    ),
    r"^search: .*scoring=neg_log_loss": "temperatures of many candidates are fitted at once",
    r"^search at landmarks: kqd\(.*grid=default.* many (dask|batches)": (
        "offsets: one far object no longer makes all others tie"
    ),
}
# {regular expression on recorded keys: its replacement}: options that have another form since.
RENAMED = {r"\bcross_fit=True,": ""}
# Cases that no longer exist.
GONE = {
    r"^detector: novelty\(.*variant=auto": "the detector has no variant 'auto'",
    r"^detector: novelty\(.*search=": "the detector searches no parameters",
    r"^gaussian: .*weights_from=": "descent_weights(feature_distances(X)) gives these weights",
}

RTOL = 1e-8
NOISE_FACTOR = 16  # other formulas round otherwise: so many times what a nudge changes
VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
CORRECTIONS = ("clip", "flip", "square", "shift")
SPECTRA = ("krein", "ignore", "raise", *CORRECTIONS)
NUMBERS = (
    *("scores", "distances", "proba", "offsets", "gram", "residual", "oof", "best_score"),
    *("cv_scores", "training_distances", "fold_scores", "metric"),
)
RANKS = ("p_values", "p_none", "drift")


# --- data -----------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Training objects, labels, queries; the kernel matrix of all of them if X are its rows."""

    X: Any
    y: np.ndarray
    queries: Any
    landmarks: Any
    weights: np.ndarray
    groups: np.ndarray
    matrix: np.ndarray | None = None


def blobs(counts, n_features, n_queries, seed):
    """Overlapping normal classes of unequal spread in mixed order: X, codes, queries."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    shift = 1.5 * rng.normal(size=(len(counts), n_features))
    spread = 1 + 0.4 * np.arange(len(counts))

    def draw(codes):
        return shift[codes] + spread[codes, None] * rng.normal(size=(len(codes), n_features))

    return draw(codes), codes, draw(rng.integers(len(counts), size=n_queries))


def words(counts, n_queries, seed):
    """Random strings whose letters depend on the class."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdef"))
    shares = 0.4 + 2.0 * np.eye(len(counts), len(letters))
    shares /= shares.sum(axis=1, keepdims=True)

    def draw(codes):
        return ["".join(rng.choice(letters, size=rng.integers(4, 10), p=shares[c])) for c in codes]

    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return draw(codes), codes, draw(rng.integers(len(counts), size=n_queries))


def series(counts, n_queries, seed):
    """Noisy waves whose frequency depends on the class."""
    rng = np.random.default_rng(seed)
    steps = np.linspace(0, 6, 20)

    def draw(codes):
        phase = rng.uniform(0, 1.5, size=(len(codes), 1))
        waves = np.sin((1 + 0.3 * codes[:, None]) * steps + phase)
        return waves + 0.4 * rng.normal(size=waves.shape)

    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return draw(codes), codes, draw(rng.integers(len(counts), size=n_queries))


VECTORS = {
    "three": ((34, 15, 9), 4, 12, 0),
    "two": ((24, 18), 3, 12, 1),
    "many": ((50, 35, 25), 5, 12, 2),
    "wide": ((12, 8, 6), 40, 10, 3),
}
MATRICES = {
    "definite": lambda A: rbf_kernel(A, gamma=0.15),
    "indefinite": lambda A: np.exp(-0.1 * city(A) ** 2) - 0.3 * rbf_kernel(A, gamma=0.5),
    "negative": lambda A: -(city(A) ** 1.6) / 10,
    "dissimilarity": lambda A: city(A),
}


def city(A, B=None):
    """City-block distances."""
    return np.abs(A[:, None] - (A if B is None else B)[None]).sum(axis=2)


def city_kernel(A, B):
    """A kernel that is a function."""
    return np.exp(-0.2 * city(np.asarray(A), np.asarray(B)))


def nudged(values, eps, seed=5):
    """Numbers moved by one unit in the last place, up or down."""
    return values * (1 + eps * np.random.default_rng(seed).choice([-1.0, 1.0], size=values.shape))


@cache
def problem(name, eps=0.0):
    """A data set by name; its numbers are nudged by eps."""
    base, _, matrix = name.partition("/")  # "three/indefinite", "three/rows-indefinite"
    labels = np.array(["a", "b", "c", "d"])
    match base:
        case "words":
            X, codes, queries = words((14, 12, 9), 10, 4)
        case "series":
            X, codes, queries = series((16, 14), 8, 5)
        case "mixed":
            numbers, codes, others = blobs((16, 14), 2, 10, 6)
            rng = np.random.default_rng(7)
            X, queries = (
                [[*map(float, row), str(rng.choice(["red", "green", "blue"]))] for row in rows]
                for rows in (numbers, others)
            )
        case _:
            X, codes, queries = blobs(*VECTORS.get(base, VECTORS["three"]))
    if eps and isinstance(X, np.ndarray):
        X, queries = nudged(X, eps), nudged(queries, eps, 6)
    if base == "two":
        labels = np.array([1, 2, 3])
    if base == "units":
        X, queries = X * [1, 1, 1000, 1], queries * [1, 1, 1000, 1]
    if base == "collinear":
        X, queries = (
            np.column_stack([A, A[:, 0] + A[:, 1], np.ones(len(A))]) for A in (X, queries)
        )
    if base == "missing":
        queries = queries.copy()
        queries[::2, 1] = queries[::3, 2] = np.nan
    n = len(codes)
    rng = np.random.default_rng(8)
    weights, groups = rng.uniform(0.5, 2, size=n), np.arange(n) % 4
    whole = None
    positions = np.arange(0, n, max(1, n // 12))[:12]
    if matrix:
        rows = matrix.startswith("rows-")
        whole = MATRICES[matrix.removeprefix("rows-")](np.vstack([X, queries]))
        whole = (whole + whole.T) / 2
        everyone = np.arange(len(whole))[:, None]
        X, queries = (
            (everyone[:n], everyone[n:]) if rows else (whole[:n, :n].copy(), whole[n:, :n].copy())
        )
        whole = whole if rows else None
        landmarks = X[positions] if rows else positions
    else:
        landmarks = take(X, positions)
    return Problem(X, labels[codes], queries, landmarks, weights, groups, whole)


def take(objects, index):
    """Objects at positions, of an array or a list."""
    return objects[index] if isinstance(objects, np.ndarray) else [objects[i] for i in index]


# --- cases ----------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A family of estimators with parameters, a data set, and the road by which the data come."""

    category: str
    family: str
    params: dict
    data: str = "three"
    road: str = "array"

    @property
    def key(self):
        """A name that does not depend on the library's names."""
        return f"{self.category}: {self.family}({text(self.params)}) {self.data} {self.road}"


def text(value):
    """A short text of parameters: sorted names, numbers as Python writes them."""
    if isinstance(value, dict):
        return ",".join(f"{k}={text(v)}" for k, v in sorted(value.items()))
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(text, value))}]"
    return str(value)


def sampled(cases, at_most):
    """At most so many of the cases, always the same ones: those with the smallest hashes."""
    cases = {case.key: case for case in cases}
    chosen = sorted(cases, key=lambda key: hashlib.sha256(key.encode()).hexdigest())[:at_most]
    return [cases[key] for key in cases if key in set(chosen)]


def combined(**options):
    """All combinations of options, as dicts; a dict as value is merged, None leaves the default."""
    for values in product(*options.values()):
        params = {}
        for name, value in zip(options, values, strict=True):
            if isinstance(value, dict):
                params.update(value)
            elif value is not None:
                params[name] = value
        yield params


# {name: (data set, parameters)}
KERNELS = {
    "rbf": ("three", {"kernel": "rbf", "gamma": 0.2}),
    "rbf scale": ("two", {"kernel": "rbf"}),
    "rbf units": ("units", {"kernel": "rbf"}),
    "laplacian": ("three", {"kernel": "laplacian", "gamma": 0.2}),
    "linear": ("three", {"kernel": "linear"}),
    "poly": ("two", {"kernel": "poly", "degree": 2, "gamma": 0.3}),
    "mahalanobis": ("three", {"kernel": "mahalanobis-full"}),
    "callable": ("three", {"kernel": "callable"}),
    "gram": ("three/definite", {"kernel": "precomputed"}),
    "rows definite": ("three/rows-definite", {"kernel": "rows"}),
    "edit rbf": ("words", {"kernel": "edit-rbf"}),
    "sigmoid": ("three", {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1}),
    "indefinite": ("three/indefinite", {"kernel": "precomputed"}),
    "negative": ("three/negative", {"kernel": "precomputed"}),
    "rows indefinite": ("three/rows-indefinite", {"kernel": "rows"}),
    "edit": ("words", {"kernel": "edit"}),
    "gower": ("mixed", {"kernel": "gower"}),
}
DEFINITE = tuple(KERNELS)[:10]


def over_kernels(category, family, options, at_most, allowed=lambda **_: True):
    """A sample of the combinations of options, kernels and spectra."""

    def cases():
        for name, spectrum in product(KERNELS, SPECTRA):
            data, kernel = KERNELS[name]
            definite = name in DEFINITE
            if spectrum == "raise" and not definite:
                continue
            for params in options:
                if allowed(nonnegative=definite or spectrum in CORRECTIONS, data=data, **params):
                    policy = {} if spectrum == "krein" else {"spectrum": spectrum}
                    yield Case(category, family, {**params, **kernel, **policy}, data)

    return sampled(cases(), at_most)


def sensible_offset(
    nonnegative, data, variant="RC+", offset="error", reg_on="auto", reg=None, **params
):
    """The combinations that the library promises to work with, as tests/library/cases.py has it."""
    n_classes = len(np.unique(problem(data).y))
    lists = (values for values in (params.get("priors"), reg) if isinstance(values, list))
    if any(len(values) != n_classes for values in lists):
        return False
    if "class_weight" in params and offset not in ("error", "loo"):
        return False
    if "priors" in params and offset != "map":
        return False
    if offset == "loo":
        return variant.startswith("RC") and nonnegative
    if offset == "map":
        one_sigma2 = variant.startswith("IC") or (reg_on != "kernel" and not isinstance(reg, list))
        return not variant.startswith("FK") and nonnegative and one_sigma2
    return True


REG_FORMS = (
    {},
    {"reg": 0.1},
    {"reg": 0.02, "reg_on": "covariance"},
    {"reg": 0.5, "reg_on": "kernel"},
    {"reg": 0.1, "reg_on": "relative"},
    {"reg": [0.1, 0.2, 0.4]},
    {"reg": [0.3, 0.1], "reg_on": "kernel"},
)


def plain_cases():
    """Every plain kernel estimator with its options on all objects."""
    quadratic = list(
        combined(
            variant=VARIANTS,
            reg=REG_FORMS,
            offset=(None, "loo", "map", "none"),
            class_weight=(None, "balanced"),
            priors=(None, [0.2, 0.3, 0.5], [0.6, 0.4]),
            standardize=(None, True, False),
        )
    )
    heads = list(
        combined(
            variant=VARIANTS,
            reg=REG_FORMS,
            discriminant=(None, "quadratic", "least_squares", "lda"),
            priors=(None, "equal"),
        )
    )
    yield from over_kernels("plain", "kqd", quadratic, 620, sensible_offset)
    # Combinations that are refused, or that nobody promises.
    refused = combined(
        variant=VARIANTS, offset=("loo", "map"), spectrum=("krein", "ignore"), kernel=("sigmoid",)
    )
    yield from (Case("refused", "kqd", {"reg": 0.1, **params}) for params in refused)
    for params in (
        {"variant": "RC"},
        {"reg": -1.0},
        {"reg": [0.1, 0.2]},
        {"offset": "none", "class_weight": "balanced"},
        {"priors": [0.2, 0.3, 0.5]},
        {"spectrum": "raise", "kernel": "sigmoid", "gamma": 0.5, "coef0": -1},
        {"offset": "loo", "landmarks": 12},
        {"kernel": "rbx"},
    ):
        yield Case("refused", "kqd", params)
    yield from over_kernels("plain", "heads", heads, 190, sensible_offset)
    for head, variant, name in product((None, "quadratic", "lda"), ("RC+", "FK+"), KERNELS):
        data, kernel = KERNELS[name]
        params = {"cv": 3, "random_state": 0, "reg": 0.1, "variant": variant}
        params.update({"discriminant": head} if head else {})
        yield Case("plain", "heads", {**params, **kernel}, data)
    distances = list(combined(variant=VARIANTS, reg=REG_FORMS))
    yield from over_kernels("plain", "distances", distances, 110, sensible_offset)
    fisher = list(combined(reg=(None, 1e-5, 0.1), standardize=(None, True, False)))
    yield from over_kernels("plain", "fisher", fisher, 110)
    pca = list(combined(n_components=(None, 3, 0.95, "all"), reg=(None, 0.1)))
    yield from over_kernels("plain", "kpca", pca, 110)
    neighbours = list(combined(n_neighbors=(1, 4, 5), weights=(None, "distance")))
    yield from over_kernels("plain", "knn", neighbours, 80)
    yield from over_kernels("plain", "ridge", list(combined(reg=(None, 1e-3, 0.5))), 80)
    yield from over_kernels("plain", "svm", list(combined(C=(1.0, 20.0))), 80)
    yield from over_kernels("plain", "embedding", list(combined(n_components=(None, 0.9, 3))), 60)
    for kind, scale in product(("neg_squared", "neg", "rbf", "laplacian"), ("mean", 2.0, None)):
        yield Case("plain", "proximity", {"kind": kind, "scale": scale}, "three/dissimilarity")


def road_cases():
    """Plain estimators on all objects by other roads: little memory, saved, single precision."""
    models = {
        "kqd": [{"reg": 0.1, "variant": v} for v in VARIANTS] + [{"reg": 0.1, "offset": "map"}],
        "heads": [{"reg": 0.1}, {"reg": 0.1, "discriminant": "quadratic", "variant": "FK+"}],
        "distances": [{"reg": 0.1, "variant": v} for v in ("RC+", "FK-")],
        "fisher": [{}],
        "kpca": [{}],
        "knn": [{}],
        "ridge": [{}],
        "svm": [{}],
        "embedding": [{}],
    }
    names = ("rbf", "rbf units", "gram", "sigmoid", "indefinite", "rows indefinite", "edit")
    for family, options in models.items():
        cases = []
        for params, name, road in product(options, names, ("memory", "saved", "float32")):
            data, kernel = KERNELS[name]
            if road == "float32" and name in ("edit", "rows indefinite"):
                continue
            policy = {"spectrum": "flip"} if params.get("offset") == "map" else {}
            cases.append(Case("roads", family, {**params, **kernel, **policy}, data, road))
        yield from sampled(cases, 100 if family == "kqd" else 20)
        yield Case("roads", family, {**options[0], "kernel": "rbf"}, "three", "weights")


SPACES = {
    "definite": ("many", {"kernel": "rbf", "gamma": 0.1}),
    "units": ("units", {"kernel": "rbf"}),
    "indefinite": ("many", {"kernel": "sigmoid", "gamma": 0.3, "coef0": -1}),
    "flipped": ("many", {"kernel": "sigmoid", "gamma": 0.3, "coef0": -1, "spectrum": "flip"}),
    "rows": ("many/rows-indefinite", {"kernel": "rows"}),
    "rows ignored": ("many/rows-indefinite", {"kernel": "rows", "spectrum": "ignore"}),
    "rows clipped": ("many/rows-indefinite", {"kernel": "rows", "spectrum": "clip"}),
}
LANDMARK_MODELS = (
    *(("kqd", {"reg": 0.1, "variant": variant}) for variant in VARIANTS),
    ("fisher", {"reg": 0.1}),
    ("kpca", {"reg": 0.01}),
    ("kpca", {"reg": 0.01, "n_components": 3}),
    ("heads", {"reg": 0.1}),
    ("heads", {"reg": 0.1, "discriminant": "quadratic", "variant": "IC+"}),
    ("heads", {"reg": 0.1, "discriminant": "least_squares", "variant": "FK+"}),
    ("heads", {"reg": 0.1, "discriminant": "lda", "variant": "RC-"}),
)


def landmark_cases():
    """Landmarks by number, as objects and "auto", for every method, space and road."""
    roads = ("array", "batches", "partial_fit", "fit_partial_fit", "dask", "float32")
    cases = []
    for (family, params), landmarks, space, road in product(
        LANDMARK_MODELS, (12, "objects", "auto"), SPACES, roads
    ):
        data, kernel = SPACES[space]
        if space.startswith("rows") and road in ("dask", "float32"):
            continue
        params = {**params, **kernel, "landmarks": landmarks}
        cases.append(Case("landmarks", family, params, data, road))
    yield from sampled(cases, 900)
    others = []
    for (family, params), landmarks, space, road in product(
        LANDMARK_MODELS, (12, "objects"), SPACES, ("memory", "saved")
    ):
        data, kernel = SPACES[space]
        params = {**params, **kernel, "landmarks": landmarks}
        others.append(Case("landmarks", family, params, data, road))
    yield from sampled(others, 120)
    # Options of the quadratic discriminant.
    options = [
        {"offset": "map", "priors": [0.2, 0.3, 0.5]},
        {"offset": "map"},
        {"class_weight": "balanced"},
        {"offset": "none"},
        {"reg": [0.1, 0.2, 0.4]},
        {"reg_on": "relative"},
        {"reg_on": "kernel"},
        {"standardize": True},
        {"landmark_method": "kmeans"},
        {"landmark_method": "rpcholesky"},
        {"landmark_method": "uniform"},
        {"landmark_rtol": 1e-3},
        {"landmarks": 110},
    ]
    for more, variant, space in product(options, ("RC+", "RC-", "IC+"), SPACES):
        data, kernel = SPACES[space]
        if more.get("landmark_method") == "kmeans" and kernel["kernel"] == "rows":
            continue
        params = {"reg": 0.1, "variant": variant, "landmarks": 12, **kernel, **more}
        yield Case("landmarks", "kqd", params, data)
    # Kernel matrices, strings and mixed tables.
    inputs = (
        ("three/definite", "precomputed"),
        ("three/indefinite", "precomputed"),
        ("words", "edit"),
        ("words", "edit-rbf"),
        ("mixed", "gower"),
        ("three", "mahalanobis-full"),
        ("three", "callable"),
    )
    for (family, params), landmarks, (data, kernel) in product(
        LANDMARK_MODELS, (10, "objects", "auto"), inputs
    ):
        if family == "kqd" and params["variant"] not in ("RC+", "FK+"):
            continue
        yield Case("landmarks", family, {**params, "landmarks": landmarks, "kernel": kernel}, data)


def map_cases():
    """Features at landmarks, by their products and residuals."""
    inputs = (
        ("many", {"kernel": "rbf"}),
        ("units", {"kernel": "rbf"}),
        ("many", {"kernel": "poly", "degree": 2, "gamma": 0.2}),
        ("many", {"kernel": "sigmoid", "gamma": 0.3, "coef0": -1}),
        ("many", {"kernel": "sigmoid", "gamma": 0.3, "coef0": -1, "spectrum": "flip"}),
        ("many/rows-indefinite", {"kernel": "rows"}),
        ("three/indefinite", {"kernel": "precomputed"}),
        ("words", {"kernel": "edit"}),
    )
    for (data, kernel), landmarks, method in product(
        inputs, (5, 12, "objects", "auto"), ("auto", "uniform", "kmeans", "rpcholesky")
    ):
        vectors = data in VECTORS or data == "units"
        if (method == "kmeans" and not vectors) or (landmarks == "objects" and method != "auto"):
            continue
        params = {**kernel, "landmarks": landmarks, "method": method}
        yield Case("landmark map", "landmark_map", params, data)


def input_space_cases():
    """Gaussian classifiers tall and wide, the learned metric, SVMs."""
    covariances = combined(
        covariance=("full", "diag", "spherical"),
        pooled=(None, True),
        shrinkage=(None, 0.3, "auto"),
        feature_weights=(None, "descent", "difference"),
        data=("three", "wide", "units", "collinear"),
    )
    for params in covariances:
        data = params.pop("data")
        if "shrinkage" in params and "feature_weights" in params and data != "three":
            continue
        yield Case("gaussian", "gaussian", params, data)
    for params in (
        {"priors": [0.2, 0.3, 0.5]},
        {"covariance_estimator": "ledoit-wolf"},
        {"feature_weights": "descent", "weight_power": 1.0},
    ):
        for data in ("three", "wide", "units"):
            yield Case("gaussian", "gaussian", params, data)
    for params in combined(
        covariance=("full", "diag", "spherical"),
        pooled=(None, True),
        feature_weights=(None, "descent"),
    ):
        yield Case("gaussian", "gaussian", {**params, "missing": "ignore"}, "missing")
    roads = ("batches", "partial_fit", "fit_partial_fit", "dask", "weights", "saved", "float32")
    for params in combined(
        covariance=("full", "diag", "spherical"),
        pooled=(None, True),
        shrinkage=(None, 0.3),
        road=roads,
        data=("three", "wide"),
    ):
        road, data = params.pop("road"), params.pop("data")
        yield Case("gaussian", "gaussian", params, data, road)
    for params in combined(
        metric=("diagonal", "full"), reg=(1e-3, 0.1), n_iter=(0, 2), length=(None, 2.0)
    ):
        yield Case("learned metric", "learned_metric", params, "two")
        yield Case("learned metric", "learned_metric", params, "units")
    for params in combined(
        covariance=("diag", "full"),
        covariance_from=("pair", "all"),
        C=(1.0, 10.0),
        class_weight=(None, "balanced"),
        data=("three", "two"),
    ):
        data = params.pop("data")
        for road in ("array", "weights") if "class_weight" not in params else ("array",):
            yield Case("svm", "mahalanobis_svm", {**params, "delta": 0.5}, data, road)


def novelty_cases():
    """p-values of the detector and of prediction sets, and drift."""
    cases = []
    for variant, name, spectrum, reg in product(
        ("other-classes", *VARIANTS),
        ("rbf", "rbf units", "linear", "gram", "indefinite", "rows indefinite", "edit", "gower"),
        ("krein", "flip"),
        ({}, {"reg": 0.05}, {"reg": 0.05, "reg_on": "covariance"}),
    ):
        data, kernel = KERNELS[name]
        policy = {} if spectrum == "krein" else {"spectrum": spectrum}
        params = {"variant": variant, **kernel, **policy, **reg}
        for road in ("array", "unlabelled"):
            if road == "array" or variant not in ("other-classes", "IC-", "FK-"):
                cases.append(Case("detector", "novelty", params, data, road))
    yield from sampled(cases, 150)
    for number, data in product((6, 20), ("three", "two")):
        yield Case(
            "detector", "novelty", {"variant": "other-classes", "n_references": number}, data
        )
    for road, variant in product(("memory", "saved"), ("RC+", "other-classes", "FK+", "IC-")):
        yield Case("detector", "novelty", {"variant": variant, "reg": 0.05}, "three", road)
    classifiers = (
        ("kqd", {"reg": 0.1}, "three"),
        ("kqd", {"reg": 0.1, "kernel": "linear"}, "two"),
        ("kqd", {"reg": 0.1, "variant": "FK+"}, "three"),
        ("kqd", {"reg": 0.1, "kernel": "precomputed"}, "three/definite"),
        ("kqd", {"reg": 0.1, "kernel": "precomputed"}, "three/indefinite"),
        ("kqd", {"reg": 0.1, "kernel": "edit-rbf"}, "words"),
        ("kqd", {"reg": 0.1, "landmarks": 12}, "three"),
        ("fisher", {"reg": 0.1}, "three"),
        ("heads", {"reg": 0.1}, "three"),
        ("ridge", {}, "two"),
        ("gaussian", {}, "three"),
        ("svc", {}, "three"),
        ("kqd", {"grid": {"reg": [0.1, 1.0]}, "cv": "3"}, "three"),
    )
    for (family, params, data), method, nonconformity, conditional in product(
        classifiers, ("auto", "full", "cross", "split"), ("margin", "distance"), (True, False)
    ):
        if not conditional and method == "full":
            continue
        yield Case(
            "conformal",
            f"conformal-{family}",
            {
                "method": method,
                "nonconformity": nonconformity,
                "class_conditional": conditional,
                "estimator": params,
            },
            data,
        )
    for variant, name, alternative in product(
        ("RC+", "other-classes"), ("rbf", "linear", "rows indefinite"), ("greater", "two-sided")
    ):
        data, kernel = KERNELS[name]
        params = {"variant": variant, "alternative": alternative, **kernel}
        yield Case("drift", "drift", params, data)


GRIDS: dict[str, list[dict | None]] = {
    "kqd": [{"reg": [0.01, 0.3], "variant": ["RC+", "IC+", "FK-"]}, {"reg": [0.1, 1.0]}],
    "heads": [{"reg": [0.01, 0.3], "variant": ["RC+", "FK+"]}],
    "fisher": [{"reg": [1e-3, 0.1]}],
    "kpca": [{"reg": [1e-3, 0.1]}],
    "knn": [{"n_neighbors": [1, 3, 6]}],
    "ridge": [{"reg": [1e-3, 0.1]}],
    "svm": [{"C": [1.0, 10.0]}],
}
FIXED: dict[str, list[dict]] = {
    "kqd": [{}, {"offset": "loo"}, {"offset": "map"}, {"class_weight": "balanced"}],
    "heads": [{}, {"discriminant": "quadratic"}],
    "kpca": [{}, {"n_components": 3}],
    "knn": [{}, {"weights": "distance"}],
}
SEARCH_INPUTS = {
    "vectors": ("two", {}, {"gamma": [0.05, 0.5]}),
    "units": ("units", {}, {"gamma": [0.05, 0.5]}),
    "kernels": ("three", {}, {"kernel": ["linear", "cosine"]}),
    "poly": ("two", {"kernel": "poly"}, {"degree": [1, 2]}),
    "gram": ("three/definite", {"kernel": "precomputed"}, {}),
    "indefinite": ("three/indefinite", {"kernel": "precomputed"}, {}),
    "rows": ("three/rows-indefinite", {"kernel": "rows"}, {}),
    "words": ("words", {}, {"kernel": ["edit", "edit-rbf"]}),
}


def search_cases():
    """Searches by cross-validation: explicit and default grids, all kinds of splits."""
    for family, grids in GRIDS.items():
        explicit, default = [], []
        for name, cv, scoring, fixed in product(
            SEARCH_INPUTS,
            ("3", "kfold", "loo", "groups"),
            (None, "neg_log_loss", "balanced_accuracy"),
            FIXED.get(family, [{}]),
        ):
            data, kernel, widths = SEARCH_INPUTS[name]
            if "offset" in fixed and name in ("indefinite", "rows", "words"):
                kernel = {**kernel, "spectrum": "flip"}
            common = {**fixed, **kernel, "cv": cv, **({"scoring": scoring} if scoring else {})}
            for grid in grids:
                if fixed.get("offset") in ("loo", "map") and "variant" in grid:
                    grid = {**grid, "variant": ["RC+", "RC-"]}
                params = {**common, "grid": {**grid, **widths}}
                explicit.append(Case("search", family, params, data))
            params = {**common, "grid": "default"}
            slow = family in ("svm", "heads") and cv == "loo"
            if not slow and name not in ("kernels", "poly"):
                params = {**params, "kernel": "edit"} if name == "words" else params
                default.append(Case("search", family, params, data))
        yield from sampled(explicit, 60 if family == "kqd" else 22)
        yield from sampled(default, 24 if family == "kqd" else 6 if family == "svm" else 9)
    for params in combined(
        covariance=("diag", "full"),
        covariance_from=("pair", "all"),
        grid=("default", [{"C": [1, 10], "delta": [0.5, 1.0]}]),
    ):
        grid = params.pop("grid")
        params["grid"] = grid if isinstance(grid, str) else grid[0]
        yield Case("search", "mahalanobis_svm", {**params, "cv": "3"}, "two")
    for family in ("kqd", "knn", "ridge"):
        params = {"grid": "default", "cv": "3", "kernel": "elastic"}
        yield Case("search", family, params, "series")
    for road in ("saved", "memory"):
        for family, grids in GRIDS.items():
            params = {"grid": {**grids[0], "gamma": [0.05, 0.5]}, "cv": "3"}
            yield Case("search", family, params, "two", road)


def landmark_search_cases():
    """Searches at landmarks."""
    cases = []
    for family, landmarks, space, grid, road in product(
        ("kqd", "fisher", "kpca", "heads"),
        (12, "objects", "auto"),
        ("definite", "indefinite", "flipped", "rows"),
        ("default", "explicit"),
        ("array", "batches", "dask", "float32"),
    ):
        data, kernel = SPACES[space]
        if space == "rows" and road in ("dask", "float32"):
            continue
        kernel = dict(kernel)
        gamma = kernel.pop("gamma", None)
        widths = {} if gamma is None else {"gamma": [gamma, round(3 * gamma, 6)]}
        searched = "default" if grid == "default" else {**GRIDS[family][0], **widths}
        params = {**kernel, "landmarks": landmarks, "cv": "3 folds", "grid": searched}
        cases.append(Case("search at landmarks", family, params, data, road))
    yield from sampled(cases, 110)
    splits = product(("kqd", "fisher"), ("kfold", "groups"), ("definite", "indefinite"))
    for family, cv, space in splits:
        data, kernel = SPACES[space]
        kernel = {**kernel}
        widths = {"gamma": [kernel.pop("gamma")]}
        grid = {**GRIDS[family][0], **widths}
        params = {**kernel, "landmarks": 12, "cv": cv, "grid": grid}
        yield Case("search at landmarks", family, params, data)


def ensemble_cases():
    """Ensembles on two small tables, strings and a matrix."""
    small = ["gaussian", "kqd", "kernel_fisher"]
    for params, data in (
        ({"families": "auto"}, "two"),
        ({"families": "auto"}, "three"),
        ({"families": small, "combine": "best"}, "two"),
        ({"families": small, "combine": "best"}, "three"),
        ({"families": small, "scoring": "balanced_accuracy"}, "three"),
        ({"families": ["gaussian", "kernel_ridge", "neighbors", "learned_metric"]}, "two"),
        ({"families": ["kqd", "kernel_pca"], "class_weight": "balanced"}, "three"),
        ({"families": ["kqd", "kernel_ridge"], "kernel": "precomputed"}, "three/indefinite"),
        ({"families": ["kqd", "svm"], "kernel": "edit"}, "words"),
        ({"families": ["gaussian", "kernel_fisher"], "cv": "groups"}, "two"),
    ):
        yield Case("ensemble", "ensemble", {"cv": "3", **params}, data)


def every_case():
    """{key: case}."""
    makers = (
        *(plain_cases, road_cases, landmark_cases, map_cases, input_space_cases),
        *(novelty_cases, search_cases, landmark_search_cases, ensemble_cases),
    )
    cases = [case for make in makers for case in make()]
    by_key = {case.key: case for case in cases}
    if len(by_key) < len(cases):
        twice = [key for key, n in Counter(case.key for case in cases).items() if n > 1]
        raise AssertionError(f"{len(twice)} keys occur twice: {twice[:3]}")
    return by_key


# --- adapter: all that knows the names of the library ---------------------------------------------

ESTIMATORS = {
    "kqd": ml.KernelQuadraticDiscriminant,
    "heads": ml.DissimilaritySpaceDiscriminant,
    "fisher": ml.KernelFisherDiscriminant,
    "kpca": ml.KernelPCAQuadraticDiscriminant,
    "knn": ml.KernelKNeighborsClassifier,
    "ridge": ml.KernelRidgeClassifier,
    "svm": ml.OneVsRestSVC,
    "mahalanobis_svm": ml.MahalanobisSVC,
    "distances": ml.KernelMahalanobisTransformer,
    "embedding": ml.PseudoEuclideanEmbedding,
    "landmark_map": ml.LandmarkMap,
    "proximity": ml.ProximityKernel,
    "gaussian": ml.GaussianClassifier,
    "learned_metric": ml.RecursiveFeatureMachine,
    "novelty": ml.KernelMahalanobisNovelty,
    "drift": ml.KernelMahalanobisNovelty,
    "ensemble": ml.MahalanobisClassifierCV,
}
# Parameters that the default grids search.
DEFAULT_GRID = {
    **{"kqd": ("gamma", "reg"), "heads": ("gamma", "reg"), "fisher": ("gamma", "reg")},
    **{"kpca": ("gamma", "reg"), "ridge": ("gamma", "reg"), "svm": ("C", "gamma")},
    **{"knn": ("gamma", "n_neighbors"), "mahalanobis_svm": ("C", "delta")},
}
AT_LANDMARKS = ("kqd", "heads", "fisher", "kpca", "landmark_map")
reg_factor = 1.0  # compare --reg-factor: a deliberate change, to see that it is found


def build(case, data):
    """The estimator of a case, not fitted."""
    params = dict(case.params)
    family = case.family
    if family.startswith("conformal-"):
        inner = case._replace(family=family.removeprefix("conformal-"), params=params["estimator"])
        if inner.family == "svc":
            params["estimator"] = make_pipeline(StandardScaler(), SVC())
        else:
            params["estimator"] = build(inner, data)
        return ml.ConformalClassifier(**params)
    plain = ESTIMATORS[family]
    params.pop("alternative", None)  # of the test of drift
    if "grid" in params:
        return build_search(plain, params, data, family)
    if family == "ensemble":
        params["cv"] = splitter(params["cv"], data)
        # The full search: which candidates a race leaves out may change.
        return plain(**{**params, **kernel_of(params, data)}, effort="best", random_state=0)
    if family in ("svm", "mahalanobis_svm"):
        params.update(tol=1e-10, max_iter=100_000)
    return plain(**translated(params, data))


def build_search(plain, params, data, family):
    """The search over a grid, or over the default one, with the other parameters fixed.

    Parameters that a grid does not name have their default values.
    """
    grid, cv = params.pop("grid"), splitter(params.pop("cv"), data)
    options = {"cv": cv, "scoring": params.pop("scoring", None)}
    fixed = translated(params, data)
    if family == "mahalanobis_svm":
        fixed.update(tol=1e-10, max_iter=100_000)
    elif family == "svm":
        fixed.update(tol=1e-8, max_iter=100_000)
    if isinstance(grid, str):
        return ml.KernelSearchCV(plain(**fixed), **options)
    if family == "mahalanobis_svm":
        return ml.KernelSearchCV(plain(**fixed), grid, **options)
    grid = dict(grid)
    if "reg" in grid:
        grid["reg"] = [reg * reg_factor for reg in grid["reg"]]
    variants = [{"variant": v} for v in grid.pop("variant", [])] or [{}]
    kernels = [kernel_of({"kernel": k}, data)["kernel"] for k in grid.pop("kernel", [])]
    gammas, degrees = grid.pop("gamma", None), grid.pop("degree", None)
    settings = [
        {**({"kernel": kernel} if kernels else {}), **width}
        for kernel in kernels or [plain(**fixed).kernel]
        for width in widths(kernel, gammas, degrees)
    ]
    axis = plain.path_parameter
    paths = [(v, grid.get(axis) or path_values(plain(**{**fixed, **v}))) for v in variants]
    candidates = in_order_of_preference(axis, settings, paths)
    return ml.KernelSearchCV(plain(**fixed), as_param_grid(candidates), **options)


def translated(params, data):
    """Parameters of a case in the words of the library."""
    params = {**params, **kernel_of(params, data)}
    if params.get("offset") == "none":
        params["offset"] = None
    if params.get("n_components") == "all":
        params["n_components"] = None
    if params.get("discriminant") == "lda":
        params["discriminant"] = LinearDiscriminantAnalysis()
    if params.get("covariance_estimator") == "ledoit-wolf":
        params["covariance_estimator"] = LedoitWolf()
    if "landmarks" in params:
        params["random_state"] = 0
        if isinstance(params["landmarks"], str) and params["landmarks"] == "objects":
            params["landmarks"] = data.landmarks
        names = {"landmark_method": "method", "landmark_rtol": "rtol"}
        options = {new: params.pop(old) for old, new in names.items() if old in params}
        if options:
            params["landmarks"] = ml.LandmarkMap(params["landmarks"], **options, random_state=0)
    if "reg" in params:
        params["reg"] = (np.array(params["reg"]) * reg_factor).tolist()
    return params


def kernel_of(params, data):
    """The kernel of a case."""
    match params.get("kernel"):
        case None:
            return {}
        case "mahalanobis-full":
            return {"kernel": ml.MahalanobisKernel("full")}
        case "callable":
            return {"kernel": city_kernel}
        case "rows":
            return {"kernel": ml.PrecomputedKernel(data.matrix)}
        case "edit" | "gower" as measure:
            return {"kernel": ml.MeasureKernel(measure)}
        case "edit-rbf":
            return {"kernel": ml.MeasureKernel("edit", kind="rbf")}
        case name:
            return {"kernel": name}


def kernel_name(kernel):
    """The name of a kernel in the cases."""
    if isinstance(kernel, ml.MeasureKernel):
        measure = kernel.measure if isinstance(kernel.measure, str) else repr(kernel.measure)
        return measure if kernel.kind in ("auto", "neg_squared") else f"{measure}-{kernel.kind}"
    return kernel if isinstance(kernel, str) else type(kernel).__name__


def splitter(name, data):
    """Splits by name."""
    match name:
        case "kfold":
            return KFold(4, shuffle=True, random_state=0)
        case "loo":
            return LeaveOneOut()
        case "groups":
            return GroupKFold(4)
        case "3 folds":  # a number: batches and dask draw their folds themselves
            return 3
    return StratifiedKFold(3, shuffle=True, random_state=0)


def rounding_of(model):
    """What rounding may leave in the scores, where the library has a bound; else 0."""
    return float(getattr(model, "rounding_", 0.0) or 0.0)


def answers_of(case, model, data, queries):
    """What a fitted model says of queries: {name: array or text}."""
    family = case.family
    searched = "grid" in case.params
    if family == "drift":
        test = model.drift_test(queries, alternative=case.params["alternative"])
        return {"drift": np.append(test.p_values, test.p_pooled)}
    if family in ("embedding", "landmark_map"):
        features = model.transform(queries)
        out = {"gram": (features * model.signs_) @ features.T}
        if family == "landmark_map":
            out["residual"] = model.residual(queries)
            out["n_landmarks"] = str(len(model.landmarks_))
        return out
    if family == "distances":
        return {"distances": model.transform(queries)}
    if family == "proximity":
        return {"gram": model.transform(queries)}
    out = {"labels": model.predict(queries)}
    if family == "novelty":
        for name, method in (
            ("scores", model.decision_function),
            ("distances", model.mahalanobis),
            ("p_values", model.p_values),
            ("p_none", model.p_none),
        ):
            out[name] = method(queries)
        out["training_distances"] = model.training_distances()
        return out
    if family.startswith("conformal-"):
        return {**out, "p_values": model.p_values(queries), "method": model.method_}
    density = family == "gaussian" or case.params.get("offset") == "map"
    methods = {"scores": "decision_function", "distances": "mahalanobis"}
    if density or searched or family == "ensemble":
        methods["proba"] = "predict_proba"
    for name, method in methods.items():
        if hasattr(model, method):
            out[name] = getattr(model, method)(queries)
    best = getattr(model, "best_estimator_", model) if searched else model
    if "distances" not in out and hasattr(best, "mahalanobis") and searched:
        out["distances"] = best.mahalanobis(queries)
    if hasattr(best, "offsets_"):
        out["offsets"] = best.offsets_
    if case.params.get("landmarks") is not None:
        out["n_landmarks"] = str(len(best.landmarks_))
        out["residual"] = best.residual(queries)
    if family == "learned_metric":
        out["metric"] = model.metric_
    if searched:
        out.update(search_answers(case, model))
    if family == "ensemble":
        board = sorted(model.leaderboard_, key=lambda row: row["member"])
        out["fold_scores"] = np.array([row["mean_score"] for row in board], float)
        out["members"] = text([row["member"] for row in board])
        out["best_score"] = np.array([model.best_score_])
        out["weights"] = np.array([model.weights_.get(row["member"], 0) for row in board], float)
    return out


def search_answers(case, search):
    """Candidates with their scores, the best of them, and its held-out scores."""
    grid = case.params["grid"]
    names = DEFAULT_GRID[case.family] if isinstance(grid, str) else tuple(sorted(grid))
    if case.params.get("kernel") == "elastic":
        names = ("kernel", *names)

    def described(params):
        return " ".join(value_text(params.get(name, "")) for name in names)

    rows = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    rows = sorted((described(params), score) for params, score in rows)
    out = {
        "best_params": described(search.best_estimator_.get_params(deep=False)),
        "best_score": np.array([search.best_score_]),
        "candidates": "; ".join(row for row, _ in rows),
        "cv_scores": np.array([score for _, score in rows]),
    }
    if hasattr(search, "oof_scores_"):
        out["oof"] = search.oof_scores_
    return out


def value_text(value):
    """A parameter of a search as text, numbers to six digits."""
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    return kernel_name(value)


# --- roads ----------------------------------------------------------------------------------------


def fitted(case, data, folder):
    """The model of a case fitted by its road, and the queries as it takes them."""
    model = build(case, data)
    X, y = data.X, data.y
    n = len(y)
    thirds = [slice(0, n // 3), slice(n // 3, n // 2), slice(n // 2, n)]
    parts = [(take(X, np.arange(n)[rows]), y[rows]) for rows in thirds]
    start = (take(X, np.arange(n // 2)), y[: n // 2])
    match case.road:
        case "batches":
            return model.fit(parts), data.queries
        case "partial_fit":
            model.partial_fit(*start, classes=np.unique(y))
            return model.partial_fit(*parts[2]), data.queries
        case "fit_partial_fit":
            return model.fit(*start).partial_fit(*parts[2]), data.queries
        case "dask":
            import dask.array as da

            rows, labels = da.from_array(X, chunks=(n // 3, -1)), da.from_array(y, chunks=n // 3)
            return model.fit(rows, labels), data.queries
        case "float32":
            return model.fit(X.astype(np.float32), y), data.queries.astype(np.float32)
        case "saved":
            path = ml.save_model(model.fit(X, y), folder / "model.skops", overwrite=True)
            return ml.load_model(path), data.queries
        case "weights":
            return model.fit(X, y, sample_weight=data.weights), data.queries
        case "unlabelled":
            return model.fit(X), data.queries
    if case.params.get("cv") == "groups":
        return model.fit(X, y, groups=data.groups), data.queries
    return model.fit(X, y), data.queries


def answers(case, folder, nudge=False):
    """What the model of a case says: {name: array or text}; an error is an answer, too."""
    eps = np.finfo(np.float32 if case.road == "float32" else float).eps
    data = problem(case.data, eps if nudge else 0.0)
    memory = 0.004 if case.road == "memory" else sklearn.get_config()["working_memory"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(sklearn.config_context(working_memory=memory))
        try:
            model, queries = fitted(case, data, folder)
            out = {
                name: value if isinstance(value, str) else np.asarray(value)
                for name, value in answers_of(case, model, data, queries).items()
            }
            out["rounding"] = np.array([rounding_of(model)])
            return out
        except Exception as error:
            return {"error": f"{type(error).__name__}: {' '.join(str(error).split()[:7])}"}


def run(cases, nudge):
    """{key: answers} and, with nudge, {key: nudged answers}; seconds by category."""
    found, moved, seconds = {}, {}, Counter()
    with contextlib.ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with contextlib.suppress(ImportError):
            import dask

            stack.enter_context(dask.config.set(scheduler="synchronous"))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        advance = stack.enter_context(progress(True, len(cases), "Cases"))
        for key, case in cases.items():
            start = time.process_time()
            found[key] = answers(case, folder)
            if nudge and "error" not in found[key] and not case.data.startswith(("words", "mixed")):
                moved[key] = answers(case, folder, nudge=True)
            seconds[case.category] += time.process_time() - start
            advance()
    return found, moved, seconds


# --- files ----------------------------------------------------------------------------------------


def save(path, results, about):
    """Write {key: {name: array or text}} as one array of numbers and an index in JSON."""
    numbers, index, at = [], {}, 0
    for key, outputs in results.items():
        index[key] = entry = {}
        for name, value in outputs.items():
            if isinstance(value, str):
                entry[name] = value
            elif value.dtype.kind in "OUS":
                entry[name] = {"labels": value.tolist()}
            else:
                entry[name] = {"shape": value.shape, "at": at}
                numbers.append(value.astype(float).ravel())
                at += value.size
    content = json.dumps({"about": about, "cases": index})
    np.savez_compressed(path, numbers=np.concatenate(numbers), index=np.array(content))


def load(path):
    """({key: {name: array or text}}, about)."""
    with np.load(path) as file:
        numbers, content = file["numbers"], json.loads(str(file["index"]))

    def value(entry):
        if isinstance(entry, str):
            return entry
        if "labels" in entry:
            return np.array(entry["labels"])
        size = int(np.prod(entry["shape"], dtype=int))
        return numbers[entry["at"] : entry["at"] + size].reshape(entry["shape"])

    cases = content["cases"].items()
    return {k: {n: value(e) for n, e in v.items()} for k, v in cases}, content["about"]


def with_noise(found, moved):
    """The answers with what a nudge changes: "noise <name>" of numbers, "ties <name>" of ranks."""
    results = {}
    for key, outputs in found.items():
        results[key] = dict(outputs)
        other = moved.get(key, {})
        if any(
            other.get(name) != value for name, value in outputs.items() if isinstance(value, str)
        ):
            continue  # the nudge broke a tie of candidates: this says nothing of rounding
        for name, value in outputs.items():
            if name not in other or np.shape(value) != np.shape(other[name]):
                continue
            if name in NUMBERS:
                results[key][f"noise {name}"] = np.array([largest_gap(value, other[name])])
            elif name in RANKS or name == "labels":
                results[key][f"ties {name}"] = np.flatnonzero((value != other[name]).ravel())
    return results


# --- comparison -----------------------------------------------------------------------------------


def largest(value):
    """The largest finite magnitude."""
    value = np.abs(np.asarray(value, float))
    return float(value[np.isfinite(value)].max(initial=0.0))


def largest_gap(a, b):
    """The largest difference of two arrays of one shape; infinite where only one is finite."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        gap = np.where(same, 0.0, np.abs(a - b))
    return float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0))


class Difference(NamedTuple):
    """What differs in a case: the kind of answer, how much in units of what is allowed, words."""

    kind: str
    size: float
    words: str


def allowed_gap(name, before):
    """How far numbers may differ."""
    scale = largest(before[name])
    if name in ("offsets", "proba", "training_distances"):
        scale = max(scale, largest(before.get("scores", 0)))
    noise = float(before.get(f"noise {name}", [0.0])[0])
    noise = 0.0 if np.isinf(noise) else noise
    rounding = 0.0
    if name in ("scores", "distances", "offsets", "proba"):
        rounding = float(before["rounding"][0]) * (2 if name == "distances" else 1)
    return max(RTOL * scale, NOISE_FACTOR * noise, rounding)


def tied(before):
    """Rows whose labels may differ: the two best scores are as near as rounding."""
    scores = before.get("scores", before.get("proba"))
    if scores is None or not len(scores):
        return np.zeros(len(before["labels"]), bool)
    allowed = 2 * allowed_gap("scores" if "scores" in before else "proba", before)
    if scores.ndim == 1:
        return np.abs(scores) <= allowed
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= allowed


def differences(before, after):
    """(list of Differences, whether labels or p-values differ at ties only)."""
    if "error" in before or "error" in after:
        words = [str(outputs.get("error", "no error")) for outputs in (before, after)]
        if words[0] == words[1]:
            return [], False
        kinds = {word.split(":")[0] for word in words}
        kind = "error" if len(kinds) > 1 else "words of an error"
        return [Difference(kind, np.inf, f"{words[0]!r} became {words[1]!r}")], False
    out, at_ties = [], False
    for name, value in before.items():
        if name == "rounding" or name.startswith(("noise ", "ties ")):
            continue
        now = after.get(name)
        if now is None or np.shape(now) != np.shape(value):
            words = "is gone" if now is None else f"has shape {np.shape(now)}, {np.shape(value)}"
            out.append(Difference(name, np.inf, f"{name} {words}"))
        elif isinstance(value, str):
            if value != now:
                shown = ", ".join(changed_parts(value, str(now)))
                out.append(Difference(name, np.inf, f"{name}: {shown}"))
        elif name == "labels" or name in RANKS:
            wrong = (value != now) if name == "labels" else ~np.isclose(value, now, 0, RTOL)
            wrong = wrong.ravel()
            excused = np.isin(np.arange(wrong.size), before.get(f"ties {name}", []))
            if name == "labels":
                excused |= tied(before)
            at_ties |= bool((wrong & excused).any())
            if n := int((wrong & ~excused).sum()):
                out.append(Difference(name, n / wrong.size, f"{n} of {wrong.size} {name} differ"))
        else:
            gap, allowed = largest_gap(value, now), allowed_gap(name, before)
            if gap > allowed:
                size = gap / max(largest(value), np.finfo(float).tiny)
                words = f"{name}: {gap:.2g} ({size:.2g} of the largest); {allowed:.1g} allowed"
                out.append(Difference(name, size, words))
    if is_tie_of_the_grid(out):
        return [Difference("tie of the grid", 0.0, out[0].words)], at_ties
    return out, at_ties


def changed_parts(before, after):
    """What two texts of parts have not in common."""
    parts = [text.split("; ") for text in (before, after)]
    gone, new = (sorted(set(a) - set(b)) for a, b in (parts, parts[::-1]))
    return f"{gone[:3]} became {new[:3]}", *([f"{len(gone)} of {len(parts[0])}"] * (len(gone) > 3))


def is_tie_of_the_grid(found):
    """Whether another of several equally good candidates was chosen: the rule for ties changed."""
    kinds = {difference.kind for difference in found}
    return "best_params" in kinds and not kinds & {"best_score", "cv_scores", "candidates", "error"}


def compare(before, after, shown):
    """Print a report; whether something differs that is not known."""
    for pattern, replacement in RENAMED.items():
        before = {re.sub(pattern, replacement, key): case for key, case in before.items()}
    gone = {
        why: [key for key in before if re.search(pattern, key)] for pattern, why in GONE.items()
    }
    before = {k: case for k, case in before.items() if not any(k in keys for keys in gone.values())}
    missing, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    counts: dict[str, Counter] = defaultdict(Counter)
    worst: dict[str, list] = defaultdict(list)
    known = Counter()
    for key in sorted(before.keys() & after.keys()):
        category = key.split(":")[0]
        found, at_ties = differences(before[key], after[key])
        reason = next((why for pattern, why in KNOWN.items() if re.search(pattern, key)), None)
        if not found:
            counts[category]["equal but for ties" if at_ties else "equal"] += 1
        elif reason:
            counts[category]["known"] += 1
            known[reason] += 1
        elif {d.kind for d in found} <= {"words of an error", "tie of the grid"}:
            counts[category][found[0].kind] += 1
            worst[found[0].kind].append((found[0].size, key, found[0].words))
        else:
            counts[category]["different"] += 1
            for difference in found:
                worst[difference.kind].append((difference.size, key, difference.words))
    columns = (
        *("equal", "equal but for ties", "tie of the grid", "words of an error", "known"),
        "different",
    )
    print(f"{'':<22}" + "".join(f"{name:>20}" for name in columns))
    total: Counter = Counter()
    for category, row in counts.items():
        total.update(row)
        print(f"{category:<22}" + "".join(f"{row[name]:>20}" for name in columns))
    print(f"{'all':<22}" + "".join(f"{total[name]:>20}" for name in columns))
    loose = [key for key in before if is_loose(before[key])]
    print(f"{len(loose)} cases are known to less than 1e-4 of their largest score.")
    for reason, n in known.items():
        print(f"known, {n} cases: {reason}")
    for reason, keys in gone.items():
        print(f"gone, {len(keys)} cases: {reason}")
    for kind, examples in sorted(worst.items()):
        print(f"\n{kind}: {len(examples)} cases; the worst:")
        for _, key, words in sorted(examples, reverse=True)[:shown]:
            print(f"  {key}\n      {words}")
    for name, keys in (("missing", missing), ("new", new)):
        if keys:
            print(f"\n{len(keys)} {name} keys: " + "\n  ".join(["", *keys[:shown]]))
    return bool(total["different"] or missing)


def is_loose(outputs):
    """Whether rounding leaves less than four digits of the scores."""
    return any(
        allowed_gap(name, outputs) > 1e-4 * largest(outputs[name]) > 0
        for name in ("scores", "distances", "gram")
        if name in outputs
    )


def main():
    global reg_factor
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare", "list"])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression on keys")
    parser.add_argument("--shown", type=int, default=5, help="examples of each kind of difference")
    parser.add_argument("--errors", action="store_true", help="record: print the errors, too")
    parser.add_argument(
        "--reg-factor", type=float, default=1.0, help="compare: a deliberate change of reg"
    )
    args = parser.parse_args()
    cases = {key: case for key, case in every_case().items() if re.search(args.only, key)}
    if args.action == "list":
        print("\n".join(cases))
        return
    if args.file is None:
        parser.error("which file?")
    if args.action == "record":
        found, moved, seconds = run(cases, nudge=True)
        about = {"version": ml.__version__, "numpy": np.__version__, "commit": commit()}
        save(args.file, with_noise(found, moved), about)
        sizes = Counter(case.category for case in cases.values())
        failed = Counter(cases[key].category for key, out in found.items() if "error" in out)
        sizes["all"], failed["all"], seconds["all"] = map(Counter.total, (sizes, failed, seconds))
        for name, n in sizes.items():
            print(f"{name:<22}{n:>6} cases{failed[name]:>6} errors{seconds[name]:>8.1f} CPU s")
        if args.errors:
            for key, out in found.items():
                if "error" in out:
                    print(f"{key}\n      {out['error']}")
        return
    before, about = load(args.file)
    before = {key: outputs for key, outputs in before.items() if re.search(args.only, key)}
    print(f"recorded by {about}")
    reg_factor = args.reg_factor
    after, _, _ = run(cases, nudge=False)
    sys.exit(compare(before, after, args.shown))


def commit():
    """The commit that is checked out, where there is one."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
