"""The parts of a kernel, and what stands for those that a kernel of a user does not have.

A kernel is a scikit-learn kernel name, ``"precomputed"``, a measure of objects (its name, such as
``"edit"``, or the measure itself: the kernel is then MeasureKernel's −d²), or any callable
``k(X, Y)`` that returns the (len(X), len(Y)) matrix of kernel values. It may also have

- ``diag(X)``: the self-similarities k(x, x), without the matrix;
- ``fit(X, y=None)``: called on the training data of each fit, on a clone;
- ``fit_gram(X, y=None)``: the same, returning the Gram matrix of X, where fitting computes it;
- ``pair_key``, ``pair_values(X, Y)``, ``from_pairs(values)``: kernels with the same key are maps of
  the same matrix (distances, inner products), which a search computes once for all of them;
- ``fill(out, values)``: as ``from_pairs``, into memory that is there; then ``pair_values`` takes
  memory as a third argument, too (both in Fortran order);
- ``get_params``/``set_params``: then ``kernel__name`` can be searched;
- ``requires_vector_input = False``: it takes objects (strings, sequences, sets of points, row
  numbers …), and what the user passes reaches it untouched. scikit-learn's Gaussian-process kernels
  use the same name. Its Gram matrix is computed once in a fit and kept until the fit is done;
- ``cheap = True``: it takes objects, but its values cost nothing and need not be kept;
- ``stateless = True``: its ``fit`` learns nothing, so that one matrix serves every fold of a
  cross-validation;
- ``knows_self = True``: k(x, x) may differ from k(x, x′) even if x equals x′;
- ``positive_definite = True``: known to be so; otherwise that is proven from the matrix;
- ``symmetric = True``: its Gram matrices are exactly symmetric; otherwise that is checked;
- ``returns_new = True``: every call returns a new matrix, which may be overwritten.
"""

from typing import Any

import numpy as np


class BaseKernel:
    """A kernel with every part; a subclass changes those that differ."""

    requires_vector_input: Any = True
    positive_definite: Any = False
    symmetric: Any = False
    returns_new: Any = False
    knows_self: Any = False
    stateless: Any = False
    cheap: Any = False
    # Its matrices need no checks.
    checked = False
    # The matrix of pairs that the kernel is a map of, and the proximity of an object and itself.
    pair_key: Any = None
    fill: Any = None
    pair_diagonal: Any = None
    # Of an RBF kernel: γ; the map to the space whose distances count; center and scale of columns.
    rbf_gamma: Any = None
    whiten: Any = None
    center: Any = None
    scale: Any = None
    # A measure of dissimilarity, whose kernels are rarely definite.
    is_dissimilarity: Any = False
    # Its values are about 1, in whatever units the objects come.
    has_unit_scale: Any = False
    # Of a measure: it learns nothing from the training objects, though its scale may; its time
    # grows with the pairs; the form of its kernel; the view of the objects that it takes, None for
    # the first one.
    measure_is_stateless: Any = False
    times_pairs: Any = False
    kind: Any = None
    view: Any = None

    @property
    def as_fitted(self) -> Any:
        """The kernel as users see it after a fit."""
        return self

    def alternatives(self, X: Any, forms: bool = False) -> list[Any]:
        """The kernels that a search compares: this one, or those that it stands for."""
        return [self]

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        """The matrix of kernel values."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from the training objects; here there is nothing to learn."""
        return self

    def fit_gram(self, X: Any, y: Any = None) -> Any:
        """The same, with the Gram matrix where that computes it, None otherwise."""
        self.fit(X, y)

    def diag(self, X: Any) -> np.ndarray:
        """Self-similarities."""
        step = 16  # a few rows at a time: blocks waste work, single calls waste time
        blocks = [X[i : i + step] for i in range(0, len(X), step)]
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])


class UserKernel(BaseKernel):
    """A function k(X, Y), or a kernel object with some of the parts."""

    def __init__(self, function):
        self.function = function

    @property
    def as_fitted(self):
        """The kernel as users see it after a fit."""
        return self.function

    def __call__(self, X, Y):
        """The matrix of kernel values."""
        return self.function(X, Y)

    def fit(self, X, y=None):
        """Fit the object, where it learns something."""
        if hasattr(self.function, "fit"):
            self.function = self.function.fit(X, y)
        return self

    def fit_gram(self, X, y=None):
        """The same, with the Gram matrix where that computes it, None otherwise."""
        if hasattr(self.function, "fit_gram"):
            return self.function.fit_gram(X, y)
        return super().fit_gram(X, y)

    def diag(self, X):
        """Self-similarities."""
        return self.function.diag(X) if hasattr(self.function, "diag") else super().diag(X)

    def pair_values(self, X, Y, *out):
        """Values of all pairs that the kernel is a function of."""
        return self.function.pair_values(X, Y, *out)

    def from_pairs(self, values):
        """Kernel values from `pair_values`."""
        return self.function.from_pairs(values)

    @property
    def stateless(self):
        """Nothing is learned from the training objects."""
        return not hasattr(self.function, "fit") or getattr(self.function, "stateless", False)


def _part(name):
    """A part of the user's object, or that of a kernel without it."""
    return property(lambda self: getattr(self.function, name, getattr(BaseKernel, name)))


for _name in (
    "requires_vector_input",
    "positive_definite",
    "symmetric",
    "returns_new",
    "knows_self",
    "cheap",
    "pair_key",
    "fill",
    "pair_diagonal",
):
    setattr(UserKernel, _name, _part(_name))
