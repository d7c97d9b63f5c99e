"""Finished cells of a comparison on disk, so that a killed one can be continued."""

import json
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import numpy as np

from ...results import versions
from .crossval import Cell

FILE_NAME = "progress.jsonl"


def fingerprint(problem, plan):
    """What tells a problem, its folds and the versions that compute from all others."""
    facts = [vars(plan), versions(), problem.kind, problem.measure_name]
    facts += [repr(measure) for measure in (problem.alternatives or {}).values()]
    digest = sha256(json.dumps(facts).encode())
    if problem.kind == "vectors":
        digest.update(problem.X.to_csv().encode())
    elif problem.kind == "proximity":
        digest.update(np.ascontiguousarray(problem.X).tobytes())
    else:
        for x in problem.X:
            digest.update(x.tobytes() if isinstance(x, np.ndarray) else repr(x).encode())
    for values in (problem.y, problem.groups, problem.weights):
        digest.update(b"\0" if values is None else repr(values.tolist()).encode())
    return digest.hexdigest()


class Progress:
    """A file of finished cells, a line each.

    Parameters
    ----------
    folder : path
        Where results are written.
    key : str
        Fingerprint of the problem and the plan; lines of another are left out.
    """

    def __init__(self, folder, key):
        self.path, self.key = Path(folder) / FILE_NAME, key

    def start(self, resume):
        """The cells of an earlier run that `resume` takes over; else the file begins anew."""
        cells = self._read() if resume else {}
        self.remove()
        for cell in cells.values():
            self.add(cell)
        return cells

    def add(self, cell):
        """Save a cell as soon as it is finished; a full disk ends no comparison."""
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            file.write(self._line(cell))

    def remove(self):
        """Forget the cells: the results are there."""
        self.path.unlink(missing_ok=True)

    def _line(self, cell):
        entry = {"key": self.key, **asdict(cell)}
        entry["predicted"], entry["scores"] = cell.predicted.tolist(), cell.scores.tolist()
        return json.dumps(entry, default=str) + "\n"

    def _read(self):
        cells = {}
        if not self.path.exists():
            return cells
        for line in self.path.read_bytes().decode("utf-8", "replace").split("\n"):
            try:
                entry = json.loads(line)
                if entry.pop("key") != self.key:
                    continue
                entry["predicted"] = np.array(entry["predicted"])
                entry["scores"] = np.array(entry["scores"], dtype=float)
                cell = Cell(**entry)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # half a line, of a kill
            cells[cell.method, cell.fold] = cell
        return cells
