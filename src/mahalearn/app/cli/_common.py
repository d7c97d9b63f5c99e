"""What the commands on people's own data share: reading, refusing, printing."""

import functools
import math
import os
import shlex
import tempfile
from pathlib import Path

import rich.console
import typer

from ..reading.problem import DataError
from ..reading.source import is_stream

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
# Control characters, and those that turn the direction of writing.
CONTROLS = dict.fromkeys([*range(32), *range(127, 160), *range(0x202A, 0x202F)], "\ufffd") | {
    ord(blank): blank for blank in "\t\n"
}
# What data each option is for; elsewhere it would be ignored without a word.
SERVES = {
    "--target": ("a table",),
    "--header": ("a table",),
    "--mixed": ("a table", "the set"),
    "--labels": ("--proximity", "--objects"),
    "--measure": ("--objects",),
    "--window": ("--objects",),
    "--normalize": ("--objects",),
    "--kind": ("--proximity",),
    "--symmetrize": ("--proximity",),
    "--sheet": ("a table",),
    "--skip": ("a table",),
    "--drop": ("a table",),
    "--id": ("a table",),
    "--groups": ("a table",),
    "--weights": ("a table",),
}
# Options that do not change results, or that others stand for.
SILENT = ("jobs", "force", "figures", "config", "resume")
RARE = ("keep", "merge", "drop")
OUTPUTS = ("model.skops", "results.csv", "comparison.json", "report.html")


