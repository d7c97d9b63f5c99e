"""How a table is encoded, in sentences; the columns that a model takes."""

import numpy as np

from ...table_encoder import TableEncoder
from ..words import counted, folded, respelled
from .columns import check_magnitude, is_number, number, written
from .problem import (
    NUMBER,
    DataError,
    Faults,
    Note,
    is_text,
    listed,
    matched_note,
    number_blocks,
    text_columns,
)


def describe_table(X):
    """Sentences on how a table is turned into vectors; a ValueError if it cannot be."""
    encoder, notes = TableEncoder().fit(X), []
    constant = X.columns[[j for j, why in encoder.dropped_.items() if why == "constant"]]
    nominal = [column for column in X.columns[text_columns(X)] if column not in constant]
    if nominal:
        notes.append(
            Note(
                f"{counted(len(nominal), 'categorical column')} "
                f"({', '.join(nominal[:6])}{' …' * (len(nominal) > 6)}) became one column for each "
                "category (one-hot).",
                "mixed",
            )
        )
    gaps = X.isna()
    if gaps.to_numpy().any():
        cells, columns = int(gaps.to_numpy().sum()), int(gaps.any().sum())
        indicators = X.columns[encoder.indicators_]
        notes.append(
            f"{counted(cells, 'cell')} ({gaps.to_numpy().mean():.1%}) in "
            f"{counted(columns, 'column')} {'is' if cells == 1 else 'are'} missing: the median of "
            "the training rows replaces a number; a missing category belongs to no category"
            + (f"; missing cells of {listed(indicators)} are marked" if len(indicators) else "")
            + "."
        )
    if len(constant):
        notes.append(f"Constant columns were left out: {listed(constant, 6)}.")
    twins = equal_columns(X.iloc[:, encoder.numeric_])
    if twins:
        pairs = (f"{copy} = {first}" for copy, first in twins)
        notes.append(f"Columns with equal values count twice: {listed(pairs, 6)}.")
    return notes


def equal_columns(X):
    """Numeric columns with the values of an earlier one: pairs (later, earlier)."""
    first, twins = {}, []
    for at, V in number_blocks(X):
        for j, values in zip(at, V.T):
            earlier = first.setdefault(values.tobytes(), X.columns[j])
            if earlier != X.columns[j]:
                twins.append((X.columns[j], earlier))
    return twins


# --- the columns that a model file lists, and a new table brought into that form ------------------


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
    features = about["features"]
    names = [f["name"] for f in features]
    frame, notes = _renamed(frame, names)
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
        instead = f"; it has {listed(map(repr, extra))} instead" if extra else ""
        raise DataError(
            f"The table lacks the column{'s' * (len(absent) > 1)} {listed(map(repr, absent))} that "
            f"the model was trained on{instead}.",
            "header" if _unnamed(frame.columns) else None,
        )
    new = [c for c in frame.columns if c not in names and c not in (about["target"], ids)]
    if new:
        notes.append(f"Columns that the model does not know were ignored: {listed(new)}.")
    units, X = frame.attrs.get("units", {}), frame[names].copy()
    with Faults().raised() as faults:
        for feature in features:
            with faults.collected():
                notes += _check(X, feature)
            before, now = feature.get("unit"), units.get(feature["name"])
            if before and now and before != now:
                faults.add(
                    f"Column {feature['name']!r} was in {before!r} in training and is in {now!r} "
                    f"now; give it in {before!r}."
                )
            elif before != now:
                notes.append(
                    f"Column {feature['name']!r} has {_unit(now)} now and had {_unit(before)} in "
                    "training; its numbers were taken as they are."
                )
    return X, notes + _gaps(X, about)


def _unit(name):
    return f"the unit {name!r}" if name else "no unit in its cells"


def _renamed(frame, names):
    """A table whose columns are called as in training where they differ in case or blanks only."""
    present = set(frame.columns)
    by_fold = {}
    for column in frame.columns:
        by_fold.setdefault(folded(column), []).append(column)
    renamed = {}
    for name in names:
        near = by_fold.get(folded(name), [])
        if name not in present and len(near) == 1 and near[0] not in names:
            renamed[near[0]] = name
    if not renamed:
        return frame, []
    units = {renamed.get(c, c): unit for c, unit in frame.attrs.get("units", {}).items()}
    frame = frame.rename(columns=renamed)
    frame.attrs["units"] = units
    return frame, [matched_note("Columns", renamed)]


def _check(X, feature):
    """Bring a column into its type; what is odd about it."""
    name, column = feature["name"], X[feature["name"]]
    if feature["type"] == NUMBER:
        if is_text(column) and all(number(str(v)) is not None for v in column.dropna()):
            # In so few rows numbers may look like codes (007).
            column = X[name] = column.map(float, na_action="ignore").astype(float)
        if not is_text(column):
            check_magnitude(column)
            return []
        odd = next((i for i, v in column.dropna().items() if not is_number(str(v))), 0)
        raise DataError(
            f"Column {name!r} held numbers in training and now holds text: {column[odd]!r} in row "
            f"{odd + 1}; correct such a cell, or leave it empty."
        )
    if not is_text(column):  # names that look like numbers: as they would be written
        X[name] = np.array([written(v) for v in column.to_numpy(dtype=float)], dtype=object)
    present = X[name].dropna()
    if (
        len(present)
        and all(is_number(str(v)) for v in present)
        and all(number(level) is None for level in feature["levels"])
    ):
        example = next(iter(feature["levels"]))
        raise DataError(
            f"Column {name!r} held names such as {example!r} in training and now "
            f"holds numbers such as {present.iloc[0]}; write it as in training."
        )
    renamed, notes = respelled(map(str, present), feature["levels"]), []
    if renamed:
        X[name] = X[name].replace(renamed)
        notes.append(matched_note(f"Categories of {name!r}", renamed))
    unknown = sorted({str(v) for v in X[name].dropna()} - set(feature["levels"]))
    if unknown:
        notes.append(f"Column {name!r} has names that were not in training: {listed(unknown)}.")
    return notes


def _gaps(X, about):
    """A sentence on missing cells and what replaces them."""
    missing = X.isna().sum()
    missing = missing[missing > 0]
    if missing.empty:
        return []
    gaps = listed(f"{name!r} ({n})" for name, n in missing.items())
    if about["kind"] == "objects":
        how = "they do not count in Gower's distance"
    else:
        how = (
            "a missing number is replaced by the median of the training rows, and a missing "
            "category belongs to no category"
        )
    are = "is" if missing.sum() == 1 else "are"
    return [f"{counted(missing.sum(), 'cell')} {are} missing, by column {gaps}: {how}."]


def _unnamed(columns):
    return all(str(c).startswith("column ") for c in columns)
