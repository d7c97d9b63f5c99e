r"""Corrections of a negative spectrum, and the names of the policies.

A correction replaces the eigenvalues Λ of the training kernel matrix K = UΛUᵀ by f(Λ):

=======  ==========================  ==================================================
name     f(λ)                        afterwards
=======  ==========================  ==================================================
clip     max(λ, 0)                   the nearest positive semidefinite matrix
flip     \|λ\|                       the inner product of the associated Hilbert space
square   λ²                          K² : rows of similarities taken as feature vectors
shift    λ + ν, ν = max(0, −λ_min)   k(x, x') + ν·[x and x' are the same object]
=======  ==========================  ==================================================

New objects must be corrected in the same way, or they are compared with training objects of another
space. A row of kernel values k becomes  k + kU(f(Λ)/Λ − 1)Uᵀ,  which is k U f(Λ)/Λ Uᵀ on the span
of the training objects and leaves alone what lies outside of it. A self-similarity is that of the
span, Σ f(λ)(kU)²/λ², plus f(r), where r = k_xx − Σ (kU)²/λ is what the span leaves over: one more
eigenvalue, as far as anyone can know. A training object's own row gives the fitted values back.

"shift" cannot do that. It adds ν to the similarity of an object with itself, and a new
object equals no training object: its row stays as it is, and only k_xx grows by ν. A training row
that is passed as a query counts as a new object.

Kernels without an origin. −d², −d and their kind have self-similarities 0, so that their raw
spectrum is mostly the direction of the all-one vector, which no distance depends on. Where the
trace of K is not positive, K̃ = HKH is decomposed in its place, and the change is added to K.
"""

from typing import NamedTuple

import numpy as np

from .linalg import Centering, center_cross, center_gram, center_self, centering, eigh

# f(λ); "shift" adds ν to the self-similarities of the objects instead.
_CORRECTED = {
    "clip": lambda values: np.maximum(values, 0.0),
    "flip": np.abs,
    "square": np.square,
    "shift": np.copy,
}
CORRECTIONS = tuple(_CORRECTED)
SPECTRA = ("krein", "ignore", "raise", *CORRECTIONS)


def correct_values(values, correction):
    """f(λ) of eigenvalues, or of what is left over beside them."""
    return _CORRECTED[correction](values)


class SpectrumCorrection(NamedTuple):
    """A correction as fitted: what it adds to kernel values of training objects and of queries.

    values, vectors: the eigenvalues other than 0 and their eigenvectors; empty for "shift". means:
    the centring of K where it was decomposed centred, else None.
    """

    correction: str
    shift: float
    means: Centering | None
    values: np.ndarray
    vectors: np.ndarray

    def gram_change(self, rows, columns):
        """Change of the training kernel values at `rows` × `columns`."""
        if self.correction == "shift":
            index = np.arange(len(self.vectors))
            return self.shift * (index[rows][:, None] == index[columns])
        _, change, U = self._changed()
        return (U[rows] * change) @ U[columns].T

    def training_self_change(self):
        """Change of the self-similarities of the training objects."""
        if self.correction == "shift":
            return np.full(len(self.vectors), self.shift)
        _, change, U = self._changed()
        return np.square(U) @ change

    def cross_change(self, k):
        """Change of the rows k (m, n) of queries."""
        values, change, U = self._changed()
        return (self._centred(k) @ U * (change / values)) @ U.T if len(values) else 0.0

    def self_change(self, kxx, k):
        """Change of the self-similarities kxx (m,) of queries with uncorrected rows k."""
        if self.correction == "shift":
            return np.full(len(k), self.shift)
        P = self._centred(k) @ self.vectors
        rest = kxx if self.means is None else center_self(kxx, k, self.means)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # refused where kernel values are checked
            ratio = P / self.values
            rest = rest - np.einsum("ij,ij->i", P, ratio)
            f = correct_values(self.values, self.correction)
            rest_change = correct_values(rest, self.correction) - rest
            return np.square(ratio) @ (f - self.values) + rest_change

    def _changed(self):
        """λ, f(λ) − λ and the eigenvectors where they differ; "shift" has no such directions."""
        change = correct_values(self.values, self.correction) - self.values
        changed = change != 0
        if self.correction in ("clip", "flip"):
            # Eigenvalues are in ascending order: the negative ones are a view, not a copy.
            changed = slice(0, int(changed.sum()))
        return self.values[changed], change[changed], self.vectors[:, changed]

    def _centred(self, k):
        return k if self.means is None else center_cross(k, self.means)


def fit_correction(K, correction):
    """The correction of the training kernel matrix K, which may be overwritten."""
    n = len(K)
    means = None
    if np.trace(K) <= 0:
        means = centering(K)
        K = center_gram(K, means, overwrite=True)
    values, U = eigh(K, vectors=correction != "shift", overwrite=True)
    if correction == "shift":
        shift = max(0.0, -float(values.min()))
        return SpectrumCorrection(correction, shift, means, np.empty(0), np.empty((n, 0)))
    if (values != 0).all():
        return SpectrumCorrection(correction, 0.0, means, values, U)
    nonzero = values != 0
    return SpectrumCorrection(correction, 0.0, means, values[nonzero], U[:, nonzero])
