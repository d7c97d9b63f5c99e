"""Printing of `inspect` and `datasets`: data before any model is chosen, a model file, the sets."""

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..._validation import SYMMETRY_RTOL
from ..reading.problem import DataError, Note
from ..words import counted
from ._terminal import Console, next_step, say_notes

console = Console()


# Columns and classes that are shown unless all are asked for.
MOST_SHOWN = 40
# Share of the negative part of a spectrum up to which distances are called so.
SPECTRA = (
    (1e-6, "are Euclidean", "all methods apply"),
    (0.05, "are nearly Euclidean", "all methods apply"),
    (
        0.2,
        "are not Euclidean",
        "kernel methods for indefinite kernels use the negative part, which others discard",
    ),
    (1.0, "are far from Euclidean", "prefer methods for indefinite kernels, or neighbours"),
)


def inspect_problem(problem, verbose=False, summary=None):
    """Print how data were read, what is odd about them, and what to do next.

    summary: the first pass over a large table, of which the problem is a sample.
    """
    n, n_classes = len(problem) if summary is None else summary.n_rows, ""
    if problem.y is not None:
        problem.check_classes(least=1)
        counts = problem.counts if summary is None else dict(summary.counts.most_common())
        n_classes = f", {counted(len(counts), 'class', 'classes')}"
    what = "objects"
    if problem.kind == "vectors":
        what = f"rows with {counted(problem.X.shape[1], 'column')}"
    if problem.kind == "vectors":
        if summary is not None:
            console.print(f"Columns, of a sample of {len(problem)} rows:")
        _columns_table(problem.overview, verbose)
        # The table has said why columns were left out.
        said = [f"{c['name']!r} {c['reason']}" for c in problem.overview if c["reason"]]
        say_notes(console, [n for n in problem.notes if not any(text in n for text in said)])
        _classes(counts, verbose)
    else:
        say_notes(console, problem.notes)
        _matrix(problem, verbose)
    if problem.y is not None and summary is None:  # a sample may lack what the table has
        try:
            problem.check_classes()
        except DataError as error:
            say_notes(console, [error])
    console.print(
        f"Read {n} {what}{n_classes}. If this is what you meant, run compare with the "
        "same options; it ranks classifiers, saves the best and writes a page.",
        soft_wrap=True,
    )


def _columns_table(overview, verbose):
    """Print a line for each column: those that are left out, and as many others as fit."""
    if not overview:
        return
    table = Table("column", "type", "values", "missing", "example", "used as", box=None)
    others = [line for line in overview if line["role"] != "feature"][:MOST_SHOWN]
    shown = overview if verbose else [*overview[:MOST_SHOWN], *others]
    for line in {line["name"]: line for line in shown}.values():
        role = line["role"]
        if line["reason"]:
            role = " ".join(filter(None, [f"{role}: it {line['reason']}.", line["remedy"]]))
        missing = str(line["missing"]) if line["missing"] else ""
        cells = (line["name"], line["type"], line["values"], missing, line["example"], role)
        table.add_row(*map(escape, cells))
    console.print(table)
    rest = len(overview) - len({line["name"] for line in shown})
    if rest:
        console.print(f"… and {counted(rest, 'column')} more (--verbose)")


def _classes(counts, verbose):
    """Print how many rows each class has."""
    table, total = Table("class", "rows", "share", box=None), sum(counts.values())
    for label, n in list(counts.items())[: None if verbose else MOST_SHOWN]:
        table.add_row(escape(str(label)), str(n), f"{n / total:.1%}")
    console.print(table)
    if len(counts) > MOST_SHOWN and not verbose:
        rest = counted(len(counts) - MOST_SHOWN, "class", "classes")
        console.print(f"… and {rest} more (--verbose)")


def _matrix(problem, verbose):
    """Print what the distances of objects are like."""
    from ...proximity.diagnosis import diagnose, equal_distances

    matrix = problem.X
    if problem.kind == "objects":
        everyone = np.arange(len(problem))
        matrix = problem.fold(everyone, everyone)[0]
        if problem.alternatives is not None:
            matrix = _measures(problem, matrix)
    diagnosis = diagnose(matrix, problem.y, problem.proximity)
    equal = problem.proximity == "dissimilarity" and equal_distances(matrix)
    words = diagnosis.advice[0] if equal else spectrum_words(diagnosis)
    console.print(words, soft_wrap=True)
    if problem.y is None:
        console.print(
            "Classes were not given: with --labels it is shown how well they are separated."
        )
    else:
        guess = 1 - max(problem.counts.values()) / len(problem)
        console.print(
            f"The nearest neighbour has another class for {diagnosis.nearest_neighbor_error:.1%} "
            f"of the objects (1-NN error, leave-one-out; guessing the largest class: {guess:.1%}).",
            soft_wrap=True,
        )
    say_notes(console, diagnosis.warnings)
    if problem.kind == "proximity" and diagnosis.asymmetry > SYMMETRY_RTOL:
        say_notes(console, [Note("compare refuses the matrix as it is.", "symmetrize")])
    if verbose:
        console.print(str(diagnosis), markup=False)
    else:
        console.print("[dim]--verbose shows spectrum, dimension and triangle inequality[/]")


