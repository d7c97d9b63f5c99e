"""The displays hold the right arrays and draw them."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import (
    DissimilaritySpaceDiscriminant,
    KernelFisherDiscriminant,
    KernelQuadraticDiscriminant,
    KernelSearchCV,
)
from mahalearn.display import DissimilaritySpaceDisplay, SpectrumDisplay
from mahalearn.proximity import diagnose

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


def test_spectrum_of_an_estimator_and_of_a_diagnosis():
    model = make_pipeline(StandardScaler(), KernelFisherDiscriminant(kernel="sigmoid")).fit(X, y)
    display = SpectrumDisplay.from_estimator(model)
    assert display.signature == model[-1].kernel_signature()
    assert display.negative_fraction == pytest.approx(model[-1].negative_fraction())
    drawn = np.concatenate([line.get_ydata() for line in display.ax_.lines[:2]])
    values = model[-1].kernel_spectrum()
    np.testing.assert_allclose(drawn, np.sort(values[values != 0])[::-1])
    assert "KernelFisherDiscriminant" in display.ax_.get_title()
    D = np.sqrt(((X[::5, None] - X[::5]) ** 2).sum(-1)) ** 1.5
    ax = matplotlib.pyplot.figure().add_subplot()
    assert diagnose(D).plot(ax=ax).ax_ is ax
    SpectrumDisplay(eigenvalues=np.zeros(3)).plot()
    with pytest.raises(TypeError, match="has no kernel_spectrum"):
        SpectrumDisplay.from_estimator(StandardScaler())


@pytest.mark.parametrize(
    "model",
    [KernelQuadraticDiscriminant(reg=0.1), DissimilaritySpaceDiscriminant("quadratic", reg=0.1)],
)
def test_regions_are_the_decisions(model):
    two = y > 0
    model.fit(X[two], NAMES[two])
    display = DissimilaritySpaceDisplay.from_estimator(model, X[two], NAMES[two])
    np.testing.assert_array_equal(display.decide(display.d2), model.predict(X[two]))
    swapped = DissimilaritySpaceDisplay.from_estimator(
        model, X[two], NAMES[two], classes=["virginica", "versicolor"]
    )
    np.testing.assert_array_equal(swapped.d2, display.d2[:, ::-1])
    np.testing.assert_array_equal(swapped.decide(swapped.d2), model.predict(X[two]))
    assert display.ax_.get_xlabel() == "d² to versicolor"


def test_a_pair_of_more_classes():
    model = make_pipeline(StandardScaler(), DissimilaritySpaceDiscriminant()).fit(X, NAMES)
    display = DissimilaritySpaceDisplay.from_estimator(
        model, X, NAMES, classes=["setosa", "virginica"]
    )
    assert display.d2.shape == (100, 2)
    expected = model[-1].mahalanobis(model[:-1].transform(X[y != 1]))[:, [0, 2]]
    np.testing.assert_allclose(display.d2, expected)
    assert display.decide is None  # the head needs the distance to the third class
    with pytest.raises(ValueError, match="classes must be two of"):
        DissimilaritySpaceDisplay.from_estimator(model, X, NAMES, classes=["setosa", "rose"])
    with pytest.raises(TypeError, match="has no mahalanobis"):
        DissimilaritySpaceDisplay.from_estimator(KernelFisherDiscriminant().fit(X, y), X, y)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"mahalearn\[plot\]"):
        SpectrumDisplay(eigenvalues=[1.0]).plot()


def test_space_from_distances_is_the_same_as_from_the_estimator():
    model = KernelQuadraticDiscriminant(reg=0.1, gamma=0.5).fit(X, NAMES)
    drawn = DissimilaritySpaceDisplay.from_estimator(model, X, NAMES)
    pair = list(model.classes_[:2])
    again = DissimilaritySpaceDisplay.from_predictions(
        model.mahalanobis(X)[:, :2], NAMES, classes=pair
    )
    assert again.d2.tolist() == drawn.d2.tolist() and again.y.tolist() == drawn.y.tolist()
    assert set(again.y) == set(pair) and again.decide is None
    with pytest.raises(ValueError, match=r"d2 must have a row for each of the 150 labels"):
        DissimilaritySpaceDisplay.from_predictions(np.ones((3, 2)), NAMES, classes=pair)


def test_a_search_shows_its_best_estimator():
    search = KernelSearchCV(KernelQuadraticDiscriminant(gamma=0.5), {"reg": [0.1, 1.0]}).fit(X, y)
    own = DissimilaritySpaceDisplay.from_estimator(search, X, y)
    best = DissimilaritySpaceDisplay.from_estimator(search.best_estimator_, X, y)
    np.testing.assert_allclose(own.d2, best.d2)
