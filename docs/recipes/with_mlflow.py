"""mlflow: log a model in the skops format; loading runs no code."""

import tempfile
from pathlib import Path

import mlflow.sklearn
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mahalearn import KernelQuadraticDiscriminant, trusted_types

X, y = load_wine(return_X_y=True)
model = make_pipeline(
    StandardScaler(), KernelQuadraticDiscriminant(offset="map")
).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model"
    mlflow.sklearn.save_model(
        model,
        path,
        serialization_format="skops",
        skops_trusted_types=trusted_types(),
    )
    loaded = mlflow.sklearn.load_model(str(path))
assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
