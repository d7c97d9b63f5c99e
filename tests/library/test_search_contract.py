"""KernelSearchCV in the place of GridSearchCV: the same results for every classifier."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    MahalanobisSVC,
    MeasureKernel,
    OneVsRestSVC,
    ProximityKernel,
    RecursiveFeatureMachine,
    load_model,
    save_model,
)
from mahalearn.formulas.calibration import fit_temperature
from mahalearn.model_selection.families import family_grid
from mahalearn.model_selection.grid import widths

SPLITS = StratifiedKFold(4, shuffle=True, random_state=0)
GAMMAS = {"gamma": [0.05, 0.5]}
VARIANTS = {"variant": ["RC+", "RC-", "IC+", "IC-", "FK+", "FK-"]}
# Every classifier with a grid: (estimator, param_grid).
TABLE = {
    "KQD": (KernelQuadraticDiscriminant(), {**GAMMAS, **VARIANTS, "reg": [0.01, 0.3]}),
    "KQD auto": (KernelQuadraticDiscriminant(), [{"gamma": [0.5, 0.1]}, {"kernel": ["linear"]}]),
    "KQD per class": (KernelQuadraticDiscriminant(gamma=0.2), {"reg": [0.1, [0.1, 0.2, 0.3]]}),
    "KQD offsets": (
        KernelQuadraticDiscriminant(gamma=0.2),
        {"offset": ["error", None, "map"], "reg": [0.1], "class_weight": [None]},
    ),
    "KQD at landmarks": (
        KernelQuadraticDiscriminant(landmarks=np.arange(20.0).reshape(4, 5) / 10, random_state=0),
        {**GAMMAS, "reg": [0.01, 0.3], "variant": ["RC+", "FK+"]},
    ),
    "space": (
        DissimilaritySpaceDiscriminant(),
        {
            **GAMMAS,
            "reg": [0.1, 1.0],
            "discriminant": ["fisher", "quadratic", LinearDiscriminantAnalysis()],
        },
    ),
    "cross-fitted space": (
        DissimilaritySpaceDiscriminant(cv=5, random_state=0, gamma=0.2),
        {"reg": [0.1, 1.0]},
    ),
    "Fisher": (
        KernelFisherDiscriminant(gamma=0.1),
        {"reg": [1e-3, 0.1], "kernel": ["rbf", "laplacian", "linear", "poly"], "coef0": [1, 2]},
    ),
    "PCA": (
        KernelPCAQuadraticDiscriminant(),
        {**GAMMAS, "reg": [1e-3, 0.1], "n_components": [0.8, 2, None]},
    ),
    "neighbours": (
        KernelKNeighborsClassifier(),
        {**GAMMAS, "n_neighbors": [1, 3, 4], "weights": ["uniform", "distance"]},
    ),
    "ridge": (KernelRidgeClassifier(), {**GAMMAS, "reg": [1e-3, 0.1]}),
    "SVM": (OneVsRestSVC(tol=1e-6), {**GAMMAS, "C": [1, 10], "degree": [2, 3]}),
    "Mahalanobis SVM": (
        MahalanobisSVC(tol=1e-6),
        {"C": [1, 10], "delta": [0.5, 1.0], "covariance": ["diag", "full"]},
    ),
    "Gaussian": (
        GaussianClassifier(),
        [{"pooled": [True, False]}, {"covariance": ["diag"], "shrinkage": [None]}],
    ),
    "learned metric": (RecursiveFeatureMachine(), {"metric": ["diagonal", "full"], "reg": [1e-3]}),
    "pipeline": (
        make_pipeline(StandardScaler(), SelectKBest(), KernelQuadraticDiscriminant()),
        {
            "selectkbest__k": [2, 4],
            "kernelquadraticdiscriminant__reg": [0.1, 1.0],
            "kernelquadraticdiscriminant__gamma": ["scale", 0.2],
            "kernelquadraticdiscriminant__variant": ["RC+", "IC-"],
        },
    ),
    "pipeline of machines": (
        make_pipeline(StandardScaler(), MahalanobisSVC(tol=1e-6)),
        {"mahalanobissvc__C": [1, 10], "standardscaler": [StandardScaler(), "passthrough"]},
    ),
    "pipeline at landmarks": (
        make_pipeline(StandardScaler(), KernelFisherDiscriminant(landmarks=10, random_state=0)),
        {"kernelfisherdiscriminant__reg": [1e-3, 0.1]},
    ),
}


@pytest.fixture(scope="module")
def data():
    """Three unequal, overlapping classes; their sizes are no multiples of the number of folds."""
    X, y = make_classification(
        83, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.5, 0.3], random_state=0
    )
    return X, np.array(["c", "a", "b"])[y]


def assert_same_results(ours, theirs, X, queries=None):
    queries = X if queries is None else queries
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        if key.startswith("param_"):
            assert ours.cv_results_[key].dtype == expected.dtype, key
            assert_array_equal(ours.cv_results_[key].mask, expected.mask)
        elif key.endswith("_test_score") and not key.startswith("rank"):
            assert_allclose(ours.cv_results_[key], expected, atol=1e-9, err_msg=key)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert ours.n_splits_ == theirs.n_splits_ and ours.multimetric_ is theirs.multimetric_
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.predict(queries), theirs.predict(queries))
    if hasattr(theirs, "decision_function"):
        expected = theirs.decision_function(queries)
        atol = 1e-8 * np.abs(expected).max()
        assert_allclose(ours.decision_function(queries), expected, atol=atol)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "f1_macro"])
@pytest.mark.parametrize("name", TABLE)
def test_every_classifier(name, scoring, data):
    X, y = data
    estimator, grid = TABLE[name]
    before = repr(estimator)
    ours = KernelSearchCV(estimator, grid, cv=SPLITS, scoring=scoring).fit(X, y)
    theirs = GridSearchCV(clone(estimator), grid, cv=SPLITS, scoring=scoring).fit(X, y)
    assert_same_results(ours, theirs, X)
    assert repr(estimator) == before  # it is not touched
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))
    assert ours.refit_time_ >= 0 and ours.n_features_in_ == 5


def test_a_scorer_of_decisions_on_two_classes(data):
    X, y = data
    rows = y != "b"
    for name in ("KQD", "Mahalanobis SVM", "Gaussian", "pipeline"):
        estimator, grid = TABLE[name]
        options = {"cv": SPLITS, "scoring": "roc_auc"}
        searches = [s(estimator, grid, **options) for s in (KernelSearchCV, GridSearchCV)]
        assert_same_results(*(s.fit(X[rows], y[rows]) for s in searches), X)


def test_objects_and_matrices_are_those_of_grid_search(data):
    words = ["ape", "apple", "apply", "maple", "ample", "oak", "soak", "oat", "oath", "cloak"] * 3
    letters, cv = np.array(list("aaaaaooooo") * 3), StratifiedKFold(3)
    kernels = [MeasureKernel("edit", scale=1.0), MeasureKernel("edit", kind="rbf", scale=2.0)]
    for plain, grid in [
        (KernelQuadraticDiscriminant(), {"reg": [0.1, 1.0]}),
        (KernelQuadraticDiscriminant(), {"variant": ["RC+", "FK+"]}),  # reg="auto" of each fold
        (KernelRidgeClassifier(), {"reg": [0.01, 0.1]}),
    ]:
        searches = [
            s(plain, {"kernel": kernels, **grid}, cv=cv).fit(words, letters)
            for s in (KernelSearchCV, GridSearchCV)
        ]
        assert_same_results(*searches, words)
    nested = {"kernel__kind": ["neg", "neg_squared"], "reg": [0.1, 1.0]}
    plain = KernelQuadraticDiscriminant(kernel=MeasureKernel("edit", scale=1.0))
    searches = [s(plain, nested, cv=cv).fit(words, letters) for s in (KernelSearchCV, GridSearchCV)]
    assert_same_results(*searches, words)
    # A square matrix, alone and behind a step of a pipeline; k(x, x) of the queries differ.
    X, y = data
    D = np.abs(X[:, None] - X[None]).sum(axis=2)
    for plain, grid, K in [
        (KernelQuadraticDiscriminant(kernel="precomputed"), {"reg": [0.1, 1.0]}, np.exp(-D / 5)),
        (
            make_pipeline(ProximityKernel(), KernelFisherDiscriminant(kernel="precomputed")),
            {"kernelfisherdiscriminant__reg": [0.1, 1.0]},
            D,
        ),
        (KernelQuadraticDiscriminant(kernel="precomputed"), {"reg": [0.1, 1.0]}, X @ X.T),
    ]:
        searches = [s(plain, grid, cv=SPLITS).fit(K, y) for s in (KernelSearchCV, GridSearchCV)]
        assert searches[0].__sklearn_tags__().input_tags.pairwise
        assert_same_results(*searches, K)


def test_scales_are_resolved_once(data):
    X, y = data
    gamma = 1 / (5 * X.var())
    options = {"cv": SPLITS}
    ours = KernelSearchCV(KernelRidgeClassifier(), {"gamma": ["scale"]}, **options).fit(X, y)
    number = GridSearchCV(KernelRidgeClassifier(), {"gamma": [gamma]}, **options).fit(X, y)
    assert ours.best_params_ == {"gamma": "scale"}
    assert ours.best_score_ == pytest.approx(number.best_score_)
    assert_allclose(ours.decision_function(X), number.decision_function(X))


def test_a_default_grid_suits_any_units(data):
    X, y = data
    one, other = (
        KernelSearchCV(KernelQuadraticDiscriminant(), cv=3).fit(X * factor, y)
        for factor in (1.0, 1e3)
    )
    assert_allclose(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert set(one.best_params_) == {"gamma", "reg", "standardize"}
    again = KernelQuadraticDiscriminant(**one.best_params_).fit(X, y)
    assert_allclose(again.decision_function(X), one.decision_function(X))
    # In a pipeline it is relative to what the last step sees.
    scaled = make_pipeline(StandardScaler(), KernelQuadraticDiscriminant(kernel="poly"))
    one, other = (KernelSearchCV(scaled, cv=3).fit(X * factor, y) for factor in (1.0, 1e3))
    assert_allclose(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert all(name.startswith("kernelquadraticdiscriminant__") for name in one.best_params_)


def test_candidates_that_fail(data):
    X, y = data
    grid = {"n_neighbors": [1, 70, 3, -1]}
    with pytest.warns(FitFailedWarning, match="2 of 4 candidates could not be fitted"):
        ours = KernelSearchCV(KernelKNeighborsClassifier(), grid, cv=SPLITS).fit(X, y)
    with pytest.warns(FitFailedWarning):
        theirs = GridSearchCV(KernelKNeighborsClassifier(), grid, cv=SPLITS).fit(X, y)
    assert_same_results(ours, theirs, X)
    assert_array_equal(np.isnan(ours.cv_results_["mean_test_score"]), [False, True, False, True])
    assert_array_equal(ours.cv_results_["rank_test_score"][[1, 3]], 3)
    with pytest.warns(FitFailedWarning):
        zero = KernelSearchCV(KernelKNeighborsClassifier(), grid, cv=SPLITS, error_score=0.0)
        assert zero.fit(X, y).cv_results_["mean_test_score"][1] == 0
    with pytest.raises(ValueError, match="n_neighbors=70, but n_samples"):
        zero.set_params(error_score="raise", param_grid={"n_neighbors": [1, 70]}).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors must be a positive whole number"):
        KernelSearchCV(KernelKNeighborsClassifier(), {"n_neighbors": [-1]}).fit(X, y)
    with pytest.warns(FitFailedWarning, match="1 of 2"):
        bad = KernelSearchCV(GaussianClassifier(), {"covariance": ["full", "none"]}).fit(X, y)
    assert bad.best_params_ == {"covariance": "full"}


def test_refit(data):
    X, y = data
    plain, grid = KernelRidgeClassifier(gamma=0.1), {"reg": [1e-3, 0.1, 1.0]}
    without = KernelSearchCV(plain, grid, refit=False).fit(X, y)
    assert without.best_params_ and not hasattr(without, "best_estimator_")
    assert not hasattr(without, "predict") and not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError, match="predict") as refused:
        without.predict(X)
    assert "after a refit only" in str(refused.value.__cause__)
    last = KernelSearchCV(plain, grid, refit=lambda results: 2).fit(X, y)
    assert last.best_params_ == {"reg": 1.0} and last.best_estimator_.reg == 1.0
    alone = KernelSearchCV(plain, {"reg": [1.0]}).fit(X, y)
    assert_allclose(last.oof_scores_, alone.oof_scores_)
    assert_allclose(last.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scoring": ["accuracy", "f1_macro"]}, ValueError, "maximises one score; got several"),
        ({"scoring": {"a": "accuracy"}}, ValueError, "maximises one score; got several"),
        ({"refit": "accuracy"}, ValueError, "refit must be True, False or a function"),
        ({"error_score": None}, ValueError, "error_score must be 'raise' or a number"),
        ({"estimator": KernelRidgeClassifier}, TypeError, "estimator must be a classifier"),
        ({"return_train_score": True}, TypeError, "return_train_score"),
        ({"refit": lambda results: 9}, IndexError, "the index of one of the 2 candidates"),
        ({"refit": lambda results: -1}, IndexError, "whole number from 0 to 1; got -1"),
        ({"scoring": lambda model, X, y: {"a": 1.0}}, ValueError, "must give a number"),
        ({"param_grid": {"reg": 0.1}}, TypeError, "reg"),
        ({"param_grid": {"reg": []}}, ValueError, "reg"),
        (
            {"estimator": LinearDiscriminantAnalysis(), "param_grid": None},
            ValueError,
            "no default grid",
        ),
    ],
)
def test_wrong_options(options, error, message, data):
    with pytest.raises(error, match=message):
        grid = {"estimator": KernelRidgeClassifier(), "param_grid": {"reg": [0.1, 1.0]}}
        KernelSearchCV(**{**grid, **options}).fit(*data)


def test_weights_go_to_the_estimator_or_are_refused_in_its_words(data):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for plain, grid in (
        (GaussianClassifier(), {"covariance": ["diag", "full"]}),
        (MahalanobisSVC(), {"C": [1, 10]}),
        (make_pipeline(StandardScaler(), MahalanobisSVC()), {"mahalanobissvc__C": [1, 10]}),
    ):
        name = "mahalanobissvc__sample_weight" if hasattr(plain, "steps") else "sample_weight"
        search = KernelSearchCV(plain, grid, cv=SPLITS).fit(X, y, **{name: weights})
        best = clone(plain).set_params(**search.best_params_)
        correct = []
        for train, test in SPLITS.split(X, y):
            model = clone(best).fit(X[train], y[train], **{name: weights[train]})
            # GridSearchCV counts weights in its scores where they have the name sample_weight.
            counted = weights[test] if name == "sample_weight" else None
            correct.append(np.average(model.predict(X[test]) == y[test], weights=counted))
        assert search.best_score_ == pytest.approx(np.mean(correct))
        whole = best.fit(X, y, **{name: weights})
        assert_allclose(search.decision_function(X), whole.decision_function(X))
    with pytest.raises(
        TypeError, match=r"KernelQuadraticDiscriminant\.fit does not take sample_weight"
    ):
        KernelSearchCV(KernelQuadraticDiscriminant()).fit(X, y, sample_weight=weights)


def test_weights_count_in_scores_and_temperature_as_often_as_objects_repeat(data):
    X, y = data
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), counts)
    splits = list(SPLITS.split(X, y))
    of_repeated = [[np.flatnonzero(np.isin(repeated, part)) for part in split] for split in splits]
    plain, grid = KernelRidgeClassifier(gamma=0.2, standardize=False), {"reg": [1e-3, 0.1]}
    for scoring in (None, "balanced_accuracy"):
        weighted = KernelSearchCV(plain, grid, cv=splits, scoring=scoring)
        weighted.fit(X, y, sample_weight=counts)
        as_rows = KernelSearchCV(plain, grid, cv=of_repeated, scoring=scoring)
        as_rows.fit(X[repeated], y[repeated])
        for name in ("mean_test_score", "std_test_score"):
            assert_allclose(weighted.cv_results_[name], as_rows.cv_results_[name])
        tests = np.concatenate([test for _, test in splits])
        codes = np.searchsorted(weighted.classes_, y[tests])
        temperature = fit_temperature(weighted.oof_scores_, codes, counts[tests])
        assert_allclose(weighted.temperature_, temperature, rtol=1e-6)
    unweighted = make_scorer(lambda truth, predicted: float((truth == predicted).mean()))
    search = KernelSearchCV(plain, grid, cv=splits, scoring=unweighted)
    search.fit(X, y, sample_weight=counts)  # a scorer that takes no weights gets none
    train, test = splits[0]
    model = clone(plain).set_params(reg=0.1).fit(X[train], y[train], counts[train])
    assert search.cv_results_["split0_test_score"][1] == model.score(X[test], y[test])


def test_groups_with_and_without_metadata_routing(data):
    X, y = data
    groups = np.arange(len(y)) % 7
    plain, grid = KernelRidgeClassifier(gamma=0.2), {"reg": [1e-3, 0.1]}
    ours = KernelSearchCV(plain, grid, cv=GroupKFold(3)).fit(X, y, groups=groups)
    theirs = GridSearchCV(plain, grid, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert_same_results(ours, theirs, X)
    with pytest.raises(ValueError, match="groups"):
        KernelSearchCV(plain, grid, cv=GroupKFold(3)).fit(X, y)
    with config_context(enable_metadata_routing=True):
        routed = KernelSearchCV(plain, grid, cv=GroupKFold(3))
        assert_same_results(clone(routed).fit(X, y, groups=groups), theirs, X)
        scores = cross_validate(routed, X, y, cv=GroupKFold(2), params={"groups": groups})
        assert np.isfinite(scores["test_score"]).all()
        weighted = MahalanobisSVC().set_fit_request(sample_weight=True)
        with pytest.raises(ValueError, match="not explicitly set as requested or not requested"):
            KernelSearchCV(weighted, {"C": [1, 10]}).fit(X, y, sample_weight=1 + groups)
        for counts in (True, False):
            weighted.set_score_request(sample_weight=counts)
            one = KernelSearchCV(weighted, {"C": [1, 10]}, cv=3).fit(X, y, sample_weight=1 + groups)
            theirs = GridSearchCV(weighted, {"C": [1, 10]}, cv=3).fit(
                X, y, sample_weight=1 + groups
            )
            assert_allclose(
                one.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
            )
    two = KernelSearchCV(MahalanobisSVC(), {"C": [1, 10]}, cv=3).fit(X, y, sample_weight=1 + groups)
    assert_allclose(one.decision_function(X), two.decision_function(X))


def test_methods_and_attributes_are_those_of_grid_search(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    ours = KernelSearchCV(KernelFisherDiscriminant(gamma=0.1), {"reg": [0.1, 1.0]}).fit(frame, y)
    assert ours.feature_names_in_.tolist() == list("abcde")
    assert ours.scorer_(ours.best_estimator_, frame, y) == ours.score(frame, y)
    assert not hasattr(ours, "score_samples") and not hasattr(ours, "dual_coef_")
    proba = ours.predict_proba(frame)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(ours.classes_[proba.argmax(axis=1)], ours.predict(frame))
    assert hasattr(KernelSearchCV(LinearDiscriminantAnalysis()), "transform")  # before the fit, too
    assert not hasattr(KernelSearchCV(KernelRidgeClassifier()), "transform")


def test_jobs_and_pipelines(data):
    X, y = data
    for name in ("KQD", "Gaussian", "pipeline"):
        estimator, grid = TABLE[name]
        one = KernelSearchCV(estimator, grid, cv=3).fit(X, y)
        two = KernelSearchCV(estimator, grid, cv=3, n_jobs=2).fit(X, y)
        assert_allclose(one.oof_scores_, two.oof_scores_)


def test_a_saved_search_predicts_the_same(data, tmp_path):
    pytest.importorskip("skops")
    X, y = data
    for name in ("KQD", "pipeline of machines", "Mahalanobis SVM"):
        estimator, grid = TABLE[name]
        search = KernelSearchCV(estimator, grid, cv=3, scoring="balanced_accuracy").fit(X, y)
        again = load_model(save_model(search, tmp_path / f"{name}.skops"))
        assert_allclose(again.predict_proba(X), search.predict_proba(X))
        assert repr(again.best_params_) == repr(search.best_params_)
    # A grid relative to the data, as `compare` has them.
    plain = KernelFisherDiscriminant()
    search = KernelSearchCV(plain, family_grid(plain, widths("rbf", [0.1])), cv=3).fit(X, y)
    again = load_model(save_model(search, tmp_path / "relative.skops"))
    assert again.param_grid == search.param_grid
    assert_allclose(clone(again).fit(X, y).predict_proba(X), search.predict_proba(X))


def test_a_pipeline_of_one_step_takes_sparse_rows():
    X, y = make_classification(40, 5, random_state=0)
    grid = {"kernelfisherdiscriminant__reg": [1e-3, 0.1]}
    searches = [
        KernelSearchCV(make_pipeline(KernelFisherDiscriminant(standardize=False)), g, cv=2).fit(
            Z, y
        )
        for g in (grid, None)
        for Z in (X, csr_array(X))
    ]
    for dense, sparse in (searches[:2], searches[2:]):
        means = [search.cv_results_["mean_test_score"] for search in (dense, sparse)]
        assert_allclose(*means)


def test_offsets_at_landmarks_learn_from_all_rows():
    """A fold of more than 5,000 rows has the offset of a plain fit on it."""
    X, y = make_classification(
        10_500, 5, n_informative=4, n_redundant=0, weights=[0.7], class_sep=0.5, random_state=0
    )
    kqd = KernelQuadraticDiscriminant(landmarks=X[:25], gamma=0.2, standardize=False)
    ours, theirs = (
        search(kqd, {"reg": [0.1]}, cv=2).fit(X, y) for search in (KernelSearchCV, GridSearchCV)
    )
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
