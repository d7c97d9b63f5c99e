"""Tables larger than memory: read part by part, sampled, fitted and predicted on all rows."""

import gzip
import json
import os
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from own_data import refused, works

from mahalearn import GaussianClassifier
from mahalearn.app.cli import _compare, _large, _predict
from mahalearn.app.comparing import everything
from mahalearn.app.reading import large
from mahalearn.app.reading.large import (
    LEAST,
    ParquetTable,
    TextTable,
    first_pass,
    large_table,
    parse_memory,
    uniform,
)
from mahalearn.app.reading.problem import DataError
from mahalearn.app.reading.tables import find_target, read_table
from mahalearn.persistence import load_model, model_about

N = 6000
SMALL = ("--memory", "100KB")


def made(n=N, seed=0):
    """Three classes, one of them rare, with a column of categories and gaps in another."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "rare"], size=n, p=[0.6, 0.39, 0.01])
    X = rng.normal(size=(n, 3)) * [1, 5, 0.1] + 1.5 * (kind == "b")[:, None] * [1, 5, 0]
    X[kind == "rare"] += 3
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    frame["colour"] = np.where(rng.random(n) < 0.5 + 0.3 * (kind == "a"), "red", "blue")
    frame.loc[rng.random(n) < 0.02, "z"] = np.nan
    frame["kind"] = kind
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table as a folder of Parquet files and as CSV."""
    place = tmp_path_factory.mktemp("large")
    frame = made()
    (place / "t").mkdir()
    for i, start in enumerate(range(0, N, 2500)):
        part = frame[start : start + 2500]
        part.to_parquet(place / "t" / f"part-{i}.parquet", row_group_size=1700)
    frame.to_csv(place / "t.csv", index=False)
    return place


@pytest.fixture(scope="module")
def trained(folder):
    """Results of a comparison of the folder."""
    works(
        "compare", folder / "t", "--target", "kind", "--methods", "gaussian,lda", "--folds", 2,
        "--repeats", 1, "--sample", 600, "--jobs", 1, "--out", folder / "out", *SMALL,
    )  # fmt: skip
    return folder / "out"


def test_the_first_pass_does_not_depend_on_parts_or_format(folder):
    frame = made()
    looks = []
    for table, rows in (
        (ParquetTable(folder / "t"), 1700),
        (ParquetTable(folder / "t"), 333),
        (TextTable(folder / "t.csv"), 1000),
    ):
        table.part_rows = rows
        positions = np.concatenate([at + np.arange(len(part)) for at, part in table.parts()])
        assert_array_equal(positions, np.arange(N))
        looks.append(first_pass(table, "kind", 500, seed=3))
    for look in looks:
        assert look.n_rows == N and look.counts == frame["kind"].value_counts().to_dict()
        for name in "xyz":
            count, mean, spread = look.moments[name]
            known = frame[name].dropna()
            assert count == len(known)
            assert_allclose([mean, np.sqrt(spread / count)], [known.mean(), known.std(ddof=0)])
        assert look.levels == {"colour": {"red", "blue"}}
        pd.testing.assert_frame_equal(look.sample, looks[0].sample)


def test_the_sample_is_stratified_and_drawn_by_position(folder):
    look = first_pass(ParquetTable(folder / "t"), "kind", 500, seed=3)
    counts, sample = look.counts, look.sample["kind"].value_counts()
    assert sample["rare"] == min(LEAST, counts["rare"])
    for label in "ab":
        assert sample[label] == round(500 * counts[label] / N)
    frame, keys = made(), uniform(np.arange(N), 3)
    for label in sample.index:
        mine = np.flatnonzero(frame["kind"] == label)
        kept = np.sort(mine[np.argsort(keys[mine])[: sample[label]]])
        found = look.sample[look.sample["kind"] == label]["x"]
        assert_allclose(found, frame["x"][kept])


