"""Matrices of all pairs: the same whatever the blocks, workers and interruptions."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naive
from mahalearn import _progress
from mahalearn.measures import (
    EditDistance,
    FunctionMeasure,
    Gower,
    Hausdorff,
    _matrix_file,
    pairwise,
)

rng = np.random.default_rng(1)
WORDS = ["".join(rng.choice(list("abc"), n)) for n in rng.integers(1, 9, 70)]


def excess(a, b):
    """An asymmetric function of two objects."""
    return max(len(a) - len(b), 0) + (a != b)


def length_gap(a, b):
    return abs(len(a) - len(b))


@pytest.mark.parametrize(
    "symmetrize, n_jobs", [("mean", None), ("mean", 2), ("min", None), ("max", None), (None, None)]
)
def test_functions_equal_loops(symmetrize, n_jobs):
    there = naive.all_pairs(WORDS, WORDS, excess)
    assert not np.array_equal(there, there.T)
    expected = {
        "mean": (there + there.T) / 2,
        "min": np.minimum(there, there.T),
        "max": np.maximum(there, there.T),
        None: there,
    }[symmetrize]
    D = pairwise(WORDS, excess, symmetrize=symmetrize, n_jobs=n_jobs)
    assert_array_equal(D, expected)
    part = pairwise(WORDS[:7], excess, WORDS, symmetrize=symmetrize, n_jobs=n_jobs)
    assert_array_equal(part, expected[:7])


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("substitution", [1, 0.5])
def test_measures_in_parallel(n_jobs, substitution, monkeypatch):
    monkeypatch.setattr(EditDistance, "block_size", 16)
    D = pairwise(WORDS, EditDistance(substitution), n_jobs=n_jobs)
    assert_array_equal(D, EditDistance(substitution).between(WORDS))
    assert_array_equal(D, D.T)


def test_symmetric_measures_cost_half():
    calls = []

    def gap(a, b):
        calls.append(1)
        return length_gap(a, b)

    D = pairwise(WORDS, FunctionMeasure(gap, symmetric=True))
    assert_array_equal(D, naive.all_pairs(WORDS, WORDS, length_gap))
    half = 70 * 71 / 2 + 8 + 8 + 5  # some pairs of each block are checked
    assert len(calls) == half
    pairwise(WORDS, gap)
    assert len(calls) == half + 70 * 70  # nothing is known of a plain function


def test_gower_learns_from_the_other_objects_unless_it_has():
    train, test = np.array([[0.0], [10.0]]), np.array([[5.0], [6.0]])
    assert_allclose(pairwise(test, "gower", train) ** 2, [[0.5, 0.5], [0.6, 0.4]])
    assert_allclose(pairwise(test, "gower")[0, 1], 1)
    assert_allclose(pairwise(test, Gower().fit(train))[0, 1] ** 2, 0.1)


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    pairwise(WORDS, excess, progress=True)
    assert "100%" in capsys.readouterr().out


def test_progress_bar_without_rich(monkeypatch):
    """It is left out, with one warning, and nothing else changes."""
    monkeypatch.setitem(sys.modules, "rich", None)
    _progress._say_once.cache_clear()
    with pytest.warns(UserWarning, match=r"mahalearn\[progress\]") as said:
        D = pairwise(WORDS, excess, progress=True)
        assert_array_equal(pairwise(WORDS, excess, progress=True), D)
    assert len(said) == 1
    assert_array_equal(pairwise(WORDS, excess), D)


def test_out_is_the_same_matrix_and_is_not_computed_twice(tmp_path):
    out = tmp_path / "D.npy"
    D = pairwise(WORDS, excess, out=out)
    assert isinstance(D, np.memmap) and not D.flags.writeable
    assert_array_equal(D, pairwise(WORDS, excess))
    assert_array_equal(np.load(out), D)
    before = out.stat().st_mtime_ns
    assert_array_equal(pairwise(list(WORDS), excess, out=str(out)), D)
    assert out.stat().st_mtime_ns == before
    assert sorted(f.name for f in tmp_path.iterdir()) == ["D.npy", "D.npy.json"]


SCRIPT = """
import os, signal, sys
import numpy as np
from mahalearn.measures import _matrix_file
from mahalearn.measures import FunctionMeasure, pairwise

_matrix_file.CHECKPOINT_SECONDS = 0
points = np.random.default_rng(2).normal(size=(150, 3))
calls = 0

def distance(a, b):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return np.sqrt(((a - b) ** 2).sum())

D = pairwise(points, FunctionMeasure(distance, symmetric=True), out=sys.argv[1])
resumed = calls
E = pairwise(points, FunctionMeasure(distance, symmetric=True))
assert D.tobytes() == E.tobytes()
print(resumed)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_killed_work_resumes_to_the_same_bits(tmp_path):
    def run(kill_at):
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "D.npy"), str(kill_at)],
            env={**os.environ, "PYTHONPATH": str(Path(_matrix_file.__file__).parents[2])},
            capture_output=True,
            text=True,
        )

    assert run(6000).returncode == -signal.SIGKILL
    assert not (tmp_path / "D.npy").exists()
    resumed = run(-1)
    assert resumed.returncode == 0, resumed.stderr
    # at most the block at the moment of death, 32 × 32 pairs, was lost
    assert 150 * 151 // 2 - 6000 < int(resumed.stdout) <= 150 * 151 // 2 - 6000 + 1024
    points = np.random.default_rng(2).normal(size=(150, 3))
    expected = naive.all_pairs(points, points, lambda a, b: np.linalg.norm(a - b))
    assert_allclose(np.load(tmp_path / "D.npy"), expected, atol=1e-14)


