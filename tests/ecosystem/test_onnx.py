"""ONNX graphs in onnxruntime: the labels, scores, probabilities, distances and p-values of ours."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mahalearn
from mahalearn import (
    DissimilaritySpaceDiscriminant,
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelKNeighborsClassifier,
    KernelMahalanobisNovelty,
    KernelMahalanobisTransformer,
    KernelPCAQuadraticDiscriminant,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MahalanobisNovelty,
    MahalanobisSVC,
    OneVsRestSVC,
    ProximityKernel,
    RecursiveFeatureMachine,
    to_onnx,
)
from mahalearn.app.comparing.model import MeasureRows
from mahalearn.classifiers.boosted_trees import BoostedTrees

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, y = load_wine(return_X_y=True)
X = X.astype(np.float32).astype(float)  # the same numbers in either precision
Z = X[1::2]
SCORE_RTOL = {"float64": 1e-10, "float32": 1e-5}
AT_LANDMARKS = {"landmarks": 30, "random_state": 0}
VARIANTS = ("RC+", "RC-", "IC+", "IC-", "FK+", "FK-")
KERNELS = ("linear", "poly", "cosine", "laplacian", "sigmoid", "chi2", "additive_chi2")
QDA, RIDGE = KernelQuadraticDiscriminant, KernelRidgeClassifier
CLASSIFIERS = [
    *(QDA(variant) for variant in VARIANTS),
    *(QDA(variant, **AT_LANDMARKS) for variant in VARIANTS),
    *(QDA(kernel=kernel) for kernel in KERNELS),
    *(QDA(kernel=kernel, **AT_LANDMARKS) for kernel in ("poly", "sigmoid", "laplacian")),
    *(QDA(kernel="sigmoid", spectrum=policy) for policy in ("ignore", "clip", "flip", "shift")),
    QDA(kernel="sigmoid", spectrum="flip", **AT_LANDMARKS),
    QDA(kernel=MahalanobisKernel("full")),
    QDA(kernel="rbf", standardize=False, gamma=1e-5),
    QDA(offset="map"),
    *(RIDGE(kernel=kernel) for kernel in ("rbf", *KERNELS)),
    KernelFisherDiscriminant(),
    KernelFisherDiscriminant(**AT_LANDMARKS),
    KernelPCAQuadraticDiscriminant(),
    KernelPCAQuadraticDiscriminant(**AT_LANDMARKS),
    KernelKNeighborsClassifier(),
    OneVsRestSVC(),
    OneVsRestSVC(kernel="sigmoid"),
    MahalanobisSVC(),
    MahalanobisSVC(covariance="full", covariance_from="all"),
    DissimilaritySpaceDiscriminant(),
    DissimilaritySpaceDiscriminant("quadratic", **AT_LANDMARKS),
    DissimilaritySpaceDiscriminant("least_squares"),
    RecursiveFeatureMachine(),
    RecursiveFeatureMachine(metric="full"),
    BoostedTrees(),
    GaussianClassifier(),
    GaussianClassifier(covariance="diag"),
    GaussianClassifier(covariance="spherical"),
    GaussianClassifier(pooled=True),
    GaussianClassifier(shrinkage="auto"),
    KernelSearchCV(QDA(), cv=3),
    make_pipeline(StandardScaler(), PCA(5), QDA(offset="map", kernel="laplacian")),
    make_pipeline(StandardScaler(), GaussianClassifier()),
]


def outputs_of(model, rows, dtype="float64"):
    """{name: array} of a graph in onnxruntime."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows.astype(dtype)}), strict=True))


def assert_same(estimator, dtype, rows=Z):
    if not hasattr(estimator, "transform") and "Pipeline" in str(estimator):
        pytest.importorskip("skl2onnx")
    out, rtol = outputs_of(to_onnx(estimator, dtype=dtype), rows, dtype), SCORE_RTOL[dtype]
    assert_array_equal(out["label"], estimator.predict(rows))
    scores = estimator.decision_function(rows)
    assert out["scores"].dtype == dtype
    assert_allclose(out["scores"], scores, rtol=rtol, atol=rtol * np.abs(scores).max())
    assert ("probabilities" in out) == hasattr(estimator, "predict_proba")
    if "probabilities" in out:
        assert_allclose(out["probabilities"], estimator.predict_proba(rows), atol=rtol)


