"""Distances and log-densities of rows under Gaussian classes: in chunks, with missing cells."""

from typing import NamedTuple

import numpy as np

from ..formulas.class_gaussians import ClassGaussians, zca_cor_whiteners
from ..formulas.feature_weights import Weighting, rank_weights
from ..formulas.mahalanobis import clip_to_finite, feature_sq_distances, sq_distances
from ..formulas.workspace import Workspace
from ..kernels.training import row_chunks

# Doubles of a chunk: small enough for a processor's cache, large enough to outweigh the calls.
_CACHE_DOUBLES = 2**18


class GaussianModel(NamedTuple):
    """Gaussian classes, and how their distances are weighted (None: not at all)."""

    gaussians: ClassGaussians
    weighting: Weighting | None
    whiteners: np.ndarray | None

    def feature_chunks(self, X, workspace):
        """Chunks of rows and their distances per feature, which the caller may overwrite."""
        n_classes, n_features = self.gaussians.means.shape
        # Per row: Z, two arrays like it for the difference weights, the row whitened and weights.
        arrays = 3 if self.weighting.difference else 1
        row_doubles = (arrays * n_classes + 8) * n_features
        for rows in row_chunks(len(X), row_doubles, _CACHE_DOUBLES):
            yield rows, feature_sq_distances(X[rows], self.gaussians, self.whiteners, workspace)

    def sq_distances(self, X):
        """(Weighted) squared distances (m, c) of complete rows."""
        out = np.zeros((len(X), len(self.gaussians.means)))
        workspace = Workspace()
        if X.shape[1] == 0:  # a row without features is nowhere
            return out
        if self.weighting is None:
            # Per row: the row centred, the row whitened, its distances and norms.
            row_doubles = 2 * X.shape[1] + 2 * out.shape[1] + 8
            for rows in row_chunks(len(X), row_doubles, _CACHE_DOUBLES):
                out[rows] = sq_distances(X[rows], self.gaussians, workspace)
        else:
            for rows, Z in self.feature_chunks(X, workspace):
                out[rows] = self.weighting.sq_distances(Z, workspace)
        return out

    def evaluate(self, X, *, missing):
        """d² (m, c), log-determinants (m or 1, c), numbers of dimensions (m or 1, 1) of rows.

        With `missing`, NaN cells are marginalised: such a row is compared with the Gaussians of the
        features that it has. Rows that lack the same features are done together.
        """
        X = clip_to_finite(X, self.gaussians)
        absent = np.isnan(X) if missing else None
        if absent is None or not absent.any():
            g = self.gaussians
            return self.sq_distances(X), g.log_dets[None], np.array([[g.n_directions]])
        shape = (len(X), len(self.gaussians.means))
        d2, log_dets, n_directions = np.empty(shape), np.empty(shape), np.empty((len(X), 1))
        for rows in equal_rows(absent):
            model = self._marginal(~absent[rows[0]])
            d2[rows] = model.sq_distances(X[np.ix_(rows, np.flatnonzero(~absent[rows[0]]))])
            log_dets[rows] = model.gaussians.log_dets
            n_directions[rows] = model.gaussians.n_directions
        return d2, log_dets, n_directions

    def _marginal(self, observed):
        if observed.all():
            return self
        return gaussian_model(self.gaussians.marginal(observed), self.weighting)

    def training_ranks(self, X):
        """Rank weights of X as a batch."""
        total = np.zeros(self.gaussians.means.shape[1])
        workspace = Workspace()
        for _, Z in self.feature_chunks(clip_to_finite(X, self.gaussians), workspace):
            total += self.weighting.sorted_distances(Z, workspace).sum(axis=(0, 1))
        return rank_weights(total / (len(X) * len(self.gaussians.means)), self.weighting.power)


def gaussian_model(gaussians, weighting=None):
    """The model; per-feature distances are taken in ZCA-cor whitened coordinates."""
    whiteners = None if weighting is None else zca_cor_whiteners(gaussians)
    return GaussianModel(gaussians, weighting, whiteners)


def equal_rows(A):
    """Index arrays of the rows of a boolean matrix that are equal, one for each pattern."""
    packed = np.packbits(A, axis=1)
    _, inverse, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    return np.split(order, np.cumsum(counts)[:-1])
