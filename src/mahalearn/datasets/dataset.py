"""The data set that a loader returns."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._typing import RandomState

STATUSES = ("original", "rebuilt", "stand-in")


class Realisation(NamedTuple):
    """One split of a set: row numbers, and whether it is one of the benchmark's own."""

    train: np.ndarray
    test: np.ndarray
    genuine: bool


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with its provenance.

    Read more in the :doc:`user guide </datasets>`.

    Attributes
    ----------
    name : str
        Name it was loaded by.
    target : array of shape (n,)
        Classes, as codes 0, 1, … into `target_names`.
    target_names : tuple of str
        Classes, in the order of the paper's table.
    data : array of shape (n, d), list of n objects, or None
        Feature vectors, or the objects (polygons, contours, strings) that the matrix compares.
        None where only the matrix is known.
    feature_names : tuple of str
        Names of the columns of `data`; empty where they have none.
    matrix : array of shape (n, n) or None
        Proximities of all pairs; None for feature vectors. Coil-York's has a column for each
        training object only.
    kind : {"dissimilarity", "similarity"} or None
        What `matrix` holds.
    status : {"original", "rebuilt", "stand-in"}
        The data of the paper; made again by its recipe; or other data of the same kind.
    origin : str
        Where the values were read from in this call.
    source, licence : str
        Whose data they are, and on what terms.
    description : str
        Description of the data, and how they differ from the paper's.
    train_fraction : float or None
        Share of the objects that the paper trains on.
    train, test : tuple of arrays
        Row numbers of the benchmark's own splits, as far as they are available.
    split_sizes : pair of int or None
        Objects in a training and in a test set of the benchmark.

    See Also
    --------
    load : Load a data set of the papers by name.
    names : Names of the data sets.

    Examples
    --------
    >>> from mahalearn.datasets import load
    >>> polygons = load("poly-mh", n_per_class=10)  # generated: needs no file
    >>> polygons.kind, polygons.matrix.shape, polygons.target_names
    ('dissimilarity', (20, 20), ('quadrilateral', 'heptagon'))
    """

    name: str
    target: np.ndarray
    target_names: tuple
    status: str
    origin: str
    source: str
    licence: str
    description: str
    data: object = None
    feature_names: tuple = ()
    matrix: np.ndarray | None = None
    kind: str | None = None
    train_fraction: float | None = None
    train: tuple = field(default=())
    test: tuple = field(default=())
    split_sizes: tuple | None = None

    @property
    def class_counts(self) -> dict[Any, int]:
        """Objects of each class, {name: number}."""
        counts = np.bincount(self.target, minlength=len(self.target_names))
        return dict(zip(self.target_names, counts.tolist()))

    def realisations(self, n: int, random_state: RandomState | None = 0) -> list[Realisation]:
        """The first n train/test splits of the benchmark, topped up with random ones.

        Parameters
        ----------
        n : int
            Number of splits.
        random_state : int, RandomState or None, default=0
            Seed of the random ones. They have the sizes of the genuine ones, come after them and
            have ``genuine=False``. Like those they are not stratified. The genuine splits do not
            change the random ones: with more of them at hand, fewer of the same are used.

        Returns
        -------
        list of Realisation
            Named tuples (train, test, genuine).
        """
        if self.split_sizes is None:
            raise ValueError(
                f"{self.name!r} has no benchmark splits; for random splits use train_fraction and "
                f"sklearn.model_selection."
            )
        rng = check_random_state(random_state)
        n_train, n_test = self.split_sizes
        splits = []
        for i in range(n):
            order = rng.permutation(len(self.target))
            if i < len(self.train):
                splits.append(Realisation(self.train[i], self.test[i], True))
            else:
                train, test = order[:n_train], order[n_train : n_train + n_test]
                splits.append(Realisation(train, test, False))
        return splits

    def __repr__(self):
        if self.matrix is None:
            what = f"{len(self.data)} × {np.shape(self.data)[1]} features"
        else:
            rows, columns = self.matrix.shape
            what = f"{rows} × {columns} {self.kind} matrix"
        return f"<Dataset {self.name!r}: {what}, {len(self.target_names)} classes, {self.status}>"
