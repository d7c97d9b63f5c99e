"""What holds for every public estimator alike: option names, methods, cost of being shown."""

import inspect
import re
import warnings

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_array_equal
from numpydoc.docscrape import NumpyDocString
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector
from sklearn.model_selection import LeaveOneGroupOut

import mahalearn
from mahalearn import kernels, measures


def excess(a, b):
    """An asymmetric measure of two arrays of numbers."""
    return 1 + float(np.maximum(np.subtract(a, b), 0).sum())


# Settings that make the searches small.
SMALL = {
    "ConformalClassifier": {
        "estimator": mahalearn.KernelQuadraticDiscriminant(),
        "random_state": 0,
    },
    "KernelSearchCV": {
        "estimator": mahalearn.KernelFisherDiscriminant(gamma=0.5),
        "param_grid": {"reg": [0.1]},
        "cv": 2,
    },
    "MahalanobisClassifierCV": {"families": ("kernel_fisher",), "cv": 2, "random_state": 0},
    "MeasureKernel": {"measure": excess, "kind": "neg_squared"},
    "PrecomputedKernel": {"K": np.eye(12)},
    "PseudoEuclideanEmbedding": {"kernel": "rbf"},
    "FunctionMeasure": {"function": excess},
}
# What an option needs of the others, for the option to matter.
NEEDS = {
    "landmarks": {"random_state": 0},
    "weight_power": {"feature_weights": "difference"},
}
# Names that scikit-learn and parasail read, in their way.
FOREIGN = {"class_weight", "matrix"}


def public_estimators():
    found = {}
    for package in (mahalearn, kernels, measures):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
                found[name] = thing
    del found["Measure"]  # abstract
    return found


ESTIMATORS = public_estimators()


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)) + np.repeat([[1.0], [2.5]], 12, axis=0)
    return X, np.repeat(["a", "b"], 12)


def sequences():
    """Objects that every measure of objects takes: short sequences of positive numbers."""
    X, _ = data()
    return [np.round(np.abs(row[:, None]) * 3) + 1 for row in X]


# What measures take that do not take such sequences.
OBJECTS = {
    "Alignment": lambda: ["HEAGAWGHEE", "PAWHEAE", "ACDEF"],
    "Compression": lambda: ["ape" * 20, "oak tree" * 20, "x"],
    "Correlation": lambda: data()[0],
    "Elastic": lambda: data()[0],
    "Gower": lambda: data()[0],
    "Jaccard": lambda: [{"red", "round"}, {"red"}, {"square", "round"}],
    "JensenShannon": lambda: np.abs(data()[0]),
    "SPDDistance": lambda: [np.diag(np.abs(row) + 1) for row in data()[0]],
}


def result(estimator):
    """Everything that the estimator gives for some data, as one array."""
    X, y = data()
    if isinstance(estimator, measures.EditDistance):
        numbers = isinstance(estimator.substitution, str)
        vectors = numbers and estimator.substitution.lower() == "euclidean"
        objects = [s if vectors else s[:, 0] for s in sequences()]
        return estimator.between(objects if numbers else ["ape", "apple", "oak"])
    if isinstance(estimator, measures.Measure):
        objects = OBJECTS.get(type(estimator).__name__, sequences)()
        return estimator.fit(objects).between(objects)
    if isinstance(estimator, kernels.MeasureKernel):
        objects = sequences()
        return estimator.fit(objects)(objects, objects)
    if isinstance(estimator, kernels.MahalanobisKernel):
        return estimator.fit(X)(X, X)
    if isinstance(estimator, kernels.ProximityKernel):
        return estimator.fit_transform(np.abs(X[:, :1] - X[:, :1].T))
    if isinstance(estimator, mahalearn.ConformalClassifier):
        return estimator.fit(X, y).p_values(X)
    if is_outlier_detector(estimator):
        return estimator.fit(X).decision_function(X)
    if is_classifier(estimator):
        return estimator.fit(X, y).decision_function(X)
    return estimator.fit(X, y).transform(X)


