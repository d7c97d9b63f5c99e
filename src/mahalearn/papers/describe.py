"""The experiments as plain dicts, for the page: tables, figures, errata, sources."""

from .catalogue import EXPERIMENTS, PAPERS

ERRATA = {
    "A": (
        "The centred feature matrix is Φ̃ = Φ − φ_μ1ᵀ; the text has an extra 1/n.",
        "Table 3 holds class-balanced errors, though the text says nothing.",
        "Table 2 gives Ecoli six features; the feature chg is constant on its 272 rows.",
    ),
    "B": (
        "The covariance is that of both classes together, about one mean, with the divisor M; the "
        "text can be read as one class.",
    ),
    "C": (
        "(2) must read k̃_x = H(k_x − K1/n).",
        "(8): the offset is −½ zᵀK N_β⁻¹ K z₊; it is printed with z₊ twice.",
        "(22), (23) and table II: the full-kernel quantities are centred over all objects, not "
        "by class.",
        "Appendix I-C: (20) is not the primal distance of (30); the signs differ. (20) is "
        "implemented as printed.",
        "The checkerboard's kernel needs the fourth power of the squared distance: only this "
        "gives the spectra of table 5.",
        "Table 7 holds class-balanced errors.",
        "Appendix II gives Mucosa as 857/112, table 6 as 132/856.",
        "The summary of table 7 is not correct: by the paper's own numbers FK+ also loses to "
        "ISVM on News-COR and to IKNN on Heart, and IKFD beats FK+ in 11 cases, not 8.",
        "The ISVM row on Cat-cortex and Protein (32 and 8.5) is not reproduced: 14 and 0.1 with "
        "libsvm alone, 19 and 2 with DisTools' fall-backs. The result depends on the solver's "
        "rule for indefinite matrices, not on the version of libsvm: diagonal loading as in "
        "PRTools' svo gives the unusual spread on Protein, but no single rule gives both sets.",
        "Table III: the test cost of KQD-RC− is O(n), not O(n/c), for all c classes; the training "
        "cost of KPCA-QD is O(n³ + np² + cp³), not O(pn³ + cp³).",
    ),
    "D": (
        "(11) lacks a square root: w ∝ 1/√Z. Only the root gives the published weights and "
        "accuracies; the printed formula lowers the accuracy.",
        "(13) as printed breaks the paper's own constraint (9); the weights are normalised to "
        "sum to N here.",
    ),
}


def describe(experiment):
    """A table or figure as plain values, for comparing and drawing it.

    Parameters
    ----------
    experiment : Experiment
        The table or figure.

    Returns
    -------
    dict
        id, paper, title; columns (data sets) and lines (methods, or names of values); measure
        ("error", "balanced_error" or "values"); published {(column, line): Published}; slack and
        digits by line; readings, conventions, calibration (pairs of column and line), notes,
        extra, chance; repetitions of the paper; planned (number of cells); figure ("" for a table).
    """
    published = experiment.published()
    values = experiment.measure == "values"
    lines = dict.fromkeys(line for _, line in published) if values else None
    return {
        "id": experiment.id,
        "paper": experiment.paper,
        "title": experiment.title,
        "columns": list(experiment.datasets),
        "lines": list(lines) if values else [method.name for method in experiment.methods],
        "measure": experiment.measure,
        "published": published,
        "slack": dict(experiment.slack),
        "digits": dict(experiment.digits),
        "repetitions": experiment.repetitions,
        "readings": dict(experiment.readings),
        "conventions": list(experiment.conventions),
        "calibration": experiment.calibration,
        "notes": list(experiment.notes),
        "extra": experiment.extra,
        "chance": experiment.chance,
        "planned": sum(1 for _ in experiment.cells()),
        "figure": experiment.figure,
    }


def descriptions():
    """All tables and figures, in the order of the papers."""
    return [describe(experiment) for experiment in EXPERIMENTS.values()]


def sources():
    """Description and origin of the data sets that have files, by experiment and set."""
    from ..datasets.registry import ENTRIES
    from .paper_b import NAMES as b
    from .paper_c import NAMES as c
    from .paper_c import READINGS

    places = {("A3", name): name.lower() for name in EXPERIMENTS["A3"].datasets}
    places |= {(i, label): f"ida-{name}" for i in ("B1", "B2") for label, name in b.items()}
    readings = {other: c[counted] for other, counted in READINGS.items()}
    places |= {(i, label): name for i in ("C6", "C7") for label, name in (c | readings).items()}
    return {
        key: {
            "status": ENTRIES[name].status,
            "source": ENTRIES[name].source,
            "description": ENTRIES[name].description,
        }
        for key, name in places.items()
        if name in ENTRIES
    }


def context():
    """Everything the page needs besides the rows."""
    return {
        "papers": dict(PAPERS),
        "tables": descriptions(),
        "errata": {paper: list(errata) for paper, errata in ERRATA.items()},
        "sources": sources(),
    }
