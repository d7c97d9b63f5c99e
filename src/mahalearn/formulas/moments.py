"""Counts, means and scatters of groups of rows that merge.

The moments of a set of rows are its total weight n, its mean m and its scatter
S = Σ w (x − m)(x − m)ᵀ. Those of two sets give those of their union (Chan, Golub and LeVeque),

    m = m_a + (n_b/n) δ,   S = S_a + S_b + (n_a n_b/n) δδᵀ,   δ = m_b − m_a,

which is stable, because only differences of means are squared.
Groups are classes, or folds × classes; their rows are features, or kernel rows at landmarks.

:func:`part_moments` and :func:`merge` are all that a stream or a cluster needs: moments of parts,
merged in any order, are those of all rows up to rounding, and a fixed order gives the same bits.
Every block of rows is multiplied about an origin of its own. So rows in float32 lose no digits by a
large mean, batches may come sorted, and a constant column has a scatter of exactly 0.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

# Bytes of the rows that are read, centred and multiplied at a time: they stay in the cache.
_BLOCK_BYTES = 2**20
# Rows whose products are summed in float32 before they go to the sums in float64.
_FLOAT32_ROWS = 8192
# Rows of a matrix of which one adds the part up to the diagonal.
_STRIP = 64
# Rows of a block whose mean is its origin.
_ORIGIN_ROWS = 16
# How much the rows so far must weigh, beside those to add, for their mean to be the origin.
_FAIR_SHARE = 0.25


class Moments(NamedTuple):
    """Moments of g groups of rows with d columns; all sums are in float64.

    count (g,): total weights; mean (g, d); lower: the lower triangles of the scatters (g, d, d),
    whose upper triangles mean nothing, or the scatters' diagonals (g, d), or either of these summed
    over the groups, each about its own mean: (1, d, d) or (1, d). sq_norms (g,): sums of a further
    number of each row, its squared norm k(x, x) where the rows are kernel rows; NaN where it is not
    known, None where nobody asks.
    """

    count: np.ndarray  # type: ignore[assignment]  # tuples have a method of this name
    mean: np.ndarray
    lower: np.ndarray
    sq_norms: np.ndarray | None = None

    @property
    def scatter(self):
        """Scatters: symmetric matrices (g or 1, d, d), a new array, or diagonals (g or 1, d)."""
        return symmetric(self.lower) if self.lower.ndim == 3 else self.lower

    @property
    def pooled(self):
        """True if only the sum of the groups' scatters is there."""
        return len(self.lower) < len(self.count)

    def groups(self, index):
        """Moments of some of the groups, which have scatters of their own."""
        sq_norms = None if self.sq_norms is None else self.sq_norms[index]
        return Moments(self.count[index], self.mean[index], self.lower[index], sq_norms)

    def leading(self, d):
        """Moments of the first d columns."""
        columns = (slice(None), *[slice(d)] * (self.lower.ndim - 1))
        sq_norms = None if self.sq_norms is None else self.sq_norms.copy()
        mean, lower = self.mean[:, :d].copy(), self.lower[columns].copy()
        return Moments(self.count.copy(), mean, lower, sq_norms)


def symmetric(lower):
    """Symmetric matrices (..., d, d) with these lower triangles, a new array."""
    out = np.tril(lower, -1)
    out += np.swapaxes(out, -1, -2).copy()
    np.einsum("...ii->...i", out)[...] = np.diagonal(lower, axis1=-2, axis2=-1)
    return out


def no_moments(n_groups, n_columns, *, diagonal=False, pooled=False, sq_norms=False):
    """Moments of nothing: what any moments can be merged into."""
    shape = (1 if pooled else n_groups, *[n_columns] * (1 if diagonal else 2))
    return Moments(
        np.zeros(n_groups),
        np.zeros((n_groups, n_columns)),
        np.zeros(shape),
        np.zeros(n_groups) if sq_norms else None,
    )


def part_moments(X, codes, n_groups, weights=None, *, diagonal=False, pooled=False):
    """Moments of each group in a part of the rows.

    X (n, d); codes (n,) group indices from 0 to n_groups − 1, all of which need not be there;
    weights (n,) positive. Rows of weight 0 must be left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mahalearn.formulas.moments import merge, part_moments
    >>> X, y = np.array([[0.0], [2.0], [4.0], [7.0]]), np.array([0, 0, 0, 1])
    >>> both = merge(part_moments(X[:2], y[:2], 2), part_moments(X[2:], y[2:], 2))
    >>> both.count, both.mean.ravel(), both.scatter.ravel()
    (array([3., 1.]), array([2., 7.]), array([8., 0.]))
    """
    out = no_moments(n_groups, X.shape[1], diagonal=diagonal, pooled=pooled)
    add_rows(out, X, codes, weights)
    return out


