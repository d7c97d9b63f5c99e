"""Fitted classes as quadratic forms: the same distances as their models', in every variant."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from mahalearn import KernelPCAQuadraticDiscriminant, KernelQuadraticDiscriminant

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


@pytest.mark.parametrize("kernel", ["rbf", "sigmoid"])  # definite, and not
@pytest.mark.parametrize("reg", [1e-4, 1.0])  # a factor, and its inverse
@pytest.mark.parametrize("variant", ["RC+", "RC-", "IC+", "IC-"])
def test_classwise_forms(variant, reg, kernel):
    model = KernelQuadraticDiscriminant(variant, reg, kernel=kernel).fit(X[::2], y[::2])
    training, k = model._training, model._training.cross(X)
    kxx = training.self_similarities(X)
    forms = [one.form() for one in model._distances.models]
    d2 = [
        form.sq_distances(k[:, members], kxx)[0]
        for form, members in zip(forms, training.slices, strict=True)
    ]
    known = model.mahalanobis(X)
    assert_allclose(np.column_stack(d2), known, rtol=1e-9, atol=1e-9 * np.abs(known).max())


@pytest.mark.parametrize("variant", ["FK+", "FK-"])
def test_forms_in_the_full_space(variant):
    model = KernelQuadraticDiscriminant(variant, 0.1).fit(X[::2], y[::2])
    k = model._training.cross(X)
    d2 = [form.sq_distances(k, None)[0] for form in model._distances.models.forms()]
    assert_allclose(np.column_stack(d2), model.mahalanobis(X), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-9, 1e-5, 0.01])  # on both sides of SMALL_RIDGE
@pytest.mark.parametrize("within_axes_only", [False, True])
def test_forms_of_densities(within_axes_only, alpha):
    model = KernelPCAQuadraticDiscriminant(None).fit(X[::2], y[::2])  # more axes than objects
    models = model.models_
    Z = models.embedding.coordinates(model._training.cross(X))
    for one in models.classes:
        form = one.form(alpha, within_axes_only=within_axes_only)
        known = one.sq_distances(Z, [alpha], within_axes_only=within_axes_only)[:, 0]
        assert_allclose(form.sq_distances(Z, None)[0], known, rtol=1e-9, atol=1e-9)
