"""Loading by name: the data folder first, then OpenML, and a check against the papers' tables."""

import csv
import os
from pathlib import Path

import numpy as np

from .._typing import File, RandomState
from .dataset import Dataset
from .registry import find

FOLDER_VARIABLE = "MAHALEARN_DATA"


def load(
    name: str,
    *,
    folder: File | None = None,
    download_if_missing: bool = True,
    n_per_class: int | None = None,
    random_state: RandomState | None = 0,
    n_jobs: int | None = None,
) -> Dataset:
    """Load a data set of the papers by name.

    Looks for the set's file in `folder`; a UCI set that is not there is taken from OpenML through
    :func:`sklearn.datasets.fetch_openml`, which keeps it in scikit-learn's data home. Size and
    class counts must be those of the paper's table. Matrices of proximities are computed from the
    objects where they are not themselves the data.

    Read more in the :doc:`user guide </datasets>`.

    Parameters
    ----------
    name : str
        One of ``mahalearn.datasets.names()``.
    folder : str or path, default=None
        Folder of the data files; None takes the environment variable ``MAHALEARN_DATA``.
    download_if_missing : bool, default=True
        Download from OpenML if the file is missing.
    n_per_class : int, default=None
        For proximity data: a seeded sample of at most so many objects of each class, so that the
        matrix is smaller; None keeps the paper's size.
    random_state : int, RandomState or None, default=0
        Seed of what is drawn: the polygons, the documents of News-COR, the sample of a class.
    n_jobs : int, default=None
        Workers for a matrix, as in :func:`mahalearn.measures.pairwise`.

    Returns
    -------
    Dataset
        Data or matrix, target, and where they come from.

    See Also
    --------
    names : Names of the data sets.
    Dataset : The record that is returned.

    Examples
    --------
    >>> from mahalearn.datasets import load
    >>> polygons = load("poly-mh", n_per_class=20)
    >>> polygons
    <Dataset 'poly-mh': 40 × 40 dissimilarity matrix, 2 classes, rebuilt>
    """
    entry = find(name)
    if entry.paper not in ("A", "B"):
        from .proximities import load_proximities

        return load_proximities(
            entry, folder, download_if_missing, n_per_class, random_state, n_jobs
        )
    if n_per_class is not None:
        raise ValueError(
            f"n_per_class is for proximity data; {entry.name!r} has feature vectors. Take a "
            "sample with sklearn.model_selection.train_test_split(..., stratify=target)."
        )
    X, labels, columns, extra, origin = read_vectors(entry, folder, download_if_missing)
    return Dataset(
        target=coded(entry, labels, origin),
        data=X,
        feature_names=columns,
        **provenance(entry, origin),
        **extra,
    )


def provenance(entry, origin):
    """Name, classes, source and licence of a Dataset, from its entry."""
    return {
        "name": entry.name,
        "target_names": tuple(entry.counts),
        "status": entry.status,
        "origin": origin,
        "source": entry.source,
        "licence": entry.licence,
        "description": entry.description,
        "train_fraction": entry.train_fraction,
        "split_sizes": entry.split_sizes,
    }


def read_vectors(entry, folder, download_if_missing):
    """The vectors of an entry, checked: (X, labels, column names, splits, origin)."""
    path = find_file(entry, folder, required=not (entry.openml and download_if_missing))
    splits = {}
    if path is None:
        from .openml import fetch

        X, labels, columns, origin = fetch(entry, missing_file_message(entry, folder))
    else:
        origin = str(path)
        if path.suffix == ".csv":
            X, labels, columns = read_csv(path)
        else:
            X, labels, columns, splits = read_npz(path)
    X, labels, columns = select(entry, X, labels, columns)
    if entry.n_features is not None and X.shape[1] != entry.n_features:
        raise ValueError(
            f"{origin} has {X.shape[1]} features for {entry.name!r}; "
            f"expected {described(entry)}. It is not the set of the paper."
        )
    for part, size in zip(("train", "test"), entry.split_sizes or ()):
        rows = splits.get(part, ())
        if any(len(r) != size or len(np.unique(r)) != size or r.max() >= len(X) for r in rows):
            raise ValueError(
                f"{origin}: every row of {part!r} must hold {size} different row numbers "
                f"below {len(X)}."
            )
    return X, labels, columns, splits, origin


def select(entry, X, labels, columns):
    """The rows and columns that the paper uses."""
    dropped = [any(c.lower().startswith(d) for d in entry.drop) for c in columns]
    if any(dropped):
        X = X[:, ~np.array(dropped)]
        columns = tuple(c for c, d in zip(columns, dropped) if not d)
    if entry.complete_only:
        complete = ~np.isnan(X).any(axis=1)
        X, labels = X[complete], labels[complete]
    return X, labels, columns


