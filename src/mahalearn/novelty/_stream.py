"""One pass over labelled rows: moments of the classes, and rows that are kept.

A `RowStream` of parts of the data merges with others. Which rows are kept is decided by a
pseudo-random number of each row, a function of its position: it does not depend on how the rows
were divided into parts.
"""

from typing import Any, NamedTuple

import numpy as np

from .._validation import refuse_missing_labels, refuse_mixed_labels
from ..classifiers._landmark_statistics import random_keys
from ..classifiers._sources import (
    compute,
    dask_parts,
    delayed,
    merged_tree,
    one_thread,
    part_arrays,
    part_lengths,
)
from ..formulas.moments import add_rows, merge, no_moments


class KeptRows(NamedTuple):
    """Rows with their numbers keys (m,), ascending, and class codes (m,)."""

    keys: np.ndarray
    codes: np.ndarray
    rows: np.ndarray | None = None

    @property
    def n(self):
        """Number of rows."""
        return len(self.keys)

    def at(self, index):
        """Some of the rows."""
        rows = None if self.rows is None else self.rows[index]
        return KeptRows(self.keys[index], self.codes[index], rows)

    def joined(self, other):
        """Both, in the order of their numbers."""
        parts = [part for part in (self, other) if part.rows is not None]
        if not parts:
            return self
        both = KeptRows(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        return both.at(np.argsort(both.keys, kind="stable"))


NOTHING = KeptRows(np.empty(0, np.uint64), np.empty(0, np.intp))


class Collected(NamedTuple):
    """What is collected in a pass.

    most_classes: of more classes only the sum of the scatters is kept; aside: at most this many
    rows, and at most the share `aside_share` of all, stay out of the moments; sample: this many
    rows, and of each class at least `least_of_class`, are kept beside being in the moments; seed:
    which rows.
    """

    most_classes: int
    aside: int = 0
    aside_share: float = 0.1
    sample: int = 0
    least_of_class: int = 0
    seed: int = 0


class RowStream:
    """Moments of the classes seen so far, rows set aside and rows kept.

    Classes are added as their labels come. Labels are sorted at the end (`ordered`).
    """

    def __init__(self, wanted, n_features):
        self.wanted = wanted
        self.n_features = n_features
        self.labels: list[Any] = []
        self.pooled = wanted.most_classes < 1
        self.moments = no_moments(0, n_features, pooled=self.pooled)
        self.aside = self.sample = NOTHING
        self.n_rows = 0
        self.dtype = np.float32

    def add(self, X, y=None, start=None):
        """Add checked rows; y None: one class; start: position of the first row."""
        start = self.n_rows if start is None else start
        codes = np.zeros(len(X), np.intp)
        if y is None:
            self._announce([1])
        else:
            refuse_missing_labels(y)
            labels, codes = np.unique(np.asarray(y), return_inverse=True)
            self._announce(labels.tolist())
            codes = self._places(labels.tolist())[codes]
        keys = random_keys(np.arange(start, start + len(X)), self.wanted.seed)
        self.n_rows += len(X)
        self.dtype = np.result_type(self.dtype, X.dtype)
        wanted = self.wanted
        if wanted.sample:
            self.sample = self._sampled(self.sample, KeptRows(keys, codes, X))
        if not wanted.aside:
            add_rows(self.moments, X, codes)
            return self
        limit = self.aside.keys[-1] if self.aside.n >= wanted.aside else None
        candidate = np.ones(len(X), bool) if limit is None else keys < limit
        add_rows(self.moments, X[~candidate], codes[~candidate])
        self._set_aside(KeptRows(keys, codes, X).at(np.flatnonzero(candidate)), wanted.aside)
        return self

    def merge(self, other):
        """The stream of both parts."""
        out = RowStream(self.wanted, self.n_features)
        out._announce(self.labels + other.labels)
        for part in (self, other):
            if out.pooled and not part.pooled:
                part._pool()
        places = out._places(other.labels)
        out.moments = merge(
            out._with_classes(self.moments, np.arange(len(self.labels))),
            out._with_classes(other.moments, places),
        )
        out.n_rows = self.n_rows + other.n_rows
        out.dtype = np.result_type(self.dtype, other.dtype)
        out.aside = self.aside
        out._set_aside(other.aside._replace(codes=places[other.aside.codes]), self.wanted.aside)
        theirs = other.sample._replace(codes=places[other.sample.codes])
        out.sample = out._sampled(self.sample, theirs)
        return out

    def ordered(self):
        """(classes, moments, rows set aside, sample) with the labels sorted.

        Of the rows set aside the share of all that is wanted; the others go to the moments.
        """
        refuse_mixed_labels(self.labels)
        if self.wanted.aside:
            share = max(int(self.n_rows * self.wanted.aside_share), min(5, self.n_rows // 2))
            self._set_aside(NOTHING, min(self.wanted.aside, share))
        classes, order = np.unique(np.array(self.labels), return_index=True)
        rank = np.argsort(order)
        moments = self._with_classes(self.moments, rank)
        aside, sample = (
            kept._replace(codes=rank[kept.codes]) for kept in (self.aside, self.sample)
        )
        return classes, moments, aside, sample

    def _places(self, labels):
        """Positions of labels among those seen."""
        place_of = {label: place for place, label in enumerate(self.labels)}
        return np.array([place_of[label] for label in labels], np.intp)

    def _announce(self, labels):
        seen = set(self.labels)
        new = [label for label in dict.fromkeys(labels) if label not in seen]
        if new:
            places = np.arange(len(self.labels))
            self.labels += new
            if not self.pooled and len(self.labels) > self.wanted.most_classes:
                self._pool()
            self.moments = self._with_classes(self.moments, places)

    def _pool(self):
        """From now on keep the sum of the classes' scatters only."""
        self.pooled = True
        self.moments = self.moments._replace(lower=self.moments.lower.sum(axis=0, keepdims=True))

    def _with_classes(self, moments, places):
        """Moments of the classes so far, from those of some of them."""
        return _spread(moments, places, len(self.labels), self.pooled)

    def _set_aside(self, rows, most):
        """Keep the `most` smallest numbers aside; the other rows go to the moments."""
        rows = self.aside.joined(rows)
        self.aside, back = rows.at(slice(0, most)), rows.at(slice(most, None))
        if back.n:
            add_rows(self.moments, back.rows, back.codes)

    def _sampled(self, a, b):
        """The smallest numbers of all, and of each class."""
        rows, wanted = a.joined(b), self.wanted
        keep = np.arange(rows.n) < wanted.sample
        for j in np.unique(rows.codes):
            keep[np.flatnonzero(rows.codes == j)[: wanted.least_of_class]] = True
        return rows.at(np.flatnonzero(keep))


def _spread(moments, places, n_groups, pooled):
    """Moments with their groups at `places` among n_groups."""
    if len(places) == n_groups and (places == np.arange(n_groups)).all():
        return moments
    out = no_moments(n_groups, moments.mean.shape[1], pooled=pooled)
    out.count[places], out.mean[places] = moments.count, moments.mean
    if pooled:
        return out._replace(lower=moments.lower)
    out.lower[places] = moments.lower
    return out


# --- where rows come from -------------------------------------------------------------------------


class LocalRows:
    """Rows that this process goes through, in batches.

    batches(): a fresh iterator of (X, y or None), checked and prepared.
    """

    def __init__(self, batches, n_features):
        self.batches = batches
        self.n_features = n_features

    def collect(self, wanted, mask=None):
        """A RowStream of all rows, or of those that a mask (n,) has."""
        stream = RowStream(wanted, self.n_features)
        for X, y, start in self._with_positions():
            if mask is not None:
                chosen = np.flatnonzero(mask[start : start + len(X)])
                X, y = X[chosen], None if y is None else y[chosen]
            stream.add(X, y, start if mask is None else None)
        if not stream.n_rows:
            raise ValueError("There are no rows to fit; the batches are empty.")
        return stream

    def measure(self, own, classes):
        """Distances own(X, codes) of all rows to their own classes, and their codes, (n,) each."""
        parts = [_measured(own, classes, X, y) for X, y, _ in self._with_positions()]
        return tuple(np.concatenate(values) for values in zip(*parts, strict=True))

    def _with_positions(self):
        start = 0
        for X, y in self.batches():
            yield X, y, start
            start += len(X)


def _measured(own, classes, X, y):
    codes = np.zeros(len(X), np.intp) if y is None else np.searchsorted(classes, np.asarray(y))
    return own(X, codes), codes


class DaskRows:
    """Rows of a dask collection: every part is reduced where it is, and the results are merged.

    The merge tree depends on the number of parts alone, so that the result has the same bits
    whatever the number of workers. prepare(X) is done to the rows of a part.
    """

    def __init__(self, X, y, prepare, n_features):
        self.parts, lengths = dask_parts(X, y)
        self.lengths = part_lengths(X, self.parts) if lengths is None else lengths
        self.prepare = prepare
        self.n_features = n_features

    def collect(self, wanted, mask=None):
        """A RowStream of all rows, or of those that a mask (n,) has."""
        starts = np.cumsum([0, *self.lengths]).tolist()
        parts = [
            delayed(_stream_of_part)(
                self.prepare, wanted, start, None if mask is None else mask[start:stop], *part
            )
            for part, start, stop in zip(self.parts, starts[:-1], starts[1:], strict=True)
        ]
        return merged_tree(parts, RowStream.merge)

    def measure(self, own, classes):
        """Distances own(X, codes) of all rows to their own classes, and their codes, (n,) each."""
        shared = delayed(own, traverse=False)
        parts = [delayed(_measured_part)(self.prepare, shared, classes, *p) for p in self.parts]
        return tuple(np.concatenate(values) for values in zip(*compute(parts), strict=True))


def _stream_of_part(prepare, wanted, start, mask, *part):
    X, y = part_arrays(*part)
    if mask is not None:
        X, y = X[mask], y[mask]
    with one_thread():
        return RowStream(wanted, X.shape[1]).add(prepare(X), y, start)


def _measured_part(prepare, own, classes, *part):
    X, y = part_arrays(*part)
    with one_thread():
        return _measured(own, classes, prepare(X), y)
