"""What `inspect` and `datasets` print: data before any model is chosen, a model file, the sets."""

from typing import NamedTuple

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..words import counted
from ._terminal import Console, say_notes

console = Console()


def inspect_problem(problem):
    """The proximity diagnosis, or for vectors rank, conditioning and overlap of the classes."""
    say_notes(console, problem.notes)
    if problem.kind == "vectors":
        _vectors(problem)
        return
    from ...proximity.diagnosis import diagnose

    matrix = problem.X
    if problem.kind == "objects":
        everyone = np.arange(len(problem))
        matrix = problem.fold(everyone, everyone)[0]
        if problem.alternatives is not None:
            matrix = _measures(problem, matrix)
    if problem.y is None:
        console.print(
            "[yellow]•[/] Classes were not given: --labels tells how well they are separated.",
            highlight=False,
        )
    else:
        problem.check_classes(least=1)
    console.print(
        str(diagnose(matrix, problem.y, problem.proximity)), markup=False, highlight=False
    )


def _measures(problem, matrices):
    """Print what the matrices of several measures are like; returns that of the best one."""
    from ...proximity.diagnosis import diagnose

    problem.check_classes(least=1)
    table = Table("measure", "negative fraction", "1-NN error", "", box=None)
    found = {}
    for place, name in enumerate(problem.alternatives):
        found[name] = diagnose(matrices[..., place], problem.y, "dissimilarity")
        error = f"{found[name].nearest_neighbor_error:.1%}"
        said = escape(" ".join(found[name].warnings))
        table.add_row(name, f"{found[name].negative_fraction:.4f}", error, said)
    console.print(table)
    best = min(found, key=lambda name: found[name].nearest_neighbor_error)
    console.print(f"{best}:", highlight=False)
    return matrices[..., list(found).index(best)]


def _vectors(problem):
    from ...table_encoder import TableEncoder

    problem.check_classes(least=1)
    Z = TableEncoder().fit_transform(problem.X)
    console.print(
        f"{counted(len(problem), 'row')}, {counted(problem.X.shape[1], 'column')}, "
        f"{counted(Z.shape[1], 'feature')} after encoding, "
        f"{counted(len(problem.counts), 'class', 'classes')}",
        highlight=False,
    )
    table = Table("class", "rows", "rank", "condition", "nearest class", "overlap", box=None)
    for row in class_facts(Z, problem.y):
        table.add_row(*(escape(str(cell)) for cell in row))
    console.print(table)
    console.print(
        "[dim]rank and condition number of the class's covariance (standardised features); "
        "overlap: Bhattacharyya's bound on the error between the class and its "
        "nearest one, by shrunk Gaussians[/]"
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


def inspect_model(about):
    """What a model file says about itself."""
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