def coded(entry, labels, origin):
    """Labels as codes into the classes of the entry, their counts checked."""
    classes, numbers = np.unique(labels, return_counts=True)
    counts = dict(zip(classes.tolist(), numbers.tolist()))
    if counts != entry.counts:
        got = ", ".join(f"{name} {number}" for name, number in counts.items())
        raise ValueError(
            f"{origin} does not hold the set {entry.name!r} of the paper: expected "
            f"{described(entry)}; got {len(labels)} objects ({got})."
        )
    code = {name: i for i, name in enumerate(entry.counts)}
    return np.array([code[label] for label in labels.tolist()], dtype=np.intp)


def described(entry):
    """Size and classes of the set, in words."""
    classes = ", ".join(f"{name} {number}" for name, number in entry.counts.items())
    features = "" if entry.n_features is None else f" with {entry.n_features} features"
    return f"{entry.n_objects} objects{features} ({classes})"


def data_folder(folder=None):
    """The folder of the data files, None if there is none."""
    folder = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    return None if folder is None else Path(folder).expanduser()


def find_file(entry, folder, *, required=True):
    """Path of the entry's file; None where it is absent and not required."""
    root = data_folder(folder)
    if root is not None and (root / entry.file).is_file():
        return root / entry.file
    if required:
        raise FileNotFoundError(missing_file_message(entry, folder))
    return None


def missing_file_message(entry, folder):
    """Message that says which file to put where."""
    root = data_folder(folder)
    if root is None:
        problem = f"the environment variable {FOLDER_VARIABLE}, which names the folder, is not set"
    else:
        problem = f"the data folder {root} " + (
            "has no such file" if root.is_dir() else "is absent"
        )
    place = f"{FOLDER_VARIABLE}/{entry.file}" if root is None else root / entry.file
    return (
        f"The data set {entry.name!r} needs the file {entry.file}, but {problem}. Put at {place} "
        f"{_CONTENTS[_layout(entry)]}. The set has {described(entry)}; source: {entry.source}."
    )


_CONTENTS = {
    "csv": "a table with a header line and the class in the last column",
    "uci": "an archive of the arrays x (a row for each object) and y (labels)",
    "ida": "an archive of the arrays x, t (−1 or +1) and, where known, train and test "
    "(row numbers from 0, a row for each realisation)",
    "objects": "an archive of the arrays that docs/datasets.md lists",
}


def _layout(entry):
    if entry.file.endswith(".csv"):
        return "csv"
    return "objects" if entry.paper == "C" else entry.file.split("/")[0]


def read_csv(path):
    """(X, labels, column names) of a table whose last column is the class; empty cells are NaN."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2:
        raise ValueError(f"{path} is empty; expected {_CONTENTS['csv']}.")
    header, *rows = lines
    ragged = [i for i, row in enumerate(rows, start=2) if len(row) != len(header)]
    if ragged:
        raise ValueError(f"{path}, line {ragged[0]}: expected {len(header)} cells, as the header.")
    cells = [[cell or "nan" for cell in row[:-1]] for row in rows]
    try:
        X = np.array(cells, dtype=float)
    except ValueError as error:
        raise ValueError(f"{path} has a cell that is no number: {error}.") from error
    return X, np.array([row[-1] for row in rows]), tuple(header[:-1])


def read_arrays(path, *required):
    """The arrays of an .npz file as a dict."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (MemoryError, OSError):
        raise
    except Exception as error:  # numpy and zipfile raise whatever a damaged file leads to
        raise ValueError(f"{path} is not an .npz archive of plain arrays: {error}") from error
    if others := [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise ValueError(f"{path} holds members that are no arrays: {', '.join(others)}.")
    if absent := [key for key in required if key not in arrays]:
        raise ValueError(
            f"{path} must hold the arrays {', '.join(required)}; {', '.join(absent)} not found "
            f"among {', '.join(arrays) or 'none'}."
        )
    return arrays


def read_npz(path):
    """(X, labels, no column names, splits) of x with y, or with IDA's t and realisations."""
    arrays = read_arrays(path, "x")
    X = arrays["x"].astype(float)
    if "t" in arrays:
        labels = np.where(arrays["t"] > 0, "+1", "-1")
    else:
        labels = read_arrays(path, "x", "y")["y"].astype(str)
    splits = {p: tuple(arrays[p].astype(np.intp)) for p in ("train", "test") if p in arrays}
    return X, labels, (), splits
