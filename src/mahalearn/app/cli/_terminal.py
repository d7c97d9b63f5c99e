"""Errors in sentences, notes, and places and formats of files, for all commands."""

import math
import os
import shlex
import signal
import socket
import tempfile
import threading
from contextlib import contextmanager

import rich.console
import typer
from rich.markup import escape

from ..reading.problem import DataError
from ..words import TURNING

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
# Characters that steer a terminal.
STEERING = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")
CONTROLS = STEERING | TURNING
# Options that do not change results, or that others stand for.
SILENT = ("jobs", "force")
# Packages of the extra `cli`, which readers and writers import where they need them.
EXTRAS = ("pandas", "skops", "pyarrow", "openpyxl", "charset_normalizer")
OUTPUTS = ("model.skops", "results.csv", "comparison.json", "report.html")


@contextmanager
def reported_errors():
    """Turn all problems that people can mend into sentences and exit code 2."""
    from ...persistence import UntrustedModelError

    try:
        with _interrupts_announced():
            yield
        return
    except KeyboardInterrupt:
        typer.echo("Stopped; no result was written.", err=True)
        raise typer.Exit(130) from None
    except DataError as error:
        sentences = [hinted(one) for one in error.errors]
    except UntrustedModelError as error:
        sentences = [str(error)]
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # whoever read the output has gone
            raise
        sentences = [_os_sentence(error)]
    except MemoryError as error:
        sentences = [str(error) or "There is not enough memory; use fewer rows."]
    except ImportError as error:
        if "mahalearn[" not in str(error) and error.name not in EXTRAS:
            raise
        sentences = [str(error)]
        if "mahalearn[" not in sentences[0]:
            sentences = [f'This command needs {error.name}: pip install "mahalearn[cli]".']
    lines = [visible(" ".join(sentence.split())) for sentence in dict.fromkeys(sentences)]
    if len(lines) > 1:
        lines = [f"{len(lines)} problems:", *(f"{i}. {line}" for i, line in enumerate(lines, 1))]
    typer.echo("Error: " + "\n".join(lines), err=True)
    raise typer.Exit(2)


@contextmanager
def _interrupts_announced():
    """Say at once that Ctrl-C was pressed: compiled code may go on for a while before it ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_announce, args=(reader,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        thread.join()
        reader.close()


def _announce(reader):
    while number := reader.recv(1):
        if number[0] == signal.SIGINT:
            typer.echo("Stopping …", err=True)


def visible(text):
    """A text without characters that steer a terminal: names in a file may hold them."""
    return text.translate(CONTROLS)


# How a choice that an error or a note speaks of is made on the command line.
HINTS = {
    "target": "--target names the column of the classes.",
    "labels": "--labels names a file of classes.",
    "symmetrize": "--symmetrize mean takes the mean of both directions.",
    "kind": "--kind overrides this.",
    "proximity": "--proximity reads it as a matrix.",
    "mixed": "--mixed gower compares rows by Gower's distance instead.",
    "drop": "--drop leaves columns out.",
    "rare": "--rare merge or --rare drop does this.",
    "groups": "--groups names that column.",
    "sample": "--sample sets its size, 0 takes all rows.",
    "sheet": "--sheet names another one.",
    "measure": "--measure names another one.",
    "skip": "--skip says how many lines stand above the header.",
    "missing": '--missing "WORD,WORD" names words for missing cells.',
    "decimal": "--decimal . or --decimal , says which mark is the decimal one.",
    "interpolate": "--interpolate fills gaps from the neighbours in time.",
    "header": "--header says that the first line holds names, --no-header that it holds data.",
}


def hinted(said):
    """The sentence of an error or a note, and how to choose otherwise on the command line."""
    hint = HINTS.get(getattr(said, "option", None))
    return f"{said} {hint}" if hint else str(said)


def next_step(model):
    """The command that predicts with a model file, as it is typed."""
    return escape(f"mahalearn predict {shlex.quote(str(model))} NEW --report new.html")


def say_notes(console, notes):
    """Print notes."""
    for note in notes:
        console.print(f"[yellow]•[/] {escape(hinted(note))}")


def _os_sentence(error):
    """An error of the system as a sentence, without its number."""
    if error.errno is None:  # raised by ourselves, in a sentence
        return str(error)
    place = repr(str(error.filename)) if error.filename is not None else "A file"
    if isinstance(error, IsADirectoryError):
        return f"{place} is a folder; a file is needed."
    return f"{place} cannot be read or written: {str(error.strerror).lower()}."


def check_out(out, force, names=(), inputs=()):
    """Refuse a place that cannot be written, or holds something, before any work is done.

    Parameters
    ----------
    out : Path
        A file; a folder, if there are `names`.
    force : bool
        Whether earlier files may be overwritten.
    names : sequence of str
        Files in the folder.
    inputs : sequence of path or None
        Files that are read: they are never overwritten, with or without `force`.
    """
    folder, files = (out, [out / name for name in names]) if names else (out.parent, [out])
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        reason = "" if there == folder else f", so {str(folder)!r} cannot be a folder"
        raise DataError(f"{str(there)!r} is a file{reason}; --out must name another place.")
    for file in files:
        for used in inputs:
            if used is not None and same_file(file, used):
                raise DataError(
                    f"{str(file)!r} would be overwritten, but it is an input of this command "
                    f"({str(used)!r}); --out must name another place."
                )
        if file.is_dir():
            raise DataError(f"{str(file)!r} is a folder; --out must name a file.")
        if file.exists() and not file.is_file():
            raise DataError(f"{str(file)!r} is not a plain file; --out must name another place.")
        if file.exists() and not force:
            raise FileExistsError(f"{file} exists already; --force overwrites it.")
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise DataError(
            f"Nothing can be written in {str(there)!r} ({str(error.strerror).lower()}); --out must "
            "name another place."
        ) from None


def same_file(one, other):
    """True if two paths name one file, by links or not."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def check_finite(name, value):
    """Refuse inf and nan, which pass as numbers on a command line."""
    if value is not None and not math.isfinite(value):
        raise DataError(f"{name} must be a finite number; got {value}.")


