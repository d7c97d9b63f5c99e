"""Which columns a model was trained on, and a new table brought into that form."""

import numpy as np

from ..io.problem import DataError, listed
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


def match_columns(frame, about):
    """The training columns of a new table, in their order, with sentences on what differs.

    Parameters
    ----------
    frame : DataFrame
        New rows.
    about : dict
        What the model file says.

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
    new = [c for c in frame.columns if c not in names and c != about["target"]]
    if new:
        notes.append(f"Columns that the model does not know were ignored: {listed(new)}.")
    X = frame[names].copy()
    for feature in features:
        notes += _check(X, feature)
    return X, notes


def _check(X, feature):
    """Bring a column into its type; what is odd about it."""
    name, column = feature["name"], X[feature["name"]]
    if feature["type"] == NUMBER:
        if _is_number(column):
            values = column.to_numpy(dtype=float)
            if np.isinf(values).any():
                raise DataError(f"Column {name!r} contains infinite values.")
            return []
        example = next(iter(column.dropna()), "")
        raise DataError(
            f"Column {name!r} held numbers in training and now holds text such as {example!r}."
        )
    if _is_number(column):  # names that look like numbers: as they would be written
        text = [None if np.isnan(v) else f"{v:g}" for v in column.to_numpy(dtype=float)]
        X[name] = np.array(text, dtype=object)
    unknown = sorted({str(v) for v in X[name].dropna()} - set(feature["levels"]))
    if unknown:
        return [f"Column {name!r} has names that were not in training: {listed(unknown)}."]
    return []


def _unnamed(columns):
    return all(str(c).startswith("column ") for c in columns)
