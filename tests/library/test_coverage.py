"""How often p ≤ a, by simulation, for every road to a p-value, against what `guarantee_` says.

A draw is a training set of two classes and one new object of the first. Limits are exact 99.9 %
binomial ones, wider in the long versions, which compare hundreds of shares. Classes have the same
distribution where a road could learn from the labels.
"""

import zlib

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from mahalearn import (
    ConformalClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    MahalanobisKernel,
    MeasureKernel,
    PrecomputedKernel,
)
from mahalearn.formulas.conformal import margin_p_values, query_sq_distances, reference_class

LEVELS = (0.1, 0.2, 0.5)
DRAWS = {  # of n objects with d features
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "t3": lambda rng, n, d: rng.standard_t(3, size=(n, d)),
    "ties": lambda rng, n, d: rng.integers(0, 3, size=(n, d)).astype(float),
}


def shares(p_value, n, d, kind, draws, shift=0.0, seed=0):
    """Shares of p ≤ a among the draws, for each level a."""
    draw, p = DRAWS[kind], np.empty(draws)
    rng = np.random.default_rng([seed, n, d, zlib.crc32(kind.encode())])
    for i in range(draws):
        X = np.vstack([draw(rng, n, d), shift + draw(rng, n, d)])
        p[i] = p_value(X, np.repeat([0, 1], n), draw(rng, 1, d))
    assert ((p > 0) & (p <= 1)).all()
    return [np.mean(p <= level + 1e-12) for level in LEVELS]


def limits(n, draws):
    """Exact limits of the shares where p ≤ a has the probability ⌊a(n + 1)⌋/(n + 1)."""
    expected = np.floor(np.multiply(LEVELS, n + 1) + 1e-9) / (n + 1)
    width = 0.999 if draws < 200 else 0.99998
    return np.array(stats.binom.interval(width, draws, expected)) / draws


def check_at_most(*args, draws, n, **options):
    measured = shares(*args, n=n, draws=draws, **options)
    assert (measured <= limits(n, draws)[1]).all(), measured


def check_exact(*args, draws, n, **options):
    measured = shares(*args, n=n, draws=draws, **options)
    lower, upper = limits(n, draws)
    assert (lower <= measured).all() and (measured <= upper).all(), measured


def check_fails(*args, draws, n, **options):
    measured = shares(*args, n=n, draws=draws, **options)
    assert (measured > limits(n, draws)[1]).any(), measured


def novelty(*args, promise, **options):
    """The road of a detector; `promise` is the end of its guarantee_."""

    def p_value(X, y, x):
        try:
            model = KernelMahalanobisNovelty(*args, level=0.1, **options).fit(X, y)
        except ValueError as error:  # one far object in many draws: refused, so no p-value
            assert "smaller than the rounding errors" in str(error)
            return 1.0
        assert f"with probability {promise}" in model.guarantee_, model.guarantee_
        return model.p_values(x)[0, 0]

    return p_value


def sets(estimator, *args, promise, **options):
    """The road of a classifier with prediction sets."""

    def p_value(X, y, x):
        model = ConformalClassifier(estimator, *args, **options).fit(X, y)
        assert f"with probability {promise}" in model.guarantee_, model.guarantee_
        return model.p_values(x)[0, 0]

    return p_value


def one_class(road):
    return lambda X, y, x: road(X[y == 0], None, x)


def strings(road):
    """Objects as words of the letters that their signs spell."""

    def words(X):
        return ["".join("abc"[int(v > 0) + int(v > 1)] for v in row) for row in X]

    return lambda X, y, x: road(words(X), y, words(x))


def by_matrix(X, y, x):
    """Row numbers of a matrix of all kernel values."""
    objects = np.vstack([X, x])
    kernel = PrecomputedKernel(rbf_kernel(objects, gamma=0.3))
    road = novelty("RC+", kernel=kernel, **EXACT, promise="at most a if the kernel is")
    return road(np.arange(len(X)), y, [len(X)])


