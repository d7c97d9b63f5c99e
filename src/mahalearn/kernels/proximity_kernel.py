"""From a matrix of dissimilarities or similarities to a kernel, the scaling learned in fit."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, ProximityKind
from .._validation import (
    check_choice,
    check_square,
    check_symmetric,
    looks_like_dissimilarity,
    refuse_dask,
    refuse_dask_query,
    validate_rows,
)
from .measure import PROXIMITY_KINDS, proximity_to_kernel, resolve_scale
from .protocol import check_magnitude


class ProximityKernel(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A kernel matrix from proximities, as the first step of a pipeline.

    Proximities are divided by their scale in the training data, so that the same range of
    regularisation suits every measure, and become a kernel. Cross-validation
    slices the square matrix on both axes, and the scale is learned on each training part alone.

    Read more in the :doc:`user guide </distance_matrix>`.

    Parameters
    ----------
    kind : {"neg_squared", "neg", "similarity", "rbf", "laplacian"}, default="neg_squared"
        What the matrix holds, and the kernel that is made of it.

        - "neg_squared": dissimilarities, −d².
        - "neg": dissimilarities, −d.
        - "rbf": dissimilarities, exp(−gamma·d²).
        - "laplacian": dissimilarities, exp(−gamma·d).
        - "similarity": similarities, unchanged.
    scale : "mean", float or None, default="mean"
        Divisor of the proximities: the mean dissimilarity between different training objects, or
        for similarities the mean similarity of the training objects with themselves; a positive
        number; nothing.
    gamma : float, default=1.0
        Width of ``kind="rbf"`` and ``"laplacian"``, on scaled dissimilarities.

    Attributes
    ----------
    scale_ : float
        Divisor of the proximities.
    n_features_in_ : int
        Number of training objects.

    See Also
    --------
    mahalearn.proximity.diagnose : Diagnosis of a distance matrix.
    PrecomputedKernel : A matrix as a kernel on row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from mahalearn import KernelFisherDiscriminant
    >>> from mahalearn.kernels import ProximityKernel
    >>> x = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 5, 20)])
    >>> D = np.abs(np.subtract.outer(x, x))
    >>> model = make_pipeline(ProximityKernel(), KernelFisherDiscriminant(kernel="precomputed"))
    >>> print(f"{cross_val_score(model, D, x > 2).mean():.2f}")
    1.00
    """

    def __init__(
        self,
        kind: ProximityKind = "neg_squared",
        scale: float | Literal["mean"] | None = "mean",
        gamma: float = 1.0,
    ) -> None:
        self.kind = kind
        self.scale = scale
        self.gamma = gamma

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_samples)
            Square matrix of proximities between all training objects.
        y : None
            Ignored.

        Returns
        -------
        self : ProximityKernel
            The fitted transformer.
        """
        kind = check_choice(self.kind, "kind", PROXIMITY_KINDS)
        refuse_dask(self, X)
        X = validate_rows(self, X, dtype=np.float64)
        check_square(X, "The matrix of proximities")
        X = check_symmetric(X, "The matrix of proximities")
        for sentence in suspicions(X, "similarity" if kind == "similarity" else "dissimilarity"):
            warnings.warn(sentence, UserWarning, stacklevel=2)
        self.scale_ = resolve_scale(self.scale, X, kind)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Kernel values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_training_samples)
            Proximities of objects to the training objects.

        Returns
        -------
        K : ndarray of shape (n_samples, n_training_samples)
            Kernel values.
        """
        check_is_fitted(self)
        refuse_dask_query(X)
        X = validate_rows(self, X, reset=False, dtype=np.float64)
        kind = check_choice(self.kind, "kind", PROXIMITY_KINDS)
        with np.errstate(over="ignore"):  # what overflows is refused in the next line
            K = proximity_to_kernel(X / self.scale_, kind, self.gamma)
        check_magnitude(K)
        return K


def suspicions(matrix, kind):
    """Sentences about a square symmetric matrix of proximities that looks like another kind."""
    diagonal = matrix.diagonal()
    off = matrix[~np.eye(len(matrix), dtype=bool)]
    if kind == "similarity":
        if looks_like_dissimilarity(matrix):
            yield (
                "The similarities look like dissimilarities: every object has similarity 0 with "
                "itself and none is less similar. Pass them as a dissimilarity."
            )
        return
    if (matrix < 0).any():
        yield (
            f"{int((matrix < 0).sum())} dissimilarities are negative. A dissimilarity is 0 for "
            "equal objects and grows with the difference; perhaps these are similarities, or "
            "already a kernel."
        )
    elif len(off) and diagonal.mean() > np.median(off) and diagonal.mean() > 0:
        yield (
            "The dissimilarities look like similarities: objects differ more from themselves than "
            "from others. Pass them as a similarity."
        )
