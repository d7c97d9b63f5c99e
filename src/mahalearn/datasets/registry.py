"""The table of the sets that can be loaded: sources, shapes and class counts.

Shapes and class counts are those of the papers' tables (A, table 2; C, table 6; the IDA benchmark),
so that a wrong file is noticed before a wrong number is printed.
"""

from dataclasses import dataclass
from typing import Literal

from .._validation import check_choice


@dataclass(frozen=True)
class OpenML:
    """How the set is found in OpenML, and what turns it into the paper's."""

    data_id: int
    target: str | None = None  # None: OpenML's default target
    classes: tuple = ()  # OpenML's spellings, in the order of the entry's; () if they are the same
    merge: tuple = ()  # pairs (OpenML's class, the one it counts as)


@dataclass(frozen=True)
class Entry:
    """A set of the papers, or one that others use (paper "")."""

    name: str
    paper: str
    file: str | None
    counts: dict  # class -> objects, in the paper's order
    n_features: int | None
    source: str
    description: str
    status: str = "original"
    licence: str = "none stated"
    train_fraction: float | None = None
    openml: OpenML | None = None
    drop: tuple = ()  # how the names of columns begin that the paper does not use
    complete_only: bool = False  # rows with missing cells are left out
    split_sizes: tuple | None = None

    @property
    def n_objects(self):
        """Number of objects."""
        return sum(self.counts.values())


_PRTOOLS = "none stated by the copy (PRTools; public UCI or StatLib origin)"
_UCI = "UCI Machine Learning Repository"
_TEN_DIGITS = {str(digit): 200 for digit in range(10)}


def _a(name, counts, n_features, description, fraction=0.5, source=_UCI, npz=False, **details):
    file = f"uci/{name.replace('-', '_')}.{'npz' if npz else 'csv'}"
    return Entry(
        name,
        "A",
        file,
        counts,
        n_features,
        source,
        description,
        licence=_PRTOOLS,
        train_fraction=fraction,
        **details,
    )


_PAPER_A = [
    _a(
        "biomed",
        {"normal": 127, "carrier": 67},
        5,
        "Blood measurements of carriers of a genetic disorder; the 194 complete rows of 209.",
        source="StatLib",
        openml=OpenML(481),
        drop=("observation", "hospital", "date"),
        complete_only=True,
    ),
    _a(
        "diabetes",
        {"negative": 500, "positive": 268},
        8,
        "Pima Indians diabetes.",
        openml=OpenML(37, classes=("tested_negative", "tested_positive")),
    ),
    _a(
        "ecoli",
        {"cp": 143, "im": 77, "pp": 52},
        6,
        "Protein localisation, the three largest classes. The feature chg is constant on them and "
        "is left out, which gives the paper's six.",
        openml=OpenML(39),
        drop=("chg",),
    ),
    _a(
        "glass",
        {"BuildingFloat": 70, "BuildingNonFloat": 76, "Car": 17, "Other": 51},
        9,
        "Glass identification; containers, tableware and headlamps are one class, as in the paper.",
        openml=OpenML(
            41,
            classes=(
                "build wind float",
                "build wind non-float",
                "vehic wind float",
                "headlamps",
            ),
            merge=(("containers", "headlamps"), ("tableware", "headlamps")),
        ),
    ),
    _a(
        "heart",
        {"absent": 160, "present": 137},
        13,
        "Cleveland heart disease, the 297 complete rows of 303.",
        openml=OpenML(194, classes=("0", "1"), merge=(("2", "1"), ("3", "1"), ("4", "1"))),
        complete_only=True,
    ),
    _a(
        "imox",
        {"I": 48, "M": 48, "O": 48, "X": 48},
        8,
        "Handwritten capitals I, M, O, X by eight distances from the frame. Not in OpenML.",
        source="PRTools",
    ),
    _a(
        "ionosphere",
        {"good": 225, "bad": 126},
        34,
        "Radar returns; the second feature is constant.",
        openml=OpenML(59, classes=("g", "b")),
    ),
    _a(
        "liver",
        {"selector1": 145, "selector2": 200},
        6,
        "BUPA liver disorders; the classes are the selector column, as usual in the literature.",
        openml=OpenML(8, target="selector", classes=("1", "2")),
    ),
    _a(
        "mfeat-fac",
        _TEN_DIGITS,
        216,
        "Handwritten digits, profile correlations.",
        fraction=0.15,
        npz=True,
        openml=OpenML(12, classes=tuple("123456789") + ("10",)),
    ),
    _a(
        "mfeat-fou",
        _TEN_DIGITS,
        76,
        "Handwritten digits, Fourier coefficients.",
        fraction=0.15,
        npz=True,
        openml=OpenML(14, classes=tuple("123456789") + ("10",)),
    ),
    _a(
        "sonar",
        {"rock": 97, "mine": 111},
        60,
        "Sonar returns from rocks and mines.",
        openml=OpenML(40, classes=("Rock", "Mine")),
    ),
    _a(
        "wine",
        {"cultivar1": 59, "cultivar2": 71, "cultivar3": 48},
        13,
        "Chemical analysis of wines of three cultivars.",
        openml=OpenML(187, classes=("1", "2", "3")),
    ),
]


