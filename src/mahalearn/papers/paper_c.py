"""Paper C: kernel quadratic discriminants, definite and indefinite. Tables 4 to 7, figures 1, 2."""

import warnings
from functools import lru_cache, partial

import numpy as np

from .decision_maps import decision_map
from .experiment import CellData, Convention, Experiment, Measured, Measurement, Published
from .holdouts import hold_out
from .paper_methods import distance_method, kfd, knn, kpca_qd, log_grid, svm
from .publications import errors, table

TOY_WIDTHS = ("0.5", "1", "5", "10", "50", "100", "500")
BOARD_WIDTHS = ("0.05", "0.1", "0.5", "1", "5", "10", "50")
OVERALL = "s chosen"
N_TRAIN, N_TEST = (50, 50), (500, 500)
# Names in the paper's tables -> names of the sets; those without one are lost.
NAMES = {
    "Mucosa": "mucosa",
    "Heart": "heart-gower",
    "Nist38-EU": "nist38-eu",
    "Nist38-MH": "nist38-mh",
    "Poly-H": "poly-h",
    "Poly-MH": "poly-mh",
    "Cat-cortex": "cat-cortex",
    "Protein": "protein",
    "News-COR": "news-cor",
    "ProDom": "prodom",
    "Chicken15": "chicken15",
    "Chicken29": "chicken29",
    "Files": "files",
    "Pen-ANG": "pen-ang",
    "Pen-DIS": "pen-dis",
    "Zongker": "zongker",
    "Chromo-DIF": "chromo-dif",
    "Chromo-ABS": "chromo-abs",
}
# Another reading of a set's kernel, shown beside it.
READINGS = {"Heart, −√(1−s)": "Heart"}
# Spellings of table 7 that differ from table 6.
SPELLINGS = {"Prodom": "ProDom", "Pen-DIST": "Pen-DIS"}


def methods(plus, minus, sigma2, beta, C, neighbours, pca, prefix="", share=0.8):
    """Rows of the paper's tables; the indefinite ones have the prefix I."""
    distances = (("IC+", plus), ("IC-", minus), ("RC+", sigma2), ("RC-", sigma2))
    distances += (("FK+", plus), ("FK-", minus))
    return (
        *(
            distance_method(
                f"{prefix}KQD-{variant}",
                variant,
                grid,
                reg_on="covariance" if variant.startswith("RC") else "kernel",
            )
            for variant, grid in distances
        ),
        kfd(f"{prefix}KFD", beta),
        svm(f"{prefix}SVM", C, pseudo_fisher=bool(prefix)),
        knn(f"{prefix}KNN", neighbours),
        kpca_qd(f"{prefix}KPCA-QD", pca, share),
    )


def toy_methods(prefix):
    """Ranges of section V-A."""
    alpha = log_grid(1e-10, 1e-3, 8)
    return methods(
        alpha,
        alpha,
        log_grid(1e-3, 1e4, 8),
        log_grid(1e-6, 1e1, 8),
        log_grid(1e-1, 1e6, 8),
        8,
        log_grid(1e-7, 1, 8),
        prefix,
        share=0.9 if prefix else 0.8,
    )


TOY_METHODS, BOARD_METHODS = toy_methods(""), toy_methods("I")
REAL_METHODS = methods(
    log_grid(1e-6, 0.5, 12),
    log_grid(1e-8, 0.5, 12),
    log_grid(1e-6, 2, 12),
    log_grid(1e-6, 0.5, 12),
    log_grid(1e-1, 1e8, 12),
    45,
    log_grid(1e-8, 0.5, 12),
    "I",
)


def _widths(dataset, widths):
    return [float(s) for s in (widths if dataset == OVERALL else [dataset.removeprefix("s=")])]


def _drawn(generator, seed):
    rng = np.random.RandomState(seed)
    return *generator(N_TRAIN, random_state=rng), *generator(N_TEST, random_state=rng)


def toy(draw):
    """Bent normals, k = exp(−‖x − x'‖²/s²)."""
    from ..datasets.synthetic import bent_normals

    gammas = sorted(s**-2 for s in _widths(draw.dataset, TOY_WIDTHS))
    return CellData(*_drawn(bent_normals, draw.seed), kernel={"kernel": "rbf", "gammas": gammas})


def board(draw):
    """Checkerboard with the reflection-invariant kernel."""
    from ..datasets.synthetic import checkerboard, checkerboard_kernel

    widths = _widths(draw.dataset, BOARD_WIDTHS)
    # From the widest: of equally good kernels the first is taken.
    kernels = [partial(checkerboard_kernel, s=s) for s in sorted(widths, reverse=True)]
    return CellData(*_drawn(checkerboard, draw.seed), kernel={"kernels": kernels})


