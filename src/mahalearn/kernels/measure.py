"""Kernels of objects from a measure of two of them."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import MeasureLike, Objects, ProximityKind, Symmetrize
from .._validation import (
    check_choice,
    check_positive,
    is_word,
    refuse_dask,
    refuse_dask_query,
    take,
)
from ..measures.base import Measure
from ..measures.convolution import Convolution
from ..measures.table import GROUPS, as_measure, elastic_measures
from .base_kernel import BaseKernel

# What proximities become: a similarity as it is, a dissimilarity d as −d², −d, exp(−γd²), exp(−γd).
_FORMULAS = {
    "similarity": lambda values, gamma: values,
    "neg_squared": lambda values, gamma: -(values**2),
    "neg": lambda values, gamma: -values,
    "rbf": lambda values, gamma: np.exp(-check_positive(gamma, "gamma") * values**2),
    "laplacian": lambda values, gamma: np.exp(-check_positive(gamma, "gamma") * values),
}
PROXIMITY_KINDS = tuple(_FORMULAS)
# Objects that show whether a function is a distance, where their matrix is not computed.
_CHECKED = 10
# What an ensemble compares of a dissimilarity: kind and width.
FORMS = (("neg_squared", 1.0), ("neg", 1.0), ("rbf", 0.3), ("rbf", 1.0), ("rbf", 3.0))


@np.errstate(over="ignore")  # what overflows is refused where kernel values are checked
def proximity_to_kernel(values, kind, gamma=1.0):
    """Kernel values from dissimilarities d or similarities."""
    return _FORMULAS[check_choice(kind, "kind", PROXIMITY_KINDS)](values, gamma)


def mean_proximity(matrix, kind):
    """Mean dissimilarity between different objects, or mean self-similarity; 1 if that is 0."""
    n = len(matrix)
    if kind == "similarity":
        mean = abs(np.trace(matrix)) / n
    else:
        mean = abs(matrix.sum() - np.trace(matrix)) / max(1, n * (n - 1))
    return float(mean) if mean > 0 else 1.0


def resolve_scale(scale, matrix, kind):
    """The divisor of proximities: a number from "mean", a number or None."""
    if scale is None:
        return 1.0
    if is_word(scale, "mean"):
        return mean_proximity(matrix, kind)
    return check_positive(scale, "scale, unless it is 'mean' or None,")


class MeasureKernel(BaseKernel, BaseEstimator):
    """A kernel on objects from a measure of two of them.

    Read more in the :doc:`user guide </kernels>`.

    Parameters
    ----------
    measure : str, measure or callable
        A name such as "edit" or "hausdorff" (all are in :doc:`measures </measures>`), a measure
        such as ``EditDistance(normalize="longer")``, whose parameters can be searched as
        ``kernel__measure__…``, or a function ``measure(a, b)`` that returns a number; a and b are
        two objects, whatever their type. In a search "elastic" stands for the measures of
        :func:`mahalearn.measures.elastic_measures`, and the best is chosen.
    kind : {"auto", "similarity", "neg_squared", "neg", "rbf", "laplacian"}, default="auto"
        The kernel of a similarity s or a dissimilarity d.

        - "similarity": s.
        - "neg_squared", "neg": −d², −d.
        - "rbf", "laplacian": exp(−gamma·d²), exp(−gamma·d).
        - "auto": −d² for a dissimilarity by name or from :doc:`measures </measures>`; a function is
          treated as a similarity, and refused if it is smallest for an object and itself.
    gamma : float, default=1.0
        Width of ``kind="rbf"`` and ``"laplacian"``, on scaled dissimilarities.
    symmetrize : {"mean", "min", "max", None}, default="mean"
        How the two directions of an asymmetric measure are combined. A function is called for both;
        ``FunctionMeasure(function, symmetric=True)`` saves half of the calls.
    scale : "mean", float or None, default="mean"
        Divisor of the proximities: the mean dissimilarity between different training objects (for
        similarities the mean self-similarity), so that the same regularisation suits every measure;
        a positive number; nothing.

    Attributes
    ----------
    measure_ : Measure
        The measure, fitted on the training objects where it has something to learn.
    scale_ : float
        Divisor of the proximities.

    See Also
    --------
    mahalearn.measures.pairwise : Matrix of all pairs.
    ProximityKernel : From a distance matrix to a kernel matrix.

    Examples
    --------
    >>> from mahalearn import KernelQuadraticDiscriminant, MeasureKernel
    >>> words = ["ape", "apple", "apply", "oak", "soak", "oat"]
    >>> letter = ["a", "a", "a", "o", "o", "o"]
    >>> model = KernelQuadraticDiscriminant(reg=0.1, kernel=MeasureKernel("edit"))
    >>> model.fit(words, letter).predict(["ample", "cloak"]).tolist()
    ['a', 'o']

    A function of two objects:

    >>> def common_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> words = ["ape", "apple", "pear", "oak", "elk", "look"]
    >>> fruit = [1, 1, 1, 0, 0, 0]
    >>> model = KernelQuadraticDiscriminant(kernel=MeasureKernel(common_letters)).fit(words, fruit)
    >>> model.predict(["peach", "yolk"]).tolist()
    [1, 0]
    """

    requires_vector_input = False
    returns_new = True

    @property
    def stateless(self) -> bool:
        """The kernel learns nothing from the training objects."""
        return self.measure_is_stateless and not is_word(self.scale, "mean")

    @property
    def measure_is_stateless(self) -> bool:
        """The measure learns nothing from the training objects."""
        return type(self._measure()).fit is Measure.fit

    @property
    def has_unit_scale(self) -> bool:
        """Proximities are divided by their scale."""
        return self.scale is not None

    @property
    def times_pairs(self) -> bool:
        """The time of the measure grows with the pairs, not with the objects alone."""
        return self._measure().of_pairs

    @property
    def view(self) -> str | None:
        """The view of the objects that the measure takes, None for the first one."""
        return self._measure().view

    @property
    def knows_self(self) -> bool:
        """k(x, x) may differ from k(x, x′) even if x equals x′."""
        return self._measure().knows_self

    def __init__(
        self,
        measure: MeasureLike,
        kind: ProximityKind | Literal["auto"] = "auto",
        gamma: float = 1.0,
        symmetrize: Symmetrize = "mean",
        scale: float | Literal["mean"] | None = "mean",
    ) -> None:
        self.measure = measure
        self.kind = kind
        self.gamma = gamma
        self.symmetrize = symmetrize
        self.scale = scale

    def fit(self, X: Objects, y: Any = None) -> Self:
        """Fit the measure, where it learns from the training objects, and the scale.

        Parameters
        ----------
        X : sequence of objects
            Training objects.
        y : None
            Ignored.

        Returns
        -------
        self : MeasureKernel
            The fitted kernel.
        """
        refuse_dask(self, X)
        if is_word(self.scale, "mean"):
            self.fit_gram(X)
        else:
            self.measure_ = clone(self._measure()).fit(X)
            self.scale_ = resolve_scale(self.scale, None, self.kind_)
            if self._is_function():
                some = _some(X)
                self._refuse_distances(self.pair_values(some, some))
        return self

    def fit_gram(self, X: Objects, y: Any = None) -> np.ndarray:
        """Fit the kernel and return the Gram matrix of X: the measure is computed once.

        Parameters
        ----------
        X : sequence of objects
            Training objects.
        y : None
            Ignored.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            Kernel values of the training objects.
        """
        refuse_dask(self, X)
        self.measure_ = clone(self._measure()).fit(X)
        return self.fit_pairs(self.pair_values(X, X))

    def fit_pairs(self, values: np.ndarray) -> np.ndarray:
        """The Gram matrix from the proximities of the training objects, which fix the scale.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_samples)
            What `pair_values` gives for the training objects.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            Kernel values of the training objects.
        """
        if "measure_" not in vars(self):
            self.measure_ = clone(self._measure())
        self._refuse_distances(values)
        self.scale_ = resolve_scale(self.scale, values, self.kind_)
        return self.from_pairs(values)

    def _is_function(self):
        return callable(self.measure) and not isinstance(self.measure, Measure)

    def _refuse_distances(self, values):
        """Refuse a function of unknown kind whose values (n, n) are those of a distance."""
        selves, least = values.diagonal(), values.min(axis=1, initial=np.inf)
        smallest = (selves <= least).all() and (selves < values.max(axis=1, initial=-np.inf)).any()
        unknown = self._is_function() and self.kind == "auto"
        if unknown and smallest:
            raise ValueError(
                "The measure is smallest for an object and itself, as a distance is; without kind "
                "it is treated as a similarity. Pass kind='neg_squared' (the kernel −d²), 'neg', "
                "'rbf' or 'laplacian' for a distance, kind='similarity' otherwise."
            )

    @property
    def kind_(self) -> str:
        """The kind, "auto" resolved."""
        kind = check_choice(self.kind, "kind", ("auto", *PROXIMITY_KINDS))
        if kind == "auto":
            return "neg_squared" if self._measure().dissimilarity else "similarity"
        return kind

    @property
    def is_dissimilarity(self) -> bool:
        """The measure is small for similar objects."""
        return self.kind_ != "similarity"

    @property
    def pair_key(self) -> tuple[Any, ...]:
        """Kernels with the same key are functions of the same `pair_values`."""
        measure = self._measure()
        params = sorted(measure.get_params().items(), key=lambda item: item[0])
        values = [(name, _frozen(value)) for name, value in params]
        return type(measure), tuple(values), self.symmetrize

    def pair_values(self, X: Objects, Y: Objects) -> np.ndarray:
        """Proximities of all pairs.

        Parameters
        ----------
        X : sequence of objects
            The objects of the rows.
        Y : sequence of objects
            The objects of the columns.

        Returns
        -------
        values : ndarray of shape (len(X), len(Y))
            The measure of each pair, its two directions combined.
        """
        refuse_dask_query(X, Y)
        return self._fitted_measure().between(X, None if Y is X else Y, self.symmetrize)

    def from_pairs(self, values: np.ndarray, overwrite: bool = False) -> np.ndarray:
        """Kernel values from `pair_values`.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
            What `pair_values` gives.
        overwrite : bool, default=False
            Whether `values` may be overwritten.

        Returns
        -------
        K : ndarray of shape (n_rows, n_columns)
            Kernel values.
        """
        fitted = "scale_" in vars(self)
        if not fitted and is_word(self.scale, "mean"):
            raise ValueError(
                "MeasureKernel divides by the mean training distance and has not seen training "
                "objects: call fit first, or pass scale=None."
            )
        scale = self.scale_ if fitted else resolve_scale(self.scale, None, self.kind_)
        return proximity_to_kernel(values / scale, self.kind_, self.gamma)

    def alternatives(self, X: Objects, forms: bool = False) -> "list[MeasureKernel]":
        """The kernels that a search compares: this one, or one for each measure of a group.

        Parameters
        ----------
        X : sequence of objects
            Training objects.
        forms : bool, default=False
            Whether ``kind="auto"`` of a dissimilarity stands for −d², −d and exp(−γd²) with three
            widths, and "elastic" for convolution features of the series, too.

        Returns
        -------
        kernels : list of MeasureKernel
            Not fitted.
        """
        kernels = [self]
        if any(is_word(self.measure, group) for group in GROUPS):
            measures = [*elastic_measures(X).values(), *([Convolution.of(X)] if forms else [])]
            kernels = [clone(self).set_params(measure=measure) for measure in measures]
        if not forms or self.kind != "auto" or kernels[0].kind_ != "neg_squared":
            return kernels
        return [
            clone(kernel).set_params(kind=kind, gamma=gamma)
            for kernel in kernels
            for kind, gamma in FORMS
        ]

    def _measure(self):
        return as_measure(self.measure, dissimilarity=False)

    def _fitted_measure(self):
        """The measure as fitted; before the fit as it is."""
        return vars(self).get("measure_") or self._measure()

    def __call__(self, X: Objects, Y: Objects) -> np.ndarray:
        """The matrix of kernel values."""
        return self.from_pairs(self.pair_values(X, Y))

    def pair_diagonal(self, X: Objects) -> np.ndarray:
        """The proximity of each object and itself.

        Parameters
        ----------
        X : sequence of objects
            The objects.

        Returns
        -------
        values : ndarray of shape (len(X),)
            What `pair_values` has on its diagonal.
        """
        refuse_dask_query(X)
        return self._fitted_measure().diagonal(X)

    def diag(self, X: Objects) -> np.ndarray:
        """Self-similarities."""
        return self.from_pairs(self.pair_diagonal(X))


def _some(X):
    """A few of the objects, from all over the collection."""
    return take(X, np.unique(np.linspace(0, len(X) - 1, _CHECKED).astype(int)))


def _frozen(value):
    """A key of a parameter of a measure; the printed form of an array would not be one."""
    if callable(value):
        return id(value)
    if isinstance(value, np.ndarray):
        data = value.tobytes() if value.dtype != object else _frozen(value.tolist())
        return value.shape, value.dtype.str, data
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return tuple((repr(key), _frozen(item)) for key, item in value.items())
    return repr(value)
