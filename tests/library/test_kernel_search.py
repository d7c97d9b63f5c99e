"""The searches against refitting, with the same splits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
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

import mahalearn
import naive
from mahalearn import (
    DissimilaritySpaceDiscriminantCV,
    KernelFisherDiscriminantCV,
    KernelKNeighborsClassifierCV,
    KernelPCAQuadraticDiscriminantCV,
    KernelQuadraticDiscriminant,
    KernelQuadraticDiscriminantCV,
    KernelRidgeClassifierCV,
    MahalanobisClassifierCV,
    MahalanobisSVCCV,
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


def plain_of(search, params):
    """The plain estimator of a candidate."""
    plain = getattr(mahalearn, type(search).__name__.removesuffix("CV"))()
    own = set(plain.get_params(deep=False)) - {"cv", "n_neighbors"}
    common = {k: v for k, v in search.get_params(deep=False).items() if k in own}
    return plain.set_params(**common).set_params(**params)


def refitted_scores(search, X, y, params):
    """Held-out decision values of every fold by plain fits."""
    out = []
    pairwise = search.__sklearn_tags__().input_tags.pairwise
    for train, test in search.cv.split(X, y):
        model = plain_of(search, params)
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
    search = KernelQuadraticDiscriminantCV(
        variant, [0.01, 0.3], gammas=[0.05, 0.5], reg_on=reg_on, offset=offset, cv=SPLITS
    )
    assert_equals_refitting(search, *data)


@pytest.mark.parametrize("spectrum", ["krein", "ignore", "clip", "flip", "square", "shift"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_indefinite_kernels_too(variant, spectrum, indefinite):
    search = KernelQuadraticDiscriminantCV(
        variant, [0.5, 5.0], kernel="precomputed", spectrum=spectrum, cv=SPLITS
    )
    assert_equals_refitting(search, *indefinite, rtol=1e-5)


@pytest.mark.parametrize("variant", ["RC+", "RC-"])
def test_leave_one_out_offsets(variant, data):
    X, y = data
    for reg_on in ("kernel", "covariance"):
        search = KernelQuadraticDiscriminantCV(
            variant, [0.05, 0.5], gammas=[0.2], reg_on=reg_on, offset="loo", cv=SPLITS
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
    params = {"gammas": [0.3], "reg_on": "covariance", "cv": SPLITS}
    for more in (
        {"offset": "map"},
        {"offset": "map", "priors": [0.2, 0.3, 0.5]},
        {"class_weight": "balanced"},
        {"class_weight": {"a": 1.0, "b": 2.0, "c": 3.0}},
    ):
        search = KernelQuadraticDiscriminantCV(variant, [0.01, 0.1], **params, **more)
        assert_equals_refitting(search, X, y)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "poly", "degrees": [1, 2], "gammas": [0.5]},
        {"gammas": ["scale", 0.5]},
        {"kernels": ["linear", "sigmoid", "laplacian"]},
    ],
    ids=["poly", "scale", "kernels"],
)
def test_kernels_of_all_kinds(params, data):
    search = KernelQuadraticDiscriminantCV(regs=[0.1, 1.0], cv=SPLITS, **params)
    assert_equals_refitting(search, *data)


@pytest.mark.parametrize("discriminant", ["fisher", "quadratic", LinearDiscriminantAnalysis()])
@pytest.mark.parametrize("variant", ["RC+", "IC-", "FK+"])
def test_dissimilarity_space(variant, discriminant, data):
    search = DissimilaritySpaceDiscriminantCV(
        discriminant, variant, [0.1, 1.0], gammas=[0.1, 0.5], cv=SPLITS
    )
    assert_equals_refitting(search, *data, rtol=1e-4)


@pytest.mark.parametrize("spectrum", ["krein", "ignore", "flip"])
def test_the_rest_of_the_family(spectrum, data, indefinite):
    for X, y, kernel in (
        (*data, {"gammas": [0.1, 0.5]}),
        (*indefinite, {"kernel": "precomputed"}),
    ):
        common = {"cv": SPLITS, "spectrum": spectrum, **kernel}
        for search in (
            KernelFisherDiscriminantCV([0.01, 1.0], **common),
            KernelRidgeClassifierCV([1e-6, 0.01, 1.0], **common),
            KernelPCAQuadraticDiscriminantCV([0.01, 1.0], **common),
            KernelPCAQuadraticDiscriminantCV(
                [0.1], n_components=3, priors=[0.2, 0.3, 0.5], **common
            ),
            KernelKNeighborsClassifierCV([1, 3, 8], **common),
            KernelKNeighborsClassifierCV([1, 3, 8], weights="distance", **common),
        ):
            assert_equals_refitting(search, X, y)


@pytest.mark.parametrize("offset", ["error", "map", None])
@pytest.mark.parametrize("reg_on", ["kernel", "covariance"])
def test_leave_one_out_is_closed_and_exact(reg_on, offset, data):
    if offset == "map" and reg_on == "kernel":
        pytest.skip("RC needs one σ² for MAP offsets")
    X, y = data
    for weight in (None, "balanced") if offset == "error" else (None,):
        search = KernelQuadraticDiscriminantCV(
            "RC+",
            [0.01, 0.5],
            gammas=[0.2],
            reg_on=reg_on,
            offset=offset,
            class_weight=weight,
            cv=LeaveOneOut(),
        )
        assert_equals_refitting(search, X, y)


@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_weights_two_classes_by_their_sizes_without_an_object_of_the_third(seed):
    # Two classes of one size weigh alike unless an object of theirs is left out.
    X = np.random.default_rng(seed).integers(0, 3, size=(40, 2)).astype(float)
    y = np.repeat([0, 1, 2, 3], [9, 12, 9, 10])
    search = KernelQuadraticDiscriminantCV(
        "RC+", [0.1, 1.0], gammas=[0.1, 1.0], class_weight="balanced", cv=LeaveOneOut()
    )
    assert_equals_refitting(search, X, y)


def test_leave_one_out_of_other_variants(data):
    X, y = data
    for variant in ("IC-", "RC-"):
        search = KernelQuadraticDiscriminantCV(variant, [0.1], gammas=[0.2], cv=LeaveOneOut())
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


def test_results_are_those_of_grid_search(data):
    X, y = data
    gammas, regs = [0.05, 0.2, 1.0], [0.01, 0.1, 1.0]
    for scoring in ("accuracy", "balanced_accuracy", "f1_macro"):
        search = KernelQuadraticDiscriminantCV(
            regs=regs, gammas=gammas, reg_on="covariance", cv=SPLITS, scoring=scoring
        ).fit(X, y)
        grid = GridSearchCV(
            KernelQuadraticDiscriminant(),
            {"gamma": gammas, "variant": ["RC+"], "reg": regs},
            cv=SPLITS,
            scoring=scoring,
        ).fit(X, y)
        ours, theirs = search.cv_results_, grid.cv_results_
        assert search.best_score_ == pytest.approx(grid.best_score_)
        lookup = {tuple(sorted(p.items())): i for i, p in enumerate(theirs["params"])}
        names = ("gamma", "reg", "variant")
        match = [lookup[tuple((name, p[name]) for name in names)] for p in ours["params"]]
        for key in ("mean_test_score", "std_test_score", "split3_test_score"):
            assert_allclose(ours[key], theirs[key][match], atol=1e-12, err_msg=key)
        assert set(ours) - set(theirs) == {"param_kernel", "param_standardize"}
        assert set(theirs) - set(ours) == {
            "mean_fit_time",
            "std_fit_time",
            "mean_score_time",
            "std_score_time",
        }
        assert ours["rank_test_score"][search.best_index_] == 1


def test_probabilities_are_calibrated_before_they_are_scored(data):
    X, y = data
    splits = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    search = KernelQuadraticDiscriminantCV(
        regs=[0.1], gammas=[0.2], reg_on="covariance", cv=splits, scoring="neg_log_loss"
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
        KernelQuadraticDiscriminantCV(gammas=[0.2], cv=3, scoring=undefined).fit(X, y)


def test_ties_go_to_more_regularisation_and_the_wider_kernel():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    y = [0, 0, 0, 1, 1, 1]
    search = KernelQuadraticDiscriminantCV(regs=[0.5, 0.1, 2.0], gammas=[1.0, 0.2], cv=3).fit(X, y)
    assert search.best_score_ == 1
    assert search.best_params_["gamma"] == 0.2 and search.best_params_["reg"] == 2.0
    nearest = KernelKNeighborsClassifierCV([1, 2], gammas=[1.0, 0.2], cv=3).fit(X, y)
    assert nearest.best_params_["gamma"] == 0.2 and nearest.best_params_["n_neighbors"] == 2


def test_what_the_plain_estimator_has(data):
    X, y = data
    search = KernelQuadraticDiscriminantCV(gammas=[0.1, 0.3], regs=[0.1, 1.0], cv=4).fit(X, y)
    best = search.best_estimator_
    assert (search.predict(X) == best.predict(X)).all()
    assert_allclose(search.decision_function(X), best.decision_function(X))
    assert_allclose(search.mahalanobis(X), best.mahalanobis(X))
    assert search.kernel_signature() == best.kernel_signature()
    assert_allclose(search.offsets_, best.offsets_)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        KernelQuadraticDiscriminantCV().nothing  # noqa: B018


def test_names_of_columns_reach_the_best_estimator(data):
    X, y = data
    table = pd.DataFrame(X, columns=list("abcde"))
    search = KernelQuadraticDiscriminantCV(gammas=[0.1], cv=3).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.predict(table)
    assert search.best_estimator_.feature_names_in_.tolist() == list("abcde")


def test_probabilities_are_calibrated_on_held_out_scores(data):
    X, y = make_classification(400, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=1)
    search = KernelQuadraticDiscriminantCV(cv=5).fit(X[:200], y[:200])
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
    params = {"gammas": [0.1, 0.5], "regs": [0.1, 1.0]}
    groups = np.arange(len(y)) % 7
    for cv in (
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, random_state=0),
    ):
        assert_equals_refitting(KernelQuadraticDiscriminantCV(cv=cv, **params), X, y)
    grouped = KernelQuadraticDiscriminantCV(cv=GroupKFold(3), **params).fit(X, y, groups=groups)
    assert grouped.n_splits_ == 3
    one = KernelQuadraticDiscriminantCV(cv=3, **params).fit(X, y)
    two = KernelQuadraticDiscriminantCV(cv=3, n_jobs=2, **params).fit(X, y)
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
    params = {"gammas": [0.3], "regs": [0.01, 0.3], "cv": Drawn()}
    assert_equals_refitting(KernelQuadraticDiscriminantCV(offset=offset, **params), *data)
    assert_equals_refitting(DissimilaritySpaceDiscriminantCV(**params), *data)


def test_n_parts_that_hold_an_object_twice_are_not_leave_one_out(data):
    X, y = data[0][:30], data[1][:30]

    class Almost(LeaveOneOut):
        def split(self, X, y=None, groups=None):
            for train, test in super().split(X, y, groups):
                train = train.copy()
                train[0] = train[1]
                yield train, test

    for search in (KernelQuadraticDiscriminantCV, KernelRidgeClassifierCV):
        assert_equals_refitting(search(regs=[0.01], gammas=[0.3], cv=Almost()), X, y)


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
    for search in (
        KernelQuadraticDiscriminantCV(cv=splits),
        MahalanobisSVCCV([1.0], [1.0], cv=splits),
        MahalanobisClassifierCV(("gaussian",), cv=splits),
    ):
        with pytest.raises(ValueError, match=message):
            search.fit(X, y)


def test_negative_positions_and_masks_are_positions(data):
    X, y = data[0][:80], data[1][:80]
    mask = np.arange(80) % 2 == 0
    scores = [
        KernelQuadraticDiscriminantCV(regs=[0.1], gammas=[0.3], cv=[split]).fit(X, y).best_score_
        for split in ((mask, ~mask), (np.arange(0, 80, 2), np.arange(1, 80, 2) - 80))
    ]
    assert scores[0] == scores[1]


def test_a_class_that_a_fold_has_not_seen(data):
    X, y = data
    y = y.copy()
    y[0] = "rare"
    cv = StratifiedKFold(3)
    with pytest.warns(UserWarning, match="least populated"):
        search = KernelQuadraticDiscriminantCV(gammas=[0.2], cv=cv).fit(X, y)
    assert np.isfinite(search.best_score_)
    assert np.isfinite(search.temperature_)
    assert np.isfinite(search.predict_proba(X)).all()


def test_objects_and_matrices(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.3)
    named = KernelQuadraticDiscriminantCV(gammas=[0.3], cv=SPLITS).fit(X, y)
    square = KernelQuadraticDiscriminantCV(kernel="precomputed", cv=SPLITS).fit(K, y)
    rows = KernelQuadraticDiscriminantCV(kernel=PrecomputedKernel(K), cv=SPLITS)
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
    edit = KernelQuadraticDiscriminantCV(
        kernels=[MeasureKernel("edit"), MeasureKernel("edit", kind="rbf", gamma=0.1)], cv=3
    )
    assert edit.fit(words, kind).predict(["bananas", "zzyx"]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"regs": []}, "regs must be a sequence of positive numbers"),
        ({"regs": [0.1, -1]}, "positive"),
        ({"variants": ["XX"]}, "variants='XX' is not known"),
        ({"kernels": []}, "empty"),
        ({"kernels": ["rbf"], "gammas": [1.0]}, "not both"),
        ({"kernel": "linear", "gammas": [1.0]}, "gammas= is for"),
        ({"degrees": [2]}, "polynomial"),
        ({"spectrum": "bend"}, "choose from 'krein'"),
        ({"offset": "map", "reg_on": "kernel"}, "reg_on='covariance'"),
        ({"offset": "map", "variants": "FK+"}, "FK"),
        ({"kernel": "sigmoid", "spectrum": "raise"}, "not positive definite"),
    ],
)
def test_wrong_parameters(params, message):
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]  # unequal classes: one α is not one σ²
    with pytest.raises(ValueError, match=message):
        KernelQuadraticDiscriminantCV(**params).fit(X, y)


def test_names_of_kernels_in_any_case(data):
    X, y = data
    searches = [KernelQuadraticDiscriminantCV(kernel=k, cv=3) for k in ("rbf", "RBF")]
    searches[0].fit(X, y)
    with pytest.warns(FutureWarning, match="is spelt 'rbf'"):
        searches[1].fit(X, y)
    assert_allclose(*(search.cv_results_["mean_test_score"] for search in searches))
    assert len(searches[1].cv_results_["params"]) == 72
    K = rbf_kernel(X)
    with pytest.warns(FutureWarning, match="is spelt 'precomputed'"):
        KernelQuadraticDiscriminantCV(kernel="Precomputed", cv=3).fit(K, y).predict(K)
    with pytest.raises(ValueError, match="PrecomputedKernel"):
        KernelQuadraticDiscriminantCV(kernels=["precomputed"], cv=3).fit(K, y)


def test_one_kernel_matrix_serves_all_folds_and_variants(data):
    X, y = data
    sizes = []

    def linear(A, B):
        sizes.append(len(A) * len(B))
        return A @ B.T

    variants = ["RC+", "IC+", "FK+"]
    KernelQuadraticDiscriminantCV(variants, [0.1, 1.0], kernel=linear, cv=4).fit(X, y)
    # The search takes the matrix once; the rest is the refit of the best.
    assert sizes.count(len(X) ** 2) <= 2


def test_sample_weight_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="sample_weight"):
        KernelFisherDiscriminantCV().fit(X, y, sample_weight=np.ones(len(y)))


# --- what rounding must not do --------------------------------------------------------------------


def _search_and_grid(X, y, cv, regs, gamma=1.0, **kernel):
    """Mean scores of all candidates by the search and by refitting."""
    names = {"degrees": "degree"}
    search = KernelQuadraticDiscriminantCV(regs=regs, gammas=[gamma], cv=cv, **kernel).fit(X, y)
    plain = {names.get(k, k): v[0] if isinstance(v, list) else v for k, v in kernel.items()}
    plain = KernelQuadraticDiscriminant(gamma=gamma, **plain)
    grid = GridSearchCV(plain, {"reg": regs}, cv=cv).fit(X, y)
    return search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"]


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
        X, y, StratifiedKFold(4), [0.1, 2.0], kernel="poly", degrees=[2], standardize=False
    )
    assert_allclose(ours, theirs)
    assert ours.min() > 0.9


def test_leave_one_out_of_a_single_object_and_of_a_lost_alpha(data):
    X, y = data
    rows = np.r_[np.flatnonzero(y == np.unique(y)[0]), np.flatnonzero(y == np.unique(y)[1])[:1]]
    rows = np.r_[rows, np.flatnonzero(y == np.unique(y)[-1])]
    for offset in (None, "error"):
        ours = KernelQuadraticDiscriminantCV(
            regs=[0.1], gammas=[0.2], offset=offset, cv=LeaveOneOut()
        ).fit(X[rows], y[rows])
        grid = GridSearchCV(
            KernelQuadraticDiscriminant(gamma=0.2, offset=offset),
            {"reg": [0.1]},
            cv=LeaveOneOut(),
        ).fit(X[rows], y[rows])
        assert ours.best_score_ == pytest.approx(grid.best_score_)
    lost = KernelQuadraticDiscriminantCV(kernel="linear", regs=[1e-5], cv=LeaveOneOut())
    assert 0 <= lost.fit(X * 1e5, y).best_score_ <= 1


def test_names_in_any_case_mean_the_same():
    rng = np.random.RandomState(0)
    A = rng.randn(30, 30)
    K, y = A + A.T, rng.randint(0, 2, 30)
    with pytest.warns(FutureWarning, match="clip"):
        scores = [
            KernelQuadraticDiscriminantCV(kernel="precomputed", spectrum=name, cv=3)
            .fit(K, y)
            .cv_results_["mean_test_score"]
            for name in ("clip", "Clip", "krein")
        ]
    assert_allclose(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2])


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
    search = KernelQuadraticDiscriminantCV(kernel=Separating(), regs=[0.1, 1.0], cv=SPLITS)
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
        KernelKNeighborsClassifierCV([1, 40], cv=2).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="weights must be"):
        KernelKNeighborsClassifierCV([1], weights="nonsense").fit(X, y)
    with pytest.raises(ValueError, match="priors belong to"):
        KernelQuadraticDiscriminantCV(priors=[0.5, 0.5]).fit(X, y)


def test_score_is_what_was_maximised(data):
    X, y = data
    search = KernelQuadraticDiscriminantCV(
        gammas=[0.2], regs=[0.1], cv=3, scoring="balanced_accuracy"
    ).fit(X, y)
    rows = np.r_[0 : len(y) : 3, 1:20]
    expected = balanced_accuracy_score(y[rows], search.predict(X[rows]))
    assert search.score(X[rows], y[rows]) == pytest.approx(expected)


def test_a_search_that_cannot_fit_into_memory_is_refused(monkeypatch, data):
    monkeypatch.setattr(_validation, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match="The search on the kernel matrix of 83 objects needs"):
        KernelQuadraticDiscriminantCV(cv=3).fit(*data)
