"""The papers' published numbers, read from the tables that come with the package."""

import csv
from functools import cache
from importlib.resources import files

from .experiment import Published


@cache
def table(name):
    """Rows of a published table, as a tuple of dicts of text."""
    path = files(__package__) / "published" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def errors(name, n, dataset, method="classifier", where=lambda row: True):
    """{(dataset, method): Published} of a table of mean errors and standard deviations.

    n: repetitions behind the numbers, or {data set: repetitions}; dataset: row -> name of the
    data set; method: column of the methods.
    """
    numbers = {}
    for row in table(name):
        if where(row):
            key = dataset(row)
            count = n.get(key, n[None]) if isinstance(n, dict) else n
            numbers[key, row[method]] = Published(
                float(row["error_mean"]), float(row["error_std"]), count
            )
    return numbers