def _ida(name, n_minus, n_plus, n_features, n_train, n_test, note):
    return Entry(
        f"ida-{name}",
        "B",
        f"ida/{name.replace('-', '_')}.npz",
        {"-1": n_minus, "+1": n_plus},
        n_features,
        "IDA benchmark repository (G. Rätsch)",
        note,
        split_sizes=(n_train, n_test),
    )


_TEN = "Realisations 1 to 10 of 100."
_NO_SPLITS = "The benchmark's own splits are lost; realisations() draws random ones of their sizes."
_PAPER_B = [
    _ida("banana", 2924, 2376, 2, 400, 4900, _TEN),
    _ida("breast-cancer", 196, 81, 9, 200, 77, _TEN),
    _ida("diabetis", 500, 268, 8, 468, 300, "One realisation, its number unknown."),
    _ida("flare-solar", 477, 589, 9, 666, 400, _NO_SPLITS),
    _ida("german", 700, 300, 20, 700, 300, _TEN),
    _ida("heart", 150, 120, 13, 170, 100, f"Statlog heart, not Cleveland. {_TEN}"),
    _ida("image", 990, 1320, 18, 1300, 1010, "Realisations 1 to 10 of 20."),
    _ida("ringnorm", 3736, 3664, 20, 400, 7000, f"Standardised DELVE ringnorm. {_TEN}"),
    _ida("splice", 1648, 1527, 60, 1000, 2175, _NO_SPLITS),
    _ida("thyroid", 150, 65, 5, 140, 75, _NO_SPLITS),
    _ida("titanic", 1490, 711, 3, 150, 2051, f"Only 24 distinct rows. {_TEN}"),
    _ida("twonorm", 3697, 3703, 20, 400, 7000, "Standardised DELVE twonorm. Realisation 1 of 100."),
    _ida("waveform", 3353, 1647, 21, 400, 4600, _TEN),
]


def _c(name, file, counts, source, description, fraction, n_features=None, **details):
    return Entry(
        name, "C", file, counts, n_features, source, description, train_fraction=fraction, **details
    )


