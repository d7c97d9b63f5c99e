"""The command `doctor`: versions, threads, memory, optional packages."""

import os
import platform
import sys
from importlib import import_module, metadata

from rich.markup import escape
from rich.table import Table

from ..._validation import available_memory
from ...results import versions
from ._terminal import Console, cpu_count

console = Console()
# Optional packages: what each is for, and the extra that brings it.
OPTIONAL = {
    "pandas": ("tables", "cli"),
    "pyarrow": ("Parquet, Arrow and Feather files", "cli"),
    "python-calamine": ("workbooks", "cli"),
    "openpyxl": ("writing Excel workbooks", "cli"),
    "charset-normalizer": ("text files in other encodings", "cli"),
    "skops": ("saved models", "cli"),
    "jinja2": ("reports", "cli"),
    "matplotlib": ("figures", "plot"),
    "rapidfuzz": ("fast edit distances", "measures"),
    "numba": ("compiled measures", "measures"),
    "parasail": ("alignments of sequences", "bio"),
    "POT": ("Wasserstein distances", "transport"),
    "dask": ("collections on a cluster", "distributed"),
    "distributed": ("collections on a cluster", "distributed"),
    "onnx": ("models that run without Python", "onnx"),
    "threadpoolctl": ("one thread for each process", ""),
}


def show():
    """Print what this installation is made of."""
    table = Table("", "", box=None, show_header=False)
    installed = versions()
    table.add_row("mahalearn", f"{installed.pop('mahalearn')} in {_folder()}")
    table.add_row("python", f"{installed.pop('python')} ({sys.executable})")
    table.add_row("system", platform.platform())
    for name, version in installed.items():
        table.add_row(name, version)
    table.add_row("processors", f"{cpu_count()} to use of {os.cpu_count()}")
    for threads in _threads():
        table.add_row("threads", threads)
    memory = available_memory()
    table.add_row("memory", f"{memory / 2**30:.1f} GiB free" if memory else "unknown")
    table.add_row("data sets", os.environ.get("MAHALEARN_DATA") or "MAHALEARN_DATA is not set")
    console.print(table, soft_wrap=True, highlight=False)
    console.print()
    table = Table("optional package", "version", "for", box=None)
    for name, (purpose, extra) in OPTIONAL.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            command = f'pip install "mahalearn[{extra}]"' if extra else f"pip install {name}"
            version = f"[yellow]missing[/]: {escape(command)}"
        table.add_row(name, version, purpose)
    console.print(table, soft_wrap=True, highlight=False)


def _folder():
    return os.path.dirname(import_module(__name__.partition(".")[0]).__file__)


def _threads():
    """Threads and version of each library for linear algebra."""
    try:
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info
    except ImportError:
        return
    for pool in threadpool_info():
        name = f"{pool['internal_api']} {pool.get('version') or ''}".strip()
        yield f"{name}: {pool['num_threads']}"