def interrupted(out, after=3):
    """A computation that stops with an error after some calls."""
    calls = []

    def distance(a, b):
        calls.append(1)
        if len(calls) > after * 1024:
            raise KeyboardInterrupt
        return length_gap(a, b)

    with pytest.raises(KeyboardInterrupt):
        pairwise(WORDS, distance, out=out)
    return json.loads(Path(f"{out}.json").read_text())


def test_interrupt_keeps_what_is_done(tmp_path):
    record = interrupted(tmp_path / "D.npy")
    assert record["done"] == [0, 1]  # block 1 is off the diagonal: both directions
    assert record["shape"] == [70, 70]


def test_other_work_is_not_continued(tmp_path):
    out = tmp_path / "D.npy"
    pairwise(WORDS, "edit", out=out)
    for objects, measure, other, symmetrize in [
        (WORDS[::-1], "edit", None, "mean"),
        ([*WORDS[:-1], "zzz"], "edit", None, "mean"),
        (WORDS, EditDistance(2), None, "mean"),
        (WORDS, length_gap, None, "mean"),
        (WORDS, "edit", WORDS, "mean"),
        (WORDS, "edit", None, None),
    ]:
        with pytest.raises(ValueError, match=r"begun with other objects.*delete D\.npy"):
            pairwise(objects, measure, other, symmetrize, out=out)
    with pytest.raises(ValueError, match="begun with other"):
        interrupted(tmp_path / "E.npy")
        pairwise(WORDS, "edit", out=tmp_path / "E.npy")


def power_sum(a, b, power):
    return len(a) ** power + len(b) ** power


def test_functions_are_told_apart_by_code_and_what_they_hold(tmp_path):
    def product(a, b):
        return len(a) * len(b)

    def power(p):
        return lambda a, b: power_sum(a, b, p)

    functions = [
        length_gap,
        product,
        power(1),
        power(2),
        partial(power_sum, power=1),
        partial(power_sum, power=2),
        lambda a, b, p=1: power_sum(a, b, p),
        lambda a, b, p=2: power_sum(a, b, p),
    ]
    for i, function in enumerate(functions):
        pairwise(WORDS, function, out=tmp_path / f"{i}.npy")
        pairwise(WORDS, function, out=tmp_path / f"{i}.npy")
        for j in range(i):
            with pytest.raises(ValueError, match="begun with other"):
                pairwise(WORDS, function, out=tmp_path / f"{j}.npy")


def test_what_cannot_be_told_apart_is_refused(tmp_path):
    objects = [(x for x in "ab"), (x for x in "cd")]
    with pytest.raises(ValueError, match=r"must be picklable.*generator"):
        pairwise(objects, lambda a, b: 1.0, out=tmp_path / "D.npy")


def test_foreign_files_are_left_alone(tmp_path):
    np.save(tmp_path / "mine.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"mine\.npy exists.*not overwritten"):
        pairwise(WORDS, "edit", out=tmp_path / "mine.npy")
    assert_array_equal(np.load(tmp_path / "mine.npy"), np.ones(3))
    (tmp_path / "D.npy.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match="not a record of pairwise"):
        pairwise(WORDS, "edit", out=tmp_path / "D.npy")
    interrupted(tmp_path / "E.npy")
    np.save(tmp_path / "E.npy", np.ones(3))
    with pytest.raises(ValueError, match="something else wrote it"):
        interrupted(tmp_path / "E.npy")


def test_lost_part_starts_anew(tmp_path):
    record = tmp_path / "D.npy.json"
    D = np.array(pairwise(WORDS, "edit", out=tmp_path / "D.npy"))
    (tmp_path / "D.npy").unlink()
    assert record.exists()
    assert_array_equal(pairwise(WORDS, "edit", out=tmp_path / "D.npy"), D)


def test_full_disk_is_noticed_before(tmp_path, monkeypatch):
    monkeypatch.setattr(
        _matrix_file.shutil, "disk_usage", lambda path: type("usage", (), {"free": 100})
    )
    with pytest.raises(OSError, match="are free"):
        pairwise(WORDS, "edit", out=tmp_path / "D.npy")


def test_too_large_a_matrix_is_refused_before(monkeypatch):
    monkeypatch.setattr("mahalearn._validation.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"Pass out='file\.npy'"):
        pairwise(WORDS, "edit")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"measure": "levenshtein"}, "'levenshtein' is not known; choose from 'hausdorff', 'mod"),
        ({"measure": 3}, "a function of two objects; got 3"),
        ({"measure": Hausdorff}, "a measure such as EditDistance"),
        ({"objects": []}, "no objects"),
        ({"objects": "abc"}, "list or an array of objects"),
        ({"objects": 5}, "list or an array of objects; got int"),
        ({"objects": {"a", "b"}}, "list or an array of objects; got set"),
        ({"objects": (w for w in WORDS)}, "list or an array of objects; got generator"),
        ({"other": []}, "no objects"),
        ({"symmetrize": "sum"}, "'mean', 'min', 'max', None"),
        ({"out": "D.txt"}, r"must be the name of an \.npy file"),
        ({"out": "no/such/folder/D.npy"}, "there is no folder"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        pairwise(**{"objects": WORDS, "measure": "edit", **arguments})
