"""Alignment scores of biological sequences, by parasail."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from .._lazy import extra_module
from .._typing import ArrayLike
from .._validation import check_choice, is_whole
from ._objects import check_not_empty, named
from .base import Measure, Prepared

Mode = Literal["local", "global"]
# Scores up to this size, and intermediate values, fit the 16 bits that parasail is fastest with.
_SHORT = 2**15 - 2**10


@dataclass(frozen=True)
class _Sequences(Prepared):
    """Sequences of letters, the score of each with itself, and the bits that scores need."""

    common = ("bits",)
    texts: list
    self_scores: np.ndarray
    bits: int


class Alignment(Measure):
    """Dissimilarity of two sequences by their best alignment: Smith–Waterman, Needleman–Wunsch.

    The score s of an alignment is the sum of the scores of its pairs of letters, less the cost of
    its gaps. With ``normalize=True`` the measure is the dissimilarity
    1 − s(a, b)/√(s(a, a)·s(b, b)), which is 0 for equal sequences; otherwise it is the score, a
    similarity. Needs parasail (``pip install "mahalearn[bio]"``).

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    mode : {"local", "global"}, default="local"
        Kind of alignment.

        - "local": best alignment of any two parts (Smith–Waterman [1]_).
        - "global": alignment of the whole sequences, gaps at the ends included
          (Needleman–Wunsch [2]_).
    matrix : str or (str, array), default="blosum62"
        Scores of two letters: the name of a matrix of parasail ("blosum45", "pam250", "nuc44" …),
        in upper or lower case; or an alphabet and a symmetric table of whole numbers, such as
        ``("ACGT", 3 * np.eye(4, dtype=int) - 2)``.
    gap_open : int, default=11
        Cost of a gap of one letter.
    gap_extend : int, default=1
        Cost of each further letter of a gap, at most gap_open.
    normalize : bool, default=True
        Whether to normalise by the scores of the sequences with themselves.

    See Also
    --------
    mahalearn.measures.EditDistance : Edit distance of sequences.
    mahalearn.measures.pairwise : Matrix of all pairs.

    References
    ----------
    .. [1] T. F. Smith and M. S. Waterman, Identification of common molecular subsequences, Journal
       of Molecular Biology 147, 1981; O. Gotoh, An improved algorithm for matching biological
       sequences, ibid. 162, 1982, for affine gaps.
    .. [2] S. B. Needleman and C. D. Wunsch, A general method applicable to the search for
       similarities in the amino acid sequence of two proteins, ibid. 48, 1970.

    Examples
    --------
    >>> from mahalearn.measures import Alignment
    >>> Alignment(normalize=False)("HEAGAWGHEE", "PAWHEAE")
    17.0
    >>> round(Alignment()("HEAGAWGHEE", "PAWHEAE"), 3)
    0.675
    """

    block_size = 128

    def __init__(
        self,
        mode: Mode = "local",
        matrix: str | tuple[str, ArrayLike] = "blosum62",
        gap_open: int = 11,
        gap_extend: int = 1,
        normalize: bool = True,
    ) -> None:
        self.mode = mode
        self.matrix = matrix
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.normalize = normalize

    @property
    def dissimilarity(self) -> bool:  # type: ignore[override]
        """True unless the values are scores, which are larger for similar sequences."""
        return bool(self.normalize)

    @property
    def self_value(self) -> float | None:  # type: ignore[override]
        """Value of a sequence with itself; a score has to be computed."""
        return 0.0 if self.normalize else None

    def _prepared(self, X, rows=None):
        self._check_gaps()
        matrix, letters = self._matrix()
        objects = named(X, rows is not None)
        texts = [self._text(x, name, letters) for name, x in objects]
        bits = self._bits(matrix, max(len(text) for text in texts))
        create, align = self._functions(bits)
        gaps = (self.gap_open, self.gap_extend)
        self_scores = np.array([float(align(create(a, matrix), a, *gaps).score) for a in texts])
        if self.normalize and (self_scores <= 0).any():
            i = int(np.argmax(self_scores <= 0))
            raise ValueError(
                f"{objects[i][0]} ({texts[i][:20]!r}) has the score {self_scores[i]:g} with "
                "itself, which cannot be used for normalisation; remove it, or pass "
                "normalize=False."
            )
        return _Sequences(texts, self_scores, bits)

    def _check_gaps(self):
        for name, value in (("gap_open", self.gap_open), ("gap_extend", self.gap_extend)):
            if not is_whole(value) or not 0 <= value < _SHORT:
                raise ValueError(
                    f"{name} must be a whole number that is not negative; got {value!r}."
                )
        if self.gap_extend > self.gap_open:
            raise ValueError(
                f"gap_extend={self.gap_extend} is larger than gap_open={self.gap_open}: several "
                "short gaps would cost less than one long gap. Let it be at most gap_open."
            )

    def _bits(self, matrix, longest):
        """Bits that the scores of sequences of this length, and intermediate values, need."""
        size = longest * max(abs(int(matrix.max)), abs(int(matrix.min)))
        bound = 2 * (size + self.gap_open + longest * self.gap_extend)
        if bound >= 2**30:
            raise ValueError(
                f"Sequences of {longest} letters with these scores and gap costs exceed 32 bits; "
                "use smaller scores."
            )
        return 16 if bound < _SHORT else 32

    def block(self, P: Any, Q: Any) -> np.ndarray:
        """Values between two slices of prepared objects, see Measure."""
        create, align = self._functions(max(P.bits, Q.bits))
        matrix, _ = self._matrix()
        same = Q is P
        scores = np.zeros((len(P), len(Q)))
        for i, a in enumerate(P.texts):
            profile = create(a, matrix)
            first = i if same else 0
            scores[i, first:] = [
                align(profile, b, self.gap_open, self.gap_extend).score for b in Q.texts[first:]
            ]
        if same:
            scores += np.triu(scores, 1).T
        if not self.normalize:
            return scores
        return 1 - scores / np.sqrt(np.multiply.outer(P.self_scores, Q.self_scores))

    def _functions(self, bits):
        """parasail's functions for this mode and width: (profile, alignment).

        By scan: its striped functions miss the optimum where gap_open equals gap_extend.
        """
        parasail = _parasail()
        local = check_choice(self.mode, "mode", get_args(Mode)) == "local"
        name = f"{'sw' if local else 'nw'}_scan_profile_{bits}"
        return getattr(parasail, f"profile_create_{bits}"), getattr(parasail, name)

    def _matrix(self):
        """parasail's matrix, and the letters that it has scores for."""
        parasail = _parasail()
        if isinstance(self.matrix, str):
            try:
                # By attribute: parasail would take another name for that of a file.
                matrix = getattr(parasail, self.matrix.lower())
                mapper = matrix.mapper
            except AttributeError:
                raise ValueError(
                    f"parasail has no matrix {self.matrix!r}; choose one such as 'blosum62', "
                    "'blosum45', 'pam250' or 'nuc44', or pass an alphabet and a table."
                ) from None
            unknown = mapper[ord("@")]
            letters = {chr(c) for c in range(33, 127) if mapper[c] != unknown} | {"*"}
            return matrix, frozenset(x for x in letters if not x.islower())
        alphabet, table = _own_matrix(self.matrix)
        matrix = parasail.matrix_create(alphabet, 1, -1, case_sensitive=True)
        for i, row in enumerate(table):
            for j, value in enumerate(row):
                matrix.set_value(i, j, int(value))
        return matrix, frozenset(alphabet)

    def _text(self, x, name, letters):
        if not isinstance(x, str):
            raise ValueError(f"{name} must be a string of letters; got {type(x).__name__}.")
        text = str(x).upper() if isinstance(self.matrix, str) else str(x)
        if strange := sorted(set(text) - letters):
            raise ValueError(
                f"{name} contains {strange[0]!r}, for which the matrix has no scores; its letters "
                f"are {''.join(sorted(letters))}. Remove or replace such letters (X stands for any "
                "amino acid, N for any nucleotide)."
            )
        check_not_empty(text, name)
        return text


def _parasail():
    purpose = "Alignments need parasail; without it the measure 'edit' compares sequences"
    return extra_module("parasail", purpose, "bio")


def _own_matrix(matrix):
    """An alphabet of different characters and a symmetric table of whole numbers."""
    try:
        alphabet, table = matrix
        table = np.asarray(table, dtype=float)
        ok = isinstance(alphabet, str) and table.shape == (len(alphabet), len(alphabet))
        ok = ok and len(alphabet) == len(set(alphabet)) > 0 and alphabet.isascii()
        ok = ok and "*" not in alphabet
        ok = ok and bool((table == np.rint(table)).all() and (np.abs(table) < _SHORT).all())
    except (TypeError, ValueError):
        ok = False
    if not ok or (table != table.T).any():
        raise ValueError(
            "matrix must be the name of a matrix or a pair: a string of different ASCII characters "
            "(without '*') and a symmetric table of whole numbers, a row and a column for each; "
            f"got {str(matrix)[:80]!r}."
        )
    return alphabet, table
