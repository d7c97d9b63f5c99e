"""The entries of a model file, declared and checked in one place."""

from .problem import NAME, NUMBER, DataError, listed

# As `fits` reads them; "!" marks what must be there, `...` stands for any name.
_TEXT = (str, None)
_COLUMN = {"name!": str, "unit": str, "rows": int, "missing": int}
_INTERVAL = ([(int, float)], 3)
SCHEMA = {
    "kind!": {"vectors", "proximity", "objects"},
    "target!": _TEXT,
    "features!": [
        (
            {**_COLUMN, "type!": {NUMBER}, "quartiles": ([(int, float)], 5)},
            {**_COLUMN, "type!": {NAME}, "levels!": {...: int}},
        )
    ],
    "classes!": [str],
    "objects!": ([str], None),
    "series": ({"id!": str, "time!": str, "value!": [str]}, None),
    "training!": {
        "objects!": int,
        "counts": {...: int},
        "groups": (int, None),
        "parameters": dict,
        "error": (_INTERVAL, None),
        "balanced_error": (_INTERVAL, None),
    },
    **dict.fromkeys(("data", "method", "title", "label_type", "proximity", "measure"), _TEXT),
    **dict.fromkeys(("distances", "command", "saved"), _TEXT),
}


def fits(value, schema):
    """True if a value is as a schema says.

    Parameters
    ----------
    value : object
        What a file holds.
    schema : type, None, set, list, tuple or dict
        A type; None; words; the elements of a list; alternatives, or a list and its length; names
        and what they hold, those that end with "!" required.

    Examples
    --------
    >>> from mahalearn.app.reading.schema import fits
    >>> fits({"n": 3}, {"n!": int, "names": [str]}), fits({"names": ["a"]}, {"n!": int})
    (True, False)
    """
    match schema:
        case dict():
            return isinstance(value, dict) and not list(faults(value, schema))
        case set():
            return isinstance(value, str) and value in schema
        case [element]:
            return isinstance(value, list) and all(fits(each, element) for each in value)
        case [list() as elements, int() as length]:
            return fits(value, elements) and len(value) == length
        case tuple():
            return any(fits(value, one) for one in schema)
        case None:
            return value is None
    return isinstance(value, schema) and not isinstance(value, bool)


def faults(entries, schema, complete=True):
    """Names of entries that are not as a schema says, or are missing."""
    if ... in schema:
        return [name for name, value in entries.items() if not fits(value, schema[...])]
    return [
        name.rstrip("!")
        for name, wanted in schema.items()
        if (complete and name.endswith("!") and name.rstrip("!") not in entries)
        or (name.rstrip("!") in entries and not fits(entries[name.rstrip("!")], wanted))
    ]


def check_about(about, path, complete=True):
    """Entries of a model file, refused if they are not those that `train` writes.

    Parameters
    ----------
    about : dict
        What :func:`mahalearn.persistence.model_about` gave.
    path : str or path
        The file, for the message.
    complete : bool, default=True
        Whether everything that predicting needs must be there.

    Returns
    -------
    about : dict
        The same.
    """
    if complete and "kind" not in about:
        raise DataError(
            f"{str(path)!r} does not store how its table is read: predict needs a file of "
            "mahalearn train or compare."
        )
    if wrong := faults(about, SCHEMA, complete):
        raise DataError(
            f"{str(path)!r} has been changed since it was saved: what it says under "
            f"{listed(map(repr, wrong))} is missing or not what mahalearn train writes; train the "
            "model again."
        )
    return about