def table_bytes(rows, suffix):
    """Rows (dicts with the same keys) as a file of the format that a suffix names.

    No spreadsheet finds a formula in it, and no terminal that shows it a command.
    """
    import io

    import pandas as pd

    out = io.BytesIO()
    if suffix == ".parquet":
        pd.DataFrame(list(rows)).to_parquet(out, index=False)
        return out.getvalue()
    frame = pd.DataFrame(list(rows), dtype=object).rename(columns=_harmless).map(_harmless)
    if suffix == ".xlsx":
        frame.to_excel(out, sheet_name="predictions", index=False)
    else:
        mark = "\t" if suffix == ".tsv" else ","
        frame.to_csv(out, sep=mark, index=False, lineterminator="\n")
    return out.getvalue()


def _harmless(cell):
    """The cell, behind a ' if it is a text that a spreadsheet would compute; -1 is a number."""
    from ..reading.columns import number

    if not isinstance(cell, str):
        return cell
    computed = cell.startswith(FORMULA_STARTS) and number(cell) is None
    return ("'" + cell if computed else cell).translate(STEERING)


def command_line(context, **values):
    """The command that does the same again: what differs from the defaults, and `values`."""
    parts = ["mahalearn", context.info_name]
    for parameter in context.command.params:
        value = values.get(parameter.name, context.params.get(parameter.name))
        if value is None or parameter.name in SILENT:
            continue
        if isinstance(value, list | tuple):
            parts += [word for v in value for word in (parameter.opts[0], shlex.quote(str(v)))]
            continue
        if parameter.param_type_name == "argument":
            parts.append(shlex.quote(str(value)))
        elif isinstance(value, bool):
            if value == parameter.default:
                continue
            parts.append(parameter.opts[0] if value else parameter.secondary_opts[0])
        elif value != parameter.default or parameter.name in ("out", "seed"):
            parts += [parameter.opts[0], shlex.quote(str(value))]
    return " ".join(parts)


class Console(rich.console.Console):
    """A console that shows control characters of names in files, instead of obeying them."""

    def __init__(self, **options):
        super().__init__(highlight=False, **options)

    def render_str(self, text, **options):
        """A text as rich renders it."""
        return super().render_str(visible(text), **options)
