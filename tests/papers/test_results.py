"""Rows on disk: what is appended is read again, and a torn line costs one row at most."""

import os
from dataclasses import replace

import numpy as np
import pytest

from mahalearn.papers.rows import Row, append, merge, read, summarise, write
from mahalearn.results import write_text


def row(repetition=0, **changes):
    return replace(Row("A1", "rbf n=50", "KNN", repetition, error=0.25), **changes)


def test_rows_come_back_as_they_were(tmp_path):
    rows = [row(1, params={"k": 3}, values={"x": [0.5, 1.5]}), row(0, status="stand-in")]
    for one in rows:
        append(tmp_path / "deep" / "rows.jsonl", one)
    assert read(tmp_path / "deep") == rows[::-1]


def test_numpy_values_become_plain_numbers(tmp_path):
    append(tmp_path / "rows.jsonl", row(values={"x": np.arange(2), "y": np.float32(0.5)}))
    assert read(tmp_path)[0].values == {"x": [0, 1], "y": 0.5}


def test_nan_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        append(tmp_path / "rows.jsonl", row(error=float("nan")))
    assert read(tmp_path) == []


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_line_loses_itself_only(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    append(path, row(0))
    append(path, row(1))
    os.truncate(path, path.stat().st_size - cut)
    append(path, row(2))
    kept = [0, 2] if cut > 1 else [0, 1, 2]  # without its line end alone, a row is complete
    assert [r.repetition for r in read(path)] == kept


def test_the_last_row_of_a_key_counts(tmp_path):
    path = tmp_path / "rows.jsonl"
    append(path, row(error=0.1))
    append(path, row(error=0.2))
    assert [r.error for r in read(path)] == [0.2]
    assert merge([row(error=0.1)], [row(error=0.3)])[0].error == 0.3


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write(path, [row()])
    with pytest.raises(TypeError, match="got object"):
        write(path, [row(1, params={"bad": object()})])
    with pytest.raises(TypeError):
        write_text(path, 3)
    assert read(path) == [row()]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_unknown_fields_of_a_later_version_are_ignored(tmp_path):
    path = tmp_path / "rows.jsonl"
    write(path, [row()])
    path.write_text(path.read_text().replace('"seed"', '"colour": "red", "seed"'))
    assert read(path) == [row()]


def test_no_file_no_rows(tmp_path):
    assert read(tmp_path) == [] and read(tmp_path / "absent") == []


def test_summaries_are_means_in_percent():
    rows = [row(i, error=e, balanced_error=0.5) for i, e in enumerate([0.1, 0.2, 0.3])]
    found = summarise(rows)["A1", "rbf n=50", "KNN"]
    assert found.mean == pytest.approx(20) and found.std == pytest.approx(10) and found.n == 3
    assert summarise(rows, "balanced_error")["A1", "rbf n=50", "KNN"].std == 0


def test_rows_of_a_shortened_protocol_give_way():
    quick, full = row(setting="quick", error=0.9), row(error=0.1)
    key = ("A1", "rbf n=50", "KNN")
    assert summarise([quick])[key].setting == "quick"
    assert summarise([quick, full])[key].mean == pytest.approx(10)


def test_values_are_summarised_by_name():
    rows = [row(i, error=None, values={"r_neg": v}) for i, v in enumerate([0.2, 0.4])]
    assert summarise(rows, "r_neg")["A1", "rbf n=50", "KNN"].mean == pytest.approx(0.3)
    assert summarise(rows) == {}


def test_marks_of_unicode_do_not_end_a_row(tmp_path):
    rows = [row(dataset="a\u2028b"), row(dataset="c\x85d\x0ce\r\n")]
    for one in rows:
        append(tmp_path / "rows.jsonl", one)
    assert read(tmp_path) == rows


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_files_follow_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "page.html", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == mode
