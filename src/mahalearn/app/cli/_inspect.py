"""Printing of `inspect` and `datasets`: data before any model is chosen, a model file, the sets."""

from typing import NamedTuple

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..words import counted
from ._terminal import Console, say_notes

console = Console()


# Columns that are shown unless all are asked for.
MOST_SHOWN = 40
# Classes and multiplications above which the overlap of classes is not computed.
MOST_CLASSES, MOST_WORK = 60, 3e10
# Share of the negative part of a spectrum up to which distances are called so.
SPECTRA = (
    (1e-6, "are Euclidean", "all methods apply"),
    (0.05, "are nearly Euclidean", "all methods apply"),
    (0.2, "are not Euclidean", "kernel methods for indefinite kernels keep what others cut off"),
    (1.0, "are far from Euclidean", "prefer methods for indefinite kernels, or neighbours"),
)


def inspect_problem(problem, verbose=False):
    """Print how data were read, what is odd about them, and what to do next."""
    if problem.y is not None:
        problem.check_classes(least=1)
    n_classes = "" if problem.y is None else f", {counted(len(problem.counts), 'class', 'classes')}"
    if problem.kind == "vectors":
        _columns_table(problem.overview, verbose)
        say_notes(console, problem.notes)
        _vectors(problem, verbose)
    else:
        say_notes(console, problem.notes)
        _matrix(problem, verbose)
    what = {"vectors": "rows", "proximity": "objects", "objects": "objects"}[problem.kind]
    console.print(
        f"Read {len(problem)} {what}{n_classes}. If this is what you meant, run compare with the "
        "same options; it ranks classifiers, saves the best and writes a page.",
        highlight=False,
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
        console.print(f"… and {counted(rest, 'column')} more (--verbose)", highlight=False)


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
    console.print(words, highlight=False, soft_wrap=True)
    if problem.y is None:
        console.print(
            "Classes were not given: --labels tells how well they are separated.", highlight=False
        )
    else:
        guess = 1 - max(problem.counts.values()) / len(problem)
        console.print(
            f"The nearest neighbour has another class for {diagnosis.nearest_neighbor_error:.1%} "
            f"of the objects (1-NN error, leave-one-out; guessing the largest class: {guess:.1%}).",
            highlight=False,
            soft_wrap=True,
        )
    say_notes(console, diagnosis.warnings)
    if verbose:
        console.print(str(diagnosis), markup=False, highlight=False)
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
    console.print(f"{best}:", highlight=False)
    return matrices[..., list(diagnoses).index(best)]


def _vectors(problem, verbose):
    from ...table_encoder import TableEncoder

    Z = TableEncoder().fit_transform(problem.X)
    n_classes, width = len(problem.counts), min(Z.shape)
    console.print(
        f"{counted(len(problem), 'row')}, {counted(problem.X.shape[1], 'column')}, "
        f"{counted(Z.shape[1], 'feature')} after encoding, "
        f"{counted(n_classes, 'class', 'classes')}",
        highlight=False,
    )
    if n_classes > MOST_CLASSES or n_classes**2 * float(width) ** 3 > MOST_WORK:
        table = Table("class", "rows", box=None)
        for label, n in list(problem.counts.items())[: None if verbose else MOST_SHOWN]:
            table.add_row(escape(str(label)), str(n))
        console.print(table)
        console.print("[dim]many classes or features: their overlap was not computed[/]")
        return
    theory = ("rank", "condition") if verbose else ()
    table = Table("class", "rows", *theory, "most alike", "overlap", box=None)
    for label, n, rank, condition, nearest, overlap in class_facts(Z, problem.y):
        cells = (label, n, rank, condition) if verbose else (label, n)
        table.add_row(*(escape(str(cell)) for cell in (*cells, nearest, overlap)))
    console.print(table)
    console.print(
        "[dim]overlap: upper bound on the error between a class and the one most alike, if both "
        "were Gaussian (Bhattacharyya)"
        + ("; rank and condition number of the class's covariance[/]" if verbose else "[/]")
    )


def class_facts(Z, y):
    """For each class: name, rows, rank, condition number, nearest class and the bound with it.

    With more features than rows all is computed in the span of the centred rows: outside it a
    shrunk covariance is a multiple of the identity.
    """
    from ...formulas.linalg import eigh

    n, p = Z.shape
    classes, codes = np.unique(y, return_inverse=True)
    A = Z - Z.mean(axis=0)
    if p > n:
        U, s, _ = np.linalg.svd(A, full_matrices=False)
        A = U * s
    parts = [A[codes == j] for j in range(len(classes))]
    gaussians = [_shrunk_gaussian(part, p) for part in parts]
    shares = np.array([len(part) / n for part in parts])
    bound = np.full((len(classes), len(classes)), -1.0)
    for i in range(len(classes)):
        for j in range(i):
            weight = np.sqrt(shares[i] * shares[j]) / (shares[i] + shares[j])
            distance = _bhattacharyya(gaussians[i], gaussians[j])
            bound[i, j] = bound[j, i] = weight * np.exp(-distance)
    for i, (label, part) in enumerate(zip(classes, parts)):
        centred = part - part.mean(axis=0)
        values = eigh(centred.T @ centred / len(part), vectors=False).values
        positive = values[values > 0]
        condition = f"{positive.max() / positive.min():.1e}" if len(positive) else "–"
        if len(positive) < p:
            condition += " (singular)"
        j = int(bound[i].argmax())
        rank = f"{len(positive)} of {p}"
        yield label, len(part), rank, condition, classes[j], f"{bound[i, j]:.1%}"


class _Gaussian(NamedTuple):
    """A Gaussian whose covariance is C within a subspace and c·I in the `rest` dimensions."""

    mean: np.ndarray
    C: np.ndarray
    c: float
    rest: int

    @property
    def log_det(self):
        return np.linalg.slogdet(self.C)[1] + self.rest * np.log(self.c)


def _shrunk_gaussian(part, p):
    """The Gaussian of rows of p features, shrunk by Ledoit and Wolf, in coordinates of a span."""
    from ...formulas.class_covariances import ledoit_wolf_intensity

    mean, r = part.mean(axis=0), part.shape[1]
    if len(part) < 2:
        return _Gaussian(mean, np.eye(r), 1.0, p - r)
    centred = part - mean
    S = centred.T @ centred / len(part)
    # Coordinates that are 0 for all rows change norms by nothing, and the mean variance tr S/p.
    rho, mu = ledoit_wolf_intensity(np.pad(centred, ((0, 0), (0, p - r))))
    c = rho * mu + 1e-9
    return _Gaussian(mean, (1 - rho) * S + c * np.eye(r), c, p - r)


def _bhattacharyya(one, other):
    """Bhattacharyya's distance of two Gaussians."""
    C, gap = (one.C + other.C) / 2, one.mean - other.mean
    between = one._replace(C=C, c=(one.c + other.c) / 2).log_det
    return gap @ np.linalg.solve(C, gap) / 8 + (between - (one.log_det + other.log_det) / 2) / 2


def inspect_model(about, path):
    """Print what a model file says about itself."""
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
        console.print(
            f"Next: mahalearn predict {escape(str(path))} NEW --report new.html", highlight=False
        )


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
        highlight=False,
    )