_POLYGONS = {"quadrilateral": 2000, "heptagon": 2000}
_GENERATED = {"status": "rebuilt", "licence": "generated, free"}
_NIST = {"3": 200, "8": 200}
_PENS = dict(zip("0123456789", (363, 364, 364, 336, 364, 335, 336, 364, 336, 336)))
_KIMIA = {f"shape {i}": 12 for i in range(1, 19)}
_BANDS = {f"chromosome {i}": 200 for i in range(1, 22)}
_PAPER_C = [
    _c(
        "cat-cortex",
        "dissimilarity/catcortex.npz",
        {"A": 10, "F": 19, "S": 18, "V": 18},
        "PRDisData",
        "Connection strengths of 65 cortical areas of a cat, on an ordinal scale.",
        0.8,
    ),
    _c(
        "protein",
        "dissimilarity/protein.npz",
        {"HA": 72, "HB": 72, "M": 39, "G": 30},
        "R package evclust",
        "Evolutionary distances of globins, rounded to two decimals. C's table 6 gives a largest "
        "class of 77; every copy of these 213 proteins has 72.",
        0.8,
        licence="GPL-3 (package evclust)",
    ),
    _c(
        "news-cor",
        "dissimilarity/20news_w100.npz",
        {"comp.*": 167, "rec.*": 128, "sci.*": 102, "talk.*": 203},
        "20 Newsgroups, 100 words (S. Roweis)",
        "The paper's correlation measure on 600 seeded documents of at least two words, in class "
        "sizes that keep its 102 to 203; which 600 the paper took is unknown.",
        0.6,
        status="rebuilt",
    ),
    _c(
        "heart-gower",
        "uci/heart_raw303.csv",
        {"present": 139, "absent": 164},
        _UCI,
        "Cleveland heart disease, all 303 rows, by Gower's distance √(1 − s); six missing cells "
        "are left out pair by pair.",
        0.8,
        n_features=13,
        status="rebuilt",
        licence=_PRTOOLS,
        openml=OpenML(194, classes=("1", "0"), merge=(("2", "1"), ("3", "1"), ("4", "1"))),
    ),
    _c(
        "poly-h",
        None,
        _POLYGONS,
        "generated (mahalearn.datasets.polygons)",
        "Convex quadrilaterals and irregular heptagons by the Hausdorff distance of the vertices.",
        0.05,
        **_GENERATED,
    ),
    _c(
        "poly-mh",
        None,
        _POLYGONS,
        "generated (mahalearn.datasets.polygons)",
        "The same polygons by the modified Hausdorff distance.",
        0.05,
        **_GENERATED,
    ),
    _c(
        "nist38-eu",
        "uci/nist16.npz",
        _NIST,
        "NIST digits of PRTools (16 × 16)",
        "Digits 3 and 8, Euclidean distance of the grey values; 200 of each, the paper has 1000.",
        0.1,
        status="stand-in",
        licence=_PRTOOLS,
    ),
    _c(
        "nist38-mh",
        "uci/nist16.npz",
        _NIST,
        "NIST digits of PRTools (16 × 16)",
        "Digits 3 and 8, modified Hausdorff distance of the pixels darker than half; 200 of each.",
        0.1,
        status="stand-in",
        licence=_PRTOOLS,
    ),
    _c(
        "pen-ang",
        "uci/pendigits.npz",
        _PENS,
        _UCI,
        "Pen digits (UCI's test part), edit distance of the seven steps between eight resampled "
        "points, substitution by the angle between steps. The paper had the raw strokes.",
        0.15,
        status="stand-in",
    ),
    _c(
        "pen-dis",
        "uci/pendigits.npz",
        _PENS,
        _UCI,
        "The same steps, substitution by their Euclidean distance.",
        0.15,
        status="stand-in",
    ),
    *(
        _c(
            f"chicken{length}",
            "dissimilarity/kimia216.npz",
            _KIMIA,
            "Kimia silhouettes of PRTools (216 shapes)",
            f"Contours cut into chords of length {length}, edit distance of the turning angles "
            "(insertion and deletion 45°, substitution the absolute difference). Kimia's "
            "silhouettes stand in for the chicken pieces, which are not public any more.",
            0.8,
            status="stand-in",
            licence=_PRTOOLS,
        )
        for length in (15, 29)
    ),
    *(
        _c(
            f"chromo-{code}",
            "dissimilarity/cbands.npz",
            _BANDS,
            "Chromosome banding profiles of PRTools",
            f"Banding profiles in six levels, edit distance of the {what} codes; the first 200 "
            "profiles of chromosomes 1 to 21 stand in for the Copenhagen strings.",
            0.1,
            status="stand-in",
            licence=_PRTOOLS,
        )
        for code, what in (("dif", "difference"), ("abs", "absolute"))
    ),
]

_OTHERS = [
    Entry(
        "coil-york",
        "",
        "dissimilarity/coilyork.npz",
        {"-1": 144, "+1": 144},
        None,
        "Coil-York (two classes; copy of IKSVM-DC)",
        "A set of the literature on indefinite kernels, with its published split: 144 objects to "
        "train on, and 144 others by their dissimilarities to those. The two values of a training "
        "pair are averaged.",
        licence="free for academic, non-profit use",
        split_sizes=(144, 144),
    ),
]

ENTRIES = {entry.name: entry for entry in (*_PAPER_A, *_PAPER_B, *_PAPER_C, *_OTHERS)}
# Sets of paper C that are in no public place any more, and that nothing at hand stands in for.
LOST = ("mucosa", "prodom", "files", "zongker")


def names(paper: Literal["A", "B", "C"] | None = None) -> list[str]:
    """Names of the sets that `load` accepts.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    paper : {"A", "B", "C"}, default=None
        Only the sets of this paper: A the twelve UCI sets, B the IDA benchmark, C the proximity
        data. None for all, and Coil-York, which is of none of them.

    Returns
    -------
    list of str
        Names, in the order of the papers' tables.

    See Also
    --------
    load : Load a data set of the papers by name.

    Examples
    --------
    >>> from mahalearn.datasets import names
    >>> names("A")[:3]
    ['biomed', 'diabetes', 'ecoli']
    """
    if paper is not None:
        paper = check_choice(paper, "paper", ("A", "B", "C"))
    return [entry.name for entry in ENTRIES.values() if paper in (None, entry.paper)]


def find(name):
    """The entry of a name, whatever its case; _ counts as -."""
    plain = name.lower().replace("_", "-") if isinstance(name, str) else name
    if plain in LOST:
        raise ValueError(
            f"Paper C's set {plain!r} is no longer published and has no stand-in. If you have its "
            "matrix, use it directly: the classifiers take kernel='precomputed'."
        )
    return ENTRIES[check_choice(plain, "name", tuple(ENTRIES))]
