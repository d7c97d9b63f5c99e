"""Which columns a model was trained on, and a new table brought into that form."""

import numpy as np

from ..reading.cells import is_number, number
from ..reading.columns import check_magnitude
from ..reading.problem import DataError, listed
from ..words import counted
from .encoder import _is_number

NUMBER, NAME = "number", "name"


def feature_list(problem):
    """Columns of the training table: name, type and, for names, the known ones."""
    if problem.columns is not None:  # rows as objects
        import pandas as pd

        X = pd.DataFrame(problem.X, columns=problem.columns)
        X = X.apply(lambda c: c if any(isinstance(v, str) for v in c) else c.astype(float))
    elif problem.kind == "vectors":
        X = problem.X
    else:
        return []
    features = []
    for column in X.columns:
        if _is_number(X[column]):
            features.append({"name": column, "type": NUMBER})
        else:
            levels = sorted({str(v) for v in X[column].dropna()})
            features.append({"name": column, "type": NAME, "levels": levels})
    return features


def match_columns(frame, about, ids=None):
    """The training columns of a new table, in their order, with sentences on what differs.

    Parameters
    ----------
    frame : DataFrame
        New rows.
    about : dict
        What the model file says.
    ids : str or None
        The column that names the rows.

    Returns
    -------
    X : DataFrame
    notes : list of str
    """
    features, notes = about["features"], []
    names = [f["name"] for f in features]
    absent = [name for name in names if name not in frame.columns]
    if absent and _unnamed(frame.columns) and _unnamed(names):
        spare = [c for c in frame.columns if c != about["target"]]
        if len(spare) == len(names) or len(frame.columns) == len(names):
            columns = list(frame.columns) if len(frame.columns) == len(names) else spare
            frame = frame[columns].set_axis(names, axis=1)
            notes.append("Neither table has a header, so columns were matched by position.")
            absent = []
    if absent:
        extra = [c for c in frame.columns if c not in names]
        more = f"; it has {listed(map(repr, extra))} instead" if extra else ""
        raise DataError(
            f"The table lacks the column{'s' * (len(absent) > 1)} {listed(map(repr, absent))} that "
            f"the model was trained on{more}."
        )
    new = [c for c in frame.columns if c not in names and c not in (about["target"], ids)]
    if new:
        notes.append(f"Columns that the model does not know were ignored: {listed(new)}.")
    X = frame[names].copy()
    for feature in features:
        notes += _check(X, feature)
    return X, notes + _gaps(X, about)


def _check(X, feature):
    """Bring a column into its type; what is odd about it."""
    name, column = feature["name"], X[feature["name"]]
    if feature["type"] == NUMBER:
        if not _is_number(column) and all(number(str(v)) is not None for v in column.dropna()):
            # In so few rows numbers may look like codes (007).
            column = X[name] = column.map(float, na_action="ignore").astype(float)
        if _is_number(column):
            check_magnitude(column)
            return []
        odd = next((i for i, v in column.dropna().items() if not is_number(str(v))), 0)
        raise DataError(
            f"Column {name!r} held numbers in training and now holds text: {column[odd]!r} in row "
            f"{odd + 1}; correct such a cell, or leave it empty."
        )
    if _is_number(column):  # names that look like numbers: as they would be written
        text = [None if np.isnan(v) else _written(v) for v in column.to_numpy(dtype=float)]
        X[name] = np.array(text, dtype=object)
    present = X[name].dropna()
    if (
        len(present)
        and all(is_number(str(v)) for v in present)
        and all(number(level) is None for level in feature["levels"])
    ):
        raise DataError(
            f"Column {name!r} held names such as {feature['levels'][0]!r} in training and now "
            f"holds numbers such as {present.iloc[0]}; write it as in training."
        )
    unknown = sorted({str(v) for v in X[name].dropna()} - set(feature["levels"]))
    if unknown:
        return [f"Column {name!r} has names that were not in training: {listed(unknown)}."]
    return []


def _written(value):
    return str(int(value)) if float(value).is_integer() else str(value)


def _gaps(X, about):
    """What stands in for missing cells, if there are any."""
    missing = X.isna().sum()
    missing = missing[missing > 0]
    if missing.empty:
        return []
    gaps = listed(f"{name!r} ({n})" for name, n in missing.items())
    if about["kind"] == "objects":
        how = "they do not count in Gower's distance"
    else:
        how = (
            "the median of the training rows stands in for a number, and a missing name is none of "
            "the known ones"
        )
    are = "is" if missing.sum() == 1 else "are"
    return [f"{counted(missing.sum(), 'cell')} {are} missing, by column {gaps}: {how}."]


def _unnamed(columns):
    return all(str(c).startswith("column ") for c in columns)