@pytest.mark.parametrize("dtype", SCORE_RTOL)
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: re.sub(r"\s+", "", str(e)))
def test_classifiers(estimator, dtype):
    assert_same(clone(estimator).fit(X[::2], y[::2]), dtype)


@pytest.mark.parametrize(
    "estimator",
    [QDA(offset="map"), OneVsRestSVC(), MahalanobisSVC(), GaussianClassifier()],
    ids=lambda e: type(e).__name__,
)
def test_two_classes_by_name(estimator):
    names = np.where(y == 0, "grape", "other")
    assert_same(clone(estimator).fit(X[::2], names[::2]), "float64")


@pytest.mark.parametrize("combine", ["stack", "best"])
def test_ensemble(combine):
    families = ["gaussian", "kqd", "kernel_fisher", "svm"]
    ensemble = MahalanobisClassifierCV(families=families, combine=combine, cv=3, random_state=0)
    assert_same(ensemble.fit(X[::2], y[::2]), "float64")


def test_precomputed_rows_and_classes_not_seen_yet():
    scaled = StandardScaler().fit_transform(X)
    K = scaled @ scaled.T
    assert_same(QDA(kernel="precomputed").fit(K, y), "float64", K)
    for model in (QDA(**AT_LANDMARKS), GaussianClassifier()):
        model.partial_fit(X[:130], y[:130], classes=[0, 1, 2])
        out = outputs_of(to_onnx(model), Z)
        assert_array_equal(out["label"], model.predict(Z))
        assert (out["scores"][:, 2] == -np.inf).all()


@pytest.mark.parametrize("dtype", SCORE_RTOL)
@pytest.mark.parametrize(
    "options",
    [{}, {"covariance": "shared"}, {"relative": True}, {"normalize": True}],
    ids=str,
)
def test_detector(options, dtype):
    detector, rtol = MahalanobisNovelty(level=0.2, **options), SCORE_RTOL[dtype]
    detector.fit(X[::2], y[::2])
    rows = np.vstack([Z, Z[:20, ::-1]])  # some are novel
    out = outputs_of(to_onnx(detector, dtype=dtype), rows, dtype)
    d2 = detector.mahalanobis(rows)
    assert_allclose(out["distances"], d2, rtol=rtol, atol=rtol * np.abs(d2).max())
    assert_allclose(out["p_values"], detector.p_values(rows), atol=1e-7)
    assert_allclose(out["p_none"], detector.p_none(rows), atol=1e-7)
    assert_array_equal(out["label"], detector.predict(rows))
    assert 0 < (out["label"] == -1).sum() < len(rows)


@pytest.mark.parametrize(
    "transformer",
    [
        LandmarkMap(20, random_state=0),
        LandmarkMap(20, kernel="sigmoid", random_state=0),
        KernelMahalanobisTransformer(),
    ],
    ids=lambda e: re.sub(r"\s+", "", str(e)),
)
def test_transformers(transformer):
    features = transformer.fit(X[::2], y[::2]).transform(Z)
    out = outputs_of(to_onnx(transformer), Z)["features"]
    assert_allclose(out, features, rtol=1e-10, atol=1e-10 * np.abs(features).max())


def test_a_map_before_a_classifier_of_scikit_learn():
    pytest.importorskip("skl2onnx")
    steps = StandardScaler(), LandmarkMap(20, random_state=0), LogisticRegression()
    model = make_pipeline(*steps).fit(X[::2], y[::2])
    out = outputs_of(to_onnx(model), Z)
    assert_array_equal(out["label"], model.predict(Z))
    assert_allclose(out["probabilities"], model.predict_proba(Z), atol=1e-10)


def test_an_estimator_converts_inside_skl2onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    from mahalearn.onnx.converters import register_converters

    register_converters()
    model = make_pipeline(StandardScaler(), GaussianClassifier()).fit(X[::2], y[::2])
    out = outputs_of(skl2onnx.to_onnx(model, X[:1]), Z)
    assert_array_equal(out["label"], model.predict(Z))


