"""One pass over labelled rows: moments of the classes, and rows that are kept.

A `RowStream` of parts of the data merges with others. Which rows are kept is decided by a
pseudo-random number of each row, a function of its position: it does not depend on how the rows
were divided into parts.
"""

import copy
import zlib
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from .._validation import (
    check_memory,
    known_codes,
    refuse_missing_labels,
    refuse_mixed_labels,
    unique_labels,
)
from ..formulas.class_metrics import unit_rows
from ..formulas.moments import add_rows, merge, no_moments
from ..training.sample import random_keys
from ..training.sources import (
    compute,
    dask_parts,
    delayed,
    merged_tree,
    one_thread,
    part_arrays,
    part_lengths,
)

# Bytes of the rows that are added to the moments or measured at a time: for a shared covariance,
# and for one of each class, which is read and written once a block.
POOLED_BLOCK, CLASS_BLOCK = 2**24, 2**28
LEAST_BLOCK = 1_024
# Rows whose distances are ranked at a time.
MEASURED_ROWS = 2**18


def prepared(X, normalize):
    """Checked rows as they enter the moments, of unit length or as they are.

    Rows in half or single precision are in single precision, others in double precision.
    """
    X = np.asarray(X)
    dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    X = check_array(X, dtype=dtype, input_name="X")
    return unit_rows(X) if normalize else X


class KeptRows(NamedTuple):
    """Rows with their numbers keys (m,), ascending, and class codes (m,)."""

    keys: np.ndarray
    codes: np.ndarray
    rows: np.ndarray

    @property
    def n(self):
        """Number of rows."""
        return len(self.keys)

    def at(self, index):
        """Some of the rows."""
        return KeptRows(self.keys[index], self.codes[index], self.rows[index])

    def joined(self, other):
        """Both, in the order of their numbers."""
        if not other.n:
            return self
        both = KeptRows(*(np.concatenate([a, b]) for a, b in zip(self, other, strict=True)))
        return both.at(np.argsort(both.keys, kind="stable"))


class Collected(NamedTuple):
    """Sums and rows that a pass collects.

    most_classes: of more classes only the sum of the scatters is kept; aside: at most this many
    rows, and at most the share `aside_share` of all, stay out of the moments; sample: this many
    rows, and of each class at least `least_of_class`, are kept beside being in the moments; seed:
    which rows.
    """

    most_classes: int
    aside: int = 0
    aside_share: float = 0.2
    sample: int = 0
    least_of_class: int = 0
    seed: int = 0