def test_uniform_numbers_are_uniform():
    u = uniform(np.arange(200_000), 0)
    assert abs(u.mean() - 0.5) < 0.003 and abs((u < 0.1).mean() - 0.1) < 0.003
    other = uniform(np.arange(200_000), 1)
    assert abs(np.corrcoef(u, other)[0, 1]) < 0.01
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01
    assert_array_equal(uniform([7, 8], 1), other[7:9])


def test_finalists_are_fitted_on_all_rows_but_the_test_rows(folder, trained):
    """The same fit with all rows in memory."""
    found = json.loads((trained / "comparison.json").read_text(encoding="utf-8"))["everything"]
    frame = made()
    counts = frame["kind"].value_counts()
    test = uniform(np.arange(N), 0) >= 1 - everything.TEST_SHARE
    test &= frame["kind"].map(counts).to_numpy() >= 2 * LEAST
    look = first_pass(ParquetTable(folder / "t"), "kind", 600, 0)
    Z = frame[["x", "y", "z"]].to_numpy()
    Z = np.where(np.isnan(Z), look.sample["z"].median(), Z)
    Z = np.column_stack([Z, frame["colour"] == "blue", frame["colour"] == "red"])
    Z[:, :3] = (Z[:, :3] - frame[["x", "y", "z"]].mean().to_numpy()) / frame[["x", "y", "z"]].std(
        ddof=0
    ).to_numpy()
    model = GaussianClassifier().fit(Z[~test], frame["kind"][~test])
    errors = int((model.predict(Z[test]) != frame["kind"][test]).sum())
    rows = {row["title"]: row for row in found["finalists"]}
    mine = rows["Gaussian, Ledoit–Wolf"]
    assert (mine["fitted_rows"], mine["tested"]) == (int((~test).sum()), int(test.sum()))
    assert mine["error"][0] == pytest.approx(errors / test.sum())
    assert found["rows"] == N and found["sample"] == 600 + LEAST - round(600 * counts["rare"] / N)
    page = (trained / "report.html").read_text(encoding="utf-8")
    assert "On all rows" in page and "read part by part" in page
    about = model_about(trained / "model.skops")
    best = min(found["finalists"], key=lambda row: row["error"][0])
    assert about["training"]["objects"] == best["fitted_rows"]
    # Columns are described by rows among which the classes have their shares of the table.
    (colour,) = (column for column in about["features"] if column["name"] == "colour")
    assert colour["rows"] == pytest.approx(600, abs=2) and found["sample"] > 640


@pytest.mark.parametrize("name", ["t", "t.csv"])
def test_more_rows_than_so_many_are_worked_through_part_by_part(
    folder, tmp_path, monkeypatch, name
):
    """Without an option, with one line that says so, and to the same end as with --memory."""
    options = ["--target", "kind", "--methods", "gaussian", "--folds", 2, "--repeats", 1]
    options += ["--sample", 300, "--jobs", 1]
    monkeypatch.setattr(_compare, "MANY", N - 1)
    done = works("compare", folder / name, *options, "--out", tmp_path / "many")
    line = f"The {N} rows are read part by part"
    assert " ".join(done.output.split()).count(line) == 1
    works("compare", folder / name, *options, *SMALL, "--out", tmp_path / "memory")
    many, memory = (
        json.loads((tmp_path / run / "comparison.json").read_text())["everything"]
        for run in ("many", "memory")
    )
    assert [row["error"] for row in many["finalists"]] == [
        row["error"] for row in memory["finalists"]
    ]
    monkeypatch.setattr(_compare, "MANY", 2 * N)
    done = works("compare", folder / name, *options, "--out", tmp_path / "few")
    assert line not in " ".join(done.output.split())
    assert "everything" not in json.loads((tmp_path / "few" / "comparison.json").read_text())