def speaking(command):
    """Turn what people can mend into one sentence and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        from ...persistence import UntrustedModelError

        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("Stopped; no result was written.", err=True)
            raise typer.Exit(130) from None
        except (DataError, UntrustedModelError) as error:
            sentence = hinted(error)
        except OSError as error:
            if isinstance(error, BrokenPipeError):  # whoever read the output has gone
                raise
            sentence = _os_sentence(error)
        except MemoryError as error:
            sentence = str(error) or "There is not enough memory; use fewer rows."
        except ImportError as error:
            if "mahalearn[" not in str(error) and error.name not in ("pandas", "skops", "pyarrow"):
                raise
            sentence = str(error)
            if "mahalearn[" not in sentence:
                sentence = f'This command needs {error.name}: pip install "mahalearn[cli]".'
        typer.echo(f"Error: {visible(' '.join(sentence.split()))}", err=True)
        raise typer.Exit(2)

    return wrapped


def visible(text):
    """A text without characters that steer a terminal: names in a file may hold them."""
    return text.translate(CONTROLS)


# How a choice that an error or a note speaks of is made on the command line.
HINTS = {
    "target": "--target names the column of the classes.",
    "labels": "--labels names a file of classes.",
    "symmetrize": "--symmetrize mean takes the mean of both directions.",
    "kind": "--kind overrules this.",
    "mixed": "--mixed gower compares rows by Gower's distance instead.",
    "drop": "--drop leaves columns out.",
    "rare": "--rare merge or --rare drop does so.",
    "groups": "--groups names that column.",
    "weights": "--weights names that column.",
    "time_budget": "--time-budget and --methods set them.",
    "landmarks": "--landmarks sets their number, 0 takes all objects.",
    "sample": "--sample sets its size, 0 takes all rows.",
    "sheet": "--sheet names another.",
    "measure": "--measure names another.",
    "skip": "--skip says how many lines stand above the header.",
}


def hinted(said):
    """The sentence of an error or a note, and how to choose otherwise on the command line."""
    hint = HINTS.get(getattr(said, "option", None))
    return f"{said} {hint}" if hint else str(said)


def say_notes(console, notes):
    """Print notes."""
    from rich.markup import escape

    for note in notes:
        console.print(f"[yellow]•[/] {escape(hinted(note))}", highlight=False)


def _os_sentence(error):
    """What the system refused, without its number."""
    if error.errno is None:  # raised by ourselves, in a sentence
        return str(error)
    place = repr(str(error.filename)) if error.filename is not None else "A file"
    if isinstance(error, IsADirectoryError):
        return f"{place} is a folder; a file is needed."
    return f"{place} cannot be read or written: {str(error.strerror).lower()}."


def read_problem(
    data,
    *,
    target,
    proximity,
    labels,
    objects,
    measure,
    kind,
    symmetrize,
    mixed,
    header,
    window=None,
    normalize=None,
    sheet=None,
    skip=None,
    drop=None,
    id=None,
    groups=None,
    weights=None,
    rare="keep",
    only_look=False,
):
    """The problem that the options of a command describe."""
    if rare not in RARE:
        raise DataError(f"--rare must be one of {', '.join(RARE)}; got {rare!r}.")
    reading = {"header": header, "sheet": sheet, "skip": skip}
    roles = {"drop": drop or (), "id": id, "groups": groups, "weights": weights}
    compared = {"measure": measure, "window": window, "normalize": normalize}
    problem = _read_problem(
        data, target, proximity, labels, objects, compared, kind, symmetrize, mixed, reading, roles,
        only_look,
    )  # fmt: skip
    return problem if problem.y is None else problem.treat_rare(rare)


def _read_problem(
    data, target, proximity, labels, objects, compared, kind, symmetrize, mixed, reading, roles,
    only_look,
):  # fmt: skip
    given = [
        name
        for name, v in (("DATA", data), ("--proximity", proximity), ("--objects", objects))
        if v
    ]
    if len(given) != 1:
        raise DataError(
            "Give one of DATA (a table or the name of a set), --proximity MATRIX or --objects FILE"
            + (f"; got {' and '.join(given)}." if given else ".")
        )
    source = {"DATA": "a table", "--proximity": "--proximity", "--objects": "--objects"}[given[0]]
    if data and _builtin(data):
        source = f"the set {data}"
    options = {"--target": target, "--labels": labels, "--kind": kind}
    options |= {"--symmetrize": symmetrize, "--mixed": mixed}
    options |= {f"--{name}": value for name, value in (compared | reading | roles).items()}
    for name, value in options.items():
        if value not in (None, "onehot", ()) and not source.startswith(SERVES[name]):
            raise DataError(
                f"{name} does nothing for {source}; it serves {' and '.join(SERVES[name])}."
            )
    if kind not in (None, "dissimilarity", "similarity"):
        raise DataError(f"--kind must be dissimilarity or similarity; got {kind!r}.")
    if mixed not in ("onehot", "gower"):
        raise DataError(f"--mixed must be onehot or gower; got {mixed!r}.")
    for name, path in (("--proximity", proximity), ("--objects", objects), ("--labels", labels)):
        if path and path.is_dir():
            raise DataError(f"{name} must name a file; {str(path)!r} is a folder.")
    given = [path for path in (data, proximity, objects, labels) if path]
    if sum(map(is_stream, given)) > 1:
        raise DataError("Standard input (-) can be read once only.")
    if proximity:
        from ..reading.matrices import proximity_problem

        problem = proximity_problem(
            proximity, labels, kind=kind, symmetrize=symmetrize, only_look=only_look
        )
        _check_kind(problem)
        return problem
    if objects:
        from ..reading.objects import objects_problem

        problem = objects_problem(objects, labels=labels, **compared)
        _check_measure(problem)
        return problem
    problem = _table(data, target, reading, roles)
    if problem.kind == "vectors":
        from ..reading.encoder import describe_table

        if mixed == "gower":
            return as_gower(problem)
        try:
            problem.notes += describe_table(problem.X)
        except ValueError as error:
            raise DataError(str(error)) from None
    return problem


def _check_kind(problem):
    """Refuse dissimilarities that are said to be similarities; other doubts are noted."""
    from ..._validation import looks_like_dissimilarity
    from ...kernels.proximity import suspicions
    from ...proximity.diagnosis import equal_distances

    if problem.proximity == "similarity" and looks_like_dissimilarity(problem.X):
        raise DataError(
            "--kind similarity expects values that are large for similar objects, but each object "
            "has 0 with itself and no pair has less, as in a matrix of dissimilarities; say "
            "--kind dissimilarity."
        )
    problem.notes += suspicions(problem.X, problem.proximity)
    if problem.proximity == "dissimilarity" and (equal := equal_distances(problem.X)):
        problem.notes.append(equal)


def _check_measure(problem):
    """Refuse objects that the measure cannot compare, before anything is computed."""
    from ...measures.table import as_measure
    from ..reading.problem import MOST_MET_ONCE, symbols_met_once

    if problem.measure == "edit" and symbols_met_once(problem.X) > MOST_MET_ONCE:
        raise DataError(
            "--measure edit counts symbols as equal or different, but these objects hold real "
            "numbers, nearly none of which occurs twice: every object would be equally far from "
            "every other. Round the numbers to a few levels, or choose another measure, such as "
            "--measure elastic."
        )
    try:
        for measure in (problem.alternatives or {"": problem.measure}).values():
            as_measure(measure).fit(problem.X).prepare(problem.X)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"--measure {problem.measure_name} cannot compare these objects: {error}"
        ) from None


def _table(data, target, reading, roles):
    from ..reading.problem import builtin_problem
    from ..reading.tables import find_target, read_table, table_problem

    if _builtin(data):
        problem = builtin_problem(data)
        problem.target = None  # its classes come from no column
        return problem
    if not is_stream(data) and not Path(data).exists() and not Path(data).suffix:
        raise DataError(
            f"There is no file {data!r}, and no data set of that name; mahalearn datasets lists "
            "the sets."
        )
    _refuse_other_kinds(data)
    find = functools.partial(find_target, target=target)
    frame, notes = read_table(data, find=find, **reading)
    problem = table_problem(frame, target, stem(data), notes, **roles)
    if target is None:
        problem.notes.insert(
            0,
            f"Column {problem.target!r} was taken for the classes (--target names another).",
        )
    return problem


def stem(path):
    """What to call a problem by the name of its file."""
    path = Path(path)
    path = path.with_suffix("") if path.suffix in (".gz", ".bz2", ".xz", ".zip") else path
    return "stdin" if str(path) == "-" else path.stem


# Files by whose names people mean objects or a matrix.
_OTHER_KINDS = dict.fromkeys((".fasta", ".fa", ".fas", ".faa", ".fna"), ("sequences", "--objects"))
_OTHER_KINDS[".ts"] = ("time series", "--objects")
_OTHER_KINDS |= dict.fromkeys((".phy", ".phylip"), ("a matrix of distances", "--proximity"))


def _refuse_other_kinds(data):
    """Refuse what is no table, and name the option that reads it."""
    path = Path(data)
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip")
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix in _OTHER_KINDS and path.is_file():
        what, option = _OTHER_KINDS[suffix]
        raise DataError(f"{str(data)!r} holds {what}, not a table: give it as {option} {data}.")


def _builtin(data):
    """Whether DATA names a set; a folder of results of the same name does not hide it."""
    from ..reading.problem import is_builtin
    from ..reading.tables import holds_parquet

    path = Path(data)
    return is_builtin(data) and (not path.exists() or (path.is_dir() and not holds_parquet(path)))


def as_gower(problem):
    """A table whose rows are compared by Gower's distance."""
    problem.notes.append(
        "Rows are compared by Gower's distance: numbers by their difference over the range, "
        "categories by equality, missing cells left out."
    )
    problem.columns = list(problem.X.columns)
    problem.X = rows_of(problem.X)
    problem.kind, problem.measure, problem.proximity = "objects", "gower", "dissimilarity"
    return problem


