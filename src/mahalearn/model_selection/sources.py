"""The objects of a comparison under their kernels: what the searches get, and the last fits."""

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._validation import check_memory
from ..formulas.linalg import total_spread
from ..kernels.measure import MeasureKernel
from ..kernels.precomputed import PrecomputedKernel
from ..kernels.protocol import as_kernel, fit_kernel_and_gram, is_stateless
from ..training.exact import TrainingKernel
from .combining import fit_members
from .families import Comparison


class Source:
    """Objects under kernels; what the searches get of them is what the members are fitted on."""

    def estimator(self, estimator):
        """An estimator as the user's input needs it."""
        return estimator

    def fit(self, estimators, y, weights):
        """The members fitted on all objects."""
        return fit_members(estimators, self.X, y, lambda estimator: None, weights)


class VectorSource(Source):
    """Standardised vectors under kernels by name."""

    def __init__(self, X, y):
        self.X, self.y = StandardScaler().fit_transform(X), y

    def comparison(self, **common):
        """What the searches get; the kernel is put in for each."""
        varying = max(1, int((self.X != 0).any(axis=0).sum()))
        return Comparison(self.X, self.y, kernel="rbf", n_varying=varying, **common)


class MatrixSource(Source):
    """A precomputed kernel matrix."""

    def __init__(self, K, y, codes):
        self.X, self.y = K, y
        training = TrainingKernel(K, codes, None)
        self.knows_queries = training.self_similarities(K[:1]) is not None

    def comparison(self, **common):
        """What the searches get."""
        return Comparison(
            self.X,
            self.y,
            kernel="precomputed",
            spread=total_spread(self.X),
            knows_queries=self.knows_queries,
            **common,
        )


class ObjectSource(Source):
    """Objects under kernels that take them as they are.

    A measure that learns nothing is computed once, and its scale is that of all objects; a kernel
    that learns from the training objects is fitted in each fold.
    """

    def __init__(self, X, y, codes, kernels):
        kernels = [kernel for given in kernels for kernel in _each(given, X)]
        self.X, self.y, self.given = X, y, kernels
        n, count, pairs = len(y), len(kernels), {}
        check_memory((3 + 2 * count) * n**2, f"{count} kernel matrices of {n} objects")
        self.fitted = [_fit(kernel, X, y, pairs) for kernel in kernels]
        grams = [_gram(X, codes, *fitted) for fitted in self.fitted]
        self.spread = total_spread(grams[0])
        self.matrices = None
        if all(_learns_nothing(kernel) for kernel in kernels):
            self.matrices = [PrecomputedKernel(K) for K in grams]
            self.fitted = [(kernel, K) for (kernel, _), K in zip(self.fitted, grams, strict=True)]

    def comparison(self, **common):
        """What the searches get: a matrix, several, or the objects and their kernels."""
        X, kernels = self.X, self.given
        if self.matrices is not None:
            X, kernels = np.arange(len(self.y)), self.matrices
            if len(kernels) == 1:
                X, kernels = kernels[0].K, ["precomputed"]
        kernel = kernels[0] if len(kernels) == 1 else kernels
        kinds = [getattr(given, "kind", None) for given in self.given]
        return Comparison(X, self.y, kernel=kernel, spread=self.spread, kinds=kinds, **common)

    def _index(self, estimator):
        if self.matrices is not None and len(self.given) > 1:
            return next(i for i, m in enumerate(self.matrices) if m.K is estimator.kernel.K)
        if len(self.given) == 1:
            return 0
        return [_identity(kernel) for kernel in self.given].index(_identity(estimator.kernel))

    def estimator(self, estimator):
        """An estimator as the user's input needs it."""
        return estimator.set_params(kernel=self.given[self._index(estimator)])

    def fit(self, estimators, y, weights):
        """The members fitted on all objects; measures are not computed again."""
        index = {name: self._index(estimator) for name, estimator in estimators.items()}
        users = {name: self.estimator(estimator) for name, estimator in estimators.items()}
        known = {id(users[name]): self.fitted[i] for name, i in index.items()}

        def look_up(estimator):
            return known[id(estimator)] if self.matrices is not None else None

        return fit_members(users, self.X, y, look_up)


def _each(kernel, X):
    """The kernels that a measure stands for: one for each of a group, in several forms."""
    own = as_kernel(kernel)
    several = own.alternatives(X, forms=True) if isinstance(own, MeasureKernel) else []
    return several if len(several) > 1 else [kernel]


def _fit(kernel, X, y, pairs):
    """The fitted kernel and its matrix; a measure is computed once for all kernels of it."""
    own = as_kernel(kernel)
    if not isinstance(own, MeasureKernel) or not own.measure_is_stateless:
        return fit_kernel_and_gram(kernel, X, y)
    if own.pair_key not in pairs:
        pairs[own.pair_key] = own.pair_values(X, X)
    return own, own.fit_pairs(pairs[own.pair_key])


def _gram(X, codes, kernel, gram):
    training = TrainingKernel(X, codes, kernel, gram)
    place = np.argsort(training.order)
    return training.gram()[np.ix_(place, place)]


def _learns_nothing(kernel):
    kernel = as_kernel(kernel)
    return getattr(kernel, "measure_is_stateless", None) or is_stateless(kernel)


def _identity(kernel):
    """What tells kernels apart; a search resolves the scale of a measure to a number."""
    own = as_kernel(kernel)
    if isinstance(own, MeasureKernel):
        return own.pair_key, own.kind_, own.gamma
    return repr(own) if hasattr(own, "get_params") else id(kernel)