@lru_cache(maxsize=1)
def _loaded(dataset):
    from ..datasets.files import load

    return load(NAMES[READINGS.get(dataset, dataset)])


def _known(dataset):
    """Raise an error if the set cannot be had; the matrices are computed only when needed."""
    from ..datasets.files import find_file
    from ..datasets.registry import find

    entry = find(NAMES[READINGS.get(dataset, dataset)])
    if entry.openml is not None:
        _loaded(dataset)
    elif entry.file is not None:
        find_file(entry, None)


def _dissimilarities(dataset):
    """The matrix whose negative squares, after scaling, are the kernel of a set.

    Gower's distance is √(1 − s), so that Heart's kernel is −(1 − s); the other reading is its root.
    """
    matrix = _loaded(dataset).matrix
    return np.sqrt(matrix) if dataset in READINGS else matrix


def real(draw):
    """A hold-out of a proximity set: −d², d in units of its mean over training pairs."""
    from ..kernels.proximity_kernel import ProximityKernel

    data = _loaded(draw.dataset)
    train, test = hold_out(data.target, data.train_fraction, draw.seed)
    matrix, kernel = _dissimilarities(draw.dataset), ProximityKernel("neg_squared")
    with warnings.catch_warnings():
        # The measure of News-COR is negative for documents that are nearly equal.
        warnings.filterwarnings("ignore", message=".*dissimilarities are negative")
        K = kernel.fit_transform(matrix[np.ix_(train, train)])
    K_test = kernel.transform(matrix[np.ix_(test, train)])
    y, y_test = data.target[train], data.target[test]
    return CellData(K, y, K_test, y_test, {"kernel": "precomputed"}, data.status)


def board_spectrum(problem, seed, earlier):
    """Spectrum of the raw training kernel and the distance of the class means (table 5)."""
    from ..formulas.linalg import eigh, mean_distance_sq

    (kernel,) = problem.kernel["kernels"]
    K = kernel(problem.X)
    groups = [np.flatnonzero(problem.y == label) for label in (0, 1)]
    return _spectrum(eigh(K, vectors=False).values, mean_distance_sq=mean_distance_sq(K, *groups))


def real_spectrum(problem, seed, earlier):
    """Spectrum of the centred training kernel (table 6)."""
    from ..formulas.linalg import center_gram, centering, eigh

    K = center_gram(problem.X, centering(problem.X))
    return _spectrum(eigh(K, vectors=False).values)


def _spectrum(values, **others):
    from ..formulas.linalg import negative_fraction, signature

    p, q = signature(values)
    return Measured(values={"r_neg": negative_fraction(values), "p": p, "q": q, **others})


def published_toy(name, overall, n=10):
    """Tables 4 and 5, with the errors for a chosen s, which stand in the text."""
    return {
        **errors(name, n, lambda row: f"s={row['s']}"),
        **errors(
            "C_toy_and_checkerboard_overall",
            n,
            lambda row: OVERALL,
            where=lambda row: row["experiment"] == overall,
        ),
    }


def published_spectra(name, dataset, n, columns):
    """Spectra of tables 5 and 6."""
    return {
        (dataset(row), column): Published(float(row[column]), n=n)
        for row in table(name)
        for column in columns
    }


