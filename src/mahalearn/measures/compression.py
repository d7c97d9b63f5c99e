"""Normalised compression distance."""

import bz2
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from .._validation import check_choice
from ._objects import check_not_empty, named
from .base import Measure, Prepared


def _lzma(data):
    # Without container and check sum, whose 60 bytes would drown short objects; and with a
    # dictionary no larger than the data, since allocating the usual 64 MiB takes far longer.
    size = max(4096, len(data))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": size}]
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters)


COMPRESSORS = {
    "zlib": partial(zlib.compress, level=9),
    "bz2": partial(bz2.compress, compresslevel=9),
    "lzma": _lzma,
}


@dataclass(frozen=True)
class _Texts(Prepared):
    """Objects as bytes, with the compressed length of each."""

    texts: list
    lengths: np.ndarray


class Compression(Measure):
    """Normalised compression distance of strings or bytes.

    NCD(x, y) = (C(xy) − min(C(x), C(y))) / max(C(x), C(y)), C the compressed length and xy the two
    one after the other [1]_. C(xy) and C(yx) differ, so the measure is not quite symmetric, and
    NCD(x, x) is small but not 0.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    compressor : {"zlib", "bz2", "lzma"} or callable, default="zlib"
        Compression method.

        - "zlib": finds repetitions within 32 KiB.
        - "bz2": finds repetitions within blocks of 900 kB.
        - "lzma": for longer objects.
        - callable: a function that takes and returns bytes.

    See Also
    --------
    mahalearn.measures.EditDistance : Edit distance of sequences.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] R. Cilibrasi and P. Vitányi, Clustering by compression, IEEE Transactions on Information
       Theory 51, 2005.

    Examples
    --------
    >>> from mahalearn.measures import Compression
    >>> ncd = Compression("zlib")
    >>> sheep, digits = "baa, baa, black sheep; " * 3, "3.14159265358979" * 4
    >>> ncd(sheep, sheep) < 0.2 < 0.6 < ncd(sheep, digits)
    True
    """

    symmetric = False
    self_value = None
    block_size = 64

    def __init__(
        self, compressor: Literal["zlib", "bz2", "lzma"] | Callable[..., Any] = "zlib"
    ) -> None:
        self.compressor = compressor

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        """True for the named compressors, which release the lock; functions do not."""
        return isinstance(self.compressor, str)

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        compress = self._compress()
        joint = np.array([[len(compress(a + b)) for b in Q.texts] for a in P.texts], dtype=float)
        small = np.minimum.outer(P.lengths, Q.lengths)
        return (joint - small) / np.maximum.outer(P.lengths, Q.lengths)

    def _compress(self):
        if callable(self.compressor):
            return self.compressor
        return COMPRESSORS[check_choice(self.compressor, "compressor", tuple(COMPRESSORS))]

    def _prepared(self, X, rows=None):
        compress, texts = self._compress(), []
        for name, x in named(X, rows is not None):
            if not isinstance(x, (str, bytes, bytearray)):
                raise ValueError(
                    f"{name} must be a string or bytes to be compressed; got {type(x).__name__}. "
                    "For arrays take their tobytes()."
                )
            check_not_empty(x, name)
            texts.append(x.encode("utf-8", "surrogatepass") if isinstance(x, str) else bytes(x))
        lengths = [len(compress(text)) for text in texts]
        if min(lengths) == 0:
            raise ValueError("The compressor returned nothing for an object; it must return bytes.")
        return _Texts(texts, np.array(lengths))