EXACT = {"reg": 0.1, "reg_on": "kernel"}
NUMBERS = {"gamma": "auto", "standardize": False}
QUADRATIC = KernelQuadraticDiscriminant(reg=0.1, **NUMBERS)

# Roads that promise "at most a": no parameter is taken from the training objects.
AT_MOST_A = {
    "other-classes": novelty("other-classes", **EXACT, **NUMBERS, promise="at most a"),
    "five references": novelty("other-classes", n_references=5, **EXACT, **NUMBERS,
                               promise="at most a"),
    "RC+": novelty("RC+", **EXACT, **NUMBERS, promise="at most a"),
    "RC+ by a matrix": by_matrix,
    "unit rows": novelty("RC+", normalize=True, gamma="auto", **EXACT, promise="at most a"),
    "linear": novelty("RC+", kernel="linear", standardize=False, **EXACT, promise="at most a"),
    "small reg": novelty("RC+", reg=1e-9, reg_on="kernel", gamma=3.0, standardize=False,
                         promise="at most a"),
    "one class": one_class(novelty(**EXACT, **NUMBERS, promise="at most a")),
    "words": strings(novelty("other-classes", kernel=MeasureKernel("edit", scale=None), **EXACT,
                             promise="at most a")),
    "margin": sets(QUADRATIC, promise="at most a"),
    "distance": sets(QUADRATIC, nonconformity="distance", promise="at most a"),
    "margin after a step": sets(make_pipeline(Normalizer(), QUADRATIC), promise="at most a"),
    "split": sets(LogisticRegression(), "split", calibration_size=0.5, promise="at most a"),
    "split after LDA": sets(make_pipeline(LinearDiscriminantAnalysis(), LogisticRegression()),
                            "split", calibration_size=0.5, promise="at most a"),
}  # fmt: skip
# Roads that promise "about a": the training objects set a scale, and the choice to standardise,
# which is then cross-conformal. No simulation tells them from exact ones.
SCALED = {
    "default": novelty(promise="about a"),
    "other-classes": novelty("other-classes", promise="about a"),
    "one class": one_class(novelty(promise="about a")),
    "margin": sets(
        KernelQuadraticDiscriminant(),
        promise="about a",
    ),
    "words": strings(
        novelty(
            "other-classes",
            kernel="edit",
            promise="about a (the training objects set the kernel's scale and reg)",
        )
    ),
}
SEARCHED = {
    "margin": sets(
        KernelSearchCV(
            KernelQuadraticDiscriminant(standardize=False),
            {"gamma": [0.05, 0.3, 2], "reg": [1e-3, 1e-2, 1e-1]},
            cv=3,
        ),
        "full",
        promise="about a (the training objects set the parameters)",
    ),
}


def krein(X, y, x):
    """−d² with the city-block distance of order ½: indefinite."""

    def k(A, B):
        return -(np.sqrt(np.abs(A[:, None] - B)).sum(axis=2) ** 2)

    # A few draws are definite on both classes, and then full conformal.
    return KernelMahalanobisNovelty("RC+", 0.1, kernel=k, cv=5, reg=0.1).fit(X, y).p_values(x)[0, 0]


def none(X, y, x):
    return KernelMahalanobisNovelty("other-classes", level=0.1).fit(X, y).p_none(x)[0]


def none_rc(X, y, x):
    return KernelMahalanobisNovelty(level=0.1).fit(X, y).p_none(x)[0]


