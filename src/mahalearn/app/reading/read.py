"""The one entry: from a file, or the name of a set, to a problem."""

import functools
from pathlib import Path

import numpy as np

from ...datasets.registry import names as set_names
from .encoder import describe_table
from .problem import DataError, Faults, Problem
from .tables import find_target, holds_parquet, read_table, table_problem

BUNDLED = ("iris", "wine", "breast-cancer", "digits")
_PACKED = (".gz", ".bz2", ".xz", ".zip")


def read_problem(
    data=None, *, target=None, proximity=None, labels=None, objects=None, mixed="onehot",
    kind=None, symmetrize=None, only_look=False, measure=None, window=None, normalize=None,
    drop=None, id=None, groups=None, time=None, value=None, interpolate=False, **form,
):  # fmt: skip
    """The problem of a table or a set (`data`), a matrix (`proximity`) or a file of `objects`.

    Parameters
    ----------
    data, proximity, objects : str or path, or None
        What to read: one of the three.
    labels : path or None
        Classes of the objects of a matrix or of objects.
    target, drop, id, groups
        Of a table, see :func:`~mahalearn.app.reading.tables.table_problem`.
    **form
        Of a table, see :class:`~mahalearn.app.reading.layout.TableFormat`.
    mixed : {"onehot", "gower"}
        Whether rows of a table become vectors, or are compared by Gower's distance.
    kind, symmetrize, only_look
        Of a matrix, see :func:`~mahalearn.app.reading.matrices.proximity_problem`.
    measure, window, normalize
        Of objects, see :func:`~mahalearn.app.reading.objects.collection_problem`.
    time, value, interpolate
        Of series in a table of long format, see
        :func:`~mahalearn.app.reading.objects.long_collection`.

    Returns
    -------
    problem : Problem
    """
    how = {"measure": measure, "window": window, "normalize": normalize}
    find = functools.partial(find_target, target=target)
    if proximity:
        from .matrices import proximity_problem

        return proximity_problem(
            proximity, labels, kind=kind, symmetrize=symmetrize, only_look=only_look
        )
    if objects:
        from .objects import objects_problem

        return objects_problem(objects, labels=labels, interpolate=interpolate, **how)
    if time is not None:
        return _series_problem(data, find, (id, time, value), interpolate, how, form)
    if names_set(data):
        problem = builtin_problem(data)
        problem.target = None  # its classes come from no column
    else:
        roles = {"drop": drop or (), "id": id, "groups": groups}
        with Faults().raised() as faults:
            frame, notes = read_table(data, find=find, faults=faults, **form)
            problem = table_problem(frame, target, stem(data), notes, faults=faults, **roles)
    if problem.kind != "vectors":
        return problem
    if mixed == "gower":
        return as_gower(problem)
    try:
        problem.notes += describe_table(problem.X)
    except ValueError as error:
        raise DataError(str(error)) from None
    return problem


def _series_problem(data, find, columns, interpolate, how, form):
    """The problem of series in a table of long format; columns: of ids, times and values."""
    from .objects import collection_problem, long_collection

    frame, notes = read_table(data, find=find, texts=columns[:1], **form)
    target = find(list(frame.columns))
    collection = long_collection(frame, *columns, target, interpolate)
    collection.notes[:0] = notes
    problem = collection_problem(collection, stem(data), **how)
    problem.target = target
    return problem


def stem(path):
    """Name of a problem, by that of its file."""
    return "stdin" if str(path) == "-" else _unpacked(path).stem


def unpacked_suffix(path):
    """The suffix of a file's name, of a compressed one the suffix before; in lower case."""
    return _unpacked(path).suffix.lower()


def _unpacked(path):
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in _PACKED else path


def as_gower(problem):
    """A table whose rows are compared by Gower's distance."""
    problem.notes.append(
        "Rows are compared by Gower's distance: numbers by their difference over the range, "
        "categories by equality, missing cells left out."
    )
    problem.columns = list(problem.X.columns)
    problem.X = rows_of(problem.X)
    problem.kind, problem.measure, problem.proximity = "objects", "gower", "dissimilarity"
    return problem


def rows_of(X):
    """Rows of a table as lists, None where a cell is missing."""
    return X.astype(object).where(X.notna(), None).to_numpy().tolist()


# --- data sets by name: those that come with scikit-learn, and the papers' ------------------------


def is_builtin(name):
    """True if a word is the name of a set rather than of a file."""
    plain = name.lower().replace("_", "-")
    return plain in BUNDLED or plain in set_names()


def names_set(data):
    """True if DATA names a set; a folder of results of the same name does not hide it."""
    path = Path(data)
    a_file = path.exists() and (not path.is_dir() or holds_parquet(path))
    return not a_file and is_builtin(data)


def builtin_problem(name):
    """The problem of a set by name."""
    import pandas as pd

    from ...datasets import load

    plain = name.lower().replace("_", "-")
    if plain in BUNDLED:
        return _bundled(plain)
    try:
        data = load(plain)
    except (OSError, ValueError) as error:
        raise DataError(" ".join(str(error).split())) from None
    y = np.array(data.target_names)[data.target]
    notes = [] if data.status == "original" else [f"{data.status}: {data.description}"]
    if data.matrix is not None:
        return Problem("proximity", data.matrix, y, plain, proximity=data.kind, notes=notes)
    X = pd.DataFrame(np.asarray(data.data, dtype=float))
    X.columns = list(data.feature_names) or [f"column {i + 1}" for i in range(X.shape[1])]
    return Problem("vectors", X, y, plain, notes=notes)


def _bundled(name):
    import pandas as pd
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name.replace('-', '_')}")()
    X = pd.DataFrame(bunch.data)
    X.columns = [str(column) for column in bunch.feature_names]
    y = np.array([str(label) for label in bunch.target_names])[bunch.target]
    return Problem("vectors", X, y, name)
