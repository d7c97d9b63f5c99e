"""torch tensors and arrays of the array API: taken as numbers, or refused in a sentence.

Under scikit-learn's array API dispatch results come back in the library and on the device of X.
"""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine

from mahalearn import (
    GaussianClassifier,
    KernelFisherDiscriminant,
    KernelQuadraticDiscriminant,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisNovelty,
    MahalanobisSVC,
)

X, y = load_wine(return_X_y=True)
ESTIMATORS = [
    LandmarkMap(20, random_state=0),
    GaussianClassifier(),
    KernelQuadraticDiscriminant(),
    KernelQuadraticDiscriminant(landmarks=20, random_state=0),
    MahalanobisNovelty(),
]
CONVERTING = [
    LandmarkMap(20, random_state=0),
    GaussianClassifier(),
    KernelQuadraticDiscriminant(landmarks=20, random_state=0),
    KernelFisherDiscriminant(landmarks=20, random_state=0),
    MahalanobisNovelty(),
    MahalanobisNovelty("shared", calibration="split"),
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


METHODS = [
    *("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples"),
    *("transform", "mahalanobis", "p_values", "p_none"),
]


@pytest.fixture(params=["torch", "array_api_strict"])
def library(request):
    xp = pytest.importorskip(request.param)
    try:
        with sklearn.config_context(array_api_dispatch=True):
            yield xp
    except RuntimeError as error:  # scipy was imported without SCIPY_ARRAY_API=1
        pytest.skip(str(error))


@pytest.mark.parametrize("estimator", CONVERTING, ids=lambda e: type(e).__name__)
def test_with_dispatch_results_are_of_the_library_of_the_rows(estimator, library):
    ours, theirs = clone(estimator).fit(X, y), clone(estimator)
    rows, labels = library.asarray(X), library.asarray(y)
    theirs.fit(rows, labels)
    present = [name for name in METHODS if hasattr(ours, name)]
    assert len(present) >= (1 if hasattr(ours, "transform") else 2)
    for name in present:
        values, expected = getattr(theirs, name)(rows), getattr(ours, name)(X)
        assert type(values) is type(rows) and values.device == rows.device, name
        assert_allclose(np.asarray(values), expected, rtol=1e-12, atol=1e-12)
        # A model of NumPy arrays takes tensors, and one of tensors NumPy arrays.
        assert type(getattr(ours, name)(rows)) is type(rows)
        assert_allclose(getattr(theirs, name)(X), expected, rtol=1e-12, atol=1e-12)


def test_labels_that_are_texts_stay_arrays_of_numpy(library):
    words = np.array(["a", "b", "c"])[y]
    model = GaussianClassifier().fit(library.asarray(X), words)
    assert_array_equal(model.predict(library.asarray(X)), model.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [KernelQuadraticDiscriminant(), MahalanobisClassifierCV(), MahalanobisSVC()],
    ids=lambda e: type(e).__name__,
)
def test_others_refuse_them_in_a_sentence(estimator, library):
    with pytest.raises(TypeError, match="does not take part in scikit-learn's array API dispatch"):
        clone(estimator).fit(library.asarray(X), library.asarray(y))
