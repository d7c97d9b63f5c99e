"""Convolution features of series against a naive loop, and the members of an ensemble with them."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import naive
from mahalearn import KernelRidgeClassifier, MahalanobisClassifierCV, MeasureKernel
from mahalearn.measures.convolution import Convolution
from mahalearn.persistence import load_model, save_model

rng = np.random.default_rng(3)
ONE = [rng.integers(-9, 9, n).astype(float) for n in (40, 31, 9, 5, 1)]
MANY = [rng.integers(-9, 9, (3, n)).astype(float) for n in (20, 33, 4)]


@pytest.mark.parametrize("X", [ONE, MANY], ids=["one channel", "three channels"])
def test_features_equal_the_naive_ones(X):
    # Whole numbers and biases between them: single precision is exact.
    measure = Convolution.of(X, 84 * 5)
    measure.set_params(biases=np.round(measure.biases) + np.float32(0.5))
    measure.set_params(weights=np.ones(measure.biases.size))
    kernels = list(combinations(range(9), 3))
    expected = np.empty((len(X), *measure.biases.shape))
    for i, x in enumerate(map(np.atleast_2d, X)):
        for j, dilation in enumerate(measure.dilations):
            first = int(np.argmax(measure.dilations == dilation))
            for k, large in enumerate(kernels):
                part = x[measure.channels[first, k]]
                everywhere = (k + first) % 2 == 0
                bias = measure.biases[j, k]
                expected[i, j, k] = naive.positive_share(part, large, dilation, everywhere, bias)
    F = measure.features(X)
    assert len(np.unique(measure.dilations)) > 1 and len(np.unique(F)) > 20
    assert_array_equal(F, expected.reshape(len(X), -1))
    D = np.sqrt(((F[:, None] - F) ** 2).sum(axis=2))
    assert_allclose(measure.between(X), D, atol=1e-6)
    assert_allclose(measure.between(X[:2], X[1:]), D[:2, 1:], atol=1e-6)
    changed = [X[0] + 1.0, *X[1:]]  # other columns than those that are kept
    assert not np.allclose(measure.between(X[:2], changed), D[:2], atol=1e-3)


def test_biases_are_quantiles_and_weights_inverse_spreads():
    X = rng.normal(size=(30, 50)).cumsum(axis=1)
    measure = Convolution.of(X)
    assert 9_900 <= measure.biases.size <= 10_000
    assert_allclose(measure.features(X).std(axis=0)[measure.weights > 0], 1)
    assert (np.diff(measure.dilations) >= 0).all() and measure.dilations[-1] == 6
    assert_array_equal(Convolution.of(X).biases, measure.biases)
    shares = measure.features(X) / np.where(measure.weights > 0, measure.weights, 1)
    assert abs(shares[:, measure.weights > 0].mean() - 0.5) < 0.05
    with pytest.raises(ValueError, match="have 2 channels, those of the training 1"):
        measure.features(np.zeros((3, 2, 50)))


def patterns(n, seed, lengths):
    """Series with a short sawtooth or a short wave at any place: no alignment tells them apart."""
    r = np.random.default_rng(seed)
    y, X = np.arange(n) % 2, []
    for kind in y:
        x = r.normal(0, 0.3, r.choice(lengths))
        at, t = r.integers(0, len(x) - 16), np.arange(16)
        x[at : at + 16] += np.where(kind, (t % 4) - 1.5, 1.5 * np.sin(t * np.pi / 4))
        X.append(x)
    return X, np.array(["wave", "saw"])[y]


@pytest.mark.parametrize("lengths", [[60], [50, 60]])
def test_an_ensemble_has_members_of_the_view(lengths, tmp_path):
    X, y = patterns(40, 0, lengths)
    X_new, y_new = patterns(40, 1, lengths)
    families = ["kernel_ridge", "neighbors"]
    model = MahalanobisClassifierCV(families, kernel="elastic", cv=3, random_state=0).fit(X, y)
    names = {row["member"] for row in model.leaderboard_}
    assert names == {"kernel_ridge", "neighbors", "kernel_ridge/convolution"}
    assert model.weights_["kernel_ridge/convolution"] > 0.2
    assert model.score(X_new, y_new) > 0.9
    kernel = model.members_["kernel_ridge/convolution"].kernel
    assert isinstance(kernel.measure, Convolution)
    expected = Convolution.of(X).between(X_new, X)
    assert_allclose(kernel.measure.between(X_new, X), expected)
    P = model.predict_proba(X_new)
    rows = np.concatenate([model.predict_proba(X_new[i : i + 1]) for i in range(5)])
    assert_allclose(rows, P[:5], atol=1e-9)
    save_model(model, tmp_path / "series.skops")
    assert_array_equal(load_model(tmp_path / "series.skops").predict_proba(X_new), P)


def test_the_measure_alone_is_a_kernel():
    X, y = patterns(40, 0, [60])
    X_new, y_new = patterns(40, 1, [60])
    kernel = MeasureKernel(Convolution.of(X, 2_000))
    assert KernelRidgeClassifier(0.1, kernel=clone(kernel)).fit(X, y).score(X_new, y_new) > 0.9
    alone = MahalanobisClassifierCV(["kernel_fisher"], kernel=kernel, random_state=0).fit(X, y)
    assert list(alone.members_) == ["kernel_fisher"]
