"""The commands. What is heavy is imported inside them, so that --help is there at once."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ._own_data import register

app = typer.Typer(
    name="mahalearn",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
register(app)
# Floors above this one bring commands of their own: modules with `register(app)`, `RECOGNISED`
# (the file that marks a folder of theirs) and `write_page(folder, docs, command)`. They are found
# by name, because they import this floor.
EXTENSIONS = [import_module(f"{__name__.partition('.')[0]}.papers.command")]
for extension in EXTENSIONS:
    extension.register(app)


def _version(value: bool):
    if value:
        typer.echo(f"mahalearn {import_module(__name__.partition('.')[0]).__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
):
    """Mahalanobis-distance classification in input, kernel and Kreĭn spaces.

    \b
    mahalearn compare wine
    mahalearn compare table.csv --target species --out result
    mahalearn compare --proximity distances.csv --labels classes.csv
    mahalearn compare --objects words.txt --measure edit --labels classes.txt
    mahalearn train table.csv --target species --out species.skops
    mahalearn predict species.skops new.csv --out predictions.csv
    mahalearn doctor
    """


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of reproduce or compare.")],
    docs: Annotated[
        Path | None, typer.Option(help="Write this Markdown file too, its figures beside it.")
    ] = None,
    command: Annotated[
        str, typer.Option(help="The command that made the rows, for the page.")
    ] = "",
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder for the figures (SVG, PNG) and numbers (CSV) of a comparison."),
    ] = None,
):
    """Write the page of a run again, from its rows alone."""
    if (folder / "comparison.json").exists():
        from ._own_data import write_comparison_page

        given = [name for name, value in (("--docs", docs), ("--command", command)) if value]
        if given:
            raise typer.BadParameter(
                f"{given[0]} is for the rows of mahalearn reproduce; {folder} holds a comparison."
            )
        write_comparison_page(folder, figures)
        return
    if figures is not None:
        raise typer.BadParameter("--figures is for the folder of a comparison.")
    for extension in EXTENSIONS:
        if (folder / extension.RECOGNISED).exists():
            extension.write_page(folder, docs, command)
            return
    marks = " or ".join(["comparison.json", *(extension.RECOGNISED for extension in EXTENSIONS)])
    raise typer.BadParameter(
        f"{folder} holds no {marks}; mahalearn compare or mahalearn reproduce with --out {folder} "
        "makes them."
    )
