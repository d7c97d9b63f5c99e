"""Matrices of all pairs: in parallel, within bounded memory, resumable."""

import hashlib
import pickle
from inspect import isfunction

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._progress import progress as progress_bar
from .._typing import File, MeasureLike, Objects, Symmetrize
from .._validation import check_choice, check_memory
from ._matrix_file import MatrixFile
from .base import SYMMETRIZE, block_slices, is_half, pair_block, place
from .table import as_measure


def pairwise(
    objects: Objects,
    measure: MeasureLike,
    other: Objects | None = None,
    symmetrize: Symmetrize = "mean",
    n_jobs: int | None = None,
    progress: bool = False,
    out: File | None = None,
) -> np.ndarray:
    """Matrix of a measure between all objects, or between objects and others.

    Read more in the :doc:`user guide </measures>`.

    Parameters
    ----------
    objects : sequence of objects
        The rows. What an object is depends on the measure: a string, a sequence, an array of
        points, a row of a table.
    measure : str, measure or callable
        A name such as "edit", "dtw" or "hausdorff" (all are in :doc:`measures </measures>`); a
        measure such as ``EditDistance("angular")``; or a function of two objects that returns a
        number. A measure that learns from training objects and is not fitted (Gower's ranges)
        learns from `other`, or from `objects` if there are no others.
    other : sequence of objects, default=None
        The columns, for example training objects; `objects` if None.
    symmetrize : {"mean", "min", "max", None}, default="mean"
        How the two directions of an asymmetric measure are combined; None keeps the one from row to
        column. A function is taken to be asymmetric and called for both directions; if it is
        symmetric, ``FunctionMeasure(function, symmetric=True)`` saves half of the calls.
    n_jobs : int, default=None
        Number of workers, as in joblib: threads for the library's measures, processes for
        functions. -1: all cores.
    progress : bool, default=False
        Whether to show a progress bar (``pip install "mahalearn[progress]"``).
    out : str or path, default=None
        An .npy file to compute into, for matrices that are large or take long. If the computation
        is interrupted or killed, the same call goes on where it was. One process at a time.

    Returns
    -------
    D : ndarray of shape (len(objects), len(other))
        The matrix; with `out` a read-only memory map of the file.

    See Also
    --------
    mahalearn.MeasureKernel : Kernel of a function of two objects.
    mahalearn.proximity.diagnose : Diagnosis of a distance matrix.

    Examples
    --------
    >>> from mahalearn.measures import pairwise
    >>> pairwise(["kitten", "sitting", "mitten"], "edit").tolist()
    [[0.0, 3.0, 1.0], [3.0, 0.0, 3.0], [1.0, 3.0, 0.0]]
    """
    measure = _ready(as_measure(measure), objects if other is None else other)
    symmetrize = check_choice(symmetrize, "symmetrize", SYMMETRIZE)
    half = is_half(measure, other, symmetrize)
    P, Q = measure.prepare(objects, other)
    blocks = block_slices(len(P), len(Q), measure.block_size, half)
    shape = (len(P), len(Q))
    if out is None:
        check_memory(
            len(P) * len(Q), "The matrix of all pairs", "Pass out='file.npy' to compute on disk."
        )
        D = np.empty(shape)
        _fill(D, measure, P, Q, blocks, half, symmetrize, n_jobs, progress)
        return D
    file = MatrixFile(out, shape, len(blocks), _fingerprint(measure, P, Q, symmetrize))
    if not file.complete:
        with file.writing() as D:
            _fill(D, measure, P, Q, blocks, half, symmetrize, n_jobs, progress, file)
        del D
    return file.result()


def _ready(measure, reference):
    """The measure as it is if it has been fitted, else a copy fitted on the reference objects."""
    try:
        check_is_fitted(measure)
    except NotFittedError:
        return clone(measure).fit(reference)
    return measure


def _fill(D, measure, P, Q, blocks, half, symmetrize, n_jobs, progress, file=None):
    """Compute the blocks that are not done, and put them in their places."""
    todo = [k for k in range(len(blocks)) if file is None or not file.done[k]]
    sizes = [(r.stop - r.start) * (c.stop - c.start) for r, c in blocks]
    calls = (
        joblib.delayed(pair_block)(
            measure,
            P[rows],
            Q[cols],
            Q is P and rows == cols,
            symmetrize,
            (rows.start, cols.start),
        )
        for rows, cols in (blocks[k] for k in todo)
    )
    if joblib.effective_n_jobs(n_jobs) == 1:
        results = (function(*args, **kwargs) for function, args, kwargs in calls)
    else:
        prefer = "threads" if measure.releases_gil else "processes"
        results = joblib.Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")(calls)
    finished = sum(sizes) - sum(sizes[k] for k in todo)
    with progress_bar(progress, sum(sizes), "pairs", finished) as advance:
        for k, values in zip(todo, results, strict=True):
            place(D, *blocks[k], values, half)
            if file is not None:
                file.mark(k)
            advance(sizes[k])


def _fingerprint(measure, P, Q, symmetrize):
    """A digest of everything that the values depend on."""
    parts = [type(measure).__qualname__, symmetrize, measure.block_size, Q is P]
    learned = {name: value for name, value in vars(measure).items() if name.endswith("_")}
    for name, value in sorted({**measure.get_params(deep=False), **learned}.items()):
        parts += [name, *(_function_parts(value) if isfunction(value) else [value])]
    for prepared in (P,) if Q is P else (P, Q):
        # One by one: of a list, joblib's hash depends on which objects are one and the same.
        parts += prepared if isinstance(prepared, list) else [prepared]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(_hash(part).encode())
    return digest.hexdigest()


def _hash(value):
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            "With out= the objects and the measure must be picklable, so that they can be "
            f"identified; {type(value).__name__} is not ({error})."
        ) from None


def _function_parts(function):
    """A function's name, its code, and the values it holds; not those it finds in its module."""
    code = function.__code__
    plain = [c for c in code.co_consts if isinstance(c, (str, bytes, int, float, type(None)))]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = [v.__qualname__ if isfunction(v) else v for v in cells]
    return [function.__qualname__, code.co_code, code.co_names, plain, function.__defaults__, *held]
