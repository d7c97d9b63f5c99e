"""torch tensors and arrays of the array API: taken as numbers, or refused in a sentence."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

from mahalearn import (
    GaussianClassifier,
    KernelQuadraticDiscriminant,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisNovelty,
)

X, y = load_wine(return_X_y=True)
ESTIMATORS = [
    LandmarkMap(20, random_state=0),
    GaussianClassifier(),
    KernelQuadraticDiscriminant(),
    KernelQuadraticDiscriminant(landmarks=20, random_state=0),
    MahalanobisNovelty(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_tensors_are_taken_as_numbers_without_dispatch(estimator):
    torch = pytest.importorskip("torch")
    ours = clone(estimator).fit(X, y)
    theirs = clone(estimator).fit(torch.asarray(X), torch.asarray(y))
    method = "transform" if hasattr(estimator, "transform") else "decision_function"
    values = getattr(theirs, method)(torch.asarray(X))
    assert isinstance(values, np.ndarray)
    assert_allclose(values, getattr(ours, method)(X), rtol=1e-12, atol=1e-12)
    if hasattr(estimator, "predict"):
        assert_array_equal(theirs.predict(torch.asarray(X)), ours.predict(X))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize(
    "estimator", [*ESTIMATORS, MahalanobisClassifierCV()], ids=lambda e: type(e).__name__
)
def test_with_dispatch_they_are_refused_in_a_sentence(estimator, library, monkeypatch):
    xp = pytest.importorskip(library)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    sentence = "does not take part in scikit-learn's array API dispatch"
    try:
        context = sklearn.config_context(array_api_dispatch=True)
        context.__enter__()
    except RuntimeError as error:  # scipy was imported without the variable
        pytest.skip(str(error))
    try:
        with pytest.raises(TypeError, match=sentence):
            clone(estimator).fit(xp.asarray(X), xp.asarray(y))
        if not isinstance(estimator, MahalanobisClassifierCV):
            with pytest.raises(TypeError, match=sentence):
                fitted = clone(estimator).fit(X, y)
                getattr(fitted, "predict", getattr(fitted, "transform", None))(xp.asarray(X))
    finally:
        context.__exit__(None, None, None)