def spectrum_words(diagnosis):
    """How far distances or similarities are from Euclidean ones, and what follows."""
    share = diagnosis.negative_fraction
    predicate, advice = next(words for most, *words in SPECTRA if share <= most)
    noun, space = "distances", "Euclidean"
    if diagnosis.kind == "similarity":
        noun, space = "similarities", "inner products"
    amount = (
        f"{100 * share:.2g} % of the spectrum negative"
        if share > SPECTRA[0][0]
        else ("no negative eigenvalue")
    )
    return f"The {noun} {predicate.replace('Euclidean', space)} ({amount}): {advice}."


def _measures(problem, matrices):
    """Print what the matrices of several measures are like; returns that of the best one."""
    from ...proximity.diagnosis import diagnose

    table = Table("measure", "negative part of the spectrum", "1-NN error", "", box=None)
    diagnoses = {}
    for place, name in enumerate(problem.alternatives):
        diagnosis = diagnose(matrices[..., place], problem.y, "dissimilarity")
        diagnoses[name] = diagnosis
        error = f"{diagnosis.nearest_neighbor_error:.1%}"
        warnings = escape(" ".join(diagnosis.warnings))
        table.add_row(name, f"{diagnosis.negative_fraction:.1%}", error, warnings)
    console.print(table)
    best = min(diagnoses, key=lambda name: diagnoses[name].nearest_neighbor_error)
    console.print(f"{best}:")
    return matrices[..., list(diagnoses).index(best)]


def inspect_model(about, path):
    """Print what a model file says about itself."""
    if not about:
        console.print(
            f"{escape(str(path))} is a skops file without a description: mahalearn train, compare "
            "and save_model write one.",
            soft_wrap=True,
        )
        return
    table = Table("", "", box=None, show_header=False)
    training = about.get("training", {})
    tested = training.get("tested")
    rows = {
        "classifier": about.get("title"),
        "estimator": None if "title" in about else about.get("estimator"),
        "data": f"{about['data']} ({about.get('kind')})" if "data" in about else None,
        "column of classes": about.get("target") if about.get("features") else None,
        "classes": ", ".join(f"{k} ({n})" for k, n in training.get("counts", {}).items())
        or ", ".join(about.get("classes", [])),
        "features": ", ".join(f["name"] for f in about.get("features", [])),
        "columns": None if "features" in about else _columns(about.get("columns")),
        "measure": about.get("measure"),
        "cross-validated error": None if tested else _interval(training.get("error")),
        "balanced error": None if tested else _interval(training.get("balanced_error")),
        f"error on {tested} test rows": _interval(training.get("error")) if tested else None,
        "parameters": ", ".join(f"{k} = {v}" for k, v in training.get("parameters", {}).items()),
        "made by": about.get("command"),
        "saved": about.get("saved"),
        "versions": ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items()),
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, escape(str(value)))
    console.print(table)
    if "features" in about:
        console.print(f"Next: {next_step(path)}", soft_wrap=True)


def _columns(columns):
    """Names of columns, or how many there are."""
    if isinstance(columns, list):
        return ", ".join(map(str, columns))
    return columns and f"{columns}, without names"


def _interval(values):
    if not values:
        return None
    mean, low, high = values
    return f"{mean:.1%} ({low:.1%} to {high:.1%})"


def show_datasets():
    """The sets that can be named instead of a file."""
    from ...datasets.registry import ENTRIES
    from ..reading.read import BUNDLED

    table = Table("name", "objects", "features", "classes", "what", box=None)
    facts = {"iris": (150, 4, 3), "wine": (178, 13, 3), "breast-cancer": (569, 30, 2)}
    facts["digits"] = (1797, 64, 10)
    for name in BUNDLED:
        table.add_row(name, *map(str, facts[name]), "comes with scikit-learn: no download")
    for entry in ENTRIES.values():
        if entry.name in BUNDLED:
            continue
        features = str(entry.n_features) if entry.paper != "C" else "matrix"
        what = (
            entry.description
            if entry.status == "original"
            else f"[{entry.status}] {entry.description}"
        )
        table.add_row(
            entry.name, str(entry.n_objects), features, str(len(entry.counts)), escape(what)
        )
    console.print(table)
    console.print(
        "Sets that do not come with scikit-learn are read from the folder that MAHALEARN_DATA "
        "names, or from OpenML.",
    )