class RowBuffer:
    """Rows and their codes that come in parts of any length and leave in blocks of fixed length."""

    def __init__(self, pooled):
        self.pooled = pooled
        self.size = LEAST_BLOCK
        self.rows = self.codes = None
        self.n = 0

    def push(self, X, codes):
        """Take rows; the blocks that are full."""
        while len(X):
            if self.n and self.rows.dtype != X.dtype:
                yield self.rest()
            if not self.n:
                row = max(1, X.shape[1] * X.itemsize)
                self.size = max(LEAST_BLOCK, (POOLED_BLOCK if self.pooled else CLASS_BLOCK) // row)
            if not self.n and len(X) >= self.size:
                yield X[: self.size], codes[: self.size]
                X, codes = X[self.size :], codes[self.size :]
                continue
            if self.rows is None or self.rows.dtype != X.dtype:
                self.rows = np.empty((self.size, X.shape[1]), X.dtype)
                self.codes = np.empty(self.size, np.intp)
            taken = min(len(X), self.size - self.n)
            self.rows[self.n : self.n + taken] = X[:taken]
            self.codes[self.n : self.n + taken] = codes[:taken]
            self.n += taken
            X, codes = X[taken:], codes[taken:]
            if self.n == self.size:
                self.n = 0
                yield self.rows, self.codes

    def rest(self):
        """The rows that are left, which may be none."""
        if self.rows is None:
            return np.empty((0, 1)), np.empty(0, np.intp)
        left = self.rows[: self.n], self.codes[: self.n]
        self.rows, self.codes, self.n = None, None, 0
        return left


class RowStream:
    """Moments of the classes seen so far, rows set aside and a sample of rows.

    Classes are added as their labels come. Labels are sorted at the end (`ordered`).
    """

    def __init__(self, wanted, n_features):
        self.wanted = wanted
        self.n_features = n_features
        self.labels: list[Any] = []
        self.labelled = None
        self.pooled = wanted.most_classes < 1
        self.moments = no_moments(0, n_features, pooled=self.pooled)
        nothing = np.empty((0, n_features), np.float32)
        self.aside = self.sample = KeptRows(np.empty(0, "u8"), np.empty(0, np.intp), nothing)
        self.n_rows = 0
        self.single = True
        self.buffer = RowBuffer(self.pooled)

    def add(self, X, y=None, start=None, mask=None):
        """Add checked rows, or those that a mask (m,) has; y None: one class.

        start: position of the first row among all; None for rows that follow those so far.
        """
        positions = np.arange(len(X)) + (self.n_rows if start is None else start)
        if mask is not None:
            X, positions, y = X[mask], positions[mask], None if y is None else y[mask]
        self._check_labelled(y is not None)
        codes = self.codes(np.ones(len(X), int) if y is None else y)
        keys = random_keys(positions, self.wanted.seed)
        self.n_rows += len(X)
        self.single &= X.dtype == np.float32
        self._keep(KeptRows(keys, codes, X))
        if self.wanted.aside:
            rows = KeptRows(~keys, codes, X)
            candidate = np.ones(len(X), bool)
            if self.aside.n >= self.wanted.aside:
                candidate = rows.keys < self.aside.keys[-1]
            X, codes = X[~candidate], codes[~candidate]
            self._set_aside(rows.at(np.flatnonzero(candidate)), self.wanted.aside)
        self._add_to_moments(X, codes)
        return self

    def flush(self):
        """Bring all rows so far into the moments."""
        X, codes = self.buffer.rest()
        if len(X):
            add_rows(self.moments, X, codes)
        return self

    def __getstate__(self):
        return dict(vars(self.flush()))

    def merge(self, other):
        """The stream of both parts."""
        self.flush(), other.flush()
        out = RowStream(self.wanted, self.n_features)
        for part in (self, other):
            if part.labelled is not None:
                out._check_labelled(part.labelled)
        out._announce(self.labels + other.labels)
        places = [out._places(part.labels) for part in (self, other)]
        c, parts = len(out.labels), list(zip((self, other), places, strict=True))
        out.moments = merge(*(out._spread(part.moments, place, c) for part, place in parts))
        out.n_rows = self.n_rows + other.n_rows
        out.single = self.single and other.single
        for part, place in parts:
            aside, sample = (
                rows._replace(codes=place[rows.codes]) for rows in (part.aside, part.sample)
            )
            out._set_aside(aside, self.wanted.aside)
            out._keep(sample)
        return out

    def ordered(self):
        """(classes, counts, means, lower triangles, rows set aside, sample), the labels sorted.

        Of the rows set aside the share of all that is wanted: the others go to the moments, those
        of a copy where rows may follow. A class whose rows are all set aside is none of the
        classes; its rows have the code −1.
        """
        refuse_mixed_labels(self.labels)
        self.flush()
        stream, wanted = self, self.wanted
        most = min(wanted.aside, share_of_rows(self.n_rows, wanted.aside_share))
        if most < self.aside.n:
            stream = copy.deepcopy(self)
            stream._set_aside(self.aside.at(slice(0, 0)), most)
            stream.flush()
        classes, order = np.unique(np.array(self.labels), return_index=True)
        count, mean, lower, _ = stream.moments
        there = count[order] > 0
        classes, order = classes[there], order[there]
        rank = np.full(len(self.labels), -1)
        rank[order] = np.arange(len(order))
        aside, sample = (
            rows._replace(codes=rank[rows.codes]) for rows in (stream.aside, stream.sample)
        )
        sample = sample.at(np.flatnonzero(sample.codes >= 0))
        lowers = lower if self.pooled else [lower[j] for j in order]
        return classes, count[order], mean[order], lowers, aside, sample

    def codes(self, y):
        """Class indices of labels, in the order in which they came."""
        y = np.asarray(y)
        refuse_missing_labels(y)
        if y.dtype.kind == "f":
            check_classification_targets(y)
        labels = unique_labels(y)
        self._announce(labels.tolist())
        return self._places(labels.tolist())[np.searchsorted(labels, y)]

    def _check_labelled(self, labelled):
        if self.labelled not in (None, labelled):
            raise ValueError("Some rows came with labels and others without; give all of them y.")
        self.labelled = labelled

    def _places(self, labels):
        """Positions of labels among those seen."""
        place_of = {label: place for place, label in enumerate(self.labels)}
        return np.array([place_of[label] for label in labels], np.intp)

    def _announce(self, labels):
        seen = set(self.labels)
        new = [label for label in dict.fromkeys(labels) if label not in seen]
        if not new:
            return
        places, d = np.arange(len(self.labels)), self.n_features
        self.labels += new
        c = len(self.labels)
        pooled = c > self.wanted.most_classes
        if pooled == self.pooled and c <= len(self.moments.count):
            return
        self.pooled = pooled
        if not pooled:
            check_memory(
                2 * c * d**2,
                f"A covariance for each of {c} classes of {d} columns",
                "Use covariance='shared'.",
            )
        # Room for classes that follow: batches may come sorted.
        self.moments = self._spread(self.moments, places, max(c, 2 * len(places)))

    def _spread(self, moments, places, n_groups):
        """Moments of n_groups, those of some classes at `places`."""
        out, c = no_moments(n_groups, self.n_features, pooled=self.pooled), len(places)
        out.count[places], out.mean[places] = moments.count[:c], moments.mean[:c]
        if self.pooled:
            return out._replace(lower=moments.lower.sum(axis=0, keepdims=True))
        out.lower[places] = moments.lower[:c]
        return out

    def _set_aside(self, rows, most):
        """Keep the `most` smallest numbers aside; the other rows go to the moments."""
        rows = self.aside.joined(rows)
        self.aside, back = rows.at(slice(0, most)), rows.at(slice(most, None))
        self._add_to_moments(back.rows, back.codes)

    def _add_to_moments(self, X, codes):
        for block in self.buffer.push(X, codes):
            add_rows(self.moments, *block)

    def _keep(self, rows):
        """The smallest numbers of all, and of each class, stay in the sample."""
        n, least = self.wanted.sample, self.wanted.least_of_class
        if not n:
            return
        if self.sample.n >= n:  # most rows have no chance: do not copy them
            chance = rows.keys < self.sample.keys[n - 1]
            limits = np.full(len(self.labels), np.iinfo(np.uint64).max, np.uint64)
            if least:
                for j in np.flatnonzero(np.bincount(self.sample.codes) >= least):
                    limits[j] = self.sample.keys[self.sample.codes == j][least - 1]
                chance |= rows.keys < limits[rows.codes]
            rows = rows.at(np.flatnonzero(chance))
        rows = self.sample.joined(rows)
        keep = np.arange(rows.n) < n
        if least:
            for j in np.unique(rows.codes):
                keep[np.flatnonzero(rows.codes == j)[:least]] = True
        self.sample = rows.at(np.flatnonzero(keep))


def share_of_rows(n, share):
    """A share of n rows: at least five, and at most half of them."""
    return max(int(share * n), min(5, n // 2))


# --- where rows come from -------------------------------------------------------------------------


class LocalRows:
    """Rows that this process goes through, in batches.

    batches(): a fresh iterator of (X, y or None), checked and prepared. Later passes must bring the
    same rows: the first row of each batch tells. y: all labels, where they are known before; table:
    the rows are those of one array, so that numbers of all of them may be kept.
    """

    def __init__(self, batches, n_features, y=None, table=False):
        self.batches = batches
        self.n_features = n_features
        self.y = y
        self.table = table
        self.firsts = None

    def collect(self, wanted, mask=None):
        """A RowStream of all rows, or of those that a mask (n,) has."""
        stream = RowStream(wanted, self.n_features)
        if self.y is not None:
            stream.codes(self.y)  # room for all classes at once
        for X, y, start in self._with_positions():
            stream.add(X, y, start, None if mask is None else mask[start : start + len(X)])
        return stream.flush()

    def measure(self, measured, classes, pooled=True):
        """Parts of the rows: distances measured(X, codes) to their own classes, and codes."""
        blocks, n = [], 0
        for X, codes in self._blocks(classes, RowBuffer(pooled)):
            blocks.append((measured(X, codes), codes.copy()))
            n += len(codes)
            if n >= MEASURED_ROWS:
                yield joined(blocks)
                blocks, n = [], 0
        if blocks:
            yield joined(blocks)

    def _blocks(self, classes, buffer):
        for X, y, _ in self._with_positions():
            yield from buffer.push(X, _codes_of(y, classes, len(X)))
        if buffer.n:
            yield buffer.rest()

    def _with_positions(self):
        start, firsts = 0, []
        for X, y in self.batches():
            firsts.append((len(X), zlib.crc32(X[:1].tobytes())))
            if self.firsts is not None and firsts[-1:] != self.firsts[len(firsts) - 1 :][:1]:
                break
            yield X, y, start
            start += len(X)
        if self.firsts not in (None, firsts):
            raise ValueError(
                "The batches of a later pass are not those of the first: every pass must give the "
                "same rows in the same order (shuffle=False, no random augmentation). For a stream "
                "that comes once use partial_fit."
            )
        self.firsts = firsts


def joined(parts):
    """Distances and codes of all parts, (n,) each."""
    return tuple(np.concatenate(values) for values in zip(*parts, strict=True))


def _codes_of(y, classes, n):
    return np.zeros(n, np.intp) if y is None else known_codes(np.asarray(y), classes)


class DaskRows:
    """Rows of a dask collection: every part is reduced where it is, and the results are merged.

    The merge tree depends on the number of parts alone, so that the result has the same bits
    whatever the number of workers. y None: one class.
    """

    table = True  # distances of all rows come back at once

    def __init__(self, X, y, normalize, n_features):
        self.labelled = y is not None
        if not self.labelled:
            y = X[X.columns[0]] if hasattr(X, "columns") else X[:, 0]  # not looked at
        self.parts, lengths = dask_parts(X, y)
        self.lengths = part_lengths(X, self.parts) if lengths is None else lengths
        self.options = normalize, self.labelled
        self.n_features = n_features

    def collect(self, wanted, mask=None):
        """A RowStream of all rows, or of those that a mask (n,) has."""
        starts = np.cumsum([0, *self.lengths]).tolist()
        parts = [
            delayed(_stream_of_part)(
                self.options, wanted, start, None if mask is None else mask[start:stop], *part
            )
            for part, start, stop in zip(self.parts, starts[:-1], starts[1:], strict=True)
            if stop > start
        ]
        if not parts:
            raise ValueError("The collection has no rows.")
        return merged_tree(parts, RowStream.merge)

    def measure(self, measured, classes, pooled=True):
        """Parts of the rows: distances measured(X, codes) to their own classes, and codes."""
        shared = delayed(measured, traverse=False)
        parts = [
            delayed(_measured_part)(self.options, shared, classes, *part)
            for part, length in zip(self.parts, self.lengths, strict=True)
            if length
        ]
        yield from compute(parts)


def _part(options, part):
    normalize, labelled = options
    X, y = part_arrays(*part)
    return prepared(X, normalize), y if labelled else None


def _stream_of_part(options, wanted, start, mask, *part):
    with one_thread():
        X, y = _part(options, part)
        return RowStream(wanted, X.shape[1]).add(X, y, start, mask).flush()


def _measured_part(options, measured, classes, *part):
    with one_thread():
        X, y = _part(options, part)
        codes = _codes_of(y, classes, len(X))
        return measured(X, codes), codes
