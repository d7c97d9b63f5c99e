"""Prediction at landmarks: kernel rows, then a triangular product per class."""

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from .._validation import check_finite_distances, take
from ..kernels.training import row_chunks

# Rows at a time: kernel values and their projections stay in the processor's cache.
_PIECE = 512


class _LandmarkPredictor:
    """What the models share: kernel rows in pieces, and the residual."""

    def use_rows(self, rows):
        """Take queries as another LandmarkKernel of the same landmarks does."""
        self.rows = rows

    def residual(self, X, self_similarity=None):
        """What the landmarks leave over of each object, k(x, x) − φᵀJφ, (n,)."""
        own = self._own(X, self_similarity)
        if own is None:
            raise ValueError(_UNKNOWN_SELF)
        parts = [self.features.residual(own[rows], k) for rows, k in self._pieces(X)]
        return np.concatenate(parts).astype(float)

    def _own(self, X, given):
        if given is None:
            return self.rows.self_similarities(X)
        given = np.asarray(given, dtype=float)
        if given.shape != (len(X),) or not np.isfinite(given).all():
            raise ValueError(
                f"self_similarity must be {len(X)} finite numbers, k(x, x) for each row of X; "
                f"got shape {given.shape}."
            )
        return given

    def _pieces(self, X):
        """(rows, kernel rows) of queries; the array is used again for the next piece."""
        m = len(self.rows)
        buffer = None
        for rows in row_chunks(len(X), 3 * m, _PIECE * 3 * m):
            part = take(X, rows)
            if buffer is None:
                buffer = np.empty((len(part), m), self.rows.dtype)
            yield rows, self.rows.rows(part, out=buffer[: len(part)])


_UNKNOWN_SELF = (
    "These distances depend on k(x, x), which precomputed kernel rows do not tell; pass "
    "self_similarity, or use a kernel object."
)


class LinearLandmarkModel(_LandmarkPredictor):
    """Scores Aᵀk + b for a path of values: coefficients (r, m, c), offsets (r, c)."""

    def __init__(self, rows, features, coefficients, offsets):
        self.rows = rows
        self.features = features
        self.coefficients = coefficients
        self.offsets = offsets

    def at(self, i):
        """The model of one value of the path."""
        part = slice(i, i + 1) if i >= 0 else slice(i, None)
        return LinearLandmarkModel(
            self.rows, self.features, self.coefficients[part], self.offsets[part]
        )

    def scores(self, X, *, complete=False):
        """Scores of objects, (r, n, c); they are always complete."""
        r, m, c = self.coefficients.shape
        A = np.moveaxis(self.coefficients, 0, 1).reshape(m, r * c).astype(self.rows.dtype)
        out = np.full((r, len(X), c), np.nan)
        for rows, k in self._pieces(X):
            out[:, rows] = np.moveaxis((k @ A).reshape(len(k), r, c), 1, 0)
        return out + self.offsets[:, None]


