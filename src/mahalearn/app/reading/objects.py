"""Objects that a measure compares: a text in each line, or JSON lines."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np

from .matrices import read_labels
from .problem import DataError, Problem, as_labels
from .text import lines_of

OBJECT_KEYS = ("object", "text", "sequence", "string", "points", "x", "data")
LABEL_KEYS = ("label", "class", "target", "y")


def read_objects(path):
    """Objects and, where the file has them, classes.

    Parameters
    ----------
    path : str or path
        A text in each line; or label, tab, text; or JSON lines: an object, or a dict with an object
        and perhaps a label.

    Returns
    -------
    objects : list
    labels : list or None
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}.")
    lines = lines_of(path, "objects stand in a text file, a line each, or in JSON lines")
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return _json_lines(path, lines)
    if all(line.count("\t") == 1 for line in lines):
        labels, objects = zip(*(line.split("\t") for line in lines))
        return list(objects), list(labels)
    return lines, None


def _json_lines(path, lines):
    objects, labels = [], []
    for i, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            raise DataError(f"Line {i} of {str(path)!r} is not JSON.") from None
        if isinstance(entry, dict):
            key = next((k for k in OBJECT_KEYS if k in entry), None)
            if key is None:
                raise DataError(
                    f"Line {i} of {str(path)!r} has no object; it is looked for under "
                    f"{', '.join(OBJECT_KEYS)}."
                )
            label = next((entry[k] for k in LABEL_KEYS if k in entry), None)
            entry = entry[key]
            labels.append(label)
        if isinstance(entry, list) and entry and isinstance(entry[0], list | int | float):
            with suppress(TypeError, ValueError):  # a sequence of mixed symbols stays a list
                entry = np.array(entry, dtype=float)
        objects.append(entry)
    if labels and (len(labels) < len(objects) or any(label is None for label in labels)):
        raise DataError(f"Some lines of {str(path)!r} have a label and some have none.")
    return objects, labels or None


def objects_problem(path, measure, labels=None, name=None):
    """The problem of objects and the measure that compares them."""
    from ...measures.table import MEASURES

    if measure is None:
        raise DataError(f"How are objects compared? Name a --measure: {', '.join(MEASURES)}.")
    if measure not in MEASURES:
        raise DataError(f"There is no measure {measure!r}; choose from {', '.join(MEASURES)}.")
    objects, inside = read_objects(path)
    notes = []
    if labels is not None:
        y, notes = read_labels(labels, len(objects))
    elif inside is not None:
        y = as_labels(inside, "labels")
    else:
        raise DataError("The objects have no classes: name a file with --labels.")
    return Problem(
        "objects",
        objects,
        y,
        name or Path(path).stem,
        measure=measure,
        proximity="dissimilarity",
        notes=notes,
    )
