"""The command `diff`: two comparisons side by side."""

import json
from pathlib import Path
from typing import Annotated

import typer

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)


def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a comparison.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of another one.")],
    out: Annotated[Path, typer.Option(help="The page to write, an HTML file.")] = Path("diff.html"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the page.")] = False,
):
    """Show two comparisons side by side: errors, paired on equal folds, and changes of the data.

    \b
    mahalearn diff before after --out diff.html
    """
    from ...results import write_text
    from ..comparing.diff import differences
    from ..report import html
    from ..report.diff_page import diff_document
    from ._terminal import reported_errors

    with reported_errors():
        from ..reading.problem import DataError

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