class QuadraticLandmarkModel(_LandmarkPredictor):
    """Scores −d²/2 + b for a path of values: one QuadraticForm per class, offsets (r, c)."""

    embedding = None

    def __init__(self, rows, features, forms, offsets):
        self.rows = rows
        self.features = features
        self.forms = forms
        self.offsets = offsets
        self._fast = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_fast"}

    def __setstate__(self, state):
        vars(self).update(state, _fast=None)

    def at(self, i):
        """The model of one value of the path."""
        part = slice(i, i + 1) if i >= 0 else slice(i, None)
        forms = [
            form._replace(
                weights=form.weights[:, part],
                self_weights=form.self_weights[part],
                log_volumes=form.log_volumes[part],
            )
            for form in self.forms
        ]
        out = QuadraticLandmarkModel(self.rows, self.features, forms, self.offsets[part])
        out.embedding = self.embedding
        return out

    @property
    def self_cancels(self):
        """Whether k(x, x) has one weight for all classes, and so no part in the decision."""
        s = np.column_stack([form.self_weights for form in self.forms])
        return bool((np.ptp(s, axis=1) <= 1e-12 * np.abs(s).max(axis=1)).all())

    def sq_distances(self, X, self_similarity=None):
        """Squared distances of objects to the classes, (r, n, c).

        With landmarks they are approximations. That to an object's own class is biased upwards:
        what the landmarks leave over of the object counts as if no class explained it.
        """
        if not any(form.self_weights.any() for form in self.forms):
            return self._sq_distances(X, None)
        own = self._own(X, self_similarity)
        if own is None:
            raise ValueError(_UNKNOWN_SELF)
        return self._sq_distances(X, own)

    def scores(self, X, *, complete=False):
        """Scores of objects, the largest wins, (r, n, c).

        Where k(x, x) has one weight for all classes, what it gives to each of them is left out,
        which saves half of the work; not if `complete`, unless k(x, x) is not known.
        """
        if self.self_cancels and not (complete and self._own(X, None) is not None):
            d2 = self._sq_distances(X, None)
        else:
            d2 = self.sq_distances(X)
        d2 /= -2
        d2 += self.offsets[:, None]
        return d2

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def _sq_distances(self, X, own):
        """d² with k(x, x) = own, or, where own is None, without the part that all classes share."""
        r, c = self.offsets.shape
        out = np.full((r, len(X), c), np.nan)
        forms = self._compiled()
        workspace = None
        for rows, k in self._pieces(X):
            if workspace is None:
                workspace = np.empty_like(k)
            left = None
            if own is not None:
                definite = self.forms[0].linear is None
                see = self.features.residual if definite else self.features.self_similarities
                left = see(own[rows], k)
            for j, form in enumerate(forms):
                out[:, rows, j] = form.sq_distances(k, left, workspace[: len(k)])
        return check_finite_distances(out)

    def _compiled(self):
        if self._fast is None:
            single = self.offsets.shape[0] == 1
            kind = _OneForm if single else _PathForm
            self._fast = [kind(form, self.rows.dtype) for form in self.forms]
        return self._fast


class _PathForm:
    """A form for many values: one projection, then weights of its squares."""

    def __init__(self, form, dtype):
        self.form = form
        self.mean = form.mean.astype(dtype)
        self.projection = np.ascontiguousarray(form.projection, dtype=dtype)
        self.weights = form.weights.astype(dtype)

    def sq_distances(self, k, own, workspace):
        """d², (r, q)."""
        np.subtract(k, self.mean, out=workspace)
        P = workspace @ self.projection
        P *= P
        return _with_self(self.form, (P @ self.weights).T.astype(float), k, own)


class _OneForm:
    """A form for one value: vᵀAv as ‖Rv‖² with a triangular R where A is nonnegative."""

    def __init__(self, form, dtype):
        self.form = form
        self.mean = form.mean.astype(dtype)
        w = form.weights[:, 0]
        m = len(form.mean)
        used = w != 0
        F = form.projection[:, used] * np.sqrt(np.abs(w[used]))
        self.signs = self.R = None
        if (w >= 0).all() and 2 * F.shape[1] > m:
            (R,) = linalg.qr(F.T, mode="r", check_finite=False)
            self.R = np.zeros((m, m), dtype, order="F")
            self.R[: min(R.shape)] = np.triu(R)[: min(R.shape)]
            self.multiply = blas.dtrmm if np.dtype(dtype) == np.float64 else blas.strmm
            return
        self.F = np.ascontiguousarray(F, dtype=dtype)
        self.signs = np.sign(w[used]).astype(dtype)

    def sq_distances(self, k, own, workspace):
        """d², (1, q)."""
        np.subtract(k, self.mean, out=workspace)
        if self.R is not None:
            self.multiply(1.0, self.R, workspace.T, overwrite_b=1)
            d2 = np.einsum("ij,ij->i", workspace, workspace)
        else:
            P = workspace @ self.F
            P *= P
            d2 = P @ self.signs
        return _with_self(self.form, d2[None].astype(float), k, own)


def _with_self(form, d2, k, own):
    """Add the part of k(x, x); own None leaves out what is common to all classes."""
    s = form.self_weights
    if not s.any():
        return d2
    if form.linear is None:
        return d2 if own is None else d2 + np.outer(s, own)
    own = form.constant - k @ form.linear.astype(k.dtype) + (0.0 if own is None else own)
    return d2 + np.outer(s, own)
