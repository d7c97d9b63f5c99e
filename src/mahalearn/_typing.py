"""Types of the public interface.

An option that is one of a few words is a ``Literal``, so that a type checker finds a misspelt one.
The words are checked again when an estimator is fitted. Aliases that several classes share are
here; the words of a single option stand in its signature.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:

    class ArrayLike:
        """numpy.typing.ArrayLike for type checkers; by name alone in signatures, as in help()."""


class Objects(Protocol):
    """A collection that can be taken by position: an array, a table, a list of anything."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


# The matrix of kernel values between two collections of objects, by name or as a function.
Kernel = str | Callable[..., Any]
# A measure of two objects, by name or as a function.
MeasureLike = str | Callable[[Any, Any], Any]
# A number of folds, a splitter, or pairs of positions (train, test).
CV = int | Any | Iterable[tuple[ArrayLike, ArrayLike]]
# The name of a scorer, or scorer(estimator, X, y).
Scoring = str | Callable[..., float]
ClassWeight = Mapping[Any, float] | Literal["balanced"]
RandomState = int | np.random.RandomState
Generator = int | np.random.Generator
File = str | PathLike[str]
# A regularisation value, or one for each class.
Reg = float | ArrayLike | Literal["auto"]

# The variants of the kernel Mahalanobis distance.
Variant = Literal["RC+", "RC-", "IC+", "IC-", "FK+", "FK-"]
# The quantity that `reg` is measured in.
RegUnit = Literal["auto", "covariance", "kernel", "relative"]
# The policies about negative eigenvalues.
Spectrum = Literal["krein", "ignore", "raise", "clip", "flip", "square", "shift"]
Gamma = float | Literal["scale", "auto"]
Standardize = bool | Literal["auto"]
Shrinkage = float | Literal["auto"] | None
# The ways from a dissimilarity or similarity to a kernel.
ProximityKind = Literal["neg_squared", "neg", "similarity", "rbf", "laplacian"]
# The ways to combine the two directions of an asymmetric measure; None keeps one of them.
Symmetrize = Literal["mean", "min", "max", None]

__all__ = [
    "CV",
    "ArrayLike",
    "ClassWeight",
    "File",
    "Gamma",
    "Generator",
    "Kernel",
    "MeasureLike",
    "Objects",
    "ProximityKind",
    "RandomState",
    "Reg",
    "RegUnit",
    "Scoring",
    "Shrinkage",
    "Spectrum",
    "Standardize",
    "Symmetrize",
    "Variant",
]
