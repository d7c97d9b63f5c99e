"""Kills, interruptions, full disks, two runs at once: nothing is left behind or half written."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from own_data import refused

from mahalearn.papers.rows import Row, append, read
from mahalearn.results import locked

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

# Whoever ends with its parent does so within this.
SECONDS = 5


def start(*arguments, **options):
    """A command in a session of its own; its children can be found by the session."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-m", "mahalearn", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell starts what runs in its background with interruptions ignored, and children
        # inherit it: without this the suite would fail there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env=environment,
        **options,
    )


def session(leader):
    """Processes of a session that are no zombies."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,sess=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, sess, stat in rows if int(sess) == leader and stat[0] != "Z"]


def wait_until(happens, seconds):
    """Whether something happens within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if happens():
            return True
        time.sleep(0.2)
    return False


@pytest.fixture
def slow(tmp_path):
    """A table on which a comparison takes a while."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    np.savez(tmp_path / "slow.npz", X=X, y=(X[:, 0] + rng.normal(size=1500) > 0).astype(int))
    return tmp_path / "slow.npz"


def test_workers_end_with_their_parent(slow, tmp_path):
    commands = {
        "compare": ["compare", slow, "--methods", "svm,kqd", "--out", tmp_path / "a"],
        "train": ["train", slow, "--method", "svm", "--out", tmp_path / "m.skops"],
        "reproduce": ["reproduce", "A1", "--out", tmp_path / "c"],
    }
    signals = dict.fromkeys(commands, signal.SIGKILL) | {"compare": signal.SIGTERM}
    runs = {name: start(*parts, "--jobs", 2) for name, parts in commands.items()}
    try:
        for name, run in runs.items():  # itself, two workers and the tracker
            assert wait_until(lambda run=run: len(session(run.pid)) >= 4, 60), name
        for name, run in runs.items():
            run.send_signal(signals[name])
            run.wait(SECONDS)
        for name, run in runs.items():
            assert wait_until(lambda run=run: not session(run.pid), SECONDS), name
    finally:
        for run in runs.values():
            for pid in session(run.pid):
                os.kill(pid, signal.SIGKILL)
            run.communicate()


def test_an_interruption_leaves_nothing(slow, tmp_path):
    run = start("compare", slow, "--methods", "svm,kqd", "--jobs", 2, "--out", tmp_path / "o")
    assert wait_until(lambda: len(session(run.pid)) >= 4, 60)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, said = run.communicate(timeout=15)
    assert run.returncode == 130
    assert said.endswith("Stopping …\nStopped; no result was written.\n")
    assert "Traceback" not in said
    assert not (tmp_path / "o" / "model.skops").exists()
    assert wait_until(lambda: not session(run.pid), SECONDS)


CODE = """
import time
import numpy as np
import typer
from mahalearn.app.cli._terminal import reported_errors

A = np.random.default_rng(0).normal(size=(700, 700))

def work():
    with reported_errors():
        print("ready", flush=True)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            np.linalg.svd(np.vstack([A] * 4))  # compiled code: Python sees the signal after it

typer.run(work)
"""


def test_an_interruption_is_answered_at_once():
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
    ) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        assert run.stderr.readline() == "Stopping …\n"
        assert run.wait(30) == 130
        assert run.stderr.read() == "Stopped; no result was written.\n"


def test_two_runs_into_one_folder(tmp_path):
    with locked(tmp_path / "o"):
        sentence = refused("compare", "iris", "--methods", "lda", "--out", tmp_path / "o")
        assert "Another run is writing into" in sentence
    assert not (tmp_path / "o").exists()
    path = tmp_path / "rows.jsonl"
    rows = [Row("A1", "x", f"m{i}", 0, error=0.5) for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda row: append(path, row), rows))
    assert {row.method for row in read(path)} == {row.method for row in rows}


@pytest.fixture
def full_disk():
    """No file may grow beyond 1000 bytes."""
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_leaves_the_old_files(tmp_path, full_disk):
    out = tmp_path / "o"
    out.mkdir()
    (out / "report.html").write_text("old")
    options = ["--methods", "gaussian", "--jobs", 1, "--folds", 2, "--repeats", 1]
    sentence = refused("compare", "iris", *options, "--out", out, "--force")
    assert "model.skops' cannot be read or written: file too large" in sentence
    # Beside what can be resumed nothing is new.
    assert {path.name for path in out.iterdir()} - {"progress.jsonl"} == {"report.html"}
    assert (out / "report.html").read_text() == "old"
    model = tmp_path / "m.skops"
    assert "cannot be" in refused(
        "train", "iris", "--method", "gaussian", "--jobs", 1, "--out", model
    )
    assert not model.exists()
