"""Names for the types of the public interface.

Option names ("RC+", "krein") are plain `str`: they are checked when the estimator is fitted, and a
loop over a list of them is no type error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike


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
ClassWeight = Mapping[Any, float] | str
RandomState = int | np.random.RandomState
Generator = int | np.random.Generator
File = str | PathLike[str]
Floats = Sequence[float] | np.ndarray
# Numbers, "scale" or "auto".
Widths = Sequence[float | str] | np.ndarray
Ints = Sequence[int] | np.ndarray
# A regularisation value, or one for each class.
Reg = float | ArrayLike

__all__ = [
    "CV",
    "ArrayLike",
    "ClassWeight",
    "File",
    "Floats",
    "Generator",
    "Ints",
    "Kernel",
    "MeasureLike",
    "Objects",
    "RandomState",
    "Reg",
    "Scoring",
    "Widths",
]
