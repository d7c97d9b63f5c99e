"""Paper B: support vector machines with Mahalanobis kernels. Tables 1 and 2."""

from functools import lru_cache
from typing import NamedTuple

from ..results import error_rates
from .protocol import Experiment, Measurement, Outcome, Problem, Published
from .publications import errors, table

# Names in the paper's tables -> names of the sets.
NAMES = {
    "Banana": "banana",
    "B. Cancer": "breast-cancer",
    "Diabetes": "diabetis",
    "German": "german",
    "Heart": "heart",
    "Image": "image",
    "Ringnorm": "ringnorm",
    "F. Solar": "flare-solar",
    "Splice": "splice",
    "Thyroid": "thyroid",
    "Titanic": "titanic",
    "Twonorm": "twonorm",
    "Waveform": "waveform",
}
REALISATIONS = 100
FEWER = {"Image": 20, "Splice": 20}
CHOSEN_ON = 5
PARAMETERS = {
    "rbf_gamma": "RBF γ",
    "rbf_C": "RBF C",
    "diagonal_C": "Diagonal C",
    "diagonal_delta": "Diagonal δ",
    "full_C": "Full C",
    "full_delta": "Full δ",
}
QUICK = "chosen on 1 realisation, C up to 1000"
QUICK_CS = (1, 10, 50, 100, 500, 1000)


class TrainingSets(NamedTuple):
    """The training parts that parameters are chosen on."""

    pairs: list
    status: str
    Cs: tuple


@lru_cache(maxsize=2)
def _loaded(dataset):
    from ..datasets.files import load

    return load(f"ida-{NAMES[dataset]}")


@lru_cache(maxsize=2)
def _realisations(dataset, hundreds=1):
    # The seed belongs to the set: a run with fewer realisations has the first of the same ones.
    return _loaded(dataset).realisations(hundreds * REALISATIONS)


def training_sets(draw):
    """The first five training sets; the first alone for the shortened protocol."""
    from ..model_selection.line_search import PAPER_CS

    data = _loaded(draw.dataset)
    first = _realisations(draw.dataset)[: 1 if draw.setting else CHOSEN_ON]
    pairs = [(data.data[split.train], data.target[split.train]) for split in first]
    return TrainingSets(pairs, data.status, QUICK_CS if draw.setting else PAPER_CS)


def realisation(draw):
    """Training and test part of one realisation."""
    data = _loaded(draw.dataset)
    # Beyond the paper's number there are random splits, as where the benchmark's are lost.
    drawn = _realisations(draw.dataset, 1 + draw.repetition // REALISATIONS)
    train, test, genuine = drawn[draw.repetition]
    return Problem(
        data.data[train],
        data.target[train],
        data.data[test],
        data.target[test],
        status=data.status,
        values={"genuine": bool(genuine)},
    )


def choose_rbf(sets, seed, earlier):
    """γ and C of the RBF reference."""
    from .rbf_reference import choose_rbf as choose

    found = choose(sets.pairs, Cs=sets.Cs)
    chosen = {"gamma": float(found.parameter), "C": float(found.C)}
    return Outcome(params=chosen, values={"RBF γ": chosen["gamma"], "RBF C": chosen["C"]})


def choose_line(covariance, label):
    """C for δ = 1, then δ for that C."""

    def choose(sets, seed, earlier):
        from .rbf_reference import choose_mahalanobis

        first, second = choose_mahalanobis(sets.pairs, covariance=covariance, Cs=sets.Cs)
        chosen = {"C": float(first.C), "delta": float(second.parameter)}
        values = {f"{label} C": chosen["C"], f"{label} δ": chosen["delta"]}
        return Outcome(params=chosen, values=values)

    return choose


def choose_grid(sets, seed, earlier):
    """C and δ of the diagonal kernel on the reference grid."""
    from .rbf_reference import choose_mahalanobis

    (found,) = choose_mahalanobis(sets.pairs, search="grid", Cs=sets.Cs)
    return Outcome(params={"C": float(found.C), "delta": float(found.parameter)})


def machine(choice, covariance=None, delta=None):
    """A machine with the parameters that table 1 has for `choice`; its errors on a realisation."""

    def run(problem, seed, earlier):
        from ..classifiers.svm import MahalanobisSVC
        from .rbf_reference import rbf_reference

        chosen = dict(earlier[choice])
        if covariance is None:
            model = rbf_reference(problem.X.shape[1], **chosen)
        else:
            chosen["delta"] = chosen["delta"] if delta is None else delta
            model = MahalanobisSVC(covariance=covariance, **chosen)
        predicted = model.fit(problem.X, problem.y).predict(problem.X_test)
        return Outcome(*error_rates(problem.y_test, predicted), params=chosen)

    return run


def published_parameters():
    """Table 1."""
    return {
        (row["dataset"], label): Published(float(row[column]))
        for row in table("B_table1_parameters")
        for column, label in PARAMETERS.items()
    }


# The machines with large C on these take minutes.
SLOW = frozenset({"Image", "Splice", "German", "F. Solar", "Diabetes"})
_NOTES = (
    "Only 10 (Diabetes and Twonorm 1; F. Solar, Splice and Thyroid 0) of the benchmark's "
    "realisations are at hand. Seeded random splits of the same sizes follow them; a row's "
    "`genuine` tells which is which.",
    "Folds are stratified and not shuffled; the paper does not describe its own.",
)
EXPERIMENTS = (
    Experiment(
        id="B1",
        paper="B",
        title="Parameters chosen on the first five realisations (B, table 1)",
        source=training_sets,
        methods=(
            Measurement("RBF", choose_rbf),
            Measurement("Diagonal", choose_line("diag", "Diagonal")),
            Measurement("Grid", choose_grid),
            Measurement("Full", choose_line("full", "Full")),
        ),
        datasets=tuple(NAMES),
        repetitions=1,
        quick_without=SLOW,
        quick_setting=QUICK,
        measure="values",
        published=published_parameters,
        slack=dict.fromkeys(PARAMETERS.values(), 0.0),
        digits={"RBF C": 0, "Diagonal C": 0, "Full C": 0},
        availability=_loaded,
        notes=(
            *_NOTES,
            "Cells agree here if they are the same value, and cross-validation errors are too flat "
            "for that: with the published parameters they are higher than with ours by 0.2 points "
            "in the median of the 25 choices that differ (without Image and Splice), and by more "
            "than one point only for RBF and Full on Waveform.",
        ),
    ),
    Experiment(
        id="B2",
        paper="B",
        title="IDA benchmark: errors (B, table 2)",
        source=realisation,
        methods=(
            Measurement("RBF", machine("RBF")),
            Measurement("Diagonal-1", machine("Diagonal", "diag", delta=1.0)),
            Measurement("Diagonal-2", machine("Diagonal", "diag")),
            Measurement("Diagonal-grid", machine("Grid", "diag")),
            Measurement("Full", machine("Full", "full")),
        ),
        datasets=tuple(NAMES),
        repetitions=REALISATIONS,
        fewer=FEWER,
        quick_repetitions=3,
        quick_without=SLOW,
        quick_setting=QUICK,
        requires="B1",
        published=lambda: errors(
            "B_table2_errors",
            {**FEWER, None: REALISATIONS},
            lambda row: row["dataset"],
            method="method",
        ),
        availability=_loaded,
        notes=_NOTES,
    ),
)
