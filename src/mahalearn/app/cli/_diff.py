"""The command `diff`: two comparisons side by side."""

import json

import typer

from ...results import write_text
from ..comparing.diff import differences
from ..reading.problem import DataError
from ..report import html
from ..report.diff_page import diff_document

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)


def diff(first, second, out, force):
    """Compare two folders of comparisons, write the page, and print what differs."""
    if out.exists() and not force:
        raise DataError(f"{str(out)!r} exists; --force overwrites it.")
    runs = []
    for folder in (first, second):
        try:
            text = (folder / "comparison.json").read_text(encoding="utf-8")
            runs.append(json.loads(text))
        except _UNREADABLE:
            raise DataError(
                f"{str(folder)!r} holds no comparison.json that can be read; mahalearn compare "
                "writes one."
            ) from None
    try:
        values = differences(*runs)
        values["labels"] = [first.name or str(first), second.name or str(second)]
        page = html.render(diff_document(values))
    except _UNREADABLE:
        raise DataError(
            "One of the runs was written by another version of mahalearn; run compare again."
        ) from None
    write_text(out, page)
    for row in values["methods"]:
        if row["difference"]:
            a, b = (100 * error[0] for error in row["errors"])
            typer.echo(f"{row['title']}: {a:.1f} % -> {b:.1f} %")
    if not values["paired"]:
        typer.echo("The data or the folds differ, so these differences were not tested.")
    typer.echo(f"page: {out}")