# One point of the share, one eigenvalue.
SPECTRUM_SLACK = {"r_neg": 0.01, "p": 1.0, "q": 1.0, "mean_distance_sq": 0.01}
SPECTRUM_DIGITS = {"r_neg": 3, "mean_distance_sq": 3}
_REFERENCES = ("KFD", "SVM", "KNN", "KPCA-QD")
_TOY = (
    Convention(
        "The paper does not print the parameters of its toy data; its abstract speaks of unequal "
        "class spreads. The generator (bent_normals) bends two normals of unequal spread along a "
        "parabola. About ten generators or variants were scored. The fits used approximations of "
        "the four reference rows, which are therefore calibration cells. The rows of the quadratic "
        "discriminants were seen before the family of shapes was chosen; the last choice used the "
        "reference rows only. These rows do not determine the generator: another fit agreed on as "
        "many of them and on eleven cells fewer in all.",
        frozenset(
            (column, method)
            for column in (*(f"s={s}" for s in TOY_WIDTHS), OVERALL)
            for method in _REFERENCES
        ),
    ),
)
_PSEUDO_FISHER = (
    "DisTools, the authors' toolbox, replaces an SVM on an indefinite kernel by the pseudo-Fisher "
    "discriminant, a least-squares fit of ±1 to the centred kernel rows, in three cases: the "
    "squared distance of the class means is negative, the squared norm of the weight vector is, or "
    "one of the classes has no support vector within its bounds. So does ISVM here."
)
_BOARD = (
    Convention(
        f"{_PSEUDO_FISHER} Two cells led to it.",
        frozenset({("s=5", "ISVM"), ("s=10", "ISVM")}),
    ),
    Convention(
        "The share of the variance that kernel PCA keeps is printed for the real data only, 0.8. "
        "With it IKPCA-QD has 16.2 and 16.6 % at s = 5 and 10 (published 12.9 and 12.8), with 0.9, "
        "used here, 13.5 and 13.5 (eight draws). Six readings were scored on test errors at four "
        "widths, and this one was kept because it came nearest: shares of 0.7, 0.8 and 0.9, "
        "positive eigenvalues alone, the share kept of each sign, α up to 10.",
        frozenset((column, "IKPCA-QD") for column in (*(f"s={s}" for s in BOARD_WIDTHS), OVERALL)),
    ),
    Convention(
        "The paper says that the ranges are slightly shifted against the toy data and does not "
        "give them; those of the toy data are used."
    ),
)
_POWER = (
    Convention(
        "The kernel is exp(−d⁴/s²) with the squared Euclidean distance d: only this gives r_neg "
        "and the signatures.",
        frozenset((f"s={s}", line) for s in BOARD_WIDTHS for line in ("r_neg", "p", "q")),
    ),
)
_SPECTRA = (
    Convention(
        "Hold-outs take ⌈β·n_j⌉ objects of each class, as PRTools' gendat does. With the nearest "
        "whole number p is 33.5 on Cat-cortex and 164.7 on Protein.",
        frozenset({("Cat-cortex", "p"), ("Protein", "p")}),
    ),
    Convention(
        "The kernel of Heart is −(1 − s) for Gower's similarity s, as the text says (−d² for "
        "Gower's distance). −√(1 − s) is shown in a separate column and is not counted: only two "
        "cells of table 7 support it. The spectrum does not distinguish the two: with the six "
        "missing cells imputed, −(1 − s) has the signature (243, 0) and r_neg .000, too."
    ),
    Convention(
        "The polygons' normalisation and the value for equal documents of News-COR were chosen "
        "for their r_neg.",
        frozenset({("Poly-H", "r_neg"), ("Poly-MH", "r_neg"), ("News-COR", "r_neg")}),
    ),
    Convention(
        "News-COR takes documents of at least two words: with shorter ones many documents are "
        "equal, and r_neg and q are not reproduced.",
        frozenset({("News-COR", "r_neg"), ("News-COR", "q")}),
    ),
)
_ERRORS = (
    Convention(
        "The published errors are means of the per-class error rates. Twelve values of each "
        "parameter are tried (the paper: 11 to 13), chosen by plain accuracy. ISVM is libsvm, "
        "one-vs-all, stopped after 100 000 iterations. Hold-outs are those of table 6."
    ),
    Convention(_PSEUDO_FISHER),
    Convention(
        "The kernel of Heart is −(1 − s), as the text says (see table 6). The published errors of "
        "exactly 50.0 for IC+ and IC− support −√(1 − s), the column that is not counted: on such "
        "a rough kernel training objects are farther from their own class than other objects are, "
        "as in paper A's figure 2, and all objects are assigned to one class. Neither kernel "
        "gives the 50.0 of FK−."
    ),
    Convention(
        "News-COR takes documents of at least two words (see table 6); the row of the nearest "
        "neighbours was seen when that was chosen.",
        frozenset({("News-COR", "IKNN")}),
    ),
    Convention(
        "Offsets for three classes and more are the least-squares solution over all pairs, as "
        "printed; the library's default keeps the pairs within their ranges of fewest errors. On "
        "the first five hold-outs of Cat-cortex, Protein, Ecoli and Glass the printed rule errs by "
        "0.9 points more (mean of 16 cells): by up to 3 with IC, by 0 to 1.7 with RC and FK."
    ),
)
# The other reading stands behind the one that is counted.
_COLUMNS = tuple(
    column
    for name in NAMES
    for column in (name, *(other for other, counted in READINGS.items() if counted == name))
)
_HEAVY = frozenset({"Chromo-DIF", "Chromo-ABS", "Nist38-MH", "Pen-ANG", "Pen-DIS"})
EXPERIMENTS = (
    Experiment(
        id="C4",
        paper="C",
        title="Bent normals: errors by kernel width (C, table 4 and section V-A)",
        source=toy,
        methods=TOY_METHODS,
        datasets=(*(f"s={s}" for s in TOY_WIDTHS), OVERALL),
        repetitions=10,
        draws=lambda _: "toy",
        published=lambda: published_toy("C_table4_toy_errors", "toy"),
        conventions=_TOY,
    ),
    Experiment(
        id="C5",
        paper="C",
        title="Checkerboard with an invariant, indefinite kernel: errors (C, table 5)",
        source=board,
        methods=BOARD_METHODS,
        datasets=(*(f"s={s}" for s in BOARD_WIDTHS), OVERALL),
        repetitions=10,
        draws=lambda _: "board",
        published=lambda: published_toy("C_table5_checkerboard_errors", "checkerboard"),
        conventions=_BOARD,
        notes=(
            "Tried without success for IKQD-RC+ at s = 5 and IKQD-IC+ at s = 0.05: ranges of α "
            "and σ² shifted by factors of 0.01, 100 and 10 000. RC+ at s = 5 stays between 47 "
            "and 53 %; IC+ at s = 0.05 falls to 48 % with the factor 0.01, but then errs by 21 "
            "to 24 % at s = 0.5 and s = 5 (five draws).",
        ),
    ),
    Experiment(
        id="C5s",
        paper="C",
        title="Checkerboard: spectra of the training kernel (C, table 5)",
        source=board,
        methods=(Measurement("spectrum", board_spectrum),),
        datasets=tuple(f"s={s}" for s in BOARD_WIDTHS),
        repetitions=10,
        quick_repetitions=10,
        draws=lambda _: "board",
        measure="values",
        published=lambda: published_spectra(
            "C_table5_checkerboard_indefiniteness",
            lambda row: f"s={row['s']}",
            10,
            ("r_neg", "p", "q", "mean_distance_sq"),
        ),
        conventions=_POWER,
        slack=SPECTRUM_SLACK,
        digits=SPECTRUM_DIGITS,
    ),
    Experiment(
        id="C6",
        paper="C",
        title="Proximity data: spectra of the centred training kernel (C, table 6)",
        source=real,
        methods=(Measurement("spectrum", real_spectrum),),
        datasets=_COLUMNS,
        readings=READINGS,
        draws=lambda dataset: READINGS.get(dataset, dataset),
        repetitions=25,
        quick_repetitions=3,
        quick_without=_HEAVY,
        measure="values",
        published=lambda: published_spectra(
            "C_table6_proximity_data", lambda row: row["dataset"], 25, ("r_neg", "p", "q")
        ),
        conventions=_SPECTRA,
        notes=(
            "A centred matrix of n objects has at most n − 1 eigenvalues that are not 0. The "
            "paper's p + q is n for Poly-H (200), so that it seems to count the zero of the "
            "centring there. News-COR has other documents.",
            "Tried without success for the polygons: 48 readings (points uniform on a square or "
            "a disc, normal, with random radii, or one in each sector; twelve normalisations), "
            "three draws each. The scaling of DisTools' hausdm (longest side of the bounding "
            "box 1, its centre at 0) gives r_neg .309 and .279 and signatures (115, 84) and "
            "(91, 108), and nearest neighbours err by 14 and 12 %: farther from the paper than "
            "the root mean square radius. Its modified Hausdorff distance is the one used here, "
            "the larger of two means. The largest radius gives (113, 86) for Poly-H, the "
            "standard deviation of each axis r_neg .246 and (91, 108) for Poly-MH, but no "
            "reading gives both sets.",
        ),
        slack=SPECTRUM_SLACK,
        digits=SPECTRUM_DIGITS,
        availability=_known,
    ),
    Experiment(
        id="C7",
        paper="C",
        title="Proximity data: balanced errors (C, table 7)",
        source=real,
        methods=REAL_METHODS,
        datasets=_COLUMNS,
        readings=READINGS,
        draws=lambda dataset: READINGS.get(dataset, dataset),
        repetitions=25,
        quick_without=_HEAVY,
        measure="balanced_error",
        published=lambda: errors(
            "C_table7_proximity_errors",
            25,
            lambda row: SPELLINGS.get(row["dataset"], row["dataset"]),
        ),
        availability=_known,
        conventions=_ERRORS,
        notes=(
            "On the original sets, Cat-cortex and Protein, the cells that differ are those of "
            "ISVM (see the errata). The documents of News-COR and the polygons are rebuilt and "
            "not the paper's.",
            "Left open: DisTools' kfd weights the scatters of the classes without priors.",
        ),
    ),
    Experiment(
        id="Cfigs",
        paper="C",
        title="Decision regions on bent normals and checkerboard (C, figures 1 and 2)",
        source=lambda draw: (toy if draw.dataset == "figure 1" else board)(
            draw._replace(dataset=OVERALL)
        ),
        methods=(
            Measurement(
                "regions",
                lambda data, seed, _: decision_map(
                    TOY_METHODS if "gammas" in data.kernel else BOARD_METHODS, data, seed
                ),
            ),
        ),
        datasets=("figure 1", "figure 2"),
        repetitions=1,
        draws=lambda dataset: "toy" if dataset == "figure 1" else "board",
        figure="maps",
    ),
)
