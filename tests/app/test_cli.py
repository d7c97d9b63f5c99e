"""The command line as a user meets it."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mahalearn.app.cli.app import app
from mahalearn.papers.rows import Row, append, read


def call(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['mahalearn', '--help']\n"
        "from mahalearn.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'joblib', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout and "report" in done.stdout


def test_list_names_all():
    done = call("reproduce", "--list")
    assert done.exit_code == 0
    for name in [
        "A1",
        "A3",
        "Afigs",
        "B1",
        "B2",
        "C4",
        "C5",
        "C6",
        "C7",
        "Cfigs",
        "D1",
        "D2",
        "Dfigs",
    ]:
        assert name in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Z9"], "no experiment"),
        ([], "--list"),
        (["D2", "--jobs", "0"], "greater than|x>=1"),
        (["D2", "--repetitions", "0"], "greater than|x>=1"),
    ],
)
def test_bad_calls_say_what_to_do(arguments, message):
    done = call("reproduce", *arguments)
    assert done.exit_code == 2 and re.search(message, done.output)


def test_reproduce_writes_rows_and_a_page(tmp_path):
    done = call("reproduce", "d2", "C5s", "--repetitions", 1, "--out", tmp_path, "--quick")
    assert done.exit_code == 0, done.output
    rows = read(tmp_path)
    assert {row.experiment for row in rows} == {"D2", "C5s"}
    page = (tmp_path / "report.html").read_text()
    assert "cells that agree" in page and "Made by: mahalearn reproduce C5s D2 --quick" in page


def test_report_needs_rows(tmp_path):
    done = call("report", tmp_path)
    assert done.exit_code == 2 and "rows.jsonl" in done.output


def test_rows_of_unknown_experiments_are_left_out_and_named(tmp_path):
    append(tmp_path / "rows.jsonl", Row("Z9", "moons", "KNN", 0, error=0.5))
    append(tmp_path / "rows.jsonl", Row("A1", "rbf n=50", "KNN", 0, error=0.5))
    done = call("report", tmp_path)
    assert done.exit_code == 0, done.exception
    said = " ".join(done.output.split())
    assert "1 rows of unknown experiments (Z9) were left out." in said and "1 rows; page:" in said
    assert "1 rows, " in (tmp_path / "report.html").read_text()


def test_report_renders_again_and_writes_markdown(tmp_path):
    call("reproduce", "Dfigs", "--repetitions", 1, "--out", tmp_path)
    done = call("report", tmp_path, "--docs", tmp_path / "docs" / "page.md")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "docs" / "page.md").read_text()
    assert "](images/Dfigs-1.svg)" in text
    assert (tmp_path / "docs" / "images" / "Dfigs-1.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_help_in_any_encoding(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "mahalearn", "--help"], capture_output=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout.decode(encoding)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seed", 2**32], "4294967295"),
        (["--seed", -1], "--seed"),
        (["--time-budget", "inf"], "--time-budget must be a finite number; got inf"),
        (["--time-budget", "nan"], "--time-budget"),
        (["--repeats", 10**9], "100"),
    ],
)
def test_numbers_out_of_range_are_refused_in_a_sentence(options, words, tmp_path):
    done = call("compare", "wine", "--methods", "lda", "--out", tmp_path / "o", *options)
    assert done.exit_code == 2 and isinstance(done.exception, SystemExit)
    assert words in done.output and "Traceback" not in done.output