# Cross-conformal roads, with the features that make the last step alone fail.
FOLDS = {"cv": 3, "promise": "about a (at most 2a +"}
FULL_KERNEL = MahalanobisKernel("full")
CROSS = {
    "PCA": (60, sets(make_pipeline(PCA(0.9), QUADRATIC), **FOLDS)),
    "SelectKBest": (200, sets(make_pipeline(SelectKBest(k=3), QUADRATIC), **FOLDS)),
    "LDA": (20, sets(make_pipeline(LinearDiscriminantAnalysis(), QUADRATIC), **FOLDS)),
    "scaler, distance": (
        200,
        sets(make_pipeline(StandardScaler(), QUADRATIC), nonconformity="distance", **FOLDS),
    ),
    "standardize, distance": (
        200,
        sets(KernelQuadraticDiscriminant(standardize=True), nonconformity="distance", **FOLDS),
    ),
    "standardize": (200, novelty("other-classes", standardize=True, **FOLDS)),
    "standardize RC+": (200, novelty("RC+", standardize=True, **FOLDS)),
    "one class, standardize": (200, one_class(novelty(standardize=True, **FOLDS))),
    "MahalanobisKernel": (15, novelty("other-classes", kernel=FULL_KERNEL, **FOLDS)),
    "MahalanobisKernel RC+": (15, novelty("RC+", kernel=FULL_KERNEL, **FOLDS)),
    "MahalanobisKernel, margin": (
        15,
        sets(KernelQuadraticDiscriminant(kernel=FULL_KERNEL, reg=0.1), **FOLDS),
    ),
    "IC+": (3, novelty("IC+", **FOLDS)),
    "FK+": (3, novelty("FK+", **FOLDS)),
    "indefinite RC+": (3, krein),
    "p_none": (3, none),
    "p_none RC+": (3, none_rc),
}

# --- what must fail -------------------------------------------------------------------------------


def last_step_only(step, nonconformity="margin"):
    """A step that is fitted on the training objects, and full conformal p-values after it."""

    def p_value(X, y, x):
        before = step.fit(X, y)
        road = sets(QUADRATIC, nonconformity=nonconformity, promise="at most a")
        return road(before.transform(X), y, before.transform(x))

    return p_value


def fitted_before(variant):
    """A kernel that was fitted on the training objects, and looks as if it learned nothing."""

    def p_value(X, y, x):
        fitted = MahalanobisKernel("full").fit(X)
        model = KernelMahalanobisNovelty(variant, 0.1, kernel=lambda A, B: fitted(A, B))
        return model.fit(X, y).p_values(x)[0, 0]

    return p_value


def reference_margin(X, y, x):
    """A margin of reference distances, which is never offered."""
    alpha, first, second = 0.1, X[y == 0], X[y == 1]
    k = lambda A, B: rbf_kernel(A, B, gamma=1.0)  # noqa: E731
    model, other = (
        reference_class(k(first, second), alpha),
        reference_class(k(second, first), alpha),
    )
    rivals = query_sq_distances(other.augment(k(first, first)), alpha)
    query_rivals = query_sq_distances(other.augment(k(x, first)), alpha)
    return margin_p_values(model.augment(k(x, second)), alpha, model.c, rivals, query_rivals)[0]


def plug_in(X, y, x):
    """A rule without a guarantee: distances of three folds, ranks of a model of all objects."""
    fold, held_out = np.arange(len(X)) % 3, []
    transformer = KernelMahalanobisTransformer("IC+", 0.01, gamma=0.2)
    for f in range(3):
        mine = (fold == f) & (y == 0)
        fitted = transformer.fit(X[fold != f], y[fold != f])
        held_out.extend(fitted.mahalanobis(X[mine])[:, 0])
    d2 = transformer.fit(X, y).mahalanobis(x)[0, 0]
    return (1 + np.sum(np.array(held_out) >= d2)) / (1 + len(held_out))


WRONG = {  # features, n, shift of the second class, road
    "SelectKBest": (200, 19, 0, last_step_only(SelectKBest(k=3))),
    "LDA": (20, 19, 0, last_step_only(LinearDiscriminantAnalysis())),
    "scaler": (200, 19, 0, last_step_only(StandardScaler(), "distance")),
    "kernel": (30, 19, 0, fitted_before("other-classes")),
    "kernel RC+": (30, 40, 0, fitted_before("RC+")),
    "reference margin": (3, 20, 1, reference_margin),
    "plug-in": (3, 10, 1, plug_in),
}

