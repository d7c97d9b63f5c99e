"""How far a comparison is, and its finished cells on disk: a killed comparison can be continued."""

import json
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...results import versions
from .cells import Cell


class State(NamedTuple):
    """How far a comparison is.

    Attributes
    ----------
    method : str
        What was done last; "" at the beginning.
    finished, total : int
        Cells that are finished, those of a method that failed included, and all cells.
    ranking : list of tuple
        (method, mean error) of the methods that finished the first repetition, the best first.
    seconds_left : float or None
        What the rest takes by what was measured; None while nothing was.
    sure : bool
        Whether every method was measured. One that was not is taken for as slow as the slowest that
        was: the cheap ones come first.
    """

    method: str
    finished: int
    total: int
    ranking: list
    seconds_left: float | None
    sure: bool


def state_of(tasks, cells, failed, jobs, method="", first=None):
    """How far a comparison is.

    Parameters
    ----------
    tasks : list of tuple
        (method, fold), in the order in which they are done.
    cells : dict
        (method, fold) -> Cell.
    failed : dict
        Method -> reason.
    jobs : int
        Processes.
    method : str
        What was done last.
    first : int or None
        Folds of the first repetition, by which methods are ranked; all folds if None.

    Returns
    -------
    state : State
    """
    first = first or len({fold for _, fold in tasks})
    errors, spent = {}, {}
    for (name, fold), cell in cells.items():
        spent.setdefault(name, []).append(cell.fit_seconds + cell.predict_seconds)
        if fold < first:
            errors.setdefault(name, []).append(cell.error)
    ranking = [(n, float(np.mean(e))) for n, e in errors.items() if len(e) == first]
    means = {name: float(np.mean(values)) for name, values in spent.items()}
    left = [name for name, fold in tasks if (name, fold) not in cells and name not in failed]
    seconds = sum(means.get(name, max(means.values(), default=0.0)) for name in left) / jobs
    return State(
        method,
        len(tasks) - len(left),
        len(tasks),
        sorted(ranking, key=lambda item: item[1]),
        seconds if cells else None,
        all(name in means for name in left),
    )


def fingerprint(problem, plan, limited=False):
    """A hash of a problem, its folds and the versions that compute; limited: within a time."""
    facts = [vars(plan), limited, versions(), problem.kind, problem.proximity, problem.measure_name]
    facts += [repr(measure) for measure in (problem.alternatives or {}).values()]
    facts += [str(x.shape) for x in problem.X if isinstance(x, np.ndarray)]
    digest = sha256(json.dumps(facts).encode())
    if problem.kind == "vectors":
        digest.update(problem.X.to_csv().encode())
    elif problem.kind == "proximity":
        digest.update(np.ascontiguousarray(problem.X).tobytes())
    else:
        for x in problem.X:
            digest.update(x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode())
    for values in (problem.y, problem.groups):
        digest.update(b"\0" if values is None else repr(values.tolist()).encode())
    return digest.hexdigest()


class Progress:
    """A file of finished cells, a line each.

    Parameters
    ----------
    path : path
        The file.
    key : str
        Fingerprint of the problem and the plan; lines of another are left out.
    """

    def __init__(self, path, key):
        self.path, self.key = Path(path), key

    def add(self, cell):
        """Save a cell as soon as it is finished; a full disk ends no comparison."""
        entry = {"key": self.key, **asdict(cell)}
        entry["predicted"], entry["scores"] = cell.predicted.tolist(), cell.scores.tolist()
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(entry, default=str)}\n")  # behind half a line, of a kill

    def cells(self):
        """The cells of this key."""
        cells = {}
        with suppress(OSError):
            for line in self.path.read_text("utf-8", "replace").split("\n"):
                with suppress(ValueError, TypeError, KeyError, AttributeError):
                    entry = json.loads(line)
                    if entry.pop("key") == self.key:
                        entry["predicted"] = np.array(entry["predicted"])
                        entry["scores"] = np.array(entry["scores"], dtype=float)
                        cells[entry["method"], entry["fold"]] = Cell(**entry)
        return cells