def test_rows_of_a_sorted_file_rank_at_random(tmp_path, monkeypatch):
    """The first test rows were of one class. A class without test rows was in no prediction set."""
    monkeypatch.setattr(everything, "MOST_CALIBRATION", 50)
    frame = made().sort_values("kind", kind="stable")
    frame.to_csv(tmp_path / "sorted.csv", index=False)
    works(
        "compare", tmp_path / "sorted.csv", "--target", "kind", "--methods", "gaussian", "--folds",
        2, "--repeats", 1, "--sample", 300, "--jobs", 1, "--out", tmp_path / "o", *SMALL,
    )  # fmt: skip
    model = load_model(tmp_path / "o" / "model.skops")
    counts = np.bincount(model.folds[0].codes, minlength=3)
    assert counts.sum() == 50 and (counts[:2] > 10).all() and counts[2] == 0
    sets = model.prediction_sets(frame.drop(columns="kind"), 0.95)
    assert sets[:, 2].all() and 0.9 < sets[:500, 0].mean() < 1


def test_a_finalist_without_distances_takes_those_of_the_sample(folder, tmp_path):
    """Kernel Fisher has none; few rows of the same kind look unknown, far ones do."""
    works(
        "compare", folder / "t", "--target", "kind", "--methods", "kfd", "--folds", 2,
        "--repeats", 1, "--sample", 300, "--jobs", 1, "--out", tmp_path / "o", *SMALL,
    )  # fmt: skip
    about = model_about(tmp_path / "o" / "model.skops")
    assert about["training"]["objects"] > 300
    frame = made()
    frame.loc[:9, ["x", "y"]] += 1e3
    frame.to_csv(tmp_path / "new.csv", index=False)
    saved = tmp_path / "o" / "model.skops"
    works("predict", saved, tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    outlier = pd.read_csv(tmp_path / "p.csv")["outlier"].astype(bool)
    assert outlier[:10].all() and outlier[10:].mean() < 0.08


def test_a_short_time_budget_leaves_a_ranking_on_the_sample(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_compare, "MANY", 1000)
    monkeypatch.setattr(_large, "FIT_PASSES", 1e6)  # as if a pass took long
    done = works(
        "compare", folder / "t", "--target", "kind", "--methods", "lda,gaussian", "--sample", 300,
        "--jobs", 1, "--time-budget", 1, "--out", tmp_path / "o",
    )  # fmt: skip
    assert "too short for fits on all rows" in " ".join(done.output.split())
    found = json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert found["leaderboard"] and "everything" not in found
    works("predict", tmp_path / "o" / "model.skops", folder / "t.csv", "--out", tmp_path / "p.csv")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_part_by_part_are_those_of_the_whole(folder, trained, tmp_path, suffix):
    model = trained / "model.skops"
    done = works("predict", model, folder / "t", *SMALL, "--out", tmp_path / f"p{suffix}")
    assert f"{N} objects predicted" in done.output and "Scored on" in done.output
    assert "rows/s" in done.output and "Drift: no sign" in " ".join(done.output.split())
    works("predict", model, folder / "t.csv", "--out", tmp_path / "whole.csv")
    read = pd.read_parquet if suffix == ".parquet" else pd.read_csv
    parts, whole = read(tmp_path / f"p{suffix}"), pd.read_csv(tmp_path / "whole.csv")
    pd.testing.assert_frame_equal(
        parts.fillna({"set": ""}), whole.fillna({"set": ""}), check_dtype=False, rtol=1e-4
    )


def test_a_stopped_prediction_goes_on_where_it_was(folder, trained, tmp_path, monkeypatch):
    model, out = trained / "model.skops", tmp_path / "p.csv"
    command = ("predict", model, folder / "t", *SMALL, "--out")
    works(*command, tmp_path / "whole.csv")
    add, calls = _predict.PartWriter.add, []

    def stops(self, rows, position):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(position)
        add(self, rows, position)

    monkeypatch.setattr(_predict.PartWriter, "add", stops)
    done = works(*command, out, code=130)
    assert "the same command continues" in " ".join(done.output.split()) and not out.exists()
    with open(tmp_path / "p.csv.partial", "ab") as file:
        file.write(b"half a li")  # what a kill leaves
    monkeypatch.setattr(_predict.PartWriter, "add", add)
    done = works(*command, out)
    assert "rows were written by an earlier run" in done.output
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p.csv", "whole.csv"]
    # A file of the folder that has changed since: nothing of the earlier run is taken over.
    calls.clear()
    monkeypatch.setattr(_predict.PartWriter, "add", stops)
    out = tmp_path / "again.csv"
    works(*command, out, code=130)
    os.utime(folder / "t" / "part-0.parquet")
    monkeypatch.setattr(_predict.PartWriter, "add", add)
    assert "earlier run" not in works(*command, out).output


SIZES = [f"{v:.2f}" for v in np.random.default_rng(1).normal(5, 2, 3000)]
HEADER = "size,n,colour,kind\n"
ROWS = [f"{v},{i * 7 % 50},colour {i % 3},{'ab'[i % 2]}\n" for i, v in enumerate(SIZES)]
SWAPPED = [row.replace(",", ";").replace(".", ",") for row in ROWS]
TEXTS = {
    "plain": HEADER + "".join(ROWS),
    "windows": (HEADER + "".join(ROWS).replace("colour", "größe")).encode("cp1252"),
    "utf16": (HEADER + "".join(ROWS)).encode("utf-16"),
    "old mac": (HEADER + "".join(ROWS)).replace("\n", "\r"),
    "blank lines": (HEADER + "".join(ROWS)).replace("\n", "\n\n"),
    "blanks": (HEADER + "".join(ROWS)).replace(",", " , "),
    "decimal commas": HEADER.replace(",", ";") + "".join(SWAPPED),
    "title": "sep=,\n" + HEADER + "".join(ROWS),
    "units": HEADER + "cm,,,\n" + "".join(ROWS),
    "units in cells": HEADER + "".join(row.replace(",", " mg,", 1) for row in ROWS),
    "lines in cells": HEADER + "".join(ROWS) + '1.5,2,"colour\n1",a\n',
    "words": HEADER + "".join(ROWS) + "n.d.,NA,none,a\n<0.5,?,NA,b\n",
    "sums": HEADER + "".join(ROWS) + "Total,1,,a\n",
    "header again": (HEADER + "".join(ROWS)) * 2,
    "classes": HEADER + "".join(f"{row[:-2]}{i % 3}\n" for i, row in enumerate(ROWS)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_file_is_read_part_by_part_as_it_is_read_whole(tmp_path, monkeypatch, name):
    path, find = tmp_path / "t.csv", partial(find_target, target="kind")
    content = TEXTS[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    whole, notes = read_table(path, find=find)
    monkeypatch.setattr(large, "HEAD", 2**14)
    table = TextTable(path, find=find)
    table.part_rows = 700
    for start in (0, 1500):
        places, parts = zip(*table.parts(start))
        assert places[0] == start
        read = pd.concat(parts, ignore_index=True)
        expected = whole[start:].reset_index(drop=True)
        pd.testing.assert_frame_equal(read, expected, check_dtype=False)
    assert set(notes) <= set(table.notes)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("zu wenig,1,red,a\n", "'zu wenig' in row 3002; correct"),
        ("1e999,1,red,a\n", "'size' is infinite in row 3002"),
        ("9007199254740993,1,red,a\n", "'9007199254740993' in row 3002"),
        ("1,2,3\n", "Line 3002 .* has 3 cells, most have 4"),
        ("1,2,3,4,5\n", "Line 3002 .* has 5 cells"),
        ('1,2,"red,a\n1,2,red,a\n', "quote that opens in line 3002"),
        ("1,2,r\0d,a\n", "NUL in line 3002"),
        ("1,2,r\udce9d,a\n", "other bytes further below"),
        ("5 mg,1,red,a\n", "'5 mg' in row 3002"),
    ],
)
def test_what_is_wrong_far_below_is_said(tmp_path, monkeypatch, row, words):
    monkeypatch.setattr(large, "HEAD", 2**14)
    path = tmp_path / "t.csv"
    path.write_bytes((HEADER + "".join(ROWS) + row).encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=words):
        list(TextTable(path).parts())
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "".join(ROWS)).encode())[:-9])
    with pytest.raises(DataError, match="damaged gzip file"):
        list(TextTable(path).parts())