# --- the simulations ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AT_MOST_A)
def test_at_most_a(name):
    check_at_most(AT_MOST_A[name], n=9, d=3, kind="normal", draws=150, shift=1.0)


@pytest.mark.parametrize(("name", "n", "kind"), [("other-classes", 40, "t3"), ("RC+", 200, "ties")])
def test_at_most_a_for_larger_classes(name, n, kind):
    check_at_most(AT_MOST_A[name], n=n, d=3, kind=kind, draws=150)


@pytest.mark.parametrize("name", ["default", "margin"])
def test_scales_of_the_training_objects(name):
    check_at_most(SCALED[name], n=9, d=3, kind="normal", draws=100, shift=1.0)


@pytest.mark.parametrize(
    "name", ["SelectKBest", "LDA", "standardize", "MahalanobisKernel", "MahalanobisKernel RC+"]
)
def test_what_learns_is_fitted_anew(name):
    d, road = CROSS[name]
    check_at_most(road, n=19, d=d, kind="normal", draws=60)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_valid_fails(name):
    d, n, shift, road = WRONG[name]
    check_fails(road, n=n, d=d, kind="normal", draws=80, shift=shift)


@pytest.mark.full
@pytest.mark.parametrize("name", AT_MOST_A)
@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("n", "draws"), [(9, 1500), (40, 600), (200, 200)])
def test_at_most_a_of_many_draws(name, n, kind, draws):
    # With a tiny reg distances that differ by rounding count as ties.
    tied = kind == "ties" or name in ("words", "margin after a step", "small reg")
    split = name.startswith("split")  # ranks among half of the objects
    check = check_at_most if tied or split else check_exact
    check(AT_MOST_A[name], n=n, d=3, kind=kind, draws=draws, shift=1.0)


@pytest.mark.full
@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("n", "draws"), [(9, 1500), (40, 600), (200, 200)])
def test_scales_of_the_training_objects_of_many_draws(name, n, kind, draws):
    check_at_most(SCALED[name], n=n, d=3, kind=kind, draws=draws, shift=1.0)


@pytest.mark.full
@pytest.mark.parametrize("name", SEARCHED)
@pytest.mark.parametrize("kind", ["normal", "t3"])
@pytest.mark.parametrize("n", [9, 20])
def test_searches_are_near_their_level(name, n, kind):
    """Shares of p ≤ a are above a, by little."""
    measured = shares(SEARCHED[name], n=n, d=3, kind=kind, draws=600, shift=1.0)
    assert (measured <= limits(n, 600)[1] + 0.05).all(), measured


@pytest.mark.full
@pytest.mark.parametrize("name", CROSS)
@pytest.mark.parametrize("kind", ["normal", "t3"])
@pytest.mark.parametrize(("n", "draws"), [(9, 300), (19, 300)])
def test_cross_conformal_of_many_draws(name, n, kind, draws):
    d, road = CROSS[name]
    check_at_most(road, n=n, d=d, kind=kind, draws=draws)


@pytest.mark.full
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("kind", ["normal", "t3"])
def test_what_is_not_valid_fails_with_many_draws(name, kind):
    d, n, shift, road = WRONG[name]
    check_fails(road, n=n, d=d, kind=kind, draws=500, shift=shift)


@pytest.mark.full
def test_false_discovery_rate_of_select():
    """Two known classes, 20 % novelties, batches of 50: at most q on average."""
    rng, q, share = np.random.default_rng(0), 0.1, []
    for _ in range(500):
        X = np.vstack([rng.normal(size=(60, 3)), rng.normal(2, 1, size=(60, 3))])
        regular = np.vstack([rng.normal(size=(20, 3)), rng.normal(2, 1, size=(20, 3))])
        batch = np.vstack([regular, rng.normal(-5, 1, size=(10, 3))])
        selected = KernelMahalanobisNovelty("RC+").fit(X, np.repeat([0, 1], 60)).select(batch, q)
        share.append(selected[:40].sum() / max(1, selected.sum()))
    assert np.mean(share) <= q + 3 * np.std(share) / np.sqrt(len(share))
