"""Files as people have them and calls as they type them, for tests of readers, commands, page."""

import csv
import math

import numpy as np
from typer.testing import CliRunner

from mahalearn.app.cli.app import app
from mahalearn.app.reading.objects import read_collection

NASTY = "<script>alert(1)</script>"


def works(*arguments, code=0):
    """What a call gives that must end with an exit code."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, (done.output, done.exception)
    return done


def read_objects(path):
    """Objects and classes of a file."""
    collection = read_collection(path)
    return collection.objects, collection.labels


def refused(*arguments):
    """The sentence of a call that must fail, with exit code 2 and without a traceback."""
    done = works(*arguments, code=2)
    assert isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    return " ".join(done.stderr.replace("│", " ").split())


def flowers(n=45, seed=0):
    """A table of three classes: (header, rows of text)."""
    rng = np.random.default_rng(seed)
    labels = ["rose", "tulip", NASTY]
    rows = []
    for i in range(n):
        c = i % 3
        rows.append(
            [
                f"plant{i}",
                f"{rng.normal(2.5 * c, 1):.3f}",
                f"{rng.normal(c, 1):.3f}",
                str(rng.choice(["red", "white"] if c else ["blue", "red"])),
                labels[c],
            ]
        )
    return ["id", "height", "width", "colour", "species"], rows


def write_csv(path, header, rows, delimiter=",", decimal="."):
    """A delimited file; `header` None for none."""
    lines = [header, *rows] if header else rows
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(
            [c.replace(".", decimal) if c[:1].isdigit() or c[:1] == "-" else c for c in line]
            for line in lines
        )
    return path


def distances(n=30, seed=1):
    """Names, matrix and classes of points in a plane."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b"])[np.arange(n) % 2]
    points = rng.normal(size=(n, 2)) + 2.5 * (y == "b")[:, None]
    D = np.array([[math.dist(p, q) for q in points] for p in points])
    return [f"o{i}" for i in range(n)], D, y


def write_matrix(path, D, names=None):
    """A matrix as text, with or without names."""
    lines = [",".join(f"{v:.6f}" for v in row) for row in D]
    if names:
        lines = [f"{name},{line}" for name, line in zip(names, lines)]
        lines.insert(0, "," + ",".join(names))
    path.write_text("\n".join(lines) + "\n")
    return path