@pytest.mark.parametrize("rows", [5, 9, 100])
def test_parts_hold_every_row_and_the_sums_below_none(tmp_path, rows):
    (tmp_path / "t.csv").write_text(HEADER + "".join(ROWS[:40]) + "Mean,1,,a\nTotal,2,,b\n")
    table = TextTable(tmp_path / "t.csv")
    table.part_rows = rows
    frame = pd.concat([part for _, part in table.parts()])
    assert_array_equal(frame["size"], np.array(SIZES[:40], dtype=float))
    assert "2 rows below the table" in table.notes[-1]


def test_rows_without_a_class_are_said(tmp_path):
    rows = [*ROWS[:300], "1.5,2,colour 1,\n"]
    (tmp_path / "t.csv").write_text(HEADER + "".join(rows))
    done = works("inspect", tmp_path / "t.csv", "--target", "kind", "--memory", "10KB")
    assert "1 row without a class was left out" in " ".join(done.output.split())
    (tmp_path / "t.csv").write_text(HEADER)
    with pytest.raises(DataError, match="no rows below its header"):
        TextTable(tmp_path / "t.csv")


def test_only_text_is_read_as_text(tmp_path):
    made(50).to_parquet(tmp_path / "t.csv")
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(b"[]"))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b")[:5])
    for name in ("t.csv", "t.json.gz", "cut.csv.gz"):
        assert large_table(tmp_path / name, 1) is None


