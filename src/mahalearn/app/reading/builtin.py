"""Data sets by name: those that come with scikit-learn, and the papers'."""

import numpy as np

from ...datasets import load, names
from .problem import DataError, Problem

BUNDLED = ("iris", "wine", "breast-cancer", "digits")


def is_builtin(name):
    """Whether a word is the name of a set rather than of a file."""
    plain = name.lower().replace("_", "-")
    return plain in BUNDLED or plain in names()


def builtin_problem(name):
    """The problem of a set by name."""
    import pandas as pd

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

    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    X = pd.DataFrame(found.data)
    X.columns = [str(column) for column in found.feature_names]
    y = np.array([str(label) for label in found.target_names])[found.target]
    return Problem("vectors", X, y, name)
