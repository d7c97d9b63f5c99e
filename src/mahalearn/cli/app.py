"""The commands. What is heavy is imported inside them, so that --help is there at once."""

from pathlib import Path
from typing import Annotated

import typer

from ._own_data import register

app = typer.Typer(
    name="mahalearn",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
register(app)


@app.callback()
def main():
    """Mahalanobis-distance classification in input, kernel and Kreĭn spaces.

    \b
    mahalearn compare wine
    mahalearn compare table.csv --target species --out result
    mahalearn compare --proximity distances.csv --labels classes.csv
    mahalearn compare --objects words.txt --measure edit --labels classes.txt
    mahalearn train table.csv --target species --out species.skops
    mahalearn predict species.skops new.csv --out predictions.csv
    """


@app.command()
def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Tables and figures (A1, C7, Dfigs …), or all.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions, without the slowest sets.")
    ] = False,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Repetitions instead of the paper's.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder of the rows and the page.")] = Path(
        "reproduction"
    ),
):
    """Run the papers' experiments and write a page of ours beside the published numbers.

    Finished cells are kept in OUT/rows.jsonl: the same command goes on after an interruption. Data
    files are looked for in the folder that MAHALEARN_DATA names.
    """
    from ..experiments.registry import EXPERIMENTS, select
    from . import _reproduce

    if list_:
        _reproduce.show(EXPERIMENTS.values())
        return
    if not ids:
        raise typer.BadParameter("Name tables or figures, or all; --list says what there is.")
    try:
        chosen = select(ids)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    _reproduce.run(chosen, out, quick=quick, repetitions=repetitions, jobs=jobs)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of reproduce or compare.")],
    docs: Annotated[
        Path | None, typer.Option(help="Write this Markdown file too, its figures beside it.")
    ] = None,
    command: Annotated[
        str, typer.Option(help="The command that made the rows, for the page.")
    ] = "",
):
    """Write the page of a run again, from its rows alone."""
    if (folder / "comparison.json").exists():
        from ._own_data import write_comparison_page

        given = [name for name, value in (("--docs", docs), ("--command", command)) if value]
        if given:
            raise typer.BadParameter(
                f"{given[0]} is for the rows of mahalearn reproduce; {folder} holds a comparison."
            )
        write_comparison_page(folder)
        return
    from . import _reproduce

    if not (folder / "rows.jsonl").exists():
        raise typer.BadParameter(
            f"{folder} holds neither comparison.json nor rows.jsonl; mahalearn compare or "
            f"mahalearn reproduce with --out {folder} makes them."
        )
    _reproduce.write_page(folder, docs, command)
