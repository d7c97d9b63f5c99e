"""Models that version 0.1.0 saved load, and predict what they predicted then."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from mahalearn import load_model

FOLDER = Path(__file__).parents[1] / "fixtures" / "models_0.1.0"
KNOWN = json.loads((FOLDER / "expected.json").read_text())
EXPECTED = KNOWN["expected"]


def queries(name):
    if name in ("kqd_edit", "kqd_measure_rbf", "chooser_words"):
        return KNOWN["words"]
    if name in ("kqd_precomputed", "embedding"):
        return np.array(KNOWN["K"])
    return np.array(KNOWN["P"] if name == "proximity_pipeline" else KNOWN["iris_queries"])


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_model_of_0_1_0_predicts_as_it_did(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The model was saved with other versions")
        model = load_model(FOLDER / f"{name}.skops")
    for method, values in EXPECTED[name].items():
        found = getattr(model, method)(queries(name))
        if method == "predict":
            assert found.tolist() == values
        else:
            # float64 noise of another BLAS; IC's pseudo-inverse is the worst conditioned.
            np.testing.assert_allclose(found, values, rtol=1e-6, atol=1e-8, err_msg=method)
