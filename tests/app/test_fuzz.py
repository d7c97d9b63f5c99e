"""The fuzzer finds each kind of fault, and a short run of it finds none in the readers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and processes of Linux")

ROOT = Path(__file__).parents[2]
FORMATS = [
    "csv", "parts", "semicolon", "tsv", "csv.gz", "csv.xz", "csv.zip", "xlsx", "parquet",
    "json", "arff", "npz", "text", "jsonl", "fasta", "ts", "ucr", "long", "series.npz", "matrix",
    "phylip", "npy", "model", "kernel.model",
]  # fmt: skip

FAULTY = """
import os, signal, sys
import numpy as np
from benchmarks import fuzz

fuzz.CPU_SECONDS = 1
SEED = [b"line %d\\n" % i for i in range(9)]


def hang():
    while True:
        pass


FAULTS = {
    "misread": lambda: None,
    "traceback": lambda: {}["x"],
    "printed": lambda: os.write(1, b"bytes of the file"),
    "memory": lambda: np.ones(2**29),
    "hang": hang,
    "killed": lambda: os.kill(os.getpid(), signal.SIGSEGV),
}


def reader(fault):
    def read(path):
        lines = path.read_bytes().split(b"\\n")
        if b"\\n".join(lines) == b"".join(SEED):
            return lines, []
        fault()
        return lines[:2], []

    return read


def differs(lines, content, touched):
    rest = [part.strip() for i, part in enumerate(content) if i != touched.row]
    return not all(line in lines for line in rest)


for name, fault in FAULTS.items():
    form = fuzz.Format(".txt", SEED, lambda parts: parts, reader(fault), differs)
    fuzz.FORMATS[name] = lambda form=form: form
    counts = fuzz.run(name, inputs=2 if name == "hang" else 25, keep=sys.argv[1])
    print(name, *counts.elements())
"""


def fuzz(*arguments):
    """What the fuzzer prints, in a process of its own: it forks."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_each_fault_is_found_and_its_input_kept(tmp_path):
    for fault, *verdicts in fuzz("-c", FAULTY, tmp_path):
        assert fault in verdicts and set(verdicts) <= {fault, "misread", "read"}, fault
        found = sorted(tmp_path.glob(f"{fault}-0-*-{fault}.txt"))
        assert len(found) == verdicts.count(fault)
        assert all(file.with_name(f"{file.name}.txt").exists() for file in found)


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    """Counts of verdicts of each format."""
    keep = tmp_path_factory.mktemp("fuzz")
    titles, *rows = fuzz("-m", "benchmarks.fuzz", "--inputs", 60, "--keep", keep)
    counts = {name: dict(zip(titles[1:], map(int, row))) for name, *row in rows[: len(FORMATS)]}
    return counts, keep


def test_every_format_is_read(short_run):
    assert list(short_run[0]) == FORMATS
    for counts in short_run[0].values():
        assert sum(counts.values()) == 60 and counts["read"] > 2 and counts["refused"] > 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused(short_run, name):
    counts, keep = short_run
    bad = {k: n for k, n in counts[name].items() if n and k not in ("read", "noticed", "refused")}
    texts = [file.read_text() for file in keep.glob(f"{name}-0-*.txt") if file.suffix == ".txt"]
    assert not bad, "\n".join(texts)[-3000:]
