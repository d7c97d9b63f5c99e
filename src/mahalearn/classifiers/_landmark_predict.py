"""Prediction at landmarks: kernel rows, then a triangular product per class.

For a path of values it is one full product per class, and those of all classes, and of the models
of several folds (`sample_sq_distances`), are one wide product.
"""

from itertools import product

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from .._validation import check_finite_distances, take
from ..kernels.training import row_chunks

# Rows at a time: kernel values and their projections stay in the processor's cache.
_PIECE = 512
# Columns that kernel rows are multiplied with at a time.
WIDE = 4096


class _LandmarkPredictor:
    """What the models share: kernel rows in pieces, and the residual."""

    def use_rows(self, rows):
        """Take queries as another LandmarkKernel of the same landmarks does."""
        self.rows = rows

    def residual(self, X, self_similarity=None):
        """What the landmarks leave over of each object, k(x, x) − φᵀJφ, (n,)."""
        own = self.known_self(X, self_similarity)
        parts = [self.features.residual(own[rows], k) for rows, k in self._pieces(X)]
        return np.concatenate(parts).astype(float)

    def known_self(self, X, given=None):
        """k(x, x) of objects, (n,): as given, or by the kernel; refused where neither tells."""
        own = self._own(X, given)
        if own is None:
            raise ValueError(_UNKNOWN_SELF)
        return own

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

    def _pieces(self, X, more=0, places=None):
        """(rows, kernel rows) of queries; the array is used again for the next piece.

        more: doubles that a row needs beside them. places: of the queries in X, None for all.
        """
        m = len(self.rows)
        doubles = 2 * m + more
        buffer = None
        for rows in row_chunks(len(X if places is None else places), doubles, _PIECE * doubles):
            part = take(X, rows if places is None else places[rows])
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
        return self._sq_distances(X, self.known_self(X, self_similarity))

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

    def _sq_distances(self, X, own):
        """d² with k(x, x) = own, or, where own is None, without the part that all classes share."""
        return _sq_distances([self], X, own)[0]

    def _compiled(self):
        if self._fast is None:
            self._fast = _compile(self.forms, self.rows.dtype)
        return self._fast


def _compile(forms, dtype):
    """Forms ready to be evaluated; those of a path in groups that are multiplied together."""
    if forms[0].weights.shape[1] == 1:
        return [_OneForm(form, dtype) for form in forms]
    each = max(1, WIDE // max(len(form.weights) for form in forms))
    return [_PathForms(forms[i : i + each], dtype) for i in range(0, len(forms), each)]


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _sq_distances(models, X, own, places=None):
    """d² (r, n, c) of the same objects by each of several models at the same landmarks.

    own: k(x, x), or None to leave out the part that all classes share. places: of the objects in X,
    None for all of them.
    """
    first = models[0]
    if len(models) == 1 or len(first.offsets) == 1:
        groups = [group for model in models for group in model._compiled()]
    else:
        groups = _compile([form for model in models for form in model.forms], first.rows.dtype)
    n = len(X if places is None else places)
    out = [np.full((len(m.offsets), n, len(m.forms)), np.nan) for m in models]
    columns = [(d2, j) for d2 in out for j in range(d2.shape[-1])]
    definite = first.forms[0].linear is None
    see = first.features.residual if definite else first.features.self_similarities
    doubles, workspace = max(group.doubles for group in groups), None
    for rows, k in first._pieces(X, doubles, places):
        if workspace is None:
            workspace = np.empty(len(k) * doubles, k.dtype)
        left = None if own is None else see(own[rows], k)
        found = (d2 for group in groups for d2 in group.sq_distances(k, left, workspace))
        for (d2, j), values in zip(columns, found, strict=True):
            d2[:, rows, j] = values
    return [check_finite_distances(d2) for d2 in out]


def sample_sq_distances(models, samples):
    """d² (r, n, c) by each of several models at the same landmarks, of a RowSample for each model.

    Without the part of k(x, x) where that cancels, as in `QuadraticLandmarkModel.scores`. The
    samples are folds of one sample: what they share of a fold is evaluated together.
    """
    out = [
        np.full((len(model.offsets), len(sample), len(model.forms)), np.nan)
        for model, sample in zip(models, samples, strict=True)
    ]
    cancels = [model.self_cancels for model in models]
    folds = np.unique(np.concatenate([np.unique(sample.folds) for sample in samples]))
    for fold, kind in product(folds, (False, True)):
        places = {
            i: np.flatnonzero(sample.folds == fold)
            for i, sample in enumerate(samples)
            if cancels[i] == kind and fold in sample.folds
        }
        if not places:
            continue
        keys = [samples[i].keys[place] for i, place in places.items()]
        assert all(np.array_equal(keys[0], other) for other in keys)
        first, place = next(iter(places.items()))
        rows = samples[first].rows
        own = None if kind else models[first].known_self(take(rows, place))
        found = _sq_distances([models[i] for i in places], rows, own, place)
        for (i, place), d2 in zip(places.items(), found, strict=True):
            out[i][:, place] = d2
    return out


class _PathForms:
    """Forms for many values: one product for all of them, then weights of its squares.

    It is [k − o, 1]·matrix, about a common origin o, and subtracts the means, too.
    """

    def __init__(self, forms, dtype):
        self.forms = forms
        origin = np.mean([form.mean for form in forms], axis=0)
        shifts = [(origin - form.mean) @ form.projection for form in forms]
        projections = np.hstack([form.projection for form in forms])
        self.origin = origin.astype(dtype)
        self.matrix = np.vstack([projections, np.concatenate(shifts)]).astype(dtype)
        self.weights = [form.weights.astype(dtype) for form in forms]
        self.stops = np.cumsum([len(weights) for weights in self.weights])
        self.doubles = sum(self.matrix.shape)  # of workspace for a row

    def sq_distances(self, k, own, workspace):
        """d² of each form, (r, q)."""
        q, (m, width) = len(k), self.matrix.shape
        left = workspace[: q * m].reshape(q, m)
        P = workspace[q * m : q * (m + width)].reshape(q, width)
        np.subtract(k, self.origin, out=left[:, :-1])
        left[:, -1] = 1
        np.dot(left, self.matrix, out=P)
        np.multiply(P, P, out=P)
        for form, weights, stop in zip(self.forms, self.weights, self.stops, strict=True):
            d2 = P[:, stop - len(weights) : stop] @ weights
            yield _with_self(form, d2.T.astype(float), k, own)


class _OneForm:
    """A form for one value: vᵀAv as ‖Rv‖² with a triangular R where A is nonnegative."""

    def __init__(self, form, dtype):
        self.form = form
        self.mean = form.mean.astype(dtype)
        w = form.weights[:, 0]
        m = self.doubles = len(form.mean)
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
        """d² of the form, (1, q)."""
        workspace = workspace[: k.size].reshape(k.shape)
        np.subtract(k, self.mean, out=workspace)
        if self.R is not None:
            self.multiply(1.0, self.R, workspace.T, overwrite_b=1)
            d2 = np.einsum("ij,ij->i", workspace, workspace)
        else:
            P = workspace @ self.F
            P *= P
            d2 = P @ self.signs
        yield _with_self(self.form, d2[None].astype(float), k, own)


def _with_self(form, d2, k, own):
    """Add the part of k(x, x); own None leaves out what is common to all classes."""
    s = form.self_weights
    if not s.any():
        return d2
    if form.linear is None:
        return d2 if own is None else d2 + np.outer(s, own)
    own = form.constant - k @ form.linear.astype(k.dtype) + (0.0 if own is None else own)
    return d2 + np.outer(s, own)