def test_memory_is_bounded(tmp_path):
    frame = made(30_000)
    (tmp_path / "t").mkdir()
    frame.to_parquet(tmp_path / "t" / "a.parquet", row_group_size=5000)
    limit = parse_memory("1MB")
    table = large_table(tmp_path / "t", limit)
    assert table is not None and table.n_rows * 5 * 8 > limit
    tracemalloc.start()
    first_pass(table, "kind", 300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * limit  # the parts, and the sample of a few hundred rows
    assert large_table(tmp_path / "t", parse_memory("1GB")) is None


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2**31), ("500 MB", 500 * 2**20), ("1.5k", 1536), ("3MiB", 3 * 2**20)]
)
def test_sizes(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "0GB", "-1GB", "2XB"])
def test_sizes_that_are_none(text):
    with pytest.raises(DataError, match="such as 2GB"):
        parse_memory(text)


def test_refusals(folder, trained, tmp_path):
    data = [folder / "t", "--target", "kind", *SMALL, "--out", tmp_path / "o"]
    assert "fit into memory" in refused("compare", *data, "--groups", "colour")
    assert "fit into memory" in refused("compare", *data, "--mixed", "gower")
    (tmp_path / "empty").mkdir()
    for command in ("inspect", "train", "compare"):
        sentence = refused(command, tmp_path / "empty", "--target", "kind", *SMALL)
        assert "is a folder without .parquet files" in sentence
    model = trained / "model.skops"
    assert "--fdr" in refused(
        "predict", model, folder / "t", *SMALL, "--fdr", 0.1, "--out", tmp_path / "p.csv"
    )
    assert ".parquet (a folder)" in refused(
        "predict", model, folder / "t", *SMALL, "--out", tmp_path / "p.xlsx"
    )
    text = (folder / "t.csv").read_text()
    (tmp_path / "odd.csv").write_text(text + "x,1,2,red,a\n")  # far below the beginning
    sentence = refused("inspect", tmp_path / "odd.csv", "--target", "kind", *SMALL)
    assert f"'x' in row {N + 2}" in sentence
    done = works("inspect", folder / "t.csv", "--target", "kind", *SMALL)
    assert f"{N} rows" in done.output and "colour" in done.output
