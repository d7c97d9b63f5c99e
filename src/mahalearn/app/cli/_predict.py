"""What `predict` does: labels, probabilities, distances and outliers of new objects."""

import warnings

from rich.console import Console
from rich.markup import escape

from ...persistence import load_model, model_about
from ...results import write_text
from ..comparing.features import NAME, check_about, match_columns
from ..reading.problem import DataError, listed
from ..words import counted
from ._common import check_out, csv_text, rows_of, say_notes

console = Console()


def predict(path, data, out, *, level, force, header):
    """Predict, and write a line for each object."""
    check_out(out, force, inputs=[path, data])
    about = check_about(model_about(path), path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model = load_model(path)
    if [str(c) for c in getattr(model, "classes_", ())] != about["classes"]:
        raise DataError(
            f"{str(path)!r} has been changed since it was saved: it names other classes than its "
            "model has; train the model again."
        )
    if not hasattr(model, "typicality"):
        raise DataError(f"{str(path)!r} holds no model of mahalearn train or compare.")
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    X, names, more = read_new(data, about, header)
    say_notes(console, [*notes, *more])
    try:
        rows = list(predictions(model, X, names, about, level))
    except ValueError as error:
        raise DataError(f"The model cannot take these objects: {error}") from None
    write_text(out, csv_text(rows))
    flagged = sum(row["outlier"] for row in rows)
    console.print(
        f"{counted(len(rows), 'object')} predicted, {flagged} of them flagged as "
        f"{'an outlier' if flagged == 1 else 'outliers'}: {escape(str(out))}",
        highlight=False,
        soft_wrap=True,
    )


def read_new(data, about, header):
    """New objects in the form the model takes: (X, names, notes)."""
    if about["kind"] == "proximity":
        return _new_rows(data, about)
    if about["kind"] == "objects" and not about["features"]:
        from ..reading.objects import read_objects

        return read_objects(data)[0], None, []
    from ..reading.columns import row_names
    from ..reading.tables import read_table

    known = {f["name"]: f["type"] for f in about["features"]}
    texts = [name for name, kind in known.items() if kind == NAME]
    frame, notes = read_table(data, header=header, texts=texts)
    ids, names = row_names(frame.drop(columns=[*known, about["target"]], errors="ignore"))
    X, more = match_columns(frame, about, ids)
    if about["kind"] == "objects":
        X = rows_of(X)
    return X, names, [*notes, *more]


def _new_rows(data, about):
    """Proximities of new objects to the training objects, by name where both have names."""
    from ..reading.matrices import read_matrix

    M, rows, columns, _ = read_matrix(data)
    trained, n = about["objects"], about["training"]["objects"]
    if trained and columns:
        absent = [name for name in trained if name not in set(columns)]
        if absent:
            raise DataError(
                f"The matrix lacks the columns of the training objects {listed(absent)}; it must "
                "hold the proximity of each new object to each of them."
            )
        position = {name: i for i, name in enumerate(columns)}
        M = M[:, [position[name] for name in trained]]
        spare = len(columns) - len(trained)
        notes = [f"{spare} columns of other objects were ignored."] if spare else []
        return M, rows, notes
    if M.shape[1] != n:
        raise DataError(
            f"The matrix has {M.shape[1]} columns, but the model was trained on {n} objects; it "
            "must hold the proximity of each new object to each of them, in their order."
        )
    return M, rows, []


def predictions(model, X, names, about, level):
    """Rows of the table of predictions."""
    labels, proba = model.predict(X), model.predict_proba(X)
    d2 = model.mahalanobis(X)
    usual, outliers = model.typicality(d2).max(axis=1), model.outliers(d2, level)
    classes = about["classes"]
    for i, label in enumerate(labels):
        row = {"object": names[i] if names else i + 1, "prediction": label}
        row |= {f"p {name}": f"{p:.6g}" for name, p in zip(classes, proba[i])}
        row |= {f"d2 {name}": f"{d:.6g}" for name, d in zip(classes, d2[i])}
        row |= {"typicality": f"{usual[i]:.4g}", "outlier": int(outliers[i])}
        yield row
