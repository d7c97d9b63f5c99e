"""Proximity data: paper C's (table 6, appendix II), read or drawn and compared, and Coil-York."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from .._validation import check_count, check_square, check_symmetric, take
from ..measures.correlation import Correlation
from ..measures.edit import EditDistance
from ..measures.gower import Gower
from ..measures.hausdorff import Hausdorff
from ..measures.pairs import pairwise
from .dataset import Dataset
from .files import coded, find_file, provenance, read_arrays, read_vectors
from .synthetic import polygons

# Columns of the heart data that hold names, by place (C, appendix II: mixed features).
_HEART_NOMINAL = {"sex": 1, "cp": 2, "fbs": 5, "restecg": 6, "exang": 8, "slope": 10, "thal": 12}
# Costs of an insertion and of a deletion. The paper gives the contours' only. The others are plain
# choices: the same angle for the pens' angles, about the mean length of a step (of coordinates
# from 0 to 100) for their distances, half of the greatest difference of two levels for the bands.
_ANGLE_COST = 45.0
_STEP_COST = 40.0
_LEVELS = 6
_LEVEL_COST = (_LEVELS - 1) / 2


class _Proximities(NamedTuple):
    """Objects of a set with their classes, and the measure or the matrix that compares them."""

    objects: object
    labels: np.ndarray
    origin: str
    measure: object = None
    matrix: np.ndarray | None = None
    split: dict = {}


def load_proximities(entry, folder, download_if_missing, n_per_class, random_state, n_jobs):
    """The Dataset of an entry; see `load`."""
    if n_per_class is not None:
        check_count(n_per_class, "n_per_class")
        if entry.split_sizes is not None:
            raise ValueError(
                f"{entry.name!r} has one fixed split, whose columns are its training objects; "
                "n_per_class cannot take a sample of it."
            )
    rng = check_random_state(random_state)
    if entry.file is None:
        sizes = [min(n, n_per_class or n) for n in entry.counts.values()]
        data = _polygons(entry, sizes, rng)
        target = np.repeat(np.arange(len(sizes)), sizes)
    else:
        if entry.name == "heart-gower":
            data = _heart(entry, folder, download_if_missing)
        else:
            data = _READERS[entry.name](entry, find_file(entry, folder), rng)
        target = coded(entry, data.labels, data.origin)
        if n_per_class is not None:
            data, target = _sample(data, target, n_per_class, rng)
    matrix = data.matrix
    if matrix is None:
        matrix = pairwise(data.objects, data.measure, n_jobs=n_jobs)
    return Dataset(
        target=target,
        data=data.objects,
        matrix=matrix,
        kind="dissimilarity",
        **provenance(entry, data.origin),
        **data.split,
    )


def _sample(data, target, n_per_class, rng):
    """At most so many objects of each class, in their order."""
    rows = [rng.permutation(np.flatnonzero(target == c))[:n_per_class] for c in np.unique(target)]
    rows = np.sort(np.concatenate(rows))
    matrix = None if data.matrix is None else data.matrix[np.ix_(rows, rows)]
    objects = None if data.objects is None else take(data.objects, rows)
    return data._replace(objects=objects, matrix=matrix), target[rows]


def _matrix(entry, path, rng):
    """Cat-cortex and Protein: the dissimilarities themselves."""
    arrays = read_arrays(path, "D", "labels")
    D, labels = arrays["D"].astype(float), arrays["labels"]
    name = f"The matrix D of {path}"
    check_square(D, name)
    if len(labels) != len(D):
        raise ValueError(f"{path} has {len(labels)} labels for a matrix of {len(D)} objects.")
    return _Proximities(None, labels, str(path), matrix=check_symmetric(D, name))


def _fixed_split(entry, path, rng):
    """Coil-York: training objects by themselves, test objects by their values to those."""
    arrays = read_arrays(path, "D", "y", "D_test", "y_test")
    D = arrays["D"].astype(float)
    check_square(D, f"The matrix D of {path}")
    matrix = np.vstack([(D + D.T) / 2, arrays["D_test"].astype(float)])
    labels = np.array([f"{label:+d}" for label in (*arrays["y"], *arrays["y_test"])])
    rows = np.arange(len(matrix))
    split = {"train": (rows[: len(D)],), "test": (rows[len(D) :],)}
    return _Proximities(None, labels, str(path), matrix=matrix, split=split)


def _polygons(entry, sizes, rng):
    """Poly-H and Poly-MH."""
    shapes, _ = polygons(tuple(sizes), random_state=rng)
    return _Proximities(shapes, None, "generated", Hausdorff(modified=entry.name == "poly-mh"))


def _news(entry, path, rng):
    """News-COR: a seeded sample of the documents of two words or more, in the entry's sizes."""
    arrays = read_arrays(path, "indices", "indptr", "shape", "y", "groups")
    ones = np.ones(len(arrays["indices"]))
    words = csr_matrix((ones, arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    labels = arrays["groups"][arrays["y"].astype(int) - 1]
    long = words.sum(axis=1).A1 >= 2
    rows = [
        rng.permutation(np.flatnonzero(long & (labels == group)))[:size]
        for group, size in entry.counts.items()
    ]
    rows = np.concatenate(rows)
    return _Proximities(words[rows].toarray(), labels[rows], str(path), Correlation())


def _heart(entry, folder, download_if_missing):
    """Heart with Gower's distance; the file's last column is the severity, 0 for none."""
    X, labels, _, _, origin = read_vectors(entry, folder, download_if_missing)
    severity = {"0": "absent", **dict.fromkeys("1234", "present")}
    labels = np.array([severity.get(label, label) for label in labels.tolist()])
    return _Proximities(X, labels, origin, Gower(nominal=list(_HEART_NOMINAL.values())))


def _nist(entry, path, rng):
    """Nist38: the digits 3 and 8, as grey values or as the pixels darker than half."""
    arrays = read_arrays(path, "x", "y")
    chosen = np.isin(arrays["y"], (3, 8))
    X, labels = arrays["x"][chosen].astype(float), arrays["y"][chosen].astype(str)
    if entry.name == "nist38-eu":
        return _Proximities(X, labels, str(path), matrix=cdist(X, X))
    side = int(np.sqrt(X.shape[1]))
    images = X.reshape(-1, side, side) >= X.max() / 2
    points = [np.argwhere(image).astype(float) for image in images]
    return _Proximities(points, labels, str(path), Hausdorff(modified=True))


def _pens(entry, path, rng):
    """Pen-ANG and Pen-DIS: the steps from point to point, or their directions in degrees."""
    arrays = read_arrays(path, "x_test", "y_test")
    steps = np.diff(arrays["x_test"].astype(float).reshape(-1, 8, 2), axis=1)
    labels = arrays["y_test"].astype(str)
    if entry.name == "pen-dis":
        measure = EditDistance("euclidean", _STEP_COST, _STEP_COST)
        return _Proximities(list(steps), labels, str(path), measure)
    angles = np.degrees(np.arctan2(steps[..., 1], steps[..., 0]))
    measure = EditDistance("angular", _ANGLE_COST, _ANGLE_COST, period=360)
    return _Proximities(list(angles), labels, str(path), measure)


def _contours(entry, path, rng):
    """Chicken pieces' recipe on Kimia's contours: turning angles between chords of one length."""
    arrays = read_arrays(path, "contour_xy2", "contour_len", "y")
    ends = np.cumsum(arrays["contour_len"].astype(int))
    contours = np.split(arrays["contour_xy2"] / 2, ends[:-1])
    length = float(entry.name.removeprefix("chicken"))
    labels = np.array([f"shape {label + 1}" for label in arrays["y"].tolist()])
    angles = [turning_angles(contour, length) for contour in contours]
    measure = EditDistance("absolute", _ANGLE_COST, _ANGLE_COST)
    return _Proximities(angles, labels, str(path), measure)


def turning_angles(contour, length):
    """Angles in degrees, from −180 to 180, between neighbouring chords of a closed contour.

    The chords have the given length: each ends where the contour first leaves the circle about its
    start. What is left at the end is less than a chord and is dropped.
    """
    corner, points = contour[0], [contour[0]]
    for a, b in zip(contour, np.roll(contour, -1, axis=0)):
        # The contour's edge from a to b may be long enough for several chords.
        while np.linalg.norm(b - points[-1]) >= length:
            corner = _leaving_point(a, b, points[-1], length)
            points.append(corner)
            a = corner
    chords = np.diff(points, axis=0)
    headings = np.degrees(np.arctan2(chords[:, 1], chords[:, 0]))
    return (np.diff(headings) + 180) % 360 - 180


def _leaving_point(a, b, centre, radius):
    """Where the edge from a, within the circle, to b, without, crosses it."""
    edge, start = b - a, a - centre
    square, half = edge @ edge, edge @ start
    root = np.sqrt(max(half**2 - square * (start @ start - radius**2), 0.0))
    return a + edge * min((root - half) / square, 1.0)


def _bands(entry, path, rng):
    """Chromo: profiles in six levels of equal frequency, or the differences of neighbours."""
    arrays = read_arrays(path, "x", "y")
    profiles, y = arrays["x"].astype(float), arrays["y"].astype(int)
    edges = np.quantile(profiles, np.arange(1, _LEVELS) / _LEVELS)
    rows = [np.flatnonzero(y == i)[:size] for i, size in enumerate(entry.counts.values())]
    rows = np.concatenate(rows)
    codes = np.searchsorted(edges, profiles[rows], side="right").astype(float)
    if entry.name == "chromo-dif":
        codes = np.diff(codes, axis=1)
    labels = np.array([f"chromosome {i + 1}" for i in y[rows].tolist()])
    measure = EditDistance("absolute", _LEVEL_COST, _LEVEL_COST)
    return _Proximities(list(codes), labels, str(path), measure)


_READERS = {
    "cat-cortex": _matrix,
    "protein": _matrix,
    "news-cor": _news,
    "nist38-eu": _nist,
    "nist38-mh": _nist,
    "pen-ang": _pens,
    "pen-dis": _pens,
    "chicken15": _contours,
    "chicken29": _contours,
    "chromo-dif": _bands,
    "chromo-abs": _bands,
    "coil-york": _fixed_split,
}