def add_rows(to, X, codes, weights=None):
    """Merge the rows of X (n, d) into the moments of their groups, in place.

    Rows in float16 and float32 are multiplied in float32 for full scatters, about an origin of
    their own; sums of blocks are in float64. codes (n,) group indices; weights (n,) positive.
    """
    add_blocks(to, *_row_reader(X), codes, weights)


def _row_reader(X):
    """How `add_blocks` reads the rows of X, and in which precision."""

    def read(index, out):
        if X.dtype == out.dtype:
            X.take(index, axis=0, mode="clip", out=out)  # mode="raise" would copy once more
        else:
            out[:] = X[index]

    return read, np.float32 if X.dtype in (np.float16, np.float32) else np.float64


def add_blocks(to, read, dtype, codes, weights=None, *, origin=None):
    """Merge rows that are read block by block into the moments of their groups, in place.

    ``read(index, out)`` writes the rows index (b,) into out (b, d) of this dtype, and returns their
    squared norms (b,), or None where they are not known. With an origin (d,) the rows that it
    writes are relative to that; otherwise every block gets an origin of its own.
    """
    n_groups, n_columns = to.mean.shape
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_groups:
        raise ValueError(
            f"Class indices must be from 0 to {n_groups - 1}; got {np.unique(codes).tolist()}."
        )
    dtype = np.dtype(np.float64 if to.lower.ndim == 2 else dtype)
    block = int(np.clip(_BLOCK_BYTES // (max(n_columns, 1) * dtype.itemsize), 512, 8192))
    # Short integers are sorted in linear time.
    short = n_groups <= np.iinfo(np.int16).max
    order = np.argsort(codes.astype(np.int16) if short else codes, kind="stable")
    stops = np.searchsorted(codes[order], np.arange(n_groups), side="right")
    buffer = np.empty((min(block, len(order)), n_columns), dtype)
    squares, start = _Squares(to.lower.shape[1:], dtype), 0
    for target, stop in enumerate(stops[-1:] if to.pooled else stops):
        squares.lower = to.lower[target, ...]
        for first in range(start, stop, block):
            index = order[first : min(first + block, stop)]
            rows = buffer[: len(index)]
            sq_norms = read(index, rows)
            cuts = np.flatnonzero(np.diff(codes[index])) + 1 if to.pooled else ()
            for a, b in zip([0, *cuts], [*cuts, len(index)]):
                group, w = codes[index[a]], None if weights is None else weights[index[a:b]]
                squares.terms += _merge_mean(to, group, rows[a:b], w, origin)
                if to.sq_norms is not None:
                    to.sq_norms[group] += np.nan if sq_norms is None else sq_norms[a:b].sum()
            squares.add(rows)
        squares.finish()
        start = stop


def _merge_mean(to, group, rows, weights, origin):
    """Merge the weight and mean of rows, which are centred and weighted, into those of a group.

    With s = Σw(x − o) the union's scatter is that before plus Σw(x − o)(x − o)ᵀ − ssᵀ/n_b + Chan's
    term. The last two are returned, as (factor, vector); about the mean before they are −ssᵀ/n.
    """
    before, added = to.count[group], float(len(rows)) if weights is None else weights.sum()
    # In float64 the mean so far is a good origin if it stands for a fair share of the union.
    about_mean = origin is None and rows.dtype == np.float64 and before >= _FAIR_SHARE * added
    if origin is None:
        origin = to.mean[group].copy() if about_mean else _origin(rows)
        rows -= origin
    s = (np.ones(len(rows), rows.dtype) if weights is None else weights.astype(rows.dtype)) @ rows
    if weights is not None:
        rows *= np.sqrt(weights)[:, None]
    s = s.astype(np.float64, copy=False)
    to.count[group] = count = before + added
    if about_mean:
        to.mean[group] += s / count
        return [(-1 / count, s)]
    delta = origin + s / added - to.mean[group]
    to.mean[group] += added / count * delta
    return [(-1 / added, s), (before * added / count, delta)]


def _origin(rows):
    """A point near the middle of the rows, in their precision: the mean of a few.

    In a constant column it is that constant, so that no scatter is left there.
    """
    few = rows[:: -(-len(rows) // _ORIGIN_ROWS)]
    return rows[0] + np.add.reduce(few - rows[0]) / len(few)


class _Squares:
    """Σ xxᵀ of blocks of rows, and further terms f·vvᵀ, added to a scatter in place.

    lower: that scatter, a lower triangle (d, d) or a diagonal (d,), in float64. Products of rows in
    float32 are summed in float32 for a while.
    """

    def __init__(self, shape, dtype):
        self.lower = None
        self.terms = []
        self.n_rows = 0
        self.sums = np.zeros(shape, dtype) if dtype == np.float32 else None

    def add(self, rows):
        """Add the squares of rows."""
        if self.sums is None:
            add_squares(self.lower, rows)
        else:
            add_squares(self.sums, rows, fresh=self.n_rows == 0)
        self.n_rows += len(rows)
        if self.n_rows >= _FLOAT32_ROWS:
            self.finish()

    def finish(self):
        """Add what is still apart."""
        if self.sums is not None and self.n_rows:
            for i in range(0, len(self.lower), _STRIP):  # little of what is above the diagonal
                strip = slice(i, i + _STRIP), slice(i + _STRIP)
                self.lower[strip] += self.sums[strip]
        add_terms(self.lower, self.terms)
        self.terms, self.n_rows = [], 0


def add_squares(lower, rows, factor=1.0, *, fresh=False):
    """Add factor·Σxxᵀ to a lower triangle (d, d) or a diagonal (d,), in place; fresh: set it."""
    if lower.ndim == 1:
        lower += factor * np.einsum("ij,ij->j", rows, rows)
        return
    syrk = blas.dsyrk if lower.dtype == np.float64 else blas.ssyrk
    # In Fortran's order the lower triangle is the upper one.
    out = syrk(factor, rows.T, beta=0.0 if fresh else 1.0, c=lower.T, overwrite_c=1)
    assert np.shares_memory(out, lower)


def add_terms(lower, terms):
    """Add Σf·vvᵀ of (factor, vector) pairs to a lower triangle or a diagonal, in place."""
    for sign in (1, -1):
        vectors = [(sign * f) ** 0.5 * v for f, v in terms if sign * f > 0]
        if vectors:
            add_squares(lower, np.array(vectors), sign)


def merge(a, b):
    """Moments of the union of two parts, group by group, by Chan's update."""
    if a.mean.shape != b.mean.shape or a.lower.shape != b.lower.shape:
        raise ValueError(
            f"Moments of {a.mean.shape[0]} groups and {a.mean.shape[1]} columns do not merge with "
            f"those of {b.mean.shape[0]} and {b.mean.shape[1]}. Make all parts alike."
        )
    count = a.count + b.count
    share = b.count / np.where(count > 0, count, 1.0)
    delta = b.mean - a.mean
    lower = a.lower + b.lower
    terms = list(zip(a.count * share, delta))
    for target in range(len(lower)):
        add_terms(lower[target, ...], terms if a.pooled else terms[target : target + 1])
    sq_norms = None if a.sq_norms is None else a.sq_norms + b.sq_norms
    return Moments(count, a.mean + share[:, None] * delta, lower, sq_norms)


def merged(moments, unions):
    """Moments of unions of groups: one for each list of group indices.

    They are added up, rather than taken from a total: nothing of a group that is left out, not even
    its rounding, gets into the result. The groups have scatters of their own.
    """
    n_columns, diagonal = moments.mean.shape[1], moments.lower.ndim == 2
    out = no_moments(len(unions), n_columns, diagonal=diagonal)
    for j, union in enumerate(unions):
        union = [g for g in union if moments.count[g] > 0]
        if not union:
            continue
        n, means = moments.count[union], moments.mean[union]
        out.count[j] = n.sum()
        out.mean[j] = means[0] + n @ (means - means[0]) / out.count[j]
        lower = out.lower[j, ...]
        for g in union:
            lower += moments.lower[g]
        add_terms(lower, list(zip(n, means - out.mean[j])))
    if moments.sq_norms is not None:
        sums = np.array([moments.sq_norms[list(union)].sum() for union in unions])
        out = out._replace(sq_norms=sums)
    return out
