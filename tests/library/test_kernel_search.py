"""The searches against refitting, with the same splits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from searches import search
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)

import naive
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisClassifierCV,
    MahalanobisSVC,
    MeasureKernel,
    PrecomputedKernel,
    _validation,
)
from mahalearn.formulas.kernel_mahalanobis import centre_on_class, kriging_class
from mahalearn.formulas.offsets import error_offsets

VARIANTS = ["IC+", "IC-", "RC+", "RC-", "FK+", "FK-"]
SPLITS = StratifiedKFold(4, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def data():
    """Three unequal, overlapping classes; their sizes are no multiples of the number of folds."""
    X, y = make_classification(
        83, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.5, 0.3], random_state=0
    )
    return X, np.array(["c", "a", "b"])[y]


@pytest.fixture(scope="module")
def indefinite(data):
    X, y = data
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    return -(D**1.5), y


def refitted_scores(search, X, y, params):
    """Held-out decision values of every fold by plain fits."""
    out = []
    pairwise = search.__sklearn_tags__().input_tags.pairwise
    for train, test in search.cv.split(X, y):
        model = clone(search.estimator).set_params(**params)
        if pairwise:
            model.fit(X[np.ix_(train, train)], y[train])
            out.append(model.decision_function(X[np.ix_(test, train)]))
        else:
            model.fit(X[train], y[train])
            out.append(model.decision_function(X[test]))
    return out


def searched_scores(search, X, y):
    """Held-out decision values of every candidate and fold, as a scorer sees them."""
    seen = []

    def keep(fold, rows, truth):
        seen.append(fold.decision_function(rows))
        return 0.0

    search = clone(search).set_params(scoring=keep).fit(X, y)
    params, n = search.cv_results_["params"], search.n_splits_
    assert len(seen) == len(params) * n
    return [(p, seen[i * n : (i + 1) * n]) for i, p in enumerate(params)]


def assert_equals_refitting(search, X, y, rtol=1e-6):
    for params, folds in searched_scores(search, X, y):
        for ours, plain in zip(folds, refitted_scores(search, X, y, params), strict=True):
            if ours.ndim == 2:  # a term common to the classes may be left out
                ours, plain = (s - s.mean(axis=1, keepdims=True) for s in (ours, plain))
            assert_allclose(ours, plain, rtol=rtol, atol=rtol * np.abs(plain).max(), err_msg=params)


@pytest.mark.parametrize("offset", ["error", None])
@pytest.mark.parametrize("reg_on", ["kernel", "covariance", "relative"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_quadratic_scores_are_those_of_refitting(variant, reg_on, offset, data):
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(variant=variant, reg_on=reg_on, offset=offset),
        {"reg": [0.01, 0.3], "gamma": [0.05, 0.5]},
        cv=SPLITS,
    )
    assert_equals_refitting(search, *data)


@pytest.mark.parametrize("spectrum", ["krein", "ignore", "clip", "flip", "square", "shift"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_indefinite_kernels_too(variant, spectrum, indefinite):
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(variant=variant, kernel="precomputed", spectrum=spectrum),
        {"reg": [0.5, 5.0]},
        cv=SPLITS,
    )
    assert_equals_refitting(search, *indefinite, rtol=1e-5)


@pytest.mark.parametrize("variant", ["RC+", "RC-"])
def test_leave_one_out_offsets(variant, data):
    X, y = data
    for reg_on in ("kernel", "covariance"):
        search = KernelSearchCV(
            KernelQuadraticDiscriminant(variant=variant, reg_on=reg_on, offset="loo"),
            {"reg": [0.05, 0.5], "gamma": [0.2]},
            cv=SPLITS,
        )
        assert_equals_refitting(search, X, y)
        # The plain estimator's offsets are those of naive distances, own class without the object.
        model = KernelQuadraticDiscriminant(variant, 0.05, gamma=0.2, reg_on=reg_on, offset="loo")
        d2 = model.fit(X, y).mahalanobis(X)
        K = rbf_kernel(X, gamma=0.2)
        codes = np.searchsorted(model.classes_, y)
        for i in range(len(y)):
            others = np.flatnonzero((y == y[i]) & (np.arange(len(y)) != i))
            alpha = 0.05 * (len(others) if reg_on == "covariance" else 1)
            d2[i, codes[i]] = naive.classwise_sq_distance(
                variant, K[np.ix_(others, others)], K[i, others], 1.0, alpha
            )
        assert_allclose(model.offsets_, error_offsets(d2 / -2, codes), rtol=1e-6, atol=1e-8)


def test_leave_one_out_offsets_are_refused_where_they_have_no_closed_form(data, indefinite):
    for model, X, y in [
        (KernelQuadraticDiscriminant("IC+", offset="loo"), *data),
        (KernelQuadraticDiscriminant("RC+", offset="loo", kernel="precomputed"), *indefinite),
    ]:
        with pytest.raises(ValueError, match="closed form"):
            model.fit(X, y)


@pytest.mark.parametrize("variant", ["RC+", "IC-"])
def test_map_offsets_and_class_weights(variant, data):
    X, y = data
    params = {"gamma": [0.3], "reg": [0.01, 0.1], "reg_on": "covariance", "cv": SPLITS}
    for more in (
        {"offset": "map"},
        {"offset": "map", "priors": [0.2, 0.3, 0.5]},
        {"class_weight": "balanced"},
        {"class_weight": {"a": 1.0, "b": 2.0, "c": 3.0}},
    ):
        one = search(KernelQuadraticDiscriminant, variant=variant, **params, **more)
        assert_equals_refitting(one, X, y)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly", "degree": [1, 2], "gamma": [0.5]},
        {"kernel": ["linear", "sigmoid", "laplacian"], "gamma": 0.2},
    ],
    ids=["poly", "kernels"],
)
def test_kernels_of_all_kinds(params, data):
    one = search(KernelQuadraticDiscriminant, reg=[0.1, 1.0], cv=SPLITS, **params)
    assert_equals_refitting(one, *data)


@pytest.mark.parametrize("discriminant", ["fisher", "quadratic", LinearDiscriminantAnalysis()])
@pytest.mark.parametrize("variant", ["RC+", "IC-", "FK+"])
def test_dissimilarity_space(variant, discriminant, data):
    search = KernelSearchCV(
        DissimilaritySpaceDiscriminant(variant=variant, discriminant=discriminant),
        {"reg": [0.1, 1.0], "gamma": [0.1, 0.5]},
        cv=SPLITS,
    )
    assert_equals_refitting(search, *data, rtol=1e-4)


@pytest.mark.parametrize("spectrum", ["krein", "ignore", "flip"])
def test_the_rest_of_the_family(spectrum, data, indefinite):
    for X, y, kernel in (
        (*data, {"gamma": [0.1, 0.5]}),
        (*indefinite, {"kernel": "precomputed"}),
    ):
        common = {"cv": SPLITS, "spectrum": spectrum, **kernel}
        priors = [0.2, 0.3, 0.5]
        for one in (
            search(KernelFisherDiscriminant, reg=[0.01, 1.0], **common),
            search(KernelRidgeClassifier, reg=[1e-6, 0.01, 1.0], **common),
            search(KernelPCAQuadraticDiscriminant, reg=[0.01, 1.0], **common),
            search(KernelPCAQuadraticDiscriminant, n_components=[2, 3], priors=priors, **common),
            search(KernelKNeighborsClassifier, n_neighbors=[1, 3, 8], **common),
            search(KernelKNeighborsClassifier, n_neighbors=[1, 3, 8], weights="distance", **common),
        ):
            assert_equals_refitting(one, X, y)


@pytest.mark.parametrize("offset", ["error", "map", None])
@pytest.mark.parametrize("reg_on", ["kernel", "covariance"])
def test_leave_one_out_is_closed_and_exact(reg_on, offset, data):
    if offset == "map" and reg_on == "kernel":
        pytest.skip("RC needs one σ² for MAP offsets")
    X, y = data
    for weight in (None, "balanced") if offset == "error" else (None,):
        search = KernelSearchCV(
            KernelQuadraticDiscriminant(
                variant="RC+", reg_on=reg_on, offset=offset, class_weight=weight
            ),
            {"reg": [0.01, 0.5], "gamma": [0.2]},
            cv=LeaveOneOut(),
        )
        assert_equals_refitting(search, X, y)


@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_weights_two_classes_by_their_sizes_without_an_object_of_the_third(seed):
    # Two classes of one size weigh alike unless an object of theirs is left out.
    X = np.random.default_rng(seed).integers(0, 3, size=(40, 2)).astype(float)
    y = np.repeat([0, 1, 2, 3], [9, 12, 9, 10])
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(variant="RC+", class_weight="balanced"),
        {"reg": [0.1, 1.0], "gamma": [0.1, 1.0]},
        cv=LeaveOneOut(),
    )
    assert_equals_refitting(search, X, y)


def test_leave_one_out_of_other_variants(data):
    X, y = data
    for variant in ("IC-", "RC-"):
        search = KernelSearchCV(
            KernelQuadraticDiscriminant(variant=variant),
            {"reg": [0.1], "gamma": [0.2]},
            cv=LeaveOneOut(),
        )
        assert_equals_refitting(search, X[:40], y[:40])


@pytest.mark.parametrize("seed", range(3))
def test_block_updates_equal_the_naive_loop(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    K, own = rbf_kernel(X, gamma=0.4), slice(8, 24)
    k, kxx = centre_on_class(K, np.diagonal(K), own)
    for sigma2 in (1e-5, 1e-2, 1.0):
        for gone in ([], [0, 1, 2], [3, 7, 15]):
            left = np.setdiff1d(np.arange(8, 24), np.array(gone, int) + 8)
            alpha = sigma2 * len(left)
            model = kriging_class(k, kxx, own, alpha)
            d2, volume = model.without(np.array(gone, int), sigma2)
            expected = [
                naive.classwise_sq_distance("RC+", K[np.ix_(left, left)], K[i, left], 1.0, alpha)
                for i in range(30)
            ]
            assert_allclose(d2, expected, rtol=1e-6)
            H = np.eye(len(left)) - 1 / len(left)
            inner = np.eye(len(left)) + H @ K[np.ix_(left, left)] @ H / alpha
            assert volume == pytest.approx(np.linalg.slogdet(inner)[1], rel=1e-8)


def test_probabilities_are_calibrated_before_they_are_scored(data):
    X, y = data
    splits = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(reg_on="covariance"),
        {"reg": [0.1], "gamma": [0.2]},
        cv=splits,
        scoring="neg_log_loss",
    ).fit(X, y)
    classes = np.unique(y)
    plain = KernelQuadraticDiscriminant(reg=0.1, gamma=0.2, reg_on="covariance")
    scores = [plain.fit(X[a], y[a]).decision_function(X[b]) for a, b in splits]
    scores = [s if s.ndim == 2 else np.column_stack([0 * s, s]) for s in scores]
    truth = [np.searchsorted(classes, y[b]) for _, b in splits]
    T = search.temperature_
    for f, (table, labels) in enumerate(zip(scores, truth)):
        ours = -search.cv_results_[f"split{f}_test_score"][0]
        assert ours == pytest.approx(naive.tempered_loss(table, labels, T, smoothed=False))
    pooled = np.vstack(scores), np.concatenate(truth)
    assert naive.tempered_loss(*pooled, T) <= naive.tempered_loss(*pooled, T * 0.99)
    assert naive.tempered_loss(*pooled, T) <= naive.tempered_loss(*pooled, T * 1.01)


def test_a_score_that_is_undefined_on_a_fold_is_refused(data):
    X, y = data
    undefined = lambda model, X, y: np.nan  # noqa: E731
    with pytest.raises(ValueError, match="defined on every fold"):
        KernelSearchCV(
            KernelQuadraticDiscriminant(), {"gamma": [0.2]}, cv=3, scoring=undefined
        ).fit(X, y)


def test_ties_go_to_the_first_candidate():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    y = [0, 0, 0, 1, 1, 1]
    grid = {"reg": [0.5, 0.1, 2.0], "gamma": [1.0, 0.2]}
    for method in (KernelSearchCV, GridSearchCV):
        found = method(KernelQuadraticDiscriminant(), grid, cv=3).fit(X, y)
        assert found.best_score_ == 1
        assert found.best_params_ == {"gamma": 1.0, "reg": 0.5}
    # The default grids list more regularisation first, then wider kernels.
    found = KernelSearchCV(KernelQuadraticDiscriminant(), cv=3).fit(X, y)
    best = [
        p
        for p, s in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"])
        if s == 1
    ]
    assert found.best_params_["reg"] == max(p["reg"] for p in best)
    widest = min(p["gamma"] for p in best if p["reg"] == found.best_params_["reg"])
    assert found.best_params_["gamma"] == widest
    nearest = KernelSearchCV(KernelKNeighborsClassifier(), cv=3).fit(X, y)
    assert nearest.best_params_["n_neighbors"] == 3
    assert {p["n_neighbors"] for p in nearest.cv_results_["params"]} == {1, 2, 3, 4}


def test_what_the_plain_estimator_has(data):
    X, y = data
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(), {"gamma": [0.1, 0.3], "reg": [0.1, 1.0]}, cv=4
    ).fit(X, y)
    best = search.best_estimator_
    assert (search.predict(X) == best.predict(X)).all()
    assert_allclose(search.decision_function(X), best.decision_function(X))
    for name in ("mahalanobis", "kernel_signature", "offsets_", "transform", "partial_fit"):
        assert not hasattr(search, name)  # it is on the best estimator
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        KernelSearchCV(KernelQuadraticDiscriminant()).nothing  # noqa: B018


def test_names_of_columns_reach_the_best_estimator(data):
    X, y = data
    table = pd.DataFrame(X, columns=list("abcde"))
    search = KernelSearchCV(KernelQuadraticDiscriminant(), {"gamma": [0.1]}, cv=3).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.predict(table)
    assert search.best_estimator_.feature_names_in_.tolist() == list("abcde")


def test_probabilities_are_calibrated_on_held_out_scores(data):
    X, y = make_classification(400, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=1)
    search = KernelSearchCV(KernelQuadraticDiscriminant(), cv=5).fit(X[:200], y[:200])
    proba = search.predict_proba(X[200:])
    assert_allclose(proba.sum(axis=1), 1)
    assert (search.classes_[proba.argmax(axis=1)] == search.predict(X[200:])).all()
    assert_allclose(np.log(proba), search.predict_log_proba(X[200:]), atol=1e-9)

    def log_loss(p):
        return -np.log(p[np.arange(200), y[200:]]).mean()

    sharper, flatter = ((p := proba**t) / p.sum(axis=1, keepdims=True) for t in (3.0, 1 / 3))
    assert log_loss(proba) < log_loss(sharper)
    assert log_loss(proba) < log_loss(flatter)
    assert log_loss(proba) < np.log(2)


def test_splitters_groups_and_jobs(data):
    X, y = data
    params = {"gamma": [0.1, 0.5], "reg": [0.1, 1.0]}
    groups = np.arange(len(y)) % 7
    for cv in (
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, random_state=0),
    ):
        assert_equals_refitting(search(KernelQuadraticDiscriminant, cv=cv, **params), X, y)
    grouped = search(KernelQuadraticDiscriminant, cv=GroupKFold(3), **params).fit(
        X, y, groups=groups
    )
    assert grouped.n_splits_ == 3
    one = search(KernelQuadraticDiscriminant, cv=3, **params).fit(X, y)
    two = search(KernelQuadraticDiscriminant, cv=3, n_jobs=2, **params).fit(X, y)
    assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


class Drawn:
    """A splitter of bootstrap samples: training parts hold objects more than once."""

    def __init__(self, n_splits=3):
        self.n_splits = n_splits

    def get_n_splits(self, X=None, y=None, groups=None):
        return self.n_splits

    def split(self, X, y=None, groups=None):
        rng = np.random.default_rng(0)
        for _ in range(self.n_splits):
            train = rng.integers(len(X), size=len(X))
            yield train, np.setdiff1d(np.arange(len(X)), train)


@pytest.mark.parametrize("offset", ["error", "map", None])
def test_objects_that_a_training_part_holds_twice_count_twice(offset, data):
    # Block updates leave objects out once; they would take each object for one.
    params = {"gamma": [0.3], "reg": [0.01, 0.3], "cv": Drawn()}
    one = search(KernelQuadraticDiscriminant, offset=offset, **params)
    assert_equals_refitting(one, *data)
    assert_equals_refitting(search(DissimilaritySpaceDiscriminant, **params), *data)
    # At landmarks moments of cells, which hold an object once, are added up.
    plain = KernelPCAQuadraticDiscriminant(gamma=0.3, landmarks=data[0][:20])
    grid, splits = {"reg": [0.01, 0.3]}, list(Drawn().split(data[0]))
    scores = [
        each(plain, grid, cv=splits).fit(*data).cv_results_["mean_test_score"]
        for each in (KernelSearchCV, GridSearchCV)
    ]
    assert_allclose(*scores)


def test_n_parts_that_hold_an_object_twice_are_not_leave_one_out(data):
    X, y = data[0][:30], data[1][:30]

    class Almost(LeaveOneOut):
        def split(self, X, y=None, groups=None):
            for train, test in super().split(X, y, groups):
                train = train.copy()
                train[0] = train[1]
                yield train, test

    for plain in (KernelQuadraticDiscriminant, KernelRidgeClassifier):
        assert_equals_refitting(search(plain, reg=[0.01], gamma=[0.3], cv=Almost()), X, y)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([], "cv has no splits"),
        ([(range(0, 80, 2), [])], "an empty part.* got 40 and 0"),
        ([([], range(80))], "an empty part"),
        ([(range(80), range(-80, 0))], "in the training and the test part at once"),
        ([(range(70), range(70, 81))], "whole numbers from 0 to 79"),
        ([([0.5, 1.5], range(70, 80))], "whole numbers from 0 to 79"),
    ],
)
def test_splits_that_say_nothing_are_refused(splits, message, data):
    # An empty test part gave a best score of infinity, negative positions one of objects seen.
    X, y = data[0][:80], data[1][:80]
    for model in (
        KernelSearchCV(KernelQuadraticDiscriminant(), cv=splits),
        KernelSearchCV(MahalanobisSVC(), {"C": [1.0], "delta": [1.0]}, cv=splits),
        MahalanobisClassifierCV(("gaussian",), cv=splits),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


def test_negative_positions_and_masks_are_positions(data):
    X, y = data[0][:80], data[1][:80]
    mask = np.arange(80) % 2 == 0
    scores = [
        KernelSearchCV(KernelQuadraticDiscriminant(), {"reg": [0.1], "gamma": [0.3]}, cv=[split])
        .fit(X, y)
        .best_score_
        for split in ((mask, ~mask), (np.arange(0, 80, 2), np.arange(1, 80, 2) - 80))
    ]
    assert scores[0] == scores[1]


def test_a_class_that_a_fold_has_not_seen(data):
    X, y = data
    y = y.copy()
    y[0] = "rare"
    cv = StratifiedKFold(3)
    with pytest.warns(UserWarning, match="least populated"):
        search = KernelSearchCV(KernelQuadraticDiscriminant(), {"gamma": [0.2]}, cv=cv).fit(X, y)
    assert np.isfinite(search.best_score_)
    assert np.isfinite(search.temperature_)
    assert np.isfinite(search.predict_proba(X)).all()


def test_objects_and_matrices(data):
    X, y = data
    K, options = rbf_kernel(X, gamma=0.3), {"reg": [0.01, 0.1, 1.0], "cv": SPLITS}
    named = search(KernelQuadraticDiscriminant, gamma=0.3, **options).fit(X, y)
    square = search(KernelQuadraticDiscriminant, kernel="precomputed", **options).fit(K, y)
    rows = search(KernelQuadraticDiscriminant, kernel=PrecomputedKernel(K), **options)
    rows.fit(np.arange(len(y)), y)
    for other in (square, rows):
        assert_allclose(
            other.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"], atol=1e-12
        )
    assert_allclose(
        cross_val_score(clone(square).set_params(cv=3), K, y, cv=3),
        cross_val_score(clone(named).set_params(cv=3), X, y, cv=3),
    )
    words = ["banana", "bandana", "cabana", "havana", "xyz", "xyzzy", "zyx", "xxyyzz"] * 3
    kind = [0, 0, 0, 0, 1, 1, 1, 1] * 3
    edit = KernelSearchCV(
        KernelQuadraticDiscriminant(),
        {"kernel": [MeasureKernel("edit"), MeasureKernel("edit", kind="rbf", gamma=0.1)]},
        cv=3,
    )
    assert edit.fit(words, kind).predict(["bananas", "zzyx"]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reg": [0.0, -1.0]}, "reg must be positive and finite; got 0.0"),
        ({"variant": ["XX"]}, "variant='XX' is not known"),
        ({"nothing": [1.0]}, "Invalid parameter 'nothing'"),
        ({"kernel": ["rbf", "precomputed"]}, "cannot hold 'precomputed'"),
        ({"spectrum": ["bend"]}, "choose from 'krein'"),
        ({"offset": ["map"], "reg_on": ["kernel"]}, "reg_on='covariance'"),
        ({"offset": ["map"], "variant": ["FK+"]}, "FK"),
        ({"kernel": ["sigmoid"], "spectrum": ["raise"]}, "not positive definite"),
    ],
)
def test_wrong_parameters(params, message):
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]  # unequal classes: one α is not one σ²
    with pytest.raises(ValueError, match=message):
        KernelSearchCV(KernelQuadraticDiscriminant(), params).fit(X, y)


def test_one_kernel_matrix_serves_all_folds_and_variants(data):
    X, y = data
    sizes = []

    def linear(A, B):
        sizes.append(len(A) * len(B))
        return A @ B.T

    variants = ["RC+", "IC+", "FK+"]
    KernelSearchCV(
        KernelQuadraticDiscriminant(kernel=linear), {"variant": variants, "reg": [0.1, 1.0]}, cv=4
    ).fit(X, y)
    # The search takes the matrix once; the rest is the refit of the best.
    assert sizes.count(len(X) ** 2) <= 2


def test_sample_weight_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="sample_weight"):
        KernelSearchCV(KernelQuadraticDiscriminant()).fit(X, y, sample_weight=np.ones(len(y)))


# --- what rounding must not do --------------------------------------------------------------------


def _search_and_grid(X, y, cv, regs, gamma=1.0, **kernel):
    """Mean scores of all candidates by the search and by refitting."""
    plain = KernelQuadraticDiscriminant(gamma=gamma, **kernel)
    ours = KernelSearchCV(plain, {"reg": regs}, cv=cv).fit(X, y)
    grid = GridSearchCV(plain, {"reg": regs}, cv=cv).fit(X, y)
    return ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"]


@pytest.mark.parametrize("cv", [StratifiedKFold(5), LeaveOneOut()])
def test_labels_do_not_leak_through_rounding(cv):
    # Equal objects have equal distances; those of the closed forms differ in the last digits by
    # whether an object is of the class, which an offset must not see.
    rng = np.random.RandomState(0)
    for X in (np.ones((40, 2)), rng.randint(0, 2, (40, 1)).astype(float)):
        y = rng.randint(0, 2, 40)
        ours, theirs = _search_and_grid(X, y, cv, [1e-5, 1e-3, 0.1, 2.0])
        assert_allclose(ours, theirs)
        assert ours.max() < 0.8


def test_small_regularisation_on_a_large_kernel(data):
    # α far below the rank tolerance of the kernel, far above its rounding.
    X, y = load_wine(return_X_y=True)
    ours, theirs = _search_and_grid(
        X, y, StratifiedKFold(4), [0.1, 2.0], kernel="poly", degree=2, standardize=False
    )
    assert_allclose(ours, theirs)
    assert ours.min() > 0.9


def test_leave_one_out_of_a_single_object_and_of_a_lost_alpha(data):
    X, y = data
    rows = np.r_[np.flatnonzero(y == np.unique(y)[0]), np.flatnonzero(y == np.unique(y)[1])[:1]]
    rows = np.r_[rows, np.flatnonzero(y == np.unique(y)[-1])]
    for offset in (None, "error"):
        ours = KernelSearchCV(
            KernelQuadraticDiscriminant(offset=offset),
            {"reg": [0.1], "gamma": [0.2]},
            cv=LeaveOneOut(),
        ).fit(X[rows], y[rows])
        grid = GridSearchCV(
            KernelQuadraticDiscriminant(gamma=0.2, offset=offset),
            {"reg": [0.1]},
            cv=LeaveOneOut(),
        ).fit(X[rows], y[rows])
        assert ours.best_score_ == pytest.approx(grid.best_score_)
    lost = KernelSearchCV(
        KernelQuadraticDiscriminant(kernel="linear"), {"reg": [1e-5]}, cv=LeaveOneOut()
    )
    assert 0 <= lost.fit(X * 1e5, y).best_score_ <= 1


def test_a_kernel_that_learns_from_labels_sees_those_of_the_fold(data):
    X, y = data

    class Separating:
        """A linear kernel of features weighted by how far apart the class means are."""

        def fit(self, X, y):
            means = [X[y == label].mean(axis=0) for label in np.unique(y)]
            self.weights = np.ptp(means, axis=0) ** 4
            return self

        def __call__(self, X, Y=None):
            return (X * self.weights) @ (X if Y is None else Y).T

    X = X + 3 * np.random.RandomState(0).randn(*X.shape)
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(kernel=Separating()), {"reg": [0.1, 1.0]}, cv=SPLITS
    )
    search.fit(X, y)
    grid = GridSearchCV(
        KernelQuadraticDiscriminant(kernel=Separating()),
        {"reg": [0.1, 1.0]},
        cv=SPLITS,
    ).fit(X, y)
    assert_allclose(
        np.sort(search.cv_results_["mean_test_score"]),
        np.sort(grid.cv_results_["mean_test_score"]),
    )


def test_the_searches_refuse_what_the_plain_estimators_refuse(data):
    X, y = data
    with pytest.raises(ValueError, match="n_neighbors=40, but n_samples"):
        KernelSearchCV(
            KernelKNeighborsClassifier(), {"n_neighbors": [1, 40]}, cv=2, error_score="raise"
        ).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="weights must be"):
        KernelSearchCV(KernelKNeighborsClassifier(weights="nonsense"), {"n_neighbors": [1]}).fit(
            X, y
        )
    with pytest.raises(ValueError, match="priors belong to"):
        KernelSearchCV(KernelQuadraticDiscriminant(priors=[0.5, 0.5])).fit(X, y)


def test_score_is_what_was_maximised(data):
    X, y = data
    search = KernelSearchCV(
        KernelQuadraticDiscriminant(),
        {"gamma": [0.2], "reg": [0.1]},
        cv=3,
        scoring="balanced_accuracy",
    ).fit(X, y)
    rows = np.r_[0 : len(y) : 3, 1:20]
    expected = balanced_accuracy_score(y[rows], search.predict(X[rows]))
    assert search.score(X[rows], y[rows]) == pytest.approx(expected)


def test_a_search_that_cannot_fit_into_memory_is_refused(monkeypatch, data):
    monkeypatch.setattr(_validation, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match="The search on the kernel matrix of 83 objects needs"):
        KernelSearchCV(KernelQuadraticDiscriminant(), cv=3).fit(*data)
