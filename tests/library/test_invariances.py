"""What must not change an answer: memory, processes, threads, order, layout, units, files.

One suite over all public estimators and options (`cases.CASES`), and every search against plain
fits on problems with ties.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import (
    CASES,
    EXCLUDED,
    FOLDS,
    SEARCHES,
    Problem,
    answers,
    assert_none,
    build_cases,
    differences,
    failures,
    fitted,
    outputs,
    problem,
    public_estimators,
    take,
)
from searches import search
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MahalanobisSVC,
    OneVsRestSVC,
    load_model,
    save_model,
)

LARGE = 1024  # MiB of working memory: nothing here needs chunks
SIGNS_ARE_FREE = ("PseudoEuclideanEmbedding", "LandmarkMap")  # those of eigenvectors
every_name = pytest.mark.parametrize("name", sorted(CASES))


@cache
def reference(name, index):
    """A case of a name, its fitted model and what that says."""
    case = CASES[name][index]
    given = case.problem()
    with sklearn.config_context(working_memory=LARGE):
        model = fitted(case.new(), given)
        return given, model, outputs(model, given.queries)


def some(name, at_most=3):
    """Positions of at most so many cases of a name, spread over all; the chooser is slow."""
    at_most = 1 if name == "MahalanobisClassifierCV" else at_most
    return range(0, len(CASES[name]), -(-len(CASES[name]) // at_most))


def check(name, positions, report):
    """report(case, problem, model, expected) of the cases at these positions."""
    positions = list(positions)
    lines = []
    for index in positions:
        if reports := report(CASES[name][index], *reference(name, index)):
            lines.append(f"{CASES[name][index]}: {'; '.join(reports)}")
    assert_none(lines, len(positions))


def test_every_public_class_is_in_the_list():
    assert public_estimators() == set(CASES) | set(EXCLUDED)
    assert not set(CASES) & set(EXCLUDED)


@every_name
def test_nearly_every_case_gives_answers(name):
    # A suite of refusals would compare nothing.
    refused = [
        str(CASES[name][index])
        for index in range(len(CASES[name]))
        if any(isinstance(value, str) for value in reference(name, index)[2].values())
    ]
    assert len(refused) <= 0.1 * len(CASES[name]), refused
    for index in range(len(CASES[name])):
        for method, values in reference(name, index)[2].items():
            if not isinstance(values, str) and values.dtype.kind == "f":
                # A probability may underflow to 0, whose logarithm is −inf.
                finite = ~np.isnan(values) if "log_proba" in method else np.isfinite(values)
                assert finite.all(), (str(CASES[name][index]), method)


# --- memory, processes, threads -------------------------------------------------------------------


@every_name
def test_working_memory_changes_nothing(name):
    def report(case, given, model, expected):
        with sklearn.config_context(working_memory=0.01):
            return differences(answers(case.new(), given), expected, 1e-7)

    check(name, range(len(CASES[name])), report)


@pytest.mark.full
@every_name
@pytest.mark.parametrize("memory", [0.01, 0.3])
@pytest.mark.parametrize("counts", [(200, 5, 5), (120, 80, 40), (30, 30, 30)], ids=str)
def test_working_memory_changes_nothing_in_any_combination(counts, memory, name):
    cases = build_cases(reduced=False)[name]

    def report(case):
        given = case.problem(counts)
        with sklearn.config_context(working_memory=LARGE):
            expected = answers(case.new(counts), given)
        with sklearn.config_context(working_memory=memory):
            return differences(answers(case.new(counts), given), expected, 1e-7)

    assert_none(failures(cases, report), len(cases))


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_two_processes_find_what_one_finds(name):
    def report(case, given, model, expected):
        again = fitted(case.new(n_jobs=2), given)
        found = differences(outputs(again, given.queries), expected, 1e-10)
        if str(again.best_params_) != str(model.best_params_):
            found.append(f"{again.best_params_} instead of {model.best_params_}")
        return found

    check(name, some(name, 2), report)


@every_name
def test_fits_in_two_threads_do_not_meet(name):
    positions = list(some(name, 1))
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            (index, pool.submit(answers, CASES[name][index].new(), reference(name, index)[0]))
            for index in positions
            for _ in range(2)
        ]
        lines = [
            f"{CASES[name][index]}: {'; '.join(reports)}"
            for index, job in jobs
            if (reports := differences(job.result(), reference(name, index)[2], 1e-10))
        ]
    assert_none(lines, len(jobs))


# --- files ----------------------------------------------------------------------------------------


@every_name
def test_a_pickled_or_saved_model_says_the_same(name, tmp_path):
    def report(case, given, model, expected):
        if isinstance(model, str):
            return []
        found = differences(outputs(pickle.loads(pickle.dumps(model)), given.queries), expected, 0)
        path = tmp_path / "model.skops"
        save_model(model, path, overwrite=True)
        return found + differences(outputs(load_model(path), given.queries), expected, 0)

    check(name, some(name), report)


# --- order and layout -----------------------------------------------------------------------------


@every_name
def test_a_row_alone_gets_the_answer_it_gets_among_others(name):
    def report(case, given, model, expected):
        some_rows = range(0, len(given.queries), 3)
        rows = [outputs(model, take(given.queries, [i])) for i in some_rows]
        if any(isinstance(value, str) for value in expected.values()):
            return []
        expected = {method: values[::3] for method, values in expected.items()}
        alone = {method: np.concatenate([row[method] for row in rows]) for method in expected}
        return differences(alone, expected, 1e-10)

    check(name, some(name), report)


@every_name
def test_layout_and_container_do_not_matter(name):
    def report(case, given, model, expected):
        if case.kind == "objects":
            return []
        wide = np.repeat(given.X, 2, axis=1)[:, ::2]  # every other column: not contiguous
        again = Problem(np.asfortranarray(given.X), given.y, np.asfortranarray(given.queries))
        found = differences(answers(case.new(), again), expected, 1e-7)
        again = Problem(wide, given.y.tolist(), given.queries.tolist())
        found += differences(answers(case.new(), again), expected, 1e-7)
        if case.kind != "rows":
            names = [f"c{i}" for i in range(given.X.shape[1])]
            X, queries = (pd.DataFrame(A, columns=names) for A in (given.X, given.queries))
            again = Problem(X, pd.Series(given.y), queries)
            found += differences(answers(case.new(), again), expected, 1e-7)
        return found

    check(name, some(name, 1), report)


@every_name
def test_single_precision_input_is_taken_as_its_values(name):
    def report(case, given, model, expected):
        if case.kind in ("objects", "rows"):
            return []
        X, queries = (np.asarray(A, dtype=np.float32) for A in (given.X, given.queries))
        single = answers(case.new(), given._replace(X=X, queries=queries))
        as_double = given._replace(X=X.astype(float), queries=queries.astype(float))
        return differences(single, answers(case.new(), as_double), 1e-10)

    check(name, some(name, 1), report)


def _order_matters(case):
    """Why an estimator may depend on the order of its training rows."""
    params = case.estimator.get_params()
    if params.get("cv"):
        return "the folds of cv are drawn from the order"
    if case.name == "LandmarkMap":
        return "landmarks are drawn from the order"
    if "Neighbors" in case.name and case.kind == "objects":
        return "of equally near objects the first are taken"
    if "OneVsRest" in case.name and case.kind in ("objects", "indefinite", "rows"):
        return "the problem is not convex, the answer a stationary point"
    return None


@every_name
def test_the_order_of_the_training_rows_does_not_matter(name):
    order = np.random.default_rng(1).permutation(98)
    place = order.argsort()

    def report(case, given, model, expected):
        if _order_matters(case):
            return []
        estimator = case.new()
        if name in SEARCHES:  # the same folds of the same objects
            splits = list(FOLDS.split(given.X, given.y))
            estimator.set_params(cv=[(place[train], place[test]) for train, test in splits])
        # LIBSVM walks through the rows in their order and stops at a tolerance.
        tolerance = 1e-4 if "SVC" in case.name else 1e-7
        again = answers(estimator, given.reordered(order))
        if name in SIGNS_ARE_FREE:
            again, expected = (
                {key: np.abs(value) if key == "transform" else value for key, value in out.items()}
                for out in (again, expected)
            )
        if name == "ProximityKernel":  # its columns are the training objects
            again = {key: value[:, place] for key, value in again.items()}
        if "SVC" in case.name or "indefinite" in case.kind:
            again.pop("predict", None)
            expected = {key: value for key, value in expected.items() if key != "predict"}
        return differences(again, expected, tolerance)

    check(name, some(name), report)


# --- units ----------------------------------------------------------------------------------------


def _scaled(given, factors, shift=0.0):
    return given._replace(X=given.X * factors + shift, queries=given.queries * factors + shift)


UNIT_FREE = [
    GaussianClassifier(),
    GaussianClassifier("diag"),
    GaussianClassifier(pooled=True),
    GaussianClassifier(feature_weights="descent"),
    GaussianClassifier("diag", feature_weights="difference"),
    GaussianClassifier(shrinkage="auto"),
    MahalanobisSVC(tol=1e-8),
    MahalanobisSVC(covariance="full", tol=1e-8),
    KernelSearchCV(MahalanobisSVC(tol=1e-8), {"C": [1, 10], "delta": [0.5, 1.0]}, cv=FOLDS),
    KernelQuadraticDiscriminant(standardize=True),
    KernelSearchCV(KernelQuadraticDiscriminant(standardize=True), {"reg": [0.01, 0.1]}, cv=FOLDS),
    KernelQuadraticDiscriminant(kernel=MahalanobisKernel("full")),
    KernelFisherDiscriminant(kernel=MahalanobisKernel()),
    MahalanobisClassifierCV(("gaussian", "kernel_fisher"), cv=FOLDS),
]


@pytest.mark.parametrize("estimator", UNIT_FREE, ids=str)
def test_units_of_the_features_do_not_matter(estimator):
    given = problem("vectors")
    expected = answers(clone(estimator), given)
    for factors in ([1e-12, 1e12, 1.0, 1e-4], [1e-130, 1e20, 1.0, 1e-20]):
        again = answers(clone(estimator), _scaled(given, np.array(factors)))
        for found in (again, expected):  # a density depends on the unit, its ratio does not
            if np.ndim(found.get("decision_function")) == 2:
                found["decision_function"] -= found["decision_function"].mean(axis=1, keepdims=True)
        assert not differences(again, expected, 1e-3 if "SVC" in str(estimator) else 1e-6), factors


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_a_tiny_unit_does_not_spoil_another_column(covariance):
    # Issue 13, item 5: column scales (1e-130, 1e20) turned an accuracy of .99 into .51.
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 4.6 * y[:, None] * [0, 1]
    plain = GaussianClassifier(covariance).fit(X, y)
    assert plain.score(X, y) > 0.97
    scaled = X * [1e-130, 1e20]
    model = GaussianClassifier(covariance).fit(scaled, y)
    assert (model.predict(scaled) == plain.predict(X)).all()


SCALE_FREE = [
    KernelQuadraticDiscriminant(),
    KernelQuadraticDiscriminant("FK-"),
    DissimilaritySpaceDiscriminant("quadratic"),
    KernelFisherDiscriminant(),
    KernelPCAQuadraticDiscriminant(),
    KernelKNeighborsClassifier(),
    KernelRidgeClassifier(),
    KernelSearchCV(KernelQuadraticDiscriminant(), {"reg": [0.01, 0.1]}, cv=FOLDS),
    KernelSearchCV(DissimilaritySpaceDiscriminant(), {"reg": [0.01, 0.1]}, cv=FOLDS),
    KernelSearchCV(KernelFisherDiscriminant(), {"reg": [0.01, 0.1]}, cv=FOLDS),
    KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": [0.01, 0.1]}, cv=FOLDS),
    KernelSearchCV(KernelKNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=FOLDS),
    KernelSearchCV(KernelRidgeClassifier(), {"reg": [0.01, 0.1]}, cv=FOLDS),
]


@pytest.mark.parametrize("estimator", SCALE_FREE, ids=str)
def test_one_unit_for_all_features_and_their_origin_do_not_matter(estimator):
    # γ is relative to the data by default, in plain estimators and searches.
    given = problem("vectors")
    expected = answers(clone(estimator), given)
    for factor, shift in ((1e-6, 0.0), (100.0, 1e4)):
        again = answers(clone(estimator), _scaled(given, factor, shift))
        assert not differences(again, expected, 1e-5), (factor, shift)


@every_name
def test_the_order_of_the_columns_does_not_matter(name):
    columns = [2, 0, 3, 1]

    def report(case, given, model, expected):
        if case.kind != "vectors":
            return []
        X, queries = given.X[:, columns], given.queries[:, columns]
        tolerance = 1e-4 if "SVC" in case.name else 1e-7
        found = answers(case.new(), given._replace(X=X, queries=queries))
        if name in SIGNS_ARE_FREE:
            found, expected = (
                {k: np.abs(v) if k == "transform" else v for k, v in out.items()}
                for out in (found, expected)
            )
        return differences(found, expected, tolerance)

    check(name, some(name), report)


# --- a search against plain fits ------------------------------------------------------------------


PLAIN = (
    KernelQuadraticDiscriminant,
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelPCAQuadraticDiscriminant,
    KernelKNeighborsClassifier,
    KernelRidgeClassifier,
    OneVsRestSVC,
)


def tied_problem(kind, balanced=True, n=32):
    """Problems on which exact ties are the rule: X or K, y, parameters of the estimator."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2 if balanced else (np.arange(n) % 3 == 0).astype(int)
    y = rng.permutation(y)
    precomputed = {"kernel": "precomputed"}
    match kind:
        case "identity":
            return np.eye(n), y, precomputed
        case "narrow kernel":
            return rng.normal(size=(n, 10)), y, {"gamma": 15.0}
        case "constant kernel":
            return np.ones((n, n)), y, precomputed
        case "constant features":
            return np.full((n, 3), 2.5), y, {"gamma": 0.5}
        case "duplicates":
            return np.repeat(rng.normal(size=(n // 2, 4)), 2, axis=0), y, {"gamma": 0.1}
        case "unscaled columns":  # one of them nonzero in two rows only: constant in some folds
            X = rng.normal(size=(n, 4)) * [1.0, 100.0, 1e-3, 1.0] + 0.5 * y[:, None]
            X[:, 3] *= np.arange(n) < 2
            return X, y, {"gamma": 0.1, "standardize": True}
        case "few distinct rows":
            return rng.integers(2, size=(n, 2)).astype(float), y, {"gamma": 5.0}
        case "three classes":
            return (
                rng.integers(2, size=(n, 2)).astype(float),
                y + (np.arange(n) % 5 == 0),
                {"gamma": 0.5},
            )
        case "equal distances":
            return -(1.0 - np.eye(n)), y, precomputed
        case "rounded identity":  # an identity such as a product of rotated vectors gives
            Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
            K = Q @ Q.T
            return (K + K.T) / 2, y, precomputed
    raise AssertionError(kind)


TIED = [
    "identity",
    "narrow kernel",
    "constant kernel",
    "constant features",
    "duplicates",
    "few distinct rows",
    "unscaled columns",
    "three classes",
    "equal distances",
    "rounded identity",
]


def confusion(y_true, y_pred):
    """A number that tells the confusion matrices of a fold apart, whatever the order of rows."""
    weights = np.array([[1.0, 0.03, 0.0007], [0.011, 1.3, 0.0005], [0.017, 0.0011, 1.7]])
    return float(weights[np.asarray(y_true), np.asarray(y_pred)].sum())


def plain_scores(search, X, y, candidate):
    """A candidate's scores in every fold by fits of the plain estimator."""
    plain = clone(search.estimator).set_params(**candidate)
    if plain.standardize is True:  # a search resolves scales once, on all its rows
        scale = X.std(axis=0)
        plain.set_params(standardize=(X.mean(axis=0), np.where(scale > 0, scale, 1.0)))
    pairwise = plain.kernel == "precomputed"
    scores = []
    for train, test in search.cv.split(X, y):
        columns = train if pairwise else slice(None)
        model = clone(plain).fit(X[train][:, columns], y[train])
        scores.append(confusion(y[test], model.predict(X[test][:, columns])))
    return scores


def split_scores(results, candidate):
    """A candidate's scores in the folds."""
    count = sum(name.startswith("split") for name in results)
    return [float(results[f"split{f}_test_score"][candidate]) for f in range(count)]


TIED_SEARCHES = [
    KernelSearchCV(KernelQuadraticDiscriminant(variant="RC+"), {"reg": [0.01]}),
    KernelSearchCV(KernelQuadraticDiscriminant(variant="RC+", offset=None), {"reg": [0.01, 1.0]}),
    KernelSearchCV(
        KernelQuadraticDiscriminant(variant="RC+", offset="map", reg_on="covariance"),
        {"reg": [0.1]},
    ),
    KernelSearchCV(
        KernelQuadraticDiscriminant(variant="RC+", offset="loo", reg_on="covariance"),
        {"reg": [0.1]},
    ),
    KernelSearchCV(KernelQuadraticDiscriminant(), {"variant": ["RC-", "IC+", "IC-"], "reg": [0.1]}),
    KernelSearchCV(KernelQuadraticDiscriminant(), {"variant": ["FK+", "FK-"], "reg": [0.1]}),
    KernelSearchCV(
        KernelQuadraticDiscriminant(reg_on="relative"),
        {"variant": ["RC+", "IC+", "FK+"], "reg": [0.1]},
    ),
    KernelSearchCV(
        DissimilaritySpaceDiscriminant(variant="RC+", discriminant="fisher"), {"reg": [1.0]}
    ),
    KernelSearchCV(
        DissimilaritySpaceDiscriminant(discriminant="quadratic"),
        {"variant": ["IC+", "FK+"], "reg": [0.1]},
    ),
    KernelSearchCV(KernelFisherDiscriminant(), {"reg": [1e-3, 0.1]}),
    KernelSearchCV(KernelPCAQuadraticDiscriminant(), {"reg": [1e-3, 0.1]}),
    KernelSearchCV(KernelRidgeClassifier(), {"reg": [1e-3, 0.1]}),
    KernelSearchCV(OneVsRestSVC(tol=1e-8), {"C": [1.0]}),
    KernelSearchCV(KernelKNeighborsClassifier(), {"n_neighbors": [1, 3, 4]}),
    KernelSearchCV(KernelKNeighborsClassifier(weights="distance"), {"n_neighbors": [1, 4]}),
]


def compare_with_plain(search, kind, balanced, cv, n):
    """Sentences about candidates whose confusion matrices differ from those of plain fits."""
    X, y, params = tied_problem(kind, balanced, n)
    offset = getattr(search.estimator, "offset", None)
    if offset in ("loo", "map") and kind == "equal distances":
        params = {**params, "spectrum": "flip"}  # −d² has negative eigenvalues
    search = clone(search).set_params(cv=cv, scoring=make_scorer(confusion))
    search.estimator.set_params(**params)
    found = search.fit(X, y).cv_results_
    assert len(found["params"])
    return [
        f"{search!r}, {kind}, {'balanced' if balanced else 'unbalanced'}, {candidate}"
        for i, candidate in enumerate(found["params"])
        if not np.allclose(split_scores(found, i), plain_scores(search, X, y, candidate), atol=1e-9)
    ]


def _components_are_arbitrary(search, kind):
    """Kernel PCA keeps some of many equal eigenvalues: any rotation of them is as good."""
    equal = ("identity", "narrow kernel", "equal distances", "rounded identity")
    return isinstance(search.estimator, KernelPCAQuadraticDiscriminant) and kind in equal


@pytest.mark.parametrize("kind", TIED)
def test_a_search_scores_as_plain_fits_do_on_problems_with_ties(kind):
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    lines = []
    for i, tied in enumerate(TIED_SEARCHES):
        if not _components_are_arbitrary(tied, kind):
            lines += compare_with_plain(tied, kind, (i + len(kind)) % 2 == 0, cv, 30)
    assert_none(lines, len(TIED_SEARCHES))


@pytest.mark.parametrize("kind", ["identity", "constant kernel", "few distinct rows"])
def test_so_does_leave_one_out(kind):
    lines = []
    for tied in TIED_SEARCHES[:2] + TIED_SEARCHES[-5:]:
        if not _components_are_arbitrary(tied, kind):
            lines += compare_with_plain(tied, kind, True, LeaveOneOut(), 14)
    assert_none(lines, 7)


def test_so_do_searches_fold_by_fold():
    # On the mirror between two classes their log-densities are equal, but for rounding.
    y, train, test = np.repeat([0, 1, 0], [9, 9, 6]), np.arange(18), np.arange(18, 24)
    for seed in range(12):
        half = np.random.default_rng(seed).normal(size=(9, 2))
        X = np.vstack([half, half[:, ::-1], np.repeat(np.arange(6.0), 2).reshape(6, 2)])
        found = KernelSearchCV(GaussianClassifier(), {"shrinkage": [0.1]}, cv=[(train, test)])
        plain = GaussianClassifier(shrinkage=0.1).fit(X[train], y[train])
        assert (plain.predict(X[test]) == 0).all()
        assert found.fit(X, y).best_score_ == 1, seed


@pytest.mark.full
@pytest.mark.parametrize("search", TIED_SEARCHES, ids=str)
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", TIED)
def test_every_search_scores_as_plain_fits_do_on_every_problem_with_ties(kind, balanced, search):
    if _components_are_arbitrary(search, kind):
        pytest.skip("components of equal eigenvalues are arbitrary")
    for cv in (StratifiedKFold(4, shuffle=True, random_state=0), LeaveOneOut()):
        assert_none(compare_with_plain(search, kind, balanced, cv, 32), 1)


@pytest.mark.parametrize("name", sorted(set(SEARCHES) - {"MahalanobisClassifierCV"}))
def test_best_params_are_complete(name):
    def report(case, given, model, expected):
        plain = clone(model.estimator).set_params(**model.best_params_)
        answers = [
            {
                # A search hands its temperature to its best estimator.
                key: value
                for key, value in outputs(estimator, given.queries).items()
                if "proba" not in key
            }
            for estimator in (fitted(plain, given), model.best_estimator_)
        ]
        found = differences(*answers, 0)
        for key, value in model.best_params_.items():
            if isinstance(value, np.generic):
                found.append(f"{key} is a {type(value).__name__}")
        return found

    check(name, range(len(CASES[name])), report)


@pytest.mark.parametrize("kind", ["vectors", "indefinite"])
def test_a_search_with_default_grids_holds_numbers(kind):
    given = problem(kind, (20, 12, 6))
    params = {"kernel": "precomputed"} if kind == "indefinite" else {}
    for cls in PLAIN:
        found = KernelSearchCV(cls(**params), cv=FOLDS).fit(given.X, given.y)
        for candidate in found.cv_results_["params"]:
            names = {"gamma", found.estimator.path_parameter} & set(candidate)
            values = (candidate[name] for name in names)
            assert all(isinstance(value, (int, float)) for value in values)
        plain = clone(found.estimator).set_params(**found.best_params_).fit(given.X, given.y)
        expected = found.best_estimator_.decision_function(given.queries)
        assert (plain.decision_function(given.queries) == expected).all(), cls.__name__


# Parameters of the estimators beside those of CASES; lists of values are tried.
WIDTHS = {"gamma": [0.1, 0.5]}
LANDMARKS = {"landmarks": 15, **WIDTHS}
KERNELS = ["linear", "rbf", MahalanobisKernel("full")]
KERNEL_OPTIONS = [
    {"gamma": ["scale", "auto", 0.1]},
    {"kernel": "poly", "degree": [1, 2], "coef0": 0.5},
    {"kernel": "laplacian"},
    {"kernel": partial(rbf_kernel, gamma=0.3)},
    {"kernel": KERNELS},
    {"standardize": [True, False], **WIDTHS},
    {"standardize": (np.arange(4.0), np.array([1.0, 2.0, 0.5, 3.0])), **WIDTHS},
    {"spectrum": ["flip", "krein"], "kernel": "sigmoid", "gamma": [0.05]},
]
LANDMARK_OPTIONS = [
    {**LANDMARKS, "random_state": 3},
    {**WIDTHS, "landmarks": LandmarkMap(15, method="uniform", rtol=1e-6, random_state=0)},
    {**WIDTHS, "landmarks": LandmarkMap(15, method="rpcholesky", random_state=0)},
    {"landmarks": "auto", "random_state": 0, **WIDTHS},
    {"landmarks": np.eye(9, 4), **WIDTHS},
    {"landmarks": 15, "random_state": 0, "kernel": KERNELS},
]
DISTANCE_OPTIONS = [{"variant": ["IC+", "FK-"], **WIDTHS}, {"reg_on": "relative", **WIDTHS}]
PRIORS = {"priors": [0.2, 0.3, 0.5]}
OPTIONS = {
    KernelQuadraticDiscriminant: [
        *(*DISTANCE_OPTIONS, *LANDMARK_OPTIONS),
        {"reg": [0.1], "class_weight": {"a": 1, "b": 2, "c": 3}, **WIDTHS},
        {"offset": "map", **PRIORS, **WIDTHS},
        {"offset": "map", **PRIORS, "random_state": 0, **LANDMARKS},
        {"offset": ["loo", "error"], **WIDTHS},
    ],
    DissimilaritySpaceDiscriminant: [
        *(*DISTANCE_OPTIONS, *LANDMARK_OPTIONS),
        {"reg": [0.1], "discriminant": "quadratic", "priors": "equal", **WIDTHS},
        {"discriminant": LinearDiscriminantAnalysis(), **WIDTHS},
    ],
    KernelFisherDiscriminant: [{"reg": [0.1], **WIDTHS}, *LANDMARK_OPTIONS],
    KernelPCAQuadraticDiscriminant: [
        *({"reg": [0.1], "n_components": 2, **PRIORS, **WIDTHS}, *LANDMARK_OPTIONS),
    ],
    KernelKNeighborsClassifier: [{"n_neighbors": [2, 4], "weights": "distance", **WIDTHS}],
    KernelRidgeClassifier: [{"reg": [0.1], **WIDTHS}],
    OneVsRestSVC: [{"C": [1, 10], "tol": 1e-5, "max_iter": 5000, **WIDTHS}],
}


@pytest.mark.parametrize("cls", OPTIONS)
def test_best_params_are_complete_whatever_the_options(cls):
    given = problem("vectors", (30, 20, 12))
    for params in KERNEL_OPTIONS + OPTIONS[cls]:
        found = search(cls, cv=FOLDS, **params).fit(given.X, given.y)
        plain = clone(found.estimator).set_params(**found.best_params_).fit(given.X, given.y)
        expected = found.best_estimator_.decision_function(given.queries)
        assert (plain.decision_function(given.queries) == expected).all(), params
        for key, value in found.best_params_.items():
            assert not isinstance(value, np.generic), (params, key, type(value))


def test_ties_go_to_the_first_class():
    X = np.full((12, 2), 3.0)
    y = np.array(["b", "a", "c"] * 4)
    K = rbf_kernel(X)
    for model in (
        KernelQuadraticDiscriminant(offset=None),
        KernelQuadraticDiscriminant("IC+", offset=None),
        KernelQuadraticDiscriminant("FK+", offset=None),
        DissimilaritySpaceDiscriminant(),
        KernelFisherDiscriminant(),
        KernelPCAQuadraticDiscriminant(),
        GaussianClassifier(),
    ):
        assert set(model.fit(X, y).predict(X)) == {"a"}, model
        if "kernel" in model.get_params():
            model = clone(model).set_params(kernel="precomputed")
            assert set(model.fit(K, y).predict(K)) == {"a"}, model
