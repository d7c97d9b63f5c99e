"""shap: Shapley values of the probabilities of a model."""

import numpy as np
import shap
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from mahalearn import GaussianClassifier

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X[:, :6])
model = GaussianClassifier().fit(X, y)
explainer = shap.Explainer(
    lambda Z: model.predict_proba(Z)[:, 0], X, algorithm="permutation"
)
values = explainer(X[:3], max_evals=30, silent=True)
assert values.shape == (3, 6)
total = values.base_values + values.values.sum(axis=1)
np.testing.assert_allclose(total, model.predict_proba(X[:3])[:, 0], atol=1e-6)
