"""Times of the commands, each in a process of its own: ``python -m benchmarks.application [CASE]``.

Wall-clock seconds with two processes, and CPU seconds of the command and its children. Goals were
set before; on a busy computer the CPU column is the one to trust.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

JOBS = ("--jobs", "2")


class Run:
    """A command: its lines with the seconds at which they came, wall and CPU time, and memory."""

    def __init__(self, *arguments):
        before = _cpu()
        start = time.monotonic()
        command = [sys.executable, "-m", "mahalearn", *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = [(time.monotonic() - start, line.rstrip()) for line in process.stdout]
        self.code = process.wait()
        self.seconds = time.monotonic() - start
        self.cpu = _cpu() - before
        self.peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if self.code:
            raise SystemExit("\n".join(line for _, line in self.lines))

    def first(self, pattern):
        """Seconds until the first line that matches."""
        return next(
            (seconds for seconds, line in self.lines if re.search(pattern, line)), float("nan")
        )


def _cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(n, d, classes, seed=0):
    """Gaussian classes with equal covariances, as a data frame."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.normal(size=(n, d)) + rng.normal(size=(classes, d))[y]
    frame = pd.DataFrame(X.astype("float32"), columns=[f"x{j}" for j in range(d)])
    frame["class"] = [f"class {j:02d}" for j in y]
    return frame


def wine(folder):
    """All methods on a small table."""
    run = Run("compare", "wine", "--out", folder / "wine", *JOBS)
    yield "compare wine: first row", run.first("error "), 5, "s"
    yield "compare wine: report", run.seconds, 45, "s"
    yield "compare wine: CPU", run.cpu, None, "CPU s"


def classes(folder):
    """The command's own work beside two methods' fits, with many classes."""
    from mahalearn.app.comparing.compare import rank
    from mahalearn.app.comparing.plan import Plan
    from mahalearn.app.reading.read import read_problem

    path, methods = folder / "classes.csv", ["lda", "gaussian"]
    table(2000, 10, 50).to_csv(path, index=False)
    problem = read_problem(data=str(path), target="class")
    start = time.process_time()
    rank(problem, methods, Plan(repeats=1))
    fits = time.process_time() - start
    run = Run(
        "compare", path, "--target", "class", "--out", folder / "classes",
        "--methods", ",".join(methods), "--repeats", 1, "--jobs", 1,
    )  # fmt: skip
    yield "50 classes x 2,000 rows: CPU", run.cpu, None, "CPU s"
    yield "50 classes x 2,000 rows: its fits", fits, None, "CPU s"
    yield "50 classes x 2,000 rows: CPU / fits", run.cpu / fits, 3, ""


def wide(folder):
    """A table with many columns, looked at."""
    table(100, 20_000, 2).to_csv(folder / "wide.csv", index=False)
    run = Run("inspect", folder / "wide.csv", "--target", "class")
    yield "inspect 100 x 20,000", run.seconds, 20, "s"
    yield "inspect 100 x 20,000: CPU", run.cpu, None, "CPU s"
    yield "inspect 100 x 20,000: memory", run.peak_mb, 1024, "MB"


def budget(folder):
    """A time budget on many rows of text."""
    table(300_000, 20, 3).to_csv(folder / "rows.csv", index=False)
    run = Run(
        "compare", folder / "rows.csv", "--target", "class", "--out", folder / "rows",
        "--time-budget", 60, *JOBS,
    )  # fmt: skip
    yield "300,000 x 20, --time-budget 60: end", run.seconds, 72, "s"
    yield "300,000 x 20: CPU", run.cpu, None, "CPU s"


def million(folder):
    """The first row of the ranking of a large Parquet file."""
    table(1_000_000, 20, 3).to_parquet(folder / "million.parquet", index=False)
    run = Run(
        "compare", folder / "million.parquet", "--target", "class", "--out", folder / "million",
        "--time-budget", 40, *JOBS,
    )  # fmt: skip
    yield "1,000,000 x 20 Parquet: first row", run.first(r"error \d"), 10, "s"
    yield "1,000,000 x 20 Parquet, --time-budget 40: end", run.seconds, None, "s"
    yield "1,000,000 x 20 Parquet: CPU", run.cpu, None, "CPU s"


CASES = {case.__name__: case for case in (wine, classes, wide, budget, million)}


def main():
    """Run the cases that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[], help=f"of {', '.join(CASES)}; all if none")
    for name in parser.parse_args().cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            for what, value, goal, unit in CASES[name](Path(folder)):
                verdict = (
                    ""
                    if goal is None
                    else f"   goal {goal:g}: {'ok' if value <= goal else 'MISSED'}"
                )
                print(f"{what:48s} {value:9.1f} {unit:6s}{verdict}", flush=True)


if __name__ == "__main__":
    main()
