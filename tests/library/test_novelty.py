"""The novelty detector, the conformal classifier and the drift test."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC

import naive
from mahalearn import (
    ConformalClassifier,
    GaussianClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MeasureKernel,
    PrecomputedKernel,
    load_model,
    save_model,
)
from mahalearn.display import CoomansDisplay, TypicalityDisplay, conformal_limit
from mahalearn.formulas.conformal import (
    cross_rank_sum_p_value,
    rank_sum_p_value,
)
from mahalearn.measures import FunctionMeasure

GAMMA = 0.3


def kernel(A, B):
    return rbf_kernel(A, B, gamma=GAMMA)


@pytest.fixture
def problem(rng):
    """Three classes of different sizes, in mixed order, and queries."""
    y = rng.permutation(np.repeat(["a", "b", "c"], [9, 12, 7]))
    X = rng.normal(size=(28, 3)) + (y == "b")[:, None] - 1.5 * (y == "c")[:, None]
    return X, y, rng.normal(0, 1.5, size=(8, 3))


# --- against refits -------------------------------------------------------------------------------


def class_map(X, y, label, marks, drop=None):
    """The linear kernel of the reference map of a class; `drop` leaves a reference out."""
    others = [i for i in marks if y[i] != label]
    Z = X[[i for i in others if i != drop]]
    return lambda A, B: kernel(A, Z) @ kernel(B, Z).T / len(others)


def distance(k, x, members, alpha, size):
    """RC+ of x to `members`, σ² = α/(size + 1)."""
    K, row = k(members, members), k(x[None], members)[0]
    return naive.regularised_residual(K, row, k(x[None], x[None])[0, 0], alpha) * (size + 1) / alpha


@pytest.mark.parametrize(
    ("variant", "n_references"), [("RC+", None), ("other-classes", None), ("other-classes", 11)]
)
def test_p_values_are_those_of_refits(problem, variant, n_references):
    X, y, Q = problem
    alpha = 0.2
    model = KernelMahalanobisNovelty(
        variant, gamma=GAMMA, reg=alpha, reg_on="kernel", n_references=n_references
    ).fit(X, y)
    assert model.method_ == "full"
    marks = getattr(model, "reference_indices_", [])
    if variant == "other-classes":
        assert abs(len(marks) - (n_references or len(X))) <= 1
    found, d2 = model.p_values(Q), model.mahalanobis(Q)
    left_out = np.empty((len(X), 3))
    for j, label in enumerate(model.class_labels_):
        own = X[y == label]
        n = len(own)
        k = class_map(X, y, label, marks) if variant == "other-classes" else kernel
        for q, x in enumerate(Q):
            pool = np.vstack([own, x])
            refits = naive.leave_one_out_by_refits(k(pool, pool), alpha, alpha / (n + 1))
            assert_allclose(d2[q, j], refits[-1], rtol=1e-10)
            assert found[q, j] == naive.rank_p_value(refits)
        for i in range(len(X)):
            rest = np.delete(np.arange(len(X)), i)
            members = X[rest][y[rest] == label]
            k = class_map(X, y, label, marks, i) if variant == "other-classes" else kernel
            left_out[i, j] = distance(k, X[i], members, alpha, n)
    assert_allclose(model.training_distances(), left_out, rtol=1e-9)
    nearest = left_out.min(axis=1)
    none = [naive.rank_p_value([*nearest, d2[q].min()]) for q in range(len(Q))]
    assert_allclose(model.p_none(Q), none)


@pytest.mark.parametrize("variant", ["IC+", "FK+", "RC-"])
def test_cross_conformal_p_values_are_those_of_refits(problem, variant):
    X, y, Q = problem
    codes = np.unique(y, return_inverse=True)[1]
    alpha, n = 0.2, len(X)
    model = KernelMahalanobisNovelty(variant, gamma=GAMMA, reg=alpha, reg_on="kernel", cv=n).fit(
        X, y
    )
    assert model.method_ == "cross" and "about a (at most 2a + 2(K" in model.guarantee_
    beyond, nearest = np.zeros((len(Q), 3)), np.zeros(len(Q))
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        K = kernel(X[rest], X[rest])
        k = kernel(np.vstack([X[i], Q]), X[rest])
        all_d2 = naive.sq_distances(variant, K, codes[rest], k, np.ones(len(k)), [alpha] * 3)
        beyond[:, codes[i]] += all_d2[0, codes[i]] >= all_d2[1:, codes[i]]
        nearest += all_d2[0].min() >= all_d2[1:].min(axis=1)
    assert_allclose(model.p_values(Q), (1 + beyond) / (1 + np.bincount(codes)))
    assert_allclose(model.p_none(Q), (1 + nearest) / (1 + n))


def test_one_class_is_that_class_of_several(problem):
    X, y, Q = problem
    options = {"gamma": GAMMA, "reg": 0.1, "reg_on": "covariance", "level": 0.1}
    several = KernelMahalanobisNovelty("RC+", **options).fit(X, y)
    for one in (
        KernelMahalanobisNovelty(**options).fit(X[y == "b"]),
        KernelMahalanobisNovelty(**options).fit(X[y == "b"], y[y == "b"]),
    ):
        assert_array_equal(one.p_values(Q)[:, 0], several.p_values(Q)[:, 1])
        assert_array_equal(one.p_none(Q), one.p_values(Q)[:, 0])


def test_distances_are_those_of_the_quadratic_discriminant(problem):
    X, y, Q = problem
    alphas = [1.0, 1.3, 0.8]
    model = KernelMahalanobisNovelty("RC+", gamma=GAMMA, reg=alphas, reg_on="kernel").fit(X, y)
    discriminant = KernelQuadraticDiscriminant(reg=alphas, reg_on="kernel", gamma=GAMMA).fit(X, y)
    n = np.array([9, 12, 7])
    assert_allclose(model.mahalanobis(Q), discriminant.mahalanobis(Q) * (n + 1) / n)


def test_margins_are_those_of_refits(problem):
    X, y, Q = problem
    alpha, Q = 0.3, Q[:4]
    discriminant = KernelQuadraticDiscriminant(reg=alpha, reg_on="kernel", gamma=GAMMA)
    model = ConformalClassifier(discriminant).fit(X, y)
    assert model.method_ == "full" and model.guarantee_.startswith("class-conditional")
    found = model.p_values(Q)
    for j, label in enumerate(model.classes_):
        others = [X[y == other] for other in model.classes_ if other != label]
        own = X[y == label]
        for q, x in enumerate(Q):
            pool = np.vstack([own, x])
            refits = naive.leave_one_out_by_refits(kernel(pool, pool), alpha, alpha / len(pool))
            rivals = [min(distance(kernel, z, o, alpha, len(o)) for o in others) for z in pool]
            assert found[q, j] == naive.rank_p_value(refits - np.array(rivals))
    by_distance = ConformalClassifier(discriminant, nonconformity="distance").fit(X, y)
    same = KernelMahalanobisNovelty("RC+", reg=alpha, reg_on="kernel", gamma=GAMMA).fit(X, y)
    assert_array_equal(by_distance.p_values(Q), same.p_values(Q))


# --- invariances ----------------------------------------------------------------------------------

VARIANTS = ["other-classes", "RC+", "IC+", "FK+"]


@pytest.mark.parametrize("variant", ["other-classes", "RC+"])
def test_order_and_labels_do_not_matter(problem, rng, variant):
    X, y, Q = problem
    model = KernelMahalanobisNovelty(variant).fit(X, y)
    order = rng.permutation(len(X))
    shuffled = KernelMahalanobisNovelty(variant).fit(X[order], y[order])
    assert_array_equal(shuffled.p_values(Q), model.p_values(Q))
    assert_allclose(shuffled.score_samples(Q), model.score_samples(Q), rtol=1e-9)
    assert_allclose(shuffled.training_distances(), model.training_distances()[order], rtol=1e-7)
    renamed = np.array([{"a": 7, "b": 3, "c": 5}[label] for label in y])
    assert_array_equal(
        KernelMahalanobisNovelty(variant).fit(X, renamed).p_values(Q),
        model.p_values(Q)[:, [1, 2, 0]],
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_chunks_do_not_matter(problem, variant):
    X, y, Q = problem
    Q = np.vstack([Q] * 40)
    options = {"variant": variant, "cv": 3}
    at_once = KernelMahalanobisNovelty(**options).fit(X, y)
    with sklearn.config_context(working_memory=0.01):
        chunked = KernelMahalanobisNovelty(**options).fit(X, y)
        assert_array_equal(chunked.p_values(Q), at_once.p_values(Q))
        assert_array_equal(chunked.p_none(Q), at_once.p_none(Q))
        assert_allclose(chunked.score_samples(Q), at_once.score_samples(Q), rtol=1e-9)
    parts = np.concatenate([at_once.p_values(Q[i : i + 7]) for i in range(0, len(Q), 7)])
    assert_array_equal(parts, at_once.p_values(Q))


@pytest.mark.parametrize("variant", ["other-classes", "RC+", "IC+", "FK+"])
def test_precomputed_is_the_named_kernel(problem, variant):
    X, y, Q = problem
    options = {"variant": variant, "cv": 3}
    named = KernelMahalanobisNovelty(gamma=GAMMA, **options).fit(X, y)
    given = KernelMahalanobisNovelty(kernel="precomputed", **options).fit(kernel(X, X), y)
    assert_array_equal(given.p_values(kernel(Q, X)), named.p_values(Q))
    assert_array_equal(given.p_none(kernel(Q, X)), named.p_none(Q))
    assert_array_equal(given.predict(kernel(Q, X)), named.predict(Q))
    everything = np.vstack([X, Q])
    by_number = PrecomputedKernel(kernel(everything, everything))
    numbered = KernelMahalanobisNovelty(kernel=by_number, **options).fit(np.arange(len(X)), y)
    rows = np.arange(len(X), len(everything))
    assert_array_equal(numbered.p_values(rows), named.p_values(Q))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_methods_agree(problem, variant):
    X, y, Q = problem
    Q = np.vstack([Q, X[:5], Q[:1] + 100])
    model = KernelMahalanobisNovelty(variant, level=0.1, cv=4).fit(X, y)
    p_none, scores = model.p_none(Q), model.score_samples(Q)
    assert_array_equal(model.predict(Q) == -1, p_none <= 0.1)
    assert_array_equal(model.decision_function(Q) < 0, p_none <= 0.1)
    assert ((scores < p_none) & (scores > p_none - 1 / 29)).all()
    assert_array_equal(model.predict_set(Q, 0.8), model.p_values(Q) > 0.2)
    assert model.predict(Q)[-1] == -1
    assert_array_equal(model.select(Q, 0.3), naive.benjamini_hochberg(p_none.tolist(), 0.3))


def test_training_objects_are_judged_without_themselves(problem):
    X, y, _ = problem
    X = np.vstack([X, X[:1] + 30])
    y = np.r_[y, y[:1]]
    for variant in VARIANTS:
        model = KernelMahalanobisNovelty(variant, level=0.1, cv=4)
        labels = model.fit_predict(X, y)
        codes = np.searchsorted(model.class_labels_, y)
        scores = model.training_distances()[np.arange(len(X)), codes]
        assert_array_equal(model.decision_scores_, scores)
        ranks = [np.mean(scores >= score) for score in scores]
        assert_array_equal(model.labels_ == 1, np.array(ranks) <= 0.1)
        assert_array_equal(labels == -1, model.labels_ == 1)
        assert labels[-1] == -1


@pytest.mark.parametrize("variant", ["RC+", "other-classes", "IC+"])
def test_unit_rows(problem, variant):
    X, y, Q = problem
    by_hand = [A / np.sqrt((A**2).sum(axis=1, keepdims=True)) for A in (X, Q)]
    options = {"variant": variant, "cv": 3}
    model = KernelMahalanobisNovelty(normalize=True, **options).fit(X * [[1, 5, 100]], y)
    assert model.method_ == ("cross" if variant == "IC+" else "full")  # no units to standardise
    unit = KernelMahalanobisNovelty(normalize=True, **options).fit(X, y)
    plain = KernelMahalanobisNovelty(standardize=False, **options).fit(by_hand[0], y)
    assert_allclose(unit.p_values(Q), plain.p_values(by_hand[1]))
    assert_allclose(unit.p_values(Q * 7), unit.p_values(Q))
    assert_allclose(unit.drift_test(Q).p_values, plain.drift_test(by_hand[1]).p_values)


# --- kinds of input -------------------------------------------------------------------------------

WORDS = ["tala", "talo", "tali", "mala", "malo", "tula", "tulo", "lato", "lata", "lamo"]
OTHERS = ["krrst", "krst", "kront", "strk", "strnk", "brst", "krn", "trsk", "grst", "krsk"]


@pytest.mark.parametrize("variant", ["other-classes", "RC+", "IC+"])
def test_strings(variant):
    y, queries = np.repeat(["vowels", "consonants"], 10), ["tola", "krstk"]
    options = {"variant": variant, "cv": 5, "reg": 0.1, "level": 0.1}
    measure = MeasureKernel("edit", scale=None).fit(WORDS)
    p = KernelMahalanobisNovelty(kernel=measure, **options).fit(WORDS + OTHERS, y).p_values(queries)
    if variant != "other-classes":
        assert p[0, 1] > p[0, 0] and p[1, 0] > p[1, 1]
    K, k = measure(WORDS + OTHERS, WORDS + OTHERS), measure(queries, WORDS + OTHERS)
    given = KernelMahalanobisNovelty(kernel="precomputed", **options).fit(K, y)
    assert_array_equal(given.p_values(k), p)
    alone = KernelMahalanobisNovelty(kernel="edit", reg=0.1, level=0.1).fit(WORDS)
    assert alone.p_none(["tola"])[0] > alone.p_none(["qqxxyyzzkkrr"])[0]


def test_an_indefinite_kernel_is_ranked_in_its_folds(rng):
    d = np.abs(rng.normal(size=(30, 30)))
    K = -np.square(d + d.T)
    np.fill_diagonal(K, 0)
    y = np.repeat([0, 1], 15)
    for spectrum in ("krein", "clip", "flip"):
        model = KernelMahalanobisNovelty("RC+", kernel="precomputed", spectrum=spectrum, cv=30).fit(
            K, y
        )
        assert model.method_ == "cross"
        p = model.p_values(K[:4])
        beyond = np.zeros(4)
        for i in range(15):
            rest = np.delete(np.arange(30), i)
            fold = KernelMahalanobisTransformer(
                "RC+", 0.1, reg_on="relative", kernel="precomputed", spectrum=spectrum
            ).fit(K[np.ix_(rest, rest)], y[rest])
            held_out = fold.mahalanobis(K[np.ix_([i], rest)])[0, 0]
            d2 = fold.mahalanobis(K[np.ix_(range(4), rest)])[:, 0]
            beyond += held_out >= d2 - 1e-9 * np.abs(d2)
        assert_allclose(p[:, 0], (1 + beyond) / 16)
    references = KernelMahalanobisNovelty("other-classes", kernel="precomputed")
    assert references.fit(K, y).method_ == "full"
    with pytest.raises(ValueError, match="spectrum='raise' does not allow"):
        KernelMahalanobisNovelty("RC+", kernel="precomputed", spectrum="raise").fit(K, y)


@pytest.mark.parametrize("options", [{"standardize": True}, {"kernel": MahalanobisKernel("full")}])
@pytest.mark.parametrize("variant", ["other-classes", "RC+"])
def test_a_kernel_that_learns_is_fitted_anew_in_each_fold(problem, options, variant):
    X, y, Q = problem
    codes, n = np.unique(y, return_inverse=True)[1], len(X)
    model = KernelMahalanobisNovelty(variant, cv=n, reg=0.1, **options).fit(X, y)
    assert model.method_ == "cross"
    beyond = np.zeros((len(Q), 3))
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        A, B = X[rest], np.vstack([X[i], Q])
        if "kernel" in options:
            fitted = MahalanobisKernel("full").fit(A)
            fold = KernelMahalanobisNovelty(variant, reg=0.1, kernel=lambda S, T, k=fitted: k(S, T))
        else:
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
            fold = KernelMahalanobisNovelty(variant, reg=0.1, standardize=False)
        d2 = fold.fit(A, y[rest]).mahalanobis(B)[:, codes[i]]
        assert fold.method_ == "full"
        beyond[:, codes[i]] += d2[0] >= d2[1:]
    assert_allclose(model.p_values(Q), (1 + beyond) / (1 + np.bincount(codes)))
    drift = model.drift_test(Q)
    assert ((drift.p_values > 0) & (drift.p_values <= 1)).all()


def test_a_learned_kernel_and_a_class_that_a_fold_does_not_hold(problem):
    X, _, Q = problem
    y = np.r_[np.zeros(27), 1]
    p = KernelMahalanobisNovelty(standardize=True, cv=3).fit(X, y).p_values(Q)
    assert_allclose(p[:, 1], 1)
    assert ((p[:, 0] > 0) & (p[:, 0] <= 1)).all()


def test_a_corrected_kernel_is_cross_conformal(problem):
    X, y, _ = problem
    assert KernelMahalanobisNovelty("RC+", spectrum="clip").fit(X, y).method_ == "cross"


# --- what is refused, and what is said ------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"variant": "other-classes"}, None, "needs two classes"),
        ({"variant": "XY"}, "y", "variant='XY' is not known"),
        ({"n_references": 0, "variant": "other-classes"}, "y", "n_references must be"),
        ({"n_references": 5}, "y", "n_references=5 is for variant='other-classes'"),
        ({"level": 0}, "y", "level must be between 0 and 1"),
        ({"reg": "none"}, "y", "reg='none' is not known"),
        ({"gamma": "wide"}, "y", "gamma='wide' is not known"),
        ({"reg": -1.0}, "y", "reg must be positive"),
        ({"spectrum": "clip", "variant": "other-classes"}, "y", "Leave spectrum='krein'"),
        ({"variant": "IC+", "cv": 1}, "y", "at least two folds"),
        ({"kernel": "precomputed", "normalize": True}, "K", "takes kernel values. Leave"),
        (
            {"kernel": "linear", "variant": "RC+", "reg": 1e-18},
            "y",
            "smaller than the rounding errors",
        ),
    ],
)
def test_bad_parameters(problem, options, labels, message):
    X, y, _ = problem
    if options.get("kernel") == "precomputed":
        X = kernel(X, X)
    with pytest.raises(ValueError, match=message):
        KernelMahalanobisNovelty(**options).fit(X, None if labels is None else y)


def test_labels_that_cannot_be_sorted(problem):
    X, _, _ = problem
    for label, message in ((None, "14 of 28 class labels are missing"), (1, r"\(int, str\)")):
        y = np.array([label, "a"] * 14, dtype=object)
        for model in (KernelMahalanobisNovelty(), ConformalClassifier(LogisticRegression())):
            with pytest.raises(ValueError, match=message):
                model.fit(X, y)


@pytest.mark.parametrize("variant", ["other-classes", "RC+", "IC+"])
def test_columns_of_a_data_frame_are_known_by_name(problem, variant):
    pd = pytest.importorskip("pandas")
    X, y, Q = problem
    X, Q = pd.DataFrame(X, columns=["p", "q", "r"]), pd.DataFrame(Q, columns=["p", "q", "r"])
    model = KernelMahalanobisNovelty(variant, cv=3).fit(X, y)
    assert_array_equal(model.feature_names_in_, ["p", "q", "r"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = model.p_values(Q)
    plain = KernelMahalanobisNovelty(variant, cv=3).fit(X.to_numpy(), y)
    assert_array_equal(p, plain.p_values(Q.to_numpy()))
    with pytest.raises(ValueError, match="feature names should match"):
        model.p_values(Q[["r", "q", "p"]])


def test_small_samples_are_named(problem):
    X, y, Q = problem
    with pytest.warns(UserWarning, match=r"reject nothing\. The least level is 1/11"):
        model = KernelMahalanobisNovelty(level=0.05).fit(X[:10])
    assert (model.predict(Q + 50) == 1).all()
    model = KernelMahalanobisNovelty().fit(X, y)
    with pytest.warns(
        UserWarning, match=r"in every set: a \(9 objects\), b \(12.*needs 19 objects"
    ):
        sets = model.predict_set(Q + 50)
    assert sets.all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.predict_set(Q + 50, 0.8).any()
    with pytest.raises(ValueError, match="confidence must be between"):
        model.predict_set(Q, 95)
    with pytest.raises(ValueError, match="fdr must be between"):
        model.select(Q, 0)


def test_an_unknown_self_similarity_is_an_error(problem):
    X, y, Q = problem
    model = KernelMahalanobisNovelty("RC+", kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match=r"PrecomputedKernel\(K\) on row numbers"):
        model.p_values(Q @ X.T)
    linear = KernelMahalanobisNovelty("other-classes", kernel="linear").fit(X, y)
    given = KernelMahalanobisNovelty("other-classes", kernel="precomputed").fit(X @ X.T, y)
    assert_array_equal(given.p_values(Q @ X.T), linear.p_values(Q))


def test_classes_of_one_object(problem):
    X, _, Q = problem
    y = np.r_[np.zeros(26), 1, 2]
    for variant in ("other-classes", "RC+"):
        p = KernelMahalanobisNovelty(variant).fit(X, y).p_values(Q)
        assert_allclose(p[:, 1:], 1)
    for variant in ("IC+",):
        p = KernelMahalanobisNovelty(variant).fit(X, y).p_values(Q)
        assert_allclose(p[:, 1:], 1)


# --- around any classifier ------------------------------------------------------------------------


def test_full_falls_back_to_cross(problem):
    X, y, Q = problem
    quadratic = KernelQuadraticDiscriminant
    K = X @ X.T
    cases = [
        (quadratic("IC+"), X, Q),
        (quadratic(spectrum="clip"), X, Q),
        (LogisticRegression(), X, Q),
        (quadratic(kernel="precomputed"), K, Q @ X.T),  # k(x, x) is not known
    ]
    for estimator, train, query in cases:
        model = ConformalClassifier(estimator).fit(train, y)
        assert model.method_ == "cross" and "2a" in model.guarantee_
        assert model.p_values(query).shape == (8, 3)
        with pytest.raises(ValueError, match="method='full' has no valid closed form"):
            ConformalClassifier(estimator, "full").fit(train, y)


def test_cross_ranks_margins_inside_the_folds(problem):
    X, y, Q = problem
    n = len(X)
    model = ConformalClassifier(GaussianNB(), cv=n).fit(X, y)
    beyond = np.zeros(len(Q))
    for i in np.flatnonzero(y == "b"):
        rest = np.delete(np.arange(n), i)
        bayes = GaussianNB().fit(X[rest], y[rest])
        p = bayes.predict_proba(np.vstack([X[[i]], Q]))
        strange = np.maximum(p[:, 0], p[:, 2]) - p[:, 1]
        beyond += strange[0] >= strange[1:] - 1e-12
    assert_allclose(model.p_values(Q)[:, 1], (1 + beyond) / 13)
    assert_array_equal(model.predict(Q), model.estimator_.predict(Q))


@pytest.mark.parametrize("method", ["cross", "split"])
@pytest.mark.parametrize("conditional", [True, False])
def test_sets_of_iris_cover(method, conditional):
    X, y = load_iris(return_X_y=True)
    test = np.arange(len(X)) % 2 == 0
    model = ConformalClassifier(
        make_pipeline(StandardScaler(), GaussianClassifier()),
        method,
        class_conditional=conditional,
        calibration_size=0.5,
    ).fit(X[~test], y[~test])
    sets = model.predict_set(X[test], 0.8)
    covered = sets[np.arange(test.sum()), y[test]]
    assert covered.mean() > 0.65 and sets.sum(axis=1).mean() < 1.5
    assert model.guarantee_.startswith("class-conditional" if conditional else "marginal")
    assert model.method_ == method


def test_split_calibrates_with_what_it_holds_out(problem):
    X, y, Q = problem
    model = ConformalClassifier(GaussianClassifier(), "split", "distance").fit(X, y)
    levels = model.p_values(Q)
    # 30 % of 28 objects calibrate: three of each class or so.
    assert levels.min() >= 1 / 6
    with pytest.warns(UserWarning, match="Classes too small for a confidence of 0.95"):
        assert model.predict_set(Q).all()


def test_steps_that_learn_nothing_keep_the_closed_form(problem):
    X, y, Q = problem
    last = KernelQuadraticDiscriminant(reg=0.1)
    steps = [Normalizer(), PolynomialFeatures(include_bias=False), "passthrough"]
    model = ConformalClassifier(make_pipeline(*steps, last)).fit(X, y)
    assert model.method_ == "full"
    before = make_pipeline(*steps).fit(X)
    plain = ConformalClassifier(last).fit(before.transform(X), y)
    assert_array_equal(model.p_values(Q), plain.p_values(before.transform(Q)))


@pytest.mark.parametrize(
    "step", [StandardScaler(), PCA(2), SelectKBest(k=2), make_pipeline(Normalizer(), PCA(2))]
)
def test_steps_that_learn_are_fitted_anew_in_each_fold(problem, step):
    X, y, Q = problem
    pipeline = make_pipeline(Normalizer(), step, KernelQuadraticDiscriminant(reg=0.1))
    model = ConformalClassifier(pipeline, cv=3).fit(X, y)
    assert model.method_ == "cross"
    assert_array_equal(
        model.p_values(Q), ConformalClassifier(pipeline, "cross", cv=3).fit(X, y).p_values(Q)
    )
    with pytest.raises(ValueError, match=r"is fitted to the training objects.* Use 'cross'"):
        ConformalClassifier(pipeline, "full").fit(X, y)


def test_conformal_classifier_on_precomputed_and_objects(problem):
    X, y, Q = problem
    named = KernelQuadraticDiscriminant(reg=0.1, gamma=GAMMA)
    given = KernelQuadraticDiscriminant(reg=0.1, kernel="precomputed")
    for method in ("full", "cross", "split"):
        a = ConformalClassifier(named, method).fit(X, y)
        b = ConformalClassifier(given, method).fit(kernel(X, X), y)
        assert_array_equal(a.p_values(Q), b.p_values(kernel(Q, X)))
        assert_array_equal(a.predict(Q), b.predict(kernel(Q, X)))
    strings = ConformalClassifier(
        KernelQuadraticDiscriminant(reg=1, kernel=MeasureKernel("edit", scale=None))
    ).fit(WORDS + OTHERS, [0] * 10 + [1] * 10)
    p = strings.p_values(["tola", "krstk"])
    assert p[0, 0] > p[0, 1] and p[1, 1] > p[1, 0]


@pytest.mark.parametrize("estimator", [KernelQuadraticDiscriminant(), LogisticRegression()])
def test_a_pipeline_may_take_columns_by_name(problem, estimator):
    pd = pytest.importorskip("pandas")
    X, y, Q = problem
    table, new = (pd.DataFrame(Z, columns=["p", "q", "r"]) for Z in (X, Q))
    columns = make_column_transformer((OneHotEncoder(), ["s"]), (StandardScaler(), ["p", "q", "r"]))
    table["s"], new["s"] = (
        np.where(X[:, 0] > 0, "high", "low"),
        np.where(Q[:, 0] > 0, "high", "low"),
    )
    model = ConformalClassifier(make_pipeline(columns, estimator)).fit(table, y)
    assert model.method_ == "cross" and model.p_values(new).shape == (8, 3)
    assert_array_equal(model.predict(new), model.estimator_.predict(new))
    with pytest.raises(ValueError, match="feature names should match"):
        model.p_values(new[["s", "r", "q", "p"]])


def test_a_search_is_cross_conformal_and_has_the_closed_form_on_request(problem):
    X, y, Q = problem
    own = KernelSearchCV(
        KernelQuadraticDiscriminant(), {"reg": [0.01, 1.0], "gamma": [0.1, 1.0]}, cv=3
    )
    grid = GridSearchCV(
        make_pipeline(Normalizer(), KernelQuadraticDiscriminant()),
        {"kernelquadraticdiscriminant__reg": [0.01, 1.0]},
    )
    for search in (own, grid, make_pipeline(Normalizer(), own)):
        assert ConformalClassifier(search).fit(X, y).method_ == "cross"
        for nonconformity in ("margin", "distance"):
            model = ConformalClassifier(search, "full", nonconformity).fit(X, y)
            assert model.method_ == "full" and "probability about a" in model.guarantee_
            best = model.estimator_
            scaler = Normalizer().fit(X) if search is not own else None
            A, B = (X, Q) if scaler is None else (scaler.transform(X), scaler.transform(Q))
            best = best[-1] if hasattr(best, "steps") else best
            best = best.best_estimator_
            best = best[-1] if hasattr(best, "steps") else best
            plain = ConformalClassifier(best, "full", nonconformity).fit(A, y)
            assert_array_equal(model.p_values(Q), plain.p_values(B))
    scaled = GridSearchCV(
        make_pipeline(StandardScaler(), KernelQuadraticDiscriminant()), grid.param_grid
    )
    for search in (
        scaled,
        KernelSearchCV(KernelQuadraticDiscriminant(standardize=True), {"reg": [1.0]}, cv=3),
    ):
        with pytest.raises(ValueError, match=r"training objects.* Use 'cross'"):
            ConformalClassifier(search, "full").fit(X, y)
    other = KernelSearchCV(
        KernelQuadraticDiscriminant(variant="IC+"), {"reg": [1.0], "gamma": [1.0]}, cv=3
    )
    with pytest.raises(ValueError, match="the closed form is that of variant='RC\\+'"):
        ConformalClassifier(other, "full").fit(X, y)
    by_distance = ConformalClassifier(other, nonconformity="distance").fit(X, y)
    assert by_distance.method_ == "cross"
    words, labels = WORDS + OTHERS, [0] * 10 + [1] * 10
    of_objects = KernelSearchCV(
        KernelQuadraticDiscriminant(), {"kernel": ["edit"], "reg": [1.0]}, cv=2
    )
    p = ConformalClassifier(of_objects, cv=2).fit(words, labels).p_values(["tola", "krstk"])
    assert p.shape == (2, 2)


def test_the_ensemble_has_prediction_sets(problem):
    X, y, Q = problem
    ensemble = MahalanobisClassifierCV(["gaussian", "kernel_fisher"], cv=2)
    assert ConformalClassifier(ensemble, cv=2).fit(X, y).p_values(Q).shape == (8, 3)


def test_scores_of_pairs_are_not_taken_for_those_of_classes(problem):
    X, y, Q = problem  # with three classes there are three pairs
    with pytest.raises(ValueError, match="Set decision_function_shape='ovr'"):
        ConformalClassifier(SVC(decision_function_shape="ovo")).fit(X, y)
    two = y != "c"
    pairs, rest = (
        ConformalClassifier(SVC(decision_function_shape=shape)).fit(X[two], y[two]).p_values(Q)
        for shape in ("ovo", "ovr")
    )
    assert_array_equal(pairs, rest)


@pytest.mark.parametrize("estimator", [None, SVC, Ridge(), KernelMahalanobisNovelty()])
def test_what_is_no_classifier_is_refused(problem, estimator):
    X, y, _ = problem
    with pytest.raises(TypeError, match="estimator must be a classifier"):
        ConformalClassifier(estimator).fit(X, y)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "between 0 and 1"),
        (5, "between 0 and 1"),
        ("x", "between 0 and 1"),
        (0.01, "lets 1 of 28 objects calibrate; 3 classes need at least 3"),
        (0.95, "lets 27 of 28"),
    ],
)
def test_bad_calibration_sizes(problem, size, message):
    X, y, _ = problem
    with pytest.raises(ValueError, match=message):
        ConformalClassifier(LogisticRegression(), "split", calibration_size=size).fit(X, y)


def test_conformal_classifier_refuses(problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=r"has none\. Use nonconformity='margin'"):
        ConformalClassifier(LogisticRegression(), nonconformity="distance").fit(X, y)
    with pytest.raises(ValueError, match="nonconformity='other-classes' is not known"):
        ConformalClassifier(LogisticRegression(), nonconformity="other-classes").fit(X, y)
    with pytest.raises(ValueError, match="at least two objects of each class"):
        ConformalClassifier(LogisticRegression(), "split").fit(X, np.r_[np.zeros(27), 1])


# --- drift ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "options"),
    [(2, {}), (100, {"standardize": True}), (10, {"kernel": MahalanobisKernel("full")})],
)
def test_drift_p_values_are_exact(d, options):
    """Shares of p ≤ a over draws of a class and a batch of the same distribution."""
    rng, draws = np.random.default_rng(0), 60
    p = []
    for _ in range(draws):
        model = KernelMahalanobisNovelty(cv=2, **options).fit(rng.standard_t(3, size=(20, d)))
        p.append(model.drift_test(rng.standard_t(3, size=(6, d))).p_values[0])
    for level in (0.05, 0.2, 0.5):
        high = stats.binom.ppf(0.9995, draws, level) / draws
        assert np.mean(np.array(p) <= level) <= high
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_drift_of_objects_that_a_measure_learns_from():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=40), "kind": rng.choice(["a", "b"], 40)})
    model = KernelMahalanobisNovelty(kernel="gower").fit(table[:30])
    assert model.method_ == "cross"
    assert model.drift_test(table[30:]).p_values[0] > 0.01
    words = KernelMahalanobisNovelty(kernel="edit", level=0.1).fit(WORDS)
    assert words.drift_test(OTHERS[:3]).p_values[0] < 0.1


def test_drift_of_classes(problem, rng):
    X, y, _ = problem
    for variant in ("other-classes", "RC+", "IC+"):
        model = KernelMahalanobisNovelty(variant, cv=3, reg=0.01).fit(X, y)
        same = model.drift_test(X[y == "b"][:6] + 0.01, np.repeat("b", 6))
        assert_array_equal(same.counts, [0, 6, 0])
        assert np.isnan(same.p_values[[0, 2]]).all() and same.p_values[1] > 0.05
        far = model.drift_test(X[y == "b"][:5] * [4, -4, 4])
        assert far.p_values.max() < 0.05 and far.p_pooled < 0.05


def test_drift_with_a_precomputed_kernel(problem):
    X, y, Q = problem
    named = KernelMahalanobisNovelty(gamma=GAMMA).fit(X, y).drift_test(Q)
    model = KernelMahalanobisNovelty(kernel="precomputed").fit(kernel(X, X), y)
    with pytest.raises(ValueError, match="pass batch_kernel="):
        model.drift_test(kernel(Q, X))
    given = model.drift_test(kernel(Q, X), batch_kernel=kernel(Q, Q))
    assert_allclose(given.p_values, named.p_values)
    assert_allclose(given.p_pooled, named.p_pooled)
    with pytest.raises(ValueError, match="batch_kernel contains NaN"):
        model.drift_test(kernel(Q, X), batch_kernel=np.full((8, 8), np.nan))
    with pytest.raises(ValueError, match="batch_kernel is not symmetric"):
        model.drift_test(kernel(Q, X), batch_kernel=kernel(Q, X[:8]))
    with pytest.raises(ValueError, match=r"must have shape \(8, 8\)"):
        model.drift_test(kernel(Q, X), batch_kernel=kernel(Q, Q)[:7])
    with pytest.raises(ValueError, match="batch_kernel= is for kernel='precomputed'"):
        KernelMahalanobisNovelty(gamma=GAMMA).fit(X, y).drift_test(Q, batch_kernel=kernel(Q, Q))
    corrected = KernelMahalanobisNovelty("RC+", kernel="precomputed", spectrum="clip").fit(
        kernel(X, X), y
    )
    with pytest.raises(ValueError, match="fit with spectrum='krein'"):
        corrected.drift_test(kernel(Q, X), batch_kernel=kernel(Q, Q))


def test_a_large_batch_does_not_hide_itself(rng):
    """The pool of a class and an equal number of far objects has two halves that look alike."""
    X = rng.normal(size=(30, 3))
    model = KernelMahalanobisNovelty(gamma=0.1).fit(X)
    for m in (10, 30, 90):
        far = model.drift_test(rng.normal(size=(m, 3)) + 5)
        assert far.p_values[0] < 0.01 and far.p_pooled < 0.01
    batch = rng.normal(size=(25, 3)) + 0.5
    parts = [model.drift_test(batch[i::3]).p_values[0] for i in range(3)]
    assert_allclose(model.drift_test(batch).p_values, min(1, 3 * min(parts)))


@pytest.mark.full
@pytest.mark.parametrize("m", [6, 30])
def test_drift_p_values_hold_their_level(m):
    """Batches of a third of the class, and larger ones in parts."""
    rng, draws, p = np.random.default_rng(1), 1000, []
    for _ in range(draws):
        model = KernelMahalanobisNovelty().fit(rng.standard_t(3, size=(20, 2)))
        p.append(model.drift_test(rng.standard_t(3, size=(m, 2))).p_values[0])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(p) <= level) <= stats.binom.ppf(0.9995, draws, level) / draws


# --- plots and files ------------------------------------------------------------------------------


def test_conformal_limit_is_where_ranks_reject():
    left_out = np.arange(1.0, 20)
    limit = conformal_limit(left_out, 0.05)
    assert limit == 19
    assert (1 + (left_out >= limit + 1e-6).sum()) / 20 <= 0.05
    assert (1 + (left_out >= limit).sum()) / 20 > 0.05
    assert conformal_limit(left_out, 0.01) == np.inf


def test_coomans_plot(problem):
    pytest.importorskip("matplotlib").use("Agg")
    X, y, Q = problem
    model = KernelMahalanobisNovelty("RC+", level=0.2).fit(X, y)
    display = CoomansDisplay.from_estimator(model, Q, ["a"] * 4 + ["new"] * 4, classes=["c", "a"])
    assert_allclose(display.d2, model.mahalanobis(Q)[:, [2, 0]])
    left_out = model.training_distances()
    assert display.limits == (
        conformal_limit(left_out[y == "c", 2], 0.2),
        conformal_limit(left_out[y == "a", 0], 0.2),
    )
    assert display.ax_.get_xlabel() == "d² to c"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["a", "new"]
    pipeline = make_pipeline(StandardScaler(), KernelMahalanobisNovelty(level=0.2)).fit(X, y)
    assert CoomansDisplay.from_estimator(pipeline, Q).level == 0.2
    with pytest.raises(TypeError, match="needs a KernelMahalanobisNovelty"):
        CoomansDisplay.from_estimator(KernelQuadraticDiscriminant().fit(X, y), Q)


def test_typicality_plot(problem):
    pytest.importorskip("matplotlib").use("Agg")
    X, y, Q = problem
    model = KernelMahalanobisNovelty(level=0.2).fit(X, y)
    queries = np.vstack([X[:10], Q + 50])
    display = TypicalityDisplay.from_estimator(model, queries, ["old"] * 10 + ["new"] * 8)
    assert display.rejected["new"] == 1 and display.rejected["old"] < 0.5
    assert_array_equal(display.p_values, model.p_none(queries))
    again = TypicalityDisplay.from_predictions(display.p_values, level=0.2)
    assert again.ax_.get_xlabel() == "p-value"
    with pytest.raises(TypeError, match="needs a KernelMahalanobisNovelty"):
        TypicalityDisplay.from_estimator(KernelQuadraticDiscriminant().fit(X, y), Q)


@pytest.mark.parametrize("labels", [None, "y"])
def test_scikit_learn_draws_the_boundary_of_a_detector(problem, labels):
    pytest.importorskip("matplotlib").use("Agg")
    X, y, _ = problem
    X = X[:, :2]
    model = KernelMahalanobisNovelty(level=0.2).fit(X, None if labels is None else y)
    for method in ("predict", "decision_function"):
        display = DecisionBoundaryDisplay.from_estimator(
            model, X, response_method=method, grid_resolution=5, eps=20
        )
        grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
        assert_allclose(display.response.ravel(), getattr(model, method)(grid))
    assert_array_equal(np.unique(model.predict(np.vstack([grid, X]))), [-1, 1])
    assert_array_equal(model.class_labels_, [1] if labels is None else np.unique(y))


def test_known_classes_have_the_same_colours_in_both_plots(problem):
    pytest.importorskip("matplotlib").use("Agg")
    X, y, _ = problem
    labels = np.where(np.arange(len(y)) % 3 == 0, "Alien", y)  # sorted before the known classes
    model = KernelMahalanobisNovelty().fit(X, y)
    plots = [
        CoomansDisplay.from_estimator(model, X, labels, classes=["a", "b"]),
        TypicalityDisplay.from_estimator(model, X, labels),
    ]
    colours = [
        {line.get_label().split(":")[0]: line.get_color() for line in plot.ax_.get_lines()}
        for plot in plots
    ]
    assert [colours[0][c] for c in "ab"] == [colours[1][c] for c in "ab"]


@pytest.mark.parametrize("variant", ["other-classes", "RC+", "IC+"])
def test_names_of_columns_are_kept_and_compared(problem, variant):
    pd = pytest.importorskip("pandas")
    X, y, Q = problem
    columns = [f"sensor {i}" for i in range(X.shape[1])]
    model = KernelMahalanobisNovelty(variant, cv=2).fit(pd.DataFrame(X, columns=columns), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(pd.DataFrame(Q, columns=columns))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(Q, columns=columns[::-1]))


def test_models_can_be_saved(problem, tmp_path):
    X, y, Q = problem
    models = [
        KernelMahalanobisNovelty(variant, cv=2) for variant in ("other-classes", "RC+", "IC+")
    ]
    models += [KernelMahalanobisNovelty("other-classes", n_references=9)]
    models += [
        ConformalClassifier(KernelQuadraticDiscriminant(reg=0.1)),
        ConformalClassifier(GaussianClassifier(), "split"),
    ]
    for i, model in enumerate(models):
        model.fit(X, y)
        again = load_model(save_model(model, tmp_path / f"{i}.skops"))
        assert_array_equal(again.p_values(Q), model.p_values(Q))


def test_a_selection_that_the_training_set_cannot_make_is_named(rng):
    X = rng.normal(size=(40, 2))
    model = KernelMahalanobisNovelty().fit(X)
    batch = np.vstack([rng.normal(size=(30, 2)), [[9.0, 9.0]]])
    with pytest.warns(UserWarning, match="Nothing is selected, although .* below 0.024"):
        assert not model.select(batch, fdr=0.1).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.select(batch + [[9.0, 9.0]], fdr=0.1).all()
        assert not model.select(X[:5], fdr=0.01).any()


def test_a_number_of_references(problem, rng):
    X, y, Q = problem
    everyone = KernelMahalanobisNovelty("other-classes").fit(X, y)
    same = KernelMahalanobisNovelty("other-classes", n_references=len(X)).fit(X, y)
    assert_array_equal(same.p_values(Q), everyone.p_values(Q))
    assert_array_equal(same.mahalanobis(Q), everyone.mahalanobis(Q))
    few = KernelMahalanobisNovelty("other-classes", n_references=11).fit(X, y)
    assert {*few.reference_indices_} < {*everyone.reference_indices_}
    given = KernelMahalanobisNovelty("other-classes", kernel="precomputed", n_references=11)
    gamma = few.gamma_
    given.fit(rbf_kernel(X, gamma=gamma), y)
    assert_array_equal(given.reference_indices_, few.reference_indices_)
    assert_allclose(given.mahalanobis(rbf_kernel(Q, X, gamma=gamma)), few.mahalanobis(Q))
    with sklearn.config_context(working_memory=0.001):
        assert_allclose(
            few.mahalanobis(Q),
            KernelMahalanobisNovelty("other-classes", n_references=11).fit(X, y).mahalanobis(Q),
        )
    # Every class keeps two references, and the draw looks at the sizes of the classes alone.
    least = KernelMahalanobisNovelty("other-classes", n_references=1).fit(X, y)
    assert_array_equal(np.unique(y[least.reference_indices_], return_counts=True)[1], [2, 2, 2])
    other = rng.normal(size=X.shape)
    assert_array_equal(
        KernelMahalanobisNovelty("other-classes", n_references=11).fit(other, y).reference_indices_,
        few.reference_indices_,
    )
    drift = few.drift_test(Q)
    assert ((drift.p_values > 0) & (drift.p_values <= 1)).all()
    assert not np.array_equal(drift.p_values, everyone.drift_test(Q).p_values)


def test_references_measure_each_pair_of_objects_once():
    calls = []

    def measure(a, b):
        calls.append((a, b))
        return abs(len(a) - len(b)) + (a[0] != b[0])

    words, y = WORDS + OTHERS, [0] * 10 + [1] * 10
    kernel = MeasureKernel(FunctionMeasure(measure, symmetric=True), kind="neg_squared")
    KernelMahalanobisNovelty("other-classes", kernel=kernel).fit(words, y)
    n = len(words)
    assert len(calls) <= n * (n + 1) / 2 + 2 * n  # self-similarities, pairs checked


def test_ignored_signs_without_a_definite_matrix_are_cross_conformal(rng):
    d = np.abs(rng.normal(size=(20, 20)))
    K = -np.square(d + d.T)
    np.fill_diagonal(K, 0)
    options = {"variant": "RC+", "kernel": "precomputed", "spectrum": "ignore"}
    assert KernelMahalanobisNovelty(reg=1e-3, **options).fit(K).method_ == "cross"
    assert KernelMahalanobisNovelty(reg=1e3, **options).fit(K).method_ == "full"


@pytest.mark.parametrize("variant", ["RC+", "IC+", "FK+", "other-classes"])
@pytest.mark.parametrize("equal", ["one class", "all"])
def test_rounding_does_not_rank_equal_objects(variant, equal, rng):
    # Distances of 1e-25 were ranked: an object like all others had p from 1/(n + 1) to 1.
    X, y = rng.normal(size=(40, 4)) + np.repeat(np.eye(4), 10, axis=0), np.repeat(np.arange(4), 10)
    members = y == 1 if equal == "one class" else y >= 0
    X[members] = X[10]
    model = KernelMahalanobisNovelty(variant).fit(X, y)
    queries = np.vstack([X[10], rng.normal(size=(9, 4))])
    for values in (model.p_none, model.p_values):
        alone = np.concatenate([values(queries[i : i + 1]) for i in range(len(queries))])
        assert_allclose(alone, values(queries), atol=1e-12)
    assert model.p_none(queries)[0] > 0.9 and model.p_values(queries)[0, 1] > 0.9


def test_drift_over_folds_is_a_valid_p_value(rng):
    """The least of the folds' exact p-values: against enumeration, its level and its power.

    Twice their mean is valid, too: it found 0.43 of such batches where the least finds 0.86.
    """
    folds = [(rng.normal(size=4), rng.normal(size=3)) for _ in range(3)]
    expected = min(1, 3 * min(naive.rank_sum_by_enumeration(*fold) for fold in folds))
    assert cross_rank_sum_p_value(folds) == pytest.approx(expected)
    assert cross_rank_sum_p_value(folds[:1]) == rank_sum_p_value(*folds[0])
    found = []
    for run in range(500):
        X, batch = rng.normal(size=(30, 2)), rng.normal(size=(8, 2))
        batch *= 1 if run < 400 else 3
        pairs = []
        for part in np.array_split(np.arange(30), 3):
            mean = np.delete(X, part, axis=0).mean(axis=0)
            pairs.append([((Z - mean) ** 2).sum(axis=1) for Z in (X[part], batch)])
        found.append(cross_rank_sum_p_value(pairs))
    for level in (0.05, 0.2):
        assert np.mean(np.array(found[:400]) <= level) <= stats.binom.ppf(0.999, 400, level) / 400
    assert np.mean(np.array(found[400:]) <= 0.05) > 0.8
    assert cross_rank_sum_p_value([(a, b + 100) for a, b in pairs]) < 0.01


@pytest.mark.parametrize(("n", "m"), [(300, 9), (9, 300), (1500, 2), (170, 3)])
def test_the_exact_rank_sum_neither_over_nor_underflows(n, m, rng):
    reference, batch = rng.normal(size=n), rng.normal(size=m)
    for alternative in ("greater", "less"):
        found = rank_sum_p_value(reference, batch, alternative)
        expected = stats.mannwhitneyu(batch, reference, alternative=alternative, method="exact")
        assert found == pytest.approx(expected.pvalue, rel=1e-9)
