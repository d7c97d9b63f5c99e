"""Options by name; rows of numbers, and what is none."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone

from mahalearn import (
    ConformalClassifier,
    GaussianClassifier,
    KernelMahalanobisNovelty,
    KernelQuadraticDiscriminant,
    KernelRidgeClassifier,
    KernelSearchCV,
    LandmarkMap,
    MahalanobisClassifierCV,
    MahalanobisKernel,
    MahalanobisNovelty,
    MahalanobisSVC,
    PrecomputedKernel,
)
from mahalearn._validation import check_choice
from mahalearn.proximity import diagnose


@pytest.mark.parametrize("choice", ["mean", "RC+", None])
def test_exact_names_pass_silently(choice):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_choice(choice, "option", ("mean", "RC+", None)) is choice


@pytest.mark.parametrize("value", ["median", "rc+", 3, True, "", ["mean"]])
def test_what_is_not_in_the_table_is_refused(value):
    with pytest.raises(ValueError, match="is not known; choose from 'mean', 'RC"):
        check_choice(value, "option", ("mean", "RC+"))


ROWS = [
    KernelQuadraticDiscriminant(),
    KernelQuadraticDiscriminant(landmarks=3),
    KernelSearchCV(KernelRidgeClassifier(), {"reg": [0.1]}, cv=2),
    GaussianClassifier(),
    MahalanobisSVC(),
    MahalanobisClassifierCV(("gaussian",), cv=2),
    KernelMahalanobisNovelty(),
    ConformalClassifier(KernelQuadraticDiscriminant()),
    LandmarkMap(3),
    MahalanobisKernel(),
    MahalanobisNovelty(),
]
LABELS = np.arange(12) % 2
every_estimator = pytest.mark.parametrize("estimator", ROWS, ids=lambda e: str(e)[:50])


def dates():
    """Dates and time differences, in arrays, lists and tables."""
    import pandas as pd

    days = np.datetime64("2026-01-01") + np.arange(24).reshape(12, 2)
    table = pd.DataFrame({"day": pd.to_datetime(days[:, 0]), "value": np.arange(12.0)})
    return [days, days - days[0], [list(row) for row in days], table, table[["day"]]]


@every_estimator
def test_dates_are_not_numbers(estimator):
    if isinstance(estimator, MahalanobisClassifierCV):
        return  # takes tables with dates: test_ensemble.py
    for X in dates():
        with pytest.raises(ValueError, match="X contains dates or time differences"):
            clone(estimator).fit(X, LABELS)


@every_estimator
def test_what_a_mask_hides_is_not_used(estimator, rng):
    X = np.ma.masked_array(rng.normal(size=(12, 2)), np.arange(24).reshape(12, 2) == 5)
    if not isinstance(estimator, MahalanobisClassifierCV):
        with pytest.raises(ValueError, match="NaN"):
            clone(estimator).fit(X, LABELS)


def test_matrices_and_weights_with_masks_are_refused(rng):
    K = np.ma.masked_array(np.eye(12) + 1, np.eye(12) > 0)
    with pytest.raises(ValueError, match="NaN"):
        KernelRidgeClassifier(kernel=PrecomputedKernel(K)).fit(np.arange(12), LABELS)
    with pytest.raises(ValueError, match="NaN"):
        diagnose(K)
    with pytest.raises(ValueError, match="must be finite"):
        KernelRidgeClassifier().fit(K.data, LABELS, sample_weight=K[0])


@pytest.mark.parametrize(
    "estimator",
    [GaussianClassifier(), MahalanobisSVC(), MahalanobisKernel()],
    ids=lambda e: str(e)[:50],
)
def test_sparse_rows_are_refused_in_the_words_of_scikit_learn(estimator):
    X = np.random.default_rng(0).normal(size=(12, 2))
    for rows in (sparse.csr_matrix(X), sparse.coo_array(X)):
        with pytest.raises(TypeError, match=r"Sparse data was passed.*Use '\.toarray\(\)'"):
            clone(estimator).fit(rows, LABELS)


@every_estimator
def test_tensors_under_array_dispatch_are_refused(estimator, monkeypatch):
    if getattr(estimator, "_converts_arrays", False):
        return  # takes them: tests/ecosystem/test_array_api.py

    class Tensor:
        """What torch calls its arrays."""

        __module__ = "torch"
        shape, ndim = (12, 2), 2

        def __len__(self):
            return 12

    monkeypatch.setattr(
        "mahalearn._array_api.get_config", lambda: {**get_config(), "array_api_dispatch": True}
    )
    X = np.random.default_rng(0).normal(size=(12, 2))
    clone(estimator).fit(X, LABELS)
    with pytest.raises(TypeError, match=r"computes with NumPy arrays.*got torch\.Tensor"):
        clone(estimator).fit(Tensor(), LABELS)
