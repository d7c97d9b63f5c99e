"""The command `doctor`: versions, threads, memory, optional packages."""

import os
from importlib import metadata

from joblib import cpu_count
from rich.markup import escape
from rich.table import Table
from sklearn import show_versions

from ..._validation import available_memory
from ...results import versions
from ._terminal import Console

console = Console()
# Optional packages: what each is for, and the extra that brings it.
OPTIONAL = {
    "pandas": ("tables", "cli"),
    "pyarrow": ("Parquet files", "cli"),
    "openpyxl": ("Excel workbooks", "cli"),
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
    memory = available_memory()
    facts = {
        "mahalearn": versions()["mahalearn"],
        "processors": f"{cpu_count()} to use of {os.cpu_count()}",
        "memory": f"{memory / 2**30:.1f} GiB free" if memory else "unknown",
        "data sets": os.environ.get("MAHALEARN_DATA") or "MAHALEARN_DATA is not set",
    }
    for name, value in facts.items():
        console.print(f"{name}: {escape(value)}", soft_wrap=True)
    show_versions()
    console.print()
    table = Table("optional package", "version", "for", box=None)
    for name, (purpose, extra) in OPTIONAL.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            command = f'pip install "mahalearn[{extra}]"' if extra else f"pip install {name}"
            version = f"[yellow]missing[/]: {escape(command)}"
        table.add_row(name, version, purpose)
    console.print(table, soft_wrap=True)
