"""Options by name; rows of numbers, and what is none."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline

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
    ProximityKernel,
    TableEncoder,
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


TABLES = [estimator for estimator in ROWS if not isinstance(estimator, MahalanobisClassifierCV)]


@pytest.mark.parametrize("estimator", TABLES, ids=lambda e: str(e)[:50])
@pytest.mark.parametrize(("cell", "what"), [(np.nan, "X contains NaN"), ("red", "text: .*'red'")])
def test_cells_without_a_number_get_a_remedy_of_this_library(estimator, cell, what):
    X = np.random.default_rng(0).normal(size=(12, 2)).astype(object)
    X[3, 1] = cell
    with pytest.raises(ValueError, match=rf"{what}.*TableEncoder\(\)"):
        clone(estimator).fit(X, LABELS)
    make_pipeline(TableEncoder(), clone(estimator)).fit(X, LABELS)


@pytest.mark.parametrize(
    "estimator", [KernelQuadraticDiscriminant(kernel="precomputed"), ProximityKernel()]
)
def test_a_pair_without_a_value_needs_one(estimator):
    D = np.ones((12, 12)) - np.eye(12)
    D[0, 3] = D[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN.*every pair of objects"):
        estimator.fit(D, LABELS)


@every_estimator
def test_missing_labels_are_counted(estimator):
    if not is_classifier(estimator):
        return
    y = np.where(LABELS, 1.0, np.nan)
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(ValueError, match="6 of 12 class labels are missing"):
        clone(estimator).fit(X, y)


def test_prediction_sets_take_text_in_an_array_where_the_estimator_does():
    X = np.array([["red", 0.1], ["blue", 0.9]] * 6, dtype=object)
    model = make_pipeline(TableEncoder(), KernelQuadraticDiscriminant())
    sets = ConformalClassifier(model, cv=2).fit(X, LABELS)
    assert (sets.predict(X) == LABELS).all()