def refusal(estimator):
    """The sentence of the error, None where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result(estimator)
        except ValueError as error:
            return str(error)
    return None


def options():
    """(estimator, parameter, option name): the names in the types of the docstrings."""
    for name, cls in ESTIMATORS.items():
        defaults = inspect.signature(cls).parameters
        for parameter in NumpyDocString(inspect.cleandoc(cls.__doc__))["Parameters"]:
            kind = re.sub(r",? *default=.*", "", parameter.type)
            names = set(re.findall(r'"([^"]+)"', kind))
            if "," in parameter.name:  # several numbers
                continue
            if isinstance(defaults[parameter.name].default, str):
                names.add(defaults[parameter.name].default)
            for option in sorted(names):
                if option.swapcase() != option and parameter.name not in FOREIGN:
                    yield name, parameter.name, option


OPTIONS = list(options())


def test_all_parameters_that_default_to_a_name_are_covered():
    covered = {(name, parameter) for name, parameter, _ in OPTIONS}
    for name, cls in ESTIMATORS.items():
        for parameter, value in cls(**SMALL.get(name, {})).get_params(deep=False).items():
            given = {*SMALL.get(name, {}), *FOREIGN}
            if isinstance(value, str) and parameter not in given:
                assert (name, parameter) in covered
    assert len(OPTIONS) > 150


@pytest.mark.parametrize(("name", "parameter", "option"), OPTIONS)
def test_option_names_are_exact(name, parameter, option):
    settings = {**SMALL.get(name, {}), **NEEDS.get(parameter, {})}
    if name == "MahalanobisClassifierCV" and parameter == "kernel" and option == "precomputed":
        pytest.skip("the data are a table")
    if name == "MahalanobisKernel" and parameter == "shrinkage":
        settings["covariance"] = "full"
    if name == "MahalanobisSVC" and parameter == "shrinkage":
        settings["covariance"] = "full"
    if parameter in ("kernel", "gamma"):
        settings.pop("gammas", None)
    exact = refusal(ESTIMATORS[name](**{**settings, parameter: option}))
    for other in (option.swapcase(), option + "?"):
        sentence = refusal(ESTIMATORS[name](**{**settings, parameter: other}))
        assert sentence is not None and sentence != exact


# --- what searches advertise ----------------------------------------------------------------------

SEARCHES = [name for name in ESTIMATORS if name.endswith("CV")]
METHODS = (
    "decision_function",
    "feature_distances",
    "kneighbors",
    "mahalanobis",
    "score_samples",
    "transform",
)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_has_what_its_best_estimator_has_and_probabilities(name):
    X, y = data()
    search = ESTIMATORS[name](**SMALL[name]).fit(X, y)
    best = search.best_estimator_
    last = best[-1] if hasattr(best, "steps") else best
    own = {m for m in METHODS if hasattr(search, m)}
    # A search passes on what GridSearchCV does, the chooser what all its families may have.
    passed = {"decision_function", "score_samples", "transform"}
    if name == "MahalanobisClassifierCV":
        passed = {"decision_function", "mahalanobis"}
    assert own == {m for m in passed if hasattr(last, m)}
    for method in own - {"kneighbors"}:
        assert len(getattr(search, method)(X)) == len(X)
    proba = search.predict_proba(X)
    assert proba.shape == (len(X), 2)
    np.testing.assert_allclose(np.exp(search.predict_log_proba(X)), proba)
    assert_array_equal(search.classes_[proba.argmax(axis=1)], search.predict(X))


@pytest.mark.parametrize("name", SEARCHES)
def test_the_searches_have_one_convention(name):
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    assert parameters["cv"].default == 5
    assert parameters["scoring"].default is None
    assert parameters["n_jobs"].default is None and parameters["verbose"].default == 0
    arguments = list(inspect.signature(ESTIMATORS[name].fit).parameters)
    if name == "MahalanobisClassifierCV":
        assert arguments == ["self", "X", "y", "sample_weight", "groups"]
        return
    assert arguments == ["self", "X", "y", "groups", "fit_params"]
    X, y = data()
    with pytest.raises(TypeError, match=r"fit got unexpected arguments: weights"):
        ESTIMATORS[name](**SMALL[name]).fit(X, y, weights=np.ones(len(y)))


# --- showing an estimator -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_showing_a_fitted_estimator_computes_nothing(name, monkeypatch):
    estimator = ESTIMATORS[name](**SMALL.get(name, {}))
    result(estimator)

    def refuse(*args, **kwargs):
        raise AssertionError("an eigendecomposition")

    for home in (scipy.linalg, np.linalg):
        for function in ("eigh", "eigvalsh", "svd", "cholesky"):
            if hasattr(home, function):
                monkeypatch.setattr(home, function, refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # deprecated attributes are not read either
        assert repr(estimator)
        assert name in estimator._repr_html_()
        assert name in str(estimator._repr_mimebundle_())


@pytest.mark.parametrize("name", SEARCHES)
def test_groups_reach_the_splitter(name):
    X, y = data()
    groups = np.tile([0, 1, 2], 8)
    search = ESTIMATORS[name](**{**SMALL[name], "cv": LeaveOneGroupOut()})
    assert search.fit(X, y, groups=groups).n_splits_ == 3
    with pytest.raises(ValueError, match="groups"):
        search.fit(X, y)


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize("searched", [False, True])
def test_missing_labels_are_counted(searched, missing):
    y = np.array(["a", "b"] * 10, dtype=object)
    y[3] = y[8] = missing
    model = mahalearn.KernelRidgeClassifier(kernel="edit")
    model = mahalearn.KernelSearchCV(model) if searched else model
    masked = np.ma.masked_array(np.arange(20) % 2, np.isin(np.arange(20), [3, 8]))
    for labels in (y, masked):
        with pytest.raises(ValueError, match="2 of 20 class labels are missing"):
            model.fit([f"w{i}" for i in range(20)], labels)


def test_more_folds_than_objects_of_any_class_are_refused_with_a_number():
    words, y = ["abc", "abcc", "xyz", "xyy"], [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"the largest has 2. Use cv=2 or fewer"):
        mahalearn.KernelSearchCV(mahalearn.KernelRidgeClassifier(kernel="edit")).fit(words, y)
    model = mahalearn.KernelSearchCV(mahalearn.KernelRidgeClassifier(kernel="edit"), cv=2).fit(
        words, y
    )
    assert model.predict(["abe", "xxy"]).tolist() == [0, 1]


def test_a_wrong_order_of_arguments_does_not_print_the_data():
    with pytest.raises(ValueError, match="function of two objects; got") as found:
        measures.pairwise([[0.0, 1.0]] * 500, [[0.5, 0.5]] * 500, "hausdorff")
    assert len(str(found.value)) < 500