@pytest.mark.parametrize(
    ("estimator", "data", "sentence"),
    [
        (QDA(kernel="edit"), ["ab", "abc", "xy", "xyz"], "takes objects, not rows of numbers"),
        (QDA(kernel=lambda A, B: A @ B.T), X[::45], "UserKernel has no ONNX graph"),
        (GaussianClassifier(missing="ignore"), X[::45], "has no ONNX graph: each pattern"),
        (GaussianClassifier(feature_weights="descent"), X[::45], "feature_weights"),
        (KernelKNeighborsClassifier(1, weights="distance"), X[::45], "weights='uniform' only"),
        (KernelMahalanobisNovelty(), X[::45], "KernelMahalanobisNovelty has no ONNX graph"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_has_no_graph_is_refused_in_a_sentence(estimator, data, sentence):
    estimator.fit(data, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=re.escape(sentence)) as info:
        to_onnx(estimator)
    assert "\n" not in str(info.value)


def test_pipelines_without_a_graph_are_refused_in_a_sentence():
    """What `compare` saves for a matrix, and for objects."""
    pytest.importorskip("skl2onnx")
    D = np.abs(X[::45, :1] - X[::45, 0])
    matrix = make_pipeline(ProximityKernel(), QDA(kernel="precomputed")).fit(D, [0, 0, 1, 1])
    rows = make_pipeline(MeasureRows("edit"), LogisticRegression())
    rows.fit(["ab", "abc", "xy", "xyz"], [0, 0, 1, 1])
    for model, sentence in ((matrix, "ProximityKernel"), (rows, "MeasureRows takes objects")):
        with pytest.raises(ValueError, match=sentence) as info:
            to_onnx(model)
        assert "\n" not in str(info.value)


def test_every_classifier_has_a_graph_or_a_refusal():
    """A new public classifier is converted, or named here."""
    from mahalearn.onnx.converters import CONVERTED

    public = {getattr(mahalearn, name) for name in mahalearn.__all__ if name[0].isupper()}
    classifiers = {kind.__name__ for kind in public if issubclass(kind, ClassifierMixin)}
    assert classifiers - {kind.__name__ for kind in CONVERTED} == {"ConformalClassifier"}


def test_command_line(tmp_path):
    """A table with gaps: what `train` saved predicts the same in onnxruntime."""
    pytest.importorskip("skl2onnx")
    pytest.importorskip("typer")
    import pandas as pd
    from typer.testing import CliRunner

    from mahalearn.app.cli.app import app

    table, rng = pd.DataFrame(X[:, :5].copy()), np.random.default_rng(0)
    table = table.mask(rng.random(table.shape) < 0.1).add_prefix("c")
    table.assign(kind=y).to_csv(tmp_path / "table.csv", index=False)
    saved, graph = tmp_path / "model.skops", tmp_path / "model.onnx"

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.output

    call("train", tmp_path / "table.csv", "--target", "kind", "--method", "kqd", "--out", saved)
    assert "5 columns in; label, scores" in call("export", saved, graph)
    model = mahalearn.load_model(saved).classifier
    onnx = pytest.importorskip("onnx")
    out = outputs_of(onnx.load(graph), table.to_numpy())
    assert_array_equal(out["label"], model.predict(table))
    assert_allclose(out["scores"], model.decision_function(table), rtol=1e-10, atol=1e-10)
    result = CliRunner().invoke(app, ["export", str(saved), str(graph)])
    assert result.exit_code == 2 and "--force" in result.output

    # A column of text has no graph: one sentence and no traceback.
    table.assign(site=np.where(y > y.min(), "north", "south"), kind=y).to_csv(
        tmp_path / "table.csv", index=False
    )
    words = ["--target", "kind", "--method", "gaussian", "--out", saved, "--force"]
    call("train", tmp_path / "table.csv", *words)
    result = CliRunner().invoke(app, ["export", str(saved), str(graph), "--force"])
    assert result.exit_code == 2 and "'site' holds categories" in result.output