def rows_of(X):
    """Rows of a table as lists, None where a cell is missing."""
    return X.astype(object).where(X.notna(), None).to_numpy().tolist()


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
        more = "" if there == folder else f", so {str(folder)!r} cannot be a folder"
        raise DataError(f"{str(there)!r} is a file{more}; --out must name another place.")
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
    """Whether two paths name one file, by links or not."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def check_finite(name, value):
    """Refuse inf and nan, which pass as numbers on a command line."""
    if value is not None and not math.isfinite(value):
        raise DataError(f"{name} must be a finite number; got {value}.")


def progress_bar(console):
    """A bar for tasks with a description and a field `at`, which says what was done last."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Left

    columns = (TextColumn("{task.description:6}"), BarColumn(), MofNCompleteColumn())
    columns += (TextColumn("elapsed"), Elapsed(), TextColumn("left"), Left())
    return Progress(*columns, TextColumn("{task.fields[at]}"), console=console)


def read_config(path, command, known):
    """Options of a command from a TOML file, at its top or in a table of the command's name.

    Parameters
    ----------
    path : path
        The file.
    command : str
        Name of the command.
    known : dict
        Name of a parameter -> the parameter.

    Returns
    -------
    options : dict
        Name of a parameter -> value.
    """
    import tomllib

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} is not a TOML file: {error}.") from None
    tables = {name: value for name, value in found.items() if isinstance(value, dict)}
    options = {name: value for name, value in found.items() if name not in tables}
    options |= tables.get(command, {})
    options = {name.replace("-", "_"): value for name, value in options.items()}
    for name, value in options.items():
        if name not in known:
            raise DataError(
                f"{str(path)!r} sets {name!r}, which mahalearn {command} does not know; it knows "
                f"{', '.join(known)}."
            )
        plain = isinstance(value, list) and all(isinstance(v, str) for v in value)
        if not isinstance(value, str | int | float) and not plain:
            raise DataError(f"{str(path)!r} sets {name!r} to what is no option's value: {value!r}.")
    return options


def table_bytes(rows, suffix):
    """Rows (dicts with the same keys) as a file of the format that a suffix names.

    No spreadsheet finds a formula in it.
    """
    if suffix in (".csv", ".tsv"):
        return csv_text(rows, "\t" if suffix == ".tsv" else ",").encode()
    import io

    import pandas as pd

    frame, out = pd.DataFrame(list(rows)), io.BytesIO()
    if suffix == ".parquet":
        frame.to_parquet(out, index=False)
        return out.getvalue()
    try:
        from openpyxl import Workbook
    except ImportError:
        raise DataError(
            'Workbooks need openpyxl: pip install "mahalearn[cli]", or write a .csv file.'
        ) from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    sheet.append([_harmless(name) for name in frame.columns])
    for row in frame.itertuples(index=False):
        sheet.append([None if v is None or v != v else _harmless(v) for v in row])
    book.save(out)
    return out.getvalue()


def csv_text(rows, delimiter=","):
    """Rows (dicts with the same keys) as CSV text, in which no spreadsheet finds a formula."""
    import csv
    import io

    rows = list(rows)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(_harmless, rows[0]))
    writer.writerows([_harmless(cell) for cell in row.values()] for row in rows)
    return out.getvalue()


def _harmless(cell):
    """The cell, behind a ' if it is a text that a spreadsheet would compute; -1 is a number."""
    from ..reading.columns import number

    if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) and number(cell) is None:
        return f"'{cell}"
    return cell


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


def cpu_count():
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Console(rich.console.Console):
    """A console that shows control characters of names in files, instead of obeying them."""

    def render_str(self, text, **options):
        """A text as rich renders it."""
        return super().render_str(visible(text), **options)
