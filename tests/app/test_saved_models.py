"""What is saved: calibrated probabilities, and files of version 0.1.0 that answer as they did."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
from own_data import works

from mahalearn.app.comparing.crossval import Plan, cross_validate, fit_plan
from mahalearn.app.comparing.methods import select_methods
from mahalearn.app.comparing.refit import refit
from mahalearn.app.reading.problem import Problem

FOLDER = Path(__file__).parents[1] / "fixtures" / "models_0.1.0"


def log_loss(proba, y, classes):
    return -np.log(proba[np.arange(len(y)), np.searchsorted(classes, y)]).mean()


def noisy_words(n, rng):
    """Words of six kinds that differ a little: most of what a classifier learns is chance."""
    y = np.arange(n) % 6
    words = []
    for kind in y:
        letters = rng.choice(list("abcdefgh"), size=rng.integers(4, 9))
        words.append("".join(letters) + "uvwxyz"[kind] * (rng.random() < 0.3))
    return words, y


@pytest.mark.parametrize("method", ["lda", "forest", "knn", "svm", "kqd"])
def test_probabilities_of_a_saved_model_beat_guessing(method):
    rng = np.random.default_rng(0)
    words, y = noisy_words(120, rng)
    problem = Problem("objects", words, y, "w", measure="edit", proximity="dissimilarity")
    methods, _ = select_methods([method], "objects", "dissimilarity", len(problem))
    plan = fit_plan(problem, Plan(folds=3, repeats=1))
    outcome = cross_validate(problem, methods, plan)
    model = refit(problem, outcome, method).model
    new, truth = noisy_words(300, rng)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    # The temperature is fitted on 120 objects; a little above ln 6 is chance.
    assert log_loss(proba, truth, model.classes_) < np.log(6) + 0.05
    own = model.classifier
    if hasattr(own, "predict_proba"):  # the order of the classes stays
        assert (own.predict_proba(new).argmax(axis=1) == proba.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("train_iris", "iris_query.csv"),
        ("train_iris_lda", "iris_query.csv"),
        ("train_words", "words_query.txt"),
    ],
)
def test_a_model_of_0_1_0_predicts_as_it_did(tmp_path, name, queries):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The model was saved with other versions")
        works("predict", FOLDER / f"{name}.skops", FOLDER / queries, "--out", tmp_path / "p.csv")
    with open(tmp_path / "p.csv", encoding="utf-8") as new:
        found = list(csv.DictReader(new))
    with open(FOLDER / f"{name}_predictions.csv", encoding="utf-8") as old:
        expected = list(csv.DictReader(old))
    assert len(found) == len(expected)
    for row, was in zip(found, expected):
        for key, value in was.items():
            if key.startswith(("p ", "d2 ")):
                assert float(row[key]) == pytest.approx(float(value), rel=1e-4, abs=1e-6)
            else:
                assert row[key] == value
